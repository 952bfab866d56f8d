//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Args;
use measure::quantity::parse_size;

use crate::options::Options;
use crate::postgres::cell::Cell;

/// Holds the engine's logical reads against PostgreSQL's, in turn, on the same rows.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// What every benchmark can be told.
    #[command(flatten)]
    pub(crate) options: Options,
    /// Bytes of all columns of all rows of each table.
    #[arg(long, default_value = "256MiB", value_parser = parse_size)]
    pub(crate) payload: u64,
    /// Bytes of a row, one table for each.
    #[arg(long, value_delimiter = ',', default_value = "2500,250,25")]
    pub(crate) row_length: Vec<u32>,
    /// Columns of a row, one table for each.
    #[arg(long, value_delimiter = ',', default_value = "1,5,25")]
    pub(crate) columns: Vec<u32>,
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
    /// Leave out the bars of the buffer pool alone.
    #[arg(long)]
    pub(crate) without_pool: bool,
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
            spec.data.shape().check().map_err(|error| error.to_string())?;
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
