//! The words in which a hardware profile is written: what BMCs differ in, each as a closed choice.
//!
//! It holds no behaviour; the `bmc` module reads it. Every time in it is as with a pace of 1.

use std::time::Duration;

use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

/// One kind of hardware: names, versions and habits.
#[derive(Debug)]
pub struct Profile {
    /// The name it is chosen by.
    pub name: &'static str,
    /// What the service root, System, Manager and Chassis say of themselves.
    pub names: Names,
    /// The schema versions it claims.
    pub schemas: Schemas,
    /// Virtual media.
    pub media: MediaHabits,
    /// The boot override.
    pub boot: BootHabits,
    /// Power.
    pub reset: ResetHabits,
    /// ETags.
    pub etag: ETagHabits,
    /// Sessions.
    pub session: SessionHabits,
    /// Ids of further Systems that cannot be reset, such as a GPU baseboard.
    pub bystanders: &'static [&'static str],
    /// Links end in a slash.
    pub trailing_slash: bool,
    /// How long its machine takes.
    pub timing: Timing,
}

/// Names and versions.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Names {
    pub vendor: Option<&'static str>,
    pub product: Option<&'static str>,
    pub oem: Option<&'static str>,
    pub redfish_version: &'static str,
    pub system: &'static str,
    pub manager: &'static str,
    pub chassis: &'static str,
    pub storage: &'static str,
    pub settings: &'static str,
    pub manufacturer: &'static str,
    pub model: &'static str,
    pub sku: &'static str,
    pub bios: &'static str,
    pub manager_model: &'static str,
    pub firmware: &'static str,
    pub processor: &'static str,
    pub processor_vendor: &'static str,
}

/// What may be chosen from: what every BMC offers, and what this one offers besides.
#[derive(Debug)]
pub struct Choices<T: 'static> {
    basic: &'static [T],
    more: &'static [T],
}

impl<T: Copy + PartialEq> Choices<T> {
    /// What every BMC offers.
    #[must_use]
    pub const fn of(basic: &'static [T]) -> Self {
        Self { basic, more: &[] }
    }

    /// The same, and these besides.
    #[must_use]
    pub const fn and(&self, more: &'static [T]) -> Self {
        Self { basic: self.basic, more }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.basic.iter().chain(self.more).copied()
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn contains(&self, one: &T) -> bool {
        self.basic.contains(one) || self.more.contains(one)
    }
}

/// Schema versions, as in `#ComputerSystem.v1_16_0.ComputerSystem`.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Schemas {
    pub root: &'static str,
    pub system: &'static str,
    pub manager: &'static str,
    pub media: &'static str,
    pub chassis: &'static str,
}

/// Under what a resource hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// `/redfish/v1/Systems/…`
    System,
    /// `/redfish/v1/Managers/…`
    Manager,
}

/// A virtual media slot.
#[derive(Debug)]
pub struct SlotKind {
    /// Where it is.
    pub home: Home,
    /// Its id.
    pub id: &'static str,
    /// What it takes; empty means that the BMC does not say.
    pub types: &'static [&'static str],
    /// False: it is shown, but has no actions and refuses every change.
    pub usable: bool,
    /// False: the firmware does not boot from it.
    pub boots: bool,
    /// Of which other slot, by its place in the list, this is only another name.
    pub same_as: Option<usize>,
}

impl SlotKind {
    /// A slot that can be used.
    #[must_use]
    pub const fn usable(home: Home, id: &'static str, types: &'static [&'static str]) -> Self {
        Self { home, id, types, usable: true, boots: true, same_as: None }
    }

    /// A slot that is shown and refuses every change.
    #[must_use]
    pub const fn no_use(self) -> Self {
        Self { usable: false, ..self }
    }

    /// A slot that the firmware does not boot from.
    #[must_use]
    pub const fn never_booted(self) -> Self {
        Self { boots: false, ..self }
    }

    /// Another name of the slot at this place in the list.
    #[must_use]
    pub const fn also(self, same_as: usize) -> Self {
        Self { same_as: Some(same_as), ..self }
    }
}

/// How media are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaControl {
    /// By the actions InsertMedia and EjectMedia.
    Actions,
    /// By the actions, of which EjectMedia is shown only while something is inserted.
    EjectWhenInserted,
    /// By PATCH; `Actions` is empty.
    Patch,
}

/// What an insert or eject is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaReply {
    /// 204.
    NoContent,
    /// 200 with an `error` body that says "Success".
    SuccessMessage,
    /// 202 and a Task; the change is seen when the task is done.
    Accepted {
        /// Whether the answer names the task in `Location`.
        location: bool,
        /// How long it takes.
        takes: Duration,
    },
}

/// How an empty slot shows its `Image`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyImage {
    /// `null`
    Null,
    /// `""`
    EmptyString,
    /// Not at all.
    Absent,
}

/// Virtual media.
#[derive(Debug)]
pub struct MediaHabits {
    /// All slots; those with the same home make one collection.
    pub slots: &'static [SlotKind],
    /// Where `System.VirtualMedia` links to, if it is there.
    pub system_link: Option<Home>,
    /// How media are changed.
    pub control: MediaControl,
    /// What a change is answered with.
    pub reply: MediaReply,
    /// `Inserted` and `WriteProtected` in the body of InsertMedia are refused.
    pub refuses_inserted: bool,
    /// EjectMedia without a JSON body is 415.
    pub eject_wants_body: bool,
    /// How an empty slot shows its `Image`.
    pub empty: EmptyImage,
    /// How long a slot says "Inserted" after it was emptied, and refuses the next insert with 500.
    pub lingers: Duration,
    /// Images over https are refused: the BMC knows no CA.
    pub refuses_https: bool,
}

/// Where the boot override is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootPlace {
    /// At the System.
    System,
    /// At its Settings object; the System refuses.
    Settings,
}

/// What happens to `BootSourceOverrideMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootMode {
    /// Shown and kept.
    Kept,
    /// Neither shown nor accepted.
    Absent,
    /// Falls back to Legacy when a change does not name it.
    FallsBack,
    /// A change of it is a job: 202 and a Task that is 404 for a moment.
    ByJob {
        /// How long.
        hidden: Duration,
        /// How long the job takes.
        takes: Duration,
    },
}

/// The boot override.
#[derive(Debug)]
pub struct BootHabits {
    /// The allowable targets.
    pub targets: Choices<Target>,
    /// Where it is changed.
    pub place: BootPlace,
    /// Its mode.
    pub mode: BootMode,
    /// Whether `Continuous` is supported.
    pub continuous: bool,
    /// A change without `BootSourceOverrideEnabled` is refused.
    pub wants_enabled: bool,
    /// Changes are refused during POST.
    pub refused_during_post: bool,
    /// Whether `BootProgress` is there.
    pub progress: bool,
}

/// Where the allowable reset types are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// With the action.
    Inline,
    /// In an ActionInfo resource only.
    ActionInfo,
    /// In both.
    Both,
}

/// Power.
#[derive(Debug)]
pub struct ResetHabits {
    /// The allowable types.
    pub types: Choices<ResetType>,
    /// Where they are listed.
    pub listed: Listed,
    /// 409 when the machine is in that state already; else 204.
    pub refuses_same_state: bool,
    /// How long after power-off an order to power on is refused.
    pub rests: Duration,
    /// ForceRestart turns the machine off and leaves it so.
    pub restart_hangs: bool,
    /// PoweringOn and PoweringOff are shown; else On stays until Off is reached, and the reverse.
    pub shows_transitions: bool,
}

/// What form ETags have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ETagForm {
    /// There are none.
    None,
    /// `"…"`
    Strong,
    /// `W/"…"`
    Weak,
}

/// What a PATCH does with `If-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMatch {
    /// Nothing.
    Ignored,
    /// 412 when it is there and wrong.
    Checked,
    /// 428 when it is absent, 412 when wrong; `*` is wrong.
    Required,
}

/// ETags.
#[derive(Debug)]
pub struct ETagHabits {
    /// Their form.
    pub form: ETagForm,
    /// What a PATCH does with `If-Match`.
    pub if_match: IfMatch,
}

/// Sessions.
#[derive(Debug)]
pub struct SessionHabits {
    /// After how long without a request a session is gone.
    pub idle: Duration,
    /// How many there may be.
    pub max: usize,
    /// Whether `Location` is a full URL.
    pub absolute_location: bool,
}
