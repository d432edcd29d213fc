//! The servers of the demo: one simulated BMC of each make.

use std::net::Ipv4Addr;

use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::fleet::FleetConfig;
use beskar7_redfish_sim::profiles;

/// Where their hosts are.
pub(super) const NAMESPACE: &str = "metal";

/// They take a tenth of the time that real machines take.
pub(super) fn fleet() -> FleetConfig {
    FleetConfig {
        count: profiles::ALL.len(),
        profiles: profiles::ALL.to_vec(),
        first: Ipv4Addr::new(127, 20, 0, 1),
        pace: 0.1,
        credentials: Credentials { username: "admin".to_owned(), password: "demo".to_owned() },
        ..FleetConfig::default()
    }
}
