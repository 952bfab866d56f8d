//! The profile of a server that is being sampled: it can be looked at at any time.

use std::collections::BTreeMap;

use measure::Finding;

use super::accounting::Accounting;
use super::findings::{Judged, findings};
use super::observed::Observed;
use super::sample::Sample;
use crate::event::{Accounted, Cost, Merge, StatementIndex, Ticks};
use crate::ingest::Ingested;
use crate::observe::collector::Collector;
use crate::observe::instruments::Instruments;
use crate::source::{FileHeader, SourceFile};
use crate::tables::sampled::{Counters, Sampled};
use crate::tables::{Profile, StatementProfile};

/// The source as a run document names it.
pub const SAMPLED_SOURCE: &str = "PostgreSQL, sampled";

/// The number of the only name of calls.
const CALL_NAME: u16 = 0;

/// Everything that was sampled so far.
#[derive(Clone, Debug)]
pub struct SampledProfile {
    accounting: Accounting,
    collector: Collector,
    instruments: Instruments,
}

impl SampledProfile {
    /// Nothing sampled yet. `wall_clock` is in microseconds since 1970; a pause within a transaction of `think_time` or
    /// longer is think time. `instruments` hear the same calls and waits as the profile.
    pub fn new(wall_clock: i64, think_time: Ticks, instruments: Instruments) -> SampledProfile {
        let (accounting, collector) = (Accounting::new(wall_clock), Collector::new(think_time));
        SampledProfile { accounting, collector, instruments }
    }

    /// Takes a look at all processes, which stands for the time `since` the look before; none for the first.
    pub fn look(&mut self, since: Ticks, samples: &[Sample]) {
        self.accounting.look(since, samples, &mut (&mut self.collector, &mut self.instruments));
    }

    /// Takes what one session did in an interval, in ticks since the wall clock's zero, all of it.
    pub fn interval(&mut self, interval: (Ticks, Ticks), sample: &Sample) {
        self.accounting.interval(interval, sample, &mut (&mut self.collector, &mut self.instruments));
    }

    /// Takes how many sessions there were for a time, and how many of them at work.
    pub fn pass(&mut self, time: Ticks, active: u64, sessions: u64) {
        self.accounting.pass(time, active, sessions);
    }

    /// A time in which nothing could be sampled.
    pub fn lose(&mut self, time: Ticks) {
        self.accounting.lose(time, &mut (&mut self.collector, &mut self.instruments));
    }

    /// Takes an answer to who blocks whom, asked right after a look at these processes.
    pub fn blocking(&mut self, answer: &[(u32, Vec<u32>)], samples: &[Sample]) {
        self.accounting.blocking(answer, samples);
    }

    /// Whether the texts of all statements are wanted with the next look.
    pub fn takes_texts(&mut self) -> bool {
        self.accounting.takes_texts()
    }

    /// Times that all sessions were looked at so far.
    pub fn looks(&self) -> u64 {
        self.accounting.looks
    }

    /// Time of the sessions at work so far.
    pub fn db_time(&self) -> Ticks {
        self.accounting.load.db_time
    }

    /// The profile of what was sampled, as if it ended here, and what heard it.
    pub fn snapshot(&self, observed: &Observed) -> (Ingested, Instruments) {
        let SampledProfile { mut accounting, mut collector, mut instruments } = self.clone();
        accounting.end(&mut (&mut collector, &mut instruments));
        let counters = observed.counters.as_ref().map(|counters| named(counters, &mut accounting));
        let accounted = Accounted {
            context: accounting.names.context.clone(),
            problems: accounting.names.problems(),
            clocks: Some(accounting.clocks()),
            ..Accounted::default()
        };
        let mut profile = collector.finish(accounted);
        let mut sampled = sampled(&accounting, observed);
        if let Some(counters) = &counters {
            add_counters(&mut profile, counters);
        }
        sampled.counters = counters;
        close_to(&mut profile, &sampled);
        settle_errors(&mut profile, &sampled);
        let judged = Judged { accounting: &accounting, sampled: &sampled, observed, context: &profile.context };
        sampled.findings = findings(&judged);
        profile.sampled = Some(Box::new(sampled));
        (ingested(profile, observed), instruments)
    }
}

/// The counters by statement; one that no sample met gets a number of its own.
fn named(
    counters: &BTreeMap<i64, (Counters, String)>,
    accounting: &mut Accounting,
) -> BTreeMap<StatementIndex, Counters> {
    let mut named: BTreeMap<StatementIndex, Counters> = BTreeMap::new();
    for (id, (counted, text)) in counters {
        let index = accounting.names.with_query_id(*id);
        if !text.is_empty() {
            // The server's text has no literals of one execution.
            accounting.names.learn_text(index, text);
        }
        let sums = named.entry(index).or_default();
        sums.executions += counted.executions;
        sums.rows += counted.rows;
        sums.hits += counted.hits;
        sums.reads += counted.reads;
    }
    named
}

/// Gives statements the reads that the server counted; those that no sample met have a row for them.
fn add_counters(profile: &mut Profile, counters: &BTreeMap<StatementIndex, Counters>) {
    let known = profile.statements.iter().enumerate().map(|(place, one)| (one.statement, place));
    let mut places: BTreeMap<StatementIndex, usize> = known.collect();
    let mut all = Cost::default();
    for (index, counted) in counters {
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let reads = Cost {
            physical_reads: whole(counted.reads),
            consistent_gets: whole(counted.hits.saturating_add(counted.reads)),
            ..Cost::default()
        };
        all.merge(&reads);
        let place = *places.entry(*index).or_insert_with(|| {
            profile.statements.push(StatementProfile { statement: *index, ..StatementProfile::default() });
            profile.statements.len() - 1
        });
        let one = &mut profile.statements[place];
        one.own.merge(&reads);
        one.inclusive.merge(&reads);
        // The cost of a logical I/O is that of a statement's calls.
        let sums = one.calls.entry_or_default(CALL_NAME);
        sums.own.merge(&reads);
        sums.rows += counted.rows;
    }
    profile.whole.calls.entry((CALL_NAME, false)).or_default().own.merge(&all);
}

/// Closes the whole to the server's own account: what the samples did not meet is unaccounted for, and below zero where
/// by chance they met more than there was.
fn close_to(profile: &mut Profile, sampled: &Sampled) {
    if let Some(missed) = sampled.missed() {
        profile.whole.interval += missed;
        profile.whole.unaccounted_between += missed;
    }
}

/// The error of a share of all samples is that of p(1 - p); each wait alone was given that of p.
fn settle_errors(profile: &mut Profile, sampled: &Sampled) {
    let Profile { estimated, whole, .. } = profile;
    for (event, error) in estimated.iter_mut() {
        let total = whole.events.get(event).map_or(Ticks::ZERO, |sums| sums.total);
        let part = total.0 as f64 / sampled.db_time.0.max(1) as f64;
        *error = Ticks((error.0 as f64 * (1.0 - part).max(0.0).sqrt()) as i64);
    }
}

fn sampled(accounting: &Accounting, observed: &Observed) -> Sampled {
    Sampled {
        subject: observed.subject.clone(),
        is_exact: accounting.is_exact,
        looks: accounting.looks,
        samples: accounting.samples,
        on_processor: accounting.on_processor,
        time: accounting.load.time,
        lost: accounting.lost,
        db_time: accounting.load.db_time,
        db_time_error: accounting.error(),
        db_time_of_server: observed.db_time.as_ref().and_then(|known| known.as_ref().ok()).copied(),
        active: accounting.load.active_sessions(),
        background: accounting.background.rows(),
        blockers: accounting.blockers.rows(&accounting.names.context),
        counters: None,
        own: observed.own,
        stolen: observed.stolen,
        findings: Vec::<Finding>::new(),
    }
}

fn ingested(profile: Profile, observed: &Observed) -> Ingested {
    let header = FileHeader { version: Some(observed.version.clone()), ..FileHeader::default() };
    let samples = profile.sampled.as_ref().map_or(0, |sampled| sampled.samples);
    let file = SourceFile { name: observed.server.clone(), header, timed_records: samples, ..SourceFile::default() };
    let findings = profile.sampled.as_ref().map_or_else(Vec::new, |sampled| sampled.findings.clone());
    Ingested {
        profile,
        source: Some(SAMPLED_SOURCE),
        begun: vec![file.name.clone()],
        files: vec![file],
        problems: Vec::new(),
        findings,
        is_broken_off: false,
        folded: None,
        folded_as_once: None,
        left_out: 0,
    }
}
