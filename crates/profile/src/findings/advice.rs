//! What would make the time of a class less: advice by event and by counts, as far as the trace bears it out, the block
//! or object that holds most of it, the statement, and the breakdown that shows more.

use measure::Finding;
use measure::quantity::{counted, format_nanos, three_digits};
use measure::schema::profile::findings as row;
use measure::sorting;
use measure::wait_class::{Class, advice, block_advice};

use super::naming::{ended, name, nanos, percent};
use super::worth::{Advice, Of, PART};
use super::{cpu, gaps, parses, round_trips};
use crate::event::block_wait::block_class;
use crate::event::{EventIndex, Ticks};
use crate::observe::hot_spots::{HotBlock, HotSpot};
use crate::tables::StatementProfile;

/// Part of a class that a block or an object must hold to be named, and how many waits that takes.
const HOT_PART: f64 = 0.5;
const HOT_WAITS: u64 = 20;

/// Part of a class above which the events with advice of their own stand for it.
const MOST: f64 = 0.5;

/// What is said of waits for a processor, and of other waits of sessions for one another, where the sessions were few.
const OF_OTHERS: &str = "Other processes had the processors: move their work to quiet hours or to another machine, or \
                         add cores.";
const AT_ONCE: &str = "Look at what the sessions do at the same time.";

/// Locks that the program asks for by itself: nothing that is said of locks on rows and tables makes waits for them
/// fewer.
const ADVISORY_LOCK: &str = "Lock:advisory";
const OF_ADVISORY_LOCKS: &str = "The program takes these locks by numbers of its own (pg_advisory_lock): hold each for \
                                 a shorter time, or go on with other work where pg_try_advisory_lock does not get it.";

/// The advice for a class, what saves most first, and what it saves in µs.
pub(super) fn practice(of: &Of<'_>) -> (f64, Finding) {
    let hot = of.hot_spot();
    let has_hot_spot = hot.is_some();
    let (hot, of_hot) = hot.unzip();
    let mut advice = match of.class {
        Class::Cpu => cpu::advice(of),
        Class::CpuParse => parses::advice(of),
        Class::Network => round_trips::advice(of),
        Class::UnaccountedBetween => gaps::between(of),
        Class::Commit => of.commits(),
        Class::RunQueue | Class::Concurrency => of.of_many_at_work(),
        _ => Advice { sentences: of.statement().into_iter().collect(), worth: 0.0 }.followed_by(of.by_events()),
    };
    if advice.sentences.is_empty() {
        advice.sentences = of.of_class();
    }
    let commits = of.commits.filter(|_| of.class != Class::Commit);
    let mut sentences: Vec<String> = commits.map(|commits| commits.sentence.clone()).into_iter().collect();
    sentences.extend(hot);
    sentences.extend(advice.sentences);
    sentences.extend(of.breakdown().filter(|_| !has_hot_spot));
    let worth = advice.worth.max(of_hot.unwrap_or_default()).max(commits.map_or(0.0, |commits| commits.micros));
    (worth, row::PRACTICE.named(of.class.key(), sentences.join(" ")))
}

impl Of<'_> {
    pub(super) fn of_class(&self) -> Vec<String> {
        self.class.row().practices.iter().map(ToString::to_string).collect()
    }

    pub(super) fn part(&self, time: Ticks) -> f64 {
        time.0 as f64 / self.sums.total.0.max(1) as f64
    }

    fn percent(&self, time: Ticks) -> String {
        percent(time.0 as f64, self.sums.total.0 as f64)
    }

    /// Commits of few rows before what else makes commits fewer or shorter.
    fn commits(&self) -> Advice {
        let Some(commits) = self.commits else {
            return Advice { sentences: self.statement().into_iter().collect(), worth: 0.0 }
                .followed_by(self.by_events());
        };
        let others = self.of_class().into_iter().skip(1).collect();
        Advice { sentences: vec![commits.sentence.clone()], worth: commits.micros }.followed_by(others)
    }

    /// What makes the waits of sessions for one another fewer. Where they were few, no smaller pool does.
    fn of_many_at_work(&self) -> Advice {
        let statement = Advice { sentences: self.statement().into_iter().collect(), worth: 0.0 };
        let (events, part) = self.events_with_part();
        match self.few_at_work().filter(|_| part <= MOST) {
            Some(few) => {
                let what = if self.class == Class::RunQueue { OF_OTHERS } else { AT_ONCE };
                statement.followed_by(events).followed_by(vec![few, what.into()])
            }
            None => statement.followed_by(self.by_events()),
        }
    }

    /// That no more sessions were at work than there are processors, where samples show it.
    fn few_at_work(&self) -> Option<String> {
        let sampled = self.profile.sampled.as_ref()?;
        let most = sampled.active.max.filter(|most| *most <= sampled.cores.unwrap_or(1) as f64)?;
        let processors = sampled
            .cores
            .map_or_else(String::new, |cores| format!(" with {}", counted(cores, "processor", "processors")));
        let most = three_digits(most);
        Some(format!(
            "In the busiest second, {most} sessions were at work on average{processors}: a smaller pool would not help."
        ))
    }

    /// The block or object that holds most of the class, and what avoiding a block saves at most, in µs.
    fn hot_spot(&self) -> Option<(String, f64)> {
        let events = || self.sums.events.iter().map(|(event, ..)| *event);
        let see = |by: &str| format!("--by {by} --where class={} shows the rest.", self.class.key());
        let has = |total: Ticks, count: u64| {
            let waits = counted(count, "wait", "waits");
            format!("has {} % of it, {}, in {waits}.", self.percent(total), format_nanos(nanos(total)))
        };
        let block = self.hot.block(events()).filter(|spot| self.is_hot(spot));
        if let Some(HotSpot { key: HotBlock { address, object, class }, total, count, .. }) = block {
            let kind = class.map_or(String::new(), |class| format!(" ({})", block_class(class)));
            let of = object
                .map_or(String::new(), |object| format!(" of object {}", self.profile.context.object_name(object)));
            let at = format!("Block {}:{}{kind}{of}", address.file, address.block);
            return Some((format!("{at} {} {}", has(total, count), see("block,statement")), total.micros()));
        }
        let object = self.hot.object(events()).filter(|spot| self.is_hot(spot))?;
        let at = format!("Object {}", self.profile.context.object_name(object.key));
        Some((format!("{at} {} {}", has(object.total, object.count), see("object,statement")), 0.0))
    }

    fn is_hot<K>(&self, spot: &HotSpot<K>) -> bool {
        spot.count >= HOT_WAITS && self.part(spot.total) >= HOT_PART
    }

    /// The statement with most of the time of these events, where it is much.
    fn statement(&self) -> Option<String> {
        let is_of_class = |event: &EventIndex| self.sums.events.iter().any(|(one, ..)| one == event);
        let time = |one: &StatementProfile| -> Ticks {
            one.waits.iter().filter(|(event, _)| is_of_class(event)).map(|(_, sums)| sums.total).sum()
        };
        let most = self.profile.statements.iter().max_by_key(|one| time(one))?;
        let text = || ended(format!("{} % of it is in {}", self.percent(time(most)), name(self.profile, most)));
        (self.part(time(most)) >= PART).then(text)
    }

    /// Advice for the events, and for the class where they are not most of it.
    fn by_events(&self) -> Vec<String> {
        let (mut sentences, part) = self.events_with_part();
        if part <= MOST {
            sentences.extend(self.of_class());
        }
        sentences
    }

    /// Advice for the events that make the class, the largest first, and the part of the class (0 to 1) that these
    /// events hold.
    pub(super) fn events_with_part(&self) -> (Vec<String>, f64) {
        let mut events: Vec<(&str, Ticks, Vec<EventIndex>)> = Vec::new();
        for (event, _, total) in &self.sums.events {
            let name = self.profile.context.event_name(*event);
            match events.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, sum, all)) => {
                    *sum += *total;
                    all.push(*event);
                }
                None => events.push((name, *total, vec![*event])),
            }
        }
        events.retain(|(_, total, _)| self.part(*total) >= PART);
        sorting::by_key(&mut events, |(_, total, _)| std::cmp::Reverse(*total));
        let mut sentences: Vec<String> = Vec::new();
        let mut part = 0.0;
        for (event, total, all) in events {
            let of_lock = (event == ADVISORY_LOCK).then_some(OF_ADVISORY_LOCKS);
            let Some(sentence) = of_lock.or_else(|| self.for_block(event, all)).or_else(|| advice(event)) else {
                continue;
            };
            part += self.part(total);
            if !sentences.iter().any(|known| known.ends_with(sentence)) {
                sentences.push(format!("{event}: {sentence}"));
            }
        }
        (sentences, part)
    }

    /// Advice by the class of the block that is waited for most, where one stands out.
    fn for_block(&self, event: &str, all: Vec<EventIndex>) -> Option<&'static str> {
        let block = self.hot.block(all.into_iter()).filter(|spot| self.part(spot.total) >= PART)?;
        block_advice(event, block.key.class)
    }

    /// The command that shows more of the class.
    fn breakdown(&self) -> Option<String> {
        if self.profile.sampled.is_some() {
            // Another profile of a running server is of another time.
            return None;
        }
        let by = match self.class {
            Class::UnaccountedWithin | Class::UnaccountedBetween | Class::Unrecorded => return None,
            Class::Cpu | Class::CpuParse => "statement,call",
            _ if self.sums.events.iter().any(|(event, ..)| self.is_of_objects(*event)) => "object,statement",
            _ => "event,statement",
        };
        Some(format!("See --by {by} --where class={}.", self.class.key()))
    }

    fn is_of_objects(&self, event: EventIndex) -> bool {
        self.hot.object(std::iter::once(event)).is_some()
    }
}
