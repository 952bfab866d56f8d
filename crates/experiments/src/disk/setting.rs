//! One path under measurement: the opened device, the region that is read, and what was seen of it beforehand.

use std::path::Path;
use std::time::Duration;

use device::Device;
use device::pattern::{Offsets, Pattern, Span};
use device::plan::ReadPlan;
use device::tier::Stored;
use measure::Parameters;
use measure::quantity::size_in_words;
use measure::random::mix;
use measure::schema::disk::parameters;
use measure::schema::reads;
use serde_json::json;
use sys::file::{Caching, Kind, Target, witness};
use sys::memory::Pages;

use super::findings::Extent;
use super::parameters::{DiskParameters, View, Zone};
use super::workload::Workload;
use crate::error::{ExperimentError, refuse};
use crate::journal::Journal;
use crate::reading::PageCache;
use crate::region;

/// Span of a zone that is not given, as in the source: 2 GiB, or a third of what there is.
const ZONE: u64 = 2 << 30;

/// Blocks that are asked for without waiting.
const NOWAIT_SAMPLE: u64 = 16;

/// One path, opened and checked.
pub(super) struct Setting<'a> {
    path: &'a Path,
    /// Whether the run reads others too, once each of its paths is there once.
    pub(super) is_one_of_several: bool,
    pub(super) device: Box<dyn Device>,
    pub(super) workload: Workload,
    pub(super) view: View,
    /// The region, or one zone's worth of it at its start.
    pub(super) span: Span,
    /// About how long the paths behind this one take.
    pub(super) later: Duration,
    evict: bool,
}

impl<'a> Setting<'a> {
    /// Opens the path and refuses what cannot be measured, before anything is.
    pub(super) fn open(path: &'a Path, parameters: &DiskParameters) -> Result<Setting<'a>, ExperimentError> {
        let device = device::open(path, parameters.caching())?;
        let (workload, view) = (parameters.workload(), parameters.view());
        device::check_block_size(device.as_ref(), workload.block_size as u64)?;
        let span = span(path, device.size(), &view, parameters)?;
        let (evict, is_one_of_several, later) = (parameters.evict, false, Duration::ZERO);
        let setting = Setting { path, is_one_of_several, device, workload, view, span, later, evict };
        setting.check()?;
        Ok(setting)
    }

    fn check(&self) -> Result<(), ExperimentError> {
        if self.device.describe().is_virtual && self.workload.workers > 1 && self.workload.rate.is_some() {
            let advice = match &self.view {
                View::Zones(named) if named.contains(&Zone::Both) => "leave out --rate, as the zone 'both' needs two",
                _ => "give --workers 1",
            };
            return refuse(format!("--rate on the model {} works with one worker: {advice}", self.device.name()));
        }
        let witnesses = self.device.witnesses();
        if self.evict && witnesses.target().is_some_and(|target| target.caching() == Caching::Direct) {
            let sentence = "--evict drops blocks from the page cache, past which these reads go: leave it out, or give \
                            --buffered";
            return refuse(sentence);
        }
        let alignment = self.device.alignment().offset.max(1);
        if !self.span.offset.is_multiple_of(u64::from(alignment)) {
            return refuse(format!("--offset must be a multiple of {alignment} bytes on {}", self.name()));
        }
        let blocks = self.span.blocks(self.workload.block_size);
        match self.view {
            View::Sweep(places) if u64::from(places) > blocks => refuse(format!(
                "a sweep of {places} places over {blocks} blocks of {} would read some blocks several times: give \
                 --sweep {blocks} or fewer, or a smaller --block-size",
                self.name()
            )),
            _ => Ok(()),
        }
    }

    /// The path as it was given.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The same where the run reads several, so that a sentence has to say of which it is.
    pub(super) fn name_among_several(&self) -> Option<String> {
        self.is_one_of_several.then(|| self.name())
    }

    /// Looks whether what is read holds data.
    pub(super) fn prepare(&self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let Some(target) = self.device.witnesses().target() else { return Ok(()) };
        let (regions, Workload { block_size, seed, .. }) = (self.regions(), self.workload);
        region::check(target, &regions, block_size, seed, journal)?;
        Ok(())
    }

    /// Drops from the page cache what a case reads, when that was asked for. Cases may read the same blocks: what one
    /// left there would serve the next.
    pub(super) fn evict(&self, plans: &[ReadPlan]) -> Result<(), ExperimentError> {
        let witnesses = self.device.witnesses();
        let Some(target) = witnesses.target().filter(|_| self.evict) else { return Ok(()) };
        spans(plans).into_iter().try_for_each(|part| region::evict(target, part))
    }

    /// What the view reads: the region, or those zones of it that are named.
    fn regions(&self) -> Vec<Span> {
        let View::Zones(named) = &self.view else { return vec![self.span] };
        let is_read = |zone: Zone| named.contains(&zone) || named.contains(&Zone::Both);
        let zones = [(Zone::Outer, self.span), (Zone::Inner, self.inner())];
        zones.into_iter().filter(|(zone, _)| is_read(*zone)).map(|(_, span)| span).collect()
    }

    /// How much of the device the places and distances cover. Zones lie at both ends of it, whatever their size.
    pub(super) fn extent(&self) -> Extent {
        let Span { offset, length } = self.span;
        let behind = match &self.view {
            View::Zones(_) => 0,
            _ => self.device.size().saturating_sub(offset.saturating_add(length)),
        };
        let is_all = offset == 0 && behind < self.workload.block_size as u64;
        let is_file = self.device.witnesses().target().is_some_and(|target| target.kind() == Kind::File);
        match (is_all, is_file) {
            (true, true) => Extent::File,
            (true, false) => Extent::Device,
            (false, _) => Extent::Part,
        }
    }

    /// The last zone of the device, as large as the first.
    pub(super) fn inner(&self) -> Span {
        last_zone(self.device.size(), self.span, self.workload.block_size as u64)
    }

    /// What the file system stores of what these plans read, whose shares are those of the file only where all is read.
    pub(super) fn stored(&self, plans: &[ReadPlan]) -> Stored {
        let witnesses = self.device.witnesses();
        witnesses.target().map_or_else(Stored::default, |target| region::stored(target, &spans(plans)))
    }

    /// What helps where the page cache serves the reads.
    pub(super) fn page_cache(&self) -> PageCache {
        let witnesses = self.device.witnesses();
        let target = witnesses.target();
        if target.is_some_and(region::is_in_memory) {
            return PageCache::InTheWay("files on this file system are always in memory, so name one on another");
        }
        let direct = target.and_then(|target| target.reopen(Caching::Direct).ok());
        let fit = |direct: Target| {
            let multiple = u64::from(direct.alignment().offset.max(1));
            [self.workload.block_size as u64, self.span.offset].iter().all(|bytes| bytes.is_multiple_of(multiple))
        };
        PageCache::InTheWay(match (direct.map(fit), self.evict) {
            (Some(true), false) => "use --direct, or --evict on a file of your own",
            (Some(true), true) => "use --direct",
            (Some(false), false) => "use --evict on a file of your own, or --direct with blocks that it can read",
            (Some(false), true) => "use --direct with blocks that it can read, such as --block-size 4KiB",
            (None, false) => "use --evict on a file of your own, or a file system that does direct I/O",
            (None, true) => "use a file system that does direct I/O",
        })
    }

    /// About how long this number of cases takes, and the paths behind this one: not known of a model, whose times are
    /// virtual.
    pub(super) fn expected(&self, workload: &Workload, cases: u32) -> Duration {
        match self.device.describe().is_virtual {
            true => Duration::ZERO,
            false => workload.expected().saturating_mul(cases).saturating_add(self.later),
        }
    }

    /// Share of what these plans read that is in the page cache, where reads go through one.
    pub(super) fn page_cached(&self, plans: &[ReadPlan]) -> Option<f64> {
        let witnesses = self.device.witnesses();
        let target = witnesses.target().filter(|target| target.caching() == Caching::Buffered)?;
        let (mut pages, mut of) = (0, 0);
        for span in spans(plans) {
            let cached = witness::cached(target, span.offset, span.length).ok()?;
            pages += cached.pages;
            of += cached.of;
        }
        Some(pages as f64 / of.max(1) as f64)
    }

    /// Share of a sample of these blocks that the kernel returns without waiting for storage, for buffered reads; taken
    /// after them, because a refused read starts the fetch.
    pub(super) fn answered_at_once(&self, spans: &[Span]) -> Option<f64> {
        let witnesses = self.device.witnesses();
        let target = witnesses.target().filter(|target| target.caching() == Caching::Buffered)?;
        let Workload { block_size, seed, .. } = self.workload;
        let of_each = (NOWAIT_SAMPLE / spans.len().max(1) as u64).max(1);
        let sample: Vec<u64> = spans.iter().flat_map(|span| probed(*span, block_size, seed, of_each)).collect();
        let probe = witness::nowait_hits(target, &sample, block_size).ok()?;
        Some(probe.answered as f64 / sample.len().max(1) as f64)
    }

    /// The parameters of a case in the order in which they are shown.
    pub(super) fn case(&self, workload: &Workload, span: Span) -> Parameters {
        use device::plan::StopAfter;
        let witnesses = self.device.witnesses();
        let is_direct = witnesses.target().map(|target| target.caching() == Caching::Direct);
        let length = match workload.stop_after {
            StopAfter::Reads(count) => parameters::COUNT.of(count),
            StopAfter::Time(time) => parameters::DURATION.of(time.as_seconds()),
        };
        let always = [
            parameters::PATH.of(self.name()),
            parameters::PATTERN.of(workload.pattern.name()),
            parameters::BLOCK_SIZE.of(workload.block_size),
            parameters::SPAN.of(span.length),
            parameters::OFFSET.of(span.offset),
            length,
            parameters::SEED.of(workload.seed),
            parameters::WORKERS.of(workload.workers),
            parameters::DEPTH.of(workload.depth),
            parameters::REAP_BATCH.of(workload.reap_batch),
            parameters::IO_METHOD.of(witnesses.method_name(workload.slots())),
        ];
        let rate = workload.rate.map(|rate| parameters::RATE.of(json!(rate)));
        let kernel = is_direct.map(|is_direct| {
            let are_huge = workload.pages == Pages::Huge;
            [parameters::DIRECT.of(is_direct), reads::parameters::HUGE_PAGES.of(are_huge)]
        });
        always.into_iter().chain(kernel.into_iter().flatten()).chain(rate).collect()
    }
}

/// The regions that plans read, each once.
pub(super) fn spans(plans: &[ReadPlan]) -> Vec<Span> {
    let mut spans: Vec<Span> = plans.iter().map(|plan| plan.span).collect();
    spans.dedup();
    spans
}

/// Blocks to ask for without waiting: in another order than the reads and than the sample of the contents, which has
/// brought its own blocks into the page cache.
fn probed(span: Span, block_size: usize, seed: u64, count: u64) -> Vec<u64> {
    let mut offsets = Offsets::new(Pattern::Random, span, block_size, mix(!seed), None);
    (0..count.min(span.blocks(block_size))).map(|_| offsets.advance()).collect()
}

/// The last zone of a device of `size` bytes, a whole number of blocks behind the first one: counted from the start of
/// the device, its blocks would share bytes with those of a first zone that starts between two of them.
fn last_zone(size: u64, first: Span, block: u64) -> Span {
    let blocks_behind = (size - first.length - first.offset) / block;
    Span { offset: first.offset + blocks_behind * block, length: first.length }
}

/// The region that the parameters ask for, of a device of `size` bytes.
fn span(path: &Path, size: u64, view: &View, parameters: &DiskParameters) -> Result<Span, ExperimentError> {
    let offset = parameters.offset.0;
    let rest = size.saturating_sub(offset);
    let block = parameters.block_size.0;
    let whole = match view {
        View::Zones(_) => ZONE.min(rest / 3),
        _ => rest,
    };
    let length = parameters.span.map_or(whole, |span| span.0);
    let path = path.display();
    let [all, begin, part, one] = [size, offset, length, block].map(size_in_words);
    if parameters.span.is_some_and(|span| span.0 < block) {
        return refuse(format!("a span of {part} holds no block of {one}: give a larger --span"));
    }
    if parameters.span.is_none() && length < block && block <= rest {
        let rest = size_in_words(rest);
        return refuse(format!(
            "a zone is a third of what there is, and a third of {rest} in {path} holds no block of {one}: give a \
             smaller --block-size"
        ));
    }
    if length > rest || length < block {
        let wanted = size_in_words(length.max(block));
        return refuse(format!(
            "{path} holds {all}: {wanted} from offset {begin} on are not in it; give a smaller --span or --offset"
        ));
    }
    if matches!(view, View::Sweep(_) | View::SeekDistances) && length / block == 1 {
        return refuse(format!(
            "{part} of {path} hold one block of {one}, and places and distances need two: give a larger --span, a \
             smaller --block-size or a larger file"
        ));
    }
    if matches!(view, View::Zones(_)) && size - length < offset.saturating_add(length) {
        return refuse(format!(
            "zones of {part} from offset {begin} on overlap on {path}, which holds {all}: the same blocks would be \
             read in both; give a smaller --span or --offset"
        ));
    }
    Ok(Span { offset, length: length / block * block })
}

#[cfg(test)]
mod tests {
    use measure::Size;

    use super::*;

    #[test]
    fn blocks_that_the_sample_of_the_contents_has_read_do_not_answer_for_the_region() {
        let (span, block_size, seed) = (Span { offset: 0, length: 1 << 30 }, 4096, 1);
        let mut sampled = Offsets::new(Pattern::Random, span, block_size, !seed, None);
        let sampled: Vec<u64> = (0..64).map(|_| sampled.advance()).collect();
        let probed = probed(span, block_size, seed, NOWAIT_SAMPLE);
        assert_eq!(probed.len() as u64, NOWAIT_SAMPLE);
        assert!(probed.iter().filter(|block| sampled.contains(block)).count() <= 1, "{probed:?}");
    }

    #[test]
    fn workers_that_zones_bring_along_are_not_said_to_be_left_out() {
        for (zone, advice) in [(Zone::Outer, "give --workers 1"), (Zone::Both, "leave out --rate")] {
            let parameters = DiskParameters { zones: vec![zone], rate: Some(100.0), ..DiskParameters::default() };
            let refused = Setting::open(Path::new("model:ssd"), &parameters).map(|_| ()).unwrap_err().to_string();
            assert!(refused.contains(&format!("works with one worker: {advice}")), "{refused}");
        }
    }

    #[test]
    fn a_file_whose_thirds_hold_no_block_is_not_said_to_be_smaller_than_a_block() {
        let zones = View::Zones(vec![Zone::Outer, Zone::Inner]);
        let refused = span(Path::new("small.dat"), 16 << 10, &zones, &DiskParameters::default());
        let refused = refused.map(|span| span.length).unwrap_err().to_string();
        assert!(refused.starts_with("a zone is a third of what there is"), "{refused}");
        assert!(refused.ends_with("give a smaller --block-size"), "{refused}");
    }

    #[test]
    fn one_block_is_no_sweep_and_has_no_distances() {
        for view in [View::Sweep(4), View::SeekDistances] {
            let of = |size: u64| span(Path::new("small.dat"), size, &view, &DiskParameters::default());
            let refused = of(12 << 10).map(|span| span.length).unwrap_err().to_string();
            assert!(refused.starts_with("12 KiB of small.dat hold one block of 8 KiB"), "{refused}");
            assert_eq!(of(16 << 10).unwrap().length, 16 << 10);
        }
        assert!(span(Path::new("small.dat"), 8 << 10, &View::Whole, &DiskParameters::default()).is_ok());
    }

    #[test]
    fn more_places_than_blocks_are_refused_and_not_drawn_as_several() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(32 << 10).unwrap();
        let refused = |places| {
            let parameters = DiskParameters { sweep: Some(places), buffered: true, ..DiskParameters::default() };
            Setting::open(file.path(), &parameters).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(refused(4), Ok(()));
        assert!(refused(5).unwrap_err().contains("give --sweep 4 or fewer"));
    }

    #[test]
    fn advice_about_the_page_cache_helps_with_this_file_and_these_blocks() {
        let advice = |folder: &Path, parameters: DiskParameters| {
            let file = tempfile::NamedTempFile::new_in(folder).ok()?;
            file.as_file().set_len(1 << 20).unwrap();
            let parameters = DiskParameters { buffered: true, ..parameters };
            let setting = Setting::open(file.path(), &parameters).unwrap();
            let witnesses = setting.device.witnesses();
            let kind = witnesses.target().and_then(Target::filesystem)?;
            match setting.page_cache() {
                PageCache::InTheWay(advice) => Some((kind, advice)),
                PageCache::Meant => None,
            }
        };
        match advice(Path::new("/dev/shm"), DiskParameters::default()) {
            Some((kind, advice)) if kind == "tmpfs" => assert!(!advice.contains("--"), "{advice}"),
            _ => println!("skipped: /dev/shm is no tmpfs to write to"),
        }
        let odd = DiskParameters { block_size: Size(1000), ..DiskParameters::default() };
        if let Some((_, advice)) = advice(&std::env::temp_dir(), odd) {
            assert!(!advice.starts_with("use --direct") || advice.contains("blocks that it can read"), "{advice}");
        }
    }

    #[test]
    fn evicting_what_direct_reads_pass_by_is_refused_and_not_done_in_silence() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let refused = |buffered| {
            let parameters = DiskParameters { evict: true, buffered, ..DiskParameters::default() };
            Setting::open(file.path(), &parameters).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(refused(true), Ok(()));
        let direct = refused(false).unwrap_err();
        assert!(direct.contains("give --buffered") || direct.contains("use --buffered"), "{direct}");
    }

    #[test]
    fn what_an_offset_or_a_span_leaves_out_is_a_part_of_the_device() {
        let extent = |parameters: DiskParameters| {
            Setting::open(Path::new("model:ssd"), &parameters).map(|setting| setting.extent()).unwrap()
        };
        let sweep = || DiskParameters { sweep: Some(2), ..DiskParameters::default() };
        let zones = || DiskParameters { zones: vec![Zone::Outer, Zone::Inner], ..DiskParameters::default() };
        let (span, offset) = (Some(Size(64 << 20)), Size(64 << 20));
        assert_eq!([sweep(), zones()].map(extent), [Extent::Device; 2]);
        let parts = [DiskParameters { span, ..sweep() }, DiskParameters { offset, ..sweep() }];
        assert_eq!(parts.map(extent), [Extent::Part; 2]);
        assert_eq!(extent(DiskParameters { span, ..zones() }), Extent::Device, "they lie at its two ends");
        assert_eq!(extent(DiskParameters { offset, ..zones() }), Extent::Part);
    }

    #[test]
    fn the_ends_of_a_file_are_not_called_those_of_a_device() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let extent = |offset| {
            let zones = vec![Zone::Outer, Zone::Inner];
            let (offset, buffered) = (Size(offset), true);
            let parameters = DiskParameters { zones, offset, buffered, ..DiskParameters::default() };
            Setting::open(file.path(), &parameters).unwrap().extent()
        };
        assert_eq!([0, 64 << 10].map(extent), [Extent::File, Extent::Part]);
    }

    #[test]
    fn zones_that_touch_share_no_bytes_where_the_first_starts_between_two_blocks() {
        let (size, block) = (20 << 10, 8 << 10);
        let first = Span { offset: 4 << 10, length: block };
        assert_eq!(last_zone(size, first, block).offset, 12 << 10);
        let aligned = Span { offset: 0, length: block };
        assert_eq!(last_zone(size, aligned, block).offset, 8 << 10);
    }

    #[test]
    fn zones_that_overlap_are_refused_and_zones_that_touch_are_not() {
        let zones = View::Zones(vec![Zone::Outer, Zone::Inner]);
        let of = |offset: u64, length: u64| {
            let parameters =
                DiskParameters { offset: Size(offset), span: Some(Size(length)), ..DiskParameters::default() };
            let refused = |error: ExperimentError| error.to_string();
            span(Path::new("old.dat"), 1 << 30, &zones, &parameters).map(|span| span.length).map_err(refused)
        };
        assert_eq!(of(0, 1 << 29), Ok(1 << 29));
        for (offset, length) in [(0, (1 << 29) + 8192), (0, 1 << 30), (1 << 28, 1 << 29)] {
            assert!(of(offset, length).unwrap_err().contains("overlap"), "{length} from {offset} on");
        }
    }
}
