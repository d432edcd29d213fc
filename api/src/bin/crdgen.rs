//! Writes the CRDs: `crdgen [directory]`, by default into this workspace's `config/crd/bases`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let bases = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/crd/bases");
    let directory = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(bases), PathBuf::from);
    for crd in beskar7_api::crd::all() {
        let path = directory.join(beskar7_api::crd::file_name(&crd));
        let yaml = match beskar7_api::crd::to_yaml(&crd) {
            Ok(yaml) => yaml,
            Err(error) => return fail(&format!("{}: {error}", path.display())),
        };
        if let Err(error) = std::fs::write(&path, yaml) {
            return fail(&format!("can't write {}: {error}", path.display()));
        }
    }
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "this program talks to a person")]
fn fail(message: &str) -> ExitCode {
    eprintln!("crdgen: {message}");
    ExitCode::FAILURE
}
