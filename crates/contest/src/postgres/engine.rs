//! readpath's engine as a contender: its command line, and what its run document says.

use measure::quantity::format_size;
use serde_json::Value;

use crate::postgres::arguments::Arguments;
use crate::postgres::cell::{Cell, TOUCHES, Touch};
use crate::program::{argv, output_of};
use crate::run_document::{metric, parse};

/// How often the engine scans each table in one turn; the median counts.
const REPEATS: usize = 7;

/// The parameter of a case that the engine measured to check another one.
const CHECK: &str = "check";

/// The engine's command line for one turn.
pub(crate) fn command(arguments: &Arguments) -> Vec<String> {
    let list = |numbers: &[u32]| argv(numbers).join(",");
    let mut command = argv([
        arguments.options.readpath(),
        "lio".into(),
        format!("--payload={}", format_size(arguments.payload)),
        format!("--row-length={}", list(&arguments.row_length)),
        format!("--columns={}", list(&arguments.columns)),
        format!("--repeat={REPEATS}"),
    ]);
    command.extend(argv(["--touch=rows,column-last", "--format=json", "--no-store", "--quiet"]));
    command.extend(argv(arguments.lio_arguments.split_whitespace()));
    command
}

/// One turn over all cells: times per block in µs, in the order of the cells, and of the touches within each.
pub(crate) fn take_turn(arguments: &Arguments, cells: &[Cell]) -> Result<Vec<f64>, String> {
    let document = parse(&output_of(&command(arguments))?)?;
    let readings = cells.iter().flat_map(|cell| TOUCHES.map(|touch| lio_us(&document, *cell, touch)));
    readings.collect()
}

fn lio_us(document: &Value, cell: Cell, touch: Touch) -> Result<f64, String> {
    let cases = document["cases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let case = cases.iter().find(|case| is_of(&case["parameters"], cell, touch));
    let case = case.ok_or_else(|| format!("readpath's run document has no case of {cell}, {}", touch.name()))?;
    metric(&case["metrics"], "lio", "us", "median")
}

/// Whether a case is the plain scan of this cell: block after block, one thread, nothing changed.
fn is_of(parameters: &Value, cell: Cell, touch: Touch) -> bool {
    parameters["row_length"] == cell.row_length
        && parameters["columns"] == cell.columns
        && parameters["touch"] == touch.parameter(cell)
        && parameters["access"] == "full-scan"
        && parameters["threads"] == 1
        && parameters["changed_rows"] == 0
        && parameters.get(CHECK).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CELL: Cell = Cell { row_length: 250, columns: 5 };

    fn parameters(touch: &str, threads: u32) -> Value {
        json!({
            "row_length": 250, "columns": 5, "access": "full-scan", "touch": touch, "threads": threads,
            "changed_rows": 0,
        })
    }

    #[test]
    fn a_cell_is_found_among_other_axes() {
        let case = |touch, threads, lio: f64| {
            let metric = json!({ "name": "lio", "unit": "us", "median": lio });
            json!({ "parameters": parameters(touch, threads), "metrics": [metric] })
        };
        let document = json!({ "cases": [case("column-5", 1, 0.9), case("rows", 2, 0.7), case("rows", 1, 0.3)] });
        assert_eq!(lio_us(&document, CELL, Touch::Rows), Ok(0.3));
        assert_eq!(lio_us(&document, CELL, Touch::LastColumn), Ok(0.9));
        assert!(lio_us(&document, Cell::new(250, 1), Touch::Rows).unwrap_err().contains("250 x 1"));
    }

    #[test]
    fn only_the_plain_scan_is_compared() {
        assert!(is_of(&parameters("rows", 1), CELL, Touch::Rows));
        for (name, value) in [("changed_rows", json!(10)), ("access", json!("rowid")), (CHECK, json!("population"))] {
            let mut other = parameters("rows", 1);
            other[name] = value;
            assert!(!is_of(&other, CELL, Touch::Rows), "{name}");
        }
    }
}
