//! A job file as its tables: the defaults, and each job with what it sets and what its matrix varies. Whether there
//! are such parameters is not known here.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use measure::sorting;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::problem::{Place, Problem};
use super::source::Lines;
use super::spelling::{hyphenated, meant, shortened};
use super::value::Value;

/// The table whose parameters every job has that knows them.
const DEFAULTS: &str = "defaults";

/// Keys of a job that are no parameters.
pub(super) const EXPERIMENT: &str = "experiment";
pub(super) const MATRIX: &str = "matrix";

/// Parts of what the parser says of a list or a table in brackets. Where one is not closed, all lines behind it are
/// wrong.
const IN_BRACKETS: [&str; 4] = ["in array", "array elements", "inline table", "key-value pairs"];

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// With hyphens, however it was written.
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) value: Value,
}

/// A job as it is written.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) place: Place,
    /// What it sets.
    pub(super) entries: Vec<Entry>,
    /// What it varies; each value is a list.
    pub(super) matrix: Vec<Entry>,
}

/// A job file.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    pub(super) defaults: Vec<Entry>,
    pub(super) jobs: Vec<Job>,
}

/// Reads the tables, and all that is wrong with them, jobs apart that `names` leaves out.
pub(super) fn parse(text: &str, names: &[String], problems: &mut Vec<Problem>) -> Sheet {
    let mut reader = Reader { lines: Lines::of(text.as_bytes()), names, problems };
    let (table, errors) = DeTable::parse_recoverable(text);
    let place = |span: Option<Range<usize>>| reader.lines.place(span.map_or(0, |span| span.start));
    let places: Vec<Place> = errors.iter().map(|error| place(error.span())).collect();
    let is_in_brackets = |words: &str| IN_BRACKETS.iter().any(|part| words.contains(part));
    let in_brackets = errors.iter().zip(&places).filter(|(error, _)| is_in_brackets(error.message()));
    let end = in_brackets.map(|(_, place)| place).min();
    let mut wrong = BTreeSet::new();
    for (error, place) in errors.iter().zip(&places) {
        // What else is wrong in a line, or behind a bracket that may be open, may follow from that.
        if end.is_none_or(|end| place <= end) && wrong.insert(place) {
            let sentence = format!("this is not TOML: {}", error.message().replace('\n', "; "));
            reader.refuse(place, sentence);
        }
    }
    // A key that stands there twice leaves the others where they are.
    match errors.iter().all(|error| error.message().starts_with("duplicate key")) {
        true => reader.sheet(table.get_ref()),
        false => Sheet::default(),
    }
}

type Key<'a, 'b> = &'a Spanned<Cow<'b, str>>;

/// Whether a job has one of these names; every job is chosen where there are none.
pub(super) fn is_chosen(job: &str, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|name| name == job)
}

struct Reader<'a> {
    lines: Lines,
    names: &'a [String],
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn sheet(&mut self, table: &DeTable<'_>) -> Sheet {
        let mut sheet = Sheet::default();
        for (key, value) in in_order(table) {
            let (name, place) = (key.get_ref().as_ref(), self.place(key));
            match value.get_ref() {
                DeValue::Table(table) if name == DEFAULTS => sheet.defaults = self.defaults(table),
                DeValue::Table(table) => {
                    let before = self.problems.len();
                    sheet.jobs.extend(self.job(name, &place, table));
                    if !is_chosen(name, self.names) {
                        self.problems.truncate(before);
                    }
                }
                DeValue::Array(tables) if are_tables(tables) => {
                    let name = shortened(name);
                    self.refuse(&place, format!("[[{name}]] gives jobs no names: write [NAME] above each job"));
                }
                _ => {
                    let name = shortened(name);
                    self.refuse(&place, format!("'{name}' stands in no job: write it below [{DEFAULTS}] or [NAME]"));
                }
            }
        }
        sheet
    }

    fn defaults(&mut self, table: &DeTable<'_>) -> Vec<Entry> {
        let (entries, matrix) = self.entries(table);
        if let Some(entry) = matrix.first() {
            self.refuse(&entry.place, format!("[{DEFAULTS}] has no {MATRIX}: write [NAME.{MATRIX}] for a job"));
        }
        entries
    }

    fn job(&mut self, name: &str, place: &Place, table: &DeTable<'_>) -> Option<Job> {
        if !is_name(name) {
            let name = shortened(name);
            self.refuse(place, format!("'{name}' names no job: take letters, digits, - and _"));
            return None;
        }
        let (entries, matrix) = self.entries(table);
        Some(Job { name: name.into(), place: place.clone(), entries, matrix })
    }

    /// What a table sets, and what its matrix varies.
    fn entries(&mut self, table: &DeTable<'_>) -> (Vec<Entry>, Vec<Entry>) {
        let (mut entries, mut matrix) = (Vec::new(), Vec::new());
        for (key, value) in in_order(table) {
            match value.get_ref() {
                DeValue::Table(axes) if key.get_ref() == MATRIX => matrix = self.axes(axes),
                _ if key.get_ref() == MATRIX => {
                    let place = self.place(key);
                    self.refuse(&place, "a matrix is a table of lists: write [NAME.matrix] and KEY = [VALUE, VALUE]");
                }
                value => entries.extend(self.entry(key, value)),
            }
        }
        self.refuse_repeated(&entries, &matrix);
        (entries, matrix)
    }

    /// The lists of a matrix.
    fn axes(&mut self, table: &DeTable<'_>) -> Vec<Entry> {
        let mut axes = Vec::new();
        for (key, value) in in_order(table) {
            axes.extend(self.entry(key, value.get_ref()));
        }
        for axis in &axes {
            match &axis.value {
                Value::List(_) => {}
                _ => {
                    let Entry { key, place, value } = axis;
                    let value = shortened(&value.shown().toml());
                    self.refuse(place, format!("a matrix varies over lists: write {key} = [{value}]"));
                }
            }
        }
        axes
    }

    fn entry(&mut self, key: Key<'_, '_>, value: &DeValue<'_>) -> Option<Entry> {
        let place = self.place(key);
        let name = hyphenated(key.get_ref());
        let key = shortened(&name);
        let sentence = match (Value::of(value), value) {
            (Ok(value), _) => return Some(Entry { key: name, place, value }),
            (Err(_), DeValue::Table(_)) => format!("there is no table '{key}' in a job{}", meant(&name, [MATRIX])),
            (Err(_), DeValue::Datetime(date)) => {
                format!("'{key}' is a date of TOML: if a time is meant, write it as a text, {key} = \"{date}\"")
            }
            (Err(what), _) => format!("'{key}' is {what}, and no parameter takes one"),
        };
        self.refuse(&place, sentence);
        None
    }

    /// Refuses one parameter in two spellings, and one that is set and varied.
    fn refuse_repeated(&mut self, entries: &[Entry], matrix: &[Entry]) {
        let mut known = BTreeSet::new();
        for entry in entries.iter().chain(matrix) {
            if !known.insert(&entry.key) {
                self.refuse(&entry.place, format!("'{}' is set a second time in this job", shortened(&entry.key)));
            }
        }
    }

    fn place(&self, key: Key<'_, '_>) -> Place {
        self.lines.place(key.span().start)
    }

    fn refuse(&mut self, place: &Place, sentence: impl Into<String>) {
        self.problems.push(Problem::new(place, sentence));
    }
}

/// Whether a list is of tables, as `[[NAME]]` makes one. An empty one was written as a list.
fn are_tables(list: &DeArray<'_>) -> bool {
    !list.is_empty() && list.iter().all(|one| matches!(one.get_ref(), DeValue::Table(_)))
}

/// Whether a job can be called so: the name stands on command lines.
pub(super) fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    !name.is_empty() && name.chars().all(is_letter)
}

/// The entries of a table in the order of the file.
fn in_order<'a, 'b>(table: &'a DeTable<'b>) -> Vec<(Key<'a, 'b>, &'a Spanned<DeValue<'b>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    sorting::by_key(&mut entries, |(key, _)| key.span().start);
    entries
}
