//! Whether a log has anything to show: the search for its first plan. It reads a log as the source does, and stops at
//! that plan.

use std::cell::Cell;
use std::io::{self, Read};

use sys::file::awaited::unless_called_off;

use super::state::LogSource;
use crate::event::{Call, Context, Observer};

/// Whether a log holds a plan that can be read. It is read as far as the first one.
pub(super) fn holds_plan(bytes: &mut dyn Read) -> bool {
    let is_found = Cell::new(false);
    let mut source = LogSource::new();
    // What cannot be read any further holds no other one.
    let _ = source.read_log(UpToPlan { bytes, is_found: &is_found }, &mut FirstPlan(&is_found));
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
