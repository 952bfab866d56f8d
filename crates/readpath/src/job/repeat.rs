//! The job file that repeats a run: its command line, as far as that says what was measured.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use measure::Run;
use measure::run::Job;

use super::blank::value;
use super::experiment::{Experiment, Kind, Parameter, experiments};
use super::sheet::{EXPERIMENT, is_name};
use super::value::Value;
use super::words::of_shell;

/// The text of the file; otherwise why there is none.
pub(crate) fn repeat(run: &Run, definition: Command) -> Result<String, String> {
    let known = experiments(&definition);
    let Some(experiment) = known.iter().find(|experiment| experiment.name == run.experiment) else {
        return Err(format!("a run of {} is made by no job: readpath has no such command", run.experiment));
    };
    let line = of_shell(&run.command);
    let refused = |_| format!("this version of readpath no longer takes the command line of this run: {line}");
    let matches = definition.try_get_matches_from(&run.command).map_err(refused)?;
    let given = matches.subcommand().filter(|(name, _)| *name == experiment.name);
    let (_, given) = given.ok_or_else(|| format!("no command line of {} made this run: {line}", experiment.name))?;
    Ok(text(run, experiment, given, &line))
}

fn text(run: &Run, experiment: &Experiment, given: &ArgMatches, line: &str) -> String {
    let build = run.build.as_ref().map_or(String::new(), |build| format!(" by readpath {build}"));
    let mut text = comment(&format!("Repeats run {} of {}{build}:", run.id, run.started));
    text += &comment(&format!("  {line}"));
    if let Some(Job { name, file, sha256, .. }) = &run.job {
        text += &comment(&format!("It was job {name} of {file}, SHA-256 {sha256}."));
    }
    text += &format!("\n[{}]\n{EXPERIMENT} = \"{}\"\n", name(run, experiment), experiment.name);
    for parameter in &experiment.parameters {
        if let Some(value) = of_line(parameter, given) {
            text += &format!("{} = {}\n", parameter.name, value.toml());
        }
    }
    text + &drawn_seed(run, experiment, given)
}

/// A line of a comment. A document may come from elsewhere: nothing in it ends the comment.
fn comment(text: &str) -> String {
    let letters = text.chars().map(|letter| if letter.is_control() { '?' } else { letter });
    format!("# {}\n", letters.collect::<String>())
}

/// The name of the job that made the run, or else of its experiment.
fn name<'a>(run: &'a Run, experiment: &'a Experiment) -> &'a str {
    let name = run.job.as_ref().and_then(|job| job.name.split('/').next());
    name.filter(|name| is_name(name)).unwrap_or(experiment.name)
}

/// What a parameter was given on the command line.
fn of_line(parameter: &Parameter, given: &ArgMatches) -> Option<Value> {
    let id = parameter.arg.get_id().as_str();
    if given.value_source(id) != Some(ValueSource::CommandLine) {
        return None;
    }
    if parameter.kind == Kind::Flag {
        return Some(Value::Truth(true));
    }
    let words = given.get_raw(id).into_iter().flatten();
    let mut values: Vec<Value> = words.map(|word| value(parameter.kind, &word.to_string_lossy())).collect();
    match (values.is_empty(), parameter.is_list) {
        (true, _) => Some(Value::Truth(true)),
        (false, true) => Some(Value::List(values)),
        (false, false) => values.pop(),
    }
}

/// The seed that the run drew by itself, which is left out: in the same order some cache remembers the blocks.
fn drawn_seed(run: &Run, experiment: &Experiment, given: &ArgMatches) -> String {
    let is_drawn = experiment.parameter("seed").is_some_and(|seed| {
        seed.arg.get_default_values().is_empty() && given.value_source("seed") != Some(ValueSource::CommandLine)
    });
    let seed = run.cases.iter().find_map(|case| case.parameters.get("seed")?.as_u64()).filter(|_| is_drawn);
    seed.map_or(String::new(), |seed| {
        format!("# seed = {seed}  # the order that this run drew; caches may remember its blocks\n")
    })
}
