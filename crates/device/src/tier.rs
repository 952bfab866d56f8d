//! Which level served the reads, concluded from witnesses; and the sentence that says how that is known.

use measure::quantity::three_digits;
use sys::file::Caching;

use crate::audit::AuditCounts;

/// The level that served a set of reads, as far as this host can see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tier {
    /// Memory of this host: the operating system's page cache.
    PageCache,
    /// Beyond this host's memory: the storage's cache or its media, which the host cannot tell apart by itself.
    Storage,
    /// Some reads here, some there; the share of bytes that storage delivered.
    Mixed {
        /// Between 0 and 1.
        from_storage: f64,
    },
    /// The file system itself: the blocks were never written, and zeros need no device.
    NeverWritten,
    /// No witness could be heard.
    Unknown,
}

impl Tier {
    /// The name in run documents.
    pub fn name(self) -> &'static str {
        match self {
            Tier::PageCache => "page-cache",
            Tier::Storage => "storage",
            Tier::Mixed { .. } => "mixed",
            Tier::NeverWritten => "never-written",
            Tier::Unknown => "unknown",
        }
    }
}

/// What is known about a set of reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// How the file was opened.
    pub caching: Caching,
    /// Bytes asked for.
    pub issued: u64,
    /// The kernel's counts.
    pub counts: AuditCounts,
    /// Share of the bytes that was in the page cache before the reads; `None` where that cannot be asked.
    pub cached_before: Option<f64>,
    /// Share of the region that was never written; 0 where that cannot be asked.
    pub never_written: f64,
}

/// A verdict and how it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The level.
    pub tier: Tier,
    /// The proof, as the end of a sentence: "because ...".
    pub proof: String,
}

/// Share of missing or surplus bytes that still counts as all or nothing: single pages of file-system metadata are
/// read along with the data.
const TOLERANCE: f64 = 0.02;

impl Evidence {
    /// Weighs the witnesses: the process's own count first, because no other process's reads are in it; then the
    /// device's; then the page cache's state before the reads.
    pub fn verdict(&self) -> Verdict {
        if let Some(fetched) = self.counts.fetched_by_process {
            return self.by_bytes(fetched, "the kernel counted {bytes} fetched from storage by this process");
        }
        if let Some(delivered) = self.counts.delivered_by_device {
            return self.by_bytes(delivered, "the device counted {bytes} delivered to all processes");
        }
        match self.cached_before {
            Some(share) => self.by_residency(share),
            None => {
                Verdict { tier: Tier::Unknown, proof: "neither the kernel nor the device counts reads here".into() }
            }
        }
    }

    fn by_bytes(&self, bytes: u64, witness: &str) -> Verdict {
        let share = if self.issued == 0 { 0.0 } else { bytes as f64 / self.issued as f64 };
        let tier = if self.caching == Caching::Direct && share < 1.0 - TOLERANCE && self.never_written > TOLERANCE {
            Tier::NeverWritten
        } else if share < TOLERANCE {
            Tier::PageCache
        } else if share >= 1.0 - TOLERANCE {
            Tier::Storage
        } else {
            Tier::Mixed { from_storage: share }
        };
        let counted = if bytes == self.issued { "every byte".into() } else { format_mebibytes(bytes) };
        let witness = witness.replace("{bytes}", &counted);
        Verdict { tier, proof: format!("{witness}, of {} asked for", format_mebibytes(self.issued)) }
    }

    fn by_residency(&self, share: f64) -> Verdict {
        let direct = self.caching == Caching::Direct;
        let tier = match share {
            _ if direct => Tier::Storage,
            share if share >= 1.0 - TOLERANCE => Tier::PageCache,
            share if share < TOLERANCE => Tier::Storage,
            share => Tier::Mixed { from_storage: 1.0 - share },
        };
        let proof = if direct {
            "the file was opened past the page cache; no counter could confirm it".into()
        } else {
            format!("{:.0} % of the range was in the page cache before", share * 100.0)
        };
        Verdict { tier, proof }
    }
}

fn format_mebibytes(bytes: u64) -> String {
    format!("{} MiB", three_digits(bytes as f64 / f64::from(1 << 20)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(caching: Caching, fetched: Option<u64>) -> Evidence {
        let counts = AuditCounts { fetched_by_process: fetched, ..AuditCounts::default() };
        Evidence { caching, issued: 1_000_000, counts, cached_before: None, never_written: 0.0 }
    }

    #[test]
    fn direct_reads_that_storage_never_saw_are_called_page_cache() {
        assert_eq!(evidence(Caching::Direct, Some(0)).verdict().tier, Tier::PageCache);
    }

    #[test]
    fn bytes_that_storage_delivered_are_called_storage() {
        assert_eq!(evidence(Caching::Direct, Some(1_000_000)).verdict().tier, Tier::Storage);
        assert_eq!(evidence(Caching::Buffered, Some(3_000_000)).verdict().tier, Tier::Storage);
    }

    #[test]
    fn half_and_half_is_not_rounded_to_either() {
        assert_eq!(evidence(Caching::Buffered, Some(500_000)).verdict().tier, Tier::Mixed { from_storage: 0.5 });
    }

    #[test]
    fn holes_are_not_taken_for_a_cache() {
        let holes = Evidence { never_written: 1.0, ..evidence(Caching::Direct, Some(0)) };
        assert_eq!(holes.verdict().tier, Tier::NeverWritten);
    }

    #[test]
    fn without_any_witness_nothing_is_claimed() {
        assert_eq!(evidence(Caching::Buffered, None).verdict().tier, Tier::Unknown);
    }
}
