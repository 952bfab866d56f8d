//! Samples of a running server: what each of its processes did at some moment, and how much time that stands for.
//!
//! The path: looks (all processes at one moment) → accounting → calls, waits, segments, as of any source → observers.
//! What waits for locks, what background processes do and how many sessions are at work is summed beside them. Nothing
//! here knows a server or reads a clock: who samples gives both.

mod accounting;
mod background;
mod blockers;
mod blocks;
pub(in crate::source) mod charging;
mod distinct;
pub(in crate::source) mod ending;
mod executions;
mod findings;
mod finished;
mod held;
mod load;
pub(in crate::source) mod names;
mod observed;
mod price;
mod read_findings;
pub(in crate::source) mod reads;
mod sample;
mod session;
pub(in crate::source) mod sketch;
#[cfg(test)]
mod tests;
mod traced;
mod waiters;

pub use accounting::Accounting;
pub(in crate::source) use accounting::Part;
pub use ending::Ending;
pub use finished::{SAMPLED_SOURCE, SampledProfile};
pub use observed::Observed;
pub use sample::{Backend, CLIENT, LOCK, ProcessorTime, Sample, State};
pub use traced::{AwaitedRead, Traced, TracedRead, TracedRequest};
