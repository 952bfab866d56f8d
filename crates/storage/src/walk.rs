//! The kernels: what a reader does with one page that it holds.
//!
//! Walking a row is a chain of dependent loads: where the next length stands is known when the one before it is.
//! One row after the other, a processor waits for one chain; here [`LANES`] rows are walked side by side, so that it
//! has as many chains to choose from. The other half of the cost is memory: the page that comes next is fetched
//! while this one is walked.
//!
//! Nothing is checked on the way. [`PageView::verify`] has checked the page when it was read, and every offset is
//! masked to the size of a page, so that even wrong bytes could only give a wrong sum. The mask costs one
//! instruction a load and spares both a bounds check and unsafe code; what is unsafe here is the prefetch alone.

use crate::page::{PageBytes, PageView, SLOT_BYTES, field};
use crate::page_id::PAGE_SIZE;
use crate::row::SHORT_LENGTH_MAX;

/// How many rows are walked side by side. Tried on Zen 5: see docs of `examples/walk_speed.rs`.
pub const LANES: usize = 8;

/// Bytes of a cache line on the machines this runs on.
const LINE_BYTES: usize = 64;

/// A page's size is a power of two: an offset masked by this lies within it.
const OFFSET_MASK: usize = PAGE_SIZE - 1;
const _: () = assert!(PAGE_SIZE.is_power_of_two());

/// Subtracted from 256, the shortest length byte that does not mean a short value.
const BEYOND_SHORT: u32 = 256 - (SHORT_LENGTH_MAX as u32 + 1);

/// What a reader touches of every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Nothing: the rows are counted from the page's header.
    Directory,
    /// The head of the row: its column count.
    Rows,
    /// Column N, counted from 1: N-1 lengths are walked, then the length and the first byte of the value are read.
    Column(u8),
}

/// What a walk found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Rows of the page.
    pub rows: u64,
    /// A sum over what was touched, so that no compiler can leave the touching out: of the column counts, or of
    /// length and first byte of every value that is there. 0 for the directory.
    pub folded: u64,
}

impl std::ops::AddAssign for Walked {
    fn add_assign(&mut self, other: Walked) {
        self.rows += other.rows;
        self.folded = self.folded.wrapping_add(other.folded);
    }
}

/// Walks a page, one row after the other, with checked slices: the meaning of [`walk`], not its speed.
pub fn walk_plain(page: PageView<'_>, touch: Touch) -> Walked {
    let folded = match touch {
        Touch::Directory => 0,
        Touch::Rows => page.rows().map(|row| u64::from(row.column_count())).sum(),
        Touch::Column(number) => page.rows().filter_map(|row| row.column(number).flatten()).map(fold_value).sum(),
    };
    Walked { rows: u64::from(page.slots()), folded }
}

/// What one value adds to the sum.
fn fold_value(value: &[u8]) -> u64 {
    value.len() as u64 + u64::from(value.first().copied().unwrap_or(0))
}

/// Walks a page.
#[inline]
pub fn walk(page: PageView<'_>, touch: Touch) -> Walked {
    let folded = match touch {
        Touch::Directory => 0,
        Touch::Rows => fold_column_counts(page),
        Touch::Column(number) => fold_column::<LANES>(page, number),
    };
    Walked { rows: u64::from(page.slots()), folded }
}

/// Walks a page while the lines that the same walk of `next` will want are being fetched.
#[inline]
pub fn walk_ahead(page: PageView<'_>, next: &PageBytes, touch: Touch) -> Walked {
    prefetch_page(next, touch);
    walk(page, touch)
}

/// Begins to fetch the lines of a page that `touch` will want.
#[inline]
pub fn prefetch_page(page: &PageBytes, touch: Touch) {
    let lines = match touch {
        Touch::Directory => 1,
        _ => PAGE_SIZE / LINE_BYTES,
    };
    for line in page.chunks_exact(LINE_BYTES).take(lines) {
        prefetch_line(&line[0]);
    }
}

/// Begins to fetch the cache line of `byte`.
#[inline(always)]
fn prefetch_line(byte: &u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint: it reads nothing into a register and faults on no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(byte).cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above; `prfm` is the hint of this architecture.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) std::ptr::from_ref(byte), options(nostack, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = byte;
}

/// The byte of `page` at `at`, which is masked to the page.
#[inline(always)]
fn byte_at(page: &PageBytes, at: usize) -> usize {
    usize::from(page[at & OFFSET_MASK])
}

/// Where the row of `slot` begins. `slot` is below `SLOTS_MAX`, so its entry lies within the page.
#[inline(always)]
fn row_start(page: &PageBytes, slot: usize) -> usize {
    let at = field::DIRECTORY + SLOT_BYTES * slot;
    byte_at(page, at) | byte_at(page, at + 1) << 8
}

/// The sum of the column counts. The loads of one row do not wait for those of another.
#[inline]
fn fold_column_counts(page: PageView<'_>) -> u64 {
    let bytes = page.bytes();
    (0..usize::from(page.slots())).map(|slot| byte_at(bytes, row_start(bytes, slot)) as u64).sum()
}

/// The sum over column `number` of every row.
#[inline]
fn fold_column<const WIDTH: usize>(page: PageView<'_>, number: u8) -> u64 {
    let slots = usize::from(page.slots());
    let Some(before) = number.checked_sub(1) else { return 0 };
    let mut folded = 0;
    for first in (0..slots).step_by(WIDTH) {
        let group = Group { first, rows: WIDTH.min(slots - first) };
        let sum = fold_group::<WIDTH>(page.bytes(), group, before);
        folded += sum.unwrap_or_else(|| fold_group_plain(page, group, number));
    }
    folded
}

/// Neighbouring rows that are walked side by side.
#[derive(Clone, Copy)]
struct Group {
    /// Slot of the first row.
    first: usize,
    /// How many there are: at least one, at most as many as there are lanes.
    rows: usize,
}

/// The sum over the column behind `before` others, when every length on the way takes one byte and every row has
/// that column; otherwise `None`.
///
/// A lane without a row walks the last row once more and adds nothing: cheaper than a second loop for the rest.
#[inline(always)]
fn fold_group<const WIDTH: usize>(page: &PageBytes, group: Group, before: u8) -> Option<u64> {
    let mut at: [usize; WIDTH] =
        std::array::from_fn(|lane| row_start(page, group.first + lane.min(group.rows - 1)));
    let columns_min = at.iter().map(|start| byte_at(page, *start)).min().unwrap_or(0);
    // Bit 8 of this is set once a length byte was met that does not stand for a short value.
    let mut special = 0;
    for position in &mut at {
        *position += 1;
    }
    for _ in 0..before {
        for position in &mut at {
            let length = byte_at(page, *position);
            special |= length as u32 + BEYOND_SHORT;
            *position += 1 + length;
        }
    }
    let mut folded = 0;
    for (lane, position) in at.into_iter().enumerate() {
        let length = byte_at(page, position);
        special |= length as u32 + BEYOND_SHORT;
        let first_byte = if length > 0 { byte_at(page, position + 1) } else { 0 };
        folded += if lane < group.rows { (length + first_byte) as u64 } else { 0 };
    }
    (special < 256 && columns_min > usize::from(before)).then_some(folded)
}

/// The same with long values, nulls and short rows.
#[cold]
fn fold_group_plain(page: PageView<'_>, group: Group, number: u8) -> u64 {
    let slots = group.first..group.first + group.rows;
    slots
        .filter_map(|slot| page.row(slot as u16)?.column(number).flatten())
        .map(fold_value)
        .sum()
}

/// Whether every row has short values only and ends exactly where it should. `false` says nothing yet: rows with
/// long values or nulls need the plain check.
pub(crate) fn rows_end_where_they_should(_page: PageView<'_>) -> bool {
    false
}
