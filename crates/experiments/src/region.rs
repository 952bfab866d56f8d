//! Is there data to read? Holes, unwritten extents, zeros and copies need no read of the device.

use std::fmt::Display;
use std::path::Path;

use device::content::{self, ContentError, Sample};
use device::pattern::Span;
use device::tier::Stored;
use measure::quantity::{counted, three_digits};
use measure::schema::reads::findings as row;
use measure::{Finding, Unit};
use sys::file::extents::{self, Extents, ExtentsError};
use sys::file::{Caching, Kind, Target, witness};

use crate::error::ExperimentError;
use crate::journal::Journal;

/// Blocks of all regions that are sampled before they are measured.
pub(crate) const SAMPLE_BLOCKS: u64 = 64;

/// Share of the sample or of the range that is worth a finding.
const SHARE_MAX: f64 = 0.01;

/// File systems that keep their files in memory. They refuse direct I/O here, and nothing drops a file from them.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];

/// Whether a file is always in memory, because its file system has no other place for it.
pub(crate) fn is_in_memory(target: &Target) -> bool {
    target.filesystem().is_some_and(|name| IN_MEMORY.contains(&name.as_str()))
}

/// Drops a part of a file from the page cache.
pub(crate) fn evict(target: &Target, part: Span) -> Result<(), ExperimentError> {
    let path = target.path().display();
    let refused = |reason| ExperimentError::Parameters(format!("{path} cannot be evicted: {reason}"));
    witness::evict(target, part.offset, part.length).map_err(refused)
}

/// Checks what is read, `spans`, before it is measured, and adds findings for what storage would answer without
/// reading. Returns what the file system stores of them.
pub fn check(
    target: &Target,
    spans: &[Span],
    block_size: usize,
    seed: u64,
    journal: &mut dyn Journal,
) -> Result<Stored, ExperimentError> {
    let stored = check_extents(target, spans, journal);
    // Past the page cache where that can be, and in another order than the measured one: what is looked at here is not
    // to be warmer afterwards.
    let is_taken = |direct: &Target| spans.iter().all(|span| takes(direct, *span, block_size));
    let direct = target.reopen(Caching::Direct).ok().filter(is_taken);
    let sample_of = |target: &Target| sample(target, spans, block_size, !seed);
    let sample = match direct.as_ref().map(sample_of) {
        Some(Ok(sample)) => sample,
        // A file system may open a file for direct reads and refuse each of them.
        _ => sample_of(target)?,
    };
    journal.find_all(of_sample(target.path(), sample));
    Ok(stored)
}

/// What a sample of blocks holds, as many of them in each span.
fn sample(target: &Target, spans: &[Span], block_size: usize, seed: u64) -> Result<Sample, ContentError> {
    let of_each = (SAMPLE_BLOCKS / spans.len().max(1) as u64).max(1);
    let mut all = Sample::default();
    for span in spans {
        let one = content::sample(target, *span, block_size, of_each, seed)?;
        all.blocks += one.blocks;
        all.zero += one.zero;
        all.repeated += one.repeated;
    }
    Ok(all)
}

/// Whether blocks of the span can be read as direct I/O requires it.
fn takes(direct: &Target, span: Span, block_size: usize) -> bool {
    let alignment = u64::from(direct.alignment().offset.max(1));
    span.offset.is_multiple_of(alignment) && (block_size as u64).is_multiple_of(alignment)
}

/// Asks the file system what it stores of `spans`, and adds a finding where a part was never written.
pub fn check_extents(target: &Target, spans: &[Span], journal: &mut dyn Journal) -> Stored {
    let coverage = coverage(target, spans);
    journal.find_all(extents_unknown(target.path(), coverage.as_ref().err()));
    let coverage = coverage.unwrap_or_default();
    journal.find_all(unwritten_extents(target.path(), coverage, length(spans)));
    shares(coverage, spans)
}

/// The same, without a finding.
pub fn stored(target: &Target, spans: &[Span]) -> Stored {
    shares(coverage(target, spans).unwrap_or_default(), spans)
}

/// Holes, unwritten and compressed extents of all spans. A block device has none.
fn coverage(target: &Target, spans: &[Span]) -> Result<Extents, ExtentsError> {
    let mut all = Extents::default();
    for span in spans.iter().filter(|_| target.kind() != Kind::BlockDevice) {
        let one = extents::coverage(target, span.offset..span.offset + span.length)?;
        all.hole += one.hole;
        all.unwritten += one.unwritten;
        all.encoded += one.encoded;
    }
    Ok(all)
}

fn shares(coverage: Extents, spans: &[Span]) -> Stored {
    let share = |bytes: u64| bytes as f64 / length(spans).max(1) as f64;
    Stored { never_written: share(coverage.hole + coverage.unwritten), compressed: share(coverage.encoded) }
}

fn length(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.length).sum()
}

/// That the file system does not tell holes, because of an error.
pub(crate) fn extents_unknown(path: &Path, error: Option<&impl Display>) -> Option<Finding> {
    let (path, error) = (path.display(), error?);
    Some(row::EXTENTS_UNKNOWN.of(format!(
        "The file system does not say whether {path} has holes: {error}. A sample of its blocks was read."
    )))
}

/// That a part of `length` bytes was never written.
pub(crate) fn unwritten_extents(path: &Path, coverage: Extents, length: u64) -> Option<Finding> {
    let share = |bytes: u64| bytes as f64 / length.max(1) as f64;
    let absent = share(coverage.hole + coverage.unwritten);
    let shares = [absent, share(coverage.hole), share(coverage.unwritten)];
    let [all, holes, unwritten] = shares.map(|share| three_digits(share * 100.0));
    let message = format!(
        "{all} % of the region of {} was never written ({holes} % holes, {unwritten} % allocated but unwritten): the \
         file system returns zeros for such blocks without reading the device. Fill the file with data first, or name \
         another one.",
        path.display()
    );
    (absent > SHARE_MAX).then(|| row::UNWRITTEN_EXTENTS.of(message).with("unwritten", absent * 100.0, Unit::Percent))
}

/// What a sample of blocks holds that storage answers without reading.
pub(crate) fn of_sample(path: &Path, sample: Sample) -> Vec<Finding> {
    let share = |blocks: u64| blocks as f64 / sample.blocks.max(1) as f64;
    let of = format!("of {} of {}", counted(sample.blocks, "sampled block", "sampled blocks"), path.display());
    let some = |blocks: u64, one, many| format!("{blocks} {of} {}", if blocks == 1 { one } else { many });
    let mut found = Vec::new();
    if share(sample.zero) > SHARE_MAX {
        found.push(row::ZERO_BLOCKS.of(format!(
            "{} nothing but zeros: thin or compressing storage answers such reads without reading media. Measure \
             a region that holds data.",
            some(sample.zero, "holds", "hold")
        )));
    }
    if share(sample.repeated) > SHARE_MAX {
        found.push(row::REPEATED_BLOCKS.of(format!(
            "{} of another one: storage that removes duplicates answers such reads from memory. Measure a \
             file whose blocks differ.",
            some(sample.repeated, "is a copy", "are copies")
        )));
    }
    found
}
