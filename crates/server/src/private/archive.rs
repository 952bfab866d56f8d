//! The archives of PostgreSQL's programs: which there are, their checksums, and fetching one.
//!
//! They are Maven Central's `embedded-postgres-binaries`, built from PostgreSQL's sources without patches; a released
//! version there never changes, which the checksum verifies.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use super::error::PrivateServerError;
use super::versions::KNOWN;

/// Where all archives are.
const REPOSITORY: &str = "https://repo1.maven.org/maven2/io/zonky/test/postgres";

/// Longest archive that is read; theirs have 15 MB.
const ARCHIVE_BYTES_MAX: u64 = 128 << 20;

/// How long a connection may take to be made, and the whole of an archive to arrive.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const FETCH_TIMEOUT: Duration = Duration::from_secs(600);

/// One archive: where it is, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The archive's version, such as `18.6.0`.
    pub version: String,
    /// Where it is fetched from.
    pub url: String,
    /// Its SHA-256 in hexadecimal digits.
    pub sha256: String,
}

impl Archive {
    /// The archive of a major version for this processor.
    pub fn of(major: u32) -> Result<Archive, PrivateServerError> {
        let known = KNOWN.iter().find(|known| known.major == major);
        let known = known.ok_or(PrivateServerError::UnknownVersion(major))?;
        let (processor, sha256) = match std::env::consts::ARCH {
            "x86_64" => ("amd64", known.amd64),
            "aarch64" => ("arm64v8", known.arm64),
            _ => return Err(PrivateServerError::UnknownProcessor),
        };
        let (name, version) = (format!("embedded-postgres-binaries-linux-{processor}"), known.version);
        let url = format!("{REPOSITORY}/{name}/{version}/{name}-{version}.jar");
        Ok(Archive { version: version.into(), url, sha256: sha256.into() })
    }

    /// Fetches the archive, by way of `proxy` where one is given, and gives its bytes if they are the right ones.
    pub fn fetch(&self, proxy: Option<&str>, stop: &AtomicBool) -> Result<Vec<u8>, PrivateServerError> {
        let refused = |reason: String| PrivateServerError::NotFetched {
            version: self.version.clone(),
            url: self.url.clone(),
            reason,
        };
        let agent = agent(proxy).map_err(|error| refused(error.to_string()))?;
        let answer = agent.get(&self.url).call().map_err(|error| refused(error.to_string()))?;
        let mut body = answer.into_body().into_reader().take(ARCHIVE_BYTES_MAX);
        let (mut bytes, mut chunk) = (Vec::new(), vec![0; 1 << 18]);
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(PrivateServerError::Stopped);
            }
            match body.read(&mut chunk).map_err(|error| refused(error.to_string()))? {
                0 => break,
                length => bytes.extend_from_slice(&chunk[..length]),
            }
        }
        self.check(&bytes)?;
        Ok(bytes)
    }

    /// Refuses bytes that are not this archive's.
    pub fn check(&self, bytes: &[u8]) -> Result<(), PrivateServerError> {
        let found: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if found == self.sha256 {
            return Ok(());
        }
        Err(PrivateServerError::WrongChecksum { url: self.url.clone(), found })
    }
}

/// The client: it uses the given proxy and no other, and the system's roots of trust.
fn agent(proxy: Option<&str>) -> Result<Agent, ureq::Error> {
    let proxy = proxy.map(ureq::Proxy::new).transpose()?;
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .https_only(true)
        .proxy(proxy)
        .tls_config(tls)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_global(Some(FETCH_TIMEOUT))
        .build();
    Ok(config.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_archive_is_refused() {
        let archive = Archive::of(18).unwrap();
        let error = archive.check(b"something else").unwrap_err();
        assert!(matches!(error, PrivateServerError::WrongChecksum { .. }), "{error}");
        assert!(error.to_string().contains("was not unpacked"), "{error}");
        let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".into();
        Archive { sha256, ..archive }.check(b"").unwrap();
    }

    #[test]
    fn the_refusal_of_a_version_lists_those_that_there_are() {
        let error = Archive::of(12).unwrap_err().to_string();
        assert!(error.contains("PostgreSQL 12 to fetch, only of 15, 16, 17 and 18;"), "{error}");
    }

    #[test]
    fn without_a_network_one_sentence_says_what_to_do() {
        let archive = Archive::of(18).unwrap();
        // Nothing listens on port 9 of this machine.
        let error = archive.fetch(Some("http://127.0.0.1:9"), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, PrivateServerError::NotFetched { .. }), "{error}");
        let sentence = error.to_string();
        assert!(sentence.contains("connect to the network once") && !sentence.contains('\n'), "{sentence}");
    }
}
