//! pgbench: the load that a profiler must not slow down.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sys::process::{BoundChild, Signal};

use crate::installed;
use crate::private_postgres::PrivatePostgres;
use crate::program::{argv, output_of};

/// Threads of pgbench itself.
const THREADS: u64 = 2;

/// Longer than any contest, in seconds.
const A_DAY: u64 = 86_400;

/// pgbench, for one server.
pub(crate) struct Load {
    program: PathBuf,
    url: String,
}

impl Load {
    /// The program beside the server's; archives of servers have none, and then it is that of the newest installed one.
    pub(crate) fn new(programs: &Path, server: &PrivatePostgres) -> Result<Load, String> {
        let beside = programs.join("pgbench");
        let program = if beside.is_file() { beside } else { installed::newest_installed()?.programs().join("pgbench") };
        Ok(Load { program, url: server.url() })
    }

    /// Makes the tables, the largest of this many 100,000 rows.
    pub(crate) fn make_tables(&self, scale: u64) -> Result<(), String> {
        let scale = format!("--scale={scale}");
        self.pgbench(&["--initialize", "--quiet", &scale].map(String::from)).map(drop)
    }

    /// Selects for some seconds, as fast as it goes; transactions a second, without the time to connect.
    pub(crate) fn select(&self, clients: u64, seconds: u64) -> Result<f64, String> {
        rate_of(&self.pgbench(&selecting(clients, seconds))?)
    }

    /// Runs a script for some seconds, as fast as it goes; transactions a second, without the time to connect.
    pub(crate) fn run_script(&self, script: &Path, clients: u64, seconds: u64) -> Result<f64, String> {
        let mut words = argv(["--no-vacuum".to_string(), format!("--file={}", script.display())]);
        words.extend(of_all(clients, seconds));
        rate_of(&self.pgbench(&words)?)
    }

    /// Selects until it is dropped, with this many transactions a second.
    pub(crate) fn begin(&self, clients: u64, rate: u64) -> Result<BoundChild, String> {
        let mut command = Command::new(&self.program);
        command.args(selecting(clients, A_DAY)).arg(format!("--rate={rate}")).arg(&self.url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        BoundChild::spawn(command, None, Signal::KILL)
            .map_err(|error| format!("{} could not be started: {error}", self.program.display()))
    }

    fn pgbench(&self, words: &[String]) -> Result<String, String> {
        let mut command = vec![self.program.display().to_string()];
        command.extend(words.iter().cloned());
        command.push(self.url.clone());
        output_of(&command)
    }
}

/// The words of a load that only selects.
fn selecting(clients: u64, seconds: u64) -> Vec<String> {
    let mut words = argv(["--select-only", "--no-vacuum"]);
    words.extend(of_all(clients, seconds));
    words
}

/// The words of every load.
fn of_all(clients: u64, seconds: u64) -> [String; 3] {
    [format!("--client={clients}"), format!("--jobs={}", THREADS.min(clients)), format!("--time={seconds}")]
}

/// The transactions a second that pgbench printed.
fn rate_of(output: &str) -> Result<f64, String> {
    let figures = output.lines().filter_map(|line| line.strip_prefix("tps = "));
    let rate = figures.filter_map(|rest| rest.split(' ').next()?.parse().ok()).next_back();
    rate.filter(|rate: &f64| *rate > 0.0).ok_or_else(|| format!("pgbench printed no rate: {}", output.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_without_the_time_to_connect_counts() {
        // Before 14 both stand there, the one that counts last.
        let old =
            "tps = 850.1 (including connections establishing)\ntps = 852.3 (excluding connections establishing)\n";
        assert_eq!(rate_of(old), Ok(852.3));
        assert_eq!(rate_of("latency average = 0.3 ms\ntps = 41234.5 (without initial connection time)\n"), Ok(41234.5));
    }

    #[test]
    fn a_load_that_did_nothing_is_no_load() {
        assert!(rate_of("tps = 0.000000 (without initial connection time)").is_err());
        assert!(rate_of("pgbench: error: connection failed").is_err());
    }
}
