//! Texts in the room that a terminal has for them.

use ratatui::text::{Line, Span};

/// What ends a text that has no room.
pub(crate) fn sign(has_unicode: bool) -> &'static str {
    if has_unicode { "…" } else { "..." }
}

/// The first of some texts that has room; the last one shortened, where none has.
pub(crate) fn first_that_fits<const COUNT: usize>(texts: [String; COUNT], room: usize, sign: &str) -> String {
    let fits = |text: &&String| text.chars().count() <= room;
    let last = || texts.last().map_or(String::new(), |last| shortened(last, room, sign));
    texts.iter().find(fits).cloned().unwrap_or_else(last)
}

/// A text of at most `room` characters; one that has more ends with the sign.
pub(crate) fn shortened(text: &str, room: usize, sign: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    match kept(&letters, room, sign) {
        Some(kept) => letters[..kept].iter().copied().chain(sign.chars()).take(room).collect(),
        None => letters.into_iter().take(room).collect(),
    }
}

/// The same of a line.
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
    if end <= room {
        return None;
    }
    let most = room.saturating_sub(sign.chars().count());
    let is_behind_a_word = |at: &usize| !letters[at - 1].is_whitespace() && letters[*at].is_whitespace();
    Some((most / 2 + 1..=most).rev().find(is_behind_a_word).unwrap_or(most))
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
    fn the_parts_of_a_line_keep_their_looks_and_end_where_it_does() {
        let line = Line::from(vec![Span::raw("67 %  "), Span::raw("CCRR"), Span::raw("  select name from orders")]);
        let text = |line: Line<'static>| line.spans.iter().map(|span| &*span.content).collect::<String>();
        assert_eq!(text(shortened_line(line.clone(), 24, "…")), "67 %  CCRR  select name…");
        assert_eq!(text(shortened_line(line, 80, "…")), "67 %  CCRR  select name from orders");
    }
}
