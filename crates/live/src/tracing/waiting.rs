//! Which sessions wait for which files, where others read for them: PostgreSQL 18 shows its requests under way.

use std::sync::Arc;

use server::{Row, ServerError, Session};

/// The requests under way, each with the session for which it is.
const REQUESTS: &str = "SELECT pid, target_desc FROM pg_aios WHERE operation = 'readv'";

/// Asks which session waits for which file; for none where it may not be asked.
pub(super) fn waiting(session: &mut Session) -> Result<Vec<(u32, Arc<str>)>, ServerError> {
    match session.rows(REQUESTS) {
        Ok(rows) => Ok(rows.iter().filter_map(pair).collect()),
        Err(ServerError::Statement { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn pair(row: &Row) -> Option<(u32, Arc<str>)> {
    let text = |at: usize| row.get(at)?.as_deref();
    Some((text(0)?.parse().ok()?, file(text(1)?)?))
}

/// The file of a description such as `blocks 12..27 in file "base/5/16384"`.
fn file(described: &str) -> Option<Arc<str>> {
    let (_, named) = described.split_once("in file \"")?;
    named.strip_suffix('"').map(Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_request_is_named_in_its_description() {
        assert_eq!(file("blocks 12..27 in file \"base/5/16384\"").as_deref(), Some("base/5/16384"));
        assert_eq!(file("block 3 in file \"global/1262\"").as_deref(), Some("global/1262"));
        assert_eq!((file("wal"), file("block 3 in file \"base")), (None, None));
    }
}
