//! Statements of a page as an output shows them, such that a copied one names what is meant.

use super::wrap::{clean, is_harmless};

/// What stands before a name in quotes.
const NAMED: [&str; 3] = ["DATABASE \"", "TABLESPACE \"", "ROLE \""];

/// A line of statements without hostile characters. A name in which a letter would be replaced, by [`clean`] or in a
/// locale without UTF-8, is written with PostgreSQL's escapes: with a question mark in it, it would be another name.
pub(crate) fn statement(line: &str, is_unicode: bool) -> String {
    clean(&with_escapes(line, |letter| !is_harmless(letter) || !is_unicode && !letter.is_ascii()))
}

fn with_escapes(line: &str, is_replaced: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(begin) = NAMED.iter().filter_map(|word| Some(rest.find(word)? + word.len())).min() {
        let (before, name) = rest.split_at(begin);
        let Some(end) = end_of_name(name) else { break };
        let (name, behind) = name.split_at(end);
        match name.contains(&is_replaced) {
            true => {
                text += before.strip_suffix('"').unwrap_or(before);
                text += "U&\"";
                name.chars().for_each(|letter| text += &escape(letter, &is_replaced));
            }
            false => text.extend([before, name]),
        }
        text.push('"');
        rest = &behind[1..];
    }
    text + rest
}

/// Where a name ends of which this is all behind its first quote; a quote in it stands twice.
fn end_of_name(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let quote = at + text[at..].find('"')?;
        if !text[quote + 1..].starts_with('"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}

fn escape(letter: char, is_replaced: impl Fn(char) -> bool) -> String {
    match u32::from(letter) {
        code @ ..=0xFFFF if is_replaced(letter) => format!("\\{code:04X}"),
        code if is_replaced(letter) => format!("\\+{code:06X}"),
        _ if letter == '\\' => "\\\\".into(),
        _ => letter.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_letters_that_the_output_replaces_is_that_name_where_it_is_copied() {
        let line = r#"ALTER DATABASE "größe \ ""x""" SET seq_page_cost = 2;"#;
        assert_eq!(statement(line, true), line);
        let escaped = r#"ALTER DATABASE U&"gr\00F6\00DFe \\ ""x""" SET seq_page_cost = 2;"#;
        assert_eq!(statement(line, false), escaped);
        let undo = "--   ALTER ROLE \"ro\\le\" IN DATABASE \"box\u{1F4E6}\" RESET x; -- it is \"ä\"";
        let escaped = r#"--   ALTER ROLE "ro\le" IN DATABASE U&"box\+01F4E6" RESET x; -- it is "ä""#;
        assert_eq!(statement(undo, false), escaped);
        let hostile = "ALTER TABLESPACE \"o\u{308}\u{202e}\r\u{1b}ß\" SET (random_page_cost = 2);";
        let escaped = r#"ALTER TABLESPACE U&"o\0308\202E\000D\001Bß" SET (random_page_cost = 2);"#;
        assert_eq!(statement(hostile, true), escaped);
    }

    #[test]
    fn a_name_without_its_end_and_what_is_no_name_stay_as_they_are() {
        for line in ["--   DATABASE \"ö", "--   DATABASE \"ö\"\"", "--   \"ö\"", "DATABASE ", ""] {
            assert_eq!(statement(line, false), line);
        }
        assert_eq!(statement("--   DATABASE \"a\" \u{1b}", true), "--   DATABASE \"a\" ?");
    }
}
