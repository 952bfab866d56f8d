//! Its findings, read on both sides of their conditions.

use measure::Statistics;
use measure::schema::tiers;
use sides::{Reading, both_sides, reading, says};

use super::*;
use crate::event::{Statement, StatementIndex};
use crate::tables::read_tiers::{ByTier, Hill, ReadSums, ReaderRow};

fn found(of: &dyn Fn(&mut ReadTiers)) -> Vec<Finding> {
    let mut tiers = ReadTiers { records: 1_000, block_bytes: 8192, buffer_bytes: 16 << 20, ..ReadTiers::default() };
    of(&mut tiers);
    let sampled = Sampled { time: Ticks::from_micros(60_000_000), ..Sampled::default() };
    let statements = vec![Statement { id: "8211".into(), ..Statement::default() }];
    let context = Context { statements, ..Context::default() };
    let device = (40, Some(Ticks::from_micros(1_200)));
    findings(&TracedReads { tiers: &tiers, sampled: &sampled, context: &context, device })
}

fn row(tier: ReadTier, reads: u64, micros: i64) -> TierRow {
    let sums = ReadSums { reads, time: Ticks::from_micros(micros), ..ReadSums::default() };
    TierRow { tier, sums, latency: Statistics::single(1.0), histogram: crate::tables::histogram::Histogram::default() }
}

fn leaning(reads: u64, from_device: Option<i64>) -> ReaderRow {
    let leaning = Leaning {
        reads,
        ahead: reads / 4,
        time: Ticks::from_micros(3_000),
        from_device: from_device.map(Ticks::from_micros),
        blocks: 4_900,
        blocks_error: 0,
        relations: vec!["orders".into(), "orders_pkey".into()],
    };
    let reader = Reader::Statement(StatementIndex(0));
    ReaderRow { reader, tiers: ByTier::default(), estimated: 0, leaning: Some(leaning) }
}

/// A statement with this many reads from the device, and from the page cache.
fn bound(device: u64, cached: u64) -> ReaderRow {
    let sums = |reads: u64| ReadSums {
        reads,
        bytes: 8192 * reads,
        time: Ticks::from_micros(1_200 * reads.cast_signed()),
        ..ReadSums::default()
    };
    let mut tiers = ByTier::default();
    *tiers.of_mut(ReadTier::Device) = sums(device);
    *tiers.of_mut(ReadTier::PageCache) = sums(cached);
    ReaderRow { reader: Reader::Statement(StatementIndex(0)), tiers, estimated: 0, leaning: None }
}

fn all() -> Vec<Reading> {
    let answered = reading(
        tiers::findings::READ_TIERS,
        0..4_u64,
        |count| found(&|tiers| tiers.tiers = vec![row(ReadTier::PageCache, *count, 9), row(ReadTier::NotSeen, 5, 9)]),
        |count| {
            let reads = if *count == 1 { "1 read of a file".into() } else { format!("{count} reads of files") };
            (*count > 0).then(|| says![reads, "the page cache answered 100 %"])
        },
    );
    let leaners = reading(
        tiers::findings::WITHOUT_CACHE,
        0..400_u64,
        |count| found(&|tiers| tiers.readers = vec![leaning(*count, Some(2_003_000))]),
        |count| {
            let words = ["would cost statement 8211 2.00 s more in the 60.0 s sampled", "takes 1.20 ms", "(38 MiB)"];
            let ahead = format!("about {} of which", count / 4);
            (*count >= 100)
                .then(|| says![words[0], words[1], words[2], "orders and orders_pkey", "(16 MiB now)", ahead])
        },
    );
    let without_price = reading(
        tiers::findings::WITHOUT_CACHE,
        0..400_u64,
        |count| found(&|tiers| tiers.readers = vec![leaning(*count, None)]),
        |count| (*count >= 100).then(|| says!["is not known, because the device answered only 40 reads"]),
    );
    let gains = reading(
        tiers::findings::GAINS_WITHOUT_CACHE,
        0..200_u64,
        |cached| found(&|tiers| tiers.readers = vec![bound(1_000, *cached)]),
        |cached| {
            let reads = format!("the device answered {} of its {} reads", grouped(1_000), grouped(1_000 + cached));
            (*cached <= 111).then(|| {
                says!["Statement 8211 would lose next to nothing", reads, format!("only {cached} from"), "(16 MiB now)"]
            })
        },
    );
    let few_from_device = reading(
        tiers::findings::GAINS_WITHOUT_CACHE,
        0..200_u64,
        |reads| found(&|tiers| tiers.readers = vec![bound(*reads, 0)]),
        |reads| (*reads >= 100).then(|| says![format!("answered {reads} of its {reads} reads")]),
    );
    let hills = reading(
        tiers::findings::DEVICE_HILLS,
        0..2_usize,
        |count| {
            let hill = Hill { requests: 300, service: Ticks(1), mode_micros: 80.0, below_micros: Some(900.0) };
            let slow = Hill { requests: 100, mode_micros: 6_000.0, below_micros: None, ..hill };
            found(&|tiers| tiers.hills = [hill, slow][..2 * count].to_vec())
        },
        |count| (*count > 0).then(|| says!["2 peaks", "75.0 %", "80.0 µs", "6.00 ms", "inferred"]),
    );
    let lost = reading(
        tiers::findings::LOST_RECORDS_FOUND,
        0..3_u64,
        |count| found(&|tiers| tiers.lost = 10 * count),
        |count| (*count > 0).then(|| says![format!("{} of the kernel's", 10 * count), "set apart"]),
    );
    vec![answered, leaners, without_price, gains, few_from_device, hills, lost]
}

#[test]
fn findings_hold_on_both_sides_of_their_conditions() {
    both_sides(&tiers::findings::ALL, all());
}

#[test]
fn no_share_is_given_where_more_was_lost_than_read() {
    let found = found(&|tiers| {
        tiers.lost = 1_001;
        tiers.tiers = vec![row(ReadTier::PageCache, 50, 9)];
        tiers.readers = vec![leaning(1_000, None)];
    });
    let ids: Vec<&str> = found.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["lost-records"]);
    assert!(found[0].message.contains("no share is given"), "{}", found[0].message);
}
