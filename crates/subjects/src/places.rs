//! The table of subjects, and the list of places that `--on` names.

use std::str::FromStr;
use std::sync::Arc;

use measure::Finding;
use measure::schema::subjects::findings as row;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::EnginePlace;
use crate::error::SubjectError;
use crate::place::{Offer, Opener, Place};
use crate::postgres::place::{PostgresPlace, SCHEMES};
use crate::sqlite;
use crate::sqlite::place::SqlitePlace;
use crate::subject::ENGINE;

/// A kind of subject: which words of `--on` it claims, and what they mean.
struct Row {
    /// How to write one, for help and refusals.
    written: &'static str,
    /// Whether a word begins with what this kind claims, up to the end or a comma.
    claims: fn(&str) -> bool,
    /// How addresses begin in which a password may stand.
    addresses: &'static [&'static str],
    /// Reads a word that it claims.
    parse: fn(&str) -> Result<Arc<dyn Place>, SubjectError>,
}

/// The subjects. A new kind adds its row.
const SUBJECTS: &[Row] = &[
    Row {
        written: "engine",
        claims: |word| word.split(',').next() == Some(ENGINE),
        addresses: &[],
        parse: |word| if word == ENGINE { Ok(Arc::new(EnginePlace)) } else { Err(unknown(word)) },
    },
    Row {
        written: "postgres://USER@HOST:PORT/DATABASE for an existing server, or postgres:VERSION, such as \
                  postgres:18, or postgres:DIRECTORY with an installed one's programs, for one that is started for the \
                  run, or postgres:copy:DIRECTORY?dbname=NAME for one that is started on a copy of a data directory",
        claims: |word| SCHEMES.iter().any(|scheme| word.starts_with(scheme)),
        addresses: &server::place::SCHEMES,
        parse: |word| Ok(Arc::new(PostgresPlace::parse(word)?)),
    },
    Row {
        written: "sqlite for a database of its own with pages of 4 KiB, sqlite?page_size=8192 with others, or, for \
                  lio alone, sqlite:FILE for an existing one, which is only read",
        claims: sqlite::place::claims,
        addresses: &[],
        parse: |word| Ok(Arc::new(SqlitePlace::parse(word)?)),
    },
];

/// The places of a run, in the order in which they are measured.
#[derive(Clone, Debug)]
pub struct Places {
    places: Vec<Arc<dyn Place>>,
    /// How many of them the user named; the engine may stand beside those.
    named: usize,
}

impl Default for Places {
    /// The engine alone.
    fn default() -> Places {
        Places { places: vec![Arc::new(EnginePlace)], named: 1 }
    }
}

impl Places {
    /// Whether a word begins with what a subject claims.
    pub fn claim(word: &str) -> bool {
        SUBJECTS.iter().any(|row| (row.claims)(word))
    }

    /// All words of several `--on`, in their order; the engine alone where there are none.
    pub fn joined(lists: impl IntoIterator<Item = Places>) -> Places {
        let places: Vec<_> = lists.into_iter().flat_map(|list| list.places).collect();
        if places.is_empty() { Places::default() } else { Places { named: places.len(), places } }
    }

    /// The places, those that the user named and the engine beside them.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Place> {
        self.places.iter().map(|place| &**place)
    }

    /// The places that the user named.
    pub fn named(&self) -> impl Iterator<Item = &dyn Place> {
        self.iter().filter(|place| self.named == self.places.len() || place.word() != ENGINE)
    }

    /// Whether the user named a place, other than the engine that stands beside.
    pub fn is_named(&self, place: &dyn Place) -> bool {
        self.named().any(|named| named.word() == place.word())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Whether the engine is the only one.
    pub fn is_engine_alone(&self) -> bool {
        self.places.iter().all(|place| place.word() == ENGINE)
    }

    /// A default that depends on whether the engine is `alone`, or measured with others.
    pub fn usual<T>(&self, alone: T, with_others: T) -> T {
        if self.is_engine_alone() { alone } else { with_others }
    }

    /// The same with the engine last, where it was not named.
    pub fn then_engine(self) -> Places {
        self.with_engine(|places, engine| places.push(engine))
    }

    /// The same with the engine first, where it was not named.
    pub fn engine_first(self) -> Places {
        self.with_engine(|places, engine| places.insert(0, engine))
    }

    fn with_engine(mut self, add: impl FnOnce(&mut Vec<Arc<dyn Place>>, Arc<dyn Place>)) -> Places {
        if self.iter().all(|place| place.word() != ENGINE) {
            add(&mut self.places, Arc::new(EnginePlace));
        }
        self
    }

    /// What the places offer an experiment, and the finding about the engine where it was added to others and cannot do
    /// what is asked. Errors with the refusal of a place that the user named.
    pub fn offers<'a, T: ?Sized>(
        &'a self,
        offer: impl Fn(&'a dyn Place) -> Offer<'a, T>,
    ) -> Result<(Vec<Opener<'a, T>>, Option<Finding>), String> {
        let (mut openers, mut absence) = (Vec::new(), None);
        for place in self.iter() {
            match offer(place) {
                Ok(opener) => openers.push(opener),
                Err(refusal) if self.is_named(place) => return Err(refusal),
                Err(refusal) => {
                    let reason = refusal.trim_end_matches('.');
                    absence =
                        Some(row::ABSENT_ENGINE.of(format!("The engine was not measured for comparison: {reason}.")));
                }
            }
        }
        Ok((openers, absence))
    }

    /// Each of these by itself.
    pub fn each(&self) -> impl Iterator<Item = Places> {
        self.places.iter().map(|place| Places { places: vec![Arc::clone(place)], named: 1 })
    }

    /// Each server of these that is in use, by itself.
    pub fn in_use(&self) -> impl Iterator<Item = Places> {
        self.each().filter(|places| places.iter().all(Place::is_in_use))
    }

    /// Those whose statements a dry run can record.
    pub fn taking_statements(self) -> Places {
        let places: Vec<_> = self.places.into_iter().filter(|place| place.takes_statements()).collect();
        Places { named: places.len(), places }
    }
}

impl FromStr for Places {
    type Err = SubjectError;

    /// Reads `a,b,c`. A comma ends a word only where a word of a subject follows: the hosts of a server's address have
    /// commas between them too, and a host named `engine` needs its port.
    fn from_str(words: &str) -> Result<Places, SubjectError> {
        let row = |word: &str| SUBJECTS.iter().find(|row| (row.claims)(word));
        let mut starts = vec![0];
        starts.extend(words.match_indices(',').map(|(at, _)| at + 1).filter(|at| row(&words[*at..]).is_some()));
        let ends = starts.iter().skip(1).map(|start| start - 1).chain([words.len()]);
        let parse = |word: &str| match row(word) {
            Some(row) => (row.parse)(word),
            None => Err(unknown(word)),
        };
        let places: Vec<_> =
            starts.iter().zip(ends).map(|(start, end)| parse(&words[*start..end])).collect::<Result<_, _>>()?;
        Ok(Places { named: places.len(), places })
    }
}

/// How the addresses of servers begin in which a password may stand, such as `postgres://`.
pub fn addresses() -> impl Iterator<Item = &'static str> {
    SUBJECTS.iter().flat_map(|row| row.addresses).copied()
}

/// A word of a command line as it may be kept and shown: without the passwords of addresses.
pub fn without_password(word: &str) -> String {
    server::place::without_password(word, &addresses().collect::<Vec<_>>())
}

fn unknown(word: &str) -> SubjectError {
    let known: Vec<&str> = SUBJECTS.iter().map(|row| row.written).collect();
    SubjectError::Parameters(format!("'{}' names no subject: write {}", without_password(word), known.join(", or ")))
}

impl Serialize for Places {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.named().map(Place::word))
    }
}

impl<'de> Deserialize<'de> for Places {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Places, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        let lists: Result<Vec<Places>, _> = words.iter().map(|word| word.parse()).collect();
        Ok(Places::joined(lists.map_err(serde::de::Error::custom)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &str) -> Vec<String> {
        list.parse::<Places>().unwrap().iter().map(Place::word).collect()
    }

    #[test]
    fn a_comma_between_the_hosts_of_an_address_parts_no_subjects() {
        assert_eq!(
            words("postgres://me@a:5432,engine.example:5433/db?application_name=a,b,engine,postgres:18"),
            ["postgres://me@a:5432,engine.example:5433/db?application_name=a,b", "engine", "postgres:18"]
        );
        assert_eq!(words("postgres:15,postgresql://h/db"), ["postgres:15", "postgresql://h/db"]);
        assert_eq!(words("engine"), ["engine"]);
    }

    #[test]
    fn what_names_no_subject_says_what_does_and_shows_no_password() {
        let refusal = |list: &str| list.parse::<Places>().unwrap_err().to_string();
        assert!(refusal("mysql://me@host/db").contains("postgres:18"));
        assert!(refusal("engine,oracle").contains("write engine"));
        assert!(!refusal("postgres:17,postgres://me:secret@host:no-port/db").contains("secret"));
        assert!(!refusal("x,--on=postgres://me:secret@host/db").contains("secret"));
    }

    #[test]
    fn the_engine_stands_beside_a_server_once_and_is_not_written_down() {
        let beside = "postgres:18".parse::<Places>().unwrap().then_engine().then_engine();
        assert_eq!(beside.iter().map(Place::word).collect::<Vec<_>>(), ["postgres:18", "engine"]);
        assert_eq!(beside.named().map(Place::word).collect::<Vec<_>>(), ["postgres:18"]);
        assert_eq!(serde_json::to_string(&beside).unwrap(), r#"["postgres:18"]"#);
        assert!(serde_json::from_str::<Places>("[]").unwrap().is_engine_alone());
        assert_eq!(beside.taking_statements().count(), 1);
    }
}
