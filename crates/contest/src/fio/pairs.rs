//! Pairs of turns and their ratios: what is left when the drift of the storage is taken out.

use measure::Statistics;
use measure::statistics::median;

use crate::fio::workload::Reading;

/// The reader and all of fio's engines, run back to back.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// What the reader needed.
    pub(crate) reader: Reading,
    /// What each of fio's engines needed, by name; at least one.
    pub(crate) peers: Vec<(&'static str, Reading)>,
}

/// Which of fio's engines is best at what, by the medians over all pairs of a workload.
///
/// One engine is picked for the whole workload. Picking the luckiest of four noisy turns anew in each pair would hold
/// the reader against a peer that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Best {
    /// Most reads per second.
    pub(crate) fastest: &'static str,
    /// Least processor time per read.
    pub(crate) cheapest: &'static str,
    /// Shortest median latency.
    pub(crate) promptest: &'static str,
}

impl Best {
    /// The best engines of these pairs; `None` without pairs.
    pub(crate) fn of(pairs: &[Pair]) -> Option<Best> {
        let names = || pairs.first().into_iter().flat_map(|pair| pair.peers.iter().map(|(name, _)| *name));
        let least = |cost: fn(&Reading) -> f64| {
            let of_engine = |name| median(&pairs.iter().map(|pair| cost(&pair.peer(name))).collect::<Vec<f64>>());
            let costs = names().filter_map(|name| Some((name, of_engine(name)?)));
            costs.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(name, _)| name)
        };
        Some(Best {
            fastest: least(|reading| -reading.iops)?,
            cheapest: least(|reading| reading.cpu_us)?,
            promptest: least(|reading| reading.latency_us)?,
        })
    }
}

impl Pair {
    /// What the engine of this name needed.
    pub(crate) fn peer(&self, name: &str) -> Reading {
        let found = self.peers.iter().find(|(engine, _)| *engine == name);
        found.map(|(_, reading)| *reading).expect("every pair holds the same engines")
    }

    /// The reader's reads per second in those of fio's fastest engine.
    pub(crate) fn iops_ratio(&self, best: &Best) -> f64 {
        self.reader.iops / self.peer(best.fastest).iops
    }

    /// The reader's processor time per read in that of fio's cheapest engine.
    pub(crate) fn cpu_ratio(&self, best: &Best) -> f64 {
        self.reader.cpu_us / self.peer(best.cheapest).cpu_us
    }

    /// The reader's median latency in that of fio's promptest engine.
    pub(crate) fn latency_ratio(&self, best: &Best) -> f64 {
        self.reader.latency_us / self.peer(best.promptest).latency_us
    }
}

/// Median, smallest and largest of one ratio over all pairs; `None` without pairs or with a ratio that is no number.
pub(crate) fn spread(pairs: &[Pair], ratio: fn(&Pair, &Best) -> f64) -> Option<Statistics> {
    let best = Best::of(pairs)?;
    Statistics::of_samples(&pairs.iter().map(|pair| ratio(pair, &best)).collect::<Vec<f64>>())
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
        let best = Best::of(std::slice::from_ref(&pair)).unwrap();
        assert_eq!(best, Best { fastest: "fast", cheapest: "cheap", promptest: "fast" });
        assert_eq!((pair.iops_ratio(&best), pair.cpu_ratio(&best), pair.latency_ratio(&best)), (0.9, 1.25, 1.1));
    }

    #[test]
    fn one_lucky_turn_does_not_make_an_engine_the_best() {
        let usual = pair(reading(90.0, 5.0, 55.0));
        let mut lucky = usual.clone();
        lucky.peers[1].1.iops = 500.0;
        let best = Best::of(&[usual.clone(), lucky, usual]).unwrap();
        assert_eq!(best.fastest, "fast");
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
}
