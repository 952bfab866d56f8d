//! The numbers of runs as one table for other programs: a row for each metric of each case, and one for each reason why
//! a number is absent.
//!
//! [`mod@column`] has the columns, and [`line`] what a row is made of. The file appears whole or not at all.

pub mod column;
mod line;

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use measure::Run;
use measure::atomic_file::Draft;
use thiserror::Error;

use self::column::COLUMNS;
use self::line::Line;
pub use self::line::Words;
use crate::folder::{Existing, has_no_room};
use crate::table::{Failed, TableWriter, of_writer};

/// Name of the table inside a Parquet file.
const TABLE: &str = "rows";

/// Endings of the files that can be written.
const ENDINGS: [&str; 2] = ["parquet", "csv"];

/// Why the rows were not written; each sentence names the file and what to do.
#[derive(Debug, Error)]
pub enum RunsError {
    /// The name of the file does not say what it is to hold.
    #[error("{} could be Parquet or CSV: end its name in .parquet or .csv.", .0.display())]
    Ending(PathBuf),
    /// There is a folder of that name.
    #[error("{} is a folder: name a file that ends in .parquet or .csv.", .0.display())]
    Folder(PathBuf),
    /// There is something of that name already.
    #[error("{} is there already. Name another file with --output, or replace it with --force.", .0.display())]
    Exists(PathBuf),
    /// There is no room.
    #[error("there is no room for {}. Nothing was left there; name a file on another file system with --output.",
            .0.display())]
    OutOfSpace(PathBuf),
    /// The file cannot be made or written.
    #[error("{} could not be written: {source}. Nothing was left there.", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// What the operating system or the writer reported.
        source: io::Error,
    },
}

/// A file that is being written. Dropped before [`RunWriter::finish`], it leaves nothing.
pub struct RunWriter {
    place: PathBuf,
    draft: Draft,
    existing: Existing,
    sink: Sink,
    rows: u64,
}

enum Sink {
    Parquet(Box<TableWriter>),
    Csv(Box<csv::Writer<BufWriter<File>>>),
}

impl RunWriter {
    /// Begins the file next to `place`, so that a place that cannot be used is an error before anything is read.
    ///
    /// # Errors
    /// Where the place is taken or cannot be written, or its ending says nothing.
    pub fn begin(place: &Path, existing: Existing) -> Result<RunWriter, RunsError> {
        let ending = place.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match fs::symlink_metadata(place) {
            Ok(data) if data.is_dir() => return Err(RunsError::Folder(place.into())),
            _ if !ENDINGS.contains(&ending) => return Err(RunsError::Ending(place.into())),
            Ok(_) if existing == Existing::Refuse => return Err(RunsError::Exists(place.into())),
            _ => {}
        }
        let failed = |source| failure(place, source);
        // The file that a link leads to, not the link, whose name says what is written all the same.
        let target = fs::canonicalize(place).unwrap_or_else(|_| place.into());
        let draft = Draft::beside(&target).map_err(failed)?;
        let sink = Sink::new(ending, draft.file().try_clone().map_err(failed)?).map_err(failed)?;
        Ok(RunWriter { place: target, draft, existing, sink, rows: 0 })
    }

    /// Writes the rows of a run.
    ///
    /// # Errors
    /// Those of the file.
    pub fn write(&mut self, run: &Run, words: &Words) -> Result<(), RunsError> {
        let (sink, rows) = (&mut self.sink, &mut self.rows);
        let written = line::each(run, words, &mut |line| {
            *rows += 1;
            sink.write(line)
        });
        written.map_err(|source| failure(&self.place, source))
    }

    /// Ends the file and gives it its name; how many rows it has.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(self) -> Result<u64, RunsError> {
        let RunWriter { place, draft, existing, sink, rows } = self;
        let published = sink.finish().and_then(|()| draft.publish_as_it_is(&place, existing));
        published.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RunsError::Exists(place),
            _ => failure(&place, source),
        })?;
        Ok(rows)
    }
}

impl Sink {
    fn new(ending: &str, file: File) -> io::Result<Sink> {
        if ending == ENDINGS[0] {
            let table = TableWriter::new(TABLE, column::of_file(), file).map_err(of_writer)?;
            return Ok(Sink::Parquet(Box::new(table)));
        }
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        writer.write_record(COLUMNS.iter().map(|column| column.name)).map_err(of_csv)?;
        Ok(Sink::Csv(Box::new(writer)))
    }

    fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        match self {
            Sink::Parquet(table) => {
                let fill = |column: &column::RunColumn| (column.name, column.value(line));
                let pushed =
                    table.push(|row| COLUMNS.iter().map(fill).for_each(|(name, value)| row.nullable(name, &value)));
                pushed.map_err(|failed| match failed {
                    Failed::Writer(error) => of_writer(error),
                    Failed::Range => io::Error::other("a time is out of range"),
                })
            }
            Sink::Csv(writer) => {
                writer.write_record(COLUMNS.iter().map(|column| column::in_csv(&column.value(line)))).map_err(of_csv)
            }
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Sink::Parquet(table) => table.finish().map_err(of_writer),
            Sink::Csv(writer) => {
                let file = writer.into_inner().map_err(|error| error.into_error())?;
                file.into_inner().map_err(|error| error.into_error())?.sync_all()
            }
        }
    }
}

fn failure(place: &Path, source: io::Error) -> RunsError {
    let path = place.into();
    if has_no_room(&source) { RunsError::OutOfSpace(path) } else { RunsError::NotWritten { path, source } }
}

fn of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
