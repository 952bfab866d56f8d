//! The inner table in the schema of a run on a PostgreSQL server, and how as little of it is cached as can be.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::Finding;
use measure::quantity::{counted, grouped};
use measure::schema::subjects::findings as row;
use server::identifier::name_to_paste;
use server::private::PrivateServer;
use server::{Schema, Session, space};
use sys::file::witness::Cached;

use super::cold::{Cold, Emptying, Startup};
use super::fetched::blocks_of;
use super::inner_rows::InnerRows;
use super::layout::whole_rows;
use super::notes::Notes;
use super::reached::Reached;
use super::read_timing::{self, GRANTED_SINCE};
use super::row_by_row;
use crate::error::SubjectError;
use crate::opening::{Opening, Progress};
use crate::progress::tenths;
use crate::subject::Closing;

/// About what sending a row and its place in the index take.
const LOAD_TIME_A_ROW: Duration = Duration::from_micros(10);

/// About what a statement takes for a block that is read by itself.
pub(super) const READ_TIME: Duration = Duration::from_micros(100);

/// What the page cache may still hold of a private server's files when it was emptied.
const KEPT_MAX: f64 = 0.01;

/// A server with the inner table.
pub(super) struct ColdTable {
    // What is made and the session end before a private server does.
    schema: Schema,
    pub(super) cold: Cold,
    is_loaded: bool,
    /// Why the server does not time its reads; `None` where it does.
    pub(super) untimed: Option<String>,
}

/// A server on which the table will be made.
pub(super) struct Ground {
    table: Option<ColdTable>,
    reached: Reached,
    pub(super) notes: Notes,
    /// Bytes of a block of the server.
    pub(super) block_bytes: u64,
}

impl Ground {
    /// Connects and sees whether there is room for the largest table, which may depend on the bytes of the server's
    /// blocks; makes nothing. `check` refuses a server for another reason; `option` asks for a smaller table.
    pub(super) fn open(
        reached: Reached,
        largest: impl FnOnce(u64) -> InnerRows,
        check: impl FnOnce(&mut Session) -> Result<(), SubjectError>,
        option: &str,
        opening: &mut Opening<'_>,
    ) -> Result<Ground, SubjectError> {
        // A wrong address is better known at once; the session is not kept idle until its turn.
        let mut session = reached.connect(opening)?;
        let block_bytes = session.facts().block_bytes;
        let largest = largest(block_bytes);
        largest.check(block_bytes).map_err(SubjectError::Parameters)?;
        check(&mut session)?;
        let mut notes = Notes::of(&session, opening.clock);
        notes.check_space(&session, largest.bytes_needed(block_bytes), option)?;
        Ok(Ground { table: None, reached, notes, block_bytes })
    }

    /// Makes and fills the table, in the place of the one before, and gives its blocks.
    pub(super) fn load(&mut self, rows: &InnerRows, progress: &mut Progress<'_>) -> Result<u64, SubjectError> {
        if self.table.is_none() {
            let (session, stop) = (self.reached.session()?, self.reached.stop.clone());
            let needed = rows.bytes_needed(session.facts().block_bytes);
            let private = self.reached.private.take();
            let is_private = private.is_some();
            let mut table = ColdTable::open(session, private, stop, needed)?;
            self.notes.begin(&mut table.schema, is_private)?;
            self.table = Some(table);
        }
        let table = self.table.as_mut().ok_or(SubjectError::NotPrepared)?;
        let name = self.notes.name().to_string();
        let what = format!("the table with {} % of its rows out of order on {name}", rows.rand());
        let second = Duration::from_secs(2);
        let of_rows = |sent, of| format!("{} of {} rows", grouped(sent), grouped(of));
        let mut sent = tenths(progress, |sent, of| (format!("loading {what}, {}", of_rows(sent, of)), second));
        let blocks = table.load(rows, &mut sent)?;
        let facts = table.schema.session().facts();
        self.notes.find(absent_io_time(table.untimed.as_deref(), (facts.major(), facts.user.as_str())));
        Ok(blocks)
    }

    /// The table that was loaded.
    pub(super) fn table(&mut self) -> Result<&mut ColdTable, SubjectError> {
        self.table.as_mut().ok_or(SubjectError::NotPrepared)
    }

    /// Starts a private server in this way; the reason where it cannot be.
    pub(super) fn start(&mut self, startup: &Startup) -> Result<Result<(), String>, SubjectError> {
        self.table()?.start(startup)
    }

    /// What was noticed, and whether other sessions are at work now: it is asked between measurements.
    pub(super) fn findings(&mut self) -> Vec<Finding> {
        match &mut self.table {
            Some(table) => self.notes.look(table.schema.session()),
            None => self.notes.take(),
        }
    }

    /// What the page cache of a private server's files still held at most when it had been emptied of them.
    pub(super) fn note_page_cache(&mut self) {
        let kept = self.table.as_ref().and_then(|table| table.cold.kept());
        self.notes.find(kept.map(left_in_page_cache));
    }

    /// Removes the schema, and ends a private server.
    pub(super) fn finish(self) -> Closing {
        let Ground { table, reached, notes, .. } = self;
        // A private server lives as long as the way to empty its caches.
        let (schema, cold) = table.map(ColdTable::into_parts).unzip();
        let closing = notes.close(schema);
        drop((cold, reached));
        closing
    }
}

/// The finding where a server of a major version may not be made to time its reads, for this reason. What a superuser
/// sets for a role holds in its sessions, whatever the role may set.
///
/// Source: PostgreSQL, `process_settings` in src/backend/utils/init/postinit.c.
pub(super) fn absent_io_time(untimed: Option<&str>, (major, user): (u32, &str)) -> Option<Finding> {
    let (reason, user) = (untimed?, name_to_paste(user));
    let remedy = match major >= GRANTED_SINCE {
        true => format!("GRANT SET ON PARAMETER track_io_timing TO {user}"),
        false => format!("ALTER ROLE {user} SET track_io_timing = on"),
    };
    Some(row::ABSENT_IO_TIME.of(format!(
        "The server did not time its reads, because track_io_timing is off and may not be set ({reason}): how long it \
         waited for them is not known. A superuser may allow it with {remedy}."
    )))
}

/// What the page cache still held of a private server's files says about its reads.
pub(super) fn left_in_page_cache(kept: Cached) -> Finding {
    let pages = format!("{} of {}", grouped(kept.pages), counted(kept.of, "page", "pages"));
    if kept.pages as f64 > KEPT_MAX * kept.of as f64 {
        return row::PAGE_CACHE_KEPT.of(format!(
            "The page cache still held {pages} of the server's files when it had been emptied: some reads were \
             answered from memory. Repeat the run."
        ));
    }
    row::COLD.of(format!(
        "Before each join the server's buffers were emptied and its files dropped from the page cache, which then held \
         {pages} at most ({}).",
        kept.source
    ))
}

impl ColdTable {
    /// Looks whether there is room for what is made, makes the schema and sets the session.
    fn open(
        mut session: Session,
        private: Option<PrivateServer>,
        stop: Arc<AtomicBool>,
        needed: u64,
    ) -> Result<ColdTable, SubjectError> {
        space::check(&session, needed)?;
        let cold = Cold::of(&mut session, private, stop)?;
        let mut table = ColdTable { schema: Schema::create(session)?, cold, is_loaded: false, untimed: None };
        table.set_session()?;
        Ok(table)
    }

    /// The session of the schema.
    pub(super) fn session(&mut self) -> &mut Session {
        self.schema.session()
    }

    /// The ways in which the server can be started.
    pub(super) fn startups(&mut self) -> Result<Vec<Startup>, SubjectError> {
        self.cold.startups(self.schema.session())
    }

    fn start(&mut self, startup: &Startup) -> Result<Result<(), String>, SubjectError> {
        if *startup == *self.cold.running() {
            return Ok(Ok(()));
        }
        let started = self.cold.start(startup, &mut self.schema)?;
        self.set_session()?;
        Ok(started)
    }

    /// Empties what can be emptied of table and index, the page cache too where it is wanted and can be.
    pub(super) fn empty(&mut self, with_page_cache: bool) -> Result<(), SubjectError> {
        let relations = InnerRows::relations();
        let renewed = match with_page_cache {
            true => self.cold.empty(&mut self.schema, &relations)?,
            false => self.cold.empty_buffers(&mut self.schema, &relations)?,
        };
        if renewed { self.set_session() } else { Ok(()) }
    }

    fn load(&mut self, rows: &InnerRows, progress: &mut dyn FnMut(u64, u64)) -> Result<u64, SubjectError> {
        if std::mem::take(&mut self.is_loaded) {
            self.schema.drop_table(InnerRows::NAME)?;
        }
        let options = whole_rows(self.schema.session().facts().block_bytes);
        let name = self.schema.create_table(InnerRows::NAME, InnerRows::columns(), &options)?;
        let index = format!("CREATE UNIQUE INDEX {} ON {name} (key)", InnerRows::INDEX);
        let session = self.schema.session();
        // Making an index of a table reads it, and leaves its blocks in large buffers; rows that are copied do not.
        let before = matches!(self.cold.emptying(), Emptying::Never(_));
        if before {
            session.run(&index)?;
        }
        session.begin_transaction()?;
        // Rows copied in the transaction that empties the table are visible to all at once.
        session.run(&format!("TRUNCATE {name}"))?;
        let copy = format!("COPY {name} FROM STDIN WITH (FREEZE)");
        session.assume(LOAD_TIME_A_ROW.saturating_mul(u32::try_from(rows.rows()).unwrap_or(u32::MAX)));
        session.copy_all(&copy, &mut rows.chunks(progress)?, rows.rows())?;
        session.commit()?;
        if !before {
            session.run(&index)?;
        }
        session.run(&format!("VACUUM (ANALYZE) {name}"))?;
        self.is_loaded = true;
        let assumed = rows.blocks(session.facts().block_bytes);
        Ok(blocks_of(session, &name, assumed)?)
    }

    fn set_session(&mut self) -> Result<(), SubjectError> {
        let session = self.schema.session();
        row_by_row::set(session, &[("enable_seqscan", "off")])?;
        self.untimed = read_timing::turn_on(session)?;
        Ok(())
    }

    fn into_parts(mut self) -> (Schema, Cold) {
        if self.cold.is_lost() {
            self.schema.forget();
        }
        (self.schema, self.cold)
    }
}
