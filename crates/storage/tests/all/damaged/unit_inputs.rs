//! Makes columnar units: those of random rows with fields, stored bytes or decompressed bytes changed.

use dataset::ColumnType;
use measure::random::{SplitMix64, mix};
use measure::words::Word;
use storage::page::number;
use storage::unit::Level;
use storage::unit::format::{ENTRY_BYTES, HEADER_BYTES, Header, Section};

use super::bytes::{any, fill};
use super::unit::{Blocks, Cell, Rows, Subject, judge, legitimise};
use super::{Fuzzed, name_of};

/// How many units the inputs are made from.
const SAMPLES: u64 = 96;

/// Columns and rows of a sample, at most. Few rows make many inputs; the sizes of a block and of a word are passed.
const COLUMNS_MAX: u64 = 5;
const ROWS_MAX: u64 = 400;

/// Bytes that widths, counts and compressed blocks turn on.
const TELLING: [u8; 8] = [0, 1, 2, 4, 8, 127, 128, 255];

/// A unit of the samples, taken apart.
struct Sample {
    subject: Subject,
    /// As many bytes as the sections have decompressed, and the bytes as they are stored.
    sections: Vec<(u32, Vec<u8>)>,
}

/// Units and the input that is made of them.
pub(crate) struct Units {
    samples: Vec<Sample>,
    /// Which sample the input is made of, and whether its checksums were put right.
    chosen: usize,
    is_legitimised: bool,
    unit: Vec<u8>,
    blocks: Blocks,
}

impl Units {
    /// Makes the samples.
    pub(crate) fn new() -> Units {
        let levels = Level::all().cycle();
        let sample = |(number, level)| sample(level, &mut SplitMix64::new(mix(number)));
        let samples = (0..SAMPLES).zip(levels).map(sample).collect();
        Units { samples, chosen: 0, is_legitimised: true, unit: Vec::new(), blocks: Blocks::new() }
    }
}

impl Fuzzed for Units {
    fn spoil(&mut self, random: &mut SplitMix64) {
        self.chosen = random.below(SAMPLES) as usize;
        let sample = &self.samples[self.chosen];
        self.unit.clear();
        self.unit.extend_from_slice(&sample.subject.unit);
        self.is_legitimised = random.below(8) > 0;
        match random.below(8) {
            0 | 1 => change_fields(&mut self.unit, random),
            2 | 3 => change_section(sample, &mut self.unit, random),
            4..=6 => self.unit = with_raw_section(sample, random),
            _ => change_anything(&mut self.unit, random),
        }
        if self.is_legitimised {
            legitimise(&mut self.unit);
        }
    }

    fn judge(&mut self, turn: u64) -> String {
        let subject = &self.samples[self.chosen].subject;
        match judge(subject, &mut self.blocks, &self.unit, turn, self.is_legitimised) {
            Err(storage::StorageError::BadUnit { damage, .. }) => name_of::<(), _>(Err(damage)),
            answer => name_of(answer),
        }
    }
}

/// A unit of random rows, with columns of many kinds.
fn sample(level: Level, random: &mut SplitMix64) -> Sample {
    let rows = 1 + random.below(ROWS_MAX) as usize;
    let columns: Vec<ColumnType> = (0..=random.below(COLUMNS_MAX))
        .map(|_| if random.below(3) == 0 { ColumnType::Text } else { ColumnType::Number })
        .collect();
    let mut cells = vec![Vec::new(); rows];
    for kind in &columns {
        let (nulls, shape) = ([0, 0, 10, 60, 100][random.below(5) as usize], random.below(6));
        for cells in &mut cells {
            cells.push((random.below(100) >= nulls).then(|| value(*kind, shape, random)).flatten());
        }
    }
    let subject = Subject::new(&Rows { columns, cells }, level);
    let header = Header::parse(&subject.unit).expect("a whole unit");
    let entries = (0..header.columns()).flat_map(|column| {
        [Section::Nulls, Section::Values].map(|section| header.entry(column, section).expect("a section of a column"))
    });
    let sections = entries.map(|entry| (entry.raw, subject.unit[entry.range()].to_vec())).collect();
    Sample { subject, sections }
}

/// A value of one of six shapes, from one that is always the same to one that may be anything.
fn value(kind: ColumnType, shape: u64, random: &mut SplitMix64) -> Cell {
    let word = random.next_u64();
    if kind == ColumnType::Text {
        let length = [0, 5, word % 4, word % 20, word % 90, 60][shape as usize] as usize;
        return Some((0..length).map(|at| b'a' + (word >> (at % 16)) as u8 % 7).collect());
    }
    let value = [
        52_772,
        1913 + (word % 76) as i64,
        (word % 70_000) as i64 - 9,
        i64::MAX - (word % 200) as i64,
        i64::MIN + (word % 200) as i64,
        word as i64,
    ][shape as usize];
    let (bytes, length) = number::encode(value);
    Some(bytes[..length].to_vec())
}

/// Changes bytes of the header and of the entries.
fn change_fields(unit: &mut [u8], random: &mut SplitMix64) {
    let head = HEADER_BYTES + 2 * ENTRY_BYTES * usize::from(unit[7]);
    for _ in 0..=random.below(3) {
        let at = random.below(head as u64) as usize;
        unit[at] = any(unit[at], &[unit[at].wrapping_add(1), unit[at].wrapping_sub(1), 0], random);
    }
}

/// Changes the stored bytes of one section: mostly what a decompressor gets.
fn change_section(sample: &Sample, unit: &mut [u8], random: &mut SplitMix64) {
    let at = random.below(sample.sections.len() as u64) as usize;
    let before: usize = sample.sections[..at].iter().map(|(_, stored)| stored.len()).sum();
    let start = HEADER_BYTES + ENTRY_BYTES * sample.sections.len() + before;
    change_some(&mut unit[start..start + sample.sections[at].1.len()], random);
}

fn change_some(bytes: &mut [u8], random: &mut SplitMix64) {
    if bytes.is_empty() {
        return;
    }
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() as u64) as usize;
        // The first bytes say how the rest is to be read.
        let at = if random.below(2) == 0 { at % 12 } else { at };
        bytes[at] = any(bytes[at], &TELLING, random);
    }
}

/// The unit with one section of other bytes, stored as they are: what is behind the decompression.
fn with_raw_section(sample: &Sample, random: &mut SplitMix64) -> Vec<u8> {
    let mut sections = sample.sections.clone();
    let at = random.below(sections.len() as u64) as usize;
    let mut raw = match random.below(4) {
        0 => sections[random.below(sample.sections.len() as u64) as usize].1.clone(),
        _ => plain(&sample.subject.unit, at),
    };
    match random.below(6) {
        0 => raw.truncate(random.below(raw.len() as u64 + 1) as usize),
        1 => raw.resize(raw.len() + 1 + random.below(9) as usize, 0),
        2 => fill(&mut raw, random),
        _ => {}
    }
    change_some(&mut raw, random);
    sections[at] = (raw.len() as u32, raw);
    laid(&sample.subject.unit, &sections)
}

/// The bytes of a section as they were before they were compressed.
fn plain(unit: &[u8], section: usize) -> Vec<u8> {
    let header = Header::parse(unit).expect("a whole unit");
    let kind = [Section::Nulls, Section::Values][section % 2];
    let entry = header.entry(section / 2, kind).expect("a section of a column");
    let stored = &unit[entry.range()];
    let raw = entry.raw as usize;
    match header.level {
        _ if stored.len() == raw => stored.to_vec(),
        Level::QueryLow => lz4_flex::block::decompress(stored, raw).expect("what was compressed"),
        _ => zstd::bulk::decompress(stored, raw).expect("what was compressed"),
    }
}

/// A unit of these sections under the head of another one, which has as many.
fn laid(unit: &[u8], sections: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let head = HEADER_BYTES + ENTRY_BYTES * sections.len();
    let mut laid = unit[..head].to_vec();
    for (number, (raw, stored)) in sections.iter().enumerate() {
        let at = HEADER_BYTES + ENTRY_BYTES * number;
        let fields = [laid.len() as u32, stored.len() as u32, *raw];
        let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        laid[at..at + bytes.len()].copy_from_slice(&bytes);
        laid.extend_from_slice(stored);
    }
    let bytes = laid.len() as u32;
    laid[12..16].copy_from_slice(&bytes.to_le_bytes());
    laid
}

/// Changes bytes anywhere, cuts the unit short or puts random bytes in its place.
fn change_anything(unit: &mut Vec<u8>, random: &mut SplitMix64) {
    let length = unit.len() as u64;
    match random.below(16) {
        0 => fill(unit, random),
        1 => unit.truncate(random.below(length + 1) as usize),
        2 => fill(&mut unit[random.below(length) as usize..], random),
        _ => {
            for _ in 0..=random.below(3) {
                let at = random.below(length) as usize;
                unit[at] = any(unit[at], &TELLING, random);
            }
        }
    }
}
