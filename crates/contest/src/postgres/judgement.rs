//! What is wanted of each cell, and what the pairs say.

use measure::quantity::three_digits;
use measure::schema::contest::{LIO, STREAM_BLOCK};
use measure::statistics::median;

use crate::bars::{Bar, Judged, Wanted};
use crate::ledger::Ledger;
use crate::postgres::cell::{Cell, TOUCHES};

/// The contenders, and the memory that both are held against.
pub(crate) const POSTGRES: &str = "PostgreSQL";
pub(crate) const READPATH: &str = "readpath";
pub(crate) const MEMORY: &str = "memory";

/// A block's time, in PostgreSQL's.
const RATIO_MAX: f64 = 0.2;
/// A block's time in that of streaming as many bytes from memory: where every line of the block has to come from
/// there, nothing can be faster than this by much.
const STREAMS_MAX: f64 = 1.25;

/// One bar for each cell and touch.
pub(crate) fn bars(ledger: &Ledger, cells: &[Cell]) -> Vec<Bar> {
    cells.iter().flat_map(|cell| TOUCHES.map(|touch| bar(ledger, &cell.question(touch)))).collect()
}

/// One of two bars is enough. The second is judged only where the first is missed and the second is not.
fn bar(ledger: &Ledger, question: &str) -> Bar {
    let of_postgres = ledger.ratios(question, (READPATH, &LIO), (POSTGRES, &LIO));
    let of_stream = ledger.ratios(question, (READPATH, &LIO), (MEMORY, &STREAM_BLOCK));
    let middle = |samples: &[f64]| median(samples).unwrap_or(f64::NAN);
    let ratio = middle(&of_postgres);
    let judged = |most| Judged::ratio(Wanted::AtMost(most), "dearer");
    if ratio > RATIO_MAX && middle(&of_stream) <= STREAMS_MAX {
        let name = format!("{question}: a block in the time to stream 8 KiB");
        return Bar::of_samples(name, judged(STREAMS_MAX), &of_stream, "a turn gave no number")
            .from(format!("{} of PostgreSQL's time", three_digits(ratio)));
    }
    let name = format!("{question}: a block in PostgreSQL's time");
    Bar::of_samples(name, judged(RATIO_MAX), &of_postgres, "a turn gave no number")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    fn bar_of(postgres_us: f64, engine_us: &[f64], stream_us: f64) -> Bar {
        let mut ledger = Ledger::default();
        for us in engine_us {
            ledger.add("250 x 5, rows", POSTGRES, &LIO, postgres_us);
            ledger.add("250 x 5, rows", READPATH, &LIO, *us);
            ledger.add("250 x 5, rows", MEMORY, &STREAM_BLOCK, stream_us);
        }
        bar(&ledger, "250 x 5, rows")
    }

    #[test]
    fn a_fifth_of_postgres_is_enough() {
        let bar = bar_of(2.0, &[0.4], 0.01);
        assert_eq!(bar.outcome(), Outcome::Met);
        assert!(bar.name.ends_with("in PostgreSQL's time"));
    }

    #[test]
    fn what_the_memory_cannot_give_faster_is_not_asked_for() {
        let bar = bar_of(1.0, &[0.36], 0.30);
        assert_eq!(bar.outcome(), Outcome::Met);
        assert!(bar.name.contains("stream 8 KiB") && bar.sentence().contains("0.360 of PostgreSQL's"));
    }

    #[test]
    fn a_cell_that_misses_both_is_dearer_than_postgres_allows() {
        let sentence = bar_of(1.0, &[0.5, 0.4, 3.0], 0.30).sentence();
        assert!(sentence.contains("wanted at most 0.200: dearer by 0.300"), "{sentence}");
    }
}
