//! The contest from its arguments to its bars.

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use measure::schema::contest::{OWN_CPU, SAMPLES, TRANSACTIONS};
use server::private::Installation;

use super::judgement::{ALONE, FULL_SPEED, READPATH, WAIT_SAMPLING, bars, with_sessions};
use super::load::{Load, Pace};
use super::watcher::{Cost, Watcher};
use crate::conductor::Conductor;
use crate::installed;
use crate::options::{Options, ServerOptions};
use crate::private_postgres::PrivatePostgres;
use crate::progress::progress;

/// Shared buffers, which hold the tables.
const BUFFERS: u64 = 512 << 20;

/// Sessions of the server beyond those of the load.
const SESSIONS_LEFT: u64 = 20;

/// Transactions a second of the load beside which readpath's own time is measured.
const RATE: u64 = 2000;

/// How long the sessions may take to be there.
const CONNECTED: Duration = Duration::from_secs(300);

/// The peer's library.
const LIBRARY: &str = "pg_wait_sampling";

/// Holds samples of a busy server against no profiler and against pg_wait_sampling.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    server: ServerOptions,
    /// Clients of pgbench at full speed.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1000))]
    clients: u64,
    /// How long each turn lasts, in seconds.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Numbers of sessions with which readpath's own time is measured; 5000 take 12 GB of memory.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "50,500",
        value_parser = clap::value_parser!(u64).range(1..=10_000)
    )]
    backends: Vec<u64>,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let Arguments { options, server, clients, seconds, .. } = arguments;
    options.build_readpath()?;
    let installation = server.installation(&AtomicBool::new(false))?;
    let name = installed::name(&installation);
    let what = format!("pgbench with {clients} clients on {name}: without a profiler, and with each.");
    let mut conductor = Conductor::begin("sampling", options.pairs, what)?;
    conductor.describe("postgres", name.as_str());
    conductor.describe("clients", *clients);
    conductor.describe("seconds", *seconds);
    let mut postgres = PrivatePostgres::start(&installation, &server.directory(), BUFFERS, &conductor.interruption)?;
    let load = Load::new(installation.programs().to_path_buf(), &postgres);
    progress("pgbench's tables");
    load.make_tables()?;
    let peer = library(&installation);
    let contenders: Vec<&str> =
        [Some(ALONE), Some(READPATH), conductor.present(WAIT_SAMPLING, &peer).map(|()| WAIT_SAMPLING)]
            .into_iter()
            .flatten()
            .collect();
    conductor.pairs(FULL_SPEED, contenders.len(), |turn, ledger| {
        let contender = contenders[turn.contender];
        let rate = at_full_speed(arguments, &mut postgres, &load, contender)?;
        ledger.add(FULL_SPEED, contender, &TRANSACTIONS, rate);
        Ok(())
    })?;
    for sessions in &arguments.backends {
        conductor.interruption.check()?;
        progress(&format!("readpath's own time with {sessions} sessions"));
        let cost = with_backends(arguments, &mut postgres, &load, *sessions)?;
        conductor.ledger.add(&with_sessions(*sessions), READPATH, &OWN_CPU, cost.cpu);
        conductor.ledger.add(&with_sessions(*sessions), READPATH, &SAMPLES, cost.rate);
    }
    let bars = bars(&conductor.ledger, &peer.err().unwrap_or_default());
    conductor.judge(bars);
    conductor.conclude(options, out)
}

/// Whether the peer's library is installed with the server.
fn library(installation: &Installation) -> Result<(), String> {
    let file = format!("../lib/{LIBRARY}.so");
    match installation.programs().join(file).is_file() {
        true => Ok(()),
        false => Err(format!("{} has no library {LIBRARY}", installed::name(installation))),
    }
}

/// Transactions a second of a turn.
fn at_full_speed(
    arguments: &Arguments,
    postgres: &mut PrivatePostgres,
    load: &Load,
    contender: &str,
) -> Result<f64, String> {
    let Arguments { options, clients, seconds, .. } = arguments;
    let settings = if contender == WAIT_SAMPLING { vec![("shared_preload_libraries", LIBRARY)] } else { Vec::new() };
    postgres.restart(BUFFERS, &settings)?;
    // Shared buffers hold the tables from here on.
    load.select(*clients, (*seconds / 5).max(1), Pace::Full)?;
    let watcher = match contender == READPATH {
        true => Some(Watcher::start(&options.readpath(), &postgres.url(), *seconds)?),
        false => None,
    };
    let rate = load.select(*clients, *seconds, Pace::Full)?;
    watcher.map(Watcher::finish).transpose()?;
    Ok(rate)
}

/// What readpath itself takes with this many sessions.
fn with_backends(
    arguments: &Arguments,
    postgres: &mut PrivatePostgres,
    load: &Load,
    sessions: u64,
) -> Result<Cost, String> {
    let most = (sessions + SESSIONS_LEFT).to_string();
    postgres.restart(BUFFERS, &[("max_connections", &most)])?;
    let _going_on = load.begin(sessions, Pace::Rate(RATE))?;
    let mut connection = postgres.connect()?;
    let begun = Instant::now();
    while connection.number("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")? <= sessions
    {
        if begun.elapsed() >= CONNECTED {
            return Err(format!("pgbench has not opened {sessions} sessions after {} s", CONNECTED.as_secs()));
        }
        thread::sleep(Duration::from_millis(100));
    }
    drop(connection);
    Watcher::start(&arguments.options.readpath(), &postgres.url(), arguments.seconds)?.finish()
}
