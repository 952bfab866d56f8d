//! What makes round trips to the client fewer, by the statement that would save most: larger arrays where an execution
//! returns many rows, one statement for many keys where it returns few.

use measure::quantity::{counted, format_nanos, grouped, three_digits};

use super::arrays::{ARRAY, ROWS_MIN, RoundTrips, array_saving, round_trips};
use super::commits::changes_rows;
use super::naming::{ended, name, percent};
use super::worth::{Advice, Of, PART};
use crate::event::CallKind;
use crate::tables::{Profile, StatementProfile};

/// Executions from which on one for many keys is worth a word.
const EXECUTIONS_MIN: u64 = 100;

/// Part of the class that must be saved to be worth a word.
const SAVED_MIN: f64 = 0.05;

/// What a statement can save of its round trips.
struct Saving {
    sentence: String,
    micros: f64,
}

/// What the counts say of round trips.
pub(super) fn advice(of: &Of<'_>) -> Advice {
    let savings = of.profile.statements.iter().filter_map(|one| saving(of.profile, one));
    let most = savings.max_by(|one, other| one.micros.total_cmp(&other.micros));
    let most = most.filter(|most| most.micros >= SAVED_MIN * of.sums.total.micros());
    let (events, _) = of.events_with_part();
    let Some(Saving { sentence, micros }) = most else {
        let mut sentences: Vec<String> = longest(of).into_iter().collect();
        sentences.extend(if events.is_empty() { of.of_class() } else { events });
        return Advice { sentences, worth: 0.0 };
    };
    let mut sentences = vec![sentence];
    sentences.extend(events);
    Advice { sentences, worth: micros }
}

/// The round trips of a statement that it can do without.
fn saving(profile: &Profile, one: &StatementProfile) -> Option<Saving> {
    let trips = round_trips(profile, one).filter(|trips| trips.mean > 0.0)?;
    if let Some(saving) = array_saving(profile, one) {
        let sentence = format!(
            "{} is fetched {} rows at a time: arrays of {ARRAY} save {}, {} if a round trip takes the same time for \
             any number of rows (0 to {}).",
            name(profile, one),
            three_digits(saving.rows_each),
            counted(saving.trips, "round trip", "round trips"),
            format_nanos(1e3 * saving.micros),
            format_nanos(1e3 * saving.range.1),
        );
        return Some(Saving { sentence, micros: saving.micros });
    }
    one_by_one(profile, one, trips)
}

/// A statement that is executed for each key or row.
fn one_by_one(profile: &Profile, one: &StatementProfile, trips: RoundTrips) -> Option<Saving> {
    let execute = one.calls_of(&profile.context, CallKind::Exec);
    let fetch = one.calls_of(&profile.context, CallKind::Fetch);
    let is_clients = profile.context.statement(one.statement).is_some_and(|known| known.depth == 0);
    let changes = changes_rows(profile, one);
    let rows = if changes { execute.rows } else { fetch.rows };
    if !is_clients || execute.calls < EXECUTIONS_MIN || rows / execute.calls >= ROWS_MIN {
        return None;
    }
    let executions = execute.calls as f64;
    let rows = three_digits(rows as f64 / executions);
    let (did, instead) = match (changes, fetch.calls > 0) {
        (true, _) => (format!("change {rows} rows each"), format!("arrays of {ARRAY} for its variables save")),
        (_, true) => (format!("return {rows} rows each"), "one statement for many keys saves".into()),
        (_, false) => ("return no rows".into(), "one call for several saves".into()),
    };
    // All but one for each array, or for each hundred keys.
    let micros = trips.count * trips.mean * (1.0 - 1.0 / ARRAY as f64);
    let sentence = format!(
        "{} executions of {} {did}, in {} of {}: {instead} up to {}.",
        grouped(execute.calls),
        name(profile, one),
        counted(trips.count as u64, "round trip", "round trips"),
        format_nanos(1e3 * trips.mean),
        format_nanos(1e3 * micros),
    );
    Some(Saving { sentence, micros })
}

/// The statement with most of the time, where counts show nothing to save.
fn longest(of: &Of<'_>) -> Option<String> {
    let all = of.profile.statements.iter().filter_map(|one| Some((one, round_trips(of.profile, one)?)));
    let time = |trips: &RoundTrips| trips.count * trips.mean;
    let (one, trips) = all.max_by(|(_, one), (_, other)| time(one).total_cmp(&time(other)))?;
    let total = of.sums.total.micros();
    // Samples tell how long the client paused, not how often.
    let is_counted = of.profile.sampled.as_ref().is_none_or(|sampled| sampled.is_exact);
    let what = match is_counted {
        true => {
            let trips = (counted(trips.count as u64, "round trip", "round trips"), format_nanos(1e3 * trips.mean));
            format!("{} of {}", trips.0, trips.1)
        }
        false => "pauses of the client".into(),
    };
    (time(&trips) >= PART * total).then(|| {
        ended(format!("{} % of it is {what} after calls of {}", percent(time(&trips), total), name(of.profile, one)))
    })
}
