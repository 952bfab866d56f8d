//! Lines of text: width on a terminal, wrapping, shortening, and replacing hostile characters.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::style::Style;

/// Columns that `text` takes on a terminal.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// `text` with every character that could move the cursor, change colours or reorder the line replaced by a question
/// mark. File names and documents from elsewhere may hold such.
pub fn clean(text: &str) -> String {
    text.chars().map(|character| if is_harmless(character) { character } else { '?' }).collect()
}

/// Whether [`clean`] leaves a character as it is.
pub(super) fn is_harmless(character: char) -> bool {
    // Direction marks have no width, so this refuses them with the combining ones.
    character.width().is_some_and(|width| width > 0) && !('\u{2066}'..='\u{2069}').contains(&character)
}

/// Signs that take several letters of ASCII.
const SPELT: [(char, &str); 5] = [('…', "..."), ('±', "+-"), ('→', "->"), ('≤', "<="), ('≥', ">=")];

impl Style {
    /// What stands where text is left out.
    fn ellipsis(&self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// `text` without hostile characters, and in a locale without UTF-8 with signs of several letters in place of those
    /// that no single letter stands for: before a page is laid out, so that columns stay aligned.
    pub(super) fn clean(&self, text: &str) -> String {
        let spelt = |text: String, (sign, letters): &(char, &str)| text.replace(*sign, letters);
        match self.unicode || text.is_ascii() {
            true => clean(text),
            false => clean(&SPELT.iter().fold(text.into(), spelt)),
        }
    }

    /// `text` in lines of at most the width; lines after the first begin with `indent` spaces. A word longer than a
    /// line is broken where it must be: behind a slash, so that the names in a path stay whole, unless one alone is
    /// longer than a line.
    pub fn wrap(&self, text: &str, indent: usize) -> String {
        self.wrap_in_pieces(text, indent, pieces)
    }

    /// The same with each word whole: one that is longer than a line has a line of its own, which the terminal goes on
    /// with in the next. What is copied from there, such as a path, has no end of a line in it.
    pub fn wrap_whole_words(&self, text: &str, indent: usize) -> String {
        self.wrap_in_pieces(text, indent, |word, _| vec![word.into()])
    }

    /// `text` in lines; `pieces` are those of a word for a line of this number of columns.
    fn wrap_in_pieces(&self, text: &str, indent: usize, pieces: impl Fn(&str, usize) -> Vec<String>) -> String {
        let columns = self.width.max(indent + 8);
        let mut lines = vec![String::new()];
        for word in text.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
            for (number, piece) in pieces(&self.clean(word), columns - indent).iter().enumerate() {
                match number {
                    0 => add_piece(&mut lines, piece, columns, indent),
                    // No space parts the pieces of one word.
                    _ => lines.push(" ".repeat(indent) + piece),
                }
            }
        }
        lines.join("\n")
    }

    /// `text` in at most `columns`, its middle left out where it is longer: of a path, both ends say most.
    pub(super) fn shorten(&self, text: &str, columns: usize) -> String {
        let text = self.clean(text);
        if width(&text) <= columns {
            return text;
        }
        // The width of a text is not the sum of its characters', so what is cut by the sum may still be too wide.
        let cuts = (0..columns).rev().map(|budget| cut(&text, budget, self.ellipsis()));
        cuts.into_iter().find(|short| width(short) <= columns).unwrap_or_default()
    }

    /// A path in at most `columns`: folders at its beginning are left out first, since its end says most.
    pub(super) fn shorten_path(&self, path: &str, columns: usize) -> String {
        let path = self.clean(path);
        if width(&path) <= columns {
            return path;
        }
        let ends: Vec<usize> = self.path_ends(&path, columns).map(|(index, _)| index).collect();
        let shorter = |index: &usize| format!("{}{}", self.ellipsis(), &path[*index..]);
        let whole = ends.iter().rev().map(shorter).find(|short| width(short) <= columns);
        whole.unwrap_or_else(|| self.shorten(path.rsplit('/').next().unwrap_or(&path), columns))
    }

    /// Where those ends of a path begin that take at most `columns` behind an ellipsis, the shortest first, each with
    /// what both take. A path can be a megabyte of slashes, so that no more of it is looked at than fits.
    pub(super) fn path_ends(&self, path: &str, columns: usize) -> impl Iterator<Item = (usize, usize)> {
        let mut used = width(self.ellipsis());
        let fitting = path.char_indices().rev().map_while(move |(index, letter)| {
            used += letter.width().unwrap_or(0);
            (used <= columns).then_some((index, letter, used))
        });
        fitting.filter(|(index, letter, _)| *letter == '/' && *index > 0).map(|(index, _, used)| (index, used))
    }
}

fn add_piece(lines: &mut Vec<String>, piece: &str, columns: usize, indent: usize) {
    let Some(line) = lines.last_mut() else { return };
    let is_fresh = line.trim().is_empty();
    if !is_fresh && width(line) + 1 + width(piece) > columns {
        lines.push(" ".repeat(indent) + piece);
        return;
    }
    if !is_fresh {
        line.push(' ');
    }
    line.push_str(piece);
}

/// A word in pieces of at most `columns`; each but the last ends with a slash, where one is in it.
fn pieces(word: &str, columns: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in word.chars() {
        let Some(piece) = pieces.last_mut() else { break };
        piece.push(character);
        // The width of a text is not the sum of its characters': some change the one before them.
        if width(piece) > columns && piece.chars().count() > 1 {
            let last = piece.len() - character.len_utf8();
            // A slash at the beginning would be a piece by itself.
            let slash = piece[..last].rfind('/').filter(|slash| *slash > 0).map(|slash| slash + 1);
            let end = slash.filter(|end| width(&piece[*end..]) <= columns).unwrap_or(last);
            let rest = piece.split_off(end);
            pieces.push(rest);
        }
    }
    pieces
}

/// Both ends of `text` with `ellipsis` between, about `columns` of it left.
fn cut(text: &str, columns: usize, ellipsis: &str) -> String {
    let half = columns / 2;
    let start = take_columns(text.chars(), columns - half);
    let end: String = take_columns(text.chars().rev(), half).chars().rev().collect();
    format!("{start}{ellipsis}{end}")
}

fn take_columns(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= columns
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_of_a_file_name_are_not_passed_on() {
        assert_eq!(clean("/tmp/\u{1b}[31mred\nnext\u{202e}"), "/tmp/?[31mred?next?");
    }

    #[test]
    fn a_long_path_keeps_both_ends() {
        let path = "/var/lib/database/files/0001.dbf";
        assert_eq!(Style::default().shorten(path, 15), "/var/li…001.dbf");
        assert_eq!(PLAIN.shorten(path, 15), "/var/l...01.dbf");
    }

    #[test]
    fn a_path_that_is_longer_than_a_line_is_broken_behind_a_slash_or_not_at_all() {
        let style = Style { width: 30, ..Style::default() };
        let said = "It is kept in /var/lib/database/files-of-the-shop/0001.dbf now.";
        let broken = "It is kept in\n  /var/lib/database/\n  files-of-the-shop/0001.dbf\n  now.";
        assert_eq!(style.wrap(said, 2), broken);
        let whole = "It is kept in\n  /var/lib/database/files-of-the-shop/0001.dbf\n  now.";
        assert_eq!(style.wrap_whole_words(said, 2), whole);
        let name = format!("/{}", "n".repeat(40));
        assert_eq!(style.wrap(&name, 2), format!("{}\n  {}", &name[..28], &name[28..]), "a name longer than a line");
        assert_eq!(style.wrap("one two", 2), style.wrap_whole_words("one two", 2));
    }

    #[test]
    fn a_path_loses_folders_before_it_loses_letters() {
        let path = "/home/ada/.cache/readpath/tables";
        let shorten_path = |path, columns| Style::default().shorten_path(path, columns);
        assert_eq!(shorten_path(path, 80), path);
        assert_eq!(shorten_path(path, 18), "…/readpath/tables");
        assert_eq!(shorten_path(path, 16), "…/tables");
        assert_eq!(shorten_path("/var/lib/0123456789.dbf", 9), "0123….dbf");
    }

    #[test]
    fn a_megabyte_of_slashes_is_shortened_at_once() {
        assert_eq!(Style::default().shorten_path(&"/".repeat(1 << 20), 10), "…/////////");
    }

    #[test]
    fn a_shortened_path_never_looks_like_a_home_directory() {
        assert_eq!(PLAIN.shorten_path("/home/ada/.cache/readpath/tables", 18), ".../tables");
        assert_eq!(PLAIN.wrap("select a …", 0), "select a ...");
    }

    #[test]
    fn every_sign_of_a_page_has_a_form_in_ascii() {
        let plain = |text: &str| PLAIN.finish(&PLAIN.clean(text));
        assert_eq!(plain("mean ± sd, 1.5 µs × 2 → 3–4 “a” · b² …"), "mean +- sd, 1.5 us x 2 -> 3-4 \"a\" . b2 ...");
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let mut signs = std::collections::BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            // Those of pages in a browser are not among them: these are UTF-8 everywhere.
            let path = entry.unwrap().path();
            let is_text = path.extension().is_some_and(|end| end == "txt");
            let text = if is_text { std::fs::read_to_string(path).unwrap() } else { String::new() };
            signs.extend(text.chars().filter(|sign| !sign.is_ascii() && !sign.is_alphabetic()));
        }
        assert!(signs.contains(&'–'), "{signs:?}");
        for sign in signs {
            assert!(!plain(&sign.to_string()).contains('?'), "{sign} has none");
        }
    }

    const PLAIN: Style = Style { width: 80, color: false, unicode: false };

    proptest! {
        #[test]
        fn no_wrapped_line_is_wider_than_asked(text in "\\PC{0,200}", columns in 20usize..90) {
            for style in [Style { width: columns, ..Style::default() }, Style { width: columns, ..PLAIN }] {
                prop_assert!(style.wrap(&text, 4).lines().all(|line| width(line) <= columns));
                prop_assert!(width(&style.shorten(&text, columns)) <= columns);
                prop_assert!(width(&style.shorten_path(&text, columns)) <= columns);
            }
        }
    }
}
