//! What a given server finds cached, by its own counters and by the page cache: which state its queries are in.

use std::fs;
use std::path::Path;

use sys::file::witness::cached;
use sys::file::{Caching, Target};

use super::Calibration;
use crate::error::SubjectError;

/// Blocks of this database since its counters were reset, the time of reads where the server takes it, and the folder
/// of its files.
const COUNTERS: &str = "SELECT blks_hit, blks_read, blk_read_time, current_setting('track_io_timing'), datid \
    FROM pg_stat_database WHERE datname = current_database()";

/// Tablespaces of their own, and what is set for each.
const TABLESPACES: &str = "SELECT spcname, array_to_string(spcoptions, ', ') FROM pg_tablespace \
    WHERE spcname <> 'pg_global' ORDER BY spcname";

/// Fewer blocks say nothing about a database's use.
const BLOCKS_MIN: f64 = 100_000.0;

/// The same for the reads whose time is taken.
const READS_MIN: f64 = 1000.0;

/// What a server finds cached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerCaches {
    /// Blocks that were asked for, and of these the share that was in the shared buffers; `None` where too few were.
    pub hits: Option<(f64, f64)>,
    /// Microseconds of a block that was read, where the server takes the time.
    pub read_micros: Option<f64>,
    /// Bytes of the database's files, and of these what the page cache holds; `None` where it cannot be seen.
    pub files: Option<(u64, u64)>,
}

impl Calibration {
    /// The tablespaces that tables can lie in, each with its own settings, which are empty where it has none.
    pub fn tablespaces(&mut self) -> Result<Vec<(String, String)>, SubjectError> {
        let pair = |row: Vec<Option<String>>| {
            let mut columns = row.into_iter().map(Option::unwrap_or_default);
            Some((columns.next()?, columns.next()?))
        };
        Ok(self.session().rows(TABLESPACES)?.into_iter().filter_map(pair).collect())
    }

    /// What the server finds cached, before anything is made there.
    pub fn server_caches(&mut self) -> Result<ServerCaches, SubjectError> {
        let row = self.session().rows(COUNTERS)?.into_iter().next().unwrap_or_default();
        let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let number = |at: usize| text(at).parse::<f64>().unwrap_or(0.0);
        let [hit, read, millis] = [number(0), number(1), number(2)];
        let is_timed = text(3) == "on" && read >= READS_MIN && millis > 0.0;
        let folder = self.facts().data_directory.as_ref().map(|data| Path::new(data).join("base").join(text(4)));
        Ok(ServerCaches {
            hits: (hit + read >= BLOCKS_MIN).then(|| (hit + read, hit / (hit + read))),
            read_micros: is_timed.then(|| millis * 1e3 / read),
            files: if self.is_local() { folder.and_then(|folder| held(&folder)) } else { None },
        })
    }
}

/// Bytes of the files in a folder, and of these what the page cache holds; `None` where one of them cannot be seen.
fn held(folder: &Path) -> Option<(u64, u64)> {
    let page = rustix::param::page_size() as u64;
    let mut sum = (0, 0);
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let size = entry.metadata().ok()?.len();
        if size > 0 {
            let target = Target::open(&entry.path(), Caching::Buffered).ok()?;
            sum = (sum.0 + size, sum.1 + cached(&target, 0, size).ok()?.pages * page);
        }
    }
    (sum.0 > 0).then_some(sum)
}
