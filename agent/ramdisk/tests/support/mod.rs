//! What tests of the ramdisk and of the agent in it need: a program to start, a machine to start it on.
#![allow(dead_code, reason = "each test uses what it needs of it")]

pub mod disk;
pub mod installed;
pub mod machine;
pub mod program;
