//! Machines that are known, directly and through relays.

use std::net::{Ipv4Addr, SocketAddr};

use beskar7_boot::dhcp::{Asked, Client, Counted, Kind, Loader, Mode, Packet, PeerPorts, Settings};

use super::served::{
    ACK, DISCOVER, LIMIT, Listener, OFFER, PXE, RELEASE, REQUEST, Served, mac, message, reserved,
};

const EVERYWHERE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

fn with<'a>(more: &[(u8, &'a [u8])]) -> Vec<(u8, &'a [u8])> {
    PXE.into_iter().chain(more.iter().copied()).collect()
}

#[tokio::test]
async fn a_machine_gets_its_address_from_the_address_that_it_asked() {
    let client = Listener::at(EVERYWHERE).await;
    let peers = PeerPorts { client: client.port, relay: 9 };
    let served = Served::start(Mode::Reservations, true, peers);
    for asked in [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)] {
        let to = (asked, served.server);
        let offer = client.ask(&message(7, DISCOVER, &PXE), to).await;
        assert_eq!((offer.option(53), offer.yours), (Some(&[OFFER][..]), reserved(7)));
        let wanted = offer.yours.octets();
        let options = with(&[(54, offer.option(54).unwrap()), (50, &wanted)]);
        let given = client.ask(&message(7, REQUEST, &options), to).await;
        assert_eq!((given.option(53), given.yours), (Some(&[ACK][..]), reserved(7)));
        assert_eq!((given.next_server, given.file.as_str()), (asked, "snponly.efi"));
    }
    let known = served.end().await;
    let asked = known.asked.lock().unwrap();
    let kinds: Vec<Kind> = asked.iter().map(|asked| asked.kind).collect();
    assert_eq!(kinds, [Kind::Discover, Kind::Request, Kind::Discover, Kind::Request]);
    assert!(asked.iter().all(|asked| asked.given == Some(reserved(7)) && asked.boot), "{asked:?}");
    assert_eq!(known.count(Counted::Answered), 4);
}

#[tokio::test]
async fn beside_another_server_a_machine_asks_again_at_the_second_port() {
    let client = Listener::at(EVERYWHERE).await;
    let peers = PeerPorts { client: client.port, relay: 9 };
    let served = Served::start(Mode::Proxy, true, peers);
    let here = Ipv4Addr::LOCALHOST;
    let offer = client.ask(&message(8, DISCOVER, &PXE), (here, served.server)).await;
    assert_eq!((offer.option(53), offer.yours), (Some(&[OFFER][..]), EVERYWHERE));
    // What it takes of the site's own server is not for us; the next answer is the one to what comes behind it.
    let site = message(8, REQUEST, &with(&[(54, &[127, 0, 0, 99]), (50, &[127, 1, 0, 8])]));
    client.send(&site.bytes(), (here, served.server)).await;
    // At the second port the answer goes to where the question came from, and not to the clients' port.
    let asking = Listener::at(Ipv4Addr::new(127, 0, 0, 5)).await;
    let told = asking.ask(&message(8, REQUEST, &PXE), (here, served.proxy)).await;
    assert_eq!((told.option(53), told.file.as_str()), (Some(&[ACK][..]), "snponly.efi"));
    assert_eq!((told.option(60), told.option(43)), (Some(&b"PXEClient"[..]), Some(&[6, 1, 8, 255][..])));
    // Each port has its own line: only one behind the other says that both were heard.
    let again = client.ask(&message(8, DISCOVER, &PXE), (here, served.server)).await;
    assert_eq!(again.option(53), Some(&[OFFER][..]), "and nothing was said to the site's");
    let known = served.end().await;
    assert_eq!((known.count(Counted::Answered), known.count(Counted::NotForUs)), (3, 1));
}

#[tokio::test]
async fn through_a_relay_an_answer_goes_back_to_the_relay_from_where_it_was_asked() {
    let relay = Listener::at(Ipv4Addr::new(127, 0, 0, 3)).await;
    let served = Served::start(Mode::Reservations, true, PeerPorts { client: 9, relay: relay.port });
    let through = |message: Packet| Packet { relay: Ipv4Addr::new(127, 0, 0, 3), hops: 1, ..message };
    let to = (Ipv4Addr::new(127, 0, 0, 4), served.server);
    let offer = relay.ask(&through(message(9, DISCOVER, &with(&[(82, b"\x01\x04port")]))), to).await;
    assert_eq!((offer.yours, offer.relay), (reserved(9), Ipv4Addr::new(127, 0, 0, 3)));
    assert_eq!(offer.options.last(), Some(&(82, b"\x01\x04port".to_vec())));
    served.end().await;
}

#[tokio::test]
async fn an_address_that_relays_know_is_named_whether_this_machine_has_it_or_not() {
    let relay = Listener::at(Ipv4Addr::new(127, 0, 0, 3)).await;
    let asked = Ipv4Addr::LOCALHOST;
    for (advertised, source) in [
        (Ipv4Addr::new(127, 0, 0, 77), Ipv4Addr::new(127, 0, 0, 77)),
        (Ipv4Addr::new(198, 51, 100, 1), asked),
    ] {
        let settings = Settings {
            mode: Mode::Reservations,
            advertise: Some(advertised),
            peers: PeerPorts { client: 9, relay: relay.port },
            ..Settings::default()
        };
        let served = Served::with(settings, true);
        let request = Packet { relay: Ipv4Addr::new(127, 0, 0, 3), ..message(10, DISCOVER, &PXE) };
        relay.send(&request.bytes(), (asked, served.server)).await;
        let (answer, from) = relay.hear().await;
        assert_eq!(from, SocketAddr::from((source, served.server)));
        assert_eq!((answer.option(54), answer.next_server), (Some(&advertised.octets()[..]), advertised));
        served.end().await;
    }
}

#[tokio::test]
async fn on_an_interface_that_is_named_it_is_the_same() {
    let client = Listener::at(EVERYWHERE).await;
    let settings = Settings {
        mode: Mode::Reservations,
        interfaces: vec!["lo".to_owned()],
        peers: PeerPorts { client: client.port, relay: 9 },
        ..Settings::default()
    };
    let served = Served::with(settings, true);
    let offer = client.ask(&message(11, DISCOVER, &PXE), (Ipv4Addr::LOCALHOST, served.server)).await;
    assert_eq!(offer.yours, reserved(11));
    served.end().await;
}

#[tokio::test]
async fn what_needs_no_answer_is_told_too() {
    let client = Listener::at(EVERYWHERE).await;
    let peers = PeerPorts { client: client.port, relay: 9 };
    let served = Served::start(Mode::Reservations, true, peers);
    let to = (Ipv4Addr::LOCALHOST, served.server);
    client.send(&message(12, RELEASE, &[]).bytes(), to).await;
    client.ask(&message(12, DISCOVER, &[]), to).await;
    let known = tokio::time::timeout(LIMIT, served.end()).await.unwrap();
    let system = Client { loader: Loader::System, architecture: None };
    let told = |kind, given| Asked { mac: mac(12), client: system, kind, given, boot: false };
    let expected = [told(Kind::Release, None), told(Kind::Discover, Some(reserved(12)))];
    assert_eq!(*known.asked.lock().unwrap(), expected);
}
