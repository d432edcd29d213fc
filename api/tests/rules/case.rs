//! One case of `api/tests/rules/*.yaml`; see the README there. Shared with `e2e/tests/api.rs`.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// What is written, and what becomes of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub refused_by: Option<RefusedBy>,
    pub message: Option<String>,
    pub object: Value,
    pub before: Option<Value>,
    pub status: Option<Value>,
    #[allow(dead_code, reason = "only the API server stores anything")]
    pub expect: Option<Value>,
}

/// Who refuses it.
#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "camelCase")]
pub enum RefusedBy {
    Rule,
    Schema,
    Policy,
}

/// Every case, in the order of the files' names.
pub fn cases() -> std::io::Result<Vec<Case>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/tests/rules");
    let mut paths =
        std::fs::read_dir(directory)?.map(|e| Ok(e?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path)?;
        let of_file: Vec<Case> = serde_saphyr::from_str(&text)
            .map_err(|e| std::io::Error::other(format!("{}: {e}", path.display())))?;
        cases.extend(of_file);
    }
    Ok(cases)
}
