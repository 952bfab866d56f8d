//! Events that turned out to be the same as others: a wait has a number until its name is known.

use crate::event::{EventIndex, Merge, Ticks};
use crate::tables::Profile;

/// Adds the sums of an event to those of another one, and leaves none of its own.
pub(crate) fn merge_event(profile: &mut Profile, from: EventIndex, to: EventIndex) {
    for session in profile.sessions.iter_mut().chain([&mut profile.whole]) {
        if let Some(sums) = session.events.remove(&from) {
            session.events.entry(to).or_default().merge(&sums);
        }
        if let Some(time) = session.think_time.remove(&from) {
            session.think_time.entry(to).or_default().merge(&time);
        }
    }
    for statement in &mut profile.statements {
        for (event, sums) in std::mem::take(&mut statement.waits).into_entries() {
            let event = if event == from { to } else { event };
            statement.waits.entry_or_default(event).merge(&sums);
        }
    }
    if let Some(error) = profile.estimated.remove(&from) {
        let known = profile.estimated.entry(to).or_default();
        *known = Ticks((known.0 as f64).hypot(error.0 as f64) as i64);
    }
}
