//! ^C and SIGTERM as a flag that experiments look at; a second one ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use experiments::journal::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The signals that ask a run to stop, with their numbers as the exit code counts them.
const SIGNALS: [(i32, u8); 2] = [(SIGINT, 2), (SIGTERM, 15)];

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
            // Actions run in the order of their registration: this one acts only when the flag is up from before.
            flag::register_conditional_shutdown(signal, 128 + i32::from(number), Arc::clone(&signals.requested))?;
            flag::register_usize(signal, Arc::clone(&signals.last), usize::from(number))?;
            flag::register(signal, Arc::clone(&signals.requested))?;
        }
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
