//! The benchmark from its arguments to its verdict.

use measure::Unit;
use std::io::Write;
use std::path::Path;

use measure::quantity::format_size;

use crate::bars::{Bar, lines};
use crate::document::{Document, samples};
use crate::fio::arguments::Arguments;
use crate::fio::pairs::{Best, Pair, spread};
use crate::fio::reader::ReaderTurn;
use crate::fio::test_file::TestFile;
use crate::fio::wanted::{CPU, IOPS, LATENCY};
use crate::fio::workload::{Pattern, Reading, Turn, Workload};
use crate::fio::{dram, own_cost, page, peer, reader, resident};
use crate::report::{Report, progress};
use crate::turn_order::order;

/// How long fio's null engine runs.
const NULL_ENGINE_MILLISECONDS: u64 = 2000;

/// Runs everything that was asked for, writes the page to `out`, and gives the exit code: 1 when a bar was missed or
/// could not be judged and `--fail-on-miss` was given. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let workloads = arguments.chosen_workloads()?;
    let fio_version = peer::version()?;
    arguments.options.build_readpath()?;
    progress("making the file to read");
    let file = TestFile::open(arguments.file.as_deref(), arguments.file_size)?;
    peer::warm_up(file.path())?;
    let mut report = Report::new(out);
    report.write(&heading(arguments, &fio_version))?;
    let mut turns = Turns { arguments, file: file.path(), own_costs: Vec::new() };
    let (mut bars, mut compared) = (Vec::new(), Vec::new());
    for workload in workloads {
        let pairs = turns.pairs(workload)?;
        let judged = judge(workload, &pairs);
        report.write(&page::table(workload, arguments.milliseconds(), &pairs))?;
        report.write(&format!("{}\n", lines(&judged)))?;
        bars.extend(judged);
        compared.push((workload, pairs));
    }
    let others = other_bars(arguments, file.path(), &turns.own_costs);
    report.write(&lines(&others))?;
    bars.extend(others);
    let document = document(arguments, &fio_version, &compared);
    arguments.options.conclude(&mut report, "fio", &bars, document)
}

/// One case for each contender and workload.
fn document(arguments: &Arguments, fio_version: &str, compared: &[(&Workload, Vec<Pair>)]) -> Document {
    let mut document = Document::begin("fio");
    document.describe("fio", fio_version);
    document.describe("milliseconds", arguments.milliseconds());
    document.describe("reader_arguments", arguments.reader_arguments.as_str());
    for (workload, pairs) in compared {
        let peers = pairs.first().into_iter().flat_map(|pair| pair.peers.iter().map(|(name, _)| *name));
        let mut add = |contender: String, readings: Vec<Reading>| {
            let of = |figure: fn(&Reading) -> f64| readings.iter().map(figure).collect::<Vec<f64>>();
            let metrics = vec![
                samples("iops", Unit::PerSecond, of(|reading| reading.iops)),
                samples("cpu_per_read", Unit::Microseconds, of(|reading| reading.cpu_us)),
                samples("read_latency", Unit::Microseconds, of(|reading| reading.latency_us)),
            ];
            document.case([("workload", workload.name.into()), ("contender", contender.into())], metrics);
        };
        add("readpath".into(), pairs.iter().map(|pair| pair.reader).collect());
        for peer in peers {
            add(format!("fio {peer}"), pairs.iter().map(|pair| pair.peer(peer)).collect());
        }
    }
    document
}

/// The contenders' turns on one file, and what the reader's documents said beside the readings.
struct Turns<'a> {
    arguments: &'a Arguments,
    file: &'a Path,
    own_costs: Vec<Result<f64, String>>,
}

impl Turns<'_> {
    fn pairs(&mut self, workload: &Workload) -> Result<Vec<Pair>, String> {
        let pairs = self.arguments.options.pairs;
        (0..pairs)
            .map(|index| {
                progress(&format!("{}: pair {} of {pairs}", workload.title, index + 1));
                self.pair(workload, index)
            })
            .collect()
    }

    /// The reader is contender 0, fio's engines follow.
    fn pair(&mut self, workload: &Workload, index: u64) -> Result<Pair, String> {
        let engines = peer::engines(workload.depth);
        let (mut of_reader, mut peers) = (None, Vec::new());
        for contender in order(index, engines.len() + 1) {
            let seed = 1 + index * 100 + contender as u64;
            let turn = Turn { milliseconds: self.arguments.milliseconds(), seed };
            if contender == 0 {
                of_reader = Some(reader::take_turn(self.arguments, workload, self.file, turn)?);
            } else {
                let engine = engines[contender - 1];
                peers.push((engine.name, peer::take_turn(engine, workload, self.file, turn)?));
            }
        }
        let ReaderTurn { reading, document } = of_reader.ok_or("the reader had no turn")?;
        self.own_costs.push(own_cost::of_document(&document));
        Ok(Pair { reader: reading, peers })
    }
}

/// The bars of one workload. Latency is held only at depth 1: beyond, it is the depth divided by the rate.
fn judge(workload: &Workload, pairs: &[Pair]) -> Vec<Bar> {
    let bar = |what: &str, wanted, word, ratio: fn(&Pair, &Best) -> f64| Bar {
        name: format!("{}: {what} in fio's", workload.title),
        wanted,
        word,
        unit: Unit::Ratio,
        measured: spread(pairs, ratio).ok_or_else(|| "a turn gave no number".into()),
    };
    let mut bars =
        vec![bar("IOPS", IOPS, "slower", Pair::iops_ratio), bar("CPU per read", CPU, "dearer", Pair::cpu_ratio)];
    // In sequence the buffers differ: the reader's stand on huge pages, so that 1 MiB is one request to the device, and
    // fio's on base pages, which takes several. Both are right, and they are not the same read.
    if workload.depth == 1 && workload.pattern == Pattern::Random {
        bars.push(bar("median latency", LATENCY, "off", Pair::latency_ratio));
    }
    bars
}

/// What is held beside the device: the reader's own cost, its memory, and the memory's latency.
fn other_bars(arguments: &Arguments, file: &Path, own_costs: &[Result<f64, String>]) -> Vec<Bar> {
    let mut bars = Vec::new();
    if !arguments.device_only {
        progress("the null device");
        bars.push(own_cost::bar(own_costs, peer::null_read_ns(NULL_ENGINE_MILLISECONDS)));
        progress("resident memory of a short and a long run");
        bars.push(resident::bar(arguments, file, arguments.milliseconds()));
    }
    if arguments.memory {
        progress("memory latency");
        bars.extend(dram::bars(arguments));
    }
    bars
}

fn heading(arguments: &Arguments, fio_version: &str) -> String {
    let mut heading = format!("readpath beside {fio_version}, in turn, on {}\n", subject(arguments));
    if !arguments.reader_arguments.is_empty() {
        heading += &format!("The reader was given: {}\n", arguments.reader_arguments);
    }
    heading += &arguments.options.trial_notice();
    heading + "\n"
}

/// What is read, without the folders that lead to it: the report is kept, and they say nothing about the result.
fn subject(arguments: &Arguments) -> String {
    match arguments.file.as_deref().and_then(Path::file_name) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => format!("a file of {} random data, just written", format_size(arguments.file_size)),
    }
}
