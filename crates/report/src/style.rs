//! What the reader's terminal can show.

/// How wide, in which characters and whether with colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether headings may be bold; nothing is said by colour alone.
    pub color: bool,
    /// Whether the locale is UTF-8.
    pub unicode: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 80, color: false, unicode: true }
    }
}

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const PLAIN: &str = "\u{1b}[0m";

impl Style {
    /// The widest page: on a wider one a sentence is unreadable.
    pub const WIDTH_MAX: usize = 120;

    /// A heading.
    pub(crate) fn bold(&self, text: &str) -> String {
        self.wrapped(BOLD, text)
    }

    /// What is read last.
    pub(crate) fn dim(&self, text: &str) -> String {
        self.wrapped(DIM, text)
    }

    fn wrapped(&self, start: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("{start}{text}{PLAIN}") } else { text.into() }
    }

    /// The text in characters that the locale has. Each is replaced by exactly one, so that columns stay aligned.
    pub(crate) fn finish(&self, text: &str) -> String {
        if self.unicode { text.into() } else { text.chars().map(plain_character).collect() }
    }
}

fn plain_character(character: char) -> char {
    match character {
        character if character.is_ascii() => character,
        'µ' => 'u',
        '×' => 'x',
        '–' | '—' | '−' => '-',
        '·' => '.',
        '²' => '2',
        '³' => '3',
        '\u{202f}' | '\u{2009}' | '\u{a0}' => ' ',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '█'..='▏' => '#',
        _ => '?',
    }
}
