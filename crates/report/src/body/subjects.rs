//! Several subjects of one run side by side: a column for each, whatever they are.

use std::collections::HashMap;

use measure::Case;
use measure::schema::lio;
use measure::sorting;

use crate::page::parameters::cell;
use crate::page::{Align, Cell, Table};

/// The parameter that names the subject; a run of one subject omits it.
pub(super) const SUBJECT: &str = lio::parameters::SUBJECT.name;

/// The subject that stands first, and goes without a name where it is alone.
pub(super) const FIRST: &str = "engine";

/// On what a case was measured; empty where there is one subject only.
pub(super) fn subject(case: &Case) -> String {
    cell(case, SUBJECT)
}

/// The subjects in the order of their first case, the engine first.
pub(super) fn subjects(cases: &[&Case]) -> Vec<String> {
    let mut subjects = values(cases, subject);
    sorting::by_key(&mut subjects, |subject| subject != FIRST);
    subjects
}

/// Whether the cases name their subjects.
pub(super) fn are_named(cases: &[&Case]) -> bool {
    cases.iter().any(|case| case.parameters.contains_key(SUBJECT))
}

/// The subject as a heading has it.
pub(super) fn name(subject: &str) -> String {
    if subject.is_empty() { FIRST.into() } else { subject.into() }
}

/// The different texts of cases, in the order of their first appearance.
pub(super) fn values(cases: &[&Case], text: impl Fn(&Case) -> String) -> Vec<String> {
    sorting::each_once(cases.iter().map(|case| text(case)))
}

/// One metric of all subjects: a row for each `row` text, a column for each subject, and one for the published figures
/// where there are any. `None` where no case has the metric.
pub(super) fn comparison(
    cases: &[&Case],
    (heading, row): (&str, &dyn Fn(&Case) -> String),
    value: &dyn Fn(&Case) -> Option<Cell>,
    published: &dyn Fn(&Case) -> Option<Cell>,
) -> Option<Table> {
    let cases: Vec<&Case> = cases.iter().copied().filter(|case| value(case).is_some()).collect();
    let rows = values(&cases, row);
    let mut by_row: HashMap<String, Vec<&Case>> = HashMap::new();
    cases.iter().for_each(|case| by_row.entry(row(case)).or_default().push(case));
    let of_row = |text: &String| by_row.get(text).into_iter().flatten().copied();
    let cell_of = |text: &String, subject: &String| {
        Cell::or_absent(of_row(text).find(|case| self::subject(case) == *subject).and_then(value))
    };
    let has_published = cases.iter().any(|case| published(case).is_some());
    Table::over(&rows)
        .column(heading, Align::Left, |text| text.clone())
        .each(subjects(&cases), |table, subject| {
            table.column(name(&subject), Align::Decimal, |text| cell_of(text, &subject))
        })
        .column("published", Align::Right, |text| Cell::or_absent(of_row(text).find_map(published)))
        .only_where(has_published)
        .unless_empty()
}

#[cfg(test)]
mod tests {
    use measure::schema::scan::{self, parameters};
    use measure::{Parameters, Unit};

    use super::*;

    #[test]
    fn the_texts_of_many_cases_stand_once_each_in_their_order() {
        let case = |path: u32| Case::new(Parameters::from_iter([parameters::PATH.of(path.to_string())]));
        let cases: Vec<Case> = (0..20_000).chain(0..20_000).map(case).collect();
        let found = values(&cases.iter().collect::<Vec<_>>(), |case| cell(case, "path"));
        assert_eq!(found, (0..20_000).map(|path| path.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_subject_without_a_case_has_a_dash_and_not_the_number_of_another() {
        let case = |subject: &str, path: &str, row_time: f64| {
            let mut case =
                Case::new(Parameters::from_iter([parameters::SUBJECT.of(subject), parameters::PATH.of(path)]));
            case.metrics = vec![scan::ROW_TIME.single("clock", row_time)];
            case
        };
        let cases = [case("engine", "full-scan", 20.0), case("postgres 18.6", "full-scan", 90.0)];
        let sqlite = case("sqlite 3.50", "index-only-scan", 55.0);
        let cases: Vec<&Case> = cases.iter().chain([&sqlite]).collect();
        let value = |case: &Case| scan::ROW_TIME.in_case(case).map(Cell::median);
        let published = |case: &Case| scan::EXPERIMENT.published("row_time", case).next().map(Cell::published);
        let table = comparison(&cases, ("path", &|case| cell(case, "path")), &value, &published).unwrap();
        let headings: Vec<&str> = table.columns.iter().map(|column| column.heading.as_str()).collect();
        assert_eq!(headings, ["path", "engine", "postgres 18.6", "sqlite 3.50", "published"]);
        let texts: Vec<Vec<&str>> =
            table.columns.iter().map(|column| column.cells.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(texts[1..], [["20.0", "–"], ["90.0", "–"], ["–", "55.0"], ["393", "–"]]);
        assert_eq!(table.columns[1].cells[0].unit, Some(Unit::Nanoseconds));
    }
}
