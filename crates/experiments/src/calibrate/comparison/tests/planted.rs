//! Plans, queries and comparisons that tests make up. They stand apart because the tests of other parts of the
//! experiment take them too.

use subjects::postgres::calibration::Plan;
use subjects::postgres::calibration::queries::Query;

use crate::calibrate::bench::State;
use crate::calibrate::comparison::{Compared, Comparison, EndedBy, Others, Variant};
use crate::calibrate::judgement::RUNS_MIN;
use crate::calibrate::sets::ConstantSet;

impl Variant {
    /// A plan that these sets lead to, and its milliseconds, each of a turn.
    pub(in crate::calibrate) fn of(sets: &[usize], millis: &[f64]) -> Variant {
        let mut variant = Variant { sets: sets.to_vec(), ..Variant::new(Plan::default(), 0) };
        millis.iter().enumerate().for_each(|(turn, millis)| variant.took(*millis, turn));
        variant
    }

    /// The same of a plan that was ended at this limit.
    pub(in crate::calibrate) fn ended(sets: &[usize], limit: f64) -> Variant {
        Variant { is_cut: true, ..Variant::of(sets, &[limit; RUNS_MIN]) }
    }

    /// The same of a plan that ended with an error.
    pub(in crate::calibrate) fn failed(sets: &[usize], stands_for_it: f64) -> Variant {
        Variant { failure: Some("it fails when it is run (no)".into()), ..Variant::ended(sets, stands_for_it) }
    }
}

impl Compared {
    /// A query of this name with its plans.
    pub(in crate::calibrate) fn of(name: &str, variants: Vec<Variant>) -> Compared {
        let query = Query::of_verification(name.into(), "SELECT".into());
        let turn = variants.iter().filter_map(|variant| variant.turns.iter().max()).max().copied().unwrap_or(0);
        let reached = variants.iter().map(|variant| variant.plan.top.outline()).collect();
        let (not_timed, reached_limit) = (None, false);
        Compared { query, variants, turn, reached, not_timed, reached_limit, is_left: false, quickest: None }
    }
}

impl Comparison {
    /// Queries that were timed by these sets on a quiet server, and judged.
    pub(in crate::calibrate) fn timed(state: State, sets: Vec<ConstantSet>, compared: Vec<Compared>) -> Comparison {
        let (refused, judged, exceptions) = (Vec::new(), Vec::new(), Vec::new());
        let (is_timed, others, ended_by) = (true, Others::Quiet, EndedBy::TimeLimit);
        let mut timed = Comparison { state, sets, compared, refused, judged, exceptions, is_timed, others, ended_by };
        timed.judge();
        timed
    }
}
