//! How many different blocks were read: counted one by one, or by sketches of parts.

use super::distinct::Distinct;
use super::sketch::Sketch;

/// Different blocks of one relation.
#[derive(Clone, Debug)]
pub(super) enum Blocks {
    /// Of reads that were seen here.
    Counted(Distinct),
    /// Of reads that were recorded: the blocks themselves are not known.
    Sketched(Sketch),
}

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks::Counted(Distinct::default())
    }
}

impl Blocks {
    /// Adds a block by its hash.
    pub(super) fn add(&mut self, hash: u64) {
        match self {
            Blocks::Counted(distinct) => distinct.add(hash),
            Blocks::Sketched(sketch) => sketch.add(hash),
        }
    }

    /// Adds those of a sketch. No profile has both: reads are seen or recorded.
    pub(super) fn merge(&mut self, other: &Sketch) {
        match self {
            Blocks::Counted(_) => *self = Blocks::Sketched(other.clone()),
            Blocks::Sketched(sketch) => sketch.merge(other),
        }
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        match self {
            Blocks::Counted(distinct) => distinct.count(),
            Blocks::Sketched(sketch) => sketch.count(),
        }
    }

    /// How far the count may be off, 19 of 20 times.
    pub(super) fn error(&self) -> u64 {
        match self {
            Blocks::Counted(distinct) => distinct.error(),
            Blocks::Sketched(sketch) => sketch.error(),
        }
    }
}
