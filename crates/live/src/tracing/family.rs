//! Which processes are of the server: those that its first process has forked.

use std::collections::HashMap;

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
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(process, (true, now));
    }

    /// Whether a process is of the server. One that has gone and was not seen to be forked is not.
    pub(super) fn has(&mut self, process: u32, now: u64) -> bool {
        match self.known.get(&process) {
            Some((true, _)) => return true,
            Some((false, at)) if now.saturating_sub(*at) < FOREIGN_NANOS => return false,
            _ => {}
        }
        let is_of_it = parent(process) == Some(self.postmaster);
        self.born(process, now);
        self.known.insert(process, (is_of_it, now));
        is_of_it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
