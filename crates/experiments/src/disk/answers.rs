//! What the disk experiment's numbers say, in sentences.

use device::model::hard_disk::HardDiskParameters;
use measure::Finding;
use measure::quantity::{format_nanos, size_in_words, three_digits};

use super::{DiskParameters, Zone};
use crate::journal::Journal;
use crate::reading::{Answer, capitalised};

/// Differences of place below this are noise on a shared machine.
const PLACE_MATTERS: f64 = 1.15;

/// The published elapsed times against the outer zone: 17.4 s and 32.7 s against 11.4 s.
const PUBLISHED_INNER: f64 = 1.5;
const PUBLISHED_BOTH: f64 = 2.9;

/// The published milliseconds a read.
const PUBLISHED_MILLIS: [(Zone, f64); 3] = [(Zone::Outer, 5.7), (Zone::Inner, 8.7), (Zone::Both, 16.4)];

fn micros(value: f64) -> String {
    format_nanos(value * 1e3)
}

/// One sentence on what a read takes, and who answered.
pub(super) fn whole(parameters: &DiskParameters, path: &str, answer: &Answer, journal: &mut dyn Journal) {
    if answer.interrupted {
        return;
    }
    let (Some(latency), Some(iops)) = (answer.metric("read_latency"), answer.metric("iops")) else { return };
    let tail =
        latency.statistics.p99.map_or(String::new(), |p99| format!(", one in a hundred {} or more", micros(p99)));
    let by = answer.verdict.as_ref().map_or("the model", |verdict| match verdict.tier {
        device::tier::Tier::PageCache => "the page cache",
        device::tier::Tier::Storage => "storage",
        device::tier::Tier::Mixed { .. } => "page cache and storage together",
        device::tier::Tier::NeverWritten => "the file system itself (the blocks were never written)",
        device::tier::Tier::Unknown => "nobody who could be named",
    });
    let proof = answer.verdict.as_ref().map_or(String::new(), |verdict| format!(": {}", verdict.proof));
    journal.find(Finding::info(
        "answer-read",
        format!(
            "A {} read of {}{} takes {} with {} in flight{tail}: {} reads a second. {} answered{proof}.",
            parameters.pattern.name(),
            size_in_words(parameters.block_size as u64),
            if parameters.paths.len() > 1 { format!(" of {path}") } else { String::new() },
            micros(latency.median()),
            parameters.depth * parameters.workers,
            three_digits(iops.statistics.mean),
            capitalised(by),
        ),
    ));
}

/// Whether place matters, beside the published disk.
pub(super) fn zones(answered: &[(Zone, Answer)], journal: &mut dyn Journal) {
    let of = |wanted: Zone| answered.iter().find(|(zone, _)| *zone == wanted).map(|(_, answer)| answer);
    let per_read = |wanted: Zone| of(wanted)?.metric("iops").map(|iops| 1.0 / iops.statistics.mean);
    let median = |wanted: Zone| of(wanted)?.metric("read_latency").map(measure::Metric::median);
    let Some(outer) = per_read(Zone::Outer) else { return };
    let ratios: Vec<(Zone, f64, f64)> = [(Zone::Inner, PUBLISHED_INNER), (Zone::Both, PUBLISHED_BOTH)]
        .into_iter()
        .filter_map(|(zone, published)| Some((zone, per_read(zone)? / outer, published)))
        .collect();
    if ratios.is_empty() {
        return;
    }
    let clause = |(zone, ratio, published): &(Zone, f64, f64)| {
        let name = if *zone == Zone::Inner { "the inner zone" } else { "one worker in each" };
        format!("{name} {} times the outer zone (the disk of 2005: {published})", three_digits(*ratio))
    };
    let clauses = ratios.iter().map(clause).collect::<Vec<_>>().join(", ");
    // Mean and median both, and the same way: a few slow reads in one zone are noise, not a seek.
    let slower =
        |zone: Zone| median(zone).zip(median(Zone::Outer)).is_some_and(|(this, outer)| this >= outer * PLACE_MATTERS);
    let matters = ratios.iter().any(|(zone, ratio, _)| *ratio >= PLACE_MATTERS && slower(*zone));
    let verdict = if matters { "Place matters on this device" } else { "Place makes no difference on this device" };
    journal.find(Finding::info("answer-zones", format!("{verdict}: a read costs in {clauses}.")));
}

/// The model's zones beside the published ones, and what the model lacks: nothing of it was fitted to them.
pub(super) fn model_against_published(answered: &[(Zone, Answer)], journal: &mut dyn Journal) {
    let clauses: Vec<String> = PUBLISHED_MILLIS
        .iter()
        .filter_map(|(wanted, published)| {
            let (_, answer) = answered.iter().find(|(zone, _)| zone == wanted)?;
            let millis = 1e3 / answer.metric("iops")?.statistics.mean;
            Some(format!("{} {} ms (published {published})", wanted.name(), three_digits(millis)))
        })
        .collect();
    if clauses.is_empty() {
        return;
    }
    journal.find(Finding::info(
        "answer-model-published",
        format!(
            "A read on the model costs, over two workers: {}. The published figures are of another disk of these \
             years, read in zones of 2 GB by two processes of 1000 reads each, and nothing is fitted to them. The \
             model has seek, rotation, zones and a queue; it lacks remapped sectors, repeated reads, vibration and \
             the host's adapter, so where the published disk is slower inside than geometry explains, it is not.",
            clauses.join(", ")
        ),
    ));
}

/// What using the outer half of the capacity is worth, computed from the disk's own geometry and seek curve.
pub(super) fn outer_half(disk: &HardDiskParameters, journal: &mut dyn Journal) {
    let half = disk.outer_part(0.5);
    journal.find(Finding::info(
        "answer-outer-half",
        format!(
            "Keep the data on the outer half of the capacity: it lies on the outer {} % of the tracks, where the mean \
             seek is {} ms and not {}, so that one read at a time makes {} times as many random reads a second.",
            three_digits(half.cylinders * 100.0),
            three_digits(half.seek_ms),
            three_digits(half.whole_seek_ms),
            three_digits(half.rate_gain)
        ),
    ));
}

/// How far latency spreads over places or distances, and what that says about seeks.
pub(super) fn spread(what: &str, parameter: &str, answered: &[Answer], journal: &mut dyn Journal) {
    let mut medians: Vec<(f64, String)> = answered
        .iter()
        .filter_map(|answer| {
            let case = answer.cases.last()?;
            Some((case.metric("read_latency")?.median(), case.parameter(parameter)?))
        })
        .collect();
    medians.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (Some(least), Some(most)) = (medians.first(), medians.last()) else { return };
    let ratio = most.0 / least.0.max(f64::MIN_POSITIVE);
    let says = if ratio < PLACE_MATTERS {
        "there is no arm to move, or something in between hides it"
    } else {
        "repeat the run to tell seeks from noise"
    };
    journal.find(Finding::info(
        &format!("answer-{what}"),
        format!(
            "The median latency lies between {} and {} over every {what}, {} times: {says}.",
            micros(least.0),
            micros(most.0),
            three_digits(ratio)
        ),
    ));
}
