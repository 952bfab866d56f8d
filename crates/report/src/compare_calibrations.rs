//! Two calibrations side by side: what changed in the advice, which constants differ, which queries have another
//! verdict, and of hundreds of other values those that differ most, and how many do not differ.

use std::collections::{HashMap, HashSet};

use measure::compare::{CaseComparison, Comparison, MetricComparison, Verdict};
use measure::quantity::{counted, grouped};
use measure::schema::calibrate::{self, parameters as plan};
use measure::{Case, Run, Unit, sorting};

use crate::body::whose_queries;
use crate::differences::{differing_metrics, interval, ratio, shown_metrics};
use crate::page::number::three_digits;
use crate::page::parameters::{cell, phrase};
use crate::page::{Align, Cell, Section, Table};

/// Most values that are listed, those that differ most.
const DIFFERENCES_MAX: usize = 20;

/// What is found of a case, or is the same in all cases of its kind: neither tells it from others.
const UNNAMED: [&str; 9] = [
    plan::PART.name,
    plan::SOURCE.name,
    plan::NODE_NOW.name,
    plan::NODE_THEN.name,
    plan::PLAN_NOW.name,
    plan::PLAN_THEN.name,
    plan::VERDICT.name,
    plan::CHOSEN_BY.name,
    plan::ADVICE.name,
];

/// A metric in both runs, with its case.
pub(crate) type Value<'a> = (&'a CaseComparison, &'a MetricComparison);

/// Whether two calibrations have a value in common.
pub(crate) fn have_values(comparison: &Comparison) -> bool {
    let (first, second) = &comparison.experiments;
    let is_any = || comparison.cases.iter().any(|case| shown_metrics(case).next().is_some());
    first == calibrate::EXPERIMENT.name && first == second && is_any()
}

/// What the reader looks for first: the advice, the constants that differ, and the queries with another verdict. Where
/// nothing of a kind differs, a sentence says so.
pub(crate) fn answers(runs: [&Run; 2]) -> Vec<Section> {
    let or_none = |table: Option<Table>, none: &str| table.map_or(Section::Text(none.into()), Section::Table);
    let mut sections: Vec<Section> = advice(runs).into_iter().collect();
    sections.push(or_none(constants(runs), "No constant that both runs have differs on the server or in the sets."));
    sections.push(or_none(queries(runs), "No query has another verdict on a set of the advice."));
    sections
}

/// The sets that the advice of each state of the caches is about.
fn advised(run: &Run) -> Vec<&Case> {
    part(run, "set").filter(|set| !cell(set, plan::ADVICE.name).is_empty()).collect()
}

/// The cases of one part of a calibration.
fn part<'a>(run: &'a Run, name: &'a str) -> impl Iterator<Item = &'a Case> {
    run.cases_where(plan::PART.name, name)
}

/// The advice of both runs, one line a state of the caches.
fn advice(runs: [&Run; 2]) -> Option<Section> {
    let [first, second] = runs.map(advised);
    let mut states: Vec<String> = Vec::new();
    for set in first.iter().chain(&second) {
        let state = cell(set, plan::STATE.name);
        if !states.contains(&state) {
            states.push(state);
        }
    }
    let said = |sets: &[&Case], state: &str| {
        let of_state = sets.iter().find(|set| cell(set, plan::STATE.name) == state);
        of_state.map_or("not judged".to_string(), |set| advice_of(set))
    };
    let item = |state: &String| {
        let (before, after) = (said(&first, state), said(&second, state));
        let whose = whose_queries(state);
        match before == after {
            true => format!("{whose}: in both runs {after}"),
            false => format!("{whose}: first {before}; second {after}"),
        }
    };
    let items: Vec<String> = states.iter().map(item).collect();
    let heading = Some("The advice:".into());
    (!items.is_empty()).then_some(Section::List { heading, items, indent: 2 })
}

/// The advice about a set, with its constants where they are to be set.
fn advice_of(set: &Case) -> String {
    let name = cell(set, plan::CONSTANTS.name);
    match cell(set, plan::ADVICE.name).as_str() {
        "change" => {
            let value = |constant: &&str| {
                let value = calibrate::SETTING.of(constant).median(set)?;
                Some(format!("{constant} = {}", three_digits(value)))
            };
            let values: Vec<String> = calibrate::SET_CONSTANTS.iter().filter_map(value).collect();
            format!("change to the set {name} ({})", values.join(", "))
        }
        "keep" => format!("keep the server's own constants (judged by the set {name})"),
        advice => format!("{advice} (the set {name})"),
    }
}

/// A figure of a constant that differs between two runs.
struct Figure {
    constant: String,
    state: String,
    name: String,
    sides: [Cell; 2],
}

/// What is set on the server, what the sets take, and which settings of reads ahead are best, where that differs.
fn constants([first, second]: [&Run; 2]) -> Option<Table> {
    let figures = [calibrate::NOW, calibrate::GIVEN, calibrate::FROM_COUNT, calibrate::TO_COUNT];
    let mut rows: Vec<Figure> = Vec::new();
    for before in measured(first) {
        let Some(after) = measured(second).find(|after| constant_of(after) == constant_of(before)) else { continue };
        let [constant, tablespace, state] = constant_of(before);
        let constant = if tablespace.is_empty() { constant } else { format!("{constant} in {tablespace}") };
        for spec in &figures {
            let name: &str = &spec.name;
            let sides = [before, after].map(|case| figure(case, name));
            // What is set on the server is not of a state, and stands in the cases of each.
            let is_set = name == calibrate::NOW.name;
            let is_known = is_set && rows.iter().any(|row| row.constant == constant && row.name == name);
            if sides[0].text != sides[1].text && !is_known {
                let state = if is_set { String::new() } else { state.clone() };
                rows.push(Figure { constant: constant.clone(), state, name: name.into(), sides });
            }
        }
    }
    Table::over(&rows)
        .column("constant", Align::Left, |row| row.constant.clone())
        .column("state", Align::Left, |row| row.state.clone())
        .optional()
        .column("figure", Align::Word, |row| row.name.clone())
        .column("first", Align::Right, |row| row.sides[0].clone())
        .column("second", Align::Right, |row| row.sides[1].clone())
        .titled(
            "Constants that differ (now: what is set on the server; given: what the sets take; from, to: the range of \
             a setting that is as good as the best):",
        )
        .unless_empty()
}

/// The cases of constants, also in tablespaces.
fn measured(run: &Run) -> impl Iterator<Item = &Case> {
    part(run, "constant").chain(part(run, "tablespace"))
}

/// What tells a constant from others: its name, its tablespace and its state.
fn constant_of(case: &Case) -> [String; 3] {
    [plan::CONSTANT.name, plan::TABLESPACE.name, plan::STATE.name].map(|name| cell(case, name))
}

/// A figure of a constant as its page shows it.
fn figure(case: &Case, name: &str) -> Cell {
    match case.metric(name) {
        Some(metric) if metric.unit == Unit::Bytes => Cell::bytes(metric.median()),
        Some(metric) if metric.unit == Unit::Count => Cell::count(metric.median()),
        Some(metric) => Cell::median(metric),
        None if name == calibrate::GIVEN.name => "withheld".into(),
        None => Cell::absent(),
    }
}

/// A query with what two runs found of it by a set.
struct Judged {
    state: String,
    set: String,
    query: String,
    sides: [String; 2],
}

/// The queries whose verdict differs, by the sets that the advice of either run is about. Of a set that one run did not
/// try nothing is said.
fn queries(runs: [&Run; 2]) -> Option<Table> {
    let key = |set: &Case| [plan::STATE.name, plan::CONSTANTS.name].map(|name| cell(set, name));
    let about: HashSet<[String; 2]> = runs.into_iter().flat_map(advised).map(key).collect();
    let tried = runs.map(|run| part(run, "set").map(key).collect::<HashSet<[String; 2]>>());
    let is_judged = |set: &[String; 2]| about.contains(set) && tried.iter().all(|tried| tried.contains(set));
    let of = |run: &Run| -> Vec<([String; 2], String, String)> {
        let queries = part(run, "query").map(|case| (key(case), case)).filter(|(set, _)| is_judged(set));
        queries.map(|(set, case)| (set, cell(case, plan::QUERY.name), verdict(case))).collect()
    };
    let sides = runs.map(of);
    let mut found: HashMap<(&[String; 2], &str), [&str; 2]> = HashMap::new();
    let mut order: Vec<(&[String; 2], &str)> = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        for (set, query, verdict) in side {
            let one = (set, query.as_str());
            let both = found.entry(one).or_insert_with(|| {
                order.push(one);
                ["", ""]
            });
            both[at] = verdict.as_str();
        }
    }
    let word = |verdict: &str| verdict.split([',', ' ']).next().unwrap_or_default().to_string();
    // With another ratio, a verdict is the same.
    let is_changed = |[before, after]: &[&str; 2]| word(before) != word(after);
    let rows = order.into_iter().map(|one| (one, found[&one])).filter(|(_, sides)| is_changed(sides));
    let mut rows: Vec<Judged> = rows.map(judged).collect();
    let mut states: Vec<String> = Vec::new();
    for row in &rows {
        if !states.contains(&row.state) {
            states.push(row.state.clone());
        }
    }
    sorting::by_key(&mut rows, |row| states.iter().position(|state| *state == row.state));
    Table::over(&rows)
        .column("query", Align::Left, |row| row.query.clone())
        .column("set", Align::Word, |row| row.set.clone())
        .column("first", Align::Left, |row| row.sides[0].clone())
        .column("second", Align::Left, |row| row.sides[1].clone())
        .groups(|row| whose_queries(&row.state))
        .titled("Queries with another verdict, and their time by the set divided by their time now (–: no other plan):")
        .unless_empty()
}

fn judged(((set, query), sides): ((&[String; 2], &str), [&str; 2])) -> Judged {
    let [state, set] = set.clone();
    let shown = |side: &str| if side.is_empty() { Cell::absent().text } else { side.to_string() };
    Judged { state, set, query: query.into(), sides: sides.map(shown) }
}

/// The verdict on a query in its first words, with its ratio.
fn verdict(query: &Case) -> String {
    let said = cell(query, plan::VERDICT.name);
    let said = said.split(',').next().unwrap_or_default().to_string();
    calibrate::RATIO.median(query).map_or(said.clone(), |ratio| format!("{said} {}", three_digits(ratio)))
}

/// The values that differ by more than their noise, those that differ most first, at most as many as a page lists.
pub(crate) fn most_differing(comparison: &Comparison) -> Vec<Value<'_>> {
    let mut rows = differing_metrics(comparison);
    rows.truncate(DIFFERENCES_MAX);
    rows
}

/// These values as a table; `names` tells the cases of both runs apart. None of no value.
pub(crate) fn table(rows: &[Value<'_>], names: &[&str]) -> Option<Table> {
    let names: Vec<&str> = names.iter().copied().filter(|name| !UNNAMED.contains(name)).collect();
    Table::over(rows)
        .column("metric", Align::Left, |(_, metric)| metric.name.clone())
        .column("first", Align::Right, |(_, metric)| Cell::quantity(metric.before, metric.unit))
        .column("second", Align::Right, |(_, metric)| Cell::quantity(metric.after, metric.unit))
        .column("ratio", Align::Decimal, |(_, metric)| Cell::or_absent(ratio(metric)))
        .column("95 %", Align::Left, |(_, metric)| interval(metric))
        .groups(|(case, _)| phrase(&case.parameters, &names))
        .titled("Values that differ by more than the noise of their samples, those that differ most first:")
        .unless_empty()
}

/// How many values both runs have, by what may be said of them, and how many cases one run alone has.
pub(crate) fn counts(comparison: &Comparison) -> Section {
    let verdicts: Vec<Verdict> = comparison.cases.iter().flat_map(shown_metrics).map(|metric| metric.verdict).collect();
    let count = |wanted: Verdict| verdicts.iter().filter(|verdict| **verdict == wanted).count() as u64;
    let kinds = [
        (count(Verdict::Differs), "beyond the noise of their samples"),
        (count(Verdict::WithinNoise), "within the noise of their samples"),
        (count(Verdict::OneSampleEach), "of one sample in each run"),
        (count(Verdict::TooFewSamples), "with too few samples for a verdict"),
        (count(Verdict::NoRatio), "without a ratio"),
        (count(Verdict::Disturbed), "without a verdict, because a run warns that something else was at work"),
    ];
    let found = kinds.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = found.map(|(count, what)| format!("{} {what}", grouped(count))).collect();
    let values = counted(verdicts.len() as u64, "value", "values");
    let mut said = format!("Of {values} that both runs have: {}. --format csv lists all.", parts.join("; "));
    let [first, second] = [&comparison.only_before, &comparison.only_after].map(|only| only.len() as u64);
    if first + second > 0 {
        said += &format!(
            " In the first run alone: {}; in the second: {}. --format json lists these too.",
            counted(first, "case or value", "cases or values"),
            counted(second, "case or value", "cases or values")
        );
    }
    Section::Text(said)
}
