//! What choices cost: which constants make the planner pick faster plans, one by one and together.

use subjects::postgres::calibration::ChosenPlan;

/// A plan within this part of the fastest one's time is a right pick: two that take the same are both right.
const NEAR: f64 = 0.05;

/// A set has to lose less by this part of the fastest total before that counts as a gain: the times vary as much.
const GAIN_MIN: f64 = 0.01;

/// What the planner picks for each query; `None` for another plan.
pub(super) type Picks = Vec<Option<ChosenPlan>>;

/// Times of each query's plans.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choices {
    /// Milliseconds, in the order of [`ChosenPlan::ALL`].
    pub(super) millis: Vec<Vec<f64>>,
}

/// How a set of constants does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    /// Queries for which the plan that is picked is the fastest, or nearly.
    pub(super) right: usize,
    /// Milliseconds of all queries by the plans that are picked.
    pub(super) total: f64,
    /// The same beyond those of the fastest plans.
    pub(super) lost: f64,
}

impl Choices {
    /// Milliseconds of all queries by their fastest plans.
    pub(super) fn fastest(&self) -> f64 {
        self.millis.iter().map(|times| least(times)).sum()
    }

    /// How these picks do. Another plan counts as the slowest.
    pub(super) fn score(&self, picks: &Picks) -> Score {
        let mut score = Score::default();
        for (times, pick) in self.millis.iter().zip(picks) {
            let at = pick.and_then(|pick| ChosenPlan::ALL.into_iter().position(|plan| plan == pick));
            let slowest = times.iter().copied().fold(0.0, f64::max);
            let time = at.and_then(|at| times.get(at).copied()).unwrap_or(slowest);
            score.right += usize::from(time <= least(times) * (1.0 + NEAR));
            score.total += time;
            score.lost += time - least(times);
        }
        score
    }
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0)
}

/// A set of constants, by what of the measured ones is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tried {
    /// `now`, `measured`, `recommended`, `only-random_page_cost`, `without-random_page_cost`.
    pub(super) name: String,
    pub(super) constants: Vec<(&'static str, f64)>,
    pub(super) score: Score,
    pub(super) picks: Picks,
}

/// All sets that were tried, compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compared {
    pub(super) tried: Vec<Tried>,
    /// Milliseconds by the fastest plans.
    pub(super) fastest: f64,
    /// The constants of the set that loses least, where that is less than what is lost now; empty where it is not.
    pub(super) recommended: Vec<(&'static str, f64)>,
    /// Constants that were left out, because with them more is lost than without.
    pub(super) harmful: Vec<&'static str>,
}

impl Compared {
    /// A set by its name.
    pub(super) fn of(&self, name: &str) -> Option<&Tried> {
        self.tried.iter().find(|tried| tried.name == name)
    }
}

/// Asks what the planner picks with a set of constants, each with its value.
type Ask<'a, E> = dyn FnMut(&[(&'static str, f64)]) -> Result<Picks, E> + 'a;

/// Tries constants one by one, together, and each left out; then leaves out those that do harm, the worst first, until
/// none does. `unit` goes with every set that is not empty: without it the others mean nothing.
pub(super) fn compare<E>(
    choices: &Choices,
    unit: (&'static str, f64),
    constants: &[(&'static str, f64)],
    picks: &mut Ask<'_, E>,
) -> Result<Compared, E> {
    let mut attempt = |name: &str, set: &[(&'static str, f64)]| -> Result<Tried, E> {
        let constants: Vec<_> = if set.is_empty() { Vec::new() } else { [&[unit][..], set].concat() };
        let picks = picks(&constants)?;
        Ok(Tried { name: name.into(), score: choices.score(&picks), constants, picks })
    };
    let mut tried = vec![attempt("now", &[])?, attempt("measured", constants)?];
    for constant in constants {
        tried.push(attempt(&format!("only-{}", constant.0), &[*constant])?);
    }
    let mut kept = constants.to_vec();
    let mut best = tried[1].clone();
    let mut harmful = Vec::new();
    let slack = choices.fastest() * GAIN_MIN;
    while kept.len() > 1 {
        let mut candidate: Option<(usize, Tried)> = None;
        for at in 0..kept.len() {
            let mut set = kept.clone();
            let (name, _) = set.remove(at);
            let without = attempt(&format!("without-{name}"), &set)?;
            if kept.len() == constants.len() {
                tried.push(without.clone());
            }
            let is_better = candidate.as_ref().is_none_or(|(_, other)| without.score.lost < other.score.lost);
            if without.score.lost < best.score.lost - slack && is_better {
                candidate = Some((at, without));
            }
        }
        let Some((at, without)) = candidate else { break };
        harmful.push(kept.remove(at).0);
        best = without;
    }
    // One constant alone may do better than every set that was reached so.
    let alone = tried.iter().filter(|one| one.name.starts_with("only-"));
    if let Some(alone) = alone.min_by(|one, other| one.score.lost.total_cmp(&other.score.lost))
        && alone.score.lost < best.score.lost - slack
    {
        let name = alone.constants.last().map(|(name, _)| *name);
        harmful = constants.iter().map(|(name, _)| *name).filter(|other| Some(*other) != name).collect();
        best = alone.clone();
    }
    let is_gain = best.score.lost < tried[0].score.lost - slack;
    let recommended = if is_gain { best.constants.clone() } else { Vec::new() };
    let kept = if is_gain { best } else { tried[0].clone() };
    tried.push(Tried { name: "recommended".into(), ..kept });
    Ok(Compared { tried, fastest: choices.fastest(), recommended, harmful })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Option<ChosenPlan> = Some(ChosenPlan::FullScan);
    const INDEX: Option<ChosenPlan> = Some(ChosenPlan::Index);

    fn choices() -> Choices {
        // The first query is for the index, the second for the full scan, the third is all the same.
        Choices { millis: vec![vec![100.0, 1.0, 5.0], vec![100.0, 300.0, 150.0], vec![100.0, 101.0, 500.0]] }
    }

    #[test]
    fn what_is_lost_is_what_the_fastest_plan_would_have_spared() {
        let score = choices().score(&vec![FULL, FULL, INDEX]);
        assert_eq!(score, Score { right: 2, total: 301.0, lost: 100.0 });
        assert_eq!(choices().fastest(), 201.0);
        // Another plan counts as the slowest.
        assert_eq!(choices().score(&vec![INDEX, FULL, None]).lost, 400.0);
    }

    fn compared(harm: bool, gain: bool) -> Compared {
        let constants = [("random_page_cost", 2.0), ("cpu_tuple_cost", 0.02)];
        let mut picks = |set: &[(&'static str, f64)]| -> Result<Picks, ()> {
            let has = |name: &str| set.iter().any(|(other, _)| *other == name);
            let first = if has("random_page_cost") && gain { INDEX } else { FULL };
            let second = if has("cpu_tuple_cost") && harm { INDEX } else { FULL };
            Ok(vec![first, second, FULL])
        };
        compare(&choices(), ("seq_page_cost", 1.0), &constants, &mut picks).unwrap()
    }

    #[test]
    fn a_constant_that_makes_choices_worse_is_not_recommended() {
        let compared = compared(true, true);
        assert_eq!(compared.harmful, ["cpu_tuple_cost"]);
        assert_eq!(compared.recommended, [("seq_page_cost", 1.0), ("random_page_cost", 2.0)]);
        assert_eq!(compared.of("measured").unwrap().score.lost, 200.0);
        assert_eq!(compared.of("recommended").unwrap().score.lost, 0.0);
        assert_eq!(compared.of("only-cpu_tuple_cost").unwrap().score.lost, 299.0);
    }

    #[test]
    fn constants_that_gain_nothing_are_not_recommended() {
        let compared = compared(false, false);
        assert!(compared.recommended.is_empty() && compared.harmful.is_empty(), "{compared:?}");
        assert_eq!(compared.of("recommended").unwrap().score, compared.of("now").unwrap().score);
    }
}
