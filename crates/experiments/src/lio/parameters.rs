//! The parameters of the experiment, with their defaults and what they refuse.

use std::path::PathBuf;

use dataset::COLUMNS_MAX;
use measure::quantity::Size;
use subjects::Places;
use subjects::logical_reads::{Access, Asked, Cell, Touch, TouchAxis};

use crate::error::{ExperimentError, refuse};
use crate::with_defaults::with_defaults;
use crate::{sampling, subject_run};

/// Bytes of a table by default, with the engine alone.
pub const PAYLOAD: Size = Size(256 << 20);

/// The same where another subject is measured too. A given server may still have its default shared buffers of 128 MiB,
/// and the table has to fit with the heads of all its rows.
pub const PAYLOAD_BESIDE: Size = Size(32 << 20);

with_defaults! {
    /// Parameters of the experiment; every list multiplies the cases.
    pub struct LioParameters {
        /// What is measured.
        pub on: Places = Places::default(),
        /// Where the engine's tables lie.
        pub directory: PathBuf = PathBuf::new(),
        /// Bytes of all columns of all rows of a table; the default depends on what is measured.
        pub payload: Option<Size> = None,
        /// Bytes of a row: by default, with the default columns, the nine tables as published.
        pub row_lengths: Vec<u32> = vec![2500, 250, 25],
        /// Columns of a row.
        pub columns: Vec<u32> = vec![1, 5, 25],
        /// How blocks are accessed; empty for the default, which depends on what is measured.
        pub accesses: Vec<Access> = Vec::new(),
        /// What is touched; empty for the default, which depends on what is measured.
        pub touches: Vec<TouchAxis> = Vec::new(),
        /// Numbers of threads.
        pub threads: Vec<usize> = vec![1],
        /// Percentages of rows that changed since the reader's snapshot.
        pub changed_rows: Vec<u32> = vec![0],
        /// Samples of a case.
        pub repeat: usize = 7,
        /// Picks random orders.
        pub seed: u64 = 1,
        /// Whether tables that are there are loaded again.
        pub reload: bool = false,
        /// Whether the stacks of the readers are sampled.
        pub sampled: bool = false,
    }
}

impl LioParameters {
    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.check_values()?;
        let asked = self.asked();
        subject_run::check(&self.on, |place| place.logical_reads(&asked))
    }

    pub(super) fn check_values(&self) -> Result<(), ExperimentError> {
        sampling::check_repeat(self.repeat)?;
        sampling::check_threads(&self.threads)?;
        if let Some(percent) = self.changed_rows.iter().find(|percent| **percent > 100) {
            return refuse(format!("--changed-rows {percent} is out of range: give a percentage, 0 to 100"));
        }
        if self.sampled && !self.on.is_engine_alone() {
            return refuse("--flamegraph works without --on only: it shows this program's time and no other's");
        }
        // Of a row that no table has, the subject says what is wrong with it: its columns have no numbers.
        let can_be = |cell: &Cell| (1..=COLUMNS_MAX as u32).contains(&cell.columns);
        for cell in self.cells().into_iter().filter(can_be) {
            for touch in self.touches() {
                match touch.of(cell.columns) {
                    Touch::Column(0) => return refuse("columns are counted from 1: give --touch column-1"),
                    Touch::Column(number) if u32::from(number) > cell.columns => {
                        return refuse(format!(
                            "column {number} cannot be touched in rows of {cell}: give --columns {number}, or --touch \
                             column-last"
                        ));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    pub(super) fn asked(&self) -> Asked {
        Asked {
            directory: self.directory.clone(),
            cells: self.cells(),
            accesses: self.accesses(),
            touches: self.touches(),
            threads: self.threads.clone(),
            changed_rows: self.changed_rows.clone(),
            seed: self.seed,
            reload: self.reload,
        }
    }

    pub(super) fn cells(&self) -> Vec<Cell> {
        let payload = self.payload();
        let of_length = |row_length: &u32| {
            let row_length = *row_length;
            self.columns.iter().map(move |columns| Cell { row_length, columns: *columns, payload })
        };
        self.row_lengths.iter().flat_map(of_length).collect()
    }

    /// Bytes of a table.
    pub(super) fn payload(&self) -> u64 {
        self.payload.unwrap_or(self.on.usual(PAYLOAD, PAYLOAD_BESIDE)).0
    }

    pub(super) fn accesses(&self) -> Vec<Access> {
        let usual = || self.on.usual(vec![Access::FullScan], vec![Access::FullScan, Access::Rowid, Access::Index]);
        if self.accesses.is_empty() { usual() } else { self.accesses.clone() }
    }

    pub(super) fn touches(&self) -> Vec<TouchAxis> {
        let rows = TouchAxis::Every(Touch::Rows);
        let usual = || self.on.usual(vec![rows], vec![rows, TouchAxis::LastColumn]);
        if self.touches.is_empty() { usual() } else { self.touches.clone() }
    }

    /// Whether any reader looks at what was before a change.
    pub(super) fn changes(&self) -> bool {
        self.changed_rows.iter().any(|percent| *percent > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_from_a_file_and_lack_only_what_has_a_default() {
        let text = r#"{"on": ["postgres:18"], "payload": "64MiB", "touches": ["column-last"], "accesses": ["index"]}"#;
        let parameters: LioParameters = serde_json::from_str(text).unwrap();
        assert_eq!((parameters.payload(), parameters.repeat), (64 << 20, 7));
        assert_eq!(parameters.touches, [TouchAxis::LastColumn]);
        let again: LioParameters = serde_json::from_str(&serde_json::to_string(&parameters).unwrap()).unwrap();
        assert_eq!(again.on.iter().map(|place| place.word()).collect::<Vec<_>>(), ["postgres:18"]);
        assert!(serde_json::from_str::<LioParameters>(r#"{"payloads": 1}"#).is_err());
    }

    #[test]
    fn a_subject_that_is_named_twice_is_refused() {
        let of = |on: &str| LioParameters { on: on.parse().unwrap(), ..LioParameters::default() }.check();
        assert!(of("sqlite,sqlite?page_size=8192").is_ok());
        let refused = of("sqlite,engine,sqlite?page_size=4096").unwrap_err().to_string();
        assert_eq!(refused, "--on names sqlite twice, and its cases could not be told apart: name it once");
    }

    #[test]
    fn a_number_of_columns_that_no_row_has_is_refused_as_such_whatever_is_touched() {
        for columns in [0, 256] {
            let (columns_of_rows, touches) = (vec![columns], vec![TouchAxis::LastColumn]);
            let parameters = LioParameters { columns: columns_of_rows, touches, ..LioParameters::default() };
            let refused = parameters.check().unwrap_err().to_string();
            assert_eq!(refused, format!("a row has 1 to 255 columns, not {columns}"));
        }
    }
}
