//! Bars: a name, a bar with its range for each mark, and the value behind it, or where ranges would stand between the
//! two, in a column.

use super::frame::{self, Area, BOLD, EDGE, SMALL, TEXT, dot, label, line, lower_axis, name_of, rect};
use super::scale::Ruler;
use super::words::{cut, width, wrapped};
use super::{COLORS, Drawing, NARROW, class};
use measure::Unit;

use crate::markup::Markup;
use crate::page::number::{grouped, range_in_words};
use crate::page::{Chart, Datum, Key, Row, Scale};

/// Part of the width that names may take on the left; longer ones stand over their bars.
const NAMES_MAX: f64 = 0.34;

/// Part of the width that a value and the name of its key may take.
const WORDS_MAX: f64 = 0.6;

/// Part of the width that a column of values may take.
const COLUMN_MAX: f64 = 0.3;

/// Half of the width of a dot: a range that ends within it is not drawn.
const DOT: f64 = 4.5;

/// Height of a bar, and what lies between rows.
const BAR: f64 = 14.0;
const GAP: f64 = 8.0;

/// Where the names stand.
struct Names {
    width: f64,
    are_above: bool,
}

fn names(rows: &[Row], picture: f64) -> Names {
    let widest = rows.iter().map(|row| width(&row.label, TEXT)).fold(0.0, f64::max);
    let are_above = picture < NARROW || widest > picture * NAMES_MAX;
    Names { width: if are_above { 0.0 } else { widest + 8.0 }, are_above }
}

impl Names {
    /// Writes the name of a row that begins at `y`: over the row, or before it and `below` that. Returns where the row
    /// goes on.
    fn write(&self, markup: &mut Markup, name: &str, picture: f64, (y, below): (f64, f64)) -> f64 {
        if !self.are_above {
            label(markup, name, (EDGE + self.width - 8.0, y + below), "name end");
            return y;
        }
        label(markup, &cut(name, picture - 2.0 * EDGE, TEXT), (EDGE, y + 11.0), "name");
        y + 16.0
    }
}

/// Bars, one for each mark.
pub(super) fn bars(chart: &Chart, rows: &[Row], picture: f64, top: f64) -> Drawing {
    let names = names(rows, picture);
    let left = EDGE + names.width;
    let is_drawn = |(_, datum): &&(usize, Datum)| datum.is_on(chart.value.scale);
    let values = rows.iter().flat_map(|row| &row.marks).filter(is_drawn).flat_map(|(_, datum)| ends(datum));
    let ruler = Ruler::over(&chart.value, values, (0.0, 1.0));
    // As long as lets every value stand behind its bar.
    let room = rows.iter().flat_map(|row| &row.marks).filter(is_drawn).map(|(key, datum)| {
        let end = ends(datum).into_iter().map(|value| ruler.at(value)).fold(0.0, f64::max);
        (picture - EDGE - left - width(&words(chart, *key, datum, picture), SMALL) - 8.0) / end.max(0.05)
    });
    let length = room.fold(picture - EDGE - left - 12.0, f64::min).max(60.0);
    let is_log = chart.value.scale == Scale::Logarithmic;
    let covered = chart.has_thin_lines().then_some(if is_log { DOT } else { 1.0 });
    let column = covered.and_then(|_| column(chart, rows, picture));
    let length = column.map_or(length, |column| column - 10.0 - left);
    let ruler = ruler.between((left, left + length));
    let mut marks = Markup::default();
    let keys: Vec<usize> = (0..chart.keys.len()).filter(|_| chart.has_signs()).collect();
    let top = frame::legend(&mut marks, chart, &keys, picture, top);
    let mut y = top + 4.0;
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = &row.group;
            y = heading(&mut marks, group, picture, y);
        }
        y = names.write(&mut marks, &row.label, picture, (y, BAR * row.marks.len() as f64 / 2.0 + 4.0));
        for (key, datum) in &row.marks {
            let text = words(chart, *key, datum, picture);
            let end = bar(&mut marks, chart, row, (*key, datum, &text, covered), &ruler, y);
            label(&mut marks, &text, (column.unwrap_or(end), y + 11.0), "value");
            y += BAR;
        }
        y += GAP;
        marks.line();
    }
    finish(chart, marks, &ruler, Area { left, right: left + length, top: top + 2.0, bottom: y - GAP + 4.0 })
}

/// Where a column of values begins, where there is room for one: a value behind a long range would be read as its end.
fn column(chart: &Chart, rows: &[Row], picture: f64) -> Option<f64> {
    let marks = || rows.iter().flat_map(|row| &row.marks);
    let widest = marks().map(|(key, datum)| width(&words(chart, *key, datum, picture), SMALL)).fold(0.0, f64::max);
    (widest <= picture * COLUMN_MAX).then_some(picture - EDGE - widest)
}

/// The name of a group, which no line of the grid crosses, in lines where it is long. Returns where its rows begin.
fn heading(markup: &mut Markup, name: &str, picture: f64, mut y: f64) -> f64 {
    let most = picture - 2.0 * EDGE;
    let is_short = width(name, BOLD) <= most;
    let lines = if is_short { vec![name.into()] } else { wrapped(&cut(name, 3.0 * most, BOLD), most, BOLD) };
    for text in lines {
        rect(markup, &[("class", &"ground")], (EDGE + 1.0, y), (width(&text, BOLD) + 1.0, 18.0));
        label(markup, &text, (EDGE, y + 13.0), "group");
        y += 18.0;
    }
    y + 4.0
}

/// The axis is drawn first, so that its grid lies below the marks.
fn finish(chart: &Chart, marks: Markup, ruler: &Ruler, area: Area) -> Drawing {
    let mut markup = Markup::default();
    let height = lower_axis(&mut markup, ruler, &name_of(&chart.value), area);
    // Of ratios what matters is on which side of 1 they lie.
    let (one, ends) = (ruler.at(1.0), (area.left + 1.0, area.right - 1.0));
    if chart.value.unit == Unit::Ratio && one > ends.0 && one < ends.1 {
        line(&mut markup, (one, area.top), (one, area.bottom), "place");
    }
    line(&mut markup, (ruler.origin(), area.top), (ruler.origin(), area.bottom), "base");
    markup.add(&marks);
    Drawing { markup, height }
}

/// The values that a mark reaches.
fn ends(datum: &Datum) -> Vec<f64> {
    let (low, high) = datum.range.unwrap_or((datum.value, datum.value));
    vec![low, datum.value, high]
}

/// What stands behind a bar, cut where it would leave no room for one.
fn words(chart: &Chart, key: usize, datum: &Datum, picture: f64) -> String {
    let name = chart.keys.get(key).map_or(String::new(), Key::at_mark);
    let text = format!("{} {name}", chart.value.shown(datum.value));
    cut(text.trim_end(), picture * WORDS_MAX, SMALL)
}

/// A bar, on a logarithmic scale a point at the end of a line: such a scale has no zero that a bar could stand on.
/// Its range is drawn where it is longer than what is `covered`. Returns where a value can stand behind it.
fn bar(
    markup: &mut Markup,
    chart: &Chart,
    row: &Row,
    (key, datum, text, covered): (usize, &Datum, &str, Option<f64>),
    ruler: &Ruler,
    y: f64,
) -> f64 {
    if !datum.is_on(chart.value.scale) {
        return ruler.origin() + 6.0;
    }
    let (from, to, middle) = (ruler.origin(), ruler.at(datum.value), y + BAR / 2.0);
    let range = datum.range.map_or(String::new(), |(low, high)| {
        format!(", range {}", range_in_words(&chart.value.shown(low), &chart.value.shown(high)))
    });
    let samples = datum.n.filter(|n| *n > 1).map_or(String::new(), |n| format!(", {} samples", grouped(n)));
    markup.around("g", &[], |group| {
        group.element("title", &[], &format!("{}: {text}{range}{samples}", row.label));
        if chart.value.scale == Scale::Logarithmic {
            line(group, (from, middle), (to, middle), &class(chart, key, "stem"));
            dot(group, &class(chart, key, "dot"), (to, middle), DOT);
        } else {
            let (x, length) = (from.min(to), (to - from).abs().max(1.0));
            rect(group, &[("class", &class(chart, key, "bar"))], (x, y + 2.0), (length, BAR - 4.0));
        }
        if let Some(covered) = covered {
            whiskers(group, datum, ruler, (middle, covered));
        }
    });
    let end = ends(datum).into_iter().map(|value| ruler.at(value)).fold(to.max(from), f64::max);
    end.max(to + 4.0) + 6.0
}

/// The range of the samples, where it is longer than what lies over it.
fn whiskers(markup: &mut Markup, datum: &Datum, ruler: &Ruler, (y, covered): (f64, f64)) {
    let Some((low, high)) = datum.range else { return };
    let (low, middle, high) = (ruler.at(low), ruler.at(datum.value), ruler.at(high));
    if (high - middle).max(middle - low) <= covered {
        return;
    }
    line(markup, (low, y), (high, y), "range");
    line(markup, (low, y - 3.0), (low, y + 3.0), "range");
    line(markup, (high, y - 3.0), (high, y + 3.0), "range");
}

/// Bars made of parts, under a legend of these.
pub(super) fn stacks(chart: &Chart, rows: &[Row], picture: f64, top: f64) -> Drawing {
    let names = names(rows, picture);
    let left = EDGE + names.width;
    let sum = |row: &Row| row.marks.iter().map(|(_, datum)| datum.value.max(0.0)).sum::<f64>();
    let sums = rows.iter().map(|row| width(&chart.value.shown(sum(row)), SMALL));
    let right = picture - EDGE - sums.fold(0.0, f64::max) - 8.0;
    let ruler = Ruler::over(&chart.value, rows.iter().map(sum), (left, right));
    let mut marks = Markup::default();
    let is_drawn = |key: &usize| rows.iter().any(|row| row.marks.iter().any(|(known, _)| known == key));
    let keys: Vec<usize> = (0..chart.keys.len()).filter(is_drawn).collect();
    let start = frame::legend(&mut marks, chart, &keys, picture, top);
    let mut y = start + 6.0;
    for row in rows {
        y = names.write(&mut marks, &row.label, picture, (y, 14.0));
        let mut before = 0.0;
        for (key, datum) in &row.marks {
            part(&mut marks, chart, row, (*key, datum), (ruler.at(before), ruler.at(before + datum.value.max(0.0))), y);
            before += datum.value.max(0.0);
        }
        label(&mut marks, &chart.value.shown(before), (ruler.at(before) + 6.0, y + 14.0), "value");
        y += 20.0 + GAP;
        marks.line();
    }
    finish(chart, marks, &ruler, Area { left, right, top: start + 2.0, bottom: y - GAP + 4.0 })
}

fn part(markup: &mut Markup, chart: &Chart, row: &Row, (key, datum): (usize, &Datum), (from, to): (f64, f64), y: f64) {
    if to - from < 0.2 {
        return;
    }
    let name = &chart.keys[key].name;
    markup.around("g", &[], |group| {
        let text = chart.value.shown(datum.value);
        group.element("title", &[], &format!("{}: {text} {name}", row.label));
        let color = format!("bar {}", COLORS[key % COLORS.len()]);
        rect(group, &[("class", &color)], (from, y), ((to - from - 0.6).max(0.4), 20.0));
    });
}
