//! A table in lines of text: decimal points aligned, and what does not fit left out, shortened or turned into records.
//!
//! This is the one place that decides what happens to columns that the width does not hold.

use std::collections::{HashMap, HashSet};

use super::bar;
use super::wrap::width;
use crate::page::{Align, Cell, Table};
use crate::style::Style;

/// Columns of the terminal between two columns of a table.
const GAP: usize = 2;

/// Fewest columns of the terminal that a column of texts is shortened to; with less, no text is recognized.
const TEXT_COLUMNS_MIN: usize = 12;

/// Columns that the lines of a record stand in.
const INDENT: usize = 2;

/// Fewest columns of the terminal that a record's headings are shortened to.
const HEADING_COLUMNS_MIN: usize = 8;

/// Longest bar in columns of the terminal, and the shortest that is worth drawing.
const BAR_CELLS_MAX: usize = 24;
const BAR_CELLS_MIN: usize = 6;

/// A column of texts.
#[derive(Clone)]
struct Column {
    heading: String,
    align: Align,
    is_optional: bool,
    cells: Vec<String>,
}

/// A table as texts.
struct Grid<'a> {
    columns: Vec<Column>,
    rows: usize,
    groups: Vec<(usize, String)>,
    rules: &'a [usize],
}

/// The table in lines of at most the style's width, one a row: optional columns go first, then texts are shortened;
/// bars take the room that is left. Columns that went are named under the table. Where that does not suffice, or two
/// rows would have the same name, each row becomes several lines, one a column, and nothing is left out: a number
/// without its middle is another number.
pub(super) fn render(table: &Table, style: &Style) -> String {
    let mut grid = Grid::of(table, style);
    let text = laid_out(&mut grid, style);
    let is_shown = |heading: &str| grid.columns.iter().any(|column| column.heading == style.clean(heading));
    match table.legend_of(is_shown) {
        Some(legend) => format!("{text}\n{}", style.dim(&style.wrap(&legend, 0))),
        None => text,
    }
}

/// The lines of a table. Columns that they do not show are taken out of it.
fn laid_out(grid: &mut Grid<'_>, style: &Style) -> String {
    if grid.width_min() > style.width {
        return grid.records(style);
    }
    let (names, width, whole) = (grid.names(), grid.width(), grid.columns.clone());
    let mut left_out = Vec::new();
    while grid.width() > style.width {
        let Some(last) = grid.columns.iter().rposition(|column| column.is_optional) else { break };
        left_out.insert(0, grid.columns.remove(last).heading);
    }
    if grid.width() > style.width {
        grid.shorten_texts(style);
    }
    if grid.names() < names {
        grid.columns = whole;
        return grid.records(style);
    }
    let lines = grid.lines(style);
    if left_out.is_empty() { lines } else { format!("{lines}\n{}", remark(&left_out, width, style)) }
}

/// Which columns are not shown, and what shows them.
fn remark(left_out: &[String], width: usize, style: &Style) -> String {
    let wider = if width <= Style::WIDTH_MAX { format!("COLUMNS={width} or ") } else { String::new() };
    let sentence = format!("Left out at this width: {}. {wider}--format csv shows all.", left_out.join(", "));
    style.dim(&style.wrap(&sentence, 0))
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().chain([&self.heading]).map(|cell| width(cell)).max().unwrap_or(0)
    }

    fn is_text(&self) -> bool {
        matches!(self.align, Align::Left | Align::Path | Align::Word | Align::Bar)
    }

    fn is_shortened(&self) -> bool {
        matches!(self.align, Align::Left | Align::Path)
    }

    /// Shortens the texts to at most `columns` of the terminal.
    fn shorten(&mut self, columns: usize, style: &Style) {
        let shortened = if self.align == Align::Path { Style::shorten_path } else { Style::shorten };
        self.heading = style.shorten(&self.heading, columns);
        self.cells.iter_mut().for_each(|cell| *cell = shortened(style, cell, columns));
    }

    /// For each width up to `most`, whether texts that are shortened to it take all of it: paths lose whole folders.
    fn widths(&self, most: usize, style: &Style) -> Vec<bool> {
        let mut is_taken = vec![false; most + 1];
        // Of what is no folder any width is taken.
        let mut any = width(&self.heading);
        for cell in &self.cells {
            let mut text = cell.as_str();
            if self.align == Align::Path {
                let whole = width(cell);
                let ends = style.path_ends(cell, whole.min(most)).map(|(_, columns)| columns);
                ends.chain((whole <= most).then_some(whole)).for_each(|columns| is_taken[columns] = true);
                text = cell.rsplit('/').next().unwrap_or(cell);
            }
            any = any.max(width(text));
        }
        is_taken[..=any.min(most)].fill(true);
        is_taken
    }
}

impl Grid<'_> {
    /// The width without the optional columns that have to go for this one.
    fn width_left(&self, most: usize) -> usize {
        let optional = self.columns.iter().rev().filter(|column| column.is_optional);
        optional.fold(self.width(), |left, column| if left > most { left - column.width() - GAP } else { left })
    }

    /// The texts of a table, with bars where they fit next to the columns that stay.
    fn of<'a>(table: &'a Table, style: &Style) -> Grid<'a> {
        let is_left_out = |cells: &[Cell]| cells.iter().all(Cell::is_blank);
        let mut columns: Vec<Column> = Vec::new();
        let mut bars = Vec::new();
        for column in &table.columns {
            if column.align == Align::Bar {
                bars.push((columns.len(), column));
            } else if !(column.is_optional && is_left_out(&column.cells)) {
                let mut cells: Vec<String> = column.cells.iter().map(|cell| style.clean(&cell.text)).collect();
                if column.align == Align::Decimal {
                    cells = align_points(&cells);
                }
                let (heading, is_optional) = (style.clean(&column.heading), column.is_optional);
                columns.push(Column { heading, align: column.align, is_optional, cells });
            }
        }
        let groups = table.groups.iter().map(|(row, text)| (*row, style.clean(text))).collect();
        let mut grid = Grid { columns, rows: table.rows(), groups, rules: &table.rules };
        let left = style.width.saturating_sub(grid.width_left(style.width)) / bars.len().max(1);
        let cells = left.saturating_sub(GAP).min(BAR_CELLS_MAX);
        let heading = bars.iter().map(|(_, column)| width(&column.heading)).max().unwrap_or(0);
        if cells >= BAR_CELLS_MIN.max(heading) {
            for (index, column) in bars.into_iter().rev() {
                let bar = |cell: &Cell| cell.value.map_or(String::new(), |share| bar::draw(share, cells, style));
                let cells = column.cells.iter().map(bar).collect();
                let (heading, align) = (style.clean(&column.heading), Align::Bar);
                grid.columns.insert(index, Column { heading, align, is_optional: false, cells });
            }
        }
        grid
    }

    /// How many different texts the first column has: rows that it distinguished must stay distinct.
    fn names(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.iter().collect::<HashSet<_>>().len())
    }

    /// Takes columns of the terminal from texts, each from the column that is widest then, until the table fits or all
    /// are at their least. The widths are found first, since each text of a million can be a long one.
    fn shorten_texts(&mut self, style: &Style) {
        let most = style.width.max(TEXT_COLUMNS_MIN);
        let texts = self.columns.iter().enumerate().filter(|(_, column)| column.is_shortened());
        let texts: Vec<(usize, Vec<bool>)> = texts.map(|(at, column)| (at, column.widths(most, style))).collect();
        let mut widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        while total(&widths) > style.width {
            let Some((at, is_taken)) = texts.iter().max_by_key(|(at, _)| widths[*at]) else { break };
            if widths[*at] <= TEXT_COLUMNS_MIN {
                break;
            }
            let narrower = 0..widths[*at].min(most + 1);
            widths[*at] = narrower.rev().find(|columns| is_taken[*columns]).unwrap_or(0);
        }
        texts.iter().for_each(|(at, _)| self.columns[*at].shorten(widths[*at], style));
    }

    /// Columns of the terminal below which the table cannot go without spoiling what it says.
    fn width_min(&self) -> usize {
        let needed = self.columns.iter().filter(|column| !column.is_optional).map(|column| {
            let width = column.width();
            GAP + if column.is_shortened() { width.min(TEXT_COLUMNS_MIN) } else { width }
        });
        needed.sum::<usize>().saturating_sub(GAP)
    }

    /// Columns of the terminal that the table takes.
    fn width(&self) -> usize {
        total(&self.columns.iter().map(Column::width).collect::<Vec<_>>())
    }

    /// The lines of text over each row that has any.
    fn over(&self) -> HashMap<usize, Vec<&str>> {
        let mut over: HashMap<usize, Vec<&str>> = HashMap::new();
        self.groups.iter().for_each(|(row, text)| over.entry(*row).or_default().push(text));
        over
    }

    /// Each row as a line with its first cell and one line for each further cell, behind its heading. What the first
    /// cells are stands over all of them.
    fn records(&self, style: &Style) -> String {
        let columns: Vec<&Column> = self.columns.iter().filter(|column| column.align != Align::Bar).collect();
        let headings = columns.iter().skip(1).map(|column| width(&column.heading)).max().unwrap_or(0);
        let values = columns.iter().skip(1).filter(|column| !column.is_shortened()).map(|column| {
            // Points have nothing to stand under here, so that the spaces around them go.
            column.cells.iter().map(|cell| width(&single_spaced(cell))).max().unwrap_or(0)
        });
        // A heading gives way to the values next to it.
        let left = style.width.saturating_sub(INDENT + GAP + values.max().unwrap_or(0));
        let headings = headings.min(left.max(HEADING_COLUMNS_MIN));
        let room = style.width.saturating_sub(INDENT + headings + GAP);
        let wrap = |text: &str, width: usize| Style { width, ..*style }.wrap(text, 0);
        let first = columns.first().filter(|column| column.is_text() && !column.heading.is_empty());
        let mut lines: Vec<String> = first.map(|column| format!("{}:", column.heading)).into_iter().collect();
        let over = self.over();
        for row in 0..self.rows {
            lines.extend(over.get(&row).into_iter().flatten().map(|text| style.wrap(text, INDENT)));
            for (number, column) in columns.iter().enumerate() {
                let cell = single_spaced(&column.cells[row]);
                let heading = &column.heading;
                let is_named = !heading.is_empty() && (number > 0 || !column.is_text());
                match (number, is_named) {
                    _ if cell.is_empty() => {}
                    (0, true) => lines.push(style.wrap(&format!("{heading} {cell}"), INDENT)),
                    (0, false) => lines.push(style.wrap(&cell, INDENT)),
                    (_, false) => lines.push(beside("", &wrap(&cell, style.width.saturating_sub(INDENT)))),
                    (_, true) => {
                        let short = style.shorten(heading, headings);
                        let gap = headings - width(&short) + GAP;
                        let cell = match column.align {
                            Align::Path => style.shorten_path(&cell, room),
                            _ => wrap(&cell, room),
                        };
                        lines.push(beside(&format!("{short}{:gap$}", ""), &cell));
                    }
                }
            }
        }
        lines.join("\n")
    }

    /// The heading and one line a row, with the lines and rules between them.
    fn lines(&self, style: &Style) -> String {
        let widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        let line = |cell: &dyn Fn(usize) -> String| {
            let mut line = String::new();
            for (index, column) in self.columns.iter().enumerate() {
                let cell = cell(index);
                let room = widths[index] - width(&cell);
                let (before, after) = if column.is_text() { (0, room) } else { (room, 0) };
                let gap = if index == 0 { 0 } else { GAP };
                line += &format!("{:gap$}{:before$}{cell}{:after$}", "", "", "");
            }
            style.shorten(line.trim_end(), style.width)
        };
        let amounts = self.columns.iter().position(|column| !column.is_text());
        let longest = |index: usize| self.columns[index].cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
        let rule = |index: usize| if Some(index) == amounts { "-".repeat(longest(index)) } else { String::new() };
        let mut lines = vec![style.bold(&line(&|index| self.columns[index].heading.clone()))];
        let (over, rules) = (self.over(), self.rules.iter().collect::<HashSet<_>>());
        for row in 0..self.rows {
            lines.extend(over.get(&row).into_iter().flatten().map(|text| style.wrap(text, INDENT)));
            lines.extend(rules.contains(&row).then(|| line(&rule)));
            lines.push(line(&|index| self.columns[index].cells[row].clone()));
        }
        lines.join("\n")
    }
}

/// Columns of the terminal that a table takes whose columns have these widths.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// A cell without the spaces that aligned it.
fn single_spaced(cell: &str) -> String {
    cell.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A heading that stands in, and the lines of its cell under each other next to it.
fn beside(heading: &str, cell: &str) -> String {
    let column = INDENT + width(heading);
    format!("{:INDENT$}{heading}{}", "", cell.replace('\n', &format!("\n{:column$}", "")))
}

/// Cells of one width in which decimal points and units stand under each other.
fn align_points<T: AsRef<str>>(cells: &[T]) -> Vec<String> {
    let parts: Vec<[&str; 3]> = cells.iter().map(|cell| split_number(cell.as_ref())).collect();
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
    let is_whole = |character: char| character.is_ascii_digit() || matches!(character, '+' | '-' | '–' | '\u{202f}');
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

    /// A table of texts: columns with their headings, and rows.
    fn table(columns: &[(&str, Align, bool)], rows: &[&[&str]]) -> Table {
        columns
            .iter()
            .enumerate()
            .fold(Table::over(rows), |table, (index, (heading, align, is_optional))| {
                let table = table.column(*heading, *align, |row| row.get(index).copied().unwrap_or_default());
                if *is_optional { table.with_last_optional() } else { table }
            })
            .done()
    }

    fn at_width(table: &Table, width: usize) -> String {
        render(table, &Style { width, ..Style::default() })
    }

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
        assert_eq!(align_points(&["+1.80 s", "-100 ms", "0"]), ["  +1.80 s ", "-100    ms", "   0      "]);
    }

    #[test]
    fn wide_characters_take_the_columns_that_a_terminal_gives_them() {
        let table =
            table(&[("路径", Align::Left, false), ("n", Align::Right, false)], &[&["表", "1"], &["a table", "22"]]);
        assert_eq!(at_width(&table, 40), "路径      n\n表        1\na table  22");
    }

    #[test]
    fn a_table_that_is_too_wide_gives_up_its_optional_columns_last_first() {
        let columns = [("a", Align::Left, false), ("bbbbbbbb", Align::Right, true), ("cccccccc", Align::Right, true)];
        assert_eq!(
            at_width(&table(&columns, &[&["x", "1", "2"]]), 15),
            "a  bbbbbbbb\nx         1\nLeft out at\nthis width:\ncccccccc.\nCOLUMNS=21 or\n--format csv\nshows all."
        );
    }

    #[test]
    fn no_column_is_explained_that_is_left_out() {
        let rows = [("1", "2")];
        let table = Table::over(&rows).column("p50", Align::Right, |row| row.0).explained("p50: half take less");
        let table = table.optional("p99 of all", Align::Right, |row| row.1).explained("p99: 99 of 100 do");
        let table = table.done();
        let whole = "p50  p99 of all\n  1           2\np50: half take less; p99: 99 of 100 do.";
        assert_eq!(at_width(&table, 40), whole);
        let narrow = at_width(&table, 12);
        assert!(narrow.contains("Left out") && narrow.ends_with("p50: half\ntake less."), "{narrow}");
    }

    #[test]
    fn bars_take_the_room_that_is_left_and_go_before_a_number_does() {
        let bars = |rows| {
            let of = |row: &f64| Some(*row);
            let table = Table::over(rows).column("n", Align::Right, |row: &f64| row.to_string());
            table.bars("log scale", crate::page::table::Scale::Linear, of).done()
        };
        let table = bars(&[1.0, 2.0]);
        assert_eq!(at_width(&table, 13), "n  log scale\n1  █████\n2  ██████████");
        assert_eq!(at_width(&table, 10), "n\n1\n2");
        let widest = at_width(&table, 100);
        assert_eq!(widest.lines().map(width).max(), Some(3 + BAR_CELLS_MAX));
    }

    #[test]
    fn a_rule_stands_over_a_sum_and_is_as_wide_as_the_amounts() {
        let rows = [("a", "1.000"), ("sum", "10.000")];
        let table = Table::over(&rows).column("what", Align::Left, |row| row.0);
        let table = table.column("seconds", Align::Right, |row| row.1).rules(|row| row.0 == "sum").done();
        assert_eq!(at_width(&table, 40), "what  seconds\na       1.000\n       ------\nsum    10.000");
    }

    #[test]
    fn a_line_over_each_of_many_rows_stands_over_its_own() {
        let rows: Vec<String> = (0..20_000).map(|row| row.to_string()).collect();
        let table = Table::over(&rows).column("n", Align::Right, |row| row.clone()).groups(|row| format!("of {row}"));
        let rendered = at_width(&table.done(), 40);
        let lines: Vec<&str> = rendered.lines().skip(1).map(str::trim).collect();
        assert_eq!(lines.len(), 2 * rows.len());
        for (pair, row) in lines.chunks(2).zip(&rows) {
            assert_eq!(pair, [format!("of {row}"), row.clone()]);
        }
    }

    #[test]
    fn a_number_that_fits_nowhere_is_never_shortened() {
        let columns = [
            ("bytes", Align::Right, false),
            ("5 columns", Align::Decimal, false),
            ("range of it", Align::Word, true),
            ("", Align::Left, false),
        ];
        let rows: [&[&str]; 2] = [&["2500", "0.0611 | 1.44", "58.0–91.7 ns", "3 warnings"], &["25", "0.716 | 5.52"]];
        let expected = "bytes 2500\n  5 columns    0.0611 | 1.44\n  range of it  58.0–91.7 ns\n  3 warnings\n\
                        bytes 25\n  5 columns    0.716 | 5.52";
        assert_eq!(at_width(&table(&columns, &rows), 28), expected);
    }

    #[test]
    fn a_narrow_terminal_shortens_headings_and_never_a_value() {
        let runs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs");
        let runs =
            std::fs::read_dir(runs).unwrap().map(|entry| measure::store::read_run(&entry.unwrap().path()).unwrap());
        let mut checked = 0;
        for run in runs {
            for section in &crate::Shown::Run(&run).page().sections {
                let crate::page::Section::Table(table) = section else { continue };
                checked += (30..=100).map(|width| values_are_whole(table, width)).sum::<usize>();
            }
        }
        assert!(checked > 10_000, "{checked}");
    }

    /// Every value of the table stands in it, or its column is said to be left out; how many there are.
    fn values_are_whole(table: &Table, width: usize) -> usize {
        let rendered = single_spaced(&at_width(table, width).replace('\n', " "));
        let left_out = rendered.split_once("Left out at this width: ").map_or("", |(_, names)| names);
        let values =
            table.columns.iter().filter(|column| matches!(column.align, Align::Right | Align::Decimal | Align::Word));
        let mut checked = 0;
        for column in values.filter(|column| !left_out.contains(&column.heading)) {
            for cell in &column.cells {
                // A value of several words may go on in the next line. A dash is what has no value, and may be missing.
                for word in cell.text.split_whitespace().filter(|word| *word != "–") {
                    assert!(rendered.contains(word), "{word} of '{}' at {width}:\n{rendered}", cell.text);
                    checked += 1;
                }
            }
        }
        checked
    }

    #[test]
    fn rows_whose_names_would_become_the_same_are_told_apart() {
        let columns = [("path", Align::Left, false), ("gets", Align::Right, false)];
        let rows: [&[&str]; 2] = [&["index, bad clustering", "67 446 318"], &["index, good clustering", "1 714 609"]];
        let expected = "path:\nindex, bad clustering\n  gets  67 446 318\nindex, good clustering\n  gets  1 714 609";
        assert_eq!(at_width(&table(&columns, &rows), 24), expected);
    }

    #[test]
    fn texts_that_fit_nowhere_are_shortened_and_each_row_stays_one_line() {
        let (one, other) = ("long words in this cell".repeat(5), "more words in that cell".repeat(5));
        let columns = [("a", Align::Left, false), ("b", Align::Left, false)];
        let rendered = at_width(&table(&columns, &[&[&one, &other]]), 40);
        assert!(rendered.lines().all(|line| width(line) <= 40), "{rendered}");
        assert_eq!(rendered.lines().count(), 2);
    }

    #[test]
    fn texts_of_a_quarter_of_a_megabyte_are_shortened_at_once() {
        let long = "x".repeat(1 << 18);
        let columns = [("a", Align::Left, false), ("b", Align::Path, false)];
        let rendered = at_width(&table(&columns, &[&[&long, "a"], &["b", &long]]), 40);
        assert_eq!(rendered.lines().map(width).max(), Some(40), "{rendered}");
    }

    /// Takes one column of the terminal from the widest text column; false when all are at their least.
    fn shorten_widest(grid: &mut Grid<'_>, style: &Style) -> bool {
        let texts = grid.columns.iter_mut().filter(|column| column.is_shortened());
        let widest = texts.max_by_key(|column| column.width()).unwrap();
        let columns = widest.width();
        widest.shorten(if columns > TEXT_COLUMNS_MIN { columns - 1 } else { columns }, style);
        columns > TEXT_COLUMNS_MIN
    }

    #[test]
    fn texts_are_shortened_at_once_to_what_is_left_of_them_column_after_column() {
        let columns = [("path of it", Align::Path, false), ("text", Align::Left, false), ("n", Align::Right, false)];
        let table = table(
            &columns,
            &[
                &["/var/lib/database/files/0001.dbf", "words that go on until they are cut off", "1"],
                &["/srv/a/way/longer/than/others/to/orders_2026.dbf", "few words", "22"],
                &["model:fixed-latency", "some more words than a few", "3"],
            ],
        );
        for (width, unicode) in (20..=100).flat_map(|width| [(width, true), (width, false)]) {
            let style = Style { width, unicode, ..Style::default() };
            let (mut at_once, mut in_steps) = (Grid::of(&table, &style), Grid::of(&table, &style));
            at_once.shorten_texts(&style);
            while in_steps.width() > width && shorten_widest(&mut in_steps, &style) {}
            assert_eq!(at_once.lines(&style), in_steps.lines(&style), "{width}");
        }
    }
}
