//! A page on a terminal that is drawn again and again in its own place: its first screenful, so that nothing of it goes
//! to the lines that the terminal keeps. The whole page is printed once, at the end, by the command.

use ::measure::Run;
use report::Shown;

use crate::exit::Failure;
use crate::options::Context;
use crate::output;
use crate::settings::TerminalSize;

/// Goes to the upper left corner of the screen.
const HOME: &str = "\u{1b}[H";

/// Clears the line, and what stands below the cursor. Terminals put a screen that is cleared from its first line on
/// among the lines that they keep, so that each line is cleared by itself.
const LINE_CLEARED: &str = "\u{1b}[K";
const REST_CLEARED: &str = "\u{1b}[J";

/// Stands below a page that is longer than the terminal.
const GOES_ON: &str = "... the page continues: ^C ends the profile and prints all of it";

/// What stands on the terminal of the page.
#[derive(Debug, Default)]
pub(super) struct RenewedPage {
    /// Its rows, which end above the cursor, and the terminal's size when they were written; `None` where none stands.
    shown: Option<(usize, TerminalSize)>,
}

impl RenewedPage {
    /// Draws the page of this run in place of the last one.
    pub(super) fn renew(&mut self, run: &Run, context: &Context) -> Result<(), Failure> {
        // It goes on before the reader's eyes: no word that it did not end.
        let mut run = run.clone();
        run.finished.get_or_insert_with(|| run.started.clone());
        let mut page = Vec::new();
        let written = (context.globals.format.write)(Shown::Run(&run), &context.settings.style, &mut page);
        written.map_err(output::not_printed)?;
        let size = TerminalSize::now();
        let lines = screenful(&String::from_utf8_lossy(&page), size);
        let text: String = lines.iter().map(|line| format!("{LINE_CLEARED}{line}\n")).collect();
        output::print(&format!("{}{text}{REST_CLEARED}", self.to_its_top(size)))?;
        self.shown = Some((lines.len(), size));
        Ok(())
    }

    /// Takes the last page away.
    pub(super) fn take_away(&mut self) -> Result<(), Failure> {
        let top = self.to_its_top(TerminalSize::now());
        match self.shown.take() {
            None => Ok(()),
            Some((rows, _)) => {
                let empty = format!("{LINE_CLEARED}\n").repeat(rows);
                output::print(&format!("{top}{empty}\u{1b}[{rows}A"))
            }
        }
    }

    /// Brings the cursor of a terminal of this size to the last page's first line.
    fn to_its_top(&self, size: TerminalSize) -> String {
        match self.shown {
            None => String::new(),
            Some((rows, then)) if then == size => format!("\r\u{1b}[{rows}A"),
            // Of another size, the terminal may have broken the lines anew: how many rows they take is not known.
            Some(_) => HOME.into(),
        }
    }
}

/// The lines of a page that leave the terminal's last row to the cursor, each of one row.
fn screenful(page: &str, size: TerminalSize) -> Vec<String> {
    let room = size.rows.saturating_sub(1).max(1);
    let mut lines: Vec<String> = page.lines().take(room).map(|line| cut(line, size.columns)).collect();
    if page.lines().count() > room {
        lines.truncate(room - 1);
        lines.push(cut(GOES_ON, size.columns));
    }
    lines
}

/// A line without the letters that have no room in this number of columns. Pages are laid out for the terminal's width,
/// so that this matters where it was made narrower since.
fn cut(line: &str, columns: usize) -> String {
    let (mut kept, mut width, mut is_code) = (String::new(), 0, false);
    for letter in line.chars() {
        // Colours take no room: they begin with an escape and end with a letter.
        is_code |= letter == '\u{1b}';
        if is_code || width < columns {
            kept.push(letter);
        }
        width += usize::from(!is_code);
        is_code &= !letter.is_ascii_alphabetic();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: TerminalSize = TerminalSize { rows: 5, columns: 60 };

    #[test]
    fn a_page_longer_than_the_terminal_shows_its_first_screenful_and_says_that_it_goes_on() {
        assert_eq!(screenful("a\nb\nc\nd\n", SMALL), ["a", "b", "c", "d"]);
        let lines = screenful("a\nb\nc\nd\ne\n", SMALL);
        assert!(lines.len() == 4 && lines[..3] == ["a", "b", "c"], "{lines:?}");
        assert!(lines[3].starts_with("... the page continues"), "{lines:?}");
        assert!(lines[3].chars().count() <= SMALL.columns, "{lines:?}");
        assert_eq!(screenful("a\nb\n", TerminalSize { rows: 1, columns: 3 }), ["..."]);
    }

    #[test]
    fn a_line_has_one_row_and_keeps_its_colours() {
        assert_eq!(cut("\u{1b}[1mabc\u{1b}[0m", 3), "\u{1b}[1mabc\u{1b}[0m");
        assert_eq!(cut("\u{1b}[1mäbcd\u{1b}[0me", 3), "\u{1b}[1mäbc\u{1b}[0m");
    }

    #[test]
    fn the_next_page_goes_up_as_many_rows_as_the_last_one_took_unless_the_size_changed() {
        let mut page = RenewedPage::default();
        assert_eq!(page.to_its_top(SMALL), "");
        page.shown = Some((4, SMALL));
        assert_eq!(page.to_its_top(SMALL), "\r\u{1b}[4A");
        assert_eq!(page.to_its_top(TerminalSize { columns: 40, ..SMALL }), HOME);
    }
}
