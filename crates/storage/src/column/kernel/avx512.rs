//! The kernel for AVX-512: a line is one vector, and a plane takes one ternary operation.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_andnot_si512, _mm512_loadu_si512, _mm512_popcnt_epi64,
    _mm512_reduce_add_epi64, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_ternarylogic_epi64,
};

use super::super::filter::{Filter, Limit};
use super::super::line::Line;
use super::super::planes::WIDTH_MAX;
use super::Groups;

/// The truth table of "two of three": `x | g` where the third is set and `x & g` where it is not.
const MAJORITY: i32 = 0xE8;

/// The complement of a limit's bits, each spread over a vector, so that no plane has to branch.
struct Spread {
    start: __m512i,
    cleared: [__m512i; WIDTH_MAX],
}

/// Counts the first `whole` groups, all rows of which are there.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
pub(super) fn count(groups: &Groups<'_>, filter: &Filter, whole: usize) -> u64 {
    match (filter.lower, filter.upper) {
        (None, None) => count_sides::<false, false>(groups, [Limit::NONE_ABOVE; 2], whole),
        (Some(lower), None) => count_sides::<true, false>(groups, [lower, Limit::NONE_ABOVE], whole),
        (None, Some(upper)) => count_sides::<false, true>(groups, [Limit::NONE_ABOVE, upper], whole),
        (Some(lower), Some(upper)) => count_sides::<true, true>(groups, [lower, upper], whole),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
fn count_sides<const LOWER: bool, const UPPER: bool>(groups: &Groups<'_>, limits: [Limit; 2], whole: usize) -> u64 {
    let [lower, upper] = limits.map(|limit| spread(limit));
    let mut counts = _mm512_setzero_si512();
    for group in 0..whole {
        let lines = groups.planes.group(group);
        let mut passing = _mm512_and_si512(load(groups.masks[0].line(group)), load(groups.masks[1].line(group)));
        if LOWER {
            passing = _mm512_and_si512(passing, above(lines, &lower));
        }
        if UPPER {
            passing = _mm512_andnot_si512(above(lines, &upper), passing);
        }
        counts = _mm512_add_epi64(counts, _mm512_popcnt_epi64(passing));
    }
    _mm512_reduce_add_epi64(counts) as u64
}

/// Which rows have a code above the limit.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
#[inline]
fn above(lines: &[Line], limit: &Spread) -> __m512i {
    let mut above = limit.start;
    for (line, cleared) in lines.iter().zip(&limit.cleared) {
        above = _mm512_ternarylogic_epi64::<MAJORITY>(above, *cleared, load(line));
    }
    above
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
#[inline]
fn spread(limit: Limit) -> Spread {
    let all_if = |condition: bool| _mm512_set1_epi64(if condition { -1 } else { 0 });
    let cleared = std::array::from_fn(|plane| all_if(!limit.bit(plane)));
    Spread { start: _mm512_set1_epi64(limit.start() as i64), cleared }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
#[inline]
fn load(line: &Line) -> __m512i {
    // SAFETY: a line has 64 bytes, and this load asks for no alignment.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}
