//! The last hour of a server, second by second.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use measure::wait_class::{Class, class_of};
use profile::event::Ticks;
use profile::source::sampled::{CLIENT, LOCK, Sample, State};
use profile::tables::folding::fold_text;
use profile::tables::read_tiers::ByTier;

use crate::gathering::{Gathering, Said};
use crate::recent::Recent;
use crate::second::{Chain, Second, StatementKey, Unseen};

/// Seconds that are kept.
const SECONDS_MAX: usize = 3600;

/// Texts that are kept, and as many of what identifies them; names of events.
const TEXTS_MAX: usize = 1 << 12;
const EVENTS_MAX: usize = 1 << 10;

/// Characters of a text that are kept.
const TEXT_MAX: usize = 400;

/// What a session does that waits for nothing that the server names.
static ON_PROCESSOR: LazyLock<Arc<str>> = LazyLock::new(|| "CPU".into());
static RUN_QUEUE: LazyLock<Arc<str>> = LazyLock::new(|| "Processor:RunQueue".into());
static STOLEN: LazyLock<Arc<str>> = LazyLock::new(|| "Processor:Stolen".into());

const SECOND: Duration = Duration::from_secs(1);

/// The time that the kept seconds are of.
const KEPT: Duration = Duration::from_secs(3600);

/// An hour of seconds, the last of them under way.
#[derive(Debug, Default)]
pub struct History {
    seconds: VecDeque<Second>,
    /// Seconds that were over so far, those that are not kept any more among them.
    ever: u64,
    gathering: Gathering,
    /// The clock of the looks, in microseconds since 1970.
    now: i64,
    texts: Recent<StatementKey, Arc<str>, TEXTS_MAX>,
    /// By what stands for a text: the identifier that the server computed later.
    identified: Recent<StatementKey, StatementKey, TEXTS_MAX>,
    classes: HashMap<Arc<str>, Class>,
    /// By process: the execution that was seen last, with its statement.
    executions: HashMap<u32, (Option<i64>, StatementKey)>,
    /// By process that waits for a lock: for whom, as far as was asked; and those at the top of their chains.
    blockers: HashMap<u32, Chain>,
    tops: HashSet<u32>,
    /// Reads of files so far, and when the last second ended.
    reads: (Option<ByTier>, Option<ByTier>),
    /// The same of blocks in the buffers.
    hits: (Option<u64>, Option<u64>),
}

impl History {
    /// Nothing yet; the wall clock in microseconds since 1970.
    pub fn new(wall_clock: i64) -> History {
        History { now: wall_clock, ..History::default() }
    }

    /// What the wall clock showed when the next look's time began: added up from the looks, it would fall behind by
    /// seconds in an hour, and by all of a suspended machine's sleep.
    pub fn set_clock(&mut self, micros: i64) {
        self.now = micros;
    }

    /// Takes a look at all processes, which stands for the time `since` the look before.
    pub fn look(&mut self, since: Duration, samples: &[Sample]) {
        self.now += i64::try_from(since.as_micros()).unwrap_or(0);
        self.gathering.begin_look(since);
        let mut unseen = Unseen::default();
        for sample in samples {
            match sample.state {
                // Not even the kind of its process is shown. Those of no database are the server's own.
                State::Hidden => unseen.hidden += u64::from(!sample.backend.database.is_empty()),
                _ if sample.backend.kind != CLIENT => self.see_top(sample),
                State::Active => self.work(since, sample),
                State::IdleInTransaction => {
                    let statement = self.statement(sample);
                    self.gathering.see(Duration::ZERO, sample, statement);
                }
                State::Disabled => unseen.silent += 1,
                State::Idle | State::Background => self.see_top(sample),
            }
        }
        self.gathering.miss(unseen);
        self.forget_waits(samples);
        if self.gathering.time + self.gathering.lost >= SECOND {
            self.end_second();
        }
    }

    /// A time without samples. It is divided into seconds as any other time is; a rest that is shorter than a second
    /// belongs to the second under way.
    pub fn lose(&mut self, time: Duration) {
        self.executions.clear();
        // Of a sleep of weeks only the seconds that are kept are gone through.
        let passed = time.saturating_sub(KEPT).as_secs();
        self.ever += passed;
        self.now += i64::try_from(passed).unwrap_or(0).saturating_mul(1_000_000);
        let mut left = time.saturating_sub(Duration::from_secs(passed));
        while !left.is_zero() {
            let part = left.min(SECOND.saturating_sub(self.gathering.time + self.gathering.lost));
            left -= part;
            self.now += i64::try_from(part.as_micros()).unwrap_or(0);
            self.gathering.lost += part;
            if self.gathering.time + self.gathering.lost >= SECOND {
                self.end_second();
            }
            // What was counted meanwhile is of no second that is shown.
            (self.reads, self.hits) = ((None, None), (None, None));
        }
    }

    /// Takes an answer to who blocks whom.
    pub fn blocking(&mut self, answer: &[(u32, Vec<u32>)]) {
        let first = |(waiter, blockers): &(u32, Vec<u32>)| Some((*waiter, *blockers.first()?));
        let blockers: HashMap<u32, u32> = answer.iter().filter_map(first).collect();
        let mut tops = HashMap::new();
        let chain = |(waiter, blocker): (&u32, &u32)| {
            (*waiter, Chain { blocker: *blocker, top: top_of(*waiter, &blockers, &mut tops) })
        };
        self.blockers = blockers.iter().map(chain).collect();
        self.tops = self.blockers.values().map(|chain| chain.top).collect();
    }

    /// Takes the reads of files so far, where they are traced, and blocks so far that the server found in its buffers,
    /// where it was asked.
    pub fn reads(&mut self, reads: Option<&ByTier>, hits: Option<u64>) {
        self.reads.0 = reads.copied();
        if hits.is_none() {
            // The next count holds a time that was not watched.
            self.hits.1 = None;
        }
        self.hits.0 = hits;
    }

    /// The seconds that are over, the oldest first.
    pub(crate) fn seconds(&self) -> &VecDeque<Second> {
        &self.seconds
    }

    /// How many there were so far.
    pub(crate) fn ever(&self) -> u64 {
        self.ever
    }

    /// The text of a statement, without literals, in one line.
    pub(crate) fn text(&self, key: StatementKey) -> Option<&str> {
        self.texts.get(&key).map(|text| &**text)
    }

    fn work(&mut self, since: Duration, sample: &Sample) {
        let statement = self.statement(sample);
        let Some(event) = &sample.event else {
            let (waited, stolen) = waited_and_stolen(sample, since);
            for (time, event, class) in [
                (since - waited - stolen, Arc::clone(&ON_PROCESSOR), Class::Cpu),
                (waited, Arc::clone(&RUN_QUEUE), Class::RunQueue),
                (stolen, Arc::clone(&STOLEN), Class::Stolen),
            ] {
                if !time.is_zero() {
                    self.gathering.add(time, Said { sample, class, event, statement });
                }
            }
            return;
        };
        let said = Said { sample, class: self.class(event), event: Arc::clone(event), statement };
        if event.starts_with(LOCK) {
            let chain = self.blockers.get(&sample.backend.pid).copied();
            self.gathering.block(since, &said, chain);
        }
        self.gathering.add(since, said);
    }

    /// Takes down a process that is no client's at work, where others wait for it: one that vacuums by itself, or a
    /// session whose locks outlast its transactions.
    fn see_top(&mut self, sample: &Sample) {
        if self.tops.contains(&sample.backend.pid) {
            let statement = if sample.state == State::Active { self.statement(sample) } else { None };
            self.gathering.see(Duration::ZERO, sample, statement);
        }
    }

    /// Forgets who blocked the sessions that wait no more: their next wait may be for another one.
    fn forget_waits(&mut self, samples: &[Sample]) {
        if self.blockers.is_empty() {
            return;
        }
        let waits = |sample: &&Sample| {
            let is_lock = sample.event.as_deref().is_some_and(|event| event.starts_with(LOCK));
            sample.state == State::Active && is_lock
        };
        let waiting: HashSet<u32> = samples.iter().filter(waits).map(|sample| sample.backend.pid).collect();
        self.blockers.retain(|pid, _| waiting.contains(pid));
        self.tops = self.blockers.values().map(|chain| chain.top).collect();
    }

    fn class(&mut self, event: &Arc<str>) -> Class {
        if let Some(class) = self.classes.get(event) {
            return *class;
        }
        let class = class_of(event);
        if self.classes.len() < EVENTS_MAX {
            self.classes.insert(Arc::clone(event), class);
        }
        class
    }

    /// The statement of a sample: by its identifier, else by its text, else that of the samples before it.
    fn statement(&mut self, sample: &Sample) -> Option<StatementKey> {
        let pid = sample.backend.pid;
        let known = self.executions.get(&pid).filter(|(start, _)| *start == sample.query_start).map(|(_, key)| *key);
        let key = match (sample.query_id, &sample.text, known) {
            (Some(id), text, _) => {
                if let Some(text) = text.as_ref().filter(|_| self.texts.get(&id).is_none()) {
                    let folded = fold_text(text);
                    let of_text = key_of(&folded);
                    if self.identified.touch(&of_text).is_none() {
                        self.identified.insert(of_text, id);
                    }
                    self.learn(id, &folded);
                }
                Some(id)
            }
            (None, _, Some(known)) => Some(known),
            (None, Some(text), None) => {
                let folded = fold_text(text);
                let key = key_of(&folded);
                let key = self.identified.touch(&key).copied().unwrap_or(key);
                self.learn(key, &folded);
                Some(key)
            }
            (None, None, None) => None,
        };
        if let Some(key) = key {
            self.executions.insert(pid, (sample.query_start, key));
        }
        key
    }

    fn learn(&mut self, key: StatementKey, folded: &str) {
        if self.texts.touch(&key).is_none() {
            let line = folded.split_whitespace().collect::<Vec<_>>().join(" ");
            let shown: String = line.chars().filter(|letter| !letter.is_control()).take(TEXT_MAX).collect();
            self.texts.insert(key, shown.into());
        }
    }

    fn end_second(&mut self) {
        if self.seconds.len() == SECONDS_MAX {
            self.seconds.pop_front();
        }
        // Sessions come and go: one that did nothing in a second begins anew.
        self.executions.retain(|pid, _| self.gathering.has_seen(*pid));
        self.ever += 1;
        let (reads, before) = &mut self.reads;
        let of_second = reads.zip(*before).map(|(now, before)| now.since(&before));
        *before = *reads;
        let (hits, hits_before) = &mut self.hits;
        // A count that is lower than before was begun anew, or is without a database that was dropped.
        let hits_of_second = hits.zip(*hits_before).and_then(|(now, before)| now.checked_sub(before));
        *hits_before = *hits;
        let second = self.gathering.finish(self.now);
        self.use_texts(&second);
        self.seconds.push_back(Second { reads: of_second, hits: hits_of_second, ..second });
    }

    /// Notes that the texts of what a second shows are used.
    fn use_texts(&mut self, second: &Second) {
        let of_statements = second.statements.iter().map(|one| one.key);
        let of_sessions = second.sessions.iter().filter_map(|one| one.statement);
        let of_waiters = second.blocked.iter().filter_map(|one| one.statement);
        for key in of_statements.chain(of_sessions).chain(of_waiters) {
            self.texts.touch(&key);
        }
    }
}

/// Of a sample's time, that in which the session was ready and had no processor.
fn waited_and_stolen(sample: &Sample, since: Duration) -> (Duration, Duration) {
    let Some(by_scheduler) = sample.processor else { return (Duration::ZERO, Duration::ZERO) };
    let since = Ticks::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    let (waited, stolen) = by_scheduler.parts(since);
    let time = |part: Ticks| Duration::from_nanos(part.nanos().unwrap_or(0).max(0).unsigned_abs());
    (time(waited), time(stolen))
}

/// The process at the top of the chain that a waiter stands in; of a circle the least. `tops` are those that are known.
fn top_of(waiter: u32, blockers: &HashMap<u32, u32>, tops: &mut HashMap<u32, u32>) -> u32 {
    let (mut passed, mut met): (Vec<u32>, HashSet<u32>) = (Vec::new(), HashSet::new());
    let mut at = waiter;
    let top = loop {
        if let Some(known) = tops.get(&at) {
            break *known;
        }
        let Some(next) = blockers.get(&at) else { break at };
        if !met.insert(at) {
            let circle = passed.iter().skip_while(|pid| **pid != at).copied();
            break circle.min().unwrap_or(at);
        }
        passed.push(at);
        at = *next;
    };
    tops.extend(passed.into_iter().map(|pid| (pid, top)));
    top
}

/// What stands for a text (FNV-1a): it need not be the same in another run.
fn key_of(text: &str) -> StatementKey {
    let mixed = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    mixed.cast_signed()
}

#[cfg(test)]
mod tests {
    use profile::source::sampled::ProcessorTime;

    use super::*;
    use crate::second::Blocked;
    use crate::tests::{TENTH, sample, seconds_of};

    #[test]
    fn the_time_of_a_second_closes_by_class_event_statement_and_session() {
        let queued = ProcessorTime { ran: Ticks(1), waited: Ticks(3), ..ProcessorTime::default() };
        let mut busy = sample(1, "select 1", None);
        busy.processor = Some(queued);
        let samples = [busy, sample(2, "select 2", Some("IO:DataFileRead")), sample(3, "update t", Some("Lock:tuple"))];
        let history = seconds_of(2, &samples);
        for second in history.seconds() {
            assert_eq!(second.time, SECOND);
            let all = 3 * SECOND;
            assert_eq!(second.classes.iter().map(|(_, time)| *time).sum::<Duration>(), all);
            assert_eq!(second.events.iter().map(|(_, time)| *time).sum::<Duration>(), all);
            assert_eq!(second.statements.iter().map(|sums| sums.time).sum::<Duration>(), all);
            assert_eq!(second.sessions.iter().map(|sums| sums.time).sum::<Duration>(), all);
            let of = |class| second.classes.iter().find(|(one, _)| *one == class).map(|(_, time)| time.as_millis());
            assert_eq!((of(Class::Cpu), of(Class::RunQueue)), (Some(250), Some(750)));
            // Two texts that differ in a literal are one statement.
            assert_eq!(second.statements.len(), 2);
        }
    }

    #[test]
    fn an_execution_keeps_its_statement_when_its_text_is_not_handed_out_again() {
        let mut history = History::new(0);
        history.look(TENTH, &[sample(1, "select a from b", None)]);
        for _ in 0..9 {
            history.look(TENTH, &[sample(1, "", None)]);
        }
        let second = &history.seconds()[0];
        assert_eq!((second.statements.len(), second.statements[0].time), (1, SECOND));
        assert_eq!(history.text(second.statements[0].key), Some("select a from b"));
    }

    #[test]
    fn an_execution_met_before_its_identifier_is_there_is_the_same_statement() {
        let mut history = History::new(0);
        let mut later = sample(1, "select a from b where c = 1", None);
        later.query_id = Some(7);
        history.look(TENTH, &[later]);
        for literal in 2..11 {
            history.look(TENTH, &[sample(literal, &format!("select a from b where c = {literal}"), None)]);
        }
        let statements = &history.seconds()[0].statements;
        assert_eq!((statements.len(), statements[0].key, statements[0].time), (1, 7, SECOND));
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let history = seconds_of(SECONDS_MAX + 7, &[sample(1, "select 1", None)]);
        assert_eq!(history.seconds().len(), SECONDS_MAX);
        assert_eq!(history.seconds()[0].ended - 1_800_000_000_000_000, 8_000_000);
    }

    #[test]
    fn thousands_of_sessions_that_come_and_go_leave_nothing_behind() {
        let mut history = History::new(0);
        for pid in 0..20_000 {
            history.look(TENTH, &[sample(pid, &format!("select c{pid}"), Some(&format!("Extension:E{pid}")))]);
        }
        assert!(history.executions.len() <= 10 && history.texts.count() <= TEXTS_MAX);
        assert!(history.classes.len() <= EVENTS_MAX && history.blockers.is_empty());
    }

    #[test]
    fn thousands_of_statements_take_no_text_from_one_that_goes_on_nor_from_the_newest() {
        let mut history = History::new(0);
        history.look(TENTH, &[sample(0, "select a from goes_on", None)]);
        let numbers = 1..3 * TEXTS_MAX as u32;
        for number in numbers.clone() {
            let mut other = sample(number, &format!("select c{number}"), None);
            // Every second one has an identifier.
            other.query_id = number.is_multiple_of(2).then_some(i64::from(number));
            history.look(TENTH, &[sample(0, "", None), other]);
        }
        let text = |key: StatementKey| history.text(key);
        assert_eq!(text(key_of(&fold_text("select a from goes_on"))), Some("select a from goes_on"));
        let (first, newest) = (2, i64::from(numbers.end - 2));
        assert_eq!((text(first), text(newest)), (None, Some(format!("select c{newest}").as_str())));
        assert!(history.texts.count() <= TEXTS_MAX && history.identified.count() <= TEXTS_MAX);
    }

    #[test]
    fn a_wait_that_is_over_says_nothing_of_who_blocks_the_next_one() {
        let (waiting, working) = (sample(2, "update t", Some("Lock:tuple")), sample(2, "update t", None));
        let mut history = History::new(0);
        history.blocking(&[(2, vec![1])]);
        (0..10).for_each(|_| history.look(TENTH, std::slice::from_ref(&waiting)));
        // It gets the lock, and waits for that of another session a moment later.
        history.look(TENTH, &[working]);
        (0..9).for_each(|_| history.look(TENTH, std::slice::from_ref(&waiting)));
        let blockers = |at: usize| history.seconds()[at].blocked.iter().map(Blocked::blocker).collect::<Vec<_>>();
        assert_eq!((blockers(0), blockers(1)), (vec![Some(1)], vec![None]));
    }

    #[test]
    fn the_top_of_a_chain_waits_for_none_and_of_a_circle_it_is_the_least() {
        let blockers = HashMap::from([(1, 2), (2, 3), (8, 9), (9, 7), (7, 8), (6, 8), (5, 5)]);
        let mut tops = HashMap::new();
        let found = [1, 2, 6, 7, 8, 9, 5].map(|waiter| top_of(waiter, &blockers, &mut tops));
        assert_eq!(found, [3, 3, 7, 7, 7, 7, 5]);
    }

    #[test]
    fn a_time_that_was_lost_is_no_time_of_sessions() {
        let mut history = seconds_of(1, &[sample(1, "select 1", None)]);
        history.lose(5 * SECOND);
        assert_eq!((history.seconds().len(), history.ever()), (6, 6));
        for (second, number) in history.seconds().iter().skip(1).zip(2..) {
            assert_eq!((second.lost, second.time, second.classes.len()), (SECOND, Duration::ZERO, 0));
            assert_eq!(second.ended - 1_800_000_000_000_000, number * 1_000_000);
        }
    }

    #[test]
    fn a_time_that_was_lost_begins_and_ends_within_a_second_and_none_of_it_is_missing() {
        let mut history = History::new(0);
        (0..4).for_each(|_| history.look(TENTH, &[sample(1, "select 1", None)]));
        history.lose(SECOND);
        assert_eq!(history.seconds().len(), 1);
        (0..6).for_each(|_| history.look(TENTH, &[sample(1, "select 1", None)]));
        let times: Vec<_> = history.seconds().iter().map(|second| (second.time, second.lost)).collect();
        assert_eq!(times, [(4 * TENTH, 6 * TENTH), (6 * TENTH, 4 * TENTH)]);
        assert_eq!(history.seconds()[1].ended, 2_000_000);
    }

    #[test]
    fn a_sleep_of_weeks_leaves_an_hour_without_samples_and_is_not_gone_through_by_seconds() {
        let mut history = seconds_of(7, &[sample(1, "select 1", None)]);
        let weeks = Duration::from_secs(1_000_000_000);
        let begun = std::time::Instant::now();
        history.lose(weeks);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert_eq!((history.seconds().len(), history.ever()), (SECONDS_MAX, 1_000_000_007));
        assert!(history.seconds().iter().all(|second| second.lost == SECOND && second.time.is_zero()));
        let last = history.seconds().back().unwrap().ended;
        assert_eq!(last - 1_800_000_000_000_000, 1_000_000_007 * 1_000_000);
    }

    #[test]
    fn what_was_counted_in_a_time_that_was_lost_is_of_no_second() {
        let mut history = History::new(0);
        let second = |history: &mut History, hits: u64| {
            for _ in 0..10 {
                history.look(TENTH, &[sample(1, "select 1", None)]);
                history.reads(None, Some(hits));
            }
            history.seconds().back().unwrap().hits
        };
        second(&mut history, 100);
        assert_eq!(second(&mut history, 130), Some(30));
        history.lose(5 * SECOND);
        history.reads(None, Some(9_000));
        assert_eq!(second(&mut history, 9_000), None);
        assert_eq!(second(&mut history, 9_050), Some(50));
        // A database with many of them was dropped.
        assert_eq!((second(&mut history, 700), second(&mut history, 710)), (None, Some(10)));
    }
}
