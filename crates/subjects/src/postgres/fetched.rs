//! Blocks of a relation: how many there are, and those that a session asks for within a transaction, as it counts
//! them itself, before the server adds them to its shared statistics.

use server::identifier::name_to_paste;
use server::{Buffers, ServerError, Session};

use super::read_timing::{GRANTED_SINCE, may_set};
use crate::error::SubjectError;

/// Makes sure that the session counts blocks: without that, all counts would be 0. Errors where the server does not and
/// the role may not set it.
pub(super) fn count_blocks(session: &mut Session) -> Result<(), SubjectError> {
    if session.facts().counts_blocks {
        return Ok(());
    }
    if may_set(session, "track_counts")? {
        return Ok(session.set("track_counts", "on")?);
    }
    let user = name_to_paste(&session.facts().user);
    let grant = match session.facts().major() >= GRANTED_SINCE {
        true => format!(", or allow the role to set it with GRANT SET ON PARAMETER track_counts TO {user}"),
        false => String::new(),
    };
    Err(SubjectError::Failed(format!(
        "the server does not count which blocks are read, because track_counts is off, and {user} may not set it: have \
         a superuser set it to on there{grant}"
    )))
}

/// Blocks of a relation's files; in a rehearsal `assumed`.
pub(super) fn blocks_of(session: &mut Session, relation: &str, assumed: u64) -> Result<u64, ServerError> {
    let size = format!("SELECT pg_relation_size('{relation}') / current_setting('block_size')::integer");
    session.number(&size, assumed)
}

/// Those of a table's `blocks` with rows that are not known to be visible to all; in a rehearsal none.
pub(super) fn hidden_of(session: &mut Session, table: &str, blocks: u64) -> Result<u64, ServerError> {
    // A load adds blocks to a file in advance, from 16 on; those behind the last row are never marked.
    let with_rows = format!("SELECT coalesce((max(ctid)::text::point)[0]::bigint + 1, 0) FROM {table}");
    let with_rows = session.number(&with_rows, blocks)?;
    let visible = format!("SELECT relallvisible FROM pg_class WHERE oid = '{table}'::regclass");
    Ok(with_rows.saturating_sub(session.number(&visible, blocks)?))
}

/// Blocks of a relation that were asked for so far in the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fetched {
    /// All.
    pub(super) fetched: u64,
    /// Those that were in shared buffers.
    pub(super) hit: u64,
}

impl Fetched {
    /// Asks for the counts of a relation; in a rehearsal `assumed`.
    pub(super) fn of(session: &mut Session, relation: &str, assumed: u64) -> Result<Fetched, ServerError> {
        let count = |what: &str| format!("SELECT pg_stat_get_xact_blocks_{what}('{relation}'::regclass)");
        let fetched = session.number(&count("fetched"), assumed)?;
        Ok(Fetched { fetched, hit: session.number(&count("hit"), assumed)? })
    }

    /// What was asked for since an earlier look.
    pub(super) fn since(self, before: Fetched) -> Buffers {
        let fetched = self.fetched.saturating_sub(before.fetched);
        let hits = self.hit.saturating_sub(before.hit);
        Buffers { hits, reads: fetched.saturating_sub(hits) }
    }
}
