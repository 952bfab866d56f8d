//! Poolers in transaction mode: they hand a session of the server to whoever begins a transaction.
//!
//! Behind one, what is set for the session would be set for others, and the process that is watched would not be the
//! one that works. It shows when two connections that are open at one time are answered by one process, or when one
//! connection is answered by two.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use postgres::{Client, SimpleQueryMessage};

use crate::error::ServerError;
use crate::place::Address;
use crate::session::connect;
use crate::statements::Statements;

/// How long the second connection may take. A pool of one session keeps it waiting: then sessions do not change hands.
const SECOND_TIMEOUT: Duration = Duration::from_secs(3);

/// Which process answers.
const PROCESS: &str = "SELECT pg_catalog.pg_backend_pid()";

/// An error where a pooler in transaction mode stands between `first` and the server. Nothing is set for this.
pub(crate) fn refuse(first: &mut Client, address: &Address) -> Result<(), ServerError> {
    let before = process(first, address)?;
    let (tell, told) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let second = address.clone();
    let spawned = thread::Builder::new().name("second session".into()).spawn(move || hold(&second, &tell, &released));
    spawned.map_err(|error| ServerError::Machine(format!("no second session: {error}")))?;
    // No second connection may be had, as where the server is full; one session is all that is needed.
    let Ok(Some(other)) = told.recv_timeout(SECOND_TIMEOUT) else { return Ok(()) };
    let after = process(first, address)?;
    drop(release);
    if other == before || after != before {
        return Err(ServerError::Pooler { server: address.shown() });
    }
    Ok(())
}

/// Notes what [`refuse`] sends.
pub(crate) fn rehearse(statements: &Statements) {
    statements.note(PROCESS);
    statements.remark("on a second connection:");
    statements.note(&format!("BEGIN; {PROCESS}"));
    statements.remark("on the first one, before the second is closed:");
    statements.note(PROCESS);
}

/// Holds a transaction on a second connection, tells which process has it, and ends when it is let go of.
fn hold(address: &Address, tell: &Sender<Option<String>>, released: &Receiver<()>) {
    let held = connect(address).ok().and_then(|mut client| {
        let process = value(&client.simple_query(&format!("BEGIN; {PROCESS}")).ok()?)?;
        Some((client, process))
    });
    // Nobody listens any more where this took too long.
    let _ = tell.send(held.as_ref().map(|(_, process)| process.clone()));
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
