//! `readpath init`: a job file to begin with, with every parameter of an experiment.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args};

use super::report::{refuse_to_replace, write};
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::job::blank::blank;
use crate::job::experiment::{LISTED, experiments};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "init", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath init disk                    every parameter, with its default and what it means
  readpath init join -o join.toml       as a file, for readpath run join.toml";

/// Writes a job file to start from: every parameter of an experiment
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The experiment
    #[arg(value_name = "EXPERIMENT", value_parser = PossibleValuesParser::new(LISTED))]
    experiment: String,
    /// File to write, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { experiment, output, force } = arguments(matches)?;
    let known = experiments(&(context.definition)());
    let text = known.iter().find(|known| known.name == experiment).map(blank).unwrap_or_default();
    let Some(path) = output.filter(|path| path != Path::new("-")) else {
        refuse_unused(matches, &[("force", false, "standard output replaces no file")])?;
        output::print(&text)?;
        return Ok(Exit::Done);
    };
    refuse_to_replace(&path, force)?;
    write(&path, &text, force)?;
    output::print(&format!("{}\n", path.display()))?;
    Ok(Exit::Done)
}
