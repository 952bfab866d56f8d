//! The server's tablespaces, and the table of the run moved from one to another.

use std::path::Path;

use server::ServerError;
use server::private::{drop_from_page_cache, files_of_relation};
use server::schema;
use server::session::{identifier, literal};

use super::probe::DENSE;
use super::{Calibration, StillCached};
use crate::error::SubjectError;

/// Tablespaces that tables can lie in, what is set for each, whether tables that name none come to lie there, and
/// whether the role may make tables there. The database's own tablespace takes no privilege.
///
/// Source: PostgreSQL, `ATPrepSetTableSpace` in src/backend/commands/tablecmds.c.
const TABLESPACES: &str = "SELECT t.spcname, array_to_string(t.spcoptions, ', '), t.oid = home.oid, \
    t.oid = home.database OR has_tablespace_privilege(t.oid, 'CREATE') FROM pg_tablespace t, \
    (SELECT d.dattablespace AS database, coalesce(s.oid, d.dattablespace) AS oid FROM pg_database d LEFT JOIN \
    pg_tablespace s ON s.spcname = current_setting('default_tablespace') WHERE d.datname = current_database()) home \
    WHERE t.spcname <> 'pg_global' ORDER BY t.oid = home.oid DESC, t.spcname";

/// What a dry run takes the second tablespace to be called.
const ASSUMED: &str = "another";

/// A tablespace that tables can lie in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tablespace {
    /// Its name.
    pub name: String,
    /// Its own settings, as in `seq_page_cost=2, random_page_cost=3`; empty where it has none.
    pub options: String,
    /// Whether the tables of the run are made there.
    pub is_home: bool,
    /// Whether the role may make tables there.
    pub may_create: bool,
}

impl Tablespace {
    /// A planner's constant of its own.
    pub fn option(&self, name: &str) -> Option<f64> {
        let mut options = self.options.split(", ").filter_map(|option| option.split_once('='));
        options.find(|(one, _)| *one == name)?.1.parse().ok()
    }
}

impl Calibration {
    /// The tablespaces that tables can lie in, the one of the run's tables first.
    pub fn tablespaces(&mut self) -> Result<Vec<Tablespace>, SubjectError> {
        let space = |row: Vec<Option<String>>| {
            let mut columns = row.into_iter().map(Option::unwrap_or_default);
            let (name, options) = (columns.next()?, columns.next()?);
            let mut is_true = || columns.next().is_some_and(|text| text == "t" || text == "true");
            Some(Tablespace { name, options, is_home: is_true(), may_create: is_true() })
        };
        let found: Vec<Tablespace> = self.session().rows(TABLESPACES)?.into_iter().filter_map(space).collect();
        if !self.is_rehearsal() {
            return Ok(found);
        }
        let of = |name: &str| Tablespace { name: name.into(), may_create: true, ..Tablespace::default() };
        Ok(vec![Tablespace { is_home: true, ..of("pg_default") }, of(ASSUMED)])
    }

    /// Writes the file of the first table anew in a tablespace other than the one where it is: none of its blocks is
    /// then in the server's buffers. A sentence where the server refuses, as where the tablespace is full.
    ///
    /// Source: PostgreSQL, `heapam_relation_copy_data` in src/backend/access/heap/heapam_handler.c, which copies past
    /// the buffers.
    pub fn move_to(&mut self, space: &str) -> Result<Result<(), String>, SubjectError> {
        let statement = format!("ALTER TABLE {} SET TABLESPACE {}", schema::full_name(DENSE), identifier(space));
        match self.session().run(&statement) {
            Err(ServerError::Statement { reason, .. }) => Ok(Err(reason)),
            other => Ok(Ok(other?)),
        }
    }

    /// Takes the file of the first table out of the page cache: the part of its pages that stayed, 0 to 1; `None` where
    /// this process cannot reach it.
    pub fn evict_table(&mut self) -> Result<Option<f64>, SubjectError> {
        let question = format!("SELECT pg_relation_filepath({}::regclass)", literal(&schema::full_name(DENSE)));
        let file = self.session().text(&question, None)?.unwrap_or_default();
        let data = self.facts().data_directory.clone();
        let (Some(data), true) = (data, self.is_local() && !file.is_empty()) else { return Ok(None) };
        Ok(evicted(&Path::new(&data).join(file)))
    }
}

/// Takes a relation's files out of the page cache, one for each GiB: the part of their pages that stayed; `None` where
/// one cannot be opened.
fn evicted(first: &Path) -> Option<f64> {
    let files = files_of_relation(first).map(|path| drop_from_page_cache(&path)).collect::<Result<Vec<_>, _>>().ok()?;
    files.iter().any(|file| file.of > 0).then(|| StillCached::of(&files).of_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tablespaces_own_constants_are_told_from_its_other_options() {
        let options = "seq_page_cost=2, random_page_cost=3.5, effective_io_concurrency=8".to_string();
        let space = Tablespace { options, ..Tablespace::default() };
        assert_eq!((space.option("seq_page_cost"), space.option("random_page_cost")), (Some(2.0), Some(3.5)));
        assert_eq!((space.option("page_cost"), Tablespace::default().option("seq_page_cost")), (None, None));
    }

    #[test]
    fn all_files_of_a_relation_leave_the_page_cache_and_one_that_is_not_there_is_not_cold() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let first = folder.path().join("16400");
        assert_eq!(evicted(&first), None);
        for path in [first.clone(), folder.path().join("16400.1")] {
            std::fs::write(path, vec![1; 1 << 20]).unwrap();
        }
        let left = evicted(&first).unwrap();
        assert!(left < 0.5, "{left} of what was written is still cached");
    }
}
