//! Starting threads: one that cannot be started is an error, and threads that begin together begin all or not at all.

use std::hint::spin_loop;
use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

use thiserror::Error;

/// How often a thread looks for the others before it yields its processor: about 0.2 ms, ten times what the start of a
/// thread takes.
const LOOKS_AWAKE: u32 = 1 << 14;

/// The kernel refused a thread. It gives one answer for too many threads and for too little memory for a stack.
#[derive(Debug, Error)]
#[error(
    "a thread could not be started ({0}): use fewer threads, or raise the limit on processes (ulimit -u, pids.max) or \
     on memory (ulimit -v)"
)]
pub struct NotStarted(#[from] io::Error);

impl NotStarted {
    /// The kernel's answer.
    pub fn reason(&self) -> &io::Error {
        &self.0
    }
}

impl From<NotStarted> for io::Error {
    fn from(refused: NotStarted) -> io::Error {
        io::Error::other(refused)
    }
}

/// Starts one thread of a scope, where `Scope::spawn` would panic. The caller ends those that wait for it.
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, NotStarted> {
    Ok(Builder::new().spawn_scoped(scope, work)?)
}

/// Does each job on a thread of its own, all of which begin together, and returns what they came to, in order.
///
/// `prepare` runs first on each thread; what it returns is run once all threads are prepared. If one thread cannot be
/// started, no job is begun. A panic on a thread goes on to the caller.
pub fn run_together<J: Send, F: FnOnce() -> T, T: Send>(
    jobs: impl ExactSizeIterator<Item = J>,
    prepare: impl Fn(J) -> F + Sync,
) -> Result<Vec<T>, NotStarted> {
    let line = StartLine { missing: AtomicUsize::new(jobs.len()), signal: AtomicU8::new(WAIT) };
    thread::scope(|scope| {
        let (line, prepare) = (&line, &prepare);
        let mut threads = Vec::with_capacity(jobs.len());
        for job in jobs {
            let work = move || {
                let arrival = Arrival(line);
                let work = prepare(job);
                arrival.wait().then(work)
            };
            threads.push(start(scope, work).inspect_err(|_| line.call_off())?);
        }
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // Nothing is called off here but by a thread that panicked, and that went on to the caller.
        Ok(joined.collect::<Vec<_>>().into_iter().flatten().collect())
    })
}

/// The signals to threads at the start line.
const WAIT: u8 = 0;
const GO: u8 = 1;
const CALLED_OFF: u8 = 2;

/// Where threads wait for each other. They wait awake: a sleeping thread begins some 50 µs after the one that woke it.
struct StartLine {
    missing: AtomicUsize,
    signal: AtomicU8,
}

impl StartLine {
    fn call_off(&self) {
        self.signal.store(CALLED_OFF, Ordering::Release);
    }
}

/// A thread on its way to the start line; if it panics before, nothing begins.
struct Arrival<'a>(&'a StartLine);

impl Arrival<'_> {
    /// Waits for the others; whether they begin.
    fn wait(self) -> bool {
        let StartLine { missing, signal } = self.0;
        if missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            // A start that was called off stays so.
            let _ = signal.compare_exchange(WAIT, GO, Ordering::AcqRel, Ordering::Acquire);
        }
        let mut looks = 0;
        while signal.load(Ordering::Acquire) == WAIT {
            looks += 1;
            // Where the others have no processor, waiting awake keeps them from getting this one.
            if looks < LOOKS_AWAKE { spin_loop() } else { thread::yield_now() }
        }
        signal.load(Ordering::Acquire) == GO
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.call_off();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn nothing_begins_before_all_are_prepared_and_results_keep_the_order_of_the_jobs() {
        let prepared = AtomicUsize::new(0);
        let prepare = |job: usize| {
            prepared.fetch_add(1, Ordering::SeqCst);
            let own = Cell::new(job);
            let prepared = &prepared;
            move || (own.get(), prepared.load(Ordering::SeqCst))
        };
        let expected: Vec<_> = (0..17).map(|job| (job, 17)).collect();
        assert_eq!(run_together(0..17, prepare).unwrap(), expected);
    }

    #[test]
    fn a_thread_that_panics_before_the_start_does_not_leave_the_others_waiting() {
        let prepare = |job: usize| {
            assert_ne!(job, 3, "on purpose");
            || ()
        };
        assert!(catch_unwind(AssertUnwindSafe(|| run_together(0..5, prepare))).is_err());
    }

    #[test]
    fn no_jobs_are_no_threads() {
        assert_eq!(run_together(0..0, |_| || ()).unwrap(), []);
    }
}
