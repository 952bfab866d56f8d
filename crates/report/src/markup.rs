//! Markup: tags, attributes and text. This file is the one place that escapes, and the only one that writes a tag.
//!
//! A tag and the name of an attribute are words of this program; whatever else is written passes `harmless`, so that no
//! name in a run can open a tag.

use std::fmt::{self, Display, Write};

use crate::page::number::grouped;
use crate::text::clean;

/// Most characters of one text. A statement of some megabytes is data, not something to read.
const CHARACTERS_MAX: usize = 4000;

/// The attribute that draws a shape. Its value is made of numbers, and a part of it is another shape.
const OUTLINE: &str = "d";

/// An attribute: its name and its value.
pub(crate) type Attribute<'a> = (&'static str, &'a dyn Display);

/// A piece of HTML or SVG in which every element is closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markup(String);

impl Markup {
    /// Writes an element around what `inside` writes.
    pub(crate) fn around(&mut self, tag: &'static str, attributes: &[Attribute<'_>], inside: impl FnOnce(&mut Markup)) {
        self.begin(tag, attributes);
        self.0.push('>');
        inside(self);
        self.0 += "</";
        self.0 += tag;
        self.0.push('>');
    }

    /// Writes an element that holds a text.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: &[Attribute<'_>], text: &str) {
        self.around(tag, attributes, |inside| inside.text(text));
    }

    /// Writes an element of HTML that has no end, or of SVG that holds nothing.
    pub(crate) fn leaf(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) {
        self.begin(tag, attributes);
        self.0 += "/>";
    }

    /// Writes a text.
    pub(crate) fn text(&mut self, text: &str) {
        self.0 += &escaped(text);
    }

    /// Writes a sentence, in which what stands between backquotes is to be typed.
    pub(crate) fn sentence(&mut self, sentence: &str) {
        // Of a text that is too long to be shown whole, only one piece would be cut.
        let (mut rest, is_long) = (sentence, sentence.chars().nth(CHARACTERS_MAX).is_some());
        while let Some((before, (typed, after))) =
            rest.split_once('`').filter(|_| !is_long).and_then(|(before, rest)| Some((before, rest.split_once('`')?)))
        {
            self.text(before);
            self.element("code", &[], typed);
            rest = after;
        }
        self.text(rest);
    }

    /// Writes text of this program, as it is: a style sheet, a script.
    pub(crate) fn verbatim(&mut self, text: &'static str) {
        self.0 += text;
    }

    /// Begins a line, so that a file can be read and compared line by line.
    pub(crate) fn line(&mut self) {
        self.0.push('\n');
    }

    /// Writes another piece.
    pub(crate) fn add(&mut self, piece: &Markup) {
        self.0 += &piece.0;
    }

    /// The text of it.
    pub(crate) fn finish(self) -> String {
        self.0
    }

    fn begin(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) {
        self.0.push('<');
        self.0 += tag;
        for (name, value) in attributes {
            let value = value.to_string();
            let value = if *name == OUTLINE { harmless(&value) } else { escaped(&value) };
            // Writing into a text in memory does not fail.
            let _ = write!(self.0, " {name}=\"{value}\"");
        }
    }
}

/// A length in a picture, to a tenth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Px(pub(crate) f64);

impl Display for Px {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.1}", self.0);
        formatter.write_str(text.strip_suffix(".0").unwrap_or(&text))
    }
}

/// A text in which no character opens a tag, ends an attribute, moves a cursor or turns the direction of writing. The
/// end of a long one is left out.
pub(crate) fn escaped(text: &str) -> String {
    let cut = text.char_indices().nth(CHARACTERS_MAX).map(|(end, _)| end);
    let more = cut.map_or(String::new(), |end| format!("… ({} more bytes)", grouped((text.len() - end) as u64)));
    harmless(&text[..cut.unwrap_or(text.len())]) + &more
}

/// The same with all of the text.
fn harmless(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in clean(text).chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_cannot_open_a_tag_or_end_an_attribute() {
        let mut markup = Markup::default();
        let hostile = "\"><script>alert('1')</script>\u{202e}\u{1b}[31m\0";
        markup.element("p", &[("title", &hostile)], hostile);
        let harmless = "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;??[31m?";
        assert_eq!(markup.finish(), format!("<p title=\"{harmless}\">{harmless}</p>"));
    }

    #[test]
    fn what_a_sentence_says_to_type_shows_no_backquotes_and_opens_no_tag() {
        let sentence = |text: &str| {
            let mut markup = Markup::default();
            markup.sentence(text);
            markup.finish()
        };
        assert_eq!(sentence("`readpath lio` and `<b>`."), "<code>readpath lio</code> and <code>&lt;b&gt;</code>.");
        assert_eq!(sentence("A lone ` stays"), "A lone ` stays");
        assert!(sentence(&"`é`".repeat(10 << 20)).len() < 10_000);
    }

    #[test]
    fn ten_megabytes_of_a_statement_are_cut_and_said_to_be() {
        let text = escaped(&"é".repeat(10 << 20));
        assert!(text.len() < 10_000 && text.ends_with("… (20\u{202f}963\u{202f}520 more bytes)"), "{}", text.len());
    }

    #[test]
    fn the_outline_of_a_shape_of_hundreds_of_points_is_not_cut_as_a_text_is() {
        let outline = format!("M0 0{}Z", "L123.4 567.8".repeat(1000));
        let mut markup = Markup::default();
        markup.leaf("path", &[("d", &outline)]);
        assert_eq!(markup.finish(), format!("<path d=\"{outline}\"/>"));
    }

    proptest! {
        #[test]
        fn no_text_leaves_a_character_with_a_meaning(text in ".{0,200}") {
            let escaped = escaped(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']) && !escaped.chars().any(char::is_control));
            let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
            let rest = entities.iter().fold(escaped, |rest, entity| rest.replace(entity, ""));
            prop_assert!(!rest.contains('&'));
        }
    }
}
