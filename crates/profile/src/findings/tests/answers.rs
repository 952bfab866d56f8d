//! What dominates: classes, statements, the cost of a get, ends of transactions.

use measure::Parameters;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::profile::findings as row;
use sides::proptest::array::uniform3;
use sides::proptest::collection::vec;
use sides::proptest::option;
use sides::proptest::sample::select;
use sides::{Reading, reading, says};

use super::made::{add, calls, found, found_in, micros, profile, query, with_unaccounted};
use crate::document::Order;
use crate::event::{CallKind, Cost};
use crate::tables::sampled::Sampled;
use crate::tables::{CallSums, Profile, SessionProfile, Transactions};

pub(super) fn readings() -> Vec<Reading> {
    let [answers, elsewhere] = transactions();
    vec![largest_class(), untraced_class(), few_statements(), physical_reads(), logical_read(), answers, elsewhere]
}

fn percent(part: i64, whole: i64) -> String {
    format!("{:.1}", 100.0 * part as f64 / whole as f64)
}

/// µs of CPU, of reads, of a lock, and unaccounted for within calls.
fn largest_class() -> Reading {
    let values = (0..100_i64, 0..100_i64, 0..100_i64, -300..50_i64);
    let of = |(cpu, reads, lock, within): &(i64, i64, i64, i64)| {
        let waits = [("db file sequential read", *reads), ("enq: TX - row lock contention", *lock)];
        found(&with_unaccounted(profile(*cpu, &waits), *within))
    };
    reading(row::ANSWER_CLASS, values, of, |(cpu, reads, lock, within)| {
        let served = cpu + reads + lock + within;
        let titles = ["CPU", "single-block reads", "application locks", "unaccounted for within calls"];
        let mut parts: Vec<_> = [*cpu, *reads, *lock, *within].into_iter().zip(titles).collect();
        parts.sort_by_key(|(part, _)| std::cmp::Reverse(*part));
        let mut large = parts.iter().filter(|(part, _)| *part > 0 && part * 10 >= served);
        let (first, class) = large.next().filter(|_| served > 0)?;
        let whole = format_nanos(1e3 * served as f64);
        let what = if class.starts_with("unaccounted") { "part" } else { "class" };
        let first = format!("Largest {what}: {class}, {} % of the response time of {whole}", percent(*first, served));
        Some(match large.next() {
            Some((next, class)) => says![format!("{first}; then {class}, {} %.", percent(*next, served))],
            None => says![first + "."],
        })
    })
}

/// What holds the waits that were not traced is called so.
fn untraced_class() -> Reading {
    let of = |within: &i64| {
        let mut untraced = with_unaccounted(profile(10, &[]), *within);
        untraced.whole.waits_are_traced = false;
        found(&untraced)
    };
    reading(row::ANSWER_CLASS, -20..50_i64, of, |within| match within {
        ..=-10 => None,
        11.. => Some(says!["Largest part: not traced, within calls, "]),
        _ => Some(says!["Largest class: CPU, "]),
    })
}

/// A statement a number, of as many µs of CPU, reads and gets.
fn statements(each: &[i64]) -> Profile {
    let mut made = profile(each.iter().sum(), &[]);
    for (place, number) in each.iter().enumerate() {
        let mut done = calls(1, *number, *number, 0);
        done.own.physical_reads = *number;
        add(&mut made, query(&format!("s{place}")), &[(CallKind::Exec, done)]);
    }
    let reads = Cost { cpu: Some(micros(0)), physical_reads: each.iter().sum(), ..Cost::default() };
    made.whole.calls.insert((CallKind::Fetch as u16, false), CallSums { calls: 1, own: reads, ..CallSums::default() });
    made
}

/// How few of these make four fifths of all, as a sentence says it of a whole.
fn few(each: &[i64], whole: i64, what: &str) -> Option<Vec<String>> {
    let all: i64 = each.iter().sum();
    let mut ranked: Vec<(usize, i64)> = each.iter().copied().enumerate().collect();
    ranked.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let mut sum = 0;
    let enough = |(_, number): &(usize, i64)| {
        sum += number;
        sum * 5 >= all * 4
    };
    let few = ranked.iter().position(enough)? + 1;
    let verb = if few == 1 { "accounts for" } else { "account for" };
    // Those with nothing are in no table.
    let with_some = each.iter().filter(|number| **number > 0).count();
    let of = if with_some == 1 { "1 statement".into() } else { format!("{few} of {with_some} statements") };
    let share = format!("{of} {verb} {} % of the {what}", percent(sum, whole));
    let name = if few == 1 { format!(": s{} select 1.", ranked[0].0) } else { format!("{what}.") };
    (all > 0 && whole > 0 && each.len() > 1).then(|| says![share, name])
}

const ORDERS: [(Order, &str); 4] = [
    (Order::ResponseTime, "response time"),
    (Order::PhysicalReads, "physical reads"),
    (Order::LogicalReads, "logical reads"),
    (Order::Cpu, "CPU time"),
];

/// By an order, of statements and of time that is no statement's, which may be below zero.
fn few_statements() -> Reading {
    let values = (select(ORDERS.to_vec()), vec(0..50_i64, 0..6), -60..60_i64);
    let of = |((order, _), each, other): &((Order, &str), Vec<i64>, i64)| {
        found_in(&with_unaccounted(statements(each), *other), *order)
    };
    reading(row::ANSWER_STATEMENTS, values, of, |((order, what), each, other)| {
        let all: i64 = each.iter().sum();
        few(each, if *order == Order::ResponseTime { all + other } else { all }, what)
    })
}

fn physical_reads() -> Reading {
    let values = (select(ORDERS.to_vec()), vec(0..60_i64, 0..6));
    let of = |((order, _), each): &((Order, &str), Vec<i64>)| found_in(&statements(each), *order);
    reading(row::ANSWER_PHYSICAL_READS, values, of, |((order, _), each)| {
        let all: i64 = each.iter().sum();
        few(each, all, "physical reads").filter(|_| all >= 100 && *order != Order::PhysicalReads)
    })
}

/// Samples that tell running from waiting for a processor, samples that do not, and a watch over every wait: whether it
/// is exact, and its level.
const SAMPLED: [(bool, &str); 3] = [(false, "memory and /proc"), (false, "memory"), (true, "memory and /proc")];

/// Gets of a query, quarters of a µs of CPU each, how many times the CPU is waited, and of samples which.
fn logical_read() -> Reading {
    let values = (select(vec![996_i64, 1000, 1004]), 0..60_i64, 7..12_i64, option::of(select(SAMPLED.to_vec())));
    let of = |(gets, quarters, waited, sampled): &(i64, i64, i64, Option<(bool, &str)>)| {
        let cpu = gets * quarters / 4;
        let mut made = profile(cpu, &[("db file sequential read", cpu * waited)]);
        add(&mut made, query("s0"), &[(CallKind::Fetch, calls(1, cpu, *gets, 0))]);
        made.sampled = sampled.map(|(is_exact, level)| {
            let subject = Parameters::from_iter([("level".to_string(), level.into())]);
            Box::new(Sampled { is_exact, subject, ..Sampled::default() })
        });
        found(&made)
    };
    reading(row::ANSWER_LOGICAL_READ, values, of, |(gets, quarters, waited, sampled)| {
        let meaning = match (sampled, quarters) {
            (Some((true, _)), _) => "at most: that CPU holds the wait for a processor and the cost of the watch.",
            (Some((false, "memory")), _) => "at most: that CPU holds the wait for a processor.",
            (_, ..4) => "below the usual 1 to 10 µs: many gets that each do little.",
            (_, 4..=40) => "within the usual 1 to 10 µs",
            _ => "above the usual 1 to 10 µs",
        };
        let cost = format!("{} of CPU per logical I/O", format_nanos(250.0 * *quarters as f64));
        // A tenth of the time is CPU where nine times as much is waited.
        (*gets >= 1000 && *quarters > 0 && *waited <= 9).then(|| says![cost, meaning])
    })
}

/// Commits, rollbacks and ends without a change; waits for the log and their time in µs; µs of CPU; how many sessions
/// had them side by side, and in how many µs of the wall clock, if there are stamps.
type Ends = ([u64; 3], u64, i64, i64, (usize, Option<i64>));

fn of_ends((ends, waits, waited, cpu, (sessions, elapsed)): &Ends) -> Vec<measure::Finding> {
    let waited = if *waits > 0 { *waited } else { 0 };
    let mut made = profile(*cpu, &[("log file sync", waited)]);
    made.whole.events.values_mut().for_each(|sums| sums.count = *waits);
    let [commits, rollbacks, read_only] = *ends;
    made.whole.transactions = Transactions { commits, rollbacks, read_only };
    made.sessions = vec![SessionProfile::default(); *sessions];
    (made.first_clock, made.last_clock) = (elapsed.map(|_| 1_000), elapsed.map(|elapsed| 1_000 + elapsed));
    found(&made)
}

fn says_of_ends((ends, waits, waited, cpu, (sessions, elapsed)): &Ends) -> (bool, Vec<String>) {
    let waited = if *waits > 0 { *waited } else { 0 };
    let [commits, rollbacks, read_only] = *ends;
    let mut said = says![format!(
        "{}, {}, {} without a change",
        counted(commits, "commit", "commits"),
        counted(rollbacks, "rollback", "rollbacks"),
        counted(read_only, "end of a transaction", "ends of transactions")
    )];
    // Without stamps, the time of several sessions is not how long they took, and with stamps no more than that.
    let by_clock = elapsed.filter(|elapsed| *elapsed > 0);
    let recorded = Some(cpu + waited).filter(|time| *time > 0 && (by_clock.is_some() || *sessions == 1));
    match by_clock.into_iter().chain(recorded).min().filter(|_| commits > 0) {
        Some(took) => said.push(format!("; {} commits a second", three_digits(commits as f64 / (took as f64 / 1e6)))),
        None if *waits > 0 => said.push(format!("without a change; {} of log", grouped(*waits))),
        None => said.push("without a change.".into()),
    }
    if *waits > 0 {
        let each = format_nanos(1e3 * waited as f64 / *waits as f64);
        said.push(format!("; {} of log file sync {each} each.", grouped(*waits)));
    }
    (waited > 0 && waited * 10 >= cpu + waited, said)
}

fn transactions() -> [Reading; 2] {
    let took = select(vec![(1, None), (1, Some(250)), (3, None), (3, Some(0)), (3, Some(250))]);
    let values = (uniform3(0..2_u64), 0..3_u64, 0..30_i64, 0..300_i64, took);
    let is_any = |ends: &Ends| ends.0.iter().any(|count| *count > 0);
    let answers = reading(row::ANSWER_TRANSACTIONS, values.clone(), of_ends, move |ends| {
        let (matters, said) = says_of_ends(ends);
        (is_any(ends) && matters).then_some(said)
    });
    let elsewhere = reading(row::TRANSACTIONS, values, of_ends, move |ends| {
        let (matters, said) = says_of_ends(ends);
        (is_any(ends) && !matters).then_some(said)
    });
    [answers, elsewhere]
}
