//! What a session on a server is set up with: the scheduler's account of its processes, the tracing of their reads and
//! the sampler of its memory, each where it is possible. The first session of a watch is set up like each later one.

use server::{Address, ServerError};

use super::settings::Settings;
use crate::memory::MemorySampler;
use crate::processors::Processors;
use crate::refusal::{unless_refused, why};
use crate::sampler::Texts;
use crate::sql::SqlSampler;
use crate::statements::{EVENTS, IDENTIFIER, SHOWS_IDENTIFIER, WITH_EVENTS};
use crate::tracing::TracedServer;

/// Gives the sampler the scheduler's account, where the server's processes can be seen.
pub(super) fn with_processors(sampler: &mut SqlSampler, address: &Address) -> Result<(), String> {
    let facts = sampler.facts();
    let is_rehearsal = facts.process == 0;
    let processors = Processors::open(facts.process, &facts.user, address.is_local() && !is_rehearsal)?;
    sampler.with_processors(processors);
    Ok(())
}

/// The identifier that the server's files got when they were made; `None` where our role may not ask for it.
pub(super) fn identifier(sampler: &mut SqlSampler) -> Result<Option<String>, ServerError> {
    let session = sampler.session();
    let answered = match session.truth(SHOWS_IDENTIFIER, true) {
        Ok(true) => session.text(IDENTIFIER, None),
        other => other.map(|_| None),
    };
    Ok(unless_refused(answered)?.unwrap_or_default())
}

/// Begins to trace the reads of the server's processes, where that is wanted and possible.
pub(super) fn trace(
    tracing: &mut TracedServer,
    sampler: &mut SqlSampler,
    address: &Address,
    settings: Settings,
) -> Result<(), ServerError> {
    match settings.traces_reads {
        true => tracing.begin(sampler.session(), address.is_local()),
        false => {
            tracing.leave_out("--no-tiers was given");
            Ok(())
        }
    }
}

/// The bytes of a statement's text that the server keeps; the setting is in bytes.
const TEXT_BYTES: &str = "SELECT setting::int8 FROM pg_settings WHERE name = 'track_activity_query_size'";

/// What a server keeps of them by default.
const TEXT_BYTES_USUAL: u64 = 1024;

/// The sampler of the server's memory, where that can be read and shows what the server shows.
pub(super) fn memory(sampler: &mut SqlSampler, address: &Address, settings: Settings) -> Result<MemorySampler, String> {
    if !settings.reads_memory {
        return Err("it was not asked for".into());
    }
    let text_bytes = sampler.session().number(TEXT_BYTES, TEXT_BYTES_USUAL).map_err(|error| why(&error))?;
    let (mut seen, facts) = (Vec::new(), sampler.facts().clone());
    let listed = match facts.major() >= WITH_EVENTS {
        true => sampler.session().rows(EVENTS).map_err(|error| why(&error))?,
        false => Vec::new(),
    };
    if facts.process == 0 {
        return Err("nothing is sent".into());
    }
    let mut memory = MemorySampler::open(&facts, address.is_local(), usize::try_from(text_bytes).unwrap_or(0))?;
    sampler.look(Texts::All, &mut seen).map_err(|error| why(&error))?;
    memory.check(&seen)?;
    let pair = |row: server::Row| {
        let mut cells = row.into_iter();
        Some((cells.next()??, cells.next()??))
    };
    memory.list_events(listed.into_iter().filter_map(pair));
    Ok(memory)
}
