//! Charts: typed data that a renderer may draw. What is drawn can be listed: `Chart::data` is the table of it.

use measure::{Finding, Metric, Unit};

use super::cell::Cell;
use super::course::Course;
use super::number::{range as range_of, three_digits, with_unit};
use super::table::{Align, Builder, Scale, Table};
use super::wording::joined;

/// Points of lines up to which their ranges are drawn: of one line or a few points, not of many over each other.
const RANGED_MAX: usize = 80;

/// A question, drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// A name for files and links, in kebab case.
    pub name: &'static str,
    /// What is shown, in words that need nothing else on the page.
    pub title: String,
    /// On what it was measured, and what all marks have in common; empty where several runs differ in it.
    pub of: String,
    /// How to read it, or how it was obtained.
    pub note: Option<String>,
    /// What of the note is about published figures.
    pub about_published: &'static str,
    /// What of it is about thin lines.
    pub about_ranges: String,
    /// What of it is about places on the lower axis.
    pub about_places: String,
    /// The axis of the values.
    pub value: Axis,
    /// What the marks are of, in the order of their colours.
    pub keys: Vec<Key>,
    /// How the values stand.
    pub plot: Plot,
    /// The ids of findings that concern it; one that ends in `*` stands for all that begin so.
    pub concerns: &'static [&'static str],
    /// Those findings of the run.
    pub beside: Vec<Finding>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// What its values are counted in; times are nanoseconds.
    pub unit: Unit,
    /// How values lie along it.
    pub scale: Scale,
}

/// What marks of one colour are of.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name; empty where there is one only.
    pub name: String,
    /// What stands at the marks where the name is too long for that: the name then stands once, in a legend.
    pub sign: Option<char>,
    /// Whether the figures were published by someone else.
    pub is_published: bool,
}

/// A value with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Datum {
    /// The value.
    pub value: f64,
    /// The range of the samples, from the smallest to the 90th percentile or the largest.
    pub range: Option<(f64, f64)>,
    /// How many samples.
    pub n: Option<u64>,
    /// How it was obtained.
    pub source: String,
}

/// How the values of a chart stand.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Names with a bar for each mark.
    Rows(Vec<Row>),
    /// Points over another axis, and places on that axis that have a name.
    Lines(Axis, Vec<Line>, Vec<Place>),
    /// Shares of a whole by column: the darker, the more.
    Heat(Axis, Vec<HeatColumn>),
    /// Bars made of parts, one part a key.
    Stack(Vec<Row>),
    /// Parts of a whole one upon the other, over time.
    Layers(Layers),
}

/// Parts of a whole one upon the other, step by step over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// The times of the steps.
    pub course: Course,
    /// Whether the steps are covered at all; where one is not, nothing is known of it.
    pub is_covered: Vec<bool>,
    /// The lowest first: the number of a key, and a value for each step.
    pub layers: Vec<(usize, Vec<f64>)>,
    /// How the values were obtained.
    pub source: String,
}

/// A named row of marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What stands over it and the rows that follow.
    pub group: String,
    /// Its name.
    pub label: String,
    /// Its marks: the number of a key, and the value.
    pub marks: Vec<(usize, Datum)>,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The number of its key.
    pub key: usize,
    /// How the points are joined.
    pub shape: Shape,
    /// The points, ascending.
    pub points: Vec<(f64, Datum)>,
}

/// How points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// By straight lines, with a mark at each point.
    Marked,
    /// Level from each point to the next.
    Steps,
    /// Not at all.
    Points,
}

/// A place on the lower axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where.
    pub at: f64,
    /// What is there.
    pub text: String,
}

/// A column of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatColumn {
    /// What it is of.
    pub label: String,
    /// Ranges of the value axis with their counts.
    pub cells: Vec<(f64, f64, u64)>,
    /// How the counts were obtained.
    pub source: String,
}

impl Chart {
    /// A chart without colours that need a name.
    pub(crate) fn new(name: &'static str, title: impl Into<String>, value: Axis, plot: Plot) -> Chart {
        Chart {
            name,
            title: title.into(),
            of: String::new(),
            note: None,
            about_published: "",
            about_ranges: String::new(),
            about_places: String::new(),
            value,
            keys: vec![Key::measured("")],
            plot,
            concerns: &[],
            beside: Vec::new(),
        }
    }

    /// The chart with a remark under it, behind those that it has.
    pub(crate) fn noted(self, note: impl Into<String>) -> Chart {
        let note = joined([self.note.clone().unwrap_or_default(), note.into()], " ");
        Chart { note: Some(note).filter(|note| !note.is_empty()), ..self }
    }

    /// The chart with a remark on the published figures among its marks, where there are some.
    pub(crate) fn about_published(self, remark: &'static str) -> Chart {
        if !self.has_published() {
            return self;
        }
        Chart { about_published: remark, ..self.noted(remark) }
    }

    /// The remark under it, as it is right for another chart of its rows, which has neither published figures nor
    /// places.
    pub(crate) fn note_for(&self, other: &Chart) -> String {
        let note = self.note.as_deref().unwrap_or_default().replace(self.about_published, "");
        let note = note.replace(&self.about_places, "");
        let note = if other.has_thin_lines() { note } else { note.replace(&self.about_ranges, "") };
        note.replace("  ", " ").trim().into()
    }

    /// The chart with a sentence on what its bars are, or on a logarithmic scale its dots: medians.
    pub(crate) fn of_medians(self) -> Chart {
        let mark = if self.value.scale == Scale::Logarithmic { "Dot" } else { "Bar" };
        self.noted(format!("{mark}: median."))
    }

    /// The chart with a sentence on what thin lines are, where one can be seen. The note stands before it.
    pub(crate) fn thin_line(self, what: &str) -> Chart {
        if !self.has_thin_lines() {
            return self;
        }
        let about_ranges = format!("Thin line: {what}.");
        Chart { about_ranges: about_ranges.clone(), ..self.noted(about_ranges) }
    }

    /// The chart with a remark on the places on its lower axis, where it has some.
    pub(crate) fn about_places(self, remark: impl Into<String>) -> Chart {
        if !matches!(&self.plot, Plot::Lines(_, _, places) if !places.is_empty()) {
            return self;
        }
        let about_places: String = remark.into();
        Chart { about_places: about_places.clone(), ..self.noted(about_places) }
    }

    /// Whether the range of a mark is longer than what lies over it.
    pub(crate) fn has_thin_lines(&self) -> bool {
        let data: Vec<&Datum> = match &self.plot {
            Plot::Rows(rows) => rows.iter().flat_map(|row| &row.marks).map(|(_, datum)| datum).collect(),
            Plot::Lines(_, lines, _) if !have_ranges(lines) => return false,
            Plot::Lines(_, lines, _) => {
                let marked = lines.iter().filter(|line| line.shape == Shape::Marked);
                marked.flat_map(|line| &line.points).map(|(_, datum)| datum).collect()
            }
            Plot::Stack(_) | Plot::Heat(..) | Plot::Layers(_) => return false,
        };
        let is_logarithmic = self.value.scale == Scale::Logarithmic;
        // A dot covers a short range, a bar none.
        let hidden = match &self.plot {
            Plot::Lines(..) => 0.03,
            _ if is_logarithmic => 0.02,
            _ => 0.005,
        };
        let on_axis = |value: f64| if is_logarithmic { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let drawn = || data.iter().filter(|datum| datum.is_on(self.value.scale));
        let ends = drawn().flat_map(|datum| <[f64; 2]>::from(datum.range.unwrap_or((datum.value, datum.value))));
        let origin = (!is_logarithmic).then_some(0.0);
        let (low, high) = ends
            .map(on_axis)
            .chain(origin)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let length = |datum: &&&Datum| {
            let (from, to) = datum.range?;
            let [from, middle, to] = [from, datum.value, to].map(on_axis);
            let is_dot = is_logarithmic && !matches!(self.plot, Plot::Lines(..));
            Some(if is_dot { (to - middle).max(middle - from) } else { to - from })
        };
        drawn().filter_map(|datum| length(&datum)).any(|length| length > hidden * (high - low))
    }

    /// The chart with the names of what its marks are of.
    pub(crate) fn keyed(self, keys: Vec<Key>) -> Chart {
        Chart { keys, ..self }
    }

    /// The chart beside which the findings of these ids stand.
    pub(crate) fn concerning(self, concerns: &'static [&'static str]) -> Chart {
        Chart { concerns, ..self }
    }

    /// The chart where it has at least `least` values: fewer are a sentence.
    pub(crate) fn with_at_least(self, least: usize) -> Option<Chart> {
        let count = match &self.plot {
            Plot::Rows(rows) | Plot::Stack(rows) => rows.iter().map(|row| row.marks.len()).sum(),
            Plot::Lines(_, lines, _) => lines.iter().map(|line| line.points.len()).sum(),
            Plot::Heat(_, columns) => columns.len(),
            Plot::Layers(layers) => layers.is_covered.len(),
        };
        (count >= least).then_some(self)
    }

    /// Whether its marks have signs, which a legend explains.
    pub(crate) fn has_signs(&self) -> bool {
        self.keys.iter().any(|key| key.sign.is_some())
    }

    /// Whether some of its marks were published by others.
    pub(crate) fn has_published(&self) -> bool {
        self.keys.iter().any(|key| key.is_published)
    }

    /// Whether a finding of this id concerns it.
    pub(crate) fn is_concerned(&self, id: &str) -> bool {
        self.concerns.iter().any(|concern| match concern.strip_suffix('*') {
            Some(beginning) => id.starts_with(beginning),
            None => *concern == id,
        })
    }

    /// All values that are drawn, each with its unit, its range, its count and its source.
    pub fn data<'a>(&'a self) -> Table {
        match &self.plot {
            Plot::Rows(rows) | Plot::Stack(rows) => {
                let of = |row: &'a Row| row.marks.iter().map(move |mark| (row, mark));
                let marks: Vec<(&Row, &(usize, Datum))> = rows.iter().flat_map(of).collect();
                let name = |(row, (key, _)): &(&Row, &(usize, Datum))| self.named(&row.label, *key);
                let table = Table::over(&marks).column("of", Align::Left, name);
                let table = table.groups(|(row, _)| row.group.clone());
                self.values(table, |(_, (_, datum))| datum).done()
            }
            Plot::Lines(across, lines, _) => {
                let of = |line: &'a Line| line.points.iter().map(move |point| (line, point));
                let points: Vec<(&Line, &(f64, Datum))> = lines.iter().flat_map(of).collect();
                let table = Table::over(&points)
                    .column(across.label.clone(), Align::Right, |(_, (x, _))| across.cell(*x))
                    .groups(|(line, _)| self.keys.get(line.key).map_or(String::new(), |key| key.name.clone()));
                self.values(table, |(_, (_, datum))| datum).done()
            }
            Plot::Heat(across, columns) => {
                let of = |column: &'a HeatColumn| column.cells.iter().map(move |cell| (column, cell));
                let cells: Vec<(&HeatColumn, &(f64, f64, u64))> = columns.iter().flat_map(of).collect();
                Table::over(&cells)
                    .column(format!("{} from", self.value.label), Align::Right, |(_, (low, ..))| self.value.cell(*low))
                    .column("to", Align::Right, |(_, (_, high, _))| self.value.cell(*high))
                    .column("count", Align::Right, |(_, (.., count))| Cell::count(*count as f64))
                    .column("source", Align::Left, |(column, _)| column.source.clone())
                    .groups(|(column, _)| format!("{} {}", across.label, column.label))
                    .done()
            }
            Plot::Layers(layers) => self.steps(layers),
        }
    }

    /// A row for each step that is covered, a column for each layer.
    fn steps(&self, layers: &Layers) -> Table {
        let steps: Vec<usize> = (0..layers.is_covered.len()).filter(|step| layers.is_covered[*step]).collect();
        let cell = |value: f64| Cell { text: self.value.shown(value), ..Cell::digits(value, self.value.unit) };
        let sum = |step: usize| layers.layers.iter().map(|(_, values)| values[step]).sum::<f64>();
        Table::over(&steps)
            .column(layers.course.heading(), Align::Word, |step| layers.course.cell(*step))
            .each(&layers.layers, |table, (key, values)| {
                table.column(self.keys[*key].name.clone(), Align::Decimal, |step| cell(values[*step]))
            })
            .column("all", Align::Decimal, |step| cell(sum(*step)))
            .noted(format!("{}: {}.", self.value.label, layers.source))
            .done()
    }

    /// The columns of a value.
    fn values<'a, R>(&self, table: Builder<'a, R>, datum: impl Fn(&R) -> &Datum) -> Builder<'a, R> {
        let range = |datum: &Datum| {
            let (low, high) = datum.range?;
            let text = range_of(&self.value.shown(low), &self.value.shown(high));
            Some(Cell { spread: Some((low, high)), unit: Some(self.value.unit), ..text.into() })
        };
        table
            .column(self.value.label.clone(), Align::Right, |row| self.value.cell(datum(row).value))
            .optional("range", Align::Word, |row| range(datum(row)))
            .optional("samples", Align::Right, |row| datum(row).n.map(|n| Cell::count(n as f64)))
            .optional("source", Align::Left, |row| datum(row).source.clone())
    }

    /// The name of a row with that of the key, where there are several.
    fn named(&self, label: &str, key: usize) -> String {
        let key = self.keys.get(key).map_or("", |key| key.name.as_str());
        joined([label, key], ": ")
    }
}

/// Whether the ranges of lines are drawn.
pub(crate) fn have_ranges(lines: &[Line]) -> bool {
    lines.iter().map(|line| line.points.len()).sum::<usize>() <= RANGED_MAX
}

impl Plot {
    /// Lines, without places on the lower axis.
    pub(crate) fn lines(across: Axis, lines: Vec<Line>) -> Plot {
        Plot::Lines(across, lines, Vec::new())
    }
}

impl Row {
    /// A row of one mark.
    pub(crate) fn of(label: impl Into<String>, datum: Datum) -> Row {
        Row { group: String::new(), label: label.into(), marks: vec![(0, datum)] }
    }
}

impl Key {
    /// What this tool measured.
    pub(crate) fn measured(name: impl Into<String>) -> Key {
        Key { name: name.into(), sign: None, is_published: false }
    }

    /// One of several runs.
    pub(crate) fn signed(sign: char, name: impl Into<String>) -> Key {
        Key { sign: Some(sign), ..Key::measured(name) }
    }

    /// What someone else published.
    pub(crate) fn published(name: impl Into<String>) -> Key {
        Key { name: name.into(), sign: None, is_published: true }
    }

    /// What stands at a mark.
    pub(crate) fn at_mark(&self) -> String {
        self.sign.map_or_else(|| self.name.clone(), String::from)
    }

    /// What stands in a legend.
    pub(crate) fn in_full(&self) -> String {
        self.sign.map_or_else(|| self.name.clone(), |sign| format!("{sign}: {}", self.name))
    }
}

impl Axis {
    /// An axis that begins at zero.
    pub(crate) fn linear(label: impl Into<String>, unit: Unit) -> Axis {
        Axis { label: label.into(), unit, scale: Scale::Linear }
    }

    /// An axis on which equal lengths are equal ratios.
    pub(crate) fn logarithmic(label: impl Into<String>, unit: Unit) -> Axis {
        Axis { label: label.into(), unit, scale: Scale::Logarithmic }
    }

    /// A value of it in words, with its unit.
    pub(crate) fn shown(&self, value: f64) -> String {
        match self.unit {
            Unit::Ratio => format!("{} ×", three_digits(value)),
            unit => with_unit(value, unit),
        }
    }

    /// The same as a cell.
    pub(crate) fn cell(&self, value: f64) -> Cell {
        Cell { text: self.shown(value), value: Some(value), unit: Some(self.unit), spread: None }
    }
}

impl Datum {
    /// A value that was made of others, with the words for how.
    pub(crate) fn made(value: f64, source: impl Into<String>) -> Datum {
        Datum { value, range: None, n: None, source: source.into() }
    }

    /// The median of a metric with its range, times in nanoseconds.
    pub(crate) fn median(metric: &Metric) -> Datum {
        Datum::of(metric, metric.median())
    }

    /// The mean of a metric with its range: what is right for rates.
    pub(crate) fn mean(metric: &Metric) -> Datum {
        Datum::of(metric, metric.statistics.mean)
    }

    /// A value of a metric, in the metric's own unit, with the range and the count of its samples.
    pub(crate) fn of(metric: &Metric, value: f64) -> Datum {
        let (statistics, scale) = (&metric.statistics, metric.unit.nanoseconds().unwrap_or(1.0));
        let high = statistics.p90.unwrap_or(statistics.max);
        let range = (statistics.n > 1).then_some((statistics.min * scale, high * scale));
        Datum { value: value * scale, range, n: Some(statistics.n), source: metric.source.clone() }
    }

    /// Whether it can be drawn on an axis.
    pub(crate) fn is_on(&self, scale: Scale) -> bool {
        self.value.is_finite() && (scale == Scale::Linear || self.value > 0.0)
    }
}
