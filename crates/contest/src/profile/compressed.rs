//! Compressed traces, and the decompressors that they are held against.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A way to compress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    /// Its program, and its name in the run.
    pub(crate) program: &'static str,
    /// The ending of its files.
    ending: &'static str,
    /// How much effort is made: that of files as they lie about.
    level: &'static str,
}

/// What is compared.
pub(crate) const PACKINGS: [Packing; 2] =
    [Packing { program: "gzip", ending: "gz", level: "-6" }, Packing { program: "zstd", ending: "zst", level: "-3" }];

impl Packing {
    /// Compresses the first `bytes` of a file into a folder.
    pub(crate) fn pack(&self, source: &Path, bytes: u64, folder: &TempDir) -> Result<PathBuf, String> {
        let path = folder.path().join(format!("beginning.trc.{}", self.ending));
        let output = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut head = Command::new("head")
            .args(["-c", &bytes.to_string()])
            .arg(source)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("head could not be started: {error}"))?;
        let input = head.stdout.take().ok_or("head has no output")?;
        let status = Command::new(self.program)
            .args([self.level, "-c"])
            .stdin(input)
            .stdout(output)
            .stderr(Stdio::null())
            .status()
            .map_err(|error| format!("{} could not be started: {error}", self.program))?;
        let head = head.wait().map_err(|error| error.to_string())?;
        if status.success() && head.success() { Ok(path) } else { Err(format!("{} ended with {status}", self.program)) }
    }
}
