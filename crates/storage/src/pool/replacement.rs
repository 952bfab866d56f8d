//! Replacement: which page leaves when another one needs its frame. Asked on misses only.
//!
//! Two queues of frames, after S3-FIFO: a page that is read enters the *probation* queue; when its turn comes there it
//! leaves, unless it was used again meanwhile, which moves it to the *main* queue. The main queue is a clock: a page
//! that was used since the hand last passed by stays for another round. Victims are taken from probation as long as
//! it holds its share of the frames. So a scan of any length, whose pages are used once, flows through probation
//! and never reaches main.
//!
//! A page that comes back soon after it left probation was judged too early and enters main at once. S3-FIFO keeps a
//! queue of such ghosts; here the word of an absent page remembers the number of its eviction, which needs no memory.
//! Pages asked for by a scan have no such claim.
//!
//! Source: Yang, Zhang, Qiu, Yue, Vinayak, "FIFO queues are all you need for cache eviction", SOSP 2023.

use std::collections::VecDeque;

use super::frames::OwnFrame;
use super::word::{Purpose, Verdict};
use crate::page::id::PageId;

/// Probation's share of the frames is one in this many; the paper finds a tenth good for all of its 6594 traces.
const PROBATION_PART: usize = 10;

/// Why a frame is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    /// The page that will stand in it.
    pub(super) page: PageId,
    /// The mark of its last eviction; 0 when it has none.
    pub(super) mark: u32,
    /// What it is read for.
    pub(super) purpose: Purpose,
}

/// The frames by their turn to be given up.
#[derive(Debug)]
pub(super) struct Replacement {
    free: Vec<OwnFrame>,
    probation: VecDeque<u32>,
    main: VecDeque<u32>,
    /// The page of each frame, by the frame's number.
    owners: Vec<Option<PageId>>,
    probation_frames_min: usize,
    /// Evictions from probation so far; 0 is never used as a mark.
    evictions: u32,
}

impl Replacement {
    /// All frames are free; probation is to hold at least `probation_min` of them, so that what one request reads ahead
    /// does not push itself out.
    pub(super) fn new(frames: impl Iterator<Item = OwnFrame>, probation_min: usize) -> Replacement {
        let mut free: Vec<OwnFrame> = frames.collect();
        // Frames are given out from the end: reversed, a table that is loaded in order lies in order.
        free.reverse();
        let count = free.len();
        Replacement {
            probation: VecDeque::with_capacity(count),
            main: VecDeque::with_capacity(count),
            owners: vec![None; count],
            probation_frames_min: (count / PROBATION_PART).max(probation_min).min(count / 2),
            free,
            evictions: 0,
        }
    }

    /// A frame for a page, from which `evict` (given a page and the mark to leave in its word) has removed another one
    /// if need be; `None` when no page may leave.
    ///
    /// The frame is in a queue from now on, under its new page. Until that page's word is published every attempt to
    /// evict it finds it held.
    pub(super) fn take(
        &mut self,
        admission: Admission,
        mut evict: impl FnMut(PageId, u32) -> Verdict,
    ) -> Option<OwnFrame> {
        let frame = match self.free.pop() {
            Some(frame) => frame,
            None => self.evict_one(&mut evict)?,
        };
        self.owners[frame.number() as usize] = Some(admission.page);
        if self.is_remembered(admission) {
            self.main.push_back(frame.number());
        } else {
            self.probation.push_back(frame.number());
        }
        Some(frame)
    }

    /// Gives frames back whose pages were discarded, or never came.
    pub(super) fn give_back(&mut self, frames: Vec<OwnFrame>) {
        self.disown(&frames);
        self.free.extend(frames);
    }

    /// Does without these frames from now on.
    pub(super) fn give_up(&mut self, frames: Vec<OwnFrame>) {
        self.disown(&frames);
    }

    fn disown(&mut self, frames: &[OwnFrame]) {
        for frame in frames {
            self.owners[frame.number() as usize] = None;
        }
        self.probation.retain(|frame| self.owners[*frame as usize].is_some());
        self.main.retain(|frame| self.owners[*frame as usize].is_some());
    }

    /// Frames that probation holds before it gives up any for others.
    pub(super) fn probation_frames(&self) -> usize {
        self.probation_frames_min
    }

    /// Whether the page left probation so recently that it would still be here had main been all of the pool.
    fn is_remembered(&self, admission: Admission) -> bool {
        let age = self.evictions.wrapping_sub(admission.mark) as usize;
        admission.mark != 0 && admission.purpose == Purpose::Random && age < self.owners.len()
    }

    /// Sweeps probation down to its share, then main, then all of probation, then main again: what the sweep of
    /// probation has moved there was not looked at yet.
    ///
    /// Down to its share and no farther: behind the pages that were used, and move on, stand those that a thread has
    /// just asked for ahead of their use.
    fn evict_one(&mut self, evict: &mut impl FnMut(PageId, u32) -> Verdict) -> Option<OwnFrame> {
        let beyond = self.sweep_probation(self.probation_frames_min, evict);
        let other = beyond.or_else(|| self.sweep_main(evict));
        other.or_else(|| self.sweep_probation(0, evict)).or_else(|| self.sweep_main(evict))
    }

    /// Looks at pages of probation while it holds at least `share` of them.
    fn sweep_probation(&mut self, share: usize, evict: &mut impl FnMut(PageId, u32) -> Verdict) -> Option<OwnFrame> {
        let mark = self.evictions.wrapping_add(1).max(1);
        for _ in 0..self.probation.len() {
            if self.probation.len() < share {
                return None;
            }
            let frame = self.probation.pop_front()?;
            match self.judge(frame, mark, evict) {
                Verdict::Evicted => {
                    self.evictions = mark;
                    return Some(OwnFrame::let_go(frame));
                }
                Verdict::Referenced => self.main.push_back(frame),
                Verdict::Held => self.probation.push_back(frame),
                Verdict::Dirty => {}
            }
        }
        None
    }

    /// Two rounds: the first may find every page used, the second finds them not used since.
    fn sweep_main(&mut self, evict: &mut impl FnMut(PageId, u32) -> Verdict) -> Option<OwnFrame> {
        for _ in 0..2 * self.main.len() {
            let frame = self.main.pop_front()?;
            match self.judge(frame, 0, evict) {
                Verdict::Evicted => return Some(OwnFrame::let_go(frame)),
                Verdict::Referenced | Verdict::Held => self.main.push_back(frame),
                Verdict::Dirty => {}
            }
        }
        None
    }

    /// A dirty page is recognised when its turn comes, and leaves its queue for good: it stays in the pool
    /// until it is discarded, and later sweeps do not come by it again.
    fn judge(&self, frame: u32, mark: u32, evict: &mut impl FnMut(PageId, u32) -> Verdict) -> Verdict {
        match self.owners[frame as usize] {
            Some(page) => evict(page, mark),
            None => Verdict::Dirty,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::page::id::SegmentId;
    use crate::pool::frames::Frames;

    /// A pool without bytes: which pages are resident, whether they were used, and the marks of those that left.
    struct Model {
        replacement: Replacement,
        used: HashMap<PageId, bool>,
        marks: HashMap<PageId, u32>,
    }

    impl Model {
        fn new(frames: u32) -> Model {
            let replacement = Replacement::new(Frames::new(frames).unwrap().all(), 1);
            Model { replacement, used: HashMap::new(), marks: HashMap::new() }
        }

        /// One access; says whether it was a hit.
        fn access(&mut self, number: u32, purpose: Purpose) -> bool {
            let page = PageId { segment: SegmentId(0), number };
            if let Some(used) = self.used.get_mut(&page) {
                *used |= purpose == Purpose::Random;
                return true;
            }
            let (used, marks) = (&mut self.used, &mut self.marks);
            let admission = Admission { page, mark: marks.remove(&page).unwrap_or(0), purpose };
            let evict = |page: PageId, mark| {
                if std::mem::take(used.get_mut(&page).unwrap()) {
                    return Verdict::Referenced;
                }
                used.remove(&page);
                marks.insert(page, mark);
                Verdict::Evicted
            };
            self.replacement.take(admission, evict).unwrap();
            self.used.insert(page, false);
            false
        }
    }

    #[test]
    fn a_scan_flows_through_probation_and_leaves_main_alone() {
        for purpose in [Purpose::Random, Purpose::Scan] {
            let mut model = Model::new(100);
            for number in (0..80).chain(0..80) {
                model.access(number, Purpose::Random);
            }
            for number in 1000..3000 {
                assert!(!model.access(number, purpose));
            }
            assert!((0..80).all(|number| model.access(number, purpose)), "{purpose:?}");
        }
    }

    #[test]
    fn a_hot_set_that_changes_is_followed() {
        let mut model = Model::new(100);
        for round in 0..10 {
            for number in 0..60 {
                model.access(number + 1000 * u32::from(round > 4), Purpose::Random);
            }
        }
        assert!((1000..1060).all(|number| model.access(number, Purpose::Random)));
    }

    #[test]
    fn a_page_that_comes_back_soon_is_kept() {
        let mut model = Model::new(100);
        for number in (0..200).chain(100..110) {
            model.access(number, Purpose::Random);
        }
        assert!(!model.access(0, Purpose::Random), "page 0 has left");
        for number in 300..380 {
            model.access(number, Purpose::Random);
        }
        assert!(model.access(0, Purpose::Random), "page 0 came back from probation's ghosts and stays in main");
    }

    #[test]
    fn when_no_page_may_leave_there_is_no_frame() {
        let mut replacement = Replacement::new(Frames::new(4).unwrap().all(), 1);
        for verdict in [Verdict::Held, Verdict::Dirty] {
            for number in 0..5 {
                let page = PageId { segment: SegmentId(0), number };
                let admission = Admission { page, mark: 0, purpose: Purpose::Random };
                let taken = replacement.take(admission, |_, _| verdict);
                assert_eq!(taken.is_some(), verdict == Verdict::Held && number < 4);
            }
        }
    }
}
