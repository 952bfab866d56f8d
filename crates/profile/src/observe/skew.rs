//! Skew: any calls and waits broken down by any dimension, so that one event can be followed to the object and the
//! statement.

mod dimension;
mod document;
mod filter;
mod groups;
mod item;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use measure::sorting;

use crate::event::{Call, Context, Observer, ScopeIndex, Ticks, Wait};
use crate::observe::skew::dimension::{Value, clock_text};
use crate::observe::skew::groups::Groups;
use crate::observe::skew::item::Item;

pub use dimension::{DIMENSIONS_MAX, Dimension, SkewError};
pub use filter::Filter;
pub use groups::{Merged, Sums};

/// Keys that are kept apart: about 20 MiB of them.
const KEYS_MAX: usize = 100_000;

/// What stands where something has no value in a dimension.
const NO_VALUE: &str = "–";

/// One part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    None,
    Text(u32),
    Number(i64),
    Clock(i64),
    Block {
        file: i64,
        block: i64,
    },
    /// By a scope that has it.
    Container(ScopeIndex),
}

type Key = [Part; DIMENSIONS_MAX];

/// Listens to calls and waits, and sums those that pass a filter.
#[derive(Clone, Debug)]
pub struct Skew {
    dimensions: Vec<Dimension>,
    filter: Filter,
    /// The dimensions of the filter's conditions in which nothing that it turned away had a value.
    unvalued: Vec<Dimension>,
    /// As long as there are any, for each dimension whether something had a value in it, a bit each.
    valued: u32,
    think_time: Ticks,
    texts: Texts,
    containers: Containers,
    groups: Groups<Key>,
    all: Sums,
    calls_without_cpu: u64,
}

/// A breakdown.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// By what.
    pub dimensions: Vec<Dimension>,
    /// One a combination of values, most time first.
    pub rows: Vec<BreakdownRow>,
    /// The dimensions of the filter's conditions, each once.
    pub filtered_by: Vec<Dimension>,
    /// Those of them in which nothing that the filter turned away has a value.
    pub unvalued: Vec<Dimension>,
    /// Where there are any: all dimensions in which something has one.
    pub valued: Vec<Dimension>,
    /// Everything that passed the filter.
    pub all: Sums,
    /// What was merged because there were too many values.
    pub merged: Option<Merged>,
    /// Calls that pass the filter and are not in it, because their CPU time is not known.
    pub calls_without_cpu: u64,
    /// The dimensions in which none of its rows has a value.
    pub without_value: Vec<Dimension>,
}

/// A row of a breakdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakdownRow {
    /// One a dimension.
    pub values: Vec<String>,
    /// Its place where the values of the first dimension have an order of their own, as seconds have; 0 elsewhere.
    pub place: i64,
    /// Its calls and waits.
    pub sums: Sums,
}

impl Breakdown {
    /// Share of all time; 0 where there is none.
    pub fn share(&self, sums: &Sums) -> f64 {
        if self.all.total.0 == 0 { 0.0 } else { sums.total.0 as f64 / self.all.total.0 as f64 }
    }
}

impl Skew {
    /// A breakdown by `dimensions` of what passes `filter`; a wait for the client of `think_time` or longer is think
    /// time, as in the profile's classes.
    pub fn new(dimensions: Vec<Dimension>, filter: Filter, think_time: Ticks) -> Skew {
        Skew {
            dimensions,
            unvalued: filter.dimensions(),
            valued: 0,
            filter,
            think_time,
            texts: Texts::default(),
            containers: Containers::default(),
            groups: Groups::new(KEYS_MAX),
            all: Sums::NONE,
            calls_without_cpu: 0,
        }
    }

    /// What was summed so far.
    pub fn breakdown(&self, context: &Context) -> Breakdown {
        let is_ordered = self.dimensions.first().is_some_and(|dimension| dimension.is_ordered());
        let row = |(key, sums): (Key, Sums)| {
            let place = match key[0] {
                Part::Number(number) | Part::Clock(number) if is_ordered => number,
                // What has no such value comes behind all that has.
                Part::None if is_ordered => i64::MAX,
                _ => 0,
            };
            BreakdownRow { values: self.values(context, &key), place, sums }
        };
        let mut rows: Vec<BreakdownRow> = self.named(context).into_iter().map(row).collect();
        sorting::by(&mut rows, |left, right| (right.sums.total, &left.values).cmp(&(left.sums.total, &right.values)));
        Breakdown {
            dimensions: self.dimensions.clone(),
            rows,
            filtered_by: self.filter.dimensions(),
            unvalued: self.unvalued.clone(),
            valued: self.valued().collect(),
            all: self.all,
            merged: self.groups.merged(),
            calls_without_cpu: self.calls_without_cpu,
            without_value: self.without_value(),
        }
    }

    /// The sums by key, where each container has one key: one that was called by its number at first may have the name
    /// of another one now.
    fn named(&self, context: &Context) -> HashMap<Key, Sums, RandomState> {
        let mut first_of: HashMap<&str, ScopeIndex> = HashMap::new();
        let mut named: HashMap<Key, Sums, RandomState> = HashMap::default();
        for (key, sums) in self.groups.iter() {
            let key = key.map(|part| match part {
                Part::Container(scope) => {
                    Part::Container(*first_of.entry(container_of(context, scope)).or_insert(scope))
                }
                other => other,
            });
            named.entry(key).or_insert(Sums::NONE).add(*sums);
        }
        named
    }

    fn without_value(&self) -> Vec<Dimension> {
        let is_without = |place: usize| self.groups.iter().all(|(key, _)| key[place] == Part::None);
        let places = self.dimensions.iter().enumerate().filter(|(place, _)| self.all.count > 0 && is_without(*place));
        places.map(|(_, dimension)| *dimension).collect()
    }

    fn values(&self, context: &Context, key: &Key) -> Vec<String> {
        let value = |(dimension, part): (&Dimension, &Part)| match part {
            Part::None => NO_VALUE.into(),
            Part::Text(index) => self.texts.text(*index),
            Part::Number(number) => dimension.number_text(context, *number),
            Part::Clock(seconds) => clock_text(*seconds),
            Part::Block { file, block } => format!("{file}:{block}"),
            Part::Container(scope) => container_of(context, *scope).into(),
        };
        self.dimensions.iter().zip(key).map(value).collect()
    }

    /// Whether the filter lets an item pass.
    fn accepts(&mut self, context: &Context, item: &Item<'_>) -> bool {
        let passes = self.filter.accepts(context, item);
        if !passes && !self.unvalued.is_empty() {
            self.unvalued.retain(|dimension| dimension.value(context, item).is_none());
            for (place, dimension) in Dimension::all().enumerate() {
                // Asked once more of what has none alone: this is done for each call and wait.
                let bit = 1_u32 << place;
                if self.valued & bit == 0 && dimension.value(context, item).is_some() {
                    self.valued |= bit;
                }
            }
        }
        passes
    }

    /// The dimensions in which something had a value, as long as there are any without one.
    fn valued(&self) -> impl Iterator<Item = Dimension> {
        let all = Dimension::all().enumerate();
        all.filter(move |(place, _)| self.valued & (1_u32 << *place) != 0).map(|(_, dimension)| dimension)
    }

    fn add(&mut self, context: &Context, item: &Item<'_>) {
        if !self.accepts(context, item) {
            return;
        }
        let mut key = [Part::None; DIMENSIONS_MAX];
        for (part, dimension) in key.iter_mut().zip(&self.dimensions) {
            *part = match dimension.value(context, item) {
                None => Part::None,
                Some(Value::Text(text)) => Part::Text(self.texts.index(text)),
                Some(Value::Number(number)) => Part::Number(number),
                Some(Value::Clock(seconds)) => Part::Clock(seconds),
                Some(Value::Block { file, block }) => Part::Block { file, block },
                Some(Value::Container { name, scope }) => Part::Container(self.containers.first(context, name, scope)),
            };
        }
        let sums = Sums::of(item.time, item.sum_of);
        self.groups.add(key, sums);
        self.all.add(sums);
    }
}

impl Observer for Skew {
    fn call(&mut self, context: &Context, call: &Call) {
        let item = Item::of_call(context, call);
        match call.own.cpu {
            Some(_) => self.add(context, &item),
            // It is not broken down: what it has a value in is no help.
            None => self.calls_without_cpu += u64::from(self.filter.accepts(context, &item)),
        }
    }

    fn wait(&mut self, context: &Context, wait: &Wait) {
        self.add(context, &Item::of_wait(context, wait, self.think_time));
    }
}

/// Texts by number. There are no more of them than the source has names, which it keeps anyway.
#[derive(Clone, Debug, Default)]
struct Texts {
    indexes: HashMap<String, u32, RandomState>,
    texts: Vec<String>,
}

impl Texts {
    fn index(&mut self, text: &str) -> u32 {
        if let Some(index) = self.indexes.get(text) {
            return *index;
        }
        let index = self.texts.len() as u32;
        self.indexes.insert(text.into(), index);
        self.texts.push(text.into());
        index
    }

    fn text(&self, index: u32) -> String {
        self.texts.get(index as usize).cloned().unwrap_or_default()
    }
}

/// The container of a scope, by the name that it has now.
fn container_of(context: &Context, scope: ScopeIndex) -> &str {
    context.scopes.get(scope.0 as usize).map_or("", |scope| &scope.container)
}

/// Containers by the first scope that has each. A trace may name one only behind its number, which renames its scopes:
/// the scope is what stays.
#[derive(Clone, Debug, Default)]
struct Containers {
    firsts: HashMap<String, ScopeIndex, RandomState>,
}

impl Containers {
    /// The first scope of the container that this one has.
    fn first(&mut self, context: &Context, name: &str, scope: ScopeIndex) -> ScopeIndex {
        // A number that was renamed may come again, as that of another database's container.
        match self.firsts.get(name).filter(|first| container_of(context, **first) == name) {
            Some(first) => *first,
            None => {
                self.firsts.insert(name.into(), scope);
                scope
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Cost, Placement, Scope, Statement, StatementIndex};
    use crate::observe::tests::{context, fetch, wait};

    const SECOND: Ticks = Ticks::from_micros(1_000_000);

    impl Skew {
        /// The same with at most this many keys that are kept apart.
        pub(crate) fn with_keys_max(
            dimensions: Vec<Dimension>,
            filter: Filter,
            think_time: Ticks,
            keys_max: usize,
        ) -> Skew {
            Skew { groups: Groups::new(keys_max), ..Skew::new(dimensions, filter, think_time) }
        }
    }

    fn trace() -> (Context, Vec<Call>, Vec<Wait>) {
        let mut context = context(&[
            ("db file sequential read", &["file#", "block#", "blocks"]),
            ("SQL*Net message from client", &["driver id", "#bytes", "p3"]),
        ]);
        context.statements.push(Statement { id: "statement1".into(), ..Default::default() });
        let mut reads = vec![wait(0, 100, [4, 10, 1]), wait(0, 300, [4, 11, 1]), wait(0, 50, [5, 10, 1])];
        reads[1].statement = StatementIndex(1);
        let mut client = wait(1, 2_000_000, [0, 1, 0]);
        client.placement = Placement::Between;
        client.object = Some(77);
        reads.push(client);
        (context, vec![fetch(0, 500, 10, 1), fetch(1, 700, 10, 1)], reads)
    }

    fn breakdown(by: &str, filter: &str) -> Breakdown {
        let (context, calls, waits) = trace();
        let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(&[filter]).unwrap() };
        let mut skew = Skew::new(Dimension::parse_list(by).unwrap(), filter, SECOND);
        calls.iter().for_each(|call| skew.call(&context, call));
        waits.iter().for_each(|wait| skew.wait(&context, wait));
        skew.breakdown(&context)
    }

    fn rows(by: &str, filter: &str) -> Vec<(String, f64)> {
        let rows = breakdown(by, filter).rows;
        rows.into_iter().map(|row| (row.values.join(" "), row.sums.total.micros())).collect()
    }

    fn expected(rows: &[(&str, f64)]) -> Vec<(String, f64)> {
        rows.iter().map(|(value, micros)| ((*value).into(), *micros)).collect()
    }

    #[test]
    fn everything_by_event_is_the_profiles_cpu_and_waits() {
        let expected =
            expected(&[("SQL*Net message from client", 2e6), ("CPU", 1200.0), ("db file sequential read", 450.0)]);
        assert_eq!(rows("event", ""), expected);
        assert_eq!(rows("class", "")[0], ("think-time".into(), 2e6));
    }

    #[test]
    fn one_event_is_followed_to_its_file_block_and_statement() {
        let reads = "event=db file sequential read";
        assert_eq!(rows("file", reads), expected(&[("4", 400.0), ("5", 50.0)]));
        assert_eq!(rows("block", reads), expected(&[("4:11", 300.0), ("4:10", 100.0), ("5:10", 50.0)]));
        let by_both = expected(&[("statement1 4", 300.0), ("statement0 4", 100.0), ("statement0 5", 50.0)]);
        assert_eq!(rows("statement,file", reads), by_both);
        let slow = breakdown("latency", "event~sequential and latency>=100us");
        assert_eq!(slow.rows.len(), 2);
        assert_eq!(slow.all.count, 2);
    }

    #[test]
    fn the_object_of_a_wait_that_is_no_block_access_is_not_believed() {
        assert_eq!(rows("object", "event~client"), expected(&[("–", 2e6)]));
        assert_eq!(rows("call,depth", "event~client"), expected(&[("between calls –", 2e6)]));
    }

    #[test]
    fn a_container_that_is_named_behind_its_number_is_one_and_not_that_of_another_database() {
        let (mut context, ..) = trace();
        let scope = |module: &str, container: &str| {
            let [module, container] = [module, container].map(String::from);
            Scope { module, container, ..Scope::default() }
        };
        context.scopes = vec![scope("a", "3"), scope("b", "3"), scope("c", "SHOP"), scope("a", "3")];
        let mut skew = Skew::new(Dimension::parse_list("container,event").unwrap(), Filter::default(), SECOND);
        let hear = |skew: &mut Skew, context: &Context, scope: u32, micros: i64| {
            skew.wait(context, &Wait { scope: ScopeIndex(scope), ..wait(0, micros, [4, 10, 1]) });
        };
        let rows = |skew: &Skew, context: &Context| -> Vec<(String, f64)> {
            let rows = skew.breakdown(context).rows;
            rows.into_iter().map(|row| (row.values[0].clone(), row.sums.total.micros())).collect()
        };
        hear(&mut skew, &context, 0, 1);
        hear(&mut skew, &context, 1, 2);
        assert_eq!(rows(&skew, &context), expected(&[("3", 3.0)]), "two modules of one container");
        (0..2).for_each(|scope| context.scopes[scope].container = "SHOP".into());
        hear(&mut skew, &context, 1, 4);
        hear(&mut skew, &context, 2, 8);
        assert_eq!(rows(&skew, &context), expected(&[("SHOP", 15.0)]));
        // In a file of another database, the number is that of another container.
        hear(&mut skew, &context, 3, 16);
        assert_eq!(rows(&skew, &context), expected(&[("3", 16.0), ("SHOP", 15.0)]));
    }

    #[test]
    fn a_user_that_the_source_does_not_say_is_absent_and_not_0() {
        assert_eq!(rows("user", ""), expected(&[("–", 2_001_650.0)]));
        let names = |by: &str| breakdown(by, "").without_value.iter().map(|one| one.name()).collect::<Vec<_>>();
        assert_eq!((names("user,event"), names("statement,event")), (vec!["user"], vec![]));
    }

    #[test]
    fn an_empty_breakdown_says_how_to_see_the_values_of_what_its_filter_names() {
        let said = |filter: &str| breakdown("event", filter).findings().swap_remove(0).message;
        let by = "No call and no wait passes the filter. --by file,statement without --where shows";
        let of_both = "file=99 and statement=x and file!=7";
        assert!(said(of_both).starts_with(by), "{}", said(of_both));
        assert!(said("elapsed>9s").contains("--by latency without --where"), "{}", said("elapsed>9s"));
        let none = "No call and no wait passes the filter. None has a value in module: the source does not say it";
        assert!(said("file=4 and module=x").starts_with(none), "{}", said("file=4 and module=x"));
    }

    #[test]
    fn a_condition_on_the_second_of_a_log_s_waits_is_no_dead_end() {
        let (context, ..) = trace();
        let mut skew = Skew::new(vec![Dimension::event()], Filter::parse(&["second>=2026-11-22"]).unwrap(), SECOND);
        // A log knows the ends of its calls, and not their CPU time.
        let cost = Cost { cpu: None, ..Cost::default() };
        skew.call(&context, &Call { end: Some(SECOND), own: cost, inclusive: cost, ..fetch(0, 0, 0, 0) });
        skew.wait(&context, &Wait { end: None, sum_of: Some(3), ..wait(0, 9_000, [4, 10, 1]) });
        let said = skew.breakdown(&context).findings().pop().unwrap().message;
        assert!(said.contains("None has a value in second: the source does not say it."), "{said}");
        assert!(said.contains("Conditions can be on event, class, "), "{said}");
        assert!(said.ends_with("Parts of its time are compared with `readpath compare --first`."), "{said}");
    }

    #[test]
    fn a_filter_by_a_latency_that_samples_do_not_have_is_not_said_to_find_no_such_value() {
        let (context, ..) = trace();
        let mut skew = Skew::new(vec![Dimension::event()], Filter::parse(&["latency>5ms"]).unwrap(), SECOND);
        skew.wait(&context, &Wait { sum_of: Some(3), ..wait(0, 9_000, [4, 10, 1]) });
        let said = skew.breakdown(&context).findings().swap_remove(0).message;
        assert!(said.contains("None has a value in latency"), "{said}");
    }

    #[test]
    fn dimensions_that_do_not_exist_or_are_too_many_are_refused_by_name() {
        let error = |by: &str| Dimension::parse_list(by).unwrap_err().to_string();
        assert!(error("colour").starts_with("'colour' is not a dimension: write one of event, class"));
        assert!(error("file,file").contains("twice"));
        assert!(error("file,block,event,call").contains("up to 3"));
        assert!(error("").contains("not a dimension"));
    }

    #[test]
    fn millions_of_blocks_are_merged_and_the_sum_stays_whole() {
        let (context, ..) = trace();
        let by = Dimension::parse_list("block").unwrap();
        let mut skew = Skew::with_keys_max(by, Filter::default(), SECOND, 100);
        (0..5000).for_each(|block| skew.wait(&context, &wait(0, 10 + block % 3, [1, block, 1])));
        let breakdown = skew.breakdown(&context);
        let merged = breakdown.merged.unwrap();
        let total: Ticks = breakdown.rows.iter().map(|row| row.sums.total).chain([merged.sums.total]).sum();
        assert_eq!((total, breakdown.all.count), (breakdown.all.total, 5000));
        assert!(breakdown.rows.len() <= 100);
    }
}
