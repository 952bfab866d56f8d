//! A read that goes on, with the requests that it sent, and one that has ended.

use profile::event::Ticks;
use profile::tables::read_tiers::ReadTier;

/// A read that goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    pub(super) number: u64,
    pub(super) process: u32,
    pub(super) begun: u64,
    pub(super) descriptor: u32,
    pub(super) position: u64,
    pub(super) inode: Option<(u64, u64)>,
    pub(super) slept: bool,
    /// Requests that it sent, and those of them that ended.
    pub(super) sent: usize,
    pub(super) served: Vec<Served>,
}

/// A request that ended: when it was started, issued to the device, and complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) start: u64,
    pub(super) issue: u64,
    pub(super) end: u64,
}

/// A read that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) process: u32,
    /// In nanoseconds of the monotonic clock.
    pub(super) begun: u64,
    pub(super) end: u64,
    pub(super) descriptor: u32,
    pub(super) position: u64,
    /// The number of the file, and that of its file system.
    pub(super) inode: Option<(u64, u64)>,
    pub(super) bytes: u64,
    pub(super) tier: ReadTier,
    pub(super) queue: Ticks,
    pub(super) service: Ticks,
}

impl Served {
    /// Its time in the queue, and on the device.
    pub(super) fn times(&self) -> (Ticks, Ticks) {
        let time = |from: u64, until: u64| Ticks::from_nanos(until.saturating_sub(from));
        (time(self.start, self.issue), time(self.issue, self.end))
    }
}

impl Window {
    /// The read that it was.
    pub(super) fn ended(&self, end: u64, bytes: u64, tier: ReadTier) -> Ended {
        let (queue, service) = times(&self.served);
        Ended {
            process: self.process,
            begun: self.begun,
            end,
            descriptor: self.descriptor,
            position: self.position,
            inode: self.inode,
            bytes,
            tier,
            queue,
            service,
        }
    }
}

/// Time in which a request was served, and in which none was and one waited for the queue.
fn times(served: &[Served]) -> (Ticks, Ticks) {
    let service = covered(served.iter().map(|one| (one.issue, one.end)));
    let whole = covered(served.iter().map(|one| (one.start, one.end)));
    (Ticks::from_nanos(whole.saturating_sub(service)), Ticks::from_nanos(service))
}

/// How much of time these spans cover.
fn covered(spans: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut spans: Vec<(u64, u64)> = spans.collect();
    spans.sort_unstable();
    let (mut covered, mut reached) = (0, 0);
    for (from, until) in spans {
        covered += until.saturating_sub(from.max(reached));
        reached = reached.max(until);
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_two_requests_share_counts_once() {
        let one = |start, issue, end| Served { start, issue, end };
        let micros = |served: &[Served]| {
            let (queue, service) = times(served);
            (queue.micros(), service.micros())
        };
        assert_eq!(micros(&[one(0, 1_000, 5_000), one(2_000, 3_000, 8_000)]), (1.0, 7.0));
        assert_eq!(micros(&[one(0, 1_000, 2_000), one(4_000, 6_000, 7_000)]), (3.0, 2.0));
        assert_eq!(micros(&[]), (0.0, 0.0));
    }
}
