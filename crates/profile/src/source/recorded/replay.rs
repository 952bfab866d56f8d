//! From a segment to the accounting of samples: second by second, as far as the profile's time reaches.

use std::ops::Range;
use std::sync::Arc;

use measure::sorting;
use measure::words::Word;
use recording::Segment;

use super::replayed_reads::replay_reads;
use crate::event::{Observer, StatementIndex, Ticks};
use crate::source::sampled::reads::Reads;
use crate::source::sampled::{Accounting, Backend, LOCK, Part, ProcessorTime, Sample, State};

/// Microseconds, and nanoseconds, of a second.
const SECOND: i64 = 1_000_000;
const SECOND_NANOS: i64 = 1_000_000_000;

/// A segment whose names are those of the accounting.
struct Replay<'a> {
    segment: &'a Segment,
    backends: Vec<Arc<Backend>>,
    statements: Vec<StatementIndex>,
    states: Vec<State>,
}

/// A sample's part of one second.
struct Piece {
    sample: Sample,
    statement: StatementIndex,
    time: Ticks,
    looks: u64,
}

/// Accounts for the seconds of a segment that begin within `period`, in microseconds since 1970; gives how many rows
/// they have.
pub(super) fn replay(
    segment: &Segment,
    period: &Range<i64>,
    (accounting, reads): (&mut Accounting, &mut Reads),
    observer: &mut dyn Observer,
) -> u64 {
    let replay = Replay::of(segment, accounting);
    replay_reads(segment, period, &replay.statements, reads);
    let seconds = replay.seconds(period);
    let (mut rows, mut rest) = (0, seconds.as_slice());
    let mut looks = segment.looks.clone();
    sorting::by_key(&mut looks, |one| one.at);
    let mut answers = segment.blocked.clone();
    sorting::by_key(&mut answers, |one| one.at);
    let mut unused = answers.as_slice();
    for one in looks.iter().filter(|one| period.contains(&one.at)) {
        // Rows of a second in which all were never looked at are none of a recorder's.
        let before = rest.partition_point(|(at, _)| *at < one.at);
        let count = rest[before..].partition_point(|(at, _)| *at == one.at);
        let (now, after) = rest[before..].split_at(count);
        rest = after;
        let pieces = replay.pieces(now, accounting);
        let parts: Vec<Part<'_>> = pieces.iter().map(Piece::part).collect();
        accounting.stretch(one.at, (ticks(one.time), one.looks), &parts, observer);
        rows += parts.len() as u64;
        let before = unused.partition_point(|answer| answer.at < one.at);
        let count = unused[before..].partition_point(|answer| answer.at == one.at);
        let (of_second, after) = unused[before..].split_at(count);
        unused = after;
        let answer: Vec<(u32, Vec<u32>)> = of_second.iter().map(|answer| (answer.pid, vec![answer.blocker])).collect();
        if !answer.is_empty() {
            accounting.blocking_recorded(&answer, &parts);
        }
    }
    rows
}

impl<'a> Replay<'a> {
    fn of(segment: &'a Segment, accounting: &mut Accounting) -> Replay<'a> {
        let backend = |process: &recording::Process| {
            Arc::new(Backend {
                pid: process.pid,
                start: process.started,
                kind: process.kind.to_string(),
                user: process.user.to_string(),
                database: process.database.to_string(),
                application: process.application.to_string(),
            })
        };
        let statements = segment.statements.iter().map(|one| accounting.names.recorded(&one.id, &one.text)).collect();
        let state = |word: &&str| State::of_word(word).unwrap_or(State::Hidden);
        Replay {
            segment,
            backends: segment.processes.iter().map(backend).collect(),
            statements,
            states: Segment::STATES.iter().map(state).collect(),
        }
    }

    /// The seconds of all samples in the period, each with the place of the sample, in order.
    fn seconds(&self, period: &Range<i64>) -> Vec<(i64, u32)> {
        let mut seconds = Vec::new();
        for (sample, place) in self.segment.samples.iter().zip(0_u32..) {
            let each = (0..i64::from(sample.seconds)).map(|second| sample.at + second * SECOND);
            seconds.extend(each.filter(|at| period.contains(at)).map(|at| (at, place)));
        }
        seconds.sort_unstable_by_key(|(at, place)| (*at, self.segment.samples[*place as usize].process, *place));
        seconds
    }

    /// What the processes did in a second, those of one process side by side. What a session that waits for a lock
    /// went on to wait comes first, and what it began to wait for comes last.
    fn pieces(&self, now: &[(i64, u32)], accounting: &Accounting) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = now.iter().filter_map(|(at, place)| self.piece(*at, *place)).collect();
        let is_lock = |piece: &Piece| piece.sample.event.as_deref().is_some_and(|event| event.starts_with(LOCK));
        let process = |piece: &Piece| (piece.sample.backend.pid, piece.sample.backend.start);
        pieces.sort_by_cached_key(|piece| {
            let waited = accounting.blockers.waits(piece.sample.backend.pid);
            (process(piece), is_lock(piece) != waited)
        });
        pieces
    }

    /// A second's part of a sample, which may be of several seconds evenly.
    fn piece(&self, at: i64, place: u32) -> Option<Piece> {
        let one = self.segment.samples.get(place as usize)?;
        let seconds = i64::from(one.seconds.max(1));
        let number = (at - one.at).div_euclid(SECOND);
        // What cannot be divided evenly is with the first seconds.
        let part = |whole: i64| whole / seconds + i64::from(number < whole % seconds);
        let (time, queued) = (Ticks(part(ticks(one.time).0)), Ticks(part(ticks(one.queued).0)));
        let looks = part(i64::try_from(one.looks).unwrap_or(i64::MAX)).unsigned_abs();
        let event = self.segment.events.get(one.event as usize).filter(|event| !event.is_empty());
        let sample = Sample {
            backend: Arc::clone(self.backends.get(one.process as usize)?),
            state: *self.states.get(one.state as usize)?,
            event: event.map(Arc::clone),
            query_id: None,
            query_start: None,
            text: None,
            processor: (queued > Ticks::ZERO).then_some(ProcessorTime {
                ran: time - queued,
                waited: queued,
                ..ProcessorTime::default()
            }),
        };
        Some(Piece { sample, statement: *self.statements.get(one.statement as usize)?, time, looks })
    }
}

impl Piece {
    fn part(&self) -> Part<'_> {
        Part { sample: &self.sample, statement: self.statement, time: self.time, looks: self.looks }
    }
}

fn ticks(nanos: i64) -> Ticks {
    Ticks::from_nanos(nanos.clamp(0, 3_600 * SECOND_NANOS).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use recording::{Blocked, Looks};

    use super::*;

    struct Nothing;

    impl Observer for Nothing {}

    #[test]
    fn looks_and_answers_by_the_hundred_thousand_take_seconds_and_not_minutes() {
        const COUNT: i64 = 1 << 18;
        let at = |number: i64| 1_795_428_900 * SECOND + 200 * number;
        let segment = Segment {
            looks: (0..COUNT).map(|number| Looks { at: at(number), looks: 1, time: 1_000 }).collect(),
            blocked: (0..COUNT).map(|number| Blocked { at: at(number), pid: 1, blocker: 2 }).collect(),
            ..Segment::default()
        };
        let (mut accounting, mut reads) = (Accounting::new(at(0)), Reads::default());
        let start = Instant::now();
        replay(&segment, &(i64::MIN..i64::MAX), (&mut accounting, &mut reads), &mut Nothing);
        let took = start.elapsed();
        assert!(accounting.blockers.waits(1), "the last answer holds");
        assert!(took < Duration::from_secs(30), "{took:?}");
    }
}
