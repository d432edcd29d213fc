//! What the tests over HTTP share: a fleet of one, a client that logs in, a server of images.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::host::Host;
use beskar7_redfish_sim::profiles::by_name;
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};

/// The address of the only BMC.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 21, 0, 1);

/// One BMC and a client with a session on it.
pub struct Rig {
    pub fleet: Arc<Fleet>,
    pub client: Client,
    pub url: String,
    pub token: String,
    pub session: String,
}

impl Rig {
    /// A BMC of this profile whose machine needs a tenth of the time.
    pub async fn start(profile: &str) -> Self {
        Self::with(FleetConfig { profiles: vec![by_name(profile).unwrap()], pace: 0.1, ..config() }).await
    }

    pub async fn with(config: FleetConfig) -> Self {
        let fleet = Fleet::start(config).await.unwrap();
        let mut client = Client::builder().no_proxy();
        if let Some(pem) = fleet.ca_pem() {
            client = client.tls_certs_only([reqwest::Certificate::from_pem(pem.as_bytes()).unwrap()]);
        }
        let url = fleet.url(ADDRESS);
        let mut rig = Self {
            client: client.build().unwrap(),
            url,
            fleet,
            token: String::new(),
            session: String::new(),
        };
        rig.log_in().await;
        rig
    }

    pub async fn log_in(&mut self) {
        let answer = self.post_login("admin", "password").await;
        assert_eq!(answer.status(), StatusCode::CREATED);
        self.token = header(&answer, "x-auth-token");
        self.session = header(&answer, "location");
    }

    pub async fn post_login(&self, user: &str, password: &str) -> Response {
        let body = json!({ "UserName": user, "Password": password });
        let url = format!("{}/redfish/v1/SessionService/Sessions", self.url);
        self.client.post(url).json(&body).send().await.unwrap()
    }

    pub fn host(&self) -> Arc<Host> {
        self.fleet.host(ADDRESS).unwrap()
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Response {
        let mut request =
            self.client.request(method, format!("{}{path}", self.url)).header("X-Auth-Token", &self.token);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match body {
            Some(body) => request.json(&body).send().await.unwrap(),
            None => request.send().await.unwrap(),
        }
    }

    pub async fn get(&self, path: &str) -> Value {
        let answer = self.send(Method::GET, path, &[], None).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.json().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.send(Method::POST, path, &[], Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Response {
        self.send(Method::PATCH, path, &[], Some(body)).await
    }

    /// PATCH with the ETag that a GET gave, as a client does where it must.
    pub async fn patch_matching(&self, path: &str, body: Value) -> Response {
        let etag = header(&self.send(Method::GET, path, &[], None).await, "etag");
        self.send(Method::PATCH, path, &[("if-match", &etag)], Some(body)).await
    }

    /// The path of the System that can be reset.
    pub async fn system(&self) -> String {
        let systems = self.get("/redfish/v1/Systems").await;
        for member in systems["Members"].as_array().unwrap() {
            let path = member["@odata.id"].as_str().unwrap();
            if self.get(path).await["Actions"]["#ComputerSystem.Reset"].is_object() {
                return path.to_owned();
            }
        }
        panic!("no system can be reset");
    }

    pub async fn reset(&self, kind: &str) -> Response {
        let system = self.get(&self.system().await).await;
        let target = system["Actions"]["#ComputerSystem.Reset"]["target"].as_str().unwrap().to_owned();
        self.post(&target, json!({ "ResetType": kind })).await
    }

    /// Waits until a property of the System, named by a JSON pointer, has a value.
    pub async fn until(&self, pointer: &str, wanted: &str) {
        let path = self.system().await;
        for _ in 0..200 {
            if self.get(&path).await.pointer(pointer).and_then(Value::as_str) == Some(wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{pointer} did not become {wanted}: {}", self.get(&path).await);
    }

    /// The paths of all media slots, System's link first.
    pub async fn slots(&self) -> Vec<String> {
        let system = self.get(&self.system().await).await;
        let managers = self.get("/redfish/v1/Managers").await;
        let manager = self.get(managers["Members"][0]["@odata.id"].as_str().unwrap()).await;
        let mut slots = Vec::new();
        for home in [&system, &manager] {
            let Some(path) = home["VirtualMedia"]["@odata.id"].as_str() else { continue };
            for member in self.get(path).await["Members"].as_array().unwrap() {
                let slot = member["@odata.id"].as_str().unwrap().to_owned();
                if !slots.contains(&slot) {
                    slots.push(slot);
                }
            }
        }
        slots
    }

    /// What the machine did, as the log's JSON.
    pub fn log(&self) -> Vec<Value> {
        self.host()
            .with(|bmc, _| bmc.machine.log().entries().map(|e| serde_json::to_value(e).unwrap()).collect())
    }
}

pub fn config() -> FleetConfig {
    FleetConfig { first: ADDRESS, ..FleetConfig::default() }
}

pub fn header(answer: &Response, name: &str) -> String {
    answer.headers().get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap().to_owned()
}

/// The message id of a Redfish error.
pub async fn message_id(answer: Response) -> String {
    let body: Value = answer.json().await.unwrap();
    body["error"]["@Message.ExtendedInfo"][0]["MessageId"].as_str().unwrap().to_owned()
}

/// Serves an image of one megabyte by range, and returns its URL.
pub async fn image() -> String {
    use axum::http::{HeaderMap, Response};
    async fn serve(headers: HeaderMap) -> Response<axum::body::Body> {
        assert_eq!(headers["range"], "bytes=0-65535");
        let part = Response::builder().status(206).header("content-range", "bytes 0-65535/1048576");
        part.body(axum::body::Body::from(vec![7; 65536])).unwrap()
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/boot.iso", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/boot.iso", axum::routing::get(serve));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}
