//! Has a real API server judge a case of `api/tests/rules`.

#[path = "../../../api/tests/rules/case.rs"]
mod case;

use anyhow::{Context, Result, bail, ensure};
pub use case::{Case, cases};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// The resource of an object, by the naming that all our kinds follow.
pub fn resource_of(object: &DynamicObject) -> Result<ApiResource> {
    let types: &TypeMeta = object.types.as_ref().context("an object without kind")?;
    let kind = GroupVersionKind::try_from(types)?;
    let plural = beskar7_api::crd::all()
        .into_iter()
        .find(|crd| crd.spec.names.kind == kind.kind)
        .map(|crd| crd.spec.names.plural)
        .with_context(|| format!("{} is none of our kinds", kind.kind))?;
    Ok(ApiResource::from_gvk_with_plural(&kind, &plural))
}

/// One case before the API server.
pub struct Judge<'a> {
    api: Api<DynamicObject>,
    name: String,
    case: &'a Case,
}

impl<'a> Judge<'a> {
    pub fn new(client: Client, number: usize, case: &'a Case) -> Result<Self> {
        let resource = resource_of(&serde_json::from_value(case.object.clone())?)?;
        Ok(Self {
            api: Api::namespaced_with(client, "default", &resource),
            name: format!("case-{number}"),
            case,
        })
    }

    pub async fn judge(&self) -> Result<()> {
        let written = match &self.case.before {
            Some(before) => self.change(before).await?,
            None => self.api.create(&PostParams::default(), &self.object(&self.case.object)?).await,
        };
        match (written, self.case.refused_by) {
            (Ok(stored), None) => self.check_defaults(&serde_json::to_value(stored)?),
            (Ok(_), Some(_)) => bail!("was accepted"),
            (Err(error), None) => bail!("was refused: {error}"),
            (Err(error), Some(_)) => {
                let message = self.case.message.as_deref().context("a refused case has a message")?;
                ensure!(error.to_string().contains(message), "was refused with other words: {error}");
                Ok(())
            }
        }
    }

    /// Stores `before`, gives it its status, then writes the case's object over it.
    async fn change(&self, before: &Value) -> Result<kube::Result<DynamicObject>> {
        let created = self.api.create(&PostParams::default(), &self.object(before)?).await;
        let mut stored = created.context("the object before the change was refused")?;
        if let Some(status) = &self.case.status {
            let patch = Patch::Merge(json!({ "status": status }));
            stored = self.api.patch_status(&self.name, &PatchParams::default(), &patch).await?;
        }
        let mut object = self.object(&self.case.object)?;
        object.metadata.resource_version = stored.resource_version();
        Ok(self.api.replace(&self.name, &PostParams::default(), &object).await)
    }

    fn object(&self, value: &Value) -> Result<DynamicObject> {
        let mut object: DynamicObject = serde_json::from_value(value.clone())?;
        object.metadata.name = Some(self.name.clone());
        Ok(object)
    }

    fn check_defaults(&self, stored: &Value) -> Result<()> {
        match &self.case.expect {
            Some(expected) => contains(stored, expected, ""),
            None => Ok(()),
        }
    }
}

/// Whether everything in `expected` is in `stored`.
fn contains(stored: &Value, expected: &Value, path: &str) -> Result<()> {
    match expected {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            let found = stored.get(name).with_context(|| format!("{path}.{name} is not set"))?;
            contains(found, value, &format!("{path}.{name}"))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            ensure!(stored == expected, "{path} is {stored}, not {expected}");
            Ok(())
        }
    }
}
