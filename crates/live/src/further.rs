//! What the server is asked in addition to what its sessions do: who blocks whom, names, and what it counts. Its
//! answers may come late: nothing is sampled from them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use profile::source::sampled::Sample;
use server::{ServerError, Session};

use crate::active_time::ActiveTime;
use crate::counters::{Counted, CounterSource};
use crate::hits::BufferHits;
use crate::refusal::unless_refused;
use crate::sql::{SqlSampler, lock_waiters};
use crate::tracing::{TracingAnswer, TracingQuestion};

/// Sessions that wait for a lock, each with those that it waits for.
pub(crate) type Blocking = Vec<(u32, Vec<u32>)>;

/// Questions that are asked one after another.
pub(crate) struct Questions {
    /// Who blocks whom, where sessions wait for locks. Then nothing else is asked.
    pub(crate) blocking: Option<LockWaits>,
    pub(crate) tracing: Option<TracingQuestion>,
    /// How many blocks were found in the buffers.
    pub(crate) hits: bool,
    pub(crate) counters: Option<CountersQuestion>,
    /// Raised when the watch ends, which waits for the answer under way and for no other.
    pub(crate) is_over: Arc<AtomicBool>,
}

/// What was answered; `None` where it was not asked, or was refused.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) blocking: Option<(LockWaits, Blocking)>,
    /// How long the server worked for that, also where it came to nothing.
    pub(crate) worked_for_blocking: Option<Duration>,
    /// With the time that the server worked for it.
    pub(crate) tracing: Option<(TracingAnswer, Duration)>,
    /// The same. Within, `None` where the server refused.
    pub(crate) hits: Option<(Option<u64>, Duration)>,
    pub(crate) counters: Option<CountersAnswer>,
    /// How long the server worked for that.
    pub(crate) worked_for_counters: Option<Duration>,
    /// What ended the questions: the server is gone, or is not to be asked any more.
    pub(crate) failure: Option<ServerError>,
}

impl Questions {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocking.is_none() && self.tracing.is_none() && !self.hits && self.counters.is_none()
    }

    /// Asks them all, unless the watch ends meanwhile.
    pub(crate) fn ask(self, sampler: &mut SqlSampler) -> Answers {
        let mut answers = Answers::default();
        let asked = self.ask_into(sampler, &mut answers);
        Answers { failure: asked.err(), ..answers }
    }

    fn ask_into(self, sampler: &mut SqlSampler, answers: &mut Answers) -> Result<(), ServerError> {
        let Questions { blocking, tracing, hits, counters, is_over } = self;
        let goes_on = || !is_over.load(Ordering::Relaxed);
        if let Some(waits) = blocking.filter(|_| goes_on()) {
            let (answer, worked) = timed(sampler, SqlSampler::blocking);
            answers.worked_for_blocking = Some(worked);
            // Where it is refused, it is asked again soon.
            answers.blocking = unless_refused(answer)?.ok().map(|answer| (waits, answer));
        }
        if let Some(question) = tracing.filter(|_| goes_on()) {
            let (answer, worked) = timed(sampler, |sampler| question.ask(sampler.session()));
            answers.tracing = Some((answer?, worked));
        }
        if hits && goes_on() {
            let (answer, worked) = timed(sampler, |sampler| BufferHits::ask(sampler.session()));
            answers.hits = Some((answer?, worked));
        }
        if let Some(question) = counters.filter(|_| goes_on()) {
            let (answer, worked) = timed(sampler, |sampler| question.ask(sampler.session()));
            answers.worked_for_counters = Some(worked);
            answers.counters = Some(answer?);
        }
        Ok(())
    }
}

/// What comes of a question, and how long the server worked for it, as far as the way there and back is known, which
/// each of its statements takes. The server counts that work among its sessions' time.
fn timed<T>(sampler: &mut SqlSampler, ask: impl FnOnce(&mut SqlSampler) -> T) -> (T, Duration) {
    let (begun, before) = (Instant::now(), sampler.session().answered());
    let answer = ask(sampler);
    let ways = sampler.way() * sampler.session().answered().wrapping_sub(before);
    let worked = begun.elapsed().saturating_sub(ways);
    sampler.further_time += worked;
    (answer, worked)
}

/// Sessions that wait for locks, as they were sampled before it is asked who blocks them.
pub(crate) struct LockWaits {
    /// When it is asked.
    pub(crate) at: Instant,
    waiters: HashSet<u32>,
}

impl LockWaits {
    /// Those in samples of this moment.
    pub(crate) fn of(samples: &[Sample]) -> LockWaits {
        LockWaits { at: Instant::now(), waiters: lock_waiters(samples).collect() }
    }

    /// An answer without the waits that have ended since it was asked for, by the samples of the moment.
    pub(crate) fn going_on(&self, mut answer: Blocking, samples: &[Sample]) -> Blocking {
        let now: HashSet<u32> = lock_waiters(samples).collect();
        answer.retain(|(waiter, _)| now.contains(waiter) || !self.waiters.contains(waiter));
        answer
    }
}

/// What the server has counted of its statements and its sessions' time since it was asked last.
pub(crate) struct CountersQuestion {
    /// `None` where it does not count statements.
    pub(crate) source: Option<CounterSource>,
    /// How long the server has worked for our session.
    pub(crate) own: Duration,
}

/// The answer; `Err` holds the reason why the server did not count statements in all of that time.
pub(crate) struct CountersAnswer {
    pub(crate) source: Option<CounterSource>,
    pub(crate) counted: Result<Counted, String>,
    pub(crate) account: Result<ActiveTime, String>,
    pub(crate) own: Duration,
}

impl CountersQuestion {
    /// Asks.
    pub(crate) fn ask(self, session: &mut Session) -> Result<CountersAnswer, ServerError> {
        let CountersQuestion { mut source, own } = self;
        let counted = match &mut source {
            Some(source) => source.next(session)?,
            None => Ok(Counted::new()),
        };
        let account = ActiveTime::now(session)?;
        Ok(CountersAnswer { source, counted, account, own })
    }
}

#[cfg(test)]
mod tests {
    use profile::source::sampled::{Backend, State};
    use server::{Address, Statements};

    use super::*;

    #[test]
    fn what_the_server_works_for_questions_besides_looks_is_time_of_our_session() {
        let address = Address::parse("postgres://me@localhost/shop").unwrap();
        let mut sampler = SqlSampler::rehearsal(&address, (Statements::default(), 18)).unwrap();
        let mut asked = |millis: u64| timed(&mut sampler, |_| std::thread::sleep(Duration::from_millis(millis))).1;
        let worked = [asked(20), asked(30)];
        assert!(worked[0] >= Duration::from_millis(20) && sampler.further_time == worked[0] + worked[1]);
        assert_eq!(sampler.server_time, Duration::ZERO, "looks took none");
    }

    #[test]
    fn the_way_to_a_distant_server_is_no_work_of_it_however_many_statements_a_question_takes() {
        let address = Address::parse("postgres://me@localhost/shop").unwrap();
        let mut sampler = SqlSampler::rehearsal(&address, (Statements::default(), 18)).unwrap();
        sampler.answer_time = Duration::from_millis(30);
        let begun = Instant::now();
        let (_, worked) = timed(&mut sampler, |sampler| {
            for statement in ["SELECT 1", "SELECT 2"] {
                sampler.session().run(statement).unwrap();
            }
            std::thread::sleep(Duration::from_millis(100));
        });
        assert!(worked + 2 * Duration::from_millis(30) <= begun.elapsed(), "{worked:?}");
    }

    #[test]
    fn a_watch_that_ends_waits_for_no_question_that_was_not_asked_yet() {
        let sent = |is_over: bool| {
            let (statements, is_over) = (Statements::default(), Arc::new(AtomicBool::new(is_over)));
            let address = Address::parse("postgres://me@localhost/shop").unwrap();
            let mut sampler = SqlSampler::rehearsal(&address, (statements.clone(), 18)).unwrap();
            let before = statements.size().0;
            let counters = Some(CountersQuestion { source: None, own: Duration::ZERO });
            let questions = Questions { blocking: None, tracing: None, hits: true, counters, is_over };
            assert!(questions.ask(&mut sampler).failure.is_none());
            statements.size().0 - before
        };
        assert_eq!((sent(false), sent(true)), (2, 0));
    }

    fn sample(pid: u32, event: Option<&str>) -> Sample {
        Sample {
            backend: Arc::new(Backend { pid, ..Backend::default() }),
            state: State::Active,
            event: event.map(Arc::from),
            query_id: None,
            query_start: None,
            text: None,
            processor: None,
        }
    }

    #[test]
    fn an_answer_that_comes_late_says_nothing_of_waits_that_are_over() {
        let waiting = |pid| sample(pid, Some("Lock:transactionid"));
        let asked = LockWaits::of(&[waiting(1), waiting(2), sample(3, None)]);
        let answer: Blocking = vec![(1, vec![9]), (2, vec![9]), (3, vec![1])];
        // The first goes on to wait, the second works, and the third began to wait when it was asked.
        let samples = [waiting(1), sample(2, None), sample(3, None)];
        assert_eq!(asked.going_on(answer, &samples), [(1, vec![9]), (3, vec![1])]);
    }
}
