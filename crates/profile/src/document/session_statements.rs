//! Which session ran which statement: the sums of statements by session, where there are several sessions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use measure::Case;
use measure::schema::profile::{self as schema, parameters as named};
use measure::sorting;

use crate::document::metrics::{FROM_CALLS, FROM_OWN_AND_WAITS, FROM_WAITS, case, reads, time};
use crate::document::{OTHERS, STATEMENTS_MAX, session_names};
use crate::event::{Merge, SessionIndex, StatementIndex};
use crate::tables::Profile;
use crate::tables::folding::fold_text;
use crate::tables::session_statement::{OTHER_STATEMENTS, SessionStatementSums};

/// Fewest statements that a session has rows for, however many sessions there are.
const ROWS_MIN: usize = 10;

/// One case a session and statement, and one for the further statements of a session; none where one session is all.
/// The statements of the profile may be folded.
pub(crate) fn cases(profile: &Profile) -> Vec<Case> {
    if profile.sessions.len() < 2 {
        return Vec::new();
    }
    let names = session_names(profile);
    let room = (STATEMENTS_MAX / profile.sessions.len()).max(ROWS_MIN);
    let mut cases = Vec::new();
    for (session, mut statements) in by_session(profile) {
        let Some(name) = names.get(&session) else { continue };
        let others = statements.remove(&OTHER_STATEMENTS);
        let mut ranked: Vec<(StatementIndex, SessionStatementSums)> = statements.into_iter().collect();
        ranked.retain(|(_, sums)| !sums.is_nothing());
        sorting::by_key(&mut ranked, |(_, sums)| Reverse(sums.response_time()));
        let (shown, rest) = ranked.split_at(ranked.len().min(room));
        let id = |index: &StatementIndex| profile.context.statement_id(*index);
        cases.extend(shown.iter().map(|(index, sums)| session_statement(name, id(index), sums)));
        if !rest.is_empty() || others.is_some() {
            let mut others = others.unwrap_or_default();
            rest.iter().for_each(|(_, sums)| others.merge(sums));
            cases.push(session_statement(name, OTHERS, &others));
        }
    }
    cases
}

/// The sums of all sessions, by the statements that have a row in the profile.
fn by_session(profile: &Profile) -> BTreeMap<SessionIndex, BTreeMap<StatementIndex, SessionStatementSums>> {
    let mut rows: Vec<StatementIndex> = profile.statements.iter().map(|one| one.statement).collect();
    sorting::ascending(&mut rows);
    let folded = folded(profile);
    let mut sessions: BTreeMap<SessionIndex, BTreeMap<StatementIndex, SessionStatementSums>> = BTreeMap::new();
    for one in &profile.session_statements {
        let text = || profile.context.statement(one.statement).map(|known| fold_text(&known.text));
        let is_row = one.statement == OTHER_STATEMENTS || rows.binary_search(&one.statement).is_ok();
        let row = if is_row { Some(one.statement) } else { text().and_then(|text| folded.get(&*text).copied()) };
        let Some(row) = row else { continue };
        sessions.entry(one.session).or_default().entry(row).or_default().merge(&one.sums);
    }
    sessions
}

/// The row of a statement in one of several sessions.
fn session_statement(session: &str, id: &str, sums: &SessionStatementSums) -> Case {
    let mut metrics = vec![
        schema::CALLS.count(FROM_CALLS, sums.calls),
        time(&schema::RESPONSE_TIME, FROM_OWN_AND_WAITS, sums.response_time()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Accounted, Observer, Placement, Session, Statement};
    use crate::observe::collector::{Collector, THINK_TIME};
    use crate::observe::tests::{context, fetch, wait};
    use crate::tables::folding;

    /// Two sessions; the second runs both statements, the first one of them.
    fn profile() -> Profile {
        let mut context = context(&[("SQL*Net message from client", &[])]);
        context.sessions = ["7.1", "8.1"].map(|id| Session { id: id.into() }).to_vec();
        let texts = [("aaaa", "select 1"), ("bbbb", "select 2")];
        context.statements =
            texts.map(|(id, text)| Statement { id: id.into(), text: text.into(), ..Statement::default() }).to_vec();
        let mut collector = Collector::new(THINK_TIME);
        for (session, statement, cpu) in [(0, 0, 300), (1, 0, 40), (1, 1, 5), (0, 0, 100)] {
            let mut call = fetch(statement, cpu, 10, 2);
            call.session = SessionIndex(session);
            collector.call(&context, &call);
        }
        let mut between = wait(0, 1000, [0; 3]);
        (between.session, between.placement) = (SessionIndex(1), Placement::Between);
        collector.wait(&context, &between);
        collector.finish(Accounted { context, ..Accounted::default() })
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
        let mut profile = profile();
        let row = |session: &str, id: &str, calls, time| (session.to_string(), id.to_string(), calls, time);
        let expected = [row("7.1", "aaaa", 2.0, 400.0), row("8.1", "aaaa", 1.0, 1040.0), row("8.1", "bbbb", 1.0, 5.0)];
        assert_eq!(rows(&cases(&profile)), expected);
        folding::fold(&mut profile);
        let expected = [row("7.1", "aaaa", 2.0, 400.0), row("8.1", "aaaa", 2.0, 1045.0)];
        assert_eq!(rows(&cases(&profile)), expected, "folded");
        profile.sessions.truncate(1);
        assert!(cases(&profile).is_empty(), "the whole says it all");
    }
}
