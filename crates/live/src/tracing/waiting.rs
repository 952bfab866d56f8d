//! Which sessions wait for which blocks of which files, where others read for them: PostgreSQL 18 shows its requests
//! under way.

use std::sync::Arc;

use profile::source::sampled::AwaitedRead;
use server::{Row, ServerError, Session};

use crate::refusal::unless_refused;
use crate::row::{parsed, text};

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
    let rows = unless_refused(session.rows(REQUESTS))?.unwrap_or_default();
    Ok(rows.iter().filter_map(request).collect())
}

fn request(row: &Row) -> Option<Request> {
    let (blocks, file) = described(text(row, 1)?)?;
    Some(Request { process: parsed(row, 0)?, file, blocks })
}

/// The folders below the data directory in which relations lie.
const FOLDERS: [&str; 3] = ["base/", "global/", "pg_tblspc/"];

/// The first and the last block of the relation, and the file of a description such as
/// `blocks 12..27 in file "base/5/16384"`. The server writes its words, their order and the marks in its own language.
fn described(text: &str) -> Option<((u64, u64), Arc<str>)> {
    let begin = FOLDERS.into_iter().filter_map(|folder| text.find(folder)).min()?;
    let (before, rest) = text.split_at(begin);
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '/';
    let (file, behind) = rest.split_at(rest.find(|letter: char| !is_of_path(letter)).unwrap_or(rest.len()));
    let words = [before, behind].into_iter().flat_map(|part| part.split(|letter: char| !letter.is_ascii_digit()));
    let numbers: Vec<u64> = words.filter(|word| !word.is_empty()).map(str::parse).collect::<Result<_, _>>().ok()?;
    let blocks = match *numbers.as_slice() {
        [only] => (only, only),
        [first, last] if first <= last => (first, last),
        _ => return None,
    };
    Some((blocks, Arc::from(file)))
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
        let broken = ["wal", "block 3 in file \"base", "blocks 9..3 in file \"base/5/1\"", "file \"base/5/1\"", "3"];
        assert!(broken.into_iter().all(|text| described(text).is_none()));
    }

    #[test]
    fn a_server_that_writes_descriptions_in_another_language_names_blocks_and_files_too() {
        let space = "pg_tblspc/16400/PG_18_202506282/5/16384_fsm";
        let of = |first, last, file: &str| Some(((first, last), Arc::from(file)));
        assert_eq!(described("Bl\u{f6}cke 12..27 in Datei \u{bb}base/5/t3_16384\u{ab}"), of(12, 27, "base/5/t3_16384"));
        assert_eq!(described(&format!("\u{30d5}\u{30a1}\u{30a4}\u{30eb}\"{space}\"\u{306e}3")), of(3, 3, space));
    }
}
