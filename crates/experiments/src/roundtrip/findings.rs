//! What the round trip's numbers say, in sentences, next to the published ones.

use device::tier::Tier;
use measure::quantity::{format_nanos, three_digits};
use measure::schema::{reads, roundtrip};
use measure::{Finding, Statistics, Unit};
use subjects::round_trip::Pass;

use crate::journal::Journal;
use crate::reading::Measured;

/// Mean or tail of the first touch over the second from which a volume is called lazily loaded.
const LAZY_MEAN: f64 = 3.0;
const LAZY_TAIL: f64 = 10.0;

/// Fewest first reads from which anything is concluded: below, one slow read is the whole result.
const FIRST_READS_MIN: u64 = 16;

/// Adds the sentences for one path.
pub(super) fn report(path: &str, measured: &[(Pass, u64, Measured)], journal: &mut dyn Journal) {
    let of =
        |pass: Pass| measured.iter().find(|(this, blocks, _)| *this == pass && *blocks == 1).map(|(_, _, one)| one);
    let latency = |pass: Pass| of(pass)?.metric(&reads::READ_LATENCY).map(|metric| metric.statistics);
    if let (Some(again), Some(hot)) = (of(Pass::StorageCached), latency(Pass::StorageCached)) {
        tier(path, again, hot, journal);
        published(hot, latency(Pass::PageCached), again, journal);
        // Where a cache of this host answered the second time, the first says nothing of the storage.
        if let (Some(first), true) = (latency(Pass::FirstTouch), again.is_of_device()) {
            first_touch(first, hot, journal);
        }
    } else if let Some(cached) = latency(Pass::PageCached) {
        let message = format!(
            "One 8 KiB block of {path} from the page cache takes {}: memory, not storage.",
            micros(cached.median)
        );
        journal.find(Finding::info("answer-roundtrip", message));
    }
}

fn micros(value: f64) -> String {
    format_nanos(value * 1e3)
}

fn tier(path: &str, again: &Measured, hot: Statistics, journal: &mut dyn Journal) {
    let Some(verdict) = &again.verdict else { return };
    let takes = format!("A block of {path} read again takes {}", micros(hot.median));
    let message = match verdict.tier {
        Tier::Storage => {
            format!("{takes}: to the storage and back. No cache of this host served it: {}.", verdict.proof)
        }
        Tier::PageCache => {
            format!(
                "{takes}, but this host's memory served it: {}. The round trip to the storage was not measured.",
                verdict.proof
            )
        }
        Tier::NeverWritten => format!("{takes}, but the blocks were never written: no storage serves them."),
        Tier::Mixed { .. } | Tier::Unknown => {
            format!("{takes}; which level served it is not clear: {}.", verdict.proof)
        }
    };
    journal.find(Finding::info("answer-roundtrip", message));
}

fn published(hot: Statistics, cached: Option<Statistics>, again: &Measured, journal: &mut dyn Journal) {
    if again.verdict.as_ref().is_none_or(|verdict| verdict.tier != Tier::Storage) {
        return;
    }
    let cached = cached.map_or(String::new(), |cached| {
        format!("; its page cache {} µs, here {}", roundtrip::PAGE_CACHE.value, micros(cached.median))
    });
    let (san, nfs) = (roundtrip::SAN.value / hot.median, roundtrip::NFS.value / hot.median);
    let message = format!(
        "The published SAN took {} times that, the published NFS {} times{cached}.",
        three_digits(san),
        three_digits(nfs)
    );
    let finding = Finding::info("answer-published", message).with("san", san, Unit::Ratio);
    journal.find(finding.with("nfs", nfs, Unit::Ratio));
}

fn first_touch(first: Statistics, hot: Statistics, journal: &mut dyn Journal) {
    if first.n < FIRST_READS_MIN {
        return;
    }
    let mean = first.mean / hot.mean;
    let median = first.median / hot.median;
    let tail = first.p99.zip(hot.p99).map_or(1.0, |(first, hot)| first / hot);
    let figures = format!(
        "First touch {} at the median and {} on average, later {} and {}",
        micros(first.median),
        micros(first.mean),
        micros(hot.median),
        micros(hot.mean)
    );
    let with =
        |finding: Finding| finding.with("mean_ratio", mean, Unit::Ratio).with("median_ratio", median, Unit::Ratio);
    journal.find(with(if mean.max(median) >= LAZY_MEAN || tail >= LAZY_TAIL {
        Finding::warning(
            "lazily-loaded",
            format!(
                "{figures}: {} and {} times (one read {}). Either the storage fetches blocks from a slower place when \
                 they are first read, as volumes made from a snapshot do, or its media are that much slower than its \
                 cache. Read every block once before you measure, or before users come.",
                three_digits(median),
                three_digits(mean),
                micros(first.max)
            ),
        )
    } else {
        Finding::info(
            "answer-first-touch",
            format!(
                "{figures} ({} times): no lazy loading shows, unless the blocks were read before.",
                three_digits(mean)
            ),
        )
    }));
}
