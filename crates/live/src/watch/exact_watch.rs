//! A watch over every wait of chosen sessions for a few seconds, in which nothing is sampled.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use profile::event::Ticks;
use sys::watchpoint;

use super::Watch;
use super::settings::{ASK_EVERY, EXACT_NAP};
use crate::active_time::ActiveTime;
use crate::exact::{Chosen, Exact, TracedReads, Watching};
use crate::refusal::why;
use crate::sampler::Texts;

/// How long a question that is under way may hold up the account at the end.
const ACCOUNTED_WITHIN: Duration = Duration::from_millis(200);

impl Watch {
    /// Watches every wait of the chosen sessions for a time, or until the wish to stop: nothing is sampled. `announce`
    /// gets what that will cost before it begins; `each` is called about once in 5 ms, and breaks it off.
    ///
    /// # Errors
    /// Why that cannot be, as a sentence without its full stop; nothing was watched then.
    pub fn run_exact(
        &mut self,
        chosen: Chosen,
        window: Duration,
        announce: &mut dyn FnMut(&str),
        each: &mut dyn FnMut(&Watch) -> ControlFlow<()>,
    ) -> Result<(), String> {
        if let Err(why) = &self.memory {
            return Err(format!("every wait is seen by way of the server's memory, which cannot be read: {why}"));
        }
        let mut exact = Exact::open(chosen)?;
        announce(&exact.announcement());
        self.ask(Texts::All).map_err(|error| why(&error))?;
        while self.question.is_some() {
            thread::sleep(EXACT_NAP);
            self.take_late_answer(Duration::ZERO).map_err(|error| why(&error))?;
        }
        // Before the sessions are watched: changes find room for a moment alone.
        if let Err(error) = self.begin_counters() {
            self.begun.counters = Err(why(&error));
        }
        self.follow(&mut exact);
        if exact.is_empty() {
            return Err(exact.refusal());
        }
        let account = match &mut self.sampler {
            Some(sampler) => ActiveTime::now(sampler.session()).unwrap_or_else(|error| Err(why(&error))),
            None => Err("the server did not answer when the watch began".into()),
        };
        self.begin(account);
        // What was read before is of no session that is watched.
        let _ = self.tracing.look(Instant::now());
        let (begun, base) = (Instant::now(), (watchpoint::now(), self.tracing.now()));
        let mut traced = TracedReads::new(base);
        self.profile.begin_at(base.1);
        while begun.elapsed() < window && !self.is_stopped() && self.ended.is_none() {
            thread::sleep(EXACT_NAP);
            self.tracing.look(Instant::now()).into_iter().for_each(|(_, more)| traced.add(more));
            match exact.drain() {
                true => self.follow(&mut exact),
                false => self.ended = Some("there were more changes than can be kept".into()),
            }
            let _ = self.ask_further(None);
            if self.memory.is_err() {
                self.ended.get_or_insert_with(|| "the server's memory could no longer be read".into());
            }
            if each(self).is_break() {
                break;
            }
        }
        let clock = |nanos: u64| Ticks::from_micros(base.1) + Ticks::from_nanos(nanos.saturating_sub(base.0));
        exact.drain();
        // To end the tracing takes a moment, which is not watched any more.
        let (ended, is_traced) = (watchpoint::now(), self.tracing.absent().is_none());
        let taken = self.taken();
        // To add the changes up takes longer: where the server answers now, what it counts ends here too.
        self.tracing.halt();
        let account = self.account_now();
        let counters = if account.is_some() { self.counters_now() } else { None };
        self.tracing.finish().into_iter().for_each(|(_, more)| traced.add(more));
        // What was watched until then has its names from it all the same.
        if let Some(memory) = self.memory.as_mut().ok().or(self.former.as_mut()) {
            let traced = is_traced.then_some(traced);
            let watching = exact.finish(memory, &mut self.profile, clock, ((base.0, ended), traced));
            self.watching = Some(Watching { account, counters, taken, ..watching });
        }
        Ok(())
    }

    /// The server's account of its sessions' time, where it gives one now. A wish to stop ends all other questions.
    fn account_now(&mut self) -> Option<Result<ActiveTime, String>> {
        // The session may be with a question.
        let _ = self.take_late_answer(ACCOUNTED_WITHIN);
        let session = self.sampler.as_mut()?.session();
        session.outlast_stop();
        ActiveTime::now(session).ok()
    }

    /// Looks for sessions that are new, and for names and texts. Where the server does not answer, names are lacking.
    fn follow(&mut self, exact: &mut Exact) {
        let at = watchpoint::now();
        if !self.look_for_sessions() {
            return;
        }
        exact.learn(&self.samples);
        if let Ok(memory) = &self.memory {
            exact.follow(memory, at);
        }
    }

    /// Looks which sessions there are; `false` where the server was asked in vain. Then its memory is read the next
    /// time: that shows which sessions have ended, and whether the server has.
    fn look_for_sessions(&mut self) -> bool {
        let is_seen = self.take_late_answer(Duration::ZERO).is_ok()
            && (self.look_at_memory(Texts::New).is_some() || self.ask(Texts::New).is_ok());
        if !is_seen {
            // It may be refused again, which is an error in the server's log: not as often as names are asked for.
            self.looked = Some(Instant::now() + ASK_EVERY);
        }
        is_seen
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use server::{ServerError, Statements};

    use super::*;
    use crate::memory::MemorySampler;
    use crate::question::{Looked, Question};
    use crate::sql::SqlSampler;
    use crate::watch::tests::{ago, watch};

    #[test]
    fn memory_is_read_on_where_the_server_does_not_answer_for_it_shows_whether_the_server_has_ended() {
        let (mut watch, before) = (watch(), Instant::now());
        (watch.memory, watch.looked) = (Ok(MemorySampler::empty()), Some(ago(1)));
        let sampler = watch.lend().unwrap();
        let gone = ServerError::Gone { statement: "SELECT 1".into(), reason: "it was closed".into() };
        watch.question = Some(Question::ask(sampler, move |_| Looked { look: Err(gone), samples: Vec::new() }));
        let mut is_seen = true;
        while watch.question.is_some() {
            is_seen = watch.look_for_sessions();
        }
        assert!(!is_seen && watch.looked >= Some(before + ASK_EVERY), "it would be asked in vain again and again");
    }

    #[test]
    fn the_account_of_a_watch_that_a_signal_ends_does_not_wait_until_all_is_added_up() {
        let mut watch = watch();
        let session = watch.sampler.as_mut().unwrap().session();
        session.stop_flag().store(true, Ordering::Relaxed);
        assert!(ActiveTime::now(session).is_err_and(|error| error.is_stop()), "it ends other questions");
        assert!(watch.account_now().is_some() && watch.counters_now().is_some_and(|counters| counters.is_ok()));
    }

    #[test]
    fn a_server_may_work_no_longer_for_the_last_questions_of_a_watch_than_for_others() {
        let (mut watch, statements) = (watch(), Statements::default());
        watch.sampler = Some(SqlSampler::rehearsal(&watch.address, (statements.clone(), 18)).unwrap());
        watch.account_now();
        watch.close();
        let script = statements.script();
        assert_eq!(script.matches("SET statement_timeout").count(), 1, "{script}");
    }
}
