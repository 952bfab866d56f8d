//! `--follow`: a page that refreshes while a trace is written.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ::measure::Run;
use ::profile::follow::{Followed, Growth, Reread, findings};
use ::profile::ingest::Ingested;
use ::profile::input::{Given, expand};
use ::profile::observe::instruments::Instruments;
use clap::ArgMatches;
use experiments::{Journal, Stop};

use super::reading::{first_of, nothing_read};
use super::renewed_page::RenewedPage;
use super::{Arguments, chosen, instruments, read_all, refuse_unused_of_source, settings, take};
use crate::exit::Failure;
use crate::options::Context;
use crate::run_journal::RunJournal;

/// How often a followed trace is looked at.
const RENEWAL: Duration = Duration::from_secs(1);

/// How often a signal is looked for in between.
const NAP: Duration = Duration::from_millis(50);

/// What is followed.
enum Source {
    /// One plain trace, of which only what was added is read.
    Tail(Box<Followed>),
    /// Anything else, with the sizes that it had when it was read.
    Whole(Option<Sizes>),
}

/// Bytes of files by device and inode: a new file beside them is none of them, and one that was renamed is the same.
type Sizes = BTreeMap<(u64, u64), u64>;

/// What a look at it came to.
enum Look {
    /// Nothing was added.
    Same,
    /// Another profile.
    Profile(Box<(Ingested, Instruments)>),
    /// It begins anew, for this reason.
    Anew(String),
    /// It is a server log, which is read as a whole.
    ServerLog,
}

/// Renews the page until a signal comes, ^C being the usual end, or nothing was written for `idle`. On a terminal each
/// page takes the place of the one before; elsewhere the last one alone is printed, as that of any run. Returns whether
/// everything that was named could be read.
pub(super) fn follow(
    (arguments, matches): (&Arguments, &ArgMatches),
    context: &Context,
    journal: &mut RunJournal,
    (stop, idle): (&Stop, Duration),
) -> Result<bool, Failure> {
    let mut source = Source::of(arguments)?;
    let mut pages = Pages { kept: journal.run().clone(), ..Pages::default() };
    let mut written = Instant::now();
    let what = first_of(arguments.files.iter().map(|file| file.display()));
    let mut is_looked_through = false;
    journal.step(&format!("reading {what}"), Duration::ZERO);
    loop {
        // What was written before the signal is on the last page; without any page the signal ends the reading too.
        let is_last = stop.requested();
        if is_last && pages.is_all_there.is_none() {
            if is_looked_through {
                break;
            }
            return Ok(true);
        }
        match source.look(arguments, journal, stop)? {
            Look::Same => {}
            Look::Anew(sentence) => {
                pages.sentences.push(sentence);
                written = Instant::now();
                continue;
            }
            Look::ServerLog => {
                refuse_unused_of_source(matches, &chosen(arguments))?;
                source = Source::Whole(None);
                continue;
            }
            Look::Profile(profile) => {
                // What was empty, or not there, has a source only now.
                if pages.is_all_there.is_none() {
                    refuse_unused_of_source(matches, &chosen(arguments))?;
                }
                written = Instant::now();
                pages.renew(arguments, *profile, &source, journal)?;
                pages.show(context, journal)?;
            }
        }
        // A signal breaks a look off, and the one before it was whole.
        is_looked_through |= !stop.requested();
        if is_last || written.elapsed() >= idle {
            break;
        }
        journal.step(&waiting(&arguments.files, &what, pages.is_all_there.is_some()), Duration::ZERO);
        let looked = Instant::now();
        while !stop.requested() && looked.elapsed() < RENEWAL.min(idle) {
            thread::sleep(NAP);
        }
    }
    pages.page.take_away()?;
    journal.end_by_interrupt();
    match (pages.is_all_there, pages.nothing) {
        (Some(is_all_there), _) => Ok(is_all_there),
        (None, Some(nothing)) => Err(nothing),
        (None, None) => Err(Failure::failed("no call and no wait was written while it was followed.")),
    }
}

/// What is waited for. As long as there is no page, a file that is not there may have a mistyped name.
fn waiting(files: &[PathBuf], what: &str, has_page: bool) -> String {
    let found = if has_page { Vec::new() } else { expand(files).given };
    let is_missing = |given: &&Given| match given {
        Given::File(path) => matches!(path.try_exists(), Ok(false)),
        Given::StandardInput => false,
    };
    match found.iter().find(is_missing) {
        Some(given) => format!("waiting for {}, which does not exist yet", given.name()),
        None => format!("waiting for more of {what}"),
    }
}

impl Source {
    fn of(arguments: &Arguments) -> Result<Source, Failure> {
        let path = Followed::trace(&arguments.files).filter(|_| arguments.reading.choice().is_everything());
        let Some(path) = path else { return Ok(Source::Whole(None)) };
        let followed = Followed::open(path, settings(arguments), instruments(arguments));
        Ok(Source::Tail(Box::new(followed.map_err(unreadable)?)))
    }

    fn look(&mut self, arguments: &Arguments, journal: &mut RunJournal, stop: &Stop) -> Result<Look, Failure> {
        match self {
            Source::Tail(followed) => look_at_tail(followed, arguments, stop),
            Source::Whole(known) => {
                let sizes = sizes(&arguments.files);
                if known.as_ref() == Some(&sizes) {
                    return Ok(Look::Same);
                }
                let shrank = known.replace(sizes.clone()).is_some_and(|known| is_less(&sizes, &known));
                if shrank {
                    *known = None;
                    return Ok(Look::Anew("what is followed was cut, removed or rotated".into()));
                }
                let profile = read_all(arguments, chosen(arguments), journal, stop);
                Ok(if profile.0.is_broken_off { Look::Same } else { Look::Profile(Box::new(profile)) })
            }
        }
    }
}

fn look_at_tail(followed: &mut Followed, arguments: &Arguments, stop: &Stop) -> Result<Look, Failure> {
    // The first reading may be long, and ends with the signal. What is added later is short.
    let was_requested = stop.requested();
    let mut progress = |_: &str, _: u64| match stop.requested() && !was_requested {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    match followed.read_on(&mut progress).map_err(unreadable)? {
        Growth::Nothing => Ok(Look::Same),
        Growth::Lines => Ok(Look::Profile(Box::new(followed.snapshot()))),
        Growth::ServerLog => Ok(Look::ServerLog),
        Growth::Anew(why) => {
            followed.begin_again(instruments(arguments)).map_err(unreadable)?;
            Ok(Look::Anew(why.into()))
        }
    }
}

/// The pages so far.
#[derive(Default)]
struct Pages {
    /// The run without a profile.
    kept: Run,
    /// Why it began anew.
    sentences: Vec<String>,
    /// Whether everything that was named is on the last page; `None` without any.
    is_all_there: Option<bool>,
    /// Why there is none.
    nothing: Option<Failure>,
    /// What stands on a terminal.
    page: RenewedPage,
}

impl Pages {
    /// Puts another profile in place of the last one, unless it has nothing.
    fn renew(
        &mut self,
        arguments: &Arguments,
        (ingested, instruments): (Ingested, Instruments),
        source: &Source,
        journal: &mut RunJournal,
    ) -> Result<(), Failure> {
        if ingested.files.is_empty() {
            // A file that was just begun has its preamble first.
            self.nothing = Some(nothing_read(&ingested)).filter(|_| !ingested.problems.is_empty());
            return Ok(());
        }
        journal.begin_again(&self.kept);
        self.is_all_there = Some(take(arguments, ingested, &instruments, journal)?);
        let way = if matches!(source, Source::Whole(_)) { Reread::Whole } else { Reread::Added };
        findings(&self.sentences, way).into_iter().for_each(|finding| journal.find(finding));
        Ok(())
    }

    fn show(&mut self, context: &Context, journal: &RunJournal) -> Result<(), Failure> {
        if !context.settings.stdout_is_terminal || self.is_all_there.is_none() {
            return Ok(());
        }
        journal.clear_progress();
        self.page.renew(journal.run(), context)
    }
}

/// The sizes of all files that are named, now.
fn sizes(files: &[PathBuf]) -> Sizes {
    let found = expand(files);
    let size = |given: &Given| match given {
        Given::File(path) => fs::metadata(path).ok().map(|data| ((data.dev(), data.ino()), data.len())),
        Given::StandardInput => None,
    };
    found.given.iter().chain(&found.candidates).filter_map(size).collect()
}

/// Whether one of the files that were known is gone or smaller.
fn is_less(sizes: &Sizes, known: &Sizes) -> bool {
    known.iter().any(|(file, before)| sizes.get(file).is_none_or(|now| now < before))
}

fn unreadable(problem: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("{problem}."))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn no_mistyped_name_is_waited_for_as_if_it_were_there() {
        let folder = tempfile::tempdir().unwrap();
        let [there, missing] = ["a.trc", "nosuch"].map(|name| folder.path().join(name));
        std::fs::write(&there, "").unwrap();
        let said = |has_page: bool| waiting(&[there.clone(), missing.clone()], "both", has_page);
        assert_eq!(said(false), format!("waiting for {}, which does not exist yet", missing.display()));
        assert_eq!(said(true), "waiting for more of both", "one that was removed");
        assert_eq!(waiting(&[there], "a.trc", false), "waiting for more of a.trc");
    }

    #[test]
    fn a_file_whose_name_is_no_utf_8_grows_too() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(OsStr::from_bytes(b"a\xff.trc")), "12345").unwrap();
        assert!(sizes(&[folder.path().into()]).into_values().eq([5]));
    }

    #[test]
    fn a_file_that_comes_before_others_of_a_folder_is_not_said_to_be_a_cut_one() {
        let folder = tempfile::tempdir().unwrap();
        let [early, late, renamed] = ["a.trc", "b.trc", "c.trc"].map(|name| folder.path().join(name));
        let now = || sizes(&[folder.path().into()]);
        std::fs::write(&late, "12345").unwrap();
        let known = now();
        std::fs::write(&early, "1").unwrap();
        std::fs::rename(&late, &renamed).unwrap();
        assert!(now() != known && !is_less(&now(), &known));
        std::fs::write(&renamed, "1").unwrap();
        assert!(is_less(&now(), &known), "it was cut");
        std::fs::remove_file(&renamed).unwrap();
        assert!(is_less(&now(), &known), "it was removed");
    }
}
