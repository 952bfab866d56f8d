//! The findings of a profile: first what dominates, which statements and what to do, then what spoils or explains a
//! number.

mod advice;
pub(crate) mod arrays;
mod caveat;
mod commits;
mod cpu;
mod files;
mod gaps;
mod naming;
mod parses;
mod round_trips;
mod worth;

pub(crate) use files::findings as of_files;
pub use files::mixed_archives;

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::FindingSpec;
use measure::schema::profile::findings as row;
use measure::sorting;
use measure::wait_class::Class;

use crate::document::{Order, STATEMENTS_MAX, ranked};
use crate::event::Ticks;
use crate::findings::advice::practice;
use crate::findings::commits::LOG_SYNC;
use crate::findings::naming::{name, nanos};
use crate::findings::worth::Of;
use crate::input::last_of;
use crate::observe::hot_spots::HotSpots;
use crate::observe::readings::{logical_io, statement_works};
use crate::tables::Profile;
use crate::tables::class_sums::{ClassSums, class_sums, work};

/// Share of the served time from which on a finding gives a class's practices: less cannot gain much.
const CLASS_MATTERS: f64 = 0.10;

/// Share of the served time from which on a saving counts where practices are put in order, and from which on the
/// statements with most of something are named.
const SHARE_MIN: f64 = 0.01;

/// Share of a total that few statements should explain.
const MOST: f64 = 0.80;

/// Physical reads under which their spread over statements says nothing.
const READS_MIN: i64 = 100;

/// Usual cost of a logical I/O in ns, from the published measurements: 1 to 10 µs.
const LIO_USUAL_NANOS: (f64, f64) = (1e3, 10e3);

/// Logical reads under which their cost says nothing.
const GETS_MIN: i64 = 1000;

/// Everything that the tables of a profile say in sentences. `files` names the files as the profile's problems count
/// them.
pub fn findings(profile: &Profile, hot: &HotSpots, order: Order, files: &[String]) -> Vec<Finding> {
    let classes = class_sums(&profile.whole, &profile.context);
    let served: Vec<(Class, &ClassSums)> =
        classes.iter().filter(|(class, _)| !class.is_idle()).map(|(class, sums)| (*class, sums)).collect();
    let total = served.iter().map(|(_, sums)| sums.total).sum::<Ticks>();
    let mut findings = Vec::new();
    let knows_cpu = work(&profile.whole).cpu.is_some();
    findings.extend(largest_classes(&served, total, |class| title(profile, class)));
    findings.extend(few_statements(profile, (order, order), total, &row::ANSWER_STATEMENTS));
    if order != Order::PhysicalReads && work(&profile.whole).physical_reads >= READS_MIN {
        findings.extend(few_statements(profile, (Order::PhysicalReads, order), total, &row::ANSWER_PHYSICAL_READS));
    }
    findings.extend(logical_read(profile, &served));
    let mut known = served.clone();
    // Without known CPU these two are no class of their own but hold the others.
    known.retain(|(class, _)| knows_cpu || !is_rest(*class));
    findings.extend(transactions(profile, total));
    findings.extend(practices(profile, hot, &known, (total, is_shared_server(files))));
    findings.extend(caveat::findings(profile, files));
    findings.extend(added_up(profile));
    findings
}

/// Whether a time is worth a word. Where calls and waits overlap so much that nothing is left of the served time, no
/// part of it is.
fn matters(part: Ticks, served: Ticks) -> bool {
    let are_times = part > Ticks::ZERO && served > Ticks::ZERO;
    are_times && part.0 as f64 / served.0 as f64 >= CLASS_MATTERS
}

/// Whether this is what no class has.
fn is_rest(class: Class) -> bool {
    matches!(class, Class::UnaccountedWithin | Class::UnaccountedBetween)
}

/// The name of a class in a sentence.
fn title(profile: &Profile, class: Class) -> &'static str {
    match class {
        Class::UnaccountedBetween if profile.sampled.is_some() => "unaccounted for",
        class => class.title(caveat::is_traced(profile)),
    }
}

/// The largest class and, where it matters, the next one.
fn largest_classes(
    served: &[(Class, &ClassSums)],
    total: Ticks,
    title: impl Fn(Class) -> &'static str,
) -> Option<Finding> {
    let mut ranked: Vec<&(Class, &ClassSums)> = served.iter().collect();
    sorting::by_key(&mut ranked, |(_, sums)| std::cmp::Reverse(sums.total));
    let share = |sums: &ClassSums| naming::percent(sums.total.0 as f64, total.0 as f64);
    let (class, sums) = ranked.first().filter(|(_, sums)| matters(sums.total, total))?;
    // What is unaccounted for is what no class has.
    let what = if is_rest(*class) { "part" } else { "class" };
    let (name, share_of_first, all) = (title(*class), share(sums), format_nanos(nanos(total)));
    let mut text = format!("Largest {what}: {name}, {share_of_first} % of the response time of {all}");
    if let Some((next, sums)) = ranked.get(1).filter(|(_, sums)| matters(sums.total, total)) {
        text += &format!("; then {}, {} %", title(*next), share(sums));
    }
    Some(row::ANSWER_CLASS.of(text + "."))
}

/// How few statements make most of a total by `order`, of those that have a part of it or stand in the page's table,
/// which is by `page`: a statement with nothing of either is in no table.
fn few_statements(
    profile: &Profile,
    (order, page): (Order, Order),
    served: Ticks,
    finding: &FindingSpec,
) -> Option<Finding> {
    let ranked = ranked(profile, order);
    let values: Vec<i64> = ranked.iter().map(|statement| order.value(statement).max(0)).collect();
    let total: i64 = values.iter().fold(0, |sum: i64, value| sum.saturating_add(*value));
    let of_all = ranked.iter().filter(|one| order.value(one) > 0 || page.value(one) > 0).count();
    let of = if order == Order::ResponseTime { served.0 } else { total };
    if total <= 0 || of <= 0 || ranked.len() < 2 {
        return None;
    }
    let mut sum = 0_i64;
    let enough = |value: &i64| {
        sum = sum.saturating_add(*value);
        sum as f64 / total as f64 >= MOST
    };
    let few = values.iter().position(enough)? + 1;
    let time: i64 = ranked[..few].iter().map(|one| Order::ResponseTime.value(one)).sum();
    if served > Ticks::ZERO && (time as f64) < SHARE_MIN * served.0 as f64 {
        return None;
    }
    let verb = if few == 1 { "accounts for" } else { "account for" };
    let what = match order {
        Order::ResponseTime => "response time",
        Order::PhysicalReads => "physical reads",
        Order::LogicalReads => "logical reads",
        Order::Cpu => "CPU time",
    };
    let shown = match of_all {
        1 => "1 statement".to_string(),
        _ => format!("{} of {} statements", grouped(few as u64), grouped(of_all as u64)),
    };
    let mut text = format!("{shown} {verb} {} % of the {what}", naming::percent(sum as f64, of as f64));
    if few == 1 {
        text += &format!(": {}", name(profile, ranked[0]));
    }
    Some(finding.of(naming::ended(text)))
}

/// A word about the statements that have no row of their own.
fn added_up(profile: &Profile) -> Option<Finding> {
    let others = profile.statements.len().checked_sub(STATEMENTS_MAX).filter(|others| *others > 0)?;
    let mut message = format!(
        "{} of {} statements {} added up in one row, (others): the first {} have their own.",
        grouped(others as u64),
        grouped(profile.statements.len() as u64),
        if others == 1 { "is" } else { "are" },
        grouped(STATEMENTS_MAX as u64)
    );
    // In samples texts that differ in their literals alone are one already, and the option is refused.
    if profile.sampled.is_none() {
        message += " Where texts differ only in their literals, --fold-literals makes them few.";
    }
    Some(row::STATEMENTS_ADDED_UP.of(message))
}

/// What a logical read costs, where CPU matters.
fn logical_read(profile: &Profile, served: &[(Class, &ClassSums)]) -> Option<Finding> {
    // The same cost that the table of statements has in its first line.
    let of_gets = logical_io(&statement_works(profile))?;
    let cpu = served.iter().find(|(class, _)| *class == Class::Cpu).map(|(_, sums)| sums.total)?;
    let total: Ticks = served.iter().map(|(_, sums)| sums.total).sum();
    // CPU that is less than a step of its clock has no cost a get.
    if of_gets.gets < GETS_MIN || of_gets.cpu <= Ticks::ZERO || !matters(cpu, total) {
        return None;
    }
    let cost = 1e3 * of_gets.micros_per_get();
    let shown = format_nanos(cost);
    if let Some(held) = profile.sampled.as_ref().and_then(|sampled| sampled.held_by_cpu()) {
        let message = format!("{shown} of CPU per logical I/O of queries at most: that CPU holds {held}.");
        return Some(row::ANSWER_LOGICAL_READ.of(message));
    }
    let meaning = match cost {
        cost if cost > LIO_USUAL_NANOS.1 => "above the usual 1 to 10 µs: not all of the CPU is in gets",
        cost if cost < LIO_USUAL_NANOS.0 => "below the usual 1 to 10 µs: many gets that each do little",
        _ => "within the usual 1 to 10 µs: fewer gets reduce the CPU time",
    };
    Some(row::ANSWER_LOGICAL_READ.of(format!("{shown} of CPU per logical I/O of queries is {meaning}.")))
}

/// What ended in commits and rollbacks, and what the log took for each.
fn transactions(profile: &Profile, served: Ticks) -> Option<Finding> {
    let ends = profile.whole.transactions;
    let all = ends.commits.saturating_add(ends.rollbacks).saturating_add(ends.read_only);
    if all == 0 {
        return None;
    }
    let mut text = format!(
        "{}, {}, {} without a change",
        counted(ends.commits, "commit", "commits"),
        counted(ends.rollbacks, "rollback", "rollbacks"),
        counted(ends.read_only, "end of a transaction", "ends of transactions")
    );
    if let Some(seconds) = elapsed_seconds(profile).filter(|_| ends.commits > 0) {
        text += &format!("; {} commits a second", three_digits(ends.commits as f64 / seconds));
    }
    let named = profile.whole.events.iter().filter(|(event, _)| profile.context.event_name(**event) == LOG_SYNC);
    let (waits, total) =
        named.fold((0, Ticks::ZERO), |(waits, total), (_, sums)| (waits + sums.count, total + sums.total));
    if waits > 0 {
        text += &format!("; {} of {LOG_SYNC} {} each", grouped(waits), format_nanos(nanos(total) / waits as f64));
    }
    let finding = if matters(total, served) { row::ANSWER_TRANSACTIONS } else { row::TRANSACTIONS };
    Some(finding.of(text + "."))
}

/// How long all of it took; `None` where that is not known. The intervals of sessions that ran side by side add up to
/// more, and the clock shows more where there is time between the files.
fn elapsed_seconds(profile: &Profile) -> Option<f64> {
    let is_time = |micros: &f64| *micros > 0.0;
    let by_clock = profile.first_clock.zip(profile.last_clock).map(|(first, last)| last.saturating_sub(first) as f64);
    let by_clock = by_clock.filter(is_time);
    let recorded = (profile.whole.interval - profile.whole.unrecorded).micros();
    let by_interval = Some(recorded).filter(|_| by_clock.is_some() || profile.session_count() <= 1).filter(is_time);
    by_clock.into_iter().chain(by_interval).reduce(f64::min).map(|micros| micros / 1e6)
}

/// The advice for the classes that matter: the largest saving first, then the largest class.
fn practices(
    profile: &Profile,
    hot: &HotSpots,
    served: &[(Class, &ClassSums)],
    (total, is_shared_server): (Ticks, bool),
) -> Vec<Finding> {
    let is_large =
        |(class, sums): &(Class, &ClassSums)| matters(sums.total, total) && !gaps::is_explained(profile, *class);
    let mut large: Vec<(Class, &ClassSums)> = served.iter().copied().filter(is_large).collect();
    sorting::by_key(&mut large, |(_, sums)| std::cmp::Reverse(sums.total));
    let small_commits = commits::small(profile).filter(|commits| commits.micros >= SHARE_MIN * total.micros());
    // Where waits for the log are small, commits are CPU.
    let of_commits = [Class::Commit, Class::Cpu].into_iter().find(|class| large.iter().any(|(one, _)| one == class));
    let mut practices: Vec<(f64, Finding)> = large
        .into_iter()
        .map(|(class, sums)| {
            let commits = small_commits.as_ref().filter(|_| Some(class) == of_commits);
            let (worth, finding) = practice(&Of { profile, hot, class, sums, commits, is_shared_server });
            (if worth >= SHARE_MIN * total.micros() { worth } else { 0.0 }, finding)
        })
        .collect();
    sorting::by(&mut practices, |(one, _), (other, _)| other.total_cmp(one));
    practices.into_iter().map(|(_, finding)| finding).collect()
}

/// Whether a file is of a shared server, by the name that the database gives it: `shop_s000_77.trc`. The number of the
/// process comes next: of an instance that is called like one, `s100_ora_77.trc` is of a server of its own.
fn is_shared_server(files: &[String]) -> bool {
    let is_server = |part: &str| {
        part.strip_prefix(['s', 'S'])
            .is_some_and(|number| number.len() == 3 && number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    files.iter().any(|name| {
        let parts: Vec<&str> = last_of(name).split('_').collect();
        parts.windows(2).any(|pair| is_server(pair[0]) && pair[1].starts_with(|first: char| first.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests;
