//! The tables on which a planner's constants are measured, and the statements that tell them apart.
//!
//! One table has its rows in the order of one column and out of the order of another; a second one has few rows a
//! block. Processor time is told by the backend's account, and what a statement took by EXPLAIN's execution time,
//! without the clock at every step.

use server::private::{PrivateServer, PrivateServerError};
use server::{Buffers, Plan, Schema, ServerError, Session, schema, space};

use super::statement::Meter;
use crate::logical_reads::SubjectError;

/// Settings of the session. One process does all the work, in the order of the table and without being compiled.
const SETTINGS: [(&str, &str); 4] = [
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
    ("synchronize_seqscans", "off"),
    // A bitmap that remembers blocks instead of rows would be a third kind of scan.
    ("work_mem", "64MB"),
];

/// Bytes of a row of the table with its head and its pointer: 24 + 4 + 4 + 71, aligned to 8, and 4. On 15: 75 rows in
/// a block of 8 KiB.
const ROW_BYTES: u64 = 109;
/// Bytes of its entries in both indexes, with a tenth to spare and what sorting takes.
const INDEX_BYTES_A_ROW: u64 = 60;

/// Letters of the column that is in no index.
const FILLER: u32 = 70;

/// The table with few rows a block is this part of the other's rows, and its blocks are filled to so many percent: a
/// tenth of the rows in each, some third of the blocks.
const SPARSE_PART: u64 = 32;
const SPARSE_FILL: u32 = 10;

/// The tables.
const DENSE: &str = "calibrate";
const SPARSE: &str = "calibrate_sparse";

/// What the planner can choose among: how the rows lie to the order of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clustering {
    /// The next row by the index lies anywhere.
    Random,
    /// The rows lie in the order of the index.
    Good,
}

impl Clustering {
    /// Both.
    pub const ALL: [Clustering; 2] = [Clustering::Random, Clustering::Good];

    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            Clustering::Random => "random",
            Clustering::Good => "good",
        }
    }

    fn column(self) -> &'static str {
        match self {
            Clustering::Random => "scattered",
            Clustering::Good => "in_order",
        }
    }
}

/// A way to the rows that a planner chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChosenPlan {
    /// Every block in order.
    FullScan,
    /// By the index, every row fetched when it comes up.
    Index,
    /// By the index, the rows collected first and fetched in the order of the table.
    Bitmap,
}

impl ChosenPlan {
    /// All of them.
    pub const ALL: [ChosenPlan; 3] = [ChosenPlan::FullScan, ChosenPlan::Index, ChosenPlan::Bitmap];

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            ChosenPlan::FullScan => "full-scan",
            ChosenPlan::Index => "index",
            ChosenPlan::Bitmap => "bitmap",
        }
    }

    fn step(self) -> &'static str {
        match self {
            ChosenPlan::FullScan => "Seq Scan",
            ChosenPlan::Index => "Index Scan",
            ChosenPlan::Bitmap => "Bitmap Heap Scan",
        }
    }

    /// The setting that lets the planner go this way.
    fn setting(self) -> &'static str {
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
    /// Gives the first rows by an index, one by one, to whoever asked.
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
}

/// How large the tables are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSizes {
    /// Rows of the dense table.
    pub rows: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Rows of the table with few rows a block.
    pub sparse_rows: u64,
    /// Its blocks.
    pub sparse_blocks: u64,
}

/// A server with the tables in the schema of a run.
pub struct Calibration {
    schema: Schema,
    meter: Meter,
    sizes: TableSizes,
    seed: u64,
}

impl Calibration {
    /// Bytes that tables of so many bytes take with their indexes.
    pub fn bytes_needed(payload: u64) -> u64 {
        let rows = payload / ROW_BYTES;
        payload.saturating_add(rows.saturating_mul(INDEX_BYTES_A_ROW)).saturating_add(payload / 2)
    }

    /// Looks whether there is room, makes the schema and sets the session. `payload` are the bytes of the dense table.
    pub fn open(session: Session, payload: u64, seed: u64) -> Result<Calibration, SubjectError> {
        space::check(&session, Calibration::bytes_needed(payload))?;
        let rows = payload / ROW_BYTES;
        let sizes = TableSizes { rows, sparse_rows: (rows / SPARSE_PART).max(1), ..TableSizes::default() };
        let mut schema = Schema::create(session)?;
        prepare(schema.session())?;
        let meter = Meter::open(schema.session())?;
        Ok(Calibration { schema, meter, sizes, seed })
    }

    /// How processor times are obtained.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Makes and fills the tables. `sizes` are known afterwards.
    pub fn load(&mut self) -> Result<(), SubjectError> {
        let dense = self.schema.create_table(DENSE, "in_order integer, scattered integer, filler text", "")?;
        let fill = format!("fillfactor = {SPARSE_FILL}");
        let sparse = self.schema.create_table(SPARSE, "in_order integer, filler text", &fill)?;
        let TableSizes { rows, sparse_rows, .. } = self.sizes;
        let seed = self.seed % (1 << 31);
        let session = self.schema.session();
        // The order of a hash is an order without a pattern, and the same for the same seed.
        session.run(&format!(
            "INSERT INTO {dense} SELECT n, row_number() OVER (ORDER BY hashint8extended(n, {seed})), \
             repeat('x', {FILLER}) FROM generate_series(1, {rows}) n ORDER BY n"
        ))?;
        session.run(&format!(
            "INSERT INTO {sparse} SELECT n, repeat('x', {FILLER}) FROM generate_series(1, {sparse_rows}) n"
        ))?;
        for column in Clustering::ALL.map(Clustering::column) {
            session.run(&format!("CREATE INDEX {DENSE}_{column} ON {dense} ({column})"))?;
        }
        for table in [&dense, &sparse] {
            // Frozen, so that no scan asks which transaction made a row; visible to all, so that an index may do alone.
            session.run(&format!("VACUUM (FREEZE, ANALYZE) {table}"))?;
        }
        self.sizes.blocks = blocks_of(session, &dense)?;
        self.sizes.sparse_blocks = blocks_of(session, &sparse)?;
        Ok(())
    }

    /// The sizes of the tables; blocks are 0 in a rehearsal.
    pub fn sizes(&self) -> TableSizes {
        self.sizes
    }

    /// The session that works in the schema.
    pub fn session(&mut self) -> &mut Session {
        self.schema.session()
    }

    /// Removes the schema.
    pub fn finish(self) -> Result<(), SubjectError> {
        Ok(self.schema.finish()?)
    }

    /// Leaves the schema to a private server, which is removed with all it holds.
    pub fn leave(mut self) {
        self.schema.forget();
    }

    /// Leaves the planner these ways.
    pub fn allow(&mut self, ways: Ways) -> Result<(), SubjectError> {
        let is_on = |setting: &str| match ways {
            Ways::All => setting != "enable_indexonlyscan",
            Ways::Only(chosen) => setting == chosen.setting(),
            Ways::IndexOnly => setting == "enable_indexscan" || setting == "enable_indexonlyscan",
        };
        for setting in ["enable_seqscan", "enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"] {
            self.session().set(setting, if is_on(setting) { "on" } else { "off" })?;
        }
        Ok(())
    }

    /// Gives the planner these constants for as long as the session lasts, and those of the server for all others.
    pub fn tell(&mut self, all: &[&str], constants: &[(&str, f64)]) -> Result<(), SubjectError> {
        let known = |name: &str| constants.iter().find(|(told, _)| *told == name);
        for name in all {
            match known(name) {
                Some((_, value)) => self.session().set(name, &setting_value(*value))?,
                None => self.session().run(&format!("RESET {name}"))?,
            }
        }
        Ok(())
    }

    /// What a setting of the session is, as a number; for one of bytes its blocks.
    pub fn setting(&mut self, name: &str) -> Result<f64, SubjectError> {
        let question = format!("SELECT setting FROM pg_settings WHERE name = '{name}'");
        let text = self.session().text(&question, Some("1"))?.unwrap_or_default();
        Ok(text.parse().map_err(|_| ServerError::answer(&question, &text, "a number"))?)
    }

    /// The plan that the planner chooses; `None` in a rehearsal, or where it goes another way.
    pub fn chosen(&mut self, probe: Probe) -> Result<Option<ChosenPlan>, SubjectError> {
        let plan = self.session().explain_with("", &probe.statement(), Plan::default())?;
        Ok(ChosenPlan::of(&plan))
    }

    /// Runs a statement and tells what it took; an error where the planner did not go the only way that was left.
    pub fn execute(&mut self, probe: Probe, ways: Ways) -> Result<Executed, SubjectError> {
        let statement = probe.statement();
        let plan = self.session().explain(&statement, Plan::assumed("Aggregate", Buffers::default()))?;
        let goes = match ways {
            Ways::All => true,
            Ways::Only(chosen) => plan.top.find(chosen.step()).is_some(),
            Ways::IndexOnly => plan.top.find("Index Only Scan").is_some(),
        };
        if !goes && !self.session().is_rehearsal() {
            let found = plan.top.kinds().join(", ");
            return Err(ServerError::answer(&statement, &found, "a plan that goes the way measured").into());
        }
        let millis = plan.execution_ms.ok_or_else(|| ServerError::Plan("it tells no `Execution Time`".into()))?;
        let workers = plan.top.steps().iter().filter_map(|step| step.workers).sum();
        Ok(Executed { micros: millis * 1e3, buffers: plan.buffers()?, workers })
    }

    /// Microseconds of processor time of a statement that counts `count`, one of `laps` in a row.
    pub fn processor_micros(&mut self, probe: Probe, count: u64, laps: u32) -> Result<f64, SubjectError> {
        let taken = self.meter.measure(self.schema.session(), &probe.statement(), count, laps)?;
        Ok(taken.cost.0 as f64 / 1e3 / f64::from(laps))
    }

    /// Empties the buffers and the page cache of a private server: it is stopped, its files leave the page cache, and
    /// it is started again, with a session as this one was. Share of the files' pages that stayed, 0 to 1.
    pub fn cool(&mut self, private: &mut PrivateServer) -> Result<f64, SubjectError> {
        let stop = self.session().stop_flag();
        let failed = |error: PrivateServerError| match error {
            PrivateServerError::Stopped => ServerError::Stopped,
            other => ServerError::Machine(other.to_string()),
        };
        private.stop(&stop).map_err(failed)?;
        let left = private.drop_page_cache().map_err(failed)?;
        let settings = private.settings().clone();
        private.restart(settings, &stop).map_err(failed)?;
        self.schema.reopen()?;
        prepare(self.schema.session())?;
        // Another process answers now.
        self.meter = Meter::open(self.schema.session())?;
        Ok(left.pages as f64 / (left.of as f64).max(1.0))
    }

    /// Brings both indexes and the first `share` of the dense table's blocks into the buffers.
    ///
    /// By the index in whose order the rows lie: a full scan would pass through a ring and leave nothing.
    pub fn warm(&mut self, share: f64) -> Result<(), SubjectError> {
        let rows = self.sizes.rows;
        self.allow(Ways::IndexOnly)?;
        for clustering in Clustering::ALL {
            self.execute(Probe::Count { clustering, rows }, Ways::IndexOnly)?;
        }
        let ways = Ways::Only(ChosenPlan::Index);
        self.allow(ways)?;
        let part = (rows as f64 * share) as u64;
        self.execute(Probe::Fetch { clustering: Clustering::Good, rows: part }, ways)?;
        if share >= 1.0 {
            self.allow(Ways::All)?;
            self.execute(Probe::Sparse, Ways::All)?;
        }
        Ok(())
    }
}

fn prepare(session: &mut Session) -> Result<(), ServerError> {
    SETTINGS.into_iter().try_for_each(|(setting, value)| session.set(setting, value))
}

fn blocks_of(session: &mut Session, table: &str) -> Result<u64, ServerError> {
    session.number(&format!("SELECT pg_relation_size('{table}') / current_setting('block_size')::integer"), 0)
}

/// A constant as SET takes it: six significant digits, no exponent.
pub fn setting_value(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    let digits = (5.0 - magnitude).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_written_without_an_exponent() {
        assert_eq!(setting_value(4.0), "4");
        assert_eq!(setting_value(0.000_002_5), "0.0000025");
        assert_eq!(setting_value(1_234.567_89), "1234.57");
        assert_eq!(setting_value(524_288.0), "524288");
    }

    #[test]
    fn statements_that_are_compared_differ_in_one_thing() {
        let fetch = Probe::Fetch { clustering: Clustering::Random, rows: 7 }.statement();
        assert_eq!(fetch, "SELECT count(filler) FROM readpath.\"calibrate\" WHERE scattered <= 7");
        assert_eq!(Probe::Dense { comparisons: 0 }.statement(), "SELECT count(*) FROM readpath.\"calibrate\"");
        let two = Probe::Dense { comparisons: 2 }.statement();
        assert!(two.ends_with("WHERE in_order <> -1 AND in_order <> -2"), "{two}");
    }

    #[test]
    fn a_plan_is_told_by_the_step_that_reads_the_table() {
        let plan = |kind| Plan::assumed(kind, Buffers::default());
        assert_eq!(ChosenPlan::of(&plan("Bitmap Heap Scan")), Some(ChosenPlan::Bitmap));
        assert_eq!(ChosenPlan::of(&plan("Index Only Scan")), None);
    }
}
