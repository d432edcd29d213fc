//! Keeps an address for as long as the work takes: wiping a disk may take longer than a lease.

use std::time::{Duration, Instant};

use super::dhcp::{self, DhcpError};
use super::{Connected, Interface, Lease, Network, kernel, names};

/// A server that is away is not asked more often than this.
const LEAST_PAUSE: Duration = Duration::from_secs(10);

/// Asks for the lease to go on, again and again, and never ends. Without a lease there is nothing to do.
pub fn keep(network: &Network<'_>, connected: &Connected) {
    let interface = &connected.interface;
    let Some(mut lease) = connected.lease.clone() else { return };
    let mut since = Instant::now();
    let mut pause = lease.renew_after.max(LEAST_PAUSE);
    loop {
        std::thread::sleep(pause);
        match again(interface, &lease) {
            Ok(next) => {
                taken_over(network, interface, &lease, &next);
                (since, pause) = (Instant::now(), next.renew_after.max(LEAST_PAUSE));
                lease = next;
            }
            // The address stays, even when its time is over: without one nobody can be told anything, and the server
            // that might give it to somebody else does not answer.
            Err(error) => {
                network.journal.say(&format!("the address of {} was not renewed: {error}", interface.name));
                pause = after_failure(lease.lasts.saturating_sub(since.elapsed()));
            }
        }
    }
}

/// The same address for longer; or another one, where the server takes it back.
fn again(interface: &Interface, lease: &Lease) -> Result<Lease, DhcpError> {
    match dhcp::renew(interface, lease) {
        Err(DhcpError::Refused(_)) => dhcp::lease(interface),
        other => other,
    }
}

fn taken_over(network: &Network<'_>, interface: &Interface, old: &Lease, new: &Lease) {
    if old.addressing == new.addressing {
        return;
    }
    let given = kernel::give(interface, &new.addressing).map_err(|error| error.to_string());
    let written = names::write(&network.etc, &new.addressing.name_servers).map_err(|error| error.to_string());
    match given.and(written) {
        Ok(()) => {
            network.journal.say(&format!("{} has {} from now on", interface.name, new.addressing.address));
        }
        Err(error) => network.journal.say(&error),
    }
}

/// Half of what is left, as RFC 2131 has it, but not for ever in a hurry.
fn after_failure(left: Duration) -> Duration {
    (left / 2).max(LEAST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failure_half_of_what_is_left_is_waited_and_never_too_little() {
        for (left, expected) in [(7200, 3600), (70, 35), (10, 10), (0, 10)] {
            assert_eq!(after_failure(Duration::from_secs(left)).as_secs(), expected);
        }
    }
}
