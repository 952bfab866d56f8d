//! The pages of the repository: what they tell a reader to type, and what they show below it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A fenced block of a page.
pub(super) struct Block {
    /// The word behind the fence: `sh`, `text`.
    kind: String,
    lines: Vec<String>,
}

/// The folder of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of the README, of all pages in `docs`, and of the chapters of the guide.
pub(super) fn blocks() -> Vec<Block> {
    let pages = [vec![root().join("README.md")], pages_in("docs"), pages_in("docs/guide/src")].concat();
    pages.iter().flat_map(|page| blocks_of(&fs::read_to_string(page).unwrap())).collect()
}

/// The pages of a folder, by name.
fn pages_in(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.sort();
    pages
}

fn blocks_of(page: &str) -> Vec<Block> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    let block = |text: &str| {
        let mut lines = text.lines().map(String::from);
        Block { kind: lines.next().unwrap_or_default(), lines: lines.collect() }
    };
    fenced.map(block).collect()
}

/// The command lines that a reader is to type, each where it stands first: the README repeats some of the guide.
pub(super) fn commands(blocks: &[Block]) -> Vec<String> {
    let typed = blocks.iter().filter(|block| block.kind == "sh").flat_map(|block| &block.lines);
    let mut seen = HashSet::new();
    typed.filter(|line| !line.trim().is_empty() && seen.insert(line.as_str())).cloned().collect()
}

/// The headings of each page that is shown, with the name of the command that printed it.
pub(super) fn shown(blocks: &[Block]) -> Vec<(String, Vec<String>)> {
    let name = |block: &Block| block.lines.first()?.strip_prefix("readpath ")?.split(' ').next().map(String::from);
    let texts = blocks.iter().filter(|block| block.kind == "text");
    texts.filter_map(|block| Some((name(block)?, headings(&block.lines)))).collect()
}

/// The lines that name columns: three cells or more, of which none begins as a figure does.
pub(super) fn headings(lines: &[impl AsRef<str>]) -> Vec<String> {
    let lines = lines.iter().map(|line| line.as_ref()).filter(|line| !line.starts_with("readpath "));
    lines.filter_map(heading).collect()
}

fn heading(line: &str) -> Option<String> {
    let cells = line.split("  ").flat_map(|cell| cell.split('|')).map(str::trim).filter(|cell| !cell.is_empty());
    let cells: Vec<&str> = cells.collect();
    let is_figure = |cell: &&str| cell.starts_with(|first: char| first.is_ascii_digit() || "-<>".contains(first));
    (cells.len() >= 3 && !cells.iter().any(is_figure)).then(|| cells.join(" | "))
}

#[test]
fn a_heading_is_told_from_a_row_and_a_sentence() {
    let page = "text\n```sh\nreadpath ladder\n```\n\n```text\nreadpath ladder   a  b  c\nlevel   one read  × above\n\
                L1   1.02 ns  ▏\nA read costs 7 µs:\n  more than that.\n```\n";
    let blocks = blocks_of(page);
    assert_eq!(commands(&blocks), ["readpath ladder"]);
    assert_eq!(shown(&blocks), [("ladder".to_string(), vec!["level | one read | × above".to_string()])]);
}

#[test]
fn a_command_of_two_pages_is_typed_once() {
    let blocks = blocks_of("a\n```sh\nreadpath runs\n```\n\n```sh\nreadpath lio\nreadpath runs\n```\n");
    assert_eq!(commands(&blocks), ["readpath runs", "readpath lio"]);
}
