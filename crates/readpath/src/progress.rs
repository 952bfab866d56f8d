//! The progress line: what is being measured now and how long it still takes. On standard error, gone when done.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::output::printable;

/// How often the time left is drawn anew. A draw takes some 50 µs on a thread of its own, so that once a second
/// disturbs a measurement by less than a ten-thousandth of one core's time.
const REDRAW: Duration = Duration::from_secs(1);

/// One line on a terminal, or nothing.
pub(crate) struct Progress {
    line: Option<ProgressBar>,
}

impl Progress {
    /// A line on standard error.
    pub(crate) fn on_terminal() -> Progress {
        let template = ProgressStyle::with_template("{wide_msg}  {left}");
        let style = template.unwrap_or_else(|_| ProgressStyle::default_spinner()).with_key("left", write_time_left);
        let line = ProgressBar::new(0).with_style(style);
        line.enable_steady_tick(REDRAW);
        Progress { line: Some(line) }
    }

    /// No line at all.
    pub(crate) fn none() -> Progress {
        Progress { line: None }
    }

    /// Shows the next step and counts its time down from `expected`.
    pub(crate) fn step(&self, what: &str, expected: Duration) {
        let Some(line) = &self.line else { return };
        line.set_message(printable(what));
        line.set_length(u64::try_from(expected.as_millis()).unwrap_or(u64::MAX));
        line.reset_elapsed();
        line.tick();
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// Writes how much of the expected time, kept as the length in ms, is left.
fn write_time_left(state: &ProgressState, out: &mut dyn Write) {
    let expected = Duration::from_millis(state.len().unwrap_or(0));
    let left = expected.saturating_sub(state.elapsed()).as_millis().div_ceil(1000);
    // Writing into a text in memory does not fail.
    let _ = if left > 0 { write!(out, "about {left} s left") } else { write!(out, "a moment left") };
}
