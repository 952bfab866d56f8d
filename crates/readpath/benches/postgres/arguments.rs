//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Parser;
use measure::quantity::parse_size;

use crate::cell::Cell;

/// Holds the engine's logical reads against PostgreSQL's, in turn, on the same rows.
#[derive(Debug, Parser)]
#[command(name = "cargo bench -p readpath --bench postgres --")]
pub(crate) struct Arguments {
    /// Bytes of all columns of all rows of each table.
    #[arg(long, default_value = "256MiB", value_parser = parse_size)]
    pub(crate) payload: u64,
    /// How often both contenders run in turn; fewer than 5 make a trial, not a result.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pairs: u64,
    /// Bytes of a row, one table for each.
    #[arg(long, value_delimiter = ',', default_value = "2500,250,25")]
    pub(crate) row_length: Vec<u32>,
    /// Columns of a row, one table for each.
    #[arg(long, value_delimiter = ',', default_value = "1,5,25")]
    pub(crate) columns: Vec<u32>,
    /// Where to keep the report, in a folder named by date and processor.
    #[arg(long)]
    pub(crate) results: Option<PathBuf>,
    /// The directory that holds `postgres` and `initdb`; the newest installed ones when not given.
    #[arg(long)]
    pub(crate) postgres: Option<PathBuf>,
    /// Where the private server and the pool's file are made; the system's directory for temporary files when not
    /// given.
    #[arg(long)]
    pub(crate) directory: Option<PathBuf>,
    /// More arguments for `readpath lio`, separated by blanks.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    pub(crate) lio_arguments: String,
    /// The binary that has the engine; the one that cargo built when not given.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_readpath"))]
    pub(crate) readpath: PathBuf,
    /// Leave out the bars of the buffer pool alone.
    #[arg(long)]
    pub(crate) without_pool: bool,
    /// Exit with 1 when a bar is missed or could not be judged.
    #[arg(long)]
    pub(crate) fail_on_miss: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    pub(crate) bench: bool,
}

impl Arguments {
    /// One cell for each row length and number of columns. Errors when a cell cannot be, or has no row.
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, String> {
        let of_length = |row_length: &u32| {
            let row_length = *row_length;
            self.columns.iter().map(move |columns| Cell::new(row_length, *columns))
        };
        let cells: Vec<Cell> = self.row_length.iter().flat_map(of_length).collect();
        for cell in &cells {
            let spec = cell.spec(self.payload);
            spec.shape().check().map_err(|error| error.to_string())?;
            if spec.rows() == 0 {
                return Err(format!("a payload of {} bytes holds no row of {cell}", self.payload));
            }
        }
        Ok(cells)
    }

    /// Where files are made.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(std::env::temp_dir)
    }
}
