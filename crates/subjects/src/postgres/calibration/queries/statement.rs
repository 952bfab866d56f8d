//! What a statement is by its words alone: whether it can be prepared, makes a table, writes or locks rows. This needs
//! no server, so that a dry run can say it too.

use super::tokens::{Token, pieces, tokens};

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

/// Whether a text makes a table of what it selects. From 15 on, the server prepares it, and EXPLAIN ANALYZE would fill
/// the table, in a read-only transaction too.
pub(super) fn makes_table(text: &str) -> bool {
    let (mut earlier, mut before) = ("", "");
    for one in pieces(text) {
        if one.eq_ignore_ascii_case("into") && !is_other_into(earlier, before) {
            return true;
        }
        if Token::of(one).is_some() {
            (earlier, before) = (before, one);
        }
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
pub(super) fn writes_or_locks(text: &str) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::super::Volatile;
    use super::*;

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
}
