//! Statements and times as sentences name them.

use crate::event::{StatementKind, Ticks};
use crate::tables::{Profile, StatementProfile};

/// A statement as a sentence names it: identifier and the beginning of its text.
pub(super) fn name(profile: &Profile, statement: &StatementProfile) -> String {
    let Some(known) = profile.context.statement(statement.statement) else { return String::new() };
    let words: Vec<&str> = known.text.split_whitespace().take(8).collect();
    let text: String = words.join(" ").chars().take(48).collect::<String>().trim_end().into();
    let is_whole = text.len() == known.text.split_whitespace().collect::<Vec<_>>().join(" ").len();
    let rest = if is_whole { "" } else { " …" };
    match known.kind {
        StatementKind::Declared | StatementKind::ParseError => format!("{} {text}{rest}", known.id).trim().to_string(),
        _ => known.id.clone(),
    }
}

/// In nanoseconds.
pub(super) fn nanos(ticks: Ticks) -> f64 {
    ticks.micros() * 1e3
}
