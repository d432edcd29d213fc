//! The servers of the demo: simulated BMCs of every make, and what boots on the machines behind them.

use std::net::Ipv4Addr;
use std::sync::Arc;

use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::fleet::FleetConfig;
use beskar7_redfish_sim::os::BootedOs;
use beskar7_redfish_sim::profiles;

/// Where their hosts are.
pub(super) const NAMESPACE: &str = "metal";
/// Three for a control plane, five for workers, two to spare.
const COUNT: usize = 10;

/// They take a twentieth of the time that real machines take.
pub(super) fn fleet(os: Arc<dyn BootedOs>) -> FleetConfig {
    FleetConfig {
        count: COUNT,
        profiles: profiles::ALL.to_vec(),
        first: Ipv4Addr::new(127, 20, 0, 1),
        pace: 0.05,
        credentials: Credentials { username: "admin".to_owned(), password: "demo".to_owned() },
        os: Some(os),
        ..FleetConfig::default()
    }
}
