//! The rows of a profile's tables, found among the cases of its run document.

use measure::schema::profile::parameters;
use measure::{Case, Metric, Run};
use serde_json::Value;

use crate::page::wording::one_line;

/// A case seen as a row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a>(&'a Case);

impl<'a> Row<'a> {
    /// A parameter as text; empty where it is not there.
    pub(super) fn text(&self, name: &str) -> &'a str {
        self.0.value(name).and_then(Value::as_str).unwrap_or("")
    }

    /// A parameter that is true or false.
    pub(super) fn truth(&self, name: &str) -> Option<bool> {
        self.0.value(name).and_then(Value::as_bool)
    }

    /// A parameter that is a number.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.0.value(name).and_then(Value::as_f64)
    }

    /// A parameter that is a whole number, to its last digit.
    pub(super) fn integer(&self, name: &str) -> Option<u64> {
        self.0.value(name).and_then(Value::as_u64)
    }

    /// A metric with all its statistics.
    pub(super) fn metric(&self, name: &str) -> Option<&'a Metric> {
        self.0.metric(name)
    }

    /// A metric's value, in the metric's own unit; times are microseconds throughout.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.0.metric(name).map(Metric::median)
    }

    /// Its time in all; zero where it has none.
    pub(super) fn total(&self) -> f64 {
        self.value("total").unwrap_or(0.0)
    }
}

/// Whether a case is a row of `table`.
pub(super) fn is_of(case: &Case, table: &str) -> bool {
    case.is(parameters::TABLE.name, table)
}

/// Whether a case belongs to one session.
pub(super) fn has_session(case: &Case) -> bool {
    case.value(parameters::SESSION.name).is_some()
}

/// The rows of a table for the whole.
pub(super) fn rows<'a>(run: &'a Run, table: &'a str) -> impl Iterator<Item = Row<'a>> {
    run.cases.iter().filter(move |case| is_of(case, table) && !has_session(case)).map(Row)
}

/// The rows of a table for all sessions, one after the other.
pub(super) fn session_rows<'a>(run: &'a Run, table: &'a str) -> impl Iterator<Item = Row<'a>> {
    run.cases.iter().filter(move |case| is_of(case, table) && has_session(case)).map(Row)
}

/// The text of a statement in one line; empty where the run does not have it.
pub(super) fn text_of(run: &Run, id: &str) -> String {
    let its = rows(run, "statement_text").filter(|row| row.text("id") == id);
    its.map(|row| one_line(row.text("text"))).find(|text| !text.is_empty()).unwrap_or_default()
}

/// The sums of the whole.
pub(super) fn summary(run: &Run) -> Option<Row<'_>> {
    rows(run, "summary").next()
}
