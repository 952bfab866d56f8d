//! readpath as a contender: its command line, and what its run document says.

use std::path::Path;

use measure::quantity::format_size;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::program::{argv, output_of};
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
    let document = document(&output_of(&command(arguments, workload, file, turn))?)?;
    Ok(ReaderTurn { reading: reading(&document)?, document })
}

/// The run document that the reader printed.
pub(crate) fn document(output: &str) -> Result<Value, String> {
    serde_json::from_str(output).map_err(|error| format!("readpath printed no run document: {error}"))
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

/// A statistic of the metric of this name in a list of metrics. A missing metric is an error: a bar that compares
/// with nothing would be met by nothing.
pub(crate) fn metric(metrics: &Value, name: &str, unit: &str, statistic: &str) -> Result<f64, String> {
    let all = metrics.as_array().map(Vec::as_slice).unwrap_or_default();
    let found = all.iter().find(|metric| metric["name"] == name);
    let metric = found.ok_or_else(|| format!("readpath's run document has no metric `{name}`"))?;
    if metric["unit"] != unit {
        return Err(format!("readpath's metric `{name}` is in {}, not in {unit}", metric["unit"]));
    }
    metric[statistic].as_f64().ok_or_else(|| format!("readpath's metric `{name}` has no {statistic}"))
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
        let reading = reading(&document(OUTPUT).unwrap()).unwrap();
        assert_eq!(reading, Reading { iops: 13_600.0, cpu_us: 4.5, latency_us: 79.0 });
    }

    #[test]
    fn a_missing_metric_or_another_unit_is_an_error_and_not_zero() {
        let renamed = document(&OUTPUT.replace("cpu_per_read", "cpu")).unwrap();
        assert!(reading(&renamed).unwrap_err().contains("`cpu_per_read`"));
        let other_unit = document(&OUTPUT.replace("\"us\", \"median\": 4.5", "\"ns\", \"median\": 4.5")).unwrap();
        assert!(reading(&other_unit).unwrap_err().contains("not in us"));
        assert!(document("not json").is_err());
    }
}
