//! By what a BMC's certificate is trusted, and what is said when it is not.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use x509_parser::prelude::{FromDer, X509Certificate};

/// By what a BMC's certificate is trusted. BMCs with the same setting share one HTTP client.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Trust {
    /// By the CAs that this system trusts.
    SystemRoots,
    /// By these CAs, in PEM, and no others.
    Bundle(Arc<[u8]>),
    /// Whatever it shows. Whoever stands between can read the password.
    Anything,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SystemRoots => f.write_str("SystemRoots"),
            Self::Bundle(pem) => write!(f, "Bundle({} bytes)", pem.len()),
            Self::Anything => f.write_str("Anything"),
        }
    }
}

/// Why a trust setting can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The bundle is not PEM.
    #[error(
        "the CA bundle is not PEM: it must hold certificates between BEGIN CERTIFICATE and END CERTIFICATE"
    )]
    NotPem(#[source] rustls::pki_types::pem::Error),
    /// The bundle holds no certificate.
    #[error(
        "the CA bundle holds no certificate: it must hold at least one between BEGIN CERTIFICATE and END CERTIFICATE"
    )]
    Empty,
    /// A certificate can't be a root.
    #[error("a certificate of the CA bundle can't be used")]
    Certificate(#[source] rustls::Error),
    /// The system has no roots.
    #[error("this system trusts no CA at all: give a CA bundle")]
    NoSystemRoots,
    /// The verifier can't be built.
    #[error("certificates can't be verified with this CA bundle")]
    Verifier(#[source] rustls::client::VerifierBuilderError),
    /// TLS itself can't be set up.
    #[error("TLS can't be set up")]
    Tls(#[source] rustls::Error),
    /// The HTTP client can't be set up.
    #[error("HTTP can't be set up")]
    Client(#[source] reqwest::Error),
}

/// A certificate that was refused, in words that help to find the right CA.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (subject {subject}, issued by {issuer})")]
pub struct Untrusted {
    /// Whom the certificate is for.
    pub subject: String,
    /// Who issued it.
    pub issuer: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Untrusted {
    fn new(certificate: &CertificateDer<'_>, problem: &rustls::Error) -> Self {
        let (subject, issuer) = match X509Certificate::from_der(certificate) {
            Ok((_, parsed)) => (parsed.subject().to_string(), parsed.issuer().to_string()),
            Err(_) => ("unreadable".to_owned(), "unreadable".to_owned()),
        };
        Self { subject, issuer, problem: problem.to_string() }
    }
}

/// What TLS needs to know for a setting.
pub(crate) fn client_config(trust: &Trust) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = match trust {
        Trust::SystemRoots => Some(system_roots()?),
        Trust::Bundle(pem) => Some(bundle(pem)?),
        Trust::Anything => None,
    };
    let verifier = Arc::new(Verifier::new(roots, &provider)?);
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Tls)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn system_roots() -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    // What this system's store holds beside usable roots is none of our business.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TrustError::NoSystemRoots) } else { Ok(roots) }
}

fn bundle(pem: &[u8]) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(TrustError::NotPem)?).map_err(TrustError::Certificate)?;
    }
    if roots.is_empty() { Err(TrustError::Empty) } else { Ok(roots) }
}

/// Verifies a BMC's certificate and keeps what it refused for the error; without roots it takes any certificate, because
/// somebody asked for it. The handshake itself is checked in either case.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    by_roots: Option<Arc<WebPkiServerVerifier>>,
}

impl Verifier {
    fn new(roots: Option<RootCertStore>, provider: &Arc<CryptoProvider>) -> Result<Self, TrustError> {
        let build =
            |roots| WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        let by_roots = roots.map(build).transpose().map_err(TrustError::Verifier)?;
        Ok(Self { provider: provider.clone(), by_roots })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(by_roots) = &self.by_roots else { return Ok(ServerCertVerified::assertion()) };
        by_roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now).map_err(
            |problem| rustls::Error::Other(OtherError(Arc::new(Untrusted::new(end_entity, &problem)))),
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
