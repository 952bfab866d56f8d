//! The sampler that asks the server: one prepared statement over `pg_stat_activity`, at most a hundred times a second.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use profile::source::sampled::{Backend, CLIENT, LOCK, Sample, State};
use server::{Address, Limits, ServerError, ServerFacts, Session, Statements};

use crate::processors::Processors;
use crate::row::{parsed, text};
use crate::sampler::{Look, Texts};
use crate::statements::{self, BLOCKING};

/// How long one of our statements may take, and wait for a lock.
const LIMITS: Limits = Limits { statement: Duration::from_secs(5), lock: Duration::from_secs(1) };

/// Settings of our session: it writes nothing, plans its statement once, and works by itself. What a look shows of
/// hundreds of sessions with long statements would otherwise be a temporary file of the server, many times a second.
const SETTINGS: [(&str, &str); 5] = [
    ("default_transaction_read_only", "on"),
    ("plan_cache_mode", "force_generic_plan"),
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
    ("work_mem", "64MB"),
];

/// How much earlier than the look before an execution may have begun whose text is still brought: a session stamps its
/// beginning a moment before it shows it.
const TEXT_MARGIN_MICROS: i64 = 1_000_000;

/// Looks after which what is kept of processes that are gone is dropped.
const LOOKS_BETWEEN_SWEEPS: u64 = 256;

/// Most events whose names are kept: a server has some hundred.
const EVENTS_MAX: usize = 1 << 12;

/// Asks `pg_stat_activity`.
pub(crate) struct SqlSampler {
    session: Session,
    processors: Option<Processors>,
    backends: HashMap<u32, (Arc<Backend>, u64)>,
    events: HashMap<(String, String), Arc<str>>,
    looks: u64,
    /// The server's time at the look before, in µs since 1970.
    last: Option<i64>,
    /// Time that the server has worked for our looks, and that passed from their questions to their answers.
    pub(crate) server_time: Duration,
    pub(crate) answer_time: Duration,
    /// How long it worked for the last look, and for all that it was asked besides.
    pub(crate) worked: Duration,
    pub(crate) further_time: Duration,
}

impl SqlSampler {
    /// Opens a session and prepares the statement.
    ///
    /// # Errors
    /// Where the server cannot be reached, is behind a pooler that switches sessions, or is older than 13.
    pub(crate) fn open(address: &Address, stop: Arc<AtomicBool>) -> Result<SqlSampler, ServerError> {
        SqlSampler::prepared(Session::open(address, LIMITS, stop)?)
    }

    /// One that records what it would send to a server of this major version.
    pub(crate) fn rehearsal(address: &Address, recorder: (Statements, u32)) -> Result<SqlSampler, ServerError> {
        SqlSampler::prepared(Session::rehearsal(address, LIMITS, Arc::default(), recorder)?)
    }

    fn prepared(mut session: Session) -> Result<SqlSampler, ServerError> {
        for (setting, value) in SETTINGS {
            session.set(setting, value)?;
        }
        session.run(&statements::prepare(session.facts().major()))?;
        Ok(SqlSampler {
            session,
            processors: None,
            backends: HashMap::new(),
            events: HashMap::new(),
            looks: 0,
            last: None,
            server_time: Duration::ZERO,
            answer_time: Duration::ZERO,
            worked: Duration::ZERO,
            further_time: Duration::ZERO,
        })
    }

    /// What the server is.
    pub(crate) fn facts(&self) -> &ServerFacts {
        self.session.facts()
    }

    /// The session, for what is asked besides.
    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// How long an answer takes beyond the server's work for it, by the looks so far.
    pub(crate) fn way(&self) -> Duration {
        let looks = u32::try_from(self.looks).unwrap_or(u32::MAX).max(1);
        self.answer_time.saturating_sub(self.server_time) / looks
    }

    /// Divides time on a processor from time ready for one, from now on.
    pub(crate) fn with_processors(&mut self, processors: Processors) {
        self.processors = Some(processors);
    }

    /// Who blocks whom: sessions that wait for a lock, each with those that it waits for.
    ///
    /// # Errors
    /// Where the server cannot be asked.
    pub(crate) fn blocking(&mut self) -> Result<Vec<(u32, Vec<u32>)>, ServerError> {
        let rows = self.session.rows(BLOCKING)?;
        let pair = |row: &server::Row| {
            let blockers = text(row, 1)?.split(',').filter_map(|pid| pid.parse().ok()).collect();
            Some((parsed(row, 0)?, blockers))
        };
        Ok(rows.iter().filter_map(pair).collect())
    }

    /// The sample in a row; `None` where the row has another shape.
    fn sample(&mut self, row: &mut server::Row) -> Option<Sample> {
        let mut take = |at: usize| row.get_mut(at)?.take();
        let number = |text: Option<String>| text?.parse::<i64>().ok();
        let pid = take(0)?.parse().ok()?;
        let start = number(take(1));
        let kind = take(2);
        let is_hidden = kind.is_none();
        let backend = Backend {
            pid,
            start: start.unwrap_or(0),
            kind: kind.unwrap_or_default(),
            user: take(3).unwrap_or_default(),
            database: take(4).unwrap_or_default(),
            application: take(5).unwrap_or_default(),
        };
        if is_hidden && backend.user.is_empty() {
            // A background process, whose kind we may not see.
            return None;
        }
        let state = if is_hidden { State::Hidden } else { state(&backend.kind, take(6).as_deref()) };
        let event = take(7).zip(take(8)).map(|pair| self.event(pair));
        let (query_id, query_start) = (number(take(9)), number(take(10)));
        let text = take(11).filter(|text| !text.is_empty()).map(Arc::from);
        let is_new = !self.backends.contains_key(&pid);
        let backend = self.backend(backend);
        let is_on_processor = state == State::Active && event.is_none() && backend.kind == CLIENT;
        let processor = self.processors.as_mut().and_then(|processors| match (is_on_processor, is_new) {
            (true, _) => processors.since(pid),
            (false, true) if backend.kind == CLIENT => {
                processors.begin(pid);
                None
            }
            _ => None,
        });
        Some(Sample { backend, state, event, query_id, query_start, text, processor })
    }

    /// The backend, as it was handed out before where nothing of it has changed.
    fn backend(&mut self, backend: Backend) -> Arc<Backend> {
        let looks = self.looks;
        let known = self.backends.entry(backend.pid).or_insert_with(|| (Arc::default(), looks));
        known.1 = looks;
        if *known.0 != backend {
            known.0 = Arc::new(backend);
        }
        Arc::clone(&known.0)
    }

    fn event(&mut self, pair: (String, String)) -> Arc<str> {
        if self.events.len() >= EVENTS_MAX {
            self.events.clear();
        }
        let named = |(kind, name): &(String, String)| Arc::from(format!("{kind}:{name}"));
        Arc::clone(self.events.entry(pair).or_insert_with_key(named))
    }

    /// Drops what is kept of processes that are gone.
    fn sweep(&mut self) {
        let oldest = self.looks.saturating_sub(LOOKS_BETWEEN_SWEEPS);
        self.backends.retain(|_, (_, seen)| *seen >= oldest);
        let backends = &self.backends;
        self.processors.iter_mut().for_each(|processors| processors.retain(|pid| backends.contains_key(&pid)));
    }

    /// Fills `samples`, whose room is used again, with what each process does now. After an error they are of no use.
    pub(crate) fn look(&mut self, texts: Texts, samples: &mut Vec<Sample>) -> Result<Look, ServerError> {
        let since = self.last.filter(|_| texts == Texts::New).map(|last| last - TEXT_MARGIN_MICROS);
        let asked = Instant::now();
        let mut rows = self.session.rows_of_all_databases(&statements::execute(since))?;
        let took = asked.elapsed();
        self.looks += 1;
        samples.clear();
        let (mut now, mut worked) = (None, 0);
        for row in &mut rows {
            now = parsed(row, 12).or(now);
            worked = worked.max(parsed::<i64>(row, 13).unwrap_or(0));
            samples.extend(self.sample(row));
        }
        self.last = now;
        // Its clock may have been set meanwhile.
        self.worked = Duration::from_micros(worked.max(0).unsigned_abs()).min(took);
        self.server_time += self.worked;
        self.answer_time += took;
        if self.looks.is_multiple_of(LOOKS_BETWEEN_SWEEPS) {
            self.sweep();
        }
        Ok(Look { begun: asked, at: asked + took / 2 })
    }
}

/// What a session does, by the server's word for it.
fn state(kind: &str, word: Option<&str>) -> State {
    match word {
        Some("active" | "fastpath function call") => State::Active,
        Some("idle in transaction" | "idle in transaction (aborted)") => State::IdleInTransaction,
        Some("disabled") => State::Disabled,
        None if kind != CLIENT => State::Background,
        // A session that has just been started has done nothing yet.
        _ => State::Idle,
    }
}

/// Whether any session waits for a lock.
pub(crate) fn has_lock_waits(samples: &[Sample]) -> bool {
    lock_waiters(samples).next().is_some()
}

/// The sessions that wait for a lock.
pub(crate) fn lock_waiters(samples: &[Sample]) -> impl Iterator<Item = u32> {
    let waits = |sample: &Sample| sample.event.as_deref().is_some_and(|event| event.starts_with(LOCK));
    // Most sessions of most looks do nothing, and their events need not be read.
    let waiting = samples.iter().filter(move |sample| sample.state != State::Idle && waits(sample));
    waiting.map(|sample| sample.backend.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_names_ever_new_events_fills_no_memory() {
        let address = Address::parse("postgres://me@localhost/shop").unwrap();
        let mut sampler = SqlSampler::rehearsal(&address, (Statements::default(), 18)).unwrap();
        for number in 0..3 * EVENTS_MAX {
            let event = sampler.event(("Extension".into(), number.to_string()));
            assert!(sampler.events.len() <= EVENTS_MAX && *event == *format!("Extension:{number}"));
        }
    }

    #[test]
    fn a_word_of_a_later_version_is_no_work() {
        assert_eq!(state(CLIENT, Some("active")), State::Active);
        assert_eq!(state(CLIENT, Some("idle in transaction (aborted)")), State::IdleInTransaction);
        assert_eq!(state(CLIENT, Some("starting")), State::Idle);
        assert_eq!((state(CLIENT, None), state("walwriter", None)), (State::Idle, State::Background));
    }
}
