//! What a run finds about itself, read on both sides of its conditions.

use std::fs;
use std::io;

use ::measure::schema::{every, lio};
use ::measure::{Case, Metric};
use report::RENDERERS;
use sides::proptest::prelude::any;
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};

use super::*;
use crate::options::Globals;
use crate::settings::Settings;

/// What becomes of the cases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    None,
    Kept,
    Refused,
}

const KEEPING: [Keeping; 3] = [Keeping::None, Keeping::Kept, Keeping::Refused];

/// A command whose default directory is this one.
fn context(store_dir: Option<&str>, store: Option<&str>, no_store: bool) -> Context {
    let settings = Settings { store_dir: store_dir.map(Into::into), ..Settings::from_environment() };
    let globals = Globals { format: &RENDERERS[0], store: store.map(Into::into), no_store, quiet: true };
    let definition = || clap::Command::new("readpath");
    let dispatch = crate::commands::run;
    let (purpose, job, rows_under) = (Purpose::Run, None, None);
    Context { globals, settings, command_line: Vec::new(), definition, dispatch, purpose, job, rows_under }
}

fn journal(store: Option<Store>) -> RunJournal {
    let run = Run { id: "7f".into(), ..new_run(&context(None, None, true), "null", Host::default()) };
    RunJournal::new(run, store, Progress::none())
}

/// Finished cases, what becomes of them, whether the experiment failed, and the signal that came.
type Ended = (usize, Keeping, bool, Option<u8>);

fn found_at_the_end((cases, keeping, has_failed, signal): &Ended) -> Vec<Finding> {
    let dir = tempfile::tempdir().unwrap();
    let store = (*keeping != Keeping::None).then(|| Store::open(dir.path()).unwrap());
    let mut journal = journal(store);
    if *keeping == Keeping::Refused {
        fs::remove_dir_all(dir.path()).unwrap();
    }
    for _ in 0..*cases {
        let _ = journal.keep(Case::default());
    }
    conclude(&mut journal, if *has_failed { Err("the disk is gone.".into()) } else { Ok(()) }, *signal);
    journal.into_run().findings
}

/// Whether a case could not be kept.
fn is_refused((cases, keeping, ..): &Ended) -> bool {
    *cases > 0 && *keeping == Keeping::Refused
}

/// How a sentence ends that says what became of the cases.
fn kept((cases, keeping, ..): &Ended) -> String {
    let place = if *keeping == Keeping::Kept { "kept as 7f." } else { "shown here only." };
    match cases {
        0 => "no case was finished, and nothing is kept.".into(),
        1 => format!("the case it had finished is {place}"),
        cases => format!("the {cases} cases it had finished are {place}"),
    }
}

fn endings() -> [Reading; 2] {
    let signals = select(vec![None, Some(2), Some(15)]);
    let values = (0..4_usize, select(KEEPING.to_vec()), any::<bool>(), signals);
    let interrupted = reading(every::findings::INTERRUPTED, values.clone(), found_at_the_end, |ended| {
        let name = if ended.3? == 2 { "^C" } else { "SIGTERM" };
        let said = format!("The run was interrupted by {name}; {}", kept(ended));
        (!is_refused(ended)).then(|| says![said])
    });
    let failed = reading(every::findings::FAILED, values, found_at_the_end, |ended| {
        if is_refused(ended) {
            return Some(says!["The run failed: the run could not be kept in ", "7f.json", "What was saved before"]);
        }
        let kept = kept(ended).replacen("no case", "No case", 1).replacen("the ", "The ", 1);
        (ended.2 && ended.3.is_none()).then(|| says![format!("The run failed: the disk is gone. {kept}")])
    });
    [interrupted, failed]
}

/// What a default directory is, if there is one.
#[derive(Clone, Copy, Debug)]
enum Home {
    Nowhere,
    Folder,
    File,
}

/// A directory that cannot be used, whether another one is named, and whether none is wanted.
fn not_kept() -> Reading {
    let of = |(home, is_named, no_store): &(Home, bool, bool)| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs").display().to_string();
        if matches!(home, Home::File) {
            fs::write(&path, "").unwrap();
        }
        let default = (!matches!(home, Home::Nowhere)).then_some(path.as_str());
        let other = dir.path().join("other").display().to_string();
        let context = context(default, is_named.then_some(other.as_str()), *no_store);
        store(&context).unwrap().1
    };
    let homes = select(vec![Home::Nowhere, Home::Folder, Home::File]);
    reading(every::findings::NOT_KEPT, (homes, any::<bool>(), any::<bool>()), of, |(home, is_named, no_store)| {
        let reason = match home {
            Home::Folder => return None,
            Home::Nowhere => "there is no directory to keep runs in, because neither XDG_DATA_HOME nor HOME is set.",
            Home::File => "runs cannot be kept in /",
        };
        (!is_named && !no_store).then(|| says![format!("This run is shown here and not kept: {reason}")])
    })
}

/// An answer to taking the rights of a store from other users.
fn store_open() -> Reading {
    let of = |is_refused: &bool| {
        let refused = || StoreError::LeftOpen { dir: "/runs".into(), source: io::Error::other("it is not yours") };
        left_open(if *is_refused { Err(refused()) } else { Ok(()) })
    };
    reading(every::findings::STORE_OPEN, any::<bool>(), of, |is_refused| {
        let said =
            "Other users may read kept runs: the rights of /runs could not be changed: it is not yours. Close it";
        is_refused.then(|| says![said])
    })
}

/// A value of a metric, and whether its case comes alone.
fn not_a_number() -> Reading {
    let of = |(value, is_alone): &(f64, bool)| {
        let mut journal = journal(None);
        let metrics: Vec<Metric> = vec![lio::GETS.single("test", 1.0), lio::LIO.single("test", *value)];
        let case = Case { metrics, ..Case::default() };
        match is_alone {
            true => journal.keep(case).unwrap(),
            false => journal.take(vec![case]),
        }
        journal.into_run().findings
    };
    let values = select(vec![-1.0, 0.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    reading(every::findings::NOT_A_NUMBER, (values, any::<bool>()), of, |(value, _)| {
        let said = "lio came out as something that is not a number and is left out of its case.";
        (!value.is_finite()).then(|| says![said])
    })
}

#[test]
fn what_a_run_finds_about_itself_is_so() {
    both_sides(&every::findings::ALL, endings().into_iter().chain([not_kept(), store_open(), not_a_number()]));
}

#[test]
fn an_interrupt_completes_what_goes_on_until_then_and_nothing_else() {
    let ended = |ends_by_interrupt: bool, signal: u8| {
        let mut journal = journal(None);
        if ends_by_interrupt {
            journal.end_by_interrupt();
        }
        let exit = conclude(&mut journal, Ok(()), Some(signal));
        (exit, journal.run().finished.is_some(), journal.run().findings.is_empty())
    };
    assert_eq!(ended(true, signals::INTERRUPT), (Exit::Done, true, true));
    assert_eq!(ended(true, 15), (Exit::Interrupted { signal: 15 }, false, false));
    assert_eq!(ended(false, signals::INTERRUPT), (Exit::Interrupted { signal: 2 }, false, false));
}

#[test]
fn a_profile_that_a_signal_ends_is_not_said_to_have_finished_cases() {
    let said = |rows: usize| {
        let run = new_run(&context(None, None, true), "profile", Host::default());
        let mut journal = RunJournal::new(run, None, Progress::none());
        for _ in 0..rows {
            journal.keep(Case::default()).unwrap();
        }
        conclude(&mut journal, Ok(()), Some(15));
        journal.into_run().findings.remove(0).message
    };
    assert_eq!(said(0), "The run was interrupted by SIGTERM; there is no profile yet, and nothing is kept.");
    assert_eq!(said(119), "The run was interrupted by SIGTERM; what was read before is shown here only.");
}

#[test]
fn an_interrupted_run_names_the_files_that_it_did_not_measure() {
    let said = |names: &[&str]| {
        let mut journal = journal(None);
        journal.keep(Case::default()).unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        journal.leave_unmeasured(&names);
        conclude(&mut journal, Ok(()), Some(signals::INTERRUPT));
        journal.run().findings[0].message.clone()
    };
    let ended = "The run was interrupted by ^C; the case it had finished is shown here only.";
    assert_eq!(said(&[]), ended);
    assert_eq!(said(&["new.dat"]), format!("{ended} new.dat was not measured."));
    assert_eq!(said(&["b", "c", "d"]), format!("{ended} b, c and d were not measured."));
}

#[test]
fn what_disturbed_the_cases_of_a_run_that_failed_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let context = context(None, dir.path().to_str(), false);
    let exit = measure(&context, "disk", |journal, machine| {
        journal.keep(Case::default())?;
        machine.note_shared_device("a case", 3.0);
        Err(ExperimentError::Stopped)
    });
    assert_eq!(exit.unwrap(), Exit::Failed);
    let kept = fs::read_dir(dir.path()).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let kept: Vec<String> = kept.filter(|text| text.contains("\"findings\"")).collect();
    assert!(kept.len() == 1 && kept[0].contains("a case"), "{kept:?}");
}
