//! What is wanted of each cell, and what the pairs say.

use measure::quantity::three_digits;
use measure::schema::contest::{LIO, STREAM_BLOCK};
use measure::statistics::median;

use crate::bars::{Bar, Judged, Wanted};
use crate::ledger::Ledger;
use crate::postgres::cell::{Cell, TOUCHES, Touch};

/// The contenders, and the memory that both are held against.
pub(crate) const POSTGRES: &str = "PostgreSQL";
pub(crate) const READPATH: &str = "readpath";
pub(crate) const MEMORY: &str = "memory";

/// A block's time, in PostgreSQL's.
const RATIO_MAX: f64 = 0.2;
/// A block's time in that of streaming the lines that are touched of it: where they have to come from memory, nothing
/// can be faster than this by much.
const STREAMS_MAX: f64 = 1.25;

/// One bar for each cell and touch.
pub(crate) fn all(ledger: &Ledger, cells: &[Cell]) -> Vec<Bar> {
    cells.iter().flat_map(|cell| TOUCHES.map(|touch| bar(ledger, *cell, touch))).collect()
}

/// One of two bars is enough. The second is judged only where the first is missed and the second is not.
fn bar(ledger: &Ledger, cell: Cell, touch: Touch) -> Bar {
    let (question, touched) = (&cell.question(touch), cell.lines_touched(touch));
    let of_postgres = ledger.ratios(question, (READPATH, &LIO), (POSTGRES, &LIO));
    let of_blocks = ledger.ratios(question, (READPATH, &LIO), (MEMORY, &STREAM_BLOCK));
    let of_stream: Vec<f64> = of_blocks.iter().map(|ratio| ratio / touched).collect();
    let middle = |samples: &[f64]| median(samples).unwrap_or(f64::NAN);
    let ratio = middle(&of_postgres);
    let judged = |most| Judged::ratio(Wanted::AtMost(most), "dearer");
    if ratio > RATIO_MAX && middle(&of_stream) <= STREAMS_MAX {
        let name = format!("{question}: a block in the time to stream what is touched of it");
        let source =
            format!("{} of PostgreSQL's time; {} % of the lines", three_digits(ratio), three_digits(touched * 100.0));
        return Bar::of_samples(name, judged(STREAMS_MAX), &of_stream, "a turn gave no number").from(source);
    }
    let name = format!("{question}: a block in PostgreSQL's time");
    Bar::of_samples(name, judged(RATIO_MAX), &of_postgres, "a turn gave no number")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    fn bar_of(cell: Cell, postgres_us: f64, engine_us: &[f64], stream_us: f64) -> Bar {
        let (mut ledger, question) = (Ledger::default(), cell.question(Touch::Rows));
        for us in engine_us {
            ledger.add(&question, POSTGRES, &LIO, postgres_us);
            ledger.add(&question, READPATH, &LIO, *us);
            ledger.add(&question, MEMORY, &STREAM_BLOCK, stream_us);
        }
        bar(&ledger, cell, Touch::Rows)
    }

    /// Of its blocks every line is touched.
    const DENSE: Cell = Cell { row_length: 25, columns: 25 };

    #[test]
    fn a_fifth_of_postgres_is_enough() {
        let bar = bar_of(DENSE, 2.0, &[0.4], 0.01);
        assert_eq!(bar.outcome(), Outcome::Met);
        assert!(bar.name.ends_with("in PostgreSQL's time"));
    }

    #[test]
    fn what_the_memory_cannot_give_faster_is_not_asked_for() {
        let bar = bar_of(DENSE, 1.0, &[0.36], 0.30);
        assert_eq!(bar.outcome(), Outcome::Met);
        assert!(bar.name.contains("stream what is touched") && bar.sentence().contains("0.360 of PostgreSQL's"));
    }

    #[test]
    fn a_block_of_which_few_lines_are_touched_is_not_excused_by_the_time_to_stream_all_of_it() {
        let cell = Cell { row_length: 250, columns: 5 };
        assert!((0.2..0.4).contains(&cell.lines_touched(Touch::Rows)), "{}", cell.lines_touched(Touch::Rows));
        let bar = bar_of(cell, 1.0, &[0.235], 0.30);
        assert!(matches!(bar.outcome(), Outcome::Missed(_)), "{}", bar.sentence());
        assert!(bar.name.ends_with("in PostgreSQL's time"), "{}", bar.name);
    }

    #[test]
    fn a_cell_that_misses_both_is_dearer_than_postgres_allows() {
        let sentence = bar_of(DENSE, 1.0, &[0.5, 0.4, 3.0], 0.30).sentence();
        assert!(sentence.contains("wanted at most 0.200: dearer by 0.300"), "{sentence}");
    }
}
