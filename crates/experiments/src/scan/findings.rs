//! What the numbers say, in sentences.

use measure::quantity::{counted, format_nanos, grouped, size_in_words, three_digits};
use measure::schema::FindingSpec;
use measure::schema::scan::{self as schema, PER_ROW, findings as row};
use measure::sentence::capital;
use measure::words::Word;
use measure::{Finding, Unit};
use subjects::access_paths::AccessPath;

use super::bench::Bench;
use super::measuring::Measured;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::sampling::{BUSY, turns};

/// From this share of the sequential bandwidth on, a scan waits for the memory.
const BOUND_BY_BANDWIDTH: f64 = 0.7;

/// Share of the ideal speed-up below which something holds several threads up.
const TIMES_WORTH_IT: f64 = 0.9;

/// A pass this short, in seconds, is over before threads have begun to share it.
const SHORT: f64 = 200e-6;

/// Instructions a cycle below which a processor of this century waits more than it works.
const IPC_OF_WAITING: f64 = 0.7;

/// The cases of a subject.
pub(super) struct SubjectCases {
    pub(super) name: String,
    pub(super) cases: Vec<Measured>,
}

/// What the cases of one subject say.
pub(super) fn report(found: &[Measured], bench: &Bench<'_>, journal: &mut dyn Journal) {
    let mut report = Report { bench, journal };
    let alone: Vec<&Measured> = found.iter().filter(|one| one.threads == 1).collect();
    if found.iter().all(|one| one.is_in_process) {
        report.dearest(&alone);
        report.visits(&alone);
        report.instructions(&alone);
        report.waits(&alone);
    }
    report.bandwidth(found);
    report.threads(found);
    report.kernels(&alone);
    report.unread(&alone);
    report.clustering(&alone);
    report.index_only(&alone);
}

/// The cost of a row of each subject that runs elsewhere against one whose passes run in this program.
pub(super) fn compare(found: &[SubjectCases], journal: &mut dyn Journal) {
    let runs_here = |subject: &&SubjectCases| subject.cases.iter().any(|one| one.is_in_process);
    let Some(reference) = found.iter().find(runs_here) else { return };
    for subject in found.iter().filter(|subject| subject.name != reference.name) {
        against(subject, reference, journal);
    }
}

fn against(subject: &SubjectCases, reference: &SubjectCases, journal: &mut dyn Journal) {
    let (mut is_dearer, mut values) = (true, Vec::new());
    let mut clause = |one: &Measured| {
        let is_same = |other: &&Measured| other.path == one.path && other.threads == 1 && other.row_time() > 0.0;
        let ratio = one.row_time() / reference.cases.iter().find(is_same)?.row_time();
        let instructions = one.value(PER_ROW.of("instructions"));
        let instructions = instructions
            .map_or(String::new(), |instructions| format!(", {} instructions a row", three_digits(instructions)));
        is_dearer &= ratio > 1.0;
        values.push((one.path, ratio));
        Some(format!("{} {}{instructions}", one.path.name(), three_digits(ratio)))
    };
    let clauses: Vec<String> = subject.cases.iter().filter(|one| one.threads == 1).filter_map(&mut clause).collect();
    if clauses.is_empty() {
        return;
    }
    let is_elsewhere = subject.cases.iter().all(|one| !one.is_in_process);
    let meaning = match is_dearer && is_elsewhere {
        true => format!(
            " A pass on {} does nothing but read; the rest is what a database does for its other users.",
            reference.name
        ),
        false => String::new(),
    };
    let finding = row::ANSWER_AGAINST_ENGINE.of(format!(
        "Cost of a row on {} over that on {}: {}.{meaning}",
        subject.name,
        reference.name,
        clauses.join("; ")
    ));
    journal
        .find(values.into_iter().fold(finding, |finding, (path, ratio)| finding.with(path.name(), ratio, Unit::Ratio)));
}

fn of<'a>(found: &[&'a Measured], path: AccessPath) -> Option<&'a Measured> {
    found.iter().copied().find(|one| one.path == path)
}

fn by_threads(one: &Measured) -> String {
    if one.threads > 1 { format!(" by {} threads", one.threads) } else { String::new() }
}

/// Bytes of the last cache that can be counted on.
fn last_cache(machine: &Machine) -> f64 {
    machine.last_cache().map_or(0.0, |cache| cache.usable as f64)
}

/// A size to three digits. Whole mebibytes would write 1.9 MiB as 1 MiB.
fn size(bytes: f64) -> String {
    let mebibytes = bytes / f64::from(1 << 20);
    if mebibytes >= 1.0 { format!("{} MiB", three_digits(mebibytes)) } else { size_in_words(bytes as u64) }
}

/// The findings of one subject.
struct Report<'a, 'b> {
    bench: &'a Bench<'b>,
    journal: &'a mut dyn Journal,
}

impl Report<'_, '_> {
    /// Adds a finding, with the subject's name where there are several. `sentence` begins with a small letter.
    fn find(&mut self, row: &FindingSpec, sentence: &str, values: &[(&str, f64, Unit)]) {
        let sentence = match self.bench.is_alone {
            true => capital_unless_a_path(sentence),
            false => format!("On {}, {sentence}", self.bench.name),
        };
        let with = |finding: Finding, (name, value, unit): &(&str, f64, Unit)| finding.with(name, *value, *unit);
        self.journal.find(values.iter().fold(row.of(sentence), with));
    }

    /// How many times dearer the dearest path is than the full scan, and than the cheapest that reads anything.
    fn dearest(&mut self, found: &[&Measured]) {
        let by_cost = |one: &&&Measured, other: &&&Measured| one.row_time().total_cmp(&other.row_time());
        let is_unread =
            |one: &Measured| one.value(schema::UNITS_READ) == Some(0.0) && one.value(schema::UNITS_UNREAD) > Some(0.0);
        let reads = || found.iter().filter(|one| one.row_time() > 0.0 && !is_unread(one));
        let (Some(least), Some(most)) = (reads().min_by(by_cost), reads().max_by(by_cost)) else { return };
        let full = reads().find(|one| one.path == AccessPath::FullScan);
        let mut others: Vec<&Measured> =
            full.into_iter().chain([least]).copied().filter(|one| one.path != most.path).collect();
        others.dedup_by_key(|one| one.path);
        if others.is_empty() {
            return;
        }
        let ratio = |one: &Measured| most.row_time() / one.row_time();
        let clause = |one: &&Measured| format!("{} times {}", three_digits(ratio(one)), one.path.name());
        let clauses: Vec<String> = others.iter().map(clause).collect();
        let cycles = most.value(PER_ROW.of("cycles"));
        let cycles = cycles.map_or(String::new(), |cycles| format!(" ({} cycles)", three_digits(cycles)));
        let cost = format_nanos(most.row_time());
        let sentence = format!("a row costs {cost}{cycles} by {}: {}.", most.path.name(), clauses.join(", "));
        let values: Vec<_> = others.iter().map(|one| (one.path.name(), ratio(one), Unit::Ratio)).collect();
        self.find(&row::ANSWER_DEAREST, &sentence, &values);
    }

    /// How many times a block was visited.
    fn visits(&mut self, found: &[&Measured]) {
        let value = |one: &&Measured| Some((one.path.name(), one.value(schema::VISITS_PER_BLOCK)?, Unit::Ratio));
        let values: Vec<_> = found.iter().filter_map(value).collect();
        let clause = |(path, visits, _): &(&str, f64, Unit)| format!("{path} {}", three_digits(*visits));
        let clauses: Vec<String> = values.iter().map(clause).collect();
        if !clauses.is_empty() {
            self.find(&row::ANSWER_VISITS, &format!("visits to a block: {}.", clauses.join(", ")), &values);
        }
    }

    /// What fetching blocks elsewhere in memory costs: the same rows by the same code, in two orders.
    fn waits(&mut self, found: &[&Measured]) {
        let table = of(found, AccessPath::FullScan).and_then(|full| full.value(schema::BYTES_TOUCHED));
        if table.is_some_and(|bytes| bytes <= last_cache(self.bench.machine)) {
            return;
        }
        let bad = of(found, AccessPath::IndexBadClustering);
        let Some((bad, good)) = bad.zip(of(found, AccessPath::IndexGoodClustering)) else { return };
        let Some((bad_gets, good_gets)) = bad.value(schema::TABLE_GETS).zip(good.value(schema::TABLE_GETS)) else {
            return;
        };
        let (gets, time) = (bad_gets - good_gets, bad.row_time() - good.row_time());
        let rows = bad.value(schema::ROWS).unwrap_or(0.0);
        if gets < rows / 10.0 || time <= 0.0 {
            return;
        }
        let (share, a_get) = (time / bad.row_time() * 100.0, time * rows / gets);
        let (percent, each) = (three_digits(share), format_nanos(a_get));
        let sentence = format!(
            "index-bad-clustering waits for memory: {percent} % of its time ({each} a further get) goes into getting \
             blocks that lie elsewhere, as the same rows in the order of the table show."
        );
        let values = [("share", share, Unit::Percent), ("further_get", a_get, Unit::Nanoseconds)];
        self.find(&row::ANSWER_WAITS_FOR_MEMORY, &sentence, &values);
    }

    /// Which path does the least work in a cycle, and how often it goes to memory for a row, against the full scan.
    fn instructions(&mut self, found: &[&Measured]) {
        let counted = || found.iter().filter_map(|one| Some((*one, one.value(schema::IPC)?)));
        let Some((slow, low)) = counted().min_by(|one, other| one.1.total_cmp(&other.1)) else { return };
        // Where that is the least itself, the one that gets most done.
        let full = counted().find(|(one, _)| one.path == AccessPath::FullScan && slow.path != AccessPath::FullScan);
        let most = || counted().max_by(|one, other| one.1.total_cmp(&other.1));
        let Some((other, ipc)) = full.or_else(most).filter(|(other, _)| other.path != slow.path) else { return };
        let memory = |one: &Measured, words: &str| {
            let accesses = one.value(PER_ROW.of("cache_misses")).map(three_digits);
            accesses.map_or(String::new(), |accesses| format!(" and {accesses}{words}"))
        };
        let meaning = if low < IPC_OF_WAITING { "waits more than it works" } else { "does the least work in a cycle" };
        let sentence = format!(
            "{} {meaning}: {} instructions a cycle{}; {} {}{}.",
            slow.path.name(),
            three_digits(low),
            memory(slow, " accesses to memory a row"),
            other.path.name(),
            three_digits(ipc),
            memory(other, "")
        );
        let values = [(slow.path.name(), low, Unit::Ratio), (other.path.name(), ipc, Unit::Ratio)];
        self.find(&row::ANSWER_IPC, &sentence, &values);
    }

    /// Which scan is held up by the bandwidth of the memory, and which by its own work.
    fn bandwidth(&mut self, found: &[Measured]) {
        let cache = last_cache(self.bench.machine);
        for one in found {
            let (Some((own, best)), Some(bytes)) = (one.bandwidth(), one.value(schema::BYTES_TOUCHED)) else {
                continue;
            };
            let meaning = if bytes <= cache {
                format!("its {} fit into the processor's cache, so memory plays no part in it", size(bytes))
            } else if own > best {
                "the reading in sequence was disturbed, so repeat the run on a quiet machine".into()
            } else if own / best >= BOUND_BY_BANDWIDTH {
                "it waits for the memory".into()
            } else {
                "its own work takes longer than the memory".into()
            };
            let (by, share) = (by_threads(one), own / best * 100.0);
            let [rate, percent] = [own / 1e9, share].map(three_digits);
            let sentence = format!(
                "{}{by} reads {rate} GB/s, {percent} % of what reading in sequence reached just before: {meaning}.",
                one.path.name()
            );
            let rate = ("bandwidth", own / f64::from(1 << 20), Unit::MebibytesPerSecond);
            self.find(&row::ANSWER_BANDWIDTH, &sentence, &[rate, ("share", share, Unit::Percent)]);
        }
    }

    /// What more threads bring, and what keeps them from bringing more.
    fn threads(&mut self, found: &[Measured]) {
        for many in found.iter().filter(|one| one.threads > 1) {
            let Some(alone) = found.iter().find(|one| one.threads == 1 && one.path == many.path) else { continue };
            let times = alone.elapsed() / many.elapsed();
            let limit = if alone.elapsed() < SHORT {
                " There is too little to share: give more --rows, and --no-zone-maps where zone maps answer.".into()
            } else if alone.busy().min(many.busy()) < BUSY {
                let quiet = || String::from(" Its threads waited for a processor: repeat the run on a quiet machine.");
                turns(many.threads, self.bench.machine.host.cores).unwrap_or_else(quiet)
            } else if times < TIMES_WORTH_IT * many.threads as f64 {
                limit(many, self.bench.machine).unwrap_or_default()
            } else {
                String::new()
            };
            let (path, faster, threads) = (many.path.name(), three_digits(times), many.threads);
            let sentence = format!("{path} is {faster} times as fast by {threads} threads as by one.{limit}");
            self.find(&row::ANSWER_THREADS, &sentence, &[("speed_up", times, Unit::Ratio)]);
        }
    }

    /// What wider vectors bring, where two kernels were measured.
    fn kernels(&mut self, found: &[&Measured]) {
        for one in found {
            let kernels = one.kernels.as_ref().zip(one.value(schema::COUNTED_ROW_TIME));
            let Some(((best, counted), row_time)) = kernels else { continue };
            let [by_best, by_counted] = [one.row_time(), row_time].map(format_nanos);
            let sentence = format!(
                "a row of {} costs {by_best} by the {best} kernel and {by_counted} by the {counted} kernel, whose \
                 instructions valgrind counts.",
                one.path.name()
            );
            let values = [(&**best, one.row_time(), Unit::Nanoseconds), (&**counted, row_time, Unit::Nanoseconds)];
            self.find(&row::ANSWER_KERNELS, &sentence, &values);
        }
    }

    /// Answers that were given without reading.
    fn unread(&mut self, found: &[&Measured]) {
        let units = |one: &Measured| one.value(schema::UNITS_UNREAD).zip(one.value(schema::UNITS_READ));
        let none_read = of(found, AccessPath::ColumnCount).and_then(units);
        if let Some((unread, _)) = none_read.filter(|(unread, read)| *unread > 0.0 && *read == 0.0) {
            let units = grouped(unread as u64);
            let each = if unread > 1.0 { format!("each of its {units} units") } else { "its 1 unit".into() };
            let sentence = format!("column-count read no column: {each} knows how many of its values are null.");
            self.find(&row::NOTHING_READ, &sentence, &[("units_unread", unread, Unit::Count)]);
        }
        let skipped = of(found, AccessPath::ColumnScan).and_then(units).filter(|(unread, _)| *unread > 0.0);
        if let Some((unread, read)) = skipped.filter(|_| self.bench.parameters.zone_maps) {
            let sentence = format!(
                "the minimum and maximum answered for {} of {} of column-scan, and their codes were not read: \
                 --no-zone-maps shows the scan itself.",
                grouped(unread as u64),
                counted((unread + read) as u64, "unit", "units")
            );
            let values = [("units_unread", unread, Unit::Count), ("units", unread + read, Unit::Count)];
            self.find(&row::ZONE_MAPS_ANSWERED, &sentence, &values);
        }
    }

    /// What another order of the rows costs where the subject knows how well they follow the index, and what a bitmap
    /// makes of it.
    fn clustering(&mut self, found: &[&Measured]) {
        let pair = of(found, AccessPath::IndexBadClustering).zip(of(found, AccessPath::IndexGoodClustering));
        let Some((bad, good)) = pair else { return };
        let Some((of_bad, of_good)) = bad.value(schema::CORRELATION).zip(good.value(schema::CORRELATION)) else {
            return;
        };
        let gets = |one: &Measured| one.value(schema::GETS).unwrap_or(0.0).max(1.0);
        if bad.row_time().min(good.row_time()) <= 0.0 {
            return;
        }
        let (more_gets, more_time) = (gets(bad) / gets(good), bad.row_time() / good.row_time());
        let bitmap = of(found, AccessPath::BitmapScan).map_or(String::new(), |bitmap| {
            let ratios = [bitmap.row_time() / bad.row_time(), gets(bitmap) / gets(bad)];
            let [cost, gets] = ratios.map(three_digits);
            format!(
                " A bitmap over the same index fetches each block once: {cost} times the cost, {gets} times the gets \
                 of index-bad-clustering."
            )
        });
        let [bad_gets, bad_time, of_bad, of_good] = [more_gets, more_time, of_bad, of_good].map(three_digits);
        let sentence = format!(
            "index-bad-clustering takes {bad_gets} times the gets and {bad_time} times the time of \
             index-good-clustering (correlation {of_bad} against {of_good}).{bitmap}"
        );
        let values = [("gets", more_gets, Unit::Ratio), ("time", more_time, Unit::Ratio)];
        self.find(&row::ANSWER_CLUSTERING, &sentence, &values);
    }

    /// What an index saves that holds all that is asked for.
    fn index_only(&mut self, found: &[&Measured]) {
        let pair = of(found, AccessPath::IndexOnlyScan).zip(of(found, AccessPath::FullScan));
        let Some((only, full)) = pair else { return };
        let gets = |one: &Measured| one.value(schema::GETS).unwrap_or(0.0);
        let ratio = gets(only) / gets(full).max(1.0);
        let ([only, full], times) = ([only, full].map(|one| format_nanos(one.row_time())), three_digits(ratio));
        let sentence = format!("index-only-scan costs {only} a row and full-scan {full}, with {times} times the gets.");
        self.find(&row::ANSWER_INDEX_ONLY, &sentence, &[("gets", ratio, Unit::Ratio)]);
    }
}

/// A sentence with its first letter large, but for the name of a path, which is written as it is.
fn capital_unless_a_path(sentence: &str) -> String {
    let is_path = AccessPath::all().any(|path| sentence.starts_with(path.name()));
    if is_path { sentence.into() } else { capital(sentence) }
}

/// The bandwidth of the memory as what more threads cannot exceed; `None` where they are far from it.
fn limit(many: &Measured, machine: &Machine) -> Option<String> {
    let (own, best) = many.bandwidth().filter(|(own, best)| own / best >= BOUND_BY_BANDWIDTH)?;
    let (threads, [own, best]) = (many.threads, [own, best].map(|rate| three_digits(rate / 1e9)));
    let is_memory = many.value(schema::BYTES_TOUCHED)? > last_cache(machine);
    is_memory.then(|| {
        format!(
            " The memory is the limit: they read {own} GB/s, and {threads} threads that only read in sequence {best} \
             GB/s."
        )
    })
}

#[cfg(test)]
mod tests;
