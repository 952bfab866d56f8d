//! Round trips through SQL, as the published script does it: a small table on a PostgreSQL server, and single blocks of
//! it by the addresses of rows in them, with what the server says that waiting for them took.

use std::time::Duration;

use measure::schema::subjects::findings as row;
use measure::{Finding, Parameters};
use server::{Buffers, Plan, Session};

use super::cold::{Emptying, Startup};
use super::cold_table::{Ground, READ_TIME};
use super::inner_rows::InnerRows;
use super::reached::Reached;
use crate::error::SubjectError;
use crate::nested_loops::InnerTable;
use crate::opening::{Opening, Progress};
use crate::round_trip::{Asked, Pass, PassOffer, RoundTrip, SingleReads, Sources};
use crate::subject::{Closing, Subject};

/// Most blocks of a statement, which names each of them.
const BLOCKS_MAX: u64 = 8192;

/// How often the table is read first, as published.
const READS_BEFORE: usize = 3;

/// Rows of a block of 8 KiB, each with this many bytes of filler. With smaller blocks the table has more of them.
const ROWS_A_BLOCK: u64 = 7;
const PAD: u32 = 1000;

/// The first version that counts reads by kind in `pg_stat_io`.
const STAT_IO_SINCE: u32 = 16;

/// Reads so far of all sessions, and milliseconds of waiting for them.
const STAT_IO: &str = "SELECT coalesce(sum(reads), 0)::bigint, coalesce(sum(read_time), 0)::float8 FROM pg_stat_io \
    WHERE backend_type = 'client backend' AND object = 'relation'";

/// Refuses more blocks than a statement can name.
pub(super) fn check_blocks(asked: &Asked) -> Result<(), String> {
    match asked.blocks > BLOCKS_MAX {
        true => Err(format!("--blocks {} is too much for a server: give at most {BLOCKS_MAX}", asked.blocks)),
        false => Ok(()),
    }
}

/// The table on a server with these blocks, with a first row in each block that is asked for.
pub(super) fn rows(asked: &Asked, block_bytes: u64) -> InnerRows {
    let of = |rows| InnerRows::new(InnerTable { rows, pad: PAD, rand: 0 });
    let rows_a_block = of(1).rows_a_block(block_bytes).max(ROWS_A_BLOCK);
    of(asked.table_blocks.saturating_mul(rows_a_block))
}

/// The finding about buffers that cannot be emptied before each statement.
pub(super) fn not_emptied(emptying: &Emptying) -> Option<Finding> {
    let Emptying::Never(reason) = emptying else { return None };
    Some(row::BUFFERS_NOT_EMPTIED.of(format!(
        "Shared buffers could not be emptied, because {reason}, and no statement of a session does that: each \
         statement read blocks that no earlier statement had read, without the three warm-up reads of the published \
         experiment."
    )))
}

/// A server with the table in the schema of a run.
pub(super) struct PostgresTrip {
    ground: Ground,
    rows: InnerRows,
    /// Whether the page cache is emptied too.
    empties_page_cache: bool,
}

impl PostgresTrip {
    /// Connects and sees whether there is room; makes nothing.
    pub(super) fn open(
        reached: Reached,
        asked: Asked,
        opening: &mut Opening<'_>,
    ) -> Result<PostgresTrip, SubjectError> {
        let ground = Ground::open(reached, |block_bytes| rows(&asked, block_bytes), |_| Ok(()), "--blocks", opening)?;
        let rows = rows(&asked, ground.block_bytes);
        Ok(PostgresTrip { ground, rows, empties_page_cache: false })
    }
}

impl Subject for PostgresTrip {
    fn name(&self) -> &str {
        self.ground.notes.name()
    }

    fn description(&self) -> Parameters {
        self.ground.notes.description()
    }

    fn findings(&mut self) -> Vec<Finding> {
        self.ground.findings()
    }

    fn finish(self: Box<Self>) -> Closing {
        self.ground.finish()
    }
}

impl RoundTrip for PostgresTrip {
    fn prepare(&mut self, progress: &mut Progress<'_>) -> Result<(Vec<PassOffer>, Sources), SubjectError> {
        self.ground.load(&self.rows, progress)?;
        let table = self.ground.table()?;
        let (emptying, usual) = (table.cold.emptying().clone(), table.cold.running().clone());
        let offer = |pass, is_direct| PassOffer { pass, is_direct };
        let usually = |pass| offer(pass, usual.direct);
        let passes = match &emptying {
            Emptying::Never(_) => vec![usually(Pass::FirstTouch)],
            Emptying::Private => {
                let has_direct = table.startups()?.contains(&Startup { direct: true, ..usual.clone() });
                let direct = has_direct.then(|| offer(Pass::StorageCached, true));
                [Pass::PageCached, Pass::StorageCached].map(usually).into_iter().chain(direct).collect()
            }
            _ => vec![usually(Pass::PageCached)],
        };
        self.ground.notes.find(not_emptied(&emptying));
        let sources = Sources {
            wait: "EXPLAIN's I/O Read Time (track_io_timing) over the blocks read, the mean of a statement",
            at_most: "EXPLAIN's Execution Time over the blocks read: all that the statement did, waiting included",
            wait_of_all: "pg_stat_io, client backends of the whole server, read_time over reads",
            blocks: "EXPLAIN (ANALYZE, BUFFERS)",
            cache: "shared buffers",
        };
        Ok((passes, sources))
    }

    fn turn_to(&mut self, offer: PassOffer, progress: &mut Progress<'_>) -> Result<Result<(), Finding>, SubjectError> {
        let startup = Startup { direct: offer.is_direct, ..self.ground.table()?.cold.running().clone() };
        // Its method of reading is the usual one: what may be refused is to read past the page cache.
        let started = Startup { io_method: None, ..startup.clone() }.absence(self.ground.start(&startup)?);
        self.empties_page_cache = offer.pass == Pass::StorageCached;
        if started.is_err() || offer.pass == Pass::FirstTouch {
            return Ok(started);
        }
        progress("reading the table three times", Duration::from_secs(1));
        let statement = format!("SELECT sum(value) FROM {}", InnerRows::relations()[0]);
        for _ in 0..READS_BEFORE {
            let table = self.ground.table()?;
            // What a cache of this machine answers, no cache of the storage hears of.
            if self.empties_page_cache {
                table.empty(true)?;
            }
            table.session().text(&statement, None)?;
        }
        Ok(started)
    }

    fn read(&mut self, blocks: &[u64]) -> Result<SingleReads, SubjectError> {
        let table = self.ground.table()?;
        table.empty(self.empties_page_cache)?;
        let relation = &InnerRows::relations()[0];
        let cached = table.cold.cached(relation)?;
        let is_timed = table.untimed.is_none();
        let addresses: Vec<String> = blocks.iter().map(|block| format!("\"({block},1)\"")).collect();
        let statement =
            format!("SELECT sum(value) FROM {relation} WHERE ctid = ANY ('{{{}}}'::tid[])", addresses.join(","));
        let session = table.session();
        // What planning reads of the catalogue is there then.
        session.explain_with("", &statement, Plan::assumed("Tid Scan", Buffers::default()))?;
        let before = stat_io(session)?;
        let plan = session.explain(&statement, Plan::assumed("Tid Scan", Buffers::default()))?;
        session.assume(READ_TIME.saturating_mul(u32::try_from(blocks.len()).unwrap_or(u32::MAX)));
        let after = stat_io(session)?;
        let step = plan.top.find("Tid Scan").unwrap_or(&plan.top);
        let Buffers { reads, hits } = step.buffers.unwrap_or_default();
        let wait_ms = plan.top.read_ms.filter(|_| is_timed && reads > 0);
        let of_all = before.zip(after).map(|(before, after)| (after.0 - before.0, after.1 - before.1));
        Ok(SingleReads {
            read: reads,
            hits,
            wait: wait_ms.map(|wait| wait * 1e3 / reads as f64),
            cached: cached.map(|cached| cached.pages as f64 / cached.of.max(1) as f64),
            at_most: plan.execution_ms.filter(|_| reads > 0).map(|execution| execution * 1e3 / reads as f64),
            wait_of_all: of_all.filter(|(reads, _)| is_timed && *reads > 0.0).map(|(reads, wait)| wait * 1e3 / reads),
        })
    }
}

fn stat_io(session: &mut Session) -> Result<Option<(f64, f64)>, SubjectError> {
    if session.facts().major() < STAT_IO_SINCE {
        return Ok(None);
    }
    // The server adds the session's own counts to the view when a statement ends after this one.
    session.rows("SELECT pg_stat_force_next_flush()")?;
    let rows = session.rows(STAT_IO)?;
    let number = |at: usize| rows.first()?.get(at)?.as_deref()?.parse::<f64>().ok();
    Ok(number(0).zip(number(1)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sys::time::Clock;

    use super::*;
    use crate::opening::Environment;
    use crate::postgres::reached::tests::private_server;

    #[test]
    fn blocks_are_called_cached_by_the_storage_only_when_they_were_read_from_there() {
        let Some(reached) = private_server() else { return };
        let mut opening = Opening {
            environment: &Environment::new(std::env::temp_dir()),
            clock: Clock::calibrate(),
            stop: Arc::clone(&reached.stop),
            progress: &mut |_, _| {},
        };
        let asked = Asked { blocks: 8, table_blocks: 128 };
        let mut trip = PostgresTrip::open(reached, asked, &mut opening).unwrap();
        trip.prepare(&mut |_, _| {}).unwrap();
        let read = |trip: &mut PostgresTrip| {
            let session = trip.ground.table().unwrap().session();
            session.rows("SELECT pg_stat_force_next_flush()").unwrap();
            let count = |what: &str| format!("pg_stat_get_blocks_{what}('{}'::regclass)", InnerRows::relations()[0]);
            session.number(&format!("SELECT {} - {}", count("fetched"), count("hit")), 0).unwrap()
        };
        let before = read(&mut trip);
        let offer = PassOffer { pass: Pass::StorageCached, is_direct: false };
        trip.turn_to(offer, &mut |_, _| {}).unwrap().unwrap();
        let after = read(&mut trip);
        assert!(after >= before + 3 * asked.table_blocks, "{before} blocks, then {after}");
        assert!(Box::new(trip).finish().outcome.is_ok());
    }

    #[test]
    fn a_table_on_a_server_with_larger_blocks_has_every_block_that_is_asked_for() {
        let asked = Asked { blocks: 256, table_blocks: 4096 };
        let blocks = |block_bytes| rows(&asked, block_bytes).blocks(block_bytes);
        assert_eq!([8192, 16_384, 32_768].map(blocks), [4096; 3]);
        assert!(blocks(4096) > 4096, "a smaller block holds fewer of the same rows");
    }
}
