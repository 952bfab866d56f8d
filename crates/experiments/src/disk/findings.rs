//! What the disk experiment's numbers say, in sentences.

use device::Description;
use device::model::hard_disk::OuterPart;
use device::pattern::Pattern;
use device::plan::StopAfter;
use device::tier::Tier;
use measure::compare::ratio_interval;
use measure::quantity::{counted, format_nanos, grouped, size_in_words, three_digits};
use measure::schema::disk::findings as row;
use measure::schema::{Published, disk, reads};
use measure::sentence::capital;
use measure::sorting;
use measure::{Case, Finding, Metric, Statistics, Unit};

use super::parameters::Zone;
use super::workload::Workload;
use crate::reading::{BY_SCHEDULE, Measured};

/// Least ratio of two places, or of two distances, that is said to matter. On a shared machine, readings of one place
/// differ by up to as much, and a smaller gain is not worth moving data. The published disk has 1.5.
const PLACE_MATTERS: f64 = 1.15;

/// A time in microseconds, as a sentence writes it.
pub(crate) fn micros(value: f64) -> String {
    format_nanos(value * 1e3)
}

/// What a read takes on each path, and before it how the others compare with the first.
pub(super) fn whole(workload: &Workload, measured: &[(String, Measured)]) -> Vec<Finding> {
    let finished: Vec<_> = measured.iter().filter(|(_, one)| !one.interrupted).collect();
    let against = finished.iter().skip(1).filter_map(|other| against_first(finished[0], other));
    let each = finished.iter().filter_map(|(path, one)| of_path(workload, (measured.len() > 1).then_some(path), one));
    against.chain(each).collect()
}

/// Latency and rate of a path as multiples of those of the first.
fn against_first((first, one): &(String, Measured), (path, other): &(String, Measured)) -> Option<Finding> {
    let latency = |one: &Measured| one.metric(&reads::READ_LATENCY).map(|metric| metric.median());
    let rate = |one: &Measured| one.metric(&reads::IOPS).map(|metric| metric.statistics.mean);
    let ratio = |value: &dyn Fn(&Measured) -> Option<f64>| Some(value(other)? / value(one)?);
    let (latency, rate) = ratio(&latency).zip(ratio(&rate))?;
    let message = format!(
        "A read of {path} takes {} times as long as one of {first}, and {path} gives {} times as many reads a second.",
        three_digits(latency),
        three_digits(rate)
    );
    let finding = row::ANSWER_PATHS.of(message).with("latency", latency, Unit::Ratio);
    Some(finding.with("iops", rate, Unit::Ratio))
}

/// Two sentences on what a read takes, and which level served it. `path` names it among several.
fn of_path(workload: &Workload, path: Option<&String>, measured: &Measured) -> Option<Finding> {
    let (latency, iops) = measured.metric(&reads::READ_LATENCY).zip(measured.metric(&reads::IOPS))?;
    let tail =
        latency.statistics.p99.map_or(String::new(), |p99| format!(", one in a hundred {} or more", micros(p99)));
    let by = match measured.verdict.as_ref().map(|verdict| verdict.tier) {
        Some(Tier::PageCache) => "the page cache",
        Some(Tier::Storage) => "storage",
        Some(Tier::Mixed { .. }) => "memory and storage together",
        Some(Tier::NeverWritten) => "the file system itself (the blocks were never written)",
        Some(Tier::Unknown) => "an unknown level",
        None => measured.unwitnessed.map_or("an unknown level", |device| device.name),
    };
    let proof = measured.verdict.as_ref().map_or(String::new(), |verdict| format!(": {}", verdict.proof));
    let by_schedule = if iops.source == BY_SCHEDULE { " over the time of their schedule" } else { "" };
    let message = format!(
        "A {} read of {}{} takes {} with {} in flight{tail}: {} reads a second{by_schedule}. {} served the \
         reads{proof}.{}{}",
        workload.pattern.name(),
        size_in_words(workload.block_size as u64),
        path.map_or(String::new(), |path| format!(" of {path}")),
        micros(latency.median()),
        in_flight(workload),
        three_digits(iops.statistics.mean),
        capital(by),
        by_few("The", latency).unwrap_or_default(),
        read_again(workload.block_size, measured).unwrap_or_default(),
    );
    let finding = row::ANSWER_READ.of(message).with("latency", latency.median(), Unit::Microseconds);
    Some(finding.with("iops", iops.statistics.mean, Unit::PerSecond))
}

/// Why the mean of a latency lies above its 99th percentile, where it does; `the` stands before it. Percentiles come
/// from steps of up to 1 %. A mean that lies further above is due to few reads: they take twice the percentile or more.
fn by_few(the: &str, latency: &Metric) -> Option<String> {
    let Statistics { mean, p99, max, .. } = latency.statistics;
    (mean > p99? * 1.01).then(|| {
        format!(
            " {the} mean of {} is more than 99 of 100 reads take, because a few took far longer, up to {}.",
            micros(mean),
            micros(max)
        )
    })
}

/// How often each block was read, where storage may have served it and that was twice and more.
fn times_read(block_size: usize, measured: &Measured) -> Option<f64> {
    let tier = measured.verdict.as_ref()?.tier;
    let span = measured.cases.first()?.parameters.get(disk::parameters::SPAN.name)?.as_u64()?;
    let count: f64 = measured.cases.iter().filter_map(|case| reads::READS.median(case)).sum();
    let times = count / (span / block_size as u64).max(1) as f64;
    let is_told = matches!(tier, Tier::PageCache | Tier::NeverWritten);
    (times >= 2.0 && !is_told).then_some(times)
}

fn read_again(block_size: usize, measured: &Measured) -> Option<String> {
    let times = three_digits(times_read(block_size, measured)?);
    Some(format!(
        " Each block was read {times} times on average, and a cache of the storage may have served all but the first \
         of these reads: a larger file shows more of the storage."
    ))
}

/// That the places of a sweep are so small that their figures are of few blocks, or of one request `in_sequence`.
pub(super) fn small_places([random, in_sequence]: [&Workload; 2], measured: &[Measured]) -> String {
    let times = measured.iter().filter_map(|one| times_read(random.block_size, one)).max_by(f64::total_cmp);
    let again = times.map(|times| {
        format!(
            " Each block of a place was read up to {} times on average, and a cache of the storage may have served all \
             but the first of these reads: fewer places, or a larger file, show more of the storage.",
            three_digits(times)
        )
    });
    let of_one = match in_sequence.stop_after {
        StopAfter::Reads(1) => " The bandwidth of each place is that of one request.",
        _ => "",
    };
    format!("{}{of_one}", again.unwrap_or_default())
}

/// How many reads wait at once: at most that many where reads begin at times of their own, or are too few.
fn in_flight(workload: &Workload) -> String {
    let slots = (workload.depth * workload.workers) as u64;
    // Each worker has as many reads.
    let are_few = matches!(workload.stop_after, StopAfter::Reads(reads) if reads < workload.depth as u64);
    let bound = if workload.rate.is_some() || are_few { "at most " } else { "" };
    format!("{bound}{}", grouped(slots))
}

/// Whether the reads are those of the published disk: random ones of 8 KiB by two workers, each with one in flight, in
/// zones at the two ends of all of it.
fn is_published(workload: &Workload, extent: Extent) -> bool {
    let Workload { pattern, block_size, workers, depth, rate, .. } = *workload;
    extent == Extent::Device && (pattern, block_size, workers, depth, rate) == (Pattern::Random, 8192, 2, 1, None)
}

/// A finding about a path, which its sentence names where there are several.
pub(crate) fn on(path: Option<&str>, mut finding: Finding) -> Finding {
    if let Some(path) = path {
        let mut letters = finding.message.chars();
        let first = letters.next().map_or_else(String::new, |first| first.to_lowercase().collect());
        finding.message = format!("On {path}, {first}{}", letters.as_str());
    }
    finding
}

/// Whether it is not proved that the device served all reads: their times need not be those of a place on it then.
fn is_unproved(measured: &Measured) -> bool {
    measured.verdict.as_ref().is_some_and(|verdict| verdict.tier != Tier::Storage)
}

/// What a zone is against the outer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    /// Too little to place data by.
    Even,
    /// No more than the rates of the two vary, from turn to turn where they were read by turns.
    WithinSpread,
    /// Unknown: there are too few reads to see how much the rates vary.
    TooFewReads,
    /// Its reads take longer, by mean and by median.
    Slower,
    /// It is faster, or its mean and its median do not say the same.
    Other,
}

/// Elapsed time of a read in a zone as a multiple of that in the outer one, and what the difference is.
fn against_outer(outer: &Measured, zone: &Measured) -> Option<(f64, Difference)> {
    let (_, of_outer) = rate(outer)?;
    let (_, of_zone) = rate(zone)?;
    let ratio = of_outer.statistics.mean / of_zone.statistics.mean;
    let median = |one: &Measured| one.metric(&reads::READ_LATENCY).map(|metric| metric.median());
    // Mean and median both, and the same way: a few slow reads in one zone are noise, not a seek.
    let is_slower = median(zone).zip(median(outer)).is_some_and(|(zone, outer)| zone >= outer * PLACE_MATTERS);
    let interval = rate(zone).zip(rate(outer)).and_then(|(zone, outer)| ratio_interval(zone, outer));
    let is_even = |ratio: f64| (1.0 / PLACE_MATTERS..PLACE_MATTERS).contains(&ratio);
    // A model has no noise: there, few reads are enough.
    let has_noise = outer.unwitnessed.is_none();
    let is_surely_even = interval.is_some_and(|(low, high)| is_even(low) && is_even(high));
    let difference = match ratio {
        _ if interval.is_none() && has_noise => Difference::TooFewReads,
        _ if is_surely_even || is_even(ratio) && !has_noise => Difference::Even,
        _ if interval.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high) => Difference::WithinSpread,
        _ if is_even(ratio) => Difference::Even,
        _ if ratio >= PLACE_MATTERS && is_slower => Difference::Slower,
        _ => Difference::Other,
    };
    Some((ratio, difference))
}

/// The rate of a reading, with its case.
fn rate(measured: &Measured) -> Option<(&Case, &Metric)> {
    measured.cases.last().and_then(|case| Some((case, reads::IOPS.in_case(case)?)))
}

/// What zones say of place: the inner one, and reads in both at the same time. The zones are the ends of
/// `extent`.
fn verdict(inner: Option<Difference>, both: Option<Difference>, extent: Extent) -> String {
    use Difference::{Even, Slower, TooFewReads, WithinSpread};
    let here = match extent {
        Extent::Device => "on this device",
        Extent::File => "within this file",
        Extent::Part => "within the part that was read",
    };
    let is_all = |wanted: Difference| inner.into_iter().chain(both).all(|difference| difference == wanted);
    match (inner, both) {
        (Some(Slower), _) => format!("Place matters {here}, so keep what is read most in the outer zone"),
        (Some(Even), Some(Slower)) => format!(
            "Where a zone lies makes no difference {here}, but the way from one to the other does, so keep what is \
             read together in one place"
        ),
        (None | Some(WithinSpread | TooFewReads), Some(Slower)) => format!(
            "Reads in both zones at the same time take longer {here}, so keep what is read together in one place"
        ),
        _ if is_all(Even) => format!("Where a zone lies makes no difference {here}"),
        (Some(TooFewReads), _) | (_, Some(TooFewReads)) => {
            "There are too few reads to tell whether the zones differ, so repeat the run with a larger --count or a \
             longer --duration"
                .into()
        }
        (Some(WithinSpread), _) | (_, Some(WithinSpread)) => {
            "The zones differ by no more than the readings of one zone do, which is noise, so repeat the run with a \
             larger --count or a longer --duration"
                .into()
        }
        _ => "The zones differ, but not as place alone makes them".into(),
    }
}

/// How much of a device the places that are compared cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it: they reach from its first block to its last.
    Device,
    /// All of a file, which is somewhere on a device.
    File,
    /// A part: what lies outside may differ.
    Part,
}

/// Whether place matters, next to the published disk where the reads are the same. `None` in an open loop: every zone
/// then gives the rate that was asked for, however long its reads take.
pub(super) fn zones(workload: &Workload, extent: Extent, measured: &[(Zone, Measured)]) -> Option<Finding> {
    if workload.rate.is_some() {
        return None;
    }
    let of = |wanted: Zone| measured.iter().find(|(zone, _)| *zone == wanted).map(|(_, one)| one);
    let outer = of(Zone::Outer)?;
    let against = |zone: Zone| against_outer(outer, of(zone)?);
    let published = [(Zone::Inner, disk::INNER_RATIO.value), (Zone::Both, disk::BOTH_RATIO.value)];
    let ratios: Vec<(Zone, f64, f64)> =
        published.into_iter().filter_map(|(zone, published)| Some((zone, against(zone)?.0, published))).collect();
    if ratios.is_empty() {
        return None;
    }
    // A model has no other turns: each of its zones is read at once, and begins at rest.
    if measured.iter().any(|(_, one)| one.cases.len() > 1 && one.unwitnessed.is_none()) {
        return Some(row::ANSWER_ZONES.of(
            "The zones are not compared, because the rate or the latency changed while they were read and stayed \
             there: a part of one zone is of other turns than the zones beside it. Repeat the run when the rate is \
             steady.",
        ));
    }
    let are_of_device = !measured.iter().any(|(_, one)| is_unproved(one));
    let is_published = are_of_device && is_published(workload, extent);
    let clause = |(zone, ratio, published): &(Zone, f64, f64)| {
        let both = match workload.workers {
            2 => "with one worker in each zone".into(),
            odd if !odd.is_multiple_of(2) => format!("with {odd} workers, {} of them in the outer zone", odd / 2),
            workers => format!("with {workers} workers, half of them in each zone"),
        };
        let place = if *zone == Zone::Inner { "in the inner zone".into() } else { both };
        let beside = if is_published { format!(" (the disk of 2005: {published})") } else { String::new() };
        format!("{} times as much {place}{beside}", three_digits(*ratio))
    };
    let clauses = ratios.iter().map(clause).collect::<Vec<_>>().join(" and ");
    let [inner, both] = [Zone::Inner, Zone::Both].map(|zone| against(zone).map(|(_, difference)| difference));
    let says = match are_of_device {
        true => verdict(inner, both, extent),
        false => {
            "It is not proved that the device served all of these reads, so they do not show whether place matters"
                .into()
        }
    };
    let few = |(zone, one): &(Zone, Measured)| {
        by_few(&format!("In zone {}, the", zone.name()), one.metric(&reads::READ_LATENCY)?)
    };
    let few: String = measured.iter().filter_map(few).collect();
    let finding = row::ANSWER_ZONES.of(format!("{says}: relative to the outer zone, a read costs {clauses}.{few}"));
    let with = |finding: Finding, (zone, ratio, _): &(Zone, f64, f64)| finding.with(zone.name(), *ratio, Unit::Ratio);
    Some(ratios.iter().fold(finding, with))
}

/// The model's zones next to the published ones, where the reads are the same, and what the model lacks: nothing of it
/// was fitted to them.
pub(super) fn model_against_published(
    workload: &Workload,
    extent: Extent,
    measured: &[(Zone, Measured)],
) -> Option<Finding> {
    let published = [(Zone::Outer, disk::OUTER), (Zone::Inner, disk::INNER), (Zone::Both, disk::BOTH)];
    let figures = published.into_iter().filter_map(|(zone, published): (Zone, Published)| {
        let (_, one) = measured.iter().find(|(known, _)| *known == zone)?;
        let rate = one.metric(&reads::IOPS)?.statistics.mean;
        Some((zone, 1e3 / rate, published.value))
    });
    let figures: Vec<(Zone, f64, f64)> = figures.collect();
    if figures.is_empty() || !is_published(workload, extent) {
        return None;
    }
    let clause = |(zone, millis, published): &(Zone, f64, f64)| {
        format!("{} {} ms (published {published})", zone.name(), three_digits(*millis))
    };
    let clauses = figures.iter().map(clause).collect::<Vec<_>>().join(", ");
    let message = format!(
        "With {}, a read on the model costs: {clauses}. The published figures come from another disk of \
         these years, read in zones of 2 GB by two processes of 1000 reads each; the model is not fitted to them. It \
         has seek, rotation, zones and a queue, and lacks remapped sectors, repeated reads, vibration and the host's \
         adapter. The published disk is slower inside than geometry explains; the model is not.",
        counted(workload.workers as u64, "worker", "workers")
    );
    let with =
        |finding: Finding, (zone, millis, _): &(Zone, f64, f64)| finding.with(zone.name(), *millis, Unit::Milliseconds);
    Some(figures.iter().fold(row::ANSWER_MODEL_PUBLISHED.of(message), with))
}

/// What using the outer half of the capacity is worth, computed from the disk's own geometry and seek curve.
pub(super) fn outer_half(half: OuterPart) -> Option<Finding> {
    let [tracks, seek, whole, gain] =
        [half.cylinders * 100.0, half.seek_ms, half.whole_seek_ms, half.rate_gain].map(three_digits);
    let block = size_in_words(half.block);
    let message = format!(
        "Keep the data on the outer half of the capacity, because the arm then moves less far than over the whole \
         disk. It lies on the outer {tracks} % of the tracks, where the mean seek takes {seek} ms instead of {whole}: \
         one read of {block} at a time gives {gain} times as many random reads a second."
    );
    (half.rate_gain > 1.0).then(|| row::ANSWER_OUTER_HALF.of(message).with("gain", half.rate_gain, Unit::Ratio))
}

/// What is known of the arm of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arm {
    /// The device models a disk, which has one.
    Modelled,
    /// It models something else, whose reads wait for no arm, or for none that a cache does not hide.
    NotModelled,
    /// Of a device of a machine nothing is known.
    Unknown,
}

impl Arm {
    pub(super) fn of(device: &Description) -> Arm {
        match (device.disk.is_some(), device.is_virtual) {
            (true, _) => Arm::Modelled,
            (false, true) => Arm::NotModelled,
            (false, false) => Arm::Unknown,
        }
    }

    /// Why latency is about the same over all places or distances. Reads within a place move an arm little wherever the
    /// place lies.
    fn without_spread(self, what: &str) -> &'static str {
        match (what, self) {
            (_, Arm::NotModelled) => "the model has no arm that moves, or a cache hides it",
            ("place", Arm::Modelled) => "reads within a place move the arm little (--seek-distances shows its seeks)",
            ("place", Arm::Unknown) => "reads within a place move an arm little (--seek-distances shows seeks)",
            (_, Arm::Modelled) => "the arm takes about as long for each of them",
            (_, Arm::Unknown) => "there is no arm to move, or a layer in between hides it",
        }
    }
}

/// How far latency spreads over places or distances, and what that says about seeks.
pub(super) fn spread(what: &str, arm: Arm, extent: Extent, measured: &[Measured]) -> Option<Finding> {
    let mut medians: Vec<f64> =
        measured.iter().filter_map(|one| Some(one.metric(&reads::READ_LATENCY)?.median())).collect();
    sorting::by(&mut medians, f64::total_cmp);
    // One distance alone, as in a small file, tells nothing of an arm.
    let [least, .., most] = medians[..] else { return None };
    let ratio = most / least.max(f64::MIN_POSITIVE);
    let says = match (ratio < PLACE_MATTERS, arm) {
        _ if measured.iter().any(is_unproved) => {
            "it is not proved that the device served all of these reads, so they do not show its seeks".to_string()
        }
        (true, _) => arm.without_spread(what).to_string(),
        (false, Arm::Modelled | Arm::NotModelled) => {
            format!("a model has no noise, so the difference comes from the {what} and from the blocks drawn there")
        }
        (false, Arm::Unknown) => "repeat the run to separate seeks from noise".to_string(),
    };
    let of = if extent == Extent::Part { " within the part that was read" } else { "" };
    let message = match (micros(least), micros(most)) {
        (least, most) if least == most => format!("The median latency is {least} at every {what}{of}: {says}."),
        (least, most) => format!(
            "The median latency ranges from {least} to {most} over all {what}s{of}, a factor of {}: {says}.",
            three_digits(ratio)
        ),
    };
    let finding = row::ANSWER_SPREAD.named(what, message).with("least", least, Unit::Microseconds);
    Some(finding.with("most", most, Unit::Microseconds))
}

#[cfg(test)]
mod tests;
