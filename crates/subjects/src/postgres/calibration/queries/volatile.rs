//! What a query may do besides computing its rows: the functions, operators, aggregates, casts and domains of a
//! database that may have side effects, and where a plan or a text uses one of them.

mod catalogs;
mod context;
mod names;
#[cfg(test)]
mod samples;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use server::UNREADABLE;

use self::context::{
    Reading, defines_column, is_ahead_of_literal, is_of_literal, is_of_type, names_rows, outside, qualifier,
};
use self::names::{Functions, Names, names_of_type};
use super::statement::writes_or_locks;
use super::tokens::{Token, tokens};
use super::verbose_plan::{TABLE_FUNCTION, expressions};

/// The schema of the server's own functions.
const CATALOG: &str = "pg_catalog";

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

impl Volatile {
    /// What a query does besides computing rows, as far as its text alone shows it: the sentence that
    /// [`Volatile::in_plan`] gives where there is a plan.
    pub(super) fn in_text_alone(&self, text: &str) -> Option<String> {
        let written = writes_or_locks(text).map(String::from);
        written.or_else(|| self.found(text, Reading::Text).map(|clause| format!("it {clause}")))
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

/// What is done by a call of this, as a clause. The name of a user's function may be that of one of the server's.
fn calls(schema: &str, name: &str) -> String {
    let place = if schema == CATALOG { String::new() } else { format!(" in the schema {schema}") };
    format!("calls {name}, which is volatile{place} and may have side effects")
}

/// What is done by a call of this, whose arguments or result are of a checked type.
fn uses_checked(name: &str) -> String {
    format!("calls {name}, which uses a type with a check that is volatile and may have side effects")
}

fn casts_to(of_type: &str) -> String {
    format!("casts to {of_type}, a check of which is volatile and may have side effects")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::definitions::Asked;
    use super::super::statement::makes_table;
    use super::samples::{in_plan, in_text, rows, volatile, with_domain};
    use super::*;

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
    fn what_a_view_calls_where_no_plan_shows_it_is_found_in_its_definition() {
        let view = " SELECT n FROM shop LIMIT nextval('numbers'::regclass)".to_string();
        let found = volatile().in_texts(&["SELECT * FROM best".into(), view], false).unwrap();
        assert!(found.starts_with("a view, a policy or a function that") && found.contains("nextval"), "{found}");
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
