//! What the processes of the server do that serve no client: it is no response time, and stands in a table of its own.

use std::collections::BTreeMap;

use measure::sorting;

use super::held::Weight;
use super::sample::Sample;
use crate::event::Ticks;
use crate::tables::sampled::BackgroundRow;

/// What a process does that waits for nothing that the server names.
const AT_WORK: &str = "CPU or unnamed";

/// How the waits of a process begin that has nothing to do.
const NOTHING_TO_DO: &str = "Activity:";

/// Most rows: kinds of processes by events.
const ROWS_MAX: usize = 1 << 10;

/// Time by kind of process and event.
#[derive(Clone, Debug, Default)]
pub(super) struct Background {
    rows: BTreeMap<(String, String), (u64, Ticks)>,
}

/// Whether the server names what a process waits for, and it has nothing to do.
pub(super) fn does_nothing(sample: &Sample) -> bool {
    sample.event.as_deref().is_some_and(|event| event.starts_with(NOTHING_TO_DO))
}

impl Background {
    pub(super) fn add(&mut self, sample: &Sample, weight: Weight) {
        if does_nothing(sample) {
            return;
        }
        let event = sample.event.as_deref().unwrap_or(AT_WORK);
        let key = (sample.backend.kind.clone(), event.to_string());
        if self.rows.len() < ROWS_MAX || self.rows.contains_key(&key) {
            let sums = self.rows.entry(key).or_default();
            sums.0 += weight.looks;
            sums.1 += weight.time;
        }
    }

    /// The rows, by time.
    pub(super) fn rows(&self) -> Vec<BackgroundRow> {
        let row = |((process, event), (samples, time)): (&(String, String), &(u64, Ticks))| BackgroundRow {
            process: process.clone(),
            event: event.clone(),
            samples: *samples,
            time: *time,
        };
        let mut rows: Vec<BackgroundRow> = self.rows.iter().map(row).collect();
        sorting::by_key(&mut rows, |row| std::cmp::Reverse(row.time));
        rows
    }
}
