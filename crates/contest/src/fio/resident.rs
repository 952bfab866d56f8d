//! Resident memory: a run ten times longer must not need more.

use measure::Statistics;

use crate::bars::{Bar, Judged, Wanted};
use crate::fio::reader::Reader;
use crate::fio::workload::{Turn, WORKLOADS};
use crate::program::needed_by;

/// The peak of the long run in the short one's. A twentieth is what an allocator moves by itself.
const RESIDENT_BAR: Judged = Judged::ratio(Wanted::AtMost(1.05), "grows");

/// How much longer the long run is.
const LONGER: u64 = 10;

/// Reads at depth 32 for the usual time and for ten times that, and compares the peaks.
pub(crate) fn bar(reader: &Reader<'_>) -> Bar {
    let workload = WORKLOADS.iter().find(|workload| workload.name == "random-32").unwrap_or(&WORKLOADS[0]);
    let peak = |milliseconds| {
        let command = reader.command(workload, Turn { milliseconds, seed: 1 });
        needed_by(&command).map(|needed| needed.peak_bytes)
    };
    let peaks = peak(reader.milliseconds).and_then(|short| Ok((short, peak(reader.milliseconds * LONGER)?)));
    let source = match &peaks {
        Ok((short, long)) => format!("VmHWM: {} KiB, then {} KiB", short >> 10, long >> 10),
        Err(_) => "VmHWM".into(),
    };
    let measured = peaks.map(|(short, long)| Statistics::single(long as f64 / short as f64));
    Bar::new(format!("peak memory, {LONGER} times longer"), RESIDENT_BAR, measured).from(source)
}
