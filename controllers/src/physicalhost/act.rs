//! Carries out plans: tells the BMC what to do, one step after the other, and writes down what must outlive us.
//!
//! Every step may be the last one before a crash. What was done is seen to be done by whoever comes next; what must not
//! be done twice has a mark that was written before it.

use std::time::Duration;

use beskar7_api::{
    PhysicalHost,
    boot::{BootMethod, BootMode},
    conditions::host as reasons,
};
use beskar7_core::{
    delivery::{AgentBoot, Delivery},
    host::{
        Emptied,
        awaiting::believable,
        cleaning::demand,
        contact::Trouble,
        errand::{Errand, Purpose},
        hold::{Booting, Hold, is_released},
        moving::must_block_first,
        plan::{Farewell, Plan, Sight, Switch},
        restart::Mode,
        wanted::Wanted,
    },
    hostclaim::Part,
};
use beskar7_redfish::{self as redfish, Bmc, BootTarget, PowerLimits, System};

use super::{
    ReconcileError,
    bmcs::Known,
    marks::{Marks, Written},
    media::{self, Media},
    resources::Resources,
    sighting, trouble,
};
use crate::{boot_server::Presenter, causes::causes, chance, clock::now, copies::Copies};

/// For an image to be inserted, or media to be ejected.
const MEDIA: Duration = Duration::from_secs(180);
/// For an override to be set or cleared.
const OVERRIDE: Duration = Duration::from_secs(120);

/// What came of a plan.
pub(super) enum Outcome {
    /// Nothing was to be done.
    Nothing,
    /// It is done: look again at once, at this host.
    Done(Box<PhysicalHost>, Option<Sight>),
    /// The machine is off and empty, and this is left to be done to it.
    Emptied(Emptied),
    /// It is done, and the host is gone.
    Gone,
    /// Somebody changed the host meanwhile: what was decided is of the past.
    Stale,
    /// The BMC or the machine did not do it.
    Failed(Trouble),
}

/// What plans are carried out with.
pub(super) struct Tools {
    pub(super) marks: Marks,
    pub(super) copies: Copies,
    pub(super) resources: Resources,
    /// What is presented to machines, where there is a boot server.
    pub(super) presenter: Option<Presenter>,
}

/// Carries out a plan.
pub(super) async fn act(
    plan: &Plan,
    host: &PhysicalHost,
    known: Option<&Known>,
    tools: &Tools,
) -> Result<Outcome, ReconcileError> {
    let marks = &tools.marks;
    match plan {
        // Looked at again at once, with the mark in place.
        Plan::Install(_) | Plan::Deprovision if must_block_first(host) => {
            written(marks.block_move(host).await?, None)
        }
        Plan::Watch | Plan::WaitForConsumer | Plan::Refuse(_) | Plan::AwaitBoot => Ok(Outcome::Nothing),
        Plan::LetGo(farewell) => let_go(host, *farewell, marks).await,
        Plan::WriteSeen(sight) => match Hold::of(host) {
            Hold::Held { claim } => written(marks.provisioned(host, claim).await?, Some(*sight)),
            Hold::Free | Hold::Kept(_) | Hold::Leaving | Hold::Cleaned | Hold::OnHold => Ok(Outcome::Stale),
        },
        Plan::NoteOn(booting) => written(marks.booting(host, booting).await?, None),
        Plan::Install(wanted) => match (known, Hold::of(host)) {
            (Some(known), Hold::Held { claim }) => match prepare(wanted, claim, host, tools).await {
                Ok(media) => install(wanted, &media, claim, host, known, marks).await,
                Err(trouble) => Ok(Outcome::Failed(trouble)),
            },
            (Some(_) | None, _) => Ok(Outcome::Stale),
        },
        Plan::TakeOut => with_system(known, host, take_out).await,
        Plan::TurnOn | Plan::Power(Switch::On) => with_system(known, host, turn_on).await,
        Plan::Power(Switch::Off) => with_system(known, host, turn_off).await,
        Plan::Restart(restart) => {
            let off = match restart.mode {
                Mode::Soft => with_system(known, host, turn_off).await?,
                Mode::Hard => with_system(known, host, cut_off).await?,
            };
            match off {
                Outcome::Done(..) => written(marks.restarted(host, restart).await?, None),
                other @ (Outcome::Nothing
                | Outcome::Emptied(_)
                | Outcome::Gone
                | Outcome::Stale
                | Outcome::Failed(_)) => Ok(other),
            }
        }
        Plan::NoteRestarted(restart) => written(marks.restarted(host, restart).await?, None),
        Plan::Deprovision => match known {
            Some(known) => deprovision(host, known, tools).await,
            None => Ok(Outcome::Stale),
        },
        Plan::CallAgent(purpose) => call_agent(*purpose, host, marks).await,
        Plan::SendAgent(errand, wanted) => match known {
            Some(known) => send_agent(errand, wanted, host, known, tools).await,
            None => Ok(Outcome::Stale),
        },
        Plan::NoteSent(errand) => written(marks.on_errand(host, errand).await?, None),
        Plan::ServeAgent(errand) => Ok(match serve_agent(errand, host, tools).await {
            Ok(()) => Outcome::Nothing,
            Err(trouble) => Outcome::Failed(trouble),
        }),
        Plan::CloseErrand => match tools.resources.try_to_remove(host).await {
            Ok(()) => written(marks.end_errand(host).await?, None),
            Err(trouble) => Ok(Outcome::Failed(trouble)),
        },
        Plan::EndErrand => match known {
            Some(known) => end_errand(host, known, tools).await,
            None => Ok(Outcome::Stale),
        },
        Plan::ClearClaim => match remove_made(host, tools).await {
            Ok(()) => written(marks.free(host).await?, None),
            Err(trouble) => Ok(Outcome::Failed(trouble)),
        },
        Plan::HandOver => {
            tools.resources.remove(host).await;
            written(marks.hand_over(host).await?, None)
        }
    }
}

/// What must be there before a machine is touched: what it boots from the network is ready, or its media can be had.
async fn prepare(wanted: &Wanted, claim: &str, host: &PhysicalHost, tools: &Tools) -> Result<Media, Trouble> {
    let presenter = tools.presenter.as_ref();
    if wanted.method.is_from_network() || wanted.starts_agent {
        let boot = host.spec.boot.clone().unwrap_or_default();
        tools.resources.prepare(host, claim, (&boot, None), presenter.ok_or_else(media::off)?).await?;
    }
    media::media(wanted, claim, host, presenter).await
}

/// Writes down that the agent is wanted, before anything is done for it.
async fn call_agent(purpose: Purpose, host: &PhysicalHost, marks: &Marks) -> Result<Outcome, ReconcileError> {
    let errand = Errand::new(purpose, chance::bits()?);
    written(marks.errand(host, &errand).await?, None)
}

/// Off, insert, arm, mark, on. A machine that nobody uses may be begun anew at any point.
async fn send_agent(
    errand: &Errand,
    wanted: &Wanted,
    host: &PhysicalHost,
    known: &Known,
    tools: &Tools,
) -> Result<Outcome, ReconcileError> {
    let media = match prepare_agent(errand, wanted, host, tools).await {
        Ok(media) => media,
        Err(trouble) => return Ok(Outcome::Failed(trouble)),
    };
    let armed = match make_ready(wanted, &media, known).await {
        Ok(armed) => armed,
        Err(trouble) => return Ok(Outcome::Failed(trouble)),
    };
    let host = match tools.marks.errand(host, &errand.sent(now())).await? {
        Written::To(host) => host,
        Written::Stale => return Ok(Outcome::Stale),
    };
    match turn_on(&known.bmc, &armed).await {
        Ok(()) => Ok(Outcome::Done(host, None)),
        Err(trouble) => Ok(Outcome::Failed(trouble)),
    }
}

async fn prepare_agent(
    errand: &Errand,
    wanted: &Wanted,
    host: &PhysicalHost,
    tools: &Tools,
) -> Result<Media, Trouble> {
    let presenter = tools.presenter.as_ref().ok_or_else(media::off)?;
    if let Some(boot) = errand.boot(presenter.agent.boot()) {
        let task = Some(errand.purpose.task());
        tools.resources.prepare(host, &errand.id, (&boot, task), presenter).await?;
    }
    media::media(wanted, &errand.id, host, Some(presenter)).await
}

/// Has everything ready for a machine that is on and asks again, whose BMC can't be told anything.
async fn serve_agent(errand: &Errand, host: &PhysicalHost, tools: &Tools) -> Result<(), Trouble> {
    let presenter = tools.presenter.as_ref().ok_or_else(media::off)?;
    let boot = errand.boot(AgentBoot::Network).filter(|_| presenter.agent.kernel.is_some());
    let boot = boot.ok_or_else(|| Trouble {
        reason: reasons::AGENT_NOT_AVAILABLE,
        message: "The machine is not inspected: it has to start the agent from the network. Start the manager with \
                  --agent-kernel and --agent-initramfs"
            .to_owned(),
        passes: false,
    })?;
    let task = Some(errand.purpose.task());
    tools.resources.prepare(host, &errand.id, (&boot, task), presenter).await
}

/// Off, eject, clear the override; and what was made for the errand goes.
async fn end_errand(host: &PhysicalHost, known: &Known, tools: &Tools) -> Result<Outcome, ReconcileError> {
    if let Err(trouble) = empty(known).await {
        return Ok(Outcome::Failed(trouble));
    }
    tools.resources.remove(host).await;
    written(tools.marks.end_errand(host).await?, None)
}

/// Off, insert, arm, mark, on. The mark stands between what may be done again and what may not. A machine that has one
/// already gets a new one first: should it be off and not be armed in the end, it must not be turned on for the old one.
async fn install(
    wanted: &Wanted,
    media: &Media,
    claim: &str,
    host: &PhysicalHost,
    known: &Known,
    marks: &Marks,
) -> Result<Outcome, ReconcileError> {
    let begun = Booting::begun(host, claim, now(), Vec::new());
    let mut host = Box::new(host.clone());
    if begun.tries > 1 {
        host = match marks.armed(&host, &begun).await? {
            Written::To(host) => host,
            Written::Stale => return Ok(Outcome::Stale),
        };
    }
    let armed = match make_ready(wanted, media, known).await {
        Ok(armed) => armed,
        Err(trouble) => return Ok(Outcome::Failed(trouble)),
    };
    let booting = begun.armed(now(), believable(wanted, sighting::seen(&armed)));
    let host = match marks.armed(&host, &booting).await? {
        Written::To(host) => host,
        Written::Stale => return Ok(Outcome::Stale),
    };
    match turn_on(&known.bmc, &armed).await {
        Ok(()) => Ok(Outcome::Done(host, None)),
        Err(trouble) => Ok(Outcome::Failed(trouble)),
    }
}

async fn make_ready(wanted: &Wanted, media: &Media, known: &Known) -> Result<System, Trouble> {
    let bmc = &known.bmc;
    let reason = match wanted.method.is_from_network() {
        true => reasons::SET_BOOT_TARGET_FAILED,
        false => reasons::SET_BOOT_ISO_FAILED,
    };
    let failed = |error: redfish::Error| trouble::of_act(reason, &error);
    let system = known.look().await.map_err(|error| trouble::of_contact(&error))?;
    let off = bmc
        .power_off(&system, PowerLimits::default())
        .await
        .map_err(|error| trouble::of_act(reasons::POWER_OFF_FAILED, &error))?;
    let mode = match wanted.mode {
        BootMode::UEFI => redfish::BootMode::Uefi,
        BootMode::Legacy => redfish::BootMode::Legacy,
    };
    let target = match (wanted.method, &media.image) {
        (BootMethod::VirtualMedia, Some(image)) => {
            let slot = bmc.insert(&off, image, MEDIA).await.map_err(failed)?;
            known.put_in(slot.path());
            if let Some(volume) = &media.volume {
                bmc.insert_beside(&off, volume, &slot, MEDIA).await.map_err(failed)?;
            }
            match &media.uefi_target {
                Some(path) => BootTarget::UefiTarget(path.clone()),
                None => BootTarget::VirtualCd,
            }
        }
        (BootMethod::PXE | BootMethod::Ipxe, _) => BootTarget::Pxe,
        (BootMethod::HTTPBoot, Some(program)) => BootTarget::UefiHttp(program.clone()),
        (BootMethod::Disk, _) => return bmc.clear_boot_override(&off, OVERRIDE).await.map_err(failed),
        (BootMethod::HTTPBoot | BootMethod::VirtualMedia, None) => {
            return Err(Trouble {
                reason,
                message: "The machine is not booted: there is nothing for it to boot".to_owned(),
                passes: false,
            });
        }
    };
    bmc.boot_once(&off, &target, mode, OVERRIDE).await.map_err(|error| {
        let is_without =
            matches!((&target, &error), (BootTarget::UefiTarget(_), redfish::Error::NotSupported { .. }));
        trouble::of_act(if is_without { reasons::BOOT_PARAMETERS_UNSUPPORTED } else { reason }, &error)
    })
}

/// Off, eject, clear the override. That the machine is clean is said in the status before the claim ends.
async fn deprovision(host: &PhysicalHost, known: &Known, tools: &Tools) -> Result<Outcome, ReconcileError> {
    if let Err(trouble) = empty(known).await {
        return Ok(Outcome::Failed(trouble));
    }
    if host.metadata.deletion_timestamp.is_some() && is_released(host) {
        return let_go(host, Farewell::Clean, &tools.marks).await;
    }
    let delivery = tools.presenter.as_ref().map_or(Delivery::Off, Presenter::delivery);
    Ok(match (demand(host, delivery), delivery.agent()) {
        (None, _) => Outcome::Emptied(Emptied::Clean),
        (Some(demand), AgentBoot::None) => Outcome::Failed(demand.not_possible()),
        (Some(_), AgentBoot::VirtualMedia | AgentBoot::Network) => Outcome::Emptied(Emptied::ToBeWiped),
    })
}

/// What was made for a claim, and copied for its tenant, goes with it.
async fn remove_made(host: &PhysicalHost, tools: &Tools) -> Result<(), Trouble> {
    tools.resources.remove(host).await;
    tools.copies.remove(host, &Part::copied(host)).await.map_err(|error| Trouble {
        reason: reasons::COPIES_NOT_REMOVED,
        message: format!(
            "The machine is clean, and stays back: what was copied for its tenant can't be removed: {}",
            causes(&error)
        ),
        passes: true,
    })
}

async fn empty(known: &Known) -> Result<(), Trouble> {
    let system = known.look().await.map_err(|error| trouble::of_contact(&error))?;
    let off = known
        .bmc
        .power_off(&system, PowerLimits::default())
        .await
        .map_err(|error| trouble::of_act(reasons::POWER_OFF_FAILED, &error))?;
    take_out(&known.bmc, &off).await?;
    known
        .bmc
        .clear_boot_override(&off, OVERRIDE)
        .await
        .map_err(|error| trouble::of_act(reasons::EJECT_MEDIA_FAILED, &error))?;
    Ok(())
}

async fn let_go(host: &PhysicalHost, farewell: Farewell, marks: &Marks) -> Result<Outcome, ReconcileError> {
    if farewell == Farewell::GivenUp {
        tracing::warn!(
            "the host is deleted though its BMC did not do as it was told: the machine may still run"
        );
    }
    match marks.let_go(host).await? {
        Written::To(_) => Ok(Outcome::Gone),
        Written::Stale => Ok(Outcome::Stale),
    }
}

async fn with_system(
    known: Option<&Known>,
    host: &PhysicalHost,
    step: impl AsyncFnOnce(&Bmc, &System) -> Result<(), Trouble>,
) -> Result<Outcome, ReconcileError> {
    let Some(known) = known else { return Ok(Outcome::Stale) };
    let done = match known.look().await {
        Ok(system) => step(&known.bmc, &system).await,
        Err(error) => Err(trouble::of_contact(&error)),
    };
    Ok(match done {
        Ok(()) => Outcome::Done(Box::new(host.clone()), None),
        Err(trouble) => Outcome::Failed(trouble),
    })
}

async fn take_out(bmc: &Bmc, system: &System) -> Result<(), Trouble> {
    let ejected = bmc.eject_all(system, MEDIA).await;
    ejected.map_err(|error| trouble::of_act(reasons::EJECT_MEDIA_FAILED, &error))
}

async fn turn_on(bmc: &Bmc, system: &System) -> Result<(), Trouble> {
    let on = bmc.power_on(system, PowerLimits::default()).await;
    on.map(|_| ()).map_err(|error| trouble::of_act(reasons::POWER_ON_FAILED, &error))
}

async fn turn_off(bmc: &Bmc, system: &System) -> Result<(), Trouble> {
    turn_off_within(bmc, system, PowerLimits::default()).await
}

/// Without asking what runs on it.
async fn cut_off(bmc: &Bmc, system: &System) -> Result<(), Trouble> {
    turn_off_within(bmc, system, PowerLimits { graceful: Duration::ZERO, ..PowerLimits::default() }).await
}

async fn turn_off_within(bmc: &Bmc, system: &System, limits: PowerLimits) -> Result<(), Trouble> {
    let off = bmc.power_off(system, limits).await;
    off.map(|_| ()).map_err(|error| trouble::of_act(reasons::POWER_OFF_FAILED, &error))
}

fn written(written: Written, sight: Option<Sight>) -> Result<Outcome, ReconcileError> {
    Ok(match written {
        Written::To(host) => Outcome::Done(host, sight),
        Written::Stale => Outcome::Stale,
    })
}
