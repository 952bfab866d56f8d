//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Parser;
use measure::quantity::parse_size;

/// Holds `readpath profile` against `wc -l` and against decompressors, in turn, on the same file.
#[derive(Debug, Parser)]
#[command(name = "cargo bench -p readpath --bench profile --")]
pub(crate) struct Arguments {
    /// Size of the trace that is made.
    #[arg(long, default_value = "4GiB", value_parser = parse_size)]
    pub(crate) size: u64,
    /// Bytes of it that are compressed for the comparison with decompressors; 0 leaves that out.
    #[arg(long, default_value = "1GiB", value_parser = parse_size)]
    pub(crate) compressed_size: u64,
    /// Traces that are repeated; without such a folder a synthetic one is.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle"))]
    pub(crate) traces: PathBuf,
    /// How often all contenders run in turn; fewer than 5 make a trial, not a result.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Where to keep the report, in a folder named by date and processor.
    #[arg(long)]
    pub(crate) results: Option<PathBuf>,
    /// The binary; the one that cargo built when not given.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_readpath"))]
    pub(crate) readpath: PathBuf,
    /// Do not look where the processor's time goes.
    #[arg(long)]
    pub(crate) without_cpu_profile: bool,
    /// Exit with 1 when a bar is missed or could not be judged.
    #[arg(long)]
    pub(crate) fail_on_miss: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    pub(crate) bench: bool,
}
