//! The words of a segment, in page order: an array, on huge pages where it is large.
//!
//! With `frames.rs` and `pinned.rs` the third home of the pool's unsafe code. The words of 1 GiB of pages take 1 MiB,
//! which stays in a level-2 cache; but on 4 KiB pages a random look-up also misses the first level of the TLB.

use std::io;
use std::ops::Deref;
use std::slice;

use sys::memory::{HUGE_PAGE, Pages, Region};

use super::word::Word;

/// From this size on the words are worth a huge page of their own: a quarter of it.
const HUGE_FROM: usize = HUGE_PAGE / 4;

/// The words of a segment, all absent at first.
#[derive(Debug)]
pub(super) enum Words {
    /// On the heap.
    Few(Box<[Word]>),
    /// On huge pages, where the system grants them.
    Many(Region, usize),
}

impl Words {
    /// Errors when there is no room in memory.
    pub(super) fn new(count: usize) -> io::Result<Words> {
        let bytes = count * size_of::<Word>();
        if bytes < HUGE_FROM {
            return Ok(Words::Few((0..count).map(|_| Word::absent()).collect()));
        }
        Ok(Words::Many(Region::new(bytes, Pages::Huge)?, count))
    }
}

impl Deref for Words {
    type Target = [Word];

    #[inline]
    fn deref(&self) -> &[Word] {
        match self {
            Words::Few(words) => words,
            // SAFETY: the region holds `count` words, is aligned to more than a word, lives as long as `self` and is
            // touched only through this slice after `Region::new`, whose zeros are words of absent pages: a `Word` is
            // one atomic integer, for which every value is valid, and zero is `Word::absent`.
            Words::Many(region, count) => unsafe { slice::from_raw_parts(region.start().as_ptr().cast(), *count) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::word::State;

    #[test]
    fn all_words_are_absent_at_first_and_each_is_its_own() {
        for count in [0, 1, 1000, HUGE_FROM / size_of::<Word>(), 300_000] {
            let words = Words::new(count).unwrap();
            assert_eq!(words.len(), count);
            for word in words.iter() {
                assert_eq!((word.state(), word.claim()), (State::Absent, Some(0)));
            }
        }
    }
}
