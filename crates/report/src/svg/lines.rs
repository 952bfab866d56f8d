//! Lines: points over another axis, joined, with their ranges and with places that have a name.

use measure::sorting;

use super::frame::{self, Area, BOLD, EDGE, SMALL, dot, label, left_axis, left_width, line, lower_axis, name_of};
use super::scale::Ruler;
use super::words::{cut, width};
use super::{Drawing, NARROW, class};
use crate::markup::{Markup, Px};
use crate::page::chart::have_ranges;
use crate::page::{Axis, Chart, Datum, Line, Place, Scale, Shape};

/// Height of the area of the marks.
const HEIGHT: f64 = 240.0;

/// Part of the width that names behind lines may take.
const NAMES_MAX: f64 = 0.3;

/// Least distance between names one under the other.
const APART: f64 = 15.0;

/// Most points that are drawn of a line: neighbours beyond would lie on one spot.
const POINTS_MAX: usize = 700;

/// Most points that carry a mark with a title.
const MARKED_MAX: usize = 80;

/// The lines of a chart.
pub(super) fn lines(
    chart: &Chart,
    across: &Axis,
    (lines, places): (&[Line], &[Place]),
    picture: f64,
    top: f64,
) -> Drawing {
    let mut shown: Vec<Line> = lines.iter().map(|line| drawable(line, across.scale, chart.value.scale)).collect();
    if !have_ranges(&shown) {
        shown.iter_mut().flat_map(|line| &mut line.points).for_each(|(_, datum)| datum.range = None);
    }
    let mut markup = Markup::default();
    let keys: Vec<usize> = named_keys(chart, &shown);
    let has_legend = keys.len() > 1 && (picture < NARROW || chart.has_signs());
    let has_names = keys.len() > 1 && (!has_legend || chart.has_signs());
    let top = if has_legend { frame::legend(&mut markup, chart, &keys, picture, top) } else { top };
    let behind = if has_names { names_width(chart, &keys, picture) } else { 12.0 };
    let top = top + 24.0 + places_height(places);
    let values = shown.iter().flat_map(|line| &line.points).flat_map(|(_, datum)| {
        let (low, high) = datum.range.unwrap_or((datum.value, datum.value));
        [low, datum.value, high]
    });
    let upright = Ruler::over(&chart.value, values, (top + HEIGHT, top));
    let left = EDGE + left_width(&upright, HEIGHT) + 8.0;
    let area = Area { left, right: picture - EDGE - behind, top, bottom: top + HEIGHT };
    let at =
        shown.iter().flat_map(|line| line.points.iter().map(|(x, _)| *x)).chain(places.iter().map(|place| place.at));
    let level = Ruler::over(across, at, (area.left, area.right));
    left_axis(&mut markup, &upright, &name_of(&chart.value), area, (EDGE, top - 12.0 - places_height(places)));
    let height = lower_axis(&mut markup, &level, &name_of(across), area);
    mark_places(&mut markup, places, &level, area);
    for one in &shown {
        draw(&mut markup, chart, across, one, (&level, &upright));
    }
    if has_names {
        names_behind(&mut markup, chart, &shown, &upright, area);
    }
    Drawing { markup, height }
}

/// The points of a line that its axes can show, and not more than can be told apart.
fn drawable(line: &Line, across: Scale, upright: Scale) -> Line {
    let is_on = |x: f64| x.is_finite() && (across == Scale::Linear || x > 0.0);
    let points: Vec<(f64, Datum)> =
        line.points.iter().filter(|(x, datum)| is_on(*x) && datum.is_on(upright)).cloned().collect();
    let step = points.len().div_ceil(POINTS_MAX).max(1);
    let last = points.len().saturating_sub(1);
    let points = points.into_iter().enumerate().filter(|(index, _)| index % step == 0 || *index == last);
    Line { points: points.map(|(_, point)| point).collect(), ..*line }
}

/// The keys that lines have, each once.
fn named_keys(chart: &Chart, lines: &[Line]) -> Vec<usize> {
    let has = |key: &usize| lines.iter().any(|line| line.key == *key && !line.points.is_empty());
    (0..chart.keys.len()).filter(has).collect()
}

fn names_width(chart: &Chart, keys: &[usize], picture: f64) -> f64 {
    let widest = keys.iter().map(|key| width(&chart.keys[*key].at_mark(), BOLD)).fold(0.0, f64::max);
    widest.min(picture * NAMES_MAX) + 12.0
}

fn places_height(places: &[Place]) -> f64 {
    if places.is_empty() { 0.0 } else { APART * places.len().min(4) as f64 }
}

/// A line up at each place, with its name over the area, each name on a line of its own.
fn mark_places(markup: &mut Markup, places: &[Place], level: &Ruler, area: Area) {
    for (index, name) in stacked(places, level, area).into_iter().enumerate() {
        let y = area.top - 4.0 - APART * (index % 4) as f64;
        line(markup, (name.x, y + 2.0), (name.x, area.bottom), "place");
        label(markup, &name.text, (name.from, y), "tick");
    }
    markup.line();
}

/// The name of a place, and where it stands.
struct PlaceName {
    text: String,
    /// Where the place is.
    x: f64,
    /// Where the name begins and ends: right of the place, or left of it where it would leave the area.
    from: f64,
    to: f64,
}

/// The names of places, the lowest first: one comes after those whose lines would cross it, as far as that can be.
fn stacked(places: &[Place], level: &Ruler, area: Area) -> Vec<PlaceName> {
    let name = |place: &Place| {
        let text = cut(&place.text, area.right - area.left, SMALL);
        let (x, wide) = (level.at(place.at), width(&text, SMALL));
        let from = if x + 4.0 + wide <= area.right { x + 4.0 } else { (x - 4.0 - wide).max(area.left) };
        PlaceName { text, x, from, to: from + wide }
    };
    let mut left: Vec<PlaceName> = places.iter().map(name).collect();
    sorting::by(&mut left, |one, other| other.x.total_cmp(&one.x));
    let mut stacked = Vec::new();
    while !left.is_empty() {
        let crossed =
            |at: &usize| left.iter().filter(|other| left[*at].from < other.x && other.x < left[*at].to).count();
        let next = (0..left.len()).min_by_key(crossed).unwrap_or(0);
        stacked.push(left.remove(next));
    }
    stacked
}

fn draw(markup: &mut Markup, chart: &Chart, across: &Axis, one: &Line, (level, upright): (&Ruler, &Ruler)) {
    let spot = |(x, datum): &(f64, Datum)| (level.at(*x), upright.at(datum.value));
    if one.shape != Shape::Points && one.points.len() > 1 {
        let mut path = String::new();
        let mut before: Option<f64> = None;
        for (x, y) in one.points.iter().map(spot) {
            if let (Shape::Steps, Some(level)) = (one.shape, before) {
                path += &format!("L{} {}", Px(x), Px(level));
            }
            path += &format!("{}{} {}", if before.is_some() { 'L' } else { 'M' }, Px(x), Px(y));
            before = Some(y);
        }
        markup.leaf("path", &[("class", &class(chart, one.key, "line")), ("d", &path)]);
    }
    let is_marked = matches!(one.shape, Shape::Marked | Shape::Points) || one.points.len() == 1;
    if !is_marked {
        return;
    }
    let color = class(chart, one.key, "dot");
    for point in &one.points {
        let (x, y) = spot(point);
        if one.points.len() > MARKED_MAX {
            dot(markup, &color, (x, y), 1.6);
            continue;
        }
        markup.around("g", &[], |group| {
            let name = chart.keys.get(one.key).map_or("", |key| key.name.as_str());
            let text = format!("{name} {} at {}", chart.value.shown(point.1.value), across.shown(point.0));
            group.element("title", &[], text.trim());
            if let Some((low, high)) = point.1.range {
                let x = x + aside(chart, one.key);
                line(group, (x, upright.at(low)), (x, upright.at(high)), &class(chart, one.key, "of-line range"));
            }
            dot(group, &color, (x, y), 4.0);
        });
    }
    markup.line();
}

/// How far the range of a point stands from its middle, still under its dot, so that those of several lines at one
/// place do not lie on each other.
fn aside(chart: &Chart, key: usize) -> f64 {
    let last = chart.keys.len().saturating_sub(1);
    if last == 0 { 0.0 } else { 5.0 * (key as f64 / last as f64 - 0.5) }
}

/// The name of each line behind its last point, moved apart where they would lie on each other.
fn names_behind(markup: &mut Markup, chart: &Chart, lines: &[Line], upright: &Ruler, area: Area) {
    let last = |line: &Line| Some((upright.at(line.points.last()?.1.value), line.key));
    let mut names: Vec<(f64, usize)> = Vec::new();
    for (y, key) in lines.iter().filter_map(last) {
        if !names.iter().any(|(_, known)| *known == key) {
            names.push((y, key));
        }
    }
    sorting::by(&mut names, |one, other| one.0.total_cmp(&other.0));
    for index in 1..names.len() {
        names[index].0 = names[index].0.max(names[index - 1].0 + APART);
    }
    // What was pushed out below moves all above it up, and no name stands beside the values of the lower axis.
    let mut lowest = area.bottom - 6.0;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(lowest);
        lowest = name.0 - APART;
    }
    for (y, key) in names {
        let text = cut(&chart.keys[key].at_mark(), area.right * NAMES_MAX * 1.4, BOLD);
        label(markup, &text, (area.right + 8.0, y + 4.0), &class(chart, key, "name-of"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Unit;

    #[test]
    fn no_line_of_a_place_goes_through_the_name_of_another_where_that_can_be() {
        let area = Area { left: 50.0, right: 600.0, top: 100.0, bottom: 340.0 };
        let level = Ruler::over(&Axis::linear("rows", Unit::Count), [0.0, 100.0].into_iter(), (area.left, area.right));
        let place = |(at, text): (f64, &str)| Place { at, text: text.into() };
        let places = [(2.0, "first of all"), (4.0, "second"), (90.0, "last but one, with a long name"), (95.0, "last")];
        let names = stacked(&places.map(place), &level, area);
        for (at, name) in names.iter().enumerate() {
            assert!(area.left <= name.from && name.to <= area.right, "{} leaves the area", name.text);
            // What stands higher has a line that passes all that stands lower.
            let crossing = names[at..].iter().find(|other| name.from < other.x && other.x < name.to);
            assert!(crossing.is_none(), "{} lies on the line of {}", name.text, crossing.unwrap().text);
        }
    }
}
