//! The exact level: every wait of chosen sessions from its beginning to its end, by watchpoints on the place where a
//! process says for what it waits. Each store to it costs the session a debug exception, so that it is for a few
//! seconds, and a session that it slows down too much is left alone.

mod intervals;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use measure::quantity::{counted, grouped, three_digits};
use profile::event::Ticks;
use profile::source::sampled::{CLIENT, Sample, SampledProfile};
use sys::watchpoint::{self, Copied, Store, Watches};

use crate::memory::{Change, MemorySampler, Place};
use intervals::{Interval, intervals};

/// Which sessions are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Those of all clients, new ones too.
    All,
    /// The processes with these numbers.
    Processes(Vec<u32>),
}

/// Part of a session's time that the watch may take; one from which it takes more is left alone.
pub const SHARE_MAX: f64 = 0.2;

/// A session is watched this long before its share is judged.
const JUDGED_AFTER: Duration = Duration::from_millis(300);

/// Changes that are kept at most: 64 bytes each.
const CHANGES_MAX: usize = 1 << 22;

/// Changes that the kernel keeps until they are taken.
const ROOM: u32 = 1 << 16;

/// Stores by which their cost is measured.
const TRIAL: u32 = 2000;

/// A watch over sessions.
pub(crate) struct Exact {
    watches: Watches,
    chosen: Chosen,
    watched: Vec<Watched>,
    /// What one store takes from the process.
    store: Duration,
    changes: u64,
    /// Sessions that could not be watched, or were left alone, and why.
    left: Vec<(u32, String)>,
    texts: HashMap<i64, Arc<str>>,
}

/// A session that is watched.
struct Watched {
    place: Place,
    /// By the clock of the stores.
    begun: u64,
    ended: Option<u64>,
    changes: Vec<Change>,
}

/// What an exact watch came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watching {
    /// Sessions that were watched, and changes that were seen.
    pub(crate) sessions: usize,
    pub(crate) changes: u64,
    pub(crate) lost: u64,
    /// What a change took from its session, and the largest part of a session's time.
    pub(crate) store: Duration,
    pub(crate) share_max: f64,
    /// Sessions that were not watched to the end, and why.
    pub(crate) left: Vec<(u32, String)>,
}

impl Watching {
    /// What the profile was made from.
    pub(crate) fn sentence(&self) -> String {
        let lost = match self.lost {
            0 => String::new(),
            lost => format!(", and {} were lost", grouped(lost)),
        };
        format!(
            "Made from every wait of {}: {}{lost}, each of which took about {} µs from its session, {} % of its time \
             at most.",
            counted(self.sessions as u64, "session", "sessions"),
            counted(self.changes, "change", "changes"),
            three_digits(self.store.as_secs_f64() * 1e6),
            three_digits(100.0 * self.share_max)
        )
    }
}

impl Exact {
    /// Measures what a store costs; nothing is watched yet. `Err` holds the reason why nothing can be.
    pub(crate) fn open(chosen: Chosen) -> Result<Exact, String> {
        let cannot = |error: io::Error| {
            format!(
                "watchpoints on the server's processes cannot be used, which takes root, or CAP_BPF, CAP_PERFMON and \
                 CAP_SYS_PTRACE: {error}"
            )
        };
        let store = watchpoint::cost_of_a_store(TRIAL).map_err(cannot)?;
        let watches = Watches::open(ROOM).map_err(cannot)?;
        let (watched, left, texts) = (Vec::new(), Vec::new(), HashMap::new());
        Ok(Exact { watches, chosen, watched, store, changes: 0, left, texts })
    }

    /// Watches the sessions that there are now and were not watched before.
    pub(crate) fn follow(&mut self, memory: &MemorySampler) {
        for place in memory.places() {
            let is_known = self.watched.iter().any(|one| one.place.backend.pid == place.backend.pid)
                || self.left.iter().any(|(process, _)| *process == place.backend.pid);
            let is_chosen = match &self.chosen {
                Chosen::All => place.backend.kind == CLIENT,
                Chosen::Processes(numbers) => numbers.contains(&place.backend.pid),
            };
            if !is_known && is_chosen {
                self.begin(place);
            }
        }
    }

    fn begin(&mut self, place: Place) {
        let watch = self.watched.len() as u32;
        let copied = place.parts().map(|(address, bytes)| Copied { address, bytes });
        match self.watches.watch(watch, place.backend.pid, place.wait, &copied) {
            Ok(()) => {
                let begun = watchpoint::now();
                self.watched.push(Watched { place, begun, ended: None, changes: Vec::new() });
            }
            Err(error) => self.left.push((place.backend.pid, error.to_string())),
        }
    }

    /// Whether no session is watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// Why no session could be watched.
    pub(crate) fn refusal(&self) -> String {
        match self.left.first() {
            Some((process, why)) => format!("session {process} cannot be watched: {why}"),
            None => "there is no such session, or none of a client".into(),
        }
    }

    /// Takes the changes so far, and leaves sessions alone that they cost too much. `false` where no room is left.
    pub(crate) fn drain(&mut self) -> io::Result<bool> {
        while let Some(Store { at, watch, parts }) = self.watches.take()? {
            if let Some(one) = self.watched.get_mut(watch as usize).filter(|one| one.ended.is_none()) {
                one.changes.push(one.place.change(at, parts));
                self.changes += 1;
            }
        }
        let now = watchpoint::now();
        for watch in 0..self.watched.len() {
            let one = &mut self.watched[watch];
            let time = Duration::from_nanos(now.saturating_sub(one.begun));
            let share = share(one.changes.len(), self.store, time);
            if one.ended.is_none() && time >= JUDGED_AFTER && share > SHARE_MAX {
                one.ended = Some(now);
                let why = format!("its waits come so fast that the watch took {:.0} % of its time", 100.0 * share);
                self.left.push((one.place.backend.pid, why));
                self.watches.unwatch(watch as u32);
            }
        }
        Ok((self.changes as usize) < CHANGES_MAX)
    }

    /// Takes the texts of statements from samples: changes have only their identifiers.
    pub(crate) fn learn(&mut self, samples: &[Sample]) {
        for sample in samples {
            if let (Some(id), Some(text)) = (sample.query_id, &sample.text) {
                self.texts.entry(id).or_insert_with(|| Arc::clone(text));
            }
        }
    }

    /// Ends all watches, and gives the profile what the sessions did. `clock` is that of the profile at a moment of the
    /// stores'.
    pub(crate) fn finish(
        mut self,
        memory: &mut MemorySampler,
        profile: &mut SampledProfile,
        clock: impl Fn(u64) -> Ticks,
    ) -> Watching {
        let _ = self.drain();
        let now = watchpoint::now();
        let (store, lost) = (self.store, self.watches.lost().unwrap_or(0));
        let shares = self.watched.iter().map(|one| {
            let time = Duration::from_nanos(one.ended.unwrap_or(now).saturating_sub(one.begun));
            share(one.changes.len(), store, time)
        });
        let share_max = shares.fold(0.0, f64::max);
        let sessions = self.watched.len();
        let mut all: Vec<Interval> = Vec::new();
        for one in std::mem::take(&mut self.watched) {
            all.extend(intervals(&one.changes, (one.begun, one.ended.unwrap_or(now)), &one.place));
        }
        all.sort_by_key(|interval| interval.ended);
        account(
            &all,
            profile,
            |interval| {
                let text = interval.query_id.and_then(|id| self.texts.get(&id)).map(Arc::clone);
                let event = memory.event(interval.wait);
                interval.sample(event, text)
            },
            clock,
        );
        Watching { sessions, changes: self.changes, lost, store, share_max, left: self.left }
    }
}

fn share(changes: usize, store: Duration, time: Duration) -> f64 {
    changes as f64 * store.as_secs_f64() / time.as_secs_f64().max(1e-9)
}

/// Gives the profile the intervals, and how many sessions were at work at a time.
fn account(
    all: &[Interval],
    profile: &mut SampledProfile,
    mut sample: impl FnMut(&Interval) -> Sample,
    clock: impl Fn(u64) -> Ticks,
) {
    for interval in all {
        profile.interval((clock(interval.begun), clock(interval.ended)), &sample(interval));
    }
    let mut edges: Vec<(u64, i64, i64)> = Vec::new();
    for interval in all {
        let active = i64::from(interval.is_active());
        edges.extend([(interval.begun, active, 1), (interval.ended, -active, -1)]);
    }
    edges.sort_unstable();
    let (mut active, mut sessions, mut last) = (0_i64, 0_i64, edges.first().map_or(0, |edge| edge.0));
    for (moment, more, session) in edges {
        if moment > last {
            let time = Ticks::from_nanos(moment - last);
            profile.pass(time, active.max(0).cast_unsigned(), sessions.max(0).cast_unsigned());
            last = moment;
        }
        active += more;
        sessions += session;
    }
}
