//! A plan of a query with the times of its runs, by the turns that they ran in. It knows no other plan: what its times
//! are held against is the query's.

use measure::statistics::median;
use subjects::postgres::calibration::Plan;

use super::places::distinct;

/// A plan of a query, with the sets that lead to it.
#[derive(Clone, Debug, Default)]
pub(in crate::calibrate) struct Variant {
    pub(in crate::calibrate) plan: Plan,
    /// Places in the list of sets, where 0 is the server's own.
    pub(in crate::calibrate) sets: Vec<usize>,
    /// Milliseconds.
    pub(in crate::calibrate) millis: Vec<f64>,
    /// The turn of each run.
    pub(super) turns: Vec<usize>,
    /// Whether a run was ended for taking too long, after enough that were not: the machine may have been held up.
    pub(super) is_held_up: bool,
    /// Whether a run ended with an error: the server's memory or disk may have been full for a moment.
    pub(super) has_failed: bool,
    /// Whether it was ended for taking too long, or by an error. Its last time then stands for those of later rounds.
    pub(super) is_cut: bool,
    /// The error that ended it, where it did not take too long.
    pub(super) failure: Option<String>,
    /// The turns in which a run of it was ended at its limit.
    pub(super) ended: Vec<usize>,
}

impl Variant {
    /// A plan that a set leads to, before it is run.
    pub(super) fn new(plan: Plan, set: usize) -> Variant {
        Variant { plan, sets: vec![set], ..Variant::default() }
    }

    /// Adds a run that took these milliseconds.
    pub(super) fn took(&mut self, millis: f64, turn: usize) {
        self.millis.push(millis);
        self.turns.push(turn);
    }

    /// Adds a run that was ended at a limit of these milliseconds.
    pub(super) fn reached(&mut self, millis: f64, turn: usize) {
        self.took(millis, turn);
        self.ended.push(turn);
    }

    /// In how many of its turns it was ended at its limit, in words behind the limit; empty where it was in each turn
    /// that it ran in. After the last of these it is not run again.
    pub(in crate::calibrate) fn ended_in(&self) -> String {
        let Some(last) = self.ended.last() else { return String::new() };
        let ran = distinct(self.turns.iter().copied().filter(|turn| turn <= last)).len();
        let ended = distinct(self.ended.iter().copied()).len();
        if ended < ran { format!(" in {ended} of {ran} turns") } else { String::new() }
    }

    /// The milliseconds in a turn: the median of its runs.
    pub(super) fn of_turn(&self, turn: usize) -> Option<f64> {
        let runs = self.millis.iter().zip(&self.turns).filter(|(_, one)| **one == turn);
        median(&runs.map(|(millis, _)| *millis).collect::<Vec<_>>())
    }
}

pub(super) fn is_same(one: &Plan, other: &Plan) -> bool {
    one.is_compiled == other.is_compiled && one.top.outline() == other.top.outline()
}
