//! The kinds of I/O that a plan tells apart, and the time and the blocks that an execution has of each. The events of
//! waits and the arrays of figures have the same order.

use crate::event::Ticks;
use crate::source::postgres_log::figures::NodeFigures;
use crate::source::postgres_log::plan::Node;

/// Kinds of I/O that a plan knows, by the names of PostgreSQL's own wait events. Reads of a scan from one end of a
/// table to the other are apart: the kernel or the server reads ahead of it, so that other practices make them fewer.
pub(super) const EVENTS: [&str; 5] =
    ["IO:DataFileRead", "IO:DataFileWrite", "IO:BuffileRead", "IO:BuffileWrite", "IO:DataFileRead (sequential scan)"];

/// Their places of the two kinds of reads.
pub(super) const READ: usize = 0;
pub(super) const SCAN: usize = 4;

/// Times of I/O of an execution by kind, and the blocks that they were spent on. Both are means of the processes that
/// waited side by side, so that the time of a block is what a process waited for one.
pub(super) fn io_of(nodes: &[Node], figures: &[NodeFigures]) -> ([Ticks; 5], [i64; 5]) {
    let (mut times, mut blocks) = ([0_i64; 5], [0_i64; 5]);
    for (node, figures) in nodes.iter().zip(figures) {
        let (io, own) = (figures.own.io, figures.own.blocks);
        let mut time = [io.read.0, io.write.0, io.temporary_read.0, io.temporary_write.0, 0];
        let mut block = [own.read, own.written, own.temporary_read, own.temporary_written, 0];
        if node.reads_in_order {
            time.swap(READ, SCAN);
            block.swap(READ, SCAN);
        }
        let processes = i64::try_from(figures.processes.max(1)).unwrap_or(i64::MAX);
        let add = |(sum, more): (&mut i64, i64)| *sum = sum.saturating_add(more / processes);
        times.iter_mut().zip(time).for_each(add);
        blocks.iter_mut().zip(block).for_each(add);
    }
    (times.map(Ticks), blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Accounted, Observer};
    use crate::observe::collector::{Collector, THINK_TIME};
    use crate::source::postgres_log::source::tests::samples::{FIGURES, entry, read};

    #[test]
    fn the_reads_of_an_execution_are_a_sum_of_its_blocks_by_kind_of_node() {
        let (kept, context, _) = read(&entry(500, 7, "4.250", "select 1", FIGURES));
        assert_eq!(context.event_name(kept.waits[0].event), "IO:DataFileRead (sequential scan)");
        assert_eq!(context.event(kept.waits[0].event).unwrap().class.key(), "multi-block-reads");
        assert_eq!(kept.waits[0].sum_of, Some(10));
        let indexed = entry(500, 7, "4.250", "select 1", FIGURES).replace("Seq Scan", "Index Scan");
        let (kept, context, _) = read(&indexed);
        assert_eq!(context.event_name(kept.waits[0].event), "IO:DataFileRead");
        let mut collector = Collector::new(THINK_TIME);
        kept.waits.iter().for_each(|wait| collector.wait(&context, wait));
        let accounted = Accounted { context, ..Accounted::default() };
        let sums = &collector.finish(accounted).whole.events[&kept.waits[0].event];
        assert_eq!((sums.count, sums.histogram.iter().count()), (10, 0), "blocks, and no length of any");
    }

    #[test]
    fn the_time_of_a_block_is_what_one_of_several_processes_waited_for_it() {
        let plan = "{\"Plan\": {\"Node Type\": \"Gather\", \"Actual Total Time\": 1100.0, \"Actual Rows\": 1, \
                    \"Actual Loops\": 1, \"Workers Launched\": 2, \"Shared Read Blocks\": 3000, \"I/O Read Time\": \
                    3000.000, \"Plans\": [{\"Node Type\": \"Seq Scan\", \"Actual Total Time\": 1050.0, \
                    \"Actual Rows\": 1, \"Actual Loops\": 3, \"Shared Read Blocks\": 3000, \"I/O Read Time\": \
                    3000.000}]}}";
        let (kept, _, _) = read(plan);
        let wait = &kept.waits[0];
        assert_eq!((wait.elapsed, wait.sum_of), (Ticks::from_micros(1_000_000), Some(1000)));
        assert_eq!((wait.parameters[0], kept.calls[0].own.physical_reads), (1000, 3000));
    }
}
