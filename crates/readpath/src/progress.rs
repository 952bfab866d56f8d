//! Progress on standard error: what is being measured now and how long it still takes. On a terminal it is one line,
//! gone when done; elsewhere a line now and then, for logs.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::Builder;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::output::{complain, printable};

/// How often the time left is drawn anew. A draw takes some 50 µs on a thread of its own, so that once a second
/// disturbs a measurement by less than a ten-thousandth of one core's time.
const REDRAW: Duration = Duration::from_secs(1);

/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(15);

/// Columns of such a line behind `readpath: `. It goes to a log and not to a terminal: there is room to name a case.
const COLUMNS: usize = 110;

/// What a time that is left is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// The step alone: others follow, whose time is not known.
    Step,
    /// All that is still to come.
    Run,
}

/// A step of the work and when it, or the run, will be done, where that is known.
struct Step {
    what: String,
    end: Option<Instant>,
    of: Of,
}

/// One line on a terminal, lines elsewhere, or nothing.
pub(crate) struct Progress {
    line: Option<ProgressBar>,
    /// Whether the time that the line counts down is that of the run.
    is_of_run: Arc<AtomicBool>,
    /// To the thread that tells of the steps, which ends with this.
    steps: Option<Sender<Step>>,
}

impl Progress {
    /// A line on a terminal.
    pub(crate) fn on_terminal() -> Progress {
        let template = ProgressStyle::with_template("{wide_msg}  {left}");
        let is_of_run = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_of_run);
        let left = move |state: &ProgressState, out: &mut dyn Write| {
            write_time_left(state, if shared.load(Ordering::Relaxed) { Of::Run } else { Of::Step }, out);
        };
        let style = template.unwrap_or_else(|_| ProgressStyle::default_spinner()).with_key("left", left);
        let line = ProgressBar::new(0).with_style(style).with_message("getting ready");
        line.tick();
        let ticking = line.clone();
        Progress { line: Some(line), is_of_run, steps: every(REDRAW, move |_| ticking.tick()) }
    }

    /// A line now and then.
    pub(crate) fn in_lines() -> Progress {
        let start = Instant::now();
        let tell = move |step: &Step| {
            complain(&step.told(start.elapsed(), Instant::now()));
        };
        Progress { line: None, is_of_run: Arc::default(), steps: every(LINE_EVERY, tell) }
    }

    /// Nothing at all.
    pub(crate) fn none() -> Progress {
        Progress { line: None, is_of_run: Arc::default(), steps: None }
    }

    /// Shows the next step and counts its time down from `expected`; zero is not known.
    pub(crate) fn step(&self, what: &str, expected: Duration) {
        self.show(what, expected, Of::Step);
    }

    /// Shows the next step and counts the time of all that is still to come down from `left`; zero is not known.
    pub(crate) fn step_of_run(&self, what: &str, left: Duration) {
        self.show(what, left, Of::Run);
    }

    fn show(&self, what: &str, expected: Duration, of: Of) {
        let what = printable(what);
        if let Some(line) = &self.line {
            self.is_of_run.store(of == Of::Run, Ordering::Relaxed);
            line.set_message(what);
            line.set_length(u64::try_from(expected.as_millis()).unwrap_or(u64::MAX));
            line.reset_elapsed();
            line.tick();
        } else if let Some(steps) = &self.steps {
            let now = Instant::now();
            // Without the thread there is nothing to tell.
            let _ = steps.send(Step { what, end: now.checked_add(expected).filter(|_| !expected.is_zero()), of });
        }
    }

    /// Does something that writes to standard error, with the line out of its way.
    pub(crate) fn above(&self, write: impl FnOnce()) {
        match &self.line {
            Some(line) => line.suspend(write),
            None => write(),
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

impl Step {
    /// The line that tells of it. What is long loses its end, so that the time left is on the line.
    fn told(&self, elapsed: Duration, now: Instant) -> String {
        let left = self.end.map(|end| format!(", {}", time_left(end.saturating_duration_since(now), self.of)));
        let (begin, left) = (format!("{} s so far, now ", elapsed.as_secs()), left.unwrap_or_default());
        begin.clone() + &shortened(&self.what, COLUMNS.saturating_sub(begin.len() + left.len())) + &left
    }
}

/// A text in at most this number of letters, which ends in points where it was longer.
fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.into();
    }
    let kept: String = text.chars().take(letters.saturating_sub(3)).collect();
    // Between words, unless the last one is most of it.
    let is_whole = text[kept.len()..].starts_with(' ');
    let words = kept.rfind(' ').filter(|at| !is_whole && at * 2 >= kept.len()).map_or(&kept[..], |at| &kept[..at]);
    format!("{}...", words.trim_end_matches([' ', ',', ':']))
}

/// Calls `tell` with the step under way after each `pause`, on a thread of its own, until the sender is dropped. `None`
/// if there cannot be such a thread: then progress is not told.
fn every(pause: Duration, tell: impl Fn(&Step) + Send + 'static) -> Option<Sender<Step>> {
    let (sender, steps) = mpsc::channel();
    let ticking = move || {
        let mut current = Step { what: "getting ready".into(), end: None, of: Of::Step };
        let mut due = Instant::now() + pause;
        loop {
            match steps.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(step) => current = step,
                Err(RecvTimeoutError::Timeout) => {
                    tell(&current);
                    // A process that was stopped meanwhile (SIGSTOP) has nothing to make up for.
                    due = Instant::now() + pause;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    };
    Builder::new().name("progress".into()).spawn(ticking).ok().map(|_| sender)
}

/// Writes how much of the expected time, kept as the length in ms, is left; nothing before the first step.
fn write_time_left(state: &ProgressState, of: Of, out: &mut dyn Write) {
    let Some(expected) = state.len().filter(|length| *length > 0) else { return };
    // Writing into a text in memory does not fail.
    let _ = out.write_str(&time_left(Duration::from_millis(expected).saturating_sub(state.elapsed()), of));
}

fn time_left(left: Duration, of: Of) -> String {
    let left = match left.as_millis().div_ceil(1000) {
        0 => "a moment left".into(),
        seconds => format!("about {seconds} s left"),
    };
    if of == Of::Step { format!("this step: {left}") } else { left }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    #[test]
    fn the_step_under_way_is_told_again_and_again_until_the_end() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let steps = every(Duration::from_millis(5), move |step| heard.lock().unwrap().push(step.what.clone())).unwrap();
        steps.send(Step { what: "reading".into(), end: None, of: Of::Run }).unwrap();
        while told.lock().unwrap().iter().filter(|what| *what == "reading").count() < 2 {
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_a_stopped_process_did_not_tell_is_not_told_all_at_once_when_it_goes_on() {
        let (pause, told) = (Duration::from_millis(20), Arc::new(Mutex::new(Vec::new())));
        let heard = Arc::clone(&told);
        let _steps = every(pause, move |_| {
            let mut told = heard.lock().unwrap();
            told.push(Instant::now());
            if told.len() == 1 {
                thread::sleep(pause * 10);
            }
        });
        while told.lock().unwrap().len() < 3 {
            thread::sleep(Duration::from_millis(5));
        }
        let told = told.lock().unwrap();
        assert!(told[2].duration_since(told[1]) >= pause, "{told:?}");
    }

    #[test]
    fn no_time_left_is_told_of_a_step_whose_length_is_not_known() {
        let now = Instant::now();
        let told = |end, of| Step { what: "reading".into(), end, of }.told(Duration::from_secs(30), now);
        assert_eq!(told(None, Of::Run), "30 s so far, now reading");
        assert_eq!(told(Some(now + Duration::from_secs(9)), Of::Run), "30 s so far, now reading, about 9 s left");
    }

    #[test]
    fn the_time_of_a_step_is_not_taken_for_that_of_the_run() {
        let now = Instant::now();
        let what = "postgres 15.18: 2 500 bytes in 5 columns, index, touching rows".to_string();
        let step = Step { what: what.clone(), end: Some(now + Duration::from_secs(1)), of: Of::Step };
        let line = step.told(Duration::from_secs(15), now);
        assert_eq!(line, format!("15 s so far, now {what}, this step: about 1 s left"), "the case is not cut");
    }

    #[test]
    fn a_line_of_progress_is_no_longer_than_a_log_has_room_for() {
        let now = Instant::now();
        let what = "the single-row lookups of rows of 2500 bytes in 25 columns on postgres 18.6 by a name".repeat(2);
        let step = Step { what, end: Some(now + Duration::from_secs(9)), of: Of::Run };
        let line = format!("readpath: {}", step.told(Duration::from_secs(1234), now));
        assert!((105..=120).contains(&line.chars().count()), "{line}");
        assert!(line.ends_with("..., about 9 s left") && line.contains("now the single-row lookups"), "{line}");
        assert_eq!(shortened("rows of 2500 bytes in columns", 25), "rows of 2500 bytes in...");
        assert_eq!(shortened("rows of 2500 bytes, in columns", 25), "rows of 2500 bytes, in...");
        assert_eq!(shortened("a/long/path/without/a/gap", 20), "a/long/path/witho...");
    }

    #[test]
    fn the_time_left_is_rounded_up_to_seconds() {
        let words = [0, 1, 1500].map(|millis| time_left(Duration::from_millis(millis), Of::Run));
        assert_eq!(words, ["a moment left", "about 1 s left", "about 2 s left"]);
    }
}
