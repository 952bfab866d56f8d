//! Making a unit of the values that were collected for it.

use super::bitmap::BitmapBuilder;
use super::budget::Taken;
use super::chunk::{Chunks, Place};
use super::dictionary::{codes_of_integers, dictionary_of_texts, distinct_integers, entries_max};
use super::encoding::{CodeLayout, Domain, IntegerFacts, choose_layout};
use super::line::{LINE_BYTES, LINE_ROWS, Line, UNIT_ROWS};
use super::planes::{groups_of, pack};
use super::runs::{RUN_BYTES, Runs};
use super::texts::Texts;
use super::unit::{Codes, Content, Meaning, Unit, Validity};
use crate::error::StorageError;
use dataset::ColumnType;

/// The first memory of a unit's texts, in bytes a row; it grows by half where texts are longer.
pub(super) const TEXT_BYTES_A_ROW: usize = 16;

/// What the units of one column are put into.
#[derive(Debug)]
pub(super) struct Sealer {
    pub(super) chunks: Chunks,
    /// Memory of all that is kept.
    pub(super) taken: Taken,
    /// Units that were announced and not sealed yet.
    pub(super) units_to_come: usize,
}

/// The rows of a unit to be: which have values, and how many bytes these took as rows.
pub(super) struct Collected<'a> {
    pub(super) validity: &'a BitmapBuilder,
    pub(super) plain_bytes: u64,
}

impl Sealer {
    /// A unit of numbers. Rows that are null hold any number.
    pub(super) fn integers(&mut self, rows: &Collected<'_>, values: &mut [i64]) -> Result<Unit, StorageError> {
        let Some(facts) = integer_facts(rows.validity, values) else { return self.unit(rows, Content::Nothing, None) };
        let distinct = facts
            .entries_worth_counting()
            .and_then(|worth| distinct_integers(values, worth.min(entries_max(values.len()))));
        let (domain, layout) = facts.choose(distinct.as_ref().map(Vec::len));
        let (meaning, codes) = match (domain, distinct) {
            (Domain::Dictionary, Some(entries)) => {
                let ranks = codes_of_integers(values, &entries);
                let codes = self.codes(layout, values.len(), |row| u64::from(ranks[row]))?;
                (Meaning::Integer(entries.into()), codes)
            }
            (Domain::Frame { base }, _) => {
                let distance = |row: usize| values[row].wrapping_sub(base) as u64;
                (Meaning::Distance(base), self.codes(layout, values.len(), distance)?)
            }
            _ => (Meaning::Distance(0), self.codes(layout, values.len(), |row| values[row] as u64)?),
        };
        self.taken.add(meaning.bytes())?;
        self.unit(rows, Content::Coded { meaning, codes }, Some((facts.min, facts.max)))
    }

    /// A unit of texts. Rows that are null hold any text that occurs, or an empty one.
    pub(super) fn texts(&mut self, rows: &Collected<'_>, texts: &Texts) -> Result<Unit, StorageError> {
        if rows.validity.ones() == 0 {
            return self.unit(rows, Content::Nothing, None);
        }
        let content = match dictionary_of_texts(texts, rows.validity, entries_max(texts.len())) {
            Some((entries, ranks)) if entries.bytes() < texts.bytes() => {
                let layout = choose_layout(ranks.len(), entries.len(), runs_of(&ranks));
                let codes = self.codes(layout, ranks.len(), |row| u64::from(ranks[row]))?;
                self.taken.add(entries.bytes())?;
                Content::Coded { meaning: Meaning::Text(entries), codes }
            }
            _ => {
                self.taken.add(texts.bytes())?;
                // A copy takes no more memory than it needs.
                Content::Texts(texts.clone())
            }
        };
        self.unit(rows, content, None)
    }

    fn unit(&mut self, rows: &Collected<'_>, content: Content, zone: Option<(i64, i64)>) -> Result<Unit, StorageError> {
        let (count, ones) = (rows.validity.rows(), rows.validity.ones());
        let validity = match ones {
            0 => Validity::None,
            all if all == count => Validity::All,
            _ => {
                let (place, lines) = self.place(groups_of(count))?;
                rows.validity.write(lines);
                Validity::Bitmap(place)
            }
        };
        self.units_to_come = self.units_to_come.saturating_sub(1);
        Ok(Unit { rows: count, nulls: count - ones, validity, content, zone, plain_bytes: rows.plain_bytes })
    }

    fn codes(&mut self, layout: CodeLayout, rows: usize, code: impl Fn(usize) -> u64) -> Result<Codes, StorageError> {
        match layout {
            CodeLayout::Runs { runs } => {
                self.taken.add(runs * RUN_BYTES)?;
                Ok(Codes::Runs(Runs::new((0..rows).map(code), runs)))
            }
            CodeLayout::Planes { width } => {
                let (place, lines) = self.place(groups_of(rows) * width)?;
                pack(rows, width, code, lines);
                Ok(Codes::Planes { place, width })
            }
        }
    }

    fn place(&mut self, lines: usize) -> Result<(Place, &mut [Line]), StorageError> {
        self.taken.add(self.chunks.bytes_wanted(lines, self.units_to_come))?;
        self.chunks.place(lines, self.units_to_come)
    }
}

/// The facts of a unit's numbers, `None` where all are null. A null row gets the number of the row before it, so that
/// it neither widens the codes nor ends a run.
fn integer_facts(validity: &BitmapBuilder, values: &mut [i64]) -> Option<IntegerFacts> {
    let first = (0..values.len()).find(|row| validity.is_set(*row)).map(|row| values[row])?;
    let mut facts = IntegerFacts { rows: values.len(), min: first, max: first, runs: 1 };
    let mut last = first;
    let has_nulls = validity.ones() < validity.rows();
    for (row, value) in values.iter_mut().enumerate() {
        if has_nulls && !validity.is_set(row) {
            *value = last;
        }
        facts.runs += usize::from(*value != last);
        facts.min = facts.min.min(*value);
        facts.max = facts.max.max(*value);
        last = *value;
    }
    Some(facts)
}

fn runs_of(codes: &[u32]) -> usize {
    1 + codes.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Bytes in which a builder collects one unit of `rows` rows, whose texts are `text_bytes` long together, and seals it.
pub(super) fn collecting_bytes(kind: ColumnType, rows: usize, text_bytes: usize) -> usize {
    let rows = rows.min(UNIT_ROWS);
    let values = match kind {
        ColumnType::Text => rows * size_of::<u32>() + (rows * TEXT_BYTES_A_ROW).max(text_bytes / 2 * 3),
        ColumnType::Number | ColumnType::Date => rows * size_of::<i64>(),
    };
    values + rows.div_ceil(LINE_ROWS) * LINE_BYTES
}
