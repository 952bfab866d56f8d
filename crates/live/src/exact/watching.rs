//! What an exact watch came to, and what it took.

use std::time::Duration;

use measure::Nanos;
use measure::quantity::{counted, three_digits};

use crate::active_time::ActiveTime;
use crate::counters::Counted;

/// What an exact watch came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watching {
    /// Sessions that were watched, those of them that ended meanwhile, and changes that were seen.
    pub(crate) sessions: usize,
    pub(crate) gone: usize,
    pub(crate) changes: u64,
    pub(crate) lost: u64,
    /// The time of the watch that is left out because changes of it were lost.
    pub(crate) lost_time: Duration,
    /// What a change took from its session, and the largest part of a session's time.
    pub(crate) store: Duration,
    pub(crate) share_max: f64,
    /// Sessions that were not watched to the end, and why.
    pub(crate) left: Vec<(u32, String)>,
    /// Whether only chosen sessions were watched.
    pub(crate) is_of_chosen: bool,
    /// The server's account of its sessions' time when the watch ended, where it gave one then, and what it had counted
    /// of statements.
    pub(crate) account: Option<Result<ActiveTime, String>>,
    pub(crate) counters: Option<Result<Counted, String>>,
    pub(crate) taken: Taken,
}

/// What a watch took until a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// How long it was.
    pub(crate) time: Duration,
    /// The CPU time of this process meanwhile.
    pub(crate) cpu: Nanos,
    /// How long the server worked for our session.
    pub(crate) session: Duration,
}

impl Watching {
    /// Why what the server counts holds more than was watched, as the end of a sentence; `None` where it does not.
    pub(crate) fn unwatched(&self) -> Option<&'static str> {
        match (self.is_of_chosen, self.left.is_empty()) {
            (true, _) => Some("all sessions are counted in it, and only the chosen ones were watched"),
            (false, false) => Some("all sessions are counted in it, and some were not watched to the end"),
            (false, true) => None,
        }
    }

    /// What the profile was made from.
    pub(crate) fn sentence(&self) -> String {
        let mut said = format!(
            "Made from every wait of {}: {}, each of which took about {} µs from its session, {} % of its time at \
             most.",
            counted(self.sessions as u64, "session", "sessions"),
            counted(self.changes, "change", "changes"),
            three_digits(self.store.as_secs_f64() * 1e6),
            three_digits(100.0 * self.share_max)
        );
        if self.gone > 0 {
            said.push_str(&format!(
                " {} ended meanwhile; sessions that live for less than some 15 ms may not have been watched.",
                counted(self.gone as u64, "session", "sessions")
            ));
        }
        if self.lost > 0 {
            said.push_str(&format!(
                " {} more found no room: what sessions did in the {} s around them is left out, and so are the number \
                 and the lengths of waits, some of which are known in part.",
                counted(self.lost, "change", "changes"),
                three_digits(self.lost_time.as_secs_f64())
            ));
        }
        said
    }
}
