//! The command `readpath`: reads the command line, runs one command, says what went wrong.

mod announcement;
mod cli;
mod commands;
mod exit;
#[cfg(test)]
mod from_file;
mod job;
mod options;
mod output;
mod progress;
mod run_journal;
mod secrets;
mod settings;
mod signals;
mod version;
mod words;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::options::Context;
use crate::settings::Settings;

/// All memory of the program but what an experiment measures.
#[global_allocator]
static ALLOCATOR: sys::memory::Allocator = sys::memory::Allocator { out_of_memory: exit::out_of_memory };

fn main() -> ExitCode {
    exit::take_panics_for_memory();
    // Before the first thread. Where there is no limit, each thread keeps an arena of its own.
    let _ = sys::memory::use_one_arena_under_a_limit();
    signals::outlive_file_limits();
    let settings = Settings::from_environment();
    let command_line: Vec<OsString> = env::args_os().collect();
    let matches = match cli::matches(&command_line, settings.style.width) {
        Ok(matches) => matches,
        Err(answer) => return cli::print_answer(&answer, &command_line),
    };
    let context = Context::new(&matches, settings, &command_line, (cli::definition, commands::run));
    let outcome = context.and_then(|context| (context.dispatch)(&matches, &context));
    let exit = outcome.unwrap_or_else(|failure| {
        output::complain(&failure.message);
        failure.exit
    });
    output::complain_of_leftovers();
    exit.code()
}
