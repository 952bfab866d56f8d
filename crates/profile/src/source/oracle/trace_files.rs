//! Trace files as a source: each file's unit of time is found, and its records pass the accounting.

use std::collections::VecDeque;
use std::mem;
use std::ops::{ControlFlow, Range};

use measure::quantity::grouped;

use crate::event::{Accounted, TimeScale, Unit};
use crate::input::{Given, Problem, SharedContents, foreign};
use crate::observe::Listeners;
use crate::source::contract::{FileHeader, Finished, Input, Reading, Source, SourceFile, SourceRow, SourceSettings};
use crate::source::oracle::account::Accounting;
use crate::source::oracle::line::kind::OUT_OF_RANGE;
use crate::source::oracle::probe::{PROBE_BYTES, may_hold_calls, order_segments, probe, probe_head};
use crate::source::oracle::read::{How, read_with};
use crate::source::oracle::record::{Attribute, Batch, Body, Mark, Record};
use crate::source::oracle::statement::Rest;
use crate::source::oracle::time_scale::{FileClock, TimeScaleProbe};
use crate::source::unread::UnreadLines;

/// The row of the table of sources.
pub const ROW: SourceRow = SourceRow {
    kind: foreign::TRACES,
    database: "Oracle",
    name: None,
    // A trace can begin with anything: its calls and waits are what makes it one.
    recognises: |_, _| false,
    names: |_| false,
    shows: |bytes, _| may_hold_calls(bytes),
    lacks: "it holds no call and no wait",
    is_read_by_period: false,
    unexported: None,
    unused: &[
        ("from", "--since and --until choose traces by their time, and compare takes a part of one"),
        ("to", "--since and --until choose traces by their time, and compare takes a part of one"),
    ],
    open: |settings| Box::new(TraceFiles { settings, accounting: Accounting::new() }),
};

/// What the name of a file ends with to which others were added.
const AND_BEHIND: &str = " and all behind it";

/// Most files of one input that are kept apart; those behind them are added to the last one.
const FILES: usize = 1 << 12;

/// Reads trace files, one after the other.
struct TraceFiles {
    settings: SourceSettings,
    accounting: Accounting,
}

impl Source for TraceFiles {
    /// The segments of one trace are read in the order of their times, whatever their names.
    fn in_order(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        // A pipe keeps its place: what has been read of it is not there again.
        order_segments(inputs, |input| input.given.path().filter(|_| input.bytes.is_none()))
    }

    fn read(&mut self, input: Input, reading: &mut Reading<'_, '_>) -> Result<Vec<SourceFile>, Problem> {
        let given = input.given.clone();
        let first = clock(self.settings.unit, &given)?;
        let head_hash = input.head_hash;
        // Before the accounting is handed over: what cannot be opened must not take that of the other files with it.
        let bytes = input.open()?;
        let contents = bytes.contents();
        let accounting = mem::replace(&mut self.accounting, Accounting::new());
        let files = Files::new(&given, self.settings.unit, first, accounting);
        let mut files = Files { head_hash, within: contents.clone(), ..files };
        let mut head = Vec::new();
        let aside = reading.listeners.1.aside();
        let how = How { options: self.settings.reading, binds: self.settings.binds, aside: aside.as_deref() };
        let outcome = read_with(bytes, how, &mut |batch: &mut Batch| {
            let room = foreign::HEAD_BYTES.saturating_sub(head.len());
            head.extend_from_slice(&batch.bytes[..batch.bytes.len().min(room)]);
            files.batch(batch, reading)
        });
        let (mut read, accounting) = files.finish(reading);
        self.accounting = accounting;
        if let Some(contents) = contents {
            forget_parts(&mut read, &contents);
            read.iter_mut().take(1).for_each(|file| file.contents = contents.take());
        }
        let timed_records: u64 = read.iter().map(|file| file.timed_records).sum();
        match outcome {
            Err(error) if timed_records == 0 => Err(Problem::unreadable(&given, error)),
            Ok(()) if timed_records == 0 => {
                let mut unread = read.iter().flat_map(|file| &file.unread);
                let what = if unread.any(|unread| unread.kind == OUT_OF_RANGE) {
                    "it has lines of calls and waits, and each has a number beyond 64 bits: the file is damaged"
                } else {
                    foreign::describe(&head)
                };
                Err(Problem::NotATrace { name: given.name(), what })
            }
            outcome => {
                let cut_short = outcome.err().map(|error| error.to_string());
                read.iter_mut().rev().take(1).for_each(|file| file.cut_short.clone_from(&cut_short));
                Ok(read)
            }
        }
    }

    fn finish(self: Box<Self>, listeners: &mut Listeners<'_>) -> Finished {
        let accounted: Accounted = self.accounting.finish(listeners);
        Finished { accounted, ..Finished::default() }
    }
}

/// Takes off the headers of an archive's files the parts of the trace that are in the archive too: none of them is
/// missing.
fn forget_parts(files: &mut [SourceFile], contents: &SharedContents) {
    for FileHeader { continued_from, continues_in, .. } in files.iter_mut().map(|file| &mut file.header) {
        for part in [continued_from, continues_in] {
            if part.as_deref().is_some_and(|path| contents.has_trace(path)) {
                *part = None;
            }
        }
    }
}

/// The unit of time and the first stamp of a plain or compressed file; `None` of anything else, which can be read once
/// only: there what is read first has to do.
pub(super) fn clock(unit: Option<Unit>, given: &Given) -> Result<Option<FileClock>, Problem> {
    let Given::File(path) = given else { return Ok(None) };
    if !path.is_file() {
        return Ok(None);
    }
    // The end says nothing but the unit.
    let looked = if unit.is_some() { probe_head(path) } else { probe(path) };
    let ends = match (looked, unit) {
        (Ok(ends), _) => ends,
        // It is read as far as it can be.
        (Err(_), Some(unit)) => return Ok(Some(FileClock { scale: TimeScale::given(unit), stamp: None })),
        (Err(problem), None) => return Err(problem),
    };
    let mut probe = TimeScaleProbe::default();
    probe.records(&ends.head, 0..ends.head_records());
    // Where another file begins at once, the end is not this one's.
    let is_one = ends.head_records() == ends.head.records.len();
    ends.tail.iter().filter(|_| is_one).for_each(|tail| probe.batch(tail));
    Ok(Some(probe.clock(unit)))
}

/// An input under way: a file, or several one behind the other, as `cat` makes of them. Each begins with a preamble,
/// and each has its own unit of time.
#[derive(Clone, Default)]
pub(super) struct Files {
    accounting: Accounting,
    /// The unit, where it is given.
    unit: Option<Unit>,
    /// The clock of the first file, where it is known before the reading.
    first: Option<FileClock>,
    name: String,
    head_hash: Option<u64>,
    /// The files of the archive that the input is, and the number of the one that is being read.
    within: Option<SharedContents>,
    member: Option<usize>,
    /// The files so far, the last one being read.
    begun: Vec<SourceFile>,
    /// The lines of each of them that were not read.
    unread: Vec<UnreadLines>,
    /// What was read and waits until there is enough of it to find its unit.
    held: VecDeque<Batch>,
    /// The records of the first of these batches from which on they wait.
    held_from: usize,
    /// Calls and waits of the last of the files before those that are added to it.
    timed_before: u64,
    /// Where the last of the files begins.
    begin: u64,
    /// How far was read.
    end: u64,
}

impl Files {
    /// Nothing of the input is read yet. `first` is the clock of its first file, where it is known before the reading.
    pub(super) fn new(given: &Given, unit: Option<Unit>, first: Option<FileClock>, accounting: Accounting) -> Files {
        Files { accounting, unit, first, name: given.name(), ..Files::default() }
    }

    /// The clock of the first file, of which nothing is read yet.
    pub(super) fn set_clock(&mut self, first: FileClock) {
        self.first = Some(first);
    }

    /// Whether no call and no wait was accounted for.
    pub(super) fn is_without_calls(&self) -> bool {
        self.begun.iter().all(|file| file.timed_records == 0)
    }

    pub(super) fn batch(&mut self, batch: &mut Batch, reading: &mut Reading<'_, '_>) -> ControlFlow<()> {
        self.end = batch.offset + batch.bytes.len() as u64;
        if let (true, Some(clock)) = (self.begun.is_empty(), self.first) {
            self.begin(clock, 0, reading);
        }
        if self.begun.is_empty() || !self.held.is_empty() {
            self.held.push_back(mem::take(batch));
        } else if let Some(next) = batch.next_file(0, self.accounting.is_begun()) {
            self.take(batch, 0..next, reading);
            self.held.push_back(mem::take(batch));
            self.held_from = next;
        } else {
            self.take(batch, 0..batch.records.len(), reading);
        }
        self.release(Rest::More, reading);
        reading.meter.read(&self.name, self.end)
    }

    /// How far was read.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Takes what waits, file by file, as far as the unit of each is known.
    fn release(&mut self, rest: Rest, reading: &mut Reading<'_, '_>) {
        while let Some(first) = self.held.front() {
            let begin = first.records.get(self.held_from).map_or(first.offset, |record| record.offset);
            let next = self.next_held();
            if next.is_none() && rest == Rest::More && self.end - begin < PROBE_BYTES as u64 {
                return;
            }
            if !self.is_same_process() {
                let clock = self.found(next);
                self.end_file(begin, reading);
                self.begin(clock, begin, reading);
            }
            let held = mem::take(&mut self.held);
            for (place, records) in parts(&held, self.held_from, next) {
                self.take(&held[place], records, reading);
            }
            if let Some((place, record)) = next {
                self.held = held.into_iter().skip(place).collect();
                self.held_from = record;
            }
        }
        self.held_from = 0;
    }

    /// Where the file behind the one that waits begins: a batch, and a record.
    fn next_held(&self) -> Option<(usize, usize)> {
        let mut is_begun = false;
        for (place, batch) in self.held.iter().enumerate() {
            let from = if place == 0 { self.held_from } else { 0 };
            if let Some(record) = batch.next_file(from, is_begun) {
                return Some((place, record));
            }
            is_begun |= batch.has_lines(from..batch.records.len());
        }
        None
    }

    /// Whether what waits was written by the process whose file is being read: a file that was removed is begun again.
    fn is_same_process(&self) -> bool {
        let (Some(first), false) = (self.held.front(), self.begun.is_empty()) else { return false };
        let value = |wanted: Attribute| {
            let marks = first.records[self.held_from..].iter().map_while(|record| match &record.body {
                Body::Mark(mark, _) => Some(mark),
                _ => None,
            });
            let mut values = marks.filter_map(|mark| match mark {
                Mark::Attribute(attribute, span) if *attribute == wanted => Some(first.text(span).into_owned()),
                _ => None,
            });
            values.next()
        };
        let header = self.accounting.header();
        header.process.is_some()
            && value(Attribute::Process) == header.process
            && value(Attribute::Instance) == header.instance
    }

    /// The clock that the file that waits speaks for.
    fn found(&self, next: Option<(usize, usize)>) -> FileClock {
        let mut probe = TimeScaleProbe::default();
        for (place, records) in parts(&self.held, self.held_from, next) {
            probe.records(&self.held[place], records);
        }
        probe.clock(self.unit)
    }

    fn take(&mut self, batch: &Batch, records: Range<usize>, reading: &mut Reading<'_, '_>) {
        let mut from = records.start;
        while let Some(next) = self.next_member(batch, from..records.end) {
            if from < next {
                self.take_of_member(batch, from..next, reading);
            }
            self.member = self.number_at(batch.records[next].offset);
            // Marks before a preamble belong to the file that is begun by it.
            let is_begun_behind = |at: &usize| *at >= records.end && !batch.has_lines(next..*at);
            if !batch.versions.iter().any(is_begun_behind) {
                self.begin_member(reading);
            }
            from = next;
        }
        self.take_of_member(batch, from..records.end, reading);
    }

    /// Where among these records the next file of the archive begins that no preamble has begun.
    fn next_member(&self, batch: &Batch, records: Range<usize>) -> Option<usize> {
        let within = self.within.as_ref()?;
        let is_before = |record: &Record| within.number_at(record.offset) <= self.member;
        let next = records.start + batch.records[records.clone()].partition_point(is_before);
        (next < records.end).then_some(next)
    }

    /// Begins a file of the archive: what has a name in it is another one than in the file before, as where each file
    /// is given by itself. Its calls and waits are added to what the archive has so far.
    fn begin_member(&mut self, reading: &mut Reading<'_, '_>) {
        let Some(file) = self.begun.last_mut() else { return };
        if self.timed_before == 0 {
            file.header = self.accounting.header().clone();
        }
        self.timed_before = file.timed_records;
        self.accounting.end_file(&mut reading.listeners);
        self.accounting.begin_file(file.scale);
        self.accounting.name_file(&self.name);
        reading.note_file(&self.name);
    }

    /// The number of the archive's file that has this byte.
    fn number_at(&self, offset: u64) -> Option<usize> {
        self.within.as_ref().and_then(|within| within.number_at(offset))
    }

    fn take_of_member(&mut self, batch: &Batch, records: Range<usize>, reading: &mut Reading<'_, '_>) {
        let (Some(file), Some(lines)) = (self.begun.last_mut(), self.unread.last_mut()) else { return };
        batch.unread_at(&records).for_each(|unread| lines.add(unread));
        self.accounting.part(batch, records, &mut reading.listeners);
        file.timed_records = self.timed_before + self.accounting.timed_records();
    }

    fn begin(&mut self, FileClock { scale, stamp }: FileClock, offset: u64, reading: &mut Reading<'_, '_>) {
        let is_first = self.begun.is_empty();
        let name = if is_first { self.name.clone() } else { format!("{} from byte {}", self.name, grouped(offset)) };
        self.accounting.begin_file(scale);
        // The files of an archive are not looked at one by one: the stamp may be that of another one.
        self.accounting.expect_stamp(stamp.filter(|_| self.within.is_none()));
        self.accounting.name_file(&name);
        reading.note_file(&name);
        self.member = self.number_at(offset);
        if self.begun.len() >= FILES {
            return self.go_on();
        }
        let head_hash = self.head_hash.filter(|_| is_first);
        self.begun.push(SourceFile { name, head_hash, scale, ..SourceFile::default() });
        self.unread.push(UnreadLines::of(self.within.clone()));
        self.begin = if is_first { 0 } else { offset };
        self.timed_before = 0;
    }

    /// Adds what comes to the last file.
    fn go_on(&mut self) {
        let Some(file) = self.begun.last_mut() else { return };
        self.timed_before = file.timed_records;
        if !file.name.ends_with(AND_BEHIND) {
            file.name += AND_BEHIND;
        }
    }

    fn end_file(&mut self, end: u64, reading: &mut Reading<'_, '_>) {
        let Some(file) = self.begun.last_mut() else { return };
        file.bytes = end - self.begin;
        if self.timed_before == 0 {
            file.header = self.accounting.header().clone();
        }
        self.accounting.end_file(&mut reading.listeners);
    }

    /// The files, and the accounting for the next input.
    pub(super) fn finish(mut self, reading: &mut Reading<'_, '_>) -> (Vec<SourceFile>, Accounting) {
        self.release(Rest::Nothing, reading);
        self.end_file(self.end, reading);
        for (file, unread) in self.begun.iter_mut().zip(self.unread) {
            let (all, within) = unread.finish(ROW.kind);
            let within = within.into_iter().map(|(name, unread)| (format!("{}/{name}", self.name), unread));
            (file.unread, file.unread_within) = (all, within.collect());
        }
        (self.begun, self.accounting)
    }
}

/// The records of batches from a record of the first one up to the one at `next`: the place of each batch, and which of
/// its records.
fn parts(
    batches: &VecDeque<Batch>,
    from: usize,
    next: Option<(usize, usize)>,
) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
    let last = next.map_or(batches.len(), |(place, _)| place + 1);
    batches.iter().take(last).enumerate().map(move |(place, batch)| {
        let begin = if place == 0 { from } else { 0 };
        let end = next.filter(|(last, _)| *last == place).map_or(batch.records.len(), |(_, record)| record);
        (place, begin..end)
    })
}
