//! Which processes are of the server: those that its first process has forked.

use std::collections::HashMap;

use profile::source::sampled::TracedRequest;

use crate::process::parent;

/// Most processes that are remembered, and how long one is taken for foreign, in ns.
const KNOWN_MAX: usize = 1 << 16;
const FOREIGN_NANOS: u64 = 5_000_000_000;

/// The processes of a server.
#[derive(Debug)]
pub(super) struct Family {
    postmaster: u32,
    /// Whether a process is of it, and when that was found.
    known: HashMap<u32, (bool, u64)>,
}

impl Family {
    pub(super) fn of(postmaster: u32) -> Family {
        Family { postmaster, known: HashMap::new() }
    }

    /// Notes a process that the first one has forked.
    pub(super) fn born(&mut self, process: u32, now: u64) {
        self.note(process, (true, now));
    }

    fn note(&mut self, process: u32, found: (bool, u64)) {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(process, found);
    }

    /// Whether a process is of the server. One that has gone and was not seen to be forked is not.
    pub(super) fn has(&mut self, process: u32, now: u64) -> bool {
        match self.known.get(&process) {
            Some((true, _)) => return true,
            Some((false, at)) if now.saturating_sub(*at) < FOREIGN_NANOS => return false,
            _ => {}
        }
        let is_of_it = parent(process) == Some(self.postmaster);
        self.note(process, (is_of_it, now));
        is_of_it
    }

    /// Leaves those of these requests that processes of the server sent. They begin by the clock of `now`.
    pub(super) fn retain_own(&mut self, requests: &mut Vec<TracedRequest>) {
        requests.retain(|one| self.has(one.process, one.begun.cast_unsigned()));
    }
}

#[cfg(test)]
mod tests {
    use profile::event::Ticks;
    use profile::tables::read_tiers::Purpose;

    use super::*;

    #[test]
    fn a_stranger_that_sends_requests_is_looked_for_once_in_a_while_and_not_with_each() {
        let mut family = Family::of(std::process::id());
        let (queue, service) = (Ticks::ZERO, Ticks::ZERO);
        let of = |begun: u64| TracedRequest {
            process: 1,
            begun: begun.cast_signed(),
            purpose: Purpose::Prefetch,
            bytes: 8192,
            queue,
            service,
        };
        let mut found = Vec::new();
        for begun in [1_000, 2_000, 3 * FOREIGN_NANOS] {
            let mut requests = vec![of(begun)];
            family.retain_own(&mut requests);
            assert!(requests.is_empty());
            found.push(family.known[&1]);
        }
        assert_eq!(found, [(false, 1_000), (false, 1_000), (false, 3 * FOREIGN_NANOS)]);
    }

    #[test]
    fn a_child_is_of_the_family_and_a_stranger_is_asked_about_again_after_a_while() {
        let mut family = Family::of(std::process::id());
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        assert!(family.has(child.id(), 0));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(family.has(child.id(), 1), "its last reads are still its");
        assert!(!family.has(1, 0));
        family.born(u32::MAX, 0);
        assert!(family.has(u32::MAX, 1), "one that was gone before it could be looked for");
    }
}
