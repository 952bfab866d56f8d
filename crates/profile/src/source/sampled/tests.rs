//! What samples come to: sums that close, estimates with their errors, and who blocks whom.

use std::sync::Arc;

use measure::quantity::three_digits;
use measure::schema::profile::findings::WAITS_NOT_TRACED;
use measure::schema::sampled::findings::{DB_TIME_DIFFERS, NO_DB_TIME, SCARCE_SAMPLES};
use measure::wait_class::Class;

use super::*;
use crate::document::{Order, Selection};
use crate::event::Ticks;
use crate::observe::collector::THINK_TIME;
use crate::observe::instruments::Instruments;
use crate::observe::skew::{Dimension, Filter, Skew};
use crate::outcome::{Outcome, outcome};
use crate::tables::active_over_time::ActiveOverTime;
use crate::tables::class_sums::class_sums;
use crate::tables::sampled::{BlockerRow, Counters, OwnCost};

const LOOK: Ticks = Ticks::from_micros(10_000);

fn backend(pid: u32) -> Arc<Backend> {
    let (kind, user, database) = (CLIENT.into(), "shop".into(), "db".into());
    Arc::new(Backend { pid, start: i64::from(pid), kind, user, database, application: String::new() })
}

fn active(pid: u32, id: i64, event: Option<&str>) -> Sample {
    Sample {
        backend: backend(pid),
        state: State::Active,
        event: event.map(Arc::from),
        query_id: Some(id),
        query_start: Some(id),
        text: Some(Arc::from(format!("select {id}"))),
        processor: None,
    }
}

fn silent(pid: u32, state: State) -> Sample {
    Sample { state, event: Some("Client:ClientRead".into()), ..active(pid, 1, None) }
}

fn sampled(looks: impl IntoIterator<Item = Vec<Sample>>) -> SampledProfile {
    let mut profile = SampledProfile::new(0, THINK_TIME, Instruments::default());
    looks.into_iter().for_each(|samples| profile.look(LOOK, &samples));
    profile
}

fn selection() -> Selection {
    Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false }
}

fn document(profile: &SampledProfile, observed: &Observed) -> Outcome {
    let (mut ingested, instruments) = profile.snapshot(observed);
    outcome(&mut ingested, &instruments, &selection())
}

/// A metric of the row of a table whose parameter has this value.
fn value(outcome: &Outcome, table: &str, (key, of): (&str, &str), metric: &str) -> Option<f64> {
    let is_row = |case: &&measure::Case| {
        case.parameter("table").as_deref() == Some(table)
            && case.parameter(key).as_deref().unwrap_or("") == of
            && case.parameter("session").is_none()
    };
    outcome.cases.iter().find(is_row)?.metric(metric).map(measure::Metric::median)
}

#[test]
fn the_time_of_all_sessions_closes_whatever_they_do_and_however_long_a_look_stands() {
    let mut random = measure::random::SplitMix64::new(17);
    let mut profile = SampledProfile::new(1_000_000, THINK_TIME, Instruments::default());
    let (mut of_all, mut of_active) = (Ticks::ZERO, Ticks::ZERO);
    for _ in 0..2_000 {
        let since = Ticks(1 + random.below(5_000_000) as i64);
        let mut samples = Vec::new();
        for pid in 1..=6_u32 {
            if random.below(5) == 0 {
                continue;
            }
            let id = 1 + random.below(3) as i64;
            let events = [None, Some("IO:DataFileRead"), Some("Lock:tuple"), Some("LWLock:WALWrite")];
            let mut sample = active(pid, id, events[random.below(4) as usize]);
            match random.below(6) {
                0 => sample = silent(pid, State::Idle),
                1 => sample = silent(pid, State::IdleInTransaction),
                2 => sample.processor = Some(ProcessorTime { ran: Ticks(3), waited: Ticks(4), stolen: Ticks(1) }),
                _ => {}
            }
            of_all += since;
            of_active += if sample.state == State::Active { since } else { Ticks::ZERO };
            samples.push(sample);
        }
        profile.look(since, &samples);
        if random.below(200) == 0 {
            profile.lose(Ticks(77));
        }
    }
    let of_server = of_active + Ticks::from_micros(500_000);
    let observed = Observed { db_time: Some(Ok(of_server)), ..Observed::default() };
    let (ingested, _) = profile.snapshot(&observed);
    let whole = &ingested.profile.whole;
    assert_eq!(whole.interval, of_all + Ticks::from_micros(500_000), "closed to the server's own account");
    assert_eq!(whole.unaccounted_within, Ticks::ZERO);
    assert_eq!(whole.unaccounted_between, Ticks::from_micros(500_000));
    assert_eq!(whole.interval, whole.cpu + whole.waits + whole.unaccounted_between);
    let classes = class_sums(whole, &ingested.profile.context);
    assert_eq!(classes.values().map(|sums| sums.total).sum::<Ticks>(), whole.interval);
    let sampled = ingested.profile.sampled.as_ref().unwrap();
    assert_eq!((sampled.db_time, sampled.lost.0 % 77), (of_active, 0));
    for session in &ingested.profile.sessions {
        assert_eq!(session.interval, session.cpu + session.waits, "{session:?}");
    }
    let ActiveOverTime::Known { timeline, is_wall_clock: true } = &ingested.profile.active else { panic!("none") };
    let (first, covered) = (timeline.first_second, timeline.covered.iter().copied().sum::<Ticks>());
    assert_eq!((first, timeline.step_seconds, covered), (1, 1, sampled.time), "what was lost is not covered");
    let seconds = |class: &Class| {
        let (_, active) = timeline.classes.iter().find(|(known, _)| known == class).unwrap();
        let parts = active.iter().zip(&timeline.covered).map(|(active, covered)| active * covered.micros() / 1e6);
        parts.sum::<f64>()
    };
    let at_work: Vec<&Class> =
        classes.keys().filter(|class| timeline.classes.iter().any(|(one, _)| one == *class)).collect();
    assert!(at_work.len() >= 5, "{at_work:?}");
    for class in &at_work {
        let total = classes[class].total.micros() / 1e6;
        assert!((seconds(class) - total).abs() < 1e-6, "{class:?}: {} of {total}", seconds(class));
    }
    let all: f64 = at_work.into_iter().map(seconds).sum();
    assert!((all - of_active.micros() / 1e6).abs() < 1e-6);
}

#[test]
fn an_execution_met_before_its_identifier_is_computed_has_no_row_of_its_own() {
    let early = |literal: i64| Sample {
        query_id: None,
        text: Some(format!("select * from orders where id = {literal}").into()),
        ..active(1, literal, None)
    };
    let later = |literal: i64, id: i64| Sample { query_id: Some(id), ..early(literal) };
    let looks = [early(1), later(1, 77), early(2), later(3, 77), early(3), later(4, 88), early(5)];
    let profile = sampled(std::iter::once(vec![]).chain(looks.into_iter().map(|sample| vec![sample])));
    let found = document(&profile, &Observed::default());
    let time = |id: &str| value(&found, "statement", ("id", id), "response_time");
    assert_eq!((time("77"), time("88")), (Some(60_000.0), Some(10_000.0)), "{:?}", found.cases);
}

#[test]
fn a_snapshot_ends_nothing() {
    let looks = || (0..50).map(|_| vec![active(1, 7, Some("IO:DataFileRead"))]);
    let mut looked_at = sampled([]);
    for samples in looks() {
        looked_at.look(LOOK, &samples);
        let _ = looked_at.snapshot(&Observed::default());
    }
    let calls = |profile: &SampledProfile| {
        let (ingested, _) = profile.snapshot(&Observed::default());
        (ingested.profile.whole.roots, ingested.profile.whole.interval)
    };
    assert_eq!(calls(&looked_at), calls(&sampled(looks())));
    assert_eq!(calls(&looked_at).0, 1, "one execution, however often it was met");
}

#[test]
fn the_time_of_an_execution_of_seconds_stands_in_the_seconds_in_which_it_was_sampled() {
    let skew = Skew::new(Dimension::parse_list("second").unwrap(), Filter::default(), THINK_TIME);
    let mut profile = SampledProfile::new(0, THINK_TIME, Instruments::new(Some(skew)));
    // The session that waits, and the one that computes, do one thing all the time.
    (0..350).for_each(|_| profile.look(LOOK, &[active(1, 7, Some("Lock:tuple")), active(2, 8, None)]));
    let outcome = document(&profile, &Observed::default());
    let of = |second: u32| value(&outcome, "skew", ("second", &format!("1970-01-01 00:00:0{second}")), "total");
    let expected = [1_980_000.0, 2_000_000.0, 2_000_000.0, 1_020_000.0].map(Some);
    assert_eq!([0, 1, 2, 3].map(of), expected, "a look stands for the time before it");
}

#[test]
fn shares_have_the_error_of_their_samples_and_no_count_of_waits() {
    let looks = (0..400).map(|look| vec![active(1, 7, (look % 4 == 0).then_some("IO:DataFileRead"))]);
    let outcome = document(&sampled(looks), &Observed::default());
    let reads = |metric: &str| value(&outcome, "class", ("class", "single-block-reads"), metric);
    assert_eq!((reads("samples"), reads("total")), (Some(100.0), Some(1e6)));
    let expected = 196.0 * (0.25_f64 * 0.75 / 400.0).sqrt();
    assert!((reads("share_error").unwrap() - expected).abs() < 1e-9);
    for unknown in ["calls", "mean", "max"] {
        assert_eq!(reads(unknown), None, "{unknown}");
        assert_eq!(value(&outcome, "event", ("event", "IO:DataFileRead"), unknown), None, "{unknown}");
    }
    assert_eq!(value(&outcome, "class", ("class", "cpu"), "samples"), Some(300.0));
    for unknown in ["executions", "logical_reads", "physical_reads", "rows", "calls"] {
        assert_eq!(value(&outcome, "statement", ("id", "7"), unknown), None, "{unknown}");
    }
    let sources = outcome.cases.iter().flat_map(|case| &case.metrics).filter(|one| one.source.starts_with("trace"));
    assert_eq!(sources.count(), 0);
}

#[test]
fn samples_that_met_no_wait_are_not_said_to_lack_the_waits_of_a_trace() {
    let outcome = document(&sampled((0..400).map(|_| vec![active(1, 7, None)])), &Observed::default());
    assert!(!outcome.findings.iter().any(|one| WAITS_NOT_TRACED.made(one)), "{:?}", outcome.findings);
}

#[test]
fn a_class_that_has_all_samples_has_an_error_all_the_same() {
    let outcome = document(&sampled((0..400).map(|_| vec![active(1, 7, None)])), &Observed::default());
    let error = value(&outcome, "class", ("class", "cpu"), "share_error").unwrap();
    // The rule of three: 3 of 400, to within a hundredth.
    assert!((0.74..0.75).contains(&error), "{error} points");
}

#[test]
fn the_warning_of_few_samples_and_the_table_state_the_same_error() {
    for count in [4, 50] {
        let looks = (0..count).map(|look| vec![active(1, 7, (look % 2 == 0).then_some("IO:DataFileRead"))]);
        let outcome = document(&sampled(looks), &Observed::default());
        let error = value(&outcome, "class", ("class", "cpu"), "share_error").unwrap();
        let mut said = outcome.findings.iter().filter(|one| SCARCE_SAMPLES.made(one)).map(|one| one.message.as_str());
        let (warning, stated) = (said.next().unwrap(), format!("off by up to ± {} points.", three_digits(error)));
        assert!(warning.contains(&stated), "{warning}");
    }
}

#[test]
fn an_account_that_is_late_takes_no_time_off_that_samples_met() {
    let interval = |looks: usize, of_server: i64| {
        let observed = Observed { db_time: Some(Ok(Ticks::from_micros(of_server))), ..Observed::default() };
        let outcome = document(&sampled((0..looks).map(|_| vec![active(1, 7, None)])), &observed);
        value(&outcome, "summary", ("", ""), "interval")
    };
    assert_eq!(interval(50, 100_000), Some(500_000.0), "half a second may be missing in the account as a whole");
    assert_eq!(interval(300, 2_400_000), Some(3_000_000.0));
    assert_eq!(interval(300, 3_400_000), Some(3_400_000.0), "what it has more no sample met");
    assert_eq!(interval(50, 3_000_000), Some(3_000_000.0), "more than its delay explains");
}

#[test]
fn what_the_server_worked_for_readpath_itself_is_no_unaccounted_time_of_an_idle_server() {
    let missed = |sessions: u32, (session, before): (f64, i64), of_server: i64| {
        let looks = (0..800).map(|_| (1..=sessions).map(|pid| active(pid, 7, None)).collect::<Vec<Sample>>());
        let observed = Observed {
            db_time: Some(Ok(Ticks::from_micros(of_server))),
            own: OwnCost { session: Some(session), ..OwnCost::default() },
            own_before: Ticks::from_micros(before),
            ..Observed::default()
        };
        let (ingested, _) = sampled(looks).snapshot(&observed);
        let differs = ingested.findings.iter().any(|one| DB_TIME_DIFFERS.made(one));
        (ingested.profile.whole.unaccounted_between, differs)
    };
    // Eight seconds, of which its looks took 120 ms.
    assert_eq!(missed(0, (0.015, 0), 14_500), (Ticks::ZERO, false), "less than its looks took");
    assert_eq!(missed(0, (0.0, 30_000), 8_260), (Ticks::ZERO, false), "its opening was added up later");
    assert_eq!(missed(0, (0.015, 30_000), 300_000), (Ticks::from_micros(300_000), true), "more than it worked");
    assert_eq!(missed(1, (0.015, 30_000), 8_100_000), (Ticks::from_micros(100_000), false), "beside a session at work");
}

#[test]
fn a_statement_of_an_hour_of_a_session_that_may_not_be_seen_is_no_unaccounted_time_of_a_few_seconds() {
    let interval = |others: &[State], hidden: u64, of_server: i64| {
        let others = || others.iter().map(|state| silent(9, *state));
        let looks = (0..300).map(|_| [active(1, 7, None)].into_iter().chain(others()).collect::<Vec<Sample>>());
        let observed = Observed { db_time: Some(Ok(Ticks::from_micros(of_server))), hidden, ..Observed::default() };
        let outcome = document(&sampled(looks), &observed);
        let is_refused = outcome.findings.iter().any(|one| NO_DB_TIME.made(one));
        (value(&outcome, "summary", ("", ""), "interval"), is_refused)
    };
    let (seconds, hour) = (6_000_000, 3_600_000_000);
    assert_eq!(interval(&[State::Hidden], 0, seconds), (Some(6_000_000.0), false), "it may have worked all the time");
    assert_eq!(interval(&[State::Hidden], 0, hour), (Some(3_000_000.0), true));
    assert!(interval(&[State::Idle], 1, hour).1, "the server's memory shows it, its account does not");
    assert_eq!(interval(&[], 0, hour), (Some(3_600_000_000.0), false), "all are seen");
}

#[test]
fn a_process_that_is_ready_and_does_not_run_waits_for_a_processor() {
    let ready = Some(ProcessorTime { ran: Ticks(300), waited: Ticks(100), ..ProcessorTime::default() });
    let looks = (0..100).map(|_| vec![Sample { processor: ready, ..active(1, 7, None) }]);
    let (ingested, _) = sampled(looks).snapshot(&Observed::default());
    let classes = class_sums(&ingested.profile.whole, &ingested.profile.context);
    assert_eq!(classes[&Class::Cpu].total, Ticks::from_micros(750_000));
    assert_eq!(classes[&Class::RunQueue].total, Ticks::from_micros(250_000));
}

#[test]
fn what_the_hypervisor_took_is_a_row_of_its_own_and_no_work_of_the_session() {
    let time = Some(ProcessorTime { ran: Ticks(600), waited: Ticks(100), stolen: Ticks(300) });
    let looks = (0..100).map(|_| vec![Sample { processor: time, ..active(1, 7, None) }]);
    let outcome = document(&sampled(looks), &Observed::default());
    let total = |class| value(&outcome, "class", ("class", class), "total");
    let all = ["cpu", "run-queue", "stolen"].map(total);
    assert_eq!(all, [Some(600_000.0), Some(100_000.0), Some(300_000.0)]);
    let of_statement = value(&outcome, "statement_event", ("event", "Processor:Stolen"), "total");
    assert_eq!(of_statement, Some(300_000.0));
}

#[test]
fn pauses_of_a_client_are_no_response_time_but_short_ones_within_a_transaction() {
    let mut looks: Vec<Vec<Sample>> = (0..500).map(|_| vec![silent(1, State::Idle)]).collect();
    looks.extend((0..30).map(|_| vec![silent(1, State::IdleInTransaction)]));
    looks.push(vec![active(1, 7, None)]);
    looks.extend((0..200).map(|_| vec![silent(1, State::IdleInTransaction)]));
    looks.push(vec![active(1, 7, Some("Client:ClientRead"))]);
    looks.push(vec![active(1, 7, Some("Timeout:PgSleep"))]);
    let (ingested, _) = sampled(looks).snapshot(&Observed::default());
    let classes = class_sums(&ingested.profile.whole, &ingested.profile.context);
    let millis = |class: Class| classes[&class].total.micros() / 1e3;
    assert_eq!(millis(Class::ThinkTime), 7_000.0);
    assert_eq!(millis(Class::Network), 310.0, "a pause of 300 ms, and rows of a COPY that were waited for");
    assert_eq!(millis(Class::Idle), 10.0);
    assert_eq!(millis(Class::Cpu), 10.0);
}

#[test]
fn a_statement_is_one_by_its_identifier_else_by_its_text_without_literals() {
    let without_id = |text: &str, start: i64| Sample {
        query_id: None,
        query_start: Some(start),
        text: Some(Arc::from(text)),
        ..active(1, 7, None)
    };
    let mut looks = vec![vec![without_id("select * from a where n = 1", 1)]];
    // The text comes with the first samples of an execution alone.
    looks.push(vec![Sample { text: None, ..without_id("", 1) }]);
    looks.push(vec![without_id("select * from a where n = 22", 2)]);
    looks.push(vec![without_id("select 7", 3)]);
    looks.push(vec![active(1, 7, None)]);
    // Its identifier is computed a moment after it began.
    looks.push(vec![Sample { query_start: Some(9), ..without_id("select 7", 9) }]);
    let mut profile = sampled(looks);
    assert!(!profile.takes_texts());
    let (ingested, _) = profile.snapshot(&Observed::default());
    let seconds = |text: &str| {
        let context = &ingested.profile.context;
        let found = ingested
            .profile
            .statements
            .iter()
            .filter(|one| context.statement(one.statement).is_some_and(|known| known.text == text));
        found.map(|one| one.own.elapsed.micros() / 1e4).collect::<Vec<_>>()
    };
    assert_eq!(seconds("select * from a where n = ?"), [3.0]);
    assert_eq!(seconds("select 7"), [3.0], "before its identifier was known, and with it");
    profile.look(LOOK, &[Sample { text: None, ..without_id("", 77) }]);
    assert!(profile.takes_texts(), "an execution whose text was not brought is asked for");
}

#[test]
fn reads_that_the_server_counted_are_the_statements_and_those_that_no_sample_met_have_rows() {
    let looks = (0..100).map(|_| vec![active(1, 7, None)]);
    let counted = |executions, hits, reads| Counters { executions, rows: 5, hits, reads };
    let counters = [(7, (counted(40, 9_000, 1_000), "select $1".into())), (8, (counted(2, 0, 3_000), String::new()))];
    let observed = Observed { counters: Some(counters.into_iter().collect()), ..Observed::default() };
    let outcome = document(&sampled(looks), &observed);
    let of = |id: &str, metric: &str| value(&outcome, "statement", ("id", id), metric);
    assert_eq!((of("7", "executions"), of("7", "logical_reads")), (Some(40.0), Some(10_000.0)));
    assert_eq!((of("8", "physical_reads"), of("8", "response_time")), (Some(3_000.0), Some(0.0)));
    assert_eq!(value(&outcome, "summary", ("", ""), "physical_reads"), Some(4_000.0));
    let said = |id: &str| outcome.findings.iter().find(|found| found.id == id).map(|found| found.message.clone());
    assert!(said("answer-physical-reads").unwrap().contains("2 of 2 statements"), "{:?}", outcome.findings);
    assert!(said("answer-logical-read").unwrap().starts_with("100 µs of CPU"), "1 s over 10 000 gets");
    assert!(value(&outcome, "statement_text", ("text", "select $1"), "text_bytes").is_some());
}

#[test]
fn the_gets_of_parallel_workers_are_no_gets_of_the_cpu_time_of_their_leader_alone() {
    let worker = |pid: &u32| {
        let backend = Backend { kind: "parallel worker".into(), ..(*backend(*pid)).clone() };
        Sample { backend: Arc::new(backend), ..active(*pid, 7, None) }
    };
    let said = |workers: &[u32]| {
        let looks = (0..100).map(|_| [active(1, 7, None)].into_iter().chain(workers.iter().map(worker)).collect());
        let counted = (Counters { executions: 40, rows: 5, hits: 9_000, reads: 1_000 }, "select $1".into());
        let observed = Observed { counters: Some([(7, counted)].into_iter().collect()), ..Observed::default() };
        let outcome = document(&sampled(looks), &observed);
        let of = |id: &str| outcome.findings.iter().find(|found| found.id == id).map(|found| found.message.clone());
        (of("answer-logical-read"), of("logical-io-by-rows"))
    };
    let (alone, why) = said(&[]);
    assert!(alone.is_some_and(|alone| alone.starts_with("100 µs of CPU")) && why.is_none(), "{why:?}");
    let (parallel, why) = said(&[8, 9]);
    assert_eq!(parallel, None);
    assert!(why.as_ref().is_some_and(|why| why.contains("parallel workers were at work for 2.00 s")), "{why:?}");
}

#[test]
fn what_is_known_of_the_whole_alone_is_said_of_no_session() {
    let looks = (0..100).map(|_| vec![active(1, 7, None), active(2, 7, None)]);
    let counted = (Counters { executions: 40, rows: 5, hits: 9_000, reads: 1_000 }, "select $1".into());
    let observed = Observed { counters: Some([(7, counted)].into_iter().collect()), ..Observed::default() };
    let outcome = document(&sampled(looks), &observed);
    let rows = |table: &str, (key, of): (&str, &str)| -> Vec<&measure::Case> {
        let cases = outcome.cases.iter().filter(|case| case.parameter("session").is_some());
        cases.filter(|case| case.is("table", table) && case.is(key, of)).collect()
    };
    let (statements, classes) = (rows("statement", ("id", "7")), rows("class", ("class", "cpu")));
    assert_eq!((statements.len(), classes.len()), (2, 2), "a row of each session");
    for (case, metric) in statements.iter().flat_map(|case| [(case, "executions"), (case, "rows")]) {
        assert!(case.metric(metric).is_none(), "{metric} of all sessions in each: {case:?}");
    }
    for case in classes {
        assert!(case.metric("samples").is_none() && case.metric("total").is_some(), "{case:?}");
    }
    assert_eq!(value(&outcome, "class", ("class", "cpu"), "samples"), Some(200.0));
    assert_eq!(value(&outcome, "statement", ("id", "7"), "executions"), Some(40.0));
}

#[test]
fn the_time_of_waits_for_locks_is_charged_to_who_holds_them_down_the_tree() {
    let holder = || silent(1, State::IdleInTransaction);
    let waiting = |pid, id| active(pid, id, Some("Lock:transactionid"));
    let mut profile = sampled([]);
    let samples = vec![holder(), waiting(2, 20), waiting(3, 30)];
    (0..10).for_each(|_| profile.look(LOOK, &samples));
    // It is asked a while after the waits began, and seldom.
    profile.blocking(&[(2, vec![1]), (3, vec![2])], &samples);
    (0..10).for_each(|_| profile.look(LOOK, &samples));
    profile.look(LOOK, &[holder(), active(2, 20, None), active(3, 30, None)]);
    // These are over before it is asked again.
    profile.look(LOOK, &[holder(), waiting(2, 20)]);
    profile.look(LOOK, &[holder(), active(2, 20, None)]);
    let (ingested, _) = profile.snapshot(&Observed::default());
    let tree = &ingested.profile.sampled.as_ref().unwrap().blockers;
    let lines: Vec<(usize, usize, &str, f64)> =
        tree.iter().map(|row| (row.level, row.parent, row.process.as_str(), row.time.micros() / 1e3)).collect();
    assert_eq!(lines, [(0, 0, "1 shop@db", 400.0), (1, 1, "2 shop@db", 200.0), (2, 2, "3 shop@db", 200.0)]);
    assert_eq!((tree[0].state.as_str(), tree[1].event.as_str()), ("idle in transaction", "Lock:transactionid"));
    let said = &ingested.findings.iter().find(|found| found.id == "answer-blockers").unwrap().message;
    assert!(said.contains("for 400 ms. Who") && said.contains("locks of 10.0 ms more is not known"), "{said}");
}

/// The lines of the tree of sessions that wait for each other: level, process, and time in ms.
fn lines(profile: &SampledProfile) -> Vec<(usize, String, f64)> {
    let (ingested, _) = profile.snapshot(&Observed::default());
    let tree = &ingested.profile.sampled.as_ref().unwrap().blockers;
    tree.iter().map(|row| (row.level, row.process.clone(), row.time.micros() / 1e3)).collect()
}

#[test]
fn a_session_that_goes_on_behind_a_time_without_samples_is_no_other_session() {
    let mut profile = sampled([vec![active(1, 1, None)], vec![active(1, 1, None)]]);
    profile.lose(LOOK);
    profile.look(LOOK, &[active(1, 1, None), active(2, 1, None)]);
    let (ingested, _) = profile.snapshot(&Observed::default());
    let sessions = &ingested.profile.sessions;
    assert_eq!((sessions.len(), sessions[0].interval), (2, Ticks(3 * LOOK.0)));
}

#[test]
fn a_session_is_not_charged_with_waits_behind_one_that_it_blocked_earlier() {
    let waiting = |pid: u32| active(pid, i64::from(pid), Some("Lock:transactionid"));
    let mut profile = sampled([]);
    let samples = vec![silent(1, State::IdleInTransaction), waiting(2)];
    (0..10).for_each(|_| profile.look(LOOK, &samples));
    profile.blocking(&[(2, vec![1])], &samples);
    // The second has its lock now, and holds up a third.
    let samples = vec![silent(1, State::Idle), silent(2, State::IdleInTransaction), waiting(3)];
    (0..20).for_each(|_| profile.look(LOOK, &samples));
    profile.blocking(&[(3, vec![2])], &samples);
    let line = |level, pid: u32, time: f64| (level, format!("{pid} shop@db"), time);
    assert_eq!(lines(&profile), [line(0, 2, 200.0), line(1, 3, 200.0), line(0, 1, 100.0), line(1, 2, 100.0)]);
}

#[test]
fn sessions_of_two_backends_with_one_process_number_have_lines_of_their_own() {
    let holder = |user: &str, start: i64| {
        let backend = Backend { start, user: user.into(), ..Backend::clone(&backend(1)) };
        Sample { backend: Arc::new(backend), ..silent(1, State::IdleInTransaction) }
    };
    let mut profile = sampled([]);
    for (user, start, looks) in [("shop", 1, 10), ("bank", 2, 20)] {
        let samples = vec![holder(user, start), active(2, 2, Some("Lock:transactionid"))];
        profile.look(LOOK, &samples);
        profile.blocking(&[(2, vec![1])], &samples);
        (1..looks).for_each(|_| profile.look(LOOK, &samples));
    }
    let line = |level, label: &str, time: f64| (level, label.to_string(), time);
    let of_the_second = [line(0, "1 bank@db", 200.0), line(1, "2 shop@db", 200.0)];
    let of_the_first = [line(0, "1 shop@db", 100.0), line(1, "2 shop@db", 100.0)];
    assert_eq!(lines(&profile), [of_the_second, of_the_first].concat());
}

#[test]
fn a_chain_whose_middle_waits_no_more_is_charged_to_the_middle_from_then_on() {
    let waiting = |pid: u32| active(pid, i64::from(pid), Some("Lock:transactionid"));
    let mut profile = sampled([]);
    let samples = vec![silent(1, State::IdleInTransaction), waiting(2), waiting(3)];
    profile.blocking(&[(2, vec![1]), (3, vec![2])], &samples);
    (0..10).for_each(|_| profile.look(LOOK, &samples));
    // It is not asked again.
    let samples = vec![silent(1, State::Idle), active(2, 2, None), waiting(3)];
    (0..10).for_each(|_| profile.look(LOOK, &samples));
    let line = |level, pid: u32, time: f64| (level, format!("{pid} shop@db"), time);
    let under_the_first = [line(0, 1, 200.0), line(1, 2, 100.0), line(2, 3, 100.0)];
    let under_the_second = [line(0, 2, 100.0), line(1, 3, 100.0)];
    assert_eq!(lines(&profile), [under_the_first.as_slice(), under_the_second.as_slice()].concat());
}

#[test]
fn sessions_that_wait_for_each_other_make_no_endless_tree() {
    let waiting = |pid, id| active(pid, id, Some("Lock:transactionid"));
    let samples = vec![waiting(1, 10), waiting(2, 20)];
    let mut profile = sampled([]);
    profile.blocking(&[(1, vec![2]), (2, vec![1])], &samples);
    (0..3).for_each(|_| profile.look(LOOK, &samples));
    let (ingested, _) = profile.snapshot(&Observed::default());
    assert!((2..5).contains(&ingested.profile.sampled.as_ref().unwrap().blockers.len()));
}

#[test]
fn sessions_that_wait_for_each_other_are_not_lost_beside_one_that_waits_for_none() {
    let waiting = |pid: u32| active(pid, i64::from(pid), Some("Lock:transactionid"));
    let samples = vec![silent(9, State::IdleInTransaction), waiting(3), waiting(5), waiting(6), waiting(7), waiting(8)];
    let mut profile = sampled([]);
    // 7 and 8 wait for each other, and 5 for them; 9 has nothing to do with it.
    let answer = [(3, vec![9]), (5, vec![8]), (6, vec![5]), (7, vec![8]), (8, vec![7])];
    profile.blocking(&answer, &samples);
    (0..3).for_each(|_| profile.look(LOOK, &samples));
    let (ingested, _) = profile.snapshot(&Observed::default());
    let tree = &ingested.profile.sampled.as_ref().unwrap().blockers;
    let roots: Vec<(&str, f64)> =
        tree.iter().filter(|row| row.level == 0).map(|row| (row.process.as_str(), row.time.micros() / 1e3)).collect();
    assert_eq!(roots, [("7 shop@db", 120.0), ("9 shop@db", 30.0)]);
    for pid in [3, 5, 6, 7, 8] {
        let waits = |row: &&BlockerRow| row.level > 0 && row.process == format!("{pid} shop@db");
        assert_eq!(tree.iter().filter(waits).count(), 1, "{pid}");
    }
}

#[test]
fn background_processes_and_parallel_workers_are_apart() {
    let of_kind = |pid, kind: &str, state, event: &str| {
        let backend = Backend { kind: kind.into(), ..(*backend(pid)).clone() };
        Sample { backend: Arc::new(backend), state, ..active(pid, 7, Some(event)) }
    };
    let looks = (0..10).map(|_| {
        vec![
            of_kind(5, "walwriter", State::Background, "Activity:WalWriterMain"),
            of_kind(6, "checkpointer", State::Background, "IO:DataFileWrite"),
            of_kind(7, "parallel worker", State::Active, "IO:DataFileRead"),
        ]
    });
    let (ingested, _) = sampled(looks).snapshot(&Observed::default());
    assert_eq!((ingested.profile.whole.interval, ingested.profile.sessions.len()), (Ticks::ZERO, 0));
    let rows = &ingested.profile.sampled.as_ref().unwrap().background;
    let named: Vec<(&str, u64)> = rows.iter().map(|row| (row.process.as_str(), row.samples)).collect();
    assert_eq!(named, [("checkpointer", 10), ("parallel worker", 10)]);
}

#[test]
fn a_number_that_is_used_again_is_another_session() {
    let other = |sample: Sample| {
        let backend = Backend { start: 99, ..(*sample.backend).clone() };
        Sample { backend: Arc::new(backend), ..sample }
    };
    let looks = [vec![active(1, 7, None)], vec![other(active(1, 7, None))]];
    let (ingested, _) = sampled(looks).snapshot(&Observed::default());
    assert_eq!((ingested.profile.sessions.len(), ingested.profile.whole.interval), (2, LOOK + LOOK));
}

#[test]
fn an_execution_whose_first_sample_came_before_its_identifier_is_one_statement_with_its_text() {
    let text = Some("SELECT 7 FROM orders".into());
    let before = Sample { text, query_id: None, query_start: Some(5), ..active(1, 7, None) };
    let behind = Sample { text: None, query_start: Some(5), ..active(1, 7, None) };
    let found = sampled([vec![before], vec![behind.clone()], vec![behind]]).snapshot(&Observed::default()).0.profile;
    let shown = |one: &crate::tables::StatementProfile| {
        let known = found.context.statement(one.statement).unwrap();
        (known.id.as_str(), known.text.is_empty())
    };
    assert_eq!(found.statements.iter().map(shown).collect::<Vec<_>>(), [("7", false)]);
}

#[test]
fn a_statement_that_was_met_before_its_identifier_has_the_text_of_the_others() {
    let text = Some("SELECT 7 FROM orders".into());
    let before = Sample { text: text.clone(), query_id: None, query_start: Some(5), ..active(1, 7, None) };
    let behind = Sample { text: None, query_start: Some(5), ..active(1, 7, None) };
    let again = Sample { text, ..behind.clone() };
    let shown = |looks: Vec<Vec<Sample>>| {
        let found = sampled(looks).snapshot(&Observed::default()).0.profile;
        found.context.statement(found.statements[0].statement).unwrap().text.clone()
    };
    assert_eq!(shown(vec![vec![before.clone()], vec![behind.clone()]]), "SELECT ? FROM orders");
    assert_eq!(shown(vec![vec![before], vec![behind], vec![again]]), "SELECT 7 FROM orders");
}

#[test]
fn a_wait_whose_name_is_learned_late_stands_in_one_row() {
    let numbered = || vec![active(1, 7, Some("IO:#7"))];
    let named = || vec![active(1, 7, Some("IO:DataFileRead"))];
    // The name is known of no other wait, or of one that the server itself showed meanwhile.
    for others in [0, 5] {
        let mut profile = sampled((0..40).map(|_| numbered()).chain((0..others).map(|_| named())));
        profile.rename("IO:#7", "IO:DataFileRead");
        (0..10).for_each(|_| profile.look(LOOK, &named()));
        let found = profile.snapshot(&Observed::default()).0.profile;
        let name = |event| found.context.event_name(event);
        let of_whole: Vec<(&str, u64)> =
            found.whole.events.iter().map(|(event, sums)| (name(*event), sums.count)).collect();
        assert_eq!(of_whole, [("IO:DataFileRead", 50 + others)]);
        let row = &found.statements.iter().find(|one| !one.waits.is_empty()).unwrap().waits;
        assert_eq!(row.iter().map(|(event, sums)| (name(*event), sums.count)).collect::<Vec<_>>(), of_whole);
        assert_eq!(found.estimated.len(), 1);
        let sums = found.whole.events.values().next().unwrap();
        assert_eq!(sums.total, Ticks(LOOK.0 * (50 + others).cast_signed()));
    }
}

#[test]
fn the_error_of_the_time_at_work_is_that_of_sessions_which_work_now_and_then() {
    let always = sampled((0..1000).map(|_| vec![active(1, 7, None)]));
    let half =
        sampled((0..1000).map(|look| vec![if look % 2 == 0 { active(1, 7, None) } else { silent(1, State::Idle) }]));
    let error = |profile: &SampledProfile| {
        profile.snapshot(&Observed::default()).0.profile.sampled.unwrap().db_time_error.micros() / 1e6
    };
    assert_eq!(error(&always), 0.0);
    assert!((error(&half) - 1.96 * 0.01 * (1000.0_f64 * 0.25).sqrt()).abs() < 1e-6);
}

#[test]
fn intervals_of_sessions_that_end_at_different_moments_close_to_the_tick() {
    let mut profile = SampledProfile::new(0, THINK_TIME, Instruments::default());
    for step in 0..500 {
        for (pid, length) in [(1, 7_031), (2, 3_313), (3, 25_077)] {
            let event = [None, Some("IO:DataFileRead"), Some("IO:DataFileRead")][step as usize % 3];
            profile.interval((Ticks(step * length), Ticks((step + 1) * length)), &active(pid, 7, event));
        }
    }
    let (ingested, _) = profile.snapshot(&Observed::default());
    let whole = &ingested.profile.whole;
    assert_eq!((whole.interval, whole.unaccounted_between), (whole.cpu + whole.waits, Ticks::ZERO));
    let reads = whole.events.values().next().unwrap();
    // Two waits one after the other are two, though nothing lies between them.
    assert_eq!((reads.count, ingested.profile.sampled.as_ref().unwrap().is_exact), (999, true));
}

#[test]
fn a_wait_that_was_watched_stands_in_the_second_in_which_it_ended_and_an_execution_of_seconds_counts_once() {
    let watched = |by: &str| {
        let skew = Skew::new(Dimension::parse_list(by).unwrap(), Filter::default(), THINK_TIME);
        let mut profile = SampledProfile::new(0, THINK_TIME, Instruments::new(Some(skew)));
        // A read of 100 ms behind each 400 ms on a processor.
        for begun in (0..6).map(|step| step * 500) {
            let at = |millis: i64| Ticks::from_micros(1_000 * (begun + millis));
            profile.interval((at(0), at(400)), &active(1, 7, None));
            profile.interval((at(400), at(500)), &active(1, 7, Some("IO:DataFileRead")));
        }
        document(&profile, &Observed::default())
    };
    let (by_second, by_event) = (watched("second"), watched("event"));
    let of = |second: u32| value(&by_second, "skew", ("second", &format!("1970-01-01 00:00:0{second}")), "total");
    // The execution ends with the last read, and has its CPU time there.
    assert_eq!([0, 1, 2, 3].map(of), [100_000.0, 200_000.0, 200_000.0, 2_500_000.0].map(Some));
    let of = |event: &str| ["calls", "min", "max"].map(|metric| value(&by_event, "skew", ("event", event), metric));
    assert_eq!(of("CPU"), [1.0, 2_400_000.0, 2_400_000.0].map(Some));
    assert_eq!(of("IO:DataFileRead"), [6.0, 100_000.0, 100_000.0].map(Some));
}

/// A session or another process of a server that changes at random; `None` where it is not there.
fn change_at_random(process: &mut Option<Sample>, pid: u32, random: &mut measure::random::SplitMix64) {
    let kind = if pid.is_multiple_of(5) { "walwriter" } else { CLIENT };
    let backend = || Arc::new(Backend { kind: kind.into(), start: 7, ..(*backend(pid)).clone() });
    let known = process.as_ref().map_or_else(backend, |sample| Arc::clone(&sample.backend));
    let base = Sample { backend: known, ..silent(pid, State::Idle) };
    *process = match (random.below(8), kind == CLIENT) {
        (0, _) => None,
        // Another one has the number.
        (1, _) => process.take().map(|sample| {
            let start = sample.backend.start + 1;
            Sample { backend: Arc::new(Backend { start, ..(*sample.backend).clone() }), ..sample }
        }),
        (2 | 3, true) => Some(Sample { state: State::Active, event: None, ..base }),
        (4, true) => Some(Sample { state: State::IdleInTransaction, ..base }),
        (_, true) => Some(base),
        (2, false) => Some(Sample { state: State::Background, event: Some("IO:WALWrite".into()), ..base }),
        (_, false) => Some(Sample { state: State::Background, event: Some("Activity:Main".into()), ..base }),
    };
}

#[test]
fn pauses_that_are_added_up_when_they_end_come_to_the_same_as_those_that_are_added_look_by_look() {
    let mut random = measure::random::SplitMix64::new(23);
    let [mut at_once, mut each] = [(), ()].map(|()| sampled([]));
    let mut processes: Vec<Option<Sample>> = vec![None; 12];
    let mut before: Vec<Sample> = Vec::new();
    let mut held = 0;
    for look in 0..3_000_u64 {
        for (at, process) in processes.iter_mut().enumerate().filter(|_| look % 3 == 0) {
            if random.below(6) == 0 {
                change_at_random(process, at as u32 + 1, &mut random);
            }
        }
        let samples: Vec<Sample> = processes.iter().flatten().cloned().collect();
        let rests = |sample: &Sample| matches!(sample.state, State::Idle | State::Background);
        let is_same = |(at, sample): (usize, &Sample)| {
            let same = before.get(at).filter(|was| Arc::ptr_eq(&was.backend, &sample.backend) && *was == sample);
            same.is_some() && rests(sample)
        };
        // As when the server is asked.
        let was_asked = random.below(40) == 0;
        let rest: Vec<bool> = samples.iter().enumerate().map(is_same).filter(|_| !was_asked).collect();
        held += rest.iter().filter(|rests| **rests).count();
        let since = Ticks(1 + random.below(5_000_000) as i64);
        at_once.look_at_changes(since, &samples, &rest);
        each.look(since, &samples);
        if random.below(300) == 0 {
            at_once.lose(Ticks(77));
            each.lose(Ticks(77));
        }
        before = samples;
    }
    assert!(held > 5_000, "{held} samples of processes that rested");
    let [at_once, each] = [&at_once, &each].map(|profile| {
        let outcome = document(profile, &Observed::default());
        let (ingested, _) = profile.snapshot(&Observed::default());
        let sessions: Vec<Ticks> = ingested.profile.sessions.iter().map(|session| session.interval).collect();
        (outcome.cases, outcome.findings, sessions, ingested.profile.sampled.map(|sampled| sampled.db_time_error))
    });
    assert_eq!(at_once, each);
}
