//! Python programs that others have written to speak Redfish: an emulator, a client, two validators.
//!
//! `e2e/tools/python/requirements.txt` pins every package with its checksum. They are installed once into a virtual
//! environment in the cache. Such an environment can't be moved, so it is made where it stays, and a mark that is
//! written last says that it is whole.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::cache::{self, Lock};
use super::catalogue::fingerprint;
use super::go::on_path;
use super::progress::{Progress, clock};
use crate::process::Command;
use crate::workspace;

const PINS: &str = include_str!("../../tools/python/requirements.txt");

/// The oldest Python that all pinned packages run on.
const OLDEST: (u32, u32) = (3, 11);

/// Counts what else decides how an environment comes out: raise it when the commands change.
const RECIPE: &str = "1";

const ANSWER_LIMIT: Duration = Duration::from_secs(60);
const CREATE_LIMIT: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Which Python a virtual environment needs, asked of that Python.
const QUESTION: &str = "import sys, venv, ensurepip; print(*sys.version_info[:2])";

/// The environment that the programs are installed in.
#[derive(Debug, Clone)]
pub struct Python {
    directory: PathBuf,
}

impl Python {
    /// Makes the environment unless it is there already; then no program is started.
    pub fn ensure(progress: &mut dyn Progress) -> Result<Self> {
        let directory = cache::root()?.join(key());
        if !is_whole(&directory) {
            let _lock = Lock::take(progress)?;
            // Somebody else may have made it while we waited.
            if !is_whole(&directory) {
                make(&directory, progress).context("installing the Python programs of e2e/tools/python")?;
            }
        }
        Ok(Self { directory })
    }

    /// [`Python::ensure`] for a test: reports on standard error and does not block the test's runtime.
    pub async fn ready() -> Result<Self> {
        tokio::task::spawn_blocking(|| Self::ensure(&mut *super::progress::on_stderr()))
            .await
            .context("installing the Python programs")?
    }

    /// Where the environment is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A program of an installed package.
    #[must_use]
    pub fn program(&self, name: &str) -> Command {
        self.command(name).arg(self.directory.join("bin").join(name))
    }

    /// A script of ours, by its path in the repository.
    #[must_use]
    pub fn script(&self, path: &str) -> Command {
        self.command(path).arg(workspace::root().join(path))
    }

    fn command(&self, name: &str) -> Command {
        let command = Command::new(name, interpreter(&self.directory));
        // What they talk to is on this machine, and whom they trust is said by their arguments.
        isolated(command)
            .env("NO_PROXY", "*")
            .env_remove("REQUESTS_CA_BUNDLE")
            .env_remove("CURL_CA_BUNDLE")
            .env("PYTHONUNBUFFERED", "1")
    }
}

/// The name of the environment's folder: another pin, recipe or platform is another folder.
fn key() -> String {
    let parts = [PINS, RECIPE, std::env::consts::OS, std::env::consts::ARCH];
    format!("python-{:08x}", fingerprint(&parts))
}

fn interpreter(directory: &Path) -> PathBuf {
    directory.join("bin/python3")
}

fn mark(directory: &Path) -> PathBuf {
    directory.join("whole")
}

/// Whether everything was installed, for the Python that is still there. A system that was given another Python has
/// the old packages in a place where the new one does not look.
fn is_whole(directory: &Path) -> bool {
    match (std::fs::read_to_string(mark(directory)), real_interpreter(directory)) {
        (Ok(made_for), Ok(there)) => made_for == there,
        (Ok(_) | Err(_), _) => false,
    }
}

fn real_interpreter(directory: &Path) -> Result<String> {
    let path = interpreter(directory);
    let real = path.canonicalize().with_context(|| format!("looking at {}", path.display()))?;
    Ok(real.display().to_string())
}

fn make(directory: &Path, progress: &mut dyn Progress) -> Result<()> {
    let python = find()?;
    let begin = Instant::now();
    progress.note("Python programs that speak Redfish: installing them, once");
    // What a killed installation left; the lock says that nobody else is at it.
    if directory.exists() {
        std::fs::remove_dir_all(directory).with_context(|| format!("removing {}", directory.display()))?;
    }
    isolated(Command::new("python3 -m venv", python))
        .args(["-m", "venv"])
        .arg(directory)
        .run_blocking_with(CREATE_LIMIT, &mut |_| progress.now("making a virtual environment"))?
        .success()?;
    install(directory, begin, progress)?;
    std::fs::write(mark(directory), real_interpreter(directory)?).context("marking it as whole")?;
    progress.note(&format!("Python programs that speak Redfish: installed in {}", clock(begin)));
    Ok(())
}

/// Wheels only: no code of a package runs while it is installed.
fn install(directory: &Path, begin: Instant, progress: &mut dyn Progress) -> Result<()> {
    let log = directory.join("install.log");
    let pip = isolated(Command::new("pip", interpreter(directory)))
        .args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off"])
        .args(["--require-hashes", "--only-binary=:all:", "--no-deps", "-r"])
        .arg(workspace::root().join("e2e/tools/python/requirements.txt"))
        .spawn(&log)?;
    let exit = loop {
        if let Some(exit) = pip.wait_blocking(LOOK_EVERY) {
            break exit;
        }
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        progress.now(&format!("pip: {}, {}", clock(begin), stage(&said)));
    };
    if exit.is_success() { Ok(()) } else { Err(pip.failure(&format!("pip ended with {exit}"))) }
}

/// How far pip is, by what it has written so far.
fn stage(log: &str) -> String {
    let collected = log.lines().filter(|line| line.starts_with("Collecting ")).count();
    format!("{collected} of {} packages collected", pins())
}

fn pins() -> usize {
    PINS.lines().filter(|line| line.contains("==")).count()
}

/// The Python to make an environment with, or what to install.
fn find() -> Result<PathBuf> {
    let Some(program) = on_path("python3") else {
        bail!("there is no python3 on this machine.\n{}", advice());
    };
    let answer =
        isolated(Command::new("python3", &program)).args(["-c", QUESTION]).run_blocking(ANSWER_LIMIT)?;
    let said = match answer.success() {
        Ok(said) => said,
        Err(error) => {
            return Err(error.context(format!("this python3 can't make environments.\n{}", advice())));
        }
    };
    if !new_enough(&said) {
        bail!("the python3 here is {}, which is too old.\n{}", said.trim().replace(' ', "."), advice());
    }
    Ok(program)
}

fn advice() -> String {
    let (major, minor) = OLDEST;
    format!(
        "Install Python {major}.{minor} or newer with its venv module (Debian, Ubuntu: apt-get install python3-venv). \
         The tests of the Redfish parts against other people's programs need it."
    )
}

fn new_enough(said: &str) -> bool {
    let mut numbers = said.split_whitespace().map(|word| word.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST
}

/// Free of what the environment could do to a Python.
fn isolated(command: Command) -> Command {
    command.env_remove("PYTHONHOME").env_remove("PYTHONPATH").env("PYTHONNOUSERSITE", "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned_by_checksum() {
        assert!(pins() > 40, "{}", pins());
        let mut packages = PINS.split("==").skip(1);
        assert!(packages.all(|package| package.contains("--hash=sha256:")));
        assert!(!PINS.contains("://"), "where packages come from is the machine's business");
    }

    #[test]
    fn versions_of_python_are_compared_as_numbers() {
        assert!(new_enough("3 11\n") && new_enough("3 100") && new_enough("4 0"));
        assert!(!new_enough("3 9\n") && !new_enough("2 7") && !new_enough(""));
    }

    #[test]
    fn the_stage_of_an_installation_is_read_from_its_log() {
        let log =
            "Ignoring x\nCollecting aenum==3.1.17 (from -r x)\n  Downloading aenum\nCollecting bcrypt==5\n";
        assert_eq!(stage(log), format!("2 of {} packages collected", pins()));
    }

    #[test]
    fn an_environment_without_its_mark_or_with_another_python_is_not_whole() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(directory.join("bin")).unwrap();
        std::fs::write(interpreter(&directory), "").unwrap();
        assert!(!is_whole(&directory));
        std::fs::write(mark(&directory), interpreter(&directory).display().to_string()).unwrap();
        assert!(is_whole(&directory));
        std::fs::write(mark(&directory), "/usr/bin/python3.9").unwrap();
        assert!(!is_whole(&directory));
    }
}
