//! Where the pages of a segment are read from: a file or block device, or whatever wraps one to measure its reads or to
//! put a modelled device in its place.

use std::fmt;
use std::path::Path;

use sys::read::{MethodError, MethodRow, ReadMethod, Setup};
use sys::target::Target;

use crate::page::id::PAGE_SIZE;

/// Pages that stand one behind the other, page `n` at byte `n * PAGE_SIZE`.
pub trait PageSource: fmt::Debug + Send + Sync {
    /// What messages call it.
    fn path(&self) -> &Path;

    /// Bytes that can be read.
    fn size(&self) -> u64;

    /// Whether it can be read page by page, or why not.
    fn check_pages(&self) -> Result<(), String>;

    /// Opens an I/O method on it, with `depth` slots of `slot_bytes`. A method that cannot hold as many may have fewer.
    fn open(&self, row: &MethodRow, depth: usize, slot_bytes: usize) -> Result<Box<dyn ReadMethod>, MethodError>;
}

impl PageSource for Target {
    fn path(&self) -> &Path {
        Target::path(self)
    }

    fn size(&self) -> u64 {
        Target::size(self)
    }

    fn check_pages(&self) -> Result<(), String> {
        self.check_block_size(PAGE_SIZE as u64).map_err(|error| error.to_string())
    }

    fn open(&self, row: &MethodRow, depth: usize, slot_bytes: usize) -> Result<Box<dyn ReadMethod>, MethodError> {
        let depth = depth.min(row.depth_max.unwrap_or(depth));
        (row.open)(Setup { target: self, depth, slot_bytes })
    }
}
