//! An outage of the watched server: its session ends, the server is asked for another one until it grants it, and the
//! watch goes on with that.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use server::ServerError;

use super::lost_memory::LostMemory;
use super::lost_time::ticks;
use super::settings::{BLOCKING_EVERY, NAP};
use super::setup::{identifier, memory, trace, with_processors};
use super::{Times, Watch};
use crate::active_time::ActiveTimeMeter;
use crate::counters::CounterSource;
use crate::hits::BufferHits;
use crate::memory::MemorySampler;
use crate::refusal::why;
use crate::sql::SqlSampler;

/// How often a server that went away is looked for: less often the longer it is away, because each time takes two
/// connections, and one that refuses writes a line to its log.
const KNOCK_EVERY: Duration = Duration::from_millis(500);
const KNOCK_EVERY_MAX: Duration = Duration::from_secs(30);
const KNOCK_PART: u32 = 10;

/// How long a server may be away before that is said: a restart takes less.
const UNREACHED_FOR: Duration = Duration::from_secs(10);

impl Watch {
    /// Waits until the server is there again; what was lost meanwhile is noted.
    pub(super) fn come_back(&mut self, error: &ServerError, end: Instant) {
        let left = self.last.unwrap_or_else(Instant::now);
        // A server that was started again refuses for other reasons.
        (self.refused, self.unshown) = (None, None);
        // The reads until now are of the segment that ends now.
        self.hear_rest();
        self.listener.iter_mut().for_each(|listener| listener.away());
        self.begun.counters.iter_mut().for_each(CounterSource::skip);
        self.memory.iter_mut().for_each(MemorySampler::unmap);
        self.hits.iter_mut().for_each(BufferHits::forget);
        (self.question, self.further) = (None, None);
        self.end_session();
        let reason = why(error);
        self.knock(left, end, &reason);
        let lost = ticks(left.elapsed() + self.sleeps.since().unwrap_or_default());
        self.last = None;
        self.accounted = ActiveTimeMeter::begin(Err("the server was away".into()), self.own_time());
        let is_back = self.sampler.is_some();
        self.listener.iter_mut().filter(|_| is_back).for_each(|listener| listener.back());
        self.lose(left, lost, reason);
        // What it counts was read anew, where it could be.
        (self.skips_counters, self.counted) = (false, Instant::now());
        self.begin_listener();
        // Where the user ends the watch meanwhile, the server did not end it.
        if !is_back && !self.is_stopped() {
            self.ended = Some("the server did not come back".into());
        }
    }

    /// Ends the session; what it took is kept.
    pub(super) fn end_session(&mut self) {
        self.earlier = self.earlier.and(self.times());
        (self.sampler, self.lent) = (None, Times::default());
    }

    /// Asks the server for a session until it grants one. It went away when the last look was, for this reason.
    fn knock(&mut self, left: Instant, end: Instant, reason: &str) {
        // Where each session ends at once, no two of them follow each other faster.
        let (mut next, mut is_said, mut reason) = (self.opened + KNOCK_EVERY, false, reason.to_string());
        while !self.is_stopped() && Instant::now() < end {
            if !is_said && left.elapsed() >= UNREACHED_FOR {
                is_said = true;
                self.listener.iter_mut().for_each(|listener| listener.unreached(&reason));
            }
            self.meanwhile.iter_mut().for_each(|call| call());
            let wait = next.min(end).saturating_duration_since(Instant::now());
            if !wait.is_zero() {
                thread::sleep(wait.min(NAP));
                continue;
            }
            let renewed = self.written.as_ref().and_then(|(written, defaults)| written.completed(defaults).ok());
            // A service file that names another server by now is for the next start.
            if let Some(address) = renewed.filter(|address| address.shown() == self.address.shown()) {
                self.address = address;
            }
            match SqlSampler::open(&self.address, Arc::clone(&self.stop)) {
                Ok(sampler) => return self.take_session(sampler),
                Err(error) => {
                    // It may be back, and refuse a password that was changed meanwhile.
                    reason = why(&error);
                    next = Instant::now() + knock_after(left.elapsed());
                }
            }
        }
    }

    /// Goes on with another session.
    fn take_session(&mut self, mut sampler: SqlSampler) {
        self.opened = Instant::now();
        // How long the one before worked for its answers says nothing of this one.
        (self.blocking_every, self.counters_every) = (BLOCKING_EVERY, Duration::ZERO);
        self.hits.iter_mut().for_each(|hits| *hits = BufferHits::default());
        self.processors = with_processors(&mut sampler, &self.address);
        self.earlier.answer += self.memory_time();
        let now = memory(&mut sampler, &self.address, self.settings);
        let before = std::mem::replace(&mut self.memory, now);
        match (self.memory.is_ok(), before) {
            (true, _) => self.find_memory(),
            (false, Ok(before)) => {
                self.former = Some(before);
                self.memory_lost = Some(LostMemory::now());
            }
            // What was in the way of the session before may not stop this one, or another server.
            (false, Err(_)) => {
                let anew = |lost: LostMemory| LostMemory { is_said: lost.is_said, ..LostMemory::now() };
                self.memory_lost = self.memory_lost.map(anew);
            }
        }
        self.facts = sampler.facts().clone();
        // A server that goes away again is noticed at the next look.
        let _ = trace(&mut self.tracing, &mut sampler, &self.address, self.settings);
        // Another server may have its extension elsewhere or not at all, and other numbers for our role and statements.
        // A profile is held against what was counted at its beginning.
        if self.listener.is_some() {
            self.identifier = identifier(&mut sampler).unwrap_or_default();
            if let Ok(counters) = CounterSource::open(sampler.session()) {
                self.begun.counters = counters;
            }
        }
        // To open it took the server its time, all of which comes into the account that was begun before.
        let (waited, answers) = (sampler.session().waited(), sampler.session().answered());
        self.begun.own_before += waited;
        let before = self.begun.answers_before;
        self.begun.answers_before = (before.0 + waited, before.1 + answers);
        self.sampler = Some(sampler);
    }
}

/// How long a server is left alone that has been away, or has refused, for so long.
pub(super) fn knock_after(away: Duration) -> Duration {
    (away / KNOCK_PART).clamp(KNOCK_EVERY, KNOCK_EVERY_MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use server::{Address, Defaults, Statements};

    use super::*;
    use crate::watch::tests::{Wanting, ago, watch};

    #[test]
    fn a_wish_to_stop_while_the_server_is_away_is_no_end_by_the_server() {
        let ended = |is_stopped: bool| {
            let mut watch = watch();
            watch.stop.store(is_stopped, Ordering::Relaxed);
            let (statement, reason) = ("SELECT 1".to_string(), "it was closed".to_string());
            // The time is over, so that the server is not asked for a session.
            watch.come_back(&ServerError::Gone { statement, reason }, Instant::now());
            (watch.ended.is_some(), watch.away.len())
        };
        assert_eq!((ended(false), ended(true)), ((true, 1), (false, 1)));
    }

    #[test]
    fn a_server_that_stays_away_is_said_to_be_for_the_reason_of_now_and_not_for_that_of_its_end() {
        let (mut watch, wanting) = (watch(), Wanting::default());
        let said = Arc::clone(&wanting.said);
        watch.tell(Box::new(wanting));
        watch.address = Address::parse("postgres://me@127.0.0.1:1/shop?sslmode=disable").unwrap();
        watch.opened = ago(60);
        watch.knock(ago(9), Instant::now() + Duration::from_secs(3), "the connection was closed");
        let said = said.lock().unwrap().clone();
        assert!(said.len() == 1 && said[0].contains("127.0.0.1:1/shop does not respond"), "{said:?}");
    }

    #[test]
    fn a_password_file_that_is_changed_while_the_server_is_away_is_read_again() {
        // Whether the address that is completed anew is taken, by one that is the same and by one of another database.
        let is_taken = |database: &'static str| {
            let mut watch = watch();
            watch.tell(Box::new(Wanting::default()));
            watch.address = Address::parse("postgres://me@127.0.0.1:1/shop?sslmode=disable").unwrap();
            let before = format!("{:?}", watch.address);
            let written = Address::parse("postgres://me@127.0.0.1:1?sslmode=disable").unwrap();
            let defaults = Defaults::new(
                |name| match name {
                    "PGDATABASE" => Some(database.to_string()),
                    "PGPASSWORD" => Some("new".to_string()),
                    _ => None,
                },
                None,
            );
            watch.renew_address(written, defaults);
            watch.opened = ago(60);
            watch.knock(ago(1), Instant::now() + Duration::from_millis(500), "the connection was closed");
            format!("{:?}", watch.address) != before
        };
        assert_eq!((is_taken("shop"), is_taken("other")), (true, false));
    }

    #[test]
    fn what_the_server_counts_once_it_is_back_is_of_the_segment_behind_the_outage() {
        let mut watch = watch();
        watch.tell(Box::new(Wanting::default()));
        (watch.counted, watch.last) = (ago(60), Some(ago(3)));
        let (statement, reason) = ("SELECT 1".to_string(), "it was closed".to_string());
        watch.come_back(&ServerError::Gone { statement, reason }, Instant::now());
        assert!(!watch.skips_counters && watch.counted.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn what_a_server_counts_is_looked_for_anew_when_it_is_back_but_for_a_profile() {
        let is_found = |is_heard: bool| {
            let mut watch = watch();
            if is_heard {
                watch.tell(Box::new(Wanting::default()));
            }
            watch.begun.counters = Err("the database does not have the extension".into());
            let sampler = SqlSampler::rehearsal(&watch.address, (Statements::default(), 18)).unwrap();
            watch.take_session(sampler);
            watch.begun.counters.is_ok()
        };
        assert_eq!((is_found(true), is_found(false)), (true, false));
    }

    #[test]
    fn what_the_server_works_to_open_a_further_session_may_come_into_its_account_too() {
        let mut watch = watch();
        watch.tell(Box::new(Wanting::default()));
        let before = watch.begun.own_before;
        let sampler = SqlSampler::rehearsal(&watch.address, (Statements::default(), 18)).unwrap();
        watch.take_session(sampler);
        let waited = watch.sampler.as_mut().unwrap().session().waited();
        assert!(waited > Duration::ZERO);
        assert_eq!(watch.begun.own_before, before + waited);
    }

    #[test]
    fn a_server_that_stays_away_is_looked_for_less_and_less_often() {
        let after = [0, 3, 60, 86_400].map(|seconds| knock_after(Duration::from_secs(seconds)));
        assert_eq!(after, [500, 500, 6_000, 30_000].map(Duration::from_millis));
    }

    #[test]
    fn a_server_that_stays_away_is_said_to_be_once_and_what_is_said_is_heard_meanwhile() {
        // How long ago the last look was.
        let said_after = |seconds: u64| {
            let (mut watch, wanting, calls) = (watch(), Wanting::default(), Arc::new(AtomicUsize::new(0)));
            let (said, called) = (Arc::clone(&wanting.said), Arc::clone(&calls));
            watch.tell(Box::new(wanting));
            watch.meanwhile(Box::new(move || {
                called.fetch_add(1, Ordering::Relaxed);
            }));
            // It is over before the server is asked for a session.
            watch.opened = Instant::now() + Duration::from_secs(60);
            watch.knock(ago(seconds), Instant::now() + Duration::from_millis(500), "the connection was closed");
            assert!(calls.load(Ordering::Relaxed) > 1);
            said.lock().unwrap().clone()
        };
        assert_eq!(said_after(3), Vec::<String>::new());
        assert_eq!(said_after(11), ["unreached: the connection was closed"]);
    }
}
