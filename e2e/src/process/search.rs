//! Finds processes by a variable of their environment, which children and
//! grandchildren inherit: the way for a test to prove that nothing is left.

use std::path::Path;

/// A process as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its process id.
    pub pid: i32,
    /// The path of its program, as it was started.
    pub program: String,
}

/// All processes that were started with this variable. Linux only: elsewhere
/// none are found.
#[must_use]
pub fn carrying(variable: &str, value: &str) -> Vec<Found> {
    let wanted = format!("{variable}={value}");
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    ids.filter_map(|pid: i32| {
        let file = |name: &str| std::fs::read(Path::new("/proc").join(pid.to_string()).join(name));
        let environment = file("environ").ok()?;
        let carries = environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes());
        let program = file("cmdline").ok()?.split(|byte| *byte == 0).next().map(<[u8]>::to_vec)?;
        carries.then(|| Found { pid, program: String::from_utf8_lossy(&program).into_owned() })
    })
    .collect()
}
