//! The modes of a distribution over several powers of ten: where it has hills, and the valleys between them.
//!
//! A kernel density estimate over the logarithm, then the hills that are no noise. On the logarithm latencies are about
//! symmetric, so that one width of the kernel does for short and long ones.
//! Sources: B. W. Silverman, "Density Estimation for Statistics and Data Analysis", 1986, sections 3.4.2 (width of the
//! kernel) and 3.3 (variance of the estimate); the order in which hills are merged is that of their persistence
//! (Edelsbrunner, Letscher, Zomorodian, 2002).

use super::latency::quantile;

/// Points of the grid in one power of two.
const GRID_PER_OCTAVE: f64 = 32.0;

/// Standard deviation of the kernel in powers of two: no narrower than the eye could tell apart, no wider than hills
/// one power of two apart stay two.
const WIDTH_MIN: f64 = 0.10;
const WIDTH_MAX: f64 = 0.35;

/// A valley counts where it is no higher than this part of the lower of its two hills, ...
const VALLEY_OVER_HILL_MAX: f64 = 0.75;

/// ... where it lies below that hill by this many standard deviations of the estimate, ...
const DEVIATIONS_MIN: f64 = 4.0;

/// ... and where both sides hold at least this part of the values, and this many.
const SHARE_MIN: f64 = 0.01;
const COUNT_MIN: f64 = 10.0;

/// Fewest values that are split at all.
const VALUES_MIN: u64 = 40;

/// The integral of the squared normal kernel.
const KERNEL_SQUARED: f64 = 0.282_094_791_773_878_14;

/// A value (above zero) and how often it came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighted {
    /// The value.
    pub value: f64,
    /// How often.
    pub count: u64,
}

/// Hills and the valleys between them, ascending: one valley fewer than hills.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Modes {
    /// The values at the tops.
    pub hills: Vec<f64>,
    /// The values at the bottoms between them.
    pub valleys: Vec<f64>,
}

/// The modes of `values`, which a clock of the given step has rounded; one hill where no more can be found, none
/// where there are no values.
pub fn modes(values: &[Weighted], step: f64) -> Modes {
    let count: u64 = values.iter().map(|weighted| weighted.count).sum();
    let Some(grid) = Grid::of_values(values, step) else { return Modes::default() };
    let density = grid.smoothed(kernel_width(values, count));
    let mut extremes = Extremes::of_density(&density.heights);
    if count < VALUES_MIN {
        extremes.keep_highest(&density.heights);
    }
    while let Some(weakest) = extremes.weakest_valley(&grid, &density) {
        extremes.fill(weakest, &density.heights);
    }
    Modes {
        hills: extremes.hills.iter().map(|index| grid.value(*index)).collect(),
        valleys: extremes.valleys.iter().map(|index| grid.value(*index)).collect(),
    }
}

/// Values over the logarithm to base 2, as counts in cells of equal width.
struct Grid {
    origin: f64,
    counts: Vec<f64>,
}

impl Grid {
    fn of_values(values: &[Weighted], step: f64) -> Option<Grid> {
        let edges = |weighted: &Weighted| {
            let low = (weighted.value - step / 2.0).max(weighted.value / 4.0);
            (low.log2(), (weighted.value + step / 2.0).log2())
        };
        let margin = 4.0 * WIDTH_MAX;
        let lowest = values.iter().map(|weighted| edges(weighted).0).fold(f64::INFINITY, f64::min) - margin;
        let highest = values.iter().map(|weighted| edges(weighted).1).fold(f64::NEG_INFINITY, f64::max) + margin;
        let cells = ((highest - lowest) * GRID_PER_OCTAVE).ceil();
        // 64 bits of time span 64 powers of two: anything else is no set of latencies.
        if !(cells.is_finite() && (1.0..100.0 * GRID_PER_OCTAVE).contains(&cells)) {
            return None;
        }
        let mut grid = Grid { origin: lowest, counts: vec![0.0; cells as usize + 2] };
        for weighted in values {
            let (low, high) = edges(weighted);
            grid.spread(low, high, weighted.count as f64);
        }
        Some(grid)
    }

    /// A rounded value may have been anything within a step: its count is spread over all of it, or a clock of whole
    /// microseconds would make a hill of each of them.
    fn spread(&mut self, low: f64, high: f64, count: f64) {
        let position = |x: f64| (x - self.origin) * GRID_PER_OCTAVE;
        let (low, high) = (position(low), position(high).max(position(low) + 1e-9));
        for cell in low.floor() as usize..=high.floor() as usize {
            let overlap = high.min(cell as f64 + 1.0) - low.max(cell as f64);
            if let Some(sum) = self.counts.get_mut(cell) {
                *sum += count * overlap.max(0.0) / (high - low);
            }
        }
    }

    fn value(&self, index: usize) -> f64 {
        (self.origin + (index as f64 + 0.5) / GRID_PER_OCTAVE).exp2()
    }

    fn smoothed(&self, width: f64) -> Density {
        let reach = (4.0 * width * GRID_PER_OCTAVE).ceil() as usize;
        let weight = |distance: usize| (-0.5 * (distance as f64 / (width * GRID_PER_OCTAVE)).powi(2)).exp();
        let scale = 1.0 / (width * GRID_PER_OCTAVE * std::f64::consts::TAU.sqrt());
        let kernel: Vec<f64> = (0..=reach).map(|distance| weight(distance) * scale).collect();
        let mut heights = vec![0.0; self.counts.len()];
        for (index, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let (first, last) = (index.saturating_sub(reach), (index + reach).min(heights.len() - 1));
            for (at, height) in heights.iter_mut().enumerate().take(last + 1).skip(first) {
                *height += count * kernel[at.abs_diff(index)];
            }
        }
        Density { heights, width }
    }
}

/// Expected counts a cell of the grid, after smoothing.
struct Density {
    heights: Vec<f64>,
    width: f64,
}

impl Density {
    /// Standard deviation of the difference between two heights: each has the variance of a count, lessened by the
    /// number of cells that the kernel averages over.
    fn deviation(&self, left: f64, right: f64) -> f64 {
        ((left + right) * KERNEL_SQUARED / (self.width * GRID_PER_OCTAVE)).sqrt()
    }
}

/// Silverman's rule, from the smaller of the standard deviation and the scaled distance between the quartiles.
fn kernel_width(values: &[Weighted], count: u64) -> f64 {
    let n = count as f64;
    let log = |weighted: &Weighted| weighted.value.log2();
    let mean = values.iter().map(|weighted| log(weighted) * weighted.count as f64).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|weighted| (log(weighted) - mean).powi(2) * weighted.count as f64).sum();
    let logs = || values.iter().map(|weighted| (log(weighted), weighted.count));
    let quartile = |part| quantile(logs(), count, part).unwrap_or(mean);
    let spread = ((quartile(0.75) - quartile(0.25)) / 1.34).min((squares / n).sqrt());
    (0.9 * spread * n.powf(-0.2)).clamp(WIDTH_MIN, WIDTH_MAX)
}

/// Indexes of hills and valleys on the grid.
struct Extremes {
    hills: Vec<usize>,
    valleys: Vec<usize>,
}

impl Extremes {
    fn of_density(heights: &[f64]) -> Extremes {
        let mut extremes = Extremes { hills: Vec::new(), valleys: Vec::new() };
        let mut lowest = 0;
        let mut highest = 0;
        let mut is_rising = true;
        for index in 1..heights.len() {
            if is_rising {
                if heights[index] > heights[highest] {
                    highest = index;
                } else if heights[index] < heights[highest] {
                    extremes.hills.push(highest);
                    (is_rising, lowest) = (false, index);
                }
            } else if heights[index] < heights[lowest] {
                lowest = index;
            } else if heights[index] > heights[lowest] {
                extremes.valleys.push(lowest);
                (is_rising, highest) = (true, index);
            }
        }
        extremes.valleys.truncate(extremes.hills.len().saturating_sub(1));
        extremes
    }

    fn keep_highest(&mut self, heights: &[f64]) {
        let highest = self.hills.iter().copied().max_by(|left, right| heights[*left].total_cmp(&heights[*right]));
        *self = Extremes { hills: highest.into_iter().collect(), valleys: Vec::new() };
    }

    /// Among the valleys that do not count, the one that is shallowest against its lower hill.
    fn weakest_valley(&self, grid: &Grid, density: &Density) -> Option<usize> {
        let total: f64 = grid.counts.iter().sum();
        let least = (total * SHARE_MIN).max(COUNT_MIN);
        let heights = &density.heights;
        let depth = |valley: usize| {
            let hill = heights[self.hills[valley]].min(heights[self.hills[valley + 1]]);
            (heights[self.valleys[valley]], hill)
        };
        let mass = |hill: usize| -> f64 {
            let low = if hill == 0 { 0 } else { self.valleys[hill - 1] };
            let high = self.valleys.get(hill).copied().unwrap_or(grid.counts.len());
            grid.counts[low..high].iter().sum()
        };
        let counts = |valley: usize| {
            let (bottom, top) = depth(valley);
            bottom <= VALLEY_OVER_HILL_MAX * top
                && top - bottom >= DEVIATIONS_MIN * density.deviation(bottom, top)
                && mass(valley) >= least
                && mass(valley + 1) >= least
        };
        let ratio = |valley: usize| depth(valley).0 / depth(valley).1;
        let failing = (0..self.valleys.len()).filter(|valley| !counts(*valley));
        failing.max_by(|left, right| ratio(*left).total_cmp(&ratio(*right)))
    }

    /// Takes a valley away, and the lower of its two hills.
    fn fill(&mut self, valley: usize, heights: &[f64]) {
        let is_left_lower = heights[self.hills[valley]] < heights[self.hills[valley + 1]];
        self.valleys.remove(valley);
        self.hills.remove(if is_left_lower { valley } else { valley + 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::random::SplitMix64;

    /// Values of whole steps whose logarithms are normally distributed: `(median, spread in powers of two, count)`.
    fn mixture(seed: u64, parts: &[(f64, f64, usize)], step: f64) -> Vec<Weighted> {
        let mut random = SplitMix64::new(seed);
        let mut uniform = || random.below(1 << 40) as f64 / (1_u64 << 40) as f64;
        let mut values: Vec<f64> = Vec::new();
        for (median, spread, count) in parts {
            // The sum of twelve uniform numbers less 6 has variance 1 and is near enough to normal.
            let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            let value = |normal: f64| (median * (normal * spread).exp2() / step).round().max(1.0) * step;
            values.extend((0..*count).map(|_| value(normal())));
        }
        values.sort_by(f64::total_cmp);
        values.into_iter().map(|value| Weighted { value, count: 1 }).collect()
    }

    #[test]
    fn one_hill_stays_one_whatever_its_size_and_width() {
        for seed in 0..40 {
            for (spread, count) in [(0.2, 100), (0.5, 1000), (1.0, 300), (1.0, 20_000), (2.0, 5000)] {
                let found = modes(&mixture(seed, &[(900.0, spread, count)], 1.0), 1.0);
                assert_eq!(found.hills.len(), 1, "seed {seed}, spread {spread}, {count} values");
            }
        }
    }

    #[test]
    fn a_memory_a_storage_cache_and_a_disk_are_three_hills() {
        for seed in 0..20 {
            let parts = [(40.0, 0.3, 2000), (600.0, 0.4, 1500), (8000.0, 0.6, 4000)];
            let found = modes(&mixture(seed, &parts, 1.0), 1.0);
            assert_eq!(found.hills.len(), 3, "seed {seed}: {found:?}");
            for (hill, (median, ..)) in found.hills.iter().zip(parts) {
                assert!((hill / median).log2().abs() < 0.3, "seed {seed}: {hill} for {median}");
            }
            assert!((60.0..400.0).contains(&found.valleys[0]), "{found:?}");
            assert!((1000.0..5000.0).contains(&found.valleys[1]), "{found:?}");
        }
    }

    #[test]
    fn a_tier_of_two_in_a_hundred_is_seen_and_one_of_three_reads_is_not() {
        for seed in 0..20 {
            let small = mixture(seed, &[(50.0, 0.3, 200), (6000.0, 0.5, 9800)], 1.0);
            assert_eq!(modes(&small, 1.0).hills.len(), 2, "seed {seed}");
            let stray = mixture(seed, &[(6000.0, 0.5, 9800), (1e6, 0.1, 3)], 1.0);
            assert_eq!(modes(&stray, 1.0).hills.len(), 1, "seed {seed}");
        }
    }

    #[test]
    fn the_steps_of_a_clock_are_no_hills() {
        for seed in 0..20 {
            let microseconds = mixture(seed, &[(4.0, 0.5, 20_000)], 1.0);
            assert_eq!(modes(&microseconds, 1.0).hills.len(), 1, "seed {seed}");
            let centiseconds = mixture(seed, &[(30_000.0, 0.7, 20_000)], 10_000.0);
            assert_eq!(modes(&centiseconds, 10_000.0).hills.len(), 1, "seed {seed}");
        }
    }

    #[test]
    fn too_few_values_are_not_split_and_none_have_no_hill() {
        let few = mixture(1, &[(50.0, 0.1, 15), (6000.0, 0.1, 15)], 1.0);
        assert_eq!(modes(&few, 1.0).hills.len(), 1);
        assert_eq!(modes(&[], 1.0), Modes::default());
        let same = modes(&[Weighted { value: 5.0, count: 1000 }], 1.0);
        assert_eq!((same.hills.len(), same.valleys.len()), (1, 0));
    }
}
