//! What is wanted of a profile of a busy server.

use measure::schema::contest::{OWN_CPU, TRANSACTIONS};

use crate::bars::{Bar, Judged, Wanted};
use crate::ledger::Ledger;

/// What is asked of all.
pub(crate) const FULL_SPEED: &str = "pgbench at full speed";

/// The contenders.
pub(crate) const ALONE: &str = "no profiler";
pub(crate) const READPATH: &str = "readpath, 1000 a second";
pub(crate) const WAIT_SAMPLING: &str = "pg_wait_sampling, 100 a second";

/// Part of the throughput that must be left, and of that with the peer.
const LEFT: Judged = Judged::ratio(Wanted::AtLeast(0.99), "dear");
const AS_THE_PEER: Judged = Judged::ratio(Wanted::AtLeast(1.0), "dearer");

/// Per cent of a processor at most, with this many sessions.
const OWN: Judged = Judged::figure(Wanted::AtMost(2.0), "dear");
const SESSIONS_OF_BAR: u64 = 50;

/// The question of readpath's own cost with this many sessions.
pub(crate) fn with_sessions(sessions: u64) -> String {
    format!("{sessions} sessions")
}

/// All bars; `absent` says why there is no peer.
pub(crate) fn bars(ledger: &Ledger, absent: &str) -> Vec<Bar> {
    let against = |peer: &str| ledger.ratios(FULL_SPEED, (READPATH, &TRANSACTIONS), (peer, &TRANSACTIONS));
    let question = with_sessions(SESSIONS_OF_BAR);
    let own = ledger.samples(&question, READPATH, &OWN_CPU);
    vec![
        Bar::of_samples("throughput beside that without a profiler", LEFT, &against(ALONE), "no pair"),
        Bar::of_samples("throughput beside that with pg_wait_sampling", AS_THE_PEER, &against(WAIT_SAMPLING), absent)
            .from("one ratio a pair, at ten times its rate"),
        Bar::of_samples(format!("own CPU with {question}: % of a processor"), OWN, own, "they were not asked for")
            .from("one profile"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    fn judged(readpath: f64, own: f64) -> Vec<Outcome> {
        let mut ledger = Ledger::default();
        ledger.add(FULL_SPEED, ALONE, &TRANSACTIONS, 40_000.0);
        ledger.add(FULL_SPEED, READPATH, &TRANSACTIONS, readpath);
        ledger.add(FULL_SPEED, WAIT_SAMPLING, &TRANSACTIONS, 39_000.0);
        ledger.add(&with_sessions(50), READPATH, &OWN_CPU, own);
        bars(&ledger, "it is not installed").iter().map(Bar::outcome).collect()
    }

    #[test]
    fn a_profile_that_takes_throughput_or_time_is_missed() {
        assert_eq!(judged(39_700.0, 1.9), [Outcome::Met; 3]);
        let dear = judged(38_900.0, 2.1);
        assert!(dear.iter().all(|outcome| matches!(outcome, Outcome::Missed(_))), "{dear:?}");
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert_eq!(
            bars(&Ledger::default(), "it is not installed")[1].sentence(),
            "throughput beside that with pg_wait_sampling: not judged, it is not installed."
        );
    }
}
