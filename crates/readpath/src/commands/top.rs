//! `readpath top`: a running server on a terminal.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ::profile::event::Ticks;
use ::profile::observe::instruments::Instruments;
use ::top::{Facts, History, Screen};
use clap::{ArgMatches, Args};
use jiff::Timestamp;
use live::{Watch, WatchedFor};
use server::facts::ASSUMED_MAJOR;
use server::place::{Address, word_of_shell};
use sys::threads;

use super::measure::{interrupted, progress, signals};
use super::sampling::{Sampling, remark};
use super::subjects::{completed, server_that_runs};
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "top", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath top --on postgres://me@db.example/shop
  readpath top --on postgres://me@db.example/shop --rate 20
  readpath top --on postgres://me@db.example/shop --dry-run     the statements that would be sent";

/// A time without samples that is said.
const SILENCE: Duration = Duration::from_secs(2);

/// Between two looks from which on the second one is the first of another time.
const GAP: Duration = Duration::from_secs(1);

/// How often it is looked what the server is, and how it is sampled: after a restart it may be another version, or its
/// memory cannot be read any more.
const FACTS_EVERY: Duration = Duration::from_secs(1);

/// Longer than any terminal is watched.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Shows on a terminal what the sessions of a running PostgreSQL do, with up to an hour of history since top started
///
/// Sessions at work by wait class as bars over time, and below them statements, sessions, wait events, who waits for
/// whose lock, or which tier answered the reads. ? shows the keys. It is sampled as by `readpath profile --on`: from
/// the server's shared memory where that can be read, otherwise with one statement 50 times a second. Nothing is made
/// or changed on the server, and nothing is kept.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The PostgreSQL server: postgres://USER@HOST:PORT/DATABASE
    #[arg(long, value_name = "SERVER", value_parser = server_that_runs)]
    on: Address,
    /// Show statements by their identifiers, without their texts
    #[arg(long)]
    no_text: bool,
    #[command(flatten)]
    sampling: Sampling,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    arguments.sampling.refuse_rate()?;
    let address = completed(&arguments.on, context)?;
    let reason = "a dry run shows no statement of the sessions";
    refuse_unused(matches, &[("no_text", !arguments.sampling.dry_run, reason)])?;
    if arguments.sampling.dry_run {
        let purpose = (Ticks::ZERO, WatchedFor::Screen);
        return arguments.sampling.rehearse(&remark(), (&address, ASSUMED_MAJOR), purpose);
    }
    if let Some(stream) = not_drawn_on(context) {
        let sentence = format!(
            "top needs a terminal that it can draw on: {stream} is not a terminal, or TERM is dumb. `readpath profile \
             --on {}` writes a page.",
            word_of_shell(&address.shown())
        );
        return Err(Failure::wrong(sentence));
    }
    show(&arguments, &address, context)
}

/// The stream that shows nothing that is drawn.
fn not_drawn_on(context: &Context) -> Option<&'static str> {
    match (context.settings.stdout_is_terminal, context.settings.stderr_is_terminal) {
        (true, true) => None,
        (true, false) => Some("standard error"),
        (false, _) => Some("standard output"),
    }
}

/// What the threads of the samples and of the terminal share. The facts are renewed with nothing else in hand, so that
/// no two locks are waited for in turn.
struct Shared {
    history: Mutex<History>,
    began: Instant,
    /// When the last sample was taken, in milliseconds since `began`.
    last: AtomicU64,
    /// Until when the history has the time, with samples or without them, in milliseconds since `began` too.
    until: AtomicU64,
    /// What is known of the server, and since when.
    facts: Mutex<(Instant, Facts)>,
}

impl Shared {
    /// How long ago the last sample was taken.
    fn silent(&self) -> Duration {
        self.since(&self.last)
    }

    /// The time until now that the history does not have.
    fn missing(&self) -> Duration {
        self.since(&self.until)
    }

    /// Whether the history's last time was one without samples.
    fn is_losing(&self) -> bool {
        self.last.load(Ordering::Relaxed) < self.until.load(Ordering::Relaxed)
    }

    fn since(&self, moment: &AtomicU64) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(moment.load(Ordering::Relaxed)))
    }

    /// Takes down that a sample was taken now.
    fn heard(&self) {
        let now = self.began.elapsed().as_millis() as u64;
        self.last.store(now, Ordering::Relaxed);
        self.until.store(now, Ordering::Relaxed);
    }

    /// Gives the time that the history does not have to it, as one without samples.
    fn lose(&self, history: &mut History) {
        let missing = self.missing();
        history.set_clock(clock_before(missing));
        history.lose(missing);
        self.until.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// The same once it is a second, while the server is away: the chart goes on.
    fn lose_second(&self) {
        if self.missing() >= GAP {
            self.lose(&mut self.history.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// What is known besides the samples now.
    fn facts(&self) -> Facts {
        let silent = self.silent();
        let said = || format!("The server has not answered for {} s. Samples go on when it does.", silent.as_secs());
        let facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        Facts { trouble: (silent >= SILENCE).then(said), ..facts }
    }

    /// Takes the facts of now, where it is time to.
    fn renew(&self, now: impl FnOnce() -> Facts) {
        let mut known = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0.elapsed() >= FACTS_EVERY {
            *known = (Instant::now(), now());
        }
    }
}

fn show(arguments: &Arguments, address: &Address, context: &Context) -> Result<Exit, Failure> {
    let (signals, progress) = (signals()?, progress(context));
    progress.step(&format!("waiting for {}", address.shown()), Duration::from_secs(1));
    let settings = arguments.sampling.settings(Ticks::ZERO);
    let stop = signals.stop().share();
    let opened = Watch::open(address, settings, Instruments::default(), Arc::clone(&stop));
    progress.clear();
    let mut watch = opened.map_err(|error| signals.received().map_or_else(|| error.into(), interrupted))?;
    watch.count_hits();
    let shared = Arc::new(Shared {
        history: Mutex::new(History::new(settings.wall_clock)),
        began: Instant::now(),
        last: AtomicU64::new(0),
        until: AtomicU64::new(0),
        facts: Mutex::new((Instant::now(), facts(arguments, address, &watch, context))),
    });
    let away = Arc::clone(&shared);
    watch.meanwhile(Box::new(move || away.lose_second()));
    watch.renew_address(arguments.on.clone(), context.settings.servers.clone());
    let taken = |error: std::io::Error| Failure::failed(format!("the terminal cannot be used: {error}."));
    signals.give_back_by(::top::give_back);
    let mut screen = Screen::take().map_err(taken)?;
    let shown = thread::scope(|scope| {
        let (screen, shared, stop, signals) = (&mut screen, &shared, &stop, &signals);
        let shown = threads::start(scope, move || {
            let shown = screen.show(&shared.history, &|| shared.facts(), stop);
            // The watch may wait for its server for seconds now.
            signals.note_wish();
            shown
        });
        let shown = shown.map_err(std::io::Error::from)?;
        follow(&mut watch, shared, &|watch| facts(arguments, address, watch, context));
        stop.store(true, Ordering::Relaxed);
        shown.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    drop(screen);
    shown.map_err(taken)?;
    match (signals.received(), watch.ended()) {
        (Some(signal), _) => Err(interrupted(signal)),
        (None, Some(why)) => Err(Failure::failed(format!("the sampling ended: {why}."))),
        (None, None) => Ok(Exit::Done),
    }
}

fn facts(arguments: &Arguments, address: &Address, watch: &Watch, context: &Context) -> Facts {
    let level = match (watch.reads_memory(), watch.lacks_names()) {
        (true, false) => "of its memory",
        (true, true) => "of its memory, new sessions without names",
        (false, _) => "of pg_stat_activity",
    };
    Facts {
        server: format!("{}  PostgreSQL {}", address.shown(), watch.facts().version),
        level: level.into(),
        hides_texts: arguments.no_text,
        has_color: context.settings.style.color,
        has_unicode: context.settings.style.unicode,
        untraced: watch.read_tiers().err().map(String::from),
        trouble: None,
    }
}

/// What the wall clock showed this long ago, in microseconds since 1970.
fn clock_before(passed: Duration) -> i64 {
    Timestamp::now().as_microsecond().saturating_sub(i64::try_from(passed.as_micros()).unwrap_or(i64::MAX))
}

/// Gives each look to the history, until the end of either.
fn follow(watch: &mut Watch, shared: &Shared, facts: &dyn Fn(&Watch) -> Facts) {
    let (mut looks, mut asked) = (0, None);
    watch.run(FOR_EVER, &mut |watch| {
        shared.renew(|| facts(watch));
        let (since, samples) = watch.seen();
        let (missing, is_losing) = (shared.missing(), shared.is_losing());
        let patience = if is_losing { GAP } else { SILENCE };
        let mut history = shared.history.lock().unwrap_or_else(PoisonError::into_inner);
        match watch.looks() > looks {
            true => {
                // A gap of which the watch knows nothing stands for no time either, and neither does the rest of a time
                // without samples. What the history has of that time, the look does not stand for too.
                if is_losing || since.is_zero() && missing >= GAP {
                    shared.lose(&mut history);
                }
                let since = if is_losing { Duration::ZERO } else { since };
                history.set_clock(clock_before(since));
                history.look(since, samples);
                shared.heard();
            }
            // After a time that was lost the first look only begins the next.
            false if missing >= patience => shared.lose(&mut history),
            false => return ControlFlow::Continue(()),
        }
        // An answer that was given before is of waits that may be over.
        let (answer, at) = watch.blocking();
        if at != asked {
            history.blocking(answer);
            asked = at;
        }
        history.reads(watch.read_tiers().ok(), watch.hits());
        looks = watch.looks();
        ControlFlow::Continue(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_another_version_after_a_restart_is_shown_as_that() {
        let facts = |server: &str| Facts { server: server.into(), ..Facts::default() };
        let long_ago = Instant::now().checked_sub(2 * FACTS_EVERY).unwrap();
        let shared = Shared {
            history: Mutex::new(History::new(0)),
            began: Instant::now(),
            last: AtomicU64::new(0),
            until: AtomicU64::new(0),
            facts: Mutex::new((long_ago, facts("shop  PostgreSQL 17.2"))),
        };
        shared.renew(|| facts("shop  PostgreSQL 18.1"));
        assert_eq!(shared.facts().server, "shop  PostgreSQL 18.1");
        // The next look follows a millisecond later.
        shared.renew(|| facts("shop  PostgreSQL 16.1"));
        assert_eq!(shared.facts().server, "shop  PostgreSQL 18.1");
    }

    #[test]
    fn a_server_that_is_away_is_said_to_be_however_often_the_history_goes_on_meanwhile() {
        let shared = Shared {
            history: Mutex::new(History::new(0)),
            began: Instant::now().checked_sub(Duration::from_secs(9)).unwrap(),
            last: AtomicU64::new(2_000),
            until: AtomicU64::new(2_000),
            facts: Mutex::new((Instant::now(), Facts::default())),
        };
        shared.lose_second();
        assert!(shared.missing() < GAP && shared.is_losing(), "{:?}", shared.missing());
        let trouble = shared.facts().trouble.unwrap();
        assert!(trouble.contains("has not answered for 7 s") || trouble.contains("for 8 s"), "{trouble}");
        shared.heard();
        assert!(!shared.is_losing() && shared.facts().trouble.is_none());
    }
}
