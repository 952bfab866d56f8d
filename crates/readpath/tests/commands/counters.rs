//! `readpath counters` as a user meets it: exit codes, what is counted, what is absent and why.

// What stands beside the tests of this file is called by them alone.
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use crate::children::{first_child, interrupt, is_running};
use crate::terminal;
use crate::user::User;
use crate::waiting;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

fn counters(words: &[&str]) -> Output {
    User::new().run(&[&["counters", "--no-store", "--format", "json"], words].concat())
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn metric<'a>(run: &'a Value, name: &str) -> Option<&'a Value> {
    run["cases"][0]["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == name)
}

fn complaint(output: &Output) -> String {
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_commands_output_does_not_spoil_the_document_and_its_code_is_passed_on() {
    let output = counters(&["--", "sh", "-c", "echo spoken; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    let run = document(&output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("spoken"));
    assert_eq!((&run["experiment"], &run["subject"]["kind"]), (&"counters".into(), &"process".into()));
    assert!(metric(&run, "task_clock").unwrap()["median"].as_f64().unwrap() > 0.0);
    let findings = run["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["id"] == "command-failed"), "{findings:?}");
}

#[test]
fn what_is_not_counted_is_absent_with_a_reason_and_never_zero() {
    let run = document(&counters(&["--", "true"]));
    match metric(&run, "instructions") {
        Some(count) => assert!(count["median"].as_f64().unwrap() > 0.0, "{count}"),
        None => {
            let findings = run["findings"].as_array().unwrap();
            let absent = findings.iter().find(|finding| finding["id"] == "absent-counters").unwrap();
            assert!(absent["message"].as_str().unwrap().contains("instructions"), "{absent}");
        }
    }
}

#[test]
fn valgrind_fills_in_for_hidden_counters() {
    let run = document(&counters(&["--valgrind", "--", "true"]));
    let findings = run["findings"].as_array().unwrap();
    if let Some(absent) = findings.iter().find(|finding| finding["id"] == "absent-valgrind") {
        return println!("skipped: {}", absent["message"]);
    }
    for name in ["instructions", "branches", "branch_misses", "cache_misses", "cycles", "ipc"] {
        assert!(metric(&run, name).unwrap()["median"].as_f64().unwrap() > 0.0, "{name}");
    }
}

#[test]
fn a_process_that_runs_is_counted_and_one_that_is_not_there_is_named() {
    let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let output = counters(&["--pid", &busy.id().to_string(), "--duration", "300ms"]);
    busy.kill().unwrap();
    busy.wait().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(metric(&document(&output), "task_clock").unwrap()["median"].as_f64().unwrap() > 0.0);
    let gone = counters(&["--pid", "4194303", "--duration", "100ms"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(complaint(&gone).contains("there is no process 4194303"));
}

#[test]
fn a_command_that_cannot_be_run_ends_as_in_a_shell() {
    let none = counters(&["--", "no-such-command-anywhere"]);
    assert_eq!(none.status.code(), Some(127));
    assert!(complaint(&none).contains("there is no command `no-such-command-anywhere`"));
    assert_eq!(counters(&["--", "/etc/passwd"]).status.code(), Some(126));
    let empty = counters(&["--", ""]);
    assert_eq!(empty.status.code(), Some(127));
    assert!(complaint(&empty).contains("the command is empty"), "{}", complaint(&empty));
    assert_eq!(counters(&[]).status.code(), Some(2));
}

#[test]
fn a_process_of_number_zero_is_not_said_to_be_a_number_that_may_be_written() {
    for number in ["0", "-1"] {
        let refused = counters(&["--pid", number]);
        let said = complaint(&refused);
        assert!(refused.status.code() == Some(2) && said.contains("write a whole number from 1 to"), "{said}");
    }
}

#[test]
fn an_empty_argument_reaches_the_command_that_is_counted() {
    let output = counters(&["--", "sh", "-c", "exit $#", "sh", "", "x", ""]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}

/// How root gives up the right to search every folder.
const AS_OTHERS: [&str; 3] =
    ["setpriv", "--inh-caps=-dac_override,-dac_read_search", "--bounding-set=-dac_override,-dac_read_search"];

/// Runs `counters` on a command that is looked for in these folders.
fn looked_for(user: &User, folders: &str, name: &str) -> Output {
    let path = format!("PATH={folders}");
    let call = ["env", &path, env!("CARGO_BIN_EXE_readpath"), "counters", "--no-store", "--", name];
    let is_root = rustix::process::geteuid().is_root();
    let words = if is_root { [&AS_OTHERS[..], &call].concat() } else { call.to_vec() };
    Command::new(words[0]).args(&words[1..]).env("HOME", user.home.path()).output().unwrap()
}

#[test]
fn a_folder_that_may_not_be_searched_does_not_make_a_missing_command_one_that_cannot_be_run() {
    let given_up = Command::new(AS_OTHERS[0]).args(&AS_OTHERS[1..]).arg("true").output();
    if rustix::process::geteuid().is_root() && !given_up.is_ok_and(|output| output.status.success()) {
        return println!("skipped: root cannot give up here its right to search every folder");
    }
    let user = User::new();
    user.file("closed/hidden", b"");
    user.file("open/plain", b"");
    let [closed, open] = ["closed", "open"].map(|name| user.home.path().join(name));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();
    let [closed_text, both] = [closed.display().to_string(), format!("{}:{}", closed.display(), open.display())];
    let ended = [(&both, "hidden"), (&both, "plain"), (&closed_text, "hidden")]
        .map(|(folders, name)| looked_for(&user, folders, name));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    let said = ended.map(|output| (output.status.code(), complaint(&output)));
    assert!(said[0].0 == Some(127) && said[0].1.contains("there is no command `hidden`"), "{said:?}");
    assert!(said[1].0 == Some(126) && said[1].1.contains("`plain` cannot be run"), "{said:?}");
    assert!(said[2].0 == Some(126) && said[2].1.contains("`hidden` cannot be run"), "{said:?}");
}

#[test]
fn an_interrupt_ends_the_command_too() {
    let user = User::new();
    let counters = user.command("counters --no-store -- sleep 100").spawn().unwrap();
    let child = first_child(counters.id()).unwrap();
    interrupt(counters.id());
    let output = counters.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(!is_running(child), "the command of number {child} is left behind");
}

#[test]
fn the_counts_up_to_an_interrupt_are_kept_and_the_second_run_does_not_begin() {
    let user = User::new();
    let words = "counters --no-store --format json --valgrind -- sleep 100";
    let counters = user.command(words).stdout(Stdio::piped()).spawn().unwrap();
    first_child(counters.id()).unwrap();
    interrupt(counters.id());
    let output = counters.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let run = document(&output);
    assert!(metric(&run, "elapsed").unwrap()["median"].as_f64().unwrap() > 0.0, "{run}");
    let is_simulated = |count: &Value| count["source"].as_str().unwrap().starts_with("valgrind");
    assert!(!metric(&run, "instructions").is_some_and(is_simulated), "{run}");
    let findings = run["findings"].as_array().unwrap();
    let ids: Vec<&str> = findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"command-interrupted") && !ids.contains(&"command-failed"), "{findings:?}");
}

#[test]
fn an_interrupt_from_the_terminal_ends_what_the_command_has_in_the_background_too() {
    if !fs::exists("/proc/thread-self/children").unwrap() {
        return println!("skipped: this kernel does not list the children of a process");
    }
    let user = User::new();
    // The shell ends at once. Its program, which ignores ^C as every one in the background of a script does, is then an
    // orphan; the second one has a session of its own, and another parent.
    for script in ["sleep 100 & echo $!; wait", "(setsid sh -c 'echo $$; exec sleep 100' &); sleep 100"] {
        let mut command = user.command(&["counters", "--no-store", "--", "sh", "-c", script]);
        let mut counters = command.process_group(0).spawn().unwrap();
        let mut reader = BufReader::new(counters.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let sleeper: u32 = line.trim().parse().unwrap();
        kill_process_group(Pid::from_child(&counters), Signal::INT).unwrap();
        let status = waiting::end_of(&mut counters, script);
        assert_eq!(status.code(), Some(130), "{script}");
        assert!(waiting::has_ended(sleeper), "{script}: {sleeper} is left behind");
    }
}

#[test]
fn a_command_that_ends_by_itself_leaves_what_it_has_in_the_background_to_itself() {
    let script = "sleep 100 > /dev/null 2>&1 & echo $!";
    let output = User::new().run(&["counters", "--no-store", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let sleeper: u32 = said.lines().next().unwrap().trim().parse().unwrap();
    let is_there = !waiting::has_ended(sleeper);
    let _ = kill_process(Pid::from_raw(sleeper.cast_signed()).unwrap(), Signal::KILL);
    assert!(is_there, "{said}");
}

#[test]
fn a_prompt_of_the_command_is_not_erased_on_a_terminal() {
    let user = User::new();
    let words = "counters --no-store -- sh -c 'printf pro; sleep 2; echo mpt'";
    let Some(script) = terminal::begin(&user, words) else { return };
    let output = script.wait_with_output().unwrap();
    let written = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && written.contains("prompt\r\n"), "{written:?}");
}
