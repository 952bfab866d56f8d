//! What `EXPLAIN` says about a statement's blocks.

use serde_json::Value;

use crate::server::wire::Session;

/// Blocks that a statement asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffers {
    /// Found in shared buffers.
    pub(crate) hits: u64,
    /// Not found there.
    pub(crate) reads: u64,
}

impl Buffers {
    /// Runs the statement and gives its blocks.
    pub(crate) fn of(session: &mut Session, statement: &str) -> Result<Buffers, String> {
        let rows = session.rows(&explained(statement))?;
        let text: Vec<String> = rows.into_iter().flatten().collect();
        Buffers::of_plan(&text.join("\n"))
    }

    fn of_plan(text: &str) -> Result<Buffers, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| format!("EXPLAIN's JSON: {error}"))?;
        let plan = &document[0]["Plan"];
        let number = |name: &str| plan[name].as_u64().ok_or_else(|| format!("EXPLAIN does not tell `{name}`"));
        Ok(Buffers { hits: number("Shared Hit Blocks")?, reads: number("Shared Read Blocks")? })
    }

    /// An error unless the statement found exactly these blocks, and all of them in shared buffers.
    pub(crate) fn expect_cached(self, blocks: u64) -> Result<(), String> {
        if self == (Buffers { hits: blocks, reads: 0 }) {
            return Ok(());
        }
        let Buffers { hits, reads } = self;
        Err(format!("PostgreSQL hit {hits} and read {reads} blocks of a table of {blocks}"))
    }
}

/// The statement with its plan in place of its rows. Without the clock: one or two readings a row would be charged.
pub(crate) fn explained(statement: &str) -> String {
    format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"[{"Plan": {"Node Type": "Aggregate", "Shared Hit Blocks": 120, "Shared Read Blocks": 0,
        "Plans": [{"Node Type": "Seq Scan", "Shared Hit Blocks": 120}]}, "Planning": {"Shared Hit Blocks": 3}}]"#;

    #[test]
    fn hits_are_those_of_the_plan_and_not_of_its_making() {
        assert_eq!(Buffers::of_plan(PLAN), Ok(Buffers { hits: 120, reads: 0 }));
        assert!(Buffers::of_plan("[]").unwrap_err().contains("Shared Hit Blocks"));
    }

    #[test]
    fn a_block_that_was_read_spoils_the_comparison() {
        assert_eq!(Buffers { hits: 120, reads: 0 }.expect_cached(120), Ok(()));
        assert!(Buffers { hits: 119, reads: 1 }.expect_cached(120).unwrap_err().contains("read 1"));
        assert!(Buffers { hits: 240, reads: 0 }.expect_cached(120).is_err());
    }
}
