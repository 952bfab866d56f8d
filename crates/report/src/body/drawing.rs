//! What the charts of several experiments have in common.

use measure::quantity::counted;
use measure::schema::{Bound, Spec, disk};
use measure::sorting;
use measure::{Case, Metric, Run, Statistics, Unit};

use super::subjects::FIRST as ENGINE;
use crate::page::number::range_in_words;
use crate::page::parameters::cell;
use crate::page::wording::joined;
use crate::page::{Axis, Chart, Datum, Figure, Key, Plot, Row};

/// What the range of a datum is that was made of a metric.
pub(crate) const RANGE: &str = "smallest to 90th percentile, or to the largest of fewer than ten";

/// The words for ranges of one kind: where each is of ten samples or more, where each is of fewer, and where both are
/// there.
pub(super) type Ranges = [&'static str; 3];

/// Those of reads.
pub(super) const OF_READS: Ranges = ["smallest to 90th percentile", "smallest to largest", RANGE];

/// Those of rates by window.
pub(super) const OF_WINDOWS: Ranges = [
    "slowest window to 90th percentile",
    "slowest to fastest window",
    "slowest window to 90th percentile, or to the fastest of fewer than ten",
];

/// The words that are right for the ranges of these metrics.
pub(super) fn range_of<'a>(words: Ranges, metrics: impl Iterator<Item = &'a Metric>) -> &'static str {
    let several = metrics.map(|metric| metric.statistics).filter(|statistics| statistics.n > 1);
    let (many, few): (Vec<Statistics>, Vec<Statistics>) = several.partition(|statistics| statistics.p90.is_some());
    let [of_many, of_few, of_both] = words;
    match (many.is_empty(), few.is_empty()) {
        (_, true) => of_many,
        (true, false) => of_few,
        (false, false) => of_both,
    }
}

/// What is drawn of a run: the numbers that matter most, and the charts in the order of their questions.
#[derive(Default)]
pub(super) struct Drawing {
    pub(super) figures: Vec<Figure>,
    pub(super) charts: Vec<Chart>,
    /// Titles of charts that the run has no numbers for, each with the reason.
    pub(super) undrawn: Vec<(&'static str, String)>,
}

impl Drawing {
    /// The charts, and of the figures the first three that are there.
    pub(super) fn new(figures: impl IntoIterator<Item = Option<Figure>>, charts: Vec<Chart>) -> Drawing {
        Drawing { figures: figures.into_iter().flatten().take(3).collect(), charts, undrawn: Vec::new() }
    }
}

/// A number that matters, with how it was obtained.
pub(super) fn figure(what: impl Into<String>, unit: Unit, datum: &Datum) -> Figure {
    let axis = Axis::linear("", unit);
    let range = datum.range.map(|(low, high)| range_in_words(&axis.shown(low), &axis.shown(high)));
    let samples = datum.n.filter(|n| *n > 1).map(|n| counted(n, "sample", "samples"));
    let how = [range, samples, Some(datum.source.clone())].map(Option::unwrap_or_default);
    Figure { what: what.into(), cell: axis.cell(datum.value), how: joined(how, ", ") }
}

/// The first letters of a text, of a longer one with an ellipsis. A bracket that would stay open is left out.
pub(super) fn beginning(text: &str, letters: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(letters) else { return text.into() };
    let kept = &text[..end];
    let kept = match kept.rfind('(') {
        Some(open) if open > 0 && !kept[open..].contains(')') => &kept[..open],
        _ => kept,
    };
    format!("{}…", kept.trim_end())
}

/// How many times one value is another.
pub(super) fn ratio(what: impl Into<String>, part: f64, of: f64, how: &str) -> Option<Figure> {
    let times = part / of;
    (of > 0.0 && times.is_finite()).then(|| figure(what, Unit::Ratio, &Datum::made(times, how)))
}

/// A number of a finding of the run.
pub(super) fn found(run: &Run, id: &str, name: &str, what: &str) -> Option<Figure> {
    let quantity = run.findings.iter().find(|finding| finding.id == id)?.values.get(name)?;
    let datum = Datum::made(quantity.value, "as the sentence about it says");
    Some(figure(what, quantity.unit, &datum))
}

/// The median of a metric in a case.
pub(super) fn median(case: &Case, spec: &Spec) -> Option<Datum> {
    spec.in_case(case).map(Datum::median)
}

/// Which way the reads of a server go.
pub(super) fn way(case: &Case) -> &'static str {
    if cell(case, disk::parameters::DIRECT.name) == "true" { "past the page cache" } else { "through the page cache" }
}

/// A row for each case that has a value.
pub(super) fn rows(
    cases: &[&Case],
    label: impl Fn(&Case) -> String,
    value: impl Fn(&Case) -> Option<Datum>,
) -> Vec<Row> {
    cases.iter().filter_map(|case| Some(Row::of(label(case), value(case)?))).collect()
}

/// Rows of several subjects: a row for each text of `label`, and in it a mark for each text of `subject`, with the
/// published figures behind them.
pub(super) struct Beside<'a> {
    pub(super) cases: &'a [&'a Case],
    pub(super) group: &'a dyn Fn(&Case) -> String,
    pub(super) label: &'a dyn Fn(&Case) -> String,
    pub(super) subject: &'a dyn Fn(&Case) -> String,
    pub(super) value: &'a dyn Fn(&Case) -> Option<Datum>,
    pub(super) published: &'a dyn Fn(&Case) -> Vec<(&'static str, Datum)>,
}

impl Beside<'_> {
    /// The rows, and the keys of their marks.
    pub(super) fn rows(&self) -> (Vec<Key>, Vec<Row>) {
        let mut keys: Vec<Key> = Vec::new();
        let mut rows: Vec<Row> = Vec::new();
        // The engine has one colour on all pages, whatever it stands beside.
        if self.cases.iter().any(|case| (self.subject)(case) == ENGINE) {
            keys.push(Key::measured(ENGINE));
        }
        for case in self.cases {
            let Some(datum) = (self.value)(case) else { continue };
            let (group, label) = ((self.group)(case), (self.label)(case));
            let key = place(&mut keys, Key::measured((self.subject)(case)));
            let known = rows.iter().position(|row| row.label == label && row.group == group);
            let row = known.unwrap_or_else(|| {
                rows.push(Row { group, label, marks: Vec::new() });
                rows.len() - 1
            });
            rows[row].marks.push((key, datum));
        }
        for case in self.cases {
            let (group, label) = ((self.group)(case), (self.label)(case));
            for (name, datum) in (self.published)(case) {
                let key = place(&mut keys, Key::published(name));
                let rows = rows.iter_mut().filter(|row| row.label == label && row.group == group);
                let rows = rows.filter(|row| !row.marks.iter().any(|(known, _)| *known == key));
                rows.for_each(|row| row.marks.push((key, datum.clone())));
            }
        }
        (keys, rows)
    }

    /// A chart of them.
    pub(super) fn chart(&self, name: &'static str, title: impl Into<String>, value: Axis) -> Option<Chart> {
        let (keys, rows) = self.rows();
        let is_named = keys.iter().any(|key| key.name == ENGINE) || rows.iter().any(|row| row.group == ENGINE);
        let note = if is_named { "Engine: the storage engine of readpath." } else { "" };
        Chart::new(name, title, value, Plot::Rows(rows)).keyed(keys).noted(note).with_at_least(1)
    }
}

/// The place of a key among the others, of which it becomes one.
fn place(keys: &mut Vec<Key>, key: Key) -> usize {
    keys.iter().position(|known| *known == key).unwrap_or_else(|| {
        keys.push(key);
        keys.len() - 1
    })
}

/// A published figure as a datum, times in nanoseconds.
pub(super) fn published(figure: &measure::schema::Published) -> Datum {
    let bound = match figure.bound {
        Bound::Exactly => "published",
        Bound::About => "published as about this",
        Bound::Above => "published as more than this",
        Bound::Below => "published as less than this",
    };
    Datum::made(figure.value * figure.unit.nanoseconds().unwrap_or(1.0), format!("{bound}: {}", figure.source))
}

/// The smallest and the largest of some metric among cases.
pub(super) fn extremes<'a>(
    cases: &[&'a Case],
    metric: impl Fn(&'a Case) -> Option<&'a Metric>,
) -> Option<[&'a Case; 2]> {
    let mut known: Vec<(&Case, f64)> = cases.iter().filter_map(|case| Some((*case, metric(case)?.median()))).collect();
    sorting::by(&mut known, |one, other| one.1.total_cmp(&other.1));
    Some([known.first()?.0, known.last()?.0])
}

#[cfg(test)]
mod tests {
    use measure::schema::reads;

    use super::*;

    #[test]
    fn a_range_of_many_windows_is_not_said_to_end_at_the_fastest_one() {
        let rates = |count: u32| {
            let samples: Vec<f64> = (1..=count).map(f64::from).collect();
            reads::IOPS.of_samples("windows", &samples).unwrap()
        };
        let [few, many] = [5, 20].map(rates);
        let said = |metrics: &[&Metric]| range_of(OF_WINDOWS, metrics.iter().copied());
        assert_eq!(said(&[&few]), "slowest to fastest window");
        assert_eq!(said(&[&many]), "slowest window to 90th percentile");
        assert_eq!(said(&[&few, &many]), "slowest window to 90th percentile, or to the fastest of fewer than ten");
        assert_eq!(Datum::mean(&many).range, Some((1.0, 18.0)), "the fastest one has 20");
    }

    #[test]
    fn what_is_cut_leaves_no_bracket_open() {
        assert_eq!(beginning("count(*) of all", 40), "count(*) of all");
        assert_eq!(beginning("count(*) of the small rows", 12), "count(*) of…");
        assert_eq!(beginning("a join (hash of many)", 12), "a join…");
        assert_eq!(beginning("(select many rows)", 8), "(select…");
    }
}
