//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Args;
use measure::quantity::parse_size;

use crate::options::Options;

/// Holds `readpath profile` against `wc -l` and against decompressors, in turn, on the same file.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// What every benchmark can be told.
    #[command(flatten)]
    pub(crate) options: Options,
    /// Size of the trace that is made.
    #[arg(long, default_value = "4GiB", value_parser = parse_size)]
    pub(crate) size: u64,
    /// Bytes of it that are compressed for the comparison with decompressors; 0 leaves that out.
    #[arg(long, default_value = "1GiB", value_parser = parse_size)]
    pub(crate) compressed_size: u64,
    /// Traces that are repeated; without such a folder a synthetic one is.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle"))]
    pub(crate) traces: PathBuf,
    /// Do not look where the processor's time goes.
    #[arg(long)]
    pub(crate) without_cpu_profile: bool,
}
