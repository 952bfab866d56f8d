//! One reading of a device: run the workers under watch, turn what they measured into cases, say what spoils it.

mod cases;
mod findings;
mod job;

use device::Witnesses;
use device::audit::{Audit, AuditCounts};
use device::read_loop::LoopOutcome;
use device::tier::Evidence;
use device::workers::Team;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Change, Conditions, Machine, Sensitivity};
use cases::Source;
pub use findings::huge_page_buffers;
pub use job::{Job, Measured, PageCache};

/// What was observed around a reading that took time of this machine.
struct Around {
    counts: AuditCounts,
    change: Change,
}

/// Does the reading and adds findings about what spoils it.
pub fn run(machine: &Machine, job: Job<'_>, journal: &mut dyn Journal) -> Result<Measured, ExperimentError> {
    let witnesses = job.device.witnesses();
    let is_virtual = job.device.describe().is_virtual;
    let team = Team::open(job.device, job.method, job.plans)?;
    let source = Source::of(machine, &team, is_virtual);
    let before = (!is_virtual).then(|| (Conditions::now(machine), Audit::begin(witnesses.storage())));
    let mut reading = team.read(&machine.clock, machine.stop.flag())?;
    let around = before.map(|(conditions, audit)| Around { counts: audit.end(), change: conditions.changed(machine) });
    if let Some(failure) = reading.outcome.failure.take() {
        return Err(ExperimentError::ReadFailed { path: job.device.name().into(), failure });
    }
    let interrupted = machine.stop.requested();
    if reading.outcome.latency.reads() == 0 && !interrupted {
        return Err(ExperimentError::NothingRead { what: job.what });
    }
    let evidence = evidence(&witnesses, &job, &reading.outcome, around.as_ref());
    let verdict = evidence.as_ref().map(Evidence::verdict);
    let segments = reading.outcome.segments();
    let counted = around.as_ref().map(|around| (around.counts, &around.change));
    let cases = cases::of(&reading, &segments, (&job, &source), counted);
    if !interrupted {
        around.iter().for_each(|around| machine.note(&job.what, &around.change, Sensitivity::Storage));
        findings::report(machine, (&reading, &segments), &job, evidence.as_ref().zip(verdict.as_ref()), journal);
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
    let block_size = job.plans[0].block_size as u64;
    Some(Evidence {
        caching: witnesses.target()?.caching(),
        issued: outcome.issued * block_size,
        block_size: Some(block_size),
        counts: around?.counts,
        stored: job.stored,
        layer: witnesses.layer(),
    })
}
