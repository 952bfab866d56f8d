//! Groups of events that the processor can count at once, found by trial.

use super::absence::Absence;
use super::event::Event;
use super::tally::{Raw, Tally};

/// Additions that a trial of a group goes through: 10 to 100 µs.
const TRIAL_STEPS: u64 = 100_000;

/// A source of counters: the kernel, or a fake in tests.
pub(super) trait Pmu {
    /// An open counter.
    type Counter: Counting;

    /// Opens a stopped counter of `event` in the group of `leader`, or as the leader of a new group.
    fn open(&self, event: Event, leader: Option<&Self::Counter>) -> Result<Self::Counter, Refusal>;
}

/// One open counter.
pub(super) trait Counting {
    /// Starts the counter's group; for leaders.
    fn start(&self);
    /// Stops the counter's group; for leaders.
    fn stop(&self);
    /// Its count; `None` if the kernel returns none.
    fn read(&self) -> Option<Raw>;
}

/// Why a counter was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The group is full, or cannot hold the event.
    DoesNotFit,
    /// It cannot be counted at all.
    Absent(Absence),
}

/// Open counters in their groups, and what could not be opened.
#[derive(Debug)]
pub(super) struct Groups<C> {
    groups: Vec<Vec<(Event, C)>>,
    absent: Vec<(Event, Absence)>,
}

impl<C: Counting> Groups<C> {
    /// Opens `events` in their order, at most `size` in a group; a new group begins when the last one is full.
    pub(super) fn open<P: Pmu<Counter = C>>(pmu: &P, events: &[Event], size: usize) -> Groups<C> {
        let mut opened = Groups { groups: Vec::new(), absent: Vec::new() };
        for event in events {
            opened.add_event(pmu, *event, size);
        }
        opened
    }

    fn add_event<P: Pmu<Counter = C>>(&mut self, pmu: &P, event: Event, size: usize) {
        let last = self.groups.last_mut().filter(|group| group.len() < size);
        let joined = match last {
            Some(group) => pmu.open(event, group.first().map(|(_, leader)| leader)).map(|counter| {
                group.push((event, counter));
            }),
            None => Err(Refusal::DoesNotFit),
        };
        let alone = match joined {
            Err(Refusal::DoesNotFit) => pmu.open(event, None).map(|counter| self.groups.push(vec![(event, counter)])),
            other => other,
        };
        match alone {
            Ok(()) => {}
            Err(Refusal::Absent(reason)) => self.absent.push((event, reason)),
            // This processor lacks an event that does not even fit alone.
            Err(Refusal::DoesNotFit) => self.absent.push((event, Absence::Unsupported)),
        }
    }

    /// Notes that `events` are absent for one reason.
    pub(super) fn add_absent(&mut self, events: &[Event], reason: Absence) {
        self.absent.extend(events.iter().map(|event| (*event, reason)));
    }

    /// Takes the groups of `other`.
    pub(super) fn add(&mut self, other: Groups<C>) {
        self.groups.extend(other.groups);
        self.absent.extend(other.absent);
    }

    /// The first counter of each group.
    pub(super) fn leaders(&self) -> impl Iterator<Item = &C> {
        self.groups.iter().filter_map(|group| group.first().map(|(_, counter)| counter))
    }

    /// Adds what was counted to `tally`.
    pub(super) fn read_into(&self, tally: &mut Tally) {
        for (event, counter) in self.groups.iter().flatten() {
            match counter.read() {
                Some(raw) => tally.add(*event, raw),
                None => tally.add_absent(*event, Absence::Gone),
            }
        }
        self.absent.iter().for_each(|(event, reason)| tally.add_absent(*event, *reason));
    }
}

/// Largest group that is counted at all.
///
/// The kernel accepts a group that fits the processor's counters. If one of them is in use, as by the watchdog against
/// hung processors, that group never runs, and the kernel reports no error: only a trial shows it.
pub(super) fn size_max<P: Pmu>(pmu: &P, events: &[Event]) -> usize {
    let mut size = events.len();
    while size > 1 {
        let trial = Groups::open(pmu, events, size);
        let Some(group) = trial.groups.first() else { return 1 };
        size = group.len();
        let Some((_, leader)) = group.first() else { return 1 };
        leader.start();
        let work = (0..TRIAL_STEPS).fold(0u64, |sum, step| std::hint::black_box(sum.wrapping_add(step)));
        std::hint::black_box(work);
        leader.stop();
        if leader.read().is_some_and(|raw| raw.running > 0) {
            // A group that ended at an event that fits nowhere may be shorter than what the processor holds.
            return size;
        }
        size -= 1;
    }
    1
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::counters::event::HARDWARE_EVENTS;

    /// A fake processor: how many events the kernel accepts in a group, and how many of them run.
    struct MadeUp {
        fits: usize,
        runs: usize,
        unknown: &'static str,
    }

    struct MadeUpCounter {
        members: Rc<Cell<usize>>,
        runs: usize,
    }

    impl Counting for MadeUpCounter {
        fn start(&self) {}
        fn stop(&self) {}
        fn read(&self) -> Option<Raw> {
            Some(Raw { value: 10, enabled: 100, running: if self.members.get() <= self.runs { 25 } else { 0 } })
        }
    }

    impl Pmu for MadeUp {
        type Counter = MadeUpCounter;

        fn open(&self, event: Event, leader: Option<&MadeUpCounter>) -> Result<MadeUpCounter, Refusal> {
            if event.name == self.unknown {
                return Err(Refusal::Absent(Absence::Unsupported));
            }
            let members = leader.map_or(Rc::new(Cell::new(0)), |leader| Rc::clone(&leader.members));
            if members.get() == self.fits {
                return Err(Refusal::DoesNotFit);
            }
            members.set(members.get() + 1);
            Ok(MadeUpCounter { members, runs: self.runs })
        }
    }

    fn made_up(fits: usize, runs: usize) -> MadeUp {
        MadeUp { fits, runs, unknown: "cache_misses" }
    }

    #[test]
    fn a_processor_with_fewer_counters_than_events_gets_several_groups() {
        let groups = Groups::open(&made_up(4, 4), HARDWARE_EVENTS, usize::MAX);
        let sizes: Vec<usize> = groups.groups.iter().map(Vec::len).collect();
        assert_eq!(sizes, [4, 4, 4, 2]);
        assert_eq!(groups.absent.len(), 1, "{:?}", groups.absent);
    }

    #[test]
    fn counts_that_took_turns_are_scaled_and_say_so() {
        let mut tally = Tally::default();
        Groups::open(&made_up(4, 4), HARDWARE_EVENTS, usize::MAX).read_into(&mut tally);
        let cycles = tally.of("cycles").unwrap();
        assert_eq!((cycles.value(), cycles.share()), (40.0, 0.25));
        assert_eq!(tally.of("cache_misses"), Err(Absence::Unsupported));
    }

    #[test]
    fn a_group_that_fits_the_book_but_never_runs_is_made_smaller() {
        assert_eq!(size_max(&made_up(6, 5), HARDWARE_EVENTS), 5, "the watchdog holds one of six");
        assert_eq!(size_max(&made_up(6, 0), HARDWARE_EVENTS), 1, "others hold all of them");
        assert_eq!(size_max(&made_up(6, 6), HARDWARE_EVENTS), 6);
    }

    #[test]
    fn what_never_ran_is_absent_and_not_zero() {
        let mut tally = Tally::default();
        Groups::open(&made_up(4, 0), HARDWARE_EVENTS, usize::MAX).read_into(&mut tally);
        assert_eq!(tally.of("cycles"), Err(Absence::NeverRan));
    }
}
