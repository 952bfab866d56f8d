//! What a query may do besides computing its rows: the functions, operators, aggregates, casts and domains of a
//! database that may have side effects, and where a plan or a text uses one of them.
//!
//! EXPLAIN writes a name without its schema where the role's search path leads to it, and with its schema where the
//! path does not. Which of several functions of a name it means, only the server knows: a bare name counts as that of
//! a volatile function where some schema of the path has one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use server::Row;
use server::session::literal;

use crate::postgres::calibration::own_queries::token;

/// The schemas of the search path, in a transaction that has the role's own.
pub(super) const PATH: &str = "SELECT pg_catalog.unnest(pg_catalog.current_schemas(true))";

/// Functions that may have side effects, operators that call one, and aggregates that do, which are marked as if they
/// did not; each with its schema. A function of a trigger cannot be called by a query.
pub(super) const NAMES: &str = "SELECT 'function', n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = \
    p.pronamespace WHERE p.provolatile = 'v' AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype) \
    UNION ALL SELECT 'operator', n.nspname, o.oprname FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode JOIN \
    pg_namespace n ON n.oid = o.oprnamespace WHERE p.provolatile = 'v' UNION ALL SELECT 'function', n.nspname, \
    p.proname FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid JOIN pg_namespace n ON n.oid = p.pronamespace \
    WHERE EXISTS (SELECT FROM pg_proc f WHERE f.provolatile = 'v' AND f.oid IN (a.aggtransfn, a.aggfinalfn, \
    a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn))";

/// Casts that call such a function: the type, of an array that of its elements, by its name and by the first word that
/// plans write for it; the function; and whether the cast applies by itself, which no plan shows.
pub(super) const CASTS: &str = "SELECT e.typname, split_part(format_type(e.oid, NULL), ' ', 1), p.proname, \
    c.castcontext = 'i' FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc JOIN pg_type t ON t.oid = c.casttarget \
    JOIN pg_type e ON e.oid = CASE WHEN t.typelem <> 0 AND t.typarray = 0 THEN t.typelem ELSE t.oid END WHERE \
    p.provolatile = 'v'";

/// Checks of domains: the domain, and the text of the check. The catalog of dependencies would not do: it leaves out
/// the server's own functions.
pub(super) const CHECKS: &str =
    "SELECT contypid, pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid <> 0 AND oid >= 16384";

/// What an operator is called in [`NAMES`].
const OPERATOR: &str = "operator";

/// What a function, and the row of a table, are called in [`checked`].
const FUNCTION: &str = "function";
const TABLE_ROW: &str = "row";

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

/// What may have side effects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volatile {
    /// The schemas that a name without one is looked for in.
    path: BTreeSet<String>,
    /// Functions and aggregates.
    functions: Names,
    operators: Names,
    /// Functions that take or give a type of which a check is volatile.
    checking: Names,
    /// Types that a cast leads to, each with a clause on what the cast does.
    casts: BTreeMap<String, String>,
    /// Types, by any mention of which a check may be made that is volatile.
    domains: BTreeSet<String>,
    /// A function that is called by a cast which no plan shows.
    unseen: Option<String>,
}

/// Names with their schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    /// Those that can stand without their schema, each with one that has it.
    bare: BTreeMap<String, String>,
    all: BTreeSet<(String, String)>,
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
    /// From the rows of [`PATH`], [`NAMES`] and [`CASTS`].
    pub(super) fn of(path: Vec<Row>, names: Vec<Row>, casts: Vec<Row>) -> Volatile {
        let path = path.into_iter().flatten().flatten().collect();
        let mut volatile = Volatile { path, ..Volatile::default() };
        for row in names {
            let [kind, schema, name] = columns(row);
            let names = if kind == OPERATOR { &mut volatile.operators } else { &mut volatile.functions };
            names.add(&volatile.path, schema, name);
        }
        for row in casts {
            let [of_type, shown, function, is_implicit] = columns(row);
            let clause = format!("calls {function}, which is volatile and may have side effects");
            match is_implicit.as_str() {
                "t" => volatile.unseen = Some(function),
                _ => volatile.casts.extend([of_type, shown].map(|name| (name, clause.clone()))),
            }
        }
        volatile
    }

    /// Of the rows of [`CHECKS`], the domains with a check that calls something volatile.
    pub(super) fn domains(&self, checks: Vec<Row>) -> Vec<String> {
        let is_volatile = |[_, check]: &[String; 2]| self.found(check, Reading::Plan).is_some();
        checks.into_iter().map(columns::<2>).filter(is_volatile).map(|[domain, _]| domain).collect()
    }

    /// Adds the rows of [`checked`].
    pub(super) fn add_checked(&mut self, rows: Vec<Row>) {
        for row in rows {
            let [kind, schema, name] = columns(row);
            match kind.as_str() {
                FUNCTION => self.checking.add(&self.path, schema, name),
                // A table's name is that of the type of its rows too, which only a cast means.
                TABLE_ROW => self.casts.extend([(name.clone(), casts_to(&name))]),
                _ => self.domains.extend([name]),
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
        expressions(&document, &mut texts);
        texts.into_iter().find_map(|text| self.found(text, Reading::Plan)).map(|clause| format!("it {clause}"))
    }

    /// The same of what a plan does not show: by the query's text, which comes first, and by the definitions of what
    /// the text names.
    pub(super) fn in_texts(&self, texts: &[String]) -> Option<String> {
        texts.iter().enumerate().find_map(|(at, text)| {
            let whose = if at == 0 { "its text" } else { "a view, a policy or an SQL function that its text names" };
            // Which name that is takes a reader of its own, for what hardly any query has.
            if ["U&\"", "u&\""].iter().any(|mark| text.contains(mark)) {
                return Some(format!("{whose} has a name in U&\"…\", and its plan does not show all that is called"));
            }
            let clause = self.found(text, Reading::Text)?;
            Some(format!("{whose} {clause}, where its plan does not show it"))
        })
    }

    /// A type in a text of which a check is volatile: columns of `json_to_record` have types that no plan shows.
    pub(super) fn domain_in(&self, text: &str) -> Option<String> {
        let domain = |token: &Token<'_>| match token {
            Token::Word(word) => self.domain(word),
            _ => None,
        };
        tokens(text).iter().find_map(domain).map(|clause| format!("it {clause}"))
    }

    /// Why no query is run where a cast applies by itself.
    pub(super) fn unseen(&self) -> Option<String> {
        let name = self.unseen.as_ref()?;
        Some(format!(
            "the database has an implicit cast that calls {name}, which is volatile and may have side effects: no plan \
             shows whether it does here"
        ))
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
        let (outer, schema) = qualifier(before);
        let is_text = reading == Reading::Text;
        let is_call = matches!(rest, [Token::Symbol("("), ..]);
        // `(row).function` calls it too, and so does `alias.function`.
        let is_attribute =
            is_text && matches!(before, [.., Token::Symbol(".")]) && !matches!(rest, [Token::Symbol("." | "("), ..]);
        if is_call || is_attribute {
            let schema = schema.filter(|_| is_call);
            if let Some((schema, name)) = self.functions.get(schema, word) {
                return Some(calls(schema, name));
            }
            if let Some((_, name)) = self.checking.get(schema, word) {
                return Some(format!(
                    "calls {name}, which uses a type with a check that is volatile and may have side effects"
                ));
            }
        }
        let is_cast = match outer.last() {
            Some(Token::Symbol("::")) => true,
            Some(Token::Word(word)) if is_text && word == "as" => true,
            _ => is_text && matches!(rest, [Token::Symbol("(") | Token::Literal, ..]),
        };
        let cast = || self.casts.get(word).or_else(|| self.casts.get(&word.to_lowercase())).cloned();
        let cast = if is_cast { cast() } else { None };
        self.domain(word).or(cast).or_else(|| self.worded(word))
    }

    fn operator(&self, before: &[Token<'_>], name: &str, rest: &[Token<'_>]) -> Option<String> {
        // The star of `count(*)`.
        let is_bracketed =
            matches!(before, [.., Token::Symbol("(")]) && matches!(rest, [Token::Symbol(")"), ..]) && name == "*";
        let (_, schema) = qualifier(before);
        let name = if name == "!=" { "<>" } else { name };
        let (schema, name) = self.operators.get(schema, name).filter(|_| !is_bracketed)?;
        Some(calls(schema, name))
    }

    fn domain(&self, word: &str) -> Option<String> {
        let is_it = self.domains.contains(word) || self.domains.contains(&word.to_lowercase());
        is_it.then(|| casts_to(word))
    }

    /// An operator that a word stands for, in whatever schema: the word does not say which.
    fn worded(&self, word: &str) -> Option<String> {
        let (_, operators) = WORDED.iter().find(|(name, _)| *name == word)?;
        let (schema, name) = self.operators.all.iter().find(|(_, name)| operators.contains(&name.as_str()))?;
        Some(calls(schema, name))
    }
}

impl Names {
    fn add(&mut self, path: &BTreeSet<String>, schema: String, name: String) {
        if path.contains(&schema) {
            self.bare.insert(name.clone(), schema.clone());
        }
        self.all.insert((schema, name));
    }

    /// The schema and the name, as it is written or in small letters: of letters beyond ASCII, the server's encoding
    /// decides whether they are folded.
    fn get(&self, schema: Option<&str>, name: &str) -> Option<(&str, &str)> {
        let folded = schema.map(str::to_lowercase);
        self.exactly(schema, name).or_else(|| self.exactly(folded.as_deref(), &name.to_lowercase()))
    }

    fn exactly(&self, schema: Option<&str>, name: &str) -> Option<(&str, &str)> {
        let found = match schema {
            Some(schema) => self.all.get(&(schema.to_string(), name.to_string())).map(|one| (&one.0, &one.1)),
            None => self.bare.get_key_value(name).map(|(name, schema)| (schema, name)),
        };
        found.map(|(schema, name)| (schema.as_str(), name.as_str()))
    }
}

/// What is done by a call of this, as a clause. The name of a user's function may be that of one of the server's.
fn calls(schema: &str, name: &str) -> String {
    let place = if schema == CATALOG { String::new() } else { format!(" in the schema {schema}") };
    format!("calls {name}, which is volatile{place} and may have side effects")
}

fn casts_to(of_type: &str) -> String {
    format!("casts to {of_type}, a check of which is volatile and may have side effects")
}

/// The columns of a row; those that are null or not there are empty.
fn columns<const COUNT: usize>(row: Row) -> [String; COUNT] {
    let mut columns = row.into_iter().map(Option::unwrap_or_default);
    std::array::from_fn(|_| columns.next().unwrap_or_default())
}

/// Asks for all that a value of one of these domains can be made by: types that contain one, each by its name, rows of
/// tables that do, and functions that take or give one of them.
pub(super) fn checked(domains: &[String]) -> String {
    format!(
        "WITH RECURSIVE checked(oid) AS (SELECT unnest('{{{}}}'::oid[]) UNION SELECT t.oid FROM checked c JOIN pg_type \
         t ON t.typbasetype = c.oid OR t.typelem = c.oid OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = \
         t.typrelid AND a.atttypid = c.oid AND a.attnum > 0)) SELECT CASE WHEN r.relkind <> 'c' THEN '{TABLE_ROW}' \
         ELSE 'type' END, n.nspname, t.typname FROM checked c JOIN pg_type t ON t.oid = c.oid JOIN pg_namespace n ON \
         n.oid = t.typnamespace LEFT JOIN pg_class r ON r.oid = t.typrelid UNION ALL SELECT '{FUNCTION}', n.nspname, \
         p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE EXISTS (SELECT FROM checked c \
         WHERE c.oid = p.prorettype OR c.oid = ANY (p.proargtypes) OR c.oid = ANY (p.proallargtypes))",
        domains.join(",")
    )
}

/// Asks for what stands behind the names in a text, each with a key of its own: the definitions of views, the policies
/// of tables, and the SQL functions whose bodies the planner may take into a plan. Other functions that are not
/// volatile count as what they are declared to be; of those that are, the text has the name.
pub(super) fn definitions(text: &str) -> String {
    let word = |token: Token<'_>| match token {
        Token::Word(word) => Some(word),
        _ => None,
    };
    let words = tokens(text).into_iter().filter_map(word).flat_map(|word| [word.to_lowercase(), word]);
    let names = words.filter(|word| !word.starts_with(|letter: char| letter.is_ascii_digit()));
    let names: BTreeSet<String> = names.map(|name| literal(&name)).collect();
    format!(
        "WITH named AS (SELECT unnest(ARRAY[{}]::name[]) AS name) SELECT 'view ' || c.oid::text, pg_get_viewdef(c.oid) \
         FROM pg_class c WHERE c.relkind = 'v' AND c.oid >= 16384 AND c.relname IN (SELECT name FROM named) UNION ALL \
         SELECT 'policy ' || p.oid::text, pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p JOIN pg_class c ON c.oid \
         = p.polrelid WHERE c.relname IN (SELECT name FROM named) UNION ALL SELECT 'function ' || p.oid::text, \
         p.prosrc || ' ' || pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE \
         l.lanname = 'sql' AND p.prokind = 'f' AND p.proretset AND p.provolatile <> 'v' AND p.oid >= 16384 AND \
         p.proname IN (SELECT name FROM named)",
        names.into_iter().collect::<Vec<_>>().join(", ")
    )
}

/// What stands before a name and its schema, and that schema.
fn qualifier<'a, 'b>(before: &'a [Token<'b>]) -> (&'a [Token<'b>], Option<&'a str>) {
    match before {
        [outer @ .., Token::Word(schema), Token::Symbol(".")] => (outer, Some(schema.as_str())),
        outer => (outer, None),
    }
}

/// The texts of a plan that may hold expressions.
fn expressions<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        Value::Object(properties) => {
            let unnamed = properties.iter().filter(|(name, _)| !NAMED.contains(&name.as_str()));
            unnamed.for_each(|(_, value)| expressions(value, found));
        }
        _ => {}
    }
}

/// The tokens of a text, without blanks and comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (one, more) = rest.split_at(length(rest));
        tokens.extend(Token::of(one));
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
                Token::Word(name.strip_suffix('"').unwrap_or(name).replace("\"\"", "\""))
            }
            [first, ..] if is_of_operator(*first) => Token::Operator(text),
            [first, ..] if is_of_word(*first) => Token::Word(text.to_ascii_lowercase()),
            _ if text.trim().is_empty() => return None,
            _ => Token::Symbol(text),
        })
    }
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
        volatile().in_texts(&[text.to_string()])
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
    fn what_a_view_calls_where_no_plan_shows_it_is_found_in_its_definition() {
        let view = " SELECT n FROM shop LIMIT nextval('numbers'::regclass)".to_string();
        let found = volatile().in_texts(&["SELECT * FROM best".into(), view]).unwrap();
        assert!(found.starts_with("a view, a policy or an SQL function") && found.contains("nextval"), "{found}");
        let question = definitions("SELECT * FROM \"Best\", hall.it LIMIT 10");
        for name in ["'Best'", "'best'", "'hall'", "'it'"] {
            assert!(question.contains(name), "no {name} in {question}");
        }
        assert!(!question.contains("'10'"), "{question}");
    }

    #[test]
    fn a_cast_to_a_domain_whose_check_is_volatile_is_found_in_a_plan_and_in_a_text() {
        let mut volatile = volatile();
        let checks = rows(&[&["1", "CHECK ((nextval('s'::regclass) > VALUE))"], &["2", "CHECK ((VALUE > 0))"]]);
        assert_eq!(volatile.domains(checks), ["1"]);
        volatile.add_checked(rows(&[
            &["type", "public", "counted"],
            &["row", "public", "orders"],
            &["function", "public", "count_of"],
        ]));
        for step in ["(t.n)::counted", "(t.n)::public.counted[]", "f(NULL::orders)", "count_of(t.n)"] {
            assert!(in_plan(&volatile, &format!("\"Output\": [\"{step}\"]")).is_some(), "{step}");
        }
        assert_eq!(in_plan(&volatile, r#""Output": ["orders.n", "(t.n)::integer"]"#), None);
        assert!(volatile.domain_in("SELECT * FROM json_to_record('{}') AS x(n Counted)").is_some());
        assert_eq!(volatile.domain_in("SELECT 'counted' FROM orders"), None);
        assert_eq!(volatile.in_texts(&["SELECT * FROM orders LIMIT 10".into()]), None, "the table itself");
    }

    #[test]
    fn a_cast_that_applies_by_itself_keeps_every_query_from_being_run() {
        let casts = rows(&[&["tone", "tone", "count_up", "t"]]);
        let unseen = Volatile::of(Vec::new(), Vec::new(), casts).unseen().unwrap();
        assert!(unseen.contains("implicit cast that calls count_up"), "{unseen}");
        assert_eq!(volatile().unseen(), None);
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
            let _ = definitions(&text);
        }
    }
}
