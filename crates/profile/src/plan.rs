//! Plans as they were executed: from lines in the order of the source to trees with their own figures.
//!
//! A line's figures include its children's; its own are what is left. Executions of the same shape are added up, so
//! that a statement has one plan a shape, however often it ran.

use std::collections::HashMap;

use crate::observer::PlanLine;
use crate::tables::{Plan, PlanFigures, PlanRow};
use crate::ticks::Ticks;

/// So many shapes of one statement are kept apart; a damaged source could have one a block. What comes later is
/// added to none, and counted.
const SHAPES: usize = 64;

/// So many lines of a block are kept: no plan is longer.
const LINES: usize = 1 << 14;

/// The plans of one statement.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    plans: Vec<Plan>,
    /// The block that is being read. Its room stays from block to block.
    block: Plan,
    /// So many lines of it were read; what stands behind is of the block before.
    block_lines: usize,
    left_out: u64,
}

impl Plans {
    /// Takes the next line; a line with number 1 begins another block.
    pub(crate) fn add(&mut self, line: &PlanLine) {
        let is_next = self.block.lines[..self.block_lines].last().is_none_or(|last| line.id > last.id);
        if line.id <= 1 || !is_next || self.block_lines >= LINES {
            self.close();
        }
        if self.block_lines == 0 {
            self.block.plan_hash = line.plan_hash;
            self.block.blocks = 1;
        }
        if self.block_lines == self.block.lines.len() {
            self.block.lines.push(PlanRow::default());
        }
        let row = &mut self.block.lines[self.block_lines];
        self.block_lines += 1;
        row.id = line.id;
        row.parent = line.parent;
        row.operation.clone_from(&line.operation);
        row.object = line.object;
        row.rows = line.rows;
        row.starts = line.figures.and_then(|figures| figures.starts);
        row.inclusive = line.figures.map(|figures| PlanFigures {
            gets: i64::try_from(figures.gets).unwrap_or(i64::MAX),
            physical_reads: i64::try_from(figures.physical_reads).unwrap_or(i64::MAX),
            physical_writes: i64::try_from(figures.physical_writes).unwrap_or(i64::MAX),
            time: figures.time,
            read_time: figures.read_time,
        });
    }

    /// The plans, with their own figures, and how many blocks were left out.
    pub(crate) fn finish(mut self) -> (Vec<Plan>, u64) {
        self.close();
        self.plans.iter_mut().for_each(complete);
        (self.plans, self.left_out)
    }

    /// Ends the block: adds it to the plan of its shape.
    fn close(&mut self) {
        let lines = std::mem::take(&mut self.block_lines);
        let (plan_hash, read) = (self.block.plan_hash, &self.block.lines[..lines]);
        if read.is_empty() {
            return;
        }
        match self.plans.iter().position(|plan| is_same_shape(plan, plan_hash, read)) {
            Some(place) => merge(&mut self.plans[place], read),
            None if self.plans.len() < SHAPES => {
                self.block.lines.truncate(lines);
                self.plans.push(std::mem::take(&mut self.block));
            }
            None => self.left_out += 1,
        }
    }
}

fn is_same_shape(plan: &Plan, plan_hash: u64, block: &[PlanRow]) -> bool {
    let same = |(one, other): (&PlanRow, &PlanRow)| {
        one.id == other.id
            && one.parent == other.parent
            && one.object == other.object
            && one.operation == other.operation
    };
    plan.plan_hash == plan_hash && plan.lines.len() == block.len() && plan.lines.iter().zip(block).all(same)
}

/// Adds one more block.
fn merge(plan: &mut Plan, block: &[PlanRow]) {
    plan.blocks += 1;
    for (row, more) in plan.lines.iter_mut().zip(block) {
        row.rows = row.rows.saturating_add(more.rows);
        row.starts = row.starts.zip(more.starts).map(|(one, other)| one.saturating_add(other));
        row.inclusive = row.inclusive.zip(more.inclusive).map(|(one, other)| plus(one, other, 1));
    }
}

/// `one` plus `sign` times `other`.
fn plus(one: PlanFigures, other: PlanFigures, sign: i64) -> PlanFigures {
    let add = |one: i64, other: i64| one.saturating_add(other.saturating_mul(sign));
    PlanFigures {
        gets: add(one.gets, other.gets),
        physical_reads: add(one.physical_reads, other.physical_reads),
        physical_writes: add(one.physical_writes, other.physical_writes),
        time: Ticks(add(one.time.0, other.time.0)),
        read_time: one.read_time.zip(other.read_time).map(|(one, other)| Ticks(add(one.0, other.0))),
    }
}

/// Levels and own figures. A parent stands before its children; a line whose parent is missing counts as a root.
fn complete(plan: &mut Plan) {
    let mut places: HashMap<u32, usize> = HashMap::new();
    for place in 0..plan.lines.len() {
        let row = &plan.lines[place];
        let (id, inclusive) = (row.id, row.inclusive);
        let parent = places.get(&row.parent).copied();
        plan.lines[place].own = inclusive;
        if let Some(parent) = parent {
            plan.lines[place].level = plan.lines[parent].level + 1;
            let own = plan.lines[parent].own;
            plan.lines[parent].own = own.map(|own| inclusive.map_or(own, |child| plus(own, child, -1)));
        }
        places.insert(id, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::{PlanLineFigures, StatementIndex};

    fn line(id: u32, parent: u32, micros: i64, gets: u64) -> PlanLine {
        PlanLine {
            statement: StatementIndex(0),
            plan_hash: 9,
            id,
            parent,
            operation: format!("STEP {id}"),
            object: 0,
            rows: 10,
            figures: Some(PlanLineFigures { gets, time: Ticks::from_micros(micros), ..PlanLineFigures::default() }),
        }
    }

    #[test]
    fn own_time_is_what_the_children_leave() {
        let mut plans = Plans::default();
        for _ in 0..2 {
            for line in [line(1, 0, 100, 50), line(2, 1, 60, 30), line(3, 2, 25, 10), line(4, 1, 30, 20)] {
                plans.add(&line);
            }
        }
        let (plans, _) = plans.finish();
        assert_eq!((plans.len(), plans[0].blocks), (1, 2));
        let own: Vec<_> = plans[0].lines.iter().map(|row| row.own.map(|own| (own.time.micros(), own.gets))).collect();
        assert_eq!(own, [Some((20.0, 0)), Some((70.0, 40)), Some((50.0, 20)), Some((60.0, 40))]);
        assert_eq!(plans[0].lines.iter().map(|row| row.level).collect::<Vec<_>>(), [0, 1, 2, 1]);
        assert_eq!(plans[0].lines[0].rows, 20);
    }

    #[test]
    fn a_new_shape_in_every_block_fills_no_memory() {
        let mut plans = Plans::default();
        (0..1000).for_each(|parent| plans.add(&line(1, parent, 5, 5)));
        let (plans, left_out) = plans.finish();
        assert_eq!((plans.len(), left_out), (SHAPES, 1000 - SHAPES as u64));
    }

    #[test]
    fn lines_without_a_parent_or_in_disorder_hurt_nobody() {
        let mut plans = Plans::default();
        for line in [line(3, 2, 5, 5), line(2, 7, 9, 9), line(2, 2, 1, 1), line(1, 1, 4, 4)] {
            plans.add(&line);
        }
        let (plans, _) = plans.finish();
        assert_eq!(plans.len(), 4, "a number that does not rise begins another block");
        assert!(plans.iter().all(|plan| plan.lines[0].level == 0));
    }
}
