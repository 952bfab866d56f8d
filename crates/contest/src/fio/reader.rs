//! readpath as a contender: its command line, and what its run document says.

use std::path::Path;

use measure::quantity::format_size;
use serde_json::Value;

use crate::fio::arguments::Arguments;
use crate::fio::workload::{Pattern, Reading, Turn, Workload};
use crate::program::{argv, output_of};
use crate::run_document::{metric, parse};

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
        arguments.options.readpath(),
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

/// Takes a reading from the document's cases.
///
/// A turn in which the rate changed for good has a case for each stretch, and the last one has what counts for the
/// whole turn. fio averages over the change, so here it is averaged too: rates by the time they held, and the latency
/// of the longest stretch. The rate is the mean of its windows, reads over time, as fio's is.
pub(crate) fn reading(document: &Value) -> Result<Reading, String> {
    let cases = document["cases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = cases.last().ok_or("readpath's run document has no case")?;
    let of = |case: &Value, name, unit, statistic| metric(&case["metrics"], name, unit, statistic);
    let cpu_us = of(last, "cpu_per_read", "us", "median")?;
    let (mut reads, mut seconds, mut longest) = (0.0, 0.0, (0.0, 0.0));
    for case in cases {
        let elapsed = of(case, "elapsed", "s", "median")?;
        reads += of(case, "iops", "1/s", "mean")? * elapsed;
        seconds += elapsed;
        if elapsed > longest.0 {
            longest = (elapsed, of(case, "read_latency", "us", "median")?);
        }
    }
    Ok(Reading { iops: reads / seconds, cpu_us, latency_us: longest.1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"{"cases": [{"metrics": [
        {"name": "iops", "unit": "1/s", "median": 14000.0, "mean": 13600.0},
        {"name": "elapsed", "unit": "s", "median": 2.0},
        {"name": "cpu_per_read", "unit": "us", "median": 4.5},
        {"name": "read_latency", "unit": "us", "median": 79.0, "mean": 81.0}]}]}"#;

    #[test]
    fn a_reading_takes_the_metrics_by_name() {
        let reading = reading(&parse(OUTPUT).unwrap()).unwrap();
        assert_eq!(reading, Reading { iops: 13_600.0, cpu_us: 4.5, latency_us: 79.0 });
    }

    #[test]
    fn a_rate_that_changed_is_averaged_over_the_whole_turn_as_fio_does() {
        let document = parse(
            r#"{"cases": [
            {"metrics": [{"name": "iops", "unit": "1/s", "mean": 1000.0},
                {"name": "elapsed", "unit": "s", "median": 3.0},
                {"name": "read_latency", "unit": "us", "median": 70.0}]},
            {"metrics": [{"name": "iops", "unit": "1/s", "mean": 3000.0},
                {"name": "elapsed", "unit": "s", "median": 1.0},
                {"name": "read_latency", "unit": "us", "median": 30.0},
                {"name": "cpu_per_read", "unit": "us", "median": 4.5}]}]}"#,
        );
        let expected = Reading { iops: 1500.0, cpu_us: 4.5, latency_us: 70.0 };
        assert_eq!(reading(&document.unwrap()).unwrap(), expected);
        assert!(reading(&parse(r#"{"cases": []}"#).unwrap()).is_err());
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
