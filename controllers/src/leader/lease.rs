//! The Lease object as a register with compare-and-swap.

use std::{future::Future, sync::Mutex, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};

use super::{
    LEASE_NAME,
    decision::{Read, Record, Times},
};

/// Why the register did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// Somebody else was faster: read again.
    #[error("the Lease was changed by somebody else")]
    Conflict,
    /// The API server did not take it.
    #[error("the Lease can't be read or written")]
    Api(#[source] Box<kube::Error>),
    /// No answer.
    #[error("the API server did not answer within {0:?}")]
    NotAnswered(Duration),
}

/// What is written about a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding<'a> {
    /// Who; nobody to release.
    pub holder: Option<&'a str>,
    /// How often the Lease has changed hands.
    pub transitions: i32,
    /// Whether it changes hands now.
    pub acquired: bool,
}

/// One record that changes only from a version that its writer has read.
pub trait Register: Send + Sync {
    /// What it says, if it exists.
    fn read(&self) -> impl Future<Output = Result<Option<Read>, RegisterError>> + Send;
    /// Makes it, held by `holding`; a conflict if it exists.
    fn create(&self, holding: Holding<'_>) -> impl Future<Output = Result<Read, RegisterError>> + Send;
    /// Replaces `version`; a conflict if that is not the newest.
    fn replace(
        &self,
        version: &str,
        holding: Holding<'_>,
    ) -> impl Future<Output = Result<Read, RegisterError>> + Send;
}

/// The Lease of this manager.
pub struct LeaseRegister {
    api: Api<Lease>,
    namespace: String,
    times: Times,
    /// As it was last read or written: what we do not know in it is written back as it was.
    last: Mutex<Option<Lease>>,
}

impl LeaseRegister {
    /// The Lease in `namespace`. The client must not be fenced.
    #[must_use]
    pub fn new(client: Client, namespace: &str, times: Times) -> Self {
        let api = Api::namespaced(client, namespace);
        Self { api, namespace: namespace.to_owned(), times, last: Mutex::default() }
    }

    fn remember(&self, lease: Lease) -> Read {
        let read = read_of(&lease, self.times.lease);
        if let Ok(mut last) = self.last.lock() {
            *last = Some(lease);
        }
        read
    }

    /// The next form of the Lease: times are the wall clock's, for people to read.
    fn next(&self, version: Option<&str>, holding: Holding<'_>) -> Lease {
        let last = self.last.lock().ok().and_then(|last| last.clone());
        let mut lease = match (version, last) {
            (Some(_), Some(last)) => last,
            (Some(_), None) | (None, _) => Lease {
                metadata: ObjectMeta {
                    name: Some(LEASE_NAME.to_owned()),
                    namespace: Some(self.namespace.clone()),
                    ..ObjectMeta::default()
                },
                spec: None,
            },
        };
        lease.metadata.resource_version = version.map(ToOwned::to_owned);
        lease.metadata.managed_fields = None;
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        let now = MicroTime(Timestamp::now());
        spec.holder_identity = Some(holding.holder.unwrap_or_default().to_owned());
        spec.lease_duration_seconds = Some(match holding.holder {
            Some(_) => i32::try_from(self.times.lease.as_secs()).unwrap_or(i32::MAX),
            None => 1,
        });
        spec.lease_transitions = Some(holding.transitions);
        if holding.acquired || spec.acquire_time.is_none() {
            spec.acquire_time = Some(now.clone());
        }
        spec.renew_time = Some(now);
        lease
    }
}

impl Register for LeaseRegister {
    async fn read(&self) -> Result<Option<Read>, RegisterError> {
        let lease = self.api.get_opt(LEASE_NAME).await.map_err(failed)?;
        Ok(lease.map(|lease| self.remember(lease)))
    }

    async fn create(&self, holding: Holding<'_>) -> Result<Read, RegisterError> {
        let lease = self.next(None, holding);
        let made = self.api.create(&PostParams::default(), &lease).await.map_err(failed)?;
        Ok(self.remember(made))
    }

    async fn replace(&self, version: &str, holding: Holding<'_>) -> Result<Read, RegisterError> {
        let lease = self.next(Some(version), holding);
        let written = self.api.replace(LEASE_NAME, &PostParams::default(), &lease).await.map_err(failed)?;
        Ok(self.remember(written))
    }
}

fn failed(error: kube::Error) -> RegisterError {
    let lost = matches!(&error, kube::Error::Api(status)
        if status.is_conflict()
            || status.is_already_exists()
            // Replaced after somebody deleted it; not the namespace that is missing.
            || (status.is_not_found() && status.details.as_ref().is_some_and(|details| details.kind == "leases")));
    if lost { RegisterError::Conflict } else { RegisterError::Api(Box::new(error)) }
}

fn read_of(lease: &Lease, default: Duration) -> Read {
    let spec = lease.spec.clone().unwrap_or_default();
    let record = Record {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        lease: spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|seconds| *seconds > 0)
            .map_or(default, Duration::from_secs),
        transitions: spec.lease_transitions.unwrap_or_default(),
        stamp: format!("{:?} {:?}", spec.acquire_time, spec.renew_time),
    };
    Read { record, version: lease.metadata.resource_version.clone().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(spec: serde_json::Value) -> Lease {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": LEASE_NAME, "resourceVersion": "7", "labels": {"kept": "yes"}},
            "spec": spec,
        }))
        .unwrap()
    }

    #[test]
    fn a_lease_is_read_as_its_holder_meant_it() {
        let own = Duration::from_secs(15);
        for (spec, holder, promised, transitions) in [
            (serde_json::json!({}), None, 15, 0),
            (serde_json::json!({"holderIdentity": ""}), None, 15, 0),
            (serde_json::json!({"holderIdentity": "a", "leaseDurationSeconds": 60}), Some("a"), 60, 0),
            (serde_json::json!({"holderIdentity": "a", "leaseDurationSeconds": 0}), Some("a"), 15, 0),
            (serde_json::json!({"holderIdentity": "a", "leaseTransitions": 4}), Some("a"), 15, 4),
        ] {
            let read = read_of(&lease(spec.clone()), own);
            assert_eq!(read.record.holder.as_deref(), holder, "{spec}");
            assert_eq!(read.record.lease, Duration::from_secs(promised), "{spec}");
            assert_eq!(read.record.transitions, transitions, "{spec}");
            assert_eq!(read.version, "7");
        }
    }

    #[test]
    fn a_renewal_changes_the_stamp() {
        let at = |time: &str| {
            read_of(&lease(serde_json::json!({"holderIdentity": "a", "renewTime": time})), Duration::ZERO)
                .record
        };
        assert_ne!(at("2026-01-01T00:00:00.000001Z"), at("2026-01-01T00:00:00.000002Z"));
        assert_eq!(at("2026-01-01T00:00:00.000001Z"), at("2026-01-01T00:00:00.000001Z"));
    }

    /// Stands in for the API server: answers every request with the Lease that was sent, or the one that is there.
    fn mock_api_server() -> (Client, std::sync::Arc<Mutex<Vec<serde_json::Value>>>) {
        let sent = std::sync::Arc::new(Mutex::new(Vec::new()));
        let log = sent.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let log = log.clone();
            async move {
                let reads = request.method() == http::Method::GET;
                let body = request.into_body().collect_bytes().await.unwrap();
                let there = lease(serde_json::json!({
                    "holderIdentity": "a", "leaseTransitions": 4, "strategy": "OldestEmulationVersion",
                    "acquireTime": "2026-01-01T00:00:00.000001Z", "renewTime": "2026-01-01T00:00:00.000001Z",
                }));
                let answer = if reads {
                    serde_json::to_value(there).unwrap()
                } else {
                    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
                    log.lock().unwrap().push(body.clone());
                    body
                };
                let body = kube::client::Body::from(serde_json::to_vec(&answer).unwrap());
                Ok::<_, std::convert::Infallible>(http::Response::new(body))
            }
        });
        (Client::new(service, "default"), sent)
    }

    #[tokio::test]
    async fn a_write_names_the_version_it_was_made_for_and_keeps_the_rest() {
        let (client, sent) = mock_api_server();
        let second = Duration::from_secs(1);
        let times = Times { lease: 15 * second, renew_deadline: 10 * second, retry: 2 * second };
        let register = LeaseRegister::new(client, "ns", times);
        let read = register.read().await.unwrap().unwrap();
        let renewal = Holding { holder: Some("a"), transitions: 4, acquired: false };
        register.replace(&read.version, renewal).await.unwrap();
        register
            .replace(&read.version, Holding { holder: Some("b"), transitions: 5, acquired: true })
            .await
            .unwrap();
        register
            .replace(&read.version, Holding { holder: None, transitions: 5, acquired: false })
            .await
            .unwrap();
        register.create(renewal).await.unwrap();
        let sent = sent.lock().unwrap();
        let [renewed, taken, released, created] = sent.as_slice() else { panic!("{sent:?}") };
        for write in [renewed, taken, released] {
            assert_eq!(write["metadata"]["resourceVersion"], "7", "a rival would not be noticed");
            assert_eq!(write["metadata"]["labels"]["kept"], "yes");
            assert_eq!(write["spec"]["strategy"], "OldestEmulationVersion");
            assert_ne!(write["spec"]["renewTime"], "2026-01-01T00:00:00.000001Z");
        }
        assert_eq!(renewed["spec"]["acquireTime"], "2026-01-01T00:00:00.000001Z");
        assert_eq!(renewed["spec"]["leaseDurationSeconds"], 15);
        assert_ne!(taken["spec"]["acquireTime"], "2026-01-01T00:00:00.000001Z");
        assert_eq!(
            (&taken["spec"]["holderIdentity"], &taken["spec"]["leaseTransitions"]),
            (&"b".into(), &5.into())
        );
        assert_eq!(released["spec"]["holderIdentity"], "");
        assert_eq!(released["spec"]["leaseDurationSeconds"], 1);
        assert_eq!(created["metadata"].get("resourceVersion"), None);
        assert_eq!(created["metadata"]["name"], LEASE_NAME);
    }
}
