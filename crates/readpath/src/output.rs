//! Standard output for results, standard error for complaints. A reader that went away is no failure.

use std::io::{self, BufWriter, Write};

use measure::Run;
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::options::{Context, Format};

/// Prints a run in the format that was asked for.
pub(crate) fn print_run(run: &Run, context: &Context) -> Result<(), Failure> {
    match context.globals.format {
        Format::Table => print(&report::render(run, &context.settings.style)),
        Format::Json => print_json(run),
        Format::Csv => print_csv(report::csv::run(run)),
    }
}

/// Prints a document as JSON.
pub(crate) fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let mut stdout = BufWriter::new(io::stdout().lock());
    let written = report::json::write(document, &mut stdout).map_err(io::Error::from);
    reached(written.and_then(|()| stdout.flush()))
}

/// Prints what one of the CSV renderings gave.
pub(crate) fn print_csv<E: std::fmt::Display>(text: Result<String, E>) -> Result<(), Failure> {
    print(&text.map_err(not_printed)?)
}

/// Prints text as it is. `| head -1` closes the pipe early and has what it wanted.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    reached(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

fn reached(outcome: io::Result<()>) -> Result<(), Failure> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(not_printed),
    }
}

/// Says on standard error what went wrong. A server, a file name or a document may have had a part in the words: no
/// control character of theirs reaches the terminal.
pub(crate) fn complain(message: &str) {
    // There is nowhere to report that this could not be printed.
    let _ = writeln!(io::stderr(), "readpath: {}", printable(message));
}

/// Says which servers have something of ours left.
pub(crate) fn complain_of_leftovers() {
    for server in server::schema::standing() {
        complain(&format!("the schema readpath may still be on the server; remove it: readpath clean --on {server}"));
    }
}

/// A text without control characters, but for the ends of its lines.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() && letter != '\n' { '?' } else { letter }).collect()
}

/// Says on standard error what a run is about to do.
pub(crate) fn announce(text: &str) {
    // There is nowhere else to say it.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A result that did not reach its reader.
pub(crate) fn not_printed(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failed, format!("the result could not be written to standard output: {error}"))
}
