//! What is asked of the kernel: interfaces that are up, addresses, ways to other networks.
//!
//! `rtnetlink` is asynchronous, and nothing else here is: each request has a runtime of its own for the moment.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use futures::TryStreamExt as _;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::route::RouteScope;
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};

use super::{Addressing, Interface, Route};

/// What the kernel did not do.
#[derive(Debug, thiserror::Error)]
#[error("{name} can't be {what}: {why}")]
pub struct KernelError {
    name: String,
    what: &'static str,
    why: String,
}

/// Turns an interface on.
pub(super) fn up(interface: &Interface) -> Result<(), KernelError> {
    let index = interface.index;
    ask(interface, "turned on", async move |kernel| {
        kernel.link().set(LinkUnspec::new_with_index(index).up().build()).execute().await
    })
}

/// Gives an interface its address, and nothing that it had before.
pub(super) fn give(interface: &Interface, addressing: &Addressing) -> Result<(), KernelError> {
    take_all(interface)?;
    let index = interface.index;
    ask(interface, "given its address", async move |kernel| {
        let address = IpAddr::V4(addressing.address);
        kernel.address().add(index, address, addressing.prefix).execute().await?;
        for route in &addressing.routes {
            kernel.route().add(message(index, *route)).replace().execute().await?;
        }
        Ok(())
    })
}

/// Takes all addresses from an interface. The ways to other networks that led through it go with them.
pub(super) fn take_all(interface: &Interface) -> Result<(), KernelError> {
    let index = interface.index;
    ask(interface, "freed of its addresses", async move |kernel| {
        let known = kernel.address().get().set_link_index_filter(index).execute();
        let known: Vec<_> = known.try_collect().await?;
        for address in known.into_iter().filter(|address| address.header.family == AddressFamily::Inet) {
            kernel.address().del(address).execute().await?;
        }
        Ok(())
    })
}

fn message(index: u32, route: Route) -> rtnetlink::packet_route::route::RouteMessage {
    let builder = RouteMessageBuilder::<Ipv4Addr>::new()
        .output_interface(index)
        .destination_prefix(route.to, route.prefix);
    match route.through {
        Some(gateway) => builder.gateway(gateway).build(),
        None => builder.scope(RouteScope::Link).build(),
    }
}

fn ask(
    interface: &Interface,
    what: &'static str,
    request: impl AsyncFnOnce(Handle) -> Result<(), rtnetlink::Error>,
) -> Result<(), KernelError> {
    let failed = |why: String| KernelError { name: interface.name.clone(), what, why };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    runtime.block_on(async {
        let opened: io::Result<_> = rtnetlink::new_connection();
        let (connection, handle, _messages) = opened.map_err(|error| failed(error.to_string()))?;
        let connection = tokio::spawn(connection);
        let done = request(handle).await.map_err(|error| failed(error.to_string()));
        connection.abort();
        done
    })
}
