//! pg_wait_tracer: samples of the server's memory, or every change of what a session waits for.

use std::path::PathBuf;
use std::process::Command;

use super::program::{Asked, Beside, Running, folder};
use crate::private_postgres::PrivatePostgres;
use crate::sampling::profiler::{Profiler, Seen, UnderWay};

/// The contenders.
pub(crate) const SAMPLED: &str = "pg_wait_tracer, 10 a second";
pub(crate) const EXACT: &str = "pg_wait_tracer, every change";

/// How long it goes on besides the seconds of the load.
const AROUND: u64 = 5;

/// The program in one of its modes. Only the socket that it opens beside a recording says its version.
pub(super) struct WaitTracer {
    name: &'static str,
    mode: &'static str,
    program: Result<PathBuf, String>,
}

impl WaitTracer {
    /// Its samples, at its usual rate.
    pub(super) fn sampled(program: Result<PathBuf, String>) -> WaitTracer {
        WaitTracer { name: SAMPLED, mode: "--mode=sampled", program }
    }

    /// All changes, all the time.
    pub(super) fn exact(program: Result<PathBuf, String>) -> WaitTracer {
        WaitTracer { name: EXACT, mode: "--mode=full", program }
    }
}

impl Profiler for WaitTracer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn begin(&self, server: &PrivatePostgres, seconds: u64) -> Result<Box<dyn UnderWay>, String> {
        let process = server.first_process(&mut server.connect()?)?;
        let mut command = Command::new(self.program.clone()?);
        // One page over all the time.
        command.args([self.mode, "--view=system_event", "--format=text", "--count=1"]);
        command.arg(format!("--pid={process}")).arg(format!("--interval={}", seconds + AROUND));
        Ok(Box::new(Beside {
            running: Running::start("pg_wait_tracer", command, folder()?)?,
            asked: Asked::Not,
            application: None,
            seen: |running, _| Ok(Seen { rate: None, shown: shown(&running.output()) }),
        }))
    }
}

/// What took most of its DB time, of the table that it prints: names, counts, and the share last. Rows of idle waits
/// have no share.
fn shown(page: &str) -> String {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, count, .., share] = words.as_slice() else { return None };
        let count: u64 = count.parse().ok()?;
        share.ends_with('%').then(|| (name.to_string(), count, share.to_string()))
    };
    let rows: Vec<_> = page.lines().filter_map(row).collect();
    let all: u64 = rows.iter().map(|(_, count, _)| count).sum();
    match rows.first() {
        None => "nothing but idle waits".into(),
        Some((name, count, share)) => format!("{count} of {all} counts are {name}, {share} of its DB time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_shows_first_is_what_took_most_time() {
        let page = "pg_wait_tracer — System Events    Backends: 9    Interval: 7s\n\
                    \n  Wait Event  Total Waits  Total (ms)  Avg (us)  Max (us)  % DB\n\
                    \n  Client:ClientRead  149  15294.6  102648.6  108815.5  —\n\
                    \n  Lock:transactionid  20  1500.0  75000.0  90000.0  60.0%\n  CPU*  5  10.0  2000.0  1 0.4%\n";
        assert_eq!(shown(page), "20 of 25 counts are Lock:transactionid, 60.0% of its DB time");
        assert_eq!(shown("  (no data yet)\n"), "nothing but idle waits");
    }
}
