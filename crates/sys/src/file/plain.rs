//! Small files that a user names: read whole, or refused. A pipe is not waited for, and a device that has no end is not
//! read.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The bytes of a plain file, at most `max`; more of them are an error.
///
/// What is no plain file is one too: a pipe can be read once, and what is checked before a run is read again in it.
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    // Without the flag, the open itself waits for the writer of a pipe.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is a pipe or a device, and not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max {
        true => Err(io::Error::other(format!("it is larger than {} MiB", max >> 20))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    #[test]
    fn a_pipe_is_not_waited_for_and_a_device_without_an_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe.as_path(), Path::new("/dev/zero")] {
            assert!(read(path, 1 << 20).unwrap_err().to_string().contains("not a regular file"), "{}", path.display());
        }
        assert_eq!(read(folder.path(), 1 << 20).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn a_file_is_read_up_to_the_limit_and_refused_beyond_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        assert_eq!(read(&path, 1 << 20).unwrap().len(), 1 << 20);
        fs::write(&path, vec![7; (1 << 20) + 1]).unwrap();
        assert!(read(&path, 1 << 20).unwrap_err().to_string().contains("larger than 1 MiB"));
    }
}
