//! What a process shows of itself in the server's shared memory, by the server's version.

use profile::source::sampled::{CLIENT, Sample, State};

/// Bytes of an entry that are read: up to the end of the last field that is used.
pub(super) const ENTRY_BYTES: usize = 432;

/// Offsets of the fields of `PgBackendStatus` on machines of 64 bits: found in the memory of 15 and 18, taken to be the
/// same in those between and in 14, and held against `pg_stat_activity` before they are used.
pub(super) mod offset {
    pub(in crate::memory) const CHANGES: usize = 0;
    pub(in crate::memory) const PROCESS: usize = 4;
    pub(in crate::memory) const KIND: usize = 8;
    pub(in crate::memory) const PROCESS_START: usize = 16;
    pub(in crate::memory) const STATEMENT_START: usize = 32;
    pub(in crate::memory) const STATE_START: usize = 40;
    pub(super) const DATABASE: usize = 48;
    pub(super) const USER: usize = 52;
    pub(in crate::memory) const STATE: usize = 232;
    pub(super) const TEXT: usize = 248;
    pub(in crate::memory) const QUERY_ID: usize = 424;
}

/// Microseconds from 1970 to 2000, from which on the server counts.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// Versions whose entries are known.
pub(super) const VERSIONS: std::ops::RangeInclusive<u32> = 14..=18;

/// The first version in which a process that starts has a state of its own.
const WITH_STARTING: u32 = 18;

/// An entry as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    bytes: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The entry in these bytes, of which there are [`ENTRY_BYTES`].
    pub(super) fn new(bytes: &'a [u8]) -> Entry<'a> {
        Entry { bytes }
    }

    fn word(&self, at: usize) -> i64 {
        self.bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }

    fn half(&self, at: usize) -> i32 {
        self.bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| i32::from_le_bytes(*bytes))
    }

    /// Whether it was read while its process changed it.
    pub(super) fn is_changing(&self) -> bool {
        self.changes() % 2 != 0
    }

    /// How often its process has begun or ended a change: as long as it stays the same, so does the entry.
    pub(super) fn changes(&self) -> i32 {
        self.half(offset::CHANGES)
    }

    pub(super) fn process(&self) -> u32 {
        self.half(offset::PROCESS).unsigned_abs()
    }

    /// The number of its kind, which differs from version to version.
    pub(super) fn kind(&self) -> i32 {
        self.half(offset::KIND)
    }

    /// The numbers of its database and its role, 0 for none.
    pub(super) fn database_and_user(&self) -> (u32, u32) {
        (self.half(offset::DATABASE).cast_unsigned(), self.half(offset::USER).cast_unsigned())
    }

    /// In µs since 1970.
    pub(super) fn start(&self) -> i64 {
        self.word(offset::PROCESS_START).saturating_add(EPOCH_MICROS)
    }

    /// In µs since 1970; `None` before the first statement.
    pub(super) fn statement_start(&self) -> Option<i64> {
        Entry::moment(self.word(offset::STATEMENT_START))
    }

    /// When it came to be in its state, in µs since 1970.
    pub(super) fn state_start(&self) -> Option<i64> {
        Entry::moment(self.word(offset::STATE_START))
    }

    /// Where the text of the statement stands.
    pub(super) fn text(&self) -> u64 {
        self.word(offset::TEXT).cast_unsigned()
    }

    /// `None` where the server computes none.
    pub(super) fn query_id(&self) -> Option<i64> {
        Some(self.word(offset::QUERY_ID)).filter(|id| *id != 0)
    }

    /// Whether it shows what the server showed of the process, while the entry stayed as it was.
    pub(super) fn agrees(&self, sample: &Sample, major: u32) -> bool {
        if !self.is_of(sample) {
            return false;
        }
        // Of some processes the server shows no more.
        let is_client = sample.backend.kind == CLIENT;
        !is_client || sample.state == State::Hidden || {
            let shown = (sample.state, sample.query_start, sample.query_id);
            self.state(major).map(|state| (state, self.statement_start(), self.query_id())) == Some(shown)
        }
    }

    /// Whether it is of the same process.
    pub(super) fn is_of(&self, sample: &Sample) -> bool {
        self.process() == sample.backend.pid && self.start() == sample.backend.start
    }

    /// What a client's process does, by the server's major version; `None` where the number is none of a state.
    pub(super) fn state(&self, major: u32) -> Option<State> {
        state_of(self.half(offset::STATE), major)
    }

    /// A moment of the server's, in µs since 1970; `None` for none.
    pub(super) fn moment(micros: i64) -> Option<i64> {
        Some(micros).filter(|micros| *micros != 0).map(|micros| micros.saturating_add(EPOCH_MICROS))
    }
}

/// The state of a number, by the server's major version; `None` where it is none of a state.
pub(super) fn state_of(number: i32, major: u32) -> Option<State> {
    Some(match number - i32::from(major >= WITH_STARTING) {
        -1..=1 => State::Idle,
        2 | 4 => State::Active,
        3 | 5 => State::IdleInTransaction,
        6 => State::Disabled,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use profile::source::sampled::Backend;

    use super::*;

    fn bytes(state: i32) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[offset::STATE..][..4].copy_from_slice(&state.to_le_bytes());
        bytes
    }

    #[test]
    fn the_states_of_18_begin_with_one_that_others_lack() {
        let of = |state, major| Entry::new(&bytes(state)).state(major);
        assert_eq!((of(2, 15), of(3, 18)), (Some(State::Active), Some(State::Active)));
        assert_eq!((of(3, 15), of(4, 18)), (Some(State::IdleInTransaction), Some(State::IdleInTransaction)));
        assert_eq!(
            (of(1, 15), of(2, 18), of(1, 18), of(0, 18)),
            (Some(State::Idle), Some(State::Idle), Some(State::Idle), Some(State::Idle))
        );
        assert_eq!((of(9, 15), of(-7, 18)), (None, None));
    }

    #[test]
    fn memory_that_shows_another_state_statement_or_process_does_not_agree() {
        let mut bytes = bytes(2);
        bytes[offset::PROCESS..][..4].copy_from_slice(&77_i32.to_le_bytes());
        bytes[offset::STATEMENT_START..][..8].copy_from_slice(&5_i64.to_le_bytes());
        bytes[offset::QUERY_ID..][..8].copy_from_slice(&(-9_i64).to_le_bytes());
        let backend = Backend { pid: 77, start: EPOCH_MICROS, kind: CLIENT.into(), ..Backend::default() };
        let shown = Sample {
            backend: Arc::new(backend.clone()),
            state: State::Active,
            event: None,
            query_id: Some(-9),
            query_start: Some(EPOCH_MICROS + 5),
            text: None,
            processor: None,
        };
        let agrees = |sample: &Sample, major| Entry::new(&bytes).agrees(sample, major);
        assert!(agrees(&shown, 15));
        assert!(!agrees(&shown, 18), "there it is idle");
        assert!(!agrees(&Sample { query_id: None, ..shown.clone() }, 15));
        assert!(!agrees(&Sample { query_start: Some(EPOCH_MICROS), ..shown.clone() }, 15));
        assert!(agrees(&Sample { query_id: None, state: State::Hidden, ..shown.clone() }, 15));
        let other = Arc::new(Backend { pid: 78, ..backend });
        assert!(!agrees(&Sample { backend: other, ..shown }, 15));
    }

    #[test]
    fn what_is_missing_is_absent_and_a_short_entry_no_panic() {
        let mut wild = bytes(1);
        wild[offset::PROCESS_START..][..8].copy_from_slice(&i64::MAX.to_le_bytes());
        assert_eq!(Entry::new(&wild).start(), i64::MAX);
        let empty = bytes(1);
        let entry = Entry::new(&empty);
        assert_eq!((entry.query_id(), entry.statement_start(), entry.is_changing()), (None, None, false));
        assert_eq!(Entry::new(&[]).process(), 0);
    }
}
