//! Virtual media: an ISO at a URL that the BMC shows to the machine as a drive.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::bmc::{Bmc, Deadline, pauses};
use crate::error::Error;
use crate::resource::Resource;
use crate::system::System;

const INSERT: &str = "Actions/#VirtualMedia.InsertMedia/target";
const EJECT: &str = "Actions/#VirtualMedia.EjectMedia/target";
/// As many slots as are looked at.
const MOST_SLOTS: usize = 32;

/// How well a slot suits an ISO: less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Cd,
    Dvd,
    Unsaid,
    Usb,
}

/// A drive that the BMC can show to the machine.
#[derive(Debug, Clone)]
pub struct Slot {
    resource: Resource,
}

impl Slot {
    /// Its path on the BMC.
    #[must_use]
    pub fn path(&self) -> &str {
        self.resource.path()
    }

    /// What is in it, as the BMC says.
    #[must_use]
    pub fn image(&self) -> Option<&str> {
        self.resource.text("Image")
    }

    /// Whether something is in it, as the BMC says. BMCs lie about this one: an image that is named counts.
    #[must_use]
    pub fn is_inserted(&self) -> bool {
        self.resource.flag("Inserted").unwrap_or(false) || self.image().is_some()
    }

    fn fit(&self) -> Option<Fit> {
        let types = self.resource.texts("MediaTypes");
        if types.contains(&"CD") {
            Some(Fit::Cd)
        } else if types.contains(&"DVD") {
            Some(Fit::Dvd)
        } else if types.is_empty() {
            Some(Fit::Unsaid)
        } else if types.contains(&"USBStick") {
            Some(Fit::Usb)
        } else {
            None
        }
    }
}

impl Bmc {
    /// The slots that an ISO may go into, best first: those under the system before those under its managers, CD before
    /// DVD before what does not say before USB.
    ///
    /// # Errors
    /// The BMC did not answer.
    pub async fn slots(&self, system: &System) -> Result<Vec<Slot>, Error> {
        let mut collections: Vec<String> = Vec::new();
        collections.extend(system.resource().link("VirtualMedia").map(ToOwned::to_owned));
        for manager in self.managers(system).await? {
            let manager = self.get(&manager).await?;
            let media = manager.link("VirtualMedia").map(ToOwned::to_owned);
            collections.extend(media.filter(|path| !collections.contains(path)));
        }
        let mut slots: Vec<(Fit, Slot)> = Vec::new();
        for collection in collections {
            for path in self.members(&collection).await?.into_iter().take(MOST_SLOTS) {
                if slots.iter().any(|(_, known)| known.path() == path) {
                    continue;
                }
                let slot = Slot { resource: self.get(&path).await? };
                slots.extend(slot.fit().map(|fit| (fit, slot)));
            }
        }
        // Stable: of two that fit alike, the system's own comes first.
        slots.sort_by_key(|(fit, _)| *fit);
        Ok(slots.into_iter().map(|(_, slot)| slot).collect())
    }

    /// Puts an image into the best slot that takes it, and waits until it is seen there.
    ///
    /// # Errors
    /// There is no slot, or none took it; the error is the last slot's.
    pub async fn insert(&self, system: &System, image: &str, limit: Duration) -> Result<Slot, Error> {
        let deadline = Deadline::after(limit);
        let slots = self.slots(system).await?;
        if let Some(there) = slots.iter().find(|slot| slot.is_inserted() && slot.image() == Some(image)) {
            return Ok(there.clone());
        }
        let mut refused = self.not_supported("virtual media: it has no drive that takes an ISO");
        for slot in slots {
            match self.insert_into(&slot, image, deadline).await {
                Ok(slot) => return Ok(slot),
                Err(error @ (Error::Said { .. } | Error::NotSupported { .. })) => refused = error,
                Err(error) => return Err(error),
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
        for slot in self.slots(system).await?.into_iter().filter(Slot::is_inserted) {
            self.eject(&slot, deadline).await?;
        }
        Ok(())
    }

    async fn insert_into(&self, slot: &Slot, image: &str, deadline: Deadline) -> Result<Slot, Error> {
        if slot.is_inserted() {
            self.eject(slot, deadline).await?;
        }
        let what = format!("insertion into {}", slot.path());
        let answer = match slot.resource.text(INSERT) {
            Some(target) => self.insert_by_action(target, image, deadline).await?,
            None => {
                let body = json!({ "Image": image, "Inserted": true, "WriteProtected": true });
                let patch = || self.patch(slot.path(), slot.resource.etag(), &body);
                self.patiently(deadline, patch).await?
            }
        };
        self.finished(&what, &answer, deadline).await?;
        self.seen_in_slot(slot, Some(image), deadline).await
    }

    /// Calls InsertMedia with the image alone, and adds what the BMC says is missing: some refuse a property that others
    /// demand.
    async fn insert_by_action(
        &self,
        target: &str,
        image: &str,
        deadline: Deadline,
    ) -> Result<crate::transport::Answer, Error> {
        let mut body = Map::from_iter([("Image".to_owned(), json!(image))]);
        loop {
            let whole = Value::Object(body.clone());
            let refused = match self.patiently(deadline, || self.post(target, &whole)).await {
                Err(Error::Said { address, status: 400, what, messages }) => (address, what, messages),
                answer => return answer,
            };
            let (address, what, messages) = refused;
            let missing = demanded(image)
                .into_iter()
                .find(|(name, _)| !body.contains_key(*name) && messages.mention(name));
            match missing {
                Some((name, value)) => body.insert(name.to_owned(), value),
                None => return Err(Error::Said { address, status: 400, what, messages }),
            };
        }
    }

    async fn eject(&self, slot: &Slot, deadline: Deadline) -> Result<(), Error> {
        // Some show the action only while something is inserted: look again first.
        let now = Slot { resource: self.get(slot.path()).await? };
        if !now.is_inserted() {
            return Ok(());
        }
        // An empty object, never nothing: iLOs refuse an action without a body.
        let nothing = json!({});
        let answer = match now.resource.text(EJECT) {
            Some(target) => self.patiently(deadline, || self.post(target, &nothing)).await,
            None => {
                let body = json!({ "Image": null, "Inserted": false });
                self.patiently(deadline, || self.patch(now.path(), now.resource.etag(), &body)).await
            }
        };
        match answer {
            Ok(answer) => self.finished(&format!("ejection from {}", slot.path()), &answer, deadline).await?,
            // Empty already: the look below tells.
            Err(Error::Said { status: 400 | 404 | 409, .. }) => {}
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
            let now = Slot { resource: self.patiently(deadline, || self.get(slot.path())).await? };
            let as_wanted = match image {
                // Some name the image otherwise than they were told, or not at all.
                Some(image) => now.resource.flag("Inserted") == Some(true) || now.image() == Some(image),
                None => !now.is_inserted(),
            };
            if as_wanted {
                return Ok(now);
            }
            let pause = pauses.next().unwrap_or_default();
            if pause >= deadline.left() {
                let goal = if image.is_some() { "holding the image" } else { "being empty" };
                return Err(
                    self.not_supported(&format!("{} {goal}: it was asked for and never seen", slot.path()))
                );
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// The managers of a system; those of the whole BMC where it does not say.
    async fn managers(&self, system: &System) -> Result<Vec<String>, Error> {
        let named: Vec<String> =
            system.resource().links("Links/ManagedBy").into_iter().map(ToOwned::to_owned).collect();
        if !named.is_empty() {
            return Ok(named);
        }
        match self.root().await?.link("Managers") {
            Some(path) => self.members(path).await,
            None => Ok(Vec::new()),
        }
    }
}

/// What some BMCs want beside the image, in the order in which it is worth trying.
fn demanded(image: &str) -> [(&'static str, Value); 6] {
    let protocol = if image.starts_with("https:") { "HTTPS" } else { "HTTP" };
    [
        ("TransferProtocolType", json!(protocol)),
        ("TransferMethod", json!("Stream")),
        ("UserName", json!("")),
        ("Password", json!("")),
        ("WriteProtected", json!(true)),
        ("Inserted", json!(true)),
    ]
}
