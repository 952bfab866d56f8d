//! The modelled hard disk against the disk that was measured in 2005, as it comes out: nothing is fitted to these
//! figures.

use device::model::{self, Model};
use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};

use crate::reading;

/// The published milliseconds a read: 2000 reads of 8 KiB by two workers.
const OUTER: f64 = 5.7;
const BOTH: f64 = 16.4;

fn plan(offset: u64, seed: u64) -> ReadPlan {
    ReadPlan {
        pattern: Pattern::Random,
        block_size: 8192,
        pages: sys::memory::Pages::Huge,
        span: Span { offset, length: 2 << 30 },
        seed,
        working_set: None,
        depth: 1,
        reap_batch: 1,
        warm_up: StopAfter::Reads(0),
        stop_after: StopAfter::Reads(1000),
        rate: None,
    }
}

/// Milliseconds a read of two workers, each in its zone: the time of both over their reads.
fn millis_per_read(model: &Model, outer: [bool; 2]) -> f64 {
    let inner = (model.size() - (2 << 30)) / 8192 * 8192;
    let plans: Vec<ReadPlan> =
        outer.iter().zip(13..).map(|(outer, seed)| plan(if *outer { 0 } else { inner }, seed)).collect();
    let reading = reading(model, &plans);
    reading.outcome.elapsed.as_millis() / reading.outcome.latency.reads() as f64
}

#[test]
fn the_disk_model_shows_place_as_the_published_disk_did() {
    let disk = model::named("hdd-7200").unwrap();
    let outer = millis_per_read(&disk, [true, true]);
    let inner = millis_per_read(&disk, [false, false]);
    let both = millis_per_read(&disk, [true, false]);
    println!("outer {outer:.2} ms a read, inner {inner:.2}, both {both:.2}");
    assert!((outer / OUTER - 1.0).abs() < 0.20, "outer: {outer:.2} ms for {OUTER}");
    assert!(outer < inner && inner < both, "{outer:.2}, {inner:.2}, {both:.2}");
    assert!((both / BOTH - 1.0).abs() < 0.40, "both: {both:.2} ms for {BOTH}");
}
