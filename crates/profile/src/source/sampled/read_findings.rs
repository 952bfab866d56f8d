//! What was found about the tiers that answered reads: which did, what leans on the page cache, and what was lost.

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits, whole_mebibytes};
use measure::schema::tiers::findings as row;
use measure::sorting;

use super::findings::shown;
use super::price::READS_MIN;
use crate::event::{Context, StatementIndex, Ticks};
use crate::tables::read_tiers::{Leaning, ReadSums, ReadTier, ReadTiers, Reader, ReaderRow, TierRow};
use crate::tables::sampled::Sampled;

/// Reads from the page cache from which on what leans on it is worth a sentence, and sentences at most.
const CACHED_MIN: u64 = 100;
const LEANERS_MAX: usize = 3;

/// Reads from the device from which on it is worth a sentence that a statement does not lean on the page cache, and the
/// part of its reads, one of this many, that the cache may have answered then.
const DEVICE_MIN: u64 = 100;
const CACHED_PART: u64 = 10;

/// Part of the largest increase from which on a further statement is named too.
const LEANER_PART: f64 = 0.2;

/// What these findings are made of.
pub(super) struct TracedReads<'a> {
    pub(super) tiers: &'a ReadTiers,
    pub(super) sampled: &'a Sampled,
    pub(super) context: &'a Context,
    /// Reads that the device answered, and the mean time of one.
    pub(super) device: (u64, Option<Ticks>),
}

/// All that is worth a word.
pub(super) fn findings(of: &TracedReads<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    if !of.tiers.is_withheld() {
        found.extend(answered(of.tiers));
        found.extend(of.leaners());
        found.extend(of.gainers());
        found.extend(hills(of.tiers));
    }
    found.extend(lost(of.tiers));
    found
}

/// Which tier answered how much.
fn answered(tiers: &ReadTiers) -> Option<Finding> {
    let known = tiers.whole().known();
    let name = |tier: ReadTier| match tier {
        ReadTier::PageCache => "the page cache",
        ReadTier::Device => "the device",
        ReadTier::InFlight => "a request in flight for another process",
        ReadTier::NotSeen => "",
    };
    let part = |row: &TierRow| {
        let share = 100.0 * row.sums.reads as f64 / known.max(1) as f64;
        let mean = Ticks(row.sums.time.0 / row.sums.reads.max(1).cast_signed());
        let share = three_digits(share);
        (format!("{} answered {share} %", name(row.tier)), format!("{} each", shown(mean)))
    };
    let parts = tiers.tiers.iter().filter(|row| row.tier != ReadTier::NotSeen).map(part);
    let parts: Vec<String> = parts.map(|(answered, each)| format!("{answered} ({each})")).collect();
    (known > 0).then(|| {
        let message = format!("Of {}, {}.", counted(known, "read of a file", "reads of files"), listed(&parts));
        row::READ_TIERS.of(message)
    })
}

impl TracedReads<'_> {
    /// The statements that would suffer most without the page cache.
    fn leaners(&self) -> Option<Finding> {
        let statements = self.tiers.readers.iter().filter_map(|row| match (&row.reader, &row.leaning) {
            (Reader::Statement(index), Some(leaning)) if leaning.reads >= CACHED_MIN => Some((*index, leaning)),
            _ => None,
        });
        let mut leaners: Vec<(StatementIndex, &Leaning)> = statements.collect();
        // What the kernel read ahead from the device was not leaned on.
        let held = |leaning: &Leaning| leaning.held() as f64 / leaning.reads.max(1) as f64;
        let weight =
            |leaning: &Leaning| held(leaning) * leaning.more().map_or(leaning.reads as f64, |more| more.0 as f64);
        sorting::by(&mut leaners, |(_, one), (_, other)| weight(other).total_cmp(&weight(one)));
        let largest = leaners.first().map(|(_, leaning)| weight(leaning))?;
        leaners.retain(|(_, leaning)| weight(leaning) >= LEANER_PART * largest);
        let sentences: Vec<String> =
            leaners.iter().take(LEANERS_MAX).map(|(index, leaning)| self.leaner(*index, leaning)).collect();
        Some(row::WITHOUT_CACHE.of(sentences.join(" ")))
    }

    /// The statements that lose next to nothing without the page cache: the device answers nearly all their reads.
    fn gainers(&self) -> Option<Finding> {
        let is_bound = |row: &&ReaderRow| {
            device(row).reads >= DEVICE_MIN && held(row).saturating_mul(CACHED_PART) <= row.tiers.known()
        };
        let mut rows: Vec<(StatementIndex, &ReaderRow)> = Vec::new();
        for row in self.tiers.readers.iter().filter(is_bound) {
            if let Reader::Statement(index) = row.reader {
                rows.push((index, row));
            }
        }
        sorting::by_key(&mut rows, |(_, row)| std::cmp::Reverse(device(row).time));
        let largest = device(rows.first()?.1).time.0 as f64;
        rows.retain(|(_, row)| device(row).time.0 as f64 >= LEANER_PART * largest);
        let sentences: Vec<String> =
            rows.iter().take(LEANERS_MAX).map(|(index, row)| self.gainer(*index, row)).collect();
        let message = format!(
            "{} What the cache holds of these would be free for shared_buffers ({} now); only a test shows how much \
             faster such reads become without the copy.",
            sentences.join(" "),
            whole_mebibytes(self.tiers.buffer_bytes)
        );
        Some(row::GAINS_WITHOUT_CACHE.of(message))
    }

    fn gainer(&self, index: StatementIndex, row: &ReaderRow) -> String {
        let device = device(row);
        let id = self.context.statement_id(index);
        format!(
            "Statement {id} would lose next to nothing without the page cache, and may gain: the device answered {} of \
             its {}, {} in all, and the cache only {} from what it held ({} passed through it).",
            grouped(device.reads),
            counted(row.tiers.known(), "read", "reads"),
            shown(device.time),
            grouped(held(row)),
            whole_mebibytes(device.bytes)
        )
    }

    fn leaner(&self, index: StatementIndex, leaning: &Leaning) -> String {
        let id = self.context.statement_id(index);
        let ahead = match leaning.ahead {
            0 => String::new(),
            ahead => format!(" (about {} of which the kernel had read ahead for it)", grouped(ahead)),
        };
        let reads = format!("{}{ahead}", counted(leaning.reads, "read", "reads"));
        let cost = match leaning.more() {
            Some(more) => format!(
                "Switching the page cache off would cost statement {id} {} more {}: the cache answered {reads}, and \
                 the device takes {} for one here",
                shown(more),
                self.per(index, more),
                self.device.1.map_or_else(String::new, shown),
            ),
            None => format!(
                "The page cache answered {reads} for statement {id}; what they would cost from the device is \
                 not known, because the device answered only {} here ({READS_MIN} would show it)",
                counted(self.device.0, "read", "reads")
            ),
        };
        format!("{cost}. To do without it, {}.", self.memory(leaning))
    }

    /// Per what an increase is.
    fn per(&self, index: StatementIndex, more: Ticks) -> String {
        let sampled = format!("in the {} sampled", shown(self.sampled.time));
        match self.sampled.counted(index).filter(|counted| counted.executions > 0) {
            Some(counted) => {
                let each = Ticks((more.0 as f64 / counted.executions as f64) as i64);
                format!("{sampled}, {} an execution", shown(each))
            }
            None => sampled,
        }
    }

    /// What the buffers would have to hold.
    fn memory(&self, leaning: &Leaning) -> String {
        let bytes = leaning.blocks.saturating_mul(self.tiers.block_bytes);
        let about = if leaning.blocks_error > 0 { "about " } else { "" };
        let of =
            if leaning.relations.is_empty() { String::new() } else { format!(" of {}", listed(&leaning.relations)) };
        format!(
            "{about}{} ({}){of} would have to fit in shared_buffers ({} now)",
            counted(leaning.blocks, "block", "blocks"),
            whole_mebibytes(bytes),
            whole_mebibytes(self.tiers.buffer_bytes)
        )
    }
}

fn device(row: &ReaderRow) -> &ReadSums {
    row.tiers.of(ReadTier::Device)
}

/// Reads of a statement that the page cache answered from what it had before.
fn held(row: &ReaderRow) -> u64 {
    row.leaning.as_ref().map_or(row.tiers.of_page_cache().reads, Leaning::held)
}

/// Where the device's latency has several hills.
fn hills(tiers: &ReadTiers) -> Option<Finding> {
    let (first, last) = (tiers.hills.first()?, tiers.hills.last()?);
    let all: u64 = tiers.hills.iter().map(|hill| hill.requests).sum();
    let share = 100.0 * first.requests as f64 / all.max(1) as f64;
    let message = format!(
        "The device's own latency has {} peaks: {} % of its requests took about {}, and the slowest peak is at {}. \
         That suggests a cache of the storage before its media; it is inferred from the latency alone.",
        tiers.hills.len(),
        three_digits(share),
        format_nanos(first.mode_micros * 1e3),
        format_nanos(last.mode_micros * 1e3)
    );
    Some(row::DEVICE_HILLS.of(message))
}

fn lost(tiers: &ReadTiers) -> Option<Finding> {
    let unseen = tiers.whole().of(ReadTier::NotSeen).reads;
    (tiers.lost > 0).then(|| {
        let part = tiers.lost_part();
        let rest = if tiers.is_withheld() {
            "So much is missing that no share is given".into()
        } else {
            format!(
                "{} that were under way then are set apart, and shares are of the others",
                counted(unseen, "read", "reads")
            )
        };
        let message = format!(
            "{} of the kernel's {} were lost, {} % of them: they came faster than readpath could take them, or while a \
             processor was idle, of which some kernels record nothing. {rest}; the counts are too low by about that \
             part.",
            grouped(tiers.lost),
            counted(tiers.lost + tiers.records, "record", "records"),
            three_digits(100.0 * part)
        );
        row::LOST_RECORDS_FOUND.of(message)
    })
}

/// `a, b and c`.
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
