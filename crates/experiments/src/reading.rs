//! One reading of a device: run the workers under watch, turn what they measured into cases, say what spoils it.

mod cases;
mod findings;
mod job;

use device::Witnesses;
use device::audit::{Audit, AuditCounts};
use device::pattern::{Pattern, Span};
use device::read_loop::LoopOutcome;
use device::tier::{Evidence, Tier, Verdict};
use device::workers::Team;
use measure::quantity::size_in_words;
use sys::file::Caching;
use sys::host::page_bytes;

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
    let (pattern, region) = (job.plans[0].pattern, job.plans[0].span);
    let verdict = evidence.as_ref().map(|evidence| verdict(evidence, pattern, region));
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

/// Which level served the reads of a region. What was fetched does not tell where buffered reads may find all of their
/// bytes in pages that were fetched for their neighbours: blocks of less than two pages that begin or end within one.
/// In sequence each of a page or more comes to a new one. Blocks of less than a page the evidence knows itself.
fn verdict(evidence: &Evidence, pattern: Pattern, region: Span) -> Verdict {
    let (verdict, page) = (evidence.verdict(), page_bytes());
    let may_share = evidence.caching == Caching::Buffered && pattern != Pattern::Sequential;
    let is_whole = |block: u64| block.is_multiple_of(page) && region.offset.is_multiple_of(page);
    let sharing = evidence.block_size.filter(|block| may_share && *block < 2 * page && !is_whole(*block));
    match (sharing, verdict.tier) {
        (Some(block), Tier::Storage | Tier::Mixed { .. }) => {
            let proof = format!(
                "{}, in whole pages of {}, which blocks of {} at these offsets share with their neighbours, so that \
                 memory may have served some of the reads",
                verdict.proof,
                size_in_words(page),
                size_in_words(block)
            );
            Verdict { tier: Tier::Unknown, proof, ..verdict }
        }
        _ => verdict,
    }
}

#[cfg(test)]
mod tests {
    use device::tier::Stored;

    use super::*;

    #[test]
    fn blocks_of_one_to_two_pages_that_share_them_with_their_neighbours_are_not_all_called_storage() {
        let page = page_bytes();
        let of = |caching, pattern, (block, offset): (u64, u64), fetched: u64| {
            let counts = AuditCounts { fetched_by_process: Some(fetched), ..AuditCounts::default() };
            let (block_size, stored) = (Some(block), Stored::default());
            let evidence = Evidence { caching, issued: 1_000_000, block_size, counts, stored, layer: None };
            verdict(&evidence, pattern, Span { offset, length: 1 << 30 })
        };
        let random = |blocks, fetched| of(Caching::Buffered, Pattern::Random, blocks, fetched);
        let (uneven, all) = ((page + 512, 0), 1_000_000);
        assert_eq!([600_000, all].map(|fetched| random(uneven, fetched).tier), [Tier::Unknown; 2]);
        assert_eq!(random((page, 512), all).tier, Tier::Unknown, "each lies in two pages");
        let proof = random(uneven, all).proof;
        assert!(proof.starts_with("the kernel counted all") && proof.contains(" share with their "), "{proof}");
        assert_eq!(random(uneven, 0).tier, Tier::PageCache);
        for blocks in [(page, 0), (2 * page, page), (2 * page + 512, 512)] {
            assert_eq!(random(blocks, all).tier, Tier::Storage, "each has a page of its own: {blocks:?}");
        }
        assert_eq!(of(Caching::Buffered, Pattern::Sequential, uneven, all).tier, Tier::Storage);
        assert_eq!(of(Caching::Direct, Pattern::Random, uneven, all).tier, Tier::Storage);
    }
}
