//! The table of experiments, and whether a run keeps to it.

use std::collections::BTreeSet;

use super::spec::{Experiment, Spec};
use super::{calibrate, contest, counters, disk, join, ladder, lio, null, own_cost, profile, roundtrip, scan};
use crate::metric::Metric;
use crate::run::Run;
use crate::unit::Unit;

/// All experiments.
pub const EXPERIMENTS: [&Experiment; 11] = [
    &ladder::EXPERIMENT,
    &disk::EXPERIMENT,
    &roundtrip::EXPERIMENT,
    &lio::EXPERIMENT,
    &scan::EXPERIMENT,
    &join::EXPERIMENT,
    &calibrate::EXPERIMENT,
    &counters::EXPERIMENT,
    &profile::EXPERIMENT,
    &null::EXPERIMENT,
    &contest::EXPERIMENT,
];

/// The experiment of this name; a name in the table that ends in `*` stands for all that begin so.
pub fn experiment(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.into_iter().find(|experiment| match experiment.name.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => experiment.name == name,
    })
}

/// The specification of a metric of any experiment, by its name and unit.
pub fn find(name: &str, unit: Unit) -> Option<Spec> {
    let specs = EXPERIMENTS.into_iter().flat_map(Experiment::all_metrics).chain(own_cost::METRICS);
    let known = specs.filter(|spec| spec.unit == unit).find(|spec| spec.name == name).cloned();
    known.or_else(|| EXPERIMENTS.into_iter().find_map(|experiment| experiment.of_family(name, unit)))
}

/// What of a run is not in the table, a sentence each: its experiment, parameters, tables of a profile, metrics with
/// their units, findings.
pub fn check(run: &Run) -> Vec<String> {
    let Some(experiment) = experiment(&run.experiment) else {
        return vec![format!("there is no experiment {}", run.experiment)];
    };
    let mut unknown = BTreeSet::new();
    let own_cost = run.own_cost.iter().filter(|metric| !is_one_of(own_cost::METRICS.iter(), metric));
    unknown
        .extend(own_cost.map(|metric| format!("own_cost has no metric {} in {}", metric.name, metric.unit.symbol())));
    for case in &run.cases {
        let parameters = case.parameters.keys();
        let strange = parameters.filter(|name| !experiment.all_parameters().any(|known| known.name == name.as_str()));
        unknown.extend(strange.map(|name| format!("{} has no parameter {name}", experiment.name)));
        let table = profile::parameters::TABLE.in_case(case).filter(|_| experiment.name == profile::EXPERIMENT.name);
        let strange = table.filter(|table| !profile::TABLES.contains(&table.as_str()));
        unknown.extend(strange.map(|table| format!("{} has no table {table}", experiment.name)));
        let strange = case.metrics.iter().filter(|metric| !experiment.has(metric));
        unknown
            .extend(strange.map(|metric| {
                format!("{} has no metric {} in {}", experiment.name, metric.name, metric.unit.symbol())
            }));
    }
    let strange = run.findings.iter().filter(|finding| experiment.row_of(finding).is_none());
    unknown.extend(
        strange.map(|found| format!("{} has no finding {} that is {:?}", experiment.name, found.id, found.severity)),
    );
    unknown.into_iter().collect()
}

impl Experiment {
    /// Whether the table has a metric of this name and unit.
    pub fn has(&self, metric: &Metric) -> bool {
        is_one_of(self.all_metrics(), metric) || self.of_family(&metric.name, metric.unit).is_some()
    }

    fn of_family(&self, name: &str, unit: Unit) -> Option<Spec> {
        self.all_families().filter(|family| family.unit == unit).find_map(|family| family.named(name))
    }
}

fn is_one_of<'a>(mut specs: impl Iterator<Item = &'a Spec>, metric: &Metric) -> bool {
    specs.any(|spec| spec.name == metric.name && spec.unit == metric.unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::finding::{Finding, Severity};
    use crate::run::SCHEMA;
    use crate::schema::every;
    use crate::schema::lio::{self, parameters};

    fn run(experiment: &str, case: Case) -> Run {
        Run {
            schema: SCHEMA.into(),
            id: "test".into(),
            experiment: experiment.into(),
            cases: vec![case],
            ..Run::default()
        }
    }

    #[test]
    fn a_metric_a_unit_or_a_parameter_outside_the_table_is_named() {
        let mut case =
            Case::new([parameters::ROW_LENGTH.of(25), ("row_lenght".into(), 25.into())].into_iter().collect());
        case.metrics = vec![
            lio::GETS.count("gate", 5),
            Spec::new("getz", Unit::Count, "").single("gate", 5.0),
            Spec::new("lio", Unit::Seconds, "").single("clock", 5.0),
        ];
        let complaints =
            ["lio has no metric getz in count", "lio has no metric lio in s", "lio has no parameter row_lenght"];
        assert_eq!(check(&run("lio", case)), complaints);
        assert_eq!(check(&run("oil", Case::default())), ["there is no experiment oil"]);
    }

    #[test]
    fn a_row_of_a_table_that_no_profile_has_is_named() {
        let of = |table: &str| {
            check(&run("profile", Case::new([profile::parameters::TABLE.of(table)].into_iter().collect())))
        };
        assert_eq!(of("sumary"), ["profile has no table sumary"]);
        assert!(of("summary").is_empty());
        let of_lio = Case::new([parameters::TABLE.of("pg_proc")].into_iter().collect());
        assert!(check(&run("lio", of_lio)).is_empty(), "there it is a table of a database");
    }

    #[test]
    fn a_finding_of_another_experiment_or_severity_is_named() {
        let mut found = run("lio", Case::default());
        found.findings = vec![
            lio::findings::ANSWER_SPLIT.of("Known."),
            every::findings::FAILED.of("Known."),
            lio::findings::SOURCES_DIFFER.named("clocks", "Known."),
            disk::findings::ANSWER_ZONES.of("Of a disk."),
            Finding { severity: Severity::Warning, ..lio::findings::ANSWER_RATIO.of("No warning.") },
        ];
        let complaints =
            ["lio has no finding answer-ratio that is Warning", "lio has no finding answer-zones that is Info"];
        assert_eq!(check(&found), complaints);
    }

    #[test]
    #[should_panic(expected = "sources-differ-* has no weather")]
    fn a_finding_is_not_made_with_a_stem_that_its_row_lacks() {
        lio::findings::SOURCES_DIFFER.named("weather", "It rains.");
    }

    #[test]
    fn every_contest_is_known_and_keeps_to_one_table() {
        let mut case = Case::new([contest::parameters::CONTENDER.of("fio")].into_iter().collect());
        case.metrics = vec![contest::IOPS.single("fio", 5.0), contest::bar(Unit::Ratio).single("pairs", 1.0)];
        assert!(check(&run("contest-fio", case.clone())).is_empty());
        assert_eq!(check(&run("contest", case)), ["there is no experiment contest"]);
    }

    #[test]
    fn one_of_a_family_is_known_and_a_name_like_it_is_not() {
        let of = |name| Spec::new(name, Unit::Count, "").single("count", 1.0);
        let metrics = ["cycles", "cycles_per_row", "llc_loads_per_get"].map(of).into();
        let mut case = Case { metrics, ..Case::default() };
        assert!(check(&run("scan", case.clone())).is_empty());
        case.metrics.push(of("wheels_per_row"));
        case.metrics.push(of("_per_row"));
        assert_eq!(check(&run("scan", case)).len(), 2);
        let bandwidth = ladder::BANDWIDTH_OF_THREADS.of("16").single("sum", 1.0);
        assert_eq!(bandwidth.name, "bandwidth_16_threads");
        assert!(ladder::EXPERIMENT.has(&bandwidth));
        assert_eq!(find("bandwidth_16_threads", Unit::MebibytesPerSecond), Some(ladder::BANDWIDTH_OF_THREADS.of("16")));
    }

    #[test]
    fn no_name_stands_twice_with_one_unit_and_a_published_figure_names_a_metric() {
        for experiment in EXPERIMENTS {
            let mut seen = BTreeSet::new();
            for spec in experiment.all_metrics() {
                assert!(seen.insert((spec.name.clone(), spec.unit.symbol())), "{} {}", experiment.name, spec.name);
            }
            let mut seen = BTreeSet::new();
            for parameter in experiment.all_parameters() {
                assert!(seen.insert(parameter.name), "{} {}", experiment.name, parameter.name);
            }
            let mut seen = BTreeSet::new();
            for row in experiment.findings.iter().flat_map(|group| group.rows) {
                assert!(seen.insert((row.id, row.meaning)), "{} {}", experiment.name, row.id);
                assert_eq!(row.id.contains('*'), !row.stems.is_empty(), "{}", row.id);
            }
            for metric in experiment.published.iter().filter_map(|published| published.metric) {
                let is_known = experiment.all_metrics().any(|spec| spec.name == metric)
                    || experiment.all_families().any(|family| family.named(metric).is_some());
                assert!(is_known, "{} {metric}", experiment.name);
            }
        }
    }
}
