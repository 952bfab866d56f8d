//! A profile as cases of a run document: one a row of its tables, times in true microseconds.
//!
//! The parameter `table` says which table a case is a row of. Tables that exist by session have the parameter
//! `session`, and stand without it for the whole.

pub(crate) mod files;
pub(crate) mod metrics;
mod statement;

use std::collections::{BTreeMap, HashMap};

use measure::{Case, Metric};
use serde_json::Value;

use crate::document::metrics::{
    FROM_CALLS, FROM_CLOCK, FROM_DIFFERENCE, FROM_WAITS, call_metrics, call_name, case, count, event_metrics,
    event_name, events_by_name, histogram, reads, time,
};
use crate::event::{SessionIndex, Ticks};
use crate::tables::class_sums::{ClassSums, class_sums, work};
use crate::tables::{FileSums, Profile, SessionProfile, ThinkTime};
pub(crate) use statement::OTHERS;
pub use statement::{Order, STATEMENTS_MAX, Selection, find_statement, ranked};

/// All cases of a profile; details of statements for those that `selection` names.
pub fn cases(profile: &Profile, selection: &Selection) -> Vec<Case> {
    let mut cases = set(profile, &profile.whole, &profile.whole.think_time, None);
    let names = session_names(profile);
    for session in &profile.sessions {
        let name = session.session.and_then(|index| names.get(&index)).map_or("", String::as_str);
        cases.extend(set(profile, session, &session.think_time, Some(name)));
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
        let id = if id.is_empty() { "unnamed" } else { id };
        let count = uses.entry(id).or_default();
        *count += 1;
        names.insert(index, if *count == 1 { id.into() } else { format!("{id} ({count})") });
    }
    names
}

/// The tables that exist for the whole and for each session.
fn set(profile: &Profile, of: &SessionProfile, think_time: &ThinkTime, session: Option<&str>) -> Vec<Case> {
    let case = |table: &str, parameters: Vec<(&str, Value)>, metrics: Vec<Metric>| {
        let first = std::iter::once(("table", table.into())).chain(session.map(|name| ("session", name.into())));
        case(first.chain(parameters), metrics)
    };
    let mut cases = vec![case("summary", Vec::new(), summary(of))];
    let classes = class_sums(of, think_time, &profile.context);
    for (class, sums) in &classes {
        let metrics = vec![count("calls", FROM_CALLS, sums.calls), time("total", FROM_WAITS, sums.total)];
        cases.push(case("class", vec![("class", class.key().into())], metrics));
    }
    for (class, sums) in &classes {
        for (event, (calls, total)) in class_events(profile, sums) {
            let parameters = vec![("class", class.key().into()), ("event", event.into())];
            let metrics = vec![count("calls", FROM_WAITS, calls), time("total", FROM_WAITS, total)];
            cases.push(case("class_event", parameters, metrics));
        }
    }
    for (event, sums) in events_by_name(profile, &of.events) {
        cases.push(case("event", vec![("event", event.into())], event_metrics(&sums)));
        for (from, metrics) in histogram(&sums) {
            cases.push(case("histogram", vec![("event", event.into()), ("from_us", from.into())], metrics));
        }
    }
    for ((name, recursive), sums) in &of.calls {
        let parameters = vec![("call", call_name(profile, *name)), ("recursive", (*recursive).into())];
        cases.push(case("call", parameters, call_metrics(sums)));
    }
    cases
}

/// The events of a class by name: releases spell the parameters of an event differently, and it is one event still.
fn class_events<'a>(profile: &'a Profile, sums: &ClassSums) -> BTreeMap<&'a str, (u64, Ticks)> {
    let mut named: BTreeMap<&str, (u64, Ticks)> = BTreeMap::new();
    for (index, calls, total) in &sums.events {
        let entry = named.entry(event_name(profile, *index)).or_default();
        entry.0 += calls;
        entry.1 += *total;
    }
    named
}

fn summary(of: &SessionProfile) -> Vec<Metric> {
    let between = time("unaccounted_between", FROM_DIFFERENCE, of.unaccounted_between);
    let mut metrics = vec![
        time("interval", FROM_CLOCK, of.interval),
        time("response_time", "trace: calls without a parent, and waits between calls", of.response_time),
        time("cpu", FROM_CALLS, of.cpu),
        time("waits", FROM_WAITS, of.waits),
        time("unaccounted_within", FROM_DIFFERENCE, of.unaccounted_within),
        between,
        count("roots", FROM_CALLS, of.roots),
        count("orphans", FROM_CALLS, of.orphans),
        count("interruptions", FROM_CLOCK, of.interruptions),
    ];
    let work = work(of);
    if work.cpu.is_none() && !of.calls.is_empty() {
        metrics.retain(|metric| metric.name != "cpu");
    }
    metrics.extend(reads(&work));
    metrics
}

/// Sums by module, action, service, client and container; none where all share one.
fn scopes(profile: &Profile) -> Vec<Case> {
    if profile.scopes.len() < 2 {
        return Vec::new();
    }
    let rows = profile.scopes.iter().filter_map(|(index, sums)| {
        let scope = profile.context.scopes.get(index.0 as usize)?;
        let parameters = [
            ("table", "scope".into()),
            ("module", scope.module.as_str().into()),
            ("action", scope.action.as_str().into()),
            ("service", scope.service.as_str().into()),
            ("client", scope.client.as_str().into()),
            ("container", scope.container.as_str().into()),
        ];
        let mut metrics = vec![
            count("calls", FROM_CALLS, sums.calls),
            time("response_time", "trace: own time of calls, and waits between calls", sums.own.elapsed + sums.between),
            count("waits", FROM_WAITS, sums.waits),
            time("inside", FROM_WAITS, sums.inside),
            time("outside", FROM_WAITS, sums.between),
        ];
        metrics.extend(sums.own.cpu.map(|cpu| time("cpu", FROM_CALLS, cpu)));
        metrics.extend(reads(&sums.own));
        Some(case(parameters, metrics))
    });
    rows.collect()
}

/// Waits that moved blocks, by event and file.
fn files(profile: &Profile) -> Vec<Case> {
    let mut named: BTreeMap<(&str, i64), FileSums> = BTreeMap::new();
    for ((event, file), sums) in &profile.files {
        let entry = named.entry((event_name(profile, *event), *file)).or_default();
        entry.count += sums.count;
        entry.total += sums.total;
        entry.blocks += sums.blocks;
    }
    let rows = named.into_iter().map(|((event, file), sums)| {
        let parameters = [("table", "file".into()), ("event", event.into()), ("file", file.into())];
        let metrics = vec![
            count("calls", FROM_WAITS, sums.count),
            time("total", FROM_WAITS, sums.total),
            count("blocks", FROM_WAITS, sums.blocks),
        ];
        case(parameters, metrics)
    });
    rows.collect()
}
