//! A profile as cases of a run document: one a row of its tables, times in true microseconds.
//!
//! The parameter `table` says which table a case is a row of. Tables that exist by session have the parameter
//! `session`, and stand without it for the whole.

mod statement;

use std::collections::{BTreeMap, HashMap};

use measure::{Case, Metric, Parameters, Unit};
use serde_json::Value;

use crate::class_sums::{ClassSums, class_sums, work};
use crate::observer::{Cost, EventIndex, SessionIndex};
use crate::tables::{CallSums, EventSums, FileSums, Profile, SessionProfile, ThinkTime};
use crate::ticks::Ticks;
pub(crate) use statement::session_statement;
pub use statement::{Order, STATEMENTS_MAX, Selection, find_statement, ranked};

/// How the metrics of a trace were obtained.
const FROM_CALLS: &str = "trace: call lines";
const FROM_WAITS: &str = "trace: wait lines";
const FROM_CLOCK: &str = "trace: first to last time";
const FROM_DIFFERENCE: &str = "difference of the others";
const FROM_PLANS: &str = "trace: plan lines";

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

/// The name of an event.
fn event_name(profile: &Profile, index: EventIndex) -> &str {
    profile.context.events.get(index.0 as usize).map_or("", |event| event.name.as_str())
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

/// The sums of events by name.
fn events_by_name<'a, 'b>(
    profile: &'a Profile,
    events: impl IntoIterator<Item = (&'b EventIndex, &'b EventSums)>,
) -> BTreeMap<&'a str, EventSums> {
    let mut named: BTreeMap<&str, EventSums> = BTreeMap::new();
    for (index, sums) in events {
        named.entry(event_name(profile, *index)).or_default().merge(sums);
    }
    named
}

/// The filled buckets of an event: lower edge in microseconds, and what is in them.
fn histogram(sums: &EventSums) -> impl Iterator<Item = (u64, Vec<Metric>)> {
    sums.histogram.iter().map(|(bucket, filled)| {
        let metrics = vec![
            count("calls", FROM_WAITS, filled.count),
            time("total", FROM_WAITS, filled.time),
            count("blocks", FROM_WAITS, filled.blocks),
        ];
        (bucket_edge(bucket), metrics)
    })
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

fn reads(work: &Cost) -> [Metric; 2] {
    let logical = work.consistent_gets.saturating_add(work.current_gets);
    [signed("physical_reads", FROM_CALLS, work.physical_reads), signed("logical_reads", FROM_CALLS, logical)]
}

fn event_metrics(sums: &EventSums) -> Vec<Metric> {
    let mean = sums.total.micros() / sums.count.max(1) as f64;
    vec![
        count("calls", FROM_WAITS, sums.count),
        time("total", FROM_WAITS, sums.total),
        time("min", FROM_WAITS, sums.min),
        time("max", FROM_WAITS, sums.max),
        Metric::single("mean", Unit::Microseconds, FROM_WAITS, mean),
        time("inside", FROM_WAITS, sums.inside),
        time("outside", FROM_WAITS, sums.between),
        count("inside_calls", FROM_WAITS, sums.inside_count),
        count("outside_calls", FROM_WAITS, sums.between_count),
        count("blocks", FROM_WAITS, sums.blocks),
    ]
}

fn call_metrics(sums: &CallSums) -> Vec<Metric> {
    let mut metrics = vec![
        count("calls", FROM_CALLS, sums.calls),
        count("rows", FROM_CALLS, sums.rows),
        count("misses", FROM_CALLS, sums.misses),
    ];
    metrics.extend(cost_metrics("", &sums.own));
    metrics.extend(cost_metrics("inclusive_", &sums.inclusive));
    metrics
}

/// Work and time, with a word before each name; CPU only where the source knows it.
fn cost_metrics(prefix: &str, cost: &Cost) -> Vec<Metric> {
    let name = |name: &str| format!("{prefix}{name}");
    let cpu = cost.cpu.map(|cpu| time(&name("cpu"), FROM_CALLS, cpu));
    let rest = [
        time(&name("elapsed"), FROM_CALLS, cost.elapsed),
        signed(&name("physical_reads"), FROM_CALLS, cost.physical_reads),
        signed(&name("consistent_gets"), FROM_CALLS, cost.consistent_gets),
        signed(&name("current_gets"), FROM_CALLS, cost.current_gets),
    ];
    cpu.into_iter().chain(rest).collect()
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

/// The lower edge of a bucket in microseconds.
fn bucket_edge(bucket: usize) -> u64 {
    match bucket {
        0 => 0,
        _ => 1_u64.checked_shl(u32::try_from(bucket - 1).unwrap_or(u32::MAX)).unwrap_or(u64::MAX),
    }
}

fn call_name(profile: &Profile, name: u16) -> Value {
    profile.context.call_names.get(usize::from(name)).map_or("", String::as_str).into()
}

/// A case, which takes no more room than it needs: there are thousands.
fn case<'a>(parameters: impl IntoIterator<Item = (&'a str, Value)>, mut metrics: Vec<Metric>) -> Case {
    metrics.shrink_to_fit();
    let parameters: Parameters = parameters.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    Case { parameters, metrics, timeline: None }
}

fn time(name: &str, source: &str, value: Ticks) -> Metric {
    Metric::single(name, Unit::Microseconds, source, value.micros())
}

fn count(name: &str, source: &str, value: u64) -> Metric {
    Metric::single(name, Unit::Count, source, value as f64)
}

fn signed(name: &str, source: &str, value: i64) -> Metric {
    Metric::single(name, Unit::Count, source, value as f64)
}
