//! One session on a server, which one of its processes serves.
//!
//! Statements go as simple queries: nothing is prepared, so that nothing remains, and a statement's cost is all of its
//! cost. Settings change in the session only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::ServerError;
use crate::explain::{self, Plan};
use crate::facts::{self, ServerFacts};
use crate::link::{Link, Row};
use crate::live::Live;
use crate::place::Address;
use crate::statements::{Recording, Statements};

/// How long things may take on a given server.
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

/// A session. Its settings end with it.
pub struct Session {
    link: Box<dyn Link>,
    address: Address,
    limits: Limits,
    facts: ServerFacts,
    stop: Arc<AtomicBool>,
    in_transaction: bool,
}

impl Session {
    /// Connects, makes sure that no pooler switches sessions, and asks what the server is.
    ///
    /// `stop` ends the statement under way: [`ServerError::Stopped`].
    pub fn open(address: &Address, limits: Limits, stop: Arc<AtomicBool>) -> Result<Session, ServerError> {
        let link = Live::open(address, limits.statement, Arc::clone(&stop))?;
        Session::begin(Box::new(link), address, limits, stop)
    }

    /// A session that sends nothing and records what it would send.
    pub fn rehearsal(
        address: &Address,
        limits: Limits,
        stop: Arc<AtomicBool>,
        statements: Statements,
    ) -> Result<Session, ServerError> {
        Session::begin(Box::new(Recording::open(statements)), address, limits, stop)
    }

    /// Another session of the same kind to the same server.
    pub fn another(&self) -> Result<Session, ServerError> {
        Session::begin(self.link.another()?, &self.address, self.limits, Arc::clone(&self.stop))
    }

    fn begin(
        link: Box<dyn Link>,
        address: &Address,
        limits: Limits,
        stop: Arc<AtomicBool>,
    ) -> Result<Session, ServerError> {
        let (address, facts) = (address.clone(), ServerFacts::assumed());
        let mut session = Session { link, address, limits, facts, stop, in_transaction: false };
        // Our own names are qualified, and no function of a user hides one of the server's.
        session.set("search_path", "pg_catalog")?;
        session.set("statement_timeout", &limits.statement.as_millis().max(1).to_string())?;
        session.set("lock_timeout", &limits.lock.as_millis().max(1).to_string())?;
        session.facts = session.ask_facts()?;
        Ok(session)
    }

    /// Asks what the server is. Errors when it is older than what is known.
    fn ask_facts(&mut self) -> Result<ServerFacts, ServerError> {
        let rows = self.rows(facts::QUESTION)?;
        if self.is_rehearsal() {
            return Ok(ServerFacts::assumed());
        }
        let found = rows.first().and_then(facts::of_row);
        let none = || ServerError::answer(facts::QUESTION, &format!("{:?}", rows.first()), "what it is");
        let found = found.ok_or_else(none)?;
        match found.version_number < facts::OLDEST {
            true => Err(ServerError::Version { server: self.address.shown(), version: found.version }),
            false => Ok(found),
        }
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

    /// Whether nothing is sent, and results are what the caller expects.
    pub fn is_rehearsal(&self) -> bool {
        self.link.is_recording()
    }

    /// Begins a transaction; [`Session::abandon`] ends it where [`Session::commit`] is not reached.
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

    /// Stops ^C from ending statements of this session and closes an open transaction, before the removal of what was
    /// made.
    pub fn abandon(&mut self) -> Result<(), ServerError> {
        self.stop = Arc::default();
        self.link.ignore_stop();
        if std::mem::take(&mut self.in_transaction) {
            self.run("ROLLBACK")?;
        }
        // The removal may take longer than the user's limit.
        self.set("statement_timeout", &Limits::default().statement.as_millis().to_string())
    }

    /// Sets a setting for this session only.
    pub fn set(&mut self, setting: &str, value: &str) -> Result<(), ServerError> {
        self.run(&format!("SET {setting} = {}", literal(value)))
    }

    /// Runs a statement, or several with semicolons between, which then succeed or fail together.
    pub fn run(&mut self, statement: &str) -> Result<(), ServerError> {
        self.rows(statement).map(drop)
    }

    /// The rows that a statement gives; none in a dry run.
    pub fn rows(&mut self, statement: &str) -> Result<Vec<Row>, ServerError> {
        self.check_stop()?;
        self.link.send(statement)
    }

    /// The single value that a statement gives as text, `None` where it is null; in a dry run `assumed`.
    pub fn text(&mut self, statement: &str, assumed: Option<&str>) -> Result<Option<String>, ServerError> {
        let rows = self.rows(statement)?;
        if self.is_rehearsal() {
            return Ok(assumed.map(String::from));
        }
        let value = rows.into_iter().next().and_then(|row| row.into_iter().next());
        value.ok_or_else(|| ServerError::answer(statement, "no row", "one value"))
    }

    /// The single whole number that a statement gives; in a dry run `assumed`.
    pub fn number(&mut self, statement: &str, assumed: u64) -> Result<u64, ServerError> {
        let value = self.text(statement, Some(&assumed.to_string()))?.unwrap_or_else(|| "null".into());
        value.parse().map_err(|_| ServerError::answer(statement, &value, "a whole number"))
    }

    /// The yes or no that a statement gives; in a dry run `assumed`.
    pub fn truth(&mut self, statement: &str, assumed: bool) -> Result<bool, ServerError> {
        match self.text(statement, Some(if assumed { "t" } else { "f" }))?.as_deref() {
            Some("t") => Ok(true),
            Some("f") => Ok(false),
            other => Err(ServerError::answer(statement, other.unwrap_or("null"), "yes or no")),
        }
    }

    /// Runs a query and gives its plan with what each step did; in a dry run `assumed`.
    ///
    /// Without the clock at every step, which would be charged to the query.
    pub fn explain(&mut self, query: &str, assumed: Plan) -> Result<Plan, ServerError> {
        self.explain_with("ANALYZE, BUFFERS, TIMING OFF", query, assumed)
    }

    /// The same with the caller's options, such as `ANALYZE, BUFFERS` with the clock, or none for the plan alone.
    pub fn explain_with(&mut self, options: &str, query: &str, assumed: Plan) -> Result<Plan, ServerError> {
        let options = if options.is_empty() { "FORMAT JSON".into() } else { format!("{options}, FORMAT JSON") };
        let rows = self.rows(&format!("EXPLAIN ({options}) {query}"))?;
        if self.is_rehearsal() {
            return Ok(assumed);
        }
        let lines: Vec<String> = rows.into_iter().flatten().flatten().collect();
        explain::parse(&lines.join("\n"))
    }

    /// Runs a `COPY … FROM STDIN`, feeds it the chunks, and returns the number of rows; in a dry run 0.
    pub fn copy(&mut self, statement: &str, chunks: &mut dyn Iterator<Item = Vec<u8>>) -> Result<u64, ServerError> {
        self.check_stop()?;
        self.link.copy(statement, chunks)
    }

    /// Whether the user asked to stop, as an error.
    pub fn check_stop(&self) -> Result<(), ServerError> {
        if self.stop.load(Ordering::Relaxed) { Err(ServerError::Stopped) } else { Ok(()) }
    }
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
