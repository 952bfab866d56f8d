//! Nested loops on a PostgreSQL server: by the index, one inner row after the other, and by a bitmap of the same keys,
//! which gathers their blocks first.

use std::time::{Duration, Instant};

use measure::schema::join::parameters;
use measure::schema::subjects::findings as row;
use measure::{Finding, Nanos, Parameters};
use serde_json::json;
use server::{Buffers, Plan, ServerError, Session};

use super::cold::{Emptying, Startup};
use super::cold_table::{Ground, READ_TIME};
use super::fetched::{Fetched, count_blocks};
use super::inner_rows::InnerRows;
use super::reached::Reached;
use crate::error::SubjectError;
use crate::nested_loops::{
    Asked, BlockCost, Explained, Group, InnerFacts, InnerTable, JoinCost, JoinPass, JoinVariant, Keys, NestedLoops,
    Sources,
};
use crate::opening::{Opening, Progress};
use crate::subject::{Closing, Subject};

/// The most that `effective_io_concurrency` can be.
const CONCURRENCY_MAX: u32 = 1000;

/// About what a join takes with the emptying before it.
const JOIN_TIME: Duration = Duration::from_millis(600);

/// The I/O method that PostgreSQL was given for the sake of many reads at once.
const IO_URING: &str = "io_uring";

/// Refuses settings that no server has.
pub(super) fn check_concurrencies(asked: &Asked) -> Result<(), String> {
    let Some(value) = asked.concurrencies.iter().find(|value| **value > CONCURRENCY_MAX) else { return Ok(()) };
    Err(format!("--concurrency {value} cannot be: effective_io_concurrency is 0 to {CONCURRENCY_MAX}"))
}

/// The `effective_io_concurrency` that the tablespace of new tables has of its own, which goes before the session's.
///
/// Source: PostgreSQL, `get_tablespace_io_concurrency` in src/backend/utils/cache/spccache.c.
const CONCURRENCY_OF_TABLESPACE: &str = "SELECT split_part(o, '=', 2) FROM pg_database d LEFT JOIN pg_tablespace s ON \
    s.spcname = current_setting('default_tablespace') JOIN pg_tablespace t ON t.oid = coalesce(s.oid, \
    d.dattablespace) CROSS JOIN unnest(t.spcoptions) o WHERE d.datname = current_database() AND split_part(o, '=', 1) \
    = 'effective_io_concurrency'";

/// Refuses numbers of reads in flight that would have no effect, all of whose cases would be of another one.
fn check_tablespace(session: &mut Session, concurrencies: &[u32]) -> Result<(), SubjectError> {
    let found = session.rows(CONCURRENCY_OF_TABLESPACE)?;
    let Some(own) = found.into_iter().flatten().flatten().next() else { return Ok(()) };
    match concurrencies.iter().all(|value| value.to_string() == own) {
        true => Ok(()),
        false => Err(SubjectError::Parameters(format!(
            "the tablespace of the table has an effective_io_concurrency of its own, which goes before --concurrency: \
             give --concurrency {own}"
        ))),
    }
}

/// The finding where a server's programs lack a method that the version has.
pub(super) fn absent_io_uring(startups: &[Startup]) -> Option<Finding> {
    let methods: Vec<&str> = startups.iter().filter_map(|startup| startup.io_method.as_deref()).collect();
    let message = "The server's programs do not offer io_method io_uring, because they were built without liburing: \
                   its cases are absent. --on postgres:DIRECTORY takes the programs of another installation.";
    (methods.len() > 1 && !methods.contains(&IO_URING)).then(|| row::ABSENT_IO_URING.of(message))
}

/// The finding about where reads may have come from; `None` of a private server, whose page cache is emptied.
pub(super) fn not_emptied(emptying: &Emptying) -> Option<Finding> {
    let page_cache = "Blocks that are not in shared buffers may come from the operating system's page cache, which \
                      only a private server's files leave: --on postgres:18 starts one.";
    match emptying {
        Emptying::Private => None,
        Emptying::Relation(_) | Emptying::Buffers(_) => {
            let message = format!("The table left shared buffers before each join. {page_cache}");
            Some(row::PAGE_CACHE_NOT_EMPTIED.of(message))
        }
        Emptying::Never(reason) => {
            let message = format!(
                "Shared buffers could not be emptied, because {reason}: each join took keys of its own instead, of \
                 which blocks may have been there. {page_cache}"
            );
            Some(row::BUFFERS_NOT_EMPTIED.of(message))
        }
    }
}

/// A way to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerJoin {
    /// Look-ups in the index one after the other, each with its row.
    NestedLoop,
    /// The rows' addresses from the index first, then their blocks in order, with this `effective_io_concurrency`.
    BitmapScan { concurrency: u32 },
}

impl ServerJoin {
    fn variant(self) -> JoinVariant {
        let of = parameters::EFFECTIVE_IO_CONCURRENCY;
        match self {
            ServerJoin::NestedLoop => {
                JoinVariant { method: "nested-loop", parameters: Parameters::new(), size: None, is_gathered: false }
            }
            ServerJoin::BitmapScan { concurrency } => {
                let (parameters, size) = (Parameters::from_iter([of.of(concurrency)]), Some(concurrency.into()));
                JoinVariant { method: "bitmap-scan", parameters, size, is_gathered: true }
            }
        }
    }

    /// The step of the plan that reads the table.
    fn step(self) -> &'static str {
        match self {
            ServerJoin::NestedLoop => "Index Scan",
            ServerJoin::BitmapScan { .. } => "Bitmap Heap Scan",
        }
    }

    fn settings(self) -> Vec<(&'static str, String)> {
        let by_index = self == ServerJoin::NestedLoop;
        let word = |is_on: bool| if is_on { "on".to_string() } else { "off".into() };
        let mut settings = vec![("enable_indexscan", word(by_index)), ("enable_bitmapscan", word(!by_index))];
        if let ServerJoin::BitmapScan { concurrency } = self {
            settings.push(("effective_io_concurrency", concurrency.to_string()));
        }
        settings
    }

    /// The statement: the sum of the values beside the keys.
    fn statement(self, keys: Keys) -> String {
        let [table, _] = InnerRows::relations();
        let (first, end) = (keys.first, keys.first + keys.count);
        match self {
            ServerJoin::NestedLoop => format!(
                "SELECT sum(i.value) FROM generate_series({first}::bigint, {}::bigint) AS o(key) JOIN {table} i ON \
                 i.key = o.key",
                end - 1
            ),
            ServerJoin::BitmapScan { .. } => {
                format!("SELECT sum(i.value) FROM {table} i WHERE i.key >= {first} AND i.key < {end}")
            }
        }
    }
}

/// A server with the inner table in the schema of a run.
pub(super) struct PostgresLoops {
    ground: Ground,
    asked: Asked,
    joins: Vec<ServerJoin>,
    startups: Vec<Startup>,
}

impl PostgresLoops {
    /// Connects and sees whether there is room; makes nothing.
    pub(super) fn open(
        reached: Reached,
        asked: Asked,
        opening: &mut Opening<'_>,
    ) -> Result<PostgresLoops, SubjectError> {
        let check = |session: &mut Session| check_tablespace(session, &asked.concurrencies);
        let ground = Ground::open(reached, |_| InnerRows::new(asked.table(0)), check, "--rows", opening)?;
        let bitmaps =
            asked.concurrencies.iter().map(|concurrency| ServerJoin::BitmapScan { concurrency: *concurrency });
        let joins = std::iter::once(ServerJoin::NestedLoop).chain(bitmaps).collect();
        Ok(PostgresLoops { ground, asked, joins, startups: Vec::new() })
    }

    /// Empties caches, leaves the planner one way, and has the plan made once, so that what planning reads is there:
    /// the join comes next.
    fn turn(&mut self, join: ServerJoin, keys: Keys) -> Result<String, SubjectError> {
        let table = self.ground.table()?;
        table.empty(true)?;
        let statement = join.statement(keys);
        let session = table.session();
        session.assume(READ_TIME.saturating_mul(u32::try_from(keys.count).unwrap_or(u32::MAX)));
        for (setting, value) in join.settings() {
            session.set(setting, &value)?;
        }
        let plan = session.explain_with("", &statement, Plan::assumed(join.step(), Buffers::default()))?;
        plan.step(&statement, join.step())?;
        Ok(statement)
    }

    /// A join once more, explained: apart from those that are timed, because explaining takes time.
    fn explain(&mut self, join: ServerJoin, keys: Keys) -> Result<Explained, SubjectError> {
        let statement = self.turn(join, keys)?;
        let table = self.ground.table()?;
        let plan = table.session().explain(&statement, Plan::assumed(join.step(), Buffers::default()))?;
        let waiting = plan.top.read_ms.filter(|_| table.untimed.is_none()).map(|ms| Nanos((ms * 1e6) as u64));
        let Buffers { reads, hits } = plan.buffers()?;
        Ok(Explained { read: reads, hits, waiting })
    }

    fn group(&self, startup: &Startup) -> Group {
        let Startup { io_method, direct } = startup;
        let mut labels = Parameters::from_iter([parameters::DIRECT.of(*direct)]);
        labels.extend(io_method.as_ref().map(|method| parameters::IO_METHOD.of(method.as_str())));
        Group {
            name: io_method.as_ref().map_or(String::new(), |method| format!("io_method {method}")),
            is_direct: *direct,
            parameters: labels,
            variants: self.joins.iter().map(|join| join.variant()).collect(),
            gathers_nothing: startup.gathers_nothing(self.ground.notes.name()),
        }
    }

    /// Notes from where reads may have come.
    fn note_caches(&mut self) {
        let Ok(table) = self.ground.table() else { return };
        match not_emptied(table.cold.emptying()) {
            Some(finding) => self.ground.notes.find(finding),
            None => self.ground.note_page_cache(),
        }
    }
}

impl Subject for PostgresLoops {
    fn name(&self) -> &str {
        self.ground.notes.name()
    }

    fn description(&self) -> Parameters {
        self.ground.notes.description()
    }

    fn findings(&mut self) -> Vec<Finding> {
        self.ground.findings()
    }

    fn finish(mut self: Box<Self>) -> Closing {
        self.note_caches();
        self.ground.finish()
    }
}

impl NestedLoops for PostgresLoops {
    fn prepare(&mut self, table: InnerTable, progress: &mut Progress<'_>) -> Result<InnerFacts, SubjectError> {
        let blocks = self.ground.load(&InnerRows::new(table), progress)?;
        self.ground.notes.describe("rows", json!(self.asked.rows));
        self.ground.notes.describe("server_table_blocks", json!(blocks));
        self.startups = self.ground.table()?.startups()?;
        self.ground.notes.find(absent_io_uring(&self.startups));
        Ok(InnerFacts {
            groups: self.startups.iter().map(|startup| self.group(startup)).collect(),
            keys_may_repeat: false,
            is_virtual: false,
            join_time: JOIN_TIME,
            sources: Sources {
                elapsed: "clock, from sending the statement to its answer",
                waiting: "EXPLAIN's I/O Read Time (track_io_timing), in joins apart",
                blocks: "the session's own counts (pg_stat_get_xact_blocks_fetched, _hit), in the join that is timed",
                explained: Some("EXPLAIN (ANALYZE, BUFFERS), in joins apart"),
                ..Sources::default()
            },
        })
    }

    fn turn_to(&mut self, group: usize) -> Result<Result<(), Finding>, SubjectError> {
        let startup = self.startups.get(group).ok_or(SubjectError::NotPrepared)?.clone();
        Ok(startup.absence(self.ground.start(&startup)?))
    }

    fn join(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError> {
        let join = *self.joins.get(pass.variant).ok_or(SubjectError::NotPrepared)?;
        let statement = self.turn(join, pass.keys)?;
        let [table, index] = InnerRows::relations();
        let session = self.ground.table()?.session();
        count_blocks(session)?;
        session.begin_transaction()?;
        let before = [Fetched::of(session, &table, 0)?, Fetched::of(session, &index, 0)?];
        let started = Instant::now();
        let sum = session.text(&statement, None)?;
        let elapsed = Nanos(started.elapsed().as_nanos() as u64);
        let after = [Fetched::of(session, &table, 0)?, Fetched::of(session, &index, 0)?];
        session.commit()?;
        let sum = if session.is_rehearsal() { None } else { Some(number(&statement, sum)?) };
        let blocks = |of: usize| {
            let Buffers { reads, hits } = after[of].since(before[of]);
            BlockCost { read: reads, hits: Some(hits), ..BlockCost::default() }
        };
        let (table, index) = (blocks(0), blocks(1));
        let explained = pass.explained.map(|keys| self.explain(join, keys)).transpose()?;
        Ok(JoinCost { sum, elapsed, table, index, explained, ..JoinCost::default() })
    }
}

/// The sum of no rows is null. The server's has more than 64 bits where it needs them; what it is compared with is the
/// sum modulo 2^64.
fn number(statement: &str, sum: Option<String>) -> Result<i64, ServerError> {
    let Some(sum) = sum else { return Ok(0) };
    let whole: i128 = sum.parse().map_err(|_| ServerError::answer(statement, &sum, "a whole number"))?;
    Ok(whole as i64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sys::time::Clock;

    use super::*;
    use crate::opening::Environment;
    use crate::postgres::reached::tests::private_server;

    #[test]
    fn both_ways_ask_for_the_same_keys() {
        let keys = Keys { first: 301, count: 300 };
        let by_index = ServerJoin::NestedLoop.statement(keys);
        assert!(by_index.contains("generate_series(301::bigint, 600::bigint)"), "{by_index}");
        let gathered = ServerJoin::BitmapScan { concurrency: 16 };
        assert!(gathered.statement(keys).ends_with("i.key >= 301 AND i.key < 601"));
        assert!(gathered.settings().contains(&("effective_io_concurrency", "16".into())));
    }

    #[test]
    fn reads_in_flight_that_a_tablespace_sets_for_itself_are_not_named_by_another_number() {
        let Some(reached) = private_server() else { return };
        let (private, stop) = (reached.private.as_ref().unwrap(), Arc::clone(&reached.stop));
        private.ask("ALTER TABLESPACE pg_default SET (effective_io_concurrency = 16)", &stop).unwrap();
        let mut session = reached.session().unwrap();
        assert_eq!(check_tablespace(&mut session, &[16]), Ok(()));
        drop(session);
        let mut opening = Opening {
            environment: &Environment::new(std::env::temp_dir()),
            clock: Clock::calibrate(),
            stop,
            progress: &mut |_, _| {},
        };
        let asked = Asked { rows: 1000, concurrencies: vec![0, 16], ..Asked::default() };
        // Before the first subject of the run is measured.
        let refused = PostgresLoops::open(reached, asked, &mut opening).err().unwrap().to_string();
        assert!(refused.ends_with("give --concurrency 16"), "{refused}");
    }

    #[test]
    fn a_sum_beyond_64_bits_is_no_error_and_the_same_as_the_wrapping_sum() {
        let sum = |text: &str| number("SELECT", Some(text.into()));
        assert_eq!(sum("9223372036854775807").unwrap(), i64::MAX);
        assert_eq!(sum("9223372036854775808").unwrap(), i64::MAX.wrapping_add(1));
        assert_eq!(sum("18446744073709551621").unwrap(), 5);
        assert_eq!(number("SELECT", None).unwrap(), 0);
        assert!(sum("1.5").is_err());
    }
}
