//! Encryption of a connection, as `sslmode` and `sslrootcert` of an address ask for it.
//!
//! The words mean what they mean to libpq (PostgreSQL's documentation, "SSL Support": protection provided in different
//! modes), except that `verify-ca` and `verify-full` without a file of authorities trust those of the system.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What a server has to prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Proof {
    /// Nothing: this keeps eavesdroppers out, but no machine in the middle.
    #[default]
    None,
    /// That an authority vouches for it.
    Authority,
    /// That an authority vouches for it under the name in the address.
    Name,
}

/// What an address asks of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Encryption {
    proof: Proof,
    /// The authorities' certificates; those of the system where none are named.
    authorities: Option<PathBuf>,
}

impl Encryption {
    /// Takes the parameters that the driver does not know from an address, and returns the address without them.
    pub(crate) fn split_off(url: &str) -> (String, Encryption) {
        let Some((place, query)) = url.split_once('?') else { return (url.into(), Encryption::default()) };
        let mut asked = Encryption::default();
        let mut rest = Vec::new();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sslmode", "verify-full")) => {
                    asked.proof = Proof::Name;
                    rest.push("sslmode=require");
                }
                Some(("sslmode", "verify-ca")) => {
                    asked.proof = Proof::Authority;
                    rest.push("sslmode=require");
                }
                Some(("sslmode", "allow")) => rest.push("sslmode=prefer"),
                Some(("sslrootcert", file)) if file != "system" => asked.authorities = Some(path(file)),
                Some(("sslrootcert", _)) => {}
                _ => rest.push(pair),
            }
        }
        // To libpq a file of authorities makes `require` the same as `verify-ca`.
        if asked.authorities.is_some() && asked.proof == Proof::None && rest.contains(&"sslmode=require") {
            asked.proof = Proof::Authority;
        }
        let rest = rest.join("&");
        (if rest.is_empty() { place.into() } else { format!("{place}?{rest}") }, asked)
    }

    /// The connector that encrypts a connection. Errors where the authorities cannot be read.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let authorities = match &self.authorities {
            Some(file) if self.proof != Proof::None => read(file)?,
            _ => Vec::new(),
        };
        let inner = self.verifier(&authorities, &provider)?;
        let verifier = AsAsked { inner, proof: self.proof, authorities, provider: Arc::clone(&provider) };
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = versions
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }

    fn verifier(
        &self,
        authorities: &[CertificateDer<'static>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Arc<dyn ServerCertVerifier>>, String> {
        match &self.authorities {
            _ if self.proof == Proof::None => Ok(None),
            None => {
                let system = Verifier::new(Arc::clone(provider)).map_err(|error| error.to_string())?;
                Ok(Some(Arc::new(system)))
            }
            Some(file) => {
                let failed = |reason: String| unreadable(file, &reason);
                let mut roots = RootCertStore::empty();
                for authority in authorities {
                    roots.add(authority.clone()).map_err(|error| failed(error.to_string()))?;
                }
                let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
                Ok(Some(verifier.build().map_err(|error| failed(error.to_string()))?))
            }
        }
    }
}

/// The certificates of a file, at least one.
fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = all.map_err(|error| unreadable(file, &error.to_string()))?;
    if all.is_empty() { Err(unreadable(file, "it holds no certificate")) } else { Ok(all) }
}

fn unreadable(file: &Path, reason: &str) -> String {
    format!("the authorities in {} cannot be read ({reason})", file.display())
}

/// A path as it stands in an address, where `%2F` may stand for a slash.
fn path(written: &str) -> PathBuf {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

/// Accepts the certificates that prove what is asked, and no signature that the certificate did not make.
#[derive(Debug)]
struct AsAsked {
    /// None where nothing has to be proved.
    inner: Option<Arc<dyn ServerCertVerifier>>,
    proof: Proof,
    /// Those that the user named. One of them may be the server's own self-signed certificate.
    authorities: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AsAsked {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        if self.authorities.iter().any(|named| named.as_ref() == end_entity.as_ref()) {
            if self.proof == Proof::Name {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match inner.verify_server_cert(end_entity, intermediates, name, ocsp_response, now) {
            // The verifier checks the name last: everything else is as it should be.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.proof == Proof::Authority => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(url: &str) -> (String, Proof, Option<String>) {
        let (rest, asked) = Encryption::split_off(url);
        (rest, asked.proof, asked.authorities.map(|file| file.display().to_string()))
    }

    #[test]
    fn the_words_mean_what_they_mean_to_libpq() {
        assert_eq!(split("postgres://h/d"), ("postgres://h/d".into(), Proof::None, None));
        let require = "postgres://h/d?sslmode=require";
        assert_eq!(split(require), (require.into(), Proof::None, None));
        assert_eq!(split("postgres://h/d?sslmode=verify-full"), (require.into(), Proof::Name, None));
        let file = "postgres://h/d?sslrootcert=%2Fetc%2Fmy%20ca.pem&sslmode=require";
        assert_eq!(split(file), (require.into(), Proof::Authority, Some("/etc/my ca.pem".into())));
        let system = "postgres://h/d?sslmode=verify-ca&sslrootcert=system&options=-c";
        assert_eq!(split(system), (format!("{require}&options=-c"), Proof::Authority, None));
        assert_eq!(split("postgres://h?sslmode=allow").0, "postgres://h?sslmode=prefer");
        assert_eq!(
            split("postgres://h?sslrootcert=100%zz%"),
            ("postgres://h".into(), Proof::None, Some("100%zz%".into()))
        );
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let asked = |path: &Path| Encryption { proof: Proof::Name, authorities: Some(path.into()) };
        let empty = asked(file.path()).connector().err().unwrap();
        assert!(empty.contains("holds no certificate") && empty.contains(file.path().to_str().unwrap()), "{empty}");
        assert!(asked(Path::new("/no/such/file")).connector().is_err());
    }
}
