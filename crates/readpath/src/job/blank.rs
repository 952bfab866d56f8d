//! A job file to begin with: every parameter of an experiment with its default and what it means, commented out.

use clap::builder::PossibleValue;
use measure::{Nanos, Size};
use report::Style;

use super::experiment::{Experiment, Kind, Parameter};
use super::spelling::hyphenated;
use super::value::Value;

/// Columns of the comments.
const COLUMNS: usize = 100;

/// What a job of an experiment has to say, and a matrix to show: its key and its list.
const FIRST: &[(&str, &str, &str)] = &[
    ("ladder", "", "huge-pages = [true, false]"),
    ("disk", "paths = [\"/data/old.dbf\"]", "depth = [1, 4, 16]"),
    ("roundtrip", "paths = [\"/data/old.dbf\"]", "blocks = [64, 256]"),
    ("lio", "", "touch = [\"rows\", \"column-last\"]"),
    ("counters", "command = [\"gzip\", \"-k\", \"big.log\"]", "valgrind = [false, true]"),
    ("scan", "", "question = [\"all-pass\", \"half-pass\"]"),
    ("join", "", "io = [\"async\", \"sync\"]"),
    ("calibrate", "on = \"postgres:18\"", "payload = [\"24MiB\", \"32MiB\"]"),
    ("profile", "files = [\"orcl_ora_4711.trc\"]", "sort = [\"response-time\", \"physical-reads\"]"),
];

/// Examples of parameters without a default, where their kind says too little.
const EXAMPLES: &[(&str, &str)] = &[
    ("batch-size", "256"),
    ("by", "object"),
    ("count", "1000"),
    ("dir", "/mnt/fast"),
    ("exact", "all"),
    ("flamegraph", "walk.svg"),
    ("from", "2026-11-22 10:00"),
    ("name", "*_ora_4711*"),
    ("on", "postgres:18"),
    ("pid", "4711"),
    ("queries", "shop.sql"),
    ("since", "2026-11-22 09:00"),
    ("statement", "5ncdvm4r9w3cx"),
    ("sweep", "32"),
    ("top", "20"),
    ("to", "2026-11-22 10:05"),
    ("until", "2026-11-22 17:30"),
    ("where", "event=db file sequential read"),
];

/// What stands at the head of the file, after what the experiment does.
const HEAD: [&str; 3] = [
    "This is a job file: `readpath run FILE` executes its runs, `readpath run FILE --dry-run` lists them. Each table \
     is a job, under a name of your choice; what stands below [defaults] applies to all jobs that have its keys.",
    "A parameter that is commented out shows its default, or an example where it has none. A size is written \"8KiB\" \
     or \"1GiB\", or as a number of bytes; a time \"500ms\" or \"5s\"; a list [1, 2], or as its only value.",
    "A matrix makes one run for each value of its list, or for each combination of several lists:",
];

/// The text of the file.
pub(crate) fn blank(experiment: &Experiment) -> String {
    let Experiment { name, about, .. } = experiment;
    let first = FIRST.iter().find(|(known, ..)| known == name);
    let (needed, matrix) = first.map_or(("", ""), |(_, needed, matrix)| (*needed, *matrix));
    let [file, parameters, matrices] = HEAD;
    let mut text = [&format!("{about}."), file, parameters].map(comment).join("#\n");
    text += &format!("\n[{name}]\nexperiment = \"{name}\"\n");
    for parameter in &experiment.parameters {
        let is_needed = needed.split(" = ").next() == Some(parameter.name.as_str());
        text += "\n";
        text += &meaning(parameter);
        text += &if is_needed { format!("{needed}\n") } else { format!("# {}\n", line(parameter)) };
    }
    if !matrix.is_empty() {
        text += &format!("\n{}# [{name}.matrix]\n# {matrix}\n", comment(matrices));
    }
    text
}

/// What a parameter means, what kind of value it takes, and its words, one a line.
fn meaning(parameter: &Parameter) -> String {
    let help = parameter.arg.get_help().map(ToString::to_string).unwrap_or_default();
    let kind = if parameter.opposite.is_some() { "only true" } else { parameter.kind.words().1 };
    let kind = match (kind, parameter.is_list) {
        ("", false) => String::new(),
        ("", true) => " (list)".into(),
        (kind, false) => format!(" ({kind})"),
        (kind, true) => format!(" (list, {kind})"),
    };
    let is_shown = |word: &&PossibleValue| !word.is_hide_set() && parameter.kind == Kind::Choice;
    let words = parameter.arg.get_possible_values();
    let words: Vec<&PossibleValue> = words.iter().filter(is_shown).collect();
    let width = words.iter().map(|word| word.get_name().len()).max().unwrap_or(0);
    let line = |word: &&PossibleValue| {
        let help = word.get_help().map(ToString::to_string).unwrap_or_default();
        format!("#   {:<width$}  {help}", word.get_name()).trim_end().to_string() + "\n"
    };
    comment(&format!("{}{kind}", help.trim_end_matches('.'))) + &words.iter().map(line).collect::<String>()
}

/// The parameter with its default, or with an example.
fn line(parameter: &Parameter) -> String {
    let words = parameter.arg.get_default_values().iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let words = if words.is_empty() { said_default(parameter) } else { words };
    let defaults: Vec<Value> = words.iter().map(|word| value(parameter.kind, word)).collect();
    let is_flag = parameter.kind == Kind::Flag;
    let value = match (defaults.as_slice(), parameter.is_list) {
        ([], true) => Value::List(vec![example(parameter)]),
        ([], false) => example(parameter),
        (_, true) => Value::List(defaults.clone()),
        ([first, ..], false) => first.clone(),
    };
    let note = if defaults.is_empty() && !is_flag { "  # an example" } else { "" };
    format!("{} = {}{note}", parameter.name, value.toml())
}

/// The default that only the help tells: `1GiB` of `[default: 1GiB, with --on 128MiB]`.
fn said_default(parameter: &Parameter) -> Vec<String> {
    let help = parameter.arg.get_help().map(ToString::to_string).unwrap_or_default();
    let said = help.split_once("[default: ").map_or("", |(_, rest)| rest.split([';', ']']).next().unwrap_or_default());
    let words = parameter.arg.get_possible_values();
    let is_one = |word: &&str| match parameter.kind {
        Kind::Size => word.parse::<Size>().is_ok(),
        Kind::Time => word.parse::<Nanos>().is_ok(),
        Kind::Whole => word.parse::<u64>().is_ok(),
        Kind::Choice => words.iter().any(|known| known.get_name() == *word),
        // Of `rows, with --on rows,column-last` the first word.
        Kind::Text => !word.is_empty() && word.bytes().all(|letter| letter.is_ascii_lowercase()),
        Kind::Flag | Kind::Switch | Kind::Fraction | Kind::Path => false,
    };
    let found = said.split(',').map(str::trim).take_while(is_one).map(String::from);
    found.take(if parameter.is_list { usize::MAX } else { 1 }).collect()
}

/// A word of the command line as a job file has it.
pub(super) fn value(kind: Kind, word: &str) -> Value {
    match kind {
        // The words that the command line takes for it.
        Kind::Flag | Kind::Switch => {
            Value::Truth(["on", "true", "t", "yes", "y", "1"].contains(&word.to_ascii_lowercase().as_str()))
        }
        Kind::Whole | Kind::Fraction => number(kind, word).map_or_else(|| Value::Text(word.into()), Value::Number),
        _ => Value::Text(word.into()),
    }
}

/// A number as TOML writes it, which takes fewer forms than the command line: no `007`, `+5` or `5.`.
fn number(kind: Kind, word: &str) -> Option<String> {
    let whole = word.parse::<i64>().ok().map(|number| number.to_string());
    let fraction = || word.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| format!("{number:?}"));
    whole.or_else(|| if kind == Kind::Fraction { fraction() } else { None })
}

fn example(parameter: &Parameter) -> Value {
    let text = |text: &str| Value::Text(text.into());
    let known = EXAMPLES.iter().find(|(name, _)| *name == parameter.name);
    match (parameter.kind, known) {
        (Kind::Path, _) if parameter.name == "on" => text("/dev/sdb"),
        (kind, Some((_, word))) => value(kind, word),
        (kind, None) => example_of(kind, parameter),
    }
}

fn example_of(kind: Kind, parameter: &Parameter) -> Value {
    let text = |text: &str| Value::Text(text.into());
    match kind {
        // What holds anyway is shown as it holds.
        Kind::Flag => Value::Truth(parameter.opposite.is_some()),
        Kind::Switch => Value::Truth(false),
        Kind::Size => text("1GiB"),
        Kind::Time => text("5s"),
        Kind::Whole => Value::Number("1".into()),
        Kind::Fraction => Value::Number("1000".into()),
        Kind::Choice => {
            let words = parameter.arg.get_possible_values();
            text(words.first().map_or("", |word| word.get_name()))
        }
        Kind::Path | Kind::Text => {
            let name = parameter.arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
            text(&name.unwrap_or_else(|| hyphenated(parameter.arg.get_id().as_str()).to_uppercase()))
        }
    }
}

/// A text as lines of comments.
fn comment(text: &str) -> String {
    let wrapped = Style { width: COLUMNS - 2, ..Style::default() }.wrap(text, 0);
    wrapped.lines().map(|line| format!("# {line}").trim_end().to_string() + "\n").collect()
}
