//! The sampler that asks no one: what the server's processes show of themselves in its shared memory, read from there.
//!
//! Shared memory lies at the same addresses in all processes of a server, so that one call on the first of them reads
//! what all show. Where each process's part lies is asked of the process once. What does not change, and the names of
//! wait events, come from the looks of the SQL sampler, which go on a few times a second.

mod entry;
mod events;
mod image;
mod names;
mod place;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read, Seek};
use std::sync::Arc;
use std::time::{Duration, Instant};

use profile::source::sampled::{Backend, CLIENT, ProcessorTime, Sample, State};
use server::ServerFacts;
use sys::process::{Part, read_memory};

use crate::process::parent;
use crate::processors::Processors;
use crate::sampler::{Look, Sampler, Texts};
use entry::{ENTRY_BYTES, Entry, VERSIONS};
use events::Events;
use image::Variables;
use names::Names;
pub(crate) use place::{Change, Place};

/// How often new processes are looked for: a session of one short statement is to be met.
const PROCESSES_EVERY: Duration = Duration::from_millis(10);

/// How often a process is asked how much of its time it ran.
const PROCESSOR_EVERY: Duration = Duration::from_millis(50);

/// Parts of memory this near to each other are read as one: copying is cheaper than another part.
const NEAR: u64 = 2048;

/// Reads the memory of a server's processes.
pub struct MemorySampler {
    postmaster: u32,
    /// The process that serves our own session.
    own: u32,
    major: u32,
    text_bytes: usize,
    variables: Variables,
    processes: Vec<Process>,
    looked_for: Option<Instant>,
    /// Processes in that list.
    shown: usize,
    /// The kernel's list of the first process's children, and what was read of it last.
    children: (fs::File, Vec<u8>),
    events: Events,
    names: Names,
    processors: Option<Processors>,
    spans: Spans,
    /// Time that the looks took.
    pub(crate) time: Duration,
}

/// One process of the server.
#[derive(Debug)]
struct Process {
    number: u32,
    /// Where it says for what it waits, and where its entry stands.
    wait: u64,
    entry: u64,
    /// What stays the same, and whether the server has told it.
    backend: Option<Arc<Backend>>,
    is_told: bool,
    /// The execution whose text was read last.
    text: Option<(Option<i64>, Arc<str>)>,
    processor: Option<(Instant, Option<ProcessorTime>)>,
}

/// What is read in each look: parts that lie near each other as one.
#[derive(Debug, Default)]
struct Spans {
    parts: Vec<Part>,
    bytes: Vec<u8>,
    /// Where the waits and the entries of all processes stand in `bytes`, in their order.
    waits: Vec<usize>,
    entries: Vec<usize>,
}

impl MemorySampler {
    /// Finds the server's shared memory and reads it once; `Err` holds the reason why that cannot be, which is no
    /// failure.
    pub fn open(facts: &ServerFacts, is_local: bool, text_bytes: usize) -> Result<MemorySampler, String> {
        if !is_local {
            return Err("the server runs on another machine".into());
        }
        if !VERSIONS.contains(&facts.major()) {
            return Err(format!("the memory of PostgreSQL {} is not known", facts.major()));
        }
        let postmaster = parent(facts.process).ok_or("the server's processes cannot be seen from here")?;
        let mut sampler = MemorySampler {
            postmaster,
            own: facts.process,
            major: facts.major(),
            text_bytes,
            variables: Variables::of(postmaster)?,
            processes: Vec::new(),
            looked_for: None,
            shown: usize::MAX,
            children: (children_of(postmaster).map_err(unreadable)?, Vec::new()),
            events: Events::default(),
            names: Names::default(),
            processors: Processors::open(facts.process, &facts.user, is_local).ok(),
            spans: Spans::default(),
            time: Duration::ZERO,
        };
        sampler.find_processes().and_then(|()| sampler.read()).map_err(unreadable)?;
        Ok(sampler)
    }

    /// Holds what memory shows against what the server showed since it was opened: all of it where a process has shown
    /// the same before and after, and which process it is elsewhere. `Err` holds the reason why it is not to be used.
    pub fn check(&mut self, seen: &[Sample]) -> Result<(), String> {
        let before = self.spans.bytes.clone();
        self.read().map_err(unreadable)?;
        let mut agreeing = 0;
        for (at, process) in self.processes.iter().enumerate() {
            let number = process.number;
            let Some(sample) = seen.iter().find(|one| one.backend.pid == number && one.backend.start != 0) else {
                continue;
            };
            let (entry, is_unchanged) = (self.entry(at), self.spans.entry(at) == self.spans.entry_in(&before, at));
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
    pub fn waits(&mut self) -> HashMap<u32, u32> {
        if self.find_processes().and_then(|()| self.read()).is_err() {
            return HashMap::new();
        }
        self.processes.iter().enumerate().map(|(at, process)| (process.number, self.wait(at))).collect()
    }

    /// Takes what the server shows of each process, and the names of waits that were the same before and after.
    pub fn learn(&mut self, before: &HashMap<u32, u32>, seen: &[Sample]) {
        let after = self.waits();
        for sample in seen {
            let number = sample.backend.pid;
            if let Some(at) = self.processes.iter().position(|process| process.number == number) {
                self.processes[at].backend = Some(Arc::clone(&sample.backend));
                let entry = Entry::new(self.spans.entry(at));
                self.names.learn(entry, &sample.backend);
            }
            let wait = after.get(&number).copied().filter(|wait| before.get(&number) == Some(wait));
            if let (Some(wait), Some(name)) = (wait, &sample.event) {
                self.events.learn(wait, name);
            }
        }
        // What the server does not show now it may not show at all.
        self.processes.iter_mut().for_each(|process| process.is_told = true);
    }

    /// Takes the server's list of its wait events: types and names.
    pub fn list_events(&mut self, events: impl Iterator<Item = (String, String)>) {
        self.events.list(events);
    }

    /// Whether a process or a wait has no name yet, which the server knows.
    pub fn lacks_names(&self) -> bool {
        self.processes.iter().enumerate().any(|(at, process)| {
            process.number != self.own && (!process.is_told || !self.events.is_known(self.wait(at)))
        })
    }

    /// Where each process shows itself but the one that serves us, by the last look.
    pub(crate) fn places(&self) -> Vec<Place> {
        let place = |(at, process): (usize, &Process)| {
            let (entry, backend) = (self.entry(at), process.backend.as_ref()?);
            let at_begin = Change {
                at: 0,
                wait: self.wait(at),
                state: entry.state(self.major),
                query_start: entry.statement_start(),
                query_id: entry.query_id(),
            };
            let (backend, major) = (Arc::clone(backend), self.major);
            Some(Place { backend, wait: process.wait, entry: process.entry, major, at_begin })
        };
        let others = self.processes.iter().enumerate().filter(|(_, process)| process.number != self.own);
        others.filter_map(place).collect()
    }

    /// The name of a wait; `None` for no wait.
    pub(crate) fn event(&mut self, wait: u32) -> Option<Arc<str>> {
        self.events.name(wait)
    }

    fn sample(&mut self, at: usize, texts: Texts, now: Instant) -> Option<Sample> {
        if self.processes[at].number == self.own {
            return None;
        }
        let entry = Entry::new(self.spans.entry(at));
        // It has ended, and its place is empty or another one's.
        if entry.process() != self.processes[at].number {
            return None;
        }
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
        let event = self.events.name(self.wait(at));
        let is_at_work = is_client && matches!(state, State::Active | State::IdleInTransaction);
        let text = if is_at_work { self.text(at, (text, query_start), texts) } else { None };
        let is_running = state == State::Active && event.is_none();
        let processor = if is_running { self.processor(at, now) } else { None };
        Some(Sample { backend, state, event, query_id, query_start, text, processor })
    }

    /// The text of the statement that a process executes, where it was not handed out before or all are wanted.
    fn text(&mut self, at: usize, (address, start): (u64, Option<i64>), texts: Texts) -> Option<Arc<str>> {
        let is_known = self.processes[at].text.as_ref().is_some_and(|(of, _)| *of == start);
        if is_known && texts == Texts::New {
            return None;
        }
        if !is_known {
            let mut bytes = vec![0; self.text_bytes];
            read_memory(self.postmaster, &[Part { address, length: bytes.len() }], &mut bytes).ok()?;
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            // A text that is too long is cut within a letter.
            let text = String::from_utf8_lossy(&bytes[..end]);
            self.processes[at].text = Some((start, text.trim_end_matches(char::REPLACEMENT_CHARACTER).into()));
        }
        let text = self.processes[at].text.as_ref().map(|(_, text)| Arc::clone(text));
        text.filter(|text| !text.is_empty())
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

    fn wait(&self, at: usize) -> u32 {
        let place = self.spans.waits.get(at).copied().unwrap_or(usize::MAX);
        let bytes = self.spans.bytes.get(place..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn entry(&self, at: usize) -> Entry<'_> {
        Entry::new(self.spans.entry(at))
    }

    /// Reads what all processes show.
    fn read(&mut self) -> io::Result<()> {
        let Spans { parts, bytes, .. } = &mut self.spans;
        read_memory(self.postmaster, parts, bytes)?;
        // An entry that its process was changing is read once more, on its own.
        for at in 0..self.processes.len() {
            if self.entry(at).is_changing() {
                let place = self.spans.entries[at];
                let part = Part { address: self.processes[at].entry, length: ENTRY_BYTES };
                read_memory(self.postmaster, &[part], &mut self.spans.bytes[place..place + ENTRY_BYTES])?;
            }
        }
        Ok(())
    }

    /// Looks for processes that began or ended, and where the new ones show themselves.
    fn find_processes(&mut self) -> io::Result<()> {
        self.looked_for = Some(Instant::now());
        let (list, listed) = &mut self.children;
        let is_new = read_again(list, listed)?;
        // One that has just been started shows itself a moment later.
        if !is_new && self.processes.len() == self.shown {
            return Ok(());
        }
        let there = numbers(listed);
        self.shown = there.len();
        let known: HashSet<u32> = self.processes.iter().map(|process| process.number).collect();
        let before = self.processes.len();
        self.processes.retain(|process| there.contains(&process.number));
        let mut has_changed = self.processes.len() != before;
        for number in there.difference(&known) {
            if let Some((wait, entry)) = self.variables.read(*number) {
                self.processes.push(Process::new(*number, wait, entry));
                has_changed = true;
            }
        }
        if has_changed {
            self.spans = Spans::over(&self.processes);
            self.processors.iter_mut().for_each(|processors| processors.retain(|number| there.contains(&number)));
        }
        Ok(())
    }
}

/// Processes whose kind is not known yet are left out. Errors where the memory cannot be read any more, as after the
/// server's end.
impl Sampler for MemorySampler {
    type Error = io::Error;

    fn look(&mut self, texts: Texts, samples: &mut Vec<Sample>) -> io::Result<Look> {
        if self.looked_for.is_none_or(|at| at.elapsed() >= PROCESSES_EVERY) {
            self.find_processes()?;
        }
        let begun = Instant::now();
        self.read()?;
        let took = begun.elapsed();
        samples.clear();
        for at in 0..self.processes.len() {
            samples.extend(self.sample(at, texts, begun));
        }
        self.time += begun.elapsed();
        Ok(Look { at: begun + took / 2 })
    }
}

impl Process {
    fn new(number: u32, wait: u64, entry: u64) -> Process {
        Process { number, wait, entry, backend: None, is_told: false, text: None, processor: None }
    }
}

impl Spans {
    /// The bytes of a process's entry, as they were read last.
    fn entry(&self, at: usize) -> &[u8] {
        self.entry_in(&self.bytes, at)
    }

    /// Those among bytes that were read of the same parts.
    fn entry_in<'a>(&self, bytes: &'a [u8], at: usize) -> &'a [u8] {
        let place = self.entries.get(at).copied().unwrap_or(usize::MAX);
        bytes.get(place..).map_or(&[], |bytes| &bytes[..bytes.len().min(ENTRY_BYTES)])
    }

    /// The parts that hold what all these processes show.
    fn over(processes: &[Process]) -> Spans {
        let waits = processes.iter().map(|process| (process.wait, size_of::<u32>()));
        let entries = processes.iter().map(|process| (process.entry, ENTRY_BYTES));
        let wanted: Vec<(u64, usize)> = waits.chain(entries).collect();
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|at| wanted[*at].0);
        let mut parts: Vec<Part> = Vec::new();
        let (mut places, mut before) = (vec![0; wanted.len()], 0);
        for at in order {
            let (address, length) = wanted[at];
            match parts.last_mut().filter(|part| address <= part.address + part.length as u64 + NEAR) {
                Some(part) => part.length = part.length.max((address - part.address) as usize + length),
                None => {
                    before += parts.last().map_or(0, |part| part.length);
                    parts.push(Part { address, length });
                }
            }
            let begin = parts.last().map_or(address, |part| part.address);
            places[at] = before + (address - begin) as usize;
        }
        let size = parts.iter().map(|part| part.length).sum();
        let entries = places.split_off(processes.len());
        Spans { parts, bytes: vec![0; size], waits: places, entries }
    }
}

fn unreadable(error: io::Error) -> String {
    format!("it cannot be read: {error}")
}

/// The kernel's list of a process's children.
fn children_of(process: u32) -> io::Result<fs::File> {
    fs::File::open(format!("/proc/{process}/task/{process}/children"))
}

/// Reads a file of the kernel's again from its beginning; whether it differs from what was read before.
fn read_again(file: &mut fs::File, before: &mut Vec<u8>) -> io::Result<bool> {
    let mut now = Vec::with_capacity(before.len() + 256);
    file.rewind()?;
    file.read_to_end(&mut now)?;
    let is_new = now != *before;
    *before = now;
    Ok(is_new)
}

/// The numbers in a list.
fn numbers(list: &[u8]) -> HashSet<u32> {
    String::from_utf8_lossy(list).split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_lie_near_each_other_are_read_as_one_and_each_process_finds_its_own() {
        let memory: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
        let base = memory.as_ptr() as u64;
        let of = |number: u32, wait: u64, entry: u64| Process::new(number, base + wait, base + entry);
        let processes = [of(1, 100_000, 880), of(2, 100_880, 432), of(3, 180_000, 5_000)];
        let mut spans = Spans::over(&processes);
        assert_eq!(spans.parts.len(), 4, "two entries, one, two waits, one");
        read_memory(std::process::id(), &spans.parts, &mut spans.bytes).unwrap();
        for (at, process) in processes.iter().enumerate() {
            let begin = |address: u64| ((address - base) % 251) as u8;
            assert_eq!(spans.bytes[spans.waits[at]], begin(process.wait));
            assert_eq!(spans.bytes[spans.entries[at]], begin(process.entry));
        }
    }

    #[test]
    fn a_process_is_found_under_its_parent() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        assert_eq!(parent(child.id()), Some(own));
        // Children are listed with the thread that started them.
        assert!(parent(u32::MAX).is_none() && children_of(u32::MAX).is_err());
        assert_eq!(numbers(b"12 7 x 99 "), HashSet::from([12, 7, 99]));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
