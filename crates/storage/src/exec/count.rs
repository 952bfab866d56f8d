//! The kernel that answers a question from one page of rows.
//!
//! As in [`crate::page::walk`], eight rows are walked side by side and the next page is fetched meanwhile. Here a null
//! is nothing special: real rows have them, and a walk that gave up at the first would be a slow one.

use crate::exec::question::{Answer, Question};
use crate::page::id::PAGE_SIZE;
use crate::page::row::NULL;
use crate::page::walk::{AllLines, BEYOND_SHORT, FetchAhead, Group, LANES, NoFetch, byte_at, row_start};
use crate::page::{PageBytes, PageView, number};

/// Answers from a page, one row after the other, with checked slices: the meaning of [`count`], not its speed.
pub fn count_plain(page: PageView<'_>, question: &Question) -> Answer {
    let passes = |row: &crate::page::row::RowView<'_>| {
        let value = |column| row.column(column).flatten();
        let is_in = question.comparison.is_none_or(|comparison| {
            value(comparison.column).and_then(number::decode).is_some_and(|value| comparison.accepts(value))
        });
        is_in && value(question.counted).is_some()
    };
    Answer { rows: u64::from(page.slots()), count: page.rows().filter(passes).count() as u64 }
}

/// Answers from a page.
#[inline]
pub fn count(page: PageView<'_>, question: &Question) -> Answer {
    count_with(page, &Plan::of(question), &mut NoFetch)
}

/// Answers from a page while the lines of `next` are being fetched.
#[inline]
pub fn count_ahead(page: PageView<'_>, next: &PageBytes, question: &Question) -> Answer {
    let plan = Plan::of(question);
    let places = usize::from(page.slots()).div_ceil(LANES) * plan.last_column().max(1);
    count_with(page, &plan, &mut AllLines::spread_over(next, places))
}

/// What is done at a column on the way.
#[derive(Clone, Copy)]
enum Stop {
    /// The value must lie between these two, both included.
    Between(i64, i64),
    /// There must be a value.
    IsThere,
}

/// The question as a way along the row.
struct Plan<'a> {
    question: &'a Question,
    /// Columns before each stop, ascending, and what is done there; the first may be missing.
    stops: [Option<(usize, Stop)>; 2],
}

impl Plan<'_> {
    fn of(question: &Question) -> Plan<'_> {
        let before = |column: u8| usize::from(column).wrapping_sub(1);
        let counted = Some((before(question.counted), Stop::IsThere));
        let compared = question.comparison.map(|comparison| {
            let (low, high) = comparison.bounds();
            (before(comparison.column), Stop::Between(low, high))
        });
        let counted_first = question.comparison.is_some_and(|comparison| comparison.column > question.counted);
        Plan { question, stops: if counted_first { [counted, compared] } else { [compared, counted] } }
    }

    /// Columns count from 1; column 0 gives what an absent column gives.
    fn has_column_zero(&self) -> bool {
        self.question.counted == 0 || self.question.comparison.is_some_and(|comparison| comparison.column == 0)
    }

    /// The last column that is looked at, from 1.
    fn last_column(&self) -> usize {
        self.stops[1].map_or(1, |(before, _)| before.wrapping_add(1))
    }
}

#[inline]
fn count_with(page: PageView<'_>, plan: &Plan<'_>, ahead: &mut impl FetchAhead) -> Answer {
    let slots = usize::from(page.slots());
    if plan.has_column_zero() {
        return count_plain(page, plan.question);
    }
    let mut count = 0;
    for first in (0..slots).step_by(LANES) {
        let group = Group { first, rows: LANES.min(slots - first) };
        match count_group(page.bytes(), group, plan, ahead) {
            Some(counted) => count += counted,
            // Long values, numbers at the page's end, rows without the column: the whole page the plain way.
            None => return count_plain(page, plan.question),
        }
    }
    Answer { rows: slots as u64, count }
}

/// The rows of a group that pass; `None` where some row is of a kind that the quick way does not know.
#[inline(always)]
fn count_group(page: &PageBytes, group: Group, plan: &Plan<'_>, ahead: &mut impl FetchAhead) -> Option<u64> {
    let mut at: [usize; LANES] = std::array::from_fn(|lane| row_start(page, group.slot(lane)));
    let columns_min = at.iter().map(|start| byte_at(page, *start)).min().unwrap_or(0);
    if columns_min < plan.last_column() {
        return None;
    }
    at.iter_mut().for_each(|at| *at += 1);
    let mut passes = [true; LANES];
    let (mut special, mut walked) = (0, 0);
    for (before, stop) in plan.stops.iter().flatten() {
        walk(page, &mut at, before - walked, &mut special, ahead);
        walked = *before;
        match *stop {
            Stop::IsThere => {
                for (pass, at) in passes.iter_mut().zip(at) {
                    *pass &= byte_at(page, at) != usize::from(NULL);
                }
            }
            Stop::Between(low, high) => {
                for (pass, at) in passes.iter_mut().zip(at) {
                    *pass &= number_at(page, at, &mut special).is_some_and(|value| (low..=high).contains(&value));
                }
            }
        }
    }
    let counted = passes[..group.rows].iter().filter(|pass| **pass).count() as u64;
    (special < 256).then_some(counted)
}

/// Walks every lane over this many columns. Bit 8 of `special` is set once a length was met that is neither short
/// nor null; what follows is then meaningless, and harmless, because every position is masked to the page.
#[inline(always)]
fn walk(page: &PageBytes, at: &mut [usize; LANES], columns: usize, special: &mut usize, ahead: &mut impl FetchAhead) {
    let mut left = columns;
    while left > 0 {
        let stride = ahead.step().min(left);
        for _ in 0..stride {
            for at in at.iter_mut() {
                let length = byte_at(page, *at);
                let bytes = if length == usize::from(NULL) { 0 } else { length };
                *special |= bytes + BEYOND_SHORT;
                *at += 1 + bytes;
            }
        }
        left -= stride;
    }
}

/// The number whose length stands at `at`; `None` for a null. `special` as in [`walk`], also for what is no number
/// and where the eight bytes behind the length would leave the page.
#[inline(always)]
fn number_at(page: &PageBytes, at: usize, special: &mut usize) -> Option<i64> {
    let length = byte_at(page, at);
    if length == usize::from(NULL) {
        return None;
    }
    let Some(bytes) = page.get(at + 1..at + 1 + number::BYTES_MAX) else {
        *special |= 256;
        return None;
    };
    if length > number::BYTES_MAX {
        *special |= 256;
        return None;
    }
    let whole = i64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let unused = 64 - 8 * length as u32;
    // In two halves, because a shift by all 64 bits is none; the way back carries the sign.
    Some((whole << (unused / 2) << (unused - unused / 2)) >> unused.min(63))
}

const _: () = assert!(PAGE_SIZE > number::BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::question::{Comparison, Operator};
    use crate::page::id::{PageId, SegmentId};
    use crate::page::row::Value;
    use crate::page::{PageKind, PageMut, row};
    use proptest::prelude::*;

    const ID: PageId = PageId { segment: SegmentId(0), number: 0 };
    const OPERATORS: [Operator; 5] =
        [Operator::Greater, Operator::GreaterOrEqual, Operator::Less, Operator::LessOrEqual, Operator::Equal];

    fn page_of(rows: &[Vec<Option<Vec<u8>>>]) -> Box<PageBytes> {
        let mut bytes = Box::new([0; PAGE_SIZE]);
        let mut page = PageMut::format(&mut bytes, ID, PageKind::Heap);
        for columns in rows {
            let columns: Vec<Value<'_>> = columns.iter().map(Option::as_deref).collect();
            let mut row = Vec::new();
            row::encode(&columns, &mut row);
            if page.append(&row).is_none() {
                break;
            }
        }
        page.seal();
        bytes
    }

    fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
        let number = |value: i64| {
            let (bytes, length) = number::encode(value);
            Some(bytes[..length].to_vec())
        };
        prop_oneof![
            1 => Just(None),
            6 => (-300..300_i64).prop_map(number),
            2 => any::<i64>().prop_map(number),
            1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Some),
        ]
    }

    fn check(page: &PageBytes, question: &Question) {
        let view = PageView::verify(page, ID).unwrap();
        let expected = count_plain(view, question);
        assert_eq!(count(view, question), expected, "{question:?}");
        assert_eq!(count_ahead(view, page, question), expected, "{question:?}");
    }

    proptest! {
        #[test]
        fn the_quick_way_counts_as_the_plain_way(
            rows in proptest::collection::vec(proptest::collection::vec(value(), 1..9), 0..60),
            column in 0..9_u8, counted in 0..9_u8, operator in 0..5_usize,
            constant in prop_oneof![-300..300_i64, any::<i64>()],
        ) {
            let page = page_of(&rows);
            let comparison = Comparison { column, operator: OPERATORS[operator], constant };
            check(&page, &Question { comparison: Some(comparison), counted });
            check(&page, &Question { comparison: None, counted });
        }
    }

    #[test]
    fn long_values_and_the_ends_of_the_number_range_are_counted() {
        let long = Some(vec![7; 600]);
        let number = |value: i64| Some(number::encode(value).0.to_vec());
        let rows = vec![
            vec![number(i64::MAX), long.clone(), Some(vec![1])],
            vec![number(i64::MIN), long, None],
            vec![number(i64::MAX), None, Some(vec![])],
        ];
        let page = page_of(&rows);
        for operator in OPERATORS {
            for constant in [i64::MIN, -1, 0, i64::MAX] {
                let comparison = Some(Comparison { column: 1, operator, constant });
                check(&page, &Question { comparison, counted: 3 });
            }
        }
        let all = Question { comparison: None, counted: 3 };
        assert_eq!(count(PageView::verify(&page, ID).unwrap(), &all), Answer { rows: 3, count: 2 });
    }
}
