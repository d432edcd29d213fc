//! Where people in front of the machine read what the agent says.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::journal::Journal;

/// The kernel's log, which it shows on every console that it was told of, and `/dev/console` where there is none.
///
/// The kernel would leave out most of it: it takes few lines from programs, and `quiet` hides those that are no warnings.
/// What the kernel itself has to say below a notice stays hidden.
#[must_use]
pub fn console(root: &Path) -> Journal {
    let kernel = root.join("proc/sys/kernel");
    let settings = [("printk_devkmsg", "on\n"), ("printk", "6 4 1 7\n")]
        .map(|(name, value)| fs::write(kernel.join(name), value).map_err(|error| (name, error)));
    let journal = match opened(&root.join("dev/kmsg")) {
        Ok(log) => Journal::new(log, "<5>beskar7: "),
        Err(_no_log) => {
            let console = opened(&root.join("dev/console")).unwrap_or_else(|_nowhere| Box::new(io::sink()));
            Journal::new(console, "beskar7: ")
        }
    };
    for (name, error) in settings.into_iter().filter_map(Result::err) {
        journal.say(&format!("lines may be missing here, as /proc/sys/kernel/{name} can't be set: {error}"));
    }
    journal
}

fn opened(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    Ok(Box::new(OpenOptions::new().write(true).open(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_log_is_written_to_and_else_the_console() {
        for (device, expected) in [("kmsg", "<5>beskar7: hello\n"), ("console", "beskar7: hello\n")] {
            let root = tempfile::tempdir().unwrap();
            for directory in ["dev", "proc/sys/kernel"] {
                fs::create_dir_all(root.path().join(directory)).unwrap();
            }
            let device = root.path().join("dev").join(device);
            fs::write(&device, "").unwrap();
            console(root.path()).say("hello");
            assert_eq!(fs::read_to_string(device).unwrap(), expected);
            let level = fs::read_to_string(root.path().join("proc/sys/kernel/printk")).unwrap();
            assert!(level.starts_with("6 "), "{level}");
        }
        // Nowhere is no reason to stop.
        let nowhere = console(Path::new("/nowhere"));
        nowhere.say("hello");
        assert_eq!(nowhere.waiting().lines.len(), 3);
    }
}
