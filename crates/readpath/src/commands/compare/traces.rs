//! Two traces or logs, folders or patterns of them, or two periods of one: each is profiled, and the profiles are
//! compared.

use std::path::{Path, PathBuf};
use std::slice;
use std::time::Duration;

use ::profile::choice::Period;
use ::profile::compare::{CompareSettings, Cut, Executions, Interval, Side, compare as compare_profiles};
use ::profile::event::Observer;
use ::profile::ingest::{Chosen, IngestSettings};
use ::profile::source::{BindValues, ReadOptions, SOURCES, SourceSettings};
use clap::ArgMatches;
use report::Shown;

use super::Arguments;
use crate::commands::measure::{progress, signals};
use crate::commands::profile::reading::{read, refuse_nothing};
use crate::commands::profile::skew::filter;
use crate::commands::unused::refuse_unused_of_source;
use crate::exit::{Exit, Failure};
use crate::options::Context;
use crate::output;
use crate::signals::Signals;

/// Profiles both and prints what differs. A file that cannot be read is said; the others are compared all the same.
pub(super) fn compare(
    paths: [PathBuf; 2],
    matches: &ArgMatches,
    arguments: &Arguments,
    context: &Context,
) -> Result<Exit, Failure> {
    arguments.reading.refuse_reversed()?;
    let is_input = paths[0] == paths[1] && paths[0].as_os_str() == "-";
    if is_input {
        return Err(Failure::wrong("standard input is read once: give a file to compare two periods of it."));
    }
    let signals = signals()?;
    let mut is_all_there = true;
    let mut sides = Vec::new();
    let mut reported = Vec::new();
    for (path, period) in paths.into_iter().zip(periods(arguments)?) {
        let chosen = Chosen::some_of(slice::from_ref(&path), &arguments.reading.choice());
        refuse_unused_of_source(matches, &chosen)?;
        let side = side(&path, chosen, (period, arguments), context, &signals);
        if let Some(signal) = signals.received() {
            output::complain("interrupted: nothing is compared.");
            return Ok(Exit::Interrupted { signal });
        }
        let Some(side) = side? else { continue };
        for problem in &side.ingested.problems {
            let sentence = format!("{problem}.");
            if !reported.contains(&sentence) {
                output::complain(&sentence);
                reported.push(sentence);
            }
        }
        is_all_there &= side.ingested.has_all_named(&[path]);
        sides.push(side);
    }
    let [before, after] =
        <[Side; 2]>::try_from(sides).map_err(|_| Failure::failed("a comparison needs two traces."))?;
    refuse_two_sources([&before, &after].map(|side: &Side| (side.name.as_str(), side.ingested.source)))?;
    let settings = CompareSettings { top: arguments.top, hides_texts: arguments.no_text };
    let comparison = compare_profiles(before, after, settings);
    output::print_result(Shown::Profiles(&comparison), context)?;
    Ok(if is_all_there { Exit::Done } else { Exit::Failed })
}

/// The times that are compared; of one trace they have to be two.
fn periods(arguments: &Arguments) -> Result<[Period; 2], Failure> {
    let Arguments { at, first, second, after, .. } = arguments;
    if at.is_some() {
        return Ok([Period { from: None, to: *at }, Period { from: *at, to: None }]);
    }
    let [first, second] = [first, second].map(|period| period.unwrap_or_default());
    if after.is_none() && first == second {
        let sentence = "--first and --second are the same period of one trace: give two periods, or a second trace.";
        return Err(Failure::wrong(sentence));
    }
    Ok([first, second])
}

/// One of the two; `None` where a signal broke it off.
fn side(
    path: &Path,
    chosen: Chosen,
    (period, arguments): (Period, &Arguments),
    context: &Context,
    signals: &Signals,
) -> Result<Option<Side>, Failure> {
    let think_time = arguments.reading.think_time();
    let is_by_period = chosen.is_read_by_period();
    let interval = match is_by_period {
        true => Interval::default(),
        false => Interval::of_period(&period).map_err(Failure::wrong)?,
    };
    let reading = ReadOptions::of_this_machine();
    let source = SourceSettings { unit: None, reading, binds: BindValues::Dropped, period };
    let settings = IngestSettings { think_time, source };
    let filter = filter(&arguments.conditions);
    let named = match is_by_period && period != Period::default() {
        true => format!("{} {}", path.display(), period.in_whole_seconds()),
        false => path.display().to_string(),
    };
    let name = match &filter {
        Some((_, text)) => format!("{named} where {text}"),
        None => named,
    };
    let is_whole = filter.is_none() && interval == Interval::default();
    let mut executions = Executions::new(think_time);
    let mut cut = Cut::new(interval, filter.map(|(filter, _)| filter), think_time);
    let observer: &mut (dyn Observer + Send) = if is_whole { &mut executions } else { &mut cut };
    let progress = progress(context);
    let step = &mut |text: &str, left: Duration| progress.step(text, left);
    let ingested = read(chosen, &settings, observer, step, &signals.stop());
    progress.clear();
    if ingested.is_broken_off {
        return Ok(None);
    }
    refuse_nothing(&ingested)?;
    if is_whole {
        return Ok(Some(Side { name, ingested, executions, accepted: None }));
    }
    let side = cut.finish(&name, ingested);
    side.map(Some).map_err(|sentence| Failure::failed(format!("{sentence}.")))
}

/// Refuses two sides of other sources, each by its name and by its source as a run document names it: they count
/// different things.
pub(super) fn refuse_two_sources(sides: [(&str, Option<&str>); 2]) -> Result<(), Failure> {
    let [(before, first), (after, second)] = sides;
    if first == second {
        return Ok(());
    }
    let kind = |source: Option<&str>| {
        let row = SOURCES.iter().find(|row| row.name == source);
        row.map_or_else(|| "of another source".into(), |row| format!("{} of {}", row.kind.noun, row.database))
    };
    let sentence = format!(
        "{before} is {} and {after} is {}: they measure different things and cannot be compared.",
        kind(first),
        kind(second)
    );
    Err(Failure::wrong(sentence))
}
