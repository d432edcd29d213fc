//! Answers that nobody should give: each ends in an error that says so, within the limits, and in no panic.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::time::Duration;

use beskar7_redfish::{Address, Bmc, Credentials, Error, HttpClients, Limits, Trust};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a BMC writes to a connection after a request, and whether it then closes it.
#[derive(Clone)]
struct Bytes {
    head: Vec<u8>,
    /// Written again and again, if there is any.
    endless: Option<Vec<u8>>,
    then: Then,
}

#[derive(Clone, Copy)]
enum Then {
    Close,
    Hang,
}

fn limits() -> Limits {
    Limits {
        request: Duration::from_secs(2),
        reading: Duration::from_secs(20),
        body: 64 << 10,
        ..Limits::default()
    }
}

/// A client of a BMC that answers each path as `answer` says.
async fn client(answer: impl Fn(&str) -> Bytes + Clone + Send + 'static) -> Bmc {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, answer.clone()));
        }
    });
    let http = HttpClients::default().get(&Trust::Anything).unwrap();
    Bmc::new(http, Address::parse(&url).unwrap(), Credentials::new("root", "calvin"), limits())
}

async fn serve(mut stream: TcpStream, answer: impl Fn(&str) -> Bytes) -> std::io::Result<()> {
    let mut request = [0; 8192];
    let read = stream.read(&mut request).await?;
    let line = String::from_utf8_lossy(&request[..read]).into_owned();
    let Bytes { head, endless, then } = answer(line.split(' ').nth(1).unwrap_or_default());
    stream.write_all(&head).await?;
    while let Some(more) = &endless {
        stream.write_all(more).await?;
    }
    match then {
        Then::Close => stream.shutdown().await,
        Then::Hang => std::future::pending().await,
    }
}

fn bytes(head: impl Into<Vec<u8>>, then: Then) -> Bytes {
    Bytes { head: head.into(), endless: None, then }
}

/// An answer that is well-formed HTTP, with this body.
fn whole(body: &[u8]) -> Bytes {
    let head = format!(
        "HTTP/1.1 200 OK\r\nX-Auth-Token: t\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    bytes([head.as_bytes(), body].concat(), Then::Close)
}

/// A root that is in order.
fn root() -> Value {
    json!({ "Systems": { "@odata.id": "/redfish/v1/Systems" }, "Links": { "Sessions": { "@odata.id": "/sessions" } } })
}

/// A client of a BMC that is in order but for what it answers to a read of its systems.
async fn with_systems(systems: Bytes) -> Bmc {
    client(move |path| match path {
        "/redfish/v1/Systems" => systems.clone(),
        _ => whole(root().to_string().as_bytes()),
    })
    .await
}

/// A client of a BMC with one system, which is this.
async fn with_system(system: Value) -> Bmc {
    client(move |path| match path {
        "/redfish/v1/Systems" => whole(json!({ "Members": [{ "@odata.id": "/s" }] }).to_string().as_bytes()),
        "/s" => whole(system.to_string().as_bytes()),
        _ => whole(root().to_string().as_bytes()),
    })
    .await
}

#[tokio::test]
async fn what_is_no_json_is_malformed() {
    let deep = "[".repeat(20_000);
    let deep_object = "{\"a\":".repeat(10_000);
    for body in [
        b"".as_slice(),
        b"<html>busy</html>",
        b"{\"Members\": [",
        b"\xff\xfe{}",
        b"null",
        b"[]",
        b"\"text\"",
        b"7",
        b"{\"Members\": 1e999999}",
        deep.as_bytes(),
        deep_object.as_bytes(),
    ] {
        let error = with_systems(whole(body)).await.system(None).await.unwrap_err();
        let shown: String = String::from_utf8_lossy(body).chars().take(20).collect();
        assert!(matches!(error, Error::Malformed { .. }), "{shown:?}: {error}");
        assert!(error.to_string().contains("GET /redfish/v1/Systems"), "{shown:?}: {error}");
    }
}

#[tokio::test]
async fn what_breaks_off_is_unreachable() {
    for head in [
        "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"Members\": [",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"Me",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/9.9 \u{1}\r\n\r\n",
        "",
    ] {
        let error = with_systems(bytes(head, Then::Close)).await.system(None).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{head:?}: {error}");
    }
}

#[tokio::test]
async fn what_never_comes_is_not_answered() {
    for head in ["", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"Members\": ["] {
        let error = with_systems(bytes(head, Then::Hang)).await.system(None).await.unwrap_err();
        assert!(matches!(error, Error::NotAnswered { .. }), "{head:?}: {error}");
    }
}

#[tokio::test]
async fn a_body_without_end_ends_at_the_limit() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"] {
        let endless = Bytes { endless: Some(vec![b' '; 4096]), ..bytes(head, Then::Close) };
        let error = with_systems(endless).await.system(None).await.unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
        assert!(error.to_string().contains("more than 65536 bytes"), "{error}");
    }
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    let endless = Bytes {
        endless: Some(b"X-Filler: aaaaaaaaaaaaaaaa\r\n".to_vec()),
        ..bytes("HTTP/1.1 200 OK\r\n", Then::Close)
    };
    let error = with_systems(endless).await.system(None).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_million_members_are_too_many() {
    // In one body, which is cut off at its limit.
    let members = vec![json!({ "@odata.id": "/redfish/v1/Systems/1" }); 1_000_000];
    let million = whole(json!({ "Members": members }).to_string().as_bytes());
    let error = with_systems(million).await.system(None).await.unwrap_err();
    assert!(error.to_string().contains("more than 65536 bytes"), "{error}");

    // On pages, each with a link to one more that nobody has seen.
    let bmc = client(|path| {
        let page: u32 = path.rsplit('=').next().and_then(|page| page.parse().ok()).unwrap_or(0);
        let next = format!("/redfish/v1/Systems?page={}", page + 1);
        match path.starts_with("/redfish/v1/Systems") {
            true => whole(
                json!({ "Members": vec![json!({ "@odata.id": "/s" }); 20], "Members@odata.nextLink": next })
                    .to_string()
                    .as_bytes(),
            ),
            false => whole(root().to_string().as_bytes()),
        }
    })
    .await;
    let error = bmc.system(None).await.unwrap_err();
    assert!(error.to_string().contains("the collection has no end"), "{error}");
}

#[tokio::test]
async fn pages_that_lead_in_a_circle_end() {
    let bmc = client(|path| {
        let next = if path.contains("page=2") { "/redfish/v1/Systems" } else { "/redfish/v1/Systems?page=2" };
        match path.starts_with("/redfish/v1/Systems") {
            true => whole(json!({ "Members": [], "Members@odata.nextLink": next }).to_string().as_bytes()),
            false => whole(root().to_string().as_bytes()),
        }
    })
    .await;
    let error = bmc.system(None).await.unwrap_err();
    assert!(matches!(error, Error::NoSystem { .. }), "{error}");
}

#[tokio::test]
async fn resources_that_lead_in_a_circle_end() {
    // Everything is everything: each link leads to the same resource, which is its own system, manager, drive and part.
    let itself = json!({ "@odata.id": "/s" });
    let all = json!({
        "Systems": itself, "Managers": itself, "UpdateService": itself, "FirmwareInventory": itself,
        "Links": { "Sessions": itself, "ManagedBy": vec![itself.clone(); 500] },
        "VirtualMedia": itself, "Processors": itself, "Memory": itself, "Storage": itself,
        "EthernetInterfaces": itself, "Members": vec![itself.clone(); 300], "Drives": vec![itself.clone(); 300],
        "Actions": { "#ComputerSystem.Reset": itself },
        "@Redfish.Settings": { "SettingsObject": itself },
    });
    let body = all.to_string();
    let bmc = client(move |_| whole(body.as_bytes())).await;
    let system = bmc.system(None).await.unwrap();
    assert_eq!(bmc.slots(&system).await.unwrap().len(), 1);
    let inventory = bmc.inventory(&system).await.unwrap();
    assert_eq!((inventory.processors.len(), inventory.memory.len(), inventory.drives.len()), (1, 1, 1));
}

#[tokio::test]
async fn what_has_the_wrong_type_is_not_there() {
    let wrong = [
        json!(null),
        json!(7),
        json!(-1.5e300),
        json!([]),
        json!({}),
        json!(true),
        json!("x"),
        json!([[{}]]),
    ];
    for value in wrong {
        let names = [
            "UUID",
            "PowerState",
            "Status",
            "BootProgress",
            "Boot",
            "Actions",
            "VirtualMedia",
            "Links",
            "Processors",
            "Memory",
            "Storage",
            "EthernetInterfaces",
            "ProcessorSummary",
            "MemorySummary",
            "@Redfish.Settings",
            "@odata.etag",
            "Model",
            "SerialNumber",
        ];
        let system: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
        let bmc = with_system(Value::Object(system)).await;
        let system = bmc.system(None).await.unwrap();
        // None of these panics, and what can't be done says so.
        let _told = (
            system.power(),
            system.health(),
            system.boot_progress(),
            system.summary(),
            system.has_uuid(
                beskar7_redfish::MachineUuid::parse("38947555-7742-3448-3784-823347823834").unwrap(),
            ),
        );
        let limits =
            beskar7_redfish::PowerLimits { seen: Duration::ZERO, ..beskar7_redfish::PowerLimits::default() };
        let error = bmc.power_on(&system, limits).await.unwrap_err();
        assert!(matches!(error, Error::NotSupported { .. }), "{value}: {error}");
        let error = bmc.insert(&system, "http://127.0.0.1:9/x.iso", Duration::ZERO).await.unwrap_err();
        assert!(matches!(error, Error::NotSupported { .. }), "{value}: {error}");
        assert_eq!(bmc.inventory(&system).await.unwrap(), beskar7_redfish::Inventory::default(), "{value}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}/steal", elsewhere.local_addr().unwrap());
    for status in [301, 302, 307, 308] {
        let head = format!("HTTP/1.1 {status} Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
        let error = with_systems(bytes(head, Then::Close)).await.system(None).await.unwrap_err();
        assert!(matches!(error, Error::Said { status: told, .. } if told == status), "{error}");
    }
    let nobody = tokio::time::timeout(Duration::ZERO, elsewhere.accept()).await;
    assert!(nobody.is_err(), "somebody came, with our token");
}

#[tokio::test]
async fn links_to_other_hosts_stay_on_this_one() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let link = format!("http://{}/s", elsewhere.local_addr().unwrap());
    let body = json!({ "Members": [{ "@odata.id": link }] }).to_string();
    let bmc = with_systems(whole(body.as_bytes())).await;
    // The path is asked here, where it is no system, or not known at all: never there.
    let _here = bmc.system(None).await;
    let nobody = tokio::time::timeout(Duration::ZERO, elsewhere.accept()).await;
    assert!(nobody.is_err(), "somebody came, with our token");
}

#[tokio::test]
async fn no_error_shows_the_password_or_the_token() {
    let secret = "c4lv1n-t0k3n";
    let echo = json!({ "error": { "@Message.ExtendedInfo": [{ "Message": "denied" }] } }).to_string();
    let head = format!(
        "HTTP/1.1 500 Oops\r\nX-Auth-Token: {secret}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{echo}",
        echo.len()
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (root, head) = (root().to_string(), head.clone());
            tokio::spawn(serve(stream, move |path| match path {
                "/redfish/v1/" => whole(root.as_bytes()),
                _ => bytes(head.clone(), Then::Close),
            }));
        }
    });
    let http = HttpClients::default().get(&Trust::Anything).unwrap();
    let bmc = Bmc::new(http, Address::parse(&url).unwrap(), Credentials::new("root", secret), limits());
    let error = bmc.system(None).await.unwrap_err();
    assert!(matches!(error, Error::Said { status: 500, .. }), "{error}");
    for shown in [error.to_string(), format!("{error:?}"), format!("{bmc:?}")] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
