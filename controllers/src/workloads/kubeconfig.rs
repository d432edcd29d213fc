//! The kubeconfig of a workload cluster. Whoever may write its Secret decides where the manager connects and what it
//! shows there, so a kubeconfig gets only what stands in itself: it runs no program, reads none of the manager's files
//! and takes no detour.

use kube::{
    Config,
    config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig, KubeconfigError},
};

/// Reads a kubeconfig.
///
/// # Errors
/// What is wrong with it; never what stands in it.
pub(super) async fn read(text: &[u8]) -> Result<Config, &'static str> {
    let text = std::str::from_utf8(text).map_err(|_| NONE)?;
    // The parser's own words quote what it read.
    let file = Kubeconfig::from_yaml(text).map_err(|_| NONE)?;
    file.auth_infos.iter().filter_map(|user| user.auth_info.as_ref()).try_for_each(check_user)?;
    file.clusters.iter().filter_map(|cluster| cluster.cluster.as_ref()).try_for_each(check_cluster)?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(|error| words(&error))?;
    // What the environment says is meant for our own API server, if for any.
    config.proxy_url = None;
    Ok(config)
}

const NONE: &str = "it is no kubeconfig";
const FILES: &str = "it names files (tokenFile, client-certificate, client-key or certificate-authority), and those of \
                     the manager are not for it: put what they hold into it";

fn check_user(user: &AuthInfo) -> Result<(), &'static str> {
    let AuthInfo {
        token_file,
        client_certificate,
        client_key,
        impersonate,
        impersonate_uid,
        impersonate_groups,
        impersonate_user_extra,
        auth_provider,
        exec,
        username: _,
        password: _,
        token: _,
        client_certificate_data: _,
        client_key_data: _,
        extensions: _,
        other: _,
    } = user;
    if exec.is_some() || auth_provider.is_some() {
        return Err(
            "its user signs in by a program (exec or auth-provider), and none is run: give it a certificate or a token",
        );
    }
    if [token_file, client_certificate, client_key].into_iter().any(is_given) {
        return Err(FILES);
    }
    let acts_as = is_given(impersonate)
        || is_given(impersonate_uid)
        || impersonate_groups.is_some()
        || impersonate_user_extra.is_some();
    if acts_as {
        return Err("its user acts as another (as), which is not supported: remove that");
    }
    Ok(())
}

fn check_cluster(cluster: &Cluster) -> Result<(), &'static str> {
    if is_given(&cluster.certificate_authority) {
        return Err(FILES);
    }
    if is_given(&cluster.proxy_url) {
        return Err("it asks for a proxy (proxy-url), which is not supported: remove that");
    }
    Ok(())
}

fn is_given(text: &Option<String>) -> bool {
    text.as_ref().is_some_and(|text| !text.is_empty())
}

fn words(error: &KubeconfigError) -> &'static str {
    #[allow(clippy::wildcard_enum_match_arm, reason = "kube's errors are many, and most can't happen here")]
    match error {
        KubeconfigError::CurrentContextNotSet
        | KubeconfigError::LoadContext(_)
        | KubeconfigError::LoadClusterOfContext(_) => {
            "its current-context names no context with a cluster and a user in it"
        }
        KubeconfigError::MissingClusterUrl | KubeconfigError::ParseClusterUrl(_) => {
            "its cluster has no usable server"
        }
        KubeconfigError::LoadCertificateAuthority(_) | KubeconfigError::ParseCertificates(_) => {
            "its certificate-authority-data can't be read"
        }
        _ => NONE,
    }
}

#[cfg(test)]
#[path = "kubeconfig_tests.rs"]
mod tests;
