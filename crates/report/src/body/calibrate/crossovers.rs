//! Paths to rows by their number: what each takes, which one the planner takes, and where it changes to another.

use measure::quantity::three_digits;
use measure::schema::calibrate;
use measure::schema::calibrate::findings as row;
use measure::{Case, Run, Unit, sorting};

use super::part;
use crate::body::drawing::RANGE;
use crate::page::parameters::cell;
use crate::page::wording::joined;
use crate::page::{Align, Axis, Cell, Chart, Datum, Key, Line, Place, Plot, Shape, Table};

/// How rows lie to the index: the word of the document, the chart's name and its title, and the finding beside it.
const ORDERS: [(&str, &str, &str, &[&str]); 2] = [
    (
        "scattered",
        "crossover-scattered",
        "Which path to scattered rows is the fastest, and where the planner changes",
        &["answer-crossover-scattered"],
    ),
    (
        "clustered",
        "crossover-clustered",
        "Which path to rows in the order of the index is the fastest, and where the planner changes",
        &["answer-crossover-clustered"],
    ),
];

/// The paths: the word of the document, and what stands in a table; a chart adds a word.
const PATHS: [(&str, &str); 3] = [("full-scan", "full"), ("index", "index"), ("bitmap", "bitmap")];

/// Least distance of two upright lines, as the logarithm of their ratio.
const PLACES_APART: f64 = 0.02;

/// The server's own constants.
const OWN: &str = "now";

/// Why a run has no chart of them, with the title of one.
pub(super) fn undrawn(run: &Run) -> Option<(&'static str, String)> {
    let finding = run.findings.iter().find(|finding| row::ABSENT_CROSSOVER.made(finding))?;
    Some((ORDERS[0].2, finding.message.clone()))
}

/// A chart for each order.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let [points, switches] = ["crossover", "switch"].map(|name| part(run, name));
    let of = |(order, name, title, concerns): (&str, &'static str, &str, &'static [&'static str])| {
        let lines = PATHS.iter().enumerate().filter_map(|(key, (path, _))| line(&points, order, (key, path)));
        let places = switches.iter().filter(|case| is_of(case, order)).filter_map(|case| place(case));
        let places = merged(places.collect());
        let across = Axis::logarithmic("rows that are asked for", Unit::Count);
        let value = Axis::logarithmic("time of the statement", Unit::Nanoseconds);
        let note = about_places(&places, &points, order);
        Chart::new(name, title, value, Plot::Lines(across, lines.collect(), places))
            .keyed(PATHS.iter().map(|(_, path)| Key::measured(format!("{path} scan"))).collect())
            .about_places(note)
            .noted(ABOUT_LINES)
            .thin_line(RANGE)
            .concerning(concerns)
            .with_at_least(4)
    };
    ORDERS.into_iter().filter_map(of).collect()
}

const ABOUT_PLACES: &str = "Dashed upright lines: up to how many rows the planner takes the index scan, and from how \
                            many on the full scan, with the server's own constants and with those measured in this \
                            state.";
const ABOUT_BETWEEN: &str = "Between the two it takes the bitmap scan.";
const ABOUT_VERDICTS: &str = "Too early or too late: judged by where the times cross.";
const ABOUT_LINES: &str = "All blocks are in the server's buffers; one process, and no other path allowed. Medians.";

/// How to read the upright lines.
fn about_places(places: &[Place], points: &[&Case], order: &str) -> String {
    let bitmap = PATHS[2].0;
    let is_taken =
        |case: &&Case| is_of(case, order) && cell(case, "path") == bitmap && !cell(case, "chosen_by").is_empty();
    let between = if points.iter().any(is_taken) { ABOUT_BETWEEN } else { "" };
    let verdicts = if places.iter().any(|place| place.text.contains("(too ")) { ABOUT_VERDICTS } else { "" };
    joined([ABOUT_PLACES, between, verdicts], " ")
}

fn is_of(case: &Case, order: &str) -> bool {
    cell(case, "order") == order
}

fn line(points: &[&Case], order: &str, (key, path): (usize, &str)) -> Option<Line> {
    let of = points.iter().filter(|case| is_of(case, order) && cell(case, "path") == path);
    let point = |case: &&Case| Some((asked(case)?, Datum::median(calibrate::PATH_TIME.in_case(case)?)));
    let mut points: Vec<(f64, Datum)> = of.filter_map(point).collect();
    sorting::by(&mut points, |one, other| one.0.total_cmp(&other.0));
    (!points.is_empty()).then_some(Line { key, shape: Shape::Marked, points })
}

fn asked(case: &Case) -> Option<f64> {
    case.parameters.get("asked_rows")?.as_f64()
}

/// Where a set of constants has the planner change, in as few words as a phone has room for.
fn place(case: &Case) -> Option<Place> {
    let rows = calibrate::FROM_ROWS.median(case)?;
    let whose = match cell(case, "constants").as_str() {
        "" => return None,
        OWN => "own",
        _ => "measured",
    };
    let what = if cell(case, "switch") == "from-index" { "index up to" } else { "full scan from" };
    let verdict = Some(cell(case, "verdict")).filter(|verdict| verdict.starts_with("too"));
    let verdict = verdict.map_or(String::new(), |verdict| format!(" ({verdict})"));
    Some(Place { at: rows, text: format!("{whose}: {what} {}{verdict}", about(rows)) })
}

/// Places that lie on each other as one: what differs by less than this is one line in a picture.
fn merged(places: Vec<Place>) -> Vec<Place> {
    let mut kept: Vec<Place> = Vec::new();
    for place in places {
        match kept.iter_mut().find(|known| (known.at / place.at).ln().abs() < PLACES_APART) {
            Some(known) => known.text = both(&known.text, &place.text),
            None => kept.push(place),
        }
    }
    kept
}

/// What two places say, whose constants they are once where these are the same.
fn both(one: &str, other: &str) -> String {
    match (one.rsplit_once("; ").map_or(one, |(_, last)| last).split_once(": "), other.split_once(": ")) {
        (Some((whose, _)), Some((others, what))) if whose == others => format!("{one}, {what}"),
        _ => format!("{one}; {other}"),
    }
}

/// A number of rows: three digits, where it has more.
fn about(rows: f64) -> String {
    if rows < 1e3 { Cell::count(rows).text } else { three_digits(rows) }
}

/// A number of rows in an order, with a case for each path.
struct Asked<'a> {
    order: String,
    rows: f64,
    cases: Vec<&'a Case>,
}

impl Asked<'_> {
    fn of(&self, path: &str) -> Option<&Case> {
        self.cases.iter().find(|case| cell(case, "path") == path).copied()
    }

    fn millis(&self, path: &str) -> Option<f64> {
        calibrate::PATH_TIME.median(self.of(path)?)
    }

    /// The path with the least time.
    fn fastest(&self) -> &'static str {
        let timed = PATHS.iter().filter_map(|(path, word)| Some((self.millis(path)?, *word)));
        timed.min_by(|one, other| one.0.total_cmp(&other.0)).map_or("", |(_, word)| word)
    }

    /// The path that the planner takes by the server's own constants, or by others.
    fn chosen(&self, is_own: bool) -> &'static str {
        let is_chosen = |path: &str| {
            let by = self.of(path).map_or(String::new(), |case| cell(case, "chosen_by"));
            by.split(", ").any(|set| !set.is_empty() && (set == OWN) == is_own)
        };
        PATHS.iter().find(|(path, _)| is_chosen(path)).map_or("", |(_, word)| word)
    }
}

/// What each path takes, and where the planner changes.
pub(super) fn tables(run: &Run) -> [Option<Table>; 2] {
    [times(&part(run, "crossover")), switches(&part(run, "switch"))]
}

fn times(cases: &[&Case]) -> Option<Table> {
    let mut all: Vec<Asked<'_>> = Vec::new();
    for (order, ..) in ORDERS {
        for case in cases.iter().filter(|case| is_of(case, order)) {
            let Some(rows) = asked(case) else { continue };
            match all.iter_mut().find(|one| one.order == order && one.rows == rows) {
                Some(one) => one.cases.push(case),
                None => all.push(Asked { order: order.into(), rows, cases: vec![case] }),
            }
        }
    }
    let share = |one: &Asked<'_>| Cell::of(one.cases.first()?, &calibrate::SHARE);
    let table = Table::over(&all)
        .column("rows", Align::Right, |one| Cell::count(one.rows))
        .column("% of all", Align::Right, |one| Cell::or_absent(share(one)))
        .each(PATHS, |table, (path, word)| {
            table.column(word, Align::Decimal, move |one| {
                Cell::or_absent(one.of(path).and_then(|case| Cell::of(case, &calibrate::PATH_TIME)))
            })
        })
        .column("fastest", Align::Word, |one| one.fastest())
        .column("own", Align::Word, |one| one.chosen(true))
        .optional("measured", Align::Word, |one| one.chosen(false))
        .groups(|one| if one.order == "clustered" { "in the order of the index" } else { "scattered" }.into());
    let title = "Rows by each path in milliseconds, cached by the server; which path is the fastest, and which the \
                 planner chooses with its own constants and with the measured ones:";
    table.noted(left_out(cases)).titled(title).unless_empty()
}

/// Why paths were not timed, each reason once.
fn left_out(cases: &[&Case]) -> String {
    let reasons = joined(sorting::set(cases.iter().map(|case| cell(case, "verdict"))), "; ");
    if reasons.is_empty() { reasons } else { format!("Not timed: {reasons}") }
}

fn switches(cases: &[&Case]) -> Option<Table> {
    let timed: Vec<&Case> = cases.iter().copied().filter(|case| cell(case, "constants").is_empty()).collect();
    let rows = |case: Option<&Case>| {
        let rows = case.and_then(|case| calibrate::FROM_ROWS.median(case));
        Cell::or_absent(rows.map(Cell::count))
    };
    let by = |one: &Case, is_own: bool| {
        let is_it = |case: &&Case| {
            let set = cell(case, "constants");
            !set.is_empty()
                && (set == OWN) == is_own
                && ["order", "switch"].iter().all(|name| cell(case, name) == cell(one, name))
        };
        cases.iter().copied().find(is_it)
    };
    let with_verdict = |one: &Case, is_own: bool| {
        let case = by(one, is_own);
        let verdict = case.map_or(String::new(), |case| cell(case, "verdict"));
        let rows = rows(case);
        Cell { text: joined([rows.text, verdict], ", "), ..rows }
    };
    let what = |case: &Case| if cell(case, "switch") == "from-index" { "index scan below" } else { "full scan from" };
    let has_measured = timed.iter().any(|case| by(case, false).is_some());
    Table::over(&timed)
        .column("rows", Align::Left, |case| what(case))
        .column("fastest", Align::Right, |case| rows(Some(case)))
        .column("own", Align::Word, |case| with_verdict(case, true))
        .column("measured", Align::Word, |case| with_verdict(case, false))
        .only_where(has_measured)
        .groups(|case| if is_of(case, "clustered") { "in the order of the index" } else { "scattered" }.into())
        .titled("Where the fastest path changes, and where the planner does (–: nowhere within what was tried):")
        .unless_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_without_a_measured_set_has_no_empty_column_for_it() {
        let case = |constants: &str| {
            let mut parameters = json!({"part": "switch", "order": "scattered", "switch": "from-index"});
            if !constants.is_empty() {
                parameters["constants"] = json!(constants);
            }
            Case::new(parameters.as_object().unwrap().clone())
        };
        let shown = |constants: &[&str]| {
            let cases: Vec<Case> = constants.iter().map(|name| case(name)).collect();
            format!("{:?}", switches(&cases.iter().collect::<Vec<_>>()))
        };
        assert!(shown(&["", OWN, "cached"]).contains("measured"));
        let own = shown(&["", OWN]);
        assert!(own.contains("own") && !own.contains("measured"), "{own}");
    }
}
