//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Parser;
use measure::quantity::parse_size;

use crate::workload::{WORKLOADS, Workload};

/// Holds readpath's reader against fio, in turn, on the same file.
#[derive(Debug, Parser)]
#[command(name = "cargo bench -p readpath --bench fio --")]
pub(crate) struct Arguments {
    /// The file to read; without it, one of random data is made and removed.
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// Size of the file that is made.
    #[arg(long, default_value = "4GiB", value_parser = parse_size)]
    pub(crate) file_size: u64,
    /// How often all contenders run in turn; fewer than 5 make a trial, not a result.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pairs: u64,
    /// How long each contender reads.
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// Where to keep the report, in a folder named by date and processor.
    #[arg(long)]
    pub(crate) results: Option<PathBuf>,
    /// More arguments for the reader, separated by blanks.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    pub(crate) reader_arguments: String,
    /// The reader's binary; the one that cargo built when not given.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_readpath"))]
    pub(crate) readpath: PathBuf,
    /// Only these workloads: random-1, random-32, random-128, sequential-1, sequential-4.
    #[arg(long, value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// Leave out the null device and the resident memory.
    #[arg(long)]
    pub(crate) device_only: bool,
    /// Compare the ladder's memory latency with a pointer chase in C; needs cc.
    #[arg(long)]
    pub(crate) memory: bool,
    /// Exit with 1 when a bar is missed or could not be judged.
    #[arg(long)]
    pub(crate) fail_on_miss: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    pub(crate) bench: bool,
}

impl Arguments {
    /// The workloads that were asked for, all when none was named.
    pub(crate) fn chosen_workloads(&self) -> Result<Vec<&'static Workload>, String> {
        if self.workloads.is_empty() {
            return Ok(WORKLOADS.iter().collect());
        }
        let find = |name: &String| WORKLOADS.iter().find(|workload| workload.name == *name);
        self.workloads.iter().map(|name| find(name).ok_or_else(|| unknown_workload(name))).collect()
    }

    /// How long each contender reads, in whole milliseconds, at least one.
    pub(crate) fn milliseconds(&self) -> u64 {
        ((self.seconds * 1000.0).round() as u64).max(1)
    }
}

fn unknown_workload(name: &str) -> String {
    let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    format!("there is no workload {name}: choose from {}", names.join(", "))
}
