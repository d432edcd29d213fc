//! Answers to requests under `/c/`.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
    routing::get,
};
use bytes::Bytes;
use tokio::sync::Semaphore;

use super::{
    Configuration, Counted, Desk, Learned, Medium, MediumName, Refusal, Telling, agent,
    completed::Completed,
    target::{File, Target, loader, target},
    wrong::Wrong,
};
use crate::{capability::Capability, form, places::Places, ranges, source::digest};

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const ISO: &str = "application/octet-stream";
const EFI: &str = "application/efi";
/// So many configurations are in memory at once, from before they are read until it is written down that they were. When a
/// whole site boots, the others wait without theirs, in the order in which they came. Writing down takes some seconds at
/// most, also where it fails.
const MOST_READ: usize = 64;

struct Counter {
    desk: Arc<dyn Desk>,
    wrong: Wrong,
    room: Semaphore,
    reports: Arc<Places<Capability>>,
}

/// Everything that is served: what the desk has, and whether the server is there at all.
pub fn router(desk: Arc<dyn Desk>) -> Router {
    let (room, reports) = (Semaphore::new(MOST_READ), agent::room());
    let counter = Arc::new(Counter { desk, wrong: Wrong::new(), room, reports });
    Router::new().route("/healthz", get(async || "ok\n")).fallback(answer).with_state(counter)
}

async fn answer(State(counter): State<Arc<Counter>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let from = parts.extensions.get().map(|ConnectInfo(address): &ConnectInfo<SocketAddr>| address.ip());
    // What is sent is read of agents alone. Of a call, that it comes is all that it says.
    let answered = match target(parts.uri.path()) {
        Some((capability, Target::File(file))) if reads(&parts.method) => {
            let method = parts.method.clone();
            // The request keeps the connection's buffer. When a whole site boots, very many wait here.
            drop(parts);
            counter.file(&capability, file, &method).await
        }
        Some((capability, Target::AgentOrder)) if parts.method == Method::GET => {
            Box::pin(agent::order(counter.desk.as_ref(), &capability)).await
        }
        Some((capability, Target::AgentReport)) if parts.method == Method::POST => {
            Box::pin(agent::report(counter.desk.as_ref(), &counter.reports, &capability, body)).await
        }
        // By itself, and so is what follows: what waits above would have to hold room for it.
        Some((capability, target)) => {
            Box::pin(counter.answer(&capability, target, &parts.method, &parts.headers)).await
        }
        None => match loader(parts.uri.path()).filter(|_| reads(&parts.method)) {
            Some(name) => Box::pin(counter.loader(name, &parts.method, &parts.headers)).await,
            None => Err(Refusal::Nothing),
        },
    };
    match answered {
        Ok(response) => response,
        Err(refusal) => Box::pin(counter.refuse(refusal, from)).await,
    }
}

impl Counter {
    async fn answer(
        &self,
        capability: &Capability,
        target: Target<'_>,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Response, Refusal> {
        match target {
            Target::Medium(name) if reads(method) => {
                let medium = self.desk.medium(capability, name).await?;
                Ok(self.medium(capability, name, medium, (method, headers)).await)
            }
            Target::Script if reads(method) => {
                let script = self.desk.script(capability)?;
                if *method == Method::GET {
                    drop(self.desk.learned(capability, Learned::ScriptRead));
                }
                self.desk.counted(Counted::Script);
                Ok(text(script.into()))
            }
            Target::PhoneHome if *method == Method::POST && self.desk.may_call_home(capability) => {
                // It calls once: it is thanked when that can't be lost any more.
                self.desk.learned(capability, Learned::CalledHome).await;
                self.desk.counted(Counted::PhoneHome);
                Ok(text(Bytes::from_static(b"welcome\n")))
            }
            Target::File(_)
            | Target::Medium(_)
            | Target::Script
            | Target::PhoneHome
            | Target::AgentOrder
            | Target::AgentReport => Err(Refusal::Nothing),
        }
    }

    async fn loader(&self, name: &str, method: &Method, headers: &HeaderMap) -> Result<Response, Refusal> {
        let content = self.desk.loader(name).ok_or(Refusal::Nothing)?;
        let etag = digest(&[content.as_ref()]);
        self.desk.counted(Counted::Loader);
        Ok(ranges::answer(Arc::new(content), method, headers, &etag, EFI).await)
    }

    async fn file(&self, capability: &Capability, file: File, method: &Method) -> Result<Response, Refusal> {
        let is_read = *method == Method::GET && holds_user_data(file);
        let _room = match is_read {
            true => {
                self.desk.may_ask(capability)?;
                Some(self.room.acquire().await.map_err(|_closed| Refusal::NotNow)?)
            }
            // It is given away as soon as it is there.
            false => None,
        };
        let configuration = self.desk.configuration(capability).await?;
        let content = content(file, &configuration).map_err(|error| {
            tracing::error!(host = configuration.meta_data.host, %error, "a configuration can't be given out");
            Refusal::NotNow
        })?;
        let content = content.ok_or(Refusal::Nothing)?;
        drop(configuration);
        if is_read {
            // From here on it boots from its disk: what it is given next may install it.
            self.desk.learned(capability, Learned::ConfigurationRead).await;
        }
        self.desk.counted(Counted::Configuration);
        // HEAD is answered by the same: the server leaves the content out.
        Ok(text(content))
    }

    async fn medium(
        &self,
        capability: &Capability,
        name: MediumName<'_>,
        medium: Medium,
        (method, headers): (&Method, &HeaderMap),
    ) -> Response {
        let Medium { source, etag, telling } = medium;
        let (content_type, counted) = match name {
            MediumName::Image { .. } | MediumName::Volume { .. } => (ISO, Counted::Medium),
            MediumName::Artifact(artifact) => (artifact.content_type(), Counted::Artifact),
        };
        let response = ranges::answer(source, method, headers, &etag, content_type).await;
        if response.status() == StatusCode::BAD_GATEWAY {
            self.desk.counted(Counted::Unavailable);
            return with_status(StatusCode::BAD_GATEWAY, "not now\n");
        }
        self.desk.counted(counted);
        match telling.filter(|_| *method == Method::GET) {
            Some(telling) => self.learn(capability, &telling, response),
            None => response,
        }
    }

    /// Who reads the boot loader's configuration runs a boot loader. Who fetches a kernel has it when he has its end.
    fn learn(&self, capability: &Capability, telling: &Telling, response: Response) -> Response {
        let Some(range) = ranges::given(&response) else { return response };
        let touched = telling.parts.iter().any(|part| part.start < range.end && range.start < part.end);
        if !touched {
            return response;
        }
        let (desk, capability, says) = (self.desk.clone(), *capability, telling.says);
        match says {
            Learned::Fetched { .. } => response
                .map(|body| Body::new(Completed::new(body, move || drop(desk.learned(&capability, says))))),
            Learned::LoaderRead | Learned::ScriptRead | Learned::ConfigurationRead | Learned::CalledHome => {
                drop(desk.learned(&capability, says));
                response
            }
        }
    }

    async fn refuse(&self, refusal: Refusal, from: Option<IpAddr>) -> Response {
        match refusal {
            Refusal::Nothing => {
                self.desk.counted(Counted::Refused);
                self.wrong.tried(from).await;
                with_status(StatusCode::NOT_FOUND, "not found\n")
            }
            Refusal::NotNow => {
                self.desk.counted(Counted::Unavailable);
                with_status(StatusCode::SERVICE_UNAVAILABLE, "not now\n")
            }
        }
    }
}

fn reads(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// What a file holds; nothing where there is no such file for this machine.
fn content(file: File, configuration: &Configuration) -> Result<Option<Bytes>, form::FormError> {
    let Configuration { user_data, meta_data, network_config } = configuration;
    Ok(match file {
        File::UserData | File::Ignition | File::Talos => Some(user_data.clone()),
        File::MetaData => Some(form::meta_data(meta_data).into()),
        File::VendorData => Some(form::vendor_data(meta_data).into()),
        File::AutoinstallVendorData => Some(Bytes::new()),
        File::NetworkConfig => network_config.clone(),
        File::Autoinstall => Some(form::autoinstall(user_data, meta_data)?),
        File::Kairos => Some(form::kairos(user_data, meta_data)?),
    })
}

fn holds_user_data(file: File) -> bool {
    match file {
        File::UserData | File::Ignition | File::Talos | File::Autoinstall | File::Kairos => true,
        File::MetaData | File::VendorData | File::AutoinstallVendorData | File::NetworkConfig => false,
    }
}

pub(super) fn text(content: Bytes) -> Response {
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, TEXT);
    // What is given out now may be closed in a minute.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(super) fn with_status(status: StatusCode, content: &'static str) -> Response {
    let mut response = text(Bytes::from_static(content.as_bytes()));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
