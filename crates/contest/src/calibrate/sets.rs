//! What runs of `readpath calibrate` advise: the set that is advised, and the others that it compared.

use measure::schema::calibrate::SET_CONSTANTS;
use measure::schema::calibrate::parameters::{ADVICE, CONSTANTS, PART, QUERY, STATE};
use measure::{Case, Run};

/// Constants with their values; empty for the server's own.
pub(crate) type Set = Vec<(String, f64)>;

/// What a run advises: constants, and the queries that are exceptions from them.
pub(crate) type Advised = (Set, Vec<String>);

/// Two runs agree where each constant is within this many times of the other's.
const AGREE: f64 = 1.3;

/// The contenders.
pub(crate) const OWN: &str = "the server's own";
pub(crate) const USUAL: &str = "random_page_cost 1.1";
pub(crate) const MEASURED: &str = "all measured";
pub(crate) const ADVISED: &str = "readpath";
pub(crate) const ALONE: &str = "readpath without queries";
pub(crate) const BEFORE: &str = "readpath before";

/// The set of a grid that does best once all plans are timed: how far constants reach here.
pub(crate) const HINDSIGHT: &str = "the best set in hindsight";

/// The grid, in parts of PostgreSQL's own constants: blocks, a block at random in blocks in sequence, operators.
const PARTS: [f64; 9] = [4.0, 2.0, 1.0, 0.7, 0.5, 0.25, 0.125, 0.0625, 0.03125];
const RATIOS: [f64; 4] = [4.0, 3.0, 2.0, 1.1];
const OPERATORS: [f64; 4] = [1.0, 0.6, 0.4, 0.2];

/// What stands for the fastest plan of a query that is known.
pub(crate) const FASTEST: &str = "the fastest plan";

/// The set of a run for queries in a state by its name, which is empty where the run has none.
pub(crate) fn named(run: &Run, state: &str, name: &str) -> Set {
    let is_it = |case: &&Case| is_of(case, "set", state) && CONSTANTS.in_case(case).as_deref() == Some(name);
    run.cases.iter().find(is_it).map(values).unwrap_or_default()
}

/// The set that a run advises for queries in a state: empty where it says to keep the server's own, and where it is
/// undecided.
pub(crate) fn advised(run: &Run, state: &str) -> Set {
    advised_case(&run.cases, state).map(values).unwrap_or_default()
}

fn advised_case<'a>(cases: &'a [Case], state: &str) -> Option<&'a Case> {
    cases.iter().find(|case| is_of(case, "set", state) && ADVICE.in_case(case).as_deref() == Some("change"))
}

/// The set that a run without queries of the user's advises. The data of a contest are cached by the system, and
/// the server has a quarter of them: the set for that state, or for blocks in the buffers where the run has no other.
pub(crate) fn advised_alone(run: &Run) -> Set {
    let has_advice = |case: &Case, state: &str| is_of(case, "set", state) && ADVICE.in_case(case).is_some();
    let is_judged = |state: &&str| run.cases.iter().any(|case| has_advice(case, state));
    ["system", "cached"].into_iter().find(is_judged).map(|state| advised(run, state)).unwrap_or_default()
}

/// The largest value divided by the smallest, of each constant that all these sets have; empty for fewer than two sets.
pub(crate) fn spread(sets: &[Set]) -> Vec<(String, f64)> {
    if sets.len() < 2 {
        return Vec::new();
    }
    let of = |name: &str| -> Option<f64> {
        let values = sets.iter().map(|set| Some(set.iter().find(|(other, _)| other == name)?.1));
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        let (least, most) =
            values.iter().fold((f64::MAX, 0.0_f64), |(least, most), value| (least.min(*value), most.max(*value)));
        Some(most / least)
    };
    SET_CONSTANTS.iter().filter_map(|name| Some((name.to_string(), of(name)?))).collect()
}

/// The queries that keep the server's own constants where the set is taken that a run advises for a state.
pub(crate) fn exceptions(cases: &[Case], state: &str) -> Vec<String> {
    let Some(name) = advised_case(cases, state).and_then(|set| CONSTANTS.in_case(set)) else {
        return Vec::new();
    };
    let is_exception = |case: &&Case| {
        is_of(case, "query", state)
            && CONSTANTS.in_case(case).as_deref() == Some(&*name)
            && ADVICE.in_case(case).as_deref() == Some("keep")
    };
    cases.iter().filter(is_exception).filter_map(|case| Some(QUERY.in_case(case)?.to_string())).collect()
}

/// The set that an earlier version recommends.
pub(crate) fn recommended_before(run: &Run, state: &str) -> Set {
    let is_it =
        |case: &&Case| is_of(case, "verification", state) && CONSTANTS.in_case(case).as_deref() == Some("recommended");
    run.cases.iter().find(is_it).map(values).unwrap_or_default()
}

fn is_of(case: &Case, part: &str, state: &str) -> bool {
    PART.in_case(case).as_deref() == Some(part) && STATE.in_case(case).as_deref() == Some(state)
}

fn values(case: &Case) -> Set {
    SET_CONSTANTS.iter().filter_map(|name| Some((name.to_string(), case.metric(name)?.median()))).collect()
}

/// The sets among which is the best in hindsight; the server's own come first.
pub(crate) fn grid() -> Vec<Set> {
    let mut all = Vec::new();
    for part in PARTS {
        for times in RATIOS {
            for operators in OPERATORS {
                let values: [f64; SET_CONSTANTS.len()] = [part, part * times, 0.01, 0.005, 0.0025 * operators];
                all.push(SET_CONSTANTS.iter().map(|name| name.to_string()).zip(values).collect());
            }
        }
    }
    all
}

/// Whether two runs advise the same.
pub(crate) fn agree(one: &Set, other: &Set) -> bool {
    let is_near = |name: &String, value: f64| {
        let found = other.iter().find(|(other, _)| other == name);
        found.is_some_and(|(_, other)| (value / other).max(other / value) <= AGREE)
    };
    one.len() == other.len() && one.iter().all(|(name, value)| is_near(name, *value))
}

/// The statement that sets these constants and resets all others.
pub(crate) fn statement(set: &Set) -> String {
    let value = |name: &&str| match set.iter().find(|(other, _)| other == name) {
        Some((_, value)) => format!("SET {name} = {value:.8}; "),
        None => format!("RESET {name}; "),
    };
    SET_CONSTANTS.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate::SETTING;

    use super::*;

    #[test]
    fn exceptions_are_those_from_the_set_that_is_advised() {
        let case = |part: &str, name: &str, more: &[(&str, &str)]| {
            let mut case = Case::default();
            case.parameters.extend([PART.of(part), STATE.of("as-found"), CONSTANTS.of(name)]);
            case.parameters.extend(more.iter().map(|(name, value)| (name.to_string(), (*value).into())));
            case
        };
        let cases = vec![
            case("set", "tried-1", &[("advice", "change")]),
            case("set", "tried-2", &[]),
            case("query", "tried-1", &[("query", "late"), ("advice", "keep")]),
            case("query", "tried-1", &[("query", "early")]),
            case("query", "tried-2", &[("query", "other"), ("advice", "keep")]),
        ];
        assert_eq!(exceptions(&cases, "as-found"), ["late"]);
        assert!(exceptions(&cases, "cached").is_empty());
    }

    #[test]
    fn the_set_for_the_systems_cache_stands_before_that_for_the_buffers() {
        let set = |state: &str, advice: Option<&str>, value: f64| {
            let mut case = Case::default();
            case.parameters.extend([PART.of("set"), STATE.of(state), CONSTANTS.of("random-1.1")]);
            case.parameters.extend(advice.map(|advice| ADVICE.of(advice)));
            case.metrics.push(SETTING.of("random_page_cost").single("tried", value));
            case
        };
        let run = |cases: Vec<Case>| Run { cases, ..Run::default() };
        let both = run(vec![set("cached", Some("change"), 1.1), set("system", Some("change"), 2.0)]);
        assert_eq!(advised_alone(&both), [("random_page_cost".to_string(), 2.0)]);
        let kept = run(vec![set("cached", Some("change"), 1.1), set("system", Some("keep"), 2.0)]);
        assert!(advised_alone(&kept).is_empty());
        let unjudged = run(vec![set("cached", Some("change"), 1.1), set("system", None, 2.0)]);
        assert_eq!(advised_alone(&unjudged), [("random_page_cost".to_string(), 1.1)]);
    }

    #[test]
    fn a_constant_that_one_run_did_not_measure_has_no_spread() {
        let set = |values: &[f64]| -> Set {
            SET_CONSTANTS.iter().map(|name| name.to_string()).zip(values.to_vec()).collect()
        };
        let spread = spread(&[set(&[1.0, 3.0]), set(&[2.0, 2.0]), set(&[0.5])]);
        assert_eq!(spread, [("seq_page_cost".to_string(), 4.0)]);
        assert!(super::spread(&[set(&[1.0])]).is_empty());
    }

    #[test]
    fn runs_agree_where_each_constant_is_near_and_none_is_missing() {
        let set = |values: [f64; 2]| -> Set { SET_CONSTANTS.iter().map(|name| name.to_string()).zip(values).collect() };
        assert!(agree(&set([1.0, 2.0]), &set([1.25, 1.6])));
        assert!(!agree(&set([1.0, 2.0]), &set([1.4, 2.0])));
        assert!(!agree(&set([1.0, 2.0]), &Set::new()) && agree(&Set::new(), &Set::new()));
    }
}
