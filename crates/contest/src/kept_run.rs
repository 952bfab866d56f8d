//! What readpath's own runs say: the run documents that its binary prints.

use measure::schema::Spec;
use measure::{Metric, Run, Statistics};

use crate::program::output_of;

/// Runs the command, which prints a run document.
pub(crate) fn run_of(command: &[String]) -> Result<Run, String> {
    parse(&output_of(command)?)
}

/// The run document that readpath printed.
pub(crate) fn parse(output: &str) -> Result<Run, String> {
    serde_json::from_str(output).map_err(|error| format!("readpath printed no run document: {error}"))
}

/// Statistics of a metric. A missing metric or one in another unit is an error: a bar that compares with nothing would
/// be met by nothing.
pub(crate) fn statistics(metrics: &[Metric], spec: &Spec) -> Result<Statistics, String> {
    let found = metrics.iter().find(|metric| metric.name == spec.name);
    let metric = found.ok_or_else(|| format!("readpath's run has no metric `{}`", spec.name))?;
    if metric.unit != spec.unit {
        let (is, should) = (metric.unit.symbol(), spec.unit.symbol());
        return Err(format!("readpath's metric `{}` is in {is}, not in {should}", spec.name));
    }
    Ok(metric.statistics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Unit;
    use measure::schema::reads::CPU_PER_READ;

    #[test]
    fn a_missing_metric_or_another_unit_is_an_error_and_not_zero() {
        let of = |name: &str, unit| {
            let mut metric = CPU_PER_READ.single("test", 4.5);
            (metric.name, metric.unit) = (name.into(), unit);
            statistics(&[metric], &CPU_PER_READ)
        };
        assert_eq!(of("cpu_per_read", Unit::Microseconds).unwrap().median, 4.5);
        assert!(of("cpu", Unit::Microseconds).unwrap_err().contains("`cpu_per_read`"));
        assert!(of("cpu_per_read", Unit::Nanoseconds).unwrap_err().contains("not in us"));
        assert!(parse("not json").is_err());
    }
}
