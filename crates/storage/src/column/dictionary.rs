//! Dictionaries: the distinct values of a unit. Numbers are in order, so that a range of them is a range of codes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use measure::random::mix;

use super::bitmap::BitmapBuilder;
use super::texts::{Texts, texts_bytes};

/// Most entries for this many rows: beyond, a dictionary saves little, and sorting it is what building a column costs.
pub(super) fn entries_max(rows: usize) -> usize {
    (rows / 8).max(1)
}

/// A hash of few instructions. Colliding values would only slow the building of their own column.
#[derive(Clone, Copy, Debug, Default)]
struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            self.write_u64(rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }

    #[inline]
    fn write_i64(&mut self, word: i64) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

type Numbers<K> = HashMap<K, u32, BuildHasherDefault<MixHasher>>;

/// The distinct values in order; `None` where they are more than `entries_max`.
pub(super) fn distinct_integers(values: &[i64], entries_max: usize) -> Option<Vec<i64>> {
    let mut seen = Numbers::default();
    let mut last = None;
    for value in values {
        if last != Some(*value) {
            seen.insert(*value, 0);
            last = Some(*value);
        }
        if seen.len() > entries_max {
            return None;
        }
    }
    let mut entries: Vec<i64> = seen.into_keys().collect();
    entries.sort_unstable();
    Some(entries)
}

/// The code of every value in a dictionary that has them all.
pub(super) fn codes_of_integers(values: &[i64], entries: &[i64]) -> Vec<u32> {
    let numbers: Numbers<i64> = entries.iter().copied().zip(0..).collect();
    values.iter().map(|value| numbers.get(value).copied().unwrap_or(0)).collect()
}

/// The distinct texts of the rows that have one, in the order in which they come, and the code of each row; `None`
/// where they are more than `entries_max`. A null row gets the code of the row before it: an entry of its own could
/// cost a bit a row.
pub(super) fn dictionary_of_texts(
    texts: &Texts,
    validity: &BitmapBuilder,
    entries_max: usize,
) -> Option<(Texts, Vec<u32>)> {
    let mut numbers: Numbers<&[u8]> = Numbers::default();
    let mut entries: Vec<&[u8]> = Vec::new();
    let mut codes = Vec::with_capacity(texts.len());
    let has_nulls = validity.ones() < validity.rows();
    for (row, text) in texts.iter().enumerate() {
        if has_nulls && !validity.is_set(row) {
            codes.push(codes.last().copied().unwrap_or(0));
            continue;
        }
        let next = entries.len() as u32;
        let number = *numbers.entry(text).or_insert(next);
        if number == next {
            entries.push(text);
            if entries.len() > entries_max {
                return None;
            }
        }
        codes.push(number);
    }
    let mut dictionary = Texts::with_room(entries.len(), entries.iter().map(|text| text.len()).sum());
    for text in entries {
        dictionary.push(text);
    }
    Some((dictionary, codes))
}

/// Bytes of a dictionary of numbers.
pub(super) fn integers_bytes(entries: usize) -> usize {
    entries * size_of::<i64>()
}

/// Bytes that a unit of this many rows needs for its dictionary while that is made, at most: a code a row, and for each
/// entry its place in the hash table (at most 16/7 of the entries of 24 bytes) and in a list.
pub(super) fn making_bytes(rows: usize) -> usize {
    rows * size_of::<u32>() + entries_max(rows) * (24 * 16 / 7 + 16) + texts_bytes(entries_max(rows), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Texts {
        let mut texts = Texts::default();
        list.iter().for_each(|text| assert!(texts.push(text.as_bytes())));
        texts
    }

    /// The dictionary of these texts, where "-" is null.
    fn dictionary(list: &[&str], entries_max: usize) -> Option<(Texts, Vec<u32>)> {
        let mut validity = BitmapBuilder::default();
        list.iter().for_each(|text| validity.push(*text != "-"));
        dictionary_of_texts(&texts(list), &validity, entries_max)
    }

    #[test]
    fn codes_are_in_the_order_of_the_numbers_and_in_that_of_the_first_rows_of_texts() {
        let values = [5, i64::MIN, 5, i64::MAX, -1];
        let entries = distinct_integers(&values, 4).unwrap();
        assert_eq!(entries, [i64::MIN, -1, 5, i64::MAX]);
        assert_eq!(codes_of_integers(&values, &entries), [2, 0, 2, 3, 1]);
        let (entries, codes) = dictionary(&["b", "", "ba", "b", "a"], 4).unwrap();
        assert_eq!(entries, texts(&["b", "", "ba", "a"]));
        assert_eq!(codes, [0, 1, 2, 0, 3]);
    }

    #[test]
    fn a_dictionary_that_would_grow_too_long_is_given_up() {
        assert_eq!(distinct_integers(&[1, 2, 3], 2), None);
        assert_eq!(dictionary(&["a", "b", "c"], 2), None);
        assert!(dictionary(&["a", "b", "b"], 2).is_some());
    }

    #[test]
    fn texts_of_zeros_differ_by_their_length() {
        let (entries, codes) = dictionary(&["\0", "", "\0\0", "\0"], 4).unwrap();
        assert_eq!((entries.len(), codes), (3, vec![0, 1, 2, 0]));
    }

    #[test]
    fn nulls_take_no_entry_and_end_no_run() {
        let (entries, codes) = dictionary(&["-", "b", "-", "b", "a", "-"], 2).unwrap();
        assert_eq!((entries, codes), (texts(&["b", "a"]), vec![0, 0, 0, 0, 1, 1]));
    }
}
