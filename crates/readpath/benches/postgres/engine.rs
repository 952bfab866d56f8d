//! readpath's engine as a contender: its command line, and what its run document says.

use measure::quantity::format_size;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::cell::{Cell, TOUCHES, Touch};
use crate::program::{argv, output_of};
use crate::run_document::{metric, parse};

/// How often the engine scans each table in one turn; the median counts.
const REPEATS: usize = 7;

/// The parameters of a plain scan, where a case tells them: one thread, block after block, nothing changed.
const PLAIN: [(&str, &[&str]); 3] =
    [("access", &["\"full-scan\""]), ("threads", &["1"]), ("changed", &["0", "0.0", "\"0\"", "\"0%\""])];

/// One turn: the time per block in µs of all cells and touches, and the whole document.
pub(crate) struct EngineTurn {
    pub(crate) lio_us: Vec<f64>,
    pub(crate) document: Value,
}

/// The engine's command line for one turn.
pub(crate) fn command(arguments: &Arguments) -> Vec<String> {
    let list = |numbers: &[u32]| argv(numbers).join(",");
    let mut command = argv([
        arguments.readpath.display().to_string(),
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

/// One turn over all cells; times in the order of the cells, and of the touches within each.
pub(crate) fn take_turn(arguments: &Arguments, cells: &[Cell]) -> Result<EngineTurn, String> {
    let document = parse(&output_of(&command(arguments))?)?;
    let readings = cells.iter().flat_map(|cell| TOUCHES.map(|touch| lio_us(&document, *cell, touch)));
    let lio_us = readings.collect::<Result<Vec<f64>, String>>()?;
    Ok(EngineTurn { lio_us, document })
}

fn lio_us(document: &Value, cell: Cell, touch: Touch) -> Result<f64, String> {
    let cases = document["cases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let case = cases.iter().find(|case| is_of(&case["parameters"], cell, touch));
    let case = case.ok_or_else(|| format!("readpath's run document has no case of {cell}, {}", touch.name()))?;
    metric(&case["metrics"], "lio", "us", "median")
}

fn is_of(parameters: &Value, cell: Cell, touch: Touch) -> bool {
    let plain = |(name, values): &(&str, &[&str])| {
        parameters.get(name).is_none_or(|value| values.contains(&value.to_string().as_str()))
    };
    parameters["row_length"] == cell.row_length
        && parameters["columns"] == cell.columns
        && parameters["touch"] == touch.parameter(cell)
        && PLAIN.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn case(touch: &str, threads: u32, lio: f64) -> Value {
        json!({
            "parameters":
                { "row_length": 250, "columns": 5, "touch": touch, "access": "full-scan", "threads": threads },
            "metrics": [{ "name": "lio", "unit": "us", "median": lio }],
        })
    }

    #[test]
    fn a_cell_is_found_among_other_axes() {
        let cases = [case("column-5", 1, 0.9), case("rows", 2, 0.7), case("rows", 1, 0.3)];
        let document = json!({ "cases": cases });
        assert_eq!(lio_us(&document, Cell::new(250, 5), Touch::Rows), Ok(0.3));
        assert_eq!(lio_us(&document, Cell::new(250, 5), Touch::LastColumn), Ok(0.9));
        assert!(lio_us(&document, Cell::new(250, 1), Touch::Rows).unwrap_err().contains("250 x 1"));
    }

    #[test]
    fn a_scan_of_changed_rows_is_not_the_plain_one() {
        let cell = Cell::new(250, 5);
        let parameters =
            |changed: Value| json!({ "row_length": 250, "columns": 5, "touch": "rows", "changed": changed });
        assert!(is_of(&parameters(json!(0)), cell, Touch::Rows) && is_of(&parameters(json!(0.0)), cell, Touch::Rows));
        assert!(!is_of(&parameters(json!(10)), cell, Touch::Rows));
    }
}
