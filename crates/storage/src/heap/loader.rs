//! The bulk load: a table from a data set to the disk, whole or not at all.
//!
//! Several writers each take a segment of pages, make its rows, and write it past the page cache; while one waits for
//! the disk another computes. The manifest names the table only when its pages are on the disk, so an interrupted or
//! killed load leaves at most a file that no table names, and the next load removes it.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use sys::file::{Filling, reserve};

use super::rows::TableRows;
use crate::catalog::manifest::{Manifest, claim};
use crate::catalog::segment_file::NewSegment;
use crate::catalog::table::{TableInfo, TableSpec};
use crate::error::{StorageError, io_error};
use crate::page::id::{PAGE_SIZE, PageId, SegmentId};
use crate::page::{Damage, PageBytes, PageKind, PageMut, PageView};

/// Makes sure that `directory` holds the table of `spec`, loading it when it or its file is absent, or when its
/// parameters differ; a table that is there is reused.
///
/// Errors with [`StorageError::Foreign`] when a file of another program has a name that the load would write, and with
/// [`StorageError::BadPage`] when the table's file is not as long as it should be, or when its first or last page
/// is damaged: a page between them that is damaged is the same error when it is read. What a disk has spoilt is never
/// replaced without a word; [`forget`] makes room for a new load.
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
    // A table that is there is only read, as others may do at the same time.
    if let Some(table) = found(&Manifest::read(directory)?, directory, spec)? {
        return Ok(table);
    }
    let _lock = claim(directory)?;
    let mut manifest = Manifest::read(directory)?;
    if let Some(table) = found(&manifest, directory, spec)? {
        return Ok(table);
    }
    manifest.remove_table(directory, &spec.name)?;
    manifest.remove_leftovers(directory)?;
    let table = TableInfo::planned(spec, manifest.free_segment()?)?;
    let file = write_table(directory, &table, progress, stop)?;
    manifest.tables.push(table.clone());
    manifest.write(directory).map_err(|error| file.not_named(error))?;
    file.keep();
    Ok(table)
}

/// Removes a table; an absent one is no error.
pub fn forget(directory: &Path, name: &str) -> Result<(), StorageError> {
    if !directory.exists() {
        return Ok(());
    }
    let _lock = claim(directory)?;
    Manifest::read(directory)?.remove_table(directory, name)
}

/// Removes all tables and indexes of a directory whose manifest is damaged; a readable one stays as it is.
pub fn discard_damaged(directory: &Path) -> Result<(), StorageError> {
    if !directory.exists() {
        return Ok(());
    }
    let _lock = claim(directory)?;
    Manifest::discard_damaged(directory)
}

/// Verifies the pages of one data file, as a buffer pool wants it: the page's number counts, and the segment is the one
/// that the file was written as, whatever number the pool gives it.
pub fn verifier(segment: SegmentId) -> impl Fn(&PageBytes, u32) -> Result<(), String> + Send + Sync + 'static {
    move |bytes, number| verify_page(bytes, PageId { segment, number }).map_err(|damage| damage.to_string())
}

/// The table of `spec`, where the directory holds it.
fn found(manifest: &Manifest, directory: &Path, spec: &TableSpec) -> Result<Option<TableInfo>, StorageError> {
    match manifest.table(&spec.name).filter(|table| table.spec == *spec) {
        Some(table) if is_there(directory, table)? => Ok(Some(table.clone())),
        _ => Ok(None),
    }
}

fn verify_page(bytes: &PageBytes, page: PageId) -> Result<(), Damage> {
    PageView::verify(bytes, page).map(drop)
}

/// Whether the table has its file, which is checked as far as one look goes: length, first page and last page.
fn is_there(directory: &Path, table: &TableInfo) -> Result<bool, StorageError> {
    let file = table.data_file(directory);
    let Some(open) = file.open()? else { return Ok(false) };
    [0, table.pages.saturating_sub(1)].into_iter().try_for_each(|number| open.check(number, verify_page))?;
    Ok(true)
}

/// Writes the data file and puts it on the disk.
fn write_table(
    directory: &Path,
    table: &TableInfo,
    progress: &mut dyn FnMut(u64),
    stop: &AtomicBool,
) -> Result<NewSegment, StorageError> {
    let file = NewSegment::create(table.path(directory), table.file_bytes())?;
    reserve(file.file(), table.file_bytes()).map_err(|errno| file.failed(errno.into()))?;
    let rows = TableRows::of(&table.spec)?;
    let make = |offset: u64, buffer: &mut [u8]| {
        let first = (offset / PAGE_SIZE as u64) as u32;
        for (number, bytes) in (first..).zip(buffer.as_chunks_mut::<PAGE_SIZE>().0) {
            build_page(table, &rows, number, bytes);
        }
    };
    let filling = Filling::new(file.file(), table.file_bytes(), make, stop);
    filling.run(progress).map_err(|error| file.failed(error))?;
    StorageError::unless_stopped(stop)?;
    file.finish()?;
    Ok(file)
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
    use crate::catalog::directory::{DirectoryLock, LOCK_FILE};
    use crate::catalog::manifest::MANIFEST_FILE;
    use crate::catalog::segment_file::segment_file;
    use crate::tests::stored_files::{change_byte, cut, first_bad_page};
    use dataset::uniform::RowShape;
    use dataset::{DataSet, Value};
    use std::sync::atomic::Ordering;

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

    /// Whether the table is the only one of its name, and all its pages are good.
    fn verified(directory: &Path, table: &TableInfo) {
        assert_eq!(Manifest::read(directory).unwrap().table(&table.spec.name), Some(table));
        assert_eq!(first_bad_page(&table.path(directory), verifier(SegmentId(table.segment))), Ok(()));
    }

    /// A directory with one table, whose file was then spoilt.
    fn spoilt(spoil: impl FnOnce(&Path)) -> (tempfile::TempDir, TableInfo) {
        let directory = tempfile::tempdir().unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        spoil(&table.path(directory.path()));
        (directory, table)
    }

    #[test]
    fn several_tables_stand_in_one_directory_and_every_page_of_them_is_good() {
        let directory = tempfile::tempdir().unwrap();
        let specs = [spec(2500, 25), spec(250, 5), spec(25, 1)];
        let tables: Vec<TableInfo> = specs.iter().map(|spec| loaded(directory.path(), spec).unwrap()).collect();
        for (table, spec) in tables.iter().zip(&specs) {
            assert_eq!(table.spec, *spec);
            verified(directory.path(), table);
        }
        assert_eq!(tables[1].rows, (3 << 20) / 250);
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
        assert_eq!(second.spec.data.seed, 2);
        verified(directory.path(), &second);
        assert_eq!(Manifest::read(directory.path()).unwrap().tables.len(), 1);
    }

    #[test]
    fn a_killed_load_leaves_a_file_that_the_next_load_removes() {
        let directory = tempfile::tempdir().unwrap();
        let leftover = directory.path().join(segment_file(SegmentId(0)));
        let foreign = directory.path().join("segment-1.pages");
        // The lock is there before the file, and nothing was written yet.
        drop(DirectoryLock::take(directory.path()).unwrap());
        fs::write(&leftover, [0; 100_000]).unwrap();
        fs::write(&foreign, "not ours").unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        verified(directory.path(), &table);
        assert!(foreign.exists(), "another program's file was removed");
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
    fn a_table_whose_file_is_cut_or_damaged_is_an_error_and_never_replaced_without_a_word() {
        type Spoil<'a> = (&'a dyn Fn(&Path, &TableInfo), &'a str);
        let last = |table: &TableInfo| u64::from(table.pages - 1) * PAGE_SIZE as u64;
        let spoils: [Spoil<'_>; 5] = [
            (&|path, _| cut(path, 8192), "page 1 is damaged (the file is 8192 bytes long and should be"),
            (&|path, _| cut(path, 0), "page 0 is damaged (the file is 0 bytes long"),
            (&|path, table| cut(path, last(table) + 2 * PAGE_SIZE as u64), "bytes long and should be"),
            (&|path, _| change_byte(path, 100), "page 0 is damaged (its checksum"),
            (&|path, table| change_byte(path, last(table) + 100), "is damaged (its checksum"),
        ];
        for (spoil, reason) in spoils {
            let directory = tempfile::tempdir().unwrap();
            let table = loaded(directory.path(), &spec(250, 5)).unwrap();
            let path = table.path(directory.path());
            spoil(&path, &table);
            let spoilt = fs::read(&path).unwrap();
            let error = loaded(directory.path(), &table.spec).unwrap_err();
            assert!(matches!(error, StorageError::BadPage { .. }) && error.to_string().contains(reason), "{error}");
            assert!(error.to_string().contains("segment-00000.pages"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), spoilt, "it was replaced");
            forget(directory.path(), &table.spec.name).unwrap();
            assert!(!path.exists());
            verified(directory.path(), &loaded(directory.path(), &table.spec).unwrap());
        }
    }

    #[test]
    fn a_table_whose_file_was_removed_is_loaded_again() {
        let (directory, table) = spoilt(|path| fs::remove_file(path).unwrap());
        verified(directory.path(), &loaded(directory.path(), &table.spec).unwrap());
    }

    #[test]
    fn a_flipped_bit_in_the_middle_is_named_with_its_page() {
        let (directory, table) = spoilt(|path| change_byte(path, 5 * PAGE_SIZE as u64 + 8000));
        let (page, reason) = first_bad_page(&table.path(directory.path()), verifier(SegmentId(0))).unwrap_err();
        assert!(page == 5 && reason.contains("its checksum"), "page {page}: {reason}");
    }

    #[test]
    fn a_table_larger_than_the_disk_is_refused_before_anything_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let huge = with_payload(8 << 40);
        assert!(matches!(loaded(directory.path(), &huge), Err(StorageError::NoSpace { .. })));
        assert!(!directory.path().join(segment_file(SegmentId(0))).exists());
    }

    #[test]
    fn a_load_beside_another_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let held = DirectoryLock::take(directory.path()).unwrap();
        assert!(matches!(loaded(directory.path(), &spec(250, 5)), Err(StorageError::Locked { .. })));
        drop(held);
        loaded(directory.path(), &spec(250, 5)).unwrap();
    }

    #[test]
    fn a_table_is_not_replaced_under_another_run_that_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        let reader = fs::File::open(directory.path()).unwrap();
        reader.try_lock_shared().unwrap();
        let larger = with_payload(4 << 20);
        assert!(matches!(forget(directory.path(), &table.spec.name), Err(StorageError::InUse { .. })));
        assert!(matches!(loaded(directory.path(), &larger), Err(StorageError::InUse { .. })));
        verified(directory.path(), &table);
        loaded(directory.path(), &spec(25, 1)).unwrap();
        drop(reader);
        verified(directory.path(), &loaded(directory.path(), &larger).unwrap());
    }

    #[test]
    fn a_table_that_is_only_read_is_not_refused_beside_a_load() {
        let directory = tempfile::tempdir().unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        let _held = DirectoryLock::take(directory.path()).unwrap();
        assert_eq!(loaded(directory.path(), &table.spec).unwrap(), table);
    }

    #[test]
    fn a_file_of_another_program_is_never_replaced_or_removed_whatever_is_asked_for() {
        for (name, text) in [
            ("segment-00000.pages", "the user's own pages"),
            ("segment-00007.pages", ""),
            ("manifest.json", "{\"name\": \"the user's own\"}"),
            ("manifest.json", "{ torn"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join(name);
            fs::write(&file, text).unwrap();
            let refusals = [
                loaded(directory.path(), &spec(250, 5)).map(drop),
                forget(directory.path(), "t250x5"),
                discard_damaged(directory.path()),
            ];
            for refusal in refusals {
                let said = refusal.unwrap_err().to_string();
                assert!(said.contains(name) && said.contains("name an empty directory"), "{said}");
            }
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "something was written beside {name}");
        }
    }

    #[test]
    fn a_file_of_another_program_that_came_among_the_tables_later_stays() {
        let directory = tempfile::tempdir().unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        let foreign = directory.path().join(segment_file(SegmentId(1)));
        fs::write(&foreign, "the user's own pages").unwrap();
        assert!(matches!(loaded(directory.path(), &spec(25, 1)), Err(StorageError::Foreign { .. })));
        fs::write(directory.path().join(MANIFEST_FILE), "{ torn").unwrap();
        assert!(matches!(discard_damaged(directory.path()), Err(StorageError::Foreign { .. })));
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "the user's own pages");
        assert!(table.path(directory.path()).exists());
    }

    #[test]
    fn a_torn_manifest_is_known_by_the_tables_beside_it() {
        let (directory, table) = spoilt(|_| ());
        fs::remove_file(directory.path().join(LOCK_FILE)).unwrap();
        fs::write(directory.path().join(MANIFEST_FILE), "").unwrap();
        assert!(matches!(loaded(directory.path(), &table.spec), Err(StorageError::BadManifest { .. })));
        discard_damaged(directory.path()).unwrap();
        verified(directory.path(), &loaded(directory.path(), &table.spec).unwrap());
    }

    #[test]
    fn a_damaged_manifest_can_be_discarded_and_a_readable_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let table = loaded(directory.path(), &spec(250, 5)).unwrap();
        discard_damaged(directory.path()).unwrap();
        assert!(table.path(directory.path()).exists());
        let manifest = directory.path().join(MANIFEST_FILE);
        fs::write(&manifest, "{ torn").unwrap();
        assert!(matches!(loaded(directory.path(), &table.spec), Err(StorageError::BadManifest { .. })));
        discard_damaged(directory.path()).unwrap();
        assert!(!table.path(directory.path()).exists());
        loaded(directory.path(), &table.spec).unwrap();
        let newer = fs::read_to_string(&manifest).unwrap().replace("data/1", "data/2");
        fs::write(&manifest, &newer).unwrap();
        assert!(discard_damaged(directory.path()).is_err());
        assert_eq!(fs::read_to_string(&manifest).unwrap(), newer);
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
