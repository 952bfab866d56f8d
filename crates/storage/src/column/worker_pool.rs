//! Threads that stay for several scans of one table.
//!
//! A scan of some million rows takes less time than to start a thread. So threads are started once, and wait for
//! scans. The caller works too, and waits for no thread that has not begun: it waits for the units, each of which is
//! being scanned by a thread. A thread that wakes late finds none left.
//!
//! Each thread keeps to a processor of its own. Left to the scheduler, on a busy machine a thread was begun on the
//! caller's processor, which the caller needs, and got no work for many scans.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use sys::process::affinity::{beside_this_thread, pin};
use sys::threads::start;

use super::scan::{Plan, Question, Scan, Scanned};
use super::table::ColumnTable;
use crate::error::StorageError;

/// How often a thread looks for the next scan before it goes to sleep: some 50 µs, about what waking it would cost.
const LOOKS_BEFORE_SLEEP: u32 = 2000;

/// How often the caller looks whether the last units are done before it lets others have its processor.
const LOOKS_BEFORE_YIELD: u32 = 2000;

/// The threads of [`ColumnTable::with_workers`].
#[derive(Debug)]
pub struct WorkerPool<'t> {
    table: &'t ColumnTable,
    threads: usize,
    board: Board,
}

/// Where the scan to be done is announced.
#[derive(Debug, Default)]
struct Board {
    /// Number of scans so far; lets a thread look without the lock.
    announced: AtomicUsize,
    /// Threads that have begun.
    begun: AtomicUsize,
    is_over: AtomicBool,
    job: Mutex<Option<Arc<Job>>>,
    news: Condvar,
}

/// One scan.
#[derive(Debug)]
struct Job {
    question: Question,
    scan: Scan,
    units: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    sum: Mutex<Result<Scanned, StorageError>>,
}

impl ColumnTable {
    /// Starts `threads - 1` threads that scan together with the caller, for as long as `work` runs, which begins when
    /// all of them are there.
    ///
    /// With one thread, or none, nothing is started. Errors as `work`, and where a thread cannot be started.
    pub fn with_workers<R>(
        &self,
        threads: usize,
        work: impl FnOnce(&WorkerPool<'_>) -> Result<R, StorageError>,
    ) -> Result<R, StorageError> {
        let workers = WorkerPool { table: self, threads, board: Board::default() };
        let cpus = if threads > 1 { beside_this_thread() } else { Vec::new() };
        thread::scope(|scope| {
            let (workers, cpus) = (&workers, &cpus);
            // The threads are sent home even where one cannot be started or `work` panics: the scope waits for them.
            let _home = SendHome(&workers.board);
            for index in 1..threads {
                start(scope, move || {
                    if !cpus.is_empty() {
                        pin(cpus[(index - 1) % cpus.len()]);
                    }
                    workers.serve();
                })?;
            }
            workers.gather();
            work(workers)
        })
    }
}

impl WorkerPool<'_> {
    /// Answers the question. Units are handed out one by one to the threads.
    ///
    /// Errors where a column is not there or the predicate is about texts, and without the kernel on this processor.
    pub fn scan(&self, question: &Question, scan: Scan) -> Result<Scanned, StorageError> {
        let plan = Plan::new(self.table, question, scan)?;
        let units = self.table.units();
        // Without a predicate there are no codes to be read, and no work to share.
        if self.threads <= 1 || units <= 1 || question.predicate.is_none() {
            return (0..units).try_fold(Scanned::default(), |sum, unit| plan.add(sum, unit));
        }
        let job = Arc::new(Job::new(*question, scan, units));
        self.board.announce(&job);
        job.take_part(&plan);
        job.result()
    }

    /// Waits until all threads are there.
    fn gather(&self) {
        while self.board.begun.load(Ordering::Acquire) + 1 < self.threads {
            thread::yield_now();
        }
    }

    /// What a thread does until it is sent home.
    fn serve(&self) {
        self.board.begun.fetch_add(1, Ordering::Release);
        let mut seen = 0;
        while let Some(job) = self.board.wait(&mut seen) {
            if let Ok(plan) = Plan::new(self.table, &job.question, job.scan) {
                job.take_part(&plan);
            }
        }
    }
}

impl Board {
    fn announce(&self, job: &Arc<Job>) {
        // Under the lock: otherwise a thread could look just before and go to sleep just after.
        let mut current = locked(&self.job);
        *current = Some(Arc::clone(job));
        self.announced.fetch_add(1, Ordering::Release);
        self.news.notify_all();
    }

    /// The scan after those that were seen, once there is one; `None` when it is over.
    fn wait(&self, seen: &mut usize) -> Option<Arc<Job>> {
        let is_news = |seen: usize| self.announced.load(Ordering::Acquire) != seen || self.is_over();
        for _ in 0..LOOKS_BEFORE_SLEEP {
            if is_news(*seen) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut job = locked(&self.job);
        while !is_news(*seen) {
            job = self.news.wait(job).unwrap_or_else(PoisonError::into_inner);
        }
        *seen = self.announced.load(Ordering::Acquire);
        if self.is_over() { None } else { job.clone() }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Sends the threads home when dropped.
struct SendHome<'a>(&'a Board);

impl Drop for SendHome<'_> {
    fn drop(&mut self) {
        // Under the lock: otherwise a thread could look just before and go to sleep just after.
        let _job = locked(&self.0.job);
        self.0.is_over.store(true, Ordering::Release);
        self.0.news.notify_all();
    }
}

impl Job {
    fn new(question: Question, scan: Scan, units: usize) -> Job {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Job { question, scan, units, next, done, sum: Mutex::new(Ok(Scanned::default())) }
    }

    /// Scans units until none is left.
    fn take_part(&self, plan: &Plan<'_>) {
        let mut share = Share { job: self, units: 0, found: Ok(Scanned::default()) };
        loop {
            let unit = self.next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.units {
                break;
            }
            share.units += 1;
            if let Ok(sum) = &mut share.found {
                match plan.add(*sum, unit) {
                    Ok(more) => *sum = more,
                    Err(error) => share.found = Err(error),
                }
            }
        }
    }

    /// The sum of all shares, once every unit is done.
    fn result(&self) -> Result<Scanned, StorageError> {
        let mut looks = 0_u32;
        while self.done.load(Ordering::Acquire) < self.units {
            looks = looks.saturating_add(1);
            if looks < LOOKS_BEFORE_YIELD { std::hint::spin_loop() } else { thread::yield_now() }
        }
        std::mem::replace(&mut *locked(&self.sum), Ok(Scanned::default()))
    }
}

/// What one thread did; handed in when dropped, so that no thread waits for one that panicked.
struct Share<'a> {
    job: &'a Job,
    units: usize,
    found: Result<Scanned, StorageError>,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut sum = locked(&self.job.sum);
        let found = std::mem::replace(&mut self.found, Ok(Scanned::default()));
        match found {
            _ if thread::panicking() => *sum = Err(StorageError::Stopped),
            Ok(found) => {
                if let Ok(sum) = &mut *sum {
                    *sum += found;
                }
            }
            Err(error) => *sum = Err(error),
        }
        drop(sum);
        self.job.done.fetch_add(self.units, Ordering::Release);
    }
}

/// A lock whose holder panicked still guards whole values here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
