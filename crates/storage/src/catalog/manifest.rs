//! The manifest: which tables and indexes a data directory holds, with what they were made from.
//!
//! A table or index stands here only when all its pages are on the disk, so whatever interrupts a load leaves no trace
//! here. The file is written whole or not at all. The format is in docs/formats.md.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use measure::atomic_file;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::directory::{DirectoryLock, LOCK_FILE, unless_used_by_others};
use super::index::IndexInfo;
use super::segment_file::{Beginning, is_segment_file, remove_file};
use super::table::TableInfo;
use crate::error::{StorageError, io_error};
use crate::page::id::SegmentId;

/// The name of the manifest in its directory.
pub const MANIFEST_FILE: &str = "manifest.json";

/// What the manifest says that it is.
pub const MANIFEST_FORMAT: &str = "readpath.data/1";

/// How every manifest of this program begins, without the white space.
const BEGINNING: &[u8] = br#"{"format":"readpath.data/"#;

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
    /// Errors with [`StorageError::BadFile`] for a manifest of another version, with [`StorageError::BadManifest`] for
    /// a damaged one, and with [`StorageError::Foreign`] for a file of another program.
    pub fn read(directory: &Path) -> Result<Manifest, StorageError> {
        let file = directory.join(MANIFEST_FILE);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Manifest::default()),
            Err(error) => return Err(StorageError::Io { file, doing: "reading", error }),
        };
        if let Ok(FormatOnly { format }) = serde_json::from_slice(&text)
            && format != MANIFEST_FORMAT
        {
            let reason = format!(
                "its format is {format} and this program reads {MANIFEST_FORMAT}; use the program that wrote it or \
                 name another directory"
            );
            return Err(StorageError::BadFile { file, reason });
        }
        Manifest::parse(&text).map_err(|reason| match is_ours(directory, &text) {
            true => StorageError::BadManifest { file, reason },
            false => StorageError::Foreign { file },
        })
    }

    fn parse(text: &[u8]) -> Result<Manifest, String> {
        let manifest: Manifest =
            serde_json::from_slice(text).map_err(|error| format!("it is no manifest of this program: {error}"))?;
        let of_tables = manifest.tables.iter().find_map(TableInfo::contradiction);
        match of_tables.or_else(|| manifest.contradiction_of_indexes()) {
            Some(reason) => Err(reason),
            None => Ok(manifest),
        }
    }

    /// Removes a damaged manifest and the data files that it named; a readable one stays. Errors with
    /// [`StorageError::InUse`] when another process uses the directory.
    pub(crate) fn discard_damaged(directory: &Path) -> Result<(), StorageError> {
        match Manifest::read(directory) {
            Err(StorageError::BadManifest { .. }) => {
                let empty = Manifest::default();
                let files = empty.unnamed_files(directory)?;
                empty.write_without(directory, &files)
            }
            other => other.map(drop),
        }
    }

    /// Writes the manifest, and then removes files that it does not name any more: never the other way round. Errors
    /// with [`StorageError::InUse`] when another process uses the directory.
    fn write_without(&self, directory: &Path, files: &[PathBuf]) -> Result<(), StorageError> {
        unless_used_by_others(directory, || {
            self.write(directory)?;
            files.iter().try_for_each(|file| remove_file(file))
        })
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

    /// What is wrong with the indexes. An index belongs to one table as it is now: with its table it goes.
    fn contradiction_of_indexes(&self) -> Option<String> {
        self.indexes.iter().find_map(|index| {
            let table = self.table(&index.spec.table).filter(|table| table.segment == index.table_segment);
            match table {
                Some(table) => index.contradiction(table.rows),
                None => Some(format!("index {} belongs to no table of it", index.spec.name)),
            }
        })
    }

    /// Takes a table and its indexes out of the manifest, on the disk too, and removes their files. An absent table is
    /// no error; one of a directory that another process uses is [`StorageError::InUse`].
    pub(crate) fn remove_table(&mut self, directory: &Path, name: &str) -> Result<(), StorageError> {
        let Some(at) = self.tables.iter().position(|table| table.spec.name == name) else { return Ok(()) };
        let table = self.tables.remove(at);
        // Without their rows its indexes are worth nothing.
        let indexes = self.indexes.extract_if(.., |index| index.spec.table == name);
        let files: Vec<PathBuf> = indexes.map(|index| index.path(directory)).chain([table.path(directory)]).collect();
        self.write_without(directory, &files)
    }

    /// Takes an index out of the manifest, as [`Manifest::remove_table`] does a table.
    pub(crate) fn remove_index(&mut self, directory: &Path, name: &str) -> Result<(), StorageError> {
        let Some(at) = self.indexes.iter().position(|index| index.spec.name == name) else { return Ok(()) };
        let index = self.indexes.remove(at);
        self.write_without(directory, &[index.path(directory)])
    }

    /// Removes data files that the manifest does not name: what a killed load has left. [`claim`] has refused others.
    pub(crate) fn remove_leftovers(&self, directory: &Path) -> Result<(), StorageError> {
        self.unnamed_files(directory)?.iter().try_for_each(|path| remove_file(path))
    }

    /// Files with the names of data files that the manifest does not name.
    fn unnamed_files(&self, directory: &Path) -> Result<Vec<PathBuf>, StorageError> {
        let mut files = Vec::new();
        let of_tables = self.tables.iter().map(|table| &table.file);
        let named: HashSet<&String> = of_tables.chain(self.indexes.iter().map(|index| &index.file)).collect();
        for entry in fs::read_dir(directory).map_err(io_error(directory, "listing"))? {
            let entry = entry.map_err(io_error(directory, "listing"))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_segment_file(&name) && !named.contains(&name) {
                files.push(entry.path());
            }
        }
        Ok(files)
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

/// The right to change an existing data directory. Errors with [`StorageError::Foreign`] where a file of another
/// program has a name that is used there, before anything is written, and with [`StorageError::Locked`] as the lock
/// does.
pub(crate) fn claim(directory: &Path) -> Result<DirectoryLock, StorageError> {
    let manifest = match Manifest::read(directory) {
        Err(StorageError::BadManifest { .. }) => Manifest::default(),
        read => read?,
    };
    let files = manifest.unnamed_files(directory)?;
    // Looked for after the files: another load makes its lock before them.
    let is_ours = [MANIFEST_FILE, LOCK_FILE].iter().any(|name| directory.join(name).exists());
    for file in files {
        let may_be_removed = match Beginning::of(&file)? {
            Beginning::Ours => true,
            Beginning::Unwritten => is_ours,
            Beginning::Foreign => false,
        };
        if !may_be_removed {
            return Err(StorageError::Foreign { file });
        }
    }
    DirectoryLock::take(directory)
}

/// Whether a manifest that cannot be used was written by this program. A torn one is known by its beginning, or by the
/// lock or a data file beside it; a whole document that begins otherwise is another program's.
fn is_ours(directory: &Path, text: &[u8]) -> bool {
    let begins_as_ours = text.iter().filter(|byte| !byte.is_ascii_whitespace()).take(BEGINNING.len()).eq(BEGINNING);
    let is_whole = || serde_json::from_slice::<IgnoredAny>(text).is_ok();
    let is_page = |file: &PathBuf| matches!(Beginning::of(file), Ok(Beginning::Ours));
    let has_pages = || Manifest::default().unnamed_files(directory).is_ok_and(|files| files.iter().any(is_page));
    begins_as_ours || !is_whole() && (directory.join(LOCK_FILE).exists() || has_pages())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::table::TableSpec;
    use dataset::DataSet;
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
        assert!(reason_of("[1, 2]").contains("was not made by readpath"));
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
