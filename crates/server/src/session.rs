//! One session on a server, which one of its processes serves.
//!
//! Statements go as simple queries: nothing is prepared, so that nothing remains, and a statement's cost is all of its
//! cost. Settings change in the session only.

use std::fs;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::quantity::parse_time;

use crate::error::ServerError;
use crate::explain::{self, Plan};
use crate::facts::{self, ServerFacts};
pub use crate::identifier::identifier;
use crate::link::Link;
use crate::live::Live;
use crate::place::Address;
use crate::pooler::insist;
use crate::recording::Recording;
use crate::statements::Statements;
use crate::wire::{OnStop, Row};

/// How long an answer may take beyond the server's own limit for the statement: then the server is not working.
const SLACK: Duration = Duration::from_secs(5);

/// What holds for a statement and for a lock before anything is set: the role, the database, the address, a pooler or a
/// trigger of the login may have set it. No table is read for it: the shortest limit lets it through.
const FOUND_LIMITS: &str = "SHOW statement_timeout; SHOW lock_timeout";

/// Milliseconds that are allowed for a transaction and for a session that waits; 0 is no limit. Older versions lack
/// some of them. And the seconds of the limit below.
const OTHER_LIMITS: &str = "SELECT name, setting FROM pg_settings WHERE name IN ('transaction_timeout', \
    'idle_session_timeout', 'idle_in_transaction_session_timeout', 'tcp_keepalives_idle')";

/// After how many seconds of silence the server asks whether its client is still there, and then every 10 s for a
/// minute: usual are two hours, in which the session of a machine that lost its network would keep its locks. Over a
/// socket it is 0, and the kernel ends the connection with the client.
const SILENT_SECONDS: u128 = 60;
const ASKS_WHETHER_THERE: &str =
    "SET tcp_keepalives_idle = '60'; SET tcp_keepalives_interval = '10'; SET tcp_keepalives_count = '6'";

/// Those at whose end the server ends the session, which may wait long between two steps of a run.
const ENDING_SESSIONS: [&str; 3] =
    ["transaction_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout"];

/// How often at most a session's process adds its time to the server's account, when a statement ends.
///
/// Source: PGSTAT_MIN_INTERVAL in PostgreSQL 18, src/backend/utils/activity/pgstat.c. Before 15, the process and the
/// collector of all statistics wait half a second each.
const ADDED_UP_EVERY: Duration = Duration::from_secs(1);

/// Part of the limit of a statement for which it may wait for a lock.
const LOCK_PART: f64 = 0.8;

/// Leaves the session as it was found: locks, settings and all, for the next client of a pool in session mode.
const RESET: &str = "DISCARD ALL";

/// What follows the name of a private server where a given one of its version is measured too.
const PRIVATE: &str = " (private)";

/// What a dry run assumes that reading a row takes.
pub const ROW_TIME: Duration = Duration::from_nanos(100);

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

impl Limits {
    /// The smaller ones of these and of what the role has itself.
    fn within(self, own: &Limits) -> Limits {
        let smaller = |ours: Duration, own: Duration| if own.is_zero() { ours } else { ours.min(own) };
        Limits { statement: smaller(self.statement, own.statement), lock: smaller(self.lock, own.lock) }
    }
}

/// A session. Its settings end with it.
pub struct Session {
    link: Box<dyn Link>,
    address: Address,
    limits: Limits,
    /// The role's own, zero where it has none.
    own_limits: Limits,
    facts: ServerFacts,
    /// What follows the server's name in cases and sentences.
    name_end: &'static str,
    stop: Arc<AtomicBool>,
    on_stop: OnStop,
    /// When the session has to be there, until it is.
    opening: Option<Instant>,
    in_transaction: bool,
    /// Time that passed until all statements so far were answered, and until the slowest of them was.
    waited: Duration,
    longest: Duration,
    /// How many they are.
    answered: u32,
}

impl Session {
    /// Connects, makes sure that no pooler switches sessions, and asks what the server is; all within the time for
    /// connecting that the host has which grants the session.
    ///
    /// `stop` ends the statement under way: [`ServerError::Stopped`].
    pub fn open(address: &Address, limits: Limits, stop: Arc<AtomicBool>) -> Result<Session, ServerError> {
        let link = Box::new(Live::open(address, Arc::clone(&stop), OnStop::Leave)?);
        Session::new(link, address, limits, stop).begin(OnStop::Leave)
    }

    /// A session that sends nothing and records what it would send to a server of this major version.
    pub fn rehearsal(
        address: &Address,
        limits: Limits,
        stop: Arc<AtomicBool>,
        (statements, major): (Statements, u32),
    ) -> Result<Session, ServerError> {
        let link = Box::new(Recording::open(statements, major));
        Session::new(link, address, limits, stop).begin(OnStop::Leave)
    }

    /// Another session of the same kind to the same server.
    pub fn another(&self) -> Result<Session, ServerError> {
        let (link, stop) = (self.link.another(OnStop::Leave)?, Arc::clone(&self.stop));
        Session::new(link, &self.address, self.limits, stop).begin(OnStop::Leave)
    }

    /// The same for the removal of what this session made, which ^C does not end.
    pub(crate) fn another_to_tidy_up(&self) -> Result<Session, ServerError> {
        let (link, stop) = (self.link.another(OnStop::Finish)?, Arc::clone(&self.stop));
        Session::new(link, &self.address, Limits::default(), stop).begin(OnStop::Finish)
    }

    fn new(link: Box<dyn Link>, address: &Address, limits: Limits, stop: Arc<AtomicBool>) -> Session {
        let assumed = link.rehearsal().map_or(facts::ASSUMED_MAJOR, |(_, major)| major);
        Session {
            link,
            address: address.clone(),
            limits,
            own_limits: Limits { statement: Duration::ZERO, lock: Duration::ZERO },
            facts: ServerFacts::assumed(assumed),
            name_end: "",
            stop,
            on_stop: OnStop::Leave,
            opening: None,
            in_transaction: false,
            waited: Duration::ZERO,
            longest: Duration::ZERO,
            answered: 0,
        }
    }

    /// Makes the session ours.
    fn begin(mut self, on_stop: OnStop) -> Result<Session, ServerError> {
        self.opening = Some(self.link.opening_end());
        self.set_on_stop(on_stop);
        // First: a limit of the role's own may be too short for what is asked of the server next.
        let found = insist(|| self.ask_found_limits())?;
        insist(|| self.set_limits(self.limits))?;
        // Our own names are qualified, and no function of a user hides one of the server's.
        self.set("search_path", "pg_catalog")?;
        self.own_limits = self.ask_own_limits(found)?;
        self.facts = self.ask_facts()?;
        if self.facts.has_no_encoding {
            // The server converts nothing there, but refuses an answer with a text that is no UTF-8, such as that of
            // another session's statement. This way it sends each text as it is.
            self.take_texts_as_they_are()?;
        }
        if self.limits.within(&self.own_limits) != self.limits {
            self.set_limits(self.limits)?;
        }
        self.opening = None;
        if on_stop == OnStop::Leave {
            self.set_on_stop(OnStop::Cancel);
        }
        Ok(self)
    }

    fn take_texts_as_they_are(&mut self) -> Result<(), ServerError> {
        self.set("client_encoding", facts::NO_ENCODING)
    }

    fn ask_found_limits(&mut self) -> Result<Limits, ServerError> {
        let mut values = self.rows(FOUND_LIMITS)?.into_iter().flatten();
        let mut next = || {
            // That of no limit is `0`, without a unit.
            let shown = values.next().flatten().and_then(|shown| parse_time(&shown).ok());
            shown.map_or(Duration::ZERO, |time| Duration::from_nanos(time.0))
        };
        Ok(Limits { statement: next(), lock: next() })
    }

    /// The limits that were found, with those of a session and of a transaction.
    fn ask_own_limits(&mut self, found: Limits) -> Result<Limits, ServerError> {
        let rows = self.rows(OTHER_LIMITS)?;
        let text = |row: &Row, at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let limit = |name: &str| {
            let row = rows.iter().find(|row| text(row, 0) == name);
            Duration::from_millis(row.and_then(|row| text(row, 1).parse().ok()).unwrap_or(0))
        };
        for name in ENDING_SESSIONS {
            if !limit(name).is_zero() {
                self.set(name, "0")?;
            }
        }
        if limit("tcp_keepalives_idle").as_millis() > SILENT_SECONDS {
            // One that refuses keeps to its own time.
            self.run(ASKS_WHETHER_THERE).or_else(|error| if error.is_of_statement() { Ok(()) } else { Err(error) })?;
        }
        // That of a transaction limits each statement instead.
        let statements = [found.statement, limit("transaction_timeout")];
        let shortest = statements.into_iter().filter(|limit| !limit.is_zero()).min();
        Ok(Limits { statement: shortest.unwrap_or_default(), ..found })
    }

    /// Sets these limits, or the role's own where those are smaller.
    fn set_limits(&mut self, limits: Limits) -> Result<(), ServerError> {
        let before = mem::replace(&mut self.limits, limits.within(&self.own_limits));
        let millis = |limit: Duration| limit.as_millis().max(1).to_string();
        let (statement, lock) = (millis(self.limits.statement), millis(self.limits.lock));
        let mut settings = [("statement_timeout", &*statement), ("lock_timeout", &*lock)];
        // A longer limit for statements helps the next one; a shorter one may end it.
        if self.limits.statement < before.statement {
            settings.reverse();
        }
        self.set_all(settings)
    }

    fn set_on_stop(&mut self, on_stop: OnStop) {
        self.on_stop = on_stop;
        self.link.set_on_stop(on_stop);
    }

    /// Asks what the server is. Errors when it is older than what is known.
    fn ask_facts(&mut self) -> Result<ServerFacts, ServerError> {
        let rows = self.rows(facts::QUESTION)?;
        if self.is_rehearsal() {
            return Ok(self.facts.clone());
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

    /// The server's name in cases and sentences: `postgres 15.18`.
    pub fn name(&self) -> String {
        self.facts.name() + self.name_end
    }

    /// Adds to the name that the server is a private one, which tells it from a given one of its version.
    pub fn tell_apart(&mut self) {
        self.name_end = PRIVATE;
    }

    /// How long a statement may take: the limit that was asked for, or the role's own where that is smaller.
    pub fn statement_limit(&self) -> Duration {
        self.limits.statement
    }

    /// How to reach the server.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether the server runs on this machine, so that its files and processes can be looked at from here.
    ///
    /// A local address is not enough: the port may be passed on, to a container or through a tunnel. The numbers of its
    /// processes are then those of other processes here. A rehearsal assumes that a local address tells.
    pub fn is_on_this_machine(&self) -> bool {
        self.address.is_local() && (self.is_rehearsal() || is_serving(self.facts.process, &self.facts.user))
    }

    /// The flag that ends statements of this session when it is raised.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether nothing is sent, and results are what the caller expects.
    pub fn is_rehearsal(&self) -> bool {
        self.link.rehearsal().is_some()
    }

    /// In a dry run, adds to the time that the statements would take.
    pub fn assume(&self, time: Duration) {
        if let Some((statements, _)) = self.link.rehearsal() {
            statements.take(time);
        }
    }

    /// The same of what takes longer with larger shared buffers, which a dry run does not know.
    pub fn assume_by_buffers(&self, time: Duration) {
        if let Some((statements, _)) = self.link.rehearsal() {
            statements.take_by_buffers(time);
        }
    }

    /// In a dry run, the time that the statements so far would take.
    pub fn assumed_time(&self) -> Option<Duration> {
        self.link.rehearsal().map(|(statements, _)| statements.time(1.0))
    }

    /// Begins a transaction; [`Session::abandon`] ends it where [`Session::commit`] is not reached.
    pub fn begin_transaction(&mut self) -> Result<(), ServerError> {
        self.begin_with("BEGIN")
    }

    fn begin_with(&mut self, statement: &str) -> Result<(), ServerError> {
        // After ^C it is not sent, and the server has no transaction to roll back.
        self.check_stop()?;
        self.in_transaction = true;
        self.run(statement)
    }

    /// Begins a transaction that writes nothing, with the names that the role itself sees and this long for each
    /// statement, of which a lock may be waited for most: what ends a statement then shows which of them it was.
    /// [`Session::roll_back`] ends the transaction and all that was set in it.
    pub fn begin_read_only(&mut self, limit: Duration) -> Result<(), ServerError> {
        let limit = limit.min(self.limits.statement);
        let lock = self.limits.lock.min(limit.mul_f64(LOCK_PART)).as_millis().max(1);
        let limit = limit.as_millis().max(1);
        self.begin_with(&format!(
            "BEGIN READ ONLY; RESET search_path; SET LOCAL statement_timeout = {limit}; SET LOCAL lock_timeout = {lock}"
        ))
    }

    /// Rolls the transaction back. Where the time for a statement ends the rollback itself, once more.
    pub fn roll_back(&mut self) -> Result<(), ServerError> {
        use ServerError::{Cancelled, OwnLimit, TooLong};
        match self.run("ROLLBACK") {
            Err(Cancelled { .. } | TooLong { .. } | OwnLimit { .. }) => self.run("ROLLBACK")?,
            outcome => outcome?,
        }
        self.in_transaction = false;
        Ok(())
    }

    /// Commits the transaction.
    pub fn commit(&mut self) -> Result<(), ServerError> {
        self.run("COMMIT")?;
        self.in_transaction = false;
        Ok(())
    }

    /// Stops ^C from ending statements of this session: after it, each of them has a few seconds more.
    pub fn outlast_stop(&mut self) {
        self.set_on_stop(OnStop::Finish);
    }

    /// The same before the removal of what was made, which may take longer than the user's limit for a statement: an
    /// open transaction is closed, and the limit is the usual one.
    pub fn abandon(&mut self) -> Result<(), ServerError> {
        self.outlast_stop();
        // A late wish to cancel ends this statement too: the transaction stays open then, and is known to be.
        if self.in_transaction {
            self.roll_back()?;
        }
        self.set_limits(Limits { lock: self.limits.lock, ..Limits::default() })
    }

    /// Sets a setting for this session only.
    pub fn set(&mut self, setting: &str, value: &str) -> Result<(), ServerError> {
        self.run(&format!("SET {setting} = {}", literal(value)))
    }

    /// The same of several settings.
    pub fn set_all<'a>(&mut self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<(), ServerError> {
        settings.into_iter().try_for_each(|(setting, value)| self.set(setting, value))
    }

    /// Runs a statement, or several with semicolons between, which then succeed or fail together.
    pub fn run(&mut self, statement: &str) -> Result<(), ServerError> {
        self.rows(statement).map(drop)
    }

    /// Runs a text of others, which the server refuses unless it is one statement.
    pub fn run_one(&mut self, statement: &str) -> Result<(), ServerError> {
        self.bounded(|link, limit| link.send_one(statement, limit))
    }

    /// The rows that a statement gives; none in a dry run.
    pub fn rows(&mut self, statement: &str) -> Result<Vec<Row>, ServerError> {
        self.bounded(|link, limit| link.send(statement, limit))
    }

    /// The same of a statement of ours that gives texts of all databases. One that the encoding of this database does
    /// not have makes the server refuse the answer: from then on it sends each text as it is.
    pub fn rows_of_all_databases(&mut self, statement: &str) -> Result<Vec<Row>, ServerError> {
        match self.rows(statement) {
            Err(error) if error.is_of_encoding() => {
                self.take_texts_as_they_are()?;
                self.rows(statement)
            }
            answered => answered,
        }
    }

    /// Sends something that the server ends at the limit for statements, and waits no longer than that and a little.
    fn bounded<T>(
        &mut self,
        send: impl FnOnce(&mut dyn Link, Duration) -> Result<T, ServerError>,
    ) -> Result<T, ServerError> {
        self.check_stop()?;
        let (started, limit) = (Instant::now(), self.limits.statement);
        let wait = self.opening.map_or(limit + SLACK, |end| end.saturating_duration_since(started));
        let outcome = send(&mut *self.link, wait);
        let took = started.elapsed();
        (self.waited, self.longest) = (self.waited + took, self.longest.max(took));
        self.answered = self.answered.wrapping_add(1);
        match outcome {
            // The server has one code for its limit and for a cancellation by others, and says which in its language.
            Err(ServerError::Cancelled { statement, .. }) if took >= limit => {
                Err(match limit == self.own_limits.statement {
                    true => ServerError::OwnLimit { statement, limit },
                    false => ServerError::TooLong { statement, limit },
                })
            }
            outcome => outcome,
        }
    }

    /// How many statements were answered; beyond 32 bits the count begins anew.
    pub fn answered(&self) -> u32 {
        self.answered
    }

    /// How long the answers to all statements so far took: the server has worked no longer for this session.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Most of the time that the server has worked for this session and has still to add to its account. It adds up
    /// where a statement ends a second or more after it last did so, without that statement: this one, what came within
    /// a second after it, and the last one are still to come.
    pub fn still_to_account(&self) -> Duration {
        self.waited.min(ADDED_UP_EVERY + 2 * self.longest)
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

    /// The single whole number that a statement gives; in a dry run `assumed`, as if it had counted rows up to it.
    pub fn number(&mut self, statement: &str, assumed: u64) -> Result<u64, ServerError> {
        self.assume(ROW_TIME.saturating_mul(u32::try_from(assumed).unwrap_or(u32::MAX)));
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
        self.bounded(|link, limit| link.copy(statement, chunks, limit))
    }

    /// The same of chunks that hold `rows` rows; an error where the server takes another number.
    pub fn copy_all(
        &mut self,
        statement: &str,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
        rows: u64,
    ) -> Result<(), ServerError> {
        let taken = self.copy(statement, chunks)?;
        match taken == rows || self.is_rehearsal() {
            true => Ok(()),
            false => Err(ServerError::answer(statement, &taken.to_string(), "the number of rows that were sent")),
        }
    }

    /// Whether the user asked to stop, as an error.
    pub fn check_stop(&self) -> Result<(), ServerError> {
        let is_stopped = self.on_stop != OnStop::Finish && self.stop.load(Ordering::Relaxed);
        if is_stopped { Err(ServerError::Stopped) } else { Ok(()) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.link.set_on_stop(OnStop::Finish);
        // In a transaction nothing can be discarded. Where this fails, the session ends, and all that was set with it.
        if self.in_transaction {
            let _ = self.link.send("ROLLBACK", SLACK);
        }
        let _ = self.link.send(RESET, SLACK);
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

/// Whether a process of this machine has the title of the one that serves a session of this user.
pub fn is_serving(process: u32, user: &str) -> bool {
    let title = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
    title.starts_with("postgres") && title.contains(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slow_server_worked_long_ago_is_in_its_account_by_now() {
        let address = Address::parse("postgres://me@localhost/shop").unwrap();
        let recorder = (Statements::default(), 18);
        let mut session = Session::rehearsal(&address, Limits::default(), Arc::default(), recorder).unwrap();
        let mut left = |millis: [u64; 2]| {
            [session.waited, session.longest] = millis.map(Duration::from_millis);
            session.still_to_account().as_millis()
        };
        assert_eq!(left([60_000, 4_000]), 9_000, "a minute in all");
        assert_eq!(left([900, 300]), 900, "no more than in all");
    }

    #[test]
    fn a_limit_of_a_millisecond_ends_no_other_setting_of_a_session() {
        let address = Address::parse("postgres://me@localhost/shop").unwrap();
        let statements = Statements::default();
        let recorder = (statements.clone(), 18);
        let mut session = Session::rehearsal(&address, Limits::default(), Arc::default(), recorder).unwrap();
        let script = statements.script();
        assert!(script.contains("SET statement_timeout = '300000';\nSET lock_timeout = '5000';\n"), "{script}");
        session.own_limits.statement = Duration::from_millis(1);
        session.set_limits(session.limits).unwrap();
        let script = statements.script();
        assert!(script.ends_with("SET lock_timeout = '5000';\nSET statement_timeout = '1';\n"), "{script}");
    }

    #[test]
    fn what_a_text_holds_does_not_end_it() {
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\'b"), " E'a\\\\''b'");
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
    }
}
