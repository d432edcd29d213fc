//! Where the slots are: under the system, under its managers, or under both (Dell). Links are followed as they are given;
//! Supermicro's system links into its manager.

use super::Slot;
use super::slot::Fit;
use crate::bmc::Bmc;
use crate::error::Error;
use crate::system::System;

/// As many slots of a collection as are looked at.
const MOST_SLOTS: usize = 32;
/// As many managers of a system as are looked at.
const MOST_MANAGERS: usize = 8;

/// The slots that an ISO may go into, best first, and what went wrong with one of the others.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) slots: Vec<Slot>,
    pub(super) trouble: Option<Error>,
}

impl Found {
    /// What a read gave. What is not there is no trouble: BMCs link to what they do not have.
    fn unless_trouble<T: Default>(&mut self, read: Result<T, Error>) -> Result<T, Error> {
        match read {
            Err(Error::Said { status: 404 | 405 | 501, .. }) => Ok(T::default()),
            Err(error) if error.is_about_one_resource() => {
                self.trouble.get_or_insert(error);
                Ok(T::default())
            }
            read => read,
        }
    }
}

impl Bmc {
    pub(super) async fn find_slots(&self, system: &System) -> Result<Found, Error> {
        self.within_limit("which drives it has", self.read_slots(system)).await
    }

    async fn read_slots(&self, system: &System) -> Result<Found, Error> {
        let mut found = Found::default();
        let mut slots: Vec<(Fit, Slot)> = Vec::new();
        for collection in self.media_collections(system, &mut found).await? {
            let mut members = found.unless_trouble(self.members(&collection).await)?;
            if self.quirks().await?.boots_from_slot_one() {
                members.sort();
            }
            for path in members.into_iter().take(MOST_SLOTS) {
                if slots.iter().any(|(_, known)| known.path() == path) {
                    continue;
                }
                let slot = found.unless_trouble(self.get(&path).await.map(Some))?.map(Slot::new);
                slots.extend(slot.and_then(|slot| slot.fit().map(|fit| (fit, slot))));
            }
        }
        // Stable: of two that fit alike, the system's own comes first.
        slots.sort_by_key(|(fit, _)| *fit);
        found.slots = slots.into_iter().map(|(_, slot)| slot).collect();
        Ok(found)
    }

    async fn media_collections(&self, system: &System, found: &mut Found) -> Result<Vec<String>, Error> {
        let mut collections: Vec<String> = Vec::new();
        collections.extend(system.resource().link("VirtualMedia").map(ToOwned::to_owned));
        for manager in self.managers(system).await? {
            let manager = found.unless_trouble(self.get(&manager).await.map(Some))?;
            let media = manager.as_ref().and_then(|manager| manager.link("VirtualMedia"));
            let new = media.filter(|path| !collections.iter().any(|known| known == path));
            collections.extend(new.map(ToOwned::to_owned));
        }
        Ok(collections)
    }

    /// The managers of a system; those of the whole BMC where it does not say.
    pub(crate) async fn managers(&self, system: &System) -> Result<Vec<String>, Error> {
        let mut managers: Vec<String> =
            system.resource().links("Links/ManagedBy").into_iter().map(ToOwned::to_owned).collect();
        if managers.is_empty()
            && let Some(path) = self.root().await?.link("Managers")
        {
            managers = self.told_members(path).await?;
        }
        managers.truncate(MOST_MANAGERS);
        Ok(managers)
    }
}
