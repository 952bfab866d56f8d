//! What the kernel of this machine has counted of the server's processes: time on a processor and time ready for one,
//! and what the hypervisor took from all of them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use profile::event::Ticks;
use profile::source::sampled::ProcessorTime;

use crate::process::check_session;

/// Most files that stay open: reading one again takes a quarter of the time that opening it takes too.
const OPEN_MAX: usize = 128;

/// The scheduler's account of processes that can be seen from here.
#[derive(Debug, Default)]
pub(crate) struct Processors {
    last: HashMap<u32, Reading>,
    /// How many of them have an open file.
    open: usize,
    /// What the hypervisor took of all processors, a moment ago.
    theft: Theft,
}

/// How often it is read what the hypervisor took: the kernel counts in ticks of some 10 ms.
const THEFT_EVERY: Duration = Duration::from_millis(500);

/// What the hypervisor took of late.
#[derive(Clone, Copy, Debug, Default)]
struct Theft {
    read: Option<(Instant, Busy)>,
    /// Of the time in which processors were busy.
    part: f64,
}

impl Theft {
    /// The part of the busy time that it took, read again where it is time to. Without two readings none.
    fn part(&mut self) -> f64 {
        if self.read.is_some_and(|(read, _)| read.elapsed() < THEFT_EVERY) {
            return self.part;
        }
        let now = Busy::now();
        self.part = self.read.zip(now).and_then(|((_, before), now)| now.stolen_since(before)).unwrap_or(0.0);
        self.read = now.map(|now| (Instant::now(), now));
        self.part
    }

    /// What it took while a process ran for so long, of which the scheduler counts no part as running.
    fn of(&mut self, ran: Ticks) -> Ticks {
        let part = self.part().min(PART_MAX);
        Ticks((ran.0 as f64 * part / (1.0 - part)) as i64)
    }
}

/// Greatest part that is believed.
const PART_MAX: f64 = 0.95;

/// What was read of a process last.
#[derive(Debug)]
struct Reading {
    /// Nanoseconds on a processor and ready for one.
    times: (u64, u64),
    /// Its account, which stays that of this process; `None` where many others are open.
    file: Option<File>,
}

impl Processors {
    /// The account, after a look whether the process that serves our session is one of this machine; `Err` holds the
    /// reason why there is none, which is no failure.
    pub(crate) fn open(process: u32, user: &str, is_local: bool) -> Result<Processors, String> {
        if !is_local {
            return Err("the server runs on another machine".into());
        }
        check_session(process, user)?;
        match times(process) {
            Some(_) => Ok(Processors::default()),
            None => Err(format!("/proc/{process}/schedstat cannot be read or counts nothing")),
        }
    }

    /// What a process has used since it was asked for last; `None` the first time, and where it is gone.
    pub(crate) fn since(&mut self, process: u32) -> Option<ProcessorTime> {
        let Some(reading) = self.last.get_mut(&process) else {
            self.begin(process);
            return None;
        };
        let now = match &reading.file {
            Some(file) => times_in(file),
            None => times(process),
        };
        let Some(now) = now else {
            // It has ended. What has its number later is another process, which begins anew.
            self.forget(process);
            return None;
        };
        let before = std::mem::replace(&mut reading.times, now);
        let ran = Ticks::from_nanos(now.0.saturating_sub(before.0));
        let waited = Ticks::from_nanos(now.1.saturating_sub(before.1));
        Some(ProcessorTime { ran, waited, stolen: self.theft.of(ran) })
    }

    /// Reads a process that is seen for the first time, so that the next reading has a beginning.
    pub(crate) fn begin(&mut self, process: u32) {
        let Ok(file) = File::open(path(process)) else { return };
        let Some(times) = times_in(&file) else { return };
        let stays = self.open < OPEN_MAX;
        self.open += usize::from(stays);
        let reading = Reading { times, file: stays.then_some(file) };
        if let Some(Reading { file: Some(_), .. }) = self.last.insert(process, reading) {
            self.open -= 1;
        }
    }

    fn forget(&mut self, process: u32) {
        if let Some(Reading { file: Some(_), .. }) = self.last.remove(&process) {
            self.open -= 1;
        }
    }

    /// Forgets the processes that are gone.
    pub(crate) fn retain(&mut self, is_there: impl Fn(u32) -> bool) {
        self.last.retain(|process, _| is_there(*process));
        self.open = self.last.values().filter(|reading| reading.file.is_some()).count();
    }
}

fn path(process: u32) -> String {
    format!("/proc/{process}/schedstat")
}

/// Nanoseconds that a process has been on a processor, and ready for one.
fn times(process: u32) -> Option<(u64, u64)> {
    times_in(&File::open(path(process)).ok()?)
}

fn times_in(file: &File) -> Option<(u64, u64)> {
    // Three numbers of 64 bits, with blanks between.
    let mut text = [0; 64];
    let length = file.read_at(&mut text, 0).ok()?;
    times_of(std::str::from_utf8(&text[..length]).ok()?)
}

/// The first two of three numbers; 0 stands first where the kernel does not count.
fn times_of(schedstat: &str) -> Option<(u64, u64)> {
    let mut numbers = schedstat.split_whitespace().map(str::parse::<u64>);
    let (ran, waited) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (ran > 0).then_some((ran, waited))
}

/// Time of all processors since the machine started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    busy: u64,
    stolen: u64,
}

impl Busy {
    /// Now; `None` where the kernel does not say.
    pub(crate) fn now() -> Option<Busy> {
        busy_of(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The part of the busy time since `earlier` that the hypervisor took.
    pub(crate) fn stolen_since(self, earlier: Busy) -> Option<f64> {
        let busy = self.busy.saturating_sub(earlier.busy);
        (busy > 0).then(|| self.stolen.saturating_sub(earlier.stolen) as f64 / busy as f64)
    }
}

/// The sums of `/proc/stat`, see proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
fn busy_of(stat: &str) -> Option<Busy> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _wait, irq, softirq, stolen] = *times.first_chunk()?;
    Some(Busy { busy: user + nice + system + irq + softirq + stolen, stolen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_the_kernel_does_not_count_are_absent_and_not_zero() {
        assert_eq!(times_of("81234567 1200 34\n"), Some((81_234_567, 1200)));
        assert_eq!((times_of("0 0 0\n"), times_of("")), (None, None));
        assert!(Processors::open(std::process::id(), "", false).unwrap_err().contains("another machine"));
        assert!(Processors::open(std::process::id(), "me", true).unwrap_err().contains("cannot be seen"));
    }

    #[test]
    fn a_process_is_read_again_by_its_open_file_and_one_that_is_gone_has_no_time() {
        let busy = || std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let (mut one, mut other) = (busy(), busy());
        std::thread::sleep(std::time::Duration::from_millis(200));
        let mut processors = Processors::default();
        assert_eq!((processors.since(one.id()), processors.since(other.id())), (None, None), "the first time");
        // A busy machine may not let it run for a while.
        let mut later = (0..50).map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(200));
            processors.since(one.id()).unwrap()
        });
        assert!(later.any(|time| time.ran + time.waited > Ticks::ZERO), "a process that is always runnable");
        for child in [&mut one, &mut other] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!((processors.since(other.id()), processors.since(u32::MAX), processors.open), (None, None, 1));
        processors.retain(|process| process == one.id());
        assert_eq!((processors.last.len(), processors.open), (1, 1));
    }

    #[test]
    fn a_process_that_has_the_number_of_one_that_has_ended_begins_anew() {
        let mut ended = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut processors = Processors::default();
        for _ in 0..10_000 {
            // The kernel counts nothing of it before it has run.
            processors.begin(ended.id());
            if processors.last.contains_key(&ended.id()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        ended.kill().unwrap();
        ended.wait().unwrap();
        let left = processors.last.remove(&ended.id()).unwrap();
        let own = std::process::id();
        processors.last.insert(own, left);
        assert_eq!([0; 3].map(|_| processors.since(own).is_some()), [false, false, true]);
        assert_eq!((processors.last.len(), processors.open), (1, 1));
    }

    #[test]
    fn stolen_time_is_a_part_of_the_busy_time_alone() {
        let at = |text: &str| busy_of(text).unwrap();
        let before = at("cpu  100 0 100 9000 50 0 0 10 0 0\ncpu0 1 2 3\n");
        let after = at("cpu  140 0 140 99000 50 0 0 30 0 0\n");
        assert_eq!(after.stolen_since(before), Some(0.2));
        assert_eq!(before.stolen_since(before), None);
        assert_eq!(busy_of("cpu  1 2 3\n"), None);
    }
}
