//! An index of a data directory: what it was made from, and what came of it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::segment_file::{SegmentFile, segment_file};
use super::table::{TableState, other_format};
use crate::btree::bulk::{Built, FILL_PERCENT};
use crate::btree::key::KeyKind;
use crate::btree::node::LEVEL_MAX;
use crate::page;
use crate::page::id::{PAGE_SIZE, SegmentId};

/// What an index is made from. Over equal tables, indexes of equal specifications are equal, byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSpec {
    /// Its name in the data directory.
    pub name: String,
    /// The name of its table.
    pub table: String,
    /// The column of its keys, counted from 1.
    pub column: u8,
    /// What the keys are.
    pub keys: KeyKind,
    /// How full its leaves are, in percent; see [`FILL_PERCENT`].
    pub fill_percent: u8,
}

/// An index of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexInfo {
    /// What it was made from.
    #[serde(flatten)]
    pub spec: IndexSpec,
    /// The number of the data file of its table.
    pub table_segment: u16,
    /// The number of its data file, which every page of it names.
    pub segment: u16,
    /// The data file's name in the directory.
    pub file: String,
    /// The version of the page format.
    pub page_format: u16,
    /// What the file holds.
    #[serde(flatten)]
    pub built: Built,
    /// How far it has come.
    pub state: TableState,
}

impl IndexInfo {
    /// Bytes of the data file.
    pub fn file_bytes(&self) -> u64 {
        u64::from(self.built.pages) * PAGE_SIZE as u64
    }

    /// Where the data file is.
    pub fn path(&self, directory: &Path) -> PathBuf {
        directory.join(&self.file)
    }

    /// The data file in its directory.
    pub(crate) fn data_file(&self, directory: &Path) -> SegmentFile {
        SegmentFile { path: self.path(directory), segment: SegmentId(self.segment), pages: self.built.pages }
    }

    /// What cannot be of an index over a table of `rows` rows; only another writer leaves such an index.
    pub(crate) fn contradiction(&self, rows: u64) -> Option<String> {
        let name = &self.spec.name;
        if self.page_format != page::FORMAT_VERSION {
            return Some(other_format(&format!("index {name}"), self.page_format));
        }
        let Built { pages, leaves, height, entries, clustering_factor } = self.built;
        let has_levels = (1..=LEVEL_MAX + 1).contains(&height) && (height == 1) == (pages == 1);
        let fits = has_levels
            && self.file == segment_file(SegmentId(self.segment))
            && (1..=pages).contains(&leaves)
            && entries <= rows
            && clustering_factor <= entries
            && FILL_PERCENT.contains(&self.spec.fill_percent);
        (!fits).then(|| format!("what it says of index {name} cannot be; remove this directory"))
    }
}
