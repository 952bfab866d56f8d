//! `--set KEY=VALUE` and `--set JOB.KEY=VALUE`: a parameter that the command line gives jobs of a file.

use super::problem::{Place, Problem};
use super::spelling::hyphenated;
use super::value::Value;

/// What one `--set` says.
#[derive(Clone, Debug)]
pub(super) struct Set {
    /// The job that it is about; `None`: all that have such a parameter.
    pub(super) job: Option<String>,
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) place: Place,
}

impl Set {
    /// Reads the word behind `--set`.
    pub(super) fn of(word: &str) -> Result<Set, Problem> {
        let place = Place::Set(word.into());
        let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Problem::new(&place, "this sets nothing: write KEY=VALUE or JOB.KEY=VALUE"));
        };
        let (job, key) = key.split_once('.').map_or((None, key), |(job, key)| (Some(job.trim().to_string()), key));
        Ok(Set { job, key: hyphenated(key.trim()), value: Value::of_word(value.trim()), place })
    }

    /// Whether it is about a job of this name.
    pub(super) fn is_of(&self, job: &str) -> bool {
        self.job.as_deref().is_none_or(|named| named == job)
    }
}
