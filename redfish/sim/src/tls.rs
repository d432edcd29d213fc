//! Certificates of a fleet: one CA made at start, one certificate per address made when first asked for.
//!
//! All addresses share one key. It guards nothing but simulated machines.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// rcgen failed.
    #[error("a certificate could not be made")]
    Make(#[from] rcgen::Error),
    /// rustls refused what rcgen made.
    #[error("a certificate could not be used")]
    Use(#[from] rustls::Error),
}

/// The CA of a fleet.
pub(crate) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
    key: KeyPair,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, TlsError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Simulated BMCs");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let ca_key = KeyPair::generate()?;
        let pem = params.self_signed(&ca_key)?.pem();
        Ok(Self { pem, issuer: Issuer::new(params, ca_key), key: KeyPair::generate()? })
    }

    /// The CA's certificate.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// What a server at this address needs.
    pub(crate) fn server(&self, address: Ipv4Addr) -> Result<Arc<ServerConfig>, TlsError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, address.to_string());
        params.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(address))];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], key)?;
        // A cache of sessions per address would be most of the memory of a large fleet.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Arc::new(config))
    }
}
