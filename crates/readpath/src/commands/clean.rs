//! `readpath clean`: removes what is kept for the next run, and what a killed run left behind.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, io};

use ::measure::quantity::size_in_words;
use clap::{ArgMatches, Args};
use server::place::{Address, word_of_shell};
use server::private::Installation;
use server::{Limits, Place, ServerError, Session, Statements, schema};
use storage::StorageError;
use storage::catalog::{DirectoryLock, DirectoryUse, LOCK_FILE};
use sys::file::own_folder::Leftovers;

use super::measure::{progress, signals};
use super::subjects::completed;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;
use crate::signals::Signals;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "clean", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath clean --dry-run                                      what lies in the cache, with its size
  readpath clean
  readpath clean --on postgres://me@db.example/shop
  readpath clean --on postgres://me@db.example/shop --dry-run";

/// The head of the statements that would be sent.
const ASKED: &str = "-- The server was asked what lies there, and nothing was changed. What would be sent:\n";

/// Folders of the cache, with what lies in them.
const TABLES: (&str, &str) = ("tables", "tables");
const PROGRAMS: (&str, &str) = ("postgres", "programs of PostgreSQL");

/// Removes the tables and programs that are kept for the next run, and what killed runs left behind
///
/// Without --on these are the tables of `readpath lio` and `readpath join` and the fetched programs of PostgreSQL,
/// which the next run that needs them makes or fetches again, and folders that killed runs left in the folder for
/// temporary files. With --on it is the schema readpath on a server. `readpath runs rm` removes runs.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The PostgreSQL server: postgres://USER@HOST:PORT/DATABASE, or postgres:18 for private servers of any version
    #[arg(long, value_name = "URL")]
    on: Option<Place>,
    /// Print what would be removed, or every statement that would be sent to the server, which is only asked what lies
    /// there, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let address = match arguments.on {
        None => return clean_machine(context, arguments.dry_run),
        Some(Place::Given(address)) => address,
        Some(Place::Copy(copy)) => {
            let on = word_of_shell(&copy.shown());
            let sentence = format!(
                "clean starts no server on a copy of a data directory: the next run of `readpath calibrate --on {on}` \
                 removes what an earlier run left there."
            );
            return Err(Failure::wrong(sentence));
        }
        Some(_) => return clean_private(arguments.dry_run),
    };
    let address = completed(&address, context)?;
    let (signals, progress) = (signals()?, progress(context));
    progress.step(&address.waiting(), Duration::from_secs(1));
    let said = clean_server(&address, &signals, arguments.dry_run);
    progress.clear();
    let said = said.map_err(|error| match signals.received() {
        Some(signal) => {
            let why = error.without_options();
            Failure::new(Exit::Interrupted { signal }, format!("the schema readpath was not removed: {why}."))
        }
        None => error.into(),
    })?;
    output::print(&said)?;
    Ok(Exit::Done)
}

/// Removes the schema on a server and says so, or gives the statements that would do it.
fn clean_server(address: &Address, signals: &Signals, is_rehearsal: bool) -> Result<String, ServerError> {
    let stop = signals.stop().share();
    if is_rehearsal {
        let statements = Statements::default();
        schema::rehearse_clean(address, Limits::default(), stop, statements.clone())?;
        return Ok(format!("{ASKED}{}", statements.script()));
    }
    let tables = Session::open(address, Limits::default(), stop).and_then(schema::clean)?;
    let sentence = match tables {
        None => "There was no schema readpath.".to_string(),
        Some(1) => "The schema readpath was removed with its one table.".into(),
        Some(tables) => format!("The schema readpath was removed with its {tables} tables."),
    };
    Ok(format!("{sentence}\n"))
}

/// Removes what lies in the cache, and what killed runs left in the folder for temporary files. A folder that is in use
/// or cannot be removed holds up none of the others: why it stays is said at the end.
fn clean_machine(context: &Context, is_rehearsal: bool) -> Result<Exit, Failure> {
    let mut failures = Vec::new();
    if context.settings.cache_dir.is_none() {
        let message = "it is not known where the cache is, because neither XDG_CACHE_HOME nor HOME is set. Set one of \
                       them.";
        failures.push(Failure::failed(message));
    }
    let of_cache = |cache: &PathBuf| [TABLES, PROGRAMS].map(|(name, what)| (cache.join(name), what));
    let folders = context.settings.cache_dir.iter().flat_map(of_cache);
    // A run that does not know where the cache is keeps its programs there.
    let of_homeless = Installation::cache_left_in(&env::temp_dir()).map(|folder| (folder, PROGRAMS.1));
    for (folder, what) in folders.chain(of_homeless) {
        match clean_folder(&folder, what, is_rehearsal) {
            Ok(sentence) => output::print(&format!("{sentence}\n"))?,
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(cache) = context.settings.cache_dir.as_ref().filter(|_| !is_rehearsal) {
        // It stays where something else is in it.
        let _ = fs::remove_dir(cache);
    }
    failures.extend(clean_leftovers(::subjects::sweep, is_rehearsal).err());
    failures.iter().for_each(|failure| output::complain(&failure.message));
    Ok(Exit::of_rest(&failures))
}

/// Removes a folder of the cache; gives the sentence that says so.
fn clean_folder(folder: &Path, what: &str, is_rehearsal: bool) -> Result<String, Failure> {
    let place = folder.display();
    let failed = |error: io::Error| Failure::failed(format!("{place} could not be cleaned: {error}."));
    let bytes = if folder.is_dir() { bytes_in(folder).map_err(failed)? } else { 0 };
    if folder.is_dir() {
        let _lock = claim(folder)?;
        if !is_rehearsal {
            remove(folder).map_err(failed)?;
        }
    }
    Ok(match (bytes, is_rehearsal) {
        (0, _) => format!("There are no {what} in {place}."),
        (_, true) => format!("{} of {what} in {place} would be removed.", size(bytes)),
        (_, false) => format!("{} of {what} in {place} were removed.", size(bytes)),
    })
}

/// Removes folders that killed runs left in the folder for temporary files; gives how many there were.
fn clean_leftovers(sweep: fn(&Path, Leftovers) -> Vec<PathBuf>, is_rehearsal: bool) -> Result<usize, Failure> {
    let found = sweep(&env::temp_dir(), Leftovers::Found);
    let sizes: Vec<String> = found.iter().map(|folder| bytes_in(folder).map_or("unknown size".into(), size)).collect();
    let removed = if is_rehearsal { found.clone() } else { sweep(&env::temp_dir(), Leftovers::Removed) };
    for (folder, size) in found.iter().zip(sizes).filter(|(folder, _)| removed.contains(folder)) {
        let fate = if is_rehearsal { "would be" } else { "was" };
        output::print(&format!("{}, left by a killed run, {fate} removed: {size}.\n", folder.display()))?;
    }
    // What another process removes at this moment is locked, and no longer found.
    let still = if is_rehearsal { Vec::new() } else { sweep(&env::temp_dir(), Leftovers::Found) };
    let left = found.iter().filter(|folder| !removed.contains(folder) && still.contains(folder));
    let left: Vec<String> = left.map(|folder| folder.display().to_string()).collect();
    if left.is_empty() {
        return Ok(removed.len());
    }
    let sentence = format!("left by killed runs, and could not be removed: {}.", left.join(", "));
    Err(Failure::failed(sentence))
}

/// The right to empty the folder. Fails where another run loads tables into it or reads them, unpacks programs there or
/// runs them.
fn claim(folder: &Path) -> Result<(DirectoryUse, Option<DirectoryLock>), Failure> {
    let place = folder.display();
    let in_use = |what: &str| {
        let sentence = format!("{what} in {place}, which stays as it is: repeat when that run has ended.");
        Failure::failed(sentence)
    };
    // Who loads tables has made the lock before: where there is none, a rehearsal must not make one.
    let lock = || folder.join(LOCK_FILE).exists().then(|| DirectoryLock::take(folder)).transpose();
    let claimed = DirectoryUse::alone(folder).and_then(|alone| Ok((alone, lock()?)));
    let claimed = claimed.map_err(|error| match error {
        // What its sentence advises is for runs, which can name another folder.
        StorageError::Locked { .. } => in_use("another run is at work"),
        error => Failure::failed(error),
    })?;
    let mut inner = fs::read_dir(folder).into_iter().flatten().flatten().filter(is_folder);
    if inner.any(|entry| File::open(entry.path()).is_ok_and(|open| is_held(&open))) {
        return Err(in_use("another run unpacks programs"));
    }
    match has_running_programs(folder) {
        true => Err(in_use("another run has a server whose programs are")),
        false => Ok(claimed),
    }
}

fn is_folder(entry: &fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Whether another process holds this folder, as one does that unpacks programs there. Otherwise this one holds it for
/// as long as it is open.
fn is_held(folder: &File) -> bool {
    matches!(folder.try_lock(), Err(TryLockError::WouldBlock))
}

/// Whether a process runs a program that lies in a folder. The folder may be a link to a larger disk, and the kernel
/// names programs by where they lie.
fn has_running_programs(folder: &Path) -> bool {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.into());
    let program = |entry: fs::DirEntry| fs::read_link(entry.path().join("exe")).ok();
    let mut programs = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(program);
    programs.any(|program| program.starts_with(&folder))
}

/// Bytes of all files in a folder and below. What another run removes at this moment has none.
fn bytes_in(folder: &Path) -> io::Result<u64> {
    let bytes = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_in(&entry.path()),
            found => unless_gone(found.map(|found| found.len())),
        }
    };
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.try_fold(0_u64, |sum, entry| Ok(sum + bytes(entry)?)),
        Err(error) => unless_gone(Err(error)),
    }
}

fn unless_gone(bytes: io::Result<u64>) -> io::Result<u64> {
    match bytes {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        bytes => bytes,
    }
}

/// Removes a folder with all that is in it. A link to a larger disk stays, and so does the folder there.
fn remove(folder: &Path) -> io::Result<()> {
    for entry in lock_last(folder)? {
        if entry.file_type()?.is_dir() { remove_unless_held(&entry.path())? } else { fs::remove_file(entry.path())? }
    }
    // It stays where it is a link or a mount, and where another run has put something into it meanwhile.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// Removes a folder of the cache, unless another run has begun to unpack programs there since the cache was claimed.
fn remove_unless_held(folder: &Path) -> io::Result<()> {
    let open = File::open(folder).ok();
    if open.as_ref().is_some_and(is_held) {
        return Ok(());
    }
    match fs::remove_dir_all(folder) {
        // What is unpacked completely has another name.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// What is in a folder, its lock at the end: as soon as that is gone, another run may load tables there, and those
/// would be removed half-made.
fn lock_last(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let (lock, mut others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.file_name() == LOCK_FILE);
    others.extend(lock);
    Ok(others)
}

/// Bytes in a sentence, rounded up to KiB or MiB.
pub(super) fn size(bytes: u64) -> String {
    let unit = if bytes < 10 << 20 { 1 << 10 } else { 1 << 20 };
    size_in_words(bytes.next_multiple_of(unit))
}

/// Removes private servers that killed runs left in the folder for temporary files, with what they had.
fn clean_private(is_rehearsal: bool) -> Result<Exit, Failure> {
    if clean_leftovers(server::private::sweep, is_rehearsal)? == 0 {
        output::print(&format!("No private server has left anything in {}.\n", env::temp_dir().display()))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use sys::file::OwnFolder;

    use super::*;

    #[test]
    fn a_program_that_runs_behind_a_link_is_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let program = env::current_exe().unwrap();
        let link = dir.path().join("postgres");
        std::os::unix::fs::symlink(program.parent().unwrap(), &link).unwrap();
        assert!(has_running_programs(&link));
        assert!(!has_running_programs(dir.path()));
    }

    #[test]
    fn programs_that_another_run_unpacks_stay() {
        let dir = tempfile::tempdir().unwrap();
        let unfinished = OwnFolder::create(dir.path(), "unfinished-").unwrap();
        let refusal = claim(dir.path()).unwrap_err().message;
        assert!(refusal.starts_with("another run unpacks programs in "), "{refusal}");
        // That run may begin when the folder is claimed already.
        let [left, whole] = ["unfinished-1-0", "18.6.0"].map(|name| dir.path().join(name));
        [&left, &whole].iter().for_each(|folder| fs::create_dir(folder).unwrap());
        remove(dir.path()).unwrap();
        assert!(unfinished.path().is_dir() && !left.exists() && !whole.exists());
    }

    #[test]
    fn tables_that_runs_read_stay_until_the_last_run_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let table = dir.path().join("segment-00000.pages");
        fs::write(&table, [7; 8192]).unwrap();
        let [one, other] = [(); 2].map(|()| DirectoryUse::begin(dir.path()).unwrap());
        let clean = || clean_folder(dir.path(), "tables", false);
        for run in [one, other] {
            let refusal = clean().unwrap_err().message;
            assert!(refusal.starts_with("another run is at work in ") && table.exists(), "{refusal}");
            assert_eq!(clean_folder(dir.path(), "tables", true).unwrap_err().message, refusal);
            drop(run);
        }
        assert!(clean_folder(dir.path(), "tables", true).is_ok());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "a rehearsal has written something");
        assert!(clean().is_ok() && !table.exists());
    }

    #[test]
    fn a_folder_that_another_run_removes_meanwhile_is_no_failure_and_has_no_bytes() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("below/file"), [7; 300]).unwrap();
        assert_eq!(bytes_in(dir.path()).unwrap(), 300);
        assert_eq!(bytes_in(&dir.path().join("gone")).unwrap(), 0);
        assert!(bytes_in(&dir.path().join("below/file")).is_err(), "it is no folder");
    }

    #[test]
    fn the_lock_of_a_folder_is_removed_last() {
        let tables: Vec<String> = (0..20).map(|number| format!("table-{number}")).collect();
        // A file system lists what was made first or last, or in an order of its own.
        for is_first in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let mut names: Vec<&str> = tables.iter().map(String::as_str).collect();
            names.insert(if is_first { 0 } else { names.len() }, LOCK_FILE);
            names.iter().for_each(|name| fs::write(dir.path().join(name), "").unwrap());
            let found: Vec<_> = lock_last(dir.path()).unwrap().iter().map(fs::DirEntry::file_name).collect();
            assert!(found.len() == 21 && found[20] == LOCK_FILE, "{found:?}");
        }
    }

    #[test]
    fn what_a_killed_run_left_and_cannot_be_removed_is_no_success() {
        let sweep = |_: &Path, fate: Leftovers| match fate {
            Leftovers::Found => vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/job")],
            Leftovers::Removed => Vec::new(),
        };
        let failure = clean_leftovers(sweep, false).unwrap_err();
        assert_eq!(failure.exit, Exit::Failed);
        assert!(failure.message.contains("could not be removed") && failure.message.contains("src/job"));
        assert_eq!(clean_leftovers(|_, _| Vec::new(), false).unwrap(), 0);
    }
}
