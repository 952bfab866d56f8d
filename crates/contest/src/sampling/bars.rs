//! What is wanted of a profile of a busy server.

use measure::schema::Spec;
use measure::schema::contest::{OWN_CPU, TRANSACTIONS};

use super::peers::{WAIT_SAMPLING, WAIT_TRACER, WAIT_TRACER_EXACT};
use crate::bars::{Bar, Judged, Wanted};
use crate::ledger::Ledger;

/// What is asked of all.
pub(crate) const FULL_SPEED: &str = "pgbench at full speed";

/// What is asked of readpath: its bar for tiers is of reads that the device answers.
pub(crate) const FROM_DEVICE: &str = "reads from the device";

/// The contenders that are no peers: samples of memory alone, and with the tier of every read traced besides.
pub(crate) const ALONE: &str = "no profiler";
pub(crate) const READPATH: &str = "readpath, 1000 a second";
pub(crate) const WITH_TIERS: &str = "readpath, with the tier of every read";

/// Part of the throughput that must be left by samples, with tiers, and of that with a peer.
const LEFT: Judged = Judged::ratio(Wanted::AtLeast(0.99), "dear");
const LEFT_WITH_TIERS: Judged = Judged::ratio(Wanted::AtLeast(0.97), "dear");
const AS_THE_PEER: Judged = Judged::ratio(Wanted::AtLeast(1.0), "dearer");

/// Per cent of a processor at most, with this many sessions, and in the peer's.
const OWN: Judged = Judged::figure(Wanted::AtMost(2.0), "dear");
const OWN_AS_THE_PEER: Judged = Judged::ratio(Wanted::AtMost(1.0), "dearer");
const SESSIONS_OF_BAR: u64 = 50;

/// Why there is no ratio.
const NOT_THERE: &str = "one of the two was not measured";

/// The question of the profilers' own cost with this many sessions.
pub(crate) fn with_sessions(sessions: u64) -> String {
    format!("{sessions} sessions")
}

/// All bars.
pub(crate) fn all(ledger: &Ledger) -> Vec<Bar> {
    let question = with_sessions(SESSIONS_OF_BAR);
    let against = |question: &str, spec: &Spec, peer: &str| ledger.ratios(question, (READPATH, spec), (peer, spec));
    let throughput = |name: &str, judged: Judged, peer: &str| {
        let ratios = against(FULL_SPEED, &TRANSACTIONS, peer);
        Bar::of_samples(format!("throughput beside that {name}"), judged, &ratios, NOT_THERE)
    };
    let own = |name: &str, peer: &str| {
        let ratios = against(&question, &OWN_CPU, peer);
        let name = format!("own CPU with {question} beside that of {name}");
        Bar::of_samples(name, OWN_AS_THE_PEER, &ratios, NOT_THERE).from("one profile of each")
    };
    let with_tiers = ledger.ratios(FROM_DEVICE, (WITH_TIERS, &TRANSACTIONS), (ALONE, &TRANSACTIONS));
    let name = "reads from the device with the tier of every read beside those without a profiler";
    let with_tiers = Bar::of_samples(name, LEFT_WITH_TIERS, &with_tiers, NOT_THERE);
    vec![
        throughput("without a profiler", LEFT, ALONE),
        with_tiers,
        throughput("with pg_wait_sampling at a tenth of the rate", AS_THE_PEER, WAIT_SAMPLING),
        throughput("with pg_wait_tracer at a hundredth of the rate", AS_THE_PEER, WAIT_TRACER),
        throughput("with pg_wait_tracer and every change", AS_THE_PEER, WAIT_TRACER_EXACT),
        own_cpu(ledger).from("one profile"),
        own("pg_wait_sampling at a tenth of the rate", WAIT_SAMPLING),
        own("pg_wait_tracer at a hundredth of the rate", WAIT_TRACER),
    ]
}

/// The bar of its own processor time.
pub(crate) fn own_cpu(ledger: &Ledger) -> Bar {
    let question = with_sessions(SESSIONS_OF_BAR);
    let samples = ledger.samples(&question, READPATH, &OWN_CPU);
    Bar::of_samples(format!("own CPU with {question}: % of a processor"), OWN, samples, "they were not asked for")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    fn judged(readpath: f64, with_tiers: f64, own: f64) -> Vec<Outcome> {
        let mut ledger = Ledger::default();
        ledger.add(FULL_SPEED, ALONE, &TRANSACTIONS, 40_000.0);
        ledger.add(FULL_SPEED, READPATH, &TRANSACTIONS, readpath);
        ledger.add(FROM_DEVICE, ALONE, &TRANSACTIONS, 40_000.0);
        ledger.add(FROM_DEVICE, WITH_TIERS, &TRANSACTIONS, with_tiers);
        for peer in [WAIT_SAMPLING, WAIT_TRACER, WAIT_TRACER_EXACT] {
            ledger.add(FULL_SPEED, peer, &TRANSACTIONS, 39_000.0);
            ledger.add(&with_sessions(50), peer, &OWN_CPU, 2.0);
        }
        ledger.add(&with_sessions(50), READPATH, &OWN_CPU, own);
        all(&ledger).iter().map(Bar::outcome).collect()
    }

    #[test]
    fn a_profile_that_takes_throughput_or_time_is_missed() {
        assert_eq!(judged(39_700.0, 38_900.0, 1.9), [Outcome::Met; 8]);
        let dear = judged(38_900.0, 38_700.0, 2.1);
        assert!(dear.iter().all(|outcome| matches!(outcome, Outcome::Missed(_))), "{dear:?}");
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert_eq!(
            all(&Ledger::default())[2].sentence(),
            "throughput beside that with pg_wait_sampling at a tenth of the rate: not judged, one of the two was not \
             measured."
        );
    }
}
