//! Queries whose plans are compared: those of the verification, and the user's own, which are prepared, and planned and
//! run in transactions that write nothing.
//!
//! What the server refuses of a user's query is an answer about that query, in a sentence, and no failure of the run.

mod definitions;
#[cfg(test)]
pub(super) mod samples;
mod statement;
mod tokens;
mod unfinished;
mod verbose_plan;
mod volatile;

use std::time::{Duration, Instant};

use server::{Buffers, Plan, ServerError, UNREADABLE};

use self::statement::{is_preparable, makes_table};
pub use self::unfinished::{Answered, Unfinished};
use self::unfinished::{NOT_PREPARABLE, not_known, of_no_plan, unfinished};
use self::verbose_plan::{has_step, has_tables, hides_calls, is_decided_late, lacks_partitions, writes};
pub use self::volatile::Volatile;
use super::own_queries::parameters_of;
use super::{Calibration, SETTINGS, WAYS};
use crate::error::SubjectError;

/// What other users' statements find on a server where nothing else is set, and a private server does not have.
const USUAL: [(&str, &str); 2] = [("max_parallel_workers_per_gather", "2"), ("jit", "on")];

/// Parameters without values get the plan that fits all of them.
const GENERIC: (&str, &str) = ("plan_cache_mode", "force_generic_plan");

/// Longest planning of a user's query.
const PLANNING_LIMIT: Duration = Duration::from_secs(5);

/// EXPLAIN's option, from 16 on, that keeps the partitions which values of parameters would rule out.
const KEEPING_PARTITIONS: (&str, u32) = ("GENERIC_PLAN, ", 16);

/// The foreign tables among what this transaction has locked, and among the partitions of that: to prepare a statement
/// locks what it reads, by way of views too.
const FOREIGN: &str = "WITH RECURSIVE locked(oid) AS (SELECT l.relation FROM pg_catalog.pg_locks l WHERE l.pid = \
    pg_catalog.pg_backend_pid() AND l.locktype = 'relation' UNION SELECT i.inhrelid FROM locked JOIN \
    pg_catalog.pg_inherits i ON i.inhparent = locked.oid) SELECT pg_catalog.quote_ident(n.nspname) || '.' || \
    pg_catalog.quote_ident(c.relname) FROM locked JOIN pg_catalog.pg_class c ON c.oid = locked.oid JOIN \
    pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'f' ORDER BY 1";

/// Sets the search path of our own questions, in a transaction that has the role's.
const OWN_NAMES: &str = "SET LOCAL search_path = pg_catalog";

/// Most values that a statement is executed with, as the highest number of a parameter that is read of its text.
const VALUES_MAX: u64 = 65_535;

/// What a dry run assumes that a query of the user takes.
const ASSUMED_TIME: Duration = Duration::from_millis(10);

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What it is called on pages.
    pub name: String,
    /// What stands behind EXPLAIN: the statement, or the execution of a prepared one.
    statement: String,
    /// What prepares the statement, before it is executed; `None` where nothing does.
    preparation: Option<String>,
    /// Options of EXPLAIN where it is not run, each with a comma behind it.
    options: &'static str,
    /// Whether it is the user's.
    pub is_own: bool,
    /// Why it is explained and not run.
    pub not_run: Option<Unfinished>,
    /// Whether it reads or writes a table other than the server's own catalogs.
    pub has_tables: bool,
    /// What a dry run assumes that it takes.
    assumed: Assumed,
}

/// What a dry run assumes that something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assumed {
    /// This long.
    Known(Duration),
    /// The same with the shared buffers that it takes the server to have: with larger ones longer.
    ByBuffers(Duration),
}

impl Query {
    /// A query of ours, over our own tables.
    pub fn of_verification(name: String, statement: String) -> Query {
        let assumed = Assumed::Known(ASSUMED_TIME);
        let preparation = None;
        Query { name, statement, preparation, options: "", is_own: false, not_run: None, has_tables: true, assumed }
    }

    /// The same, of which a dry run assumes that it takes this long.
    pub(super) fn taking(self, assumed: Assumed) -> Query {
        Query { assumed, ..self }
    }

    /// The same with more behind its name.
    pub fn named(self, more: &str) -> Query {
        Query { name: self.name + more, ..self }
    }
}

impl Calibration {
    /// In a dry run, adds to the time that the statements would take.
    pub(super) fn assume(&mut self, time: Assumed) {
        match time {
            Assumed::Known(time) => self.session().assume(time),
            Assumed::ByBuffers(time) => self.session().assume_by_buffers(time),
        }
    }

    /// Leaves statements to be planned and run as those of other users are.
    pub fn plan_as_users_do(&mut self) -> Result<(), SubjectError> {
        self.is_as_users = true;
        for setting in SETTINGS.iter().map(|(setting, _)| *setting).chain(WAYS) {
            self.reset(setting)?;
        }
        let usual: &[(&str, &str)] = if self.is_private() && !self.is_on_copy() { &USUAL } else { &[] };
        usual.iter().chain([&GENERIC]).try_for_each(|(setting, value)| self.set(setting, value))
    }

    /// Closes ways of the planner to it, by the names of their settings, or opens them all again.
    pub fn close_ways(&mut self, settings: &[&str], open: &[&str]) -> Result<(), SubjectError> {
        Ok(self.session().run(&closing(settings, open))?)
    }

    /// Prepares a user's query, and finds out whether it may be run. The script of a dry run says where it may not.
    pub fn prepare_own(
        &mut self,
        number: usize,
        (name, text): (&str, &str),
        volatile: &Volatile,
    ) -> Result<Answered<Query>, SubjectError> {
        let mut answered = self.prepare_or_refuse(number, (name, text), volatile)?;
        if parameters_of(text) == 0 {
            answered = answered.map_err(Unfinished::without_parameters);
        }
        let why = match &answered {
            // A call that the planner drops keeps no query from being run.
            Ok(query) => {
                query.not_run.as_ref().map(|why| format!("is not run, as far as its text shows: {}", why.sentence()))
            }
            Err(why) => Some(format!("is not compared: {}", why.sentence())),
        };
        if let Some((why, (recorder, _))) = why.zip(self.reached.recorder.as_ref()) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            recorder.remark(&format!("`{name}` {why}"));
        }
        Ok(answered)
    }

    /// The same, of which nothing is said.
    fn prepare_or_refuse(
        &mut self,
        number: usize,
        (name, text): (&str, &str),
        volatile: &Volatile,
    ) -> Result<Answered<Query>, SubjectError> {
        let refused = |why: String| Ok(Err(Unfinished::Refused(why)));
        if let Some(why) = refused_unsent(text) {
            return refused(why.into());
        }
        let prepared = format!("readpath_{number}");
        let preparation = format!("PREPARE {prepared} AS {text}");
        let outside = self.planning(|tables| {
            tables.session().run_one(&preparation)?;
            tables.foreign_table()
        })?;
        match outside {
            Err(why) => return Ok(Err(why)),
            Ok(Some(table)) => return refused(format!("it reads the foreign table {table}, {ELSEWHERE}")),
            // A server refuses it, and a dry run has none.
            Ok(None) if self.is_rehearsal() && !is_preparable(text) => return refused(NOT_PREPARABLE.into()),
            Ok(None) => {}
        }
        self.prepared.insert(preparation.clone());
        let counted = format!(
            "SELECT coalesce(cardinality(parameter_types), 0) FROM pg_prepared_statements WHERE name = '{prepared}'"
        );
        let parameters = self.session().number(&counted, parameters_of(text))?;
        let statement = execution(&prepared, parameters);
        let (keeping, since) = KEEPING_PARTITIONS;
        let options = if parameters > 0 && self.facts().major() >= since { keeping } else { "" };
        let query = Query::of_verification(name.into(), statement);
        let mut query = Query { options, preparation: Some(preparation), is_own: true, ..query };
        let verbose = format!("EXPLAIN ({options}VERBOSE, FORMAT JSON) {}", query.statement);
        let plan = match self.planning(|tables| tables.session().rows(&verbose))? {
            Err(why) => return Ok(Err(why)),
            Ok(rows) => rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n"),
        };
        if parameters > 0 && lacks_partitions(&plan) {
            return refused(without_partitions(self.facts().major()));
        }
        if is_decided_late(&plan, self.facts().major()) {
            return refused(UNDECIDED_PLAN.into());
        }
        query.not_run = self.why_not_run((text, &plan), parameters, volatile)?;
        query.has_tables = self.is_rehearsal() || has_tables(&plan) || lacks_partitions(&plan);
        Ok(Ok(query))
    }

    /// A foreign table that the statement reads which this transaction has just prepared. It is looked for on a copy of
    /// a data directory alone, because nothing there may ask another server.
    fn foreign_table(&mut self) -> Result<Option<String>, ServerError> {
        if !self.is_on_copy() {
            return Ok(None);
        }
        Ok(self.session().rows(FOREIGN)?.into_iter().flatten().flatten().next())
    }

    /// Why a query is not run on a copy of a data directory whose plan asks another server. What names the foreign
    /// table is then a function in SQL, which is known only from the plan.
    fn reads_elsewhere(&self, plan: &str) -> Option<String> {
        let is_foreign = plan.contains("\"Node Type\": \"Foreign Scan\"");
        (self.is_on_copy() && is_foreign).then(|| format!("it reads a foreign table, {ELSEWHERE}"))
    }

    /// Why a query with this text and verbose plan is not run.
    fn why_not_run(
        &mut self,
        (text, plan): (&str, &str),
        parameters: u64,
        volatile: &Volatile,
    ) -> Result<Option<Unfinished>, SubjectError> {
        // A dry run has the text alone.
        let shown = match self.is_rehearsal() {
            true => Volatile::of_every_server().in_text_alone(text),
            false => writes(plan).or_else(|| volatile.in_plan(plan)),
        };
        let shown = shown.map(Unfinished::Refused);
        if shown.is_some() && !self.is_rehearsal() {
            return Ok(shown);
        }
        let has_functions = volatile.has_domains() && has_step(plan, "Function Scan");
        // A dry run, which knows no plan, lists what may be asked: also of a call that its plan may not show.
        if hides_calls(plan, self.facts().major()) || has_functions || self.is_rehearsal() {
            let hidden = match self.texts_of(text)? {
                Ok(texts) => volatile.in_texts(&texts, has_functions).map(Unfinished::Refused),
                Err(why) => Some(not_known(&why)),
            };
            let why = shown.or(hidden);
            if why.is_some() {
                return Ok(why);
            }
        }
        let without_values = "its parameters have no values: write a value in place of each $1, in a file of --queries";
        let lacks_values = || (parameters > 0).then(|| without_values.to_string());
        let unseen = volatile.unseen().map(|why| Unfinished::refusing(why, volatile.is_locked()));
        let others = || lacks_values().or_else(|| self.reads_elsewhere(plan)).map(Unfinished::Refused);
        Ok(unseen.or_else(others))
    }

    /// The plan of a query by the constants that are set.
    pub fn plan_of(&mut self, query: &Query) -> Result<Answered<Plan>, SubjectError> {
        if let Err(why) = self.prepare_again(query)? {
            return Ok(Err(why));
        }
        let statement = query.statement.clone();
        let assumed = Plan::assumed("Seq Scan", Buffers::default());
        if query.is_own {
            let options = query.options.trim_end_matches(", ");
            return self.planning(|tables| tables.session().explain_with(options, &statement, assumed));
        }
        Ok(Ok(self.session().explain_with("", &statement, assumed)?))
    }

    /// Runs a query by the constants that are set, and gives its plan with what each step did.
    pub fn run_query(&mut self, query: &Query, limit: Duration) -> Result<Result<Plan, Unfinished>, SubjectError> {
        if let Err(why) = self.prepare_again(query)? {
            return Ok(Err(why));
        }
        let statement = query.statement.clone();
        self.assume(query.assumed);
        let mut assumed = Plan::assumed("Seq Scan", Buffers::default());
        assumed.execution_ms = Some(ASSUMED_TIME.as_secs_f64() * 1e3);
        if query.is_own {
            let outcome = self.within(limit, |tables| tables.session().explain(&statement, assumed))?;
            return Ok(outcome.map_err(Unfinished::of_a_run));
        }
        Ok(Ok(self.session().explain(&statement, assumed)?))
    }

    /// Prepares a query that another session had prepared.
    fn prepare_again(&mut self, query: &Query) -> Result<Result<(), Unfinished>, SubjectError> {
        let Some(preparation) = query.preparation.as_ref().filter(|text| !self.prepared.contains(*text)) else {
            return Ok(Ok(()));
        };
        let outcome = self.within(PLANNING_LIMIT, |tables| tables.session().run_one(preparation))?;
        if outcome.is_ok() {
            self.prepared.insert(preparation.clone());
        }
        Ok(outcome.map_err(of_no_plan))
    }

    /// Prepares or plans a query in a transaction that writes nothing. What the server refuses, or takes too long for,
    /// is a sentence; a lost server is an error.
    fn planning<T>(
        &mut self,
        work: impl FnOnce(&mut Calibration) -> Result<T, ServerError>,
    ) -> Result<Answered<T>, SubjectError> {
        Ok(self.within(PLANNING_LIMIT, work)?.map_err(of_no_plan))
    }

    /// Works in a transaction that writes nothing. What the server refuses is a sentence; a lost server is an error.
    fn within<T>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(&mut Calibration) -> Result<T, ServerError>,
    ) -> Result<Answered<T>, SubjectError> {
        let limit = limit.min(self.session().statement_limit());
        self.session().begin_read_only(limit)?;
        let started = Instant::now();
        let outcome = work(self);
        let took = started.elapsed();
        let refused = match outcome {
            Ok(value) => {
                self.session().roll_back()?;
                return Ok(Ok(value));
            }
            Err(error) => unfinished(error, took, limit)?,
        };
        self.session().roll_back()?;
        Ok(Err(refused))
    }

    /// Whether the sessions of all roles can be seen.
    pub fn sees_others(&mut self) -> bool {
        self.facts().reads_all_stats
    }

    /// Whether rows of the tables are not known to be visible to all.
    pub fn has_hidden(&self) -> bool {
        self.notes.has_hidden()
    }

    /// Whether other sessions were at work in a good part of the looks since the comparison began.
    pub fn is_busy(&self) -> bool {
        self.notes.is_busy()
    }
}

/// The setting that closes parallel plans, by a number.
pub const PARALLEL: &str = "max_parallel_workers_per_gather";

/// The statements that close ways of the planner, after all others are opened again: sent as one, because a server far
/// away takes a while to answer each.
fn closing(settings: &[&str], open: &[&str]) -> String {
    let opened = open.iter().map(|setting| format!("RESET {setting}; "));
    let off = |setting: &str| if setting == PARALLEL { "0" } else { "off" };
    let closed = settings.iter().map(|setting| format!("SET {setting} = '{}'; ", off(setting)));
    opened.chain(closed).chain(["DISCARD PLANS".into()]).collect()
}

/// Why a query is not compared whose plan lacks partitions.
fn without_partitions(major: u32) -> String {
    let (_, since) = KEEPING_PARTITIONS;
    let why =
        if major < since { format!(", and before PostgreSQL {since} EXPLAIN cannot keep them") } else { "".into() };
    format!(
        "its parameters have no values, so partitions are pruned from its generic plan{why}: write a value in place of \
         each $1, in a file of --queries"
    )
}

/// Why a query is not compared whose plan is known only when it runs.
const UNDECIDED_PLAN: &str = "PostgreSQL 13 decides only when the query runs whether a subquery of it is run for each \
                              row or read into a hash table, which EXPLAIN does not show";

/// Why a query with this text is not even sent to be prepared.
fn refused_unsent(text: &str) -> Option<&'static str> {
    match text {
        UNREADABLE => Some(IN_ANOTHER_ENCODING),
        text => makes_table(text).then_some(MAKES_TABLE),
    }
}

/// What is said of a text of the server's list that is no UTF-8.
const IN_ANOTHER_ENCODING: &str = "its text is in another encoding than UTF-8, which readpath cannot read: give it, \
                                   with values, in a file of --queries";

/// What is said of a SELECT with INTO.
const MAKES_TABLE: &str = "it makes a table: give it without INTO";

/// What is said of a foreign table in a copy of a data directory.
const ELSEWHERE: &str = "whose server is none of the copy's";

/// Executes a prepared statement with a null for each parameter. A server may give any number of these.
fn execution(prepared: &str, parameters: u64) -> String {
    let values = vec!["NULL"; parameters.min(VALUES_MAX) as usize].join(", ");
    let values = if values.is_empty() { values } else { format!("({values})") };
    format!("EXECUTE {prepared}{values}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_cannot_be_read_is_not_sent_as_if_it_were_a_statement() {
        assert!(refused_unsent(UNREADABLE).is_some_and(|why| why.contains("another encoding")));
        assert_eq!(refused_unsent("SELECT 1 INTO t"), Some(MAKES_TABLE));
        assert_eq!(refused_unsent("SELECT 1"), None);
    }

    #[test]
    fn a_number_of_parameters_that_no_statement_has_takes_no_more_memory_than_the_most_that_one_has() {
        assert_eq!(execution("readpath_1", 0), "EXECUTE readpath_1");
        assert_eq!(execution("readpath_1", 2), "EXECUTE readpath_1(NULL, NULL)");
        assert_eq!(execution("readpath_1", u64::MAX), execution("readpath_1", VALUES_MAX));
    }

    #[test]
    fn what_only_old_versions_cannot_is_said_of_them_alone() {
        assert!(without_partitions(15).contains("before PostgreSQL 16 EXPLAIN cannot keep them: write a value"));
        assert!(!without_partitions(16).contains("before"));
        assert!(without_partitions(18).contains("its generic plan: write a value"));
    }

    #[test]
    fn the_planners_ways_are_closed_by_one_statement() {
        assert_eq!(
            closing(&["enable_sort", PARALLEL], &["enable_sort", "enable_hashagg"]),
            "RESET enable_sort; RESET enable_hashagg; SET enable_sort = 'off'; \
             SET max_parallel_workers_per_gather = '0'; DISCARD PLANS"
        );
        assert_eq!(closing(&[], &[]), "DISCARD PLANS");
    }
}
