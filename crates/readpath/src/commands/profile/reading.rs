//! What is read for a profile and how: the options that `profile` and `compare` share, and the reading with a progress
//! line.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use ::measure::quantity::{self, grouped};
use ::measure::schema::logs::findings as row;
use ::profile::choice::{FileChoice, FileName, WallClock};
use ::profile::event::{Observer, Ticks};
use ::profile::findings::mixed_archives;
use ::profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use ::profile::input::{Problem, is_packed_name};
use clap::Args;
use experiments::Stop;

use crate::exit::Failure;

/// How often the progress line changes.
const REFRESH: Duration = Duration::from_millis(200);

#[derive(Args)]
pub(in crate::commands) struct ReadingArguments {
    /// Of files that are given or found in folders, only those of this name, such as '*_ora_4711*'; an archive counts
    /// by its own name where it is given, and all files in it are read; archives in folders are passed over
    #[arg(long, value_name = "GLOB")]
    pub(in crate::commands) name: Option<FileName>,
    /// Of traces, only those that were still being written at this time on the server's wall clock: '2026-11-22 09:00'
    #[arg(long, value_name = "TIME")]
    pub(in crate::commands) since: Option<WallClock>,
    /// Of traces, only those that were begun by this time
    #[arg(long, value_name = "TIME")]
    pub(in crate::commands) until: Option<WallClock>,
    /// Count a wait for the client as think time, outside the response time, from this length on, such as 500ms or 2s,
    /// and a shorter one as a round trip, inside it; 0s makes all of them think time. A PostgreSQL log does not show
    /// these waits, so the option is refused for it
    #[arg(long, value_name = "TIME", default_value = "1s", allow_hyphen_values = true)]
    #[arg(value_parser = quantity::parse_time)]
    think_time: ::measure::Nanos,
}

impl ReadingArguments {
    /// Which files are read of those that are given.
    pub(in crate::commands) fn choice(&self) -> FileChoice {
        FileChoice { name: self.name.clone(), since: self.since, until: self.until }
    }

    /// Refuses a time of files that ends before it begins.
    pub(in crate::commands) fn refuse_reversed(&self) -> Result<(), Failure> {
        match (self.since, self.until) {
            (Some(since), Some(until)) if until < since => {
                Err(Failure::wrong(format!("--since {since} is behind --until {until}: no file was written then.")))
            }
            _ => Ok(()),
        }
    }

    /// A think time beyond what ticks can hold means the same as the longest: no wait is as long.
    pub(in crate::commands) fn think_time(&self) -> Ticks {
        Ticks::from_nanos(self.think_time.0)
    }

    /// The same as a run document has it.
    pub(in crate::commands) fn think_time_us(&self) -> f64 {
        self.think_time.0 as f64 / 1e3
    }
}

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
        let is_plain = !is_packed_name(name);
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

/// Refuses what holds nothing to profile: no file, or logs of PostgreSQL without a plan. What else was given and is not
/// read is named, as are the traces in an archive that is too large to be looked through before it is read.
pub(in crate::commands) fn refuse_nothing(ingested: &Ingested) -> Result<(), Failure> {
    if ingested.files.is_empty() {
        return Err(nothing_read(ingested));
    }
    let Some(finding) = ingested.findings.iter().find(|finding| row::NO_PLANS.made(finding)) else { return Ok(()) };
    let files = first_of(ingested.files.iter().map(|file| &file.name));
    let mut sentence = format!("nothing in {files} can be profiled. {}", finding.message);
    for mixed in mixed_archives(ingested) {
        sentence = format!("{sentence} {}", mixed.message);
    }
    if !ingested.problems.is_empty() {
        sentence = format!("{sentence} Not read either: {}.", reasons(ingested));
    }
    Err(Failure::failed(sentence))
}

/// The first of these, and how many more there are.
pub(in crate::commands) fn first_of(mut names: impl ExactSizeIterator<Item: Display>) -> String {
    let first = names.next().map_or(String::new(), |name| name.to_string());
    match names.len() {
        0 => first,
        more => format!("{first} and {} more", grouped(more as u64)),
    }
}

/// Reasons that are given; the others are counted.
const REASONS_MAX: usize = 5;

/// Why files were not read.
fn reasons(ingested: &Ingested) -> String {
    let reasons: Vec<String> = ingested.problems.iter().take(REASONS_MAX).map(ToString::to_string).collect();
    let more = ingested.problems.len().saturating_sub(reasons.len());
    let rest = if more > 0 { format!("; and {} more", grouped(more as u64)) } else { String::new() };
    format!("{}{rest}", reasons.join("; "))
}

/// Why there is no profile of any file.
pub(in crate::commands) fn nothing_read(ingested: &Ingested) -> Failure {
    let is_of_recording = |problem: &Problem| matches!(problem, Problem::NotRecorded { .. });
    match !ingested.problems.is_empty() && ingested.problems.iter().all(is_of_recording) {
        // A recording is no trace, and says all by itself. It is sound, and has nothing of the time asked for.
        true => Failure::wrong(format!("{}.", reasons(ingested))),
        false => Failure::failed(format!("no trace was read: {}.", reasons(ingested))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_files_that_are_not_named_are_counted_in_groups_of_digits() {
        assert_eq!(first_of(0..18_001), "0 and 18\u{202f}000 more");
        assert_eq!([first_of(0..1), first_of(0..0)], ["0", ""]);
    }
}
