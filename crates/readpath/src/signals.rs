//! ^C, SIGTERM and the other signals that would end the process, as a flag that experiments look at: what was made is
//! removed first. A second one ends the process at once.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use experiments::journal::Stop;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals as Arrivals;

use crate::output;

/// The signals that ask a run to stop, with their numbers as the exit code counts them: all that people send to end a
/// process, and that can be caught. SIGHUP comes when a connection drops.
const SIGNALS: [(i32, u8, &str); 7] = [
    (SIGINT, INTERRUPT, "^C"),
    (SIGTERM, 15, "SIGTERM"),
    (SIGHUP, 1, "SIGHUP"),
    (SIGQUIT, 3, "SIGQUIT"),
    (SIGALRM, 14, "SIGALRM"),
    (SIGUSR1, 10, "SIGUSR1"),
    (SIGUSR2, 12, "SIGUSR2"),
];

/// The number of ^C.
pub(crate) const INTERRUPT: u8 = 2;

/// A signal's name.
pub(crate) fn name(number: u8) -> &'static str {
    SIGNALS.iter().find(|(_, known, _)| *known == number).map_or("a signal", |(_, _, name)| name)
}

/// Signals that arrive together are one wish: a shell and `timeout` both signal a process and its group.
const TOGETHER: Duration = Duration::from_secs(1);

/// How long the reader of standard output may take nothing after a signal.
const READER_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the last sentences may take: a terminal that takes nothing does not hold up the end.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);

/// Those of this process since they were first taken over: each time would take descriptors and a thread for good.
static TAKEN_OVER: Mutex<Option<Signals>> = Mutex::new(None);

/// What the signals of this process have asked for.
#[derive(Clone)]
pub(crate) struct Signals {
    requested: Arc<AtomicBool>,
    last: Arc<AtomicUsize>,
    ending: Ending,
}

/// What the thread that waits for signals shares with the command.
#[derive(Clone, Default)]
struct Ending {
    /// When the user first asked to stop.
    asked: Arc<OnceLock<Instant>>,
    /// What gives back what the command has taken, such as the terminal.
    give_back: Arc<OnceLock<fn()>>,
}

impl Signals {
    /// The signals of this process, which the first call takes over: a command may read hundreds of traces, and a
    /// signal between two of them counts for the next one too.
    pub(crate) fn install() -> io::Result<Signals> {
        let mut known = TAKEN_OVER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signals) = &*known {
            return Ok(signals.clone());
        }
        let signals = Signals::take_over()?;
        *known = Some(signals.clone());
        Ok(signals)
    }

    /// Takes over the signals, but SIGHUP where `nohup` has it ignored.
    fn take_over() -> io::Result<Signals> {
        let signals = Signals { requested: Arc::default(), last: Arc::default(), ending: Ending::default() };
        let taken: Vec<_> = SIGNALS.into_iter().filter(|(_, number, _)| *number != 1 || !is_ignored(*number)).collect();
        for (signal, number, _) in taken.clone() {
            // Actions run in the order of their registration: the number is there when the flag is up.
            flag::register_usize(signal, Arc::clone(&signals.last), usize::from(number))?;
            flag::register(signal, Arc::clone(&signals.requested))?;
        }
        let arrivals = Arrivals::new(taken.iter().map(|(signal, ..)| signal))?;
        // It sleeps in a read until a signal comes, so that it disturbs no measurement.
        let ending = signals.ending.clone();
        thread::Builder::new().name("signals".into()).spawn(move || watch(arrivals, &ending))?;
        // A read of a pipe may wait for ever.
        sys::file::awaited::call_off_by(Arc::clone(&signals.requested));
        Ok(signals)
    }

    /// The flag that loops look at.
    pub(crate) fn stop(&self) -> Stop {
        Stop::new(Arc::clone(&self.requested))
    }

    /// The number of the signal that asked to stop.
    pub(crate) fn received(&self) -> Option<u8> {
        let number = u8::try_from(self.last.load(Ordering::Relaxed)).unwrap_or(0);
        (number > 0).then_some(number)
    }

    /// Notes that the user asked to stop by other means, such as a key: then the next signal is the second one.
    pub(crate) fn note_wish(&self) {
        if self.received().is_none() {
            let _ = self.ending.asked.set(Instant::now());
        }
    }

    /// Has `give_back` called before a second signal ends the process. It may wait without end.
    pub(crate) fn give_back_by(&self, give_back: fn()) {
        let _ = self.ending.give_back.set(give_back);
    }
}

/// Lets a write beyond the limit on the size of files (`ulimit -f`) fail with an error. Its signal would end the
/// process in the middle of its work. It is caught, not ignored: a command that is started from here would inherit
/// that. Where the signal is already ignored, the write fails as well, and a command inherits that as it would without
/// readpath.
pub(crate) fn outlive_file_limits() {
    if u8::try_from(SIGXFSZ).is_ok_and(is_ignored) {
        return;
    }
    // Where it cannot be caught, it ends the process as it does any other.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Whether the process was started with this signal ignored.
fn is_ignored(number: u8) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}

/// Ends the process at a signal that comes a while after the first.
fn watch(mut arrivals: Arrivals, ending: &Ending) {
    for signal in arrivals.forever() {
        let number = SIGNALS.iter().find(|(known, ..)| *known == signal).map_or(INTERRUPT, |(_, number, _)| *number);
        match ending.asked.get() {
            None => {
                let _ = ending.asked.set(Instant::now());
                let ending = ending.clone();
                // Where it cannot be started, the second signal ends the process.
                let _ = thread::Builder::new().name("reader".into()).spawn(move || watch_reader(number, &ending));
            }
            Some(first) if first.elapsed() < TOGETHER => {}
            Some(_) => end(number, ending, "stopped at once; what was kept before is whole."),
        }
    }
}

/// After a signal, ends the process where the reader of standard output takes nothing: a result is not waited for
/// without end.
fn watch_reader(signal: u8, ending: &Ending) {
    let signalled = Instant::now();
    let waited = || output::waited().map_or(Duration::ZERO, |waited| waited.min(signalled.elapsed()));
    while waited() < READER_TIMEOUT {
        thread::sleep(READER_TIMEOUT / 60);
    }
    end(signal, ending, "the reader of standard output takes nothing; what was kept before is whole.")
}

/// Ends the process in the middle of its work. What was kept stays kept.
///
/// The last sentences are said on another thread: where the terminal takes nothing, they wait without end, as what is
/// being drawn there does.
#[allow(clippy::exit, reason = "the main thread may wait in a write, and a store is never half-written")]
fn end(signal: u8, ending: &Ending, sentence: &'static str) -> ! {
    let give_back = ending.give_back.get().copied();
    let say = move || {
        if let Some(give_back) = give_back {
            give_back();
        }
        output::complain(sentence);
        output::complain_of_leftovers();
    };
    let (done, is_done) = channel();
    let last_words = move || {
        say();
        // It may have taken too long.
        let _ = done.send(());
    };
    match thread::Builder::new().name("last-words".into()).spawn(last_words) {
        Ok(_) => {
            let _ = is_done.recv_timeout(LAST_WORDS_TIMEOUT);
        }
        Err(_) => say(),
    }
    std::process::exit(128 + i32::from(signal))
}
