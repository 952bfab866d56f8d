//! The miss curve as cases and findings of a run document.

use measure::quantity::{counted, format_nanos, grouped, size_in_words, three_digits};
use measure::schema::profile::findings as row;
use measure::schema::profile::{self as schema, parameters as named};
use measure::{Case, Finding};

use crate::document::metrics::{case, time};
use crate::observe::miss_curve::{Avoided, BLOCK_BYTES_ASSUMED, MissCurve};

/// Part of all that any size avoids at which more memory is hardly worth it.
const MOST: f64 = 0.8;

/// Least share of the reads that a larger cache must avoid to be worth a sentence of its own.
const WORTH_SHARE: f64 = 0.05;

impl MissCurve {
    /// The re-read share, then one case a size; `block_bytes` where the trace has the size of a block. Empty
    /// without reads whose blocks are known.
    pub fn cases(&self, block_bytes: Option<u64>) -> Vec<Case> {
        let Some(again) = self.read_again() else { return Vec::new() };
        let source = self.source();
        let bytes = block_bytes.unwrap_or(BLOCK_BYTES_ASSUMED);
        let known = if block_bytes.is_some() { "lines of single-block reads" } else { "assumed: no line has it" };
        let metrics = vec![
            schema::BLOCK_READS.count(source, self.reads()),
            schema::DISTINCT_BLOCKS.single(source, self.distinct_blocks()),
            schema::READS_AGAIN.single(source, again.reads),
            schema::SHARE_OF_READS.single(source, 100.0 * again.share),
            schema::SHARE_ERROR.single(source, 100.0 * again.share_error),
            schema::SHARE_OF_BLOCKS.single(source, 100.0 * self.share_read_again()),
            schema::BLOCK_SIZE.count(known, bytes),
        ];
        let reread = case([named::TABLE.of("reading"), named::READING.of("re-read-blocks")], metrics);
        let row = |row: &Avoided| {
            let parameters = [
                named::TABLE.of("miss_curve"),
                named::EXTRA_BLOCKS.of(row.blocks),
                named::EXTRA_BYTES.of(row.blocks.saturating_mul(bytes)),
            ];
            let metrics = vec![
                schema::READS_AVOIDED.single(source, row.reads),
                schema::SHARE_AVOIDED.single(source, 100.0 * row.share),
                schema::SHARE_ERROR.single(source, 100.0 * row.share_error),
                time(&schema::TIME_AVOIDED, source, row.time),
            ];
            case(parameters, metrics)
        };
        std::iter::once(reread).chain(self.rows().iter().map(row)).collect()
    }

    /// What the curve says, and what it leaves out.
    pub fn findings(&self, block_bytes: Option<u64>) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(self.gain_finding(block_bytes));
        findings.extend(self.sample_finding());
        findings.extend(self.left_out_finding());
        findings
    }

    /// The smallest size that avoids most of what any size avoids.
    fn gain_finding(&self, block_bytes: Option<u64>) -> Option<Finding> {
        let again = self.read_again()?;
        let assumed = if block_bytes.is_none() { ", in blocks of 8 KiB: assumed" } else { "" };
        let rows = self.rows();
        let Some(row) = rows.iter().find(|row| row.share >= MOST * again.share && again.share >= WORTH_SHARE) else {
            let message = match again.share {
                share if share <= 0.0 => {
                    "No block was read a second time: a larger buffer cache would avoid none of these reads.".into()
                }
                share => format!(
                    "{} % of the block reads read a block again: a larger buffer cache would avoid few of these reads.",
                    three_digits(100.0 * share)
                ),
            };
            return Some(row::LARGER_CACHE_GAINS_LITTLE.of(message));
        };
        let bytes = row.blocks.saturating_mul(block_bytes.unwrap_or(BLOCK_BYTES_ASSUMED));
        let message = format!(
            "{:.0} % of the block reads read a block again. {} of buffer cache ({}{assumed}) would have avoided \
             {:.0} % of the block reads and {} of waiting, if this trace had that for itself.",
            100.0 * again.share,
            counted(row.blocks, "more block", "more blocks"),
            size_in_words(bytes),
            100.0 * row.share,
            format_nanos(1e3 * row.time.micros()),
        );
        Some(row::LARGER_CACHE_GAINS.of(message))
    }

    fn sample_finding(&self) -> Option<Finding> {
        let share = self.sampled_share();
        let message = format!(
            "The miss curve rests on a sample of {} blocks, {:.2} % of those read; its shares are within the given \
             error 19 of 20 times.",
            grouped(self.sampled_blocks() as u64),
            100.0 * share
        );
        (share < 1.0).then(|| row::MISS_CURVE_SAMPLED.of(message))
    }

    fn left_out_finding(&self) -> Option<Finding> {
        let (past, unnamed) = (self.past_cache, self.without_address);
        let mut parts = Vec::new();
        if past.requests > 0 {
            parts.push(counted(past.requests, "read", "reads") + " past the buffer cache");
        }
        if unnamed.requests > 0 {
            parts.push(counted(unnamed.requests, "read whose line names", "reads whose lines name") + " no block");
        }
        let beginning = match self.reads() {
            0 => "There is no miss curve: the trace has only",
            _ => "The miss curve leaves out",
        };
        let message = format!("{beginning} {}.", parts.join(" and "));
        (!parts.is_empty()).then(|| row::MISS_CURVE_LEAVES_OUT.of(message))
    }

    fn source(&self) -> &'static str {
        if self.sampled_share() < 1.0 { "reuse distances of a sample of blocks" } else { "reuse distances" }
    }
}
