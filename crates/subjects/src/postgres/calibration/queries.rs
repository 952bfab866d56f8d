//! Queries whose plans are compared: those of the verification, and the user's own, which are prepared, and planned and
//! run in transactions that write nothing.
//!
//! What the server refuses of a user's query is an answer about that query, in a sentence, and no failure of the run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use server::{Buffers, Plan, ServerError};

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

/// Functions that may have side effects, by name, operators that call one, and aggregates that do, which are marked
/// as if they did not.
const VOLATILE: &str = "SELECT proname FROM pg_proc WHERE provolatile = 'v' UNION SELECT o.oprname FROM pg_operator o \
    JOIN pg_proc p ON p.oid = o.oprcode WHERE p.provolatile = 'v' UNION SELECT p.proname FROM pg_aggregate a JOIN \
    pg_proc p ON p.oid = a.aggfnoid WHERE EXISTS (SELECT FROM pg_proc f WHERE f.provolatile = 'v' AND f.oid IN \
    (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, \
    a.aggmfinalfn))";

/// Casts that call such a function: the type as plans write it, the function, and whether the cast applies by itself,
/// which no plan shows.
const VOLATILE_CASTS: &str = "SELECT CASE n.nspname WHEN 'pg_catalog' THEN format_type(t.oid, NULL) ELSE \
    quote_ident(t.typname) END, p.proname, c.castcontext = 'i' FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc \
    JOIN pg_type t ON t.oid = c.casttarget JOIN pg_namespace n ON n.oid = t.typnamespace WHERE p.provolatile = 'v'";

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
    pub not_run: Option<String>,
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

/// What the server gave for a user's query, or the sentence that says why nothing.
pub type Answered<T> = Result<T, String>;

/// Why a run of a query gave no time: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It reached its limit: it takes at least that long.
    TooLong(String),
    /// The server ended it for another reason, such as a lock, which says nothing about its time.
    Refused(String),
}

impl Unfinished {
    /// The sentence.
    pub fn into_sentence(self) -> String {
        match self {
            Unfinished::TooLong(why) | Unfinished::Refused(why) => why,
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

/// What may have side effects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volatile {
    /// Names of functions, operators and aggregates.
    names: BTreeSet<String>,
    /// Types that a cast leads to, each with the function that the cast calls.
    casts: Vec<(String, String)>,
    /// A function that is called by a cast which no plan shows.
    unseen: Option<String>,
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
        open.iter().try_for_each(|setting| self.reset(setting))?;
        settings.iter().try_for_each(|setting| self.set(setting, if *setting == PARALLEL { "0" } else { "off" }))?;
        Ok(self.session().run("DISCARD PLANS")?)
    }

    /// Prepares a user's query, and finds out whether it may be run.
    pub fn prepare_own(
        &mut self,
        number: usize,
        (name, text): (&str, &str),
        volatile: &Volatile,
    ) -> Result<Answered<Query>, SubjectError> {
        let prepared = format!("readpath_{number}");
        let preparation = format!("PREPARE {prepared} AS {text}");
        if let Err(why) = self.read_only(PLANNING_LIMIT, |tables| tables.session().run_one(&preparation))? {
            return Ok(Err(why));
        }
        self.prepared.insert(preparation.clone());
        let counted = format!(
            "SELECT coalesce(cardinality(parameter_types), 0) FROM pg_prepared_statements WHERE name = '{prepared}'"
        );
        let parameters = self.session().number(&counted, 0)?;
        let values = vec!["NULL"; parameters as usize].join(", ");
        let values = if values.is_empty() { values } else { format!("({values})") };
        let statement = format!("EXECUTE {prepared}{values}");
        let (keeping, since) = KEEPING_PARTITIONS;
        let options = if parameters > 0 && self.facts().major() >= since { keeping } else { "" };
        let query = Query::of_verification(name.into(), statement);
        let mut query = Query { options, preparation: Some(preparation), is_own: true, ..query };
        let verbose = format!("EXPLAIN ({options}VERBOSE, FORMAT JSON) {}", query.statement);
        let plan = match self.read_only(PLANNING_LIMIT, |tables| tables.session().rows(&verbose))? {
            Err(why) => return Ok(Err(why)),
            Ok(rows) => rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n"),
        };
        if parameters > 0 && lacks_partitions(&plan) {
            return Ok(Err(without_partitions(self.facts().major())));
        }
        query.not_run = why_not_run((text, &plan), parameters, volatile).or_else(|| self.reads_elsewhere(&plan));
        query.has_tables = self.is_rehearsal() || has_tables(&plan) || lacks_partitions(&plan);
        Ok(Ok(query))
    }

    /// Why a query is not run on a copy of a data directory whose plan asks another server.
    fn reads_elsewhere(&self, plan: &str) -> Option<String> {
        let is_foreign = plan.contains("\"Node Type\": \"Foreign Scan\"");
        (self.is_on_copy() && is_foreign).then(|| "it reads a foreign table, whose server is none of the copy's".into())
    }

    /// The functions, operators, aggregates and casts that may have side effects.
    pub fn volatile_functions(&mut self) -> Result<Volatile, SubjectError> {
        let names = self.session().rows(VOLATILE)?.into_iter().flatten().flatten().collect();
        let mut volatile = Volatile { names, ..Volatile::default() };
        for row in self.session().rows(VOLATILE_CASTS)? {
            let mut columns = row.into_iter().map(Option::unwrap_or_default);
            let (Some(of_type), Some(function)) = (columns.next(), columns.next()) else { continue };
            match columns.next().as_deref() {
                Some("t") => volatile.unseen = Some(function),
                _ => volatile.casts.push((of_type, function)),
            }
        }
        Ok(volatile)
    }

    /// The plan of a query by the constants that are set.
    pub fn plan_of(&mut self, query: &Query) -> Result<Answered<Plan>, SubjectError> {
        if let Err(why) = self.prepare_again(query)? {
            return Ok(Err(why.into_sentence()));
        }
        let statement = query.statement.clone();
        let assumed = Plan::assumed("Seq Scan", Buffers::default());
        if query.is_own {
            let options = query.options.trim_end_matches(", ");
            return self
                .read_only(PLANNING_LIMIT, |tables| tables.session().explain_with(options, &statement, assumed));
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
            return self.within(limit, |tables| tables.session().explain(&statement, assumed));
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
        Ok(outcome)
    }

    /// Works in a transaction that writes nothing. What the server refuses is a sentence; a lost server is an error.
    fn read_only<T>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(&mut Calibration) -> Result<T, ServerError>,
    ) -> Result<Answered<T>, SubjectError> {
        Ok(self.within(limit, work)?.map_err(Unfinished::into_sentence))
    }

    /// The same, which tells what reached its limit from all else.
    fn within<T>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(&mut Calibration) -> Result<T, ServerError>,
    ) -> Result<Result<T, Unfinished>, SubjectError> {
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

/// What the error of a statement says that took so long; a lost server stays an error.
fn unfinished(error: ServerError, took: Duration, limit: Duration) -> Result<Unfinished, ServerError> {
    let why = match error {
        ServerError::Statement { reason, code, .. } => refusal(&reason, &code),
        ServerError::Cancelled { .. } | ServerError::TooLong { .. } if took >= limit => {
            return Ok(Unfinished::TooLong(format!("it takes longer than {} s", limit.as_secs_f64())));
        }
        ServerError::Cancelled { .. } => "another session cancelled it".into(),
        ServerError::Locked { .. } => "it waits for a lock that another session holds".into(),
        ServerError::Plan(_) | ServerError::TooLong { .. } => error.to_string(),
        _ => return Err(error),
    };
    Ok(Unfinished::Refused(why))
}

/// Why a query is not compared whose plan lacks partitions.
fn without_partitions(major: u32) -> String {
    let (_, since) = KEEPING_PARTITIONS;
    let why =
        if major < since { format!(", and before PostgreSQL {since} EXPLAIN cannot keep them") } else { "".into() };
    format!(
        "its parameters have no values, so partitions are pruned from its generic plan{why}: give it with values, in a \
         file of --queries"
    )
}

/// What is said of a literal with a type's name before it, such as `INTERVAL '1 day'`, whose text the server's list
/// replaces.
const TYPED_LITERAL: &str = "its text has a parameter where only a literal may stand, as pg_stat_statements writes \
                             INTERVAL $1 for INTERVAL '1 day': give it with values, in a file of --queries";

/// A refusal of the server as a clause.
fn refusal(reason: &str, code: &str) -> String {
    let names_parameter =
        || reason.split('$').skip(1).any(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    match code {
        "42601" if names_parameter() => format!("{TYPED_LITERAL} ({reason})"),
        "42601" => format!("it is not one statement that can be prepared, or its text is cut ({reason})"),
        "42501" => format!("the role may not read what it names ({reason})"),
        "25006" => format!("it writes ({reason})"),
        "42P01" | "3F000" | "42703" | "42883" => {
            format!("a name in it is not found by the role's search_path ({reason})")
        }
        _ => format!("the server refuses it ({reason})"),
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
    schemas.any(|schema| !CATALOGS.contains(&schema.as_str()))
}

/// Whether a plan was made without partitions that hold no row by what is known when it begins.
fn lacks_partitions(plan: &str) -> bool {
    plan.split("\"Subplans Removed\": ").skip(1).any(|rest| !rest.starts_with('0'))
}

/// Steps whose expressions EXPLAIN leaves out: numbers of rows, rows that are written out, and ends of frames.
const SILENT: [&str; 3] = ["Limit", "Values Scan", "WindowAgg"];

/// Why a query with this text and verbose plan is not run.
fn why_not_run((text, plan): (&str, &str), parameters: u64, volatile: &Volatile) -> Option<String> {
    let has = |kind: &str| plan.contains(&format!("\"Node Type\": \"{kind}\""));
    if has("ModifyTable") {
        return Some("it writes".into());
    }
    if has("LockRows") {
        return Some("it locks rows".into());
    }
    let names = &volatile.names;
    let named_oddly = || names.iter().map(String::as_str).find(|name| is_named_oddly(name, plan));
    let cast = || volatile.casts.iter().find(|(of_type, _)| is_cast_to(of_type, plan)).map(|(_, name)| name.as_str());
    if let Some(name) = called(plan).find(|name| names.contains(*name)).or_else(cast) {
        return Some(format!("it calls {name}, which is volatile and may have side effects"));
    }
    if let Some(name) = named_oddly() {
        return Some(format!(
            "its plan names {name}, as the database calls a function or an operator that is volatile and may have \
             side effects"
        ));
    }
    let unseen = || called_in_text(text).find(|name| names.contains(name));
    if let Some(name) = SILENT.iter().any(|kind| has(kind)).then(unseen).flatten() {
        return Some(format!(
            "its text calls {name}, which is volatile and may have side effects, where its plan does not show it"
        ));
    }
    if let Some(name) = &volatile.unseen {
        return Some(format!(
            "the database has an implicit cast that calls {name}, which is volatile and may have side effects: no plan \
             shows whether it does here"
        ));
    }
    (parameters > 0).then(|| "its parameters have no values: run it with values, from a file of --queries".into())
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Whether a name that is more than a word, such as one with a blank, stands in a plan, in quotes and as JSON has it.
fn is_named_oddly(name: &str, plan: &str) -> bool {
    !name.chars().all(is_of_name) && plan.contains(&name.replace('\\', "\\\\").replace('"', "\\\"\\\""))
}

/// Whether a plan casts to a type, which may stand behind its schema.
fn is_cast_to(of_type: &str, plan: &str) -> bool {
    let of_type = of_type.replace('\\', "\\\\").replace('"', "\\\"");
    let is_it = |rest: &str| rest.strip_prefix(&*of_type).is_some_and(|rest| !rest.starts_with(is_of_name));
    plan.split("::").skip(1).any(|rest| is_it(rest) || rest.split_once('.').is_some_and(|(_, rest)| is_it(rest)))
}

/// Words of a query, in small letters, that may call a function: those before an opening parenthesis, blanks, a quote
/// or a comment apart.
fn called_in_text(text: &str) -> impl Iterator<Item = String> {
    let is_call = |rest: &str| {
        let rest = rest.trim_start_matches('"').trim_start();
        rest.starts_with('(') || rest.starts_with("/*") || rest.starts_with("--")
    };
    let ends = text.char_indices().filter(|(_, letter)| is_of_name(*letter)).map(|(at, letter)| at + letter.len_utf8());
    ends.filter(move |end| is_call(&text[*end..])).filter_map(|end| {
        let name = text[..end].rsplit(|letter| !is_of_name(letter)).next()?;
        (!name.is_empty()).then(|| name.to_lowercase())
    })
}

/// Words directly before an opening parenthesis.
fn called(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').filter_map(move |(at, _)| {
        let before = text[..at].trim_end_matches('"').trim_end_matches('\\');
        let name = before.rsplit(|letter| !is_of_name(letter)).next()?;
        (!name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(plan: &str, parameters: u64) -> Option<String> {
        let names = ["nextval", "Odd Name", "a$b", "<~>", "say \"no\"", "pg_sleep"].map(String::from).into();
        let casts = ["noisy", "\"Odd Type\""].map(|of_type| (of_type.to_string(), "count_up".to_string())).into();
        why_not_run(("", plan), parameters, &Volatile { names, casts, unseen: None })
    }

    #[test]
    fn what_may_do_more_than_compute_is_not_run_where_its_plan_does_not_show_it() {
        let reason = |text: &str, kind: &str| {
            let names = ["pg_terminate_backend", "shop"].map(String::from).into();
            let plan = format!(r#"[{{"Plan": {{"Node Type": "{kind}"}}}}]"#);
            why_not_run((text, &plan), 0, &Volatile { names, ..Volatile::default() })
        };
        for text in [
            "SELECT * FROM t LIMIT pg_terminate_backend(1)::int",
            "SELECT * FROM t LIMIT PG_Terminate_Backend (1)::int",
            "SELECT * FROM t LIMIT pg_catalog.\"pg_terminate_backend\"(1)::int",
            "SELECT * FROM t LIMIT pg_terminate_backend/**/(1)::int",
        ] {
            assert!(reason(text, "Limit").unwrap().contains("its text calls pg_terminate_backend"), "{text}");
            assert_eq!(reason(text, "Seq Scan"), None, "any other step shows what it calls");
        }
        assert!(reason("SELECT * FROM (VALUES (pg_terminate_backend(1))) v(x)", "Values Scan").is_some());
        for text in ["SELECT shop FROM t LIMIT 1", "SELECT 'ä' FROM shop.t LIMIT 1", "SELECT workshop(1) LIMIT 1", ""]
        {
            assert_eq!(reason(text, "Limit"), None, "{text}");
        }
    }

    #[test]
    fn only_the_limit_itself_says_that_a_query_takes_that_long() {
        let limit = Duration::from_millis(500);
        let statement = || "SELECT 1".to_string();
        let of = |error, millis| unfinished(error, Duration::from_millis(millis), limit).map_err(drop);
        let is_limit = |error, millis| matches!(of(error, millis), Ok(Unfinished::TooLong(_)));
        assert!(is_limit(ServerError::Cancelled { statement: statement() }, 501));
        assert!(!is_limit(ServerError::Cancelled { statement: statement() }, 499), "by another session");
        assert!(!is_limit(ServerError::Locked { statement: statement() }, 520), "however far the server is");
    }

    #[test]
    fn what_may_do_more_than_compute_is_not_run() {
        assert_eq!(reason(r#"{"Node Type": "Seq Scan", "Filter": "(lower(a) = 'pg_sleep')"}"#, 0), None);
        for plan in [
            r#""Output": ["pg_sleep(1)"]"#,
            r#""Output": ["nextval('s'::regclass)"]"#,
            r#""Filter": "(pg_catalog.pg_sleep(t.a) IS NULL)""#,
            r#""Output": ["shop.\"Odd Name\"(1)"]"#,
            r#""Output": ["\"say \"\"no\"\"\"(1)"]"#,
            r#""Output": ["a$b(1)"]"#,
            r#""Filter": "(t.a <~> t.b)""#,
            r#""Node Type": "ModifyTable""#,
            r#""Node Type": "LockRows""#,
            r#""Filter": "((t.a)::noisy IS NULL)""#,
            r#""Filter": "((t.a)::shop.noisy IS NULL)""#,
            r#""Output": ["(t.a)::shop.\"Odd Type\""]"#,
        ] {
            assert!(reason(plan, 0).is_some(), "{plan}");
        }
        assert_eq!(reason(r#""Filter": "((t.a)::noisy_not IS NULL)""#, 0), None);
        assert!(reason("{}", 2).unwrap().contains("parameters"));
        let unseen = Volatile { unseen: Some("count_up".into()), ..Volatile::default() };
        assert!(why_not_run(("", "{}"), 0, &unseen).unwrap().contains("count_up"));
    }

    #[test]
    fn a_plan_without_all_its_partitions_is_known_by_their_number() {
        assert!(!lacks_partitions(r#"{"Node Type": "Append", "Subplans Removed": 0, "Plans": []}"#));
        assert!(lacks_partitions(r#"{"Subplans Removed": 0}, {"Subplans Removed": 3}"#));
        assert!(!lacks_partitions("{}"));
    }

    #[test]
    fn what_only_old_versions_cannot_is_said_of_them_alone() {
        assert!(without_partitions(15).contains("before PostgreSQL 16 EXPLAIN cannot keep them: give it with values"));
        assert!(!without_partitions(16).contains("before"));
        assert!(without_partitions(18).contains("its generic plan: give it"));
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
    }

    #[test]
    fn a_refusal_names_what_the_user_can_mend() {
        assert!(refusal("syntax error at end of input", "42601").contains("cut"));
        let typed = refusal("syntax error at or near \"$1\"", "42601");
        assert!(typed.contains("INTERVAL $1") && !typed.contains("cut"), "{typed}");
        assert!(refusal("permission denied for table t", "42501").contains("may not read"));
    }
}
