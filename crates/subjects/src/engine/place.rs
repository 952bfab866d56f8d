//! The engine as a word of `--on`.

use crate::place::Place;

/// The embedded engine, which needs no address.
#[derive(Clone, Copy, Debug)]
pub struct EnginePlace;

impl EnginePlace {
    /// The word, and the name of the engine among subjects.
    pub const WORD: &'static str = "engine";
}

impl Place for EnginePlace {
    fn word(&self) -> String {
        EnginePlace::WORD.into()
    }

    fn takes_statements(&self) -> bool {
        false
    }
}
