//! What the pages tell a reader to type: every command ends well, leaves nothing but in the reader's home, and prints a
//! page of the shape that is shown below it.

mod exceptions;
mod page;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::measuring::assert_every_rung_is_named;
use crate::postgres_versions;
use crate::user::{User, complaint};
use exceptions::{EXCEPTIONS, Needs};
use page::{blocks, commands, headings, root, shown};
use trial::Trial;

/// The trace that an example reads.
const TRACE: &str = "crates/readpath/tests/traces/shop_ora_4711.trc";

/// A command of a page.
struct Example {
    /// As it stands there.
    typed: String,
    /// What is appended to it here.
    more: &'static str,
    needs: Needs,
}

impl Example {
    fn of(typed: &str) -> Example {
        let exception = EXCEPTIONS.iter().find(|exception| typed.starts_with(exception.example));
        let (more, needs) = exception.map_or(("", Needs::Nothing), |exception| (exception.more, exception.needs));
        Example { typed: typed.into(), more, needs }
    }

    /// The words behind the name of the program. What cargo starts or installs is the program that was built.
    fn words(&self) -> String {
        let installed = self.typed.strip_prefix("cargo install --locked --path crates/readpath").map(|_| "--version");
        let program = ["cargo run --release --", "readpath"];
        let words = installed.or_else(|| program.iter().find_map(|program| self.typed.strip_prefix(program)));
        let words = words.unwrap_or_else(|| panic!("`{}` does not call the program", self.typed));
        // What stands behind two dashes is another command's.
        let words = match words.split_once(" -- ") {
            Some((words, command)) => format!("{words} {} -- {command}", self.more),
            None => format!("{words} {}", self.more),
        };
        // A shell takes quotes away; what stands in them here has no blanks.
        words.replace('\'', "")
    }

    /// Whether it prints the page of a command that is shown: the one for this machine alone.
    fn shows(&self, command: &str) -> bool {
        let words = self.words();
        words.split_whitespace().next() == Some(command) && !words.contains("--on")
    }
}

/// Those that need the same, in the order of the pages.
fn examples(is_wanted: impl Fn(Needs) -> bool) -> Vec<Example> {
    let examples = commands(&blocks()).iter().map(|typed| Example::of(typed)).collect::<Vec<_>>();
    examples.into_iter().filter(|example| is_wanted(example.needs)).collect()
}

/// A reader with what the examples read in the folder where they are typed.
struct Reader {
    user: User,
    folder: PathBuf,
}

impl Reader {
    fn new() -> Reader {
        let user = User::new();
        let folder = user.home.path().join("work");
        fs::create_dir_all(folder.join(Path::new(TRACE).parent().unwrap())).unwrap();
        for name in [TRACE, "monday.trc", "tuesday.trc"] {
            fs::copy(root().join(TRACE), folder.join(name)).unwrap();
        }
        fs::create_dir(folder.join("jobs")).unwrap();
        fs::copy(root().join("jobs/queue-depth.toml"), folder.join("jobs/queue-depth.toml")).unwrap();
        let numbers: String = (0..20_000).map(|number| format!("{number}\n")).collect();
        fs::write(folder.join("numbers.txt"), numbers).unwrap();
        Reader { user, folder }
    }

    /// Types an example with these variables, in the order of the page: later ones read what earlier ones kept.
    fn types(&self, example: &Example, variables: &[(&str, &Path)]) -> Output {
        let mut command = self.user.command(&example.words());
        command.envs(variables.iter().copied()).current_dir(&self.folder).output().unwrap()
    }

    /// The same, where it must end well.
    fn tries(&self, example: &Example, variables: &[(&str, &Path)]) {
        let output = self.types(example, variables);
        self.check(example, &output);
    }

    fn check(&self, example: &Example, output: &Output) {
        let Example { typed, .. } = example;
        assert_eq!(output.status.code(), Some(0), "`{typed}`: {}", complaint(output));
        let left = fs::read_dir(self.user.temporary.path()).unwrap().count();
        assert_eq!(left, 0, "`{typed}` leaves temporary files");
        let printed = headings_of(output);
        for (_, expected) in shown(&blocks()).into_iter().filter(|(command, _)| example.shows(command)) {
            for heading in expected {
                let is_printed = printed.contains(&heading) || self.has_when_wide(&heading);
                assert!(is_printed, "`{typed}` no longer prints {heading}: {printed:#?}");
            }
        }
    }

    /// Whether a wide page of the last run has a heading. The ranges of a noisy machine leave a page of the usual width
    /// no room for bars, and their column has no heading then.
    fn has_when_wide(&self, heading: &str) -> bool {
        let output = self.user.command("show last").env("COLUMNS", "120").output().unwrap();
        headings_of(&output).iter().any(|one| one == heading)
    }
}

/// The lines of a page that name columns.
fn headings_of(output: &Output) -> Vec<String> {
    headings(&String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>())
}

#[test]
fn every_example_ends_well_and_shows_what_its_page_shows() {
    let reader = Reader::new();
    let examples = examples(|needs| needs == Needs::Nothing);
    assert!(examples.len() > 12, "{}", examples.len());
    let mut ladders = 0;
    for example in &examples {
        reader.tries(example, &[]);
        if example.shows("ladder") {
            assert_every_rung_is_named(&reader.user);
            ladders += 1;
        }
    }
    assert!(ladders > 0, "no page has a ladder");
}

#[test]
fn every_example_on_a_given_server_ends_well() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE ROLE me LOGIN PASSWORD 'mine'");
    trial.run("CREATE DATABASE shop OWNER me");
    let address = trial.url_by_password("me", "mine");
    let port = address.rsplit(':').next().unwrap().split('/').next().unwrap();
    let variables = [("PGPORT", Path::new(port)), ("PGPASSWORD", Path::new("mine"))];
    let reader = Reader::new();
    let examples = examples(|needs| needs == Needs::Server);
    assert!(!examples.is_empty());
    examples.iter().for_each(|example| reader.tries(example, &variables));
}

#[test]
fn every_example_on_a_fetched_server_ends_well() {
    let (reader, cache) = (Reader::new(), postgres_versions::cache());
    for example in examples(|needs| needs == Needs::Fetched) {
        let output = reader.types(&example, &[("XDG_CACHE_HOME", &cache)]);
        if complaint(&output).contains("could not be fetched") {
            println!("skipped: PostgreSQL 18 is not in the cache and cannot be fetched");
            return;
        }
        reader.check(&example, &output);
    }
}

#[test]
fn every_example_that_counts_ends_well_and_shows_what_its_page_shows() {
    if !Path::new("/usr/bin/valgrind").exists() {
        println!("skipped: valgrind is not installed");
        return;
    }
    let reader = Reader::new();
    let examples = examples(|needs| needs == Needs::Valgrind);
    assert!(examples.len() > 1);
    examples.iter().for_each(|example| reader.tries(example, &[]));
}

#[test]
fn examples_for_what_no_test_has_are_skipped_with_the_reason() {
    for Example { typed, needs, .. } in examples(|needs| matches!(needs, Needs::Elsewhere(_))) {
        let Needs::Elsewhere(reason) = needs else { continue };
        println!("skipped: `{typed}`: {reason}");
    }
}

#[test]
fn every_exception_is_of_an_example_and_every_page_that_is_shown_has_its_command() {
    let examples = examples(|_| true);
    let is_stale = |example: &str| !examples.iter().any(|one| one.typed.starts_with(example));
    let stale: Vec<&str> = EXCEPTIONS.iter().map(|one| one.example).filter(|example| is_stale(example)).collect();
    assert!(stale.is_empty(), "no page has {stale:?}");
    let tried = examples.iter().filter(|example| !matches!(example.needs, Needs::Elsewhere(_)));
    let tried: Vec<&Example> = tried.collect();
    for (command, headings) in shown(&blocks()) {
        assert!(!headings.is_empty(), "the page of {command} has no heading");
        assert!(tried.iter().any(|example| example.shows(&command)), "no example prints the page of {command}");
    }
}
