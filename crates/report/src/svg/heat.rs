//! Heat maps: a column for each case, and in it the darker a range of values, the larger its share of the column.

use super::Drawing;
use super::frame::{Area, EDGE, SMALL, label, left_axis, left_width, name_of, rect};
use super::scale::Ruler;
use super::words::{cut, width};
use crate::markup::Markup;
use crate::page::number::grouped;
use crate::page::{Axis, Chart, HeatColumn};

/// Height of the area of the cells.
const HEIGHT: f64 = 240.0;

/// Width of the cells of the legend.
const CELLS: f64 = 102.0;

/// The map.
pub(super) fn heat(chart: &Chart, across: &Axis, columns: &[HeatColumn], picture: f64, top: f64) -> Drawing {
    let mut markup = Markup::default();
    let top = top + 24.0;
    let edges = columns.iter().flat_map(|column| &column.cells).flat_map(|(low, high, _)| [*low, *high]);
    let upright = Ruler::over(&chart.value, edges, (top + HEIGHT, top));
    let left = EDGE + left_width(&upright, HEIGHT) + 8.0;
    let area = Area { left, right: picture - EDGE, top, bottom: top + HEIGHT };
    left_axis(&mut markup, &upright, &name_of(&chart.value), area, (EDGE, area.top - 12.0));
    let wide = (area.right - area.left) / columns.len().max(1) as f64;
    let share = |column: &HeatColumn, count: u64| {
        let whole = column.cells.iter().map(|cell| cell.2).sum::<u64>().max(1);
        count as f64 / whole as f64
    };
    let largest = columns.iter().flat_map(|column| column.cells.iter().map(|cell| share(column, cell.2)));
    let largest = largest.fold(1e-9, f64::max);
    let mut free = f64::NEG_INFINITY;
    for (index, column) in columns.iter().enumerate() {
        let x = area.left + wide * index as f64;
        for (low, high, count) in column.cells.iter().filter(|cell| cell.2 > 0) {
            let part = share(column, *count);
            // The root keeps the rare ones visible: a tail of 1 % is what a heat map is looked at for.
            let depth = format!("{:.2}", 0.12 + 0.88 * (part / largest).sqrt());
            let (y, bottom) = (upright.at(*high), upright.at(*low));
            markup.around("g", &[], |group| {
                let range = format!("{} to {}", chart.value.shown(*low), chart.value.shown(*high));
                let title = format!("{}: {range}, {} ({:.1} %)", column.label, grouped(*count), part * 100.0);
                group.element("title", &[], &title);
                let size = ((wide - 1.0).max(0.5), (bottom - y).max(0.6));
                rect(group, &[("class", &"cell"), ("fill-opacity", &depth)], (x + 0.5, y), size);
            });
        }
        let text = cut(&column.label, (wide * 2.0).max(60.0).min(picture - 2.0 * EDGE), SMALL);
        let (middle, half) = (x + wide / 2.0, width(&text, SMALL) / 2.0);
        let middle = middle.min(picture - half).max(EDGE + half);
        if middle - half > free {
            label(&mut markup, &text, (middle, area.bottom + 16.0), "tick middle");
            free = middle + half + 8.0;
        }
        markup.line();
    }
    label(&mut markup, &across.label, (area.left, area.bottom + 32.0), "axis");
    legend(&mut markup, largest, (area.left, area.bottom + 52.0), picture);
    Drawing { markup, height: area.bottom + 62.0 }
}

/// How dark which share is: below the cells, and further left where the picture is too narrow for that.
fn legend(markup: &mut Markup, largest: f64, (left, y): (f64, f64), picture: f64) {
    let (least, most) = ("share of a column's reads: few ", format!("{:.0} %", largest * 100.0));
    let room = width(least, SMALL) + CELLS + width(&most, SMALL);
    let left = left.min(picture - EDGE - room).max(EDGE);
    label(markup, least, (left, y), "tick");
    let from = left + width(least, SMALL);
    for step in 0..6 {
        let depth = format!("{:.2}", 0.12 + 0.88 * (f64::from(step) / 5.0).sqrt());
        let place = (from + 16.0 * f64::from(step), y - 9.0);
        rect(markup, &[("class", &"cell"), ("fill-opacity", &depth)], place, (15.0, 10.0));
    }
    label(markup, &most, (from + CELLS, y), "tick");
}
