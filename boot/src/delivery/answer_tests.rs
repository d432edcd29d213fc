//! Requests to a desk that has one claim.

use std::{
    ops::Range,
    sync::{
        Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use beskar7_agent_protocol::{
    order::{Order, Task},
    report::Report,
};
use futures::future::BoxFuture;
use tower::ServiceExt as _;

use super::*;
use crate::{
    capability::{Key, Purpose},
    delivery::{ArtifactName, MetaData, Reported},
};

const USER_DATA: &str = "## template: jinja\n#cloud-config\nname: '{{ ds.meta_data.hostname }}'\n";

/// The claim whose machine is told how its network is set up.
const NETWORKED: &str = "n";
const NETWORK: &str = "version: 2\nethernets: {boot: {dhcp4: true}}\n";

/// Has something for claim `c`, while it is open.
struct OneClaim {
    open: bool,
    /// Whether it knows of everybody who he is.
    knows_all: bool,
    noted: Mutex<Vec<String>>,
    orders: Mutex<Vec<Order>>,
}

fn key() -> Key {
    Key::new(&[7; 32]).unwrap()
}

fn capability(purpose: Purpose, claim: &str) -> Capability {
    key().capability(purpose, claim)
}

impl OneClaim {
    fn is(&self, capability: &Capability, purpose: Purpose) -> bool {
        self.open && *capability == key().capability(purpose, "c")
    }
}

impl Desk for OneClaim {
    fn configuration<'a>(
        &'a self,
        capability: &'a Capability,
    ) -> BoxFuture<'a, Result<Configuration, Refusal>> {
        let meta_data = MetaData {
            instance_id: "i".to_owned(),
            hostname: "edge-1".to_owned(),
            provider_id: "b7://metal/h".to_owned(),
            zone: None,
            host: "h".to_owned(),
            namespace: "metal".to_owned(),
            cluster: None,
            uuid: None,
            phone_home_url: "http://b/home".to_owned(),
            more: Default::default(),
        };
        let user_data = Bytes::from_static(USER_DATA.as_bytes());
        let networked = self.open && *capability == key().capability(Purpose::Configuration, NETWORKED);
        let found = networked || self.is(capability, Purpose::Configuration);
        let network_config = networked.then(|| Bytes::from_static(NETWORK.as_bytes()));
        let configuration = Configuration { user_data, meta_data, network_config };
        Box::pin(async move { if found { Ok(configuration) } else { Err(Refusal::Nothing) } })
    }

    fn medium<'a>(
        &'a self,
        capability: &'a Capability,
        name: MediumName<'a>,
    ) -> BoxFuture<'a, Result<Medium, Refusal>> {
        let (parts, says): (Range<u64>, Learned) = match name {
            MediumName::Artifact(artifact) => (9..10, Learned::Fetched { artifact, last: true }),
            MediumName::Image { .. } | MediumName::Volume { .. } => (4..6, Learned::LoaderRead),
        };
        let is_there = [MediumName::Image { pin: "p1" }, MediumName::Artifact(ArtifactName::Kernel)];
        let found = self.is(capability, Purpose::Media) && is_there.contains(&name);
        let telling = Some(Telling { parts: vec![parts], says });
        let source = Arc::new(Bytes::from_static(b"0123456789"));
        let medium = Medium { source, etag: "e".to_owned(), telling };
        Box::pin(async move { if found { Ok(medium) } else { Err(Refusal::Nothing) } })
    }

    fn script(&self, capability: &Capability) -> Result<String, Refusal> {
        let found = self.is(capability, Purpose::Media);
        if found { Ok("#!ipxe\n".to_owned()) } else { Err(Refusal::Nothing) }
    }

    fn loader(&self, name: &str) -> Option<Bytes> {
        (name == "snponly.efi").then(|| Bytes::from_static(b"MZ"))
    }

    fn admit_agent(&self, capability: &Capability) -> Result<(), Refusal> {
        match self.is(capability, Purpose::Agent) {
            true => Ok(()),
            false if self.knows_all => Err(Refusal::Nothing),
            false => Err(Refusal::NotNow),
        }
    }

    fn order<'a>(&'a self, capability: &'a Capability) -> BoxFuture<'a, Result<Option<Order>, Refusal>> {
        let found = self.is(capability, Purpose::Agent);
        let mut orders = self.orders.lock().unwrap();
        let next = if orders.is_empty() { None } else { Some(orders.remove(0)) };
        Box::pin(async move { if found { Ok(next) } else { Err(Refusal::Nothing) } })
    }

    fn report<'a>(&'a self, _: &'a Capability, report: Report) -> BoxFuture<'a, Result<Reported, Refusal>> {
        self.noted.lock().unwrap().push(format!("report of {}", report.order));
        Box::pin(std::future::ready(match report.order.as_str() {
            "now" => Ok(Reported::Taken),
            "paused" => Err(Refusal::NotNow),
            "another" => Ok(Reported::Nonsense),
            _ => Ok(Reported::NotWanted),
        }))
    }

    fn may_call_home(&self, capability: &Capability) -> bool {
        self.is(capability, Purpose::PhoneHome)
    }

    fn learned(&self, _: &Capability, what: Learned) -> BoxFuture<'static, ()> {
        self.noted.lock().unwrap().push(format!("{what:?}"));
        Box::pin(std::future::ready(()))
    }

    fn counted(&self, what: Counted) {
        self.noted.lock().unwrap().push(format!("{what:?}"));
    }
}

struct Counterpart {
    desk: Arc<OneClaim>,
    router: Router,
}

impl Counterpart {
    fn new(open: bool) -> Self {
        Self::knowing(open, true)
    }

    fn knowing(open: bool, knows_all: bool) -> Self {
        let desk = OneClaim { open, knows_all, noted: Mutex::default(), orders: Mutex::default() };
        let desk = Arc::new(desk);
        Self { router: router(desk.clone()), desk }
    }

    /// Says something to the desk.
    async fn say(&self, path: &str, body: impl Into<Body>) -> u16 {
        let request = Request::builder().method("POST").uri(path).body(body.into()).unwrap();
        self.router.clone().oneshot(request).await.unwrap().status().as_u16()
    }

    async fn ask(&self, method: &str, path: &str, range: Option<&str>) -> (u16, String, String) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(range) = range {
            request = request.header("range", range);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), format!("{:?}", response.headers()));
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, headers, String::from_utf8(body.to_vec()).unwrap())
    }

    fn noted(&self) -> Vec<String> {
        std::mem::take(&mut *self.desk.noted.lock().unwrap())
    }
}

#[tokio::test]
async fn a_configuration_is_given_in_every_form() {
    let server = Counterpart::new(true);
    let base = format!("/c/{}", capability(Purpose::Configuration, "c").in_url());
    for (name, expected) in [
        ("user-data", USER_DATA),
        ("ignition", USER_DATA),
        ("talos", USER_DATA),
        ("kairos", "#cloud-config\nname: 'edge-1'\n"),
        ("autoinstall/user-data", "## template: jinja\n#cloud-config\nautoinstall:"),
        ("meta-data", "instance-id: \"i\"\n"),
        ("autoinstall/meta-data", "instance-id: \"i\"\n"),
        ("vendor-data", "#cloud-config\nphone_home:"),
        ("autoinstall/vendor-data", ""),
    ] {
        let (status, headers, body) = server.ask("GET", &format!("{base}/{name}"), None).await;
        assert_eq!(status, 200, "{name}");
        assert!(body.starts_with(expected), "{name}: {body}");
        assert!(headers.contains("no-store"), "{headers}");
        let learned = server.noted().contains(&"ConfigurationRead".to_owned());
        let is_user_data = !name.ends_with("meta-data") && !name.ends_with("vendor-data");
        assert_eq!(learned, is_user_data, "{name}");
    }
    let (status, _, body) = server.ask("HEAD", &format!("{base}/user-data"), None).await;
    assert_eq!((status, body.as_str()), (200, ""));
    assert_eq!(server.noted(), ["Configuration"], "a look is no read");
    assert_eq!(server.ask("GET", &format!("{base}/network-config"), None).await.0, 404, "there is none");
}

#[tokio::test]
async fn how_the_network_is_set_up_is_given_as_it_is() {
    let server = Counterpart::new(true);
    let base = format!("/c/{}", capability(Purpose::Configuration, NETWORKED).in_url());
    for name in ["network-config", "autoinstall/network-config"] {
        let (status, headers, body) = server.ask("GET", &format!("{base}/{name}"), None).await;
        assert_eq!((status, body.as_str()), (200, NETWORK), "{name}");
        assert!(headers.contains("no-store"), "{headers}");
        assert!(!server.noted().contains(&"ConfigurationRead".to_owned()), "{name}");
    }
}

#[tokio::test]
async fn a_medium_is_given_by_range_and_tells_who_reads_its_loader_configuration() {
    let server = Counterpart::new(true);
    let path = format!("/c/{}/p1/a.iso", capability(Purpose::Media, "c").in_url());
    let (status, _, body) = server.ask("GET", &path, Some("bytes=0-3")).await;
    assert_eq!((status, body.as_str(), server.noted()), (206, "0123", vec!["Medium".to_owned()]));
    let (_, _, body) = server.ask("GET", &path, Some("bytes=5-5")).await;
    assert_eq!((body.as_str(), server.noted()), ("5", vec!["Medium".to_owned(), "LoaderRead".to_owned()]));
    assert_eq!(server.ask("GET", &path, None).await.2, "0123456789");
    assert!(server.noted().contains(&"LoaderRead".to_owned()));
    assert_eq!(server.ask("HEAD", &path, None).await.0, 200);
    assert_eq!(server.noted(), ["Medium"]);
    let other = path.replace("p1", "p2");
    assert_eq!(server.ask("GET", &other, None).await.0, 404, "another content");
}

#[tokio::test]
async fn what_boots_from_the_network_is_given_and_a_kernel_counts_when_all_of_it_was_taken() {
    let server = Counterpart::new(true);
    let base = format!("/c/{}", capability(Purpose::Media, "c").in_url());
    let (status, headers, body) = server.ask("GET", &format!("{base}/boot.ipxe"), None).await;
    assert_eq!(
        (status, body.as_str(), server.noted()),
        (200, "#!ipxe\n", vec!["ScriptRead".to_owned(), "Script".to_owned()])
    );
    assert!(headers.contains("no-store"), "{headers}");
    let kernel = format!("{base}/kernel");
    let fetched = "Fetched { artifact: Kernel, last: true }".to_owned();
    assert_eq!(server.ask("GET", &kernel, None).await.2, "0123456789");
    assert_eq!(server.noted(), ["Artifact".to_owned(), fetched.clone()]);
    server.ask("GET", &kernel, Some("bytes=0-4")).await;
    assert_eq!(server.noted(), ["Artifact"], "the beginning is not all of it");
    server.ask("GET", &kernel, Some("bytes=5-9")).await;
    assert_eq!(server.noted(), ["Artifact".to_owned(), fetched]);
    // Asked for, and not taken.
    let request = Request::builder().uri(&kernel).body(Body::empty()).unwrap();
    drop(server.router.clone().oneshot(request).await.unwrap());
    assert_eq!(server.noted(), ["Artifact"]);
    let (status, headers, _) = server.ask("HEAD", &kernel, None).await;
    assert!(status == 200 && headers.contains("\"content-length\": \"10\""), "{headers}");
    assert_eq!(server.ask("GET", &format!("{base}/initramfs"), None).await.0, 404, "there is none");

    server.noted();
    let (status, headers, body) = server.ask("GET", "/ipxe/snponly.efi", None).await;
    assert_eq!((status, body.as_str(), server.noted()), (200, "MZ", vec!["Loader".to_owned()]));
    assert!(headers.contains("application/efi"), "{headers}");
    let (status, headers, _) = server.ask("HEAD", "/ipxe/snponly.efi", None).await;
    assert!(status == 200 && headers.contains("\"content-length\": \"2\""), "{headers}");
    assert_eq!(server.ask("GET", "/ipxe/other.efi", None).await.0, 404);
}

#[tokio::test]
async fn every_refusal_is_the_same_answer() {
    let (open, closed) = (Counterpart::new(true), Counterpart::new(false));
    let of = |purpose, claim| format!("/c/{}", capability(purpose, claim).in_url());
    let ours = of(Purpose::Configuration, "c");
    let expected = open.ask("GET", "/nothing", None).await;
    assert_eq!((expected.0, expected.2.as_str()), (404, "not found\n"));
    for (server, method, path) in [
        (&open, "GET", format!("{}/user-data", of(Purpose::Configuration, "foreign"))),
        (&open, "GET", format!("{}/user-data", of(Purpose::Media, "c"))),
        (&open, "GET", format!("{}/user-data", of(Purpose::PhoneHome, "c"))),
        (&open, "GET", format!("{}/p1/a.iso", ours)),
        (&open, "GET", format!("{ours}/boot.ipxe")),
        (&open, "GET", format!("{ours}/kernel")),
        (&open, "GET", format!("{}/boot.ipxe", of(Purpose::Media, "foreign"))),
        (&open, "PUT", format!("{}/boot.ipxe", of(Purpose::Media, "c"))),
        (&closed, "GET", format!("{}/boot.ipxe", of(Purpose::Media, "c"))),
        (&closed, "GET", format!("{}/kernel", of(Purpose::Media, "c"))),
        (&open, "POST", "/ipxe/snponly.efi".to_owned()),
        (&open, "GET", "/ipxe/other.efi".to_owned()),
        (&open, "GET", format!("{ours}/nothing")),
        (&open, "GET", format!("{ours}/")),
        (&open, "GET", ours.clone()),
        (&open, "PUT", format!("{ours}/user-data")),
        (&open, "DELETE", format!("{ours}/user-data")),
        (&open, "GET", format!("{}/phone-home", of(Purpose::PhoneHome, "c"))),
        (&open, "POST", format!("{ours}/phone-home")),
        (&open, "GET", format!("/c/{}/user-data", "0".repeat(40))),
        (&open, "GET", "/c/short/user-data".to_owned()),
        (&closed, "GET", format!("{ours}/user-data")),
        (&closed, "POST", format!("{}/phone-home", of(Purpose::PhoneHome, "c"))),
    ] {
        assert_eq!(server.ask(method, &path, None).await, expected, "{method} {path}");
        assert_eq!(server.noted().pop().as_deref(), Some("Refused"), "{method} {path}");
    }
    let home = format!("{}/phone-home", of(Purpose::PhoneHome, "c"));
    assert_eq!(open.ask("POST", &home, None).await.0, 200);
    assert_eq!(open.noted(), ["CalledHome", "PhoneHome"]);
}

fn agents(name: &str) -> String {
    format!("/c/{}/agent/{name}", capability(Purpose::Agent, "c").in_url())
}

#[tokio::test]
async fn an_agent_is_told_one_order_after_the_other() {
    let counterpart = Counterpart::new(true);
    counterpart.desk.orders.lock().unwrap().push(Order {
        id: "1".to_owned(),
        machine: None,
        task: Task::Reboot,
    });
    let (status, headers, body) = counterpart.ask("GET", &agents("order"), None).await;
    assert_eq!((status, body.as_str()), (200, r#"{"id":"1","task":"reboot"}"#));
    assert!(headers.contains("application/json") && headers.contains("no-store"), "{headers}");
    let (status, _, body) = counterpart.ask("GET", &agents("order"), None).await;
    assert_eq!((status, body.as_str()), (204, ""), "nothing for now");
    for (method, path) in [
        ("POST", agents("order")),
        ("GET", agents("report")),
        (
            "GET",
            agents("order").replace(
                &capability(Purpose::Agent, "c").in_url(),
                &capability(Purpose::Media, "c").in_url(),
            ),
        ),
        ("GET", agents("ca.pem")),
    ] {
        assert_eq!(counterpart.ask(method, &path, None).await.0, 404, "{method} {path}");
    }
    assert_eq!(Counterpart::new(false).ask("GET", &agents("order"), None).await.0, 404);
}

#[tokio::test]
async fn what_an_agent_says_is_taken_or_answered_by_what_is_wrong_with_it() {
    let counterpart = Counterpart::new(true);
    let report = |order: &str| format!(r#"{{"order":"{order}","state":"running","step":"writing"}}"#);
    let long = format!(r#"{{"order":"now","state":"running","step":"{}"}}"#, "x".repeat(1 << 20));
    for (body, expected) in [
        (report("now"), 204),
        (report("old"), 410),
        (report("another"), 400),
        (report("paused"), 503),
        ("{}".to_owned(), 400),
        ("moonlight".to_owned(), 400),
        (String::new(), 400),
        (long, 400),
    ] {
        assert_eq!(counterpart.say(&agents("report"), body.clone()).await, expected, "{:.60}", body);
    }
    let noted = counterpart.desk.noted.lock().unwrap().clone();
    assert_eq!(noted.iter().filter(|noted| noted.starts_with("report of")).count(), 4, "{noted:?}");
}

/// What is installed can read its agent's URL while the medium is in its drive.
#[tokio::test(start_paused = true)]
async fn a_machine_that_begins_many_reports_and_ends_none_takes_no_room_from_others() {
    let counterpart = Counterpart::new(true);
    let never = || Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
    let path = agents("report");
    let begun = async { tokio::join!(counterpart.say(&path, never()), counterpart.say(&path, never())) };
    let one_more = async {
        tokio::task::yield_now().await;
        counterpart.say(&path, never()).await
    };
    assert_eq!(tokio::join!(begun, one_more), ((408, 408), 503));
    let report = r#"{"order":"now","state":"running","step":"writing"}"#;
    assert_eq!(counterpart.say(&path, report).await, 204, "their room is free again");
}

#[tokio::test]
async fn of_a_stranger_nothing_is_read() {
    let counterpart = Counterpart::new(true);
    let report = r#"{"order":"now","state":"running","step":"writing"}"#;
    for purpose in [Purpose::Media, Purpose::PhoneHome, Purpose::Configuration] {
        let path = format!("/c/{}/agent/report", capability(purpose, "c").in_url());
        assert_eq!(counterpart.say(&path, report).await, 404);
    }
    let never = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
    let strangers = format!("/c/{}/agent/report", capability(Purpose::Agent, "another").in_url());
    assert_eq!(counterpart.say(&strangers, never).await, 404, "what never ends is not waited for");
    let noted = counterpart.desk.noted.lock().unwrap().clone();
    assert!(noted.iter().all(|noted| noted == "Refused"), "{noted:?}");
}

#[tokio::test]
async fn who_may_be_an_agent_is_not_sent_away_for_good() {
    let report = r#"{"order":"now","state":"running","step":"writing"}"#;
    for (open, knows_all, status, noted) in
        [(true, true, 204, "Agent"), (false, true, 404, "Refused"), (false, false, 503, "Unavailable")]
    {
        let counterpart = Counterpart::knowing(open, knows_all);
        assert_eq!(counterpart.say(&agents("report"), report).await, status, "{open} {knows_all}");
        assert_eq!(counterpart.noted().pop().as_deref(), Some(noted), "{open} {knows_all}");
        if !open {
            let never = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
            assert_eq!(counterpart.say(&agents("report"), never).await, status, "it is not read");
        }
    }
}

/// A desk where writing down takes for ever, until it is let go on.
struct Slow {
    reads: AtomicUsize,
    written: Semaphore,
    this: Weak<Slow>,
}

impl Slow {
    fn mine(capability: &Capability) -> Result<(), Refusal> {
        let found = *capability == self::capability(Purpose::Configuration, "c");
        if found { Ok(()) } else { Err(Refusal::Nothing) }
    }
}

impl Desk for Slow {
    fn may_ask(&self, capability: &Capability) -> Result<(), Refusal> {
        Self::mine(capability)
    }

    fn configuration<'a>(&'a self, _: &'a Capability) -> BoxFuture<'a, Result<Configuration, Refusal>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {
            let one =
                OneClaim { open: true, knows_all: true, noted: Mutex::default(), orders: Mutex::default() };
            one.configuration(&capability(Purpose::Configuration, "c")).await
        })
    }

    fn medium<'a>(&'a self, _: &'a Capability, _: MediumName<'a>) -> BoxFuture<'a, Result<Medium, Refusal>> {
        Box::pin(std::future::ready(Err(Refusal::Nothing)))
    }

    fn may_call_home(&self, _: &Capability) -> bool {
        false
    }

    fn learned(&self, _: &Capability, _: Learned) -> BoxFuture<'static, ()> {
        let this = self.this.upgrade().unwrap();
        Box::pin(async move { this.written.acquire().await.unwrap().forget() })
    }

    fn counted(&self, _: Counted) {}
}

#[tokio::test(start_paused = true)]
async fn not_more_configurations_are_read_than_can_be_written_down_soon() {
    let desk = Arc::new_cyclic(|this| Slow {
        reads: AtomicUsize::default(),
        written: Semaphore::new(0),
        this: this.clone(),
    });
    let router = router(desk.clone());
    let ask = |claim: &str, name: &str| {
        let uri = format!("/c/{}/{name}", capability(Purpose::Configuration, claim).in_url());
        let request = Request::builder().uri(uri).body(Body::empty()).unwrap();
        router.clone().oneshot(request)
    };
    let all: Vec<_> = (0..MOST_READ * 3).map(|_| tokio::spawn(ask("c", "user-data"))).collect();
    // Time is paused: it goes on when everybody waits.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(desk.reads.load(Ordering::SeqCst), MOST_READ);
    // What is not written down waits for nobody, nor does who only guesses.
    assert_eq!(ask("c", "meta-data").await.unwrap().status(), 200);
    assert_eq!(ask("foreign", "user-data").await.unwrap().status(), 404);
    desk.written.add_permits(10);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(desk.reads.load(Ordering::SeqCst), MOST_READ + 10 + 1);
    desk.written.add_permits(MOST_READ * 3);
    for answer in all {
        assert_eq!(answer.await.unwrap().unwrap().status(), 200);
    }
}
