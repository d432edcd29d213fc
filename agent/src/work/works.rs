//! What the agent can do. The loop knows only this, and not how it is done.

use beskar7_agent_protocol::hardware::Inventory;
use beskar7_agent_protocol::order::{Install, Thoroughness};
use beskar7_agent_protocol::report::{Cleaned, Installed};

use crate::fetching::Fetch;
use crate::telling::{Problem, Telling};

/// What can be done to a machine. Where [`Telling::is_unwanted`] comes to be true, it is left as it is.
pub trait Works: Send + Sync {
    /// The SMBIOS UUID of the machine, where it has one of its own.
    fn uuid(&self) -> Option<String>;

    /// Says what the machine is made of.
    ///
    /// # Errors
    /// It can't be found out.
    fn inspect(&self, telling: &dyn Telling) -> Result<Inventory, Problem>;

    /// Wipes all disks that are seen, and says what can't be.
    ///
    /// # Errors
    /// One of them is not wiped.
    fn clean(&self, how: Thoroughness, telling: &dyn Telling) -> Result<Cleaned, Problem>;

    /// Writes an image to a disk.
    ///
    /// # Errors
    /// It is not installed.
    fn install(
        &self,
        order: &Install,
        fetch: &dyn Fetch,
        telling: &dyn Telling,
    ) -> Result<Installed, Problem>;
}
