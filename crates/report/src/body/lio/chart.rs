//! Logical reads as charts: the matrix of row lengths and columns beside the published one, and other axes.

use measure::schema::lio::{self, parameters};
use measure::{Case, Run, Unit};

use super::{CHECK, access, accesses, phrase};
use crate::body::drawing::{Beside, Drawing, RANGE, extremes, figure, found, median, published};
use crate::body::subjects::{FIRST, are_named, name, subject};
use crate::page::parameters::cell;
use crate::page::wording::joined;
use crate::page::{Axis, Chart, Datum, Figure};

/// What the published figures are of, by the words of their source.
const PUBLISHED: [(&str, &str); 2] = [("on a PC", "published, PC"), ("M-8000", "published, M-8000")];

/// What is drawn of logical reads.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let cases: Vec<&Case> = run.cases.iter().filter(|case| !case.parameters.contains_key(CHECK)).collect();
    let value = Axis::linear("CPU time of a logical read", Unit::Nanoseconds);
    let mut charts: Vec<Chart> = Vec::new();
    for (index, access) in accesses(&cases).iter().enumerate().take(4) {
        let here: Vec<&Case> = cases.iter().copied().filter(|case| self::access(case) == *access).collect();
        let names = ["lio", "lio-second", "lio-third", "lio-fourth"];
        let title = format!("What a logical read costs: {}", phrase(access));
        charts.extend(matrix(&here, names[index], &title, &value, access[4].is_empty()));
    }
    Drawing::new(figures(run, &cases), charts)
}

fn matrix(cases: &[&Case], file: &'static str, title: &str, value: &Axis, is_published: bool) -> Option<Chart> {
    let beside = |case: &Case| -> Vec<(&'static str, Datum)> {
        let metric = lio::LIO;
        let figures = lio::EXPERIMENT.published(&metric.name, case).filter(|_| is_published);
        let named = |figure: &measure::schema::Published| {
            let (_, name) = PUBLISHED.iter().find(|(word, _)| figure.source.contains(word))?;
            Some((*name, published(figure)))
        };
        figures.filter_map(named).collect()
    };
    let beside = Beside {
        cases,
        group: &rows,
        label: &columns,
        subject: &|case| name(&subject(case)),
        value: &|case| median(case, &lio::LIO),
        published: &beside,
    };
    let chart = beside.chart(file, title, value.clone())?;
    let concerns: &[&str] = if file == "lio" {
        &[
            "answer-*",
            "core-*",
            "stolen-*",
            "cpu-*",
            "tables-fit-cache",
            "machine-busy",
            "samples-apart",
            "sources-differ-*",
        ]
    } else {
        &[]
    };
    let remark = "Outlined bars are published figures of Oracle, on a PC and on an M-8000 server.";
    chart.of_medians().about_published(remark).thin_line(RANGE).concerning(concerns).with_at_least(2)
}

/// What the rows of a case are like: of a table that was found, its name.
fn rows(case: &Case) -> String {
    match cell(case, parameters::ROW_LENGTH.name) {
        length if length.is_empty() => cell(case, parameters::TABLE.name),
        length if length == "1" => "rows of 1 byte".into(),
        length => format!("rows of {length} bytes"),
    }
}

fn columns(case: &Case) -> String {
    match cell(case, parameters::COLUMNS.name).as_str() {
        "" => String::new(),
        "1" => "1 column".into(),
        count => format!("{count} columns"),
    }
}

fn figures(run: &Run, cases: &[&Case]) -> Vec<Option<Figure>> {
    let Some([cheapest, dearest]) = extremes(cases, |case| lio::LIO.in_case(case)) else { return Vec::new() };
    // Where a run has several kinds of reads or several subjects, the figure names its own: it would otherwise pass for
    // another's.
    let (has_kinds, has_subjects) = (accesses(cases).len() > 1, are_named(cases));
    let on = |case: &Case| match name(&subject(case)) {
        engine if engine == FIRST => format!("on the {engine}"),
        other => format!("on {other}"),
    };
    let shape = |case: &Case| {
        let kind = if has_kinds { phrase(&access(case)) } else { String::new() };
        let on = if has_subjects { on(case) } else { String::new() };
        joined([rows(case), columns(case), kind, on], ", ")
    };
    let shown = |what: &str, case: &Case| {
        let what = format!("the {what} logical read: {}", shape(case));
        median(case, &lio::LIO).map(|datum| figure(what, Unit::Nanoseconds, &datum))
    };
    let times = found(run, lio::findings::ANSWER_RATIO.id, "ratio", "a physical read over a logical one");
    vec![shown("cheapest", cheapest), shown("dearest", dearest), times]
}
