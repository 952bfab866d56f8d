//! One reading of a device: run the workers under watch, turn what they measured into cases, say what spoils it.

mod cases;
mod findings;
mod job;

use device::audit::{Audit, AuditCounts};
use device::pattern::{Pattern, Turn};
use device::plan::ReadPlan;
use device::read_loop::LoopOutcome;
use device::tier::Evidence;
use device::workers::{Reading, Team};
use device::{Device, Witnesses};
use measure::Nanos;
use sys::file::Caching;
use sys::host::page_bytes;
use sys::read::MethodRow;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Change, Conditions, Machine, Sensitivity};
pub(crate) use cases::BY_SCHEDULE;
use cases::Source;
pub use findings::huge_page_buffers;
pub use job::{Job, Measured, PageCache};

/// First touch of blocks over the second from which a volume is called lazily loaded.
pub(crate) const LAZY: f64 = 3.0;

/// What was observed around a reading that took time of this machine.
struct Around {
    counts: AuditCounts,
    change: Change,
}

impl Around {
    /// This and a later turn together.
    fn and(self, later: Around) -> Around {
        let (one, other) = (self.change, later.change);
        let sum = |one: Option<Nanos>, other: Option<Nanos>| Some(one? + other?);
        let first_and_last = |one: Option<(f64, f64)>, other: Option<(f64, f64)>| Some((one?.0, other?.1));
        let change = Change {
            core_ghz: first_and_last(one.core_ghz, other.core_ghz),
            additions: first_and_last(one.additions, other.additions),
            stolen: sum(one.stolen, other.stolen),
            throttled: sum(one.throttled, other.throttled),
            elapsed: one.elapsed + other.elapsed,
        };
        Around { counts: self.counts.plus(later.counts), change }
    }
}

/// What was read of a case: at once, or in turns with other cases.
pub struct Taken {
    reading: Reading,
    around: Option<Around>,
    source: Source,
    /// Whether ^C cut it short.
    pub interrupted: bool,
}

impl Taken {
    /// This and a later turn of the same case.
    pub fn and(mut self, later: Taken) -> Taken {
        self.reading.append(later.reading);
        self.around = self.around.zip(later.around).map(|(around, later)| around.and(later));
        self.interrupted |= later.interrupted;
        self
    }
}

/// Does the reading and adds findings about what spoils it.
pub fn run(machine: &Machine, job: Job<'_>, journal: &mut dyn Journal) -> Result<Measured, ExperimentError> {
    let taken = take(machine, job.device, (job.method, job.plans), Turn::ONLY)?;
    conclude(machine, &job, taken, journal)
}

/// Does one turn of a reading, with one plan a worker.
pub fn take(
    machine: &Machine,
    device: &dyn Device,
    (method, plans): (Option<&'static MethodRow>, &[ReadPlan]),
    turn: Turn,
) -> Result<Taken, ExperimentError> {
    let witnesses = device.witnesses();
    let is_virtual = device.describe().is_virtual;
    let team = Team::open(device, method, plans)?.in_turn(turn);
    let source = Source::of(machine, &team, is_virtual);
    let before = (!is_virtual).then(|| (Conditions::now(machine), Audit::begin(witnesses.storage())));
    let mut reading = team.read(&machine.clock, machine.stop.flag())?;
    let around = before.map(|(conditions, audit)| Around { counts: audit.end(), change: conditions.changed(machine) });
    if let Some(failure) = reading.outcome.failure.take() {
        return Err(ExperimentError::ReadFailed { path: device.name().into(), failure });
    }
    Ok(Taken { reading, around, source, interrupted: machine.stop.requested() })
}

/// Reads what one worker reads by a plan, unmeasured.
pub fn unmeasured(
    machine: &Machine,
    device: &dyn Device,
    (method, plan): (Option<&'static MethodRow>, ReadPlan),
) -> Result<(), ExperimentError> {
    let plans = [plan];
    let team = Team::open(device, method, &plans)?;
    match team.read(&machine.clock, machine.stop.flag())?.outcome.failure {
        Some(failure) => Err(ExperimentError::ReadFailed { path: device.name().into(), failure }),
        None => Ok(()),
    }
}

/// What came of a reading, with findings about what spoils it.
pub fn conclude(
    machine: &Machine,
    job: &Job<'_>,
    taken: Taken,
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    let Taken { reading, around, source, interrupted } = taken;
    if reading.outcome.latency.reads() == 0 && !interrupted {
        return Err(ExperimentError::NothingRead { what: job.what.clone() });
    }
    let witnesses = job.device.witnesses();
    let evidence = evidence(&witnesses, job, &reading.outcome, around.as_ref());
    let verdict = evidence.as_ref().map(Evidence::verdict);
    let segments = reading.outcome.segments();
    let counted = around.as_ref().map(|around| (around.counts, &around.change));
    let cases = cases::of(&reading, &segments, (job, &source), counted);
    if !interrupted {
        around.iter().for_each(|around| machine.note(&job.what, &around.change, Sensitivity::Storage));
        findings::report(machine, (&reading, &segments), job, evidence.as_ref().zip(verdict.as_ref()), journal);
    }
    let unwitnessed = match witnesses {
        Witnesses::Absent(device) => Some(device),
        Witnesses::Kernel { .. } => None,
    };
    Ok(Measured { cases, verdict, unwitnessed, interrupted })
}

/// What the witnesses know of the reads; `None` where there are none.
fn evidence(
    witnesses: &Witnesses<'_>,
    job: &Job<'_>,
    outcome: &LoopOutcome,
    around: Option<&Around>,
) -> Option<Evidence> {
    let (caching, plan) = (witnesses.target()?.caching(), &job.plans[0]);
    let block_size = plan.block_size as u64;
    Some(Evidence {
        caching,
        issued: outcome.issued * block_size,
        sharing_pages: sharing_pages(caching, plan.pattern, (block_size, plan.span.offset)),
        counts: around?.counts,
        stored: job.stored,
        layer: witnesses.layer(),
    })
}

/// The size of blocks that share pages of the page cache with their neighbours: buffered blocks of less than two pages
/// that begin or end within one, from an offset on. In sequence, each of a page or more comes to a new page.
fn sharing_pages(caching: Caching, pattern: Pattern, (block, offset): (u64, u64)) -> Option<u64> {
    let page = page_bytes();
    let is_whole = block.is_multiple_of(page) && offset.is_multiple_of(page);
    let may_share = block < page || pattern != Pattern::Sequential && block < 2 * page && !is_whole;
    (caching == Caching::Buffered && may_share).then_some(block)
}

#[cfg(test)]
mod tests {
    use device::Unwitnessed;
    use device::tier::{Tier, Verdict};
    use measure::{Case, Metric};

    use super::*;

    impl Measured {
        /// A reading with these metrics, served by this level; without one, by a model.
        pub(crate) fn of(metrics: Vec<Metric>, tier: Option<Tier>) -> Measured {
            let case = Case { metrics, ..Case::default() };
            let proof = "they counted 7 MiB".into();
            let verdict = tier.map(|tier| Verdict { tier, proof, is_by_layer: false });
            let (tier, name, no_page_cache) = ("model", "the model", "a model has no host");
            let model = Unwitnessed { tier, name, takes_time: true, no_page_cache };
            Measured { cases: vec![case], unwitnessed: verdict.is_none().then_some(model), verdict, interrupted: false }
        }
    }

    #[test]
    fn blocks_of_less_than_two_pages_that_share_them_with_their_neighbours_are_not_all_called_storage() {
        let page = page_bytes();
        let is_shared = |caching, pattern, blocks: (u64, u64)| {
            let sharing = sharing_pages(caching, pattern, blocks);
            assert!(sharing.is_none_or(|block| block == blocks.0));
            sharing.is_some()
        };
        let random = |blocks| is_shared(Caching::Buffered, Pattern::Random, blocks);
        assert!(random((page + 512, 0)) && random((512, 0)));
        assert!(random((page, 512)), "each lies in two pages");
        for blocks in [(page, 0), (2 * page, page), (2 * page + 512, 512)] {
            assert!(!random(blocks), "each has a page of its own: {blocks:?}");
        }
        let in_sequence = |block| is_shared(Caching::Buffered, Pattern::Sequential, (block, 0));
        assert_eq!([512, page + 512].map(in_sequence), [true, false]);
        assert!(!is_shared(Caching::Direct, Pattern::Random, (512, 0)));
    }
}
