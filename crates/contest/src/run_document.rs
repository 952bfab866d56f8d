//! What readpath's run document says.

use serde_json::Value;

/// The run document that readpath printed.
pub(crate) fn parse(output: &str) -> Result<Value, String> {
    serde_json::from_str(output).map_err(|error| format!("readpath printed no run document: {error}"))
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
