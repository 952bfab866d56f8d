//! What a profile of samples has besides the sums of calls and waits.

use std::collections::BTreeMap;

use measure::{Finding, Parameters};

use crate::event::{StatementIndex, Ticks};
use crate::tables::read_tiers::ReadTiers;

/// How a profile was sampled, and what was seen that is no response time.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// The server, and how it was asked.
    pub subject: Parameters,
    /// Whether every wait was seen from its beginning to its end: then these are not samples but all there is, and
    /// `looks` and `samples` count intervals.
    pub is_exact: bool,
    /// Times that all sessions were looked at.
    pub looks: u64,
    /// Samples of sessions that served a request or waited within a transaction: of what shares are.
    pub samples: u64,
    /// Those of them that met a session on a processor, or ready for one.
    pub on_processor: u64,
    /// Time that the samples stand for, and time without samples.
    pub time: Ticks,
    /// The same, lost.
    pub lost: Ticks,
    /// Time of the sessions at work, with what it may be off by sampling, 19 of 20 times.
    pub db_time: Ticks,
    /// That error.
    pub db_time_error: Ticks,
    /// The same by the server's own account; `None` where it has none.
    pub db_time_of_server: Option<Ticks>,
    /// Sessions at work.
    pub active: ActiveSessions,
    /// What background processes did, by time.
    pub background: Vec<BackgroundRow>,
    /// Who waited for whom, as a tree.
    pub blockers: Vec<BlockerRow>,
    /// What the server counted of statements meanwhile; `None` where it counts nothing or may not be asked.
    pub counters: Option<BTreeMap<StatementIndex, Counters>>,
    /// Whether it counted that in a part of the time alone: then no time is divided by it.
    pub is_counted_in_part: bool,
    /// What the sampling itself took.
    pub own: OwnCost,
    /// Most that the server's account has of this program's session from before the samples.
    pub own_before: Ticks,
    /// Share of the processors' busy time that the hypervisor took; `None` where it cannot be seen.
    pub stolen: Option<f64>,
    /// How many processors of the server's machine this process may use; `None` where that is not known.
    pub cores: Option<u64>,
    /// Which tier answered the reads; `None` where they were not traced.
    pub reads: Option<Box<ReadTiers>>,
    /// What a reader has to know.
    pub findings: Vec<Finding>,
}

/// How late the server adds a session's time to its account: by a second, and by as much at both ends of a profile.
const LATE: Ticks = Ticks::from_micros(1_000_000);

impl Sampled {
    /// What the server counted of a statement in all of the time; `None` where that is not known.
    pub fn counted(&self, statement: StatementIndex) -> Option<&Counters> {
        self.counters.as_ref().filter(|_| !self.is_counted_in_part)?.get(&statement)
    }

    /// Time of parallel workers, whose gets the server counts with those of their statements and whose CPU time no
    /// statement has; `None` where it is too little to matter, or nothing was counted.
    pub fn time_of_workers(&self) -> Option<Ticks> {
        let of_workers = self.background.iter().filter(|row| row.process == PARALLEL_WORKER);
        let time: Ticks = of_workers.map(|row| row.time).sum();
        (self.counters.is_some() && time.0 > self.db_time.0 / WORKERS_PART).then_some(time)
    }

    /// What its CPU time holds besides the work of statements; `None` where it is known to hold nothing else.
    pub fn held_by_cpu(&self) -> Option<&'static str> {
        let level = self.subject.get("level").and_then(|level| level.as_str());
        match self.is_exact {
            true => Some("the wait for a processor and the cost of the watch"),
            false => level.filter(|level| !level.contains("/proc")).map(|_| "the wait for a processor"),
        }
    }

    /// How far the samples and the server's account may lie apart: by sampling, because the account is late, and by
    /// what is taken off it for this program's session.
    pub fn stated_error(&self) -> Ticks {
        self.db_time_error + Ticks((self.active.mean * LATE.0 as f64) as i64) + self.own_error()
    }

    /// How far that which is taken off the account for this program's session may be off: by no more than all of it. A
    /// statement's end is not in its own answer, and the account has that session late too: it lacks the last of its
    /// time, and has some of before.
    pub fn own_error(&self) -> Ticks {
        let worked = self.own.session.unwrap_or(0.0) * (self.time + self.lost).0 as f64;
        Ticks(worked as i64) + self.own_before
    }

    /// Most that the server's account can have of this time where this many sessions may not be seen, each of which may
    /// have worked all the time.
    pub fn account_max(&self, hidden: u64) -> Ticks {
        let each = self.time + self.lost + LATE;
        // The number is a recording's own, which may be damaged.
        let of_hidden = (hidden as f64 * each.0 as f64) as i64;
        Ticks(of_hidden.saturating_add((self.db_time + self.stated_error()).0))
    }

    /// What the server's account has more than the samples; `None` where it has none, is behind, or says nothing of so
    /// short a time. It is behind where it has less than chance explains: it is late, and adds the time of sessions
    /// that touch no table long after they worked. The samples did meet that time, and it is not taken off.
    pub fn missed(&self) -> Option<Ticks> {
        if self.is_exact {
            // It closes by itself. The server's account begins and ends a little later than a request does.
            return None;
        }
        let (missed, error) = (self.db_time_of_server? - self.db_time, self.stated_error());
        let is_behind = missed < -self.db_time_error;
        // Of a second or so the account may lack all, and have as much of what was before.
        let is_unclear = missed <= error && error >= self.db_time;
        (!is_behind && !is_unclear).then_some(missed)
    }
}

/// The kind of the processes that work for the statement of a session.
pub(crate) const PARALLEL_WORKER: &str = "parallel worker";

/// Part of the time at work, one of this many, that parallel workers may take without being worth a word.
const WORKERS_PART: i64 = 20;

/// Two-sided factor of an error that holds 19 of 20 times, in hundredths.
const PERCENT: f64 = 196.0;

/// How often such an error does not hold.
const MISSES: f64 = 1.0 / 20.0;

/// How far a share, from 0 to 1, may be off by sampling, in points: 1.96 times the root of p(1 - p)/N. `None` where
/// there is no sample or no share.
///
/// That is nothing for a share with no sample or with all of them, and too little for one near these. It is at least
/// the share of which N samples meet none 1 time in 20: the rule of three, 3/N, unrounded (Hanley and Lippman-Hand,
/// JAMA 249, 1983, page 1743).
pub(crate) fn share_error(part: f64, samples: u64) -> Option<f64> {
    let (part, count) = (part.clamp(0.0, 1.0), samples.max(1) as f64);
    let by_spread = PERCENT * (part * (1.0 - part) / count).sqrt();
    let of_three = 100.0 * (1.0 - MISSES.powf(1.0 / count));
    (samples > 0 && !part.is_nan()).then(|| by_spread.max(of_three))
}

/// Sessions at work, and their number in the seconds with most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActiveSessions {
    /// On average.
    pub mean: f64,
    /// How many seconds the others are of.
    pub seconds: u64,
    /// The mean of a second that 95 of 100 seconds do not exceed.
    pub p95: Option<f64>,
    /// The same of 99.
    pub p99: Option<f64>,
    /// That of the second with most.
    pub max: Option<f64>,
}

/// Background processes of a kind with what they did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackgroundRow {
    /// Their kind.
    pub process: String,
    /// What they waited for, or that they worked.
    pub event: String,
    /// Samples.
    pub samples: u64,
    /// Their time.
    pub time: Ticks,
}

/// A line of the tree of sessions that wait for each other: a root blocks and waits for no other session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockerRow {
    /// The line above, from 1; 0 for a root.
    pub parent: usize,
    /// Distance from the root.
    pub level: usize,
    /// The session.
    pub process: String,
    /// What it was doing when it was seen last.
    pub state: String,
    /// Its statement: of a session that waits the one that waits.
    pub statement: StatementIndex,
    /// What it waits for; empty for a root.
    pub event: String,
    /// Samples of its wait; of a root those of all below.
    pub samples: u64,
    /// The time of its wait; of a root that of all below.
    pub time: Ticks,
}

/// What the server counted of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Executions that ended.
    pub executions: u64,
    /// Rows that they returned or changed.
    pub rows: u64,
    /// Blocks found in the buffers.
    pub hits: u64,
    /// Blocks read into them.
    pub reads: u64,
}

/// What sampling took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnCost {
    /// CPU time of this process, of one processor's time, from 0 to 1.
    pub cpu: Option<f64>,
    /// Time in which the server worked for our session, of the time that was sampled.
    pub session: Option<f64>,
    /// From a sample's question to its answer, on average, in µs.
    pub sample_micros: Option<f64>,
    /// What seeing every wait took.
    pub change: Option<ChangeCost>,
}

/// What it took to see every change of what a session waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChangeCost {
    /// Changes that were seen, and those that were lost.
    pub changes: u64,
    /// The same, lost.
    pub lost: u64,
    /// What one took from its session, in µs.
    pub micros: f64,
    /// The largest part of a session's time that they took, from 0 to 1.
    pub share_max: f64,
}
