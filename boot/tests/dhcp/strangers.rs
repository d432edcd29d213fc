//! What nobody knows or understands is not answered, and does not keep others from it.

use std::net::Ipv4Addr;

use beskar7_boot::dhcp::{
    Architecture, Counted, Loader, Mode, Operation, Packet, PeerPorts, Settings, Stranger,
};

use super::served::{DISCOVER, LOOKED_FOR, Listener, PXE, REQUEST, Served, mac, message, reserved};

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

#[tokio::test]
async fn what_can_not_be_answered_is_counted_and_ends_nothing() {
    let client = Listener::at(Ipv4Addr::UNSPECIFIED).await;
    let peers = PeerPorts { client: client.port, relay: 9 };
    // The relay that can't be reached is one that is answered.
    let networks = ["127.0.0.0/8", "255.255.255.254/32"].map(|network| network.parse().unwrap()).to_vec();
    let settings = Settings { mode: Mode::Reservations, peers, networks, ..Settings::default() };
    let served = Served::with(settings, true);
    let to = (HERE, served.server);
    let good = message(1, DISCOVER, &PXE);
    let answer = Packet { operation: Operation::Reply, ..good.clone() };
    let untyped = Packet { options: Vec::new(), ..good.clone() };
    let nowhere = Packet { relay: Ipv4Addr::new(255, 255, 255, 254), ..good.clone() };
    // Nobody listens there, which is heard of later, with something else.
    let refused = Packet { relay: HERE, ..good.clone() };
    let mut cut = good.bytes();
    cut[241] = 255;
    for (bytes, expected) in [
        (Vec::new(), Counted::Malformed),
        (vec![1; 239], Counted::Malformed),
        (vec![0; 1501], Counted::Malformed),
        (vec![255; 9000], Counted::Malformed),
        (cut, Counted::Malformed),
        (message(900, DISCOVER, &PXE).bytes(), Counted::Unknown),
        (answer.bytes(), Counted::NotForUs),
        (untyped.bytes(), Counted::NotForUs),
        (message(1, REQUEST, &[(54, &[127, 0, 0, 99])]).bytes(), Counted::NotForUs),
        (nowhere.bytes(), Counted::Failed),
        (refused.bytes(), Counted::Answered),
    ] {
        let before = served.known.count(expected);
        client.send(&bytes, to).await;
        // Both are handled one after the other: with the answer to the second, the first is counted.
        let offer = client.ask(&good, to).await;
        assert_eq!(offer.yours, reserved(1), "after {expected:?}");
        assert!(served.known.count(expected) > before, "{expected:?}, {} bytes", bytes.len());
    }
    served.end().await;
}

#[tokio::test]
async fn a_flood_of_strangers_does_not_keep_the_known_from_their_addresses() {
    let client = Listener::at(Ipv4Addr::UNSPECIFIED).await;
    let peers = PeerPorts { client: client.port, relay: 9 };
    let served = Served::start(Mode::Reservations, true, peers);
    let to = (HERE, served.server);
    let stranger = Listener::at(HERE).await;
    let flood = tokio::spawn(async move {
        let messages: Vec<Vec<u8>> = (1000..1100)
            .map(|number| message(number, DISCOVER, &PXE).bytes())
            .chain([vec![7; 1400], Vec::new()])
            .collect();
        loop {
            for message in &messages {
                stranger.send(message, to).await;
            }
            tokio::task::yield_now().await;
        }
    });
    for number in 1..=50 {
        // As a machine does: what is lost on the way is asked again.
        let mut answer = None;
        while answer.is_none() {
            client.send(&message(number, DISCOVER, &PXE).bytes(), to).await;
            answer = client.hear_of(number).await;
        }
        assert_eq!(answer.map(|answer| answer.yours), Some(reserved(number)));
    }
    flood.abort();
    let known = served.end().await;
    assert!(known.count(Counted::Unknown) > 0 && known.count(Counted::Malformed) > 0);
    assert!(known.asked.lock().unwrap().iter().all(|asked| asked.given.is_some()));
}

#[tokio::test]
async fn a_machine_that_is_looked_for_is_told_of_and_gets_no_answer() {
    let client = Listener::at(Ipv4Addr::UNSPECIFIED).await;
    let peers = PeerPorts { client: client.port, relay: 9 };
    let served = Served::start(Mode::Proxy, false, peers);
    let to = (HERE, served.server);
    // A running system with the same address, one that nobody looks for, and a message that ends in its middle.
    client.send(&message(LOOKED_FOR, DISCOVER, &[]).bytes(), to).await;
    client.send(&message(LOOKED_FOR + 1, DISCOVER, &PXE).bytes(), to).await;
    let mut cut = message(LOOKED_FOR, DISCOVER, &PXE).bytes();
    cut[241] = 255;
    client.send(&cut, to).await;
    client.send(&message(LOOKED_FOR, DISCOVER, &PXE).bytes(), to).await;
    // Answered behind all of them.
    client.send(&message(1, DISCOVER, &PXE).bytes(), to).await;
    assert!(client.hear_of(1).await.is_some());
    let known = served.end().await;
    let told = known.strangers.lock().unwrap().clone();
    let expected = Stranger { mac: mac(LOOKED_FOR), loader: Loader::Pxe, architecture: Architecture::X64 };
    assert_eq!(told, [expected]);
    assert_eq!(known.count(Counted::Unknown), 4);
    assert_eq!(known.asked.lock().unwrap().len(), 1);
}

/// As a pod of the cluster may: it knows a machine's address, and has the answer sent to its own.
#[tokio::test]
async fn who_asks_from_outside_is_told_nothing() {
    let client = Listener::at(Ipv4Addr::UNSPECIFIED).await;
    let inside = Listener::at(HERE).await;
    let beside = Ipv4Addr::new(127, 0, 0, 8);
    let outside = Listener::at(beside).await;
    let peers = PeerPorts { client: client.port, relay: client.port };
    for (named, elsewhere) in [(None, Ipv4Addr::new(198, 51, 100, 7)), (Some("127.0.0.1/32"), beside)] {
        let networks: Vec<_> = named.into_iter().map(|network: &str| network.parse().unwrap()).collect();
        let settings = Settings { mode: Mode::Reservations, peers, networks, ..Settings::default() };
        let served = Served::with(settings, true);
        let (server, proxy) = ((HERE, served.server), (HERE, served.proxy));
        let relayed = |number| Packet { relay: elsewhere, ..message(number, DISCOVER, &PXE) };
        let called = Packet { client: elsewhere, ..message(1, DISCOVER, &PXE) };
        for message in [relayed(1), called, relayed(LOOKED_FOR)] {
            inside.send(&message.bytes(), server).await;
        }
        let mut answers = 2;
        // A machine's own address, which is in the interface's network unless others are named.
        outside.send(&message(1, REQUEST, &PXE).bytes(), proxy).await;
        if named.is_none() {
            assert_eq!(outside.hear().await.0.mac, mac(1));
            answers += 1;
        }
        // Behind all of them, at each port.
        inside.send(&message(2, DISCOVER, &PXE).bytes(), server).await;
        assert_eq!(client.hear().await.0.mac, mac(2), "the others were not answered");
        inside.ask(&message(2, REQUEST, &PXE), proxy).await;
        let known = served.end().await;
        assert_eq!((known.count(Counted::Answered), known.count(Counted::NotForUs)), (answers, 5 - answers));
        assert_eq!(known.asked.lock().unwrap().len(), answers, "nothing is written down of them");
        assert!(known.strangers.lock().unwrap().is_empty());
    }
}
