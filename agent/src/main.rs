//! The agent: `/init` of a ramdisk, or a program that a developer runs by hand.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "by hand it talks to a person")]

use std::process::ExitCode;

use beskar7_agent::by_hand::{self, HELP, Request};
use beskar7_agent::init;
use beskar7_agent::tasks::Tasks;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let name = arguments.next().unwrap_or_default();
    // In a container the first program is no init of a machine. As one it is given words that the kernel does not know.
    if std::process::id() == 1 && name.ends_with("init") {
        init::run();
    }
    match by_hand::understand(arguments) {
        Ok(Request::Help) => print!("{HELP}"),
        Ok(Request::Version) => println!("beskar7-agent {}", env!("CARGO_PKG_VERSION")),
        Ok(Request::Work { told, ca, may_wipe }) => {
            if let Err(error) = by_hand::work(*told, ca, may_wipe, &Tasks { root: "/".into() }) {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
