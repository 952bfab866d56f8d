//! The bulk load: a table from a generator to the disk, whole or not at all.
//!
//! Several writers each take a stretch of pages, make its rows, and write it past the page cache; while one waits for
//! the disk another computes. The manifest names the table only when its pages are on the disk, so an interrupted or
//! killed load leaves at most a file that no table names, and the next load removes it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;
use sys::fill::{Filling, reserve};

use crate::btree::stored::IndexInfo;
use crate::error::StorageError;
use crate::manifest::{DirectoryLock, Manifest, TableInfo, TableSpec, segment_file, sync_directory};
use crate::page::{PageBytes, PageKind, PageMut, PageView};
use crate::page_id::{PAGE_SIZE, PageId, SegmentId};
use crate::table_rows::TableRows;

/// Bytes that stay free on the disk.
const RESERVE_BYTES: u64 = 64 << 20;

/// Makes sure that `directory` holds the table of `spec`, loading it when it is absent, when its parameters differ,
/// or when its file is not whole; a table that is there is reused.
///
/// `progress` hears how many bytes of the file are written, from the calling thread. Raising `stop` ends the load
/// with [`StorageError::Stopped`] within one write a writer, and nothing is left of it.
pub fn load(
    directory: &Path,
    spec: &TableSpec,
    progress: &mut dyn FnMut(u64),
    stop: &AtomicBool,
) -> Result<TableInfo, StorageError> {
    spec.pages()?;
    fs::create_dir_all(directory).map_err(io_error(directory, "creating"))?;
    let _lock = DirectoryLock::take(directory)?;
    let mut manifest = Manifest::read(directory)?;
    if let Some(table) = manifest.table(&spec.name)
        && table.spec == *spec
        && check_file(directory, table).is_ok()
    {
        return Ok(table.clone());
    }
    remove_table(directory, &mut manifest, &spec.name)?;
    remove_leftovers(directory, &manifest)?;
    let table = TableInfo::planned(spec, manifest.free_segment()?)?;
    if let Err(error) = write_table(directory, &table, progress, stop) {
        // The load has failed for a reason of its own; a file that cannot be removed now is removed by the next load.
        let _ = fs::remove_file(table.path(directory));
        return Err(error);
    }
    manifest.tables.push(table.clone());
    if let Err(error) = manifest.write(directory) {
        let _ = fs::remove_file(table.path(directory));
        return Err(named_if_full(directory, &table, error));
    }
    Ok(table)
}

/// The table of this name, its file checked as far as one look goes: length, first page and last page.
///
/// Errors with [`StorageError::BadFile`] when there is no such table or its file is not whole, with
/// [`StorageError::BadPage`] when a page is damaged.
pub fn open(directory: &Path, name: &str) -> Result<TableInfo, StorageError> {
    let manifest = Manifest::read(directory)?;
    let Some(table) = manifest.table(name) else {
        let reason = format!("it holds no table {name}; load it first");
        return Err(StorageError::BadFile { file: directory.into(), reason });
    };
    check_file(directory, table)?;
    Ok(table.clone())
}

/// Removes a table; an absent one is no error.
pub fn forget(directory: &Path, name: &str) -> Result<(), StorageError> {
    if !directory.exists() {
        return Ok(());
    }
    let _lock = DirectoryLock::take(directory)?;
    let mut manifest = Manifest::read(directory)?;
    remove_table(directory, &mut manifest, name)
}

/// Verifies every page of a table. Errors name the first bad one.
pub fn verify(
    directory: &Path,
    table: &TableInfo,
    progress: &mut dyn FnMut(u64),
    stop: &AtomicBool,
) -> Result<(), StorageError> {
    let file = open_of_right_length(directory, table)?;
    let mut bytes = [0; PAGE_SIZE];
    for number in 0..table.pages {
        if stop.load(Ordering::Relaxed) {
            return Err(StorageError::Stopped);
        }
        verify_page(&file, &table.path(directory), PageId { segment: SegmentId(table.segment), number }, &mut bytes)?;
        progress((u64::from(number) + 1) * PAGE_SIZE as u64);
    }
    Ok(())
}

/// The judge of the pages of one data file, as a buffer pool wants it: the page's number counts, and the segment is
/// the one that the file was written as, whatever number the pool gives it.
pub fn verifier(segment: SegmentId) -> impl Fn(&PageBytes, u32) -> Result<(), String> + Send + Sync + 'static {
    move |bytes, number| {
        let verified = PageView::verify(bytes, PageId { segment, number });
        verified.map(drop).map_err(|damage| damage.to_string())
    }
}

pub(crate) fn io_error(file: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> StorageError + use<> {
    let file = file.to_path_buf();
    move |error| StorageError::Io { file, doing, error }
}

fn open_of_right_length(directory: &Path, table: &TableInfo) -> Result<File, StorageError> {
    let path = table.path(directory);
    let file = File::open(&path).map_err(io_error(&path, "opening"))?;
    let length = file.metadata().map_err(io_error(&path, "looking at"))?.len();
    if length != table.file_bytes() {
        let expected = table.file_bytes();
        let reason = format!("it is {length} bytes long and should be {expected}; load the table again");
        return Err(StorageError::BadFile { file: path, reason });
    }
    Ok(file)
}

fn check_file(directory: &Path, table: &TableInfo) -> Result<(), StorageError> {
    let file = open_of_right_length(directory, table)?;
    let mut bytes = [0; PAGE_SIZE];
    for number in [0, table.pages.saturating_sub(1)] {
        verify_page(&file, &table.path(directory), PageId { segment: SegmentId(table.segment), number }, &mut bytes)?;
    }
    Ok(())
}

fn verify_page(file: &File, path: &Path, page: PageId, bytes: &mut PageBytes) -> Result<(), StorageError> {
    let offset = u64::from(page.number) * PAGE_SIZE as u64;
    file.read_exact_at(bytes, offset).map_err(io_error(path, "reading"))?;
    match PageView::verify(bytes, page) {
        Ok(_) => Ok(()),
        Err(damage) => Err(StorageError::BadPage { file: path.into(), page, reason: damage.to_string() }),
    }
}

/// Takes a table and its indexes out of the manifest, on the disk too, and then removes their files: never the other
/// way round.
fn remove_table(directory: &Path, manifest: &mut Manifest, name: &str) -> Result<(), StorageError> {
    let Some(table) = manifest.table(name).cloned() else { return Ok(()) };
    manifest.tables.retain(|other| other.spec.name != name);
    // Without their rows its indexes are worth nothing.
    let of_the_table = |index: &IndexInfo| index.spec.table == name;
    let (gone, kept) = std::mem::take(&mut manifest.indexes).into_iter().partition(of_the_table);
    manifest.indexes = kept;
    manifest.write(directory)?;
    let gone: Vec<IndexInfo> = gone;
    gone.iter().try_for_each(|index| remove_file(&index.path(directory)))?;
    remove_file(&table.path(directory))
}

/// Removes data files that the manifest does not name: what a killed load has left.
pub(crate) fn remove_leftovers(directory: &Path, manifest: &Manifest) -> Result<(), StorageError> {
    for entry in fs::read_dir(directory).map_err(io_error(directory, "listing"))? {
        let entry = entry.map_err(io_error(directory, "listing"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_segment_file(&name) && !manifest.names_file(&name) {
            remove_file(&entry.path())?;
        }
    }
    Ok(())
}

/// Whether this program may have made the file: only such files are ever removed.
fn is_segment_file(name: &str) -> bool {
    let number = name.strip_prefix("segment-").and_then(|rest| rest.strip_suffix(".pages"));
    number.and_then(|number| number.parse().ok()).is_some_and(|number| segment_file(SegmentId(number)) == name)
}

pub(crate) fn remove_file(path: &Path) -> Result<(), StorageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(path, "removing")(error)),
        _ => Ok(()),
    }
}

/// Writes the data file and puts it on the disk.
fn write_table(
    directory: &Path,
    table: &TableInfo,
    progress: &mut dyn FnMut(u64),
    stop: &AtomicBool,
) -> Result<(), StorageError> {
    check_space(directory, table.file_bytes())?;
    let path = table.path(directory);
    let file = create_direct(&path).map_err(io_error(&path, "creating"))?;
    let failed = |error: io::Error| write_error(directory, &path, table.file_bytes(), error);
    reserve(&file, table.file_bytes()).map_err(|errno| failed(errno.into()))?;
    let rows = TableRows::of(&table.spec)?;
    let make = |offset: u64, buffer: &mut [u8]| {
        let first = (offset / PAGE_SIZE as u64) as u32;
        for (number, bytes) in (first..).zip(buffer.as_chunks_mut::<PAGE_SIZE>().0) {
            build_page(table, &rows, number, bytes);
        }
    };
    Filling::new(&file, table.file_bytes(), make, stop).run(progress).map_err(failed)?;
    if stop.load(Ordering::Relaxed) {
        return Err(StorageError::Stopped);
    }
    file.sync_all().map_err(io_error(&path, "writing to the disk"))?;
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(|errno| failed(errno.into()))?;
    sync_directory(directory)
}

/// An error on the way to the manifest: a full disk is the same danger there as under the table's pages.
fn named_if_full(directory: &Path, table: &TableInfo, error: StorageError) -> StorageError {
    match error {
        StorageError::Io { file, error, .. } => write_error(directory, &file, table.file_bytes(), error),
        other => other,
    }
}

/// A full disk has an error of its own; the others name the file.
pub(crate) fn write_error(directory: &Path, path: &Path, bytes: u64, error: io::Error) -> StorageError {
    match Errno::from_io_error(&error) {
        Some(Errno::NOSPC | Errno::DQUOT) => StorageError::NoSpace {
            directory: directory.into(),
            needed: bytes,
            free: free_bytes(directory).unwrap_or(0),
        },
        _ => StorageError::Io { file: path.into(), doing: "writing", error },
    }
}

fn free_bytes(directory: &Path) -> Result<u64, Errno> {
    let space = rustix::fs::statvfs(directory)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

pub(crate) fn check_space(directory: &Path, bytes: u64) -> Result<(), StorageError> {
    let free = free_bytes(directory).map_err(|errno| io_error(directory, "looking at")(errno.into()))?;
    let needed = bytes.saturating_add(RESERVE_BYTES);
    if needed > free {
        return Err(StorageError::NoSpace { directory: directory.into(), needed, free });
    }
    Ok(())
}

/// A new file past the page cache where the file system allows it: what was loaded is not to look cached afterwards.
pub(crate) fn create_direct(path: &Path) -> io::Result<File> {
    let create = |flags| OpenOptions::new().write(true).create_new(true).custom_flags(flags).open(path);
    match create(OFlags::DIRECT.bits() as i32) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            // Some file systems make the file before they refuse the flag.
            let _ = fs::remove_file(path);
            create(0)
        }
        created => created,
    }
}

/// Makes one page of a table. Each page but the last holds the same number of rows, so any page can be made without
/// those before it.
pub fn build_page(table: &TableInfo, rows: &TableRows, number: u32, bytes: &mut PageBytes) {
    let id = PageId { segment: SegmentId(table.segment), number };
    let per_page = u64::from(table.spec.rows_per_page());
    let first = u64::from(number) * per_page;
    let mut page = PageMut::format(bytes, id, PageKind::Heap);
    rows.fill_page(first..(first + per_page).min(table.rows), &mut page);
    page.seal();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::MANIFEST_FILE;
    use dataset::uniform::RowShape;
    use dataset::{DataSet, Value};

    fn spec(row_length: u32, columns: u32) -> TableSpec {
        TableSpec::new(
            &format!("t{row_length}x{columns}"),
            DataSet::uniform(RowShape { row_length, columns }, 3 << 20, 1),
        )
    }

    fn with_payload(payload: u64) -> TableSpec {
        let spec = spec(250, 5);
        TableSpec { data: DataSet { payload, ..spec.data }, ..spec }
    }

    fn loaded(directory: &Path, spec: &TableSpec) -> Result<TableInfo, StorageError> {
        load(directory, spec, &mut |_| (), &AtomicBool::new(false))
    }

    fn verified(directory: &Path, table: &TableInfo) -> Result<(), StorageError> {
        verify(directory, table, &mut |_| (), &AtomicBool::new(false))
    }

    /// A directory with one table, whose file was then spoilt.
    fn spoilt(spoil: impl FnOnce(&Path)) -> (tempfile::TempDir, TableInfo) {
        let directory = tempfile::tempdir().unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        spoil(&table.path(directory.path()));
        (directory, table)
    }

    fn change_byte(path: &Path, at: u64) {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 4], at).unwrap();
    }

    #[test]
    fn several_tables_stand_in_one_directory_and_every_page_of_them_is_good() {
        let directory = tempfile::tempdir().unwrap();
        let specs = [spec(2500, 25), spec(250, 5), spec(25, 1)];
        let tables: Vec<TableInfo> = specs.iter().map(|spec| loaded(directory.path(), spec).unwrap()).collect();
        for (table, spec) in tables.iter().zip(&specs) {
            assert_eq!(open(directory.path(), &spec.name).unwrap(), *table);
            verified(directory.path(), table).unwrap();
        }
        assert_eq!(tables[1].rows, (3 << 20) / 250);
        assert!(open(directory.path(), "absent").unwrap_err().to_string().contains("no table absent"));
    }

    #[test]
    fn the_pages_hold_the_rows_of_the_generator_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        let file = fs::read(table.path(directory.path())).unwrap();
        let mut stored = file.as_chunks::<PAGE_SIZE>().0.iter().flat_map(|bytes| PageView::verified(bytes).rows());
        table.spec.data.rows().unwrap().each(0..table.rows, |row| {
            let values: Vec<Value<'_>> = stored.next().unwrap().columns().flatten().map(Value::Text).collect();
            assert_eq!(row.values().collect::<Vec<_>>(), values);
        });
        assert!(stored.next().is_none());
    }

    #[test]
    fn a_finished_table_is_reused_and_one_of_other_parameters_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let first = loaded(directory.path(), &spec(250, 5)).unwrap();
        let mut written = 0;
        let again = load(directory.path(), &first.spec, &mut |bytes| written = bytes, &AtomicBool::new(false));
        assert_eq!((again.unwrap(), written), (first.clone(), 0));
        let other = TableSpec { data: DataSet { seed: 2, ..first.spec.data.clone() }, ..first.spec.clone() };
        let second = loaded(directory.path(), &other).unwrap();
        assert_eq!(open(directory.path(), &first.spec.name).unwrap().spec.data.seed, 2);
        verified(directory.path(), &second).unwrap();
        assert_eq!(Manifest::read(directory.path()).unwrap().tables.len(), 1);
    }

    #[test]
    fn a_killed_load_leaves_a_file_that_the_next_load_removes() {
        let directory = tempfile::tempdir().unwrap();
        let leftover = directory.path().join(segment_file(SegmentId(0)));
        let foreign = directory.path().join("segment-1.pages");
        fs::write(&leftover, [7; 100_000]).unwrap();
        fs::write(&foreign, "not ours").unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        verified(directory.path(), &table).unwrap();
        assert!(foreign.exists(), "a file of somebody else was removed");
    }

    #[test]
    fn a_stopped_load_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let large = with_payload(64 << 20);
        let result = load(directory.path(), &large, &mut |_| stop.store(true, Ordering::Relaxed), &stop);
        assert!(matches!(result, Err(StorageError::Stopped)));
        assert!(!directory.path().join(MANIFEST_FILE).exists());
        assert!(!directory.path().join(segment_file(SegmentId(0))).exists());
    }

    #[test]
    fn a_truncated_or_flipped_file_is_refused_with_its_name_and_page() {
        let (directory, table) = spoilt(|path| File::options().write(true).open(path).unwrap().set_len(8192).unwrap());
        let message = open(directory.path(), &table.spec.name).unwrap_err().to_string();
        assert!(message.contains("segment-00000.pages: it is 8192 bytes long"), "{message}");
        let (directory, table) = spoilt(|path| change_byte(path, 5 * PAGE_SIZE as u64 + 8000));
        let message = verified(directory.path(), &table).unwrap_err().to_string();
        assert!(message.contains("segment-00000.pages: page 5 is damaged (its checksum"), "{message}");
    }

    #[test]
    fn a_damaged_table_is_loaded_again_and_not_used() {
        let (directory, table) = spoilt(|path| change_byte(path, 100));
        assert!(matches!(open(directory.path(), &table.spec.name), Err(StorageError::BadPage { .. })));
        let again = loaded(directory.path(), &table.spec).unwrap();
        verified(directory.path(), &again).unwrap();
        forget(directory.path(), &table.spec.name).unwrap();
        assert!(open(directory.path(), &table.spec.name).is_err());
        assert!(!again.path(directory.path()).exists());
    }

    #[test]
    fn a_table_larger_than_the_disk_is_refused_before_anything_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let huge = with_payload(8 << 40);
        assert!(matches!(loaded(directory.path(), &huge), Err(StorageError::NoSpace { .. })));
        assert!(!directory.path().join(segment_file(SegmentId(0))).exists());
    }

    #[test]
    fn a_full_disk_is_told_apart_from_other_failures() {
        let path = Path::new("/nowhere");
        let error = |errno: Errno| write_error(path, path, 9, errno.into());
        assert!(matches!(error(Errno::NOSPC), StorageError::NoSpace { needed: 9, .. }));
        assert!(matches!(error(Errno::IO), StorageError::Io { .. }));
    }

    #[test]
    fn a_load_beside_another_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let _held = DirectoryLock::take(directory.path()).unwrap();
        assert!(matches!(loaded(directory.path(), &spec(250, 5)), Err(StorageError::Locked { .. })));
    }

    #[test]
    fn the_judge_of_a_file_knows_its_segment() {
        let (directory, table) = spoilt(|_| ());
        let file = fs::read(table.path(directory.path())).unwrap();
        let page = &file.as_chunks::<PAGE_SIZE>().0[1];
        assert_eq!(verifier(SegmentId(0))(page, 1), Ok(()));
        assert!(verifier(SegmentId(0))(page, 2).unwrap_err().contains("it says that it is page 1"));
        assert!(verifier(SegmentId(1))(page, 1).is_err());
    }
}
