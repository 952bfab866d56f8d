//! A turn of a query: its plans run one after the other, in the order of the round, and some of them again at once.
//! Which queries have a turn, and when, is decided by the rounds.

use std::mem;
use std::time::Duration;

use subjects::postgres::calibration::Plan;
use subjects::postgres::calibration::queries::Unfinished;

use super::compared::{Compared, SLOW_ROUNDS, limit};
use super::variant::{Variant, is_same};
use crate::calibrate::bench::{Bench, State};
use crate::calibrate::sets::ConstantSet;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// A short query of the user's is repeated in its turn until its runs have taken this long together, but not more often
/// than that: what differs from run to run is as long for it as for a long one.
const TURN: Duration = Duration::from_millis(20);
const TURN_RUNS_MAX: usize = 5;

/// A plan that the round which does not count ends at a limit of at most this is run once more at once. No query may
/// have used its index before, so that its first run reads from the disk, and the next one finds those blocks cached. A
/// longer limit would cost more than the verdict of one plan is worth.
const SETTLING_LIMIT_MAX: Duration = Duration::from_secs(2);

/// Where planning takes over this part of the limit of another plan, it may be what the run reached the limit by: the
/// server counts it, and it is no time of the plan's.
const PLANNING_PART: f64 = 0.1;

/// A round of turns.
#[derive(Clone, Copy)]
pub(super) struct Round {
    pub(super) state: State,
    pub(super) number: usize,
    /// Rounds before it that count.
    pub(super) counted: usize,
    pub(super) counts: bool,
}

impl Round {
    /// Whether a run of one of the user's queries may be repeated in its turn.
    fn repeats(self, is_rehearsal: bool) -> bool {
        self.counts && self.state == State::AsFound && !is_rehearsal
    }

    /// Whether a run began with planning and reached its limit. With empty caches, each plan is made before its run.
    fn may_have_planned(self, run: &Result<Plan, Unfinished>) -> bool {
        self.state == State::AsFound && matches!(run, Err(Unfinished::TooLong(_)))
    }

    /// Whether what ended a run by the server's own constants may be its planning, a wait for a lock, or blocks that
    /// were not cached yet: all other plans would seem faster for that. The next run finds that done.
    fn may_be_shorter(self, run: &Result<Plan, Unfinished>) -> bool {
        self.counts && !self.state.is_cold() && matches!(run, Err(Unfinished::TooLong(_)))
    }

    /// Whether what ended a run may be that its blocks were not cached yet.
    fn may_settle(self, run: &Result<Plan, Unfinished>, limit: Duration) -> bool {
        !self.counts && limit <= SETTLING_LIMIT_MAX && matches!(run, Err(Unfinished::TooLong(_)))
    }
}

/// Runs these plans of a query once, in the order of the round. The first run of one of the user's queries reads what
/// other queries have displaced from the buffers, which is no plan's own time, and is repeated.
pub(super) fn take_turns(
    bench: &mut Bench<'_>,
    (one, plans): (&mut Compared, &[usize]),
    sets: &[ConstantSet],
    round: Round,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    one.turn += 1;
    let mut is_displaced = round.repeats(bench.tables.is_rehearsal());
    for at in ordered(plans, round.number) {
        let limit = limit(bench.time_limit(), one, at);
        if one.variants[at].is_cut {
            if let Some(millis) = one.variants[at].millis.last().copied().filter(|_| round.counts) {
                one.variants[at].took(millis, one.turn);
            }
            continue;
        }
        if round.counted >= SLOW_ROUNDS && one.pair_with(at).has_enough() && one.is_slow(at) {
            continue;
        }
        if round.state.is_cold() {
            bench.cool(journal)?;
        }
        bench.set_constants(&sets[one.variants[at].sets[0]].values)?;
        if round.state.is_cold() {
            // What the server has to know about the tables is read here, so that the statement does not.
            let _ = bench.tables.plan_of(&one.query)?;
        }
        let is_opening = mem::take(&mut is_displaced);
        let mut on_server = OnServer { bench: &mut *bench, one: &mut *one, at, limit, round };
        let run = run_or_repeat(&mut on_server, at, (limit, round, is_opening))?;
        match run {
            Ok(plan) if !is_same(&plan, &one.variants[at].plan) && !bench.tables.is_rehearsal() => {
                let why = "its plan changed between EXPLAIN and the run";
                one.unfinished(at, Unfinished::Refused(why.into()), limit);
            }
            Ok(plan) => one.finished(at, plan, round.counts),
            Err(why) => one.unfinished(at, why, limit),
        }
        if !one.can_be_timed() {
            return Ok(());
        }
    }
    Ok(())
}

/// What runs a plan in its turn: the server, or in tests what stands for it.
trait Runs {
    /// Runs the plan. In a turn that it opens, a run that does not count comes first.
    fn run(&mut self, is_opening: bool) -> Result<Result<Plan, Unfinished>, ExperimentError>;

    /// Whether it may have been its planning that brought a run to its limit.
    fn was_planning(&mut self, run: &Result<Plan, Unfinished>) -> Result<bool, ExperimentError>;
}

/// The plan of a query at this place, on the server.
struct OnServer<'a, 'b> {
    bench: &'a mut Bench<'b>,
    one: &'a mut Compared,
    at: usize,
    limit: Duration,
    round: Round,
}

impl Runs for OnServer<'_, '_> {
    /// A short plan is run several times where it can be; what is given is the plan of the last run.
    fn run(&mut self, is_opening: bool) -> Result<Result<Plan, Unfinished>, ExperimentError> {
        let repeats = self.round.repeats(self.bench.tables.is_rehearsal());
        let most = if repeats { TURN_RUNS_MAX } else { 1 };
        let Compared { query, variants, turn, .. } = &mut *self.one;
        let mut run = || Ok(self.bench.tables.run_query(query, self.limit)?);
        run_plan(&mut variants[self.at], *turn, (most, is_opening), &mut run)
    }

    /// The plan is made here, and the session keeps it: a further run begins with it.
    fn was_planning(&mut self, run: &Result<Plan, Unfinished>) -> Result<bool, ExperimentError> {
        if !self.round.may_have_planned(run) {
            return Ok(false);
        }
        // A run that was ended behind its planning has left its plan, which would take no time here.
        let constants = self.bench.constants.clone();
        self.bench.set_constants(&constants)?;
        let started = self.bench.machine.clock.now();
        let planned = self.bench.tables.plan_of(&self.one.query)?;
        let took = Duration::from_nanos(self.bench.machine.clock.now().since(started).0);
        Ok(planned.is_ok() && is_long_planning(took, self.limit))
    }
}

/// Runs a plan, and at once again where its run may have reached the limit for what is no time of the plan's own.
fn run_or_repeat(
    runs: &mut dyn Runs,
    at: usize,
    (limit, round, is_opening): (Duration, Round, bool),
) -> Result<Result<Plan, Unfinished>, ExperimentError> {
    let mut run = runs.run(is_opening)?;
    if at == 0 && round.may_be_shorter(&run) {
        run = runs.run(false)?;
    }
    if at > 0 && runs.was_planning(&run)? {
        run = runs.run(false)?;
    }
    if at > 0 && round.may_settle(&run, limit) {
        run = runs.run(false)?;
    }
    Ok(run)
}

fn is_long_planning(took: Duration, limit: Duration) -> bool {
    took > limit.mul_f64(PLANNING_PART)
}

/// The order of plans in a round: it turns around from round to round, and begins further on from pair to pair of them,
/// so that each plan comes first at some time.
fn ordered(plans: &[usize], round: usize) -> Vec<usize> {
    let mut order = plans.to_vec();
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    let count = order.len().max(1);
    order.rotate_left(round / 2 % count);
    order
}

/// Runs a plan until its runs took long enough together, `most` times at most. Where its blocks may be displaced, a run
/// that does not count comes first.
fn run_plan(
    variant: &mut Variant,
    turn: usize,
    (most, mut is_displaced): (usize, bool),
    run: &mut dyn FnMut() -> Result<Result<Plan, Unfinished>, ExperimentError>,
) -> Result<Result<Plan, Unfinished>, ExperimentError> {
    let mut taken = 0.0;
    let mut runs = 0;
    loop {
        let plan = match run()? {
            Ok(plan) => plan,
            // What ended it does not count either: the next run may succeed.
            Err(_) if mem::take(&mut is_displaced) => continue,
            Err(why) => return Ok(Err(why)),
        };
        let is_planned = is_same(&plan, &variant.plan);
        if mem::take(&mut is_displaced) && is_planned {
            continue;
        }
        if let Some(millis) = plan.execution_ms.filter(|_| is_planned) {
            variant.took(millis, turn);
        }
        taken += plan.execution_ms.unwrap_or(f64::INFINITY);
        runs += 1;
        if runs >= most || !is_planned || taken >= TURN.as_secs_f64() * 1e3 {
            return Ok(Ok(plan));
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::sorting;

    use super::*;

    /// The milliseconds that count and the number of runs, of a plan whose runs take these; `None` is a run that fails.
    fn turn(outcomes: &[Option<f64>], is_displaced: bool) -> (Vec<f64>, usize) {
        let mut variant = Variant::of(&[0], &[]);
        let mut left = outcomes.iter();
        let mut run = || {
            let millis = *left.next().expect("no more runs than that");
            let plan = |millis| Plan { execution_ms: Some(millis), ..Plan::default() };
            Ok(millis.map(plan).ok_or_else(|| Unfinished::Locked("it waits for a lock".into())))
        };
        let _ = run_plan(&mut variant, 7, (TURN_RUNS_MAX, is_displaced), &mut run).unwrap();
        assert_eq!(variant.turns, vec![7; variant.millis.len()]);
        (variant.millis, outcomes.len() - left.len())
    }

    #[test]
    fn the_run_that_reads_what_others_displaced_counts_in_no_way() {
        let runs = [Some(90.0), Some(9.0), Some(8.0), Some(7.0), Some(6.0)];
        assert_eq!(turn(&runs, true), (vec![9.0, 8.0, 7.0], 4), "nor does it count as time taken");
        assert_eq!(turn(&runs, false), (vec![90.0], 1), "where none can have been displaced");
        assert_eq!(turn(&[None, Some(30.0)], true), (vec![30.0], 2), "the next one may succeed");
        assert_eq!(turn(&[Some(90.0), None], true), (vec![], 2));
        assert_eq!(turn(&[Some(1.0); 9], false), (vec![1.0; TURN_RUNS_MAX], TURN_RUNS_MAX));
        let round = |state, counts| Round { state, number: 0, counted: 0, counts };
        let repeats = [round(State::AsFound, true), round(State::AsFound, false), round(State::Cached, true)];
        assert_eq!(repeats.map(|round| round.repeats(false)), [true, false, false]);
    }

    /// Runs that end so, one after the other, and whether each of them that reached its limit did so by planning.
    struct Planted {
        left: Vec<Result<Plan, Unfinished>>,
        is_planning: bool,
        openings: Vec<bool>,
    }

    impl Runs for Planted {
        fn run(&mut self, is_opening: bool) -> Result<Result<Plan, Unfinished>, ExperimentError> {
            self.openings.push(is_opening);
            Ok(self.left.remove(0))
        }

        fn was_planning(&mut self, run: &Result<Plan, Unfinished>) -> Result<bool, ExperimentError> {
            Ok(self.is_planning && run.is_err())
        }
    }

    #[test]
    fn a_plan_that_reaches_its_limit_once_is_run_again_before_it_is_taken_for_ended() {
        // How many runs of three were made, and whether the last of them ended within its limit.
        let made = |at: usize, (state, counts): (State, bool), (millis, is_planning): (u64, bool), ends: [bool; 3]| {
            let run = |ends| if ends { Ok(Plan::default()) } else { Err(Unfinished::TooLong("too long".into())) };
            let mut planted = Planted { left: ends.map(run).into(), is_planning, openings: Vec::new() };
            let round = Round { state, number: 0, counted: 0, counts };
            let run = run_or_repeat(&mut planted, at, (Duration::from_millis(millis), round, true)).unwrap();
            assert!(planted.openings[0] && !planted.openings[1..].contains(&true), "one run opens the turn");
            (planted.openings.len(), run.is_ok())
        };
        let (once, never) = ([false, true, true], [false; 3]);
        let found = (State::AsFound, true);
        let settling = (State::AsFound, false);
        assert_eq!(made(0, found, (10_000, false), [true; 3]), (1, true));
        assert_eq!(made(0, found, (10_000, false), once), (2, true), "it may have waited for blocks or a lock");
        assert_eq!(made(0, found, (10_000, false), never), (2, false), "twice in a row");
        assert_eq!(made(0, settling, (10_000, false), once), (1, false), "it is run again when rounds count");
        assert_eq!(made(0, (State::OwnCold, true), (10_000, false), once), (1, false), "the first cold run decides");
        assert_eq!(made(1, found, (500, false), once), (1, false), "another plan has its verdict");
        assert_eq!(made(1, found, (500, true), once), (2, true), "planning is no part of a plan's time");
        assert_eq!(made(1, settling, (500, false), once), (2, true), "it may have read what the next run finds");
        assert_eq!(made(1, settling, (10_000, false), once), (1, false), "it would cost too much");
        assert_eq!(made(1, settling, (500, true), never), (3, false), "for each reason once");
    }

    #[test]
    fn a_plan_whose_first_run_reads_from_the_disk_is_not_given_up_for_that() {
        let round = |counts| Round { state: State::AsFound, number: 0, counted: 0, counts };
        let too_long = || Err(Unfinished::TooLong("it takes longer".into()));
        let again = |counts, run: Result<Plan, Unfinished>, millis| {
            round(counts).may_settle(&run, Duration::from_millis(millis))
        };
        assert!(again(false, too_long(), 500) && again(false, too_long(), 2000));
        assert!(!again(false, too_long(), 2001), "it would cost too much");
        assert!(!again(true, too_long(), 500), "its blocks were read in the round before");
        assert!(!again(false, Ok(Plan::default()), 500));
        assert!(!again(false, Err(Unfinished::Locked("it waits for a lock".into())), 500));
    }

    #[test]
    fn a_plan_whose_run_reached_its_limit_by_planning_is_run_once_more() {
        let round = |state| Round { state, number: 0, counted: 0, counts: true };
        let too_long = Err(Unfinished::TooLong("it takes longer".into()));
        assert!(round(State::AsFound).may_have_planned(&too_long));
        assert!(!round(State::OwnCold).may_have_planned(&too_long), "each plan is made before its run");
        assert!(!round(State::AsFound).may_have_planned(&Ok(Plan::default())));
        assert!(!round(State::AsFound).may_have_planned(&Err(Unfinished::Locked("it waits for a lock".into()))));
        let is_long = |took, limit| is_long_planning(Duration::from_millis(took), Duration::from_millis(limit));
        let found = [(600, 500), (51, 500), (49, 500), (600, 10_000)].map(|(took, limit)| is_long(took, limit));
        assert_eq!(found, [true, true, false, false]);
    }

    #[test]
    fn each_plan_comes_first_in_some_round() {
        let first = |count: usize, round: usize| ordered(&(0..count).collect::<Vec<_>>(), round)[0];
        for count in 2..7 {
            let firsts = sorting::set((0..2 * count).map(|round| first(count, round)));
            assert_eq!(firsts.len(), count);
        }
        assert_eq!(ordered(&[0, 1], 1), [1, 0]);
        assert_eq!(ordered(&[], 3), Vec::<usize>::new());
    }
}
