//! How a recorder records. The recorder and what writes its segments both keep to it.

use profile::source::recorded::SumsSettings;
use recording::Limits;

/// How a recorder records.
#[derive(Clone, Copy, Debug)]
pub struct RecorderSettings {
    /// How much is kept.
    pub limits: Limits,
    /// What is written, and how long a segment is.
    pub sums: SumsSettings,
    /// The wall clock, in microseconds since 1970, UTC.
    pub clock: fn() -> i64,
}
