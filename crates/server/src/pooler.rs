//! Poolers in transaction mode: they assign a session of the server to each transaction.
//!
//! Behind one, settings of the session would reach others, and the process that is watched would not be the one that
//! works. Such a pooler is recognised when one process serves two open connections, or two processes serve
//! one connection.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use postgres::{Client, SimpleQueryMessage};

use crate::error::ServerError;
use crate::place::Address;

/// How long the second connection may take. A pool of one session keeps it waiting: then sessions do not change hands.
const SECOND_TIMEOUT: Duration = Duration::from_secs(3);

/// The process that serves the connection.
const PROCESS: &str = "SELECT pg_catalog.pg_backend_pid()";
const BEGIN_AND_PROCESS: &str = "BEGIN; SELECT pg_catalog.pg_backend_pid()";

/// What [`refuse`] sends: on the first connection, on a second one, and on the first again while the second is open.
pub(crate) const STATEMENTS: [&str; 3] = [PROCESS, BEGIN_AND_PROCESS, PROCESS];

/// An error where a pooler in transaction mode stands between `first` and the server. Nothing is set for this.
pub(crate) fn refuse(first: &mut Client, address: &Address) -> Result<(), ServerError> {
    let before = process(first, address)?;
    let (report, reported) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let second = address.clone();
    let spawned = thread::Builder::new().name("second session".into()).spawn(move || hold(&second, &report, &released));
    spawned.map_err(|error| ServerError::Machine(format!("no second session: {error}")))?;
    // A full server grants no second connection, and none is needed.
    let Ok(Some(other)) = reported.recv_timeout(SECOND_TIMEOUT) else { return Ok(()) };
    let after = process(first, address)?;
    drop(release);
    if other == before || after != before {
        return Err(ServerError::Pooler { server: address.shown() });
    }
    Ok(())
}

/// Holds a transaction on a second connection, reports its process, and ends when it is released.
fn hold(address: &Address, report: &Sender<Option<String>>, released: &Receiver<()>) {
    let held = address.connect().ok().and_then(|mut client| {
        let process = value(&client.simple_query(BEGIN_AND_PROCESS).ok()?)?;
        Some((client, process))
    });
    // The receiver is gone where this took too long.
    let _ = report.send(held.as_ref().map(|(_, process)| process.clone()));
    let _ = released.recv();
}

fn process(client: &mut Client, address: &Address) -> Result<String, ServerError> {
    let answer = client.simple_query(PROCESS).map_err(|error| ServerError::connecting(address.shown(), &error))?;
    value(&answer).ok_or_else(|| ServerError::answer(PROCESS, "no row", "a process"))
}

fn value(answer: &[SimpleQueryMessage]) -> Option<String> {
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    row?.get(0).map(String::from)
}
