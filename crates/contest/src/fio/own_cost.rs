//! What a read costs the reader itself: its null device, beside fio's null engine.

use measure::{Statistics, Unit};
use serde_json::Value;

use crate::bars::Bar;
use crate::fio::wanted::NULL_READ_NS;
use crate::run_document::metric;

/// The metric of the run document's `own_cost`.
const METRIC: &str = "null_device_read";

/// The bar of the reader's own cost, from the run documents of all turns; `peer_ns` is what fio's null engine needs.
pub(crate) fn bar(own_costs: &[Result<f64, String>], peer_ns: Result<f64, String>) -> Bar {
    let peer = peer_ns.map_or_else(|reason| reason, |ns| format!("fio's null engine {ns:.0} ns"));
    let known: Result<Vec<f64>, String> = own_costs.iter().cloned().collect();
    let measured = known.and_then(|values| Statistics::of_samples(&values).ok_or_else(|| "no turn was made".into()));
    Bar {
        name: format!("null device, ns per read ({peer})"),
        wanted: NULL_READ_NS,
        word: "dearer",
        unit: Unit::Nanoseconds,
        measured,
    }
}

/// The cost that one run document states, in ns.
pub(crate) fn of_document(document: &Value) -> Result<f64, String> {
    metric(&document["own_cost"], METRIC, "ns", "median")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Verdict;
    use serde_json::json;

    #[test]
    fn the_cost_is_taken_from_the_run_document() {
        let document = json!({ "own_cost": [{ "name": "null_device_read", "unit": "ns", "median": 61.0 }] });
        assert_eq!(of_document(&document), Ok(61.0));
        assert!(of_document(&json!({ "own_cost": [] })).unwrap_err().contains("null_device_read"));
    }

    #[test]
    fn a_dear_null_device_is_noticed() {
        let bar = bar(&[Ok(150.0), Ok(160.0), Ok(155.0)], Ok(170.0));
        assert_eq!(bar.verdict(), Verdict::Missed(35.0));
        assert!(bar.sentence().contains("fio's null engine 170 ns"));
    }

    #[test]
    fn one_turn_without_the_cost_leaves_the_bar_unjudged() {
        assert_eq!(bar(&[Ok(50.0), Err("no metric".into())], Ok(1.0)).verdict(), Verdict::Unanswered);
    }
}
