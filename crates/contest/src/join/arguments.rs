//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Args;

use crate::options::Options;

/// Holds the engine's nested loops against fio and PostgreSQL, in turn, on the same rows.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) options: Options,
    /// Rows of the table, seven to a block.
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1000..))]
    pub(crate) rows: u64,
    /// Outer rows of a join that is held against PostgreSQL.
    #[arg(long, default_value_t = 5000)]
    pub(crate) outer_rows: u64,
    /// Outer rows of a join that is held against fio.
    #[arg(long, default_value_t = 30_000)]
    pub(crate) rate_outer_rows: u64,
    /// How long fio reads at each depth, in milliseconds.
    #[arg(long, default_value_t = 500)]
    pub(crate) fio_milliseconds: u64,
    /// The directory that holds `postgres` and `initdb`; the newest installed ones when not given.
    #[arg(long)]
    pub(crate) postgres: Option<PathBuf>,
    /// Where the tables and the private server are made and removed; the system's directory for temporary files when
    /// not given.
    #[arg(long)]
    pub(crate) directory: Option<PathBuf>,
    /// Leave PostgreSQL out.
    #[arg(long)]
    pub(crate) without_postgres: bool,
}

impl Arguments {
    /// Where files are made.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(std::env::temp_dir)
    }
}
