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
            Some("contest") => tree.file(&format!("crates/contest/src/{name}.rs")).is_some(),
            _ => tree
                .files
                .iter()
                .any(|one| one.path.starts_with("crates/readpath/src/") && one.is(&format!("/{name}.rs"))),
        };
        return (!exists).then(|| format!("`{command}`: there is no command {subcommand}"));
    }
    None
}

/// The targets of a Markdown page's links, but for those on the web.
fn targets(page: &SourceFile) -> impl Iterator<Item = &str> {
    let targets = page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
}

/// The folder of a page.
fn folder(page: &SourceFile) -> &str {
    page.path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Links of a Markdown page to files that are not there.
pub(crate) fn broken_links(page: &SourceFile, exists: impl Fn(&str) -> bool) -> Vec<String> {
    targets(page)
        .filter(|target| !target.starts_with('#'))
        .map(|target| target.split('#').next().unwrap_or(target))
        .filter(|target| !exists(&resolve(folder(page), target)))
        .map(|target| format!("{}: the link to {target} leads nowhere", page.path))
        .collect()
}

/// Links of a Markdown page to headings that the page they lead to does not have.
pub(crate) fn broken_anchors(page: &SourceFile, tree: &Tree) -> Vec<String> {
    let is_broken = |target: &&str| {
        let Some((path, anchor)) = target.split_once('#') else { return false };
        let path = if path.is_empty() { page.path.clone() } else { resolve(folder(page), path) };
        let text = if path == page.path { Some(&page.text) } else { tree.file(&path).map(|file| &file.text) };
        let headings = text.into_iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix('#'));
        !headings.map(anchor_of).any(|known| known == anchor)
    };
    let broken = targets(page).filter(is_broken);
    broken.map(|target| format!("{}: the link to {target} leads to no heading", page.path)).collect()
}

/// What a link to a heading ends with: its words in small letters, with dashes between them.
fn anchor_of(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|letter| letter.is_alphanumeric() || " _-".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The pages that a summary makes chapters of, by their paths from the root; the book holds what stands in `docs/`.
pub(crate) fn chapters(summary: &SourceFile) -> Vec<String> {
    targets(summary).map(|target| resolve(folder(summary), target)).collect()
}

/// Pages that the summary does not list exactly once.
pub(crate) fn unlisted(summary: &SourceFile, pages: &[&str]) -> Vec<String> {
    let chapters = chapters(summary);
    let times_listed = |page: &str| chapters.iter().filter(|chapter| *chapter == page).count();
    let counted = pages.iter().map(|page| (*page, times_listed(page)));
    let wrong = counted.filter(|(_, times)| *times != 1);
    wrong.map(|(page, times)| format!("{}: {page} is listed {times} times", summary.path)).collect()
}

/// A first chapter that does not stand beside the summary: the book shows it as its front page too, in the summary's
/// folder, where links of a chapter from elsewhere lead nowhere.
pub(crate) fn front_page_from_elsewhere(summary: &SourceFile) -> Option<String> {
    let first = chapters(summary).into_iter().next()?;
    let is_beside = first.rsplit_once('/').map_or("", |(folder, _)| folder) == folder(summary);
    (!is_beside).then(|| format!("{}: the first chapter, {first}, stands in another folder", summary.path))
}

/// Links of a chapter that are dead in the built book: to a page that is no chapter, or to a file that the book does
/// not hold.
pub(crate) fn links_out_of_the_book(chapter: &SourceFile, summary: &SourceFile) -> Vec<String> {
    let (book, chapters) = (folder(summary), chapters(summary));
    let is_dead = |target: &&str| {
        let path = resolve(folder(chapter), target.split('#').next().unwrap_or(target));
        let is_held =
            if path.ends_with(".md") { chapters.contains(&path) } else { path.starts_with(&format!("{book}/")) };
        !target.starts_with('#') && !is_held
    };
    let dead = targets(chapter).filter(is_dead);
    dead.map(|target| format!("{}: the link to {target} leads out of the book", chapter.path)).collect()
}

/// Links of the pages in the Debian package to what the package lacks. `manifest` lists what it has, and the README in
/// it goes without links to `only_in_source`.
pub(crate) fn links_out_of_the_package(tree: &Tree, manifest: &str, only_in_source: &[&str]) -> Vec<String> {
    let assets: Vec<String> = manifest.lines().filter_map(packaged).collect();
    let is_packaged = |path: &str| path == "README.md" || assets.iter().any(|asset| is_of_asset(path, asset));
    let files: Vec<&SourceFile> = tree.files.iter().filter(|file| is_packaged(&file.path)).collect();
    let holds = |path: &str| files.iter().any(|file| file.path == path || file.path.starts_with(&format!("{path}/")));
    let pages = files.iter().filter(|file| file.is(".md"));
    let dead = |page: &&SourceFile| {
        let is_left_out = |path: &str| page.path == "README.md" && only_in_source.contains(&path);
        broken_links(page, |path| holds(path) || is_left_out(path))
    };
    pages.flat_map(dead).collect()
}

/// The files of a line of assets, from the root, that lie in the package's folder as they do in the repository.
fn packaged(line: &str) -> Option<String> {
    let mut fields = line.split('"').skip(1).step_by(2);
    let files = fields.next()?.strip_prefix("../../")?;
    let place = fields.next()?.strip_prefix("usr/share/doc/readpath/")?;
    let (folder, _) = files.rsplit_once('/')?;
    (place.trim_end_matches('/') == folder).then(|| files.into())
}

/// Whether a path is one of an asset's, in which a `*` may stand for the beginning of a file's name.
fn is_of_asset(path: &str, asset: &str) -> bool {
    let Some((folder, ending)) = asset.split_once('*') else { return path == asset };
    path.strip_prefix(folder).is_some_and(|name| !name.contains('/') && name.ends_with(ending))
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
