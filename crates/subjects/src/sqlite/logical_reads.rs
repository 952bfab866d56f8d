//! The experiment on logical I/O on SQLite: the engine's rows in ordinary tables, or the tables of a given file, and
//! statements that read them from SQLite's page cache in several ways.
//!
//! One table is there at a time. A statement runs on the calling thread, whose processor time is its cost; beside it
//! another one does all but reading the table. A cursor that stays on a page asks the pager for it once, so that a scan
//! gets each page once, and a look-up gets the pages below the root.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dataset::DataSet;
use dataset::uniform::RowShape;
use measure::quantity::counted;
use measure::random::{Permutation, SplitMix64};
use measure::schema::subjects::findings as row;
use measure::sorting;
use measure::{Finding, Parameters};
use serde_json::json;
use server::session::identifier;
use sys::time::Clock;

use super::database::{Database, Need, Taken, description, subject_name};
use super::load::{column_bytes, index_bytes, load, table_bytes};
use crate::by_statements::{ByStatements, LOOKED_FOR_MAX, Question, has_key, possible};
use crate::error::SubjectError;
use crate::logical_reads::{
    Access, Asked, Baseline, Cache, Cell, ColdRead, Cost, Counted, Counts, LogicalReads, Pass, Population, Snapshot,
    Sources, Table, TableFacts, Touch,
};
use crate::opening::{Opening, Progress};
use crate::subject::{Closing, Subject, TABLE_SEED};

/// Tables of a given file that are read: those with the largest row numbers.
const FOUND_TABLES_MAX: usize = 4;

/// A table without rows: what a statement costs without its pages.
const EMPTY: &str = "no_rows";

/// The index on the first column.
const INDEX: &str = "rows_by_c1";

/// SQLite, in sentences.
const BY_STATEMENTS: ByStatements =
    ByStatements { option: "--on sqlite", name: "SQLite", reader: "connection", versions: "no versions of rows" };

/// A table that is ready.
#[derive(Clone, Debug)]
struct Ready {
    name: String,
    rows: u64,
    /// The ways that it was prepared for, each with the gets of the statement beside it.
    accesses: Vec<(Access, u64)>,
    /// Whether the first column tells rows apart.
    has_key: bool,
    /// Rows that the keys looked for lead to, once they were counted: among very many rows two may have one key.
    found_by_key: Option<u64>,
}

/// A database with the tables of this experiment.
pub struct SqliteReads {
    database: Database,
    name: String,
    page_bytes: u64,
    asked: Asked,
    clock: Clock,
    stop: Arc<AtomicBool>,
    table: Option<Ready>,
    findings: Vec<Finding>,
}

/// Why SQLite can do nothing of what is asked; `None` where it can do some.
pub(super) fn unfit(asked: &Asked) -> Option<String> {
    let of_cells = || asked.cells.iter().find_map(|cell| Some(data_of(*cell).check().err()?.to_string()));
    BY_STATEMENTS.unfit(asked).or_else(of_cells)
}

impl SqliteReads {
    /// Makes a database with the table without rows. Errors where there is no room for the largest table.
    pub(super) fn create(page_bytes: u32, asked: Asked, opening: &Opening<'_>) -> Result<SqliteReads, SubjectError> {
        let bytes = asked.cells.iter().map(|cell| bytes_needed(*cell, page_bytes)).max().unwrap_or(0);
        let database = Database::create(&opening.environment.scratch, page_bytes, Need::cached(bytes), &opening.stop)?;
        SqliteReads::of(database, subject_name(page_bytes), asked, opening)
    }

    /// Opens a given file.
    pub(super) fn open(path: &Path, asked: Asked, opening: &Opening<'_>) -> Result<SqliteReads, SubjectError> {
        let database = Database::open(path, &opening.stop)?;
        let file = database.path().file_name().unwrap_or_default().to_string_lossy();
        let name = format!("sqlite {} {file}", rusqlite::version());
        SqliteReads::of(database, name, asked, opening)
    }

    fn of(database: Database, name: String, asked: Asked, opening: &Opening<'_>) -> Result<SqliteReads, SubjectError> {
        // What is temporary lies in memory, so that a given file has its table without rows there.
        let schema = if database.is_given() { "temp" } else { "main" };
        database.run(&format!("CREATE TABLE {schema}.{EMPTY} (v)"))?;
        let page_bytes = database.number("PRAGMA page_size")?;
        Ok(SqliteReads {
            name,
            page_bytes,
            database,
            asked,
            clock: opening.clock,
            stop: Arc::clone(&opening.stop),
            table: None,
            findings: Vec::new(),
        })
    }

    fn ready(&self) -> Result<&Ready, SubjectError> {
        self.table.as_ref().ok_or(SubjectError::NotPrepared)
    }

    /// Makes the table of a cell and what the ways to its pages need.
    fn make(&mut self, cell: Cell, progress: &mut Progress<'_>) -> Result<(), SubjectError> {
        let (data, second) = (data_of(cell), Duration::from_secs(1));
        let name = format!("rows_{}_{}", cell.row_length, cell.columns);
        load(&self.database, (name.as_str(), &data), &format!("rows of {cell}"), progress, &self.stop)?;
        let has_key = has_key(&data);
        self.table = Some(Ready { name, rows: data.count(), accesses: Vec::new(), has_key, found_by_key: None });
        for access in possible(&self.asked, has_key) {
            progress(&format!("preparing {access} for {cell}"), second);
            self.prepare_access(access)?;
            self.add_access(access)?;
        }
        Ok(())
    }

    /// Makes a table of the rows to look for, in random order, and for keys an index.
    fn prepare_access(&self, access: Access) -> Result<(), SubjectError> {
        let Ready { name, rows, .. } = self.ready()?;
        let (database, wanted) = (&self.database, wanted_of(access));
        match access {
            Access::Rowid => database.run(&format!("CREATE TABLE {wanted} (v INTEGER); BEGIN"))?,
            Access::Index => {
                database.run(&format!("CREATE INDEX {INDEX} ON {name} (c1); CREATE TABLE {wanted} (v TEXT); BEGIN"))?
            }
            _ => return Ok(()),
        }
        let value = if access == Access::Rowid { "_rowid_" } else { "c1" };
        let insert = format!("INSERT INTO {wanted} SELECT {value} FROM {name} WHERE _rowid_ = ?");
        let mut statement = database.connection().prepare(&insert).map_err(database.failed())?;
        let order = Permutation::new(*rows, &mut SplitMix64::new(self.asked.seed));
        for row in order.into_numbers().take(LOOKED_FOR_MAX as usize) {
            statement.execute([row as i64 + 1]).map_err(database.failed())?;
        }
        drop(statement);
        database.run("COMMIT")
    }

    /// Counts the gets of the statement beside a way's, and checks which way SQLite goes.
    fn add_access(&mut self, access: Access) -> Result<(), SubjectError> {
        let question = self.question(access, Touch::Rows)?;
        self.database.expect_plan(&question.statement, &steps(access))?;
        let beside = self.database.measure(&question.beside, question.beside_count, 1, &self.clock)?;
        self.table.as_mut().ok_or(SubjectError::NotPrepared)?.accesses.push((access, beside.gets.total()));
        Ok(())
    }

    /// Removes the table with all that belongs to it, and empties the cache.
    fn remove_table(&mut self) -> Result<(), SubjectError> {
        if let Some(table) = self.table.take().filter(|_| !self.database.is_given()) {
            let wanted =
                [Access::Rowid, Access::Index].map(|access| format!("DROP TABLE IF EXISTS {};", wanted_of(access)));
            self.database.run(&format!("DROP TABLE {}; {}", identifier(&table.name), wanted.concat()))?;
        }
        self.database.run("PRAGMA shrink_memory")
    }

    /// What to ask for a way and a touch.
    fn question(&self, access: Access, touch: Touch) -> Result<Question, SubjectError> {
        let Ready { name, rows, found_by_key, .. } = self.ready()?;
        let name = identifier(name);
        let counted = match touch {
            Touch::Column(number) => format!("t.c{number}"),
            // Not `count(*)`, which SQLite takes from the heads of the pages without walking their rows.
            Touch::Nothing | Touch::Directory | Touch::Rows => "t._rowid_".into(),
        };
        let (looked_for, wanted) = ((*rows).min(LOOKED_FOR_MAX), wanted_of(access));
        let joined = |tables: String| Question {
            statement: format!("SELECT count({counted}) FROM {wanted} w CROSS JOIN {tables}"),
            count: looked_for,
            beside: format!("SELECT count(w.v) FROM {wanted} w"),
            beside_count: looked_for,
        };
        Ok(match access {
            Access::Rowid => joined(format!("{name} t ON t._rowid_ = w.v")),
            // In two steps: an index on the only column would answer without the table.
            Access::Index => {
                let tables =
                    format!("{name} i INDEXED BY {INDEX} ON i.c1 = w.v CROSS JOIN {name} t ON t._rowid_ = i._rowid_");
                Question { count: found_by_key.unwrap_or(looked_for), ..joined(tables) }
            }
            _ => Question {
                statement: format!("SELECT count({counted}) FROM main.{name} t NOT INDEXED"),
                count: *rows,
                beside: format!("SELECT count(v) FROM {EMPTY}"),
                beside_count: 0,
            },
        })
    }

    /// Why a pass cannot be made; `None` where it can.
    fn absence(&self, pass: &Pass) -> Result<Option<Finding>, SubjectError> {
        let table = self.ready()?;
        if pass.access == Access::Index && !table.has_key {
            let reason = "Rows were not read through an index of SQLite where their first column is too short to tell \
                          rows apart.";
            return Ok(Some(row::ABSENT_ACCESS.named("index", reason)));
        }
        let accesses = table.accesses.iter().map(|(access, _)| *access);
        let absence = BY_STATEMENTS.absence(&self.name, pass, accesses);
        if absence.is_some() || !self.database.has_one_page(&table.name)? {
            return Ok(absence);
        }
        let rows = counted(table.rows, "row", "rows");
        Ok(Some(absent_gets(&format!("A table of {rows} of {} was not read by {}", self.name, pass.access))))
    }

    /// Looks rows up by their keys, and notes how many there are: each key leads to one at least.
    fn look_up(&mut self, pass: &Pass, question: &Question) -> Result<Cost, SubjectError> {
        let (found, taken) = self.database.ask(&question.statement, &self.clock)?;
        let found = found.unsigned_abs().max(question.beside_count);
        self.table.as_mut().ok_or(SubjectError::NotPrepared)?.found_by_key = Some(found);
        self.cost(pass, taken, found)
    }

    /// What statements took, less the gets of those beside them.
    fn cost(&self, pass: &Pass, taken: Taken, rows: u64) -> Result<Cost, SubjectError> {
        let laps = u64::from(pass.laps);
        let of_access = self.ready()?.accesses.iter().find(|(access, _)| *access == pass.access);
        let beside = of_access.map_or(0, |(_, gets)| gets * laps);
        let counts = Counts {
            gets: taken.gets.total().saturating_sub(beside),
            rows: rows * laps,
            physical_reads: taken.gets.misses,
            versions: None,
        };
        let Taken { cpu, elapsed, cycles, .. } = taken;
        Ok(Cost { cpu, elapsed, cycles, counts: Some(counts), folded: 0 })
    }

    fn sources(&self) -> Sources {
        let gets = "sqlite3_db_status (CACHE_HIT and CACHE_MISS), less those of the statement beside it: a cursor that \
                    stays on a page gets it once";
        Sources {
            cpu: "CPU clock of the thread (CLOCK_THREAD_CPUTIME_ID)".into(),
            elapsed: "from the first step of the statement to its answer",
            gets,
            physical_reads: "sqlite3_db_status (CACHE_MISS): pages read from the file",
            rows: "counted by the statement",
            lap: ["statement", "statements"],
            baseline: Baseline::Overhead("a statement beside it"),
            cache: Cache {
                name: "SQLite's page cache",
                advice: "Ask for a smaller --payload, or name a smaller file.",
            },
        }
    }

    /// Notes once when a program wrote to the given file while it was read.
    fn look_at_file(&mut self) {
        if self.database.has_changed() && self.findings.iter().all(|finding| finding.id != "file-changed") {
            self.findings.push(row::FILE_CHANGED.of(format!(
                "Another program wrote to {} while it was read: readpath takes no locks on it, and its figures may \
                     mix two states. Repeat the run when nothing writes to it, or name a copy.",
                self.database.path().display()
            )));
        }
    }
}

impl Subject for SqliteReads {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Parameters {
        let path = || ("path", json!(self.database.path().display().to_string()));
        description(self.page_bytes, self.database.is_given().then(path).as_slice())
    }

    fn findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    fn finish(mut self: Box<Self>) -> Closing {
        self.look_at_file();
        let findings = self.findings();
        Closing { findings, own_cost: Vec::new(), outcome: self.database.finish() }
    }
}

impl LogicalReads for SqliteReads {
    fn tables(&mut self) -> Result<Vec<Table>, SubjectError> {
        if !self.database.is_given() {
            return Ok(self.asked.cells.iter().copied().map(Table::Made).collect());
        }
        // A table without row numbers is an index, and one that is virtual may be anything. Where a column has the
        // name of the row numbers, they cannot be asked for. A table without rows has nothing to be read.
        let ordinary = "SELECT name FROM pragma_table_list AS t WHERE schema = 'main' AND type = 'table' AND NOT wr \
                        AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND NOT EXISTS (SELECT 1 FROM \
                        pragma_table_xinfo(t.name) WHERE lower(name) = '_rowid_')";
        let mut tables = Vec::new();
        for name in self.database.texts(ordinary, 0)? {
            let last = format!("SELECT max(_rowid_) FROM main.{}", identifier(&name));
            tables.extend(self.database.number_or_null(&last)?.map(|last| (last, name)));
        }
        sorting::by(&mut tables, |one, other| other.cmp(one));
        let (mut read, mut left_out) = (Vec::new(), Vec::new());
        for (_, name) in tables {
            if read.len() == FOUND_TABLES_MAX {
                break;
            }
            match self.database.has_one_page(&name)? {
                true => left_out.push(name),
                false => read.push(Table::Found(name)),
            }
        }
        if read.is_empty() {
            let path = self.database.path().display();
            let lacks = match left_out.is_empty() {
                true => "with rows that have numbers",
                false => "that takes more than one page, and SQLite counts no gets of a smaller one",
            };
            let reason = format!("{path} holds no table {lacks}: name the file of another database");
            return Err(SubjectError::Failed(reason));
        }
        self.findings.extend(tables_left_out(&self.name, &left_out));
        Ok(read)
    }

    fn prepare(&mut self, table: &Table, progress: &mut Progress<'_>) -> Result<TableFacts, SubjectError> {
        self.remove_table()?;
        match table {
            Table::Made(cell) => self.make(*cell, progress)?,
            Table::Found(name) => {
                progress(&format!("counting the rows of {name}"), Duration::from_secs(1));
                let rows = format!("SELECT count(t._rowid_) FROM main.{} t NOT INDEXED", identifier(name));
                let rows = self.database.number(&rows)?;
                let (name, accesses) = (name.clone(), Vec::new());
                self.table = Some(Ready { name, rows, accesses, has_key: true, found_by_key: None });
                self.add_access(Access::FullScan)?;
            }
        }
        self.look_at_file();
        let Ready { name, rows, .. } = self.ready()?;
        let (rows, pages) = (*rows, self.database.pages(name)?);
        Ok(TableFacts { pages, rows, visibility: None, first_scans: None, sources: self.sources() })
    }

    fn populate(
        &mut self,
        population: Population,
        changed_rows: Option<u32>,
    ) -> Result<Result<Option<Snapshot>, Finding>, SubjectError> {
        let populated = BY_STATEMENTS.populated(&self.name, population, changed_rows);
        if populated.is_ok() {
            let whole = self.question(Access::FullScan, Touch::Rows)?;
            self.database.number(&whole.statement)?;
        }
        Ok(populated.map(|()| None))
    }

    fn count(&mut self, pass: &Pass) -> Result<Result<Counted, Finding>, SubjectError> {
        if let Some(absence) = self.absence(pass)? {
            return Ok(Err(absence));
        }
        let question = self.question(pass.access, pass.touch)?;
        let once = Pass { laps: 1, ..*pass };
        let cost = match (pass.access, pass.touch) {
            (Access::Index, touch) if touch != Touch::Nothing => self.look_up(&once, &question)?,
            _ => self.read(&once)?,
        };
        let counts = cost.counts.unwrap_or_default();
        let (statement, _) = question.of_touch(pass.touch);
        Ok(Ok(Counted { counts, statement: Some(statement) }))
    }

    fn read(&mut self, pass: &Pass) -> Result<Cost, SubjectError> {
        let (statement, count) = self.question(pass.access, pass.touch)?.of_touch(pass.touch);
        let taken = self.database.measure(&statement, count, pass.laps, &self.clock)?;
        self.cost(pass, taken, count)
    }

    fn read_cold(&mut self, _how: ColdRead, _blocks: u32) -> Result<Result<Vec<f64>, Finding>, SubjectError> {
        let reason = format!(
            "The physical cost of a block was not measured on {}: it reads through the page cache of the operating \
             system, which would answer. readpath ladder measures it.",
            self.name
        );
        Ok(Err(row::ABSENT_PHYSICAL.of(reason)))
    }
}

/// The tables of a given file that one page each holds; `None` where there are none.
fn tables_left_out(subject: &str, names: &[String]) -> Option<Finding> {
    let shown = names.get(..FOUND_TABLES_MAX).unwrap_or(names).join(", ");
    let what = match names.len() {
        0 => return None,
        1 => format!("Table {shown} of {subject} was not scanned"),
        all if all > FOUND_TABLES_MAX => {
            format!("Tables {shown} and {} more of {subject} were not scanned", all - FOUND_TABLES_MAX)
        }
        _ => format!("Tables {shown} of {subject} were not scanned"),
    };
    Some(absent_gets(&what))
}

/// That there are no gets by which a cost could be divided: a cursor gets the root of its tree once and stays on it,
/// whatever it looks up there. `what` is the sentence up to the reason.
fn absent_gets(what: &str) -> Finding {
    row::ABSENT_GETS.of(format!(
        "{what}: where one page holds all rows, a statement of SQLite gets that page once, however many rows it reads, \
         as it does the page of an empty table, so that a logical I/O has no cost there."
    ))
}

/// The rows of a cell, the same as the engine's.
fn data_of(cell: Cell) -> DataSet {
    let Cell { row_length, columns, payload } = cell;
    DataSet::uniform(RowShape { row_length, columns }, payload, TABLE_SEED)
}

/// About the bytes that the table of a cell takes with its index and the rows that are looked for.
fn bytes_needed(cell: Cell, page_bytes: u32) -> u64 {
    let data = data_of(cell);
    let key = data.shape().column_lengths().next().unwrap_or(0) as u64;
    let looked_for = data.count().min(LOOKED_FOR_MAX);
    let [keys, numbers] = [key, 0].map(|value| column_bytes(looked_for, value, page_bytes));
    let added = [index_bytes(data.count(), key, page_bytes), keys, numbers];
    added.into_iter().fold(table_bytes(&data, page_bytes), u64::saturating_add)
}

/// The steps of the plan by which SQLite goes this way.
fn steps(access: Access) -> Vec<String> {
    let by_number = "SEARCH t USING INTEGER PRIMARY KEY".to_string();
    match access {
        Access::Rowid => vec!["SCAN w".into(), by_number],
        Access::Index => vec!["SCAN w".into(), format!("SEARCH i USING COVERING INDEX {INDEX}"), by_number],
        _ => vec!["SCAN t".into()],
    }
}

fn wanted_of(access: Access) -> String {
    format!("wanted_{}", access.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::Environment;

    #[test]
    fn a_key_that_two_rows_have_ends_no_run() {
        let folder = tempfile::tempdir().unwrap();
        let opening = Opening {
            environment: &Environment::new(folder.path()),
            clock: Clock::calibrate(),
            stop: Arc::default(),
            progress: &mut |_, _| {},
        };
        let cell = Cell { row_length: 250, columns: 5, payload: 1 << 20 };
        let asked = Asked { cells: vec![cell], accesses: vec![Access::Index], seed: 1, ..Asked::default() };
        let mut subject = SqliteReads::create(4096, asked, &opening).unwrap();
        let rows = subject.prepare(&Table::Made(cell), &mut |_, _| {}).unwrap().rows;
        subject.database.run("INSERT INTO rows_250_5 SELECT * FROM rows_250_5 LIMIT 1").unwrap();
        let pass = Pass { access: Access::Index, touch: Touch::Rows, threads: 1, laps: 2, as_of: None };
        assert_eq!(subject.count(&pass).unwrap().unwrap().counts.rows, rows + 1);
        assert_eq!(subject.read(&pass).unwrap().counts.unwrap().rows, 2 * (rows + 1));
    }
}
