//! The test command itself: a test program that ends without a result is a failure, whatever else failed beside it, and
//! the tests that it names are there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::tree::{Tree, repository_root};

/// Runs two test programs as `check` does, and the tests that failed once more alone; its last lines.
const RUN: &str = r#"
source ./check
test_programs() { printf '%s\n' "$PWD $PWD/first" "$PWD $PWD/second"; }
has_examples() { return 1; }
run_tests
run_failed_tests_alone
summary
"#;

/// A test program of which one test fails unless it is run alone.
const DISTURBED: &str = r#"#!/bin/sh
case "$*" in
    *--exact*) echo 'test a ... ok'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored' ;;
    *) echo 'test a ... FAILED'; echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'; exit 101 ;;
esac
"#;

/// What a script prints that has the functions of `check`, in a folder with these programs.
fn said(script: &str, programs: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("room for a script");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a script that can be run");
    };
    let check = fs::read_to_string(repository_root().join("check")).expect("the test command");
    write("check", check.trim_end().strip_suffix("main").expect("a call of its functions at its end"));
    programs.iter().for_each(|(name, text)| write(name, text));
    let mut bash = Command::new("bash");
    let bash = bash.args(["-c", script]).current_dir(folder.path()).stdin(Stdio::null());
    let output = bash.output().expect("bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What `check` ends with where these are the test programs.
fn summary_of([first, second]: [&str; 2]) -> String {
    said(RUN, &[("first", first), ("second", second)]).lines().last().unwrap_or_default().into()
}

#[test]
fn a_test_program_that_a_signal_ends_is_a_failure_also_where_the_tests_that_failed_pass_alone() {
    assert_eq!(summary_of([DISTURBED, DISTURBED]), "2 passed, 0 failed, 0 skipped");
    let killed = "#!/bin/sh\necho 'running 2 tests'\nkill -SEGV $$\n";
    assert_eq!(summary_of([DISTURBED, killed]), "1 passed, 1 failed, 0 skipped");
    assert_eq!(summary_of([killed, killed]), "0 passed, 2 failed, 0 skipped");
    // One by one, a test's name stands on its line before the test runs.
    let failed_before = "#!/bin/sh\necho 'test b ... FAILED'\nprintf 'test c ... '\nkill -SEGV $$\n";
    assert_eq!(summary_of([DISTURBED, failed_before]), "1 passed, 1 failed, 0 skipped");
}

/// Prints the queue of test programs where these were built.
const QUEUE: &str = r"
source ./check
printf '%s\n' '/a /t/commands-0123abcd' '/b /t/all-4567cdef' >programs
in_order programs
";

#[test]
fn no_test_of_the_commands_is_left_out_or_run_twice_by_their_parts() {
    let queue = said(QUEUE, &[]);
    let parts: Vec<Vec<&str>> = queue
        .lines()
        .filter_map(|line| line.strip_prefix("/a /t/commands-0123abcd"))
        .map(|words| words.split_whitespace().collect())
        .collect();
    assert!(parts.len() > 1, "{queue}");
    // As the test runner chooses by these words.
    let is_in = |name: &str, words: &[&str]| {
        let (mut chosen, mut skipped) = (Vec::new(), false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--skip" => skipped |= words.next().is_some_and(|word| name.contains(*word)),
                word => chosen.push(word),
            }
        }
        !skipped && (chosen.is_empty() || chosen.iter().any(|word| name.contains(*word)))
    };
    for name in ["calibrate::a", "limited::a", "postgres_lio::a_limited_one", "jobs::a", "options::limited", "a"] {
        assert_eq!(parts.iter().filter(|words| is_in(name, words)).count(), 1, "{name}: {queue}");
    }
    assert_eq!(queue.lines().filter(|line| line.starts_with("/b ")).count(), 1, "{queue}");
}

/// The words of the test command that stand between these.
fn words_between<'a>(check: &'a str, start: &str, end: char) -> Vec<&'a str> {
    let (_, rest) = check.split_once(start).expect("the words before them");
    let (words, _) = rest.split_once(end).expect("their end");
    words.split([' ', '|', '"']).filter(|word| !word.is_empty()).collect()
}

/// A filter that no test's name has runs none, and passes.
#[test]
fn tests_that_the_test_command_names_are_there() {
    let tree = Tree::of_repository();
    let check = fs::read_to_string(repository_root().join("check")).expect("the test command");
    let is_there = |ending: &str| tree.files.iter().any(|file| file.is(ending));
    for module in words_between(&check, "\napart=(", ')') {
        // A word may be the beginning of several names.
        let beginning = format!("crates/readpath/tests/commands/{module}");
        assert!(tree.files.iter().any(|file| file.path.contains(&beginning)), "{module}");
    }
    for program in words_between(&check, " long='/(", ')') {
        let files = [format!("/tests/{program}.rs"), format!("/tests/{program}/main.rs")];
        assert!(files.iter().any(|file| is_there(file)), "{program}");
    }
    for module in words_between(&check, " --test profiles ", '\n') {
        assert!(is_there(&format!("crates/profile/tests/profiles/{module}.rs")), "{module}");
    }
}
