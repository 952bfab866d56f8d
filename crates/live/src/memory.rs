//! The sampler that asks no one: what the server's processes show of themselves in its shared memory, read from there.
//!
//! Shared memory lies at the same addresses in all processes of a server, so that one call on the first of them reads
//! what all show. Where root maps it here, no call is needed, and of a process that has changed nothing two words are
//! read. Where each process's part lies is asked of the process once. What does not change, and the names of wait
//! events that are not built into the server, come from the looks of the SQL sampler, which go on a few times a second.

mod entry;
mod events;
mod image;
mod names;
mod numbers;
mod place;
mod process;
mod relatives;
mod spans;

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use profile::source::sampled::{Backend, CLIENT, ProcessorTime, Sample, State};
use server::ServerFacts;
use sys::process::{Part, SharedMapping, read_memory};
use sys::watchpoint;

use crate::process::postmaster;
use crate::processors::Processors;
use crate::sampler::{Look, Texts};
use entry::{VERSIONS, offset};
use events::Events;
use image::{Variables, advice};
use names::Names;
pub(crate) use place::{Change, Place};
use process::Process;
use relatives::Relatives;
use spans::Spans;

/// How often a process is asked how much of its time it ran.
const PROCESSOR_EVERY: Duration = Duration::from_millis(50);

/// How long a process may show nothing before it is taken for one that never does, such as the one that writes the log.
/// A new one shows itself when it knows its client, for which it waits a minute by default.
const SILENT_FOR: Duration = Duration::from_secs(60);

/// Most statements of which it is remembered that their texts were handed out.
const NAMED_MAX: usize = 1 << 12;

/// Reads the memory of a server's processes.
pub(crate) struct MemorySampler {
    postmaster: u32,
    /// The process that serves our own session.
    own: u32,
    major: u32,
    text_bytes: usize,
    variables: Variables,
    processes: Vec<Process>,
    /// Processes in the kernel's list of the first one's children when it was read last.
    shown: usize,
    /// Those of them that show nothing, and since when.
    silent: HashMap<u32, Instant>,
    relatives: Relatives,
    /// Whether a process has ended, or is without a name, or its wait, by the last look.
    has_ended: bool,
    lacks_names: bool,
    /// By the place of its sample: whether a process has gone on to do nothing, by the last look.
    rest: Vec<bool>,
    events: Events,
    names: Names,
    /// Identifiers of statements whose texts were handed out.
    named: HashSet<i64>,
    processors: Option<Processors>,
    spans: Spans,
    /// `None` where the kernel does not let it be mapped, and where it does not hold what all processes show.
    mapping: Option<SharedMapping>,
    /// Time that the looks took.
    pub(crate) time: Duration,
}

/// Which text of a process is meant.
#[derive(Clone, Copy)]
struct TextOf {
    address: u64,
    /// When its statement began.
    start: Option<i64>,
    /// How often the entry had changed that names both.
    changes: i32,
}

impl MemorySampler {
    /// Finds the server's shared memory and reads it once; `Err` holds the reason why that cannot be, which is no
    /// failure.
    pub(crate) fn open(facts: &ServerFacts, is_local: bool, text_bytes: usize) -> Result<MemorySampler, String> {
        if !is_local {
            return Err("the server runs on another machine".into());
        }
        if !VERSIONS.contains(&facts.major()) {
            return Err(format!("the memory of PostgreSQL {} is not known", facts.major()));
        }
        let postmaster = postmaster(facts.process, &facts.user)?;
        let mut sampler = MemorySampler {
            postmaster,
            own: facts.process,
            major: facts.major(),
            text_bytes,
            variables: Variables::of(postmaster)?,
            processes: Vec::new(),
            shown: usize::MAX,
            silent: HashMap::new(),
            relatives: Relatives::of(postmaster).map_err(unreadable)?,
            has_ended: false,
            lacks_names: false,
            rest: Vec::new(),
            events: Events::of(facts.major()),
            names: Names::default(),
            named: HashSet::new(),
            processors: Processors::open(facts.process, &facts.user, is_local).ok(),
            spans: Spans::default(),
            mapping: None,
            time: Duration::ZERO,
        };
        sampler.find_processes().map_err(unreadable)?;
        // Without it the memory is read by calls.
        let entry = sampler.processes.first().map_or(0, |process| process.entry);
        sampler.mapping = SharedMapping::of(postmaster, entry).ok();
        sampler.lay_out();
        sampler.read().map_err(unreadable)?;
        Ok(sampler)
    }

    /// Holds what memory shows against what the server showed since it was opened: all of it where a process has shown
    /// the same before and after, and which process it is elsewhere. `Err` holds the reason why it is not to be used.
    pub(crate) fn check(&mut self, seen: &[Sample]) -> Result<(), String> {
        let before = self.spans.clone();
        self.read().map_err(unreadable)?;
        let mut agreeing = 0;
        let shown: HashMap<u32, &Sample> =
            seen.iter().filter(|one| one.backend.start != 0).map(|one| (one.backend.pid, one)).collect();
        for (at, process) in self.processes.iter().enumerate() {
            let number = process.number;
            let Some(sample) = shown.get(&number).copied() else { continue };
            let (entry, is_unchanged) = (self.spans.entry(at), self.spans.entry(at) == before.entry(at));
            // One that ended meanwhile has no entry any more.
            if entry.process() != number {
                continue;
            }
            if !entry.is_of(sample) || (is_unchanged && !entry.agrees(sample, self.major)) {
                return Err("it does not show what pg_stat_activity shows".into());
            }
            agreeing += u64::from(is_unchanged);
        }
        match agreeing {
            0 => Err("no process shows both its memory and its row of pg_stat_activity".into()),
            _ => Ok(()),
        }
    }

    /// The waits of all processes as they are now, to be held against a look of the SQL sampler.
    pub(crate) fn waits(&mut self) -> HashMap<u32, u32> {
        // Samples of another kind take the place of ours, and what they say changes names.
        self.processes.iter_mut().for_each(|process| process.resting = None);
        if self.find_processes().and_then(|()| self.read()).is_err() {
            return HashMap::new();
        }
        self.processes.iter().enumerate().map(|(at, process)| (process.number, self.spans.wait(at))).collect()
    }

    /// Takes what the server shows of each process, and the names of waits that were the same before and after.
    pub(crate) fn learn(&mut self, before: &HashMap<u32, u32>, seen: &[Sample]) {
        let after = self.waits();
        let numbers = self.processes.iter().enumerate().map(|(at, process)| (process.number, at));
        let places: HashMap<u32, usize> = numbers.collect();
        for sample in seen {
            let number = sample.backend.pid;
            if let Some(at) = places.get(&number).copied() {
                let entry = self.spans.entry(at);
                self.names.learn(entry, &sample.backend);
                let (known, hidden) = (&mut self.processes[at].backend, self.names.hidden(entry, sample));
                if entry.is_of(sample) {
                    *known = Some(Arc::clone(&sample.backend));
                } else if hidden.is_some() && hidden.as_ref() != known.as_deref() {
                    *known = hidden.map(Arc::new);
                }
            }
            let wait = after.get(&number).copied().filter(|wait| before.get(&number) == Some(wait));
            if let (Some(wait), Some(name)) = (wait, &sample.event) {
                self.events.learn(wait, name);
            }
        }
        // What the server does not show now it may not show at all.
        self.processes.iter_mut().for_each(|process| process.is_told = true);
    }

    /// Waits that were shown by their numbers and have a name now: the numbers and the names.
    pub(crate) fn take_renamed(&mut self) -> Vec<(Arc<str>, Arc<str>)> {
        self.events.take_renamed()
    }

    /// Takes the server's list of its wait events: types and names.
    pub(crate) fn list_events(&mut self, events: impl Iterator<Item = (String, String)>) {
        self.events.list(events);
    }

    /// Reads by calls from now on: memory that is mapped stays, also where its server has ended.
    pub(crate) fn unmap(&mut self) {
        if self.mapping.take().is_some() {
            self.lay_out();
        }
    }

    /// Whether a process or a wait has no name yet, by the last look, which the server knows.
    pub(crate) fn lacks_names(&self) -> bool {
        self.lacks_names
    }

    /// Of each sample of the last look whether its process has gone on to do nothing since the look before it.
    pub(crate) fn rest(&self) -> &[bool] {
        &self.rest
    }

    /// Where each process shows itself but the one that serves us, by the last look.
    pub(crate) fn places(&self) -> Vec<Place> {
        let since_1970 = watchpoint::since_1970();
        let place = |(at, process): (usize, &Process)| {
            let (entry, backend) = (self.spans.entry(at), process.backend.as_ref()?);
            // Its place may be another session's already.
            if (entry.process(), entry.start()) != (backend.pid, backend.start) {
                return None;
            }
            let at_begin = Change {
                at: 0,
                wait: self.spans.wait(at),
                state: entry.state(self.major),
                state_start: entry.state_start(),
                query_start: entry.statement_start(),
                query_id: entry.query_id(),
            };
            let (backend, major) = (Arc::clone(backend), self.major);
            Some(Place { backend, wait: process.wait, entry: process.entry, major, since_1970, at_begin })
        };
        let others = self.processes.iter().enumerate().filter(|(_, process)| process.number != self.own);
        others.filter_map(place).collect()
    }

    /// A place with what its process shows now; as it was where it cannot be read.
    pub(crate) fn place_again(&self, place: Place) -> Place {
        let parts = place.parts().map(|(address, bytes)| Part { address, length: bytes as usize });
        let mut bytes = [0; 8 * 5];
        let length = parts.iter().map(|part| part.length).sum();
        if read_memory(self.postmaster, &parts, &mut bytes[..length]).is_err() {
            return place;
        }
        let mut rest = &bytes[..];
        let words = parts.map(|part| {
            let (of_part, others) = rest.split_at(part.length);
            rest = others;
            let mut word = [0; 8];
            word[..part.length].copy_from_slice(of_part);
            u64::from_le_bytes(word)
        });
        Place { at_begin: place.change(0, words), ..place }
    }

    /// The name of a wait; `None` for no wait.
    pub(crate) fn event(&mut self, wait: u32) -> Option<Arc<str>> {
        self.events.name(wait)
    }

    fn sample(&mut self, at: usize, texts: Texts, now: Instant) -> Option<Sample> {
        if self.processes[at].number == self.own {
            return None;
        }
        let entry = self.spans.entry(at);
        // It has ended, and its place is empty or another one's.
        if entry.process() != self.processes[at].number {
            self.has_ended = true;
            return None;
        }
        let shown = (self.spans.wait(at), entry.changes());
        let (query_start, query_id) = (entry.statement_start(), entry.query_id());
        let (state, text) = (entry.state(self.major), entry.text());
        let is_same = |backend: &&Arc<Backend>| (backend.pid, backend.start) == (entry.process(), entry.start());
        let backend = match self.processes[at].backend.as_ref().filter(is_same) {
            Some(backend) => Arc::clone(backend),
            None => {
                let backend = Arc::new(self.names.backend(entry)?);
                let process = &mut self.processes[at];
                (process.is_told, process.text, process.processor) = (false, None, None);
                Arc::clone(process.backend.insert(backend))
            }
        };
        let is_client = backend.kind == CLIENT;
        let state = if is_client { state? } else { State::Background };
        let event = self.events.name(shown.0);
        let has_names = self.processes[at].is_told && self.events.is_known(shown.0);
        let rests = matches!(state, State::Idle | State::Background | State::Disabled) && has_names;
        self.processes[at].resting = rests.then_some(shown);
        let is_at_work = is_client && matches!(state, State::Active | State::IdleInTransaction);
        // One that began and ended between two looks may be met by no look at work.
        let is_over = is_client && state == State::Idle && query_id.is_some_and(|id| self.wants_text(id));
        let of = TextOf { address: text, start: query_start, changes: shown.1 };
        let text = if is_at_work || is_over { self.text(at, of, texts) } else { None };
        if let (Some(_), Some(id)) = (&text, query_id) {
            self.named.insert(id);
        }
        let is_running = state == State::Active && event.is_none();
        let processor = if is_running { self.processor(at, now) } else { None };
        Some(Sample { backend, state, event, query_id, query_start, text, processor })
    }

    /// Whether the text of the statement with this identifier has not been handed out, as far as that is remembered.
    fn wants_text(&self, id: i64) -> bool {
        self.named.len() < NAMED_MAX && !self.named.contains(&id)
    }

    /// The text of the statement that a process executes, where it was not handed out before or all are wanted; `None`
    /// where the process has begun another statement since its entry was read, whose text may stand there.
    fn text(&mut self, at: usize, of: TextOf, texts: Texts) -> Option<Arc<str>> {
        let TextOf { address, start, changes } = of;
        let is_known = self.processes[at].text.as_ref().is_some_and(|(of, _)| *of == start);
        if is_known && texts == Texts::New {
            return None;
        }
        if !is_known {
            let mut bytes = vec![0; self.text_bytes];
            let is_mapped = self.mapping.as_ref().is_some_and(|mapping| mapping.copy(address, &mut bytes));
            if !is_mapped {
                read_memory(self.postmaster, &[Part { address, length: bytes.len() }], &mut bytes).ok()?;
            }
            if self.changes(at) != Some(changes) {
                return None;
            }
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            // A text that is too long is cut within a letter.
            let text = String::from_utf8_lossy(&bytes[..end]);
            self.processes[at].text = Some((start, text.trim_end_matches(char::REPLACEMENT_CHARACTER).into()));
        }
        let text = self.processes[at].text.as_ref().map(|(_, text)| Arc::clone(text));
        text.filter(|text| !text.is_empty())
    }

    /// How often the entry of a process has changed by now.
    fn changes(&self, at: usize) -> Option<i32> {
        let address = self.processes[at].entry + offset::CHANGES as u64;
        if let Some(word) = self.mapping.as_ref().and_then(|mapping| mapping.word(address)) {
            return Some(word.cast_signed());
        }
        let mut bytes = [0; size_of::<i32>()];
        read_memory(self.postmaster, &[Part { address, length: bytes.len() }], &mut bytes).ok()?;
        Some(i32::from_le_bytes(bytes))
    }

    /// How much of its time a process ran, by the scheduler, a moment ago.
    fn processor(&mut self, at: usize, now: Instant) -> Option<ProcessorTime> {
        let process = &mut self.processes[at];
        if let Some((read, time)) = process.processor
            && now.duration_since(read) < PROCESSOR_EVERY
        {
            return time;
        }
        let time = self.processors.as_mut()?.since(process.number);
        process.processor = Some((now, time));
        time
    }

    /// Reads what all processes show.
    fn read(&mut self) -> io::Result<()> {
        if let Some(mapping) = &self.mapping {
            if self.spans.copy(mapping, &self.processes) {
                return Ok(());
            }
            // The kernel keeps the memory in several parts, of which one is mapped: a call reads them all.
            self.unmap();
        }
        self.spans.read(self.postmaster, &self.processes)
    }

    fn lay_out(&mut self) {
        self.spans = match &self.mapping {
            Some(_) => Spans::apart(&self.processes),
            None => Spans::joined(&self.processes),
        };
    }

    /// Whether the sample that a process has from the look before still says what it does.
    fn is_same(&self, at: usize, before: Option<&Sample>) -> bool {
        let process = &self.processes[at];
        let Some((before, backend)) = before.zip(process.backend.as_ref()) else { return false };
        let rests = process.resting.is_some_and(|shown| shown == (self.spans.wait(at), self.spans.entry(at).changes()));
        rests && Arc::ptr_eq(&before.backend, backend)
    }

    /// Whether each process of the kernel's list is known, or has shown nothing for long.
    fn is_whole(&self) -> bool {
        let silent = self.silent.values().filter(|since| since.elapsed() >= SILENT_FOR).count();
        !self.has_ended && self.processes.len() + silent == self.shown
    }

    /// Looks for processes that began or ended, and where the new ones show themselves.
    fn find_processes(&mut self) -> io::Result<()> {
        let is_new = self.relatives.read()?;
        // One that has just been started shows itself a moment later.
        if !is_new && self.processes.len() == self.shown {
            return Ok(());
        }
        let there = self.relatives.numbers();
        self.shown = there.len();
        let known: HashSet<u32> = self.processes.iter().map(|process| process.number).collect();
        let before = self.processes.len();
        self.processes.retain(|process| there.contains(&process.number));
        self.silent.retain(|number, _| there.contains(number));
        let (mut has_changed, mut refusal) = (self.processes.len() != before, None);
        for number in there.difference(&known) {
            match self.variables.read(*number) {
                Ok(Some((wait, entry))) => {
                    self.processes.push(Process::new(*number, wait, entry));
                    self.silent.remove(number);
                    has_changed = true;
                }
                Ok(None) => {
                    self.silent.entry(*number).or_insert_with(Instant::now);
                }
                Err(error) => refusal = Some(error),
            }
        }
        // Of one that has just ended there is nothing to say. Where none can be read, there would be no samples.
        if let Some(error) = refusal.filter(|_| self.processes.is_empty()) {
            return Err(error);
        }
        if has_changed {
            self.lay_out();
            self.processors.iter_mut().for_each(|processors| processors.retain(|number| there.contains(&number)));
        }
        Ok(())
    }

    /// Fills `samples`, whose room is used again, with what each process does now, but for those whose kind is not
    /// known yet. Errors where the memory cannot be read any more, as after the server's end.
    pub(crate) fn look(&mut self, texts: Texts, samples: &mut Vec<Sample>) -> io::Result<Look> {
        let is_whole = self.is_whole();
        if self.relatives.is_due(is_whole) {
            self.find_processes()?;
        }
        let begun = Instant::now();
        self.read()?;
        let took = begun.elapsed();
        (self.has_ended, self.lacks_names) = (false, false);
        self.rest.clear();
        let mut filled = 0;
        for at in 0..self.processes.len() {
            if self.is_same(at, samples.get(filled)) {
                self.rest.push(true);
                filled += 1;
                continue;
            }
            let sample = self.sample(at, texts, begun);
            let process = &self.processes[at];
            self.lacks_names |=
                process.number != self.own && (!process.is_told || !self.events.is_known(self.spans.wait(at)));
            let Some(sample) = sample else { continue };
            match samples.get_mut(filled) {
                Some(place) => *place = sample,
                None => samples.push(sample),
            }
            self.rest.push(false);
            filled += 1;
        }
        samples.truncate(filled);
        self.time += begun.elapsed();
        Ok(Look { begun, at: begun + took / 2 })
    }
}

fn unreadable(error: io::Error) -> String {
    format!("it cannot be read: {error}{}", advice(&error))
}

#[cfg(test)]
mod tests;
