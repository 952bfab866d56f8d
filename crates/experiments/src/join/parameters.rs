//! The parameters of the experiment, with their defaults and what they refuse.

use dataset::keyed::KeyedShape;
use subjects::Places;
use subjects::nested_loops::Asked;

use crate::error::{ExperimentError, refuse};
use crate::with_defaults::with_defaults;
use crate::{sampling, subject_run};

/// Joins of each case by default, with the engine alone.
pub const REPEAT: usize = 20;

/// The same where something else is measured, which empties more caches before each.
pub const REPEAT_BESIDE: usize = 3;

/// Most reads in flight.
const DEPTH_MAX: usize = 4096;

/// Most rows of a batch, and most that are looked ahead at: their keys are looked up in one step, which ^C does not cut
/// short, and are in memory together.
const AT_ONCE_MAX: usize = 1 << 20;

with_defaults! {
    /// Parameters of the experiment.
    pub struct JoinParameters {
        /// What is measured.
        pub on: Places = Places::default(),
        /// Per cents of the inner rows that lie out of the order of the keys.
        pub rands: Vec<u8> = vec![100],
        /// Outer rows of a join.
        pub outer_rows: u64 = 2000,
        /// Joins of each case; the default depends on what is measured.
        pub repeat: Option<usize> = None,
        /// What subjects are asked for.
        #[serde(flatten)]
        pub asked: Asked = Asked::default(),
    }
}

impl JoinParameters {
    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.check_values()?;
        subject_run::check(&self.on, |place| place.nested_loops(&self.asked))
    }

    pub(super) fn check_values(&self) -> Result<(), ExperimentError> {
        sampling::check_repeat(self.repeat())?;
        let Asked { rows, pad, batch_sizes, look_ahead, depth, .. } = &self.asked;
        if *rows == 0 {
            return refuse("--rows must be at least 1");
        }
        if self.outer_rows == 0 || u32::try_from(self.outer_rows).is_err() {
            return refuse(format!("--outer-rows {} is out of range: give 1 to {}", self.outer_rows, u32::MAX));
        }
        if let Some(rand) = self.rands.iter().find(|rand| **rand > 100) {
            return refuse(format!("--rand {rand} is out of range: give a percentage, 0 to 100"));
        }
        let batches = batch_sizes.iter().map(|size| ("--batch-size", size));
        let mut at_once = batches.chain([("--look-ahead", look_ahead)]);
        if let Some((option, rows)) = at_once.find(|(_, rows)| !(1..=AT_ONCE_MAX).contains(*rows)) {
            return refuse(format!("{option} {rows} is out of range: give 1 to {AT_ONCE_MAX}"));
        }
        if !(1..=DEPTH_MAX).contains(depth) {
            return refuse(format!("--depth {depth} is out of range: give 1 to {DEPTH_MAX}"));
        }
        let shape = KeyedShape { rand: 0, pad: *pad };
        shape.check().or_else(|error| refuse(format!("--pad {pad}: {error}")))
    }

    /// Joins of each case.
    pub(super) fn repeat(&self) -> usize {
        self.repeat.unwrap_or(self.on.usual(REPEAT, REPEAT_BESIDE))
    }
}

#[cfg(test)]
mod tests {
    use measure::quantity::Size;
    use subjects::nested_loops::{Io, JoinMethod};

    use super::*;

    #[test]
    fn a_file_that_names_some_parameters_leaves_the_others_at_their_defaults() {
        let text = r#"{"on": ["postgres:18"], "rands": [0, 100], "pool": "4MiB", "methods": ["batch"], "io": "sync"}"#;
        let parameters: JoinParameters = serde_json::from_str(text).unwrap();
        let Asked { rows, io, pool, methods, .. } = &parameters.asked;
        assert_eq!((parameters.repeat(), *rows, *io, *pool), (3, 200_000, Io::Sync, Size(4 << 20)));
        assert_eq!((&parameters.rands[..], &methods[..]), (&[0, 100][..], &[JoinMethod::Batch][..]));
        assert!(serde_json::from_str::<JoinParameters>(r#"{"row": 1}"#).is_err(), "a slip is not a default");
    }

    #[test]
    fn rows_that_one_step_looks_up_without_a_look_at_ctrl_c_are_refused() {
        let check = |asked: Asked| {
            let checked = JoinParameters { asked, ..JoinParameters::default() }.check_values();
            checked.map_err(|error| error.to_string())
        };
        let batch = |size| check(Asked { batch_sizes: vec![8, size], ..Asked::default() });
        let ahead = |look_ahead| check(Asked { look_ahead, ..Asked::default() });
        for rows in [1, AT_ONCE_MAX] {
            assert_eq!([batch(rows), ahead(rows)], [Ok(()), Ok(())]);
        }
        for rows in [0, AT_ONCE_MAX + 1, usize::MAX] {
            let expected = format!("{rows} is out of range: give 1 to 1048576");
            assert_eq!(batch(rows), Err(format!("--batch-size {expected}")));
            assert_eq!(ahead(rows), Err(format!("--look-ahead {expected}")));
        }
    }
}
