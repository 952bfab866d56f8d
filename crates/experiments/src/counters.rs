//! counters: what the processor and the kernel counted while a command ran, or over a while of a process.

mod findings;
mod input;
mod metrics;
mod parameters;

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use measure::schema::counters::parameters::{COMMAND, PID};
use measure::{Case, Nanos, Parameters};
use serde_json::Value;
use subjects::places::without_password;
use sys::counters::{Counters, Rings};
use sys::process::{self, Ending, UsageDelta, UsageSnapshot};
use sys::valgrind::{Callgrind, Part};

use crate::error::{ExperimentError, refuse};
use crate::journal::Journal;
use crate::machine::{Conditions, Machine, Sensitivity};
use input::Input;
use metrics::{Observed, Times};
pub use parameters::{CommandOutput, CountersParameters, Surroundings, ValgrindRun};

/// How the command ended that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended with this code; 128 and the signal's number where a signal ended it, as shells have it.
    Ended(u8),
    /// There is no such command.
    NotFound,
    /// It is there and cannot be carried out.
    NotExecutable,
    /// None was run, or the user ended it.
    None,
}

/// Counts, keeps the one case and its findings, and says how the command ended.
pub fn run(
    parameters: &CountersParameters,
    surroundings: &Surroundings,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> (Outcome, Result<(), ExperimentError>) {
    journal.describe_subject("kind", "process".into());
    if let Err(error) = parameters.check() {
        return (Outcome::None, Err(error));
    }
    match parameters.pid {
        Some(pid) => (Outcome::None, count_process(pid, parameters.duration.into(), machine, journal)),
        None => count_command(parameters, surroundings, machine, journal),
    }
}

fn count_command(
    parameters: &CountersParameters,
    surroundings: &Surroundings,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> (Outcome, Result<(), ExperimentError>) {
    let words = &parameters.command;
    let text = in_words(words);
    journal.describe_subject("command", text.as_str().into());
    let input = if parameters.valgrind { Input::standard() } else { None };
    let conditions = Conditions::now(machine);
    let counters = Counters::of_commands(Rings::widest());
    let start = machine.clock.now();
    let child = match program(words, surroundings.output).spawn() {
        Ok(child) => child,
        Err(error) => return not_started(&words[0], &surroundings.folders, &error),
    };
    let ended = match process::wait(&child, machine.stop.flag(), None) {
        Ok(ended) => ended,
        Err(error) => return (Outcome::None, Err(ExperimentError::Process(error.to_string()))),
    };
    let elapsed = machine.clock.now().since(start);
    let tally = counters.read();
    let change = conditions.changed(machine);
    machine.note("the command", &change, Sensitivity::Core);
    let usage = ended.usage;
    let booked = UsageDelta {
        cpu: Some(Nanos(usage.user.0 + usage.system.0)),
        context_switches: Some(usage.context_switches),
        page_faults: Some(usage.page_faults),
        major_faults: Some(usage.major_faults),
    };
    let times = Times { elapsed, user: Some((usage.user, usage.system)), booked, account: "wait4" };
    let rings = counters.rings();
    let may_ask_valgrind = !parameters.valgrind;
    let mut observed = Observed { tally, rings, times, change, simulated: None, may_ask_valgrind };
    if ended.ending != Ending::ByItself {
        journal.find_all(findings::command_interrupted(ended.ending, elapsed));
        return (Outcome::None, keep(COMMAND.of(text), &observed, machine, journal));
    }
    let outcome = Outcome::Ended(code(ended.status));
    journal.find_all(findings::command_failed("The command", ended.status));
    if parameters.valgrind {
        // A file that the first run has read to its end would be empty to the second.
        let mut count = || count_under_valgrind(parameters, surroundings, machine, journal);
        observed.simulated = match input {
            Some(input) => input.again(count),
            None => count(),
        };
    }
    (outcome, keep(COMMAND.of(text), &observed, machine, journal))
}

/// Runs the command again under valgrind; a failure is a finding, because the rest was counted.
fn count_under_valgrind(
    parameters: &CountersParameters,
    surroundings: &Surroundings,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Option<sys::valgrind::Simulated> {
    let words: Vec<OsString> = parameters.command.iter().map(OsString::from).collect();
    let callgrind = Callgrind {
        words: &words,
        part: Part::Whole,
        scratch: &surroundings.scratch,
        limit: Some(parameters.valgrind_limit.into()),
        // Valgrind's own reading of a virtual processor has been a direct-mapped cache of 256 MiB.
        last_cache: machine.host.caches.iter().map(|cache| cache.bytes).max(),
    };
    findings::second_run(callgrind.run(stdio(surroundings.output), machine.stop.flag()), journal)
}

fn count_process(
    pid: u32,
    duration: Duration,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let gone = || ExperimentError::Parameters(format!("there is no process {pid}: see `ps -e` for those that run"));
    if !process::is_there(pid) {
        return Err(gone());
    }
    journal.describe_subject("pid", pid.into());
    if let Some(name) = process::name(pid) {
        journal.describe_subject("command", name.into());
    }
    journal.step(&format!("process {pid}"), duration);
    let conditions = Conditions::now(machine);
    let counters = Counters::of_process(pid, Rings::widest()).ok_or_else(gone)?;
    let before = UsageSnapshot::of(pid);
    let start = machine.clock.now();
    counters.start();
    let (_, mut is_there) = process::watch(pid, duration, machine.stop.flag());
    counters.stop();
    let elapsed = machine.clock.now().since(start);
    let booked = UsageSnapshot::of(pid).since(&before);
    is_there &= booked.cpu.is_some();
    let tally = counters.read();
    let change = conditions.changed(machine);
    machine.note("the process", &change, Sensitivity::Core);
    journal.find_all(findings::process_ended(is_there, elapsed));
    let times = Times { elapsed, user: None, booked, account: "/proc" };
    let rings = counters.rings();
    let observed = Observed { tally, rings, times, change, simulated: None, may_ask_valgrind: false };
    keep(PID.of(pid), &observed, machine, journal)
}

fn keep(
    parameter: (String, Value),
    observed: &Observed,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let mut case = Case::new(Parameters::from_iter([parameter]));
    case.metrics = metrics::of(observed);
    findings::say(&case, observed, journal);
    machine.report_absences(journal);
    Ok(journal.keep(case)?)
}

fn program(words: &[PathBuf], output: CommandOutput) -> Command {
    let mut program = Command::new(&words[0]);
    program.args(&words[1..]).stdout(stdio(output));
    // This thread waits for it.
    process::end_with_this_thread(&mut program, process::Signal::TERM);
    program
}

fn stdio(output: CommandOutput) -> Stdio {
    match output {
        CommandOutput::Output => Stdio::inherit(),
        CommandOutput::Error => io::stderr().into(),
    }
}

fn not_started(name: &Path, folders: &[PathBuf], error: &io::Error) -> (Outcome, Result<(), ExperimentError>) {
    let is_without_interpreter = error.kind() == io::ErrorKind::NotFound && has_file(folders, name);
    let is_missing = match error.kind() {
        io::ErrorKind::NotFound => !is_without_interpreter,
        io::ErrorKind::PermissionDenied => is_in_none(folders, name),
        _ => false,
    };
    let is_empty = name.as_os_str().is_empty();
    let name = name.display();
    let (outcome, sentence) = match is_missing {
        true if is_empty => (Outcome::NotFound, "the command is empty: name a program".into()),
        true => {
            (Outcome::NotFound, format!("there is no command `{name}`: give its path, or a name in a folder of PATH"))
        }
        false if is_without_interpreter => (
            Outcome::NotExecutable,
            format!("the command `{name}` cannot be run: the interpreter or loader that it names is not there"),
        ),
        false => (Outcome::NotExecutable, format!("the command `{name}` cannot be run: {error}")),
    };
    (outcome, refuse(sentence))
}

/// Whether there is a file of this name. Where the interpreter of a script or the loader of a program is missing, the
/// kernel says that nothing was found, although the file is there.
fn has_file(folders: &[PathBuf], name: &Path) -> bool {
    match is_path(name) {
        true => name.is_file(),
        false => folders.iter().any(|folder| folder.join(name).is_file()),
    }
}

fn is_path(name: &Path) -> bool {
    name.as_os_str().as_bytes().contains(&b'/')
}

/// Whether no folder has a file of this name, as far as they may be searched, and one at least may. The search for a
/// program ends with `permission denied` even where one folder alone denied it, and the others have no such file: a
/// shell then ends with 127, as where there is no such command.
fn is_in_none(folders: &[PathBuf], name: &Path) -> bool {
    let answer = |folder: &PathBuf| folder.join(name).metadata().err().map(|error| error.kind());
    let answers: Vec<Option<io::ErrorKind>> = folders.iter().map(answer).collect();
    !is_path(name) && !answers.contains(&None) && answers.contains(&Some(io::ErrorKind::NotFound))
}

/// The exit code as a shell gives it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// The command line in one line, as it is typed into a shell. It is kept and shown: no password of a server's address
/// goes there.
fn in_words(words: &[PathBuf]) -> String {
    let shown = |word: &PathBuf| word_of_shell(&without_password(&word.to_string_lossy()));
    words.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// A word as it is typed into a shell: in quotes where it is empty or has letters that mean something there.
fn word_of_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "%+,-./:=@_".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_that_is_shown_can_be_typed_again() {
        let shown = |words: &[&str]| in_words(&words.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(shown(&["gzip", "-k", "/data/big.log"]), "gzip -k /data/big.log");
        assert_eq!(shown(&["grep", "", "t/a.trc"]), "grep '' t/a.trc");
        assert_eq!(shown(&["sh", "-c", "exit 3"]), "sh -c 'exit 3'");
        assert_eq!(shown(&["echo", "it's", "*"]), r"echo 'it'\''s' '*'");
    }

    #[test]
    fn a_password_in_an_address_that_the_command_is_given_is_neither_kept_nor_shown() {
        let words = ["psql", "postgres://me:secret@db.example/shop", "-c", "SELECT 1"].map(PathBuf::from);
        assert_eq!(in_words(&words), "psql postgres://me@db.example/shop -c 'SELECT 1'");
    }

    #[test]
    fn a_script_whose_interpreter_is_missing_is_not_said_to_be_missing_itself() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("report");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        let said = |name: &Path| {
            let (outcome, error) = not_started(name, &[folder.path().into()], &io::ErrorKind::NotFound.into());
            (outcome, error.unwrap_err().to_string())
        };
        for name in [script.as_path(), Path::new("report")] {
            let (outcome, sentence) = said(name);
            assert!(outcome == Outcome::NotExecutable && sentence.contains("interpreter"), "{sentence}");
        }
        let (outcome, sentence) = said(Path::new("reports"));
        assert!(outcome == Outcome::NotFound && sentence.starts_with("there is no command `reports`"), "{sentence}");
    }
}
