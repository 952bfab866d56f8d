//! Two traces or logs, folders or patterns of them: each is profiled, and the profiles are compared.

use std::path::PathBuf;
use std::time::Duration;

use ::profile::compare::{CompareSettings, Executions, Side, compare as compare_profiles};
use ::profile::ingest::{Chosen, IngestSettings};
use ::profile::observe::collector::THINK_TIME;
use ::profile::source::{BindValues, ReadOptions, SourceSettings};
use report::Shown;

use super::Arguments;
use crate::commands::measure::{progress, signals};
use crate::commands::profile::reading::{nothing_read, read};
use crate::exit::{Exit, Failure};
use crate::options::Context;
use crate::output;
use crate::signals::Signals;

/// Profiles both and prints what differs. A file that cannot be read is said; the others are compared all the same.
pub(super) fn compare(paths: [PathBuf; 2], arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let signals = signals()?;
    let mut is_all_there = true;
    let mut sides = Vec::new();
    for path in paths {
        let side = side(path.clone(), context, &signals)?;
        if let Some(signal) = signals.received() {
            output::complain("interrupted: nothing is compared.");
            return Ok(Exit::Interrupted { signal });
        }
        side.ingested.problems.iter().for_each(|problem| output::complain(&format!("{problem}.")));
        is_all_there &= side.ingested.has_all_named(&[path]);
        sides.push(side);
    }
    let [before, after] = <[Side; 2]>::try_from(sides)
        .map_err(|_| Failure::new(Exit::Failed, "two traces are needed to be compared."))?;
    refuse_two_sources(&before, &after)?;
    let settings = CompareSettings { top: arguments.top, hides_texts: arguments.no_text };
    let comparison = compare_profiles(before, after, settings);
    output::print_result(Shown::Profiles(&comparison), context)?;
    Ok(if is_all_there { Exit::Done } else { Exit::Failed })
}

/// One of the two.
fn side(path: PathBuf, context: &Context, signals: &Signals) -> Result<Side, Failure> {
    let source = SourceSettings { unit: None, reading: ReadOptions::of_this_machine(), binds: BindValues::Dropped };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    let mut executions = Executions::new(THINK_TIME);
    let progress = progress(context);
    let step = &mut |text: &str, left: Duration| progress.step(text, left);
    let name = path.display().to_string();
    let ingested = read(Chosen::of(&[path]), &settings, &mut executions, step, &signals.stop());
    progress.clear();
    if ingested.files.is_empty() && !ingested.is_broken_off {
        return Err(nothing_read(&ingested));
    }
    Ok(Side { name, ingested, executions })
}

/// Sources count different things.
fn refuse_two_sources(before: &Side, after: &Side) -> Result<(), Failure> {
    if before.ingested.source == after.ingested.source {
        return Ok(());
    }
    let kind = |side: &Side| if side.ingested.source.is_none() { "a trace of Oracle" } else { "a log of PostgreSQL" };
    let sentence = format!(
        "{} is {} and {} is {}: they count different things, and nothing of them compares.",
        before.name,
        kind(before),
        after.name,
        kind(after)
    );
    Err(Failure::new(Exit::WrongCommandLine, sentence))
}
