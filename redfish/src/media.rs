//! Virtual media: an ISO at a URL that the BMC shows to the machine as a drive.

mod beside;
mod insertion;
mod search;
mod slot;

use std::time::Duration;

use serde_json::json;

pub use self::slot::Slot;
use crate::bmc::Bmc;
use crate::error::Error;
use crate::patience::{Deadline, pauses};
use crate::system::System;

/// An image that a BMC fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image<'a> {
    /// Where it is.
    pub url: &'a str,
    /// Whether the BMC must trust its server.
    pub trust: ImageTrust,
}

/// Whether a BMC checks the certificate of the server that it fetches an image from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageTrust {
    /// As somebody has set it on the BMC.
    AsTheBmcIsSet,
    /// It does not, where it lets us choose.
    Unchecked,
}

impl Image<'_> {
    fn is_encrypted(self) -> bool {
        self.url.starts_with("https:")
    }
}

impl<'a> From<&'a str> for Image<'a> {
    fn from(url: &'a str) -> Self {
        Self { url, trust: ImageTrust::AsTheBmcIsSet }
    }
}

impl<'a> From<&'a String> for Image<'a> {
    fn from(url: &'a String) -> Self {
        Self::from(url.as_str())
    }
}

impl Bmc {
    /// The slots that an ISO may go into, best first: those under the system before those under its managers, CD before
    /// DVD before what does not say before USB.
    ///
    /// # Errors
    /// The BMC did not answer.
    pub async fn slots(&self, system: &System) -> Result<Vec<Slot>, Error> {
        let found = self.find_slots(system).await?;
        match found.trouble {
            Some(trouble) if found.slots.is_empty() => Err(trouble),
            Some(_) | None => Ok(found.slots),
        }
    }

    /// One slot, by its path.
    ///
    /// # Errors
    /// The BMC did not answer.
    pub async fn slot(&self, path: &str) -> Result<Slot, Error> {
        Ok(Slot::new(self.get(path).await?))
    }

    /// Puts an image into the best slot that takes it, and waits until it is seen there.
    ///
    /// # Errors
    /// There is no slot, or none took it; the error is the last slot's.
    pub async fn insert<'a>(
        &self,
        system: &System,
        image: impl Into<Image<'a>>,
        limit: Duration,
    ) -> Result<Slot, Error> {
        let (image, deadline) = (image.into(), Deadline::after(limit));
        let slots = self.patiently(deadline, || self.slots(system)).await?;
        if let Some(there) = holder(&slots, image) {
            return Ok(there.clone());
        }
        let none = self.not_supported("virtual media: it has no drive that takes an ISO");
        let inserted = self.insert_among(slots, image, None, none, deadline).await;
        inserted.map_err(|refused| self.image_refused(image, refused))
    }

    /// Tries slot after slot until one takes an image, and leaves what is in `beside` where it is. Some have slots that
    /// can't be used (Cisco UCS, OpenBMC, Lenovo); another one may. If none does, the error is the last slot's, or `none`
    /// where there is no slot.
    async fn insert_among(
        &self,
        slots: Vec<Slot>,
        image: Image<'_>,
        beside: Option<&Slot>,
        none: Error,
        deadline: Deadline,
    ) -> Result<Slot, Error> {
        let mut refused = none;
        for slot in slots {
            let inserted = match (self.insert_into(&slot, image, deadline).await, beside) {
                (Ok(slot), Some(beside)) => self.leaving_in_place(beside, slot, image, deadline).await,
                (inserted, _) => inserted,
            };
            match inserted {
                Err(error) if error.is_about_one_resource() => refused = error,
                decided => return decided,
            }
        }
        Err(refused)
    }

    /// Empties every slot, under the system and under its managers.
    ///
    /// # Errors
    /// A slot could not be emptied.
    pub async fn eject_all(&self, system: &System, limit: Duration) -> Result<(), Error> {
        let deadline = Deadline::after(limit);
        let found = self.patiently(deadline, || self.find_slots(system)).await?;
        for slot in found.slots.iter().filter(|slot| slot.is_inserted()) {
            self.eject(slot, deadline).await?;
        }
        // A slot that can't be read may still hold an installer.
        found.trouble.map_or(Ok(()), Err)
    }

    async fn eject(&self, slot: &Slot, deadline: Deadline) -> Result<(), Error> {
        // Supermicro shows the action only while something is inserted: look again first.
        let now = self.patiently(deadline, || self.slot(slot.path())).await?;
        if !now.is_inserted() {
            return Ok(());
        }
        // An empty object, never nothing: iLOs refuse an action without a body.
        let nothing = json!({});
        let answer = match now.eject_action() {
            Some(target) => self.patiently(deadline, || self.post(target, &nothing)).await,
            None => {
                let body = json!({ "Image": null, "Inserted": false });
                self.patiently(deadline, || self.patch(now.path(), now.etag(), &body)).await
            }
        };
        match answer {
            Ok(answer) => self.finished(&format!("ejection from {}", slot.path()), &answer, deadline).await?,
            // Empty already: the look below tells.
            Err(Error::Said { status: 400 | 404 | 409 | 500, .. }) => {}
            Err(error) => return Err(error),
        }
        self.seen_in_slot(slot, None, deadline).await.map(|_| ())
    }

    /// Waits until a slot holds what it should; BMCs take seconds to say so.
    async fn seen_in_slot(
        &self,
        slot: &Slot,
        image: Option<&str>,
        deadline: Deadline,
    ) -> Result<Slot, Error> {
        let mut pauses = pauses();
        loop {
            let now = self.patiently(deadline, || self.slot(slot.path())).await?;
            let as_wanted = match image {
                Some(url) => now.holds(url),
                None => !now.is_inserted(),
            };
            if as_wanted {
                return Ok(now);
            }
            let pause = pauses.next().unwrap_or_default();
            if pause >= deadline.left() {
                let goal = if image.is_some() { "the image in" } else { "the end of what was in" };
                return Err(self.not_seen(format!("{goal} {}", slot.path()), deadline));
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Says what is most often behind the refusal of an https image.
    fn image_refused(&self, image: Image<'_>, refused: Error) -> Error {
        let of_the_image = matches!(refused, Error::Said { .. } | Error::NotSeen { .. });
        if of_the_image && image.is_encrypted() {
            return Error::ImageRefused { address: self.address().to_string(), reason: Box::new(refused) };
        }
        refused
    }
}

/// The slot that holds an image already.
fn holder<'a>(slots: &'a [Slot], image: Image<'_>) -> Option<&'a Slot> {
    slots.iter().find(|slot| slot.is_inserted() && slot.image() == Some(image.url))
}
