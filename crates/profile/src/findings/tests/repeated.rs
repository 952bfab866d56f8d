//! What is done again and again: parses, executions of one statement each, fetches of few rows, statements that are
//! seen together.

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::profile::findings as row;
use sides::proptest::collection::vec;
use sides::proptest::prelude::{Strategy, any};
use sides::proptest::prop_oneof;
use sides::proptest::sample::select;
use sides::{Reading, reading, says};

use super::made::{add, calls, found, micros, profile, query};
use super::trace::{ingested, said};
use crate::event::{CallKind, Event, EventIndex, Statement, StatementKind};
use crate::tables::{BlockSums, EventSums, Profile};

pub(super) fn readings() -> Vec<Reading> {
    let [row_by_row, small_arrays] = larger_arrays();
    let of_two = arrays_of_two();
    let [by_itself, inclusive] = folded();
    vec![
        parsed(),
        parsed_by_several(),
        executed_once(),
        row_by_row,
        small_arrays,
        of_two,
        added_up(),
        by_itself,
        inclusive,
    ]
}

/// A statement with its parses and executions.
fn parsed_and_executed(made: &mut Profile, known: Statement, parses: u64, executions: u64) {
    let done = [(CallKind::Parse, calls(parses, 0, 0, 0)), (CallKind::Exec, calls(executions, 0, 0, 0))];
    add(made, known, &done);
}

/// Parses and executions of a statement, its depth, and the user who parsed it.
fn parsed() -> Reading {
    let of = |(parses, executions, depth, user): &(u64, u64, u16, i64)| {
        let mut made = profile(10, &[]);
        let known = Statement { depth: *depth, user: Some(*user), ..query("s0") };
        parsed_and_executed(&mut made, known, *parses, *executions);
        found(&made)
    };
    let values = (15..40_u64, 15..40_u64, 0..3_u16, 0..2_i64);
    reading(row::PARSED_EVERY_TIME, values, of, |(parses, executions, depth, user)| {
        let every = if parses < executions { "nearly every" } else { "every" };
        let said = format!(
            "A statement is parsed at {every} execution ({parses} parses, {executions} executions: s0 select 1)."
        );
        let advice = if *depth > 0 { "It is called from another statement:" } else { "Prepare it once," };
        let is_of_the_dictionary = *depth > 0 && *user == 0;
        let stands = *executions >= 20 && parses * 10 >= executions * 9 && !is_of_the_dictionary;
        stands.then(|| says![said, advice])
    })
}

/// The parses of statements with 30 executions each.
fn parsed_by_several() -> Reading {
    let of = |parses: &Vec<u64>| {
        let mut made = profile(10, &[]);
        for (place, parses) in parses.iter().enumerate() {
            parsed_and_executed(&mut made, query(&format!("s{place}")), *parses, 30);
        }
        found(&made)
    };
    reading(row::PARSED_EVERY_TIME, vec(24..30_u64, 0..6), of, |parses| {
        let others = parses.iter().filter(|parses| **parses >= 27).count().checked_sub(1)?;
        let most = parses.iter().max()?;
        let first = parses.iter().position(|parses| parses == most)?;
        let others = match others {
            0 => ". ".into(),
            1 => ", and so is one other statement. ".into(),
            others => format!(", and so are {others} other statements. "),
        };
        Some(says![format!("({most} parses, 30 executions: s{first} select 1){others}")])
    })
}

/// Adds statements that were executed so often.
fn executed(made: &mut Profile, count: usize, executions: u64, text: impl Fn(usize) -> String) {
    for number in 0..count {
        let known = Statement { text: text(number), ..query(&format!("e{executions}-{number}")) };
        add(made, known, &[(CallKind::Exec, calls(executions, 0, 0, 0))]);
    }
}

fn executed_once() -> Reading {
    let of = |(once, twice): &(usize, usize)| {
        let mut made = profile(10, &[]);
        executed(&mut made, *once, 1, |number| format!("select {number}"));
        executed(&mut made, *twice, 2, |number| format!("select d{number}"));
        found(&made)
    };
    reading(row::EXECUTED_ONCE, (10..30_usize, 0..6_usize), of, |(once, twice)| {
        let all = once + twice;
        (all >= 20 && once * 10 >= all * 9).then(|| says![format!("{once} of {all} statements were executed once")])
    })
}

/// Fetches, their rows, executions, and µs of the round trip that follows each fetch.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    fetches: u64,
    rows: u64,
    executions: u64,
    trip: i64,
}

impl Fetched {
    fn add(self, made: &mut Profile, id: &str) {
        let fetched = (CallKind::Fetch, calls(self.fetches, 0, 0, self.rows));
        let one = add(made, query(id), &[(CallKind::Exec, calls(self.executions, 0, 0, 0)), fetched]);
        let total = micros(self.trip * self.fetches as i64);
        let mut sums = EventSums { count: self.fetches, total, ..EventSums::default() };
        let waits = BlockSums { count: self.fetches, total, blocks: 0 };
        sums.histogram.add((u64::BITS - self.trip.unsigned_abs().leading_zeros()) as usize, &waits);
        one.waits = [(EventIndex(0), sums)].into_iter().collect();
    }

    /// Round trips that arrays of 100 rows save, where the fetches return enough rows of an execution, and fewer than
    /// 50 each.
    fn trips(self) -> Option<u64> {
        let is_enough = self.fetches >= 100 && self.rows >= 20 * self.executions && self.rows < 50 * self.fetches;
        let needed = self.executions.max(self.rows.div_ceil(100));
        self.fetches.checked_sub(needed).filter(|trips| is_enough && *trips > 0)
    }

    fn is_one_by_one(self) -> bool {
        self.rows < 2 * self.fetches
    }

    fn saved(self) -> i64 {
        self.trips().unwrap_or(0) as i64 * self.trip
    }

    fn says(self, id: &str) -> Option<Vec<String>> {
        let (trips, trip) = (self.trips()?, format_nanos(1e3 * self.trip as f64));
        let each = three_digits(self.rows as f64 / self.fetches as f64);
        let saved = format_nanos(1e3 * self.saved() as f64);
        let worth = match self.trip {
            0 => counted(trips, "call", "calls"),
            _ => {
                let trips = counted(trips, "round trip", "round trips");
                let assumed = "if a round trip takes the same time for any number of rows";
                format!("{trips} of {trip}: {saved} {assumed} (0 to {saved}: nothing if its time grows with the rows)")
            }
        };
        let fetches = grouped(self.fetches);
        Some(says![
            format!("Rows are fetched {each} at a time ({fetches} fetches: {id} select 1)"),
            format!("Arrays of 100 save {worth}.")
        ])
    }
}

const CLIENT: &str = "SQL*Net message from client";

/// A session in which rows were fetched, and its µs.
fn fetching(fetched: &[(&str, Fetched)], interval: i64) -> Vec<Finding> {
    let mut made = profile(0, &[]);
    made.context.events.push(Event::new(CLIENT, &[]));
    made.whole.interval = micros(interval);
    fetched.iter().for_each(|(id, fetched)| fetched.add(&mut made, id));
    found(&made)
}

fn larger_arrays() -> [Reading; 2] {
    let rows = prop_oneof![90..260_u64, 260..6000_u64];
    let values =
        (95..120_u64, rows, select(vec![1_u64, 3, 98, 99]), 0..20_i64).prop_map(|(fetches, rows, executions, trip)| {
            Fetched { fetches, rows: rows * if executions > 90 { 20 } else { 1 }, executions, trip }
        });
    let values = (values, select(vec![0_i64, 10_000, 100_000]));
    let of = |(fetched, interval): &(Fetched, i64)| fetching(&[("s0", *fetched)], *interval);
    let row_by_row = reading(row::ROW_BY_ROW, values.clone(), of, |(fetched, _)| {
        fetched.says("s0").filter(|_| fetched.is_one_by_one())
    });
    let small_arrays = reading(row::SMALL_ARRAYS, values, of, |(fetched, interval)| {
        let is_worth_it = fetched.saved() > 0 && fetched.saved() * 100 >= *interval;
        fetched.says("s0").filter(|_| !fetched.is_one_by_one() && is_worth_it)
    });
    [row_by_row, small_arrays]
}

/// Rows that come one by one are said whatever small arrays of another statement would save too little.
fn arrays_of_two() -> Reading {
    let arrays = |trip| Fetched { fetches: 200, rows: 2000, executions: 1, trip };
    let one_by_one = |trip| Fetched { fetches: 100, rows: 100, executions: 1, trip };
    let of = move |(of_arrays, of_one): &(i64, i64)| {
        fetching(&[("s0", arrays(*of_arrays)), ("s1", one_by_one(*of_one))], 100_000)
    };
    reading(row::ROW_BY_ROW, (0..20_i64, 0..40_i64), of, move |(of_arrays, of_one)| {
        let [arrays, one_by_one] = [arrays(*of_arrays), one_by_one(*of_one)];
        let is_less = arrays.saved() >= 1000 && arrays.saved() > one_by_one.saved();
        one_by_one.says("s1").filter(|_| !is_less)
    })
}

fn added_up() -> Reading {
    let of = |count: &usize| {
        let mut made = profile(10, &[]);
        executed(&mut made, *count, 3, |_| "select 1".into());
        found(&made)
    };
    reading(row::STATEMENTS_ADDED_UP, 1997..2005_usize, of, |count| {
        let others = count.checked_sub(2000).filter(|others| *others > 0)?;
        let are = if others == 1 { "is" } else { "are" };
        Some(says![format!("{others} of {} statements {are} added up in one row", grouped(*count as u64))])
    })
}

/// Statements that were executed once, their texts without literals, and cursors that are not declared.
fn literals(statements: usize, texts: usize, undeclared: usize) -> Profile {
    let mut made = profile(10, &[]);
    executed(&mut made, statements, 1, |number| format!("select c{} from t where id = {number}", number % texts));
    for number in 0..undeclared {
        let text = format!("(cursor #{number}, not declared in the trace)");
        let known = Statement { text, kind: StatementKind::UnknownCursor, ..query(&format!("undeclared-{number}")) };
        add(&mut made, known, &[(CallKind::Exec, calls(1, 0, 0, 0))]);
    }
    made
}

fn folded() -> [Reading; 2] {
    let of = |(statements, texts, undeclared): &(usize, usize, usize)| {
        let mut made = ingested(literals(*statements, *texts, *undeclared));
        made.fold_literals_of_once();
        said(made)
    };
    let values = (15..30_usize, 5..16_usize, select(vec![0_usize, 150]));
    let by_itself = reading(row::FOLDED_BY_ITSELF, values, of, |(statements, texts, _)| {
        let said = format!("{statements} of {statements} statements were executed once and most differ");
        (*statements >= 20 && texts * 2 <= *statements).then(|| says![said])
    });
    let of = |(statements, texts, is_asked): &(usize, usize, bool)| {
        let mut made = ingested(literals(*statements, *texts, 0));
        if *is_asked {
            made.fold_literals();
        }
        said(made)
    };
    let values = (1..5_usize, 1..5_usize, any::<bool>());
    let inclusive = reading(row::FOLDED_INCLUSIVE, values, of, |(statements, texts, is_asked)| {
        (*is_asked && statements > texts).then(Vec::new)
    });
    [by_itself, inclusive]
}
