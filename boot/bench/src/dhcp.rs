//! A site that is turned on: thousands of machines that ask for an address and for what to boot, all at once.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use beskar7_boot::dhcp::{Mac, Operation, Packet};
use beskar7_redfish_bench::figures::{percentile, spread};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage::{forget_most_resident, most_resident, processor_time, resident};

use crate::scripts::MEMORY;
use crate::serve::Ours;
use crate::serve_network::{address_of, mac_of};

const HOSTS: u32 = 5000;
const BAR: Duration = Duration::from_secs(10);
/// A machine that hears nothing asks again; firmware waits longer.
const AGAIN: Duration = Duration::from_secs(1);
/// So many ask before anybody listens for answers.
const AT_ONCE: u32 = 32;
const RELAY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// How far a machine has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Looking,
    Offered,
    Done,
}

/// One machine, and when it last asked.
struct Host {
    step: Step,
    asked: Instant,
}

pub fn measure(rounds: usize, table: &mut Table) -> Result<()> {
    let relay = UdpSocket::bind((RELAY, 0))?;
    let port = relay.local_addr()?.port().to_string();
    let hosts = HOSTS.to_string();
    let ours = Ours::spawn("serve-dhcp", &["--hosts", &hosts, "--relay-port", &port].map(AsRef::as_ref))?;
    let before = resident(ours.pid())?;
    forget_most_resident(ours.pid())?;
    let (mut times, mut repeats, mut processor) = (Vec::new(), 0, Vec::new());
    for round in 0..=rounds {
        let used = processor_time(ours.pid())?;
        let (time, again) = Site { relay: &relay, server: ours.address(), hosts: HashMap::new() }.run()?;
        // The first is not counted.
        if round > 0 {
            times.push(time.as_secs_f64());
            processor.push(processor_time(ours.pid())?.saturating_sub(used).as_secs_f64());
            repeats += again;
        }
    }
    let slowest = percentile(&times, 1.0);
    let what = format!("DHCP, {HOSTS} hosts at once, from DISCOVER to ACK");
    table.add(&what, "≤ 10 s, all of them", spread(&times, "s"), slowest <= BAR.as_secs_f64());
    let answers: Vec<f64> = times.iter().map(|time| f64::from(HOSTS) * 2.0 / time).collect();
    table.note(format!("{what}: answers"), spread(&answers, "a second"));
    let again = repeats as f64 / rounds.max(1) as f64;
    table.note(format!("{what}: asked again, a round"), format!("{again:.0}"));
    table.note(format!("{what}: the server's processor time"), spread(&processor, "s"));
    let most = most_resident(ours.pid())?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    table.add(
        format!("{what}: the server's memory"),
        "≤ 100 MB",
        format!("{:.1} MB at most, {:.1} MB before", megabytes(most), megabytes(before)),
        most <= MEMORY,
    );
    Ok(())
}

/// All machines, behind one relay.
struct Site<'a> {
    relay: &'a UdpSocket,
    server: SocketAddr,
    hosts: HashMap<Mac, (u32, Host)>,
}

impl Site<'_> {
    /// How long it took until all had what they want, and how many messages had to be sent again.
    fn run(mut self) -> Result<(Duration, usize)> {
        let begun = Instant::now();
        let mut repeats = 0;
        for number in 0..HOSTS {
            self.hosts.insert(mac_of(number), (number, Host { step: Step::Looking, asked: Instant::now() }));
            self.ask(number, Step::Looking, None)?;
            if number.is_multiple_of(AT_ONCE) {
                self.hear(true)?;
            }
        }
        let mut done = self.hear(true)?;
        while done < HOSTS as usize {
            ensure!(begun.elapsed() < BAR * 6, "only {done} of {HOSTS} were answered");
            done = self.hear(false)?;
            repeats += self.ask_again()?;
        }
        Ok((begun.elapsed(), repeats))
    }

    /// Hears what there is, at once or after waiting for a while. How many have all they want.
    fn hear(&mut self, at_once: bool) -> Result<usize> {
        self.relay.set_nonblocking(at_once)?;
        self.relay.set_read_timeout(Some(Duration::from_millis(20)))?;
        let mut buffer = [0; 1500];
        while let Ok(length) = self.relay.recv(&mut buffer) {
            let answer = Packet::parse(buffer.get(..length).unwrap_or_default())?;
            self.answered(&answer)?;
        }
        Ok(self.hosts.values().filter(|(_, host)| host.step == Step::Done).count())
    }

    fn answered(&mut self, answer: &Packet) -> Result<()> {
        let (number, host) = self.hosts.get_mut(&answer.mac).context("an answer to nobody")?;
        let number = *number;
        ensure!(answer.yours == address_of(number), "{} was given {}", answer.mac, answer.yours);
        ensure!(answer.file == "snponly.efi", "{} is to boot {:?}", answer.mac, answer.file);
        match (host.step, answer.option(53)) {
            (Step::Looking, Some([2])) => {
                *host = Host { step: Step::Offered, asked: Instant::now() };
                let server = answer.option(54).map(<[u8]>::to_vec);
                self.ask(number, Step::Offered, server)?;
            }
            (Step::Offered, Some([5])) => host.step = Step::Done,
            // An answer to what was sent twice.
            (Step::Offered | Step::Done, Some([2 | 5])) => {}
            (step, kind) => bail!("{} hears {kind:?} while {step:?}", answer.mac),
        }
        Ok(())
    }

    fn ask_again(&mut self) -> Result<usize> {
        let late = |host: &Host| host.step != Step::Done && host.asked.elapsed() > AGAIN;
        let waiting = self.hosts.values_mut().filter(|(_, host)| late(host));
        let waiting: Vec<(u32, Step)> = waiting
            .map(|(number, host)| {
                host.asked = Instant::now();
                (*number, host.step)
            })
            .collect();
        for (number, step) in &waiting {
            self.ask(*number, *step, Some(Ipv4Addr::LOCALHOST.octets().to_vec()))?;
        }
        Ok(waiting.len())
    }

    fn ask(&self, number: u32, step: Step, server: Option<Vec<u8>>) -> Result<()> {
        let kind = if step == Step::Looking { 1 } else { 3 };
        let mut options = vec![
            (53, vec![kind]),
            (60, b"PXEClient:Arch:00007:UNDI:003016".to_vec()),
            (93, vec![0, 7]),
            (57, vec![5, 192]),
        ];
        if let (Step::Offered, Some(server)) = (step, server) {
            options.push((50, address_of(number).octets().to_vec()));
            options.push((54, server));
        }
        let message = Packet {
            operation: Operation::Request,
            hops: 1,
            transaction: number,
            seconds: 0,
            flags: 0x8000,
            client: Ipv4Addr::UNSPECIFIED,
            yours: Ipv4Addr::UNSPECIFIED,
            next_server: Ipv4Addr::UNSPECIFIED,
            relay: RELAY,
            mac: mac_of(number),
            file: String::new(),
            options,
        };
        // What finds no room is lost, as on a network.
        self.relay.send_to(&message.bytes(), self.server).ok();
        Ok(())
    }
}
