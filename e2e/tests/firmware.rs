//! Real firmware: ISOs that are made here boot in QEMU under OVMF and SeaBIOS.

#[path = "firmware/making.rs"]
mod making;
