//! A planner's constants as charts: random_page_cost by what is cached, what each set of constants does to queries, and
//! where paths to rows cross.

use measure::quantity::counted;
use measure::schema::calibrate;
use measure::sorting;
use measure::{Case, Run, Unit};

use super::{Ended, crossovers, is_advised, is_excepted, is_of_set, part, ratio_of};
use crate::body::drawing::{Drawing, RANGE, beginning, figure};
use crate::page::number::three_digits;
use crate::page::parameters::cell;
use crate::page::wording::joined;
use crate::page::{Axis, Chart, Datum, Figure, Key, Plot, Row};

/// The constant that is asked about most.
const ASKED: &str = "random_page_cost";

/// Queries whose plans are drawn where they are of one state, and the fewest of each of several.
const PLANS_MAX: usize = 8;
const PLANS_MIN: usize = 3;

/// Letters of a query's name beside its plans, and of both: the steps that differ are not cut.
const NAME_LETTERS: (usize, usize) = (16, 40);
const LABEL_LETTERS: usize = 88;

/// Why the list of the user's queries has another time than the chart, which draws what was measured: the list's times
/// have to fit the list's ratios, and the sums of the sets.
const OTHER_TIME: &str = "In the list of your queries, the time after is the time before, multiplied by the median \
                          ratio of the turns.";

/// What is drawn of a calibration.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let constants = part(run, "constant");
    let of: Vec<&Case> = constants.iter().copied().filter(|case| cell(case, "constant") == ASKED).collect();
    let now = of.iter().find_map(|case| case.metric("now")).map(Datum::median);
    let now = now.map(|now| figure("random_page_cost now", Unit::Count, &now));
    let shown = |what: &str, state: &str| {
        let case = of.iter().find(|case| cell(case, "state") == state)?;
        let measured = figure(what, Unit::Count, &value(case)?);
        Some(if case.metric("given").is_some() { measured } else { withheld(measured) })
    };
    let figures = [
        now,
        shown("random_page_cost, nothing cached", "cold"),
        shown("random_page_cost, cached by the server", "cached"),
    ];
    let charts = [by_state(&constants, &of), sets(run), plans(run)].into_iter().flatten();
    let drawing = Drawing::new(figures, charts.chain(crossovers::charts(run)).collect());
    Drawing { undrawn: crossovers::undrawn(run).into_iter().collect(), ..drawing }
}

/// The figure of a constant that no set has: the number that was measured stands behind that.
fn withheld(measured: Figure) -> Figure {
    let how = format!("measured {}, {}", measured.cell.text, measured.how);
    Figure { cell: "withheld".into(), how, ..measured }
}

/// A constant with its interval.
fn value(case: &Case) -> Option<Datum> {
    let range = calibrate::VALUE_LOW.median(case).zip(calibrate::VALUE_HIGH.median(case));
    Some(Datum { range, ..Datum::median(case.metric("value")?) })
}

fn by_state(constants: &[&Case], cases: &[&Case]) -> Option<Chart> {
    let row =
        |case: &&Case| Some(Row::of(format!("{}{}", state(case), beside(constants, case, "value")), value(case)?));
    let now = |case: &&Case| {
        let label = format!("the server's setting{}", beside(constants, case, "now"));
        Some(Row::of(label, Datum::median(case.metric("now")?)))
    };
    let now = cases.iter().find_map(now);
    // From what is nearest to the processor on.
    let mut cases: Vec<&Case> = cases.to_vec();
    sorting::by_key(&mut cases, |case| ["cached", "system", "cold"].iter().position(|at| cell(case, "state") == *at));
    let rows = now.into_iter().chain(cases.iter().filter_map(row)).collect();
    let title = "What a random page costs, by what is in the caches";
    let axis = Axis::linear("random_page_cost, as it would be set", Unit::Count);
    let chart = Chart::new("random-page-cost", title, axis, Plot::Rows(rows));
    chart
        .of_medians()
        .noted("Both costs of a state belong together.")
        .thin_line("95 % interval of one pass over the tables")
        .concerning(&["answer-random-page", "absent-constants", "withheld-constants"])
        .with_at_least(2)
}

/// How many times the seq_page_cost of its state a random_page_cost is: the planner weighs them against each other.
fn beside(constants: &[&Case], case: &Case, metric: &str) -> String {
    let is_its =
        |other: &&&Case| cell(other, "constant") == "seq_page_cost" && cell(other, "state") == cell(case, "state");
    // A cost that is withheld has no ratio either, as in the sentence about random blocks.
    let is_stated = |case: &Case| metric != "value" || case.metric("given").is_some();
    let of = |case: &Case| Some(case.metric(metric)?.median()).filter(|cost| *cost > 0.0 && is_stated(case));
    let pair = constants.iter().find(is_its).and_then(|other| Some((of(case)?, of(other)?)));
    pair.map_or(String::new(), |(random, sequential)| {
        format!(", {} times seq_page_cost {}", three_digits(random / sequential), three_digits(sequential))
    })
}

/// How many times as long queries take by each set, of those whose plan it changes.
fn sets(run: &Run) -> Option<Chart> {
    let row = |case: &&Case| {
        let range = calibrate::RATIO_LOW.median(case).zip(calibrate::RATIO_HIGH.median(case));
        let datum = Datum { range, ..Datum::median(calibrate::RATIO.in_case(case)?) };
        let changed = calibrate::CHANGED.median(case).map_or(String::new(), |count| format!(", {}", queries(count)));
        Some(Row { group: state(case), ..Row::of(format!("{}{changed}", cell(case, "constants")), datum) })
    };
    let sets = part(run, "set");
    let rows = sets.iter().filter_map(row).collect();
    let axis = Axis::linear("time, divided by the time with the server's own constants", Unit::Ratio);
    let title = "What each set of cost constants does to the queries whose plan it changes";
    let chart = Chart::new("sets", title, axis, Plot::Rows(rows));
    let names: Vec<String> = sets.iter().map(|case| cell(case, "constants")).collect();
    let note = format!(
        "Below 1 × the set is faster than the server's own constants. Bar: geometric mean of the queries whose plan \
         changes, of which the name has the number. {}",
        meanings(&sets, &names)
    );
    chart.noted(note).thin_line("95 % interval").concerning(&["answer-advice-*"]).with_at_least(2)
}

/// A number of queries.
fn queries(count: f64) -> String {
    counted(count.max(0.0) as u64, "query", "queries")
}

/// Sets with what their constants are.
const SETS: [(&str, &str); 11] = [
    ("cold", "measured with nothing cached"),
    ("system", "measured with all cached by the operating system"),
    ("cached", "measured with all cached by the server"),
    ("between", "between the measured ones"),
    ("safe", "between the measured ones"),
    ("random-1.1", "PostgreSQL's defaults with random_page_cost 1.1"),
    ("random-2", "PostgreSQL's defaults with random_page_cost 2"),
    ("half-pages", "PostgreSQL's defaults with seq_page_cost 0.5 and random_page_cost 2"),
    ("double-pages", "PostgreSQL's defaults with seq_page_cost 2 and random_page_cost 8"),
    ("eighth-pages", "PostgreSQL's defaults with seq_page_cost 0.125 and random_page_cost 0.5"),
    ("in-memory", "PostgreSQL's defaults with seq_page_cost 0.25, random_page_cost 0.275 and cpu_operator_cost 0.001"),
];

/// Whose defaults they are, and what a row costs by these.
const DEFAULTS: &str = "PostgreSQL's defaults";
const DEFAULT_ROW: f64 = 0.01;

/// What the constants of the sets of these names are, of `sets` in all.
fn meanings(sets: &[&Case], names: &[String]) -> String {
    let known: Vec<_> = SETS.iter().filter(|(set, _)| names.iter().any(|name| name == set)).collect();
    if known.is_empty() {
        return String::new();
    }
    let has_defaults = known.iter().any(|(_, meaning)| meaning.starts_with(DEFAULTS));
    let multiplied = if has_defaults { multiplied(sets) } else { String::new() };
    let known: Vec<String> = known.iter().map(|(set, meaning)| format!("{set}: {meaning}")).collect();
    format!("The constants of a set: {}.{multiplied}", known.join("; "))
}

/// That PostgreSQL's defaults are in the unit of the server's cost of a row, which each set keeps, where that is
/// another one.
fn multiplied(sets: &[&Case]) -> String {
    let cost = calibrate::SETTING.of("cpu_tuple_cost");
    let row = sets.iter().find_map(|set| cost.median(set)).filter(|row| *row > 0.0).unwrap_or(DEFAULT_ROW);
    let times = three_digits(row / DEFAULT_ROW);
    if times == three_digits(1.0) {
        return String::new();
    }
    format!(
        " On this server, these defaults and values are multiplied by {times}, because its cpu_tuple_cost is {} and \
         not {DEFAULT_ROW}.",
        three_digits(row)
    )
}

/// What is in the caches, in words.
fn state(case: &Case) -> String {
    match cell(case, "state").as_str() {
        "as-found" => "your queries".into(),
        "own-cold" => "your queries, nothing cached".into(),
        "system" => "cached by the operating system".into(),
        "cached" => "cached by the server".into(),
        "cold" => "nothing cached".into(),
        state => state.into(),
    }
}

/// The time of queries before and after their plan changes, by the set that the advice of each state is about; those
/// that change most first.
fn plans(run: &Run) -> Option<Chart> {
    let sets = part(run, "set");
    let changed: Vec<&Case> = part(run, "query").into_iter().filter(|case| is_advised(&sets, case)).collect();
    let timed = changed.iter().copied().filter_map(|case| Some(Timed { case, row: plan(case, group(&sets, case))? }));
    let mut timed: Vec<Timed<'_>> = timed.collect();
    let untimed = changed.len() - timed.len();
    let groups = sorting::each_once(timed.iter().map(|one| one.row.group.clone()));
    sorting::by(&mut timed, |one, other| other.factor().total_cmp(&one.factor()));
    let most = (PLANS_MAX / groups.len().max(1)).max(PLANS_MIN);
    let shown: Vec<&Timed<'_>> = groups.iter().flat_map(|group| shown_of(&timed, group, most)).collect();
    let is_cut = shown.len() < timed.len();
    let is_ended = shown.iter().any(|one| Ended::of(one.case) != Ended::default());
    let is_listed = shown.iter().any(|one| cell(one.case, "source") == "own");
    let mut rows: Vec<Row> = shown.iter().map(|one| one.row.clone()).collect();
    for row in &mut rows {
        let of_group = timed.iter().filter(|other| other.row.group == row.group).count();
        if of_group > most {
            row.group = format!("{}: {most} of its {}", row.group, queries(of_group as f64));
        }
    }
    let meanings = meanings(&sets, &shown.iter().map(|one| cell(one.case, "constants")).collect::<Vec<_>>());
    let more = counted(untimed as u64, "more has no times.", "more have no times.");
    let note = [
        if is_cut { "Of many queries those that change most, and the one with the largest ratio." } else { "" },
        "Before: with the server's own constants; after: with the set. Dot: median. A name has the step of the plan \
         that differs, before → after.",
        if is_listed { OTHER_TIME } else { "" },
        &meanings,
        &explained(&rows),
        if is_ended { "A plan that was ended stands at its limit." } else { "" },
        if untimed == 0 { "" } else { &more },
    ];
    let note = joined(note, " ");
    let axis = Axis::logarithmic("time of the query", Unit::Nanoseconds);
    let chart = Chart::new("plans", "Queries before and after their plan changes", axis, Plot::Rows(rows));
    let chart = chart.keyed(vec![Key::measured("before"), Key::measured("after")]);
    let chart = chart.noted(note).thin_line(RANGE);
    chart.concerning(&["answer-advice-*"]).with_at_least(2)
}

/// What stands over the row of a query: whose it is, and what is advised of the set.
fn group(sets: &[&Case], query: &Case) -> String {
    let its = sets.iter().find(|set| is_of_set(query, set));
    let advice = its.map_or(String::new(), |set| match cell(set, "advice").as_str() {
        "change" if is_excepted(query) => ", excepted from it".into(),
        "change" if ["as-found", "own-cold"].contains(&cell(query, "state").as_str()) => ", advised".into(),
        "change" => ", to try on yours".into(),
        "keep" => ", not advised".into(),
        advice => format!(", {advice}"),
    });
    format!("{}: the set “{}”{advice}", state(query), cell(query, "constants"))
}

/// A query that has times, with its row.
struct Timed<'a> {
    case: &'a Case,
    row: Row,
}

impl Timed<'_> {
    /// How much it changes, whichever way.
    fn factor(&self) -> f64 {
        ratio_of(self.case).map_or(0.0, |ratio| ratio.ln().abs())
    }
}

/// At most this number of a group, of those that change most: the one with the largest ratio takes the place of the
/// last where it is none of them, because the findings and the table of sets give its ratio.
fn shown_of<'a, 'b>(timed: &'a [Timed<'b>], group: &str, most: usize) -> Vec<&'a Timed<'b>> {
    let all: Vec<&Timed<'b>> = timed.iter().filter(|one| one.row.group == group).collect();
    let loss = |one: &Timed<'_>| ratio_of(one.case).unwrap_or(0.0);
    let worst = (0..all.len()).rev().max_by(|one, other| loss(all[*one]).total_cmp(&loss(all[*other])));
    let mut shown: Vec<&Timed<'b>> = all.iter().copied().take(most).collect();
    if let Some((last, worst)) = shown.last_mut().zip(worst.filter(|worst| *worst >= most)) {
        *last = all[worst];
    }
    shown
}

/// Words of the headings and the names that not every reader of plans knows.
const WORDS: [(&str, &str); 7] = [
    (
        ", to try on yours",
        "To try on yours: the mean ratio of readpath's changed queries is certainly below 1 (its 95 % interval), all \
         of them together take no longer, and none is certainly much slower.",
    ),
    (
        ", advised",
        "Advised: the mean ratio of the changed queries is certainly below 1 (its 95 % interval), all of them together \
         take no longer, and none is certainly much slower.",
    ),
    (
        ", excepted",
        "Excepted: the set makes these slower, or may, or it is not known because they reach the time limit; they keep \
         the server's own constants.",
    ),
    (
        ", not advised",
        "Not advised: some query is certainly much slower or ends with an error, or the mean ratio is certainly above \
         1 or close to 1.",
    ),
    (", undecided", "Undecided: these queries cannot tell whether the set helps."),
    ("Finalize)", "Finalize: puts together what parallel workers have aggregated."),
    ("compiled", "Compiled: by the just-in-time compiler."),
];

/// What those among them mean that are drawn.
fn explained(rows: &[Row]) -> String {
    let is_drawn = |word: &str| rows.iter().any(|row| row.group.contains(word) || row.label.contains(word));
    let found = WORDS.iter().filter(|(word, _)| is_drawn(word)).map(|(_, meaning)| *meaning);
    found.collect::<Vec<_>>().join(" ")
}

/// A query with its time by the server's own constants and by the set; none where it was not timed.
fn plan(case: &Case, group: String) -> Option<Row> {
    let name = cell(case, "query");
    let steps = steps(&cell(case, "node_now"), &cell(case, "node_then"));
    let letters = LABEL_LETTERS.saturating_sub(steps.chars().count()).clamp(NAME_LETTERS.0, NAME_LETTERS.1);
    let label = format!("{}: {steps}", beginning(&name, letters));
    let [now, then] = [&calibrate::TIME_NOW, &calibrate::TIME_THEN].map(|spec| spec.in_case(case).map(Datum::median));
    Some(Row { group, label, marks: vec![(0, now?), (1, then?)] })
}

/// The step that puts together what parallel workers have aggregated, and the one that aggregates alone.
const PARALLEL: &str = "Aggregate (Finalize)";
const ALONE: [&str; 2] = ["Aggregate", "Aggregate (Hashed)"];

/// How far below two equal steps those are looked for that differ: a run document may hold anything.
const NESTED_MAX: usize = 4;

/// Two steps of plans, with the table once where both read the same one in other ways.
pub(super) fn steps(now: &str, then: &str) -> String {
    if now == PARALLEL && ALONE.contains(&then) {
        return format!("{now} → {then}, no longer in parallel");
    }
    if then == PARALLEL && ALONE.contains(&now) {
        return format!("{now} → {then}, now in parallel");
    }
    let (mut now, mut then, mut parents) = (now, then, String::new());
    for _ in 0..NESTED_MAX {
        let Some(one) = children(now).zip(children(then)).and_then(the_one_that_differs) else { break };
        parents = format!(" in {}{parents}", one.0);
        (now, then) = (one.1, one.2);
    }
    format!("{}{parents}", both(now, then))
}

/// Two steps without those below them.
fn both(now: &str, then: &str) -> String {
    let parts = |step: &'_ str| -> Option<(String, String)> {
        // A step with those below it in brackets has a table of its own in none.
        let (kind, of) = step.split_once(" on ").filter(|(kind, _)| !kind.contains('['))?;
        Some((kind.into(), of.split(" by ").next()?.into()))
    };
    match (parts(now), parts(then)) {
        (Some((before, table)), Some((after, other))) if table == other && before != after => {
            format!("{before} → {after} on {table}")
        }
        _ => format!("{now} → {then}"),
    }
}

/// A step and those below it.
type Nested<'a> = (&'a str, Vec<&'a str>);

/// A step and those below it, which stand behind it in brackets.
fn children(step: &str) -> Option<Nested<'_>> {
    let (parent, below) = step.strip_suffix(']')?.split_once(" [")?;
    let mut depth = 0_usize;
    let split = below.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ';' && depth == 0
    });
    Some((parent, split.map(str::trim).collect()))
}

/// Of two equal steps the one below them that is another, with the step that they are below.
fn the_one_that_differs<'a>(
    ((parent, now), (other, then)): (Nested<'a>, Nested<'a>),
) -> Option<(&'a str, &'a str, &'a str)> {
    if parent != other || now.len() != then.len() {
        return None;
    }
    let mut differing = now.into_iter().zip(then).filter(|(now, then)| now != then);
    let (now, then) = differing.next()?;
    differing.next().is_none().then_some((parent, now, then))
}

#[cfg(test)]
mod tests {
    use measure::Parameters;
    use serde_json::json;

    use super::*;

    #[test]
    fn sets_of_postgresqls_defaults_are_said_to_be_multiplied_where_a_row_costs_something_else() {
        let said = |name: &str, row: f64| {
            let mut set = Case::new(Parameters::default());
            set.metrics.push(calibrate::SETTING.of("cpu_tuple_cost").single("t", row));
            meanings(&[&Case::new(Parameters::default()), &set], &[name.to_string()])
        };
        let usual = "The constants of a set: random-2: PostgreSQL's defaults with random_page_cost 2.";
        assert_eq!(said("random-2", 0.01), usual);
        assert_eq!(
            said("random-2", 0.02),
            usual.to_string()
                + " On this server, these defaults and values are multiplied by 2.00, because its cpu_tuple_cost is \
                   0.0200 and not 0.01."
        );
        assert_eq!(said("cached", 0.02), "The constants of a set: cached: measured with all cached by the server.");
        assert_eq!(said("tried-1", 0.02), "");
    }

    #[test]
    fn a_random_page_cost_that_no_set_has_is_not_the_first_number_of_a_page() {
        let first = |is_given: bool| {
            let parameters = json!({"part": "constant", "constant": "random_page_cost", "state": "cold"});
            let mut case = Case::new(parameters.as_object().unwrap().clone());
            case.metrics.push(calibrate::VALUE.single("median of 3 passes", 33.4));
            case.metrics.extend(is_given.then(|| calibrate::GIVEN.single("t", 32.0)));
            let figure = drawing(&Run { cases: vec![case], ..Run::default() }).figures.remove(0);
            (figure.cell.text, figure.how)
        };
        let ((given, _), (text, how)) = (first(true), first(false));
        assert_ne!(given, "withheld");
        assert_eq!(text, "withheld");
        assert!(how.starts_with(&format!("measured {given}, ")), "{how}");
    }

    #[test]
    fn a_cost_that_is_withheld_has_no_ratio_in_the_label_of_its_bar() {
        let cost = |name: &str, value: f64, is_given: bool| {
            let parameters = json!({"part": "constant", "constant": name, "state": "cold"});
            let mut case = Case::new(parameters.as_object().unwrap().clone());
            case.metrics.push(calibrate::NOW.single("pg_settings", 4.0));
            case.metrics.push(calibrate::VALUE.single("median of 3 passes", value));
            case.metrics.extend(is_given.then(|| calibrate::GIVEN.single("t", value)));
            case
        };
        let label = |is_given: [bool; 2], metric: &str| {
            let pair = [cost("seq_page_cost", 10.0, is_given[0]), cost("random_page_cost", 40.0, is_given[1])];
            beside(&pair.iter().collect::<Vec<_>>(), &pair[1], metric)
        };
        assert_eq!(label([true, true], "value"), ", 4.00 times seq_page_cost 10.0");
        assert_eq!([[false, true], [true, false]].map(|given| label(given, "value")), ["", ""]);
        assert_eq!(label([false, false], "now"), ", 1.00 times seq_page_cost 4.00", "what is set is not withheld");
    }

    /// A run whose queries, with their verdict, whether they are exceptions, and the milliseconds of both plans where
    /// they were timed, get other plans by a set that is advised.
    fn run(queries: &[(&str, bool, Option<[f64; 2]>)]) -> Run {
        let case = |part: &str, name: &str, verdict: &str| {
            let parameters = json!({
                "part": part, "state": "as-found", "constants": "cached", "query": name, "verdict": verdict,
                "node_now": "Sort", "node_then": "Hash",
            });
            Case::new(parameters.as_object().unwrap().clone())
        };
        let mut set = case("set", "", "change");
        set.parameters.extend([("advice".to_string(), json!("change"))]);
        let query = |(at, (verdict, is_excepted, times)): (usize, &(&str, bool, Option<[f64; 2]>))| {
            let mut one = case("query", &format!("q{at}"), verdict);
            one.parameters.extend(is_excepted.then(|| ("advice".to_string(), json!("keep"))));
            if let Some([now, then]) = times {
                one.metrics.push(calibrate::TIME_NOW.single("t", *now));
                one.metrics.push(calibrate::TIME_THEN.single("t", *then));
                one.metrics.push(calibrate::RATIO.single("t", then / now));
            }
            one
        };
        let cases = [set].into_iter().chain(queries.iter().enumerate().map(query)).collect();
        Run { experiment: "calibrate".into(), cases, ..Run::default() }
    }

    /// The names of the queries that are drawn, and the remark under them.
    fn drawn(queries: &[(&str, bool, Option<[f64; 2]>)]) -> (Vec<String>, String) {
        let chart = plans(&run(queries)).unwrap();
        let Plot::Rows(rows) = &chart.plot else { panic!("{:?}", chart.plot) };
        let names = rows.iter().filter_map(|row| Some(row.label.split_once(':')?.0.to_string())).collect();
        (names, chart.note.unwrap_or_default())
    }

    #[test]
    fn the_query_that_loses_most_is_drawn_however_many_change_more() {
        let faster = ("faster", false, Some([100.0, 10.0]));
        let slower = ("slower", false, Some([100.0, 130.0]));
        let all = [vec![slower], vec![faster; 9]].concat();
        let (names, note) = drawn(&all);
        assert_eq!((names.len(), names.iter().filter(|name| *name == "q0").count()), (PLANS_MAX, 1), "{names:?}");
        assert!(note.contains("and the one with the largest ratio."), "{note}");
        let (few, note) = drawn(&all[..PLANS_MAX]);
        assert_eq!((few.len(), few.last().map(String::as_str)), (PLANS_MAX, Some("q0")), "in its place");
        assert!(!note.contains("largest ratio"), "{note}");
    }

    #[test]
    fn what_is_not_drawn_is_not_explained() {
        let faster = ("faster", false, Some([100.0, 10.0]));
        let note = |last: (&'static str, bool, Option<[f64; 2]>)| drawn(&[faster, faster, last]).1;
        let both = note(("undecided, both plans ended after 10.0 s", true, None));
        assert!(!both.contains("Excepted") && !both.contains("stands at its limit"), "{both}");
        assert!(both.contains("Advised:") && both.contains("1 more has no times."), "{both}");
        let slower = note(("slower, ended after 500 ms", true, Some([10.0, 500.0])));
        assert!(
            slower.contains("Excepted:") && slower.contains("A plan that was ended stands at its limit."),
            "{slower}"
        );
    }

    #[test]
    fn a_time_that_the_list_of_queries_gives_otherwise_is_said_to_be_another_one() {
        let mut run = run(&[("faster", false, Some([100.0, 10.0])), ("faster", false, Some([100.0, 20.0]))]);
        let note = |run: &Run| plans(run).unwrap().note.unwrap_or_default();
        assert!(!note(&run).contains(OTHER_TIME), "the page lists none of readpath's queries: {}", note(&run));
        run.cases.iter_mut().for_each(|case| case.parameters.extend([calibrate::parameters::SOURCE.of("own")]));
        assert!(note(&run).contains(OTHER_TIME), "{}", note(&run));
    }

    #[test]
    fn steps_on_one_table_name_it_once_and_what_differs_in_the_index_alone_keeps_it() {
        assert_eq!(steps("Seq Scan on a", "Index Scan on a by a_id"), "Seq Scan → Index Scan on a");
        assert_eq!(
            steps("Index Scan on a by x", "Index Scan on a by y"),
            "Index Scan on a by x → Index Scan on a by y"
        );
        assert_eq!(steps("Seq Scan on a", "Seq Scan on b"), "Seq Scan on a → Seq Scan on b");
        assert_eq!(steps("Hash Join", "Sort"), "Hash Join → Sort");
        let parallel = "Aggregate (Finalize)";
        assert_eq!(steps(parallel, "Aggregate"), format!("{parallel} → Aggregate, no longer in parallel"));
        assert_eq!(steps("Aggregate", parallel), format!("Aggregate → {parallel}, now in parallel"));
        let nested = ["Nested Loop [Seq Scan on a]", "Nested Loop [Index Scan on a by x]"];
        assert_eq!(steps(nested[0], nested[1]), "Seq Scan → Index Scan on a in Nested Loop");
        let both = ["Hash Join [Seq Scan on a; Hash [Sort; Seq Scan on b]]", "Hash Join [Seq Scan on c; Hash [Sort]]"];
        assert_eq!(steps(both[0], both[1]), both.join(" → "), "more than one differs");
        let deep = ["Hash Join [Seq Scan on a; Hash [Seq Scan on b]]", "Hash Join [Seq Scan on a; Hash [Result]]"];
        assert_eq!(steps(deep[0], deep[1]), "Seq Scan on b → Result in Hash in Hash Join");
        let hostile = |last: &str| format!("{}{last}{}", "A [".repeat(100_000), "]".repeat(100_000));
        assert!(steps(&hostile("x"), &hostile("y")).ends_with(" in A in A in A in A"));
    }
}
