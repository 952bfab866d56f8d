//! The tracing of a server: what the follower found, the names of the relations, and the level that it is.

use std::time::{Duration, Instant};

use profile::event::Merge;
use profile::source::sampled::{AwaitedRead, Traced};
use profile::tables::read_tiers::ByTier;
use server::{ServerError, ServerFacts, Session, Statements};
use sys::watchpoint;

use super::events::By;
use super::follower::Follower;
use super::relations::{Relations, RelationsAnswer, RelationsQuestion};
use super::waiting::{Request, waiting};
use crate::burden::until_asked_again;

/// How often the server is asked, at most.
const ASKED_EVERY: Duration = Duration::from_millis(500);

/// How often a moment is read by two clocks.
const READINGS: u32 = 5;

/// The first version that reads by other means than its backends' own calls, and which it is set to.
const WITH_METHODS: u32 = 18;
const METHOD: &str = "SELECT setting FROM pg_settings WHERE name = 'io_method'";
const RING: &str = "io_uring";
const WORKER: &str = "worker";

/// The tracing of a server.
pub(crate) struct TracedServer {
    /// `None` once it has ended; `Err` holds the reason why there is none.
    follower: Result<Option<Follower>, String>,
    /// The names of relations by the paths of their files.
    pub(crate) relations: Relations,
    /// A moment, and the same by the clock of the reads.
    clock: (Instant, i64),
    /// Whether the server is asked which sessions wait for reads of others.
    shows_requests: bool,
    /// Whether the kernel does not count all records that it loses.
    misses_last_losses: bool,
    /// Whether the server reads by an io_uring whose reads are not seen.
    misses_rings: bool,
    /// All reads so far.
    tiers: ByTier,
    /// Sessions that wait for reads of others, as they were last asked for.
    waiting: Vec<AwaitedRead>,
    /// When the server was asked last, and how long it worked for the last answer.
    asked: Option<Instant>,
    worked: Duration,
}

impl TracedServer {
    /// Nothing is traced yet.
    pub(crate) fn new() -> TracedServer {
        let follower = Err("nothing is sent".into());
        TracedServer {
            follower,
            relations: Relations::default(),
            clock: moment(),
            shows_requests: false,
            misses_last_losses: false,
            misses_rings: false,
            tiers: ByTier::default(),
            waiting: Vec::new(),
            asked: None,
            worked: Duration::ZERO,
        }
    }

    /// Begins to trace where that is possible here; again on a server that has been restarted, after what was traced
    /// before has ended. Names of relations stay.
    pub(crate) fn begin(&mut self, session: &mut Session, is_local: bool) -> Result<(), ServerError> {
        self.follower = Err("the server could not be asked when it came back".into());
        (self.asked, self.worked) = (None, Duration::ZERO);
        let has_methods = session.facts().major() >= WITH_METHODS;
        let method = if has_methods { session.text(METHOD, Some(WORKER))? } else { None };
        self.shows_requests = shows_requests(method.as_deref(), session.facts());
        let by = if method.as_deref() == Some(RING) { By::Ring } else { By::Calls };
        self.follower = Follower::open(session.facts(), is_local, by).map(Some);
        self.misses_rings = matches!(&self.follower, Ok(Some(follower)) if by == By::Ring && !follower.sees_rings);
        self.misses_last_losses = matches!(&self.follower, Ok(Some(follower)) if !follower.counts_last_losses);
        Ok(())
    }

    /// Traces nothing from now on, for this reason.
    pub(crate) fn leave_out(&mut self, reason: &str) {
        self.follower = Err(reason.into());
    }

    /// This moment in µs since 1970, as reads have it.
    pub(crate) fn now(&self) -> i64 {
        self.at(Instant::now())
    }

    /// A moment in µs since 1970, by the wall clock as it is now, which that of a server on this machine is: where the
    /// one was set, so was the other.
    fn at(&self, moment: Instant) -> i64 {
        let (then, clock) = self.clock;
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let (later, earlier) = (moment.saturating_duration_since(then), then.saturating_duration_since(moment));
        let monotonic = clock.saturating_add(nanos(later)).saturating_sub(nanos(earlier));
        monotonic.saturating_add(watchpoint::since_1970()).div_euclid(1_000)
    }

    /// What was traced until this look, with its moment in µs since 1970; `None` where nothing is traced.
    pub(crate) fn look(&mut self, moment: Instant) -> Option<(i64, Traced)> {
        let Ok(Some(follower)) = &self.follower else { return None };
        let (mut traced, files) = follower.take();
        traced.waiting.append(&mut self.waiting);
        self.relations.want(files);
        traced.reads.iter().for_each(|read| self.tiers.of_mut(read.tier).merge(&read.sums()));
        Some((self.at(moment), traced))
    }

    /// What is to be asked now: names that are lacking, and sessions that wait for reads of others. `None` where
    /// nothing is, and where the server was asked a moment ago: looks may be queries of which there are many a second.
    pub(crate) fn question(&mut self) -> Option<TracingQuestion> {
        let every = until_asked_again(ASKED_EVERY, self.worked);
        if self.asked.is_some_and(|asked| asked.elapsed() < every) {
            return None;
        }
        let waiting = self.shows_requests && matches!(self.follower, Ok(Some(_)));
        let relations = self.relations.question();
        let is_some = waiting || relations.is_some();
        if is_some {
            self.asked = Some(Instant::now());
        }
        is_some.then_some(TracingQuestion { waiting, relations })
    }

    /// Takes the answer, for which the server worked so long.
    pub(crate) fn learn(&mut self, answer: TracingAnswer, worked: Duration) {
        self.worked = worked;
        // The answer may have come many looks later.
        let asked = self.at(answer.asked);
        self.waiting.extend(answer.waiting.into_iter().map(|request| request.at(asked)));
        answer.relations.into_iter().for_each(|answer| self.relations.learn(answer));
    }

    /// Asks for the last time, and waits for the answer.
    pub(crate) fn ask(&mut self, session: &mut Session) -> Result<(), ServerError> {
        self.relations.hasten();
        self.asked = None;
        if let Some(question) = self.question() {
            let answer = question.ask(session)?;
            self.learn(answer, Duration::ZERO);
        }
        Ok(())
    }

    /// Has the tracing end, without waiting for that.
    pub(crate) fn halt(&self) {
        if let Ok(Some(follower)) = &self.follower {
            follower.halt();
        }
    }

    /// Ends the tracing, and gives the rest.
    pub(crate) fn finish(&mut self) -> Option<(i64, Traced)> {
        let follower = self.follower.as_mut().ok().and_then(Option::take)?;
        let (traced, files) = follower.finish();
        self.relations.want(files);
        Some((self.at(Instant::now()), traced))
    }

    /// The reads so far by the tier that answered; why they are not traced, where they are not.
    pub(crate) fn tiers(&self) -> Result<&ByTier, &str> {
        self.follower.as_ref().map(|_| &self.tiers).map_err(String::as_str)
    }

    /// Why nothing is traced, where that is so.
    pub(crate) fn absent(&self) -> Option<&str> {
        self.follower.as_ref().err().map(String::as_str)
    }

    /// What it sends when it begins, for a dry run.
    pub(crate) fn rehearse_begin(session: &mut Session) -> Result<(), ServerError> {
        if session.facts().major() >= WITH_METHODS {
            session.text(METHOD, Some(WORKER))?;
        }
        Ok(())
    }

    /// What it sends again and again.
    pub(crate) fn rehearse(session: &mut Session, statements: &Statements) -> Result<(), ServerError> {
        if session.facts().major() >= WITH_METHODS {
            statements.remark("at most twice a second, where I/O workers read the files:");
            waiting(session)?;
        }
        statements.remark("at most twice a second, while files are read whose relation has no name yet:");
        Relations::rehearse(session)
    }

    /// The level that it is, in sentences.
    pub(crate) fn level(&self) -> String {
        match &self.follower {
            Err(why) => format!(
                "Which tier answered a read is not known, which the kernel's tracepoints would tell: {}.",
                why.trim_end_matches('.')
            ),
            Ok(_) if self.misses_rings => {
                "The kernel's tracepoints tell which tier answered a read, but not of reads that the server sends by \
                 io_uring, as it does here (io_method): this kernel's do not show them."
                    .into()
            }
            Ok(_) if self.misses_last_losses => {
                "The kernel's tracepoints tell which tier answered each read of a file. Kernels before 6.0, as this \
                 one, do not count the last records that they lose."
                    .into()
            }
            Ok(_) => "The kernel's tracepoints tell which tier answered each read of a file.".into(),
        }
    }
}

/// A moment, and the same by the clock of the reads, in ns.
fn moment() -> (Instant, i64) {
    let read = || {
        let (before, moment, after) = (watchpoint::now(), Instant::now(), watchpoint::now());
        (after - before, moment, (before + (after - before) / 2).cast_signed())
    };
    // Of several readings the one in which the thread lost its processor for the shortest time.
    let (_, moment, clock) = (1..READINGS).map(|_| read()).fold(read(), Ord::min);
    (moment, clock)
}

/// Whether a server that reads by this method shows our role its requests under way. Another role would be refused them
/// twice a second, and each refusal is an error in the server's log.
fn shows_requests(method: Option<&str>, facts: &ServerFacts) -> bool {
    method == Some(WORKER) && facts.reads_all_stats
}

/// What a server whose reads are traced is asked at one time.
pub(crate) struct TracingQuestion {
    /// Whether sessions are asked for that wait for reads of others.
    waiting: bool,
    relations: Option<RelationsQuestion>,
}

/// The answer.
pub(crate) struct TracingAnswer {
    /// When the server was asked which sessions wait.
    asked: Instant,
    waiting: Vec<Request>,
    relations: Option<RelationsAnswer>,
}

impl TracingQuestion {
    /// Asks.
    pub(crate) fn ask(self, session: &mut Session) -> Result<TracingAnswer, ServerError> {
        let asked = Instant::now();
        let waiting = if self.waiting { waiting(session)? } else { Vec::new() };
        let relations = self.relations.map(|question| question.ask(session)).transpose()?;
        Ok(TracingAnswer { asked, waiting, relations })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{SystemTime, UNIX_EPOCH};

    use server::{Address, Limits};

    use super::*;

    #[test]
    fn a_server_each_of_whose_looks_is_a_query_is_asked_about_its_reads_twice_a_second_at_most() {
        let mut tracing = TracedServer::new();
        tracing.relations.want(vec!["base/5/1".into()]);
        assert!(tracing.question().is_some());
        assert!(tracing.question().is_none(), "the next look follows 20 ms later");
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        tracing.asked = ago(1);
        assert!(tracing.question().is_some(), "no answer came");
        tracing.worked = Duration::from_secs(1);
        tracing.asked = ago(2);
        assert!(tracing.question().is_none(), "it works for each answer for a second");
        tracing.asked = ago(11);
        assert!(tracing.question().is_some());
        // At the end there is no later time.
        let (statements, address) = (Statements::default(), Address::parse("postgres://me@localhost/shop").unwrap());
        let recorder = (statements.clone(), 18);
        let mut session = Session::rehearsal(&address, Limits::default(), Arc::default(), recorder).unwrap();
        let before = statements.size().0;
        tracing.ask(&mut session).unwrap();
        assert!(statements.size().0 > before);
    }

    #[test]
    fn a_moment_is_the_servers_own_and_not_behind_it_by_the_time_that_it_took_to_begin() {
        let wall = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            i64::try_from(since.as_micros()).unwrap()
        };
        let tracing = TracedServer::new();
        let (before, now, after) = (wall(), tracing.now(), wall());
        assert!((before - 5..=after + 5).contains(&now), "{before} to {after}: {now}");
        let a_second_ago = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        assert!((before - 1_000_005..=wall() - 999_995).contains(&tracing.at(a_second_ago)));
    }

    #[test]
    fn a_role_that_may_not_see_requests_under_way_does_not_fill_the_servers_log_with_refusals() {
        let address = Address::parse("postgres://me@localhost/shop").unwrap();
        let recorder = (Statements::default(), 18);
        let session = Session::rehearsal(&address, Limits::default(), Arc::default(), recorder).unwrap();
        let seeing = session.facts().clone();
        let blind = ServerFacts { reads_all_stats: false, ..seeing.clone() };
        let shown = |method: Option<&str>| [&seeing, &blind].map(|facts| shows_requests(method, facts));
        assert_eq!([Some(WORKER), Some(RING), None].map(shown), [[true, false], [false; 2], [false; 2]]);
    }

    #[test]
    fn a_server_of_an_older_version_that_comes_back_in_the_place_of_another_is_not_asked_what_it_does_not_know() {
        let mut tracing = TracedServer::new();
        let address = Address::parse("postgres://me@localhost/shop").unwrap();
        let asks = [18, 17].map(|major| {
            let recorder = (Statements::default(), major);
            let mut session = Session::rehearsal(&address, Limits::default(), Arc::default(), recorder).unwrap();
            tracing.begin(&mut session, true).unwrap();
            tracing.shows_requests
        });
        assert_eq!(asks, [true, false]);
    }
}
