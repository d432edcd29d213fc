//! Processes that never outlive this one, however it ends.
//!
//! Every program is started through a small supervisor (this crate's binary,
//! [`supervisor`]) that lives in a process group of its own and holds the read
//! end of a pipe from us. When we end, by SIGKILL to our whole process group
//! too, the kernel closes the pipe and the supervisor takes the program down.
//! Should the supervisor itself be killed, the kernel kills the program
//! (parent-death signal, Linux).
//!
//! Not for: starting anything on another machine, or daemons that should stay.

mod command;
mod log;
mod protocol;
mod running;
mod search;
pub mod supervisor;

pub use command::{Command, Output};
pub use log::tail;
pub use protocol::Exit;
pub use running::Process;
pub use rustix::process::Signal;
pub use search::{Found, carrying};
