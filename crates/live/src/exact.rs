//! The exact level: every wait of chosen sessions from its beginning to its end, by watchpoints on the place where a
//! process says for what it waits. Each store to it costs the session a debug exception, so that it is for a few
//! seconds, and a session that it slows down too much is left alone.

mod intervals;
mod reads;
mod sessions;
mod watching;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use measure::quantity::three_digits;
use profile::event::Ticks;
use profile::source::sampled::{Sample, SampledProfile};
use sys::watchpoint::{self, Copied, Watches};

use crate::memory::{MemorySampler, Place};
use intervals::Interval;
pub(crate) use reads::TracedReads;
pub use sessions::Chosen;
use sessions::{SHARE_MAX, Seen, Sessions};
pub(crate) use watching::{Taken, Watching};

/// Changes that are kept at most: 64 bytes each.
const CHANGES_MAX: usize = 1 << 22;

/// Changes that the kernel keeps until they are taken.
const ROOM: u32 = 1 << 16;

/// The kernel's word for a process that has ended (`ESRCH`).
const NO_PROCESS: i32 = 3;

/// Stores by which their cost is measured.
const TRIAL: u32 = 2000;

/// A watch over sessions.
pub(crate) struct Exact {
    watches: Watches,
    /// What one store takes from the process.
    store: Duration,
    sessions: Sessions,
    texts: HashMap<i64, Arc<str>>,
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
        let sessions = Sessions::new(chosen, store, watchpoint::now());
        Ok(Exact { watches, store, sessions, texts: HashMap::new() })
    }

    /// What the watch will cost, as a sentence.
    pub(crate) fn announcement(&self) -> String {
        format!(
            "Each change of what a session waits for will take about {} µs from it, by a trial on this machine; a \
             session that loses more than {:.0} % of its time is left alone.",
            three_digits(self.store.as_secs_f64() * 1e6),
            100.0 * SHARE_MAX
        )
    }

    /// Watches the sessions that there are now and were not watched before, and ends the watches over those that have
    /// ended. `at` is a moment right before the memory was looked at.
    pub(crate) fn follow(&mut self, memory: &MemorySampler, at: u64) {
        let (new, over) = self.sessions.look(memory.places(), at);
        over.into_iter().for_each(|watch| self.watches.unwatch(watch));
        for place in new {
            self.begin(place, memory);
        }
    }

    fn begin(&mut self, place: Place, memory: &MemorySampler) {
        let copied = place.parts().map(|(address, bytes)| Copied { address, bytes });
        match self.watches.watch(self.sessions.next_number(), place.backend.pid, place.wait, &copied) {
            Ok(()) => {
                let begun = watchpoint::now();
                // What it did between the look and the watch is not seen as a change.
                let place = memory.place_again(place);
                self.sessions.begin(place, begun);
            }
            Err(error) => {
                let is_gone = error.raw_os_error() == Some(NO_PROCESS);
                self.sessions.refuse(&place, (!is_gone).then(|| error.to_string()));
            }
        }
    }

    /// Whether no session is watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Why no session could be watched.
    pub(crate) fn refusal(&self) -> String {
        self.sessions.refusal()
    }

    /// Takes the changes so far, and leaves sessions alone that they cost too much. `false` where no room is left.
    pub(crate) fn drain(&mut self) -> bool {
        while let Some(store) = self.watches.take() {
            self.sessions.take(store);
        }
        let now = watchpoint::now();
        self.sessions.lose(self.watches.lost(), now);
        self.sessions.judge(now).into_iter().for_each(|watch| self.watches.unwatch(watch));
        (self.sessions.changes as usize) < CHANGES_MAX
    }

    /// Takes the texts of statements from samples: changes have only their identifiers.
    pub(crate) fn learn(&mut self, samples: &[Sample]) {
        for sample in samples {
            if let (Some(id), Some(text)) = (sample.query_id, &sample.text) {
                self.texts.entry(id).or_insert_with(|| Arc::clone(text));
            }
        }
    }

    /// Ends all watches, and gives the profile what the sessions did between two moments of the stores' clock. `clock`
    /// is that of the profile at such a moment.
    pub(crate) fn finish(
        self,
        memory: &mut MemorySampler,
        profile: &mut SampledProfile,
        clock: impl Fn(u64) -> Ticks,
        ((begun, ended), traced): ((u64, u64), Option<TracedReads>),
    ) -> Watching {
        let mut seen = self.sessions.finish(ended);
        seen.cut(begun);
        let mut sample = |interval: &Interval| {
            let text = interval.query_id.and_then(|id| self.texts.get(&id)).map(Arc::clone);
            let event = memory.event(interval.wait);
            interval.sample(event, text)
        };
        let lost_time = account(&seen, profile, &mut sample, clock);
        if let Some(traced) = traced {
            traced.account(&seen.intervals, profile, &mut sample);
        }
        Watching { lost_time: Duration::from_nanos(lost_time), ..seen.watching }
    }
}

/// Gives the profile the intervals, and how many sessions were at work at a time. Gives the time that was lost, in ns.
fn account(
    seen: &Seen,
    profile: &mut SampledProfile,
    sample: &mut dyn FnMut(&Interval) -> Sample,
    clock: impl Fn(u64) -> Ticks,
) -> u64 {
    let lost_time: u64 = seen.lost_times.iter().map(|(begin, end)| end - begin).sum();
    if lost_time > 0 {
        // It moves the clock of the looks on, which the intervals, with moments of their own, set to what it was.
        profile.lose(Ticks::from_nanos(lost_time));
    }
    for interval in &seen.intervals {
        profile.interval((clock(interval.begun), clock(interval.ended)), &sample(interval));
    }
    let mut edges: Vec<(u64, i64, i64)> = Vec::new();
    for interval in &seen.intervals {
        let active = i64::from(interval.is_active());
        edges.extend([(interval.begun, active, 1), (interval.ended, -active, -1)]);
    }
    edges.sort_unstable();
    let lost_until =
        |moment: u64| -> u64 { seen.lost_times.iter().map(|(begin, end)| moment.clamp(*begin, *end) - begin).sum() };
    let (mut active, mut sessions, mut last) = (0_i64, 0_i64, edges.first().map_or(0, |edge| edge.0));
    for (moment, more, session) in edges {
        let time = (moment - last).saturating_sub(lost_until(moment) - lost_until(last));
        if time > 0 {
            profile.pass(Ticks::from_nanos(time), active.max(0).cast_unsigned(), sessions.max(0).cast_unsigned());
        }
        last = moment;
        active += more;
        sessions += session;
    }
    lost_time
}

#[cfg(test)]
mod tests {
    use profile::observe::instruments::Instruments;
    use profile::source::sampled::{Backend, CLIENT, Observed};

    use super::intervals::{intervals, without};
    use super::*;

    #[test]
    fn a_time_whose_changes_were_lost_does_not_move_the_end_of_the_profile() {
        const SECOND: u64 = 1_000_000_000;
        let backend = Arc::new(Backend { pid: 7, kind: CLIENT.into(), ..Backend::default() });
        let place = Place { backend, ..Place::sample() };
        let lost_times = vec![(SECOND, 3 * SECOND)];
        let intervals = without(intervals(&[], (0, 5 * SECOND), &place), &lost_times);
        let seen = Seen { intervals, lost_times, watching: Watching { lost: 3, ..Watching::default() } };
        let wall_clock = 1_800_000_000_000_000;
        let mut profile = SampledProfile::new(wall_clock, Ticks::ZERO, Instruments::default());
        let clock = |nanos: u64| Ticks::from_micros(wall_clock) + Ticks::from_nanos(nanos);
        let lost = account(&seen, &mut profile, &mut |one: &Interval| one.sample(None, None), clock);
        let last_clock = profile.snapshot(&Observed::default()).0.profile.last_clock.unwrap();
        assert_eq!((lost, last_clock - wall_clock), (2 * SECOND, 5_000_000));
    }

    #[test]
    fn the_time_that_it_took_until_all_sessions_were_watched_is_no_time_of_the_profile() {
        const SECOND: u64 = 1_000_000_000;
        let backend = Arc::new(Backend { pid: 7, kind: CLIENT.into(), ..Backend::default() });
        let place = Place { backend, ..Place::sample() };
        let (intervals, lost_times) = (intervals(&[], (0, 3 * SECOND), &place), Vec::new());
        let mut seen = Seen { intervals, lost_times, watching: Watching::default() };
        let started = 1_800_000_000_000_000;
        let mut profile = SampledProfile::new(started, Ticks::ZERO, Instruments::default());
        let begun = started + 4_000_000;
        profile.begin_at(begun);
        seen.cut(SECOND);
        let clock = |nanos: u64| Ticks::from_micros(begun) + Ticks::from_nanos(nanos.saturating_sub(SECOND));
        account(&seen, &mut profile, &mut |one: &Interval| one.sample(None, None), clock);
        let found = profile.snapshot(&Observed::default()).0.profile;
        assert_eq!((found.first_clock, found.last_clock), (Some(begun), Some(begun + 2_000_000)));
        assert_eq!(found.sampled.unwrap().time, Ticks::from_nanos(2 * SECOND));
    }

    #[test]
    fn a_profile_that_lost_changes_says_so_and_what_of_it_is_withheld() {
        let whole = Watching { sessions: 2, changes: 900, store: Duration::from_micros(9), ..Watching::default() };
        assert!(!whole.sentence().contains("left out") && !whole.sentence().contains("ended meanwhile"));
        let lost = Watching { lost: 17, lost_time: Duration::from_millis(40), gone: 1, ..whole };
        let said = lost.sentence();
        assert!(said.contains("17 changes more found no room") && said.contains("in the 0.0400 s"), "{said}");
        assert!(said.contains("1 session ended meanwhile"), "{said}");
    }
}
