//! How a unit keeps its values, and the choice.
//!
//! Candidates are weighed in bytes that a scan streams. A plane weighs what it takes. A run weighs more than its 12
//! bytes: it costs the scan as long as [`RUN_WEIGHT`] bytes of planes do. So the smallest encoding wins where it is
//! also quick to scan, and short runs lose to planes although they may be smaller.

use super::dictionary::integers_bytes;
use super::line::LINE_BYTES;
use super::planes::{groups_of, width_of};

/// Bytes of planes that stream from memory in the time that a scan takes for one run: about 2.3 ns at 28 bytes a ns.
pub(super) const RUN_WEIGHT: usize = 64;

/// What a code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// Bit-packing: the code is the number.
    Number,
    /// Frame of reference: the code is the distance from `base`.
    Frame {
        /// The number with code 0.
        base: i64,
    },
    /// Dictionary: the code is the rank among the unit's distinct values.
    Dictionary,
}

/// How the codes lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeLayout {
    /// In bit planes.
    Planes {
        /// Bits of a code, 0 to 64.
        width: usize,
    },
    /// Run-length: a code and the row at which it ends.
    Runs {
        /// How many runs.
        runs: usize,
    },
}

/// What is known of a unit's numbers, nulls left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntegerFacts {
    /// Rows, nulls among them.
    pub(super) rows: usize,
    /// The least number.
    pub(super) min: i64,
    /// The greatest number.
    pub(super) max: i64,
    /// Runs of equal numbers.
    pub(super) runs: usize,
}

impl IntegerFacts {
    /// Bits of a code without a dictionary, and what it stands for.
    fn frame(&self) -> (usize, Domain) {
        let width = width_of(self.max.wrapping_sub(self.min) as u64);
        if self.min >= 0 && width_of(self.max as u64) == width {
            (width, Domain::Number)
        } else {
            (width, Domain::Frame { base: self.min })
        }
    }

    /// How many entries a dictionary may have to be smaller than anything else; `None` where none can be.
    pub(super) fn entries_worth_counting(&self) -> Option<usize> {
        let (width, _) = self.frame();
        let least = planes_bytes(self.rows, width).min(self.runs.saturating_mul(RUN_WEIGHT));
        let is_worth = |entries: usize| dictionary_weight(self.rows, entries) < least;
        (0..width).rev().map(|width| 1 << width.min(32)).find(|entries| is_worth(*entries))
    }

    /// The lightest encoding. `distinct` is the number of distinct values, where it was worth counting.
    pub(super) fn choose(&self, distinct: Option<usize>) -> (Domain, CodeLayout) {
        let (width, domain) = self.frame();
        let mut chosen = (domain, CodeLayout::Planes { width });
        let mut least = planes_bytes(self.rows, width);
        if let Some(entries) = distinct
            && dictionary_weight(self.rows, entries) < least
        {
            least = dictionary_weight(self.rows, entries);
            chosen = (Domain::Dictionary, CodeLayout::Planes { width: entries_width(entries) });
        }
        // A constant has no planes to be read, so it is a run: what a scan finds is read, not concluded.
        if width == 0 || self.runs.saturating_mul(RUN_WEIGHT) < least {
            chosen = (domain, CodeLayout::Runs { runs: self.runs });
        }
        chosen
    }
}

/// The layout of the codes of a dictionary of texts.
pub(super) fn choose_layout(rows: usize, entries: usize, runs: usize) -> CodeLayout {
    let width = entries_width(entries);
    if width == 0 || runs.saturating_mul(RUN_WEIGHT) < planes_bytes(rows, width) {
        CodeLayout::Runs { runs }
    } else {
        CodeLayout::Planes { width }
    }
}

/// Bytes of planes.
pub(super) fn planes_bytes(rows: usize, width: usize) -> usize {
    groups_of(rows) * width * LINE_BYTES
}

/// Bits of the codes of a dictionary.
fn entries_width(entries: usize) -> usize {
    width_of(entries.saturating_sub(1) as u64)
}

fn dictionary_weight(rows: usize, entries: usize) -> usize {
    planes_bytes(rows, entries_width(entries)) + integers_bytes(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 1 << 19;

    fn facts(min: i64, max: i64, runs: usize) -> IntegerFacts {
        IntegerFacts { rows: ROWS, min, max, runs }
    }

    /// The name of the encoding, and its bits or its runs.
    fn chosen(facts: IntegerFacts, distinct: Option<usize>) -> (&'static str, usize) {
        match facts.choose(distinct) {
            (Domain::Number, CodeLayout::Planes { width }) => ("bit-packing", width),
            (Domain::Frame { .. }, CodeLayout::Planes { width }) => ("frame of reference", width),
            (Domain::Dictionary, CodeLayout::Planes { width }) => ("dictionary", width),
            (Domain::Dictionary, CodeLayout::Runs { runs }) => ("dictionary and run-length", runs),
            (_, CodeLayout::Runs { runs }) => ("run-length", runs),
        }
    }

    #[test]
    fn each_kind_of_data_gets_the_encoding_that_is_made_for_it() {
        assert_eq!(chosen(facts(0, 99, ROWS), None), ("bit-packing", 7));
        assert_eq!(chosen(facts(1_000_000, 1_000_099, ROWS), None), ("frame of reference", 7));
        assert_eq!(chosen(facts(-3, 0, ROWS), None), ("frame of reference", 2));
        assert_eq!(chosen(facts(0, 1 << 40, ROWS), Some(2)), ("dictionary", 1));
        assert_eq!(chosen(facts(5, 1000, 20), None), ("run-length", 20));
        assert_eq!(chosen(facts(7, 7, 1), None), ("run-length", 1));
        assert_eq!(chosen(facts(0, 0, 1), None), ("run-length", 1));
        assert_eq!(chosen(facts(i64::MIN, i64::MAX, ROWS), None), ("frame of reference", 64));
    }

    #[test]
    fn runs_that_are_smaller_than_planes_but_slower_to_scan_are_not_chosen() {
        let runs = planes_bytes(ROWS, 7) / RUN_WEIGHT;
        assert_eq!(chosen(facts(0, 99, runs), None), ("bit-packing", 7));
        assert_eq!(chosen(facts(0, 99, runs - 1), None), ("run-length", runs - 1));
    }

    #[test]
    fn a_dictionary_is_counted_only_where_it_can_win() {
        assert_eq!(facts(0, 0, 1).entries_worth_counting(), None);
        assert_eq!(facts(0, 1, ROWS).entries_worth_counting(), Some(1));
        let entries = facts(0, 1 << 40, ROWS).entries_worth_counting().unwrap();
        assert!(dictionary_weight(ROWS, entries) < planes_bytes(ROWS, 41));
        assert!(dictionary_weight(ROWS, 2 * entries) >= planes_bytes(ROWS, 41));
    }
}
