//! `redfish-sim`: a fleet of simulated BMCs on this machine, for people who try things out.
//!
//! It only reads flags, starts a fleet and says what to type next.
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::faults::Widespread;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::profiles::{self, Profile};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// A fleet of simulated Redfish BMCs, each with a machine behind it, on loopback addresses.
#[derive(Parser)]
#[command(version, after_help = AFTER)]
struct Args {
    /// How many BMCs to serve
    #[arg(long, env = "REDFISH_SIM_COUNT", default_value_t = 3)]
    count: usize,

    /// Which hardware: one profile, several separated by commas that take turns, or `mix` for all.
    /// Profiles: plain, dell-idrac, hpe-ilo, supermicro, lenovo-xcc, openbmc
    #[arg(long, env = "REDFISH_SIM_PROFILE", default_value = "plain")]
    profile: String,

    /// The address of the first BMC; the others follow
    #[arg(long, env = "REDFISH_SIM_FIRST_ADDRESS", default_value = "127.20.0.1")]
    first_address: Ipv4Addr,

    /// The port of every BMC; 0 takes one that is free at the first address
    #[arg(long, env = "REDFISH_SIM_PORT", default_value_t = 8000)]
    port: u16,

    /// Serve https, with certificates of a CA made at start
    #[arg(long, env = "REDFISH_SIM_TLS")]
    tls: bool,

    /// Where to write the CA's certificate, with --tls
    #[arg(long, env = "REDFISH_SIM_CA_FILE", default_value = "redfish-sim-ca.pem", requires = "tls")]
    ca_file: PathBuf,

    /// Where the control API listens, on loopback
    #[arg(long, env = "REDFISH_SIM_CONTROL", default_value = "127.0.0.1:8099")]
    control: SocketAddr,

    /// How long every answer takes at least: 20ms, 1.5s
    #[arg(long, env = "REDFISH_SIM_LATENCY", default_value = "0ms", value_parser = duration)]
    latency: Duration,

    /// How long machines and BMCs take for power, boot, media and jobs, as a multiple of their
    /// profile's times (seconds)
    #[arg(long, env = "REDFISH_SIM_PACE", default_value_t = 1.0)]
    pace: f64,

    /// A fault for many BMCs from the start, as JSON (see below); may be repeated
    #[arg(long = "fault", env = "REDFISH_SIM_FAULT", value_name = "JSON", value_parser = fault)]
    faults: Vec<Widespread>,

    /// The user that every BMC knows
    #[arg(long, env = "REDFISH_SIM_USERNAME", default_value = "admin")]
    username: String,

    /// Its password
    #[arg(long, env = "REDFISH_SIM_PASSWORD", default_value = "password", hide_env_values = true)]
    password: String,
}

const AFTER: &str = "\
Examples:
  redfish-sim                                  three plain BMCs at 127.20.0.1 to .3, port 8000
  redfish-sim --count 12 --profile mix         two of each kind of hardware
  redfish-sim --count 1000 --latency 20ms --tls --ca-file ca.pem
  redfish-sim --count 1000 --fault '{\"kind\": \"hang\", \"on\": {\"percent\": 2}}'

A fault is JSON, as the control API takes it: kind is hang, slow (with ms), reset, unauthorized,
unavailable (with retryAfterSeconds), lostSession, stuckPower, ignoredOverride or lyingMedia; on is
\"all\", {\"every\": 50}, {\"percent\": 2} or {\"profile\": \"supermicro\"}; count and path may be there.

Every flag is also an environment variable: REDFISH_SIM_COUNT and so on.";

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s').unwrap_or(""), 1.0),
    };
    let number: f64 = number.parse().map_err(|_| format!("{text} is not a time such as 20ms or 1.5s"))?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}

fn fault(text: &str) -> Result<Widespread, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not a fault with an \"on\": {error}"))
}

fn choose(text: &str) -> Result<Vec<&'static Profile>> {
    if text == "mix" {
        return Ok(profiles::ALL.to_vec());
    }
    let known = || profiles::ALL.map(|profile| profile.name).join(", ");
    let find = |name: &str| {
        profiles::by_name(name).with_context(|| format!("there is no profile {name}: use mix, {}", known()))
    };
    text.split(',').map(str::trim).map(find).collect()
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    let args = Args::parse();
    if args.count == 0 {
        bail!("--count must be at least 1");
    }
    let fleet = Fleet::start(FleetConfig {
        count: args.count,
        profiles: choose(&args.profile)?,
        first: args.first_address,
        port: args.port,
        tls: args.tls,
        latency: args.latency,
        pace: args.pace,
        credentials: Credentials { username: args.username.clone(), password: args.password.clone() },
        control: Some(args.control),
        os: None,
        hardware: None,
    })
    .await?;
    if let Some(pem) = fleet.ca_pem() {
        std::fs::write(&args.ca_file, pem)
            .with_context(|| format!("can't write {}", args.ca_file.display()))?;
    }
    for fault in &args.faults {
        fleet.arm(fault);
    }
    // Before the greeting: whoever has read it may end the program as it was told.
    let mut end = signal(SignalKind::terminate()).context("can't wait for SIGTERM")?;
    greet(&args, &fleet);
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.context("can't wait for Ctrl-C")?,
        _ = end.recv() => (),
    }
    fleet.stop();
    println!("\nStopped.");
    Ok(())
}

fn greet(args: &Args, fleet: &Fleet) {
    let first = fleet.url(args.first_address);
    let last = Ipv4Addr::from_bits(
        args.first_address.to_bits().saturating_add(u32::try_from(args.count - 1).unwrap_or(u32::MAX)),
    );
    let ca = if args.tls { format!(" --cacert {}", args.ca_file.display()) } else { String::new() };
    let user = &args.username;
    let control = fleet.control().unwrap_or(args.control);
    let address = args.first_address;
    println!("Serving {} BMCs ({}), {first} to {}", args.count, args.profile, fleet.url(last));
    println!("Control API at http://{control}\n");
    println!("Try:");
    println!("  curl{ca} {first}/redfish/v1");
    println!("  curl{ca} -u {user} {first}/redfish/v1/Systems      # asks for the password: --password's");
    println!("  curl http://{control}/bmcs/{address}");
    println!("  curl http://{control}/bmcs/{address}/power --json '{{\"resetType\": \"On\"}}'");
    println!(
        "  curl http://{control}/bmcs/{address}/faults --json '{{\"kind\": \"slow\", \"ms\": 3000, \"count\": 2}}'"
    );
    println!("  curl http://{control}/faults --json '{{\"kind\": \"hang\", \"on\": {{\"percent\": 2}}}}'");
    println!("  curl http://{control}/bmcs/{address}/log\n");
    println!("Ctrl-C or SIGTERM stops it.");
}
