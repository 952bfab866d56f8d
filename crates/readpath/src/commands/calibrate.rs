//! `readpath calibrate`: a planner's cost constants, measured on the server that plans.

use ::measure::quantity::parse_size;
use clap::{ArgMatches, Args, Command};
use experiments::calibrate::{self, CalibrateParameters};
use server::Address;

use super::measure::measure;
use super::on_server::{ServerArguments, rehearse};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "calibrate", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath calibrate --on postgres:18                              cold and cached, on a private server
  readpath calibrate --on postgres:18 --sql                        and the constants to try in one session
  readpath calibrate --on postgres://me@db.example/shop --dry-run  every statement that would be sent
  readpath calibrate --on postgres://me@db.example/shop            a server as it is: nothing of it is made cold";

/// Bytes of the table where none are asked for. A given server is somebody's: its shared buffers are rarely larger than
/// 128 MiB where nobody cared, and a scan of more than a quarter of them leaves nothing there.
const PAYLOAD_PRIVATE: u64 = 32 << 20;
const PAYLOAD_GIVEN: u64 = 24 << 20;

/// Shared buffers of a private server: four times what a scan may take of them, and the indexes.
const PAYLOADS_IN_BUFFERS: u64 = 5;
const SPARE_BUFFERS: u64 = 128 << 20;

#[derive(Args)]
struct Arguments {
    /// Bytes of the table, which with its indexes takes twice as much [default: 32MiB on a private server, else 24MiB]
    #[arg(long, value_parser = parse_size)]
    payload: Option<u64>,
    /// Samples of what is cached
    #[arg(long, default_value_t = 9)]
    repeat: usize,
    /// Samples of what is not cached, each after a restart; on a private server
    #[arg(long, default_value_t = 3)]
    cold_samples: usize,
    /// How often each plan of each query is run cold; 0 leaves that out; on a private server
    #[arg(long, default_value_t = 1)]
    cold_rounds: usize,
    /// End with the constants as SET statements for one session, each set with what it was verified by
    #[arg(long)]
    sql: bool,
    /// Picks the order of the rows
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    server: ServerArguments,
}

fn define(command: Command) -> Command {
    let about = "Measures a planner's cost constants, and whether it chooses better by them";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let on_server = arguments.server.clone();
    let mut parameters = arguments.parameters(context)?;
    if on_server.dry_run() {
        return rehearse(|machine, statements| calibrate::rehearse(&parameters, machine, statements));
    }
    measure(context, COMMAND.name, |journal, machine| {
        let buffers = PAYLOADS_IN_BUFFERS * parameters.payload + SPARE_BUFFERS;
        let mut private = on_server.start(buffers, context, journal, machine)?;
        if let Some(private) = &private {
            parameters.address = Address::of(private.config());
        }
        calibrate::run(&parameters, private.as_mut(), machine, journal)
    })
}

impl Arguments {
    fn parameters(self, context: &Context) -> Result<CalibrateParameters, Failure> {
        let nobody = "a server's constants are measured: name it with --on postgres://USER@HOST:PORT/DATABASE, or \
                      --on postgres:18 for a private one.";
        let wrong = |sentence: &str| Failure::new(Exit::WrongCommandLine, sentence);
        let address = self.server.address(context)?.ok_or_else(|| wrong(nobody))?;
        let usual = if self.server.is_given() { PAYLOAD_GIVEN } else { PAYLOAD_PRIVATE };
        let parameters = CalibrateParameters {
            address,
            limits: self.server.limits(),
            payload: self.payload.unwrap_or(usual),
            repeat: self.repeat,
            cold_samples: self.cold_samples,
            cold_rounds: self.cold_rounds,
            seed: self.seed,
            sql: self.sql,
        };
        parameters.check().map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
        Ok(parameters)
    }
}
