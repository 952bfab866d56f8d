//! Sessions at work over time: their time by class, in steps of a clock.
//!
//! Steps begin a second wide. Where a profile outlasts the room for them, neighbours are merged and the steps become
//! wider, so that memory stays flat; all widths are ones that a clock has, and each divides the next.

use measure::wait_class::{CLASSES, Class};

use crate::event::Ticks;

/// Most steps: more cannot be told apart in a picture.
const STEPS_MAX: i64 = 240;

/// Steps from which on there is a course of time.
const STEPS_MIN: usize = 3;

/// Widths of a step in seconds; beyond the last each is four times the one before.
const WIDTHS: [i64; 13] = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 86_400, 604_800];

/// A step at an end of which less than one part of this many is covered is none of its own: a call that began some
/// microseconds before a full second would begin the course a second early.
const SLIVER: i64 = 100;

/// Ticks of a second.
const SECOND: i64 = 1_000_000 * Ticks::PER_MICROSECOND;

/// Time by class, step by step.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Width of a step in seconds.
    width: i64,
    /// The number of the first step: how many widths lie before it since the clock's zero.
    first: i64,
    steps: Vec<Step>,
    /// Begin and end of all that was heard, idle time included; the begin is behind the end where nothing was.
    bounds: (Ticks, Ticks),
    /// Whether it was said which time is covered; otherwise all between the bounds is.
    is_covered: bool,
    /// The step of the last time, from its first tick to the one behind it: lines come in the order of time.
    latest: (i64, i64, usize),
}

/// What the sessions did in a step.
#[derive(Clone, Debug)]
struct Step {
    covered: Ticks,
    classes: [Ticks; CLASSES.len()],
}

/// What is drawn: active sessions by class and step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Where the first step begins, in seconds since the clock's zero.
    pub first_second: i64,
    /// Width of a step in seconds.
    pub step_seconds: i64,
    /// How much of each step the profile covers.
    pub covered: Vec<Ticks>,
    /// The mean number of sessions in each step, by class, for the classes that have any.
    pub classes: Vec<(Class, Vec<f64>)>,
}

impl Default for Activity {
    fn default() -> Activity {
        let bounds = (Ticks(i64::MAX), Ticks(i64::MIN));
        Activity { width: WIDTHS[0], first: 0, steps: Vec::new(), bounds, is_covered: false, latest: (0, 0, 0) }
    }
}

impl Default for Step {
    fn default() -> Step {
        Step { covered: Ticks::ZERO, classes: [Ticks::ZERO; CLASSES.len()] }
    }
}

impl Step {
    fn merge(&mut self, other: &Step) {
        self.covered += other.covered;
        self.classes.iter_mut().zip(other.classes).for_each(|(sum, more)| *sum += more);
    }
}

impl Activity {
    /// Adds times of classes that were spent, evenly, from one time to another.
    #[inline(always)]
    pub(crate) fn add<const COUNT: usize>(&mut self, (from, to): (Ticks, Ticks), times: [(Class, Ticks); COUNT]) {
        self.hear(from, to);
        let (begin, end, place) = self.latest;
        match self.steps.get_mut(place) {
            Some(step) if from.0 >= begin && to.0 < end && from <= to => {
                times.iter().for_each(|(class, time)| step.classes[*class as usize] += (*time).max(Ticks::ZERO));
            }
            _ => self.add_to_several((from, to), &times),
        }
    }

    /// The same where the times may lie in several steps.
    #[inline(never)]
    fn add_to_several(&mut self, span: (Ticks, Ticks), times: &[(Class, Ticks)]) {
        for (class, time) in times {
            self.spread(span, (*time).max(Ticks::ZERO), |step| &mut step.classes[*class as usize]);
        }
    }

    /// Says that all sessions were watched from one time to another.
    pub(crate) fn cover(&mut self, from: Ticks, to: Ticks) {
        self.hear(from.min(to), to);
        self.is_covered = true;
        if to > from {
            self.spread((from, to), to - from, |step| &mut step.covered);
        }
    }

    /// Takes down that something was heard of this time.
    #[inline]
    pub(crate) fn hear(&mut self, from: Ticks, to: Ticks) {
        let (first, last) = self.bounds;
        self.bounds = (first.min(from), last.max(to));
    }

    /// The time of all classes.
    pub(crate) fn total(&self) -> Ticks {
        self.steps.iter().flat_map(|step| step.classes).sum()
    }

    /// Whether nothing was heard.
    pub(crate) fn is_empty(&self) -> bool {
        self.bounds.0 > self.bounds.1
    }

    /// The course of time; `None` where it has too few steps.
    pub fn timeline(&self) -> Option<Timeline> {
        let (first, steps) = self.steps_without_slivers();
        let covered: Vec<Ticks> = steps.iter().map(|step| step.covered).collect();
        let is_seen = |covered: &&Ticks| **covered > Ticks::ZERO;
        if covered.iter().filter(is_seen).count() < STEPS_MIN {
            return None;
        }
        let active = |class: Class| -> Vec<f64> {
            let part = |step: &Step| step.classes[class as usize].0 as f64 / step.covered.0.max(1) as f64;
            steps.iter().map(part).collect()
        };
        let classes = CLASSES.iter().map(|row| (row.class, active(row.class)));
        let classes = classes.filter(|(_, active)| active.iter().any(|one| *one > 0.0)).collect();
        Some(Timeline { first_second: first * self.width, step_seconds: self.width, covered, classes })
    }

    /// The number of the first step, and the steps with what is covered of each. A step at an end that is hardly
    /// covered is added to its neighbour.
    fn steps_without_slivers(&self) -> (i64, Vec<Step>) {
        let covered = |(place, step): (usize, &Step)| Step { covered: self.covered(place), ..step.clone() };
        let mut steps: Vec<Step> = self.steps.iter().enumerate().map(covered).collect();
        let is_sliver = |edge: &Step, neighbour: &Step| {
            edge.covered > Ticks::ZERO && edge.covered.0 < self.ticks() / SLIVER && neighbour.covered > Ticks::ZERO
        };
        let mut first = self.first;
        if let [edge, neighbour, ..] = steps.as_mut_slice()
            && is_sliver(edge, neighbour)
        {
            neighbour.merge(edge);
            steps.remove(0);
            first += 1;
        }
        if let [.., neighbour, edge] = steps.as_mut_slice()
            && is_sliver(edge, neighbour)
        {
            neighbour.merge(edge);
            steps.pop();
        }
        (first, steps)
    }

    /// How much of a step is covered.
    fn covered(&self, place: usize) -> Ticks {
        let (Some(step), (first, last)) = (self.steps.get(place), self.bounds) else { return Ticks::ZERO };
        if self.is_covered {
            return step.covered;
        }
        let begin = Ticks((self.first + place as i64) * self.ticks());
        let end = begin + Ticks(self.ticks());
        (last.min(end) - first.max(begin)).max(Ticks::ZERO)
    }

    /// Ticks of a step.
    fn ticks(&self) -> i64 {
        self.width * SECOND
    }

    /// Adds a time to the steps that it lies in, to the last tick.
    fn spread(&mut self, (from, to): (Ticks, Ticks), time: Ticks, sum: impl Fn(&mut Step) -> &mut Ticks) {
        // What took no time, such as a sum whose beginning is not known, is where it ended.
        let (from, last) = (from.min(to), if to > from { to - Ticks(1) } else { to });
        self.make_room(from, last);
        let ticks = self.ticks();
        let (begin, end) = (from.0.div_euclid(ticks), last.0.div_euclid(ticks));
        let mut left = time;
        for number in begin..end {
            let part = Ticks(((number + 1) * ticks).saturating_sub(from.0.max(number * ticks)));
            let share = i128::from(time.0) * i128::from(part.0) / i128::from((to - from).0.max(1));
            let share = Ticks(i64::try_from(share).unwrap_or(0)).min(left);
            *sum(&mut self.steps[(number - self.first) as usize]) += share;
            left -= share;
        }
        let place = (end - self.first) as usize;
        *sum(&mut self.steps[place]) += left;
        self.latest = (end * ticks, (end + 1).saturating_mul(ticks), place);
    }

    /// Makes the steps reach from one time to another, wider where there would be too many.
    fn make_room(&mut self, from: Ticks, last: Ticks) {
        loop {
            let ticks = self.ticks();
            let (mut begin, mut end) = (from.0.div_euclid(ticks), last.0.div_euclid(ticks));
            if !self.steps.is_empty() {
                (begin, end) = (begin.min(self.first), end.max(self.first + self.steps.len() as i64 - 1));
            }
            if end - begin < STEPS_MAX {
                let before = if self.steps.is_empty() { 0 } else { (self.first - begin) as usize };
                self.steps.splice(0..0, std::iter::repeat_n(Step::default(), before));
                self.first = begin;
                self.steps.resize_with((end - begin + 1) as usize, Step::default);
                return;
            }
            self.widen();
        }
    }

    /// Merges neighbours.
    fn widen(&mut self) {
        let wider = WIDTHS.iter().copied().find(|width| *width > self.width).unwrap_or(self.width * 4);
        let factor = wider / self.width;
        let first = self.first.div_euclid(factor);
        let mut steps: Vec<Step> = Vec::new();
        for (step, number) in self.steps.iter().zip(self.first..) {
            let place = (number.div_euclid(factor) - first) as usize;
            steps.resize_with(steps.len().max(place + 1), Step::default);
            steps[place].merge(step);
        }
        (self.width, self.first, self.steps) = (wider, first, steps);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: f64) -> Ticks {
        Ticks::from_micros((seconds * 1e6) as i64)
    }

    fn of(activity: &Activity, class: Class) -> Vec<f64> {
        let timeline = activity.timeline().unwrap();
        let found = timeline.classes.into_iter().find(|(known, _)| *known == class);
        found.map_or_else(Vec::new, |(_, active)| active)
    }

    #[test]
    fn time_stands_in_the_steps_in_which_it_passed() {
        let mut activity = Activity::default();
        activity.add((at(100.5), at(103.0)), [(Class::Commit, at(2.5))]);
        activity.add((at(100.0), at(104.0)), [(Class::Cpu, at(1.0))]);
        assert_eq!(of(&activity, Class::Commit), [0.5, 1.0, 1.0, 0.0]);
        assert_eq!(of(&activity, Class::Cpu), [0.25; 4], "CPU time is spread over its call");
        assert_eq!(activity.timeline().unwrap().first_second, 100);
    }

    #[test]
    fn a_step_that_is_covered_in_part_is_divided_by_that_part() {
        let mut activity = Activity::default();
        activity.add((at(10.75), at(13.5)), [(Class::Cpu, at(2.75))]);
        assert_eq!(of(&activity, Class::Cpu), [1.0; 4], "one session was at work throughout");
        let mut activity = Activity::default();
        for second in [20.0, 21.0, 25.0] {
            activity.cover(at(second), at(second + 0.5));
            activity.add((at(second), at(second + 0.5)), [(Class::Cpu, at(1.5))]);
        }
        assert_eq!(of(&activity, Class::Cpu), [3.0, 3.0, 0.0, 0.0, 0.0, 3.0]);
        let none = Ticks::ZERO;
        assert_eq!(activity.timeline().unwrap().covered, [at(0.5), at(0.5), none, none, none, at(0.5)]);
    }

    #[test]
    fn a_call_that_began_just_before_a_full_second_begins_no_second() {
        let mut activity = Activity::default();
        activity.add((at(9.999), at(13.002)), [(Class::Cpu, at(3.003))]);
        let timeline = activity.timeline().unwrap();
        let covered: Vec<f64> = timeline.covered.iter().map(|covered| covered.micros()).collect();
        assert_eq!((timeline.first_second, covered), (10, vec![1_001_000.0, 1_000_000.0, 1_002_000.0]));
        assert_eq!(of(&activity, Class::Cpu), [1.0; 3]);
        activity.add((at(9.9), at(10.0)), [(Class::Cpu, at(0.1))]);
        assert_eq!(activity.timeline().unwrap().first_second, 9, "a tenth of a second is a part of its step");
    }

    #[test]
    fn what_lasts_longer_has_wider_steps_of_the_same_time() {
        let mut activity = Activity::default();
        for second in 0..7_000 {
            activity.add((at(f64::from(second)), at(f64::from(second) + 0.5)), [(Class::Cpu, at(0.5))]);
        }
        let timeline = activity.timeline().unwrap();
        assert_eq!((timeline.step_seconds, timeline.covered.len()), (30, 234));
        assert_eq!(activity.total(), at(3_500.0));
        assert!(of(&activity, Class::Cpu)[..233].iter().all(|active| (active - 0.5).abs() < 1e-9));
    }

    #[test]
    fn two_steps_are_no_course_of_time() {
        let mut activity = Activity::default();
        assert_eq!((activity.timeline(), activity.is_empty()), (None, true));
        activity.add((at(0.0), at(2.0)), [(Class::Cpu, at(2.0))]);
        assert_eq!((activity.timeline(), activity.is_empty()), (None, false));
    }

    proptest! {
        #[test]
        fn no_tick_is_lost_whatever_comes(
            parts in proptest::collection::vec((-1_i64 << 59..1_i64 << 59, 0..1_i64 << 58, 0..1_i64 << 40), 1..20),
        ) {
            let mut activity = Activity::default();
            for (from, length, time) in &parts {
                activity.add((Ticks(*from), Ticks(from + length)), [(Class::Cpu, Ticks(*time))]);
                activity.cover(Ticks(*from), Ticks(from + length));
            }
            let covered: Ticks = activity.steps.iter().map(|step| step.covered).sum();
            prop_assert_eq!(activity.total().0, parts.iter().map(|part| part.2).sum::<i64>());
            prop_assert_eq!(covered.0, parts.iter().map(|part| part.1).sum::<i64>());
            prop_assert!(activity.steps.len() as i64 <= STEPS_MAX);
        }
    }
}
