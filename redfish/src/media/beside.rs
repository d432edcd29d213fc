//! A second image: a volume with configuration beside the image that the machine boots from.
//!
//! With two CDs in, what does a machine boot from? The override says only "CD". Firmware passes over a disc without a
//! boot record, and a configuration volume has none. What is known of drives: iDRACs boot from their slot 1 alone, so
//! that the image that boots goes in first and the volume takes what is left ([`crate::Quirks::boots_from_slot_one`]);
//! iLOs boot from the CD, and have only a USB drive beside it.

use std::time::Duration;

use super::{Image, Slot, holder};
use crate::bmc::Bmc;
use crate::error::Error;
use crate::patience::Deadline;
use crate::system::System;

impl Bmc {
    /// Puts an image into the best slot other than the one that holds the image to boot from, and waits until both are
    /// seen. The image to boot from stays where it is, or is put back.
    ///
    /// # Errors
    /// There is no other slot, or none took it: then the BMC can't do this, and the error says what to do instead.
    pub async fn insert_beside<'a>(
        &self,
        system: &System,
        image: impl Into<Image<'a>>,
        beside: &Slot,
        limit: Duration,
    ) -> Result<Slot, Error> {
        let (image, deadline) = (image.into(), Deadline::after(limit));
        let mut slots = self.patiently(deadline, || self.slots(system)).await?;
        slots.retain(|slot| !slot.is_same_drive(beside));
        if let Some(there) = holder(&slots, image) {
            return Ok(there.clone());
        }
        let none = self.not_supported("two images at once: it has one virtual drive that takes an ISO");
        let inserted = self.insert_among(slots, image, Some(beside), none, deadline).await;
        inserted.map_err(|refused| self.second_refused(self.image_refused(image, refused)))
    }

    /// Whether the image to boot from is still there. A drive that is shown twice under different names holds what was
    /// put into it last: then that is taken out, and what was there is put back.
    pub(super) async fn leaving_in_place(
        &self,
        beside: &Slot,
        slot: Slot,
        image: Image<'_>,
        deadline: Deadline,
    ) -> Result<Slot, Error> {
        let now = self.patiently(deadline, || self.slot(beside.path())).await?;
        if now.is_inserted() && now.image() != Some(image.url) {
            return Ok(slot);
        }
        self.eject(&slot, deadline).await?;
        if let Some(url) = beside.image() {
            self.insert_into(&now, Image { url, trust: image.trust }, deadline).await?;
        }
        Err(self.not_supported("two images at once: what it shows as two drives is one"))
    }

    /// What is no answer about the drives stays as it is: it passes, or is of another kind.
    fn second_refused(&self, refused: Error) -> Error {
        if refused.is_about_one_resource() {
            return Error::SecondImageRefused {
                address: self.address().to_string(),
                reason: Box::new(refused),
            };
        }
        refused
    }
}
