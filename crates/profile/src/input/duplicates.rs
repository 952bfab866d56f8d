//! Files of one archive that seem to be the same, so that what is in them counts once for each.
//!
//! As with files that are given one by one, the first bytes and the size decide, and all of them are read. Files in
//! which nothing takes time, such as a note in each folder, add nothing to any sum, and are not compared.
//!
//! The same first bytes show whether an archive mixes traces and server logs, of which one kind is read.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::input::foreign::{HEAD_BYTES, Held, TIMED_BYTES_MAX, hash_of_head, held_by, may_be_timed};

/// Most files of an archive that the files behind them are compared with.
const COMPARED_MAX: usize = 1 << 16;

/// Longest name of a file that is compared: an archive that packs well may hold any number of names of a mebibyte.
const NAME_BYTES_MAX: usize = 1 << 10;

/// Files of an archive that seem to be the same, or of different kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// The names of the first two.
    pub first: Option<[String; 2]>,
    /// How many files behind these are like one before them.
    pub further: u64,
    /// The names of the first trace and of the first server log, where there are both: an archive is read as one kind.
    pub mixed: Option<[String; 2]>,
}

impl Duplicates {
    fn add(&mut self, pair: [String; 2]) {
        if self.first.is_none() {
            self.first = Some(pair);
        } else {
            self.further += 1;
        }
    }

    /// Adds those of an archive of this name that is a file of the archive.
    fn add_within(&mut self, name: &str, within: Duplicates) {
        if let Some(pair) = within.first {
            self.add(pair.map(|file| format!("{name}/{file}")));
        }
        self.further += within.further;
        let named = |files: [String; 2]| files.map(|file| format!("{name}/{file}"));
        self.mixed = self.mixed.take().or(within.mixed.map(named));
    }
}

/// What the reader of an archive has found so far, for the one who reads its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedDuplicates(Arc<Mutex<Duplicates>>);

impl SharedDuplicates {
    /// Hands out what was found so far.
    pub(crate) fn take(&self) -> Duplicates {
        mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Duplicates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Compares the files of an archive with one another while they are read.
#[derive(Default)]
pub(super) struct Comparison {
    /// The files so far, by their first bytes and their sizes.
    known: HashMap<(u64, u64), String>,
    /// The first bytes of the open file, and how many it has so far.
    head: Vec<u8>,
    bytes: u64,
    /// Whether anything in it may take time.
    is_timed: bool,
    /// The first files that hold a trace and a server log.
    trace: Option<String>,
    server_log: Option<String>,
    found: SharedDuplicates,
}

impl Comparison {
    /// Where to look for what is found.
    pub(super) fn found(&self) -> SharedDuplicates {
        self.found.clone()
    }

    /// Takes the next bytes of the open file.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let known = self.head.len();
        let (first, behind) = bytes.split_at(bytes.len().min(HEAD_BYTES - known));
        self.head.extend_from_slice(first);
        self.bytes += bytes.len() as u64;
        // A sign may have begun in the bytes before. Behind the first bytes one that did is missed: there is another.
        let from = known.saturating_sub(TIMED_BYTES_MAX);
        self.is_timed = self.is_timed || may_be_timed(&self.head[from..]) || may_be_timed(behind);
    }

    /// Ends the open file. `within` is what was found among its own files, where it is an archive.
    pub(super) fn end_file(&mut self, name: String, within: Duplicates) {
        let key = (hash_of_head(&self.head), mem::take(&mut self.bytes));
        let held = held_by(&self.head);
        self.head.clear();
        let is_timed = mem::take(&mut self.is_timed);
        if name.len() <= NAME_BYTES_MAX {
            self.note_held(held, &name);
        }
        let mut found = self.found.lock();
        found.add_within(&name, within);
        if !is_timed || name.len() > NAME_BYTES_MAX {
            return;
        }
        if let Some(first) = self.known.get(&key) {
            found.add([first.clone(), name]);
        } else if self.known.len() < COMPARED_MAX {
            self.known.insert(key, name);
        }
    }
    /// Notes the first file of each kind, and that there are both.
    fn note_held(&mut self, held: Option<Held>, name: &str) {
        let first = match held {
            Some(Held::Trace) => &mut self.trace,
            Some(Held::ServerLog) => &mut self.server_log,
            None => return,
        };
        if first.is_some() {
            return;
        }
        *first = Some(name.into());
        if let (Some(trace), Some(server_log)) = (&self.trace, &self.server_log) {
            self.found.lock().mixed.get_or_insert_with(|| [trace.clone(), server_log.clone()]);
        }
    }
}
