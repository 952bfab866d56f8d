//! A class of which advice is given, and advice with what it is worth.

use measure::wait_class::Class;

use super::commits::Commits;
use crate::observe::hot_spots::HotSpots;
use crate::tables::Profile;
use crate::tables::class_sums::ClassSums;

/// Part of a class from which on a cause of it is worth a word.
pub(super) const PART: f64 = 0.25;

/// A class with its sums, and the profile that it is of.
pub(super) struct Of<'p> {
    pub(super) profile: &'p Profile,
    pub(super) hot: &'p HotSpots,
    pub(super) class: Class,
    pub(super) sums: &'p ClassSums,
    /// Commits of few rows, where it is this class that they are said of.
    pub(super) commits: Option<&'p Commits>,
    /// Whether the process serves one client after the other.
    pub(super) is_shared_server: bool,
}

/// What is advised, and the time that it saves, in µs; 0 where the trace does not say.
#[derive(Clone, Debug, Default)]
pub(super) struct Advice {
    pub(super) sentences: Vec<String>,
    pub(super) worth: f64,
}

impl Advice {
    pub(super) fn followed_by(mut self, sentences: Vec<String>) -> Advice {
        self.sentences.extend(sentences);
        self
    }
}
