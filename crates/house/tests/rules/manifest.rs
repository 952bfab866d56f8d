//! Rules about Cargo.toml files: who may import whom, and what each manifest has to say.

use crate::tree::SourceFile;

/// The crates by height: a crate may import only what stands lower. Crates of one height do not see each other.
const HEIGHTS: [(&str, u8); 21] = [
    ("readpath", 6),
    ("contest", 6),
    ("experiments", 5),
    ("export", 4),
    ("report", 4),
    ("live", 4),
    ("top", 4),
    ("profile", 3),
    ("subjects", 4),
    ("storage", 3),
    ("device", 2),
    ("server", 2),
    ("recording", 2),
    ("sys", 1),
    ("dataset", 1),
    ("measure", 0),
    ("trial", 0),
    ("disks", 0),
    ("sides", 1),
    // The rules look at files, not at code: nothing of ours is imported here, and no crate imports the rules.
    ("house", 0),
    ("fuzz", 6),
];

/// Crates that see less than what stands lower: a report is rendered from run documents alone.
const SEES_ONLY: [(&str, &[&str]); 2] = [("report", &["measure"]), ("house", &[])];

/// Imports that only tests make and that the order does not allow: (crate, imported crate).
pub(crate) const IMPORTS_OF_TESTS: &[(&str, &str)] = &[("report", "sides")];

/// Crates whose lints are not the workspace's: in `sys` unsafe code may stand, and in a few files of `storage`
/// and `subjects`.
const OWN_LINTS: [&str; 3] = ["sys", "storage", "subjects"];

/// One line of a dependency section.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The crate's name.
    pub(crate) name: String,
    /// Whether only tests, examples and benches take it.
    pub(crate) only_tests: bool,
}

/// The dependencies that a manifest names, in all its sections.
pub(crate) fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
            if let Some((of, dependency)) = name.rsplit_once("dependencies.") {
                found.push(Dependency { name: dependency.into(), only_tests: of.ends_with("dev-") });
            }
        } else if section.ends_with("dependencies") {
            let name: String = line.chars().take_while(|letter| !" .=#".contains(*letter)).collect();
            if !name.is_empty() {
                found.push(Dependency { name, only_tests: section.ends_with("dev-dependencies") });
            }
        }
    }
    found
}

/// Imports of ours that point the wrong way.
pub(crate) fn imports_against_the_order(file: &SourceFile, excepted: &[(&str, &str)]) -> Vec<String> {
    let importer = crate_name(&file.path);
    let Some(height) = height(importer) else {
        return vec![format!("{}: `{importer}` has no place in the order of crates", file.path)];
    };
    let seen = SEES_ONLY.iter().find(|(name, _)| *name == importer).map(|(_, seen)| *seen);
    dependencies(&file.text)
        .iter()
        .filter(|imported| !(imported.only_tests && excepted.contains(&(importer, imported.name.as_str()))))
        .filter(|imported| match (self::height(&imported.name), seen) {
            (None, _) => false,
            (Some(_), Some(seen)) => !seen.contains(&imported.name.as_str()),
            (Some(lower), None) => lower >= height || imported.name == "house",
        })
        .map(|imported| format!("{}: `{importer}` must not import `{}`", file.path, imported.name))
        .collect()
}

/// What each crate's manifest must hold: a description and the workspace's lints.
pub(crate) fn missing_entries(file: &SourceFile) -> Vec<String> {
    let name = crate_name(&file.path);
    let mut complaints = Vec::new();
    if !file.text.lines().any(|line| line.starts_with("description = \"")) {
        complaints.push(format!("{}: no description", file.path));
    }
    if !file.text.contains("\n[lints]\nworkspace = true") && !OWN_LINTS.contains(&name) {
        complaints.push(format!("{}: no `[lints] workspace = true`", file.path));
    }
    complaints
}

/// Workspace dependencies without a comment directly above that gives the reason. Our own crates need none.
pub(crate) fn dependencies_without_reason(manifest: &str) -> Vec<String> {
    let mut in_section = false;
    let mut above = "";
    let mut complaints = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_section = line == "[workspace.dependencies]";
        } else if in_section && line.contains('=') && !line.starts_with('#') {
            let is_ours = line.contains("path = \"crates/");
            if !is_ours && !above.starts_with('#') {
                complaints.push(format!("Cargo.toml: no reason above `{line}`"));
            }
        }
        above = line;
    }
    complaints
}

/// The workspace's version.
pub(crate) fn workspace_version(manifest: &str) -> Option<&str> {
    let section = manifest.split("[workspace.package]").nth(1)?;
    let line = section.lines().find(|line| line.starts_with("version = "))?;
    line.split('"').nth(1)
}

/// The crate that a manifest at `crates/NAME/Cargo.toml` or `NAME/Cargo.toml` describes.
fn crate_name(path: &str) -> &str {
    path.trim_end_matches("/Cargo.toml").rsplit('/').next().unwrap_or(path)
}

fn height(name: &str) -> Option<u8> {
    HEIGHTS.iter().find(|(crate_name, _)| *crate_name == name).map(|(_, height)| *height)
}
