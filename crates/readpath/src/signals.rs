//! ^C and SIGTERM as a flag that experiments look at; a second one ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use experiments::journal::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals as Arrivals;

/// The signals that ask a run to stop, with their numbers as the exit code counts them.
const SIGNALS: [(i32, u8); 2] = [(SIGINT, 2), (SIGTERM, 15)];

/// Signals that arrive together are one wish: a shell and `timeout` both signal a process and its group.
const TOGETHER: Duration = Duration::from_secs(1);

/// What the signals of this process have asked for.
pub(crate) struct Signals {
    requested: Arc<AtomicBool>,
    last: Arc<AtomicU8>,
}

impl Signals {
    /// Takes over ^C and SIGTERM.
    pub(crate) fn install() -> io::Result<Signals> {
        let signals = Signals { requested: Arc::default(), last: Arc::default() };
        for (signal, _) in SIGNALS {
            flag::register(signal, Arc::clone(&signals.requested))?;
        }
        let arrivals = Arrivals::new(SIGNALS.map(|(signal, _)| signal))?;
        let last = Arc::clone(&signals.last);
        // It sleeps in a read until a signal comes, so that it disturbs no measurement.
        thread::Builder::new().name("signals".into()).spawn(move || watch(arrivals, &last))?;
        Ok(signals)
    }

    /// The flag that loops look at.
    pub(crate) fn stop(&self) -> Stop {
        Stop::new(Arc::clone(&self.requested))
    }

    /// The number of the signal that asked to stop.
    pub(crate) fn received(&self) -> Option<u8> {
        if !self.requested.load(Ordering::Relaxed) {
            return None;
        }
        // The watching thread may be a moment behind the flag; ^C is by far the likelier of the two.
        let number = self.last.load(Ordering::Relaxed);
        Some(if number > 0 { number } else { SIGNALS[0].1 })
    }
}

/// Remembers the first signal, and ends the process at another one that comes later.
fn watch(mut arrivals: Arrivals, last: &AtomicU8) {
    let mut first: Option<Instant> = None;
    for signal in arrivals.forever() {
        let number = SIGNALS.iter().find(|(known, _)| *known == signal).map_or(2, |(_, number)| *number);
        match first {
            None => {
                last.store(number, Ordering::Relaxed);
                first = Some(Instant::now());
            }
            Some(first) if first.elapsed() < TOGETHER => {}
            Some(_) => crate::exit::at_once(number),
        }
    }
}
