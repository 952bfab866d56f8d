//! Readings as cases and findings of a run document.

use measure::quantity::{counted, grouped};
use measure::schema::profile::findings as row;
use measure::schema::profile::{self as schema, parameters as named};
use measure::{Case, Finding, Metric};
use serde_json::Value;

use crate::document::metrics::{case, time};
use crate::event::block_wait::BlockWaitKind;
use crate::event::{Context, StatementKind, Ticks};
use crate::observe::readings::{Accesses, Costs, LogicalIo, Readings, StatementWork, Tier, TierLabel};
use measure::words::Word;

/// Statements whose cost of a logical I/O is given one by one.
const STATEMENTS_SHOWN: usize = 20;

/// Share of the reads from which it is worth a warning that memory answers them.
const MEMORY_SHARE_MIN: f64 = 0.1;

/// Fewest reads for which a finding names the tiers.
const READS_MIN: u64 = 40;

/// Where the numbers come from.
const WAIT_LINES: &str = "wait lines of the trace";
const CALL_LINES: &str = "call lines of the trace but parses, recursive children taken off";
const LEAST_SQUARES: &str = "least squares over statements, CPU = a × gets + b × rows";
const HILLS: &str = "peaks of the latency on a logarithmic scale";

/// Reads that sessions wait for, with what sentences call them. The wait for a read past the cache is only what
/// was left of it when the session began to wait.
const KINDS_WITH_TIERS: [(BlockWaitKind, &str); 2] =
    [(BlockWaitKind::SingleBlock, "single-block reads"), (BlockWaitKind::MultiBlock, "multi-block reads")];

/// Which tiers served reads of a kind.
struct Answered {
    kind: BlockWaitKind,
    noun: &'static str,
    tiers: Vec<Tier>,
    reads: u64,
}

impl Readings {
    /// The cases of the requests and of the tiers of reads.
    pub fn cases(&self) -> Vec<Case> {
        let kinds = BlockWaitKind::ALL.iter().filter_map(|(kind, ..)| Some((*kind, self.accesses(*kind)?)));
        let mut cases: Vec<Case> = kinds.filter_map(|(kind, accesses)| access_case(kind, accesses)).collect();
        for answered in self.answered() {
            let tiers = answered.tiers.iter().enumerate();
            cases.extend(tiers.map(|(index, tier)| tier_case(answered.kind, index, tier, answered.reads)));
        }
        cases
    }

    /// What the latencies say by themselves.
    pub fn findings(&self) -> Vec<Finding> {
        let answered = self.answered();
        let tiers = answered.iter().map(tiers_finding);
        let memory = answered.iter().filter_map(memory_behind_reads);
        tiers.chain(memory).chain(self.clock_set_back()).collect()
    }

    /// The kinds of reads with enough of them for tiers.
    fn answered(&self) -> Vec<Answered> {
        let one = |(kind, noun): (BlockWaitKind, &'static str)| {
            let tiers = self.tiers(kind);
            let reads = tiers.iter().map(|tier| tier.count).sum();
            Answered { kind, noun, tiers, reads }
        };
        KINDS_WITH_TIERS.into_iter().map(one).filter(|answered| answered.reads >= READS_MIN).collect()
    }

    fn clock_set_back(&self) -> Option<Finding> {
        let below_zero: u64 = self.accesses.iter().map(|accesses| accesses.latency.below_zero()).sum();
        let message = format!(
            "{} a time below zero: the clock was set back. No latency counts that.",
            counted(below_zero, "wait for blocks has", "waits for blocks have")
        );
        (below_zero > 0).then(|| row::LATENCY_BELOW_ZERO.of(message))
    }
}

impl LogicalIo {
    /// The cost of the whole, then of the statements with most gets; `context` gives their names.
    pub fn cases(&self, context: &Context) -> Vec<Case> {
        let mut metrics = work_metrics(self.micros_per_get(), self.gets, self.cpu, self.rows);
        metrics.extend(self.statements.map(|spread| schema::LIO_OF_STATEMENTS.of_statistics(CALL_LINES, spread)));
        if let Costs::Known(fit) = self.costs {
            metrics.extend([
                schema::CPU_PER_GET.single(LEAST_SQUARES, fit.per_get.0),
                schema::CPU_PER_GET_ERROR.single(LEAST_SQUARES, fit.per_get.1),
                schema::CPU_PER_ROW.single(LEAST_SQUARES, fit.per_row.0),
                schema::CPU_PER_ROW_ERROR.single(LEAST_SQUARES, fit.per_row.1),
                schema::FIT_R_SQUARED.single(LEAST_SQUARES, fit.r_squared),
            ]);
        }
        let whole = case(parameters("logical-io"), metrics);
        let shown = self.works.iter().filter_map(|work| statement_case(work, context)).take(STATEMENTS_SHOWN);
        std::iter::once(whole).chain(shown).collect()
    }

    /// How much of the cost is the rows', where that can be separated, or why it cannot.
    pub fn findings(&self) -> Vec<Finding> {
        let message = match self.costs {
            Costs::Known(fit) => format!(
                "Over {} statements a get takes {} and a row {} of CPU (least squares, R² {:.2}).",
                grouped(fit.statements as u64),
                with_error(fit.per_get),
                with_error(fit.per_row),
                fit.r_squared,
            ),
            Costs::Refused { statements } => format!(
                "No CPU time of a get or a row is given: over {} statements, least squares fit worse than the mean \
                 does (R² below 0).",
                grouped(statements as u64)
            ),
            Costs::NotFitted => return Vec::new(),
        };
        vec![row::LOGICAL_IO_BY_ROWS.of(message)]
    }
}

fn with_error((value, error): (f64, f64)) -> String {
    let digits = measure::quantity::three_digits;
    format!("{} ± {} µs", digits(value), digits(2.0 * error))
}

fn access_case(kind: BlockWaitKind, accesses: &Accesses) -> Option<Case> {
    let statistics = accesses.latency.statistics()?;
    let (sizes, from) = (&accesses.sizes, WAIT_LINES);
    let metrics = [
        Some(schema::LATENCY.of_statistics(from, statistics)),
        sizes.statistics().map(|sizes| schema::BLOCKS_PER_REQUEST.of_statistics(from, sizes)),
        (sizes.count() > 0).then(|| schema::BLOCKS.count(from, sizes.blocks())),
        sizes.micros_per_block().map(|micros| schema::TIME_PER_BLOCK.single(from, micros)),
        sizes.blocks_per_system_request().map(|blocks| schema::BLOCKS_PER_SYSTEM_REQUEST.single(from, blocks)),
    ];
    Some(case(parameters(kind.name()), metrics.into_iter().flatten().collect()))
}

fn tier_case(kind: BlockWaitKind, index: usize, tier: &Tier, reads: u64) -> Case {
    let parameters = [
        named::TABLE.of("tier"),
        named::READING.of(kind.name()),
        // Two hills may have one label: the number distinguishes them.
        named::NUMBER.of(index + 1),
        named::TIER.of(tier.label.name()),
    ];
    let mut metrics = vec![
        schema::CALLS.count(HILLS, tier.count),
        schema::SHARE.single(HILLS, 100.0 * tier.count as f64 / reads as f64),
        time(&schema::TOTAL, HILLS, tier.time),
        schema::MEAN.single(HILLS, tier.mean_micros()),
        schema::MODE.single(HILLS, tier.mode_micros),
    ];
    metrics.extend(tier.below_micros.map(|micros| schema::BELOW.single(HILLS, micros)));
    case(parameters, metrics)
}

fn statement_case(work: &StatementWork, context: &Context) -> Option<Case> {
    let statement = context.statement(work.statement)?;
    if statement.kind != StatementKind::Declared {
        return None;
    }
    let metrics = work_metrics(work.micros_per_get(), work.gets, work.cpu, work.rows);
    Some(case(parameters("logical-io").into_iter().chain([named::ID.of(statement.id.as_str())]), metrics))
}

fn work_metrics(lio: f64, gets: i64, cpu: Ticks, rows: u64) -> Vec<Metric> {
    vec![
        schema::LIO.single(CALL_LINES, lio),
        schema::GETS.single(CALL_LINES, gets as f64),
        time(&schema::CPU, CALL_LINES, cpu),
        schema::ROWS_PER_GET.single(CALL_LINES, rows as f64 / gets as f64),
    ]
}

fn parameters(reading: &str) -> [(String, Value); 2] {
    [named::TABLE.of("reading"), named::READING.of(reading)]
}

fn tiers_finding(answered: &Answered) -> Finding {
    let told = |tier: &Tier| {
        let share = 100.0 * tier.count as f64 / answered.reads as f64;
        let typical = measure::quantity::format_nanos(1e3 * tier.mode_micros);
        format!("{share:.0} % took about {typical} ({})", in_words(tier.label))
    };
    let parts: Vec<String> = answered.tiers.iter().map(told).collect();
    let message =
        format!("Where the {} were served, inferred from latency alone: {}.", answered.noun, parts.join(", "));
    row::TIERS.named(answered.kind.name(), message)
}

fn in_words(label: TierLabel) -> &'static str {
    match label {
        TierLabel::FileSystemCache => "memory of this host: the page cache",
        TierLabel::StorageCache => "the storage's cache, or flash",
        TierLabel::Disk => "a disk",
    }
}

fn memory_behind_reads(answered: &Answered) -> Option<Finding> {
    let from_memory = answered.tiers.iter().filter(|tier| tier.label == TierLabel::FileSystemCache);
    let share = from_memory.map(|tier| tier.count).sum::<u64>() as f64 / answered.reads as f64;
    let message = format!(
        "{:.0} % of the {} were as fast as memory: the database expects to read a disk, and the page cache probably \
         serves the reads, unless a flash disk of this host does. Direct I/O would send what is cached to the storage; \
         a larger buffer cache would save the reads.",
        100.0 * share,
        answered.noun
    );
    (share >= MEMORY_SHARE_MIN).then(|| row::FILE_SYSTEM_CACHE_ANSWERS.named(answered.kind.name(), message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::{context, hear, wait};

    fn readings(micros: impl Iterator<Item = i64>) -> Readings {
        let context = context(&[("db file sequential read", &["file#", "block#", "blocks"])]);
        let mut readings = Readings::default();
        for (block, micros) in micros.enumerate() {
            hear(&context, &wait(0, micros, [4, block as i64, 1]), |wait, time| readings.add(wait, time));
        }
        readings
    }

    #[test]
    fn a_database_that_memory_answers_is_told_so() {
        let from_memory =
            readings((0..400).map(|index| if index % 4 == 0 { 8000 + index * 7 } else { 35 + index % 11 }));
        let ids: Vec<String> = from_memory.findings().into_iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["tiers-single-block-read", "file-system-cache-answers-single-block-read"]);
        let from_disk = readings((0..400).map(|index| 6000 + index * 11));
        let ids: Vec<String> = from_disk.findings().into_iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["tiers-single-block-read"]);
    }

    #[test]
    fn fast_reads_of_storage_cells_are_not_taken_for_the_page_cache() {
        let context = context(&[("cell single block physical read", &["cellhash#", "diskhash#", "bytes"])]);
        let mut of_cells = Readings::default();
        for index in 0..400 {
            hear(&context, &wait(0, 20 + index % 70, [1, 2, 8192]), |wait, time| of_cells.add(wait, time));
        }
        let tiers = of_cells.tiers(BlockWaitKind::SingleBlock);
        assert!(!tiers.is_empty() && tiers.iter().all(|tier| tier.label == TierLabel::StorageCache), "{tiers:?}");
        let ids: Vec<String> = of_cells.findings().into_iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["tiers-single-block-read"]);
    }

    #[test]
    fn tiers_of_a_handful_of_reads_are_not_told() {
        let few = readings((0..20).map(|index| 30 + index));
        assert!(few.findings().is_empty());
        assert!(few.cases().iter().all(|case| case.parameter("table").as_deref() == Some("reading")));
    }

    #[test]
    fn every_tier_has_a_case_and_their_shares_are_the_whole() {
        let cases = readings((0..400).map(|index| if index % 2 == 0 { 9000 + index } else { 40 + index % 7 })).cases();
        let tiers: Vec<&Case> =
            cases.iter().filter(|case| case.parameter("table").as_deref() == Some("tier")).collect();
        let names: Vec<String> = tiers.iter().filter_map(|case| case.parameter("tier")).collect();
        assert_eq!(names, ["file-system-cache", "disk"]);
        let shares: f64 = tiers.iter().map(|case| case.metric("share").unwrap().median()).sum();
        assert!((shares - 100.0).abs() < 1e-9);
    }
}
