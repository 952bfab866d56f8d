//! Probes as they are planned and run: what the planner chooses for one, what it took, and what ANALYZE takes for a
//! sample.

use std::time::{Duration, Instant};

use server::session::ROW_TIME;
use server::{Buffers, Plan, schema};

use super::Calibration;
use super::probe::{ChosenPlan, Clustering, DENSE, Executed, Probe, Ways, executed};
use crate::error::SubjectError;

/// What ANALYZE goes by, and the rows that it samples for each unit of it.
pub(super) const STATISTICS_TARGET: &str = "default_statistics_target";
pub(super) const ROWS_A_TARGET: u64 = 300;

/// The largest that the server takes.
const TARGET_MAX: u64 = 10_000;

impl Calibration {
    /// The plan that the planner chooses; `None` where it goes another way.
    pub fn chosen(&mut self, probe: Probe) -> Result<Option<ChosenPlan>, SubjectError> {
        Ok(ChosenPlan::of(&self.planned(probe)?))
    }

    /// The planner's cost of a path, in the unit of its constants; `None` where it goes another way.
    pub fn cost_of(&mut self, probe: Probe, path: ChosenPlan) -> Result<Option<f64>, SubjectError> {
        Ok(self.planned(probe)?.top.find(path.step()).and_then(|step| step.total_cost))
    }

    /// The plan of a statement. A dry run assumes that it reads the whole table for a tenth of the rows.
    fn planned(&mut self, probe: Probe) -> Result<Plan, SubjectError> {
        let is_many = self.rows_of(probe) > self.sizes.rows / 10;
        let assumed = if is_many { ChosenPlan::FullScan } else { ChosenPlan::Index };
        let assumed = Plan::assumed(assumed.step(), Buffers::default());
        Ok(self.session().explain_with("", &probe.statement(), assumed)?)
    }

    fn rows_of(&self, probe: Probe) -> u64 {
        match probe {
            Probe::Dense { .. } => self.sizes.rows,
            Probe::Sparse => self.sizes.sparse_rows,
            Probe::Count { rows, .. } | Probe::Fetch { rows, .. } => rows,
            // A part is handed over, and all are read.
            Probe::Rows { .. } => self.sizes.rows,
        }
    }

    /// Runs a statement and returns what it took; an error where the planner did not go the only way that was left.
    pub fn execute(&mut self, probe: Probe, ways: Ways) -> Result<Executed, SubjectError> {
        let statement = probe.statement();
        let plan = self.explained(&statement, self.rows_of(probe))?;
        let step = match ways {
            Ways::All => None,
            Ways::Only(chosen) => Some(chosen.step()),
            Ways::IndexOnly => Some("Index Only Scan"),
        };
        if let Some(step) = step.filter(|_| !self.is_rehearsal()) {
            plan.step(&statement, step)?;
        }
        executed(&plan)
    }

    fn explained(&mut self, statement: &str, rows: u64) -> Result<Plan, SubjectError> {
        let time = ROW_TIME.as_secs_f64() * rows as f64;
        self.session().assume(Duration::from_secs_f64(time));
        self.timed_as(statement, time)
    }

    /// Runs a statement; a dry run assumes these seconds.
    pub(super) fn timed_as(&mut self, statement: &str, time: f64) -> Result<Plan, SubjectError> {
        let mut assumed = Plan::assumed("Aggregate", Buffers::default());
        (assumed.execution_ms, assumed.top.workers) = (Some(time * 1e3), Some(1));
        Ok(self.session().explain(statement, assumed)?)
    }

    /// Microseconds of processor time of a statement that counts `count`, one of `laps` in a row.
    pub fn processor_micros(&mut self, probe: Probe, count: u64, laps: u32) -> Result<f64, SubjectError> {
        let taken = self.meter.measure(self.home.session(), &probe.statement(), count, laps)?;
        Ok(taken.cpu.0 as f64 / 1e3 / f64::from(laps))
    }

    /// Microseconds that ANALYZE takes to sample about `rows` rows of the first table, by the clock of this process.
    ///
    /// A sample has 300 rows for each unit of the statistics target, from as many blocks where there are enough.
    /// Source: PostgreSQL, `src/backend/commands/analyze.c`, `std_typanalyze`.
    pub fn sample_micros(&mut self, rows: u64) -> Result<f64, SubjectError> {
        self.set(STATISTICS_TARGET, &target_of(rows).to_string())?;
        let started = Instant::now();
        self.session().run(&format!("ANALYZE {}", schema::full_name(DENSE)))?;
        Ok(started.elapsed().as_secs_f64() * 1e6)
    }

    /// Gives the first table the statistics that it had before [`Calibration::sample_micros`].
    pub fn restore_statistics(&mut self) -> Result<(), SubjectError> {
        self.reset(STATISTICS_TARGET)?;
        Ok(self.session().run(&format!("ANALYZE {}", schema::full_name(DENSE)))?)
    }

    /// Brings both tables and the indexes into the buffers.
    ///
    /// By the index in whose order the rows lie: a full scan would pass through a ring and leave nothing.
    pub fn warm(&mut self) -> Result<(), SubjectError> {
        let rows = self.sizes.rows;
        self.allow(Ways::IndexOnly)?;
        for clustering in Clustering::ALL {
            self.execute(Probe::Count { clustering, rows }, Ways::IndexOnly)?;
        }
        let ways = Ways::Only(ChosenPlan::Index);
        self.allow(ways)?;
        self.execute(Probe::Fetch { clustering: Clustering::Good, rows }, ways)?;
        self.allow(Ways::All)?;
        self.execute(Probe::Sparse, Ways::All)?;
        Ok(())
    }
}

/// The statistics target by which ANALYZE samples about `rows` rows, or as many as it can.
fn target_of(rows: u64) -> u64 {
    (rows / ROWS_A_TARGET).clamp(1, TARGET_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_more_rows_than_a_target_allows_is_asked_for_by_the_largest_target() {
        assert_eq!([1, 1024, 3_000_000, 4_194_304].map(target_of), [1, 3, 10_000, 10_000]);
    }
}
