//! Indexes on the disk: built whole or not at all, named in the manifest, verified when they are read.
//!
//! The rules are those of the tables ([`crate::heap::loader`]): the manifest names an index only when its pages are on
//! the disk, so a build that is interrupted or killed leaves at most a file that no index names, and the next load
//! removes it. An index goes with its table.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use sys::memory::Arena;

use super::bulk::{Built, Bulk, BulkSettings};
use super::key::{Key, KeyKind};
use super::node::NodeView;
use super::sort::{KeySorter, SORT_BYTES};
use super::tree::{BTree, TreePlace};
pub use crate::catalog::index::{IndexInfo, IndexSpec};
use crate::catalog::manifest::{Manifest, claim};
use crate::catalog::segment_file::{NewSegment, segment_file};
use crate::catalog::table::TableState;
use crate::error::StorageError;
use crate::heap::table::HeapTable;
use crate::page::access::PageAccess;
use crate::page::id::{PAGE_SIZE, PageId, RowId, SegmentId};
use crate::page::{self, PageBytes, PageView, number};

/// Pages of one write: 4 MiB, so that a disk's rate counts and not its latency.
const WRITE_PAGES: usize = 512;

/// Pages between two reports of progress.
const PAGES_BETWEEN_REPORTS: u32 = 512;

/// The most bytes that an entry takes besides its key, where leaves are full: page, slot, end, and what of the prefix
/// and of the nodes above comes to it. For the question whether the disk has room.
const ENTRY_BYTES_ABOUT: u64 = 10;

impl IndexInfo {
    /// The tree, whose data file is `segment` to the store of its pages, and that of its table `table`.
    pub fn tree(&self, segment: SegmentId, table: SegmentId) -> BTree {
        let place = TreePlace { segment, table, name: PathBuf::from(&self.file) };
        BTree::new(place, self.spec.keys, self.built)
    }
}

/// The keys of a table, as a source for [`load`]: reads all of its pages in order, one get each. Rows without a value
/// in the column have no key.
///
/// Errors as the gets and as [`KeySorter::add`], and for a value that is no number where the keys are numbers.
pub fn keys_of_table<A: PageAccess>(
    access: &A,
    table: &HeapTable,
    column: u8,
    sorter: &mut KeySorter<'_>,
) -> Result<(), StorageError> {
    for number in 0..table.pages() {
        let id = table.page(number);
        let page = access.get(id)?;
        for (slot, row) in (0_u16..).zip(PageView::verified(&page).rows()) {
            let Some(value) = row.column(column).flatten() else { continue };
            let key = match sorter.keys() {
                KeyKind::Text => Some(Key::Text(value)),
                KeyKind::Number => number::decode(value).map(Key::Number),
            };
            let no_number =
                || format!("column {column} of row {slot} of {id} holds no number and cannot be indexed as one");
            sorter.add(key.ok_or_else(|| StorageError::Parameters(no_number()))?, RowId { page: id, slot })?;
        }
    }
    Ok(())
}

/// How a load is watched and ended.
pub struct Watch<'a> {
    /// Hears how many entries stand in finished leaves, from the calling thread.
    pub progress: &'a mut dyn FnMut(u64),
    /// Raised, it ends the load with [`StorageError::Stopped`].
    pub stop: &'a AtomicBool,
}

/// Makes sure that `directory` holds the index of `spec`, building it when it or its file is absent, or when its
/// parameters differ; an index that is there is reused. A damaged one is an error, as of
/// [`loader::load`](crate::heap::loader::load).
///
/// `source` gives the keys in any order; it is not asked when the index is reused. They are sorted in
/// [`SORT_BYTES`] of memory and a scratch file without a name. Nothing is left of a load that fails or is stopped.
pub fn load(
    directory: &Path,
    spec: &IndexSpec,
    source: impl FnOnce(&mut KeySorter<'_>) -> Result<(), StorageError>,
    watch: Watch<'_>,
) -> Result<IndexInfo, StorageError> {
    // An index that is there is only read, as others may do at the same time.
    if let Some(index) = found(&Manifest::read(directory)?, directory, spec)? {
        return Ok(index);
    }
    let _lock = claim(directory)?;
    let mut manifest = Manifest::read(directory)?;
    let Some(table) = manifest.table(&spec.table).cloned() else {
        let reason = format!("it holds no table {} to build index {} on; load it first", spec.table, spec.name);
        return Err(StorageError::BadFile { file: directory.into(), reason });
    };
    if let Some(index) = found(&manifest, directory, spec)? {
        return Ok(index);
    }
    manifest.remove_index(directory, &spec.name)?;
    manifest.remove_leftovers(directory)?;
    let segment = manifest.free_segment()?;
    let mut sorter = KeySorter::new(spec.keys, SORT_BYTES, directory, watch.stop);
    source(&mut sorter)?;
    let (file, built) = write_index(directory, segment, spec, sorter, watch)?;
    let index = IndexInfo {
        spec: spec.clone(),
        table_segment: table.segment,
        segment: segment.0,
        file: segment_file(segment),
        page_format: page::FORMAT_VERSION,
        built,
        state: TableState::Loaded,
    };
    if let Some(reason) = index.contradiction(table.rows) {
        let reason = format!("the keys are not those of table {}: {reason}", spec.table);
        return Err(StorageError::Parameters(reason));
    }
    manifest.indexes.push(index.clone());
    manifest.write(directory).map_err(|error| file.not_named(error))?;
    file.keep();
    Ok(index)
}

/// Verifies the pages of one data file, as a buffer pool wants it; as [`crate::heap::loader::verifier`].
pub fn verifier(segment: SegmentId) -> impl Fn(&PageBytes, u32) -> Result<(), String> + Send + Sync + 'static {
    move |bytes, number| {
        let verified = NodeView::verify(bytes, PageId { segment, number });
        verified.map(drop).map_err(|damage| damage.to_string())
    }
}

/// The index of `spec`, where the directory holds it.
fn found(manifest: &Manifest, directory: &Path, spec: &IndexSpec) -> Result<Option<IndexInfo>, StorageError> {
    match manifest.index(&spec.name).filter(|index| index.spec == *spec) {
        Some(index) if is_there(directory, index)? => Ok(Some(index.clone())),
        _ => Ok(None),
    }
}

/// Whether the index has its file, which is checked as far as one look goes: length, first page and root.
fn is_there(directory: &Path, index: &IndexInfo) -> Result<bool, StorageError> {
    let file = index.data_file(directory);
    let Some(open) = file.open()? else { return Ok(false) };
    let look = |bytes: &PageBytes, page| NodeView::verify(bytes, page).map(|node| (node.level(), node.keys()));
    open.check(0, look)?;
    let root = index.built.pages - 1;
    let (level, keys) = open.check(root, look)?;
    if level + 1 != index.built.height || keys != Some(index.spec.keys) {
        return Err(open.bad_page(root, "it is not the root of the index that the manifest names".into()));
    }
    Ok(true)
}

/// Writes the data file of sorted keys and puts it on the disk.
fn write_index(
    directory: &Path,
    segment: SegmentId,
    spec: &IndexSpec,
    sorter: KeySorter<'_>,
    watch: Watch<'_>,
) -> Result<(NewSegment, Built), StorageError> {
    let bytes = (sorter.key_bytes() + sorter.entries() * ENTRY_BYTES_ABOUT) * 100 / u64::from(spec.fill_percent.max(1));
    let file = NewSegment::create(directory.join(segment_file(segment)), bytes)?;
    let failed = |error| file.failed(error);
    let mut pages = PageFile::new(file.file()).map_err(failed)?;
    let settings = BulkSettings { keys: spec.keys, fill_percent: spec.fill_percent, segment };
    let mut bulk = Bulk::new(settings, |bytes: &PageBytes| pages.push(bytes).map_err(failed))?;
    let mut finished = 0;
    sorter.finish(&mut |key, place| {
        bulk.push(key, place)?;
        let so_far = bulk.so_far();
        if so_far.pages >= finished + PAGES_BETWEEN_REPORTS {
            finished = so_far.pages;
            (watch.progress)(so_far.entries);
        }
        Ok(())
    })?;
    let built = bulk.finish()?;
    pages.flush().map_err(failed)?;
    (watch.progress)(built.entries);
    drop(pages);
    file.finish()?;
    Ok((file, built))
}

/// Pages that are written one behind the other, many at once.
struct PageFile<'a> {
    file: &'a File,
    arena: Arena,
    held: usize,
    written: u64,
}

impl PageFile<'_> {
    fn new(file: &File) -> io::Result<PageFile<'_>> {
        Ok(PageFile { file, arena: Arena::new(1, WRITE_PAGES * PAGE_SIZE)?, held: 0, written: 0 })
    }

    fn push(&mut self, bytes: &PageBytes) -> io::Result<()> {
        self.arena.slot_mut(0)[self.held..][..PAGE_SIZE].copy_from_slice(bytes);
        self.held += PAGE_SIZE;
        if self.held == WRITE_PAGES * PAGE_SIZE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.arena.slot(0)[..self.held], self.written)?;
        self.written += self.held as u64;
        self.held = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::manifest::MANIFEST_FILE;
    use crate::catalog::table::{TableInfo, TableSpec};
    use crate::heap::loader;
    use crate::pool::{Pool, PoolSettings, Session};
    use crate::tests::index_entries::{entries, rows_of};
    use crate::tests::stored_files::{change_byte, cut, first_bad_page};
    use dataset::DataSet;
    use dataset::uniform::RowShape;
    use std::fs;
    use std::ops::Bound;
    use sys::file::{Caching, Target};

    static GO_ON: AtomicBool = AtomicBool::new(false);

    fn spec(table: &str) -> IndexSpec {
        let (name, table) = (format!("{table}_by_2"), table.into());
        IndexSpec { name, table, column: 2, keys: KeyKind::Text, fill_percent: 90 }
    }

    fn table(directory: &Path, seed: u64) -> TableInfo {
        let spec = TableSpec::new("t", DataSet::uniform(RowShape { row_length: 250, columns: 5 }, 3 << 20, seed));
        loader::load(directory, &spec, &mut |_| (), &GO_ON).unwrap()
    }

    /// A pool with the table, and the table.
    fn pool_of(directory: &Path, info: &TableInfo) -> (Pool, HeapTable) {
        let pool = Pool::new(PoolSettings::new(16 << 20)).unwrap();
        let target = Target::open(&info.path(directory), Caching::Buffered).unwrap();
        let verify = loader::verifier(SegmentId(info.segment));
        let segment = pool.add_segment(target, info.pages, move |bytes, page| verify(bytes, page.number)).unwrap();
        (pool, HeapTable::new(info, segment))
    }

    /// The tree in the pool.
    fn opened(directory: &Path, pool: &Pool, table: &HeapTable, info: &IndexInfo) -> BTree {
        let target = Target::open(&info.path(directory), Caching::Buffered).unwrap();
        let verify = verifier(SegmentId(info.segment));
        let segment =
            pool.add_segment(target, info.built.pages, move |bytes, page| verify(bytes, page.number)).unwrap();
        info.tree(segment, table.segment())
    }

    fn built(directory: &Path, info: &TableInfo, stop: &AtomicBool) -> (Result<IndexInfo, StorageError>, u64) {
        let (pool, table) = pool_of(directory, info);
        let session = pool.session();
        let mut heard = 0;
        let source = |sorter: &mut KeySorter<'_>| keys_of_table(&session, &table, 2, sorter);
        let watch = Watch { progress: &mut |entries| heard = entries, stop };
        let result = load(directory, &spec(&info.spec.name), source, watch);
        (result, heard)
    }

    /// A directory with a table and an index.
    fn indexed() -> (tempfile::TempDir, TableInfo, IndexInfo) {
        let directory = tempfile::tempdir().unwrap();
        let table = table(directory.path(), 1);
        let index = built(directory.path(), &table, &GO_ON).0.unwrap();
        (directory, table, index)
    }

    fn verified(directory: &Path, index: &IndexInfo) {
        assert_eq!(Manifest::read(directory).unwrap().index(&index.spec.name), Some(index));
        assert_eq!(first_bad_page(&index.path(directory), verifier(SegmentId(index.segment))), Ok(()));
    }

    fn rows_in_key_order(session: &Session<'_>, tree: &BTree) -> Result<Vec<(Vec<u8>, RowId)>, StorageError> {
        entries(session, tree, (Bound::Unbounded, Bound::Unbounded))
    }

    #[test]
    fn an_index_on_the_disk_holds_the_column_of_its_table_in_order() {
        let (directory, info, index) = indexed();
        verified(directory.path(), &index);
        let (pool, table) = pool_of(directory.path(), &info);
        let tree = opened(directory.path(), &pool, &table, &index);
        let session = pool.session();
        let mut expected = Vec::new();
        for number in 0..table.pages() {
            let page = session.get(table.page(number)).unwrap();
            let rows = PageView::verified(&page).rows().map(|row| row.column(2).flatten().unwrap().to_vec());
            expected.extend(rows.zip(0..).map(|(key, slot)| (key, RowId { page: table.page(number), slot })));
        }
        expected.sort();
        assert_eq!(rows_in_key_order(&session, &tree).unwrap(), expected);
        assert_eq!(index.built.entries, info.rows);
        let changes = expected.windows(2).filter(|pair| pair[0].1.page != pair[1].1.page).count() as u64;
        assert_eq!(index.built.clustering_factor, changes + 1);
    }

    #[test]
    fn a_finished_index_is_reused_and_one_of_other_parameters_replaced() {
        let (directory, table, index) = indexed();
        let (again, heard) = built(directory.path(), &table, &GO_ON);
        assert_eq!((again.unwrap(), heard), (index.clone(), 0));
        let mut other = index.spec.clone();
        other.fill_percent = 60;
        let no_rows = |_: &mut KeySorter<'_>| Ok(());
        let watch = Watch { progress: &mut |_| (), stop: &GO_ON };
        let replaced = load(directory.path(), &other, no_rows, watch).unwrap();
        assert_eq!((replaced.built.entries, replaced.built.pages, replaced.built.height), (0, 1, 1));
        assert_eq!(Manifest::read(directory.path()).unwrap().indexes, [replaced]);
    }

    #[test]
    fn an_index_goes_when_its_table_is_loaded_anew() {
        let (directory, ..) = indexed();
        table(directory.path(), 2);
        assert!(Manifest::read(directory.path()).unwrap().indexes.is_empty());
        let pages = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        assert_eq!(pages.filter(|path| path.extension().is_some_and(|ending| ending == "pages")).count(), 1);
    }

    #[test]
    fn a_stopped_build_leaves_nothing_and_a_killed_ones_file_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let info = table(directory.path(), 1);
        let leftover = directory.path().join(segment_file(SegmentId(1)));
        fs::write(&leftover, [0; 100_000]).unwrap();
        let stopped = built(directory.path(), &info, &AtomicBool::new(true)).0;
        assert!(matches!(stopped, Err(StorageError::Stopped)));
        assert!(!leftover.exists() && Manifest::read(directory.path()).unwrap().indexes.is_empty());
        let index = built(directory.path(), &info, &GO_ON).0.unwrap();
        verified(directory.path(), &index);
    }

    #[test]
    fn an_index_without_its_table_cannot_be() {
        let (directory, _, index) = indexed();
        let manifest = directory.path().join(MANIFEST_FILE);
        let text = fs::read_to_string(&manifest).unwrap();
        for (from, to, reason) in [
            ("\"table\":\"t\"", "\"table\":\"u\"", "belongs to no table"),
            ("\"table_segment\":0", "\"table_segment\":5", "belongs to no table"),
            ("\"height\":2", "\"height\":0", "cannot be"),
            ("\"height\":2", "\"height\":1", "cannot be"),
            ("segment-00001", "../../passwd", "cannot be"),
            ("\"entries\":12582", "\"entries\":99999", "cannot be"),
        ] {
            let compact = text.replace("\": ", "\":");
            assert!(compact.contains(from), "{compact}");
            fs::write(&manifest, compact.replace(from, to)).unwrap();
            let message = Manifest::read(directory.path()).unwrap_err().to_string();
            assert!(message.contains(reason), "{to}: {message}");
        }
        let absent = IndexSpec { table: "u".into(), ..index.spec };
        fs::write(&manifest, text).unwrap();
        let error = load(directory.path(), &absent, |_| Ok(()), Watch { progress: &mut |_| (), stop: &GO_ON });
        assert!(error.unwrap_err().to_string().contains("no table u to build index t_by_2 on"));
    }

    #[test]
    fn a_damaged_index_page_is_named_with_file_and_number_and_never_used() {
        let (directory, info, index) = indexed();
        let path = index.path(directory.path());
        change_byte(&path, 2 * PAGE_SIZE as u64 + 4321);
        let expected = format!("{}: page 2 is damaged (its checksum", path.display());
        let (pool, table) = pool_of(directory.path(), &info);
        let tree = opened(directory.path(), &pool, &table, &index);
        for _ in 0..2 {
            let message = rows_in_key_order(&pool.session(), &tree).unwrap_err().to_string();
            assert!(message.contains(&expected), "{message}");
        }
    }

    #[test]
    fn an_index_whose_file_is_cut_or_damaged_is_an_error_and_one_without_a_file_is_built_again() {
        type Spoil<'a> = (&'a dyn Fn(&Path), &'a str);
        let spoils: [Spoil<'_>; 2] = [
            (&|path| cut(path, 8192), "page 1 is damaged (the file is 8192 bytes long"),
            (&|path| change_byte(path, 100), "page 0 is damaged (its checksum"),
        ];
        for (spoil, reason) in spoils {
            let (directory, table, index) = indexed();
            spoil(&index.path(directory.path()));
            let message = built(directory.path(), &table, &GO_ON).0.unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
        let (directory, table, index) = indexed();
        fs::remove_file(index.path(directory.path())).unwrap();
        let (again, heard) = built(directory.path(), &table, &GO_ON);
        assert_eq!((again.unwrap(), heard), (index.clone(), index.built.entries));
        verified(directory.path(), &index);
    }

    #[test]
    fn a_page_of_the_table_in_the_place_of_a_node_is_refused() {
        let (directory, table, index) = indexed();
        let rows = fs::read(table.path(directory.path())).unwrap();
        let file = File::options().write(true).open(index.path(directory.path())).unwrap();
        file.write_all_at(&rows[..PAGE_SIZE], 0).unwrap();
        let message = built(directory.path(), &table, &GO_ON).0.unwrap_err().to_string();
        assert!(message.contains("page 0 is damaged (it says that it is page 0 of segment 0)"), "{message}");
    }

    #[test]
    fn a_column_of_texts_cannot_be_indexed_as_numbers_and_one_of_numbers_can() {
        let directory = tempfile::tempdir().unwrap();
        let spec = TableSpec::new("c", DataSet::customers(5000, 1));
        let info = loader::load(directory.path(), &spec, &mut |_| (), &GO_ON).unwrap();
        let (pool, table) = pool_of(directory.path(), &info);
        let session = pool.session();
        let load_by = |column| {
            let spec =
                IndexSpec { name: "n".into(), table: "c".into(), column, keys: KeyKind::Number, fill_percent: 90 };
            let source = |sorter: &mut KeySorter<'_>| keys_of_table(&session, &table, column, sorter);
            load(directory.path(), &spec, source, Watch { progress: &mut |_| (), stop: &GO_ON })
        };
        let message = load_by(17).unwrap_err().to_string();
        assert!(message.contains("column 17 of row 0 of page 0 of segment 0 holds no number"), "{message}");
        let by_id = load_by(1).unwrap();
        assert_eq!((by_id.built.entries, by_id.built.clustering_factor), (5000, u64::from(info.pages)));
        let tree = opened(directory.path(), &pool, &table, &by_id);
        assert_eq!(rows_of(&session, &tree, Key::Number(777)).unwrap(), [table.row_id(776)]);
        assert!(rows_of(&session, &tree, Key::Number(0)).unwrap().is_empty());
    }
}
