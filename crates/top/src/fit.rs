//! Texts in the room that a terminal has for them.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

/// What ends a text that has no room.
pub(crate) fn sign(has_unicode: bool) -> &'static str {
    if has_unicode { "…" } else { "..." }
}

/// The columns that a text takes, letter by letter as it is cut.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Some letters take two columns, and some none.
fn columns_of(letter: char) -> usize {
    UnicodeWidthChar::width(letter).unwrap_or(0)
}

/// The first of some texts that has room; the last one shortened, where none has.
pub(crate) fn first_that_fits<const COUNT: usize>(texts: [String; COUNT], room: usize, sign: &str) -> String {
    let fits = |text: &&String| columns(text) <= room;
    let last = || texts.last().map_or(String::new(), |last| shortened(last, room, sign));
    texts.iter().find(fits).cloned().unwrap_or_else(last)
}

/// A text of at most `room` columns; one that has more ends with the sign.
pub(crate) fn shortened(text: &str, room: usize, sign: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    match kept(&letters, room, sign) {
        Some(kept) => letters[..kept].iter().copied().chain(sign.chars().take(room)).collect(),
        None => letters[..fitting(&letters, room)].iter().collect(),
    }
}

/// A text with spaces behind it, where it takes less than `room` columns.
pub(crate) fn padded(text: &str, room: usize) -> String {
    text.to_string() + &" ".repeat(room.saturating_sub(columns(text)))
}

/// The same as `shortened` of a line.
pub(crate) fn shortened_line(line: Line<'static>, room: usize, sign: &str) -> Line<'static> {
    let letters: Vec<char> = line.spans.iter().flat_map(|span| span.content.chars()).collect();
    let Some(mut left) = kept(&letters, room, sign) else { return line };
    let style = line.style;
    let mut spans = Vec::new();
    for span in line.spans {
        let part: String = span.content.chars().take(left).collect();
        left -= part.chars().count();
        spans.push(Span::styled(part, span.style));
    }
    spans.push(Span::raw(sign.chars().take(room).collect::<String>()));
    Line::from(spans).style(style)
}

/// How many characters stay before the sign: they end behind a word, unless half of the room would be empty then.
/// `None` where all have room, spaces at the end aside.
fn kept(letters: &[char], room: usize, sign: &str) -> Option<usize> {
    let end = letters.iter().rposition(|letter| !letter.is_whitespace()).map_or(0, |last| last + 1);
    if fitting(&letters[..end], room) == end {
        return None;
    }
    let left = room.saturating_sub(columns(sign));
    let (least, most) = (fitting(letters, left / 2) + 1, fitting(letters, left));
    let is_behind_a_word = |at: &usize| !letters[at - 1].is_whitespace() && letters[*at].is_whitespace();
    Some((least..=most).rev().find(is_behind_a_word).unwrap_or(most))
}

/// How many characters from the first one on have room in this number of columns: some take two, and some none.
fn fitting(letters: &[char], room: usize) -> usize {
    let mut used = 0;
    let has_room = |letter: &&char| {
        used += columns_of(**letter);
        used <= room
    };
    letters.iter().take_while(has_room).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_room_ends_behind_a_word_with_a_sign_of_it() {
        let text = "select name from orders";
        assert_eq!(shortened(text, 14, "…"), "select name…");
        assert_eq!(shortened(text, 23, "…"), text);
        assert_eq!(shortened("postgres://a.long.host", 10, "..."), "postgre...");
        assert_eq!(shortened("select", 2, "..."), "..");
        assert_eq!(shortened("CPU     ", 3, "..."), "CPU", "spaces need no room");
    }

    #[test]
    fn a_text_is_measured_in_columns_and_not_in_characters() {
        assert_eq!(shortened("注文一覧", 5, "…"), "注文…");
        assert_eq!(shortened("注文一覧", 8, "…"), "注文一覧");
        assert_eq!(shortened("re\u{301}sume\u{301}", 6, "…"), "re\u{301}sume\u{301}", "an accent takes no column");
        assert_eq!(first_that_fits(["注文".into(), "abc".into()], 3, "…"), "abc");
        assert_eq!(padded("注文", 6), "注文  ");
        let line = shortened_line(Line::from("注文一覧"), 5, "…");
        assert_eq!(line.spans.iter().map(|span| &*span.content).collect::<String>(), "注文…");
    }

    #[test]
    fn the_parts_of_a_line_keep_their_looks_and_end_where_it_does() {
        let line = Line::from(vec![Span::raw("67 %  "), Span::raw("CCRR"), Span::raw("  select name from orders")]);
        let text = |line: Line<'static>| line.spans.iter().map(|span| &*span.content).collect::<String>();
        assert_eq!(text(shortened_line(line.clone(), 24, "…")), "67 %  CCRR  select name…");
        assert_eq!(text(shortened_line(line, 80, "…")), "67 %  CCRR  select name from orders");
    }
}
