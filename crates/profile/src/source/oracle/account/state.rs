//! What the accounting holds between two lines.

use std::collections::{BTreeMap, HashMap};

use crate::event::{Context, EventIndex, Problem, ProblemKind, SessionIndex, Ticks, TimeScale, Unread};
use crate::source::contract::FileHeader;
use crate::source::oracle::account::wall_clock::WallClock;
use crate::source::oracle::budget::Budget;
use crate::source::oracle::record::Attribute;
use crate::source::oracle::registry::Registry;
use crate::source::oracle::session::SessionState;

/// Most cursors of the files being read that are kept apart, and most sessions in all: a damaged file could
/// name a new one in every line. What comes later shares one.
pub(super) const CURSORS: usize = 1 << 16;
pub(super) const SESSIONS: usize = 1 << 14;

/// What a mark changes.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Process(u64),
    Attribute(Attribute, String),
}

/// A batch's event, in the terms of the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchEvent {
    pub(super) index: EventIndex,
    pub(super) is_between_by_name: bool,
}

/// The accounting of one or more files, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    pub(super) context: Context,
    pub(super) registry: Registry,
    pub(super) budget: Budget,
    pub(super) scale: TimeScale,
    pub(super) problems: BTreeMap<ProblemKind, Problem>,
    pub(super) unread: Vec<Unread>,
    pub(super) clocks: Option<(i64, i64)>,
    pub(super) wall_clock: WallClock,
    /// Files begun.
    pub(super) files: u32,
    /// How many were begun when the last one was that had a line other than marks.
    pub(super) last_begun: u32,
    /// How many observers have heard of.
    pub(super) heard: u32,
    /// The name of the current file, until observers have heard it.
    pub(super) name: Option<String>,
    /// What the current file says of where it comes from.
    pub(super) header: FileHeader,
    /// The names of the current file's containers by number.
    pub(super) containers: HashMap<u64, String, foldhash::fast::RandomState>,
    /// The same of the files before, by host and instance.
    pub(super) known_containers: HashMap<(String, String), HashMap<u64, String, foldhash::fast::RandomState>>,
    /// Calls and waits of the current file.
    pub(super) timed_records: u64,
    /// Sessions of the current file, and of the one before where it goes on in this one.
    pub(super) sessions: Vec<SessionState>,
    pub(super) by_key: HashMap<String, usize, foldhash::fast::RandomState>,
    pub(super) by_process: HashMap<u64, usize, foldhash::fast::RandomState>,
    pub(super) process: Option<u64>,
    pub(super) current: Option<usize>,
    /// The session that was current when the last file with a line other than marks ended, where this one goes on with
    /// it.
    pub(super) previous: Option<usize>,
    /// The session of every identifier of all files, the last one where several have it.
    pub(super) known: HashMap<String, SessionIndex, foldhash::fast::RandomState>,
    /// How many sessions have each identifier.
    pub(super) names: HashMap<String, u32, foldhash::fast::RandomState>,
    /// Marks since the last line that is no mark.
    pub(super) changes: Vec<Change>,
    pub(super) continuation: Continuation,
    pub(super) calls: u64,
    /// Cursors of all sessions that are kept apart.
    pub(super) cursors: usize,
    pub(super) pending_waits: usize,
    pub(super) batch_events: Vec<BatchEvent>,
    pub(super) batch_names: Vec<u16>,
    /// Room for the operation of a line of a plan.
    pub(super) operation: String,
}

/// Whether a file goes on where another one ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Continuation {
    /// The last mark of the file before said that it goes on, and no line followed.
    pub(super) goes_on: bool,
    /// This file's first mark said that it comes from another one.
    pub(super) came_from: bool,
    /// Whether this file had a line other than marks.
    pub(super) is_begun: bool,
    /// Whether this file goes on where the one before ended though neither said so.
    pub(super) is_unsaid: bool,
    /// What the last file with a line other than marks said of where it comes from; where that was a part without a
    /// preamble, what the file said that it is a part of.
    pub(super) before: Option<FileHeader>,
    /// Start and end of this file's first timed line.
    pub(super) first_line: Option<(Ticks, Ticks)>,
}
