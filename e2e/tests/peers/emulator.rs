//! The client against sushy-tools' emulator, with its fake driver.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::ports::{self, Port};
use beskar7_e2e::process::Process;
use beskar7_e2e::tools::Python;
use beskar7_e2e::wait::{self, Seen};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::exceptions::EMULATOR;
use crate::images;
use crate::scenario::{Outcome, Place, Scenario};

/// `admin` with the password `password`, as the emulator wants it: bcrypt.
const PASSWORDS: &str = "admin:$2b$04$Rx6AR8NHe0XeHBv.v8e38es.rIf2eG8EbhIyqJOFihAyVAAGkzvnG\n";

/// Somebody else may take a port between our looking and the emulator's binding it.
const TRIES: usize = 3;

struct Emulator {
    // Dropped in this order: the files go after the program.
    _process: Process,
    port: Port,
    _directory: TempDir,
}

impl Emulator {
    /// Starts an emulator with a machine per scenario, so that none sees what another left.
    async fn start(python: &Python) -> Result<Self> {
        for _ in 1..TRIES {
            match Self::try_start(python).await {
                Err(error) if ports::taken(&format!("{error:#}")) => continue,
                started => return started,
            }
        }
        Self::try_start(python).await
    }

    async fn try_start(python: &Python) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let port = Port::reserve()?;
        std::fs::write(directory.path().join("passwords"), PASSWORDS)?;
        std::fs::write(directory.path().join("config.py"), config(directory.path(), &port))?;
        let process = python
            .program("sushy-emulator")
            .args(["--fake", "--interface", "127.0.0.1", "--port", &port.number().to_string(), "--config"])
            .arg(directory.path().join("config.py"))
            .spawn(directory.path().join("log"))?;
        wait::until("the emulator to listen", Duration::from_secs(60), || async {
            if let Err(error) = process.check() {
                return Ok(Seen::Never(error));
            }
            Ok(Seen::Done(TcpStream::connect(port.address()).await?))
        })
        .await?;
        Ok(Self { _process: process, port, _directory: directory })
    }

    fn place(&self, scenario: usize, images: &str) -> Place {
        Place {
            address: format!("http://{}/redfish/v1/Systems/{}", self.port.address(), uuid(scenario)),
            username: "admin".to_owned(),
            password: "password".to_owned(),
            images: ["node", "other"].map(|name| format!("{images}/{name}.iso")),
            // Its machines take up to eleven seconds for a change of power.
            graceful: Duration::from_secs(20),
        }
    }
}

fn uuid(number: usize) -> String {
    format!("b7b7b7b7-0000-4000-8000-{number:012}")
}

/// The emulator's settings are Python.
fn config(directory: &Path, port: &Port) -> String {
    let place = directory.display();
    let machine = |number: usize| {
        let uuid = uuid(number);
        format!(
            "    {{'uuid': '{uuid}', 'name': 'machine-{number}', 'power_state': 'Off', 'nics': [{{'mac': '02:b7:00:00:00:{number:02x}', 'ip': '192.0.2.1'}}]}},\n"
        )
    };
    let machines: String = (0..Scenario::ALL.len()).map(machine).collect();
    format!(
        "SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = {}\n\
         SUSHY_EMULATOR_STATE_DIR = '{place}/state'\nSUSHY_EMULATOR_AUTH_FILE = '{place}/passwords'\n\
         SUSHY_EMULATOR_FAKE_SYSTEMS = [\n{machines}]\n",
        port.number()
    )
}

/// What is to be said of a scenario's outcome, if anything.
fn complaint(scenario: Scenario, outcome: &Outcome) -> Option<String> {
    let listed = EMULATOR.iter().find(|listed| listed.scenario == scenario);
    match (outcome, listed) {
        (Ok(()), None) => None,
        (Err(said), Some(listed)) if said.contains(listed.said) => None,
        (Err(said), None) => Some(format!("{scenario:?}: {said}")),
        (Err(said), Some(listed)) => {
            Some(format!("{scenario:?} is listed because {}, but it says: {said}", listed.reason))
        }
        (Ok(()), Some(listed)) => {
            Some(format!("{scenario:?} is listed because {}, but it works: strike it off", listed.reason))
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_plays_every_scenario_on_the_emulator_but_those_listed() -> Result<()> {
    let python = Python::ready().await?;
    let emulator = Emulator::start(&python).await?;
    let images = images::serve().await?;
    // Those that change power wait most of the time: each on its own; the others one after the other.
    let (slow, quick): (Vec<_>, Vec<_>) = Scenario::ALL
        .into_iter()
        .enumerate()
        .partition(|(_, scenario)| matches!(scenario, Scenario::Power | Scenario::BootIsoAndClean));
    let tracks = slow.into_iter().map(|one| vec![one]).chain([quick]);
    let mut running = tokio::task::JoinSet::new();
    for track in tracks {
        let track: Vec<_> =
            track.into_iter().map(|(number, scenario)| (scenario, emulator.place(number, &images))).collect();
        running.spawn(async move {
            let mut outcomes = Vec::new();
            for (scenario, place) in track {
                outcomes.push((scenario, scenario.play(&place).await));
            }
            outcomes
        });
    }
    let outcomes: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    ensure!(outcomes.len() == Scenario::ALL.len(), "{} scenarios were played", outcomes.len());
    let complaints: Vec<_> =
        outcomes.iter().filter_map(|(scenario, outcome)| complaint(*scenario, outcome)).collect();
    ensure!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    Ok(())
}

#[test]
fn a_list_that_is_not_exact_is_complained_of() -> Result<()> {
    let listed = EMULATOR.first().context("nothing is listed")?;
    ensure!(complaint(listed.scenario, &Err(format!("x {} y", listed.said))).is_none());
    ensure!(
        complaint(listed.scenario, &Err("otherwise".to_owned())).is_some_and(|c| c.contains("but it says"))
    );
    ensure!(complaint(listed.scenario, &Ok(())).is_some_and(|c| c.contains("strike it off")));
    ensure!(complaint(Scenario::Identify, &Err("lost".to_owned())).is_some());
    ensure!(complaint(Scenario::Identify, &Ok(())).is_none());
    Ok(())
}
