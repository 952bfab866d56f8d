//! What a watch does with what it hears, without a server: its session notes what it would send, and sends nothing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use profile::source::sampled::Traced;
use profile::tables::sampled::Counters;
use trial::Trial;

use super::*;

const SETTINGS: Settings = Settings {
    rate: None,
    reads_memory: true,
    traces_reads: false,
    wall_clock: 1_795_257_953_000_000,
    think_time: Ticks::ZERO,
    seed: 7,
};

fn watch() -> Watch {
    let address = Address::parse("postgres://me@localhost/shop").unwrap();
    let sampler = SqlSampler::rehearsal(&address, (Statements::default(), 18)).unwrap();
    Watch::over(&address, sampler, SETTINGS, (Instruments::default(), Arc::default())).unwrap()
}

fn ago(seconds: u64) -> Instant {
    Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap()
}

/// Wants what the server counts, and notes how often it was given that, and what it was to say.
#[derive(Default)]
struct Wanting {
    counted: Arc<AtomicUsize>,
    said: Arc<Mutex<Vec<String>>>,
    takes_texts: bool,
}

impl Listener for Wanting {
    fn begin(&mut self, _subject: Parameters, _untraced: Option<&str>) {}

    fn look(&mut self, _since: Ticks, _samples: &[Sample]) {}

    fn rename(&mut self, _was: &str, _is: &str) {}

    fn trace(&mut self, _look: (i64, &[Sample]), _traced: Traced, _names: &BTreeMap<String, String>) {}

    fn wants_counters(&mut self) -> bool {
        true
    }

    fn counted(&mut self, _counted: &BTreeMap<i64, (Counters, String)>, _account: Option<Ticks>, _own: Duration) {
        self.counted.fetch_add(1, Ordering::Relaxed);
    }

    fn blocking(&mut self, _answer: &[(u32, Vec<u32>)]) {}

    fn takes_texts(&mut self) -> bool {
        std::mem::take(&mut self.takes_texts)
    }

    fn say(&mut self, sentence: String) {
        self.said.lock().unwrap().push(sentence);
    }

    fn away(&mut self) {}

    fn unreached(&mut self, reason: &str) {
        self.say(format!("unreached: {reason}"));
    }

    fn back(&mut self) {}

    fn lose(&mut self, _time: Ticks, _reason: &str) {}
}

#[test]
fn a_server_that_stays_away_is_looked_for_less_and_less_often() {
    let after = [0, 3, 60, 86_400].map(|seconds| knock_after(Duration::from_secs(seconds)));
    assert_eq!(after, [500, 500, 6_000, 30_000].map(Duration::from_millis));
}

#[test]
fn a_server_that_stays_away_is_said_to_be_once_and_what_is_said_is_heard_meanwhile() {
    // How long ago the last look was.
    let said_after = |seconds: u64| {
        let (mut watch, wanting, calls) = (watch(), Wanting::default(), Arc::new(AtomicUsize::new(0)));
        let (said, called) = (Arc::clone(&wanting.said), Arc::clone(&calls));
        watch.tell(Box::new(wanting));
        watch.meanwhile(Box::new(move || {
            called.fetch_add(1, Ordering::Relaxed);
        }));
        // It is over before the server is asked for a session.
        watch.opened = Instant::now() + Duration::from_secs(60);
        watch.knock(ago(seconds), Instant::now() + Duration::from_millis(500), "the connection was closed");
        assert!(calls.load(Ordering::Relaxed) > 1);
        said.lock().unwrap().clone()
    };
    assert_eq!(said_after(3), Vec::<String>::new());
    assert_eq!(said_after(11), ["unreached: the connection was closed"]);
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
fn a_dry_run_says_that_a_recorder_asks_for_counters_with_each_segment_and_a_screen_not_at_all() {
    let script = |watched_for: WatchedFor| {
        let (address, statements) = (Address::parse("postgres://me@localhost/shop").unwrap(), Statements::default());
        Watch::rehearse(&address, SETTINGS, (statements.clone(), 18), watched_for).unwrap();
        statements.script()
    };
    let (profile, screen) = (script(WatchedFor::Profile), script(WatchedFor::Screen));
    assert!(profile.contains("at the end:") && profile.contains("pg_stat_statements(true)"), "{profile}");
    assert!(!screen.contains("at the end:") && !screen.contains("pg_stat_statements(true)"), "{screen}");
    assert!(screen.contains("sum(blks_hit)") && !profile.contains("sum(blks_hit)"), "{screen}");
    let recording = script(WatchedFor::Recording);
    assert!(!recording.contains("at the end:") && !recording.contains("sum(blks_hit)"), "{recording}");
    let (first, further) = recording.split_once("when each further segment ends:").unwrap();
    assert!(first.contains("pg_stat_statements(true)"), "{first}");
    assert!(further.contains("pg_stat_statements(false)") && further.contains("active_time"), "{further}");
}

#[test]
fn a_server_that_works_long_to_say_who_blocks_whom_is_asked_less_often() {
    let mut watch = watch();
    let answer = |worked| Answers { worked_for_blocking: Some(worked), ..Answers::default() };
    watch.take_answers(answer(Duration::from_secs(2))).unwrap();
    assert_eq!(watch.blocking_every, Duration::from_secs(20));
    watch.take_answers(answer(Duration::from_millis(1))).unwrap();
    assert_eq!(watch.blocking_every, BLOCKING_EVERY);
}

#[test]
fn what_the_server_counts_over_a_time_without_samples_is_of_no_segment() {
    let lost = Ticks::from_micros(3_000_000);
    // When the server was asked last, and when the time began.
    let is_skipped = |counted: u64, begun: u64| {
        let mut watch = watch();
        watch.tell(Box::new(Wanting::default()));
        watch.counted = ago(counted);
        // What the server takes to answer that question.
        watch.held_up = Duration::from_secs(if counted < begun { 3 } else { 0 });
        watch.lose(ago(begun), lost, "readpath did not run".into());
        let question = watch.further_questions(None).counters.unwrap();
        (question.source.unwrap().is_stale, watch.counted.elapsed() < Duration::from_secs(1))
    };
    assert_eq!(is_skipped(60, 3), (true, true));
    assert_eq!(is_skipped(2, 3), (false, true), "it was asked in that time");
    assert_eq!(is_skipped(3_600, 3), (false, true), "a thousandth of what it has counted");
    // The clock of the looks stood still as the machine slept.
    assert_eq!(is_skipped(60, 0), (true, true));
}

#[test]
fn an_account_is_held_against_samples_of_nearly_all_of_its_time_alone() {
    let mut watch = watch();
    let (account, lost) = (Ticks::from_micros(5_000_000), Ticks::from_micros(900_000));
    watch.begun.at = ago(100);
    watch.lose(ago(1), lost, "the server was slow to answer".into());
    assert_eq!(watch.of_sampled_time(account), Ok(account));
    watch.lose(ago(1), lost, "readpath did not run".into());
    let why = watch.of_sampled_time(account).unwrap_err();
    assert_eq!(why, "1.80 s of that time passed without samples");
    let level = watch.level(None).join(" ");
    assert!(level.contains("with those of the time without samples"), "{level}");
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

#[test]
fn texts_that_a_look_was_to_bring_which_never_came_are_brought_by_the_next() {
    let mut watch = watch();
    watch.tell(Box::new(Wanting { takes_texts: true, ..Wanting::default() }));
    let sampler = watch.sampler.take();
    watch.look_once().unwrap();
    assert!(watch.wants_texts, "the server did not answer");
    watch.sampler = sampler;
    watch.look_once().unwrap();
    assert!(!watch.wants_texts);
}

#[test]
fn a_server_that_refuses_for_a_moment_is_left_alone_for_a_while_and_not_given_up() {
    let mut watch = watch();
    let (statement, reason) = ("EXECUTE readpath_sample".to_string(), "out of shared memory".to_string());
    let refusal = ServerError::Statement { statement, reason, code: "53200".into() };
    for _ in 0..2 * REFUSALS_MAX {
        let before = Instant::now();
        watch.take_refusal(&refusal, before);
        assert!(watch.rested >= before + AFTER_REFUSAL);
    }
    assert_eq!(watch.ended, None);
    watch.refused = Some((ago(6), 1));
    watch.take_refusal(&refusal, Instant::now());
    assert_eq!(watch.ended, None, "two looks that took long");
    watch.refused = Some((ago(6), REFUSALS_MAX - 1));
    watch.take_refusal(&refusal, Instant::now());
    assert!(watch.ended.as_ref().is_some_and(|why| why.contains("out of shared memory")), "{:?}", watch.ended);
}

#[test]
fn sessions_that_the_server_shows_no_more_while_its_memory_is_read_are_said_to_lack_names_once() {
    let mut watch = watch();
    let wanting = Wanting::default();
    let said = Arc::clone(&wanting.said);
    watch.tell(Box::new(wanting));
    watch.memory = Ok(MemorySampler::empty());
    let (statement, reason) = ("EXECUTE readpath_sample".to_string(), "permission denied".to_string());
    let refusal = ServerError::Statement { statement, reason, code: "42501".into() };
    watch.take_refusal(&refusal, Instant::now());
    assert!(said.lock().unwrap().is_empty() && !watch.lacks_names(), "the next look may go through");
    watch.unshown = Some(ago(6));
    (0..3).for_each(|_| watch.take_refusal(&refusal, Instant::now()));
    let all = said.lock().unwrap().clone();
    assert!(all.len() == 1 && all[0].contains("permission denied") && all[0].contains("have no names"), "{all:?}");
    assert!(watch.lacks_names() && watch.ended.is_none());
    watch.note_asked();
    assert!(!watch.lacks_names() && watch.level(None).contains(&all[0]), "the page says what was missing");
}

#[test]
fn memory_that_cannot_be_read_any_more_is_tried_again_and_again_and_said_once() {
    let mut watch = watch();
    let wanting = Wanting::default();
    let said = Arc::clone(&wanting.said);
    watch.tell(Box::new(wanting));
    (watch.memory, watch.looked) = (Ok(MemorySampler::unreadable_sample()), Some(Instant::now()));
    watch.look_once().unwrap();
    assert!(watch.memory_absent().unwrap().contains("could no longer be read"));
    assert!(watch.memory_lost.is_some_and(|lost| !lost.is_said) && said.lock().unwrap().is_empty());
    for seconds in [10, 20, 40] {
        let lost = watch.memory_lost.unwrap();
        assert_eq!(lost.pause, Duration::from_secs(seconds));
        watch.memory_lost = Some(LostMemory { tried: ago(seconds + 1), ..lost });
        watch.look_once().unwrap();
        assert!(!watch.memory_lost.unwrap().is_due(), "it is left alone for a while");
    }
    let all = said.lock().unwrap().clone();
    assert!(all.len() == 1 && all[0].contains("is not read any more: nothing is sent"), "{all:?}");
    let made = &watch.level(None)[0];
    assert!(made.contains("samples of the server's shared memory and, since that is not read any more"), "{made}");
}

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

#[test]
fn memory_that_could_not_be_read_for_a_while_is_read_again() {
    let Some(trial) = Trial::start(&[]) else { return };
    let address = Address::parse(&trial.url()).unwrap();
    let mut watch = Watch::open(&address, SETTINGS, Instruments::default(), Arc::default()).unwrap();
    if !watch.reads_memory() {
        return println!("skipped: the server's memory cannot be read");
    }
    watch.memory = Err("the server did not answer".into());
    watch.memory_lost = Some(LostMemory::now());
    watch.look_once().unwrap();
    assert!(!watch.reads_memory(), "it is not time to");
    watch.memory_lost = Some(LostMemory { tried: ago(11), ..LostMemory::now() });
    watch.look_once().unwrap();
    assert_eq!((watch.memory_absent(), watch.memory_lost), (None, None));
}

#[test]
fn memory_that_can_no_longer_be_read_does_not_stay_mapped() {
    let Some(trial) = Trial::start(&[]) else { return };
    let address = Address::parse(&trial.url()).unwrap();
    let mut watch = Watch::open(&address, SETTINGS, Instruments::default(), Arc::default()).unwrap();
    if !watch.memory.as_ref().is_ok_and(MemorySampler::is_mapped) {
        return println!("skipped: the server's memory cannot be mapped");
    }
    // One that is not in the server's list is forgotten when that is read.
    while let Ok(memory) = &mut watch.memory {
        memory.add_unreadable();
        watch.looked = Some(Instant::now());
        watch.look_once().unwrap();
    }
    assert!(watch.former.as_ref().is_some_and(|former| !former.is_mapped()), "{:?}", watch.memory_absent());
}

#[test]
fn a_time_in_which_the_server_refused_to_answer_is_not_blamed_on_readpath() {
    let reasons = |refused: Option<(Instant, u32)>| {
        let mut watch = watch();
        (watch.last, watch.refused) = (Some(ago(5)), refused);
        watch.look_once().unwrap();
        watch.away.iter().map(|(reason, _)| reason.clone()).collect::<Vec<_>>()
    };
    assert_eq!(reasons(Some((ago(5), 1))), ["the server was slow to answer"]);
    assert_eq!(reasons(None), ["readpath did not run"]);
}

#[test]
fn a_listener_is_given_away_with_the_answer_that_was_due_and_the_session_ends() {
    let mut watch = watch();
    let wanting = Wanting::default();
    let counted = Arc::clone(&wanting.counted);
    watch.tell(Box::new(wanting));
    let sampler = watch.lend().unwrap();
    let account = Err("it has none".to_string());
    let counters = Some(CountersAnswer { source: None, counted: Counted::new(), account, own: Duration::ZERO });
    watch.further = Some(Question::ask(sampler, move |_| Answers { counters, ..Answers::default() }));
    watch.ended = Some("the server refuses".into());
    let (listener, ended) = watch.release();
    assert!(listener.is_some() && ended.as_deref() == Some("the server refuses"));
    assert_eq!((counted.load(Ordering::Relaxed), watch.sampler.is_none()), (1, true));
}
