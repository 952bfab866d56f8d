//! What the server counted of several segments at once. A slow server is asked once for all that were over meanwhile,
//! and the last of them has all of the answer. A time that begins or ends among them has none of it: nothing tells how
//! much of the answer is of which segment.

use recording::Segment;

/// The answers to which the segments belong that are read, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Whether the next answer is also of segments ahead of those that are read.
    is_begun_before: bool,
    /// Microseconds of segments that were read as a whole and whose answer is still to come.
    open: i64,
    /// Whether an answer was of segments of which some were read and others were not.
    is_any_cut: bool,
}

/// How much of an answer was read with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// All that the answer of this segment is of.
    Whole,
    /// Nothing yet: it stands in a later segment.
    Later,
    /// A part of what it is of, and this much time, in microseconds.
    InPart(i64),
}

impl Answers {
    /// Begins behind a segment that is not read.
    pub(super) fn begin_behind(&mut self, segment: &Segment) {
        self.is_begun_before = is_with_later(segment);
    }

    /// Takes a segment that is read as a whole or in part, for a time in microseconds.
    pub(super) fn take(&mut self, segment: &Segment, is_whole: bool, time: i64) -> Answered {
        if is_with_later(segment) {
            if is_whole && !self.is_begun_before {
                self.open = self.open.saturating_add(time);
                return Answered::Later;
            }
            self.is_begun_before = true;
            self.is_any_cut |= is_whole;
            return Answered::InPart(time);
        }
        let is_asked = segment.own.is_some_and(|own| own.session.is_some());
        let is_cut = is_asked && std::mem::take(&mut self.is_begun_before);
        let open = if is_asked { std::mem::take(&mut self.open) } else { 0 };
        match is_whole && !is_cut {
            true => Answered::Whole,
            false => {
                self.is_any_cut |= is_whole || open > 0;
                Answered::InPart(time.saturating_add(open))
            }
        }
    }

    /// Ends with the last segment, or with the last one of a folder. Gives the time of those whose answer was not read.
    pub(super) fn end(&mut self) -> i64 {
        self.is_begun_before = false;
        self.is_any_cut |= self.open > 0;
        std::mem::take(&mut self.open)
    }

    /// Whether an answer was of segments of which some were read and others were not.
    pub(super) fn is_any_cut(&self) -> bool {
        self.is_any_cut
    }
}

/// Whether what the server counted in a segment stands in a later one. Then nothing is said to have been counted in it,
/// and the server has not worked for the recorder's session; each answer takes it some time.
fn is_with_later(segment: &Segment) -> bool {
    let has_nothing = segment.account.is_none_or(|account| account == 0)
        && segment.statements.iter().all(|one| one.counted.is_none());
    has_nothing && segment.own.is_some_and(|own| own.session == Some(0))
}

#[cfg(test)]
mod tests {
    use recording::Own;

    use super::*;

    /// One whose answer took the server so long; `None` where it was not asked.
    fn segment(session: Option<i64>) -> Segment {
        Segment { account: session, own: Some(Own { cpu: 0, session }), ..Segment::default() }
    }

    /// What is found of whole segments, and what is left at the end; `ahead` is the one before, which is not read.
    fn found(ahead: Option<i64>, sessions: &[Option<i64>]) -> (Vec<Answered>, i64) {
        let mut answers = Answers::default();
        answers.begin_behind(&segment(ahead));
        let found = sessions.iter().map(|session| answers.take(&segment(*session), true, 10)).collect();
        (found, answers.end())
    }

    #[test]
    fn an_answer_of_several_segments_is_whole_where_all_of_them_are_read() {
        use Answered::{InPart, Later, Whole};
        assert_eq!(found(Some(5), &[Some(5), Some(5)]), (vec![Whole, Whole], 0), "each has its own answer");
        assert_eq!(found(Some(5), &[Some(0), Some(0), Some(5)]), (vec![Later, Later, Whole], 0));
        assert_eq!(found(Some(0), &[Some(5), Some(5)]), (vec![InPart(10), Whole], 0), "it begins among them");
        assert_eq!(found(Some(0), &[Some(0), Some(5), Some(5)]), (vec![InPart(10), InPart(10), Whole], 0));
        assert_eq!(found(Some(5), &[Some(5), Some(0), Some(0)]), (vec![Whole, Later, Later], 20), "it ends among them");
        assert_eq!(found(None, &[None, Some(0), None, Some(5)]), (vec![Whole, Later, Whole, Whole], 0));
    }

    #[test]
    fn a_segment_that_is_read_in_part_takes_those_with_it_whose_answer_it_has() {
        let mut answers = Answers::default();
        assert_eq!(answers.take(&segment(Some(0)), true, 10), Answered::Later);
        assert_eq!(answers.take(&segment(Some(5)), false, 3), Answered::InPart(13));
        assert_eq!((answers.end(), answers.is_any_cut()), (0, true));
        let mut answers = Answers::default();
        assert_eq!(answers.take(&segment(Some(0)), false, 3), Answered::InPart(3));
        assert_eq!(answers.take(&segment(Some(5)), true, 10), Answered::InPart(10));
        assert_eq!(answers.take(&segment(Some(5)), false, 3), Answered::InPart(3));
        assert!(answers.is_any_cut());
    }
}
