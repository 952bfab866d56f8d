//! Memory that should use huge pages and does not: the one finding about it.

use measure::quantity::size_in_words;
use measure::schema::subjects::findings as row;
use measure::{Finding, Unit};

/// The finding where less than half of `bytes` uses huge pages. `what` names the memory, `cost` what gets dearer;
/// `granted` is `None` where the system does not report it.
pub fn not_granted(what: &str, bytes: u64, granted: Option<u64>, cost: &str) -> Option<Finding> {
    if granted.is_some_and(|granted| granted >= bytes / 2) {
        return None;
    }
    let message = format!(
        "{what} needs 2 MiB pages, but the system granted {} of {}: {cost} contains a TLB miss. Set \
         /sys/kernel/mm/transparent_hugepage/enabled to madvise or always.",
        granted.map_or("an unknown part".into(), size_in_words),
        size_in_words(bytes)
    );
    let finding = row::HUGE_PAGES_NOT_GRANTED.of(message).with("wanted", bytes as f64, Unit::Bytes);
    Some(match granted {
        Some(granted) => finding.with("granted", granted as f64, Unit::Bytes),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_does_not_report_counts_as_not_granted() {
        let finding = |granted| not_granted("The pool", 8 << 20, granted, "every get");
        assert_eq!(finding(Some(4 << 20)), None);
        assert_eq!(finding(Some(2 << 20)).unwrap().values["granted"].value, f64::from(2 << 20));
        assert!(finding(None).unwrap().message.contains("an unknown part of 8 MiB"));
    }
}
