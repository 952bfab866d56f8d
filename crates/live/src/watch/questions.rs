//! The questions of a watch to its server, and what it makes of the answers: what the sessions do, and all else. One
//! question at most is under way, because the sampler goes with it; looks at the server's memory go on meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use server::ServerError;

use super::Watch;
use super::look::count_hidden;
use super::settings::BLOCKING_EVERY;
use crate::burden::{rest_after_look, until_asked_again};
use crate::counters::CounterSource;
use crate::further::{Answers, CountersAnswer, CountersQuestion, LockWaits, Questions};
use crate::hits::BufferHits;
use crate::memory::MemorySampler;
use crate::question::{Looked, Question};
use crate::sampler::{Look, Texts};
use crate::sql::SqlSampler;

/// How long the watch waits for what the server shows of its sessions, before it reads memory on. It does not wait for
/// the answers to further questions.
const ANSWERED_WITHIN: Duration = Duration::from_millis(200);

impl Watch {
    /// Asks what else is to be known, and who blocks the sessions of these waits. Where the server's memory is read,
    /// the answers are taken when they have come: looks go on meanwhile.
    pub(super) fn ask_further(&mut self, waits: Option<LockWaits>) -> Result<(), ServerError> {
        self.held_up = Duration::ZERO;
        if self.sampler.is_none() {
            return Ok(());
        }
        let questions = self.further_questions(waits);
        if questions.is_empty() {
            return Ok(());
        }
        let Some(mut sampler) = self.lend() else { return Ok(()) };
        if self.memory.is_ok() {
            self.further = Some(Question::ask(sampler, move |sampler| questions.ask(sampler)));
            return Ok(());
        }
        let begun = Instant::now();
        let answers = questions.ask(&mut sampler);
        self.held_up = begun.elapsed();
        self.sampler = Some(sampler);
        self.take_answers(answers)
    }

    /// What else is to be asked now.
    fn further_questions(&mut self, blocking: Option<LockWaits>) -> Questions {
        self.asked = blocking.as_ref().map(|waits| waits.at).or(self.asked);
        self.rest_is_next = blocking.is_some();
        let is_over = Arc::clone(&self.is_over);
        // Waits of the moment are charged by its answer, which does not wait for any other.
        if self.rest_is_next {
            return Questions { blocking, tracing: None, hits: false, counters: None, is_over };
        }
        let asks_more = std::mem::take(&mut self.asks_more);
        let tracing = if asks_more { self.tracing.question() } else { None };
        let hits = asks_more && self.hits.as_mut().is_some_and(BufferHits::take_due);
        let is_due = self.counted.elapsed() >= self.counters_every;
        let wants_counters = is_due && self.listener.as_mut().is_some_and(|listener| listener.wants_counters());
        let counters = wants_counters.then(|| self.counters_question());
        Questions { blocking, tracing, hits, counters, is_over }
    }

    /// Asks what the server has counted since it was asked last, where that is of sampled time.
    pub(super) fn counters_question(&mut self) -> CountersQuestion {
        if std::mem::take(&mut self.skips_counters) {
            self.begun.counters.iter_mut().for_each(CounterSource::skip);
            self.accounted.forget("some of that time passed without samples");
        }
        self.counted = Instant::now();
        CountersQuestion { source: self.begun.counters.as_ref().ok().cloned(), own: self.own_time() }
    }

    /// Takes answers to further questions.
    fn take_answers(&mut self, answers: Answers) -> Result<(), ServerError> {
        let Answers { blocking, worked_for_blocking, tracing, hits, counters, worked_for_counters, failure } = answers;
        tracing.into_iter().for_each(|(answer, worked)| self.tracing.learn(answer, worked));
        if let (Some(known), Some((blocks, worked))) = (&mut self.hits, hits) {
            known.learn(blocks, worked);
        }
        if let Some(worked) = worked_for_blocking {
            self.blocking_every = until_asked_again(BLOCKING_EVERY, worked);
        }
        if let Some(worked) = worked_for_counters {
            self.counters_every = until_asked_again(Duration::ZERO, worked);
        }
        counters.into_iter().for_each(|answer| self.give_counters(answer));
        if let Some((waits, answer)) = blocking {
            self.blocking = waits.going_on(answer, &self.samples);
            self.answered = Some(waits.at);
            match &mut self.listener {
                Some(listener) => listener.blocking(&self.blocking),
                None => self.profile.blocking(&self.blocking, &self.samples),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Gives the listener what the server has counted.
    pub(super) fn give_counters(&mut self, answer: CountersAnswer) {
        let CountersAnswer { source, counted, account: now, own } = answer;
        if let Some(source) = source {
            self.begun.counters = Ok(source);
        }
        let (account, own) = self.accounted.next(now, own);
        // An account without counts would stand for a time in which no statement ended.
        let account = account.ok().filter(|_| counted.is_ok());
        // What the server worked to open our session comes into the account behind it.
        let (waited, answers) = std::mem::take(&mut self.begun.answers_before);
        let ways = self.sampler.as_ref().map_or(Duration::ZERO, SqlSampler::way) * answers;
        let own = own + std::mem::take(&mut self.begun.own_before).min(waited.saturating_sub(ways));
        if let Some(listener) = &mut self.listener {
            listener.counted(&counted.unwrap_or_default(), account, own);
        }
    }

    /// Asks the server what its sessions do, and learns from it what memory does not name. `None` where it has not
    /// answered yet, and its memory is to be read meanwhile.
    pub(super) fn ask(&mut self, texts: Texts) -> Result<Option<Look>, ServerError> {
        let waits = self.memory.as_mut().ok().map(MemorySampler::waits);
        let look = match waits {
            None => match &mut self.sampler {
                Some(sampler) => {
                    let look = sampler.look(texts, &mut self.samples)?;
                    self.rest = rest_after_look(sampler.worked);
                    look
                }
                None => return Ok(None),
            },
            Some(before) => {
                let Some(sampler) = self.lend() else { return Ok(None) };
                let question = Question::ask(sampler, move |sampler| Looked::by(sampler, texts));
                match question.answer(ANSWERED_WITHIN) {
                    Ok(answer) => self.take_look(answer, &before)?,
                    Err(question) => {
                        self.question = Some(question);
                        return Ok(None);
                    }
                }
            }
        };
        self.note_asked();
        Ok(Some(look))
    }

    /// Takes an answer that was waited for no longer, where it comes within `limit`: of a look, the names in it.
    pub(super) fn take_late_answer(&mut self, limit: Duration) -> Result<(), ServerError> {
        match self.further.take().map(|question| question.answer(limit)) {
            None => {}
            Some(Ok((sampler, answers))) => {
                self.sampler = Some(sampler);
                self.take_answers(answers)?;
            }
            Some(Err(question)) => self.further = Some(question),
        }
        match self.question.take().map(|question| question.answer(limit)) {
            None => {}
            Some(Ok(answer)) => {
                // Waits have changed since, so that none of them has its name from it.
                self.take_look(answer, &HashMap::new())?;
                self.note_asked();
            }
            Some(Err(question)) => self.question = Some(question),
        }
        Ok(())
    }

    /// The sampler, to go with a question; `None` where it is with another.
    pub(super) fn lend(&mut self) -> Option<SqlSampler> {
        self.lent = self.times();
        self.sampler.take()
    }

    /// Takes the sampler back and what it has seen. `before` are the waits as they were when it was asked.
    fn take_look(
        &mut self,
        (sampler, looked): (SqlSampler, Looked),
        before: &HashMap<u32, u32>,
    ) -> Result<Look, ServerError> {
        self.sampler = Some(sampler);
        let look = looked.look?;
        self.samples = looked.samples;
        if let Ok(memory) = &mut self.memory {
            memory.learn(before, &self.samples);
            for (was, is) in memory.take_renamed() {
                match &mut self.listener {
                    Some(listener) => listener.rename(&was, &is),
                    None => self.profile.rename(&was, &is),
                }
            }
        }
        Ok(look)
    }

    /// Notes that the server has shown what its sessions do, or that they are there.
    pub(super) fn note_asked(&mut self) {
        let hidden = count_hidden(&self.samples);
        self.hidden = self.hidden.max(hidden);
        self.listener.iter_mut().for_each(|listener| listener.hidden(hidden));
        let worked = self.sampler.as_ref().map_or(Duration::ZERO, |sampler| sampler.worked);
        self.rested = Instant::now() + rest_after_look(worked);
        self.looked = Some(Instant::now());
        self.unshown = None;
        self.asks += 1;
        self.asks_more = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use profile::event::Ticks;
    use profile::source::sampled::{Backend, Sample, State};

    use super::*;
    use crate::active_time::{ActiveTime, ActiveTimeMeter};
    use crate::counters::Counted;
    use crate::watch::tests::{Wanting, ago, watch};

    #[test]
    fn sessions_that_a_slow_server_does_not_show_are_counted_when_its_answer_comes_while_its_memory_is_read() {
        let (mut watch, wanting) = (watch(), Wanting::default());
        let noted = Arc::clone(&wanting.hidden);
        watch.tell(Box::new(wanting));
        watch.memory = Ok(MemorySampler::empty());
        let backend = Arc::new(Backend { pid: 7, ..Backend::default() });
        let (state, event, query_id, query_start, text, processor) = (State::Hidden, None, None, None, None, None);
        let samples = vec![Sample { backend, state, event, query_id, query_start, text, processor }];
        let look = Ok(Look { begun: Instant::now(), at: Instant::now() });
        let sampler = watch.lend().unwrap();
        watch.question = Some(Question::ask(sampler, move |_| Looked { look, samples }));
        while watch.question.is_some() {
            watch.take_late_answer(Duration::from_millis(1)).unwrap();
        }
        assert_eq!((watch.hidden, noted.load(Ordering::Relaxed)), (1, 1));
    }

    #[test]
    fn a_server_that_works_long_to_say_who_blocks_whom_is_asked_less_often() {
        let mut watch = watch();
        let answer = |worked| Answers { worked_for_blocking: Some(worked), ..Answers::default() };
        watch.take_answers(answer(Duration::from_secs(2))).unwrap();
        assert_eq!(watch.blocking_every, Duration::from_secs(20));
        watch.take_answers(answer(Duration::from_millis(1))).unwrap();
        assert_eq!(watch.blocking_every, BLOCKING_EVERY);
    }

    #[test]
    fn a_server_that_works_long_to_say_what_it_counts_is_not_asked_again_with_each_short_segment() {
        let mut watch = watch();
        watch.tell(Box::new(Wanting::default()));
        watch.counted = ago(1);
        assert!(watch.further_questions(None).counters.is_some());
        let worked = Some(Duration::from_secs(2));
        watch.take_answers(Answers { worked_for_counters: worked, ..Answers::default() }).unwrap();
        let mut is_asked_after = |seconds: u64| {
            watch.counted = ago(seconds);
            watch.further_questions(None).counters.is_some()
        };
        assert_eq!((is_asked_after(3), is_asked_after(21)), (false, true));
    }

    #[test]
    fn a_time_whose_statements_the_server_did_not_count_is_not_taken_for_one_in_which_none_ended() {
        let (mut watch, wanting) = (watch(), Wanting::default());
        let accounts = Arc::clone(&wanting.accounts);
        watch.tell(Box::new(wanting));
        watch.accounted = ActiveTimeMeter::begin(Ok(ActiveTime::sample(1.0)), Duration::ZERO);
        let refused = Err("its statement took longer than 5 s and was ended".to_string());
        for (seconds, counted) in [(3.0, Ok(Counted::new())), (7.0, refused), (8.0, Ok(Counted::new()))] {
            let (account, own) = (Ok(ActiveTime::sample(seconds)), Duration::ZERO);
            watch.give_counters(CountersAnswer { source: None, counted, account, own });
        }
        let accounts: Vec<_> = accounts.lock().unwrap().iter().map(|(account, _)| *account).collect();
        let seconds = |seconds: i64| Some(Ticks::from_micros(seconds * 1_000_000));
        assert_eq!(accounts, [seconds(2), None, seconds(1)]);
    }

    #[test]
    fn what_the_server_worked_to_open_our_session_is_in_the_first_answer_and_the_way_to_it_is_not() {
        let (mut watch, wanting) = (watch(), Wanting::default());
        let answers = Arc::clone(&wanting.accounts);
        watch.tell(Box::new(wanting));
        let waited = Duration::from_millis(300);
        (watch.begun.own_before, watch.begun.answers_before) = (waited, (waited, 2));
        watch.sampler.as_mut().unwrap().answer_time = Duration::from_millis(50);
        for _ in 0..2 {
            let (counted, account) = (Ok(Counted::new()), Err("it has none".to_string()));
            watch.give_counters(CountersAnswer { source: None, counted, account, own: Duration::ZERO });
        }
        let own: Vec<u128> = answers.lock().unwrap().iter().map(|(_, own)| own.as_millis()).collect();
        assert_eq!(own, [200, 0]);
    }

    #[test]
    fn what_the_server_counts_over_a_time_without_samples_is_of_no_segment() {
        let lost = Ticks::from_micros(3_000_000);
        // When the server was asked last, and when the time began.
        let is_skipped = |counted: u64, begun: u64| {
            let mut watch = watch();
            watch.tell(Box::new(Wanting::default()));
            watch.counted = ago(counted);
            // What the server takes to answer that question.
            watch.held_up = Duration::from_secs(if counted < begun { 3 } else { 0 });
            watch.lose(ago(begun), lost, "readpath did not run".into());
            let question = watch.further_questions(None).counters.unwrap();
            (question.source.unwrap().is_stale, watch.counted.elapsed() < Duration::from_secs(1))
        };
        assert_eq!(is_skipped(60, 3), (true, true));
        assert_eq!(is_skipped(2, 3), (false, true), "it was asked in that time");
        assert_eq!(is_skipped(3_600, 3), (false, true), "a thousandth of what it has counted");
        // The clock of the looks stood still as the machine slept.
        assert_eq!(is_skipped(60, 0), (true, true));
    }
}
