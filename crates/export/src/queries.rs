//! The SQL of a profile's main tables over the exported files, and over the segments of a recording.
//!
//! It is written for DuckDB, started in the folder of the files, and keeps to SQL that others have too. Times come out
//! in nanoseconds, as whole numbers, so that they equal the profile's to the last one.

/// A query: its name, and its text with a comment above.
pub type Query = (&'static str, &'static str);

/// The queries in the order of a profile's page.
pub const QUERIES: [Query; 6] = [
    ("summary", include_str!("../sql/summary.sql")),
    ("classes", include_str!("../sql/classes.sql")),
    ("events", include_str!("../sql/events.sql")),
    ("calls", include_str!("../sql/calls.sql")),
    ("statements", include_str!("../sql/statements.sql")),
    ("files", include_str!("../sql/files.sql")),
];

/// The queries over a recording, to be run in its folder.
pub const QUERIES_OF_RECORDINGS: [Query; 5] = [
    ("recorded-minutes", include_str!("../sql/recorded-minutes.sql")),
    ("recorded-events", include_str!("../sql/recorded-events.sql")),
    ("recorded-statements", include_str!("../sql/recorded-statements.sql")),
    ("recorded-sessions", include_str!("../sql/recorded-sessions.sql")),
    ("recorded-blockers", include_str!("../sql/recorded-blockers.sql")),
];

/// The text of a query.
pub fn query(name: &str) -> Option<&'static str> {
    QUERIES.iter().chain(&QUERIES_OF_RECORDINGS).find(|(known, _)| *known == name).map(|(_, text)| *text)
}
