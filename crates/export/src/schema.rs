//! The columns of the exported files.
//!
//! Times are whole nanoseconds in 64 bits: every trace's unit is a whole number of them (1 µs, 1.024 µs, 10 ms), so
//! that sums made elsewhere are exact. Points in time are those of the trace's own clock, whose zero is no epoch.

use Kind::{Flag, Integer, OptionalInteger, Text};

/// What values a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// INT64, never null.
    Integer,
    /// INT64, null where the source does not say.
    OptionalInteger,
    /// UTF-8 text, empty where the source does not say.
    Text,
    /// BOOLEAN.
    Flag,
}

impl Kind {
    /// Its name in the documentation.
    pub fn name(self) -> &'static str {
        match self {
            Integer => "INT64",
            OptionalInteger => "INT64, null",
            Text => "STRING",
            Flag => "BOOLEAN",
        }
    }
}

/// A column: its name and what values it holds. What they mean stands in `docs/events.md`.
pub type Column = (&'static str, Kind);

/// A file of the folder.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name without `.parquet`.
    pub name: &'static str,
    /// Its columns in order.
    pub columns: &'static [Column],
}

/// Every database call.
pub const CALLS: Table = Table {
    name: "calls",
    columns: &[
        ("file", Text),
        ("offset", Integer),
        ("session_number", Integer),
        ("session", Text),
        ("statement", Integer),
        ("statement_id", Text),
        ("module", Text),
        ("action", Text),
        ("service", Text),
        ("client", Text),
        ("container", Text),
        ("call_number", Integer),
        ("call", Text),
        ("depth", Integer),
        ("recursive", Flag),
        ("start_ns", OptionalInteger),
        ("end_ns", OptionalInteger),
        ("elapsed_ns", Integer),
        ("cpu_ns", OptionalInteger),
        ("physical_reads", Integer),
        ("consistent_gets", Integer),
        ("current_gets", Integer),
        ("own_elapsed_ns", Integer),
        ("own_cpu_ns", OptionalInteger),
        ("own_physical_reads", Integer),
        ("own_consistent_gets", Integer),
        ("own_current_gets", Integer),
        ("own_waits_ns", Integer),
        ("rows", Integer),
        ("misses", Integer),
        ("plan_hash", Integer),
    ],
};

/// Every wait.
pub const WAITS: Table = Table {
    name: "waits",
    columns: &[
        ("file", Text),
        ("offset", Integer),
        ("session_number", Integer),
        ("session", Text),
        ("statement", Integer),
        ("statement_id", Text),
        ("module", Text),
        ("action", Text),
        ("service", Text),
        ("client", Text),
        ("container", Text),
        ("event", Text),
        ("class", Text),
        ("start_ns", OptionalInteger),
        ("end_ns", OptionalInteger),
        ("elapsed_ns", Integer),
        ("placement", Text),
        ("depth", Integer),
        ("parameter1_name", Text),
        ("parameter1", Integer),
        ("parameter2_name", Text),
        ("parameter2", Integer),
        ("parameter3_name", Text),
        ("parameter3", Integer),
        ("file_number", OptionalInteger),
        ("block", OptionalInteger),
        ("blocks", OptionalInteger),
        ("object", OptionalInteger),
    ],
};

/// Every statement.
pub const STATEMENTS: Table = Table {
    name: "statements",
    columns: &[
        ("statement", Integer),
        ("statement_id", Text),
        ("text", Text),
        ("text_bytes", Integer),
        ("command", Integer),
        ("depth", Integer),
        ("user", Integer),
    ],
};

/// Every session, with the time from its first to its last line.
pub const SESSIONS: Table = Table {
    name: "sessions",
    columns: &[
        ("session_number", Integer),
        ("session", Text),
        ("interval_ns", Integer),
        ("first_ns", OptionalInteger),
        ("last_ns", OptionalInteger),
        ("stretches", Integer),
    ],
};

/// Every line of an executed plan, as often as the source has it.
pub const PLAN_LINES: Table = Table {
    name: "plan_lines",
    columns: &[
        ("file", Text),
        ("statement", Integer),
        ("statement_id", Text),
        ("plan_hash", Integer),
        ("line", Integer),
        ("parent", Integer),
        ("operation", Text),
        ("object", Integer),
        ("rows", Integer),
        ("starts", OptionalInteger),
        ("gets", OptionalInteger),
        ("physical_reads", OptionalInteger),
        ("physical_writes", OptionalInteger),
        ("time_ns", OptionalInteger),
        ("read_time_ns", OptionalInteger),
    ],
};

/// The files of a folder.
pub const TABLES: [Table; 5] = [CALLS, WAITS, STATEMENTS, SESSIONS, PLAN_LINES];
