//! What the page cache keeps of files that were dropped from it: of all, and of the one that it keeps most of.

use sys::file::witness::Cached;

/// Pages of the page cache, of 4 KiB, that a file has whose share is looked at by itself.
const PAGES_OF_A_TABLE: u64 = 256;

/// What the page cache still held of a private server's files when they had been dropped from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StillCached {
    /// Share of the pages of all files, 0 to 1.
    pub of_all: f64,
    /// The largest share of the pages of one file, of those of 1 MiB or more: the file of a small table that other
    /// programs hold in memory is a small part of all.
    pub of_one: f64,
    /// The type of the file system, where it is known.
    pub filesystem: Option<String>,
}

impl StillCached {
    /// Of all files, each with the pages that stayed.
    pub(super) fn of(files: &[Cached]) -> StillCached {
        let share = |pages: u64, of: u64| pages as f64 / (of as f64).max(1.0);
        let all = |count: fn(&Cached) -> u64| files.iter().map(count).sum::<u64>();
        let large = files.iter().filter(|file| file.of >= PAGES_OF_A_TABLE);
        StillCached {
            of_all: share(all(|file| file.pages), all(|file| file.of)),
            of_one: large.map(|file| share(file.pages, file.of)).fold(0.0, f64::max),
            filesystem: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_table_that_stays_cached_is_not_lost_among_large_ones() {
        let file = |pages, of| Cached { pages, of, source: "cachestat(2)" };
        let still = StillCached::of(&[file(0, 1 << 20), file(300, 400), file(2, 2)]);
        assert!(still.of_all < 0.001, "{still:?}");
        assert_eq!(still.of_one, 0.75, "and not that of a file of few pages");
        assert_eq!(StillCached::of(&[]), StillCached::default());
    }
}
