//! The scanner alone, on one thread of this process: what of the profile's time is reading lines.

use std::path::Path;
use std::time::Instant;

use profile::input::{self, Given};
use profile::source::oracle::read::{ReadOptions, read};

/// Seconds to scan the file and to do nothing with the records.
pub(crate) fn seconds(path: &Path) -> Result<f64, String> {
    let begin = Instant::now();
    let source = input::open(&Given::File(path.into())).map_err(|problem| problem.to_string())?;
    let mut records = 0;
    let options = ReadOptions { workers: 1, chunk_bytes: ReadOptions::CHUNK_BYTES };
    read(source, options, &mut |batch| records += batch.records.len()).map_err(|error| error.to_string())?;
    if records == 0 { Err("no record was read".into()) } else { Ok(begin.elapsed().as_secs_f64()) }
}
