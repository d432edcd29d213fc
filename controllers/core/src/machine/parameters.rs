//! Kernel parameters by the operating system's family: where the URL of its configuration goes.
//!
//! The rows are what each operating system says of itself; `docs/src/reference/os-families.md` shows them to people.

use std::fmt;

use beskar7_api::machine::OsFamily;

use crate::{
    delivery::{Delivery, PLACEHOLDER},
    kernel_line::{self, ArgumentError},
};

/// Which URLs Ignition reads, on every operating system that has it.
const IGNITION: &str = "https://coreos.github.io/ignition/supported-platforms/";

const REMOTE: &[&str] = &["http", "https"];
const REMOTE_OR_LOCAL: &[&str] = &["http", "https", "file"];

/// What is known of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its kernel parameters; `{{configURL}}` stands for the URL of the configuration.
    pub parameters: &'static [&'static str],
    /// What the URL names.
    pub names: Named,
    /// The URLs that it can read.
    pub schemes: &'static [&'static str],
    /// What it could do with the Machine's bootstrap data.
    pub bootstrap: BootstrapData,
    /// Where that is written.
    pub sources: &'static [&'static str],
}

/// What the URL of a configuration names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// The configuration itself.
    File,
    /// The directory that it is in.
    Directory,
}

/// What a family can do with the bootstrap data of a Machine, where there is no configURL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootstrapData {
    /// It reads cloud-config. Kairos passes over CABPK's `## template: jinja`, and fills in nothing: the template has to
    /// be rendered for it (`HasValidHeader` in <https://github.com/kairos-io/kairos-sdk/blob/main/collector/collector.go>).
    CloudConfig,
    /// It reads cloud-config as the `user-data` of an autoinstall document.
    Autoinstall,
    /// It reads Ignition: `format: ignition` of the bootstrap provider.
    Ignition,
    /// It reads what its own bootstrap provider writes, and nothing else.
    OwnProvider,
    /// It reads this, which no bootstrap provider writes: it always needs a configURL.
    NeedsConfigUrl(&'static str),
    /// As its kernelArgs say.
    AsKernelArgsSay,
}

/// What is known of a family.
#[must_use]
pub const fn row(family: OsFamily) -> Row {
    match family {
        OsFamily::Kairos => Row {
            parameters: &["config_url={{configURL}}"],
            names: Named::File,
            schemes: REMOTE,
            bootstrap: BootstrapData::CloudConfig,
            sources: &[
                "https://kairos.io/docs/installation/automated/",
                "https://github.com/kairos-io/kairos-sdk/blob/main/collector/collector.go",
            ],
        },
        OsFamily::Talos => Row {
            parameters: &["talos.platform=metal", "talos.config={{configURL}}"],
            names: Named::File,
            schemes: REMOTE_OR_LOCAL,
            bootstrap: BootstrapData::OwnProvider,
            sources: &["https://www.talos.dev/latest/reference/kernel/"],
        },
        OsFamily::Flatcar => Row {
            parameters: &["flatcar.first_boot=1", "ignition.config.url={{configURL}}"],
            names: Named::File,
            schemes: REMOTE,
            bootstrap: BootstrapData::Ignition,
            sources: &["https://www.flatcar.org/docs/latest/migrating-from-coreos/", IGNITION],
        },
        OsFamily::FedoraCoreos => Row {
            parameters: &[
                "ignition.firstboot",
                "ignition.platform.id=metal",
                "ignition.config.url={{configURL}}",
            ],
            names: Named::File,
            schemes: REMOTE,
            bootstrap: BootstrapData::Ignition,
            sources: &["https://docs.fedoraproject.org/en-US/fedora-coreos/live-reference/", IGNITION],
        },
        // The image that installs itself hands nothing on to the system that it installs, unless kiwi is told to; and the
        // boot loader that would say that this is the first boot is passed over.
        OsFamily::LeapMicro | OsFamily::Opensuse => Row {
            parameters: &[
                "rd.kiwi.install.pass.bootparam",
                "ignition.firstboot",
                "ignition.config.url={{configURL}}",
            ],
            names: Named::File,
            schemes: REMOTE,
            bootstrap: BootstrapData::Ignition,
            sources: &[
                "https://osinside.github.io/kiwi/concept_and_workflow/customize_the_boot_process.html",
                "https://documentation.suse.com/sle-micro/5.5/html/SLE-Micro-all/cha-images-description.html",
                IGNITION,
            ],
        },
        // cloud-init before 23.2 read http(s) only by the name nocloud-net, which is deprecated since 24.1.
        OsFamily::Ubuntu => Row {
            parameters: &["autoinstall", "ds=nocloud;s={{configURL}}"],
            names: Named::Directory,
            schemes: REMOTE_OR_LOCAL,
            bootstrap: BootstrapData::Autoinstall,
            sources: &[
                "https://canonical-subiquity.readthedocs-hosted.com/en/latest/howto/autoinstall-quickstart.html",
                "https://docs.cloud-init.io/en/latest/reference/datasources/nocloud.html",
            ],
        },
        OsFamily::Debian => Row {
            parameters: &["auto=true", "priority=critical", "url={{configURL}}"],
            names: Named::File,
            schemes: REMOTE,
            bootstrap: BootstrapData::NeedsConfigUrl("a preseed file"),
            sources: &["https://www.debian.org/releases/stable/amd64/apbs02.en.html"],
        },
        OsFamily::Rhel | OsFamily::Centos | OsFamily::Fedora => Row {
            parameters: &["inst.ks={{configURL}}"],
            names: Named::File,
            schemes: REMOTE,
            bootstrap: BootstrapData::NeedsConfigUrl("a kickstart file"),
            sources: &["https://anaconda-installer.readthedocs.io/en/latest/user-guide/boot-options.html"],
        },
        OsFamily::Other => Row {
            parameters: &[],
            names: Named::File,
            schemes: REMOTE_OR_LOCAL,
            bootstrap: BootstrapData::AsKernelArgsSay,
            sources: &[],
        },
    }
}

/// Why there are no kernel parameters. The text says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterError {
    /// There is no configURL, and the family needs one.
    NoConfigUrl(OsFamily),
    /// There is no configURL, and no boot server that could deliver the bootstrap data.
    NoBootServer(OsFamily),
    /// The family can't read such a URL.
    Scheme(OsFamily, String),
    /// There is something in the URL that does not belong into one.
    Characters(String),
    /// A parameter means the configURL, and does not say it as it must.
    Misspelt(String),
    /// No parameter names the configURL.
    NowhereToPut,
    /// A parameter can't stand on a kernel's command line.
    Argument(ArgumentError),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConfigUrl(family) => {
                let file = match row(*family).bootstrap {
                    BootstrapData::NeedsConfigUrl(file) => file,
                    BootstrapData::CloudConfig
                    | BootstrapData::Autoinstall
                    | BootstrapData::Ignition
                    | BootstrapData::OwnProvider
                    | BootstrapData::AsKernelArgsSay => "its configuration",
                };
                write!(
                    f,
                    "osFamily {} reads its configuration from configURL, which is empty. Set configURL to {file}: there is no other way to configure it",
                    family.name()
                )
            }
            Self::NoBootServer(family) => write!(
                f,
                "configURL is empty, so a machine of osFamily {} is given its Machine's bootstrap data by the boot server, which is off: start the manager with --boot-url, or set configURL",
                family.name()
            ),
            Self::Scheme(family, url) => write!(
                f,
                "osFamily {} can't read the configURL {url:?}: write one that begins with {}, or say where its configuration is by osFamily other and kernelArgs",
                family.name(),
                row(*family)
                    .schemes
                    .iter()
                    .map(|scheme| format!("{scheme}://"))
                    .collect::<Vec<_>>()
                    .join(" or ")
            ),
            Self::Characters(url) => write!(
                f,
                "the configURL {url:?} has a space, a quote or another character in it that no URL has: write it as a %-escape"
            ),
            Self::Misspelt(argument) => write!(
                f,
                "the kernel parameter {argument:?} does not name the configURL as it must: write {PLACEHOLDER}, exactly so"
            ),
            Self::NowhereToPut => write!(
                f,
                "with osFamily other, nothing says where configURL goes: write {PLACEHOLDER} into one of the kernelArgs, or remove configURL"
            ),
            Self::Argument(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ParameterError {}

/// The kernel parameters of an installation that reads its configuration from a URL: those of its family, then the
/// user's own, each as it stands on the kernel's command line. Where the configuration is ours, its URL is still a
/// placeholder.
///
/// # Errors
/// There is no URL where one is needed, it can't be used, or a parameter can't be a kernel's.
pub fn parameters(
    family: OsFamily,
    config_url: Option<&str>,
    kernel_args: &[String],
    delivery: Delivery,
) -> Result<Vec<String>, ParameterError> {
    let all = match config_url.filter(|url| !url.is_empty()) {
        Some(url) => theirs(family, url, kernel_args)?,
        None => ours(family, kernel_args, delivery, None)?,
    };
    fits(all, delivery)
}

/// The same for a configuration that its user wrote for this very system: one that no bootstrap provider can write for is
/// given that as it is.
///
/// # Errors
/// A parameter can't be a kernel's, or there is no boot server.
pub fn given(
    family: OsFamily,
    kernel_args: &[String],
    delivery: Delivery,
) -> Result<Vec<String>, ParameterError> {
    fits(ours(family, kernel_args, delivery, Some("/user-data"))?, delivery)
}

fn fits(all: Vec<String>, delivery: Delivery) -> Result<Vec<String>, ParameterError> {
    let whole: Vec<String> = all.iter().map(|argument| delivery.as_long(argument)).collect();
    kernel_line::line(&whole).map_err(ParameterError::Argument)?;
    Ok(all)
}

/// With the configuration at a URL that the user gives.
fn theirs(family: OsFamily, url: &str, kernel_args: &[String]) -> Result<Vec<String>, ParameterError> {
    check(family, url)?;
    let row = row(family);
    let named = |argument: &String| argument.contains(PLACEHOLDER);
    if row.parameters.is_empty() && !kernel_args.iter().any(named) {
        return Err(ParameterError::NowhereToPut);
    }
    let of_family = row.names.of(url);
    let its_own = row.parameters.iter().map(|argument| fill_in(argument, &of_family));
    its_own.chain(kernel_args.iter().map(|argument| fill_in(argument, url))).collect()
}

/// With the configuration that our server has for the machine; `as_it_is` is where it is in no form but its own, for what
/// reads that.
fn ours(
    family: OsFamily,
    kernel_args: &[String],
    delivery: Delivery,
    as_it_is: Option<&str>,
) -> Result<Vec<String>, ParameterError> {
    let row = row(family);
    let path = match row.bootstrap {
        BootstrapData::CloudConfig => "/kairos",
        BootstrapData::Autoinstall => "/autoinstall/",
        BootstrapData::Ignition => "/ignition",
        BootstrapData::OwnProvider => "/talos",
        BootstrapData::AsKernelArgsSay => "",
        BootstrapData::NeedsConfigUrl(_) => as_it_is.ok_or(ParameterError::NoConfigUrl(family))?,
    };
    let named = |argument: &str| argument.contains(PLACEHOLDER);
    let asks = row.parameters.iter().any(|argument| named(argument))
        || kernel_args.iter().any(|argument| named(argument));
    if asks && delivery == Delivery::Off {
        return Err(ParameterError::NoBootServer(family));
    }
    let of_family = format!("{PLACEHOLDER}{path}");
    let its_own = row.parameters.iter().map(|argument| fill_in(argument, &of_family));
    its_own.chain(kernel_args.iter().map(|argument| fill_in(argument, PLACEHOLDER))).collect()
}

impl Named {
    /// What is written for a URL. cloud-init puts a file's name right behind it: a directory must end in a slash, and a
    /// query is left to whoever wrote it.
    fn of(self, url: &str) -> String {
        match self {
            Self::Directory if !url.ends_with('/') && !url.contains('?') => format!("{url}/"),
            Self::Directory | Self::File => url.to_owned(),
        }
    }
}

fn check(family: OsFamily, url: &str) -> Result<(), ParameterError> {
    if !url.chars().all(|character| character.is_ascii_graphic() && character != '"') {
        return Err(ParameterError::Characters(url.to_owned()));
    }
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme {
        Some(scheme) if row(family).schemes.contains(&scheme.as_str()) => Ok(()),
        Some(_) | None => Err(ParameterError::Scheme(family, url.to_owned())),
    }
}

fn fill_in(argument: &str, url: &str) -> Result<String, ParameterError> {
    let rest = argument.replace(PLACEHOLDER, "").to_ascii_lowercase();
    if rest.contains("{{") && rest.contains("configurl") {
        return Err(ParameterError::Misspelt(argument.to_owned()));
    }
    kernel_line::quote(&argument.replace(PLACEHOLDER, url)).map_err(ParameterError::Argument)
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
