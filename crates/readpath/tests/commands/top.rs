//! `readpath top` on a real terminal: what it draws, and how it leaves the terminal on every way out.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use trial::Trial;

use crate::user::User;
use crate::waiting;

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

/// Calls `readpath top` in a terminal of 80 columns and 24 lines of its own, types these keys, each once the screen was
/// drawn again, and then sends the signal. `None` where there is no program that makes a terminal.
fn on_a_terminal(user: &User, words: &str, keys: &[&[u8]], signal: Option<Signal>) -> Option<Terminal> {
    let program = env!("CARGO_BIN_EXE_readpath");
    let line = format!(
        "stty rows 24 cols 80; stty -g > before; sh -c 'echo $$ > pid; exec {program} top {words}'; echo ended \
         with $?; stty -g > after"
    );
    let mut script = terminal(user, &line)?;
    let mut keyboard = script.stdin.take().unwrap();
    let read = |name: &str| {
        let bytes = fs::read(user.home.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let mut length = 0;
    let mut wait_until_drawn = || {
        waiting::until("the screen is drawn", || {
            let written = read("typescript");
            written.contains("1 statements") && written.len() > length
        });
        length = read("typescript").len();
    };
    for key in keys {
        wait_until_drawn();
        keyboard.write_all(key).unwrap();
    }
    if let Some(signal) = signal {
        wait_until_drawn();
        let process = read("pid").trim().parse().ok().and_then(Pid::from_raw);
        kill_process(process.unwrap(), signal).unwrap();
    }
    assert!(waiting::end_of(&mut script, "top on a terminal").success());
    drop(keyboard);
    Some(Terminal { written: read("typescript"), settings: [read("before"), read("after")] })
}

impl Terminal {
    /// Whether the page before is back, the cursor is shown, and keys are echoed as before.
    fn is_as_before(&self) -> bool {
        let (left, shown) = (self.written.rfind("\u{1b}[?1049l"), self.written.rfind("\u{1b}[?25h"));
        let taken = self.written.rfind("\u{1b}[?1049h");
        let [before, after] = &self.settings;
        left > taken && shown > taken && before == after && !before.is_empty()
    }
}

/// Keys that are typed one after the other, the signal that is sent then, and how the program ends.
type Way = (&'static [&'static [u8]], Option<Signal>, &'static str);

#[test]
fn every_way_out_leaves_the_terminal_as_it_was() {
    let Some(trial) = Trial::start(&[]) else { return };
    let words = format!("--on {}", trial.url());
    let ways: [Way; 4] = [
        (&[b"2", b"q"], None, "ended with 0"),
        (&[b"\x03"], None, "ended with 0"),
        (&[], Some(Signal::TERM), "ended with 143"),
        // Alt+[ is how a sequence begins that never ends.
        (&[b"\x1b["], Some(Signal::TERM), "ended with 143"),
    ];
    for (keys, signal, ending) in ways {
        let user = User::new();
        let Some(terminal) = on_a_terminal(&user, &words, keys, signal) else { return };
        assert!(terminal.is_as_before(), "{keys:?} {signal:?}: {}", terminal.written);
        assert!(terminal.written.contains(ending), "{keys:?} {signal:?}: {}", terminal.written);
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

/// What keeps a terminal, until it is dropped.
struct Keeper(Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Waits until a file of the user's home has this part, and gives its text.
fn wait_for_part(user: &User, name: &str, part: &str) -> String {
    let begun = Instant::now();
    loop {
        let bytes = fs::read(user.home.path().join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.contains(part) {
            return text;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no {part:?} in {name}: {text}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Writes to a terminal that is not read until it takes nothing.
fn fill(terminal: &str) {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let mut terminal = File::options().write(true).custom_flags(flags).open(terminal).unwrap();
    // The kernel makes some room when it passes on what was written.
    for _ in 0..20 {
        while terminal.write(&[b' '; 512]).is_ok_and(|written| written > 0) {}
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_second_signal_ends_it_also_where_the_terminal_takes_nothing() {
    let Some(trial) = Trial::start(&[]) else { return };
    let (user, program, url) = (User::new(), env!("CARGO_BIN_EXE_readpath"), trial.url());
    let top = format!("sh -c 'echo $$ > pid; exec {program} top --on {url}'");
    let line =
        format!("stty rows 24 cols 80; stty -g > before; tty > tty; {top}; echo ended with $? > end; stty -g > after");
    let Some(script) = terminal(&user, &line) else { return };
    let keeper = Keeper(script);
    wait_for_part(&user, "typescript", "1 statements");
    // What reads the terminal stops, as a connection does that hangs; then a page of the next seconds waits.
    kill_process(Pid::from_child(&keeper.0), Signal::STOP).unwrap();
    fill(wait_for_part(&user, "tty", "\n").trim());
    thread::sleep(Duration::from_millis(1500));
    let process: i32 = wait_for_part(&user, "pid", "\n").trim().parse().unwrap();
    for _ in 0..2 {
        // Signals within a second are one wish.
        kill_process(Pid::from_raw(process).unwrap(), Signal::TERM).unwrap();
        thread::sleep(Duration::from_millis(1500));
    }
    assert_eq!(wait_for_part(&user, "end", "\n"), "ended with 143\n");
    let [before, after] = ["before", "after"].map(|name| wait_for_part(&user, name, "\n"));
    assert_eq!(before, after, "the modes of the terminal are given back");
}

#[test]
fn a_signal_while_it_waits_for_its_server_ends_it_as_an_interruption() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (user, program) = (User::new(), env!("CARGO_BIN_EXE_readpath"));
    let port = listener.local_addr().unwrap().port();
    let url = format!("postgres://dba:pw@127.0.0.1:{port}/shop?connect_timeout=600");
    let line = format!("sh -c 'echo $$ > pid; exec {program} top --on {url}'; echo ended with $? > end");
    let Some(script) = terminal(&user, &line) else { return };
    let _keeper = Keeper(script);
    // The server accepts, and never answers.
    let mut held = None;
    waiting::until("top connects", || {
        held = listener.accept().ok();
        held.is_some()
    });
    let process: i32 = wait_for_part(&user, "pid", "\n").trim().parse().unwrap();
    kill_process(Pid::from_raw(process).unwrap(), Signal::TERM).unwrap();
    assert_eq!(wait_for_part(&user, "end", "\n"), "ended with 143\n");
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
fn a_service_that_no_file_defines_gets_the_same_answer_from_each_command() {
    let user = User::new();
    let on = "--on postgres://localhost/x?service=nowhere";
    let said = user.refused(&format!("top {on}"), 2);
    assert!(said.contains("cannot be completed: no service file defines the service nowhere."), "{said}");
    let measuring = ["lio", "scan", "join", "roundtrip", "calibrate", "lio --dry-run"];
    for command in ["record --to recording", "profile", "clean", "clean --dry-run"].into_iter().chain(measuring) {
        assert_eq!(user.refused(&format!("{command} {on}"), 2), said, "{command}");
    }
    let of_environment = user.command("lio --on postgres://localhost/x").env("PGSERVICE", "nowhere").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&of_environment.stderr), said);
    assert_eq!(of_environment.status.code(), Some(2));
    user.file("a.toml", b"[lio]\non = 'postgres://localhost/x?service=nowhere'\n");
    assert!(user.refused("run a.toml", 2).contains("a.toml:1: postgres://localhost/x cannot be completed"));
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
