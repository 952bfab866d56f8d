//! What a watch reports in addition to its samples: what the server counted meanwhile, what the looks cost, and what
//! the profile is made from. The profile of a watch is made here alone.

use std::sync::atomic::Ordering;
use std::time::Duration;

use measure::{Parameters, quantity};
use profile::event::Ticks;
use profile::ingest::Ingested;
use profile::observe::instruments::Instruments;
use profile::source::sampled::Observed;
use profile::tables::sampled::{ChangeCost, OwnCost};
use serde_json::json;
use sys::host;
use sys::process::process_cpu;

use super::lost_time::ticks;
use super::settings::CLOSED_WITHIN;
use super::{Times, Watch};
use crate::active_time::ActiveTime;
use crate::counters::Counted;
use crate::exact::{Taken, Watching};
use crate::processors::Busy;
use crate::sql::SqlSampler;

/// Why what `pg_stat_statements` counts at the end is not held against what it counted first.
const COUNTED_ANEW: &str = "the server was restarted meanwhile, or another one has answered since";

/// What was read at the end of the watch.
#[derive(Default)]
pub(super) struct Closing {
    db_time: Option<Result<Ticks, String>>,
    counters: Option<Result<Counted, String>>,
}

impl Watch {
    /// The profile of what was sampled so far, without what only the end can say.
    pub fn so_far(&self) -> (Ingested, Instruments) {
        self.profile.snapshot(&self.observed(Closing::default()))
    }

    /// Ends the watch: the profile of what was sampled, held against the server's own account.
    pub fn finish(mut self, load_failed: Option<String>) -> (Ingested, Instruments) {
        let closing = self.close();
        let observed = Observed { load_failed, ..self.observed(closing) };
        self.profile.snapshot(&observed)
    }

    /// Reads what the beginning is held against. After a wish to stop each statement has a few seconds more.
    pub(super) fn close(&mut self) -> Closing {
        let gone = || "the server did not answer at the end".to_string();
        // The end of the tracing takes a moment, in which nothing is sampled: the account does not wait for it.
        self.tracing.halt();
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.take_late_answer(CLOSED_WITHIN);
        // One that has not come by now is waited for no longer.
        (self.question, self.further) = (None, None);
        let own = self.own_time().saturating_sub(self.begun.own);
        let account = self.begun.account.clone();
        let (at_end, counted) = match &mut self.watching {
            Some(watching) => (watching.account.take(), watching.counters.take()),
            None => (None, None),
        };
        let now = self.sampler.as_mut().map(|sampler| {
            sampler.session().outlast_stop();
            at_end.unwrap_or_else(|| ActiveTime::now(sampler.session()).unwrap_or_else(|_| Err(gone())))
        });
        // Before what takes longer: nothing is sampled meanwhile, and the server counts on.
        let counted = counted.or_else(|| self.counters_now());
        let unwatched = self.watching.as_ref().and_then(Watching::unwatched);
        let is_same = matches!((&account, &now), (Ok(before), Some(Ok(now))) if now.has_gone_on_since(before));
        let counters = match (&self.begun.counters, unwatched) {
            // It was away. A crash empties the counters, and those of another server are of all its life.
            (Ok(source), None) if source.is_stale && !is_same => Err(COUNTED_ANEW.into()),
            (Ok(_), None) => counted.unwrap_or_else(|| Err(gone())),
            // Executions of all sessions are none of the time of some.
            (Ok(_), Some(why)) => Err(why.into()),
            (Err(reason), _) => Err(reason.clone()),
        };
        let db_time = match now {
            Some(now) => account.and_then(|before| now?.since(&before, own)),
            None => account.and(Err(gone())),
        };
        self.hear_rest();
        if let Some(sampler) = &mut self.sampler {
            // A relation without a name has its path.
            let _ = self.tracing.ask(sampler.session());
        }
        let db_time = db_time.and_then(|account| self.of_sampled_time(account));
        Closing { db_time: Some(db_time), counters: Some(counters) }
    }

    /// What the server has counted of statements since it was asked first; `None` where it does not answer.
    pub(super) fn counters_now(&mut self) -> Option<Result<Counted, String>> {
        let session = self.sampler.as_mut()?.session();
        match &self.begun.counters {
            Ok(source) => source.since(session).ok(),
            Err(reason) => Some(Err(reason.clone())),
        }
    }

    /// Time that the server worked for our session.
    pub(super) fn own_time(&self) -> Duration {
        self.earlier.server + self.times().server
    }

    /// Time that the looks took.
    fn look_time(&self) -> Duration {
        self.earlier.answer + self.times().answer + self.memory_time()
    }

    /// Time that looks at the memory took which is read now.
    pub(super) fn memory_time(&self) -> Duration {
        self.memory.as_ref().map_or(Duration::ZERO, |memory| memory.time)
    }

    /// The sampler's times; where it is with a question, those before.
    pub(super) fn times(&self) -> Times {
        let times = |sampler: &SqlSampler| Times {
            server: sampler.server_time + sampler.further_time,
            answer: sampler.answer_time,
        };
        self.sampler.as_ref().map_or(self.lent, times)
    }

    /// What the watch took so far.
    pub(super) fn taken(&self) -> Taken {
        Taken {
            time: self.begun.at.elapsed(),
            cpu: process_cpu().since(self.begun.cpu),
            session: self.own_time().saturating_sub(self.begun.own),
        }
    }

    /// The seconds that samples stand for: those in which the server was away are none of them.
    fn sampled_seconds(&self) -> f64 {
        match self.away.is_empty() {
            true => self.begun.at.elapsed().as_secs_f64(),
            false => self.profile.time().micros() / 1e6,
        }
    }

    fn observed(&self, closing: Closing) -> Observed {
        // To add up what was seen whole takes time behind the watch.
        let taken = self.watching.as_ref().map_or_else(|| self.taken(), |watching| watching.taken);
        let exact = self.watching.as_ref().map(|_| taken.time.as_secs_f64());
        let seconds = exact.unwrap_or_else(|| self.sampled_seconds());
        let part = |spent: f64| (seconds > 0.0).then(|| spent / seconds);
        let asked = self.look_time();
        let looks = self.profile.looks().max(1);
        let own = OwnCost {
            cpu: part(taken.cpu.as_seconds()),
            session: part(taken.session.as_secs_f64()),
            change: self.watching.as_ref().map(|watching| ChangeCost {
                changes: watching.changes,
                lost: watching.lost,
                micros: watching.store.as_secs_f64() * 1e6,
                share_max: watching.share_max,
            }),
            sample_micros: (!asked.is_zero() && self.watching.is_none())
                .then(|| asked.as_secs_f64() * 1e6 / looks as f64),
        };
        let stolen = self.begun.busy.zip(Busy::now()).and_then(|(before, now)| now.stolen_since(before));
        Observed {
            server: self.address.shown(),
            version: self.facts.version.clone(),
            subject: self.subject(),
            rate: self.rate(),
            rate_asked: self.rate_cut().map(|(asked, _)| asked),
            level: self.level(closing.counters.as_ref()),
            db_time: closing.db_time,
            hidden: self.hidden,
            counters: closing.counters.and_then(Result::ok),
            relations: self.tracing.relations.names().clone(),
            block_bytes: self.facts.block_bytes,
            buffer_bytes: self.facts.buffer_bytes,
            own,
            own_before: ticks(self.begun.own_before),
            stolen: stolen.filter(|_| self.processors.is_ok()),
            // Its processes are seen, so that it runs here.
            cores: self.processors.as_ref().ok().map(|()| host::allowed_cpus().len() as u64),
            away: self.away.clone(),
            ended: self.ended.clone(),
            left: self.watching.as_ref().map_or_else(Vec::new, |watching| watching.left.clone()),
            logged: (self.facts.log_statement == "all").then_some(self.asks),
            ..Observed::default()
        }
    }

    pub(super) fn subject(&self) -> Parameters {
        let mut subject = Parameters::new();
        subject.insert("kind".into(), "postgres".into());
        subject.insert("server".into(), self.address.shown().into());
        subject.insert("version".into(), self.facts.version.clone().into());
        subject.insert("shared_buffers".into(), self.facts.buffer_bytes.into());
        subject.insert("block_bytes".into(), self.facts.block_bytes.into());
        subject.insert("rate".into(), json!(self.rate()));
        let level = match (&self.memory, &self.processors) {
            (Ok(_), Ok(())) => "memory and /proc",
            (Ok(_), Err(_)) => "memory",
            (Err(_), Ok(())) => "sql and /proc",
            (Err(_), Err(_)) => "sql",
        };
        subject.insert("level".into(), level.into());
        subject
    }

    /// What the profile is made from, and what more would add. The counters are asked for at the end.
    pub(super) fn level(&self, counters: Option<&Result<Counted, String>>) -> Vec<String> {
        // Those that were taken, and not those that were wanted.
        let taken = self.profile.looks() as f64 / self.sampled_seconds().max(1e-6);
        let rate = quantity::three_digits(taken);
        let mut said = vec![match (&self.watching, &self.memory) {
            (Some(watching), _) => watching.sentence(),
            (None, Ok(_)) => format!(
                "Made from samples of the server's shared memory, {rate} a second; pg_stat_activity gave the names."
            ),
            (None, Err(why)) if self.former.is_some() => format!(
                "Made from samples of the server's shared memory and, since that is not read any more, of \
                 pg_stat_activity, {rate} a second on average: {why}."
            ),
            (None, Err(why)) => format!(
                "Made from samples of pg_stat_activity, {rate} a second. The server's shared memory, which can be \
                 read more often without asking it, is not used: {why}."
            ),
        }];
        said.push(match &self.processors {
            _ if self.watching.is_some() => "CPU holds the time in which a session waited for a processor.".into(),
            Ok(()) => "/proc/PID/schedstat tells running from waiting for a processor.".into(),
            Err(why) => {
                format!(
                    "Running is not distinguished from waiting for a processor, as /proc/PID/schedstat would allow: \
                     {why}."
                )
            }
        });
        let before = self.begun.counters.as_ref().err();
        let why = before.or(counters.and_then(|counters| counters.as_ref().err()));
        said.push(match why {
            None if self.lost() > Ticks::ZERO => {
                "pg_stat_statements gives executions, rows and reads of statements, with those of the time without \
                 samples."
                    .into()
            }
            None if self.watching.as_ref().is_some_and(|watching| !watching.lost_time.is_zero()) => {
                "pg_stat_statements gives executions, rows and reads of statements, with those of the time that is \
                 left out."
                    .into()
            }
            None => "pg_stat_statements gives executions, rows and reads of statements.".into(),
            Some(why) => format!(
                "Executions, rows, logical and physical reads of statements are not known, which pg_stat_statements \
                 would add: {}.",
                why.trim_end_matches('.')
            ),
        });
        said.push(self.tracing.level());
        said.extend(self.tracing.relations.limit());
        said.extend(self.unnamed.clone());
        // Of all statements as such there is a finding.
        said.extend((self.facts.log_statement != "all" && self.facts.logs_durations).then(|| {
            format!(
                "The server writes to its log how long each statement takes (log_min_duration_statement, log_duration, \
                 auto_explain): readpath has added at least {}.",
                quantity::counted(self.asks, "line", "lines")
            )
        }));
        said
    }
}

#[cfg(test)]
mod tests {
    use profile::tables::sampled::Counters;
    use server::Statements;

    use super::*;
    use crate::counters::CounterSource;
    use crate::watch::tests::{ago, watch};

    #[test]
    fn a_time_in_which_the_server_was_away_lowers_neither_the_rate_nor_the_cost() {
        let mut watch = watch();
        (watch.begun.at, watch.earlier.server) = (ago(100), Duration::from_secs(1));
        (0..10).for_each(|_| watch.profile.look(Ticks::from_micros(1_000_000), &[]));
        watch.lose(ago(90), Ticks::from_micros(90_000_000), "the server was restarted".into());
        let said = format!("samples of pg_stat_activity, {} a second.", quantity::three_digits(1.0));
        assert!(watch.level(None)[0].contains(&said), "{:?}", watch.level(None));
        let session = watch.observed(Closing::default()).own.session.unwrap();
        assert!((session - 0.1).abs() < 0.001, "{session}");
    }

    #[test]
    fn a_rate_that_is_cut_because_each_look_is_a_query_is_known() {
        let cut = |rate: Option<f64>| {
            let mut watch = watch();
            watch.settings.rate = rate;
            (watch.rate_cut(), watch.observed(Closing::default()).rate_asked)
        };
        let asked = [None, Some(100.0), Some(500.0)];
        assert_eq!(asked.map(cut), [(None, None), (None, None), (Some((500.0, 100.0)), Some(500.0))]);
    }

    #[test]
    fn what_the_server_works_while_an_exact_watch_is_added_up_is_not_in_its_account() {
        let mut watch = watch();
        watch.begun.account = Ok(ActiveTime::sample(10.0));
        let counted: Counted = [(7, (Counters { executions: 3, ..Counters::default() }, "SELECT 1".into()))].into();
        let (account, counters) = (Some(Ok(ActiveTime::sample(12.5))), Some(Ok(counted.clone())));
        watch.watching = Some(Watching { account, counters, ..Watching::default() });
        let closing = watch.close();
        assert_eq!(closing.db_time, Some(Ok(Ticks::from_micros(2_500_000))));
        assert_eq!(closing.counters, Some(Ok(counted)), "nor in what it counts");
    }

    #[test]
    fn what_the_server_worked_for_our_session_before_its_account_was_read_is_known_to_come_into_it_later() {
        let mut watch = watch();
        watch.begin(Ok(ActiveTime::sample(10.0)));
        let left = watch.sampler.as_mut().unwrap().session().still_to_account();
        assert!(left > Duration::ZERO);
        assert_eq!(watch.observed(Closing::default()).own_before, ticks(left));
    }

    #[test]
    fn what_the_server_counts_of_all_sessions_is_not_given_to_the_few_that_were_watched() {
        let counted: Counted = [(7, (Counters { executions: 3, ..Counters::default() }, "SELECT 1".into()))].into();
        let withheld = |watching: Watching| {
            let mut watch = watch();
            watch.begun.account = Ok(ActiveTime::sample(10.0));
            let (account, counters) = (Some(Ok(ActiveTime::sample(12.5))), Some(Ok(counted.clone())));
            watch.watching = Some(Watching { account, counters, ..watching });
            let Closing { db_time, counters } = watch.close();
            [db_time.unwrap().unwrap_err(), counters.unwrap().unwrap_err()]
        };
        let chosen = withheld(Watching { is_of_chosen: true, ..Watching::default() });
        assert!(chosen.iter().all(|why| why.ends_with("only the chosen ones were watched")), "{chosen:?}");
        let left = withheld(Watching { left: vec![(7, "its waits come fast".into())], ..Watching::default() });
        assert!(left.iter().all(|why| why.ends_with("some were not watched to the end")), "{left:?}");
    }

    #[test]
    fn what_another_server_or_one_that_was_restarted_has_counted_is_not_taken_for_that_of_the_watch() {
        let counted: Counted = [(7, (Counters { executions: 3, ..Counters::default() }, "SELECT 1".into()))].into();
        let closed = |was_away: bool, (seconds, started): (f64, &str)| {
            let mut watch = watch();
            watch.begun.account = Ok(ActiveTime::sample_since(10.0, "monday"));
            watch.begun.counters.iter_mut().filter(|_| was_away).for_each(CounterSource::skip);
            let account = Some(Ok(ActiveTime::sample_since(seconds, started)));
            let counters = Some(Ok(counted.clone()));
            watch.watching = Some(Watching { account, counters, ..Watching::default() });
            watch.close().counters
        };
        assert_eq!(closed(true, (12.5, "tuesday")), Some(Err(COUNTED_ANEW.into())));
        assert_eq!(closed(true, (2.5, "monday")), Some(Err(COUNTED_ANEW.into())), "one of its processes crashed");
        assert_eq!(closed(true, (12.5, "monday")), Some(Ok(counted.clone())), "the connection alone was lost");
        assert_eq!(closed(false, (12.5, "monday")), Some(Ok(counted.clone())));
    }

    #[test]
    fn what_looks_took_of_a_session_that_has_ended_is_not_forgotten() {
        let mut watch = watch();
        let (server, answer) = (Duration::from_secs(1), Duration::from_secs(3));
        for sessions in 1..=2_u32 {
            let address = watch.address.clone();
            let mut sampler = SqlSampler::rehearsal(&address, (Statements::default(), 18)).unwrap();
            (sampler.server_time, sampler.answer_time) = (server, answer);
            watch.sampler = Some(sampler);
            watch.end_session();
            assert_eq!((watch.own_time(), watch.look_time()), (sessions * server, sessions * answer));
        }
    }
}
