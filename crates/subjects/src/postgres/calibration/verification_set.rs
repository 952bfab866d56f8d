//! The queries of the verification: joins of every kind, index-only scans, subqueries, limits along an index, sorts and
//! aggregates at several sizes, over a table within the shared buffers and one beyond them.

use std::time::Duration;

use server::schema;
use server::session::ROW_TIME;

use super::probe::executed;
use super::probing::{ROWS_A_TARGET, STATISTICS_TARGET};
use super::queries::{Assumed, Query};
use super::{Calibration, CalibrationAsked, ChosenPlan, Executed, Ways};
use crate::error::SubjectError;

/// Bytes of a row with its head and its pointer: 24 + 4 × 4 + 41, aligned to 8, and 4; and what it takes in three
/// indexes.
const ROW_BYTES: u64 = 92;
const INDEX_BYTES_A_ROW: u64 = 66;

/// Bytes of a row in a file of a sort: its head of 16, 4 + 41, and its length twice.
const SORTED_BYTES_A_ROW: u64 = 64;

/// Bytes of a row of the small table with its indexes.
const PARENT_BYTES: u64 = 200;

/// Children of a parent in the table within the buffers.
const CHILDREN: u64 = 20;

/// The table beyond the buffers is this much larger than they are, or as large as the payload, and is left out where
/// that is more than this multiple of the payload: on a server with large buffers it would take minutes.
const BEYOND_PERCENT: u64 = 125;
const PAYLOADS_BEYOND_MAX: u64 = 10;

/// Letters of the column that is in no index.
const FILLER: u32 = 40;

/// About what a row of these tables takes to be made and sorted into its indexes, and removed.
const LOAD_TIME_A_ROW: Duration = Duration::from_nanos(2000);

/// What a dry run assumes that a query takes for each row of its table. On an EPYC they took 60 to 70 ns; a dry run
/// takes each set's plan of each query for one of its own, of which a sixth are.
const QUERY_TIME_A_ROW: Duration = Duration::from_nanos(10);

/// The most rows of a table that ANALYZE samples whole, in about half a second. The table within the buffers has fewer
/// at the default payloads, so that each run has the same row estimates: by PostgreSQL's own sample of 30,000 rows,
/// queries whose plans cost nearly the same got one plan in some runs and another in others. A larger table gets that
/// sample: more of it repeats nothing either, and takes a read of a disk for each row.
const SAMPLED_ROWS_MAX: u64 = 400_000;

/// PostgreSQL's own statistics target, for tables that it samples whole: the number of common values goes by it too.
const TARGET_MIN: u64 = 100;

/// Blocks of the run's tables of which none is marked as visible to all: the rows of each were made by one transaction.
/// The first table for the costs was looked at before.
const HIDDEN: &str = "SELECT coalesce(sum(relpages), 0) FROM pg_class WHERE relnamespace = 'readpath'::regnamespace \
    AND relkind = 'r' AND relname <> 'calibrate' AND relallvisible = 0";

/// The tables.
const PARENTS: &str = "calibrate_parents";
const WITHIN: &str = "calibrate_within";
const BEYOND: &str = "calibrate_beyond";

/// Kinds of a parent.
const KINDS: u64 = 100;

/// Rows of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerificationRows {
    /// Of the table within the shared buffers.
    pub within: u64,
    /// Of the table beyond them; 0 where it is left out.
    pub beyond: u64,
}

impl VerificationRows {
    /// For a payload and buffers of these bytes.
    pub(super) fn of(payload: u64, buffers: u64) -> VerificationRows {
        let least = buffers / 100 * BEYOND_PERCENT;
        // A payload beyond the buffers is this table.
        let beyond = if least > payload.saturating_mul(PAYLOADS_BEYOND_MAX) { 0 } else { least.max(payload) };
        let within = super::within(payload, buffers);
        VerificationRows { within: (within / ROW_BYTES).max(CHILDREN * KINDS), beyond: beyond / ROW_BYTES }
    }

    /// Bytes of the payload from which on there is a table beyond buffers of these bytes, in whole mebibytes, and of
    /// that table.
    pub fn payload_beyond(buffers: u64) -> (u64, u64) {
        let beyond = buffers / 100 * BEYOND_PERCENT;
        (beyond.div_ceil(PAYLOADS_BEYOND_MAX).next_multiple_of(1 << 20), beyond)
    }

    /// The same of a private server that has buffers of these bytes now: with a larger payload they are larger too.
    fn payload_beyond_growing(buffers: u64) -> (u64, u64) {
        let (mut payload, mut beyond) = VerificationRows::payload_beyond(buffers);
        loop {
            let asked = CalibrationAsked { has_queries: false, payload: Some(payload), seed: 0 };
            let (enough, of_asked) = VerificationRows::payload_beyond(asked.buffers());
            beyond = of_asked.max(beyond);
            if enough <= payload {
                return (payload, beyond);
            }
            payload = enough;
        }
    }

    /// The most for a payload.
    pub(super) fn at_most(payload: u64) -> VerificationRows {
        VerificationRows { beyond: payload.saturating_mul(PAYLOADS_BEYOND_MAX) / ROW_BYTES, ..Self::of(payload, 0) }
    }

    /// Bytes of the tables with their indexes.
    pub(super) fn bytes(self) -> u64 {
        (self.within + self.beyond).saturating_mul(ROW_BYTES + INDEX_BYTES_A_ROW) + self.parents() * PARENT_BYTES
    }

    /// Bytes of the largest sort: of all rows of the larger table, with the column that is in no index.
    pub(super) fn sorted_bytes(self) -> u64 {
        self.within.max(self.beyond).saturating_mul(SORTED_BYTES_A_ROW)
    }

    fn parents(self) -> u64 {
        self.within / CHILDREN
    }
}

impl Calibration {
    /// Rows of the tables of the verification.
    pub fn verification_rows(&self) -> VerificationRows {
        self.verification
    }

    /// Bytes of the payload from which on there is a table beyond the shared buffers, and of that table.
    pub fn payload_beyond(&mut self) -> (u64, u64) {
        let buffers = self.facts().buffer_bytes;
        match self.is_private() && !self.is_on_copy() {
            true => VerificationRows::payload_beyond_growing(buffers),
            false => VerificationRows::payload_beyond(buffers),
        }
    }

    /// Makes and fills the tables of the verification.
    pub fn load_verification(&mut self) -> Result<(), SubjectError> {
        let rows = self.verification;
        let seed = self.seed % (1 << 31);
        let parents = self.home.schema()?.create_table(PARENTS, "id integer, kind integer, filler text", "")?;
        self.fill(
            (&parents, Scanned::Within),
            rows.parents(),
            &format!(
                "n, abs(hashint8extended(n, {seed}) % {KINDS})::integer, \
            repeat('p', 100)"
            ),
            &["id", "kind"],
        )?;
        for scanned in [Scanned::Within, Scanned::Beyond] {
            let (name, rows) = scanned.of(rows);
            if rows == 0 {
                continue;
            }
            let integer = integer_of(rows);
            let columns = format!("id {integer}, parent integer, amount {integer}, kind integer, filler text");
            let table = self.home.schema()?.create_table(name, &columns, "")?;
            let values = children(seed, rows, self.verification.parents());
            self.fill((&table, scanned), rows, &values, &["id", "parent", "amount"])?;
        }
        // What hides their rows may have begun after the tables for the costs were made.
        let hidden = self.session().number(HIDDEN, 0)?;
        self.notes.note_hidden((hidden, hidden), "tables of this run");
        Ok(())
    }

    fn fill(
        &mut self,
        (table, scanned): (&str, Scanned),
        rows: u64,
        values: &str,
        indexed: &[&str],
    ) -> Result<(), SubjectError> {
        let session = self.home.session();
        session.run(&format!("INSERT INTO {table} SELECT {values} FROM generate_series(1, {rows}) n"))?;
        for column in indexed {
            session.run(&format!("CREATE INDEX ON {table} ({column})"))?;
        }
        self.set(STATISTICS_TARGET, &target(rows).to_string())?;
        self.session().run(&format!("VACUUM (FREEZE, ANALYZE) {table}"))?;
        self.reset(STATISTICS_TARGET)?;
        self.assume(scanned.assumed(LOAD_TIME_A_ROW, rows));
        Ok(())
    }

    /// The queries of the verification over one of the tables.
    pub fn verification_queries(&self, scanned: Scanned) -> Vec<Query> {
        let (name, rows) = scanned.of(self.verification);
        let queries = queries(&schema::full_name(name), rows, self.verification.parents());
        let assumed = scanned.assumed(QUERY_TIME_A_ROW, rows);
        queries.into_iter().map(|(name, text)| Query::of_verification(name, text).taking(assumed)).collect()
    }
}

/// The type of the numbers of these rows: the server refuses a larger one than an integer holds.
fn integer_of(rows: u64) -> &'static str {
    if i32::try_from(rows).is_ok() { "integer" } else { "bigint" }
}

/// The columns of a child: a thousandth of the rows is of one kind, a twentieth of another. The sums of the seed are
/// made here: the server would add in four bytes, which hold the largest seed and no more.
fn children(seed: u64, rows: u64, parents: u64) -> String {
    let [of_parent, of_amount, of_kind] = [1, 2, 3].map(|more| seed + more);
    let integer = integer_of(rows);
    format!(
        "n, 1 + abs(hashint8extended(n, {of_parent}) % {parents})::integer, \
         1 + abs(hashint8extended(n, {of_amount}) % {rows})::{integer}, \
         CASE WHEN hashint8extended(n, {of_kind}) % 1000 = 0 THEN 3 \
         WHEN hashint8extended(n, {of_kind}) % 20 = 0 THEN 2 ELSE 1 END, repeat('c', {FILLER})"
    )
}

/// The statistics target by which ANALYZE samples all of these rows, or PostgreSQL's own for too many.
fn target(rows: u64) -> u64 {
    let sampled = if rows <= SAMPLED_ROWS_MAX { rows } else { 0 };
    sampled.div_ceil(ROWS_A_TARGET).max(TARGET_MIN)
}

/// A table of the verification that is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// The one within the shared buffers.
    Within,
    /// The one beyond them.
    Beyond,
}

impl Scanned {
    /// Its name and its rows.
    fn of(self, rows: VerificationRows) -> (&'static str, u64) {
        match self {
            Scanned::Within => (WITHIN, rows.within),
            Scanned::Beyond => (BEYOND, rows.beyond),
        }
    }

    /// What a dry run assumes that rows take. How many are beyond the buffers, these decide.
    fn assumed(self, of_row: Duration, rows: u64) -> Assumed {
        let time = of_row.mul_f64(rows as f64);
        match self {
            Scanned::Within => Assumed::Known(time),
            Scanned::Beyond => Assumed::ByBuffers(time),
        }
    }
}

impl Calibration {
    /// Leaves one process to do all work, with the planner's ways open.
    pub fn allow_single_process(&mut self) -> Result<(), SubjectError> {
        self.allow(Ways::All)
    }

    /// Counts the rows of a table by a full scan.
    pub fn scan_of(&mut self, scanned: Scanned) -> Result<Executed, SubjectError> {
        let (name, rows) = scanned.of(self.verification);
        self.allow(Ways::Only(ChosenPlan::FullScan))?;
        self.executed(scanned, &format!("SELECT count(*) FROM {}", schema::full_name(name)), rows)
    }

    fn executed(&mut self, scanned: Scanned, statement: &str, rows: u64) -> Result<Executed, SubjectError> {
        self.assume(scanned.assumed(ROW_TIME, rows));
        executed(&self.timed_as(statement, ROW_TIME.as_secs_f64() * rows as f64)?)
    }

    /// Rows of the table beyond the buffers in the order of an index whose rows lie anywhere, one for this number of
    /// blocks: counted by the index alone, and fetched. Each number `at` names other rows.
    pub fn fetch_beyond(&mut self, at: u64, blocks_a_row: u64) -> Result<(Executed, Executed), SubjectError> {
        let rows = (self.verification.beyond / (self.facts().block_bytes / ROW_BYTES) / blocks_a_row).max(1);
        let first = at * rows % self.verification.beyond.max(1);
        let range = format!("amount > {first} AND amount <= {}", first + rows);
        let table = schema::full_name(BEYOND);
        self.allow(Ways::IndexOnly)?;
        let count = format!("SELECT count(*) FROM {table} WHERE {range}");
        // Once more: the first time reads the index.
        self.executed(Scanned::Beyond, &count, rows)?;
        let counted = self.executed(Scanned::Beyond, &count, rows)?;
        self.allow(Ways::Only(ChosenPlan::Index))?;
        let fetch = format!("SELECT count(filler) FROM {table} WHERE {range}");
        Ok((counted, self.executed(Scanned::Beyond, &fetch, rows)?))
    }
}

/// Queries over a table of this number of rows, and its parents.
fn queries(t: &str, rows: u64, parents: u64) -> Vec<(String, String)> {
    let p = schema::full_name(PARENTS);
    let part = |share: f64| ((rows as f64 * share) as u64).max(1);
    let mut all = Vec::new();
    let mut add = |name: &str, text: String| all.push((name.to_string(), text));
    for (name, share) in [("0.2 %", 0.002), ("2 %", 0.02), ("20 %", 0.2)] {
        add(&format!("{name} in order"), format!("SELECT sum(amount) FROM {t} WHERE id <= {}", part(share)));
    }
    for (name, share) in [("0.05 %", 0.0005), ("0.5 %", 0.005), ("3 %", 0.03), ("15 %", 0.15)] {
        let text = format!("SELECT count(filler) FROM {t} WHERE amount <= {}", part(share));
        add(&format!("{name} scattered"), text);
    }
    for (name, share) in [("5 %", 0.05), ("40 %", 0.4)] {
        let text = format!("SELECT count(*) FROM {t} WHERE amount <= {}", part(share));
        add(&format!("{name} by an index alone"), text);
    }
    for kinds in [1, 8, 50] {
        let text = format!("SELECT count(c.filler) FROM {p} p JOIN {t} c ON c.parent = p.id WHERE p.kind < {kinds}");
        add(&format!("children of {kinds} % of the parents"), text);
    }
    for (name, share) in [("0.5 %", 0.005), ("10 %", 0.1), ("100 %", 1.0)] {
        let range = format!("c.id <= {}", part(share));
        let text = format!("SELECT count(p.filler) FROM {t} c JOIN {p} p ON p.id = c.parent WHERE {range}");
        add(&format!("parents of {name} in order"), text);
    }
    all.extend(joins_and_sorts(t, rows, parents).map(|(name, text)| (name.to_string(), text)));
    all
}

/// Joins, subqueries, limits, sorts and aggregates of one size each.
fn joins_and_sorts(t: &str, rows: u64, parents: u64) -> [(&'static str, String); 15] {
    let p = schema::full_name(PARENTS);
    let [hundredth, tenth, half] = [rows / 100, rows / 10, rows / 2].map(|rows| rows.max(1));
    let some_parents = (parents / 10).max(1);
    [
        (
            "parents of 1 % scattered",
            format!("SELECT count(p.filler) FROM {t} c JOIN {p} p ON p.id = c.parent WHERE c.amount <= {hundredth}"),
        ),
        (
            "join of the table with itself",
            format!("SELECT count(b.filler) FROM {t} a JOIN {t} b ON b.id = a.amount WHERE a.id <= {hundredth}"),
        ),
        (
            "join in the order of both",
            format!(
                "SELECT p.id, count(*) FROM {p} p JOIN {t} c ON c.parent = p.id WHERE p.id <= {some_parents} GROUP BY \
                 1 ORDER BY 1"
            ),
        ),
        (
            "largest child of each of 1 %",
            format!("SELECT p.id, (SELECT max(c.amount) FROM {t} c WHERE c.parent = p.id) FROM {p} p WHERE p.kind = 7"),
        ),
        (
            "parents with a rare child",
            format!(
                "SELECT count(*) FROM {p} p WHERE p.kind < 20 AND EXISTS (SELECT FROM {t} c WHERE c.parent = p.id AND \
                 c.kind = 3)"
            ),
        ),
        (
            "parents without a common child",
            format!(
                "SELECT count(*) FROM {p} p WHERE p.kind < 5 AND NOT EXISTS (SELECT FROM {t} c WHERE c.parent = p.id \
                 AND c.kind = 2)"
            ),
        ),
        (
            "parents in a list",
            format!("SELECT count(*) FROM {p} p WHERE p.id IN (SELECT parent FROM {t} WHERE amount <= {hundredth})"),
        ),
        ("last rare rows", format!("SELECT id, filler FROM {t} WHERE kind = 3 ORDER BY id DESC LIMIT 20")),
        ("first scattered rows", format!("SELECT id, filler FROM {t} WHERE kind = 2 ORDER BY amount LIMIT 100")),
        (
            "first rows of a join",
            format!(
                "SELECT p.filler, c.amount FROM {t} c JOIN {p} p ON p.id = c.parent WHERE p.kind < 3 ORDER BY c.amount \
                 LIMIT 50"
            ),
        ),
        ("middle of a sort", format!("SELECT amount, filler FROM {t} ORDER BY amount OFFSET {half} LIMIT 1")),
        (
            "sort of a tenth",
            format!("SELECT parent, amount FROM {t} WHERE id <= {tenth} ORDER BY parent, amount OFFSET {} ", tenth / 2),
        ),
        ("groups by parent", format!("SELECT parent, count(*), sum(amount) FROM {t} GROUP BY 1")),
        ("groups by kind", format!("SELECT kind, count(*), max(filler) FROM {t} GROUP BY 1")),
        ("distinct parents", format!("SELECT count(DISTINCT parent) FROM {t}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::queries::samples::on_debians_server;
    use super::*;

    #[test]
    fn a_transaction_that_began_after_the_tables_for_the_costs_were_made_is_noticed_where_it_hides_rows_of_others() {
        let Some(mut tables) = on_debians_server() else {
            return println!("skipped: Debian's PostgreSQL 15 is not installed");
        };
        tables.load().unwrap();
        let mut other = tables.reached.session().unwrap();
        other.begin_transaction().unwrap();
        other.number("SELECT txid_current()", 1).unwrap();
        assert!(!tables.has_hidden());
        tables.load_verification().unwrap();
        assert!(tables.has_hidden());
    }

    #[test]
    fn a_table_beyond_large_buffers_is_left_out_and_never_made_larger_than_announced() {
        let payload = 24 << 20;
        assert!(VerificationRows::of(payload, 128 << 20).beyond * ROW_BYTES > 128 << 20);
        assert_eq!(VerificationRows::of(payload, 8 << 30).beyond, 0);
        for buffers in [16 << 20, 128 << 20, 1 << 30] {
            let (enough, bytes) = VerificationRows::payload_beyond(buffers);
            assert_eq!(VerificationRows::of(enough, buffers).beyond, bytes / ROW_BYTES, "{enough} for {buffers}");
            assert_eq!(VerificationRows::of(enough - (2 << 20), buffers).beyond, 0, "{enough} for {buffers}");
            assert!(VerificationRows::of(payload, buffers).bytes() <= VerificationRows::at_most(payload).bytes());
        }
    }

    #[test]
    fn a_payload_that_makes_the_buffers_of_a_private_server_larger_is_enough_for_a_table_beyond_these() {
        for payload in [1 << 20, 2 << 20] {
            let buffers = |payload| CalibrationAsked { has_queries: false, payload: Some(payload), seed: 1 }.buffers();
            assert_eq!(VerificationRows::of(payload, buffers(payload)).beyond, 0, "{payload}");
            let (enough, bytes) = VerificationRows::payload_beyond_growing(buffers(payload));
            let beyond = VerificationRows::of(enough, buffers(enough)).beyond;
            assert!(enough == 3 << 20 && beyond == bytes / ROW_BYTES && beyond > 0, "{enough} for {payload}");
        }
    }

    #[test]
    fn all_rows_of_the_table_within_the_buffers_are_sampled_and_no_more_than_a_target_allows() {
        let private = super::super::PAYLOAD_PRIVATE;
        for (payload, buffers) in [(super::super::PAYLOAD_GIVEN, 128 << 20), (private, 5 * private + (8 << 20))] {
            let within = VerificationRows::of(payload, buffers).within;
            assert!(target(within) * ROWS_A_TARGET >= within, "{within}");
        }
        assert_eq!([0, 1, 30_000, 30_001, 400_000, 400_001].map(target), [100, 100, 100, 101, 1334, 100]);
    }

    #[test]
    fn the_largest_seed_and_the_number_of_a_row_of_many_exceed_no_integer_on_the_server() {
        let largest = children((1 << 31) - 1, 100, 10);
        for seed in [2_147_483_648_u64, 2_147_483_649, 2_147_483_650] {
            assert!(largest.contains(&format!("hashint8extended(n, {seed}) %")), "no {seed}: {largest}");
        }
        assert!(children(1, 1 << 31, 10).contains("% 2147483648)::bigint"));
        assert_eq!([2_147_483_647, 2_147_483_648].map(integer_of), ["integer", "bigint"]);
    }

    #[test]
    fn the_table_within_the_buffers_stays_there_whatever_the_payload() {
        let rows = VerificationRows::of(8 << 30, 128 << 20);
        assert!(rows.within * ROW_BYTES <= 32 << 20 && rows.beyond * ROW_BYTES > 127 << 26, "{rows:?}");
    }

    #[test]
    fn every_query_of_the_verification_has_a_name_of_its_own() {
        let mut names: Vec<String> = queries("t", 100_000, 5000).into_iter().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert!(names.len() == count && count >= 24, "{names:?}");
    }
}
