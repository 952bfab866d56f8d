//! The archives of PostgreSQL's programs: which there are, their checksums, and fetching one.
//!
//! They are Maven Central's `embedded-postgres-binaries`, built from PostgreSQL's sources without patches; a released
//! version there never changes, and the checksum holds it to that.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use super::error::PrivateServerError;

/// Where all archives are.
const REPOSITORY: &str = "https://repo1.maven.org/maven2/io/zonky/test/postgres";

/// Longest archive that is read: they have 15 MB.
const ARCHIVE_BYTES_MAX: u64 = 128 << 20;

/// How long a connection may take to be made, and the whole of an archive to arrive.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const FETCH_TIMEOUT: Duration = Duration::from_secs(600);

/// One version whose archives are known.
#[derive(Debug)]
pub(super) struct Known {
    major: u32,
    /// The archive's own version.
    version: &'static str,
    /// SHA-256 of the archives for amd64 and arm64v8.
    amd64: &'static str,
    arm64: &'static str,
}

/// The newest archive of each version on 2026-11-21. To take a newer one, change its row: version, and the SHA-256 of
/// the two archives.
const KNOWN: [Known; 4] = [
    Known {
        major: 15,
        version: "15.19.0",
        amd64: "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
        arm64: "95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911",
    },
    Known {
        major: 16,
        version: "16.15.0",
        amd64: "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
        arm64: "f846a9989d686b7977d6eca9bc9d8b2b69e3f70c7eb60e032197d9c574a6136c",
    },
    Known {
        major: 17,
        version: "17.11.0",
        amd64: "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
        arm64: "8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b",
    },
    Known {
        major: 18,
        version: "18.6.0",
        amd64: "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
        arm64: "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be",
    },
];

/// Major versions of which there are archives, in order.
pub const VERSIONS: [u32; 4] = [KNOWN[0].major, KNOWN[1].major, KNOWN[2].major, KNOWN[3].major];

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

/// The versions that there are, for a sentence.
pub(super) fn known() -> String {
    let (last, others) = VERSIONS.split_last().unwrap_or((&0, &[]));
    let others: Vec<String> = others.iter().map(u32::to_string).collect();
    format!("{} and {last}", others.join(", "))
}

/// What asks: the proxy is the given one and no other, the roots of trust are the system's.
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
    fn a_version_without_an_archive_is_answered_with_those_that_there_are() {
        let error = Archive::of(12).unwrap_err().to_string();
        assert!(error.contains("PostgreSQL 12 to fetch, only of 15, 16, 17 and 18;"), "{error}");
    }

    #[test]
    fn without_a_network_one_sentence_says_what_to_do() {
        let archive = Archive::of(18).unwrap();
        // Nobody listens on port 9 of this machine.
        let error = archive.fetch(Some("http://127.0.0.1:9"), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, PrivateServerError::NotFetched { .. }), "{error}");
        let sentence = error.to_string();
        assert!(sentence.contains("connect to the network once") && !sentence.contains('\n'), "{sentence}");
    }
}
