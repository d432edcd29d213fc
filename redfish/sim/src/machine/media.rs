//! The virtual media slots of a machine.
//!
//! A slot knows only what is in it and since when; how it is presented is the BMC's business.

use serde::Serialize;

use crate::clock::Moment;

/// One slot.
#[derive(Debug, Clone, Serialize)]
pub struct Slot {
    /// Its id, unique in its home.
    pub id: String,
    /// The image's URL.
    pub image: Option<String>,
    /// Whether the machine may write to it.
    pub write_protected: bool,
    /// Whether the firmware looks at it for something to boot.
    #[serde(skip)]
    pub boots: bool,
    /// From when the image is seen: an insert may take its time.
    #[serde(skip)]
    pub ready_at: Moment,
    /// Until when a slot just emptied still says that it is full.
    #[serde(skip)]
    pub lingers: Option<(Moment, String)>,
}

impl Slot {
    /// An empty slot.
    #[must_use]
    pub fn new(id: String) -> Self {
        Self { id, image: None, write_protected: true, boots: true, ready_at: Moment::ZERO, lingers: None }
    }

    /// What the slot says it holds.
    #[must_use]
    pub fn shown(&self, now: Moment) -> Option<&str> {
        match (&self.image, &self.lingers) {
            (Some(image), _) if now >= self.ready_at => Some(image),
            (Some(_), _) => None,
            (None, Some((until, image))) if now < *until => Some(image),
            (None, _) => None,
        }
    }

    /// What the machine has in the drive.
    #[must_use]
    pub fn inserted(&self, now: Moment) -> Option<&str> {
        self.image.as_deref().filter(|_| now >= self.ready_at)
    }

    /// What the machine may boot from.
    #[must_use]
    pub fn bootable(&self, now: Moment) -> Option<&str> {
        self.inserted(now).filter(|_| self.boots)
    }
}
