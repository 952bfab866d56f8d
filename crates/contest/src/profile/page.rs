//! The page: one line a contender.

use measure::{Statistics, Unit};

use crate::bars::figure;
use crate::document::{Document, samples};

/// What one contender did in all rounds.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Who.
    pub(crate) name: String,
    /// Bytes of the trace, uncompressed.
    pub(crate) bytes: u64,
    /// Seconds of each round.
    pub(crate) seconds: Vec<f64>,
    /// The greatest peak of memory, in bytes; `None` where it was not asked for.
    pub(crate) peak_bytes: Option<u64>,
}

impl Row {
    /// GB/s of each round.
    pub(crate) fn rates(&self) -> Vec<f64> {
        self.seconds.iter().map(|seconds| self.bytes as f64 / seconds / 1e9).collect()
    }

    fn line(&self) -> String {
        let rates = Statistics::of_samples(&self.rates());
        let rate = rates.map_or_else(String::new, |rates| {
            format!("{:>7} GB/s ({} to {})", figure(rates.median), figure(rates.min), figure(rates.max))
        });
        let peak = self.peak_bytes.map_or_else(String::new, |bytes| format!(", {:.1} MiB", bytes as f64 / 1048576.0));
        format!("{:<34} {rate}{peak}\n", self.name)
    }

    /// A case of its own.
    pub(crate) fn write_to(&self, document: &mut Document) {
        let Row { name, bytes, seconds, peak_bytes } = self;
        let metrics = vec![
            samples("elapsed", Unit::Seconds, seconds.iter().copied()),
            samples("peak_memory", Unit::Bytes, peak_bytes.map(|bytes| bytes as f64)),
        ];
        document.case([("contender", name.as_str().into()), ("trace_bytes", (*bytes).into())], metrics);
    }
}

/// All contenders as lines of the page.
pub(crate) fn table(rows: &[Row]) -> String {
    rows.iter().map(Row::line).collect()
}
