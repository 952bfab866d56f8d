//! What comes from the terminal, read on a thread of its own: after the beginning of an escape sequence the library
//! waits for its end, and nothing calls that wait off.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event};
use sys::file::awaited::is_closed_within;

/// How often the thread looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a key that has come may take to be read. The library's wait reads nothing in no time at all.
const KEY_WITHIN: Duration = Duration::from_millis(1);

/// Most events that wait to be taken. Further ones wait in the terminal.
const WAITING_MAX: usize = 256;

/// The events of a terminal. Dropping it ends its thread soon, unless that waits for the end of a sequence: then it
/// ends with the process.
pub(crate) struct Keyboard {
    events: Receiver<io::Result<Event>>,
    is_over: Arc<AtomicBool>,
}

impl Keyboard {
    /// That of the terminal where the library reads keys.
    ///
    /// # Errors
    /// Where there is none, or no thread can be started.
    pub(crate) fn open() -> io::Result<Keyboard> {
        let terminal: OwnedFd = match io::stdin() {
            stdin if stdin.is_terminal() => stdin.as_fd().try_clone_to_owned()?,
            _ => File::open("/dev/tty")?.into(),
        };
        Keyboard::start(move |events, is_over| forward(&terminal, events, is_over))
    }

    /// Takes the events that `work` sends from a thread of its own, and the error that ends it.
    fn start(
        work: impl FnOnce(&SyncSender<io::Result<Event>>, &AtomicBool) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Keyboard> {
        let (send, events) = sync_channel(WAITING_MAX);
        let is_over: Arc<AtomicBool> = Arc::default();
        let is_over_there = Arc::clone(&is_over);
        let run = move || {
            if let Err(error) = work(&send, &is_over_there) {
                // The screen may have ended before.
                let _ = send.send(Err(error));
            }
        };
        thread::Builder::new().name("keyboard".into()).spawn(run)?;
        Ok(Keyboard { events, is_over })
    }

    /// All events that have come; none where none comes within `limit`.
    ///
    /// # Errors
    /// Those of the terminal, as when it is closed.
    pub(crate) fn wait(&self, limit: Duration) -> io::Result<Vec<Event>> {
        let mut all = match self.events.recv_timeout(limit) {
            Ok(first) => vec![first?],
            Err(RecvTimeoutError::Timeout) => return Ok(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => return Err(closed()),
        };
        while let Ok(next) = self.events.try_recv() {
            all.push(next?);
        }
        Ok(all)
    }

    /// Reads no more.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends what comes from the terminal until it is closed, or no more is wanted.
fn forward(terminal: &OwnedFd, events: &SyncSender<io::Result<Event>>, is_over: &AtomicBool) -> io::Result<()> {
    loop {
        // Waited for here: the library's own wait never ends once the terminal is gone.
        let is_closed = is_closed_within(terminal.as_fd(), LOOK_EVERY)?;
        // What is typed after the end is meant for another program.
        if is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        if is_closed {
            return Err(closed());
        }
        // The library takes all bytes at once: for keys behind the first one there is nothing to wait for above.
        while event::poll(KEY_WITHIN)? {
            if events.send(Ok(event::read()?)).is_err() {
                return Ok(());
            }
        }
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "it was closed")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::*;

    /// Longer than any machine takes to start a thread.
    const LONG: Duration = Duration::from_secs(60);

    fn key(letter: char) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE))
    }

    #[test]
    fn the_begin_of_a_sequence_holds_up_no_wait() {
        let (end, ended) = channel::<()>();
        let keyboard = Keyboard::start(move |events, _| {
            events.send(Ok(key('a'))).unwrap();
            // So does the library between the bytes of a sequence.
            let _ = ended.recv();
            Ok(())
        })
        .unwrap();
        assert_eq!(keyboard.wait(LONG).unwrap(), [key('a')]);
        assert!(keyboard.wait(Duration::from_millis(1)).unwrap().is_empty());
        drop(end);
    }

    #[test]
    fn all_keys_that_have_come_are_taken_at_once() {
        let (send, sent) = channel();
        let keyboard = Keyboard::start(move |events, _| {
            ('a'..='t').for_each(|letter| events.send(Ok(key(letter))).unwrap());
            send.send(()).unwrap();
            Ok(())
        })
        .unwrap();
        sent.recv().unwrap();
        let letters: Vec<Event> = ('a'..='t').map(key).collect();
        assert_eq!(keyboard.wait(LONG).unwrap(), letters);
    }

    #[test]
    fn a_terminal_that_is_gone_is_an_error_each_time_and_no_wait_without_end() {
        let keyboard = Keyboard::start(|_, _| Err(closed())).unwrap();
        for _ in 0..3 {
            assert_eq!(keyboard.wait(LONG).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        }
    }

    #[test]
    fn the_thread_learns_that_its_events_are_not_wanted_any_more() {
        let (send, ended) = channel();
        let keyboard = Keyboard::start(move |_, is_over| {
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            let _ = send.send(());
            Ok(())
        });
        drop(keyboard.unwrap());
        assert!(ended.recv_timeout(LONG).is_ok());
    }
}
