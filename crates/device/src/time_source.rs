//! The clock that a read loop is timed by: the machine's, or a virtual one that a model moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::Nanos;
use sys::process::process_cpu;
use sys::time::Clock;

use crate::windows::CpuClock;

/// How close to its end a sleep is trusted to come; the rest is spun. Waking a thread costs this much on a virtual
/// machine.
const SPIN: Nanos = Nanos(60_000);

/// Reads the time and waits for it.
pub trait TimeSource: Clone + Send {
    /// Time since the clock's own start.
    fn now(&self) -> Nanos;

    /// Returns when `moment` has come.
    fn wait_until(&self, moment: Nanos);

    /// Where the CPU time of reads is read, if they take any.
    fn cpu(&self) -> CpuClock;
}

/// The clock of a device that is known only at run time.
#[derive(Clone, Debug)]
pub enum DeviceClock {
    /// The machine's.
    Machine(Clock),
    /// A model's.
    Virtual(VirtualClock),
}

impl DeviceClock {
    /// Time since the clock's own start.
    pub fn now(&self) -> Nanos {
        match self {
            DeviceClock::Machine(clock) => Clock::now(clock),
            DeviceClock::Virtual(clock) => clock.now(),
        }
    }
}

impl TimeSource for Clock {
    #[inline]
    fn now(&self) -> Nanos {
        Clock::now(self)
    }

    fn wait_until(&self, moment: Nanos) {
        loop {
            let left = moment.since(Clock::now(self));
            if left == Nanos::ZERO {
                return;
            }
            if left > SPIN {
                std::thread::sleep((left - SPIN).into());
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn cpu(&self) -> CpuClock {
        Some(process_cpu)
    }
}

/// A clock that stands still until a model moves it: no thread sleeps for a modelled read.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<AtomicU64>);

impl VirtualClock {
    /// Moves the clock to `moment`; a moment that has passed leaves it alone.
    pub fn advance_to(&self, moment: Nanos) {
        self.0.fetch_max(moment.0, Ordering::Relaxed);
    }
}

impl TimeSource for VirtualClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }

    fn wait_until(&self, moment: Nanos) {
        self.advance_to(moment);
    }

    fn cpu(&self) -> CpuClock {
        None
    }
}
