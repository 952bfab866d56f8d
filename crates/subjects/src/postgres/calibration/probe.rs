//! The statements of the calibration, over its two tables, the ways that a planner can go with them, and what one took.

use server::explain::Node;
use server::{Buffers, Plan, ServerError, schema};

use crate::error::SubjectError;

/// The tables.
pub(super) const DENSE: &str = "calibrate";
pub(super) const SPARSE: &str = "calibrate_sparse";

measure::words! {
    /// What the planner can choose among: how the rows lie to the order of the index.
    pub enum Clustering ("clustering") {
        /// The next row by the index lies anywhere
        Random = "random",
        /// The rows lie in the order of the index
        Good = "good",
    }
}

impl Clustering {
    /// Both.
    pub const ALL: [Clustering; 2] = [Clustering::Random, Clustering::Good];

    pub(super) fn column(self) -> &'static str {
        match self {
            Clustering::Random => "scattered",
            Clustering::Good => "in_order",
        }
    }
}

measure::words! {
    /// A way to the rows that a planner chooses.
    pub enum ChosenPlan ("plan") {
        /// Every block in order
        FullScan = "full-scan",
        /// By the index, every row fetched when it comes up
        Index = "index",
        /// By the index, the rows collected first and fetched in the order of the table
        Bitmap = "bitmap",
    }
}

impl ChosenPlan {
    /// All of them.
    pub const ALL: [ChosenPlan; 3] = [ChosenPlan::FullScan, ChosenPlan::Index, ChosenPlan::Bitmap];

    pub(super) fn step(self) -> &'static str {
        match self {
            ChosenPlan::FullScan => "Seq Scan",
            ChosenPlan::Index => "Index Scan",
            ChosenPlan::Bitmap => "Bitmap Heap Scan",
        }
    }

    /// The setting that lets the planner go this way.
    pub(super) fn setting(self) -> &'static str {
        match self {
            ChosenPlan::FullScan => "enable_seqscan",
            ChosenPlan::Index => "enable_indexscan",
            ChosenPlan::Bitmap => "enable_bitmapscan",
        }
    }

    /// The way that a plan goes; `None` where it goes none of these.
    pub fn of(plan: &Plan) -> Option<ChosenPlan> {
        ChosenPlan::ALL.into_iter().find(|chosen| plan.top.find(chosen.step()).is_some())
    }
}

/// What a planner may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// What it likes, but for index-only scans, which read no table.
    All,
    /// One way.
    Only(ChosenPlan),
    /// A scan of an index that holds all that is asked for.
    IndexOnly,
}

/// A statement of the calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Probe {
    /// Counts the rows of the dense table, with this many comparisons of which every row passes each.
    Dense {
        /// Comparisons a row.
        comparisons: u32,
    },
    /// Counts the rows of the table with few rows a block.
    Sparse,
    /// Counts the first rows by an index, without asking for anything that the index does not hold.
    Count {
        /// Which index.
        clustering: Clustering,
        /// How many rows.
        rows: u64,
    },
    /// Counts values of the first rows by an index that only the table has.
    Fetch {
        /// Which index.
        clustering: Clustering,
        /// How many rows.
        rows: u64,
    },
    /// Sends the first rows by an index, one by one, to the client.
    Rows {
        /// How many rows.
        rows: u64,
    },
}

impl Probe {
    /// The statement.
    pub fn statement(self) -> String {
        let (dense, sparse) = (schema::full_name(DENSE), schema::full_name(SPARSE));
        match self {
            Probe::Dense { comparisons } => {
                let conditions: Vec<String> =
                    (1..=comparisons).map(|number| format!("in_order <> -{number}")).collect();
                let condition = if comparisons == 0 { "" } else { " WHERE " };
                format!("SELECT count(*) FROM {dense}{condition}{}", conditions.join(" AND "))
            }
            Probe::Sparse => format!("SELECT count(*) FROM {sparse}"),
            Probe::Count { clustering, rows } => {
                format!("SELECT count(*) FROM {dense} WHERE {} <= {rows}", clustering.column())
            }
            Probe::Fetch { clustering, rows } => {
                format!("SELECT count(filler) FROM {dense} WHERE {} <= {rows}", clustering.column())
            }
            Probe::Rows { rows } => format!("SELECT in_order FROM {dense} WHERE scattered <= {rows}"),
        }
    }
}

/// What a statement took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Executed {
    /// EXPLAIN's execution time in microseconds.
    pub micros: f64,
    /// Blocks that it asked for.
    pub buffers: Buffers,
    /// Workers that were started for it.
    pub workers: u64,
    /// Rows of the step below the aggregate; `None` in a dry run.
    pub rows: Option<u64>,
}

pub(super) fn executed(plan: &Plan) -> Result<Executed, SubjectError> {
    let millis = plan.execution_ms.ok_or_else(|| ServerError::Plan("it has no `Execution Time`".into()))?;
    let workers = plan.top.steps().iter().filter_map(|step| step.workers).sum();
    let of_step = |step: &Node| Some((step.rows? * step.loops.unwrap_or(1.0)).round() as u64);
    let rows = plan.top.children.first().and_then(of_step);
    Ok(Executed { micros: millis * 1e3, buffers: plan.buffers()?, workers, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_are_compared_differ_in_one_thing() {
        let fetch = Probe::Fetch { clustering: Clustering::Random, rows: 7 }.statement();
        assert_eq!(fetch, "SELECT count(filler) FROM readpath.\"calibrate\" WHERE scattered <= 7");
        assert_eq!(Probe::Dense { comparisons: 0 }.statement(), "SELECT count(*) FROM readpath.\"calibrate\"");
        let two = Probe::Dense { comparisons: 2 }.statement();
        assert!(two.ends_with("WHERE in_order <> -1 AND in_order <> -2"), "{two}");
    }

    #[test]
    fn the_step_that_reads_the_table_names_the_plan() {
        let plan = |kind| Plan::assumed(kind, Buffers::default());
        assert_eq!(ChosenPlan::of(&plan("Bitmap Heap Scan")), Some(ChosenPlan::Bitmap));
        assert_eq!(ChosenPlan::of(&plan("Index Only Scan")), None);
    }
}
