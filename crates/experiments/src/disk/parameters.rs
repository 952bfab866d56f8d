//! Parameters of the experiment, as a file or a command line gives them, and what they come to.

use std::path::PathBuf;

use device::pattern::Pattern;
use device::plan::{StopAfter, reap_batch_for};
use measure::{Nanos, Size, words};
use sys::file::Caching;
use sys::memory::Pages;
use sys::read::{MethodRow, READ_BYTES_MAX, method};

use super::workload::Workload;
use crate::error::{ExperimentError, refuse};
use crate::with_defaults::with_defaults;

/// Most workers: each holds histograms of about a mebibyte.
const WORKERS_MAX: usize = 256;

/// Most places of a sweep: a quarter of an hour at the usual time of a place, and more than a chart has columns.
const PLACES_MAX: u32 = 1000;

/// Time of a case by default.
pub const DURATION: Nanos = Nanos::from_millis(3000);

/// Time of one place of a sweep, or of one distance, by default.
pub const DURATION_OF_MANY: Nanos = Nanos::from_millis(500);

/// Reads up to this are one request to the device, whatever pages the buffers stand on.
const LARGE_READ: u64 = 64 << 10;

/// Longest warm-up that is not asked for; a short case warms up for a fifth of its time.
pub const WARM_UP_MAX: Nanos = Nanos::from_millis(200);

words! {
    /// Where on the device the reads of a case go.
    pub enum Zone ("zone") {
        /// The first span
        Outer = "outer",
        /// The last span
        Inner = "inner",
        /// Half the workers in each at the same time
        Both = "both",
    }
}

words! {
    /// The order of the reads.
    pub enum Order ("pattern") {
        /// Every block once in random order, then again in another
        Random = "random",
        /// Ascending
        Sequential = "sequential",
    }
}

words! {
    /// How reads are submitted to the kernel: the rows of `sys::read::METHODS`, and the choice among them.
    pub enum IoMethod ("I/O method") {
        /// The cheapest that can keep that many reads in flight
        Auto = "auto",
        /// One pread after the other
        Sync = "sync",
        /// A thread for each read in flight
        Threads = "threads",
        /// One ring, batched
        IoUring = "io_uring",
    }
}

impl IoMethod {
    /// The row of the table; `None` for the cheapest at a depth.
    pub fn row(self) -> Option<&'static MethodRow> {
        method(self.name())
    }
}

/// What is varied over the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// One case.
    Whole,
    /// One case a zone.
    Zones(Vec<Zone>),
    /// This many places from the first byte to the last.
    Sweep(u32),
    /// Growing distances between consecutive reads.
    SeekDistances,
}

with_defaults! {
    /// Parameters of the experiment.
    #[derive(PartialEq)]
    pub struct DiskParameters {
        /// Devices: files, block devices, and words of `device::DEVICES`.
        pub paths: Vec<PathBuf> = Vec::new(),
        /// Order of the reads.
        pub pattern: Order = Order::Random,
        /// Bytes a read.
        pub block_size: Size = Size(8192),
        /// Bytes of the region, or of a zone; `None` for all there is (zones: 2 GiB or a third).
        pub span: Option<Size> = None,
        /// First byte of the region.
        pub offset: Size = Size(0),
        /// Reads of each worker in a case.
        pub count: Option<u64> = None,
        /// Time of a case; with neither, what suits the view.
        pub duration: Option<Nanos> = None,
        /// Time before the measurement, its reads kept apart; `None` for what suits the case.
        pub warm_up: Option<Nanos> = None,
        /// Picks the order of random reads; the command fills in a different one each run.
        pub seed: Option<u64> = None,
        /// Threads, each with its own I/O method and its own seed; `None` for 1, with zones 2.
        pub workers: Option<usize> = None,
        /// Reads in flight, a worker.
        pub depth: usize = 1,
        /// Completions to wait for at once; `None` for what suits the depth.
        pub reap_batch: Option<usize> = None,
        /// How reads are submitted to the kernel.
        pub io_method: IoMethod = IoMethod::Auto,
        /// Through the page cache, and not past it.
        pub buffered: bool = false,
        /// One case for each of these zones.
        pub zones: Vec<Zone> = Vec::new(),
        /// Places from the first byte to the last.
        pub sweep: Option<u32> = None,
        /// Growing distances between consecutive reads.
        pub seek_distances: bool = false,
        /// Reads a second in an open loop, over all workers.
        pub rate: Option<f64> = None,
        /// Drop what each case reads from the page cache before it.
        pub evict: bool = false,
        /// Put the buffers on huge pages, where the system grants them.
        pub huge_pages: bool = true,
    }
}

impl DiskParameters {
    /// Refuses what cannot be, with a sentence that says what to give instead.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let Workload { workers, depth, method, .. } = self.workload();
        let repeated = self.repeated_zone();
        let views = [!self.zones.is_empty(), self.sweep.is_some(), self.seek_distances];
        match self {
            _ if self.paths.is_empty() => refuse("there is nothing to read: name a file or a block device"),
            _ if views.into_iter().filter(|view| *view).count() > 1 => {
                refuse("--zones, --sweep and --seek-distances exclude each other: give one of them")
            }
            _ if repeated.is_some() => {
                let zone = repeated.map_or("a zone", Zone::name);
                refuse(format!("--zones names {zone} more than once: name each zone once"))
            }
            _ if depth == 0 => refuse("a depth of 0 reads nothing: the smallest --depth is 1"),
            _ if self.reap_batch.is_some_and(|batch| batch == 0 || batch > depth) => {
                refuse("--reap-batch must be between 1 and --depth")
            }
            // An open loop takes every read as it ends, to begin the next one in time.
            _ if self.rate.is_some() && self.reap_batch.is_some_and(|batch| batch > 1) => {
                refuse("--rate collects reads one by one, as they end: leave out --reap-batch")
            }
            _ if self.sweep.is_some() && self.rate.is_some() => refuse(
                "a sweep shows what each place gives, in a sequential pass at full speed too: leave out --rate, or \
                 give --rate without --sweep, with --offset and --span for a place",
            ),
            _ if self.sweep.is_some() && self.pattern == Order::Sequential => {
                refuse("a sweep reads each place at random and then in sequence: leave out --pattern")
            }
            _ if self.seek_distances && self.pattern == Order::Sequential => {
                refuse("--seek-distances sets the order of the reads: leave out --pattern")
            }
            _ if workers > WORKERS_MAX => {
                refuse(format!("{workers} workers are too many: the largest --workers is {WORKERS_MAX}"))
            }
            _ if workers == 0 => refuse("0 workers read nothing: the smallest --workers is 1"),
            _ if self.block_size.0 == 0 => refuse("a block of 0 bytes reads nothing: give --block-size 8KiB or so"),
            _ if self.block_size.0 > READ_BYTES_MAX => {
                refuse("the kernel reads less than 2 GiB at once: give --block-size 1GiB or less")
            }
            _ if self.workload().stop_after.is_nothing() => {
                refuse("there is nothing to read: give --count or --duration above 0")
            }
            _ if self.rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) => {
                refuse("--rate is in reads a second and must be above 0")
            }
            _ if self.zones.contains(&Zone::Both) && workers == 1 => {
                refuse("the zone 'both' needs a worker in each zone: give --workers 2")
            }
            _ if self.sweep.is_some_and(|places| places < 2) => {
                refuse("a sweep needs at least 2 places: the first and the last")
            }
            _ if self.sweep.is_some_and(|places| places > PLACES_MAX) => {
                refuse(format!("no page shows more than {PLACES_MAX} places: give --sweep {PLACES_MAX} or fewer"))
            }
            _ => match method.and_then(|row| Some((row.name, row.depth_max.filter(|most| depth > *most)?))) {
                Some((name, most)) => refuse(format!(
                    "{name} holds at most {most} read in flight: give --depth {most}, or another --io-method"
                )),
                None => Ok(()),
            },
        }
    }

    /// The first zone that is named a second time: its two cases could not be told apart.
    fn repeated_zone(&self) -> Option<Zone> {
        let is_repeated = |(at, zone): &(usize, &Zone)| self.zones[..*at].contains(zone);
        self.zones.iter().enumerate().find(is_repeated).map(|(_, zone)| *zone)
    }

    /// What is varied.
    pub(super) fn view(&self) -> View {
        match self.sweep {
            _ if !self.zones.is_empty() => View::Zones(self.zones.clone()),
            Some(places) => View::Sweep(places),
            None if self.seek_distances => View::SeekDistances,
            None => View::Whole,
        }
    }

    /// Whether large reads follow one another, as pages of the buffers decide how many requests they are.
    pub(super) fn reads_in_sequence(&self) -> bool {
        self.sweep.is_some() || self.pattern == Order::Sequential && self.block_size.0 > LARGE_READ
    }

    /// Through the page cache or past it.
    pub(super) fn caching(&self) -> Caching {
        if self.buffered { Caching::Buffered } else { Caching::Direct }
    }

    /// The reads of a case, before the view varies them.
    pub(super) fn workload(&self) -> Workload {
        let stop_after = self.stop_after();
        Workload {
            pattern: match self.pattern {
                Order::Random => Pattern::Random,
                Order::Sequential => Pattern::Sequential,
            },
            block_size: self.block_size.in_memory(),
            pages: if self.huge_pages { Pages::Huge } else { Pages::Small },
            stop_after,
            warm_up: StopAfter::Time(self.warm_up.unwrap_or(match stop_after {
                StopAfter::Reads(_) => Nanos::ZERO,
                StopAfter::Time(time) => Nanos(time.0 / 5).min(WARM_UP_MAX),
            })),
            seed: self.seed.unwrap_or_default(),
            workers: self.workers.unwrap_or(if self.zones.is_empty() { 1 } else { 2 }),
            depth: self.depth,
            reap_batch: self.reap_batch.unwrap_or(if self.rate.is_some() { 1 } else { reap_batch_for(self.depth) }),
            method: self.io_method.row(),
            rate: self.rate,
        }
    }

    fn stop_after(&self) -> StopAfter {
        let usual = match self.view() {
            View::Sweep(_) | View::SeekDistances => DURATION_OF_MANY,
            View::Whole | View::Zones(_) => DURATION,
        };
        self.count.map_or(StopAfter::Time(self.duration.unwrap_or(usual)), StopAfter::Reads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::words::Word;
    use sys::read::METHODS;

    #[test]
    fn every_method_of_the_table_can_be_named() {
        let named: Vec<&str> = IoMethod::ALL.iter().filter_map(|(method, ..)| Some(method.row()?.name)).collect();
        assert_eq!(named, METHODS.iter().map(|row| row.name).collect::<Vec<_>>());
    }

    #[test]
    fn a_zone_that_is_named_twice_is_refused_and_not_measured_once_without_a_word() {
        let checked = |zones: &[Zone]| {
            let parameters = DiskParameters { paths: vec!["null:".into()], zones: zones.into(), ..Default::default() };
            parameters.check().map_err(|error| error.to_string())
        };
        assert_eq!(checked(&[Zone::Outer, Zone::Inner, Zone::Both]), Ok(()));
        let refused = "--zones names outer more than once: name each zone once";
        assert_eq!(checked(&[Zone::Outer, Zone::Outer]), Err(refused.into()));
        assert_eq!(checked(&[Zone::Inner, Zone::Outer, Zone::Both, Zone::Outer]), Err(refused.into()));
    }

    #[test]
    fn a_sweep_does_not_read_at_full_speed_where_a_rate_was_asked_for() {
        let check = |sweep, rate| {
            let paths = vec!["null:".into()];
            DiskParameters { paths, sweep, rate, ..DiskParameters::default() }.check()
        };
        assert!(check(Some(4), None).is_ok() && check(None, Some(100.0)).is_ok());
        let refused = check(Some(4), Some(100.0)).unwrap_err().to_string();
        assert!(refused.contains("at full speed too: leave out --rate"), "{refused}");
    }

    #[test]
    fn a_short_case_does_not_warm_up_longer_than_it_measures() {
        let of = |duration| DiskParameters { duration: Some(duration), ..DiskParameters::default() }.workload().warm_up;
        assert_eq!(of(Nanos::from_millis(100)), StopAfter::Time(Nanos::from_millis(20)));
        assert_eq!(of(Nanos::from_millis(60_000)), StopAfter::Time(WARM_UP_MAX));
    }
}
