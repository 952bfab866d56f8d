//! The parameters of the experiment, their defaults, and which of them cannot be.

use measure::quantity::{Size, size_in_words};
use measure::schema::scan;
use measure::words::Word;
use subjects::Places;
use subjects::access_paths::{AccessPath, AccessSettings, Asked, Level, Watch};
use subjects::engine::access_paths::AccessEngine;

use crate::error::{ExperimentError, refuse};
use crate::sampling;
use crate::with_defaults::with_defaults;

/// Rows of the published table.
pub const PUBLISHED_ROWS: u64 = scan::TABLE_ROWS.value as u64;

/// Rows by default, where the engine is measured alone.
pub const ROWS: u64 = 7_000_000;

/// Rows by default where others are measured too: loading them takes some ten seconds on a server.
pub const ROWS_BESIDE: u64 = 1_000_000;

/// Memory that is read in sequence to learn its bandwidth: many times the last cache of most processors.
pub(super) const STREAM_BYTES: u64 = 512 << 20;

with_defaults! {
    /// Parameters of the experiment.
    pub struct ScanParameters {
        /// What is measured.
        pub on: Places = Places::default(),
        /// Rows of the table; `None`: [`ROWS`] or [`ROWS_BESIDE`].
        pub rows: Option<u64> = None,
        /// Access paths; empty: all that can answer the question.
        pub path: Vec<AccessPath> = Vec::new(),
        /// What is asked; `None`: [`Asked::AllPass`].
        pub question: Option<Asked> = None,
        /// Numbers of threads, for the paths that threads can share.
        pub threads: Vec<usize> = vec![1],
        /// Whether units of columns may be answered from their least and greatest value.
        pub zone_maps: bool = true,
        /// How hard columnar units are compressed.
        pub level: Level = Level::QueryLow,
        /// Samples of a case.
        pub repeat: usize = 7,
        /// Memory that the run may take; `None`: 95 % of what is free.
        pub memory: Option<Size> = None,
        /// Seed of the generated rows.
        pub seed: u64 = 1,
    }
}

impl ScanParameters {
    /// Rows of the table.
    pub fn rows(&self) -> u64 {
        self.rows.unwrap_or(self.on.usual(ROWS, ROWS_BESIDE))
    }

    /// What is asked.
    pub fn question(&self) -> Asked {
        self.question.unwrap_or(Asked::AllPass)
    }

    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        if self.rows == Some(0) {
            return refuse("--rows 0: a table without rows has nothing to scan; give 1 or more");
        }
        sampling::check_repeat(self.repeat)?;
        if self.threads.is_empty() {
            return refuse("--threads needs a number: give 1, or a list such as 1,2");
        }
        sampling::check_threads(&self.threads)?;
        if self.has_several_threads() && !AccessPath::all().any(|path| self.wants(path) && path.is_shared_by_threads())
        {
            return refuse(
                "threads can share full-scan, full-scan-compressed and column-scan, and --path names none of them: add \
                 one, or leave --threads out",
            );
        }
        AccessEngine::check_rows(self.rows(), self.seed)?;
        let measures_bandwidth = AccessPath::all().any(|path| self.wants(path) && path.counts_bytes());
        if let Some(memory) = self.memory.filter(|memory| measures_bandwidth && memory.0 < STREAM_BYTES) {
            return refuse(format!(
                "--memory gives {}, and measuring the bandwidth of the memory alone takes {}: give more, or leave \
                 --memory out",
                size_in_words(memory.0),
                size_in_words(STREAM_BYTES)
            ));
        }
        match (&self.path[..], self.question) {
            ([AccessPath::ColumnCount], Some(Asked::AllPass)) => refuse(
                "--path column-count counts without a predicate, and --question all-pass has one: leave --question \
                 out, or name column-scan",
            ),
            _ => Ok(()),
        }
    }

    /// The table as subjects are asked for it, in at most `memory` bytes.
    pub(super) fn settings(&self, memory: Option<u64>) -> AccessSettings {
        AccessSettings {
            rows: self.rows(),
            seed: self.seed,
            asked: self.question(),
            paths: self.path.clone(),
            level: self.level,
            zone_maps: self.zone_maps,
            builders: None,
            memory,
            watch: Watch::Counters,
        }
    }

    /// Whether more than one thread is asked for.
    pub(super) fn has_several_threads(&self) -> bool {
        self.threads.iter().any(|threads| *threads > 1)
    }

    /// Whether a path is to be measured where it can be.
    pub(super) fn wants(&self, path: AccessPath) -> bool {
        self.path.is_empty() || self.path.contains(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_names_some_parameters_leaves_the_others_at_their_defaults() {
        let text = r#"{ "rows": 10, "path": ["full-scan"], "question": "no-predicate", "memory": "2GiB" }"#;
        let parameters: ScanParameters = serde_json::from_str(text).unwrap();
        assert_eq!((parameters.rows(), parameters.repeat, parameters.zone_maps), (10, 7, true));
        assert_eq!((parameters.path, parameters.question), (vec![AccessPath::FullScan], Some(Asked::NoPredicate)));
        assert!(serde_json::from_str::<ScanParameters>(r#"{ "row": 10 }"#).is_err(), "a slip is not a default");
    }

    #[test]
    fn memory_that_is_too_little_for_the_bandwidth_is_refused_only_where_that_is_measured() {
        let checked = |path: AccessPath| {
            let parameters = ScanParameters { path: vec![path], memory: Some(Size(64 << 20)), ..Default::default() };
            parameters.check().map_err(|error| error.to_string())
        };
        assert_eq!(checked(AccessPath::IndexGoodClustering), Ok(()));
        assert!(checked(AccessPath::FullScan).unwrap_err().contains("measuring the bandwidth"));
    }
}
