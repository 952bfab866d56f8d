//! The command line as a whole, and its help. Each command defines its own part.

use std::any::TypeId;
use std::error::Error as _;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Args, Command};
use report::Style;

use crate::commands::{COMMANDS, HIDDEN, without_effect};
use crate::exit::{EXIT_CODES, Exit};
use crate::job::experiment::LISTED;
use crate::job::spelling::on_one_line;
use crate::options::{CommandRow, Globals};
use crate::output;
use crate::secrets::without_secrets;
use crate::version;

/// What stands at the end of `readpath --help`.
const EXAMPLES: &str = "\
Examples:
  readpath ladder                       what one read costs at every level of this machine
  readpath disk PATH                    random and sequential reads by place
  readpath roundtrip PATH               the path to the storage, and which level served each read
  readpath lio                          the cost of a logical I/O, by the shape of the rows
  readpath counters -- COMMAND          what the processor did for a command
  readpath scan                         one query by six access paths
  readpath profile FILE                 where the response time of traced sessions went
  readpath record --on SERVER --to DIR  what a server's sessions do, to profile later
  readpath run JOB.toml                 the runs of a job file
  readpath runs                         the runs that are kept, newest first
  readpath show last                    the newest run again
  readpath compare last~1 last          what changed between the two newest runs";

/// Widest help: longer lines of prose are hard to read.
const HELP_WIDTH_MAX: usize = 100;

/// Fewest columns that what follows a gap in a line of help is wrapped to.
const SAID_COLUMNS_MIN: usize = 30;

/// Columns by which it stands in where it goes below.
const BELOW: usize = 6;

/// The whole command line, built from the table of commands.
pub(crate) fn definition() -> Command {
    // A negative number is a wrong value of its option, not an unknown option.
    let define = |row: &CommandRow| {
        let command = (row.define)(Command::new(row.name)).allow_negative_numbers(true);
        hide_unused(command.mut_args(take_negative_values))
    };
    let commands = COMMANDS.iter().map(define).chain(HIDDEN.iter().map(|row| define(row).hide(true)));
    // The description comes after the options: adding them puts their own in its place.
    Globals::augment_args(Command::new("readpath"))
        .version(version::text())
        .about("Measures what a database read costs, from the CPU cache to the disk")
        .after_help(EXAMPLES)
        .after_long_help(format!("{EXAMPLES}\n\n{EXIT_CODES}"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands)
}

/// The command with the common options that have no effect on it hidden from its help. They are still parsed, so that
/// their refusal says why: the parser adds no common option to a command that defines it already.
fn hide_unused(command: Command) -> Command {
    let unused = without_effect(command.get_name());
    let common = Globals::augment_args(Command::new("common"));
    let hidden = common.get_arguments().filter(|option| unused.contains(&option.get_id().as_str()));
    let hidden: Vec<Arg> = hidden.map(|option| option.clone().hide(true)).collect();
    command.args(hidden).mut_subcommands(hide_unused)
}

/// The option with `-1s` as a value, of which its parser then says what is wrong. A name or a file may be of any
/// letters: there the parser of the command line has to find a value that was forgotten.
fn take_negative_values(option: Arg) -> Arg {
    let kind = option.get_value_parser().type_id();
    let is_name = [TypeId::of::<PathBuf>(), TypeId::of::<String>()].iter().any(|name| kind == *name);
    let takes_value = option.get_action().takes_values() && !option.is_positional();
    if takes_value && !is_name { option.allow_hyphen_values(true) } else { option }
}

/// Why a value is refused, with what to write where the standard library's sentence about a number does not say it.
pub(crate) fn reason(answer: &clap::Error) -> Option<String> {
    let reason = answer.source()?.to_string();
    if is_list(answer) {
        return Some("write one number".into());
    }
    if let Some((low, high)) = reason.split_once(" is not in ").and_then(|(_, range)| range.split_once("..=")) {
        return Some(format!("write a whole number from {low} to {high}"));
    }
    Some(match reason.as_str() {
        "invalid digit found in string"
        | "cannot parse integer from empty string"
        | "number too small to fit in target type" => "write a whole number without a sign".into(),
        "invalid float literal" | "cannot parse float from empty string" => "write a number, such as 2000".into(),
        "number too large to fit in target type" => "the number is too large".into(),
        "value was not a boolean" => "write on or off".into(),
        _ => reason,
    })
}

/// Whether the value that is refused is several numbers.
pub(crate) fn is_list(answer: &clap::Error) -> bool {
    let Some(ContextValue::String(value)) = answer.get(ContextKind::InvalidValue) else { return false };
    value.contains(',') && value.split(',').all(|one| one.parse::<f64>().is_ok())
}

/// What follows that one number is to be written and not several: what makes a run for each; for a command that no job
/// file runs, what its option takes.
fn in_place_of_list(answer: &clap::Error, command_line: &[OsString]) -> Option<String> {
    let definition = definition();
    let mut words = command_line.iter().skip(1).filter_map(|word| word.to_str());
    let command = words.find_map(|word| definition.find_subcommand(word)).filter(|_| is_list(answer))?;
    if LISTED.contains(&command.get_name()) {
        return Some("; to run several values one after the other, use a job file (`readpath init` writes one)".into());
    }
    let Some(ContextValue::String(given)) = answer.get(ContextKind::InvalidArg) else { return None };
    let name = given.strip_prefix("--")?.split(' ').next();
    let option = command.get_arguments().find(|option| option.get_long() == name)?;
    let help = option.get_help()?.to_string();
    let mut letters = help.split(" [default").next()?.chars();
    let first = letters.next()?.to_lowercase();
    Some(format!(" ({first}{})", letters.as_str()))
}

/// What is wrong with the command line where an option is one of other commands alone: the parser's text guesses at
/// another option or at a value, and a user has to find the command.
fn option_of_others(answer: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = answer.get(ContextKind::InvalidArg) else { return None };
    let name = given.strip_prefix("--").filter(|_| answer.kind() == ErrorKind::UnknownArgument)?;
    let definition = definition();
    let takes_it = |command: &&Command| {
        let mut options = command.get_arguments().filter(|option| !option.is_hide_set());
        !command.is_hide_set() && options.any(|option| option.get_long() == Some(name))
    };
    let names: Vec<&str> = definition.get_subcommands().filter(takes_it).map(Command::get_name).collect();
    let (last, others) = names.split_last()?;
    let commands = if others.is_empty() { (*last).to_string() } else { format!("{} and {last}", others.join(", ")) };
    let text = answer.render().to_string();
    let (wrong, rest) = text.split_once('\n')?;
    // The parser puts the option that it guesses at into the usage too.
    let is_guessed = answer.get(ContextKind::SuggestedArg).is_some();
    let is_of_guess = |line: &str| line.starts_with("tip:") || is_guessed && line.starts_with("Usage:");
    let rest = rest.lines().filter(|line| !is_of_guess(line.trim_start())).skip_while(|line| line.is_empty());
    let rest: Vec<&str> = rest.collect();
    Some(format!("{wrong}\n\n  tip: {given} is an option of {commands}\n\n{}\n", rest.join("\n")))
}

/// What a command line says, or the answer to it: help, a version or what is wrong with it. Help is laid out for a
/// screen of `width` columns, which takes as long as all else before a command begins: only an answer can need it.
pub(crate) fn matches(command_line: &[OsString], width: usize) -> Result<ArgMatches, clap::Error> {
    definition().try_get_matches_from(command_line).or_else(|_| {
        let width = width.min(HELP_WIDTH_MAX);
        let answer = |line: &[OsString]| laid_out(definition(), width).try_get_matches_from(line);
        match answer(&quotable(command_line)) {
            // What is wrong is the control character.
            Ok(_) => answer(command_line),
            answer => answer,
        }
    })
}

/// The words as a message quotes them: each in one line, with an escape for a control character.
fn quotable(command_line: &[OsString]) -> Vec<OsString> {
    let escaped = |word: &str| OsString::from(on_one_line(word));
    command_line.iter().map(|word| word.to_str().map_or_else(|| word.clone(), escaped)).collect()
}

/// A command line's help laid out for `width` columns.
fn laid_out(command: Command, width: usize) -> Command {
    let examples = |command: Command| {
        let lines = |text: String| text.lines().map(|text| line(text, width)).collect::<Vec<_>>().join("\n");
        let of = |text: Option<&StyledStr>| text.map(|text| lines(text.to_string()));
        let (short, long) = (of(command.get_after_help()), of(command.get_after_long_help()));
        let command = short.into_iter().fold(command, Command::after_help);
        long.into_iter().fold(command, Command::after_long_help)
    };
    examples(command).mut_subcommands(examples).term_width(width)
}

/// A line of help; what follows a gap in a line that is too long keeps its column, or goes below where that column is
/// too narrow.
fn line(line: &str, width: usize) -> String {
    let margin = line.len() - line.trim_start().len();
    let gap = line[margin..].find("  ").filter(|_| line.chars().count() > width);
    let Some(gap) = gap else { return line.into() };
    let (key, said) = (&line[..margin + gap], line[margin + gap..].trim_start());
    let own = line.len() - said.len();
    let (start, column) = if own + SAID_COLUMNS_MIN <= width {
        (line[..own].to_string(), own)
    } else {
        (format!("{key}\n{:BELOW$}", ""), BELOW)
    };
    let said = Style { width: width.saturating_sub(column), ..Style::default() }.wrap(said, 0);
    start + &said.replace('\n', &format!("\n{:column$}", ""))
}

/// Prints help, a version or what is wrong with the command line: 0 for what was asked for, else 2; what was asked for
/// and could not be printed has failed like any other result.
pub(crate) fn print_answer(answer: &clap::Error, command_line: &[OsString]) -> ExitCode {
    if answer.use_stderr() {
        let text = option_of_others(answer).unwrap_or_else(|| answer.render().to_string());
        let more = in_place_of_list(answer, command_line).unwrap_or_default();
        let said = answer.source().map(ToString::to_string).zip(reason(answer).map(|reason| reason + &more));
        let said = said.map_or(text.clone(), |(given, reason)| text.replacen(&given, &reason, 1));
        // A password stands there as its word does.
        output::warn(&without_secrets(&said, &quotable(command_line)));
        return Exit::WrongCommandLine.code();
    }
    // Flushing here, not at the process's end, where an error such as a full disk would go unnoticed.
    let printed = || match answer.print().and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(output::not_printed(error)),
        _ => Ok(()),
    };
    match output::check_open().and_then(|()| printed()) {
        Ok(()) => Exit::Done.code(),
        Err(failure) => {
            output::complain(&failure.message);
            failure.exit.code()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        definition().debug_assert();
    }

    #[test]
    fn a_value_of_several_lines_is_quoted_in_one() {
        let answer = |value: &str| {
            let line: Vec<OsString> = ["readpath", "lio", "--on", value].into_iter().map(Into::into).collect();
            matches(&line, 80).unwrap_err().render().to_string()
        };
        let said = answer("x\ny\tz\u{1b}[31m");
        assert!(said.contains(r"'x\ny\tz\u{1b}[31m' names no subject"), "{said}");
        // A letter that is none of ASCII stays as it is.
        assert!(answer("größe\n").contains(r"'größe\n' names no subject"), "{}", answer("größe\n"));
    }

    #[test]
    fn help_keeps_to_the_width_and_is_wrapped_once() {
        for width in [60, 80, HELP_WIDTH_MAX] {
            let mut whole = laid_out(definition(), width);
            whole.build();
            let mut helps = vec![whole.render_long_help().to_string()];
            helps.extend(whole.get_subcommands_mut().map(|command| command.render_long_help().to_string()));
            for line in helps.iter().flat_map(|help| help.lines()) {
                // A word, an address or an example without a gap is longer than the line that it is in.
                let is_one = line.split_whitespace().count() < 4 || line.starts_with("  readpath");
                assert!(line.chars().count() <= width || is_one, "{width}: {line}");
            }
        }
        let wide = laid_out(definition(), 400).render_long_help().to_string();
        assert!(wide.contains("could not be read: of several traces or logs, the others are shown"), "{wide}");
    }

    #[test]
    fn what_an_example_shows_stands_below_it_where_the_line_is_too_long() {
        let example = "  readpath join --on postgres:18      a private server, and the engine";
        assert_eq!(line(example, 80), example);
        assert_eq!(line(example, 60), "  readpath join --on postgres:18\n      a private server, and the engine");
        let code = "  1    the measurement failed or was refused";
        assert_eq!(line(code, 38), "  1    the measurement failed or was\n       refused");
    }

    /// A command line of these words, of which those in quotation marks are one.
    fn words(line: &str) -> Vec<&str> {
        let parts = line.split('\'').enumerate();
        let words = parts.flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        ["readpath"].into_iter().chain(words).collect()
    }

    #[test]
    fn every_command_line_in_a_table_of_the_guide_is_one() {
        let mut checked = 0;
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/src");
        for path in std::fs::read_dir(guide).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let chapter = std::fs::read_to_string(&path).unwrap();
            let rows = chapter.lines().filter(|line| line.starts_with('|'));
            let codes = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
            for line in codes.filter_map(|code| code.trim_start_matches("sudo ").strip_prefix("readpath ")) {
                let parsed = definition().try_get_matches_from(words(line));
                assert!(parsed.is_ok(), "{}: {line}: {}", path.display(), parsed.unwrap_err());
                checked += 1;
            }
        }
        assert!(checked > 60, "{checked}");
    }

    #[test]
    fn every_question_of_the_guide_has_a_command() {
        let page = include_str!("../../../docs/guide/src/which-command.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")).filter(|row| !row.starts_with("---"));
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split(" | ").collect()).collect();
        assert!(rows.len() > 30 && rows.iter().all(|row| row.len() == 3), "{rows:#?}");
        let empty: Vec<_> = rows.iter().filter(|row| row[1].trim().is_empty()).collect();
        assert!(empty.is_empty(), "{empty:?}");
    }

    #[test]
    fn every_example_of_the_help_is_a_command_line() {
        let mut checked = 0;
        for command in definition().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter_map(|line| line.trim_start().strip_prefix("readpath ")) {
                let line = line.split("  ").next().unwrap().split('>').next().unwrap();
                let parsed = definition().try_get_matches_from(words(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                checked += 1;
            }
        }
        assert!(checked > 50, "{checked}");
    }

    #[test]
    fn an_example_can_be_pasted_from_a_screen_of_80_columns() {
        let mut whole = laid_out(definition(), 80);
        whole.build();
        for (command, laid_out) in definition().get_subcommands().zip(whole.get_subcommands_mut()) {
            let given = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let shown = laid_out.render_long_help().to_string();
            let examples = given.lines().skip_while(|line| *line != "Examples:").skip(1);
            for line in examples.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
                let example = line[2..].split("  ").next().unwrap_or_default();
                assert!(example.chars().count() <= 74, "{example}");
                assert!(shown.lines().any(|shown| shown.starts_with(&format!("  {example}"))), "{example}: {shown}");
            }
            let widest = shown.lines().skip_while(|line| *line != "Examples:").map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{shown}");
        }
    }

    #[test]
    fn every_command_that_is_listed_shows_examples() {
        for command in definition().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{}", command.get_name());
        }
    }
}
