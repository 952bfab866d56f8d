//! readpath as a contender: its command line, and what its run document says.

use std::path::Path;

use measure::quantity::format_size;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::program::{argv, output_of};
use crate::run_document::{metric, parse};
use crate::workload::{Pattern, Reading, Turn, Workload};

/// One turn: what was read, and the whole document for those who want more of it.
pub(crate) struct ReaderTurn {
    pub(crate) reading: Reading,
    pub(crate) document: Value,
}

/// The reader's command line for one turn.
pub(crate) fn command(arguments: &Arguments, workload: &Workload, file: &Path, turn: Turn) -> Vec<String> {
    let pattern = match workload.pattern {
        Pattern::Random => "random",
        Pattern::Sequential => "sequential",
    };
    let mut command = argv([
        arguments.readpath.display().to_string(),
        "disk".into(),
        file.display().to_string(),
        format!("--pattern={pattern}"),
        format!("--block-size={}", format_size(workload.block_bytes)),
        format!("--depth={}", workload.depth),
        format!("--duration={}ms", turn.milliseconds),
        format!("--seed={}", turn.seed),
    ]);
    command.extend(argv(["--direct", "--format=json", "--no-store", "--quiet"]));
    command.extend(argv(arguments.reader_arguments.split_whitespace()));
    command
}

/// One turn of the reader.
pub(crate) fn take_turn(
    arguments: &Arguments,
    workload: &Workload,
    file: &Path,
    turn: Turn,
) -> Result<ReaderTurn, String> {
    let document = parse(&output_of(&command(arguments, workload, file, turn))?)?;
    Ok(ReaderTurn { reading: reading(&document)?, document })
}

/// Takes a reading from the document's first case.
pub(crate) fn reading(document: &Value) -> Result<Reading, String> {
    let metrics = &document["cases"][0]["metrics"];
    let median = |name, unit| metric(metrics, name, unit, "median");
    Ok(Reading {
        iops: median("iops", "1/s")?,
        cpu_us: median("cpu_per_read", "us")?,
        latency_us: median("read_latency", "us")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"{"cases": [{"metrics": [
        {"name": "iops", "unit": "1/s", "median": 13600.0},
        {"name": "cpu_per_read", "unit": "us", "median": 4.5},
        {"name": "read_latency", "unit": "us", "median": 79.0, "mean": 81.0}]}]}"#;

    #[test]
    fn a_reading_takes_the_metrics_by_name() {
        let reading = reading(&parse(OUTPUT).unwrap()).unwrap();
        assert_eq!(reading, Reading { iops: 13_600.0, cpu_us: 4.5, latency_us: 79.0 });
    }

    #[test]
    fn a_missing_metric_or_another_unit_is_an_error_and_not_zero() {
        let renamed = parse(&OUTPUT.replace("cpu_per_read", "cpu")).unwrap();
        assert!(reading(&renamed).unwrap_err().contains("`cpu_per_read`"));
        let other_unit = parse(&OUTPUT.replace("\"us\", \"median\": 4.5", "\"ns\", \"median\": 4.5")).unwrap();
        assert!(reading(&other_unit).unwrap_err().contains("not in us"));
        assert!(parse("not json").is_err());
    }
}
