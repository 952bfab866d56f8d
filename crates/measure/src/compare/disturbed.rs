//! Which cases of a run were measured while something else was at work, as the run itself says.
//!
//! A finding speaks for its run. Where the case carries the numbers that the finding was made from, only the cases that
//! they concern are disturbed; where it does not, all of them are.

use crate::case::Case;
use crate::finding::Finding;
use crate::metric::Metric;
use crate::run::Run;
use crate::schema::conditions::{self, findings as machine};
use crate::schema::reads::findings as reads;
use crate::schema::subjects::findings as subjects;
use crate::schema::{FindingSpec, reads as read};
use crate::sorting::each_once;

/// A finding that says that something else was at work, and whether that was during this case.
struct Disturbance {
    row: FindingSpec,
    is_during: fn(&Run, &Finding, &Case) -> bool,
}

const DISTURBANCES: [Disturbance; 9] = [
    Disturbance { row: machine::CORE_SHARED, is_during: |_, finding, case| is_core_shared(finding, case) },
    Disturbance { row: machine::CORE_CLOCK_CHANGED, is_during: |_, _, case| has_clock_changed(case) },
    Disturbance { row: machine::STOLEN_TIME, is_during: |_, _, _| true },
    Disturbance { row: machine::CPU_THROTTLED, is_during: |_, _, _| true },
    Disturbance { row: machine::DEVICE_SHARED, is_during: |_, _, case| is_of_device(case) },
    Disturbance { row: reads::RATE_CHANGED, is_during: |run, _, case| has_rate_changed(run, case) },
    Disturbance { row: reads::LATENCY_CHANGED, is_during: |run, _, case| has_rate_changed(run, case) },
    Disturbance { row: subjects::SERVER_BUSY, is_during: |_, _, case| is_of_server(case) },
    Disturbance { row: subjects::MACHINE_BUSY, is_during: |_, _, _| true },
];

/// The ids of the findings of a run that say that something else was at work during one of its cases.
pub fn disturbances<'a>(run: &'a Run, case: &Case) -> Vec<&'a str> {
    let says_so =
        |finding: &Finding| DISTURBANCES.iter().any(|one| one.row.made(finding) && (one.is_during)(run, finding, case));
    each_once(run.findings.iter().filter(|finding| says_so(finding)).map(|finding| finding.id.as_str()))
}

/// Those of either of two runs, each once.
pub(super) fn of_both(before: (&Run, &Case), after: (&Run, &Case)) -> Vec<String> {
    let ids = disturbances(before.0, before.1).into_iter().chain(disturbances(after.0, after.1));
    each_once(ids.map(String::from))
}

fn is_core_shared(finding: &Finding, case: &Case) -> bool {
    let additions = conditions::CORE_ADDITIONS.in_case(case).map(|metric| metric.statistics.min);
    let best = finding.values.get("best").map(|best| best.value);
    additions.zip(best).is_none_or(|(least, best)| least < best * conditions::SHARED_CORE)
}

fn has_clock_changed(case: &Case) -> bool {
    let clock = conditions::CORE_CLOCK.in_case(case).map(|metric| metric.statistics);
    clock.is_none_or(|clock| clock.max - clock.min > clock.min * conditions::CORE_CLOCK_DRIFT)
}

/// A case of memory or of a processor reads no device.
fn is_of_device(case: &Case) -> bool {
    let is_of_reads = |metric: &Metric| [&read::READ_LATENCY, &read::IOPS].iter().any(|spec| spec.name == metric.name);
    case.metrics.iter().any(is_of_reads)
}

/// A reading that changed is in the run as its segments.
fn has_rate_changed(run: &Run, case: &Case) -> bool {
    let is_segment = |case: &Case| read::parameters::SEGMENT.in_case(case).is_some();
    is_of_device(case) && (is_segment(case) || !run.cases.iter().any(is_segment))
}

/// The engine beside a server takes nothing from it.
fn is_of_server(case: &Case) -> bool {
    case.parameter("subject").is_none_or(|subject| subject != "engine")
}
