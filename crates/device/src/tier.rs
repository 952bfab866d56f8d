//! Which level served the reads, concluded from witnesses; and the sentence that says how that is known.

use measure::quantity::{size_in_words, three_digits};
use sys::file::Caching;

use crate::audit::AuditCounts;

/// The level that served a set of reads, as far as this host can see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tier {
    /// Memory of this host: the operating system's page cache.
    PageCache,
    /// Beyond this host's memory: the storage's cache or its media, which the host cannot tell apart by itself.
    Storage,
    /// Some reads here, some there: memory served the others, or the file system by itself, where blocks were never
    /// written. The share of bytes that storage delivered.
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

/// What the file system stores of the region that is read; nothing is said where it cannot be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stored {
    /// Share of the region that was never written: its zeros need no device.
    pub never_written: f64,
    /// Share of the region that is compressed: storage delivers other numbers of bytes than are read.
    pub compressed: f64,
}

/// What is known about a set of reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// How the file was opened.
    pub caching: Caching,
    /// Bytes asked for.
    pub issued: u64,
    /// Bytes of a block, where blocks share pages of the page cache with their neighbours: storage may have delivered
    /// as many bytes as were asked for, and have served only the first block of each page.
    pub sharing_pages: Option<u64>,
    /// The kernel's counts.
    pub counts: AuditCounts,
    /// What the file system stores of the region.
    pub stored: Stored,
    /// The layer under the file, such as a loop device, where there is one.
    pub layer: Option<Layer>,
}

/// A device that takes its blocks from other devices or files, and may keep some in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// The devices under it are known.
    Followed,
    /// The devices under it are known, and a device mapper on the way to them may answer by itself.
    Mapped,
    /// Why what it reads cannot be known.
    Hidden(String),
    /// Why what was fetched from it may have come from this host's memory.
    InMemory(String),
}

/// A verdict and how it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The level.
    pub tier: Tier,
    /// The proof, as the end of a sentence: "because ...".
    pub proof: String,
    /// Whether the kernel sent reads on that the devices under it never saw: a layer in between served them.
    pub is_by_layer: bool,
}

/// Share of missing or surplus bytes that still counts as all or nothing: single pages of file-system metadata are
/// read along with the data.
const TOLERANCE: f64 = 0.02;

/// What devices under a layer deliver over what was read or fetched, from which on it may have been others' reads that
/// they saw.
const DELIVERED_UNDER_LAYER_MAX: f64 = 1.1;

/// What fewer bytes from the devices under a device mapper may mean.
const MAPPED: &str = "the device mapper above them may have answered reads by itself, as a thin volume does where \
                      nothing was written";

impl Evidence {
    /// Weighs the witnesses: the process's own count first, because no other process's reads are in it; then that of
    /// the devices under a layer, which must have seen as much: what a loop device fetches may lie in the page cache of
    /// its file. Without a layer fewer prove nothing: a file system may lie on further devices.
    pub fn verdict(&self) -> Verdict {
        let unknown = |proof: &str| Verdict { tier: Tier::Unknown, proof: proof.into(), is_by_layer: false };
        let (fetched, delivered) = (self.counts.fetched_by_process, self.counts.delivered_by_device);
        let is_less = |delivered: u64, fetched: u64| {
            (delivered as f64) < fetched.min(self.issued) as f64 - self.issued as f64 * TOLERANCE
        };
        if self.issued == 0 {
            return unknown("nothing was read");
        }
        if let Some(Layer::Hidden(reason)) = &self.layer {
            return unknown(reason);
        }
        // Where nothing was fetched, the page cache above it served the reads.
        let is_fetched = fetched.is_none_or(|fetched| fetched as f64 >= self.issued as f64 * TOLERANCE);
        if let Some(Layer::InMemory(reason)) = self.layer.as_ref().filter(|_| is_fetched) {
            return unknown(reason);
        }
        // Blocks smaller than a page make the kernel fetch whole pages: that is this process's own.
        let too_much = self.issued.max(fetched.unwrap_or(0)) as f64 * DELIVERED_UNDER_LAYER_MAX;
        match (fetched, delivered) {
            (Some(fetched), Some(delivered)) if self.layer.is_some() && is_less(delivered, fetched) => {
                let verdict = self.by_bytes(delivered, "the devices that hold the data delivered {bytes}");
                match self.layer {
                    Some(Layer::Mapped) => unknown(&format!("{}; {MAPPED}", verdict.proof)),
                    _ => Verdict { is_by_layer: true, ..verdict },
                }
            }
            (_, None) if self.layer == Some(Layer::Followed) && is_fetched => {
                unknown("the devices under the layer that was read do not count their reads")
            }
            (Some(1..), Some(delivered)) if self.layer.is_some() && delivered as f64 > too_much => {
                unknown("other processes read from the devices under the layer that was read")
            }
            (Some(fetched), _) => {
                self.by_bytes(fetched, "the kernel counted {bytes} fetched from storage by this process")
            }
            (None, Some(delivered)) => {
                self.by_bytes(delivered, "the device counted {bytes} delivered to all processes")
            }
            (None, None) => unknown("neither the kernel nor the device counts reads here"),
        }
    }

    fn by_bytes(&self, bytes: u64, witness: &str) -> Verdict {
        let share = bytes as f64 / self.issued as f64;
        // Of compressed extents storage delivers less than is read, or whole ones for a part of each.
        if self.stored.compressed > TOLERANCE && share >= TOLERANCE {
            let proof = "the file system compresses what was read, so that the bytes fetched from storage do not say \
                         how many of the reads storage served";
            return Verdict { tier: Tier::Unknown, proof: proof.into(), is_by_layer: false };
        }
        if let Some(block) = self.sharing_pages.filter(|_| share >= TOLERANCE) {
            let proof = format!(
                "{}, in whole pages of {}, which blocks of {} share with their neighbours, so that memory may have \
                 served some or most of the reads",
                witness.replace("{bytes}", &format_mebibytes(bytes)),
                size_in_words(sys::host::page_bytes()),
                size_in_words(block)
            );
            return Verdict { tier: Tier::Unknown, proof, is_by_layer: false };
        }
        // Where a part was written, storage may have served as much as it holds: then the reads are mixed.
        let is_unwritten = self.stored.never_written > if share < TOLERANCE { TOLERANCE } else { 1.0 - TOLERANCE };
        let tier = if self.caching == Caching::Direct && share < 1.0 - TOLERANCE && is_unwritten {
            Tier::NeverWritten
        } else if share < TOLERANCE {
            Tier::PageCache
        } else if share >= 1.0 - TOLERANCE {
            Tier::Storage
        } else {
            Tier::Mixed { from_storage: share }
        };
        // Two figures that print alike would be read as a difference.
        let [counted, asked] = [bytes, self.issued].map(format_mebibytes);
        let (counted, asked) = match counted == asked {
            true => (format!("all {counted}"), String::new()),
            false => (counted, format!(", where {asked} were asked for")),
        };
        Verdict { tier, proof: format!("{}{asked}", witness.replace("{bytes}", &counted)), is_by_layer: false }
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
        Evidence { caching, issued: 1_000_000, sharing_pages: None, counts, stored: Stored::default(), layer: None }
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
    fn counts_that_print_alike_are_not_set_against_each_other() {
        let proof = |fetched| {
            let known = evidence(Caching::Direct, Some(fetched));
            Evidence { issued: 7_700_480, ..known }.verdict().proof
        };
        assert!(proof(7_701_000).contains("counted all 7.34 MiB") && !proof(7_701_000).contains("asked for"));
        assert!(proof(7_000_000).contains(", where 7.34 MiB were asked for"), "{}", proof(7_000_000));
    }

    #[test]
    fn holes_are_not_taken_for_a_cache() {
        let stored = Stored { never_written: 1.0, compressed: 0.0 };
        let holes = Evidence { stored, ..evidence(Caching::Direct, Some(0)) };
        assert_eq!(holes.verdict().tier, Tier::NeverWritten);
    }

    #[test]
    fn a_file_with_holes_is_not_said_to_have_nothing_else() {
        let tier = |never_written, fetched| {
            let stored = Stored { never_written, compressed: 0.0 };
            Evidence { stored, ..evidence(Caching::Direct, Some(fetched)) }.verdict().tier
        };
        assert_eq!(tier(0.3, 700_000), Tier::Mixed { from_storage: 0.7 });
        // Metadata is read for holes too.
        assert_eq!([tier(1.0, 100_000), tier(0.3, 0)], [Tier::NeverWritten; 2]);
    }

    #[test]
    fn fewer_bytes_of_a_compressed_file_are_not_taken_for_reads_that_memory_served() {
        let tier = |compressed, fetched| {
            let stored = Stored { never_written: 0.0, compressed };
            Evidence { stored, ..evidence(Caching::Buffered, Some(fetched)) }.verdict().tier
        };
        assert_eq!([tier(1.0, 300_000), tier(0.5, 1_000_000)], [Tier::Unknown; 2]);
        assert_eq!(tier(1.0, 0), Tier::PageCache);
        assert_eq!(tier(0.001, 1_000_000), Tier::Storage);
    }

    #[test]
    fn reads_that_share_the_pages_of_others_are_not_all_called_storage() {
        let verdict =
            |fetched| Evidence { sharing_pages: Some(512), ..evidence(Caching::Buffered, Some(fetched)) }.verdict();
        for fetched in [500_000, 1_000_000, 8_000_000] {
            let small = verdict(fetched);
            assert_eq!(small.tier, Tier::Unknown, "{fetched}");
            assert!(small.proof.contains("which blocks of 512 bytes share with their neighbours"), "{}", small.proof);
        }
        assert_eq!(verdict(0).tier, Tier::PageCache);
    }

    #[test]
    fn reads_that_no_device_saw_are_not_called_storage() {
        let of = |delivered| {
            let mut evidence = evidence(Caching::Direct, Some(1_000_000));
            evidence.counts.delivered_by_device = Some(delivered);
            evidence.layer = Some(Layer::Followed);
            evidence.verdict()
        };
        assert_eq!((of(0).tier, of(0).is_by_layer), (Tier::PageCache, true));
        assert_eq!(of(400_000).tier, Tier::Mixed { from_storage: 0.4 });
        assert_eq!((of(990_000).tier, of(990_000).is_by_layer), (Tier::Storage, false));
        let under = |layer, delivered| {
            let mut evidence = Evidence { layer: Some(layer), ..evidence(Caching::Direct, Some(1_000_000)) };
            evidence.counts.delivered_by_device = delivered;
            evidence.verdict().tier
        };
        assert_eq!(under(Layer::Hidden("its file is gone".into()), None), Tier::Unknown);
        assert_eq!(under(Layer::InMemory("it is a RAM disk".into()), Some(1_000_000)), Tier::Unknown);
        assert_eq!(under(Layer::Followed, Some(1_000_000)), Tier::Storage);
        assert_eq!(under(Layer::Followed, Some(1_200_000)), Tier::Unknown, "others read meanwhile");
    }

    #[test]
    fn blocks_that_a_thin_volume_never_stored_are_not_said_to_come_from_memory() {
        let verdict = |delivered| {
            let mut evidence = Evidence { layer: Some(Layer::Mapped), ..evidence(Caching::Direct, Some(1_000_000)) };
            evidence.counts.delivered_by_device = delivered;
            evidence.verdict()
        };
        for delivered in [0, 400_000] {
            let thin = verdict(Some(delivered));
            assert_eq!((thin.tier, thin.is_by_layer), (Tier::Unknown, false));
            assert!(thin.proof.contains("; the device mapper above them may"), "{}", thin.proof);
        }
        assert_eq!([Some(1_000_000), None].map(|delivered| verdict(delivered).tier), [Tier::Storage; 2]);
    }

    #[test]
    fn what_a_loop_device_fetched_is_not_called_storage_where_no_device_under_it_counts() {
        let tier = |fetched| {
            Evidence { layer: Some(Layer::Followed), ..evidence(Caching::Buffered, Some(fetched)) }.verdict().tier
        };
        assert_eq!([0, 1_000_000].map(tier), [Tier::PageCache, Tier::Unknown]);
    }

    #[test]
    fn a_page_cache_above_a_disk_that_is_memory_is_still_known() {
        let layer = Some(Layer::InMemory("it is a RAM disk".into()));
        let buffered = |fetched| Evidence { layer: layer.clone(), ..evidence(Caching::Buffered, Some(fetched)) };
        assert_eq!([0, 1_000_000].map(|fetched| buffered(fetched).verdict().tier), [Tier::PageCache, Tier::Unknown]);
    }

    #[test]
    fn whole_pages_that_small_blocks_fetch_are_not_taken_for_other_processes() {
        let tier = |delivered| {
            let mut evidence =
                Evidence { layer: Some(Layer::Followed), ..evidence(Caching::Buffered, Some(8_000_000)) };
            evidence.counts.delivered_by_device = Some(delivered);
            evidence.verdict().tier
        };
        assert_eq!(tier(8_000_000), Tier::Storage);
        assert_eq!(tier(9_000_000), Tier::Unknown, "others read meanwhile");
    }

    #[test]
    fn without_any_witness_nothing_is_claimed() {
        assert_eq!(evidence(Caching::Buffered, None).verdict().tier, Tier::Unknown);
    }

    #[test]
    fn no_level_is_named_where_nothing_was_read() {
        let nothing = Evidence { issued: 0, ..evidence(Caching::Direct, Some(0)) };
        assert_eq!((nothing.verdict().tier, nothing.verdict().proof.as_str()), (Tier::Unknown, "nothing was read"));
    }
}
