//! What spoils a reading: a rate that was not held, memory in place of the device, other readers, a change under way.

use device::meter::Meter;
use device::read_loop::LoopOutcome;
use device::tier::{Evidence, Tier, Verdict};
use device::windows::{WINDOW, Window};
use device::workers::Reading;
use measure::change_point::{Segment, is_change};
use measure::quantity::{format_nanos, three_digits};
use measure::schema::reads::{SERVICE_TIME, findings as row};
use measure::{Finding, Nanos, Unit};
use sys::file::Caching;
use sys::memory::Pages;

use super::job::{Job, PageCache};
use crate::journal::Journal;
use crate::machine::Machine;

/// Share of the rate asked for that counts as reached.
const RATE_REACHED: f64 = 0.95;

/// A read this long is a stall of the storage.
const STALL: Nanos = WINDOW;

/// What a device delivers over what was read, from which on others were reading.
const DELIVERED_MAX: f64 = 1.1;

/// Adds the findings about a reading that was not cut short.
pub(super) fn report(
    machine: &Machine,
    (reading, segments): (&Reading, &[Segment]),
    job: &Job<'_>,
    tier: Option<(&Evidence, &Verdict)>,
    journal: &mut dyn Journal,
) {
    journal.find_all(fallback(&reading.fallbacks));
    if let Some((evidence, verdict)) = tier {
        journal.find_all(of_tier(evidence.caching, verdict, (&job.what, job.page_cache)));
        if verdict.tier == Tier::Storage {
            journal.find_all(no_device_counters(evidence));
            note_shared_device(machine, evidence, &job.what);
        }
    }
    let outcome = &reading.outcome;
    let asked: f64 = job.plans.iter().filter_map(|plan| plan.rate).sum();
    if outcome.latency.reads() > 1 {
        let elapsed = outcome.elapsed.as_seconds().max(1e-9);
        let reached = outcome.latency.reads() as f64 / elapsed;
        let service = outcome.service.as_ref().and_then(mean_seconds);
        journal.find_all(rate_not_reached(asked, reached, (service, elapsed)));
    }
    let counted = outcome.service.as_ref().unwrap_or(&outcome.latency).longest();
    journal.find_all(stalled_at_end(outcome.late, counted, &job.what));
    let levels: Vec<Level> = segments.iter().filter_map(|segment| Level::of(outcome, segment)).collect();
    journal.find_all(levels.windows(2).map(|pair| changed([&pair[0], &pair[1]], &job.what)));
}

fn fallback(fallbacks: &[&str]) -> Option<Finding> {
    (!fallbacks.is_empty()).then(|| row::METHOD_FALLBACK.of(format!("{}.", fallbacks.join(". "))))
}

/// The mean of what a meter counted.
fn mean_seconds(meter: &Meter) -> Option<f64> {
    Some(meter.metric(&SERVICE_TIME, "")?.statistics.mean / 1e6)
}

/// An open loop that could not be held at its rate: its latencies are a queue that grows with the run then. `service`
/// is what a read takes from its submission, in seconds: reads that began within that time before the end were still
/// in flight at the end, and were not missed.
fn rate_not_reached(asked: f64, reached: f64, (service, elapsed): (Option<f64>, f64)) -> Option<Finding> {
    let a_read = service.unwrap_or(0.0) / elapsed;
    if asked <= 0.0 || reached >= asked * RATE_REACHED * (1.0 - a_read.min(1.0)) {
        return None;
    }
    let on_average = |took: f64| format!("; from submission, a read took {} on average", format_nanos(took * 1e9));
    let message = format!(
        "The run reached {} of the {} reads a second that were asked for. Latency counts from the intended start, so \
         it shows the wait in a queue that grows as long as the run lasts{}. Give a lower --rate or a higher --depth.",
        three_digits(reached),
        three_digits(asked),
        service.map(on_average).unwrap_or_default()
    );
    let finding = row::RATE_NOT_REACHED.of(message).with("asked", asked, Unit::PerSecond);
    Some(finding.with("reached", reached, Unit::PerSecond))
}

/// A stall that outlasted the measurement. Reads that end after it are no part of its rate; one that took far longer
/// than all that counted would be seen nowhere.
fn stalled_at_end(late: Nanos, counted: Nanos, what: &str) -> Option<Finding> {
    if late < STALL || late.0 / 2 < counted.0 {
        return None;
    }
    let took = late.as_seconds();
    let [late, longest] = [late, counted].map(|time| format_nanos(time.0 as f64));
    let message = format!(
        "Of {what}, one that was in flight when the time was up took {late}; the longest that counted took {longest}. \
         No latency includes it: run again, for longer."
    );
    Some(row::STALLED_AT_END.of(message).with("took", took, Unit::Seconds))
}

/// What served the reads, where it was not what the reading is about; `what` is the reading in words.
fn of_tier(caching: Caching, verdict: &Verdict, (what, page_cache): (&str, PageCache)) -> Option<Finding> {
    let proof = &verdict.proof;
    let advice = match page_cache {
        PageCache::Meant => "repeat with more free memory",
        PageCache::InTheWay(advice) => advice,
    };
    Some(match (caching, verdict.tier) {
        (_, Tier::PageCache | Tier::Mixed { .. }) if verdict.is_by_layer => row::DEVICE_SAW_FEWER_READS.of(format!(
            "Not all of {what} reached a device, although the kernel sent them on: {proof}. A layer in between, such \
             as the page cache of a loop device's file, served the rest from this host's memory, and the latencies \
             are that layer's. Measure what lies under it."
        )),
        (Caching::Direct, Tier::PageCache) => row::DIRECT_IO_IGNORED.of(format!(
            "The file system accepted direct I/O for {what} and did not do it: {proof}. These are reads of memory. \
             Use a file system that does direct I/O, or a block device."
        )),
        (Caching::Direct, Tier::Mixed { .. }) => row::READS_NOT_ALL_FROM_STORAGE
            .of(format!("Only part of {what} reached storage: {proof}. The latencies mix memory and storage.")),
        (Caching::Buffered, Tier::PageCache) if page_cache != PageCache::Meant => row::SERVED_FROM_PAGE_CACHE
            .of(format!("The page cache served {what}: {proof}. This is memory, not the device: {advice}.")),
        (Caching::Buffered, Tier::Mixed { from_storage }) => {
            let cached = (1.0 - from_storage) * 100.0;
            let message = format!(
                "About {} % of the bytes of {what} came from the page cache: {proof}. The latencies mix memory and \
                 storage; {advice}.",
                three_digits(cached)
            );
            row::PARTLY_PAGE_CACHE.of(message).with("cached", cached, Unit::Percent)
        }
        (_, Tier::Unknown) => {
            row::TIER_UNKNOWN.of(format!("It could not be proved which level served {what}: {proof}."))
        }
        // What was never written the check of the region has reported.
        (_, Tier::PageCache | Tier::NeverWritten | Tier::Storage) => return None,
    })
}

/// Where no block device counts: other readers would not be seen.
fn no_device_counters(evidence: &Evidence) -> Option<Finding> {
    let message = "No block device with counters was found under the file: only the process's own count shows that \
                   the reads reached a device.";
    evidence.counts.delivered_by_device.is_none().then(|| row::NO_DEVICE_COUNTERS.of(message))
}

/// The block device's own count against the process's: other readers.
fn note_shared_device(machine: &Machine, evidence: &Evidence, what: &str) {
    if let Some(ratio) = of_others(evidence) {
        machine.note_shared_device(what, ratio);
    }
}

/// How many times what this process read the devices delivered, where that is so much that others must have read too.
fn of_others(evidence: &Evidence) -> Option<f64> {
    let delivered = evidence.counts.delivered_by_device?;
    // What the file system reads for this process is its own: btrfs verifies each block by a checksum from elsewhere.
    let own = evidence.issued.max(evidence.counts.fetched_by_process.unwrap_or(0));
    let ratio = delivered as f64 / own.max(1) as f64;
    (evidence.caching == Caching::Direct && ratio > DELIVERED_MAX).then_some(ratio)
}

/// What held in a segment of a reading.
struct Level {
    /// Seconds after the first read.
    at: f64,
    /// Reads a second.
    rate: f64,
    /// Mean nanoseconds from submission to completion; of an open loop only.
    service: Option<f64>,
}

impl Level {
    /// `None` for a segment without windows.
    fn of(outcome: &LoopOutcome, segment: &Segment) -> Option<Level> {
        let windows = outcome.latency.windows();
        let own = |meter: &Meter| {
            let own = meter.windows().closed().get(segment.windows.clone())?;
            let reads: u64 = own.iter().map(Window::reads).sum();
            let nanos: f64 = own.iter().map(|window| window.exact.sum).sum();
            (reads > 0).then(|| nanos / reads as f64)
        };
        let at = Nanos(windows.width().0 * segment.windows.start as u64).as_seconds();
        let is_known = !segment.windows.is_empty();
        is_known.then(|| Level { at, rate: segment.rate, service: outcome.service.as_ref().and_then(own) })
    }
}

/// What changed between two neighbouring segments of a reading: the latency alone where an open loop kept its rate.
fn changed([before, after]: [&Level; 2], what: &str) -> Finding {
    let latencies = before.service.zip(after.service).filter(|_| !is_change(before.rate, after.rate));
    let is_worse = latencies.map_or(after.rate < before.rate, |(before, after)| after > before);
    let cause = match is_worse {
        true => "a spent burst credit, a throttle, or a cache that no longer helps",
        false => "a cache that filled, blocks that were loaded meanwhile, or another reader that stopped",
    };
    let (row, went, unit, levels) = match latencies {
        Some((before, after)) => (
            row::LATENCY_CHANGED,
            format!("a read went from {} to {} (means, from submission)", format_nanos(before), format_nanos(after)),
            Unit::Nanoseconds,
            [before, after],
        ),
        None => (
            row::RATE_CHANGED,
            format!(
                "the rate went from {} to {} reads a second (medians of short windows; tables show means)",
                three_digits(before.rate),
                three_digits(after.rate)
            ),
            Unit::PerSecond,
            [before.rate, after.rate],
        ),
    };
    let message = format!(
        "{} s into {what}, {went} and stayed there. Likely causes: {cause}. What was read before and after is shown as \
         separate cases, because an average over both holds for neither; the kernel counted both together, so its \
         counts are left out. Run for longer to see {}.",
        three_digits(after.at),
        if latencies.is_some() { "which latency lasts" } else { "which rate lasts" }
    );
    let finding = row.of(message).with("at", after.at, Unit::Seconds);
    finding.with("before", levels[0], unit).with("after", levels[1], unit)
}

/// What buffers on huge pages do for large reads in sequence, once in a run. Where the machine's `setting` for such
/// pages is `never`, there are none.
pub fn huge_page_buffers(pages: Pages, setting: Option<&str>) -> Option<Finding> {
    let message = "Reads in sequence go into buffers on huge pages: 1 MiB is one request to the device. Programs with \
                   ordinary buffers (fio, dd, most databases) send several smaller ones and may get half as much: \
                   --huge-pages off measures that.";
    (pages == Pages::Huge && setting != Some("never")).then(|| row::HUGE_PAGE_BUFFERS.of(message))
}

#[cfg(test)]
mod tests;
