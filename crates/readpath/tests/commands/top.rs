//! `readpath top` on a real terminal: what it draws, and how it leaves the terminal on every way out.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use trial::Trial;

use crate::user::User;

/// What a terminal was sent.
struct Terminal {
    /// Everything that was written to it.
    written: String,
    /// Its settings before and after.
    settings: [String; 2],
}

/// Begins a command line in a terminal of its own. `None` where there is no program that makes one.
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn terminal(user: &User, line: &str) -> Option<Child> {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: there is no program script (util-linux) that makes a terminal");
        return None;
    }
    let mut command = Command::new("script");
    command.args(["--quiet", "--flush", "--return", "--command", line, "typescript"]);
    command.current_dir(user.home.path()).env("HOME", user.home.path()).env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command.spawn().unwrap())
}

/// Calls `readpath top` in a terminal of 80 columns and 24 lines of its own, with these words before it, and types
/// these keys, each after a pause. `None` where there is no program that makes a terminal.
fn on_a_terminal(user: &User, before: &str, words: &str, keys: &[&[u8]]) -> Option<Terminal> {
    let program = env!("CARGO_BIN_EXE_readpath");
    let line = format!(
        "stty rows 24 cols 80; stty -g > before; {before} {program} top {words}; echo ended with $?; stty -g > after"
    );
    let mut script = terminal(user, &line)?;
    let mut keyboard = script.stdin.take().unwrap();
    for key in keys {
        thread::sleep(Duration::from_millis(2500));
        keyboard.write_all(key).unwrap();
    }
    assert!(script.wait().unwrap().success());
    drop(keyboard);
    let read = |name: &str| String::from_utf8_lossy(&fs::read(user.home.path().join(name)).unwrap()).into_owned();
    Some(Terminal { written: read("typescript"), settings: [read("before"), read("after")] })
}

impl Terminal {
    /// Whether the page before is back, the cursor is shown, and keys are echoed as before.
    fn is_as_before(&self) -> bool {
        let (left, shown) = (self.written.rfind("\u{1b}[?1049l"), self.written.rfind("\u{1b}[?25h"));
        let taken = self.written.rfind("\u{1b}[?1049h");
        left > taken && shown > taken && self.settings[0] == self.settings[1]
    }
}

#[test]
fn every_way_out_leaves_the_terminal_as_it_was() {
    let Some(trial) = Trial::start(&[]) else { return };
    let words = format!("--on {}", trial.url());
    let ways: [(&str, &[&[u8]], &str); 4] = [
        ("", &[b"2", b"q"], "ended with 0"),
        ("", &[b"\x03"], "ended with 0"),
        ("timeout --foreground -s TERM 4", &[], "ended with 124"),
        // Alt+[ is how a sequence begins that never ends.
        ("timeout --foreground --kill-after=5 -s TERM 6", &[b"\x1b["], "ended with 124"),
    ];
    for (before, keys, ending) in ways {
        let user = User::new();
        let Some(terminal) = on_a_terminal(&user, before, &words, keys) else { return };
        assert!(terminal.is_as_before(), "{before} {keys:?}: {}", terminal.written);
        assert!(terminal.written.contains(ending), "{before} {keys:?}: {}", terminal.written);
        assert!(terminal.written.contains("1 statements"), "{}", terminal.written);
    }
    trial.wait_for("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'readpath'", "0");
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    let Some(trial) = Trial::start(&[]) else { return };
    let words = format!("--on {}", trial.url());
    let mine = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'readpath'";
    // A dropped connection, and one whose SIGHUP is ignored.
    for before in ["exec", "trap '' HUP; exec"] {
        let user = User::new();
        let Some(mut script) = terminal(&user, &format!("{before} {} top {words}", env!("CARGO_BIN_EXE_readpath")))
        else {
            return;
        };
        trial.wait_for(mine, "t");
        // The program that keeps the terminal is gone, and the terminal with it.
        script.kill().unwrap();
        script.wait().unwrap();
        trial.wait_for(mine, "f");
    }
}

#[test]
fn where_it_cannot_draw_or_has_no_server_it_says_what_to_do() {
    let user = User::new();
    let refused = |words: &str| user.refused(words, 2);
    let no_terminal = refused("top --on postgres://localhost/x");
    assert!(no_terminal.contains("needs a terminal that it can draw on: standard output is not a terminal"));
    assert!(no_terminal.contains("`readpath profile --on postgres://"), "{no_terminal}");
    assert!(refused("top --on postgres:18").contains("readpath profile --on postgres:18 -- COMMAND"));
    assert!(refused("top --on postgres://localhost/x --rate 5000").contains("from 1 to 2000"));
    assert!(user.ok("top --on postgres://localhost/x --dry-run").contains("pg_stat_activity"));
}

#[test]
fn a_word_that_names_no_running_server_gets_the_same_answer_from_each_command_that_watches_one() {
    let user = User::new();
    for word in ["postgres:18", "postgres:/usr/lib/postgresql/15", "postgres:x", "localhost", "postgres://h:99999/x"] {
        let [of_top, of_record] =
            ["top", "record --to recording"].map(|command| user.refused(&format!("{command} --on {word}"), 2));
        assert_eq!(of_top, of_record, "{word}");
        assert!(of_top.contains("@HOST:PORT/DATABASE"), "{of_top}");
    }
}
