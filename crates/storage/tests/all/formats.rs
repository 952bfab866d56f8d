//! The page of formats and the code must tell the same.

use storage::btree::{Bulk, BulkSettings, KEY_BYTES_MAX, Key, KeyKind, node};
use storage::page::row::{LONG_LENGTH, NULL, SHORT_LENGTH_MAX, encode};
use storage::page::{FORMAT_VERSION, MAGIC, PageKind, PageMut, PageView, field};
use storage::{PageId, RowId, SegmentId};

const FORMATS: &str = include_str!("../../../../docs/formats.md");

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
fn the_documented_offsets_of_a_node_are_those_of_the_code() {
    let fields = [
        ("entries", field::SLOTS, "2"),
        ("end", field::FREE_START, "2"),
        ("page end", field::FREE_END, "2"),
        ("level", node::field::LEVEL, "1"),
        ("keys", node::field::KEYS, "1"),
        ("prefix length", node::field::PREFIX, "2"),
        ("link", node::field::LINK, "4"),
        ("zeros", node::field::RESERVED, "8"),
        ("heads", node::field::BODY, "4 × n"),
    ];
    for (name, offset, size) in fields {
        assert_eq!(cells("Node of an index", name)[1..3], [offset.to_string().as_str(), size], "{name}");
    }
    assert!(FORMATS.contains(&format!("up to {KEY_BYTES_MAX}\nbytes")));
}

/// What a stranger does with a leaf and a root: no function of the engine reads them here.
#[test]
fn a_stranger_can_decode_a_node_from_the_documented_offsets() {
    let mut pages: Vec<[u8; 8192]> = Vec::new();
    let settings = BulkSettings { keys: KeyKind::Text, fill_percent: 100, segment: SegmentId(5) };
    let mut bulk = Bulk::new(settings, |bytes: &[u8; 8192]| {
        pages.push(*bytes);
        Ok(())
    })
    .expect("a fill that can be");
    let texts: Vec<String> =
        (0..1200).map(|number| format!("town {number:04}{}", "!".repeat(number % 3 * 4))).collect();
    for (text, number) in texts.iter().zip(0..) {
        let row = RowId { page: PageId { segment: SegmentId(9), number: 70_000 + number }, slot: number as u16 };
        bulk.add(Key::Text(text.as_bytes()).encode(KeyKind::Text).expect("a short key"), row).expect("keys in order");
    }
    let built = bulk.finish().expect("a sink that takes all");
    assert_eq!((built.height, built.pages as usize), (2, pages.len()));
    let number = |page: &[u8], at: usize, size: usize| {
        (0..size).rev().fold(0, |sum, byte| sum << 8 | usize::from(page[at + byte]))
    };
    let root = pages.last().expect("a root");
    assert_eq!((root[10], root[24], root[25]), (3, 1, 2));
    let children: Vec<usize> =
        (0..number(root, 14, 2)).map(|at| number(root, 40 + 8 * number(root, 14, 2) + 4 * at, 4)).collect();
    let (mut leaf, mut found, mut visited) = (number(root, 28, 4), 0, Vec::new());
    while leaf != 0xFFFF_FFFF {
        visited.push(leaf);
        let page = &pages[leaf];
        let (n, p) = (number(page, 14, 2), number(page, 26, 2));
        let prefix = &page[40 + 12 * n..][..p];
        let (tails, mut tail_start) = (40 + 12 * n + p, 0);
        for at in 0..n {
            let head = (number(page, 40 + 4 * at, 4) as u32).to_be_bytes();
            let packed = number(page, 40 + 10 * n + 2 * at, 2);
            let (tail_end, head_bytes) = (packed & 0x1FFF, packed >> 13);
            let key = [prefix, &head[..head_bytes], &page[tails + tail_start..tails + tail_end]].concat();
            assert_eq!(key, texts[found].as_bytes());
            assert_eq!(number(page, 40 + 4 * n + 4 * at, 4), 70_000 + found);
            assert_eq!(number(page, 40 + 8 * n + 2 * at, 2), found);
            (tail_start, found) = (tail_end, found + 1);
        }
        assert_eq!(number(page, 20, 2), tails + tail_start);
        leaf = number(page, 28, 4);
    }
    assert_eq!((found, &visited[1..]), (texts.len(), &children[..]));
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
