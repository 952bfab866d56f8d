//! What a given server finds cached, by its own counters and by the page cache: which state its queries are in.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sys::file::witness::cached;
use sys::file::{Caching, Target};

use super::Calibration;
use crate::error::SubjectError;

/// Blocks of this database's tables since their counters were reset, the time of reads where the server takes it, and
/// the folder of its files.
///
/// The counters of tables, not the database's: these keep what earlier runs of this program read in tables that are
/// gone.
const COUNTERS: &str = "SELECT t.hit, t.read, d.blk_read_time, current_setting('track_io_timing'), d.datid, \
    d.blks_read, d.stats_reset >= pg_conf_load_time() AND (SELECT source IN ('configuration file', 'command line') \
    FROM pg_settings WHERE name = 'track_io_timing') FROM pg_stat_database d, (SELECT \
    sum(coalesce(heap_blks_hit, 0) + coalesce(idx_blks_hit, 0) + coalesce(toast_blks_hit, 0) + \
    coalesce(tidx_blks_hit, 0)) AS hit, \
    sum(coalesce(heap_blks_read, 0) + coalesce(idx_blks_read, 0) + coalesce(toast_blks_read, 0) + \
    coalesce(tidx_blks_read, 0)) AS read FROM pg_statio_user_tables) t WHERE d.datname = current_database()";

/// Fewer blocks say nothing about a database's use.
const BLOCKS_MIN: f64 = 100_000.0;

/// The same for the reads whose time is taken.
const READS_MIN: f64 = 1000.0;

/// For how many steps, and how long each, the counters are watched where reads since their reset may have been timed in
/// part.
const WATCHED: u32 = 20;
const STEP: Duration = Duration::from_millis(100);

/// What a server finds cached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerCaches {
    /// Blocks that were asked for, and of these the share that was in the shared buffers; `None` where too few were.
    pub hits: Option<(f64, f64)>,
    /// Microseconds of a block that was read, where the server takes the time.
    pub read_micros: Option<f64>,
    /// Whether that is of reads that were watched as the run began, and not of those since the counters were reset.
    pub is_watched: bool,
    /// The same where `track_io_timing` may have come on after the counters were reset: reads were then timed in part,
    /// and a block took at least this long.
    pub read_micros_least: Option<f64>,
    /// Bytes of the database's files, and of these what the page cache holds; `None` where it cannot be seen.
    pub files: Option<(u64, u64)>,
}

impl Calibration {
    /// What the server finds cached, before anything is made there.
    pub fn server_caches(&mut self) -> Result<ServerCaches, SubjectError> {
        let row = self.session().rows(COUNTERS)?.into_iter().next().unwrap_or_default();
        let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let number = |at: usize| text(at).parse::<f64>().unwrap_or(0.0);
        let [hit, read, millis, reads_timed] = [number(0), number(1), number(2), number(5)];
        let is_timed = text(3) == "on" && reads_timed >= READS_MIN && millis > 0.0;
        let folders = self.facts().data_directory.as_ref().and_then(|data| folders(Path::new(data), text(4)));
        let timed = is_timed.then(|| millis * 1e3 / reads_timed);
        let is_whole = text(6) == "t";
        let watched = if is_timed && !is_whole { self.watched_micros([millis, reads_timed])? } else { None };
        let (read_micros, read_micros_least) = match (is_whole, watched) {
            (true, _) => (timed, None),
            (false, Some(micros)) => (Some(micros), None),
            (false, None) => (None, timed),
        };
        Ok(ServerCaches {
            hits: (hit + read >= BLOCKS_MIN).then(|| (hit + read, hit / (hit + read))),
            read_micros,
            is_watched: watched.is_some(),
            read_micros_least,
            files: if self.is_local() { folders.and_then(|folders| held(&folders)) } else { None },
        })
    }

    /// Microseconds of a block that is read now, by how far the counters of time and of blocks go on; `None` where too
    /// few blocks are read.
    fn watched_micros(&mut self, [millis, reads]: [f64; 2]) -> Result<Option<f64>, SubjectError> {
        for _ in 0..WATCHED {
            self.session().check_stop()?;
            thread::sleep(STEP);
        }
        let row = self.session().rows(COUNTERS)?.into_iter().next().unwrap_or_default();
        let number = |at: usize| row.get(at)?.as_ref()?.parse::<f64>().ok();
        let since = number(2).zip(number(5)).map(|(later, more)| [later - millis, more - reads]);
        Ok(since
            .filter(|[millis, reads]| *reads >= READS_MIN && *millis > 0.0)
            .map(|[millis, reads]| millis * 1e3 / reads))
    }
}

/// The folders of a database's files: in the default tablespace, and in each of the others where it has any; `None`
/// where they cannot be seen.
fn folders(data: &Path, database: &str) -> Option<Vec<PathBuf>> {
    let below = |folder: &Path| -> Option<Vec<PathBuf>> {
        Some(fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect())
    };
    let mut all = vec![data.join("base").join(database)];
    for space in below(&data.join("pg_tblspc"))? {
        // One folder for each major version that has used it.
        all.extend(below(&space)?.into_iter().map(|version| version.join(database)));
    }
    Some(all.into_iter().filter(|folder| folder.exists()).collect())
}

/// Bytes of the files in folders, and of these what the page cache holds; `None` where one of them cannot be seen.
fn held(folders: &[PathBuf]) -> Option<(u64, u64)> {
    let mut sum = (0, 0);
    for folder in folders {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            match held_of(&path) {
                Some((size, held)) => sum = (sum.0 + size, sum.1 + held),
                // A server in use removes files at any time: each temporary table has some.
                None if matches!(path.try_exists(), Ok(false)) => {}
                None => return None,
            }
        }
    }
    (sum.0 > 0).then_some(sum)
}

/// The same of a file.
fn held_of(path: &Path) -> Option<(u64, u64)> {
    let size = path.metadata().ok()?.len();
    if size == 0 {
        return Some((0, 0));
    }
    let target = Target::open(path, Caching::Buffered).ok()?;
    Some((size, cached(&target, 0, size).ok()?.pages * rustix::param::page_size() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_database_in_every_tablespace_are_looked_at() {
        let data = tempfile::tempdir().unwrap();
        let space = "pg_tblspc/16385/PG_15_202209061";
        for (folder, bytes) in [("base/5", 4096), ("base/7", 512), (&format!("{space}/5"), 8192)] {
            fs::create_dir_all(data.path().join(folder)).unwrap();
            fs::write(data.path().join(folder).join("1234"), vec![1; bytes]).unwrap();
        }
        fs::create_dir_all(data.path().join("pg_tblspc/16386/PG_15_202209061/9")).unwrap();
        let found = folders(data.path(), "5").unwrap();
        assert_eq!(found, [data.path().join("base/5"), data.path().join(space).join("5")]);
        assert_eq!(held(&found).unwrap().0, 4096 + 8192);
        // As if the server had removed the file meanwhile.
        std::os::unix::fs::symlink(data.path().join("gone"), found[0].join("t3_1234")).unwrap();
        assert_eq!(held(&found).map(|(size, _)| size), Some(4096 + 8192), "a file that is gone hides no other");
        fs::remove_dir_all(data.path().join("pg_tblspc")).unwrap();
        assert_eq!(folders(data.path(), "5"), None, "what cannot be seen is no zero");
    }
}
