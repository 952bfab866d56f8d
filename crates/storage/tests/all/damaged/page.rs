//! What is done with the bytes of a page that may be anything: shared by the tests and the fuzz target.

use storage::page::walk::{Spot, Touch, count_values, walk, walk_ahead, walk_plain};
use storage::page::{Damage, PageBytes, PageMut, PageView};
use storage::{PageId, SegmentId};

/// The page that all inputs claim to be.
pub(crate) const ID: PageId = PageId { segment: SegmentId(7), number: 1234 };

/// The places that are touched, one for each input.
const TOUCHES: [Touch; 5] = [Touch::Directory, Touch::Rows, Touch::Column(1), Touch::Column(3), Touch::Column(25)];

/// In one of 32 inputs more is done than fits into ten million of them: a column that hardly any row has is
/// touched, and a page that was refused is read all the same.
const THOROUGH_EVERY: u64 = 32;

/// Verifies a page and reads it. Panics when a promise is broken; what verification says is returned.
///
/// `turn` decides what is touched. A refused page gives rows of no meaning, but must not lead out of the page.
pub(crate) fn decode(bytes: &PageBytes, turn: u64) -> Result<(), Damage> {
    let verified = PageView::verify(bytes, ID);
    let is_thorough = turn.is_multiple_of(THOROUGH_EVERY);
    if verified.is_ok() || is_thorough {
        let touch = if is_thorough { Touch::Column(255) } else { TOUCHES[(turn % TOUCHES.len() as u64) as usize] };
        read(PageView::verified(bytes), touch, verified.is_ok());
    }
    verified.map(drop)
}

fn read(view: PageView<'_>, touch: Touch, is_verified: bool) {
    let columns: usize = view.rows().map(|row| row.columns().count()).sum();
    let (plain, quick, ahead) = (walk_plain(view, touch), walk(view, touch), walk_ahead(view, view.bytes(), touch));
    assert_eq!(quick, ahead, "{touch:?}");
    let number = if let Touch::Column(number) = touch { number } else { 0 };
    let spots: Vec<Spot<'_>> = (0..view.slots()).filter_map(|slot| Spot::of(view, slot)).collect();
    let values = count_values(&spots, number);
    if !is_verified {
        return;
    }
    let plain_values = view.rows().filter(|row| row.column(number).flatten().is_some()).count();
    assert_eq!(values, plain_values as u64, "values of column {number}");
    assert_eq!(plain, quick, "{touch:?}");
    let promised: usize = view.rows().map(|row| usize::from(row.column_count())).sum();
    assert_eq!(columns, promised, "a verified page has a row with fewer columns than it says");
    let row_bytes: usize = view.rows().map(|row| row.bytes().len()).sum();
    let room = storage::page::PAGE_ROOM - usize::from(view.slots()) * storage::page::SLOT_BYTES;
    assert_eq!(row_bytes + view.free_bytes(), room, "a verified page has bytes that belong to nothing");
}

/// Turns any bytes into a page whose origin is in order, so that its structure is what is judged: magic, version,
/// kind, address and checksum are put right.
pub(crate) fn legitimise(bytes: &mut PageBytes) {
    let kept: [u8; 26] = bytes[14..40].try_into().expect("26 bytes");
    let (slots, rest) = kept.split_at(2);
    PageMut::format(bytes, ID, storage::page::PageKind::Heap);
    bytes[14..16].copy_from_slice(slots);
    bytes[20..40].copy_from_slice(&rest[4..]);
    let checksum = storage::page::checksum::compute(bytes);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
}
