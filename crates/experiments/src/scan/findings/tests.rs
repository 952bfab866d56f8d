//! The findings of the experiment, read on both sides of their conditions.

use measure::schema::scan;
use measure::{Case, Metric, Size};
use sides::proptest::array::{uniform3, uniform4};
use sides::proptest::collection::vec;
use sides::proptest::option;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};
use subjects::access_paths::{MemoryNeed, PathOffer};

use super::*;
use crate::journal::{Kept, Stop};
use crate::scan::counted::CountedPaths;
use crate::scan::parameters::ScanParameters;
use crate::scan::tests::{Fake, Log, ROWS};
use crate::scan::{measuring, plan, report_absences, report_unshared};

/// Bytes of the last cache.
const CACHE: u64 = 4 << 20;

fn metric(spec: measure::schema::Spec, value: f64) -> Metric {
    spec.single("made up", value)
}

/// A case of one thread with these metrics, as far as they are there.
fn one(path: AccessPath, metrics: impl IntoIterator<Item = Option<Metric>>) -> Measured {
    let case = Case { metrics: metrics.into_iter().flatten().collect(), ..Case::default() };
    Measured { path, threads: 1, is_in_process: true, kernels: None, case }
}

fn row_time(nanos: f64) -> Option<Metric> {
    Some(metric(schema::ROW_TIME, nanos))
}

/// A machine of which it is not known how many processors it has.
fn machine() -> Machine {
    let mut machine = Machine::observe(Stop::default()).rehearsal().with_last_cache(CACHE);
    machine.host.cores = None;
    machine
}

/// What is found on a fake subject with these parameters, alone or beside another.
fn on_bench(
    (machine, parameters, is_alone): (&Machine, &ScanParameters, bool),
    mut fake: Fake,
    find: impl FnOnce(&mut Bench<'_>, &mut dyn Journal),
) -> Vec<Finding> {
    let (name, expected, counted) = (fake.name.to_string(), &mut None, CountedPaths::default());
    let subject = &mut fake;
    let (child, stream) = (None, None);
    let mut bench = Bench { parameters, machine, child, subject, name, is_alone, expected, counted, stream };
    Kept::found(|journal| find(&mut bench, journal))
}

fn fake() -> Fake {
    Fake::new("here", &Log::default())
}

/// What cases of a subject that is alone say, with zone maps or without.
fn reported(machine: &Machine, zone_maps: bool, cases: &[Measured]) -> Vec<Finding> {
    let parameters = ScanParameters { zone_maps, ..ScanParameters::default() };
    on_bench((machine, &parameters, true), fake(), |bench, journal| report(cases, bench, journal))
}

/// A finding that the cases of one subject make.
fn of_cases<S: Strategy + 'static>(
    row: FindingSpec,
    values: S,
    cases: impl Fn(&S::Value) -> Vec<Measured> + 'static,
    says: impl Fn(&S::Value) -> Option<Vec<String>> + 'static,
) -> Reading {
    let machine = machine();
    reading(row, values, move |value| reported(&machine, true, &cases(value)), says)
}

/// Which path is the dearest, and how often each visits a block.
fn costs() -> Vec<Reading> {
    let paths = [AccessPath::IndexBadClustering, AccessPath::FullScan, AccessPath::ColumnScan, AccessPath::ColumnCount];
    let cost = option::weighted(0.6, prop_oneof![1 => Just(0.0), 5 => 1.0..1e3]);
    let cases = move |(costs, cycles, is_in_process): &([Option<f64>; 4], Option<f64>, bool)| {
        let case = |(path, cost): (AccessPath, Option<f64>)| {
            // What counts without reading is no path to compare with.
            let units = |spec, count| (path == AccessPath::ColumnCount).then(|| metric(spec, count));
            let cycles = cycles.map(|cycles| metric(PER_ROW.of("cycles"), cycles));
            let units = [units(schema::UNITS_READ, 0.0), units(schema::UNITS_UNREAD, 8.0)];
            let one = one(path, [row_time(cost?), cycles].into_iter().chain(units));
            Some(Measured { is_in_process: *is_in_process, ..one })
        };
        paths.into_iter().zip(*costs).filter_map(case).collect()
    };
    let values = (uniform4(cost), option::of(1.0..1e3), any::<bool>());
    let dearest = of_cases(row::ANSWER_DEAREST, values, cases, move |(costs, cycles, is_in_process)| {
        let reads = || {
            paths
                .into_iter()
                .zip(*costs)
                .take(3)
                .filter_map(|(path, cost)| Some((path, cost.filter(|cost| *cost > 0.0)?)))
        };
        let (most_path, most) = reads().max_by(|one, other| one.1.total_cmp(&other.1))?;
        let (least_path, least) = reads().min_by(|one, other| one.1.total_cmp(&other.1))?;
        let full = reads().find(|(path, _)| *path == AccessPath::FullScan && *path != most_path);
        let full = full.map(|(_, full)| format!("{} times full-scan", three_digits(most / full)));
        let least = format!("{} times {least_path}.", three_digits(most / least));
        let cycles = cycles.map_or(String::new(), |cycles| format!(" ({} cycles)", three_digits(cycles)));
        let costs = format!("A row costs {}{cycles} by {most_path}: ", format_nanos(most));
        (*is_in_process && least_path != most_path).then(|| [costs, least].into_iter().chain(full).collect())
    });
    let visited = move |(visits, is_in_process): &([Option<f64>; 3], bool)| {
        let case = |(path, visits): (AccessPath, Option<f64>)| {
            let visits = visits.map(|visits| metric(schema::VISITS_PER_BLOCK, visits));
            Measured { is_in_process: *is_in_process, ..one(path, [visits]) }
        };
        paths.into_iter().zip(*visits).map(case).collect()
    };
    let visits = (uniform3(option::weighted(0.4, 1.0..50.0)), any::<bool>());
    let visits = of_cases(row::ANSWER_VISITS, visits, visited, move |(visits, is_in_process)| {
        let clause = |(path, visits): (AccessPath, Option<f64>)| Some(format!("{path} {}", three_digits(visits?)));
        let clauses: Vec<String> = paths.into_iter().zip(*visits).filter_map(clause).collect();
        (*is_in_process && !clauses.is_empty()).then(|| says![format!("Visits to a block: {}.", clauses.join(", "))])
    });
    vec![dearest, visits]
}

/// Instructions a cycle of three paths where they were counted, with accesses to memory a row, and whether passes run
/// here.
type Counts = ([Option<(f64, Option<f64>)>; 3], bool);

/// Instructions a cycle and accesses to memory a row, by path.
fn instructions() -> Reading {
    let paths = [AccessPath::IndexBadClustering, AccessPath::FullScan, AccessPath::ColumnScan];
    let cases = move |(counts, is_in_process): &Counts| {
        let case = |(path, counts): (AccessPath, Option<(f64, Option<f64>)>)| {
            let misses = counts.and_then(|(_, misses)| Some(metric(PER_ROW.of("cache_misses"), misses?)));
            let ipc = counts.map(|(ipc, _)| metric(schema::IPC, ipc));
            Measured { is_in_process: *is_in_process, ..one(path, [ipc, misses]) }
        };
        paths.into_iter().zip(*counts).map(case).collect()
    };
    let counts = uniform3(option::weighted(0.7, (0.3..1.5, option::of(0.1..9.0))));
    of_cases(row::ANSWER_IPC, (counts, any::<bool>()), cases, move |(counts, is_in_process)| {
        let counted = || paths.into_iter().zip(*counts).filter_map(|(path, counts)| Some((path, counts?)));
        let (slow, (low, misses)) = counted().min_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
        let most = counted().max_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
        let full = counted().find(|(path, _)| *path == AccessPath::FullScan && *path != slow);
        let (other, (ipc, other_misses)) = full.unwrap_or(most);
        let memory = |misses: Option<f64>, words| {
            misses.map_or(String::new(), |misses| format!(" and {}{words}", three_digits(misses)))
        };
        let meaning = if low < 0.7 { "waits more than it works" } else { "does the least work in a cycle" };
        let said = format!(
            "{slow} {meaning}: {} instructions a cycle{}; {other} {}{}.",
            three_digits(low),
            memory(misses, " accesses to memory a row"),
            three_digits(ipc),
            memory(other_misses, "")
        );
        (*is_in_process && other != slow).then(|| says![said])
    })
}

/// Gets and nanoseconds of a row by both indexes over 1000 rows, and the MiB of a full scan, where there is one.
type Indexes = ([(f64, f64); 2], Option<f64>);

fn waits() -> Reading {
    let cases = |([bad, good], table): &Indexes| {
        let by = |path, (gets, nanos): &(f64, f64)| {
            one(path, [Some(metric(schema::TABLE_GETS, *gets)), Some(metric(schema::ROWS, 1000.0)), row_time(*nanos)])
        };
        let full = table.map(|size| one(AccessPath::FullScan, [Some(metric(schema::BYTES_TOUCHED, size * 1048576.0))]));
        let indexes = [by(AccessPath::IndexBadClustering, bad), by(AccessPath::IndexGoodClustering, good)];
        indexes.into_iter().chain(full).collect()
    };
    let values = ([(100.0..400.0, 50.0..200.0), (50.0..250.0, 50.0..100.0)], option::of(2.0..9.0));
    of_cases(row::ANSWER_WAITS_FOR_MEMORY, values, cases, |([(bad, bad_time), (good, good_time)], table)| {
        let (gets, time) = (bad - good, bad_time - good_time);
        let is_beyond_cache = table.is_none_or(|size| size > 4.0);
        let share = format!("{} % of its time", three_digits(time / bad_time * 100.0));
        let said = format!("{share} ({} a further get)", format_nanos(time * 1000.0 / gets));
        (gets >= 100.0 && time > 0.0 && is_beyond_cache).then(|| says![said])
    })
}

/// MiB a second of a scan and of memory that is read in sequence, the MiB that it touches, and its threads.
type Rates = (Option<f64>, Option<f64>, f64, usize);

fn bandwidth() -> Reading {
    let cases = |(own, best, size, threads): &Rates| {
        let own = own.map(|own| metric(schema::BANDWIDTH, own));
        let best = best.map(|best| metric(schema::SEQUENTIAL_BANDWIDTH, best));
        let touched = metric(schema::BYTES_TOUCHED, size * 1048576.0);
        vec![Measured { threads: *threads, ..one(AccessPath::ColumnScan, [own, best, Some(touched)]) }]
    };
    let rate = || option::weighted(0.9, 5e3..10e3);
    of_cases(row::ANSWER_BANDWIDTH, (rate(), rate(), 2.0..9.0, 1..3_usize), cases, |(own, best, size, threads)| {
        let (own, best) = ((*own)?, (*best)?);
        let fits =
            format!("its {} MiB fit into the processor's cache, so memory plays no part in it.", three_digits(*size));
        let meaning = match () {
            () if *size <= 4.0 => fits.as_str(),
            () if own > best => ": the reading in sequence was disturbed",
            () if own / best >= 0.7 => ": it waits for the memory.",
            () => ": its own work takes longer than the memory.",
        };
        let by = if *threads > 1 { format!("column-scan by {threads} threads") } else { "column-scan".into() };
        let [rate, share] = [own * 1048576.0 / 1e9, own / best * 100.0].map(three_digits);
        Some(says![format!("{by} reads {rate} GB/s, {share} % of what reading in sequence reached"), meaning])
    })
}

/// Elapsed microseconds of one thread and of many, how busy both were, how many, and the share of the bandwidth.
type Shared = (f64, f64, [f64; 2], usize, f64);

fn shared() -> impl Strategy<Value = Shared> {
    (prop_oneof![1 => 100.0..300.0, 3 => 300.0..900.0], 100.0..500.0, [0.8..1.0, 0.8..1.0], 1..5_usize, 0.4..1.0)
}

fn threads() -> [Reading; 2] {
    let cases = |(alone, many, [busy_alone, busy], threads, share): &Shared| {
        let of = |threads: usize, micros: f64, busy: f64| {
            let elapsed = metric(schema::ELAPSED, micros / 1e6);
            let cpu = metric(schema::CPU, micros / 1e6 * busy * threads as f64);
            let rates = [metric(schema::BANDWIDTH, share * 1e4), metric(schema::SEQUENTIAL_BANDWIDTH, 1e4)];
            let touched = metric(schema::BYTES_TOUCHED, 2.0 * CACHE as f64);
            let metrics = [elapsed, cpu, touched].into_iter().chain(rates).map(Some);
            Measured { threads, ..one(AccessPath::FullScan, metrics) }
        };
        vec![of(1, *alone, *busy_alone), of(*threads, *many, *busy)]
    };
    let times = of_cases(row::ANSWER_THREADS, shared(), cases, |(alone, many, _, threads, _)| {
        let times = format!("{} times as fast by {threads} threads as by one.", three_digits(alone / many));
        (*threads > 1).then(|| says![format!("full-scan is {times}")])
    });
    let machine = machine();
    let limited = move |shared: &Shared| {
        let found = reported(&machine, true, &cases(shared)).into_iter();
        found.filter(|found| found.message.contains("threads as by one. ")).collect::<Vec<_>>()
    };
    let limits = reading(row::ANSWER_THREADS, shared(), limited, |(alone, many, busy, threads, share)| {
        let count = *threads as f64;
        let memory = format!(
            "The memory is the limit: they read {} GB/s, and {threads} threads that only read in sequence 10.5 GB/s.",
            three_digits(share * 1e4 * 1048576.0 / 1e9)
        );
        let limit = match () {
            () if *threads == 1 => return None,
            () if *alone < 200.0 => "There is too little to share: give more --rows".into(),
            () if busy[0].min(busy[1]) < 0.9 => "Its threads waited for a processor".into(),
            () if alone / many < 0.9 * count && *share >= 0.7 => memory,
            () => return None,
        };
        Some(vec![limit])
    });
    [times, limits]
}

/// What columns say: two kernels, and units that were not read.
fn columns() -> Vec<Reading> {
    let cases = |(counted, has_two): &(Option<f64>, bool)| {
        let counted = counted.map(|counted| metric(schema::COUNTED_ROW_TIME, counted));
        let kernels = has_two.then(|| ("avx512".to_string(), "avx2".to_string()));
        vec![Measured { kernels, ..one(AccessPath::ColumnScan, [row_time(2.5), counted]) }]
    };
    let values = (option::weighted(0.7, 1.0..9.0), any::<bool>());
    let kernels = of_cases(row::ANSWER_KERNELS, values, cases, |(counted, has_two)| {
        let said = format!("by the avx512 kernel and {} by the avx2 kernel", format_nanos((*counted)?));
        has_two.then(|| says!["A row of column-scan costs 2.50 ns ", said])
    });
    let units = |path: AccessPath, (unread, read): (u32, u32)| {
        let [unread, read] = [(schema::UNITS_UNREAD, unread), (schema::UNITS_READ, read)]
            .map(|(spec, units)| metric(spec, units.into()));
        vec![one(path, [row_time(1.0), Some(unread), Some(read)])]
    };
    let values = || (select(vec![0..3_u32, 1000..2000]).prop_flat_map(|range| range), 0..2_u32);
    let none_read = of_cases(
        row::NOTHING_READ,
        values(),
        move |found| units(AccessPath::ColumnCount, *found),
        |found| match found {
            (0, _) | (1.., 1..) => None,
            (1, 0) => Some(says!["column-count read no column: its 1 unit knows how many"]),
            (unread, 0) => {
                let units = grouped((*unread).into());
                Some(says![format!("column-count read no column: each of its {units} units knows")])
            }
        },
    );
    let machine = machine();
    let answered = move |(found, zone_maps): &((u32, u32), bool)| {
        reported(&machine, *zone_maps, &units(AccessPath::ColumnScan, *found))
    };
    let answered =
        reading(row::ZONE_MAPS_ANSWERED, (values(), any::<bool>()), answered, |((unread, read), zone_maps)| {
            let of = counted((unread + read).into(), "unit", "units");
            let said = format!("answered for {} of {of} of column-scan", grouped((*unread).into()));
            (*zone_maps && *unread > 0).then(|| says![said])
        });
    vec![kernels, none_read, answered]
}

/// Gets, nanoseconds of a row, and how well the rows follow the index, where that is known.
type Path = Option<(f64, f64, Option<f64>)>;

fn path(path: AccessPath, figures: Path) -> Option<Measured> {
    let (gets, nanos, correlation) = figures?;
    let correlation = correlation.map(|correlation| metric(schema::CORRELATION, correlation));
    let one = one(path, [Some(metric(schema::GETS, gets)), row_time(nanos), correlation]);
    Some(Measured { is_in_process: false, ..one })
}

/// What the indexes of a server cost beside each other and beside a scan.
fn of_server() -> [Reading; 2] {
    let figures = || {
        let nanos = prop_oneof![1 => Just(0.0), 9 => 10.0..500.0];
        option::weighted(0.8, (100.0..9e3, nanos, option::weighted(0.8, -1.0..1.0)))
    };
    let cases = |[bad, good, bitmap]: &[Path; 3]| {
        let paths = [AccessPath::IndexBadClustering, AccessPath::IndexGoodClustering, AccessPath::BitmapScan];
        paths.into_iter().zip([bad, good, bitmap]).filter_map(|(of, figures)| path(of, *figures)).collect()
    };
    let clustering = of_cases(row::ANSWER_CLUSTERING, uniform3(figures()), cases, |[bad, good, bitmap]| {
        let ((bad_gets, bad_time, of_bad), (good_gets, good_time, of_good)) = ((*bad)?, (*good)?);
        let [of_bad, of_good] = [of_bad?, of_good?].map(three_digits);
        let [gets, time] = [bad_gets / good_gets, bad_time / good_time].map(three_digits);
        let said = format!("takes {gets} times the gets and {time} times the time of index-good-clustering");
        let bitmap = bitmap.map(|(gets, time, _)| {
            let [time, gets] = [time / bad_time, gets / bad_gets].map(three_digits);
            format!("fetches each block once: {time} times the cost, {gets} times the gets of index-bad")
        });
        let correlation = format!("(correlation {of_bad} against {of_good}).");
        (bad_time > 0.0 && good_time > 0.0).then(|| [said, correlation].into_iter().chain(bitmap).collect())
    });
    let cases = |[only, full]: &[Path; 2]| {
        let paths = [AccessPath::IndexOnlyScan, AccessPath::FullScan];
        paths.into_iter().zip([only, full]).filter_map(|(of, figures)| path(of, *figures)).collect()
    };
    let only = of_cases(row::ANSWER_INDEX_ONLY, [figures(), figures()], cases, |[only, full]| {
        let ((gets, time, _), (full_gets, full_time, _)) = ((*only)?, (*full)?);
        let [time, full_time] = [time, full_time].map(format_nanos);
        let times = three_digits(gets / full_gets);
        Some(says![format!(
            "index-only-scan costs {time} a row and full-scan {full_time}, with {times} times the gets."
        )])
    });
    [clustering, only]
}

/// Nanoseconds of a row on a subject and on the engine by path, instructions of a row, and whether the subject runs
/// elsewhere.
type Beside = ([Option<f64>; 3], [Option<f64>; 3], Option<f64>, bool);

/// A subject elsewhere, or in this program, beside the engine.
fn beside() -> Reading {
    let paths = [AccessPath::IndexGoodClustering, AccessPath::FullScan, AccessPath::IndexOnlyScan];
    let cost = || option::weighted(0.7, prop_oneof![1 => Just(0.0), 9 => 50.0..500.0]);
    let compared = move |(other, engine, instructions, is_elsewhere): &Beside| {
        let cases = |costs: &[Option<f64>; 3], is_in_process: bool| {
            let instructions = || instructions.map(|count| metric(PER_ROW.of("instructions"), count));
            let case = |(path, cost)| Some(Measured { is_in_process, ..one(path, [row_time(cost?), instructions()]) });
            paths.into_iter().zip(*costs).filter_map(case).collect::<Vec<_>>()
        };
        let of = |name: &str, cases| SubjectCases { name: name.into(), cases };
        let subjects = [of("engine", cases(engine, true)), of("postgres 18.6", cases(other, !is_elsewhere))];
        Kept::found(|journal| compare(&subjects, journal))
    };
    let values = (uniform3(cost()), uniform3(cost()), option::of(10.0..1e4), any::<bool>());
    reading(row::ANSWER_AGAINST_ENGINE, values, compared, move |(other, engine, instructions, is_elsewhere)| {
        let ratio = |(path, (one, engine)): (AccessPath, (Option<f64>, Option<f64>))| {
            Some((path, one? / engine.filter(|engine| *engine > 0.0)?))
        };
        let ratios: Vec<(AccessPath, f64)> =
            paths.into_iter().zip(other.iter().copied().zip(*engine)).filter_map(ratio).collect();
        let count = instructions.map_or(String::new(), |count| format!(", {} instructions a row", three_digits(count)));
        let clause = |(path, ratio): &(AccessPath, f64)| format!("{path} {}{count}", three_digits(*ratio));
        let clauses: Vec<String> = ratios.iter().map(clause).collect();
        let is_dearer = *is_elsewhere && ratios.iter().all(|(_, ratio)| *ratio > 1.0);
        let meaning = if is_dearer { " A pass on engine does nothing but read;" } else { "" };
        let said = format!("on postgres 18.6 over that on engine: {}.{meaning}", clauses.join("; "));
        (!clauses.is_empty()).then(|| says![said])
    })
}

/// What the paths need and lack.
fn paths() -> Vec<Reading> {
    let machine = machine();
    let here = machine.clone();
    let planned = move |(rows, needs, counts_bytes): &(u64, Vec<u64>, bool)| {
        // 512 MiB are for the bandwidth, where that is measured.
        let given = if *counts_bytes { 522 << 20 } else { 10 << 20 };
        let parameters = ScanParameters { rows: Some(*rows), memory: Some(Size(given)), ..Default::default() };
        let (path, counts_bytes, absence) = (AccessPath::FullScan, *counts_bytes, None);
        let offers = [PathOffer { path, is_shared_by_threads: true, counts_bytes, absence }];
        let need = |(structure, size): (&'static str, &u64)| MemoryNeed { structure, bytes: size << 20 };
        let memory = ["the rows", "the columns"].into_iter().zip(needs).map(need).collect();
        let mut fake = fake();
        fake.memory = memory;
        on_bench((&here, &parameters, true), fake, |bench, journal| {
            let outcome = plan(bench, &offers, journal);
            assert_eq!(outcome.is_ok(), needs.iter().all(|size| *size <= 10), "{outcome:?}");
        })
    };
    let values = (1..3_u64, vec(1..13_u64, 0..3), any::<bool>());
    let planned = reading(row::MEMORY_NEEDED, values, planned, |(rows, needs, _)| {
        let rows = counted(*rows, "row was", "rows were");
        let said = match &needs[..] {
            [rows_only] => format!("{rows} forecast to take {rows_only} MiB for the rows."),
            [first, second] => {
                let both = format!("{first} MiB for the rows, {second} MiB for the columns");
                format!("{rows} forecast to take {both}, one after the other.")
            }
            _ => return None,
        };
        needs.iter().all(|size| *size <= 10).then(|| vec![said])
    });
    let absences = move |(path, is_named, offer_made, is_alone): &(AccessPath, bool, Option<bool>, bool)| {
        let parameters = ScanParameters { path: is_named.then_some(*path).into_iter().collect(), ..Default::default() };
        let absence = |can_answer: bool| (!can_answer).then_some("it has no predicate");
        let (path, is_shared_by_threads, counts_bytes) = (*path, false, path.counts_bytes());
        let offer = |can| PathOffer { path, is_shared_by_threads, counts_bytes, absence: absence(can) };
        let offers: Vec<PathOffer> = offer_made.map(offer).into_iter().collect();
        on_bench((&machine, &parameters, *is_alone), fake(), |bench, journal| report_absences(bench, &offers, journal))
    };
    let values = (select(AccessPath::all().collect::<Vec<_>>()), any::<bool>(), any::<Option<bool>>(), any::<bool>());
    let absent = reading(row::ABSENT_PATH, values, absences, |(path, is_named, offer, is_alone)| match offer {
        Some(false) => {
            let on = if *is_alone { "" } else { " on here" };
            Some(says![format!("{path} was not asked the question all-pass{on}: it has no predicate.")])
        }
        None if *is_named => Some(says![format!("{path} is not a path of here.")]),
        _ => None,
    });
    vec![planned, absent]
}

/// What threads cannot share, and blocks that should have been cached.
fn passes() -> [Reading; 2] {
    let machine = machine();
    let here = machine.clone();
    let unshared = move |(threads, are_shared): &(Vec<usize>, [bool; 2])| {
        let parameters = ScanParameters { threads: threads.clone(), ..ScanParameters::default() };
        let paths = [AccessPath::FullScan, AccessPath::ColumnCount];
        let offer = |(path, is_shared_by_threads): (AccessPath, bool)| {
            let (counts_bytes, absence) = (path.counts_bytes(), None);
            PathOffer { path, is_shared_by_threads, counts_bytes, absence }
        };
        let offers: Vec<PathOffer> = paths.into_iter().zip(*are_shared).map(offer).collect();
        on_bench((&here, &parameters, true), fake(), |bench, journal| report_unshared(bench, &offers, journal))
    };
    let unshared =
        reading(row::ABSENT_THREADS, (vec(1..3_usize, 1..3), any::<[bool; 2]>()), unshared, |(threads, are_shared)| {
            let names = match are_shared {
                [true, true] => return None,
                [false, false] => "full-scan, column-count",
                [false, true] => "full-scan",
                [true, false] => "column-count",
            };
            threads.contains(&2).then(|| says![format!("One thread took {names}: threads cannot share that work.")])
        });
    let missed = move |missed: &u64| {
        let parameters = ScanParameters { rows: Some(ROWS), repeat: 1, ..ScanParameters::default() };
        let mut fake = fake();
        fake.missed = *missed;
        on_bench((&machine, &parameters, true), fake, |bench, journal| {
            let facts =
                bench.subject.prepare(AccessPath::FullScan, parameters.question(), &mut |_, _| {}).unwrap().unwrap();
            measuring::case(bench, (AccessPath::FullScan, &facts), 1, journal).map(drop).unwrap();
        })
    };
    // Four passes a sample, each of which missed a block or a part of one.
    let missed = reading(row::NOT_ALL_CACHED, 0..13_u64, missed, |missed| {
        let a_pass = counted(missed.div_ceil(4), "block was", "blocks were");
        (*missed > 0).then(|| says![format!("{a_pass} missing from the cache in full-scan, which should find every")])
    });
    [unshared, missed]
}

#[test]
fn what_access_paths_say_follows_from_their_costs() {
    let all = [costs(), vec![instructions(), waits(), bandwidth(), beside()], threads().into(), columns()];
    both_sides(&scan::findings::ALL, all.into_iter().flatten().chain(of_server()).chain(paths()).chain(passes()));
}

#[test]
fn more_threads_than_processors_take_turns_and_no_quiet_machine_helps() {
    let said = |threads: usize, cores: u64| {
        let of = |threads: usize, busy: f64| {
            let times = [metric(schema::ELAPSED, 1e-3), metric(schema::CPU, 1e-3 * busy * threads as f64)];
            Measured { threads, ..one(AccessPath::FullScan, times.map(Some)) }
        };
        let mut machine = machine();
        machine.host.cores = Some(cores);
        let found = reported(&machine, true, &[of(1, 1.0), of(threads, 0.25)]);
        let times = found.into_iter().find(|finding| finding.id == row::ANSWER_THREADS.id);
        times.unwrap().message
    };
    let turns = "The threads take turns on the 1 processor that readpath may use: give --threads 1 at most.";
    assert!(said(4, 1).ends_with(turns), "{}", said(4, 1));
    assert!(said(4, 4).ends_with("repeat the run on a quiet machine."), "{}", said(4, 4));
}
