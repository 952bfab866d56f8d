//! The procedure on subjects that do nothing: in which order, what a wrong count, an absence and ^C come to.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ::measure::schema::subjects::findings as row;
use ::measure::{Case, Finding, Nanos, Parameters};
use subjects::access_paths::{
    AccessPath, AccessPaths, Asked, Cache, Counting, MemoryNeed, PathFacts, PathOffer, Sampling, ScanCost, ScanPass,
    Sources,
};
use subjects::{Closing, Environment, Opener, Progress, Subject, SubjectError};

use super::measure;
use super::parameters::ScanParameters;
use crate::error::ExperimentError;
use crate::journal::{Kept, Stop};
use crate::machine::Machine;

pub(super) const ROWS: u64 = 1000;

/// What was done, by all subjects of a test.
pub(super) type Log = Rc<RefCell<Vec<String>>>;

/// A subject whose passes take no time.
pub(super) struct Fake {
    pub(super) name: &'static str,
    /// Its paths, with what each counts.
    counts: Vec<(AccessPath, u64)>,
    absent: Option<(AccessPath, &'static str)>,
    /// Raised in the first pass of this path.
    stops_at: Option<(AccessPath, Stop)>,
    pub(super) memory: Vec<MemoryNeed>,
    /// Blocks that the passes of a sample miss.
    pub(super) missed: u64,
    log: Log,
    path: Option<AccessPath>,
}

impl Fake {
    pub(super) fn new(name: &'static str, log: &Log) -> Fake {
        let counts = vec![(AccessPath::IndexGoodClustering, 900), (AccessPath::FullScan, 900)];
        let (absent, stops_at, memory) = (None, None, Vec::new());
        Fake { name, counts, absent, stops_at, memory, missed: 0, log: Rc::clone(log), path: None }
    }

    fn note(&self, what: &str) {
        self.log.borrow_mut().push(format!("{} {what}", self.name));
    }
}

impl Subject for Fake {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> Parameters {
        Parameters::new()
    }

    fn finish(self: Box<Self>) -> Closing {
        self.note("finishes");
        Closing { findings: vec![row::LEFTOVERS_REMOVED.of(self.name)], ..Closing::quiet() }
    }
}

impl AccessPaths for Fake {
    fn paths(&self, _asked: Asked) -> Vec<PathOffer> {
        let has = self.counts.iter().map(|(path, _)| (*path, None));
        let all = has.chain(self.absent.map(|(path, reason)| (path, Some(reason))));
        let offer = |(path, absence): (AccessPath, _)| {
            let is_shared_by_threads = path == AccessPath::FullScan;
            PathOffer { path, is_shared_by_threads, counts_bytes: path.counts_bytes(), absence }
        };
        all.map(offer).collect()
    }

    fn plan(&mut self, paths: &[AccessPath]) -> Result<Vec<MemoryNeed>, SubjectError> {
        self.note(&format!("plans {}", paths.len()));
        Ok(self.memory.clone())
    }

    fn count_instructions(
        &mut self,
        _asked: Asked,
        _limit: Duration,
        _progress: &mut Progress<'_>,
    ) -> Result<Counting, SubjectError> {
        Ok(Counting::None)
    }

    fn prepare(
        &mut self,
        path: AccessPath,
        _asked: Asked,
        _progress: &mut Progress<'_>,
    ) -> Result<Result<PathFacts, Finding>, SubjectError> {
        self.note(&format!("prepares {path}"));
        self.path = Some(path);
        let source = "made up";
        Ok(Ok(PathFacts {
            parameters: Parameters::new(),
            metrics: Vec::new(),
            kernel: None,
            sampling: Sampling { time: Nanos::from_millis(1), laps_max: 4, lap_time: None },
            sources: Sources {
                cpu: source.into(),
                is_processor_time: true,
                is_in_process: self.name == "here",
                elapsed: source,
                rows: source,
                gets: source,
                physical_reads: source,
                touched: source,
                cache: Cache { name: "the cache", advice: "Give fewer --rows." },
            },
        }))
    }

    fn scan(&mut self, pass: &ScanPass<'_>) -> Result<ScanCost, SubjectError> {
        let path = self.path.ok_or(SubjectError::NotPrepared)?;
        if let Some((_, stop)) = self.stops_at.as_ref().filter(|(at, _)| *at == path) {
            stop.share().store(true, std::sync::atomic::Ordering::Relaxed);
        }
        let (_, count) = self.counts.iter().find(|(of, _)| *of == path).ok_or(SubjectError::NotPrepared)?;
        let cpu = Nanos(100 * ROWS * u64::from(pass.laps));
        let (rows, count, physical_reads) = (ROWS, *count, self.missed);
        Ok(ScanCost { cpu, elapsed: cpu, rows, count, gets: 10, physical_reads, ..ScanCost::default() })
    }
}

fn run(parameters: ScanParameters, subjects: Vec<Fake>, stop: Stop) -> (Result<(), ExperimentError>, Kept) {
    let parameters = ScanParameters { rows: Some(ROWS), repeat: 2, ..parameters };
    let openers = subjects
        .into_iter()
        .map(|fake| -> Opener<'_, dyn AccessPaths> { Opener::new(Box::new(|_| Ok(Box::new(fake)))) });
    let (environment, machine) = (Environment::new("/nowhere"), Machine::observe(stop));
    let mut kept = Kept::default();
    let outcome = measure(&parameters, openers.collect(), &environment, None, &machine, &mut kept);
    (outcome, kept)
}

#[test]
fn subjects_are_measured_one_after_the_other_and_each_is_gone_before_the_next_comes() {
    let log = Log::default();
    let parameters = ScanParameters { threads: vec![1, 2], ..ScanParameters::default() };
    let (outcome, kept) = run(parameters, vec![Fake::new("there", &log), Fake::new("here", &log)], Stop::default());
    outcome.unwrap();
    let of = |name: &str| {
        [
            format!("{name} plans 2"),
            format!("{name} prepares index-good-clustering"),
            format!("{name} prepares full-scan"),
            format!("{name} finishes"),
        ]
    };
    assert_eq!(*log.borrow(), [of("there"), of("here")].concat());
    let told = |case: &Case| ["subject", "path", "threads"].map(|name| case.parameter(name).unwrap());
    let cases: Vec<_> = kept.cases.iter().map(told).collect();
    let one = |name: &str, path: &str, threads: &str| [name, path, threads].map(String::from);
    assert_eq!(
        cases[..3],
        [one("there", "index-good-clustering", "1"), one("there", "full-scan", "1"), one("there", "full-scan", "2"),]
    );
    assert_eq!(cases.len(), 6);
    let against = kept.message("answer-against-engine").unwrap();
    assert!(against.contains("index-good-clustering 1.00; full-scan 1.00"), "{against}");
}

#[test]
fn one_subject_alone_has_no_name_in_its_cases() {
    let (outcome, kept) = run(ScanParameters::default(), vec![Fake::new("here", &Log::default())], Stop::default());
    outcome.unwrap();
    assert!(kept.cases.len() == 2 && kept.cases.iter().all(|case| !case.parameters.contains_key("subject")));
}

#[test]
fn a_subject_that_counts_otherwise_ends_the_run_with_both_counts_and_leaves_nothing() {
    let log = Log::default();
    let wrong = Fake { counts: vec![(AccessPath::FullScan, 901)], ..Fake::new("there", &log) };
    let (outcome, kept) = run(ScanParameters::default(), vec![Fake::new("here", &log), wrong], Stop::default());
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("here by index-good-clustering and there by full-scan counted 900 and 901"), "{error}");
    assert_eq!(log.borrow().last().unwrap(), "there finishes");
    assert_eq!(kept.cases.len(), 2, "the cases before are kept");
}

#[test]
fn a_path_that_cannot_answer_is_an_absence_with_its_reason_and_the_others_are_measured() {
    let absent = Some((AccessPath::ColumnCount, "it counts without a predicate"));
    let fake = Fake { absent, ..Fake::new("here", &Log::default()) };
    let (outcome, kept) = run(ScanParameters::default(), vec![fake], Stop::default());
    outcome.unwrap();
    let reason = "column-count was not asked the question all-pass: it counts without a predicate.";
    assert_eq!(kept.message("absent-column-count"), Some(reason));
    assert_eq!((kept.cases.len(), kept.message("absent-column-scan")), (2, None));
    let parameters = ScanParameters { path: vec![AccessPath::FullScan, AccessPath::ColumnScan], ..Default::default() };
    let (_, kept) = run(parameters, vec![Fake::new("here", &Log::default())], Stop::default());
    assert_eq!(kept.message("absent-column-scan"), Some("column-scan is not a path of here."));
    assert_eq!(kept.cases.len(), 1);
}

#[test]
fn an_interrupt_keeps_what_was_finished_and_lets_the_subject_remove_what_it_made() {
    let (log, stop) = (Log::default(), Stop::default());
    let stops_at = Some((AccessPath::FullScan, stop.clone()));
    let fakes = vec![Fake { stops_at, ..Fake::new("here", &log) }, Fake::new("there", &log)];
    let (outcome, kept) = run(ScanParameters::default(), fakes, stop);
    assert!(matches!(outcome, Err(ExperimentError::Stopped)), "{outcome:?}");
    assert_eq!(kept.cases.len(), 1);
    assert_eq!(log.borrow().last().unwrap(), "here finishes");
    assert!(kept.message("leftovers-removed").is_some(), "what a subject says at its end is kept");
}

#[test]
fn a_table_that_needs_more_memory_than_it_is_given_is_refused_before_a_path_is_prepared() {
    let log = Log::default();
    let memory = vec![MemoryNeed { structure: "the rows", bytes: 3 << 20 }];
    let parameters = ScanParameters { memory: Some(::measure::Size(64 << 20)), ..ScanParameters::default() };
    let (outcome, _) = run(parameters, vec![Fake { memory, ..Fake::new("here", &log) }], Stop::default());
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("(3 MiB for the rows") && error.contains("64 MiB is what --memory gives"), "{error}");
    assert_eq!(*log.borrow(), ["here plans 2", "here finishes"]);
}

#[test]
fn the_largest_path_is_not_to_be_left_out_where_it_is_the_only_one_and_nothing_comes_after_it() {
    let refused = |structures: &[&'static str]| {
        let memory = structures.iter().map(|structure| MemoryNeed { structure, bytes: 3 << 20 }).collect();
        let parameters = ScanParameters { memory: Some(::measure::Size(64 << 20)), ..ScanParameters::default() };
        let fake = Fake { memory, ..Fake::new("here", &Log::default()) };
        run(parameters, vec![fake], Stop::default()).0.unwrap_err().to_string()
    };
    let (one, two) = (refused(&["the rows"]), refused(&["the rows", "the columns"]));
    assert!(one.contains("(3 MiB for the rows, and 512 MiB") && one.ends_with("give fewer --rows"), "{one}");
    assert!(two.contains(", one after the other, and") && two.ends_with("leave the largest --path out"), "{two}");
}

#[test]
fn memory_for_the_bandwidth_is_forecast_only_where_a_path_counts_its_bytes() {
    let outcome = |path: AccessPath, given: u64| {
        let memory = vec![MemoryNeed { structure: "the rows", bytes: 3 << 20 }];
        let memory_given = Some(::measure::Size(given << 20));
        let parameters = ScanParameters { path: vec![path], memory: memory_given, ..ScanParameters::default() };
        let fake = Fake { memory, ..Fake::new("here", &Log::default()) };
        run(parameters, vec![fake], Stop::default()).0.map_err(|error| error.to_string())
    };
    let (by_index, by_scan) = (AccessPath::IndexGoodClustering, AccessPath::FullScan);
    assert_eq!([outcome(by_index, 3), outcome(by_scan, 515)], [Ok(()), Ok(())]);
    let refused = outcome(by_index, 2).unwrap_err();
    assert!(refused.contains("need 3 MiB of memory at one time (3 MiB for the rows), and 2 MiB is"), "{refused}");
    let refused = outcome(by_scan, 514).unwrap_err();
    assert!(refused.contains("need 515 MiB of memory at one time (3 MiB for the rows, and 512 MiB"), "{refused}");
}
