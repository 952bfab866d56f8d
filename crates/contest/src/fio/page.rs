//! The page: the pairs of a workload as a table.

use std::fmt::Write;

use crate::bars::figure;
use crate::fio::pairs::{Best, Pair};
use crate::fio::workload::Workload;

/// The pairs of one workload as a table.
pub(crate) fn table(workload: &Workload, milliseconds: u64, pairs: &[Pair]) -> String {
    let seconds = milliseconds as f64 / 1000.0;
    let mut page = format!("{}, direct, {} pairs of {seconds} s each\n", workload.title, pairs.len());
    page += "pair     readpath IOPS  CPU us  p50 us     fio IOPS  fastest            CPU us  cheapest";
    page += "           IOPS x  CPU x\n";
    if let Some(best) = Best::of(pairs) {
        page.extend(pairs.iter().enumerate().map(|(index, pair)| row(index + 1, pair, &best)));
    }
    page
}

fn row(number: usize, pair: &Pair, best: &Best) -> String {
    let Best { fastest, cheapest, .. } = best;
    let (most, least) = (pair.peer(fastest), pair.peer(cheapest));
    let mut line = format!("{number:>4} {:>17.0}", pair.reader.iops);
    // Writing to a String cannot fail.
    let _ = write!(line, " {:>7} {:>7}", figure(pair.reader.cpu_us), figure(pair.reader.latency_us));
    let _ = write!(line, " {:>12.0}  {fastest:<17} {:>7}  {cheapest:<17}", most.iops, figure(least.cpu_us));
    let _ = writeln!(line, " {:>7} {:>6}", figure(pair.iops_ratio(best)), figure(pair.cpu_ratio(best)));
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::pairs::tests::reading;
    use crate::fio::workload::WORKLOADS;

    #[test]
    fn every_pair_stands_in_the_table_with_its_ratios() {
        let pair = Pair { reader: reading(50.0, 5.0, 80.0), peers: vec![("io_uring", reading(100.0, 4.0, 79.0))] };
        let page = table(&WORKLOADS[0], 500, &[pair.clone(), pair]);
        assert_eq!(page.lines().count(), 4);
        assert!(page.starts_with("random 8 KiB, depth 1, direct, 2 pairs of 0.5 s each\n"));
        assert!(page.lines().last().unwrap().ends_with("0.500   1.25"));
    }
}
