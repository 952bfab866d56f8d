//! How often SQLite's pager was asked for pages: the one function of its C interface that `rusqlite` does not wrap, and
//! therefore a home of unsafe code.

use std::ffi::c_int;

use rusqlite::{Connection, ffi};

/// Pages that were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageGets {
    /// Those that the page cache held.
    pub(super) hits: u64,
    /// Those that were read from the file.
    pub(super) misses: u64,
}

impl PageGets {
    pub(super) fn total(self) -> u64 {
        self.hits + self.misses
    }
}

/// What all databases of a connection were asked for since the last call, which begins the count anew.
pub(super) fn take(connection: &Connection) -> PageGets {
    let of = |counter| take_one(connection, counter);
    PageGets { hits: of(ffi::SQLITE_DBSTATUS_CACHE_HIT), misses: of(ffi::SQLITE_DBSTATUS_CACHE_MISS) }
}

fn take_one(connection: &Connection, counter: c_int) -> u64 {
    let (mut value, mut highest) = (0, 0);
    // SAFETY: the handle is open as long as the connection is borrowed, and is neither kept nor closed here. The call
    // writes two integers, which outlive it. A connection stays on one thread at a time, so that no other call runs.
    let code = unsafe { ffi::sqlite3_db_status64(connection.handle(), counter, &raw mut value, &raw mut highest, 1) };
    assert_eq!(code, ffi::SQLITE_OK, "a counter of an open connection can be read");
    value.unsigned_abs()
}
