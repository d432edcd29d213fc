//! The demo's tenant: a team claims a machine of the platform team's, without ever seeing a BMC.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_api::HostClaim;
use kube::Api;
use tokio::sync::Mutex;

use super::screen::Screen;
use super::stack::Stack;
use crate::wait;
use crate::workspace;

/// Where the team is.
pub(super) const NAMESPACE: &str = "team-a";
const CLAIM: &str = "build-farm";
/// The image in the example, which the demo has no such server for.
const IMAGE: &str = "http://images.example.org/appliance.iso";
const LIMIT: Duration = Duration::from_secs(300);

/// An example, by its path in the repository.
fn example(name: &str) -> PathBuf {
    workspace::root().join("config/samples/tenancy").join(name)
}

async fn apply(stack: &Stack, screen: &Screen, name: &str, who: &str) -> Result<()> {
    screen.step(&format!("{who}: kubectl apply -f config/samples/tenancy/{name}"));
    let path = example(name);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    stack.apply(&text.replace(IMAGE, &stack.image())).await
}

/// Tells it to its end.
pub(super) async fn tell(stack: &Stack, screen: &Screen) -> Result<()> {
    apply(stack, screen, "platform.yaml", "the platform team").await?;
    apply(stack, screen, "tenant.yaml", "team-a").await?;
    let claims: Api<HostClaim> = Api::namespaced(stack.client().await?, NAMESPACE);
    let last = Mutex::new(String::new());
    let ready = wait::until_true(format!("{CLAIM} to be ready"), LIMIT, || async {
        stack.check()?;
        let told = standing(&claims.get(CLAIM).await?);
        let mut last = last.lock().await;
        if *last != told.1 {
            screen.step(&format!("  claim {CLAIM}: {}", told.1));
            last.clone_from(&told.1);
        }
        Ok(if told.0 { Ok(()) } else { Err(told.1) })
    });
    ready.await?;
    screen.step("team-a has its machine");
    screen.blank();
    screen.text(&stack.kubectl_in(NAMESPACE, &["get", "hostclaims"]).await?);
    screen.text(&stack.kubectl(&["get", "hostdeploypolicies"]).await?);
    Ok(())
}

/// Whether a claim is ready, and where it stands.
fn standing(claim: &HostClaim) -> (bool, String) {
    let status = claim.status.clone().unwrap_or_default();
    let said = |type_: &str| status.conditions.iter().find(|condition| condition.type_ == type_);
    let ready = said("Ready").is_some_and(|ready| ready.status == "True");
    let told = ["Association", "Synchronization", "Provisioned"].map(|type_| {
        let reason = said(type_).map_or("", |condition| condition.reason.as_str());
        format!("{type_} {reason}")
    });
    (ready, told.join(", "))
}
