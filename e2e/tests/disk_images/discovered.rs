//! A machine that nobody wrote down: plugged in, it asks for something to boot, and is inspected by the real agent.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result, ensure};
use beskar7_api::{HardwareData, HostState, PhysicalHost, annotations};
use beskar7_e2e::installation;
use beskar7_e2e::isos::Firmware;
use beskar7_e2e::lab::alone;
use beskar7_e2e::manager::{self, Manager, NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::objects::make_namespace;
use beskar7_e2e::vm::{Hardware, Start, Vm};
use beskar7_e2e::wait::{self, Seen};
use kube::Api;

use super::disks::{CHOSEN, Disks, OTHER};
use super::site::{Files, HOSTS, LIMIT};
use super::tools::Tools;

/// Ours, on the segment that the machine is connected to; and that of the site's own server, with what it gives out.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const NEIGHBOUR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 100);
const LAST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 150);

#[test]
#[ignore = "long: make agent-vms"]
fn a_machine_that_nobody_knows_is_inspected_and_turned_off() -> Result<()> {
    let test = "a_machine_that_nobody_knows_is_inspected_and_turned_off";
    alone(module_path!(), test, async |lab| {
        let Some(tools) = Tools::find(test).await? else { return Ok(()) };
        let segment = lab.segment("near", Some(ADDRESS)).await?;
        let disks = Disks::used(&tools).await?;
        let hardware = Hardware {
            line: lab.line(&segment).await?,
            disks: disks.all(),
            ..Hardware::with(Firmware::Uefi)
        };
        let mac = hardware.mac.clone();
        let vm = Vm::new(tools.isos.installed(), hardware)?;
        let neighbour = lab.neighbour("site").await?;
        lab.join(&neighbour, &segment, NEIGHBOUR).await?;
        let _site_dhcp = lab.site_dhcp(&neighbour, &segment, FIRST..=LAST).await?;

        let plane = installation::installed().await?;
        let client = plane.client().await?;
        make_namespace(&client, HOSTS).await?;
        let account = format!("--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}");
        let role =
            ["-n", HOSTS, "create", "rolebinding", "found", "--clusterrole=beskar7-discovery-role", &account];
        plane.kubectl(&role).await?.success()?;
        let files = Files::start().await?;
        let loaders = lab.installed().snponly.parent().context("iPXE is nowhere")?.display().to_string();
        let flags = vec![
            format!("--agent-kernel={}", files.put("agent-kernel", tools.ramdisk.kernel()?)),
            format!("--agent-initramfs={}", files.put("agent-initramfs", tools.ramdisk.initramfs()?)),
            // An emulated timer on a busy machine does not pass the kernel's check.
            "--agent-kernel-args=console=ttyS0 no_timer_check panic=60".to_owned(),
            "--dhcp=proxy".to_owned(),
            format!("--dhcp-interfaces={}", segment.name()),
            format!("--ipxe-dir={loaders}"),
            format!("--tftp-bind-address={ADDRESS}:69"),
            format!("--discovery-namespace={HOSTS}"),
            "--boot-timeout=30m".to_owned(),
        ];
        let options = manager::Options {
            leader_elect: false,
            boot_server: true,
            boot_host: ADDRESS.to_string(),
            boot_bind: ADDRESS,
            flags,
            ..manager::Options::default()
        };
        let manager = Manager::start(&plane, &options).await?;

        vm.power_on(Start::Pxe).await?;
        let hosts: &Api<PhysicalHost> = &Api::namespaced(client.clone(), HOSTS);
        let name = &format!("discovered-{}", mac.replace(':', ""));
        let candidate = wait::until("the machine to be known, and its errand over", LIMIT, || async move {
            let Some(host) = hosts.get_opt(name).await? else {
                return Ok(Seen::NotYet("nobody wrote it down".to_owned()));
            };
            let marks = host.metadata.annotations.clone().unwrap_or_default();
            let is_over =
                marks.contains_key(annotations::INSPECTED) && !marks.contains_key(annotations::ERRAND);
            Ok(if is_over { Seen::Done(host) } else { Seen::NotYet(format!("{marks:?} {:?}", host.status)) })
        });
        let candidate = candidate.await?;
        let state = candidate.status.as_ref().and_then(|status| status.state);
        ensure!(state == Some(HostState::Enrolling) && candidate.spec.cordoned.is_some(), "{candidate:?}");
        let known: Api<HardwareData> = Api::namespaced(client, HOSTS);
        let seen = known.get(name).await?.spec.inspection.context("nothing was seen")?.hardware;
        let mut serials: Vec<_> =
            seen.storage.iter().filter_map(|disk| disk.serial_number.as_deref()).collect();
        serials.sort_unstable();
        ensure!(serials == [CHOSEN, OTHER], "{:?}", seen.storage);
        wait::until_true("the machine to be off", LIMIT, || async {
            Ok(if vm.is_on().await { Err("it is on".to_owned()) } else { Ok(()) })
        })
        .await?;
        manager.stop().await?;
        plane.stop().await
    })
}
