//! The benchmark from its arguments to its verdict.

use std::fs;
use std::io::Write;
use std::path::Path;

use measure::quantity::size_in_words;
use measure::{Statistics, Unit};
use serde_json::Value;

use crate::bars::{Bar, Wanted, lines};
use crate::document::Document;
use crate::profile::arguments::Arguments;
use crate::profile::compressed::PACKINGS;
use crate::profile::contender::take_turn;
use crate::profile::page::{self, Row};
use crate::profile::trace_file::TraceFile;
use crate::profile::{cpu_profile, scanner};
use crate::program::{argv, output_of, scratch_folder};
use crate::report::{Report, progress};
use crate::run_document::parse;
use crate::turn_order::order;

/// GB/s on one core and on two, as the profiler was asked to reach.
const RATES: [Wanted; 2] = [Wanted::AtLeast(0.8), Wanted::AtLeast(1.5)];

/// MiB of memory, whatever the file's size, beside the texts of the statements and the miss curve.
const MEMORY: Wanted = Wanted::AtMost(64.0);

/// Of a decompressor's speed: what is lost at start and end, and where both want the same core.
const DECOMPRESSED: Wanted = Wanted::AtLeast(0.9);

/// A way to run on the uncompressed file.
enum Contender {
    Program(&'static str, Vec<String>),
    Scanner,
}

/// Runs everything, writes the page to `out`, and gives the exit code: 1 when a bar was missed or could not be judged
/// and `--fail-on-miss` was given. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    arguments.options.build_readpath()?;
    progress("making the trace");
    let trace = TraceFile::make(&arguments.traces, arguments.size)?;
    let mut report = Report::new(out);
    report.write(&heading(arguments, &trace))?;
    let profile = run_document(arguments, trace.path())?;
    let mut rows = plain_rows(arguments, &trace)?;
    let needs = Needs::of(&profile);
    let mut bars = plain_bars(&rows, &needs);
    report.write(&needs.sentence())?;
    report.write(&format!("{}\n", page::table(&rows)))?;
    let folder = tempfile::tempdir_in(scratch_folder()?).map_err(|error| error.to_string())?;
    if arguments.compressed_size > 0 {
        let packed = compressed_rows(arguments, &trace, &folder)?;
        report.write(&format!("{}\n", page::table(&packed)))?;
        bars.extend(packed.chunks(2).map(compressed_bar));
        rows.extend(packed);
    }
    if !arguments.without_cpu_profile {
        progress("where the processor's time goes");
        let command = profile_command(arguments, trace.path(), Some(1));
        let said = cpu_profile::summary(&command, folder.path()).unwrap_or_else(|why| format!("not seen: {why}\n"));
        report.write(&format!("Processor time of `readpath profile` on one core, by function:\n{said}\n"))?;
    }
    report.write(&lines(&bars))?;
    let mut document = Document::begin("profile");
    document.describe("trace", trace.origin.as_str());
    document.describe("trace_bytes", trace.bytes);
    document.describe("statement_text", needs.texts);
    document.describe("miss_curve", needs.curve);
    rows.iter().for_each(|row| row.write_to(&mut document));
    arguments.options.conclude(&mut report, "profile", &bars, document)
}

fn heading(arguments: &Arguments, trace: &TraceFile) -> String {
    let size = match trace.bytes {
        bytes if bytes >= 1 << 20 => size_in_words(bytes >> 20 << 20),
        bytes => size_in_words(bytes),
    };
    let mut heading = format!("readpath profile on {size}: {}\n", trace.origin);
    if let Some(cpu) = &sys::host::describe().cpu {
        heading += &format!("Processor: {cpu}\n");
    }
    heading += &arguments.options.trial_notice();
    heading + "\n"
}

/// What a profile needs beside its bar of memory, in bytes, as its own document says.
struct Needs {
    texts: f64,
    curve: f64,
}

impl Needs {
    /// As the document says; nothing where it does not, and then the bar is for all memory.
    fn of(document: &Value) -> Needs {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let cases = list(&document["cases"]);
        let case = cases.iter().find(|case| case["parameters"]["table"] == "memory");
        let metrics = case.map_or_else(Vec::new, |case| list(&case["metrics"]));
        let bytes = |name: &str| {
            let metric = metrics.iter().find(|metric| metric["name"] == name);
            metric.and_then(|metric| metric["median"].as_f64()).unwrap_or(0.0)
        };
        Needs { texts: bytes("statement_text"), curve: bytes("miss_curve_memory") }
    }

    fn sentence(&self) -> String {
        format!(
            "Of the memory, texts are {:.1} MiB and the miss curve {:.1} MiB: the bar is for the rest.\n\n",
            mebibytes(self.texts),
            mebibytes(self.curve)
        )
    }
}

fn mebibytes(bytes: f64) -> f64 {
    bytes / 1048576.0
}

/// The run document of one profile; the file is cached afterwards.
fn run_document(arguments: &Arguments, path: &Path) -> Result<Value, String> {
    progress("reading the trace once");
    let output = output_of(&profile_command(arguments, path, None))?;
    parse(&output)
}

fn profile_command(arguments: &Arguments, path: &Path, workers: Option<u32>) -> Vec<String> {
    let (readpath, path) = (arguments.options.readpath(), path.display().to_string());
    let mut command = argv([readpath.as_str(), "profile", &path, "--format=json", "--no-store", "--quiet"]);
    command.extend(workers.map(|workers| format!("--workers={workers}")));
    command
}

/// Ties a command to the first `cores` processors, where `taskset` is there to do it.
fn on_cores(cores: u32, command: Vec<String>) -> Vec<String> {
    if output_of(&argv(["taskset", "-V"])).is_err() {
        return command;
    }
    [argv(["taskset".into(), "-c".into(), format!("0-{}", cores - 1)]), command].concat()
}

/// All contenders on the uncompressed file; the bars go by their order: `wc`, one core, two cores, the scanner.
fn plain_rows(arguments: &Arguments, trace: &TraceFile) -> Result<Vec<Row>, String> {
    let path = trace.path().display().to_string();
    let on = |cores| on_cores(cores, profile_command(arguments, trace.path(), Some(cores)));
    let contenders = [
        Contender::Program("wc -l", on_cores(1, argv(["wc", "-l", path.as_str()]))),
        Contender::Program("readpath profile, one core", on(1)),
        Contender::Program("readpath profile, two cores", on(2)),
        Contender::Scanner,
    ];
    let row = |contender: &Contender| Row {
        name: match contender {
            Contender::Program(name, _) => (*name).into(),
            Contender::Scanner => "its scanner alone, one thread".into(),
        },
        bytes: trace.bytes,
        seconds: Vec::new(),
        peak_bytes: None,
    };
    let mut rows: Vec<Row> = contenders.iter().map(row).collect();
    for round in 0..arguments.options.pairs {
        progress(&format!("round {} of {}", round + 1, arguments.options.pairs));
        for place in order(round, contenders.len()) {
            match &contenders[place] {
                Contender::Program(_, command) => add_turn(&mut rows[place], command)?,
                Contender::Scanner => rows[place].seconds.push(scanner::seconds(trace.path())?),
            }
        }
    }
    Ok(rows)
}

fn add_turn(row: &mut Row, command: &[String]) -> Result<(), String> {
    let turn = take_turn(command)?;
    row.seconds.push(turn.seconds);
    row.peak_bytes = row.peak_bytes.max(Some(turn.peak_bytes));
    Ok(())
}

fn plain_bars(rows: &[Row], needs: &Needs) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (row, wanted) in rows[1..=2].iter().zip(RATES) {
        let measured = Statistics::of_samples(&row.rates()).ok_or_else(|| "no round".to_string());
        bars.push(Bar { name: format!("{}: GB/s", row.name), wanted, word: "slower", unit: Unit::Count, measured });
        let peak = row.peak_bytes.map(|bytes| Statistics::single(mebibytes(bytes as f64 - needs.texts - needs.curve)));
        let measured = peak.ok_or_else(|| "no peak was seen".to_string());
        let name = format!("{}: MiB of memory beside texts and miss curve", row.name);
        bars.push(Bar { name, wanted: MEMORY, word: "larger", unit: Unit::Count, measured });
    }
    // How far the limit is has no bar: it is what the figures above are read with.
    let ratios: Vec<f64> = rows[0].seconds.iter().zip(&rows[1].seconds).map(|(wc, ours)| wc / ours).collect();
    let measured = Statistics::of_samples(&ratios).ok_or_else(|| "no round".to_string());
    bars.push(Bar {
        name: "one core in `wc -l`'s rate".into(),
        wanted: Wanted::AtLeast(0.0),
        word: "slower",
        unit: Unit::Ratio,
        measured,
    });
    bars
}

/// For each packing two rows: the decompressor alone, and the profile of the packed file.
fn compressed_rows(arguments: &Arguments, trace: &TraceFile, folder: &tempfile::TempDir) -> Result<Vec<Row>, String> {
    let bytes = arguments.compressed_size.min(trace.bytes);
    let mut rows = Vec::new();
    for packing in PACKINGS {
        progress(&format!("compressing with {}", packing.program));
        let path = packing.pack(trace.path(), bytes, folder)?;
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let shown = path.display().to_string();
        let commands = [argv([packing.program, "-dc", shown.as_str()]), profile_command(arguments, &path, None)];
        let names = [format!("{} -dc", packing.program), format!("readpath profile of {}", packing.program)];
        let mut pair = names.map(|name| Row { name, bytes, seconds: Vec::new(), peak_bytes: None });
        for round in 0..arguments.options.pairs {
            for place in order(round, 2) {
                add_turn(&mut pair[place], &commands[place])?;
            }
        }
        rows.extend(pair);
    }
    Ok(rows)
}

fn compressed_bar(pair: &[Row]) -> Bar {
    let ratios: Vec<f64> = pair[0].seconds.iter().zip(&pair[1].seconds).map(|(alone, ours)| alone / ours).collect();
    let measured = Statistics::of_samples(&ratios).ok_or_else(|| "no round".to_string());
    Bar {
        name: format!("{} in the decompressor's speed", pair[1].name),
        wanted: DECOMPRESSED,
        word: "slower",
        unit: Unit::Ratio,
        measured,
    }
}
