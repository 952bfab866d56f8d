//! Times of executions, summed up so far that their mean and their spread are known.

use crate::event::{Merge, Ticks};

/// How many values there were, their mean and their squared distances from it (Welford), in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sample {
    count: f64,
    mean: f64,
    squares: f64,
}

/// Quantiles of Student's distribution that 97.5 % stay below, for 1 to 10 degrees of freedom.
const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// The same of the normal distribution.
const NORMAL: f64 = 1.959_964;

impl Sample {
    pub(super) fn add(&mut self, value: Ticks) {
        self.merge(&Sample { count: 1.0, mean: value.micros(), squares: 0.0 });
    }

    /// Adds executions that took none of this time, until there are `count`.
    pub(super) fn fill(&mut self, count: u64) {
        let missing = (count as f64 - self.count).max(0.0);
        self.merge(&Sample { count: missing, mean: 0.0, squares: 0.0 });
    }

    fn variance(&self) -> Option<f64> {
        (self.count >= 2.0).then(|| self.squares / (self.count - 1.0))
    }
}

impl Merge for Sample {
    fn merge(&mut self, other: &Sample) {
        let count = self.count + other.count;
        if count == 0.0 {
            return;
        }
        let distance = other.mean - self.mean;
        self.mean += distance * other.count / count;
        self.squares += other.squares + distance * distance * self.count * other.count / count;
        self.count = count;
    }
}

/// How far the difference of two means may be off with 95 %, by the spread of the values alone (Welch). A side with one
/// value is taken to spread as the other does; `None` where both have one, or a side has none.
pub(super) fn margin(before: &Sample, after: &Sample) -> Option<f64> {
    if before.count < 1.0 || after.count < 1.0 {
        return None;
    }
    let first = before.variance().or(after.variance())? / before.count;
    let second = after.variance().or(before.variance())? / after.count;
    let freedom = match (before.variance(), after.variance()) {
        (Some(_), Some(_)) if first + second > 0.0 => {
            (first + second).powi(2) / (first.powi(2) / (before.count - 1.0) + second.powi(2) / (after.count - 1.0))
        }
        _ => before.count + after.count - 2.0,
    };
    Some(quantile(freedom) * (first + second).sqrt())
}

/// Fractions of a degree of freedom are cut off, which makes the interval wider.
fn quantile(freedom: f64) -> f64 {
    match freedom as usize {
        few @ 0..=10 => STUDENT[few.max(1) - 1],
        _ => {
            let (z, n) = (NORMAL, freedom.floor());
            z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(values: &[i64]) -> Sample {
        let mut sample = Sample::default();
        values.iter().for_each(|micros| sample.add(Ticks::from_micros(*micros)));
        sample
    }

    #[test]
    fn the_margin_is_that_of_the_textbook() {
        // Two samples of five with variances 2.5 and 10: s = sqrt(0.5 + 2), 5.88 degrees of freedom, of them 5.
        let margin = margin(&sample(&[1, 2, 3, 4, 5]), &sample(&[2, 4, 6, 8, 10])).unwrap();
        assert!((margin - 2.571 * 2.5_f64.sqrt()).abs() < 1e-9, "{margin}");
        assert!((quantile(30.0) - 2.0423).abs() < 1e-3 && (quantile(1e9) - NORMAL).abs() < 1e-6);
    }

    #[test]
    fn one_execution_is_held_against_the_spread_of_the_other_side() {
        let many = sample(&[1, 2, 3, 4, 5]);
        let expected = 2.776 * (2.5_f64 * 1.2).sqrt();
        assert!((margin(&sample(&[9]), &many).unwrap() - expected).abs() < 1e-9);
        assert_eq!(margin(&sample(&[9]), &sample(&[1])), None);
        assert_eq!(margin(&sample(&[]), &many), None);
        assert_eq!(margin(&sample(&[7, 7]), &sample(&[7, 7, 7])), Some(0.0));
    }

    proptest! {
        #[test]
        fn parts_of_a_sample_give_the_whole(
            values in proptest::collection::vec(0_i64..1_000_000, 2..40), cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(values.len());
            let mut parts = sample(&values[..cut]);
            parts.merge(&sample(&values[cut..]));
            let whole = sample(&values);
            prop_assert!((parts.mean - whole.mean).abs() < 1e-6);
            let (one, other) = (parts.variance().unwrap(), whole.variance().unwrap());
            prop_assert!((one - other).abs() <= 1e-9 * other.max(1.0), "{one} {other}");
        }
    }
}
