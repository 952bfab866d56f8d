//! Two profiles, one against the other: what became faster and slower by class, event and statement, in total, for an
//! execution and for a row.
//!
//! A difference of means is held against the spread of the executions themselves: one that they explain says nothing.

mod account;
mod change;
mod executions;
mod interval;
mod kept;
mod plans;
mod sample;
mod side;
mod statements;

use std::collections::BTreeMap;

use measure::compare::{PlanChange, ProfileComparison, ProfileSide, StatementAlone, TimeChange};
use measure::sorting;
use measure::wait_class::Class;
use measure::{Finding, Severity};

use crate::document::{Order, STATEMENTS_MAX, class_events};
use crate::event::{CallKind, Ticks};
use crate::findings;
use crate::observe::hot_spots::HotSpots;
use crate::tables::Profile;
use crate::tables::class_sums::class_sums;
use crate::tables::sampled::Sampled;
use account::{OfAccount, leaves_out_accounts};
use change::{amount, by_difference, by_total, change};
pub use executions::Executions;
pub use interval::{Cut, Interval};
pub use kept::compare_kept;
pub use side::Side;
use statements::{Measured, has_own_plans, measured, pairs};

/// Characters of a statement's text.
const TEXT_HEAD: usize = 200;

/// How a comparison is shown.
#[derive(Clone, Copy, Debug)]
pub struct CompareSettings {
    /// How many statements of each kind.
    pub top: usize,
    /// Whether no text of a statement is shown.
    pub hides_texts: bool,
}

/// Compares `after` with `before`. Statements whose texts differ in literals alone are one where either profile has
/// many that were executed once.
pub fn compare(mut before: Side, mut after: Side, settings: CompareSettings) -> ProfileComparison {
    for side in [&mut before, &mut after] {
        side.executions.finish();
        side.ingested.fold_literals_of_once();
    }
    let is_folded = before.ingested.folded.is_some() || after.ingested.folded.is_some();
    for side in [&mut before, &mut after] {
        if is_folded && side.ingested.folded.is_none() {
            side.ingested.fold_literals();
        }
    }
    leave_out_accounts([&mut before.ingested.profile, &mut after.ingested.profile]);
    let mut found = ProfileComparison {
        before: describe(&before),
        after: describe(&after),
        top: settings.top as u64,
        source: before.ingested.source.map(String::from),
        passes_nothing: [&before, &after].iter().all(|side| side.accepted == Some(0)),
        ..ProfileComparison::default()
    };
    add_times(&mut found, &before, &after);
    add_statements(&mut found, &before, &after, settings);
    found.divide_by_lengths();
    // After that: statements without an identifier are found again by their texts.
    for side in [&mut before, &mut after].into_iter().filter(|_| settings.hides_texts) {
        side.ingested.profile.hide_texts();
    }
    found.warnings = (warnings(&before), warnings(&after));
    found
}

/// Takes off what the accounts of two profiles of samples have more, where a comparison leaves it out.
fn leave_out_accounts(profiles: [&mut Profile; 2]) {
    let of_account = |sampled: &Sampled| OfAccount {
        is_known: sampled.db_time_of_server.is_some(),
        has_no_sample: sampled.db_time <= Ticks::ZERO && !sampled.is_exact,
        is_beyond: sampled.missed().is_some_and(|missed| missed > sampled.stated_error()),
    };
    let sides = profiles.each_ref().map(|profile| profile.sampled.as_deref().map(of_account));
    match sides {
        [Some(first), Some(second)] if leaves_out_accounts([first, second]) => {}
        _ => return,
    }
    for profile in profiles {
        let Some(sampled) = &mut profile.sampled else { continue };
        let missed = sampled.missed().unwrap_or_default();
        sampled.db_time_of_server = None;
        profile.whole.interval -= missed;
        profile.whole.unaccounted_between -= missed;
    }
}

fn describe(side: &Side) -> ProfileSide {
    let profile = &side.ingested.profile;
    let client = profile.whole.calls.iter().filter(|((_, is_recursive), _)| !is_recursive);
    let is_execution = |name: u16| profile.context.call_name(name) == CallKind::Exec.name();
    let executions: u64 = client.clone().filter(|((name, _), _)| is_execution(*name)).map(|(_, sums)| sums.calls).sum();
    let rows = client.map(|(_, sums)| sums.rows).fold(0, u64::saturating_add);
    // Samples meet no execution and no row, and the files of a recording are its segments.
    let counts = profile.sampled.is_none();
    ProfileSide {
        name: side.name.clone(),
        files: counts.then_some(side.ingested.files.len() as u64),
        interval_us: profile.whole.interval.micros(),
        sampled_us: profile.sampled.as_ref().map(|sampled| sampled.time.micros()),
        executions: counts.then_some(executions),
        rows: (counts && !side.ingested.unmeasured.rows).then_some(rows),
    }
}

fn warnings(side: &Side) -> Vec<Finding> {
    let ingested = &side.ingested;
    let of_profile = findings::findings(&ingested.profile, &HotSpots::default(), Order::ResponseTime, &ingested.begun);
    let all = of_profile.into_iter().chain(findings::of_files(ingested));
    all.filter(|finding| finding.severity == Severity::Warning).collect()
}

/// A class, or an event in it.
type Key = (Class, Option<String>);

/// The waits and the time of each class and each event.
fn times(side: &Side) -> BTreeMap<Key, (u64, Ticks)> {
    let profile = &side.ingested.profile;
    let mut found: BTreeMap<Key, (u64, Ticks)> = BTreeMap::new();
    for (class, sums) in class_sums(&profile.whole, &profile.context) {
        found.insert((class, None), (sums.calls, sums.total));
        let events = class_events(profile, &sums).into_iter();
        found.extend(events.map(|(event, times)| ((class, Some(event.to_owned())), times)));
    }
    found
}

/// The response time, the classes and the events.
fn add_times(found: &mut ProfileComparison, before: &Side, after: &Side) {
    let sides = [(before, times(before), found.before.clone()), (after, times(after), found.after.clone())];
    let divisors = |side: &ProfileSide| (side.executions.unwrap_or(0), side.rows.unwrap_or(0));
    let keys = sorting::set(sides.iter().flat_map(|(_, times, _)| times.keys()));
    for key in keys {
        let (class, event) = (key.0, key.1.as_deref());
        let [first, second] = sides.each_ref().map(|(side, times, described)| {
            let (count, total) = times.get(key).copied().unwrap_or_default();
            let context = &side.ingested.profile.context;
            let sample = side.executions.of_class(context, class, event);
            (amount(total, described.executions.map(|_| count), divisors(described)), sample)
        });
        let change = change(event.unwrap_or(class.key()), first, second);
        match event {
            Some(_) => found.events.push(TimeChange { class: Some(class.key().into()), ..change }),
            None => found.classes.push(change),
        }
    }
    let [first, second] = sides.each_ref().map(|(side, times, described)| {
        let idle = times.iter().filter(|((class, event), _)| class.is_idle() && event.is_none());
        let idle: Ticks = idle.map(|(_, (_, total))| *total).sum();
        let served = side.ingested.profile.whole.interval - idle;
        (amount(served, described.executions, divisors(described)), side.executions.response)
    });
    found.response_time = change("", first, second);
    sorting::by(&mut found.classes, by_difference);
    sorting::by(&mut found.events, by_difference);
}

/// Statements of both sides and of one alone, and the plans that changed.
fn add_statements(found: &mut ProfileComparison, before: &Side, after: &Side, settings: CompareSettings) {
    let paired = pairs(measured(&before.ingested, &before.executions), measured(&after.ingested, &after.executions));
    let text = |text: &str| -> Option<String> {
        let head: String = text.chars().take(TEXT_HEAD).collect();
        (!head.is_empty() && !settings.hides_texts).then_some(head)
    };
    let mut both: Vec<(TimeChange, Option<PlanChange>)> = Vec::with_capacity(paired.both.len());
    for (first, second) in &paired.both {
        let change = change(second.id, (first.amount, first.sample), (second.amount, second.sample));
        let plans = plans::plan_change(second.id, &first.plans, &second.plans).filter(|_| has_own_plans(second.id));
        both.push((TimeChange { text: text(second.text), ..change }, plans));
    }
    sorting::by(&mut both, |(one, _), (other, _)| by_difference(one, other));
    found.left_out = both.len().saturating_sub(STATEMENTS_MAX) as u64;
    for (change, plans) in both.into_iter().take(STATEMENTS_MAX) {
        found.statements.push(change);
        found.plans.extend(plans);
    }
    let mut alone = |measured: Vec<Measured>| -> Vec<StatementAlone> {
        let row = |one: &Measured| StatementAlone { id: one.id.into(), text: text(one.text), amount: one.amount };
        let mut rows: Vec<StatementAlone> = measured.iter().map(row).collect();
        sorting::by(&mut rows, by_total);
        found.left_out += rows.len().saturating_sub(STATEMENTS_MAX) as u64;
        rows.truncate(STATEMENTS_MAX);
        rows
    };
    (found.vanished, found.new) = (alone(paired.before), alone(paired.after));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::sampled::ActiveSessions;

    #[test]
    fn what_the_server_of_one_side_alone_counts_is_no_difference_between_the_two() {
        let seconds = |seconds: i64| Ticks::from_micros(seconds * 1_000_000);
        let profile = |account: Option<i64>| {
            let sampled =
                Sampled { db_time: seconds(100), db_time_of_server: account.map(seconds), ..Sampled::default() };
            let mut profile = Profile { sampled: Some(Box::new(sampled)), ..Profile::default() };
            let missed = profile.sampled.as_ref().and_then(|sampled| sampled.missed()).unwrap_or_default();
            profile.whole.interval = seconds(100) + missed;
            profile.whole.unaccounted_between = missed;
            profile
        };
        let times = |accounts: [Option<i64>; 2]| {
            let [mut first, mut second] = accounts.map(profile);
            leave_out_accounts([&mut first, &mut second]);
            [first, second].map(|one| (one.whole.interval, one.whole.unaccounted_between))
        };
        assert_eq!(times([Some(117), None]), [(seconds(100), Ticks::ZERO); 2]);
        assert_eq!(times([Some(117), Some(100)])[0], (seconds(117), seconds(17)));
    }

    #[test]
    fn what_the_accounts_error_explains_or_all_that_one_side_has_is_no_difference() {
        let seconds = |seconds: i64| Ticks::from_micros(seconds * 1_000_000);
        let profile = |(samples, account): (i64, i64)| {
            // The account is late by a second of three sessions: 3 s.
            let sampled = Sampled {
                db_time: seconds(samples),
                db_time_of_server: Some(seconds(account)),
                active: ActiveSessions { mean: if samples > 0 { 3.0 } else { 0.0 }, ..ActiveSessions::default() },
                ..Sampled::default()
            };
            let missed = sampled.missed().unwrap();
            let mut profile = Profile { sampled: Some(Box::new(sampled)), ..Profile::default() };
            profile.whole.interval = seconds(samples) + missed;
            profile.whole.unaccounted_between = missed;
            profile
        };
        let intervals = |sides: [(i64, i64); 2]| {
            let [mut first, mut second] = sides.map(profile);
            leave_out_accounts([&mut first, &mut second]);
            [first, second].map(|one| one.whole.interval)
        };
        assert_eq!(intervals([(15, 15), (15, 17)]), [seconds(15); 2], "2 s are within the error");
        assert_eq!(intervals([(15, 15), (15, 20)]), [15, 20].map(seconds), "5 s are not");
        assert_eq!(intervals([(0, 12), (12, 12)]), [0, 12].map(seconds), "nothing was sampled of the first");
    }
}
