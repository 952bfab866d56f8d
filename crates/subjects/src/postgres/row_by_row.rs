//! The settings by which one process looks rows up one by one, in the table itself, without being compiled and without
//! remembering any, also where the role or the database turns that off.

use server::{ServerError, Session};

const SETTINGS: [(&str, &str); 8] = [
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
    ("enable_indexonlyscan", "off"),
    ("enable_nestloop", "on"),
    ("enable_tidscan", "on"),
];

/// The first version that remembers inner rows of a nested loop.
const MEMOIZE_SINCE: u32 = 14;

/// Leaves the planner of a session this way, and sets what `more` it is measured with.
pub(super) fn set(session: &mut Session, more: &[(&'static str, &'static str)]) -> Result<(), ServerError> {
    session.set_all(SETTINGS.iter().chain(more).copied())?;
    if session.facts().major() >= MEMOIZE_SINCE {
        session.set("enable_memoize", "off")?;
    }
    Ok(())
}
