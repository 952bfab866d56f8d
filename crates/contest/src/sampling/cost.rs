//! The processor time that a profiler takes, its own and that of the server's processes that work for it alone. The
//! kernel's account of the processes is read for all of them alike.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::param::clock_ticks_per_second;
use sys::process::{UsageSnapshot, peak_memory_of};

use super::profiler::UnderWay;
use crate::private_postgres::{Connection, PrivatePostgres};

/// What a profiler took: time in per cent of one processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Of its own processes.
    pub(crate) own: f64,
    /// Of the server's sessions that work for it.
    pub(crate) server: f64,
    /// The largest resident memory of its own processes, in bytes; `None` where one of them cannot be seen.
    pub(crate) peak_bytes: Option<u64>,
}

/// A measurement that goes on.
pub(crate) struct Meter {
    connection: Connection,
    server: u32,
    own: Vec<u32>,
    sessions: Vec<u32>,
    begun: Instant,
    before: Charged,
}

/// What was charged so far.
struct Charged {
    processes: BTreeMap<u32, UsageSnapshot>,
    /// To processes of the server that have ended.
    ended: Duration,
}

impl Meter {
    /// Begins beside a load whose sessions last: whatever session ends meanwhile is then the profiler's.
    pub(crate) fn begin(server: &PrivatePostgres, under_way: &dyn UnderWay) -> Result<Meter, String> {
        let mut connection = server.connect()?;
        let first = server.first_process(&mut connection)?;
        let own = under_way.processes().into_iter().flat_map(with_children).collect::<Vec<_>>();
        let sessions = match under_way.application() {
            None => Vec::new(),
            Some(name) => processes_of(&mut connection, name)?,
        };
        let before = Charged::of(own.iter().chain(&sessions), first)?;
        Ok(Meter { connection, server: first, own, sessions, begun: Instant::now(), before })
    }

    /// What was taken since then.
    pub(crate) fn end(self) -> Result<Cost, String> {
        let elapsed = self.begun.elapsed();
        let after = Charged::of(self.own.iter().chain(&self.sessions), self.server)?;
        let ended = after.ended.saturating_sub(self.before.ended);
        let own = self.before.until(&after, &self.own)?;
        let server = self.before.until(&after, &self.sessions)? + ended;
        let peak_bytes = self.own.iter().map(|process| peak_memory_of(*process)).sum();
        drop(self.connection);
        let share = |time: Duration| 100.0 * time.as_secs_f64() / elapsed.as_secs_f64();
        Ok(Cost { own: share(own), server: share(server), peak_bytes })
    }
}

impl Charged {
    fn of<'a>(processes: impl Iterator<Item = &'a u32>, server: u32) -> Result<Charged, String> {
        let stat = format!("/proc/{server}/stat");
        let text = fs::read_to_string(&stat).map_err(|error| format!("{stat} cannot be read: {error}"))?;
        let ended = time_of_ended(&text).ok_or_else(|| format!("{stat} holds `{}`", text.trim()))?;
        Ok(Charged { processes: processes.map(|process| (*process, UsageSnapshot::of(*process))).collect(), ended })
    }

    /// What was charged to these processes between two accounts.
    fn until(&self, later: &Charged, processes: &[u32]) -> Result<Duration, String> {
        let time = |process: &u32| {
            let delta = later.processes.get(process)?.since(self.processes.get(process)?);
            Some(Duration::from_nanos(delta.cpu?.0))
        };
        let of = |process: &u32| time(process).ok_or_else(|| format!("process {process} ended while it was measured"));
        processes.iter().map(of).sum()
    }
}

/// The server's processes for the sessions that call themselves so.
fn processes_of(connection: &mut Connection, application: &str) -> Result<Vec<u32>, String> {
    let statement = format!("SELECT pid FROM pg_stat_activity WHERE application_name = '{application}'");
    let lines = connection.lines(&statement)?;
    Ok(lines.iter().filter_map(|line| line.parse().ok()).collect())
}

/// A process and all that it has started, and so on.
fn with_children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> =
        lists.flat_map(|list| list.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()).collect();
    [process].into_iter().chain(children.into_iter().flat_map(with_children)).collect()
}

/// The time of the children that a process has waited for: fields 16 and 17 of proc(5), in ticks.
fn time_of_ended(stat: &str) -> Option<Duration> {
    // The name before it stands in brackets and may hold any letter.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Duration::from_secs_f64((ticks(16)? + ticks(17)?) as f64 / clock_ticks_per_second() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::thread;

    #[test]
    fn what_a_profiler_starts_is_charged_to_it() {
        let mut shell = Command::new("sh").args(["-c", "sleep 30 & wait"]).stdin(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while with_children(shell.id()).len() < 2 && begun.elapsed() < Duration::from_secs(25) {
            thread::sleep(Duration::from_millis(10));
        }
        let processes = with_children(shell.id());
        assert_eq!((processes.len(), processes[0]), (2, shell.id()));
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn time_of_short_sessions_is_that_of_the_children_that_have_ended() {
        let stat = "7 (post) gres) S 1 7 7 0 -1 4194560 1 2 3 4 50 60 150 50 20 0 1 0 9 9 9";
        assert_eq!(time_of_ended(stat), Some(Duration::from_secs_f64(200.0 / clock_ticks_per_second() as f64)));
        assert_eq!(time_of_ended("7 (postgres)"), None);
    }

    #[test]
    fn a_process_that_is_gone_is_an_error_and_not_free() {
        let account = || Charged::of([u32::MAX - 1].iter(), std::process::id()).unwrap();
        assert!(account().until(&account(), &[u32::MAX - 1]).unwrap_err().contains("ended while"));
    }
}
