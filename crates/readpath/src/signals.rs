//! ^C and SIGTERM as a flag that experiments look at; a second one ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use experiments::journal::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals as Arrivals;

use crate::output;

/// The signals that ask a run to stop, with their numbers as the exit code counts them.
const SIGNALS: [(i32, u8); 2] = [(SIGINT, 2), (SIGTERM, 15)];

/// Signals that arrive together are one wish: a shell and `timeout` both signal a process and its group.
const TOGETHER: Duration = Duration::from_secs(1);

/// What the signals of this process have asked for.
pub(crate) struct Signals {
    requested: Arc<AtomicBool>,
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// Takes over ^C and SIGTERM.
    pub(crate) fn install() -> io::Result<Signals> {
        let signals = Signals { requested: Arc::default(), last: Arc::default() };
        for (signal, number) in SIGNALS {
            // Actions run in the order of their registration: the number is there when the flag is up.
            flag::register_usize(signal, Arc::clone(&signals.last), usize::from(number))?;
            flag::register(signal, Arc::clone(&signals.requested))?;
        }
        let arrivals = Arrivals::new(SIGNALS.map(|(signal, _)| signal))?;
        // It sleeps in a read until a signal comes, so that it disturbs no measurement.
        thread::Builder::new().name("signals".into()).spawn(move || watch(arrivals))?;
        Ok(signals)
    }

    /// The flag that loops look at.
    pub(crate) fn stop(&self) -> Stop {
        Stop::new(Arc::clone(&self.requested))
    }

    /// The number of the signal that asked to stop.
    pub(crate) fn received(&self) -> Option<u8> {
        let number = u8::try_from(self.last.load(Ordering::Relaxed)).unwrap_or(0);
        (number > 0).then_some(number)
    }
}

/// Ends the process at a signal that comes a while after the first.
fn watch(mut arrivals: Arrivals) {
    let mut first: Option<Instant> = None;
    for signal in arrivals.forever() {
        let number = SIGNALS.iter().find(|(known, _)| *known == signal).map_or(2, |(_, number)| *number);
        match first {
            None => first = Some(Instant::now()),
            Some(first) if first.elapsed() < TOGETHER => {}
            Some(_) => end_at_once(number),
        }
    }
}

/// Ends the process in the middle of whatever it does, because the user asked a second time. What was kept stays kept.
#[allow(clippy::exit, reason = "the user wants out, and a store is never half-written")]
fn end_at_once(signal: u8) -> ! {
    output::complain("stopped at once; what was kept before is whole.");
    std::process::exit(128 + i32::from(signal))
}
