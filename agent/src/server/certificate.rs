//! The CA that the server's certificate is verified by: what whoever made the ramdisk put in.

use std::io;
use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The certificates of CAs that are trusted, and no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ca(pub(super) Vec<CertificateDer<'static>>);

/// Why there is no CA to trust.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// It is there, and can't be read.
    #[error("the boot server's CA, {path}, can't be read: {reason}")]
    Unreadable {
        /// Where it is.
        path: String,
        /// Why.
        reason: String,
    },
    /// There is no certificate at all.
    #[error("the boot server's CA, {path}, is no certificate in PEM")]
    Nothing {
        /// Where it should be.
        path: String,
    },
}

impl Ca {
    /// Reads what a file in PEM has. None where there is no such file.
    ///
    /// # Errors
    /// It can't be read, or holds something else.
    pub fn read(path: &Path) -> Result<Option<Self>, CertificateError> {
        let name = || path.display().to_string();
        match std::fs::read(path) {
            Ok(pem) => Self::parse(&pem).map(Some).ok_or_else(|| CertificateError::Nothing { path: name() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CertificateError::Unreadable { path: name(), reason: error.to_string() }),
        }
    }

    fn parse(pem: &[u8]) -> Option<Self> {
        let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().ok()?;
        (!certificates.is_empty()).then_some(Self(certificates))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_certificate_of_the_file_is_trusted_and_what_is_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        assert_eq!(Ca::read(&path), Ok(None), "it is not there");
        let make = || rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap().cert;
        let (old, new) = (make(), make());
        fs::write(&path, format!("# the old and the new\n{}{}", old.pem(), new.pem())).unwrap();
        assert_eq!(Ca::read(&path), Ok(Some(Ca(vec![old.der().clone(), new.der().clone()]))));
        for nothing in ["", "<html>", "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n"] {
            fs::write(&path, nothing).unwrap();
            let error = Ca::read(&path).unwrap_err().to_string();
            assert!(error.contains("ca.pem, is no certificate"), "{nothing:?}: {error}");
        }
        assert!(matches!(Ca::read(folder.path()), Err(CertificateError::Unreadable { .. })));
    }
}
