//! Sessions at work over time, as stacked bars: a column for one or several seconds, a colour or letter for a class.

use measure::quantity::three_digits;
use measure::wait_class::Class;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::palette::{BOLD, mark};

/// Columns of the axis, its line included.
pub(crate) const AXIS: u16 = 6;

/// Parts of a cell that can be filled.
const EIGHTHS: [char; 8] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇'];

/// One column: sessions at work on average by class, in the order of the classes; `None` where nothing was sampled.
pub(crate) type Column = Option<Vec<(Class, f64)>>;

/// What the chart shows.
pub(crate) struct Chart {
    /// The oldest first; the last stands at the right.
    pub(crate) columns: Vec<Column>,
    /// How many of the last columns the tables are of.
    pub(crate) marked: usize,
    pub(crate) has_color: bool,
    pub(crate) has_unicode: bool,
}

impl Chart {
    /// Draws it; the last line marks the columns that the tables are of.
    pub(crate) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        if area.height < 2 || area.width <= AXIS {
            return;
        }
        let (height, width) = (area.height - 1, area.width - AXIS);
        let top = self.top();
        self.axis(area, top, buffer);
        let shown = self.columns.len().min(usize::from(width));
        let begin = area.x + AXIS + width - shown as u16;
        for (x, column) in (begin..).zip(&self.columns[self.columns.len() - shown..]) {
            match column {
                Some(classes) => self.column(Rect { x, width: 1, height, ..area }, (classes, top), buffer),
                None => drop(buffer[(x, area.y + height - 1)].set_char('?')),
            }
        }
        let mark = if self.has_unicode { '▔' } else { '^' };
        for x in (begin..begin + shown as u16).rev().take(self.marked) {
            buffer[(x, area.y + height)].set_char(mark);
        }
    }

    /// The number of sessions at the top: a round one that all columns stay below.
    fn top(&self) -> f64 {
        let sums = self.columns.iter().flatten().map(|classes| classes.iter().map(|(_, value)| *value).sum::<f64>());
        round_above(sums.fold(1.0, f64::max))
    }

    fn axis(&self, area: Rect, top: f64, buffer: &mut Buffer) {
        let height = area.height - 1;
        let line = if self.has_unicode { '│' } else { '|' };
        for y in area.y..area.y + height {
            buffer[(area.x + AXIS - 1, y)].set_char(line);
        }
        let mut label = |y: u16, value: f64| {
            let width = usize::from(AXIS) - 2;
            buffer.set_string(area.x, y, format!("{:>width$}", three_digits(value)), Style::default());
        };
        label(area.y, top);
        if height >= 5 {
            label(area.y + height / 2, top * (1.0 - f64::from(height / 2) / f64::from(height)));
        }
    }

    fn column(&self, area: Rect, (classes, top): (&[(Class, f64)], f64), buffer: &mut Buffer) {
        let cell = top / f64::from(area.height);
        for row in 0..area.height {
            // From the bottom; what a cell stands for most is what covers its middle.
            let bottom = f64::from(row) * cell;
            let at = &mut buffer[(area.x, area.y + area.height - 1 - row)];
            match covering(classes, bottom + cell / 2.0) {
                Some(class) => self.fill(at, class, '█'),
                None if self.has_color && self.has_unicode => {
                    let sum: f64 = classes.iter().map(|(_, value)| value).sum();
                    let part = ((sum - bottom) / cell * 8.0) as usize;
                    if let Some(class) = covering(classes, bottom + 1e-9).filter(|_| part > 0) {
                        self.fill(at, class, EIGHTHS[part.min(7)]);
                    }
                }
                None => {}
            }
        }
    }

    fn fill(&self, cell: &mut ratatui::buffer::Cell, class: Class, block: char) {
        let (letter, color) = mark(class);
        match self.has_color && self.has_unicode {
            true => cell.set_char(block).set_fg(color),
            false if self.has_color => cell.set_char(letter).set_fg(color),
            false => cell.set_char(letter).set_style(BOLD),
        };
    }
}

/// The class that reaches from below to above this number of sessions.
fn covering(classes: &[(Class, f64)], at: f64) -> Option<Class> {
    let mut below = 0.0;
    classes.iter().find_map(|(class, value)| {
        below += value;
        (at < below).then_some(*class)
    })
}

/// The least of 1, 2, 5, 10, 20, ... that is not below a value.
fn round_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|round| *round >= value * 0.999).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(columns: &[Column], has_color: bool) -> Vec<String> {
        let area = Rect::new(0, 0, 12, 5);
        let mut buffer = Buffer::empty(area);
        Chart { columns: columns.to_vec(), marked: 1, has_color, has_unicode: has_color }.draw(area, &mut buffer);
        let line = |y: u16| (0..area.width).map(|x| buffer[(x, y)].symbol().to_string()).collect::<String>();
        (0..area.height).map(|y| line(y).trim_end().to_string()).collect()
    }

    #[test]
    fn without_colours_letters_say_what_a_bar_is_made_of() {
        let column = vec![(Class::Cpu, 2.0), (Class::SingleBlockReads, 1.0), (Class::Commit, 1.0)];
        // Of the 5 at the top, 4 fill three of four lines: the reads that lie between two middles are not seen.
        let lines = drawn(&[None, Some(vec![]), Some(column)], false);
        assert_eq!(lines, ["5.00 |", "     |     W", "     |     C", "     |   ? C", "           ^"]);
    }

    #[test]
    fn with_colours_the_top_of_a_bar_is_an_eighth_of_a_line_exact() {
        let lines = drawn(&[Some(vec![(Class::Cpu, 1.1)])], true);
        // Of the 2 at the top, 1.1 fill two of four lines and a fifth of the third.
        assert_eq!(lines, ["2.00 │", "     │     ▁", "     │     █", "     │     █", "           ▔"]);
    }

    #[test]
    fn an_area_without_room_is_left_alone() {
        for (width, height) in [(0, 0), (6, 5), (7, 2), (1, 1), (200, 2)] {
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            let columns = vec![Some(vec![(Class::Cpu, 3.0)])];
            Chart { columns, marked: 5, has_color: true, has_unicode: true }.draw(area, &mut buffer);
        }
    }

    #[test]
    fn the_axis_ends_at_a_round_number() {
        let rounded: Vec<f64> = [0.3, 1.0, 1.1, 4.2, 7.0, 16.0, 230.0].map(round_above).into();
        assert_eq!(rounded, [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 500.0]);
    }
}
