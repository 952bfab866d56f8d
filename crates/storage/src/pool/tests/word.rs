//! The translation word, step by step. Not in its own file: the loom test compiles that over atomics of another kind.

use crate::pool::word::{Held, Publication, Purpose, State, Verdict, Word};

fn resident(publication: Publication) -> Word {
    let word = Word::absent();
    assert_eq!(word.claim(), Some(0));
    word.publish(7, publication);
    word
}

#[test]
fn an_absent_page_can_be_claimed_once_and_nothing_else() {
    let word = Word::absent();
    assert_eq!((word.state(), word.pin(Purpose::Random), word.lock()), (State::Absent, None, None));
    assert_eq!((word.claim(), word.claim()), (Some(0), None));
    assert_eq!((word.state(), word.pin(Purpose::Random), word.lock()), (State::Loading, None, None));
    assert_eq!((word.evict(1), word.discard()), (Verdict::Held, Err(Held)));
    word.abandon();
    assert_eq!(word.state(), State::Absent);
}

#[test]
fn a_pinned_page_neither_leaves_nor_changes() {
    let word = resident(Publication::Pinned);
    assert_eq!((word.evict(1), word.lock(), word.discard()), (Verdict::Held, None, Err(Held)));
    word.unpin();
    assert_eq!((word.evict(9), word.claim()), (Verdict::Evicted, Some(9)));
}

#[test]
fn a_page_used_again_is_passed_over_once() {
    let word = resident(Publication::Pinned);
    assert_eq!(word.pin(Purpose::Random), Some(7));
    word.unpin();
    word.unpin();
    assert_eq!((word.evict(1), word.evict(1)), (Verdict::Referenced, Verdict::Evicted));
}

#[test]
fn the_first_use_of_a_page_read_ahead_and_any_scan_earn_nothing() {
    for purpose in [Purpose::Random, Purpose::Scan] {
        let word = resident(Publication::Ahead);
        assert_eq!(word.pin(purpose), Some(7));
        word.unpin();
        assert_eq!(word.pin(Purpose::Scan), Some(7));
        word.unpin();
        assert_eq!(word.evict(1), Verdict::Evicted);
    }
}

#[test]
fn a_locked_page_is_nobody_elses_and_dirty_for_ever() {
    let word = resident(Publication::Ahead);
    assert_eq!((word.lock(), word.lock()), (Some(7), None));
    assert_eq!((word.pin(Purpose::Random), word.discard()), (None, Err(Held)));
    word.unlock();
    assert_eq!(word.evict(1), Verdict::Dirty);
    assert_eq!(word.pin(Purpose::Random), Some(7));
    word.unpin();
    assert_eq!((word.discard(), word.discard()), (Ok(Some(7)), Ok(None)));
}

#[test]
fn more_pins_than_the_count_holds_are_refused() {
    let word = resident(Publication::Pinned);
    for _ in 1..0xFFFF {
        assert_eq!(word.pin(Purpose::Scan), Some(7));
    }
    assert_eq!((word.pin(Purpose::Scan), word.state()), (None, State::Resident));
    word.unpin();
    assert_eq!(word.pin(Purpose::Scan), Some(7));
}
