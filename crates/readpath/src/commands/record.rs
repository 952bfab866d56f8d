//! `readpath record`: a flight recorder of a running server.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ::measure::Nanos;
use ::measure::quantity::{counted, parse_size, parse_time, size_in_words};
use ::profile::event::Ticks;
use ::profile::observe::collector::THINK_TIME;
use ::profile::observe::instruments::Instruments;
use ::profile::source::recorded::SumsSettings;
use clap::{ArgMatches, Args};
use jiff::Timestamp;
use live::{Listener, News, Recorder, RecorderSettings, Watch, WatchedFor};
use recording::{Folder, Limits};
use server::facts::ASSUMED_MAJOR;
use server::{Address, ServerError};

use super::measure::{interrupted, signals};
use super::sampling::{Sampling, remark};
use super::subjects::{completed, server_that_runs};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;
use crate::signals::Signals;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "record", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath record --on postgres://me@host/db --to shop
  readpath record --on postgres://me@host/db --to shop --keep 7d
  readpath record --on postgres://me@host/db --to shop --rate 20 --no-text
  readpath profile shop --from 10:00 --to 10:05   what went on at that time
  readpath compare shop --first 09:00..09:30 --second 10:00..10:30";

/// Lengths of segments.
const SEGMENTS: std::ops::RangeInclusive<Nanos> = Nanos::from_millis(1_000)..=Nanos::from_millis(60_000);

/// For how long a watch goes on at a time.
const WATCH: Duration = Duration::from_secs(86_400);

/// How often a server that ended our watch is asked again: less often the longer it refuses, because each time takes
/// two connections, and one that is refused writes a line to the server's log.
const AGAIN: Duration = Duration::from_secs(2);
const AGAIN_MAX: Duration = Duration::from_secs(30);
const AGAIN_PART: u32 = 10;
const NAP: Duration = Duration::from_millis(50);

/// How long the first segment waits at most, when it is over, for what the server has counted meanwhile.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// Records what the sessions of a running server do, until ^C, so that any period can be profiled later
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The PostgreSQL server to record: postgres://USER@HOST:PORT/DATABASE; nothing is made there
    #[arg(long, value_name = "SERVER", value_parser = server_that_runs)]
    on: Address,
    /// The folder of the recording, created if it does not exist: a segment a minute, as Parquet
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Remove segments that are older than this [default: all are kept]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    keep: Option<Nanos>,
    /// Remove the oldest segments when all together exceed this size
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "2GiB")]
    max_size: u64,
    /// Length of a segment, from 1s to 60s: a reboot or a kill loses the open one, and those that are not written yet
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    segment: Nanos,
    /// Write no texts of statements, which have literals in them
    #[arg(long)]
    no_text: bool,
    #[command(flatten)]
    sampling: Sampling,
}

impl Arguments {
    /// In how many seconds the first segment is written at the latest: its length, and the time for which it waits for
    /// what the server has counted meanwhile.
    fn first_within(&self) -> u64 {
        self.segment.0.div_ceil(1_000_000_000) + ANSWER_MAX.as_secs()
    }
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    arguments.sampling.refuse_rate()?;
    if arguments.keep == Some(Nanos(0)) || arguments.max_size == 0 {
        let sentence = "a recorder that keeps nothing records nothing: give --keep a time and --max-size a size.";
        return Err(Failure::wrong(sentence));
    }
    if !SEGMENTS.contains(&arguments.segment) {
        return Err(Failure::wrong("a segment is from 1s to 60s long."));
    }
    let address = completed(&arguments.on, context)?;
    if arguments.sampling.dry_run {
        let purpose = (THINK_TIME, WatchedFor::Recording);
        return arguments.sampling.rehearse(&remark(), (&address, ASSUMED_MAJOR), purpose);
    }
    record(&arguments, &address, context)
}

/// The wall clock, in microseconds since 1970.
fn clock() -> i64 {
    Timestamp::now().as_microsecond()
}

/// Records until a signal comes.
fn record(arguments: &Arguments, address: &Address, context: &Context) -> Result<Exit, Failure> {
    let signals = signals()?;
    if fs::metadata(&arguments.to).is_ok_and(|found| !found.is_dir()) {
        let sentence =
            format!("{} is a file, and a recording is a folder: give --to another name.", arguments.to.display());
        return Err(Failure::wrong(sentence));
    }
    // A server that refuses leaves no folder behind.
    let unopened = |error: ServerError| signals.received().map_or_else(|| error.into(), interrupted);
    let mut watch = open(arguments, address, &signals).map_err(unopened)?;
    let folder = Folder::open(&arguments.to).map_err(Failure::failed)?;
    watch.refuse_folder_of_other(&folder).map_err(Failure::failed)?;
    let age = arguments.keep.map(|keep| i64::try_from(keep.0 / 1_000).unwrap_or(i64::MAX));
    let limits = Limits { age, bytes: Some(arguments.max_size) };
    let segment = i64::try_from(arguments.segment.0 / 1_000).unwrap_or(i64::MAX);
    let sums = SumsSettings { keeps_texts: !arguments.no_text, segment };
    let settings = RecorderSettings { limits, sums, clock };
    let recorder = Recorder::start(folder, settings).map_err(Failure::failed)?;
    let news = recorder.news();
    watch.tell(Box::new(recorder));
    outlast(&mut watch, (arguments, context), &news);
    if !context.globals.quiet {
        let (server, folder, first) = (address.shown(), arguments.to.display(), arguments.first_within());
        output::warn(&format!("recording {server} to {folder} until ^C; the first segment comes within {first} s"));
    }
    // A service is quiet, and its log is where this is looked for.
    if let Some(why) = watch.memory_absent().filter(|_| address.is_local()) {
        output::warn(&format!("sampling by query, because the server's shared memory is not used: {why}"));
    }
    if let Some((asked, taken)) = watch.rate_cut() {
        output::warn(&format!("--rate {asked} is not followed: at most {taken} queries a second are sent"));
    }
    let (mut opened, mut refused_from) = (Instant::now(), None);
    loop {
        watch.run(WATCH, &mut |_| {
            tell(&news);
            std::ops::ControlFlow::Continue(())
        });
        if signals.received().is_some() {
            break;
        }
        if watch.ended().is_some() {
            let (listener, reason) = watch.release();
            let (Some(listener), reason) = (listener, reason.unwrap_or_default()) else { break };
            let since = refused_since(refused_from, opened);
            refused_from = Some(since);
            match open_again((arguments, context, address), listener, (&reason, since), &signals) {
                Some(again) => {
                    (watch, opened) = (again, Instant::now());
                    outlast(&mut watch, (arguments, context), &news);
                }
                None => return finish(arguments, &news),
            }
        }
    }
    // The recorder ends with the watch: its last segment is written before.
    drop(watch);
    finish(arguments, &news)
}

fn open(arguments: &Arguments, address: &Address, signals: &Signals) -> Result<Watch, ServerError> {
    let settings = arguments.sampling.settings(THINK_TIME);
    Watch::open(address, settings, Instruments::default(), signals.stop().share())
}

/// Since when the server has refused to be watched: one that took our session and ended the watch soon after has
/// refused since `before`.
fn refused_since(before: Option<Instant>, opened: Instant) -> Instant {
    before.filter(|_| opened.elapsed() < AGAIN_MAX).unwrap_or_else(Instant::now)
}

/// Opens another watch for a listener when the server lets us, which it has refused since then; `None` where a signal
/// comes before.
fn open_again(
    (arguments, context, address): (&Arguments, &Context, &Address),
    mut listener: Box<dyn Listener>,
    (reason, since): (&str, Instant),
    signals: &Signals,
) -> Option<Watch> {
    let left = Instant::now();
    listener.away();
    let mut said = reason.trim_end_matches('.').to_string();
    output::complain(&format!("the server is not recorded: {said}. It is tried again."));
    loop {
        let (tried, pause) = (Instant::now(), again_after(since.elapsed()));
        while tried.elapsed() < pause {
            if signals.received().is_some() {
                return None;
            }
            thread::sleep(NAP);
        }
        // Its password may have been changed, in the password file too.
        let renewed = arguments.on.completed(&context.settings.servers).ok();
        let renewed = renewed.filter(|renewed| renewed.shown() == address.shown());
        match open(arguments, renewed.as_ref().unwrap_or(address), signals) {
            Ok(mut watch) => {
                let lost = u64::try_from(left.elapsed().as_nanos()).unwrap_or(u64::MAX);
                listener.back();
                listener.lose(Ticks::from_nanos(lost), reason.trim_end_matches('.'));
                watch.tell(listener);
                return Some(watch);
            }
            // A signal ends the next pause.
            Err(error) if error.is_stop() => {}
            Err(error) => why_still(&error, &mut said).iter().for_each(|sentence| output::complain(sentence)),
        }
    }
}

/// Why a server is still not recorded, where that is not what was said last.
fn why_still(error: &ServerError, said: &mut String) -> Option<String> {
    let reason = error.without_options().trim_end_matches('.').to_string();
    (*said != reason).then(|| {
        said.clone_from(&reason);
        format!("the server is still not recorded: {reason}. It is tried again.")
    })
}

/// How long a server is left alone that has not let us watch it for so long.
fn again_after(away: Duration) -> Duration {
    (away / AGAIN_PART).clamp(AGAIN, AGAIN_MAX)
}

/// Says what the recorder has to say.
fn tell(news: &Mutex<News>) {
    let said = std::mem::take(&mut news.lock().unwrap_or_else(PoisonError::into_inner).said);
    said.iter().for_each(|sentence| output::complain(sentence));
}

/// Has the same said while the server is away, for which the watch waits, and its address completed anew.
fn outlast(watch: &mut Watch, (arguments, context): (&Arguments, &Context), news: &Arc<Mutex<News>>) {
    let news = Arc::clone(news);
    watch.meanwhile(Box::new(move || tell(&news)));
    watch.renew_address(arguments.on.clone(), context.settings.servers.clone());
}

/// Says what was recorded.
fn finish(arguments: &Arguments, news: &Arc<Mutex<News>>) -> Result<Exit, Failure> {
    tell(news);
    let news = news.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let found = recording::segments(&arguments.to).ok();
    let in_folder = found.map(|found| (found.len() as u64, found.iter().map(|(_, bytes)| *bytes).sum::<u64>()));
    output::print(&format!("{}: {}\n", arguments.to.display(), came_to(&news, in_folder)))?;
    Ok(exit(&news))
}

/// A recording that lacks segments is no success: a service may be watched by its exit code alone.
fn exit(news: &News) -> Exit {
    if news.lost > 0 { Exit::Failed } else { Exit::Done }
}

/// How many segments were written, how many old ones were removed, and how many were lost; how many the folder has, and
/// their bytes, where others are among them.
fn came_to(news: &News, in_folder: Option<(u64, u64)>) -> String {
    let News { segments, bytes, removed, lost, .. } = *news;
    let sized = |count, bytes| format!("{} of {}", counted(count, "segment", "segments"), size_in_words(bytes));
    let mut parts = vec![match segments {
        0 => "no segment was written".to_string(),
        _ => format!("{} written", sized(segments, bytes)),
    }];
    parts.extend((removed > 0).then(|| format!("{} removed", counted(removed, "old segment", "old segments"))));
    parts.extend((lost > 0).then(|| format!("{} could not be written", counted(lost, "segment", "segments"))));
    let with_others = in_folder.filter(|(count, _)| *count != segments);
    parts.extend(with_others.map(|(count, bytes)| format!("{} in the folder now", sized(count, bytes))));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_came_to_is_english_whatever_the_numbers_are() {
        let said = |[segments, bytes, removed, lost]: [u64; 4], in_folder| {
            came_to(&News { segments, bytes, removed, lost, ..News::default() }, in_folder)
        };
        assert_eq!(said([0, 0, 0, 1], None), "no segment was written, 1 segment could not be written");
        assert_eq!(said([1, 2048, 0, 0], Some((1, 2048))), "1 segment of 2 KiB written");
        let all = said([3, 2048, 1, 2], None);
        assert_eq!(all, "3 segments of 2 KiB written, 1 old segment removed, 2 segments could not be written");
    }

    #[test]
    fn a_recording_that_has_lost_some_of_its_segments_does_not_end_as_a_whole_one_does() {
        let ended = |segments, lost| exit(&News { segments, lost, ..News::default() });
        assert_eq!([ended(0, 0), ended(3, 0)], [Exit::Done; 2]);
        assert_eq!([ended(0, 1), ended(3, 1)], [Exit::Failed; 2]);
    }

    #[test]
    fn a_server_that_goes_on_to_refuse_is_asked_less_and_less_often() {
        let after = [0, 19, 60, 86_400].map(|seconds| again_after(Duration::from_secs(seconds)));
        assert_eq!(after, [2, 2, 6, 30].map(Duration::from_secs));
    }

    #[test]
    fn a_server_that_is_refused_for_another_reason_by_now_is_not_left_with_the_first_one_in_the_log() {
        let mut said = "permission denied".to_string();
        let is_said = ["no route", "no route", "the password is wrong", "no route"].map(|reason| {
            let error = ServerError::Unreachable { server: "h:5432".into(), reason: reason.into() };
            why_still(&error, &mut said).is_some_and(|sentence| sentence.contains(reason))
        });
        assert_eq!(is_said, [true, false, true, true]);
    }

    #[test]
    fn a_server_that_takes_each_session_and_refuses_what_it_asks_is_asked_less_and_less_often_too() {
        let ago = |time: Duration| Instant::now().checked_sub(time).unwrap();
        let (soon, before) = (Duration::from_secs(6), ago(2 * AGAIN_MAX));
        assert_eq!(refused_since(Some(before), ago(soon)), before);
        assert!(refused_since(Some(before), ago(AGAIN_MAX)) > before, "it was recorded for a while");
        assert!(refused_since(None, ago(soon)) > before);
    }

    #[test]
    fn segments_of_an_earlier_recorder_in_the_folder_are_counted_too() {
        let said = |segments, in_folder| came_to(&News { segments, bytes: 2048, ..News::default() }, Some(in_folder));
        assert_eq!(said(1, (5, 10_240)), "1 segment of 2 KiB written, 5 segments of 10 KiB in the folder now");
        assert_eq!(said(0, (1, 2048)), "no segment was written, 1 segment of 2 KiB in the folder now");
    }
}
