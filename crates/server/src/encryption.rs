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
use sys::file::plain;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::parameters::Parameters;

/// Largest file of authorities that is read: those of a whole system take some 200 KiB.
const AUTHORITIES_MAX: u64 = 16 << 20;

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
    /// Takes what the driver does not know from the parameters, and leaves it what it knows.
    pub(crate) fn taken_from(parameters: &mut Parameters) -> Encryption {
        let authorities = parameters.take("sslrootcert");
        let is_system = authorities.as_deref() == Some("system");
        let authorities = authorities.filter(|_| !is_system).map(PathBuf::from);
        let (proof, known) = match parameters.get("sslmode") {
            Some("verify-full") => (Proof::Name, "require"),
            Some("verify-ca") => (Proof::Authority, "require"),
            // To libpq the system's authorities alone mean `verify-full`; with `require` it refuses them.
            None | Some("require") if is_system => (Proof::Name, "require"),
            // To libpq a file of authorities makes `require` the same as `verify-ca`.
            Some("require") if authorities.is_some() => (Proof::Authority, "require"),
            Some("allow") => (Proof::None, "prefer"),
            _ => return Encryption { proof: Proof::None, authorities },
        };
        parameters.set("sslmode", known);
        Encryption { proof, authorities }
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
    let bytes = plain::read(file, AUTHORITIES_MAX).map_err(|error| unreadable(file, &error.to_string()))?;
    let all = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let all = all.map_err(|error| unreadable(file, &error.to_string()))?;
    if all.is_empty() { Err(unreadable(file, "it holds no certificate")) } else { Ok(all) }
}

fn unreadable(file: &Path, reason: &str) -> String {
    format!("the certificate authorities in {} cannot be read ({reason})", file.display())
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

    fn asked(query: &str) -> (Option<String>, Proof, Option<String>) {
        let mut parameters = Parameters::of_url(&format!("postgres://h/d?{query}")).unwrap();
        let asked = Encryption::taken_from(&mut parameters);
        assert!(parameters.get("sslrootcert").is_none());
        let mode = parameters.get("sslmode").map(String::from);
        (mode, asked.proof, asked.authorities.map(|file| file.display().to_string()))
    }

    #[test]
    fn the_words_mean_what_they_mean_to_libpq() {
        let require = Some("require".to_string());
        assert_eq!(asked(""), (None, Proof::None, None));
        assert_eq!(asked("sslmode=require"), (require.clone(), Proof::None, None));
        assert_eq!(asked("sslmode=verify-full"), (require.clone(), Proof::Name, None));
        assert_eq!(asked("sslrootcert=system"), (require.clone(), Proof::Name, None));
        assert_eq!(asked("sslmode=require&sslrootcert=system"), (require.clone(), Proof::Name, None));
        let file = Some("/etc/my ca.pem".into());
        assert_eq!(
            asked("sslrootcert=%2Fetc%2Fmy%20ca.pem&sslmode=require"),
            (require.clone(), Proof::Authority, file)
        );
        assert_eq!(asked("sslmode=verify-ca&sslrootcert=system"), (require, Proof::Authority, None));
        assert_eq!(asked("sslmode=allow").0.as_deref(), Some("prefer"));
        assert_eq!(asked("sslrootcert=100%zz%").2.as_deref(), Some("100%zz%"));
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
