//! A connection on which every wait ends: with the answer, at its limit, or soon after ^C.
//!
//! One thread owns the connection and waits for it. The driver is asynchronous for this alone: a blocking read of a
//! server that has stopped could not be left.

use std::future::{self, Future};
use std::io::Cursor;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::SinkExt;
use sys::threads::NotStarted;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::{Client, Error, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::ServerError;
use crate::hosts::{Driver, Hosts, is_refusal};
use crate::place::Address;

/// How often a wait looks at the clock and at the wish to stop: some microseconds of this thread, which has nothing
/// else to do.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long the server may take to accept a cancellation, or the end of a session.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(1);

/// A row: the columns as text, `None` where one is null.
pub type Row = Vec<Option<String>>;

/// What stands for a value that is no UTF-8, of which the driver gives nothing. A server passes on what its other
/// databases hold in other encodings, such as the names of their roles and the texts of their statements.
pub const UNREADABLE: &str = "(text in another encoding)";

/// What ^C means to a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnStop {
    /// It ends at once: nothing has been made yet.
    Leave,
    /// The statement is cancelled, and its end is waited for.
    Cancel,
    /// The removal of what was made goes on, for as long as a user waits.
    Finish,
}

impl OnStop {
    /// How long a wait may still take.
    fn grace(self) -> Duration {
        match self {
            OnStop::Leave => Duration::ZERO,
            OnStop::Cancel => Duration::from_secs(3),
            OnStop::Finish => Duration::from_secs(5),
        }
    }
}

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline<'a> {
    /// Without a wish to stop.
    pub(crate) limit: Duration,
    /// Raised by ^C.
    pub(crate) stop: &'a AtomicBool,
    /// What that means.
    pub(crate) on_stop: OnStop,
}

impl Deadline<'_> {
    /// Waits for `work`; `None` where the wait was given up. `cancel` is called again and again after ^C: a
    /// cancellation that arrives before its statement ends nothing.
    async fn wait<T>(&self, work: impl Future<Output = T>, cancel: impl AsyncFn()) -> Option<T> {
        let mut work = pin!(work);
        let (started, mut stopped) = (Instant::now(), None);
        loop {
            if let Ok(done) = timeout(LOOK_EVERY, work.as_mut()).await {
                return Some(done);
            }
            if self.stop.load(Ordering::Relaxed) {
                if stopped.get_or_insert_with(Instant::now).elapsed() >= self.on_stop.grace() {
                    return None;
                }
                if self.on_stop == OnStop::Cancel {
                    cancel().await;
                }
            }
            if started.elapsed() >= self.limit {
                return None;
            }
        }
    }

    /// Whether what failed failed because the user wants to stop.
    fn is_stopped(&self) -> bool {
        self.on_stop != OnStop::Finish && self.stop.load(Ordering::Relaxed)
    }
}

/// A connection.
pub(crate) struct Wire {
    runtime: Runtime,
    /// `None` once the connection has ended or was given up.
    open: Option<(Client, Driver)>,
    connector: MakeRustlsConnect,
    server: String,
}

impl Wire {
    /// Connects, with nothing set.
    pub(crate) fn connect(address: &Address, deadline: &Deadline<'_>) -> Result<Wire, ServerError> {
        let (connector, server) = (address.connector()?, address.shown());
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| ServerError::Machine(format!("no connection can be served: {error}")))?;
        if address.has_names() {
            can_start_a_thread()
                .map_err(|error| ServerError::Machine(format!("{server} is not looked up: {error}")))?;
        }
        let started = Instant::now();
        let handshake = async {
            // A host that holds the connection and says nothing takes half of the time: the others have the rest.
            if let Some(standby) = address.config_of_standby()
                && let Ok(found) = timeout(deadline.limit / 2, Hosts::of(&standby).connect(&connector)).await
                && found.as_ref().err().is_none_or(is_refusal)
            {
                return found;
            }
            Hosts::of(address.config()).connect(&connector).await
        };
        match runtime.block_on(deadline.wait(handshake, async || ())) {
            Some(Ok(open)) => Ok(Wire { runtime, open: Some(open), connector, server }),
            Some(Err(error)) => Err(ServerError::connecting(server, address.file_refused(), &error)),
            None => {
                // The system's resolver of names cannot be interrupted; it is not waited for.
                runtime.shutdown_background();
                Err(given_up(deadline, server, "while connecting".into(), started.elapsed()))
            }
        }
    }

    /// Runs a statement, or several with semicolons between, and returns the rows.
    pub(crate) fn query(&mut self, statement: &str, deadline: &Deadline<'_>) -> Result<Vec<Row>, ServerError> {
        let messages = self.run(statement, deadline, async |client| client.simple_query(statement).await)?;
        let row = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                let value = |at: usize| row.try_get(at).unwrap_or(Some(UNREADABLE)).map(String::from);
                Some((0..row.len()).map(value).collect())
            }
            _ => None,
        };
        Ok(messages.into_iter().filter_map(row).collect())
    }

    /// Runs a text that the server refuses unless it is one statement: the extended protocol parses no list.
    pub(crate) fn execute_one(&mut self, statement: &str, deadline: &Deadline<'_>) -> Result<(), ServerError> {
        self.run(statement, deadline, async |client| client.execute(statement, &[]).await).map(drop)
    }

    /// Runs a `COPY … FROM STDIN`, feeds it the chunks, and returns the number of rows.
    pub(crate) fn copy(
        &mut self,
        statement: &str,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
        deadline: &Deadline<'_>,
    ) -> Result<u64, ServerError> {
        let copied = self.run(statement, deadline, async |client| {
            let mut sink = pin!(client.copy_in(statement).await?);
            for chunk in chunks {
                // Dropping the sink ends the copy, and nothing of it stays.
                if deadline.is_stopped() {
                    return Ok(None);
                }
                // The error of the copy's end holds the reason.
                if sink.send(Cursor::new(chunk)).await.is_err() {
                    break;
                }
            }
            sink.finish().await.map(Some)
        })?;
        copied.ok_or(ServerError::Stopped)
    }

    /// Serves the connection until `work` on it is done.
    fn run<T>(
        &mut self,
        statement: &str,
        deadline: &Deadline<'_>,
        work: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, ServerError> {
        let Some((client, driver)) = &mut self.open else { return Err(ServerError::closed(statement)) };
        let started = Instant::now();
        let (client, connector, mut is_over) = (&*client, &self.connector, false);
        let cancel = async || {
            // A server that cannot be reached has nothing to cancel.
            let _ = timeout(FAREWELL_TIMEOUT, client.cancel_token().cancel_query(connector.clone())).await;
        };
        let served = async {
            let mut work = pin!(work(client));
            let served = future::poll_fn(|context| {
                if !is_over && let Poll::Ready(ended) = driver.as_mut().poll(context) {
                    is_over = true;
                    ended?;
                }
                work.as_mut().poll(context)
            });
            served.await
        };
        let outcome = self.runtime.block_on(deadline.wait(served, cancel));
        if is_over || outcome.is_none() {
            self.open = None;
        }
        match outcome {
            Some(Err(_)) if deadline.is_stopped() => Err(ServerError::Stopped),
            Some(outcome) => outcome.map_err(|error| ServerError::of_statement(statement, &error)),
            None => {
                let doing = ServerError::during(statement);
                Err(given_up(deadline, self.server.clone(), doing, started.elapsed()))
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some((client, driver)) = self.open.take() {
            // Without its client the driver ends the session as the protocol has it.
            drop(client);
            let _ = self.runtime.block_on(async { timeout(FAREWELL_TIMEOUT, driver).await });
        }
    }
}

/// Names of hosts are looked up on a thread that the driver's runtime starts, and it panics where it cannot. One that
/// has just ended can be started again, unless another process of the user was faster.
fn can_start_a_thread() -> Result<(), NotStarted> {
    let _ = thread::Builder::new().spawn(|| ())?.join();
    Ok(())
}

fn given_up(deadline: &Deadline<'_>, server: String, doing: String, waited: Duration) -> ServerError {
    match deadline.is_stopped() {
        true => ServerError::Stopped,
        false => ServerError::Silent { server, doing, waited },
    }
}
