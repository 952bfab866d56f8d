//! A contest: two questions, three contenders, and bars of which one is missed.

use measure::schema::contest::{self, findings};
use measure::{Case, Metric, Run, Unit};
use serde_json::json;

use super::{case, run};

fn contender(question: &str, contender: &str, [iops, cpu]: [f64; 2]) -> Case {
    let samples = |value: f64| [0.96, 1.0, 1.05].map(|part| value * part);
    let metrics: Vec<Metric> = [
        contest::IOPS.of_samples("five turns", &samples(iops)),
        contest::CPU_PER_READ.of_samples("five turns", &samples(cpu)),
    ]
    .into_iter()
    .flatten()
    .collect();
    case(json!({"question": question, "contender": contender}), metrics)
}

fn bar(name: &str, wanted: &str, unit: Unit, reached: f64) -> Case {
    case(json!({"bar": name, "wanted": wanted}), vec![contest::bar(unit).single("pairs", reached)])
}

/// The reader against two ways of fio.
pub(crate) fn contest() -> Run {
    let mut run = run("contest-fio", json!({"kind": "contest"}));
    run.cases = vec![
        contender("random-1", "readpath", [19_041.0, 20.3]),
        contender("random-1", "fio psync", [18_980.0, 19.6]),
        contender("random-1", "fio io_uring", [17_207.0, 22.5]),
        contender("random-128", "readpath", [106_620.0, 1.28]),
        contender("random-128", "fio io_uring", [103_295.0, 2.35]),
        bar("random 8 KiB, depth 1: IOPS in fio's", "at least 0.970", Unit::Ratio, 0.988),
        bar("random 8 KiB, depth 1: CPU per read in fio's", "at most 0.800", Unit::Ratio, 1.04),
        bar("random 8 KiB, depth 1: median latency in fio's", "0.850 to 1.15", Unit::Ratio, 1.0),
        bar("null device, ns per read", "at most 120", Unit::Nanoseconds, 28.5),
    ];
    run.findings = vec![
        findings::ANSWER_BARS.of("The bars: dearer (3 of 4 met)."),
        findings::BAR_MISSED.of("random 8 KiB, depth 1: CPU per read in fio's: 1.04, wanted at most 0.800."),
    ];
    run
}
