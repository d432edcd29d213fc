//! The options that are read and written, by their numbers (RFC 2132, 3004, 3046, 4578, 6842; iPXE's own in 175).

pub(super) const SUBNET_MASK: u8 = 1;
pub(super) const ROUTER: u8 = 3;
pub(super) const NAME_SERVERS: u8 = 6;
pub(super) const HOST_NAME: u8 = 12;
pub(super) const TIME_SERVERS: u8 = 42;
pub(super) const VENDOR: u8 = 43;
pub(super) const REQUESTED_ADDRESS: u8 = 50;
pub(super) const LEASE_TIME: u8 = 51;
pub(super) const MESSAGE_TYPE: u8 = 53;
pub(super) const SERVER: u8 = 54;
pub(super) const LONGEST_MESSAGE: u8 = 57;
pub(super) const VENDOR_CLASS: u8 = 60;
pub(super) const CLIENT: u8 = 61;
pub(super) const BOOT_SERVER: u8 = 66;
pub(super) const BOOT_FILE: u8 = 67;
pub(super) const USER_CLASS: u8 = 77;
pub(super) const RELAY_AGENT: u8 = 82;
pub(super) const ARCHITECTURE: u8 = 93;
pub(super) const UUID: u8 = 97;
pub(super) const IPXE: u8 = 175;
