//! pgcenter: `record` writes the server's statistics to a file every second.

use std::path::PathBuf;
use std::process::Command;

use sys::process::Signal;

use super::program::{Asked, Beside, Running, folder, version_of};
use crate::private_postgres::PrivatePostgres;
use crate::program::{argv, output_of};
use crate::sampling::profiler::{Profiler, Seen, UnderWay};

/// Where it writes.
const FILE: &str = "stat.tar";

/// The program.
pub(super) struct Pgcenter {
    pub(super) program: Result<PathBuf, String>,
}

impl Profiler for Pgcenter {
    fn name(&self) -> &'static str {
        "pgcenter record, every second"
    }

    fn version(&self, _: &PrivatePostgres) -> Result<Option<String>, String> {
        version_of(&self.program.clone()?).map(Some)
    }

    fn begin(&self, server: &PrivatePostgres, _: u64) -> Result<Box<dyn UnderWay>, String> {
        let socket = server.connect()?.value("SHOW unix_socket_directories")?;
        let folder = folder()?;
        let mut command = Command::new(self.program.clone()?);
        command.args(["record", "--interval=1s", "--port=5432", "--username=postgres", "--dbname=postgres"]);
        command.arg(format!("--host={}", parameter(&socket))).arg("--file").arg(folder.path().join(FILE));
        let running = Running::start("pgcenter", command, folder)?;
        // It has a session of its own for each look, which ends with it.
        Ok(Box::new(Beside { running, asked: Asked::Signal(Signal::INT), application: None, seen }))
    }
}

fn seen(running: &Running, elapsed: f64) -> Result<Seen, String> {
    let file = running.folder().join(FILE).display().to_string();
    let files = output_of(&argv(["tar".into(), "--list".into(), format!("--file={file}")]))?;
    let looks = looks_of(&files);
    let views = files.lines().count().checked_div(looks).unwrap_or(0);
    Ok(Seen { rate: Some(looks as f64 / elapsed), shown: format!("{views} views of statistics at each look") })
}

/// A value as it stands in the program's own list of parameters (`host=VALUE port=5432`), in which a blank ends one
/// without quotation marks.
fn parameter(value: &str) -> String {
    if !value.contains(' ') {
        return value.into();
    }
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// How often it looked at the sessions: a file each time.
fn looks_of(files: &str) -> usize {
    files.lines().filter(|name| name.starts_with("activity.")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_in_the_name_of_the_folder_of_the_socket_ends_no_value() {
        assert_eq!(parameter("/tmp/server"), "/tmp/server");
        assert_eq!(parameter("/tmp/it's a \\"), r"'/tmp/it\'s a \\'");
    }

    #[test]
    fn a_look_is_a_file_of_sessions() {
        assert_eq!(looks_of("meta.1.json\nactivity.1.json\nactivity.2.json\ndatabases_activity.1.json\n"), 2);
    }
}
