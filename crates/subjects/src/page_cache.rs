//! Files that leave the page cache before they are read, and the level that then served the reads.

use device::audit::{Audit, AuditCounts};
use device::tier::{Evidence, Layer, Stored, Tier, Verdict};
use device::uncounted;
use sys::file::{Caching, Target, witness};

use crate::error::SubjectError;

/// The share of a file that may stay in the page cache without a reading counting as warm.
pub(crate) const LEFT_MAX: f64 = 0.01;

/// Drops files from the page cache, and gives the share of them that stayed, 0 to 1; `None` without a file, and where
/// the system does not tell.
pub(crate) fn empty<'a>(files: impl IntoIterator<Item = &'a Target>) -> Result<Option<f64>, SubjectError> {
    let mut left: Option<(u64, u64)> = None;
    for file in files {
        witness::evict(file, 0, file.size()).map_err(|error| {
            let path = file.path().display();
            SubjectError::Failed(format!("{path} cannot be dropped from the page cache: {error}"))
        })?;
        if let Ok(cached) = witness::cached(file, 0, file.size()) {
            let (pages, of) = left.unwrap_or_default();
            left = Some((pages + cached.pages, of + cached.of));
        }
    }
    Ok(left.map(|(pages, of)| pages as f64 / of.max(1) as f64))
}

/// What is known about reads of files, of one reading or of several.
#[derive(Clone, Debug)]
pub(crate) struct Witnessed {
    caching: Caching,
    /// Bytes that were asked for.
    asked: u64,
    /// Bytes that the kernel fetched for this process; `None` where it does not count them.
    fetched: Option<u64>,
    /// The greatest share of the files in the page cache before.
    left: Option<f64>,
    /// Why the kernel's count says nothing of these files; `None` where it does.
    uncounted: Option<String>,
}

impl Witnessed {
    /// Nothing read yet.
    pub(crate) fn none(caching: Caching) -> Witnessed {
        Witnessed { caching, asked: 0, fetched: Some(0), left: None, uncounted: None }
    }

    /// Reads of this many bytes through the page cache, of which the kernel fetched some, of files of which a share was
    /// there before.
    #[cfg(test)]
    pub(crate) fn of(asked: u64, fetched: Option<u64>, left: Option<f64>) -> Witnessed {
        Witnessed { caching: Caching::Buffered, asked, fetched, left, uncounted: None }
    }

    /// Adds a reading of `file` that returns its outcome and the bytes that it asked for. `left` is the share of the
    /// file that was in the page cache before.
    pub(crate) fn watch<T>(
        &mut self,
        file: &Target,
        left: Option<f64>,
        read: impl FnOnce() -> Result<(T, u64), SubjectError>,
    ) -> Result<T, SubjectError> {
        self.uncounted = self.uncounted.take().or_else(|| uncounted(file));
        let audit = Audit::begin(&[]);
        let (outcome, asked) = read()?;
        let AuditCounts { fetched_by_process, .. } = audit.end();
        self.asked += asked;
        self.fetched = self.fetched.zip(fetched_by_process).map(|(sum, more)| sum + more);
        self.left = self.left.into_iter().chain(left).max_by(f64::total_cmp);
        Ok(outcome)
    }

    /// Which level served them.
    pub(crate) fn verdict(&self) -> Verdict {
        let Witnessed { caching, asked, fetched, .. } = *self;
        let counts = AuditCounts { fetched_by_process: fetched, ..AuditCounts::default() };
        let layer = self.uncounted.clone().map(Layer::Hidden);
        Evidence { caching, issued: asked, sharing_pages: None, counts, stored: Stored::default(), layer }.verdict()
    }

    /// Why it is not proved that the storage served the reads; `None` where it is.
    pub(crate) fn not_from_storage(&self) -> Option<String> {
        let left = self.left.filter(|left| *left > LEFT_MAX);
        let Verdict { tier, proof, .. } = self.verdict();
        match (left, tier) {
            (Some(left), _) => Some(format!("{:.0} % of the file stayed in the page cache", left * 100.0)),
            (None, Tier::Storage) => None,
            _ => Some(proof),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_nothing_where_the_kernel_does_not_count_is_no_witness_against_the_storage() {
        let counted = Witnessed::of(100 << 20, Some(0), None);
        let reason = "the kernel does not count what a process reads from a file system of type virtiofs";
        let uncounted = Witnessed { uncounted: Some(reason.into()), ..counted.clone() };
        assert!(counted.not_from_storage().unwrap().contains("fetched from storage by this process"));
        assert_eq!(uncounted.not_from_storage().as_deref(), Some(reason));
    }
}
