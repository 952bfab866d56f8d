//! The disk's times against arithmetic.

use proptest::prelude::*;

use super::*;

fn disk() -> HardDiskParameters {
    HardDiskParameters::deskstar_7k250()
}

/// Runs requests that all come at the beginning; the end of each, by id.
fn ends(disk: &mut HardDisk, requests: &[Request]) -> Vec<(u64, Nanos)> {
    requests.iter().for_each(|request| disk.submit(Nanos::ZERO, *request));
    let mut ended = Vec::new();
    while let Some(now) = disk.next_event() {
        let mut done = Vec::new();
        disk.advance(now, &mut done);
        ended.extend(done.into_iter().map(|id| (id, now)));
    }
    ended
}

fn one(disk: &mut HardDisk, from: Nanos, offset: u64, length: u64) -> Nanos {
    disk.submit(from, Request { id: 0, offset, length });
    let end = disk.next_event().unwrap();
    disk.advance(end, &mut Vec::new());
    end.since(from)
}

#[test]
fn the_geometry_holds_the_capacity_and_every_sector_once() {
    let geometry = Geometry::new(&disk());
    let sectors = disk().capacity / SECTOR;
    let last = geometry.place(sectors - 1);
    assert!(last.cylinder < geometry.cylinders() && last.cylinder * 100 > geometry.cylinders() * 99);
    assert_eq!((geometry.place(0).sectors_per_track, last.sectors_per_track), (1170, 567));
    for sector in (0..sectors - 1).step_by(9_999_991) {
        let (here, next) = (geometry.place(sector), geometry.place(sector + 1));
        let follows = (next.track == here.track && next.sector == here.sector + 1)
            || (next.track == here.track + 1 && next.sector == 0);
        assert!(follows, "{here:?} {next:?}");
    }
}

#[test]
fn the_seek_curve_meets_the_three_figures_of_the_data_sheet() {
    let geometry = Geometry::new(&disk());
    let curve = SeekCurve::new(&disk(), geometry.cylinders());
    assert!((curve.millis(1) - 1.1).abs() < 1e-9);
    assert!((curve.millis(geometry.cylinders()) - 15.1).abs() < 0.05);
    assert!((curve.mean_within(geometry.cylinders()) - 8.5).abs() < 0.05);
    let mut distance = 1;
    while distance < geometry.cylinders() {
        assert!(curve.millis(distance) <= curve.millis(distance * 2));
        distance *= 2;
    }
}

#[test]
fn figures_that_are_equal_are_a_disk_however_they_are_rounded() {
    for tenths in 0..300 {
        let ms = f64::from(tenths) / 10.0;
        let flat = HardDiskParameters { track_to_track_ms: ms, average_seek_ms: ms, full_stroke_ms: ms, ..disk() };
        assert_eq!(flat.check(), Ok(()), "{ms} ms");
    }
}

#[test]
fn a_disk_whose_second_cylinder_would_be_nearer_than_its_first_is_refused() {
    let few = HardDiskParameters {
        capacity: 100 * 1000 * SECTOR,
        heads: 1,
        zones: 1,
        outer_sectors_per_track: 1000,
        inner_sectors_per_track: 1000,
        track_to_track_ms: 1.0,
        average_seek_ms: 3.682,
        full_stroke_ms: 10.0,
        ..disk()
    };
    assert_eq!(Geometry::new(&few).cylinders(), 100);
    let sentence = few.check().unwrap_err().to_string();
    assert!(sentence.contains("a longer seek would take less time"), "{sentence}");
    assert_eq!(HardDiskParameters { average_seek_ms: 5.0, ..few }.check(), Ok(()));
}

#[test]
fn a_sequential_read_runs_at_the_sustained_rate_of_the_data_sheet() {
    let mut disk = HardDisk::new(disk());
    let bytes = 64 << 20;
    let took = one(&mut disk, Nanos::ZERO, 0, bytes).as_seconds();
    let rate = bytes as f64 / took / 1e6;
    assert!((rate / 61.4 - 1.0).abs() < 0.02, "{rate:.1} MB/s outside");
    let inner = disk.parameters.capacity - bytes;
    let from = Nanos::from_millis(10_000);
    let rate = bytes as f64 / one(&mut disk, from, inner, bytes).as_seconds() / 1e6;
    assert!((rate / 29.8 - 1.0).abs() < 0.05, "{rate:.1} MB/s inside");
}

#[test]
fn a_block_read_twice_and_one_read_ahead_come_from_the_buffer() {
    let mut disk = HardDisk::new(disk());
    let first = one(&mut disk, Nanos::ZERO, 1 << 30, 8192);
    assert!(first > Nanos::from_millis(1));
    let again = one(&mut disk, Nanos::from_millis(50), 1 << 30, 8192);
    let ahead = one(&mut disk, Nanos::from_millis(60), (1 << 30) + (64 << 10), 8192);
    // 0.1 ms to answer, and 8 KiB over 100 MB/s.
    assert_eq!((again, ahead), (Nanos(181_920), Nanos(181_920)));
}

#[test]
fn a_read_from_an_older_segment_takes_nothing_from_what_is_read_ahead_elsewhere() {
    let mut disk = HardDisk::new(disk());
    let mut at = |millis: u64, offset: u64| one(&mut disk, Nanos::from_millis(millis), offset, 8192);
    let (low, high, between) = (1 << 30, 1 << 37, 1 << 35);
    at(0, high);
    at(100, low);
    let older = at(200, high + 8192);
    // The arm moves away from behind the low block.
    at(300, between);
    let ahead = at(400, low + (64 << 10));
    assert_eq!((older, ahead), (Nanos(181_920), Nanos(181_920)));
}

#[test]
fn a_read_that_is_longer_than_a_segment_of_the_buffer_does_not_come_from_it() {
    let mut disk = HardDisk::new(disk());
    let (long, mut now) = (64 << 20, Nanos::ZERO);
    now += one(&mut disk, now, 0, long);
    let again = one(&mut disk, now, 0, long);
    // 61.4 MB/s from the platter, and 100 MB/s over the bus.
    assert!(again > Nanos::from_millis(1_000), "{again:?}");
}

#[test]
fn reading_on_in_small_pieces_loses_no_revolution() {
    let mut disk = HardDisk::new(disk());
    let (mut now, mut slowest) = (Nanos::ZERO, Nanos::ZERO);
    for block in 0..4096_u64 {
        let took = one(&mut disk, now, block * 8192, 8192);
        if block > 0 {
            slowest = slowest.max(took);
        }
        now += took;
    }
    assert!(slowest < Nanos::from_millis(4), "{slowest:?} is a revolution lost");
}

#[test]
fn the_queue_shortens_the_way_of_the_arm() {
    let per_read = |depth: u64| {
        let mut random = measure::random::SplitMix64::new(7);
        let mut disk = HardDisk::new(disk());
        let blocks = disk.parameters.capacity / 8192;
        let mut total = Nanos::ZERO;
        let rounds = 640 / depth;
        for _ in 0..rounds {
            let mut asks = |id| Request { id, offset: random.below(blocks) * 8192, length: 8192 };
            let requests: Vec<Request> = (0..depth).map(&mut asks).collect();
            let begin = disk.free;
            requests.iter().for_each(|request| disk.submit(begin, *request));
            while let Some(now) = disk.next_event() {
                disk.advance(now, &mut Vec::new());
            }
            total += disk.free.since(begin);
        }
        total.as_millis() / (rounds * depth) as f64
    };
    let (alone, queued) = (per_read(1), per_read(32));
    // One at a time: 0.5 to begin, 8.5 to seek, half a revolution to wait, and 0.15 to read, in milliseconds.
    assert!((alone / 13.3 - 1.0).abs() < 0.05, "{alone:.2} ms alone");
    assert!(queued < alone / 1.5, "{queued:.2} of 32 for {alone:.2} alone");
}

#[test]
fn half_of_the_capacity_lies_on_less_than_half_of_the_tracks() {
    let half = disk().outer_part(0.5, 8192);
    assert!(half.cylinders > 0.35 && half.cylinders < 0.45, "{half:?}");
    assert!(half.seek_ms < half.whole_seek_ms && half.rate_gain > 1.2, "{half:?}");
}

#[test]
fn what_the_outer_half_gains_is_not_the_same_for_reads_of_any_size() {
    let of = |block: u64| disk().outer_part(0.5, block);
    let (small, large) = (of(8192), of(64 << 20));
    assert!((small.rate_gain - 1.254).abs() < 0.001, "{small:?}");
    // What takes seconds to pass the head does not gain by shorter seeks, but by more sectors on a track.
    assert!((large.rate_gain - 0.5 / large.cylinders).abs() < 0.001, "{large:?}");
}

#[test]
fn figures_that_cannot_be_are_refused_by_name() {
    let refused = |change: fn(&mut HardDiskParameters)| {
        let mut parameters = disk();
        change(&mut parameters);
        parameters.check().unwrap_err().0[0].split(' ').next().unwrap().to_string()
    };
    assert!(disk().check().is_ok());
    assert_eq!(refused(|disk| disk.rpm = f64::NAN), "rpm");
    assert_eq!(refused(|disk| disk.heads = 0), "heads");
    assert_eq!(refused(|disk| disk.inner_sectors_per_track = 2000), "inner_sectors_per_track");
    assert_eq!(refused(|disk| disk.average_seek_ms = 20.0), "average_seek_ms");
    assert_eq!(refused(|disk| disk.average_seek_ms = 1.2), "average_seek_ms");
    assert_eq!(refused(|disk| disk.track_switch_ms = 9.0), "track_switch_ms");
}

proptest! {
    #[test]
    fn every_read_ends_once_and_takes_its_time(
        asks in prop::collection::vec((0_u64..30_000_000, 1_u64..40), 1..80)
    ) {
        let requests: Vec<Request> = asks.iter().enumerate()
            .map(|(id, (block, blocks))| Request { id: id as u64, offset: block * 8192, length: blocks * 8192 })
            .collect();
        let first = ends(&mut HardDisk::new(disk()), &requests);
        let again = ends(&mut HardDisk::new(disk()), &requests);
        prop_assert_eq!(&first, &again);
        prop_assert!(first.windows(2).all(|pair| pair[0].1 < pair[1].1));
        let mut ids: Vec<u64> = first.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..requests.len() as u64).collect::<Vec<_>>());
    }
}
