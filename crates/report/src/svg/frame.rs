//! What stands around the marks: axes with their values, grid lines, names of axes, a legend.

use super::class;
use super::scale::Ruler;
use super::words::width;
use crate::markup::{Attribute, Markup, Px};
use crate::page::{Axis, Chart, Scale};

/// Space at the edges of a picture.
pub(super) const EDGE: f64 = 6.0;

/// Sizes of text.
pub(super) const TEXT: f64 = 12.0;
pub(super) const SMALL: f64 = 11.0;

/// Size by which a text in bold is measured: it is wider than another of the same size.
pub(super) const BOLD: f64 = TEXT * 1.1;

/// The area of the marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// The name of an axis, with its scale where that is logarithmic.
pub(super) fn name_of(axis: &Axis) -> String {
    let scale = if axis.scale == Scale::Logarithmic { ", log scale" } else { "" };
    format!("{}{scale}", axis.label)
}

/// How many values fit beside an axis of this length.
pub(super) fn most_ticks(length: f64) -> usize {
    (length / 64.0).clamp(2.0, 12.0) as usize
}

/// Writes a text.
pub(super) fn label(markup: &mut Markup, text: &str, (x, y): (f64, f64), class: &str) {
    markup.element("text", &[("class", &class), ("x", &Px(x)), ("y", &Px(y))], text);
}

/// Draws a rectangle.
pub(super) fn rect(markup: &mut Markup, how: &[Attribute<'_>], (x, y): (f64, f64), (width, height): (f64, f64)) {
    let place: [Attribute<'_>; 4] = [("x", &Px(x)), ("y", &Px(y)), ("width", &Px(width)), ("height", &Px(height))];
    markup.leaf("rect", &[how, &place[..]].concat());
}

/// Draws a dot.
pub(super) fn dot(markup: &mut Markup, class: &str, (x, y): (f64, f64), radius: f64) {
    markup.leaf("circle", &[("class", &class), ("cx", &Px(x)), ("cy", &Px(y)), ("r", &radius)]);
}

/// Writes a straight line.
pub(super) fn line(markup: &mut Markup, from: (f64, f64), to: (f64, f64), class: &str) {
    let place: [Attribute<'_>; 5] =
        [("class", &class), ("x1", &Px(from.0)), ("y1", &Px(from.1)), ("x2", &Px(to.0)), ("y2", &Px(to.1))];
    markup.leaf("line", &place);
}

/// Grid lines up from the lower axis, with their values under them and the axis' name under these. Returns where the
/// picture goes on.
pub(super) fn lower_axis(markup: &mut Markup, ruler: &Ruler, name: &str, area: Area) -> f64 {
    let most = most_ticks(area.right - area.left);
    let marks = ruler.between_ticks(most).into_iter();
    marks_between(markup, marks.map(|value| format!("M{} {}v3", Px(ruler.at(value)), Px(area.bottom))));
    let places = ruler.ticks(most).into_iter().map(|(value, text)| (ruler.at(value), text));
    lower_values(markup, places, name, area)
}

/// The grid lines, the values and the name alone. Values that would touch are left out.
pub(super) fn lower_values(
    markup: &mut Markup,
    places: impl Iterator<Item = (f64, String)>,
    name: &str,
    area: Area,
) -> f64 {
    let mut free = f64::NEG_INFINITY;
    for (x, text) in places {
        let half = width(&text, SMALL) / 2.0;
        line(markup, (x, area.top), (x, area.bottom + 4.0), "grid");
        let middle = x.min(area.right + EDGE * 2.0 - half).max(half + 1.0);
        if middle - half > free {
            label(markup, &text, (middle, area.bottom + 16.0), "tick middle");
            free = middle + half + 6.0;
        }
    }
    markup.line();
    label(markup, name, (area.left, area.bottom + 32.0), "axis");
    area.bottom + 38.0
}

/// Grid lines across from the left axis, with their values before them and the axis' name where it was given a place.
pub(super) fn left_axis(markup: &mut Markup, ruler: &Ruler, name: &str, area: Area, at: (f64, f64)) {
    let most = most_beside(area.bottom - area.top);
    let marks = ruler.between_ticks(most).into_iter();
    marks_between(markup, marks.map(|value| format!("M{} {}h3", Px(area.left - 3.0), Px(ruler.at(value)))));
    for (value, text) in ruler.ticks(most) {
        let y = ruler.at(value);
        line(markup, (area.left, y), (area.right, y), "grid");
        label(markup, &text, (area.left - 6.0, y + 4.0), "tick end");
    }
    markup.line();
    label(markup, name, at, "axis");
}

/// How many values fit beside an upright axis of this length.
fn most_beside(length: f64) -> usize {
    (length / 26.0) as usize
}

/// Short strokes at an axis, as one path.
fn marks_between(markup: &mut Markup, strokes: impl Iterator<Item = String>) {
    let path: String = strokes.collect();
    if !path.is_empty() {
        markup.leaf("path", &[("class", &"mark"), ("d", &path)]);
    }
}

/// Widest value of a left axis.
pub(super) fn left_width(ruler: &Ruler, height: f64) -> f64 {
    let ticks = ruler.ticks(most_beside(height));
    ticks.iter().map(|(_, text)| width(text, SMALL)).fold(20.0, f64::max)
}

/// The names of the keys in lines, each behind its colour; nothing for one key. Returns where the picture goes on.
pub(super) fn legend(markup: &mut Markup, chart: &Chart, keys: &[usize], right: f64, top: f64) -> f64 {
    if keys.len() < 2 {
        return top;
    }
    let (mut x, mut y) = (EDGE, top + 14.0);
    for key in keys {
        let name = super::words::cut(&chart.keys[*key].in_full(), right - 3.0 * EDGE - 16.0, TEXT);
        let length = 18.0 + width(&name, TEXT) + 14.0;
        if x + length > right && x > EDGE {
            (x, y) = (EDGE, y + 18.0);
        }
        rect(markup, &[("class", &class(chart, *key, "bar"))], (x, y - 9.0), (12.0, 10.0));
        label(markup, &name, (x + 18.0, y), "name");
        x += length;
    }
    markup.line();
    y + 8.0
}
