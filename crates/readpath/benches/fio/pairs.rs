//! Pairs of turns and their ratios: what is left when the drift of the storage is taken out.

use measure::Statistics;
use serde_json::{Value, json};

use crate::workload::Reading;

/// The reader and all of fio's engines, run back to back.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// What the reader needed.
    pub(crate) reader: Reading,
    /// What each of fio's engines needed, by name; at least one.
    pub(crate) peers: Vec<(&'static str, Reading)>,
}

impl Pair {
    /// fio's engine with the most reads per second.
    pub(crate) fn fastest(&self) -> (&'static str, Reading) {
        self.best_by(|reading| -reading.iops)
    }

    /// fio's engine with the least processor time per read.
    pub(crate) fn cheapest(&self) -> (&'static str, Reading) {
        self.best_by(|reading| reading.cpu_us)
    }

    /// fio's engine with the shortest median latency.
    pub(crate) fn promptest(&self) -> (&'static str, Reading) {
        self.best_by(|reading| reading.latency_us)
    }

    /// The reader's reads per second in those of fio's fastest engine.
    pub(crate) fn iops_ratio(&self) -> f64 {
        self.reader.iops / self.fastest().1.iops
    }

    /// The reader's processor time per read in that of fio's cheapest engine.
    pub(crate) fn cpu_ratio(&self) -> f64 {
        self.reader.cpu_us / self.cheapest().1.cpu_us
    }

    /// The reader's median latency in that of fio's promptest engine.
    pub(crate) fn latency_ratio(&self) -> f64 {
        self.reader.latency_us / self.promptest().1.latency_us
    }

    /// The pair for the JSON report.
    pub(crate) fn to_json(&self) -> Value {
        let of = |reading: &Reading| {
            let Reading { iops, cpu_us, latency_us } = reading;
            json!({ "iops": iops, "cpu_us": cpu_us, "latency_us_median": latency_us })
        };
        let of_peer = |(name, reading): &(&str, Reading)| json!({ "engine": name, "reading": of(reading) });
        let peers: Vec<Value> = self.peers.iter().map(of_peer).collect();
        json!({
            "readpath": of(&self.reader),
            "fio": peers,
            "ratios": { "iops": self.iops_ratio(), "cpu": self.cpu_ratio(), "latency": self.latency_ratio() },
        })
    }

    fn best_by(&self, cost: impl Fn(&Reading) -> f64) -> (&'static str, Reading) {
        let best = self.peers.iter().min_by(|(_, one), (_, other)| cost(one).total_cmp(&cost(other)));
        *best.expect("a pair holds at least one of fio's engines")
    }
}

/// Median, smallest and largest of one ratio over all pairs; `None` without pairs or with a ratio that is no number.
pub(crate) fn spread(pairs: &[Pair], ratio: impl Fn(&Pair) -> f64) -> Option<Statistics> {
    Statistics::of_samples(&pairs.iter().map(ratio).collect::<Vec<f64>>())
}

/// The order of the contenders in a pair: it turns around from pair to pair, so that none is always first.
pub(crate) fn order(pair_index: u64, contenders: usize) -> Vec<usize> {
    let forward = 0..contenders;
    if pair_index.is_multiple_of(2) { forward.collect() } else { forward.rev().collect() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn reading(iops: f64, cpu_us: f64, latency_us: f64) -> Reading {
        Reading { iops, cpu_us, latency_us }
    }

    fn pair(reader: Reading) -> Pair {
        Pair { reader, peers: vec![("fast", reading(100.0, 8.0, 50.0)), ("cheap", reading(80.0, 4.0, 60.0))] }
    }

    #[test]
    fn each_ratio_is_to_the_engine_that_is_best_at_it() {
        let pair = pair(reading(90.0, 5.0, 55.0));
        assert_eq!((pair.fastest().0, pair.cheapest().0, pair.promptest().0), ("fast", "cheap", "fast"));
        assert_eq!((pair.iops_ratio(), pair.cpu_ratio(), pair.latency_ratio()), (0.9, 1.25, 1.1));
    }

    #[test]
    fn the_median_pair_decides_and_not_one_that_was_disturbed() {
        let pairs: Vec<Pair> = [98.0, 97.0, 20.0].map(|iops| pair(reading(iops, 4.0, 50.0))).to_vec();
        let spread = spread(&pairs, Pair::iops_ratio).unwrap();
        assert_eq!((spread.min, spread.median, spread.max), (0.2, 0.97, 0.98));
    }

    #[test]
    fn without_pairs_there_is_no_ratio() {
        assert!(spread(&[], Pair::iops_ratio).is_none());
    }

    #[test]
    fn the_order_turns_around_from_pair_to_pair() {
        assert_eq!((order(0, 3), order(1, 3), order(2, 3)), (vec![0, 1, 2], vec![2, 1, 0], vec![0, 1, 2]));
    }
}
