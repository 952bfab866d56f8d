//! What the numbers in a process's entry mean, learned from what the server shows of other processes.

use std::collections::HashMap;

use profile::source::sampled::{Backend, CLIENT, Sample, State};

use super::entry::Entry;

/// Most databases and roles whose names are kept.
const NAMES_MAX: usize = 1 << 12;

/// The kinds of processes that have a number each, as the server names them. All others are kinds of background
/// workers, which have one number together: of one that has just begun, it does not say which of them it is.
const KINDS: [&str; 16] = [
    CLIENT,
    "archiver",
    "autovacuum launcher",
    "autovacuum worker",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "slotsync worker",
    "standalone backend",
    "startup",
    "stats collector",
    "walreceiver",
    "walsender",
    "walsummarizer",
    "walwriter",
];

/// Names by number.
#[derive(Debug, Default)]
pub(super) struct Names {
    kinds: HashMap<i32, String>,
    databases: HashMap<u32, String>,
    users: HashMap<u32, String>,
}

impl Names {
    /// Takes down what the server says of the process with this entry.
    pub(super) fn learn(&mut self, entry: Entry<'_>, backend: &Backend) {
        if entry.start() != backend.start || entry.process() != backend.pid || backend.kind.is_empty() {
            return;
        }
        let (database, user) = entry.database_and_user();
        if KINDS.contains(&backend.kind.as_str()) {
            self.kinds.entry(entry.kind()).or_insert_with(|| backend.kind.clone());
        }
        for (names, number, name) in
            [(&mut self.databases, database, &backend.database), (&mut self.users, user, &backend.user)]
        {
            if number > 0 && !name.is_empty() && names.len() < NAMES_MAX {
                names.entry(number).or_insert_with(|| name.clone());
            }
        }
    }

    /// A process whose state the server hides, by its names, which it shows, and by what memory shows; `None` of any
    /// other process, and where its kind is not known.
    pub(super) fn hidden(&self, entry: Entry<'_>, sample: &Sample) -> Option<Backend> {
        let is_it = sample.state == State::Hidden && entry.process() == sample.backend.pid;
        let kind = self.kinds.get(&entry.kind()).filter(|_| is_it)?.clone();
        Some(Backend { start: entry.start(), kind, ..(*sample.backend).clone() })
    }

    /// A process of which the server has not yet told, as far as its numbers say; `None` where not even its kind.
    pub(super) fn backend(&self, entry: Entry<'_>) -> Option<Backend> {
        let (database, user) = entry.database_and_user();
        let name = |names: &HashMap<u32, String>, number| names.get(&number).cloned().unwrap_or_default();
        Some(Backend {
            pid: entry.process(),
            start: entry.start(),
            kind: self.kinds.get(&entry.kind())?.clone(),
            user: name(&self.users, user),
            database: name(&self.databases, database),
            application: String::new(),
        })
    }
}
