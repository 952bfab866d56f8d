//! ^C and SIGTERM: the private server has to be stopped and removed before the benchmark ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether an end was asked for. The first signal asks; a second one ends the program at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption {
    asked: Arc<AtomicBool>,
}

impl Interruption {
    /// Listens from here on.
    pub(crate) fn listen() -> Result<Interruption, String> {
        let interruption = Interruption::default();
        for signal in [SIGINT, SIGTERM] {
            let sentence = |error| format!("signal {signal} cannot be listened to: {error}");
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interruption.asked))
                .map_err(sentence)?;
            signal_hook::flag::register(signal, Arc::clone(&interruption.asked)).map_err(sentence)?;
        }
        Ok(interruption)
    }

    /// The flag that is up once an end was asked for.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// An error when an end was asked for.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.asked.load(Ordering::Relaxed) { Err("interrupted: nothing is compared".into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_was_asked_for_is_an_error() {
        let interruption = Interruption::default();
        assert_eq!(interruption.check(), Ok(()));
        interruption.asked.store(true, Ordering::Relaxed);
        assert!(interruption.check().is_err());
    }
}
