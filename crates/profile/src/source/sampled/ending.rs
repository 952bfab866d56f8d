//! What a profile has of samples besides calls and waits: the sampling itself, the server's counters, who waits for
//! whom, what the whole is closed to.

use std::collections::BTreeMap;

use measure::sorting;

use super::accounting::Accounting;
use super::findings::{Judged, findings};
use super::observed::Observed;
use super::read_findings::{TracedReads, findings as of_reads};
use super::reads::Reads;
use crate::event::{Accounted, Cost, Merge, StatementIndex, Ticks};
use crate::tables::read_tiers::ReadTiers;
use crate::tables::renamed::merge_event;
use crate::tables::sampled::{Counters, Sampled};
use crate::tables::{Profile, StatementProfile};

/// The number of the only name of calls.
const CALL_NAME: u16 = 0;

/// Why there is no account where sessions may not be seen: of statements under way it lacks theirs, so that one that
/// was begun long before has all of its time in the account when it ends.
const BEGUN_BEFORE: &str = "it has more than sessions that may not be seen can have worked in that time, as where one \
                            of their statements began before it";

/// What a profile has of samples besides their calls and waits, when all of these were heard.
#[derive(Debug)]
pub struct Ending {
    accounting: Accounting,
    reads: Reads,
    observed: Observed,
    counters: Option<BTreeMap<StatementIndex, Counters>>,
}

impl Ending {
    /// Of samples whose executions were ended, and of the reads that were traced.
    pub(in crate::source) fn new(mut accounting: Accounting, reads: Reads, observed: Observed) -> Ending {
        let counters = observed.counters.as_ref().map(|counters| named(counters, &mut accounting));
        Ending { accounting, reads, observed, counters }
    }

    /// What calls and waits name by index.
    pub(in crate::source) fn accounted(&self) -> Accounted {
        let names = &self.accounting.names;
        Accounted {
            context: names.context.clone(),
            problems: names.problems(),
            clocks: Some(self.accounting.clocks()),
            ..Accounted::default()
        }
    }

    /// Gives the profile of these calls and waits what else is known.
    pub(crate) fn complete(&mut self, profile: &mut Profile) {
        let Ending { accounting, reads, observed, counters } = self;
        for (from, to) in &accounting.names.same {
            merge_event(profile, *from, *to);
        }
        let mut sampled = sampled(accounting, observed);
        let hidden = accounting.hidden.max(observed.hidden);
        if hidden > 0 && sampled.db_time_of_server.is_some_and(|account| account > sampled.account_max(hidden)) {
            (sampled.db_time_of_server, observed.db_time) = (None, Some(Err(BEGUN_BEFORE.into())));
        }
        if let Some(counters) = counters {
            add_counters(profile, counters);
        }
        sampled.counters = counters.take();
        close_to(profile, &sampled);
        settle_errors(profile, &sampled);
        // Where samples met no wait, there was none to be met.
        let all = std::iter::once(&mut profile.whole).chain(&mut profile.sessions);
        all.for_each(|one| one.waits_are_traced = true);
        let judged = Judged { accounting, sampled: &sampled, observed, context: &profile.context };
        sampled.findings = findings(&judged);
        profile.sampled = Some(Box::new(sampled));
        // The accounting knows what each look met, and calls and waits only what several looks came to.
        profile.active = accounting.active_over_time();
        add_reads(profile, reads, observed);
    }
}

/// Adds what was traced of reads, with the names of relations.
fn add_reads(profile: &mut Profile, reads: &Reads, observed: &Observed) {
    let name = |file: &str| observed.relations.get(file).cloned().unwrap_or_else(|| file.to_string());
    let (Some(tiers), Some(sampled)) = (reads.tables(&name), profile.sampled.as_mut()) else { return };
    let (block_bytes, buffer_bytes) = (observed.block_bytes, observed.buffer_bytes);
    let tiers = Box::new(ReadTiers { block_bytes, buffer_bytes, ..tiers });
    let traced = TracedReads { tiers: &tiers, sampled, context: &profile.context, device: reads.device() };
    let found = of_reads(&traced);
    sampled.findings.extend(found);
    sampled.reads = Some(tiers);
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
    let mut places = sorting::map(known);
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
        is_counted_in_part: observed.is_counted_in_part,
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
        own: observed.own,
        own_before: observed.own_before,
        stolen: observed.stolen,
        cores: observed.cores,
        ..Sampled::default()
    }
}
