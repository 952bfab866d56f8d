//! The kernels: how many rows of a unit pass and have a value in another column.
//!
//! One pass does it all: the comparison of 512 codes stays in one vector (or a few), is masked with the rows that have
//! values, counted, and forgotten. No bitmap of results is written.
//!
//! The comparison goes through the planes from the lowest bit to the highest. With `g` the answer so far to "is the
//! code above the limit", seen from the bits below, a plane `x` changes it to `x | g` where the limit's bit is 0 and to
//! `x & g` where it is 1: a differing bit decides, an equal one keeps what was. This is BitWeaving/V (Li and Patel,
//! "BitWeaving: Fast Scans for Main Memory Data Processing", SIGMOD 2013, section 4), from the other end: theirs stops
//! early when every row is decided, which random codes grant only after most planes; this one has half the operations
//! and always reads every plane, so that what a scan costs does not depend on the constant.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use measure::words::Word;

use super::filter::Filter;
use super::line::{LINE_BYTES, LINE_ROWS, Line};
use super::planes::Planes;

/// A line in which every row is there.
pub(super) const ALL_ROWS: Line = [u8::MAX; LINE_BYTES];

measure::words! {
    /// Which machine instructions scan, the narrowest first.
    pub enum Kernel ("kernel") {
        /// Words of 64 bits, on any processor
        Portable = "portable",
        /// Vectors of 256 bits; the widest that valgrind knows
        Avx2 = "avx2",
        /// Vectors of 512 bits, with F, BW, VL and VPOPCNTDQ
        Avx512 = "avx512",
    }
}

impl Kernel {
    /// The widest one that this processor has.
    pub fn best() -> Kernel {
        Kernel::all().filter(|kernel| kernel.is_available()).last().unwrap_or(Kernel::Portable)
    }

    /// Whether this processor has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            Kernel::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt"),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vpopcntdq")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

/// Which rows have a value, a line for each group of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask<'a> {
    lines: &'a [Line],
    /// 1, or 0 where one line stands for all groups.
    step: usize,
}

impl<'a> Mask<'a> {
    /// Every row has a value.
    pub(super) fn all() -> Mask<'static> {
        Mask { lines: std::slice::from_ref(&ALL_ROWS), step: 0 }
    }

    /// A line for each group.
    pub(super) fn of(lines: &'a [Line]) -> Mask<'a> {
        Mask { lines, step: 1 }
    }

    /// The line of a group. Panics beyond the last one.
    #[inline(always)]
    pub(super) fn line(&self, group: usize) -> &'a Line {
        &self.lines[group * self.step]
    }
}

/// What a kernel looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups<'a> {
    /// The codes.
    pub(super) planes: Planes<'a>,
    /// The rows that count: those in both masks.
    pub(super) masks: [Mask<'a>; 2],
    /// Rows; the last group may have fewer than [`LINE_ROWS`].
    pub(super) rows: usize,
}

/// The number of rows that pass the filter and are in both masks.
///
/// Panics where a plane or a mask is too short for the rows, or when the processor has no such kernel.
pub(super) fn count(kernel: Kernel, groups: &Groups<'_>, filter: &Filter) -> u64 {
    assert!(kernel.is_available(), "this processor has no {} kernel", kernel.name());
    let whole = groups.rows / LINE_ROWS;
    count_whole(kernel, groups, filter, whole) + count_rest(groups, filter, whole)
}

fn count_whole(kernel: Kernel, groups: &Groups<'_>, filter: &Filter, whole: usize) -> u64 {
    match kernel {
        Kernel::Portable => portable::count(groups, filter, whole),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `count` found the processor to have AVX2 and POPCNT, the only condition of this call.
        Kernel::Avx2 => unsafe { avx2::count(groups, filter, whole) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `count` found the processor to have AVX-512 F, BW, VL and VPOPCNTDQ, the only condition of this call.
        Kernel::Avx512 => unsafe { avx512::count(groups, filter, whole) },
        #[cfg(not(target_arch = "x86_64"))]
        Kernel::Avx2 | Kernel::Avx512 => unreachable!("no processor of this architecture has it"),
    }
}

/// The last group, where it is not whole: the rows that are not there are masked out.
fn count_rest(groups: &Groups<'_>, filter: &Filter, whole: usize) -> u64 {
    let rows = groups.rows % LINE_ROWS;
    if rows == 0 {
        return 0;
    }
    let there = first_rows(rows);
    let [first, second] = groups.masks.map(|mask| mask.line(whole));
    let valid: Line = std::array::from_fn(|byte| first[byte] & second[byte] & there[byte]);
    let masks = [Mask::of(std::slice::from_ref(&valid)), Mask::all()];
    portable::count(&Groups { planes: groups.planes.from(whole), masks, rows: LINE_ROWS }, filter, 1)
}

/// The line of the first `rows` rows.
pub(super) fn first_rows(rows: usize) -> Line {
    std::array::from_fn(|byte| match rows.saturating_sub(byte * 8) {
        0 => 0,
        bits @ 1..=7 => (1 << bits) - 1,
        _ => u8::MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::super::filter::Limit;
    use super::super::planes::{WIDTH_MAX, groups_of, pack};
    use super::*;
    use measure::random::mix;
    use proptest::prelude::*;

    fn limits(code: u64) -> [Option<Limit>; 4] {
        [None, Some(Limit::from(code)), Some(Limit::from(0)), Some(Limit::NONE_ABOVE)]
    }

    /// A mask of which some are dense, some sparse; and whether a row is in it.
    fn mask_lines(rows: usize, seed: u64) -> Vec<Line> {
        let sparse =
            |word: usize| (0..seed % 4).fold(u64::MAX, |bits, round| bits & mix(seed ^ round << 40 ^ word as u64));
        (0..groups_of(rows))
            .map(|group| {
                let mut line = [0; LINE_BYTES];
                for (word, bytes) in line.as_chunks_mut().0.iter_mut().enumerate() {
                    *bytes = sparse(group * 8 + word).to_le_bytes();
                }
                line
            })
            .collect()
    }

    fn is_in(lines: &[Line], row: usize) -> bool {
        lines[row / LINE_ROWS][row % LINE_ROWS / 8] >> (row % 8) & 1 == 1
    }

    #[test]
    fn the_first_rows_of_a_line_are_as_many_as_said() {
        for rows in 0..=LINE_ROWS {
            let line = first_rows(rows);
            assert!((0..LINE_ROWS).all(|row| is_in(&[line], row) == (row < rows)), "{rows}");
        }
    }

    #[test]
    fn the_portable_kernel_is_always_there() {
        assert!(Kernel::Portable.is_available() && Kernel::best().is_available());
    }

    #[test]
    fn all_three_kernels_run_on_this_processor_and_agree() {
        if let Some(missing) = Kernel::all().find(|kernel| !kernel.is_available()) {
            println!("skipped: this processor has no {} kernel", missing.name());
            return;
        }
        let mut lines = vec![[0; LINE_BYTES]; 2 * 10];
        pack(2 * LINE_ROWS, 10, |row| row as u64, &mut lines);
        let groups = Groups { planes: Planes::new(&lines, 10), masks: [Mask::all(); 2], rows: 2 * LINE_ROWS };
        let filter = Filter { lower: Some(Limit::from(100)), upper: Some(Limit::from(1000)) };
        assert_eq!(Kernel::all().map(|kernel| count(kernel, &groups, &filter)).collect::<Vec<_>>(), [900; 3]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn every_kernel_counts_what_a_plain_loop_counts(
            rows in 0..2600_usize, width in 0..=WIDTH_MAX, seed in any::<u64>(), at in any::<prop::sample::Index>(),
        ) {
            let code_mask = u64::MAX.checked_shr((WIDTH_MAX - width) as u32).unwrap_or(0);
            // A quarter of the codes repeats a few values, so that equality has something to find.
            let code = |row: usize| {
                let random = mix(seed ^ row as u64);
                if random.is_multiple_of(4) { mix(random % 8) & code_mask } else { random & code_mask }
            };
            let mut lines = vec![[0; LINE_BYTES]; groups_of(rows) * width];
            pack(rows, width, code, &mut lines);
            let (first, second) = (mask_lines(rows, seed), mask_lines(rows, mix(seed)));
            let limit = if rows == 0 { seed & code_mask } else { code(at.index(rows)) };
            let masks = [[Mask::of(&first), Mask::of(&second)], [Mask::all(), Mask::of(&second)], [Mask::all(); 2]];
            let filters = limits(limit).into_iter().flat_map(|lower| {
                let other = mix(seed ^ limit) & code_mask;
                limits(limit).into_iter().chain(limits(other)).map(move |upper| Filter { lower, upper })
            });
            for filter in filters {
                for (index, masks) in masks.into_iter().enumerate() {
                    let is_counted = |row: usize| {
                        (index > 0 || is_in(&first, row)) && (index > 1 || is_in(&second, row))
                    };
                    let passing = (0..rows).filter(|row| is_counted(*row) && filter.passes(code(*row)));
                    let expected = passing.count() as u64;
                    let groups = Groups { planes: Planes::new(&lines, width), masks, rows };
                    for kernel in Kernel::all().filter(|kernel| kernel.is_available()) {
                        prop_assert_eq!(count(kernel, &groups, &filter), expected, "{:?} {:?}", kernel, filter);
                    }
                }
            }
        }
    }
}
