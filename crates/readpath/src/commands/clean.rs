//! `readpath clean`: removes what a run that was killed left on a server.

use std::env;
use std::time::Duration;

use clap::{ArgMatches, Args, Command};
use server::private::sweep;
use server::{Limits, Place, ServerError, Session, Statements, schema};

use super::measure::{progress, signals};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "clean", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath clean --on postgres://me@db.example/shop
  readpath clean --on postgres://me@db.example/shop --dry-run";

#[derive(Args)]
struct Arguments {
    /// The PostgreSQL server: postgres://USER@HOST:PORT/DATABASE, or postgres:18 for private servers of any version
    #[arg(long, value_name = "URL")]
    on: Place,
    /// Print every statement that would be sent to the server, and send none
    #[arg(long)]
    dry_run: bool,
}

fn define(command: Command) -> Command {
    let about = "Removes the schema readpath that a killed run left on a server";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let Place::Given(address) = arguments.on else { return clean_private(arguments.dry_run) };
    let failed = |error: ServerError| Failure::new(Exit::Failed, error);
    let address = address.completed(&context.settings.servers).map_err(failed)?;
    if arguments.dry_run {
        let statements = Statements::default();
        schema::rehearse_clean(&address, Limits::default(), statements.clone()).map_err(failed)?;
        output::print(&statements.script())?;
        return Ok(Exit::Done);
    }
    let (signals, progress) = (signals()?, progress(context));
    let limit = address.connect_timeout().as_secs();
    progress.step(&format!("waiting for the server, at most {limit} s"), Duration::from_secs(1));
    let session = Session::open(&address, Limits::default(), signals.stop().share());
    let cleaned = session.and_then(schema::clean);
    progress.clear();
    let cleaned = cleaned.map_err(|error| match signals.received() {
        Some(signal) => {
            Failure::new(Exit::Interrupted { signal }, format!("the schema readpath was not removed: {error}."))
        }
        None => failed(error),
    })?;
    let sentence = match cleaned {
        None => "There was no schema readpath.".to_string(),
        Some(1) => "The schema readpath was removed with its one table.".into(),
        Some(tables) => format!("The schema readpath was removed with its {tables} tables."),
    };
    output::print(&format!("{sentence}\n"))?;
    Ok(Exit::Done)
}

/// Removes private servers that killed runs left in the folder for temporary files, with what they had.
fn clean_private(is_rehearsal: bool) -> Result<Exit, Failure> {
    let folder = env::temp_dir();
    if is_rehearsal {
        output::print("-- nothing is sent: directories that private servers left behind would be removed\n")?;
        return Ok(Exit::Done);
    }
    let removed = sweep(&folder);
    let sentence = match removed.len() {
        0 => format!("No private server has left anything in {}.", folder.display()),
        1 => format!("The private server {} was removed.", removed[0].display()),
        count => format!("{count} private servers in {} were removed.", folder.display()),
    };
    output::print(&format!("{sentence}\n"))?;
    Ok(Exit::Done)
}
