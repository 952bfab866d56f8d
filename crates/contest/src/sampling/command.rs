//! The contest from its arguments to its bars.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use measure::schema::contest::{
    BLOCKS_PER_SECOND, OWN_CPU, PEAK_MEMORY, SAMPLES, SERVER_CPU, THROUGHPUT_LEFT, TRANSACTIONS,
};

use super::bars::{self, ALONE, FROM_DEVICE, FULL_SPEED, READPATH, WITH_TIERS, own_cpu, with_sessions};
use super::cold::{self, ColdTable, Read};
use super::cost::{Cost, Meter};
use super::load::Load;
use super::peers;
use super::profiler::{Profiler, Seen};
use super::timer::{TIMER, Timer, timer_alone};
use super::watcher::{Readpath, Tiers};
use crate::conductor::Conductor;
use crate::installed;
use crate::ledger::Ledger;
use crate::options::{Options, ServerOptions};
use crate::private_postgres::PrivatePostgres;
use crate::progress::progress;

/// Shared buffers, which hold the tables.
const BUFFERS: u64 = 512 << 20;

/// Sessions of the server beyond those of the load.
const SESSIONS_LEFT: u64 = 20;

/// Transactions a second of the load beside which the profilers' own time is measured.
const RATE: u64 = 2000;

/// How long the sessions may take to be there.
const CONNECTED: Duration = Duration::from_secs(300);

/// Holds samples of a busy server against no profiler and against other profilers.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    server: ServerOptions,
    /// Rows of pgbench's table in 100,000s, each 15 MB, which shared buffers of 512 MB hold.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=30))]
    scale: u64,
    /// Clients of pgbench at full speed.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1000))]
    clients: u64,
    /// Clients that read from the device; the bar is of 20,000 blocks a second.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    readers: u64,
    /// MiB of the table that is read from the device.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    cold_mebibytes: u64,
    /// How long each turn lasts, in seconds.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Numbers of sessions with which the profilers' own time is measured; 5000 take 12 GB of memory.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "50,500",
        value_parser = clap::value_parser!(u64).range(1..=10_000)
    )]
    backends: Vec<u64>,
    /// Measure readpath alone with these numbers of sessions, most of which wait for their clients, such as
    /// 50,500,5000. Each number is measured --pairs times.
    #[arg(
        long,
        value_delimiter = ',',
        conflicts_with_all = ["clients", "backends", "peers"],
        value_parser = clap::value_parser!(u64).range(1..=10_000)
    )]
    growth: Vec<u64>,
    /// A folder with programs of other profilers (pg_wait_tracer, pg_activity, pgcenter): before those in PATH
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let Arguments { options, server, clients, seconds, backends, growth, .. } = arguments;
    let installation = server.installation(&AtomicBool::new(false))?;
    let name = installed::name(&installation);
    let what = match growth.as_slice() {
        [] => format!("pgbench with {clients} clients on {name}: without a profiler, and with each."),
        _ => format!("What readpath takes on {name} as the number of sessions grows."),
    };
    let mut conductor = Conductor::begin("sampling", options.pairs, what)?;
    conductor.describe("readpath", options.build_readpath()?);
    conductor.describe("postgres", name.as_str());
    conductor.describe("seconds", *seconds);
    let postgres = PrivatePostgres::start(&installation, &server.directory(), BUFFERS, &conductor.interruption)?;
    let load = Load::new(installation.programs(), &postgres)?;
    progress("pgbench's tables");
    load.make_tables(arguments.scale)?;
    let mut trial = Trial { postgres, load, seconds: *seconds };
    let [readpath, with_tiers] =
        [Tiers::LeftOut, Tiers::Traced].map(|tiers| Readpath { program: options.readpath(), tiers });
    if !growth.is_empty() {
        trial.grow(growth, &readpath, &mut conductor)?;
        return conductor.conclude(options, out);
    }
    conductor.describe("clients", *clients);
    let mut profilers: Vec<Box<dyn Profiler>> = vec![Box::new(readpath)];
    // Tracing may take rights that are not there, as a peer may take programs.
    let mut others: Vec<Box<dyn Profiler>> = vec![Box::new(with_tiers)];
    others.extend(peers::all(&installation, arguments.peers.as_deref()));
    profilers.extend(trial.present(others, &mut conductor)?);
    let contenders: Vec<Option<&dyn Profiler>> =
        [None, Some(&Timer as &dyn Profiler)].into_iter().chain(profilers.iter().map(|one| Some(&**one))).collect();
    in_turn(&contenders, &mut conductor, |profiler| trial.at_full_speed(*clients, profiler))?;
    trial.read_from_device(arguments, &profilers, &mut conductor)?;
    let names = contenders.iter().flatten().map(|one| one.name());
    for (question, name) in names.flat_map(|name| [(FULL_SPEED, name), (FROM_DEVICE, name)]) {
        for left in conductor.ledger.ratios(question, (name, &TRANSACTIONS), (ALONE, &TRANSACTIONS)) {
            conductor.ledger.add(question, name, &THROUGHPUT_LEFT, left);
        }
    }
    for sessions in backends {
        let taken =
            trial.beside_sessions(*sessions, &[], |trial| Ok(timer_alone(Duration::from_secs(trial.seconds))))?;
        conductor.ledger.add(&with_sessions(*sessions), TIMER, &OWN_CPU, taken);
        for profiler in &profilers {
            conductor.interruption.check()?;
            progress(&format!("{} with {sessions} sessions", profiler.name()));
            let measured = trial.with_backends(*sessions, profiler.as_ref());
            match measured {
                Err(reason) if is_peer(profiler.name()) => {
                    // That another one fails at them is a result.
                    let whose = format!("{}, with {},", profiler.name(), with_sessions(*sessions));
                    conductor.absent(&whose, &reason);
                }
                measured => {
                    let measured = measured?;
                    take_down(&mut conductor.ledger, *sessions, profiler.name(), &measured);
                    conductor.note("seen", shown(profiler.name(), *sessions, &measured.1));
                }
            }
        }
    }
    conductor.judge_by(bars::all);
    conductor.conclude(options, out)
}

/// Whether a contender of this name is neither readpath nor what it is held against besides.
fn is_peer(name: &str) -> bool {
    ![ALONE, TIMER, READPATH, WITH_TIERS].contains(&name)
}

/// What all contenders leave of the load's full speed, in turn. That a peer fails beside it is a result: the peer has
/// no further turn, and why is recorded.
fn in_turn(
    contenders: &[Option<&dyn Profiler>],
    conductor: &mut Conductor,
    mut measure: impl FnMut(Option<&dyn Profiler>) -> Result<f64, String>,
) -> Result<(), String> {
    let mut failed: BTreeMap<&str, String> = BTreeMap::new();
    conductor.pairs(FULL_SPEED, contenders.len(), |turn, ledger| {
        let profiler = contenders[turn.contender];
        let name = profiler.map_or(ALONE, Profiler::name);
        if failed.contains_key(name) {
            return Ok(());
        }
        match measure(profiler) {
            Err(reason) if is_peer(name) => drop(failed.insert(name, reason)),
            rate => ledger.add(FULL_SPEED, name, &TRANSACTIONS, rate?),
        }
        Ok(())
    })?;
    for (name, reason) in failed {
        conductor.absent(&format!("{name}, beside {FULL_SPEED},"), &reason);
    }
    Ok(())
}

/// Takes down what a profiler took with this many sessions.
fn take_down(ledger: &mut Ledger, sessions: u64, name: &str, (cost, seen): &(Cost, Seen)) {
    let question = with_sessions(sessions);
    ledger.add(&question, name, &OWN_CPU, cost.own);
    ledger.add(&question, name, &SERVER_CPU, cost.server);
    if let Some(rate) = seen.rate {
        ledger.add(&question, name, &SAMPLES, rate);
    }
    if let Some(bytes) = cost.peak_bytes {
        ledger.add(&question, name, &PEAK_MEMORY, bytes as f64);
    }
}

/// What a profiler showed, as a sentence.
pub(crate) fn shown(name: &str, sessions: u64, seen: &Seen) -> String {
    format!("{name}, showed with {}: {}.", with_sessions(sessions), seen.shown.trim_end_matches('.'))
}

/// The server and its load.
struct Trial {
    postgres: PrivatePostgres,
    load: Load,
    seconds: u64,
}

impl Trial {
    /// The profilers that can begin here; why the others cannot is recorded.
    fn present(
        &mut self,
        profilers: Vec<Box<dyn Profiler>>,
        conductor: &mut Conductor,
    ) -> Result<Vec<Box<dyn Profiler>>, String> {
        let mut present = Vec::new();
        for profiler in profilers {
            conductor.interruption.check()?;
            progress(&format!("whether there is {}", profiler.name()));
            match self.begins(profiler.as_ref()) {
                Err(reason) => conductor.absent(profiler.name(), &reason),
                Ok(version) => {
                    let version = version.unwrap_or_else(|| "a version that it does not say".into());
                    conductor.describe(profiler.name(), version);
                    present.push(profiler);
                }
            }
        }
        Ok(present)
    }

    /// Whether a profiler begins and ends on this server: its version.
    fn begins(&mut self, profiler: &dyn Profiler) -> Result<Option<String>, String> {
        profiler.is_there()?;
        self.postgres.restart(BUFFERS, profiler.settings())?;
        profiler.begin(&self.postgres, 1)?.end(&self.postgres)?;
        profiler.version(&self.postgres)
    }

    /// What readpath takes with each of these numbers of sessions, in turn.
    fn grow(&mut self, sizes: &[u64], readpath: &Readpath, conductor: &mut Conductor) -> Result<(), String> {
        conductor.pairs("numbers of sessions", sizes.len(), |turn, ledger| {
            let sessions = sizes[turn.contender];
            let measured = self.with_backends(sessions, readpath)?;
            take_down(ledger, sessions, readpath.name(), &measured);
            Ok(())
        })?;
        conductor.judge_by(|ledger| [own_cpu(ledger)]);
        Ok(())
    }

    /// Transactions a second of a turn.
    fn at_full_speed(&mut self, clients: u64, profiler: Option<&dyn Profiler>) -> Result<f64, String> {
        self.postgres.restart(BUFFERS, profiler.map_or(&[][..], Profiler::settings))?;
        // Shared buffers hold the tables from here on.
        self.load.select(clients, (self.seconds / 5).max(1))?;
        let under_way = profiler.map(|profiler| profiler.begin(&self.postgres, self.seconds)).transpose()?;
        let rate = self.load.select(clients, self.seconds)?;
        under_way.map(|under_way| under_way.end(&self.postgres)).transpose()?;
        Ok(rate)
    }

    /// Transactions and blocks a second of a load that reads from the device, without a profiler and beside readpath.
    fn read_from_device(
        &mut self,
        arguments: &Arguments,
        profilers: &[Box<dyn Profiler>],
        conductor: &mut Conductor,
    ) -> Result<(), String> {
        progress("a table that is read from the device");
        let table = ColdTable::make(&self.postgres, arguments.cold_mebibytes)?;
        conductor.describe("cold_blocks", table.blocks());
        let own = profilers.iter().filter(|profiler| [READPATH, WITH_TIERS].contains(&profiler.name()));
        let contenders: Vec<Option<&dyn Profiler>> = std::iter::once(None).chain(own.map(|one| Some(&**one))).collect();
        let (clients, seconds) = (arguments.readers, self.seconds);
        conductor.pairs(FROM_DEVICE, contenders.len(), |turn, ledger| {
            let profiler = contenders[turn.contender];
            self.postgres.restart(cold::BUFFERS, profiler.map_or(&[][..], Profiler::settings))?;
            // The index is in the buffers from here on.
            table.read(&self.postgres, &self.load, (clients, (seconds / 5).max(1)))?;
            let under_way = profiler.map(|profiler| profiler.begin(&self.postgres, seconds)).transpose()?;
            let Read { transactions, blocks } = table.read(&self.postgres, &self.load, (clients, seconds))?;
            under_way.map(|under_way| under_way.end(&self.postgres)).transpose()?;
            let name = profiler.map_or(ALONE, Profiler::name);
            ledger.add(FROM_DEVICE, name, &TRANSACTIONS, transactions);
            ledger.add(FROM_DEVICE, name, &BLOCKS_PER_SECOND, blocks);
            Ok(())
        })
    }

    /// What a profiler takes with this many sessions, and what it sees.
    fn with_backends(&mut self, sessions: u64, profiler: &dyn Profiler) -> Result<(Cost, Seen), String> {
        self.beside_sessions(sessions, profiler.settings(), |trial| {
            let under_way = profiler.begin(&trial.postgres, trial.seconds)?;
            let meter = Meter::begin(&trial.postgres, under_way.as_ref())?;
            thread::sleep(Duration::from_secs(trial.seconds));
            let cost = meter.end()?;
            Ok((cost, under_way.end(&trial.postgres)?))
        })
    }

    /// Measures something beside a load of this many sessions, on a server with these settings.
    fn beside_sessions<T>(
        &mut self,
        sessions: u64,
        settings: &[(&str, &str)],
        measure: impl FnOnce(&Trial) -> Result<T, String>,
    ) -> Result<T, String> {
        let most = (sessions + SESSIONS_LEFT).to_string();
        let settings = settings.iter().copied().chain([("max_connections", most.as_str())]);
        self.postgres.restart(BUFFERS, &settings.collect::<Vec<_>>())?;
        let _going_on = self.load.begin(sessions, RATE)?;
        self.wait_for(sessions)?;
        measure(self)
    }

    /// Waits until the load has opened its sessions.
    fn wait_for(&self, sessions: u64) -> Result<(), String> {
        let mut connection = self.postgres.connect()?;
        let begun = Instant::now();
        let there = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
        while connection.number(there)? <= sessions {
            if begun.elapsed() >= CONNECTED {
                return Err(format!("pgbench has not opened {sessions} sessions after {} s", CONNECTED.as_secs()));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::profiler::UnderWay;

    const PEER: &str = "a peer";

    /// A profiler that has a name alone.
    struct Named(&'static str);

    impl Profiler for Named {
        fn name(&self) -> &'static str {
            self.0
        }

        fn begin(&self, _: &PrivatePostgres, _: u64) -> Result<Box<dyn UnderWay>, String> {
            Err("there is none".into())
        }
    }

    #[test]
    fn a_peer_that_fails_beside_the_load_has_no_further_turn_and_the_others_go_on() {
        let (own, peer) = (Named(READPATH), Named(PEER));
        let contenders: [Option<&dyn Profiler>; 3] = [None, Some(&own), Some(&peer)];
        let mut conductor = Conductor::begin("sampling", 3, "a load".into()).unwrap();
        let mut turns = 0;
        let measured = in_turn(&contenders, &mut conductor, |profiler| {
            turns += 1;
            let fails = turns > 3 && profiler.is_some_and(|one| one.name() == PEER);
            if fails { Err("it ended too early".into()) } else { Ok(1000.0) }
        });
        assert_eq!((measured, turns), (Ok(()), 8));
        let samples = |name| conductor.ledger.samples(FULL_SPEED, name, &TRANSACTIONS).len();
        assert_eq!([ALONE, READPATH, PEER].map(samples), [3, 3, 1]);
        let findings = conductor.finish().findings;
        assert!(findings.iter().any(|finding| finding.message.contains("it ended too early")), "{findings:?}");
    }

    #[test]
    fn readpath_that_fails_beside_the_load_is_an_error() {
        let own = Named(READPATH);
        let mut conductor = Conductor::begin("sampling", 1, "a load".into()).unwrap();
        let contenders: [Option<&dyn Profiler>; 1] = [Some(&own)];
        let measured = in_turn(&contenders, &mut conductor, |_| Err("it ended too early".into()));
        assert_eq!(measured, Err("it ended too early".into()));
    }
}
