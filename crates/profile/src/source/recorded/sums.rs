//! From looks to segments: one row for what a session did in a second, with its looks and its time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use measure::Parameters;
use measure::words::Word;
use recording::{Blocked, Counted, Head, Looks, Lost, Process, Segment, Statement};

use super::read_sums::{ReadSums, SLICE_SECONDS};
use super::source::is_other_server;
use crate::event::{StatementIndex, Ticks};
use crate::source::sampled::names::{NO_STATEMENT, Names};
use crate::source::sampled::{Backend, Sample, State, Traced};
use crate::tables::sampled::Counters;

/// A segment ends before its time where it has more rows.
const ROWS_MAX: usize = 1 << 19;

/// Microseconds.
const SECOND: i64 = 1_000_000;

/// The clock was set where it is this far from where it should be: a segment has one clock.
const STEP: i64 = SECOND;

/// Between two looks this far apart nothing is known of the time between them.
const STALL: Ticks = Ticks::from_micros(60 * SECOND);
const STALLED: &str = "readpath did not run";

/// Most events, those of extensions with names of their own among them.
const EVENTS_MAX: usize = 1 << 10;

/// Times are rounded to this many nanoseconds, some millisecond; what is left over, or is too much, goes into the
/// process's next row, so that no row is favoured and sums stay exact. It makes a file smaller by a third.
const GRAIN: i64 = 1 << 20;

/// How looks are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumsSettings {
    /// Whether texts of statements are kept.
    pub keeps_texts: bool,
    /// How long a segment is, in microseconds: those of a minute end with the minutes of the wall clock.
    pub segment: i64,
}

/// The usual ones.
impl Default for SumsSettings {
    fn default() -> SumsSettings {
        SumsSettings { keeps_texts: true, segment: 60 * SECOND }
    }
}

/// Sums up the looks at a server.
#[derive(Debug, Default)]
pub struct Sums {
    settings: SumsSettings,
    subject: Parameters,
    /// The wall clock at the begin of the segment, and the time since, which no setting of the clock changes.
    begin: i64,
    elapsed: Ticks,
    /// The second that is summed up, from 1970 on.
    second: i64,
    in_second: (u64, Ticks),
    segment: Segment,
    names: Names,
    statements: Places,
    events: HashMap<Arc<str>, u32, RandomState>,
    texts: HashMap<String, Arc<str>, RandomState>,
    sessions: HashMap<u32, Session, RandomState>,
    reads: ReadSums,
    /// The second with which the reads begin that are summed up.
    slice: i64,
    /// Why reads are not traced.
    untraced: Option<Arc<str>>,
}

/// By the number of a statement, its place in the segment.
type Places = HashMap<StatementIndex, u32, RandomState>;

/// What one process did in the second that is summed up.
#[derive(Debug, Default)]
struct Session {
    backend: Arc<Backend>,
    process: u32,
    /// The execution that it was seen in last.
    execution: Option<(Option<i64>, StatementIndex)>,
    parts: Vec<(Doing, Sum)>,
    /// One thing that it did for whole seconds, and goes on to do.
    run: Option<recording::Sample>,
    /// The place of its last row, where it has no run.
    last: Option<usize>,
    rest: Rest,
}

/// Time that the rows so far have too little, in nanoseconds, or too much where it is below zero.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    time: i64,
    queued: i64,
}

/// What a row of a process differs by from its others of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Doing {
    state: State,
    statement: u32,
    event: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    looks: u64,
    time: Ticks,
    queued: Ticks,
}

impl Sums {
    /// Nothing summed up yet. The wall clock is in microseconds since 1970, UTC; `subject` says what is sampled and
    /// how.
    pub fn new(wall_clock: i64, subject: Parameters, settings: SumsSettings) -> Sums {
        let mut sums = Sums { settings, subject, ..Sums::default() };
        sums.begin_segment(wall_clock);
        sums
    }

    /// Another server, or the same after a restart; with the reason why its reads are not traced, where they are not.
    /// Gives whether it is another one, where identifiers say so.
    pub fn set_subject(&mut self, subject: Parameters, untraced: Option<&str>) -> bool {
        let is_other = is_other_server(&self.subject, &subject);
        self.segment.head.subject.clone_from(&subject);
        self.subject = subject;
        self.untraced = untraced.map(Arc::from);
        is_other
    }

    /// Takes what was traced of reads until a look at these processes, at a moment in microseconds since 1970.
    pub fn trace(&mut self, at: i64, samples: &[Sample], traced: Traced) {
        self.reads.take((at, samples), traced, &mut self.names);
    }

    /// Takes a look at all processes, which stands for the time `since` the look before. Gives the segment that is
    /// over with it, if one is.
    pub fn look(&mut self, wall_clock: i64, since: Ticks, samples: &[Sample]) -> Option<Segment> {
        if since <= Ticks::ZERO {
            return None;
        }
        if since > STALL {
            return self.lose(wall_clock, since, STALLED);
        }
        self.elapsed += since;
        let now = self.now();
        let is_set = (wall_clock - now).abs() > STEP;
        let is_over = now.div_euclid(self.settings.segment) != self.begin.div_euclid(self.settings.segment)
            || self.segment.rows() >= ROWS_MAX;
        let second = if is_set { wall_clock } else { now }.div_euclid(SECOND);
        let mut over = None;
        if second != self.second {
            self.end_second();
            if is_set || is_over {
                let before = now - since.micros() as i64;
                let begin = (wall_clock - since.micros() as i64).max(second * SECOND);
                // A look stands for the time before it: where the clock was not set, none is between the two.
                over = Some(self.end_segment(if is_set { before } else { before.max(second * SECOND) }));
                self.begin_segment(begin);
                // Below zero where the wall clock lags behind: that of a machine whose time is slewed.
                self.elapsed = Ticks::from_micros(wall_clock - begin);
            } else if second.div_euclid(SLICE_SECONDS) != self.slice.div_euclid(SLICE_SECONDS) {
                self.end_slice();
                self.slice = second;
            }
            self.second = second;
        }
        self.in_second.0 += 1;
        self.in_second.1 += since;
        samples.iter().for_each(|sample| self.add(sample, since));
        over
    }

    /// A time without samples, which ends now. Gives the segment of what was before.
    pub fn lose(&mut self, wall_clock: i64, time: Ticks, reason: &str) -> Option<Segment> {
        let over = self.take(wall_clock);
        self.begin_segment(wall_clock);
        let time = time.nanos().unwrap_or(i64::MAX);
        self.segment.lost.push(Lost { at: wall_clock, time, reason: reason.into() });
        over
    }

    /// Takes an answer to who blocks whom: sessions that wait, each with those that it waits for.
    pub fn blocking(&mut self, answer: &[(u32, Vec<u32>)]) {
        let at = self.second * SECOND;
        for (pid, blockers) in answer {
            if let Some(blocker) = blockers.first()
                && self.segment.rows() < ROWS_MAX
            {
                self.segment.blocked.push(Blocked { at, pid: *pid, blocker: *blocker });
            }
        }
    }

    /// Ends the segment here and gives it, unless it has nothing; the next one begins.
    pub fn take(&mut self, wall_clock: i64) -> Option<Segment> {
        self.end_second();
        let now = self.now();
        let segment = self.end_segment(now);
        self.begin_segment(wall_clock);
        (!segment.looks.is_empty() || !segment.lost.is_empty()).then_some(segment)
    }

    /// Whether the texts of all statements are wanted with the next look.
    pub fn takes_texts(&mut self) -> bool {
        std::mem::take(&mut self.names.wants_texts)
    }

    /// The wall clock by the time that has passed since the segment began. It stands still at that beginning until a
    /// wall clock that lags behind has caught up.
    fn now(&self) -> i64 {
        self.begin + (self.elapsed.micros() as i64).max(0)
    }

    /// Each segment stands by itself: names begin anew, and the texts of what goes on are asked for again. So memory
    /// has its bounds however long it is recorded.
    fn begin_segment(&mut self, wall_clock: i64) {
        self.begin = wall_clock;
        self.elapsed = Ticks::ZERO;
        self.second = wall_clock.div_euclid(SECOND);
        self.slice = self.second;
        self.in_second = (0, Ticks::ZERO);
        let head = Head { number: 0, begin: wall_clock, end: wall_clock, subject: self.subject.clone() };
        self.segment = Segment { head, ..Segment::default() };
        self.names = Names::default();
        self.names.wants_texts = true;
        self.statements.clear();
        self.events.clear();
        self.texts.clear();
        self.sessions.clear();
    }

    /// What was summed up, with rows that belong together side by side: so they take least room.
    fn end_segment(&mut self, end: i64) -> Segment {
        for session in self.sessions.values_mut() {
            session.end(&mut self.segment.samples);
        }
        self.reads.settle();
        self.end_slice();
        let Sums { reads, segment, statements, untraced, .. } = self;
        reads.end_segment(segment, untraced.as_ref(), &mut |segment, index| place(statements, segment, index));
        for (index, place) in &self.statements {
            // A statement that was first known by its text may have got the server's identifier.
            let (id, text) = self.names.shown(*index);
            let one = &mut self.segment.statements[*place as usize];
            one.id = if *index == NO_STATEMENT { "".into() } else { id.into() };
            one.text = if self.settings.keeps_texts { text.into() } else { "".into() };
        }
        let mut segment = std::mem::take(&mut self.segment);
        segment.head.end = end.max(segment.head.begin);
        segment.samples.sort_by_key(|one| (one.process, one.state, one.statement, one.event, one.at));
        segment
    }

    fn add(&mut self, sample: &Sample, since: Ticks) {
        let pid = sample.backend.pid;
        let known = self.sessions.remove(&pid);
        let mut session = match known {
            Some(known) if Arc::ptr_eq(&known.backend, &sample.backend) || known.backend == sample.backend => known,
            other => {
                // Another process has its number, or it serves another role.
                if let Some(mut other) = other {
                    other.end_second(self.second * SECOND, &mut self.segment.samples);
                    other.end(&mut self.segment.samples);
                }
                self.session(&sample.backend)
            }
        };
        let doing = self.doing(sample, &mut session);
        let place = session.parts.iter().position(|(known, _)| *known == doing).unwrap_or_else(|| {
            session.parts.push((doing, Sum::default()));
            session.parts.len() - 1
        });
        let sum = &mut session.parts[place].1;
        sum.looks += 1;
        sum.time += since;
        sum.queued += queued(since, sample);
        self.sessions.insert(pid, session);
    }

    fn session(&mut self, backend: &Arc<Backend>) -> Session {
        let process = Process {
            pid: backend.pid,
            started: backend.start,
            kind: self.text(&backend.kind),
            user: self.text(&backend.user),
            database: self.text(&backend.database),
            application: self.text(&backend.application),
        };
        let place = self.segment.processes.len() as u32;
        self.segment.processes.push(process);
        Session { backend: Arc::clone(backend), process: place, ..Session::default() }
    }

    fn doing(&mut self, sample: &Sample, session: &mut Session) -> Doing {
        let has_statement = matches!(sample.state, State::Active | State::IdleInTransaction);
        let index = if has_statement {
            let known = session.execution.filter(|(start, _)| *start == sample.query_start).map(|(_, index)| index);
            let index = self.names.statement(sample, known);
            session.execution = Some((sample.query_start, index));
            index
        } else {
            session.execution = None;
            NO_STATEMENT
        };
        let statement = place(&mut self.statements, &mut self.segment, index);
        Doing { state: sample.state, statement, event: self.event(sample) }
    }

    /// Makes rows of the reads of the last seconds.
    fn end_slice(&mut self) {
        let seconds = u32::try_from(self.second - self.slice + 1).unwrap_or(1).max(1);
        let begun = (self.slice * SECOND, seconds);
        let Sums { reads, segment, statements, .. } = self;
        reads.end_slice(begun, segment, &mut |segment, index| place(statements, segment, index));
    }

    /// Takes down that an event that had one name, as long as the server had not said its own, has another one.
    pub fn rename(&mut self, was: &str, is: &str) {
        let Some(place) = self.events.remove(was) else { return };
        self.events.entry(is.into()).or_insert(place);
        rename_event(&mut self.segment, was, is);
    }

    fn event(&mut self, sample: &Sample) -> u32 {
        let name = sample.event.as_deref().unwrap_or_default();
        if let Some(place) = self.events.get(name) {
            return *place;
        }
        // Beyond all that a server has, they share their type's name.
        let name: Arc<str> = match self.events.len() < EVENTS_MAX {
            true => name.into(),
            false => format!("{}:other", name.split(':').next().unwrap_or_default()).into(),
        };
        let events = &mut self.segment.events;
        *self.events.entry(name).or_insert_with_key(|name| {
            events.push(Arc::clone(name));
            events.len() as u32 - 1
        })
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        Arc::clone(self.texts.entry(text.into()).or_insert_with(|| text.into()))
    }

    /// Makes rows of the second that is over. Processes that were not met in it are gone.
    fn end_second(&mut self) {
        let (looks, time) = std::mem::take(&mut self.in_second);
        let at = self.second * SECOND;
        if looks > 0 {
            self.segment.looks.push(Looks { at, looks, time: time.nanos().unwrap_or(i64::MAX) });
        }
        let rows = &mut self.segment.samples;
        self.sessions.retain(|_, session| {
            let is_there = !session.parts.is_empty();
            session.end_second(at, rows);
            if !is_there {
                session.end(rows);
            }
            is_there
        });
    }
}

/// The place of a statement in a segment.
fn place(statements: &mut Places, segment: &mut Segment, index: StatementIndex) -> u32 {
    *statements.entry(index).or_insert_with(|| {
        segment.statements.push(Statement::default());
        segment.statements.len() as u32 - 1
    })
}

impl Session {
    /// Makes rows of what it did in the second. One thing alone is a run, which the next second may go on with.
    fn end_second(&mut self, at: i64, rows: &mut Vec<recording::Sample>) {
        let parts = std::mem::take(&mut self.parts);
        let is_one = parts.len() == 1;
        for (doing, sum) in &parts {
            let row = self.row(at, *doing, sum);
            match self.run.as_mut().filter(|run| is_one && is_continued(run, &row)) {
                Some(run) => {
                    run.seconds += 1;
                    run.looks += row.looks;
                    run.time += row.time;
                    run.queued += row.queued;
                }
                None => {
                    let run = std::mem::replace(&mut self.run, is_one.then_some(row));
                    rows.extend(run);
                    if !is_one {
                        self.last = Some(rows.len());
                        rows.push(row);
                    }
                }
            }
        }
        // Its room is used again.
        self.parts = parts;
        self.parts.clear();
    }

    /// Ends what goes on. Its last row gets what is left over, so that its rows add up to its time.
    fn end(&mut self, rows: &mut Vec<recording::Sample>) {
        let place = match self.run.take() {
            Some(run) => {
                rows.push(run);
                Some(rows.len() - 1)
            }
            None => self.last,
        };
        if let Some(row) = place.and_then(|place| rows.get_mut(place)) {
            row.time = (row.time + std::mem::take(&mut self.rest.time)).max(0);
            row.queued = row.queued.min(row.time);
        }
    }

    fn row(&mut self, at: i64, doing: Doing, sum: &Sum) -> recording::Sample {
        let time = in_grains(sum.time, &mut self.rest.time);
        let queued = if sum.queued > Ticks::ZERO { in_grains(sum.queued, &mut self.rest.queued) } else { 0 };
        recording::Sample {
            at,
            seconds: 1,
            process: self.process,
            state: State::ALL.iter().position(|(state, ..)| *state == doing.state).unwrap_or(0) as u32,
            statement: doing.statement,
            event: doing.event,
            looks: sum.looks,
            time,
            queued: queued.min(time),
        }
    }
}

/// A time in whole grains, as nanoseconds; what is left over, or was given too much, is for the next one.
fn in_grains(time: Ticks, rest: &mut i64) -> i64 {
    let whole = time.nanos().unwrap_or(0).saturating_add(*rest);
    let rounded = (whole + GRAIN / 2).div_euclid(GRAIN).max(0) * GRAIN;
    *rest = whole - rounded;
    rounded
}

/// Whether a row goes on with the second after a run, and as the run was.
fn is_continued(run: &recording::Sample, row: &recording::Sample) -> bool {
    let of = |one: &recording::Sample| (one.state, one.statement, one.event, one.process);
    let is_even = (run.queued == 0) == (row.queued == 0);
    of(run) == of(row) && is_even && row.at == run.at + i64::from(run.seconds) * SECOND
}

/// Gives a segment that is over what the server counted of statements meanwhile, by their identifiers.
pub fn add_counters(segment: &mut Segment, counters: &BTreeMap<i64, (Counters, String)>) {
    let known = segment.statements.iter().enumerate().map(|(place, one)| (Arc::clone(&one.id), place));
    let places: HashMap<Arc<str>, usize> = known.collect();
    for (id, (counters, text)) in counters {
        let id: Arc<str> = id.to_string().into();
        let place = places.get(&id).copied().unwrap_or_else(|| {
            segment.statements.push(Statement { id, ..Statement::default() });
            segment.statements.len() - 1
        });
        let Counters { executions, rows, hits, reads } = counters.clone();
        let one = &mut segment.statements[place];
        one.counted = Some(Counted { executions, rows, hits, reads });
        if !text.is_empty() {
            // The server's text has no literals of one execution.
            one.text = text.as_str().into();
        }
    }
}

/// Gives relations their names, by the paths of their files.
pub fn name_relations(segment: &mut Segment, names: &BTreeMap<String, String>) {
    for relation in &mut segment.relations {
        if let Some(name) = names.get(&**relation) {
            *relation = name.as_str().into();
        }
    }
}

/// Gives an event of a segment its name. Two places may have one name: in the file they are the same.
pub fn rename_event(segment: &mut Segment, was: &str, is: &str) {
    segment.events.iter_mut().filter(|event| &***event == was).for_each(|event| *event = is.into());
}

/// The part of a sample's time in which the process was ready and did not run.
fn queued(since: Ticks, sample: &Sample) -> Ticks {
    let is_running = sample.state == State::Active && sample.event.is_none();
    sample.processor.filter(|_| is_running).map_or(Ticks::ZERO, |processor| processor.parts(since).0)
}
