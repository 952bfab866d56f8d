//! Is there data to read? Holes, unwritten extents, zeros and copies need no read of the device.

use device::content::{self, Sample};
use device::pattern::Span;
use measure::Finding;
use measure::quantity::three_digits;
use sys::file::extents::{self, Extents};
use sys::file::{Kind, Target};

use crate::error::ExperimentError;
use crate::journal::Journal;

/// Blocks of a region that are sampled before it is measured.
const SAMPLE_BLOCKS: u64 = 64;

/// Share of the sample or of the range that is worth a finding.
const SHARE_MAX: f64 = 0.01;

/// Checks `span` before it is measured, and adds findings for what storage would answer without reading. Returns
/// the share of it that was never written.
pub fn check(
    target: &Target,
    span: Span,
    block_size: usize,
    seed: u64,
    journal: &mut dyn Journal,
) -> Result<f64, ExperimentError> {
    let never_written = check_extents(target, span, journal);
    // Another order than the measured one, so that the sample does not warm the first blocks of the run.
    let sample = content::sample(target, span, block_size, SAMPLE_BLOCKS, !seed)?;
    report_sample(target, sample, journal);
    Ok(never_written)
}

/// Asks the file system what part of `span` was never written: 0 where the file system does not know.
pub fn check_extents(target: &Target, span: Span, journal: &mut dyn Journal) -> f64 {
    if target.kind() == Kind::BlockDevice {
        return 0.0;
    }
    match extents::coverage(target, span.offset..span.offset + span.length) {
        Ok(coverage) => {
            report_extents(target, coverage, span, journal);
            (coverage.hole + coverage.unwritten) as f64 / span.length.max(1) as f64
        }
        Err(error) => {
            let path = target.path().display();
            let message = format!(
                "The file system does not say whether {path} has holes: {error}. A sample of its blocks was read."
            );
            journal.find(Finding::info("extents-unknown", message));
            0.0
        }
    }
}

fn report_extents(target: &Target, coverage: Extents, span: Span, journal: &mut dyn Journal) {
    let share = |bytes: u64| bytes as f64 / span.length.max(1) as f64;
    let absent = coverage.hole + coverage.unwritten;
    if share(absent) > SHARE_MAX {
        journal.find(Finding::warning(
            "unwritten-extents",
            format!(
                "{} % of the region of {} was never written ({} % holes, {} % allocated but unwritten): the \
                 file system returns zeros for such blocks without reading the device. Fill the file with data first, \
                 or name another one.",
                three_digits(share(absent) * 100.0),
                target.path().display(),
                three_digits(share(coverage.hole) * 100.0),
                three_digits(share(coverage.unwritten) * 100.0),
            ),
        ));
    }
}

/// Findings about a sample of blocks.
pub fn report_sample(target: &Target, sample: Sample, journal: &mut dyn Journal) {
    let share = |blocks: u64| blocks as f64 / sample.blocks.max(1) as f64;
    if share(sample.zero) > SHARE_MAX {
        journal.find(Finding::warning(
            "zero-blocks",
            format!(
                "{} of {} sampled blocks of {} hold nothing but zeros: thin or compressing storage answers such \
                 reads without reading media. Measure a region that holds data.",
                sample.zero,
                sample.blocks,
                target.path().display()
            ),
        ));
    }
    if share(sample.repeated) > SHARE_MAX {
        journal.find(Finding::warning(
            "repeated-blocks",
            format!(
                "{} of {} sampled blocks of {} are copies of another one: storage that removes duplicates answers \
                 such reads from memory. Measure a file whose blocks differ.",
                sample.repeated,
                sample.blocks,
                target.path().display()
            ),
        ));
    }
}
