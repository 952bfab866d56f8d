//! How a watch reads the server's memory: as long as that is possible, and again when it is possible again. In between
//! the server is asked.

use std::time::Instant;

use super::Watch;
use super::lost_memory::LostMemory;
use super::settings::{ASK_EVERY, ASK_EVERY_LACKING, RATE_MAX};
use super::setup::memory;
use crate::memory::MemorySampler;
use crate::sampler::{Look, Texts};

impl Watch {
    /// Looks at the server's memory. `None` where the server is to be asked: because its memory is not read, or for
    /// what memory does not name.
    pub(super) fn look_at_memory(&mut self, texts: Texts) -> Option<Look> {
        let memory = self.memory.as_mut().ok()?;
        let since = self.looked?.elapsed();
        let is_due = since >= ASK_EVERY || (since >= ASK_EVERY_LACKING && memory.lacks_names());
        // After its answer the server rests as where each look is a query.
        if is_due && self.sampler.is_some() && Instant::now() >= self.rested {
            return None;
        }
        let look = memory.look(texts, &mut self.samples);
        if let Err(error) = &look {
            self.earlier.answer += memory.time;
            let read_no_more = Err(format!("it could no longer be read: {error}"));
            self.former = std::mem::replace(&mut self.memory, read_no_more).ok();
            // A mapping would keep the memory of a server that has ended.
            self.former.iter_mut().for_each(MemorySampler::unmap);
            self.memory_lost = Some(LostMemory::now());
            // What comes now is sampled in another way.
            self.begin_listener();
        }
        look.ok()
    }

    /// Tries to read memory again that could be read before, where it is time to. That it still cannot be read is said
    /// once, and not at once: a server that ends is noticed by its memory first.
    pub(super) fn try_memory_again(&mut self) {
        let Some(lost) = self.memory_lost.filter(LostMemory::is_due).filter(|_| !self.is_stopped()) else { return };
        let Some(sampler) = &mut self.sampler else { return };
        match memory(sampler, &self.address, self.settings) {
            Ok(memory) => {
                self.memory = Ok(memory);
                self.begin_listener();
                self.find_memory();
            }
            Err(why) => {
                self.memory_lost = Some(lost.tried_again());
                if !lost.is_said {
                    self.say(format!(
                        "the server's memory is not read any more: {why}. Until it can be, its sessions are sampled by \
                         query, at most {RATE_MAX} times a second."
                    ));
                }
                self.memory = Err(why);
            }
        }
    }

    /// Notes that the server's memory is read, and says so where it was said that it is not.
    pub(super) fn find_memory(&mut self) {
        if self.memory_lost.take().is_some_and(|lost| lost.is_said) {
            self.say("the server's memory is read again.".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use profile::observe::instruments::Instruments;
    use server::Address;
    use trial::Trial;

    use super::*;
    use crate::watch::tests::{SETTINGS, Wanting, ago, watch};

    #[test]
    fn memory_that_cannot_be_read_any_more_is_tried_again_and_again_and_said_once() {
        let mut watch = watch();
        let wanting = Wanting::default();
        let said = Arc::clone(&wanting.said);
        watch.tell(Box::new(wanting));
        (watch.memory, watch.looked) = (Ok(MemorySampler::unreadable_sample()), Some(Instant::now()));
        watch.look_once().unwrap();
        assert!(watch.memory_absent().unwrap().contains("could no longer be read"));
        assert!(watch.memory_lost.is_some_and(|lost| !lost.is_said) && said.lock().unwrap().is_empty());
        for seconds in [10, 20, 40] {
            let lost = watch.memory_lost.unwrap();
            assert_eq!(lost.pause, Duration::from_secs(seconds));
            watch.memory_lost = Some(LostMemory { tried: ago(seconds + 1), ..lost });
            watch.look_once().unwrap();
            assert!(!watch.memory_lost.unwrap().is_due(), "it is left alone for a while");
        }
        let all = said.lock().unwrap().clone();
        assert!(all.len() == 1 && all[0].contains("is not read any more: nothing is sent"), "{all:?}");
        let made = &watch.level(None)[0];
        assert!(made.contains("samples of the server's shared memory and, since that is not read any more"), "{made}");
    }

    #[test]
    fn a_server_that_works_long_to_show_its_sessions_rests_before_it_is_asked_for_names_again() {
        let mut watch = watch();
        watch.memory = Ok(MemorySampler::empty());
        if let Some(sampler) = &mut watch.sampler {
            sampler.worked = Duration::from_millis(90);
        }
        let before = Instant::now();
        watch.note_asked();
        assert!(watch.rested >= before + Duration::from_millis(360));
        (watch.looked, watch.rested) = (Some(ago(1)), Instant::now() + Duration::from_secs(60));
        assert!(watch.look_at_memory(Texts::New).is_some(), "its memory is read meanwhile");
        watch.rested = ago(1);
        assert!(watch.look_at_memory(Texts::New).is_none(), "it is asked again");
    }

    #[test]
    fn memory_that_could_not_be_read_for_a_while_is_read_again() {
        let Some(trial) = Trial::start(&[]) else { return };
        let address = Address::parse(&trial.url()).unwrap();
        let mut watch = Watch::open(&address, SETTINGS, Instruments::default(), Arc::default()).unwrap();
        if !watch.reads_memory() {
            return println!("skipped: the server's memory cannot be read");
        }
        watch.memory = Err("the server did not answer".into());
        watch.memory_lost = Some(LostMemory::now());
        watch.look_once().unwrap();
        assert!(!watch.reads_memory(), "it is not time to");
        watch.memory_lost = Some(LostMemory { tried: ago(11), ..LostMemory::now() });
        watch.look_once().unwrap();
        assert_eq!((watch.memory_absent(), watch.memory_lost), (None, None));
    }

    #[test]
    fn memory_that_can_no_longer_be_read_does_not_stay_mapped() {
        let Some(trial) = Trial::start(&[]) else { return };
        let address = Address::parse(&trial.url()).unwrap();
        let mut watch = Watch::open(&address, SETTINGS, Instruments::default(), Arc::default()).unwrap();
        if !watch.memory.as_ref().is_ok_and(MemorySampler::is_mapped) {
            return println!("skipped: the server's memory cannot be mapped");
        }
        // One that is not in the server's list is forgotten when that is read.
        while let Ok(memory) = &mut watch.memory {
            memory.add_unreadable();
            watch.looked = Some(Instant::now());
            watch.look_once().unwrap();
        }
        assert!(watch.former.as_ref().is_some_and(|former| !former.is_mapped()), "{:?}", watch.memory_absent());
    }
}
