//! The manifest: which tables and indexes a data directory holds, with what they were made from.
//!
//! A table or index stands here only when all its pages are on the disk, so whatever interrupts a load leaves no trace
//! here. The file is written whole or not at all. The format is in docs/formats.md.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use dataset::DataSet;
use measure::atomic_file;
use serde::{Deserialize, Serialize};

use crate::btree::stored::IndexInfo;
use crate::error::StorageError;
use crate::page::{self, PAGE_ROOM, SLOT_BYTES};
use crate::page_id::{PAGE_SIZE, SegmentId};

/// The name of the manifest in its directory.
pub const MANIFEST_FILE: &str = "manifest.json";

/// The name of the file that a loading process holds locked.
pub const LOCK_FILE: &str = "lock";

/// What the manifest says that it is.
pub const MANIFEST_FORMAT: &str = "readpath.data/1";

/// What a table is made from. Tables of equal specifications are equal, byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSpec {
    /// Its name in the data directory.
    pub name: String,
    /// Its rows.
    #[serde(flatten)]
    pub data: DataSet,
}

impl TableSpec {
    /// A table of these rows.
    pub fn new(name: &str, data: DataSet) -> TableSpec {
        TableSpec { name: name.into(), data }
    }

    /// How many rows every page but the last holds.
    pub fn rows_per_page(&self) -> u32 {
        let as_fit = || (PAGE_ROOM / (self.data.row_bytes_max() + SLOT_BYTES)) as u32;
        self.data.group().unwrap_or_else(as_fit)
    }

    /// How many rows the table has.
    pub fn rows(&self) -> u64 {
        self.data.count()
    }

    /// How many pages the table has. Errors when the specification cannot be.
    pub fn pages(&self) -> Result<u32, StorageError> {
        self.data.check()?;
        let refused = |reason: String| Err(StorageError::Parameters(reason));
        if self.name.is_empty() {
            return refused("a table needs a name".into());
        }
        match u32::try_from(self.rows().div_ceil(u64::from(self.rows_per_page()))) {
            Ok(pages) => Ok(pages),
            Err(_) => refused(format!("{} bytes of payload are more than 32 TiB of pages hold", self.data.payload)),
        }
    }
}

/// How far a table has come. Only what is complete is ever written down, so there is one state so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableState {
    /// All pages are on the disk.
    Loaded,
}

/// A table of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// What it was made from.
    #[serde(flatten)]
    pub spec: TableSpec,
    /// The number of its data file, which every page of it names.
    pub segment: u16,
    /// The data file's name in the directory.
    pub file: String,
    /// The version of the page format.
    pub page_format: u16,
    /// Pages of the file.
    pub pages: u32,
    /// Rows of the table.
    pub rows: u64,
    /// How far it has come.
    pub state: TableState,
}

impl TableInfo {
    /// The table that `spec` will be in data file `segment`. Errors when the specification cannot be.
    pub fn planned(spec: &TableSpec, segment: SegmentId) -> Result<TableInfo, StorageError> {
        Ok(TableInfo {
            spec: spec.clone(),
            segment: segment.0,
            file: segment_file(segment),
            page_format: page::FORMAT_VERSION,
            pages: spec.pages()?,
            rows: spec.rows(),
            state: TableState::Loaded,
        })
    }

    /// Bytes of the data file.
    pub fn file_bytes(&self) -> u64 {
        u64::from(self.pages) * PAGE_SIZE as u64
    }

    /// Where the data file is.
    pub fn path(&self, directory: &Path) -> PathBuf {
        directory.join(&self.file)
    }
}

/// The name of a data file.
pub fn segment_file(segment: SegmentId) -> String {
    format!("segment-{:05}.pages", segment.0)
}

/// The tables of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_FORMAT`].
    pub format: String,
    /// The tables, in the order of loading.
    pub tables: Vec<TableInfo>,
    /// The indexes, in the order of building.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<IndexInfo>,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest { format: MANIFEST_FORMAT.into(), tables: Vec::new(), indexes: Vec::new() }
    }
}

/// Only the part of a manifest that every version of it has.
#[derive(Deserialize)]
struct FormatOnly {
    format: String,
}

impl Manifest {
    /// Reads the manifest of a directory; an absent one is an empty one.
    ///
    /// Errors with [`StorageError::BadFile`] for a manifest of another version, and for one that is none.
    pub fn read(directory: &Path) -> Result<Manifest, StorageError> {
        let file = directory.join(MANIFEST_FILE);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Manifest::default()),
            Err(error) => return Err(StorageError::Io { file, doing: "reading", error }),
        };
        Manifest::parse(&text).map_err(|reason| StorageError::BadFile { file, reason })
    }

    fn parse(text: &[u8]) -> Result<Manifest, String> {
        let broken = |error: serde_json::Error| {
            format!("it is no manifest of this program ({error}); name another directory or remove this one")
        };
        let FormatOnly { format } = serde_json::from_slice(text).map_err(broken)?;
        if format != MANIFEST_FORMAT {
            return Err(format!(
                "its format is {format} and this program reads {MANIFEST_FORMAT}; use the program that wrote it or \
                 name another directory"
            ));
        }
        let manifest: Manifest = serde_json::from_slice(text).map_err(broken)?;
        let of_tables = manifest.tables.iter().find_map(contradiction);
        match of_tables.or_else(|| manifest.contradiction_of_indexes()) {
            Some(reason) => Err(reason),
            None => Ok(manifest),
        }
    }

    /// Writes the manifest, whole or not at all.
    pub fn write(&self, directory: &Path) -> Result<(), StorageError> {
        let file = directory.join(MANIFEST_FILE);
        // What a killed writer left; it harms nothing where it cannot be removed.
        let _ = atomic_file::sweep(directory);
        let written = serde_json::to_vec_pretty(self).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            atomic_file::replace(&file, &text)
        });
        written.map_err(|error| StorageError::Io { file, doing: "writing", error })
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&TableInfo> {
        self.tables.iter().find(|table| table.spec.name == name)
    }

    /// The index of this name.
    pub fn index(&self, name: &str) -> Option<&IndexInfo> {
        self.indexes.iter().find(|index| index.spec.name == name)
    }

    /// Whether a data file of this name belongs to a table or an index.
    pub fn names_file(&self, name: &str) -> bool {
        self.tables.iter().any(|table| table.file == name) || self.indexes.iter().any(|index| index.file == name)
    }

    /// What is wrong with the indexes. An index belongs to one table as it is now: with its table it goes.
    fn contradiction_of_indexes(&self) -> Option<String> {
        self.indexes.iter().find_map(|index| {
            let table = self.table(&index.spec.table).filter(|table| table.segment == index.table_segment);
            match table {
                Some(table) => index.contradiction(table.rows),
                None => Some(format!("index {} belongs to no table of it; remove this directory", index.spec.name)),
            }
        })
    }

    /// The lowest number that no table or index uses. Errors when every number is taken.
    pub fn free_segment(&self) -> Result<SegmentId, StorageError> {
        let of_tables = self.tables.iter().map(|table| table.segment);
        let taken: HashSet<u16> = of_tables.chain(self.indexes.iter().map(|index| index.segment)).collect();
        let is_free = |number: &u16| !taken.contains(number);
        // The last number is left out: with it an undo link could look like none.
        let free = (0..u16::MAX).find(is_free).map(SegmentId);
        free.ok_or_else(|| StorageError::Parameters("the data directory holds 65535 tables and indexes already".into()))
    }
}

/// Whether a table's numbers follow from its specification; what does not was written by somebody else.
fn contradiction(table: &TableInfo) -> Option<String> {
    let name = &table.spec.name;
    let format = table.page_format;
    if format != page::FORMAT_VERSION {
        let ours = page::FORMAT_VERSION;
        return Some(format!("the pages of table {name} have format {format} and this program reads format {ours}"));
    }
    match TableInfo::planned(&table.spec, SegmentId(table.segment)) {
        Ok(planned) if planned == *table => None,
        Ok(_) => Some(format!("what it says of table {name} does not fit its parameters; remove this directory")),
        Err(error) => Some(format!("table {name} cannot be: {error}")),
    }
}

/// Puts the names in a directory on the disk, after a file was made, renamed or removed.
pub fn sync_directory(directory: &Path) -> Result<(), StorageError> {
    let synced = File::open(directory).and_then(|handle| handle.sync_all());
    synced.map_err(|error| StorageError::Io { file: directory.into(), doing: "writing to the disk", error })
}

/// The right to change a data directory, until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock of an existing directory. Errors with [`StorageError::Locked`] when another process has it.
    pub fn take(directory: &Path) -> Result<DirectoryLock, StorageError> {
        let path = directory.join(LOCK_FILE);
        let failed = |doing| {
            let file = path.clone();
            move |error| StorageError::Io { file, doing, error }
        };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed("opening"))?;
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StorageError::Locked { directory: directory.into() }),
            Err(TryLockError::Error(error)) => Err(failed("locking")(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataset::uniform::RowShape;

    fn spec() -> TableSpec {
        TableSpec::new("t", DataSet::uniform(RowShape { row_length: 250, columns: 5 }, 1 << 20, 7))
    }

    fn with_payload(payload: u64) -> TableSpec {
        TableSpec { data: DataSet { payload, ..spec().data }, ..spec() }
    }

    fn manifest() -> Manifest {
        Manifest { tables: vec![TableInfo::planned(&spec(), SegmentId(3)).unwrap()], ..Manifest::default() }
    }

    fn reason_of(text: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(MANIFEST_FILE), text).unwrap();
        Manifest::read(directory.path()).unwrap_err().to_string()
    }

    #[test]
    fn a_manifest_comes_back_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(directory.path()).unwrap(), Manifest::default());
        manifest().write(directory.path()).unwrap();
        assert_eq!(Manifest::read(directory.path()).unwrap(), manifest());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "a draft is left");
    }

    #[test]
    fn a_torn_foreign_newer_or_contradictory_manifest_is_never_used() {
        let text = serde_json::to_string(&manifest()).unwrap();
        assert!(reason_of(&text[..text.len() / 2]).contains("no manifest"));
        assert!(reason_of("[1, 2]").contains("no manifest"));
        assert!(reason_of(&text.replace("data/1", "data/2")).contains("its format is readpath.data/2"));
        assert!(reason_of(&text.replace("\"page_format\":1", "\"page_format\":9")).contains("have format 9"));
        assert!(reason_of(&text.replace("\"rows\":4194", "\"rows\":4195")).contains("does not fit"));
        assert!(reason_of(&text.replace("segment-00003", "../../passwd")).contains("does not fit"));
    }

    #[test]
    fn two_holders_of_one_directory_cannot_be() {
        let directory = tempfile::tempdir().unwrap();
        let held = DirectoryLock::take(directory.path()).unwrap();
        assert!(matches!(DirectoryLock::take(directory.path()), Err(StorageError::Locked { .. })));
        drop(held);
        DirectoryLock::take(directory.path()).unwrap();
    }

    #[test]
    fn a_table_without_rows_or_without_a_name_cannot_be() {
        assert!(with_payload(249).pages().unwrap_err().to_string().contains("less than one row"));
        assert!(TableSpec { name: String::new(), ..spec() }.pages().unwrap_err().to_string().contains("a name"));
        assert!(with_payload(u64::MAX).pages().unwrap_err().to_string().contains("32 TiB"));
    }

    #[test]
    fn the_lowest_free_number_is_taken() {
        let mut manifest = manifest();
        assert_eq!(manifest.free_segment().unwrap(), SegmentId(0));
        manifest.tables[0].segment = 0;
        assert_eq!(manifest.free_segment().unwrap(), SegmentId(1));
    }
}
