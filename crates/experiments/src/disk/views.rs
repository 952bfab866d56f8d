//! What is varied over a device: nothing, zones at either edge, places from the first byte to the last, or growing
//! distances.

use std::time::Duration;

use device::pattern::{Pattern, Span, Turn};
use device::plan::StopAfter;
use device::windows::WINDOW;
use measure::Finding;
use measure::quantity::size_in_words;
use measure::schema::disk::parameters;
use measure::schema::reads;

use super::case::{Ask, Begun, Bench, begin, measure, read};
use super::findings::{self, Arm};
use super::parameters::{View, Zone};
use super::setting::Setting;
use super::workload::Workload;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::reading::Measured;

/// Bytes of a sequential read in a sweep: what a database's multi-block read asks for.
const SEQUENTIAL_BLOCK: usize = 1 << 20;

/// Bytes that a place of a sweep covers at most.
const PLACE: u64 = 256 << 20;

/// Turns in which zones are read that are compared: enough to see how much one zone differs from turn to turn.
const TURNS: u64 = 10;

/// The shortest distance of consecutive reads, and the factor from one distance to the next.
const DISTANCE_MIN: u64 = 64 << 10;
const DISTANCE_FACTOR: u64 = 4;

/// Measures the cases of a path. ^C ends it after the case under way, which is not kept. Gives the reading of the
/// whole, where that was asked for, and whether any case is kept.
pub(super) fn run(bench: Bench<'_>, journal: &mut dyn Journal) -> Result<(Option<Measured>, bool), ExperimentError> {
    let is_kept = match &bench.setting.view {
        View::Whole => {
            let one = whole(bench, journal)?;
            let is_kept = !one.interrupted;
            return Ok((Some(one), is_kept));
        }
        View::Zones(named) => zones(named, bench, journal)?,
        View::Sweep(count) => sweep(*count, bench, journal)?,
        View::SeekDistances => seek_distances(bench, journal)?,
    };
    Ok((None, is_kept))
}

/// About how long the cases of a path take, and the paths behind it.
pub(super) fn expected(setting: &Setting<'_>) -> Duration {
    let cases = match &setting.view {
        View::Whole => 1,
        View::Zones(named) => named.len(),
        // Each place is read at random and in sequence.
        View::Sweep(count) => 2 * *count as usize,
        View::SeekDistances => distances(setting.span.length, setting.workload.block_size as u64).len(),
    };
    setting.expected(&setting.workload, u32::try_from(cases).unwrap_or(u32::MAX))
}

/// Refuses buffers that would drive the machine out of memory: those of a sweep's reads in sequence, besides those that
/// all reads have.
pub(super) fn check_memory(setting: &Setting<'_>) -> Result<(), ExperimentError> {
    let View::Sweep(count) = setting.view else { return Ok(()) };
    in_sequence(setting, place_length(setting, count)).check_memory()
}

/// Bytes of each place of a sweep, in whole blocks.
fn place_length(setting: &Setting<'_>, count: u32) -> u64 {
    let block = setting.workload.block_size as u64;
    (setting.span.length / u64::from(count)).min(PLACE).max(block) / block * block
}

/// The reads in sequence of a place of this many bytes: it holds no larger one, and no more of them than are counted.
fn in_sequence(setting: &Setting<'_>, place: u64) -> Workload {
    let block_size = SEQUENTIAL_BLOCK.min(place as usize);
    let stop_after = match setting.workload.stop_after {
        StopAfter::Reads(count) => StopAfter::Reads(count.min(place / block_size as u64)),
        time => time,
    };
    Workload { pattern: Pattern::Sequential, block_size, stop_after, workers: 1, ..setting.workload }
}

fn whole(bench: Bench<'_>, journal: &mut dyn Journal) -> Result<Measured, ExperimentError> {
    let (setting, workload) = (bench.setting, &bench.setting.workload);
    let what = format!("the {} reads of {}", workload.pattern.name(), setting.name());
    let case = setting.case(workload, setting.span);
    let ask = Ask { case, what, plans: workload.plans(setting.span) };
    measure(bench, (ask, 1), journal)
}

/// Adds what the cases of a path say.
fn report(setting: &Setting<'_>, found: impl IntoIterator<Item = Finding>, journal: &mut dyn Journal) {
    let path = setting.name_among_several();
    journal.find_all(found.into_iter().map(|finding| findings::on(path.as_deref(), finding)));
}

/// One case a zone. Several zones are read by turns, so that what changes meanwhile changes in all of them. Gives
/// whether any is kept.
fn zones(zones: &[Zone], bench: Bench<'_>, journal: &mut dyn Journal) -> Result<bool, ExperimentError> {
    let setting = bench.setting;
    let (turns, workload) = (turns(setting, zones.len()), setting.workload);
    let readings = turns * zones.len() as u64;
    let mut begun: Vec<Option<Begun>> = zones.iter().map(|_| None).collect();
    let mut measured = Vec::new();
    for number in 0..readings {
        let (turn, index) = (number / zones.len() as u64, (number % zones.len() as u64) as usize);
        let part = workload.part(turn, turns);
        let ask = zone(zones[index], &part, setting);
        journal.step_of_run(&ask.what, setting.expected(&part, (readings - number) as u32));
        let of_order = if turns > 1 { Turn { index: number, of: readings } } else { Turn::ONLY };
        let one = begin(bench, ask, of_order)?;
        if one.taken.interrupted {
            return Ok(!measured.is_empty());
        }
        let all = match begun[index].take() {
            Some(earlier) => earlier.and(one),
            None => one,
        };
        if turn + 1 < turns {
            begun[index] = Some(all);
        } else {
            measured.push((zones[index], all.keep(bench, journal)?));
        }
    }
    let mut found: Vec<Finding> = findings::zones(&workload, setting.extent(), &measured).into_iter().collect();
    if let Some(disk) = setting.device.describe().disk {
        found.extend(findings::model_against_published(&workload, setting.extent(), &measured));
        found.extend(findings::outer_half(disk.outer_part(0.5, workload.block_size as u64)));
    }
    report(setting, found, journal);
    Ok(true)
}

/// In how many turns each of several zones is read. Of one zone, of a model and of an open loop, whose rate is the one
/// that was asked for, nothing is compared that other programs could change meanwhile.
fn turns(setting: &Setting<'_>, zones: usize) -> u64 {
    let most = match setting.workload.stop_after {
        StopAfter::Reads(count) => count,
        StopAfter::Time(time) => time.0 / WINDOW.0,
    };
    let is_compared = zones > 1 && setting.workload.rate.is_none() && !setting.device.describe().is_virtual;
    if is_compared { most.clamp(1, TURNS) } else { 1 }
}

/// The reads of a zone: in the first span, in the last span, or by workers that are shared out to both, an odd one to
/// the last.
fn zone(zone: Zone, part: &Workload, setting: &Setting<'_>) -> Ask {
    let (outer, inner, workers) = (setting.span, setting.inner(), part.workers);
    let (in_outer, first) = match zone {
        Zone::Outer => (workers, outer),
        Zone::Both if workers > 1 => (workers / 2, outer),
        Zone::Inner | Zone::Both => (0, inner),
    };
    let mut plans = part.plans_of(outer, 0..in_outer);
    plans.extend(part.plans_of(inner, in_outer..workers));
    let mut case = setting.case(&setting.workload, first);
    case.extend([parameters::ZONE.of(zone.name())]);
    Ask { case, what: format!("the reads of {} in zone {}", setting.name(), zone.name()), plans }
}

/// Places from the first byte to the last: random latency and sequential bandwidth at each. Gives whether any is kept.
fn sweep(count: u32, bench: Bench<'_>, journal: &mut dyn Journal) -> Result<bool, ExperimentError> {
    let setting = bench.setting;
    let (random, whole) = (Workload { pattern: Pattern::Random, ..setting.workload }, setting.span);
    let (block, length) = (random.block_size as u64, place_length(setting, count));
    let mut measured = Vec::new();
    for index in 0..count {
        let span = Span { offset: whole.offset + travel(whole.length - length, block, (index, count)), length };
        let what = format!("place {} of {count} of {}", index + 1, setting.name());
        journal.step_of_run(&what, setting.expected(&random, 2 * (count - index)));
        let mut case = setting.case(&random, span);
        case.extend([parameters::POSITION.of(f64::from(index) / f64::from(count - 1))]);
        let ask = Ask { case, what, plans: random.plans(span) };
        let mut place = read(bench, &ask, journal)?;
        if place.interrupted {
            return Ok(!measured.is_empty());
        }
        add_bandwidth(&mut place, span, bench, journal)?;
        if place.interrupted {
            return Ok(!measured.is_empty());
        }
        place.keep(journal)?;
        measured.push(place);
    }
    let arm = Arm::of(&setting.device.describe());
    let mut found = findings::spread("place", arm, setting.extent(), &measured);
    if let Some(finding) = &mut found {
        finding.message += &findings::small_places([&random, &in_sequence(setting, length)], &measured);
    }
    report(setting, found, journal);
    Ok(true)
}

/// How far behind the first of `count` places this one begins, in whole blocks: the last one `most` bytes behind it.
fn travel(most: u64, block: u64, (index, count): (u32, u32)) -> u64 {
    most / block * u64::from(index) / u64::from(count - 1) * block
}

/// Reads the place once more in sequence and puts that bandwidth in the place of the random reads' own.
fn add_bandwidth(
    place: &mut Measured,
    span: Span,
    bench: Bench<'_>,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let setting = bench.setting;
    let workload = in_sequence(setting, span.length);
    let what = format!("the sequential reads at the same place of {}", setting.name());
    let ask = Ask { case: setting.case(&workload, span), what, plans: workload.plans(span) };
    let in_sequence = read(bench, &ask, journal)?;
    place.interrupted |= in_sequence.interrupted;
    for case in &mut place.cases {
        case.metrics.retain(|metric| metric.name != reads::BANDWIDTH.name);
    }
    if let Some(last) = place.cases.last_mut() {
        last.metrics.extend(in_sequence.metric(&reads::BANDWIDTH).cloned());
    }
    Ok(())
}

/// One case a distance between consecutive reads, each four times the one before. Gives whether any is kept.
fn seek_distances(bench: Bench<'_>, journal: &mut dyn Journal) -> Result<bool, ExperimentError> {
    let (setting, span) = (bench.setting, bench.setting.span);
    let distances = distances(span.length, setting.workload.block_size as u64);
    let mut measured = Vec::new();
    for (index, distance) in distances.iter().copied().enumerate() {
        let apart = Workload { pattern: Pattern::Apart(distance), ..setting.workload };
        let mut case = setting.case(&apart, span);
        case.extend([parameters::DISTANCE.of(distance)]);
        let what = format!("the reads of {} that lie {} apart", setting.name(), size_in_words(distance));
        let ask = Ask { case, what, plans: apart.plans(span) };
        let one = measure(bench, (ask, (distances.len() - index) as u32), journal)?;
        if one.interrupted {
            return Ok(!measured.is_empty());
        }
        measured.push(one);
    }
    let arm = Arm::of(&setting.device.describe());
    report(setting, findings::spread("distance", arm, setting.extent(), &measured), journal);
    Ok(true)
}

/// The distances in a region of `length` bytes, up to half of it, as they are read: in whole blocks, each once.
///
/// The region ends with its last whole block. The longest distance is a multiple of the shortest one, because it would
/// otherwise differ between runs with blocks of 4 KiB and of 8 KiB, which could not be compared.
fn distances(length: u64, block: u64) -> Vec<u64> {
    let half = length / 2;
    let longest = if half < DISTANCE_MIN { half } else { half / DISTANCE_MIN * DISTANCE_MIN };
    let growing = std::iter::successors(Some(DISTANCE_MIN), |distance| distance.checked_mul(DISTANCE_FACTOR));
    let wanted = growing.take_while(|distance| *distance < longest).chain([longest]);
    let mut distances: Vec<u64> = wanted.map(|distance| (distance / block).max(1) * block).collect();
    distances.dedup();
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::parameters::DiskParameters;

    #[test]
    fn a_sweep_of_a_small_device_is_not_refused_for_buffers_that_it_does_not_take() {
        let Some(free) = sys::host::available_memory() else {
            return println!("skipped: this system does not tell how much memory is free");
        };
        // As many reads of a mebibyte take half of it.
        let depth = (free / 2 / SEQUENTIAL_BLOCK as u64) as usize + 1;
        let parameters = DiskParameters { depth, sweep: Some(2), buffered: true, ..DiskParameters::default() };
        let file = tempfile::NamedTempFile::new().unwrap();
        let check = |size: u64| {
            file.as_file().set_len(size).unwrap();
            check_memory(&Setting::open(file.path(), &parameters).unwrap())
        };
        assert!(check(64 << 10).is_ok());
        assert!(check(64 << 20).is_err_and(|error| error.to_string().contains("more than a quarter")));
    }

    #[test]
    fn the_last_place_of_a_sweep_ends_with_the_last_block_whatever_the_number_of_places() {
        let last = |blocks: u64, count: u32| travel(blocks * 8192, 8192, (count - 1, count));
        for (blocks, count) in [(1000, 4), (999, 32), (7, 1000), (1 << 40, 1000)] {
            assert_eq!(last(blocks, count), blocks * 8192, "{count} places");
        }
        assert_eq!([0, 1, 2].map(|index| travel(10 * 512, 512, (index, 3))), [0, 2560, 5120]);
    }

    /// The distances in a region that no block of 8 KiB divides.
    fn with_blocks_of(block: u64) -> Vec<u64> {
        distances(((40_u64 << 20) + 12_288) / block * block, block)
    }

    #[test]
    fn another_block_size_does_not_give_another_last_distance() {
        let expected: [u64; 6] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 20 << 20];
        for block in [512, 4096, 8192, 64 << 10] {
            assert_eq!(with_blocks_of(block), expected, "{block}");
        }
    }

    #[test]
    fn no_distance_is_named_that_whole_blocks_cannot_have() {
        assert_eq!(with_blocks_of(1 << 20), [1_u64 << 20, 4 << 20, 16 << 20, 20 << 20]);
        let uneven = with_blocks_of(12_288);
        assert!(uneven.iter().all(|distance| distance.is_multiple_of(12_288)), "{uneven:?}");
        assert!(uneven.windows(2).all(|pair| pair[0] < pair[1]), "{uneven:?}");
        assert_eq!(distances(64 << 10, 8192), [32_768_u64]);
        assert_eq!(distances(8192, 8192), [8192_u64]);
    }
}
