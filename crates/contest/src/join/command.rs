//! The benchmark from its arguments to its verdict.

use std::io::Write;
use std::path::Path;

use measure::quantity::grouped;
use sys::time::Clock;

use crate::bars::lines;
use crate::document::Document;
use crate::installed;
use crate::interruption::Interruption;
use crate::join::arguments::Arguments;
use crate::join::engine::{Engine, METHODS, Turn};
use crate::join::ledger::Ledger;
use crate::join::postgres::Postgres;
use crate::join::rows::Keys;
use crate::join::{device, judgement};
use crate::report::{Report, progress};
use crate::turn_order::order;

/// Look-ups with everything cached: their blocks take less than half of the large pools.
const CACHED_OUTER_ROWS: u64 = 50_000;

/// Runs everything that was asked for, writes the page to `out`, and gives the exit code: 1 when a bar was missed or
/// could not be judged and `--fail-on-miss` was given. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let interruption = Interruption::listen()?;
    let fio = device::version()?;
    let mut report = Report::new(out);
    let mut document = Document::begin("join");
    let (ledger, postgres) = compare(arguments, &fio, &interruption, &mut report)?;
    let bars = judgement::bars(&ledger);
    report.write(&format!("{}\n{}", ledger.table(), lines(&bars)))?;
    document.describe("rows", arguments.rows);
    document.describe("outer_rows", arguments.outer_rows);
    document.describe("rate_outer_rows", arguments.rate_outer_rows);
    document.describe("fio", fio);
    match postgres {
        Ok(version) => document.describe("postgres", version),
        Err(reason) => document.absent("PostgreSQL", &reason),
    }
    ledger.write_to(&mut document);
    arguments.options.conclude(&mut report, "join", &bars, document)
}

fn compare(
    arguments: &Arguments,
    fio: &str,
    interruption: &Interruption,
    report: &mut Report<'_>,
) -> Result<(Ledger, Result<String, String>), String> {
    let folder = tempfile::Builder::new().prefix("readpath-join-").tempdir_in(arguments.directory());
    let folder = folder.map_err(|error| format!("no folder for the tables: {error}"))?;
    progress("loading the engine's table");
    let engine = Engine::new(folder.path(), arguments.rows, Clock::calibrate())?;
    let file = engine.table_file()?;
    device::warm_up(&file)?;
    let postgres = start_postgres(arguments, interruption)?;
    let version = postgres.as_ref().map(|postgres| postgres.name().to_string()).map_err(Clone::clone);
    report.write(&heading(arguments, fio, &version))?;
    let mut contest = Contest { arguments, engine, postgres, file: &file, ledger: Ledger::default() };
    for pair in 0..arguments.options.pairs {
        progress(&format!("pair {} of {}", pair + 1, arguments.options.pairs));
        for contender in order(pair, 3) {
            interruption.check()?;
            contest.take_turn(contender, pair)?;
        }
    }
    Ok((contest.ledger, version))
}

/// Everybody who takes turns.
struct Contest<'a> {
    arguments: &'a Arguments,
    engine: Engine,
    postgres: Result<Postgres, String>,
    file: &'a Path,
    ledger: Ledger,
}

impl Contest<'_> {
    /// fio is contender 0, the engine is 1, PostgreSQL is 2.
    fn take_turn(&mut self, contender: usize, pair: u64) -> Result<(), String> {
        let Arguments { rows, outer_rows, rate_outer_rows, fio_milliseconds, .. } = *self.arguments;
        let cold = Keys::of_turn(pair, outer_rows, rows);
        let cached = Keys::of_turn(pair, CACHED_OUTER_ROWS, rows);
        match contender {
            0 => device::take_turn(self.file, fio_milliseconds, pair + 1, &mut self.ledger),
            1 => {
                let rate = |method| Keys::of_turn(pair * METHODS.len() as u64 + method, rate_outer_rows, rows);
                let turn = Turn { rate: [0, 1, 2, 3].map(rate), cold, cached };
                self.engine.take_turn(&turn, pair as usize, &mut self.ledger)
            }
            _ => match &mut self.postgres {
                Ok(postgres) => postgres.take_turn(cold, cached, &mut self.ledger),
                Err(_) => Ok(()),
            },
        }
    }
}

fn start_postgres(arguments: &Arguments, interruption: &Interruption) -> Result<Result<Postgres, String>, String> {
    let installation = match installed::find_unless(arguments.without_postgres, arguments.postgres.as_deref())? {
        Ok(installation) => installation,
        Err(reason) => return Ok(Err(reason)),
    };
    progress(&format!("loading {} rows into a private {}", arguments.rows, installed::name(&installation)));
    Postgres::start(&installation, &arguments.directory(), arguments.rows, interruption).map(Ok)
}

fn heading(arguments: &Arguments, fio: &str, postgres: &Result<String, String>) -> String {
    let others = match postgres {
        Ok(version) => format!("{fio} and {version}"),
        Err(_) => fio.into(),
    };
    let mut heading = format!(
        "readpath's nested loops beside {others}, in turn, {} rows in {} blocks\n",
        grouped(arguments.rows),
        grouped(arguments.rows.div_ceil(7))
    );
    if let Err(reason) = postgres {
        heading += &format!("absent: PostgreSQL: {reason}\n");
    }
    heading + &arguments.options.trial_notice() + "\n"
}
