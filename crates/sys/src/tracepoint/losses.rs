//! What a ring has lost, each record once. The kernel writes how many were lost before the next record that finds room,
//! which may never come: the last losses are known from its counters alone.

use super::record::Loss;

/// The losses of a ring so far.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Those that records in the ring have told.
    recorded: u64,
    /// Those that were handed on.
    known: u64,
}

impl Losses {
    /// A record in the ring says that `count` were lost before it, and since the record before that says so.
    pub(super) fn record(&mut self, count: u64, (from, until): (u64, u64)) -> Option<Loss> {
        self.recorded = self.recorded.saturating_add(count);
        self.count(self.recorded, (from, until))
    }

    /// The kernel's counters say that `count` were lost since the ring was opened.
    pub(super) fn count(&mut self, count: u64, (from, until): (u64, u64)) -> Option<Loss> {
        let records = count.saturating_sub(self.known);
        self.known += records;
        (records > 0).then_some(Loss { from, until, records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counters_and_records_both_tell_is_lost_once() {
        let mut losses = Losses::default();
        let mut told = Vec::new();
        told.extend(losses.count(0, (0, 1)));
        told.extend(losses.record(5, (10, 20)));
        told.extend(losses.count(5, (20, 30)));
        // The counters are ahead of the record that tells the same later, and of more.
        told.extend(losses.count(12, (30, 40)));
        told.extend(losses.record(9, (30, 50)));
        told.extend(losses.count(16, (50, 60)));
        let of = |from, until, records| Loss { from, until, records };
        assert_eq!(told, [of(10, 20, 5), of(30, 40, 7), of(30, 50, 2), of(50, 60, 2)]);
    }
}
