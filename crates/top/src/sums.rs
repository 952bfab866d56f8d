//! Several seconds as one: what the tables below the chart show.

use std::collections::HashMap;
use std::time::Duration;

use measure::wait_class::Class;
use profile::event::Merge;

use crate::gathering::{add, longest, most, pairs, values};
use crate::second::{Blocked, Chain, Second, SessionSums, StatementKey};

/// The sums.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    /// The seconds as one, which ends with the last of them. Its lists are by time, and of the sessions whose work was
    /// not seen it has the most in a second.
    pub(crate) all: Second,
    /// The time of the seconds in which reads of files were traced.
    pub(crate) traced: Duration,
    /// The same of those in which the server was asked for blocks that it found in its buffers.
    pub(crate) counted: Duration,
}

impl Sums {
    /// The sum of these seconds.
    pub(crate) fn over<'a>(seconds: impl Iterator<Item = &'a Second>) -> Sums {
        let mut sums = Sums::default();
        let all = &mut sums.all;
        let (mut classes, mut events) = (HashMap::new(), HashMap::new());
        let mut statements: HashMap<StatementKey, HashMap<Class, Duration>> = HashMap::new();
        let mut sessions: HashMap<(u32, i64), SessionSums> = HashMap::new();
        let mut blocked: HashMap<(u32, Option<Chain>), Blocked> = HashMap::new();
        for second in seconds {
            all.ended = second.ended;
            all.time += second.time;
            all.lost += second.lost;
            all.looks += second.looks;
            all.unseen.hidden = all.unseen.hidden.max(second.unseen.hidden);
            all.unseen.silent = all.unseen.silent.max(second.unseen.silent);
            if let Some(reads) = &second.reads {
                all.reads.get_or_insert_default().merge(reads);
                sums.traced += second.time;
            }
            if let Some(hits) = second.hits {
                *all.hits.get_or_insert_default() += hits;
                sums.counted += second.time;
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
        all.classes = most(pairs(classes), |(_, time)| *time, usize::MAX);
        all.events = most(pairs(events), |(_, time)| *time, usize::MAX);
        all.statements = longest(statements, usize::MAX);
        all.sessions = most(values(sessions), |one| one.time, usize::MAX);
        all.blocked = most(values(blocked), |one| one.time, usize::MAX);
        sums
    }

    /// Time of all sessions at work.
    pub(crate) fn working(&self) -> Duration {
        self.all.classes.iter().map(|(_, time)| *time).sum()
    }

    /// Sessions at work on average; `None` where nothing was sampled.
    pub(crate) fn active(&self) -> Option<f64> {
        (!self.all.time.is_zero()).then(|| self.working().as_secs_f64() / self.all.time.as_secs_f64())
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
    use crate::tests::{sample, seconds_of};

    #[test]
    fn seconds_add_up_and_the_last_state_of_a_session_counts() {
        let samples = [sample(1, "select 1", None), sample(2, "update t", Some("Lock:tuple"))];
        let mut history = seconds_of(3, &samples);
        history.blocking(&[(2, vec![1])]);
        let later = [sample(1, "select 1", Some("IO:DataFileRead")), sample(2, "update t", Some("Lock:tuple"))];
        (0..10).for_each(|_| history.look(Duration::from_millis(100), &later));
        let sums = Sums::over(history.seconds().iter());
        assert_eq!((sums.active(), sums.all.looks), (Some(2.0), 40));
        assert_eq!(sums.all.sessions.iter().map(|one| one.time.as_secs()).sum::<u64>(), 8);
        let first = sums.all.sessions.iter().find(|one| one.backend.pid == 1).unwrap();
        assert_eq!(first.event.as_deref(), Some("IO:DataFileRead"));
        let times: Vec<_> = sums.all.blocked.iter().map(|one| (one.blocker(), one.time.as_secs())).collect();
        assert_eq!(times, [(None, 3), (Some(1), 1)]);
        assert!((sums.part(Duration::from_secs(2)) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn sessions_statements_and_waits_of_the_same_time_stand_in_one_order_and_do_not_change_places() {
        // More than a second keeps.
        let session = |pid: u32| sample(pid, &format!("select c{pid}"), Some(&format!("Extension:E{pid}")));
        let all = Sums::over(seconds_of(2, &(1..=60).map(session).collect::<Vec<_>>()).seconds().iter()).all;
        assert!(all.sessions.len() > 40 && all.statements.len() > 20 && all.events.len() > 20);
        assert!(all.sessions.is_sorted_by_key(|one| one.backend.pid) && all.sessions[0].backend.pid == 1);
        assert!(all.statements.is_sorted_by_key(|one| one.key));
        assert!(all.events.is_sorted_by(|one, other| one.0 <= other.0));
    }

    #[test]
    fn nothing_sampled_is_no_load_of_zero() {
        assert_eq!(Sums::over([].iter()).active(), None);
    }
}
