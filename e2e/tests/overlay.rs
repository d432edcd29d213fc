//! Images presented with other kernel parameters, looked at by the tools that others wrote: xorriso through each tree,
//! fsck.fat and mtools in the EFI system partition, sfdisk at the partition tables, GRUB at its scripts.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

#[path = "overlay/damage.rs"]
mod damage;
#[path = "overlay/layouts.rs"]
mod layouts;
#[path = "overlay/presented.rs"]
mod presented;
#[path = "overlay/small.rs"]
mod small;
#[path = "overlay/system_partitions.rs"]
mod system_partitions;
#[path = "overlay/tools.rs"]
mod tools;
#[path = "overlay/trees.rs"]
mod trees;
