//! SQLite as a word of `--on`: a database of our own, or a file that is there.

use std::path::PathBuf;

use super::access_paths::{SqlitePaths, offers};
use super::database::PAGE_BYTES;
use super::given_file::GivenFile;
use super::logical_reads::{SqliteReads, unfit};
use super::nested_loops::SqliteLoops;
use crate::access_paths::{self, AccessPaths, AccessSettings};
use crate::error::SubjectError;
use crate::logical_reads::{Asked, LogicalReads};
use crate::nested_loops::{self, NestedLoops};
use crate::place::{Offer, Opener, Place};

/// The word, and how its options and a file follow it.
const SQLITE: &str = "sqlite";
const PAGE_SIZE: &str = "?page_size=";

/// The page sizes that SQLite has.
const PAGE_BYTES_MIN: u32 = 512;
const PAGE_BYTES_MAX: u32 = 65_536;

/// What a word of `--on` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlitePlace {
    /// A database that is made for the run, with pages of this many bytes.
    Own(u32),
    /// A file that is there, which is only read.
    Given(PathBuf),
}

/// Whether a list of words begins with one of ours.
pub(crate) fn claims(words: &str) -> bool {
    let rest = words.strip_prefix(SQLITE);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '?', ':']))
}

impl SqlitePlace {
    /// Reads a word of `--on`.
    pub fn parse(word: &str) -> Result<SqlitePlace, SubjectError> {
        let refuse = |reason: String| Err(SubjectError::Parameters(reason));
        let rest = word.strip_prefix(SQLITE).unwrap_or_default();
        if rest.is_empty() && word == SQLITE {
            return Ok(SqlitePlace::Own(PAGE_BYTES));
        }
        if let Some(file) = rest.strip_prefix(':') {
            return match file {
                "" => refuse("'sqlite:' names no file: write sqlite:FILE, or sqlite for a database of its own".into()),
                file => Ok(SqlitePlace::Given(file.into())),
            };
        }
        match rest.strip_prefix(PAGE_SIZE).and_then(|size| size.parse().ok()) {
            Some(bytes @ PAGE_BYTES_MIN..=PAGE_BYTES_MAX) if u32::is_power_of_two(bytes) => Ok(SqlitePlace::Own(bytes)),
            _ => refuse(format!(
                "'{word}' names no database: write sqlite?page_size=8192, with a power of two from {PAGE_BYTES_MIN} to \
                 {PAGE_BYTES_MAX}, or sqlite:FILE"
            )),
        }
    }
}

impl Place for SqlitePlace {
    fn word(&self) -> String {
        match self {
            SqlitePlace::Own(PAGE_BYTES) => SQLITE.into(),
            SqlitePlace::Own(bytes) => format!("{SQLITE}{PAGE_SIZE}{bytes}"),
            SqlitePlace::Given(path) => format!("{SQLITE}:{}", path.display()),
        }
    }

    fn takes_statements(&self) -> bool {
        false
    }

    fn makes_tables(&self) -> bool {
        matches!(self, SqlitePlace::Own(_))
    }

    fn check_files(&self) -> Result<(), SubjectError> {
        match self {
            SqlitePlace::Own(_) => Ok(()),
            SqlitePlace::Given(path) => GivenFile::check(path).map(drop),
        }
    }

    fn logical_reads(&self, asked: &Asked) -> Offer<'_, dyn LogicalReads> {
        if let Some(absence) = unfit(asked) {
            return Err(absence);
        }
        let asked = asked.clone();
        Ok(Opener::new(Box::new(move |opening| {
            Ok(match self {
                SqlitePlace::Own(page_bytes) => Box::new(SqliteReads::create(*page_bytes, asked, opening)?),
                SqlitePlace::Given(path) => Box::new(SqliteReads::open(path, asked, opening)?),
            })
        })))
    }

    fn access_paths(&self, settings: &AccessSettings) -> Offer<'_, dyn AccessPaths> {
        let SqlitePlace::Own(page_bytes) = self else {
            let reason = "A given file is only read, and the table of customers would have to be made in it: write \
                          --on sqlite for a database of its own.";
            return Err(reason.into());
        };
        access_paths::check_wanted(SQLITE, &offers(settings.asked), settings)?;
        let settings = settings.clone();
        Ok(Opener::new(Box::new(move |opening| Ok(Box::new(SqlitePaths::create(*page_bytes, settings, opening)?)))))
    }

    fn nested_loops(&self, asked: &nested_loops::Asked) -> Offer<'_, dyn NestedLoops> {
        let SqlitePlace::Own(page_bytes) = self else {
            let reason = "A given file is only read, and the inner table of the join would have to be made in it: \
                          write --on sqlite for a database of its own.";
            return Err(reason.into());
        };
        let asked = asked.clone();
        Ok(Opener::new(Box::new(move |opening| Ok(Box::new(SqliteLoops::create(*page_bytes, asked, opening))))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back_as_it_was_written() {
        for word in ["sqlite", "sqlite?page_size=8192", "sqlite:/a b/c?d%20,e.db", "sqlite:line\nbreak"] {
            assert!(claims(word));
            assert_eq!(SqlitePlace::parse(word).unwrap().word(), word);
        }
        assert!(!claims("sqlite3") && claims("sqlite,engine"));
    }

    #[test]
    fn a_page_size_that_cannot_be_is_refused_with_one_that_can() {
        for word in ["sqlite?page_size=4000", "sqlite?page_size=256", "sqlite?page_size=", "sqlite?cache=1", "sqlite?"]
        {
            let refusal = SqlitePlace::parse(word).unwrap_err().to_string();
            assert!(refusal.contains("sqlite?page_size=8192"), "{refusal}");
        }
        assert!(SqlitePlace::parse("sqlite:").unwrap_err().to_string().contains("names no file"));
    }
}
