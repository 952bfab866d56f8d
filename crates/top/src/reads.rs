//! The table of reads: which tier answered, how fast, and how much of all.

use std::time::Duration;

use measure::quantity::{format_nanos, grouped, three_digits};
use profile::tables::read_tiers::{ByTier, READ_TIERS, ReadSums, ReadTier};
use ratatui::text::Line;

use crate::fit::columns;
use crate::palette::DIM;
use crate::sums::Sums;

/// The heads of the columns: blocks, their share, reads, bytes, the time of a read, and what answered.
const HEAD: [&str; 6] = ["blocks/s", "%", "reads/s", "MiB/s", "each", "answered by"];

/// Columns of a terminal from which on all of them have room.
const WIDTH: usize = 78;

/// What a reader of the first row has to know.
const OF_BUFFERS: &str = "Hits in shared buffers are the server's own count, which grows when statements end.";

/// The tiers in their order, nearest first.
const TIERS: [(ReadTier, &str); READ_TIERS] = [
    (ReadTier::PageCache, "the kernel's page cache"),
    (ReadTier::Device, "the device"),
    (ReadTier::InFlight, "a request in flight for another"),
    (ReadTier::NotSeen, "not seen whole"),
];

/// The head and the lines.
pub(crate) fn table(sums: &Sums, untraced: Option<&str>, width: usize) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
    let hits = sums.all.hits.filter(|_| !sums.counted.is_zero());
    let hits = hits.map(|blocks| blocks as f64 / sums.counted.as_secs_f64());
    let (mut lines, traced) = (Vec::new(), sums.all.reads.as_ref().filter(|_| !sums.traced.is_zero()));
    let read = traced.map_or(0.0, |reads| seen_blocks(reads) as f64 / sums.traced.as_secs_f64());
    let all = hits.unwrap_or(0.0) + read;
    // Without the reads the share of the hits is not known, and without the hits that of the reads is of reads alone.
    if let Some(hits) = hits {
        let share = traced.map_or_else(String::new, |_| percent(hits, all));
        lines.push(line([&rate(hits), &share, "", "", "", "shared buffers"], width));
    }
    if let Some(reads) = traced {
        let rows = TIERS.into_iter().filter_map(|(tier, name)| row(reads, sums.traced, all, (tier, name)));
        lines.extend(rows.map(|cells| line(cells.each_ref().map(String::as_str), width)));
    }
    let mut said = Vec::new();
    if let Some(why) = untraced {
        said.extend(wrapped(
            &format!("Which tier answered reads of files is not known: {}.", why.trim_end_matches('.')),
            width,
        ));
    } else if traced.is_none() {
        said.push("No second of reads yet.".to_string());
    }
    if hits.is_some() {
        said.extend(wrapped(OF_BUFFERS, width));
    }
    let lines = lines.into_iter().map(Line::from).chain(said.into_iter().map(|line| Line::from(line).style(DIM)));
    (vec![Line::from(line(HEAD, width)).style(DIM)], lines.collect())
}

/// A line of the table; on a narrow terminal without the columns that are needed least.
fn line([blocks, share, reads, bytes, each, name]: [&str; 6], width: usize) -> String {
    match width >= WIDTH {
        true => format!("{blocks:>9}  {share:>5}  {reads:>8}  {bytes:>7}  {each:>8}  {name}"),
        false => format!("{blocks:>8}  {share:>5}  {name}"),
    }
}

/// Blocks of reads whose tier is known.
fn seen_blocks(reads: &ByTier) -> u64 {
    reads.all().blocks - reads.of(ReadTier::NotSeen).blocks
}

/// The cells of a tier.
fn row(reads: &ByTier, time: Duration, all: f64, (tier, name): (ReadTier, &str)) -> Option<[String; 6]> {
    let ReadSums { reads, blocks, bytes, time: spent, .. } = *reads.of(tier);
    let seconds = time.as_secs_f64();
    // What was not seen whole is no tier: it has a row where there is some, and no share of what the tiers answered.
    let is_tier = tier != ReadTier::NotSeen;
    (is_tier || reads > 0).then(|| {
        let share = if is_tier { percent(blocks as f64 / seconds, all) } else { String::new() };
        let each = if reads > 0 { format_nanos(spent.micros() * 1e3 / reads as f64) } else { String::new() };
        let [blocks, reads] = [blocks, reads].map(|count| rate(count as f64 / seconds));
        [blocks, share, reads, rate(bytes as f64 / seconds / f64::from(1 << 20)), each, name.into()]
    })
}

fn rate(rate: f64) -> String {
    match rate {
        rate if rate >= 99.95 => grouped(rate.round() as u64),
        rate if rate > 0.0 => three_digits(rate),
        _ => "0".into(),
    }
}

fn percent(part: f64, all: f64) -> String {
    if all > 0.0 { format!("{:.1}", 100.0 * part / all) } else { String::new() }
}

/// A sentence in lines of at most this width.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| columns(line) + 1 + columns(word) <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.into()),
        }
    }
    lines
}
