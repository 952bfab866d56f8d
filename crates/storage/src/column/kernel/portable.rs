//! The kernel for any processor: a line as eight words, which a compiler makes vectors of where it can.

use super::super::filter::{Filter, Limit};
use super::super::line::Line;
use super::Groups;

/// A line as words.
type Words = [u64; 8];

/// Counts the first `whole` groups, all rows of which are there.
pub(super) fn count(groups: &Groups<'_>, filter: &Filter, whole: usize) -> u64 {
    match (filter.lower, filter.upper) {
        (None, None) => each(groups, whole, |_| [u64::MAX; 8]),
        (Some(lower), None) => each(groups, whole, |lines| above(lines, lower)),
        (None, Some(upper)) => each(groups, whole, |lines| above(lines, upper).map(|word| !word)),
        (Some(lower), Some(upper)) => each(groups, whole, |lines| {
            let (low, high) = (above(lines, lower), above(lines, upper));
            std::array::from_fn(|word| low[word] & !high[word])
        }),
    }
}

#[inline(always)]
fn each(groups: &Groups<'_>, whole: usize, passing: impl Fn(&[Line]) -> Words) -> u64 {
    let mut count = 0;
    for group in 0..whole {
        let passing = passing(groups.planes.group(group));
        let [first, second] = groups.masks.map(|mask| words(mask.line(group)));
        for word in 0..8 {
            count += u64::from((passing[word] & first[word] & second[word]).count_ones());
        }
    }
    count
}

/// Which rows have a code above the limit.
#[inline(always)]
fn above(lines: &[Line], limit: Limit) -> Words {
    let mut above = [limit.start(); 8];
    for (plane, line) in lines.iter().enumerate() {
        let line = words(line);
        if limit.bit(plane) {
            above.iter_mut().zip(line).for_each(|(above, bits)| *above &= bits);
        } else {
            above.iter_mut().zip(line).for_each(|(above, bits)| *above |= bits);
        }
    }
    above
}

#[inline(always)]
fn words(line: &Line) -> Words {
    std::array::from_fn(|word| u64::from_le_bytes(line.as_chunks().0[word]))
}
