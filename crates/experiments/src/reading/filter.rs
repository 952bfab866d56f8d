//! A journal without the warning that the page cache served the reads, for readings that are meant to be cached.

use std::time::Duration;

use measure::{Case, Finding, Metric};

use crate::journal::{Journal, KeepError};

/// Passes everything on, except the warning that the page cache served the reads where that is the aim.
pub struct WithoutPageCacheWarning<'a> {
    journal: &'a mut dyn Journal,
    wanted: bool,
}

impl<'a> WithoutPageCacheWarning<'a> {
    /// A journal without that warning when `wanted`.
    pub fn when(wanted: bool, journal: &'a mut dyn Journal) -> WithoutPageCacheWarning<'a> {
        WithoutPageCacheWarning { journal, wanted }
    }
}

impl Journal for WithoutPageCacheWarning<'_> {
    fn step(&mut self, what: &str, expected: Duration) {
        self.journal.step(what, expected);
    }

    fn keep(&mut self, case: Case) -> Result<(), KeepError> {
        self.journal.keep(case)
    }

    fn find(&mut self, finding: Finding) {
        if !(self.wanted && finding.id == "served-from-page-cache") {
            self.journal.find(finding);
        }
    }

    fn own_cost(&mut self, metric: Metric) {
        self.journal.own_cost(metric);
    }

    fn describe_subject(&mut self, key: &str, value: serde_json::Value) {
        self.journal.describe_subject(key, value);
    }
}
