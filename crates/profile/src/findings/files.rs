//! Findings about the files that a profile was made of.

use std::collections::{HashMap, HashSet};
use std::iter;

use measure::Finding;
use measure::quantity::{counted, grouped};
use measure::schema::profile::findings as row;
use measure::sentence::capital;
use measure::sorting;

use crate::event::{Evidence, TimeScale, Unit, Unread};
use crate::ingest::Ingested;
use crate::input::{Duplicates, Kind, Problem, last_of, stem_of};
use crate::source::unread::LISTED_MAX;
use crate::source::{SOURCES, SourceFile};

/// Files that are named one by one where they could not be read.
const NAMED_MAX: usize = 5;

/// Kinds of lines that are named where they were not read.
const KINDS_NAMED: usize = 3;

/// The findings about the files, and the source's own.
pub(crate) fn findings(ingested: &Ingested) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let lost = ingested.problems.iter().take(NAMED_MAX);
    findings.extend(lost.map(|problem| row::FILE_LEFT_OUT.of(sentence(problem))));
    if ingested.problems.len() > NAMED_MAX {
        let more = (ingested.problems.len() - NAMED_MAX) as u64;
        let message = counted(more, "further file was", "further files were") + " left out.";
        findings.push(row::FILES_LEFT_OUT.of(message));
    }
    if ingested.left_out > 0 {
        let count = counted(ingested.left_out, "file has", "files have");
        let message = format!("{count} another name or time than was asked for.");
        findings.push(row::FILES_NOT_CHOSEN.of(message));
    }
    for file in ingested.files.iter().filter(|file| file.cut_short.is_some()) {
        let reason = file.cut_short.as_deref().unwrap_or_default();
        let read = counted(file.bytes, "byte", "bytes");
        let message = format!("Only part of {} was read ({read}): {reason}.", file.name);
        findings.push(row::FILE_CUT_SHORT.of(message));
    }
    findings.extend(missing(&ingested.files));
    findings.extend(same_content(&ingested.files));
    findings.extend(mixed_archives(ingested));
    findings.extend(unit(&ingested.files));
    findings.extend(ingested.findings.iter().cloned());
    findings.extend(unread_lines(&ingested.files, ingested.lists_unread));
    findings
}

/// Files that the given ones come from, or go on in, and that were not given.
fn missing(files: &[SourceFile]) -> Vec<Finding> {
    let given: HashSet<&str> = files.iter().map(|file| stem_of(&file.name)).collect();
    let mut findings = Vec::new();
    for file in files {
        for (path, what) in [(&file.header.continued_from, "continues"), (&file.header.continues_in, "goes on in")] {
            let Some(path) = path.as_deref().filter(|path| !given.contains(stem_of(path))) else { continue };
            if findings.len() < NAMED_MAX {
                let (file, name) = (&file.name, last_of(path));
                let message = format!("{file} {what} {name}, which was not given: its part of the time is not here.");
                findings.push(row::OTHER_PART_MISSING.of(message));
            }
        }
    }
    findings
}

/// Files with the same content, whose calls are counted once for each.
fn same_content(files: &[SourceFile]) -> Vec<Finding> {
    let mut first: HashMap<(u64, u64), &str> = HashMap::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.bytes > 0) {
        let Some(hash) = file.head_hash else { continue };
        let known = *first.entry((hash, file.bytes)).or_insert(&file.name);
        if known != file.name && findings.len() < NAMED_MAX {
            let message = format!(
                "{known} and {} begin with the same bytes and have the same size: they seem to be the same, and each \
                 call and wait is counted twice. Give one of them.",
                file.name
            );
            findings.push(row::SAME_CONTENT.of(message));
        }
    }
    let room = NAMED_MAX.saturating_sub(findings.len());
    findings.extend(files.iter().filter_map(same_within).take(room));
    findings
}

/// Files of one archive with the same content.
fn same_within(archive: &SourceFile) -> Option<Finding> {
    let Duplicates { first, further } = &archive.contents.duplicates;
    let [one, other] = first.as_ref()?;
    let further = match further {
        0 => String::new(),
        more => format!(" ({} like one before)", counted(*more, "further file is", "further files are")),
    };
    let message = format!(
        "In {}, {one} and {other} begin with the same bytes and have the same size{further}: they seem to be the same, \
         and each call and wait in them is counted twice. Take one of them out of the archive.",
        archive.name
    );
    Some(row::SAME_CONTENT.of(message))
}

/// Archives with files of several sources, such as traces and server logs, of which one kind alone was read.
pub fn mixed_archives(ingested: &Ingested) -> Vec<Finding> {
    let Some(source) = SOURCES.iter().find(|row| row.name == ingested.source) else { return Vec::new() };
    ingested.files.iter().filter_map(|archive| mixed(archive, source.kind)).take(NAMED_MAX).collect()
}

fn mixed(archive: &SourceFile, read: &Kind) -> Option<Finding> {
    let firsts = archive.contents.kinds.mixed()?;
    let verbs = iter::once(" seems to be").chain(iter::repeat(""));
    let found = firsts.iter().zip(verbs).map(|((kind, name), verb)| format!("{name}{verb} {}", kind.noun));
    let others = firsts.iter().filter(|(kind, _)| *kind != read).map(|(kind, _)| kind.plural.to_owned());
    let message = format!(
        "In {}, {}: an archive is read as one kind, here as {}, and its {} are not in the profile. Unpack it, and \
         profile each kind separately.",
        archive.name,
        joined(found.collect()),
        read.plural,
        joined(others.collect())
    );
    Some(row::MIXED_ARCHIVE.of(message))
}

/// `a, b and c`.
fn joined(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) }
}

/// The unit of time, where it is not the plain one: one sentence for all files that have it.
fn unit(files: &[SourceFile]) -> Vec<Finding> {
    let mut groups: Vec<(String, Vec<&SourceFile>)> = Vec::new();
    for file in files.iter().filter(|file| is_special(&file.scale)) {
        let TimeScale { calls, waits, .. } = file.scale;
        let of = if calls == waits {
            words(calls)
        } else {
            format!("{} in calls and {} in waits", words(calls), words(waits))
        };
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, files)) => files.push(file),
            None => groups.push((of, vec![file])),
        }
    }
    groups.iter().map(|(of, files)| unit_of(of, files)).collect()
}

fn unit_of(of: &str, files: &[&SourceFile]) -> Finding {
    let first = files[0];
    let what = match files {
        [_] => first.name.clone(),
        _ => format!("{} files (the first is {})", grouped(files.len() as u64), first.name),
    };
    let of_cpu = match first.scale.calls {
        Unit::Centisecond => "CPU time is in these units too.",
        Unit::Microsecond | Unit::Shifted => {
            "CPU time has a clock of its own. TKPROF and TVD$XTAT do not convert; --time-scale 1 takes the times as \
             they stand."
        }
    };
    let message =
        format!("Times in {what} are in units of {of} ({}) and were converted. {of_cpu}", evidence(&first.scale));
    row::TIME_UNIT.of(message)
}

/// How the unit was found.
fn evidence(scale: &TimeScale) -> String {
    match scale.evidence {
        Evidence::Assumed => "assumed".into(),
        Evidence::Given => "as given on the command line".into(),
        Evidence::Version => "its release is older than 9".into(),
        Evidence::Epoch => "only then does the clock agree with a stamp of the wall clock".into(),
        Evidence::Slope { seconds, ratio } => {
            format!("against the wall clock a unit lasts {ratio:.4} µs, over {} s", grouped(seconds.round() as u64))
        }
        Evidence::LockTimer { waits, mean } => {
            format!("{} sleeps of whole seconds last {} units each", grouped(waits), grouped(mean as u64))
        }
    }
}

fn is_special(scale: &TimeScale) -> bool {
    let plain = Unit::Microsecond;
    scale.calls != plain || scale.waits != plain
}

fn words(unit: Unit) -> String {
    match unit {
        Unit::Microsecond => "1 µs".into(),
        Unit::Shifted => "1.024 µs".into(),
        Unit::Centisecond => "10 ms".into(),
    }
}

/// Lines that were not read, in one sentence; where they are listed, also which of them stand there without their file.
fn unread_lines(files: &[SourceFile], are_listed: bool) -> Option<Finding> {
    let mut kinds: Vec<Unread> = Vec::new();
    files.iter().flat_map(|file| &file.unread).for_each(|unread| Unread::add(&mut kinds, unread));
    let lines: u64 = kinds.iter().map(|unread| unread.lines).sum();
    sorting::by_key(&mut kinds, |unread| std::cmp::Reverse(unread.lines));
    let shown = kinds.iter().take(KINDS_NAMED);
    let mut some: Vec<String> = shown.map(|one| format!("{}: {}", one.kind, grouped(one.lines))).collect();
    let others: u64 = kinds.iter().skip(KINDS_NAMED).map(|unread| unread.lines).sum();
    some.extend((others > 0).then(|| format!("others: {}", grouped(others))));
    (lines > 0).then(|| {
        let lines = counted(lines, "line was", "lines were");
        let more = match are_listed {
            true => files.iter().find_map(listed_in_part).unwrap_or_default(),
            false => " --explain-unread lists them by file.".into(),
        };
        row::UNREAD_LINES.of(format!("{lines} not read ({}).{more}", some.join(", ")))
    })
}

/// That an archive has more files with such lines than are listed.
fn listed_in_part(archive: &SourceFile) -> Option<String> {
    let all: u64 = archive.unread.iter().map(|unread| unread.lines).sum();
    let listed: u64 = archive.unread_within.iter().map(|(_, unread)| unread.lines).sum();
    let left = all.checked_sub(listed).filter(|left| *left > 0 && archive.unread_within.len() >= LISTED_MAX)?;
    Some(format!(
        " {} of those in {} {} listed without their file: the list names files in {} rows at most.",
        grouped(left),
        archive.name,
        if left == 1 { "is" } else { "are" },
        grouped(LISTED_MAX as u64)
    ))
}

/// Why a file is not in the profile, as a sentence. One that begins with the file's name keeps it as it is written.
fn sentence(problem: &Problem) -> String {
    let text = format!("{problem}.");
    match problem {
        Problem::Unlisted { .. }
        | Problem::NoMatch { .. }
        | Problem::NoneChosen { .. }
        | Problem::NotRecorded { .. }
        | Problem::NoTraces { .. } => capital(&text),
        _ => text,
    }
}
