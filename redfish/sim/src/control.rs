//! The control API: what tests and people do to a fleet from outside, as JSON over HTTP on loopback.

use std::net::Ipv4Addr;
use std::sync::{Arc, Weak};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bmc::Bmc;
use crate::clock::Moment;
use crate::faults::{Armed, Widespread};
use crate::fleet::{Fleet, FleetError};
use crate::host::Host;
use crate::machine::power::ResetType;
use crate::profiles;

type Shared = Weak<Fleet>;

/// What went wrong, as an answer.
struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

/// Serves until the fleet stops.
pub(crate) async fn serve(listener: TcpListener, fleet: Shared, stop: CancellationToken) {
    let router = Router::new()
        .route("/bmcs", get(list).post(create))
        .route("/faults", post(arm_many).delete(clear_all_faults))
        .route("/bmcs/{address}", get(show))
        .route("/bmcs/{address}/log", get(log).delete(clear_log))
        .route("/bmcs/{address}/faults", get(faults).post(arm).delete(clear_faults))
        .route("/bmcs/{address}/power", post(power))
        .route("/bmcs/{address}/disk", post(disk))
        .route("/bmcs/{address}/reset", post(reset))
        .with_state(fleet);
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await {
        tracing::error!(%error, "the control API ended");
    }
}

fn fleet(shared: &Shared) -> Result<Arc<Fleet>, Refusal> {
    shared.upgrade().ok_or_else(|| Refusal(StatusCode::GONE, "the fleet has stopped".to_owned()))
}

fn host(shared: &Shared, address: Ipv4Addr) -> Result<Arc<Host>, Refusal> {
    let missing = || Refusal(StatusCode::NOT_FOUND, format!("there is no BMC at {address}"));
    fleet(shared)?.host(address).ok_or_else(missing)
}

async fn list(State(shared): State<Shared>) -> Result<Json<Value>, Refusal> {
    let fleet = fleet(&shared)?;
    let all: Vec<Value> = fleet
        .hosts()
        .into_iter()
        .map(|(address, host)| {
            host.with(|bmc, _| {
                json!({
                    "address": address,
                    "url": fleet.url(address),
                    "profile": bmc.profile.name,
                    "power": bmc.machine.power().name(),
                })
            })
        })
        .collect();
    Ok(Json(json!(all)))
}

/// A BMC to be made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    address: Ipv4Addr,
    #[serde(default)]
    profile: Option<String>,
}

async fn create(State(shared): State<Shared>, Json(wanted): Json<Create>) -> Result<Response, Refusal> {
    let fleet = fleet(&shared)?;
    let profile = match &wanted.profile {
        None => profiles::plain(),
        Some(name) => profiles::by_name(name)
            .ok_or_else(|| Refusal(StatusCode::BAD_REQUEST, format!("there is no profile {name}")))?,
    };
    match fleet.add(wanted.address, profile).await {
        Ok(host) => Ok((StatusCode::CREATED, Json(host.with(state))).into_response()),
        Err(error @ FleetError::Taken(_)) => Err(Refusal(StatusCode::CONFLICT, error.to_string())),
        Err(error) => Err(Refusal(StatusCode::BAD_REQUEST, error.to_string())),
    }
}

async fn show(State(shared): State<Shared>, Path(address): Path<Ipv4Addr>) -> Result<Json<Value>, Refusal> {
    Ok(Json(host(&shared, address)?.with(state)))
}

/// Everything about a machine that a test may want to know.
fn state(bmc: &mut Bmc, now: Moment) -> Value {
    let (open, opened) = bmc.sessions();
    json!({
        "address": bmc.identity.address,
        "profile": bmc.profile.name,
        "uuid": bmc.identity.uuid,
        "serial": bmc.identity.serial,
        "macs": bmc.identity.macs(),
        "power": bmc.machine.power().name(),
        "bootProgress": bmc.machine.progress(now).name(),
        "running": bmc.machine.running(),
        "override": bmc.machine.boot(),
        "media": bmc.machine.slots(),
        "disk": bmc.machine.disk(),
        "sessions": { "open": open, "opened": opened },
        "requests": bmc.requests(),
        "unchanged": bmc.unchanged(),
        "faults": bmc.faults.armed(),
    })
}

async fn log(State(shared): State<Shared>, Path(address): Path<Ipv4Addr>) -> Result<Json<Value>, Refusal> {
    let entries = host(&shared, address)?.with(|bmc, _| {
        let entries: Vec<Value> = bmc.machine.log().entries().map(|entry| json!(entry)).collect();
        entries
    });
    Ok(Json(json!(entries)))
}

async fn clear_log(
    State(shared): State<Shared>,
    Path(address): Path<Ipv4Addr>,
) -> Result<StatusCode, Refusal> {
    host(&shared, address)?.with(|bmc, _| bmc.machine.clear_log());
    Ok(StatusCode::NO_CONTENT)
}

async fn faults(State(shared): State<Shared>, Path(address): Path<Ipv4Addr>) -> Result<Json<Value>, Refusal> {
    Ok(Json(host(&shared, address)?.with(|bmc, _| json!(bmc.faults.armed()))))
}

async fn arm(
    State(shared): State<Shared>,
    Path(address): Path<Ipv4Addr>,
    Json(armed): Json<Armed>,
) -> Result<StatusCode, Refusal> {
    host(&shared, address)?.with(|bmc, _| bmc.faults.arm(armed));
    Ok(StatusCode::NO_CONTENT)
}

async fn clear_faults(
    State(shared): State<Shared>,
    Path(address): Path<Ipv4Addr>,
) -> Result<StatusCode, Refusal> {
    host(&shared, address)?.with(|bmc, _| bmc.faults.clear());
    Ok(StatusCode::NO_CONTENT)
}

async fn arm_many(
    State(shared): State<Shared>,
    Json(fault): Json<Widespread>,
) -> Result<Json<Value>, Refusal> {
    Ok(Json(json!({ "armed": fleet(&shared)?.arm(&fault) })))
}

async fn clear_all_faults(State(shared): State<Shared>) -> Result<StatusCode, Refusal> {
    fleet(&shared)?.clear_faults();
    Ok(StatusCode::NO_CONTENT)
}

/// A change of power by hand.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Power {
    reset_type: String,
}

async fn power(
    State(shared): State<Shared>,
    Path(address): Path<Ipv4Addr>,
    Json(wanted): Json<Power>,
) -> Result<Json<Value>, Refusal> {
    let host = host(&shared, address)?;
    let unknown =
        || Refusal(StatusCode::BAD_REQUEST, format!("there is no reset type {}", wanted.reset_type));
    let kind = ResetType::parse(&wanted.reset_type).ok_or_else(unknown)?;
    let outcome = host.with(|bmc, now| bmc.machine.reset(now, "control", kind));
    Ok(Json(json!({ "outcome": outcome })))
}

/// What is on the disk.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Disk {
    installed: Option<String>,
}

async fn disk(
    State(shared): State<Shared>,
    Path(address): Path<Ipv4Addr>,
    Json(wanted): Json<Disk>,
) -> Result<StatusCode, Refusal> {
    host(&shared, address)?.with(|bmc, _| bmc.machine.install(wanted.installed));
    Ok(StatusCode::NO_CONTENT)
}

async fn reset(State(shared): State<Shared>, Path(address): Path<Ipv4Addr>) -> Result<StatusCode, Refusal> {
    host(&shared, address)?.reset_to_new();
    Ok(StatusCode::NO_CONTENT)
}
