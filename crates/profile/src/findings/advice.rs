//! What would make the time of a class less: advice by event and by counts, as far as the trace bears it out, the block
//! or object that holds most of it, and the breakdown that shows more.

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::profile::findings as row;
use measure::wait_class::{Class, advice};

use super::naming::{name, nanos};
use crate::event::block_wait::block_class;
use crate::event::{CallKind, Cost, Ticks};
use crate::observe::hot_spots::{HotBlock, HotSpot, HotSpots};
use crate::tables::class_sums::ClassSums;
use crate::tables::{CallSums, Profile, StatementProfile};

/// Part of a class from which on a cause of it is worth a word.
const PART: f64 = 0.25;

/// Part of a class that a block or an object must hold to be named, and how many waits that takes.
const HOT_PART: f64 = 0.5;
const HOT_WAITS: u64 = 20;

/// Executions from which on repeating one is worth a word.
const REPEATED_MIN: u64 = 1_000;

/// CPU time of a parse from which on the statement is hard to optimize, in ns.
const HARD_PARSE_NANOS: f64 = 100e6;

/// Usual cost of a logical I/O at most, in µs.
const LIO_USUAL_MAX: f64 = 10.0;

/// A class with its sums, and the profile that it is of.
struct Of<'p> {
    profile: &'p Profile,
    hot: &'p HotSpots,
    class: Class,
    sums: &'p ClassSums,
}

/// The advice for a class, its hot spot first.
pub(super) fn practice(profile: &Profile, hot: &HotSpots, (class, sums): (Class, &ClassSums)) -> Finding {
    let of = Of { profile, hot, class, sums };
    let mut sentences: Vec<String> = of.hot_spot().into_iter().collect();
    let has_hot_spot = !sentences.is_empty();
    let advice = match class {
        Class::Cpu => of.cpu(),
        Class::CpuParse => of.parses(),
        _ => of.events(),
    };
    sentences.extend(if advice.is_empty() { of.of_class() } else { advice });
    sentences.extend(of.breakdown().filter(|_| !has_hot_spot));
    row::PRACTICE.named(class.key(), sentences.join(" "))
}

impl Of<'_> {
    fn of_class(&self) -> Vec<String> {
        self.class.row().practices.iter().map(ToString::to_string).collect()
    }

    fn part(&self, time: Ticks) -> f64 {
        time.0 as f64 / self.sums.total.0.max(1) as f64
    }

    /// The block or object that holds most of the class.
    fn hot_spot(&self) -> Option<String> {
        let events = || self.sums.events.iter().map(|(event, ..)| *event);
        let percent = |time: Ticks| three_digits(100.0 * self.part(time));
        let see = |by: &str| format!("--by {by} --where class={} shows the rest.", self.class.key());
        let block = self.hot.block(events()).filter(|spot| self.is_hot(spot));
        if let Some(HotSpot { key: HotBlock { address, object, class }, total, count, .. }) = block {
            let kind = class.map_or(String::new(), |class| format!(" ({})", block_class(class)));
            let of = object
                .map_or(String::new(), |object| format!(" of object {}", self.profile.context.object_name(object)));
            return Some(format!(
                "Block {}:{}{kind}{of} has {} % of it, in {}. {}",
                address.file,
                address.block,
                percent(total),
                counted(count, "wait", "waits"),
                see("block,statement")
            ));
        }
        let object = self.hot.object(events()).filter(|spot| self.is_hot(spot))?;
        Some(format!(
            "Object {} has {} % of it, in {}. {}",
            self.profile.context.object_name(object.key),
            percent(object.total),
            counted(object.count, "wait", "waits"),
            see("object,statement")
        ))
    }

    fn is_hot<K>(&self, spot: &HotSpot<K>) -> bool {
        spot.count >= HOT_WAITS && self.part(spot.total) >= HOT_PART
    }

    /// Advice for the events that make the class, the largest first.
    fn events(&self) -> Vec<String> {
        let mut events: Vec<(&str, Ticks)> = Vec::new();
        for (event, _, total) in &self.sums.events {
            let name = self.profile.context.event_name(*event);
            match events.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += *total,
                None => events.push((name, *total)),
            }
        }
        events.retain(|(_, total)| self.part(*total) >= PART);
        events.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
        let mut sentences: Vec<String> = Vec::new();
        for (event, _) in events {
            let Some(sentence) = advice(event) else { continue };
            if !sentences.iter().any(|known| known.ends_with(sentence)) {
                sentences.push(format!("{event}: {sentence}"));
            }
        }
        sentences
    }

    /// What the counts say of CPU time: many gets, repeated calls, or something other than gets.
    fn cpu(&self) -> Vec<String> {
        let profile = self.profile;
        let calls = |one: &StatementProfile| -> CallSums { work_calls(profile, one) };
        let cpu = |one: &StatementProfile| calls(one).own.cpu.unwrap_or_default();
        let Some(most) = profile.statements.iter().max_by_key(|one| cpu(one)) else { return Vec::new() };
        if self.part(cpu(most)) < PART {
            return Vec::new();
        }
        let executions = most.calls_of(&profile.context, CallKind::Exec).calls;
        // As the CPU, without those of its parses.
        let Cost { consistent_gets, current_gets, .. } = calls(most).own;
        let gets = consistent_gets.saturating_add(current_gets).max(0);
        let each = cpu(most).micros() / gets.max(1) as f64;
        let mut text = format!("{} % of it is {}", three_digits(100.0 * self.part(cpu(most))), name(profile, most));
        text += &match executions {
            0 | 1 => format!(": {} in {}.", format_nanos(nanos(cpu(most))), counted(gets as u64, "get", "gets")),
            _ => format!(
                ": {} executions of {} CPU and {} gets each.",
                grouped(executions),
                format_nanos(nanos(cpu(most)) / executions as f64),
                three_digits(gets as f64 / executions as f64)
            ),
        };
        let advice = if executions >= REPEATED_MIN {
            "Execute it less often: one statement for many rows instead of one row at a time."
        } else if gets > 0 && each <= LIO_USUAL_MAX {
            "Let it touch fewer blocks: a fitting index, rows clustered as they are read."
        } else {
            "Gets do not explain that much CPU: look at the lines of its plan and at the functions that it calls."
        };
        vec![text, advice.into()]
    }

    /// What the counts say of parsing.
    fn parses(&self) -> Vec<String> {
        let context = &self.profile.context;
        let parse = |one: &StatementProfile| one.calls_of(context, CallKind::Parse);
        let cpu = |one: &StatementProfile| parse(one).own.cpu.unwrap_or_default();
        let Some(most) = self.profile.statements.iter().max_by_key(|one| cpu(one)) else { return Vec::new() };
        let sums = parse(most);
        let each = nanos(cpu(most)) / sums.calls.max(1) as f64;
        if self.part(cpu(most)) >= PART && each >= HARD_PARSE_NANOS {
            let text = format!(
                "{} % of it is {} of {} at {} each: fewer tables, partitions and views in one text, or a plan that is \
                 kept for it.",
                three_digits(100.0 * self.part(cpu(most))),
                counted(sums.calls, "parse", "parses"),
                name(self.profile, most),
                format_nanos(each)
            );
            return vec![text];
        }
        let total = |of: fn(&CallSums) -> u64| self.profile.statements.iter().map(|one| of(&parse(one))).sum::<u64>();
        let (parses, hard) = (total(|sums| sums.calls), total(|sums| sums.misses));
        let are = if hard == 1 { "is" } else { "are" };
        let shares = format!("{} of {} {are} hard.", grouped(hard), counted(parses, "parse", "parses"));
        let advice = if hard * 2 >= parses {
            "Use bind variables where texts differ only in their literals; --fold-literals shows which do."
        } else {
            "Prepare a statement once and execute it many times; keep cursors open or let the session cache them."
        };
        vec![shares, advice.into()]
    }

    /// The command that shows more of the class.
    fn breakdown(&self) -> Option<String> {
        let by = match self.class {
            Class::UnaccountedWithin | Class::UnaccountedBetween | Class::Unrecorded => return None,
            Class::Cpu | Class::CpuParse => "statement,call",
            _ if self.sums.events.iter().any(|(event, ..)| self.is_of_objects(*event)) => "object,statement",
            _ => "event,statement",
        };
        Some(format!("See --by {by} --where class={}.", self.class.key()))
    }

    fn is_of_objects(&self, event: crate::event::EventIndex) -> bool {
        self.hot.object(std::iter::once(event)).is_some()
    }
}

/// The calls of a statement but those that parse it.
fn work_calls(profile: &Profile, one: &StatementProfile) -> CallSums {
    use crate::event::Merge;
    let mut sums = CallSums::default();
    let is_parse = |name: u16| profile.context.call_name(name) == CallKind::Parse.name();
    one.calls.iter().filter(|(name, _)| !is_parse(**name)).for_each(|(_, more)| sums.merge(more));
    sums
}
