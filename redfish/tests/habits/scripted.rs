//! A mock: a BMC that answers by a script, for habits that are told of real ones and that no simulated profile has. It
//! has one system and one manager, does as it is told at once, and each test says how it differs from that.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use beskar7_redfish::{Address, Bmc, Credentials, HttpClients, Limits, PowerLimits, Trust};
use serde_json::{Value, json};

pub const LIMIT: Duration = Duration::from_secs(30);
pub const SYSTEM: &str = "/redfish/v1/Systems/1";
pub const SLOT: &str = "/redfish/v1/Systems/1/VirtualMedia/1";
pub const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
pub const ISO: &str = "http://127.0.0.1:9/node.iso";

pub type Tree = BTreeMap<String, Value>;

/// A request that came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    /// Nothing where there was none.
    pub body: Option<Value>,
}

impl Asked {
    pub fn is(&self, method: &Method, path: &str) -> bool {
        self.method == *method && self.path == path
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A property of the body.
    pub fn told(&self, pointer: &str) -> Option<&Value> {
        self.body.as_ref()?.pointer(pointer)
    }
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
}

impl Reply {
    pub fn new(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    /// A refusal with a message of the base registry or of a maker's own.
    pub fn refusal(status: u16, key: &str, text: &str) -> Self {
        let message = json!({ "MessageId": format!("Base.1.8.{key}"), "Message": text });
        let error =
            json!({ "code": "Base.1.8.GeneralError", "message": "", "@Message.ExtendedInfo": [message] });
        Self::new(status, json!({ "error": error }))
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

type Script = Box<dyn FnMut(&Asked, &mut Tree) -> Option<Reply> + Send>;

struct State {
    tree: Tree,
    script: Script,
    asked: Vec<Asked>,
}

/// The BMC; it ends with the test's runtime.
pub struct Scripted {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Scripted {
    /// One that is as it should be.
    pub async fn plain() -> Self {
        Self::new(|_| {}, |_, _| None).await
    }

    /// One with another tree.
    pub async fn with_tree(change: impl FnOnce(&mut Tree)) -> Self {
        Self::new(change, |_, _| None).await
    }

    /// One with another tree, and with answers of its own; what the script does not answer is answered as it should be.
    pub async fn new(
        change: impl FnOnce(&mut Tree),
        script: impl FnMut(&Asked, &mut Tree) -> Option<Reply> + Send + 'static,
    ) -> Self {
        Self::on("127.0.0.1:0", change, script).await
    }

    /// The same at another address of this machine.
    pub async fn on(
        listen: &str,
        change: impl FnOnce(&mut Tree),
        script: impl FnMut(&Asked, &mut Tree) -> Option<Reply> + Send + 'static,
    ) -> Self {
        let mut tree = tree();
        change(&mut tree);
        let state = Arc::new(Mutex::new(State { tree, script: Box::new(script), asked: Vec::new() }));
        let listener = tokio::net::TcpListener::bind(listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let held = Arc::clone(&state);
        let app =
            axum::Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
                let reply = answer(&held, method, &uri, headers, &body);
                std::future::ready(reply)
            });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client of it.
    pub fn bmc(&self) -> Bmc {
        client(&self.url(), Limits::default())
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }

    /// What changes were asked for so far, without log-ins and log-outs.
    pub fn changes(&self) -> Vec<Asked> {
        let is_change = |asked: &Asked| asked.method != Method::GET && !asked.path.starts_with(SESSIONS);
        self.asked().into_iter().filter(is_change).collect()
    }

    /// A property as it is now.
    pub fn now(&self, path: &str, pointer: &str) -> Value {
        self.state.lock().unwrap().tree[path].pointer(pointer).cloned().unwrap_or_default()
    }
}

pub fn client(url: &str, limits: Limits) -> Bmc {
    let http = HttpClients::default().get(&Trust::Anything).unwrap();
    Bmc::new(http, Address::parse(url).unwrap(), Credentials::new("root", "calvin"), limits)
}

pub fn power_limits() -> PowerLimits {
    PowerLimits { graceful: Duration::from_secs(2), seen: LIMIT, look: Duration::from_millis(20) }
}

/// A slot of these types, with actions.
pub fn slot(path: &str, types: &[&str]) -> Value {
    json!({
        "@odata.id": path,
        "MediaTypes": types,
        "Inserted": false,
        "Image": null,
        "Actions": {
            "#VirtualMedia.InsertMedia": { "target": format!("{path}/Actions/VirtualMedia.InsertMedia") },
            "#VirtualMedia.EjectMedia": { "target": format!("{path}/Actions/VirtualMedia.EjectMedia") },
        },
    })
}

/// A collection of these members.
pub fn collection(members: &[&str]) -> Value {
    let members: Vec<Value> = members.iter().map(|path| json!({ "@odata.id": path })).collect();
    json!({ "Members@odata.count": members.len(), "Members": members })
}

fn tree() -> Tree {
    let link = |path: &str| json!({ "@odata.id": path });
    let root = json!({
        "Systems": link("/redfish/v1/Systems"),
        "Managers": link("/redfish/v1/Managers"),
        "Links": { "Sessions": link(SESSIONS) },
    });
    let system = json!({
        "Id": "1",
        "UUID": "38947555-7742-3448-3784-823347823834",
        "PowerState": "On",
        "VirtualMedia": link("/redfish/v1/Systems/1/VirtualMedia"),
        "Links": { "ManagedBy": [link("/redfish/v1/Managers/1")] },
        "Boot": {
            "BootSourceOverrideEnabled": "Disabled",
            "BootSourceOverrideTarget": "None",
            "BootSourceOverrideMode": "UEFI",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Cd", "UsbCd", "Pxe", "UefiHttp", "Hdd"],
        },
        "Actions": { "#ComputerSystem.Reset": {
            "target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
            "ResetType@Redfish.AllowableValues": ["On", "ForceOff", "GracefulShutdown", "ForceRestart"],
        } },
    });
    Tree::from([
        ("/redfish/v1".into(), root),
        ("/redfish/v1/Systems".into(), collection(&[SYSTEM])),
        (SYSTEM.into(), system),
        ("/redfish/v1/Systems/1/VirtualMedia".into(), collection(&[SLOT])),
        (SLOT.into(), slot(SLOT, &["CD", "DVD"])),
        ("/redfish/v1/Managers".into(), collection(&["/redfish/v1/Managers/1"])),
        ("/redfish/v1/Managers/1".into(), json!({ "Id": "1", "FirmwareVersion": "1.0" })),
    ])
}

fn answer(state: &Mutex<State>, method: Method, uri: &Uri, headers: HeaderMap, body: &[u8]) -> Response {
    let path = uri.path_and_query().map_or_else(String::new, |path| path.as_str().to_owned());
    let body = (!body.is_empty()).then(|| serde_json::from_slice(body).unwrap_or_default());
    let asked = Asked { method, path, headers, body };
    let State { tree, script, asked: log } = &mut *state.lock().unwrap();
    log.push(asked.clone());
    let reply = script(&asked, tree).unwrap_or_else(|| as_it_should_be(&asked, tree));
    let mut response = StatusCode::from_u16(reply.status).unwrap().into_response();
    for (name, value) in reply.headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    match reply.body {
        Value::Null => {}
        Value::String(text) => *response.body_mut() = text.into(),
        json => *response.body_mut() = json.to_string().into(),
    }
    response
}

/// What a BMC without habits does.
pub fn as_it_should_be(asked: &Asked, tree: &mut Tree) -> Reply {
    let path = asked.path.trim_end_matches('/');
    let body = asked.body.clone().unwrap_or_default();
    match asked.method.as_str() {
        "GET" => tree
            .get(path)
            .map_or_else(|| Reply::new(404, Value::Null), |found| Reply::new(200, found.clone())),
        "PATCH" => match tree.get_mut(path) {
            Some(resource) => {
                merge(resource, &body);
                Reply::new(204, Value::Null)
            }
            None => Reply::new(404, Value::Null),
        },
        "POST" if path == SESSIONS => {
            Reply::new(201, json!({})).with("x-auth-token", "t").with("location", &format!("{SESSIONS}/7"))
        }
        "POST" => act(path, &body, tree),
        "DELETE" => Reply::new(204, Value::Null),
        _ => Reply::new(405, Value::Null),
    }
}

fn act(path: &str, body: &Value, tree: &mut Tree) -> Reply {
    let Some((of, action)) = path.split_once("/Actions/") else { return Reply::new(405, Value::Null) };
    let Some(resource) = tree.get_mut(of) else { return Reply::new(404, Value::Null) };
    let change = match (action, body["ResetType"].as_str()) {
        ("VirtualMedia.InsertMedia", _) => json!({ "Inserted": true, "Image": body["Image"] }),
        ("VirtualMedia.EjectMedia", _) => json!({ "Inserted": false, "Image": null }),
        ("ComputerSystem.Reset", Some("On" | "ForceOn")) => json!({ "PowerState": "On" }),
        ("ComputerSystem.Reset", Some("ForceOff" | "Off" | "GracefulShutdown")) => {
            json!({ "PowerState": "Off" })
        }
        _ => return Reply::refusal(400, "ActionParameterNotSupported", "no such action"),
    };
    merge(resource, &change);
    Reply::new(204, Value::Null)
}

fn merge(resource: &mut Value, change: &Value) {
    match (resource, change) {
        (Value::Object(resource), Value::Object(change)) => {
            for (name, value) in change {
                merge(resource.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (resource, change) => *resource = change.clone(),
    }
}
