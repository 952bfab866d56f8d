//! What the reader chose to see, and what each key changes of it.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A table below the chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    /// Statements by time.
    #[default]
    Statements,
    /// Sessions by time.
    Sessions,
    /// Events by time.
    Waits,
    /// Who waits for whom.
    Blockers,
    /// Reads by the tier that answered.
    Reads,
    /// The keys.
    Help,
}

/// The tables with their keys and titles.
pub(crate) const PANES: [(char, Pane, &str); 5] = [
    ('1', Pane::Statements, "statements"),
    ('2', Pane::Sessions, "sessions"),
    ('3', Pane::Waits, "waits"),
    ('4', Pane::Blockers, "blockers"),
    ('5', Pane::Reads, "reads"),
];

/// Seconds of a column of the chart.
const COLUMNS: [usize; 4] = [1, 5, 15, 60];

/// The tables are of this many seconds at least: those of one second leap.
const SPAN_MIN: usize = 5;

/// Lines of a table that a key moves it by.
const PAGE: usize = 10;

/// What is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Which table.
    pub pane: Pane,
    /// Where in [`COLUMNS`].
    zoom: usize,
    /// How many seconds before the newest the seen ones end; `None` for the newest, as they come.
    back: Option<usize>,
    /// Seconds that there were when it was stopped: what comes after moves the seen ones further back.
    stopped_at: u64,
    /// First line of the table.
    pub(crate) first: usize,
}

/// What a key asks for beyond a change of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Nothing,
    End,
}

impl View {
    /// Seconds of a column of the chart.
    pub(crate) fn column(&self) -> usize {
        COLUMNS[self.zoom.min(COLUMNS.len() - 1)]
    }

    /// Seconds that the tables are of.
    pub(crate) fn span(&self) -> usize {
        self.column().max(SPAN_MIN)
    }

    /// Whether it stands still.
    pub(crate) fn is_stopped(&self) -> bool {
        self.back.is_some()
    }

    /// How many seconds lie after the seen ones, of `kept` that there are, `ever` having been seen.
    pub(crate) fn after(&self, kept: usize, ever: u64) -> usize {
        let Some(back) = self.back else { return 0 };
        let since = usize::try_from(ever.saturating_sub(self.stopped_at)).unwrap_or(usize::MAX);
        back.saturating_add(since).min(kept.saturating_sub(1))
    }

    /// Changes the view as a key asks; `kept` and `ever` as above.
    pub(crate) fn press(&mut self, key: KeyEvent, kept: usize, ever: u64) -> Asked {
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Asked::End;
        }
        // A letter with Ctrl or Alt is another key: in many terminals, Ctrl+Q resumes the output.
        if !KeyModifiers::SHIFT.contains(key.modifiers) {
            return Asked::Nothing;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc if self.pane == Pane::Help => self.show(Pane::default()),
            KeyCode::Char('q') => return Asked::End,
            KeyCode::Char('?' | 'h') => self.pane = Pane::Help,
            KeyCode::Char(' ' | 'p') if self.is_stopped() => self.back = None,
            KeyCode::Char(' ' | 'p') => self.stop(0, kept, ever),
            KeyCode::Left => self.step(self.column().cast_signed(), kept, ever),
            KeyCode::Right => self.step(-self.column().cast_signed(), kept, ever),
            KeyCode::PageUp => self.step((PAGE * self.column()).cast_signed(), kept, ever),
            KeyCode::PageDown => self.step(-(PAGE * self.column()).cast_signed(), kept, ever),
            KeyCode::Home => self.stop(usize::MAX, kept, ever),
            KeyCode::End => self.back = None,
            KeyCode::Char('+') => self.zoom = self.zoom.saturating_sub(1),
            KeyCode::Char('-') => self.zoom = (self.zoom + 1).min(COLUMNS.len() - 1),
            KeyCode::Down => self.first = self.first.saturating_add(1),
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::Tab => self.show(self.next_pane()),
            KeyCode::Char(letter) => {
                if let Some((_, pane, _)) = PANES.iter().find(|(key, _, _)| *key == letter) {
                    self.show(*pane);
                }
            }
            _ => {}
        }
        Asked::Nothing
    }

    fn next_pane(&self) -> Pane {
        let place = PANES.iter().position(|(_, pane, _)| *pane == self.pane).map_or(0, |place| place + 1);
        PANES[place % PANES.len()].1
    }

    fn show(&mut self, pane: Pane) {
        (self.pane, self.first) = (pane, 0);
    }

    fn stop(&mut self, back: usize, kept: usize, ever: u64) {
        self.back = Some(back.min(kept.saturating_sub(1)));
        self.stopped_at = ever;
    }

    /// Goes back by some seconds, or forth; at the newest second it goes on as they come.
    fn step(&mut self, by: isize, kept: usize, ever: u64) {
        let wanted = self.after(kept, ever).saturating_add_signed(by);
        if wanted == 0 && by < 0 {
            self.back = None;
        } else {
            self.stop(wanted, kept, ever);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(view: &mut View, code: KeyCode) -> Asked {
        view.press(KeyEvent::new(code, KeyModifiers::NONE), 100, 100)
    }

    #[test]
    fn what_stands_still_stays_at_its_moment_while_seconds_come() {
        let mut view = View::default();
        press(&mut view, KeyCode::Left);
        press(&mut view, KeyCode::Left);
        assert_eq!((view.after(100, 100), view.after(130, 130)), (2, 32));
        // The oldest seconds leave.
        assert_eq!(view.after(100, 10_000), 99);
        press(&mut view, KeyCode::Char(' '));
        assert_eq!((view.is_stopped(), view.after(130, 130)), (false, 0));
    }

    #[test]
    fn a_step_forth_from_the_newest_goes_on_as_seconds_come() {
        let mut view = View::default();
        press(&mut view, KeyCode::Left);
        press(&mut view, KeyCode::Right);
        assert!(!view.is_stopped());
        press(&mut view, KeyCode::Home);
        assert_eq!(view.after(100, 100), 99);
        press(&mut view, KeyCode::End);
        assert!(!view.is_stopped());
    }

    #[test]
    fn every_table_has_a_key_and_q_ends_but_in_the_help() {
        let mut view = View::default();
        for (key, pane, _) in PANES {
            assert_eq!(press(&mut view, KeyCode::Char(key)), Asked::Nothing);
            assert_eq!(view.pane, pane);
        }
        press(&mut view, KeyCode::Tab);
        assert_eq!(view.pane, Pane::Statements);
        press(&mut view, KeyCode::Char('?'));
        assert_eq!((press(&mut view, KeyCode::Char('q')), view.pane), (Asked::Nothing, Pane::Statements));
        assert_eq!(press(&mut view, KeyCode::Char('q')), Asked::End);
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.press(interrupt, 1, 1), Asked::End);
    }

    #[test]
    fn the_table_behind_the_help_begins_at_its_first_line_whatever_was_moved_before() {
        let mut view = View::default();
        press(&mut view, KeyCode::Char('4'));
        for _ in 0..9 {
            press(&mut view, KeyCode::Down);
        }
        press(&mut view, KeyCode::Char('?'));
        press(&mut view, KeyCode::Char('q'));
        assert_eq!((view.pane, view.first), (Pane::Statements, 0));
    }

    #[test]
    fn a_key_with_ctrl_or_alt_does_nothing_and_shift_makes_it_no_other_key() {
        for modifiers in [KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::CONTROL | KeyModifiers::SHIFT] {
            for code in [KeyCode::Char('q'), KeyCode::Char('h'), KeyCode::Char('2'), KeyCode::Left, KeyCode::Down] {
                let mut view = View::default();
                let asked = view.press(KeyEvent::new(code, modifiers), 100, 100);
                assert_eq!(asked, Asked::Nothing, "{modifiers:?} {code:?}");
                assert_eq!(view, View::default(), "{modifiers:?} {code:?}");
            }
        }
        let mut view = View::default();
        view.press(KeyEvent::new(KeyCode::Left, KeyModifiers::SHIFT), 100, 100);
        assert_eq!(view.after(100, 100), 1);
    }

    #[test]
    fn columns_of_a_minute_hold_an_hour_and_tables_never_a_single_second() {
        let mut view = View::default();
        assert_eq!((view.column(), view.span()), (1, 5));
        for _ in 0..9 {
            press(&mut view, KeyCode::Char('-'));
        }
        assert_eq!((view.column(), view.span()), (60, 60));
        press(&mut view, KeyCode::Char('+'));
        assert_eq!(view.column(), 15);
    }
}
