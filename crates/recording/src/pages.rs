//! The headers of a file's pages, looked at before the library decodes the pages. It takes as much memory as a header
//! asks for, up to 64 GiB for a dictionary, and a process that gets none is ended: no error, and nothing to catch.
//!
//! A header is a structure of Thrift's compact protocol. Only the form in which it is written is read here: in any
//! other one the library might find a number that was not seen here.

use parquet::file::metadata::RowGroupMetaData;

/// Most bytes that all pages hold when they are decoded: twice the greatest file.
const DECODED_MAX: u64 = 512 << 20;

/// Beginnings of fields, by their distance from the field before and their type.
const NEXT_NUMBER: u8 = 0x15;
const NEXT_FLAG: [u8; 2] = [0x11, 0x12];
const OF_DATA: u8 = 0x2c;
const OF_DICTIONARY: u8 = 0x4c;
const END: u8 = 0;

/// The kinds of pages that are written.
const DATA: u64 = 0;
const DICTIONARY: u64 = 2;

/// Plain, both names of places in a dictionary, and split by bytes. The others say by themselves how much memory they
/// take.
const ENCODINGS: [u64; 4] = [0, 2, 8, 9];

/// Whether the pages of these columns are of the form that a recorder writes, and ask for no more than the memory of a
/// segment of this many rows.
pub(crate) fn are_sound(bytes: &[u8], group: &RowGroupMetaData, rows: u64) -> bool {
    let decoded = group.columns().iter().try_fold(0_u64, |sum, column| {
        let (start, length) = column.byte_range();
        let end = usize::try_from(start.checked_add(length)?).ok()?;
        let chunk = bytes.get(usize::try_from(start).ok()?..end)?;
        Some(sum + decoded_bytes(chunk, rows)?)
    });
    decoded.is_some_and(|decoded| decoded <= DECODED_MAX)
}

/// How many bytes the pages of a column hold when they are decoded; `None` where a header is not of the form that is
/// written, or a page has more values than there are rows.
fn decoded_bytes(mut chunk: &[u8], rows: u64) -> Option<u64> {
    let mut sum = 0_u64;
    while !chunk.is_empty() {
        let kind = number(&mut chunk)?;
        let (decoded, encoded) = (number(&mut chunk)?, number(&mut chunk)?);
        let of_kind = match kind {
            DATA => OF_DATA,
            DICTIONARY => OF_DICTIONARY,
            _ => return None,
        };
        holds(byte(&mut chunk)? == of_kind)?;
        let (values, encoding) = (number(&mut chunk)?, number(&mut chunk)?);
        holds(values <= rows && ENCODINGS.contains(&encoding))?;
        if kind == DATA {
            // How the levels are encoded.
            number(&mut chunk)?;
            number(&mut chunk)?;
        } else {
            // Whether the dictionary is sorted.
            holds(NEXT_FLAG.contains(&byte(&mut chunk)?))?;
        }
        holds(byte(&mut chunk)? == END && byte(&mut chunk)? == END)?;
        chunk = chunk.get(usize::try_from(encoded).ok()?..)?;
        sum += decoded;
    }
    Some(sum)
}

pub(crate) fn holds(condition: bool) -> Option<()> {
    condition.then_some(())
}

pub(crate) fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, behind) = bytes.split_first()?;
    *bytes = behind;
    Some(*first)
}

/// The next field, where it is a number that is not below zero.
pub(crate) fn number(bytes: &mut &[u8]) -> Option<u64> {
    holds(byte(bytes)? == NEXT_NUMBER)?;
    let turned = varint(bytes)?;
    // The lowest bit is the sign.
    (turned & 1 == 0).then_some(turned >> 1)
}

/// A number of up to 35 bits, seven in a byte, the lowest first.
pub(crate) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let part = byte(bytes)?;
        value |= u64::from(part & 0x7f) << shift;
        if part & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a page: its kind, its bytes when it is decoded, and its values, each as the protocol has it.
    fn header(kind: u8, decoded: &[u8], values: &[u8]) -> Vec<u8> {
        let (of_kind, rest): (u8, &[u8]) = match kind {
            4 => (OF_DICTIONARY, &[NEXT_NUMBER, 0, NEXT_FLAG[1], END, END]),
            _ => (OF_DATA, &[NEXT_NUMBER, 16, NEXT_NUMBER, 6, NEXT_NUMBER, 6, END, END]),
        };
        let sizes = [&[NEXT_NUMBER, kind, NEXT_NUMBER][..], decoded, &[NEXT_NUMBER, 4, of_kind, NEXT_NUMBER]].concat();
        // Behind it stand the two bytes of the page.
        [&sizes[..], values, rest, b"zz"].concat()
    }

    #[test]
    fn a_page_that_asks_for_more_than_its_rows_take_is_refused_before_it_is_decoded() {
        let greatest: &[u8] = &[0xfe, 0xff, 0xff, 0xff, 0x0f];
        let dictionary = header(4, &[0xc8, 0x01], &[6]);
        let both = [dictionary.clone(), header(0, &[20], &[0xc8, 0x01])].concat();
        assert_eq!(decoded_bytes(&both, 100), Some(110));
        assert_eq!(decoded_bytes(&both, 99), None, "a page of 100 values");
        assert_eq!(decoded_bytes(&header(4, &[20], greatest), 100), None, "a dictionary of 64 GiB");
        let large = decoded_bytes(&header(0, greatest, &[6]), 100);
        assert!(large == Some(0x7fff_ffff) && large > Some(DECODED_MAX), "{large:?}");
        assert_eq!(decoded_bytes(&dictionary[..dictionary.len() - 1], 100), None, "a page that is cut");
    }

    #[test]
    fn a_header_in_which_a_number_could_stand_twice_is_refused() {
        let sound = header(4, &[20], &[6]);
        assert_eq!(decoded_bytes(&sound, 100), Some(10));
        // Field 2 once more, by its number, before the end.
        let end = sound.len() - 3;
        let again = [&sound[..end], &[0x05, 4, 0xfe, 0xff, 0xff, 0xff, 0x0f], &sound[end..]].concat();
        assert_eq!(decoded_bytes(&again, 100), None);
        for (place, value) in [(0, 0x16), (1, 6), (6, 0x5c), (8, 7), (10, 10), (11, 0x15)] {
            let mut changed = sound.clone();
            changed[place] = value;
            assert_eq!(decoded_bytes(&changed, 100), None, "{place}");
        }
    }
}
