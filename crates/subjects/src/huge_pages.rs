//! Memory that was to stand on huge pages and does not: the one finding about it.

use measure::Finding;
use measure::quantity::size_in_words;

/// The finding where less than half of `bytes` stands on huge pages. `what` names the memory, `cost` what gets dearer;
/// `granted` is `None` where the system does not say.
pub fn not_granted(what: &str, bytes: u64, granted: Option<u64>, cost: &str) -> Option<Finding> {
    let is_granted = granted.is_some_and(|granted| granted >= bytes / 2);
    let message = || {
        format!(
            "{what} needs 2 MiB pages, but the system granted {} of {}: {cost} contains a TLB miss. \
             Set /sys/kernel/mm/transparent_hugepage/enabled to madvise or always.",
            granted.map_or("an unknown part".into(), size_in_words),
            size_in_words(bytes)
        )
    };
    (!is_granted).then(|| Finding::warning("huge-pages-not-granted", message()))
}
