//! The statements of a dry run: what a run would send, in the order in which it would.
//!
//! A dry run takes the same path as a run. The link of its session records each statement and sends none; the session
//! returns what its caller expects.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::listing::{REMARK, listed};
use crate::one_line::one_line;

/// What sending a statement and its answer are taken to last, apart from its own work.
pub const ROUND_TRIP: Duration = Duration::from_micros(200);

/// Lines of a script that a person reads from its beginning to its end.
const LINES_MAX: usize = 250;

/// Longest block of statements that is looked for when repeated blocks are folded.
const BLOCK_MAX: usize = 1024;

/// A list of statements that several sessions write to, and how long they would take.
#[derive(Clone, Debug, Default)]
pub struct Statements(Arc<Mutex<Noted>>);

/// Where a list of statements stood.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Statements, and their bytes.
    size: (u64, u64),
    time: Duration,
    time_by_buffers: Duration,
}

#[derive(Debug, Default)]
struct Noted {
    lines: Vec<String>,
    time: Duration,
    /// What would take longer with larger shared buffers.
    time_by_buffers: Duration,
    /// Whether a run sends at most these.
    is_bound: bool,
    /// Statements, and their bytes, that are not repeated in the list.
    more: (u64, u64),
}

impl Statements {
    /// Adds a statement.
    pub(crate) fn note(&self, statement: &str) {
        self.with(|noted| {
            noted.lines.push(one_line(statement));
            noted.time += ROUND_TRIP;
        });
    }

    /// Adds a line that is no statement.
    pub fn remark(&self, remark: &str) {
        self.with(|noted| noted.lines.push(format!("{REMARK}{remark}")));
    }

    /// What is found decides how many of the statements are sent: these are the most.
    pub fn bound(&self) {
        self.with(|noted| noted.is_bound = true);
    }

    /// Whether a run sends at most these.
    pub fn is_bound(&self) -> bool {
        self.with(|noted| noted.is_bound)
    }

    /// Where the list stands, for [`Statements::repeat_since`].
    pub fn mark(&self) -> Mark {
        let size = self.size();
        self.with(|noted| Mark { size, time: noted.time, time_by_buffers: noted.time_by_buffers })
    }

    /// Counts what was added since a mark this many times more, without a line of its own.
    pub fn repeat_since(&self, mark: Mark, times: u32) {
        let now = self.size();
        self.with(|noted| {
            noted.more.0 += (now.0 - mark.size.0) * u64::from(times);
            noted.more.1 += (now.1 - mark.size.1) * u64::from(times);
            noted.time += noted.time.saturating_sub(mark.time) * times;
            noted.time_by_buffers += noted.time_by_buffers.saturating_sub(mark.time_by_buffers) * times;
        });
    }

    /// Adds to the time that the statements would take.
    pub(crate) fn take(&self, time: Duration) {
        self.with(|noted| noted.time += time);
    }

    /// Adds to the time that the statements would take which grows with the shared buffers.
    pub(crate) fn take_by_buffers(&self, time: Duration) {
        self.with(|noted| noted.time_by_buffers += time);
    }

    /// How long the statements would take, as far as that was estimated, where what grows with the shared buffers takes
    /// `by_buffers` times as long as was assumed.
    pub fn time(&self, by_buffers: f64) -> Duration {
        self.with(|noted| noted.time + noted.time_by_buffers.mul_f64(by_buffers.max(0.0)))
    }

    /// The number of statements, and their bytes, with those that are counted without a line.
    pub fn size(&self) -> (u64, u64) {
        self.with(|noted| {
            let statements = noted.lines.iter().filter(|line| !line.starts_with(REMARK));
            statements.fold(noted.more, |(count, bytes), line| (count + 1, bytes + line.len() as u64))
        })
    }

    /// The statements as a script: one a line, each with its semicolon. A block that is repeated stands there once,
    /// indented under the number of times. Where that is longer than a person reads, each statement stands there once.
    pub fn script(&self) -> String {
        self.with(|noted| {
            let mut script = String::new();
            write_folded(&noted.lines, 0, &mut script);
            if script.lines().count() <= LINES_MAX { script } else { listed(&noted.lines) }
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Noted) -> T) -> T {
        // A list of texts is whole whatever happened to the thread that held it.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes lines, each run of equal blocks once, with the blocks that repeat within it folded in turn.
fn write_folded(lines: &[String], depth: usize, script: &mut String) {
    let margin = "  ".repeat(depth);
    let mut at = 0;
    while at < lines.len() {
        let (length, times) = longest_repetition(&lines[at..]);
        if times > 1 {
            *script += &format!("{margin}{REMARK}{times} times:\n");
            write_folded(&lines[at..at + length], depth + 1, script);
        } else {
            let end = if lines[at].starts_with(REMARK) || lines[at].ends_with(';') { "" } else { ";" };
            *script += &format!("{margin}{}{end}\n", lines[at]);
        }
        at += length * times;
    }
}

/// The block at the beginning whose repetitions reach furthest: its lines, and how often it stands there. The shortest
/// of several; one line once where none is repeated.
fn longest_repetition(lines: &[String]) -> (usize, usize) {
    let times = |length: usize| {
        let (block, rest) = lines.split_at(length);
        1 + rest.chunks_exact(length).take_while(|next| *next == block).count()
    };
    let lengths = 1..=(lines.len() / 2).min(BLOCK_MAX);
    let repeated = lengths.map(|length| (length, times(length))).filter(|(_, times)| *times > 1);
    repeated.rev().max_by_key(|(length, times)| length * times).unwrap_or((1, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_ends_each_statement_once() {
        let statements = Statements::default();
        statements.remark("nothing was sent");
        statements.note("SELECT 1\n      + 1");
        statements.note("BEGIN;");
        assert_eq!(statements.script(), "-- nothing was sent\nSELECT 1 + 1;\nBEGIN;\n");
    }

    #[test]
    fn what_is_repeated_without_a_line_takes_its_time_and_what_grows_with_the_buffers_grows() {
        let statements = Statements::default();
        statements.note("BEGIN");
        let mark = statements.mark();
        statements.note("SELECT 1");
        statements.take(Duration::from_secs(1));
        statements.take_by_buffers(Duration::from_secs(2));
        statements.repeat_since(mark, 3);
        assert_eq!(statements.size(), (5, 5 + 4 * 8));
        let [none, assumed, twice] = [0.0, 1.0, 2.0].map(|by_buffers| statements.time(by_buffers).as_secs());
        assert_eq!((none, assumed, twice), (4, 12, 20));
    }

    #[test]
    fn a_script_that_is_too_long_to_be_read_lists_each_statement_once() {
        let statements = Statements::default();
        for number in 0..300 {
            statements.note(&format!("SELECT {number}"));
            statements.note("SELECT now()");
        }
        let script = statements.script();
        let last = script.lines().last().unwrap();
        assert_eq!((script.lines().count(), last), (4, "SELECT now();  -- 300 times"));
        assert!(
            (0..299).all(|number| script.contains(&format!(" {number};"))) && script.contains("; 299\n"),
            "{script}"
        );
    }

    #[test]
    fn repeated_blocks_stand_once_with_their_number_and_nothing_is_lost() {
        let statements = Statements::default();
        statements.note("BEGIN");
        for round in 0..3 {
            (0..2).for_each(|_| statements.note("SELECT 1"));
            statements.note("SELECT 2");
            assert_eq!(statements.size(), (4 + 3 * round, 5 + 24 * (round + 1)));
        }
        let folded = "BEGIN;\n-- 3 times:\n  -- 2 times:\n    SELECT 1;\n  SELECT 2;\n";
        assert_eq!(statements.script(), folded);
    }
}
