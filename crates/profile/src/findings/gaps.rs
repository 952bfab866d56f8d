//! What is unaccounted for: gaps between calls by their number and mean, and waits that were not traced.

use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::wait_class::Class;

use super::arrays::{ARRAY, array_saving};
use super::caveat::is_traced;
use super::naming::{name, percent};
use super::worth::{Advice, Of, PART};
use crate::event::CallKind;
use crate::tables::{Profile, StatementProfile};

/// The mean of gaps in µs up to which they are what each call costs, and how many that takes.
const SMALL_MICROS: f64 = 1_000.0;
const MANY: u64 = 1_000;

/// What the counts say of the time between calls.
pub(super) fn between(of: &Of<'_>) -> Advice {
    let profile = of.profile;
    let gaps = profile.whole.roots;
    if gaps == 0 {
        return Advice::default();
    }
    let mean = of.sums.total.micros() / gaps as f64;
    let after = format!("{} after each of {}", format_nanos(1e3 * mean), counted(gaps, "call", "calls"));
    if !is_traced(profile) {
        // That waits were not traced is in the title of the class, and in a warning.
        let what = format!("It holds round trips to the client and think time, {after}.");
        let saving = larger_arrays(of, mean);
        let worth = saving.as_ref().map_or(0.0, |(_, micros)| *micros);
        return Advice { sentences: [what].into_iter().chain(saving.map(|(text, _)| text)).collect(), worth };
    }
    if of.is_shared_server {
        let text = format!("The process is a shared server, which does not trace its client's pauses: {after}.");
        return Advice { sentences: vec![text], worth: 0.0 };
    }
    if gaps < MANY || mean > SMALL_MICROS {
        return Advice { sentences: vec![format!("{after} on average.")], worth: 0.0 }.followed_by(of.of_class());
    }
    let mut sentences = vec![format!("{after}: small gaps that come with each call. Make fewer calls.")];
    sentences.extend(most_calls(profile));
    Advice { sentences, worth: 0.0 }
}

/// Whether another finding says already what a class of unaccounted time is, and what to do about it. Of samples, one
/// holds them against the server's account, and says where the error of both explains what that has more.
pub(super) fn is_explained(profile: &Profile, class: Class) -> bool {
    match class {
        Class::UnaccountedWithin => !is_traced(profile),
        Class::UnaccountedBetween => profile.sampled.is_some(),
        _ => false,
    }
}

/// The query that larger arrays would save most gaps: no more than all of them take.
fn larger_arrays(of: &Of<'_>, mean: f64) -> Option<(String, f64)> {
    let profile = of.profile;
    let savings = profile.statements.iter().filter_map(|one| Some((one, array_saving(profile, one)?)));
    let (one, saving) = savings.max_by_key(|(_, saving)| saving.trips)?;
    let micros = (saving.trips as f64 * mean).min(of.sums.total.micros());
    let text = format!(
        "{} is fetched {} rows at a time: arrays of {ARRAY} save {} of these gaps, up to {}.",
        name(profile, one),
        three_digits(saving.rows_each),
        grouped(saving.trips),
        format_nanos(1e3 * micros)
    );
    Some((text, micros))
}

/// The kinds of calls that a sentence counts by name.
const KINDS: [(CallKind, &str, &str); 4] = [
    (CallKind::Parse, "parse", "parses"),
    (CallKind::Exec, "execution", "executions"),
    (CallKind::Fetch, "fetch", "fetches"),
    (CallKind::Close, "close", "closes"),
];

/// The statement with most calls, where it has many of them.
fn most_calls(profile: &Profile) -> Option<String> {
    let calls = |one: &StatementProfile| one.calls.values().map(|sums| sums.calls).sum::<u64>();
    let most = profile.statements.iter().max_by_key(|one| calls(one))?;
    let all: u64 = profile.statements.iter().map(calls).sum();
    let of_most = calls(most);
    if (of_most as f64) < PART * all as f64 {
        return None;
    }
    let share = match of_most == all {
        true => "All calls belong".to_string(),
        false => format!("{} % of the calls belong", percent(of_most as f64, all as f64)),
    };
    let named = KINDS.map(|(kind, one, many)| (most.calls_of(&profile.context, kind).calls, one, many));
    let others = of_most.saturating_sub(named.iter().map(|(count, ..)| *count).sum());
    let counts = named.into_iter().chain([(others, "other call", "other calls")]).filter(|(count, ..)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, one, many)| counted(count, one, many)).collect();
    Some(format!("{share} to {}: {}.", name(profile, most), counts.join(", ")))
}
