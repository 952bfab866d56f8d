//! What the round trip's numbers say, in sentences, beside the published ones.

use device::tier::Tier;
use measure::quantity::{format_nanos, three_digits};
use measure::{Finding, Statistics};

use super::Pass;
use crate::journal::Journal;
use crate::reading::Answer;

/// Published waits in microseconds: what turned out to be the file-system cache, the best over a SAN with direct
/// I/O, and a troubled NFS.
const PUBLISHED_CACHE_US: f64 = 40.0;
const PUBLISHED_SAN_US: f64 = 478.0;
const PUBLISHED_NFS_US: f64 = 1410.0;

/// Mean or tail of the first touch over the second from which a volume is called lazily loaded.
const LAZY_MEAN: f64 = 3.0;
const LAZY_TAIL: f64 = 10.0;

/// Fewest first reads from which anything is concluded: below, one slow read is the whole result.
const FIRST_READS_MIN: u64 = 16;

/// Adds the sentences for one path.
pub(super) fn report(path: &str, answered: &[(Pass, u64, Answer)], journal: &mut dyn Journal) {
    let of = |pass: Pass| {
        answered.iter().find(|(this, blocks, _)| *this == pass && *blocks == 1).map(|(_, _, answer)| answer)
    };
    let latency = |pass: Pass| of(pass)?.metric("read_latency").map(|metric| metric.statistics);
    if let (Some(answer), Some(hot)) = (of(Pass::StorageCached), latency(Pass::StorageCached)) {
        who_answered(path, answer, hot, journal);
        beside_the_published(hot, latency(Pass::PageCached), answer, journal);
        // A model is no volume that somebody could read once before.
        if let (Some(first), Some(_)) = (latency(Pass::FirstTouch), &answer.verdict) {
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

fn who_answered(path: &str, answer: &Answer, hot: Statistics, journal: &mut dyn Journal) {
    let Some(verdict) = &answer.verdict else { return };
    let takes = format!("A block of {path} read again takes {}", micros(hot.median));
    let message = match verdict.tier {
        Tier::Storage => {
            format!("{takes}: the way to the storage and back. This host did not answer: {}.", verdict.proof)
        }
        Tier::PageCache => {
            format!(
                "{takes}, but this host's memory answered: {}. The way to the storage was not measured.",
                verdict.proof
            )
        }
        Tier::NeverWritten => format!("{takes}, but the blocks were never written: no storage answers for them."),
        Tier::Mixed { .. } | Tier::Unknown => format!("{takes}; who answered is not clear: {}.", verdict.proof),
    };
    journal.find(Finding::info("answer-roundtrip", message));
}

fn beside_the_published(hot: Statistics, cached: Option<Statistics>, answer: &Answer, journal: &mut dyn Journal) {
    if answer.verdict.as_ref().is_none_or(|verdict| verdict.tier != Tier::Storage) {
        return;
    }
    let cached = cached.map_or(String::new(), |cached| {
        format!("; its page cache {PUBLISHED_CACHE_US} µs, here {}", micros(cached.median))
    });
    journal.find(Finding::info(
        "answer-published",
        format!(
            "The document's SAN took {} times that, its NFS {} times{cached}.",
            three_digits(PUBLISHED_SAN_US / hot.median),
            three_digits(PUBLISHED_NFS_US / hot.median),
        ),
    ));
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
    if mean.max(median) >= LAZY_MEAN || tail >= LAZY_TAIL {
        journal.find(Finding::warning(
            "lazily-loaded",
            format!(
                "{figures}: {} and {} times (one read {}). The storage fetches blocks from somewhere slower when they \
                 are first read, as volumes made from a snapshot do, or its media are that much slower than its cache. \
                 Read every block once before you measure, or before users come.",
                three_digits(median),
                three_digits(mean),
                micros(first.max)
            ),
        ));
    } else {
        journal.find(Finding::info(
            "answer-first-touch",
            format!("{figures} ({} times): no lazy loading shows, unless they were read before.", three_digits(mean)),
        ));
    }
}
