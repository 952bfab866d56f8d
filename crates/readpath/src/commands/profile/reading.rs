//! Reads what a profile is made from, with a progress line.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use ::profile::event::Observer;
use ::profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use experiments::Stop;

use crate::exit::{Exit, Failure};

/// How often the progress line changes.
const REFRESH: Duration = Duration::from_millis(200);

/// Reads all files; `step` hears now and then how far it is, with the time left.
pub(in crate::commands) fn read(
    chosen: Chosen,
    settings: &IngestSettings,
    observer: &mut (dyn Observer + Send),
    step: &mut (dyn FnMut(&str, Duration) + Send),
    stop: &Stop,
) -> Ingested {
    let mut shown = Shown { start: Instant::now(), last: None, name: String::new() };
    ingest(chosen, settings, observer, &mut |name, bytes| {
        if let Some((text, left)) = shown.progress(name, bytes) {
            step(&text, left);
        }
        if stop.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// What the progress line shows.
struct Shown {
    start: Instant,
    last: Option<Instant>,
    name: String,
}

impl Shown {
    /// The next words for the progress line and the time left of this file, when there is something new to say.
    fn progress(&mut self, name: &str, bytes: u64) -> Option<(String, Duration)> {
        if self.name != name {
            (self.name, self.start, self.last) = (name.into(), Instant::now(), None);
        }
        if self.last.is_some_and(|last| last.elapsed() < REFRESH) {
            return None;
        }
        self.last = Some(Instant::now());
        // What a compressed file or a pipe comes to is known at its end only.
        let is_plain = [".gz", ".zst", ".xz", ".bz2", ".zip"].iter().all(|ending| !name.ends_with(ending));
        let size =
            std::fs::metadata(Path::new(name)).ok().map(|data| data.len()).filter(|size| is_plain && *size >= bytes);
        let mib = |bytes: u64| bytes >> 20;
        let text = match size {
            Some(size) => format!("reading {name}, {} of {} MiB", mib(bytes), mib(size)),
            None => format!("reading {name}, {} MiB", mib(bytes)),
        };
        let left = size.map_or(0.0, |size| (size - bytes) as f64 / bytes.max(1) as f64);
        Some((text, self.start.elapsed().mul_f64(left.min(1e4))))
    }
}

/// Why there is no profile.
pub(in crate::commands) fn nothing_read(ingested: &Ingested) -> Failure {
    let reasons: Vec<String> = ingested.problems.iter().take(5).map(ToString::to_string).collect();
    let more = ingested.problems.len().saturating_sub(reasons.len());
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    Failure::new(Exit::Failed, format!("no trace was read: {}{rest}.", reasons.join("; ")))
}
