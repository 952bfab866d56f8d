//! Counts with the share of the time in which they were counted, and the arithmetic of scaling them.

use super::absence::Absence;
use super::event::Event;

/// Where the threads whose counter never got its turn ran for at most one in this many parts of the time, the others
/// stand for them. The groups take turns at most once a millisecond: of a hundred threads, some run for less.
const UNSEEN_PART: u64 = 100;

/// One counter as the kernel returns it: the count, and the times in ns that it was enabled and ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    /// Events counted while it ran.
    pub value: u64,
    /// Time for which it was enabled while the task ran.
    pub enabled: u64,
    /// Time for which it held a counter of the processor.
    pub running: u64,
}

/// A count of one event over all threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    value: f64,
    enabled: u64,
    running: u64,
    /// The part of `enabled` that threads took whose counter never got its turn.
    unseen: u64,
}

impl Count {
    /// Events; if the counter took turns with others, what it saw divided by its share of the time. Threads in which it
    /// got no turn are taken to have done what the others did in as much time.
    ///
    /// Source: perf_event_open(2), "time_enabled and time_running". The scaled count is right if the program
    /// did the same throughout.
    pub fn value(&self) -> f64 {
        match self.unseen {
            0 => self.value,
            unseen => self.value * self.enabled as f64 / self.enabled.saturating_sub(unseen).max(1) as f64,
        }
    }

    /// Whether what was counted stands for all threads.
    fn is_whole(&self) -> bool {
        self.running > 0 && self.unseen.saturating_mul(UNSEEN_PART) <= self.enabled
    }

    /// Share of the time in which the event was counted: 1 for an exact count, above 0 otherwise.
    pub fn share(&self) -> f64 {
        if self.enabled == 0 { 1.0 } else { (self.running as f64 / self.enabled as f64).min(1.0) }
    }
}

/// Counts and absences, event by event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    counts: Vec<(Event, Count)>,
    absent: Vec<(Event, Absence)>,
}

impl Tally {
    /// The count of the event of this name, or why there is none.
    pub fn of(&self, name: &str) -> Result<Count, Absence> {
        let counted = self.counts.iter().find(|(event, _)| event.name == name).map(|(_, count)| *count);
        // One uncounted thread of many would make the sum too small, unnoticed. One that ended before its counter was
        // opened ran for next to no time, whether the threads that were counted stand before it or after it.
        let matters = |reason: Absence| reason != Absence::Gone || counted.is_none();
        match self.absent.iter().find(|(event, reason)| event.name == name && matters(*reason)) {
            Some((_, reason)) => Err(*reason),
            None => counted.filter(Count::is_whole).ok_or(Absence::NeverRan),
        }
    }

    /// Adds all counts and absences of other threads.
    pub fn add_all(&mut self, other: &Tally) {
        other.counts.iter().for_each(|(event, count)| self.add_count(*event, *count));
        other.absent.iter().for_each(|(event, reason)| self.add_absent(*event, *reason));
    }

    /// Adds one thread's count. A thread that did not run while its counter was open rightly has none.
    pub fn add(&mut self, event: Event, raw: Raw) {
        let Raw { value, enabled, running } = raw;
        let (scale, unseen) = match running {
            0 => (0.0, enabled),
            _ => (enabled.max(running) as f64 / running as f64, 0),
        };
        self.add_count(event, Count { value: value as f64 * scale, enabled, running, unseen });
    }

    fn add_count(&mut self, event: Event, count: Count) {
        match self.counts.iter_mut().find(|(known, _)| *known == event) {
            Some((_, sum)) => {
                sum.value += count.value;
                sum.enabled += count.enabled;
                sum.running += count.running;
                sum.unseen += count.unseen;
            }
            None => self.counts.push((event, count)),
        }
    }

    /// Notes that one thread has no count.
    pub fn add_absent(&mut self, event: Event, reason: Absence) {
        self.absent.push((event, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::event::HARDWARE_EVENTS;

    #[test]
    fn threads_are_scaled_each_by_its_own_share() {
        let cycles = HARDWARE_EVENTS[0];
        let mut tally = Tally::default();
        tally.add(cycles, Raw { value: 100, enabled: 10, running: 10 });
        tally.add(cycles, Raw { value: 100, enabled: 30, running: 10 });
        tally.add(cycles, Raw::default());
        let count = tally.of("cycles").unwrap();
        assert_eq!((count.value(), count.share()), (400.0, 0.5));
    }

    #[test]
    fn tallies_of_threads_add_up_with_their_absences() {
        let [cycles, instructions] = [HARDWARE_EVENTS[0], HARDWARE_EVENTS[1]];
        let (mut sum, mut other) = (Tally::default(), Tally::default());
        sum.add(cycles, Raw { value: 100, enabled: 10, running: 10 });
        sum.add(instructions, Raw { value: 5, enabled: 10, running: 10 });
        other.add(cycles, Raw { value: 100, enabled: 30, running: 10 });
        other.add_absent(instructions, Absence::Forbidden);
        sum.add_all(&other);
        assert_eq!(sum.of("cycles").map(|count| (count.value(), count.share())), Ok((400.0, 0.5)));
        assert_eq!(sum.of("instructions"), Err(Absence::Forbidden));
    }

    #[test]
    fn one_thread_without_a_counter_spoils_the_sum_and_it_is_absent() {
        let cycles = HARDWARE_EVENTS[0];
        let mut tally = Tally::default();
        tally.add(cycles, Raw { value: 100, enabled: 10, running: 10 });
        tally.add_absent(cycles, Absence::Forbidden);
        assert_eq!(tally.of("cycles"), Err(Absence::Forbidden));
        assert_eq!(tally.of("instructions"), Err(Absence::NeverRan));
    }

    #[test]
    fn a_thread_that_ran_too_shortly_for_a_turn_spoils_no_sum_and_is_not_left_out_of_it() {
        let cycles = HARDWARE_EVENTS[0];
        let beside_one_of = |unseen| {
            let (mut long, mut short) = (Tally::default(), Tally::default());
            long.add(cycles, Raw { value: 990, enabled: 990, running: 495 });
            short.add(cycles, Raw { value: 0, enabled: unseen, running: 0 });
            long.add_all(&short);
            long.of("cycles").map(|count| (count.value(), count.share()))
        };
        assert_eq!(beside_one_of(10), Ok((2000.0, 0.495)));
        assert_eq!(beside_one_of(11), Err(Absence::NeverRan), "it ran for over a hundredth of the time");
    }

    #[test]
    fn a_thread_that_had_ended_spoils_no_sum_whether_it_comes_first_or_last() {
        let cycles = HARDWARE_EVENTS[0];
        let (mut counted, mut gone) = (Tally::default(), Tally::default());
        counted.add(cycles, Raw { value: 100, enabled: 10, running: 10 });
        gone.add_absent(cycles, Absence::Gone);
        for (first, last) in [(&gone, &counted), (&counted, &gone)] {
            let mut sum = first.clone();
            sum.add_all(last);
            assert_eq!(sum.of("cycles").map(|count| count.value()), Ok(100.0));
        }
        assert_eq!(gone.of("cycles"), Err(Absence::Gone), "no thread was counted");
    }

    #[test]
    fn a_kernel_whose_running_time_exceeds_the_enabled_one_does_not_shrink_a_count() {
        let mut tally = Tally::default();
        tally.add(HARDWARE_EVENTS[0], Raw { value: 100, enabled: 10, running: 11 });
        let count = tally.of("cycles").unwrap();
        assert_eq!((count.value(), count.share()), (100.0, 1.0));
    }
}
