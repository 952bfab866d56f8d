//! The schema in which everything lies that is made on a given server, and its removal on every way out.
//!
//! Nothing is removed that does not carry our mark, and nothing with CASCADE: what others made in the schema, or
//! outside it upon our tables, makes the removal fail rather than disappear.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::ServerError;
use crate::facts::ServerFacts;
use crate::place::Address;
use crate::session::{Limits, Session, identifier};
use crate::statements::Statements;
use crate::wire::Row;

/// The schema's name.
pub const SCHEMA: &str = "readpath";

/// The comment on the schema and on each table in it.
const MARK: &str = "made by readpath for a measurement; `readpath clean --on ...` removes it";

/// The key of the lock that a run holds as long as its session lives: the first letters of our name, and 1.
const LOCK: &str = "1919246692, 1";

/// How long the removal waits for a server that went away, and how long after ^C.
const RETURN_TIMEOUT: Duration = Duration::from_secs(10);
const STOPPED_TIMEOUT: Duration = Duration::from_secs(5);
const ASKED_EVERY: Duration = Duration::from_millis(200);

/// How long a run waits for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The comment on the schema, and whether we may do what its owner may.
const QUESTION: &str = "SELECT coalesce(obj_description(n.oid, 'pg_namespace'), ''), \
    pg_has_role(n.nspowner, 'USAGE') FROM pg_namespace n WHERE n.nspname = 'readpath'";

/// The tables of the schema, each with its comment.
const TABLES: &str = "SELECT c.relname, coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c \
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'readpath' AND c.relkind = 'r' ORDER BY 1";

/// The addresses of given servers on which a schema stands that this process made. A process has one list, whichever
/// way its schemas go: its last words name what is left.
static STANDING: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The given servers on which a schema stands that this process made, as `--on` takes them.
pub fn standing() -> Vec<String> {
    STANDING.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// The schema with the session that made it. Dropping it removes it from the server.
pub struct Schema {
    session: Session,
    /// Tables that this run made, which a dry run would otherwise not know.
    tables: Vec<String>,
    is_there: bool,
    leftovers: usize,
}

impl Schema {
    /// Makes the schema. Errors where that cannot be or would touch what belongs to others; a schema that a killed run
    /// left is removed first.
    pub fn create(mut session: Session) -> Result<Schema, ServerError> {
        check_rights(&session)?;
        lock(&mut session)?;
        let leftovers = remove(&mut session, None)?.map_or(0, |tables| tables.len());
        // The schema is ours as soon as the server may have made it: its reply can be lost.
        let mut schema = Schema { session, tables: Vec::new(), is_there: true, leftovers };
        schema.note(true);
        let made = schema.session.run(&format!("CREATE SCHEMA {SCHEMA}; COMMENT ON SCHEMA {SCHEMA} IS '{MARK}'"));
        match made {
            Ok(()) => Ok(schema),
            Err(error) => {
                schema.is_there = error.is_gone() || error.is_stop();
                schema.note(schema.is_there);
                Err(error)
            }
        }
    }

    /// The session that works in it.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Continues with another session, after a restart of the server ended the one before, or where nothing of it may
    /// remain. The caller repeats its settings.
    pub fn reopen(&mut self) -> Result<(), ServerError> {
        self.session = self.session.another()?;
        let locked = lock(&mut self.session);
        // Another run took the lock between the two sessions: what stands there now is its own.
        if matches!(locked, Err(ServerError::InUse { .. })) {
            self.is_there = false;
            self.note(false);
        }
        locked
    }

    /// Leaves the removal to the end of the server: for a private one, which goes with all it holds and may no longer
    /// run.
    pub fn forget(&mut self) {
        self.is_there = false;
    }

    /// How many tables of a killed run were removed at the start.
    pub fn leftovers(&self) -> usize {
        self.leftovers
    }

    /// Makes an empty table of these columns, `id integer, name text`, and gives its full name. `options` are those
    /// of its storage, such as `fillfactor = 50`, or empty.
    ///
    /// The table is not logged: it takes no space in the log and none of the traffic to a standby. No vacuum runs on it
    /// by itself. It is one of rows whatever kind the role or the database makes where nothing is said: in a table of
    /// columns, rows have no place that can be asked for.
    pub fn create_table(&mut self, name: &str, columns: &str, options: &str) -> Result<String, ServerError> {
        let full = full_name(name);
        let options = if options.is_empty() { String::new() } else { format!(", {options}") };
        self.session.run(&format!(
            "CREATE UNLOGGED TABLE {full} ({columns}) USING heap WITH (autovacuum_enabled = off{options}); \
             COMMENT ON TABLE {full} IS '{MARK}'"
        ))?;
        self.tables.push(name.into());
        Ok(full)
    }

    /// Removes a table with its indexes.
    pub fn drop_table(&mut self, name: &str) -> Result<(), ServerError> {
        self.session.run(&format!("DROP TABLE {}", full_name(name)))?;
        self.tables.retain(|table| table != name);
        Ok(())
    }

    /// Removes the schema with all that is in it. Errors say what stays behind and why; `Drop` does the same
    /// silently.
    pub fn finish(mut self) -> Result<(), ServerError> {
        self.remove_now()
    }

    /// Writes down whether the schema stands on a given server.
    fn note(&self, stands: bool) {
        let address = self.session.address();
        if address.is_given() && !self.session.is_rehearsal() {
            let mut standing = STANDING.lock().unwrap_or_else(PoisonError::into_inner);
            match stands {
                true => standing.insert(address.shown()),
                false => standing.remove(&address.shown()),
            };
        }
    }

    fn remove_now(&mut self) -> Result<(), ServerError> {
        if !std::mem::take(&mut self.is_there) {
            return Ok(());
        }
        let tables = std::mem::take(&mut self.tables);
        let tidy = |session: &mut Session| session.abandon().and_then(|()| remove(session, Some(&tables)));
        // A cancellation that was already under way ends one more statement.
        let outcome = match tidy(&mut self.session) {
            Err(ServerError::Cancelled { .. } | ServerError::Stopped) => tidy(&mut self.session),
            outcome => outcome,
        };
        match outcome {
            Err(error) if error.is_gone() => remove_afresh(&self.session)?,
            outcome => drop(outcome?),
        }
        self.note(false);
        Ok(())
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // Callers that need the outcome call `finish`.
        let _ = self.remove_now();
    }
}

/// Errors where a run could not make the schema, or would touch what belongs to others. Makes and removes nothing.
pub fn check(session: &mut Session) -> Result<(), ServerError> {
    check_rights(session)?;
    own_tables(session).map(drop)
}

fn check_rights(session: &Session) -> Result<(), ServerError> {
    let ServerFacts { is_standby, may_create, is_read_only, .. } = *session.facts();
    let (user, database) = (session.facts().user.clone(), session.facts().database.clone());
    match (is_standby, may_create, is_read_only) {
        (true, ..) => Err(ServerError::Standby { server: session.address().shown() }),
        (_, false, _) => Err(ServerError::NoRight { user, database }),
        (.., true) => Err(ServerError::ReadOnly { user, database }),
        _ => Ok(()),
    }
}

/// Removes what a killed run left: the number of tables, `None` where there was no schema.
pub fn clean(mut session: Session) -> Result<Option<usize>, ServerError> {
    lock(&mut session)?;
    session.abandon()?;
    Ok(remove(&mut session, None)?.map(|tables| tables.len()))
}

/// The full name of a table in the schema.
pub fn full_name(table: &str) -> String {
    format!("{SCHEMA}.{}", identifier(table))
}

/// Holds the lock of runs until the session ends. A session that ended just now may hold it for another moment.
fn lock(session: &mut Session) -> Result<(), ServerError> {
    let started = Instant::now();
    while !session.truth(&format!("SELECT pg_try_advisory_lock({LOCK})"), true)? {
        if started.elapsed() > LOCK_TIMEOUT {
            return Err(in_use(session));
        }
        thread::sleep(ASKED_EVERY);
    }
    Ok(())
}

/// That another run holds the lock, with the process of the server that works for it, as `pg_stat_activity` has it.
///
/// Source: PostgreSQL 18, "pg_locks": a lock of two numbers has them in `classid` and `objid`, and 2 in `objsubid`.
fn in_use(session: &mut Session) -> ServerError {
    let asked = session.rows(&format!(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND (classid, objid, objsubid) = ({LOCK}, 2) \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    ));
    // It may have ended meanwhile. That it was there is the reason all the same, also where this cannot be asked.
    let found = asked.unwrap_or_default();
    let holder = found.first().map_or(String::new(), |row| format!(" (process {} of the server)", text(row, 0)));
    ServerError::InUse { database: session.facts().database.clone(), holder }
}

/// Removes the schema where it exists and is ours, and returns the tables that it held. A dry run assumes that it holds
/// the tables that are `known`, or that it does not exist.
fn remove(session: &mut Session, known: Option<&[String]>) -> Result<Option<Vec<String>>, ServerError> {
    let tables = match own_tables(session)? {
        tables if !session.is_rehearsal() => tables,
        _ => known.map(<[String]>::to_vec),
    };
    tables.map(|tables| remove_tables(session, tables)).transpose()
}

/// The tables of the schema; `None` where it does not exist. Errors where it, or one of them, is not ours.
fn own_tables(session: &mut Session) -> Result<Option<Vec<String>>, ServerError> {
    let found = session.rows(QUESTION)?;
    if session.is_rehearsal() {
        session.rows(TABLES)?;
    }
    let Some(schema) = found.first() else { return Ok(None) };
    let refuse = |reason: &str| Err(ServerError::ForeignSchema { reason: reason.into() });
    if text(schema, 0) != MARK {
        return refuse("it does not carry this program's comment");
    }
    if text(schema, 1) != "t" {
        return refuse("it belongs to another user");
    }
    let tables = session.rows(TABLES)?;
    if let Some(table) = tables.iter().find(|table| text(table, 1) != MARK) {
        return refuse(&format!("its table {} does not carry this program's comment", text(table, 0)));
    }
    Ok(Some(tables.iter().map(|table| text(table, 0).to_string()).collect()))
}

fn remove_tables(session: &mut Session, tables: Vec<String>) -> Result<Vec<String>, ServerError> {
    for table in &tables {
        session.run(&format!("DROP TABLE {}", full_name(table)))?;
    }
    session.run(&format!("DROP SCHEMA {SCHEMA}"))?;
    Ok(tables)
}

fn text(row: &Row, at: usize) -> &str {
    row.get(at).and_then(Option::as_deref).unwrap_or_default()
}

/// Removes the schema by a new connection to the same address of the same host, once there is one again: a server that
/// lost a process restarts all others. Another host of the address, or another address of its name, may be another
/// server. There, what a killed run left would be removed in place of this run's schema.
fn remove_afresh(lost: &Session) -> Result<(), ServerError> {
    let (started, stop) = (Instant::now(), lost.stop_flag());
    loop {
        let outcome = lost.another_to_tidy_up().and_then(clean);
        let limit = if stop.load(Ordering::Relaxed) { STOPPED_TIMEOUT } else { RETURN_TIMEOUT };
        match outcome {
            // The old session may hold its locks for a moment.
            Err(error) if started.elapsed() < limit && !matches!(error, ServerError::ForeignSchema { .. }) => {
                thread::sleep(ASKED_EVERY);
            }
            outcome => return outcome.map(drop),
        }
    }
}

/// Records what [`clean`] would send to this server, which is only asked what lies there.
pub fn rehearse_clean(
    address: &Address,
    limits: Limits,
    stop: Arc<AtomicBool>,
    statements: Statements,
) -> Result<(), ServerError> {
    let mut asked = Session::open(address, limits, stop)?;
    let tables = own_tables(&mut asked)?;
    let mut session = Session::rehearsal(address, limits, Arc::default(), (statements.clone(), asked.facts().major()))?;
    lock(&mut session)?;
    session.abandon()?;
    session.rows(QUESTION)?;
    match tables {
        None => statements.remark("there is no schema readpath, so nothing would be removed"),
        Some(tables) => {
            session.rows(TABLES)?;
            remove_tables(&mut session, tables)?;
        }
    }
    Ok(())
}
