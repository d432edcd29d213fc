//! The certificate of the boot server, from two files. When they change, what is new is taken up for the connections that
//! come; when what is new can't be used, what was there stays.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum_server::tls_rustls::RustlsConfig;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio_util::sync::CancellationToken;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(10);

/// Why a certificate can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file can't be read.
    #[error("{path} can't be read", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// There is no certificate in the file.
    #[error("{path} holds no certificate in PEM", path = path.display())]
    NoCertificate {
        /// Which.
        path: PathBuf,
    },
    /// There is no key in the file.
    #[error("{path} holds no private key in PEM", path = path.display())]
    NoKey {
        /// Which.
        path: PathBuf,
    },
    /// They do not fit together, or can't be used.
    #[error("the certificate in {path} can't be used with its key", path = path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: rustls::Error,
    },
}

/// A certificate that may be renewed.
pub struct Certificate {
    config: RustlsConfig,
    files: Files,
    /// What was read last, used or not.
    read: Content,
}

#[derive(Debug, Clone)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Clone, PartialEq, Eq)]
struct Content {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Certificate {
    /// Reads it from its files: the certificate with those that lead to its CA, and its key.
    ///
    /// # Errors
    /// It can't be read or used.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let files = Files { certificate: certificate.to_owned(), key: key.to_owned() };
        let read = files.read()?;
        let config = RustlsConfig::from_config(Arc::new(files.config(&read)?));
        Ok(Self { config, files, read })
    }

    pub(super) fn config(&self) -> RustlsConfig {
        self.config.clone()
    }

    /// Takes up what is new, until `stop`.
    pub(super) async fn renew(mut self, stop: CancellationToken) {
        let looks = async {
            loop {
                tokio::time::sleep(LOOK).await;
                self.look();
            }
        };
        stop.run_until_cancelled(looks).await;
    }

    fn look(&mut self) {
        let renewed = self.files.read().and_then(|read| {
            if read == self.read {
                return Ok(None);
            }
            self.read = read;
            self.files.config(&self.read).map(Some)
        });
        match renewed {
            Ok(None) => {}
            Ok(Some(config)) => {
                self.config.reload_from_config(Arc::new(config));
                tracing::info!("the boot server has a new certificate");
            }
            // Of two files one is written first: a moment later they fit.
            Err(error) => {
                let why = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, why, "the boot server's new certificate can't be used; the last one stays");
            }
        }
    }
}

impl Files {
    fn read(&self) -> Result<Content, CertificateError> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|source| CertificateError::File { path: path.clone(), source })
        };
        Ok(Content { certificate: read(&self.certificate)?, key: read(&self.key)? })
    }

    fn config(&self, content: &Content) -> Result<ServerConfig, CertificateError> {
        let no_certificate = || CertificateError::NoCertificate { path: self.certificate.clone() };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&content.certificate)
            .collect::<Result<_, _>>()
            .map_err(|_| no_certificate())?;
        if chain.is_empty() {
            return Err(no_certificate());
        }
        let key = PrivateKeyDer::from_pem_slice(&content.key)
            .map_err(|_| CertificateError::NoKey { path: self.key.clone() })?;
        let unusable = |source| CertificateError::Unusable { path: self.certificate.clone(), source };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

#[cfg(test)]
#[path = "certificate_tests.rs"]
mod tests;
