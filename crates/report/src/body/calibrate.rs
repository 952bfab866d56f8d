//! A planner's constants by the share of blocks that is cached, where its plans change places, and what its choices
//! cost by the constants that it has and by those that were measured.

use measure::schema::calibrate;
use measure::{Case, Metric, Run, Unit};

use super::subjects::values;
use crate::page::number::{ABSENT, three_digits};
use crate::page::parameters::cell;
use crate::page::{Align, Cell, Section, Table};

/// Percent of the blocks that are cached, with their headings.
const SHARES: [(&str, &str); 5] = [("0", "cold"), ("50", "50 %"), ("90", "90 %"), ("99", "99 %"), ("100", "cached")];

/// The constant that is the unit of the others.
const UNIT: &str = "seq_page_cost";

/// Metrics of a query's plans, with their names in tables.
const PLANS: [(&str, &str); 3] = [("full_scan_time", "full"), ("index_time", "index"), ("bitmap_time", "bitmap")];

/// Sets of constants by which plans are picked.
const SETS: [&str; 3] = ["now", "measured", "recommended"];

/// The page.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let constants = part(run, "constant");
    let tables = [
        costs(&constants),
        intervals(&constants),
        settings(&constants),
        crossovers(&part(run, "crossover"), &part(run, "query")),
        queries(&part(run, "query")),
        scores(&part(run, "verification")),
    ];
    let sql = Section::Code(sql(run));
    tables.into_iter().flatten().map(Section::Table).chain([sql]).collect()
}

fn part<'a>(run: &'a Run, name: &'a str) -> Vec<&'a Case> {
    run.cases_where("part", name).collect()
}

fn median(case: &Case, name: &str) -> Option<f64> {
    case.metric(name).map(Metric::median)
}

fn number(case: Option<&Case>, name: &str) -> Cell {
    Cell::or_absent(case.and_then(|case| case.metric(name)).map(Cell::median))
}

/// Names of the constants with a share, in the order of the run.
fn names(cases: &[&Case]) -> Vec<String> {
    let of_share: Vec<&Case> = cases.iter().copied().filter(|case| !cell(case, "cached_percent").is_empty()).collect();
    values(&of_share, |case| cell(case, "constant"))
}

fn of_share<'a>(cases: &[&'a Case], name: &str, share: &str) -> Option<&'a Case> {
    cases.iter().copied().find(|case| cell(case, "constant") == name && cell(case, "cached_percent") == share)
}

/// A cost's name without what all of them end with.
fn short(name: &str) -> &str {
    name.trim_end_matches("_cost")
}

/// The shares that the run has.
fn shares(cases: &[&Case]) -> Vec<(&'static str, &'static str)> {
    let is_there = |share: &str| cases.iter().any(|case| cell(case, "cached_percent") == share);
    SHARES.into_iter().filter(|(share, _)| is_there(share)).collect()
}

/// Every constant by share.
fn costs(cases: &[&Case]) -> Option<Table> {
    let names = names(cases);
    let now = |name: &String| cases.iter().copied().find(|case| cell(case, "constant") == *name);
    Table::over(&names)
        .column("cost", Align::Left, |name| short(name).to_string())
        .column("now", Align::Right, |name| number(now(name), "now"))
        .each(shares(cases), |table, (share, heading)| {
            table.column(heading, Align::Right, |name| number(of_share(cases, name, share), "value"))
        })
        .titled("Constants in units of seq_page_cost, by the share of blocks that is cached:")
        .unless_empty()
}

/// What one of each costs, with the interval of the constant.
fn intervals(cases: &[&Case]) -> Option<Table> {
    let ends: Vec<(&str, &str)> =
        shares(cases).into_iter().filter(|(share, _)| *share == "0" || *share == "100").collect();
    let is_there = |name: &String| ends.iter().any(|(share, _)| of_share(cases, name, share).is_some());
    let names: Vec<String> = names(cases).into_iter().filter(is_there).collect();
    let cost = |name: &String, share: &str| {
        // At or below 0 there is no constant, and what the samples say is noise.
        let case = of_share(cases, name, share).filter(|case| case.metric("value").is_some())?;
        calibrate::TIME.nanos(case).map(Cell::time)
    };
    Table::over(&names)
        .column("one costs", Align::Left, |name| short(name).to_string())
        .each(&ends, |table, (share, heading)| {
            table.column(*heading, Align::Right, |name| Cell::or_absent(cost(name, share))).column(
                "95 %",
                Align::Word,
                |name| of_share(cases, name, share).and_then(interval),
            )
        })
        .unless_empty()
}

/// The settings that are no cost.
fn settings(cases: &[&Case]) -> Option<Table> {
    let settings: Vec<&Case> = cases.iter().copied().filter(|case| cell(case, "cached_percent").is_empty()).collect();
    Table::over(&settings)
        .column("setting", Align::Left, |case| cell(case, "constant"))
        .column("now", Align::Right, |case| quantity(case, "now"))
        .column("measured", Align::Right, |case| quantity(case, "value"))
        .unless_empty()
}

/// The interval of a constant; none for the unit.
fn interval(case: &Case) -> Option<Cell> {
    let (low, high) = calibrate::VALUE_LOW.median(case).zip(calibrate::VALUE_HIGH.median(case))?;
    let text = format!("{}–{}", three_digits(low), three_digits(high));
    (cell(case, "constant") != UNIT).then(|| Cell { spread: Some((low, high)), ..text.into() })
}

/// A setting's value in its unit.
fn quantity(case: &Case, name: &str) -> Cell {
    Cell::or_absent(case.metric(name).map(|metric| match metric.unit {
        Unit::Bytes => Cell::bytes(metric.median()),
        _ => Cell::count(metric.median().max(0.0).trunc()),
    }))
}

/// From which part of the rows on the whole table is read.
fn crossovers(cases: &[&Case], queries: &[&Case]) -> Option<Table> {
    let clocked = |case: &Case| match calibrate::CLOCKED.in_case(case) {
        Some(metric) => Cell::median(metric),
        None => untried(case, queries).into(),
    };
    let percent = |case: &Case, name: &str| case.metric(name).map_or("never".into(), Cell::median);
    Table::over(cases)
        .column("state", Align::Left, |case| cell(case, "state"))
        .column("clustering", Align::Left, |case| cell(case, "clustering"))
        .each(SETS, |table, set| table.column(set, Align::Right, |case| percent(case, &format!("predicted_{set}"))))
        .column("by the clock", Align::Right, |case| clocked(case))
        .titled(
            "The whole table is read from this % of its rows on, by the planner with the constants that it has now, \
             the measured and the recommended ones, and by the clock:",
        )
        .unless_empty()
}

/// Why plans did not change places by the clock: up to which part of the rows, or from which on, one was faster.
fn untried(crossover: &Case, queries: &[&Case]) -> String {
    let is_beside =
        |query: &&&Case| ["state", "clustering"].iter().all(|name| cell(query, name) == cell(crossover, name));
    let mut beside: Vec<&Case> = queries.iter().filter(is_beside).copied().collect();
    beside.sort_by(|one, other| share(one).total_cmp(&share(other)));
    let is_full_faster = |query: &Case| {
        let [full, index, bitmap] = PLANS.map(|(metric, _)| median(query, metric).unwrap_or(f64::INFINITY));
        full < index.min(bitmap)
    };
    match (beside.first(), beside.last()) {
        (_, Some(last)) if !is_full_faster(last) => format!("not up to {} %", three_digits(share(last))),
        (Some(first), _) => format!("before {} %", three_digits(share(first))),
        _ => ABSENT.into(),
    }
}

fn share(query: &Case) -> f64 {
    calibrate::SELECTIVITY.median(query).unwrap_or(0.0)
}

/// Every query with the times of its plans, and which were picked.
fn queries(cases: &[&Case]) -> Option<Table> {
    Table::over(cases)
        .column("rows %", Align::Right, |case| number(Some(*case), "selectivity"))
        .each(PLANS.into_iter().zip(["full ms", "index", "bitmap"]), |table, ((metric, _), heading)| {
            table.column(heading, Align::Right, |case| number(Some(*case), metric))
        })
        .each(SETS, |table, set| table.column(set, Align::Left, |case| picked(case, set)))
        .groups(|case| format!("{}, {} clustering", cell(case, "state"), cell(case, "clustering")))
        .titled("Each plan forced, and which one the planner picks (* more than 5 % slower than the fastest):")
        .unless_empty()
}

/// The plan that is picked: the one whose time the run repeats.
fn picked(case: &Case, by: &str) -> Cell {
    let Some(time) = median(case, &format!("picked_by_{by}")) else { return Cell::absent() };
    let plans = PLANS.iter().filter_map(|(metric, name)| Some((*name, median(case, metric)?)));
    let fastest = plans.clone().map(|(_, time)| time).fold(f64::INFINITY, f64::min);
    let name = plans.clone().find(|(_, other)| *other == time).map_or(ABSENT, |(name, _)| name);
    let mark = if time > fastest * 1.05 { " *" } else { "" };
    format!("{name}{mark}").into()
}

/// What is lost by each set of constants.
fn scores(cases: &[&Case]) -> Option<Table> {
    let count = |case: &Case, name: &str| quantity(case, name).text;
    let right = |case: &Case| format!("{} of {}", count(case, "fastest_picked"), count(case, "queries"));
    Table::over(cases)
        .column("state", Align::Left, |case| cell(case, "state"))
        .column("constants", Align::Left, |case| words(&cell(case, "constants")))
        .column("right", Align::Right, |case| right(case))
        .column("all ms", Align::Right, |case| number(Some(*case), "time"))
        .column("lost ms", Align::Right, |case| number(Some(*case), "lost"))
        .column("run ms", Align::Right, |case| calibrate::RUN_TIME.in_case(case).map(Cell::median))
        .optional()
        .titled(
            "All queries by each set of constants: how many are right, and what is lost against always the fastest \
             plan (run: as the planner likes, in one go):",
        )
        .unless_empty()
}

/// A set's name in words.
fn words(name: &str) -> String {
    match name {
        "now" => "the server's".into(),
        "measured" => "all measured".into(),
        other => other.replacen('-', " ", 1),
    }
}

/// The settings of the planner.
const CONSTANTS: [&str; 6] = [
    "seq_page_cost",
    "random_page_cost",
    "cpu_tuple_cost",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "effective_cache_size",
];

/// The recommended constants as statements, where that was asked for.
fn sql(run: &Run) -> String {
    if run.subject.get("sql") != Some(&serde_json::Value::Bool(true)) {
        return String::new();
    }
    let mut text = String::new();
    for case in part(run, "verification").iter().filter(|case| cell(case, "constants") == "recommended") {
        let told = case.metrics.iter().skip_while(|metric| metric.name != "lost").skip(1);
        let state = cell(case, "state");
        let told: Vec<&measure::Metric> = told.collect();
        // What an earlier block has set must not stay: that mixture was not verified.
        let reset = CONSTANTS.iter().map(|name| format!("RESET {name};\n"));
        let set = told.iter().map(|metric| format!("SET {} = {};\n", metric.name, plain(metric.median())));
        let statements: Vec<String> = if told.is_empty() { Vec::new() } else { reset.chain(set).collect() };
        if statements.is_empty() {
            text += &format!("-- {state}: no set of measured constants is better than the server's own\n");
        } else {
            text += &format!("-- {state}: verified by the queries above; RESET ALL ends it\n{}", statements.concat());
        }
    }
    text
}

/// A number as SET takes it: six significant digits, those that were verified; no exponent.
fn plain(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    let text = format!("{value:.*}", (5.0 - magnitude).clamp(0.0, 12.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}
