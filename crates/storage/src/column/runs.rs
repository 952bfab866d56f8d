//! Codes as runs: a code and the row behind the last one that has it.

use super::bitmap::count_between;
use super::filter::Filter;
use super::kernel::Mask;

/// Bytes that a run takes.
pub(super) const RUN_BYTES: usize = size_of::<u64>() + size_of::<u32>();

/// The runs of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs {
    codes: Vec<u64>,
    ends: Vec<u32>,
}

impl Runs {
    /// The runs of these codes; `runs` says how many there are, so that no more memory is taken.
    pub(super) fn new(codes: impl Iterator<Item = u64>, runs: usize) -> Runs {
        let mut built = Runs { codes: Vec::with_capacity(runs), ends: Vec::with_capacity(runs) };
        for (row, code) in (0..).zip(codes) {
            if built.codes.last() != Some(&code) {
                built.codes.push(code);
                built.ends.push(row);
            }
            if let Some(end) = built.ends.last_mut() {
                *end = row + 1;
            }
        }
        built
    }

    /// Number of runs.
    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    /// Bytes of them.
    pub(super) fn bytes(&self) -> usize {
        self.len() * RUN_BYTES
    }

    /// How many rows pass the filter and are in both masks.
    pub(super) fn count(&self, filter: &Filter, masks: [Mask<'_>; 2]) -> u64 {
        let mut start = 0;
        let mut count = 0;
        for (code, end) in self.codes.iter().zip(&self.ends) {
            let end = *end as usize;
            if filter.passes(*code) {
                count += count_between(masks, start, end);
            }
            start = end;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Runs {
        /// The code of a row. Panics beyond the last one.
        pub(in crate::column) fn code(&self, row: usize) -> u64 {
            self.codes[self.ends.partition_point(|end| *end as usize <= row)]
        }
    }

    #[test]
    fn a_code_that_comes_back_later_is_a_run_of_its_own() {
        let codes = [7, 7, 0, 7, 7, 7, u64::MAX];
        let runs = Runs::new(codes.into_iter(), 4);
        assert_eq!(runs.len(), 4);
        assert_eq!((0..7).map(|row| runs.code(row)).collect::<Vec<_>>(), codes);
    }
}
