//! The watch over a server: it looks again and again until its end, and outlives the server's restart.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use measure::quantity::format_nanos;
use measure::random::SplitMix64;
use measure::{Nanos, Parameters};
use profile::event::Ticks;
use profile::ingest::Ingested;
use profile::observe::instruments::Instruments;
use profile::source::recorded::MACHINE;
use profile::source::sampled::{Observed, Sample, SampledProfile};
use profile::tables::read_tiers::ByTier;
use profile::tables::sampled::{ChangeCost, OwnCost};
use serde_json::json;
use server::{Address, ServerError, ServerFacts, Statements};
use sys::host;
use sys::process::{ShortSlice, process_cpu};
use sys::watchpoint;

use crate::active_time::{ActiveTime, ActiveTimeMeter};
use crate::burden::{rest_after_look, until_asked_again};
use crate::counters::{Counted, CounterSource};
use crate::exact::{Chosen, Exact, TracedReads, Watching};
use crate::further::{Answers, Blocking, CountersAnswer, CountersQuestion, LockWaits, Questions};
use crate::hits::BufferHits;
use crate::listener::Listener;
use crate::memory::MemorySampler;
use crate::processors::{Busy, Processors};
use crate::question::{Looked, Question};
use crate::refusal::why;
use crate::sampler::{Look, Sampler, Texts};
use crate::sleeps::Sleeps;
use crate::sql::{SqlSampler, has_lock_waits};
use crate::statements::{EVENTS, WITH_EVENTS};
use crate::tracing::TracedServer;

/// How often it is asked who blocks whom, at most.
const BLOCKING_EVERY: Duration = Duration::from_millis(500);

/// How often the server is asked where its memory is read: for what does not change, and for names, which are asked for
/// more often as long as some are lacking.
const ASK_EVERY: Duration = Duration::from_millis(500);
const ASK_EVERY_LACKING: Duration = Duration::from_millis(50);

/// Looks a second where its memory is read, where it is only asked, and at most then.
const RATE_OF_MEMORY: f64 = 1000.0;
const RATE: f64 = 50.0;
const RATE_MAX: f64 = 100.0;

/// Between two looks at the changes of an exact watch.
pub const EXACT_NAP: Duration = Duration::from_millis(5);

/// How many intervals late a look may be that is made up for: more are lost, and would come one right behind the other.
const INTERVALS_LATE_MAX: f64 = 2.0;

/// How long the watch waits for what the server shows of its sessions, before it reads memory on. It does not wait for
/// the answers to further questions.
const ANSWERED_WITHIN: Duration = Duration::from_millis(200);

/// How long the watch waits for an answer at its end: a statement takes 5 s at most, and 3 s after a wish to stop.
const CLOSED_WITHIN: Duration = Duration::from_secs(6);

/// Longest sleep between two looks at the wish to stop.
const NAP: Duration = Duration::from_millis(20);

/// A gap between two looks of this length and of more intervals than these is time in which nothing was sampled: what
/// the look behind it meets says little of it.
const GAP_MAX: Duration = Duration::from_secs(1);
const GAP_INTERVALS: f64 = 5.0;

/// Part of the time that may pass without samples where what the server counts of all of it is held against them.
const LOST_PART_MAX: f64 = 0.01;

/// How often a server that went away is looked for: less often the longer it is away, because each time takes two
/// connections, and one that refuses writes a line to its log.
const KNOCK_EVERY: Duration = Duration::from_millis(500);
const KNOCK_EVERY_MAX: Duration = Duration::from_secs(30);
const KNOCK_PART: u32 = 10;

/// How long a server may be away before that is said: a restart takes less.
const UNREACHED_FOR: Duration = Duration::from_secs(10);

/// Looks in a row that the server may end or refuse before the watch gives up, how long it must have done so, and how
/// long it is left alone after each: what it lacks, such as memory, it may have a moment later.
const REFUSALS_MAX: u32 = 5;
const REFUSED_FOR: Duration = Duration::from_secs(5);
const AFTER_REFUSAL: Duration = Duration::from_millis(500);

/// How long the server may refuse to show its sessions, while its memory is read, before that is said.
const UNSHOWN_FOR: Duration = REFUSED_FOR;

/// Pause before memory that could be read before is tried again: what was in the way may have passed, such as a server
/// that did not answer. A try runs statements and reads the server's whole program, so each failure doubles the pause.
const MEMORY_AGAIN: Duration = Duration::from_secs(10);
const MEMORY_AGAIN_MAX: Duration = Duration::from_secs(300);

/// How a watch goes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Looks a second; where none are given, 1000 where the server's memory can be read, and else 50. Where it cannot,
    /// 100 at most.
    pub rate: Option<f64>,
    /// Whether the server's memory is read where that is possible.
    pub reads_memory: bool,
    /// Whether the kernel's tracepoints show which tier answered each read of a file, where they can be read. As long
    /// as they do, every system call of the machine takes longer.
    pub traces_reads: bool,
    /// The wall clock at the beginning, in microseconds since 1970.
    pub wall_clock: i64,
    /// A pause within a transaction of this length or longer is think time.
    pub think_time: Ticks,
    /// Of the lengths of the intervals.
    pub seed: u64,
}

/// For what a server is watched: it decides what else the server is asked, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchedFor {
    /// A profile: what the server counts is asked for at the end.
    Profile,
    /// A recording: it is asked for with each segment.
    Recording,
    /// A screen, which shows hits in buffers. Nothing is asked for at the end.
    Screen,
}

/// A watch over a server.
pub struct Watch {
    address: Address,
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
    /// The last answer to who blocks whom, as long as a session waits for a lock.
    blocking: Blocking,
    last: Option<Instant>,
    /// When it was asked last, how long it is not asked again, and when it was asked what `blocking` answers.
    asked: Option<Instant>,
    blocking_every: Duration,
    answered: Option<Instant>,
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

/// Memory that could be read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LostMemory {
    /// When it was lost or last tried, and how long it is left alone after that.
    tried: Instant,
    pause: Duration,
    /// Whether the user was informed that it is not read.
    is_said: bool,
}

impl LostMemory {
    fn now() -> LostMemory {
        LostMemory { tried: Instant::now(), pause: MEMORY_AGAIN, is_said: false }
    }

    /// The same after a try that failed, of which the user is informed.
    fn tried_again(self) -> LostMemory {
        LostMemory { tried: Instant::now(), pause: (self.pause * 2).min(MEMORY_AGAIN_MAX), is_said: true }
    }

    fn is_due(&self) -> bool {
        self.tried.elapsed() >= self.pause
    }
}

/// Time that the server has worked for our looks, and that passed from their questions to their answers.
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
    counters: Result<CounterSource, String>,
}

/// What was read at its end.
#[derive(Default)]
struct Closing {
    db_time: Option<Result<Ticks, String>>,
    counters: Option<Result<Counted, String>>,
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
        let opened = (Instant::now(), settings.wall_clock);
        let sampler = SqlSampler::open(address, Arc::clone(&stop))?;
        let mut watch = Watch::over(address, sampler, settings, (instruments, stop))?;
        watch.tracing = TracedServer::new(opened);
        if let Some(sampler) = &mut watch.sampler {
            trace(&mut watch.tracing, sampler, address, settings)?;
            // What came before took its time, of which there are no samples.
            let account = ActiveTime::now(sampler.session())?;
            watch.begin(account);
        }
        Ok(watch)
    }

    /// Sends nothing and notes what a watch with these settings would send to a server of this major version.
    ///
    /// # Errors
    /// None but those of a session that sends nothing.
    pub fn rehearse(
        address: &Address,
        settings: Settings,
        recorder: (Statements, u32),
        watched_for: WatchedFor,
    ) -> Result<(), ServerError> {
        let statements = recorder.0.clone();
        let sampler = SqlSampler::rehearsal(address, recorder)?;
        let mut watch = Watch::over(address, sampler, settings, (Instruments::default(), Arc::default()))?;
        let [few, many] = [settings.rate.unwrap_or(RATE).min(RATE_MAX), 1.0 / ASK_EVERY.as_secs_f64()];
        statements.remark(&format!(
            "{few} times a second, at varying intervals; where the server's memory can be read, {many} times a second, \
             and up to {} as long as a session or a statement has no name yet:",
            1.0 / ASK_EVERY_LACKING.as_secs_f64()
        ));
        watch.look_once()?;
        statements.remark("at most twice a second, while a session waits for a lock:");
        if let Some(sampler) = &mut watch.sampler {
            sampler.blocking()?;
        }
        if let Some(sampler) = watch.sampler.as_mut().filter(|_| settings.traces_reads) {
            statements.remark("at most twice a second, while files are read whose relation has no name yet:");
            TracedServer::rehearse(sampler.session())?;
        }
        match watched_for {
            WatchedFor::Profile => {
                statements.remark("at the end:");
                watch.close();
            }
            WatchedFor::Recording => watch.rehearse_segments(&statements)?,
            WatchedFor::Screen => {
                statements.remark("at most once a second:");
                if let Some(sampler) = &mut watch.sampler {
                    BufferHits::ask(sampler.session())?;
                }
            }
        }
        Ok(())
    }

    /// Notes what a recorder asks when segments end.
    fn rehearse_segments(&mut self, statements: &Statements) -> Result<(), ServerError> {
        // Its own statements are found by their texts, once.
        for when in ["when the first segment ends:", "when each further segment ends:"] {
            statements.remark(when);
            let question = self.counters_question();
            if let Some(sampler) = &mut self.sampler {
                let answer = question.ask(sampler.session())?;
                self.give_counters(answer);
            }
        }
        Ok(())
    }

    fn over(
        address: &Address,
        mut sampler: SqlSampler,
        settings: Settings,
        (instruments, stop): (Instruments, Arc<AtomicBool>),
    ) -> Result<Watch, ServerError> {
        let account = ActiveTime::now(sampler.session())?;
        let counters = CounterSource::open(sampler.session())?;
        let facts = sampler.facts().clone();
        let processors = with_processors(&mut sampler, address);
        let memory = memory(&mut sampler, address, settings);
        Ok(Watch {
            address: address.clone(),
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
            blocking: Vec::new(),
            last: None,
            asked: None,
            blocking_every: BLOCKING_EVERY,
            answered: None,
            refused: None,
            begun: Begun {
                at: Instant::now(),
                cpu: process_cpu(),
                busy: Busy::now(),
                account: account.clone(),
                own: Duration::ZERO,
                counters,
            },
            away: Vec::new(),
            ended: None,
            processors,
            watching: None,
            tracing: TracedServer::new((Instant::now(), settings.wall_clock)),
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
    }

    /// Takes down what the end is held against.
    fn begin_account(&mut self, account: Result<ActiveTime, String>) {
        let own = self.own_time();
        (self.begun.account, self.begun.own) = (account.clone(), own);
        self.accounted = ActiveTimeMeter::begin(account, own);
    }

    /// Gives each look to this listener from now on, and no more to the profile, which then stays as it is.
    pub fn tell(&mut self, listener: Box<dyn Listener>) {
        self.listener = Some(listener);
        self.begin_listener();
    }

    /// Has this called again and again while the server is away: there are no looks then, and [`Watch::run`] does not
    /// return.
    pub fn meanwhile(&mut self, call: Box<dyn FnMut()>) {
        self.meanwhile = Some(call);
    }

    /// Has the listener begin with what is watched now, and how.
    fn begin_listener(&mut self) {
        let mut subject = self.subject();
        // A socket's path and `localhost` lead to another server on each machine.
        if let Some(name) = host::name().filter(|_| self.address.is_local()) {
            subject.insert(MACHINE.into(), name.into());
        }
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

    /// Whether it has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
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

    /// Watches every wait of the chosen sessions for a time, or until the wish to stop: nothing is sampled. `announce`
    /// gets what that will cost before it begins; `each` is called about once in [`EXACT_NAP`], and breaks it off.
    ///
    /// # Errors
    /// Why that cannot be, as a sentence without its full stop; nothing was watched then.
    pub fn run_exact(
        &mut self,
        chosen: Chosen,
        window: Duration,
        announce: &mut dyn FnMut(&str),
        each: &mut dyn FnMut(&Watch) -> ControlFlow<()>,
    ) -> Result<(), String> {
        if let Err(why) = &self.memory {
            return Err(format!("every wait is seen by way of the server's memory, which cannot be read: {why}"));
        }
        let mut exact = Exact::open(chosen)?;
        announce(&exact.announcement());
        self.ask(Texts::All).map_err(|error| why(&error))?;
        while self.question.is_some() {
            thread::sleep(EXACT_NAP);
            self.take_late_answer(Duration::ZERO).map_err(|error| why(&error))?;
        }
        self.follow(&mut exact);
        if exact.is_empty() {
            return Err(exact.refusal());
        }
        if let Some(sampler) = &mut self.sampler {
            let account = ActiveTime::now(sampler.session()).unwrap_or_else(|error| Err(why(&error)));
            self.begin_account(account);
        }
        // What was read before is of no session that is watched.
        let _ = self.tracing.look(Instant::now());
        let mut traced = TracedReads::new((watchpoint::now(), self.tracing.now()));
        let (begun, base) = (Instant::now(), (watchpoint::now(), Ticks::from_micros(self.settings.wall_clock)));
        while begun.elapsed() < window && !self.is_stopped() && self.ended.is_none() {
            thread::sleep(EXACT_NAP);
            self.tracing.look(Instant::now()).into_iter().for_each(|(_, more)| traced.add(more));
            match exact.drain() {
                true => self.follow(&mut exact),
                false => self.ended = Some("there were more changes than can be kept".into()),
            }
            let _ = self.ask_further(None);
            if self.memory.is_err() {
                self.ended.get_or_insert_with(|| "the server's memory could no longer be read".into());
            }
            if each(self).is_break() {
                break;
            }
        }
        let clock = |nanos: u64| base.1 + Ticks::from_nanos(nanos.saturating_sub(base.0));
        exact.drain();
        // To end the tracing takes a moment, which is not watched any more.
        let (ended, is_traced) = (watchpoint::now(), self.tracing.absent().is_none());
        self.tracing.finish().into_iter().for_each(|(_, more)| traced.add(more));
        // What was watched until then has its names from it all the same.
        if let Some(memory) = self.memory.as_mut().ok().or(self.former.as_mut()) {
            let traced = is_traced.then_some(traced);
            self.watching = Some(exact.finish(memory, &mut self.profile, clock, (ended, traced)));
        }
        Ok(())
    }

    /// Looks for sessions that are new, and for names and texts. Where the server does not answer, names are lacking.
    fn follow(&mut self, exact: &mut Exact) {
        let at = watchpoint::now();
        if self.take_late_answer(Duration::ZERO).is_err() {
            return;
        }
        if self.look_at_memory(Texts::New).is_none() && self.ask(Texts::New).is_err() {
            return;
        }
        exact.learn(&self.samples);
        if let Ok(memory) = &self.memory {
            exact.follow(memory, at);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Looks a second.
    fn rate(&self) -> f64 {
        match self.memory {
            Ok(_) => self.settings.rate.unwrap_or(RATE_OF_MEMORY),
            Err(_) => self.settings.rate.unwrap_or(RATE).min(RATE_MAX),
        }
    }

    /// The looks a second that were asked for and those that are taken, where these are fewer because each of them is a
    /// query.
    pub fn rate_cut(&self) -> Option<(f64, f64)> {
        let asked = self.settings.rate.filter(|_| self.watching.is_none() && self.former.is_none())?;
        (asked > self.rate()).then(|| (asked, self.rate()))
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

    /// Asks the server for its hits in buffers from now on.
    pub fn count_hits(&mut self) {
        self.hits.get_or_insert_default();
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

    /// Sessions at work on average so far.
    pub fn active_sessions(&self) -> f64 {
        let since = self.begun.at.elapsed().as_secs_f64();
        self.profile.db_time().micros() / 1e6 / since.max(1e-3)
    }

    /// One look, and what else is to be asked where it is time to.
    fn look_once(&mut self) -> Result<(), ServerError> {
        self.wants_texts |= match &mut self.listener {
            Some(listener) => listener.takes_texts(),
            None => self.profile.takes_texts(),
        };
        let texts = if self.wants_texts { Texts::All } else { Texts::New };
        let begun = Instant::now();
        // Our own wish, and no gap.
        let rest = std::mem::take(&mut self.rest);
        self.take_late_answer(Duration::ZERO)?;
        self.try_memory_again();
        let of_memory = self.look_at_memory(texts);
        let is_of_memory = of_memory.is_some();
        let look = match of_memory {
            Some(look) => look,
            None => match self.ask(texts)? {
                Some(look) => look,
                None => return Ok(()),
            },
        };
        self.wants_texts = false;
        let last = self.last.replace(look.at);
        let mut since = last.map_or(Duration::ZERO, |last| look.at - last);
        if let Some(slept) = self.sleeps.since() {
            // What the server counted meanwhile is of no second that is shown.
            self.hits.iter_mut().for_each(BufferHits::forget);
            self.lose(look.at, ticks(slept + since), "this machine slept".into());
            since = Duration::ZERO;
        }
        if since > rest + GAP_MAX.max(Duration::from_secs_f64(GAP_INTERVALS / self.rate())) {
            let of_server = self.refused.map_or(begun, |(first, _)| first.min(begun)).elapsed();
            let is_asleep = self.held_up + of_server < since.saturating_sub(rest) / 2;
            let reason = if is_asleep { "readpath did not run" } else { "the server was slow to answer" };
            self.lose(look.at - since, ticks(since), reason.into());
            since = Duration::ZERO;
        }
        self.since = since;
        match &mut self.listener {
            Some(listener) => listener.look(ticks(since), &self.samples),
            None => {
                let memory = self.memory.as_ref().ok().filter(|_| is_of_memory);
                self.profile.look_at_changes(ticks(since), &self.samples, memory.map_or(&[], MemorySampler::rest));
            }
        }
        let has_waits = has_lock_waits(&self.samples);
        if !has_waits {
            self.blocking.clear();
        }
        self.hear(look.at);
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= self.blocking_every) && self.sampler.is_some();
        let waits = (is_due && has_waits && !self.rest_is_next).then(|| LockWaits::of(&self.samples));
        self.ask_further(waits)
    }

    /// Gives what was traced until the last look to the listener or the profile.
    fn hear(&mut self, moment: Instant) {
        let Some((at, traced)) = self.tracing.look(moment) else { return };
        match &mut self.listener {
            Some(listener) => {
                listener.trace((at, &self.samples), traced, self.tracing.names());
                self.tracing.take_warning().into_iter().for_each(|sentence| listener.say(sentence));
            }
            None => self.profile.trace(at, &self.samples, traced),
        }
    }

    /// Ends the tracing, and gives what was traced since the last look.
    fn hear_rest(&mut self) {
        let Some((at, traced)) = self.tracing.finish() else { return };
        match &mut self.listener {
            Some(listener) => listener.trace((at, &[]), traced, self.tracing.names()),
            None => self.profile.trace(at, &[], traced),
        }
    }

    /// Asks what else is to be known, and who blocks the sessions of these waits. Where the server's memory is read,
    /// the answers are taken when they have come: looks go on meanwhile.
    fn ask_further(&mut self, waits: Option<LockWaits>) -> Result<(), ServerError> {
        self.held_up = Duration::ZERO;
        if self.sampler.is_none() {
            return Ok(());
        }
        let questions = self.further_questions(waits);
        if questions.is_empty() {
            return Ok(());
        }
        let Some(mut sampler) = self.lend() else { return Ok(()) };
        if self.memory.is_ok() {
            self.further = Some(Question::ask(sampler, move |sampler| questions.ask(sampler)));
            return Ok(());
        }
        let begun = Instant::now();
        let answers = questions.ask(&mut sampler);
        self.held_up = begun.elapsed();
        self.sampler = Some(sampler);
        self.take_answers(answers)
    }

    /// What else is to be asked now.
    fn further_questions(&mut self, blocking: Option<LockWaits>) -> Questions {
        self.asked = blocking.as_ref().map(|waits| waits.at).or(self.asked);
        self.rest_is_next = blocking.is_some();
        let is_over = Arc::clone(&self.is_over);
        // Waits of the moment are charged by its answer, which does not wait for any other.
        if self.rest_is_next {
            return Questions { blocking, tracing: None, hits: false, counters: None, is_over };
        }
        let asks_more = std::mem::take(&mut self.asks_more);
        let tracing = if asks_more { self.tracing.question() } else { None };
        let hits = asks_more && self.hits.as_mut().is_some_and(BufferHits::take_due);
        let wants_counters = self.listener.as_mut().is_some_and(|listener| listener.wants_counters());
        let counters = wants_counters.then(|| self.counters_question());
        Questions { blocking, tracing, hits, counters, is_over }
    }

    /// Asks what the server has counted since it was asked last, where that is of sampled time.
    fn counters_question(&mut self) -> CountersQuestion {
        if std::mem::take(&mut self.skips_counters) {
            self.begun.counters.iter_mut().for_each(CounterSource::skip);
            self.accounted.forget("some of that time passed without samples");
        }
        self.counted = Instant::now();
        CountersQuestion { source: self.begun.counters.as_ref().ok().cloned(), own: self.own_time() }
    }

    /// Takes answers to further questions.
    fn take_answers(&mut self, answers: Answers) -> Result<(), ServerError> {
        let Answers { blocking, worked_for_blocking, tracing, hits, counters, failure } = answers;
        tracing.into_iter().for_each(|answer| self.tracing.learn(answer));
        if let (Some(known), Some((blocks, worked))) = (&mut self.hits, hits) {
            known.learn(blocks, worked);
        }
        if let Some(worked) = worked_for_blocking {
            self.blocking_every = until_asked_again(BLOCKING_EVERY, worked);
        }
        counters.into_iter().for_each(|answer| self.give_counters(answer));
        if let Some((waits, answer)) = blocking {
            self.blocking = waits.going_on(answer, &self.samples);
            self.answered = Some(waits.at);
            match &mut self.listener {
                Some(listener) => listener.blocking(&self.blocking),
                None => self.profile.blocking(&self.blocking, &self.samples),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Gives the listener what the server has counted.
    fn give_counters(&mut self, answer: CountersAnswer) {
        let CountersAnswer { source, counted, account: now, own } = answer;
        if let Some(source) = source {
            self.begun.counters = Ok(source);
        }
        let (account, own) = self.accounted.next(now, own);
        if let Some(listener) = &mut self.listener {
            listener.counted(&counted, account.ok(), own);
        }
    }

    /// Notes a time in which nothing was sampled. It ends now, and began at this moment of the clock of the looks. That
    /// clock stands still while the machine sleeps.
    fn lose(&mut self, begun: Instant, time: Ticks, reason: String) {
        // Where that question took the time, nearly all that the server counts next is of samples.
        let sampled = ticks(begun.saturating_duration_since(self.counted));
        let is_of_question = self.counted >= begun && ticks(self.held_up * 2) >= time;
        self.skips_counters |= !is_of_question && time.0 as f64 > LOST_PART_MAX * sampled.0 as f64;
        if let Some(listener) = &mut self.listener {
            return listener.lose(time, &reason);
        }
        self.profile.lose(time);
        match self.away.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, lost)) => *lost += time,
            None => self.away.push((reason, time)),
        }
    }

    /// Looks at the server's memory. `None` where the server is to be asked: because its memory is not read, or for
    /// what memory does not name.
    fn look_at_memory(&mut self, texts: Texts) -> Option<Look> {
        let memory = self.memory.as_mut().ok()?;
        let since = self.looked?.elapsed();
        let is_due = since >= ASK_EVERY || (since >= ASK_EVERY_LACKING && memory.lacks_names());
        if is_due && self.sampler.is_some() {
            return None;
        }
        let look = memory.look(texts, &mut self.samples);
        if let Err(error) = &look {
            self.earlier.answer += memory.time;
            let read_no_more = Err(format!("it could no longer be read: {error}"));
            self.former = std::mem::replace(&mut self.memory, read_no_more).ok();
            // A mapping would keep the memory of a server that has ended.
            self.former.iter_mut().for_each(MemorySampler::unmap);
            self.memory_lost = Some(LostMemory::now());
            // What comes now is sampled in another way.
            self.begin_listener();
        }
        look.ok()
    }

    /// Tries to read memory again that could be read before, where it is time to. That it still cannot be read is said
    /// once, and not at once: a server that ends is noticed by its memory first.
    fn try_memory_again(&mut self) {
        let Some(lost) = self.memory_lost.filter(LostMemory::is_due).filter(|_| !self.is_stopped()) else { return };
        let Some(sampler) = &mut self.sampler else { return };
        match memory(sampler, &self.address, self.settings) {
            Ok(memory) => {
                self.memory = Ok(memory);
                self.begin_listener();
                self.find_memory();
            }
            Err(why) => {
                self.memory_lost = Some(lost.tried_again());
                if !lost.is_said {
                    self.say(format!(
                        "the server's memory is not read any more: {why}. Until it can be, its sessions are sampled by \
                         query, at most {RATE_MAX} times a second."
                    ));
                }
                self.memory = Err(why);
            }
        }
    }

    /// Notes that the server's memory is read, and says so where it was said that it is not.
    fn find_memory(&mut self) {
        if self.memory_lost.take().is_some_and(|lost| lost.is_said) {
            self.say("the server's memory is read again.".into());
        }
    }

    /// Asks the server what its sessions do, and learns from it what memory does not name. `None` where it has not
    /// answered yet, and its memory is to be read meanwhile.
    fn ask(&mut self, texts: Texts) -> Result<Option<Look>, ServerError> {
        let waits = self.memory.as_mut().ok().map(MemorySampler::waits);
        let look = match waits {
            None => match &mut self.sampler {
                Some(sampler) => {
                    let look = sampler.look(texts, &mut self.samples)?;
                    self.rest = rest_after_look(sampler.worked);
                    self.rested = Instant::now() + self.rest;
                    look
                }
                None => return Ok(None),
            },
            Some(before) => {
                let Some(sampler) = self.lend() else { return Ok(None) };
                let question = Question::ask(sampler, move |sampler| Looked::by(sampler, texts));
                match question.answer(ANSWERED_WITHIN) {
                    Ok(answer) => self.take_look(answer, &before)?,
                    Err(question) => {
                        self.question = Some(question);
                        return Ok(None);
                    }
                }
            }
        };
        self.note_asked();
        Ok(Some(look))
    }

    /// Takes an answer that was waited for no longer, where it comes within `limit`: of a look, the names in it.
    fn take_late_answer(&mut self, limit: Duration) -> Result<(), ServerError> {
        match self.further.take().map(|question| question.answer(limit)) {
            None => {}
            Some(Ok((sampler, answers))) => {
                self.sampler = Some(sampler);
                self.take_answers(answers)?;
            }
            Some(Err(question)) => self.further = Some(question),
        }
        match self.question.take().map(|question| question.answer(limit)) {
            None => {}
            Some(Ok(answer)) => {
                // Waits have changed since, so that none of them has its name from it.
                self.take_look(answer, &HashMap::new())?;
                self.note_asked();
            }
            Some(Err(question)) => self.question = Some(question),
        }
        Ok(())
    }

    /// The sampler, to go with a question; `None` where it is with another.
    fn lend(&mut self) -> Option<SqlSampler> {
        self.lent = self.times();
        self.sampler.take()
    }

    /// Takes the sampler back and what it has seen. `before` are the waits as they were when it was asked.
    fn take_look(
        &mut self,
        (sampler, looked): (SqlSampler, Looked),
        before: &HashMap<u32, u32>,
    ) -> Result<Look, ServerError> {
        self.sampler = Some(sampler);
        let look = looked.look?;
        self.samples = looked.samples;
        if let Ok(memory) = &mut self.memory {
            memory.learn(before, &self.samples);
            for (was, is) in memory.take_renamed() {
                match &mut self.listener {
                    Some(listener) => listener.rename(&was, &is),
                    None => self.profile.rename(&was, &is),
                }
            }
        }
        Ok(look)
    }

    /// Notes that the server has shown what its sessions do.
    fn note_asked(&mut self) {
        self.looked = Some(Instant::now());
        self.unshown = None;
        self.asks += 1;
        self.asks_more = true;
    }

    /// The server refused or ended a look that was begun then: the next one may go through.
    fn take_refusal(&mut self, error: &ServerError, begun: Instant) {
        // The texts may be what took too long: the next look goes without those that it was to bring.
        self.wants_texts = false;
        let next = Instant::now() + AFTER_REFUSAL;
        if self.memory.is_ok() {
            // Its memory is read meanwhile, and lacks names at worst.
            self.looked = Some(next);
            return self.note_unshown(error, begun);
        }
        self.rested = next;
        let (first, refusals) = self.refused.get_or_insert((begun, 0));
        *refusals += 1;
        if *refusals >= REFUSALS_MAX && first.elapsed() >= REFUSED_FOR {
            self.ended = Some(why(error));
        }
    }

    /// The server refused to show its sessions in a look that was begun then, while its memory is read: where it has
    /// done so for a while, that is said, once.
    fn note_unshown(&mut self, error: &ServerError, begun: Instant) {
        let since = *self.unshown.get_or_insert(begun);
        if self.unnamed.is_some() || since.elapsed() < UNSHOWN_FOR {
            return;
        }
        let sentence = format!(
            "pg_stat_activity could not be read for a while ({}): sessions were sampled from the server's memory all \
             the same, but users, databases and applications of new ones have no names, and some waits have none. \
             See the server's log; names come back with its answers.",
            why(error)
        );
        self.unnamed = Some(sentence.clone());
        self.say(sentence);
    }

    /// Waits until the server is there again; what was lost meanwhile is noted.
    fn come_back(&mut self, error: &ServerError, end: Instant) {
        let left = self.last.unwrap_or_else(Instant::now);
        // A server that was started again refuses for other reasons.
        (self.refused, self.unshown) = (None, None);
        // The reads until now are of the segment that ends now.
        self.hear_rest();
        self.listener.iter_mut().for_each(|listener| listener.away());
        self.begun.counters.iter_mut().for_each(CounterSource::skip);
        self.memory.iter_mut().for_each(MemorySampler::unmap);
        self.hits.iter_mut().for_each(BufferHits::forget);
        (self.question, self.further) = (None, None);
        self.end_session();
        let reason = why(error);
        self.knock(left, end, &reason);
        let lost = ticks(left.elapsed() + self.sleeps.since().unwrap_or_default());
        self.last = None;
        self.accounted = ActiveTimeMeter::begin(Err("the server was away".into()), self.own_time());
        let is_back = self.sampler.is_some();
        self.listener.iter_mut().filter(|_| is_back).for_each(|listener| listener.back());
        self.lose(left, lost, reason);
        self.begin_listener();
        if !is_back {
            self.ended = Some("the server did not come back".into());
        }
    }

    /// Ends the session; what it took is kept.
    fn end_session(&mut self) {
        self.earlier = self.earlier.and(self.times());
        (self.sampler, self.lent) = (None, Times::default());
    }

    /// Asks the server for a session until it grants one. It went away when the last look was, for this reason.
    fn knock(&mut self, left: Instant, end: Instant, reason: &str) {
        // Where each session ends at once, no two of them follow each other faster.
        let (mut next, mut is_said) = (self.opened + KNOCK_EVERY, false);
        while !self.is_stopped() && Instant::now() < end {
            if !is_said && left.elapsed() >= UNREACHED_FOR {
                is_said = true;
                self.listener.iter_mut().for_each(|listener| listener.unreached(reason));
            }
            self.meanwhile.iter_mut().for_each(|call| call());
            let wait = next.min(end).saturating_duration_since(Instant::now());
            if !wait.is_zero() {
                thread::sleep(wait.min(NAP));
                continue;
            }
            match SqlSampler::open(&self.address, Arc::clone(&self.stop)) {
                Ok(sampler) => return self.take_session(sampler),
                Err(_) => next = Instant::now() + knock_after(left.elapsed()),
            }
        }
    }

    /// Goes on with another session.
    fn take_session(&mut self, mut sampler: SqlSampler) {
        self.opened = Instant::now();
        // How long the one before worked for its answers says nothing of this one.
        self.blocking_every = BLOCKING_EVERY;
        self.hits.iter_mut().for_each(|hits| *hits = BufferHits::default());
        self.processors = with_processors(&mut sampler, &self.address);
        self.earlier.answer += self.memory_time();
        let now = memory(&mut sampler, &self.address, self.settings);
        let before = std::mem::replace(&mut self.memory, now);
        match (self.memory.is_ok(), before) {
            (true, _) => self.find_memory(),
            (false, Ok(before)) => {
                self.former = Some(before);
                self.memory_lost = Some(LostMemory::now());
            }
            // What was in the way of the session before may not stop this one, or another server.
            (false, Err(_)) => {
                let anew = |lost: LostMemory| LostMemory { is_said: lost.is_said, ..LostMemory::now() };
                self.memory_lost = self.memory_lost.map(anew);
            }
        }
        self.facts = sampler.facts().clone();
        // A server that goes away again is noticed at the next look.
        let _ = trace(&mut self.tracing, &mut sampler, &self.address, self.settings);
        self.sampler = Some(sampler);
    }

    /// Sleeps until the next look. The lengths of the intervals vary, so that no work that is done at regular times
    /// stands always at the same place between two looks. An interval begins where the look was due: each comes a
    /// little late, by the clock's own slack.
    fn sleep(&mut self, begun: Instant, end: Instant) {
        let (varied, rate) = (0.5 + self.random.below(1 << 20) as f64 / f64::from(1 << 20), self.rate());
        let late_max = Duration::from_secs_f64(INTERVALS_LATE_MAX / rate);
        let due = self.due.filter(|due| begun.saturating_duration_since(*due) < late_max).unwrap_or(begun);
        let next = due + Duration::from_secs_f64(varied / rate);
        self.due = Some(next);
        let next = next.max(self.rested).min(end);
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped() {
                return;
            }
            thread::sleep(left.min(NAP));
        }
    }

    /// The profile of what was sampled so far, without what only the end can say.
    pub fn so_far(&self) -> (Ingested, Instruments) {
        self.profile.snapshot(&self.observed(Closing::default()))
    }

    /// Ends the watch: the profile of what was sampled, held against the server's own account.
    pub fn finish(mut self, load_failed: Option<String>) -> (Ingested, Instruments) {
        let closing = self.close();
        let observed = Observed { load_failed, ..self.observed(closing) };
        self.profile.snapshot(&observed)
    }

    /// Reads what the beginning is held against. After a wish to stop each statement has a few seconds more.
    fn close(&mut self) -> Closing {
        let gone = || "the server did not answer at the end".to_string();
        // The end of the tracing takes a moment, in which nothing is sampled: the account does not wait for it.
        self.tracing.halt();
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.take_late_answer(CLOSED_WITHIN);
        // One that has not come by now is waited for no longer.
        (self.question, self.further) = (None, None);
        let own = self.own_time().saturating_sub(self.begun.own);
        let (account, counters) = (self.begun.account.clone(), self.begun.counters.clone());
        let mut now = None;
        if let Some(sampler) = &mut self.sampler {
            let session = sampler.session();
            let is_there = session.is_rehearsal() || session.abandon().is_ok();
            now = is_there.then(|| ActiveTime::now(session).unwrap_or_else(|_| Err(gone())));
        }
        self.hear_rest();
        let db_time = match now.clone() {
            Some(now) => account.and_then(|before| now?.since(&before, own)),
            None => account.and(Err(gone())),
        };
        let session = self.sampler.as_mut().filter(|_| now.is_some()).map(SqlSampler::session);
        let asked = session.map(|session| self.tracing.ask(session).map(|()| session));
        let counters = match (counters, asked) {
            (Err(reason), _) => Err(reason),
            (Ok(source), Some(Ok(session))) => source.since(session).unwrap_or_else(|_| Err(gone())),
            (Ok(_), _) => Err(gone()),
        };
        let db_time = db_time.and_then(|account| self.of_sampled_time(account));
        Closing { db_time: Some(db_time), counters: Some(counters) }
    }

    /// The server's account of the watch, where nearly all of its time was sampled.
    fn of_sampled_time(&self, account: Ticks) -> Result<Ticks, String> {
        let (lost, whole) = (self.lost(), ticks(self.begun.at.elapsed()));
        match lost.0 as f64 > LOST_PART_MAX * whole.0 as f64 {
            true => Err(format!("{} of that time passed without samples", format_nanos(lost.micros() * 1e3))),
            false => Ok(account),
        }
    }

    /// Time without samples.
    fn lost(&self) -> Ticks {
        self.away.iter().map(|(_, time)| *time).sum()
    }

    /// Time that the server worked for our looks.
    fn own_time(&self) -> Duration {
        self.earlier.server + self.times().server
    }

    /// Time that the looks took.
    fn look_time(&self) -> Duration {
        self.earlier.answer + self.times().answer + self.memory_time()
    }

    /// Time that looks at the memory took which is read now.
    fn memory_time(&self) -> Duration {
        self.memory.as_ref().map_or(Duration::ZERO, |memory| memory.time)
    }

    /// The sampler's times; where it is with a question, those before.
    fn times(&self) -> Times {
        let times = |sampler: &SqlSampler| Times { server: sampler.server_time, answer: sampler.answer_time };
        self.sampler.as_ref().map_or(self.lent, times)
    }

    fn observed(&self, closing: Closing) -> Observed {
        let elapsed = self.begun.at.elapsed().as_secs_f64().max(1e-6);
        let asked = self.look_time();
        let looks = self.profile.looks().max(1);
        let own = OwnCost {
            cpu: Some(process_cpu().since(self.begun.cpu).as_seconds() / elapsed),
            session: Some(self.own_time().saturating_sub(self.begun.own).as_secs_f64() / elapsed),
            change: self.watching.as_ref().map(|watching| ChangeCost {
                changes: watching.changes,
                lost: watching.lost,
                micros: watching.store.as_secs_f64() * 1e6,
                share_max: watching.share_max,
            }),
            sample_micros: (!asked.is_zero() && self.watching.is_none())
                .then(|| asked.as_secs_f64() * 1e6 / looks as f64),
        };
        let stolen = self.begun.busy.zip(Busy::now()).and_then(|(before, now)| now.stolen_since(before));
        Observed {
            server: self.address.shown(),
            version: self.facts.version.clone(),
            subject: self.subject(),
            rate: self.rate(),
            rate_asked: self.rate_cut().map(|(asked, _)| asked),
            level: self.level(closing.counters.as_ref()),
            db_time: closing.db_time,
            counters: closing.counters.and_then(Result::ok),
            relations: self.tracing.names().clone(),
            block_bytes: self.facts.block_bytes,
            buffer_bytes: self.facts.buffer_bytes,
            own,
            stolen: stolen.filter(|_| self.processors.is_ok()),
            // Its processes are seen, so that it runs here.
            cores: self.processors.as_ref().ok().map(|()| host::allowed_cpus().len() as u64),
            away: self.away.clone(),
            ended: self.ended.clone(),
            left: self.watching.as_ref().map_or_else(Vec::new, |watching| watching.left.clone()),
            logged: (self.facts.log_statement == "all").then_some(self.asks),
            load_failed: None,
        }
    }

    fn subject(&self) -> Parameters {
        let mut subject = Parameters::new();
        subject.insert("kind".into(), "postgres".into());
        subject.insert("server".into(), self.address.shown().into());
        subject.insert("version".into(), self.facts.version.clone().into());
        subject.insert("shared_buffers".into(), self.facts.buffer_bytes.into());
        subject.insert("block_bytes".into(), self.facts.block_bytes.into());
        subject.insert("rate".into(), json!(self.rate()));
        let level = match (&self.memory, &self.processors) {
            (Ok(_), Ok(())) => "memory and /proc",
            (Ok(_), Err(_)) => "memory",
            (Err(_), Ok(())) => "sql and /proc",
            (Err(_), Err(_)) => "sql",
        };
        subject.insert("level".into(), level.into());
        subject
    }

    /// What the profile is made from, and what more would add. The counters are asked for at the end.
    fn level(&self, counters: Option<&Result<Counted, String>>) -> Vec<String> {
        // Those that were taken, and not those that were wanted.
        let taken = self.profile.looks() as f64 / self.begun.at.elapsed().as_secs_f64().max(1e-6);
        let rate = measure::quantity::three_digits(taken);
        let mut said = vec![match (&self.watching, &self.memory) {
            (Some(watching), _) => watching.sentence(),
            (None, Ok(_)) => format!(
                "Made from samples of the server's shared memory, {rate} a second; pg_stat_activity gave the names."
            ),
            (None, Err(why)) if self.former.is_some() => format!(
                "Made from samples of the server's shared memory and, since that is not read any more, of \
                 pg_stat_activity, {rate} a second on average: {why}."
            ),
            (None, Err(why)) => format!(
                "Made from samples of pg_stat_activity, {rate} a second. The server's shared memory, which can be \
                 read more often without asking it, is not used: {why}."
            ),
        }];
        said.push(match &self.processors {
            _ if self.watching.is_some() => "CPU holds the time in which a session waited for a processor.".into(),
            Ok(()) => "/proc/PID/schedstat tells running from waiting for a processor.".into(),
            Err(why) => {
                format!(
                    "Running is not distinguished from waiting for a processor, as /proc/PID/schedstat would allow: \
                     {why}."
                )
            }
        });
        let before = self.begun.counters.as_ref().err();
        let why = before.or(counters.and_then(|counters| counters.as_ref().err()));
        said.push(match why {
            None if self.lost() > Ticks::ZERO => {
                "pg_stat_statements gives executions, rows and reads of statements, with those of the time without \
                 samples."
                    .into()
            }
            None => "pg_stat_statements gives executions, rows and reads of statements.".into(),
            Some(why) => format!(
                "Executions, rows, logical and physical reads of statements are not known, which pg_stat_statements \
                 would add: {}.",
                why.trim_end_matches('.')
            ),
        });
        said.push(self.tracing.level());
        said.extend(self.tracing.limit());
        said.extend(self.unnamed.clone());
        said
    }
}

/// A session that is with a question ends as any other, and not in the middle of a statement.
impl Drop for Watch {
    fn drop(&mut self) {
        self.settle();
    }
}

/// How long a server is left alone that has been away for so long.
fn knock_after(away: Duration) -> Duration {
    (away / KNOCK_PART).clamp(KNOCK_EVERY, KNOCK_EVERY_MAX)
}

/// Gives the sampler the scheduler's account, where the server's processes can be seen.
fn with_processors(sampler: &mut SqlSampler, address: &Address) -> Result<(), String> {
    let facts = sampler.facts();
    let is_rehearsal = facts.process == 0;
    let processors = Processors::open(facts.process, &facts.user, address.is_local() && !is_rehearsal)?;
    sampler.with_processors(processors);
    Ok(())
}

/// Begins to trace the reads of the server's processes, where that is wanted and possible.
fn trace(
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
fn memory(sampler: &mut SqlSampler, address: &Address, settings: Settings) -> Result<MemorySampler, String> {
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

fn ticks(time: Duration) -> Ticks {
    Ticks::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
