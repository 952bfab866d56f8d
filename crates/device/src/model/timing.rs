//! What a model is: it takes reads at moments, and says when they end.

use std::fmt::Debug;

use measure::Nanos;

/// One read that a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Comes back when the read has ended.
    pub id: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// The times of a device. It keeps no data and no clock: its caller passes the time, which never goes back.
pub trait Timing: Debug + Send {
    /// Takes a read at `now`.
    fn submit(&mut self, now: Nanos, request: Request);

    /// When something happens next: an arm that has arrived, a page that was read, a read that ends. `None` when
    /// nothing is in flight.
    fn next_event(&mut self) -> Option<Nanos>;

    /// Lets the time pass to `now`, which lies no later than the next event, and appends the ids of the reads that
    /// ended.
    fn advance(&mut self, now: Nanos, done: &mut Vec<u64>);
}

/// How long `bytes` take at `rate` million bytes a second.
pub(crate) fn transfer(bytes: u64, rate: f64) -> Nanos {
    Nanos((bytes as f64 * 1e3 / rate).round() as u64)
}

/// `micros` as a span.
pub(crate) fn micros(micros: f64) -> Nanos {
    Nanos((micros * 1e3).round() as u64)
}
