//! The kernel for AVX2: a line is two vectors.
//!
//! AVX2 has no operation on three vectors. A branch on the limit's bit chooses between `and` and `or`: it falls the
//! same way for every group, so that the processor foresees it.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_andnot_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi64x,
    _mm256_storeu_si256,
};

use super::super::filter::{Filter, Limit};
use super::super::line::Line;
use super::Groups;

/// A line.
#[derive(Clone, Copy)]
struct Halves(__m256i, __m256i);

/// Counts the first `whole` groups, all rows of which are there.
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn count(groups: &Groups<'_>, filter: &Filter, whole: usize) -> u64 {
    match (filter.lower, filter.upper) {
        (None, None) => count_sides::<false, false>(groups, [Limit::NONE_ABOVE; 2], whole),
        (Some(lower), None) => count_sides::<true, false>(groups, [lower, Limit::NONE_ABOVE], whole),
        (None, Some(upper)) => count_sides::<false, true>(groups, [Limit::NONE_ABOVE, upper], whole),
        (Some(lower), Some(upper)) => count_sides::<true, true>(groups, [lower, upper], whole),
    }
}

// No closures here and below: one that is handed to a function of the standard library does not become part of this
// function's code, and each of its vectors would go through memory. That took twenty times as long.
#[target_feature(enable = "avx2,popcnt")]
fn count_sides<const LOWER: bool, const UPPER: bool>(groups: &Groups<'_>, limits: [Limit; 2], whole: usize) -> u64 {
    let [lower, upper] = limits;
    let mut count = 0;
    for group in 0..whole {
        let lines = groups.planes.group(group);
        let mut passing = and(load(groups.masks[0].line(group)), load(groups.masks[1].line(group)));
        if LOWER {
            passing = and(passing, above(lines, lower));
        }
        if UPPER {
            passing = and_not(passing, above(lines, upper));
        }
        count += ones(passing.0) + ones(passing.1);
    }
    count
}

/// Which rows have a code above the limit.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn above(lines: &[Line], limit: Limit) -> Halves {
    let start = _mm256_set1_epi64x(limit.start() as i64);
    let mut above = Halves(start, start);
    for (plane, line) in lines.iter().enumerate() {
        let bits = load(line);
        above = if limit.bit(plane) { and(above, bits) } else { or(above, bits) };
    }
    above
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn and(one: Halves, other: Halves) -> Halves {
    Halves(_mm256_and_si256(one.0, other.0), _mm256_and_si256(one.1, other.1))
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn or(one: Halves, other: Halves) -> Halves {
    Halves(_mm256_or_si256(one.0, other.0), _mm256_or_si256(one.1, other.1))
}

/// The rows of `one` that are not in `other`.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn and_not(one: Halves, other: Halves) -> Halves {
    Halves(_mm256_andnot_si256(other.0, one.0), _mm256_andnot_si256(other.1, one.1))
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn load(line: &Line) -> Halves {
    let (low, high) = line.split_at(32);
    // SAFETY: each half has the 32 bytes that are read, and these loads ask for no alignment.
    unsafe { Halves(_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())) }
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn ones(bits: __m256i) -> u64 {
    let mut words = [0_u64; 4];
    // SAFETY: the array has the 32 bytes that are written, and this store asks for no alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), bits) };
    u64::from(words[0].count_ones() + words[1].count_ones() + words[2].count_ones() + words[3].count_ones())
}
