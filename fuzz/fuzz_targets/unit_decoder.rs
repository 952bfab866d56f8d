//! The decoder of columnar units under a coverage-guided fuzzer: `cargo +nightly fuzz run unit_decoder`.
//!
//! The bytes stand behind those of a real unit of the level that the first byte chooses, cut where the second says, and
//! are read with their checksums put right: otherwise hardly any input would get past them.
#![no_main]

#[path = "../../crates/storage/tests/all/damaged/unit.rs"]
mod unit;

use std::sync::OnceLock;

use dataset::ColumnType;
use libfuzzer_sys::fuzz_target;
use measure::words::Word;
use storage::page::number;
use storage::unit::Level;
use unit::{Blocks, Cell, Rows, Subject, judge, legitimise};

/// A unit of each level, with numbers and texts of which some are null.
static SUBJECTS: OnceLock<Vec<Subject>> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let [chosen, cut, rest @ ..] = input else { return };
    let subjects = SUBJECTS.get_or_init(|| Level::all().map(|level| Subject::new(&rows(), level)).collect());
    let subject = &subjects[usize::from(*chosen) % subjects.len()];
    let kept = subject.unit.len() * usize::from(*cut) / 255;
    let mut bytes = [&subject.unit[..kept], rest].concat();
    let turn = input.iter().map(|byte| u64::from(*byte)).sum();
    let mut blocks = Blocks::new();
    let _ = judge(subject, &mut blocks, &bytes, turn, true);
    legitimise(&mut bytes);
    let _ = judge(subject, &mut blocks, &bytes, turn, true);
});

fn rows() -> Rows {
    let cells = |row: i64| -> Vec<Cell> {
        let (bytes, length) = number::encode(1913 + row % 76);
        vec![Some(bytes[..length].to_vec()), (row % 3 > 0).then(|| vec![b'a'; row as usize % 9])]
    };
    Rows { columns: vec![ColumnType::Number, ColumnType::Text], cells: (0..100).map(cells).collect() }
}
