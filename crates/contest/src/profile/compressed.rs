//! Compressed traces, and the decompressors that they are held against.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A way to compress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    /// Its name in the run.
    pub(crate) name: &'static str,
    /// Its program.
    pub(crate) program: &'static str,
    /// The ending of its files.
    ending: &'static str,
    /// How much effort is made: that of files as they lie about.
    level: &'static str,
    /// Bytes that are packed each for themselves, one behind the other, as by a script that packs a log while it is
    /// written; `None` where all are packed as one.
    part: Option<u64>,
}

const GZIP: Packing = Packing { name: "gzip", program: "gzip", ending: "gz", level: "-6", part: None };
const ZSTD: Packing = Packing { name: "zstd", program: "zstd", ending: "zst", level: "-3", part: None };

/// Bytes of a part.
const PART: Option<u64> = Some(16 << 20);

/// What is compared.
pub(crate) const PACKINGS: [Packing; 4] = [
    GZIP,
    Packing { name: "gzip, members of 16 MiB", part: PART, ..GZIP },
    ZSTD,
    Packing { name: "zstd, frames of 16 MiB", part: PART, ..ZSTD },
];

impl Packing {
    /// Compresses the first `bytes` of a file into a folder.
    pub(crate) fn pack(&self, source: &Path, bytes: u64, folder: &TempDir) -> Result<PathBuf, String> {
        let kind = if self.part.is_some() { "parts" } else { "whole" };
        let path = folder.path().join(format!("{kind}.trc.{}", self.ending));
        let output = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut source = File::open(source).map_err(|error| format!("{}: {error}", source.display()))?;
        let mut left = bytes;
        while left > 0 {
            let count = left.min(self.part.unwrap_or(left));
            self.pack_part(&mut (&mut source).take(count), &output)?;
            left -= count;
        }
        Ok(path)
    }

    /// Compresses bytes behind those that the file has.
    fn pack_part(&self, source: &mut impl Read, output: &File) -> Result<(), String> {
        let failed = |error: io::Error| format!("{}: {error}", self.program);
        let mut packer = Command::new(self.program)
            .args([self.level, "-c"])
            .stdin(Stdio::piped())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", self.program))?;
        let mut input = packer.stdin.take().ok_or("a packer has no input")?;
        let copied = io::copy(source, &mut input);
        drop(input);
        let status = packer.wait().map_err(failed)?;
        copied.map_err(failed)?;
        if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", self.program)) }
    }
}
