//! What the ladder says, in sentences.

use measure::Finding;
use measure::quantity::{format_nanos, three_digits};
use measure::schema::lio as schema;

use super::pool::LogicalCost;
use super::storage::SEQUENTIAL_BLOCKS;
use crate::journal::Journal;
use crate::reading::Answer;

/// Mean of the first touch over the second from which a volume is called lazily loaded.
const LAZY: f64 = 3.0;

/// Costs of one block in nanoseconds, as far as they were found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// One random read at a time.
    pub(super) single: Option<f64>,
    /// Between two completions at the best depth.
    pub(super) best: Option<f64>,
    /// That depth.
    pub(super) depth: usize,
    /// In reads of 128 blocks.
    pub(super) sequential: Option<f64>,
    /// A logical I/O.
    pub(super) logical: Option<LogicalCost>,
}

/// Adds the sentences under the table.
pub(super) fn report(found: &Found, foreign: bool, journal: &mut dyn Journal) {
    physical_against_logical(found, journal);
    if let (Some(single), Some(sequential)) = (found.single, found.sequential) {
        journal.find(Finding::info(
            "answer-single-against-sequential",
            format!(
                "A random read of one block costs {}; in reads of {SEQUENTIAL_BLOCKS} blocks, {} a block: {} times \
                 less.",
                format_nanos(single),
                format_nanos(sequential),
                three_digits(single / sequential)
            ),
        ));
    }
    if let (Some(single), Some(best)) = (found.single, found.best) {
        journal.find(Finding::info(
            "answer-depth",
            format!(
                "Depth {} makes the device {} times faster than one read at a time.",
                found.depth,
                three_digits(single / best)
            ),
        ));
    }
    if !foreign {
        journal.find(Finding::info(
            "just-written",
            "The test file was just written: the device rungs may be the storage's cache. Use --on PATH for an old, \
             large file or a block device.",
        ));
    }
}

/// What the documents argue about. Random blocks stand against random blocks, and those of long reads against a scan.
fn physical_against_logical(found: &Found, journal: &mut dyn Journal) {
    let (Some(single), Some(logical)) = (found.single, found.logical) else { return };
    let ranged = found.sequential.map_or(String::new(), |sequential| {
        format!(
            "; in {SEQUENTIAL_BLOCKS}-block reads {} (published: about {})",
            three_digits(sequential / logical.in_order),
            schema::RANGED.value
        )
    });
    journal.find(Finding::info(
        "answer-ratio",
        format!(
            "A single-block physical I/O costs {} logical I/Os here (Millsap: {}, the folklore: {}){ranged}.",
            three_digits(single / logical.random),
            schema::MILLSAP.value,
            three_digits(schema::FOLKLORE.value)
        ),
    ));
}

/// Says when the first touch of a block costs far more than the second.
pub(super) fn first_touch(name: &str, first: &Answer, second: &Answer, journal: &mut dyn Journal) {
    let mean = |answer: &Answer| answer.metric("read_latency").map(|metric| metric.statistics.mean);
    let (Some(first), Some(second)) = (mean(first), mean(second)) else { return };
    if first >= second * LAZY {
        journal.find(Finding::warning(
            "lazily-loaded",
            format!(
                "Rung {name}: the first touch of a block takes {} on average, the second {}: {} times. The storage \
                 fetches blocks from somewhere slower when they are first read, as volumes made from a snapshot do. \
                 Read every block once before you measure, or before users come.",
                format_nanos(first * 1e3),
                format_nanos(second * 1e3),
                three_digits(first / second)
            ),
        ));
    }
}
