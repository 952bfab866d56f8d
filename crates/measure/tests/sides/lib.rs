//! Findings read on both sides of their conditions: a test feeds each row of the schema values that make it stand and
//! values that do not, and reads its sentence.
//!
//! The condition is written a second time in the test, with its limits as numbers, and what the sentence must say
//! follows from the values alone.

mod sentence;

use std::collections::BTreeSet;

use measure::Finding;
use measure::schema::{FindingGroup, FindingSpec};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};

pub use proptest;
pub use sentence::faults;

/// Values on each side that are enough.
const VALUES: usize = 32;

/// Values after which a side without any counts as impossible.
const VALUES_MAX: usize = 8192;

/// One finding: what feeds its condition, and what it has to say.
pub struct Reading {
    row: FindingSpec,
    /// Reads it, and gives the ids under which it stood.
    read: Box<dyn Fn() -> Result<BTreeSet<String>, String>>,
}

/// Reads a finding: `find` is fed with `values`, and `says` gives what its sentence must contain, or `None` where it
/// must not stand.
pub fn reading<S, I>(
    row: FindingSpec,
    values: S,
    find: impl Fn(&S::Value) -> I + 'static,
    says: impl Fn(&S::Value) -> Option<Vec<String>> + 'static,
) -> Reading
where
    S: Strategy + 'static,
    I: IntoIterator<Item = Finding>,
{
    let read = move || {
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
        let (mut standing, mut absent, mut ids) = (0, 0, BTreeSet::new());
        for _ in 0..VALUES_MAX {
            let value = values.new_tree(&mut runner).map_err(|reason| reason.to_string())?.current();
            let found: Vec<Finding> = find(&value).into_iter().collect();
            let said = says(&value);
            judge(&row, &found, said.as_deref()).map_err(|fault| format!("{fault}\n  of {value:?}"))?;
            match said {
                Some(_) => standing += 1,
                None => absent += 1,
            }
            ids.extend(found.iter().filter(|finding| row.made(finding)).map(|finding| finding.id.clone()));
            if standing >= VALUES && absent >= VALUES && ids.len() >= row.stems.len() {
                break;
            }
        }
        match (standing, absent) {
            (0, _) => Err("never stood".into()),
            (_, 0) => Err("always stood: its other side was not tried".into()),
            _ => Ok(ids),
        }
    };
    Reading { row, read: Box::new(read) }
}

/// Checks that exactly the rows of a group are read, each on both sides and under each of its names.
pub fn both_sides(group: &FindingGroup, readings: impl IntoIterator<Item = Reading>) {
    let readings: Vec<Reading> = readings.into_iter().collect();
    let mut faults = Vec::new();
    for reading in &readings {
        if !group.rows.contains(&reading.row) {
            faults.push(format!("{} is no finding of {}", reading.row.id, group.what));
        }
    }
    for row in group.rows {
        let mut ids = BTreeSet::new();
        let mut of_row = readings.iter().filter(|reading| reading.row == *row).peekable();
        if of_row.peek().is_none() {
            faults.push(format!("{} ({}): read on no side", row.id, row.meaning));
            continue;
        }
        for reading in of_row {
            match (reading.read)() {
                Ok(read) => ids.extend(read),
                Err(fault) => faults.push(format!("{}: {fault}", row.id)),
            }
        }
        let unread = row.stems.iter().map(|stem| row.id.replace('*', stem)).filter(|id| !ids.contains(id));
        faults.extend(unread.map(|id| format!("{id} never stood")));
    }
    assert!(faults.is_empty(), "{}:\n{}", group.what, faults.join("\n"));
}

/// What is wrong with a row's findings among those found.
fn judge(row: &FindingSpec, found: &[Finding], said: Option<&[String]>) -> Result<(), String> {
    let of_row: Vec<&Finding> = found.iter().filter(|finding| row.made(finding)).collect();
    let sentences = of_row.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>().join("\n");
    match said {
        None if !of_row.is_empty() => return Err(format!("stood, and must not: {sentences}")),
        Some(_) if of_row.is_empty() => return Err("did not stand".into()),
        _ => {}
    }
    if let Some(missing) = said.into_iter().flatten().find(|part| !sentences.contains(*part)) {
        return Err(format!("does not say \"{missing}\": {sentences}"));
    }
    match of_row.iter().flat_map(|finding| faults(finding)).next() {
        Some(fault) => Err(format!("{fault}: {sentences}")),
        None => Ok(()),
    }
}

/// The parts that a sentence must contain.
#[macro_export]
macro_rules! says {
    ($($part:expr),* $(,)?) => { vec![$($part.to_string()),*] };
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Unit;
    use measure::quantity::three_digits;
    use measure::schema::lio::findings as row;

    const GROUP: FindingGroup = FindingGroup { what: "test", rows: &[row::ANSWER_RATIO] };

    fn sound(ratio: f64) -> Option<Finding> {
        let message = format!("It costs {} times as much.", three_digits(ratio));
        (ratio >= 2.0).then(|| row::ANSWER_RATIO.of(message).with("ratio", ratio, Unit::Ratio))
    }

    /// What is said of findings that are made like this, where they should stand from 2 on.
    fn complaint(find: fn(f64) -> Option<Finding>) -> String {
        let says = |ratio: &f64| (*ratio >= 2.0).then(|| says![three_digits(*ratio)]);
        let read = || both_sides(&GROUP, vec![reading(row::ANSWER_RATIO, 1.0..3.0, move |ratio| find(*ratio), says)]);
        let outcome = std::panic::catch_unwind(read);
        outcome.err().map_or(String::new(), |panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
    }

    #[test]
    fn a_finding_that_stands_on_the_wrong_side_or_says_something_else_is_seen() {
        assert_eq!(complaint(sound), "");
        assert!(complaint(|ratio| sound(ratio.max(2.0))).contains("stood, and must not"));
        assert!(complaint(|ratio| sound(ratio).filter(|_| ratio > 2.5)).contains("did not stand"));
        assert!(complaint(|ratio| sound(ratio).and_then(|_| sound(ratio + 0.5))).contains("does not say"));
        let untold = |ratio: f64| Some(sound(ratio)?.with("other", 77.0, Unit::Ratio));
        assert!(complaint(untold).contains("other = 77 is not in the sentence"));
    }

    #[test]
    fn a_row_that_is_not_read_and_a_side_that_is_not_tried_are_seen() {
        let complaint = |readings: fn() -> Vec<Reading>| {
            let panic = std::panic::catch_unwind(|| both_sides(&GROUP, readings())).unwrap_err();
            panic.downcast_ref::<String>().cloned().unwrap()
        };
        assert!(complaint(Vec::new).contains("read on no side"));
        let of = |least: f64| {
            let says = |ratio: &f64| (*ratio >= 2.0).then(Vec::new);
            vec![reading(row::ANSWER_RATIO, least..least + 1.0, |ratio| sound(*ratio), says)]
        };
        let one_side = std::panic::catch_unwind(|| both_sides(&GROUP, of(2.0))).unwrap_err();
        assert!(one_side.downcast_ref::<String>().unwrap().contains("other side was not tried"));
    }
}
