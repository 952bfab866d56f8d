//! A contest: what each contender needed, and the bars with what was wanted and reached.

pub(super) mod chart;

use measure::schema::contest::parameters::{BAR, CONTENDER, QUESTION, WANTED};
use measure::{Case, Run};

use super::cases::{count, median, metrics, of_metrics, range};
use crate::page::{Align, Cell, Section, Table};

/// The contenders question by question, and the bars.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let (bars, contenders): (Vec<&Case>, Vec<&Case>) = run.cases.iter().partition(|case| BAR.in_case(case).is_some());
    let rows = metrics(&contenders);
    let needed =
        Table::over(&rows).column("contender", Align::Left, |(case, _)| CONTENDER.in_case(case).unwrap_or_default());
    let needed = of_metrics(needed)
        .optional("n", Align::Right, |(_, metric)| count(metric))
        .groups(|(case, _)| QUESTION.in_case(case).unwrap_or_default());
    let judged = Table::over(&bars)
        .column("bar", Align::Left, |case| BAR.in_case(case).unwrap_or_default())
        .column("reached", Align::Right, |case| Cell::or_absent(case.metrics.first().map(median)))
        .optional("range", Align::Left, |case| case.metrics.first().map_or(String::new(), range))
        .column("wanted", Align::Word, |case| WANTED.in_case(case).unwrap_or_default())
        .optional("how", Align::Left, |case| {
            case.metrics.first().map_or(String::new(), |metric| metric.source.clone())
        });
    [needed.unless_empty(), judged.unless_empty()].into_iter().flatten().map(Section::Table).collect()
}
