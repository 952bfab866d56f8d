//! Looks ahead in the addresses of the rows to come: when one of the next rows has to be read, what is missing of those
//! beside it is read in the same request, while the rows before them are handed on.
//!
//! How far it looks follows what it meets, as a read stream's distance does in PostgreSQL: twice as far after rows of
//! which one had to be read, a row less for each row of a run that was all cached. So a join whose rows are all
//! cached asks for nothing that it may not need, and one whose rows are all missing comes to the cap within a few
//! requests.

use super::join::Distance;
use super::work::Work;
use crate::btree::probe::Hit;
use crate::error::StorageError;
use crate::page::access::ReadAhead;

/// Outer rows that are looked up ahead of the rows that are fetched, at least: the searches go side by side, whatever
/// the distance is.
const LOOK_UPS: usize = 64;

pub(super) fn run<A: ReadAhead>(work: &mut Work<'_, '_, A>, distance: Distance) -> Result<(), StorageError> {
    let mut ahead = Ahead::new(distance);
    let mut hits: Vec<Hit> = Vec::new();
    let mut asked = 0;
    loop {
        while work.has_more() && hits.len() - asked < ahead.rows {
            hits.drain(..asked);
            asked = 0;
            work.look_up_next(ahead.rows.max(LOOK_UPS), &mut hits)?;
        }
        let coming = &hits[asked..];
        if coming.is_empty() {
            return work.finish();
        }
        let cached = coming.iter().position(|hit| !work.access.is_cached(work.page(hit))).unwrap_or(coming.len());
        let count = cached.max(ahead.portion()).min(coming.len());
        work.fetch(&coming[..count])?;
        // Nothing is to be on its way beyond the distance.
        if ahead.rows == 1 && count > cached {
            work.finish()?;
        }
        match count > cached {
            true => ahead.go_farther(),
            false => ahead.come_nearer(count),
        }
        asked += count;
    }
}

/// How far to look.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    rows: usize,
    least: usize,
    most: usize,
}

impl Ahead {
    fn new(distance: Distance) -> Ahead {
        match distance {
            Distance::UpTo(most) => Ahead { rows: 1, least: 1, most: most.max(1) },
            Distance::Fixed(rows) => Ahead { rows: rows.max(1), least: rows.max(1), most: rows.max(1) },
        }
    }

    /// Rows that are asked for at once: half of those ahead, because the other half is on its way meanwhile.
    fn portion(&self) -> usize {
        (self.rows / 2).max(1)
    }

    fn go_farther(&mut self) {
        self.rows = self.rows.saturating_mul(2).min(self.most);
    }

    fn come_nearer(&mut self, cached_rows: usize) {
        self.rows = self.rows.saturating_sub(cached_rows).max(self.least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_doubles_to_its_cap_and_falls_by_a_row() {
        let mut ahead = Ahead::new(Distance::UpTo(20));
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(ahead.rows);
            ahead.go_farther();
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 20]);
        ahead.come_nearer(3);
        assert_eq!(ahead.rows, 17);
        ahead.come_nearer(1000);
        assert_eq!(ahead.rows, 1);
        let mut fixed = Ahead::new(Distance::Fixed(7));
        fixed.go_farther();
        fixed.come_nearer(3);
        assert_eq!(fixed.rows, 7);
    }
}
