//! The tables on which a planner's constants are measured, and the statements that separate one constant from another.
//!
//! One table has its rows in the order of one column and out of the order of another; a second one has few rows a
//! block. Processor time comes from the backend's account, and what a statement took from EXPLAIN's execution time,
//! without the clock at every step.

pub mod former;
mod home;
pub mod own_queries;
mod probe;
mod probing;
pub mod queries;
pub mod server_caches;
mod still_cached;
pub mod tablespaces;
pub mod verification_set;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::quantity::{size_in_words, whole_mebibytes};
use measure::schema::subjects::findings as row;
use measure::{Finding, Parameters, Unit};
pub use server::explain::Node;
use server::facts::ASSUMED_BUFFERS;
use server::private::PrivateServer;
pub use server::{Buffers, Plan};
use server::{Schema, ServerError, ServerFacts, Session};

use self::home::Home;
pub use self::probe::{ChosenPlan, Clustering, Executed, Probe, Ways};
use self::probe::{DENSE, SPARSE};
pub use self::still_cached::StillCached;
use super::fetched::{blocks_of, hidden_of};
use super::needs::Needs;
use super::notes::Notes;
use super::reached::Reached;
use super::statement::Meter;
use crate::error::SubjectError;
use crate::opening::Opening;
use crate::subject::{Closing, Subject};

/// Settings of the session. One process does all the work, in the order of the table and without being compiled.
const SETTINGS: [(&str, &str); 4] = [
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
    ("synchronize_seqscans", "off"),
    // A bitmap that remembers blocks instead of rows would be a third kind of scan.
    ("work_mem", "64MB"),
];

/// The planner's constants of a server where nothing is set, which a dry run assumes.
///
/// Source: PostgreSQL 18, "Planner Cost Constants".
const ASSUMED_COSTS: [(&str, &str); 5] = [
    ("seq_page_cost", "1"),
    ("random_page_cost", "4"),
    ("cpu_tuple_cost", "0.01"),
    ("cpu_index_tuple_cost", "0.005"),
    ("cpu_operator_cost", "0.0025"),
];

/// Settings that leave the planner a way or close it.
const WAYS: [&str; 4] = ["enable_seqscan", "enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"];

/// Bytes of a row of the table with its head and its pointer: 24 + 4 + 4 + 71, aligned to 8, and 4. On 15: 75 rows in
/// a block of 8 KiB.
const ROW_BYTES: u64 = 109;
/// Bytes of its entries in both indexes, with a tenth to spare and what sorting takes.
const INDEX_BYTES_A_ROW: u64 = 60;

/// Letters of the column that is in no index.
const FILLER: u32 = 70;

/// Rows of a block of either table, for a dry run.
const DENSE_ROWS_A_BLOCK: u64 = 75;
const SPARSE_ROWS_A_BLOCK: u64 = 7;

/// About what a row takes to be made in the order of a hash and sorted into two indexes, and removed.
pub const LOAD_TIME_A_ROW: Duration = Duration::from_nanos(3500);

/// The table with few rows a block has this part of the other's rows, and its blocks are filled to this percentage: a
/// tenth of the rows in each, about a third of the blocks.
const SPARSE_PART: u64 = 32;
const SPARSE_FILL: u32 = 10;

/// Bytes of the table by default. A given server is in use: its shared buffers are rarely larger than the default of
/// 128 MiB, and a scan of more than a quarter of them passes through a ring of them and leaves nothing there.
const PAYLOAD_PRIVATE: u64 = 32 << 20;
const PAYLOAD_GIVEN: u64 = 24 << 20;
const BUFFERS_PART: u64 = 4;

/// Least bytes of that table, however small the buffers are.
const PAYLOAD_MIN: u64 = 1 << 20;

/// Shared buffers of a private server: four times what a scan may take of them, and the indexes. No more: a table
/// beyond them is made too.
const PAYLOADS_IN_BUFFERS: u64 = 5;
const SPARE_BUFFERS: u64 = 8 << 20;

/// What a copy of a data directory preloads: by its configuration, and by settings of the database and the role.
const PRELOADED: &str = "SELECT string_agg(DISTINCT libraries, ', ') FROM ((SELECT DISTINCT ON (name) name, setting \
    FROM pg_file_settings ORDER BY name, seqno DESC) UNION ALL SELECT split_part(one, '=', 1), split_part(one, '=', 2) \
    FROM pg_db_role_setting, unnest(setconfig) one WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname \
    = current_database())) AND setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user))) found (name, \
    libraries) WHERE name IN ('shared_preload_libraries', 'session_preload_libraries', 'local_preload_libraries') AND \
    libraries <> ''";

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

/// What the experiment asks of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalibrationAsked {
    /// Whether the user's own queries are compared, which a standby answers too.
    pub has_queries: bool,
    /// Bytes of the dense table; the default depends on the server.
    pub payload: Option<u64>,
    /// Picks the order of the rows.
    pub seed: u64,
}

impl CalibrationAsked {
    /// Bytes of the dense table.
    pub(super) fn payload(&self, is_private: bool) -> u64 {
        self.payload.unwrap_or(if is_private { PAYLOAD_PRIVATE } else { PAYLOAD_GIVEN })
    }

    /// Shared buffers of a private server.
    pub(super) fn buffers(&self) -> u64 {
        PAYLOADS_IN_BUFFERS.saturating_mul(self.payload(true)).saturating_add(SPARE_BUFFERS)
    }
}

/// A server with the tables in the schema of a run.
pub struct Calibration {
    home: Home,
    meter: Meter,
    notes: Notes,
    sizes: TableSizes,
    seed: u64,
    /// Rows of the tables of the verification.
    verification: verification_set::VerificationRows,
    /// Whether statements are planned and run as those of other users are.
    is_as_users: bool,
    /// What the session has prepared of the user's queries, and names that may be taken.
    prepared: BTreeSet<String>,
    // Dropped last: the session has to end before its server.
    reached: Reached,
}

impl Subject for Calibration {
    fn name(&self) -> &str {
        self.notes.name()
    }

    fn description(&self) -> Parameters {
        self.notes.description()
    }

    fn findings(&mut self) -> Vec<Finding> {
        self.notes.look(self.home.session())
    }

    fn finish(self: Box<Self>) -> Closing {
        let Calibration { home, notes, mut reached, .. } = *self;
        let mut schema = home.into_schema();
        // ^C may have come between its stop and its next start: what the run made in the copy is removed all the same.
        if let Some(private) = reached.private.as_mut().filter(|private| private.is_on_copy() && !private.is_running())
        {
            let _ = private.restart(private.settings().clone(), &AtomicBool::new(false));
        }
        // A private server goes with all it holds, and may have stopped; a copy of a data directory stays.
        if reached.private.as_ref().is_some_and(|private| !private.is_on_copy()) {
            schema.iter_mut().for_each(Schema::forget);
        }
        let closing = notes.close(schema);
        drop(reached);
        closing
    }
}

impl Calibration {
    /// Connects, checks that there is room for a dense table of `payload` bytes, makes the schema and sets the session.
    /// On a standby nothing is made.
    pub(super) fn open(
        reached: Reached,
        payload: u64,
        seed: u64,
        opening: &mut Opening<'_>,
    ) -> Result<Calibration, SubjectError> {
        let mut session = reached.connect(opening)?;
        let mut notes = Notes::of(&session, opening.clock);
        if let Some(copy) = reached.private.as_ref().and_then(PrivateServer::copy) {
            notes.call(copy.shown());
            let left_out = session.text(PRELOADED, None)?;
            notes.find(left_out.and_then(|libraries| not_preloaded(&libraries)));
        }
        if session.facts().is_standby {
            return Calibration::on_standby(session, notes, reached);
        }
        let buffers = session.facts().buffer_bytes;
        let verification = verification_set::VerificationRows::of(payload, buffers);
        let within = within(payload, buffers);
        notes.check_space(&session, bytes_needed(within) + verification.bytes(), "--payload")?;
        notes.find(exceeding(payload, buffers));
        notes.find(absent_cold(reached.private.is_some()));
        let rows = within / ROW_BYTES;
        let sizes = TableSizes { rows, sparse_rows: (rows / SPARSE_PART).max(1), ..TableSizes::default() };
        let mut schema = Schema::create(session)?;
        notes.begin(&mut schema, reached.private.is_some())?;
        schema.session().set_all(SETTINGS)?;
        let meter = Meter::open(schema.session())?;
        notes.note_meter(&meter);
        let home = Home::Schema(schema);
        let (is_as_users, prepared) = (false, BTreeSet::new());
        Ok(Calibration { home, meter, notes, sizes, seed, verification, is_as_users, prepared, reached })
    }

    /// A standby, without tables.
    fn on_standby(mut session: Session, mut notes: Notes, reached: Reached) -> Result<Calibration, SubjectError> {
        notes.find(only_queries(&session.address().shown()));
        session.set_all(SETTINGS)?;
        let meter = Meter::open(&mut session)?;
        let (sizes, verification) = (TableSizes::default(), verification_set::VerificationRows::default());
        let (home, seed) = (Home::Standby(session), 0);
        let (is_as_users, prepared) = (false, BTreeSet::new());
        Ok(Calibration { home, meter, notes, sizes, seed, verification, is_as_users, prepared, reached })
    }

    /// Whether the server is a standby, where no table can be made and nothing but the user's queries be compared.
    pub fn is_standby(&self) -> bool {
        matches!(self.home, Home::Standby(_))
    }

    /// Whether the server is a private one, whose caches can be emptied.
    pub fn is_private(&self) -> bool {
        self.reached.private.is_some()
    }

    /// Whether that server runs on a copy of a data directory, with the user's tables in it.
    pub fn is_on_copy(&self) -> bool {
        self.reached.private.as_ref().is_some_and(PrivateServer::is_on_copy)
    }

    /// What the server says about itself.
    pub fn facts(&mut self) -> &ServerFacts {
        self.session().facts()
    }

    /// Begins to count how often other sessions are found at work, for [`Calibration::is_busy`].
    pub fn watch_others(&mut self) {
        self.notes.watch_others();
    }

    /// How long the session lets a statement take.
    pub fn statement_limit(&mut self) -> Duration {
        self.session().statement_limit()
    }

    /// Whether the server runs on this machine.
    pub fn is_local(&mut self) -> bool {
        self.session().is_on_this_machine()
    }

    /// Whether nothing is sent, and results are assumed.
    pub fn is_rehearsal(&mut self) -> bool {
        self.session().is_rehearsal()
    }

    /// How processor times are obtained, for the documents.
    pub fn meter_source(&self) -> &'static str {
        self.meter.source()
    }

    /// Makes the tables anew, with other places in memory and another process: what differs between runs then differs
    /// between passes.
    pub fn load_again(&mut self) -> Result<(), SubjectError> {
        let schema = self.home.schema()?;
        for table in [DENSE, SPARSE] {
            schema.drop_table(table)?;
        }
        schema.reopen()?;
        self.prepared.clear();
        self.prepare_session()?;
        self.seed = self.seed.wrapping_add(1);
        self.load()
    }

    /// Makes and fills the tables. `sizes` are known afterwards.
    pub fn load(&mut self) -> Result<(), SubjectError> {
        let schema = self.home.schema()?;
        let dense = schema.create_table(DENSE, "in_order integer, scattered integer, filler text", "")?;
        let fill = format!("fillfactor = {SPARSE_FILL}");
        let sparse = schema.create_table(SPARSE, "in_order integer, filler text", &fill)?;
        let TableSizes { rows, sparse_rows, .. } = self.sizes;
        let seed = self.seed % (1 << 31);
        let session = schema.session();
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
        self.sizes.blocks = blocks_of(session, &dense, (rows / DENSE_ROWS_A_BLOCK).max(1))?;
        self.sizes.sparse_blocks = blocks_of(session, &sparse, (sparse_rows / SPARSE_ROWS_A_BLOCK).max(1))?;
        session.assume(LOAD_TIME_A_ROW.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX)));
        let hidden = hidden_of(session, &dense, self.sizes.blocks)?;
        self.notes.note_hidden((hidden, self.sizes.blocks), "the table");
        Ok(())
    }

    /// The sizes of the tables.
    pub fn sizes(&self) -> TableSizes {
        self.sizes
    }

    fn session(&mut self) -> &mut Session {
        self.home.session()
    }

    /// Gives a setting of the session a value.
    pub fn set(&mut self, setting: &str, value: &str) -> Result<(), SubjectError> {
        Ok(self.session().set(setting, value)?)
    }

    /// Gives a setting of the session the server's value again.
    pub fn reset(&mut self, setting: &str) -> Result<(), SubjectError> {
        Ok(self.session().run(&format!("RESET {setting}"))?)
    }

    /// Leaves the planner these ways.
    pub fn allow(&mut self, ways: Ways) -> Result<(), SubjectError> {
        let is_on = |setting: &str| match ways {
            Ways::All => setting != "enable_indexonlyscan",
            Ways::Only(chosen) => setting == chosen.setting(),
            Ways::IndexOnly => setting == "enable_indexscan" || setting == "enable_indexonlyscan",
        };
        for setting in WAYS {
            self.set(setting, if is_on(setting) { "on" } else { "off" })?;
        }
        Ok(())
    }

    /// Sets the planner's constants for as long as the session lasts, resets `all` others, and drops plans that were
    /// made before.
    pub fn set_constants(&mut self, all: &[&str], constants: &[(&str, f64)]) -> Result<(), SubjectError> {
        let statement = |name: &&str| match constants.iter().find(|(set, _)| set == name) {
            Some((_, value)) => format!("SET {name} = {}; ", setting_value(*value)),
            None => format!("RESET {name}; "),
        };
        let statements: String = all.iter().map(statement).collect();
        Ok(self.session().run(&format!("{statements}DISCARD PLANS"))?)
    }

    /// The value of a setting of the session, as a number; for one of bytes its blocks. A dry run assumes the default
    /// of a constant that sets have, because sets are written in its unit, and 1 for any other setting.
    pub fn setting(&mut self, name: &str) -> Result<f64, SubjectError> {
        let question = format!("SELECT setting FROM pg_settings WHERE name = '{name}'");
        let assumed = ASSUMED_COSTS.iter().find(|(cost, _)| *cost == name).map_or("1", |(_, value)| *value);
        let text = self.session().text(&question, Some(assumed))?.unwrap_or_default();
        Ok(text.parse().map_err(|_| ServerError::answer(&question, &text, "a number"))?)
    }

    /// Empties the buffers and the page cache of a private server: it is stopped, its files leave the page cache, and
    /// it is started again, with a session as this one was. What stayed cached all the same.
    ///
    /// A given server stays as it is.
    pub fn cool(&mut self) -> Result<StillCached, SubjectError> {
        let stop = self.session().stop_flag();
        let Some(private) = &mut self.reached.private else { return Ok(StillCached::default()) };
        private.stop(&stop)?;
        let left = private.drop_files_from_page_cache(&stop)?;
        let left = StillCached { filesystem: private.filesystem(), ..StillCached::of(&left) };
        let settings = private.settings().clone();
        private.restart(settings, &stop)?;
        self.home.schema()?.reopen()?;
        self.prepared.clear();
        self.prepare_session()?;
        Ok(left)
    }

    /// Sets a new session as the last one was.
    fn prepare_session(&mut self) -> Result<(), SubjectError> {
        self.session().set_all(SETTINGS)?;
        if self.is_as_users {
            self.plan_as_users_do()?;
        }
        // A new session has a backend of its own.
        self.meter = Meter::open(self.home.session())?;
        Ok(())
    }
}

/// Bytes of a payload that stay in shared buffers of these bytes, 0 where they are not known: a scan of more than a
/// quarter of them passes through a ring and leaves nothing there.
fn within(payload: u64, buffers: u64) -> u64 {
    if buffers == 0 { payload } else { payload.min((buffers / BUFFERS_PART).max(PAYLOAD_MIN)) }
}

/// Bytes that tables of these bytes take with their indexes.
fn bytes_needed(payload: u64) -> u64 {
    let rows = payload / ROW_BYTES;
    payload.saturating_add(rows.saturating_mul(INDEX_BYTES_A_ROW)).saturating_add(payload / 2)
}

/// What is made for a payload of these bytes: tables whose rows are sorted once, and their keys for the indexes; the
/// most where the shared buffers are not known. A standby does where `or_standby`.
pub(super) fn needs(payload: u64, buffers: Option<u64>, or_standby: bool) -> Needs {
    let at_most = || verification_set::VerificationRows::at_most(payload);
    let verification = buffers.map_or_else(at_most, |buffers| verification_set::VerificationRows::of(payload, buffers));
    let within = within(payload, buffers.unwrap_or(0));
    let temporary = (within / 2).max(verification.sorted_bytes());
    let rehearsed = verification_set::VerificationRows::of(payload, ASSUMED_BUFFERS);
    let is_known = buffers.is_some() && rehearsed.beyond > 0;
    let by_buffers = is_known.then(|| verification.beyond as f64 / rehearsed.beyond as f64);
    Needs { made: bytes_needed(within) + verification.bytes(), temporary, or_standby, by_buffers }
}

/// The finding about a standby.
pub(super) fn only_queries(address: &str) -> Finding {
    row::STANDBY.of(format!(
        "{address} is a standby, on which no table can be made: no constant was measured there, and no query of \
         readpath's own was run. Your queries were compared under sets that need no measurement. For measured \
         constants, give the address of its primary."
    ))
}

/// The finding about libraries that a server on a copy of a data directory does not load.
pub(super) fn not_preloaded(libraries: &str) -> Option<Finding> {
    let message = format!(
        "The server on the copy does not load what its settings preload ({libraries}), because such a library may run \
         jobs of its own. If one of them changes plans, as citus and timescaledb do, these are not the plans \
         of the original: measure on a test server that has it, with --on postgres://USER@HOST:PORT/DATABASE."
    );
    (!libraries.is_empty()).then(|| row::NOT_PRELOADED.of(message))
}

/// The finding that nothing is measured cold on a given server.
pub(super) fn absent_cold(is_private: bool) -> Option<Finding> {
    // What is measured in its tablespaces can be cold, and gives them proportions alone.
    let message = "No set of constants was measured cold, and no value of effective_io_concurrency and \
                   maintenance_io_concurrency was tried, which takes cold reads: the caches of a given server are not \
                   emptied, because its other users would pay for it. --on postgres:VERSION measures all that on a \
                   private server on this machine's disk.";
    (!is_private).then(|| row::ABSENT_COLD.of(message))
}

/// The finding about a payload that no scan leaves in the shared buffers.
pub(super) fn exceeding(payload: u64, buffers: u64) -> Option<Finding> {
    let within = within(payload, buffers);
    if payload <= within {
        return None;
    }
    let message = format!(
        "The payload takes {} and the server's shared buffers {}: a scan of more than a quarter of them passes through \
         a ring and leaves nothing there, so that costs of what the server has cached were measured on a table of {}.",
        whole_mebibytes(payload),
        size_in_words(buffers),
        size_in_words(within)
    );
    let finding = row::TABLE_EXCEEDS_BUFFERS.of(message).with("table", payload as f64, Unit::Bytes);
    Some(finding.with("shared_buffers", buffers as f64, Unit::Bytes))
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
    use measure::schema::calibrate::SET_CONSTANTS;

    use super::*;

    #[test]
    fn a_dry_run_assumes_no_cost_of_1_for_want_of_the_constants_own() {
        let has_own = |name: &&str| ASSUMED_COSTS.iter().any(|(cost, _)| cost == name);
        assert!(SET_CONSTANTS.iter().all(has_own), "{ASSUMED_COSTS:?}");
    }

    #[test]
    fn a_constant_is_written_without_an_exponent() {
        assert_eq!(setting_value(4.0), "4");
        assert_eq!(setting_value(0.000_002_5), "0.0000025");
        assert_eq!(setting_value(1_234.567_89), "1234.57");
        assert_eq!(setting_value(524_288.0), "524288");
    }

    #[test]
    fn a_table_that_is_not_made_is_not_announced() {
        let payload = 24 << 20;
        let [unknown, small, large] =
            [None, Some(128 << 20), Some(8 << 30)].map(|buffers| needs(payload, buffers, false).made);
        assert!(large < small && small <= unknown, "{large}, {small}, {unknown}");
        assert!(large < payload * 4, "{large} of a table within the buffers and its indexes");
        let mebibytes = [small, large, unknown].map(|bytes: u64| bytes.div_ceil(1 << 20));
        let page = include_str!("../../../../docs/guide/src/safety.md");
        let [small, large, unknown] = mebibytes;
        for said in [format!("up to {small} MiB on a"), format!("{large} MiB on one"), format!("{unknown} MiB at most")]
        {
            assert!(page.contains(&said), "the guide does not say: {said}");
        }
        let help = include_str!("../../../readpath/src/commands/calibrate.rs");
        assert!(help.contains(&format!("24MiB make up to {unknown} MiB")), "the help names what a dry run announces");
    }
}
