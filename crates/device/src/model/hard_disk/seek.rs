//! How long the arm takes, by distance.

use super::parameters::HardDiskParameters;

/// What the arithmetic may round off, in ms: a curve through three equal figures is flat and does not fall.
const ROUNDED_MS: f64 = 1e-9;

/// The seek curve through a data sheet's three figures: `least + root·√(x-1) + linear·(x-1)` milliseconds for `x`
/// cylinders.
///
/// Source of the form and of its coefficients: Lee and Katz, "An analytic performance model of disk arrays",
/// SIGMETRICS 1993. The square root is the arm that speeds up and slows down, the straight part the arm at full speed;
/// the average is taken over all pairs of cylinders.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeekCurve {
    least: f64,
    root: f64,
    linear: f64,
}

impl SeekCurve {
    pub(super) fn new(disk: &HardDiskParameters, cylinders: u64) -> SeekCurve {
        let (least, average, most) = (disk.track_to_track_ms, disk.average_seek_ms, disk.full_stroke_ms);
        let span = cylinders.max(2) as f64;
        SeekCurve {
            least,
            root: (15.0 * average - 10.0 * least - 5.0 * most) / (3.0 * span.sqrt()),
            linear: (7.0 * least - 15.0 * average + 8.0 * most) / (3.0 * span),
        }
    }

    /// Milliseconds for a distance in cylinders; none for no distance.
    pub(super) fn millis(&self, cylinders: u64) -> f64 {
        match cylinders {
            0 => 0.0,
            _ => {
                let beyond = (cylinders - 1) as f64;
                self.least + self.root * beyond.sqrt() + self.linear * beyond
            }
        }
    }

    /// Whether a longer way never takes less: the three figures of a data sheet that contradict each other do not
    /// give such a curve.
    pub(super) fn rises(&self, cylinders: u64) -> bool {
        let longest = cylinders.max(2) as f64;
        // Where the root takes time away, the first step gains the least of all, otherwise the last one.
        let first_step = self.root + self.linear;
        let last_slope = self.root / (2.0 * longest.sqrt()) + self.linear;
        first_step >= -ROUNDED_MS && last_slope * longest >= -ROUNDED_MS
    }

    /// The mean over all pairs of cylinders within a band, in milliseconds.
    ///
    /// Of two places drawn at random from a band of width D, the distance x has the density 2(D-x)/D²: the mean of √x
    /// is 8/15·√D and that of x is D/3.
    pub(super) fn mean_within(&self, cylinders: u64) -> f64 {
        let width = cylinders as f64;
        self.least + self.root * 8.0 / 15.0 * width.sqrt() + self.linear * width / 3.0
    }
}
