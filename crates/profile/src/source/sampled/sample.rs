//! One sample: what one process of a server did at one moment.

use std::sync::Arc;

use crate::event::Ticks;

/// The kind of the processes that serve clients.
pub const CLIENT: &str = "client backend";

/// How the names of waits for the locks of tables, rows and transactions begin.
pub const LOCK: &str = "Lock:";

/// A process of the server, as far as it stays the same from sample to sample. Samplers keep it and hand it out again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backend {
    /// Its number.
    pub pid: u32,
    /// When it was started, in microseconds since 1970: numbers are used again. 0 where it may not be seen.
    pub start: i64,
    /// Its kind, as the server names it: `client backend`, `checkpointer`; empty where it may not be seen.
    pub kind: String,
    /// The role that it serves.
    pub user: String,
    /// The database that it is connected to.
    pub database: String,
    /// The client's name for itself.
    pub application: String,
}

impl Backend {
    /// As a line of a table names it.
    pub fn label(&self) -> String {
        let at = if self.database.is_empty() { String::new() } else { format!("@{}", self.database) };
        let who = format!("{}{at}", self.user);
        let parts = [self.pid.to_string(), who, self.application.clone()];
        let named = parts.into_iter().filter(|part| !part.is_empty());
        let label = named.collect::<Vec<_>>().join(" ");
        if self.user.is_empty() && !self.kind.is_empty() { format!("{} {}", self.pid, self.kind) } else { label }
    }
}

measure::words! {
    /// What a session does.
    pub enum State ("state") {
        /// It runs a statement
        Active = "active",
        /// Its client asks for nothing
        Idle = "idle",
        /// Its client asks for nothing, within a transaction
        IdleInTransaction = "idle in transaction",
        /// We may not see it
        Hidden = "hidden",
        /// The session does not report it (`track_activities` is off)
        Disabled = "disabled",
        /// A background process, which has none
        Background = "background",
    }
}

/// What the scheduler has counted of a process since it was looked at last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Time on a processor.
    pub ran: Ticks,
    /// Time ready to run, while others had the processors.
    pub waited: Ticks,
    /// Time on a processor that the hypervisor took from this machine: an even part of what it took of all time on
    /// processors. Zero where that cannot be seen.
    pub stolen: Ticks,
}

impl ProcessorTime {
    /// A time in which a process ran or was ready, divided as the scheduler counted: the part in which it was ready and
    /// did not run, and the part that was stolen.
    pub fn parts(&self, time: Ticks) -> (Ticks, Ticks) {
        let [ran, waited, stolen] = [self.ran, self.waited, self.stolen].map(|time| time.0.max(0) as f64);
        let runnable = ran + waited + stolen;
        if runnable <= 0.0 {
            return (Ticks::ZERO, Ticks::ZERO);
        }
        let part = |of: f64| Ticks((time.0 as f64 * (of / runnable)) as i64);
        (part(waited), part(stolen))
    }
}

/// What one process did at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which process.
    pub backend: Arc<Backend>,
    /// What it does.
    pub state: State,
    /// For what it waits, `IO:DataFileRead`; `None` where it waits for nothing that the server names.
    pub event: Option<Arc<str>>,
    /// The identifier that the server computed of the statement; `None` where it computes none.
    pub query_id: Option<i64>,
    /// When the statement was begun, in microseconds since 1970: two executions of a statement differ by it.
    pub query_start: Option<i64>,
    /// The text of the statement: with the first samples of an execution, and absent where it is known already.
    pub text: Option<Arc<str>>,
    /// Its time by the scheduler since it was looked at last, where that is known and it is on a processor, or ready.
    pub processor: Option<ProcessorTime>,
}
