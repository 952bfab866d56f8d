//! What EXPLAIN reports about a statement, in the JSON of versions 13 to 19.
//!
//! Counts of a node contain those of the nodes below it. Keys that a version does not know are absent, never 0, except
//! for blocks: with BUFFERS, EXPLAIN omits none of them.

use serde_json::Value;

use crate::error::ServerError;

/// The plan of a statement and what its execution took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The topmost step, whose counts are those of the whole.
    pub top: Node,
    /// Milliseconds of execution, without planning and without sending rows; `None` without ANALYZE.
    pub execution_ms: Option<f64>,
    /// Whether the plan is expensive enough to be compiled.
    pub is_compiled: bool,
}

/// One step of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// `Seq Scan`, `Nested Loop` and so on.
    pub kind: String,
    /// The table that it reads.
    pub relation: Option<String>,
    /// What the statement calls that, or what else it reads: the same table may be read twice.
    pub alias: Option<String>,
    /// The index that it goes through.
    pub index: Option<String>,
    /// What tells steps of this kind apart: how it joins or groups, whether backwards, of which part of the work.
    pub manner: Vec<String>,
    /// Whether processes share its work.
    pub is_parallel: bool,
    /// Other processes that are to be started for it.
    pub planned_workers: Option<u64>,
    /// The planner's cost of the whole step.
    pub total_cost: Option<f64>,
    /// Rows that the planner expected, of one loop.
    pub planned_rows: Option<f64>,
    /// Rows of one loop on average; `None` without ANALYZE.
    pub rows: Option<f64>,
    /// How often it ran; `None` without ANALYZE.
    pub loops: Option<f64>,
    /// Blocks; `None` without BUFFERS.
    pub buffers: Option<Buffers>,
    /// Milliseconds of waiting for reads of tables and indexes; `None` where the server does not time them.
    pub read_ms: Option<f64>,
    /// Heap blocks that a bitmap scan found exactly.
    pub exact_heap_blocks: Option<u64>,
    /// Rows that an index-only scan had to look up in the table.
    pub heap_fetches: Option<u64>,
    /// Other processes that were started for it.
    pub workers: Option<u64>,
    /// The steps below.
    pub children: Vec<Node>,
}

/// Words for how a step works that go without saying.
const USUAL: [&str; 7] = ["Inner", "Simple", "Forward", "Plain", "Outer", "Member", "NoMovement"];

/// How a step is called that is the plan of a subquery.
const SUBPLAN: &str = "SubPlan";

/// Blocks in shared buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Found there.
    pub hits: u64,
    /// Asked of the operating system, which may have had them in its page cache.
    pub reads: u64,
}

impl Buffers {
    /// Logical reads: every block that was asked for.
    pub fn gets(self) -> u64 {
        self.hits.saturating_add(self.reads)
    }
}

impl Plan {
    /// A plan of one step with these blocks, for dry runs.
    pub fn assumed(kind: &str, buffers: Buffers) -> Plan {
        let top = Node { kind: kind.into(), buffers: Some(buffers), ..Node::default() };
        Plan { top, execution_ms: Some(0.0), ..Plan::default() }
    }

    /// The first step of a kind; an error where the plan of this statement goes another way.
    pub fn step(&self, statement: &str, kind: &str) -> Result<&Node, ServerError> {
        let found = || self.top.kinds().join(", ");
        let another = || ServerError::answer(statement, &found(), "a plan that goes the way measured");
        self.top.find(kind).ok_or_else(another)
    }

    /// The blocks of the whole plan; an error without BUFFERS.
    pub fn buffers(&self) -> Result<Buffers, ServerError> {
        self.top.buffers.ok_or_else(|| ServerError::Plan("it has no `Shared Hit Blocks`".into()))
    }
}

impl Node {
    /// The first step of this kind from here downwards.
    pub fn find(&self, kind: &str) -> Option<&Node> {
        if self.kind == kind {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(kind))
    }

    /// The steps from here downwards, each before those below it.
    pub fn steps(&self) -> Vec<&Node> {
        std::iter::once(self).chain(self.children.iter().flat_map(Node::steps)).collect()
    }

    /// The step in words, as a person names it: `Index Scan on orders o by orders_date`.
    pub fn described(&self) -> String {
        let parallel = if self.is_parallel { "Parallel " } else { "" };
        let workers = self.planned_workers.map(|count| format!("{count} worker{}", if count == 1 { "" } else { "s" }));
        let manner = self.manner.iter().cloned().chain(workers).collect::<Vec<_>>().join(" ");
        let manner = if manner.is_empty() { manner } else { format!(" ({manner})") };
        let what = match (&self.relation, &self.alias) {
            (Some(relation), Some(alias)) if alias != relation => format!(" on {relation} {alias}"),
            (Some(relation), _) => format!(" on {relation}"),
            (None, Some(alias)) => format!(" on {alias}"),
            (None, None) => String::new(),
        };
        let index = self.index.as_ref().map_or(String::new(), |index| format!(" by {index}"));
        format!("{parallel}{}{manner}{what}{index}", self.kind)
    }

    /// The steps from here downwards in one line: the same for plans that do the same.
    pub fn outline(&self) -> String {
        let children: Vec<String> = self.children.iter().map(Node::outline).collect();
        match children.is_empty() {
            true => self.described(),
            false => format!("{} [{}]", self.described(), children.join("; ")),
        }
    }

    /// The topmost steps in which two plans differ; `None` where they do the same.
    pub fn difference<'a>(&'a self, other: &'a Node) -> Option<(&'a Node, &'a Node)> {
        if self.described() != other.described() || self.children.len() != other.children.len() {
            return Some((self, other));
        }
        self.children.iter().zip(&other.children).find_map(|(one, other)| one.difference(other))
    }

    /// The kinds of the steps, from here downwards.
    pub fn kinds(&self) -> Vec<&str> {
        self.steps().into_iter().map(|step| step.kind.as_str()).collect()
    }
}

/// Reads the document that `EXPLAIN (FORMAT JSON)` gives: a list of one plan. Any other text is an error; the JSON
/// reader refuses a nesting deeper than any query has.
pub fn parse(text: &str) -> Result<Plan, ServerError> {
    let document: Value = serde_json::from_str(text).map_err(|error| ServerError::Plan(error.to_string()))?;
    let statement = document.get(0).unwrap_or(&document);
    let plan = statement.get("Plan").ok_or_else(|| ServerError::Plan("it has no `Plan`".into()))?;
    Ok(Plan {
        top: node(plan)?,
        execution_ms: quantity(statement, "Execution Time"),
        is_compiled: statement.get("JIT").is_some(),
    })
}

fn node(value: &Value) -> Result<Node, ServerError> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(String::from);
    let kind = text("Node Type").ok_or_else(|| ServerError::Plan("a step has no `Node Type`".into()))?;
    let children = match value.get("Plans") {
        None => Vec::new(),
        Some(Value::Array(children)) => children.iter().map(node).collect::<Result<_, _>>()?,
        Some(_) => return Err(ServerError::Plan("`Plans` is no list".into())),
    };
    // `Inner`, `Simple` and the like are what a step is without a word.
    let manner = ["Join Type", "Strategy", "Partial Mode", "Scan Direction", "Parent Relationship"].iter();
    let manner = manner.filter_map(|key| text(key)).filter(|word| !USUAL.contains(&word.as_str()));
    // Its number tells a subquery that is run for each row from the same one that is read once into a hash table: the
    // planner numbers both. Names of other subqueries can have numbers of parameters in them.
    let numbered = |word: String| if word == SUBPLAN { text("Subplan Name").unwrap_or(word) } else { word };
    let manner = manner.map(numbered).collect();
    Ok(Node {
        kind,
        manner,
        is_parallel: value.get("Parallel Aware").and_then(Value::as_bool).unwrap_or(false),
        relation: text("Relation Name"),
        alias: text("Alias"),
        planned_workers: count(value, "Workers Planned"),
        index: text("Index Name"),
        total_cost: quantity(value, "Total Cost"),
        planned_rows: quantity(value, "Plan Rows"),
        rows: quantity(value, "Actual Rows"),
        loops: quantity(value, "Actual Loops"),
        buffers: buffers(value),
        // Version 17 renamed it from the second name to the first.
        read_ms: quantity(value, "Shared I/O Read Time").or_else(|| quantity(value, "I/O Read Time")),
        exact_heap_blocks: count(value, "Exact Heap Blocks"),
        heap_fetches: count(value, "Heap Fetches"),
        workers: count(value, "Workers Launched"),
        children,
    })
}

fn buffers(value: &Value) -> Option<Buffers> {
    Some(Buffers { hits: count(value, "Shared Hit Blocks")?, reads: count(value, "Shared Read Blocks")? })
}

fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// A number that may have a fraction, such as the rows of a loop from 18 on.
fn quantity(value: &Value, key: &str) -> Option<f64> {
    value.get(key)?.as_f64().filter(|number| number.is_finite() && *number >= 0.0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::*;

    const PLAN: &str = r#"[{"Plan": {"Node Type": "Aggregate", "Actual Rows": 1.00, "Actual Loops": 1,
        "Shared Hit Blocks": 120, "Shared Read Blocks": 2, "Shared I/O Read Time": 0.5, "Plans": [
        {"Node Type": "Seq Scan", "Relation Name": "t", "Shared Hit Blocks": 120, "Shared Read Blocks": 2}]},
        "Planning": {"Shared Hit Blocks": 3, "Shared Read Blocks": 0}, "Planning Time": 0.1, "Execution Time": 1.5}]"#;

    #[test]
    fn blocks_are_those_of_execution_and_not_of_planning() {
        let plan = parse(PLAN).unwrap();
        assert_eq!(plan.buffers().unwrap().gets(), 122);
        assert_eq!((plan.execution_ms, plan.top.read_ms), (Some(1.5), Some(0.5)));
        assert_eq!(plan.top.kinds(), ["Aggregate", "Seq Scan"]);
        assert_eq!(plan.top.find("Seq Scan").and_then(|node| node.relation.as_deref()), Some("t"));
    }

    #[test]
    fn plans_that_do_the_same_are_the_same_and_others_differ_in_their_topmost_step() {
        let plan = |join: &str, scan: &str, cost: f64| {
            let text = format!(
                r#"[{{"Plan": {{"Node Type": "Hash Join", "Join Type": "{join}", "Total Cost": {cost}, "Plans": [
                {{"Node Type": "{scan}", "Relation Name": "t", "Parent Relationship": "Outer"}},
                {{"Node Type": "Hash", "Parent Relationship": "Inner", "Plans": [
                    {{"Node Type": "Seq Scan", "Relation Name": "u", "Parallel Aware": true}}]}}]}}}}]"#
            );
            parse(&text).unwrap().top
        };
        let one = plan("Inner", "Seq Scan", 1.0);
        assert_eq!(one.difference(&plan("Inner", "Seq Scan", 2.0)), None);
        assert_eq!(one.outline(), "Hash Join [Seq Scan on t; Hash [Parallel Seq Scan on u]]");
        let other = plan("Inner", "Bitmap Heap Scan", 1.0);
        let (before, after) = one.difference(&other).unwrap();
        assert_eq!((before.described(), after.described()), ("Seq Scan on t".into(), "Bitmap Heap Scan on t".into()));
        let semi = plan("Semi", "Seq Scan", 1.0);
        assert_eq!(one.difference(&semi).unwrap().1.described(), "Hash Join (Semi)");
    }

    #[test]
    fn a_table_joined_with_itself_the_other_way_round_is_another_plan_and_so_are_more_workers() {
        let plan = |[outer, inner]: [&str; 2], workers: u64| {
            let text = format!(
                r#"[{{"Plan": {{"Node Type": "Gather", "Workers Planned": {workers}, "Plans": [
                {{"Node Type": "Nested Loop", "Plans": [
                    {{"Node Type": "Seq Scan", "Relation Name": "t", "Alias": "{outer}"}},
                    {{"Node Type": "CTE Scan", "CTE Name": "c", "Alias": "{inner}"}}]}}]}}}}]"#
            );
            parse(&text).unwrap().top
        };
        let one = plan(["a", "b"], 1);
        assert_eq!(one.outline(), "Gather (1 worker) [Nested Loop [Seq Scan on t a; CTE Scan on b]]");
        assert_eq!(one.difference(&plan(["b", "a"], 1)).unwrap().1.described(), "Seq Scan on t b");
        assert_eq!(one.difference(&plan(["a", "b"], 2)).unwrap().1.described(), "Gather (2 workers)");
        assert_eq!(plan(["t", "b"], 1).children[0].children[0].described(), "Seq Scan on t");
    }

    #[test]
    fn a_subquery_for_each_row_is_another_plan_than_the_same_in_a_hash_table() {
        let plan = |number: u64| {
            let text = format!(
                r#"[{{"Plan": {{"Node Type": "Seq Scan", "Relation Name": "p", "Plans": [
                {{"Node Type": "Seq Scan", "Relation Name": "c", "Parent Relationship": "SubPlan",
                  "Subplan Name": "SubPlan {number}"}},
                {{"Node Type": "Result", "Parent Relationship": "InitPlan",
                  "Subplan Name": "InitPlan 3 (returns ${number})"}}]}}}}]"#
            );
            parse(&text).unwrap().top
        };
        assert_eq!(plan(1).outline(), "Seq Scan on p [Seq Scan (SubPlan 1) on c; Result (InitPlan)]");
        assert_ne!(plan(1).outline(), plan(2).outline());
    }

    #[test]
    fn the_time_of_reads_has_another_name_before_17() {
        let plan = parse(&PLAN.replace("Shared I/O Read Time", "I/O Read Time")).unwrap();
        assert_eq!(plan.top.read_ms, Some(0.5));
        assert_eq!(plan.top.children[0].read_ms, None);
    }

    #[test]
    fn a_plan_without_blocks_gives_none_rather_than_zeros() {
        let plan = parse(r#"[{"Plan": {"Node Type": "Result"}}]"#).unwrap();
        assert!(plan.buffers().unwrap_err().to_string().contains("Shared Hit Blocks"));
        assert_eq!(plan.execution_ms, None);
    }

    #[test]
    fn a_document_that_is_no_plan_is_refused() {
        let nested = format!("{}{}", r#"[{"Plan":"#.repeat(5000), "]".repeat(5000));
        let wrong = r#"[{"Plan": {"Node Type": "Result", "Plans": 7}}]"#;
        for text in ["", "[]", "{}", "null", r#"[{"Plan": []}]"#, wrong, &nested] {
            assert!(matches!(parse(text), Err(ServerError::Plan(_))), "{text:.40}");
        }
    }

    /// The folder of plans from other servers, next to the repository.
    fn golden() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/postgres")
    }

    fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => documents(&path, found),
                path if path.extension().is_some_and(|ending| ending == "json") => found.push(path),
                _ => {}
            }
        }
    }

    #[test]
    fn plans_of_other_servers_are_read() {
        let mut found = Vec::new();
        documents(&golden(), &mut found);
        if found.is_empty() {
            println!("skipped: there are no plans next to the repository");
            return;
        }
        for path in found {
            let plan = parse(&fs::read_to_string(&path).unwrap()).unwrap();
            assert!(!plan.top.kind.is_empty(), "{}", path.display());
        }
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(
            kind in "\\PC*",
            hits in any::<i64>(),
            rows in any::<f64>(),
            noise in "[\\[\\]{}\":,0-9a-z ]*",
        ) {
            let _ = parse(&noise);
            let document = serde_json::json!([{ "Plan": {
                "Node Type": kind, "Shared Hit Blocks": hits, "Shared Read Blocks": u64::MAX, "Actual Rows": rows,
            }}]);
            let plan = parse(&document.to_string()).unwrap();
            prop_assert!(plan.top.buffers.is_none_or(|buffers| buffers.gets() == u64::MAX));
            prop_assert!(plan.top.rows.is_none_or(|rows| rows >= 0.0));
        }
    }
}
