//! The terminal: taken, drawn on, and given back as it was on every way out.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::cursor::Show;
use crossterm::event::Event;
use crossterm::{execute, terminal};
use ratatui::DefaultTerminal;

use crate::draw::{Drawn, Facts};
use crate::history::History;
use crate::keyboard::Keyboard;
use crate::view::{Asked, View};

/// How often it is looked for a new second and for the wish to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often all is drawn where nothing changed.
const DRAW_EVERY: Duration = Duration::from_secs(1);

/// The terminal while it is ours. The end of what is shown, dropping it, and a panic of any thread give it back.
pub struct Screen {
    /// `None` while it is given back.
    terminal: Option<DefaultTerminal>,
    keyboard: Keyboard,
}

impl Screen {
    /// Takes the terminal: what stands on it comes back at the end.
    ///
    /// # Errors
    /// Where there is none.
    pub fn take() -> io::Result<Screen> {
        let keyboard = Keyboard::open()?;
        Ok(Screen { terminal: Some(ratatui::try_init()?), keyboard })
    }

    /// Shows the history until the reader or `stop` ends it; then raises `stop` and gives the terminal back.
    ///
    /// # Errors
    /// Those of the terminal, as when it is closed.
    pub fn show(&mut self, history: &Mutex<History>, facts: &dyn Fn() -> Facts, stop: &AtomicBool) -> io::Result<()> {
        let shown = self.show_until(history, facts, stop);
        stop.store(true, Ordering::Relaxed);
        // At once: the watch may wait for its server for seconds, and a second signal ends the process meanwhile.
        self.give_back();
        shown
    }

    fn show_until(&mut self, history: &Mutex<History>, facts: &dyn Fn() -> Facts, stop: &AtomicBool) -> io::Result<()> {
        let mut view = View::default();
        let (mut drawn, mut seconds) = (None::<Instant>, 0);
        while !stop.load(Ordering::Relaxed) {
            let is_due = drawn.is_none_or(|drawn| drawn.elapsed() >= DRAW_EVERY);
            let ever = locked(history).ever();
            if let Some(terminal) = self.terminal.as_mut().filter(|_| is_due || ever != seconds) {
                let facts = facts();
                let mut first = view.first;
                // The history is let go before the terminal is written to: a terminal that takes nothing would hold up
                // the looks.
                terminal.draw(|frame| {
                    let history = locked(history);
                    first = Drawn::new(&history, &view, &facts).draw(frame);
                })?;
                view.first = first;
                (drawn, seconds) = (Some(Instant::now()), ever);
            }
            for event in self.keyboard.wait(LOOK_EVERY)? {
                // A key, or another size, is answered at once.
                drawn = None;
                let Event::Key(key) = event else { continue };
                let history = locked(history);
                if view.press(key, history.seconds().len(), history.ever()) == Asked::End {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn give_back(&mut self) {
        self.keyboard.end();
        let Some(mut terminal) = self.terminal.take() else { return };
        // Where the terminal is gone, what the library prints about it is a panic, also when its own part is dropped.
        let is_there = terminal.show_cursor().is_ok();
        let _ = ratatui::try_restore();
        if !is_there {
            std::mem::forget(terminal);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Gives the terminal back where it is taken, for a process that ends while its screen is being drawn. The modes of the
/// terminal come first: they are given back also where it takes nothing that is written, which waits without end.
pub fn give_back() {
    if terminal::is_raw_mode_enabled().unwrap_or(false) {
        let _ = ratatui::try_restore();
        let _ = execute!(io::stdout(), Show);
    }
}

fn locked(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}
