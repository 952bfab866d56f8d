//! Its findings, read on both sides of their conditions.

use measure::quantity::format_nanos;
use measure::schema::logs;
use sides::{Reading, both_sides, reading, says};

use super::*;

/// Three executions, a count of which is set by `note`.
fn noted(row: FindingSpec, note: fn(&mut LogSummary) -> &mut u64, [one, many]: [&'static str; 2]) -> Reading {
    let find = move |count: &u64| {
        let mut logs = LogSummary { plans: 3, ..LogSummary::default() };
        *note(&mut logs) = *count;
        findings(&logs)
    };
    reading(row, 0..3_u64, find, move |count| match count {
        0 => None,
        1 => Some(says![one]),
        count => Some(says![format!("{count} {many}")]),
    })
}

fn of_executions() -> Vec<Reading> {
    vec![
        noted(
            row::NO_FIGURES,
            |logs| &mut logs.unmeasured,
            ["1 of 3 executions has no figures: set auto_explain.log_analyze.", "of 3 executions have no figures: set"],
        ),
        noted(
            row::NO_BLOCKS,
            |logs| &mut logs.without_blocks,
            [
                "1 of 3 executions counts no blocks: set auto_explain.log_buffers.",
                "of 3 executions count no blocks: set",
            ],
        ),
        noted(
            row::NO_NODE_TIMES,
            |logs| &mut logs.without_node_times,
            [
                "1 of 3 executions has no times of nodes: set auto_explain.log_timing.",
                "of 3 executions have no times of nodes: set",
            ],
        ),
        noted(
            row::NO_IO_TIMES,
            |logs| &mut logs.without_io_times,
            [
                "1 of 3 executions reads blocks and does not say how long that took: set track_io_timing.",
                "of 3 executions read blocks and do not say how long that took: set",
            ],
        ),
        noted(
            row::NO_SESSIONS,
            |logs| &mut logs.without_session,
            [
                "1 of 3 executions does not say whose it is: add %p to log_line_prefix.",
                "of 3 executions do not say whose they are: add",
            ],
        ),
        noted(
            row::NO_TIMES,
            |logs| &mut logs.without_time,
            [
                "1 of 3 executions does not say when it was: add %m to log_line_prefix.",
                "of 3 executions do not say when they were: add",
            ],
        ),
    ]
}

fn of_plans() -> Vec<Reading> {
    vec![
        noted(
            row::PARALLEL_PLANS,
            |logs| &mut logs.parallel,
            [
                "1 of 3 executions ran in several processes: below a Gather",
                "of 3 executions ran in several processes: below a Gather",
            ],
        ),
        noted(
            row::INNER_STATEMENTS,
            |logs| &mut logs.orphans,
            [
                "a function or procedure whose own call is not in the log, and counts as a call of its own.",
                "of 3 executions ran inside",
            ],
        ),
        noted(
            row::INNER_STATEMENTS,
            |logs| &mut logs.orphans_of_calls,
            [
                "a procedure or block whose own call is logged without a plan, and counts as a call of its own.",
                "of 3 executions ran inside a procedure or block whose own call is logged",
            ],
        ),
        noted(
            row::REPEATED_ENTRIES,
            |logs| &mut logs.repeated,
            ["1 execution stands in several logs, as a server writes them", "executions stand in several logs, as"],
        ),
        noted(
            row::NODES_BELOW_ZERO,
            |logs| &mut logs.nodes_below_zero,
            ["1 node of a plan has an own time below zero:", "nodes of plans have own times below zero:"],
        ),
        noted(row::IO_BELOW_ZERO, |logs| &mut logs.io_below_zero, ["1 time of I/O came", "times of I/O came"]),
    ]
}

#[test]
fn what_a_log_holds_and_lacks_is_said_where_it_is_so() {
    let plans = |plans: &u64| findings(&LogSummary { plans: *plans, ..LogSummary::default() });
    let some = reading(row::LOG_OF_PLANS, 0..3_u64, plans, |plans| (*plans > 0).then(Vec::new));
    let none = reading(row::NO_PLANS, 0..3_u64, plans, |plans| (*plans == 0).then(Vec::new));
    let of_zones = |count: &usize| {
        let zones = ["CEST", "CET", "UTC"][..*count].iter().map(ToString::to_string).collect();
        findings(&LogSummary { plans: 1, zones, ..LogSummary::default() })
    };
    let zones = reading(row::SEVERAL_ZONES, 0..4_usize, of_zones, |count| (*count > 1).then(|| says!["(CEST, CET"]));
    let timed = |(gets, micros): &(i64, i64)| {
        let time_without_reads = Ticks::from_micros(*micros);
        findings(&LogSummary { plans: 1, gets_of_timed: *gets, time_without_reads, ..LogSummary::default() })
    };
    let per_block = reading(row::TIME_PER_BLOCK, (0..4_i64, 1..9999_i64), timed, |(gets, micros)| {
        let over = if *gets == 1 { "over 1 block:".into() } else { format!("over {gets} blocks:") };
        let time = || format_nanos(*micros as f64 / *gets as f64 * 1e3);
        (*gets > 0).then(|| says![format!("is {} per block got, {over}", time())])
    });
    let of_all = [some, none, zones, per_block];
    both_sides(&logs::findings::ALL, of_executions().into_iter().chain(of_plans()).chain(of_all));
}

#[test]
fn a_log_in_which_a_plan_is_cut_is_not_said_to_lack_auto_explain() {
    let of = |kind| {
        let unread = vec![Unread { kind, lines: 9, bytes: 600, first_offset: 0 }];
        findings(&LogSummary { unread, ..LogSummary::default() }).remove(0)
    };
    let [cut, malformed, other] = [CUT, MALFORMED, "messages without a plan"].map(of);
    assert!(malformed.message.contains("none of them can be read: they are plans that are no JSON"), "{malformed:?}");
    assert!(row::NO_PLANS.made(&malformed) && !malformed.message.contains("auto_explain"), "{malformed:?}");
    assert!([&cut, &other].iter().all(|found| row::NO_PLANS.made(found)), "{cut:?} {other:?}");
    assert!(cut.message.contains("is cut before its end") && !cut.message.contains("auto_explain"), "{}", cut.message);
    assert!(other.message.contains("Load auto_explain"), "{}", other.message);
}
