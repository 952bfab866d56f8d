//! What the ladder says, in sentences.

use measure::quantity::{format_nanos, grouped, three_digits};
use measure::schema::lio::{FOLKLORE, MILLSAP, RANGED};
use measure::schema::reads;
use measure::{Finding, Unit};

use super::steps::LogicalCost;
use super::storage::SEQUENTIAL_BLOCKS;
use crate::journal::Journal;
use crate::reading::Measured;

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
        let message = format!(
            "A random read of one block costs {}; in reads of {SEQUENTIAL_BLOCKS} blocks, {} a block: {} times less.",
            format_nanos(single),
            format_nanos(sequential),
            three_digits(single / sequential)
        );
        let finding = Finding::info("answer-single-against-sequential", message);
        journal.find(finding.with("ratio", single / sequential, Unit::Ratio));
    }
    if let (Some(single), Some(best)) = (found.single, found.best) {
        let message = format!(
            "Depth {} makes the device {} times faster than one read at a time.",
            found.depth,
            three_digits(single / best)
        );
        journal.find(Finding::info("answer-depth", message).with("ratio", single / best, Unit::Ratio));
    }
    if !foreign {
        journal.find(Finding::info(
            "just-written",
            "The test file was just written: the device rungs may show the storage's cache. Use --on PATH for an old, \
             large file or a block device.",
        ));
    }
}

/// The ratio that the published papers argue about. Random blocks are compared with random blocks, and those of long
/// reads with a scan.
fn physical_against_logical(found: &Found, journal: &mut dyn Journal) {
    let (Some(single), Some(logical)) = (found.single, found.logical) else { return };
    let ranged = found.sequential.map_or(String::new(), |sequential| {
        format!(
            " A block of {SEQUENTIAL_BLOCKS}-block reads costs {} of a scan ({} over {} in block order; published: \
             about {}).",
            three_digits(sequential / logical.in_order),
            format_nanos(sequential),
            format_nanos(logical.in_order),
            RANGED.value
        )
    });
    let ratio = single / logical.random;
    let message = format!(
        "A single-block physical I/O costs {} logical I/Os here ({} over {}, a get with its rows in random order; \
         Millsap: {}, the folklore: {}).{ranged}",
        three_digits(ratio),
        format_nanos(single),
        format_nanos(logical.random),
        MILLSAP.value,
        grouped(FOLKLORE.value as u64)
    );
    journal.find(Finding::info("answer-ratio", message).with("ratio", ratio, Unit::Ratio));
}

/// Warns where the first touch of a block costs far more than the second.
pub(super) fn first_touch(name: &str, first: &Measured, second: &Measured, journal: &mut dyn Journal) {
    let mean = |measured: &Measured| measured.metric(&reads::READ_LATENCY).map(|metric| metric.statistics.mean);
    let (Some(first), Some(second), true) = (mean(first), mean(second), second.is_of_device()) else { return };
    if first >= second * LAZY {
        journal.find(Finding::warning(
            "lazily-loaded",
            format!(
                "Rung {name}: the first touch of a block takes {} on average, the second {}: {} times. The storage \
                 fetches blocks from a slower place when they are first read, as volumes made from a snapshot do. \
                 Read every block once before you measure, or before users come.",
                format_nanos(first * 1e3),
                format_nanos(second * 1e3),
                three_digits(first / second)
            ),
        ));
    }
}
