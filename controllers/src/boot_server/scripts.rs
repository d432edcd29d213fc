//! What a machine's loader is told to start: made of its HostBootConfiguration, for its claim.

use beskar7_api::HostBootConfiguration;
use beskar7_boot::{
    delivery::ArtifactName,
    ipxe::{self, ScriptError, Start},
};
use beskar7_core::{
    kernel_line::{self, ArgumentError},
    network_boot::ROOT,
};

use super::{Links, fetched::served};

/// Why there is no script. No text here holds a URL with a capability.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoScript {
    /// Nothing is served that could be started.
    #[error("there is neither a kernel nor an EFI program")]
    NothingToStart,
    /// A kernel parameter can't be one.
    #[error("a kernel parameter can't be used")]
    Argument(#[source] ArgumentError),
    /// The kernel would cut the rest off.
    #[error(
        "the kernel's command line would have {length} bytes, and kernels read {} of them",
        kernel_line::LONGEST
    )]
    TooLong {
        /// How long it would be.
        length: usize,
    },
    /// Something can't stand in a script.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Starts what a configuration serves.
pub(super) fn script(
    configuration: &HostBootConfiguration,
    links: &Links,
    claim: &str,
) -> Result<String, NoScript> {
    let kernel = starts(configuration).ok_or(NoScript::NothingToStart)?;
    let kernel = links.artifact(claim, kernel);
    let initramfs: Vec<String> =
        initramfs(configuration).map(|artifact| links.artifact(claim, artifact)).collect();
    let arguments = arguments(configuration, links, claim)?;
    // With what iPXE puts before it, and the names of the ramdisks.
    let added = initramfs.len().saturating_mul("initrd=initramfs-00 ".len()).saturating_add("kernel ".len());
    let length = arguments.iter().map(|argument| argument.len() + 1).sum::<usize>().saturating_add(added);
    if length > kernel_line::LONGEST {
        return Err(NoScript::TooLong { length });
    }
    Ok(ipxe::start(&Start { kernel: &kernel, initramfs: &initramfs, arguments: &arguments })?)
}

/// The last thing that a loader fetches before it starts what it has.
pub(super) fn last(configuration: &HostBootConfiguration) -> Option<ArtifactName> {
    initramfs(configuration).last().or_else(|| starts(configuration))
}

fn starts(configuration: &HostBootConfiguration) -> Option<ArtifactName> {
    let status = configuration.status.as_ref()?;
    [ArtifactName::Kernel, ArtifactName::Program].into_iter().find(|name| served(status, *name).is_some())
}

/// None beside a program, which holds its own.
fn initramfs(configuration: &HostBootConfiguration) -> impl Iterator<Item = ArtifactName> {
    let status =
        configuration.status.as_ref().filter(|_| starts(configuration) == Some(ArtifactName::Kernel));
    let all = (0..).map(ArtifactName::Initramfs);
    all.take_while(move |name| status.is_some_and(|status| served(status, *name).is_some()))
}

/// Those that the image wants, then those of the claim, which count where both say something.
fn arguments(
    configuration: &HostBootConfiguration,
    links: &Links,
    claim: &str,
) -> Result<Vec<String>, NoScript> {
    let status = configuration.status.as_ref();
    let of_image = status.and_then(|status| status.image_command_line.as_deref()).unwrap_or_default();
    let of_image = of_image.split_whitespace().map(str::to_owned);
    let quoted = configuration.spec.kernel_args.iter().map(|argument| kernel_line::quote(argument));
    let quoted = quoted.collect::<Result<Vec<String>, _>>().map_err(NoScript::Argument)?;
    let root = links.artifact(claim, ArtifactName::Root);
    let all: Vec<String> = of_image.chain(quoted).map(|argument| argument.replace(ROOT, &root)).collect();
    Ok(links.fill_in(&all, claim))
}

#[cfg(test)]
mod tests {
    use beskar7_boot::capability::{Key, Purpose};
    use serde_json::{Value, json};

    use super::*;

    fn made(names: &[&str], spec: Value, status: Value) -> (Result<String, NoScript>, Option<ArtifactName>) {
        let links = Links::new("http://b", Key::new(&[3; 32]).unwrap());
        let artifacts: Vec<Value> = names.iter().map(|name| json!({"name": name, "pin": "p"})).collect();
        let mut whole_spec = json!({"hostRef": {"name": "h"}, "image": "foo:latest"});
        whole_spec.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let mut whole_status = json!({"state": "Ready", "artifacts": artifacts});
        whole_status.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        let configuration: HostBootConfiguration = serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostBootConfiguration",
            "metadata": {"name": "h"}, "spec": whole_spec, "status": whole_status,
        }))
        .unwrap();
        let hide = |script: String| {
            let media = links.capability(Purpose::Media, "c").in_url();
            let own = links.capability(Purpose::Configuration, "c").in_url();
            script.replace(&media, "MEDIA").replace(&own, "CONFIG")
        };
        (script(&configuration, &links, "c").map(hide), last(&configuration))
    }

    #[test]
    fn a_script_starts_what_is_served_with_the_parameters_of_image_and_claim() {
        let spec =
            json!({"kernelArgs": ["root=live:{{rootURL}}", "ds=nocloud;s={{configURL}}/", "console=tty1"]});
        let status = json!({"imageCommandLine": "quiet console=ttyS0"});
        let (script, last) = made(&["kernel", "initramfs", "initramfs-1", "root"], spec, status);
        let script = script.unwrap();
        let kernel = "kernel --name kernel http://b/c/MEDIA/kernel initrd=initramfs-0 initrd=initramfs-1 quiet console=ttyS0 root=live:http://b/c/MEDIA/root ds=nocloud;s=http://b/c/CONFIG/ console=tty1 ||";
        assert!(script.contains(kernel), "{script}");
        assert!(script.contains("initrd --name initramfs-1 http://b/c/MEDIA/initramfs-1 ||"), "{script}");
        assert_eq!(last, Some(ArtifactName::Initramfs(1)));
    }

    #[test]
    fn a_program_is_started_by_itself() {
        let (script, last) = made(&["program", "initramfs"], json!({}), json!({}));
        let script = script.unwrap();
        assert!(script.contains("http://b/c/MEDIA/program.efi") && !script.contains("initrd"), "{script}");
        assert_eq!(last, Some(ArtifactName::Program));
        assert_eq!(made(&["kernel"], json!({}), json!({})).1, Some(ArtifactName::Kernel));
    }

    #[test]
    fn what_can_not_be_started_has_no_script() {
        for (names, spec) in [
            (vec!["root"], json!({})),
            (vec![], json!({})),
            (vec!["kernel"], json!({"kernelArgs": ["a\nboot"]})),
            (vec!["kernel"], json!({"kernelArgs": ["mac=${net0/mac}"]})),
            (vec!["kernel"], json!({"kernelArgs": vec![format!("a={}", "b".repeat(700)); 3]})),
        ] {
            let error = made(&names, spec, json!({})).0.unwrap_err();
            assert!(!error.to_string().contains("/c/"), "{error}");
        }
    }
}
