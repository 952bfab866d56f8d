//! Lasting changes of a rate or a latency: where a throttle set in, a burst credit ran out, or a cache was full.

use std::ops::Range;

use crate::statistics::median;

/// Fewest windows on either side of a change: what lasts shorter is a hiccup.
const WINDOWS_MIN: usize = 8;

/// Least change of the median rate, as a share of the larger one. Rates on shared machines drift by 10 per cent.
const CHANGE_MIN: f64 = 0.25;

/// Share of the windows on each side that must lie on their own side of the middle between both medians.
const SEPARATION: f64 = 0.9;

/// Most segments that a run is cut into.
const STRETCHES_MAX: usize = 8;

/// A segment of windows with one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Which windows.
    pub windows: Range<usize>,
    /// Median rate of its windows, in the unit of the rates.
    pub rate: f64,
}

/// Cuts `rates`, one a window, into segments between lasting changes; one segment when nothing changed.
///
/// Each cut minimises the squared distance to the means of both sides (binary segmentation: Scott and Knott, "A
/// cluster analysis method for grouping means", 1974), and is kept when the change is large, separated and lasting.
/// Empty for no rates.
pub fn segments(rates: &[f64]) -> Vec<Segment> {
    segments_of_both(rates, &[])
}

/// Cuts as [`segments`] does, and where no rate changed between lasting changes of the mean latency, `None` in a
/// window without reads.
pub fn segments_of_both(rates: &[f64], latencies: &[Option<f64>]) -> Vec<Segment> {
    let mut found = Vec::new();
    if !rates.is_empty() {
        cut((rates, latencies), 0..rates.len(), STRETCHES_MAX, &mut found);
    }
    found
}

/// Whether two levels differ by as much as a change does.
pub fn is_change(one: f64, other: f64) -> bool {
    let larger = one.max(other);
    larger > 0.0 && (one - other).abs() / larger >= CHANGE_MIN
}

fn cut((rates, latencies): (&[f64], &[Option<f64>]), range: Range<usize>, most: usize, found: &mut Vec<Segment>) {
    let both = || {
        let of_latency = || lasting_change_of_known(latencies.get(range.clone())?);
        lasting_change(&rates[range.clone()]).or_else(of_latency)
    };
    let split = if most > 1 { both() } else { None };
    match split {
        Some(offset) => {
            let middle = range.start + offset;
            cut((rates, latencies), range.start..middle, most / 2, found);
            cut((rates, latencies), middle..range.end, most - most / 2, found);
        }
        None => found.push(Segment { rate: median(&rates[range.clone()]).unwrap_or(0.0), windows: range }),
    }
}

/// Index of the first level after the change; one that is not known is left out, as a level repeated is no evidence.
fn lasting_change_of_known(levels: &[Option<f64>]) -> Option<usize> {
    let known = levels.iter().enumerate().filter_map(|(at, level)| Some((at, (*level)?)));
    let (places, known): (Vec<usize>, Vec<f64>) = known.unzip();
    places.get(lasting_change(&known)?).copied()
}

/// Index of the first window after the change.
fn lasting_change(rates: &[f64]) -> Option<usize> {
    let split = best_split(rates)?;
    let (before, after) = rates.split_at(split);
    let (low, high) = (median(before)?, median(after)?);
    let middle = (low + high) / 2.0;
    let on_side = |part: &[f64], side: f64| {
        let inside = part.iter().filter(|rate| (**rate < middle) == (side < middle)).count();
        inside as f64 >= SEPARATION * part.len() as f64
    };
    (is_change(low, high) && on_side(before, low) && on_side(after, high)).then_some(split)
}

/// The split with the least squared error around the means of both sides.
fn best_split(rates: &[f64]) -> Option<usize> {
    let total: f64 = rates.iter().sum();
    let mut left = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for split in 1..rates.len() {
        left += rates[split - 1];
        if split < WINDOWS_MIN || rates.len() - split < WINDOWS_MIN {
            continue;
        }
        let (count_left, count_right) = (split as f64, (rates.len() - split) as f64);
        let between = left * left / count_left + (total - left).powi(2) / count_right;
        if best.is_none_or(|(most, _)| between > most) {
            best = Some((between, split));
        }
    }
    best.map(|(_, split)| split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    fn noisy(random: &mut SplitMix64, rate: f64, windows: usize, noise: f64) -> Vec<f64> {
        (0..windows).map(|_| rate * (1.0 + noise * (random.below(2001) as f64 / 1000.0 - 1.0))).collect()
    }

    #[test]
    fn a_burst_that_ends_is_cut_at_its_end() {
        let mut random = SplitMix64::new(1);
        let mut rates = noisy(&mut random, 3000.0, 40, 0.1);
        rates.extend(noisy(&mut random, 1000.0, 60, 0.1));
        let segments = segments(&rates);
        assert_eq!(segments.len(), 2);
        assert_eq!(segments[0].windows, 0..40);
        assert!((segments[0].rate / segments[1].rate - 3.0).abs() < 0.3);
    }

    #[test]
    fn a_noisy_but_steady_rate_is_one_segment() {
        for seed in 0..500 {
            let rates = noisy(&mut SplitMix64::new(seed), 10_000.0, 50, 0.3);
            assert_eq!(segments(&rates).len(), 1, "seed {seed}");
        }
    }

    #[test]
    fn a_hiccup_is_no_lasting_change() {
        let mut rates = vec![100.0; 60];
        rates[30..34].fill(10.0);
        assert_eq!(segments(&rates).len(), 1);
    }

    #[test]
    fn throttling_twice_gives_three_segments() {
        let rates: Vec<f64> = [vec![100.0; 20], vec![50.0; 20], vec![20.0; 20]].concat();
        let windows: Vec<Range<usize>> = segments(&rates).into_iter().map(|segment| segment.windows).collect();
        assert_eq!(windows, [0..20, 20..40, 40..60]);
    }

    #[test]
    fn an_even_rate_is_cut_where_the_latency_changes() {
        let latencies = [vec![Some(100.0); 15], vec![Some(3000.0); 15]].concat();
        let both = segments_of_both(&[200.0; 30], &latencies);
        let windows: Vec<Range<usize>> = both.into_iter().map(|segment| segment.windows).collect();
        assert_eq!(windows, [0..15, 15..30]);
    }

    #[test]
    fn two_slow_reads_among_windows_without_any_are_no_lasting_change() {
        let mut latencies = vec![None; 40];
        for (at, latency) in [(0, 100.0), (10, 100.0), (20, 3000.0), (30, 3000.0)] {
            latencies[at] = Some(latency);
        }
        assert_eq!(segments_of_both(&[1.0; 40], &latencies).len(), 1);
    }

    #[test]
    fn few_or_no_windows_are_left_whole() {
        assert!(segments(&[]).is_empty());
        assert_eq!(segments(&[1.0, 9.0]).len(), 1);
    }
}
