//! Direct or buffered: whether reads bypass the page cache.

use std::fmt;

use rustix::fs::OFlags;

/// Whether reads pass the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caching {
    /// `O_DIRECT`: past the page cache, from the device into the caller's buffer.
    Direct,
    /// Through the page cache.
    Buffered,
}

impl Caching {
    /// All the flags a target is ever opened with.
    pub(super) fn open_flags(self) -> OFlags {
        let reading = OFlags::RDONLY | OFlags::CLOEXEC;
        match self {
            Caching::Direct => reading | OFlags::DIRECT,
            Caching::Buffered => reading,
        }
    }
}

impl fmt::Display for Caching {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Caching::Direct => "direct",
            Caching::Buffered => "buffered",
        })
    }
}
