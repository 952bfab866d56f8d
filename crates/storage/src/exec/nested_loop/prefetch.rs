//! Looks ahead in the addresses of the rows to come: when the next row has to be read, what is missing of those behind
//! it is read in the same request.
//!
//! How far it looks follows what it meets, as a read stream's distance does in PostgreSQL: twice as far after a row
//! that had to be read, one row less after a row that was cached. So a join whose rows are all cached asks for nothing
//! that it may not need, and one whose rows are all missing comes to the cap within a few requests.

use super::{Distance, Work};
use crate::btree::probe::Hit;
use crate::error::StorageError;
use crate::heap::PageAccess;

/// Outer rows that are looked up ahead of the rows that are fetched, at least: the searches go side by side, whatever
/// the distance is.
const LOOK_UPS: usize = 64;

pub(super) fn run<A: PageAccess>(work: &mut Work<'_, '_, A>, distance: Distance) -> Result<(), StorageError> {
    let mut ahead = Ahead::new(distance);
    let mut hits: Vec<Hit> = Vec::new();
    let mut fetched = 0;
    loop {
        while work.has_more() && hits.len() - fetched < ahead.rows {
            hits.drain(..fetched);
            fetched = 0;
            work.look_up_next(ahead.rows.max(LOOK_UPS), &mut hits)?;
        }
        let coming = &hits[fetched..];
        if coming.is_empty() {
            return Ok(());
        }
        let cached = coming.iter().position(|hit| !work.access.is_cached(work.page(hit))).unwrap_or(coming.len());
        let count = if cached > 0 { cached } else { ahead.rows.min(coming.len()) };
        if cached > 0 {
            work.hand_on(&coming[..count])?;
            ahead.come_nearer(count);
        } else {
            work.fetch(&coming[..count])?;
            ahead.go_farther();
        }
        fetched += count;
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
