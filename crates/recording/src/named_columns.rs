//! The end of a file, which names its columns, looked at before the library reads it. For a group, the library takes
//! memory for as many columns as the group says that it has, up to 16 GiB, and it calls itself for each group within a
//! group.
//!
//! As with pages, only the form that a recorder writes is read here: one group of columns, and none within it.

use crate::pages::{byte, holds, number, varint};

/// Most bytes of it; a recorder's takes 3 KiB, and as many more as the server's address has.
pub(crate) const END_MAX: usize = 64 << 10;

/// Beginnings of fields, by their distance from the field before and their type.
const NEXT_LIST: u8 = 0x19;
const NAME_OF_GROUP: u8 = 0x48;
const END: u8 = 0;

/// A list of at least 15 structures: the group and its columns.
const STRUCTURES: u8 = 0xfc;

/// The types of fields, and the fields of a column whose type is no number.
const NUMBER: u8 = 5;
const TEXT: u8 = 8;
const STRUCTURE: u8 = 12;
const NAME: u8 = 4;
const LOGICAL_TYPE: u8 = 10;

/// What marks texts, and moments in microseconds that are not marked as UTC.
const LOGICAL_TYPES: [&[u8]; 2] = [&[0x1c, 0, 0], &[0x8c, 0x12, 0x1c, 0x2c, 0, 0, 0, 0]];

/// The end of a file, without its own length and the mark that follow it; `None` where the file is shorter.
pub(crate) fn end_of(bytes: &[u8]) -> Option<&[u8]> {
    let (before, behind) = bytes.split_last_chunk::<8>()?;
    let length = u32::from_le_bytes(*behind.first_chunk::<4>()?);
    before.get(before.len().checked_sub(length as usize)?..)
}

/// Whether the columns that an end names are as many as it says, all in one group.
pub(crate) fn are_sound(end: &[u8]) -> bool {
    read(end).is_some()
}

fn read(mut end: &[u8]) -> Option<()> {
    // The version of the format.
    number(&mut end)?;
    holds(byte(&mut end)? == NEXT_LIST && byte(&mut end)? == STRUCTURES)?;
    let structures = varint(&mut end)?;
    holds(byte(&mut end)? == NAME_OF_GROUP)?;
    text(&mut end)?;
    let columns = number(&mut end)?;
    holds(byte(&mut end)? == END && columns.checked_add(1)? == structures)?;
    // Each takes some bytes of the end: there are no more of them than it has.
    (0..columns).try_for_each(|_| column(&mut end))
}

/// Passes a column, which may not say that it has columns itself.
fn column(end: &mut &[u8]) -> Option<()> {
    let mut field = 0_u8;
    loop {
        let head = byte(end)?;
        if head == END {
            return Some(());
        }
        // A distance of 0 would be followed by the field's number, and a field could stand twice.
        let (distance, kind) = (head >> 4, head & 0xf);
        holds(distance > 0)?;
        field = field.checked_add(distance)?;
        match (field, kind) {
            (1..=3 | 6..=9, NUMBER) => {
                varint(end)?;
            }
            (NAME, TEXT) => text(end)?,
            (LOGICAL_TYPE, STRUCTURE) => {
                let known = LOGICAL_TYPES.into_iter().find(|known| end.starts_with(known))?;
                *end = &end[known.len()..];
            }
            _ => return None,
        }
    }
}

fn text(end: &mut &[u8]) -> Option<()> {
    let length = usize::try_from(varint(end)?).ok()?;
    *end = end.get(length..)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An end that lists 15 columns, with these bytes at the end of the last one; the number of columns in its group is
    /// given as the protocol writes numbers.
    fn end(columns: &[u8], last: &[u8]) -> Vec<u8> {
        let begin = [&[0x15, 2, 0x19, 0xfc, 16, 0x48, 1, b'r', 0x15][..], columns, &[0]].concat();
        let column: &[u8] = &[0x15, 4, 0x25, 2, 0x18, 1, b'c'];
        let columns = [[column, &[0]].concat().repeat(14), [column, last, &[0]].concat()].concat();
        [begin, columns, vec![0x16, 0, 0x19, 0x0c, 0]].concat()
    }

    #[test]
    fn a_group_that_says_that_it_has_more_columns_than_are_listed_is_refused_before_memory_is_taken_for_them() {
        let (fifteen, greatest): (&[u8], &[u8]) = (&[30], &[0xfe, 0xff, 0xff, 0xff, 0x0f]);
        assert!(are_sound(&end(fifteen, &[])));
        assert!(!are_sound(&end(greatest, &[])) && !are_sound(&end(&[28], &[])));
        let children = [&[0x15][..], greatest].concat();
        assert!(!are_sound(&end(fifteen, &children)), "a column that is a group itself");
        assert!(!are_sound(&end(fifteen, &[0x15, 2])), "a group of one");
        // The number of the field by itself, which may be any.
        assert!(!are_sound(&end(fifteen, &[0x05, 10, 2])));
        assert!(!are_sound(&end(fifteen, &[])[..60]), "an end that is cut");
    }

    #[test]
    fn a_column_with_a_mark_that_no_recorder_writes_is_refused() {
        for known in LOGICAL_TYPES {
            assert!(are_sound(&end(&[30], &[&[0x6c][..], known].concat())), "{known:?}");
        }
        // A decimal number, whose own numbers the library reads whatever their types are said to be.
        assert!(!are_sound(&end(&[30], &[0x6c, 0x5c, 0x11, 0x11, 0, 0])));
    }
}
