//! The archives of PostgreSQL's programs: which there are, their checksums, and fetching one.
//!
//! They are Maven Central's `embedded-postgres-binaries`, built from PostgreSQL's sources without patches; a released
//! version there never changes, which the checksum verifies.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use sys::threads::NotStarted;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use super::error::PrivateServerError;
use super::versions::KNOWN;

/// Where all archives are.
const REPOSITORY: &str = "https://repo1.maven.org/maven2/io/zonky/test/postgres";

/// Longest archive that is read; theirs have 15 MB.
const ARCHIVE_BYTES_MAX: u64 = 128 << 20;

/// How long the whole of an archive may take to arrive, and how long nothing of it may come: while the connection is
/// made, or between two parts.
const FETCH_MAX: Duration = Duration::from_secs(600);
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// How often the wish to stop is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A part of an archive, or why there is none.
type Part = Result<Vec<u8>, String>;

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
        let (sender, parts) = sync_channel(16);
        let (url, proxy) = (self.url.clone(), proxy.map(String::from));
        // A blocking read of a server that says nothing cannot be left, but its thread can.
        let started = Builder::new().name("fetch".into()).spawn(move || send(&url, proxy.as_deref(), &sender));
        started.map_err(|error| refused(NotStarted::from(error).to_string()))?;
        let bytes = whole(&parts, SILENCE_MAX, stop);
        let bytes = bytes.map_err(|reason| reason.map_or(PrivateServerError::Stopped, refused))?;
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

/// Sends what an address answers, part by part, until the receiver is gone.
fn send(url: &str, proxy: Option<&str>, parts: &SyncSender<Part>) {
    let outcome = answer(url, proxy, &mut |part| parts.send(Ok(part)).is_ok());
    if let Err(reason) = outcome {
        // After a wish to stop the receiver is gone.
        let _ = parts.send(Err(reason));
    }
}

/// Gives what an address answers to `take`, part by part, until that wants no more.
fn answer(url: &str, proxy: Option<&str>, take: &mut dyn FnMut(Vec<u8>) -> bool) -> Result<(), String> {
    let agent = agent(proxy).map_err(|error| error.to_string())?;
    let answer = agent.get(url).call().map_err(|error| error.to_string())?;
    let mut body = answer.into_body().into_reader().take(ARCHIVE_BYTES_MAX);
    loop {
        let mut part = vec![0; 1 << 18];
        let length = body.read(&mut part).map_err(|error| error.to_string())?;
        part.truncate(length);
        if length == 0 || !take(part) {
            return Ok(());
        }
    }
}

/// All parts in one. Errors with the reason, or with `None` where `stop` was raised.
fn whole(parts: &Receiver<Part>, silence_max: Duration, stop: &AtomicBool) -> Result<Vec<u8>, Option<String>> {
    let (mut bytes, begun, mut last) = (Vec::new(), Instant::now(), Instant::now());
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(None);
        }
        match parts.recv_timeout(LOOK_EVERY) {
            Ok(part) => {
                bytes.extend(part?);
                last = Instant::now();
                if begun.elapsed() >= FETCH_MAX {
                    return Err(Some(format!("it was not there after {} s", FETCH_MAX.as_secs())));
                }
            }
            Err(RecvTimeoutError::Timeout) if last.elapsed() >= silence_max => {
                return Err(Some(format!("nothing came for {} s", silence_max.as_secs_f64())));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(bytes),
        }
    }
}

/// The client: it uses the given proxy and no other, and the system's roots of trust.
///
/// It has no timeouts: for one it looks up names on a thread that it starts, and panics where it cannot.
fn agent(proxy: Option<&str>) -> Result<Agent, ureq::Error> {
    let proxy = proxy.map(ureq::Proxy::new).transpose()?;
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder().https_only(true).proxy(proxy).tls_config(tls).build();
    Ok(config.into())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

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
    fn a_wish_to_stop_ends_the_wait_for_an_archive_that_does_not_come() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://{}", silent.local_addr().unwrap());
        let stop = AtomicBool::new(false);
        let elapsed = thread::scope(|scope| {
            let fetched = Builder::new().spawn_scoped(scope, || {
                let start = Instant::now();
                let error = Archive::of(18).unwrap().fetch(Some(&proxy), &stop).unwrap_err();
                assert!(matches!(error, PrivateServerError::Stopped), "{error}");
                start.elapsed()
            });
            let _connection = silent.accept().unwrap();
            stop.store(true, Ordering::Relaxed);
            fetched.unwrap().join().unwrap()
        });
        assert!(elapsed < Duration::from_secs(60), "{elapsed:?}");
    }

    #[test]
    fn an_archive_of_which_no_more_comes_is_given_up() {
        let (sender, parts) = sync_channel(2);
        sender.send(Ok(vec![1, 2])).unwrap();
        let stop = AtomicBool::new(false);
        let given_up = whole(&parts, Duration::from_millis(200), &stop);
        assert_eq!(given_up, Err(Some("nothing came for 0.2 s".into())));
        sender.send(Ok(vec![3])).unwrap();
        drop(sender);
        assert_eq!(whole(&parts, Duration::from_millis(200), &stop), Ok(vec![3]));
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
