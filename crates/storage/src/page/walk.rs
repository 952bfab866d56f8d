//! The kernels: what a reader does with one page that it holds.
//!
//! Walking a row is a chain of dependent loads: where the next length stands is known when the one before it is.
//! One row after the other, a processor waits for one chain; here [`LANES`] rows are walked side by side, so that it
//! has as many chains to choose from. The other half of the cost is memory: the page that comes next is fetched
//! while this one is walked.
//!
//! Nothing is checked on the way. [`PageView::verify`] has checked the page when it was read, and every offset is
//! masked to the size of a page, so that even wrong bytes could only give a wrong sum. The mask costs one
//! instruction a load and spares both a bounds check and unsafe code.

use sys::memory::prefetch;

use crate::page::id::PAGE_SIZE;
use crate::page::row::{LONG_LENGTH, NULL, RowView, SHORT_LENGTH_MAX};
use crate::page::slotted::{PageBytes, PageView, SLOT_BYTES, field};

/// How many rows are walked side by side. On Zen 5, 153 rows of 25 columns took 2.0 µs with 4 lanes, 1.5 with 8 and
/// 1.6 with 16, where the positions no longer fit the registers.
pub const LANES: usize = 8;

/// A walk that touches at most this many places fetches the same places of a later page; beyond, all its lines.
///
/// Three quarters of the lines of a page. On Zen 5, 3 rows to the last of 25 columns touch 75 places and took 182 ns
/// a page by their places and 216 by all lines, 96 places 198 and 205, and 120 places 232 and 218.
const PLACES_APART_MAX: usize = PAGE_SIZE / LINE_BYTES * 3 / 4;

/// Lines that are fetched together, where the walk is long enough for so few: fewer than the processor's buffers for
/// lines under way, with room for those of the walk itself.
const LINES_PER_STEP: usize = 4;

/// How many rows of different pages are walked side by side. Each needs its page's address besides its position, so the
/// registers do not hold them; four took 33 ns a row of 23 columns all the same, and eight 29.
const SPOTS: usize = 8;

/// Lines of a row that are asked for before it is walked: a row of 192 bytes, wherever its first line begins.
const LINES_OF_A_ROW: usize = 4;

/// Bytes of a cache line on the machines this runs on.
const LINE_BYTES: usize = 64;

/// A page's size is a power of two: an offset masked by this lies within it.
const OFFSET_MASK: usize = PAGE_SIZE - 1;
const _: () = assert!(PAGE_SIZE.is_power_of_two());

/// Added to a length byte it sets bit 8 exactly where the byte does not mean a short value.
pub(crate) const BEYOND_SHORT: usize = 256 - (SHORT_LENGTH_MAX + 1);

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
    Walked { rows: u64::from(page.slots()), folded: page.rows().map(|row| fold_row(row, touch)).sum() }
}

/// What one row adds to the sum.
#[inline]
pub(crate) fn fold_row(row: RowView<'_>, touch: Touch) -> u64 {
    match touch {
        Touch::Directory => 0,
        Touch::Rows => u64::from(row.column_count()),
        Touch::Column(number) => row.column(number).flatten().map_or(0, fold_value),
    }
}

/// What one value adds to the sum.
fn fold_value(value: &[u8]) -> u64 {
    value.len() as u64 + u64::from(value.first().copied().unwrap_or(0))
}

/// Walks a page.
#[inline]
pub fn walk(page: PageView<'_>, touch: Touch) -> Walked {
    walk_with(page, touch, &mut NoFetch)
}

/// Walks a page while the lines that the same walk of `next`, a later page, will want are being fetched.
///
/// The fetches are spread over the walk. All at once, before it, they fill the processor's few buffers for lines
/// under way and most are dropped: the last of 25 columns then cost 1.6 µs a block of 250-byte rows, and 0.4 µs so.
#[inline]
pub fn walk_ahead(page: PageView<'_>, next: &PageBytes, touch: Touch) -> Walked {
    if touch == Touch::Directory {
        prefetch(&next[0]);
        return walk(page, touch);
    }
    let slots = usize::from(page.slots());
    if fetches_places(page, touch) {
        prefetch_directory(next, slots);
        return walk_with(page, touch, &mut SamePlaces { next });
    }
    walk_with(page, touch, &mut AllLines::spread_over(next, slots.div_ceil(LANES) * places_of_a_row(touch)))
}

/// Whether a walk of a page fetches no more of a later one than the lines that it reads.
#[inline]
pub(crate) fn fetches_places(page: PageView<'_>, touch: Touch) -> bool {
    usize::from(page.slots()) * places_of_a_row(touch) <= PLACES_APART_MAX
}

/// How many places of a row a walk reads.
#[inline]
fn places_of_a_row(touch: Touch) -> usize {
    match touch {
        Touch::Directory => 0,
        Touch::Rows => 1,
        Touch::Column(number) => usize::from(number),
    }
}

#[inline]
fn walk_with(page: PageView<'_>, touch: Touch, ahead: &mut impl FetchAhead) -> Walked {
    let folded = match touch {
        Touch::Directory => 0,
        Touch::Rows => fold_column_counts(page, ahead),
        Touch::Column(number) => fold_column(page, number, ahead),
    };
    Walked { rows: u64::from(page.slots()), folded }
}

/// What a walk of one page fetches of the next.
pub(crate) trait FetchAhead {
    /// The walk reads the place `at`.
    fn place(&mut self, at: usize);
    /// A step of the walk begins; the answer is how many columns all lanes may go on until the next step.
    fn step(&mut self) -> usize;
}

/// Fetches nothing.
pub(crate) struct NoFetch;

impl FetchAhead for NoFetch {
    #[inline(always)]
    fn place(&mut self, _at: usize) {}
    #[inline(always)]
    fn step(&mut self) -> usize {
        usize::MAX
    }
}

/// Fetches the place that the walk reads: rows of neighbouring pages lie at about the same places. Where they do
/// not, this is a hint that did not help.
struct SamePlaces<'a> {
    next: &'a PageBytes,
}

impl FetchAhead for SamePlaces<'_> {
    #[inline(always)]
    fn place(&mut self, at: usize) {
        prefetch(&self.next[at & OFFSET_MASK]);
    }
    #[inline(always)]
    fn step(&mut self) -> usize {
        // Behind a special length stand no lengths: a longer step would fetch places that the walk never touches.
        1
    }
}

/// Fetches all lines in order, some at each step.
pub(crate) struct AllLines<'a> {
    next: &'a PageBytes,
    at: usize,
    columns_per_step: usize,
    lines_per_step: usize,
}

impl AllLines<'_> {
    /// Spreads the lines over a walk that takes all lanes over a column this many times.
    pub(crate) fn spread_over(next: &PageBytes, columns: usize) -> AllLines<'_> {
        let lines = PAGE_SIZE / LINE_BYTES;
        let columns_per_step = (columns * LINES_PER_STEP / lines).max(1);
        let steps = columns.div_ceil(columns_per_step).max(1);
        AllLines { next, at: 0, columns_per_step, lines_per_step: lines.div_ceil(steps) }
    }
}

impl FetchAhead for AllLines<'_> {
    #[inline(always)]
    fn place(&mut self, _at: usize) {}
    #[inline(always)]
    fn step(&mut self) -> usize {
        if self.at < PAGE_SIZE {
            for _ in 0..self.lines_per_step {
                prefetch(&self.next[self.at & OFFSET_MASK]);
                self.at += LINE_BYTES;
            }
        }
        self.columns_per_step
    }
}

/// Begins to fetch the header and the directory of a page that is expected to have `slots` rows.
#[inline(always)]
fn prefetch_directory(page: &PageBytes, slots: usize) {
    for at in (0..field::DIRECTORY + SLOT_BYTES * slots).step_by(LINE_BYTES) {
        prefetch(&page[at & OFFSET_MASK]);
    }
}

/// The byte of `page` at `at`, which is masked to the page.
#[inline(always)]
pub(crate) fn byte_at(page: &PageBytes, at: usize) -> usize {
    usize::from(page[at & OFFSET_MASK])
}

/// Where the row of `slot` begins. `slot` is below `SLOTS_MAX`, so its entry lies within the page.
#[inline(always)]
pub(crate) fn row_start(page: &PageBytes, slot: usize) -> usize {
    let at = field::DIRECTORY + SLOT_BYTES * slot;
    byte_at(page, at) | byte_at(page, at + 1) << 8
}

/// The sum of the column counts. The loads of one row do not wait for those of another.
#[inline]
fn fold_column_counts(page: PageView<'_>, ahead: &mut impl FetchAhead) -> u64 {
    let (bytes, slots) = (page.bytes(), usize::from(page.slots()));
    let mut folded = 0;
    for first in (0..slots).step_by(LANES) {
        ahead.step();
        for slot in first..slots.min(first + LANES) {
            let start = row_start(bytes, slot);
            ahead.place(start);
            folded += byte_at(bytes, start) as u64;
        }
    }
    folded
}

/// The sum over column `number` of every row.
#[inline]
fn fold_column(page: PageView<'_>, number: u8, ahead: &mut impl FetchAhead) -> u64 {
    let slots = usize::from(page.slots());
    let Some(before) = number.checked_sub(1) else { return 0 };
    let mut folded = 0;
    // A page with one special row has mostly more: the quick walk is not tried again.
    let mut all_short = true;
    for first in (0..slots).step_by(LANES) {
        let group = Group { first, rows: LANES.min(slots - first) };
        let sum = all_short.then(|| fold_group(page.bytes(), group, before, ahead)).flatten();
        all_short = sum.is_some();
        folded += sum.unwrap_or_else(|| fold_group_of_any_rows(page.bytes(), group, before, ahead));
    }
    folded
}

/// Neighbouring rows that are walked side by side.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// Slot of the first row.
    pub(crate) first: usize,
    /// How many there are: at least one, at most as many as there are lanes.
    pub(crate) rows: usize,
}

impl Group {
    /// The slot of a lane. A lane without a row walks the last row once more: cheaper than a second loop for the
    /// rest of a page.
    #[inline(always)]
    pub(crate) fn slot(self, lane: usize) -> usize {
        self.first + lane.min(self.rows - 1)
    }
}

/// How far the rows of a group are walked.
struct Lanes {
    at: [usize; LANES],
    columns_min: usize,
    columns_max: usize,
    /// Bit 8 is set once a length byte was met that does not stand for a short value.
    special: usize,
}

impl Lanes {
    /// Every lane behind the column count of its row.
    #[inline(always)]
    fn start(page: &PageBytes, group: Group, ahead: &mut impl FetchAhead) -> Lanes {
        let mut lanes = Lanes { at: [0; LANES], columns_min: usize::MAX, columns_max: 0, special: 0 };
        for (lane, at) in lanes.at.iter_mut().enumerate() {
            let start = row_start(page, group.slot(lane));
            ahead.place(start);
            let columns = byte_at(page, start);
            lanes.columns_min = lanes.columns_min.min(columns);
            lanes.columns_max = lanes.columns_max.max(columns);
            *at = start + 1;
        }
        lanes
    }

    /// The length byte of the column that a lane stands at.
    #[inline(always)]
    fn length(page: &PageBytes, at: usize, special: &mut usize, ahead: &mut impl FetchAhead) -> usize {
        let length = byte_at(page, at);
        ahead.place(at);
        *special |= length + BEYOND_SHORT;
        length
    }

    /// Walks every lane over this many columns, or until some met a special length: what follows would be no length.
    ///
    /// The inner loop knows nothing of the next page, so that all positions stay in registers.
    #[inline(always)]
    fn walk(&mut self, page: &PageBytes, columns: usize, ahead: &mut impl FetchAhead) {
        let mut left = columns;
        while left > 0 && self.all_short() {
            let stride = ahead.step().min(left);
            for _ in 0..stride {
                for at in &mut self.at {
                    *at += 1 + Lanes::length(page, *at, &mut self.special, ahead);
                }
            }
            left -= stride;
        }
    }

    /// Whether every length on the way was a short one.
    #[inline(always)]
    fn all_short(&self) -> bool {
        self.special < 256
    }
}

/// The sum over the column behind `before` others, when every length on the way takes one byte and every row has
/// that column; otherwise `None`.
#[inline(always)]
fn fold_group(page: &PageBytes, group: Group, before: u8, ahead: &mut impl FetchAhead) -> Option<u64> {
    let mut lanes = Lanes::start(page, group, ahead);
    ahead.step();
    lanes.walk(page, usize::from(before), ahead);
    let mut folded = 0;
    for (lane, at) in lanes.at.into_iter().enumerate() {
        let length = Lanes::length(page, at, &mut lanes.special, ahead);
        let first_byte = if length > 0 { byte_at(page, at + 1) } else { 0 };
        folded += if lane < group.rows { (length + first_byte) as u64 } else { 0 };
    }
    (lanes.all_short() && lanes.columns_min > usize::from(before)).then_some(folded)
}

/// The same sum for rows of any kind: long values, nulls, rows without that column. It takes twice the instructions.
#[inline(always)]
fn fold_group_of_any_rows(page: &PageBytes, group: Group, before: u8, ahead: &mut impl FetchAhead) -> u64 {
    let starts: [usize; LANES] = std::array::from_fn(|lane| row_start(page, group.slot(lane)));
    let mut at = starts.map(|start| start + 1);
    for _ in 0..before {
        ahead.step();
        for at in &mut at {
            ahead.place(*at);
            let length = AnyLength::at(page, *at);
            *at += length.head_bytes + length.value_bytes;
        }
    }
    ahead.step();
    let mut folded = 0;
    for (lane, at) in at.into_iter().enumerate() {
        ahead.place(at);
        let length = AnyLength::at(page, at);
        let first_byte = if length.value_bytes > 0 { byte_at(page, at + length.head_bytes) } else { 0 };
        let is_there = lane < group.rows && byte_at(page, starts[lane]) > usize::from(before);
        folded += if is_there { (length.value_bytes + first_byte) as u64 } else { 0 };
    }
    folded
}

/// Where a row begins, in a page that may be another one for every row.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    page: &'a PageBytes,
    start: usize,
}

impl<'a> Spot<'a> {
    /// The row of `slot`; `None` where there is no such row. Begins to fetch the lines of the row that are nearest.
    ///
    /// To be called for rows that are walked a little later.
    #[inline]
    pub fn of(page: PageView<'a>, slot: u16) -> Option<Spot<'a>> {
        (slot < page.slots()).then(|| Spot::prefetched(page.bytes(), row_start(page.bytes(), usize::from(slot))))
    }

    /// The row that begins at `start`, its first lines asked for.
    #[inline]
    fn prefetched(page: &'a PageBytes, start: usize) -> Spot<'a> {
        let start = start & OFFSET_MASK;
        for line in 0..LINES_OF_A_ROW {
            prefetch(&page[(start + line * LINE_BYTES).min(PAGE_SIZE - 1)]);
        }
        Spot { page, start }
    }

    /// The row itself.
    #[inline]
    pub fn row(self) -> RowView<'a> {
        RowView::new(&self.page[self.start..])
    }

    /// Where in its page the row begins.
    #[inline]
    pub fn start(self) -> u16 {
        self.start as u16
    }

    /// The row that begins at `start` of a page, as [`Spot::start`] gives it.
    #[inline]
    pub fn at(page: &'a PageBytes, start: u16) -> Spot<'a> {
        Spot { page, start: usize::from(start) & OFFSET_MASK }
    }
}

/// Counts the rows whose column `number` (from 1) is there and is not null. The rows may stand in different pages.
#[inline]
pub fn count_values(rows: &[Spot<'_>], number: u8) -> u64 {
    let Some(before) = number.checked_sub(1) else { return 0 };
    rows.chunks(SPOTS).map(|group| count_values_of_group(group, before)).sum()
}

/// The count for at most [`SPOTS`] rows, which are walked side by side.
#[inline]
fn count_values_of_group(rows: &[Spot<'_>], before: u8) -> u64 {
    let Some(last) = rows.len().checked_sub(1) else { return 0 };
    let spots: [Spot<'_>; SPOTS] = std::array::from_fn(|lane| rows[lane.min(last)]);
    let first = spots[0].page;
    let starts = spots.map(|spot| spot.start);
    // Rows of one page need one address, which leaves the registers to the positions.
    let counted = match spots.iter().all(|spot| std::ptr::eq(spot.page, first)) {
        true => count_values_of_lanes(|_| first, starts, rows.len(), before),
        false => count_values_of_lanes(|lane| spots[lane].page, starts, rows.len(), before),
    };
    counted.unwrap_or_else(|| rows.iter().map(|spot| u64::from(has_value(*spot, before))).sum())
}

/// The count for the first `rows` lanes; `None` where some row has a long value.
///
/// A null has no bytes and is nothing special; what is long shows in bit 8 of what all lengths are joined to.
#[inline(always)]
fn count_values_of_lanes<'a>(
    page_of: impl Fn(usize) -> &'a PageBytes,
    starts: [usize; SPOTS],
    rows: usize,
    before: u8,
) -> Option<u64> {
    let mut at = starts.map(|start| start + 1);
    let mut special = 0;
    for _ in 0..before {
        for (lane, at) in at.iter_mut().enumerate() {
            let length = byte_at(page_of(lane), *at);
            let bytes = if length == usize::from(NULL) { 0 } else { length };
            special |= bytes + BEYOND_SHORT;
            *at += 1 + bytes;
        }
    }
    let has_value = |lane: usize| {
        let page = page_of(lane);
        byte_at(page, starts[lane]) > usize::from(before) && !is_null(page, at[lane])
    };
    let counted = (0..rows.min(SPOTS)).map(|lane| u64::from(has_value(lane))).sum();
    (special < 256).then_some(counted)
}

/// Whether the column behind `before` others is there and is not null, in a row of any kind.
#[cold]
fn has_value(spot: Spot<'_>, before: u8) -> bool {
    let mut at = spot.start + 1;
    for _ in 0..before {
        let length = AnyLength::at(spot.page, at);
        at += length.head_bytes + length.value_bytes;
    }
    byte_at(spot.page, spot.start) > usize::from(before) && !is_null(spot.page, at)
}

#[inline(always)]
fn is_null(page: &PageBytes, at: usize) -> bool {
    byte_at(page, at) == usize::from(NULL)
}

/// A length of any kind; a null has no bytes.
#[derive(Clone, Copy)]
struct AnyLength {
    head_bytes: usize,
    value_bytes: usize,
}

impl AnyLength {
    /// Reads the bytes of a long length also where there is none, so that the processor can select instead of jump.
    #[inline(always)]
    fn at(page: &PageBytes, at: usize) -> AnyLength {
        let first = byte_at(page, at);
        let long = byte_at(page, at + 1) | byte_at(page, at + 2) << 8;
        let is_long = first == usize::from(LONG_LENGTH);
        let short = if first <= SHORT_LENGTH_MAX { first } else { 0 };
        AnyLength { head_bytes: if is_long { 3 } else { 1 }, value_bytes: if is_long { long } else { short } }
    }
}

/// Whether every row has short values only and ends exactly where it should. `false` says nothing yet: rows with
/// long values or nulls need the plain check.
///
/// A position only ever grows, so a lane that ends at its row's end has never left the row.
pub(crate) fn rows_end_where_they_should(page: PageView<'_>) -> bool {
    let (bytes, slots) = (page.bytes(), usize::from(page.slots()));
    (0..slots).step_by(LANES).all(|first| {
        let group = Group { first, rows: LANES.min(slots - first) };
        let mut lanes = Lanes::start(bytes, group, &mut NoFetch);
        lanes.walk(bytes, lanes.columns_max, &mut NoFetch);
        let at_their_ends = lanes.at.iter().enumerate().all(|(lane, at)| *at == row_end(bytes, group.slot(lane)));
        at_their_ends && lanes.all_short() && lanes.columns_min == lanes.columns_max
    })
}

/// Where the row of `slot` ends: where the one before it begins.
#[inline(always)]
fn row_end(page: &PageBytes, slot: usize) -> usize {
    slot.checked_sub(1).map_or(PAGE_SIZE, |before| row_start(page, before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::id::{PageId, SegmentId};
    use crate::page::row;
    use crate::page::row::Value;
    use crate::page::slotted::{PageKind, PageMut};
    use measure::random::SplitMix64;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const TOUCHES: [Touch; 8] = [
        Touch::Directory,
        Touch::Rows,
        Touch::Column(0),
        Touch::Column(1),
        Touch::Column(2),
        Touch::Column(5),
        Touch::Column(25),
        Touch::Column(255),
    ];

    const ID: PageId = PageId { segment: SegmentId(0), number: 0 };

    /// Rows of some shape: (column count, chance of a null in per cent, longest value).
    fn page_of(shapes: &[(u8, u8, u16)], seed: u64) -> Box<PageBytes> {
        let mut bytes = Box::new([0; PAGE_SIZE]);
        let mut page = PageMut::format(&mut bytes, ID, PageKind::Heap);
        let mut random = SplitMix64::new(seed);
        for (columns, nulls, length_max) in shapes.iter().cycle().take(400) {
            let values: Vec<Option<Vec<u8>>> = (0..*columns)
                .map(|_| {
                    let is_null = random.below(100) < u64::from(*nulls);
                    let length = random.below(u64::from(*length_max) + 1) as usize;
                    (!is_null).then(|| vec![random.next_u64() as u8; length])
                })
                .collect();
            let columns: Vec<Value<'_>> = values.iter().map(Option::as_deref).collect();
            let mut row = Vec::new();
            row::encode(&columns, &mut row);
            page.append(&row);
        }
        page.seal();
        bytes
    }

    fn assert_all_walks_agree(bytes: &PageBytes, next: &PageBytes) {
        let page = PageView::verified(bytes);
        for touch in TOUCHES {
            let plain = walk_plain(page, touch);
            assert_eq!(walk(page, touch), plain, "{touch:?}");
            assert_eq!(walk_ahead(page, next, touch), plain, "{touch:?}");
        }
    }

    proptest! {
        #[test]
        fn the_quick_walk_finds_what_the_plain_one_finds(
            shapes in vec((0..30_u8, prop_oneof![3 => Just(0_u8), 1 => 0..60_u8],
                prop_oneof![3 => 0..30_u16, 1 => 0..400_u16]), 1..4),
            seed in any::<u64>(),
        ) {
            let bytes = page_of(&shapes, seed);
            prop_assert!(PageView::verify(&bytes, ID).is_ok());
            assert_all_walks_agree(&bytes, &page_of(&shapes, seed ^ 1));
        }

        #[test]
        fn bytes_that_nobody_verified_never_panic(seed in any::<u64>(), slots in any::<u16>()) {
            let mut random = SplitMix64::new(seed);
            let mut bytes = Box::new([0; PAGE_SIZE]);
            bytes.fill_with(|| random.next_u64() as u8);
            bytes[field::SLOTS..field::SLOTS + 2].copy_from_slice(&slots.to_le_bytes());
            for touch in TOUCHES {
                let walked = walk_ahead(PageView::verified(&bytes), &bytes, touch);
                prop_assert!(walked.rows <= u64::from(slots));
            }
            rows_end_where_they_should(PageView::verified(&bytes));
        }
    }

    #[test]
    fn every_number_of_rows_is_walked_to_its_last_row() {
        let row = [1, 2, b'a', b'b'];
        for rows in 0..40 {
            let mut bytes = Box::new([0; PAGE_SIZE]);
            let mut page = PageMut::format(&mut bytes, ID, PageKind::Heap);
            (0..rows).for_each(|_| assert!(page.append(&row).is_some()));
            page.seal();
            let walked = walk(PageView::verified(&bytes), Touch::Column(1));
            assert_eq!(walked, Walked { rows, folded: rows * (2 + u64::from(b'a')) });
            assert!(rows_end_where_they_should(PageView::verified(&bytes)));
        }
    }
}
