//! Readings as cases and findings of a run document.

use measure::quantity::{counted, grouped};
use measure::{Case, Finding, Metric, Parameters, Unit};
use serde_json::Value;

use crate::event::{Context, StatementKind};
use crate::observe::block_wait::BlockWaitKind;
use crate::observe::readings::{Accesses, LogicalIo, Readings, StatementWork, Tier, TierLabel};

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
const HILLS: &str = "hills of the latency on a logarithmic scale";

/// Reads that wait for their answer, with what sentences call them. The wait for a read past the cache is only what
/// was left of it when the session began to wait.
const KINDS_WITH_TIERS: [(BlockWaitKind, &str); 2] =
    [(BlockWaitKind::SingleBlock, "single-block reads"), (BlockWaitKind::MultiBlock, "multi-block reads")];

/// Who answered reads of a kind.
struct Answered {
    kind: BlockWaitKind,
    noun: &'static str,
    tiers: Vec<Tier>,
    reads: u64,
}

impl Readings {
    /// The cases of the requests and of the tiers of reads.
    pub fn cases(&self) -> Vec<Case> {
        let kinds = BlockWaitKind::ALL.into_iter().filter_map(|kind| Some((kind, self.accesses(kind)?)));
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
        (below_zero > 0).then(|| Finding::warning("latency-below-zero", message))
    }
}

impl LogicalIo {
    /// The cost of the whole, then of the statements with most gets; `context` gives their names.
    pub fn cases(&self, context: &Context) -> Vec<Case> {
        let mut whole = Case::new(parameters(&[("table", "reading"), ("reading", "logical-io")]));
        let rows_per_get = self.rows as f64 / self.gets as f64;
        whole.metrics = vec![
            Metric::single("lio", Unit::Microseconds, CALL_LINES, self.micros_per_get()),
            Metric::single("gets", Unit::Count, CALL_LINES, self.gets as f64),
            Metric::single("cpu", Unit::Microseconds, CALL_LINES, self.cpu.micros()),
            Metric::single("rows_per_get", Unit::Ratio, CALL_LINES, rows_per_get),
        ];
        let spread = self
            .statements
            .map(|statistics| Metric::of_statistics("lio_of_statements", Unit::Microseconds, CALL_LINES, statistics));
        whole.metrics.extend(spread);
        if let Ok(fit) = self.fit {
            let fitted = |name: &str, unit, value| Metric::single(name, unit, LEAST_SQUARES, value);
            whole.metrics.extend([
                fitted("cpu_per_get", Unit::Microseconds, fit.per_get.0),
                fitted("cpu_per_get_error", Unit::Microseconds, fit.per_get.1),
                fitted("cpu_per_row", Unit::Microseconds, fit.per_row.0),
                fitted("cpu_per_row_error", Unit::Microseconds, fit.per_row.1),
                fitted("fit_r_squared", Unit::Ratio, fit.r_squared),
            ]);
        }
        let shown = self.works.iter().filter_map(|work| statement_case(work, context)).take(STATEMENTS_SHOWN);
        std::iter::once(whole).chain(shown).collect()
    }

    /// How much of the cost is the rows', where that can be separated.
    pub fn findings(&self) -> Vec<Finding> {
        let Ok(fit) = self.fit else { return Vec::new() };
        let message = format!(
            "Over {} statements a get takes {} and a row {} of CPU (least squares, R² {:.2}).",
            grouped(fit.statements as u64),
            with_error(fit.per_get),
            with_error(fit.per_row),
            fit.r_squared,
        );
        vec![Finding::info("logical-io-by-rows", message)]
    }
}

fn with_error((value, error): (f64, f64)) -> String {
    let digits = measure::quantity::three_digits;
    format!("{} ± {} µs", digits(value), digits(2.0 * error))
}

fn access_case(kind: BlockWaitKind, accesses: &Accesses) -> Option<Case> {
    let mut case = Case::new(parameters(&[("table", "reading"), ("reading", kind.name())]));
    let statistics = accesses.latency.statistics()?;
    let sizes = &accesses.sizes;
    case.metrics = vec![Metric::of_statistics("latency", Unit::Microseconds, WAIT_LINES, statistics)];
    let of_sizes = |statistics| Metric::of_statistics("blocks_per_request", Unit::Count, WAIT_LINES, statistics);
    case.metrics.extend(sizes.statistics().map(of_sizes));
    let single = |name: &str, unit, value| Metric::single(name, unit, WAIT_LINES, value);
    case.metrics.extend((sizes.count() > 0).then(|| single("blocks", Unit::Count, sizes.blocks() as f64)));
    case.metrics.extend(sizes.micros_per_block().map(|micros| single("time_per_block", Unit::Microseconds, micros)));
    let of_system = sizes.blocks_per_system_request();
    case.metrics.extend(of_system.map(|blocks| single("blocks_per_system_request", Unit::Ratio, blocks)));
    Some(case)
}

fn tier_case(kind: BlockWaitKind, index: usize, tier: &Tier, reads: u64) -> Case {
    let mut case = Case::new(parameters(&[("table", "tier"), ("reading", kind.name())]));
    // Two hills may have one label: the number distinguishes them.
    case.parameters.insert("number".into(), Value::from(index + 1));
    case.parameters.insert("tier".into(), tier.label.name().into());
    let single = |name: &str, unit, value| Metric::single(name, unit, HILLS, value);
    case.metrics = vec![
        single("calls", Unit::Count, tier.count as f64),
        single("share", Unit::Percent, 100.0 * tier.count as f64 / reads as f64),
        single("total", Unit::Microseconds, tier.time.micros()),
        single("mean", Unit::Microseconds, tier.mean_micros()),
        single("mode", Unit::Microseconds, tier.mode_micros),
    ];
    case.metrics.extend(tier.below_micros.map(|micros| single("below", Unit::Microseconds, micros)));
    case
}

fn statement_case(work: &StatementWork, context: &Context) -> Option<Case> {
    let statement = context.statements.get(work.statement.0 as usize)?;
    if statement.kind != StatementKind::Declared {
        return None;
    }
    let mut case = Case::new(parameters(&[("table", "reading"), ("reading", "logical-io"), ("id", &statement.id)]));
    case.metrics = vec![
        Metric::single("lio", Unit::Microseconds, CALL_LINES, work.micros_per_get()),
        Metric::single("gets", Unit::Count, CALL_LINES, work.gets as f64),
        Metric::single("cpu", Unit::Microseconds, CALL_LINES, work.cpu.micros()),
        Metric::single("rows_per_get", Unit::Ratio, CALL_LINES, work.rows as f64 / work.gets as f64),
    ];
    Some(case)
}

fn parameters(pairs: &[(&str, &str)]) -> Parameters {
    pairs.iter().map(|(name, value)| ((*name).into(), Value::from(*value))).collect()
}

fn tiers_finding(answered: &Answered) -> Finding {
    let told = |tier: &Tier| {
        let share = 100.0 * tier.count as f64 / answered.reads as f64;
        let typical = measure::quantity::format_nanos(1e3 * tier.mode_micros);
        format!("{share:.0} % took about {typical} ({})", in_words(tier.label))
    };
    let parts: Vec<String> = answered.tiers.iter().map(told).collect();
    let message =
        format!("Who answered the {}, inferred from their latency alone: {}.", answered.noun, parts.join(", "));
    Finding::info(&format!("tiers-{}", answered.kind.name()), message)
}

fn in_words(label: TierLabel) -> &'static str {
    match label {
        TierLabel::FileSystemCache => "memory of this host: the file-system cache",
        TierLabel::StorageCache => "the storage's cache, or flash",
        TierLabel::Disk => "a disk",
    }
}

fn memory_behind_reads(answered: &Answered) -> Option<Finding> {
    let from_memory = answered.tiers.iter().filter(|tier| tier.label == TierLabel::FileSystemCache);
    let share = from_memory.map(|tier| tier.count).sum::<u64>() as f64 / answered.reads as f64;
    let message = format!(
        "{:.0} % of the {} were answered as fast as memory: the database believes that it reads a disk, and the \
         file-system cache probably answers. Direct I/O would send these reads to the storage; a larger buffer cache \
         would save them.",
        100.0 * share,
        answered.noun
    );
    let id = format!("file-system-cache-answers-{}", answered.kind.name());
    (share >= MEMORY_SHARE_MIN).then(|| Finding::warning(&id, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Observer;
    use crate::observe::synthetic_wait::{context, wait};

    fn readings(micros: impl Iterator<Item = i64>) -> Readings {
        let context = context(&[("db file sequential read", &["file#", "block#", "blocks"])]);
        let mut readings = Readings::new();
        micros.enumerate().for_each(|(block, micros)| readings.wait(&context, &wait(0, micros, [4, block as i64, 1])));
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
