//! fio as a contender: its engines, its command lines, and what its JSON says.
//!
//! fio's figure has to be the lowest honest one, so every run has these settings:
//!
//! - `--thread`: its processor time is then that of the reading thread alone, without the forked job's set-up. Measured
//!   against a forked job the difference is within the noise.
//! - `--norandommap`: no bitmap of places already read, as the reader keeps none.
//! - `--disable_slat --disable_clat --lat_percentiles`: one clock pair a read rather than two, as the reader takes.
//!   The clock itself stays: with `--gtod_reduce` fio would do less than the reader does.
//! - `--randseed`: every turn draws its own places.

use std::path::Path;

use serde_json::Value;

use crate::fio::workload::{Pattern, Reading, Turn, Workload};
use crate::program::{argv, output_of};

/// One way in which fio can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Engine {
    /// Its name in the run.
    pub(crate) name: &'static str,
    /// What it is asked for by.
    pub(crate) options: &'static [&'static str],
}

const SYNC: Engine = Engine { name: "psync", options: &["--ioengine=psync"] };
pub(crate) const LIBAIO: Engine = Engine { name: "libaio", options: &["--ioengine=libaio"] };
pub(crate) const URING: Engine = Engine { name: "io_uring", options: &["--ioengine=io_uring"] };
/// With registered buffers and file.
pub(crate) const URING_FIXED: Engine =
    Engine { name: "io_uring fixed", options: &["--ioengine=io_uring", "--fixedbufs", "--registerfiles"] };
/// Waiting for 16 completions is what makes batches cheap: with a smaller least number fio goes to the kernel more
/// often. It costs reads per second, but those are compared with the fastest engine, not with this one.
const URING_BATCHES: Engine = Engine {
    name: "io_uring batches",
    options: &[
        "--ioengine=io_uring",
        "--fixedbufs",
        "--registerfiles",
        "--iodepth_batch_submit=16",
        "--iodepth_batch_complete_min=16",
        "--iodepth_batch_complete_max=32",
    ],
};

/// Fewest reads in flight at which batches of 16 leave the device busy.
const BATCHES_DEPTH_MIN: u64 = 32;

/// Settings of every run; the module says why.
const ALWAYS: [&str; 8] = [
    "--name=peer",
    "--readonly",
    "--thread",
    "--norandommap",
    "--disable_slat=1",
    "--disable_clat=1",
    "--time_based",
    "--output-format=json",
];

/// And of those that are held against the reader.
const PERCENTILES: [&str; 2] = ["--lat_percentiles=1", "--clat_percentiles=0"];

/// The engines that are worth running at this depth.
pub(crate) fn engines(depth: u64) -> Vec<Engine> {
    let mut engines = vec![LIBAIO, URING, URING_FIXED];
    if depth == 1 {
        engines.push(SYNC);
    }
    if depth >= BATCHES_DEPTH_MIN {
        engines.push(URING_BATCHES);
    }
    engines
}

/// The option that names a file. A colon would part the names of two, as in those of `/dev/disk/by-path`.
pub(crate) fn filename(file: &Path) -> String {
    format!("--filename={}", file.display().to_string().replace(':', "\\:"))
}

/// fio's command line with these words and options, behind the settings of every run.
pub(crate) fn fio(words: &[&str], options: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut command = argv(["fio"]);
    command.extend(argv(ALWAYS));
    command.extend(argv(words));
    command.extend(options);
    command
}

/// fio's command line for one turn.
fn command(engine: Engine, workload: &Workload, file: &Path, turn: Turn) -> Vec<String> {
    let pattern = match workload.pattern {
        Pattern::Random => "randread",
        Pattern::Sequential => "read",
    };
    let options = [
        filename(file),
        "--direct=1".into(),
        format!("--rw={pattern}"),
        format!("--bs={}", workload.block_bytes),
        format!("--iodepth={}", workload.depth),
        format!("--runtime={}ms", turn.milliseconds),
        format!("--randseed={}", turn.seed),
    ];
    fio(&[&PERCENTILES[..], engine.options].concat(), options)
}

/// Reads the whole file once, untimed: pages that writing it left in the page cache go, and a lazily loaded volume
/// loads. Both would be charged to the contender that comes first.
pub(crate) fn warm_up(file: &Path) -> Result<(), String> {
    let name = filename(file);
    let rest = ["--direct=1", "--rw=read", "--bs=1m", "--ioengine=libaio", "--iodepth=4", "--readonly"];
    let mut command = argv(["fio", "--name=warm-up", name.as_str()]);
    command.extend(argv(rest));
    output_of(&command).map(drop)
}

/// One turn of one engine.
pub(crate) fn take_turn(engine: Engine, workload: &Workload, file: &Path, turn: Turn) -> Result<Reading, String> {
    reading(&output_of(&command(engine, workload, file, turn))?)
}

/// What a read costs fio when nothing is read: its null engine, in ns of elapsed time.
pub(crate) fn null_read_ns(milliseconds: u64) -> Result<f64, String> {
    let words = [&PERCENTILES[..], &["--ioengine=null", "--rw=randread", "--bs=8k", "--size=100g"]].concat();
    let command = fio(&words, [format!("--runtime={milliseconds}ms")]);
    reading(&output_of(&command)?).map(|reading| 1e9 / reading.iops)
}

/// The version that fio says it is.
pub(crate) fn version() -> Result<String, String> {
    output_of(&argv(["fio", "--version"])).map(|text| text.trim().into()).map_err(|error| {
        format!("fio is needed to compare with: install it, for example with apt-get install fio ({error})")
    })
}

/// fio's job of a run, from its JSON, in front of which it prints its notes. A job that failed is an error.
pub(crate) fn job(output: &str) -> Result<Value, String> {
    let document = output.find('{').map(|start| &output[start..]).ok_or("fio printed no JSON")?;
    let mut document: Value = serde_json::from_str(document).map_err(|error| format!("fio's JSON: {error}"))?;
    let job = document["jobs"][0].take();
    if job["error"] == 0 { Ok(job) } else { Err(format!("fio's job ended with error {}", job["error"])) }
}

/// Takes a reading from fio's JSON. CPU time per read is (user % + system %) of the job's run time, divided by its
/// reads.
fn reading(output: &str) -> Result<Reading, String> {
    let job = job(output)?;
    let number = |pointer: &str| {
        job.pointer(pointer).and_then(Value::as_f64).ok_or_else(|| format!("fio's job has no number {pointer}"))
    };
    let reads = number("/read/total_ios")?;
    if reads < 1.0 {
        return Err("fio made no read".into());
    }
    let busy = (number("/usr_cpu")? + number("/sys_cpu")?) / 100.0;
    Ok(Reading {
        iops: number("/read/iops")?,
        cpu_us: busy * number("/job_runtime")? * 1000.0 / reads,
        latency_us: number("/read/lat_ns/percentile/50.000000")? / 1000.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::workload::WORKLOADS;

    const OUTPUT: &str = r#"fio: a note in front of the document
        {"jobs": [{"error": 0, "job_runtime": 2000, "usr_cpu": 10.0, "sys_cpu": 20.0,
          "read": {"iops": 50000.0, "total_ios": 100000, "lat_ns": {"percentile": {"50.000000": 460800}}}}]}"#;

    #[test]
    fn processor_time_per_read_is_the_busy_share_of_the_run_time() {
        let reading = reading(OUTPUT).unwrap();
        assert_eq!(reading, Reading { iops: 50_000.0, cpu_us: 6.0, latency_us: 460.8 });
    }

    #[test]
    fn a_failed_job_is_not_a_reading() {
        assert!(reading(&OUTPUT.replace("\"error\": 0", "\"error\": 22")).unwrap_err().contains("22"));
        assert!(reading(&OUTPUT.replace("100000", "0")).unwrap_err().contains("no read"));
        assert!(reading("fio: no such engine").unwrap_err().contains("no JSON"));
    }

    #[test]
    fn what_fio_does_not_say_is_an_error_and_not_zero() {
        assert!(reading(&OUTPUT.replace("usr_cpu", "cpu")).unwrap_err().contains("/usr_cpu"));
    }

    #[test]
    fn batches_are_compared_only_where_they_fit_and_psync_only_alone() {
        let names = |depth| engines(depth).iter().map(|engine| engine.name).collect::<Vec<_>>();
        assert!(names(1).contains(&"psync") && !names(1).contains(&"io_uring batches"));
        assert!(!names(32).contains(&"psync") && names(32).contains(&"io_uring batches"));
    }

    #[test]
    fn a_colon_in_the_name_of_a_device_parts_no_files() {
        let device = Path::new("/dev/disk/by-path/pci-0000:00:1f.2");
        assert_eq!(filename(device), "--filename=/dev/disk/by-path/pci-0000\\:00\\:1f.2");
    }

    #[test]
    fn fio_never_opens_the_file_for_writing() {
        let turn = Turn { milliseconds: 1, seed: 1 };
        for workload in &WORKLOADS {
            for engine in engines(workload.depth) {
                let command = command(engine, workload, Path::new("/dev/null"), turn);
                assert!(command.contains(&"--readonly".to_string()));
            }
        }
    }
}
