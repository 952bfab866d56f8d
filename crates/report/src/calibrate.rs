//! A planner's constants by the share of blocks that is cached, where its plans change places, and what its choices
//! cost by the constants that it has and by those that were measured.

use measure::{Case, Metric, Run};

use crate::number::{ABSENT, bytes, grouped, three_digits, time};
use crate::parameters::cell;
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Percent of the blocks that are cached, with their headings.
const SHARES: [(&str, &str); 5] = [("0", "cold"), ("50", "50 %"), ("90", "90 %"), ("99", "99 %"), ("100", "cached")];

/// The constant that is the unit of the others.
const UNIT: &str = "seq_page_cost";

/// Metrics of a query's plans, with their names in tables.
const PLANS: [(&str, &str); 3] = [("full_scan_time", "full"), ("index_time", "index"), ("bitmap_time", "bitmap")];

/// The page.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let sections = [
        constants(run, style),
        intervals(run, style),
        crossovers(run, style),
        queries(run, style),
        scores(run, style),
        sql(run),
    ];
    crate::join_sections(&sections)
}

fn part<'a>(run: &'a Run, name: &'a str) -> Vec<&'a Case> {
    run.cases_where("part", name).collect()
}

fn median(case: &Case, name: &str) -> Option<f64> {
    case.metric(name).map(Metric::median)
}

fn number(value: Option<f64>) -> String {
    value.map_or(ABSENT.into(), three_digits)
}

/// Names of the constants in the order of the document.
fn names(cases: &[&Case]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for case in cases {
        let name = cell(case, "constant");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
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
fn constants(run: &Run, style: &Style) -> String {
    let cases = part(run, "constant");
    let shares = shares(&cases);
    let mut table = Table::new().column("cost", Align::Left).column("now", Align::Right);
    for (_, heading) in &shares {
        table = table.column(heading, Align::Right);
    }
    for name in names(&cases) {
        let now = cases.iter().find(|case| cell(case, "constant") == name).and_then(|case| median(case, "now"));
        if shares.iter().all(|(share, _)| of_share(&cases, &name, share).is_none()) {
            continue;
        }
        let values = shares
            .iter()
            .map(|(share, _)| number(of_share(&cases, &name, share).and_then(|case| median(case, "value"))));
        table.row([short(&name).into(), number(now)].into_iter().chain(values));
    }
    let title = "Constants in units of seq_page_cost, by the share of blocks that is cached:";
    if cases.is_empty() { String::new() } else { wrap(title, style.width, 2) + "\n" + &table.render(style) }
}

/// What one of each costs, with the interval of the constant; and the settings that are no cost.
fn intervals(run: &Run, style: &Style) -> String {
    let cases = part(run, "constant");
    let ends: Vec<(&str, &str)> =
        shares(&cases).into_iter().filter(|(share, _)| *share == "0" || *share == "100").collect();
    let mut table = Table::new().column("one costs", Align::Left);
    for (_, heading) in &ends {
        table = table.column(heading, Align::Right).column("95 %", Align::Word);
    }
    for name in names(&cases) {
        let cells: Vec<String> = ends
            .iter()
            .flat_map(|(share, _)| {
                let case = of_share(&cases, &name, share);
                // At or below 0 there is no constant, and what the samples say is noise.
                let cost = case.filter(|case| case.metric("value").is_some()).and_then(|case| median(case, "time"));
                let cost = cost.map_or(ABSENT.into(), |micros| time(micros * 1e3));
                [cost, case.map_or(String::new(), interval)]
            })
            .collect();
        if ends.iter().any(|(share, _)| of_share(&cases, &name, share).is_some()) {
            table.row([short(&name).into()].into_iter().chain(cells));
        }
    }
    let mut others = Table::new().column("setting", Align::Left).column("now", Align::Right);
    others = others.column("measured", Align::Right);
    let settings: Vec<&&Case> = cases.iter().filter(|case| cell(case, "cached_percent").is_empty()).collect();
    for case in &settings {
        others.row([cell(case, "constant"), quantity(case, "now"), quantity(case, "value")]);
    }
    let mut text = if ends.is_empty() { String::new() } else { table.render(style) };
    if !settings.is_empty() {
        text = crate::join_sections(&[text, others.render(style)]);
    }
    text
}

/// The interval of a constant; none for the unit.
fn interval(case: &Case) -> String {
    match (median(case, "value_low"), median(case, "value_high"), cell(case, "constant").as_str()) {
        (Some(_), Some(_), UNIT) | (None, _, _) | (_, None, _) => String::new(),
        (Some(low), Some(high), _) => format!("{}–{}", three_digits(low), three_digits(high)),
    }
}

/// A setting's value in its unit.
fn quantity(case: &Case, name: &str) -> String {
    let Some(metric) = case.metric(name) else { return ABSENT.into() };
    match metric.unit {
        measure::Unit::Bytes => bytes(metric.median()),
        _ => grouped(metric.median().max(0.0) as u64),
    }
}

/// From which part of the rows on the whole table is read.
fn crossovers(run: &Run, style: &Style) -> String {
    let cases = part(run, "crossover");
    let mut table = Table::new()
        .column("state", Align::Left)
        .column("clustering", Align::Left)
        .column("now", Align::Right)
        .column("measured", Align::Right)
        .column("recommended", Align::Right)
        .column("by the clock", Align::Right);
    for case in &cases {
        let percent = |name: &str| median(case, name).map_or("never".into(), three_digits);
        table.row([
            cell(case, "state"),
            cell(case, "clustering"),
            percent("predicted_now"),
            percent("predicted_measured"),
            percent("predicted_recommended"),
            percent("clocked"),
        ]);
    }
    let title = "The whole table is read from so many % of its rows on, by the planner with the constants that it has \
                 now, the measured and the recommended ones, and by the clock:";
    if cases.is_empty() { String::new() } else { wrap(title, style.width, 2) + "\n" + &table.render(style) }
}

/// Every query with the times of its plans, and which were picked.
fn queries(run: &Run, style: &Style) -> String {
    let cases = part(run, "query");
    let mut table = Table::new();
    for heading in ["rows %", "full ms", "index", "bitmap"] {
        table = table.column(heading, Align::Right);
    }
    for heading in ["now", "measured", "recommended"] {
        table = table.column(heading, Align::Left);
    }
    let mut title = String::new();
    for case in &cases {
        let of_case = format!("{}, {} clustering", cell(case, "state"), cell(case, "clustering"));
        if title != of_case {
            table.title(&of_case);
            title = of_case;
        }
        let times = PLANS.iter().map(|(metric, _)| number(median(case, metric)));
        let picks = ["now", "measured", "recommended"].map(|by| picked(case, by));
        table.row([number(median(case, "selectivity"))].into_iter().chain(times).chain(picks));
    }
    let title = "Each plan forced, and which one the planner picks (* more than 5 % slower than the fastest):";
    if cases.is_empty() { String::new() } else { wrap(title, style.width, 2) + "\n" + &table.render(style) }
}

/// The plan that is picked: the one whose time the document repeats.
fn picked(case: &Case, by: &str) -> String {
    let Some(time) = median(case, &format!("picked_by_{by}")) else { return ABSENT.into() };
    let plans = PLANS.iter().filter_map(|(metric, name)| Some((*name, median(case, metric)?)));
    let fastest = plans.clone().map(|(_, time)| time).fold(f64::INFINITY, f64::min);
    let name = plans.clone().find(|(_, other)| *other == time).map_or(ABSENT, |(name, _)| name);
    let mark = if time > fastest * 1.05 { " *" } else { "" };
    format!("{name}{mark}")
}

/// What is lost by each set of constants.
fn scores(run: &Run, style: &Style) -> String {
    let cases = part(run, "verification");
    let mut table = Table::new()
        .column("state", Align::Left)
        .column("constants", Align::Left)
        .column("right", Align::Right)
        .column("all ms", Align::Right)
        .column("lost ms", Align::Right)
        .optional_column("run ms", Align::Right);
    for case in &cases {
        let count = |name: &str| median(case, name).map_or(ABSENT.into(), |value| grouped(value.max(0.0) as u64));
        table.row([
            cell(case, "state"),
            words(&cell(case, "constants")),
            format!("{} of {}", count("fastest_picked"), count("queries")),
            number(median(case, "time")),
            number(median(case, "lost")),
            median(case, "run_time").map_or(String::new(), three_digits),
        ]);
    }
    let title = "All queries by each set of constants: how many are right, and what is lost against always the fastest \
                 plan (run: as the planner likes, in one go):";
    if cases.is_empty() { String::new() } else { wrap(title, style.width, 2) + "\n" + &table.render(style) }
}

/// A set's name in words.
fn words(name: &str) -> String {
    match name {
        "now" => "the server's".into(),
        "measured" => "all measured".into(),
        other => other.replacen('-', " ", 1),
    }
}

/// What the planner can be told.
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
        // What a block before this one has set must not be left beside it: that mixture was not verified.
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
