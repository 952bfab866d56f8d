//! Which session ran which statement: the sums of statements by session, where there are several sessions.
//!
//! Calls and waits come by the ten million and most traces have one session, so nothing is kept for the first one: its
//! sums are those of the whole less those of all others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use measure::Case;
use measure::schema::profile::{self as schema, parameters as named};

use crate::document::metrics::{FROM_CALLS, FROM_WAITS, case, reads, time};
use crate::document::{OTHERS, STATEMENTS_MAX, session_names};
use crate::event::{
    Call, Context, Cost, Merge, Observer, Placement, SessionIndex, StatementIndex, Ticks, Wait, merged,
};
use crate::tables::Profile;
use crate::tables::folding::fold_text;

/// Fewest statements that a session has rows for, however many sessions there are.
const ROWS_MIN: usize = 10;

/// What a statement did in one session, recursive children left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SessionSums {
    /// Calls.
    calls: u64,
    /// Rows.
    rows: u64,
    /// Work and time of the calls.
    own: Cost,
    /// Time of the waits after them.
    between: Ticks,
}

merged! {
    SessionSums: calls, rows, own, between;
}

impl SessionSums {
    fn take_off(&mut self, other: &SessionSums) {
        self.calls = self.calls.saturating_sub(other.calls);
        self.rows = self.rows.saturating_sub(other.rows);
        self.own -= other.own;
        self.between -= other.between;
    }

    /// Whether nothing at all happened.
    fn is_nothing(&self) -> bool {
        self.calls == 0 && self.between == Ticks::ZERO
    }
}

/// A session, and one of its statements.
type Key = (SessionIndex, StatementIndex);

/// Listens to calls and waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionStatements {
    first: Option<SessionIndex>,
    /// The sums of all sessions but the first.
    others: Vec<(Key, SessionSums)>,
    places: HashMap<Key, u32, RandomState>,
    /// By statement, the place that was looked for last: a statement seldom changes its session, so that this saves
    /// nearly all searches in the map.
    recent: Vec<u32>,
}

impl SessionStatements {
    #[inline]
    fn sums(&mut self, session: SessionIndex, statement: StatementIndex) -> Option<&mut SessionSums> {
        let first = *self.first.get_or_insert(session);
        if session == first {
            return None;
        }
        let key = (session, statement);
        let recent = self.recent.get(statement.0 as usize).map_or(0, |place| *place as usize);
        let is_it = self.others.get(recent).is_some_and(|(known, _)| *known == key);
        let place = if is_it { recent } else { self.search(key) };
        self.others.get_mut(place).map(|(_, sums)| sums)
    }

    #[cold]
    fn search(&mut self, key: Key) -> usize {
        let next = self.others.len();
        let place = *self.places.entry(key).or_insert(next as u32);
        if place as usize == next {
            self.others.push((key, SessionSums::default()));
        }
        let statement = key.1.0 as usize;
        if self.recent.len() <= statement {
            self.recent.resize(statement + 1, 0);
        }
        self.recent[statement] = place;
        place as usize
    }

    /// One case a session and statement, and one for the further statements of a session; none where one session is
    /// all. `profile` is the profile of the same trace, its statements folded or not.
    pub(crate) fn cases(&self, profile: &Profile) -> Vec<Case> {
        let Some(first) = self.first.filter(|_| profile.sessions.len() > 1) else { return Vec::new() };
        let names = session_names(profile);
        let room = (STATEMENTS_MAX / profile.sessions.len()).max(ROWS_MIN);
        let mut cases = Vec::new();
        for (session, statements) in self.by_session(profile, first) {
            let Some(name) = names.get(&session) else { continue };
            let mut ranked: Vec<(StatementIndex, SessionSums)> = statements.into_iter().collect();
            ranked.retain(|(_, sums)| !sums.is_nothing());
            ranked.sort_by_key(|(_, sums)| Reverse(sums.own.elapsed + sums.between));
            let (shown, rest) = ranked.split_at(ranked.len().min(room));
            let id = |index: StatementIndex| profile.context.statement(index).map_or("", |one| &one.id);
            cases.extend(shown.iter().map(|(index, sums)| session_statement(name, id(*index), sums)));
            if !rest.is_empty() {
                let mut others = SessionSums::default();
                rest.iter().for_each(|(_, sums)| others.merge(sums));
                cases.push(session_statement(name, OTHERS, &others));
            }
        }
        cases
    }

    /// The sums of all sessions, the first one's by difference.
    fn by_session(
        &self,
        profile: &Profile,
        first: SessionIndex,
    ) -> BTreeMap<SessionIndex, BTreeMap<StatementIndex, SessionSums>> {
        let whole = profile.statements.iter().map(|one| {
            let calls = one.calls.values();
            let (count, rows) =
                calls.fold((0, 0_u64), |(count, rows), sums| (count + sums.calls, rows.saturating_add(sums.rows)));
            (one.statement, SessionSums { calls: count, rows, own: one.own, between: one.between })
        });
        let mut of_first: BTreeMap<StatementIndex, SessionSums> = whole.collect();
        let folded = folded(profile);
        let mut sessions: BTreeMap<SessionIndex, BTreeMap<StatementIndex, SessionSums>> = BTreeMap::new();
        for ((session, statement), sums) in &self.others {
            let text = || profile.context.statement(*statement).map(|known| fold_text(&known.text));
            let is_row = of_first.contains_key(statement);
            let row = if is_row { Some(*statement) } else { text().and_then(|text| folded.get(&*text).copied()) };
            let Some(row) = row else { continue };
            sessions.entry(*session).or_default().entry(row).or_default().merge(sums);
            of_first.entry(row).or_default().take_off(sums);
        }
        sessions.insert(first, of_first);
        sessions
    }
}

/// The row of a statement in one of several sessions.
fn session_statement(session: &str, id: &str, sums: &SessionSums) -> Case {
    let response_time = sums.own.elapsed + sums.between;
    let mut metrics = vec![
        schema::CALLS.count(FROM_CALLS, sums.calls),
        time(&schema::RESPONSE_TIME, "trace: own time of calls, and waits after them", response_time),
    ];
    metrics.extend(sums.own.cpu.map(|cpu| time(&schema::CPU, FROM_CALLS, cpu)));
    metrics.extend(reads(&sums.own));
    metrics.extend([schema::ROWS.count(FROM_CALLS, sums.rows), time(&schema::OUTSIDE, FROM_WAITS, sums.between)]);
    case([named::TABLE.of("statement"), named::SESSION.of(session), named::ID.of(id)], metrics)
}

/// The rows that statements were folded into, by their folded text.
fn folded(profile: &Profile) -> HashMap<&str, StatementIndex> {
    let text = |index: StatementIndex| profile.context.statement(index).map(|known| &*known.text);
    profile.statements.iter().rev().filter_map(|one| Some((text(one.statement)?, one.statement))).collect()
}

impl Observer for SessionStatements {
    fn call(&mut self, _context: &Context, call: &Call) {
        if let Some(sums) = self.sums(call.session, call.statement) {
            sums.calls += 1;
            sums.rows = sums.rows.saturating_add(call.rows);
            sums.own.merge(&call.own);
        }
    }

    fn wait(&mut self, _context: &Context, wait: &Wait) {
        if let Some(sums) = self.sums(wait.session, wait.statement)
            && matches!(wait.placement, Placement::Between)
        {
            sums.between += wait.elapsed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Accounted, Session, Statement};
    use crate::observe::collector::{Collector, THINK_TIME};
    use crate::observe::tests::{context, fetch, wait};
    use crate::tables::folding;

    /// Two sessions; the second runs both statements, the first one of them.
    fn heard() -> (SessionStatements, Profile) {
        let mut context = context(&[("SQL*Net message from client", &[])]);
        context.sessions = ["7.1", "8.1"].map(|id| Session { id: id.into() }).to_vec();
        let texts = [("aaaa", "select 1"), ("bbbb", "select 2")];
        context.statements =
            texts.map(|(id, text)| Statement { id: id.into(), text: text.into(), ..Statement::default() }).to_vec();
        let (mut heard, mut collector) = (SessionStatements::default(), Collector::new(THINK_TIME));
        let both = &mut (&mut heard, &mut collector);
        for (session, statement, cpu) in [(0, 0, 300), (1, 0, 40), (1, 1, 5), (0, 0, 100)] {
            let mut call = fetch(statement, cpu, 10, 2);
            call.session = SessionIndex(session);
            both.call(&context, &call);
        }
        let mut between = wait(0, 1000, [0; 3]);
        (between.session, between.placement) = (SessionIndex(1), Placement::Between);
        both.wait(&context, &between);
        let profile = collector.finish(Accounted { context, ..Accounted::default() });
        (heard, profile)
    }

    fn rows(cases: &[Case]) -> Vec<(String, String, f64, f64)> {
        let row = |case: &Case| {
            let text = |name: &str| case.parameter(name).unwrap();
            let value = |name: &str| case.metric(name).unwrap().median();
            (text("session"), text("id"), value("calls"), value("response_time"))
        };
        cases.iter().map(row).collect()
    }

    #[test]
    fn the_statements_of_all_sessions_add_up_to_those_of_the_whole() {
        let (heard, mut profile) = heard();
        let row = |session: &str, id: &str, calls, time| (session.to_string(), id.to_string(), calls, time);
        let expected = [row("7.1", "aaaa", 2.0, 400.0), row("8.1", "aaaa", 1.0, 1040.0), row("8.1", "bbbb", 1.0, 5.0)];
        assert_eq!(rows(&heard.cases(&profile)), expected);
        folding::fold(&mut profile);
        let expected = [row("7.1", "aaaa", 2.0, 400.0), row("8.1", "aaaa", 2.0, 1045.0)];
        assert_eq!(rows(&heard.cases(&profile)), expected, "folded");
        profile.sessions.truncate(1);
        assert!(heard.cases(&profile).is_empty(), "the whole says it all");
    }
}
