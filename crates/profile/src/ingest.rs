//! From what was given to a profile: the source is chosen, its inputs are read, the tables are filled.

use std::path::{Path, PathBuf};

use measure::Finding;
use sys::file::awaited::unless_called_off;

use crate::choice::FileChoice;
use crate::event::{Observer, Ticks};
use crate::input::{self, Expansion, Given, Problem};
use crate::observe::collector::Collector;
use crate::source::recognised::{LAST, Recognised, place_of};
use crate::source::{
    Finished, Input, Progress, Reading, SOURCES, Source, SourceFile, SourceRow, SourceSettings, Unmeasured,
};
use crate::tables::Profile;
use crate::tables::folding::{executed_once, fold, is_worth_it};

pub use crate::source::recognised::is_recognised;

/// How a profile is made.
#[derive(Clone, Copy, Debug)]
pub struct IngestSettings {
    /// A wait for the client this long is think time.
    pub think_time: Ticks,
    /// How the source reads.
    pub source: SourceSettings,
}

/// A profile with what it was made of.
#[derive(Debug, Default)]
pub struct Ingested {
    /// The tables.
    pub profile: Profile,
    /// Where it comes from, as a run document names it; `None` for a trace.
    pub source: Option<&'static str>,
    /// The files that are in it, in the order in which they were read.
    pub files: Vec<SourceFile>,
    /// The names of all files that were begun, in the order in which the profile's problems count them.
    pub begun: Vec<String>,
    /// Why files are not in it.
    pub problems: Vec<Problem>,
    /// What the source has to say about its figures.
    pub findings: Vec<Finding>,
    /// What nothing that was read has measured.
    pub unmeasured: Unmeasured,
    /// Whether the caller broke it off.
    pub is_broken_off: bool,
    /// Statements that went into others by [`Ingested::fold_literals`]; `None` where there was no reason to.
    pub folded: Option<usize>,
    /// Statements that were executed once, and all, where they were folded for that reason.
    pub folded_as_once: Option<(usize, usize)>,
    /// Files that were not chosen by their name or their time.
    pub left_out: u64,
    /// Whether the lines that were not read are listed where the profile is shown.
    pub lists_unread: bool,
}

impl Ingested {
    /// A profile of which nothing else is known.
    pub(crate) fn of(profile: Profile) -> Ingested {
        Ingested { profile, ..Ingested::default() }
    }

    /// Adds up the statements whose texts differ only in their literals.
    pub fn fold_literals(&mut self) {
        self.folded = Some(fold(&mut self.profile));
    }

    /// Adds them up where nearly all statements were executed once and it leaves few of them.
    pub fn fold_literals_of_once(&mut self) {
        if self.profile.sampled.is_some() {
            // How often a statement was executed no sample knows.
            return;
        }
        let once = executed_once(&self.profile).filter(|_| is_worth_it(&self.profile));
        if once.is_some() {
            self.fold_literals();
            self.folded_as_once = once;
        }
    }

    /// Whether each of the arguments that names a single file, or a folder as a whole, was read. Problems within a
    /// folder, and a file that was named twice, are a matter of the findings alone.
    pub fn has_all_named(&self, arguments: &[PathBuf]) -> bool {
        let read: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        !self.problems.iter().any(|problem| leaves_out_named(problem, arguments, &read))
    }
}

/// Whether a problem is that of what one of the arguments names, where these files were read.
fn leaves_out_named(problem: &Problem, arguments: &[PathBuf], read: &[&str]) -> bool {
    // Problems name what they are about as it is shown: standard input in words, other bytes than UTF-8 replaced.
    let is_named = |name: &str| arguments.iter().any(|argument| Given::of_argument(argument).name() == name);
    let is_below = |folder: &Path, name: &str| Path::new(name).starts_with(folder);
    match problem {
        Problem::Unreadable { name, .. }
        | Problem::NotATrace { name, .. }
        | Problem::Unlisted { name, .. }
        | Problem::NoTraces { name } => is_named(name),
        Problem::OtherSource { name, .. }
        | Problem::NothingToProfile { name, .. }
        | Problem::OtherServer { name, .. }
        | Problem::SameTime { name, .. } => {
            // A shell that had replaced the pattern would have named the file.
            let is_matched = |argument: &PathBuf| input::is_matched(argument, name);
            let is_all_of_folder = |argument: &PathBuf| {
                argument.is_dir() && is_below(argument, name) && !read.iter().any(|read| is_below(argument, read))
            };
            is_named(name) || arguments.iter().any(|argument| is_matched(argument) || is_all_of_folder(argument))
        }
        Problem::NoMatch { .. } | Problem::NoneChosen { .. } | Problem::NotRecorded { .. } => true,
        // Of what was named twice, and of a copy, nothing is missing.
        Problem::Repeated { .. } | Problem::Copied { .. } => false,
        Problem::NoLogs { .. } | Problem::ArchivesPassedOver { .. } => false,
    }
}

/// Reads what was chosen into one profile. `more` hears every call and every wait too.
///
/// A file that cannot be read, or is none of the source's, becomes a problem; the others are read.
pub fn ingest<'p>(
    Chosen { row, inputs, problems, left_out, keeps_literals, .. }: Chosen,
    settings: &IngestSettings,
    more: &mut (dyn Observer + Send),
    progress: &'p mut Progress<'p>,
) -> Ingested {
    let mut collector = Collector::new(settings.think_time);
    let reading = Reading::new((&mut collector, more), progress);
    let mut source = (row.open)(settings.source);
    if keeps_literals {
        source.keep_literals();
    }
    let (finished, mut read) = read_all(source, inputs, reading);
    read.problems.splice(0..0, problems);
    let mut profile = collector.finish(finished.accounted);
    let mut findings = finished.findings;
    if let Some(mut ending) = finished.sampled {
        ending.complete(&mut profile);
        findings.extend(profile.sampled.iter().flat_map(|sampled| sampled.findings.iter().cloned()));
    }
    Ingested { profile, source: row.name, findings, unmeasured: finished.unmeasured, left_out, ..read }
}

/// Reads all inputs, one after the other. Gives what the source made of them, and which files they are.
fn read_all(mut source: Box<dyn Source>, inputs: Vec<Input>, mut reading: Reading<'_, '_>) -> (Finished, Ingested) {
    let mut all = Ingested::default();
    // A follower looks once more after the signal, and what it then reads is whole.
    let was_called_off = unless_called_off().is_err();
    for input in source.in_order(inputs) {
        match source.read(input, &mut reading) {
            Ok(read) => all.files.extend(read),
            Err(problem) => all.problems.push(problem),
        }
        // A signal can end an input with an error, behind which there is nothing at which the caller could break off.
        all.is_broken_off = reading.meter.is_broken_off() || (!was_called_off && unless_called_off().is_err());
        if all.is_broken_off {
            break;
        }
    }
    let (mut listeners, begun) = reading.into_parts();
    (source.finish(&mut listeners), Ingested { begun, ..all })
}

/// The source of a profile with its inputs.
pub struct Chosen {
    /// The source.
    pub row: &'static SourceRow,
    inputs: Vec<Input>,
    problems: Vec<Problem>,
    left_out: u64,
    keeps_literals: bool,
    /// Whether any input is of a source: what is empty, or not there, may be any's.
    has_source: bool,
}

impl Chosen {
    /// Options that the source has no use for, each by its name with the reason; none where no input is of a source.
    pub fn unused(&self) -> &'static [(&'static str, &'static str)] {
        if self.has_source { self.row.unused } else { &[] }
    }

    /// Whether it is read from one time to another, as a recording that has no segment yet will be.
    pub fn is_read_by_period(&self) -> bool {
        self.row.is_read_by_period || !self.has_source
    }

    /// These inputs, of which statements are kept apart whose texts differ in their literals alone.
    pub fn keeping_literals(self) -> Chosen {
        Chosen { keeps_literals: true, ..self }
    }

    /// Looks at the beginning of what the arguments name: files, folders, patterns, or `-` for standard input.
    pub fn of(arguments: &[PathBuf]) -> Chosen {
        Chosen::some_of(arguments, &FileChoice::default())
    }

    /// The same, of these files alone.
    pub fn some_of(arguments: &[PathBuf], choice: &FileChoice) -> Chosen {
        let mut expansion = input::expand(arguments);
        let left_out = choice.apply(&mut expansion);
        if left_out > 0 && expansion.given.is_empty() && expansion.candidates.is_empty() {
            expansion.problems.push(Problem::NoneChosen { count: left_out });
        }
        Chosen { left_out, ..choose(expansion) }
    }
}

/// Chooses the source: the first of the table that recognises anything that was given, and has something to show of it.
/// Sources count different things, so a profile has one: an input of another one is a problem.
///
/// Files of folders that are only named like logs are read if they are some, but not together with traces or with a
/// recording: their folder may well hold a log, and they are what was meant, unless no trace holds a call.
fn choose(Expansion { given, candidates, mut problems }: Expansion) -> Chosen {
    let mut given: Vec<Recognised> = given.into_iter().map(Recognised::of).collect();
    let (count, first) = (candidates.len(), candidates.first().map(Given::name));
    let candidates = candidates.into_iter().map(Recognised::of);
    let mut logs: Vec<Recognised> = candidates.filter(|one| one.place.is_some_and(|place| place < LAST)).collect();
    if let (true, true, Some(first)) = (given.is_empty(), logs.is_empty(), first) {
        problems.push(Problem::NoLogs { count, first });
    }
    // What cannot be opened, or is empty, says nothing of the source.
    let is_log = |one: &Recognised| one.place.is_some() && logs.iter().any(|log| log.place == one.place);
    if given.iter().all(|one| one.place.is_none()) || given.iter().any(is_log) || are_shown_alone(&logs, &given) {
        given.append(&mut logs);
    }
    let place = place_of(&given);
    let (row, has_source) = (&SOURCES[place], given.iter().any(|one| one.place.is_some()));
    let other = |one: &Recognised| {
        let (name, own) = (one.input.given.name(), one.place.filter(|own| *own < LAST));
        match own.filter(|_| one.is_known_to_be_without()) {
            Some(own) => Problem::NothingToProfile { name, noun: SOURCES[own].kind.noun, lacks: SOURCES[own].lacks },
            None => Problem::OtherSource { name, plural: row.kind.plural },
        }
    };
    let (inputs, others): (Vec<Recognised>, Vec<Recognised>) = given.into_iter().partition(|one| one.is_read_by(place));
    problems.extend(logs.iter().chain(&others).map(other));
    let inputs = inputs.into_iter().map(|one| one.input).collect();
    Chosen { row, inputs, problems, left_out: 0, keeps_literals: false, has_source }
}

/// Whether there is something to show of logs, and nothing of the traces and segments in whose folders they are.
fn are_shown_alone(logs: &[Recognised], others: &[Recognised]) -> bool {
    let is_shown = |one: &Recognised| one.place.is_some_and(|place| one.is_shown_by(place));
    !logs.is_empty() && !others.iter().any(is_shown) && logs.iter().any(is_shown)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::{self, Write};
    use std::ops::ControlFlow;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;

    use measure::schema::sources::words_of;

    use super::*;
    use crate::document::Order;
    use crate::event::{Accounted, Cost, Placement, Root, Segment, SessionIndex, Wait};
    use crate::findings::findings;
    use crate::input::foreign::KINDS;
    use crate::observe::Listeners;
    use crate::observe::collector::THINK_TIME;
    use crate::observe::hot_spots::HotSpots;
    use crate::observe::instruments::Instruments;
    use crate::observe::tests::{context, fetch, wait};
    use crate::source::period::Period;
    use crate::source::{BindValues, ReadOptions};

    /// A sampler: waits are estimates, and it knows no CPU time and no ends.
    struct Sampler;

    impl Source for Sampler {
        fn read(&mut self, input: Input, reading: &mut Reading<'_, '_>) -> Result<Vec<SourceFile>, Problem> {
            let name = input.given.name();
            reading.begin_file(&name);
            let context = context(&[("IO:DataFileRead", &[]), ("Client:ClientRead", &[])]);
            let listeners = &mut reading.listeners;
            for _ in 0..16 {
                let elapsed_error = Ticks::from_micros(25_000);
                listeners.wait(&context, &Wait { elapsed_error, ..wait(0, 100_000, [0; 3]) });
            }
            let silent = Wait { placement: Placement::Between, ..wait(1, 2_000_000, [0; 3]) };
            listeners.wait(&context, &silent);
            let cost = Cost { cpu: None, elapsed: Ticks::from_micros(1_700_000), ..Cost::default() };
            let mut call = fetch(0, 0, 0, 0);
            (call.own, call.inclusive) = (cost, cost);
            listeners.call(&context, &call);
            listeners.root(&context, &Root { session: SessionIndex(0), inclusive: cost, depth: 0, calls: 1 });
            let (first, last) = (Ticks::ZERO, Ticks::from_micros(4_000_000));
            listeners.segment(
                &context,
                &Segment { session: SessionIndex(0), first, last, unrecorded: Vec::new(), untimed: Ticks::ZERO },
            );
            Ok(vec![SourceFile { name, timed_records: 18, ..SourceFile::default() }])
        }

        fn finish(self: Box<Self>, _: &mut Listeners<'_>) -> Finished {
            let context = context(&[("IO:DataFileRead", &[]), ("Client:ClientRead", &[])]);
            Finished { accounted: Accounted { context, ..Accounted::default() }, ..Finished::default() }
        }
    }

    #[test]
    fn a_source_that_estimates_and_knows_no_cpu_closes_and_says_how_sure_it_is() {
        let (mut collector, mut more) = (Collector::new(THINK_TIME), Instruments::default());
        let progress = &mut |_: &str, _: u64| ControlFlow::Continue(());
        let input = Input { given: Given::File("postgres://server".into()), bytes: None, head_hash: None };
        let reading = Reading::new((&mut collector, &mut more), progress);
        let (finished, read) = read_all(Box::new(Sampler), vec![input], reading);
        assert_eq!((read.files.len(), read.begun.len(), read.is_broken_off), (1, 1, false));
        let profile = collector.finish(finished.accounted);
        let whole = &profile.whole;
        assert_eq!(whole.interval, whole.waits + whole.unaccounted_within + whole.unaccounted_between);
        let think_time: Ticks = whole.think_time.values().map(|one| one.total).sum();
        assert_eq!(think_time, Ticks::from_micros(2_000_000));
        assert_eq!(profile.estimated.values().copied().collect::<Vec<_>>(), [Ticks::from_micros(100_000)]);
        let found = findings(&profile, &HotSpots::default(), Order::ResponseTime, &[]);
        let estimate = found.iter().find(|finding| finding.id == "estimated-times").unwrap();
        let end = "IO:DataFileRead, 1.60 s with a standard error of 100 ms.";
        assert!(estimate.message.ends_with(end), "{}", estimate.message);
    }

    #[test]
    fn what_an_argument_names_and_is_not_read_is_missed_however_it_is_named() {
        let foreign: PathBuf = OsStr::from_bytes(b"a\xff.trc").into();
        let arguments: [PathBuf; 4] = ["-".into(), foreign.clone(), "folder".into(), "logs/*.log".into()];
        let is_missed = |problem: Problem| leaves_out_named(&problem, &arguments, &[]);
        let error = || io::Error::from(io::ErrorKind::PermissionDenied);
        let unlisted = |name: &str| Problem::Unlisted { name: name.into(), error: error() };
        let other = |name: &str| Problem::OtherSource { name: name.into(), plural: "server logs" };
        for given in [Given::StandardInput, Given::File(foreign)] {
            assert!(is_missed(Problem::unreadable(&given, error())), "{given:?}");
        }
        assert!(is_missed(unlisted("folder")) && is_missed(other("logs/a.log")));
        assert!(!is_missed(unlisted("folder/below")) && !is_missed(other("logs/below/a.log")), "within a folder");
        assert!(!is_missed(Problem::unreadable(&Given::File("folder/a.trc".into()), error())), "within a folder");
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(name).display().to_string();
        let is_missed = |read: &[&str]| leaves_out_named(&other(&name("a.trc")), &[folder.path().into()], read);
        assert!(is_missed(&[]) && is_missed(&["elsewhere/a.log"]), "a folder of which nothing was read");
        assert!(!is_missed(&[&name("b.log")]));
    }

    #[test]
    fn no_source_lacks_what_names_it_in_sentences_and_on_pages() {
        assert_eq!(SOURCES.len(), KINDS.len(), "a kind for each source");
        for (place, row) in SOURCES.iter().enumerate() {
            let noun = row.kind.noun;
            assert!(KINDS.contains(&row.kind), "{noun}: its files in an archive would be those of no source");
            let is_alike = |other: &SourceRow| other.kind == row.kind || other.name == row.name;
            assert!(!SOURCES[..place].iter().any(is_alike), "{noun}");
            assert_eq!(words_of(row.name).name, row.name, "{noun}: a page has only words for any source");
        }
    }

    #[test]
    fn a_file_that_is_not_there_does_not_turn_a_folder_of_logs_away() {
        let folder = tempfile::tempdir().unwrap();
        let entry = "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms\n";
        std::fs::write(folder.path().join("pg.log"), entry.repeat(9)).unwrap();
        let alone = choose(input::expand(&[folder.path().into()]));
        let both = choose(input::expand(&[folder.path().join("missing.log"), folder.path().into()]));
        assert_eq!((alone.inputs.len(), both.inputs.len()), (1, 2));
        assert_eq!(both.row.kind.noun, alone.row.kind.noun);
        assert!(both.problems.is_empty(), "{:?}", both.problems);
        // A trace that is there is what was meant.
        std::fs::write(folder.path().join("a.trc"), "EXEC #1:c=1,e=2,dep=0,tim=3\n").unwrap();
        let traces = choose(input::expand(&[folder.path().join("missing.trc"), folder.path().into()]));
        assert_eq!((traces.row.kind.noun, traces.inputs.len(), traces.problems.len()), ("a trace", 2, 1));
    }

    #[test]
    fn an_empty_log_is_one_of_the_logs_that_it_was_given_with() {
        let folder = tempfile::tempdir().unwrap();
        let entry = "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms\n";
        let paths = ["a.log", "just-rotated.log"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], entry.repeat(9)).unwrap();
        std::fs::write(&paths[1], "").unwrap();
        let both = choose(input::expand(&paths));
        assert_eq!((both.row.kind.noun, both.inputs.len()), ("a server log", 2));
        assert!(both.problems.is_empty(), "{:?}", both.problems);
        let alone = choose(input::expand(&paths[1..]));
        assert_eq!((alone.row.kind.noun, alone.inputs.len()), ("a trace", 1), "which says that it is empty");
    }

    #[test]
    fn a_recording_that_has_no_segment_yet_is_not_taken_for_a_trace_and_refused_for_its_times() {
        let folder = tempfile::tempdir().unwrap();
        let chosen = choose(input::expand(&[folder.path().into()]));
        assert!(chosen.is_read_by_period() && chosen.unused().is_empty());
        let said: Vec<String> = chosen.problems.iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains("no segment of a recording (a recorder writes its "), "{said:?}");
        std::fs::write(folder.path().join("a.trc"), call("3")).unwrap();
        let traces = choose(input::expand(&[folder.path().into()]));
        assert!(!traces.is_read_by_period() && traces.unused().iter().any(|(option, _)| *option == "from"));
    }

    /// A line of a trace without its line feed.
    fn call(time: &str) -> String {
        format!("EXEC #1:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim={time}")
    }

    /// A trace whose last line is cut, in gzip data that is cut.
    fn damaged_trace() -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(format!("{}\n{}", call("1000"), call("20")).as_bytes()).unwrap();
        let packed = encoder.finish().unwrap();
        packed[..packed.len() - 3].to_vec()
    }

    /// Entries of a log without a plan, one with a plan, and entries in which nothing took time.
    const WITHOUT_PLANS: &str = "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms\n";
    const PLAN: &str = "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:\n\t{\n\t  \
                        \"Query Text\": \"select 1\",\n\t  \"Plan\": {\"Node Type\": \"Result\", \
                        \"Actual Total Time\": 4.000, \"Actual Rows\": 1, \"Actual Loops\": 1}\n\t}\n";
    const UNTIMED: &str = "2026-11-21 10:45:02.000 UTC [7] LOG:  starting PostgreSQL 18.0\n";

    /// The source of their profiles.
    const LOG_SOURCE: Option<&str> = Some("PostgreSQL server log");

    /// Writes files into a folder; their paths.
    fn written<const COUNT: usize>(folder: &Path, files: [(&str, &str); COUNT]) -> [PathBuf; COUNT] {
        files.map(|(name, text)| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
    }

    /// What these arguments come to.
    fn of_arguments(arguments: &[PathBuf]) -> Ingested {
        let reading = ReadOptions { workers: 1, chunk_bytes: 4096 };
        let source = SourceSettings { unit: None, reading, binds: BindValues::Dropped, period: Period::default() };
        let settings = IngestSettings { think_time: THINK_TIME, source };
        let progress = &mut |_: &str, _: u64| ControlFlow::Continue(());
        ingest(Chosen::of(arguments), &settings, &mut Instruments::default(), progress)
    }

    /// A tar archive of these files.
    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, bytes) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, name, *bytes).unwrap();
        }
        archive.into_inner().unwrap()
    }

    /// What such an archive comes to.
    fn of_archive(files: &[(&str, &[u8])]) -> Ingested {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.tar");
        std::fs::write(&path, archive(files)).unwrap();
        of_arguments(&[path])
    }

    /// The same, where it comes through a pipe.
    fn of_piped_archive(files: &[(&str, &[u8])]) -> Ingested {
        let (reader, mut writer) = io::pipe().unwrap();
        // It is less than a pipe holds.
        writer.write_all(&archive(files)).unwrap();
        drop(writer);
        of_arguments(&[format!("/proc/self/fd/{}", reader.as_raw_fd()).into()])
    }

    /// The source of a profile, and how many calls and waits each of its files has.
    fn shown(ingested: &Ingested) -> (Option<&'static str>, Vec<u64>) {
        (ingested.source, ingested.files.iter().map(|file| file.timed_records).collect())
    }

    #[test]
    fn a_log_without_a_plan_hides_no_trace_that_is_given_with_it() {
        let (folder, trace) = (tempfile::tempdir().unwrap(), call("1000") + "\n");
        let files = [("plain.log", WITHOUT_PLANS), ("planned.log", PLAN), ("a.trc", &*trace), ("note", "a note\n")];
        let [plain, planned, trace, note] = written(folder.path(), files);
        let without_folder = |problem: &Problem| problem.to_string().replace(folder.path().to_str().unwrap(), "");
        let said = |ingested: &Ingested| ingested.problems.iter().map(without_folder).collect::<Vec<String>>();
        let arguments = [plain.clone(), trace.clone()];
        let one = of_arguments(&arguments);
        assert_eq!(shown(&one), (None, vec![1]));
        let passed_over = "/plain.log is a server log in which nothing can be profiled, and is passed over: it holds \
                           no plan in JSON, as auto_explain writes them";
        assert_eq!(said(&one), [passed_over]);
        assert!(!one.has_all_named(&arguments), "a script sees that something is missing");
        // Where both have something to show, it is that of the log.
        let both = of_arguments(&[trace.clone(), planned.clone(), plain.clone()]);
        assert_eq!(shown(&both), (LOG_SOURCE, vec![1, 0]));
        let left_out = "/a.trc is left out because the inputs are read as server logs: profile it separately";
        assert_eq!(said(&both), [left_out]);
        // Where none has, what the log lacks is said.
        let none = of_arguments(&[note, plain]);
        assert_eq!(shown(&none), (LOG_SOURCE, vec![0]));
        assert!(none.findings.iter().any(|finding| finding.id == "no-plans"), "{:?}", none.findings);
    }

    #[test]
    fn a_folder_that_was_named_and_holds_nothing_to_read_is_missed_by_a_script() {
        let (folder, trace) = (tempfile::tempdir().unwrap(), call("1000") + "\n");
        let [trace] = written(folder.path(), [("a.trc", &*trace)]);
        let empty = folder.path().join("tuesday");
        std::fs::create_dir(&empty).unwrap();
        for (arguments, is_all_there) in [(vec![trace, empty], false), (vec![folder.path().to_path_buf()], true)] {
            let ingested = of_arguments(&arguments);
            assert_eq!(shown(&ingested), (None, vec![1]));
            assert_eq!(ingested.has_all_named(&arguments), is_all_there, "{arguments:?}");
        }
    }

    #[test]
    fn a_folder_whose_traces_hold_no_call_shows_its_logs() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), [("a.trc", "QUERY BLOCK SIGNATURE\n"), ("pg.log", PLAN)]);
        assert_eq!(shown(&of_arguments(&[folder.path().into()])), (LOG_SOURCE, vec![1]));
        written(folder.path(), [("pg.log", WITHOUT_PLANS)]);
        assert_eq!(choose(input::expand(&[folder.path().into()])).row.kind.noun, "a trace");
        written(folder.path(), [("a.trc", &*(call("1000") + "\n")), ("pg.log", PLAN)]);
        assert_eq!(shown(&of_arguments(&[folder.path().into()])), (None, vec![1]));
    }

    #[test]
    fn an_archive_is_read_as_the_kind_that_has_something_to_show_and_the_other_one_is_named() {
        let trace = call("1000") + "\n";
        let traces = (None, "here as traces, and its server logs are not in the profile");
        let logs = (LOG_SOURCE, "here as server logs, and its traces are not in the profile");
        for (log, (source, part)) in [(WITHOUT_PLANS, traces), (UNTIMED, traces), (PLAN, logs)] {
            let files = [("a.log", log.as_bytes()), ("b.trc", trace.as_bytes())];
            for files in [files, [files[1], files[0]]] {
                // A pipe cannot be looked through twice, and what was seen of it is not lost.
                for ingested in [of_archive(&files), of_piped_archive(&files)] {
                    assert_eq!(shown(&ingested), (source, vec![1]), "{log}");
                    let found = crate::findings::mixed_archives(&ingested);
                    let [mixed] = &found[..] else { panic!("{log}: {found:?}") };
                    assert!(mixed.message.contains(part), "{}", mixed.message);
                }
            }
        }
        // Where neither has, what the log lacks is said.
        let none: [(&str, &[u8]); 2] = [("a.log", WITHOUT_PLANS.as_bytes()), ("note", b"a note\n")];
        assert_eq!(shown(&of_archive(&none)), (LOG_SOURCE, vec![0]));
        assert_eq!(shown(&of_piped_archive(&none)), (LOG_SOURCE, vec![0]));
    }

    #[test]
    fn lines_that_are_not_read_are_listed_by_the_file_of_the_archive_in_which_they_stand() {
        let trace = |line: &str| format!("{}\n{line}\n{}\n", call("1000"), call("2000"));
        let (first, second) = (trace("nothing"), trace("nothing"));
        let files = [("a.trc", first.as_bytes()), ("b.log", UNTIMED.as_bytes()), ("c.trc", second.as_bytes())];
        let ingested = of_archive(&files);
        assert_eq!(shown(&ingested), (None, vec![4]));
        let named = |name: &str| name.rsplit_once("/all.tar").unwrap().1.to_string();
        let within = ingested.files.iter().flat_map(|file| &file.unread_within);
        let found: Vec<_> = within.map(|(name, one)| (named(name), one.kind, one.lines, one.first_offset)).collect();
        let at = call("1000").len() as u64 + 1;
        let listed =
            [("/a.trc", "other line", at), ("/b.log", "lines of server logs", 0), ("/c.trc", "other line", at)];
        assert_eq!(found, listed.map(|(name, kind, at)| (name.to_string(), kind, 1, at)));
        // The document has no other rows, and no line twice.
        let cases = crate::document::files::unread(&ingested);
        let lines: f64 = cases.iter().filter_map(|case| case.metric("lines")).map(measure::Metric::median).sum();
        assert_eq!((cases.len(), lines), (3, 3.0));
        let whole: Vec<_> = ingested.files[0].unread.iter().map(|one| (one.kind, one.lines)).collect();
        assert_eq!(whole, [("other line", 2), ("lines of server logs", 1)]);
    }

    #[test]
    fn a_session_of_one_name_in_several_files_is_as_many_sessions_in_an_archive_as_in_a_folder() {
        let names = |ingested: &Ingested| -> Vec<String> {
            ingested.profile.context.sessions.iter().map(|session| session.id.clone()).collect()
        };
        let of_both = |texts: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let files: Vec<(&str, &str)> = ["a.trc", "b.trc", "c.trc"].into_iter().zip(texts.iter().copied()).collect();
            files.iter().for_each(|file| drop(written(folder.path(), [*file])));
            let apart = of_arguments(&[folder.path().into()]);
            let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
            for together in [of_archive(&files), of_piped_archive(&files)] {
                assert_eq!(names(&together), names(&apart), "{texts:?}");
                assert_eq!(shown(&together), (None, vec![texts.len() as u64]));
            }
            names(&apart)
        };
        let session = "*** SESSION ID:(9.1) 2026-11-21 10:00:00.000\n";
        let trace = |time: &str| format!("{session}{}\n", call(time));
        assert_eq!(of_both(&[&*trace("1000"), &*trace("9000")]), ["9.1", "9.1 (2)"]);
        // The further parts of a trace go on with what was open in the first one, and need no preamble for that.
        let preamble = "Trace file /u01/a.trc\nInstance name: shop\nUnix process pid: 7, image: oracle@db1\n";
        let first = format!("{preamble}{}", trace("1000"));
        let [second, third] = ["2000", "3000"].map(|time| call(time) + "\n");
        assert_eq!(of_both(&[&*first, &*second]), ["9.1"]);
        assert_eq!(of_both(&[&*first, &*second, &*third]), ["9.1"]);
    }

    #[test]
    fn a_further_session_that_no_line_names_is_not_called_by_its_number_alone() {
        let folder = tempfile::tempdir().unwrap();
        let texts = ["1000", "9000"].map(|time| call(time) + "\n");
        written(folder.path(), [("a.trc", &*texts[0]), ("b.trc", &*texts[1])]);
        let profile = of_arguments(&[folder.path().into()]).profile;
        let names = crate::document::session_names(&profile);
        let names: std::collections::BTreeSet<String> = names.into_values().collect();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["unnamed", "unnamed (2)"]);
    }

    #[test]
    fn a_damaged_trace_in_an_archive_costs_no_call_of_another_one_and_is_named() {
        let (packed, sound) = (damaged_trace(), call("3000") + "\n");
        let ingested = of_archive(&[("a.trc.gz", &packed[..]), ("b.trc", sound.as_bytes())]);
        let [file] = &ingested.files[..] else { panic!("{:?}", ingested.files) };
        assert_eq!((file.timed_records, file.unread.iter().map(|unread| unread.lines).sum::<u64>()), (2, 1));
        let said = "in its file a.trc.gz, the gzip data is truncated; the other files were read";
        assert_eq!(file.cut_short.as_deref(), Some(said));
    }

    #[test]
    fn an_unfinished_last_line_in_an_archive_is_not_trusted_and_swallows_no_call_of_the_next_file() {
        // As in traces that are given one by one.
        let (first, packed, last) =
            (call("500") + "\n" + &call("6"), damaged_trace(), call("2000") + "\n" + &call("3"));
        let ingested =
            of_archive(&[("a.trc", first.as_bytes()), ("b.trc.gz", &packed[..]), ("c.trc", last.as_bytes())]);
        let [file] = &ingested.files[..] else { panic!("{:?}", ingested.files) };
        assert_eq!((file.timed_records, file.unread.iter().map(|unread| unread.lines).sum::<u64>()), (3, 3));
    }

    #[test]
    fn a_log_behind_a_note_in_an_archive_is_read() {
        let ingested = of_archive(&[("README", &b"read me first\n"[..]), ("a.log", PLAN.as_bytes())]);
        let [file] = &ingested.files[..] else { panic!("{:?}", ingested.files) };
        assert_eq!((file.timed_records, file.bytes), (1, 14 + PLAN.len() as u64));
    }

    #[test]
    fn a_file_that_an_archive_has_twice_is_not_counted_twice_in_silence() {
        let log = "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms\n".repeat(9);
        for (name, contents, noun) in [("a.trc", call("1000") + "\n", "a trace"), ("a.log", log, "a server log")] {
            let other = contents.replace("ms", "us").replace("1000", "2000");
            let copy = format!("copy/{name}");
            let (bytes, other) = (contents.as_bytes(), other.as_bytes());
            let said = |files: &[(&str, &[u8])]| -> Vec<String> {
                let ingested = of_archive(files);
                let found = crate::findings::of_files(&ingested);
                let of_copies = found.into_iter().filter(|finding| finding.id == "same-content");
                of_copies.map(|finding| finding.message).collect()
            };
            let copied = said(&[(name, bytes), ("other", other), (&*copy, bytes)]);
            let [copied] = &copied[..] else { panic!("{noun}: {copied:?}") };
            assert!(copied.contains(&format!("all.tar, {name} and {copy} begin")), "{noun}: {copied}");
            assert_eq!(said(&[(name, bytes), ("other", other)]), [""; 0], "{noun}");
        }
    }

    #[test]
    fn an_address_belongs_to_no_source_and_is_a_problem_with_its_name() {
        let Chosen { inputs, .. } = choose(input::expand(&["nothing://a?b=[c]".into()]));
        assert_eq!(inputs.len(), 1);
        let problem = inputs.into_iter().next().unwrap().open().unwrap_err();
        assert!(problem.to_string().contains("nothing://a?b=[c]"), "{problem}");
    }
}
