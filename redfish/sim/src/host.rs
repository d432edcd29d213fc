//! One BMC in a running fleet: the lock around it, its alarm clock, and what its machine does outside.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

use crate::bmc::Bmc;
use crate::clock::{Clock, Moment};
use crate::hardware::{Hardware, HardwareHandle};
use crate::machine::Effect;
use crate::machine::boot::BootSource;
use crate::os::{Booted, BootedOs, Medium, OsHandle};
use crate::reader::Reader;

/// What all hosts of a fleet share.
pub(crate) struct World {
    pub(crate) clock: Clock,
    pub(crate) reader: Reader,
    pub(crate) os: Option<Arc<dyn BootedOs>>,
    pub(crate) hardware: Option<Arc<dyn Hardware>>,
}

/// One BMC in a running fleet.
pub struct Host {
    bmc: Mutex<Bmc>,
    alarm: Mutex<Option<Moment>>,
    os: Mutex<Option<AbortHandle>>,
    world: Arc<World>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("bmc", &self.bmc).finish_non_exhaustive()
    }
}

impl Host {
    pub(crate) fn new(mut bmc: Bmc, world: Arc<World>) -> Arc<Self> {
        if world.hardware.is_some() {
            bmc.machine.run_outside();
        }
        Arc::new(Self { bmc: Mutex::new(bmc), alarm: Mutex::default(), os: Mutex::default(), world })
    }

    /// Does something with the BMC as it is now, and sets off what follows from it. It has to be
    /// called inside a tokio runtime.
    pub fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut Bmc, Moment) -> T) -> T {
        let now = self.world.clock.now();
        let (result, effects, next) = {
            let mut bmc = lock(&self.bmc);
            bmc.machine.advance(now);
            let result = act(&mut bmc, now);
            bmc.machine.advance(now);
            let effects = bmc.machine.take_effects();
            self.order(bmc.identity.address, &effects);
            (result, effects, bmc.machine.next_change())
        };
        for effect in effects {
            self.perform(effect);
        }
        if let Some(next) = next {
            self.set_alarm(next);
        }
        result
    }

    /// Gives orders while the BMC is locked: so they come in the order in which they were made.
    fn order(self: &Arc<Self>, address: Ipv4Addr, effects: &[Effect]) {
        let Some(hardware) = &self.world.hardware else { return };
        for effect in effects {
            match effect {
                Effect::Outside(order) => hardware.order(address, order.clone(), HardwareHandle::new(self)),
                Effect::Read { .. } | Effect::OsStarted { .. } | Effect::OsStopped => (),
            }
        }
    }

    /// As new: see [`Bmc::reset_to_new`]; what runs on the machine is ended.
    pub fn reset_to_new(self: &Arc<Self>) {
        self.end_os();
        self.with(|bmc, _| {
            bmc.reset_to_new();
            if self.world.hardware.is_some() {
                bmc.machine.run_outside();
            }
        });
    }

    fn set_alarm(self: &Arc<Self>, next: Moment) {
        let mut alarm = lock(&self.alarm);
        if *alarm == Some(next) {
            return;
        }
        *alarm = Some(next);
        let host = Arc::downgrade(self);
        let at = self.world.clock.instant(next);
        tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            if let Some(host) = host.upgrade() {
                host.wake(next);
            }
        });
    }

    fn wake(self: &Arc<Self>, at: Moment) {
        {
            let mut alarm = lock(&self.alarm);
            if *alarm == Some(at) {
                *alarm = None;
            }
        }
        self.with(|_, _| ());
    }

    fn perform(self: &Arc<Self>, effect: Effect) {
        match effect {
            Effect::Read { attempt, url } => {
                let host = Arc::clone(self);
                tokio::spawn(async move {
                    let read = host.world.reader.read(&url).await;
                    host.with(|bmc, now| bmc.machine.media_read(now, attempt, read));
                });
            }
            Effect::OsStarted { source } => self.start_os(source),
            Effect::OsStopped => self.end_os(),
            // Already given.
            Effect::Outside(_) => (),
        }
    }

    fn start_os(self: &Arc<Self>, source: BootSource) {
        let Some(os) = &self.world.os else { return };
        let now = self.world.clock.now();
        let booted = {
            let bmc = lock(&self.bmc);
            let media = bmc.machine.slots().iter().filter_map(|slot| {
                Some(Medium { slot: slot.id.clone(), image: slot.inserted(now)?.to_owned() })
            });
            Booted {
                address: bmc.identity.address,
                profile: bmc.profile.name,
                uuid: bmc.identity.uuid.clone(),
                serial: bmc.identity.serial.clone(),
                macs: bmc.identity.macs(),
                source,
                media: media.collect(),
                machine: OsHandle::new(self),
            }
        };
        let running = tokio::spawn(os.booted(booted)).abort_handle();
        if let Some(before) = lock(&self.os).replace(running) {
            before.abort();
        }
    }

    fn end_os(&self) {
        if let Some(running) = lock(&self.os).take() {
            running.abort();
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end_os();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
