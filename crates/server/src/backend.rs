//! The processor time of the process that serves a session, where that process runs on this machine.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use measure::Nanos;

use crate::error::ServerError;
use crate::session::Session;

/// How long the process may take to fall asleep after a statement. Only then does the scheduler add up its time.
const SLEEP_TIMEOUT: Duration = Duration::from_millis(20);
const ASKED_EVERY: Duration = Duration::from_micros(50);

/// A query that takes about ten milliseconds of processor time, and how much of that the account has to show: a process
/// with the right number in another container would show none. A function in FROM would write its rows to a temporary
/// file, which a role may not be allowed.
const WORK: &str = "SELECT count(*) FROM (SELECT generate_series(1, 100000)) AS numbers";
const WORK_AT_LEAST: Nanos = Nanos::from_millis(1);

/// How processor times are obtained, for the documents.
pub const SOURCE: &str = "scheduler's account of the backend (/proc/PID/schedstat)";

/// The account of one process.
#[derive(Clone, Copy, Debug)]
pub struct BackendAccount {
    process: u32,
}

impl BackendAccount {
    /// The account of the process that serves a session, after a check that it is this one; `Err` holds the reason why
    /// there is none, which is no failure.
    pub fn open(session: &mut Session) -> Result<Result<BackendAccount, String>, ServerError> {
        let account = BackendAccount { process: session.facts().process };
        if !session.address().is_local() {
            return Ok(Err("the server runs on another machine".into()));
        }
        if session.is_rehearsal() {
            session.number(WORK, 100_000)?;
            return Ok(Ok(account));
        }
        let title = fs::read_to_string(format!("/proc/{}/cmdline", account.process)).unwrap_or_default();
        if !title.contains("postgres") {
            return Ok(Err("the server's processes cannot be seen from here".into()));
        }
        let before = match account.processor_time() {
            Ok(before) => before,
            Err(reason) => return Ok(Err(reason)),
        };
        session.number(WORK, 100_000)?;
        let took = account.processor_time().map(|after| after.since(before));
        Ok(match took {
            Ok(took) if took >= WORK_AT_LEAST => Ok(account),
            Ok(_) => Err("the server runs in a container whose processes cannot be seen from here".into()),
            Err(reason) => Err(reason),
        })
    }

    /// Processor time of the process so far, in user and kernel mode together, exact to the scheduler's clock.
    ///
    /// `/proc/PID/stat` would count in ticks of 10 ms, as long as a whole scan.
    pub fn processor_time(&self) -> Result<Nanos, String> {
        let started = Instant::now();
        while self.is_running() && started.elapsed() < SLEEP_TIMEOUT {
            thread::sleep(ASKED_EVERY);
        }
        let path = format!("/proc/{}/schedstat", self.process);
        let text = fs::read_to_string(&path).map_err(|error| format!("{path} cannot be read: {error}"))?;
        processor_time_of(&text).ok_or_else(|| format!("{path} holds `{}`, no processor time", text.trim()))
    }

    fn is_running(&self) -> bool {
        let path = format!("/proc/{}/stat", self.process);
        fs::read_to_string(path).is_ok_and(|text| state_of(&text) == Some('R'))
    }
}

/// The first of the three numbers; 0 stands there where the kernel does not count.
fn processor_time_of(schedstat: &str) -> Option<Nanos> {
    schedstat.split_whitespace().next()?.parse().ok().filter(|ns| *ns > 0).map(Nanos)
}

/// The letter behind the name, which stands in brackets and may hold brackets itself.
fn state_of(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_the_first_number_and_zero_is_none() {
        assert_eq!(processor_time_of("81234567 1200 34\n"), Some(Nanos(81_234_567)));
        assert_eq!(processor_time_of("0 0 0\n"), None);
        assert_eq!(processor_time_of(""), None);
    }

    #[test]
    fn a_name_with_brackets_hides_no_state() {
        assert_eq!(state_of("7 (postgres: a) R (x) S 1 7"), Some('S'));
        assert_eq!(state_of(""), None);
    }

    #[test]
    fn the_own_process_has_used_some() {
        assert!(BackendAccount { process: std::process::id() }.processor_time().is_ok());
        assert!(BackendAccount { process: u32::MAX }.processor_time().unwrap_err().contains("schedstat"));
    }
}
