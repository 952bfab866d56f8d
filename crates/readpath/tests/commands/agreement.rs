//! Whether two runs of the same command agree, figure by figure, and what of their findings explains a figure that
//! differs.

use serde_json::{Value, json};

use crate::user::{ids, median, metric};

/// Ratios within which two medians are the same.
const SAME: f64 = 1.1;

/// What other programs on the machine or the server can make a figure dearer by: a core that is shared gives each of
/// two threads half of it.
const SHARED: f64 = 2.0;

/// Findings of a run in which others took a part of what was measured. They make figures dearer, never cheaper.
const OTHERS: [&str; 5] = ["server-busy", "machine-busy", "core-shared", "stolen-time", "cpu-throttled"];

/// A run's document and one of its cases.
pub(crate) type Of<'a> = (&'a Value, &'a Value);

/// Why a figure of two runs differs although both ran the same; `None` where nothing that they say explains it. A
/// figure that is the same needs no reason.
pub(crate) fn reason(one: Of<'_>, other: Of<'_>, name: &str) -> Option<&'static str> {
    let (dear, cheap) = if median(one.1, name) > median(other.1, name) { (one, other) } else { (other, one) };
    let ratio = median(dear.1, name) / median(cheap.1, name);
    let samples = [dear, cheap].map(|(_, case)| metric(case, name));
    let value = |metric: &Value, name: &str| metric[name].as_f64().unwrap();
    let is_apart = |metric: &Value| {
        let half = (value(metric, "max") - value(metric, "min")) / 2.0;
        half / value(metric, "median") > SAME - 1.0
    };
    let said = |(document, _): Of<'_>, id: &str| ids(document).contains(&id);
    // The samples of this very case, and not those of another that the finding may be about.
    let scatter = [dear, cheap].iter().zip(samples).any(|(of, metric)| is_apart(metric) && said(*of, "samples-apart"));
    let [dear_samples, cheap_samples] = samples;
    // The cost in cycles is the same where the frequency alone changed.
    let has_clock = [dear, cheap].iter().all(|(_, case)| case.to_string().contains("\"core_clock\""));
    let in_cycles = || ratio * median(dear.1, "core_clock") / median(cheap.1, "core_clock");
    match () {
        () if ratio <= SAME => Some("same"),
        () if scatter && value(dear_samples, "min") <= value(cheap_samples, "max") => Some("samples-apart"),
        () if has_clock && (1.0 / SAME..=SAME).contains(&in_cycles()) => Some("core-clock-changed"),
        () if ratio <= SHARED => OTHERS.into_iter().find(|id| said(dear, id)),
        () => None,
    }
}

/// A run of one case, whose samples lie between these values, at this frequency, with these findings.
fn run([min, median, max]: [f64; 3], clock: f64, findings: &[&str]) -> Value {
    let metric =
        |name: &str, [min, median, max]: [f64; 3]| json!({"name": name, "min": min, "median": median, "max": max});
    let metrics = [metric("lio", [min, median, max]), metric("core_clock", [clock; 3])];
    let findings: Vec<Value> = findings.iter().map(|id| json!({"id": id})).collect();
    json!({"cases": [{"metrics": metrics}], "findings": findings})
}

#[test]
fn a_figure_that_differs_is_excused_by_what_explains_it_and_by_nothing_else() {
    let reason = |one: &Value, other: &Value| {
        let there = reason((one, &one["cases"][0]), (other, &other["cases"][0]), "lio");
        assert_eq!(there, reason((other, &other["cases"][0]), (one, &one["cases"][0]), "lio"), "in either order");
        there
    };
    let cheap = run([0.99, 1.0, 1.01], 4.0, &[]);
    let dear = |findings: &[&str]| run([1.29, 1.3, 1.31], 4.0, findings);
    assert_eq!(reason(&cheap, &run([1.0, 1.09, 1.2], 4.0, &[])), Some("same"));
    assert_eq!(reason(&cheap, &dear(&[])), None);
    assert_eq!(reason(&cheap, &dear(&["samples-apart"])), None, "those of another case lie apart");
    let wide = |findings: &[&str]| run([1.0, 1.3, 1.6], 4.0, findings);
    assert_eq!(reason(&cheap, &wide(&["samples-apart"])), Some("samples-apart"));
    assert_eq!(reason(&cheap, &wide(&[])), None, "the run has to say so");
    let apart = run([1.1, 1.3, 1.6], 4.0, &["samples-apart"]);
    assert_eq!(reason(&cheap, &apart), None, "every sample is dearer than each of the other run");
    assert_eq!(reason(&cheap, &dear(&["machine-busy"])), Some("machine-busy"));
    let busy = run([0.99, 1.0, 1.01], 4.0, &["machine-busy", "server-busy"]);
    assert_eq!(reason(&busy, &dear(&[])), None, "who is disturbed is not the cheaper one");
    assert_eq!(reason(&cheap, &run([2.3, 2.4, 2.5], 4.0, &["machine-busy"])), None, "nor as dear as that");
    assert_eq!(reason(&cheap, &dear(&["core-clock-changed"])), None, "the frequency of this case is the same");
    assert_eq!(reason(&cheap, &run([1.29, 1.3, 1.31], 3.1, &[])), Some("core-clock-changed"));
    assert_eq!(reason(&cheap, &run([1.29, 1.3, 1.31], 3.9, &[])), None);
}
