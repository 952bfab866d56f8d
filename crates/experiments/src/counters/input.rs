//! The standard input of a command that is run twice: where it has a place, the second run reads from the same one.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;

/// A standard input that has a place, as a file has; a pipe and a terminal have none.
pub(super) struct Input {
    file: File,
    begin: u64,
}

impl Input {
    /// That of this process, which shares it and the place in it with the commands that it starts.
    pub(super) fn standard() -> Option<Input> {
        Input::of(File::from(io::stdin().as_fd().try_clone_to_owned().ok()?))
    }

    fn of(mut file: File) -> Option<Input> {
        let begin = file.stream_position().ok()?;
        Some(Input { file, begin })
    }

    /// Lets `second` read from where the first reader began. Afterwards the place is where that one had left it.
    pub(super) fn again<T>(mut self, second: impl FnOnce() -> T) -> T {
        let left = self.file.stream_position();
        let _ = self.file.seek(SeekFrom::Start(self.begin));
        let result = second();
        let _ = left.and_then(|left| self.file.seek(SeekFrom::Start(left)));
        result
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;

    use super::*;

    fn read(reader: &mut File, bytes: u64) -> String {
        let mut text = String::new();
        reader.take(bytes).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_file_is_read_again_from_its_place_and_left_where_the_first_reader_was() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        file.seek(SeekFrom::Start(2)).unwrap();
        // As a child's, this descriptor has its place in common with the other one.
        let mut child = file.try_clone().unwrap();
        let input = Input::of(file).unwrap();
        assert_eq!(read(&mut child, 4), "2345");
        assert_eq!(input.again(|| read(&mut child, 2)), "23");
        assert_eq!(read(&mut child, 9), "6789");
    }

    #[test]
    fn a_pipe_has_no_place_to_go_back_to() {
        let (reader, _writer) = io::pipe().unwrap();
        assert!(Input::of(File::from(OwnedFd::from(reader))).is_none());
    }
}
