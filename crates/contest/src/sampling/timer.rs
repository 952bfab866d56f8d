//! A timer alone: a thread that wakes as often as readpath looks, in the place of a thread that runs as readpath does,
//! and does nothing. What it takes, any profiler takes that looks as often.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sys::process::{ShortSlice, thread_cpu};

use super::profiler::{Profiler, Seen, UnderWay};
use crate::private_postgres::PrivatePostgres;

/// The contender.
pub(crate) const TIMER: &str = "a timer alone, 1000 a second";

/// Between two wakes.
const TICK: Duration = Duration::from_millis(1);

/// Wakes until it is over; the number of wakes.
fn ticks(is_over: impl Fn() -> bool) -> u64 {
    let _short = ShortSlice::begin();
    let mut due = Instant::now();
    let mut count = 0;
    while !is_over() {
        due += TICK;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        count += 1;
    }
    count
}

/// What the thread takes, in per cent of one processor.
pub(crate) fn timer_alone(time: Duration) -> f64 {
    let (begun, before) = (Instant::now(), thread_cpu());
    ticks(|| begun.elapsed() >= time);
    100.0 * thread_cpu().since(before).as_seconds() / begun.elapsed().as_secs_f64()
}

/// The thread beside a load.
pub(crate) struct Timer;

struct Ticking {
    begun: Instant,
    is_over: Arc<AtomicBool>,
    /// `None` once it has ended.
    thread: Option<JoinHandle<u64>>,
}

impl Profiler for Timer {
    fn name(&self) -> &'static str {
        TIMER
    }

    fn begin(&self, _: &PrivatePostgres, _: u64) -> Result<Box<dyn UnderWay>, String> {
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        let thread = thread::spawn(move || ticks(|| flag.load(Ordering::Relaxed)));
        Ok(Box::new(Ticking { begun: Instant::now(), is_over, thread: Some(thread) }))
    }
}

impl Ticking {
    fn stop(&mut self) -> Option<u64> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.stop();
    }
}

impl UnderWay for Ticking {
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    fn end(mut self: Box<Self>, _: &PrivatePostgres) -> Result<Seen, String> {
        let count = self.stop().ok_or("the timer's thread failed")?;
        let rate = count as f64 / self.begun.elapsed().as_secs_f64();
        Ok(Seen { rate: Some(rate), shown: "nothing".into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_alone_takes_something_and_not_a_processor() {
        let taken = timer_alone(Duration::from_millis(200));
        assert!((0.01..60.0).contains(&taken), "{taken} %");
    }

    #[test]
    fn the_thread_ends_with_its_turn() {
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        let thread = thread::spawn(move || ticks(|| flag.load(Ordering::Relaxed)));
        let mut ticking = Ticking { begun: Instant::now(), is_over, thread: Some(thread) };
        // A busy machine begins the thread late.
        thread::sleep(Duration::from_millis(500));
        assert!(ticking.stop().is_some_and(|count| count > 0) && ticking.stop().is_none());
    }
}
