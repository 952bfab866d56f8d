//! The same through SQL, as the published script does it: a small table, three reads, the buffers emptied, and single
//! blocks read once more, with the mean of the waits as the server times them.

use std::time::Duration;

use measure::quantity::{format_nanos, three_digits};
use measure::random::{Permutation, SplitMix64};
use measure::{Case, Finding, Metric, Unit};
use serde_json::json;
use server::private::PrivateServer;
use server::{Address, Limits, Session, Statements};
use subjects::logical_reads::SubjectError;
use subjects::nested_loops::InnerTable;
use subjects::postgres::cold::{Cold, Emptying, Startup};
use subjects::postgres::inner_rows::InnerRows;
use subjects::postgres::nested_loops::ServerLoops;
use subjects::postgres::single_blocks::{Emptied, SingleReads};

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::on_server;

/// How often the table is read first, as published.
const READS_BEFORE: usize = 3;

/// Statements of a pass.
const REPEAT: usize = 5;

/// The table has so many times the blocks that are read, so that those are no neighbours that the system reads ahead.
const TABLE_BLOCKS: u64 = 16;

/// Rows of a block, each with so many bytes of filler.
const ROWS_A_BLOCK: u64 = 7;
const PAD: u32 = 1000;

/// Waits below this many microseconds are a copy from memory: a device takes longer.
const PAGE_CACHE_MICROS: f64 = 20.0;

/// What the page cache may hold or lack of a table that is as good as out of it, or in it.
const KEPT_MAX: f64 = 0.01;

/// Published: a SAN with direct I/O, and a troubled NFS, in microseconds.
const PUBLISHED_SAN_US: f64 = 478.0;
const PUBLISHED_NFS_US: f64 = 1410.0;

/// The server that the experiment is run on.
#[derive(Clone, Debug)]
pub struct OnServer {
    /// How to reach it.
    pub address: Address,
    /// How long things may take there.
    pub limits: Limits,
    /// Blocks read by a statement.
    pub blocks: u64,
    /// Picks the blocks.
    pub seed: u64,
}

impl OnServer {
    fn table(&self) -> InnerRows {
        let rows = self.blocks.saturating_mul(TABLE_BLOCKS).saturating_mul(ROWS_A_BLOCK);
        InnerRows::new(InnerTable { rows, pad: PAD, rand: 0 })
    }

    /// Blocks of statement `number`, each statement's others.
    fn blocks_of(&self, number: usize) -> Vec<u64> {
        let all = self.blocks * TABLE_BLOCKS;
        let order = Permutation::new(all, &mut SplitMix64::new(self.seed));
        let first = number as u64 * self.blocks;
        (first..first + self.blocks).map(|at| order.at(at % all)).collect()
    }
}

/// Runs the experiment on a server, and leaves nothing there.
pub fn run_on(
    on: &OnServer,
    private: Option<&mut PrivateServer>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    journal.step("connecting to the server", Duration::from_secs(1));
    let mut session = Session::open(&on.address, on.limits, machine.stop.share()).map_err(SubjectError::from)?;
    let _facts = session.facts().clone();
    on_server::describe(&session, journal);
    let cold = Cold::of(&mut session, private, machine.stop.share())?;
    let mut loops = ServerLoops::open(session, cold, &on.table())?;
    let outcome = measure_all(on, &mut loops, journal);
    let removed = loops.finish();
    if let Err(error) = &removed {
        journal.find(on_server::schema_left(error, &on.address));
    }
    match outcome {
        Err(ExperimentError::Stopped) => Ok(()),
        outcome => outcome.and(Ok(removed?)),
    }
}

/// Notes every statement that [`run_on`] would send to a given server.
pub fn rehearse(on: &OnServer, machine: &Machine, statements: &Statements) -> Result<(), ExperimentError> {
    let stop = machine.stop.share();
    let mut session =
        Session::rehearsal(&on.address, on.limits, stop, statements.clone()).map_err(SubjectError::from)?;
    let cold = Cold::of(&mut session, None, machine.stop.share())?;
    let mut loops = ServerLoops::open(session, cold, &on.table())?;
    measure_all(on, &mut loops, &mut on_server::Nobody)?;
    Ok(loops.finish()?)
}

fn measure_all(on: &OnServer, loops: &mut ServerLoops<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    journal.step("loading the table", Duration::from_secs(2));
    loops.load(on.table(), &mut |_, _| {})?;
    let emptying = loops.cold().emptying().clone();
    let user = loops.user();
    if let Some(reason) = loops.untimed() {
        journal.find(Finding::warning(
            "absent-io-time",
            format!(
                "The server did not time its reads, because track_io_timing is off and may not be set ({reason}): how \
                 long they took is not known. A superuser may allow it with GRANT SET ON PARAMETER track_io_timing TO \
                 {user}."
            ),
        ));
    }
    if let Emptying::Never(reason) = &emptying {
        journal.find(Finding::warning(
            "buffers-not-emptied",
            format!(
                "Shared buffers could not be emptied, because {reason}, and no statement of a session does that: each \
                 statement read blocks that nobody had read before, and the three reads before were left out."
            ),
        ));
        return pass(on, loops, ("first-touch", Emptied::Buffers), journal);
    }
    journal.step("reading the table three times", Duration::from_secs(1));
    loops.read_whole(READS_BEFORE)?;
    pass(on, loops, ("page-cached", Emptied::Buffers), journal)?;
    if emptying != Emptying::Private {
        return Ok(());
    }
    pass(on, loops, ("storage-cached", Emptied::PageCacheToo), journal)?;
    let usual = loops.cold().running().clone();
    let direct = Startup { direct: true, ..usual };
    if !loops.startups()?.contains(&direct) {
        return Ok(());
    }
    match loops.start(&direct)? {
        Ok(()) => pass(on, loops, ("storage-cached", Emptied::PageCacheToo), journal),
        Err(reason) => {
            let message = format!("The server does not start with debug_io_direct: {reason}. Its case is absent.");
            journal.find(Finding::info("absent-direct", message));
            Ok(())
        }
    }
}

/// Statements over single blocks, and what they say.
fn pass(
    on: &OnServer,
    loops: &mut ServerLoops<'_>,
    (name, emptied): (&str, Emptied),
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let direct = loops.cold().running().direct;
    journal.step(&format!("reading single blocks, {name}"), Duration::from_secs(2));
    let mut reads: Vec<SingleReads> = Vec::new();
    for number in 0..REPEAT {
        reads.push(loops.read_blocks(&on.blocks_of(number), emptied)?);
    }
    let waits: Vec<f64> = reads.iter().filter_map(|read| read.wait).collect();
    let of_all: Vec<f64> = reads.iter().filter_map(|read| read.wait_of_all).collect();
    let counts: Vec<f64> = reads.iter().map(|read| read.buffers.reads as f64).collect();
    if counts.iter().all(|count| *count == 0.0) && !is_rehearsed(&reads) {
        journal.find(Finding::warning(
            &format!("nothing-read-{name}"),
            format!(
                "All blocks were found in shared buffers ({name}): nothing was read, and what a read takes is not \
                 known. Ask for more with --blocks, so that the table of {TABLE_BLOCKS} times as many does not stay \
                 there."
            ),
        ));
    }
    let hits: Vec<f64> = reads.iter().map(|read| read.buffers.hits as f64).collect();
    let mut case = Case::new(measure::Parameters::new());
    case.parameters.insert("pass".into(), json!(name));
    case.parameters.insert("blocks_per_read".into(), json!(1));
    case.parameters.insert("direct".into(), json!(direct));
    let waiting = "EXPLAIN's I/O Read Time (track_io_timing) over the blocks read, the mean of a statement";
    let of_server = "pg_stat_io, client backends of the whole server, read_time over reads";
    let counted = "EXPLAIN (ANALYZE, BUFFERS)";
    let (us, count) = (Unit::Microseconds, Unit::Count);
    case.metrics.extend(Metric::of_samples("read_latency", us, waiting, &waits));
    case.metrics.extend(Metric::of_samples("read_latency_of_server", us, of_server, &of_all));
    case.metrics.extend(Metric::of_samples("blocks_read", count, counted, &counts));
    case.metrics.extend(Metric::of_samples("blocks_hit", count, counted, &hits));
    if let Some(wait) = case.metric("read_latency").map(Metric::median) {
        let tier = tier(&reads, direct, wait);
        case.parameters.insert("tier".into(), json!(tier));
        journal.find(answer(name, direct, wait, tier));
    }
    Ok(journal.keep(case)?)
}

/// Whether nothing was sent: blocks are neither read nor found then.
fn is_rehearsed(reads: &[SingleReads]) -> bool {
    reads.iter().all(|read| read.buffers.gets() == 0)
}

/// Who answered: by what the kernel says of a private server's files, and by the time alone on a given one.
fn tier(reads: &[SingleReads], direct: bool, wait: f64) -> &'static str {
    let held: Option<Vec<f64>> = reads.iter().map(|read| read.cached).collect();
    match held {
        _ if direct => "storage",
        Some(held) if held.iter().all(|share| *share > 1.0 - KEPT_MAX) => "page-cache",
        Some(held) if held.iter().all(|share| *share < KEPT_MAX) => "storage",
        Some(_) => "mixed",
        None if wait < PAGE_CACHE_MICROS => "page-cache",
        None => "unknown",
    }
}

fn answer(name: &str, direct: bool, wait: f64, tier: &str) -> Finding {
    let way = if direct { ", past the page cache" } else { "" };
    let takes = format!("{} ({name}{way})", format_nanos(wait * 1e3));
    let message = match tier {
        "page-cache" => format!(
            "A block takes {takes}: the operating system's page cache answered and not the storage, as in the \
             document's first run, where it took 40 µs."
        ),
        "mixed" | "unknown" => format!(
            "A block takes {takes}; who answered is not clear: the page cache of a busy machine, or the storage."
        ),
        _ => format!(
            "A block takes {takes}: the storage answered. The document's SAN took {} times that, its NFS {} times.",
            three_digits(PUBLISHED_SAN_US / wait),
            three_digits(PUBLISHED_NFS_US / wait)
        ),
    };
    Finding::info(&format!("answer-roundtrip-{name}{}", if direct { "-direct" } else { "" }), message)
}
