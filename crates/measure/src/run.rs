//! The run document: everything that one measuring command found out, in the shape that is kept and printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::case::Case;
use crate::finding::Finding;
use crate::metric::Metric;

/// Name and version of the run document's schema.
pub const SCHEMA: &str = "readpath.run/1";

/// One run of one measuring command. The default is an empty one, of which a test fills in what it is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// A version 7 UUID: sorts by the time of the run's start.
    pub id: String,
    /// The command line as given.
    pub command: Vec<String>,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// End, RFC 3339 in UTC; absent while the run goes on and after one that was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// The build of readpath that made the run; absent in runs that were kept before builds were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// The job that asked for the run; absent where a command line did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// The machine.
    pub host: Host,
    /// The tool's own cost on this machine in this run: clock read, empty loop, null device.
    #[serde(default)]
    pub own_cost: Vec<Metric>,
    /// Which experiment.
    pub experiment: String,
    /// On what: `kind` and what else names it.
    pub subject: Map<String, Value>,
    /// Combinations of parameters, each with its metrics.
    pub cases: Vec<Case>,
    /// What the run says by itself.
    pub findings: Vec<Finding>,
}

impl Run {
    /// The cases whose parameter `name` has this value as text.
    pub fn cases_where<'a>(&'a self, name: &'a str, value: &'a str) -> impl Iterator<Item = &'a Case> {
        self.cases.iter().filter(move |case| case.parameter(name).as_deref() == Some(value))
    }
}

/// The job of a job file that a run was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its name in the file, and after `/` what its matrix gave this run.
    pub name: String,
    /// The file as it was named on the command line.
    pub file: String,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
    /// What it set, with the defaults of the file and what `--set` put in the place of either.
    pub parameters: Map<String, Value>,
}

/// A build of readpath.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Version of readpath.
    pub version: String,
    /// Commit that it was built from, with `-dirty` where files differed from it; absent where it was not built from a
    /// clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// `release` or `debug`.
    pub profile: String,
}

impl Build {
    /// The build of a program whose build script gives the commit, empty where it is not known, and the profile.
    pub fn new(version: &str, commit: &str, profile: &str) -> Build {
        let commit = Some(commit.to_string()).filter(|commit| !commit.is_empty());
        Build { version: version.into(), commit, profile: profile.into() }
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = self.commit.iter().map(|commit| format!("commit {commit}, ")).collect::<String>();
        write!(f, "{} ({commit}{})", self.version, self.profile)
    }
}

/// The machine that a run was made on. What it does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Model name of the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Processors that this process may use; absent where the run measured nothing on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u64>,
    /// Measured core frequency in GHz at the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_ghz: Option<f64>,
    /// Data and unified caches by level, in bytes.
    #[serde(default)]
    pub caches: Vec<CacheLevel>,
    /// Physical memory in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Kernel release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Hypervisor, when the processor says that there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// The clock that the run was timed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// The kernel's clock source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// Whether hardware counters answer; absent when this could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pmu: Option<bool>,
    /// Setting of transparent huge pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<String>,
}

/// One cache of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheLevel {
    /// 1 for the nearest.
    pub level: u8,
    /// Capacity in bytes.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_was_not_looked_at_has_no_number_of_cores_and_an_earlier_zero_is_still_read() {
        let text = serde_json::to_string(&Host::default()).unwrap();
        assert!(!text.contains("cores"), "{text}");
        let earlier: Host = serde_json::from_str(r#"{"cores": 0}"#).unwrap();
        assert_eq!(earlier.cores, Some(0));
    }
}
