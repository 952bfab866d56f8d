//! Rules about the pages for people: decisions, change log, README, guide, links.

use crate::tree::{SourceFile, Tree};

/// Decisions are numbered from 1 without a gap or a repetition. Takes the file names in `docs/decisions`.
pub(crate) fn numbering(names: &[&str]) -> Vec<String> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted
        .iter()
        .enumerate()
        .filter(|(index, name)| !name.starts_with(&format!("{:04}-", index + 1)))
        .map(|(index, name)| format!("docs/decisions/{name}: number {:04} was expected here", index + 1))
        .collect()
}

/// A change log without a heading for the version.
pub(crate) fn version_in_change_log(change_log: &str, version: &str) -> Vec<String> {
    let is_there = change_log.lines().any(|line| line.starts_with('#') && line.contains(version));
    if is_there { Vec::new() } else { vec![format!("CHANGELOG.md: no heading for version {version}")] }
}

/// The command lines in a page's fenced blocks.
pub(crate) fn commands(page: &str) -> Vec<&str> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced.flat_map(|block| block.lines().skip(1)).map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// What is wrong with one command of a page: a program or a subcommand that does not exist.
pub(crate) fn missing_command(command: &str, tree: &Tree) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let after = |flag: &str| words.iter().position(|word| *word == flag).and_then(|at| words.get(at + 1)).copied();
    let program = words.first()?;
    if let Some(path) = program.strip_prefix("./") {
        return tree.file(path).is_none().then(|| format!("`{command}`: there is no {path}"));
    }
    if command.starts_with("cargo run") {
        let subcommand = after("--")?;
        let name = subcommand.replace('-', "_");
        let exists = match after("-p") {
            Some("contest") => tree.file(&format!("crates/contest/src/{name}/mod.rs")).is_some(),
            _ => tree
                .files
                .iter()
                .any(|one| one.path.starts_with("crates/readpath/src/") && one.is(&format!("/{name}.rs"))),
        };
        return (!exists).then(|| format!("`{command}`: there is no command {subcommand}"));
    }
    None
}

/// Links of a Markdown page to files that are not there.
pub(crate) fn broken_links(page: &SourceFile, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with('#') && !target.contains(char::is_whitespace))
        .map(|target| target.split('#').next().unwrap_or(target))
        .filter(|target| !exists(&resolve(folder, target)))
        .map(|target| format!("{}: the link to {target} leads nowhere", page.path))
        .collect()
}

/// Chapters of a book that its summary does not list exactly once. Takes the summary and the names of the files beside
/// it.
pub(crate) fn unlisted_chapters(summary: &str, names: &[&str]) -> Vec<String> {
    let times_listed = |name: &str| summary.matches(format!("]({name})").as_str()).count();
    let counted = names.iter().map(|name| (*name, times_listed(name)));
    counted
        .filter(|(name, times)| *name != "SUMMARY.md" && *times != 1)
        .map(|(name, times)| format!("docs/guide/src/SUMMARY.md: {name} is listed {times} times"))
        .collect()
}

/// A path from the root, given a link and the folder of the page that holds it.
fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}
