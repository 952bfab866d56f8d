//! Several seconds as one: what the tables below the chart show.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use measure::wait_class::Class;
use profile::event::Merge;
use profile::tables::read_tiers::ByTier;

use crate::gathering::{add, most, pairs, values};
use crate::second::{Blocked, Chain, Second, SessionSums, StatementKey, StatementSums, Unseen};

/// The sums, each list by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    /// The time that the looks stand for.
    pub(crate) time: Duration,
    pub(crate) lost: Duration,
    pub(crate) looks: u64,
    pub(crate) classes: Vec<(Class, Duration)>,
    pub(crate) events: Vec<(Arc<str>, Duration)>,
    pub(crate) statements: Vec<StatementSums>,
    pub(crate) sessions: Vec<SessionSums>,
    pub(crate) blocked: Vec<Blocked>,
    /// Reads of files with the time of the seconds in which they were traced.
    pub(crate) reads: Option<(ByTier, Duration)>,
    /// The same of blocks that the server found in its buffers.
    pub(crate) hits: Option<(u64, Duration)>,
    /// The most sessions in a second whose work was not seen.
    pub(crate) unseen: Unseen,
}

impl Sums {
    /// The sum of these seconds.
    pub(crate) fn over<'a>(seconds: impl Iterator<Item = &'a Second>) -> Sums {
        let mut sums = Sums::default();
        let (mut classes, mut events) = (HashMap::new(), HashMap::new());
        let mut statements: HashMap<StatementKey, HashMap<Class, Duration>> = HashMap::new();
        let mut sessions: HashMap<(u32, i64), SessionSums> = HashMap::new();
        let mut blocked: HashMap<(u32, Option<Chain>), Blocked> = HashMap::new();
        for second in seconds {
            sums.time += second.time;
            sums.lost += second.lost;
            sums.looks += second.looks;
            sums.unseen.hidden = sums.unseen.hidden.max(second.unseen.hidden);
            sums.unseen.silent = sums.unseen.silent.max(second.unseen.silent);
            if let Some(reads) = &second.reads {
                let (all, time) = sums.reads.get_or_insert_default();
                all.merge(reads);
                *time += second.time;
            }
            if let Some(hits) = second.hits {
                let (all, time) = sums.hits.get_or_insert_default();
                *all += hits;
                *time += second.time;
            }
            second.classes.iter().for_each(|(class, time)| add(&mut classes, class, *time));
            second.events.iter().for_each(|(event, time)| add(&mut events, event, *time));
            for one in &second.statements {
                let known = statements.entry(one.key).or_default();
                one.classes.iter().for_each(|(class, time)| add(known, class, *time));
            }
            second.sessions.iter().for_each(|one| add_session(&mut sessions, one));
            second.blocked.iter().for_each(|one| add_blocked(&mut blocked, one));
        }
        let statements = pairs(statements).into_iter().map(|(key, classes)| {
            let classes = most(pairs(classes), |(_, time)| *time, usize::MAX);
            StatementSums { key, time: classes.iter().map(|(_, time)| *time).sum(), classes }
        });
        sums.classes = most(pairs(classes), |(_, time)| *time, usize::MAX);
        sums.events = most(pairs(events), |(_, time)| *time, usize::MAX);
        sums.statements = most(statements.collect(), |one| one.time, usize::MAX);
        sums.sessions = most(values(sessions), |one| one.time, usize::MAX);
        sums.blocked = most(values(blocked), |one| one.time, usize::MAX);
        sums
    }

    /// Time of all sessions at work.
    pub(crate) fn working(&self) -> Duration {
        self.classes.iter().map(|(_, time)| *time).sum()
    }

    /// Sessions at work on average; `None` where nothing was sampled.
    pub(crate) fn active(&self) -> Option<f64> {
        (!self.time.is_zero()).then(|| self.working().as_secs_f64() / self.time.as_secs_f64())
    }

    /// Part of the time of all sessions at work, from 0 to 1.
    pub(crate) fn part(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.working().as_secs_f64().max(1e-9)
    }
}

fn add_session(sessions: &mut HashMap<(u32, i64), SessionSums>, one: &SessionSums) {
    let known = sessions
        .entry((one.backend.pid, one.backend.start))
        .or_insert_with(|| SessionSums { time: Duration::ZERO, ..one.clone() });
    known.time += one.time;
    (known.state, known.event, known.statement) = (one.state, one.event.clone(), one.statement);
}

fn add_blocked(blocked: &mut HashMap<(u32, Option<Chain>), Blocked>, one: &Blocked) {
    let new = || Blocked { time: Duration::ZERO, ..one.clone() };
    blocked.entry((one.waiter.pid, one.chain)).or_insert_with(new).time += one.time;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{sample, seconds_of};

    #[test]
    fn seconds_add_up_and_the_last_state_of_a_session_counts() {
        let samples = [sample(1, "select 1", None), sample(2, "update t", Some("Lock:tuple"))];
        let mut history = seconds_of(3, &samples);
        history.blocking(&[(2, vec![1])]);
        let later = [sample(1, "select 1", Some("IO:DataFileRead")), sample(2, "update t", Some("Lock:tuple"))];
        (0..10).for_each(|_| history.look(Duration::from_millis(100), &later));
        let sums = Sums::over(history.seconds().iter());
        assert_eq!((sums.active(), sums.looks), (Some(2.0), 40));
        assert_eq!(sums.sessions.iter().map(|one| one.time.as_secs()).sum::<u64>(), 8);
        let first = sums.sessions.iter().find(|one| one.backend.pid == 1).unwrap();
        assert_eq!(first.event.as_deref(), Some("IO:DataFileRead"));
        let times: Vec<_> = sums.blocked.iter().map(|one| (one.blocker(), one.time.as_secs())).collect();
        assert_eq!(times, [(None, 3), (Some(1), 1)]);
        assert!((sums.part(Duration::from_secs(2)) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn sessions_statements_and_waits_of_the_same_time_stand_in_one_order_and_do_not_change_places() {
        // More than a second keeps.
        let session = |pid: u32| sample(pid, &format!("select c{pid}"), Some(&format!("Extension:E{pid}")));
        let sums = Sums::over(seconds_of(2, &(1..=60).map(session).collect::<Vec<_>>()).seconds().iter());
        assert!(sums.sessions.len() > 40 && sums.statements.len() > 20 && sums.events.len() > 20);
        assert!(sums.sessions.is_sorted_by_key(|one| one.backend.pid) && sums.sessions[0].backend.pid == 1);
        assert!(sums.statements.is_sorted_by_key(|one| one.key));
        assert!(sums.events.is_sorted_by(|one, other| one.0 <= other.0));
    }

    #[test]
    fn nothing_sampled_is_no_load_of_zero() {
        assert_eq!(Sums::over([].iter()).active(), None);
    }
}
