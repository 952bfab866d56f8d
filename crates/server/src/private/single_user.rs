//! Statements in single-user mode under valgrind: the instructions that a backend executes for them, where the
//! processor's counters are not available.
//!
//! The backend is the same program as behind a connection, without the server around it. Only user mode is counted,
//! exactly. What is counted is everything from the first instruction to the last: one statement's cost is the
//! difference of two counts, with it and without it.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::process::Signal;
use sys::process::bind;
use sys::valgrind::{Callgrind, Part, Simulated};

use super::error::PrivateServerError;
use super::room::give;
use super::running::PrivateServer;

/// The user's variables that would change what the backend does.
const FOREIGN: [&str; 4] = ["PGDATA", "PGOPTIONS", "PGPORT", "VALGRIND_OPTS"];

/// The result of statements in single-user mode.
#[derive(Clone, Debug)]
pub struct CountedStatements {
    /// What was counted and simulated, from the backend's first instruction to its last.
    pub simulated: Simulated,
    /// What the backend printed: each row's columns as ` 1: name = "value"`.
    pub output: String,
}

impl PrivateServer {
    /// Runs statements, one after the other, in single-user mode under valgrind, and counts. It stops a running
    /// server first, because only one may use the files; [`PrivateServer::restart`] starts it again.
    ///
    /// The settings of the last start hold. Errors where a statement fails, where valgrind is not there, and where
    /// it takes longer than `limit`.
    pub fn count_statements(
        &mut self,
        statements: &[&str],
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<CountedStatements, PrivateServerError> {
        self.stop(stop)?;
        let room = self.room.path().to_path_buf();
        let (script, mut messages) = (self.room.file("statements")?, self.room.file("messages")?);
        (&script).write_all(lines(statements).as_bytes()).map_err(PrivateServerError::at(&room))?;
        let mut words = vec![self.installation.programs().join("postgres").into_os_string()];
        words.extend(["--single", "-D", "data"].map(Into::into));
        words.extend(self.settings.arguments().into_iter().map(Into::into));
        words.push("postgres".into());
        let last_cache = None;
        let callgrind = Callgrind { words: &words, part: Part::Whole, scratch: &room, limit: Some(limit), last_cache };
        let prepare = |command: &mut Command, folder: &Path| self.prepare(command, folder, &script, &messages);
        let counted = callgrind.run_prepared(Stdio::piped(), stop, prepare)?;
        let mut said = Vec::new();
        messages.rewind().and_then(|()| messages.read_to_end(&mut said)).map_err(PrivateServerError::at(&room))?;
        if let Some(complaint) = complaint(&String::from_utf8_lossy(&said)) {
            return Err(PrivateServerError::SingleUser(complaint));
        }
        if !counted.ended.status.success() {
            return Err(PrivateServerError::SingleUser(counted.ended.status.to_string()));
        }
        let output = String::from_utf8_lossy(&counted.output).into_owned();
        Ok(CountedStatements { simulated: counted.simulated, output })
    }

    /// Gives the folder and the input to the account that the backend runs as.
    fn prepare(&self, command: &mut Command, folder: &Path, script: &File, messages: &File) -> io::Result<()> {
        if let Some(account) = self.account {
            give(folder, account)?;
        }
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").env("TZ", "UTC").current_dir(self.room.path());
        let mut input = script.try_clone()?;
        input.rewind()?;
        messages.set_len(0)?;
        command.stdin(input).stderr(messages.try_clone()?);
        // This thread waits for its end, so that it cannot end before.
        bind(command, self.account, Signal::KILL);
        Ok(())
    }
}

/// One statement a line, which is where a statement ends in single-user mode.
fn lines(statements: &[&str]) -> String {
    statements.iter().map(|statement| statement.replace('\n', " ") + "\n").collect()
}

/// The first line in which the backend complains.
fn complaint(messages: &str) -> Option<String> {
    let marks = ["ERROR:", "FATAL:", "PANIC:"];
    messages.lines().find_map(|line| marks.iter().find_map(|mark| Some(line[line.find(mark)?..].to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_on_many_lines_stays_one_statement() {
        assert_eq!(lines(&["SELECT 1\n+ 1", "SELECT 2"]), "SELECT 1 + 1\nSELECT 2\n");
    }

    #[test]
    fn a_failure_is_found_among_messages() {
        let messages = "2026 [1] LOG:  starting\n2026 [1] ERROR:  relation \"x\" does not exist at character 15\n";
        assert_eq!(complaint(messages).unwrap(), "ERROR:  relation \"x\" does not exist at character 15");
        assert_eq!(complaint("2026 LOG: no\n"), None);
    }
}
