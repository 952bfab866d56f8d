//! Memory of a server that could be read before: when it was lost, and when it is tried again. The clock alone decides
//! that, so that it is tested without a server.

use std::time::{Duration, Instant};

/// Pause before memory that could be read before is tried again: what was in the way may have passed, such as a server
/// that did not answer. A try runs statements and reads the server's whole program, so each failure doubles the pause.
const MEMORY_AGAIN: Duration = Duration::from_secs(10);
const MEMORY_AGAIN_MAX: Duration = Duration::from_secs(300);

/// Memory that could be read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LostMemory {
    /// When it was lost or last tried, and how long it is left alone after that.
    pub(super) tried: Instant,
    pub(super) pause: Duration,
    /// Whether the user was informed that it is not read.
    pub(super) is_said: bool,
}

impl LostMemory {
    pub(super) fn now() -> LostMemory {
        LostMemory { tried: Instant::now(), pause: MEMORY_AGAIN, is_said: false }
    }

    /// The same after a try that failed, of which the user is informed.
    pub(super) fn tried_again(self) -> LostMemory {
        LostMemory { tried: Instant::now(), pause: (self.pause * 2).min(MEMORY_AGAIN_MAX), is_said: true }
    }

    pub(super) fn is_due(&self) -> bool {
        self.tried.elapsed() >= self.pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::tests::ago;

    #[test]
    fn memory_that_stays_unreadable_is_tried_less_and_less_often() {
        let mut lost = LostMemory::now();
        let pauses = [(); 7].map(|()| {
            lost = lost.tried_again();
            lost.pause.as_secs()
        });
        assert_eq!(pauses, [20, 40, 80, 160, 300, 300, 300]);
        assert!(!lost.is_due() && LostMemory { tried: ago(301), ..lost }.is_due());
    }
}
