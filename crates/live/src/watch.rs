//! The watch over a server: it looks again and again until its end, and outlives the server's restart.
//!
//! Its state, its begin and its run stand here. Each part of its work has a file of its own, which adds methods to
//! [`Watch`].

mod exact_watch;
mod look;
mod lost_memory;
mod lost_time;
mod memory_reading;
mod observed;
mod outage;
mod pace;
mod questions;
mod refusals;
mod rehearsal;
mod settings;
mod setup;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::random::SplitMix64;
use measure::{Nanos, Parameters};
use profile::event::Ticks;
use profile::observe::instruments::Instruments;
use profile::source::recorded::{IDENTIFIER, MACHINE, is_other_server, server_of};
use profile::source::sampled::{Sample, SampledProfile};
use profile::tables::read_tiers::ByTier;
use recording::{Folder, segments};
use server::{Address, Defaults, ServerError, ServerFacts};
use sys::host;
use sys::process::{ShortSlice, process_cpu};

use crate::active_time::{ActiveTime, ActiveTimeMeter};
use crate::counters::CounterSource;
use crate::exact::Watching;
use crate::further::{Answers, Blocking};
use crate::hits::BufferHits;
use crate::listener::Listener;
use crate::memory::MemorySampler;
use crate::processors::Busy;
use crate::question::{Looked, Question};
use crate::sleeps::Sleeps;
use crate::sql::SqlSampler;
use crate::tracing::TracedServer;
use lost_memory::LostMemory;
use settings::{ASK_EVERY, BLOCKING_EVERY, CLOSED_WITHIN};
pub use settings::{Settings, WatchedFor};
use setup::{identifier, memory, trace, with_processors};

/// Segments of a folder that are tried for what they say of their server, the newest first: some may be damaged.
const SEGMENTS_TRIED: usize = 16;

/// A watch over a server.
pub struct Watch {
    address: Address,
    /// The same without what the user's environment adds, and that: a password file may change.
    written: Option<(Address, Defaults)>,
    stop: Arc<AtomicBool>,
    settings: Settings,
    sampler: Option<SqlSampler>,
    /// `Err` holds the reason why the server's memory is not read.
    memory: Result<MemorySampler, String>,
    /// The memory as it was read until it could no longer be read: it knows the names of waits.
    former: Option<MemorySampler>,
    /// `None` while the memory is read, and where it never was.
    memory_lost: Option<LostMemory>,
    /// Since when the server has refused to show its sessions, while its memory is read, and what is said of that, once
    /// it is.
    unshown: Option<Instant>,
    unnamed: Option<String>,
    looked: Option<Instant>,
    /// When the last look was due, and until when the server rests from the last one that it was asked for.
    due: Option<Instant>,
    rested: Instant,
    /// How long that rest is.
    rest: Duration,
    /// When the session was opened.
    opened: Instant,
    sleeps: Sleeps,
    /// Looks that asked the server.
    asks: u64,
    /// Whether the next look is to bring all texts of statements, until there is one.
    wants_texts: bool,
    facts: ServerFacts,
    /// The identifier of the server's files, by which recordings tell servers apart; `None` where it is not shown.
    identifier: Option<String>,
    profile: SampledProfile,
    /// Hears the looks in place of the profile.
    listener: Option<Box<dyn Listener>>,
    /// Called while the server is away.
    meanwhile: Option<Box<dyn FnMut()>>,
    samples: Vec<Sample>,
    /// The question what the sessions do, while the server has not answered it and its memory is read. The sampler is
    /// with it, or with the one below.
    question: Option<Question<Looked>>,
    /// Further questions that the server has not answered, and whether the watch ends, which waits for no more of them.
    further: Option<Question<Answers>>,
    is_over: Arc<AtomicBool>,
    /// The sampler's times before it went with a question.
    lent: Times,
    /// Whether the server has shown what its sessions do since it was last asked for names and hits.
    asks_more: bool,
    /// Whether it was asked last who blocks whom: then it is the turn of all else.
    rest_is_next: bool,
    /// How long further questions have held up the next look.
    held_up: Duration,
    /// The time that the samples stand for.
    since: Duration,
    /// Most sessions of an answer of the server of which it shows only that they are there.
    hidden: u64,
    /// The last answer to who blocks whom, as long as a session waits for a lock.
    blocking: Blocking,
    last: Option<Instant>,
    /// When it was asked last, how long it is not asked again, and when it was asked what `blocking` answers.
    asked: Option<Instant>,
    blocking_every: Duration,
    answered: Option<Instant>,
    /// How long it is not asked again what it counts.
    counters_every: Duration,
    /// When the first of the looks in a row was begun that were refused, and how many they are.
    refused: Option<(Instant, u32)>,
    begun: Begun,
    away: Vec<(String, Ticks)>,
    ended: Option<String>,
    processors: Result<(), String>,
    /// What an exact watch came to, where there was one.
    watching: Option<Watching>,
    tracing: TracedServer,
    /// `None` where hits are not asked for.
    hits: Option<BufferHits>,
    /// What sessions of ours took that ended, and looks at memory that is not read any more.
    earlier: Times,
    /// The server's account from one segment to the next.
    accounted: ActiveTimeMeter,
    /// When the server was asked last for what it counts, and whether what it has counted by the next time is of a time
    /// without samples too.
    counted: Instant,
    skips_counters: bool,
    random: SplitMix64,
}

/// Time that the server has worked for our session, and that passed from the questions of looks to their answers.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    server: Duration,
    answer: Duration,
}

impl Times {
    fn and(self, more: Times) -> Times {
        Times { server: self.server + more.server, answer: self.answer + more.answer }
    }
}

/// What was read when the watch began, to be held against its end.
struct Begun {
    at: Instant,
    cpu: Nanos,
    busy: Option<Busy>,
    account: Result<ActiveTime, String>,
    /// What the server had worked for us when its account was read.
    own: Duration,
    /// Most that it had worked for our session by then and had still to add up, and has worked to open further ones.
    own_before: Duration,
    /// How long all answers took until then, their ways too, and how many they were.
    answers_before: (Duration, u32),
    counters: Result<CounterSource, String>,
}

impl Begun {
    /// Now, with this account of the server's: no look was taken yet.
    fn now(account: Result<ActiveTime, String>) -> Begun {
        Begun {
            at: Instant::now(),
            cpu: process_cpu(),
            busy: Busy::now(),
            account,
            own: Duration::ZERO,
            own_before: Duration::ZERO,
            answers_before: (Duration::ZERO, 0),
            counters: Err("the server was not asked for them".into()),
        }
    }
}

impl Watch {
    /// Opens a session on the server and reads what the end is held against. Nothing is sampled yet.
    ///
    /// # Errors
    /// Where the server cannot be reached, is behind a pooler that switches sessions, or is older than 13.
    pub fn open(
        address: &Address,
        settings: Settings,
        instruments: Instruments,
        stop: Arc<AtomicBool>,
    ) -> Result<Watch, ServerError> {
        let sampler = SqlSampler::open(address, Arc::clone(&stop))?;
        let mut watch = Watch::over(address, sampler, settings, (instruments, stop))?;
        if let Some(sampler) = &mut watch.sampler {
            trace(&mut watch.tracing, sampler, address, settings)?;
        }
        // What came before took its time, of which there are no samples.
        watch.begin_counters()?;
        if let Some(sampler) = &mut watch.sampler {
            let account = ActiveTime::now(sampler.session())?;
            watch.begin(account);
        }
        Ok(watch)
    }

    fn over(
        address: &Address,
        mut sampler: SqlSampler,
        settings: Settings,
        (instruments, stop): (Instruments, Arc<AtomicBool>),
    ) -> Result<Watch, ServerError> {
        let account = ActiveTime::now(sampler.session())?;
        let facts = sampler.facts().clone();
        let identifier = identifier(&mut sampler)?;
        let processors = with_processors(&mut sampler, address);
        let memory = memory(&mut sampler, address, settings);
        Ok(Watch {
            address: address.clone(),
            written: None,
            stop,
            settings,
            sampler: Some(sampler),
            memory,
            former: None,
            memory_lost: None,
            unshown: None,
            unnamed: None,
            looked: None,
            due: None,
            rested: Instant::now(),
            rest: Duration::ZERO,
            opened: Instant::now(),
            sleeps: Sleeps::new(),
            asks: 0,
            wants_texts: false,
            facts,
            identifier,
            profile: SampledProfile::new(settings.wall_clock, settings.think_time, instruments),
            listener: None,
            meanwhile: None,
            samples: Vec::new(),
            question: None,
            further: None,
            is_over: Arc::default(),
            lent: Times::default(),
            asks_more: false,
            rest_is_next: false,
            held_up: Duration::ZERO,
            since: Duration::ZERO,
            hidden: 0,
            blocking: Vec::new(),
            last: None,
            asked: None,
            blocking_every: BLOCKING_EVERY,
            answered: None,
            counters_every: Duration::ZERO,
            refused: None,
            begun: Begun::now(account.clone()),
            away: Vec::new(),
            ended: None,
            processors,
            watching: None,
            tracing: TracedServer::new(),
            hits: None,
            earlier: Times::default(),
            accounted: ActiveTimeMeter::begin(account, Duration::ZERO),
            counted: Instant::now(),
            skips_counters: false,
            random: SplitMix64::new(settings.seed),
        })
    }

    /// Has the watch begin now, with this account of the server's.
    fn begin(&mut self, account: Result<ActiveTime, String>) {
        (self.begun.at, self.begun.cpu, self.begun.busy) = (Instant::now(), process_cpu(), Busy::now());
        self.begin_account(account);
        // To come here took its time, of which nothing is seen.
        self.profile.begin_at(self.tracing.now());
    }

    /// Has what the server counts of statements begin now.
    fn begin_counters(&mut self) -> Result<(), ServerError> {
        if let Some(sampler) = &mut self.sampler {
            self.begun.counters = CounterSource::open(sampler.session())?;
            self.counted = Instant::now();
        }
        Ok(())
    }

    /// Takes down what the end is held against.
    fn begin_account(&mut self, account: Result<ActiveTime, String>) {
        let own = self.own_time();
        (self.begun.account, self.begun.own) = (account.clone(), own);
        if let Some(sampler) = &mut self.sampler {
            let session = sampler.session();
            self.begun.own_before = session.still_to_account();
            self.begun.answers_before = (session.waited(), session.answered());
        }
        self.accounted = ActiveTimeMeter::begin(account, own);
    }

    /// Gives each look to this listener from now on, and no more to the profile, which then stays as it is.
    pub fn tell(&mut self, listener: Box<dyn Listener>) {
        self.listener = Some(listener);
        self.begin_listener();
        if self.facts.logs_each() {
            let each = if self.reads_memory() { 1.0 / ASK_EVERY.as_secs_f64() } else { self.rate() };
            self.say(format!(
                "the server writes each statement to its log (log_statement, log_min_duration_statement, log_duration, \
                 auto_explain): readpath adds some {each} lines a second, and fewer with a smaller --rate where each \
                 sample is a query."
            ));
        }
    }

    /// Has this called again and again while the server is away: there are no looks then, and [`Watch::run`] does not
    /// return.
    pub fn meanwhile(&mut self, call: Box<dyn FnMut()>) {
        self.meanwhile = Some(call);
    }

    /// Has this address completed again before the server is asked for another session: its password may have been
    /// changed since, and the password file with it.
    pub fn renew_address(&mut self, written: Address, defaults: Defaults) {
        self.written = Some((written, defaults));
    }

    /// Refuses to record to a folder whose last segment is of another server, where both are known by identifiers.
    ///
    /// # Errors
    /// Which servers they are and what to do, as a sentence.
    pub fn refuse_folder_of_other(&self, folder: &Folder) -> Result<(), String> {
        let (path, now) = (folder.path(), self.recorded_subject());
        let mut newest = segments(path).unwrap_or_default().into_iter().rev().take(SEGMENTS_TRIED);
        let last = newest.find_map(|(name, _)| recording::read(&path.join(name.to_string())).ok());
        match last.map(|(segment, _)| segment.head.subject).filter(|before| is_other_server(before, &now)) {
            Some(before) => Err(format!(
                "{} holds a recording of {}, and this is another server, {}: give --to a folder of its own.",
                path.display(),
                server_of(&before),
                server_of(&now)
            )),
            None => Ok(()),
        }
    }

    /// What a recording says of the server.
    fn recorded_subject(&self) -> Parameters {
        let mut subject = self.subject();
        // A socket's path and `localhost` lead to another server on each machine.
        if let Some(name) = host::name().filter(|_| self.address.is_local()) {
            subject.insert(MACHINE.into(), name.into());
        }
        if let Some(identifier) = &self.identifier {
            subject.insert(IDENTIFIER.into(), identifier.as_str().into());
        }
        subject
    }

    /// Has the listener begin with what is watched now, and how.
    fn begin_listener(&mut self) {
        let subject = self.recorded_subject();
        if let Some(listener) = &mut self.listener {
            listener.begin(subject, self.tracing.absent());
        }
    }

    /// Has the listener say a sentence. The page of a profile says how it was made in its own way.
    fn say(&mut self, sentence: String) {
        if let Some(listener) = &mut self.listener {
            listener.say(sentence);
        }
    }

    /// Gives the listener back, with all that it was still to hear, and why the watch has ended, if it has. Nothing is
    /// traced from then on, and the session ends: another watch over the server may begin.
    pub fn release(&mut self) -> (Option<Box<dyn Listener>>, Option<String>) {
        self.settle();
        self.end_session();
        (self.listener.take(), self.ended.take())
    }

    /// Takes what was traced and is still to be answered.
    fn settle(&mut self) {
        self.hear_rest();
        let _ = self.take_late_answer(CLOSED_WITHIN);
        // One that has not come by now is waited for no longer.
        (self.question, self.further) = (None, None);
    }

    /// What the server is.
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// Looks until `limit` is over, the wish to stop, or `each`, which is called after each look, breaks it off.
    pub fn run(&mut self, limit: Duration, each: &mut dyn FnMut(&Watch) -> ControlFlow<()>) {
        let end = Instant::now() + limit;
        // On busy processors, looks would meet sessions when they go to sleep.
        let _short = ShortSlice::begin();
        while !self.is_stopped() && self.ended.is_none() {
            let begun = Instant::now();
            if begun >= end {
                break;
            }
            match self.look_once() {
                Ok(()) => self.refused = None,
                Err(error) if error.is_stop() => break,
                Err(error) if error.is_gone() => self.come_back(&error, end),
                Err(error) => self.take_refusal(&error, begun),
            }
            if each(self).is_break() {
                break;
            }
            self.sleep(begun, end);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Times that all sessions were looked at.
    pub fn looks(&self) -> u64 {
        self.profile.looks()
    }

    /// The last look: the time that it stands for, none where it is the first one, and what each process did.
    pub fn seen(&self) -> (Duration, &[Sample]) {
        (self.since, &self.samples)
    }

    /// Sessions that wait for a lock, each with those that it waits for, by the last answer of the server, and when it
    /// was asked.
    pub fn blocking(&self) -> (&[(u32, Vec<u32>)], Option<Instant>) {
        (&self.blocking, self.answered)
    }

    /// Asks the server for its hits in buffers from now on, unless it counts none (`track_counts`).
    pub fn count_hits(&mut self) {
        self.hits = self.facts.counts_blocks.then(BufferHits::default);
    }

    /// Blocks that sessions found in the server's buffers since its counters were begun, where that is asked for.
    pub fn hits(&self) -> Option<u64> {
        self.hits.as_ref()?.blocks()
    }

    /// The reads of files so far by the tier that answered.
    ///
    /// # Errors
    /// Why they are not traced, as a sentence without its full stop.
    pub fn read_tiers(&self) -> Result<&ByTier, &str> {
        self.tracing.tiers()
    }

    /// Whether the looks are at the server's memory.
    pub fn reads_memory(&self) -> bool {
        self.memory.is_ok()
    }

    /// Why the looks are not at the server's memory, as a sentence without its full stop; `None` where they are.
    pub fn memory_absent(&self) -> Option<&str> {
        self.memory.as_ref().err().map(String::as_str)
    }

    /// Whether names are missing, because the server refuses to show its sessions while its memory is read.
    pub fn lacks_names(&self) -> bool {
        self.unnamed.is_some() && self.unshown.is_some()
    }

    /// Why the watch ended before its time.
    pub fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }
}

/// A session that is with a question ends as any other, and not in the middle of a statement.
impl Drop for Watch {
    fn drop(&mut self) {
        self.settle();
    }
}

#[cfg(test)]
mod tests;
