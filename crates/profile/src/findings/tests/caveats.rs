//! What spoils or explains a number: what was not traced, what does not add up, what is not known.

use measure::Finding;
use measure::quantity::{format_nanos, grouped};
use measure::schema::profile::findings as row;
use sides::proptest::collection::vec;
use sides::proptest::prelude::{Strategy, any};
use sides::{Reading, reading, says};

use super::made::{add, calls, found, micros, profile, query};
use super::trace::{execution, ingested, read, said};
use crate::event::{Accounted, CallKind, Event, Observer, PlanFigures, Ticks, Wait};
use crate::observe::collector::{Collector, THINK_TIME};
use crate::observe::tests::{context, wait};
use crate::tables::{Plan, PlanRow, Profile, SessionProfile};

pub(super) fn readings() -> Vec<Reading> {
    let [within, between] = negative();
    let [unknown, failed] = [unknown_events(), failed_calls()];
    vec![not_traced(), sessions_not_traced(), estimated(), unrecorded(), within, between, several_sessions()]
        .into_iter()
        .chain([orphans(), contradicting_plans(), unknown, failed])
        .collect()
}

/// Whether there are calls, whether there are waits, and whether the source knows CPU time.
fn not_traced() -> Reading {
    let of = |(has_calls, has_waits, knows_cpu): &(bool, bool, bool)| {
        let mut made = profile(10, &[]);
        made.whole.waits_are_traced = *has_waits;
        if !knows_cpu {
            made.whole.calls.values_mut().for_each(|sums| sums.own.cpu = None);
        }
        if !has_calls {
            made.whole.calls.clear();
        }
        found(&made)
    };
    let values = (any::<bool>(), any::<bool>(), any::<bool>());
    reading(row::WAITS_NOT_TRACED, values, of, |(has_calls, has_waits, knows_cpu)| {
        (*has_calls && !has_waits && *knows_cpu).then(|| says!["Trace again with waits (level 8 or 12)."])
    })
}

/// Sessions: whether they have waits, whether all their calls are recursive, and what is unaccounted for in µs.
fn sessions_not_traced() -> Reading {
    let of = |sessions: &Vec<(bool, bool, i64)>| {
        let mut made = profile(10, &[]);
        made.whole.waits_are_traced = sessions.iter().any(|(has_waits, ..)| *has_waits);
        let session = |(has_waits, is_recursive, hidden): &(bool, bool, i64)| SessionProfile {
            waits_are_traced: *has_waits,
            calls: [((CallKind::Exec as u16, *is_recursive), calls(1, 10, 0, 0))].into(),
            unaccounted_within: micros(hidden - 7),
            unaccounted_between: micros(7),
            ..SessionProfile::default()
        };
        made.sessions = sessions.iter().map(session).collect();
        found(&made)
    };
    let values = vec((any::<bool>(), any::<bool>(), -50..100_i64), 0..5);
    reading(row::SESSIONS_NOT_TRACED, values, of, |sessions| {
        let untraced: Vec<i64> = sessions
            .iter()
            .filter(|(has, is_recursive, _)| !has && !is_recursive)
            .map(|(.., hidden)| *hidden)
            .collect();
        let [have, theirs, their] =
            if untraced.len() == 1 { ["has", "its own", "its"] } else { ["have", "theirs", "their"] };
        let (hidden, count) = (untraced.iter().sum::<i64>(), untraced.len());
        let said = format!(
            "{count} of {} sessions {have} no wait in the trace: {} of what is unaccounted for is {theirs}, and holds \
             {their} waits.",
            sessions.len(),
            format_nanos(1e3 * hidden as f64)
        );
        (hidden > 0 && sessions.iter().any(|(has_waits, ..)| *has_waits)).then(|| says![said])
    })
}

const EVENTS: [&str; 3] = ["IO:DataFileRead", "IO:WALSync", "Lock:tuple"];

/// Four waits of 100 ms for each of three events, with these errors in µs.
fn estimated() -> Reading {
    let of = |errors: &[i64; 3]| {
        let context = context(&EVENTS.map(|event| (event, [].as_slice())));
        let mut collector = Collector::new(THINK_TIME);
        for (event, error) in (0..).zip(errors) {
            let estimate = Wait { elapsed_error: micros(*error), ..wait(event, 100_000, [0; 3]) };
            (0..4).for_each(|_| collector.wait(&context, &estimate));
        }
        found(&collector.finish(Accounted { context, ..Accounted::default() }))
    };
    // One event is always less certain than the others.
    let values = (0..3_i64, 0..3_i64, 0..3_i64).prop_map(|(one, other, third)| [one, other * 3, third * 9]);
    reading(row::ESTIMATED_TIMES, values, of, |errors| {
        let (count, most) = (errors.iter().filter(|error| **error > 0).count(), errors.iter().max()?);
        let name = EVENTS[errors.iter().position(|error| error == most)?];
        let events = if count == 1 { "1 event".into() } else { format!("{count} events") };
        let error = format_nanos(2e3 * *most as f64);
        let said = format!(
            "Times of {events} are estimates: the most uncertain is {name}, 400 ms with a standard error of {error}."
        );
        (count > 0).then(|| says![said])
    })
}

/// A pause between two files of a session, in ms.
fn unrecorded() -> Reading {
    let of = |pause: &i64| {
        let session = "*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n";
        let first = [session, &execution(1, 0, 100, 1_000_000), "*** TRACE CONTINUES IN FILE /b.trc ***\n"].concat();
        let came = "*** TRACE CONTINUED FROM FILE /a.trc ***\n";
        let second = [came, session, &execution(1, 0, 100, 1_000_100 + 1000 * pause)].concat();
        read(&[&first, &second])
    };
    reading(row::UNRECORDED, 900..1100_i64, of, |pause| {
        let said = format!("{} of the sessions' time is not recorded", format_nanos(1e6 * *pause as f64));
        (*pause >= 1000).then(|| says![said])
    })
}

/// Ticks that are unaccounted for, of 1000 µs: half a hundredth of that is 625 ticks.
fn negative() -> [Reading; 2] {
    let made = |within: i64, between: i64| {
        let mut made = profile(1000, &[]);
        (made.whole.unaccounted_within, made.whole.unaccounted_between) = (Ticks(within), Ticks(between));
        found(&made)
    };
    let amount = |ticks: i64| format!("-{}: ", format_nanos(1e3 * Ticks(-ticks).micros()));
    let within = reading(
        row::NEGATIVE_WITHIN,
        -1200..100_i64,
        move |ticks| made(*ticks, -9999),
        move |ticks| (*ticks < -625).then(|| says![format!("Unaccounted for within calls is {}", amount(*ticks))]),
    );
    let between = reading(
        row::NEGATIVE_BETWEEN,
        -1200..100_i64,
        move |ticks| made(-9999, *ticks),
        move |ticks| {
            let says = || says![format!("Unaccounted for between calls is {}", amount(*ticks)), "the same lines twice"];
            (*ticks < -625).then(says)
        },
    );
    [within, between]
}

fn several_sessions() -> Reading {
    let of = |count: &usize| found(&Profile { sessions: vec![SessionProfile::default(); *count], ..profile(1, &[]) });
    reading(row::SEVERAL_SESSIONS, 0..4_usize, of, |count| {
        (*count > 1).then(|| says![format!("{count} sessions are added up: ")])
    })
}

/// Executions that no other one called, and those whose caller is not in the trace.
fn orphans() -> Reading {
    let of = |(outermost, orphans): &(i64, i64)| {
        let depth = |number: i64| u16::from(number >= *outermost);
        let calls = (0..outermost + orphans).map(|number| execution(1, depth(number), 10, 1000 + 100 * number));
        read(&[&calls.collect::<String>()])
    };
    reading(row::ORPHAN_CALLS, (0..3_i64, 0..3_i64), of, |(outermost, orphans)| {
        let all = if outermost + orphans == 1 {
            "1 outermost call".into()
        } else {
            format!("{} outermost calls", outermost + orphans)
        };
        let said = match orphans {
            1 => says!["is a recursive one whose", "It counts as a call of its own."],
            _ => says!["are recursive ones whose", "They count as calls of their own."],
        };
        (*orphans > 0).then(|| said.into_iter().chain([format!("{orphans} of {all} ")]).collect())
    })
}

#[test]
fn what_a_log_of_plans_says_of_itself_is_not_said_once_more_as_of_a_trace() {
    for (cpu, expected) in [(None, 0), (Some(micros(1)), 2)] {
        let mut made = profile(10, &[]);
        made.whole.calls.values_mut().for_each(|sums| sums.own.cpu = cpu);
        (made.whole.orphans, made.whole.roots, made.whole.unrecorded) = (1, 2, micros(5));
        let all = found(&made);
        let said: Vec<&str> = all.iter().map(|one| one.message.as_str()).filter(|said| said.contains("trac")).collect();
        let of_traces = all.iter().filter(|one| row::ORPHAN_CALLS.made(one) || row::UNRECORDED.made(one)).count();
        assert_eq!((of_traces, said.len()), (expected, expected), "{said:?}");
    }
}

#[test]
fn a_remainder_below_zero_is_put_down_to_what_its_source_has() {
    for (cpu, is_log) in [(None, true), (Some(micros(1)), false)] {
        let mut made = profile(1000, &[]);
        made.whole.calls.values_mut().for_each(|sums| sums.own.cpu = cpu);
        (made.whole.unaccounted_within, made.whole.unaccounted_between) = (micros(-10), micros(-10));
        let all = found(&made);
        let said = |of_log: &str, of_trace: &str| {
            let has = |part: &str| all.iter().any(|finding| finding.message.contains(part));
            assert_eq!((has(of_log), has(of_trace)), (is_log, !is_log), "{all:?}");
        };
        said("times of I/O in some plans", "the clock of CPU moves in steps");
        said("a log has their ends to the millisecond", "a call's time was written too long");
    }
}

/// Plans by the µs that their second line took, where the first took 1000.
fn contradicting_plans() -> Reading {
    let of = |lines: &Vec<i64>| {
        let mut made = profile(10, &[]);
        for (place, micros_of_line) in lines.iter().enumerate() {
            let line = |id: u32, time: i64| {
                let figures = PlanFigures { time: micros(time), ..PlanFigures::default() };
                PlanRow { id, parent: id - 1, inclusive: Some(figures), ..PlanRow::default() }
            };
            let lines = vec![line(1, 1000), line(2, *micros_of_line)];
            add(&mut made, query(&format!("s{place}")), &[]).plans = vec![Plan { plan_hash: 0, blocks: 1, lines }];
        }
        found(&made)
    };
    reading(row::PLAN_TIMES_CONTRADICT, vec(900..1100_i64, 0..3), of, |lines| {
        // By a fiftieth of the longer one.
        let count = lines.iter().filter(|line| (**line - 1000) * 50 > **line).count();
        let statements = if count == 1 { "1 statement have".into() } else { format!("{count} statements have") };
        (count > 0).then(|| says![format!("The plans of {statements} lines that took longer")])
    })
}

/// Events that no class lists, besides one that is known.
fn unknown_events() -> Reading {
    let of = |count: &usize| {
        let mut made = profile(10, &[("db file sequential read", 1)]);
        let unknown = (0..*count).map(|number| format!("novelty {number}"));
        let sums = made.whole.events.values().next().cloned().unwrap_or_default();
        for (place, name) in (1..).zip(unknown) {
            made.context.events.push(Event::new(&name, &[]));
            made.whole.events.insert(crate::event::EventIndex(place), sums.clone());
        }
        found(&made)
    };
    reading(row::EVENTS_WITHOUT_CLASS, 0..8_usize, of, |count| {
        let names: Vec<String> = (0..(*count).min(5)).map(|number| format!("novelty {number}")).collect();
        let more = if *count > 5 { format!(" and {} more.", count - 5) } else { ".".into() };
        let names = names.join(", ") + &more;
        let some = if *count == 1 {
            "1 event has no class in this version and is"
        } else {
            "events have no class in this version and are"
        };
        (*count > 0).then(|| says![some, format!(" under `other`: {names}"), count])
    })
}

/// Calls that failed, by four errors.
fn failed_calls() -> Reading {
    let of = |counts: &[u64; 4]| -> Vec<Finding> {
        let failed = (1..).map(Some).zip(counts.iter().copied()).filter(|(_, count)| *count > 0);
        said(ingested(Profile { errors: failed.collect(), ..profile(10, &[]) }))
    };
    let values = (0..3_u64, 0..3_u64, 0..3_u64, 0..1200_u64).prop_map(|(a, b, c, d)| [a, b, c, d / 1000 * d]);
    reading(row::FAILED_CALLS, values, of, |counts| {
        let mut known: Vec<(usize, u64)> = (1..).zip(*counts).filter(|(_, count)| *count > 0).collect();
        known.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut list: Vec<String> =
            known.iter().take(3).map(|(code, count)| format!("error {code}: {}", grouped(*count))).collect();
        list.extend(known.get(3).map(|(_, count)| format!("others: {}", grouped(*count))));
        let all: u64 = counts.iter().sum();
        let calls = if all == 1 { "1 call".into() } else { format!("{} calls", grouped(all)) };
        (all > 0).then(|| says![format!("{calls} failed ({}); the time is", list.join(", "))])
    })
}
