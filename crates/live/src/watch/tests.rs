//! What a watch does with what it hears, without a server: its session notes what it would send, and sends nothing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use profile::source::sampled::Traced;
use profile::tables::sampled::Counters;
use server::Statements;
use trial::Trial;

use super::*;
use crate::counters::Counted;
use crate::further::CountersAnswer;

pub(super) const SETTINGS: Settings = Settings {
    rate: None,
    reads_memory: true,
    traces_reads: false,
    wall_clock: 1_795_257_953_000_000,
    think_time: Ticks::ZERO,
    seed: 7,
};

pub(super) fn watch() -> Watch {
    let address = Address::parse("postgres://me@localhost/shop").unwrap();
    let sampler = SqlSampler::rehearsal(&address, (Statements::default(), 18)).unwrap();
    let mut watch = Watch::over(&address, sampler, SETTINGS, (Instruments::default(), Arc::default())).unwrap();
    watch.begin_counters().unwrap();
    watch
}

pub(super) fn ago(seconds: u64) -> Instant {
    Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap()
}

/// An account of the server's, and the time of our own session that came with it.
pub(super) type Given = (Option<Ticks>, Duration);

/// Wants what the server counts, and notes how often it was given that, with which account and time of our session, how
/// many sessions were not shown last, and what it was to say.
#[derive(Default)]
pub(super) struct Wanting {
    pub(super) counted: Arc<AtomicUsize>,
    pub(super) accounts: Arc<Mutex<Vec<Given>>>,
    pub(super) hidden: Arc<AtomicU64>,
    pub(super) said: Arc<Mutex<Vec<String>>>,
    pub(super) takes_texts: bool,
}

impl Listener for Wanting {
    fn begin(&mut self, _subject: Parameters, _untraced: Option<&str>) {}

    fn look(&mut self, _since: Ticks, _samples: &[Sample]) {}

    fn rename(&mut self, _was: &str, _is: &str) {}

    fn trace(&mut self, _look: (i64, &[Sample]), _traced: Traced, _names: &BTreeMap<String, String>) {}

    fn wants_counters(&mut self) -> bool {
        true
    }

    fn hidden(&mut self, sessions: u64) {
        self.hidden.store(sessions, Ordering::Relaxed);
    }

    fn counted(&mut self, _counted: &BTreeMap<i64, (Counters, String)>, account: Option<Ticks>, own: Duration) {
        self.counted.fetch_add(1, Ordering::Relaxed);
        self.accounts.lock().unwrap().push((account, own));
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
fn a_listener_is_given_away_with_the_answer_that_was_due_and_the_session_ends() {
    let mut watch = watch();
    let wanting = Wanting::default();
    let counted = Arc::clone(&wanting.counted);
    watch.tell(Box::new(wanting));
    let sampler = watch.lend().unwrap();
    let account = Err("it has none".to_string());
    let counters = Some(CountersAnswer { source: None, counted: Ok(Counted::new()), account, own: Duration::ZERO });
    watch.further = Some(Question::ask(sampler, move |_| Answers { counters, ..Answers::default() }));
    watch.ended = Some("the server refuses".into());
    let (listener, ended) = watch.release();
    assert!(listener.is_some() && ended.as_deref() == Some("the server refuses"));
    assert_eq!((counted.load(Ordering::Relaxed), watch.sampler.is_none()), (1, true));
}

#[test]
fn a_server_whose_log_grows_with_each_of_our_looks_is_no_surprise() {
    let said = |logs_durations: bool| {
        let (mut watch, wanting) = (watch(), Wanting::default());
        let said = Arc::clone(&wanting.said);
        watch.facts.logs_durations = logs_durations;
        watch.tell(Box::new(wanting));
        watch.asks = 9;
        let level = watch.level(None).pop().unwrap();
        (said.lock().unwrap().clone(), level.contains("readpath has added at least 9 lines"))
    };
    assert_eq!(said(false), (Vec::new(), false));
    let (said, is_on_the_page) = said(true);
    assert!(said.len() == 1 && said[0].contains("adds some 50 lines a second") && is_on_the_page, "{said:?}");
}

#[test]
fn a_server_has_its_identifier_where_the_role_may_ask_for_it_and_else_no_error_of_ours_in_its_log() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE ROLE shop LOGIN; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
    let known = |url: String| {
        let address = Address::parse(&url).unwrap();
        Watch::open(&address, SETTINGS, Instruments::default(), Arc::default()).unwrap().identifier.clone()
    };
    let named = trial.value("SELECT system_identifier FROM pg_control_system()");
    assert_eq!((known(trial.url()), known(trial.url_of("shop"))), (Some(named), None));
    assert!(!trial.log().contains("ERROR"), "{}", trial.log());
}

#[test]
fn a_folder_that_another_server_was_recorded_to_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(place.path()).unwrap();
    let mut watch = watch();
    let mut is_refused = |before: Option<&str>, now: Option<&str>| {
        watch.identifier = before.map(String::from);
        let head = recording::Head { number: folder.next(), subject: watch.recorded_subject(), ..Default::default() };
        let segment = recording::Segment { head, own: Some(recording::Own::default()), ..Default::default() };
        let name = recording::SegmentName::new(folder.next(), 0, 0);
        folder.publish(name, &recording::encode(&segment).unwrap()).unwrap();
        watch.identifier = now.map(String::from);
        watch.refuse_folder_of_other(&folder)
    };
    for (before, now) in [(None, None), (None, Some("741")), (Some("741"), None), (Some("741"), Some("741"))] {
        assert_eq!(is_refused(before, now), Ok(()), "{before:?} {now:?}");
    }
    let sentence = is_refused(Some("741"), Some("742")).unwrap_err();
    assert!(sentence.contains("system identifier 741, and this is another server, "), "{sentence}");
    assert!(sentence.ends_with("system identifier 742: give --to a folder of its own."), "{sentence}");
}

#[test]
fn a_server_that_counts_no_blocks_is_not_said_to_find_none_in_its_buffers() {
    let counts = |counts_blocks: bool| {
        let mut watch = watch();
        watch.facts.counts_blocks = counts_blocks;
        watch.count_hits();
        watch.hits.is_some()
    };
    assert_eq!([true, false].map(counts), [true, false]);
}
