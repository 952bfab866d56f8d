//! When the time of calls and waits passed, by the wall clock or by the one clock that the source has.

use measure::wait_class::Class;

use crate::event::{Call, CallKind, Context, Ticks, Wait};
use crate::tables::active_over_time::{ActiveOverTime, NoTimeline};
use crate::tables::activity::Activity;

/// Part of the time whose place may be unknown without a gap in the picture that could be seen.
const UNPLACED_PART: i64 = 20;

/// Time by class and step, by clocks.
#[derive(Clone, Debug, Default)]
pub(super) struct ActivityByClock {
    wall: Activity,
    /// By the own clock of the first file whose lines come without a stamp.
    own: Activity,
    file: u32,
    own_file: Option<u32>,
    /// Time whose end the source does not say, and time by the own clocks of further files.
    without_end: Ticks,
    of_other_clocks: Ticks,
}

/// Where time belongs.
enum Place<'a> {
    /// To the activity by a clock, from one time of it to another.
    Of(&'a mut Activity, (Ticks, Ticks)),
    /// To a sum of what has no place.
    None(&'a mut Ticks),
}

impl ActivityByClock {
    /// What comes next has another clock.
    pub(super) fn begin_file(&mut self) {
        self.file += 1;
    }

    /// Adds the CPU time of a call, and what of its time is neither CPU nor a wait, both spread over the call.
    pub(super) fn call(&mut self, context: &Context, call: &Call) {
        let elapsed = call.inclusive.elapsed.max(call.own.elapsed);
        let cpu = call.own.cpu.unwrap_or_default().max(Ticks::ZERO);
        let rest = (call.own.elapsed - call.waits - cpu).max(Ticks::ZERO);
        let class = if call.kind == CallKind::Parse { Class::CpuParse } else { Class::Cpu };
        match self.place(context, (call.end, elapsed)) {
            Place::Of(activity, span) => activity.add(span, [(class, cpu), (Class::UnaccountedWithin, rest)]),
            Place::None(sum) => *sum += cpu + rest,
        }
    }

    /// Adds a wait of a class; one in which the session served no request shows only that it was there.
    pub(super) fn wait(&mut self, context: &Context, wait: &Wait, class: Class) {
        let time = if class.is_idle() { Ticks::ZERO } else { wait.elapsed };
        match self.place(context, (wait.end, wait.elapsed)) {
            Place::Of(activity, span) => activity.add(span, [(class, time)]),
            Place::None(sum) => *sum += time.max(Ticks::ZERO),
        }
    }

    /// The sessions at work over time, as far as it is known.
    pub(super) fn finish(&self) -> ActiveOverTime {
        let is_by_wall = !self.wall.is_empty();
        let (known, other) = if is_by_wall { (&self.wall, self.own.total()) } else { (&self.own, Ticks::ZERO) };
        let unplaced = self.without_end + self.of_other_clocks + other;
        let all = known.total() + unplaced;
        if all == Ticks::ZERO {
            return ActiveOverTime::Nothing;
        }
        if unplaced.0 > all.0 / UNPLACED_PART {
            let is_for_clocks = !is_by_wall && self.of_other_clocks > self.without_end;
            let why = if is_for_clocks { NoTimeline::SeveralClocks } else { NoTimeline::Unplaced { unplaced, all } };
            return ActiveOverTime::Unknown(why);
        }
        match known.timeline() {
            Some(timeline) => ActiveOverTime::Known { timeline, is_wall_clock: is_by_wall },
            None => ActiveOverTime::Unknown(NoTimeline::TooShort),
        }
    }

    /// Where something belongs that ended then and took this long.
    #[inline]
    fn place(&mut self, context: &Context, (end, elapsed): (Option<Ticks>, Ticks)) -> Place<'_> {
        let Some(end) = end else { return Place::None(&mut self.without_end) };
        let span = |end: Ticks| (Ticks(end.0.saturating_sub(elapsed.0.max(0))), end);
        match context.clock {
            Some((wall, at)) => Place::Of(&mut self.wall, span(Ticks::from_micros(wall) + (end - at))),
            None if *self.own_file.get_or_insert(self.file) == self.file => Place::Of(&mut self.own, span(end)),
            None => Place::None(&mut self.of_other_clocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::{context, fetch, wait};

    const FIVE: Ticks = Ticks::from_micros(5_000_000);

    fn wall(at_micros: i64) -> Context {
        let context = context(&[("db file sequential read", &[])]);
        Context { clock: Some((1_000_000_000 + at_micros, Ticks::from_micros(at_micros))), ..context }
    }

    fn active(activity: &ActivityByClock, class: Class) -> Vec<f64> {
        let ActiveOverTime::Known { timeline, .. } = activity.finish() else { panic!("{activity:?}") };
        timeline.classes.into_iter().find(|(known, _)| *known == class).unwrap().1
    }

    #[test]
    fn a_call_is_its_cpu_its_waits_and_what_is_neither() {
        let mut activity = ActivityByClock::default();
        let mut call = fetch(0, 1_000_000, 0, 0);
        (call.own.elapsed, call.inclusive.elapsed) = (FIVE, FIVE);
        (call.end, call.waits) = (Some(FIVE), Ticks::from_micros(2_000_000));
        let read = Wait { end: Some(Ticks::from_micros(2_000_000)), ..wait(0, 2_000_000, [0; 3]) };
        activity.wait(&wall(0), &read, Class::SingleBlockReads);
        activity.call(&wall(0), &call);
        assert_eq!(active(&activity, Class::SingleBlockReads), [1.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(active(&activity, Class::Cpu), [0.2; 5]);
        assert_eq!(active(&activity, Class::UnaccountedWithin), [0.4; 5]);
    }

    #[test]
    fn a_pause_of_the_client_is_no_work_and_shows_that_the_session_was_there() {
        let mut activity = ActivityByClock::default();
        let at = |end: i64, micros: i64| Wait { end: Some(Ticks::from_micros(end)), ..wait(0, micros, [0; 3]) };
        activity.wait(&wall(0), &at(4_000_000, 4_000_000), Class::ThinkTime);
        assert_eq!(activity.finish(), ActiveOverTime::Nothing);
        activity.wait(&wall(0), &at(5_000_000, 1_000_000), Class::Commit);
        let ActiveOverTime::Known { timeline, is_wall_clock } = activity.finish() else { panic!("{activity:?}") };
        assert_eq!((timeline.first_second, is_wall_clock), (1_000, true), "{timeline:?}");
        assert_eq!(active(&activity, Class::Commit), [0.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
