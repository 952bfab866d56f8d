//! Layers: parts of a whole one upon the other, over time. The width of each at a time is its value.

use super::frame::{self, Area, EDGE, SMALL, label, left_axis, left_width};
use super::scale::Ruler;
use super::words::width;
use super::{COLORS, Drawing};
use crate::markup::{Markup, Px};
use crate::page::{Chart, Layers};

/// Height of the area of the marks.
const HEIGHT: f64 = 240.0;

/// Height that a layer needs for its name to stand in it.
const NAME: f64 = 15.0;

/// Where the steps of a picture begin and end, and how high they reach.
struct Sheet<'a> {
    layers: &'a Layers,
    area: Area,
    upright: Ruler,
}

/// The layers of a chart.
pub(super) fn layers(chart: &Chart, layers: &Layers, picture: f64, top: f64) -> Drawing {
    let mut markup = Markup::default();
    let keys: Vec<usize> = layers.layers.iter().map(|(key, _)| *key).collect();
    let top = frame::legend(&mut markup, chart, &keys, picture, top) + 24.0;
    let upright = Ruler::over(&chart.value, sums(layers).into_iter(), (top + HEIGHT, top));
    let left = EDGE + left_width(&upright, HEIGHT) + 8.0;
    // The last time stands under the end of the area, and half of it behind that.
    let area = Area { left, right: picture - 3.0 * EDGE, top, bottom: top + HEIGHT };
    let sheet = Sheet { layers, area, upright };
    left_axis(&mut markup, &sheet.upright, &chart.value.label, area, (EDGE, top - 12.0));
    let ticks = layers.course.ticks(frame::most_ticks(area.right - area.left)).into_iter();
    let places = ticks.map(|(second, text)| (sheet.at(second as f64 / layers.course.step_seconds as f64), text));
    let height = frame::lower_values(&mut markup, places, &layers.course.label(), area);
    let mut below = vec![0.0; layers.is_covered.len()];
    let mut names = Markup::default();
    for (key, values) in &layers.layers {
        let above: Vec<f64> = below.iter().zip(values).map(|(below, value)| below + value.max(0.0)).collect();
        sheet.layer(&mut markup, chart, *key, (&below, &above));
        if keys.len() > 1 {
            sheet.name(&mut names, &chart.keys[*key].name, (&below, &above));
        }
        below = above;
    }
    markup.add(&names);
    Drawing { markup, height }
}

/// What all layers of a step come to.
fn sums(layers: &Layers) -> Vec<f64> {
    let sum = |step: usize| layers.layers.iter().map(|(_, values)| values[step].max(0.0)).sum();
    (0..layers.is_covered.len()).map(sum).collect()
}

impl Sheet<'_> {
    /// Where this number of steps is over.
    fn at(&self, steps: f64) -> f64 {
        self.area.left + (self.area.right - self.area.left) * steps / self.layers.is_covered.len().max(1) as f64
    }

    /// One layer, as one shape for each time without a gap.
    fn layer(&self, markup: &mut Markup, chart: &Chart, key: usize, (below, above): (&[f64], &[f64])) {
        let (mut path, mut seam) = (String::new(), String::new());
        let mut from = 0;
        for covered in self.layers.is_covered.chunk_by(|one, other| one == other) {
            let steps = from..from + covered.len();
            from = steps.end;
            if !covered[0] || steps.clone().all(|step| above[step] <= below[step]) {
                continue;
            }
            let edge = |step: usize, values: &[f64], is_back: bool| {
                let (x, next) = (Px(self.at(step as f64)), Px(self.at(step as f64 + 1.0)));
                let y = Px(self.upright.at(values[step]));
                if is_back { format!("L{next} {y}H{x}") } else { format!("L{x} {y}H{next}") }
            };
            for step in steps.clone().filter(|step| above[*step] > below[*step]) {
                seam += &format!("M{}", &edge(step, above, false)[1..]);
            }
            let there: String = steps.clone().map(|step| edge(step, above, false)).collect();
            let back: String = steps.rev().map(|step| edge(step, below, true)).collect();
            path += &format!("M{}{back}Z", &there[1..]);
        }
        let values: Vec<f64> = above.iter().zip(below).map(|(above, below)| above - below).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        markup.around("g", &[], |group| {
            let name = &chart.keys[key].name;
            group.element("title", &[], format!("{name}: at most {}", chart.value.shown(largest)).trim_start());
            group.leaf("path", &[("class", &format!("layer {}", COLORS[key % COLORS.len()])), ("d", &path)]);
            // Neighbours of one hue to a colour-blind reader are apart.
            group.leaf("path", &[("class", &"seam"), ("d", &seam)]);
        });
        markup.line();
    }

    /// The name of a layer, in it, where it is high enough for long enough: it is then read without the legend.
    fn name(&self, markup: &mut Markup, name: &str, (below, above): (&[f64], &[f64])) {
        let wide = self.at(1.0) - self.at(0.0);
        let needed = ((width(name, SMALL) + 8.0) / wide.max(0.1)).ceil() as usize;
        let steps = below.len();
        let mut best: Option<(f64, usize, f64)> = None;
        for first in 0..(steps + 1).saturating_sub(needed.max(1)) {
            let window = first..first + needed.max(1);
            let low = below[window.clone()].iter().copied().fold(0.0, f64::max);
            let high = above[window].iter().copied().fold(f64::INFINITY, f64::min);
            let (bottom, top) = (self.upright.at(low), self.upright.at(high));
            if bottom - top >= NAME && best.is_none_or(|(height, ..)| bottom - top > height) {
                best = Some((bottom - top, first, (bottom + top) / 2.0));
            }
        }
        if let Some((_, first, y)) = best {
            let x = self.at(first as f64 + needed.max(1) as f64 / 2.0);
            label(markup, name, (x, y + 4.0), "value middle");
        }
    }
}
