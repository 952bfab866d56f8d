//! The file that all contenders read: the user's own, or one of random data that goes away at the end.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use measure::random::SplitMix64;
use tempfile::NamedTempFile;

use crate::program::scratch_folder;

/// Bytes written at once.
const CHUNK_BYTES: u64 = 1 << 20;

/// A file to read. Dropping one that was made here removes it.
pub(crate) struct TestFile {
    path: PathBuf,
    /// One that was made here has a name, as fio opens files by name; the tool's own test files have none.
    _made: Option<NamedTempFile>,
}

impl TestFile {
    /// The file at `path`, or a new one of `bytes` in the scratch folder.
    pub(crate) fn open(path: Option<&Path>, bytes: u64) -> Result<TestFile, String> {
        if let Some(path) = path {
            File::open(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            return Ok(TestFile { path: path.to_path_buf(), _made: None });
        }
        let folder = scratch_folder()?;
        let sentence =
            |error| format!("a test file of {bytes} bytes could not be made in {}: {error}", folder.display());
        let mut file = tempfile::Builder::new().prefix("fio-bench-").tempfile_in(&folder).map_err(sentence)?;
        fill(file.as_file_mut(), bytes).map_err(sentence)?;
        Ok(TestFile { path: file.path().to_path_buf(), _made: Some(file) })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes numbers that never repeat: storage that compresses or deduplicates finds nothing to save.
fn fill(file: &mut File, bytes: u64) -> std::io::Result<()> {
    let mut random = SplitMix64::new(u64::from(std::process::id()));
    let mut chunk = Vec::with_capacity(CHUNK_BYTES as usize);
    let mut left = bytes;
    while left > 0 {
        chunk.clear();
        while (chunk.len() as u64) < CHUNK_BYTES.min(left) {
            chunk.extend_from_slice(&random.next_u64().to_le_bytes());
        }
        chunk.truncate(left.min(CHUNK_BYTES) as usize);
        file.write_all(&chunk)?;
        left -= chunk.len() as u64;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_file_has_its_size_and_goes_away() {
        let file = TestFile::open(None, (1 << 20) + 3).unwrap();
        let path = file.path().to_path_buf();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), (1 << 20) + 3);
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn no_two_blocks_of_the_made_file_are_alike() {
        let file = TestFile::open(None, 4 << 20).unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        let blocks: std::collections::HashSet<&[u8]> = bytes.chunks(512).collect();
        assert_eq!(blocks.len(), bytes.len() / 512);
    }

    #[test]
    fn a_given_file_that_is_not_there_is_named() {
        let error = TestFile::open(Some(Path::new("no-such-file")), 0).err().unwrap();
        assert!(error.contains("no-such-file"));
    }
}
