//! The store of runs: one file a run, written whole or not at all.
//!
//! A run is saved after each of its cases, so a killed process leaves the state before or after the last save and
//! never a part of one. The store reads only files that it could have written and says of the others why it does not
//! read them. It knows no default place and prints nothing.

mod document;
mod error;

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read};
use std::iter::Sum;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::atomic_file;
use crate::run::Run;
use crate::sorting;
pub use document::{Summary, read_run};
pub use error::StoreError;
use error::stem;

/// Extension of the files that hold a run.
const EXTENSION: &str = "json";

/// Longest identifier that a file name is made from; a UUID has 36 characters.
const ID_LENGTH_MAX: usize = 64;

/// Letters of the identifier that a run gets.
const UUID_LENGTH: usize = 36;

/// What the schema of every run begins with, and in how many bytes of a file it is looked for.
const SCHEMA_START: &[u8] = b"readpath.run/";
const START: u64 = 4096;

/// A file of the store that is not a readable run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// The file. In a document, a name that is not UTF-8 has U+FFFD in the place of what cannot be read.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Why it is not read.
    pub reason: String,
}

/// A path as text: one foreign name must not cost the list of all runs.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// What is in the store.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// Readable runs, newest first.
    pub runs: Vec<Summary>,
    /// Files that look like runs and cannot be read, by path.
    pub unreadable: Vec<Unreadable>,
}

/// What was removed from a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Number of runs.
    pub runs: u64,
    /// Bytes of their documents.
    pub bytes: u64,
}

impl Sum for Removed {
    fn sum<I: Iterator<Item = Removed>>(all: I) -> Removed {
        all.fold(Removed::default(), |sum, one| Removed { runs: sum.runs + one.runs, bytes: sum.bytes + one.bytes })
    }
}

/// A directory of run documents.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// Opens a store for writing: makes the directory, proves by writing that runs can be kept there, and removes what
    /// killed writers left.
    ///
    /// The proof comes now so that a run does not measure for a minute and then fail. A directory that it makes is for
    /// its owner alone, because a profile holds the text of statements.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        let unwritable = |source| StoreError::Unwritable { dir: dir.into(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unwritable)?;
        atomic_file::sweep(dir).map_err(unwritable)?;
        atomic_file::probe(dir).map_err(unwritable)?;
        Ok(Store { dir: dir.into() })
    }

    /// Closes the directory to other users: a store of an earlier version was open to them.
    pub fn make_private(&self) -> Result<(), StoreError> {
        let refused = |source| StoreError::LeftOpen { dir: self.dir.clone(), source };
        match fs::metadata(&self.dir).map_err(refused)?.mode() & 0o077 {
            0 => Ok(()),
            _ => fs::set_permissions(&self.dir, Permissions::from_mode(0o700)).map_err(refused),
        }
    }

    /// Removes the runs that are named as [`Store::load_passing`] finds them, even those whose documents cannot be
    /// read, and adds to `passed` as it does. Removes none where one of them is not there, or is a file of another
    /// program.
    pub fn remove(&self, references: &[String], passed: &mut Vec<Unreadable>) -> Result<Removed, StoreError> {
        let ids: BTreeSet<String> = references.iter().map(|one| self.resolve(one, passed)).collect::<Result<_, _>>()?;
        let files: Vec<PathBuf> = ids.iter().map(|id| self.file_of(id)).collect();
        if let Some(path) = files.iter().find(|path| !looks_like_run(path)) {
            return Err(StoreError::NotARun { path: path.clone() });
        }
        files.iter().map(|path| remove_file(path)).sum()
    }

    /// Removes the runs that began before `moment`, RFC 3339 in UTC; all runs and all that looks like one where none is
    /// given. Files that are no runs have no beginning. A run that another process removes meanwhile is not counted.
    pub fn remove_before(&self, moment: Option<&str>) -> Result<Removed, StoreError> {
        let listing = self.list()?;
        let is_before = |run: &&Summary| moment.is_none_or(|moment| run.started.as_str() < moment);
        let runs = listing.runs.iter().filter(is_before).map(|run| self.file_of(&run.id));
        let unreadable = listing.unreadable.iter().filter(|file| moment.is_none() && looks_like_run(&file.path));
        let files = runs.chain(unreadable.map(|file| file.path.clone()));
        files.map(|path| remove_file(&path)).sum()
    }

    /// Opens a store for reading only; a directory that does not exist is an empty store.
    pub fn open_to_read(dir: &Path) -> Store {
        Store { dir: dir.into() }
    }

    /// The store's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Keeps `run`, in place of an earlier state of the same run. When it returns, the run survives a power failure.
    pub fn save(&self, run: &Run) -> Result<PathBuf, StoreError> {
        let text = document::text_of(run)?;
        let path = self.path_of(&run.id).ok_or_else(|| StoreError::NotADocument {
            id: run.id.clone(),
            reason: "its identifier would not make a file name".into(),
        })?;
        atomic_file::replace(&path, &text).map_err(|source| StoreError::NotSaved { path: path.clone(), source })?;
        Ok(path)
    }

    /// The runs that are kept, newest first, and the files that cannot be read.
    pub fn list(&self) -> Result<Listing, StoreError> {
        listing_of(self.files()?)
    }

    /// The run named by `reference`: an identifier, its unique beginning, `last`, or `last~N` for the N-th before it.
    /// Adds to `passed` what looks like a newer run and cannot be read, so that `last` does not count it.
    pub fn load_passing(&self, reference: &str, passed: &mut Vec<Unreadable>) -> Result<Run, StoreError> {
        read_run(&self.file_of(&self.resolve(reference, passed)?))
    }

    /// The run of an identifier that [`Store::list`] gave; `None` where another process has removed it since.
    pub fn load_listed(&self, id: &str) -> Result<Option<Run>, StoreError> {
        let path = self.file_of(id);
        match read_run(&path) {
            Err(StoreError::Unreadable { .. }) if is_gone(&path) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Whether the run of this very identifier is in the store.
    pub fn holds(&self, id: &str) -> bool {
        self.path_of(id).is_some_and(|path| path.is_file())
    }

    /// The identifier that a reference means.
    fn resolve(&self, reference: &str, passed: &mut Vec<Unreadable>) -> Result<String, StoreError> {
        match steps_before_last(reference) {
            Some(steps) => self.nth_newest(steps, reference, passed),
            None => self.complete(reference),
        }
    }

    /// The file of a run; `None` for an identifier that could name a file elsewhere.
    fn path_of(&self, id: &str) -> Option<PathBuf> {
        is_plain_id(id).then(|| self.file_of(id))
    }

    fn file_of(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{id}.{EXTENSION}"))
    }

    /// In the order of [`Store::list`]. Of a store with thousands of runs only those down to the wanted one are read.
    fn nth_newest(&self, steps: usize, reference: &str, passed: &mut Vec<Unreadable>) -> Result<String, StoreError> {
        let mut ids: Vec<String> = self.files()?.iter().filter_map(|path| stem(path)).collect();
        sorting::by(&mut ids, |left, right| right.cmp(left));
        let is_run = |id: &String| match document::read_summary(&self.file_of(id)) {
            Ok(_) => true,
            Err(error) => {
                passed.extend(damaged(error));
                false
            }
        };
        ids.into_iter().filter(is_run).nth(steps).ok_or_else(|| self.unknown(reference))
    }

    /// The only identifier that begins with `prefix`; an exact one wins over longer ones.
    fn complete(&self, prefix: &str) -> Result<String, StoreError> {
        if !is_plain_id(prefix) {
            return Err(StoreError::NotAReference(prefix.into()));
        }
        if self.file_of(prefix).is_file() {
            return Ok(prefix.into());
        }
        let mut ids: Vec<String> = self.files()?.iter().filter_map(|path| stem(path)).collect();
        ids.retain(|id| id.starts_with(prefix));
        sorting::by(&mut ids, |left, right| right.cmp(left));
        match ids.as_slice() {
            [] => Err(self.unknown(prefix)),
            [only] => Ok(only.clone()),
            _ => Err(StoreError::Ambiguous { prefix: prefix.into(), ids }),
        }
    }

    fn unknown(&self, reference: &str) -> StoreError {
        let (reference, dir) = (reference.into(), self.dir.clone());
        match self.files() {
            Ok(files) if files.is_empty() => StoreError::Empty { reference, dir },
            _ => StoreError::Unknown { reference, dir },
        }
    }

    /// Files with the extension of a run, sorted by name; temporary files begin with a dot and are not among them.
    fn files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let unlistable = |source| StoreError::Unlistable { dir: self.dir.clone(), source };
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unlistable(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(unlistable)?.path();
            if stem(&path).is_some() {
                paths.push(path);
            }
        }
        sorting::ascending(&mut paths);
        Ok(paths)
    }
}

fn listing_of(files: Vec<PathBuf>) -> Result<Listing, StoreError> {
    let mut listing = Listing::default();
    for path in files {
        match document::read_summary(&path) {
            Ok(summary) => listing.runs.push(summary),
            // Another process has removed it since the directory was read.
            Err(StoreError::Unreadable { path, .. }) if is_gone(&path) => {}
            Err(StoreError::Unreadable { path, reason }) => listing.unreadable.push(Unreadable { path, reason }),
            Err(other) => return Err(other),
        }
    }
    // Identifiers are version 7 UUIDs: their order is the order of the runs' starts.
    sorting::by(&mut listing.runs, |left, right| right.id.cmp(&left.id));
    Ok(listing)
}

/// The file that cannot be read, where it looks like a run: not of one of another program, or one that is gone.
fn damaged(error: StoreError) -> Option<Unreadable> {
    match error {
        StoreError::Unreadable { path, reason } if looks_like_run(&path) => Some(Unreadable { path, reason }),
        _ => None,
    }
}

fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn remove_file(path: &Path) -> Result<Removed, StoreError> {
    let removed = fs::symlink_metadata(path).and_then(|data| fs::remove_file(path).map(|()| data.len()));
    match removed {
        Ok(bytes) => Ok(Removed { runs: 1, bytes }),
        // Another process was quicker. The others still have to go.
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Removed::default()),
        Err(source) => Err(StoreError::NotRemoved { path: path.into(), source }),
    }
}

/// Whether a file is a run, was one or was to be one: by its name, or by how it begins.
fn looks_like_run(path: &Path) -> bool {
    // A pipe is not opened: that would wait for a writer.
    if !path.is_file() {
        return false;
    }
    let is_named = stem(path).is_some_and(|stem| is_uuid(&stem));
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    let has_schema = || start.windows(SCHEMA_START.len()).any(|window| window == SCHEMA_START);
    is_named || (read.is_ok() && has_schema())
}

/// Whether `id` has the form of the identifier that a run gets: another program's name may be as long.
fn is_uuid(id: &str) -> bool {
    let is_in_place = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    id.len() == UUID_LENGTH && id.bytes().enumerate().all(is_in_place)
}

/// Whether `id` is made of letters, digits and hyphens only, so that it can lead to no other directory.
fn is_plain_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !id.is_empty() && id.len() <= ID_LENGTH_MAX && id.bytes().all(plain)
}

/// 0 for `last`, N for `last~N`, `None` for anything else.
fn steps_before_last(reference: &str) -> Option<usize> {
    match reference.strip_prefix("last")? {
        "" => Some(0),
        steps => steps.strip_prefix('~')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::time::SystemTime;

    use super::*;
    use crate::case::Case;
    use crate::run::SCHEMA;
    use proptest::prelude::*;

    fn run(id: &str) -> Run {
        Run {
            schema: SCHEMA.into(),
            id: id.into(),
            command: vec!["readpath".into(), "disk".into()],
            started: "2026-01-01T00:00:00Z".into(),
            experiment: "disk".into(),
            ..Run::default()
        }
    }

    impl Store {
        fn load(&self, reference: &str) -> Result<Run, StoreError> {
            self.load_passing(reference, &mut Vec::new())
        }
    }

    fn store_with(ids: &[&str]) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("made/by/open")).unwrap();
        ids.iter().for_each(|id| drop(store.save(&run(id)).unwrap()));
        (dir, store)
    }

    #[test]
    fn a_saved_run_is_loaded_as_it_was_and_replaced_by_its_later_state() {
        let (_dir, store) = store_with(&["aa-1"]);
        let mut later = run("aa-1");
        later.cases.push(Case::default());
        store.save(&later).unwrap();
        assert_eq!(store.load("aa-1").unwrap(), later);
        assert_eq!(store.list().unwrap().runs.len(), 1);
    }

    #[test]
    fn a_run_is_found_by_prefix_by_last_and_by_steps_before_last() {
        let (_dir, store) = store_with(&["aa-1", "aa-2", "bb-1"]);
        assert_eq!(store.load("b").unwrap().id, "bb-1");
        assert_eq!(store.load("last").unwrap().id, "bb-1");
        assert_eq!(store.load("last~2").unwrap().id, "aa-1");
        assert!(matches!(store.load("last~3"), Err(StoreError::Unknown { .. })));
        assert!(matches!(store.load("aa"), Err(StoreError::Ambiguous { ids, .. }) if ids == ["aa-2", "aa-1"]));
        assert!(matches!(store.load("cc"), Err(StoreError::Unknown { .. })));
        let (_dir, empty) = store_with(&[]);
        for reference in ["last", "last~1", "cc"] {
            assert!(matches!(empty.load(reference), Err(StoreError::Empty { .. })), "{reference}");
        }
    }

    #[test]
    fn kept_runs_are_for_their_owner_alone_and_an_older_store_can_be_closed() {
        let (_dir, store) = store_with(&["aa-1"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let document = store.dir().join("aa-1.json");
        assert_eq!((mode(store.dir()), mode(&document)), (0o700, 0o600));
        fs::set_permissions(store.dir(), Permissions::from_mode(0o755)).unwrap();
        store.make_private().unwrap();
        assert_eq!(mode(store.dir()), 0o700);
    }

    #[test]
    fn what_is_removed_is_gone_and_nothing_else() {
        let (dir, store) = store_with(&["aa-1", "aa-2", "bb-1"]);
        fs::write(store.dir().join("notes.txt"), "not a run").unwrap();
        fs::write(store.dir().join("torn.json"), "{").unwrap();
        fs::write(dir.path().join("outside.json"), "{}").unwrap();
        let ids = || store.list().unwrap().runs.into_iter().map(|run| run.id).collect::<Vec<_>>();
        let named = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let remove = |words: &[&str]| store.remove(&named(words), &mut Vec::new());
        assert!(remove(&["bb", "aa"]).is_err() && remove(&["../../../outside"]).is_err());
        assert_eq!(ids().len(), 3);
        let bytes = fs::metadata(store.dir().join("bb-1.json")).unwrap().len();
        assert_eq!(remove(&["last", "bb-1"]).unwrap(), Removed { runs: 1, bytes });
        assert_eq!(ids(), ["aa-2", "aa-1"]);
        let mut old = run("aa-1");
        old.started = "2025-06-01T00:00:00Z".into();
        store.save(&old).unwrap();
        assert_eq!(store.remove_before(Some("2025-12-31T00:00:00Z")).unwrap().runs, 1);
        assert_eq!(ids(), ["aa-2"]);
        fs::write(store.dir().join("01a21f09-e6c8-77af-a700-09e0389f4c50.json"), "{").unwrap();
        fs::write(store.dir().join("torn.json"), r#"{"schema": "readpath.run/1", "#).unwrap();
        fs::write(store.dir().join("package.json"), r#"{"name": "of another program"}"#).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(store.dir().join("pipe.json")).status().unwrap();
        assert!(pipe.success());
        assert_eq!(store.remove_before(None).unwrap().runs, 3);
        let left = fs::read_dir(store.dir()).unwrap().map(|file| file.unwrap().file_name()).collect::<BTreeSet<_>>();
        assert_eq!(left, ["notes.txt", "package.json", "pipe.json"].map(Into::into).into());
        assert!(dir.path().join("outside.json").exists());
    }

    #[test]
    fn a_file_of_another_program_is_not_removed_by_its_name_and_a_torn_run_is() {
        let (_dir, store) = store_with(&["aa-1"]);
        // The second name is as long as that of a run.
        let names = ["package", "settings-of-the-other-program-000001", "01a21f09-e6c8-77af-a700-09e0389f4c50"];
        let files = names.map(|name| store.dir().join(format!("{name}.json")));
        files.iter().for_each(|file| fs::write(file, r#"{"name": "cut of"#).unwrap());
        for word in ["pack", "package", "settings"] {
            // The run that is named too is not removed either.
            let refused = store.remove(&[word.into(), "aa-1".into()], &mut Vec::new());
            assert!(matches!(&refused, Err(StoreError::NotARun { path }) if files.contains(path)), "{refused:?}");
        }
        assert!(files.iter().all(|file| file.exists()) && store.load("aa-1").is_ok());
        assert_eq!(store.remove(&["01a2".into()], &mut Vec::new()).unwrap().runs, 1);
        assert_eq!(store.remove_before(None).unwrap().runs, 1, "that of aa-1");
        assert_eq!(files.map(|file| file.exists()), [true, true, false]);
    }

    #[test]
    fn a_run_that_another_process_has_removed_meanwhile_is_no_failure_and_is_not_counted() {
        let (_dir, store) = store_with(&["aa-1"]);
        let path = store.dir().join("aa-1.json");
        assert_eq!(remove_file(&path).unwrap().runs, 1);
        assert_eq!(remove_file(&path).unwrap(), Removed::default());
        store.save(&run("aa-2")).unwrap();
        let listing = listing_of(vec![path, store.dir().join("aa-2.json")]).unwrap();
        assert!(listing.runs.len() == 1 && listing.unreadable.is_empty(), "{listing:?}");
        assert!(store.load_listed("aa-1").unwrap().is_none());
        fs::write(store.dir().join("aa-3.json"), "{").unwrap();
        assert!(store.load_listed("aa-2").unwrap().is_some() && store.load_listed("aa-3").is_err());
        let refused = remove_file(store.dir());
        assert!(matches!(refused, Err(StoreError::NotRemoved { .. })), "a folder is not removed: {refused:?}");
    }

    #[test]
    fn a_file_whose_name_is_not_utf_8_is_named_and_does_not_cost_the_list_in_json() {
        let (_dir, store) = store_with(&["aa-1"]);
        let name = OsStr::from_bytes(b"caf\xe9.json");
        if let Err(error) = fs::write(store.dir().join(name), "{}") {
            return println!("skipped: the file system of temporary files takes no such name: {error}");
        }
        let text = serde_json::to_string(&store.list().unwrap()).unwrap();
        assert!(text.contains("aa-1") && text.contains("caf\u{fffd}.json"), "{text}");
    }

    #[test]
    fn the_newest_run_is_found_without_a_look_at_those_before_it() {
        let (_dir, store) = store_with(&["aa-1", "aa-2"]);
        let file = |id: &str| store.dir().join(format!("{id}.json"));
        for id in ["aa-1", "aa-2"] {
            let times = fs::FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH);
            File::options().write(true).open(file(id)).unwrap().set_times(times).unwrap();
        }
        assert_eq!(store.load("last").unwrap().id, "aa-2");
        let was_read = |id: &str| fs::metadata(file(id)).unwrap().accessed().unwrap() != SystemTime::UNIX_EPOCH;
        if !was_read("aa-2") {
            return println!("skipped: the file system of temporary files notes no accesses");
        }
        assert!(!was_read("aa-1"));
    }

    #[test]
    fn a_damaged_run_that_is_newer_than_the_last_one_is_named_and_changes_no_result() {
        let (_dir, store) = store_with(&["aa-1", "aa-3"]);
        let torn = r#"{"schema": "readpath.run/1", "id": "#;
        for (name, text) in [("aa-0", torn), ("aa-2", torn), ("aa-4", torn), ("package", r#"{"name": "of another"}"#)] {
            fs::write(store.dir().join(format!("{name}.json")), text).unwrap();
        }
        let stems = |passed: &[Unreadable]| passed.iter().filter_map(|file| stem(&file.path)).collect::<Vec<_>>();
        let loaded = |reference: &str| {
            let mut passed = Vec::new();
            let id = store.load_passing(reference, &mut passed).map(|run| run.id).ok();
            (id, stems(&passed))
        };
        let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(loaded("last"), (Some("aa-3".into()), named(&["aa-4"])));
        assert_eq!(loaded("last~1"), (Some("aa-1".into()), named(&["aa-4", "aa-2"])));
        assert_eq!(loaded("last~2"), (None, named(&["aa-4", "aa-2", "aa-0"])));
        assert_eq!(loaded("aa-1"), (Some("aa-1".into()), Vec::new()));
        let mut passed = Vec::new();
        assert_eq!(store.remove(&["last".into()], &mut passed).unwrap().runs, 1);
        assert_eq!(stems(&passed), ["aa-4"]);
        assert!(store.load("aa-3").is_err() && store.load("aa-1").is_ok());
    }

    #[test]
    fn an_identifier_that_begins_others_is_still_found() {
        let (_dir, store) = store_with(&["aa", "aa-1"]);
        assert_eq!(store.load("aa").unwrap().id, "aa");
    }

    #[test]
    fn foreign_files_are_reported_one_by_one_and_hide_nothing() {
        let (_dir, store) = store_with(&["aa-1"]);
        let write = |name: &str, text: &str| fs::write(store.dir().join(name), text).unwrap();
        write("torn.json", r#"{"schema": "readpath.run/1", "id": "#);
        write("future.json", r#"{"schema": "readpath.run/2", "id": "future"}"#);
        write("past.json", r#"{"schema": "readpath.run/0", "id": "past"}"#);
        write("foreign.json", r#"{"hello": 1}"#);
        write("renamed.json", &serde_json::to_string(&run("other")).unwrap());
        write("notes.txt", "not looked at");
        fs::create_dir(store.dir().join("folder.json")).unwrap();
        let listing = store.list().unwrap();
        assert_eq!(listing.runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["aa-1"]);
        let reasons: Vec<&str> = listing.unreadable.iter().map(|file| file.reason.as_str()).collect();
        assert_eq!(reasons.len(), 6, "{reasons:?}");
        for age in ["readpath.run/2 is of a newer readpath", "readpath.run/0 is of an older readpath"] {
            assert!(reasons.iter().any(|reason| reason.contains(age)), "{reasons:?}");
        }
    }

    #[test]
    fn a_store_under_a_regular_file_is_refused_before_anything_is_measured() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let message = Store::open(&file.path().join("runs")).unwrap_err().to_string();
        assert!(message.contains("--store DIR") && message.contains("--no-store"), "{message}");
    }

    #[test]
    fn a_store_that_was_never_made_is_empty_to_read() {
        let listing = Store::open_to_read(Path::new("/nonexistent/runs")).list().unwrap();
        assert!(listing.runs.is_empty() && listing.unreadable.is_empty());
    }

    #[test]
    fn a_value_that_json_cannot_carry_is_refused_and_not_written() {
        let (_dir, store) = store_with(&["aa-1"]);
        let mut spoilt = run("aa-1");
        let metric = crate::schema::ladder::LATENCY.single("clock", f64::NAN);
        spoilt.cases.push(Case { metrics: vec![metric], ..Case::default() });
        assert!(matches!(store.save(&spoilt), Err(StoreError::NotADocument { .. })));
        assert_eq!(store.load("aa-1").unwrap(), run("aa-1"));
    }

    proptest! {
        #[test]
        fn hostile_references_read_nothing_outside_the_store(reference in "\\PC{0,80}|(\\.\\./){1,5}[a-z]{1,8}") {
            let (dir, store) = store_with(&[]);
            fs::write(dir.path().join("outside.json"), serde_json::to_string(&run("outside")).unwrap()).unwrap();
            prop_assert!(store.load(&reference).is_err());
            prop_assert!(store.load("../../../outside").is_err());
            prop_assert!(is_plain_id(&reference) || store.save(&run(&reference)).is_err());
        }
    }
}
