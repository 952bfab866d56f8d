//! The curve against a cache that is played through.

use measure::random::SplitMix64;
use proptest::prelude::*;

use super::*;
use crate::event::Context;
use crate::observe::tests::{context, hear, wait};

const FILE: &[&str] = &["file#", "block#", "blocks"];

fn trace_context() -> Context {
    context(&[
        ("db file sequential read", FILE),
        ("db file scattered read", FILE),
        ("direct path read", &["file number", "first dba", "block cnt"]),
        ("db file parallel read", &["files", "blocks", "requests"]),
        ("direct path write temp", &["file number", "first dba", "block cnt"]),
    ])
}

/// Hits of a cache of this many blocks that evicts the one used longest ago, played through block by block.
fn hits(blocks: &[i64], size: usize) -> usize {
    let mut cached: Vec<i64> = Vec::new();
    let mut hits = 0;
    for block in blocks {
        match cached.iter().position(|other| other == block) {
            Some(position) => {
                cached.remove(position);
                hits += 1;
            }
            None if cached.len() == size => {
                cached.remove(0);
            }
            None => {}
        }
        cached.push(*block);
    }
    hits
}

fn curve(blocks: &[i64], blocks_exact: usize) -> MissCurve {
    let context = trace_context();
    let mut curve = MissCurve::new(blocks_exact);
    blocks.iter().for_each(|block| hear(&context, &wait(0, 100, [1, *block, 1]), |wait, time| curve.add(wait, time)));
    curve
}

/// Block numbers with few that come often and many that come rarely.
fn skewed(seed: u64, count: usize, universe: f64) -> Vec<i64> {
    let mut random = SplitMix64::new(seed);
    let mut uniform = || (random.below(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64;
    (0..count).map(|_| (universe.powf(uniform()) * 7.0) as i64).collect()
}

proptest! {
    #[test]
    fn the_curve_is_that_of_caches_played_through(blocks in prop::collection::vec(0i64..90, 1..500)) {
        let curve = curve(&blocks, BLOCKS_EXACT);
        for row in curve.rows() {
            prop_assert_eq!(row.reads, hits(&blocks, row.blocks as usize) as f64, "{} blocks", row.blocks);
            prop_assert_eq!(row.time, Ticks::from_micros(100 * row.reads as i64));
            prop_assert_eq!(row.share_error, 0.0);
        }
        let mut distinct = blocks.clone();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(curve.distinct_blocks(), distinct.len() as f64);
        let last = curve.rows().last().map_or(0.0, |row| row.reads);
        prop_assert_eq!(last, (blocks.len() - distinct.len()) as f64);
    }

    #[test]
    fn no_line_panics(lines in prop::collection::vec((0u32..6, any::<i64>(), any::<[i64; 3]>()), 0..50)) {
        let context = trace_context();
        let mut curve = MissCurve::default();
        for (event, micros, parameters) in lines {
            let mut wait = wait(event, 0, parameters);
            wait.elapsed = Ticks(micros);
            hear(&context, &wait, |wait, time| curve.add(wait, time));
        }
        let rows = curve.rows();
        prop_assert!(rows.windows(2).all(|pair| pair[0].reads <= pair[1].reads));
    }
}

#[test]
fn the_error_bound_of_a_sample_holds() {
    let (mut within, mut all) = (0, 0);
    for seed in 0..12 {
        let blocks = skewed(seed, 60_000, 20_000.0);
        let exact = curve(&blocks, BLOCKS_EXACT);
        let sampled = curve(&blocks, 1500);
        assert!(sampled.sampled_share() < 0.5 && sampled.sampled_blocks() <= 1500);
        for row in exact.rows().iter().filter(|row| row.blocks >= 64) {
            let estimate = sampled.avoided(row.blocks as f64);
            let off = (estimate.share - row.share).abs();
            // Below some dozen sampled blocks the bound is wide, and has to be; above it must say something.
            let is_resolved = row.blocks as f64 * sampled.sampled_share() >= 64.0;
            assert!(!is_resolved || off < 0.04, "seed {seed}, {row:?}: {}", estimate.share);
            assert!(!is_resolved || estimate.share_error < 0.08, "seed {seed}: the bound says nothing, {estimate:?}");
            all += 1;
            within += usize::from(off <= estimate.share_error);
        }
    }
    assert!(within * 100 >= all * 90, "{within} of {all} within the bound");
}

#[test]
fn a_loop_larger_than_the_cache_gains_nothing_until_all_of_it_fits() {
    let blocks: Vec<i64> = (0..3000).map(|read| read % 1000).collect();
    let rows = curve(&blocks, BLOCKS_EXACT).rows();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0].blocks, rows[0].reads), (1024, 2000.0));
}

#[test]
fn every_block_of_a_request_counts_and_reads_past_the_cache_do_not() {
    let context = trace_context();
    let mut curve = MissCurve::default();
    hear(&context, &wait(1, 800, [1, 100, 8]), |wait, time| curve.add(wait, time));
    hear(&context, &wait(0, 50, [1, 103, 1]), |wait, time| curve.add(wait, time));
    hear(&context, &wait(2, 900, [1, 100, 8]), |wait, time| curve.add(wait, time));
    hear(&context, &wait(3, 700, [2, 39, 39]), |wait, time| curve.add(wait, time));
    hear(&context, &wait(4, 700, [201, 39, 31]), |wait, time| curve.add(wait, time));
    assert_eq!((curve.reads(), curve.distinct_blocks()), (9, 8.0));
    assert_eq!(curve.past_cache, Reading { requests: 1, blocks: 8 });
    assert_eq!(curve.without_address, Reading { requests: 1, blocks: 39 });
    let again = curve.read_again().unwrap();
    assert_eq!((again.reads, again.time), (1.0, Ticks::from_micros(50)));
}

#[test]
fn without_reads_there_is_no_curve() {
    let curve = MissCurve::default();
    assert!(curve.rows().is_empty());
    assert_eq!(curve.read_again(), None);
    let once = super::tests::curve(&[1, 2, 3], BLOCKS_EXACT);
    assert!(once.rows().is_empty());
    assert_eq!(once.read_again().unwrap().reads, 0.0);
}
