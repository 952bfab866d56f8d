//! The store of runs: one file a run, written whole or not at all.
