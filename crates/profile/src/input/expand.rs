//! From what a person names to files: folders are walked, patterns are matched.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use recording::SegmentName;

use crate::input::given::Given;
use crate::input::packing::{self, unpacked};
use crate::input::problem::Problem;

/// Deepest nesting of folders; a link may lead back to where it stands.
const DEPTH_MAX: usize = 64;

/// The ending of names by which traces are found in folders, packed or not. A file that is named itself is read
/// whatever its name.
const TRACE_ENDING: &str = ".trc";

/// Endings of names by which server logs are found in folders; many other files have them too.
const LOG_ENDINGS: [&str; 3] = [".log", ".csv", ".json"];

/// What was found.
#[derive(Debug, Default)]
pub struct Expansion {
    /// What to read, each once; a folder's and a pattern's files by name.
    pub given: Vec<Given>,
    /// Files of folders that are named like server logs: they are to be read if they are some, and else passed over.
    /// Of a log that is rotated by numbers the oldest is the first.
    pub candidates: Vec<Given>,
    /// Why the rest is not read.
    pub problems: Vec<Problem>,
}

/// Finds the files that the arguments name: a file, a folder with all below it, a pattern such as `a/*.trc`, or `-` for
/// standard input. What cannot be found or listed is a problem; the rest is found all the same.
pub fn expand(arguments: &[PathBuf]) -> Expansion {
    let mut found = Found::default();
    for argument in arguments {
        let given = Given::of_argument(argument);
        if given == Given::StandardInput {
            found.add(given);
        } else if argument.is_dir() {
            found.folder(argument);
        } else if is_pattern(argument) {
            found.pattern(argument);
        } else {
            // A file that is not there is a problem when it is opened, with the system's own reason.
            found.add(given);
        }
    }
    found.finish()
}

/// Whether an argument is a pattern that a file of this name matches by itself, and not by a folder above it.
pub(crate) fn is_matched(argument: &Path, name: &str) -> bool {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let pattern = || Pattern::new(&argument.to_string_lossy()).ok();
    is_pattern(argument) && pattern().is_some_and(|pattern| pattern.matches_with(name, options))
}

/// Whether an argument is taken for a pattern, and for no name of a file that is there.
fn is_pattern(argument: &Path) -> bool {
    !argument.exists() && has_pattern(argument) && !is_address(argument)
}

#[derive(Default)]
struct Found {
    expansion: Expansion,
    known: HashMap<Identity, String>,
    /// The archives in folders.
    archives: Vec<PathBuf>,
}

/// What makes two names one file: device and inode; the name itself where there is no such file.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Inode(u64, u64),
    Name(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Identity {
        match fs::metadata(path) {
            Ok(data) if data.is_file() => Identity::Inode(data.dev(), data.ino()),
            _ => Identity::Name(path.canonicalize().unwrap_or_else(|_| path.to_path_buf())),
        }
    }
}

impl Found {
    fn add(&mut self, given: Given) {
        if self.is_new(&given) {
            self.expansion.given.push(given);
        }
    }

    /// Whether it was not named before. A file that was, under any name, becomes a problem.
    fn is_new(&mut self, given: &Given) -> bool {
        let Given::File(path) = given else { return !self.expansion.given.contains(given) };
        let name = given.name();
        match self.known.get(&Identity::of(path)) {
            Some(first) => {
                self.expansion.problems.push(Problem::Repeated { name, first: first.clone() });
                false
            }
            None => {
                self.known.insert(Identity::of(path), name);
                true
            }
        }
    }

    /// All that was found. Archives in folders are passed over, unless an argument names them: in folders most hold
    /// something else. That is a problem, and the first one, because of many problems only the first are named.
    fn finish(mut self) -> Expansion {
        let known = &mut self.known;
        self.archives.retain(|path| known.insert(Identity::of(path), String::new()).is_none());
        if !self.archives.is_empty() {
            self.expansion.problems.insert(0, Problem::ArchivesPassedOver { paths: self.archives });
        }
        self.expansion
    }

    fn folder(&mut self, folder: &Path) {
        let before = self.expansion.problems.len();
        let mut is_any = false;
        self.walk(folder, DEPTH_MAX, &mut is_any);
        if before == self.expansion.problems.len() && !is_any {
            self.expansion.problems.push(Problem::NoTraces { name: folder.display().to_string() });
        }
    }

    fn walk(&mut self, folder: &Path, depth_left: usize, is_any: &mut bool) {
        let unlisted = |error| Problem::Unlisted { name: folder.display().to_string(), error };
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.expansion.problems.push(unlisted(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => paths.push(entry.path()),
                Err(error) => self.expansion.problems.push(unlisted(error)),
            }
        }
        paths.sort_by_cached_key(|path| age(path));
        for path in paths {
            // A link to a folder is not followed: its files are found where they stand, and it may lead back here.
            let is_folder = path.is_dir() && !path.is_symlink();
            if is_folder && depth_left > 0 {
                self.walk(&path, depth_left - 1, is_any);
            } else if !is_folder && is_log_name(&path) && path.is_file() {
                *is_any = true;
                let given = Given::File(path);
                if self.is_new(&given) {
                    self.expansion.candidates.push(given);
                }
            } else if !is_folder && (is_trace_name(&path) || SegmentName::of(&path).is_some()) {
                *is_any = true;
                // A pipe without a writer would be waited for without end. One that is named itself is read.
                match fs::metadata(&path) {
                    Ok(data) if !data.is_file() => {
                        let name = path.display().to_string();
                        let error = io::Error::other("it is a pipe or a device, which is read only if it is named");
                        self.expansion.problems.push(Problem::Unreadable { name, error });
                    }
                    _ => self.add(Given::File(path)),
                }
            } else if !is_folder && is_archive_name(&path) && path.is_file() {
                self.archives.push(path);
            }
        }
    }

    fn pattern(&mut self, pattern: &Path) {
        let text = pattern.to_string_lossy();
        let no_match = || Problem::NoMatch { pattern: text.clone().into_owned() };
        let Ok(matches) = glob::glob(&text) else { return self.expansion.problems.push(no_match()) };
        let mut is_any = false;
        for answer in matches {
            is_any = true;
            match answer {
                Ok(path) if path.is_dir() => self.folder(&path),
                Ok(path) => self.add(Given::File(path)),
                Err(error) => {
                    let name = error.path().display().to_string();
                    self.expansion.problems.push(Problem::Unreadable { name, error: error.into() });
                }
            }
        }
        if !is_any {
            self.expansion.problems.push(no_match());
        }
    }
}

fn has_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// An address, such as a server's, is no pattern, whatever characters it has.
fn is_address(path: &Path) -> bool {
    path.to_string_lossy().contains("://")
}

/// The last part of a path, as a system of either kind writes it.
pub(crate) fn last_of(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path).trim()
}

/// The name of a trace wherever it lies and however it is packed: without its folders and its ending.
pub(crate) fn stem_of(path: &str) -> &str {
    let last = last_of(path);
    last.split(TRACE_ENDING).next().unwrap_or(last)
}

fn is_trace_name(path: &Path) -> bool {
    unpacked_name(path).ends_with(TRACE_ENDING)
}

fn is_archive_name(path: &Path) -> bool {
    packing::is_archive(&small_name(path))
}

/// A name without the ending of its packing, in small letters.
fn unpacked_name(path: &Path) -> String {
    unpacked(&small_name(path)).to_owned()
}

/// The name of a file without its folders, in small letters.
fn small_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// The name of a log and what rotation put behind it, in small letters and unpacked: `a.log` and `.3`, `-20260101` or
/// `.2026-01-01`; `None` where it is not the name of a log.
fn rotated(path: &Path) -> Option<(String, String)> {
    let mut name = unpacked_name(path);
    let is_of_rotation = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-');
    let behind = name.split_off(name.trim_end_matches(is_of_rotation).len());
    let is_log = LOG_ENDINGS.iter().any(|ending| name.ends_with(ending));
    (is_log && !behind.starts_with(|letter: char| letter.is_ascii_digit())).then_some((name, behind))
}

/// Files by name, but of the logs of one name the oldest first: `a.log.2` is older than `a.log.1`, a log of an earlier
/// day than one of a later day, and each older than `a.log`.
fn age(path: &Path) -> (PathBuf, Reverse<u64>, PathBuf) {
    let (base, number) = match rotated(path) {
        Some((name, behind)) if behind.is_empty() => (path.with_file_name(name), 0),
        // What is too large for the number of a file is a date.
        Some((name, behind)) => (path.with_file_name(name), behind[1..].parse::<u16>().map_or(u64::MAX, u64::from)),
        None => (path.to_path_buf(), 0),
    };
    (base, Reverse(number), path.to_path_buf())
}

/// Whether a name is that of a log, rotated and packed or not.
fn is_log_name(path: &Path) -> bool {
    rotated(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(expansion: &Expansion) -> Vec<String> {
        let name = |given: &Given| given.name().rsplit('/').next().unwrap_or_default().to_string();
        expansion.given.iter().map(name).collect()
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("deep/er")).unwrap();
        for name in ["b.trc", "a.TRC.gz", "deep/er/c.trc.zst", "notes.txt", "d.trm"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        folder
    }

    #[test]
    fn a_folder_gives_its_traces_by_name_and_each_once() {
        let folder = folder();
        let arguments = [folder.path().to_path_buf(), folder.path().join("b.trc"), "-".into(), "-".into()];
        let expansion = expand(&arguments);
        assert_eq!(names(&expansion), ["a.TRC.gz", "b.trc", "c.trc.zst", "standard input"]);
        let said: Vec<String> = expansion.problems.iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains("b.trc") && said[0].contains("read once"), "{said:?}");
    }

    #[test]
    fn one_file_under_two_names_is_read_once() {
        let folder = folder();
        fs::hard_link(folder.path().join("b.trc"), folder.path().join("z.trc")).unwrap();
        std::os::unix::fs::symlink("b.trc", folder.path().join("y.trc")).unwrap();
        let expansion = expand(&[folder.path().join("[byz].trc")]);
        assert_eq!(names(&expansion), ["b.trc"]);
        let said = expansion.problems[1].to_string();
        assert!(said.contains("z.trc is ") && said.contains("b.trc"), "{said}");
    }

    #[test]
    fn a_folder_gives_its_server_logs_oldest_first() {
        let folder = tempfile::tempdir().unwrap();
        let numbered = ["a.log.10.gz", "a.log.2.zst", "a.log.1", "a.log", "b-2026.csv"];
        let dated = ["c.log-20260101", "c.log-20260102.gz", "c.log", "d.log.2026-01-01", "d.log.2026-01-02", "d.log"];
        let more = ["e.log.20260101", "e.log.20260102", "e.log"];
        let oldest_first = [numbered.as_slice(), &dated, &more].concat();
        for name in oldest_first.iter().chain(&["d.txt", "e.1"]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let expansion = expand(&[folder.path().to_path_buf()]);
        assert!(expansion.given.is_empty() && expansion.problems.is_empty());
        let candidates = Expansion { given: expansion.candidates, ..Expansion::default() };
        assert_eq!(names(&candidates), oldest_first);
    }

    #[test]
    fn no_log_of_an_earlier_day_is_passed_over_for_the_way_its_rotation_writes_the_date() {
        let is_log = |name: &&str| is_log_name(Path::new(name));
        let logs =
            ["a.log-20260101", "a.log-2026-01-01.gz", "a.log.2026-01-01", "a.json-20260101-1767225600", "a.csv.7"];
        assert!(logs.iter().all(is_log), "{:?}", logs.iter().find(|name| !is_log(name)));
        assert!(!["a.txt-20260101", "log-20260101", "a.log-old", "a.json5", "1.2-3", "a.tar.1"].iter().any(is_log));
    }

    #[test]
    fn a_pattern_is_matched_and_a_file_that_is_named_is_read_whatever_its_name() {
        let folder = folder();
        let expansion = expand(&[folder.path().join("*.tr[cm]"), folder.path().join("notes.txt")]);
        assert_eq!(names(&expansion), ["b.trc", "d.trm", "notes.txt"]);
    }

    #[test]
    fn a_pipe_in_a_folder_is_named_and_not_waited_for() {
        let folder = folder();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("z.trc")).unwrap();
        let expansion = expand(&[folder.path().to_path_buf()]);
        assert_eq!(names(&expansion), ["a.TRC.gz", "b.trc", "c.trc.zst"]);
        assert!(expansion.problems[0].to_string().contains("z.trc could not be read: it is a pipe"));
    }

    #[test]
    fn no_archive_in_a_folder_is_passed_over_in_silence() {
        let folder = folder();
        for name in ["x.tar", "deep/y.TGZ", "deep/z.zip", "c.trc.zip", "w.log.zip"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let said = |arguments: &[PathBuf]| -> Vec<String> {
            expand(arguments).problems.iter().map(ToString::to_string).collect()
        };
        let whole = folder.path().to_path_buf();
        let all = said(&[whole.clone(), whole.join("deep")]);
        let [passed_over, _] = &all[..] else { panic!("{all:?}") };
        assert!(passed_over.starts_with("3 archives in folders were passed over: give the path"), "{passed_over}");
        // Those that are named are read.
        let but_one = said(&[whole.clone(), whole.join("x.tar"), whole.join("deep/z.zip")]);
        let [passed_over] = &but_one[..] else { panic!("{but_one:?}") };
        let expected = "1 archive in a folder was passed over: give its path as a FILE to have it read (";
        assert!(passed_over.starts_with(expected) && passed_over.ends_with("y.TGZ)"), "{passed_over}");
        fs::create_dir(whole.join("archives")).unwrap();
        fs::write(whole.join("archives/z.zip"), "").unwrap();
        let alone = said(&[whole.join("archives")]);
        assert!(alone.len() == 2 && alone[0].ends_with("z.zip)") && alone[1].contains("(*.trc)"), "{alone:?}");
        // Of many problems only the first are named.
        let arguments: Vec<PathBuf> = std::iter::repeat_n(whole.join("b.trc"), 9).chain([whole]).collect();
        let first = said(&arguments).swap_remove(0);
        assert!(first.contains(" were passed over: "), "{first}");
    }

    #[test]
    fn what_is_not_there_is_a_problem_with_a_name() {
        let folder = folder();
        let said = expand(&[folder.path().join("*.xyz"), folder.path().join("deep/e?/c*")]);
        assert!(said.problems[0].to_string().contains("*.xyz"));
        assert_eq!(names(&said), ["c.trc.zst"]);
        fs::create_dir(folder.path().join("empty")).unwrap();
        assert!(expand(&[folder.path().join("empty")]).problems[0].to_string().contains("(*.trc)"));
        let missing = &expand(&[folder.path().join("gone.trc")]).given[0];
        assert!(crate::input::open(missing).unwrap_err().to_string().contains("gone.trc"));
    }
}
