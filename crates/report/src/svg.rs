//! Charts as SVG: one picture a chart, for a page or for a file of its own.
//!
//! A picture is drawn for a width in points and not scaled to it, so that its text is as large as that of the page. It
//! says by itself what it shows: each mark has its name or its value beside it, and a title for those who cannot see
//! it. Colours come from a style sheet, so that a page can be light or dark.

mod frame;
mod heat;
mod layers;
mod lines;
mod rows;
mod scale;
mod words;

use measure::Run;

use crate::beside::minute;
use crate::body;
use crate::markup::{Markup, Px};
use crate::page::{Chart, Plot, Section};

/// Colours of the marks: those of Okabe and Ito, which people with any colour vision tell apart.
pub(crate) const STYLE: &str = include_str!("svg/chart.css");

/// Colours that there are.
const COLORS: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

/// Below this width names stand over their marks.
const NARROW: f64 = 480.0;

/// Width of a picture in a file of its own.
const FILE_WIDTH: f64 = 720.0;

/// What is drawn, with its height.
struct Drawing {
    markup: Markup,
    height: f64,
}

/// A chart in `width` points, as a part of a page; `id` is unique there.
pub(crate) fn picture(chart: &Chart, width: f64, id: &str, class: &'static str) -> Markup {
    let drawing = draw(chart, width, 0.0);
    let mut markup = Markup::default();
    let size = format!("0 0 {} {}", Px(width), Px(drawing.height));
    let (title, about) = (format!("{id}-title"), format!("{id}-about"));
    let labelled = format!("{title} {about}");
    let attributes: [(&str, &dyn std::fmt::Display); 6] = [
        ("xmlns", &"http://www.w3.org/2000/svg"),
        ("class", &format!("chart {class}")),
        ("viewBox", &size),
        ("width", &Px(width)),
        ("role", &"img"),
        ("aria-labelledby", &labelled),
    ];
    markup.around("svg", &attributes, |svg| {
        svg.element("title", &[("id", &title)], &chart.title);
        svg.element("desc", &[("id", &about)], &words::description(chart));
        svg.add(&drawing.markup);
    });
    markup
}

/// The charts of a run as files: names without an ending, and their text.
pub fn files(run: &Run) -> Vec<(&'static str, String)> {
    let about = format!("readpath {}, {} UTC, run {}", run.experiment, minute(&run.started), run.id);
    let charts = body::page(run).sections.into_iter().filter_map(|section| match section {
        Section::Chart(chart) => Some((chart.name, file(&chart, &about))),
        _ => None,
    });
    charts.collect()
}

/// A chart as a file.
fn file(chart: &Chart, about: &str) -> String {
    let wrapped = |text: &str, size: f64| words::wrapped(text, FILE_WIDTH - 2.0 * frame::EDGE, size);
    let (heading, of) = (wrapped(&chart.title, 15.0), wrapped(&chart.of, 11.0));
    let under = 20.0 * heading.len() as f64;
    let top = 14.0 + under + 15.0 * of.len() as f64;
    let drawing = draw(chart, FILE_WIDTH, top);
    let foot = [chart.note.as_deref().unwrap_or_default(), about].map(|text| wrapped(text, 11.0)).concat();
    let height = drawing.height + 8.0 + 15.0 * foot.len() as f64;
    let mut markup = Markup::default();
    let attributes: [(&str, &dyn std::fmt::Display); 7] = [
        ("xmlns", &"http://www.w3.org/2000/svg"),
        ("class", &"chart file"),
        ("viewBox", &format!("0 0 {} {}", Px(FILE_WIDTH), Px(height))),
        ("width", &Px(FILE_WIDTH)),
        ("height", &Px(height)),
        ("role", &"img"),
        ("aria-labelledby", &"title about"),
    ];
    markup.around("svg", &attributes, |svg| {
        svg.element("title", &[("id", &"title")], &chart.title);
        svg.element("desc", &[("id", &"about")], &words::description(chart));
        svg.around("style", &[], |style| style.verbatim(STYLE));
        svg.leaf("rect", &[("class", &"ground"), ("width", &"100%"), ("height", &"100%")]);
        write(svg, &heading, "heading", (20.0, 20.0));
        write(svg, &of, "foot", (under + 16.0, 15.0));
        svg.line();
        svg.add(&drawing.markup);
        write(svg, &foot, "foot", (drawing.height + 12.0, 15.0));
    });
    markup.line();
    markup.finish()
}

/// Writes lines one under the other.
fn write(svg: &mut Markup, lines: &[String], class: &str, (first, apart): (f64, f64)) {
    for (index, line) in lines.iter().enumerate() {
        frame::label(svg, line, (frame::EDGE, first + apart * index as f64), class);
    }
}

/// Draws below `top`.
fn draw(chart: &Chart, width: f64, top: f64) -> Drawing {
    match &chart.plot {
        Plot::Rows(rows) => rows::bars(chart, rows, width, top),
        Plot::Stack(rows) => rows::stacks(chart, rows, width, top),
        Plot::Lines(across, lines, places) => lines::lines(chart, across, (lines, places), width, top),
        Plot::Heat(across, columns) => heat::heat(chart, across, columns, width, top),
        Plot::Layers(all) => layers::layers(chart, all, width, top),
    }
}

/// The class of a key's colour, and of its form where it was published.
fn class(chart: &Chart, key: usize, form: &str) -> String {
    let published = chart.keys.get(key).is_some_and(|key| key.is_published);
    format!("{form} {}{}", COLORS[key % COLORS.len()], if published { " published" } else { "" })
}
