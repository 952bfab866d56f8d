//! Which path to rows is the fastest by their number, timed with the planner's other methods disabled, and where the
//! planner changes from one to another by its own constants and by the measured ones.

use std::time::Duration;

use measure::quantity::format_nanos;
use measure::schema::calibrate;
use measure::schema::calibrate::findings as row;
use measure::schema::calibrate::parameters::{ASKED_ROWS, CHOSEN_BY, CONSTANTS, ORDER, PATH, STATE, SWITCH, VERDICT};
use measure::statistics::median;
use measure::{Case, Finding};
use subjects::postgres::calibration::{ChosenPlan, Clustering, Probe, Ways};

use super::bench::{Bench, State};
use super::crossing::{at, crossing, fastest};
use super::sets::{ConstantSet, own};
use super::turn::{self, By, Planned, Switch, Taken, Tried, Turn};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Parts of the table that are asked for: percent. Neighbours are two to five times apart.
const SHARES: [f64; 8] = [0.01, 0.05, 0.2, 1.0, 4.0, 15.0, 40.0, 80.0];

/// Rounds in which each path is run for each number of rows, twice in a row: the second run counts, which finds in the
/// processor's caches what it reads, whatever ran before.
const ROUNDS: usize = 3;
const RUNS: usize = 2;

/// A path by an index that took this many times as long as the fastest takes longer still for more rows: it is then no
/// longer run.
const SLOW: f64 = 10.0;

/// The number of rows at which the planner changes is looked for to one part in this many.
const PRECISION: u64 = 100;

/// Changes that a dry run counts for each set and order, of which it makes one: from the index to a bitmap, and from
/// that to the full scan.
const CHANGES: u32 = 2;

/// A path to a number of rows.
struct Point {
    order: Clustering,
    path: ChosenPlan,
    rows: u64,
    /// Rows that the path gave; `None` where it was not run.
    counted: Option<u64>,
    /// Of each run that counts.
    millis: Vec<f64>,
    /// Why it was not run.
    left_out: Option<String>,
    /// The planner's cost by each set.
    costs: Vec<Option<f64>>,
    /// The sets by which the planner takes it.
    chosen_by: Vec<&'static str>,
}

impl Point {
    fn of(order: Clustering, path: ChosenPlan, rows: u64) -> Point {
        let (millis, costs, chosen_by) = (Vec::new(), Vec::new(), Vec::new());
        Point { order, path, rows, counted: None, millis, left_out: None, costs, chosen_by }
    }
}

/// What the planner takes for rows in an order by a set: the path for the fewest rows, and each other one with the
/// number of rows from which on it takes that.
struct Choice {
    order: Clustering,
    set: &'static str,
    paths: Vec<(u64, Option<ChosenPlan>)>,
}

/// Times the paths, asks for the planner's choices, keeps a case for each, and returns what they say.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    sets: &[ConstantSet],
    journal: &mut dyn Journal,
) -> Result<Vec<Finding>, ExperimentError> {
    let total = bench.tables.sizes().rows;
    let numbers = numbers(total);
    journal.step("each path to few and to many rows", Duration::from_secs(5));
    bench.set_constants(&[])?;
    bench.tables.warm()?;
    if let Some(absent) = too_long(bench, numbers.len())? {
        return Ok(vec![absent]);
    }
    let mut points = time(bench, &numbers)?;
    bench.look(journal);
    let measured = sets.iter().find(|set| set.name == State::Cached.name());
    let sets: Vec<ConstantSet> = [own()].into_iter().chain(measured.cloned()).collect();
    let choices = ask(bench, &mut points, &sets, &numbers)?;
    bench.tables.allow(Ways::All)?;
    bench.set_constants(&[])?;
    let mut cases: Vec<Case> = points.iter().map(|point| of_point(bench, point, total)).collect();
    let tried = tried(&numbers, total);
    let mut findings = Vec::new();
    for order in Clustering::ALL {
        let turns: Vec<Turn> =
            Switch::BOTH.into_iter().filter_map(|switch| turn(order, switch, &points, &choices)).collect();
        for turn in &turns {
            cases.extend(of_turn(bench, order, turn, tried));
        }
        findings.extend(turn::finding(name(order), &turns, tried));
    }
    journal.keep_all(cases)?;
    Ok(findings)
}

/// The name of an order in documents.
fn name(order: Clustering) -> &'static str {
    match order {
        Clustering::Random => "scattered",
        Clustering::Good => "clustered",
    }
}

/// Numbers of rows, each once.
fn numbers(total: u64) -> Vec<u64> {
    let mut numbers = SHARES.map(|share| ((total as f64 * share / 100.0).round() as u64).max(1)).to_vec();
    numbers.dedup();
    numbers
}

fn tried(numbers: &[u64], total: u64) -> Tried {
    let [least, most] = [numbers.first(), numbers.last()].map(|rows| rows.copied().unwrap_or(1) as f64);
    Tried { least, most, total: total as f64 }
}

/// The finding where timing every path would take longer than a query may. A dry run, which knows no time, assumes that
/// it does not.
fn too_long(bench: &mut Bench<'_>, numbers: usize) -> Result<Option<Finding>, ExperimentError> {
    let limit = bench.time_limit();
    let ways = Ways::Only(ChosenPlan::FullScan);
    bench.tables.allow(ways)?;
    let scan = bench.tables.execute(Probe::Dense { comparisons: 1 }, ways)?;
    let scans = (numbers * ROUNDS * RUNS * Clustering::ALL.len()) as u32;
    Ok(absent(lasting(scan.micros), scans, limit).filter(|_| !bench.tables.is_rehearsal()))
}

/// A time that a server has given in microseconds, which may be any number.
fn lasting(micros: f64) -> Duration {
    Duration::try_from_secs_f64(micros / 1e6).unwrap_or(Duration::MAX)
}

/// The finding where this many scans take longer than the limit.
pub(super) fn absent(scan: Duration, scans: u32, limit: Duration) -> Option<Finding> {
    let all = scan.saturating_mul(scans);
    let message = || {
        let [scan, all, limit] = [scan, all, limit].map(|time| format_nanos(time.as_nanos() as f64));
        format!(
            "The number of rows from which each path is the fastest was not measured: a full scan of the table takes \
             {scan}, and {scans} of them {all}, longer than the limit of {limit}. A smaller --payload makes it \
             possible."
        )
    };
    (all > limit).then(|| row::ABSENT_CROSSOVER.of(message()))
}

/// Runs each path for each number of rows, the fewest first, in rounds: a disturbance then meets one run of a path.
fn time(bench: &mut Bench<'_>, numbers: &[u64]) -> Result<Vec<Point>, ExperimentError> {
    let limit = bench.time_limit();
    let started = bench.machine.clock.now();
    let of = |path| numbers.iter().flat_map(move |rows| Clustering::ALL.map(|order| Point::of(order, path, *rows)));
    let mut points: Vec<Point> = ChosenPlan::ALL.into_iter().flat_map(of).collect();
    let (mut allowed, count) = (None, points.len());
    for (round, at) in (0..ROUNDS).flat_map(|round| (0..count).map(move |at| (round, at))) {
        if Duration::from_nanos(bench.machine.clock.now().since(started).0) > limit {
            break;
        }
        if round == 0 {
            points[at].left_out = slow(&points[..at], &points[at]);
        }
        let point = &mut points[at];
        if point.left_out.is_some() {
            continue;
        }
        let ways = Ways::Only(point.path);
        if allowed.replace(point.path) != Some(point.path) {
            bench.tables.allow(ways)?;
        }
        for run in 1..=RUNS {
            let executed = bench.tables.execute(probe(point.order, point.rows), ways)?;
            point.counted = executed.rows;
            point.millis.extend((run == RUNS).then_some(executed.micros / 1e3));
        }
    }
    let not_run = points.iter_mut().filter(|point| point.millis.is_empty() && point.left_out.is_none());
    let why = format!("the limit of {} was reached", format_nanos(limit.as_nanos() as f64));
    not_run.for_each(|point| point.left_out = Some(why.clone()));
    Ok(points)
}

fn probe(clustering: Clustering, rows: u64) -> Probe {
    Probe::Fetch { clustering, rows }
}

/// Why a path by an index is not run for more rows than it was `before`.
fn slow(before: &[Point], point: &Point) -> Option<String> {
    let last = before.iter().rfind(|one| one.order == point.order && one.path == point.path)?;
    if point.path == ChosenPlan::FullScan || last.left_out.is_some() {
        return last.left_out.clone();
    }
    let same = before.iter().filter(|one| one.order == point.order && one.rows == last.rows);
    let least = same.filter_map(|one| median(&one.millis)).min_by(f64::total_cmp)?;
    let message = format!("for fewer rows it took over {SLOW} times as long as the fastest path");
    (median(&last.millis)? > least * SLOW).then_some(message)
}

/// Asks for the cost of each path by each set, and for the path that the planner takes.
fn ask(
    bench: &mut Bench<'_>,
    points: &mut [Point],
    sets: &[ConstantSet],
    numbers: &[u64],
) -> Result<Vec<Choice>, ExperimentError> {
    if let Some(recorder) = &bench.recorder {
        recorder.remark("where the plan changes between two numbers of rows, those between are explained too");
    }
    let mut choices = Vec::new();
    for set in sets {
        bench.set_constants(&set.values)?;
        for path in ChosenPlan::ALL {
            bench.tables.allow(Ways::Only(path))?;
            for point in points.iter_mut().filter(|point| point.path == path) {
                let cost = bench.tables.cost_of(probe(point.order, point.rows), path)?;
                point.costs.push(cost);
            }
        }
        bench.tables.allow(Ways::All)?;
        for order in Clustering::ALL {
            let choice = choose(bench, order, set.name, numbers)?;
            let of_order = points.iter_mut().filter(|point| point.order == order);
            of_order.filter(|point| choice.at(point.rows) == Some(point.path)).for_each(|point| {
                point.chosen_by.push(set.name);
            });
            choices.push(choice);
        }
    }
    Ok(choices)
}

/// The paths that the planner takes by the constants that are set.
fn choose(
    bench: &mut Bench<'_>,
    order: Clustering,
    set: &'static str,
    numbers: &[u64],
) -> Result<Choice, ExperimentError> {
    let mut choice = Choice { order, set, paths: Vec::new() };
    let mut low: Option<(u64, Option<ChosenPlan>)> = None;
    for rows in numbers {
        let high = (*rows, bench.tables.chosen(probe(order, *rows))?);
        while let Some(below) = low.filter(|below| below.1 != high.1) {
            let change = change(bench, order, below, high)?;
            choice.paths.push(change);
            low = Some(change);
        }
        if choice.paths.is_empty() {
            choice.paths.push(high);
        }
        low = Some(high);
    }
    Ok(choice)
}

/// The number of rows at which the planner leaves the path that it takes for `low`, and the path that it takes there.
fn change(
    bench: &mut Bench<'_>,
    order: Clustering,
    mut low: (u64, Option<ChosenPlan>),
    mut high: (u64, Option<ChosenPlan>),
) -> Result<(u64, Option<ChosenPlan>), ExperimentError> {
    let sent = bench.recorder.as_ref().map(|recorder| recorder.mark());
    while high.0 - low.0 > (low.0 / PRECISION).max(1) {
        let middle = (low.0 as f64 * high.0 as f64).sqrt() as u64;
        let middle = middle.clamp(low.0 + 1, high.0 - 1);
        let path = bench.tables.chosen(probe(order, middle))?;
        if path == low.1 {
            low.0 = middle;
        } else {
            high = (middle, path);
        }
    }
    if let Some((recorder, sent)) = bench.recorder.as_ref().zip(sent) {
        recorder.repeat_since(sent, CHANGES - 1);
    }
    Ok(high)
}

impl Choice {
    /// The path for a number of rows.
    fn at(&self, rows: u64) -> Option<ChosenPlan> {
        self.paths.iter().rfind(|(from, _)| *from <= rows)?.1
    }

    /// From where on the planner takes the other path of a switch.
    fn planned(&self, switch: Switch) -> Planned {
        let is = |path: ChosenPlan| move |one: &&(u64, Option<ChosenPlan>)| one.1 == Some(path);
        // It can come back to the index, and to others from the full scan: the index is for few rows, and the full scan
        // for many.
        let change = match switch {
            Switch::FromIndex => self.paths.iter().find(|one| !is(ChosenPlan::Index)(one)),
            Switch::ToFullScan => self.paths.iter().rev().take_while(is(ChosenPlan::FullScan)).last(),
        };
        match change {
            None => Planned::Never,
            Some(first) if self.paths.first() == Some(first) => Planned::Always,
            Some((from, _)) => Planned::From(*from),
        }
    }
}

/// A switch by the times and by each set; `None` where the times of two paths cannot be compared.
fn turn(order: Clustering, switch: Switch, points: &[Point], choices: &[Choice]) -> Option<Turn> {
    let [full, index, bitmap] = ChosenPlan::ALL.map(|path| line(points, order, path));
    let (before, after) = match switch {
        Switch::FromIndex => (index, fastest(&[&full, &bitmap])),
        Switch::ToFullScan => (fastest(&[&index, &bitmap]), full),
    };
    let timed = crossing(&after, &before)?;
    let of_order = choices.iter().filter(|choice| choice.order == order);
    let by = |choice: &Choice| {
        let (planned, taken) = (choice.planned(switch), taken(choice, switch, points));
        By { set: choice.set, planned, taken }
    };
    let planned = of_order.map(by).collect();
    Some(Turn { switch, before, after, timed, planned })
}

/// The median of a path for each number of rows that it was run for.
fn line(points: &[Point], order: Clustering, path: ChosenPlan) -> Vec<(f64, f64)> {
    let of = points.iter().filter(|point| point.order == order && point.path == path);
    of.filter_map(|point| Some((point.rows as f64, median(&point.millis)?))).collect()
}

/// What the planner's path takes for each number of rows that was tried, and on both sides of each change.
fn taken(choice: &Choice, switch: Switch, points: &[Point]) -> Vec<Taken> {
    let lines = ChosenPlan::ALL.map(|path| (path, line(points, choice.order, path)));
    let of = |rows: u64| {
        let path = choice.at(rows)?;
        let (_, line) = lines.iter().find(|(one, _)| *one == path)?;
        let is_after = match switch {
            Switch::FromIndex => path != ChosenPlan::Index,
            Switch::ToFullScan => path == ChosenPlan::FullScan,
        };
        Some(Taken { rows: rows as f64, millis: at(line, rows as f64)?, is_after })
    };
    let once = points.iter().filter(|point| point.order == choice.order && point.path == ChosenPlan::FullScan);
    let changes = choice.paths.iter().skip(1).flat_map(|(from, _)| [*from - 1, *from]);
    once.map(|point| point.rows).chain(changes).filter_map(of).collect()
}

fn of_point(bench: &Bench<'_>, point: &Point, total: u64) -> Case {
    let parameters = [
        STATE.of(State::Cached.name()),
        ORDER.of(name(point.order)),
        PATH.of(point.path.name()),
        ASKED_ROWS.of(point.rows),
    ];
    let mut case = bench.case("crossover", parameters);
    let chosen_by = (!point.chosen_by.is_empty()).then(|| CHOSEN_BY.of(point.chosen_by.join(", ")));
    case.parameters.extend(chosen_by.into_iter().chain(point.left_out.as_deref().map(|why| VERDICT.of(why))));
    let share = point.rows as f64 / total as f64 * 100.0;
    case.metrics.push(calibrate::SHARE.single("the rows of the table", share));
    let source =
        "execution time by EXPLAIN, the planner's other methods disabled, each run after one that is not counted";
    case.metrics.extend(calibrate::PATH_TIME.of_samples(source, &point.millis));
    let counted = point.counted.map(|rows| calibrate::ROWS.count("rows of the scan by EXPLAIN ANALYZE", rows));
    case.metrics.extend(counted);
    let source = "EXPLAIN with the planner's other methods disabled";
    let costs = [calibrate::COST_NOW, calibrate::COST_THEN].into_iter().zip(&point.costs);
    case.metrics.extend(costs.filter_map(|(spec, cost)| Some(spec.single(source, (*cost)?))));
    case
}

/// The cases of a switch: by the times, and by each set.
fn of_turn(bench: &Bench<'_>, order: Clustering, turn: &Turn, tried: Tried) -> Vec<Case> {
    let case = || {
        let parameters = [STATE.of(State::Cached.name()), ORDER.of(name(order)), SWITCH.of(turn.switch.name())];
        bench.case("switch", parameters)
    };
    let mut timed = case();
    let source = "where the lines of the medians cross, between the numbers of rows that were tried";
    timed.metrics.extend(turn.timed.begins().map(|rows| calibrate::FROM_ROWS.single(source, rows.round())));
    let by_set = turn.planned.iter().map(|by| {
        let mut case = case();
        case.parameters.extend([CONSTANTS.of(by.set)]);
        case.parameters.extend(turn.verdict(by, tried).map(|(verdict, _)| VERDICT.of(verdict.name())));
        let from = match by.planned {
            Planned::From(rows) => {
                Some(("EXPLAIN of numbers of rows between two with other plans, to one in a hundred", rows))
            }
            Planned::Always => Some(("EXPLAIN; the fewest rows that were tried", tried.least as u64)),
            Planned::Never => None,
        };
        case.metrics.extend(from.map(|(source, rows)| calibrate::FROM_ROWS.count(source, rows)));
        case
    });
    std::iter::once(timed).chain(by_set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(paths: &[(u64, ChosenPlan)]) -> Choice {
        let paths = paths.iter().map(|(from, path)| (*from, Some(*path))).collect();
        Choice { order: Clustering::Random, set: "now", paths }
    }

    fn point(path: ChosenPlan, rows: u64, millis: f64) -> Point {
        Point { millis: vec![millis], ..Point::of(Clustering::Random, path, rows) }
    }

    #[test]
    fn the_index_is_left_where_another_path_comes_first_and_the_full_scan_begins_where_it_stays() {
        use ChosenPlan::{Bitmap, FullScan, Index};
        let planned = |paths: &[(u64, ChosenPlan)]| Switch::BOTH.map(|switch| choice(paths).planned(switch));
        let usual = [(30, Index), (900, Bitmap), (40_000, FullScan)];
        assert_eq!(planned(&usual), [Planned::From(900), Planned::From(40_000)]);
        assert_eq!(
            [30, 899, 900, 50_000].map(|rows| choice(&usual).at(rows)),
            [Some(Index), Some(Index), Some(Bitmap), Some(FullScan)]
        );
        assert_eq!(planned(&[(30, Index)]), [Planned::Never, Planned::Never]);
        assert_eq!(planned(&[(30, FullScan)]), [Planned::Always, Planned::Always]);
        let back_and_forth = [(30, Index), (90, Bitmap), (200, Index), (700, FullScan)];
        assert_eq!(planned(&back_and_forth), [Planned::From(90), Planned::From(700)]);
        let late_index = [(30, Bitmap), (150_000, Index), (190_000, FullScan)];
        assert_eq!(planned(&late_index), [Planned::Always, Planned::From(190_000)], "few rows are not read by it");
    }

    /// What is said where the planner goes from the bitmap to the index and from that to the full scan, with what full
    /// scan, index and bitmap take for two fifths of the table.
    fn said_of_an_index_for_many_rows(at_two_fifths: [f64; 3], others: [[f64; 3]; 2]) -> String {
        use ChosenPlan::{Bitmap, FullScan, Index};
        let numbers = [34_632, 92_352, 184_703];
        let [few, many] = others;
        let of = |(rows, millis): (u64, [f64; 3])| {
            [(FullScan, millis[0]), (Index, millis[1]), (Bitmap, millis[2])].map(|(path, one)| point(path, rows, one))
        };
        let points: Vec<Point> = numbers.into_iter().zip([few, at_two_fifths, many]).flat_map(of).collect();
        let choices = [choice(&[(34_632, Bitmap), (60_000, Index), (149_537, FullScan)])];
        let turn = turn(Clustering::Random, Switch::ToFullScan, &points, &choices).unwrap();
        turn::finding("scattered", &[turn], tried(&numbers, 230_879)).unwrap().message
    }

    #[test]
    fn a_planner_that_takes_the_slow_index_is_not_judged_by_the_bitmap_that_it_does_not_take() {
        let late = said_of_an_index_for_many_rows([15.5, 48.5, 18.5], [[12.4, 16.6, 8.79], [18.9, 79.0, 24.0]]);
        let verdict = "takes it from 150\u{202f}000 rows (65.0 %) on, too late (up to 3.8";
        assert!(late.contains(verdict), "3.13 times as long at two fifths, and more where it changes: {late}");
        let near = said_of_an_index_for_many_rows([16.0, 40.8, 18.0], [[12.5, 15.6, 8.03], [19.0, 79.0, 23.4]]);
        let verdict = "on, about right, but at 92\u{202f}400 rows (40.0 %) its path takes 2.55 times as long as the \
                       fastest. ";
        assert!(near.contains(verdict), "{near}");
        let bitmap = said_of_an_index_for_many_rows([15.5, 18.5, 48.5], [[12.4, 8.79, 16.6], [18.9, 24.0, 79.0]]);
        assert!(bitmap.contains("on, about right. "), "the index is the faster one and loses little: {bitmap}");
    }

    #[test]
    fn a_scan_that_takes_longer_than_any_duration_by_the_server_is_too_long_and_no_panic() {
        let of = |micros| absent(lasting(micros), 96, Duration::from_secs(10)).is_some();
        assert_eq!([1e3, 1e6, 1e25, 1e300].map(of), [false, true, true, true]);
    }

    #[test]
    fn a_path_that_was_ten_times_slower_is_left_out_for_more_rows_and_a_full_scan_never() {
        use ChosenPlan::{Bitmap, FullScan, Index};
        let few = [point(FullScan, 30, 20.0), point(Index, 30, 0.1), point(Bitmap, 30, 0.9)];
        let beyond = |path| Point::of(Clustering::Random, path, 4000);
        let left_out = |points: &[Point], path| slow(points, &beyond(path)).is_some();
        assert_eq!([FullScan, Index, Bitmap].map(|path| left_out(&few, path)), [false; 3]);
        let more = [point(FullScan, 900, 20.0), point(Index, 900, 201.0), point(Bitmap, 900, 30.0)];
        assert_eq!([FullScan, Index, Bitmap].map(|path| left_out(&more, path)), [false, true, false]);
        let left_out = Point { left_out: slow(&more, &beyond(Index)), ..beyond(Index) };
        assert_eq!(slow(std::slice::from_ref(&left_out), &beyond(Index)), left_out.left_out, "and stays so");
    }

    #[test]
    fn each_number_of_rows_is_asked_for_once_however_small_the_table() {
        assert_eq!(numbers(1_000_000), [100, 500, 2000, 10_000, 40_000, 150_000, 400_000, 800_000]);
        assert_eq!(numbers(100), [1, 4, 15, 40, 80]);
    }
}
