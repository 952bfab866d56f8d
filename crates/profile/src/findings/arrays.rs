//! What larger arrays would save a query that fetches few rows at a time.

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::profile::findings as row;

use super::naming::name;
use crate::event::{CallKind, EventIndex, Merge};
use crate::tables::histogram::Histogram;
use crate::tables::{BlockSums, Profile, StatementProfile, ThinkTime};

/// Fetches from which on fetching row by row is worth a word.
const FETCHES_MIN: u64 = 100;

/// Rows of an execution from which on they are worth fetching in arrays.
pub(super) const ROWS_MIN: u64 = 20;

/// Rows of an array that is large enough: more gains little.
pub(super) const ARRAY: u64 = 100;

/// Rows a fetch below which they come almost one by one.
const ONE_BY_ONE: f64 = 2.0;

/// Part of the interval that larger arrays must save to be worth a word.
const ARRAY_SHARE: f64 = 0.01;

/// The query that would save most by fetching larger arrays.
pub(super) fn larger(profile: &Profile) -> Option<Finding> {
    let saving = profile.statements.iter().filter_map(|statement| Some((statement, array_saving(profile, statement)?)));
    let least = ARRAY_SHARE * profile.whole.interval.micros();
    let matters = |saving: &ArraySaving| saving.micros > 0.0 && saving.micros >= least;
    let saving = saving.filter(|(_, saving)| saving.rows_each < ONE_BY_ONE || matters(saving));
    let (statement, saving) = saving.max_by(|(_, one), (_, other)| one.micros.total_cmp(&other.micros))?;
    let shown = |micros: f64| format_nanos(1e3 * micros);
    let worth = match saving.micros > 0.0 {
        true => format!(
            "Arrays of {ARRAY} save {} of {}: {}{} if a round trip takes the same time for any number of rows (0 to \
             {}: nothing if its time grows with the rows).",
            counted(saving.trips, "round trip", "round trips"),
            shown(saving.trip_micros),
            shown(saving.micros),
            if saving.is_all() { ", all of its waits for the client," } else { "" },
            shown(saving.range.1),
        ),
        false => format!("Arrays of {ARRAY} save {}.", counted(saving.trips, "call", "calls")),
    };
    let message = format!(
        "Rows are fetched {} at a time ({} fetches: {}): each fetch is a round trip. {worth}",
        three_digits(saving.rows_each),
        grouped(saving.fetches),
        name(profile, statement)
    );
    let finding = if saving.rows_each < ONE_BY_ONE { row::ROW_BY_ROW } else { row::SMALL_ARRAYS };
    Some(finding.of(message))
}

/// What larger arrays would save a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ArraySaving {
    /// Rows of a fetch now.
    pub(crate) rows_each: f64,
    /// Fetches now.
    pub(crate) fetches: u64,
    /// Fetches that would go.
    pub(crate) trips: u64,
    /// The mean time of a round trip.
    pub(crate) trip_micros: f64,
    /// What would be saved if a round trip took the same time for any number of rows; 0 where none has a time. It is no
    /// more than the waits for the client took: not every fetch has one.
    pub(crate) micros: f64,
    /// Its range. Nothing is saved if a round trip takes as long as what it carries, since the rows stay the same; the
    /// most is by the error of the mean, 19 of 20 times.
    pub(crate) range: (f64, f64),
}

impl ArraySaving {
    /// Whether that is less than these round trips of the mean time: there are fewer waits than round trips.
    fn is_all(&self) -> bool {
        self.micros < self.trips as f64 * self.trip_micros
    }
}

/// What arrays of [`ARRAY`] rows would save a query of the client; `None` where it fetches few rows an execution, or
/// larger arrays already.
pub(crate) fn array_saving(profile: &Profile, statement: &StatementProfile) -> Option<ArraySaving> {
    let fetch = statement.calls_of(&profile.context, CallKind::Fetch);
    let executions = statement.calls_of(&profile.context, CallKind::Exec).calls.max(1);
    let is_clients = profile.context.statement(statement.statement).is_some_and(|known| known.depth == 0);
    // A query that returns a few rows an execution has nothing to fetch in arrays.
    if !is_clients || fetch.calls < FETCHES_MIN || fetch.rows / executions < ROWS_MIN {
        return None;
    }
    let trips = fetch.calls.saturating_sub(executions.max(fetch.rows.div_ceil(ARRAY)));
    let rows_each = fetch.rows as f64 / fetch.calls as f64;
    if trips == 0 || rows_each >= ARRAY as f64 / 2.0 {
        return None;
    }
    let RoundTrips { count, mean, error } = round_trips(profile, statement).unwrap_or_default();
    let waited = count * mean.max(0.0);
    let saved = |micros: f64| (trips as f64 * micros.max(0.0)).min(waited);
    Some(ArraySaving {
        rows_each,
        fetches: fetch.calls,
        trips,
        trip_micros: mean,
        micros: saved(mean),
        range: (0.0, saved(mean + 2.0 * error)),
    })
}

/// A statement's waits for the client that are no think time: their number, and their mean in µs with its standard
/// error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    pub(super) count: f64,
    pub(super) mean: f64,
    pub(super) error: f64,
}

/// The round trips of a statement; `None` where there are none.
pub(super) fn round_trips(profile: &Profile, statement: &StatementProfile) -> Option<RoundTrips> {
    let is_client = |index: &EventIndex| profile.context.event(*index).is_some_and(|event| event.is_client);
    let (mut count, mut total, mut lengths) = (0.0, 0.0, Histogram::default());
    for (_, sums) in statement.waits.iter().filter(|(event, _)| is_client(event)) {
        count += sums.count as f64;
        total += sums.total.micros();
        lengths.merge(&sums.histogram);
    }
    let think = statement.think_time;
    let (count, total) = (count - think.count as f64, total - think.total.micros());
    let mean = total / count;
    let variance = (squares_without(&lengths, think) / count - mean * mean).max(0.0);
    (count >= 1.0).then(|| RoundTrips { count, mean, error: (variance / count).sqrt() })
}

/// The sum of the squares of waits, in µs², without think time: that is the longest of them, from the user's bound on.
fn squares_without(lengths: &Histogram, mut think: ThinkTime) -> f64 {
    let mut squares = 0.0;
    let buckets: Vec<&BlockSums> = lengths.iter().map(|(_, bucket)| bucket).collect();
    for bucket in buckets.into_iter().rev() {
        // Where the bound lies within the bucket, all think time that is left is in it.
        let is_all = think.count >= bucket.count;
        let thought = if is_all { ThinkTime { count: bucket.count, total: bucket.total } } else { think };
        think = ThinkTime { count: think.count - thought.count, total: think.total - thought.total };
        let (count, total) = ((bucket.count - thought.count) as f64, (bucket.total - thought.total).micros());
        squares += if count > 0.0 { total * total / count } else { 0.0 };
    }
    squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Accounted, Observer, Ticks};
    use crate::observe::collector::Collector;
    use crate::observe::tests::{context, wait};

    /// The round trips of a statement by its waits for the client: how many of how many µs each.
    fn trips(think_time: i64, waits: &[(usize, i64)]) -> RoundTrips {
        let context = context(&[("SQL*Net message from client", &[])]);
        let mut collector = Collector::new(Ticks::from_micros(think_time));
        for (count, micros) in waits {
            (0..*count).for_each(|_| collector.wait(&context, &wait(0, *micros, [0; 3])));
        }
        let profile = collector.finish(Accounted { context, ..Accounted::default() });
        round_trips(&profile, &profile.statements[0]).unwrap()
    }

    #[test]
    fn the_error_of_a_round_trip_is_of_the_waits_that_its_mean_is_of() {
        let is_of = |trips: RoundTrips, waits: &[(usize, i64)]| {
            let sum = |of: fn(f64) -> f64| waits.iter().map(|(n, micros)| *n as f64 * of(*micros as f64)).sum::<f64>();
            let (count, mean) = (sum(|_| 1.0), sum(|micros| micros) / sum(|_| 1.0));
            let error = ((sum(|micros| micros * micros) / count - mean * mean) / count).sqrt();
            let differs = |one: f64, other: f64| (one - other).abs() > 1e-6 * other;
            assert!(trips.count == count && !differs(trips.mean, mean) && !differs(trips.error, error), "{trips:?}");
        };
        let [short, long, longest] = [(100, 1_000), (50, 40_000), (7, 3_000_000)];
        // A wait that is think time may stand in the same bucket as one that is none.
        let thought = [(10, 60_000), (3, 600_000)];
        is_of(trips(50_000, &[short, long, longest, thought[0], thought[1]]), &[short, long]);
        is_of(trips(1_000_000, &[short, long, longest]), &[short, long]);
        is_of(trips(10_000_000, &[short, long, longest]), &[short, long, longest]);
    }
}
