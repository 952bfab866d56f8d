//! `readpath runs`: the runs that are kept, and their removal.

use ::measure::store::Removed;
use clap::{ArgMatches, Args, Command};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use report::{Media, Shown};

use super::clean::size;
use super::named::say_passed;
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "runs", define, run };

/// The command below it that removes runs.
pub(super) const REMOVE: &str = "rm";

const EXAMPLES: &str = "\
Examples:
  readpath runs
  readpath runs --format csv > runs.csv
  readpath runs --store /srv/readpath
  readpath runs rm last
  readpath runs rm --older-than 30d";

const EXAMPLES_OF_REMOVAL: &str = "\
Examples:
  readpath runs rm last
  readpath runs rm 0197c0de 0197c0df
  readpath runs rm --older-than 30d
  readpath runs rm --all";

/// Removes kept runs without asking for confirmation, and prints how much they held
#[derive(Args)]
#[command(after_help = EXAMPLES_OF_REMOVAL)]
#[group(required = true, multiple = false)]
struct Removal {
    /// Identifiers or their beginnings, `last`, `last~1` for the one before
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Runs that began longer ago than this, such as 12h, 30d, 2w
    #[arg(long, value_name = "AGE", allow_hyphen_values = true, value_parser = began_before)]
    older_than: Option<Timestamp>,
    /// All runs of the store
    #[arg(long)]
    all: bool,
}

fn define(command: Command) -> Command {
    let about = "Lists the runs that are kept, newest first, or removes some";
    command.about(about).after_help(EXAMPLES).subcommand(Removal::augment_args(Command::new(REMOVE)))
}

/// The moment that lies a span of time before now.
fn began_before(age: &str) -> Result<Timestamp, String> {
    let before = |span: Span| Timestamp::now().to_zoned(TimeZone::UTC).checked_sub(span).ok();
    let moment = age.parse::<Span>().ok().filter(|span| !span.is_negative()).and_then(before);
    let moment = moment.map(|moment| moment.timestamp());
    moment.ok_or_else(|| format!("'{age}' is not a period of time: write 12h, 30d or 2w"))
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    if let Some((REMOVE, matches)) = matches.subcommand() {
        let reason = "removing runs prints one sentence, and there is no run to format";
        refuse_unused(matches, &[("format", false, reason)])?;
        return remove(&arguments(matches)?, context);
    }
    let listing = context.store_to_read()?.list()?;
    output::print_result(Shown::Runs(&listing), context)?;
    let failures: Vec<Failure> = listing.unreadable.iter().map(Failure::from).collect();
    // A page and a document name them; a row has no place for one.
    for failure in failures.iter().filter(|_| context.globals.format.media == Media::Rows) {
        output::complain(&failure.message);
    }
    Ok(Exit::of_rest(&failures))
}

fn remove(removal: &Removal, context: &Context) -> Result<Exit, Failure> {
    let store = context.store_to_read()?;
    let Removed { runs, bytes } = match (&removal.older_than, removal.all) {
        (Some(moment), _) => store.remove_before(Some(&moment.to_string()))?,
        (None, true) => store.remove_before(None)?,
        (None, false) => {
            let mut passed = Vec::new();
            let removed = store.remove(&removal.runs, &mut passed)?;
            say_passed(&passed);
            removed
        }
    };
    let dir = store.dir().display();
    output::print(&match runs {
        0 => format!("No run was removed from {dir}.\n"),
        1 => format!("1 run was removed from {dir}: {}.\n", size(bytes)),
        _ => format!("{runs} runs were removed from {dir}: {}.\n", size(bytes)),
    })?;
    Ok(Exit::Done)
}
