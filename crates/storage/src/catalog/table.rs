//! A table of a data directory: what it was made from, and what came of it.

use std::path::{Path, PathBuf};

use dataset::DataSet;
use measure::quantity::size_in_words;
use serde::{Deserialize, Serialize};

use super::segment_file::{SegmentFile, segment_file};
use crate::error::StorageError;
use crate::page::id::{PAGE_SIZE, SegmentId};
use crate::page::{self, PAGE_ROOM, SLOT_BYTES};

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
            Err(_) => {
                let payload = size_in_words(self.data.payload);
                refused(format!("{payload} of payload are more than 32 TiB of pages hold"))
            }
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

    /// The data file in its directory.
    pub(crate) fn data_file(&self, directory: &Path) -> SegmentFile {
        SegmentFile { path: self.path(directory), segment: SegmentId(self.segment), pages: self.pages }
    }

    /// What contradicts the specification, which the numbers follow from; only another writer leaves such a table.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let name = &self.spec.name;
        if self.page_format != page::FORMAT_VERSION {
            return Some(other_format(&format!("table {name}"), self.page_format));
        }
        match TableInfo::planned(&self.spec, SegmentId(self.segment)) {
            Ok(planned) if planned == *self => None,
            Ok(_) => Some(format!("what it says of table {name} does not fit its parameters")),
            Err(error) => Some(format!("table {name} cannot be: {error}")),
        }
    }
}

/// What it means that the pages of this table or index are of another version of the format.
pub(super) fn other_format(of: &str, theirs: u16) -> String {
    format!("the pages of {of} have format {theirs} and this program reads format {}", page::FORMAT_VERSION)
}
