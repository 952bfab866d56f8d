//! One look of a watch: the gap before it, where there is one, and what it gives to the listener or the profile. Other
//! files decide whether the server's memory is read for it or the server is asked.

use std::time::{Duration, Instant};

use profile::source::sampled::{Sample, State};
use server::ServerError;

use super::Watch;
use super::lost_time::ticks;
use crate::further::LockWaits;
use crate::hits::BufferHits;
use crate::memory::MemorySampler;
use crate::sampler::Texts;
use crate::sql::has_lock_waits;

/// A gap between two looks of this length and of more intervals than these is time in which nothing was sampled: what
/// the look behind it meets says little of it.
const GAP_MAX: Duration = Duration::from_secs(1);
const GAP_INTERVALS: f64 = 5.0;

/// Why there was such a gap where looks were refused or ended in it.
const REFUSED: &str =
    "the server refused or ended what readpath asked: it was slow, or a statement_timeout of the role is short";

impl Watch {
    /// One look, and what else is to be asked where it is time to.
    pub(super) fn look_once(&mut self) -> Result<(), ServerError> {
        self.wants_texts |= match &mut self.listener {
            Some(listener) => listener.takes_texts(),
            None => self.profile.takes_texts(),
        };
        let texts = if self.wants_texts { Texts::All } else { Texts::New };
        let begun = Instant::now();
        // Our own wish, and no gap.
        let rest = std::mem::take(&mut self.rest);
        self.take_late_answer(Duration::ZERO)?;
        self.try_memory_again();
        let mut of_memory = self.look_at_memory(texts);
        let of_server = if of_memory.is_none() { self.ask(texts)? } else { None };
        if of_server.is_some() && count_hidden(&self.samples) > 0 && self.memory.is_ok() {
            // Memory shows what the server hides from our role.
            of_memory = self.look_at_memory(texts);
            if of_memory.is_none() {
                return Ok(());
            }
        }
        let is_of_memory = of_memory.is_some();
        let Some(look) = of_memory.or(of_server) else { return Ok(()) };
        self.wants_texts = false;
        let last = self.last.replace(look.at);
        let mut since = last.map_or(Duration::ZERO, |last| look.at - last);
        if let Some(slept) = self.sleeps.since() {
            // What the server counted meanwhile is of no second that is shown.
            self.hits.iter_mut().for_each(BufferHits::forget);
            self.lose(look.at, ticks(slept + since), "this machine slept".into());
            since = Duration::ZERO;
        }
        if since > rest + GAP_MAX.max(Duration::from_secs_f64(GAP_INTERVALS / self.rate())) {
            let of_server = self.refused.map_or(begun, |(first, _)| first.min(begun)).elapsed();
            let is_asleep = self.held_up + of_server < since.saturating_sub(rest) / 2;
            let reason = match (is_asleep, self.refused) {
                (true, _) => "readpath did not run",
                (false, Some(_)) => REFUSED,
                (false, None) => "the server was slow to answer",
            };
            self.lose(look.at - since, ticks(since), reason.into());
            since = Duration::ZERO;
        }
        self.since = since;
        match &mut self.listener {
            Some(listener) => listener.look(ticks(since), &self.samples),
            None => {
                let memory = self.memory.as_ref().ok().filter(|_| is_of_memory);
                self.profile.look_at_changes(ticks(since), &self.samples, memory.map_or(&[], MemorySampler::rest));
            }
        }
        let has_waits = has_lock_waits(&self.samples);
        if !has_waits {
            self.blocking.clear();
        }
        // A statement that a look shows may have ended before its middle.
        self.hear(look.begun);
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= self.blocking_every) && self.sampler.is_some();
        let waits = (is_due && has_waits && !self.rest_is_next).then(|| LockWaits::of(&self.samples));
        self.ask_further(waits)
    }

    /// Gives what was traced until the last look to the listener or the profile.
    fn hear(&mut self, moment: Instant) {
        let Some((at, traced)) = self.tracing.look(moment) else { return };
        match &mut self.listener {
            Some(listener) => {
                listener.trace((at, &self.samples), traced, self.tracing.relations.names());
                self.tracing.relations.take_warning().into_iter().for_each(|sentence| listener.say(sentence));
            }
            None => self.profile.trace(at, &self.samples, traced),
        }
    }

    /// Ends the tracing, and gives what was traced since the last look.
    pub(super) fn hear_rest(&mut self) {
        let Some((at, traced)) = self.tracing.finish() else { return };
        match &mut self.listener {
            Some(listener) => listener.trace((at, &[]), traced, self.tracing.relations.names()),
            None => self.profile.trace(at, &[], traced),
        }
    }
}

/// How many sessions there are of which the server shows only that they are there.
pub(super) fn count_hidden(samples: &[Sample]) -> u64 {
    samples.iter().filter(|sample| sample.state == State::Hidden).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::tests::{Wanting, ago, watch};

    #[test]
    fn texts_that_a_look_was_to_bring_which_never_came_are_brought_by_the_next() {
        let mut watch = watch();
        watch.tell(Box::new(Wanting { takes_texts: true, ..Wanting::default() }));
        let sampler = watch.sampler.take();
        watch.look_once().unwrap();
        assert!(watch.wants_texts, "the server did not answer");
        watch.sampler = sampler;
        watch.look_once().unwrap();
        assert!(!watch.wants_texts);
    }

    #[test]
    fn a_time_in_which_the_server_refused_to_answer_is_not_blamed_on_readpath() {
        let reasons = |refused: Option<(Instant, u32)>| {
            let mut watch = watch();
            (watch.last, watch.refused) = (Some(ago(5)), refused);
            watch.look_once().unwrap();
            watch.away.iter().map(|(reason, _)| reason.clone()).collect::<Vec<_>>()
        };
        assert_eq!(reasons(Some((ago(5), 1))), [REFUSED]);
        assert_eq!(reasons(None), ["readpath did not run"]);
    }
}
