//! Queries whose plans are compared: those of the verification, and the user's own, which are prepared, and planned and
//! run in transactions that write nothing.
//!
//! What the server refuses of a user's query is an answer about that query, in a sentence, and no failure of the run.

mod volatile;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use server::{Buffers, Plan, ServerError, UNREADABLE};

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

/// The name under which a query is prepared once more, to lock what it reads; the beginning of further ones.
const PREPARED_TO_LOCK: &str = "readpath_read";

/// Most texts of a query and of what it reads and calls.
const MOST_TEXTS: usize = 1000;

/// What PostgreSQL 13 writes where it decides between two plans of a subquery only when the query is run.
const ALTERNATIVES: &str = "(alternatives: ";

/// The beginnings of codes of errors that a query ends with because of what its plan does: on values that another order
/// of conditions leads to, beyond a limit of memory or temporary files, in a function, or inside the server. Other ones
/// are of locks, of rights, of tables that are gone, and of the server's state.
///
/// Source: PostgreSQL, "PostgreSQL Error Codes".
const OF_EXECUTION: [&str; 9] = ["21", "22", "38", "39", "53", "54", "58", "P0", "XX"];

/// What a dry run assumes that a query of the user takes.
const ASSUMED_TIME: Duration = Duration::from_millis(10);

/// The domain with a volatile check that a dry run assumes: the first OID that is not
/// reserved for the server's own objects.
const ASSUMED_DOMAIN: &str = "16384";

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

/// What the server gave for a user's query, or why nothing.
pub type Answered<T> = Result<T, Unfinished>;

/// Why a query gave no plan, or a run of it no time: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It reached its limit: it takes at least that long.
    TooLong(String),
    /// It ended with an error that lies in what its plan does.
    Failed(String),
    /// It waited too long for a lock that another session holds, which says nothing about its plan.
    Locked(String),
    /// It was refused or ended for another reason, which says nothing about its plan either.
    Refused(String),
    /// It was not sent, because an earlier query has the same text.
    Repeated(String),
}

impl Unfinished {
    /// The sentence.
    pub fn sentence(&self) -> &str {
        match self {
            Unfinished::TooLong(why)
            | Unfinished::Failed(why)
            | Unfinished::Locked(why)
            | Unfinished::Refused(why)
            | Unfinished::Repeated(why) => why,
        }
    }

    /// Whether the query waited for a lock: it can be run when that is gone.
    pub fn is_of_a_lock(&self) -> bool {
        matches!(self, Unfinished::Locked(_))
    }

    /// Whether the query has the text of an earlier one, which counts for both.
    pub fn is_repeated(&self) -> bool {
        matches!(self, Unfinished::Repeated(_))
    }

    /// The same of a query whose text has no parameter: what is advised where the server's list has one in the place of
    /// a value is not for it.
    fn without_parameters(self) -> Unfinished {
        match self {
            Unfinished::Refused(mut why) => {
                for before in ["; ", ": "] {
                    why = why.replacen(&format!("{before}{UNTYPED}"), "", 1);
                }
                Unfinished::Refused(why.replacen(TWICE, REFUSES, 1))
            }
            other => other,
        }
    }

    /// That a query is refused with this sentence, because of a lock or for another reason.
    fn refusing(why: String, is_of_a_lock: bool) -> Unfinished {
        if is_of_a_lock { Unfinished::Locked(why) } else { Unfinished::Refused(why) }
    }

    /// The same of a query that the server took: its run fails.
    fn of_a_run(self) -> Unfinished {
        match self {
            Unfinished::Failed(why) => Unfinished::Failed(why.replacen(REFUSES, "it fails when it is run", 1)),
            other => other,
        }
    }
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
            Ok(None) if self.is_rehearsal() && !volatile::is_preparable(text) => return refused(NOT_PREPARABLE.into()),
            Ok(None) => {}
        }
        self.prepared.insert(preparation.clone());
        let counted = format!(
            "SELECT coalesce(cardinality(parameter_types), 0) FROM pg_prepared_statements WHERE name = '{prepared}'"
        );
        let parameters = self.session().number(&counted, parameters_of(text))?;
        let values = vec!["NULL"; parameters as usize].join(", ");
        let values = if values.is_empty() { values } else { format!("({values})") };
        let statement = format!("EXECUTE {prepared}{values}");
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
        if plan.contains(ALTERNATIVES) {
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

    /// The text of a query, and the definitions of what it reads and calls, of what these call, and so on.
    fn texts_of(&mut self, text: &str) -> Result<Answered<Vec<String>>, SubjectError> {
        let texts = self.within(PLANNING_LIMIT, |tables| tables.definitions_of(text))?;
        let too_many = Unfinished::Refused(format!("they have more than {MOST_TEXTS} definitions"));
        Ok(texts.and_then(|texts| if texts.len() > MOST_TEXTS { Err(too_many) } else { Ok(texts) }))
    }

    /// The same, in a transaction that does nothing else. There is no more to it than the first definition beyond the
    /// most.
    fn definitions_of(&mut self, text: &str) -> Result<Vec<String>, ServerError> {
        let name = self.name_to_lock();
        let session = self.session();
        // A statement stays prepared behind the transaction, and its locks stay without it.
        let prepared = session.run_one(&format!("PREPARE {name} AS {text}"));
        if let Err(error) = prepared.and_then(|()| session.run(&format!("DEALLOCATE {name}"))) {
            self.prepared.insert(name);
            return Err(error);
        }
        session.run(OWN_NAMES)?;
        let mut rows = session.rows(&format!("{} LIMIT {MOST_TEXTS}", volatile::READ))?;
        let (mut texts, mut known, mut asked) = (vec![text.to_string()], BTreeSet::new(), volatile::Asked::default());
        let (mut read, mut has_relations) = (0, false);
        loop {
            for row in rows {
                let mut columns = row.into_iter().flatten();
                let (Some(key), Some(definition)) = (columns.next(), columns.next()) else { continue };
                if known.insert(key) {
                    texts.push(definition);
                }
            }
            let question = asked.definitions(&texts[read..], has_relations, MOST_TEXTS);
            let Some(question) = question.filter(|_| texts.len() <= MOST_TEXTS) else { return Ok(texts) };
            // What the query and its views read is locked; what a function reads is known by its names alone.
            (read, has_relations) = (texts.len(), true);
            rows = session.rows(&question)?;
        }
    }

    /// A name for a query that is prepared to lock what it reads: none of an attempt that failed, which may have left
    /// it in the session.
    fn name_to_lock(&self) -> String {
        let numbered = |number: u32| format!("{PREPARED_TO_LOCK}_{number}");
        let mut names = [PREPARED_TO_LOCK.to_string()].into_iter().chain((2..).map(numbered));
        names.find(|name| !self.prepared.contains(name)).unwrap_or_default()
    }

    /// What may have side effects in this database, by the role's own search path.
    pub fn volatile_functions(&mut self) -> Result<Volatile, SubjectError> {
        let limit = self.session().statement_limit();
        let volatile = self.within(limit, |tables| {
            let session = tables.session();
            let path = session.rows(volatile::PATH)?;
            session.run(OWN_NAMES)?;
            let (names, casts) = (session.rows(&volatile::names())?, session.rows(volatile::CASTS)?);
            let mut volatile = Volatile::of(path, names, casts);
            volatile.read_literals_by(session.text("SHOW standard_conforming_strings", Some("on"))?.as_deref());
            let mut domains = volatile.domains(session.rows(volatile::CHECKS)?);
            // A dry run, which knows no domain, lists what is asked where there is one.
            if session.is_rehearsal() {
                domains.push(ASSUMED_DOMAIN.into());
            }
            if !domains.is_empty() {
                volatile.add_checked(session.rows(&volatile::checked(&domains))?);
            }
            Ok(volatile)
        })?;
        Ok(volatile.unwrap_or_else(|why| Volatile::unknown(why.sentence(), why.is_of_a_lock())))
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

/// What the error of a statement says that took so long; a lost server stays an error.
fn unfinished(error: ServerError, took: Duration, limit: Duration) -> Result<Unfinished, ServerError> {
    let why = match error {
        ServerError::Statement { reason, code, .. } if OF_EXECUTION.iter().any(|class| code.starts_with(*class)) => {
            return Ok(Unfinished::Failed(refusal(&reason, &code)));
        }
        ServerError::Statement { reason, code, .. } => refusal(&reason, &code),
        ServerError::Cancelled { .. } | ServerError::TooLong { .. } if took >= limit => {
            return Ok(Unfinished::TooLong(format!("it takes longer than {} s", limit.as_secs_f64())));
        }
        ServerError::Cancelled { .. } => "another session cancelled it".into(),
        ServerError::Locked { .. } => {
            return Ok(Unfinished::Locked("it waits for a lock that another session holds".into()));
        }
        ServerError::Plan(_) | ServerError::TooLong { .. } => error.to_string(),
        _ => return Err(error),
    };
    Ok(Unfinished::Refused(why))
}

/// What is said of a query that the server did not prepare or plan. It did not run, however long that took: no plan has
/// a part in it, and none is slower for it.
fn of_no_plan(why: Unfinished) -> Unfinished {
    match why {
        Unfinished::TooLong(why) => Unfinished::Refused(format!("the server did not plan it in time: {why}")),
        Unfinished::Failed(why) => Unfinished::Refused(why),
        Unfinished::Locked(_) | Unfinished::Refused(_) | Unfinished::Repeated(_) => why,
    }
}

/// Why a query is not run of which it could not be asked what it reads and calls.
fn not_known(why: &Unfinished) -> Unfinished {
    let said = format!("what the views and functions that it uses do is not known: {}", why.sentence());
    Unfinished::refusing(said, why.is_of_a_lock())
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
        text => volatile::makes_table(text).then_some(MAKES_TABLE),
    }
}

/// What is said of a text of the server's list that is no UTF-8.
const IN_ANOTHER_ENCODING: &str = "its text is in another encoding than UTF-8, which readpath cannot read: give it, \
                                   with values, in a file of --queries";

/// What is said of a SELECT with INTO.
const MAKES_TABLE: &str = "it makes a table: give it without INTO";

/// What is said of a literal with a type's name before it, such as `INTERVAL '1 day'`, whose text the server's list
/// replaces.
const TYPED_LITERAL: &str = "its text has a parameter where only a literal may stand, as pg_stat_statements writes \
                             INTERVAL $1 for INTERVAL '1 day': give it with values, in a file of --queries";

/// What is said of an expression that the server does not find again, such as `date_trunc('day', t)` in GROUP BY.
const TWICE: &str = "the server refuses it: where its text has $1 and $2 for the same value, as pg_stat_statements \
                     writes it, give it with values, in a file of --queries";

/// What is said where the server cannot tell the type of an expression, such as that of `$1` in `$1 IS NULL`, or of
/// `coalesce($1, $2)`, which it takes for a text.
const UNTYPED: &str = "where its text has $1 for a value, as pg_stat_statements writes it, the value's type is lost: \
                       give it with values, in a file of --queries";

/// What is said of a foreign table in a copy of a data directory.
const ELSEWHERE: &str = "whose server is none of the copy's";

/// What is said of a statement such as DROP.
const NOT_PREPARABLE: &str = "it is not one statement that can be prepared";

/// How the clause about an error begins that has none of its own.
const REFUSES: &str = "the server refuses it";

/// A refusal of the server as a clause.
fn refusal(reason: &str, code: &str) -> String {
    let names_parameter =
        || reason.split('$').skip(1).any(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    match code {
        "42601" if names_parameter() => format!("{TYPED_LITERAL} ({reason})"),
        "42601" if reason.contains("at end of input") || reason.starts_with("unterminated ") => {
            format!("{NOT_PREPARABLE}, or its text is cut ({reason})")
        }
        "42601" => format!("{NOT_PREPARABLE} ({reason})"),
        // GROUP BY, DISTINCT and ORDER BY find an expression again only where it has the same parameter.
        "42803" | "42P10" => format!("{TWICE} ({reason})"),
        "42501" => format!("the role may not read what it names ({reason})"),
        "25006" => format!("it writes ({reason})"),
        "42P08" | "42P18" | "42725" | "42804" => format!("{REFUSES}: {UNTYPED} ({reason})"),
        "42P01" | "3F000" => format!("a name in it is not found by the role's search_path ({reason})"),
        "42703" => format!("a column that it names is not found ({reason})"),
        // A function or an operator that takes these types.
        "42883" => format!("a name in it is not found by the role's search_path; {UNTYPED} ({reason})"),
        _ => format!("{REFUSES} ({reason})"),
    }
}

/// Whether a verbose plan names a table that is none of the server's catalogs, which programs of all kinds ask, this
/// one too.
fn has_tables(plan: &str) -> bool {
    const SCHEMA: &str = "\"Schema\": \"";
    const CATALOGS: [&str; 3] = ["pg_catalog", "information_schema", "pg_toast"];
    // A function has a schema too: that of a relation stands behind its name.
    let schema = |rest: &str| Some(rest[rest.find(SCHEMA)? + SCHEMA.len()..].split('"').next()?.to_string());
    let mut schemas = plan.split("\"Relation Name\": ").skip(1).filter_map(schema);
    // What another server joins or counts, or an extension reads in its own way, has no such name.
    let is_elsewhere = || ["Foreign Scan", "Custom Scan"].iter().any(|kind| has_step(plan, kind));
    schemas.any(|schema| !CATALOGS.contains(&schema.as_str())) || is_elsewhere()
}

/// Whether a plan was made without partitions that hold no row by what is known when it begins.
fn lacks_partitions(plan: &str) -> bool {
    plan.split("\"Subplans Removed\": ").skip(1).any(|rest| !rest.starts_with('0'))
}

/// Steps whose expressions EXPLAIN leaves out: numbers of rows, rows that are written out, and ends of frames.
const SILENT: [&str; 3] = ["Limit", "Values Scan", "WindowAgg"];

/// The version from which on EXPLAIN shows how a row is compared with a subquery; before, it names the subquery alone.
const TESTS_SHOWN_SINCE: u32 = 17;

/// Why a query is not run whose plan writes or locks.
fn writes(plan: &str) -> Option<String> {
    let of = |kind: &str, why: &str| has_step(plan, kind).then(|| why.to_string());
    of("ModifyTable", "it writes").or_else(|| of("LockRows", "it locks rows"))
}

/// Whether a plan of this major version may call what EXPLAIN does not show.
fn hides_calls(plan: &str, major: u32) -> bool {
    let hides_test = || plan.contains("\"Parent Relationship\": \"SubPlan\"");
    SILENT.iter().any(|kind| has_step(plan, kind)) || (major < TESTS_SHOWN_SINCE && hides_test())
}

fn has_step(plan: &str, kind: &str) -> bool {
    plan.contains(&format!("\"Node Type\": \"{kind}\""))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use sys::time::Clock;

    use super::super::CalibrationAsked;
    use super::*;
    use crate::{Environment, Opening, Places};

    /// Where Debian has its PostgreSQL.
    const DEBIAN: &str = "/usr/lib/postgresql/15";

    #[test]
    fn a_statement_that_a_cancelled_removal_left_prepared_spoils_no_later_query() {
        if !Path::new(DEBIAN).exists() {
            println!("skipped: Debian's PostgreSQL 15 is not installed");
            return;
        }
        let places: Places = format!("postgres:{DEBIAN}").parse().unwrap();
        let asked = CalibrationAsked { has_queries: false, payload: Some(4 << 20), seed: 1 };
        let mut opening = Opening {
            environment: &Environment::new(std::env::temp_dir()),
            clock: Clock::calibrate(),
            stop: Arc::default(),
            progress: &mut |_, _| {},
        };
        let mut tables = places.iter().next().unwrap().calibration(asked).unwrap().open(&mut opening).unwrap();
        tables.session().run(&format!("PREPARE {PREPARED_TO_LOCK} AS SELECT 1")).unwrap();
        let refused = tables.texts_of("SELECT 2").unwrap().unwrap_err();
        assert!(refused.sentence().contains("already exists"), "{refused:?}");
        for query in ["SELECT 2", "SELECT 3"] {
            assert_eq!(tables.texts_of(query).unwrap(), Ok(vec![query.to_string()]));
        }
        assert_eq!(tables.name_to_lock(), "readpath_read_2");
    }

    #[test]
    fn what_a_dry_run_takes_for_volatile_is_so_on_a_server() {
        if !Path::new(DEBIAN).exists() {
            println!("skipped: Debian's PostgreSQL 15 is not installed");
            return;
        }
        let places: Places = format!("postgres:{DEBIAN}").parse().unwrap();
        let asked = CalibrationAsked { has_queries: false, payload: Some(1 << 20), seed: 1 };
        let mut opening = Opening {
            environment: &Environment::new(std::env::temp_dir()),
            clock: Clock::calibrate(),
            stop: Arc::default(),
            progress: &mut |_, _| {},
        };
        let mut tables = places.iter().next().unwrap().calibration(asked).unwrap().open(&mut opening).unwrap();
        let names: Vec<String> = volatile::OF_EVERY_SERVER.iter().map(|name| format!("'{name}'")).collect();
        let question = format!(
            "SELECT proname, min(provolatile::text), max(provolatile::text) FROM pg_proc WHERE pronamespace = \
             'pg_catalog'::regnamespace AND proname IN ({}) GROUP BY proname ORDER BY proname COLLATE \"C\"",
            names.join(", ")
        );
        let rows = tables.session().rows(&question).unwrap();
        let is_volatile = |name: &&str| [*name, "v", "v"].map(|text| Some(text.to_string())).to_vec();
        assert_eq!(rows, volatile::OF_EVERY_SERVER.iter().map(is_volatile).collect::<Vec<_>>());
    }

    #[test]
    fn a_plan_that_writes_or_locks_is_known() {
        assert_eq!(writes(r#"{"Node Type": "ModifyTable"}"#).as_deref(), Some("it writes"));
        assert_eq!(writes(r#"{"Node Type": "LockRows"}"#).as_deref(), Some("it locks rows"));
        assert_eq!(writes(r#"{"Node Type": "Seq Scan"}"#), None);
    }

    #[test]
    fn a_step_whose_expressions_explain_leaves_out_is_known_and_before_17_the_test_of_a_subquery_is_one() {
        for kind in SILENT {
            assert!(hides_calls(&format!(r#"{{"Node Type": "{kind}"}}"#), 18), "{kind}");
        }
        assert!(!hides_calls(r#"{"Node Type": "Seq Scan"}"#, 13));
        let subquery = r#"{"Node Type": "Seq Scan", "Parent Relationship": "SubPlan", "Subplan Name": "SubPlan 1"}"#;
        assert_eq!([13, 16, 17].map(|major| hides_calls(subquery, major)), [true, true, false]);
    }

    #[test]
    fn a_plan_that_is_decided_on_when_it_runs_is_known_by_what_explain_writes_for_it() {
        let filter = |text: &str| format!(r#"{{"Node Type": "Seq Scan", "Filter": "{text}"}}"#);
        assert!(filter("((alternatives: SubPlan 1 or hashed SubPlan 2) OR (a > 1))").contains(ALTERNATIVES));
        assert!(!filter("((hashed SubPlan 2) OR (a > 1))").contains(ALTERNATIVES));
    }

    #[test]
    fn a_text_that_cannot_be_read_is_not_sent_as_if_it_were_a_statement() {
        assert!(refused_unsent(UNREADABLE).is_some_and(|why| why.contains("another encoding")));
        assert_eq!(refused_unsent("SELECT 1 INTO t"), Some(MAKES_TABLE));
        assert_eq!(refused_unsent("SELECT 1"), None);
    }

    #[test]
    fn an_error_that_one_plan_runs_into_is_no_refusal_of_the_query() {
        let of = |code: &str| {
            let error = ServerError::Statement { statement: "".into(), reason: "no".into(), code: code.into() };
            let outcome = unfinished(error, Duration::ZERO, Duration::from_secs(1)).map_err(drop);
            matches!(outcome, Ok(Unfinished::Failed(_)))
        };
        for code in ["53400", "53200", "53100", "22012", "54001", "P0001", "XX000"] {
            assert!(of(code), "{code}");
        }
        for code in ["42501", "42P01", "25006", "40001", "40P01", "55000", "57P05"] {
            assert!(!of(code), "{code}");
        }
    }

    #[test]
    fn a_query_that_the_server_took_and_that_fails_is_not_called_refused() {
        let said = |why: Unfinished| why.of_a_run().sentence().to_string();
        assert_eq!(
            said(Unfinished::Failed(refusal("division by zero", "22012"))),
            "it fails when it is run (division by zero)"
        );
        let refused = refusal("permission denied", "0A000");
        assert_eq!(said(Unfinished::Refused(refused.clone())), refused);
    }

    #[test]
    fn what_keeps_a_query_from_being_prepared_is_no_time_and_no_error_of_a_plan() {
        let refused = |why: &str| Unfinished::Refused(why.into());
        let long = of_no_plan(Unfinished::TooLong("it takes longer than 5 s".into()));
        assert_eq!(long, refused("the server did not plan it in time: it takes longer than 5 s"));
        assert_eq!(of_no_plan(Unfinished::Failed("out of memory".into())), refused("out of memory"));
        assert_eq!(of_no_plan(refused("it writes")), refused("it writes"));
    }

    #[test]
    fn a_lock_stays_one_where_it_keeps_a_query_from_being_prepared_or_its_views_from_being_read() {
        let lock = Unfinished::Locked("another session holds it".into());
        assert_eq!(of_no_plan(lock.clone()), lock);
        assert_eq!(lock.clone().of_a_run(), lock);
        let unread = not_known(&lock);
        assert!(unread.is_of_a_lock() && unread.sentence().ends_with("is not known: another session holds it"));
        assert!(!not_known(&Unfinished::Refused("it waits for a lock".into())).is_of_a_lock());
    }

    #[test]
    fn only_the_limit_itself_says_that_a_query_takes_that_long() {
        let limit = Duration::from_millis(500);
        let statement = || "SELECT 1".to_string();
        let of = |error, millis| unfinished(error, Duration::from_millis(millis), limit).map_err(drop);
        let is_limit = |error, millis| matches!(of(error, millis), Ok(Unfinished::TooLong(_)));
        assert!(is_limit(ServerError::Cancelled { statement: statement() }, 501));
        assert!(!is_limit(ServerError::Cancelled { statement: statement() }, 499), "by another session");
        let lock = Unfinished::Locked("it waits for a lock that another session holds".into());
        let locked = ServerError::Locked { statement: statement() };
        assert_eq!(of(locked, 520), Ok(lock), "however far the server is");
    }

    #[test]
    fn a_plan_without_all_its_partitions_is_known_by_their_number() {
        assert!(!lacks_partitions(r#"{"Node Type": "Append", "Subplans Removed": 0, "Plans": []}"#));
        assert!(lacks_partitions(r#"{"Subplans Removed": 0}, {"Subplans Removed": 3}"#));
        assert!(!lacks_partitions("{}"));
    }

    #[test]
    fn what_only_old_versions_cannot_is_said_of_them_alone() {
        assert!(without_partitions(15).contains("before PostgreSQL 16 EXPLAIN cannot keep them: write a value"));
        assert!(!without_partitions(16).contains("before"));
        assert!(without_partitions(18).contains("its generic plan: write a value"));
    }

    #[test]
    fn a_query_of_the_catalogs_alone_has_no_tables() {
        assert!(has_tables(r#"{"Node Type": "Seq Scan", "Relation Name": "t", "Schema": "shop", "Alias": "t"}"#));
        assert!(has_tables(
            r#"{"Relation Name": "pg_class", "Schema": "pg_catalog"}, {"Relation Name": "t", "Schema": "public"}"#
        ));
        assert!(!has_tables(r#"{"Relation Name": "pg_extension", "Schema": "pg_catalog"}"#));
        assert!(!has_tables(
            r#"{"Function Name": "f", "Schema": "public"}, {"Relation Name": "pg_database", "Schema": "pg_catalog"}"#
        ));
        assert!(!has_tables(r#"{"Node Type": "Result", "Output": ["pg_try_advisory_lock($1, $2)"]}"#));
        let elsewhere = r#"{"Node Type": "Foreign Scan", "Relations": "Aggregate on (public.sales)"}"#;
        assert!(has_tables(elsewhere), "what another server counts");
        assert!(has_tables(r#"{"Node Type": "Custom Scan", "Custom Plan Provider": "Citus Adaptive"}"#));
    }

    #[test]
    fn a_refusal_names_what_the_user_can_mend() {
        assert!(refusal("syntax error at end of input", "42601").contains("cut"));
        assert!(!refusal("syntax error at or near \"DROP\"", "42601").contains("cut"), "it is whole, and wrong");
        let typed = refusal("syntax error at or near \"$1\"", "42601");
        assert!(typed.contains("INTERVAL $1") && !typed.contains("cut"), "{typed}");
        assert!(refusal("permission denied for table t", "42501").contains("may not read"));
        let grouped = "column \"t.day\" must appear in the GROUP BY clause or be used in an aggregate function";
        let sorted = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
        for (reason, code) in [(grouped, "42803"), (sorted, "42P10")] {
            let said = refusal(reason, code);
            assert!(said.contains(reason) && said.contains("$1 and $2 for the same value"), "{said}");
        }
    }

    #[test]
    fn a_query_without_parameters_gets_no_advice_about_the_parameters_of_the_servers_list() {
        let of = |reason: &str, code: &str| {
            let why = Unfinished::Refused(refusal(reason, code)).without_parameters();
            why.sentence().to_string()
        };
        for code in ["42601", "42803", "42P10", "42P18", "42725", "42804", "42883"] {
            let said = of("wrong", code);
            assert!(!said.contains('$') && !said.contains("pg_stat_statements") && !said.contains("cut"), "{said}");
            assert!(said.ends_with("(wrong)"), "{said}");
        }
        assert_eq!(of("wrong", "42803"), "the server refuses it (wrong)");
        assert_eq!(of("wrong", "42725"), "the server refuses it (wrong)");
        assert_eq!(of("wrong", "42883"), "a name in it is not found by the role's search_path (wrong)");
    }

    #[test]
    fn a_column_that_is_not_there_is_not_said_to_be_outside_the_search_path() {
        let said = refusal("column \"broken\" does not exist", "42703");
        assert!(said.starts_with("a column that it names is not found") && !said.contains("search_path"), "{said}");
    }

    #[test]
    fn a_refusal_of_an_expression_whose_type_went_with_its_value_asks_for_the_values() {
        for (reason, code) in [
            ("could not determine data type of parameter $1", "42P18"),
            ("inconsistent types deduced for parameter $1", "42P08"),
            ("operator is not unique: date + unknown", "42725"),
            ("CASE types text and integer cannot be matched", "42804"),
            ("operator does not exist: integer = text", "42883"),
        ] {
            let said = refusal(reason, code);
            assert!(said.contains("give it with values, in a file") && said.contains(reason), "{said}");
        }
        assert!(!refusal("relation \"t\" does not exist", "42P01").contains("with values"));
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
