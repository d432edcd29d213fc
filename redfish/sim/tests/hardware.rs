//! Hardware that is not simulated, behind a BMC that is: what is asked over HTTP reaches it, and what it says shows.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod rig;

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use beskar7_redfish_sim::fleet::FleetConfig;
use beskar7_redfish_sim::hardware::{Hardware, HardwareHandle, Order, Report};
use beskar7_redfish_sim::machine::boot::BootSource;
use rig::{ADDRESS, Rig, config};
use serde_json::json;

const IMAGE: &str = "http://127.0.0.1:9/never-read.iso";

/// Hardware that only remembers what it was told.
#[derive(Default)]
struct Bench {
    orders: Mutex<Vec<(Order, HardwareHandle)>>,
}

impl Hardware for Bench {
    fn order(&self, address: Ipv4Addr, order: Order, machine: HardwareHandle) {
        assert_eq!(address, ADDRESS);
        self.orders.lock().unwrap().push((order, machine));
    }
}

impl Bench {
    /// Waits for an order to start, and returns all up to it.
    async fn until_start(&self) -> Vec<(Order, HardwareHandle)> {
        let is_start = |(order, _): &(Order, HardwareHandle)| matches!(order, Order::Start { .. });
        for _ in 0..400 {
            if self.orders.lock().unwrap().iter().any(is_start) {
                return self.orders.lock().unwrap().drain(..).collect();
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("nothing was started");
    }
}

#[tokio::test]
async fn what_is_asked_of_the_bmc_reaches_the_hardware_and_what_that_says_shows() {
    let bench = Arc::new(Bench::default());
    let hardware: Arc<dyn Hardware> = bench.clone();
    let rig = Rig::with(FleetConfig { hardware: Some(hardware), pace: 0.1, ..config() }).await;
    let system = rig.system().await;
    let slots = format!("{system}/VirtualMedia/CD1");
    let insert = format!("{slots}/Actions/VirtualMedia.InsertMedia");
    assert!(rig.post(&insert, json!({ "Image": IMAGE })).await.status().is_success());
    let boot = json!({ "Boot": { "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd" } });
    assert!(rig.patch_matching(&system, boot).await.status().is_success());
    assert!(rig.reset("On").await.status().is_success());

    let orders = bench.until_start().await;
    let machine = orders.last().unwrap().1.clone();
    let orders: Vec<_> = orders.into_iter().map(|(order, _)| order).collect();
    let expected = [
        Order::Stop,
        Order::Eject { slot: "CD1".to_owned() },
        Order::Eject { slot: "USB1".to_owned() },
        Order::Insert { slot: "CD1".to_owned(), image: IMAGE.to_owned() },
        Order::Start {
            attempt: 1,
            source: BootSource::Media { slot: "CD1".to_owned(), image: IMAGE.to_owned() },
        },
    ];
    assert_eq!(orders, expected);

    let shown = async || rig.get(&system).await["BootProgress"]["LastState"].clone();
    assert_eq!(shown().await, "SystemHardwareInitializationComplete");
    machine.report(1, Report::Starting);
    assert_eq!(shown().await, "OSBootStarted");
    machine.report(1, Report::Running);
    assert_eq!(shown().await, "OSRunning");
    machine.report(1, Report::PoweredOff);
    assert_eq!(rig.get(&system).await["PowerState"], "Off");
}

#[tokio::test]
async fn a_bmc_that_is_made_new_makes_its_hardware_new() {
    let bench = Arc::new(Bench::default());
    let hardware: Arc<dyn Hardware> = bench.clone();
    let rig = Rig::with(FleetConfig { hardware: Some(hardware), pace: 0.1, ..config() }).await;
    assert!(rig.reset("On").await.status().is_success());
    bench.until_start().await;
    rig.host().reset_to_new();
    let orders: Vec<_> = bench.orders.lock().unwrap().drain(..).map(|(order, _)| order).collect();
    let eject = |slot: &str| Order::Eject { slot: slot.to_owned() };
    assert_eq!(orders, [Order::Stop, eject("CD1"), eject("USB1")]);
}
