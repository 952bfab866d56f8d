//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Args;
use measure::quantity::parse_size;

use crate::fio::workload::{WORKLOADS, Workload};
use crate::options::Options;

/// Holds readpath's reader against fio, in turn, on the same file.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// What every benchmark can be told.
    #[command(flatten)]
    pub(crate) options: Options,
    /// The file to read; without it, one of random data is made and removed.
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// Size of the file that is made.
    #[arg(long, default_value = "4GiB", value_parser = parse_size)]
    pub(crate) file_size: u64,
    /// How long each contender reads.
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// More arguments for the reader, separated by blanks.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    pub(crate) reader_arguments: String,
    /// Only these workloads: random-1, random-32, random-128, sequential-1, sequential-4.
    #[arg(long, value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// Leave out the null device and the resident memory.
    #[arg(long)]
    pub(crate) device_only: bool,
    /// Compare the ladder's memory latency with a pointer chase in C; needs cc.
    #[arg(long)]
    pub(crate) memory: bool,
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
