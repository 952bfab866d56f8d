//! The repository's files as the rules see them: path and text, without build outputs.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are not ours to judge: version control and build outputs.
const LEFT_OUT: [&str; 2] = [".git", "target"];

/// Larger files are data, not text that a person wrote.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// One file of the repository.
pub(crate) struct SourceFile {
    /// Path from the repository's root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

impl SourceFile {
    /// A file that exists only in a rule's bad sample.
    pub(crate) fn sample(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    /// Whether the path ends with this.
    pub(crate) fn is(&self, ending: &str) -> bool {
        self.path.ends_with(ending)
    }
}

/// Everything below one root.
pub(crate) struct Tree {
    /// Files that are text, sorted by path.
    pub(crate) files: Vec<SourceFile>,
    /// Folders with nothing in them.
    pub(crate) empty_folders: Vec<String>,
}

impl Tree {
    /// The repository that this crate stands in.
    pub(crate) fn of_repository() -> Tree {
        Tree::below(&repository_root())
    }

    /// The tree below `root`.
    pub(crate) fn below(root: &Path) -> Tree {
        let mut tree = Tree { files: Vec::new(), empty_folders: Vec::new() };
        tree.walk(root, root);
        tree.files.sort_by(|one, other| one.path.cmp(&other.path));
        tree
    }

    /// A crate that exists only in a rule's sample: paths below its `src`, and texts.
    pub(crate) fn sample(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| SourceFile::sample(&format!("crates/sample/src/{path}"), text);
        Tree { files: files.iter().map(file).collect(), empty_folders: Vec::new() }
    }

    /// The files whose path ends with this.
    pub(crate) fn ending(&self, ending: &str) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(move |file| file.path.ends_with(ending))
    }

    /// The file at exactly this path.
    pub(crate) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    fn walk(&mut self, root: &Path, folder: &Path) {
        let entries: Vec<PathBuf> =
            fs::read_dir(folder).expect("a readable folder").map(|entry| entry.expect("an entry").path()).collect();
        if entries.is_empty() {
            self.empty_folders.push(from_root(root, folder));
        }
        for path in entries {
            let kind = fs::symlink_metadata(&path).expect("a file's metadata");
            let is_left_out = LEFT_OUT.iter().any(|name| path.ends_with(name));
            if kind.is_dir() && !is_left_out {
                self.walk(root, &path);
            } else if kind.is_file() && !is_left_out && kind.len() <= TEXT_BYTES_MAX {
                // A file that is not UTF-8 is not text; the rules have nothing to say about it.
                if let Ok(text) = fs::read_to_string(&path) {
                    self.files.push(SourceFile { path: from_root(root, &path), text });
                }
            }
        }
    }
}

/// The folder of the workspace's Cargo.toml.
pub(crate) fn repository_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/house stands two folders below the root").to_path_buf()
}

fn from_root(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).expect("a path below the root").to_string_lossy().replace('\\', "/")
}
