//! The call stack that an entry has as its context: in how many functions the entry was written, and which of them the
//! client's statement called. It is text in any language, and is read by itself.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::fingerprint::hash;

/// How lines of a context begin that hold the text of a statement. From 14 on, PL/pgSQL has names of its own for some.
const TEXTS: [&[u8]; 3] = [b"SQL statement \"", b"PL/pgSQL expression \"", b"PL/pgSQL assignment \""];

/// In how many functions an entry was written: 0 for a statement of the client. A statement that no function called,
/// such as the check of a foreign key, is a level too. The statements of an SQL function have no line, so that one in
/// front of its line is such a check.
pub(super) fn depth(context: &[u8]) -> u16 {
    let (mut depth, mut is_within, mut is_statement) = (0_usize, false, false);
    for line in levels(context) {
        is_within = true;
        if text_of(line).is_some() {
            depth += usize::from(is_statement);
            is_statement = true;
        } else if is_function(line) {
            depth += 1 + usize::from(is_statement && line.starts_with(b"SQL function"));
            is_statement = false;
        }
    }
    depth += usize::from(is_statement);
    // A context of another kind is one level.
    let depth = if is_within { depth.max(1) } else { 0 };
    u16::try_from(depth).unwrap_or(u16::MAX)
}

/// The lines of a context without further lines of a statement's text, up to its closing quote, and without the values
/// of the client's statement, which come last and may have several lines.
fn levels(context: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_open = false;
    let lines = context.split(|byte| *byte == b'\n').filter(move |line| {
        let is_further = is_open;
        let text = if is_further { Some(*line) } else { text_of(line) };
        is_open = text.is_some_and(|text| !text.ends_with(b"\""));
        !is_further && !line.is_empty()
    });
    lines.take_while(|line| !is_of_parameters(line))
}

/// What stands behind the quote in a line of a context that holds the text of a statement.
fn text_of(line: &[u8]) -> Option<&[u8]> {
    TEXTS.iter().find_map(|before| line.strip_prefix(*before))
}

/// Whether a line of a context is a function's, such as `PL/pgSQL function f() line 3 at PERFORM`; the quoted text of a
/// statement may have the word too. In all languages it has the name of the function's language and its parentheses.
fn is_function(line: &[u8]) -> bool {
    if text_of(line).is_some() {
        return false;
    }
    let is_language = |before: &[u8]| {
        let word = before.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        word.starts_with(b"PL/") || word == b"SQL"
    };
    let at = memchr::memmem::find(line, b" function ");
    at.is_some_and(|at| is_language(&line[..at]))
        || line.starts_with(b"SQL function")
        || (memchr::memmem::find(line, b"PL/").is_some() && line.contains(&b'(') && !line.contains(&b'"'))
}

/// The name of the outermost function of a context, as a number: the client's statement called it. `None` where there
/// is none, and for the block of a `DO`, which has no name.
pub(super) fn function_of_client(context: &[u8]) -> Option<u64> {
    let line = levels(context).filter(|line| is_function(line)).last()?;
    let name = match memchr::memchr(b'(', line) {
        Some(end) => {
            let before = line[..end].strip_suffix(b"\"").unwrap_or(&line[..end]);
            before.rsplit(|byte| !is_of_name(*byte)).next()?
        }
        None => line.split(|byte| *byte == b'"').nth(1)?,
    };
    (!name.is_empty()).then(|| hash(&name.to_ascii_lowercase()))
}

/// Whether the outermost line of a context is the block of a `DO`. No statement with a plan runs one.
pub(super) fn is_of_block(context: &[u8]) -> bool {
    let name = b"inline_code_block";
    let Some(line) = levels(context).last().filter(|line| text_of(line).is_none()) else { return false };
    // A function of that name has parentheses.
    let of_plpgsql = memchr::memmem::find(line, name).is_some_and(|at| line.get(at + name.len()) != Some(&b'('));
    of_plpgsql || memchr::memmem::find(line, b"anonymous code block").is_some()
}

/// The words of a query's text that could be names of functions, as [`function_of_client`] numbers them.
pub(super) fn names_in(query: &str) -> HashSet<u64, RandomState> {
    let words = query.as_bytes().split(|byte| !is_of_name(*byte)).filter(|word| !word.is_empty());
    words.map(|word| hash(&word.to_ascii_lowercase())).collect()
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Whether a line of a context has the values of a client's statement, such as `unnamed portal with parameters: $1 =
/// '7'`: it is in no function.
fn is_of_parameters(line: &[u8]) -> bool {
    let portals: [&[u8]; 3] = [b"unnamed portal ", b"portal \"", b"extended query "];
    portals.iter().any(|portal| line.starts_with(portal)) && memchr::memmem::find(line, b"with parameters:").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::postgres_log::source::tests::samples::{FIGURES, WITHIN_F, entry, read};

    #[test]
    fn the_name_of_the_function_that_the_client_called_is_found() {
        let names = names_in("Select F(1)");
        let is_found = |context: &str| function_of_client(context.as_bytes()).is_some_and(|name| names.contains(&name));
        for context in [
            WITHIN_F,
            "PL/pgSQL function g() line 3 at PERFORM\nPL/pgSQL function shop.f(integer) line 3 at RETURN",
            "PL/pgSQL function \"F\"(integer) line 3 at RETURN",
            "SQL function \"f\" statement 1",
            "PL/pgSQL-Funktion f(integer) Zeile 3 bei PERFORM",
        ] {
            assert!(is_found(context), "{context}");
        }
        assert!(!is_found("PL/pgSQL function inline_code_block line 3 at SQL statement"));
    }

    #[test]
    fn the_text_of_a_statement_is_no_function() {
        let context = "SQL statement \"select 1 -- one function call\"\nPL/pgSQL function f() line 3 at PERFORM";
        assert_eq!(depth(context.as_bytes()), 1);
        assert_eq!(depth(b"SQL function \"f\" statement 1\nPL/Python function \"g\""), 2);
        let text = "SQL statement \"\n-- PL/SQL of 2009 (ported)\n\nselect 1\"";
        let context = format!("{text}\nPL/pgSQL function f() line 3 at EXECUTE");
        assert_eq!(depth(context.as_bytes()), 1, "in further lines");
        let context = "PL/pgSQL expression \"x -- SQL function g\"\nPL/pgSQL function f() line 3 at IF";
        assert_eq!(depth(context.as_bytes()), 1, "of an expression");
        assert_eq!(depth("PL/pgSQL-Funktion f() Zeile 3 bei PERFORM\nfonction PL/pgSQL g(), ligne 3".as_bytes()), 2);
    }

    #[test]
    fn the_check_of_a_foreign_key_is_deeper_than_the_statement_that_it_checks() {
        let insert = "SQL statement \"INSERT INTO items\n  VALUES (1)\"\nPL/pgSQL function f() line 3 at SQL statement";
        let check = format!("SQL statement \"SELECT 1 FROM ONLY orders\"\n{insert}");
        assert_eq!((depth(insert.as_bytes()), depth(check.as_bytes())), (1, 2));
        assert_eq!(depth(b"SQL statement \"SELECT 1 FROM ONLY orders\""), 1, "of the client's INSERT");
        let insert = "SQL function \"f\" statement 1";
        let check = format!("SQL statement \"SELECT 1 FROM ONLY orders\"\n{insert}");
        assert_eq!((depth(insert.as_bytes()), depth(check.as_bytes())), (1, 2), "in an SQL function");
    }

    #[test]
    fn values_of_parameters_make_no_statement_of_the_client_an_inner_one() {
        for portal in ["unnamed portal", "portal \"fetched\"", "extended query", "extended query \"fetched\""] {
            let values = format!("{portal} with parameters: $1 = 'a\nb function c'");
            assert_eq!(depth(values.as_bytes()), 0, "{portal}");
            let within = format!("PL/pgSQL function f() line 3 at PERFORM\n{values}");
            assert_eq!(depth(within.as_bytes()), 1, "{portal}");
        }
        assert_eq!(depth(b"while checking a foreign key"), 1, "a context of another kind is one level");
        let context = "2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  unnamed portal with parameters: $1 = '7'\n";
        let (kept, _, summary) = read(&(entry(1000, 7, "4.000", "select 1", FIGURES) + context));
        assert_eq!((kept.calls[0].depth, kept.roots[0].depth, summary.orphans), (0, 0, 0));
    }
}
