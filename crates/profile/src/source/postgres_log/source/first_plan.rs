//! Whether a log has anything to show: the search for its first plan. It reads a log as the source does, and stops at
//! that plan.

use std::cell::Cell;
use std::io::{self, Read};

use sys::file::awaited::unless_called_off;

use super::state::LogSource;
use crate::event::{Call, Context, Observer};
use crate::input::SharedContents;

/// Whether a log, or one of the logs in an archive, holds a plan that can be read. It is read as far as the first one.
pub(super) fn holds_plan(bytes: &mut dyn Read, files: Option<&SharedContents>) -> bool {
    let is_found = Cell::new(false);
    let mut source = LogSource::new();
    // What cannot be read any further holds no other one.
    let _ = source.read_files(UpToPlan { bytes, is_found: &is_found }, files, &mut FirstPlan(&is_found));
    is_found.get()
}

/// Hears whether there is an execution.
struct FirstPlan<'a>(&'a Cell<bool>);

impl Observer for FirstPlan<'_> {
    fn call(&mut self, _: &Context, _: &Call) {
        self.0.set(true);
    }
}

/// A reader that ends where a plan was found.
struct UpToPlan<'a, R> {
    bytes: R,
    is_found: &'a Cell<bool>,
}

impl<R: Read> Read for UpToPlan<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_found.get() {
            return Ok(0);
        }
        unless_called_off()?;
        self.bytes.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{self, Given};
    use crate::source::postgres_log::source::tests::samples::{archive, csv};

    #[test]
    fn a_plan_in_a_log_of_another_format_than_the_archive_begins_with_is_found() {
        let without = "2026-11-21 10:45:00 UTC [7] ERROR:  no\n";
        for (table, is_held) in [(csv(1001, "1.0", ""), true), (csv(1001, "1.0", "").replace("Plan", "Plans"), false)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("all.tar");
            std::fs::write(&path, archive(&[("a.log", without), ("b.csv", table.as_str())])).unwrap();
            let mut bytes = input::open(&Given::File(path)).unwrap();
            let files = bytes.contents();
            assert_eq!((files.is_some(), holds_plan(&mut bytes, files.as_ref())), (true, is_held));
        }
    }
}
