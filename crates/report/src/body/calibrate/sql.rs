//! What all statements of a page are written with: values, quoted names and remarks; and what is known of the server.

use measure::{Metric, Run, Unit};
use serde_json::Value;

use super::part;
use crate::page::parameters::cell;

/// A setting with its value as SET takes it.
pub(super) type Setting = (String, String);

/// A number as SET takes it: six significant digits, no exponent.
pub(super) fn plain(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    let text = format!("{value:.*}", (5.0 - magnitude).clamp(0.0, 12.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Bytes as SET takes them: whole megabytes, of which there is one at least.
pub(super) fn memory(bytes: f64) -> String {
    format!("'{}MB'", ((bytes / f64::from(1 << 20)) as u64).max(1))
}

/// A name or a text in quotes.
pub(super) fn quoted(text: &str, quote: char) -> String {
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}

/// A remark under a comment. A name in it can hold an end of a line, behind which a statement would be run: each line
/// gets dashes of its own.
pub(super) fn remark(text: &str) -> String {
    text.split(['\n', '\r']).map(|line| format!("--   {line}\n")).collect()
}

/// The database of the run in quotes, or what stands for the user's where the server was a private one.
pub(super) fn database(run: &Run) -> String {
    quoted(run.subject.get("database").and_then(Value::as_str).unwrap_or("DATABASE"), '"')
}

/// Whether the server had the user's data: a private one has tables of the run alone.
pub(super) fn has_users_data(run: &Run) -> bool {
    run.subject.contains_key("database")
}

/// The value of a setting in the run's session, as SET takes it.
pub(super) fn now_written(run: &Run, name: &str) -> Option<String> {
    let cases = part(run, "constant");
    let metric = cases.iter().find(|case| cell(case, "constant") == name)?.metric("now")?;
    Some(if metric.unit == Unit::Bytes { memory(metric.median()) } else { plain(metric.median()) })
}

/// The value of a constant in the run's session.
pub(super) fn now(run: &Run, name: &str) -> Option<f64> {
    let cases = part(run, "constant");
    cases.iter().find(|case| cell(case, "constant") == name).and_then(|case| case.metric("now")).map(Metric::median)
}
