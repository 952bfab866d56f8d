//! ^C while the server works: a thread watches the flag and cancels the statement under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use postgres::CancelToken;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How often the thread looks at the flag: a look takes some microseconds on another processor, a ten-thousandth of
/// its time.
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
                // Repeatedly: a cancellation that arrives between two statements ends neither.
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
            // The thread cannot panic, and only its end matters here.
            let _ = thread.join();
        }
    }
}
