//! Real firmware behind a simulated BMC: what the BMC is asked for over Redfish happens to a [`Vm`].
//!
//! Power, media and what to start from go to the machine; that its kernel has begun, that its system has brought up
//! what it needs, and that it has switched itself off come back as `BootProgress` and power state.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use beskar7_redfish_sim::hardware::{Hardware, HardwareHandle, Order, Report};
use beskar7_redfish_sim::machine::boot::BootSource;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinHandle};

use super::{Drive, Line, Start, Vm};

const LOOK: Duration = Duration::from_millis(200);

/// A machine behind the only BMC of a fleet.
#[derive(Debug)]
pub struct BehindBmc {
    orders: UnboundedSender<(Order, HardwareHandle)>,
    worker: AbortHandle,
}

impl BehindBmc {
    /// Puts a machine behind whatever BMC gives orders. The first slot that is filled is the machine's first drive,
    /// the next one its second. It has to be called inside a tokio runtime.
    #[must_use]
    pub fn new(vm: Arc<Vm>) -> Arc<Self> {
        let (orders, received) = unbounded_channel();
        let worker = tokio::spawn(Worker { vm, slots: [None, None], watch: None }.work(received));
        Arc::new(Self { orders, worker: worker.abort_handle() })
    }
}

impl Hardware for BehindBmc {
    fn order(&self, _address: Ipv4Addr, order: Order, machine: HardwareHandle) {
        // The worker lives as long as this.
        self.orders.send((order, machine)).ok();
    }
}

impl Drop for BehindBmc {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

struct Worker {
    vm: Arc<Vm>,
    /// Which slot is which drive.
    slots: [Option<String>; 2],
    watch: Option<JoinHandle<()>>,
}

impl Worker {
    async fn work(mut self, mut orders: UnboundedReceiver<(Order, HardwareHandle)>) {
        while let Some((order, machine)) = orders.recv().await {
            let what = format!("{order:?}");
            if let Err(error) = self.carry_out(order, machine).await {
                report(&error.context(what));
            }
        }
    }

    async fn carry_out(&mut self, order: Order, machine: HardwareHandle) -> Result<()> {
        match order {
            Order::Insert { slot, image } => {
                let drive = self.drive(slot).ok_or_else(|| anyhow!("the machine has two drives only"))?;
                self.vm.insert(drive, &image).await
            }
            Order::Eject { slot } => match self.forget(&slot) {
                Some(drive) => self.vm.eject(drive).await,
                None => Ok(()),
            },
            Order::Start { attempt, source } => {
                self.vm.power_on(self.start_of(&source)).await?;
                self.watch = Some(tokio::spawn(watch(Arc::clone(&self.vm), attempt, machine)));
                Ok(())
            }
            Order::Stop => {
                if let Some(watch) = self.watch.take() {
                    watch.abort();
                }
                self.vm.power_off().await
            }
        }
    }

    /// The drive of a slot that is filled: its own, or a free one.
    fn drive(&mut self, slot: String) -> Option<Drive> {
        let known = self.slots.iter().position(|known| known.as_ref() == Some(&slot));
        let place = known.or_else(|| self.slots.iter().position(Option::is_none))?;
        *self.slots.get_mut(place)? = Some(slot);
        Drive::ALL.get(place).copied()
    }

    fn forget(&mut self, slot: &str) -> Option<Drive> {
        let place = self.slots.iter().position(|known| known.as_deref() == Some(slot))?;
        *self.slots.get_mut(place)? = None;
        Drive::ALL.get(place).copied()
    }

    /// What the machine's firmware is told.
    fn start_of(&self, source: &BootSource) -> Start {
        match (source, &self.vm.hardware().line) {
            (BootSource::Media { slot, .. } | BootSource::MediaFile { slot, .. }, _) => {
                let place = self.slots.iter().position(|known| known.as_ref() == Some(slot));
                let drive = place.and_then(|place| Drive::ALL.get(place).copied());
                drive.map_or(Start::Nothing, Start::Drive)
            }
            (BootSource::Network, Line::Tap(_)) => Start::Pxe,
            (BootSource::Http { uri }, Line::Tap(_)) => Start::Url(uri.clone()),
            (BootSource::Disk { .. }, _) => Start::Disk,
            (BootSource::Network | BootSource::Http { .. }, Line::Own)
            | (BootSource::DevicePath { .. } | BootSource::Setup, _) => Start::Nothing,
        }
    }
}

/// Tells what shows on the serial port, until power is gone.
async fn watch(vm: Arc<Vm>, attempt: u64, machine: HardwareHandle) {
    let console = vm.console().await;
    let mut told = None;
    loop {
        if !vm.is_on().await {
            return machine.report(attempt, Report::PoweredOff);
        }
        let lines = console.lines().unwrap_or_default();
        let now = if lines.iter().any(|line| line == "done") {
            Some(Report::Running)
        } else {
            lines.first().map(|_| Report::Starting)
        };
        if let Some(report) = now.filter(|_| now != told) {
            machine.report(attempt, report);
            told = now;
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a failed test is read by a person, who needs to know why nothing booted"
)]
fn report(error: &anyhow::Error) {
    eprintln!("the machine behind a BMC: {error:#}");
}
