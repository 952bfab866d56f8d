//! `readpath profile --follow`: a trace that is being written, cut, or replaced while it is followed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::children::{first_child, interrupt};
use crate::terminal;
use crate::user::{User, cases, complaint, ids};
use crate::waiting;

const SHOP: &[u8] = include_bytes!("../traces/shop_ora_4711.trc");

/// Longer than it takes to look at a file again.
const LOOK: Duration = Duration::from_millis(1_500);

/// Most bytes that are read in that time of a trace that did not grow: each look reads up to 256 that it knows, to see
/// whether they are still there.
const READ_BY_LOOKS: u64 = 1024;

fn followed(user: &User, path: &Path, words: &str) -> Child {
    let line = format!("profile {} --no-store --format json {words}", path.display());
    user.command(&line).spawn().unwrap()
}

fn write(path: &Path, bytes: &[u8]) {
    File::options().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn trace(user: &User) -> PathBuf {
    user.home.path().join("shop.trc")
}

/// Waits until a process has read a trace of this size, has shown its page, and looks for more of it.
fn wait_for_look(process: u32, size: usize) {
    waiting::until_read(process, size as u64);
    waiting::until("nothing but looks", || {
        let before = waiting::bytes_read(process);
        thread::sleep(LOOK);
        (1..=READ_BY_LOOKS).contains(&(waiting::bytes_read(process) - before))
    });
}

fn interrupted(child: Child) -> Output {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait_with_output().unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no page: {}", complaint(output)))
}

/// The rows of all tables, but how much memory was taken.
fn tables(document: &Value) -> Vec<&Value> {
    cases(document).filter(|case| case["parameters"]["table"] != "memory").collect()
}

#[test]
fn a_trace_that_grows_gives_the_page_of_the_whole() {
    let user = User::new();
    let path = trace(&user);
    // Cut within lines, within a text and within a preamble.
    let cuts = [100, 700, 1_000, 30_001, 65_000];
    write(&path, &SHOP[..cuts[0]]);
    let child = followed(&user, &path, "--follow=600s");
    for (begin, end) in cuts.iter().zip(cuts[1..].iter().chain([&SHOP.len()])) {
        wait_for_look(child.id(), *begin);
        write(&path, &SHOP[*begin..*end]);
    }
    wait_for_look(child.id(), SHOP.len());
    let output = interrupted(child);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let whole = user.document(&format!("profile {} --no-store", path.display()));
    let grown = document(&output);
    assert!(tables(&grown) == tables(&whole), "the tables differ");
    assert_eq!(grown["findings"], whole["findings"]);
}

#[test]
fn only_what_was_added_is_read() {
    let user = User::new();
    let path = trace(&user);
    let many = SHOP.repeat(200);
    write(&path, &many);
    let child = followed(&user, &path, "--follow=600s");
    wait_for_look(child.id(), many.len());
    let first = waiting::bytes_read(child.id());
    for _ in 0..3 {
        write(&path, SHOP);
        wait_for_look(child.id(), many.len());
    }
    let more = waiting::bytes_read(child.id()) - first;
    let output = interrupted(child);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    assert!(more < many.len() as u64 / 2, "{more} bytes were read of {} that were added", 3 * SHOP.len());
}

#[test]
fn an_interrupt_ends_it_with_a_last_page_of_all_lines_and_is_no_error() {
    let user = User::new();
    let path = trace(&user);
    write(&path, &SHOP[..30_000]);
    let child = followed(&user, &path, "--follow=600s");
    wait_for_look(child.id(), 30_000);
    write(&path, &SHOP[30_000..]);
    let output = interrupted(child);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    assert!(!ids(&document(&output)).contains(&"interrupted") && !complaint(&output).contains("interrupted"));
    assert!(document(&output)["finished"].is_string(), "nothing is unfinished");
    let whole = user.document(&format!("profile {} --no-store", path.display()));
    assert!(tables(&document(&output)) == tables(&whole));
}

#[test]
fn a_trace_that_is_cut_or_replaced_is_read_again_with_a_sentence() {
    for is_replaced in [false, true] {
        let user = User::new();
        let path = trace(&user);
        write(&path, &SHOP.repeat(2));
        let child = followed(&user, &path, "--follow=600s");
        wait_for_look(child.id(), 2 * SHOP.len());
        let before = waiting::bytes_read(child.id());
        if is_replaced {
            fs::rename(&path, path.with_extension("old")).unwrap();
            write(&path, SHOP);
        } else {
            fs::write(&path, SHOP).unwrap();
        }
        waiting::until_read(child.id(), before + SHOP.len() as u64);
        wait_for_look(child.id(), SHOP.len());
        let output = interrupted(child);
        assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
        let again = document(&output);
        assert!(ids(&again).contains(&"followed-anew"), "{:?}", ids(&again));
        let whole = user.document(&format!("profile {} --no-store", path.display()));
        assert!(tables(&again) == tables(&whole), "replaced: {is_replaced}");
    }
}

#[test]
fn a_trace_without_a_call_yet_is_waited_for_and_a_removed_one_keeps_its_page() {
    let user = User::new();
    let path = trace(&user);
    write(&path, b"Trace file /var/oracle/diag/shop_ora_4711.trc\n");
    let child = followed(&user, &path, "--follow=600s");
    wait_for_look(child.id(), 0);
    let before = waiting::bytes_read(child.id());
    write(&path, SHOP);
    waiting::until_read(child.id(), before + SHOP.len() as u64);
    wait_for_look(child.id(), SHOP.len());
    fs::remove_file(&path).unwrap();
    wait_for_look(child.id(), SHOP.len());
    let output = interrupted(child);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    assert!(document(&output)["cases"].as_array().unwrap().len() > 30);
    let empty = user.home.path().join("empty.trc");
    write(&empty, b"");
    let output = followed(&user, &empty, "--follow=1s").wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", complaint(&output));
    assert!(complaint(&output).contains("no call and no wait"), "{}", complaint(&output));
}

#[test]
fn an_interrupt_hides_not_that_a_file_is_missing_or_empty() {
    let user = User::new();
    let (missing, empty) = (user.home.path().join("nosuch"), user.home.path().join("empty.trc"));
    write(&empty, b"");
    for (path, reason) in [(missing, "nosuch could not be read: No such file"), (empty, "no call and no wait")] {
        let child = followed(&user, &path, "--follow=600s");
        waiting::until_signals_are_handled(child.id());
        // It was looked at once or twice.
        thread::sleep(2 * LOOK);
        let output = interrupted(child);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", complaint(&output));
        assert!(complaint(&output).contains(reason), "{}", complaint(&output));
        assert!(!complaint(&output).contains("interrupted"), "{}", complaint(&output));
    }
}

#[test]
fn what_can_only_be_read_as_a_whole_is_followed_and_says_so() {
    let user = User::new();
    let (path, other) = (trace(&user), user.home.path().join("other.trc"));
    write(&path, SHOP);
    write(&other, &SHOP[..30_000]);
    // It ends by itself: one that is interrupted while it reads all again shows the page before.
    let child = followed(&user, &path, &format!("{} --follow=12s", other.display()));
    waiting::until_read(child.id(), (SHOP.len() + 30_000) as u64);
    thread::sleep(LOOK);
    write(&other, &SHOP[30_000..]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let again = document(&output);
    assert!(ids(&again).contains(&"followed-whole"), "{:?}", ids(&again));
    let whole = user.document(&format!("profile {} {} --no-store", path.display(), other.display()));
    assert!(tables(&again) == tables(&whole));
    assert!(user.refused("profile - --follow", 2).contains("standard input"));
}

const LOG: &[u8] = b"2026-11-21 10:45:01.004 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:\n\
    \t{\"Query Text\": \"select 1\", \"Plan\": {\"Node Type\": \"Result\"}}\n";

#[test]
fn an_empty_file_that_becomes_a_server_log_is_followed_as_one() {
    let user = User::new();
    let path = user.home.path().join("postgresql.log");
    write(&path, b"");
    let child = followed(&user, &path, "--follow=12s");
    until_open(child.id(), &path);
    write(&path, LOG);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let grown = document(&output);
    assert!(ids(&grown).contains(&"followed-whole"), "{:?}", ids(&grown));
    let whole = user.document(&format!("profile {} --no-store", path.display()));
    assert!(tables(&grown) == tables(&whole), "the tables differ");
}

#[test]
fn an_empty_file_that_becomes_a_trace_is_not_read_as_a_whole_where_a_part_of_it_was_asked_for() {
    let user = User::new();
    let path = trace(&user);
    write(&path, b"");
    let child = followed(&user, &path, "--from -5m --follow=60s");
    until_open(child.id(), &path);
    write(&path, SHOP);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{}", complaint(&output));
    assert!(complaint(&output).contains("--from has no effect here"), "{}", complaint(&output));
}

/// Waits until a process follows an empty file.
fn until_open(process: u32, path: &Path) {
    let file = path.canonicalize().unwrap();
    let folder = format!("/proc/{process}/fd");
    let is_open = || fs::read_dir(&folder).is_ok_and(|open| open.flatten().any(|open| links_to(&open.path(), &file)));
    waiting::until("the empty file is open", is_open);
}

fn links_to(link: &Path, file: &Path) -> bool {
    fs::read_link(link).is_ok_and(|target| target == file)
}

#[test]
fn what_is_waited_for_is_told_where_the_page_goes_to_a_file() {
    let user = User::new();
    let path = trace(&user);
    write(&path, SHOP);
    let page = user.home.path().join("page");
    let words = format!("profile {} --follow=3s --no-store > {}", path.display(), page.display());
    let Some(script) = terminal::begin(&user, &words) else { return };
    let output = script.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("waiting for more of "), "{told}");
    assert!(fs::read_to_string(page).unwrap().contains("where the time went"), "{told}");
}

#[test]
fn a_terminal_has_one_page_in_place_of_the_other_and_the_whole_once_at_the_end() {
    let user = User::new();
    let path = trace(&user);
    write(&path, SHOP);
    let words = format!("profile {} --follow=600s --no-store", path.display());
    let Some(script) = terminal::begin(&user, &words) else { return };
    let readpath = first_child(script.id()).expect("a shell that becomes readpath");
    for _ in 0..2 {
        wait_for_look(readpath, SHOP.len());
        write(&path, SHOP);
    }
    wait_for_look(readpath, SHOP.len());
    interrupt(readpath);
    let screen = terminal::Screen::of(script);
    let whole = user.ok(&format!("profile {} --no-store", path.display()));
    screen.check(whole.lines().count());
}
