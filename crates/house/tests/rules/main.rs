//! The rules of the house, each a test with a sentence for a name.
//!
//! A rule is a function from text to complaints. Each test first shows its rule a bad sample, to prove that the rule
//! can fail, and then the repository.

mod circles;
mod english;
mod findings;
mod length;
mod manifest;
mod pages;
mod test_command;
mod text;
mod tree;

use std::fs;

use tree::{SourceFile, Tree, repository_root};

/// The pages of the user guide.
fn chapters(tree: &Tree) -> impl Iterator<Item = &SourceFile> {
    tree.ending(".md").filter(|page| page.path.starts_with("docs/guide/src/"))
}

/// Fails with all complaints at once, one a line.
#[track_caller]
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Applies a rule to every file of the repository.
fn complaints_of_repository(rule: impl Fn(&SourceFile) -> Vec<String>) -> Vec<String> {
    Tree::of_repository().files.iter().flat_map(rule).collect()
}

/// The manifests of the crates, without the workspace's own.
fn crate_manifests(tree: &Tree) -> Vec<&SourceFile> {
    tree.ending("/Cargo.toml").collect()
}

#[test]
fn no_line_is_wider_than_a_screen() {
    let wide = "x".repeat(text::LINE_COLUMNS_MAX + 1);
    assert_eq!(text::wide_lines(&SourceFile::sample("a.rs", &wide)).len(), 1);
    assert_eq!(text::wide_lines(&SourceFile::sample("a.md", &format!("| {wide} |"))).len(), 0);
    assert_none(&complaints_of_repository(text::wide_lines));
}

#[test]
fn no_function_is_longer_than_a_screen() {
    let long = format!("    fn long(\n        a: u8,\n    ) -> u8 {{\n{}    }}\n", "        a;\n".repeat(67));
    let file = SourceFile::sample("a.rs", &long);
    assert_eq!(length::long_functions(&file, &[]).len(), 1);
    assert_none(&complaints_of_repository(|file| length::long_functions(file, length::LONGER_FOR_NOW)));
}

#[test]
fn an_exception_for_a_long_function_can_only_shrink() {
    let body = "    a;\n".repeat(80);
    let file = SourceFile::sample("a.rs", &format!("fn long() {{\n{body}}}\n"));
    assert!(length::long_functions(&file, &[("a.rs", "long", 82)]).is_empty());
    assert!(length::long_functions(&file, &[("a.rs", "long", 90)])[0].contains("turn its ratchet down"));
    assert!(length::long_functions(&file, &[("a.rs", "long", 81)])[0].contains("more than its 81"));
}

#[test]
fn functions_are_counted_from_their_first_line_to_their_closing_brace() {
    let text = "trait T {\n    fn declared(&self) -> u8;\n    fn one(&self) {}\n}\n\n\
                pub const fn three() {\n    a;\n}\n\npub(in crate::a) const fn within() {\n    a;\n}\n";
    let found: Vec<(String, usize)> =
        length::functions(text).into_iter().map(|function| (function.name, function.lines)).collect();
    assert_eq!(found, [("one".into(), 1), ("three".into(), 3), ("within".into(), 3)]);
}

#[test]
fn every_rust_file_opens_by_saying_what_it_is() {
    assert_eq!(text::missing_opening(&SourceFile::sample("a.rs", "use std::fs;\n")).len(), 1);
    assert_none(&complaints_of_repository(text::missing_opening));
}

#[test]
fn every_file_name_says_what_the_file_holds() {
    for path in ["crates/a/src/helpers.rs", "common/a.rs", "a/pool_old.rs"] {
        assert_eq!(text::meaningless_name(&SourceFile::sample(path, "")).len(), 1, "{path}");
    }
    assert_none(&complaints_of_repository(text::meaningless_name));
}

#[test]
fn no_text_holds_a_mark_of_unfinished_work_or_a_word_of_the_workplace() {
    let forbidden = text::forbidden_words();
    for word in &forbidden {
        let line = format!("a {word} b");
        assert_eq!(text::words(&SourceFile::sample("a.md", &line), std::slice::from_ref(word)).len(), 1, "{word}");
    }
    // A template of a temporary file's name is not a mark.
    assert!(text::words(&SourceFile::sample("a.md", &"X".repeat(6)), &forbidden).is_empty());
    assert_none(&complaints_of_repository(|file| text::words(file, &forbidden)));
}

#[test]
fn no_sentence_holds_a_word_that_reads_translated() {
    let phrases = english::refused_phrases();
    let complaints = |path, text: &str| english::refused_words(&SourceFile::sample(path, text), &phrases).len();
    for phrase in &phrases {
        let (capital, broken) = (format!("/// A b. {} c.", phrase.to_uppercase()), phrase.replace(' ', " \\\n    "));
        assert_eq!((complaints("a.rs", &capital), complaints("a.rs", &broken)), (1, 1), "{phrase}");
        assert_eq!(complaints("a.md", &format!("a {phrase}, b")), 1, "{phrase}");
        assert_eq!(complaints("results/a.md", phrase) + complaints("a.json", phrase), 0, "{phrase}");
    }
    // The system user, a quotation, longer words, and two sentences that only stand side by side.
    let user = &phrases[0];
    for text in [format!("`{user}` \"{user}\" :{user}:"), format!("> {user}"), format!("{user}2"), "so. Many".into()] {
        assert_eq!(complaints("a.md", &text), 0, "{text}");
    }
    assert_eq!(complaints("a.rs", &format!("// what is {user}'s")), 1);
    assert_none(&complaints_of_repository(|file| english::refused_words(file, &phrases)));
}

#[test]
fn unsafe_code_stands_only_in_its_homes() {
    let line = format!("let a = un{} {{ b() }};", "safe");
    assert_eq!(text::unsafe_outside_its_homes(&SourceFile::sample("crates/report/src/a.rs", &line)).len(), 1);
    assert!(text::unsafe_outside_its_homes(&SourceFile::sample("crates/sys/src/a.rs", &line)).is_empty());
    assert_none(&complaints_of_repository(text::unsafe_outside_its_homes));
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error_and_no_panic() {
    let sample = |path, line: &str| text::threads_that_may_panic(&SourceFile::sample(path, line)).len();
    for call in ["    scope.spawn(|| work());", "std::thread::spawn(work);"] {
        let of_a_test = format!("#[cfg(test)]\n{call}");
        assert_eq!((sample("crates/a/src/a.rs", call), sample("crates/a/src/a.rs", &of_a_test)), (1, 0));
    }
    assert_none(&complaints_of_repository(text::threads_that_may_panic));
}

#[test]
fn crates_import_only_what_stands_below_them() {
    let refused = [
        ("crates/measure/Cargo.toml", "[dependencies]\nsys.workspace = true\n"),
        ("crates/device/Cargo.toml", "[dev-dependencies]\nexperiments.workspace = true\n"),
        ("crates/device/Cargo.toml", "[dependencies.storage]\nworkspace = true\n"),
        ("crates/report/Cargo.toml", "[dependencies]\nsys.workspace = true\n"),
        ("crates/sys/Cargo.toml", "[target.'cfg(unix)'.dependencies]\ndevice = { path = \"../device\" }\n"),
        ("crates/unknown/Cargo.toml", ""),
    ];
    for (path, manifest) in refused {
        let file = SourceFile::sample(path, manifest);
        assert_eq!(manifest::imports_against_the_order(&file, &[]).len(), 1, "{path}: {manifest}");
    }
    let tree = Tree::of_repository();
    let manifests = crate_manifests(&tree);
    let rule = |file: &&SourceFile| manifest::imports_against_the_order(file, manifest::IMPORTS_OF_TESTS);
    assert_none(&manifests.iter().flat_map(rule).collect::<Vec<_>>());
}

#[test]
fn no_files_import_each_other() {
    let refused = [
        // Two files, one of them by a nested tree over several lines.
        vec![
            ("a.rs", "use std::fs;\nuse crate::{\n    c,\n    b::{self, B},\n};\n"),
            ("b.rs", "use super::a::A;\n"),
            ("c.rs", ""),
        ],
        // A file and its parent, also under another name.
        vec![("a.rs", "mod b;\npub use b::B;\n"), ("a/b.rs", "use super::A;\n")],
        vec![("a.rs", "mod b;\npub(crate) use self::b::B as C;\n"), ("a/b.rs", "use crate::a::A;\n")],
        // By way of a third, and of the root.
        vec![("lib.rs", "use a::A;\n"), ("a.rs", "use crate::b::B;\n"), ("b.rs", "use crate::C;\n")],
    ];
    for files in refused {
        assert_eq!(circles::circles(&Tree::sample(&files)).len(), 1, "{files:?}");
    }
    let accepted = [
        ("a.rs", "mod b;\n// use b::B;\nuse b::B;\n\n#[cfg(test)]\nmod tests {\n    use crate::d::D;\n}\n"),
        ("a/b.rs", "use crate::c::C;\n"),
        ("c.rs", "use std::a;\n"),
        ("d.rs", "use crate::a::A;\n"),
    ];
    assert_none(&circles::circles(&Tree::sample(&accepted)));
    assert_none(&circles::circles(&Tree::of_repository()));
}

#[test]
fn every_crate_describes_itself_and_takes_the_lints_of_the_workspace() {
    let bare = SourceFile::sample("crates/device/Cargo.toml", "[package]\nname = \"device\"\n");
    assert_eq!(manifest::missing_entries(&bare).len(), 2);
    let tree = Tree::of_repository();
    assert_none(&crate_manifests(&tree).into_iter().flat_map(manifest::missing_entries).collect::<Vec<_>>());
}

#[test]
fn every_dependency_has_its_reason_in_the_workspace_manifest() {
    let sample = "[workspace.dependencies]\nours = { path = \"crates/ours\" }\n# A reason.\na = \"1\"\nb = \"2\"\n";
    assert_eq!(manifest::dependencies_without_reason(sample).len(), 1);
    let tree = Tree::of_repository();
    let workspace = tree.file("Cargo.toml").expect("the workspace's manifest");
    assert_none(&manifest::dependencies_without_reason(&workspace.text));
}

#[test]
fn no_folder_is_empty() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("empty")).expect("an empty folder");
    assert_eq!(Tree::below(folder.path()).empty_folders, ["empty"]);
    assert_none(&Tree::of_repository().empty_folders);
}

#[test]
fn decisions_are_numbered_without_gaps() {
    assert_eq!(pages::numbering(&["0001-a.md", "0003-b.md"]).len(), 1);
    assert_eq!(pages::numbering(&["0001-a.md", "0001-b.md"]).len(), 1);
    let tree = Tree::of_repository();
    let names: Vec<&str> = tree.files.iter().filter_map(|file| file.path.strip_prefix("docs/decisions/")).collect();
    assert!(!names.is_empty(), "docs/decisions is gone");
    assert_none(&pages::numbering(&names));
}

#[test]
fn the_change_log_knows_the_version() {
    assert_eq!(pages::version_in_change_log("# Changes\n\n## 0.0.9\n", "0.1.0").len(), 1);
    let tree = Tree::of_repository();
    let workspace = tree.file("Cargo.toml").expect("the workspace's manifest");
    let version = manifest::workspace_version(&workspace.text).expect("a version in [workspace.package]");
    let change_log = tree.file("CHANGELOG.md").expect("a change log");
    assert_none(&pages::version_in_change_log(&change_log.text, version));
}

#[test]
fn the_commands_of_the_readme_and_the_guide_exist() {
    let tree = Tree::of_repository();
    for command in ["./chek", "cargo run --release -p contest -- nothing", "cargo run --release -- nothing"] {
        assert!(pages::missing_command(command, &tree).is_some(), "{command}");
    }
    let readme = tree.file("README.md").expect("a README");
    assert!(pages::commands(&readme.text).contains(&"./check"), "the README does not say how to run the tests");
    let commands: Vec<&str> = chapters(&tree).chain([readme]).flat_map(|page| pages::commands(&page.text)).collect();
    assert!(commands.iter().any(|command| command.contains("-p contest")), "the guide names no contest");
    let has_commands = tree.files.iter().filter(|file| file.path.starts_with("crates/readpath/src/")).count() > 1;
    if !has_commands {
        println!("skipped: the binary has no commands yet");
        return;
    }
    assert_none(&commands.iter().filter_map(|command| pages::missing_command(command, &tree)).collect::<Vec<_>>());
}

#[test]
fn the_summary_of_the_book_lists_every_page_for_users_once() {
    let sample = SourceFile::sample("docs/SUMMARY.md", "# Summary\n\n- [A](a.md)\n- [C](b/c.md)\n- [C](b/c.md)\n");
    assert_eq!(pages::unlisted(&sample, &["docs/a.md", "docs/b.md", "docs/b/c.md"]).len(), 2);
    let tree = Tree::of_repository();
    let summary = tree.file("docs/SUMMARY.md").expect("the summary");
    let beside = |page: &&SourceFile| page.path.strip_prefix("docs/").is_some_and(|name| !name.contains('/'));
    let reference = tree.ending(".md").filter(beside).filter(|page| page.path != summary.path);
    let paths: Vec<&str> = chapters(&tree).chain(reference).map(|page| page.path.as_str()).collect();
    assert!(paths.len() > 20, "{paths:?}");
    assert_none(&pages::unlisted(summary, &paths));
}

#[test]
fn no_link_of_the_book_is_dead_where_it_is_read() {
    let summary = SourceFile::sample("docs/SUMMARY.md", "- [A](guide/a.md)\n- [B](b.md)\n");
    let text = "[B](../b.md#top) [picture](images/a.svg) [here](#here) [C](../c.md) [job](../../jobs/a.toml)";
    assert_eq!(pages::links_out_of_the_book(&SourceFile::sample("docs/guide/a.md", text), &summary).len(), 2);
    let tree = Tree::of_repository();
    let summary = tree.file("docs/SUMMARY.md").expect("the summary");
    let elsewhere = SourceFile::sample("docs/SUMMARY.md", "- [A](guide/a.md)\n- [B](b.md)\n");
    assert!(pages::front_page_from_elsewhere(&elsewhere).is_some());
    assert_none(&pages::front_page_from_elsewhere(summary).into_iter().collect::<Vec<_>>());
    let chapters = pages::chapters(summary);
    let pages = chapters.iter().filter_map(|path| tree.file(path));
    assert_none(&pages.flat_map(|page| pages::links_out_of_the_book(page, summary)).collect::<Vec<_>>());
}

#[test]
fn no_link_of_the_debian_package_is_dead_where_it_is_read() {
    let sample = tree_of(&[
        ("README.md", "[a](docs/a.md) [jobs](jobs) [map](MAP.md)"),
        ("docs/a.md", "[b](deep/b.md) [top](#top) [map](../MAP.md)"),
        ("docs/deep/b.md", ""),
        ("jobs/a.toml", ""),
    ]);
    let of = |assets: &[(&str, &str)]| {
        let line = |(files, place): &(&str, &str)| {
            format!(r#"    ["../../{files}", "usr/share/doc/readpath/{place}/", "644"],"#)
        };
        let manifest: Vec<String> = assets.iter().map(line).collect();
        pages::links_out_of_the_package(&sample, &manifest.join("\n"), &["MAP.md"])
    };
    let (docs, deep) = (("docs/*.md", "docs"), ("docs/deep/*.md", "docs/deep"));
    assert_eq!(of(&[docs]).len(), 3, "{:?}", of(&[docs]));
    assert_eq!(of(&[docs, deep, ("jobs/*.toml", "jobs")]), ["docs/a.md: the link to ../MAP.md leads nowhere"]);
    assert_eq!(of(&[docs, deep, ("jobs/*.toml", "elsewhere")]).len(), 2);
    let tree = Tree::of_repository();
    let text = |path: &str| tree.file(path).map(|file| file.text.as_str()).unwrap_or_default();
    let list = text("packaging/deb").split_once("only_in_source=\"").and_then(|(_, rest)| rest.split('"').next());
    let only_in_source: Vec<&str> = list.expect("what only the source has").split(' ').collect();
    assert_none(&pages::links_out_of_the_package(&tree, text("crates/readpath/Cargo.toml"), &only_in_source));
}

#[test]
fn links_between_pages_lead_somewhere() {
    let sample = SourceFile::sample("docs/a.md", "[b](b.md) [web](https://example.org) [up](../README.md#top)");
    assert_eq!(pages::broken_links(&sample, |path| path == "README.md").len(), 1);
    let page = SourceFile::sample("a.md", "## A `b`, or c\n[here](#a-b-or-c) [there](#c) [b](b.md#c)");
    assert_eq!(pages::broken_anchors(&page, &tree_of(&[("b.md", "# C\n")])).len(), 1);
    let root = repository_root();
    let tree = Tree::of_repository();
    let rule = |page| {
        let links = pages::broken_links(page, |path| root.join(path).exists());
        [links, pages::broken_anchors(page, &tree)].concat()
    };
    assert_none(&tree.ending(".md").flat_map(rule).collect::<Vec<_>>());
}

#[test]
fn the_test_commands_can_be_executed() {
    use std::os::unix::fs::PermissionsExt;
    let is_executable = |path| {
        let metadata = fs::metadata(path).expect("a file");
        metadata.permissions().mode() & 0o111 != 0
    };
    assert!(!is_executable(repository_root().join("Cargo.toml")), "a text that is not run is no command");
    for command in ["check", ".ci/run", ".ci/compile"] {
        assert!(is_executable(repository_root().join(command)), "{command} is not executable");
    }
}

#[test]
fn experiments_leave_a_server_to_its_subject() {
    let complaints = |path, line: &str| text::servers_in_experiments(&SourceFile::sample(path, line)).len();
    for line in [
        "use server::Session;",
        "    session.set(\"work_mem\", \"64MB\")?;",
        "    PostgresPlace::parse(word)?;",
        "    \"as PostgreSQL does\"",
        "    session.run(\"select 1\")?;",
    ] {
        assert_eq!(complaints("crates/experiments/src/join.rs", line), 1, "{line}");
        assert_eq!(complaints("crates/experiments/src/calibrate.rs", line), 0, "{line}");
    }
    assert_eq!(complaints("crates/experiments/src/join.rs", "/// As PostgreSQL does."), 0);
    let tree = Tree::of_repository();
    for (path, mark) in text::SAID_OF_A_SERVER {
        assert_eq!((complaints(path, mark), complaints("crates/experiments/src/join.rs", mark)), (0, 1), "{mark}");
        assert!(tree.file(path).is_some_and(|file| file.text.contains(mark)), "{path}: take the exception away");
    }
    assert_none(&complaints_of_repository(text::servers_in_experiments));
}

#[test]
fn every_group_of_findings_is_read_on_both_sides_of_its_conditions() {
    let schema = ("crates/measure/src/schema/lio.rs", "findings! {\n");
    let test = ("crates/a/src/tests.rs", "    both_sides(&lio::findings::ALL, all());\n");
    assert_eq!(findings::unread_groups(&tree_of(&[schema]), &[]).len(), 1);
    assert_eq!(findings::unread_groups(&tree_of(&[schema, test]), &["lio"]).len(), 1);
    assert!(findings::unread_groups(&tree_of(&[schema, test]), &[]).is_empty());
    assert_none(&findings::unread_groups(&Tree::of_repository(), findings::NOT_READ_YET));
}

#[test]
fn no_finding_is_made_without_its_row() {
    let made = format!("journal.find(Finding::{}(\"id\", text));", "info");
    assert_eq!(findings::made_without_a_row(&tree_of(&[("crates/a/src/a.rs", &made)])).len(), 1);
    assert_none(&findings::made_without_a_row(&Tree::of_repository()));
}

/// Files that exist only in a rule's sample.
fn tree_of(files: &[(&str, &str)]) -> Tree {
    let files = files.iter().map(|(path, text)| SourceFile::sample(path, text)).collect();
    Tree { files, empty_folders: Vec::new() }
}
