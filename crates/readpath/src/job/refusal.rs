//! What the command line's parser refuses, as one sentence in the words of a job file.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::plan::PlannedRun;
use super::problem::Problem;
use super::spelling::shortened;
use crate::cli::{is_list, reason};

/// The sentence of a refused command line, at the parameter that it is about.
pub(crate) fn refusal(run: &PlannedRun, error: &Error) -> Problem {
    let about = texts(error, ContextKind::InvalidArg).concat();
    let sentence = run.without_passwords(&sentence(run, error));
    Problem::new(run.place_of(&format!("{about} {sentence}")), sentence)
}

/// Whether a command line is refused for what it lacks, and not for a value or for two options that exclude each other.
pub(crate) fn is_of_the_whole(error: &Error) -> bool {
    error.kind() == ErrorKind::MissingRequiredArgument
}

fn sentence(run: &PlannedRun, error: &Error) -> String {
    let [value, known] = [ContextKind::InvalidValue, ContextKind::ValidValue].map(|kind| texts(error, kind).join(", "));
    let names = |kind| -> Vec<String> {
        texts(error, kind).iter().map(|argument| format!("'{}'", name(run, argument))).collect()
    };
    let about = names(ContextKind::InvalidArg).join(" and ");
    let value = shortened(&run.without_passwords(&value));
    match (error.kind(), reason(error)) {
        (ErrorKind::ValueValidation, Some(reason)) if is_list(error) => {
            format!("{about} cannot be '{value}': {reason}; [NAME.matrix] makes one run for each value of a list")
        }
        (ErrorKind::ValueValidation, Some(reason)) => format!("{about} cannot be '{value}': {reason}"),
        (ErrorKind::InvalidValue, _) if !known.is_empty() => format!("{about} cannot be '{value}': write {known}"),
        (ErrorKind::MissingRequiredArgument, _) if !about.is_empty() => format!("this job also needs {about}"),
        (ErrorKind::ArgumentConflict, _) if !about.is_empty() => {
            format!("{about} conflicts with {}", names(ContextKind::PriorArg).join(" and "))
        }
        _ => first_line(error),
    }
}

/// The name of a parameter that the parser shows as `--depth <DEPTH>` or as `<PATH>...`.
fn name(run: &PlannedRun, argument: &str) -> String {
    match argument.strip_prefix("--") {
        Some(option) => option.split([' ', '=', '[']).next().unwrap_or_default().into(),
        None => run.positional.join(" or "),
    }
}

/// The first sentence of what the parser prints.
fn first_line(error: &Error) -> String {
    let text = error.render().to_string();
    let first = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}
