//! Parameters of the experiment.

use std::path::PathBuf;
use std::time::Duration;

use measure::Size;
use measure::quantity::size_in_words;
use sys::host;
use sys::memory::Pages;

use crate::error::{ExperimentError, refuse};
use crate::with_defaults::with_defaults;

/// Bytes of the test file by default.
pub const FILE: u64 = 1 << 30;

/// The smallest file or device from which anything can be concluded.
pub(super) const FILE_MIN: u64 = 16 << 20;

/// Bytes of the test file that the rung of the page cache reads: all that is read of it where the device rungs are
/// measured on something else.
pub const CACHED_PART: u64 = 128 << 20;

/// About how long the rungs take, on the test file and with two touches on another one.
const TIME: Duration = Duration::from_secs(32);
const TIME_ON: Duration = Duration::from_secs(46);

with_defaults! {
    /// Parameters of the experiment.
    #[derive(PartialEq)]
    pub struct LadderParameters {
        /// Where the test file is made; the command fills in a directory.
        pub dir: PathBuf = PathBuf::new(),
        /// Bytes of the test file; the default depends on what reads it.
        pub size: Option<Size> = None,
        /// A device for the device rungs, instead of the test file: a file, a block device, a word of
        /// `device::DEVICES`.
        pub on: Option<PathBuf> = None,
        /// Put the buffers of device reads on huge pages, where the system grants them.
        pub huge_pages: bool = true,
        /// Picks the order of random accesses and the content of the test file.
        pub seed: Option<u64> = None,
        /// The most memory that the rungs of main memory and of the pool walk through: for tests of the other rungs.
        #[serde(skip)]
        pub memory_max: Option<Size> = None,
    }
}

impl LadderParameters {
    /// Refuses what cannot be, with a sentence that says what to give instead.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.file_bytes().map(drop)
    }

    /// Bytes of the test file. Refuses what cannot be, with a sentence that says what to give instead.
    pub(super) fn file_bytes(&self) -> Result<u64, ExperimentError> {
        let most = if self.on.is_some() { CACHED_PART } else { u64::MAX };
        match self.size.map_or(FILE.min(most), |size| size.0) {
            ..FILE_MIN => {
                refuse(format!("--size sets the size of the test file: give {} or more", size_in_words(FILE_MIN)))
            }
            bytes if bytes > most => refuse(format!(
                "--size has no effect beyond {} with --on: no more of the test file is read then",
                size_in_words(most)
            )),
            bytes => Ok(bytes),
        }
    }

    /// About how long all rungs take.
    pub(super) fn time_of_rungs(&self) -> Duration {
        if self.on.is_some() { TIME_ON } else { TIME }
    }

    /// What a rung walks through of memory: a power of two within this share of what is free, at most `most`, and at
    /// least 64 MiB.
    pub(super) fn footprint(&self, share: u64, most: u64) -> usize {
        let most = self.memory_max.map_or(most, |size| size.0.min(most));
        let free = host::available_memory().unwrap_or(most);
        1 << (free / share).min(most).max(64 << 20).ilog2()
    }

    /// The pages that the buffers of device reads stand on.
    pub(super) fn pages(&self) -> Pages {
        if self.huge_pages { Pages::Huge } else { Pages::Small }
    }

    /// The seed of everything random.
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_footprint_is_a_power_of_two_beyond_any_cache() {
        let usual = LadderParameters::default();
        let footprint = usual.footprint(4, 2 << 30);
        assert!(footprint.is_power_of_two() && (64 << 20..=2 << 30).contains(&footprint));
        let small = LadderParameters { memory_max: Some(Size(1 << 20)), ..usual };
        assert_eq!(small.footprint(4, 2 << 30), 64 << 20);
    }
}
