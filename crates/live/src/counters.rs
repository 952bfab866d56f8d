//! What the server counts of its statements, where the extension pg_stat_statements is there: executions, rows, blocks.

use std::collections::{BTreeMap, BTreeSet};

use measure::sorting;
use profile::tables::sampled::Counters;
use server::{Row, ServerError, Session};

use crate::refusal::unless_refused;
use crate::row::{parsed, text};
use crate::statements::{COUNTERS_PLACE, Texts, WITH_QUERY_ID, counters, is_own};

/// The extension, and the first version of its script that tells statements within functions apart.
const EXTENSION: &str = "pg_stat_statements";
const WITH_TOPLEVEL: (u32, u32) = (1, 9);

/// What was counted, by the statement's identifier, with the statement's text.
pub(crate) type Counted = BTreeMap<i64, (Counters, String)>;

/// A row of the extension: it counts a statement for each role and each database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    statement: i64,
    role: u32,
    database: u32,
}

/// What the rows have counted so far, with the statements' texts.
type Rows = BTreeMap<Place, (Counters, String)>;

/// Where the counters are, and what they were when the profile began.
#[derive(Clone, Debug)]
pub(crate) struct CounterSource {
    schema: String,
    has_toplevel: bool,
    before: BTreeMap<Place, Counters>,
    /// Our own statements; `None` where they were not looked for yet.
    own: Option<Own>,
    /// Whether what is counted until it is asked next is of a longer time than that is asked for.
    pub(crate) is_stale: bool,
}

/// The statements of readpath, those of other processes of it too.
#[derive(Clone, Debug, Default)]
struct Own {
    statements: BTreeSet<i64>,
    /// The roles that sent them, where more may come: some are sent when a session waits for a lock, or when a file is
    /// read that has no name yet.
    roles: BTreeSet<u32>,
}

impl Own {
    /// Those among rows with texts.
    fn of(rows: &Rows) -> Own {
        let ours = || rows.iter().filter(|(_, (_, text))| is_own(text)).map(|(place, _)| place);
        Own {
            statements: ours().map(|place| place.statement).collect(),
            roles: ours().map(|place| place.role).collect(),
        }
    }

    /// Whether one may be among these rows that was not among those before.
    fn may_be_new_in(&self, now: &Rows, before: &BTreeMap<Place, Counters>) -> bool {
        now.keys().any(|place| self.roles.contains(&place.role) && !before.contains_key(place))
    }
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
        let Some(schema) = session.text(COUNTERS_PLACE, Some("public"))? else {
            return Ok(Err("the server was started without its library (shared_preload_libraries)".into()));
        };
        let (before, own) = (BTreeMap::new(), None);
        let source = CounterSource { schema, has_toplevel, before, own, is_stale: false };
        // The role may not be allowed to call it.
        let rows = unless_refused(source.read(session, Texts::Left))?;
        Ok(rows.map(|rows| CounterSource { before: without_texts(rows), ..source }))
    }

    /// What was counted since it was opened, with the texts; our own statements are left out.
    pub(crate) fn since(&self, session: &mut Session) -> Result<Result<Counted, String>, ServerError> {
        let now = unless_refused(self.read(session, Texts::Brought))?;
        Ok(now.map(|now| {
            let mut counted = difference(now, &self.before);
            counted.retain(|_, (counted, text)| *counted != Counters::default() && !is_own(text));
            counted
        }))
    }

    /// What was counted since it was asked last, without texts: they come with samples.
    pub(crate) fn next(&mut self, session: &mut Session) -> Result<Result<Counted, String>, ServerError> {
        let now = match unless_refused(self.read_with_own(session))? {
            Ok(now) => without_texts(now),
            Err(why) => {
                self.is_stale = true;
                return Ok(Err(why));
            }
        };
        let is_ours = |id: &i64| self.own.as_ref().is_some_and(|own| own.statements.contains(id));
        let textless = now.iter().map(|(place, counted)| (*place, (counted.clone(), String::new())));
        let mut counted = difference(textless, &self.before);
        counted.retain(|id, (counted, _)| *counted != Counters::default() && !is_ours(id));
        self.before = now;
        match std::mem::take(&mut self.is_stale) {
            true => Ok(Err("some of what was counted is from before".into())),
            false => Ok(Ok(counted)),
        }
    }

    /// Gives nothing when it is asked next: the server counted while it was not watched.
    pub(crate) fn skip(&mut self) {
        self.is_stale = true;
    }

    /// Reads the rows. Our own statements are found by their texts, which are a file of the server: they come at first,
    /// and where one of ours may be new.
    fn read_with_own(&mut self, session: &mut Session) -> Result<Rows, ServerError> {
        if let Some(own) = &self.own {
            let now = self.read(session, Texts::Left)?;
            if !own.may_be_new_in(&now, &self.before) {
                return Ok(now);
            }
        }
        // Where they take too long they are not asked for again, and no more of our statements are known.
        let now = self.read(session, Texts::Brought).inspect_err(|_| self.own.get_or_insert_default().roles.clear())?;
        self.own = Some(Own::of(&now));
        Ok(now)
    }

    fn read(&self, session: &mut Session, texts: Texts) -> Result<Rows, ServerError> {
        let rows = session.rows_of_all_databases(&counters(&self.schema, self.has_toplevel, texts))?;
        Ok(sorting::map(rows.iter().filter_map(counted)))
    }
}

fn without_texts(rows: Rows) -> BTreeMap<Place, Counters> {
    rows.into_iter().map(|(place, (counted, _))| (place, counted)).collect()
}

/// What was counted since `before`, by statement. Each row is held against itself: one of them may have been begun
/// anew, and a sum of all would not show it.
fn difference(
    now: impl IntoIterator<Item = (Place, (Counters, String))>,
    before: &BTreeMap<Place, Counters>,
) -> Counted {
    let mut all = Counted::new();
    for (place, (mut counted, text)) in now {
        take_off(&mut counted, before.get(&place));
        let (sum, known) = all.entry(place.statement).or_default();
        sum.executions += counted.executions;
        sum.rows += counted.rows;
        sum.hits += counted.hits;
        sum.reads += counted.reads;
        if known.is_empty() {
            *known = text;
        }
    }
    all
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

fn counted(row: &Row) -> Option<(Place, (Counters, String))> {
    let place = Place { statement: parsed(row, 0)?, role: parsed(row, 1)?, database: parsed(row, 2)? };
    let (executions, rows, hits, reads) = (parsed(row, 3)?, parsed(row, 4)?, parsed(row, 5)?, parsed(row, 6)?);
    Some((place, (Counters { executions, rows, hits, reads }, text(row, 7).unwrap_or_default().to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of statement 7, each with its role, its database and its executions, of which each returned two rows.
    fn rows<const COUNT: usize>(rows: [(u32, u32, u64); COUNT]) -> Rows {
        let of = |(role, database, executions): (u32, u32, u64)| {
            let cells = [7, u64::from(role), u64::from(database), executions, 2 * executions, 0, 0];
            let cells = cells.map(|cell| cell.to_string()).into_iter().chain(["SELECT $1".to_string()]);
            counted(&cells.map(Some).collect()).unwrap()
        };
        rows.map(of).into()
    }

    #[test]
    fn a_row_that_was_begun_anew_takes_nothing_off_those_of_other_roles_and_databases() {
        let before = without_texts(rows([(1, 5, 1000), (1, 6, 70), (2, 5, 4)]));
        // That of the first role in the first database was removed and made again.
        let now = rows([(1, 5, 3), (1, 6, 90), (2, 5, 4), (3, 5, 1)]);
        let found = difference(now, &before);
        let expected = Counters { executions: 3 + 20 + 1, rows: 2 * 24, ..Counters::default() };
        assert_eq!(found, Counted::from([(7, (expected, "SELECT $1".into()))]));
    }

    #[test]
    fn a_statement_of_ours_that_is_sent_for_the_first_time_in_a_later_segment_is_looked_for() {
        let row = |statement: i64, role: u32, text: &str| {
            (Place { statement, role, database: 5 }, (Counters::default(), text.to_string()))
        };
        let at_first = [row(1, 10, "SELECT coalesce(sum(blks_hit), $1)::int8 FROM pg_stat_database"), row(2, 20, "x")];
        let own = Own::of(&at_first.clone().into());
        assert_eq!(own.statements, BTreeSet::from([1]));
        let before = without_texts(at_first.clone().into());
        let is_looked_for = |more: Option<(Place, (Counters, String))>| {
            own.may_be_new_in(&at_first.clone().into_iter().chain(more).collect(), &before)
        };
        assert!(!is_looked_for(None));
        assert!(!is_looked_for(Some(row(3, 20, ""))), "texts of an application's new statements are not asked for");
        assert!(is_looked_for(Some(row(3, 10, ""))));
    }

    #[test]
    fn a_tenth_script_is_newer_than_a_ninth() {
        assert!(number("1.10") > WITH_TOPLEVEL && number("1.9") >= WITH_TOPLEVEL && number("1.8") < WITH_TOPLEVEL);
    }
}
