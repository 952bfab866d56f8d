//! Rows of findings: what a finding is called, how much it weighs and what it means, written once.
//!
//! A finding of a run can only be made from its row, which gives it its id and its severity.

use crate::finding::{Finding, Severity};

/// A finding that runs may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FindingSpec {
    /// Its id in kebab case; `*` stands where several findings differ.
    pub id: &'static str,
    /// What stands at the `*`.
    pub stems: &'static [&'static str],
    /// How much it weighs.
    pub severity: Severity,
    /// What it says or when a run has it, in the words of the documentation.
    pub meaning: &'static str,
}

impl FindingSpec {
    /// The finding with its sentences. Panics where the row stands for several: see [`FindingSpec::named`].
    pub fn of(&self, message: impl Into<String>) -> Finding {
        assert!(self.stems.is_empty(), "{} stands for several findings", self.id);
        Finding::new(self.severity, self.id.into(), message.into())
    }

    /// One of several findings, by what stands at the `*`. Panics on a stem that the row does not have.
    pub fn named(&self, stem: &str, message: impl Into<String>) -> Finding {
        assert!(self.stems.contains(&stem), "{} has no {stem}", self.id);
        Finding::new(self.severity, self.id.replace('*', stem), message.into())
    }

    /// Whether a finding was made from this row.
    pub fn made(&self, finding: &Finding) -> bool {
        self.severity == finding.severity && self.has(&finding.id)
    }

    /// Whether findings of this row may have this id.
    pub fn has(&self, id: &str) -> bool {
        match self.id.split_once('*') {
            None => self.id == id,
            Some((before, after)) => {
                let stem = id.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                stem.is_some_and(|stem| self.stems.contains(&stem))
            }
        }
    }
}

/// Findings that one part of readpath makes.
#[derive(Clone, Copy, Debug)]
pub struct FindingGroup {
    /// Of what they are, as a heading.
    pub what: &'static str,
    /// The findings.
    pub rows: &'static [FindingSpec],
}

/// Declares rows of findings as constants of the module `findings`, and `ALL`, the group of them.
macro_rules! findings {
    ($what:literal; $($id:ident = $severity:ident $name:literal $(in $stems:expr)?, $meaning:literal;)*) => {
        /// The findings of this file.
        pub mod findings {
            use crate::finding::Severity;
            use crate::schema::finding::{FindingGroup, FindingSpec, stems};
            $(
                #[doc = $meaning]
                pub const $id: FindingSpec = FindingSpec {
                    id: $name, stems: &stems!($($stems)?), severity: Severity::$severity, meaning: $meaning,
                };
            )*
            /// All of them.
            pub const ALL: FindingGroup = FindingGroup { what: $what, rows: &[$($id),*] };
        }
    };
}

/// What stands at the `*` of a row; nothing where it has none.
macro_rules! stems {
    () => {
        []
    };
    ($stems:expr) => {
        $stems
    };
}

pub(super) use {findings, stems};
