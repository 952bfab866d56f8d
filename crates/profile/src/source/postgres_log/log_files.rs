//! Server logs as a source. A log is known by its content.

use std::io::{self, Read};

use crate::input::Problem;
use crate::input::bytes::Bytes;
use crate::observe::Listeners;
use crate::source::contract::{Finished, Input, Meter, Reading, Source, SourceFile, SourceRow};
use crate::source::postgres_log::findings::findings;
use crate::source::postgres_log::format::detect;
use crate::source::postgres_log::source::{LogSource, LogSummary};

/// The row of the table of sources.
pub const ROW: SourceRow = SourceRow {
    noun: "a server log",
    name: Some("PostgreSQL server log"),
    recognises: |_, head| detect(head).is_some(),
    open: |_| Box::new(LogFiles { logs: LogSource::new() }),
};

/// Reads server logs, one after the other.
struct LogFiles {
    logs: LogSource,
}

impl Source for LogFiles {
    fn read(&mut self, input: Input, reading: &mut Reading<'_, '_>) -> Result<SourceFile, Problem> {
        let (name, head_hash) = (input.given.name(), input.head_hash);
        let bytes = input.open()?;
        reading.begin_file(&name);
        let before = self.logs.summary().clone();
        let mut metered = Metered { bytes, name: &name, read: 0, meter: &mut reading.meter };
        let outcome = self.logs.read(&mut metered, &mut reading.listeners);
        let bytes = metered.read;
        let (timed_records, unread) = (self.logs.summary().plans - before.plans, self.unread_since(&before));
        let cut_short = outcome.err().map(|error| error.to_string());
        Ok(SourceFile { name, bytes, timed_records, unread, cut_short, head_hash, ..SourceFile::default() })
    }

    fn finish(self: Box<Self>, listeners: &mut Listeners<'_>) -> Finished {
        let (accounted, summary) = self.logs.finish(listeners);
        Finished { accounted, findings: findings(&summary) }
    }
}

impl LogFiles {
    fn unread_since(&self, before: &LogSummary) -> Vec<crate::event::Unread> {
        let unread = self.logs.summary().unread.iter().filter_map(|now| {
            let mut unread = now.clone();
            if let Some(before) = before.unread.iter().find(|before| before.kind == now.kind) {
                unread.lines -= before.lines;
                unread.bytes -= before.bytes;
            }
            (unread.lines > 0).then_some(unread)
        });
        unread.collect()
    }
}

/// A reader that reports how far it is, and ends where the caller breaks it off.
struct Metered<'a, 'p> {
    bytes: Bytes,
    name: &'a str,
    read: u64,
    meter: &'a mut Meter<'p>,
}

impl Read for Metered<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.read += count as u64;
        Ok(if self.meter.read(self.name, self.read).is_break() { 0 } else { count })
    }
}
