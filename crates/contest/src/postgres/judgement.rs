//! What is wanted of each cell, and what the pairs say.

use measure::statistics::median;
use measure::{Statistics, Unit};

use crate::bars::{Bar, Wanted, figure};
use crate::postgres::cell::{Cell, Touch};
use crate::postgres::peer::Reading;

/// A block's time, in PostgreSQL's.
const RATIO_MAX: f64 = 0.2;
/// A block's time in that of streaming as many bytes from memory: where every line of the block has to come from
/// there, nothing can be faster than this by much.
const STREAMS_MAX: f64 = 1.25;

/// One cell and touch in all pairs.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) cell: Cell,
    pub(crate) touch: Touch,
    /// Rows in a full block.
    pub(crate) rows_per_block: RowsPerBlock,
    pub(crate) pairs: Vec<Pair>,
}

/// How many rows a block holds: PostgreSQL's rows have longer heads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowsPerBlock {
    pub(crate) postgres: f64,
    pub(crate) engine: f64,
}

/// Both contenders and the memory, back to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) postgres: Reading,
    /// The engine's time per block, in µs.
    pub(crate) engine_us: f64,
    /// The time to stream a block from memory, in µs.
    pub(crate) stream_us: f64,
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.engine_us / self.postgres.lio_us
    }

    fn streams(&self) -> f64 {
        self.engine_us / self.stream_us
    }
}

impl Comparison {
    /// The median over all pairs.
    pub(crate) fn median(&self, of: fn(&Pair) -> f64) -> f64 {
        median(&self.samples(of)).unwrap_or(f64::NAN)
    }

    /// The engine's time in PostgreSQL's.
    pub(crate) fn ratio(&self) -> f64 {
        self.median(Pair::ratio)
    }

    /// The engine's time in that of streaming the block.
    pub(crate) fn streams(&self) -> f64 {
        self.median(Pair::streams)
    }

    /// One of two bars is enough. The second is the one that is judged only where the first is missed and it is not.
    pub(crate) fn bar(&self) -> Bar {
        let place = format!("{}, {}", self.cell, self.touch.name());
        let by_stream = self.ratio() > RATIO_MAX && self.streams() <= STREAMS_MAX;
        let (name, wanted, of): (String, Wanted, fn(&Pair) -> f64) = if by_stream {
            let name =
                format!("{place}: a block in the time to stream 8 KiB ({} of PostgreSQL's)", figure(self.ratio()));
            (name, Wanted::AtMost(STREAMS_MAX), Pair::streams)
        } else {
            (format!("{place}: a block in PostgreSQL's time"), Wanted::AtMost(RATIO_MAX), Pair::ratio)
        };
        let measured = Statistics::of_samples(&self.samples(of)).ok_or_else(|| "a turn gave no number".into());
        Bar { name, wanted, word: "dearer", unit: Unit::Ratio, measured }
    }

    fn samples(&self, of: fn(&Pair) -> f64) -> Vec<f64> {
        self.pairs.iter().map(of).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bars::Verdict;

    pub(crate) fn comparison(postgres_us: f64, engine_us: &[f64], stream_us: f64) -> Comparison {
        let postgres = Reading { lio_us: postgres_us, explained_us: 2.0 * postgres_us };
        let pairs = engine_us.iter().map(|engine_us| Pair { postgres, engine_us: *engine_us, stream_us }).collect();
        let rows_per_block = RowsPerBlock { postgres: 26.0, engine: 31.0 };
        Comparison { cell: Cell::new(250, 5), touch: Touch::Rows, rows_per_block, pairs }
    }

    #[test]
    fn a_fifth_of_postgres_is_enough() {
        let bar = comparison(2.0, &[0.4], 0.01).bar();
        assert_eq!(bar.verdict(), Verdict::Met);
        assert!(bar.name.ends_with("in PostgreSQL's time"));
    }

    #[test]
    fn what_the_memory_cannot_give_faster_is_not_asked_for() {
        let bar = comparison(1.0, &[0.36], 0.30).bar();
        assert_eq!(bar.verdict(), Verdict::Met);
        assert!(bar.name.contains("stream 8 KiB (0.360 of PostgreSQL's)"), "{}", bar.name);
    }

    #[test]
    fn a_cell_that_misses_both_is_dearer_than_postgres_allows() {
        let sentence = comparison(1.0, &[0.5, 0.4, 3.0], 0.30).bar().sentence();
        assert!(sentence.ends_with("wanted at most 0.200: dearer by 0.300"), "{sentence}");
    }
}
