//! What follows for a Beskar7MachineTemplate: what a machine of it offers at least. The cluster autoscaler reads it where
//! there is no Node yet to look at.

mod offer;

pub use self::offer::{Offering, cluster_name, concerned_by_host, left_alone, offer};
