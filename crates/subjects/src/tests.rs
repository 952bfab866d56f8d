//! The findings of all subjects, read on both sides of their conditions.

use std::cell::RefCell;
use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;

use measure::Finding;
use measure::schema::FindingSpec;
use measure::schema::subjects;
use measure::schema::subjects::findings as row;
use rusqlite::Connection;
use sides::proptest::option;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};
use sys::time::Clock;
use tempfile::TempDir;

use crate::logical_reads::{Access, Asked, Cell, ColdRead, LogicalReads, Pass, Population, Table, Touch, TouchAxis};
use crate::{Environment, Opener, Opening, Places, Recorder, SubjectError, engine, postgres, sqlite};

/// Tables whose first column tells rows apart, and does not.
const CELLS: [Cell; 2] =
    [Cell { row_length: 250, columns: 5, payload: 32 << 10 }, Cell { row_length: 25, columns: 5, payload: 32 << 10 }];

/// The ways that one of the subjects is prepared for.
const ACCESSES: [&[Access]; 4] = [
    &[Access::FullScan, Access::Rowid, Access::Index],
    &[Access::FullScan, Access::Rowid, Access::Index],
    &[Access::FullScan, Access::Index],
    &[Access::FullScan, Access::Rowid],
];

/// The subjects: SQLite, a server whose statements are recorded, SQLite again with fewer ways, and the engine.
const WORDS: [&str; 4] = ["sqlite", "postgres://user@localhost/database", "sqlite", "engine"];
const ENGINE: usize = 3;

/// All subjects, each opened once.
struct Opened {
    subjects: Vec<RefCell<Box<dyn LogicalReads>>>,
    // Removed last.
    _folder: TempDir,
}

/// Opens a subject that reads tables in a folder, its statements recorded where it takes any.
fn open(word: &str, accesses: &[Access], folder: &TempDir) -> Box<dyn LogicalReads> {
    let asked = Asked {
        directory: folder.path().join("tables"),
        cells: CELLS.to_vec(),
        accesses: accesses.to_vec(),
        touches: vec![TouchAxis::Every(Touch::Rows)],
        threads: vec![1],
        changed_rows: vec![0],
        ..Asked::default()
    };
    let recorder = word.starts_with("postgres").then(Recorder::default);
    let environment = Environment { recorder, ..Environment::new(folder.path()) };
    let places: Places = word.parse().unwrap();
    let place = places.iter().next().unwrap();
    let opening = &mut Opening {
        environment: &environment,
        clock: Clock::calibrate(),
        stop: Arc::default(),
        progress: &mut |_, _| {},
    };
    place.logical_reads(&asked).unwrap().open(opening).unwrap()
}

impl Opened {
    fn all() -> Rc<Opened> {
        let folder = TempDir::new().unwrap();
        let open = |(word, accesses): (&str, &[Access])| RefCell::new(open(word, accesses, &folder));
        let subjects = WORDS.into_iter().zip(ACCESSES).map(open).collect();
        Rc::new(Opened { subjects, _folder: folder })
    }

    /// What one of them answers over one of the tables.
    fn ask<T>(
        &self,
        (which, cell): (usize, usize),
        ask: impl FnOnce(&mut dyn LogicalReads) -> Result<Result<T, Finding>, SubjectError>,
    ) -> Option<Finding> {
        let mut subject = self.subjects[which].borrow_mut();
        subject.prepare(&Table::Made(CELLS[cell]), &mut |_, _| {}).unwrap();
        ask(&mut **subject).unwrap().err()
    }

    fn name(&self, which: usize) -> String {
        self.subjects[which].borrow().name().into()
    }
}

/// Which subject, which table, and a pass over it.
type Way = ((usize, usize), Access, Touch, usize);

fn ways() -> impl Strategy<Value = Way> {
    let access = select(vec![Access::FullScan, Access::Rowid, Access::RowidInOrder, Access::OnePage, Access::Index]);
    let touch = prop_oneof![1 => Just(Touch::Directory), 3 => Just(Touch::Rows)];
    ((0..ENGINE, 0..CELLS.len()), access, touch, 1..3_usize)
}

/// The first thing that keeps a pass from being made, with its sentence.
fn refusal(name: &str, ((which, cell), access, touch, threads): &Way) -> Option<(FindingSpec, String)> {
    if *access == Access::Index && *cell == 1 {
        return Some((row::ABSENT_ACCESS, "first column is too short to tell rows apart.".into()));
    }
    if !ACCESSES[*which].contains(access) {
        return Some((row::ABSENT_ACCESS, format!("{name} was not read by {access}: no statement does.")));
    }
    if *threads > 1 {
        return Some((row::ABSENT_THREADS, format!("{name} was not read by several threads: one ")));
    }
    let directory = || format!("The directory of rows was not read on {name}: no statement stops there.");
    (*touch == Touch::Directory).then(|| (row::ABSENT_DIRECTORY, directory()))
}

/// Passes that a subject cannot make.
fn passes(opened: &Rc<Opened>) -> Vec<Reading> {
    let pass = |access, touch, threads| Pass { access, touch, threads, laps: 1, as_of: None };
    let of_row = |row: FindingSpec| {
        let (of, named) = (Rc::clone(opened), Rc::clone(opened));
        let find = move |(at, access, touch, threads): &Way| {
            of.ask(*at, |subject| subject.count(&pass(*access, *touch, *threads)))
        };
        reading(row, ways(), find, move |way| {
            let (refused, said) = refusal(&named.name(way.0.0), way)?;
            (refused == row).then(|| vec![said])
        })
    };
    let of = Rc::clone(opened);
    let engine = select(vec![Access::FullScan, Access::Rowid, Access::Index]);
    let find = move |access: &Access| of.ask((ENGINE, 0), |subject| subject.count(&pass(*access, Touch::Rows, 1)));
    let engine = reading(row::ABSENT_ACCESS, engine, find, |access| {
        (*access == Access::Index).then(|| says!["The engine was not read through an index: its tables"])
    });
    vec![of_row(row::ABSENT_ACCESS), of_row(row::ABSENT_THREADS), of_row(row::ABSENT_DIRECTORY), engine]
}

/// States that a subject cannot bring its table into, and blocks that it cannot read past a cache.
fn states(opened: &Rc<Opened>) -> Vec<Reading> {
    let values = || {
        let population = select(vec![Population::FullScan, Population::Interleaved]);
        (0..ENGINE, population, option::of(0..2_u32))
    };
    let of_row = |row: FindingSpec, stands: fn(&str, Population, Option<u32>) -> Option<Vec<String>>| {
        let (of, named) = (Rc::clone(opened), Rc::clone(opened));
        let find = move |(which, population, changed): &(usize, Population, Option<u32>)| {
            of.ask((*which, 0), |subject| subject.populate(*population, *changed))
        };
        reading(row, values(), find, move |(which, population, changed)| {
            stands(&named.name(*which), *population, *changed)
        })
    };
    let changed = of_row(row::ABSENT_CHANGED_ROWS, |name, population, changed| {
        let is_asked = population == Population::FullScan && changed.is_some_and(|percent| percent > 0);
        is_asked.then(|| says![format!("Changed rows were not read on {name}: it keeps ")])
    });
    let order = of_row(row::ABSENT_POPULATION, |name, population, _| {
        (population == Population::Interleaved).then(|| says![name, "in the order in which statements ask for them."])
    });
    let (of, named) = (Rc::clone(opened), Rc::clone(opened));
    let find = move |which: &usize| of.ask((*which, 0), |subject| subject.read_cold(ColdRead::SingleBlocks, 2));
    let physical = reading(row::ABSENT_PHYSICAL, 0..=ENGINE, find, move |which| {
        let name = named.name(*which);
        (*which != ENGINE).then(|| says![format!("The physical cost of a block was not measured on {name}: ")])
    });
    vec![changed, order, physical]
}

/// A file that another program writes to while it is read, or after, or not at all.
fn changed_file() -> Reading {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("given.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (v); INSERT INTO t VALUES (1)").unwrap();
    let database = fs::read(&path).unwrap();
    let shown = fs::canonicalize(&path).unwrap().display().to_string();
    let find = move |written_at: &usize| {
        fs::write(&path, &database).unwrap();
        let mut subject = open(&format!("sqlite:{}", path.display()), &[Access::FullScan], &folder);
        for at in 0..2 {
            subject.prepare(&Table::Found("t".into()), &mut |_, _| {}).unwrap();
            if at == *written_at {
                OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
            }
        }
        subject.finish().findings
    };
    reading(row::FILE_CHANGED, 0..3_usize, find, move |written_at| {
        (*written_at < 2).then(|| says![format!("Another program wrote to {shown} while it was read: ")])
    })
}

/// A file with a table of two pages or more, and beside it one whose rows are on one page or on several.
fn table_on_one_page() -> Reading {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("small.db");
    let make = "CREATE TABLE large (v); CREATE TABLE t (v); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 \
                FROM n WHERE i < 9) INSERT INTO large SELECT zeroblob(1500) FROM n";
    Connection::open(&path).unwrap().execute_batch(make).unwrap();
    let find = move |rows: &u64| {
        let fill = format!(
            "DELETE FROM t; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) INSERT \
             INTO t SELECT zeroblob(1500) FROM n"
        );
        Connection::open(&path).unwrap().execute_batch(&fill).unwrap();
        let mut subject = open(&format!("sqlite:{}", path.display()), &[Access::FullScan], &folder);
        subject.tables().unwrap();
        subject.findings()
    };
    // A page has 4096 bytes.
    reading(row::ABSENT_GETS, 1..6_u64, find, |rows| {
        (*rows <= 2).then(|| says!["Table t of sqlite 3.", " small.db was not scanned: where one page holds all "])
    })
}

/// The engine beside a server or by itself, where it can do what is asked or cannot.
fn absent_engine() -> Reading {
    let find = |(on, can): &(&'static str, bool)| {
        let places = on.parse::<Places>().unwrap().then_engine();
        let offers = places.offers(|place| match place.word().as_str() {
            "engine" if !can => Err("it has no planner.".to_string()),
            _ => Ok(Opener::<dyn LogicalReads>::new(Box::new(|_| Err(SubjectError::NotPrepared)))),
        });
        assert_eq!(offers.is_err(), *on == "engine" && !can, "a place that is named is refused");
        offers.ok().and_then(|(_, absence)| absence)
    };
    let values = (select(vec!["engine", "postgres:18"]), any::<bool>());
    reading(row::ABSENT_ENGINE, values, find, |(on, can)| {
        (*on != "engine" && !can).then(|| says!["The engine was not measured for comparison: it has no planner."])
    })
}

#[test]
fn what_subjects_lack_and_notice_is_said_where_it_is_so() {
    let opened = Opened::all();
    let files = [changed_file(), table_on_one_page()];
    let own = passes(&opened).into_iter().chain(states(&opened)).chain(files).chain([absent_engine()]);
    let all = own.chain(engine::tests::readings()).chain(sqlite::tests::readings()).chain(postgres::tests::readings());
    both_sides(&subjects::findings::ALL, all);
}
