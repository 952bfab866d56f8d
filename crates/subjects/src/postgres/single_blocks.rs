//! Single blocks of a table on a PostgreSQL server, read by the addresses of rows in them, and what the server says
//! that waiting for them took.

use server::{Buffers, Plan};

use super::inner_rows::InnerRows;
use super::nested_loops::ServerLoops;
use crate::logical_reads::SubjectError;

/// The first version that counts reads by kind in `pg_stat_io`.
const STAT_IO_SINCE: u32 = 16;

/// Reads so far of all sessions, and milliseconds of waiting for them.
const STAT_IO: &str = "SELECT coalesce(sum(reads), 0)::bigint, coalesce(sum(read_time), 0)::float8 FROM pg_stat_io \
    WHERE backend_type = 'client backend' AND object = 'relation'";

/// What is cached when blocks are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emptied {
    /// The buffers are empty, as far as the server allows; the page cache stays as it is.
    Buffers,
    /// The page cache of a private server's files is empty too.
    PageCacheToo,
}

/// What reading single blocks took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SingleReads {
    /// Blocks that were read, and those that were found.
    pub buffers: Buffers,
    /// Microseconds of waiting for one; `None` where the server does not time reads, or nothing was read.
    pub wait: Option<f64>,
    /// The same by `pg_stat_io`, all sessions together; `None` before 16.
    pub wait_of_all: Option<f64>,
    /// Share of the table that the page cache held before; `None` where that cannot be known.
    pub cached: Option<f64>,
}

impl ServerLoops<'_> {
    /// Reads the whole table a few times, as the published script does, so that caches outside the server have it.
    pub fn read_whole(&mut self, times: usize) -> Result<(), SubjectError> {
        let [table, _] = InnerRows::relations();
        for _ in 0..times {
            self.schema.session().text(&format!("SELECT sum(value) FROM {table}"), None)?;
        }
        Ok(())
    }

    /// Empties caches, and reads these blocks one by one.
    pub fn read_blocks(&mut self, blocks: &[u64], emptied: Emptied) -> Result<SingleReads, SubjectError> {
        let relations = InnerRows::relations();
        let renewed = match emptied {
            Emptied::Buffers => self.cold.empty_buffers(&mut self.schema, &relations)?,
            Emptied::PageCacheToo => self.cold.empty(&mut self.schema, &relations)?,
        };
        if renewed {
            self.set_session()?;
        }
        let cached = self.cold.cached(&relations[0])?;
        let addresses: Vec<String> = blocks.iter().map(|block| format!("\"({block},1)\"")).collect();
        let statement =
            format!("SELECT sum(value) FROM {} WHERE ctid = ANY ('{{{}}}'::tid[])", relations[0], addresses.join(","));
        // What planning reads of the catalogue is there then.
        self.schema.session().explain_with("", &statement, Plan::assumed("Tid Scan", Buffers::default()))?;
        let before = self.stat_io()?;
        let plan = self.schema.session().explain(&statement, Plan::assumed("Tid Scan", Buffers::default()))?;
        let after = self.stat_io()?;
        let step = plan.top.find("Tid Scan").unwrap_or(&plan.top);
        let buffers = step.buffers.unwrap_or_default();
        let is_timed = self.untimed.is_none();
        let wait_ms = plan.top.read_ms.filter(|_| is_timed && buffers.reads > 0);
        let of_all = before.zip(after).map(|(before, after)| (after.0 - before.0, after.1 - before.1));
        Ok(SingleReads {
            buffers,
            wait: wait_ms.map(|wait| wait * 1e3 / buffers.reads as f64),
            cached: cached.map(|cached| cached.pages as f64 / cached.of.max(1) as f64),
            wait_of_all: of_all.filter(|(reads, _)| is_timed && *reads > 0.0).map(|(reads, wait)| wait * 1e3 / reads),
        })
    }

    fn stat_io(&mut self) -> Result<Option<(f64, f64)>, SubjectError> {
        let session = self.schema.session();
        if session.facts().major() < STAT_IO_SINCE {
            return Ok(None);
        }
        // The server adds the session's own counts to the view when a statement ends after this one.
        session.rows("SELECT pg_stat_force_next_flush()")?;
        let rows = session.rows(STAT_IO)?;
        let number = |at: usize| rows.first()?.get(at)?.as_deref()?.parse::<f64>().ok();
        Ok(number(0).zip(number(1)))
    }
}
