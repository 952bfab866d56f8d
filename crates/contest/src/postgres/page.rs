//! The page: all cells as a table.

use std::fmt::Write;

use crate::bars::figure;
use crate::postgres::judgement::Comparison;

/// All cells as a table of medians.
pub(crate) fn table(comparisons: &[Comparison]) -> String {
    let mut page = String::from("                                PostgreSQL                      readpath\n");
    page += "bytes x columns  touch        us/block  explained  rows/block  us/block  rows/block";
    page += "  of PostgreSQL's  of 8 KiB streamed\n";
    for comparison in comparisons {
        let (postgres, engine) = (comparison.rows_per_block.postgres, comparison.rows_per_block.engine);
        let us = |of| figure(comparison.median(of));
        // Writing to a String cannot fail.
        let _ = write!(page, "{:<15}  {:<11}", comparison.cell.to_string(), comparison.touch.name());
        let _ = write!(page, "  {:>8}", us(|pair| pair.postgres.lio_us));
        let _ = write!(page, "  {:>9}  {postgres:>10.1}", us(|pair| pair.postgres.explained_us));
        let _ = write!(page, "  {:>8}  {engine:>10.1}", us(|pair| pair.engine_us));
        let _ = writeln!(page, "  {:>15}  {:>17}", figure(comparison.ratio()), figure(comparison.streams()));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::judgement::tests::comparison;

    #[test]
    fn every_cell_is_one_line_of_medians() {
        let page = table(&[comparison(2.0, &[0.5, 0.4, 0.3], 0.32)]);
        let last: Vec<&str> = page.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["250", "x", "5", "rows", "2.00", "4.00", "26.0", "0.400", "31.0", "0.200", "1.25"]);
    }
}
