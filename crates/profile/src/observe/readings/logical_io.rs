//! The cost of a logical I/O: CPU over gets, its spread over statements, and how much of it is the rows'.

use measure::Statistics;
use measure::sorting;

use crate::event::{StatementIndex, Ticks};

/// Least CPU of a statement whose cost a get is believed: up to 12.1 the CPU of a call moves in steps of 1 ms, so that
/// a sum of 10 ms is known to about a tenth.
const CPU_MIN: Ticks = Ticks::from_micros(10_000);

/// Least gets of such a statement.
const GETS_MIN: i64 = 100;

/// Fewest statements to which two costs are fitted.
const STATEMENTS_MIN: usize = 8;

/// Gets and rows that go together this closely (1 less the squared cosine between them) cannot be separated.
const INDEPENDENCE_MIN: f64 = 1e-3;

/// What a statement itself did, recursive children and parse calls left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementWork {
    /// Which.
    pub statement: StatementIndex,
    /// CPU time.
    pub cpu: Ticks,
    /// Consistent and current gets.
    pub gets: i64,
    /// Rows.
    pub rows: u64,
}

impl StatementWork {
    /// µs of CPU a get.
    pub fn micros_per_get(&self) -> f64 {
        self.cpu.micros() / self.gets as f64
    }

    /// Whether its CPU and gets are enough to divide them.
    fn is_enough(&self) -> bool {
        self.cpu >= CPU_MIN && self.gets >= GETS_MIN
    }
}

/// The cost of a logical I/O of a whole trace.
#[derive(Clone, Debug, PartialEq)]
pub struct LogicalIo {
    /// CPU time of all calls but those that parse.
    pub cpu: Ticks,
    /// Their gets.
    pub gets: i64,
    /// Their rows.
    pub rows: u64,
    /// CPU a get in µs over the statements that have enough of both; `None` where there is none.
    pub statements: Option<Statistics>,
    /// Those statements, most gets first.
    pub works: Vec<StatementWork>,
    /// Those of a get and of a row.
    pub costs: Costs,
}

/// The CPU time of a get and of a row, as far as statements tell them apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Costs {
    /// Both are known.
    Known(Fit),
    /// Least squares fit worse than the mean of the statements' CPU does: R² is below 0.
    Refused {
        /// Over how many statements.
        statements: usize,
    },
    /// The statements are too few, have about the same rows a get, or their CPU goes with something else, so that a
    /// cost would be below zero.
    NotFitted,
}

impl LogicalIo {
    /// µs of CPU a get.
    pub fn micros_per_get(&self) -> f64 {
        self.cpu.micros() / self.gets as f64
    }
}

/// CPU = `per_get` × gets + `per_row` × rows, by least squares over statements, each weighted by the inverse of its
/// size (the variance of a sum goes with the number of its terms).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// µs of CPU a get, and its standard error.
    pub per_get: (f64, f64),
    /// µs of CPU a row, and its standard error.
    pub per_row: (f64, f64),
    /// Part of the variance that the fit explains, 0 to 1.
    pub r_squared: f64,
    /// Over how many statements.
    pub statements: usize,
}

/// The cost of a logical I/O from what statements did; `None` where there are no gets or the CPU is not known.
pub fn logical_io(works: &[StatementWork]) -> Option<LogicalIo> {
    let cpu = Ticks(works.iter().fold(0, |sum: i64, work| sum.saturating_add(work.cpu.0)));
    let gets = works.iter().fold(0, |sum: i64, work| sum.saturating_add(work.gets));
    let rows = works.iter().fold(0, |sum: u64, work| sum.saturating_add(work.rows));
    if gets <= 0 {
        return None;
    }
    let mut enough: Vec<StatementWork> = works.iter().copied().filter(StatementWork::is_enough).collect();
    sorting::by_key(&mut enough, |work| (std::cmp::Reverse(work.gets), work.statement));
    let costs: Vec<f64> = enough.iter().map(StatementWork::micros_per_get).collect();
    let statements = Statistics::of_samples(&costs);
    let costs = match fit(&enough) {
        Some(Fit { r_squared, statements, .. }) if r_squared < 0.0 => Costs::Refused { statements },
        Some(fit) => Costs::Known(fit),
        None => Costs::NotFitted,
    };
    Some(LogicalIo { cpu, gets, rows, statements, works: enough, costs })
}

/// The two costs, whatever R² is, which is below 0 where the mean fits better; `None` where the statements are too few,
/// have about the same rows a get, or a cost would be below zero.
fn fit(works: &[StatementWork]) -> Option<Fit> {
    if works.len() < STATEMENTS_MIN {
        return None;
    }
    let points: Vec<Point> = works.iter().map(Point::of_work).collect();
    let sum = |term: fn(&Point) -> f64| points.iter().map(|point| point.weight * term(point)).sum::<f64>();
    let gets_gets = sum(|point| point.gets * point.gets);
    let gets_rows = sum(|point| point.gets * point.rows);
    let rows_rows = sum(|point| point.rows * point.rows);
    let gets_cpu = sum(|point| point.gets * point.cpu);
    let rows_cpu = sum(|point| point.rows * point.cpu);
    let determinant = gets_gets * rows_rows - gets_rows * gets_rows;
    if determinant <= INDEPENDENCE_MIN * gets_gets * rows_rows {
        return None;
    }
    let per_get = (rows_rows * gets_cpu - gets_rows * rows_cpu) / determinant;
    let per_row = (gets_gets * rows_cpu - gets_rows * gets_cpu) / determinant;
    if per_get < 0.0 || per_row < 0.0 {
        return None;
    }
    let rest = |point: &Point| (point.cpu - per_get * point.gets - per_row * point.rows).powi(2) * point.weight;
    let unexplained: f64 = points.iter().map(rest).sum();
    let mean = sum(|point| point.cpu) / sum(|_| 1.0);
    let total: f64 = points.iter().map(|point| point.weight * (point.cpu - mean).powi(2)).sum();
    let variance = unexplained / (points.len() - 2) as f64;
    Some(Fit {
        per_get: (per_get, (variance * rows_rows / determinant).sqrt()),
        per_row: (per_row, (variance * gets_gets / determinant).sqrt()),
        r_squared: if total > 0.0 { 1.0 - unexplained / total } else { 0.0 },
        statements: points.len(),
    })
}

/// A statement as the fit sees it; CPU in µs.
struct Point {
    weight: f64,
    gets: f64,
    rows: f64,
    cpu: f64,
}

impl Point {
    fn of_work(work: &StatementWork) -> Point {
        let (gets, rows) = (work.gets as f64, work.rows as f64);
        Point { weight: 1.0 / (gets + rows).max(1.0), gets, rows, cpu: work.cpu.micros() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Context;
    use measure::random::SplitMix64;

    fn work(statement: u32, micros: f64, gets: i64, rows: u64) -> StatementWork {
        StatementWork { statement: StatementIndex(statement), cpu: Ticks((micros * 125.0) as i64), gets, rows }
    }

    /// Statements of 3 µs a get and 0.5 µs a row, each off by up to a tenth.
    fn statements(count: u32) -> Vec<StatementWork> {
        let mut random = SplitMix64::new(3);
        let one = |statement| {
            let gets = 5000 + random.below(100_000) as i64;
            let rows = random.below(20) * gets as u64;
            let noise = 0.9 + 0.2 * random.below(1000) as f64 / 1000.0;
            work(statement, (3.0 * gets as f64 + 0.5 * rows as f64) * noise, gets, rows)
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn the_cost_of_a_get_is_told_from_the_cost_of_a_row() {
        let Costs::Known(fit) = logical_io(&statements(60)).unwrap().costs else { panic!("no fit") };
        assert!((fit.per_get.0 - 3.0).abs() < 4.0 * fit.per_get.1, "{fit:?}");
        assert!((fit.per_row.0 - 0.5).abs() < 4.0 * fit.per_row.1, "{fit:?}");
        assert!(fit.per_get.1 < 0.3 && fit.per_row.1 < 0.05 && fit.r_squared > 0.9, "{fit:?}");
    }

    #[test]
    fn a_fit_that_means_nothing_is_refused() {
        assert_eq!(logical_io(&statements(7)).unwrap().costs, Costs::NotFitted);
        let alike: Vec<_> =
            (1..=20).map(|i| work(i, f64::from(i) * 1e5, i64::from(i) * 1000, u64::from(i) * 3)).collect();
        assert_eq!(logical_io(&alike).unwrap().costs, Costs::NotFitted);
        let against: Vec<_> =
            (1..=20).map(|i| work(i, 5e6 - f64::from(i) * 2e5, i64::from(i) * 1000, u64::from(i * i) * 100)).collect();
        assert_eq!(logical_io(&against).unwrap().costs, Costs::NotFitted);
    }

    #[test]
    fn a_fit_that_is_worse_than_the_mean_states_no_cost_and_says_why() {
        // CPU that goes neither with gets nor with rows.
        let one =
            |i: u32| work(i, f64::from(20_000 + 10_000 * (i % 2)), i64::from(i) * 1000, u64::from((i % 4) * i) * 1000);
        let cost = logical_io(&(1..=20).map(one).collect::<Vec<_>>()).unwrap();
        assert_eq!(cost.costs, Costs::Refused { statements: 20 });
        let said = cost.findings().remove(0).message;
        assert!(said.contains("over 20 statements") && !said.contains(" ± "), "{said}");
        let metrics = cost.cases(&Context::default()).into_iter().flat_map(|case| case.metrics);
        let names: Vec<String> = metrics.map(|metric| metric.name).collect();
        assert!(!names.is_empty() && !names.iter().any(|name| name.starts_with("cpu_per")), "{names:?}");
    }

    #[test]
    fn statements_below_the_step_of_the_cpu_clock_count_in_the_whole_only() {
        let cost = logical_io(&[work(0, 20_000.0, 1000, 5), work(1, 1000.0, 9000, 5)]).unwrap();
        assert_eq!((cost.gets, cost.rows, cost.works.len()), (10_000, 10, 1));
        assert_eq!(cost.micros_per_get(), 2.1);
        assert_eq!(cost.statements.unwrap().median, 20.0);
    }

    #[test]
    fn without_gets_there_is_no_cost_and_no_number_overflows() {
        assert_eq!(logical_io(&[]), None);
        assert_eq!(logical_io(&[work(0, 20_000.0, 0, 5)]), None);
        let huge = StatementWork { statement: StatementIndex(0), cpu: Ticks(i64::MAX), gets: i64::MAX, rows: u64::MAX };
        assert!(logical_io(&[huge; 9]).is_some());
    }
}
