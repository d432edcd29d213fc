//! Datagrams say where they arrived, and answers leave from there.

use std::time::Duration;

use tokio::time::timeout;

use super::*;

const LIMIT: Duration = Duration::from_secs(20);

fn everywhere() -> (Datagrams, u16) {
    let place = Place { what: "a test", address: Ipv4Addr::UNSPECIFIED, port: 0, interface: None };
    let bound = bind(&place).unwrap();
    let port = bound.local_addr().unwrap().port();
    (Datagrams::new(bound).unwrap(), port)
}

#[tokio::test]
async fn an_answer_leaves_from_the_address_that_was_asked() {
    let (datagrams, port) = everywhere();
    let client = UdpSocket::bind("127.0.0.9:0").await.unwrap();
    let mut buffer = [0; 16];
    for asked in [Ipv4Addr::new(127, 0, 0, 1), Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::new(127, 3, 2, 1)] {
        client.send_to(b"hello", (asked, port)).await.unwrap();
        let received = timeout(LIMIT, datagrams.receive(&mut buffer)).await.unwrap().unwrap();
        assert_eq!((received.length, received.at.address), (5, asked));
        assert!(received.at.interface > 0);
        for from in [received.at, Local { interface: 0, ..received.at }] {
            datagrams.send(b"here", received.from, from).await.unwrap();
            let (_, source) = timeout(LIMIT, client.recv_from(&mut buffer)).await.unwrap().unwrap();
            assert_eq!(source, SocketAddrV4::new(asked, port).into());
        }
    }
}

#[tokio::test]
async fn an_address_that_is_not_ours_can_not_be_sent_from() {
    let (datagrams, port) = everywhere();
    let foreign = Local { interface: 0, address: Ipv4Addr::new(198, 51, 100, 1) };
    let sent = datagrams.send_now(b"x", SocketAddrV4::new(Ipv4Addr::LOCALHOST, port), foreign);
    assert!(sent.is_err(), "{sent:?}");
}
