//! The procedure on subjects that do nothing: in which order, with which keys, what a wrong sum, an absence and ^C come
//! to.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use ::measure::schema::join;
use ::measure::schema::subjects::findings as row;
use ::measure::{Finding, Metric, Nanos, Parameters};
use subjects::nested_loops::{
    Asked, BlockCost, DeviceReads, Explained, Group, InnerFacts, InnerTable, JoinCost, JoinPass, JoinVariant,
    NestedLoops, ScanCost, Sources,
};
use subjects::{Closing, Environment, Opener, Progress, Subject, SubjectError};

use super::{JoinParameters, measure};
use crate::error::ExperimentError;
use crate::journal::{Kept, Stop};
use crate::machine::Machine;

const ROWS: u64 = 1000;

/// Outer rows that a fake has memory for.
const OUTER_ROWS_MAX: u64 = 1_000_000;

/// What was done, by all subjects of a test.
pub(super) type Log = Rc<RefCell<Vec<String>>>;

/// A subject whose joins take no time.
pub(super) struct Fake {
    name: &'static str,
    /// Whether it sees only from outside what its joins wait for.
    pub(super) is_apart: bool,
    /// CPU time of a join.
    pub(super) cpu: Option<Nanos>,
    /// Groups, of which the last cannot be measured where there is a reason.
    groups: Vec<Group>,
    absence: Option<&'static str>,
    /// What its reads without a join came from.
    not_from_storage: Option<&'static str>,
    /// Added to each sum.
    error: i64,
    /// How far the joins of each way lie apart: the first takes so much less, the third so much more.
    pub(super) spreads: [f64; 2],
    /// What a join takes of the time that passes here.
    pause: Duration,
    /// Raised in the join of this number.
    stops_at: Option<(usize, Stop)>,
    joins: usize,
    table: Option<InnerTable>,
    log: Log,
}

fn group(name: &str, is_direct: bool) -> Group {
    let variant = |method, is_gathered| JoinVariant { method, parameters: Parameters::new(), size: None, is_gathered };
    let parameters = Parameters::from_iter([("direct".to_string(), is_direct.into())]);
    let variants = vec![variant("one-at-a-time", false), variant("batch", true)];
    Group { name: name.into(), is_direct, parameters, variants, gathers_nothing: None }
}

impl Fake {
    pub(super) fn new(name: &'static str, log: &Log) -> Fake {
        let groups = vec![group("", false)];
        let (absence, stops_at, table, log) = (None, None, None, Rc::clone(log));
        Fake {
            name,
            is_apart: false,
            cpu: None,
            groups,
            absence,
            not_from_storage: None,
            error: 0,
            spreads: [0.0, 0.0],
            pause: Duration::ZERO,
            stops_at,
            joins: 0,
            table,
            log,
        }
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
        Parameters::from_iter([("kind".to_string(), self.name.into())])
    }

    fn finish(self: Box<Self>) -> Closing {
        self.note("finishes");
        Closing { findings: vec![row::LEFTOVERS_REMOVED.of(self.name)], ..Closing::quiet() }
    }
}

impl NestedLoops for Fake {
    fn check_outer_rows(&self, count: u64) -> Result<(), SubjectError> {
        let refused = || SubjectError::Failed("give fewer --outer-rows".into());
        if count > OUTER_ROWS_MAX { Err(refused()) } else { Ok(()) }
    }

    fn prepare(&mut self, table: InnerTable, _progress: &mut Progress<'_>) -> Result<InnerFacts, SubjectError> {
        self.note(&format!("prepares {}", table.rand));
        self.table = Some(table);
        let source = "made up";
        let explained = self.is_apart.then_some(source);
        Ok(InnerFacts {
            groups: self.groups.clone(),
            keys_may_repeat: !self.is_apart,
            is_virtual: false,
            join_time: Duration::ZERO,
            sources: Sources { elapsed: source, waiting: source, blocks: source, explained, ..Sources::default() },
        })
    }

    fn turn_to(&mut self, group: usize) -> Result<Result<(), Finding>, SubjectError> {
        let absence = self.absence.filter(|_| group + 1 == self.groups.len());
        Ok(absence.map_or(Ok(()), |reason| Err(row::ABSENT_IO_METHOD.named("worker", reason))))
    }

    fn join(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError> {
        if let Some((_, stop)) = self.stops_at.as_ref().filter(|(at, _)| *at == self.joins) {
            stop.share().store(true, Ordering::Relaxed);
        }
        self.joins += 1;
        thread::sleep(self.pause);
        let JoinPass { variant, keys, explained } = *pass;
        self.note(&format!("joins {variant} from {}", keys.first));
        let table = self.table.ok_or(SubjectError::NotPrepared)?;
        // Gathered joins take a quarter.
        let millis = if variant == 0 { 40.0 } else { 10.0 };
        let apart = [-1.0, 0.0, 1.0][(self.joins - 1) / 2 % 3] * self.spreads[variant];
        let elapsed = Nanos((millis * (1.0 + apart) * 1e6) as u64);
        let waiting = (!self.is_apart).then_some(elapsed);
        let blocks = BlockCost { read: 200, waiting, ..BlockCost::default() };
        let explained = explained.map(|_| Explained { read: 400, hits: 0, waiting: Some(elapsed) });
        let sum = Some(table.sum(keys)? + self.error);
        Ok(JoinCost { sum, elapsed, cpu: self.cpu, table: blocks, index: blocks, explained, ..JoinCost::default() })
    }

    fn scan(&mut self) -> Result<Option<ScanCost>, SubjectError> {
        let elapsed = Nanos::from_millis(100);
        let cost = ScanCost { elapsed, waiting: Some(elapsed), blocks: 1429, cpu: None, rows: ROWS };
        Ok((!self.is_apart).then_some(cost))
    }

    fn read_alone(&mut self) -> Result<Option<DeviceReads>, SubjectError> {
        let not_from_storage = self.not_from_storage.map(String::from);
        Ok((!self.is_apart).then_some(DeviceReads { alone: 4.0, together: 1.0, depth: 64, not_from_storage }))
    }
}

fn run(parameters: JoinParameters, subjects: Vec<Fake>, stop: Stop) -> (Result<(), ExperimentError>, Kept) {
    run_all(JoinParameters { outer_rows: 300, ..parameters }, subjects, stop)
}

fn run_all(parameters: JoinParameters, subjects: Vec<Fake>, stop: Stop) -> (Result<(), ExperimentError>, Kept) {
    let asked = Asked { rows: ROWS, ..Asked::default() };
    let parameters = JoinParameters { repeat: Some(2), asked, ..parameters };
    let openers = subjects
        .into_iter()
        .map(|fake| -> Opener<'_, dyn NestedLoops> { Opener::new(Box::new(|_| Ok(Box::new(fake)))) });
    let (environment, machine) = (Environment::new("/nowhere"), Machine::observe(stop));
    let mut kept = Kept::default();
    let outcome = measure(&parameters, openers.collect(), &environment, &machine, &mut kept);
    (outcome, kept)
}

#[test]
fn outer_rows_that_a_subject_has_no_memory_for_are_refused_before_the_first_join() {
    let log = Log::default();
    let parameters = JoinParameters { outer_rows: OUTER_ROWS_MAX + 1, ..JoinParameters::default() };
    let (outcome, kept) = run_all(parameters, vec![Fake::new("here", &log)], Stop::default());
    assert_eq!(outcome.unwrap_err().to_string(), "give fewer --outer-rows");
    assert!(log.borrow().is_empty() && kept.cases.is_empty(), "{:?}", log.borrow());
}

#[test]
fn ways_take_turns_in_a_rotating_order_and_each_join_takes_keys_of_its_own() {
    let log = Log::default();
    let (outcome, kept) = run(JoinParameters::default(), vec![Fake::new("here", &log)], Stop::default());
    outcome.unwrap();
    assert_eq!(
        *log.borrow(),
        [
            "here prepares 100",
            "here joins 0 from 1",
            "here joins 1 from 301",
            "here joins 1 from 601",
            // A fourth range does not fit: the keys go on from the first after the last.
            "here joins 0 from 901",
            "here finishes"
        ]
    );
    assert!(kept.cases.iter().all(|case| !case.parameters.contains_key("subject")), "one alone has no name");
    assert!(kept.message("answer-gain").unwrap().contains("batch 4.00; random reads"), "{:?}", kept.findings);
    assert!(kept.message("planner-view").is_some());
}

#[test]
fn the_time_left_of_joins_that_take_longer_than_was_assumed_follows_from_those_that_are_done() {
    let pause = Duration::from_millis(20);
    let fake = Fake { pause, ..Fake::new("here", &Log::default()) };
    let (outcome, kept) = run(JoinParameters::default(), vec![fake], Stop::default());
    outcome.unwrap();
    let joins = kept.steps.iter().filter(|(what, _)| what.starts_with("joins"));
    let left: Vec<Duration> = joins.map(|(_, left)| *left).collect();
    // Two rounds of two joins, which were assumed to take no time.
    assert_eq!((left.len(), left[0]), (4, Duration::ZERO));
    assert!((1..4).all(|done: usize| left[done] >= pause * (4 - done as u32)), "{left:?}");
}

#[test]
fn a_join_of_more_keys_than_there_are_is_divided_by_those_that_it_looked_up() {
    let fake = Fake { is_apart: true, cpu: Some(Nanos::from_millis(ROWS)), ..Fake::new("here", &Log::default()) };
    let parameters = JoinParameters { outer_rows: 2 * ROWS, ..JoinParameters::default() };
    let (outcome, kept) = run_all(parameters, vec![fake], Stop::default());
    outcome.unwrap();
    let cpu = kept.cases.iter().filter_map(|case| join::CPU_PER_LOOKUP.in_case(case)).map(Metric::median);
    let cpu: Vec<f64> = cpu.collect();
    assert!(!cpu.is_empty() && cpu.iter().all(|micros| *micros == 1000.0), "{cpu:?}");
}

#[test]
fn reads_without_a_join_that_the_storage_did_not_serve_have_no_gain() {
    let fake = Fake { not_from_storage: Some("96 % of the file stayed"), ..Fake::new("here", &Log::default()) };
    let (outcome, kept) = run(JoinParameters::default(), vec![fake], Stop::default());
    outcome.unwrap();
    let gain = kept.message("answer-gain").unwrap();
    assert!(gain.contains("is not known, because") && gain.contains("96 % of the file stayed"), "{gain}");
    assert!(!gain.contains("random reads of the same file without a join gain a factor of"), "{gain}");
}

#[test]
fn subjects_follow_one_another_and_the_later_ones_are_compared_with_those_before() {
    let log = Log::default();
    let there = Fake { is_apart: true, ..Fake::new("there", &log) };
    let (outcome, kept) = run(JoinParameters::default(), vec![Fake::new("here", &log), there], Stop::default());
    outcome.unwrap();
    let told: Vec<String> = log.borrow().iter().filter(|line| line.starts_with("there joins")).cloned().collect();
    // Between two of them lies the range of the join that is explained; three ranges fit into the table.
    assert_eq!(
        told,
        ["there joins 0 from 1", "there joins 1 from 601", "there joins 1 from 301", "there joins 0 from 1"]
    );
    let gain = kept.message("answer-server-gain").unwrap();
    assert!(
        gain.contains("gains a factor of 4.00:") && gain.contains("here gains a factor of 4.00 by batch"),
        "{gain}"
    );
    assert_eq!((&kept.subject["kind"], &kept.subject["beside"]["here"]["kind"]), (&"there".into(), &"here".into()));
    let of_there = kept.cases.iter().filter(|case| case.parameter("subject").unwrap() == "there");
    assert!(of_there.clone().all(|case| case.metric("gain").is_some() && case.metric("break_even").is_none()));
    assert_eq!((of_there.count(), kept.cases.len()), (2, 5), "only the first has a full scan");
}

#[test]
fn each_sentence_of_a_run_on_several_subjects_names_the_one_that_it_is_about() {
    let log = Log::default();
    let there = Fake { is_apart: true, ..Fake::new("there", &log) };
    let (outcome, kept) = run(JoinParameters::default(), vec![Fake::new("here", &log), there], Stop::default());
    outcome.unwrap();
    let about = [
        ("answer-gain", "here"),
        ("planner-view", "here"),
        ("answer-server-gain", "there"),
        ("answered-by-storage", "there"),
    ];
    for (id, name) in about {
        let message = kept.message(id).unwrap();
        assert!(message.starts_with(&format!("On {name}, ")), "{message}");
    }
}

#[test]
fn a_nested_loop_gains_nothing_over_itself_however_its_joins_scatter() {
    let log = Log::default();
    let there = Fake { is_apart: true, spreads: [0.9, 0.0], ..Fake::new("there", &log) };
    let (outcome, kept) = run(JoinParameters::default(), vec![there], Stop::default());
    outcome.unwrap();
    let gain = |case: &::measure::Case| case.metric("gain").unwrap().median();
    assert_eq!(gain(&kept.cases[0]), 1.0);
    let elapsed: Vec<f64> = kept.cases.iter().map(|case| case.metric("elapsed").unwrap().median()).collect();
    assert_eq!(gain(&kept.cases[1]), elapsed[0] / elapsed[1]);
}

#[test]
fn a_sum_that_is_not_that_of_the_rows_ends_the_run_with_both_and_leaves_nothing() {
    let log = Log::default();
    let wrong = Fake { error: 1, ..Fake::new("there", &log) };
    let (outcome, kept) = run(JoinParameters::default(), vec![Fake::new("here", &log), wrong], Stop::default());
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("there by one-at-a-time sums ") && error.contains("where the rows have"), "{error}");
    assert_eq!(log.borrow().last().unwrap(), "there finishes");
    assert_eq!(kept.cases.len(), 4, "the cases before are kept");
}

#[test]
fn a_group_that_cannot_be_measured_is_an_absence_and_the_others_are_measured() {
    let groups = vec![group("one", false), group("two", true)];
    let (is_apart, absence) = (true, Some("It does not start."));
    let fake = Fake { groups, is_apart, absence, ..Fake::new("there", &Log::default()) };
    let (outcome, kept) = run(JoinParameters::default(), vec![fake], Stop::default());
    outcome.unwrap();
    assert_eq!((kept.message("absent-worker"), kept.cases.len()), (Some("It does not start."), 2));
}

#[test]
fn an_interrupt_keeps_what_was_finished_and_lets_the_subject_remove_what_it_made() {
    let (log, stop) = (Log::default(), Stop::default());
    let fake = Fake { stops_at: Some((5, stop.clone())), ..Fake::new("here", &log) };
    let parameters = JoinParameters { rands: vec![0, 100], ..JoinParameters::default() };
    let (outcome, kept) = run(parameters, vec![fake, Fake::new("there", &log)], stop);
    assert!(matches!(outcome, Err(ExperimentError::Stopped)), "{outcome:?}");
    assert_eq!(kept.cases.len(), 3, "the scan, and the joins of the first table");
    assert_eq!(log.borrow().last().unwrap(), "here finishes");
    assert!(kept.message("leftovers-removed").is_some(), "what a subject says at its end is kept");
}
