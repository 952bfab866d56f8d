//! What is read from a ring: a tracepoint that was passed, or that records were lost.

use super::format::Field;

/// Most fields that are read of a tracepoint.
pub const VALUES_MAX: usize = 4;

/// A tracepoint that a thread has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceRecord {
    /// When, in nanoseconds of the kernel's monotonic clock.
    pub time: u64,
    /// The process, and the thread of it. In an interrupt they are those that it interrupted.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// Which one, as its place in the list of those that were wanted.
    pub kind: u16,
    /// Its fields, in the order in which they were wanted.
    pub values: [u64; VALUES_MAX],
}

/// Records that found no room in the ring of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// The last record before them, and the first one behind them.
    pub from: u64,
    /// The first one behind them.
    pub until: u64,
    /// How many.
    pub records: u64,
}

/// The kinds of records in a ring, from include/uapi/linux/perf_event.h.
pub(super) const LOST: u32 = 2;
pub(super) const SAMPLE: u32 = 9;

/// A tracepoint that is open: its number, and the fields that are read of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) number: u16,
    pub(super) kind: u16,
    pub(super) fields: [Option<Field>; VALUES_MAX],
}

/// A sample of process and thread, time, and the tracepoint's own record; `None` where it is cut short or of a
/// tracepoint that was not wanted.
pub(super) fn sample(bytes: &[u8], known: &[Known]) -> Option<TraceRecord> {
    let (process, thread, time) = (half(bytes, 0)?, half(bytes, 4)?, word(bytes, 8)?);
    let length = half(bytes, 16)? as usize;
    let record = bytes.get(20..20_usize.checked_add(length)?)?;
    let number = u16::from_ne_bytes(*record.first_chunk()?);
    let of = known.iter().find(|known| known.number == number)?;
    let mut values = [0; VALUES_MAX];
    for (value, field) in values.iter_mut().zip(of.fields) {
        if let Some(field) = field {
            *value = field.value(record)?;
        }
    }
    Some(TraceRecord { time, process, thread, kind: of.kind, values })
}

/// How many records were lost, and when that was noticed.
pub(super) fn lost(bytes: &[u8]) -> Option<(u64, u64)> {
    // The event's number, the count, and behind it process, thread and time.
    Some((word(bytes, 8)?, word(bytes, 24)?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tracepoint::format::Format;

    fn known() -> [Known; 1] {
        let text = "ID: 9\n\tfield:int fd;\toffset:8;\tsize:4;\tsigned:0;\n";
        let field = Format::parse(text).unwrap().field("fd").unwrap();
        [Known { number: 9, kind: 3, fields: [Some(field), None, None, None] }]
    }

    fn bytes(number: u16, length: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(77_u32.to_ne_bytes());
        bytes.extend(78_u32.to_ne_bytes());
        bytes.extend(123_456_789_u64.to_ne_bytes());
        bytes.extend(length.to_ne_bytes());
        bytes.extend(number.to_ne_bytes());
        bytes.extend([0; 6]);
        bytes.extend(5_u32.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_record_has_its_thread_its_time_and_its_fields() {
        let expected = TraceRecord { time: 123_456_789, process: 77, thread: 78, kind: 3, values: [5, 0, 0, 0] };
        assert_eq!(sample(&bytes(9, 12), &known()), Some(expected));
        assert_eq!(sample(&bytes(8, 12), &known()), None, "one that was not wanted");
        assert_eq!(sample(&bytes(9, 11), &known()), None, "one whose field is cut off");
        assert_eq!(sample(&bytes(9, u32::MAX), &known()), None, "one that says it is longer than it is");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bytes_of_any_kind_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = (sample(&bytes, &known()), lost(&bytes));
        }
    }
}
