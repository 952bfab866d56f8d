//! An executed plan as PostgreSQL writes it in JSON: its nodes in order, with the figures of each.
//!
//! Keys are those of 13 to 19. Keys that are not known are passed over.

use super::json::{Fault, Object};
use super::number::{micros_of_millis, thousandths};
use crate::event::Ticks;

/// Nodes of one plan that are read; more is damage, because a message has room for hardly more.
const NODES_MAX: usize = 1_000_000;

/// Levels of nodes that are read. PostgreSQL indents a level by four more blanks, so that a message of 32 MiB has room
/// for some 750; each level reads what is below it once more.
const LEVELS_MAX: usize = 1000;

/// The keys of [`Blocks`], in their order.
const BLOCKS: [&[&str]; 5] = [
    &["Shared Hit Blocks", "Local Hit Blocks"],
    &["Shared Read Blocks", "Local Read Blocks"],
    &["Shared Written Blocks", "Local Written Blocks"],
    &["Temp Read Blocks"],
    &["Temp Written Blocks"],
];

/// The keys of [`IoTimes`], in their order: without the kind of block up to 16, with it from 17 on; those of temporary
/// files from 15 on.
const IO_TIMES: [&[&str]; 4] = [
    &["I/O Read Time", "Shared I/O Read Time", "Local I/O Read Time"],
    &["I/O Write Time", "Shared I/O Write Time", "Local I/O Write Time"],
    &["Temp I/O Read Time"],
    &["Temp I/O Write Time"],
];

/// What one message says: a query and the plan that it was executed by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanDocument {
    /// The query.
    pub query: String,
    /// The query's identifier where it was computed.
    pub query_id: Option<i64>,
    /// `Execution Time` of an EXPLAIN; a log says the duration in front of the plan.
    pub execution_time: Option<Ticks>,
    /// Nodes in the order of the document: a parent stands before its children.
    pub nodes: Vec<Node>,
    /// The text behind the plan, which is not read.
    pub behind: String,
}

/// How a node hangs on its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relationship {
    /// It feeds its parent's rows.
    #[default]
    Input,
    /// A common table expression: it runs within the scans of it, wherever they stand.
    CommonTable,
    /// Another subquery: it runs within the node it hangs on.
    Subquery,
}

/// A node of a plan. Figures include the children and are totals over all loops and processes but where said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Index of the parent.
    pub parent: Option<usize>,
    /// How it hangs on it.
    pub relationship: Relationship,
    /// Name of the common table expression that it is (a subquery) or scans.
    pub common_table: String,
    /// Whether it is a scan of that one.
    pub scans_common_table: bool,
    /// Whether it reads a table from one end to the other.
    pub reads_in_order: bool,
    /// What it does, with the objects, such as `Index Scan using orders_pkey on orders`.
    pub operation: String,
    /// Whether it was executed with its figures taken; else it has no figures at all.
    pub is_measured: bool,
    /// Mean elapsed time of a loop; `None` where timing was off.
    pub loop_time: Option<Ticks>,
    /// Loops of all processes together; 0 for a node that was never executed.
    pub loops: u64,
    /// Rows of all loops together, as far as a mean of three digits allows.
    pub rows: u64,
    /// Rows that the planner expected of a loop.
    pub expected_rows: Option<u64>,
    /// Processes that were started for the part below it (Gather nodes).
    pub workers_launched: Option<u64>,
    /// Blocks, where they were counted.
    pub blocks: Blocks,
    /// Whether they were.
    pub has_blocks: bool,
    /// Times of reading and writing, where they were taken.
    pub io: Option<IoTimes>,
}

/// Blocks by what was done with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Found in the buffers.
    pub hit: i64,
    /// Read into the buffers.
    pub read: i64,
    /// Written by this query itself.
    pub written: i64,
    /// Read from temporary files.
    pub temporary_read: i64,
    /// Written to temporary files.
    pub temporary_written: i64,
}

/// Times of reading and writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoTimes {
    /// Reading data blocks.
    pub read: Ticks,
    /// Writing data blocks.
    pub write: Ticks,
    /// Reading temporary files.
    pub temporary_read: Ticks,
    /// Writing temporary files.
    pub temporary_write: Ticks,
}

impl Blocks {
    /// Blocks got: found in the buffers or read into them.
    pub fn gets(&self) -> i64 {
        self.hit.saturating_add(self.read)
    }
}

/// Reads a plan document: an object with a `Plan`, or an array of one such object, as EXPLAIN prints it.
///
/// # Errors
/// Where the text is cut, is no JSON, or has more levels or nodes than are read.
pub fn read_plan(text: &[u8]) -> Result<PlanDocument, Fault> {
    // Logs mix the encodings of their databases.
    let text = String::from_utf8_lossy(text);
    let text = text.trim_start();
    let in_array = text.strip_prefix('[');
    let (keys, behind) = Object::read(in_array.unwrap_or(text))?;
    // What follows the object in an array is another statement's plan, which EXPLAIN never prints.
    let behind = behind.trim();
    let behind = in_array.and_then(|_| behind.strip_prefix(']')).unwrap_or(behind);
    Ok(PlanDocument {
        query: keys.text("Query Text")?,
        query_id: keys.number("Query Identifier", |text| text.parse().ok())?,
        execution_time: keys.number("Execution Time", micros_of_millis)?.map(Ticks::from_micros),
        nodes: nodes(keys.value("Plan").ok_or(Fault::Malformed)?)?,
        behind: behind.trim_start().to_string(),
    })
}

/// The nodes of a tree, without recursion: a stack of those that are still to be read.
fn nodes(plan: &str) -> Result<Vec<Node>, Fault> {
    let mut found: Vec<Node> = Vec::new();
    let mut open: Vec<(Option<usize>, usize, &str)> = vec![(None, 0, plan)];
    while let Some((parent, level, text)) = open.pop() {
        if found.len() >= NODES_MAX || level >= LEVELS_MAX {
            return Err(Fault::TooDeep);
        }
        let (keys, _) = Object::read(text)?;
        let children = keys.elements("Plans")?.into_iter().rev();
        open.extend(children.map(|child| (Some(found.len()), level + 1, child.get())));
        found.push(node(&keys, parent)?);
    }
    Ok(found)
}

fn node(keys: &Object<'_>, parent: Option<usize>) -> Result<Node, Fault> {
    let node_type = keys.text("Node Type")?;
    let subplan = keys.text("Subplan Name")?;
    let is_subquery = matches!(&*keys.text("Parent Relationship")?, "InitPlan" | "SubPlan");
    let (relationship, common_table) = match subplan.strip_prefix("CTE ").filter(|_| is_subquery) {
        Some(name) => (Relationship::CommonTable, name.into()),
        None if is_subquery => (Relationship::Subquery, keys.text("CTE Name")?),
        None => (Relationship::Input, keys.text("CTE Name")?),
    };
    let loops = keys.number("Actual Loops", count)?;
    let rows_of_loop = keys.number("Actual Rows", thousandths)?.unwrap_or(0);
    let rows = u128::from(rows_of_loop) * u128::from(loops.unwrap_or(0).unsigned_abs()) + 500;
    let blocks = keys.sums(BLOCKS, count)?;
    let [hit, read, written, temporary_read, temporary_written] = blocks.map(Option::unwrap_or_default);
    let times = keys.sums(IO_TIMES, micros_of_millis)?;
    let io = times.map(|micros| Ticks::from_micros(micros.unwrap_or(0)));
    Ok(Node {
        parent,
        relationship,
        scans_common_table: node_type == "CTE Scan",
        reads_in_order: matches!(&*node_type, "Seq Scan" | "Sample Scan" | "Tid Range Scan"),
        operation: operation(keys, &node_type, &subplan)?,
        common_table,
        is_measured: loops.is_some(),
        loop_time: keys.number("Actual Total Time", micros_of_millis)?.map(Ticks::from_micros),
        loops: loops.unwrap_or(0).unsigned_abs(),
        rows: u64::try_from(rows / 1000).unwrap_or(u64::MAX),
        // An estimate is no counter: that of a cross join may have more digits than there is room for.
        expected_rows: keys.number("Plan Rows", |text| Some(text.parse::<u64>().ok()))?.flatten(),
        workers_launched: keys.number("Workers Launched", count)?.map(i64::unsigned_abs),
        blocks: Blocks { hit, read, written, temporary_read, temporary_written },
        has_blocks: blocks.iter().any(Option::is_some),
        io: times.iter().any(Option::is_some).then_some(IoTimes {
            read: io[0],
            write: io[1],
            temporary_read: io[2],
            temporary_write: io[3],
        }),
    })
}

/// The operation in the words of EXPLAIN's text form.
fn operation(keys: &Object<'_>, node_type: &str, subplan: &str) -> Result<String, Fault> {
    let mut words = String::new();
    if !subplan.is_empty() {
        words = format!("{subplan}: ");
    }
    let partial_mode = keys.text("Partial Mode")?;
    if matches!(&*partial_mode, "Partial" | "Finalize") {
        words += &format!("{partial_mode} ");
    }
    if keys.value("Parallel Aware") == Some("true") {
        words += "Parallel ";
    }
    let command = keys.text("Operation")?;
    words += match node_type {
        "" => "unnamed node",
        "ModifyTable" if !command.is_empty() => &command,
        other => other,
    };
    for (before, key) in [(" using ", "Index Name"), (" by ", "Custom Plan Provider")] {
        let name = keys.text(key)?;
        if !name.is_empty() {
            words += &format!("{before}{name}");
        }
    }
    let relation = keys.text("Relation Name")? + &keys.text("Function Name")?;
    let schema = keys.text("Schema")?;
    let names = [relation.clone(), keys.text("Alias")?, keys.text("CTE Name")?];
    if let Some(object) = names.iter().find(|name| !name.is_empty()) {
        let is_qualified = !schema.is_empty() && !relation.is_empty();
        words += &if is_qualified { format!(" on {schema}.{object}") } else { format!(" on {object}") };
    }
    Ok(words)
}

/// A count; a number that no counter can have reached is none.
fn count(text: &str) -> Option<i64> {
    text.parse().ok().filter(|count| (0..=i64::MAX >> 20).contains(count))
}
