//! Sessions side by side, and modules, actions and services.

use measure::Run;
use measure::quantity::counted;
use measure::schema::profile::{self, OTHER_SESSIONS, parameters};
use measure::schema::{Parameter, Spec};
use measure::sorting;

use super::amount::{count, scale, share, with_left_out};
use super::row::{Row, rows, session_rows};
use super::statements::response_time;
use crate::page::{Align, Table};

/// Most lines of either table. Further sessions are added up in the last line, and further scopes are counted under it.
const LINES_MAX: usize = 10;

/// The columns of sessions: metric and heading. Calls and waits between them are all that was traced.
static COLUMNS: [(Spec, &str); 6] = [
    (profile::INTERVAL, "interval"),
    (profile::IN_CALLS, "in calls"),
    (profile::CPU, "CPU"),
    (profile::WAITS, "waits"),
    (profile::UNACCOUNTED_WITHIN, "within"),
    (profile::UNACCOUNTED_BETWEEN, "between"),
];

/// What divides the work of sessions into scopes.
const SCOPES: [Parameter; 5] =
    [parameters::MODULE, parameters::ACTION, parameters::CLIENT, parameters::CONTAINER, parameters::SERVICE];

/// Sessions by interval, of `count` in all; none where there is one only. Those that share a row of the run document
/// and those for which the table has no line are one line: each is the rest of the sessions.
pub(super) fn table(run: &Run, count: f64) -> Option<Table> {
    let is_shared = |row: &Row| row.text("session").strip_prefix(OTHER_SESSIONS).is_some_and(is_number_or_nothing);
    let (shared, mut sessions): (Vec<Row>, Vec<Row>) = session_rows(run, "summary").partition(is_shared);
    let interval = |row: &Row| row.value("interval").unwrap_or(0.0);
    sorting::by(&mut sessions, |a, b| interval(b).total_cmp(&interval(a)));
    let own = sessions.len().min(LINES_MAX);
    sessions.extend(shared);
    let scale = scale(sessions.iter().filter_map(|row| row.value("interval")).sum());
    let (shown, others) = sessions.split_at(own);
    let mut lines: Vec<(String, &[Row])> =
        shown.iter().map(|row| (row.text("session").to_string(), std::slice::from_ref(row))).collect();
    let name = || {
        let rest = (count as u64).saturating_sub(own as u64).max(others.len() as u64);
        counted(rest, "other session", "other sessions")
    };
    lines.extend((!others.is_empty()).then(|| (name(), others)));
    let sum = |rows: &[Row], metric: &Spec| {
        let values: Vec<f64> = rows.iter().filter_map(|row| row.value(&metric.name)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>())
    };
    let table = Table::over(&lines)
        .column(format!("sessions, {}", scale.heading), Align::Left, |(name, _)| name.clone())
        .each(COLUMNS.iter().enumerate(), |table, (index, (metric, heading))| {
            let table = table.column(*heading, Align::Right, |(_, rows)| sum(rows, metric).map(|us| scale.cell(us)));
            if index == 0 { table } else { table.with_last_optional() }
        });
    (sessions.len() > 1).then(|| table.done())
}

/// Whether this may stand behind a name that several sessions have: ` (2)`.
fn is_number_or_nothing(text: &str) -> bool {
    let number = text.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    text.is_empty() || number.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Modules, actions and services by response time; none where all calls share one. Shares are those of the response
/// time, as everywhere on the page.
pub(super) fn scopes(run: &Run, summary: &Row) -> Option<Table> {
    let mut scopes: Vec<Row> = rows(run, "scope").collect();
    let time = response_time;
    sorting::by(&mut scopes, |a, b| time(b).total_cmp(&time(a)));
    let total = super::time::served(run, summary);
    let scale = scale(scopes.iter().map(time).fold(0.0, f64::max));
    // What all have in common distinguishes none of them.
    let varies = |name: &&str| scopes.iter().any(|row| row.text(name) != scopes[0].text(name));
    let names: Vec<&str> = SCOPES.iter().map(|parameter| parameter.name).filter(varies).collect();
    let remark = "Without think time and idle waits; % is of the response time.";
    let table = Table::over(&scopes[..scopes.len().min(LINES_MAX)])
        .each(names.iter().enumerate(), |table, (index, name)| {
            let table = table.column(*name, Align::Left, |scope| scope.text(name));
            if index < 2 { table } else { table.with_last_optional() }
        })
        .column(scale.heading, Align::Right, |scope| scale.cell(time(scope)))
        .column("%", Align::Right, |scope| share(time(scope), total))
        .optional("CPU", Align::Right, |scope| scope.value("cpu").map(|us| scale.cell(us)))
        .optional("reads", Align::Right, |scope| scope.value("physical_reads").map(count))
        .noted(with_left_out(remark, scopes.len().saturating_sub(LINES_MAX)));
    (scopes.len() > 1).then(|| table.done())
}

#[cfg(test)]
mod tests {
    use measure::{Case, Parameters};

    use super::*;

    #[test]
    fn all_sessions_without_a_line_of_their_own_are_in_the_last_line() {
        let case = |session: &str, micros: f64| {
            let parameters = [parameters::TABLE.of("summary"), parameters::SESSION.of(session)];
            let mut case = Case::new(Parameters::from_iter(parameters));
            case.metrics = vec![profile::INTERVAL.single("clock", micros)];
            case
        };
        let named = (1..=12).map(|number| case(&format!("{number}.1"), 1e6 * f64::from(number)));
        // Together they took more time than any session of its own.
        let run = Run { cases: named.chain([case(OTHER_SESSIONS, 500e6)]).collect(), ..Run::default() };
        let table = table(&run, 112.0).unwrap();
        let texts = |column: usize| table.columns[column].cells.iter().map(|cell| cell.text.as_str());
        let (names, intervals): (Vec<&str>, Vec<&str>) = (texts(0).collect(), texts(1).collect());
        assert_eq!((names.len(), names[0], names[10]), (11, "12.1", "102 other sessions"), "{names:?}");
        assert_eq!((intervals[0], intervals[10]), ("12.00", "503.00"), "{intervals:?}");
    }

    #[test]
    fn a_session_whose_name_only_begins_as_that_of_the_others_keeps_its_line() {
        let is_rest = |name: &str| name.strip_prefix(OTHER_SESSIONS).is_some_and(is_number_or_nothing);
        assert!(is_rest("other sessions") && is_rest("other sessions (2)"));
        for name in ["other sessions (batch)", "other sessions ()", "other sessions (2", "other sessions of mine"] {
            assert!(!is_rest(name), "{name}");
        }
    }
}
