//! Which sessions wait for which blocks of which files, where others read for them: PostgreSQL 18 shows its requests
//! under way.

use std::sync::Arc;

use profile::source::sampled::AwaitedRead;
use server::{Row, ServerError, Session};

/// The requests under way, each with the session for which it is.
const REQUESTS: &str = "SELECT pid, target_desc FROM pg_aios WHERE operation = 'readv'";

/// A request under way, without the moment at which the server was asked.
pub(super) struct Request {
    process: u32,
    file: Arc<str>,
    blocks: (u64, u64),
}

impl Request {
    /// As it was at a moment in µs since 1970.
    pub(super) fn at(self, at: i64) -> AwaitedRead {
        AwaitedRead { process: self.process, at, file: self.file, blocks: self.blocks }
    }
}

/// Asks which session waits for which blocks; for none where it may not be asked.
pub(super) fn waiting(session: &mut Session) -> Result<Vec<Request>, ServerError> {
    match session.rows(REQUESTS) {
        Ok(rows) => Ok(rows.iter().filter_map(request).collect()),
        Err(error) if error.is_of_statement() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn request(row: &Row) -> Option<Request> {
    let text = |at: usize| row.get(at)?.as_deref();
    let (blocks, file) = described(text(1)?)?;
    Some(Request { process: text(0)?.parse().ok()?, file, blocks })
}

/// The first and the last block of the relation, and the file of a description such as
/// `blocks 12..27 in file "base/5/16384"`.
fn described(text: &str) -> Option<((u64, u64), Arc<str>)> {
    let (blocks, named) = text.split_once(" in file \"")?;
    let (_, range) = blocks.split_once(' ')?;
    let (first, last) = range.split_once("..").unwrap_or((range, range));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    Some(((first, last), Arc::from(named.strip_suffix('"')?))).filter(|_| first <= last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::is_own;

    #[test]
    fn what_is_asked_of_requests_under_way_is_known_as_ours_where_the_server_counts_it() {
        assert!(is_own(REQUESTS));
    }

    #[test]
    fn the_blocks_and_the_file_of_a_request_are_named_in_its_description() {
        let of = |first, last, file: &str| Some(((first, last), Arc::from(file)));
        assert_eq!(described("blocks 12..27 in file \"base/5/16384\""), of(12, 27, "base/5/16384"));
        assert_eq!(described("block 3 in file \"global/1262\""), of(3, 3, "global/1262"));
        let broken = ["wal", "block 3 in file \"base", "blocks 9..3 in file \"a\"", "blocks x..3 in file \"a\"", "3"];
        assert!(broken.into_iter().all(|text| described(text).is_none()));
    }
}
