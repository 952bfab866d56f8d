//! The contest from its arguments to its bars: `readpath profile`, `wc -l` and decompressors on the same trace.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use measure::quantity::{parse_size, three_digits, whole_mebibytes};
use measure::schema::contest::{ELAPSED, PEAK_MEMORY};
use measure::schema::{Spec, profile};
use measure::{Run, Statistics};
use sys::host::allowed_cpus;

use crate::bars::{Bar, Judged, Wanted};
use crate::conductor::Conductor;
use crate::kept_run::run_of;
use crate::ledger::Ledger;
use crate::options::Options;
use crate::profile::compressed::{PACKINGS, Packing};
use crate::profile::trace_file::TraceFile;
use crate::profile::{cpu_profile, scanner};
use crate::program::{argv, needed_by, output_of, scratch_folder};
use crate::progress::progress;

/// GB/s on one core and on two, as the profiler was asked to reach.
const RATES: [Judged; 2] =
    [Judged::figure(Wanted::AtLeast(1.2), "slower"), Judged::figure(Wanted::AtLeast(2.2), "slower")];

/// MiB of memory, whatever the file's size, without the texts of the statements and the miss curve.
const MEMORY: Judged = Judged::figure(Wanted::AtMost(64.0), "larger");

/// Of a decompressor's speed: what is lost at start and end, and where both want the same core.
const DECOMPRESSED: Judged = Judged::ratio(Wanted::AtLeast(0.7), "slower");

/// The question that all contenders on the uncompressed trace have, and these contenders.
const WHOLE: &str = "the trace";
const LINES: &str = "wc -l";
const ON_CORES: [&str; 2] = ["readpath profile, one core", "readpath profile, two cores"];
const SCANNER: &str = "its scanner alone, one thread";

/// Why a bar over all pairs has no figure.
const NO_PAIR: &str = "no pair";

/// Compares `readpath profile` with `wc -l` and with decompressors, in turn, on the same file.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Size of the trace that is made.
    #[arg(long, default_value = "4GiB", value_parser = parse_size)]
    size: u64,
    /// Bytes of it that are compressed for the comparison with decompressors; 0 leaves that out.
    #[arg(long, default_value = "1GiB", value_parser = parse_size)]
    compressed_size: u64,
    /// Traces that are repeated; without such a folder a synthetic one is.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle"))]
    traces: PathBuf,
    /// Do not look where the CPU time goes.
    #[arg(long)]
    without_cpu_profile: bool,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let options = &arguments.options;
    progress("making the trace");
    let trace = TraceFile::make(&arguments.traces, arguments.size)?;
    let size = whole_mebibytes(trace.bytes);
    let what = format!("readpath profile and its peers read {size} in turn: {}.", trace.origin);
    let mut conductor = Conductor::begin("profile", options.pairs, what)?;
    conductor.describe("readpath", options.build_readpath()?);
    progress("reading the trace once");
    let needs = Needs::of(&run_of(&profile_command(options, trace.path(), None))?);
    conductor.describe("trace", trace.origin.as_str());
    conductor.describe("trace_bytes", trace.bytes);
    conductor.describe("statement_text", needs.texts);
    conductor.describe("miss_curve", needs.curve);
    plain_pairs(options, &trace, &mut conductor)?;
    conductor.judge_by(|ledger| plain_bars(ledger, trace.bytes, &needs));
    conductor.note("of-limit", of_limit(&conductor.ledger.ratio(WHOLE, LINES, ON_CORES[0], &ELAPSED)));
    let folder = tempfile::tempdir_in(scratch_folder()?).map_err(|error| error.to_string())?;
    if arguments.compressed_size > 0 {
        compressed_pairs(arguments, &trace, &folder, &mut conductor)?;
    }
    if !arguments.without_cpu_profile {
        progress("where the CPU time goes");
        let command = profile_command(options, trace.path(), Some(1));
        conductor.note("cpu-profile", cpu_profile::note(cpu_profile::summary(&command, folder.path())));
    }
    conductor.conclude(options, out)
}

/// What a profile needs besides its bar of memory, in bytes, as its own run says.
struct Needs {
    texts: f64,
    curve: f64,
}

impl Needs {
    /// As the run says; nothing where it does not, and then the bar is for all memory.
    fn of(run: &Run) -> Needs {
        let case = run.cases_where("table", "memory").next();
        let bytes = |spec: &Spec| case.and_then(|case| spec.median(case)).unwrap_or(0.0);
        Needs { texts: bytes(&profile::STATEMENT_TEXT), curve: bytes(&profile::MISS_CURVE_MEMORY) }
    }
}

fn mebibytes(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

fn profile_command(options: &Options, path: &Path, workers: Option<u32>) -> Vec<String> {
    let (readpath, path) = (options.readpath(), path.display().to_string());
    let mut command = argv([readpath.as_str(), "profile", &path, "--format=json", "--no-store", "--quiet"]);
    command.extend(workers.map(|workers| format!("--workers={workers}")));
    command
}

/// Ties a command to these processors, where `taskset` is there to do it.
fn on_cores(cores: &[usize], command: Vec<String>) -> Vec<String> {
    if output_of(&argv(["taskset", "-V"])).is_err() {
        return command;
    }
    [argv(["taskset".into(), "-c".into(), list_of(cores)]), command].concat()
}

/// Processors as `taskset` takes them.
fn list_of(cores: &[usize]) -> String {
    cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// All contenders on the uncompressed file, which is cached: three programs, and the scanner in this process. They have
/// the first processors that this process may use, which need not be those of the machine.
fn plain_pairs(options: &Options, trace: &TraceFile, conductor: &mut Conductor) -> Result<(), String> {
    let path = trace.path().display().to_string();
    let allowed = allowed_cpus();
    let on = |cores: &[usize]| on_cores(cores, profile_command(options, trace.path(), Some(cores.len() as u32)));
    let one = allowed.get(..1).ok_or("this process may use no processor")?;
    let mut programs = vec![(LINES, on_cores(one, argv(["wc", "-l", path.as_str()]))), (ON_CORES[0], on(one))];
    match allowed.get(..2) {
        Some(two) => programs.push((ON_CORES[1], on(two))),
        None => conductor.absent(ON_CORES[1], "this process may use one processor alone"),
    }
    conductor.pairs(WHOLE, programs.len() + 1, |turn, ledger| match programs.get(turn.contender) {
        Some((name, command)) => add_turn(ledger, WHOLE, name, command),
        None => {
            ledger.add(WHOLE, SCANNER, &ELAPSED, scanner::seconds(trace.path())?);
            Ok(())
        }
    })
}

fn add_turn(ledger: &mut Ledger, question: &str, contender: &str, command: &[String]) -> Result<(), String> {
    let needed = needed_by(command)?;
    ledger.add(question, contender, &ELAPSED, needed.seconds);
    ledger.add(question, contender, &PEAK_MEMORY, needed.peak_bytes as f64);
    Ok(())
}

fn plain_bars(ledger: &Ledger, bytes: u64, needs: &Needs) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (name, judged) in ON_CORES.into_iter().zip(RATES) {
        let rate = |seconds: &f64| bytes as f64 / seconds / 1e9;
        let rates: Vec<f64> = ledger.samples(WHOLE, name, &ELAPSED).iter().map(rate).collect();
        bars.push(Bar::of_samples(format!("{name}: GB/s"), judged, &rates, NO_PAIR).from("one rate a pair"));
        let peak = ledger.samples(WHOLE, name, &PEAK_MEMORY).iter().copied().reduce(f64::max);
        let rest = peak.map(|bytes| Statistics::single(mebibytes(bytes - needs.texts - needs.curve)));
        let source = format!(
            "VmHWM without {:.1} MiB of texts and {:.1} MiB of the miss curve",
            mebibytes(needs.texts),
            mebibytes(needs.curve)
        );
        let name = format!("{name}: MiB of memory besides texts and miss curve");
        bars.push(Bar::new(name, MEMORY, rest.ok_or_else(|| "no peak was seen".into())).from(source));
    }
    bars
}

/// How far the limit is, to read the other figures with: no bar, because nothing there can be missed.
pub(crate) fn of_limit(measured: &Result<Statistics, String>) -> String {
    match measured {
        Err(reason) => format!("One core was not compared with `{LINES}`: {reason}."),
        Ok(ratio) => format!(
            "One core reads the trace at {} ({} to {}) of the rate of `{LINES}`.",
            three_digits(ratio.median),
            three_digits(ratio.min),
            three_digits(ratio.max)
        ),
    }
}

/// A bar for each packing. A packer that is not there takes nothing from what was measured before it.
fn compressed_pairs(
    arguments: &Arguments,
    trace: &TraceFile,
    folder: &tempfile::TempDir,
    conductor: &mut Conductor,
) -> Result<(), String> {
    let bytes = arguments.compressed_size.min(trace.bytes);
    conductor.describe("compressed_bytes", bytes);
    for packing in PACKINGS {
        progress(&format!("compressing: {}", packing.name));
        let ours = format!("readpath profile of {}", packing.name);
        let name = format!("{ours} in the decompressor's speed");
        let bar = match packing.pack(trace.path(), bytes, folder) {
            Err(reason) => {
                // ^C ends a packer too.
                conductor.interruption.check()?;
                Bar::new(name, DECOMPRESSED, Err(reason))
            }
            Ok(path) => {
                let ratios = packed_pairs(&arguments.options, packing, &path, &ours, conductor)?;
                Bar::of_samples(name, DECOMPRESSED, &ratios, NO_PAIR)
            }
        };
        conductor.judge([bar]);
    }
    Ok(())
}

/// Two contenders: the decompressor alone, and the profile of the packed file; the latter's speed in the former's.
fn packed_pairs(
    options: &Options,
    packing: Packing,
    path: &Path,
    ours: &str,
    conductor: &mut Conductor,
) -> Result<Vec<f64>, String> {
    // Read once, so that it is cached.
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (alone, shown) = (format!("{} -dc", packing.program), path.display().to_string());
    let contenders = [
        (alone.as_str(), argv([packing.program, "-dc", shown.as_str()])),
        (ours, profile_command(options, path, None)),
    ];
    let question = format!("the trace in {}", packing.name);
    conductor.pairs(&question, 2, |turn, ledger| {
        let (name, command) = &contenders[turn.contender];
        add_turn(ledger, &question, name, command)
    })?;
    Ok(conductor.ledger.ratios(&question, (&alone, &ELAPSED), (ours, &ELAPSED)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_tied_to_processors_that_the_process_may_use_and_not_to_the_first_of_the_machine() {
        assert_eq!([list_of(&[2]), list_of(&[2, 6])], ["2", "2,6"]);
    }
}
