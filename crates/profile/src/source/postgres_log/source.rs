//! From the entries of a server log to calls, waits and plan lines: the same stream that a trace gives.
//!
//! An execution with a plan is a call of kind Exec. Its reads are one wait per kind of I/O, because a log has sums and
//! no single reads. What a log cannot know stays unaccounted within calls: CPU, and waits other than for I/O.

mod accounting;
mod call_stack;
mod entry_without_plan;
mod execution;
mod fingerprint;
mod first_plan;
mod io_kind;
mod nesting;
mod registry;
mod repeated;
mod state;

use std::cell::Cell;
use std::io::{self, Read};

use super::entry::{Assembler, Entry, Lines};
use super::figures::{Figures, figures};
use super::findings::{BEYOND_BELIEF, CUT, LogSummary, MALFORMED, TOO_DEEP, findings, of_several_texts};
use super::format::{ByFile, LogFormat, detect};
use super::json::Fault;
use super::message::{PlanMessage, plan_message};
use super::order::by_first_stamp;
use super::plan::{PlanDocument, read_plan};
use crate::event::{Accounted, Context, Event, Observer, Problem, ProblemKind, Segment, SessionIndex, Ticks, Unread};
use crate::input::bytes::Bytes;
use crate::input::{self, SharedContents, foreign};
use crate::observe::Listeners;
use crate::source::contract::{Finished, Input, Meter, Reading, Source, SourceFile, SourceRow};
use crate::source::postgres_log::source::first_plan::holds_plan;
use crate::source::postgres_log::source::io_kind::EVENTS;
use crate::source::postgres_log::source::repeated::Executions;
use crate::source::postgres_log::source::state::{SUM_MAX, segment};
use crate::source::unread::UnreadLines;

pub use state::LogSource;

/// The row of the table of sources.
pub const ROW: SourceRow = SourceRow {
    kind: foreign::SERVER_LOGS,
    database: "PostgreSQL",
    name: Some("PostgreSQL server log"),
    recognises: |_, head| detect(head).is_some(),
    names: |_| false,
    shows: holds_plan,
    lacks: "it holds no plan in JSON, as auto_explain writes them",
    is_read_by_period: false,
    unexported: None,
    unused: &[
        ("time_scale", "times of a PostgreSQL log are in milliseconds"),
        ("think_time", "a PostgreSQL log does not show how long a session waited for its client"),
        ("since", "a server log is chosen by its name alone: --name"),
        ("until", "a server log is chosen by its name alone: --name"),
        ("from", "a server log is read as a whole, and compare takes a part of one"),
        ("to", "a server log is read as a whole, and compare takes a part of one"),
        ("workers", "one thread reads a PostgreSQL log"),
        ("binds", "values of parameters are not read from a PostgreSQL log"),
    ],
    open: |_| Box::new(LogSource::new()),
};

/// What lines behind a plan are counted as: those of an entry whose beginning was not found.
const BEHIND_A_PLAN: &str = "text behind a plan";

impl LogSource {
    /// A source that has read nothing.
    pub fn new() -> LogSource {
        let events = EVENTS.map(|name| Event::new(name, &["blocks".into()]));
        let context = Context { events: events.into(), call_names: vec!["EXEC".into()], ..Context::default() };
        // Entries are stamped by the wall clock itself.
        let context = Context { clock: Some((0, Ticks::ZERO)), ..context };
        LogSource { context, ..LogSource::default() }
    }

    /// Reads one log to its end, and returns its format; `None`, and nothing is emitted, where it is no log and no
    /// plan.
    ///
    /// # Errors
    /// Where the input cannot be read; what came before has been emitted.
    pub fn read_log(&mut self, input: impl Read, observer: &mut dyn Observer) -> io::Result<Option<LogFormat>> {
        let outcome = self.read_files(input, None, observer);
        self.end_unread();
        outcome
    }

    /// The same of the files of an archive, each in its own format: an entry of one goes on in no other one.
    fn read_files(
        &mut self,
        input: impl Read,
        files: Option<&SharedContents>,
        observer: &mut dyn Observer,
    ) -> io::Result<Option<LogFormat>> {
        let mut lines = Lines::new(input);
        let Some(first) = detect(lines.head()?) else { return Ok(None) };
        let format = Cell::new(first);
        let mut sink = |found: Result<&Entry, Unread>| {
            let emit = |entry: &Entry| self.entry(entry, format.get(), observer).map_err(|kind| entry.unread(kind));
            if let Err(unread) = found.and_then(emit) {
                self.unread.add(&unread);
            }
        };
        let mut assembler = ByFile::new(&format);
        let mut file = None;
        let outcome = loop {
            match lines.read_line() {
                Ok(Some(line)) => {
                    let number = files.and_then(|files| files.number_from(file, line.offset));
                    if std::mem::replace(&mut file, number) != number {
                        assembler.begin_file(&mut sink);
                    }
                    assembler.line(&line, &mut sink);
                }
                Ok(None) => break Ok(Some(first)),
                Err(error) => break Err(error),
            }
        };
        // What was read before a failure ends with an entry that may be whole.
        assembler.finish(&mut sink);
        outcome
    }

    /// Emits what waited for more to come, and returns what is known of the whole.
    pub fn end(mut self, observer: &mut dyn Observer) -> (Accounted, LogSummary) {
        self.end_unread();
        self.give_up_waiting(observer);
        for index in 0..self.states.len() {
            if let Some((first, last)) = self.states[index].end() {
                // What passed between executions without a time is not known, and counts as nothing.
                let untimed = self.states[index].untimed;
                let session = SessionIndex(index as u32);
                self.emit_segment(&Segment { untimed, ..segment(session, first, last) }, observer);
            }
        }
        let accounted = Accounted {
            problems: self.problems(),
            context: self.context,
            unread: self.summary.unread.clone(),
            clocks: self.clocks,
        };
        (accounted, self.summary)
    }

    /// Ends the counting of lines that were not read of one log: adds them to those of all logs. Gives them by kind,
    /// and by the file of an archive.
    fn end_unread(&mut self) -> (Vec<Unread>, Vec<(String, Unread)>) {
        let (unread, within) = std::mem::take(&mut self.unread).finish(ROW.kind);
        unread.iter().for_each(|one| Unread::add(&mut self.summary.unread, one));
        (unread, within)
    }

    /// What found no room of its own.
    fn problems(&self) -> Vec<Problem> {
        let all = [
            (ProblemKind::SessionsShared, self.shared_sessions),
            (ProblemKind::FurtherStatements, self.shared_statements),
            (ProblemKind::TimeTooLarge, self.segments_left_out),
        ];
        all.into_iter().filter_map(|(kind, count)| Problem::without_place(kind, count)).collect()
    }

    /// Emits what an entry says; the kind of what is not read.
    fn entry(&mut self, entry: &Entry, format: LogFormat, observer: &mut dyn Observer) -> Result<(), &'static str> {
        let (duration, plan) = match plan_message(&entry.message) {
            _ if format == LogFormat::Plan => (None, entry.message.as_slice()),
            None => {
                self.end_without_plan(entry, observer);
                return Err("messages without a plan");
            }
            Some(PlanMessage { plan, .. }) if !plan.starts_with(b"{") => {
                return Err("plans in another format than JSON");
            }
            Some(PlanMessage { duration, plan }) => (Some(duration), plan),
        };
        let mut document = read_plan(plan).map_err(|fault| match fault {
            Fault::Cut => CUT,
            Fault::Malformed => MALFORMED,
            Fault::OutOfRange => BEYOND_BELIEF,
            Fault::TooDeep => TOO_DEEP,
        })?;
        let time = duration.or(document.execution_time);
        let time = time.unwrap_or_else(|| figures(&document.nodes)[0].inclusive.time);
        let Some(amounts) = self.amounts_with(&document, time) else { return Err(BEYOND_BELIEF) };
        // A copy of what is not read is none of an execution that counts.
        let Some(session) = self.session_of_new(entry, (duration, plan), format) else {
            return Err("plans that a log of another format holds too");
        };
        self.amounts = amounts;
        // EXPLAIN has no place for a session and a time.
        let is_explained = format == LogFormat::Plan;
        self.summary.explained += u64::from(is_explained);
        self.summary.without_session += u64::from(!is_explained && entry.session.is_empty());
        self.summary.without_time += u64::from(!is_explained && entry.time.is_none());
        let behind = std::mem::take(&mut document.behind);
        self.execution((entry, session), document, time, observer);
        self.leave_out(entry, &behind);
        Ok(())
    }

    /// Counts what stands behind a plan that was read.
    fn leave_out(&mut self, entry: &Entry, behind: &str) {
        if behind.is_empty() {
            return;
        }
        // Bytes that are no UTF-8 became longer, and an entry may be one line of a log and several of a message.
        let bytes = entry.bytes.min(behind.len() as u64);
        let lines = entry.lines.min(behind.lines().count() as u64);
        self.summary.plan_bytes -= bytes;
        self.unread.add(&Unread { kind: BEHIND_A_PLAN, lines, bytes, first_offset: entry.offset });
    }

    /// The sums of all figures with this plan's; `None` where they do not stay far from overflow.
    fn amounts_with(&self, document: &PlanDocument, duration: Ticks) -> Option<Figures> {
        let mut sums = self.amounts;
        let mut of_execution = Figures { time: duration, ..Figures::default() };
        let mut is_believed = sums.add_amounts(&mut of_execution, SUM_MAX);
        for (node, figures) in document.nodes.iter().zip(&mut figures(&document.nodes)) {
            is_believed &= sums.add_amounts(&mut figures.own, SUM_MAX);
            is_believed &= node.rows.max(node.loops) < SUM_MAX as u64 >> 20;
        }
        is_believed.then_some(sums)
    }
}

impl Source for LogSource {
    fn keep_literals(&mut self) {
        self.keeps_literals = true;
    }

    fn in_order(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        self.known = (inputs.len() > 1).then(Executions::default);
        by_first_stamp(inputs)
    }

    fn read(&mut self, input: Input, reading: &mut Reading<'_, '_>) -> Result<Vec<SourceFile>, input::Problem> {
        let (name, head_hash) = (input.given.name(), input.head_hash);
        let bytes = input.open()?;
        let contents = bytes.contents();
        reading.begin_file(&name);
        if contents.is_some() {
            // Its files may be logs of several formats.
            self.known.get_or_insert_default();
        }
        let plans = self.summary.plans;
        self.unread = UnreadLines::of(contents.clone());
        let mut metered = Metered { bytes, name: &name, read: 0, meter: &mut reading.meter };
        let outcome = self.read_files(&mut metered, contents.as_ref(), &mut reading.listeners);
        let bytes = metered.read;
        let (unread, within) = self.end_unread();
        let unread_within = within.into_iter().map(|(file, unread)| (format!("{name}/{file}"), unread)).collect();
        let timed_records = self.summary.plans - plans;
        let cut_short = match outcome {
            Err(error) if bytes == 0 => return Err(input::Problem::Unreadable { name, error }),
            outcome => outcome.err().map(|error| error.to_string()),
        };
        let read = SourceFile { name, bytes, timed_records, unread, cut_short, head_hash, ..SourceFile::default() };
        let contents = contents.map(|contents| contents.take()).unwrap_or_default();
        Ok(vec![SourceFile { contents, unread_within, ..read }])
    }

    fn finish(self: Box<Self>, listeners: &mut Listeners<'_>) -> Finished {
        let folded = of_several_texts(self.without_literals.len() as u64);
        let (accounted, summary) = self.end(listeners);
        let findings = findings(&summary).into_iter().chain(folded).collect();
        Finished { accounted, findings, unmeasured: summary.unmeasured(), sampled: None }
    }
}

/// A reader that reports how far it is, and ends where the caller breaks it off.
struct Metered<'a, 'p> {
    bytes: Bytes,
    name: &'a str,
    read: u64,
    meter: &'a mut Meter<'p>,
}

impl Read for Metered<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.read += count as u64;
        Ok(if self.meter.read(self.name, self.read).is_break() { 0 } else { count })
    }
}

#[cfg(test)]
mod tests {
    pub(super) mod samples;

    use super::*;
    use crate::observe::collector::{Collector, THINK_TIME};
    use crate::source::postgres_log::source::tests::samples::{FIGURES, Kept, archive, csv, entry, jsonlog, read};

    #[test]
    fn sessions_that_each_leap_by_centuries_overflow_no_sum() {
        let entry = |process: u32, year: u32| {
            format!(
                "{year}-01-01 10:45:00.000 UTC [{process}] me@shop LOG:  duration: 1.000 ms  plan:\n\t{{\"Query \
                 Text\": \"select 1\", \"Plan\": {{\"Node Type\": \"Result\"}}}}\n"
            )
        };
        let log: String = (1..=12).map(|process| entry(process, 1971) + &entry(process, 2199)).collect();
        let (mut source, mut collector) = (LogSource::new(), Collector::new(THINK_TIME));
        source.read_log(log.as_bytes(), &mut collector).unwrap();
        let (accounted, summary) = source.end(&mut collector);
        let profile = collector.finish(accounted);
        let years = profile.whole.interval.micros() / (365.25 * 86_400e6);
        assert_eq!((summary.plans, years.round()), (24, 228.0), "the time of one session is all that has room");
        let left_out: Vec<(ProblemKind, u64)> = profile.problems.iter().map(|one| (one.kind, one.count)).collect();
        assert_eq!(left_out, [(ProblemKind::TimeTooLarge, 11)]);
    }

    /// What is read of an archive of these files.
    fn read_archive(files: &[(&str, &str)]) -> (SourceFile, LogSource) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.tar");
        std::fs::write(&path, archive(files)).unwrap();
        let progress = &mut |_: &str, _: u64| std::ops::ControlFlow::Continue(());
        let (mut collector, mut more) = (Collector::new(THINK_TIME), Kept::default());
        let mut reading = Reading::new((&mut collector, &mut more), progress);
        let input = Input { given: input::Given::File(path), bytes: None, head_hash: None };
        let mut source = LogSource::new();
        let mut read = source.read(input, &mut reading).unwrap();
        assert_eq!(read.len(), 1, "one file");
        (read.remove(0), source)
    }

    #[test]
    fn lines_of_a_trace_in_an_archive_of_logs_are_counted_as_what_they_are_and_no_message_swallows_them() {
        let trace = "PARSING IN CURSOR #1 len=8\nselect 1\nEND OF STMT\nEXEC #1:c=1,e=2,dep=0,tim=3\n";
        let plain = "2026-11-21 10:45:00 UTC [7] ERROR:  no\n";
        let planned = entry(500, 7, "4.250", "select 1", FIGURES);
        let kinds = |log: &str| -> Vec<(String, &'static str, u64, u64)> {
            let (file, _) = read_archive(&[("a.log", log), ("b.trc", trace), ("c.log", planned.as_str())]);
            assert_eq!(file.timed_records, 1 + u64::from(log.contains("plan:")), "of the logs around it");
            let lines: u64 = file.unread.iter().map(|unread| unread.lines).sum();
            assert_eq!(lines, file.unread_within.iter().map(|(_, unread)| unread.lines).sum::<u64>());
            let named = |name: &str| name.rsplit_once("all.tar/").unwrap().1.to_string();
            let within = file.unread_within.iter();
            within.map(|(name, one)| (named(name), one.kind, one.lines, one.first_offset)).collect()
        };
        let of_trace = ("b.trc".to_string(), "lines of traces", 4_u64, 0_u64);
        assert_eq!(kinds(&planned), std::slice::from_ref(&of_trace), "behind a plan");
        assert_eq!(kinds(plain), [("a.log".to_string(), "messages without a plan", 1, 0), of_trace]);
    }

    #[test]
    fn each_log_of_an_archive_is_read_in_its_own_format_and_what_two_formats_hold_counts_once() {
        let [first, last] = [500, 900].map(|millis| entry(millis, 7, "4.250", "select 1", FIGURES));
        let table = format!("\u{feff}{}{}", csv(1001, "1.0", ""), csv(2000, "1.0", ""));
        let (json, plan) = (jsonlog(1001), "[\n  {\n    \"Plan\": {\"Node Type\": \"Result\"}\n  }\n]\n");
        let logs = [("a.log", &*first), ("b.csv", &*table), ("c.json", &*json), ("d.txt", plan), ("f.log", &*last)];
        let mut files = logs.to_vec();
        files.insert(4, ("e", "not a log\nof any format\n"));
        for _ in 0..2 {
            let (file, source) = read_archive(&files);
            assert_eq!((file.timed_records, source.summary.repeated, source.summary.explained), (5, 1, 1));
            let of_note = file.unread_within.iter().filter(|(name, _)| name.ends_with("/e"));
            assert_eq!(of_note.map(|(_, one)| one.lines).sum::<u64>(), 2, "{:?}", file.unread_within);
            files.reverse();
        }
    }

    #[test]
    fn logs_of_one_archive_in_local_time_and_in_seconds_since_1970_count_each_execution_once() {
        let plain = "1795257901.001 [7] me@shop LOG:  duration: 1.0 ms  plan:\n\t{\n\t  \"Query Text\": \"select \
                     outer\",\n\t  \"Plan\": {\"Node Type\": \"Result\"}\n\t}\n";
        let table = csv(1001, "1.0", "").replacen("10:45", "11:45", 1).replacen("UTC", "CET", 1);
        let mut files = [("a.log", plain), ("b.csv", table.as_str())];
        for _ in 0..2 {
            let (file, source) = read_archive(&files);
            assert_eq!((file.timed_records, source.summary.repeated), (1, 1));
            files.reverse();
        }
    }

    #[test]
    fn text_behind_a_plan_is_counted() {
        let log = entry(500, 7, "4.250", "select 1", FIGURES) + "\tFEHLER: nein\n\tdoch\n";
        let (kept, _, summary) = read(&log);
        let [behind] = &summary.unread[..] else { panic!("{:?}", summary.unread) };
        assert_eq!((kept.calls.len(), behind.kind, behind.lines), (1, BEHIND_A_PLAN, 2));
        assert_eq!(behind.bytes + summary.plan_bytes, log.len() as u64);
        let (_, _, summary) = read("[\n {\"Plan\": {\"Node Type\": \"Result\"}}\n]\n");
        assert!(summary.unread.is_empty(), "{:?}", summary.unread);
    }

    #[test]
    fn a_plan_of_explain_gets_no_advice_for_a_server_s_log() {
        let (_, _, summary) = read("[{\"Plan\": {\"Node Type\": \"Result\"}}]");
        let found: Vec<String> = findings(&summary).into_iter().map(|finding| finding.message).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].ends_with(": write EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)."), "{found:?}");
    }

    #[test]
    fn a_byte_order_mark_hides_no_plan_and_no_entry() {
        let plan = "\u{feff}[{\"Plan\": {\"Node Type\": \"Result\"}}]";
        let log = format!("\u{feff}{}", csv(1000, "9.0", ""));
        for text in [plan, log.as_str()] {
            let (kept, _, summary) = read(text);
            assert_eq!((kept.calls.len(), summary.unread.len()), (1, 0), "{text}");
            assert_eq!(summary.plan_bytes, text.len() as u64, "its bytes are counted");
        }
    }

    #[test]
    fn the_last_entry_before_a_log_is_cut_is_not_lost() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the gzip data is truncated"))
            }
        }
        let log = entry(500, 7, "4.250", "select 1", FIGURES) + &entry(600, 7, "4.250", "select 2", FIGURES);
        let (mut kept, mut source) = (Kept::default(), LogSource::new());
        let outcome = source.read_log(log.as_bytes().chain(Failing), &mut kept);
        assert!(outcome.unwrap_err().to_string().contains("truncated"));
        assert_eq!((kept.calls.len(), source.summary.plans), (2, 2));
    }

    #[test]
    fn nothing_is_dropped_without_a_count() {
        let whole = entry(500, 7, "4.250", "select 1", FIGURES);
        let text =
            "2026-11-21 10:45:00 UTC [7] LOG:  duration: 1.0 ms  plan:\n\tQuery Text: select 1\n\tSeq Scan on t\n";
        let other = "2026-11-21 10:45:00 UTC [7] ERROR:  no\n2026-11-21 10:45:00 UTC [7] STATEMENT:  select\n\tfrom\n";
        let cut = &whole[..whole.len() - 8];
        let log = format!("\tlost\n{whole}{text}{other}{cut}\n");
        let (kept, _, summary) = read(&log);
        assert_eq!(kept.calls.len(), 1);
        let kinds: Vec<&str> = summary.unread.iter().map(|unread| unread.kind).collect();
        assert_eq!(
            kinds,
            [
                "lines without the beginning of their message",
                "plans in another format than JSON",
                "messages without a plan",
                "plans that are cut"
            ]
        );
        let unread: u64 = summary.unread.iter().map(|unread| unread.bytes).sum();
        assert_eq!(unread + summary.plan_bytes, log.len() as u64);
    }

    #[test]
    fn figures_beyond_belief_are_left_out_and_overflow_nothing() {
        let figures = "\"Actual Total Time\": 99999999999.999, \"Actual Rows\": 9223372036854775807.99, \
                       \"Actual Loops\": 9223372036854775807, \
                       \"Shared Hit Blocks\": 9223372036854775807, \"Shared Read Blocks\": 8000000000000";
        let log: String = (0..50).map(|at| entry(at, 7, "999999999.999", "select 1", figures)).collect();
        let (kept, _, summary) = read(&log);
        assert_eq!((kept.calls.len(), summary.plans), (0, 0));
        assert_eq!((summary.unread[0].kind, summary.unread[0].lines), (BEYOND_BELIEF, 50 * 7));
        // Each of these could be true, but not their sum.
        let figures = "\"Actual Total Time\": 999999999.999, \"Actual Rows\": 1, \"Actual Loops\": 900";
        let log: String = (0..50).map(|at| entry(at, 7, "9.999", "select 1", figures)).collect();
        let (kept, _, summary) = read(&log);
        let time: i64 = kept.lines.iter().map(|line| line.figures.unwrap().time.0).sum();
        assert!(time > 0 && summary.unread[0].kind == BEYOND_BELIEF);
    }
}
