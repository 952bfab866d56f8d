//! The page of formats and the code must tell the same.

use storage::page::{FORMAT_VERSION, MAGIC, PageKind, PageMut, PageView, field};
use storage::row::{LONG_LENGTH, NULL, SHORT_LENGTH_MAX, encode};
use storage::{PageId, SegmentId};

const FORMATS: &str = include_str!("../../../docs/formats.md");

/// The cells of the row of a table that begins with `first`, in the part of the page under `heading`.
fn cells<'a>(heading: &str, first: &str) -> Vec<&'a str> {
    let part = FORMATS.split("\n## ").find(|part| part.starts_with(heading)).expect("a heading of the page of formats");
    let row = part.lines().find(|line| line.starts_with(&format!("| {first} |")));
    row.unwrap_or_else(|| panic!("no row {first}")).trim_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn the_documented_offsets_are_those_of_the_code() {
    let fields = [
        ("checksum", field::CHECKSUM, "4"),
        ("magic", field::MAGIC, "4"),
        ("version", field::VERSION, "2"),
        ("kind", field::KIND, "1"),
        ("reserved", field::RESERVED, "1"),
        ("segment", field::SEGMENT, "2"),
        ("slots", field::SLOTS, "2"),
        ("number", field::NUMBER, "4"),
        ("free start", field::FREE_START, "2"),
        ("free end", field::FREE_END, "2"),
        ("change", field::CHANGE, "8"),
        ("undo", field::UNDO, "8"),
        ("directory", field::DIRECTORY, "2 × slots"),
    ];
    let mut expected_offset = 0;
    for (name, offset, size) in fields {
        assert_eq!(cells("Page", name)[1..3], [offset.to_string().as_str(), size], "{name}");
        assert_eq!(offset, expected_offset, "{name} does not follow the field before it");
        expected_offset += size.parse::<usize>().unwrap_or(0);
    }
    assert!(cells("Page", "magic")[3].contains(std::str::from_utf8(&MAGIC).expect("letters")));
    assert_eq!(cells("Page", "version")[3], FORMAT_VERSION.to_string());
}

#[test]
fn the_documented_lengths_are_those_of_the_code() {
    assert_eq!(cells("Row", "0 to 250")[1], "1");
    assert_eq!((SHORT_LENGTH_MAX, LONG_LENGTH, NULL), (250, 254, 255));
    let mut row = Vec::new();
    encode(&[Some(b"ab"), None, Some(b"")], &mut row);
    let shown: Vec<String> = row.iter().map(|byte| format!("{byte:02X}")).collect();
    assert!(FORMATS.contains(&format!("is `{}`", shown.join(" "))), "{shown:?}");
}

/// What a stranger does who has only the page of formats: no function of the engine reads the page here.
#[test]
fn a_stranger_can_decode_a_page_from_the_documented_offsets() {
    let mut bytes = [0; 8192];
    let id = PageId { segment: SegmentId(5), number: 70_000 };
    let mut page = PageMut::format(&mut bytes, id, PageKind::Heap);
    let (long, mut rows) = (vec![b'l'; 300], [Vec::new(), Vec::new()]);
    encode(&[Some(b"ab"), None, Some(&long)], &mut rows[0]);
    encode(&[Some(b"second")], &mut rows[1]);
    rows.iter().for_each(|row| assert!(page.append(row).is_some()));
    page.seal();
    let number = |at: usize, size: usize| (0..size).rev().fold(0, |sum, byte| sum << 8 | usize::from(bytes[at + byte]));
    assert_eq!((number(12, 2), number(14, 2), number(16, 4)), (5, 2, 70_000));
    assert_eq!((number(20, 2), number(22, 2)), (44, 8192 - rows[0].len() - rows[1].len()));
    assert_eq!(number(0, 4), crc32c_of_the_document(&bytes[4..]) as usize);
    let (first, second) = (number(40, 2), number(42, 2));
    assert_eq!((&bytes[first..8192], &bytes[second..first]), (&rows[0][..], &rows[1][..]));
    assert_eq!(bytes[first..first + 8], [3, 2, b'a', b'b', 0xFF, 0xFE, 44, 1]);
    assert!(PageView::verify(&bytes, id).is_ok());
}

/// CRC32C bit by bit, from its polynomial.
fn crc32c_of_the_document(bytes: &[u8]) -> u32 {
    let step = |sum: u32| (sum >> 1) ^ (0x1EDC_6F41_u32.reverse_bits() & (sum & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}
