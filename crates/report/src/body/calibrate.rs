//! A planner's constants, what each set of them does to queries, which of the user's queries get another plan, where
//! paths to rows cross, and the set that is advised as statements.

pub(super) mod chart;
mod crossovers;
mod levels;
mod plans;
mod sql;
mod statements;

use std::collections::HashSet;

use measure::schema::calibrate::{self, READING_MILLIS, SET_CONSTANTS as CONSTANTS, WITHIN_LIMIT};
use measure::{Case, Metric, Run, Unit};

use crate::page::number::{range as range_of, range_in_words, three_digits};
use crate::page::parameters::cell;
use crate::page::wording::joined;
use crate::page::{Align, Cell, Section, Table};

/// How the column of samples reads.
const SAMPLES: &str = "samples: the largest divided by the smallest, for the value where they are furthest apart";

/// The page.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let [constants, queries, sets] = ["constant", "query", "set"].map(|name| part(run, name));
    let is_shown = |query: &&Case| cell(query, "source") == "own" && is_advised(&sets, query);
    let own: Vec<&Case> = queries.iter().copied().filter(is_shown).collect();
    let lists = [remedies(&part(run, "remedy")), refused(&part(run, "refused"))];
    let tables = [costs(&constants, &sets), tablespaces(&part(run, "tablespace")), settings(&constants)];
    let tables = tables.into_iter().chain(crossovers::tables(run));
    let mut all: Vec<Section> = self::sets(&sets, &queries).map(Section::Table).into_iter().collect();
    all.extend(plans::sections(&own));
    all.extend(lists.into_iter().flatten());
    all.extend(tables.flatten().map(Section::Table));
    all.push(Section::Code(statements::enclosed(&statements::of(run, &sets))));
    all
}

fn part<'a>(run: &'a Run, name: &'a str) -> Vec<&'a Case> {
    run.cases_where("part", name).collect()
}

/// Whether a query's plans are those of the set that the advice of its state is about.
fn is_advised(sets: &[&Case], query: &Case) -> bool {
    sets.iter().find(|set| is_of_set(query, set)).is_some_and(|set| !cell(set, "advice").is_empty())
}

/// Whether a query's plans are those of a set.
fn is_of_set(query: &Case, set: &Case) -> bool {
    ["state", "constants"].iter().all(|name| cell(set, name) == cell(query, name))
}

/// Whether a query is an exception from the set of its case, and keeps the server's own constants.
pub(crate) fn is_excepted(query: &Case) -> bool {
    cell(query, "advice") == "keep"
}

/// How many times as long a query takes by its set; of one whose current plan was ended, the upper end is all that is
/// known.
pub(crate) fn ratio_of(query: &Case) -> Option<f64> {
    calibrate::RATIO.median(query).or_else(|| calibrate::RATIO_HIGH.median(query))
}

/// Which plans of a query were ended at a limit, which stands for their times: they take at least that long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The plan by the server's own constants.
    pub(crate) now: bool,
    /// The plan by the set.
    pub(crate) then: bool,
}

impl Ended {
    /// Those of a query.
    pub(crate) fn of(query: &Case) -> Ended {
        match cell(query, calibrate::parameters::ENDED.name).as_str() {
            "now" => Ended { now: true, then: false },
            "then" => Ended { now: false, then: true },
            "both" => Ended { now: true, then: true },
            _ => Ended::of_words(&cell(query, "verdict")),
        }
    }

    /// Of a run that was kept before plans that were ended had a parameter, by the words of the verdict. Where no plan
    /// was ended, these say nothing.
    fn of_words(verdict: &str) -> Ended {
        let says = |words: &[&str]| words.iter().any(|words| verdict.contains(words));
        Ended {
            now: says(&["the current plan ended after", "both plans ended after"]),
            then: says(&[", ended after", "the other one after", "both plans ended after"]),
        }
    }

    /// What stands before the time of the other plan over that of the current one.
    pub(crate) fn sign_of_ratio(self) -> &'static str {
        match (self.now, self.then) {
            (false, false) => "",
            (false, true) => AT_LEAST,
            (true, false) => AT_MOST,
            (true, true) => EITHER,
        }
    }
}

/// What stands before a figure: nothing, or how a limit at which plans were ended bounds it. The table has no room for
/// a space behind it.
const AT_LEAST: &str = "≥";
const AT_MOST: &str = "≤";
const EITHER: &str = "~";

/// The signs before the figures of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Before its ratio.
    pub(crate) ratio: &'static str,
    /// Before the ratio of the query that loses most.
    pub(crate) worst: &'static str,
    then: &'static str,
    now: &'static str,
}

impl Bounds {
    /// Those of a set by the queries that it changes: they are in its figures where they have a ratio.
    pub(crate) fn of(set: &Case, queries: &[&Case]) -> Bounds {
        let its = queries.iter().copied().filter(|query| is_of_set(query, set) && !is_excepted(query));
        // Of few turns there is no interval: a plan that stands near the limit is in no figure of the set.
        let few = |query: &Case| Some(median(query, "time_then")? / median(query, "time_now")?);
        let few = |query: &Case| few(query).filter(|times| *times <= WITHIN_LIMIT && Ended::of(query).now);
        let of = |query: &Case| ratio_of(query).or_else(|| few(query));
        let its: Vec<(f64, Ended)> = its.filter_map(|query| Some((of(query)?, Ended::of(query)))).collect();
        let is_any = |is_ended: fn(&Ended) -> bool| its.iter().any(|(_, ended)| is_ended(ended));
        let (now, then) = (is_any(|ended| ended.now), is_any(|ended| ended.then));
        let worst = median(set, "worst").unwrap_or(f64::NAN);
        let is_worst = |ratio: f64| (ratio - worst).abs() <= worst.abs() * ROUNDING;
        let worst = its.iter().find(|(ratio, _)| is_worst(*ratio)).map(|(_, ended)| *ended).unwrap_or_default();
        let at_least = |is_ended: bool| if is_ended { AT_LEAST } else { "" };
        Bounds {
            ratio: Ended { now, then }.sign_of_ratio(),
            worst: worst.sign_of_ratio(),
            then: at_least(then),
            now: at_least(now),
        }
    }

    fn has(self, sign: &str) -> bool {
        [self.ratio, self.worst, self.then, self.now].contains(&sign)
    }
}

/// What those of the signs mean that stand in a table; empty where none does.
fn meaning_of(bounds: &[Bounds]) -> String {
    let meanings = [(AT_LEAST, "≥ at least"), (AT_MOST, "≤ at most"), (EITHER, "~ may be higher or lower")];
    let found = meanings.iter().filter(|(sign, _)| bounds.iter().any(|bounds| bounds.has(sign)));
    let found = joined(found.map(|(_, meaning)| *meaning), ", ");
    if found.is_empty() { found } else { format!("{found}, because plans were ended at a limit") }
}

/// Digits of a figure that a document may have lost.
const ROUNDING: f64 = 1e-9;

/// The median of a metric.
fn median(case: &Case, name: &str) -> Option<f64> {
    case.metric(name).map(Metric::median)
}

fn number(case: &Case, name: &str) -> Cell {
    Cell::or_absent(case.metric(name).map(Cell::median))
}

/// The same with a sign before it: the number of the cell stays what it is.
fn bounded(sign: &str, case: &Case, name: &str) -> Cell {
    let cell = number(case, name);
    if cell.is_blank() { cell } else { Cell { text: format!("{sign}{}", cell.text), ..cell } }
}

/// Whether times differ by less than readings do, which counts as 1 time: that would contradict the times next to it.
fn is_too_short(case: &Case) -> bool {
    // The runs of a query by the set may be of other turns than those of its ratio.
    let then = median(case, "time_by_turns").or_else(|| median(case, "time_then"));
    let apart = median(case, "time_now").zip(then).map_or(0.0, |(now, then)| (now - then).abs());
    // Of a set the times are sums over the queries that it changes.
    let least = median(case, "changed").unwrap_or(1.0) * READING_MILLIS;
    median(case, "ratio") == Some(1.0) && apart > 0.0 && apart < least
}

/// Whose queries were judged in a state of the caches.
pub(crate) fn whose_queries(state: &str) -> String {
    match state {
        "as-found" => "your queries, as the server is".into(),
        "own-cold" => "your queries, cold".into(),
        "cached" => "readpath's queries, cached by the server".into(),
        "system" => "readpath's queries, cached by the operating system".into(),
        state => format!("readpath's queries, {state}"),
    }
}

/// How each set does, by the state of the caches, with signs at figures that are bounds because of its queries. Its
/// columns are as narrow as they can be: those of the user's queries fit 80 columns with the longest names and signs.
fn sets(cases: &[&Case], queries: &[&Case]) -> Option<Table> {
    let others: Vec<&Case> = cases.iter().copied().filter(|case| cell(case, "constants") != "now").collect();
    let of = |case: &Case| format!("{} of {}", count(case, "changed"), count(case, "queries"));
    let is_advised = |case: &&Case| cell(case, "advice") == "change";
    let bounds = |case: &Case| Bounds::of(case, queries);
    let (unit, length) = unit_of_times(&others);
    let meaning = meaning_of(&others.iter().map(|case| bounds(case)).collect::<Vec<_>>());
    let is_short = others.iter().any(|case| is_too_short(case));
    let marks = [
        meaning.as_str(),
        if is_short { "short: too short to tell apart" } else { "" },
        if others.iter().any(is_advised) { "* advised" } else { "" },
    ];
    let marks = joined(marks, "; ");
    Table::over(&others)
        .column("set", Align::Left, |case| cell(case, "constants"))
        .column("verdict", Align::Word, |case| {
            let mark = if cell(case, "advice") == "change" { " *" } else { "" };
            format!("{}{mark}", cell(case, "verdict"))
        })
        .column("plans", Align::Right, |case| of(case))
        .column("times", Align::Right, |case| match is_too_short(case) {
            true => "short".into(),
            false => bounded(bounds(case).ratio, case, "ratio"),
        })
        .column("95 %", Align::Word, |case| interval(case, "ratio_low", "ratio_high").filter(|_| !is_too_short(case)))
        .column("worst", Align::Right, |case| bounded(bounds(case).worst, case, "worst"))
        .optional(unit, Align::Right, |case| time_of_all(bounds(case).then, case, "time_then", length))
        .optional(format!("{unit} now"), Align::Right, |case| time_of_all(bounds(case).now, case, "time_now", length))
        .optional("faster", Align::Right, |case| median(case, "faster").map(Cell::count))
        .optional("slower", Align::Right, |case| median(case, "slower").map(Cell::count))
        .groups(|case| whose_queries(&cell(case, "state")))
        .titled(format!(
            "Each set of constants against the server's own: how many queries get a different plan, and how many times \
             as long these take on average, at worst, and together{}:",
            if marks.is_empty() { String::new() } else { format!(" ({marks})") }
        ))
        .noted(exceptions(&others))
        .unless_empty()
}

/// The unit of the times of all sets, and how many nanoseconds it has: seconds where each takes one or more, which
/// keeps the digits few.
fn unit_of_times(sets: &[&Case]) -> (&'static str, f64) {
    let times = sets.iter().flat_map(|case| [calibrate::TIME_THEN.nanos(case), calibrate::TIME_NOW.nanos(case)]);
    let least = times.flatten().filter(|nanos| *nanos > 0.0).fold(f64::INFINITY, f64::min);
    if (1e9..f64::INFINITY).contains(&least) { ("s", 1e9) } else { ("ms", 1e6) }
}

/// The time of all queries of a set behind a sign, in a unit of `length` nanoseconds: the number of the cell stays in
/// the unit of the metric.
fn time_of_all(sign: &str, case: &Case, name: &str, length: f64) -> Cell {
    let Some(metric) = case.metric(name) else { return Cell::absent() };
    let (cell, nanos) = (Cell::median(metric), metric.nanos());
    match nanos.filter(|_| !cell.is_blank()) {
        Some(nanos) => Cell { text: format!("{sign}{}", three_digits(nanos / length)), ..cell },
        None => cell,
    }
}

/// How many queries are exceptions from each set, as a sentence; empty where none is.
fn exceptions(sets: &[&Case]) -> String {
    let count = |set: &Case| calibrate::EXCEPTED.median(set).filter(|count| *count > 0.0);
    let found: Vec<(&Case, f64)> = sets.iter().filter_map(|set| Some((*set, count(set)?))).collect();
    let Some((first, _)) = found.first() else { return String::new() };
    let is_of_several = found.iter().any(|(set, _)| cell(set, "state") != cell(first, "state"));
    let of = |(set, count): &(&Case, f64)| {
        let state = if is_of_several { format!(" ({})", whose_queries(&cell(set, "state"))) } else { String::new() };
        format!("{} with {}{state}", Cell::count(*count).text, cell(set, "constants"))
    };
    let found: Vec<String> = found.iter().map(of).collect();
    format!(
        "Queries that keep the server's own constants, and count only in the number behind \"of\": {}.",
        found.join(", ")
    )
}

fn count(case: &Case, name: &str) -> String {
    median(case, name).map_or(String::new(), |count| Cell::count(count).text)
}

/// Queries whose fastest plan no set leads to.
fn remedies(cases: &[&Case]) -> Option<Section> {
    let line = |case: &&Case| {
        let millis = |name: &str| median(case, name).map_or(String::new(), three_digits);
        let [query, advice, now, then] = ["query", "advice", "node_now", "node_then"].map(|name| cell(case, name));
        let differs = chart::steps(&now, &then);
        let [now, then] = ["time_now", "time_then"].map(millis);
        format!("{query}: {now} ms, and {then} ms with another plan ({differs}); {advice}")
    };
    let heading = "Where no constants help, because a plan that no set leads to is faster:";
    Section::list(heading, cases.iter().map(line).collect())
}

fn refused(cases: &[&Case]) -> Option<Section> {
    let line = |case: &&Case| format!("{}: {}", cell(case, "query"), cell(case, "verdict"));
    Section::list("Queries that were not explained, not run or not run to their end:", cases.iter().map(line).collect())
}

/// The constants that the sets of a run have a value of. Its own sets tell, as a kept run may have had other constants;
/// of a run without a set, today's list.
pub(crate) struct InSets<'a>(HashSet<&'a str>);

impl<'a> InSets<'a> {
    /// Those of these sets.
    pub(crate) fn of(sets: impl Iterator<Item = &'a Case>) -> InSets<'a> {
        InSets(sets.flat_map(|set| &set.metrics).map(|metric| metric.name.as_str()).collect())
    }

    /// Whether a constant is one of them.
    pub(crate) fn has(&self, name: &str) -> bool {
        let is_known = CONSTANTS.into_iter().any(|constant| self.0.contains(constant));
        if is_known { self.0.contains(name) } else { CONSTANTS.contains(&name) }
    }
}

/// Every constant, by the state of the caches.
fn costs(cases: &[&Case], sets: &[&Case]) -> Option<Table> {
    let costs: Vec<&Case> = cases.iter().copied().filter(|case| case.metric("time").is_some()).collect();
    let in_sets = InSets::of(sets.iter().copied());
    let given = |case: &Case| match case.metric("given") {
        Some(metric) => Cell::median(metric),
        None if in_sets.has(&cell(case, "constant")) => "withheld".into(),
        None => "not in sets".into(),
    };
    // A single pass has nothing to differ from.
    let spread = |case: &Case| median(case, "passes_spread");
    let has_passes = costs.iter().any(|case| spread(case).is_some_and(|spread| spread != 1.0));
    let title = "Constants in the unit of the server's cpu_tuple_cost, by what is in the caches";
    let about_passes = " (passes: the largest divided by the smallest; each pass has tables of its own, except in \
                        state system)";
    Table::over(&costs)
        .column("cost", Align::Left, |case| cell(case, "constant").trim_end_matches("_cost").to_string())
        .column("state", Align::Left, |case| cell(case, "state"))
        .column("now", Align::Right, |case| number(case, "now"))
        .column("measured", Align::Right, |case| number(case, "value"))
        .optional("one pass, 95 %", Align::Word, |case| interval(case, "value_low", "value_high"))
        .column("passes", Align::Right, |case| spread(case).map(Cell::times))
        .only_where(has_passes)
        .column("given", Align::Right, |case| given(case))
        .times("one costs", |case| calibrate::TIME.nanos(case).filter(|nanos| *nanos > 0.0))
        .titled(format!("{title}{}:", if has_passes { about_passes } else { "" }))
        .unless_empty()
}

/// What a block costs in each tablespace of a server that has several.
fn tablespaces(cases: &[&Case]) -> Option<Table> {
    let given = |case: &Case| case.metric("given").map_or("withheld".into(), Cell::median);
    Table::over(cases)
        .column("tablespace", Align::Left, |case| cell(case, "tablespace"))
        .column("cost", Align::Left, |case| cell(case, "constant").trim_end_matches("_cost").to_string())
        .column("state", Align::Left, |case| cell(case, "state"))
        .column("now", Align::Right, |case| number(case, "now"))
        .column("measured", Align::Right, |case| number(case, "value"))
        .column("rounds", Align::Right, |case| median(case, "passes_spread").map(Cell::times))
        .column("given", Align::Right, |case| given(case))
        .times("one costs", |case| calibrate::TIME.nanos(case).filter(|nanos| *nanos > 0.0))
        .titled(
            "Constants of each tablespace, in proportion to the one that this run's tables were made in (rounds: the \
             largest ratio divided by the smallest):",
        )
        .unless_empty()
}

/// The ends of an interval.
fn interval(case: &Case, low: &str, high: &str) -> Option<Cell> {
    let ends = (median(case, low)?, median(case, high)?);
    // A dash before a minus sign would read as one of the two.
    let range: fn(&str, &str) -> String = if ends.0.min(ends.1) < 0.0 { range_in_words } else { range_of };
    let text = range(&three_digits(ends.0), &three_digits(ends.1));
    Some(Cell { spread: Some(ends), ..text.into() })
}

/// The settings that are no cost.
fn settings(cases: &[&Case]) -> Option<Table> {
    // Of a standby, whose costs cannot be measured, the constants of the sets are known all the same.
    let is_cost = |case: &Case| CONSTANTS.contains(&cell(case, "constant").as_str()) || case.metric("time").is_some();
    let settings: Vec<&Case> = cases.iter().copied().filter(|case| !is_cost(case)).collect();
    let quantity = |metric: &Metric| match metric.unit {
        Unit::Bytes => Cell::bytes(metric.median()),
        _ => Cell::count(metric.median()),
    };
    let measured = |case: &Case| match (case.metric("from"), case.metric("to")) {
        (Some(from), Some(to)) => range_in_words(&quantity(from).text, &quantity(to).text).into(),
        _ => Cell::or_absent(case.metric("value").map(quantity)),
    };
    Table::over(&settings)
        .column("setting", Align::Left, |case| cell(case, "constant"))
        .column("now", Align::Right, |case| Cell::or_absent(case.metric("now").map(quantity)))
        .column("measured", Align::Right, |case| measured(case))
        .optional("samples", Align::Right, |case| median(case, "passes_spread").map(Cell::times))
        .noted(if settings.iter().any(|case| case.metric("passes_spread").is_some()) { SAMPLES } else { "" })
        .unless_empty()
}

#[cfg(test)]
mod tests {
    use measure::Parameters;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_interval_below_0_has_no_dash_before_a_minus_sign() {
        let text = |low: f64, high: f64| {
            let mut case = Case::new(Parameters::default());
            case.metrics.push(calibrate::VALUE_LOW.single("t", low));
            case.metrics.push(calibrate::VALUE_HIGH.single("t", high));
            interval(&case, "value_low", "value_high").unwrap().text
        };
        assert_eq!(text(-0.00169, -0.000_084_9), "-0.00169 to -0.0000849");
        assert_eq!(text(0.5, 0.75), "0.500–0.750");
    }

    #[test]
    fn a_plan_that_is_faster_is_named_by_the_steps_that_differ_and_not_by_one_that_both_may_have() {
        let parameters = json!({
            "query": "loser", "node_now": "Aggregate (Finalize)", "node_then": "Aggregate", "advice": "ANALYZE",
        });
        let mut case = Case::new(parameters.as_object().unwrap().clone());
        case.metrics.push(calibrate::TIME_NOW.single("t", 64.4));
        case.metrics.push(calibrate::TIME_THEN.single("t", 46.6));
        let Some(Section::List { items, .. }) = remedies(&[&case]) else { panic!("no list") };
        let differs = "Aggregate (Finalize) → Aggregate, no longer in parallel";
        assert_eq!(items, [format!("loser: 64.4 ms, and 46.6 ms with another plan ({differs}); ANALYZE")]);
    }

    #[test]
    fn times_are_too_short_only_where_they_differ_by_less_than_readings_do() {
        let is_it = |[ratio, now, then]: [f64; 3], changed: Option<u64>| {
            let mut case = Case::new(Parameters::default());
            case.metrics.extend(changed.map(|changed| calibrate::CHANGED.count("t", changed)));
            case.metrics.push(calibrate::RATIO.single("t", ratio));
            case.metrics.push(calibrate::TIME_NOW.single("t", now));
            case.metrics.push(calibrate::TIME_THEN.single("t", then));
            is_too_short(&case)
        };
        assert!(is_it([1.0, 0.030, 0.060], None));
        assert!(!is_it([1.0, 0.030, 0.030], None), "nothing to contradict");
        assert!(!is_it([1.0, 100.0, 120.0], None), "other turns, but no reading");
        assert!(!is_it([1.1, 0.4, 0.44], None));
        assert!(is_it([1.0, 0.12, 0.28], Some(4)), "0.04 ms of each of four queries");
        assert!(!is_it([1.0, 0.12, 0.38], Some(4)));
    }

    /// A set's case, and that of a query with this verdict.
    fn of_part(part: &str, verdict: &str) -> Case {
        let parameters = json!({"part": part, "state": "as-found", "constants": "cached", "verdict": verdict});
        Case::new(parameters.as_object().unwrap().clone())
    }

    /// The texts of a set's ratio, its worst one, its time and that of now, and what the title says of signs in them.
    fn figures(queries: &[(&str, f64)]) -> ([String; 4], String) {
        let query = |(verdict, ratio): &(&str, f64)| {
            let mut case = of_part("query", verdict);
            let is_bound = verdict.contains("current plan ended");
            case.metrics.push(match is_bound {
                true => calibrate::RATIO_HIGH.single("t", *ratio),
                false => calibrate::RATIO.single("t", *ratio),
            });
            case
        };
        let cases: Vec<Case> = queries.iter().map(query).collect();
        let mut set = of_part("set", "keep");
        let worst = queries.iter().map(|(_, ratio)| *ratio).fold(0.0, f64::max);
        set.metrics.push(calibrate::RATIO.single("t", 0.62));
        set.metrics.push(calibrate::WORST.single("t", worst));
        set.metrics.push(calibrate::TIME_NOW.single("t", 500.0));
        set.metrics.push(calibrate::TIME_THEN.single("t", 310.0));
        let table = sets(&[&set], &cases.iter().collect::<Vec<_>>()).unwrap();
        let cell = |heading: &str| {
            let column = table.columns.iter().find(|column| column.heading == heading);
            let cell = &column.unwrap_or_else(|| panic!("no {heading}")).cells[0];
            assert!(cell.value.is_some(), "a number stays one: {cell:?}");
            cell.text.clone()
        };
        (["times", "worst", "ms", "ms now"].map(cell), table.title.clone().unwrap())
    }

    #[test]
    fn figures_of_a_set_that_a_limit_bounds_do_not_look_measured() {
        let texts = |queries: &[(&str, f64)]| figures(queries).0;
        let faster = ("faster", 0.5);
        assert_eq!(texts(&[faster, ("slower", 2.0)]), ["0.620", "2.00", "310", "500"]);
        let then = ("slower, ended after 500 ms", 50.0);
        assert_eq!(texts(&[faster, then]), ["≥0.620", "≥50.0", "≥310", "500"]);
        let now = ("faster, the current plan ended after 10.0 s in 1 of 3 turns", 0.7);
        assert_eq!(texts(&[faster, now]), ["≤0.620", "≤0.700", "310", "≥500"]);
        assert_eq!(texts(&[("slower", 2.0), now]), ["≤0.620", "2.00", "310", "≥500"], "the worst was timed");
        assert_eq!(texts(&[now, then]), ["~0.620", "≥50.0", "≥310", "≥500"]);
        let title = |queries: &[(&str, f64)]| figures(queries).1;
        assert!(!title(&[faster]).contains("limit"), "{}", title(&[faster]));
        let said = title(&[faster, then]);
        assert!(said.contains("(≥ at least, because plans were ended at a limit)") && !said.contains('≤'), "{said}");
    }

    #[test]
    fn a_constant_that_the_sets_of_a_kept_run_lack_is_not_called_withheld() {
        let [first, second, ..] = CONSTANTS;
        let parameters = json!({"part": "constant", "constant": first});
        let mut cost = Case::new(parameters.as_object().unwrap().clone());
        cost.metrics.push(calibrate::TIME.single("t", 1.0));
        let given = |sets: &[&Case]| {
            let table = costs(&[&cost], sets).unwrap();
            let column = table.columns.iter().find(|column| column.heading == "given").unwrap();
            column.cells[0].text.clone()
        };
        let set = |name: &str| {
            let mut set = of_part("set", "keep");
            set.metrics.push(calibrate::SETTING.of(name).single("t", 0.5));
            set
        };
        assert_eq!(given(&[&set(first)]), "withheld");
        assert_eq!(given(&[&set(second)]), "not in sets");
        assert_eq!(given(&[]), "withheld", "no set tells");
    }

    #[test]
    fn times_of_sets_are_in_seconds_only_where_none_is_shorter_than_one() {
        let shown = |now: f64, then: f64| {
            let mut set = of_part("set", "keep");
            set.metrics.push(calibrate::TIME_NOW.single("t", now));
            set.metrics.push(calibrate::TIME_THEN.single("t", then));
            let table = sets(&[&set], &[]).unwrap();
            let cell = |heading: &str| {
                let column = table.columns.iter().find(|column| column.heading == heading)?;
                Some((column.cells[0].text.clone(), column.cells[0].value))
            };
            ["ms now", "s now"].map(cell)
        };
        let minutes = Some(123_456.0);
        assert_eq!(
            shown(123_456.0, 2000.0),
            [None, Some(("123".to_string(), minutes))],
            "the number stays the metric's"
        );
        assert_eq!(shown(123_456.0, 800.0), [Some(("123\u{202f}456".to_string(), minutes)), None]);
        let far_apart = [None, Some(("1\u{202f}600".to_string(), Some(1_600_000.0)))];
        assert_eq!(shown(1_600_000.0, 1500.0), far_apart, "however much longer one takes than the other");
        assert_eq!(shown(20_000_000.0, 15_000_000.0)[0], None, "nor where all take long");
    }

    #[test]
    fn times_of_a_document_in_another_unit_are_shown_in_that_of_their_column() {
        let mut metric = calibrate::TIME_NOW.single("t", 1500.0);
        metric.unit = Unit::Microseconds;
        let mut set = of_part("set", "keep");
        set.metrics.push(metric);
        assert_eq!(time_of_all("≥", &set, "time_now", 1e6).text, "≥1.50");
    }

    #[test]
    fn exceptions_that_have_no_column_are_counted_below_the_table() {
        let mut set = of_part("set", "change");
        let note = |set: &Case| sets(&[set], &[]).unwrap().note;
        assert_eq!(note(&set), None);
        set.metrics.push(calibrate::EXCEPTED.count("t", 2));
        let said = "Queries that keep the server's own constants, and count only in the number behind \"of\": 2 with";
        assert_eq!(note(&set), Some(format!("{said} cached.")));
        let mut cold = set.clone();
        cold.parameters.insert("state".into(), json!("own-cold"));
        let note = sets(&[&set, &cold], &[]).unwrap().note;
        let states = "cached (your queries, as the server is), 2 with cached (your queries, cold).";
        assert_eq!(note, Some(format!("{said} {states}")), "two states have a set of one name");
    }

    #[test]
    fn plans_that_were_ended_are_known_by_a_value_and_of_older_runs_by_the_words_of_the_verdict() {
        let ended = |verdict: &str, plans: &str| {
            let mut query = of_part("query", verdict);
            if !plans.is_empty() {
                query.parameters.extend([calibrate::parameters::ENDED.of(plans)]);
            }
            let Ended { now, then } = Ended::of(&query);
            [now, then]
        };
        let words = "in other words";
        assert_eq!(
            ["now", "then", "both", ""].map(|plans| ended(words, plans)),
            [[true, false], [false, true], [true, true], [false, false]]
        );
        for (verdict, of_older) in [
            ("slower, ended after 500 ms", [false, true]),
            ("faster, the current plan ended after 10.0 s", [true, false]),
            ("undecided, both plans ended after 10.0 s", [true, true]),
            ("undecided, the current plan ended after 9.0 s and the other one after 10.0 s", [true, true]),
            ("not timed", [false, false]),
        ] {
            assert_eq!(ended(verdict, ""), of_older, "{verdict}");
        }
    }

    #[test]
    fn a_query_that_is_an_exception_bounds_no_figure_of_its_set() {
        let mut query = of_part("query", "slower, ended after 500 ms");
        query.metrics.push(calibrate::RATIO.single("t", 50.0));
        let mut set = of_part("set", "change");
        set.metrics.push(calibrate::WORST.single("t", 50.0));
        assert_ne!(Bounds::of(&set, &[&query]), Bounds::default());
        query.parameters.extend([("advice".to_string(), json!("keep"))]);
        assert_eq!(Bounds::of(&set, &[&query]), Bounds::default());
        let mut other = of_part("query", "slower, ended after 500 ms");
        other.metrics.push(calibrate::RATIO.single("t", 50.0));
        other.parameters.extend([("constants".to_string(), json!("random-1.1"))]);
        assert_eq!(Bounds::of(&set, &[&other]), Bounds::default(), "a query of another set");
    }

    #[test]
    fn an_upper_end_that_stands_alone_is_not_compared_with_one_that_was_measured() {
        let run = |verdict: &str, high: f64| {
            let mut query = of_part("query", verdict);
            let is_ended = verdict.contains("ended");
            query.parameters.extend(is_ended.then(|| calibrate::parameters::ENDED.of("now")));
            query.metrics.push(calibrate::RATIO_HIGH.single("t", high));
            let cases = vec![of_part("set", "change"), query];
            Run { experiment: "calibrate".into(), cases, ..Run::default() }
        };
        let bound = "faster, the current plan ended after 10.0 s";
        let compared = |one: &Run, other: &Run| {
            let comparison = measure::compare::compare(one, other);
            comparison.cases.iter().map(|case| case.metrics.len()).sum::<usize>()
        };
        assert_eq!(compared(&run(bound, 0.3), &run("faster", 0.3)), 0);
        assert_eq!(compared(&run(bound, 0.3), &run(bound, 0.2)), 1);
    }
}
