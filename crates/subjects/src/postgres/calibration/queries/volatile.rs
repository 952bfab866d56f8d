//! What a query may do besides computing its rows: the functions, operators, aggregates, casts and domains of a
//! database that may have side effects, and where a plan or a text uses one of them.
//!
//! EXPLAIN writes a name without its schema where the role's search path leads to it, and with its schema where the
//! path does not. Which of several functions of a name it means, only the server knows: a bare name counts as that of
//! a volatile function where some schema of the path has one that can be called with as many arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde_json::Value;
use server::session::literal;
use server::{Row, UNREADABLE};

use crate::postgres::calibration::own_queries::token;

/// The schemas of the search path, in a transaction that has the role's own.
pub(super) const PATH: &str = "SELECT pg_catalog.unnest(pg_catalog.current_schemas(true))";

/// Functions that may have side effects, operators that call one, and aggregates that do, which are marked as if they
/// did not; each with its schema, and functions with the fewest and the most arguments of a call. A query can call no
/// function of a trigger, nor one that a method of sampling gives.
pub(super) fn names() -> String {
    format!(
        "WITH called AS (SELECT p.* FROM pg_proc p WHERE p.prorettype NOT IN ('trigger'::regtype, \
         'event_trigger'::regtype, 'tsm_handler'::regtype) AND (p.provolatile = 'v' OR p.oid IN (SELECT a.aggfnoid \
         FROM pg_aggregate a WHERE EXISTS (SELECT FROM pg_proc f WHERE f.provolatile = 'v' AND f.oid IN \
         (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, \
         a.aggminvtransfn, a.aggmfinalfn))))) SELECT '{FUNCTION}', n.nspname, p.proname, {ARGUMENTS} FROM called p \
         JOIN pg_namespace n ON n.oid = p.pronamespace UNION ALL SELECT '{ATTRIBUTE}', n.nspname, p.proname, NULL, \
         NULL FROM called p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {OF_ROWS} UNION ALL SELECT \
         '{OPERATOR}', n.nspname, o.oprname, NULL, NULL FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode JOIN \
         pg_namespace n ON n.oid = o.oprnamespace WHERE p.provolatile = 'v'"
    )
}

/// The fewest and the most arguments that a call of a function `p` gives; null where there is no limit. How a call of
/// an aggregate is written does not show its number: an ordered one has arguments behind WITHIN GROUP.
const ARGUMENTS: &str = "CASE WHEN p.prokind <> 'a' THEN p.pronargs - p.pronargdefaults - (p.provariadic <> 0)::int \
    END, CASE WHEN p.prokind <> 'a' AND p.provariadic = 0 THEN p.pronargs END";

/// Whether `row.function` may call a function `p`: it takes one argument, which may be a row.
const OF_ROWS: &str = "p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1 AND CASE WHEN p.pronargs = 1 AND \
    p.provariadic <> 0 THEN p.provariadic ELSE p.proargtypes[0] END IN (SELECT t.oid FROM pg_type t WHERE \
    t.typcategory = 'C' OR (t.typtype = 'p' AND t.oid <> 'internal'::regtype) UNION ALL SELECT c.casttarget FROM \
    pg_cast c JOIN pg_type s ON s.oid = c.castsource WHERE c.castcontext = 'i' AND s.typcategory = 'C')";

/// Casts that call such a function: the type, of an array that of its elements, by its name and by the first word that
/// plans write for it; the function; whether the cast applies by itself, which no plan shows; and whether it gives a
/// value of its own type another length. A cast to a domain calls the function of the cast to its base type, of which a
/// plan shows the domain alone.
///
/// Source: PostgreSQL, `coerce_to_domain` in src/backend/parser/parse_coerce.c, which hides the cast before it.
pub(super) const CASTS: &str = "WITH RECURSIVE made(target, called, is_implicit, is_own) AS (SELECT c.casttarget, \
    p.proname, c.castcontext = 'i', c.castsource = c.casttarget FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc \
    WHERE p.provolatile = 'v' UNION SELECT t.oid, m.called, m.is_implicit, m.is_own FROM made m JOIN (SELECT oid, \
    typbasetype AS part FROM pg_type WHERE typbasetype <> 0 UNION ALL SELECT oid, typelem FROM pg_type WHERE typelem \
    <> 0 AND typarray = 0) t ON t.part = m.target) SELECT e.typname, split_part(format_type(e.oid, NULL), ' ', 1), \
    m.called, m.is_implicit, m.is_own FROM made m JOIN pg_type t ON t.oid = m.target JOIN pg_type e ON e.oid = CASE \
    WHEN t.typelem <> 0 AND t.typarray = 0 THEN t.typelem ELSE t.oid END";

/// Checks of domains: the domain, and the text of the check. The catalog of dependencies would not do: it leaves out
/// the server's own functions.
pub(super) const CHECKS: &str =
    "SELECT contypid, pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid <> 0 AND oid >= 16384";

/// What operators and functions are called in [`names`] and in [`checked`], and what the row of a table is called in
/// the latter.
const OPERATOR: &str = "operator";
const FUNCTION: &str = "function";
/// A function that can be written as if it were a column.
const ATTRIBUTE: &str = "attribute";
const TABLE_ROW: &str = "row";

/// The views and policies that a statement reads which this transaction has just prepared: that locks them all.
pub(super) const READ: &str = "WITH locked AS (SELECT l.relation FROM pg_locks l WHERE l.pid = pg_backend_pid() AND \
    l.locktype = 'relation') SELECT 'view ' || c.oid::text, pg_get_viewdef(c.oid) FROM pg_class c WHERE c.relkind = \
    'v' AND c.oid >= 16384 AND c.oid IN (SELECT relation FROM locked) UNION ALL SELECT 'policy ' || p.oid::text, \
    pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relrowsecurity \
    AND c.oid IN (SELECT relation FROM locked)";

/// Words before a bracket in which a type stands behind AS; elsewhere a name does.
const CASTING: [&str; 3] = ["cast", "xmlserialize", "treat"];

/// Words that begin another clause with a list in which calls have names behind AS.
const OTHER_CLAUSES: [&str; 3] = ["select", "from", "returning"];

/// The word that begins a list of tables. It is a name only in quotation marks, behind a point and behind AS: as a
/// symbol, it differs from a column of that name, behind which an operator such as AND can stand.
const FROM: &str = "from";

/// Words that can stand between FROM, such as that of IS DISTINCT FROM, and a call.
const AHEAD_OF_CALLS: [&str; 4] = ["not", "case", "lateral", "only"];

/// Functions that make a row of the type of their first argument, whatever that is, of what a document holds: the
/// checks of its columns then run, and where the argument is a column, neither a plan nor a text names the type.
const FILLING: &str = "'json_populate_record', 'json_populate_recordset', 'jsonb_populate_record', \
    'jsonb_populate_recordset', 'jsonb_populate_record_valid', 'populate_record'";

/// Whatever number of arguments a call gives.
const ANY: RangeInclusive<usize> = 0..=usize::MAX;

/// The property of a plan's step that shows the types of columns.
const TABLE_FUNCTION: &str = "Table Function Call";

/// Bytes of the longest name; the server cuts longer ones.
const LONGEST_NAME: usize = 63;

/// The schema of the server's own functions.
const CATALOG: &str = "pg_catalog";

/// Properties of a plan's steps that are names, and no expressions.
const NAMED: [&str; 9] = [
    "Relation Name",
    "Schema",
    "Alias",
    "Index Name",
    "Function Name",
    "CTE Name",
    "Tuplestore Name",
    "Table Function Name",
    "Subplan Name",
];

/// Words that stand for operators, which plans and texts then do not write.
const WORDED: [(&str, &[&str]); 8] = [
    ("distinct", &["="]),
    ("nullif", &["="]),
    ("case", &["="]),
    ("in", &["=", "<>"]),
    ("between", &["<", "<=", ">", ">="]),
    ("like", &["~~", "!~~"]),
    ("ilike", &["~~*", "!~~*"]),
    ("similar", &["~", "!~"]),
];

/// Words for types that are neither their names in the catalog nor what plans write.
///
/// Source: PostgreSQL, the rules `Numeric` and `Character` in src/backend/parser/gram.y.
const SPELLED: [(&str, &str); 11] = [
    ("int", "int4"),
    ("float", "float4"),
    ("float", "float8"),
    ("dec", "numeric"),
    ("decimal", "numeric"),
    ("char", "bpchar"),
    ("char", "varchar"),
    ("nchar", "bpchar"),
    ("nchar", "varchar"),
    ("national", "bpchar"),
    ("national", "varchar"),
];

/// Words with which the name of a type goes on behind its first, as in `double precision '1'`.
///
/// Source: PostgreSQL, the rule `ConstTypename` in src/backend/parser/gram.y.
const FURTHER: [&str; 8] = ["precision", "varying", "character", "char", "with", "without", "time", "zone"];

/// The words of statements that write rows before an INTO that makes no table, and what such a statement begins behind.
const WRITING: [&str; 2] = ["insert", "merge"];
const AHEAD_OF_WRITING: [&str; 3] = ["", "(", ")"];

/// What a statement that writes begins with, and what a statement that can be prepared does.
///
/// Source: PostgreSQL, the rule `PreparableStmt` in src/backend/parser/gram.y.
const WRITTEN: [&str; 4] = ["insert", "update", "delete", "merge"];
const READING: [&str; 4] = ["select", "with", "values", "table"];

/// The words that lock the rows of a query.
const LOCKING: [&[&str]; 4] =
    [&["for", "update"], &["for", "share"], &["for", "no", "key", "update"], &["for", "key", "share"]];

/// Functions of the server's own that are volatile in all its versions, of those that queries call.
pub(super) const OF_EVERY_SERVER: [&str; 26] = [
    "clock_timestamp",
    "currval",
    "gen_random_uuid",
    "lastval",
    "nextval",
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_advisory_unlock",
    "pg_advisory_unlock_all",
    "pg_advisory_unlock_shared",
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
    "pg_cancel_backend",
    "pg_notify",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_terminate_backend",
    "pg_try_advisory_lock",
    "pg_try_advisory_lock_shared",
    "pg_try_advisory_xact_lock",
    "random",
    "set_config",
    "setseed",
    "setval",
    "timeofday",
];

/// What may have side effects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volatile {
    /// The schemas that a name without one is looked for in.
    path: BTreeSet<String>,
    /// Functions and aggregates.
    functions: Functions,
    operators: Names,
    /// Functions that take or give a type of which a check is volatile, and operators that call one.
    checking: Functions,
    checking_operators: Names,
    /// Types that a cast leads to, each with a clause on what the cast does.
    casts: BTreeMap<String, String>,
    /// Those of them of which a literal does it too. Others are read from its text, and nothing is cast.
    casts_of_literals: BTreeSet<String>,
    /// Types whose values are made by a check that is volatile.
    domains: BTreeSet<String>,
    /// Whether a backslash begins an escape in every literal.
    has_escapes: bool,
    /// Why no query is run.
    unseen: Option<String>,
    /// Whether that is a lock, which may be gone in the next run.
    is_locked: bool,
}

/// Functions by the two ways of calling them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Functions {
    called: Names,
    /// Those that can stand where a column stands too.
    attributes: Names,
}

/// Names with their schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    /// Those that can stand without their schema, each with those of the path that have it.
    bare: BTreeMap<String, BTreeSet<String>>,
    /// With their schemas, and with the numbers of arguments of the functions of this name.
    all: BTreeMap<(String, String), Vec<RangeInclusive<usize>>>,
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// An expression as EXPLAIN writes it.
    Plan,
    /// A text as people write it, with other forms of a call and of a cast.
    Text,
}

/// A piece of a text in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A name or a word: in small letters, unless it stood in quotation marks.
    Word(String),
    Operator(&'a str),
    Symbol(&'a str),
    Literal,
}

impl Volatile {
    /// From the rows of [`PATH`], [`names`] and [`CASTS`].
    pub(super) fn of(path: Vec<Row>, names: Vec<Row>, casts: Vec<Row>) -> Volatile {
        let path = path.into_iter().flatten().flatten().collect();
        let mut volatile = Volatile { path, ..Volatile::default() };
        for row in names {
            let [kind, schema, name, fewest, most] = columns(row);
            let names = match kind.as_str() {
                OPERATOR => &mut volatile.operators,
                ATTRIBUTE => &mut volatile.functions.attributes,
                _ => &mut volatile.functions.called,
            };
            let given = fewest.parse().unwrap_or(*ANY.start())..=most.parse().unwrap_or(*ANY.end());
            names.add(&volatile.path, (schema, name), given);
        }
        for row in casts {
            let [of_type, shown, function, is_implicit, is_own] = columns(row);
            if is_implicit == "t" {
                volatile.unseen = Some(unseen_cast(&function));
                continue;
            }
            let clause = format!("calls {function}, which is volatile and may have side effects");
            let names = [of_type, shown].map(|name| cut(&name).to_string());
            volatile.casts_of_literals.extend(names.iter().filter(|_| is_own == "t").cloned());
            volatile.casts.extend(names.map(|name| (name, clause.clone())));
        }
        volatile
    }

    /// What may have side effects on any server, as far as it is known without asking one.
    pub(super) fn of_every_server() -> Volatile {
        let name = |name: &str| [FUNCTION, CATALOG, name].map(|text| Some(text.to_string())).to_vec();
        let names = OF_EVERY_SERVER.into_iter().map(name).collect();
        Volatile::of(vec![vec![Some(CATALOG.to_string())]], names, Vec::new())
    }

    /// What a query does besides computing rows, as far as its text alone shows it: the sentence that
    /// [`Volatile::in_plan`] gives where there is a plan.
    pub(super) fn in_text_alone(&self, text: &str) -> Option<String> {
        let written = writes_or_locks(text).map(String::from);
        written.or_else(|| self.found(text, Reading::Text).map(|clause| format!("it {clause}")))
    }

    /// Of a database whose catalogs do not say it, because of this, which may be a lock: no query is run.
    pub(super) fn unknown(why: &str, is_locked: bool) -> Volatile {
        let unseen = format!("what may have side effects in the database is not known: {why}");
        Volatile { unseen: Some(unseen), is_locked, ..Volatile::default() }
    }

    /// Takes in the server's setting `standard_conforming_strings`: where it is off, `'\''` does not end a literal.
    pub(super) fn read_literals_by(&mut self, setting: Option<&str>) {
        self.has_escapes = setting == Some("off");
    }

    /// Of the rows of [`CHECKS`], the domains with a check that calls something volatile, or that cannot be read.
    pub(super) fn domains(&self, checks: Vec<Row>) -> Vec<String> {
        let is_volatile = |[_, check]: &[String; 2]| check == UNREADABLE || self.found(check, Reading::Plan).is_some();
        checks.into_iter().map(columns::<2>).filter(is_volatile).map(|[domain, _]| domain).collect()
    }

    /// Adds the rows of [`checked`].
    pub(super) fn add_checked(&mut self, rows: Vec<Row>) {
        for row in rows {
            let [kind, schema, name] = columns(row);
            match kind.as_str() {
                FUNCTION => self.checking.called.add(&self.path, (schema, name), ANY),
                OPERATOR => self.checking_operators.add(&self.path, (schema, name), ANY),
                ATTRIBUTE => self.checking.attributes.add(&self.path, (schema, name), ANY),
                // A table's name is that of the type of its rows too.
                TABLE_ROW => {
                    self.casts_of_literals.insert(cut(&name).to_string());
                    self.casts.insert(cut(&name).to_string(), casts_to(&name));
                }
                _ => self.domains.extend([cut(&name).to_string()]),
            }
        }
    }

    /// What a plan that EXPLAIN (VERBOSE) wrote does besides computing rows, as a sentence about its query.
    pub(super) fn in_plan(&self, plan: &str) -> Option<String> {
        let document = match serde_json::from_str::<Value>(plan) {
            Ok(document) => document,
            // A dry run has none.
            Err(_) if plan.is_empty() => return None,
            Err(error) => return Some(format!("its plan cannot be read ({error})")),
        };
        let mut texts = Vec::new();
        expressions("", &document, &mut texts);
        let found = |(property, text)| {
            let column = || if property == TABLE_FUNCTION { self.mentioned(text, |_, _| true) } else { None };
            self.found(text, Reading::Plan).or_else(column)
        };
        texts.into_iter().find_map(found).map(|clause| format!("it {clause}"))
    }

    /// The same of what a plan does not show: by the query's text, which comes first, and by the definitions of what
    /// it reads and calls. Columns of `json_to_record` have types that no plan shows: they are looked for where a plan
    /// has a scan of a function.
    pub(super) fn in_texts(&self, texts: &[String], has_functions: bool) -> Option<String> {
        texts.iter().enumerate().find_map(|(at, text)| {
            let whose = if at == 0 { "its text" } else { "a view, a policy or a function that it uses" };
            if text == UNREADABLE {
                return Some(format!("{whose} is in another encoding, and its plan does not show all that is called"));
            }
            // Which name that is takes a reader of its own, for what hardly any query has.
            if ["U&\"", "u&\""].iter().any(|mark| text.contains(mark)) {
                return Some(format!("{whose} has a name in U&\"…\", and its plan does not show all that is called"));
            }
            // Its literals may end elsewhere than this reader takes them to.
            if self.has_escapes && text.contains('\\') {
                return Some(format!(
                    "{whose} has a backslash, an escape with standard_conforming_strings = off, and its plan does not \
                     show all that is called"
                ));
            }
            let column = || if has_functions { self.mentioned(text, defines_column) } else { None };
            let clause = self.found(text, Reading::Text).or_else(column)?;
            Some(format!("{whose} {clause}, where its plan does not show it"))
        })
    }

    /// Whether a type has a check that is volatile.
    pub(super) fn has_domains(&self) -> bool {
        !self.domains.is_empty()
    }

    /// Why no query is run.
    pub(super) fn unseen(&self) -> Option<String> {
        self.unseen.clone()
    }

    /// Whether no query is run because of a lock.
    pub(super) fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// A type in a text, where it stands between tokens such as these.
    fn mentioned(&self, text: &str, is_type: impl Fn(&[Token<'_>], &[Token<'_>]) -> bool) -> Option<String> {
        let tokens = tokens(text);
        (0..tokens.len()).find_map(|at| match tokens.split_at(at) {
            (before, [Token::Word(word), rest @ ..]) => self.cast_to(word).filter(|_| is_type(outside(before), rest)),
            _ => None,
        })
    }

    /// What a text does, as a clause.
    fn found(&self, text: &str, reading: Reading) -> Option<String> {
        let tokens = tokens(text);
        (0..tokens.len()).find_map(|at| {
            let (before, rest) = tokens.split_at(at);
            match rest {
                [Token::Word(word), rest @ ..] => self.word(before, word, rest, reading),
                [Token::Operator(name), rest @ ..] => self.operator(before, name, rest),
                _ => None,
            }
        })
    }

    fn word(&self, before: &[Token<'_>], word: &str, rest: &[Token<'_>], reading: Reading) -> Option<String> {
        let schema = qualifier(before);
        let is_text = reading == Reading::Text;
        let is_call = matches!(rest, [Token::Symbol("("), ..]) && !(is_text && names_rows(before, rest));
        // `(row).function` calls it too, and so does `alias.function`.
        let is_attribute =
            is_text && matches!(before, [.., Token::Symbol(".")]) && !matches!(rest, [Token::Symbol("." | "("), ..]);
        if is_call || is_attribute {
            let call = is_call.then_some(rest);
            if let Some((schema, name)) = self.functions.get(schema, word, call) {
                return Some(calls(schema, name));
            }
            if let Some((_, name)) = self.checking.get(schema, word, call) {
                return Some(uses_checked(name));
            }
        }
        // `type(value)` and `type 'value'` cast too.
        let is_cast = is_text && (is_call || is_ahead_of_literal(rest));
        let is_type = || is_cast || is_of_type(outside(before));
        let is_cast_at_all = || self.casts_literals(word) || !is_of_literal(outside(before), reading);
        self.cast_to(word).filter(|_| is_type() && is_cast_at_all()).or_else(|| self.worded(word))
    }

    fn operator(&self, before: &[Token<'_>], name: &str, rest: &[Token<'_>]) -> Option<String> {
        // The star of `count(*)`.
        let is_bracketed =
            matches!(before, [.., Token::Symbol("(")]) && matches!(rest, [Token::Symbol(")"), ..]) && name == "*";
        if is_bracketed {
            return None;
        }
        let schema = qualifier(before);
        let name = if name == "!=" { "<>" } else { name };
        let checking = || self.checking_operators.get(schema, name).map(|(_, name)| uses_checked(name));
        self.operators.get(schema, name).map(|(schema, name)| calls(schema, name)).or_else(checking)
    }

    /// What a cast to the type of this name does.
    fn cast_to(&self, word: &str) -> Option<String> {
        let names = names_of_type(word);
        let is_domain = names.iter().any(|name| self.domains.contains(name));
        let cast = || names.iter().find_map(|name| self.casts.get(name)).cloned();
        if is_domain { Some(casts_to(word)) } else { cast() }
    }

    /// Whether a literal of the type of this name does the same as a cast to it.
    fn casts_literals(&self, word: &str) -> bool {
        let of = |name: &String| self.domains.contains(name) || self.casts_of_literals.contains(name);
        names_of_type(word).iter().any(of)
    }

    /// An operator that a word stands for, in whatever schema: the word does not say which.
    fn worded(&self, word: &str) -> Option<String> {
        let (_, operators) = WORDED.iter().find(|(name, _)| *name == word)?;
        let is_its = |(_, name): &&(String, String)| operators.contains(&name.as_str());
        let checking = || self.checking_operators.all.keys().find(is_its).map(|(_, name)| uses_checked(name));
        self.operators.all.keys().find(is_its).map(|(schema, name)| calls(schema, name)).or_else(checking)
    }
}

impl Functions {
    /// That of a call with these tokens behind its name, or else of what stands where a column stands, for which no
    /// schema can be given.
    fn get(&self, schema: Option<&str>, name: &str, call: Option<&[Token<'_>]>) -> Option<(&str, &str)> {
        match call {
            Some(call) => self.called.taking(schema, name, call),
            None => self.attributes.get(None, name),
        }
    }
}

impl Names {
    fn add(&mut self, path: &BTreeSet<String>, (schema, name): (String, String), given: RangeInclusive<usize>) {
        // Where the server writes a letter in fewer bytes, its names are longer here.
        let (schema, name) = (cut(&schema).to_string(), cut(&name).to_string());
        if path.iter().any(|one| cut(one) == schema) {
            self.bare.entry(name.clone()).or_default().insert(schema.clone());
        }
        self.all.entry((schema, name)).or_default().push(given);
    }

    /// The schema and the name of an operator, or of a function that takes a row.
    fn get(&self, schema: Option<&str>, name: &str) -> Option<(&str, &str)> {
        self.taking(schema, name, &[])
    }

    /// The schema and the name, as it is written or in small letters: of letters beyond ASCII, the server's encoding
    /// decides whether they are folded. Of a function, one that takes as many arguments as the bracket at the beginning
    /// of `call` has.
    fn taking(&self, schema: Option<&str>, name: &str, call: &[Token<'_>]) -> Option<(&str, &str)> {
        let folded = schema.map(str::to_lowercase);
        self.exactly(schema, name, call).or_else(|| self.exactly(folded.as_deref(), &name.to_lowercase(), call))
    }

    fn exactly(&self, schema: Option<&str>, name: &str, call: &[Token<'_>]) -> Option<(&str, &str)> {
        let found = |schema: &str| {
            let ((schema, name), given) = self.all.get_key_value(&(schema.to_string(), name.to_string()))?;
            let count = arguments(call);
            given.iter().any(|given| given.contains(&count)).then_some((schema.as_str(), name.as_str()))
        };
        match schema {
            Some(schema) => found(schema),
            None => self.bare.get(name)?.iter().find_map(|schema| found(schema.as_str())),
        }
    }
}

/// What is done by a call of this, as a clause. The name of a user's function may be that of one of the server's.
fn calls(schema: &str, name: &str) -> String {
    let place = if schema == CATALOG { String::new() } else { format!(" in the schema {schema}") };
    format!("calls {name}, which is volatile{place} and may have side effects")
}

/// What is done by a call of this, whose arguments or result are of a checked type.
fn uses_checked(name: &str) -> String {
    format!("calls {name}, which uses a type with a check that is volatile and may have side effects")
}

fn unseen_cast(function: &str) -> String {
    format!(
        "the database has an implicit cast that calls {function}, which is volatile and may have side effects: no plan \
         shows whether it does here"
    )
}

fn casts_to(of_type: &str) -> String {
    format!("casts to {of_type}, a check of which is volatile and may have side effects")
}

/// What the catalog may call a type that a text names by this word.
fn names_of_type(word: &str) -> Vec<String> {
    let spelled = SPELLED.iter().filter(|(one, _)| *one == word).map(|(_, name)| (*name).to_string());
    [word.to_string(), word.to_lowercase()].into_iter().chain(spelled).collect()
}

/// The columns of a row; those that are null or not there are empty.
fn columns<const COUNT: usize>(row: Row) -> [String; COUNT] {
    let mut columns = row.into_iter().map(Option::unwrap_or_default);
    std::array::from_fn(|_| columns.next().unwrap_or_default())
}

/// Asks for all that a value of one of these domains can be made by: types that contain one, each by its name, rows of
/// tables that do, functions that take or give one of them or a row of any type, and operators that call these. Types
/// of several ranges come with version 14.
pub(super) fn checked(domains: &[String]) -> String {
    format!(
        "WITH RECURSIVE checked(oid) AS (SELECT unnest('{{{}}}'::oid[]) UNION SELECT t.oid FROM checked c JOIN (SELECT \
         oid, typbasetype AS part FROM pg_type WHERE typbasetype <> 0 UNION ALL SELECT oid, typelem FROM pg_type WHERE \
         typelem <> 0 UNION ALL SELECT t.oid, a.atttypid FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid \
         AND a.attnum > 0 UNION ALL SELECT rngtypid, rngsubtype FROM pg_range UNION ALL SELECT (to_jsonb(r) ->> \
         'rngmultitypid')::oid, r.rngtypid FROM pg_range r) t ON t.part = c.oid), used AS (SELECT oid, prorettype AS \
         type FROM pg_proc UNION ALL SELECT oid, unnest(proargtypes) FROM pg_proc UNION ALL SELECT oid, \
         unnest(proallargtypes) FROM pg_proc), called AS (SELECT p.* FROM pg_proc p WHERE p.oid IN (SELECT u.oid FROM \
         used u JOIN checked c ON c.oid = u.type) OR p.proname IN ({FILLING})) SELECT CASE WHEN r.relkind <> 'c' THEN \
         '{TABLE_ROW}' ELSE 'type' END, n.nspname, t.typname FROM checked c JOIN pg_type t ON t.oid = c.oid JOIN \
         pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_class r ON r.oid = t.typrelid UNION ALL SELECT \
         '{FUNCTION}', n.nspname, p.proname FROM called p JOIN pg_namespace n ON n.oid = p.pronamespace UNION ALL \
         SELECT '{ATTRIBUTE}', n.nspname, p.proname FROM called p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE \
         {OF_ROWS} UNION ALL SELECT '{OPERATOR}', n.nspname, o.oprname FROM pg_operator o JOIN called p ON p.oid = \
         o.oprcode JOIN pg_namespace n ON n.oid = o.oprnamespace",
        domains.join(",")
    )
}

/// The names that the server was asked about, each once.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Names with the number of arguments that a call gives.
    functions: BTreeSet<(String, usize)>,
    relations: BTreeSet<String>,
}

impl Asked {
    /// Asks for what stands behind names in texts, each with a key of its own, and for no more than these: the SQL
    /// functions whose bodies the planner may take into a plan, the defaults of arguments that a call leaves out, and
    /// the views and the policies of tables that only such a body names. Other functions that are not volatile count as
    /// what they are declared to be; of those that are, the text has the name. `None` where no name is new.
    pub(super) fn definitions(&mut self, texts: &[String], has_relations: bool, most: usize) -> Option<String> {
        let (mut functions, mut relations) = (BTreeSet::new(), BTreeSet::new());
        for text in texts {
            let tokens = tokens(text);
            for (at, token) in tokens.iter().enumerate() {
                let Token::Word(word) = token else { continue };
                if word.starts_with(|letter: char| letter.is_ascii_digit()) {
                    continue;
                }
                let names = [word.to_lowercase(), word.clone()];
                if matches!(tokens.get(at + 1), Some(Token::Symbol("("))) {
                    let given = arguments(&tokens[at + 1..]);
                    functions.extend(names.clone().map(|name| (name, given)));
                }
                if has_relations {
                    relations.extend(names);
                }
            }
        }
        functions.retain(|call| self.functions.insert(call.clone()));
        relations.retain(|name| self.relations.insert(name.clone()));
        (!functions.is_empty() || !relations.is_empty()).then(|| definitions(&functions, &relations, most))
    }
}

/// How many arguments the bracket at the beginning of these tokens has.
fn arguments(tokens: &[Token<'_>]) -> usize {
    let (mut open, mut commas, mut is_empty) = (0, 0, true);
    for token in tokens {
        match token {
            Token::Symbol("(" | "[") => {
                is_empty &= open == 0;
                open += 1;
            }
            Token::Symbol(")" | "]") if open == 1 => break,
            Token::Symbol(")" | "]") => open -= 1,
            Token::Symbol(",") if open == 1 => commas += 1,
            _ => is_empty = false,
        }
    }
    if is_empty { 0 } else { commas + 1 }
}

fn definitions(functions: &BTreeSet<(String, usize)>, relations: &BTreeSet<String>, most: usize) -> String {
    let array = |names: Vec<String>| format!("ARRAY[{}]::name[]", names.join(", "));
    let names = array(functions.iter().map(|(name, _)| literal(name)).collect());
    let given: Vec<String> = functions.iter().map(|(_, given)| given.to_string()).collect();
    let given = format!("ARRAY[{}]::int[]", given.join(", "));
    let relations = array(relations.iter().map(|name| literal(name)).collect());
    format!(
        "WITH named AS (SELECT unnest({relations}) AS name) SELECT 'view ' || c.oid::text, pg_get_viewdef(c.oid) \
         FROM pg_class c WHERE c.relkind = 'v' AND c.oid >= 16384 AND c.relname IN (SELECT name FROM named) UNION \
         ALL SELECT 'policy ' || p.oid::text, pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p JOIN pg_class c ON \
         c.oid = p.polrelid WHERE c.relname IN (SELECT name FROM named) UNION ALL SELECT 'function ' || p.oid::text, \
         CASE WHEN l.lanname = 'sql' AND p.proretset THEN p.prosrc || ' ' || pg_get_functiondef(p.oid) ELSE \
         pg_get_function_arguments(p.oid) END FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.prokind \
         = 'f' AND p.provolatile <> 'v' AND p.oid >= 16384 AND EXISTS (SELECT FROM unnest({names}, {given}) AS \
         called(name, given) WHERE called.name = p.proname AND ((l.lanname = 'sql' AND p.proretset) OR \
         (p.pronargdefaults > 0 AND called.given < p.pronargs))) LIMIT {most}"
    )
}

/// The schema before a name.
fn qualifier<'a>(before: &'a [Token<'_>]) -> Option<&'a str> {
    match before {
        [.., Token::Word(schema), Token::Symbol(".")] => Some(schema.as_str()),
        _ => None,
    }
}

/// What stands before a name, its schema and its database.
fn outside<'a, 'b>(mut before: &'a [Token<'b>]) -> &'a [Token<'b>] {
    while let [outer @ .., Token::Word(_), Token::Symbol(".")] = before {
        before = outer;
    }
    before
}

/// Whether a type stands behind these tokens.
fn is_of_type(before: &[Token<'_>]) -> bool {
    match before {
        [.., Token::Symbol("::")] => true,
        // Functions of JSON give a type that is named.
        [.., Token::Word(word)] if word == "returning" => true,
        [outer @ .., Token::Word(word)] if word == "as" => is_in_cast(outer),
        _ => false,
    }
}

/// Whether these tokens end in a literal with the sign of a cast behind it. A plan writes what is cast to another type
/// in brackets; in a text, a word ahead of the literal gives it a type of its own, from which it is then cast.
///
/// Source: PostgreSQL, `get_coercion_expr` in src/backend/utils/adt/ruleutils.c.
fn is_of_literal(before: &[Token<'_>], reading: Reading) -> bool {
    let [ahead @ .., Token::Literal, Token::Symbol("::")] = before else { return false };
    reading == Reading::Plan || matches!(ahead, [.., Token::Symbol("(" | "[" | ",") | Token::Operator(_)])
}

/// Whether what is left of a type's name, with its length, and a literal come next.
fn is_ahead_of_literal(mut rest: &[Token<'_>]) -> bool {
    // In `AT TIME ZONE 'UTC'`, the word is no type.
    if matches!(rest, [Token::Word(word), ..] if word == "zone") {
        return false;
    }
    let mut has_more = false;
    while let [Token::Word(word), more @ ..] = rest {
        if !FURTHER.contains(&word.as_str()) {
            break;
        }
        (rest, has_more) = (more, true);
    }
    match rest {
        [Token::Literal, ..] => true,
        [Token::Symbol("("), ..] => has_more,
        _ => false,
    }
}

/// Whether the bracket that is open behind these tokens is that of a cast.
fn is_in_cast(before: &[Token<'_>]) -> bool {
    let mut closed = 0;
    for (at, token) in before.iter().enumerate().rev() {
        match token {
            Token::Symbol(")") => closed += 1,
            Token::Symbol("(") if closed > 0 => closed -= 1,
            Token::Symbol("(") => {
                return matches!(&before[..at], [.., Token::Word(word)] if CASTING.contains(&word.as_str()));
            }
            _ => {}
        }
    }
    false
}

/// Whether a name between these tokens is one that rows get, with their columns in the bracket behind it: that of a
/// query of WITH, one behind AS, or one behind the first table of FROM. A type behind the AS of a cast may have a
/// bracket too.
fn names_rows(before: &[Token<'_>], rest: &[Token<'_>]) -> bool {
    match before {
        [outer @ .., Token::Word(word)] if word == "as" => !is_in_cast(outer),
        [outer @ .., Token::Word(word)] => {
            let is_table = || !AHEAD_OF_CALLS.contains(&word.as_str());
            let is_first = || matches!(outside(outer), [.., Token::Symbol(FROM)]);
            word == "with" || word == "recursive" || (is_table() && is_first())
        }
        [.., Token::Symbol(",")] => {
            matches!(behind_bracket(rest), [Token::Word(word), ..] if word == "as") && is_in_with(before)
        }
        _ => false,
    }
}

/// Whether a list that goes on behind these tokens is that of WITH: no other clause has begun since.
fn is_in_with(before: &[Token<'_>]) -> bool {
    let mut closed = 0;
    for (at, token) in before.iter().enumerate().rev() {
        match token {
            Token::Symbol(")") => closed += 1,
            Token::Symbol("(") if closed > 0 => closed -= 1,
            Token::Symbol("(") => return false,
            Token::Symbol(FROM) if closed == 0 => return false,
            Token::Word(word) if closed == 0 && word == "with" && !is_of_another(&before[at + 1..]) => return true,
            Token::Word(word) if closed == 0 && OTHER_CLAUSES.contains(&word.as_str()) => return false,
            _ => {}
        }
    }
    false
}

/// Whether a `with` ahead of these tokens is that of `timestamp with time zone` and the like.
fn is_of_another(behind: &[Token<'_>]) -> bool {
    matches!(behind, [Token::Word(word), ..] if ["time", "ordinality", "ties"].contains(&word.as_str()))
}

/// What stands behind the bracket at the beginning of these tokens.
fn behind_bracket<'a, 'b>(tokens: &'a [Token<'b>]) -> &'a [Token<'b>] {
    let mut open = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol("(") => open += 1,
            Token::Symbol(")") if open > 1 => open -= 1,
            Token::Symbol(")") => return &tokens[at + 1..],
            _ => {}
        }
    }
    &[]
}

/// Whether a type between these tokens may be that of a column in a list such as `AS x(a integer, b text)`.
fn defines_column(before: &[Token<'_>], rest: &[Token<'_>]) -> bool {
    let is_end = match rest {
        [Token::Symbol("," | ")" | "["), ..] => true,
        [Token::Word(word), ..] => word == "collate" || word == "array",
        _ => false,
    };
    is_end && matches!(before, [.., Token::Symbol("(" | ","), Token::Word(_)])
}

/// The texts of a plan that may hold expressions, each with the property that it is.
fn expressions<'a>(property: &'a str, value: &'a Value, found: &mut Vec<(&'a str, &'a str)>) {
    match value {
        Value::String(text) => found.push((property, text)),
        Value::Array(values) => values.iter().for_each(|value| expressions(property, value, found)),
        Value::Object(properties) => {
            let unnamed = properties.iter().filter(|(name, _)| !NAMED.contains(&name.as_str()));
            unnamed.for_each(|(name, value)| expressions(name, value, found));
        }
        _ => {}
    }
}

/// Whether a text makes a table of what it selects. From 15 on, the server prepares it, and EXPLAIN ANALYZE would fill
/// the table, in a read-only transaction too.
pub(super) fn makes_table(text: &str) -> bool {
    let (mut rest, mut earlier, mut before) = (text, "", "");
    while !rest.is_empty() {
        let (one, more) = rest.split_at(length(rest));
        if one.eq_ignore_ascii_case("into") && !is_other_into(earlier, before) {
            return true;
        }
        if Token::of(one).is_some() {
            (earlier, before) = (before, one);
        }
        rest = more;
    }
    false
}

/// Whether a statement with this text can be prepared, by its first word.
pub(super) fn is_preparable(text: &str) -> bool {
    match tokens(text).first() {
        Some(Token::Word(word)) => READING.iter().chain(&WRITTEN).any(|one| word == one),
        first => first == Some(&Token::Symbol("(")),
    }
}

/// Why a query is not run whose text shows that it writes or locks.
fn writes_or_locks(text: &str) -> Option<&'static str> {
    let tokens = tokens(text);
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => word.as_str(),
        _ => "",
    };
    let (mut depth, mut selects) = (0_usize, false);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol("(") => depth += 1,
            Token::Symbol(")") => depth = depth.saturating_sub(1),
            Token::Word(_) => {
                let is_behind = |symbol: &str| at > 0 && tokens[at - 1] == Token::Symbol(symbol);
                let is_main = at == 0 || (depth == 0 && !selects && is_behind(")"));
                let is_of_with = at > 1 && is_behind("(") && ["as", "materialized"].contains(&word(at - 2));
                if (is_main || is_of_with) && WRITTEN.contains(&word(at)) {
                    return Some("it writes");
                }
                // Behind this word, such a word is a column's name.
                selects |= depth == 0 && word(at) == "select";
            }
            Token::Operator(_) | Token::Symbol(_) | Token::Literal => {}
        }
    }
    let is_there = |words: &[&str], at: usize| words.iter().enumerate().all(|(next, one)| word(at + next) == *one);
    let locks = (0..tokens.len()).any(|at| LOCKING.iter().any(|words| is_there(words, at)));
    locks.then_some("it locks rows")
}

/// Whether an INTO behind these two tokens is that of a statement that writes rows, or a name.
fn is_other_into(earlier: &str, before: &str) -> bool {
    let writes = WRITING.iter().any(|word| before.eq_ignore_ascii_case(word)) && AHEAD_OF_WRITING.contains(&earlier);
    // A number may end with a point.
    let is_of_name = before == "." && !earlier.starts_with(|letter: char| letter.is_ascii_digit());
    writes || is_of_name || before.eq_ignore_ascii_case("as")
}

/// The tokens of a text, without blanks and comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (one, more) = rest.split_at(length(rest));
        let is_name = match tokens.last() {
            Some(Token::Word(word)) => word == "as",
            before => matches!(before, Some(Token::Symbol("."))),
        };
        tokens.extend(match Token::of(one) {
            Some(Token::Symbol(FROM)) if is_name => Some(Token::Word(FROM.into())),
            token => token,
        });
        rest = more;
    }
    tokens
}

impl Token<'_> {
    /// What the whole of a token is; `None` for what separates tokens.
    fn of(text: &str) -> Option<Token<'_>> {
        Some(match text.as_bytes() {
            [b'-', b'-', ..] | [b'/', b'*', ..] => return None,
            [b'\'', ..] | [b'E' | b'e', b'\'', ..] | [b'$', _, ..] => Token::Literal,
            [b'"', ..] => {
                let name = &text[1..];
                let name = name.strip_suffix('"').unwrap_or(name).replace("\"\"", "\"");
                Token::Word(cut(&name).to_string())
            }
            [first, ..] if is_of_operator(*first) => Token::Operator(text),
            [first, ..] if is_of_word(*first) && text.eq_ignore_ascii_case(FROM) => Token::Symbol(FROM),
            [first, ..] if is_of_word(*first) => Token::Word(cut(text).to_ascii_lowercase()),
            _ if text.trim().is_empty() => return None,
            _ => Token::Symbol(text),
        })
    }
}

/// A name as the server cuts it.
fn cut(name: &str) -> &str {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Letters of a word. The server takes every letter beyond ASCII for one.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn is_of_operator(byte: u8) -> bool {
    b"+-*/<>=~!@#%^&|`?".contains(&byte)
}

/// Bytes of the token at the beginning of a text that is not empty.
fn length(text: &str) -> usize {
    match text.as_bytes() {
        [b'-', b'-', ..] | [b'/', b'*', ..] | [b'E' | b'e', b'\'', ..] => token(text),
        [b'"', ..] => quoted(text),
        [b':', b':', ..] => 2,
        [first, ..] if is_of_operator(*first) => operator(text),
        [first, ..] if is_of_word(*first) => text.bytes().take_while(|byte| is_of_word(*byte) || *byte == b'$').count(),
        _ => token(text),
    }
}

/// Of a name in quotation marks, where a doubled one is a part of the name.
fn quoted(text: &str) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find('"') {
        at += end + 1;
        if !text[at..].starts_with('"') {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Of an operator, as the server's scanner cuts it: a comment ends it, and so do a plus and a minus at its end, unless
/// it has a letter that no operator of standard SQL has.
///
/// Source: PostgreSQL, the rule `operator` in src/backend/parser/scan.l.
fn operator(text: &str) -> usize {
    let run = text.bytes().take_while(|byte| is_of_operator(*byte)).count();
    let run = &text[..run];
    let end = ["--", "/*"].iter().filter_map(|comment| run.find(*comment)).min().unwrap_or(run.len());
    let run = &run[..end];
    match run.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?']) {
        true => run.len(),
        false => run.trim_end_matches(['+', '-']).len().max(1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Row> {
        rows.iter().map(|row| row.iter().map(|column| Some(column.to_string())).collect()).collect()
    }

    /// What is volatile in a database where `hall` is in no search path.
    fn volatile() -> Volatile {
        let names: &[&[&str]] = &[
            &["function", "pg_catalog", "nextval"],
            &["function", "pg_catalog", "pg_sleep"],
            &["function", "pg_catalog", "pg_terminate_backend"],
            &["function", "public", "Odd Name"],
            &["function", "public", "MyVol"],
            &["function", "public", "a$b"],
            &["function", "public", "say \"no\""],
            &["function", "public", "shop"],
            &["attribute", "public", "shop"],
            &["function", "public", "balance"],
            &["function", "public", "größe"],
            &["function", "hall", "round"],
            &["operator", "public", "<~>"],
            &["operator", "hall", "-"],
        ];
        let casts: &[&[&str]] = &[&["noisy", "public.noisy", "count_up", "f"], &["Odd Type", "\"Odd", "count_up", "f"]];
        Volatile::of(rows(&[&["pg_catalog"], &["public"]]), rows(names), rows(casts))
    }

    fn in_plan(volatile: &Volatile, step: &str) -> Option<String> {
        volatile.in_plan(&format!("[{{\"Plan\": {{{step}}}}}]"))
    }

    fn in_text(text: &str) -> Option<String> {
        volatile().in_texts(&[text.to_string()], false)
    }

    #[test]
    fn what_may_do_more_than_compute_is_found_in_the_expressions_of_a_plan() {
        for step in [
            r#""Output": ["pg_sleep(1)"]"#,
            r#""Output": ["nextval('s'::regclass)"]"#,
            r#""Filter": "(pg_catalog.pg_sleep(t.a) IS NULL)""#,
            r#""Output": ["\"Odd Name\"(1)"]"#,
            r#""Output": ["hall.round(t.a, 2)"]"#,
            r#""Output": ["\"say \"\"no\"\"\"(1)"]"#,
            r#""Output": ["a$b(1)"]"#,
            r#""Output": ["größe(1)"]"#,
            r#""Filter": "(t.a <~> t.b)""#,
            r#""Filter": "(t.a OPERATOR(hall.-) t.b)""#,
            r#""Filter": "((t.a)::noisy IS NULL)""#,
            r#""Filter": "((t.a)::shop.noisy[] IS NULL)""#,
            r#""Output": ["(t.a)::shop.\"Odd Type\""]"#,
            r#""Plans": [{"Output": ["pg_sleep(1)"]}]"#,
        ] {
            assert!(in_plan(&volatile(), step).is_some(), "{step}");
        }
        assert!(volatile().in_plan("[{").unwrap().contains("cannot be read"));
        assert_eq!(volatile().in_plan(""), None, "a dry run");
    }

    #[test]
    fn a_name_that_only_looks_like_that_of_something_volatile_does_not_keep_a_query_from_being_run() {
        for step in [
            r#""Node Type": "Seq Scan", "Filter": "(lower(a) = 'pg_sleep(1)')""#,
            r#""Output": ["round(t.a, 2)", "t.pg_sleep", "(t.a - 1)", "public.round(t.a)"]"#,
            r#""Alias": "a<~>b", "Relation Name": "nextval('s')", "Output": ["count(*)"]"#,
            r#""Filter": "((t.a)::noisy_not < '<~>'::text)""#,
            r#""Output": ["t.noisy", "\"nextval('s')\"", "t.\"Odd Name\""]"#,
        ] {
            assert_eq!(in_plan(&volatile(), step), None, "{step}");
        }
    }

    #[test]
    fn a_users_function_of_a_name_of_the_servers_is_found_where_a_bare_name_may_be_its() {
        let in_path = |path: &[&[&str]]| {
            let names: &[&[&str]] = &[&["function", "util", "round"], &["operator", "util", "-"]];
            let volatile = Volatile::of(rows(path), rows(names), Vec::new());
            ["round(t.a, 2)", "util.round(t.a, 2)", "(t.a - 1)", "(t.a OPERATOR(util.-) 1)", "'2024-01-01'::date"]
                .map(|text| in_plan(&volatile, &format!("\"Filter\": \"{text}\"")))
        };
        let found = in_path(&[&["pg_catalog"], &["util"]]);
        assert!(found[0].as_ref().unwrap().contains("volatile in the schema util"), "{found:?}");
        assert_eq!(found.map(|found| found.is_some()), [true, true, true, true, false]);
        let found = in_path(&[&["pg_catalog"], &["public"]]);
        assert_eq!(found.map(|found| found.is_some()), [false, true, false, true, false]);
    }

    #[test]
    fn a_users_function_that_takes_another_number_of_arguments_is_not_what_a_bare_name_means() {
        let names: &[&[&str]] = &[
            &["function", "util", "round", "2", "3"],
            &["function", "util", "round", "5", "5"],
            &["function", "util", "sum_of", "1", ""],
            &["function", "util", "loudest", "", ""],
        ];
        let volatile = Volatile::of(rows(&[&["pg_catalog"], &["util"]]), rows(names), Vec::new());
        let is_called = |call: &str| {
            let in_plan = in_plan(&volatile, &format!("\"Output\": [\"{call}\"]")).is_some();
            let in_text = volatile.in_texts(&[format!("SELECT 1 LIMIT {call}")], false).is_some();
            assert_eq!(in_plan, in_text, "{call}");
            in_plan
        };
        for call in [
            "round(t.a, 2)",
            "util.round(t.a, f(1, 2, 3, 4), ARRAY[5, 6])",
            "round(a, b, c, d, (e, f))",
            "round(0) + round(a, 1)",
            "sum_of(a)",
            "sum_of(a, b, c)",
            "sum_of(VARIADIC a)",
            "loudest(a ORDER BY b, c)",
            "loudest()",
        ] {
            assert!(is_called(call), "{call}");
        }
        for call in ["round(t.a)", "round()", "util.round(f(1, 2))", "round(a, b, c, d)", "sum_of()"] {
            assert!(!is_called(call), "{call}");
        }
    }

    #[test]
    fn a_literal_of_a_type_is_no_cast_to_it_unless_the_cast_gives_it_a_length() {
        let casts: &[&[&str]] =
            &[&["text", "text", "count_up", "f", "f"], &["sized", "public.sized", "count_up", "f", "t"]];
        let mut volatile = Volatile::of(Vec::new(), Vec::new(), rows(casts));
        volatile.add_checked(rows(&[&["row", "public", "orders"], &["type", "public", "counted"]]));
        let in_plan = |text: &str| in_plan(&volatile, &format!("\"Filter\": \"{text}\"")).is_some();
        let in_text = |text: &str| volatile.in_texts(&[format!("SELECT {text} LIMIT 1")], false).is_some();
        for text in ["(t.a = 'x'::text)", "(t.a = ANY ('{x,y}'::text[]))", "(f('x'::pg_catalog.text))"] {
            assert!(!in_plan(text) && !in_text(text), "{text}");
        }
        for text in [
            "((t.a)::text = 'x')",
            "(f($1::text))",
            "(('x'::mood)::text = t.a)",
            "(t.a = 'x'::sized(3))",
            "(t.a = '(1)'::orders)",
            "(t.a = '1'::counted)",
        ] {
            assert!(in_plan(text) && in_text(text), "{text}");
        }
        for text in ["(mood 'x'::text)", "(B'1'::text)", "('x' 'y'::text)", "CAST('x' AS text)"] {
            assert!(in_text(text), "a literal of a type of its own, or of none that is known: {text}");
        }
    }

    #[test]
    fn a_cast_is_found_by_whatever_word_the_text_has_for_the_type() {
        let casts: &[&[&str]] = &[
            &["int4", "integer", "count_up", "f", "f"],
            &["float8", "double", "count_up", "f", "f"],
            &["bpchar", "character", "count_up", "f", "t"],
        ];
        let volatile = Volatile::of(Vec::new(), Vec::new(), rows(casts));
        let in_text = |text: &str| volatile.in_texts(&[format!("SELECT 1 LIMIT {text}")], false).is_some();
        for text in ["a::INT", "a::integer", "CAST(a AS int4)", "a::float(53)", "('x'::char(3))", "a::nchar(3)"] {
            assert!(in_text(text), "{text}");
        }
        for text in ["a::bigint", "a::text", "('1'::int)", "a::decimal"] {
            assert!(!in_text(text), "{text}");
        }
    }

    #[test]
    fn a_literal_behind_a_type_of_several_words_is_a_cast_to_it() {
        let casts: &[&[&str]] = &[
            &["float8", "double", "count_up", "f", "t"],
            &["varchar", "character", "count_up", "f", "t"],
            &["timetz", "time", "count_up", "f", "t"],
        ];
        let volatile = Volatile::of(Vec::new(), Vec::new(), rows(casts));
        let in_text = |text: &str| volatile.in_texts(&[format!("SELECT 1 LIMIT {text}")], false).is_some();
        for text in [
            "double precision '1'",
            "character varying(3) 'x'",
            "char varying(3) 'x'",
            "national character varying(3) 'x'",
            "time with time zone '1:00'",
        ] {
            assert!(in_text(text), "{text}");
        }
        for text in ["double + '1'", "a.character || 'x'", "bit varying(3) 'x'", "f(a AT TIME ZONE 'UTC')"] {
            assert!(!in_text(text), "{text}");
        }
    }

    #[test]
    fn a_select_that_makes_a_table_is_known_from_what_writes_rows_and_from_a_column_named_into() {
        for text in [
            "SELECT * INTO copied FROM shop",
            "select n into temp x from shop",
            "SELECT INTO copied FROM shop",
            "SELECT 1. INTO copied",
            "SELECT s.insert INTO copied FROM shop s",
            "SELECT merge INTO copied FROM shop",
            "WITH a AS (SELECT 1) SELECT * /* into */ InTo\ncopied FROM a",
        ] {
            assert!(makes_table(text), "{text}");
        }
        for text in [
            "INSERT INTO shop SELECT 1",
            "WITH a AS (INSERT /* x */ INTO shop VALUES (1) RETURNING 1) SELECT * FROM a",
            "MERGE INTO shop USING a ON true WHEN MATCHED THEN DELETE",
            "SELECT s.into, n AS into, \"into\", 'into', $$ into $$ FROM shop s -- into x",
            "",
        ] {
            assert!(!makes_table(text), "{text}");
        }
    }

    #[test]
    fn without_a_plan_a_text_shows_what_writes_locks_and_calls_and_a_name_or_a_literal_shows_nothing() {
        let said = |text: &str| Volatile::of_every_server().in_text_alone(text);
        for text in [
            "DELETE FROM shop",
            "/*+ SeqScan(t) */ update shop SET n = 1",
            "WITH a AS (SELECT 1) INSERT INTO shop SELECT * FROM a",
            "WITH a AS (SELECT 1), gone AS NOT MATERIALIZED (DELETE FROM shop RETURNING 1) SELECT * FROM gone",
        ] {
            assert_eq!(said(text).as_deref(), Some("it writes"), "{text}");
        }
        for text in ["SELECT * FROM shop FOR UPDATE", "SELECT 1 FROM (SELECT n FROM shop FOR NO KEY UPDATE) a"] {
            assert_eq!(said(text).as_deref(), Some("it locks rows"), "{text}");
        }
        for text in ["SELECT pg_sleep(60)", "SELECT n FROM shop ORDER BY pg_catalog.PG_SLEEP(1)"] {
            let why = "it calls pg_sleep, which is volatile and may have side effects";
            assert_eq!(said(text).as_deref(), Some(why), "{text}");
        }
        for text in [
            "SELECT 'DELETE FROM shop', pg_sleep FROM shop -- pg_sleep(1)",
            "WITH a AS (SELECT 1) SELECT count(*) delete FROM a",
            "SELECT random, s.update FROM shop s WHERE note = 'for update'",
            "VALUES (1)",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }

    #[test]
    fn what_no_server_prepares_is_known_by_its_first_word() {
        for text in ["select 1", "(SELECT 1) UNION SELECT 2", "/* x */ TABLE shop", "WITH a AS (SELECT 1) SELECT 2"] {
            assert!(is_preparable(text), "{text}");
        }
        for text in ["DROP TABLE shop", "EXPLAIN SELECT 1", "VACUUM", "", "-- select"] {
            assert!(!is_preparable(text), "{text}");
        }
    }

    #[test]
    fn a_text_with_a_backslash_is_not_read_where_it_may_be_an_escape() {
        let mut volatile = Volatile::default();
        let text = ["SELECT 'a\\'' FROM t LIMIT f(1) --'".to_string()];
        for (setting, is_refused) in [(None, false), (Some("on"), false), (Some("off"), true)] {
            volatile.read_literals_by(setting);
            let found = volatile.in_texts(&text, false);
            assert_eq!(found.is_some_and(|why| why.contains("standard_conforming_strings")), is_refused, "{setting:?}");
        }
        assert_eq!(volatile.in_texts(&["SELECT 'it''s' FROM t LIMIT 1".into()], false), None);
    }

    #[test]
    fn what_is_in_another_encoding_counts_as_volatile() {
        let texts = ["SELECT n FROM odd".to_string(), UNREADABLE.into()];
        let why = volatile().in_texts(&texts, false).unwrap();
        assert!(why.contains("a view, a policy or a function that it uses is in another encoding"), "{why}");
        let checks = rows(&[&["1", UNREADABLE], &["2", "CHECK ((VALUE > 0))"]]);
        assert_eq!(volatile().domains(checks), ["1"]);
    }

    #[test]
    fn a_function_named_from_is_found_behind_its_schema_and_no_list_of_tables_is_one() {
        let volatile = Volatile::of(rows(&[&["util"]]), rows(&[&["function", "util", "from"]]), Vec::new());
        let in_text = |text: &str| volatile.in_texts(&[text.to_string()], false).is_some();
        assert!(in_text("SELECT 1 LIMIT util.from(1)") && in_text("SELECT 1 LIMIT util.\"from\"(1)"));
        assert!(!in_text("SELECT util.a FROM (SELECT 1 AS a) AS util LIMIT 1"));
    }

    #[test]
    fn ranges_of_a_checked_type_are_asked_for() {
        let question = checked(&["1".into()]);
        for part in ["SELECT rngtypid, rngsubtype FROM pg_range", "->> 'rngmultitypid')::oid, r.rngtypid"] {
            assert!(question.contains(part), "{question}");
        }
    }

    #[test]
    fn a_volatile_operator_is_found_where_a_word_stands_for_it() {
        let volatile = Volatile::of(Vec::new(), rows(&[&["operator", "util", "="]]), Vec::new());
        for filter in ["(a IS DISTINCT FROM b)", "(NULLIF(a, b) IS NULL)", "CASE a WHEN 1 THEN b END"] {
            assert!(in_plan(&volatile, &format!("\"Filter\": \"{filter}\"")).is_some(), "{filter}");
        }
        assert_eq!(in_plan(&volatile, "\"Filter\": \"(a < b)\""), None);
    }

    #[test]
    fn what_a_plan_does_not_show_is_found_in_the_text_in_whatever_form_it_is_written() {
        for text in [
            "SELECT * FROM t LIMIT pg_terminate_backend(1)::int",
            "SELECT * FROM t LIMIT PG_Terminate_Backend (1)::int",
            "SELECT * FROM t LIMIT pg_catalog.\"pg_terminate_backend\"(1)::int",
            "SELECT * FROM t LIMIT pg_terminate_backend/**/(1)::int",
            "SELECT * FROM t LIMIT \"MyVol\"(1)",
            "SELECT * FROM t LIMIT A$B(1)",
            "SELECT * FROM t LIMIT \"Odd Name\" (1)",
            "SELECT * FROM t LIMIT GRößE(1)",
            "SELECT * FROM t LIMIT U&\"\\006e\"(1)",
            "SELECT * FROM t LIMIT 1<~>2",
            "SELECT * FROM t LIMIT 1 OPERATOR(public.<~>) 2",
            "SELECT * FROM (VALUES (1::noisy), (2)) v",
            "SELECT * FROM (VALUES (CAST(1 AS public.Noisy)), (2)) v",
            "SELECT * FROM (VALUES (noisy(1)), (2)) v",
            "SELECT * FROM t, LATERAL (VALUES ((t).shop), (2)) v",
            "SELECT * FROM t, LATERAL (VALUES (t.shop), (2)) v",
        ] {
            assert!(in_text(text).unwrap().starts_with("its text"), "{text}");
        }
        for text in [
            "SELECT shop FROM t LIMIT 1",
            "SELECT 'ä' FROM shop.t LIMIT 1",
            "SELECT workshop(1) LIMIT 1",
            "SELECT round(a, 2) - 1, 'nextval(1)' FROM t -- pg_sleep(1)\n LIMIT 10",
            "SELECT * FROM noisy LIMIT 1",
            "",
        ] {
            assert_eq!(in_text(text), None, "{text}");
        }
    }

    #[test]
    fn a_column_or_an_alias_of_the_name_of_something_volatile_does_not_keep_a_query_from_being_run() {
        for text in [
            "SELECT a.balance FROM accounts a LIMIT 10",
            "SELECT t.pg_sleep, t.nextval AS noisy FROM t LIMIT 10",
            "SELECT (lower(a)) AS noisy, (SELECT max(b) AS noisy FROM u) FROM t LIMIT 10",
            "SELECT CAST((SELECT max(b) AS noisy FROM u) AS integer) FROM t LIMIT 10",
        ] {
            assert_eq!(in_text(text), None, "{text}");
        }
        for text in ["SELECT balance(a) FROM t LIMIT 1", "SELECT cast((SELECT b AS c FROM t) AS a.b.noisy)"] {
            assert!(in_text(text).is_some(), "{text}");
        }
    }

    #[test]
    fn a_name_that_the_server_cuts_is_found_by_what_it_cuts_it_to() {
        let (short, wide) = ("n".repeat(63), "ä".repeat(31));
        let names: &[&[&str]] = &[&["function", "public", &short], &["function", "public", &wide]];
        let volatile = Volatile::of(rows(&[&["public"]]), rows(names), Vec::new());
        let found = |name: &str| volatile.in_texts(&[format!("SELECT 1 LIMIT {name}(1)")], false).is_some();
        assert!(found(&format!("{short}nn")) && found(&format!("\"{short}nn\"")) && found(&format!("{wide}ä")));
        assert!(!found(&short[1..]));
    }

    #[test]
    fn defaults_are_asked_for_only_of_calls_that_leave_arguments_out() {
        let given = |text: &str| arguments(&tokens(text));
        let counts = ["()", "(1)", "(f(1, 2))", "(a, ARRAY[1, 2], (b, c)) + g(1, 2)", "(())"].map(given);
        assert_eq!(counts, [0, 1, 1, 3, 1]);
        let text = ["SELECT 1 LIMIT most_of(7)".to_string()];
        let question = Asked::default().definitions(&text, false, 5).unwrap();
        assert!(question.contains("ARRAY[1, 1]::int[]") || question.contains("ARRAY[1]::int[]"), "{question}");
        assert!(question.contains("called.given < p.pronargs"), "{question}");
    }

    #[test]
    fn what_a_view_calls_where_no_plan_shows_it_is_found_in_its_definition() {
        let view = " SELECT n FROM shop LIMIT nextval('numbers'::regclass)".to_string();
        let found = volatile().in_texts(&["SELECT * FROM best".into(), view], false).unwrap();
        assert!(found.starts_with("a view, a policy or a function that") && found.contains("nextval"), "{found}");
    }

    #[test]
    fn the_server_is_asked_once_about_each_name_and_about_relations_only_where_a_function_names_them() {
        let mut asked = Asked::default();
        let text = ["SELECT \"Best\"(1), it FROM hall.it LIMIT 10".to_string()];
        let question = asked.definitions(&text, false, 5).unwrap();
        assert!(question.contains("ARRAY['Best', 'best']") && !question.contains("'it'"), "{question}");
        assert!(question.contains("ARRAY[]::name[]") && question.ends_with("LIMIT 5"), "{question}");
        assert!(question.contains("pg_get_function_arguments"), "defaults are called too: {question}");
        assert_eq!(asked.definitions(&text, false, 5), None);
        let question = asked.definitions(&text, true, 5).unwrap();
        assert!(question.contains("'hall', 'it'") && !question.contains("'10'"), "{question}");
        assert_eq!(asked.definitions(&text, true, 5), None);
    }

    /// The same with a domain whose check is volatile.
    fn with_domain() -> Volatile {
        let mut volatile = volatile();
        let checks = rows(&[&["1", "CHECK ((nextval('s'::regclass) > VALUE))"], &["2", "CHECK ((VALUE > 0))"]]);
        assert_eq!(volatile.domains(checks), ["1"]);
        volatile.add_checked(rows(&[
            &["type", "public", "counted"],
            &["row", "public", "orders"],
            &["function", "public", "count_of"],
            &["function", "public", "total"],
            &["attribute", "public", "total"],
            &["operator", "public", "<+>"],
        ]));
        volatile
    }

    #[test]
    fn a_function_that_fills_a_row_of_any_type_counts_as_one_that_uses_a_checked_type() {
        for name in ["json_populate_record", "jsonb_populate_recordset", "populate_record"] {
            assert!(checked(&["1".into()]).contains(&format!("OR p.proname IN ({FILLING})")) && FILLING.contains(name));
        }
        let mut volatile = Volatile::default();
        volatile.path.insert(CATALOG.into());
        volatile.add_checked(rows(&[&["function", CATALOG, "json_populate_record"]]));
        let step = r#""Output": ["json_populate_record(t.*, '{\"n\": 1}'::json, false)"]"#;
        assert!(in_plan(&volatile, step).unwrap().contains("calls json_populate_record, which uses a type"));
    }

    #[test]
    fn a_cast_to_a_domain_whose_check_is_volatile_is_found_in_a_plan_and_in_a_text() {
        let volatile = with_domain();
        for step in [
            r#""Output": ["(t.n)::counted"]"#,
            r#""Output": ["(t.n)::public.counted[]"]"#,
            r#""Output": ["f(NULL::orders)"]"#,
            r#""Output": ["count_of(t.n)"]"#,
            r#""Output": ["JSON_VALUE(t.j, '$.n' RETURNING public.counted)"]"#,
            r#""Output": ["XMLSERIALIZE(CONTENT t.x AS counted)"]"#,
            r#""Table Function Call": "XMLTABLE(('/r'::text) PASSING (t.x) COLUMNS n counted PATH ('n'::text))""#,
        ] {
            assert!(in_plan(&volatile, step).is_some(), "{step}");
        }
        for text in [
            "SELECT 1 LIMIT 5::app.public.counted",
            "SELECT 1 LIMIT CAST(5 AS Counted)",
            "SELECT 1 LIMIT counted(5)",
            "SELECT 1 LIMIT counted '5'",
            "SELECT t.total FROM t LIMIT 1",
            "SELECT 1 LIMIT 2 <+> 3",
            "SELECT 1 LIMIT CAST(5 AS counted(3))",
        ] {
            assert!(volatile.in_texts(&[text.into()], false).is_some(), "{text}");
        }
    }

    #[test]
    fn a_column_or_a_table_of_the_name_of_a_domain_does_not_keep_a_query_from_being_run() {
        let volatile = with_domain();
        for step in [
            r#""Output": ["orders.n", "(t.n)::integer"]"#,
            r#""Output": ["t.counted", "counted"], "Filter": "(t.counted > 1)", "Group Key": ["t.counted"]"#,
        ] {
            assert_eq!(in_plan(&volatile, step), None, "{step}");
        }
        for text in [
            "SELECT * FROM orders LIMIT 10",
            "SELECT counted, t.counted, n AS counted, t.count_of FROM t WHERE counted IN (1) ORDER BY counted LIMIT 10",
            "WITH x AS (SELECT counted, n FROM t) SELECT (SELECT max(n) AS counted FROM u) FROM x LIMIT 10",
        ] {
            assert_eq!(volatile.in_texts(&[text.into()], false), None, "{text}");
        }
    }

    #[test]
    fn the_name_of_a_query_or_of_rows_with_columns_behind_it_is_neither_a_cast_nor_a_call() {
        let in_text = |text: &str| with_domain().in_texts(&[format!("{text} LIMIT 10")], false);
        for text in [
            "WITH orders(a) AS (SELECT 1) SELECT a FROM orders",
            "WITH RECURSIVE balance (n) AS (SELECT 1 UNION SELECT n + 1 FROM balance) SELECT n FROM balance",
            "WITH x AS (SELECT f(1)), orders(a, b) AS MATERIALIZED (TABLE y), counted(a) AS (TABLE x) TABLE counted",
            "SELECT a FROM (VALUES (1)) AS orders(a), f(2) AS balance(b)",
            "SELECT (WITH orders(a) AS (SELECT 1) SELECT a FROM orders)",
            "SELECT a FROM t orders(a)",
            "SELECT a, b FROM app.public.t balance (b, c), orders WHERE b = 1",
        ] {
            assert_eq!(in_text(text), None, "{text}");
        }
        for text in [
            "WITH x(a) AS (SELECT balance(1)) SELECT a FROM x",
            "WITH x AS (SELECT 1) SELECT b FROM x, balance(1) AS y(b)",
            "WITH x AS (SELECT 1) SELECT 1, orders(a) AS b FROM x",
            "SELECT f(with_x, balance(1)) AS a FROM x",
            "SELECT at::timestamp with time zone, balance(1) AS b FROM x",
            "SELECT a FROM unnest(x) WITH ORDINALITY, balance(1) AS y(b)",
            "SELECT a IS DISTINCT FROM not balance(1) FROM x",
            "SELECT a FROM x WHERE \"from\" AND balance(1)",
            "SELECT a FROM x WHERE x.from AND balance(1)",
            "SELECT 1 AS from WHERE balance(1)",
            "SELECT a FROM x TABLESAMPLE balance(1)",
            "SELECT trim(a FROM balance(b)) FROM x",
            "SELECT a FROM LATERAL balance(1) AS y(b)",
            "SELECT a FROM x, balance(1) AS y(b)",
            "WITH x AS (SELECT 1) UPDATE y SET a = 1 FROM x, balance(1) AS z(b)",
        ] {
            assert!(in_text(text).is_some(), "{text}");
        }
    }

    #[test]
    fn the_type_of_a_column_that_no_plan_shows_is_found_where_a_function_is_scanned() {
        let in_text = |text: &str| with_domain().in_texts(&[text.into()], true);
        for columns in ["AS x(n Counted)", "AS (a int, n public.counted[])", "x(\"select\" counted)", "x(o orders)"] {
            assert!(in_text(&format!("SELECT * FROM json_to_record('{{}}') {columns}")).is_some(), "{columns}");
        }
        assert_eq!(in_text("SELECT counted, 'counted' FROM orders, generate_series(1, 2) AS counted"), None);
        assert!(with_domain().has_domains() && !volatile().has_domains());
    }

    #[test]
    fn a_cast_that_applies_by_itself_keeps_every_query_from_being_run() {
        let casts = rows(&[&["tone", "tone", "count_up", "t"]]);
        let unseen = Volatile::of(Vec::new(), Vec::new(), casts).unseen().unwrap();
        assert!(unseen.contains("implicit cast that calls count_up"), "{unseen}");
        assert_eq!(volatile().unseen(), None);
    }

    #[test]
    fn a_database_whose_catalogs_do_not_answer_keeps_every_query_from_being_run() {
        let unseen = Volatile::unknown("it takes longer than 5 s", false).unseen().unwrap();
        assert!(unseen.contains("is not known: it takes longer"), "{unseen}");
    }

    #[test]
    fn an_operator_ends_where_the_servers_scanner_ends_it() {
        let operators = |text: &'static str| -> Vec<&'static str> {
            let of = |token| match token {
                Token::Operator(name) => Some(name),
                _ => None,
            };
            tokens(text).into_iter().filter_map(of).collect()
        };
        assert_eq!(operators("a*-b"), ["*", "-"]);
        assert_eq!(operators("a<>-1"), ["<>", "-"]);
        assert_eq!(operators("a @- b"), ["@-"]);
        assert_eq!(operators("a+/* - */b - -1--*"), ["+", "-", "-"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*|[a-zE;'\"$\\\\/*+:.(\\-\nä ]*") {
            let _ = in_text(&text);
            let _ = volatile().in_plan(&text);
            let _ = with_domain().in_texts(std::slice::from_ref(&text), true);
            let _ = makes_table(&text);
            let _ = Asked::default().definitions(&[text], true, 1);
        }
    }
}
