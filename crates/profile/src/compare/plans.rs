//! Whether a statement has another plan than before, and the lines in which the two differ.

use std::collections::BTreeSet;

use measure::compare::{LineSide, PlanChange, PlanLineChange};
use measure::sorting;

use crate::tables::Plan;

/// Lines of a plan that are held against those of another one, once those at both ends that are the same are set aside.
const LINES_MAX: usize = 500;

/// What a side knows of a statement's plans.
#[derive(Clone, Debug, Default)]
pub(super) struct PlansOfSide<'a> {
    /// Hashes of plans, those that calls name included.
    pub(super) hashes: BTreeSet<u64>,
    /// Plans with their lines.
    pub(super) plans: Vec<&'a Plan>,
}

/// A line as it is compared: objects have other numbers in another database.
type Line<'a> = (u32, &'a str);

/// The change of a statement's plans; `None` where both sides have the same, or one has none. Hashes decide where both
/// sides have some, else the shapes.
pub(super) fn plan_change(id: &str, before: &PlansOfSide, after: &PlansOfSide) -> Option<PlanChange> {
    let is_changed = if before.hashes.is_empty() || after.hashes.is_empty() {
        let shapes = |side: &PlansOfSide| -> BTreeSet<Vec<(u32, String)>> {
            let owned = |plan: &&Plan| lines(plan).into_iter().map(|(level, text)| (level, text.into())).collect();
            sorting::set(side.plans.iter().map(owned))
        };
        !before.plans.is_empty() && !after.plans.is_empty() && shapes(before) != shapes(after)
    } else {
        before.hashes != after.hashes
    };
    if !is_changed {
        return None;
    }
    let pair = main_plan(before, after).zip(main_plan(after, before));
    Some(PlanChange {
        id: id.into(),
        before: before.hashes.iter().copied().collect(),
        after: after.hashes.iter().copied().collect(),
        lines: pair.map(|(before, after)| difference(&lines(before), &lines(after))).unwrap_or_default(),
    })
}

/// The plan of a side that was executed most, of those that the other side has not where there is one.
fn main_plan<'a>(side: &PlansOfSide<'a>, other: &PlansOfSide) -> Option<&'a Plan> {
    let is_alone = |plan: &&Plan| plan.plan_hash == 0 || !other.hashes.contains(&plan.plan_hash);
    side.plans.iter().copied().max_by_key(|plan| (is_alone(plan), plan.blocks))
}

fn lines(plan: &Plan) -> Vec<Line<'_>> {
    let name = |operation| str::split(operation, " (object id").next().unwrap_or_default().trim_end();
    plan.lines.iter().map(|row| (row.level, name(&*row.operation))).collect()
}

/// All lines of both plans, those of both once: the fewest lines that stand on one side alone.
fn difference(before: &[Line], after: &[Line]) -> Vec<PlanLineChange> {
    let same = |(one, other): &(&Line, &Line)| one == other;
    let head = before.iter().zip(after).take_while(same).count();
    let (before, first) = (&before[head..], &before[..head]);
    let after = &after[head..];
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(same).count();
    let (before, last) = before.split_at(before.len() - tail);
    let after = &after[..after.len() - tail];
    let mut found: Vec<PlanLineChange> = first.iter().map(|line| change(LineSide::Both, line)).collect();
    found.extend(middle(before, after));
    found.extend(last.iter().map(|line| change(LineSide::Both, line)));
    found
}

/// By the longest common subsequence; of plans too long for that all lines are another side's.
fn middle(before: &[Line], after: &[Line]) -> Vec<PlanLineChange> {
    let is_short = before.len() <= LINES_MAX && after.len() <= LINES_MAX;
    let common = if is_short { common_lengths(before, after) } else { Vec::new() };
    let length = |row: usize, column: usize| common.get(row * (after.len() + 1) + column).copied().unwrap_or(0);
    let (mut row, mut column) = (0, 0);
    let mut found = Vec::new();
    while row < before.len() || column < after.len() {
        let side = match (before.get(row), after.get(column)) {
            (Some(one), Some(other)) if one == other && is_short => LineSide::Both,
            (Some(_), Some(_)) if length(row + 1, column) < length(row, column + 1) => LineSide::After,
            (Some(_), _) => LineSide::Before,
            _ => LineSide::After,
        };
        found.push(change(side, if side == LineSide::After { &after[column] } else { &before[row] }));
        row += usize::from(side != LineSide::After);
        column += usize::from(side != LineSide::Before);
    }
    found
}

/// How many lines the rests of both have in common, from each pair of places on.
fn common_lengths(before: &[Line], after: &[Line]) -> Vec<u16> {
    let width = after.len() + 1;
    let mut common = vec![0_u16; (before.len() + 1) * width];
    for row in (0..before.len()).rev() {
        for column in (0..after.len()).rev() {
            common[row * width + column] = if before[row] == after[column] {
                common[(row + 1) * width + column + 1] + 1
            } else {
                common[(row + 1) * width + column].max(common[row * width + column + 1])
            };
        }
    }
    common
}

fn change(side: LineSide, (level, operation): &Line) -> PlanLineChange {
    PlanLineChange { side, level: *level, operation: (*operation).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::PlanRow;
    use proptest::prelude::*;

    fn plan(plan_hash: u64, lines: &[(u32, &str)]) -> Plan {
        let row =
            |(level, text): &(u32, &str)| PlanRow { level: *level, operation: (*text).into(), ..Default::default() };
        Plan { plan_hash, blocks: 1, lines: lines.iter().map(row).collect() }
    }

    fn side<'a>(plans: &[&'a Plan]) -> PlansOfSide<'a> {
        let hashes = plans.iter().map(|plan| plan.plan_hash).filter(|hash| *hash != 0).collect();
        PlansOfSide { hashes, plans: plans.to_vec() }
    }

    #[test]
    fn the_lines_that_differ_are_named_and_object_numbers_are_no_difference() {
        let before = plan(1, &[(0, "SORT AGGREGATE"), (1, "TABLE ACCESS FULL ORDERS (object id 7)")]);
        let after =
            plan(2, &[(0, "SORT AGGREGATE"), (1, "TABLE ACCESS BY INDEX ROWID ORDERS"), (2, "INDEX RANGE SCAN I")]);
        let found = plan_change("a", &side(&[&before]), &side(&[&after])).unwrap();
        let shown: Vec<(LineSide, &str)> = found.lines.iter().map(|line| (line.side, &*line.operation)).collect();
        let expected = [
            (LineSide::Both, "SORT AGGREGATE"),
            (LineSide::Before, "TABLE ACCESS FULL ORDERS"),
            (LineSide::After, "TABLE ACCESS BY INDEX ROWID ORDERS"),
            (LineSide::After, "INDEX RANGE SCAN I"),
        ];
        assert_eq!((shown.as_slice(), found.before, found.after), (&expected[..], vec![1], vec![2]));
    }

    #[test]
    fn without_hashes_the_shapes_decide_and_without_lines_nothing_is_said() {
        let (one, other) = (plan(0, &[(0, "A (object id 1)")]), plan(0, &[(0, "A (object id 2)")]));
        assert_eq!(plan_change("a", &side(&[&one]), &side(&[&other])), None);
        let third = plan(0, &[(0, "B")]);
        assert!(plan_change("a", &side(&[&one]), &side(&[&third])).is_some());
        assert_eq!(plan_change("a", &side(&[&one]), &side(&[])), None);
    }

    #[test]
    fn plans_of_thousands_of_lines_are_compared_in_little_room() {
        let lines = |word: &'static str| vec![(0, word); 5000];
        let (one, other) = (plan(1, &lines("A")), plan(2, &lines("B")));
        assert_eq!(plan_change("a", &side(&[&one]), &side(&[&other])).unwrap().lines.len(), 10_000);
    }

    proptest! {
        #[test]
        fn each_side_of_a_difference_is_its_plan(one in "[abc]{0,30}", other in "[abc]{0,30}") {
            let words = |text: &str| -> Vec<String> { text.chars().map(String::from).collect() };
            let (one, other) = (words(&one), words(&other));
            let found = difference(&of_words(&one), &of_words(&other));
            let without = |side: LineSide| -> Vec<String> {
                found.iter().filter(|line| line.side != side).map(|line| line.operation.clone()).collect()
            };
            prop_assert_eq!(without(LineSide::After), one);
            prop_assert_eq!(without(LineSide::Before), other);
        }
    }

    fn of_words(words: &[String]) -> Vec<Line<'_>> {
        words.iter().map(|word| (0, word.as_str())).collect()
    }
}
