//! Tables without borders, with decimal points aligned: a thin layer over comfy-table.

use std::collections::HashSet;

use comfy_table::{CellAlignment, presets};

use crate::style::Style;
use crate::text::{clean, shorten, shorten_path, width};

/// Columns between two columns of a table.
const GAP: usize = 2;

/// Fewest columns of the terminal that a column of texts is shortened to; with less, nobody knows them again.
const TEXT_COLUMNS_MIN: usize = 12;

/// Columns that the lines of a record stand in.
const INDENT: usize = 2;

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text, shortened where the width does not suffice.
    Left,
    /// A path, of which the end tells most.
    Path,
    /// Text that says something else when it is shortened: an identifier, a moment, a range.
    Word,
    /// Whole numbers.
    Right,
    /// Numbers, perhaps with a unit: points under points, units under units.
    Decimal,
}

impl Align {
    fn is_text(self) -> bool {
        matches!(self, Align::Left | Align::Path | Align::Word)
    }

    fn is_shortened(self) -> bool {
        matches!(self, Align::Left | Align::Path)
    }
}

#[derive(Clone)]
struct Column {
    heading: String,
    align: Align,
    is_optional: bool,
}

/// Columns, and rows of as many cells.
#[derive(Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Lines of text, each with the index of the row that it stands over.
    titles: Vec<(usize, String)>,
}

impl Table {
    /// A table without columns yet.
    pub(crate) fn new() -> Table {
        Table::default()
    }

    /// Adds a column.
    pub(crate) fn column(mut self, heading: &str, align: Align) -> Table {
        self.columns.push(Column { heading: clean(heading), align, is_optional: false });
        self
    }

    /// Adds a column that is left out where the table would be too wide; the last of them goes first. It is also left
    /// out when no row has anything in it.
    pub(crate) fn optional_column(mut self, heading: &str, align: Align) -> Table {
        self.columns.push(Column { heading: clean(heading), align, is_optional: true });
        self
    }

    /// Adds a row; cells that are missing at its end are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| clean(&cell)).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Adds a line of text over the rows that follow; nothing for an empty one.
    pub(crate) fn title(&mut self, text: &str) {
        if !text.is_empty() {
            self.titles.push((self.rows.len(), clean(text)));
        }
    }

    /// The table in lines of at most the style's width, one a row: optional columns go first, then texts are shortened.
    /// Where that does not suffice, or two rows would have the same name, each row becomes several lines, one a column,
    /// and nothing more is left out: a number without its middle is another number.
    pub(crate) fn render(mut self, style: &Style) -> String {
        self.drop_empty_columns();
        self.align_decimals();
        if self.width_min() > style.width {
            return self.records(style);
        }
        while self.width() > style.width {
            let Some(last) = self.columns.iter().rposition(|column| column.is_optional) else { break };
            self.remove_column(last);
        }
        let names = self.names();
        let whole = self.rows.clone();
        while self.width() > style.width && self.shorten_widest_text() {}
        if self.names() < names {
            self.rows = whole;
            return self.records(style);
        }
        let lines = self.lines().into_iter().map(|line| shorten(&line, style.width));
        let mut rendered = Vec::new();
        for (index, line) in lines.enumerate() {
            let titles = self.titles.iter().filter(|(row, _)| row + 1 == index);
            rendered.extend(titles.map(|(_, title)| shorten(title, style.width)));
            rendered.push(if index == 0 { style.bold(&line) } else { line });
        }
        rendered.join("\n")
    }

    /// How many different texts the first column has: rows that were told apart by it must stay so.
    fn names(&self) -> usize {
        self.rows.iter().filter_map(|row| row.first()).collect::<HashSet<_>>().len()
    }

    /// Columns of the terminal that the table takes where there is room for all of it, decimal points aligned.
    pub(crate) fn width_rendered(&self) -> usize {
        let mut table = Table { columns: self.columns.clone(), rows: self.rows.clone(), titles: Vec::new() };
        table.drop_empty_columns();
        table.align_decimals();
        table.width()
    }

    /// Takes one column of the terminal from the widest text column; false when all are at their least.
    fn shorten_widest_text(&mut self) -> bool {
        let texts = (0..self.columns.len()).filter(|column| self.columns[*column].align.is_shortened());
        let Some(widest) = texts.max_by_key(|column| self.column_width(*column)) else { return false };
        let columns = self.column_width(widest);
        if columns <= TEXT_COLUMNS_MIN {
            return false;
        }
        let shortened = if self.columns[widest].align == Align::Path { shorten_path } else { shorten };
        self.columns[widest].heading = shorten(&self.columns[widest].heading, columns - 1);
        self.rows.iter_mut().for_each(|row| row[widest] = shortened(&row[widest], columns - 1));
        true
    }

    /// Columns of the terminal below which the table cannot go without spoiling what it says.
    fn width_min(&self) -> usize {
        let needed =
            self.columns.iter().enumerate().filter(|(_, column)| !column.is_optional).map(|(index, column)| {
                let width = self.column_width(index);
                GAP + if column.align.is_shortened() { width.min(TEXT_COLUMNS_MIN) } else { width }
            });
        needed.sum::<usize>().saturating_sub(GAP)
    }

    /// Each row as a line with its first cell and one line for each further cell, behind its heading.
    fn records(&self, style: &Style) -> String {
        let mut lines = Vec::new();
        let headings = self.columns.iter().skip(1).map(|column| width(&column.heading)).max().unwrap_or(0);
        for (index, row) in self.rows.iter().enumerate() {
            lines.extend(self.titles.iter().filter(|(over, _)| *over == index).map(|(_, title)| title.clone()));
            for (number, (column, cell)) in self.columns.iter().zip(row).enumerate() {
                // Points have nothing to stand under here.
                let cell = cell.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
                let heading = &column.heading;
                let is_named = !heading.is_empty() && (number > 0 || !column.align.is_text());
                match (number, is_named) {
                    _ if cell.is_empty() => {}
                    (0, true) => lines.push(format!("{heading} {cell}")),
                    (0, false) => lines.push(cell),
                    (_, false) => lines.push(format!("{:INDENT$}{cell}", "")),
                    (_, true) => {
                        let gap = headings - width(heading) + GAP;
                        let room = style.width.saturating_sub(INDENT + headings + GAP);
                        let cell = if column.align == Align::Path { shorten_path(&cell, room) } else { cell };
                        lines.push(format!("{:INDENT$}{heading}{:gap$}{cell}", "", ""));
                    }
                }
            }
        }
        lines.iter().map(|line| shorten(line, style.width)).collect::<Vec<_>>().join("\n")
    }

    /// Columns of the terminal that the table takes.
    fn width(&self) -> usize {
        let widths = (0..self.columns.len()).map(|column| self.column_width(column) + GAP);
        widths.sum::<usize>().saturating_sub(GAP)
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| width(&row[column]));
        cells.chain([width(&self.columns[column].heading)]).max().unwrap_or(0)
    }

    fn drop_empty_columns(&mut self) {
        for column in (0..self.columns.len()).rev() {
            let is_empty = self.rows.iter().all(|row| row[column].is_empty() || row[column] == crate::number::ABSENT);
            if self.columns[column].is_optional && is_empty {
                self.remove_column(column);
            }
        }
    }

    fn remove_column(&mut self, column: usize) {
        self.columns.remove(column);
        self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
    }

    fn align_decimals(&mut self) {
        for column in (0..self.columns.len()).filter(|column| self.columns[*column].align == Align::Decimal) {
            let cells: Vec<&str> = self.rows.iter().map(|row| row[column].as_str()).collect();
            let aligned = align_points(&cells);
            self.rows.iter_mut().zip(aligned).for_each(|(row, cell)| row[column] = cell);
        }
    }

    /// The heading and one line a row.
    fn lines(&self) -> Vec<String> {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(self.columns.iter().map(|column| column.heading.clone()));
        table.add_rows(&self.rows);
        let last = self.columns.len().saturating_sub(1);
        for (index, (column, ours)) in table.column_iter_mut().zip(&self.columns).enumerate() {
            column.set_padding((0, if index == last { 0 } else { GAP as u16 }));
            column.set_cell_alignment(if ours.align.is_text() { CellAlignment::Left } else { CellAlignment::Right });
        }
        table.lines().map(|line| line.trim_end().to_string()).collect()
    }
}

/// Cells of one width in which decimal points and units stand under each other.
fn align_points(cells: &[&str]) -> Vec<String> {
    let parts: Vec<[&str; 3]> = cells.iter().map(|cell| split_number(cell)).collect();
    let widest = |part: usize| parts.iter().map(|parts| width(parts[part])).max().unwrap_or(0);
    let (before, after, rest) = (widest(0), widest(1), widest(2));
    let padded = |[whole, fraction, unit]: &[&str; 3]| {
        let (left, middle) = (before - width(whole), after - width(fraction));
        let right = rest - width(unit);
        format!("{:left$}{whole}{fraction}{:middle$}{unit}{:right$}", "", "", "")
    };
    parts.iter().map(padded).collect()
}

/// A cell as its digits before the point, the point with the digits after it, and the rest.
fn split_number(cell: &str) -> [&str; 3] {
    let is_whole = |character: char| character.is_ascii_digit() || matches!(character, '-' | '–' | '\u{202f}');
    let point = cell.find(|character| !is_whole(character)).unwrap_or(cell.len());
    let (whole, rest) = cell.split_at(point);
    let is_fraction = |character: char| character.is_ascii_digit() || character == '.';
    let end = if rest.starts_with('.') { rest.find(|character| !is_fraction(character)) } else { Some(0) };
    let mut end = end.unwrap_or(rest.len());
    // The exponent of a very small number is no unit.
    if let Some(exponent) = rest[end..].strip_prefix("e-") {
        end += 2 + exponent.find(|character: char| !character.is_ascii_digit()).unwrap_or(exponent.len());
    }
    let (fraction, unit) = rest.split_at(end);
    [whole, fraction, unit]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_points_and_units_stand_under_each_other() {
        assert_eq!(
            align_points(&["1.81e-7", "12.5", "3 e-mails"]),
            [" 1.81e-7        ", "12.5            ", " 3       e-mails"]
        );
        let cells = align_points(&["1.13 ns", "17.0 ns", "447 ns", "290 ns / block", "–"]);
        assert_eq!(
            cells,
            ["  1.13 ns        ", " 17.0  ns        ", "447    ns        ", "290    ns / block", "  –              "]
        );
    }

    #[test]
    fn a_table_that_is_too_wide_gives_up_its_optional_columns_last_first() {
        let mut table = Table::new().column("a", Align::Left);
        table = table.optional_column("bbbbbbbb", Align::Right).optional_column("cccccccc", Align::Right);
        table.row(["x", "1", "2"].map(String::from));
        let rendered = table.render(&Style { width: 15, ..Style::default() });
        assert_eq!(rendered, "a  bbbbbbbb\nx         1");
    }

    #[test]
    fn a_number_that_fits_nowhere_is_never_shortened() {
        let mut table = Table::new().column("bytes", Align::Right).column("5 columns", Align::Decimal);
        table = table.optional_column("range of it", Align::Word).column("", Align::Left);
        table.row(["2500", "0.0611 | 1.44", "58.0–91.7 ns", "3 warnings"].map(String::from));
        table.row(["25", "0.716 | 5.52"].map(String::from));
        let rendered = table.render(&Style { width: 28, ..Style::default() });
        let expected = "bytes 2500\n  5 columns    0.0611 | 1.44\n  range of it  58.0–91.7 ns\n  3 warnings\n\
                        bytes 25\n  5 columns    0.716 | 5.52";
        assert_eq!(rendered, expected);
    }

    #[test]
    fn rows_whose_names_would_become_the_same_are_told_apart() {
        let mut table = Table::new().column("path", Align::Left).column("gets", Align::Right);
        table.row(["index, bad clustering", "67 446 318"].map(String::from));
        table.row(["index, good clustering", "1 714 609"].map(String::from));
        let rendered = table.render(&Style { width: 24, ..Style::default() });
        assert_eq!(rendered, "index, bad clustering\n  gets  67 446 318\nindex, good clustering\n  gets  1 714 609");
    }

    #[test]
    fn texts_that_fit_nowhere_are_shortened_and_each_row_stays_one_line() {
        let mut table = Table::new().column("a", Align::Left).column("b", Align::Left);
        table.row(["long words in this cell".repeat(5), "more words in that cell".repeat(5)]);
        let rendered = table.render(&Style { width: 40, ..Style::default() });
        assert!(rendered.lines().all(|line| width(line) <= 40), "{rendered}");
        assert_eq!(rendered.lines().count(), 2);
    }
}
