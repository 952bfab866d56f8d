//! A text in SQL as tokens, cut where the server's scanner cuts it. The search for side effects and the check of what
//! kind of statement a text is both read these.

use crate::postgres::calibration::own_queries::token;

/// The word that begins a list of tables. It is a name only in quotation marks, behind a point and behind AS: as a
/// symbol, it differs from a column of that name, behind which an operator such as AND can stand.
pub(super) const FROM: &str = "from";

/// Bytes of the longest name; the server cuts longer ones.
const LONGEST_NAME: usize = 63;

/// A piece of a text in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or a word: in small letters, unless it stood in quotation marks.
    Word(String),
    Operator(&'a str),
    Symbol(&'a str),
    Literal,
}

/// The tokens of a text, without blanks and comments.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    for one in pieces(text) {
        let is_name = match tokens.last() {
            Some(Token::Word(word)) => word == "as",
            before => matches!(before, Some(Token::Symbol("."))),
        };
        tokens.extend(match Token::of(one) {
            Some(Token::Symbol(FROM)) if is_name => Some(Token::Word(FROM.into())),
            token => token,
        });
    }
    tokens
}

/// A text in SQL cut into its tokens, blanks and comments.
pub(super) struct Pieces<'a> {
    rest: &'a str,
    /// Signs at the beginning of the rest, each of which is an operator. The time to look for the end of each would
    /// grow with the square of their number.
    signs: usize,
}

/// The pieces of a text, in turn.
pub(super) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text, signs: 0 }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (length, signs) = if self.signs > 0 { (1, self.signs - 1) } else { length(self.rest) };
        let (one, more) = self.rest.split_at(length);
        (self.rest, self.signs) = (more, signs);
        Some(one)
    }
}

impl Token<'_> {
    /// What the whole of a token is; `None` for what separates tokens.
    pub(super) fn of(text: &str) -> Option<Token<'_>> {
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
pub(super) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

/// Letters of a word. The server takes every letter beyond ASCII for one.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn is_of_operator(byte: u8) -> bool {
    b"+-*/<>=~!@#%^&|`?".contains(&byte)
}

/// Bytes of the token at the beginning of a text that is not empty, and how many signs behind it are an operator each.
fn length(text: &str) -> (usize, usize) {
    let length = match text.as_bytes() {
        [b'-', b'-', ..] | [b'/', b'*', ..] | [b'E' | b'e', b'\'', ..] => token(text),
        [b'"', ..] => quoted(text),
        [b':', b':', ..] => 2,
        [first, ..] if is_of_operator(*first) => return operator(text),
        [first, ..] if is_of_word(*first) => text.bytes().take_while(|byte| is_of_word(*byte) || *byte == b'$').count(),
        _ => token(text),
    };
    (length, 0)
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
/// it has a letter that no operator of standard SQL has. These signs, how many of which are given too, are an operator
/// each.
///
/// Source: PostgreSQL, the rule `operator` in src/backend/parser/scan.l.
fn operator(text: &str) -> (usize, usize) {
    let run = text.bytes().take_while(|byte| is_of_operator(*byte)).count();
    let run = &text[..run];
    let end = ["--", "/*"].iter().filter_map(|comment| run.find(*comment)).min().unwrap_or(run.len());
    let run = &run[..end];
    let length = match run.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?']) {
        true => run.len(),
        false => run.trim_end_matches(['+', '-']).len().max(1),
    };
    (length, run.len() - length)
}

/// How many arguments the bracket at the beginning of these tokens has.
pub(super) fn arguments(tokens: &[Token<'_>]) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(operators("a<=+-+--1\n-b"), ["<=", "+", "-", "+", "-"]);
    }

    #[test]
    fn a_file_of_signs_is_cut_in_a_time_that_grows_with_its_length() {
        let text = "+-".repeat(1 << 20);
        assert_eq!(tokens(&text).len(), 2 << 20);
    }
}
