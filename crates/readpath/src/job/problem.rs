//! What is wrong with a job file, and where it stands.

use std::path::Path;

use subjects::places::without_password;

use super::spelling::{on_one_line, shortened};
use crate::exit::ended;

/// Where something stands that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The job file as a whole.
    File,
    /// A line of the job file, counted from 1.
    Line(usize),
    /// What stands behind `--set`.
    Set(String),
}

/// What is wrong, as one sentence on one line, whatever it quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    pub(crate) sentence: String,
}

impl Problem {
    pub(crate) fn new(place: &Place, sentence: impl Into<String>) -> Problem {
        let sentence: String = sentence.into();
        Problem { place: place.clone(), sentence: on_one_line(&sentence) }
    }

    /// The sentence behind its place, in the form that editors follow: `FILE:LINE: `.
    pub(crate) fn text(&self, file: &Path) -> String {
        let sentence = ended(self.sentence.clone());
        match &self.place {
            Place::File => format!("{}: {sentence}", file.display()),
            Place::Line(line) => format!("{}:{line}: {sentence}", file.display()),
            Place::Set(word) => {
                let word = on_one_line(&shortened(&without_password(word)));
                format!("--set {word}: {sentence}")
            }
        }
    }
}
