//! A random call tree, written as a trace, must come back as the profile that is true for it.

use std::collections::BTreeMap;

use crate::synthetic_trace::{CallTruth, Dialect, Figures, Recipe, SessionTruth, WaitTruth, synthesize};
use profile::event::{Cost, Merge, Ticks, Unit};
use profile::tables::{CallSums, EventSums, Profile, SessionProfile};
use proptest::prelude::*;

fn figures(cost: &Cost) -> Figures {
    let micros = |ticks: Ticks| ticks.0 / Ticks::PER_MICROSECOND;
    let cpu = micros(cost.cpu.unwrap_or_default());
    [cpu, micros(cost.elapsed), cost.physical_reads, cost.consistent_gets, cost.current_gets]
}

fn calls(sums: &CallSums) -> CallTruth {
    CallTruth {
        calls: sums.calls,
        rows: sums.rows,
        misses: sums.misses,
        own: figures(&sums.own),
        inclusive: figures(&sums.inclusive()),
    }
}

fn waits(sums: &EventSums) -> WaitTruth {
    let micros = |ticks: Ticks| ticks.0 / Ticks::PER_MICROSECOND;
    WaitTruth { inside: (sums.inside_count, micros(sums.inside)), between: (sums.between_count, micros(sums.between)) }
}

/// A session of a profile in the words of what is true; statements are held apart, for the whole.
fn session(profile: &Profile, session: &SessionProfile) -> SessionTruth {
    let context = &profile.context;
    let name = |name: &u16| context.call_names[usize::from(*name)].clone();
    let event = |event: u32| context.events[event as usize].name.clone();
    SessionTruth {
        id: context.sessions[session.session.expect("known").0 as usize].id.clone(),
        interval: session.interval.0 / Ticks::PER_MICROSECOND,
        roots: (session.roots, session.orphans),
        response_time: session.response_time.0 / Ticks::PER_MICROSECOND,
        calls: session.calls.iter().map(|((of, recursive), sums)| ((name(of), *recursive), calls(sums))).collect(),
        waits: session.events.iter().map(|(of, sums)| (event(of.0), waits(sums))).collect(),
        ..SessionTruth::default()
    }
}

/// The statements of a profile by identifier; undeclared cursors by their number, whichever session's.
fn statements(profile: &Profile) -> BTreeMap<String, (CallTruth, WaitTruth)> {
    let mut all: BTreeMap<String, (CallSums, EventSums)> = BTreeMap::new();
    for statement in &profile.statements {
        let known = &profile.context.statements[statement.statement.0 as usize];
        let cursor = known.text.split_once("cursor #").and_then(|(_, text)| text.split([' ', ',']).next());
        let id = cursor.map_or(known.id.clone(), |number| format!("unknown cursor #{number}"));
        let sums = all.entry(id).or_default();
        statement.calls.values().for_each(|more| sums.0.merge(more));
        statement.waits.values().for_each(|more| sums.1.merge(more));
    }
    all.iter().map(|(id, (of_calls, of_waits))| (id.clone(), (calls(of_calls), waits(of_waits)))).collect()
}

fn true_statements(sessions: &[SessionTruth]) -> BTreeMap<String, (CallTruth, WaitTruth)> {
    let mut all: BTreeMap<String, (CallTruth, WaitTruth)> = BTreeMap::new();
    for (id, (calls, waits)) in sessions.iter().flat_map(|session| &session.statements) {
        let sums = all.entry(id.clone()).or_default();
        sums.0.calls += calls.calls;
        sums.0.rows += calls.rows;
        sums.0.misses += calls.misses;
        (0..5).for_each(|place| sums.0.own[place] += calls.own[place]);
        (0..5).for_each(|place| sums.0.inclusive[place] += calls.inclusive[place]);
        sums.1.inside = (sums.1.inside.0 + waits.inside.0, sums.1.inside.1 + waits.inside.1);
        sums.1.between = (sums.1.between.0 + waits.between.0, sums.1.between.1 + waits.between.1);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_random_call_tree_comes_back_as_its_exact_profile(
        seed: u64,
        is_new: bool,
        sessions in 1_usize..4,
        client_calls in 0_usize..40,
    ) {
        let dialect = if is_new { Dialect::Eleven } else { Dialect::Ten };
        let made = synthesize(Recipe { seed, dialect, sessions, client_calls });
        let profile = crate::support::profile_in(Unit::Microsecond, &[&made.bytes]);
        let ours: Vec<SessionTruth> = profile.sessions.iter().map(|of| session(&profile, of)).collect();
        let apart = |session: &SessionTruth| {
            let (statements, transactions, errors) = Default::default();
            SessionTruth { statements, transactions, errors, ..session.clone() }
        };
        prop_assert_eq!(&ours, &made.sessions.iter().map(apart).collect::<Vec<_>>());
        prop_assert_eq!(statements(&profile), true_statements(&made.sessions));
        let transactions: u64 = made.sessions.iter().map(|session| session.transactions).sum();
        prop_assert_eq!(profile.whole.transactions.read_only, transactions);
        let errors: u64 = made.sessions.iter().map(|session| session.errors).sum();
        prop_assert_eq!(profile.errors.get(&Some(1)).copied().unwrap_or(0), errors);
        prop_assert!(profile.unread.is_empty(), "{:?}", profile.unread);
    }

    #[test]
    fn a_profile_does_not_depend_on_how_its_file_was_cut_into_batches(
        seed: u64,
        sessions in 1_usize..4,
        chunk_bytes in 1_usize..5000,
    ) {
        let made = synthesize(Recipe { seed, dialect: Dialect::Eleven, sessions, client_calls: 30 });
        let whole = crate::support::profile_in(Unit::Microsecond, &[&made.bytes]);
        let parts = crate::support::profile_in_parts(Unit::Microsecond, &made.bytes, chunk_bytes);
        prop_assert_eq!(format!("{whole:?}"), format!("{parts:?}"));
    }
}
