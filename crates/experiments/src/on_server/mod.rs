//! What experiments on a PostgreSQL server have in common: what is said of the server, of others who use it, and of
//! what could not be removed from it; the tool's own share; and rehearsals, in which nothing is measured.

use measure::Finding;
use measure::quantity::size_in_words;
use serde_json::json;
use server::activity::Activity;
use server::space::FreeSpace;
use server::{Address, ServerError, Session, space};
use subjects::logical_reads::SubjectError;

use crate::error::ExperimentError;
use crate::journal::Journal;

/// Says on what is measured.
pub(crate) fn describe(session: &Session, journal: &mut dyn Journal) {
    let facts = session.facts();
    journal.describe_subject("kind", json!("postgres"));
    journal.describe_subject("server", json!(session.address().shown()));
    journal.describe_subject("version", json!(facts.version));
    journal.describe_subject("shared_buffers", json!(facts.buffer_bytes));
    journal.describe_subject("block_bytes", json!(facts.block_bytes));
    if let Some(encryption) = &facts.encryption {
        journal.describe_subject("encryption", json!(encryption));
    }
}

/// Refuses a standby, before anything else takes time.
pub(crate) fn check_primary(session: &Session) -> Result<(), ExperimentError> {
    if session.facts().is_standby {
        return Err(SubjectError::from(ServerError::Standby { server: session.address().shown() }).into());
    }
    Ok(())
}

/// Refuses tables and indexes of `needed` bytes for which there is no room on the server. Where its free space is not
/// known that is said, with the option that asks for less.
pub(crate) fn check_space(
    session: &Session,
    needed: u64,
    option: &str,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let free = space::check(session, needed).map_err(SubjectError::from)?;
    journal.describe_subject("tables_bytes_max", json!(needed));
    if let FreeSpace::Unknown(reason) = free {
        journal.find(Finding::info(
            "unknown-space",
            format!(
                "The server's free space is not known, because {reason}. What is made there takes up to {} at one \
                 time, none of it in the log; {option} makes it smaller.",
                size_in_words(if needed >= 1 << 20 { needed >> 20 << 20 } else { needed >> 10 << 10 })
            ),
        ));
    }
    Ok(())
}

/// What was made on a server could not be removed.
pub(crate) fn schema_left(error: &SubjectError, address: &Address) -> Finding {
    Finding::warning(
        "schema-left",
        format!(
            "The schema readpath could not be removed ({error}): say `readpath clean --on {}` when the server is there \
             again.",
            address.shown()
        ),
    )
}

/// Other sessions at work while it was measured.
pub(crate) fn report_activity(activity: &Activity, journal: &mut dyn Journal) {
    let (looks, busy) = activity.looks();
    if busy == 0 {
        return;
    }
    journal.find(Finding::warning(
        "server-busy",
        format!(
            "Other sessions were at work on the server in {busy} of {looks} looks between the measurements, up to {} \
             at once: they share its processors and its buffers, and costs may be higher for it. Repeat the run when \
             the server is quiet.",
            activity.most()
        ),
    ));
}

pub(crate) use crate::journal::NullJournal as Nobody;
