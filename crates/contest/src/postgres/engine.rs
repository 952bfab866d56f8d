//! readpath's engine as a contender: its command line, and what its run says.

use measure::quantity::format_size;
use measure::schema::lio::{self, parameters};
use measure::{Case, Run};

use crate::kept_run::{run_of, statistics};
use crate::postgres::cell::{Cell, TOUCHES, Touch};
use crate::program::argv;

/// How often the engine scans each table in one turn; the median counts.
const REPEATS: usize = 7;

/// The parameter of a case that the engine measured to check another one.
const CHECK: &str = "check";

/// The engine over all cells.
pub(crate) struct Engine<'a> {
    /// The binary.
    pub(crate) program: String,
    /// Bytes of each table.
    pub(crate) payload: u64,
    /// Bytes of a row.
    pub(crate) row_lengths: &'a [u32],
    /// Columns of a row.
    pub(crate) columns: &'a [u32],
    /// More arguments for `readpath lio`.
    pub(crate) more: &'a str,
}

impl Engine<'_> {
    /// One turn: times per block in µs, in the order of the cells, and of the touches within each.
    pub(crate) fn take_turn(&self, cells: impl Iterator<Item = Cell>) -> Result<Vec<f64>, String> {
        let run = run_of(&self.command())?;
        cells.flat_map(|cell| TOUCHES.map(|touch| lio_us(&run, cell, touch))).collect()
    }

    fn command(&self) -> Vec<String> {
        let list = |numbers: &[u32]| argv(numbers).join(",");
        let mut command = argv([
            self.program.clone(),
            "lio".into(),
            format!("--payload={}", format_size(self.payload)),
            format!("--row-length={}", list(self.row_lengths)),
            format!("--columns={}", list(self.columns)),
            format!("--repeat={REPEATS}"),
        ]);
        command.extend(argv(["--touch=rows,column-last", "--format=json", "--no-store", "--quiet"]));
        command.extend(argv(self.more.split_whitespace()));
        command
    }
}

fn lio_us(run: &Run, cell: Cell, touch: Touch) -> Result<f64, String> {
    let case = run.cases.iter().find(|case| is_of(case, cell, touch));
    let case = case.ok_or_else(|| format!("readpath's run has no case of {}", cell.question(touch)))?;
    statistics(&case.metrics, &lio::LIO).map(|lio| lio.median)
}

/// Whether a case is the plain scan of this cell: block after block, one thread, nothing changed.
fn is_of(case: &Case, cell: Cell, touch: Touch) -> bool {
    let expected = [
        (parameters::ROW_LENGTH, cell.row_length.to_string()),
        (parameters::COLUMNS, cell.columns.to_string()),
        (parameters::TOUCH, touch.parameter(cell)),
        (parameters::ACCESS, "full-scan".into()),
        (parameters::THREADS, "1".into()),
        (parameters::CHANGED_ROWS, "0".into()),
    ];
    let is_measured = case.parameter(CHECK).is_none();
    is_measured && expected.into_iter().all(|(parameter, value)| parameter.in_case(case) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept_run::parse;
    use serde_json::json;

    const CELL: Cell = Cell { row_length: 250, columns: 5 };

    fn case(touch: &str, threads: u32, us: f64) -> Case {
        let parameters = json!({
            "row_length": 250, "columns": 5, "access": "full-scan", "touch": touch, "threads": threads,
            "changed_rows": 0,
        });
        let mut case = Case::new(parameters.as_object().unwrap().clone());
        case.metrics.push(lio::LIO.single("test", us));
        case
    }

    #[test]
    fn a_cell_is_found_among_other_axes() {
        let run = r#"{"schema": "readpath.run/1", "id": "", "command": [], "started": "", "host": {},
            "experiment": "lio", "subject": {}, "findings": [], "cases": []}"#;
        let mut run = parse(run).unwrap();
        run.cases = vec![case("column-5", 1, 0.9), case("rows", 2, 0.7), case("rows", 1, 0.3)];
        assert_eq!(lio_us(&run, CELL, Touch::Rows), Ok(0.3));
        assert_eq!(lio_us(&run, CELL, Touch::LastColumn), Ok(0.9));
        assert!(lio_us(&run, Cell::new(250, 1), Touch::Rows).unwrap_err().contains("250 x 1"));
    }

    #[test]
    fn only_the_plain_scan_is_compared() {
        assert!(is_of(&case("rows", 1, 0.3), CELL, Touch::Rows));
        for (name, value) in [("changed_rows", json!(10)), ("access", json!("rowid")), (CHECK, json!("population"))] {
            let mut other = case("rows", 1, 0.3);
            other.parameters.insert(name.into(), value);
            assert!(!is_of(&other, CELL, Touch::Rows), "{name}");
        }
    }
}
