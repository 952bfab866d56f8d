//! Options whose effect no run document shows: less is said, or more threads do the same.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use super::{LITERALS, LOG};
use crate::user::{User, complaint};
use crate::waiting;

/// A trace that is longer than one chunk of the reader.
const TRACE: &[u8] = include_bytes!("../../traces/shop_ora_4711.trc");

/// Threads of a profile that has read most of a long trace and waits for its rest.
fn threads(words: &str) -> usize {
    let user = User::new();
    let mut child = user.command(&format!("profile - --no-store {words}")).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // The pipe holds little: what was written is read.
    (0..(4 << 20) / TRACE.len()).for_each(|_| input.write_all(TRACE).unwrap());
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().count();
    drop(input);
    assert!(child.wait_with_output().unwrap().status.success());
    threads
}

#[test]
fn as_many_threads_read_a_trace_as_are_asked_for() {
    let alone = threads("--workers 1");
    assert_eq!([threads("--workers 2"), threads("--workers 5")], [alone + 1, alone + 4]);
}

#[test]
fn progress_that_a_terminal_shows_is_silenced_by_quiet() {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: script of util-linux is not installed, which gives a command a terminal");
        return;
    }
    let user = User::new();
    fs::write(user.home.path().join("shop.trc"), TRACE).unwrap();
    let home = user.home.path().display();
    for words in ["null --cases 1".into(), "join --rows 2000 --repeat 1".into(), format!("profile {home}/shop.trc")] {
        let said = |more: &str| {
            let own = user.command("");
            let line = format!("{} {words} {more} > {home}/page", own.get_program().display());
            let mut script = Command::new("script");
            script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env_clear();
            script
                .env("HOME", user.home.path())
                .env("TERM", "xterm")
                .env("PATH", "/usr/bin:/bin")
                .env("SHELL", "/bin/sh");
            let output = script.stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stdout));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(!said("").is_empty(), "{words}: no progress on a terminal");
        assert_eq!(said("--quiet"), "", "{words}");
    }
}

#[test]
fn what_is_written_to_a_followed_file_or_folder_is_on_the_page() {
    let user = User::new();
    let home = user.home.path();
    fs::create_dir(home.join("logs")).unwrap();
    let all = [("a.trc", "a.trc", LITERALS), ("logs/server.log", "logs", LOG)];
    // Side by side: each waits for more for twelve seconds.
    let begun = all.map(|(file, followed, text)| {
        let long = text.repeat((1 << 20) / text.len());
        fs::write(home.join(file), &long).unwrap();
        let words = format!("profile {} --follow=12s --no-store --format json", home.join(followed).display());
        (user.command(&words).spawn().unwrap(), long.len() as u64)
    });
    for ((file, _, text), (child, bytes)) in all.iter().zip(&begun) {
        waiting::until_read(child.id(), *bytes);
        let late =
            text.replace("orders", "latecomers").replace("aaaaaaaaaaaaa", "ccccccccccccc").replace(": 11,", ": 31,");
        File::options().append(true).open(home.join(file)).unwrap().write_all(late.as_bytes()).unwrap();
    }
    for ((file, ..), (child, _)) in all.iter().zip(begun) {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{file}: {}", complaint(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("from latecomers"), "{file} is not read again");
    }
}
