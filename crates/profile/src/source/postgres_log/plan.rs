//! An executed plan as PostgreSQL writes it in JSON: its nodes in order, with the figures of each.
//!
//! Keys are those of 13 to 19. Times of reads are `I/O Read Time` up to 16 and, by the kind of block, `Shared I/O Read
//! Time` and its siblings from 17 on; temporary files have keys of their own from 15 on. Keys that are not known are
//! passed over.

use std::borrow::Cow;

use super::json::{Fault, Reader, Token};
use super::number::{micros_of_millis, thousandths};
use crate::event::Ticks;

/// Nodes of one plan that are read; more is damage, because a message has room for hardly more.
const NODES_MAX: usize = 1_000_000;

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

    /// Adds `factor` times the other's counts.
    pub(super) fn add(&mut self, other: &Blocks, factor: i64) {
        let sum = |left: i64, right: i64| left.saturating_add(right.saturating_mul(factor));
        self.hit = sum(self.hit, other.hit);
        self.read = sum(self.read, other.read);
        self.written = sum(self.written, other.written);
        self.temporary_read = sum(self.temporary_read, other.temporary_read);
        self.temporary_written = sum(self.temporary_written, other.temporary_written);
    }
}

impl IoTimes {
    /// Adds `factor` times the other's times.
    pub(super) fn add(&mut self, other: &IoTimes, factor: i64) {
        let sum = |left: Ticks, right: Ticks| Ticks(left.0.saturating_add(right.0.saturating_mul(factor)));
        self.read = sum(self.read, other.read);
        self.write = sum(self.write, other.write);
        self.temporary_read = sum(self.temporary_read, other.temporary_read);
        self.temporary_write = sum(self.temporary_write, other.temporary_write);
    }
}

/// What a node's keys say before the node is finished.
#[derive(Clone, Debug, Default)]
struct Draft<'a> {
    node: Node,
    node_type: Cow<'a, str>,
    partial_mode: Cow<'a, str>,
    is_parallel: bool,
    provider: Cow<'a, str>,
    subplan: Cow<'a, str>,
    schema: Cow<'a, str>,
    relation: Cow<'a, str>,
    alias: Cow<'a, str>,
    index: Cow<'a, str>,
    command: Cow<'a, str>,
    /// Rows of a loop in thousandths.
    loop_rows: u64,
    index_in_plan: usize,
}

/// Reads a plan document: an object with a `Plan`, or an array of one such object, as EXPLAIN prints it.
///
/// # Errors
/// Where the text is cut, is no JSON, or has more levels or nodes than are read.
pub fn read_plan(text: &[u8]) -> Result<PlanDocument, Fault> {
    let mut reader = Reader::new(text);
    let mut document = PlanDocument::default();
    let mut token = reader.read_token()?;
    if token == Some(Token::ArrayStart) {
        token = reader.read_token()?;
    }
    if token != Some(Token::ObjectStart) {
        return Err(Fault::Malformed);
    }
    let level = reader.depth();
    while let Some(token) = reader.read_token()? {
        let Token::Key(key) = token else {
            if reader.depth() < level {
                break;
            }
            return Err(Fault::Malformed);
        };
        match &*key {
            "Plan" => nodes(&mut reader, &mut document.nodes)?,
            "Query Text" => document.query = text_value(&mut reader)?.into_owned(),
            "Query Identifier" => document.query_id = Some(integer(&mut reader)?),
            "Execution Time" => document.execution_time = Some(time(&mut reader)?),
            _ => reader.skip_value()?,
        }
    }
    // What follows the object in an array is another statement's plan, which EXPLAIN never prints.
    if document.nodes.is_empty() { Err(Fault::Malformed) } else { Ok(document) }
}

/// Reads the tree of nodes that comes next, without recursion: a stack of the nodes that are open.
fn nodes<'a>(reader: &mut Reader<'a>, found: &mut Vec<Node>) -> Result<(), Fault> {
    let base = reader.depth();
    let mut open: Vec<Draft<'a>> = Vec::new();
    loop {
        match reader.read_token()?.ok_or(Fault::Cut)? {
            Token::ObjectStart => {
                if found.len() >= NODES_MAX {
                    return Err(Fault::TooDeep);
                }
                let parent = open.last().map(|draft| draft.index_in_plan);
                open.push(Draft { index_in_plan: found.len(), ..Draft::default() });
                found.push(Node { parent, ..Node::default() });
            }
            Token::ObjectEnd => {
                let draft = open.pop().ok_or(Fault::Malformed)?;
                let index = draft.index_in_plan;
                let parent = found[index].parent;
                found[index] = draft.finish(parent);
                if reader.depth() == base {
                    return Ok(());
                }
            }
            Token::Key(key) if key == "Plans" => match reader.read_token()? {
                Some(Token::ArrayStart) => {}
                _ => return Err(Fault::Malformed),
            },
            Token::Key(key) => open.last_mut().ok_or(Fault::Malformed)?.value(&key, reader)?,
            Token::ArrayEnd if !open.is_empty() => {}
            _ => return Err(Fault::Malformed),
        }
    }
}

impl<'a> Draft<'a> {
    /// Takes the value of `key`.
    fn value(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), Fault> {
        match key {
            "Node Type" => self.node_type = text_value(reader)?,
            "Partial Mode" => self.partial_mode = text_value(reader)?,
            "Parallel Aware" => self.is_parallel = reader.read_token()? == Some(Token::Bool(true)),
            "Custom Plan Provider" => self.provider = text_value(reader)?,
            "Parent Relationship" => self.relationship(&text_value(reader)?),
            "Subplan Name" => self.subplan = text_value(reader)?,
            "CTE Name" => self.node.common_table = text_value(reader)?.into_owned(),
            "Schema" => self.schema = text_value(reader)?,
            "Relation Name" | "Function Name" => self.relation = text_value(reader)?,
            "Alias" => self.alias = text_value(reader)?,
            "Index Name" => self.index = text_value(reader)?,
            "Operation" => self.command = text_value(reader)?,
            "Actual Total Time" => self.node.loop_time = Some(time(reader)?),
            "Actual Rows" => self.loop_rows = number_value(reader, thousandths)?,
            "Actual Loops" => {
                self.node.loops = count(reader)?.unsigned_abs();
                self.node.is_measured = true;
            }
            "Workers Launched" => self.node.workers_launched = Some(count(reader)?.unsigned_abs()),
            _ if key.ends_with("Blocks") => self.blocks(key, reader)?,
            _ if key.ends_with("Time") => self.io_time(key, reader)?,
            _ => reader.skip_value()?,
        }
        Ok(())
    }

    fn relationship(&mut self, word: &str) {
        let is_subquery = matches!(word, "InitPlan" | "SubPlan");
        self.node.relationship = if is_subquery { Relationship::Subquery } else { Relationship::Input };
    }

    fn blocks(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let blocks = &mut self.node.blocks;
        let place = match key {
            "Shared Hit Blocks" | "Local Hit Blocks" => &mut blocks.hit,
            "Shared Read Blocks" | "Local Read Blocks" => &mut blocks.read,
            "Shared Written Blocks" | "Local Written Blocks" => &mut blocks.written,
            "Temp Read Blocks" => &mut blocks.temporary_read,
            "Temp Written Blocks" => &mut blocks.temporary_written,
            _ => return reader.skip_value(),
        };
        *place = place.saturating_add(count(reader)?);
        self.node.has_blocks = true;
        Ok(())
    }

    fn io_time(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let mut times = self.node.io.unwrap_or_default();
        let place = match key {
            "I/O Read Time" | "Shared I/O Read Time" | "Local I/O Read Time" => &mut times.read,
            "I/O Write Time" | "Shared I/O Write Time" | "Local I/O Write Time" => &mut times.write,
            "Temp I/O Read Time" => &mut times.temporary_read,
            "Temp I/O Write Time" => &mut times.temporary_write,
            _ => return reader.skip_value(),
        };
        let more = time(reader)?;
        *place = Ticks(place.0.saturating_add(more.0));
        self.node.io = Some(times);
        Ok(())
    }

    fn finish(self, parent: Option<usize>) -> Node {
        let operation = self.operation();
        let mut node = self.node;
        node.parent = parent;
        node.scans_common_table = self.node_type == "CTE Scan";
        node.operation = operation;
        let rows = u128::from(self.loop_rows) * u128::from(node.loops) + 500;
        node.rows = u64::try_from(rows / 1000).unwrap_or(u64::MAX);
        if let (Relationship::Subquery, Some(name)) = (node.relationship, self.subplan.strip_prefix("CTE ")) {
            node.relationship = Relationship::CommonTable;
            node.common_table = name.to_string();
        }
        node
    }

    /// The operation in the words of EXPLAIN's text form.
    fn operation(&self) -> String {
        let mut words = String::new();
        if !self.subplan.is_empty() {
            words.push_str(&self.subplan);
            words.push_str(": ");
        }
        if matches!(&*self.partial_mode, "Partial" | "Finalize") {
            words.push_str(&self.partial_mode);
            words.push(' ');
        }
        if self.is_parallel {
            words.push_str("Parallel ");
        }
        let name =
            if self.node_type == "ModifyTable" && !self.command.is_empty() { &self.command } else { &self.node_type };
        words.push_str(if name.is_empty() { "unnamed node" } else { name });
        for (before, text) in [(" using ", &self.index), (" by ", &self.provider)] {
            if !text.is_empty() {
                words.push_str(before);
                words.push_str(text);
            }
        }
        let object = [&self.relation, &self.alias].into_iter().find(|name| !name.is_empty());
        let object = object.map_or(self.node.common_table.as_str(), |name| name);
        if !object.is_empty() {
            words.push_str(" on ");
            if !self.schema.is_empty() && !self.relation.is_empty() {
                words.push_str(&self.schema);
                words.push('.');
            }
            words.push_str(object);
        }
        words
    }
}

fn text_value<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, Fault> {
    match reader.read_token()?.ok_or(Fault::Cut)? {
        Token::Text(text) => Ok(text),
        Token::Number(text) => Ok(text.into()),
        _ => Err(Fault::Malformed),
    }
}

/// A number as `parse` reads it.
fn number_value<T>(reader: &mut Reader<'_>, parse: impl Fn(&str) -> Option<T>) -> Result<T, Fault> {
    match reader.read_token()?.ok_or(Fault::Cut)? {
        Token::Number(text) => parse(text).ok_or(Fault::OutOfRange),
        _ => Err(Fault::Malformed),
    }
}

fn integer(reader: &mut Reader<'_>) -> Result<i64, Fault> {
    number_value(reader, |text| text.parse().ok())
}

/// A count; a number that no counter can have reached is none.
fn count(reader: &mut Reader<'_>) -> Result<i64, Fault> {
    number_value(reader, |text| text.parse().ok().filter(|count| (0..=i64::MAX >> 20).contains(count)))
}

fn time(reader: &mut Reader<'_>) -> Result<Ticks, Fault> {
    number_value(reader, micros_of_millis).map(Ticks::from_micros)
}
