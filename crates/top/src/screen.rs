//! The terminal: taken, drawn on, and given back as it was on every way out.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use ratatui::DefaultTerminal;
use sys::file::awaited::is_closed_within;

use crate::draw::{Drawn, Facts};
use crate::history::History;
use crate::view::{Asked, View};

/// How often it is looked for a new second and for the wish to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a key that has come may take to be read. The library's wait reads nothing in no time at all.
const KEY_WITHIN: Duration = Duration::from_millis(1);

/// How often all is drawn where nothing changed.
const DRAW_EVERY: Duration = Duration::from_secs(1);

/// The terminal while it is ours. Dropping it, and a panic of any thread, give it back.
pub struct Screen {
    /// `None` while it is given back.
    terminal: Option<DefaultTerminal>,
    /// Where its keys come from, which is where the library reads them.
    keyboard: OwnedFd,
}

impl Screen {
    /// Takes the terminal: what stands on it comes back at the end.
    ///
    /// # Errors
    /// Where there is none.
    pub fn take() -> io::Result<Screen> {
        let keyboard = match io::stdin() {
            stdin if stdin.is_terminal() => stdin.as_fd().try_clone_to_owned()?,
            _ => File::open("/dev/tty")?.into(),
        };
        Ok(Screen { terminal: Some(ratatui::try_init()?), keyboard })
    }

    /// Shows the history until the reader or `stop` ends it; raises `stop` at the end.
    ///
    /// # Errors
    /// Those of the terminal, as when it is closed.
    pub fn show(&mut self, history: &Mutex<History>, facts: &dyn Fn() -> Facts, stop: &AtomicBool) -> io::Result<()> {
        let shown = self.show_until(history, facts, stop);
        stop.store(true, Ordering::Relaxed);
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
                // The history is let go before the terminal is written to: a terminal that takes nothing would hold up
                // the looks.
                terminal.draw(|frame| {
                    let history = locked(history);
                    Drawn::new(&history, &view, &facts).draw(frame);
                })?;
                (drawn, seconds) = (Some(Instant::now()), ever);
            }
            // Waited for here: the library's own wait never ends once the terminal is gone.
            if is_closed_within(self.keyboard.as_fd(), LOOK_EVERY)? {
                return Err(io::Error::new(io::ErrorKind::BrokenPipe, "it was closed"));
            }
            if !event::poll(KEY_WITHIN)? {
                continue;
            }
            if let Event::Key(key) = event::read()? {
                let history = locked(history);
                if view.press(key, history.seconds().len(), history.ever()) == Asked::End {
                    return Ok(());
                }
            }
            // A key, or another size, is answered at once.
            drawn = None;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let Some(mut terminal) = self.terminal.take() else { return };
        // Where the terminal is gone, what the library prints about it is a panic, also when its own part is dropped.
        let is_there = terminal.show_cursor().is_ok();
        let _ = ratatui::try_restore();
        if !is_there {
            std::mem::forget(terminal);
        }
    }
}

fn locked(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}
