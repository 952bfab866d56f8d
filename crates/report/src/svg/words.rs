//! Text in a picture: how wide it is about, where it breaks, and the description for those who cannot see.

use crate::page::number::grouped;
use crate::page::{Chart, Datum, Layers, Plot, Row, Shape};

/// Rows and lines that a description names.
const DESCRIBED_MAX: usize = 12;

/// Width of a text in a font of this size: a little more than any of the usual fonts needs.
pub(super) fn width(text: &str, size: f64) -> f64 {
    points(text.chars().map(share).sum(), size)
}

/// Width of letters that have this sum of shares.
fn points(shares: f64, size: f64) -> f64 {
    shares * size * 1.06
}

/// The part of the font's size that a letter is wide.
fn share(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '(' | ')' | '[' | ']' | '!' | 'f' | 't' | 'r' => {
            0.36
        }
        ' ' | '\u{202f}' => 0.3,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '–' => 0.9,
        'A'..='Z' => 0.7,
        _ if letter as u32 >= 0x1100 => 1.1,
        _ => 0.6,
    }
}

/// A text that takes at most `most` points; its end is left out where it is longer.
pub(super) fn cut(text: &str, most: f64, size: f64) -> String {
    if width(text, size) <= most {
        return text.into();
    }
    let mut shares = 0.0;
    let ends = |letter: char| {
        shares += share(letter);
        points(shares, size) + size > most
    };
    let end = text.find(ends).unwrap_or(text.len());
    format!("{}…", text[..end].trim_end())
}

/// A text in lines of at most `most` points.
pub(super) fn wrapped(text: &str, most: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + size * 0.3 <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, most, size)),
        }
    }
    // What parts two texts has nothing to part at the end of a line.
    lines.into_iter().map(|line| line.trim_end_matches(" ·").into()).collect()
}

/// What a chart shows, in words.
pub(super) fn description(chart: &Chart) -> String {
    let what = match &chart.plot {
        Plot::Rows(rows) => format!("Bar chart of {}: {}.", chart.value.label, of_rows(chart, rows)),
        Plot::Stack(rows) => format!("Stacked bars of {}: {}.", chart.value.label, of_rows(chart, rows)),
        Plot::Lines(across, lines, places) => {
            let one = |line: &crate::page::Line| {
                // Where a bucket begins and ends nothing was counted.
                let is_counted = line.points.iter().any(|(_, datum)| datum.n.is_some());
                let is_edge = |datum: &Datum| line.shape == Shape::Steps && is_counted && datum.n.is_none();
                let mut points = line.points.iter().filter(|(_, datum)| !is_edge(datum));
                let first = points.next()?;
                let ends = (first, points.next_back().unwrap_or(first));
                let at =
                    |(x, datum): &(f64, Datum)| format!("{} at {}", chart.value.shown(datum.value), across.shown(*x));
                let name = chart.keys.get(line.key).map_or("", |key| key.name.as_str());
                Some(format!("{name} from {} to {}", at(ends.0), at(ends.1)).trim_start().to_string())
            };
            let lines: Vec<String> = lines.iter().take(DESCRIBED_MAX).filter_map(one).collect();
            let places: String =
                places.iter().map(|place| format!(" {} at {}.", place.text, across.shown(place.at))).collect();
            format!("Line chart of {} by {}: {}.{places}", chart.value.label, across.label, lines.join("; "))
        }
        Plot::Heat(_, columns) if columns.len() == 1 => format!("Heat map of {}.", chart.value.label),
        Plot::Heat(across, columns) => {
            format!("Heat map of {} by {}, {} columns.", chart.value.label, across.label, columns.len())
        }
        Plot::Layers(layers) => of_layers(chart, layers),
    };
    format!("{what} The table under the chart has all values.")
}

fn of_layers(chart: &Chart, layers: &Layers) -> String {
    let known = layers.is_covered.iter().filter(|is_covered| **is_covered).count().max(1) as f64;
    let one = |(key, values): &(usize, Vec<f64>)| {
        let mean = chart.value.shown(values.iter().sum::<f64>() / known);
        let largest = chart.value.shown(values.iter().copied().fold(0.0, f64::max));
        format!("{} {mean} on average, at most {largest}", chart.keys[*key].name)
    };
    let all: Vec<String> = layers.layers.iter().map(one).collect();
    format!("Layers of {} by {}: {}.", chart.value.label, layers.course.label(), all.join("; "))
}

fn of_rows(chart: &Chart, rows: &[Row]) -> String {
    let mark = |(key, datum): &(usize, Datum)| {
        let name = chart.keys.get(*key).map_or("", |key| key.name.as_str());
        format!("{} {name}", chart.value.shown(datum.value)).trim_end().to_string()
    };
    let row = |row: &Row| format!("{} {}", row.label, row.marks.iter().map(mark).collect::<Vec<_>>().join(", "));
    let named: Vec<String> = rows.iter().take(DESCRIBED_MAX).map(row).collect();
    let more = rows.len().saturating_sub(DESCRIBED_MAX);
    let rest = if more > 0 { format!("; and {} more", grouped(more as u64)) } else { String::new() };
    format!("{}{rest}", named.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_breaks_between_words_and_a_long_name_is_cut() {
        let lines = wrapped("one two three four five six seven", 100.0, 12.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, 12.0) <= 100.0), "{lines:?}");
        assert!(cut("a-name-without-an-end-to-it", 80.0, 12.0).ends_with('…'));
        assert_eq!(cut("short", 80.0, 12.0), "short");
    }

    #[test]
    fn a_megabyte_in_one_word_is_cut_in_one_walk() {
        let beginning = cut(&"a".repeat(100), 80.0, 12.0);
        assert_eq!(cut(&"a".repeat(1 << 20), 80.0, 12.0), beginning);
        assert!(width(&beginning, 12.0) <= 80.0, "{beginning}");
    }
}
