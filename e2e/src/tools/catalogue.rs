//! Which components there are, which module and package each is built from,
//! and what its version is called. Pure, but for the look whether a built one
//! is there.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::cache;

/// One program that is built from a Go module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Tool {
    /// The store.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// Garbage collection, namespaces, aggregated roles.
    KubeControllerManager,
    /// The command line of Kubernetes.
    Kubectl,
    /// The command line of Cluster API.
    Clusterctl,
    /// The core manager of Cluster API.
    ClusterApi,
    /// The kubeadm bootstrap manager of Cluster API.
    BootstrapKubeadm,
    /// The kubeadm control-plane manager of Cluster API.
    ControlPlaneKubeadm,
    /// An OCI registry that keeps everything in memory.
    Registry,
}

impl Tool {
    /// All of them, the quick ones first.
    pub const ALL: &[Self] = &[
        Self::Registry,
        Self::Etcd,
        Self::Kubectl,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::Clusterctl,
        Self::ClusterApi,
        Self::BootstrapKubeadm,
        Self::ControlPlaneKubeadm,
    ];

    /// What a bare control plane needs.
    pub const CONTROL_PLANE: &[Self] =
        &[Self::Etcd, Self::Kubectl, Self::KubeApiserver, Self::KubeControllerManager];

    /// The name of its file.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::Clusterctl => "clusterctl",
            Self::ClusterApi => "cluster-api",
            Self::BootstrapKubeadm => "bootstrap-kubeadm",
            Self::ControlPlaneKubeadm => "control-plane-kubeadm",
            Self::Registry => "registry",
        }
    }

    pub(super) fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::KubeApiserver => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::KubeControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::Clusterctl => "sigs.k8s.io/cluster-api/cmd/clusterctl",
            Self::ClusterApi => "sigs.k8s.io/cluster-api/core",
            Self::BootstrapKubeadm => "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
            Self::ControlPlaneKubeadm => "sigs.k8s.io/cluster-api/controlplane/kubeadm",
            Self::Registry => "github.com/google/go-containerregistry/cmd/registry",
        }
    }

    pub(super) fn module(self) -> &'static Module {
        match self {
            Self::Etcd => &ETCD,
            Self::KubeApiserver | Self::KubeControllerManager | Self::Kubectl => &KUBERNETES,
            Self::Clusterctl | Self::ClusterApi | Self::BootstrapKubeadm | Self::ControlPlaneKubeadm => {
                &CLUSTER_API
            }
            Self::Registry => &REGISTRY,
        }
    }

    /// The version that `e2e/tools` pins, such as `v1.36.3`.
    pub fn version(self) -> Result<&'static str> {
        self.module().version()
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file_name())
    }
}

/// The variables a release build of a component sets at link time.
struct VersionVariables {
    /// The packages that hold them.
    packages: &'static [&'static str],
    /// Those that the source presets to a placeholder, which nobody should
    /// mistake for a commit.
    blank: &'static [&'static str],
}

/// One folder of `e2e/tools`.
pub(super) struct Module {
    pub(super) folder: &'static str,
    /// The module path whose version names the whole folder.
    pub(super) path: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
    variables: VersionVariables,
}

static ETCD: Module = Module {
    folder: "etcd",
    path: "go.etcd.io/etcd/server/v3",
    go_mod: include_str!("../../tools/etcd/go.mod"),
    go_sum: include_str!("../../tools/etcd/go.sum"),
    // etcd knows its version without the linker's help.
    variables: VersionVariables { packages: &[], blank: &[] },
};

static KUBERNETES: Module = Module {
    folder: "kubernetes",
    path: "k8s.io/kubernetes",
    go_mod: include_str!("../../tools/kubernetes/go.mod"),
    go_sum: include_str!("../../tools/kubernetes/go.sum"),
    variables: VersionVariables {
        packages: &["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"],
        blank: &["gitCommit"],
    },
};

pub(super) static CLUSTER_API: Module = Module {
    folder: "cluster-api",
    path: "sigs.k8s.io/cluster-api",
    go_mod: include_str!("../../tools/cluster-api/go.mod"),
    go_sum: include_str!("../../tools/cluster-api/go.sum"),
    variables: VersionVariables { packages: &["sigs.k8s.io/cluster-api/version"], blank: &[] },
};

static REGISTRY: Module = Module {
    folder: "registry",
    path: "github.com/google/go-containerregistry",
    go_mod: include_str!("../../tools/registry/go.mod"),
    go_sum: include_str!("../../tools/registry/go.sum"),
    variables: VersionVariables { packages: &[], blank: &[] },
};

/// The variable by which envtest, and so many a developer, names a directory
/// of such programs.
pub(super) const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// Counts what else decides how a binary comes out: raise it when the build
/// command changes.
const RECIPE: &str = "1";

impl Module {
    pub(super) fn version(&self) -> Result<&'static str> {
        version_in(self.go_mod, self.path)
            .with_context(|| format!("e2e/tools/{}/go.mod requires no {}", self.folder, self.path))
    }

    /// The Go version its `go.mod` asks for.
    pub(super) fn go_version(&self) -> &'static str {
        self.go_mod.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("of e2e/tools").trim()
    }

    /// The name of its folder in the cache: a person reads the version, and a
    /// changed pin, checksum, recipe or platform reads as another folder.
    pub(super) fn key(&self) -> Result<String> {
        let platform = [std::env::consts::OS, std::env::consts::ARCH];
        let parts = [self.go_mod, self.go_sum, RECIPE, platform[0], platform[1]];
        Ok(format!("{}-{}-{:08x}", self.folder, self.version()?, fingerprint(&parts)))
    }

    /// The linker flags that make the binaries tell their version.
    pub(super) fn ldflags(&self) -> Result<String> {
        let version = self.version()?;
        let mut numbers = version.trim_start_matches('v').split('.');
        let major = numbers.next().unwrap_or_default();
        let minor = numbers.next().unwrap_or_default();
        let mut flags = "-s -w".to_owned();
        for package in self.variables.packages {
            for (name, value) in [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)] {
                flags.push_str(&format!(" -X {package}.{name}={value}"));
            }
            for name in self.variables.blank {
                flags.push_str(&format!(" -X {package}.{name}="));
            }
        }
        Ok(flags)
    }
}

/// The version that a `go.mod` requires of a module.
fn version_in<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.trim_start().trim_start_matches("require ").split_whitespace();
        (words.next() == Some(module)).then(|| words.next()).flatten().filter(|word| word.starts_with('v'))
    })
}

/// FNV-1a: a name for a cache folder must be the same in every build of this
/// crate, which the standard library's hasher does not promise.
pub(super) fn fingerprint(parts: &[&str]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain(std::iter::once(0)));
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A component that needs no building: one found in `KUBEBUILDER_ASSETS`, or
/// one built before.
pub(super) fn existing(tool: Tool) -> Result<Option<PathBuf>> {
    if let Some(assets) = std::env::var_os(ASSETS).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(assets).join(tool.file_name());
        if path.is_file() {
            return Ok(Some(path));
        }
    }
    let built = cache::module_directory(tool.module())?.join(tool.file_name());
    Ok(built.is_file().then_some(built))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_go_modules() {
        for tool in Tool::ALL {
            let version = tool.version().unwrap();
            assert!(tool.module().go_mod.contains(&format!("{} {version}", tool.module().path)), "{tool}");
        }
        assert_eq!(version_in("require x.io/y v1.2.3\n", "x.io/y"), Some("v1.2.3"));
        assert_eq!(version_in("require (\n\tx.io/y v1.2.3 // indirect\n)\n", "x.io/y"), Some("v1.2.3"));
        assert_eq!(version_in("replace x.io/y => x.io/y v9\n", "x.io/y"), None);
        assert_eq!(version_in("require x.io/yy v1.2.3\n", "x.io/y"), None);
    }

    #[test]
    fn every_package_is_a_tool_of_its_module() {
        for tool in Tool::ALL {
            assert!(tool.module().go_mod.contains(tool.package()), "{tool}");
        }
    }

    #[test]
    fn linker_flags_name_the_version_wherever_it_is_kept() {
        let version = KUBERNETES.version().unwrap();
        let flags = KUBERNETES.ldflags().unwrap();
        assert!(flags.starts_with("-s -w -X k8s.io/component-base/version.gitVersion=v1."), "{flags}");
        assert!(
            flags.contains(&format!(" -X k8s.io/client-go/pkg/version.gitVersion={version} ")),
            "{flags}"
        );
        assert!(flags.contains(" -X k8s.io/component-base/version.gitMajor=1 "), "{flags}");
        assert!(flags.contains(" -X k8s.io/component-base/version.gitCommit= "), "{flags}");
        assert!(CLUSTER_API.ldflags().unwrap().contains("cluster-api/version.gitMinor=14"));
        assert_eq!(ETCD.ldflags().unwrap(), "-s -w");
    }

    #[test]
    fn the_cache_folder_names_the_version_and_follows_every_pin() {
        assert!(
            KUBERNETES.key().unwrap().starts_with(&format!("kubernetes-{}-", KUBERNETES.version().unwrap()))
        );
        assert_ne!(fingerprint(&["a", "b"]), fingerprint(&["ab", ""]));
        assert_ne!(fingerprint(&["a", "b"]), fingerprint(&["a", "c"]));
        assert_eq!(fingerprint(&[]), 0x811c_9dc5);
    }
}
