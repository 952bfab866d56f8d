//! The contest from its arguments to its bars: readpath's reader and fio's engines on one file.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use measure::Unit;
use measure::quantity::{format_size, parse_size};
use measure::schema::contest::{CPU_PER_READ, IOPS, READ_LATENCY};

use crate::bars::{Bar, Judged, Wanted};
use crate::conductor::{Conductor, Turn};
use crate::fio::test_file::TestFile;
use crate::fio::workload::{Pattern, Reading, WORKLOADS, Workload};
use crate::fio::{dram, peer, reader, resident};
use crate::ledger::{Best, Ledger};
use crate::options::Options;
use crate::progress::progress;

/// How long fio's null engine runs.
const NULL_ENGINE_MILLISECONDS: u64 = 2000;

/// Reads per second, in fio's: a run-to-run spread of 3 % is allowed for, no more.
const IOPS_BAR: Judged = Judged::ratio(Wanted::AtLeast(0.97), "slower");
/// CPU time of a random read, in fio's, and of one in sequence.
const CPU_BAR: Judged = Judged::ratio(Wanted::AtMost(0.8), "dearer");
const SEQUENTIAL_CPU_BAR: Judged = Judged::ratio(Wanted::AtMost(1.0), "dearer");
/// Latency of one read at a time, in fio's.
const LATENCY_BAR: Judged = Judged::ratio(Wanted::Between(0.85, 1.15), "off");
/// A read of the null device, in ns.
const NULL_READ_BAR: Judged = Judged { wanted: Wanted::AtMost(120.0), word: "dearer", unit: Unit::Nanoseconds };

/// The reader's name among the contenders, and how the names of fio's engines begin.
const READPATH: &str = "readpath";
const FIO: &str = "fio ";

/// Compares readpath's reader with fio, in turn, on the same file.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// The file to read; without it, one of random data is made and removed.
    #[arg(long)]
    file: Option<PathBuf>,
    /// Size of the file that is made.
    #[arg(long, default_value = "4GiB", value_parser = parse_size)]
    file_size: u64,
    /// How long each contender reads.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// More arguments for the reader, separated by blanks.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    reader_arguments: String,
    /// Only these workloads: random-1, random-32, random-128, sequential-1, sequential-4.
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<String>,
    /// Leave out the null device and the resident memory.
    #[arg(long)]
    device_only: bool,
    /// Compare the ladder's memory latency with a pointer chase in C; needs cc.
    #[arg(long)]
    memory: bool,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let options = &arguments.options;
    let workloads = arguments.chosen_workloads()?;
    let fio_version = peer::version()?;
    progress("making the file to read");
    let file = TestFile::open(arguments.file.as_deref(), arguments.file_size)?;
    peer::warm_up(file.path())?;
    let subject = arguments.subject();
    let what = format!("readpath's reader and {fio_version} read {subject} in turn, past the page cache.");
    let mut conductor = Conductor::begin("fio", options.pairs, what)?;
    conductor.describe("readpath", options.build_readpath()?);
    conductor.describe("fio", fio_version);
    conductor.describe("milliseconds", arguments.milliseconds());
    conductor.describe("reader_arguments", arguments.reader_arguments.as_str());
    let reader = arguments.reader(file.path());
    let mut own_costs = Vec::new();
    for workload in workloads {
        let engines = peer::engines(workload.depth);
        conductor.pairs(workload.title, engines.len() + 1, |turn, ledger| {
            let turn_of = reader.turn(seed(turn));
            let (contender, reading) = match turn.contender {
                0 => {
                    let (reading, own_cost) = reader.take_turn(workload, turn_of)?;
                    own_costs.push(own_cost);
                    (READPATH.to_string(), reading)
                }
                place => {
                    let engine = engines[place - 1];
                    (format!("{FIO}{}", engine.name), peer::take_turn(engine, workload, file.path(), turn_of)?)
                }
            };
            add(ledger, workload, &contender, reading);
            Ok(())
        })?;
        conductor.judge_by(|ledger| bars(workload, ledger));
    }
    if !arguments.device_only {
        progress("the null device");
        conductor.judge([own_cost_bar(&own_costs, peer::null_read_ns(NULL_ENGINE_MILLISECONDS))]);
        progress("resident memory of a short and a long run");
        conductor.judge([resident::bar(&reader)]);
    }
    if arguments.memory {
        progress("memory latency");
        conductor.judge(dram::bars(&options.readpath()));
    }
    conductor.conclude(options, out)
}

impl Arguments {
    /// The workloads that were asked for, all when none was named.
    fn chosen_workloads(&self) -> Result<Vec<&'static Workload>, String> {
        if self.workloads.is_empty() {
            return Ok(WORKLOADS.iter().collect());
        }
        let find = |name: &String| WORKLOADS.iter().find(|workload| workload.name == *name);
        self.workloads.iter().map(|name| find(name).ok_or_else(|| unknown_workload(name))).collect()
    }

    /// How long each contender reads, in whole milliseconds, at least one.
    fn milliseconds(&self) -> u64 {
        ((self.seconds * 1000.0).round() as u64).max(1)
    }

    /// What is read, without the folders that lead to it: the result is kept, and they say nothing about it.
    fn subject(&self) -> String {
        match self.file.as_deref().and_then(Path::file_name) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => format!("a file of {} random data, just written,", format_size(self.file_size)),
        }
    }

    fn reader<'a>(&'a self, file: &'a Path) -> reader::Reader<'a> {
        reader::Reader {
            program: self.options.readpath(),
            more: &self.reader_arguments,
            file,
            milliseconds: self.milliseconds(),
        }
    }
}

fn unknown_workload(name: &str) -> String {
    let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    format!("there is no workload {name}: choose from {}", names.join(", "))
}

/// Every turn draws its own places.
fn seed(turn: Turn) -> u64 {
    1 + turn.pair * 100 + turn.contender as u64
}

fn add(ledger: &mut Ledger, workload: &Workload, contender: &str, reading: Reading) {
    ledger.add(workload.name, contender, &IOPS, reading.iops);
    ledger.add(workload.name, contender, &CPU_PER_READ, reading.cpu_us);
    ledger.add(workload.name, contender, &READ_LATENCY, reading.latency_us);
}

/// The bars of one workload, each against the engine of fio that is best at it. Latency is held only at depth 1:
/// beyond, it is the depth divided by the rate.
fn bars(workload: &Workload, ledger: &Ledger) -> Vec<Bar> {
    let bar = |what, judged, spec, best| {
        let best = ledger.against_best(workload.name, READPATH, &spec, &[FIO], best);
        Bar::against_best(format!("{}: {what} in fio's", workload.title), judged, &best, "fio")
    };
    let cpu_bar = if workload.pattern == Pattern::Random { CPU_BAR } else { SEQUENTIAL_CPU_BAR };
    let mut bars =
        vec![bar("IOPS", IOPS_BAR, IOPS, Best::Most), bar("CPU per read", cpu_bar, CPU_PER_READ, Best::Least)];
    // In sequence the buffers differ: the reader's stand on huge pages, so that 1 MiB is one request to the device, and
    // fio's on base pages, which takes several. Both are right, and they are not the same read.
    if workload.depth == 1 && workload.pattern == Pattern::Random {
        bars.push(bar("median latency", LATENCY_BAR, READ_LATENCY, Best::Least));
    }
    bars
}

/// What a read costs the reader itself, from the runs of all turns; `peer_ns` is what fio's null engine needs.
fn own_cost_bar(own_costs: &[Result<f64, String>], peer_ns: Result<f64, String>) -> Bar {
    let peer = peer_ns.map_or_else(|reason| reason, |ns| format!("fio's null engine {ns:.0} ns"));
    let name = "null device, ns per read";
    let bar = match own_costs.iter().cloned().collect::<Result<Vec<f64>, String>>() {
        Ok(known) => Bar::of_samples(name, NULL_READ_BAR, &known, "no turn was made"),
        Err(reason) => Bar::new(name, NULL_READ_BAR, Err(reason)),
    };
    bar.from(peer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    #[test]
    fn each_bar_is_held_against_the_engine_that_is_best_at_it() {
        let mut ledger = Ledger::default();
        let reading = |iops, cpu_us, latency_us| Reading { iops, cpu_us, latency_us };
        for _ in 0..3 {
            add(&mut ledger, &WORKLOADS[0], READPATH, reading(90.0, 5.0, 55.0));
            add(&mut ledger, &WORKLOADS[0], "fio fast", reading(100.0, 8.0, 50.0));
            add(&mut ledger, &WORKLOADS[0], "fio cheap", reading(80.0, 4.0, 60.0));
        }
        let sentences: Vec<String> = bars(&WORKLOADS[0], &ledger).iter().map(Bar::sentence).collect();
        assert!(sentences[0].contains("0.900") && sentences[0].contains("`fio fast`"), "{sentences:?}");
        assert!(sentences[1].contains("1.25") && sentences[1].contains("`fio cheap`"), "{sentences:?}");
        assert!(sentences[2].contains("1.10") && sentences[2].contains("`fio fast`"), "{sentences:?}");
        assert_eq!(bars(&WORKLOADS[0], &Ledger::default())[0].outcome(), Outcome::NotJudged);
    }

    #[test]
    fn a_dear_null_device_is_noticed() {
        let bar = own_cost_bar(&[Ok(150.0), Ok(160.0), Ok(155.0)], Ok(170.0));
        assert_eq!(bar.outcome(), Outcome::Missed(35.0));
        assert!(bar.sentence().contains("fio's null engine 170 ns"));
    }

    #[test]
    fn one_turn_without_the_cost_leaves_the_bar_unjudged() {
        assert_eq!(own_cost_bar(&[Ok(50.0), Err("no metric".into())], Ok(1.0)).outcome(), Outcome::NotJudged);
    }
}
