//! What the server counts of its statements, where the extension pg_stat_statements is there: executions, rows, blocks.

use std::collections::{BTreeMap, BTreeSet};

use measure::sorting;
use profile::tables::sampled::Counters;
use server::{Row, ServerError, Session};

use crate::statements::{COUNTERS_PLACE, Texts, WITH_QUERY_ID, counters};

/// The extension, and the first version of its script that tells statements within functions apart.
const EXTENSION: &str = "pg_stat_statements";
const WITH_TOPLEVEL: (u32, u32) = (1, 9);

/// How the texts of our own statements can be told.
const OWN_MARK: &str = "readpath_sample";

/// What was counted, by the statement's identifier, with the statement's text.
pub(crate) type Counted = BTreeMap<i64, (Counters, String)>;

/// Where the counters are, and what they were when the profile began.
#[derive(Clone, Debug)]
pub(crate) struct CounterSource {
    schema: String,
    has_toplevel: bool,
    before: BTreeMap<i64, Counters>,
    /// The identifiers of our own statements, as far as they were looked for.
    own: Option<BTreeSet<i64>>,
    /// Whether what is counted until it is asked next is of a longer time than that is asked for.
    is_stale: bool,
}

impl CounterSource {
    /// Finds the extension and reads its counters; `Err` within holds the reason why there are none, which is no
    /// failure.
    pub(crate) fn open(session: &mut Session) -> Result<Result<CounterSource, String>, ServerError> {
        let is_rehearsal = session.is_rehearsal();
        if session.facts().major() < WITH_QUERY_ID {
            return Ok(Err("before version 14 sessions do not show which statement of it they run".into()));
        }
        let version = session.facts().extension(EXTENSION).map(String::from);
        if version.is_none() && !is_rehearsal {
            return Ok(Err("the database does not have the extension".into()));
        }
        let has_toplevel = version.is_none_or(|version| number(&version) >= WITH_TOPLEVEL);
        let schema = session.text(COUNTERS_PLACE, Some("public"))?.unwrap_or_else(|| "public".into());
        let (before, own) = (BTreeMap::new(), None);
        let mut source = CounterSource { schema, has_toplevel, before, own, is_stale: false };
        match source.read(session, Texts::Left) {
            Ok(rows) => {
                source.before = rows.into_iter().map(|(id, (counted, _))| (id, counted)).collect();
                Ok(Ok(source))
            }
            // It counts nothing where the server was started without its library.
            Err(error) if error.is_of_statement() => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// What was counted since it was opened, with the texts; our own statements are left out.
    pub(crate) fn since(&self, session: &mut Session) -> Result<Result<Counted, String>, ServerError> {
        let mut now = match self.read(session, Texts::Brought) {
            Ok(now) => now,
            Err(error) if error.is_of_statement() => return Ok(Err(error.to_string())),
            Err(error) => return Err(error),
        };
        for (id, (counted, _)) in &mut now {
            take_off(counted, self.before.get(id));
        }
        now.retain(|_, (counted, text)| *counted != Counters::default() && !text.contains(OWN_MARK));
        Ok(Ok(now))
    }

    /// What was counted since it was asked last, without texts: they come with samples.
    pub(crate) fn next(&mut self, session: &mut Session) -> Result<Result<Counted, String>, ServerError> {
        // Our own statements are found by their texts, once.
        let texts = if self.own.is_none() { Texts::Brought } else { Texts::Left };
        let now = match self.read(session, texts) {
            Ok(now) => now,
            Err(error) if error.is_of_statement() => {
                // Where the texts take too long they are not asked for again, and our own statements are not known.
                self.own.get_or_insert_default();
                self.is_stale = true;
                return Ok(Err(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let own = self.own.get_or_insert_with(|| {
            now.iter().filter(|(_, (_, text))| text.contains(OWN_MARK)).map(|(id, _)| *id).collect()
        });
        let mut counted = now.clone();
        let before = std::mem::take(&mut self.before);
        for (id, (counted, text)) in &mut counted {
            take_off(counted, before.get(id));
            text.clear();
        }
        counted.retain(|id, (counted, _)| *counted != Counters::default() && !own.contains(id));
        self.before = now.into_iter().map(|(id, (counted, _))| (id, counted)).collect();
        match std::mem::take(&mut self.is_stale) {
            true => Ok(Err("some of what was counted is from before".into())),
            false => Ok(Ok(counted)),
        }
    }

    /// Gives nothing when it is asked next: the server counted while it was not watched.
    pub(crate) fn skip(&mut self) {
        self.is_stale = true;
    }

    fn read(&self, session: &mut Session, texts: Texts) -> Result<Counted, ServerError> {
        let rows = session.rows(&counters(&self.schema, self.has_toplevel, texts))?;
        Ok(sorting::map(rows.iter().filter_map(counted)))
    }
}

/// Takes off what was counted before. Counters below those before were begun anew.
fn take_off(counted: &mut Counters, before: Option<&Counters>) {
    if let Some(before) = before.filter(|before| before.executions <= counted.executions) {
        counted.executions -= before.executions;
        counted.rows = counted.rows.saturating_sub(before.rows);
        counted.hits = counted.hits.saturating_sub(before.hits);
        counted.reads = counted.reads.saturating_sub(before.reads);
    }
}

/// The version of a script, such as `1.10`.
fn number(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn counted(row: &Row) -> Option<(i64, (Counters, String))> {
    let text = |at: usize| row.get(at)?.as_deref();
    let count = |at: usize| text(at)?.parse::<u64>().ok();
    let counted = Counters { executions: count(1)?, rows: count(2)?, hits: count(3)?, reads: count(4)? };
    Some((text(0)?.parse().ok()?, (counted, text(5).unwrap_or_default().to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_script_is_newer_than_a_ninth() {
        assert!(number("1.10") > WITH_TOPLEVEL && number("1.9") >= WITH_TOPLEVEL && number("1.8") < WITH_TOPLEVEL);
    }
}
