//! Rules about single files: names, line width, first lines, words.

use crate::tree::SourceFile;

/// Columns that a line may have.
pub(crate) const LINE_COLUMNS_MAX: usize = 120;

/// Homes of unsafe code, as beginnings of paths. The engine's are its frames and its column kernels; the last one calls
/// the one function of SQLite that no crate wraps: in `sys` it would bring SQLite to everything that stands above.
pub(crate) const UNSAFE_HOMES: [&str; 4] = [
    "crates/sys/",
    "crates/storage/src/pool/",
    "crates/storage/src/column/kernel",
    "crates/subjects/src/sqlite/page_gets.rs",
];

/// Names that say nothing about what a file holds.
const NAMES_WITHOUT_MEANING: [&str; 8] =
    ["util", "utils", "misc", "common", "helper", "helpers", "shared", "utilities"];

/// Endings that stand for a version of a file that version control should hold.
const ENDINGS_OF_LEFTOVERS: [&str; 5] = ["_old", "_new", "_backup", "_copy", "_2"];

/// Lines that are too wide in a file that people write by hand.
pub(crate) fn wide_lines(file: &SourceFile) -> Vec<String> {
    let by_hand =
        [".rs", ".md", ".toml", ".c", ".sh", "check", ".ci/run", ".ci/compile"].iter().any(|ending| file.is(ending));
    if !by_hand {
        return Vec::new();
    }
    let numbered = file.text.lines().enumerate();
    numbered
        .filter(|(_, line)| line.chars().count() > LINE_COLUMNS_MAX && !may_be_wide(file, line))
        .map(|(index, line)| format!("{}:{}: {} columns", file.path, index + 1, line.chars().count()))
        .collect()
}

/// A row of a Markdown table cannot be broken, and neither can an address.
fn may_be_wide(file: &SourceFile, line: &str) -> bool {
    (file.is(".md") && line.starts_with('|')) || line.split_whitespace().any(|word| word.contains("://"))
}

/// A Rust file whose first line does not say what the file is.
pub(crate) fn missing_opening(file: &SourceFile) -> Vec<String> {
    let opens = !file.is(".rs") || file.text.starts_with("//! ");
    if opens { Vec::new() } else { vec![format!("{}: the first line is not `//! ` and what the file is", file.path)] }
}

/// A file or folder whose name says nothing, or that is a leftover.
pub(crate) fn meaningless_name(file: &SourceFile) -> Vec<String> {
    let stems = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    stems
        .filter(|stem| {
            NAMES_WITHOUT_MEANING.contains(stem) || ENDINGS_OF_LEFTOVERS.iter().any(|ending| stem.ends_with(ending))
        })
        .map(|stem| format!("{}: `{stem}` does not say what it holds", file.path))
        .collect()
}

/// Words that mark unfinished work, and words that belong to a workplace rather than to the project.
///
/// Each is put together here from parts, so that this file passes its own rule.
pub(crate) fn forbidden_words() -> Vec<String> {
    let parts = [
        ("TO", "DO"),
        ("FIX", "ME"),
        ("XX", "X"),
        ("todo", "!"),
        ("unimplemented", "!"),
        ("dbg", "!"),
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("/tmp/", "wt/"),
        ("/tmp/", "target-"),
        ("pypi", ".org"),
        ("static.crates", ".io"),
        ("index.crates", ".io"),
        ("arti", "factory"),
        ("proxy.go", "lang.org"),
    ];
    parts.iter().map(|(start, end)| format!("{start}{end}")).collect()
}

/// Every place where a forbidden word stands by itself.
pub(crate) fn words(file: &SourceFile, forbidden: &[String]) -> Vec<String> {
    // The lock file is written by cargo and names where each crate came from.
    if file.is("Cargo.lock") {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for word in forbidden.iter().filter(|word| stands_alone(line, word)) {
            complaints.push(format!("{}:{}: `{word}`", file.path, index + 1));
        }
    }
    complaints
}

/// `unsafe` outside its homes.
pub(crate) fn unsafe_outside_its_homes(file: &SourceFile) -> Vec<String> {
    if !file.is(".rs") || UNSAFE_HOMES.iter().any(|home| file.path.starts_with(home)) {
        return Vec::new();
    }
    let keyword = format!("un{}", "safe");
    let numbered = file.text.lines().enumerate();
    numbered
        .filter(|(_, line)| stands_alone(&code_of(line), &keyword))
        .map(|(index, _)| format!("{}:{}: {keyword} code stands outside {UNSAFE_HOMES:?}", file.path, index + 1))
        .collect()
}

/// Threads of the product that are started where a refusal of the kernel is a panic.
pub(crate) fn threads_that_may_panic(file: &SourceFile) -> Vec<String> {
    let is_product = file.is(".rs") && file.path.contains("/src/") && !file.path.starts_with("crates/contest/");
    if !is_product || file.is("/tests.rs") {
        return Vec::new();
    }
    let product = file.text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    product
        .filter(|(_, line)| ["thread::spawn(", "scope.spawn("].iter().any(|call| code_of(line).contains(call)))
        .map(|(index, _)| format!("{}:{}: start threads with sys::threads or a Builder", file.path, index + 1))
        .collect()
}

/// A line without its comment and without what stands in quotes.
fn code_of(line: &str) -> String {
    let before_comment = line.split("//").next().unwrap_or(line);
    before_comment.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// Whether `word` occurs in `line` with no letter, digit or underscore directly on either side of its own letters.
fn stands_alone(line: &str, word: &str) -> bool {
    let belongs = |neighbour: Option<char>, edge: Option<char>| {
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        neighbour.is_some_and(is_name) && edge.is_some_and(is_name)
    };
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !belongs(before, word.chars().next()) && !belongs(after, word.chars().next_back())
    })
}

/// What experiments must not name, in lower case: a PostgreSQL server is the business of its subject.
const SERVERS_OWN: [&str; 6] = ["postgres", "server::", "effective_io_concurrency", "work_mem", "select ", "explain "];

/// Experiments that are about one database, and name what is its own.
const OF_ONE_DATABASE: [&str; 1] = ["calibrate"];

/// Sentences of other experiments that name a server all the same: a path, and what marks the line. `join` compares
/// what it measured with the constant by which users know such a price.
pub(crate) const SAID_OF_A_SERVER: [(&str, &str); 1] =
    [("crates/experiments/src/join/planner.rs", "PostgreSQL's random_page_cost, usually ")];

/// Lines of an experiment that name a server's own things; prose in comments and tests may.
pub(crate) fn servers_in_experiments(file: &SourceFile) -> Vec<String> {
    let is_of = |name: &str| file.path.contains(&format!("/{name}/")) || file.is(&format!("/{name}.rs"));
    let is_experiment = file.path.starts_with("crates/experiments/src/") && !OF_ONE_DATABASE.into_iter().any(is_of);
    if !is_experiment || file.is("/tests.rs") {
        return Vec::new();
    }
    let product = file.text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let named = |line: &str| {
        let line = line.to_lowercase();
        SERVERS_OWN.into_iter().find(|word| line.contains(word))
    };
    let is_allowed = |line: &str| SAID_OF_A_SERVER.iter().any(|(path, mark)| file.path == *path && line.contains(mark));
    product
        .filter(|(_, line)| !line.trim_start().starts_with("//") && !is_allowed(line))
        .filter_map(|(index, line)| Some(format!("{}:{}: names `{}`", file.path, index + 1, named(line)?)))
        .collect()
}
