//! Commits that come too often: what they cost, beside the rows that they end.

use measure::quantity::{format_nanos, grouped, three_digits};

use crate::document::Order;
use crate::event::{CallKind, Ticks};
use crate::tables::{Profile, StatementProfile};

/// The wait for the log at the end of a transaction.
pub(super) const LOG_SYNC: &str = "log file sync";

/// Commits from which on one for few rows is worth a word.
const COMMITS_MIN: u64 = 100;

/// Rows of a commit that are few.
const ROWS_MAX: f64 = 10.0;

/// Command types that change rows: INSERT, UPDATE, DELETE, MERGE.
const CHANGES: [i64; 4] = [2, 6, 7, 189];

/// The command type of COMMIT.
const COMMIT: i64 = 44;

/// Commits of few rows each.
#[derive(Clone, Debug)]
pub(super) struct Commits {
    /// Their number, their rows and their time, and what to do.
    pub(super) sentence: String,
    /// Their time in µs: of the statements that commit, and of the waits for the log after others.
    pub(super) micros: f64,
}

/// Commits of few rows each; `None` where they are few, or end many rows.
pub(super) fn small(profile: &Profile) -> Option<Commits> {
    let commits = profile.whole.transactions.commits;
    let changing = profile.statements.iter().filter(|one| changes_rows(profile, one));
    let rows: u64 = changing.map(|one| one.calls_of(&profile.context, CallKind::Exec).rows).sum();
    let rows_each = rows as f64 / commits.max(1) as f64;
    let micros = profile.statements.iter().map(|one| time_of_commits(profile, one)).sum::<Ticks>().micros();
    if commits < COMMITS_MIN || rows == 0 || rows_each > ROWS_MAX || micros <= 0.0 {
        return None;
    }
    let each = if rows == commits { "one a row".into() } else { format!("{} rows each", three_digits(rows_each)) };
    let (commits, time) = (grouped(commits), format_nanos(1e3 * micros));
    let sentence = format!("{commits} commits, {each}: {time}. Commit once a unit of work.");
    Some(Commits { sentence, micros })
}

/// Whether a statement changes rows.
pub(super) fn changes_rows(profile: &Profile, one: &StatementProfile) -> bool {
    profile.context.statement(one.statement).is_some_and(|known| CHANGES.contains(&known.command))
}

/// Whether a statement commits.
pub(super) fn is_commit(profile: &Profile, one: &StatementProfile) -> bool {
    profile.context.statement(one.statement).is_some_and(|known| known.command == COMMIT)
}

fn time_of_commits(profile: &Profile, one: &StatementProfile) -> Ticks {
    if is_commit(profile, one) {
        return Ticks(Order::ResponseTime.value(one));
    }
    let waits = one.waits.iter().filter(|(event, _)| profile.context.event_name(**event) == LOG_SYNC);
    waits.map(|(_, sums)| sums.total).sum()
}
