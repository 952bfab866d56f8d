//! What spoils a reading: a rate that was not held, memory in place of the device, other readers, a change under way.

use device::tier::{Evidence, Tier, Verdict};
use device::workers::Reading;
use measure::change_point::Segment;
use measure::quantity::three_digits;
use measure::{Finding, Nanos, Unit};
use sys::file::Caching;
use sys::memory::Pages;

use super::job::Job;
use crate::journal::Journal;
use crate::machine::Machine;

/// Share of the rate asked for that counts as reached.
const RATE_REACHED: f64 = 0.95;

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
    for fallback in &reading.fallbacks {
        journal.find(Finding::info("method-fallback", format!("{fallback}.")));
    }
    if let Some((evidence, verdict)) = tier {
        report_tier(machine, (evidence, verdict), job, journal);
    }
    report_rate(reading, job, journal);
    report_segments(reading.outcome.latency.windows().width(), segments, &job.what, journal);
}

/// An open loop that could not be held at its rate: its latencies are a queue that grows with the run then.
fn report_rate(reading: &Reading, job: &Job<'_>, journal: &mut dyn Journal) {
    let outcome = &reading.outcome;
    let asked: f64 = job.plans.iter().filter_map(|plan| plan.rate).sum();
    let reached = outcome.latency.reads() as f64 / outcome.elapsed.as_seconds().max(1e-9);
    if asked > 0.0 && reached < asked * RATE_REACHED && outcome.latency.reads() > 1 {
        let message = format!(
            "The run reached {} of the {} reads a second that were asked for. Latency counts from the intended start, \
             so it shows the wait in a queue that grows as long as the run lasts. Look at service_time, or give a \
             lower --rate or a higher --depth.",
            three_digits(reached),
            three_digits(asked)
        );
        let finding = Finding::warning("rate-not-reached", message);
        journal.find(finding.with("asked", asked, Unit::PerSecond).with("reached", reached, Unit::PerSecond));
    }
}

fn report_tier(
    machine: &Machine,
    (evidence, verdict): (&Evidence, &Verdict),
    job: &Job<'_>,
    journal: &mut dyn Journal,
) {
    let (what, proof) = (&job.what, &verdict.proof);
    journal.find(match (evidence.caching, verdict.tier) {
        (_, Tier::PageCache | Tier::Mixed { .. }) if verdict.is_by_layer => Finding::warning(
            "device-saw-fewer-reads",
            format!(
                "Not all of {what} reached a device, although the kernel sent them on: {proof}. A layer in between, \
                 such as the page cache of a loop device's file, served the rest from this host's memory, and the \
                 latencies are that layer's. Measure what lies under it."
            ),
        ),
        (Caching::Direct, Tier::PageCache) => Finding::warning(
            "direct-io-ignored",
            format!(
                "The file system accepted direct I/O for {what} and did not do it: {proof}. These are reads of \
                 memory. Use a file system that does direct I/O, or a block device."
            ),
        ),
        (Caching::Direct, Tier::Mixed { from_storage }) => Finding::warning(
            "reads-not-all-from-storage",
            format!("Only part of {what} reached storage: {proof}. The latencies mix memory and storage."),
        )
        .with("from_storage", from_storage * 100.0, Unit::Percent),
        (Caching::Buffered, Tier::PageCache) if job.is_meant_cached => return,
        (Caching::Buffered, Tier::PageCache) => Finding::warning(
            "served-from-page-cache",
            format!(
                "The page cache served {what}: {proof}. This is memory, not the device. Use --direct, or --evict on a \
                 file of your own."
            ),
        ),
        (Caching::Buffered, Tier::Mixed { from_storage }) => Finding::warning(
            "partly-page-cache",
            format!(
                "About {} % of the bytes of {what} came from the page cache: {proof}. The latencies mix memory and \
                 storage; use --direct.",
                three_digits((1.0 - from_storage) * 100.0)
            ),
        )
        .with("from_storage", from_storage * 100.0, Unit::Percent),
        // The check of the region has reported it.
        (_, Tier::NeverWritten) => return,
        (_, Tier::Unknown) => {
            Finding::warning("tier-unknown", format!("It could not be proved which level served {what}: {proof}."))
        }
        (_, Tier::Storage) => return report_device_counts(machine, evidence, what, journal),
    });
}

/// The block device's own count against the process's: other readers.
fn report_device_counts(machine: &Machine, evidence: &Evidence, what: &str, journal: &mut dyn Journal) {
    let Some(delivered) = evidence.counts.delivered_by_device else {
        journal.find(Finding::info(
            "no-device-counters",
            "No block device with counters was found under the file: only the process's own count shows that the \
             reads reached a device.",
        ));
        return;
    };
    let ratio = delivered as f64 / evidence.issued.max(1) as f64;
    if evidence.caching == Caching::Direct && ratio > DELIVERED_MAX {
        machine.note_shared_device(what, ratio);
    }
}

fn report_segments(width: Nanos, segments: &[Segment], what: &str, journal: &mut dyn Journal) {
    for pair in segments.windows(2) {
        let at = Nanos(width.0 * pair[1].windows.start as u64).as_seconds();
        let (before, after) = (pair[0].rate, pair[1].rate);
        let cause = match after < before {
            true => "a spent burst credit, a throttle, or a cache that no longer helps",
            false => "a cache that filled, blocks that were loaded meanwhile, or another reader that stopped",
        };
        let message = format!(
            "{} s into {what} the rate went from {} to {} reads a second and stayed there: {cause}. The segments are \
             separate cases, and no average spans the change; what the kernel counted does, and is left out. Run \
             longer to see the lasting rate.",
            three_digits(at),
            three_digits(before),
            three_digits(after)
        );
        let finding = Finding::warning("rate-changed", message).with("at", at, Unit::Seconds);
        journal.find(finding.with("before", before, Unit::PerSecond).with("after", after, Unit::PerSecond));
    }
}

/// Says once in a run what buffers on huge pages do for large reads in sequence.
pub fn note_huge_pages(pages: Pages, journal: &mut dyn Journal) {
    if pages == Pages::Huge {
        journal.find(Finding::info(
            "huge-page-buffers",
            "Reads in sequence go into buffers on huge pages: 1 MiB is one request to the device. Programs with \
             ordinary buffers (fio, dd, most databases) send several smaller ones and may get half as much: \
             --huge-pages off measures that.",
        ));
    }
}
