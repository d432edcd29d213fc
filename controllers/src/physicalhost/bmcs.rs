//! The BMCs that are known: one session each, kept for as long as its settings stay the same.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use beskar7_api::physical_host::RedfishConnection;
use beskar7_core::host::contact::Parts;
use beskar7_redfish::{
    Address, AddressError, Bmc, Credentials, Error, Guard, HttpClients, Inventory, Limits, PackedSystem,
    Slot, System, Trust, TrustError,
};
use tokio::time::Instant;

use super::{Key, inventory};
use crate::{boot_server::links, causes::causes};

/// Secrets are not watched: they are read again this often.
const READ_AGAIN: Duration = Duration::from_secs(300);

/// Why a BMC can't even be asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum SettingsError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// How a BMC is reached.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) connection: RedfishConnection,
    pub(super) credentials: Credentials,
    pub(super) trust: Trust,
}

/// A BMC that is known.
pub(super) struct Known {
    settings: Settings,
    pub(super) bmc: Bmc,
    /// When its Secrets were read.
    read: Mutex<Instant>,
    /// What it said last: the next read is conditional.
    system: tokio::sync::Mutex<Option<PackedSystem>>,
    /// The drive that an image was put into, or found in, by its path.
    drive: Mutex<Option<String>>,
    stock: Mutex<Stock>,
}

/// What is known of the parts of a machine.
#[derive(Debug, Default)]
struct Stock {
    /// When they were written down, or taken over from what was.
    written: Option<Instant>,
    /// Whether they are being read, or are about to be.
    reading: bool,
    /// What was read and is not written down yet.
    read: Option<Parts>,
    /// How often they were read in vain for the addresses of what runs.
    in_vain: u32,
}

/// Why the parts of a machine are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// They may have changed.
    Parts,
    /// Nobody knows the addresses of what runs on it: they are read more often, after this time and then less and less.
    Addresses(Duration),
}

impl Known {
    /// Reads the system, or whether it has changed.
    pub(super) async fn look(&self) -> Result<System, Error> {
        let mut held = self.system.lock().await;
        let system = match &*held {
            Some(system) => self.bmc.refresh(&system.unpacked()).await?,
            None => self.bmc.system(self.settings.connection.system_id.as_deref()).await?,
        };
        *held = Some(system.packed());
        Ok(system)
    }

    /// An image is in this drive now.
    pub(super) fn put_in(&self, drive: &str) {
        *self.drive.lock().unwrap_or_else(PoisonError::into_inner) = Some(drive.to_owned());
    }

    /// Whether an image is in a drive. Which one it was put into is known until the manager ends.
    pub(super) async fn has_medium(&self, system: &System) -> Result<bool, Error> {
        let drive = self.drive.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(drive) = drive {
            return Ok(self.bmc.slot(&drive).await?.is_inserted());
        }
        let found =
            self.bmc.slots(system).await?.into_iter().find(|slot| slot.is_inserted() && !is_volume(slot));
        if let Some(slot) = &found {
            self.put_in(slot.path());
        }
        Ok(found.is_some())
    }

    /// Whether it is time to read the inventory, and nobody does. One that is written down already is read again some
    /// time within a day, so that a manager that starts does not ask ten thousand BMCs at once. Who is told so reads it.
    pub(super) fn begins_inventory(&self, written_down: bool, need: Need) -> bool {
        let mut stock = self.stock();
        if stock.reading || stock.read.is_some() {
            return false;
        }
        let pause = match need {
            Need::Parts => {
                stock.in_vain = 0;
                inventory::READ_AGAIN
            }
            Need::Addresses(first) => {
                let longer = 2_u32.saturating_pow(stock.in_vain);
                first.saturating_mul(longer).min(inventory::READ_AGAIN)
            }
        };
        stock.reading = match stock.written {
            Some(at) => at.elapsed() >= pause,
            None if written_down => {
                stock.written = Instant::now().checked_sub(inventory::READ_AGAIN.mul_f64(fastrand::f64()));
                false
            }
            None => true,
        };
        if stock.reading && need != Need::Parts {
            stock.in_vain = stock.in_vain.saturating_add(1);
        }
        stock.reading
    }

    /// Reads the inventory.
    pub(super) async fn inventory(&self) -> Result<Inventory, Error> {
        let system = self.look().await?;
        self.bmc.inventory(&system).await
    }

    /// The inventory was read, or could not be. What was read is kept until it is written down.
    pub(super) fn inventory_is_read(&self, parts: Option<Parts>) {
        let mut stock = self.stock();
        (stock.reading, stock.read) = (false, parts);
    }

    /// What was read of the inventory and is not written down yet.
    pub(super) fn unwritten_parts(&self) -> Option<Parts> {
        self.stock().read.clone()
    }

    /// The inventory that was read is where others find it.
    pub(super) fn inventory_is_written(&self) {
        let mut stock = self.stock();
        (stock.written, stock.read) = (Some(Instant::now()), None);
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_fresh(&self) -> bool {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < READ_AGAIN
    }
}

/// All that are known.
pub(super) struct Bmcs {
    clients: HttpClients,
    known: Mutex<HashMap<Key, Arc<Known>>>,
    guard: Guard,
}

impl Bmcs {
    /// None yet. Before a machine is changed, `guard` is asked.
    pub(super) fn new(guard: Guard) -> Self {
        Self { clients: HttpClients::default(), known: Mutex::default(), guard }
    }

    /// The BMC of a host, if its Secrets were read lately and the host still says the same.
    pub(super) fn fresh(&self, key: &Key, connection: &RedfishConnection) -> Option<Arc<Known>> {
        let known = self.get(key)?;
        (known.settings.connection == *connection && known.is_fresh()).then_some(known)
    }

    /// The BMC for these settings: the one that is known, or a new one, and the old one is left.
    pub(super) fn take_up(&self, key: &Key, settings: Settings) -> Result<Arc<Known>, SettingsError> {
        if let Some(known) = self.get(key).filter(|known| known.settings == settings) {
            *known.read.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            return Ok(known);
        }
        let address = Address::parse(&settings.connection.address)?;
        let http = self.clients.get(&settings.trust)?;
        let bmc = Bmc::new(http, address, settings.credentials.clone(), Limits::default())
            .guarded(Arc::clone(&self.guard));
        let known = Arc::new(Known {
            settings,
            bmc,
            read: Mutex::new(Instant::now()),
            system: tokio::sync::Mutex::new(None),
            drive: Mutex::default(),
            stock: Mutex::default(),
        });
        leave(self.lock().insert(key.clone(), Arc::clone(&known)));
        Ok(known)
    }

    /// Whether something was read of a host's inventory that is not written down yet.
    pub(super) fn has_unwritten_parts(&self, key: &Key) -> bool {
        self.get(key).is_some_and(|known| known.stock().read.is_some())
    }

    /// Leaves a BMC; whoever asks for it next reads its Secrets again.
    pub(super) fn forget(&self, key: &Key) {
        leave(self.lock().remove(key));
    }

    fn get(&self, key: &Key) -> Option<Arc<Known>> {
        self.lock().get(key).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a drive holds a configuration, beside the image that boots.
fn is_volume(slot: &Slot) -> bool {
    slot.image().is_some_and(links::is_volume)
}

/// Ends a session in the background: BMCs have few.
fn leave(known: Option<Arc<Known>>) {
    let Some(known) = known else { return };
    tokio::spawn(async move {
        if let Err(error) = known.bmc.close().await {
            tracing::debug!(error = causes(&error), "a session could not be ended; it ends by itself");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        ("metal".to_owned(), "h".to_owned())
    }

    fn taken_up(bmcs: &Bmcs) -> Arc<Known> {
        let connection =
            RedfishConnection { address: "http://127.0.0.1:9".to_owned(), ..RedfishConnection::default() };
        let credentials = Credentials::new("root", "secret");
        let settings = Settings { connection, credentials, trust: Trust::Anything };
        bmcs.take_up(&key(), settings).unwrap()
    }

    #[tokio::test]
    async fn an_inventory_is_read_by_one_and_kept_until_it_is_written_down() {
        let bmcs = Bmcs::new(Arc::new(|| true));
        let (key, known) = (key(), taken_up(&bmcs));
        let begins = || known.begins_inventory(false, Need::Parts);
        assert!(begins());
        assert!(!begins(), "it is being read");
        known.inventory_is_read(None);
        assert!(begins(), "it could not be read");
        known.inventory_is_read(Some(Parts::default()));
        assert!(known.unwritten_parts().is_some() && bmcs.has_unwritten_parts(&key));
        assert!(!begins(), "it is read, but not yet written down");
        known.inventory_is_written();
        assert!(known.unwritten_parts().is_none() && !bmcs.has_unwritten_parts(&key));
        assert!(!begins());
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_are_looked_for_soon_and_then_less_and_less() {
        const POLL: Duration = Duration::from_secs(60);
        let known = taken_up(&Bmcs::new(Arc::new(|| true)));
        let begins = |need| known.begins_inventory(false, need);
        let end = || {
            known.inventory_is_read(Some(Parts::default()));
            known.inventory_is_written();
        };
        assert!(begins(Need::Parts));
        end();
        for (minutes, of) in [(1, 1), (2, 2), (4, 4)] {
            tokio::time::advance(POLL * minutes - Duration::from_secs(1)).await;
            assert!(!begins(Need::Addresses(POLL)), "{of}");
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(begins(Need::Addresses(POLL)), "{of}");
            end();
        }
        tokio::time::advance(POLL).await;
        assert!(!begins(Need::Parts), "they are known, or nobody needs them");
        assert!(begins(Need::Addresses(POLL)), "another claim, another search");
    }
}
