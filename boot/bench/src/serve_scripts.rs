//! Our server as a process of its own: scripts for many claims, each made when it is asked for, as the manager's desk makes
//! them.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::Arc;

use anyhow::Result;
use beskar7_boot::capability::{Capability, Key, Purpose};
use beskar7_boot::delivery::{Configuration, Counted, Desk, Learned, Medium, MediumName, Refusal};
use beskar7_boot::ipxe::{self, Start};
use beskar7_boot::server;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// For so many machines.
pub const CLAIMS: usize = 5_000;

fn key() -> Result<Key> {
    Ok(Key::new(&[7; 32])?)
}

fn claim(number: usize) -> String {
    format!("{number:032x}")
}

/// Where the script of a claim is.
pub fn script_path(number: usize) -> Result<String> {
    let capability = key()?.capability(Purpose::Media, &claim(number));
    Ok(format!("/c/{}/boot.ipxe", capability.in_url()))
}

/// How long a script is; all are equally long.
pub fn script_size() -> Result<usize> {
    Ok(script(&key()?, &claim(0))?.len())
}

fn script(key: &Key, claim: &str) -> Result<String> {
    let url = |purpose, name: &str| {
        format!("http://10.0.0.1:8082/c/{}/{name}", key.capability(purpose, claim).in_url())
    };
    let kernel = url(Purpose::Media, "kernel");
    let initramfs = [url(Purpose::Media, "initramfs")];
    let seed = format!("ds=nocloud;s={}", url(Purpose::Configuration, ""));
    let arguments = ["console=ttyS0".to_owned(), "ip=dhcp".to_owned(), seed];
    Ok(ipxe::start(&Start { kernel: &kernel, initramfs: &initramfs, arguments: &arguments })?)
}

struct Scripts {
    key: Key,
    claims: HashMap<Capability, String>,
}

impl Desk for Scripts {
    fn configuration<'a>(&'a self, _: &'a Capability) -> BoxFuture<'a, Result<Configuration, Refusal>> {
        Box::pin(async { Err(Refusal::Nothing) })
    }

    fn medium<'a>(&'a self, _: &'a Capability, _: MediumName<'a>) -> BoxFuture<'a, Result<Medium, Refusal>> {
        Box::pin(async { Err(Refusal::Nothing) })
    }

    fn script(&self, capability: &Capability) -> Result<String, Refusal> {
        let claim = self.claims.get(capability).ok_or(Refusal::Nothing)?;
        script(&self.key, claim).map_err(|_| Refusal::NotNow)
    }

    fn may_call_home(&self, _: &Capability) -> bool {
        false
    }

    fn learned(&self, _: &Capability, _: Learned) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn counted(&self, _: Counted) {}
}

/// Serves until it is killed.
pub fn run() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let key = key()?;
        let claims = (0..CLAIMS).map(claim).map(|claim| (key.capability(Purpose::Media, &claim), claim));
        let desk = Arc::new(Scripts { claims: claims.collect(), key });
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        println!("{}", listener.local_addr()?);
        Ok(server::serve(listener, desk, None, CancellationToken::new()).await?)
    })
}
