//! What every contender took, pair by pair, and the sums that all must give.

use std::collections::BTreeMap;

use measure::statistics::median;
use measure::{Statistics, Unit};

use crate::bars::figure;
use crate::document::{Document, samples};
use crate::join::rows::Keys;

/// All samples, one a pair, by what was measured.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    series: Vec<Series>,
    sums: BTreeMap<(u64, u64), (String, i64)>,
}

#[derive(Debug)]
struct Series {
    name: String,
    unit: Unit,
    samples: Vec<f64>,
}

impl Ledger {
    /// Adds a sample.
    pub(crate) fn add(&mut self, name: &str, unit: Unit, sample: f64) {
        match self.series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.samples.push(sample),
            None => self.series.push(Series { name: name.into(), unit, samples: vec![sample] }),
        }
    }

    /// Hears of a sum over the rows of these keys. Errors where another contender found another one.
    pub(crate) fn check(&mut self, who: &str, keys: Keys, sum: i64) -> Result<(), String> {
        let Keys { first, count } = keys;
        match self.sums.get(&(first, count)) {
            Some((other, known)) if *known != sum => {
                Err(format!("of the keys from {first}, {who} sums {sum} and {other} {known}"))
            }
            Some(_) => Ok(()),
            None => {
                self.sums.insert((first, count), (who.into(), sum));
                Ok(())
            }
        }
    }

    /// The samples of one series; empty where there is none.
    pub(crate) fn samples(&self, name: &str) -> &[f64] {
        self.series.iter().find(|series| series.name == name).map_or(&[], |series| &series.samples)
    }

    /// Of the series whose name begins so, the one whose median is best by `is_better`.
    pub(crate) fn best(&self, beginning: &str, is_better: fn(f64, f64) -> bool) -> Option<&str> {
        let meant = self.series.iter().filter(|series| series.name.starts_with(beginning));
        let medians = meant.filter_map(|series| Some((series.name.as_str(), median(&series.samples)?)));
        medians.reduce(|best, one| if is_better(one.1, best.1) { one } else { best }).map(|(name, _)| name)
    }

    /// One series in another, pair by pair.
    pub(crate) fn ratio(&self, name: &str, other: &str) -> Result<Statistics, String> {
        let (samples, others) = (self.samples(name), self.samples(other));
        let ratios: Vec<f64> = samples.iter().zip(others).map(|(one, other)| one / other).collect();
        Statistics::of_samples(&ratios).ok_or_else(|| format!("`{name}` or `{other}` was not measured"))
    }

    /// One line a series.
    pub(crate) fn table(&self) -> String {
        let line = |series: &Series| {
            let Some(all) = Statistics::of_samples(&series.samples) else { return String::new() };
            let numbers = [all.median, all.min, all.max].map(|value| format!("{:>10}", figure(value)));
            format!("{:<44} {:>6} {}\n", series.name, series.unit.symbol(), numbers.join(" "))
        };
        let heading = format!("{:<44} {:>6} {:>10} {:>10} {:>10}\n", "", "", "median", "least", "most");
        heading + &self.series.iter().map(line).collect::<String>()
    }

    /// A case for each series.
    pub(crate) fn write_to(&self, document: &mut Document) {
        for Series { name, unit, samples: found } in &self.series {
            let metric = match unit {
                Unit::PerSecond => "blocks_per_second",
                Unit::Milliseconds => "elapsed",
                _ => "cpu_per_row",
            };
            document.case([("series", name.as_str().into())], vec![samples(metric, *unit, found.iter().copied())]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_that_sums_otherwise_ends_the_comparison() {
        let mut ledger = Ledger::default();
        let keys = Keys { first: 1, count: 10 };
        ledger.check("readpath", keys, 7).unwrap();
        ledger.check("PostgreSQL", keys, 7).unwrap();
        ledger.check("PostgreSQL", Keys { first: 11, count: 10 }, 8).unwrap();
        let error = ledger.check("PostgreSQL", keys, 8).unwrap_err();
        assert_eq!(error, "of the keys from 1, PostgreSQL sums 8 and readpath 7");
    }

    #[test]
    fn ratios_are_taken_within_pairs_and_the_best_is_picked_by_its_median() {
        let mut ledger = Ledger::default();
        for (ours, deep, shallow) in [(90.0, 100.0, 50.0), (45.0, 50.0, 500.0), (99.0, 110.0, 60.0)] {
            ledger.add("batch", Unit::PerSecond, ours);
            ledger.add("fio deep", Unit::PerSecond, deep);
            ledger.add("fio shallow", Unit::PerSecond, shallow);
        }
        assert_eq!(ledger.best("fio", |one, best| one > best), Some("fio deep"));
        assert!((ledger.ratio("batch", "fio deep").unwrap().median - 0.9).abs() < 1e-9);
        assert!(ledger.ratio("batch", "nobody").is_err());
        assert!(ledger.table().contains("fio shallow"), "{}", ledger.table());
    }
}
