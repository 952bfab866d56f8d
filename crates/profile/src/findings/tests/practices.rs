//! What makes a class smaller: advice by class and event, the hot spot, and what the counts say.

use std::collections::BTreeMap;

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::profile::findings as row;
use measure::schema::sampled::findings::{DB_TIME_AGREES, DB_TIME_DIFFERS};
use measure::wait_class::{CLASSES, Class, ClassRow, advice, class_of};
use sides::proptest::prelude::{Strategy, any};
use sides::proptest::prop_oneof;
use sides::proptest::sample::select;
use sides::{Reading, reading, says};

use super::made::{FILE, add, calls, found, micros, profile, query, with_unaccounted};
use crate::document::Order;
use crate::event::{CallKind, Event, StatementIndex, Wait};
use crate::findings::findings;
use crate::observe::hot_spots::HotSpots;
use crate::observe::tests::{hear, wait};
use crate::tables::sampled::{ActiveSessions, Counters, Sampled};
use crate::tables::{CallSums, Profile};

pub(super) fn readings() -> Vec<Reading> {
    let [block, object] = hot_spots();
    let [hard_to_optimize, hard_or_not] = of_parses();
    vec![of_classes(), of_untraced(), block, object, of_statement(), hard_to_optimize, hard_or_not]
}

/// The findings that say one thing.
fn that_say(part: &str, found: Vec<Finding>) -> Vec<Finding> {
    found.into_iter().filter(|finding| finding.message.contains(part)).collect()
}

/// An event of a class; none of those that are no waits.
fn event_of(class: &ClassRow) -> Option<String> {
    let events = class.events.iter().map(|pattern| pattern.replace('*', "x"));
    events.into_iter().find(|event| class_of(event) == class.class)
}

/// A class with this time in µs, besides others with another.
fn with_class(class: &ClassRow, time: i64, rest: i64) -> Profile {
    let other = if class.class == Class::Application { "log file sync" } else { "enq: TX - row lock contention" };
    let mut made = match event_of(class) {
        Some(event) => profile(0, &[(other, rest), (event.as_str(), time)]),
        None => profile(0, &[(other, rest)]),
    };
    match class.class {
        Class::Cpu => {
            made.whole.cpu = micros(time);
            made.whole.calls = [((CallKind::Exec as u16, false), calls(1, time, 0, 0))].into();
        }
        Class::CpuParse => {
            made.whole.cpu = micros(time);
            made.whole.calls.insert((CallKind::Parse as u16, false), calls(1, time, 0, 0));
        }
        Class::UnaccountedWithin => made.whole.unaccounted_within = micros(time),
        Class::UnaccountedBetween => made.whole.unaccounted_between = micros(time),
        _ => {}
    }
    made
}

/// Each class that serves requests, where it has a tenth of the time.
fn of_classes() -> Reading {
    let serving: Vec<&'static ClassRow> = CLASSES.iter().filter(|row| !row.class.is_idle()).collect();
    let values = (select(serving), 0..30_i64, 1..300_i64);
    let of = |(class, time, rest): &(&'static ClassRow, i64, i64)| {
        let id = format!("practice-{}", class.key);
        found(&with_class(class, *time, *rest)).into_iter().filter(move |finding| finding.id == id).collect::<Vec<_>>()
    };
    reading(row::PRACTICE, values, of, |(class, time, rest)| {
        let event = event_of(class);
        let of_event = event.as_deref().and_then(|event| Some(format!("{event}: {}", advice(event)?)));
        let practices = of_event.unwrap_or_else(|| class.practices.join(" "));
        let by = if event.is_some() { "event,statement" } else { "statement,call" };
        let is_unaccounted = matches!(class.class, Class::UnaccountedWithin | Class::UnaccountedBetween);
        let see = if is_unaccounted { String::new() } else { format!("See --by {by} --where class={}.", class.key) };
        (*time > 0 && time * 10 >= time + rest).then(|| says![practices, see])
    })
}

/// What is unaccounted for holds the waits where they were not traced: then a warning says so, and what to do.
fn of_untraced() -> Reading {
    let of = |(is_traced, within): &(bool, i64)| {
        let mut made = with_unaccounted(profile(10, &[]), *within);
        made.whole.waits_are_traced = *is_traced;
        found(&made).into_iter().filter(|finding| finding.id.ends_with("within") && row::PRACTICE.has(&finding.id))
    };
    reading(row::PRACTICE, (any::<bool>(), select(vec![1_i64, 90])), of, |(is_traced, within)| {
        (*is_traced && *within > 1).then(|| says!["Look at the machine"])
    })
}

/// The advice for a class in a profile of samples.
fn advised(made: Profile, sampled: Sampled, class: Class) -> String {
    let made = Profile { sampled: Some(Box::new(sampled)), ..made };
    let id = format!("practice-{}", class.key());
    found(&made).into_iter().find(|finding| finding.id == id).map_or_else(String::new, |finding| finding.message)
}

#[test]
fn what_the_server_has_more_in_its_account_is_explained_once() {
    let advised_with = |finding: Finding| {
        let mut made = profile(10, &[]);
        made.whole.unaccounted_between = micros(90);
        advised(made, Sampled { findings: vec![finding], ..Sampled::default() }, Class::UnaccountedBetween)
    };
    let warned = DB_TIME_DIFFERS.of("Sessions came and went between samples, or may not be seen.");
    assert_eq!(advised_with(warned), "");
    let within_error = DB_TIME_AGREES.of("Sampling and the account's delay explain up to 3.13 s.");
    assert_eq!(advised_with(within_error), "", "nothing is to be done about it");
}

#[test]
fn that_waits_were_not_traced_is_said_once() {
    let mut made = with_unaccounted(profile(10, &[]), 90);
    (made.whole.waits_are_traced, made.whole.unaccounted_between) = (false, micros(90));
    made.whole.roots = 1;
    for said in ["Waits were not traced", "Trace again"] {
        assert_eq!(that_say(said, found(&made)).len(), 1, "{said}");
    }
}

#[test]
fn statements_are_not_sought_by_reads_that_no_sample_has() {
    let advised_with = |counters: Option<BTreeMap<StatementIndex, Counters>>, has_statement: bool| {
        let mut made = profile(100, &[]);
        if has_statement {
            add(&mut made, query("s0"), &[(CallKind::Exec, calls(1, 100, 0, 0))]);
        }
        advised(made, Sampled { counters, ..Sampled::default() }, Class::Cpu)
    };
    for has_statement in [true, false] {
        let said = advised_with(None, has_statement);
        assert!(said.contains("gets were not counted") && !said.contains("most logical reads"), "{said}");
        let said = advised_with(Some(BTreeMap::new()), has_statement);
        assert!(said.contains("most logical reads") && !said.contains("not counted"), "{said}");
    }
}

#[test]
fn no_smaller_pool_is_advised_where_no_more_sessions_were_at_work_than_there_are_processors() {
    let advised_at = |event: &str, most: f64, cores: Option<u64>| {
        let active = ActiveSessions { max: Some(most), ..ActiveSessions::default() };
        let class = class_of(event);
        advised(profile(0, &[(event, 100)]), Sampled { active, cores, ..Sampled::default() }, class)
    };
    for (event, pool) in [("Processor:RunQueue", "Cap the sessions"), ("LWLock:LockManager", "a pool about as large")] {
        for (most, cores, is_few) in
            [(1.9, Some(2), true), (2.1, Some(2), false), (0.97, None, true), (1.3, None, false)]
        {
            let said = advised_at(event, most, cores);
            assert_eq!(said.contains("a smaller pool would not help"), is_few, "{event}, {most}: {said}");
            assert_eq!(said.contains(pool), !is_few, "{event}, {most}: {said}");
        }
    }
    let said = advised_at("Processor:RunQueue", 1.9, Some(2));
    assert!(said.contains("1.90 sessions were at work on average with 2 processors"), "{said}");
}

const BUSY: &str = "buffer busy waits";

/// Waits for blocks of these numbers, as much of them as is waited for in all.
fn waits_for(each: impl Iterator<Item = (i64, i64, i64)>) -> Vec<Finding> {
    let waits: Vec<Wait> =
        each.map(|(block, object, time)| Wait { object: Some(object), ..wait(0, time, [4, block, 1]) }).collect();
    let time: i64 = waits.iter().map(|wait| wait.elapsed.micros() as i64).sum();
    let mut made = profile(0, &[(BUSY, time)]);
    made.context.events = vec![Event::new(BUSY, &["file#", "block#", "class#"].map(String::from))];
    let mut hot = HotSpots::default();
    for wait in &waits {
        hear(&made.context, wait, |block_wait, time| hot.add(wait.event, wait.object, time, block_wait));
    }
    findings(&made, &hot, Order::ResponseTime, &[FILE.into()])
}

/// The block and the object that half of a class was waited for, in 20 waits or more: of µs each, besides six others.
fn hot_spots() -> [Reading; 2] {
    let values = (15..25_i64, 1..20_i64, 1..60_i64);
    let are_hot = |(count, each, other): &(i64, i64, i64)| *count >= 20 && count * each >= 6 * other;
    let share = |(count, each, other): &(i64, i64, i64)| {
        let hot = count * each;
        let share = 100.0 * hot as f64 / (hot + 6 * other) as f64;
        format!("{share:.1} % of it, {}, in {count} waits", format_nanos(1e3 * hot as f64))
    };
    let of_block = |(count, each, other): &(i64, i64, i64)| {
        let hot = (0..*count).map(|_| (7, 55, *each));
        that_say("Block ", waits_for(hot.chain((0..6).map(|number| (100 + number, 55, *other)))))
    };
    let block = reading(row::PRACTICE, values.clone(), of_block, move |waits| {
        let hot = format!("Block 4:7 (data block) of object 55 has {}.", share(waits));
        let see = "--by block,statement --where class=concurrency shows the rest. buffer busy waits: Sessions contend";
        are_hot(waits).then(|| says![hot, see])
    });
    let of_object = |(count, each, other): &(i64, i64, i64)| {
        let hot = (0..*count).map(|number| (7 + number, 55, *each));
        that_say("Object ", waits_for(hot.chain((0..6).map(|number| (100 + number, 60 + number, *other)))))
    };
    let object = reading(row::PRACTICE, values, of_object, move |waits| {
        let hot = format!("Object 55 has {}.", share(waits));
        are_hot(waits).then(|| says![hot, "--by object,statement --where class=concurrency shows the rest."])
    });
    [block, object]
}

/// The statement with most CPU: executions, µs of CPU, µs that are no statement's, gets.
fn of_statement() -> Reading {
    let gets = prop_oneof![0..30_i64, 99_998..100_003_i64];
    let values = (select(vec![0_u64, 1, 2, 999, 1000]), 0..100_i64, 0..400_i64, gets);
    let of = |(executions, cpu, others, gets): &(u64, i64, i64, i64)| {
        let mut made = profile(cpu + others + 1, &[]);
        let fetch = (CallKind::Fetch, calls(1, *cpu, *gets, 0));
        // The gets of a parse are not what its CPU is for.
        let parse = (CallKind::Parse, calls(1, 0, 5000, 0));
        add(&mut made, query("s0"), &[parse, (CallKind::Exec, calls(*executions, 0, 0, 0)), fetch]);
        that_say(" % of the CPU", found(&made))
    };
    reading(row::PRACTICE, values, of, |(executions, cpu, others, gets)| {
        let all = cpu + others + 1;
        let share = format!("{:.1}", 100.0 * *cpu as f64 / all as f64);
        let of_one = if cpu * 4 >= all { "" } else { ", the most of one statement," };
        let (count, nanos) = (*executions as f64, 1e3 * *cpu as f64);
        let work = match executions {
            0 | 1 => format!("{} in {}.", format_nanos(nanos), counted(*gets as u64, "get", "gets")),
            _ => format!(
                "{} executions of {} CPU and {} gets each.",
                grouped(*executions),
                format_nanos(nanos / count),
                three_digits(*gets as f64 / count)
            ),
        };
        let advice = match () {
            () if *executions >= 1000 && *gets < 100 * *executions as i64 => "Execute it less often",
            () if *gets > 0 && *cpu <= 10 * gets => "Let it touch fewer blocks",
            () => "Gets do not explain that much CPU",
        };
        (*cpu > 0).then(|| says![format!("{share} % of the CPU{of_one} is in statement s0 select 1: {work} {advice}")])
    })
}

/// Parses of a statement, their CPU in ms each, how many were hard, and ms of other parses.
type Parses = (u64, i64, u64, i64);

fn parsing((parses, each, hard, others): &Parses) -> Vec<Finding> {
    let cpu = *parses as i64 * each * 1000;
    let mut made = profile(0, &[]);
    let all = calls(*parses + 1, cpu + others * 1000, 0, 0);
    made.whole.cpu = all.own.cpu.unwrap_or_default();
    made.whole.calls = [((CallKind::Parse as u16, false), all)].into();
    let parse = CallSums { misses: *hard.min(parses), ..calls(*parses, cpu, 0, 0) };
    add(&mut made, query("s0"), &[(CallKind::Parse, parse)]);
    found(&made)
}

fn of_parses() -> [Reading; 2] {
    let values = (select(vec![1_u64, 3, 98, 99, 100, 101]), 95..106_i64, select(vec![0_u64, 1, 49, 50, 51]), 0..60_i64);
    let values = values.prop_map(|(parses, each, hard, others)| (parses, each, hard, others * 10 * parses as i64));
    let is_hard_to_optimize = |(parses, each, _, others): &Parses| {
        let own = *parses as i64 * each;
        *each >= 100 && own * 4 >= own + others
    };
    let of = |parses: &Parses| that_say("fewer tables, partitions", parsing(parses));
    let hard_to_optimize = reading(row::PRACTICE, values.clone(), of, move |of| {
        let (parses, each, _, others) = of;
        let own = *parses as i64 * each;
        let share = format!("{:.1}", 100.0 * own as f64 / (own + others) as f64);
        let parses = counted(*parses, "parse", "parses");
        let each = format_nanos(1e6 * *each as f64);
        let said = format!("{share} % of it is {parses} of s0 select 1 at {each} each: fewer tables");
        is_hard_to_optimize(of).then(|| says![said])
    });
    let of = |parses: &Parses| that_say(" hard. ", parsing(parses));
    let hard_or_not = reading(row::PRACTICE, values, of, move |of| {
        let (parses, each, hard, others) = of;
        let hard = hard.min(parses);
        let own = *parses as i64 * each;
        let is_most = own * 4 >= own + others;
        let cpu = format_nanos(1e6 * own as f64);
        let many = format!("{cpu} of it is {} of s0 select 1", counted(*parses, "parse", "parses"));
        let are = if *hard == 1 { "is" } else { "are" };
        let advice = match (*parses < 100, hard * 2 >= *parses, is_most) {
            (true, ..) => "There are too few of them".into(),
            (false, true, true) => format!("{many}, and {hard} of them are hard though the text is the same"),
            (false, false, true) => format!("{many} for 0 executions: prepare it once"),
            (false, true, false) => "Use bind variables".into(),
            (false, false, false) => "Prepare a statement once".into(),
        };
        let parses = counted(*parses, "parse", "parses");
        (!is_hard_to_optimize(of)).then(|| says![format!("{hard} of {parses} {are} hard. {advice}")])
    });
    [hard_to_optimize, hard_or_not]
}
