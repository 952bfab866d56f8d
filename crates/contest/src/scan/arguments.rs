//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Args;

use crate::options::Options;

/// Holds the engine's scans against PostgreSQL, DuckDB, Polars, PyArrow and NumPy, in turn, on the same rows.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) options: Options,
    /// Rows of the table.
    #[arg(long, default_value_t = 7_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: u64,
    /// Hold the column scan of so many rows against the bandwidth of the memory; of the published size without a
    /// number.
    #[arg(long, value_name = "ROWS", num_args = 0..=1, default_missing_value = "69642625")]
    pub(crate) large: Option<u64>,
    /// The directory that holds `postgres` and `initdb`; the newest installed ones when not given.
    #[arg(long)]
    pub(crate) postgres: Option<PathBuf>,
    /// The Python that has the libraries.
    #[arg(long, default_value = "python3")]
    pub(crate) python: PathBuf,
    /// Where the private server and the columns for the libraries are kept; the system's directory for temporary files
    /// when not given.
    #[arg(long)]
    pub(crate) directory: Option<PathBuf>,
    /// Leave PostgreSQL out.
    #[arg(long)]
    pub(crate) without_postgres: bool,
    /// Count no instructions.
    #[arg(long)]
    pub(crate) without_valgrind: bool,
    /// Be the child that valgrind counts: scan for this question and say nothing.
    #[arg(long, hide = true, value_name = "QUESTION")]
    pub(crate) counted_under_valgrind: Option<String>,
}

impl Arguments {
    /// Where files are made.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(std::env::temp_dir)
    }
}
