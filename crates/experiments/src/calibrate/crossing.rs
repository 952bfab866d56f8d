//! From how many rows on one path is faster than another: where the lines of their times cross, on logarithmic scales.

use measure::sorting;

/// Numbers of rows, ascending, each with milliseconds.
pub(super) type Line = [(f64, f64)];

/// Two times are even up to this ratio, or up to this many milliseconds: medians of a few runs do not tell them apart.
const EVEN: f64 = 1.15;
const EVEN_MILLIS: f64 = 0.05;

/// The same as a sentence.
pub(super) const EVEN_IN_WORDS: &str = "Times within 15 % or 0.05 ms count as equal.";

/// How the line of one path lies to that of another, within the numbers of rows that both have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// Both take about as long throughout.
    Even,
    /// The one is faster throughout.
    Always,
    /// The one is slower throughout.
    Never,
    /// The one is faster from this number of rows on.
    From(f64),
    /// The one is faster up to this number of rows.
    UpTo(f64),
    /// The lines cross several times.
    Several {
        /// The first place.
        first: f64,
        /// The last place.
        last: f64,
        /// Whether the one is faster beyond.
        ends_faster: bool,
    },
}

impl Crossing {
    /// The number of rows from which on the one is faster; `None` where there is no such place.
    pub(super) fn begins(self) -> Option<f64> {
        match self {
            Crossing::From(at) | Crossing::Several { last: at, ends_faster: true, .. } => Some(at),
            _ => None,
        }
    }
}

/// How `one` lies to `other`; `None` where they have fewer than two numbers of rows in common.
pub(super) fn crossing(one: &Line, other: &Line) -> Option<Crossing> {
    let both = |(rows, millis): &(f64, f64)| {
        let (_, against) = other.iter().find(|(at, _)| at == rows)?;
        (*millis > 0.0 && *against > 0.0).then_some((*rows, *millis, *against))
    };
    let common: Vec<(f64, f64, f64)> = one.iter().filter_map(both).collect();
    let differ = common.iter().filter(|(_, millis, against)| !is_even(*millis, *against));
    let sure: Vec<(f64, f64)> = differ.map(|(rows, millis, against)| (rows.ln(), (millis / against).ln())).collect();
    let is_crossed = |pair: &&[(f64, f64)]| (pair[0].1 < 0.0) != (pair[1].1 < 0.0);
    let places: Vec<f64> = sure.windows(2).filter(is_crossed).map(|pair| zero(pair[0], pair[1]).exp()).collect();
    let is_faster = |at: Option<&(f64, f64)>| at.is_some_and(|(_, apart)| *apart < 0.0);
    let (begins_faster, ends_faster) = (is_faster(sure.first()), is_faster(sure.last()));
    if common.len() < 2 {
        return None;
    }
    Some(match places.as_slice() {
        _ if sure.is_empty() => Crossing::Even,
        [] if begins_faster => match common.iter().position(|(rows, ..)| rows.ln() == sure[0].0) {
            // Even up to there.
            Some(first) if first > 0 => Crossing::From((common[first - 1].0 * common[first].0).sqrt()),
            _ => Crossing::Always,
        },
        [] => Crossing::Never,
        [at] if begins_faster => Crossing::UpTo(*at),
        [at] => Crossing::From(*at),
        [first, .., last] => Crossing::Several { first: *first, last: *last, ends_faster },
    })
}

/// Whether two times are too near to each other to be told apart.
pub(super) fn is_even(one: f64, other: f64) -> bool {
    (one - other).abs() < EVEN_MILLIS || (one / other).max(other / one) < EVEN
}

/// Where the straight line through two points is zero.
fn zero(one: (f64, f64), other: (f64, f64)) -> f64 {
    one.0 + (other.0 - one.0) * one.1 / (one.1 - other.1)
}

/// The fastest of several paths at each number of rows that any of them has.
pub(super) fn fastest(lines: &[&Line]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = lines.iter().flat_map(|line| line.iter().copied()).collect();
    sorting::by(&mut all, |one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    all.dedup_by(|later, kept| later.0 == kept.0);
    all
}

/// The milliseconds of a path at a number of rows, between its neighbours; `None` beyond the line.
pub(super) fn at(line: &Line, rows: f64) -> Option<f64> {
    let pair = line.windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&rows))?;
    let [low, high] = [pair[0], pair[1]].map(|(rows, millis)| (rows.ln(), millis.ln()));
    let part = (rows.ln() - low.0) / (high.0 - low.0);
    Some((low.1 + part * (high.1 - low.1)).exp()).filter(|millis| millis.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: [(f64, f64); 4] = [(10.0, 20.0), (100.0, 20.0), (1000.0, 20.0), (10_000.0, 20.0)];

    fn line(millis: [f64; 4]) -> Vec<(f64, f64)> {
        FULL.iter().zip(millis).map(|((rows, _), millis)| (*rows, millis)).collect()
    }

    #[test]
    fn lines_that_cross_once_do_so_between_the_two_numbers_where_the_faster_one_changes() {
        // The index takes 0.2 ms at 10 rows and ten times as long at ten times the rows: 20 ms at 1000.
        let index = line([0.2, 2.0, 19.999, 200.0]);
        let Some(Crossing::From(at)) = crossing(&FULL, &index) else { panic!("{:?}", crossing(&FULL, &index)) };
        assert!((at - 1000.0).abs() < 1.0, "{at}");
        let Some(Crossing::UpTo(same)) = crossing(&index, &FULL) else { panic!("{:?}", crossing(&index, &FULL)) };
        assert!((same - at).abs() < 1e-6, "the other way round it is the same place: {same}");
    }

    #[test]
    fn lines_that_never_cross_say_which_is_faster() {
        let index = line([0.2, 1.0, 3.0, 9.0]);
        assert_eq!(crossing(&FULL, &index), Some(Crossing::Never));
        assert_eq!(crossing(&index, &FULL), Some(Crossing::Always));
    }

    #[test]
    fn lines_that_cross_twice_are_not_taken_for_lines_that_cross_once() {
        let other = line([5.0, 80.0, 80.0, 5.0]);
        let Some(Crossing::Several { first, last, ends_faster: false }) = crossing(&FULL, &other) else {
            panic!("{:?}", crossing(&FULL, &other));
        };
        assert!(10.0 < first && first < 100.0 && 1000.0 < last && last < 10_000.0, "{first} {last}");
        assert_eq!(crossing(&FULL, &other).and_then(Crossing::begins), None);
        let thrice = line([5.0, 80.0, 5.0, 80.0]);
        assert!(crossing(&FULL, &thrice).and_then(Crossing::begins).is_some_and(|at| at > 1000.0));
    }

    #[test]
    fn times_that_noise_alone_tells_apart_are_even_and_cross_nowhere() {
        assert_eq!(crossing(&FULL, &FULL), Some(Crossing::Even));
        assert_eq!(crossing(&FULL, &line([20.4, 19.6, 20.3, 19.7])), Some(Crossing::Even));
        assert!(matches!(crossing(&FULL, &line([2.0, 19.7, 20.3, 90.0])), Some(Crossing::From(_))));
        let shortest = |millis: f64| FULL.map(|(rows, _)| (rows, millis));
        assert_eq!(crossing(&shortest(0.013), &shortest(0.019)), Some(Crossing::Even), "a few microseconds");
    }

    #[test]
    fn a_path_that_is_as_fast_at_few_rows_is_faster_only_from_where_it_surely_is() {
        let Some(Crossing::From(at)) = crossing(&FULL, &line([20.4, 19.6, 40.0, 90.0])) else { panic!() };
        assert!(100.0 < at && at < 1000.0, "{at}");
        assert_eq!(crossing(&FULL, &line([20.4, 19.6, 10.0, 9.0])), Some(Crossing::Never));
    }

    #[test]
    fn a_path_that_was_left_out_at_many_rows_is_compared_where_it_was_timed() {
        let index = &line([0.2, 200.0, 2000.0, 0.0])[..2];
        assert!(matches!(crossing(&FULL, index), Some(Crossing::From(at)) if at < 100.0));
        assert_eq!(crossing(&FULL, &index[..1]), None, "one number of rows is no line");
        assert_eq!(crossing(&FULL, &line([0.0, 0.0, 0.0, 9.0])), None, "no time is no ratio");
    }

    #[test]
    fn the_fastest_path_is_another_one_from_row_to_row_and_has_a_time_between_them() {
        let (index, bitmap) = (line([0.2, 2.0, 40.0, 400.0]), line([0.4, 4.0, 10.0, 30.0]));
        let fastest = fastest(&[&index[..3], &bitmap]);
        assert_eq!(fastest, line([0.2, 2.0, 10.0, 30.0]));
        let between = at(&index, 31.622_776_6).unwrap();
        assert!((between - 0.632_455_5).abs() < 1e-6, "{between}");
        assert_eq!((at(&index, 5.0), at(&index, 20_000.0)), (None, None));
    }
}
