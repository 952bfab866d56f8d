//! Which of many sets are worth further rounds: what the first counted round says of each.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use measure::Finding;
use measure::quantity::counted;
use measure::schema::calibrate::findings as row;

use super::comparison::Comparison;
use super::judgement::Judged;
use super::sets::LEFT;

/// A set by which a query takes this many times as long in one round is not looked at again. Above what is harm: one
/// round is noisy.
const HARM: f64 = 1.5;

/// Leaves the tried sets by which queries are faster in one round, at most three, and all others. A set that leads to
/// the same plans as one before it is no other one.
pub(super) fn screen(comparison: &mut Comparison) -> Option<Finding> {
    let tried: Vec<usize> = (1..comparison.sets.len()).filter(|set| comparison.sets[*set].is_tried()).collect();
    if tried.is_empty() {
        return None;
    }
    comparison.judge();
    let mut seen = BTreeSet::new();
    let mut is_new = |set: &usize| seen.insert(comparison.plans(*set));
    let others: Vec<usize> = (0..comparison.sets.len()).filter(|set| !comparison.sets[*set].is_tried()).collect();
    others.iter().for_each(|set| {
        is_new(set);
    });
    let mut left: Vec<usize> = tried.iter().copied().filter(|set| is_new(set)).collect();
    let others_plans = left.len();
    left.retain(|set| is_promising(&comparison.judged[*set]));
    left.sort_by_key(|set| Reverse(thousandths(comparison.judged[*set].gain())));
    left.truncate(LEFT.len());
    left.sort_unstable();
    let message = told(tried.len(), others_plans, left.len());
    comparison.keep_sets(&[&others[..], &left].concat());
    for (set, name) in comparison.sets[others.len()..].iter_mut().zip(LEFT) {
        set.name = name;
    }
    Some(row::TRIED.of(message))
}

fn is_promising(judged: &Judged) -> bool {
    judged.gain() > 0.0 && judged.worst <= HARM && judged.then <= judged.now
}

/// Gains in whole numbers, so that sets as good as each other keep their order.
fn thousandths(gain: f64) -> i64 {
    (gain * 1e3).round() as i64
}

fn told(tried: usize, other_plans: usize, left: usize) -> String {
    let left = match left {
        0 => "none made them faster without making one much slower, and none was looked at again".into(),
        left => format!(
            "{} made them faster in one round and {} looked at again",
            left,
            if left == 1 { "was" } else { "were" }
        ),
    };
    format!(
        "{} between the server's own constants and cheap blocks {} tried on your queries: {} led to plans of {} own, \
         {left}.",
        counted(tried as u64, "set", "sets"),
        if tried == 1 { "was" } else { "were" },
        other_plans,
        if other_plans == 1 { "its" } else { "their" },
    )
}
