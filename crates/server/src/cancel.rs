//! ^C while the server works: a thread that watches the flag and has the statement under way cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use postgres::CancelToken;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How often the flag is looked at: a look takes some microseconds on another processor, so that it takes a
/// ten-thousandth of one.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Watches the flag until it is dropped.
#[derive(Debug)]
pub(crate) struct Canceller {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Canceller {
    /// Starts watching `stop` for the session of `token`, with connections of the same kind as the session has.
    pub(crate) fn watch(
        token: CancelToken,
        connector: MakeRustlsConnect,
        stop: Arc<AtomicBool>,
    ) -> std::io::Result<Canceller> {
        let ended = Arc::new(AtomicBool::new(false));
        let is_ended = Arc::clone(&ended);
        let thread = thread::Builder::new().name("canceller".into()).spawn(move || {
            while !is_ended.load(Ordering::Relaxed) {
                // Again and again: a cancellation that comes between two statements ends neither.
                if stop.load(Ordering::Relaxed) {
                    // A server that cannot be reached has nothing to cancel.
                    let _ = token.cancel_query(connector.clone());
                }
                thread::park_timeout(LOOK_EVERY);
            }
        })?;
        Ok(Canceller { ended, thread: Some(thread) })
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread does nothing that could panic, and its end is all that matters here.
            let _ = thread.join();
        }
    }
}
