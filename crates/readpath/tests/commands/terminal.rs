//! A terminal of 80 columns and 24 lines that a command writes to, and what the terminal keeps of it.

use std::process::{Child, Command, Stdio};

use crate::user::User;

const ROWS: usize = 24;

/// Calls readpath with these words in a terminal. `None` where there is no program that makes one.
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
pub(crate) fn begin(user: &User, words: &str) -> Option<Child> {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: script of util-linux is not installed, which gives a command a terminal");
        return None;
    }
    let line = format!("stty rows {ROWS} cols 80; exec {} {words}", env!("CARGO_BIN_EXE_readpath"));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env_clear().env("HOME", user.home.path());
    script.env("TERM", "xterm").env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh").env("LANG", "C.UTF-8");
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    Some(script.spawn().unwrap())
}

/// What a terminal was sent, and what became of it.
pub(crate) struct Screen {
    written: String,
    /// Lines that left the screen at its top, which the terminal keeps.
    kept: usize,
    /// How often the cursor went up to a page's first line.
    rises: usize,
}

impl Screen {
    /// Waits for the end of the command, which must succeed.
    pub(crate) fn of(script: Child) -> Screen {
        let output = script.wait_with_output().unwrap();
        let written = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{written}");
        let (mut row, mut kept, mut rises) = (0, 0, 0);
        let mut rest = written.as_str();
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            if letter == '\n' && row + 1 == ROWS {
                kept += 1;
            } else if letter == '\n' {
                row += 1;
            } else if letter == '\u{1b}' && rest.starts_with('[') {
                let end = rest.find(|letter: char| letter.is_ascii_alphabetic()).unwrap();
                let up = rest[1..end].parse::<usize>().unwrap_or(1);
                match &rest[end..=end] {
                    "A" if up > row => panic!("it went beyond the top: {written}"),
                    "A" => (row, rises) = (row - up, rises + usize::from(up > 1)),
                    "H" => row = 0,
                    // So do terminals that keep what is cleared as a whole.
                    "J" if row == 0 => kept += ROWS,
                    _ => {}
                }
                rest = &rest[end + 1..];
            }
        }
        Screen { written, kept, rises }
    }

    /// The terminal keeps no more than the whole page of this number of lines, and a screenful above it.
    pub(crate) fn check(&self, lines: usize) {
        assert!(self.rises >= 4, "{} times: {}", self.rises, self.written);
        assert!(self.kept <= lines + ROWS, "{} lines were kept of a page of {lines}: {}", self.kept, self.written);
        assert!(self.written.contains("... the page continues"), "{}", self.written);
        let whole = self.written.rfind("... the page continues").map(|at| &self.written[at..]).unwrap_or_default();
        assert_eq!(whole.matches("where the time went").count(), 1, "{}", self.written);
    }
}
