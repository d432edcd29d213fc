//! The init of a small ramdisk: inspects a machine, wipes its disks, writes an image.
//!
//! It runs on the machine itself and talks to the boot server only. It holds no code yet.
