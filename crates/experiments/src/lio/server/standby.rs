//! What can be measured where nothing can be made: on a standby, scans of the catalogs that it has.

use measure::quantity::format_nanos;
use measure::{Case, Finding, Metric, Nanos, Parameters, Unit};
use server::Session;
use server::activity::Activity;
use subjects::logical_reads::SubjectError;
use subjects::postgres::catalogs::{Catalog, Catalogs};
use subjects::postgres::statement::{Meter, StatementCost};

use super::measuring::{LAPS_MAX, SAMPLE_TIME, times};
use super::{report_explained, report_unseen};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::lio::LioParameters;
use crate::machine::{Conditions, Machine, Sensitivity};
use crate::on_server;
use crate::on_server::share::{Shares, Start};

/// Measures on a standby; nothing is made there.
pub(super) fn run(
    session: Session,
    parameters: &LioParameters,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    on_server::describe(&session, journal);
    journal.find(Finding::warning(
        "standby",
        format!(
            "{} is a standby, on which no table can be made: what was measured is scans of the catalogs that it has. \
             For tables of the published shapes give the address of its primary.",
            session.address().shown()
        ),
    ));
    let mut bench = Bench {
        name: session.facts().name(),
        catalogs: Catalogs::open(session)?,
        parameters,
        machine,
        found: Vec::new(),
    };
    report_unseen(bench.catalogs.session().facts(), journal);
    if let Meter::Explain(reason) = bench.catalogs.meter() {
        report_explained(reason, journal);
    }
    let (mut activity, mut shares) = (Activity::default(), Shares::default());
    for catalog in bench.catalogs.find()? {
        bench.catalog(&catalog, (&mut activity, &mut shares), journal)?;
    }
    answer(&bench.found, journal);
    on_server::report_activity(&activity, journal);
    shares.report(journal);
    Ok(())
}

struct Bench<'a> {
    name: String,
    catalogs: Catalogs,
    parameters: &'a LioParameters,
    machine: &'a Machine,
    /// Catalogs with their nanoseconds a get.
    found: Vec<(&'static str, f64)>,
}

impl Bench<'_> {
    fn catalog(
        &mut self,
        catalog: &Catalog,
        (activity, shares): (&mut Activity, &mut Shares),
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        let what = format!("full-scan of {}", catalog.name);
        journal.step(&format!("{}: {what}", self.name), SAMPLE_TIME.into());
        let before = self.catalogs.blocks(catalog)?;
        let laps = self.catalogs.laps_for(catalog, SAMPLE_TIME, LAPS_MAX)?;
        activity.look(self.catalogs.session()).map_err(SubjectError::from)?;
        let conditions = Conditions::now(self.machine);
        let start = Start::now(self.machine);
        let mut samples = Vec::new();
        for _ in 0..self.parameters.repeat {
            samples.push(self.catalogs.measure(catalog, laps)?);
        }
        let backend = samples.iter().map(|(scan, beside)| scan.cost.0 + beside.cost.0).sum();
        shares.add(start, Nanos(backend), self.machine);
        let change = conditions.changed(self.machine);
        self.machine.note(&what, &change, Sensitivity::Core);
        let after = self.catalogs.blocks(catalog)?;
        super::measuring::report_misses(&what, before, after, journal);
        let mut case = Case::new(self.parameters_of(catalog));
        case.metrics = self.metrics(catalog, &samples, (laps, after.gets(), after.reads));
        case.metrics.extend(change.metrics());
        self.found.extend(case.metric("lio").map(|lio| (catalog.name, lio.median() * 1e3)));
        Ok(journal.keep(case)?)
    }

    fn parameters_of(&self, catalog: &Catalog) -> Parameters {
        let mut parameters = Parameters::new();
        parameters.insert("subject".into(), self.name.clone().into());
        parameters.insert("table".into(), catalog.name.into());
        parameters.insert("access".into(), "full-scan".into());
        parameters.insert("touch".into(), "rows".into());
        parameters.insert("threads".into(), 1.into());
        parameters.insert("changed_rows".into(), 0.into());
        parameters
    }

    fn metrics(
        &self,
        catalog: &Catalog,
        samples: &[(StatementCost, StatementCost)],
        (laps, gets, reads): (u32, u64, u64),
    ) -> Vec<Metric> {
        let laps = f64::from(laps);
        let of_get = |(scan, beside): &(StatementCost, StatementCost)| {
            scan.cost.since(beside.cost).0 as f64 / laps / gets.max(1) as f64 / 1e3
        };
        let lio: Vec<f64> = samples.iter().map(of_get).collect();
        let backend = self.catalogs.meter().source();
        let source = format!("{backend}, less that of a scan of an empty catalog, over gets");
        let explained = "EXPLAIN (ANALYZE, BUFFERS), one statement";
        let mut metrics: Vec<Metric> =
            Metric::of_samples("lio", Unit::Microseconds, &source, &lio).into_iter().collect();
        let scans: Vec<StatementCost> = samples.iter().map(|(scan, _)| *scan).collect();
        metrics.extend(times(backend, &scans, laps));
        let count = |name: &str, source: &str, value: f64| Metric::single(name, Unit::Count, source, value);
        metrics.push(count("gets", explained, gets as f64));
        metrics.push(count("physical_reads", explained, reads as f64));
        metrics.push(count("rows", "counted by a statement before", catalog.rows as f64));
        let a_block = catalog.rows as f64 / gets.max(1) as f64;
        metrics.push(count("rows_per_block", "rows over blocks got", a_block));
        metrics.push(count("laps", "statements of a sample, one after the other", laps));
        metrics
    }
}

fn answer(found: &[(&'static str, f64)], journal: &mut dyn Journal) {
    let by_cost = |one: &&(&str, f64), other: &&(&str, f64)| one.1.total_cmp(&other.1);
    let (Some(least), Some(most)) = (found.iter().min_by(by_cost), found.iter().max_by(by_cost)) else { return };
    journal.find(Finding::info(
        "answer-standby",
        format!(
            "A logical I/O of a full scan on the standby costs {} ({}) to {} ({}): it has the processor, the memory \
             and the build of the server that answers queries there, whatever the primary has.",
            format_nanos(least.1),
            least.0,
            format_nanos(most.1),
            most.0
        ),
    ));
}
