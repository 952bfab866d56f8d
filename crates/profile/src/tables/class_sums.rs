//! A session's time by class: the rows of a profile that add up to its interval.

use std::collections::BTreeMap;

use measure::wait_class::Class;

use crate::event::{CallKind, Context, Cost, EventIndex, Merge, Ticks};
use crate::tables::SessionProfile;

/// The time of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassSums {
    /// Calls for CPU, waits for the classes of events; none for unaccounted time.
    pub calls: u64,
    /// Their time; below zero only for unaccounted time.
    pub total: Ticks,
    /// The events that it is made of: (event, waits, time).
    pub events: Vec<(EventIndex, u64, Ticks)>,
}

/// The classes of a session or of the whole. Their totals add up to the session's interval, to the last tick, where
/// the source knows CPU time.
pub fn class_sums(profile: &SessionProfile, context: &Context) -> BTreeMap<Class, ClassSums> {
    let mut classes: BTreeMap<Class, ClassSums> = BTreeMap::new();
    let mut parse = ClassSums::default();
    let mut calls = 0;
    for ((name, _), sums) in &profile.calls {
        calls += sums.calls;
        if context.call_name(*name) == CallKind::Parse.name() {
            parse.calls += sums.calls;
            parse.total += sums.own.cpu.unwrap_or_default();
        }
    }
    // A source that does not know CPU time has no such class: it is in what is unaccounted for, and a finding says so.
    if calls == 0 || work(profile).cpu.is_some() {
        let rest = ClassSums { calls: calls - parse.calls, total: profile.cpu - parse.total, events: Vec::new() };
        classes.insert(Class::Cpu, rest);
        classes.insert(Class::CpuParse, parse);
    }
    for (index, sums) in &profile.events {
        let event = context.event(*index);
        if event.is_some_and(|event| event.is_client) {
            let long = profile.think_time.get(index).copied().unwrap_or_default();
            add(&mut classes, Class::ThinkTime, *index, long.count, long.total);
            let short = (sums.count.saturating_sub(long.count), sums.total - long.total);
            add(&mut classes, Class::Network, *index, short.0, short.1);
        } else {
            add(&mut classes, event.map_or(Class::Other, |event| event.class), *index, sums.count, sums.total);
        }
    }
    classes.insert(Class::UnaccountedWithin, ClassSums { total: profile.unaccounted_within, ..ClassSums::default() });
    let between = profile.unaccounted_between - profile.unrecorded;
    classes.insert(Class::UnaccountedBetween, ClassSums { total: between, ..ClassSums::default() });
    classes.insert(Class::Unrecorded, ClassSums { total: profile.unrecorded, ..ClassSums::default() });
    classes.retain(|_, sums| sums.calls > 0 || sums.total != Ticks::ZERO);
    classes
}

fn add(classes: &mut BTreeMap<Class, ClassSums>, class: Class, event: EventIndex, count: u64, total: Ticks) {
    if count == 0 && total == Ticks::ZERO {
        return;
    }
    let sums = classes.entry(class).or_default();
    sums.calls += count;
    sums.total += total;
    sums.events.push((event, count, total));
}

/// CPU and elapsed time of all calls of a session, without recursive children: what gets and reads they made.
pub fn work(profile: &SessionProfile) -> Cost {
    let mut work = Cost::default();
    for sums in profile.calls.values() {
        work.merge(&sums.own);
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::tables::{CallSums, EventSums, ThinkTime};

    fn micros(micros: i64) -> Ticks {
        Ticks::from_micros(micros)
    }

    fn calls(cpu: i64) -> CallSums {
        CallSums { calls: 1, own: Cost { cpu: Some(micros(cpu)), ..Cost::default() }, ..CallSums::default() }
    }

    fn waits(count: u64, total: i64) -> EventSums {
        EventSums { count, total: micros(total), ..EventSums::default() }
    }

    fn sample() -> (SessionProfile, Context) {
        let names = ["db file sequential read", "SQL*Net message from client", "an unknown event"];
        let events = names.map(|name| Event::new(name, &[])).to_vec();
        let context = Context { events, call_names: vec!["PARSE".into(), "FETCH".into()], ..Context::default() };
        let profile = SessionProfile {
            interval: micros(1_000),
            cpu: micros(300),
            waits: micros(650),
            unaccounted_within: micros(-20),
            unaccounted_between: micros(70),
            calls: BTreeMap::from([((0, false), calls(100)), ((1, true), calls(200))]),
            events: BTreeMap::from([
                (EventIndex(0), waits(3, 400)),
                (EventIndex(1), waits(5, 240)),
                (EventIndex(2), waits(1, 10)),
            ]),
            think_time: [(EventIndex(1), ThinkTime { count: 1, total: micros(200) })].into(),
            ..SessionProfile::default()
        };
        (profile, context)
    }

    #[test]
    fn classes_add_up_to_the_interval() {
        let (profile, context) = sample();
        let classes = class_sums(&profile, &context);
        assert_eq!(classes.values().map(|sums| sums.total).sum::<Ticks>(), profile.interval);
        assert_eq!(classes[&Class::CpuParse].total, micros(100));
        assert_eq!((classes[&Class::ThinkTime].calls, classes[&Class::Network].calls), (1, 4));
        assert_eq!(classes[&Class::Network].total, micros(40));
        assert_eq!(classes[&Class::Other].events, [(EventIndex(2), 1, micros(10))]);
    }

    #[test]
    fn cpu_that_the_source_does_not_know_is_absent_and_not_zero() {
        let (mut profile, context) = sample();
        profile.cpu = Ticks::ZERO;
        profile.calls.values_mut().for_each(|sums| sums.own.cpu = None);
        let classes = class_sums(&profile, &context);
        assert!(!classes.contains_key(&Class::Cpu) && !classes.contains_key(&Class::CpuParse));
    }

    #[test]
    fn a_class_without_time_and_calls_has_no_row() {
        let (mut profile, context) = sample();
        profile.events.clear();
        profile.unaccounted_between = Ticks::ZERO;
        let classes = class_sums(&profile, &context);
        assert_eq!(
            classes.keys().copied().collect::<Vec<_>>(),
            [Class::Cpu, Class::CpuParse, Class::UnaccountedWithin]
        );
    }
}
