//! What the run document says of a profile of samples: the tables that only samples have, and the others without what
//! samples cannot know.
//!
//! A sample meets a session and not a call: how many calls and waits there were, how long each one was, and what was
//! read for a session is not known. Rows that would have these have the number of samples in their place. Executions,
//! rows and reads of statements are those that the server counted, where it counts them.

use std::collections::BTreeMap;

use measure::quantity::counted;
use measure::schema::profile::{self as schema, parameters as named};
use measure::schema::{Spec, sampled as own};
use measure::sorting;
use measure::wait_class::Class;
use measure::{Case, Metric};

use super::metrics::{IDLE_INCLUDED, case, time};
use super::reads;
use crate::event::StatementIndex;
use crate::tables::Profile;
use crate::tables::sampled::{BlockerRow, Counters, Sampled, share_error};

/// How the metrics were obtained.
const FROM_SAMPLES: &str = "samples of the sessions";
const FROM_WATCHPOINTS: &str = "every wait, by watchpoints";
const FROM_COUNTERS: &str = "pg_stat_statements";
const FROM_ACCOUNT: &str = "pg_stat_database.active_time";
const FROM_BLOCKING: &str = "samples of the sessions, pg_blocking_pids";
const FROM_KERNEL: &str = "/proc/stat";
const FROM_OWN: &str = "CLOCK_PROCESS_CPUTIME_ID";
const FROM_CLOCK: &str = "clock of this machine";
const FROM_SERVER_CLOCK: &str = "clock of the server";

/// How the sources of other profiles' metrics begin.
const FROM_TRACE: &str = "trace: ";

/// What a sample does not know of a row in any table.
const UNKNOWN: [&str; 18] = [
    "rows",
    "misses",
    "parses",
    "executions",
    "fetches",
    "fetched_rows",
    "errors",
    "roots",
    "orphans",
    "interruptions",
    "min",
    "max",
    "mean",
    "inside_calls",
    "outside_calls",
    "blocks",
    "inclusive_elapsed",
    "inclusive_cpu",
];

/// What is known of a wait that was seen from its beginning to its end.
const OF_WHOLE_WAITS: [&str; 3] = ["min", "max", "mean"];

/// The tables whose reads and gets the server's counters give: those of the whole and of statements.
const WITH_READS: [&str; 3] = ["summary", "statement", "statement_text"];

/// The tables that are as they are in any profile, or that only samples have.
const OWN_TABLES: [&str; 5] = ["sampling", "background", "blocker", "reading", "breakdown"];

/// The tables whose `calls` are samples.
const OF_SAMPLES: [&str; 4] = ["class", "class_event", "event", "statement_event"];

/// The tables that samples alone have.
pub(crate) fn cases(profile: &Profile, sampled: &Sampled) -> Vec<Case> {
    let mut cases = vec![case([named::TABLE.of("sampling")], sampling(sampled))];
    cases.extend(sampled.background.iter().map(|row| {
        let parameters =
            [named::TABLE.of("background"), own::parameters::PROCESS.of(&*row.process), named::EVENT.of(&*row.event)];
        let metrics = vec![own::SAMPLES.count(FROM_SAMPLES, row.samples), time(&schema::TOTAL, FROM_SAMPLES, row.time)];
        case(parameters, metrics)
    }));
    let blockers = (1_u64..).zip(&sampled.blockers);
    cases.extend(blockers.map(|(number, row)| blocker(profile, number, row)));
    cases.extend(sampled.reads.iter().flat_map(|tiers| reads::cases(tiers, &profile.context)));
    cases
}

fn blocker(profile: &Profile, number: u64, row: &BlockerRow) -> Case {
    let id = if row.statement.0 == 0 { "" } else { profile.context.statement_id(row.statement) };
    let parameters = [
        named::TABLE.of("blocker"),
        own::parameters::NODE.of(number),
        named::PARENT.of(row.parent),
        named::LEVEL.of(row.level),
        own::parameters::PROCESS.of(&*row.process),
        own::parameters::STATE.of(&*row.state),
        named::ID.of(id),
        named::EVENT.of(&*row.event),
    ];
    let metrics = vec![own::SAMPLES.count(FROM_BLOCKING, row.samples), time(&schema::TOTAL, FROM_BLOCKING, row.time)];
    case(parameters, metrics)
}

fn sampling(sampled: &Sampled) -> Vec<Metric> {
    let active = &sampled.active;
    let seconds = format!("{FROM_SAMPLES}, means of {}", counted(active.seconds, "second", "seconds"));
    let mut metrics = vec![
        own::LOOKS.count(FROM_SAMPLES, sampled.looks),
        own::SAMPLES.count(FROM_SAMPLES, sampled.samples),
        time(&own::SAMPLED, FROM_CLOCK, sampled.time),
        time(&own::NOT_SAMPLED, FROM_CLOCK, sampled.lost),
        time(&own::DB_TIME, FROM_SAMPLES, sampled.db_time),
        time(&own::DB_TIME_ERROR, FROM_SAMPLES, sampled.db_time_error),
        own::ACTIVE_SESSIONS.single(FROM_SAMPLES, active.mean),
    ];
    metrics.extend(sampled.db_time_of_server.map(|of| time(&own::DB_TIME_OF_SERVER, FROM_ACCOUNT, of)));
    let mut add = |spec: &Spec, source: &str, value: Option<f64>| {
        metrics.extend(value.map(|value| spec.single(source, value)));
    };
    add(&own::ACTIVE_SESSIONS_P95, &seconds, active.p95);
    add(&own::ACTIVE_SESSIONS_P99, &seconds, active.p99);
    add(&own::ACTIVE_SESSIONS_MAX, &seconds, active.max);
    add(&own::OWN_CPU, FROM_OWN, sampled.own.cpu.map(|part| 100.0 * part));
    add(&own::OWN_SESSION, FROM_SERVER_CLOCK, sampled.own.session.map(|part| 100.0 * part));
    add(&own::SAMPLE_TIME, FROM_CLOCK, sampled.own.sample_micros);
    let change = sampled.own.change;
    add(&own::CHANGES, FROM_WATCHPOINTS, change.map(|change| change.changes as f64));
    add(&own::CHANGES_LOST, FROM_WATCHPOINTS, change.map(|change| change.lost as f64));
    add(&own::CHANGE_TIME, FROM_CLOCK, change.map(|change| change.micros));
    add(&own::CHANGE_SHARE_MAX, FROM_CLOCK, change.map(|change| 100.0 * change.share_max));
    add(&own::STOLEN, FROM_KERNEL, sampled.stolen.map(|part| 100.0 * part));
    metrics
}

/// Takes out of the cases what samples cannot know, and gives what they do.
pub(crate) fn settle(profile: &Profile, sampled: &Sampled, cases: &mut [Case]) {
    let served = served(cases);
    let known = profile.context.statements.iter().zip(0..);
    let ids: BTreeMap<&str, u32> = sorting::map(known.map(|(statement, place)| (statement.id.as_str(), place)));
    // Where changes were lost, some waits are known in part.
    let has_whole_waits = sampled.is_exact && sampled.own.change.is_none_or(|change| change.lost == 0);
    for case in cases {
        let text = |name: &str| case.parameter(name).unwrap_or_default();
        let (table, class, id) = (text("table"), text("class"), text("id"));
        let is_whole = !case.parameters.contains_key("session");
        if OWN_TABLES.contains(&table.as_str()) || reads::TABLES.contains(&table.as_str()) {
            continue;
        }
        let counters = sampled.counters.as_ref();
        let has_reads = is_whole && counters.is_some() && WITH_READS.contains(&table.as_str());
        case.metrics.retain(|metric| {
            let name = metric.name.as_str();
            let is_known = !UNKNOWN.contains(&name) || has_whole_waits && OF_WHOLE_WAITS.contains(&name);
            is_known && (has_reads || !schema::is_of_blocks(name)) && (has_whole_waits || !is_count_of_waits(metric))
        });
        if sampled.is_exact {
            let has_count = has_whole_waits || !OF_SAMPLES.contains(&table.as_str());
            case.metrics.retain(|metric| has_count || metric.name != "calls");
            settle_sources(case, FROM_WATCHPOINTS);
            continue;
        }
        let calls = case.metrics.iter().position(|metric| metric.name == "calls").map(|at| case.metrics.remove(at));
        if let Some(calls) = calls.filter(|_| OF_SAMPLES.contains(&table.as_str())) {
            case.metrics.extend(samples(sampled, (class.as_str(), is_whole), &calls));
        }
        let total = schema::TOTAL.median(case);
        if table == "class" && is_whole && is_sampled(&class) {
            let error = total.and_then(|total| share_error(total / served, sampled.samples));
            case.metrics.extend(error.map(|error| schema::SHARE_ERROR.single(FROM_SAMPLES, error)));
        }
        // The server counts what a statement did, and not for which session.
        if table == "statement" && is_whole {
            let counted = ids.get(id.as_str()).and_then(|place| counters?.get(&StatementIndex(*place)));
            case.metrics.extend(counted.into_iter().flat_map(executions));
        }
        settle_sources(case, FROM_SAMPLES);
    }
}

/// Says where the metrics come from that are the same in a trace.
fn settle_sources(case: &mut Case, source: &str) {
    for metric in case.metrics.iter_mut().filter(|metric| metric.source.starts_with(FROM_TRACE)) {
        let is_read = schema::is_of_blocks(&metric.name);
        let included = if metric.source.ends_with(IDLE_INCLUDED) { IDLE_INCLUDED } else { "" };
        metric.source = if is_read { FROM_COUNTERS.into() } else { format!("{source}{included}") };
    }
}

/// Whether a class is made of samples of sessions that were served.
fn is_sampled(class: &str) -> bool {
    let class = Class::with_key(class);
    let is_rest = matches!(class, Some(Class::UnaccountedWithin | Class::UnaccountedBetween));
    !is_rest && !class.is_some_and(Class::is_idle)
}

fn is_count_of_waits(metric: &Metric) -> bool {
    metric.name == "waits" && metric.unit == measure::Unit::Count
}

/// Time of the classes that are no idle time, in µs.
fn served(cases: &[Case]) -> f64 {
    let class = |case: &Case| case.parameter("class").and_then(|class| Class::with_key(&class));
    let is_class = |case: &&Case| {
        case.is("table", "class")
            && !case.parameters.contains_key("session")
            && !class(case).is_some_and(Class::is_idle)
    };
    cases.iter().filter(is_class).filter_map(|case| schema::TOTAL.median(case)).sum()
}

/// Samples of a class or an event. A sample that met a process on a processor or ready for one is divided between two
/// classes by the scheduler's account, and is counted with the first: of the whole, not of each session.
fn samples(sampled: &Sampled, (class, is_whole): (&str, bool), calls: &Metric) -> Option<Metric> {
    let count = match Class::with_key(class) {
        Some(Class::Cpu) if !is_whole => return None,
        Some(Class::Cpu) => sampled.on_processor,
        Some(Class::RunQueue | Class::Stolen | Class::UnaccountedWithin | Class::UnaccountedBetween) => return None,
        _ => calls.median() as u64,
    };
    Some(own::SAMPLES.count(FROM_SAMPLES, count))
}

fn executions(counted: &Counters) -> [Metric; 2] {
    [schema::EXECUTIONS.count(FROM_COUNTERS, counted.executions), schema::ROWS.count(FROM_COUNTERS, counted.rows)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::metrics::{FROM_CALLS, FROM_OWN_AND_WAITS};
    use crate::event::Ticks;

    #[test]
    fn a_response_time_of_samples_still_says_that_think_time_is_in_it() {
        let response_time = time(&schema::RESPONSE_TIME, FROM_OWN_AND_WAITS, Ticks::from_micros(7));
        let cpu = time(&schema::CPU, FROM_CALLS, Ticks::from_micros(3));
        let mut one = case([named::TABLE.of("statement")], vec![response_time, cpu]);
        settle_sources(&mut one, FROM_SAMPLES);
        let sources: Vec<&str> = one.metrics.iter().map(|metric| metric.source.as_str()).collect();
        assert_eq!(sources, ["samples of the sessions, think time and idle waits included", FROM_SAMPLES]);
    }
}
