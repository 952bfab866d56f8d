//! What the numbers say, in sentences.

use measure::Finding;
use measure::quantity::{format_nanos, three_digits};
use subjects::access_paths::{AccessPath, ZoneMaps};

use super::ScanParameters;
use super::measuring::Measured;
use crate::journal::Journal;
use crate::machine::Machine;

/// From this share of the sequential bandwidth on, a scan waits for the memory.
const BOUND_BY_BANDWIDTH: f64 = 0.7;

/// Threads that ran for a smaller share of the time were kept waiting by others.
const BUSY: f64 = 0.9;

/// Share of as many times the speed below which several threads are held up by something.
const TIMES_WORTH_IT: f64 = 0.9;

/// A pass this short, in seconds, is over before threads have begun to share it.
const SHORT: f64 = 200e-6;

/// Instructions a cycle below which a processor of this century waits more than it works.
const IPC_OF_WAITING: f64 = 0.7;

/// All that the cases say.
pub(super) fn report(found: &[Measured], parameters: &ScanParameters, machine: &Machine, journal: &mut dyn Journal) {
    let alone: Vec<&Measured> = found.iter().filter(|one| one.threads == 1).collect();
    dearest(&alone, journal);
    visits(&alone, journal);
    instructions(&alone, journal);
    waits(&alone, machine, journal);
    bandwidth(found, machine, journal);
    threads(found, machine, journal);
    kernels(&alone, journal);
    unread(&alone, parameters, journal);
}

fn of<'a>(found: &[&'a Measured], path: AccessPath) -> Option<&'a Measured> {
    found.iter().copied().find(|one| one.path == path)
}

/// How many times dearer the dearest path is than the full scan, and than the cheapest that reads anything.
fn dearest(found: &[&Measured], journal: &mut dyn Journal) {
    let by_cost = |one: &&&Measured, other: &&&Measured| one.row_time.total_cmp(&other.row_time);
    let reads = || found.iter().filter(|one| one.row_time > 0.0 && (one.units_unread == 0 || one.units_read > 0));
    let (Some(least), Some(most)) = (reads().min_by(by_cost), reads().max_by(by_cost)) else { return };
    let others = of(found, AccessPath::FullScan).into_iter().chain([*least]);
    let mut clauses: Vec<String> = others
        .filter(|one| one.path != most.path)
        .map(|one| format!("{} times {}", three_digits(most.row_time / one.row_time), one.path.name()))
        .collect();
    clauses.dedup();
    if clauses.is_empty() {
        return;
    }
    let cycles = most.cycles_per_row.map_or(String::new(), |cycles| format!(" ({} cycles)", three_digits(cycles)));
    journal.find(Finding::info(
        "answer-dearest",
        format!("A row costs {}{cycles} by {}: {}.", format_nanos(most.row_time), most.path.name(), clauses.join(", ")),
    ));
}

/// How many times a block was visited.
fn visits(found: &[&Measured], journal: &mut dyn Journal) {
    let clause = |one: &&Measured| Some(format!("{} {}", one.path.name(), three_digits(one.visits?)));
    let clauses: Vec<String> = found.iter().filter_map(clause).collect();
    if !clauses.is_empty() {
        journal.find(Finding::info("answer-visits", format!("Visits to a block: {}.", clauses.join(", "))));
    }
}

/// What the way to blocks elsewhere in memory costs: the same rows by the same code, in two orders.
fn waits(found: &[&Measured], machine: &Machine, journal: &mut dyn Journal) {
    let table = of(found, AccessPath::FullScan).and_then(|full| full.bytes_touched);
    if table.is_some_and(|bytes| bytes <= last_cache(machine)) {
        return;
    }
    let bad = of(found, AccessPath::IndexBadClustering);
    let Some((bad, good)) = bad.zip(of(found, AccessPath::IndexGoodClustering)) else { return };
    let (gets, time) = (bad.table_gets - good.table_gets, bad.row_time - good.row_time);
    if gets < bad.rows / 10.0 || time <= 0.0 {
        return;
    }
    journal.find(Finding::info(
        "answer-waits-for-memory",
        format!(
            "index-bad-clustering waits for memory: {} % of its time ({} a further get) goes into getting blocks that \
             lie elsewhere, as the same rows in the order of the table show.",
            three_digits(time / bad.row_time * 100.0),
            format_nanos(time * bad.rows / gets)
        ),
    ));
}

/// Who gets least done in a cycle, and how often it goes to memory for a row, beside the full scan.
fn instructions(found: &[&Measured], journal: &mut dyn Journal) {
    let counted = || found.iter().filter_map(|one| Some((*one, one.ipc?)));
    let Some((slow, low)) = counted().min_by(|one, other| one.1.total_cmp(&other.1)) else { return };
    // Where that is the least itself, the one that gets most done.
    let full = counted().find(|(one, _)| one.path == AccessPath::FullScan && slow.path != AccessPath::FullScan);
    let most = || counted().max_by(|one, other| one.1.total_cmp(&other.1));
    let Some((other, ipc)) = full.or_else(most).filter(|(other, _)| other.path != slow.path) else { return };
    let memory = |one: &Measured, words: &str| {
        let accesses = one.memory_per_row.map(three_digits);
        accesses.map_or(String::new(), |accesses| format!(" and {accesses}{words}"))
    };
    let meaning = if low < IPC_OF_WAITING { "waits more than it works" } else { "gets least done in a cycle" };
    journal.find(Finding::info(
        "answer-ipc",
        format!(
            "{} {meaning}: {} instructions a cycle{}; {} {}{}.",
            slow.path.name(),
            three_digits(low),
            memory(slow, " reads of memory a row"),
            other.path.name(),
            three_digits(ipc),
            memory(other, "")
        ),
    ));
}

/// Which scan is held up by the bandwidth of the memory, and which by its own work.
fn bandwidth(found: &[Measured], machine: &Machine, journal: &mut dyn Journal) {
    let cache = last_cache(machine);
    for one in found {
        let (Some((own, best)), Some(bytes)) = (one.bandwidth, one.bytes_touched) else { continue };
        let meaning = if bytes <= cache {
            let cached = super::whole_mebibytes(bytes as u64);
            format!("its {cached} fit into the processor's cache, and the memory has no part in it")
        } else if own > best {
            "the reading in sequence was disturbed, so repeat the run on a quiet machine".into()
        } else if own / best >= BOUND_BY_BANDWIDTH {
            "it waits for the memory".into()
        } else {
            "its own work takes longer than the memory".into()
        };
        journal.find(Finding::info(
            "answer-bandwidth",
            format!(
                "{}{} reads {} GB/s, {} % of what reading in sequence reached just before: {meaning}.",
                one.path.name(),
                by_threads(one),
                three_digits(own / 1e9),
                three_digits(own / best * 100.0)
            ),
        ));
    }
}

fn by_threads(one: &Measured) -> String {
    if one.threads > 1 { format!(" by {} threads", one.threads) } else { String::new() }
}

/// What more threads bring, and what keeps them from bringing more.
fn threads(found: &[Measured], machine: &Machine, journal: &mut dyn Journal) {
    for many in found.iter().filter(|one| one.threads > 1) {
        let Some(alone) = found.iter().find(|one| one.threads == 1 && one.path == many.path) else { continue };
        let times = alone.elapsed / many.elapsed;
        let limit = if alone.elapsed < SHORT {
            " There is too little to share: give more --rows, and --no-zone-maps where those answer.".into()
        } else if alone.busy.min(many.busy) < BUSY {
            " Its threads waited for a processor: repeat the run on a quiet machine.".into()
        } else if times < TIMES_WORTH_IT * many.threads as f64 {
            limit(many, machine).unwrap_or_default()
        } else {
            String::new()
        };
        journal.find(Finding::info(
            "answer-threads",
            format!(
                "{} is {} times as fast by {} threads as by one.{limit}",
                many.path.name(),
                three_digits(times),
                many.threads
            ),
        ));
    }
}

/// The bandwidth of the memory as what more threads cannot exceed; `None` where they are far from it.
fn limit(many: &Measured, machine: &Machine) -> Option<String> {
    let (own, best) = many.bandwidth.filter(|(own, best)| own / best >= BOUND_BY_BANDWIDTH)?;
    (many.bytes_touched? > last_cache(machine)).then(|| {
        format!(
            " The memory is the limit: they read {} GB/s, and {} threads that only read in sequence {} GB/s.",
            three_digits(own / 1e9),
            many.threads,
            three_digits(best / 1e9)
        )
    })
}

fn last_cache(machine: &Machine) -> f64 {
    machine.host.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0) as f64
}

/// What wider vectors bring, where two kernels were measured.
fn kernels(found: &[&Measured], journal: &mut dyn Journal) {
    for one in found {
        let Some((best, counted, row_time)) = one.kernels else { continue };
        journal.find(Finding::info(
            "answer-kernels",
            format!(
                "A row of {} costs {} by the {} kernel and {} by the {} kernel, whose instructions valgrind counts.",
                one.path.name(),
                format_nanos(one.row_time),
                best.name(),
                format_nanos(row_time),
                counted.name()
            ),
        ));
    }
}

/// Answers that were given without reading.
fn unread(found: &[&Measured], parameters: &ScanParameters, journal: &mut dyn Journal) {
    if let Some(count) = of(found, AccessPath::ColumnCount) {
        journal.find(Finding::info(
            "nothing-read",
            format!(
                "column-count read no column: each of its {} units knows how many of its values are null.",
                count.units_unread
            ),
        ));
    }
    let skipped = of(found, AccessPath::ColumnScan).filter(|scan| scan.units_unread > 0);
    if let Some(scan) = skipped.filter(|_| parameters.zone_maps == ZoneMaps::On) {
        journal.find(Finding::info(
            "zone-maps-answered",
            format!(
                "The least and greatest values answered for {} of {} units of column-scan, and their codes were not \
                 read: --no-zone-maps shows the scan itself.",
                scan.units_unread,
                scan.units_unread + scan.units_read
            ),
        ));
    }
}
