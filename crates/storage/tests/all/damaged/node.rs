//! What is done with the bytes of an index node that may be anything: shared by the tests and the fuzz target.

use storage::btree::key::NUMBER_BYTES;
use storage::btree::node::{NodeView, field};
use storage::btree::{KEY_BYTES_MAX, KeyKind};
use storage::page::{Damage, PageBytes, PageKind, PageMut};
use storage::{PageId, RowId, SegmentId};

/// The page that all inputs claim to be.
pub(crate) const ID: PageId = PageId { segment: SegmentId(7), number: 1234 };

/// The segment that the rows are said to be in.
const TABLE: SegmentId = SegmentId(8);

/// In one of 32 inputs more is done than fits into ten million of them: a node that was refused is read all the
/// same, and every entry of an accepted one is searched for.
const THOROUGH_EVERY: u64 = 32;

/// Verifies a node and reads it. Panics when a promise is broken; what verification says is returned.
///
/// `turn` decides what is looked for. A refused node gives entries of no meaning, but must not lead out of the page.
pub(crate) fn decode(bytes: &PageBytes, turn: u64) -> Result<(), Damage> {
    let verified = NodeView::verify(bytes, ID);
    let is_thorough = turn.is_multiple_of(THOROUGH_EVERY);
    if verified.is_ok() || is_thorough {
        let node = NodeView::verified(bytes);
        read(node, turn, verified.is_ok());
        if is_thorough {
            (0..node.entries()).for_each(|entry| read(node, entry as u64, verified.is_ok()));
        }
    }
    verified.map(drop)
}

/// Reads one entry and looks for it; what a verified node promises is checked.
fn read(node: NodeView<'_>, turn: u64, is_verified: bool) {
    let count = node.entries();
    let index = (turn % (count as u64 + 1)) as usize;
    let mut key = Vec::new();
    let row = node.entry_into(index, TABLE, &mut key);
    let found = node.position(&key, row.unwrap_or(RowId { page: PageId { segment: TABLE, number: 0 }, slot: 0 }));
    assert!(found <= count && (row.is_some() == (index < count)), "{found} of {count}");
    if !is_verified {
        return;
    }
    let keys = node.keys().expect("a verified node has keys");
    if index < count {
        assert_eq!(found, index, "an entry of a verified node is not found where it stands");
        let can_be = if keys == KeyKind::Number { key.len() == NUMBER_BYTES } else { key.len() <= KEY_BYTES_MAX };
        assert!(can_be, "a key that cannot be");
    }
}

/// Turns any bytes into a node whose origin is in order, so that its structure is what is judged: magic, version, kind,
/// address, reserved bytes and checksum are put right.
pub(crate) fn legitimise(bytes: &mut PageBytes) {
    let (slots, rest): ([u8; 2], [u8; 20]) =
        (bytes[14..16].try_into().expect("2 bytes"), bytes[20..40].try_into().expect("20 bytes"));
    PageMut::format(bytes, ID, PageKind::Index);
    bytes[14..16].copy_from_slice(&slots);
    bytes[20..40].copy_from_slice(&rest);
    bytes[field::RESERVED..field::BODY].fill(0);
    let checksum = storage::page::checksum::compute(bytes);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
}
