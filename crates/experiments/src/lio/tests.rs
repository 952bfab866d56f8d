//! The procedure on subjects that take no time: order, laps, ^C and absences, without a server.

use std::cell::RefCell;
use std::rc::Rc;

use device::audit::AuditCounts;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::lio::findings as of_lio;
use measure::schema::subjects::findings as row;
use measure::{Finding, Nanos, Parameters};
use sides::proptest::option;
use sides::proptest::prelude::any;
use sides::{Reading, reading, says};
use subjects::logical_reads::{
    Access, Baseline, Cache, Cell, ColdRead, Cost, Counted, Counts, LogicalReads, Pass, Population, Snapshot, Sources,
    Table, TableFacts, Touch, TouchAxis,
};
use subjects::{Closing, Progress, Subject, SubjectError};

use super::checks::not_from_storage;
use super::measuring::{Bench, touched};
use super::{Found, LioParameters, against, measure_subject, plans};
use crate::error::ExperimentError;
use crate::journal::{Kept, Stop};
use crate::machine::Machine;

/// What was done, in its order.
type Log = Rc<RefCell<Vec<String>>>;

/// A subject of one session that answers at once and reports what it is asked for.
struct Fake {
    log: Log,
    lap: Nanos,
    /// What a pass takes that touches nothing.
    overhead: Nanos,
    /// Core cycles of a nanosecond, where it counts them.
    cycles_per_nano: Option<u64>,
    /// Raises the flag at this read.
    stops_at: Option<(usize, Stop)>,
    reads: usize,
    /// Blocks that its first and its last unmeasured pass miss.
    missed: [u64; 2],
    /// Blocks that its first sample misses; `None` where samples count nothing.
    missed_in_sample: Option<u64>,
    passes: usize,
    /// Nanoseconds of a block that is not cached, read alone and among others.
    cold: [Option<f64>; 2],
    cannot_populate: bool,
}

impl Fake {
    /// Its lap takes 5 ms of a simulated clock.
    fn new(log: &Log) -> Fake {
        Fake {
            log: Rc::clone(log),
            lap: Nanos::from_millis(5),
            overhead: Nanos::from_micros(500),
            cycles_per_nano: None,
            stops_at: None,
            reads: 0,
            missed: [0, 0],
            missed_in_sample: None,
            passes: 0,
            cold: [None, None],
            cannot_populate: false,
        }
    }
}

impl Subject for Fake {
    fn name(&self) -> &str {
        "fake 1.0"
    }

    fn description(&self) -> Parameters {
        Parameters::new()
    }

    fn finish(self: Box<Self>) -> Closing {
        Closing::quiet()
    }
}

impl LogicalReads for Fake {
    fn tables(&mut self) -> Result<Vec<Table>, SubjectError> {
        Ok(vec![Table::Found("stars".into())])
    }

    fn prepare(&mut self, table: &Table, _progress: &mut Progress<'_>) -> Result<TableFacts, SubjectError> {
        self.log.borrow_mut().push(format!("prepare {table}"));
        let sources = Sources {
            cpu: "a clock".into(),
            elapsed: "a clock",
            gets: "a counter",
            physical_reads: "a counter",
            rows: "a counter",
            lap: ["pass", "passes"],
            baseline: Baseline::Overhead("nothing"),
            cache: Cache { name: "the cache", advice: "Ask for less." },
        };
        Ok(TableFacts { pages: 10, rows: 100, visibility: None, first_scans: None, sources })
    }

    fn populate(
        &mut self,
        population: Population,
        changed_rows: Option<u32>,
    ) -> Result<Result<Option<Snapshot>, Finding>, SubjectError> {
        self.log.borrow_mut().push(format!("populate {population} {changed_rows:?}"));
        let is_possible = changed_rows.is_none_or(|percent| percent == 0) && !self.cannot_populate;
        Ok(if is_possible { Ok(None) } else { Err(row::ABSENT_CHANGED_ROWS.of("It changes nothing.")) })
    }

    fn count(&mut self, pass: &Pass) -> Result<Result<Counted, Finding>, SubjectError> {
        if pass.access != Access::FullScan {
            return Ok(Err(row::ABSENT_ACCESS.named("rowid", "It scans only.")));
        }
        self.passes += 1;
        let physical_reads = self.missed[usize::from(self.passes > 1)];
        let counts = Counts { gets: 10, rows: 100, physical_reads, ..Counts::default() };
        Ok(Ok(Counted { counts, statement: Some("SELECT nothing".into()) }))
    }

    fn read(&mut self, pass: &Pass) -> Result<Cost, SubjectError> {
        self.reads += 1;
        if let Some((_, stop)) = self.stops_at.as_ref().filter(|(at, _)| *at == self.reads) {
            stop.share().store(true, std::sync::atomic::Ordering::Relaxed);
        }
        self.log.borrow_mut().push(format!("{} x{}", pass.touch, pass.laps));
        let lap = if pass.touch == Touch::Nothing { self.overhead.0 } else { self.lap.0 };
        let cpu = Nanos(lap * u64::from(pass.laps));
        // The first read only finds out how long a sample must be.
        let missed =
            |missed| Counts { gets: 10, physical_reads: if self.reads == 2 { missed } else { 0 }, ..Counts::default() };
        let cycles = self.cycles_per_nano.map(|cycles| cycles * cpu.0);
        Ok(Cost { cpu, elapsed: cpu, cycles, counts: self.missed_in_sample.map(missed), ..Cost::default() })
    }

    fn read_cold(&mut self, how: ColdRead, _blocks: u32) -> Result<Result<Vec<f64>, Finding>, SubjectError> {
        let block = self.cold[usize::from(how == ColdRead::Ranges)];
        Ok(block.map(|block| vec![block]).ok_or_else(|| row::ABSENT_PHYSICAL.of("It has no disk.")))
    }
}

#[test]
fn the_only_column_of_a_table_has_the_pages_name_in_a_warning() {
    let table = |columns| Table::Made(Cell { row_length: 25, columns, payload: 1 << 20 });
    let named = |number, columns| touched(Touch::Column(number), &table(columns));
    assert_eq!([named(1, 1), named(1, 5), named(5, 5)], ["column-last", "column-1", "column-last"]);
}

/// What the procedure finds on a fake, with the engine's checks or without them.
fn found(mut fake: Fake, machine: &Machine, on: &str) -> Vec<Finding> {
    let parameters = LioParameters { repeat: 2, on: on.parse().unwrap(), ..LioParameters::default() };
    let subject = &mut fake;
    let mut bench = Bench { parameters: &parameters, machine, subject, sampler: None, names_subject: false };
    Kept::found(|journal| measure_subject(&mut bench, journal).map(drop).unwrap())
}

/// A block that is not cached against one that is, blocks that should have been, and a cost that is lost in what is
/// taken off.
pub(super) fn readings() -> [Reading; 3] {
    let machine = Machine::observe(Stop::default()).rehearsal();
    let there = machine.clone();
    let lost = move |(lap, overhead): &(u64, u64)| {
        let (lap, overhead) = (Nanos(*lap), Nanos(*overhead));
        found(Fake { lap, overhead, ..Fake::new(&Log::default()) }, &there, "sqlite")
    };
    let values = (4_000_000..5_000_000_u64, 4_000_000..5_000_000_u64);
    let lost = reading(of_lio::ABSENT_LIO, values, lost, |(lap, overhead)| {
        let [lap_time, beside] = [*lap, *overhead].map(|nanos| format_nanos(nanos as f64));
        (overhead >= lap).then(|| says![format!("one pass took {lap_time} of CPU time, nothing {beside}, and")])
    });
    let here = machine.clone();
    let cold = move |(lap, cold, cannot_populate): &(u64, [Option<f64>; 2], bool)| {
        let (lap, overhead) = (Nanos(*lap), Nanos(*lap / 10));
        let fake = Fake::new(&Log::default());
        let fake = Fake { lap, overhead, cold: *cold, cannot_populate: *cannot_populate, ..fake };
        found(fake, &here, "engine")
    };
    let values = (1_000_000..5_000_000_u64, [option::of(1e3..1e7), option::of(1e2..1e5)], any::<bool>());
    let ratio = reading(of_lio::ANSWER_RATIO, values, cold, |(lap, [single, ranged], cannot_populate)| {
        let single = single.filter(|_| !cannot_populate)?;
        // Ten gets, less a tenth for the pass that touches nothing.
        let lio = (lap - lap / 10) as f64 / 10.0;
        let costs = format!("A physical I/O of one block costs {} logical I/Os of stars", three_digits(single / lio));
        let beside = format!(
            "({} against {}; Millsap: 37, the folklore: {})",
            format_nanos(single),
            format_nanos(lio),
            grouped(10_000)
        );
        let ranged = ranged.map_or(". The logical I/O is one".into(), |ranged| {
            let [times, block] = [three_digits(ranged / lio), format_nanos(ranged)];
            format!("; in reads of 128 blocks {times} ({block} a block; published: about 6)")
        });
        Some(says![costs, format!("{beside}{ranged}")])
    });
    let misses = move |(before, after, in_sample): &(u64, u64, Option<u64>)| {
        let missed = [*before, *after];
        found(Fake { missed, missed_in_sample: *in_sample, ..Fake::new(&Log::default()) }, &machine, "sqlite")
    };
    let values = (0..3_u64, 0..3_u64, option::of(0..3_u64));
    let missing = reading(of_lio::NOT_ALL_CACHED, values, misses, |(before, after, in_sample)| {
        let misses = in_sample.unwrap_or(*before.min(after));
        let said = counted(misses, "block was", "blocks were");
        (misses > 0).then(|| says![format!("{said} missing from the cache in stars, full-scan, touching rows, which")])
    });
    [ratio, missing, lost]
}

/// Runs the procedure on a fake whose lap takes 5 ms of a simulated clock.
fn measured(
    parameters: &LioParameters,
    is_one_of_several: bool,
    stops_at: Option<usize>,
) -> (Result<Found, ExperimentError>, Kept, Vec<String>) {
    let on = if is_one_of_several { "engine,sqlite" } else { "engine" };
    let parameters = &LioParameters { on: on.parse().unwrap(), ..parameters.clone() };
    let stop = Stop::default();
    let machine = Machine::observe(stop.clone());
    let log = Log::default();
    let stops_at = stops_at.map(|at| (at, stop));
    let mut fake = Fake { stops_at, ..Fake::new(&log) };
    let mut kept = Kept::default();
    let mut bench =
        Bench { parameters, machine: &machine, subject: &mut fake, sampler: None, names_subject: is_one_of_several };
    let found = measure_subject(&mut bench, &mut kept);
    drop(fake);
    (found, kept, Rc::try_unwrap(log).unwrap().into_inner())
}

#[test]
fn a_sample_has_laps_for_20_ms_and_the_overhead_beside_it_as_many() {
    let parameters = LioParameters { repeat: 2, ..LioParameters::default() };
    let (found, kept, log) = measured(&parameters, true, None);
    assert_eq!(found.unwrap().cases.len(), 1);
    let passes = ["rows x1", "rows x4", "nothing x4", "rows x4", "nothing x4"];
    assert_eq!(log, ["prepare stars", "populate full-scan None"].iter().chain(&passes).copied().collect::<Vec<_>>());
    let case = &kept.cases[0];
    assert_eq!(case.parameter("subject").as_deref(), Some("fake 1.0"));
    // 5 ms for 10 gets, less a tenth for the pass that touches nothing.
    assert_eq!((case.metric("lio").unwrap().median(), case.metric("laps").unwrap().median()), (450.0, 4.0));
    assert!(case.metric("statement_beside").unwrap().source.contains("SELECT nothing"));
}

#[test]
fn the_time_left_of_samples_follows_from_those_that_are_done() {
    let parameters = &LioParameters { repeat: 3, on: "sqlite".parse().unwrap(), ..LioParameters::default() };
    let machine = &Machine::observe(Stop::default());
    let subject = &mut Fake { lap: Nanos::from_millis(600_000), ..Fake::new(&Log::default()) };
    let mut bench = Bench { parameters, machine, subject, sampler: None, names_subject: false };
    let mut kept = Kept::default();
    measure_subject(&mut bench, &mut kept).unwrap();
    let of_case = kept.steps.iter().filter(|(what, _)| what.contains("touching rows"));
    let left: Vec<u64> = of_case.map(|(_, left)| left.as_secs()).collect();
    // Nothing is known at first, and then ten minutes of a simulated clock, which are over at once.
    assert_eq!((left.len(), left[0], left[1]), (4, 0, 1800));
    assert!(left[2] < 1200 && left[3] < 600, "{left:?}");
}

#[test]
fn a_get_by_cycles_is_in_nanoseconds_and_costs_what_it_does_by_the_cpu_clock() {
    let parameters = &LioParameters { repeat: 2, on: "sqlite".parse().unwrap(), ..LioParameters::default() };
    let mut machine = Machine::observe(Stop::default());
    machine.host.core_ghz = Some(4.0);
    let subject = &mut Fake { cycles_per_nano: Some(4), ..Fake::new(&Log::default()) };
    let mut bench = Bench { parameters, machine: &machine, subject, sampler: None, names_subject: false };
    let mut kept = Kept::default();
    let found = measure_subject(&mut bench, &mut kept).unwrap();
    // 5 ms for 10 gets, less a tenth for the pass that touches nothing.
    let by_cycles = kept.cases[0].metric("lio_by_cycles").unwrap();
    assert_eq!(by_cycles.samples, [450_000.0; 2], "{}", by_cycles.source);
    assert_eq!((found.cases[0].lio, found.cases[0].by_cycles), (450_000.0, Some(450_000.0)));
}

#[test]
fn what_two_words_ask_for_is_measured_once() {
    let touches = vec![TouchAxis::Every(Touch::Column(1)), TouchAxis::LastColumn];
    let parameters = LioParameters { touches, threads: vec![1, 2, 1], ..LioParameters::default() };
    let planned = |columns: u32| {
        let table = Table::Made(Cell { row_length: 250, columns, payload: 1 << 20 });
        plans(&parameters, &table).iter().map(|plan| (plan.touch, plan.threads)).collect::<Vec<_>>()
    };
    let [first, last] = [1, 5].map(|number| [(Touch::Column(number), 1), (Touch::Column(number), 2)]);
    assert_eq!(planned(1), first, "the only column is the first and the last");
    assert_eq!(planned(5), [first, last].concat());
}

#[test]
fn a_cost_that_its_overhead_exceeds_is_absent_with_its_reason_and_never_0() {
    let kept = |overhead: u64| {
        let parameters = &LioParameters { repeat: 3, on: "sqlite".parse().unwrap(), ..LioParameters::default() };
        let machine = &Machine::observe(Stop::default());
        let subject = &mut Fake { overhead: Nanos(overhead), ..Fake::new(&Log::default()) };
        let mut bench = Bench { parameters, machine, subject, sampler: None, names_subject: false };
        let mut kept = Kept::default();
        measure_subject(&mut bench, &mut kept).unwrap();
        kept
    };
    let dear = kept(4_900_000);
    assert!(dear.cases[0].metric("lio").is_some() && !dear.ids().contains(&"absent-lio"), "{:?}", dear.ids());
    for overhead in [5_000_000, 6_000_000] {
        let lost = kept(overhead);
        assert!(lost.cases[0].metric("lio").is_none() && lost.cases[0].metric("statement_beside").is_some());
        let finding = lost.findings.iter().find(|finding| finding.id == "absent-lio").unwrap();
        let beside = format!("took 5.00 ms of CPU time, nothing {}", format_nanos(overhead as f64));
        assert!(finding.message.contains(&beside), "{}", finding.message);
    }
}

#[test]
fn what_a_subject_cannot_do_is_said_once_and_the_rest_is_measured() {
    let parameters = LioParameters { repeat: 1, changed_rows: vec![0, 10], ..LioParameters::default() };
    let (found, kept, log) = measured(&parameters, false, None);
    assert_eq!(found.unwrap().cases.len(), 1, "the scan; the checks are cases of their own");
    assert!(log.contains(&"populate full-scan Some(10)".into()));
    for id in ["absent-changed-rows", "absent-rowid", "absent-physical"] {
        assert!(kept.ids().contains(&id), "{id}: {:?}", kept.ids());
    }
    assert_eq!(kept.cases.len(), 3, "the scan, and two populations");
}

#[test]
fn direct_reads_that_the_kernel_did_not_fetch_have_no_physical_cost() {
    let absence = |fetched_by_process: Option<u64>| {
        let counts = AuditCounts { fetched_by_process, ..AuditCounts::default() };
        not_from_storage(2500 * 8192, counts).map(|finding| finding.message)
    };
    assert_eq!(not_from_storage(0, AuditCounts { fetched_by_process: Some(0), ..AuditCounts::default() }), None);
    assert_eq!(absence(Some(2500 * 8192)), None);
    assert_eq!(absence(None), None, "without a count nothing is known against them");
    for fetched in [0, 1000 * 8192] {
        let said = absence(Some(fetched)).unwrap();
        assert!(said.contains("where 19.5 MiB were asked for, so memory may have answered."), "{said}");
    }
}

#[test]
fn ctrl_c_ends_a_case_between_two_samples_and_keeps_no_half_of_it() {
    let parameters = LioParameters { repeat: 50, ..LioParameters::default() };
    let (found, kept, log) = measured(&parameters, true, Some(4));
    assert!(matches!(found, Err(ExperimentError::Stopped)));
    assert!(kept.cases.is_empty());
    assert_eq!(log.last().map(String::as_str), Some("nothing x4"), "the sample under way is finished: {log:?}");
}

#[test]
fn each_subject_is_compared_with_the_engine_and_the_engine_with_none() {
    let parameters = LioParameters { repeat: 1, ..LioParameters::default() };
    let found = |name: &str| Found { name: name.into(), ..measured(&parameters, true, None).0.unwrap() };
    let mut kept = Kept::default();
    against::report(&[found("one 1.0"), found("engine"), found("other 2.0")], None, &mut kept);
    let compared: Vec<&str> = kept
        .findings
        .iter()
        .filter(|finding| finding.id == "answer-against-engine")
        .map(|f| f.message.as_str())
        .collect();
    assert_eq!(compared.len(), 2);
    assert!(compared[0].contains("on one 1.0 costs 1.00 times the engine's"), "{compared:?}");
}

#[test]
fn cycles_of_the_engine_are_not_absent_in_silence_where_others_are_measured_beside_it() {
    let parameters = LioParameters { repeat: 1, ..LioParameters::default() };
    let found = |name: &str| Found { name: name.into(), ..measured(&parameters, true, None).0.unwrap() };
    let said = |subjects: &[Found]| {
        let found = Kept::found(|journal| against::report(subjects, Some("this machine hides them"), journal));
        let absent = found.into_iter().filter(|finding| of_lio::ABSENT_CYCLES.made(finding));
        absent.map(|finding| finding.message).collect::<Vec<_>>()
    };
    let both = said(&[found("engine"), found("other 2.0")]);
    assert_eq!(both, ["On engine, core cycles were not counted: this machine hides them."]);
    assert!(said(&[found("other 2.0")]).is_empty(), "another subject is seen from outside");
}
