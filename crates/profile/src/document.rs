//! A profile as cases of a run document: one a row of its tables, times in true microseconds.
//!
//! The parameter `table` says which table a case is a row of. Tables that exist by session have the parameter
//! `session`, and stand without it for the whole.

pub(crate) mod files;
pub(crate) mod metrics;
pub(crate) mod reads;
pub(crate) mod sampled;
pub(crate) mod session_statements;
mod statement;
pub(crate) mod timeline;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use measure::schema::profile::{self as schema, UNNAMED_SESSION, parameters as named};
use measure::sorting;
use measure::wait_class::Class;
use measure::{Case, Metric};
use serde_json::Value;

use crate::document::metrics::{
    FROM_CALLS, FROM_CLOCK, FROM_DIFFERENCE, FROM_OWN_AND_WAITS, FROM_WAITS, block_metrics, call_metrics, case,
    event_metrics, events_by_name, histogram, reads, time,
};
use crate::event::{Merge, Scope, SessionIndex, Ticks};
use crate::tables::class_sums::{ClassSums, class_sums, work};
use crate::tables::{BlockSums, Profile, ScopeSums, SessionProfile, Transactions};
pub(crate) use statement::OTHERS;
pub use statement::{Order, STATEMENTS_MAX, Selection, find_statement, ranked};

/// Most rows of modules, actions and the like; the rest are added up in one row, whose module is `OTHERS`.
const SCOPES_MAX: usize = 1_000;

/// How the response time of sessions was obtained.
const FROM_ROOTS_AND_WAITS: &str =
    "trace: calls without a parent, and waits between calls, think time and idle waits included";

/// How the numbers of transactions were obtained.
const FROM_ENDS: &str = "trace: ends of transactions";

/// All cases of a profile; details of statements for those that `selection` names.
pub fn cases(profile: &Profile, selection: &Selection) -> Vec<Case> {
    let mut cases = set(profile, &profile.whole, None);
    let names = session_names(profile);
    for session in &profile.sessions {
        let name = session.session.and_then(|index| names.get(&index)).map_or("", String::as_str);
        cases.extend(set(profile, session, Some(name)));
    }
    cases.extend(scopes(profile));
    cases.extend(files(profile));
    cases.extend(statement::cases(profile, selection));
    cases
}

/// The names of the sessions that have a profile, made different where two have the same.
pub(crate) fn session_names(profile: &Profile) -> HashMap<SessionIndex, String> {
    let mut names: HashMap<SessionIndex, String> = HashMap::new();
    let mut uses: HashMap<&str, u32> = HashMap::new();
    for index in profile.sessions.iter().filter_map(|session| session.session) {
        let id = profile.context.sessions.get(index.0 as usize).map_or("", |session| session.id.as_str());
        let id = if id.is_empty() { UNNAMED_SESSION } else { id };
        let count = uses.entry(id).or_default();
        *count += 1;
        names.insert(index, if *count == 1 { id.into() } else { format!("{id} ({count})") });
    }
    names
}

/// The tables that exist for the whole and for each session.
fn set(profile: &Profile, of: &SessionProfile, session: Option<&str>) -> Vec<Case> {
    let case = |table: &str, parameters: Vec<(String, Value)>, metrics: Vec<Metric>| {
        let first = std::iter::once(named::TABLE.of(table)).chain(session.map(|name| named::SESSION.of(name)));
        case(first.chain(parameters), metrics)
    };
    let mut cases = vec![case("summary", Vec::new(), summary(of))];
    let classes = class_sums(of, &profile.context);
    for (class, sums) in &classes {
        let source = source_of(*class);
        let metrics = vec![schema::CALLS.count(source, sums.calls), time(&schema::TOTAL, source, sums.total)];
        cases.push(case("class", vec![named::CLASS.of(class.key())], metrics));
    }
    for (class, sums) in &classes {
        for (event, (calls, total)) in class_events(profile, sums) {
            let parameters = vec![named::CLASS.of(class.key()), named::EVENT.of(event)];
            let metrics = vec![schema::CALLS.count(FROM_WAITS, calls), time(&schema::TOTAL, FROM_WAITS, total)];
            cases.push(case("class_event", parameters, metrics));
        }
    }
    for (event, sums) in events_by_name(profile, &of.events) {
        cases.push(case("event", vec![named::EVENT.of(event)], event_metrics(&sums)));
        for (from, metrics) in histogram(FROM_WAITS, &sums.histogram) {
            cases.push(case("histogram", vec![named::EVENT.of(event), named::FROM_US.of(from)], metrics));
        }
    }
    for ((name, recursive), sums) in &of.calls {
        let parameters = vec![named::CALL.of(profile.context.call_name(*name)), named::RECURSIVE.of(*recursive)];
        cases.push(case("call", parameters, call_metrics(sums)));
    }
    cases
}

/// Where the numbers of a class come from: only CPU is on the lines of calls.
fn source_of(class: Class) -> &'static str {
    match class {
        Class::Cpu | Class::CpuParse => FROM_CALLS,
        Class::UnaccountedWithin | Class::UnaccountedBetween => FROM_DIFFERENCE,
        Class::Unrecorded => FROM_CLOCK,
        _ => FROM_WAITS,
    }
}

/// The events of a class by name: releases spell the parameters of an event differently, and it is one event still.
pub(crate) fn class_events<'a>(profile: &'a Profile, sums: &ClassSums) -> BTreeMap<&'a str, (u64, Ticks)> {
    let mut named: BTreeMap<&str, (u64, Ticks)> = BTreeMap::new();
    for (index, calls, total) in &sums.events {
        let entry = named.entry(profile.context.event_name(*index)).or_default();
        entry.0 += calls;
        entry.1 += *total;
    }
    named
}

fn summary(of: &SessionProfile) -> Vec<Metric> {
    let mut metrics = vec![
        time(&schema::INTERVAL, FROM_CLOCK, of.interval),
        time(&schema::RESPONSE_TIME, FROM_ROOTS_AND_WAITS, of.response_time),
        time(&schema::CPU, FROM_CALLS, of.cpu),
        time(&schema::WAITS, FROM_WAITS, of.waits),
        time(&schema::UNACCOUNTED_WITHIN, FROM_DIFFERENCE, of.unaccounted_within),
        time(&schema::UNACCOUNTED_BETWEEN, FROM_DIFFERENCE, of.unaccounted_between),
        schema::ROOTS.count(FROM_CALLS, of.roots),
        schema::ORPHANS.count(FROM_CALLS, of.orphans),
        schema::INTERRUPTIONS.count(FROM_CLOCK, of.interruptions),
        time(&schema::IN_CALLS, FROM_CALLS, of.in_calls()),
    ];
    if of.transactions != Transactions::default() {
        metrics.extend([
            schema::COMMITS.count(FROM_ENDS, of.transactions.commits),
            schema::ROLLBACKS.count(FROM_ENDS, of.transactions.rollbacks),
            schema::READ_ONLY_ENDS.count(FROM_ENDS, of.transactions.read_only),
        ]);
    }
    let work = work(of);
    if work.cpu.is_none() && !of.calls.is_empty() {
        metrics.retain(|metric| metric.name != "cpu");
    }
    metrics.extend(reads(&work));
    metrics
}

/// Sums by module, action, service, client and container; none where all share one.
fn scopes(profile: &Profile) -> Vec<Case> {
    let mut named: Vec<(&Scope, ScopeSums)> = Vec::new();
    let mut places: HashMap<&Scope, usize> = HashMap::new();
    for (index, sums) in &profile.scopes {
        let Some(scope) = profile.context.scopes.get(index.0 as usize) else { continue };
        let place = *places.entry(scope).or_insert(named.len());
        if place == named.len() {
            named.push((scope, ScopeSums::default()));
        }
        named[place].1.merge(sums);
    }
    if named.len() < 2 {
        return Vec::new();
    }
    let others = Scope { module: OTHERS.into(), ..Scope::default() };
    add_up_least(&mut named, &others);
    let rows = named.into_iter().map(|(scope, sums)| {
        let parameters = [
            named::TABLE.of("scope"),
            named::MODULE.of(scope.module.as_str()),
            named::ACTION.of(scope.action.as_str()),
            named::SERVICE.of(scope.service.as_str()),
            named::CLIENT.of(scope.client.as_str()),
            named::CONTAINER.of(scope.container.as_str()),
        ];
        let mut metrics = vec![
            schema::CALLS.count(FROM_CALLS, sums.calls),
            time(&schema::RESPONSE_TIME, FROM_OWN_AND_WAITS, sums.own.elapsed + sums.between),
            schema::WAIT_COUNT.count(FROM_WAITS, sums.waits),
            time(&schema::INSIDE, FROM_WAITS, sums.inside),
            time(&schema::OUTSIDE, FROM_WAITS, sums.between),
            time(&schema::THINK_TIME, FROM_WAITS, sums.think_time),
            time(&schema::IDLE, FROM_WAITS, sums.idle),
        ];
        metrics.extend(sums.own.cpu.map(|cpu| time(&schema::CPU, FROM_CALLS, cpu)));
        metrics.extend(reads(&sums.own));
        case(parameters, metrics)
    });
    rows.collect()
}

/// Adds up the scopes with least time in one, where there are too many.
fn add_up_least<'a>(named: &mut Vec<(&'a Scope, ScopeSums)>, others: &'a Scope) {
    if named.len() <= SCOPES_MAX {
        return;
    }
    sorting::by_key(named, |(_, sums)| Reverse(sums.own.elapsed + sums.between));
    let mut sum = ScopeSums::default();
    named.drain(SCOPES_MAX..).for_each(|(_, sums)| sum.merge(&sums));
    named.push((others, sum));
}

/// Waits that moved blocks, by event and file.
fn files(profile: &Profile) -> Vec<Case> {
    let mut named: BTreeMap<(&str, i64), BlockSums> = BTreeMap::new();
    for ((event, file), sums) in &profile.files {
        named.entry((profile.context.event_name(*event), *file)).or_default().merge(sums);
    }
    let rows = named.into_iter().map(|((event, file), sums)| {
        let parameters = [named::TABLE.of("file"), named::EVENT.of(event), named::FILE.of(file)];
        case(parameters, block_metrics(FROM_WAITS, &sums))
    });
    rows.collect()
}
