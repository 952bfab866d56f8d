//! The rule about circles: no files of a crate import each other, straight or by way of others, by their `use` lines or
//! by paths in their code, such as `crate::compare::run(…)`.
//!
//! A file that imports from its parent, which imports from it, is such a circle: what both need stands in a file of its
//! own. Inline modules of tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Tree;

/// A module by its path from the crate's root, which is empty.
type Module = Vec<String>;

/// The files of each crate that import each other, a sentence for each circle.
pub(crate) fn circles(tree: &Tree) -> Vec<String> {
    let folders: BTreeSet<&str> = tree.ending(".rs").filter_map(|file| source_folder(&file.path)).collect();
    folders.into_iter().flat_map(|folder| circles_below(tree, folder)).collect()
}

/// `crates/NAME/src/` of a path that begins so.
fn source_folder(path: &str) -> Option<&str> {
    let end = path.find("/src/")? + "/src/".len();
    path.starts_with("crates/").then(|| &path[..end])
}

fn circles_below(tree: &Tree, folder: &str) -> Vec<String> {
    let files = tree.ending(".rs").filter_map(|file| Some((module(file.path.strip_prefix(folder)?), &file.text)));
    let files: BTreeMap<Module, &String> = files.collect();
    let imports: BTreeMap<&Module, BTreeSet<Module>> =
        files.iter().map(|(module, text)| (module, imports(module, text, &files))).collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (*module, reachable(module, &imports))).collect();
    let is_together = |one: &Module, other: &Module| reached[one].contains(other) && reached[other].contains(one);
    let mut complaints = Vec::new();
    let mut told: BTreeSet<&Module> = BTreeSet::new();
    for module in files.keys().filter(|module| reached[*module].contains(*module)) {
        if told.contains(module) {
            continue;
        }
        let circle: Vec<&Module> = files.keys().filter(|other| is_together(module, other)).collect();
        let lines = circle.iter().map(|member| {
            let inside = imports[*member].iter().filter(|to| circle.contains(to)).map(name).collect::<Vec<_>>();
            format!("    {} imports {}", name(member), inside.join(", "))
        });
        let lines: Vec<String> = lines.collect();
        complaints.push(format!("{folder}: {} files import each other:\n{}", circle.len(), lines.join("\n")));
        told.extend(circle);
    }
    complaints
}

/// The module of a file: `a/b.rs` is `a::b`.
fn module(path: &str) -> Module {
    let mut parts: Module = path.trim_end_matches(".rs").split('/').map(String::from).collect();
    if parts.last().is_some_and(|last| ["lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

fn name(module: &Module) -> String {
    if module.is_empty() { "the root".into() } else { module.join("::") }
}

/// All that is imported by the files that a file imports, and so on.
fn reachable<'a>(from: &Module, imports: &'a BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Module> = imports[from].iter().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(&imports[module]);
        }
    }
    found
}

/// The other files of the crate from which a file imports.
fn imports<T>(module: &Module, text: &str, files: &BTreeMap<Module, T>) -> BTreeSet<Module> {
    let (declared, code) = declarations(text);
    let paths = declared.iter().flat_map(|tree| expanded(tree)).chain(paths_in(&code));
    let targets = paths.filter_map(|path| target(module, &path, files));
    targets.filter(|target| target != module).collect()
}

/// What stands between `use` and `;`, and the other code, with comments and the inline modules of tests left out.
fn declarations(text: &str) -> (Vec<String>, String) {
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut kept = String::new();
    let mut is_of_tests = false;
    while let Some(line) = lines.next() {
        if is_of_tests && line.starts_with("mod ") && line.ends_with('{') {
            lines.find(|line| line.starts_with('}'));
            continue;
        }
        is_of_tests = line.starts_with("#[") && (is_of_tests || line.contains("cfg(") && line.contains("test"));
        kept += line;
        kept += "\n";
    }
    let (mut declared, mut open, mut code) = (Vec::new(), String::new(), String::new());
    for line in kept.lines() {
        if open.is_empty() && !is_use(line.trim()) {
            code += line;
            code += "\n";
            continue;
        }
        open += line.trim();
        if open.ends_with(';') {
            declared.extend(tree_of(&std::mem::take(&mut open)));
        }
    }
    (declared, code)
}

/// The paths in code that begin in its own crate. Who may see an item, as in `pub(in crate::column)`, is no import, and
/// neither is a path in a macro, which begins with `$crate`.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let is_in_path = |letter: char| letter.is_alphanumeric() || "_:$".contains(letter);
    let words: Vec<&str> = code.split(|letter| !is_in_path(letter)).filter(|word| !word.is_empty()).collect();
    let pairs = [""].iter().chain(&words).zip(&words);
    let is_path = |(before, word): &(&&str, &&str)| {
        **before != "in" && ["crate::", "self::", "super::"].iter().any(|start| word.starts_with(start))
    };
    let parts = |word: &str| word.split("::").filter(|part| !part.is_empty()).map(String::from).collect();
    pairs.filter(is_path).map(|(_, word)| parts(word)).collect()
}

fn is_use(line: &str) -> bool {
    line.starts_with("use ") || line.starts_with("pub") && line.contains(" use ")
}

/// `a::{b, c}` of `pub(crate) use a::{b, c};`.
fn tree_of(statement: &str) -> Option<String> {
    let at = statement.find("use ")? + "use ".len();
    Some(statement[at..].trim_end_matches(';').into())
}

/// The paths of a tree: `a::{b, c::{d, e}}` is `a::b`, `a::c::d` and `a::c::e`.
fn expanded(tree: &str) -> Vec<Vec<String>> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split("::").filter_map(|part| part.split_whitespace().next());
        words.map(String::from).collect()
    };
    let Some((head, rest)) = tree.split_once('{') else { return vec![words(tree)] };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let head = words(head);
    let with_head = |path: Vec<String>| head.iter().cloned().chain(path).collect();
    parts(inside).into_iter().flat_map(expanded).map(with_head).collect()
}

/// The text between commas that stand in no braces.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The file of the crate that a path leads to; `None` where it leads out of the crate.
fn target<T>(module: &Module, path: &[String], files: &BTreeMap<Module, T>) -> Option<Module> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let child: Module = module.iter().chain(path.first()).cloned().collect();
    let mut target: Module = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "self" => module.iter().chain(&path[1..]).cloned().collect(),
        "super" => module[..module.len().saturating_sub(supers)].iter().chain(&path[supers..]).cloned().collect(),
        _ if files.contains_key(&child) => module.iter().chain(path).cloned().collect(),
        _ => return None,
    };
    while !target.is_empty() && !files.contains_key(&target) {
        target.pop();
    }
    files.contains_key(&target).then_some(target)
}

#[test]
fn a_path_in_the_code_is_an_import_too() {
    let code = "use crate::a;\npub(in crate::b) fn run() {\n    crate::c::run(super::d::D);\n    $crate::e!();\n}\n";
    let (declared, code) = declarations(code);
    assert_eq!(declared, ["crate::a"]);
    assert_eq!(paths_in(&code), [vec!["crate", "c", "run"], vec!["super", "d", "D"]]);
}
