//! pg_activity: a page on a terminal, which `script` makes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use measure::quantity::counted;

use super::program::{Asked, Beside, Running, folder, version_of};
use crate::private_postgres::PrivatePostgres;
use crate::sampling::profiler::{Profiler, Seen, UnderWay};

/// Where it writes the statements that run.
const FILE: &str = "running.csv";

/// Words that stand once on each page that it draws.
const ONCE_A_PAGE: &str = "Duration mode";

/// The program.
pub(super) struct Activity {
    pub(super) program: Result<PathBuf, String>,
}

impl Profiler for Activity {
    fn name(&self) -> &'static str {
        "pg_activity, every 2 s"
    }

    fn version(&self, _: &PrivatePostgres) -> Result<Option<String>, String> {
        version_of(&self.program.clone()?).map(Some)
    }

    fn begin(&self, server: &PrivatePostgres, _: u64) -> Result<Box<dyn UnderWay>, String> {
        let socket = server.connect()?.value("SHOW unix_socket_directories")?;
        let (program, folder) = (self.program.clone()?, folder()?);
        let file = folder.path().join(FILE);
        let line = format!(
            "stty rows 50 cols 200; exec '{}' --host='{socket}' --port=5432 --username=postgres --dbname=postgres \
             --output='{}'",
            program.display(),
            file.display()
        );
        let mut command = Command::new("script");
        command.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        let running = Running::start("pg_activity", command, folder)?;
        Ok(Box::new(Beside { running, asked: Asked::Key(b'q'), application: Some("pg_activity"), seen }))
    }
}

fn seen(running: &Running, elapsed: f64) -> Result<Seen, String> {
    let csv = fs::read(running.folder().join(FILE)).unwrap_or_default();
    let looks = running.output().matches(ONCE_A_PAGE).count() as f64;
    Ok(Seen { rate: Some(looks / elapsed), shown: shown(&String::from_utf8_lossy(&csv)) })
}

/// What the rows say, one for each session that ran a statement at a look.
fn shown(csv: &str) -> String {
    let mut lines = csv.lines().map(|line| line.split(';').map(|cell| cell.trim_matches('"')).collect::<Vec<_>>());
    let place = lines.next().and_then(|heads| heads.iter().position(|head| *head == "wait"));
    let (mut rows, mut waiting) = (0, 0);
    for row in lines {
        rows += 1;
        waiting += usize::from(place.is_some_and(|place| row.get(place) == Some(&"Y")));
    }
    format!("{} that ran at its looks, {waiting} of them waiting", counted(rows, "statement", "statements"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_runs_is_not_one_that_waits() {
        let csv =
            "datetimeutc;pid;wait;query\n\"1\";\"7\";\"N\";\"a\"\n\"1\";\"8\";\"Y\";\"b\"\n\"3\";\"7\";\"N\";\"a\"\n";
        assert_eq!(shown(csv), "3 statements that ran at its looks, 1 of them waiting");
        assert_eq!(shown(""), "0 statements that ran at its looks, 0 of them waiting");
    }
}
