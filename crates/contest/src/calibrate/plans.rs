//! Every plan of a query that a set of constants or a disabled method leads to, timed natively, so that the best is
//! known.

use std::collections::BTreeMap;
use std::time::Instant;

use measure::statistics::median;
use subjects::postgres::calibration::own_queries::OwnQuery;

use super::sets::{Set, statement};
use crate::private_postgres::{Connection, PrivatePostgres};
use crate::turn_order::order;

/// A setting that disables a method of the planner, with the value that does.
type Method = (&'static str, &'static str);

/// Methods that are disabled, one at a time and in pairs, where the server has the setting.
const METHODS: [Method; 15] = [
    ("enable_nestloop", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_seqscan", "off"),
    ("enable_indexscan", "off"),
    ("enable_indexonlyscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashagg", "off"),
    ("enable_sort", "off"),
    ("enable_incremental_sort", "off"),
    ("enable_material", "off"),
    ("enable_memoize", "off"),
    ("enable_gathermerge", "off"),
    ("enable_parallel_hash", "off"),
    ("max_parallel_workers_per_gather", "0"),
];

/// A plan that no contender picked is ended where it takes this many times as long as the best so far, and at least
/// this number of milliseconds: the first run of a plan reads what later ones find cached.
const TIMES_MAX: f64 = 2.0;
const TIMES_MAX_FIRST: f64 = 4.0;
const LIMIT_MIN: f64 = 100.0;

/// The same of a plan with disabled methods whose one cold run decides whether it is timed again.
const TIMES_MAX_COLD: f64 = CLOSE;

/// A plan that a set of the grid picked may take this part of the time by the server's own constants, where that is
/// more than the best so far: it can be safe although it is not the best.
const PART_OF_OWN: f64 = 0.75;

/// A plan that a contender picked has this number of milliseconds.
pub(crate) const LIMIT_OF_PICKED: f64 = 600_000.0;

/// Plans that take at most this many times as long as the fastest, or by the server's own constants, are timed again in
/// turns, no more than this number of them: a tenth decides whether a plan is right, and a machine can be a tenth
/// slower while one plan is timed than while the next one is.
const CLOSE: f64 = 1.3;
const CLOSE_MAX: usize = 6;

/// Plans of contenders that take at most this number of milliseconds are timed again too, however slow: what holds up
/// the machine for a millisecond makes a short one look five times as slow.
const SHORT: f64 = 100.0;

/// Turns of cold runs. A disk behind a network and two busy cores give times a quarter apart: with three runs of each
/// plan, that noise decided which ones are right.
const COLD_TURNS: usize = 8;

/// Turns of cold runs where one of all plans takes longer than this number of milliseconds. A data set of 4 GiB would
/// take over three hours by eight turns of each query; what a plan reads in seconds evens out more of the noise.
const COLD_TURNS_LONG: usize = 4;
const LONG_TURN: f64 = 10_000.0;

/// How plans are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caches {
    /// After a run that is not counted, the median of this number of runs.
    Warm {
        /// How many.
        runs: u64,
    },
    /// After all caches were emptied; the plans of contenders and those near the fastest in several turns.
    Cold,
}

/// A plan, with what leads to it, and its milliseconds.
struct Reached {
    settings: String,
    millis: f64,
}

/// The milliseconds of a query by each contender's plan, and those of the fastest plan that is known.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    /// The limit, where it was ended.
    pub(crate) by: Vec<f64>,
    /// The same by each set of the grid; infinite where it was ended.
    pub(crate) by_grid: Vec<f64>,
    pub(crate) best: f64,
    pub(crate) plans: usize,
    /// The milliseconds of each plan that was timed again, turn by turn.
    pub(crate) turns: Vec<Vec<f64>>,
}

/// Times all plans of a query.
pub(crate) fn time(
    server: &mut PrivatePostgres,
    query: &OwnQuery,
    contenders: &[(&str, Set)],
    grid: &[Set],
    caches: Caches,
) -> Result<Timed, String> {
    let mut session = server.connect()?;
    let mut plans: BTreeMap<String, Reached> = BTreeMap::new();
    let mut reach = |set: &Set| -> Result<String, String> {
        let settings = statement(set);
        let outline = session.outline(&settings, &query.text)?;
        plans.entry(outline.clone()).or_insert(Reached { settings, millis: f64::NAN });
        Ok(outline)
    };
    let picked = contenders.iter().map(|(_, set)| reach(set)).collect::<Result<Vec<String>, String>>()?;
    let of_grid = grid.iter().map(reach).collect::<Result<Vec<String>, String>>()?;
    let methods = known_methods(&session.lines("SELECT name FROM pg_settings")?);
    let sets: Vec<String> = contenders.iter().take(3).map(|(_, set)| statement(set)).collect();
    let disabled = by_disabling(&methods, &sets, &picked[0], &mut |settings| session.outline(settings, &query.text))?;
    for (outline, settings) in disabled {
        plans.entry(outline).or_insert(Reached { settings, millis: f64::NAN });
    }
    // The contenders' first: the others are ended once they take much longer.
    let mut order: Vec<String> = [&picked[..], &of_grid].concat();
    order.extend(plans.keys().cloned());
    let mut best = f64::INFINITY;
    let mut own = f64::INFINITY;
    let disabled_max = if caches == Caches::Cold { TIMES_MAX_COLD / TIMES_MAX } else { 1.0 };
    for outline in order {
        let Some(plan) = plans.get_mut(&outline).filter(|plan| plan.millis.is_nan()) else { continue };
        let best_so_far = match () {
            () if picked.contains(&outline) => f64::INFINITY,
            () if of_grid.contains(&outline) => best.max(own * PART_OF_OWN),
            () => best * disabled_max,
        };
        plan.millis = run(server, &mut session, query, (&plan.settings, best_so_far), caches)?;
        best = best.min(plan.millis);
        // The contender that comes first.
        own = own.min(if outline == picked[0] { plan.millis } else { f64::INFINITY });
    }
    let close = close(&plans, &picked, if caches == Caches::Cold { f64::INFINITY } else { own });
    let again = match caches {
        Caches::Warm { runs } => {
            // The limit of a plan that was ended can end one more statement of its session.
            session = server.connect()?;
            in_turns(&mut session, query, &plans, (&close, runs))?
        }
        Caches::Cold => in_cold_turns((server, &mut session), query, &plans, &close)?,
    };
    for (outline, millis) in close.into_iter().zip(&again) {
        let median = median(millis).unwrap_or(f64::INFINITY);
        plans.entry(outline).and_modify(|plan| plan.millis = median);
    }
    let best = match caches {
        Caches::Warm { .. } => plans.values().map(|plan| plan.millis).fold(f64::INFINITY, f64::min),
        Caches::Cold => fastest_by_halves(&again),
    };
    let by = picked.iter().map(|outline| at_least(plans[outline].millis)).collect();
    let by_grid = of_grid.iter().map(|outline| plans[outline].millis).collect();
    Ok(Timed { by, by_grid, best, plans: plans.len(), turns: again })
}

/// What the plan of a contender takes at least. One that was ended is the worst of all, and must not go unjudged.
pub(crate) fn at_least(millis: f64) -> f64 {
    millis.min(LIMIT_OF_PICKED)
}

/// The plans whose order a little noise would turn: those of the contenders that are short or not much slower than the
/// one by the server's own constants, and the fastest. One that was ended is none of them: it would take its limit in
/// each turn, and those without a limit have no end.
fn close(plans: &BTreeMap<String, Reached>, picked: &[String], own: f64) -> Vec<String> {
    let ran = plans.iter().filter(|(_, plan)| plan.millis.is_finite());
    let mut fastest: Vec<(&String, f64)> = ran.map(|(outline, plan)| (outline, plan.millis)).collect();
    fastest.sort_by(|one, other| one.1.total_cmp(&other.1));
    let best = fastest.first().map_or(f64::INFINITY, |one| one.1);
    let is_picked = |outline: &String, millis: f64| picked.contains(outline) && millis <= SHORT.max(own * CLOSE);
    let (contenders, others): (Vec<_>, Vec<_>) = fastest.into_iter().partition(|one| is_picked(one.0, one.1));
    let room = CLOSE_MAX.saturating_sub(contenders.len());
    let others = others.into_iter().filter(|(_, millis)| *millis <= best * CLOSE).take(room);
    contenders.into_iter().chain(others).map(|(outline, _)| outline.clone()).collect()
}

/// The milliseconds of these plans in `runs` turns whose order turns around. The first run of a turn finds what the
/// last one left in the buffers, and is repeated.
fn in_turns(
    session: &mut Connection,
    query: &OwnQuery,
    plans: &BTreeMap<String, Reached>,
    (close, runs): (&[String], u64),
) -> Result<Vec<Vec<f64>>, String> {
    let mut millis: Vec<Vec<f64>> = vec![Vec::new(); close.len()];
    for turn in 0..runs {
        let order = order(turn, close.len());
        for (number, at) in order.iter().take(1).chain(&order).enumerate() {
            session.reset(&plans[&close[*at]].settings)?;
            session.run(&format!("EXPLAIN {}", query.text))?;
            let started = Instant::now();
            session.lines(&query.text)?;
            if number > 0 {
                millis[*at].push(started.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    Ok(millis)
}

/// The same cold. The run that each plan has had does not count: it chose which ones are here.
fn in_cold_turns(
    (server, session): (&mut PrivatePostgres, &mut Connection),
    query: &OwnQuery,
    plans: &BTreeMap<String, Reached>,
    close: &[String],
) -> Result<Vec<Vec<f64>>, String> {
    let mut millis: Vec<Vec<f64>> = vec![Vec::new(); close.len()];
    for turn in 0..cold_turns(close.iter().map(|outline| plans[outline].millis).sum()) {
        for at in order(turn as u64, close.len()) {
            let plan = (&*plans[&close[at]].settings, f64::INFINITY);
            millis[at].push(run(server, session, query, plan, Caches::Cold)?);
        }
    }
    Ok(millis)
}

/// The number of turns for plans that take this number of milliseconds together.
fn cold_turns(millis: f64) -> usize {
    if millis > LONG_TURN { COLD_TURNS_LONG } else { COLD_TURNS }
}

/// The milliseconds of the fastest plan: of the one that is fastest in one half of the turns, by the other half, and
/// the other way around. The least of several noisy times is that of no plan: each would be slower than it by chance.
fn fastest_by_halves(millis: &[Vec<f64>]) -> f64 {
    // Two turns after one another stand in one half, so that each half has both orders of the plans.
    let half = |times: &[f64], wanted: usize| {
        let turns = times.iter().enumerate().filter(|(turn, _)| turn / 2 % 2 == wanted);
        median(&turns.map(|(_, millis)| *millis).collect::<Vec<_>>()).unwrap_or(f64::INFINITY)
    };
    let by = |one: usize| {
        let chosen = millis.iter().min_by(|a, b| half(a, one).total_cmp(&half(b, one)));
        chosen.map_or(f64::INFINITY, |times| half(times, 1 - one))
    };
    (by(0) * by(1)).sqrt()
}

/// The methods that a server with these settings lets a session disable.
fn known_methods(settings: &[String]) -> Vec<Method> {
    METHODS.into_iter().filter(|(name, _)| settings.iter().any(|setting| setting == name)).collect()
}

/// The plans with each method disabled by the server's own constants, which come first, and by the other sets, and with
/// each two methods disabled by the server's own; each plan with its settings.
///
/// Two methods are disabled together where one of them alone leads to another plan than `own`. A plan that neither
/// changes has as few steps of either as any other plan, and so it stays where both are disabled.
fn by_disabling(
    methods: &[Method],
    sets: &[String],
    own: &str,
    outline: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let disabling = |(setting, value): Method| format!("SET {setting} = {value}; ");
    let (mut found, mut changing) = (Vec::new(), Vec::new());
    for method in methods {
        for (number, set) in sets.iter().enumerate() {
            let settings = format!("{set}{}", disabling(*method));
            let plan = outline(&settings)?;
            if number == 0 && plan != own {
                changing.push(*method);
            }
            found.push((plan, settings));
        }
    }
    for (at, one) in methods.iter().enumerate() {
        for other in &methods[at + 1..] {
            if changing.contains(one) || changing.contains(other) {
                let settings = format!("{}{}{}", sets[0], disabling(*one), disabling(*other));
                found.push((outline(&settings)?, settings));
            }
        }
    }
    Ok(found)
}

/// The median of the runs of a plan; infinite where it takes much longer than the best so far.
fn run(
    server: &mut PrivatePostgres,
    session: &mut Connection,
    query: &OwnQuery,
    (settings, best): (&str, f64),
    caches: Caches,
) -> Result<f64, String> {
    let (runs, settling) = match caches {
        Caches::Warm { runs } => (runs, 1),
        Caches::Cold => (1, 0),
    };
    let mut millis = Vec::new();
    for number in 0..runs + settling {
        let times = if number < settling { TIMES_MAX_FIRST } else { TIMES_MAX };
        // The server takes whole milliseconds.
        let limit = (best * times).clamp(LIMIT_MIN, LIMIT_OF_PICKED).floor();
        if matches!(caches, Caches::Cold) {
            server.empty_caches()?;
            *session = server.connect()?;
        }
        // The limit of a plan that was ended can end one more statement.
        if session.reset(settings).is_err() {
            *session = server.connect()?;
            session.reset(settings)?;
        }
        // What the server has to know about the tables is read before the clock starts, and before the limit holds.
        session.run(&format!("EXPLAIN {}", query.text))?;
        session.run(&format!("SET statement_timeout = {}", limit as u64))?;
        let started = Instant::now();
        match session.lines(&query.text) {
            Ok(_) if number >= settling => millis.push(started.elapsed().as_secs_f64() * 1e3),
            Ok(_) => {}
            Err(_) if started.elapsed().as_secs_f64() * 1e3 >= limit => return Ok(f64::INFINITY),
            Err(reason) => return Err(format!("`{}`: {reason}", query.name)),
        }
    }
    Ok(median(&millis).unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use measure::random::SplitMix64;

    use super::*;
    use crate::installed;
    use crate::interruption::Interruption;

    #[test]
    fn a_plan_behind_two_disabled_methods_is_found_and_methods_that_change_nothing_are_not_paired() {
        let mut asked = 0;
        let mut cheapest_enabled = |settings: &str| -> Result<String, String> {
            asked += 1;
            let is_disabled = |name: &str| settings.contains(&format!("SET enable_{name} = off; "));
            let plan = match () {
                () if !is_disabled("hashjoin") => "hashjoin",
                () if !is_disabled("mergejoin") => "mergejoin",
                () => "nestloop",
            };
            Ok(plan.into())
        };
        let names: Vec<String> = METHODS.iter().map(|(name, _)| name.to_string()).collect();
        let methods = known_methods(&names);
        let sets = ["SET seq_page_cost = 1; ", "SET seq_page_cost = 2; "].map(String::from);
        let found = by_disabling(&methods, &sets, "hashjoin", &mut cheapest_enabled).unwrap();
        // The second choice alone changes nothing: the third is reached by disabling both.
        let (_, settings) = found.iter().find(|(plan, _)| plan == "nestloop").unwrap();
        assert_eq!(settings, "SET seq_page_cost = 1; SET enable_hashjoin = off; SET enable_mergejoin = off; ");
        let pairs = METHODS.len() - 1;
        assert_eq!(asked, 2 * METHODS.len() + pairs, "each by each set, and pairs with the one that changes");
    }

    #[test]
    fn a_setting_that_a_server_lacks_is_not_set() {
        let older: Vec<String> = ["enable_sort", "enable_seqscan", "work_mem"].map(String::from).into();
        assert_eq!(known_methods(&older), [("enable_seqscan", "off"), ("enable_sort", "off")]);
    }

    #[test]
    fn a_real_server_takes_each_way_and_leads_to_an_index_scan_behind_one_of_the_index_alone() {
        let installation = match installed::newest_installed() {
            Ok(installation) => installation,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let interruption = Interruption::default();
        let server = PrivatePostgres::start(&installation, &std::env::temp_dir(), 16 << 20, &interruption).unwrap();
        let mut session = server.connect().unwrap();
        for statement in [
            "CREATE TABLE shop AS SELECT n FROM generate_series(1, 20000) n",
            "CREATE INDEX ON shop (n)",
            "VACUUM ANALYZE shop",
        ] {
            session.run(statement).unwrap();
        }
        let methods = known_methods(&session.lines("SELECT name FROM pg_settings").unwrap());
        assert_eq!(methods, METHODS, "PostgreSQL 15 has all of them");
        let query = "SELECT n FROM shop WHERE n = 7";
        let own = session.outline("", query).unwrap();
        assert!(own.starts_with("Index Only Scan"), "{own}");
        let sets = [String::new()];
        let found = by_disabling(&methods, &sets, &own, &mut |settings| session.outline(settings, query)).unwrap();
        assert!(found.iter().any(|(plan, _)| plan.starts_with("Index Scan")), "{found:?}");
    }

    #[test]
    fn what_a_little_noise_would_turn_is_timed_again_and_what_is_much_slower_is_not() {
        let timed = |times: &[(&str, f64)], picked: &[&str]| {
            let reached = |millis: f64| Reached { settings: String::new(), millis };
            let plans = times.iter().map(|(name, millis)| (name.to_string(), reached(*millis))).collect();
            let picked: Vec<String> = picked.iter().map(|name| name.to_string()).collect();
            close(&plans, &picked, plans[&picked[0]].millis)
        };
        let times = [("own", 100.0), ("usual", 129.0), ("slow", 900.0), ("ended", f64::INFINITY), ("best", 50.0)];
        let others = [("near", 64.0), ("far", 66.0)];
        let all = [&times[..], &others].concat();
        assert_eq!(timed(&all, &["own", "usual", "slow"]), ["own", "usual", "best", "near"]);
        assert_eq!(timed(&[("own", 0.2), ("held up", 0.9)], &["own", "held up"]), ["own", "held up"]);
        assert_eq!(timed(&[("own", f64::INFINITY), ("usual", 9e5)], &["own", "usual"]), ["usual"], "own was ended");
        let many: Vec<(String, f64)> =
            (0..9).map(|number| (format!("plan{number}"), 10.0 + f64::from(number) / 10.0)).collect();
        let many: Vec<(&str, f64)> = many.iter().map(|(name, millis)| (name.as_str(), *millis)).collect();
        assert_eq!(timed(&many, &["plan8"]), ["plan8", "plan0", "plan1", "plan2", "plan3", "plan4"]);
    }

    #[test]
    fn plans_that_take_as_long_are_not_slower_than_the_luckiest_of_them() {
        let mut random = SplitMix64::new(7);
        let mut noisy = |middle: f64| -> Vec<f64> {
            (0..COLD_TURNS).map(|_| middle * (0.75 + random.below(500) as f64 / 1000.0)).collect()
        };
        let queries: Vec<Vec<Vec<f64>>> = (0..300).map(|_| (0..8).map(|_| noisy(100.0)).collect()).collect();
        let mean = |of: &dyn Fn(&[Vec<f64>]) -> f64| queries.iter().map(|all| of(all)).sum::<f64>() / 300.0;
        let least = |all: &[Vec<f64>]| all.iter().filter_map(|times| median(times)).fold(f64::INFINITY, f64::min);
        assert!(mean(&least) < 92.0, "{}", mean(&least));
        assert!((98.0..102.0).contains(&mean(&fastest_by_halves)), "{}", mean(&fastest_by_halves));
        // By as few turns as long plans have.
        let short: Vec<Vec<Vec<f64>>> =
            queries.iter().map(|all| all.iter().map(|times| times[..COLD_TURNS_LONG].to_vec()).collect()).collect();
        let mean_short = short.iter().map(|all| fastest_by_halves(all)).sum::<f64>() / 300.0;
        assert!((97.0..103.0).contains(&mean_short), "{mean_short}");
        let with_faster = [vec![noisy(50.0)], queries[0].clone()].concat();
        assert!((38.0..62.0).contains(&fastest_by_halves(&with_faster)), "the fastest is found");
        assert_eq!(fastest_by_halves(&[]), f64::INFINITY);
    }

    #[test]
    fn a_query_of_long_plans_has_fewer_turns_and_both_halves_of_them() {
        assert_eq!(cold_turns(LONG_TURN), COLD_TURNS);
        assert_eq!(cold_turns(LONG_TURN + 1.0), COLD_TURNS_LONG);
        assert_eq!(cold_turns(f64::INFINITY), COLD_TURNS_LONG, "a plan that was ended");
        let turns = vec![vec![1e4; COLD_TURNS_LONG], vec![2e4; COLD_TURNS_LONG]];
        assert_eq!(fastest_by_halves(&turns), 1e4);
    }
}
