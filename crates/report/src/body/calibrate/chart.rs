//! A planner's constants as charts: random_page_cost by what is cached, and what each set of constants does to queries.

use measure::schema::calibrate;
use measure::{Case, Run, Unit};

use super::part;
use crate::body::drawing::{Drawing, figure};
use crate::page::parameters::cell;
use crate::page::{Axis, Chart, Datum, Plot, Row};

/// The constant that is asked about most.
const ASKED: &str = "random_page_cost";

/// What is drawn of a calibration.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let constants = part(run, "constant");
    let axis = Axis::linear("random_page_cost, in the unit of cpu_tuple_cost", Unit::Ratio);
    let of: Vec<&Case> = constants.iter().copied().filter(|case| cell(case, "constant") == ASKED).collect();
    let now =
        of.iter().find_map(|case| Some(figure("random_page_cost now", &axis, &Datum::median(case.metric("now")?))));
    let shown = |what: &str, state: &str| {
        let case = of.iter().find(|case| cell(case, "state") == state)?;
        Some(figure(what, &axis, &value(case)?))
    };
    let figures = [
        now,
        shown("random_page_cost, nothing cached", "cold"),
        shown("random_page_cost, cached by the server", "cached"),
    ];
    Drawing::new(figures, by_state(&of, &axis).into_iter().chain(sets(run)).collect())
}

/// A constant with its interval.
fn value(case: &Case) -> Option<Datum> {
    let range = calibrate::VALUE_LOW.median(case).zip(calibrate::VALUE_HIGH.median(case));
    Some(Datum { range, ..Datum::median(case.metric("value")?) })
}

fn by_state(cases: &[&Case], axis: &Axis) -> Option<Chart> {
    let row = |case: &&Case| {
        let label = match cell(case, "state").as_str() {
            "cold" => "nothing cached",
            "system" => "cached by the operating system",
            _ => "cached by the server",
        };
        Some(Row::of(label, value(case)?))
    };
    let now = cases.iter().find_map(|case| Some(Row::of("the server's setting", Datum::median(case.metric("now")?))));
    let rows = now.into_iter().chain(cases.iter().filter_map(row)).collect();
    let title = "What a random page costs, by what is in the caches";
    let chart = Chart::new("random-page-cost", title, axis.clone(), Plot::Rows(rows));
    chart
        .noted("Thin line: 95 % interval of one pass.")
        .concerning(&["answer-random-page", "absent-constants", "withheld-constants"])
        .with_at_least(2)
}

/// How many times as long queries take by each set, of those whose plan it changes.
fn sets(run: &Run) -> Option<Chart> {
    let row = |case: &&Case| {
        let range = calibrate::RATIO_LOW.median(case).zip(calibrate::RATIO_HIGH.median(case));
        let datum = Datum { range, ..Datum::median(calibrate::RATIO.in_case(case)?) };
        let group = match cell(case, "state").as_str() {
            "as-found" => "your queries".into(),
            "system" => "cached by the operating system".into(),
            "cached" => "cached by the server".into(),
            "cold" => "nothing cached".into(),
            state => state.into(),
        };
        Some(Row { group, ..Row::of(cell(case, "constants"), datum) })
    };
    let rows = part(run, "set").iter().filter_map(row).collect();
    let axis = Axis::linear("time by the set over time by the server's own constants", Unit::Ratio);
    let title = "What each set of cost constants does to the queries whose plan it changes";
    let chart = Chart::new("sets", title, axis, Plot::Rows(rows));
    let note = "Below 1 the set is faster. Sets have the constants that were measured cold, cached by the operating \
                system (system) or by the server (cached); safe lies between them, and random-1.1 has \
                random_page_cost 1.1. Geometric means; thin line: 95 % interval over queries and runs.";
    chart.noted(note).concerning(&["answer-advice-*"]).with_at_least(2)
}
