//! The source of profiles from recordings.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use foldhash::fast::RandomState;
use measure::Parameters;
use measure::quantity::three_digits;
use measure::sorting;
use recording::{Lost, Segment, SegmentName};

use super::answers::{Answered, Answers};
use super::read_sums::SLICE_SECONDS;
use super::replay::replay;
use crate::event::Ticks;
use crate::input::{Given, Problem, foreign};
use crate::observe::Listeners;
use crate::source::contract::{Finished, Input, Reading, Source, SourceFile, SourceRow, SourceSettings};
use crate::source::period::{Period, RecordingTime, WallClock, begin_of_second, end_of_second};
use crate::source::sampled::reads::Reads;
use crate::source::sampled::{Accounting, Ending, Observed, SAMPLED_SOURCE, State};
use crate::tables::sampled::{Counters, OwnCost};

/// The row of the table of sources. A recording's profile is one of samples: it compares with those of the same server.
pub const ROW: SourceRow = SourceRow {
    kind: foreign::RECORDINGS,
    database: "PostgreSQL",
    name: Some(SAMPLED_SOURCE),
    recognises: |_, head| recording::is_segment(head),
    names: |path| SegmentName::of(path).is_some(),
    // A segment of a time at which nothing was done says just that.
    shows: |_, _| true,
    lacks: "it holds no sample",
    is_read_by_period: true,
    unexported: Some(
        "a recording is Parquet already: docs/events.md has its columns, and --sql recorded-events prints SQL that \
         runs in its folder.",
    ),
    unused: &[
        ("time_scale", "times of a recording are in nanoseconds"),
        ("since", "a recording is read from one time to another: --from and --to"),
        ("until", "a recording is read from one time to another: --from and --to"),
        ("workers", "one thread reads a recording"),
        ("binds", "samples hold no values of parameters"),
        ("statement", "samples hold no calls of one statement: --top shows more of them"),
        ("fold_literals", "the server tells its statements apart by itself, or their texts without literals do"),
        ("explain_unread", "a recording has no lines"),
    ],
    open: |settings| Box::new(RecordedSource::new(settings)),
};

/// A segment follows the one before where no more than this, in microseconds, lies between them: a few looks.
const GAP: i64 = 250_000;

/// What is asked for begins ahead of the first segment, or ends behind the last one, where it is more than this, in
/// microseconds: segments begin and end within a second.
const BESIDE_MIN: i64 = 1_000_000;

/// Most of the time that may have no account of the server's, such as that of a segment that a gap cut short.
const UNACCOUNTED_PART_MAX: f64 = 0.01;

/// Part of the time that may lie in segments that are read in part, or that have no counters. Beyond it no time is
/// divided by what the server counted, which is of whole segments.
const IN_PART_MAX: f64 = 0.02;

/// Why there is no account of a time that begins or ends where segments have one answer of the server.
const AMONG_SEGMENTS: &str = "the time begins or ends among segments that have one account together, because the \
                              server was slow to answer";

/// What the level of a recording ends with where running was told from waiting for a processor.
const WITH_PROCESSORS: &str = " and /proc";

/// Times of the wall clock that are read, in microseconds since 1970: the years to 2199. No recorder ran at others, and
/// the accounting has no room for most of them.
const CLOCKS: Range<i64> = 0..7_258_118_400_000_000;

/// Why a time is not in a recording where no segment says it.
const NOT_RUNNING: &str = "no recorder ran, or it got no samples or could not write them";

/// The same where segments were left out that may be of that time: a line of its own says which.
const LEFT_OUT: &str = "no recorder ran, it got no samples or could not write them, or segments of that time were left \
                        out, as damaged or another server's";

/// The same at both ends of the time that was asked for.
const NOTHING_AHEAD: &str = "the first part of the time asked for was not recorded";
const NOTHING_BEHIND: &str = "the last part of the time asked for was not recorded";

/// Most times without samples that are named one by one.
const AWAY_MAX: usize = 64;

/// A time of a recording with its dates, which the words of a command line may leave out.
fn in_words(span: &Range<i64>) -> String {
    let at = |micros: i64| WallClock(micros).to_string().replacen('T', " ", 1);
    match (span.start, span.end) {
        (i64::MIN, end) => format!("until {}", at(end)),
        (start, i64::MAX) => format!("from {}", at(start)),
        (start, end) => format!("from {} to {}", at(start), at(end)),
    }
}

/// The whole seconds that a span lies in: a recording has no shorter time.
fn whole_seconds(span: &Range<i64>) -> Range<i64> {
    let end = if span.end == i64::MAX { i64::MAX } else { end_of_second(span.end) };
    begin_of_second(span.start)..end
}

/// Reads segments, the oldest first.
#[derive(Default)]
struct RecordedSource {
    period: Period,
    /// The period by the wall clock, and why nothing is read where nothing was recorded in it, with whether it ends
    /// before it begins.
    span: Range<i64>,
    refusal: Option<(String, bool)>,
    accounting: Option<Accounting>,
    reads: Reads,
    /// Active time by the server's own account so far; why that is not known, where it is not.
    account: Ticks,
    no_account: Option<&'static str>,
    /// Microseconds of segments without one, and of all.
    unaccounted: (i64, i64),
    /// Most sessions at one time that the server did not show.
    hidden: u64,
    answers: Answers,
    /// By the first segments of the time, those ahead of them in their folders: the answer may be of both.
    ahead: BTreeMap<PathBuf, PathBuf>,
    /// What the recorder took of the time of the segments that say so.
    own: OwnTime,
    /// Why reads were not traced, as far as that is known.
    untraced: Option<String>,
    /// Where the last segment ended that was read, and the latest end of all: one may fill the gap of another folder.
    last: Option<i64>,
    latest: Option<i64>,
    subject: Parameters,
    /// That of the last segment which names the server's identifier, and whether any does not.
    identified: Parameters,
    is_any_unidentified: bool,
    /// The versions of the server, in the order in which they were met.
    versions: Vec<String>,
    /// Samples that were to be taken, times microseconds a second; whether any were of the shared memory, and of SQL.
    samples_asked: f64,
    is_from: (bool, bool),
    /// Whether running was told from waiting for a processor in some of the time, and whether it was not in some.
    is_divided: (bool, bool),
    /// The folder of the last segment with its times so far, and those of the folders before it: ends by begins.
    folder: Option<PathBuf>,
    here: Vec<(i64, i64)>,
    covered: BTreeMap<i64, i64>,
    /// Folders of the server, and its hosts by their addresses; folders of which a segment was left out.
    folders: BTreeSet<PathBuf>,
    hosts: BTreeSet<Host>,
    refused: BTreeSet<PathBuf>,
    /// The segments that were read, by the hash of their first bytes and their size; folders of which a copy of one was
    /// left out.
    known: HashMap<(u64, u64), String, RandomState>,
    copied: BTreeSet<PathBuf>,
    away: Vec<(String, Ticks)>,
    /// Whether a segment behind the last one that was read is damaged or another server's.
    has_left_out: bool,
    counted: BTreeMap<i64, (Counters, String)>,
    has_counters: bool,
    /// Whether segments that are read in part have some.
    has_counters_in_part: bool,
    /// Microseconds that were read of segments in part, and all that were read.
    in_part: (i64, i64),
    /// Those of whole segments for which the server was not asked what it had counted.
    uncounted: i64,
}

/// What recorders took, of segments that are read as a whole or in part: evenly all over each.
#[derive(Clone, Copy, Debug, Default)]
struct OwnTime {
    /// Nanoseconds on a processor, in this time of segments.
    cpu: (i64, i64),
    /// Nanoseconds of their sessions on the server, in this time of segments.
    session: (i64, i64),
}

impl OwnTime {
    fn add(&mut self, segment: &Segment) {
        let Some(own) = segment.own else { return };
        let time = (segment.head.end - segment.head.begin).saturating_mul(1000);
        let add =
            |sums: &mut (i64, i64), spent: i64| *sums = (sums.0.saturating_add(spent), sums.1.saturating_add(time));
        add(&mut self.cpu, own.cpu);
        if let Some(session) = own.session {
            add(&mut self.session, session);
        }
    }

    /// As parts of the time.
    fn cost(&self) -> OwnCost {
        let part = |(spent, time): (i64, i64)| (time > 0).then(|| spent as f64 / time as f64);
        OwnCost { cpu: part(self.cpu), session: part(self.session), ..OwnCost::default() }
    }
}

impl RecordedSource {
    fn new(settings: SourceSettings) -> RecordedSource {
        RecordedSource { period: settings.period, span: i64::MIN..i64::MAX, ..RecordedSource::default() }
    }

    fn add(&mut self, name: &str, segment: &Segment, span: &Range<i64>, reading: &mut Reading<'_, '_>) -> u64 {
        let head = &segment.head;
        let begin = head.begin.max(span.start);
        if head.end <= span.start || begin >= span.end {
            return 0;
        }
        if self.last.is_none() {
            let ahead = self.span.start..begin;
            let reason = segment.lost.first().filter(|lost| is_since(lost, ahead.start));
            self.note_unrecorded(ahead, reason.map_or(self.unless_left_out(NOTHING_AHEAD), |lost| &lost.reason));
        }
        let (not_running, has_left_out) = (self.unless_left_out(NOT_RUNNING), std::mem::take(&mut self.has_left_out));
        let accounting = self.accounting.get_or_insert_with(|| {
            reading.begin_file(name);
            Accounting::new(begin)
        });
        let gap = self.last.map(|last| begin - last);
        if gap.is_some_and(|gap| gap.abs() <= GAP) {
            accounting.set_clock(begin);
        } else if let Some(gap) = gap {
            let lost = Ticks::from_micros(gap.max(0));
            accounting.go_on_at(begin, lost, &mut reading.listeners);
            // What a recorder lost between segments that are left out is a part of it.
            let lost_all = segment.lost.first().filter(|lost| !has_left_out || is_since(lost, begin - gap));
            let reason = lost_all.map_or(not_running, |lost| &lost.reason);
            if gap > 0 && self.away.len() < AWAY_MAX {
                self.away.push((reason.to_string(), lost));
            }
        }
        let end = head.end.min(span.end);
        accounting.set_last_clock(end);
        let rows = replay(segment, span, (accounting, &mut self.reads), &mut reading.listeners);
        self.last = Some(end);
        self.latest = self.latest.max(self.last);
        self.subject.clone_from(&head.subject);
        if let Some(tracing) = segment.tracing.as_ref().filter(|tracing| !tracing.reason.is_empty()) {
            self.untraced = Some(tracing.reason.to_string());
        }
        let is_whole = head.begin >= span.start && head.end <= span.end;
        let time = end.saturating_sub(begin).max(0);
        self.in_part.1 = self.in_part.1.saturating_add(time);
        self.note_samples(&head.subject, time);
        let answered = self.answers.take(segment, is_whole, time);
        match answered {
            Answered::Later => {}
            Answered::Whole if is_uncounted(segment) => self.uncounted = self.uncounted.saturating_add(time),
            Answered::Whole => self.count(segment),
            Answered::InPart(time) => {
                self.in_part.0 = self.in_part.0.saturating_add(time);
                self.has_counters_in_part |= segment.statements.iter().any(|one| one.counted.is_some());
            }
        }
        self.account_for(segment, is_whole, answered);
        self.own.add(segment);
        rows
    }

    /// A reason for a time that is not in the profile, or one that allows for segments that were left out.
    fn unless_left_out(&self, reason: &'static str) -> &'static str {
        if self.has_left_out { LEFT_OUT } else { reason }
    }

    /// Notes a part of the time that is asked for, at one of its ends, of which nothing was recorded.
    fn note_unrecorded(&mut self, part: Range<i64>, reason: &str) {
        let is_asked_for = part.start > i64::MIN && part.end < i64::MAX;
        let time = part.end.saturating_sub(part.start).min(CLOCKS.end);
        if is_asked_for && time > BESIDE_MIN {
            self.away.push((reason.to_string(), Ticks::from_micros(time)));
        }
    }

    /// Notes how the samples of a time were taken, and of which version: a recorder that was started anew may have
    /// taken others, and a server may have been upgraded.
    fn note_samples(&mut self, subject: &Parameters, time: i64) {
        let version = text_of(subject, "version");
        if !version.is_empty() && !self.versions.iter().any(|known| known == version) {
            self.versions.push(version.into());
        }
        self.samples_asked += rate_of(subject) * time as f64;
        let is_of_memory = text_of(subject, "level").starts_with("memory");
        self.is_from = (self.is_from.0 || is_of_memory, self.is_from.1 || !is_of_memory);
        let is_divided = text_of(subject, "level").ends_with(WITH_PROCESSORS);
        self.is_divided = (self.is_divided.0 || is_divided, self.is_divided.1 || !is_divided);
    }

    /// Samples a second that were to be taken, on average of the time that is read.
    fn rate(&self) -> f64 {
        match self.in_part.1 {
            0 => rate_of(&self.subject),
            time => self.samples_asked / time as f64,
        }
    }

    /// Adds the server's own account of a segment's time. One that ended with the recorder has none.
    fn account_for(&mut self, segment: &Segment, is_whole: bool, answered: Answered) {
        let time = segment.head.end.saturating_sub(segment.head.begin).max(0);
        self.unaccounted.1 = self.unaccounted.1.saturating_add(time);
        self.hidden = self.hidden.max(segment.hidden);
        if self.no_account.is_some() {
            return;
        }
        match segment.account {
            Some(_) if is_whole && matches!(answered, Answered::InPart(_)) => self.no_account = Some(AMONG_SEGMENTS),
            Some(time) if is_whole => self.account += Ticks::from_nanos(time.max(0).unsigned_abs()),
            Some(_) => self.no_account = Some("the time begins or ends within a segment, which has one account"),
            None => self.unaccounted.0 = self.unaccounted.0.saturating_add(time),
        }
    }

    /// Ends with the last segment, or with the last one of a folder: an answer that is still to come was not read.
    fn end_answers(&mut self) {
        let open = self.answers.end();
        self.in_part.0 = self.in_part.0.saturating_add(open);
        if open > 0 {
            self.no_account.get_or_insert(AMONG_SEGMENTS);
        }
    }

    /// What the server counted in a segment that is read as a whole.
    fn count(&mut self, segment: &Segment) {
        for one in &segment.statements {
            let Some((counted, id)) = one.counted.zip(one.id.parse::<i64>().ok()) else { continue };
            self.has_counters = true;
            let (known, text) = self.counted.entry(id).or_default();
            known.executions = known.executions.saturating_add(counted.executions);
            known.rows = known.rows.saturating_add(counted.rows);
            known.hits = known.hits.saturating_add(counted.hits);
            known.reads = known.reads.saturating_add(counted.reads);
            if text.is_empty() {
                *text = one.text.to_string();
            }
        }
    }

    /// Whether the server's counters are of much less than the time that is read.
    fn is_counted_in_part(&self) -> bool {
        let (in_part, all) = self.in_part;
        self.has_counters && in_part.saturating_add(self.uncounted) as f64 > IN_PART_MAX * all as f64
    }

    /// Whether a segment is left out because it is another server's: the statements and sessions of both would be one.
    /// The first one of its folder is a problem. Within a folder, one server can have had two addresses, and only their
    /// identifiers tell two servers apart.
    fn refuse_other_server(&mut self, path: &Path, segment: &Segment) -> Result<bool, Problem> {
        let folder = folder(path);
        let subject = &segment.head.subject;
        let host = Host::of(subject);
        let is_named = !text_of(subject, "server").is_empty();
        let is_known = self.hosts.is_empty() || self.hosts.iter().any(|known| known.is_same(&host));
        let is_other = is_other_server(&self.identified, subject);
        if !is_other && (!is_named || is_known || self.folders.contains(&folder)) {
            self.folders.insert(folder);
            if is_named {
                self.add_host(host);
            }
            match text_of(subject, IDENTIFIER) {
                "" => self.is_any_unidentified = true,
                _ => self.identified.clone_from(subject),
            }
            return Ok(false);
        }
        if !self.refused.insert(folder) {
            return Ok(true);
        }
        let first = if is_other { &self.identified } else { &self.subject };
        let (server, first) = (server_of(subject), server_of(first));
        Err(Problem::OtherServer { name: path.display().to_string(), server, first })
    }

    /// Takes a host of the server. Where one address was recorded without its machine, by an earlier version, and with
    /// it, the machine holds for both: else the address alone would let in every other machine's.
    fn add_host(&mut self, host: Host) {
        let of_address = |known: &Host| known.is_same(&host);
        if !host.machine.is_empty() {
            self.hosts.retain(|known| !of_address(known));
        } else if self.hosts.iter().any(of_address) {
            return;
        }
        self.hosts.insert(host);
    }

    /// The part of a span that no other folder has had a segment of; `None` where nothing of this segment lies in it.
    /// The first such segment of a folder is a problem. Within a folder, times that overlap are those of a clock that
    /// was set back, and have all passed.
    fn left_of(&mut self, path: &Path, segment: &Segment, span: &Range<i64>) -> Result<Option<Range<i64>>, Problem> {
        let folder = folder(path);
        if self.folder.as_ref() != Some(&folder) {
            let RecordedSource { here, covered, .. } = self;
            here.drain(..).for_each(|one| cover(covered, one));
            self.folder = Some(folder.clone());
            self.end_answers();
        }
        let all = segment.head.begin.max(span.start)..segment.head.end.min(span.end);
        let mut left = all.clone();
        // A segment can begin a moment before the one ahead of it ends.
        let near = left.start.saturating_add(GAP);
        if let Some((_, end)) = self.covered.range(..=near).next_back().filter(|(_, end)| **end > near) {
            left.start = *end;
        }
        let next = self.covered.range(left.start.saturating_add(GAP)..).next();
        if let Some((begin, _)) = next.filter(|(begin, _)| **begin < left.end.saturating_sub(GAP)) {
            left.end = *begin;
        }
        if left.start < left.end {
            self.here.push((left.start, left.end));
            return Ok(Some(if left == all { span.clone() } else { left }));
        }
        match self.refused.insert(folder) {
            true => {
                let is_same_server = !self.is_any_unidentified;
                Err(Problem::SameTime { name: path.display().to_string(), is_same_server })
            }
            false => Ok(None),
        }
    }

    fn observed(&mut self) -> Observed {
        let (without, all) = self.unaccounted;
        if without as f64 > UNACCOUNTED_PART_MAX * all as f64 {
            self.no_account.get_or_insert("a part of the time was recorded without it");
        }
        self.end_answers();
        if let Some(latest) = self.latest {
            self.note_unrecorded(latest..self.span.end, self.unless_left_out(NOTHING_BEHIND));
        }
        let text = |key: &str| text_of(&self.subject, key).to_string();
        let rate = self.rate();
        let number = |key: &str| self.subject.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let (block_bytes, buffer_bytes) = (number("block_bytes"), number("shared_buffers"));
        let counters = self.has_counters.then(|| std::mem::take(&mut self.counted));
        let is_shown = |key: &str| key != MACHINE && key != IDENTIFIER;
        let mut subject: Parameters = self.subject.clone().into_iter().filter(|(key, _)| is_shown(key)).collect();
        if self.is_divided.1 && subject.contains_key("level") {
            // CPU time holds the wait for a processor where it does so in a part of the time.
            subject.insert("level".into(), text("level").trim_end_matches(WITH_PROCESSORS).into());
        }
        Observed {
            server: text("server"),
            version: text("version"),
            rate,
            level: self.level(rate, counters.is_some()),
            db_time: Some(self.no_account.map_or(Ok(self.account), |why| Err(why.into()))),
            hidden: self.hidden,
            counters,
            is_counted_in_part: self.is_counted_in_part(),
            block_bytes,
            buffer_bytes,
            subject,
            own: self.own.cost(),
            away: std::mem::take(&mut self.away),
            ..Observed::default()
        }
    }
}

impl RecordedSource {
    /// What the profile is made from, and what is not in it.
    fn level(&self, rate: f64, has_counters: bool) -> Vec<String> {
        let from = match self.is_from {
            (true, true) => "the server's shared memory and of pg_stat_activity",
            (true, false) => "the server's shared memory",
            (false, _) => "pg_stat_activity",
        };
        let rate = three_digits(rate);
        let mut said = vec![format!(
            "Made from a recording: samples of {from}, {rate} a second, as sums by second, session, statement and \
             event."
        )];
        if self.versions.len() > 1 {
            said.push(format!(
                "The server was of several versions: {}. Across major versions a statement may have two identifiers.",
                self.versions.join(", then ")
            ));
        }
        match self.is_divided {
            (true, false) => {}
            (false, _) => said.push("Running was not distinguished from waiting for a processor.".into()),
            (true, true) => {
                said.push("In a part of the time, running was not distinguished from waiting for a processor.".into());
            }
        }
        let of_counters = match (has_counters, self.is_counted_in_part()) {
            (true, false) => "pg_stat_statements gave executions, rows and reads of statements, of whole minutes.",
            (true, true) if self.uncounted > self.in_part.0 => {
                "pg_stat_statements gave executions, rows and reads of statements, of a part of the time: segments \
                 that ended with their recorder or before a gap have none, so that no time is divided by them."
            }
            (true, true) if self.answers.is_any_cut() => {
                "pg_stat_statements gave executions, rows and reads of statements, of several segments together: the \
                 profile's time begins or ends among them, so that no time is divided by them."
            }
            (true, true) => {
                "pg_stat_statements gave executions, rows and reads of statements, of whole minutes: the profile's \
                 time begins or ends within one, so that no time is divided by them."
            }
            (false, _) if self.has_counters_in_part => {
                "pg_stat_statements gave executions, rows and reads of statements, of whole minutes: the profile's \
                 time has none."
            }
            (false, _) => "Executions, rows, logical and physical reads of statements were not recorded.",
        };
        said.push(of_counters.into());
        said.push(match (&self.untraced, self.reads.is_traced()) {
            (_, true) => format!(
                "The kernel's tracepoints told which tier answered each read of a file, as sums of {SLICE_SECONDS} s."
            ),
            (Some(why), false) => {
                format!("Which tier answered a read was not recorded: {}.", why.trim_end_matches('.'))
            }
            (None, false) => "Which tier answered a read was not recorded.".into(),
        });
        said
    }
}

/// Whether sessions worked in a segment and the server was not asked what it counted meanwhile: a recorder's last one,
/// and one that a gap ended. Where the server's account is there, it was asked, and counted nothing.
fn is_uncounted(segment: &Segment) -> bool {
    let has_none = segment.account.is_none() && segment.statements.iter().all(|one| one.counted.is_none());
    let active = Segment::STATES.iter().position(|word| *word == State::Active.name());
    has_none && segment.samples.iter().any(|one| Some(one.state as usize) == active)
}

/// Whether a time without samples had begun by then. One that began later is only a part of what is missing, and its
/// reason is not that of the whole.
fn is_since(lost: &Lost, time: i64) -> bool {
    lost.at.saturating_sub(lost.time / 1_000) <= time.saturating_add(BESIDE_MIN)
}

/// Samples a second that a recorder was to take.
fn rate_of(subject: &Parameters) -> f64 {
    subject.get("rate").and_then(serde_json::Value::as_f64).unwrap_or(0.0)
}

/// A text of what a recording says of its server; empty where it does not say it.
fn text_of<'s>(subject: &'s Parameters, key: &str) -> &'s str {
    subject.get(key).and_then(|value| value.as_str()).unwrap_or_default()
}

/// What a recording calls the machine of a server that was reached by a socket or as `localhost`.
pub const MACHINE: &str = "machine";

/// What a recording calls the identifier that a server's files got when they were made: a standby has that of its
/// primary. Earlier versions did not record it, and not every role may ask for it.
pub const IDENTIFIER: &str = "system_identifier";

/// The server that a recording names, with the machine where its address alone does not say that.
pub fn server_of(subject: &Parameters) -> String {
    let part = |before: &str, key: &str| match text_of(subject, key) {
        "" => String::new(),
        text => format!("{before}{text}"),
    };
    let (machine, identifier) = (part(" of the machine ", MACHINE), part(", system identifier ", IDENTIFIER));
    format!("{}{machine}{identifier}", text_of(subject, "server"))
}

/// Whether what is recorded now is of another server than what was before, by their identifiers. One of a later major
/// version at the same address was upgraded: its files were made anew.
pub fn is_other_server(before: &Parameters, now: &Parameters) -> bool {
    let identifiers = [before, now].map(|subject| text_of(subject, IDENTIFIER));
    let major = |subject: &Parameters| {
        // Of a version to come too, such as 19beta1.
        let mut numbers = text_of(subject, "version").split(|letter: char| !letter.is_ascii_digit());
        numbers.next()?.parse::<u32>().ok()
    };
    let is_upgraded = || Host::of(before).is_same(&Host::of(now)) && major(before) < major(now);
    identifiers[0] != identifiers[1] && !identifiers.contains(&"") && !is_upgraded()
}

/// The port of an address that names none.
const USUAL_PORT: &str = ":5432";

/// The host of an address with its port, the folder of its socket, and the machine: the same server has them for every
/// user and every database.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Host {
    host: String,
    socket: String,
    /// Empty where the address is the same from every machine, and in recordings of earlier versions.
    machine: String,
}

impl Host {
    fn of(subject: &Parameters) -> Host {
        let address = text_of(subject, "server");
        let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
        let (rest, socket) = rest.split_once('?').unwrap_or((rest, ""));
        let host = rest.split_once('/').map_or(rest, |(host, _)| host);
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let host = host.strip_suffix(USUAL_PORT).unwrap_or(host);
        Host { host: host.into(), socket: socket.into(), machine: text_of(subject, MACHINE).into() }
    }

    fn is_same(&self, other: &Host) -> bool {
        let is_unnamed = self.machine.is_empty() || other.machine.is_empty();
        let has_same_address = (&self.host, &self.socket) == (&other.host, &other.socket);
        has_same_address && (is_unnamed || self.machine == other.machine)
    }
}

/// An input, and what its name says of its segment.
type Named = (Option<SegmentName>, Input);

/// The folder of a file, however it is named.
fn folder(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// Adds a time to times that do not touch one another: ends by begins.
fn cover(covered: &mut BTreeMap<i64, i64>, (mut begin, mut end): (i64, i64)) {
    while let Some((from, until)) = covered.range(..=end).next_back().map(|(from, until)| (*from, *until)) {
        if until < begin {
            break;
        }
        covered.remove(&from);
        (begin, end) = (begin.min(from), end.max(until));
    }
    covered.insert(begin, end);
}

/// By each input that has a part of the time, the one ahead of it in its folder, where that has none.
fn ahead(named: &[Named], has_part: impl Fn(&Option<SegmentName>) -> bool) -> BTreeMap<PathBuf, PathBuf> {
    let path = |(_, input): &Named| input.given.path().map(Path::to_path_buf);
    let is_border = |pair: &&[Named]| {
        let [before, first] = [&pair[0], &pair[1]];
        !has_part(&before.0) && has_part(&first.0) && folder_of(&before.1.given) == folder_of(&first.1.given)
    };
    let pairs = named.windows(2).filter(is_border);
    pairs.filter_map(|pair| Some((path(&pair[1])?, path(&pair[0])?))).collect()
}

/// The folder of an input; standard input is in none.
fn folder_of(given: &Given) -> Option<PathBuf> {
    given.path().map(folder)
}

/// The order in which inputs are read: those of a folder by number, because every recorder counts from 1. A folder is
/// left where nothing follows at once, for the one whose next segment begins first: what is read follows the clock
/// also where folders were recorded to in turn.
fn in_turn(inputs: Vec<Named>) -> Vec<Named> {
    let mut ordered = Vec::with_capacity(inputs.len());
    let mut by_folder: BTreeMap<Option<PathBuf>, Vec<Named>> = BTreeMap::new();
    for one in inputs {
        by_folder.entry(folder_of(&one.1.given)).or_default().push(one);
    }
    let begin_of = |(name, _): &Named| name.map(|name| name.begin);
    let mut folders = Vec::with_capacity(by_folder.len());
    let mut next = BTreeSet::new();
    for (place, mut of_folder) in by_folder.into_values().enumerate() {
        sorting::by_key(&mut of_folder, |(name, _)| *name);
        next.extend(of_folder.first().map(|one| (begin_of(one), place)));
        folders.push(of_folder.into_iter().peekable());
    }
    while let Some((_, place)) = next.pop_first() {
        let mut end = None;
        let follows = |one: &Named, end: Option<i64>| end.is_none_or(|end| begin_of(one).is_none_or(|at| at <= end));
        while let Some(one) = folders[place].next_if(|one| follows(one, end)) {
            end = Some(one.0.map_or(i64::MIN, |name| name.end));
            ordered.push(one);
        }
        next.extend(folders[place].peek().map(|one| (begin_of(one), place)));
    }
    ordered
}

/// From when to when inputs were recorded, by their names; `None` where none has one. A folder ends with its last
/// segment, where a clock was set back too.
fn ends_of(ordered: &[Named]) -> Option<(i64, i64)> {
    let mut ends: BTreeMap<Option<PathBuf>, (i64, i64)> = BTreeMap::new();
    for (name, input) in ordered {
        if let Some(name) = name {
            let ends = ends.entry(folder_of(&input.given)).or_insert((name.begin, name.end));
            *ends = (ends.0.min(name.begin), name.end);
        }
    }
    ends.into_values().reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
}

impl Source for RecordedSource {
    /// Oldest first, and only those that have a part of the period.
    fn in_order(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        let name = |input: &Input| input.given.path().and_then(SegmentName::of);
        let mut named = in_turn(inputs.into_iter().map(|input| (name(&input), input)).collect());
        let Some((first, last)) = ends_of(&named) else {
            self.span = whole_seconds(&self.period.span(i64::MIN, i64::MAX));
            return named.into_iter().map(|(_, input)| input).collect();
        };
        let asked = self.period.span(first, last);
        let (span, is_backwards) = (whole_seconds(&asked), asked.start >= asked.end);
        let has_part = |name: &Option<SegmentName>| {
            name.is_none_or(|name| name.begin < span.end && name.end > span.start && !is_backwards)
        };
        if !named.iter().any(|(name, _)| has_part(name)) {
            let (asked, held) = (in_words(&asked), in_words(&(first..last)));
            let nothing = match (is_backwards, self.period) {
                (true, _) => format!("the end is not after the beginning of the time asked for, {asked}"),
                // A date would be a guess: no recorded day says which one is meant.
                (false, Period { from: None, to: Some(time @ RecordingTime::TimeOfDay(_)) }) => {
                    format!("no day of the recording has the time {time}")
                }
                (false, _) => format!("nothing was recorded {asked}"),
            };
            self.refusal = Some((format!("{nothing}: the recording is {held} (UTC)"), is_backwards));
            named.truncate(1);
            return named.into_iter().map(|(_, input)| input).collect();
        }
        self.ahead = ahead(&named, has_part);
        named.retain(|(name, _)| has_part(name));
        self.span = span;
        named.into_iter().map(|(_, input)| input).collect()
    }

    fn read(&mut self, input: Input, reading: &mut Reading<'_, '_>) -> Result<Vec<SourceFile>, Problem> {
        let name = input.given.name();
        if let Some((sentence, is_backwards)) = self.refusal.clone() {
            return Err(Problem::NotRecorded { sentence, is_backwards });
        }
        let span = self.span.clone();
        let Given::File(path) = &input.given else {
            let error = io::Error::other("a recording is a folder of files, and not read from a pipe");
            return Err(Problem::Unreadable { name, error });
        };
        let (segment, bytes) = match recording::read(path) {
            // It was there: its recorder has removed it meanwhile, by its limits.
            Err(error) if error.kind() == io::ErrorKind::NotFound && input.head_hash.is_some() => return Ok(Vec::new()),
            read => read.map_err(|error| {
                self.has_left_out = true;
                Problem::unreadable(&input.given, error)
            })?,
        };
        // Ahead of what is left out, so that the reading of that can be broken off too.
        let _ = reading.meter.read(&name, bytes);
        if !CLOCKS.contains(&segment.head.begin) || !CLOCKS.contains(&segment.head.end) {
            let error = io::Error::other("by its clock it was recorded before 1970 or after 2199");
            return Err(Problem::Unreadable { name, error });
        }
        if segment.head.end <= span.start || segment.head.begin >= span.end {
            // Names are in whole seconds. It says nothing of the server that is read.
            return Ok(vec![SourceFile { name, bytes, ..SourceFile::default() }]);
        }
        let is_refused = self.refuse_other_server(path, &segment);
        // One that is refused without a word is that of a folder of which it was said.
        self.has_left_out |= !matches!(is_refused, Ok(false));
        if is_refused? {
            return Ok(Vec::new());
        }
        let key = input.head_hash.map(|hash| (hash, bytes));
        if let Some(first) = key.and_then(|key| self.known.get(&key)).cloned() {
            // The first one says it for all of its folder.
            let is_first = self.copied.insert(folder(path));
            return if is_first { Err(Problem::Copied { name, first }) } else { Ok(Vec::new()) };
        }
        let Some(span) = self.left_of(path, &segment, &span)? else { return Ok(Vec::new()) };
        self.known.extend(key.map(|key| (key, name.clone())));
        if let Some(before) = self.ahead.remove(path)
            && let Ok((unread, _)) = recording::read(&before)
        {
            self.answers.begin_behind(&unread);
        }
        let timed_records = self.add(&name, &segment, &span, reading);
        Ok(vec![SourceFile { name, bytes, timed_records, ..SourceFile::default() }])
    }

    fn finish(mut self: Box<Self>, listeners: &mut Listeners<'_>) -> Finished {
        let observed = self.observed();
        let mut accounting = self.accounting.take().unwrap_or_else(|| Accounting::new(0));
        accounting.end(listeners);
        let ending = Ending::new(accounting, self.reads, observed);
        Finished { accounted: ending.accounted(), sampled: Some(Box::new(ending)), ..Finished::default() }
    }
}
