//! What the round trip's numbers say, in sentences, next to the published ones.

use device::tier::Tier;
use measure::quantity::{counted, three_digits};
use measure::schema::roundtrip::findings as row;
use measure::schema::{reads, roundtrip};
use measure::{Finding, Statistics, Unit};
use subjects::round_trip::Pass;

use super::layout::{READS_MIN, Requests, Way};
use crate::disk::{self, micros};
use crate::reading::{LAZY, Measured};

/// Fewest first reads from which anything is concluded: below, one slow read is the whole result.
const FIRST_READS_MIN: u64 = 16;

/// Which levels served reads whose tier is mixed, and reads whose tier is unknown.
const MIXED: &str = "mixed: storage served only some of the reads";
const UNCLEAR: &str = "and which level served the reads is not clear";

/// The sentences for one path, each of which names it where it is one of several; a block of it has `block_size` bytes.
pub(super) fn report(
    (path, block_size): (&str, u64),
    is_one_of_several: bool,
    measured: &[(Pass, u64, Measured)],
) -> Vec<Finding> {
    let among = is_one_of_several.then_some(path);
    let of = |pass: Pass, blocks: u64| {
        let (_, _, one) = measured.iter().find(|(this, of_read, _)| *this == pass && *of_read == blocks)?;
        Some(one)
    };
    let cached = of(Pass::PageCached, 1).and_then(Cached::of);
    if let Some((again, hot)) = of(Pass::StorageCached, 1).and_then(|again| Some((again, latency(again)?))) {
        // Where a cache of this host answered one of them, the two say nothing of the storage.
        let first = of(Pass::FirstTouch, 1).filter(|first| first.is_of_device() && again.is_of_device());
        let first = first.and_then(latency).and_then(|first| first_touch(first, hot));
        let first = first.map(|finding| disk::on(among, finding));
        let is_comparable = roundtrip::PUBLISHED_BLOCK.contains(&block_size);
        let several = |pass| of(pass, roundtrip::PUBLISHED_BLOCKS).filter(|_| is_comparable);
        let cached = several(Pass::PageCached).and_then(Cached::of);
        let published = several(Pass::StorageCached).and_then(|again| published(among, again, cached));
        let all = [tier(path, again, hot), published, first];
        all.into_iter().flatten().collect()
    } else if let Some(Cached { median, doubt }) = cached {
        let takes = micros(median);
        vec![row::ANSWER_ROUNDTRIP.of(match doubt {
            Some(doubt) => format!("One block of {path} in the page-cached pass takes {takes}, {doubt}."),
            None => format!("One block of {path} from the page cache takes {takes}: memory, not storage."),
        })]
    } else {
        Vec::new()
    }
}

/// What a read takes in the page-cached pass, in µs, and why that is not the time of the page cache alone.
#[derive(Clone, Copy)]
struct Cached {
    median: f64,
    doubt: Option<&'static str>,
}

impl Cached {
    /// Nothing where the page cache could not hold the blocks: they came from storage in its pass too.
    fn of(pass: &Measured) -> Option<Cached> {
        let median = latency(pass).filter(|_| !pass.is_of_device())?.median;
        let doubt = pass.verdict.as_ref().and_then(|verdict| match verdict.tier {
            Tier::Mixed { .. } => Some(MIXED),
            Tier::Unknown => Some(UNCLEAR),
            Tier::PageCache | Tier::Storage | Tier::NeverWritten => None,
        });
        Some(Cached { median, doubt })
    }
}

fn latency(pass: &Measured) -> Option<Statistics> {
    pass.metric(&reads::READ_LATENCY).map(|metric| metric.statistics)
}

fn tier(path: &str, again: &Measured, hot: Statistics) -> Option<Finding> {
    let verdict = again.verdict.as_ref()?;
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
    Some(row::ANSWER_ROUNDTRIP.of(message))
}

/// Reads of several blocks next to the published ones, which are of several too.
fn published(among: Option<&str>, again: &Measured, cached: Option<Cached>) -> Option<Finding> {
    if again.verdict.as_ref().is_none_or(|verdict| verdict.tier != Tier::Storage) {
        return None;
    }
    let hot = latency(again)?.median;
    let blocks = counted(roundtrip::PUBLISHED_BLOCKS, "block", "blocks");
    let published = roundtrip::PAGE_CACHE.value;
    let cached = cached.map_or(String::new(), |Cached { median, doubt }| match doubt {
        Some(doubt) => format!("; {blocks} in the page-cached pass took {}, {doubt}", micros(median)),
        None => format!("; the published page cache took {published} µs, this one {}", micros(median)),
    });
    let of_path = among.map_or(String::new(), |path| format!(" of {path}"));
    let (san, nfs) = (roundtrip::SAN.value / hot, roundtrip::NFS.value / hot);
    let (takes, [over_san, over_nfs]) = (micros(hot), [san, nfs].map(three_digits));
    let message = format!(
        "{blocks}{of_path} read again take {takes}. For several blocks, the published SAN took {over_san} times that, \
         the published NFS {over_nfs} times{cached}."
    );
    let finding = row::ANSWER_PUBLISHED.of(message).with("san", san, Unit::Ratio);
    Some(finding.with("nfs", nfs, Unit::Ratio))
}

/// Median and mean of a latency, as a sentence writes them: one figure where they are the same.
fn median_and_mean(latency: Statistics) -> String {
    match (micros(latency.median), micros(latency.mean)) {
        (median, mean) if median == mean => format!("{median} at the median and on average"),
        (median, mean) => format!("{median} at the median and {mean} on average"),
    }
}

fn first_touch(first: Statistics, hot: Statistics) -> Option<Finding> {
    if first.n < FIRST_READS_MIN {
        return None;
    }
    let (mean, median) = (first.mean / hot.mean, first.median / hot.median);
    let tail = first.p99.zip(hot.p99).map(|(first, hot)| three_digits(first / hot));
    let figures = format!(
        "The first read of a block takes {}, a later one {}: {} times at the median, {} times on average{}. The \
         slowest first read took {}.",
        median_and_mean(first),
        median_and_mean(hot),
        three_digits(median),
        three_digits(mean),
        tail.map_or(String::new(), |tail| format!(", {tail} times at the 99th percentile")),
        micros(first.max)
    );
    // The tail does not decide: of the usual 256 first reads it is three, and three slow reads happen on any device.
    let finding = if mean.max(median) >= LAZY {
        row::LAZILY_LOADED.of(format!(
            "{figures} Either the storage fetches blocks from a slower place when they are first read, as volumes made \
             from a snapshot do, or its media are that much slower than its cache. Read every block once before you \
             measure, or before users come."
        ))
    } else {
        row::ANSWER_FIRST_TOUCH.of(format!(
            "{figures} A volume is called lazily loaded from {LAZY} times on, at the median or on average; one whose \
             blocks were read before does not show it."
        ))
    };
    Some(finding.with("mean_ratio", mean, Unit::Ratio).with("median_ratio", median, Unit::Ratio))
}

/// That a device has no page cache, for a reason of its own.
pub(super) fn absent_page_cached(reason: &str) -> Finding {
    row::ABSENT_PAGE_CACHED.of(format!("The page-cached pass is absent: {reason}."))
}

/// That the file system refuses direct I/O; `is_evicted` where blocks are dropped from the page cache instead.
pub(super) fn no_direct_io(path: &str, way: Way, is_evicted: bool) -> Option<Finding> {
    let consequence = match way {
        Way::PastPageCache => return None,
        Way::InMemory => {
            "It keeps files in memory: no storage serves them, and nothing evicts them. The first-touch and \
             storage-cached passes are absent. Name a file on a file system that has storage."
        }
        Way::ThroughPageCache if is_evicted => {
            "Its blocks were evicted before each pass instead, and read through the page cache."
        }
        Way::ThroughPageCache => {
            "The first-touch and storage-cached passes are absent. With --evict, on a file of your own, its blocks are \
             dropped from the page cache before each pass instead."
        }
    };
    let message =
        format!("{path} cannot be read past the page cache: its file system refuses direct I/O. {consequence}");
    Some(row::NO_DIRECT_IO.of(message))
}

/// That a path has room for fewer requests than were wanted.
pub(super) fn fewer_blocks(
    path: &str,
    Requests { blocks_per_read, count, .. }: Requests,
    wanted: u64,
) -> Option<Finding> {
    // A pass has 16 requests at least, or below 16 blocks as many.
    let fit = if count < READS_MIN { count } else { count.saturating_mul(blocks_per_read) };
    let message = format!(
        "{path} has room for {} of {}; {} asked for. Name a larger file or device, or give --blocks {fit} or less.",
        counted(count, "separate request", "separate requests"),
        counted(blocks_per_read, "block", "blocks"),
        counted(wanted, "was", "were")
    );
    (count < wanted).then(|| row::FEWER_BLOCKS.of(message))
}

#[cfg(test)]
mod tests;
