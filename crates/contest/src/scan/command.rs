//! The benchmark from its arguments to its verdict.

use std::io::Write;
use std::sync::Arc;

use measure::Unit;
use measure::quantity::grouped;
use storage::column::Budget;
use subjects::access_paths::Asked;
use sys::time::Clock;
use tempfile::TempDir;

use crate::bars::{Bar, lines};
use crate::document::{Document, samples};
use crate::installed;
use crate::interruption::Interruption;
use crate::report::{Report, progress};
use crate::scan::arguments::Arguments;
use crate::scan::engine::Engine;
use crate::scan::ledger::{Ledger, Reading, question_of_name};
use crate::scan::peers::{Absent, Peers};
use crate::scan::postgres::Postgres;
use crate::scan::rows::Blocks;
use crate::scan::rows_to_columns::build;
use crate::scan::{bandwidth, instructions, judgement};
use crate::turn_order::order;

/// Rows that become columns in each pair.
const BUILT_ROWS: u64 = 1_000_000;

/// Bytes of a MiB.
const MEBIBYTE: f64 = 1_048_576.0;

/// More than they take.
const BUILT_BYTES_MAX: u64 = 2 << 30;

/// Runs everything that was asked for, writes the page to `out`, and gives the exit code: 1 when a bar was missed or
/// could not be judged and `--fail-on-miss` was given. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    if let Some(question) = &arguments.counted_under_valgrind {
        let asked = question_of_name(question).ok_or_else(|| format!("there is no question {question}"))?;
        return instructions::scan_counted(asked).map(|()| 0);
    }
    let interruption = Interruption::listen()?;
    let mut report = Report::new(out);
    let mut document = Document::begin("scan");
    document.describe("rows", arguments.rows);
    let Compared { ledger, built, contenders } = compare(arguments, &interruption, &mut report)?;
    let mut bars = judgement::of_ledger(&ledger);
    bars.push(judgement::of_building(&built));
    bars.extend(of_instructions(arguments, &interruption)?);
    report.write(&format!("{}\n{}", ledger.table(), lines(&bars)))?;
    let large = match arguments.large {
        Some(rows) => {
            let found = bandwidth::compare(rows, arguments.options.pairs, &interruption)?;
            let judged = judgement::of_bandwidth(&found, rows);
            report.write(&lines(&judged))?;
            bars.extend(judged);
            found
        }
        None => Vec::new(),
    };
    contenders.describe(&mut document);
    ledger.write_to(&mut document);
    let built = built.iter().map(|rate| rate * 1e6 / MEBIBYTE);
    document.case([("contender", "columns from rows".into())], vec![samples("built", Unit::MebibytesPerSecond, built)]);
    large.iter().for_each(|case| case.write_to(&mut document));
    arguments.options.conclude(&mut report, "scan", &bars, document)
}

/// What the pairs gave, when everybody but the engine is gone.
struct Compared {
    ledger: Ledger,
    /// MB/s of rows that became columns.
    built: Vec<f64>,
    /// Who took part, and who did not and why.
    contenders: Contenders,
}

/// Names and versions of those who took turns, and why others did not.
struct Contenders {
    present: Vec<String>,
    absent: Vec<Absent>,
}

impl Contenders {
    fn describe(&self, document: &mut Document) {
        document.describe("contenders", self.present.as_slice());
        self.absent.iter().for_each(|Absent { name, reason }| document.absent(name, reason));
    }
}

fn compare(arguments: &Arguments, interruption: &Interruption, report: &mut Report<'_>) -> Result<Compared, String> {
    let rows = arguments.rows;
    let folder = tempfile::Builder::new().prefix("readpath-scan-").tempdir_in(arguments.directory());
    let folder = folder.map_err(|error| format!("no folder for the columns: {error}"))?;
    let mut contest = Contest {
        postgres: start_postgres(arguments, interruption)?,
        peers: start_peers(arguments, &folder)?,
        engine: {
            progress("making the engine's table");
            Engine::new(rows, Clock::calibrate())?
        },
        interruption,
    };
    report.write(&heading(arguments, &contest))?;
    let (mut ledger, mut built) = (Ledger::default(), Vec::new());
    for index in 0..arguments.options.pairs {
        progress(&format!("pair {} of {}", index + 1, arguments.options.pairs));
        for contender in order(index, 3) {
            interruption.check()?;
            contest.take_turn(contender)?.into_iter().try_for_each(|reading| ledger.add(reading))?;
        }
        built.push(built_mb_per_second(rows)?);
    }
    Ok(Compared { ledger, built, contenders: Contenders { present: contest.present(), absent: contest.absent() } })
}

/// Everybody who takes turns; who is absent is so with a reason.
struct Contest<'a> {
    engine: Engine,
    postgres: Result<Postgres, String>,
    peers: Result<Peers, String>,
    interruption: &'a Interruption,
}

impl Contest<'_> {
    /// PostgreSQL is contender 0, the libraries are 1, the engine is 2.
    fn take_turn(&mut self, contender: usize) -> Result<Vec<Reading>, String> {
        match contender {
            0 => self.postgres.as_mut().map_or(Ok(Vec::new()), |postgres| postgres.take_turn(self.interruption)),
            1 => self.peers.as_mut().map_or(Ok(Vec::new()), Peers::take_turn),
            _ => self.engine.take_turn(),
        }
    }

    /// Those who are there, with their versions.
    fn present(&self) -> Vec<String> {
        let postgres = self.postgres.as_ref().ok().map(|postgres| postgres.name().to_string());
        let libraries = self.peers.as_ref().ok().into_iter().flat_map(|peers| &peers.versions);
        postgres.into_iter().chain(libraries.map(|(name, version)| format!("{name} {version}"))).collect()
    }

    /// Those who are not, and why.
    fn absent(&self) -> Vec<Absent> {
        let postgres = self.postgres.as_ref().err().map(|reason| ("PostgreSQL", reason.clone()));
        let python = self.peers.as_ref().err().map(|reason| ("Python and its libraries", reason.clone()));
        let whole = postgres.into_iter().chain(python).map(|(name, reason)| Absent { name: name.into(), reason });
        whole.chain(self.peers.as_ref().ok().into_iter().flat_map(|peers| peers.absent.clone())).collect()
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

fn start_peers(arguments: &Arguments, folder: &TempDir) -> Result<Result<Peers, String>, String> {
    progress("making the columns of the libraries");
    Blocks::of(arguments.rows)?.write_columns(folder.path())?;
    Ok(Peers::start(&arguments.python, folder.path(), arguments.rows))
}

fn built_mb_per_second(rows: u64) -> Result<f64, String> {
    let built = build(rows.min(BUILT_ROWS), &Arc::new(Budget::new(BUILT_BYTES_MAX)));
    let (_, row_bytes, time) = built.map_err(|error| error.to_string())?;
    Ok(row_bytes as f64 / time.as_seconds() / 1e6)
}

fn of_instructions(arguments: &Arguments, interruption: &Interruption) -> Result<Vec<Bar>, String> {
    if arguments.without_valgrind {
        return Ok(Vec::new());
    }
    let program = std::env::current_exe().map_err(|error| format!("this program is not to be found: {error}"))?;
    let mut bars = Vec::new();
    for asked in [Asked::AllPass, Asked::HalfPass, Asked::NoPredicate] {
        interruption.check()?;
        progress(&format!("instructions of {}", asked.name()));
        let per_row = instructions::per_row(&program, asked, &arguments.directory());
        bars.push(judgement::of_instructions(asked, per_row));
    }
    Ok(bars)
}

fn heading(arguments: &Arguments, contest: &Contest<'_>) -> String {
    let others = contest.present();
    let others = if others.is_empty() { "nobody".into() } else { others.join(", ") };
    let mut heading = format!(
        "readpath's scans beside {others}, in turn, {} rows of 23 columns\nprocessor time of one thread on all sides, \
         everything in memory\n",
        grouped(arguments.rows)
    );
    for Absent { name, reason } in contest.absent() {
        heading += &format!("absent: {name}: {reason}\n");
    }
    heading + &arguments.options.trial_notice() + "\n"
}
