//! What stands in the way of a faster plan that no constants lead to, and what would help: row estimates that are off,
//! how the rows lie, and what is read ahead, as far as the plans that were run show it.

use subjects::postgres::calibration::{Node, Plan};

/// Row estimates that are off by this many times are the reason; of fewer rows than these, none is.
const OFF: f64 = 10.0;
const ROWS_MIN: f64 = 100.0;

/// From this many blocks a row on, rows lie scattered over the table: one that lies in the order of the index has its
/// block in common with tens of others.
const BLOCKS_SCATTERED: f64 = 0.5;

/// What stands in the way of the faster plan, and what would help. Both plans were run.
pub(super) fn advice(now: &Plan, fast: &Plan) -> String {
    if let Some((step, off)) = worst_estimate(now) {
        return format!(
            "the row estimate of {step} is off by a factor of {}: ANALYZE, CREATE STATISTICS over columns that depend \
             on each other, CREATE STATISTICS name ON (expression) FROM table for an expression (PostgreSQL 14 and \
             later), or a condition that the planner can estimate",
            off.round()
        );
    }
    let has = |plan: &Plan, kind: &str| plan.top.find(kind).is_some();
    let reads = now.top.buffers.is_some_and(|buffers| buffers.reads > buffers.hits / 10);
    if reads && has(fast, "Bitmap Heap Scan") {
        return "a bitmap scan prefetches its blocks, which no cost constant reflects: raise effective_io_concurrency"
            .into();
    }
    if has(now, "Index Scan") || has(fast, "Index Scan") || has(fast, "Bitmap Heap Scan") {
        return lying(blocks_a_row(fast).or_else(|| blocks_a_row(now)));
    }
    "the row estimates are right and the costs are wrong: no advice".into()
}

/// How the rows that a scan finds lie in the table, by the blocks that it asked for a row, and what would help.
fn lying(found: Option<(String, f64)>) -> String {
    let Some((step, blocks)) = found else {
        return "the rows may lie in a different order from the one that the planner assumes for the whole table, which \
                no step shows here: CLUSTER, an index that holds all columns of the query, or a larger statistics \
                target may help"
            .into();
    };
    let blocks_shown = format!("{blocks:.2}");
    if blocks >= BLOCKS_SCATTERED {
        return format!(
            "the rows of {step} lie scattered, {blocks_shown} blocks a row: CLUSTER, or an index that holds all \
             columns of the query"
        );
    }
    format!(
        "the rows of {step} lie together, {blocks_shown} blocks a row, which the planner may not assume: CLUSTER, or a \
         larger statistics target"
    )
}

/// The first scan of a plan that fetches rows through an index, and how many blocks it asked for a row. With few rows a
/// loop, these would be the blocks of the index.
fn blocks_a_row(plan: &Plan) -> Option<(String, f64)> {
    plan.top.steps().into_iter().find_map(|step| {
        let is_it = step.kind == "Index Scan" || step.kind == "Bitmap Heap Scan";
        let rows = step.rows.filter(|rows| is_it && *rows >= ROWS_MIN)?;
        let of = |step: &Node| step.buffers.map_or(0, |buffers| buffers.gets());
        let blocks = step.buffers?.gets().saturating_sub(step.children.iter().map(of).sum());
        Some((step.described(), blocks as f64 / (rows * step.loops.unwrap_or(1.0)).max(1.0)))
    })
}

/// The lowest step that ran to its end and whose rows are off, and how many times; `None` where all are near.
pub(super) fn worst_estimate(plan: &Plan) -> Option<(String, f64)> {
    let mut steps = Vec::new();
    finished(&plan.top, false, &mut steps);
    let off = steps.into_iter().rev().filter_map(|step| {
        let (planned, rows) = (step.planned_rows?, step.rows?);
        let loops = step.loops.unwrap_or(1.0);
        let (more, less) = (planned.max(rows), planned.min(rows).max(1.0));
        (more * loops >= ROWS_MIN && more / less >= OFF).then(|| (step.described(), more / less))
    });
    off.into_iter().next()
}

/// Adds the steps from here downwards that were asked for all of their rows, each before those below it: of others the
/// planner expects all, and EXPLAIN counts those that were asked for.
fn finished<'a>(step: &'a Node, is_ended: bool, found: &mut Vec<&'a Node>) {
    // EXISTS asks for one row.
    let is_ended = is_ended || step.manner.iter().any(|word| word.starts_with("SubPlan") || word == "InitPlan");
    // These report no rows.
    let is_counted = !["BitmapAnd", "BitmapOr"].contains(&step.kind.as_str());
    if !is_ended && is_counted {
        found.push(step);
    }
    let is_ended = is_ended && !takes_all(step);
    for (place, child) in step.children.iter().enumerate() {
        finished(child, is_ended || ends_early(step, place), found);
    }
}

/// Whether a step may stop before the last row of the one at this place below it.
fn ends_early(step: &Node, place: usize) -> bool {
    let has_manner = |words: [&str; 2]| step.manner.iter().any(|word| words.iter().any(|end| word.ends_with(end)));
    match step.kind.as_str() {
        // A merge ends with the shorter side, and repeats rows of the inner one.
        "Limit" | "Merge Join" => true,
        // It asks the inner side for one row.
        "Nested Loop" => place > 0 && has_manner(["Semi", "Anti"]),
        // Without a row to find, the other side is not read.
        "Hash Join" => place == 0 && step.children.iter().any(|child| child.kind == "Hash" && child.rows == Some(0.0)),
        _ => false,
    }
}

/// Whether a step takes all rows of those below it before it gives its first.
fn takes_all(step: &Node) -> bool {
    match step.kind.as_str() {
        "Sort" | "Hash" | "Bitmap Heap Scan" | "BitmapAnd" | "BitmapOr" => true,
        "Aggregate" => !step.manner.iter().any(|word| word == "Sorted"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate::what_would_help;
    use measure::sorting;
    use subjects::postgres::calibration::Buffers;

    use super::*;

    /// A step over others, with the rows that were expected and those that it had.
    fn step(kind: &str, [planned, rows]: [f64; 2], children: Vec<Node>) -> Node {
        let (kind, manner) = kind.split_once(" (").unwrap_or((kind, ""));
        let manner = manner.trim_end_matches(')').split_whitespace().map(String::from).collect();
        let (planned_rows, rows, loops) = (Some(planned), Some(rows), Some(1.0));
        Node { kind: kind.into(), manner, planned_rows, rows, loops, children, ..Node::default() }
    }

    /// A step whose rows are a hundredth of what was expected.
    fn off() -> Vec<Node> {
        vec![step("Seq Scan", [1e4, 1e2], Vec::new())]
    }

    fn worst(top: Node) -> Option<(String, f64)> {
        worst_estimate(&Plan { top, ..Plan::default() })
    }

    #[test]
    fn the_lowest_step_that_is_off_by_ten_times_is_named() {
        let near = || step("Seq Scan", [1000.0, 150.0], Vec::new());
        assert_eq!(worst(near()), None);
        assert_eq!(worst(step("Seq Scan", [90.0, 1.0], Vec::new())), None, "few rows");
        assert_eq!(worst(off().remove(0)), Some(("Seq Scan".into(), 100.0)));
        let sort = step("Sort", [1e4, 1e2], vec![near()]);
        assert_eq!(worst(sort), Some(("Sort".into(), 100.0)));
        assert_eq!(worst(step("Sort", [1e4, 1e2], off())), Some(("Seq Scan".into(), 100.0)));
    }

    #[test]
    fn a_step_that_was_not_asked_for_all_of_its_rows_is_not_taken_for_a_wrong_estimate() {
        let near = || step("Seq Scan", [1e2, 1e2], Vec::new());
        let loops = |kind: &str| step(kind, [1e2, 1e2], vec![near(), off().remove(0)]);
        let join = |kind: &str| vec![step(kind, [1e4, 1e2], off())];
        for top in [
            step("Limit", [1e2, 1e2], off()),
            step("Limit", [1e2, 1e2], join("Hash Join")),
            step("Limit", [1e2, 1e2], vec![step("Aggregate (Sorted)", [1e4, 1e2], off())]),
            step("Merge Join", [1e2, 1e2], off()),
            loops("Nested Loop (Semi)"),
            loops("Nested Loop (Anti)"),
            step("Result", [1e2, 1e2], vec![step("Seq Scan (SubPlan 1)", [1e4, 1.0], Vec::new())]),
            step("Hash Join", [1e2, 1e2], vec![off().remove(0), step("Hash", [1.0, 0.0], Vec::new())]),
            step("Bitmap Heap Scan", [1e3, 1e3], vec![step("BitmapAnd", [1e3, 0.0], Vec::new())]),
        ] {
            assert_eq!(worst(top.clone()), None, "{}", top.outline());
        }
        for top in [
            loops("Nested Loop"),
            loops("Hash Join (Semi)"),
            step("Nested Loop (Semi)", [1e2, 1e2], vec![off().remove(0), near()]),
            step("Limit", [1e2, 1e2], vec![step("Sort", [1e4, 1e2], off())]),
            step("Limit", [1e2, 1e2], vec![step("Aggregate (Hashed)", [1e4, 1e2], off())]),
            step("Merge Join", [1e2, 1e2], vec![step("Sort", [1e4, 1e2], off())]),
        ] {
            assert_eq!(worst(top.clone()), Some(("Seq Scan".into(), 100.0)), "{}", top.outline());
        }
    }

    /// A plan of one step that found a thousand rows in these blocks.
    fn scan(kind: &str, blocks: u64) -> Plan {
        let mut top = step(kind, [1e3, 1e3], Vec::new());
        top.buffers = Some(Buffers { hits: blocks, ..Buffers::default() });
        Plan { top, ..Plan::default() }
    }

    #[test]
    fn how_rows_lie_is_said_by_the_blocks_that_were_counted_and_else_as_what_may_be() {
        let full = scan("Seq Scan", 500);
        let together = advice(&full, &scan("Index Scan", 20));
        assert!(together.contains("Index Scan lie together, 0.02 blocks a row"), "{together}");
        let scattered = advice(&scan("Index Scan", 950), &full);
        assert!(scattered.contains("Index Scan lie scattered, 0.95 blocks a row"), "{scattered}");
        let mut single = scan("Index Scan", 4000);
        (single.top.planned_rows, single.top.rows, single.top.loops) = (Some(1.0), Some(1.0), Some(1000.0));
        let unknown = advice(&single, &full);
        assert!(unknown.contains("may lie in a different order") && unknown.contains("no step shows"), "{unknown}");
    }

    #[test]
    fn each_reason_has_an_advice_of_its_own() {
        let full = scan("Seq Scan", 500);
        let wrong = Plan { top: off().remove(0), ..Plan::default() };
        let said = advice(&wrong, &full);
        assert!(said.contains("off by a factor of 100: ANALYZE"), "{said}");
        assert!(said.contains("ON (expression) FROM table for an expression (PostgreSQL 14 and later)"), "{said}");
        let mut reading = scan("Index Scan", 0);
        reading.top.buffers = Some(Buffers { reads: 900, ..Buffers::default() });
        assert!(advice(&reading, &scan("Bitmap Heap Scan", 10)).contains("effective_io_concurrency"));
        assert!(advice(&full, &scan("Seq Scan", 400)).contains("no advice"));
        // Behind the figures, by which a comparison knows the remedy of another run again.
        let bitmap = scan("Bitmap Heap Scan", 10);
        let all = [(&wrong, &full), (&reading, &bitmap), (&full, &scan("Seq Scan", 400)), (&full, &bitmap)];
        let found = all.map(|(now, fast)| advice(now, fast));
        let helps = sorting::set(found.iter().map(|one| what_would_help(one).to_string()));
        assert_eq!(helps.len(), all.len(), "{helps:?}");
        assert!(helps.contains("raise effective_io_concurrency") && helps.contains("no advice"), "{helps:?}");
    }
}
