//! The constants that differ between two calibrations: on the server, in the sets, and where no set takes them, as they
//! were measured.

use std::collections::{HashMap, HashSet};

use measure::schema::calibrate::{self, parameters as plan};
use measure::{Case, Run, Unit};

use super::parts::part;
use crate::body::InSets;
use crate::page::parameters::cell;
use crate::page::{Align, Cell, Section, Table};

const TITLE: &str = "Constants that differ (now: what is set on the server; given: what the sets take; value: what was \
                     measured, where neither run's sets take it and it differs by over 1.5 times; from, to: the range \
                     of a setting that is as good as the best):";

/// How many times as large measured values may be that are not told apart: passes of one run may differ as much.
const PASSES_APART: f64 = 1.5;

/// What is said where none differs.
const NONE: &str = "No constant that both runs have differs on the server or in the sets.";

/// What tells a constant from others: its name, its tablespace and its state.
type Key = [String; 3];

/// A figure of a constant that differs between two runs.
struct Figure {
    constant: String,
    state: String,
    name: String,
    sides: [Cell; 2],
}

/// What is set on the server, what the sets take, and which settings of reads ahead are best, where that differs; a
/// sentence where none of it does, and nothing where the runs have no constant in common.
pub(super) fn section(runs: [&Run; 2]) -> Option<Section> {
    let [first, second] = runs;
    let in_sets = runs.map(|run| InSets::of(part(run, "set")));
    let mut afters: HashMap<Key, &Case> = HashMap::new();
    for after in measured(second) {
        afters.entry(key(after)).or_insert(after);
    }
    let (mut rows, mut with_now, mut is_any) = (Vec::new(), HashSet::new(), false);
    for before in measured(first) {
        let key = key(before);
        let Some(after) = afters.get(&key) else { continue };
        is_any = true;
        let [constant, tablespace, state] = key;
        let constant = if tablespace.is_empty() { constant } else { format!("{constant} in {tablespace}") };
        for mut row in differing([before, *after], &in_sets) {
            // What is set on the server is not of a state, and stands in the cases of each.
            let is_set = calibrate::NOW.name == row.name;
            if is_set && !with_now.insert(constant.clone()) {
                continue;
            }
            row.state = if is_set { String::new() } else { state.clone() };
            row.constant = constant.clone();
            rows.push(row);
        }
    }
    table(&rows).map(Section::Table).or_else(|| is_any.then(|| Section::Text(NONE.into())))
}

/// The figures that differ between the cases of a constant in both runs, without its name and its state.
fn differing(cases: [&Case; 2], in_sets: &[InSets<'_>; 2]) -> Vec<Figure> {
    let is_given = cases.iter().any(|case| calibrate::GIVEN.in_case(case).is_some());
    let specs = [calibrate::NOW, calibrate::GIVEN, calibrate::VALUE, calibrate::FROM_COUNT, calibrate::TO_COUNT];
    let mut found = Vec::new();
    for spec in &specs {
        let name: &str = &spec.name;
        // What the sets take is the measured value at ten steps a decade, which differs less from run to run.
        if is_given && calibrate::VALUE.name == name {
            continue;
        }
        if calibrate::VALUE.name == name && !is_apart(cases) {
            continue;
        }
        let sides = [figure(cases[0], name, &in_sets[0]), figure(cases[1], name, &in_sets[1])];
        if sides[0].text != sides[1].text {
            found.push(Figure { constant: String::new(), state: String::new(), name: name.into(), sides });
        }
    }
    found
}

/// Whether measured values that no set takes differ by more than passes of one run may.
fn is_apart(cases: [&Case; 2]) -> bool {
    let [Some(one), Some(other)] = cases.map(|case| calibrate::VALUE.median(case)) else { return true };
    !(one > 0.0 && other > 0.0 && (one / other).max(other / one) <= PASSES_APART)
}

fn table(rows: &[Figure]) -> Option<Table> {
    let has_states = rows.iter().any(|row| !row.state.is_empty());
    Table::over(rows)
        .column("constant", Align::Left, |row| row.constant.clone())
        .column("state", Align::Left, |row| row.state.clone())
        .only_where(has_states)
        .column("figure", Align::Word, |row| row.name.clone())
        .column("first", Align::Right, |row| row.sides[0].clone())
        .column("second", Align::Right, |row| row.sides[1].clone())
        .titled(TITLE)
        .unless_empty()
}

/// The cases of constants, also in tablespaces.
fn measured(run: &Run) -> impl Iterator<Item = &Case> {
    part(run, "constant").chain(part(run, "tablespace"))
}

fn key(case: &Case) -> Key {
    [plan::CONSTANT.name, plan::TABLESPACE.name, plan::STATE.name].map(|name| cell(case, name))
}

/// A figure of a constant as its page shows it. What was not measured is not withheld, and neither is what no set of
/// its run has a value of.
fn figure(case: &Case, name: &str, in_sets: &InSets<'_>) -> Cell {
    let is_withheld = || calibrate::TIME.in_case(case).is_some() && in_sets.has(&cell(case, plan::CONSTANT.name));
    match case.metric(name) {
        Some(metric) if metric.unit == Unit::Bytes => Cell::bytes(metric.median()),
        Some(metric) if metric.unit == Unit::Count => Cell::count(metric.median()),
        Some(metric) => Cell::median(metric),
        None if calibrate::GIVEN.name == name && is_withheld() => "withheld".into(),
        None => Cell::absent(),
    }
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate::parameters::{CONSTANT, CONSTANTS, PART, STATE};
    use measure::{Metric, Parameters};

    use super::*;

    fn constant(state: &str, metrics: Vec<Metric>) -> Case {
        let parameters = [PART.of("constant"), CONSTANT.of("seq_page_cost")].into_iter();
        let state = (!state.is_empty()).then(|| STATE.of(state));
        Case { metrics, ..Case::new(parameters.chain(state).collect::<Parameters>()) }
    }

    /// The rows of two runs with one constant each, cell by cell; their sets have a value of `in_sets`.
    fn rows(first: Case, second: Case, in_sets: &str) -> Vec<Vec<String>> {
        let mut set = Case::new(Parameters::from_iter([PART.of("set"), CONSTANTS.of("cached")]));
        set.metrics.push(calibrate::SETTING.of(in_sets).single("t", 0.5));
        let [first, second] = [first, second].map(|case| Run { cases: vec![set.clone(), case], ..Run::default() });
        let Some(Section::Table(table)) = section([&first, &second]) else { return Vec::new() };
        let row = |at: usize| table.columns.iter().map(|column| column.cells[at].text.clone()).collect::<Vec<String>>();
        (0..table.rows()).map(row).collect()
    }

    #[test]
    fn only_what_was_measured_and_is_in_the_sets_is_called_withheld() {
        let with = |metrics: Vec<Metric>| constant("", metrics);
        let given = || with(vec![calibrate::GIVEN.single("t", 0.5), calibrate::TIME.single("t", 1.0)]);
        let timed = || with(vec![calibrate::TIME.single("t", 1.0)]);
        let row = |second: &str| vec![vec!["seq_page_cost".to_string(), "given".into(), "0.500".into(), second.into()]];
        assert_eq!(rows(given(), timed(), "seq_page_cost"), row("withheld"));
        assert_eq!(rows(given(), timed(), "random_page_cost"), row("–"), "no set has it");
        assert_eq!(rows(given(), with(Vec::new()), "seq_page_cost"), row("–"), "it was not measured");
    }

    #[test]
    fn a_constant_that_no_set_takes_is_held_against_the_other_as_it_was_measured() {
        let with = |value: f64, given: Option<f64>| {
            let mut metrics = vec![calibrate::VALUE.single("t", value), calibrate::TIME.single("t", 1.0)];
            metrics.extend(given.map(|given| calibrate::GIVEN.single("t", given)));
            constant("cold", metrics)
        };
        let found = rows(with(10.0, None), with(20.0, None), "seq_page_cost");
        assert_eq!(found, [["seq_page_cost", "cold", "value", "10.0", "20.0"]], "a row says its state");
        assert_eq!(rows(with(10.0, Some(12.0)), with(20.0, Some(12.0)), "seq_page_cost"), [[""; 5]; 0]);
        assert_eq!(rows(with(10.0, None), with(14.0, None), "seq_page_cost"), [[""; 5]; 0], "as passes may differ");
    }

    #[test]
    fn runs_without_a_constant_in_common_do_not_say_that_none_differs() {
        let [cold, cached] =
            ["cold", "cached"].map(|state| Run { cases: vec![constant(state, Vec::new())], ..Run::default() });
        assert_eq!(section([&cold, &cached]), None);
        assert!(matches!(section([&cold, &cold]), Some(Section::Text(_))));
    }
}
