//! What the run document says of traced reads: the tiers that answered them, whose they were, and of what.

use std::cmp::Reverse;

use measure::schema::profile::{self as schema, parameters as named};
use measure::schema::{sampled as of_samples, tiers as own};
use measure::sorting;
use measure::words::Word;
use measure::{Case, Metric};
use serde_json::Value;

use super::metrics::{case, histogram, time};
use crate::event::Context;
use crate::tables::read_tiers::{
    ByTier, Hill, Leaning, Purpose, ReadTier, ReadTiers, Reader, ReaderRow, RelationRow, RequestSums, TierRow, WaitRow,
};

/// How the metrics were obtained.
const FROM_TRACEPOINTS: &str = "tracepoints of the kernel";
const FROM_BOTH: &str = "tracepoints of the kernel, samples of the sessions";
const FROM_PRICE: &str = "tracepoints of the kernel: mean of the device's reads of that length";
const FROM_HILLS: &str = "peaks of the device's latency";

/// Most statements and relations that have a row: those with most time.
const ROWS_MAX: usize = 100;

/// The tables of traced reads.
pub(crate) const TABLES: [&str; 8] = [
    "tracing",
    "read_tier",
    "read_latency",
    "read_request",
    "read_hill",
    "read_statement",
    "read_wait",
    "read_relation",
];

/// All cases; of what came in too large holes to be given as shares, the tracing alone.
pub(crate) fn cases(tiers: &ReadTiers, context: &Context) -> Vec<Case> {
    let records = vec![
        own::RECORDS.count(FROM_TRACEPOINTS, tiers.records),
        own::LOST_RECORDS.count(FROM_TRACEPOINTS, tiers.lost),
    ];
    let mut cases = vec![case([named::TABLE.of("tracing")], records)];
    if tiers.is_withheld() {
        return cases;
    }
    let known = tiers.whole().known();
    cases.extend(tiers.tiers.iter().map(|row| tier(row, known)));
    cases.extend(tiers.tiers.iter().flat_map(latency));
    cases.extend(tiers.requests.iter().map(|(purpose, sums)| request(*purpose, sums)));
    cases.extend((1_u64..).zip(&tiers.hills).map(|(number, hill)| self::hill(number, hill)));
    cases.extend(tiers.readers.iter().take(ROWS_MAX).map(|row| statement(row, context)));
    cases.extend(tiers.waits.iter().take(ROWS_MAX).map(|row| wait(row, context)));
    let mut relations: Vec<&RelationRow> = tiers.relations.iter().collect();
    sorting::by_key(&mut relations, |row| Reverse(row.tiers.all().time));
    cases.extend(relations.into_iter().take(ROWS_MAX).map(relation));
    cases
}

fn tier(row: &TierRow, known: u64) -> Case {
    let sums = &row.sums;
    let mut metrics = vec![
        schema::CALLS.count(FROM_TRACEPOINTS, sums.reads),
        schema::BLOCKS.count(FROM_TRACEPOINTS, sums.blocks),
        schema::BYTES.count(FROM_TRACEPOINTS, sums.bytes),
        time(&schema::TOTAL, FROM_TRACEPOINTS, sums.time),
        schema::LATENCY.of_statistics(FROM_TRACEPOINTS, row.latency),
    ];
    if row.tier != ReadTier::NotSeen && known > 0 {
        let share = 100.0 * sums.reads as f64 / known as f64;
        metrics.push(schema::SHARE.single(FROM_TRACEPOINTS, share));
    }
    if row.tier == ReadTier::Device {
        metrics.push(time(&own::QUEUE, FROM_TRACEPOINTS, sums.queue));
        metrics.push(time(&own::SERVICE, FROM_TRACEPOINTS, sums.service));
    }
    case([named::TABLE.of("read_tier"), named::TIER.of(row.tier.name())], metrics)
}

/// The latency of a tier in powers of two.
fn latency(row: &TierRow) -> Vec<Case> {
    let of_bucket = |(from, metrics): (u64, Vec<Metric>)| {
        case([named::TABLE.of("read_latency"), named::TIER.of(row.tier.name()), named::FROM_US.of(from)], metrics)
    };
    histogram(FROM_TRACEPOINTS, &row.histogram).map(of_bucket).collect()
}

fn request(purpose: Purpose, sums: &RequestSums) -> Case {
    let metrics = vec![
        schema::CALLS.count(FROM_TRACEPOINTS, sums.requests),
        schema::BYTES.count(FROM_TRACEPOINTS, sums.bytes),
        time(&own::QUEUE, FROM_TRACEPOINTS, sums.queue),
        time(&own::SERVICE, FROM_TRACEPOINTS, sums.service),
    ];
    case([named::TABLE.of("read_request"), own::parameters::PURPOSE.of(purpose.name())], metrics)
}

fn hill(number: u64, hill: &Hill) -> Case {
    let mut metrics = vec![
        schema::CALLS.count(FROM_HILLS, hill.requests),
        time(&schema::TOTAL, FROM_HILLS, hill.service),
        schema::MODE.single(FROM_HILLS, hill.mode_micros),
    ];
    metrics.extend(hill.below_micros.map(|below| schema::BELOW.single(FROM_HILLS, below)));
    case([named::TABLE.of("read_hill"), named::NUMBER.of(number)], metrics)
}

fn statement(row: &ReaderRow, context: &Context) -> Case {
    let reader = |word: &str| own::parameters::READER.of(word);
    let mut parameters: Vec<(String, Value)> = vec![named::TABLE.of("read_statement")];
    parameters.extend(match &row.reader {
        Reader::Statement(index) => vec![reader("statement"), named::ID.of(context.statement_id(*index))],
        Reader::Process(kind) => {
            vec![reader("process"), of_samples::parameters::PROCESS.of(&**kind)]
        }
        Reader::Unmet => vec![reader("unmet")],
        Reader::Others => vec![reader("others")],
    });
    let mut metrics = sums(&row.tiers);
    if row.estimated > 0 {
        metrics.push(own::ESTIMATED_READS.count(FROM_BOTH, row.estimated));
    }
    metrics.extend(row.leaning.iter().flat_map(leaning));
    case(parameters, metrics)
}

fn wait(row: &WaitRow, context: &Context) -> Case {
    let event = row.event.map_or("", |event| context.event_name(event));
    case([named::TABLE.of("read_wait"), named::EVENT.of(event)], sums(&row.tiers))
}

fn relation(row: &RelationRow) -> Case {
    let mut metrics = sums(&row.tiers);
    metrics.extend(row.leaning.iter().flat_map(leaning));
    case([named::TABLE.of("read_relation"), named::OBJECT.of(row.name.as_str())], metrics)
}

/// Reads, blocks and time by tier; of the device's time what was queue and what was service.
fn sums(tiers: &ByTier) -> Vec<Metric> {
    let all = tiers.all();
    let mut metrics = vec![
        schema::CALLS.count(FROM_TRACEPOINTS, all.reads),
        schema::BLOCKS.count(FROM_TRACEPOINTS, all.blocks),
        time(&schema::TOTAL, FROM_TRACEPOINTS, all.time),
    ];
    for tier in ReadTier::all() {
        let (sums, stem) = (tiers.of(tier), tier.name().replace('-', "_"));
        if sums.reads > 0 {
            metrics.push(own::TIER_READS.of(&stem).count(FROM_BOTH, sums.reads));
            metrics.push(own::TIER_BLOCKS.of(&stem).count(FROM_BOTH, sums.blocks));
            metrics.push(time(&own::TIER_TIME.of(&stem), FROM_BOTH, sums.time));
        }
    }
    let device = tiers.of(ReadTier::Device);
    if device.reads > 0 {
        metrics.push(time(&own::QUEUE, FROM_BOTH, device.queue));
        metrics.push(time(&own::SERVICE, FROM_BOTH, device.service));
    }
    metrics
}

fn leaning(leaning: &Leaning) -> Vec<Metric> {
    let mut metrics = vec![schema::DISTINCT_BLOCKS.count(FROM_BOTH, leaning.blocks)];
    if leaning.blocks_error > 0 {
        metrics.push(own::BLOCKS_ERROR.count(FROM_BOTH, leaning.blocks_error));
    }
    metrics.extend(leaning.from_device.map(|from_device| time(&own::FROM_DEVICE, FROM_PRICE, from_device)));
    metrics.extend(leaning.more().map(|more| time(&own::MORE_FROM_DEVICE, FROM_PRICE, more)));
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tier_lacks_the_metrics_without_which_its_first_read_ends_the_profile() {
        let mut tiers = ByTier::default();
        ReadTier::all().for_each(|tier| tiers.of_mut(tier).reads = 1);
        let found: Vec<String> = sums(&tiers).into_iter().map(|metric| metric.name).collect();
        let own = |tier: ReadTier| format!("{}_reads", tier.name().replace('-', "_"));
        assert!(ReadTier::all().all(|tier| found.contains(&own(tier))), "{found:?}");
    }
}
