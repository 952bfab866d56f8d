//! Plans as they were executed: from lines in the order of the source to trees with their own figures.
//!
//! A line's figures include its children's; its own are what is left. Executions of the same shape are added up, so
//! that a statement has one plan a shape, however often it ran.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::event::{PlanFigures, PlanLine, StatementIndex, Ticks};
use crate::tables::{Plan, PlanRow};

/// Most shapes of one statement that are kept apart; a damaged source could have one a block. What comes later is
/// added to none, and counted.
const SHAPES: usize = 64;

/// Most lines of a block that are kept: no plan is longer.
const LINES: usize = 1 << 14;

/// Operations that are kept before those of no plan are forgotten: a temporary table of another name in every execution
/// gives each its own.
const OPERATIONS: usize = 1 << 15;

/// The block that is being read: the lines of one execution of one statement. A trace writes them in one go, so that
/// one block is open at a time, whatever the number of statements. Its room stays from block to block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    statement: StatementIndex,
    plan_hash: u64,
    rows: Vec<PlanRow>,
    /// How many lines of it were read; those behind are of the block before.
    lines: usize,
    /// Every operation that a plan has, once, with some that none has.
    operations: HashSet<Arc<str>, RandomState>,
    /// How many of them there may be before those that no plan has are forgotten.
    room: usize,
}

impl Block {
    /// Whether a line is not the next one of this block: it is another statement's, or its number does not rise.
    pub(crate) fn ends_before(&self, line: &PlanLine) -> bool {
        let is_next = self.read().last().is_none_or(|last| line.id > last.id);
        line.statement != self.statement || line.id <= 1 || !is_next || self.lines >= LINES
    }

    /// Takes the next line.
    pub(crate) fn add(&mut self, line: &PlanLine) {
        if self.lines == 0 {
            self.statement = line.statement;
            self.plan_hash = line.plan_hash;
        }
        if self.lines == self.rows.len() {
            self.rows.push(PlanRow::default());
        }
        let row = &mut self.rows[self.lines];
        self.lines += 1;
        if *row.operation != *line.operation {
            if self.operations.len() >= self.room {
                self.operations.retain(|operation| Arc::strong_count(operation) > 1);
                self.room = OPERATIONS.max(2 * self.operations.len());
            }
            row.operation = kept(&mut self.operations, &line.operation);
        }
        row.id = line.id;
        row.parent = line.parent;
        row.object = line.object;
        row.rows = line.rows;
        row.estimated = line.estimated;
        row.starts = line.starts;
        row.inclusive = line.figures;
    }

    /// Whose lines it holds; `None` where it holds none.
    pub(crate) fn statement(&self) -> Option<StatementIndex> {
        (self.lines > 0).then_some(self.statement)
    }

    /// The lines that were read.
    fn read(&self) -> &[PlanRow] {
        &self.rows[..self.lines]
    }
}

/// The one copy of an operation.
fn kept(operations: &mut HashSet<Arc<str>, RandomState>, operation: &str) -> Arc<str> {
    if let Some(known) = operations.get(operation) {
        return known.clone();
    }
    let operation: Arc<str> = operation.into();
    operations.insert(operation.clone());
    operation
}

/// The plans of one statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plans {
    plans: Vec<Plan>,
    left_out: u64,
}

impl Plans {
    /// Ends the block: adds it to the plan of its shape.
    pub(crate) fn close(&mut self, block: &mut Block) {
        let (plan_hash, read) = (block.plan_hash, block.read());
        match self.plans.iter().position(|plan| is_same_shape(plan, plan_hash, read)) {
            Some(place) => merge(&mut self.plans[place], read),
            None if self.plans.len() < SHAPES => {
                // Most statements have one plan.
                self.plans.reserve_exact(1);
                self.plans.push(Plan { plan_hash, blocks: 1, lines: read.to_vec() });
            }
            None => self.left_out += 1,
        }
        block.lines = 0;
    }

    /// The plans, with the levels of their lines, and how many blocks were left out.
    pub(crate) fn finish(mut self) -> (Vec<Plan>, u64) {
        self.plans.iter_mut().for_each(find_levels);
        (self.plans, self.left_out)
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
        row.estimated = row.estimated.zip(more.estimated).map(|(one, other)| one.saturating_add(other));
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

/// Where the parent of each line stands. The numbers of a block's lines rise, and a parent stands before its children;
/// a line whose parent is missing counts as a root.
fn parents(lines: &[PlanRow]) -> impl Iterator<Item = Option<usize>> + '_ {
    let number = |row: &PlanRow| row.id;
    lines.iter().enumerate().map(move |(place, row)| lines[..place].binary_search_by_key(&row.parent, number).ok())
}

fn find_levels(plan: &mut Plan) {
    let parents: Vec<Option<usize>> = parents(&plan.lines).collect();
    for (place, parent) in parents.into_iter().enumerate() {
        plan.lines[place].level = parent.map_or(0, |parent| plan.lines[parent].level + 1);
    }
}

/// Part of a plan's time by which a line may exceed the line above it: clocks move in steps.
const EXCESS: f64 = 0.02;

impl Plan {
    /// Whether no line takes much longer than the line above it: then the times of its lines mean something.
    pub fn has_sound_times(&self) -> bool {
        let times = || self.lines.iter().filter_map(|row| row.inclusive).map(|figures| figures.time);
        let most = times().max().unwrap_or_default();
        self.own().iter().flatten().all(|own| own.time.0 as f64 >= -EXCESS * most.0 as f64)
    }

    /// The figures of each line without its children's. Below zero where a child reports more than its parent; `None`
    /// where the source has none.
    pub fn own(&self) -> Vec<Option<PlanFigures>> {
        let mut own: Vec<Option<PlanFigures>> = self.lines.iter().map(|row| row.inclusive).collect();
        for (row, parent) in self.lines.iter().zip(parents(&self.lines)) {
            if let Some(parent) = parent {
                own[parent] = own[parent].map(|own| row.inclusive.map_or(own, |child| plus(own, child, -1)));
            }
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: u32, parent: u32, micros: i64, gets: i64) -> PlanLine {
        PlanLine {
            statement: StatementIndex(0),
            plan_hash: 9,
            id,
            parent,
            operation: format!("STEP {id}"),
            object: 0,
            rows: 10,
            estimated: None,
            starts: None,
            figures: Some(PlanFigures { gets, time: Ticks::from_micros(micros), ..PlanFigures::default() }),
        }
    }

    /// Reads lines as they come.
    fn read(lines: impl IntoIterator<Item = PlanLine>) -> (Vec<Plan>, u64) {
        let (mut block, mut plans) = (Block::default(), Plans::default());
        for line in lines {
            if block.statement().is_some() && block.ends_before(&line) {
                plans.close(&mut block);
            }
            block.add(&line);
        }
        plans.close(&mut block);
        plans.finish()
    }

    #[test]
    fn own_time_is_what_the_children_leave() {
        let lines = || [line(1, 0, 100, 50), line(2, 1, 60, 30), line(3, 2, 25, 10), line(4, 1, 30, 20)];
        let (plans, _) = read(lines().into_iter().chain(lines()));
        assert_eq!((plans.len(), plans[0].blocks), (1, 2));
        let own: Vec<_> = plans[0].own().iter().map(|own| own.map(|own| (own.time.micros(), own.gets))).collect();
        assert_eq!(own, [Some((20.0, 0)), Some((70.0, 40)), Some((50.0, 20)), Some((60.0, 40))]);
        assert_eq!(plans[0].lines.iter().map(|row| row.level).collect::<Vec<_>>(), [0, 1, 2, 1]);
        assert_eq!(plans[0].lines[0].rows, 20);
    }

    #[test]
    fn times_of_lines_that_exceed_the_line_above_are_not_sound() {
        let plans = |child: i64| read([line(1, 0, 100, 50), line(2, 1, child, 30)]).0;
        assert!(plans(60)[0].has_sound_times() && plans(101)[0].has_sound_times());
        assert!(!plans(9900)[0].has_sound_times());
    }

    #[test]
    fn a_new_shape_in_every_block_fills_no_memory() {
        let (plans, left_out) = read((0..1000).map(|parent| line(1, parent, 5, 5)));
        assert_eq!((plans.len(), left_out), (SHAPES, 1000 - SHAPES as u64));
    }

    #[test]
    fn operations_of_plans_that_are_left_out_fill_no_memory() {
        let (mut block, mut plans) = (Block::default(), Plans::default());
        for number in 0..3 * OPERATIONS {
            block.add(&PlanLine { operation: format!("Seq Scan on temporary_{number}"), ..line(1, 0, 5, 5) });
            plans.close(&mut block);
        }
        assert!(block.operations.len() <= OPERATIONS, "{} are kept", block.operations.len());
        let (plans, left_out) = plans.finish();
        assert_eq!((plans.len(), left_out), (SHAPES, (3 * OPERATIONS - SHAPES) as u64));
        let known = |plan: &Plan| block.operations.contains(&plan.lines[0].operation);
        assert!(plans.iter().all(known), "those of the plans still are");
    }

    #[test]
    fn lines_without_a_parent_or_in_disorder_do_no_harm() {
        let (plans, _) = read([line(3, 2, 5, 5), line(2, 7, 9, 9), line(2, 2, 1, 1), line(1, 1, 4, 4)]);
        assert_eq!(plans.len(), 4, "a number that does not rise begins another block");
        assert!(plans.iter().all(|plan| plan.lines[0].level == 0));
    }
}
