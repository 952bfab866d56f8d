//! The contests' program as a test runs it, and programs that stand in for a contender.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use measure::run::SCHEMA;
use measure::schema::check;
use measure::store::read_run;
use measure::{Case, Run};

/// The contests' program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_readpath-contest");

/// What a run of the program came to.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Its page, with one blank between two words.
    pub(crate) page: String,
    /// What it complained about.
    pub(crate) complaint: String,
    /// Its exit code.
    pub(crate) status: i32,
}

impl Outcome {
    /// The outcome, unless a peer is not installed: then the test is skipped.
    #[allow(clippy::print_stdout, reason = "a skipped test says why")]
    pub(crate) fn unless_a_peer_is_missing(self) -> Option<Outcome> {
        let said = if self.status == 2 { &self.complaint } else { &self.page };
        if !said.contains("apt-get install") {
            return Some(self);
        }
        let reason = said.lines().find(|line| line.contains("apt-get install")).unwrap_or_default();
        println!("skipped: {reason}");
        None
    }
}

/// Runs `readpath-contest` with these words.
pub(crate) fn contest<Word: AsRef<str>>(words: impl IntoIterator<Item = Word>) -> Outcome {
    outcome(Command::new(PROGRAM), words)
}

/// The same where there are no programs but those of a folder.
pub(crate) fn contest_with<Word: AsRef<str>>(programs: &Path, words: impl IntoIterator<Item = Word>) -> Outcome {
    let mut command = Command::new(PROGRAM);
    command.env("PATH", programs);
    outcome(command, words)
}

fn outcome<Word: AsRef<str>>(mut command: Command, words: impl IntoIterator<Item = Word>) -> Outcome {
    // Programs that all tests of this build fetch once.
    command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    for word in words {
        command.arg(word.as_ref());
    }
    let output = command.output().expect("the program of the contests");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let status = output.status.code().expect("an exit code");
    let page = text(output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    Outcome { page, complaint: text(output.stderr), status }
}

/// The binary that cargo built next to the contests' program; `cargo test -p contest` alone does not build it.
pub(crate) fn readpath() -> Option<PathBuf> {
    let program = Path::new(PROGRAM).with_file_name("readpath");
    program.is_file().then_some(program)
}

/// The run document of this name that a contest has kept in a folder, with nothing in it that the schema lacks.
pub(crate) fn kept(results: &Path, name: &str) -> Run {
    let run = read_run(&kept_file(results, name)).expect("a run document");
    assert_eq!(check(&run), [""; 0]);
    run
}

/// Its file.
pub(crate) fn kept_file(results: &Path, name: &str) -> PathBuf {
    let folder = fs::read_dir(results).expect("a folder").next().expect("a result").expect("a result").path();
    folder.join(format!("{name}.json"))
}

/// What a program prints that answers like readpath with these cases.
pub(crate) fn run_document(experiment: &str, cases: Vec<Case>) -> String {
    let run = Run {
        schema: SCHEMA.into(),
        id: "0197c0de-0000-7000-8000-000000000000".into(),
        started: "2026-11-20T00:00:00Z".into(),
        experiment: experiment.into(),
        cases,
        ..Run::default()
    };
    serde_json::to_string(&run).expect("a run document")
}

/// An executable script that stands in for a program.
pub(crate) fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let program = folder.join(name);
    fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable script");
    program
}
