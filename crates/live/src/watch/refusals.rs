//! Looks that the server refuses or ends: how long it is left alone after one, and from when on they end the watch or
//! cost sessions their names. A server that went away is another matter: here its session goes on.

use std::time::{Duration, Instant};

use server::ServerError;

use super::Watch;
use super::outage::knock_after;
use crate::refusal::why;

/// Looks in a row that the server may end or refuse before the watch gives up, how long it must have done so, and how
/// long it is left alone after each where its memory is not read: what it lacks, it may have a moment later.
const REFUSALS_MAX: u32 = 5;
const REFUSED_FOR: Duration = Duration::from_secs(5);
const AFTER_REFUSAL: Duration = Duration::from_millis(500);

/// How long the server may refuse to show its sessions, while its memory is read, before that is said.
const UNSHOWN_FOR: Duration = REFUSED_FOR;

impl Watch {
    /// The server refused or ended a look that was begun then: the next one may go through.
    pub(super) fn take_refusal(&mut self, error: &ServerError, begun: Instant) {
        // The texts may be what took too long: the next look goes without those that it was to bring.
        self.wants_texts = false;
        if self.memory.is_ok() {
            // Its memory is read meanwhile, and lacks names at worst. Each refusal is an error in the server's log.
            let since = *self.unshown.get_or_insert(begun);
            self.looked = Some(Instant::now() + knock_after(since.elapsed()));
            return self.note_unshown(error, since);
        }
        self.rested = Instant::now() + AFTER_REFUSAL;
        let (first, refusals) = self.refused.get_or_insert((begun, 0));
        *refusals += 1;
        if *refusals >= REFUSALS_MAX && first.elapsed() >= REFUSED_FOR {
            self.ended = Some(why(error));
        }
    }

    /// The server has refused to show its sessions since then, while its memory is read: where it has done so for a
    /// while, that is said, once.
    fn note_unshown(&mut self, error: &ServerError, since: Instant) {
        if self.unnamed.is_some() || since.elapsed() < UNSHOWN_FOR {
            return;
        }
        let sentence = format!(
            "pg_stat_activity could not be read for a while ({}): sessions were sampled from the server's memory all \
             the same, but users, databases and applications of new ones have no names, and some waits have none. \
             See the server's log; names come back with its answers.",
            why(error)
        );
        self.unnamed = Some(sentence.clone());
        self.say(sentence);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::memory::MemorySampler;
    use crate::watch::tests::{Wanting, ago, watch};

    #[test]
    fn a_server_that_refuses_for_a_moment_is_left_alone_for_a_while_and_not_given_up() {
        let mut watch = watch();
        let (statement, reason) = ("EXECUTE readpath_sample".to_string(), "out of shared memory".to_string());
        let refusal = ServerError::Statement { statement, reason, code: "53200".into() };
        for _ in 0..2 * REFUSALS_MAX {
            let before = Instant::now();
            watch.take_refusal(&refusal, before);
            assert!(watch.rested >= before + AFTER_REFUSAL);
        }
        assert_eq!(watch.ended, None);
        watch.refused = Some((ago(6), 1));
        watch.take_refusal(&refusal, Instant::now());
        assert_eq!(watch.ended, None, "two looks that took long");
        watch.refused = Some((ago(6), REFUSALS_MAX - 1));
        watch.take_refusal(&refusal, Instant::now());
        assert!(watch.ended.as_ref().is_some_and(|why| why.contains("out of shared memory")), "{:?}", watch.ended);
    }

    #[test]
    fn sessions_that_the_server_shows_no_more_while_its_memory_is_read_are_said_to_lack_names_once() {
        let mut watch = watch();
        let wanting = Wanting::default();
        let said = Arc::clone(&wanting.said);
        watch.tell(Box::new(wanting));
        watch.memory = Ok(MemorySampler::empty());
        let (statement, reason) = ("EXECUTE readpath_sample".to_string(), "permission denied".to_string());
        let refusal = ServerError::Statement { statement, reason, code: "42501".into() };
        watch.take_refusal(&refusal, Instant::now());
        assert!(said.lock().unwrap().is_empty() && !watch.lacks_names(), "the next look may go through");
        watch.unshown = Some(ago(6));
        (0..3).for_each(|_| watch.take_refusal(&refusal, Instant::now()));
        let all = said.lock().unwrap().clone();
        assert!(all.len() == 1 && all[0].contains("permission denied") && all[0].contains("have no names"), "{all:?}");
        assert!(watch.lacks_names() && watch.ended.is_none());
        watch.note_asked();
        assert!(!watch.lacks_names() && watch.level(None).contains(&all[0]), "the page says what was missing");
    }

    #[test]
    fn a_server_that_goes_on_to_refuse_to_show_its_sessions_has_fewer_and_fewer_errors_of_ours_in_its_log() {
        let mut watch = watch();
        watch.memory = Ok(MemorySampler::empty());
        let (statement, reason) = ("EXECUTE readpath_sample".to_string(), "permission denied".to_string());
        let refusal = ServerError::Statement { statement, reason, code: "42501".into() };
        let left_alone = |seconds: u64| {
            watch.unshown = Some(ago(seconds));
            watch.take_refusal(&refusal, Instant::now());
            watch.looked.unwrap().saturating_duration_since(Instant::now()).as_secs_f64().round()
        };
        assert_eq!([20, 60, 3_600].map(left_alone), [2.0, 6.0, 30.0]);
    }
}
