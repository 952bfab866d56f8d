//! Tables: columns of cells, and lines of text and rules between their rows.

use measure::Unit;

use super::cell::Cell;
use super::number::time_column;

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text, shortened where the width does not suffice.
    Left,
    /// A path, of which the end says most.
    Path,
    /// Text that says something else when it is shortened: an identifier, a time of day, a range.
    Word,
    /// Whole numbers.
    Right,
    /// Numbers, perhaps with a unit: points under points, units under units.
    Decimal,
    /// Bars, as long as there is room for.
    Bar,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What stands over it.
    pub heading: String,
    /// How its cells stand.
    pub align: Align,
    /// Whether it may be left out where the table is too wide; the last goes first. It is also left out when no row has
    /// anything in it.
    pub is_optional: bool,
    /// One cell a row.
    pub cells: Vec<Cell>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// A sentence over it.
    pub title: Option<String>,
    /// The columns, each with as many cells.
    pub columns: Vec<Column>,
    /// Lines of text, each with the index of the row that it stands over.
    pub groups: Vec<(usize, String)>,
    /// The rows that stand under a rule: sums.
    pub rules: Vec<usize>,
    /// A remark under it.
    pub note: Option<String>,
    /// What columns mean, each behind its heading: said only of a column that is shown.
    pub legend: Vec<(String, String)>,
}

/// The scale of bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From zero to the largest value.
    Linear,
    /// From the smallest positive value to the largest.
    Logarithmic,
}

impl Table {
    /// A table with a row for each of `rows`, without columns yet.
    pub(crate) fn over<R>(rows: &[R]) -> Builder<'_, R> {
        Builder { rows, table: Table::default() }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// What those of its columns mean that are shown.
    pub(crate) fn legend_of(&self, is_shown: impl Fn(&str) -> bool) -> Option<String> {
        let shown = self.legend.iter().filter(|(heading, _)| is_shown(heading));
        let meanings: Vec<&str> = shown.map(|(_, meaning)| meaning.as_str()).collect();
        (!meanings.is_empty()).then(|| format!("{}.", meanings.join("; ")))
    }
}

/// A table that is being made, column by column.
pub(crate) struct Builder<'a, R> {
    rows: &'a [R],
    table: Table,
}

impl<R> Builder<'_, R> {
    /// Adds a column.
    pub(crate) fn column<C: Into<Cell>>(
        self,
        heading: impl Into<String>,
        align: Align,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        let cells = cells_of(self.rows, &|row| cell(row).into());
        self.cells(heading, align, cells)
    }

    /// Adds a column of nanoseconds, in one unit where they allow it.
    pub(crate) fn times(self, heading: impl Into<String>, nanos: impl Fn(&R) -> Option<f64>) -> Self {
        let values: Vec<Option<f64>> = self.rows.iter().map(nanos).collect();
        let texts = time_column(&values);
        let cell = |(text, value): (String, Option<f64>)| Cell { value, unit: Some(Unit::Nanoseconds), ..text.into() };
        self.cells(heading, Align::Decimal, texts.into_iter().zip(values).map(cell).collect())
    }

    /// Adds a column of bars, which say no more than a column of numbers does.
    pub(crate) fn bars(self, heading: impl Into<String>, scale: Scale, value: impl Fn(&R) -> Option<f64>) -> Self {
        let values: Vec<Option<f64>> = self.rows.iter().map(value).collect();
        let shares = shares(&values, scale);
        self.cells(heading, Align::Bar, shares.into_iter().map(Cell::bar).collect())
    }

    /// Adds a column of cells, one a row.
    pub(crate) fn cells(mut self, heading: impl Into<String>, align: Align, cells: Vec<Cell>) -> Self {
        self.table.columns.push(Column { heading: heading.into(), align, is_optional: false, cells });
        self
    }

    /// Adds a column that may be left out where the table is too wide.
    pub(crate) fn optional<C: Into<Cell>>(
        self,
        heading: impl Into<String>,
        align: Align,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        self.column(heading, align, cell).with_last_optional()
    }

    /// Adds such a column of nanoseconds.
    pub(crate) fn optional_times(self, heading: impl Into<String>, nanos: impl Fn(&R) -> Option<f64>) -> Self {
        self.times(heading, nanos).with_last_optional()
    }

    /// Makes the last column an optional one.
    pub(crate) fn with_last_optional(mut self) -> Self {
        self.table.columns.iter_mut().rev().take(1).for_each(|column| column.is_optional = true);
        self
    }

    /// Takes the last column away again, unless this holds.
    pub(crate) fn only_where(mut self, holds: bool) -> Self {
        if !holds {
            self.table.columns.pop();
        }
        self
    }

    /// Says under the table what the last column means.
    pub(crate) fn explained(mut self, meaning: &str) -> Self {
        let last = self.table.columns.last().filter(|_| !meaning.is_empty());
        self.table.legend.extend(last.map(|column| (column.heading.clone(), meaning.to_string())));
        self
    }

    /// Leaves the last column empty in these rows.
    pub(crate) fn blank(mut self, is_blank: impl Fn(&R) -> bool) -> Self {
        let last = self.table.columns.iter_mut().rev().take(1).flat_map(|column| &mut column.cells);
        last.zip(self.rows).filter(|(_, row)| is_blank(row)).for_each(|(cell, _)| *cell = Cell::default());
        self
    }

    /// Adds columns one after the other.
    pub(crate) fn each<T>(self, of: impl IntoIterator<Item = T>, add: impl Fn(Self, T) -> Self) -> Self {
        of.into_iter().fold(self, add)
    }

    /// Puts a line over each row whose text is another one than that of the row before.
    pub(crate) fn groups(mut self, text: impl Fn(&R) -> String) -> Self {
        let mut last = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let text = text(row);
            if text != last && !text.is_empty() {
                self.table.groups.push((index, text.clone()));
            }
            last = text;
        }
        self
    }

    /// Puts a rule over the rows that are sums.
    pub(crate) fn rules(mut self, is_sum: impl Fn(&R) -> bool) -> Self {
        let sums = self.rows.iter().enumerate().filter(|(_, row)| is_sum(row));
        self.table.rules = sums.map(|(index, _)| index).collect();
        self
    }

    /// Puts a sentence over the table.
    pub(crate) fn titled(mut self, title: impl Into<String>) -> Self {
        self.table.title = Some(title.into());
        self
    }

    /// Puts a remark under the table.
    pub(crate) fn noted(mut self, note: impl Into<String>) -> Self {
        self.table.note = Some(note.into()).filter(|note| !note.is_empty());
        self
    }

    /// The table.
    pub(crate) fn done(self) -> Table {
        self.table
    }

    /// The table, where it has a row.
    pub(crate) fn unless_empty(self) -> Option<Table> {
        (!self.rows.is_empty()).then_some(self.table)
    }
}

/// The cells of a column. It is compiled once for each kind of row instead of once for each of the hundreds of columns.
fn cells_of<R>(rows: &[R], cell: &dyn Fn(&R) -> Cell) -> Vec<Cell> {
    rows.iter().map(cell).collect()
}

/// Lengths of bars, from 0 to 1; none for a value that the scale does not have.
fn shares(values: &[Option<f64>], scale: Scale) -> Vec<Option<f64>> {
    let positive = || values.iter().flatten().copied().filter(|value| *value > 0.0);
    let (smallest, largest) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    let share = |value: f64| match scale {
        Scale::Linear => value / largest,
        Scale::Logarithmic if largest > smallest => (value / smallest).ln() / (largest / smallest).ln(),
        Scale::Logarithmic => 0.0,
    };
    let is_shown = |value: &f64| *value > 0.0 && largest.is_finite();
    values.iter().map(|value| value.filter(is_shown).map(share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_end_where_the_scale_does() {
        let values = [Some(1.0), Some(10.0), Some(100.0), None, Some(0.0), Some(f64::NAN)];
        assert_eq!(shares(&values, Scale::Logarithmic), [Some(0.0), Some(0.5), Some(1.0), None, None, None]);
        assert_eq!(shares(&[Some(3.0), Some(4.0)], Scale::Linear), [Some(0.75), Some(1.0)]);
        assert_eq!(shares(&[Some(5.0), Some(5.0)], Scale::Logarithmic), [Some(0.0), Some(0.0)], "a scale of one value");
        assert_eq!(shares(&[Some(f64::INFINITY)], Scale::Linear), [None]);
    }

    #[test]
    fn a_line_stands_over_the_first_row_of_each_group() {
        let table =
            Table::over(&["a", "a", "b", "", "b"]).column("", Align::Left, |row| *row).groups(|row| row.to_string());
        assert_eq!(table.done().groups, [(0, "a".to_string()), (2, "b".to_string()), (4, "b".to_string())]);
    }
}
