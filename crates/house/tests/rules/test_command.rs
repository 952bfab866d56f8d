//! The test command itself: a test program that ends without a result is a failure, whatever else failed beside it, and
//! the tests that it names are there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

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

/// What `check` ends with where these are the test programs.
fn summary_of(programs: [&str; 2]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("room for a script");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a script that can be run");
    };
    let check = fs::read_to_string(repository_root().join("check")).expect("the test command");
    write("check", check.trim_end().strip_suffix("main").expect("a call of its functions at its end"));
    ["first", "second"].iter().zip(programs).for_each(|(name, text)| write(name, text));
    let output = bash(folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.lines().last().unwrap_or_default().into()
}

fn bash(folder: &Path) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["-c", RUN]).current_dir(folder).stdin(Stdio::null()).output().expect("bash")
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

/// The words of the test command that stand between these.
fn words_between<'a>(check: &'a str, start: &str, end: char) -> Vec<&'a str> {
    let (_, rest) = check.split_once(start).expect("the words before them");
    let (words, _) = rest.split_once(end).expect("their end");
    words.split([' ', '|']).collect()
}

/// A filter that no test's name has runs none, and passes.
#[test]
fn tests_that_the_test_command_names_are_there() {
    let tree = Tree::of_repository();
    let check = fs::read_to_string(repository_root().join("check")).expect("the test command");
    let is_there = |ending: &str| tree.files.iter().any(|file| file.is(ending));
    for module in words_between(&check, "\napart=(", ')') {
        assert!(is_there(&format!("crates/readpath/tests/commands/{module}.rs")), "{module}");
    }
    for program in words_between(&check, " long='/(", ')') {
        let files = [format!("/tests/{program}.rs"), format!("/tests/{program}/main.rs")];
        assert!(files.iter().any(|file| is_there(file)), "{program}");
    }
    for module in words_between(&check, " --test profiles ", '\n') {
        assert!(is_there(&format!("crates/profile/tests/profiles/{module}.rs")), "{module}");
    }
}
