//! What the tokens around a name make of it: a type that a value is cast to, the type of a literal, the name that rows
//! get, or a column. It is grammar, and knows nothing of what is volatile.

use crate::postgres::calibration::queries::tokens::{FROM, Token};

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// An expression as EXPLAIN writes it.
    Plan,
    /// A text as people write it, with other forms of a call and of a cast.
    Text,
}

/// Words before a bracket in which a type stands behind AS; elsewhere a name does.
const CASTING: [&str; 3] = ["cast", "xmlserialize", "treat"];

/// Words that begin another clause with a list in which calls have names behind AS.
const OTHER_CLAUSES: [&str; 3] = ["select", "from", "returning"];

/// Words that can stand between FROM, such as that of IS DISTINCT FROM, and a call.
const AHEAD_OF_CALLS: [&str; 4] = ["not", "case", "lateral", "only"];

/// Words with which the name of a type goes on behind its first, as in `double precision '1'`.
///
/// Source: PostgreSQL, the rule `ConstTypename` in src/backend/parser/gram.y.
const FURTHER: [&str; 8] = ["precision", "varying", "character", "char", "with", "without", "time", "zone"];

/// The schema before a name.
pub(super) fn qualifier<'a>(before: &'a [Token<'_>]) -> Option<&'a str> {
    match before {
        [.., Token::Word(schema), Token::Symbol(".")] => Some(schema.as_str()),
        _ => None,
    }
}

/// What stands before a name, its schema and its database.
pub(super) fn outside<'a, 'b>(mut before: &'a [Token<'b>]) -> &'a [Token<'b>] {
    while let [outer @ .., Token::Word(_), Token::Symbol(".")] = before {
        before = outer;
    }
    before
}

/// Whether a type stands behind these tokens.
pub(super) fn is_of_type(before: &[Token<'_>]) -> bool {
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
pub(super) fn is_of_literal(before: &[Token<'_>], reading: Reading) -> bool {
    let [ahead @ .., Token::Literal, Token::Symbol("::")] = before else { return false };
    reading == Reading::Plan || matches!(ahead, [.., Token::Symbol("(" | "[" | ",") | Token::Operator(_)])
}

/// Whether what is left of a type's name, with its length, and a literal come next.
pub(super) fn is_ahead_of_literal(mut rest: &[Token<'_>]) -> bool {
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

/// These tokens from the last to the first, without brackets that are closed, each with its place.
fn backwards<'a, 'b>(before: &'a [Token<'b>]) -> impl Iterator<Item = (usize, &'a Token<'b>)> {
    let mut closed = 0;
    before.iter().enumerate().rev().filter(move |(_, token)| {
        match token {
            Token::Symbol(")") => closed += 1,
            Token::Symbol("(") if closed > 0 => closed -= 1,
            _ => return closed == 0,
        }
        false
    })
}

/// Whether the bracket that is open behind these tokens is that of a cast.
fn is_in_cast(before: &[Token<'_>]) -> bool {
    let open = backwards(before).find(|(_, token)| **token == Token::Symbol("("));
    let ahead: &[Token<'_>] = open.map_or(&[], |(at, _)| &before[..at]);
    matches!(ahead, [.., Token::Word(word)] if CASTING.contains(&word.as_str()))
}

/// Whether a name between these tokens is one that rows get, with their columns in the bracket behind it: that of a
/// query of WITH, one behind AS, or one behind the first table of FROM. A type behind the AS of a cast may have a
/// bracket too.
pub(super) fn names_rows(before: &[Token<'_>], rest: &[Token<'_>]) -> bool {
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
    for (at, token) in backwards(before) {
        match token {
            Token::Symbol("(" | FROM) => return false,
            Token::Word(word) if word == "with" && !is_of_another(&before[at + 1..]) => return true,
            Token::Word(word) if OTHER_CLAUSES.contains(&word.as_str()) => return false,
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
pub(super) fn defines_column(before: &[Token<'_>], rest: &[Token<'_>]) -> bool {
    let is_end = match rest {
        [Token::Symbol("," | ")" | "["), ..] => true,
        [Token::Word(word), ..] => word == "collate" || word == "array",
        _ => false,
    };
    is_end && matches!(before, [.., Token::Symbol("(" | ","), Token::Word(_)])
}

#[cfg(test)]
mod tests {
    use super::super::Volatile;
    use super::super::samples::{in_plan, rows, volatile, with_domain};

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
    fn a_function_named_from_is_found_behind_its_schema_and_no_list_of_tables_is_one() {
        let volatile = Volatile::of(rows(&[&["util"]]), rows(&[&["function", "util", "from"]]), Vec::new());
        let in_text = |text: &str| volatile.in_texts(&[text.to_string()], false).is_some();
        assert!(in_text("SELECT 1 LIMIT util.from(1)") && in_text("SELECT 1 LIMIT util.\"from\"(1)"));
        assert!(!in_text("SELECT util.a FROM (SELECT 1 AS a) AS util LIMIT 1"));
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
}
