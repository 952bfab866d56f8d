//! What each node of an executed plan did itself: its figures less those of what ran inside it.
//!
//! A node's time is a mean of its loops, rounded to a microsecond, so a total is off by up to half a microsecond a
//! loop. Below a Gather the loops of several processes are added up: their time is divided by the number of processes
//! and so is the mean of what ran side by side, an approximation. Blocks and times of I/O are sums over processes.
//!
//! Every node's total is subtracted exactly once, from whom it ran inside: the node that it hangs on, or, for a common
//! table expression, the scans that made it run. So own figures add up to those of the root, whatever the tree.
//! A subquery that is listed on one node and ran inside another leaves the first with too little and the other with
//! too much; own values below zero tell of it, and they stay.

use std::collections::HashMap;

use super::plan::{Blocks, IoTimes, Node, Relationship};
use crate::event::Ticks;

/// Scans of one common table expression among which its figures are divided; plans have one or two.
const SCANS_MAX: usize = 64;

/// Figures of a node that can be added and subtracted; time is elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Elapsed time.
    pub time: Ticks,
    /// Blocks of all processes.
    pub blocks: Blocks,
    /// Times of I/O, of all processes.
    pub io: IoTimes,
}

/// What is known of a node when its children are taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeFigures {
    /// Without what ran inside it.
    pub own: Figures,
    /// Its own figures and those of all nodes that hang on it, so that a parent's are its own plus its children's. A
    /// common table expression counts where it hangs and not in the scans of it.
    pub inclusive: Figures,
    /// Processes that its time was divided by; above 1 it is a mean.
    pub processes: u64,
}

impl Figures {
    fn of(node: &Node, processes: u64) -> Figures {
        let loop_time = i128::from(node.loop_time.unwrap_or_default().0);
        let total = loop_time * i128::from(node.loops) / i128::from(processes.max(1));
        // Only plans that are refused anyway reach this bound.
        let time = total.min(i128::from(i64::MAX >> 2)) as i64;
        Figures { time: Ticks(time), blocks: node.blocks, io: node.io.unwrap_or_default() }
    }

    fn add(&mut self, other: &Figures, factor: i64) {
        let mut other = *other;
        let sums = self.counters().into_iter().zip(other.counters());
        sums.for_each(|(sum, more)| *sum = sum.saturating_add(more.saturating_mul(factor)));
    }

    /// Adds the amount of each figure of `other`, whatever its sign; whether all sums are still below `limit`.
    pub(super) fn add_amounts(&mut self, other: &mut Figures, limit: i64) -> bool {
        let (mut sums, amounts) = (self.counters(), other.counters());
        sums.iter_mut().zip(amounts).for_each(|(sum, amount)| **sum = sum.saturating_add(amount.saturating_abs()));
        sums.iter().all(|sum| **sum < limit)
    }

    /// Takes as much of `other` as it has itself, figure by figure, from both.
    fn share(&mut self, other: &mut Figures) {
        let mut mine = self.counters();
        let mut theirs = other.counters();
        for (mine, theirs) in mine.iter_mut().zip(&mut theirs) {
            let common = (**mine).min(**theirs).max(0);
            **mine -= common;
            **theirs -= common;
        }
    }

    fn counters(&mut self) -> [&mut i64; 10] {
        let Figures { time, blocks, io } = self;
        [
            &mut time.0,
            &mut blocks.hit,
            &mut blocks.read,
            &mut blocks.written,
            &mut blocks.temporary_read,
            &mut blocks.temporary_written,
            &mut io.read.0,
            &mut io.write.0,
            &mut io.temporary_read.0,
            &mut io.temporary_write.0,
        ]
    }
}

/// The figures of each node of a plan, in the order of the nodes. Parents must stand before their children, as they do
/// in a document.
pub fn figures(nodes: &[Node]) -> Vec<NodeFigures> {
    let processes = processes(nodes);
    let totals: Vec<Figures> =
        nodes.iter().zip(&processes).map(|(node, processes)| Figures::of(node, *processes)).collect();
    let mut own = totals.clone();
    for (node, total) in nodes.iter().zip(&totals) {
        if let (Some(parent), true) = (node.parent, node.relationship != Relationship::CommonTable) {
            own[parent].add(total, -1);
        }
    }
    charge_common_tables(nodes, &totals, &mut own);
    let mut inclusive = own.clone();
    for index in (0..nodes.len()).rev() {
        if let Some(parent) = nodes[index].parent {
            let total = inclusive[index];
            inclusive[parent].add(&total, 1);
        }
    }
    let both = own.into_iter().zip(inclusive).zip(processes);
    both.map(|((own, inclusive), processes)| NodeFigures { own, inclusive, processes }).collect()
}

/// In how many processes each node ran side by side: below a Gather as many as took part, elsewhere 1.
fn processes(nodes: &[Node]) -> Vec<u64> {
    let mut found: Vec<u64> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(parent) = node.parent else {
            found.push(1);
            continue;
        };
        let above = &nodes[parent];
        let is_gathered = node.relationship == Relationship::Input;
        found.push(match above.workers_launched {
            Some(launched) if is_gathered => {
                // The leader takes part or not, which only the loops tell; a Gather may itself run several times.
                let shares = node.loops.div_ceil(above.loops.max(1));
                shares.clamp(1, launched.saturating_add(1))
            }
            _ => found[parent],
        });
    }
    found
}

/// Takes a common table expression's figures off the scans that made it run, in their order; what they do not have is
/// taken off the node that it hangs on.
fn charge_common_tables(nodes: &[Node], totals: &[Figures], own: &mut [Figures]) {
    let mut scans: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.scans_common_table) {
        scans.entry(&node.common_table).or_default().push(index);
    }
    for (index, node) in nodes.iter().enumerate() {
        let (Relationship::CommonTable, Some(parent)) = (node.relationship, node.parent) else { continue };
        let mut rest = totals[index];
        let scans = scans.get(node.common_table.as_str()).map(Vec::as_slice).unwrap_or_default();
        // Names may repeat in subqueries: the scans of this one stand behind it.
        let first = scans.partition_point(|scan| *scan <= index);
        for scan in scans[first..].iter().take(SCANS_MAX) {
            own[*scan].share(&mut rest);
        }
        own[parent].add(&rest, -1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::postgres_log::plan::read_plan;

    /// A plan from (depth, keys) rows.
    fn plan(rows: &[(usize, &str)]) -> Vec<Node> {
        let mut text = String::from("{\"Plan\": ");
        let mut depth = 0;
        for (index, (level, keys)) in rows.iter().enumerate() {
            if index > 0 {
                if *level > depth {
                    text.push_str(", \"Plans\": [");
                } else {
                    text.push_str(&"}]".repeat(depth - level));
                    text.push_str("}, ");
                }
            }
            text.push('{');
            text.push_str(keys);
            depth = *level;
        }
        text.push_str(&"}]".repeat(depth));
        text.push_str("}}");
        read_plan(text.as_bytes()).unwrap().nodes
    }

    fn own_micros(nodes: &[Node]) -> Vec<i64> {
        figures(nodes).iter().map(|node| node.own.time.0 / Ticks::PER_MICROSECOND).collect()
    }

    #[test]
    fn a_loop_s_mean_is_multiplied_before_it_is_taken_off() {
        let nodes = plan(&[
            (0, r#""Node Type": "Nested Loop", "Actual Total Time": 10.000, "Actual Loops": 1"#),
            (1, r#""Node Type": "Seq Scan", "Actual Total Time": 2.500, "Actual Loops": 1, "Shared Hit Blocks": 5"#),
            (1, r#""Node Type": "Index Scan", "Actual Total Time": 0.050, "Actual Loops": 100"#),
        ]);
        assert_eq!(own_micros(&nodes), [2500, 2500, 5000]);
    }

    #[test]
    fn the_time_of_processes_side_by_side_is_not_added_up() {
        let nodes = plan(&[
            (0, r#""Node Type": "Gather", "Actual Total Time": 12.000, "Actual Loops": 1, "Workers Launched": 2"#),
            (1, r#""Node Type": "Hash Join", "Actual Total Time": 9.000, "Actual Loops": 3"#),
            (2, r#""Node Type": "Seq Scan", "Actual Total Time": 6.000, "Actual Loops": 3"#),
            (2, r#""Node Type": "Index Scan", "Actual Total Time": 0.010, "Actual Loops": 300"#),
        ]);
        assert_eq!(own_micros(&nodes), [3000, 2000, 6000, 1000]);
        assert_eq!(figures(&nodes).iter().map(|node| node.processes).collect::<Vec<_>>(), [1, 3, 3, 3]);
    }

    #[test]
    fn a_leader_that_does_not_take_part_is_not_counted_as_a_process() {
        let nodes = plan(&[
            (0, r#""Node Type": "Gather", "Actual Total Time": 10.000, "Actual Loops": 2, "Workers Launched": 2"#),
            (1, r#""Node Type": "Seq Scan", "Actual Total Time": 8.000, "Actual Loops": 4"#),
        ]);
        // Two executions of 10 ms, in each of which two workers scan for 8 ms side by side.
        assert_eq!(own_micros(&nodes), [4000, 16_000]);
    }

    #[test]
    fn a_common_table_expression_is_taken_off_the_scan_that_ran_it() {
        let nodes = plan(&[
            (
                0,
                r#""Node Type": "Aggregate", "Actual Total Time": 100.000, "Actual Loops": 1,
                 "Shared Read Blocks": 7"#,
            ),
            (
                1,
                r#""Node Type": "Seq Scan", "Parent Relationship": "InitPlan", "Subplan Name": "CTE x",
                 "Actual Total Time": 60.000, "Actual Loops": 1, "Shared Read Blocks": 7"#,
            ),
            (
                1,
                r#""Node Type": "Sort", "Parent Relationship": "Outer", "Actual Total Time": 95.000, "Actual Loops": 1,
                 "Shared Read Blocks": 7"#,
            ),
            (
                2,
                r#""Node Type": "CTE Scan", "CTE Name": "x", "Alias": "x", "Actual Total Time": 90.000,
                 "Actual Loops": 1, "Shared Read Blocks": 7"#,
            ),
        ]);
        let figures = figures(&nodes);
        assert_eq!(own_micros(&nodes), [5000, 60_000, 5000, 30_000]);
        assert_eq!(figures.iter().map(|node| node.own.blocks.read).collect::<Vec<_>>(), [0, 7, 0, 0]);
        assert_eq!(figures[0].inclusive.time, Ticks::from_micros(100_000));
        assert_eq!(figures[2].inclusive.time, Ticks::from_micros(35_000));
    }

    #[test]
    fn own_figures_add_up_to_the_root_s_whatever_the_tree() {
        let mut random = measure::random::SplitMix64::new(7);
        for _ in 0..500 {
            let count = 1 + random.below(40) as usize;
            let nodes: Vec<Node> = (0..count)
                .map(|index| Node {
                    parent: (index > 0).then(|| random.below(index as u64) as usize),
                    relationship: [Relationship::Input, Relationship::CommonTable, Relationship::Subquery]
                        [random.below(3) as usize],
                    common_table: ["a", "b"][random.below(2) as usize].into(),
                    scans_common_table: random.below(3) == 0,
                    loop_time: Some(Ticks::from_micros(random.below(1000) as i64)),
                    loops: random.below(9),
                    workers_launched: (random.below(5) == 0).then(|| random.below(4)),
                    blocks: Blocks { hit: random.below(99) as i64, read: random.below(9) as i64, ..Blocks::default() },
                    ..Node::default()
                })
                .collect();
            let figures = figures(&nodes);
            let mut sum = Figures::default();
            figures.iter().for_each(|node| sum.add(&node.own, 1));
            assert_eq!(sum, Figures::of(&nodes[0], 1));
            assert_eq!(sum, figures[0].inclusive);
        }
    }
}
