//! How an image gets into a slot, by action or by change.

use serde_json::{Map, Value, json};

use super::{Image, ImageTrust, Slot};
use crate::bmc::Bmc;
use crate::error::Error;
use crate::patience::{Deadline, pauses};
use crate::transport::Answer;

/// How often an insertion that fails inside of the BMC is tried.
const TRIES: usize = 4;

impl Bmc {
    /// Puts an image into a slot, after what was in it, and waits until it is seen there.
    pub(super) async fn insert_into(
        &self,
        slot: &Slot,
        image: Image<'_>,
        deadline: Deadline,
    ) -> Result<Slot, Error> {
        if slot.is_inserted() {
            self.eject(slot, deadline).await?;
        }
        let slot = &self.with_trust(slot, image, deadline).await?;
        let answer = self.accept_image(slot, image, deadline).await?;
        self.finished(&format!("insertion into {}", slot.path()), &answer, deadline).await?;
        self.seen_in_slot(slot, Some(image.url), deadline).await
    }

    /// Asks a few times: iDRACs fail with a 5xx when something was ejected a moment ago (ironic retries there, too).
    async fn accept_image(&self, slot: &Slot, image: Image<'_>, deadline: Deadline) -> Result<Answer, Error> {
        let mut pauses = pauses().take(TRIES - 1);
        loop {
            let answer = match slot.insert_action() {
                Some(target) => self.insert_by_action(target, image, deadline).await,
                None => self.insert_by_change(slot, image, deadline).await,
            };
            let failed = match answer {
                Err(error @ Error::Said { status: 500 | 502 | 504, .. }) => error,
                answer => return answer,
            };
            match pauses.next().filter(|pause| *pause < deadline.left()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(failed),
            }
        }
    }

    /// Lenovo's XCC has slots without actions, and does not attach an image that is not said to be inserted (sushy).
    async fn insert_by_change(
        &self,
        slot: &Slot,
        image: Image<'_>,
        deadline: Deadline,
    ) -> Result<Answer, Error> {
        if slot.has_own_action() {
            return Err(self.not_supported(
                "images over http: its drives take NFS and CIFS only, so boot this machine from the network",
            ));
        }
        let body = json!({ "Image": image.url, "Inserted": true, "WriteProtected": true });
        self.patiently(deadline, || self.patch(slot.path(), slot.etag(), &body)).await
    }

    /// Calls InsertMedia with the image alone, and adds what the BMC says is missing: some refuse a property that others
    /// demand (Supermicro X11 and X12 refuse Inserted and WriteProtected).
    async fn insert_by_action(
        &self,
        target: &str,
        image: Image<'_>,
        deadline: Deadline,
    ) -> Result<Answer, Error> {
        let mut body = Map::from_iter([("Image".to_owned(), json!(image.url))]);
        loop {
            let whole = Value::Object(body.clone());
            let refused = match self.patiently(deadline, || self.post(target, &whole)).await {
                Err(Error::Said { address, status: 400, what, messages }) => (address, what, messages),
                answer => return answer,
            };
            let (address, what, messages) = refused;
            let missing = demanded(image.url)
                .into_iter()
                .find(|(name, _)| !body.contains_key(*name) && messages.mention(name));
            match missing {
                Some((name, value)) => body.insert(name.to_owned(), value),
                None => return Err(Error::Said { address, status: 400, what, messages }),
            };
        }
    }

    /// Turns off the check of the image's server where that is asked for and the BMC offers it. Where it does not, the
    /// insertion itself tells.
    async fn with_trust(&self, slot: &Slot, image: Image<'_>, deadline: Deadline) -> Result<Slot, Error> {
        match (image.trust, slot.checks_certificate()) {
            (ImageTrust::Unchecked, Some(true)) if image.is_encrypted() => {
                let body = json!({ "VerifyCertificate": false });
                let now = Slot::new(self.get(slot.path()).await?);
                self.patiently(deadline, || self.patch(now.path(), now.etag(), &body)).await?;
                Ok(Slot::new(self.get(slot.path()).await?))
            }
            (ImageTrust::Unchecked | ImageTrust::AsTheBmcIsSet, _) => Ok(slot.clone()),
        }
    }
}

/// What some BMCs want beside the image, in the order in which it is worth trying (sushy): Nokia the protocol, others
/// the method, NVIDIA's DGX a user name and a password even where there are none.
fn demanded(url: &str) -> [(&'static str, Value); 6] {
    let protocol = if url.starts_with("https:") { "HTTPS" } else { "HTTP" };
    [
        ("TransferProtocolType", json!(protocol)),
        ("TransferMethod", json!("Stream")),
        ("UserName", json!("none")),
        ("Password", json!("none")),
        ("WriteProtected", json!(true)),
        ("Inserted", json!(true)),
    ]
}
