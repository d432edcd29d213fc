//! The hardware profiles: one file each, with that vendor's habits as data.
//!
//! A habit is something that a real BMC was seen doing and that a client has to survive.

pub mod habits;

mod dell_idrac;
mod hpe_ilo;
mod lenovo_xcc;
mod openbmc;
mod plain;
mod supermicro;

pub use habits::Profile;

/// Every profile.
pub static ALL: [&Profile; 6] = [
    &plain::PROFILE,
    &dell_idrac::PROFILE,
    &hpe_ilo::PROFILE,
    &supermicro::PROFILE,
    &lenovo_xcc::PROFILE,
    &openbmc::PROFILE,
];

/// The profile with this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Profile> {
    ALL.into_iter().find(|profile| profile.name == name)
}

/// The profile without any habit: what the Redfish specification says.
#[must_use]
pub fn plain() -> &'static Profile {
    &plain::PROFILE
}
