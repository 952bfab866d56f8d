//! What a read costs from the device, by what the device took for reads of the same length in this profile.

use crate::event::Ticks;

/// Lengths that are kept apart: 1, 2 and 3, 4 to 7 blocks and so on.
pub(super) const LENGTHS: usize = 10;

/// Reads from the device from which on their mean says what one costs.
pub(super) const READS_MIN: u64 = 20;

/// Of which length a read of this number of blocks is.
pub(super) fn length(blocks: u64) -> usize {
    (blocks.max(1).ilog2() as usize).min(LENGTHS - 1)
}

/// Reads by their length.
pub(super) type ByLength = [u64; LENGTHS];

/// Reads that the device answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Price {
    reads: ByLength,
    time: [Ticks; LENGTHS],
}

impl Price {
    /// Adds reads of one length that the device answered.
    pub(super) fn add(&mut self, length: usize, reads: u64, time: Ticks) {
        self.reads[length] += reads;
        self.time[length] += time;
    }

    /// What these reads would take from the device; `None` where too few showed it.
    pub(super) fn of(&self, reads: &ByLength) -> Option<Ticks> {
        let known: Vec<usize> = (0..LENGTHS).filter(|length| self.reads[*length] >= READS_MIN).collect();
        let mut whole = 0.0;
        for (length, count) in reads.iter().enumerate().filter(|(_, count)| **count > 0) {
            // A read of a length that was not met costs what the nearest length does.
            let nearest = known.iter().copied().min_by_key(|known| known.abs_diff(length))?;
            whole += *count as f64 * (self.time[nearest].0 as f64 / self.reads[nearest] as f64);
        }
        Some(Ticks(whole as i64))
    }

    /// Reads from the device, and the mean time of one.
    pub(super) fn mean(&self) -> (u64, Option<Ticks>) {
        let (reads, time): (u64, Ticks) = (self.reads.iter().sum(), self.time.iter().copied().sum());
        (reads, (reads > 0).then(|| Ticks((time.0 as f64 / reads as f64) as i64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_costs_what_those_of_its_length_did_and_few_reads_say_nothing() {
        let mut price = Price::default();
        price.add(length(1), 19, Ticks(1_900));
        let mut reads = [0; LENGTHS];
        reads[length(1)] = 10;
        assert_eq!(price.of(&reads), None);
        price.add(length(1), 1, Ticks(300));
        assert_eq!(price.of(&reads), Some(Ticks(1_100)));
        price.add(length(16), 20, Ticks(20_000));
        reads[length(20)] = 1;
        assert_eq!(price.of(&reads), Some(Ticks(2_100)), "one of 16 to 31 blocks among ten of one");
        assert_eq!((length(0), length(3), length(1 << 40)), (0, 1, LENGTHS - 1));
        assert_eq!(price.of(&[0; LENGTHS]), Some(Ticks::ZERO));
    }
}
