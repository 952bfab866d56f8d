//! `readpath counted-scan`: what `readpath scan` starts under valgrind to learn its instructions. It takes the
//! arguments of a scan, scans each path once, and prints what it scanned as JSON.

use clap::{ArgMatches, Args, Command};
use experiments::Stop;
use experiments::scan::scan_counted;

use super::scan::{Arguments, COUNTED};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: COUNTED, define, run };

fn define(command: Command) -> Command {
    let about = "Scans once by each path, to be counted by the valgrind that it runs under";
    Arguments::augment_args(command)
        .about(about)
        .after_help("Examples:\n  valgrind --tool=callgrind --instr-atstart=no readpath counted-scan")
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let environment = arguments.environment(context);
    let parameters = arguments.parameters()?;
    // A signal ends it at once: it keeps nothing.
    let passes = scan_counted(&parameters, &environment, &Stop::default()).map_err(Failure::failed)?;
    let text = serde_json::to_string(&passes).map_err(Failure::failed)?;
    output::print(&text)?;
    Ok(Exit::Done)
}
