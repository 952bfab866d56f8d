//! The experiments with their parameters, as the command line defines them: a job file knows no others, and its keys
//! are the options' names.

use std::any::TypeId;

use clap::builder::{PossibleValue, ValueParser};
use clap::{Arg, ArgAction, Command};
use measure::{Nanos, Size};

use super::spelling::hyphenated;

/// The commands whose runs a job file can ask for.
pub(crate) const LISTED: [&str; 9] =
    ["ladder", "disk", "roundtrip", "lio", "counters", "scan", "join", "calibrate", "profile"];

/// One more, which no help lists: it measures nothing, and shows what the command layer does.
const HIDDEN: &str = "null";

/// Options of an experiment that are no parameters of a run.
const APART: [&str; 3] = ["dry_run", "help", "version"];

/// The word of a choice by which it is off.
const OFF: &str = "never";

/// An experiment with its parameters in the order of its help.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    pub(crate) about: String,
    pub(super) parameters: Vec<Parameter>,
}

/// A parameter: an option of the command line, or what it takes without one.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// The key in a job file.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether it takes several values.
    pub(super) is_list: bool,
    /// Of a flag that says what holds anyway: the flag that turns it off, since making it false turns nothing off.
    pub(super) opposite: Option<String>,
    pub(super) arg: Arg,
}

/// What kind of values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is given or not.
    Flag,
    /// It is on or off.
    Switch,
    Size,
    Time,
    Whole,
    Fraction,
    /// One of a few words.
    Choice,
    Path,
    Text,
}

/// The experiments of a command line.
pub(crate) fn experiments(definition: &Command) -> Vec<Experiment> {
    let names = LISTED.into_iter().chain([HIDDEN]);
    let found = names.filter_map(|name| Some((name, definition.find_subcommand(name)?)));
    found.map(|(name, command)| Experiment::of(name, command)).collect()
}

impl Experiment {
    fn of(name: &'static str, command: &Command) -> Experiment {
        let args = command.get_arguments().filter(|arg| !APART.contains(&arg.get_id().as_str()));
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        Experiment { name, about, parameters: args.map(|arg| Parameter::of(arg, command)).collect() }
    }

    /// The parameter of this name.
    pub(super) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// The names of all parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|parameter| parameter.name.as_str())
    }
}

impl Parameter {
    fn of(arg: &Arg, command: &Command) -> Parameter {
        let name = arg.get_long().map_or_else(|| hyphenated(arg.get_id().as_str()), String::from);
        let is_list = matches!(arg.get_action(), ArgAction::Append);
        Parameter { name, kind: Kind::of(arg), is_list, opposite: opposite(arg, command), arg: arg.clone() }
    }

    /// What a user writes for it.
    pub(super) fn written(&self) -> &'static str {
        // False would turn nothing off.
        if self.opposite.is_some() { "true" } else { self.kind.words().0 }
    }

    /// Whether it can stand without a value, which then has a meaning of its own.
    pub(super) fn has_optional_value(&self) -> bool {
        self.arg.get_num_args().is_some_and(|count| count.min_values() == 0 && count.max_values() > 0)
    }

    /// The word that turns it off, where it has one.
    pub(super) fn word_for_off(&self) -> Option<String> {
        let words = self.arg.get_possible_values();
        words.iter().map(PossibleValue::get_name).find(|word| *word == OFF).map(String::from)
    }
}

impl Kind {
    fn of(arg: &Arg) -> Kind {
        let parser = arg.get_value_parser();
        match parser {
            _ if !arg.get_action().takes_values() => Kind::Flag,
            _ if is::<bool>(parser) => Kind::Switch,
            _ if is::<Size>(parser) => Kind::Size,
            _ if is::<Nanos>(parser) => Kind::Time,
            _ if is::<f64>(parser) => Kind::Fraction,
            _ if [is::<u8>, is::<u16>, is::<u32>, is::<u64>, is::<usize>].iter().any(|of| of(parser)) => Kind::Whole,
            _ if !arg.get_possible_values().is_empty() => Kind::Choice,
            _ if is::<std::path::PathBuf>(parser) => Kind::Path,
            _ => Kind::Text,
        }
    }

    /// What a user writes, and that in the few words of a file to begin with; none where its help says enough.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Flag | Kind::Switch => ("true or false", "true or false"),
            Kind::Size => ("a size such as \"8KiB\" or \"1GiB\", or a number of bytes", "size"),
            Kind::Time => ("a time such as \"500ms\" or \"5s\"", "time"),
            Kind::Whole => ("a whole number", "whole number"),
            Kind::Fraction => ("a number", "number"),
            Kind::Choice => ("one of its words", ""),
            Kind::Path => ("a path", ""),
            Kind::Text => ("a text", ""),
        }
    }
}

fn is<T: 'static>(parser: &ValueParser) -> bool {
    parser.type_id() == TypeId::of::<T>()
}

/// The flag that a flag excludes whose help calls it the default.
fn opposite(arg: &Arg, command: &Command) -> Option<String> {
    let is_flag = |arg: &Arg| !arg.get_action().takes_values();
    let is_default = || arg.get_help().is_some_and(|help| help.to_string().contains("default"));
    if !is_flag(arg) || !is_default() {
        return None;
    }
    let mut flags = command.get_arg_conflicts_with(arg).into_iter().filter(|other| is_flag(other));
    flags.find_map(Arg::get_long).map(String::from)
}
