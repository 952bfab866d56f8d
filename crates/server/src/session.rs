//! One connection to a server, which is answered by one process of it, or a rehearsal of one.
//!
//! Statements go as simple queries: nothing is prepared, so that nothing is left behind, and a statement's cost is
//! all of its cost. Nothing is set but in the session.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use postgres::{Client, SimpleQueryMessage};

use crate::cancel::Canceller;
use crate::error::ServerError;
use crate::explain::{self, Plan};
use crate::facts::{self, ServerFacts};
use crate::place::Address;
use crate::pooler;
use crate::statements::Statements;

/// How long things may take on somebody's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A statement.
    pub statement: Duration,
    /// The wait for a lock.
    pub lock: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { statement: Duration::from_secs(300), lock: Duration::from_secs(5) }
    }
}

/// A row of an answer: the columns as text, `None` where one is null.
pub type Row = Vec<Option<String>>;

/// A session. Whatever it was told to set ends with it.
pub struct Session {
    wire: Wire,
    address: Address,
    limits: Limits,
    facts: ServerFacts,
    stop: Arc<AtomicBool>,
    in_transaction: bool,
}

enum Wire {
    Live { client: Box<Client>, canceller: Option<Canceller> },
    Rehearsal(Statements),
}

impl Session {
    /// Connects, makes sure that no pooler changes sessions under us, and asks what the server is.
    ///
    /// `stop` ends the statement under way: [`ServerError::Stopped`].
    pub fn open(address: &Address, limits: Limits, stop: Arc<AtomicBool>) -> Result<Session, ServerError> {
        let mut client = connect(address)?;
        // Before anything is set: behind a pooler it would stay set for others.
        pooler::refuse(&mut client, address)?;
        let canceller = Canceller::watch(client.cancel_token(), address.connector()?, Arc::clone(&stop))
            .map_err(|error| ServerError::Machine(format!("^C cannot be watched for: {error}")))?;
        let wire = Wire::Live { client: Box::new(client), canceller: Some(canceller) };
        Session::begin(wire, address, limits, stop)
    }

    /// A session that sends nothing and notes what it would send.
    pub fn rehearsal(
        address: &Address,
        limits: Limits,
        stop: Arc<AtomicBool>,
        statements: Statements,
    ) -> Result<Session, ServerError> {
        pooler::rehearse(&statements);
        Session::begin(Wire::Rehearsal(statements), address, limits, stop)
    }

    /// Another session of the same kind to the same server.
    pub fn another(&self) -> Result<Session, ServerError> {
        let stop = Arc::clone(&self.stop);
        match &self.wire {
            Wire::Live { .. } => Session::open(&self.address, self.limits, stop),
            Wire::Rehearsal(statements) => Session::rehearsal(&self.address, self.limits, stop, statements.clone()),
        }
    }

    fn begin(wire: Wire, address: &Address, limits: Limits, stop: Arc<AtomicBool>) -> Result<Session, ServerError> {
        let (address, facts) = (address.clone(), ServerFacts::assumed());
        let mut session = Session { wire, address, limits, facts, stop, in_transaction: false };
        // Names of ours have their schema before them, and nobody's functions stand before the server's own.
        session.set("search_path", "pg_catalog")?;
        session.set("statement_timeout", &limits.statement.as_millis().max(1).to_string())?;
        session.set("lock_timeout", &limits.lock.as_millis().max(1).to_string())?;
        session.facts = facts::ask(&mut session)?;
        Ok(session)
    }

    /// What the server is and what we may do there.
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// How to reach the server.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The flag that ends statements of this session when it is raised.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether nothing is sent, and answers are what was expected.
    pub fn is_rehearsal(&self) -> bool {
        matches!(self.wire, Wire::Rehearsal(_))
    }

    /// Begins a transaction; [`Session::abandon`] ends it where [`Session::commit`] is not come to.
    pub fn begin_transaction(&mut self) -> Result<(), ServerError> {
        self.in_transaction = true;
        self.run("BEGIN")
    }

    /// Commits the transaction.
    pub fn commit(&mut self) -> Result<(), ServerError> {
        self.run("COMMIT")?;
        self.in_transaction = false;
        Ok(())
    }

    /// From now on ^C ends no statement of this session, and no transaction is open: what is left is to tidy up.
    pub fn abandon(&mut self) -> Result<(), ServerError> {
        self.stop = Arc::default();
        if let Wire::Live { canceller, .. } = &mut self.wire {
            *canceller = None;
        }
        if std::mem::take(&mut self.in_transaction) {
            self.run("ROLLBACK")?;
        }
        // However short statements were to be: what was made has to go.
        self.set("statement_timeout", &Limits::default().statement.as_millis().to_string())
    }

    /// Sets a setting for this session, and for nothing else.
    pub fn set(&mut self, setting: &str, value: &str) -> Result<(), ServerError> {
        self.run(&format!("SET {setting} = {}", literal(value)))
    }

    /// Runs a statement, or several with semicolons between, which then succeed or fail together.
    pub fn run(&mut self, statement: &str) -> Result<(), ServerError> {
        self.send(statement).map(drop)
    }

    /// The rows that a statement gives; none in a rehearsal.
    pub fn rows(&mut self, statement: &str) -> Result<Vec<Row>, ServerError> {
        let row = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|at| row.get(at).map(String::from)).collect()),
            _ => None,
        };
        Ok(self.send(statement)?.into_iter().filter_map(row).collect())
    }

    /// The single value that a statement gives as text, `None` where it is null; in a rehearsal `assumed`.
    pub fn text(&mut self, statement: &str, assumed: Option<&str>) -> Result<Option<String>, ServerError> {
        let rows = self.rows(statement)?;
        if self.is_rehearsal() {
            return Ok(assumed.map(String::from));
        }
        let value = rows.into_iter().next().and_then(|row| row.into_iter().next());
        value.ok_or_else(|| ServerError::answer(statement, "no row", "one value"))
    }

    /// The single whole number that a statement gives; in a rehearsal `assumed`.
    pub fn number(&mut self, statement: &str, assumed: u64) -> Result<u64, ServerError> {
        let value = self.text(statement, Some(&assumed.to_string()))?.unwrap_or_else(|| "null".into());
        value.parse().map_err(|_| ServerError::answer(statement, &value, "a whole number"))
    }

    /// The yes or no that a statement gives; in a rehearsal `assumed`.
    pub fn truth(&mut self, statement: &str, assumed: bool) -> Result<bool, ServerError> {
        match self.text(statement, Some(if assumed { "t" } else { "f" }))?.as_deref() {
            Some("t") => Ok(true),
            Some("f") => Ok(false),
            other => Err(ServerError::answer(statement, other.unwrap_or("null"), "yes or no")),
        }
    }

    /// Runs a query and gives its plan with what each step did; in a rehearsal `assumed`.
    ///
    /// Without the clock at every step, which would be charged to the query.
    pub fn explain(&mut self, query: &str, assumed: Plan) -> Result<Plan, ServerError> {
        self.explain_with("ANALYZE, BUFFERS, TIMING OFF", query, assumed)
    }

    /// The same with options of the caller's, such as `ANALYZE, BUFFERS` with the clock, or none for the plan alone.
    pub fn explain_with(&mut self, options: &str, query: &str, assumed: Plan) -> Result<Plan, ServerError> {
        let options = if options.is_empty() { "FORMAT JSON".into() } else { format!("{options}, FORMAT JSON") };
        let rows = self.rows(&format!("EXPLAIN ({options}) {query}"))?;
        if self.is_rehearsal() {
            return Ok(assumed);
        }
        let lines: Vec<String> = rows.into_iter().flatten().flatten().collect();
        explain::parse(&lines.join("\n"))
    }

    /// Runs a `COPY … FROM STDIN`, feeds it what comes, and gives the number of rows; in a rehearsal 0.
    pub fn copy(&mut self, statement: &str, chunks: &mut dyn Iterator<Item = Vec<u8>>) -> Result<u64, ServerError> {
        self.check_stop()?;
        let (stop, limit) = (Arc::clone(&self.stop), self.limits.statement);
        let client = match &mut self.wire {
            Wire::Rehearsal(statements) => {
                statements.note(statement);
                return Ok(0);
            }
            Wire::Live { client, .. } => client,
        };
        let started = Instant::now();
        let failed = |error: &postgres::Error| match stop.load(Ordering::Relaxed) {
            true => ServerError::Stopped,
            false => ServerError::of_statement(statement, error, started.elapsed(), limit),
        };
        let mut writer = client.copy_in(statement).map_err(|error| failed(&error))?;
        for chunk in chunks {
            if stop.load(Ordering::Relaxed) {
                // Dropping the writer ends the copy, and nothing of it stays.
                return Err(ServerError::Stopped);
            }
            // Why the server takes no more is told by the end of the copy.
            if writer.write_all(&chunk).is_err() {
                break;
            }
        }
        writer.finish().map_err(|error| failed(&error))
    }

    /// Whether the user asked to stop, as an error.
    pub fn check_stop(&self) -> Result<(), ServerError> {
        if self.stop.load(Ordering::Relaxed) { Err(ServerError::Stopped) } else { Ok(()) }
    }

    fn send(&mut self, statement: &str) -> Result<Vec<SimpleQueryMessage>, ServerError> {
        self.check_stop()?;
        let client = match &mut self.wire {
            Wire::Rehearsal(statements) => {
                statements.note(statement);
                return Ok(Vec::new());
            }
            Wire::Live { client, .. } => client,
        };
        let started = Instant::now();
        client.simple_query(statement).map_err(|error| match self.stop.load(Ordering::Relaxed) {
            true => ServerError::Stopped,
            false => ServerError::of_statement(statement, &error, started.elapsed(), self.limits.statement),
        })
    }
}

/// A connection as it comes, with nothing set.
pub(crate) fn connect(address: &Address) -> Result<Client, ServerError> {
    let connector = address.connector()?;
    address.config().connect(connector).map_err(|error| ServerError::connecting(address.shown(), &error))
}

/// A text as a literal of SQL.
pub fn literal(text: &str) -> String {
    // With standard_conforming_strings off, which no sane server has, a backslash would be special.
    if text.contains('\\') {
        return format!(" E'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as an identifier of SQL.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_holds_does_not_end_it() {
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\'b"), " E'a\\\\''b'");
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
    }
}
