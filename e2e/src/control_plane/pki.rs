//! Keys and certificates of one control plane: made anew for each, valid for
//! nothing else, and gone with its directory.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::string::PrintableString;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

/// A certificate and its key, PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// The authority that everything in one control plane trusts.
#[derive(Debug)]
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("a key for the authority")?;
        let certificate = params.self_signed(&key).context("the authority's certificate")?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// An authority that a Go program has made. Who checks a certificate compares the bytes of its issuer's name, so it
    /// is written as Go writes it.
    pub(crate) fn made_in_go(name: &str, certificate: &str, key: KeyPair) -> Result<Self> {
        let name = PrintableString::try_from(name).context("the name of an authority")?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, DnValue::PrintableString(name));
        Ok(Self { certificate: certificate.to_owned(), issuer: Issuer::new(params, key) })
    }

    /// The certificate to trust, PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A certificate for a server on this machine, under further names too.
    pub fn serving(&self, name: &str, further: &[&str]) -> Result<Identity> {
        let names: Vec<String> =
            ["127.0.0.1", "localhost"].iter().chain(further).map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).context("the names of a server")?;
        self.issue(params, distinguished(name, None), ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate by which Kubernetes knows a user and, at most, one group:
    /// rcgen writes each part of a name once.
    pub fn client(&self, user: &str, group: Option<&str>) -> Result<Identity> {
        let params = CertificateParams::default();
        self.issue(params, distinguished(user, group), ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        name: DistinguishedName,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Identity> {
        params.distinguished_name = name;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().context("a key")?;
        let certificate = params.signed_by(&key, &self.issuer).context("a certificate")?;
        Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// A key pair for service-account tokens: private and public PEM.
pub(super) fn token_keys() -> Result<(String, String)> {
    let key = KeyPair::generate().context("a key for service accounts")?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

fn distinguished(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name
}

/// Writes a file that only its owner may read. Who reads it meanwhile sees the
/// old text or the new one, never a part.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<PathBuf> {
    let write = || {
        // Files of this kind are private from the start.
        let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)
    };
    write().with_context(|| format!("writing {}", path.display()))?;
    Ok(path.to_owned())
}
