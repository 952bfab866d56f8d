//! Checks the names by which pages look up metrics, parameters, tables and findings against the schema. A name that is
//! renamed there would leave a gap on the page.
//!
//! Where pages read through the constants of the schema, the compiler checks this. Here the sources are read for the
//! names that stand there as text. A name that only runs of earlier versions have is not in the schema: where a page
//! has to read one, add a list to the schema, with the last version that wrote it, and read the name from there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use measure::schema::{EXPERIMENTS, Experiment, FindingSpec, Stems, calibrate, every, profile};

/// What a call looks up by the text in its brackets.
#[derive(Clone, Copy)]
enum Kind {
    Metric,
    Parameter,
    /// A metric, or a parameter.
    Either,
    /// Cases of one kind: the rows of a table of a profile, or one part of a calibration.
    Rows,
    /// What stands at the `*` of a family of metrics.
    Stem,
}

/// The calls that look something up by a name, by the folders in which they do.
const LOOKUPS: [(&str, Kind, &[&str]); 10] = [
    ("", Kind::Metric, &["metric"]),
    ("", Kind::Parameter, &["cell", "cases_where", "parameters.get"]),
    ("body/calibrate", Kind::Metric, &["beside", "bounded", "bytes", "count", "interval", "median", "number", "value"]),
    ("body/calibrate", Kind::Rows, &["part"]),
    ("body/profile", Kind::Metric, &["line"]),
    ("body/profile", Kind::Parameter, &["integer", "number", "text", "truth"]),
    ("body/profile", Kind::Either, &["edge", "has", "nanos", "percent", "timed", "value"]),
    ("body/profile", Kind::Rows, &["is_of", "rows", "session_rows"]),
    ("body/profile", Kind::Stem, &["part"]),
    ("compare_calibrations", Kind::Rows, &["part"]),
];

/// Other words with `_`: fields of the description of a subject, and columns of CSV.
const OTHER_WORDS: [&str; 14] = [
    "block_bytes",
    "database_settings",
    "difference_us",
    "execution_us",
    "explain_unread",
    "first_clock",
    "in_database",
    "is_own",
    "last_clock",
    "role_settings",
    "row_us",
    "server_settings",
    "shared_buffers",
    "total_us",
];

/// Charts named in lists without the name of their experiment in front.
const CHARTS: [&str; 3] = ["latency-second", "latency-third", "random-page-cost"];

/// Modules of `src` that draw finished pages: they look nothing up.
const DRAWING: [&str; 3] = ["html", "svg", "text"];

/// A text in a source, with the bracket that it stands in.
struct Literal<'a> {
    line: usize,
    text: &'a str,
    /// The bracket, and the source before it.
    open: (char, &'a str),
    /// The source behind the text.
    after: &'a str,
}

/// The texts in a source, except in comments.
fn literals(source: &str) -> Vec<Literal<'_>> {
    let mut found = Vec::new();
    let mut open: Vec<(char, &str)> = Vec::new();
    let mut at = 0;
    while let Some(letter) = source[at..].chars().next() {
        let here = &source[at..];
        let mut length = letter.len_utf8();
        match letter {
            '/' if here.starts_with("//") => length = here.find('\n').unwrap_or(here.len()),
            '\'' => length = character(here),
            '"' => {
                let inside = text_length(&here[1..]);
                found.push(Literal {
                    line: source[..at].matches('\n').count() + 1,
                    text: &here[1..=inside],
                    open: open.last().copied().unwrap_or((' ', "")),
                    after: here.get(inside + 2..).unwrap_or(""),
                });
                length = inside + 2;
            }
            '(' | '[' | '{' => open.push((letter, &source[..at])),
            ')' | ']' | '}' => {
                open.pop();
            }
            _ => {}
        }
        at = (at + length).min(source.len());
    }
    found
}

/// Bytes up to the quotation mark that ends a text.
fn text_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().find(|(_, letter)| {
        let is_end = *letter == '"' && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// Bytes of a character such as `'"'`; one byte where the sign begins a lifetime.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), Some((at, letter))) => {
            let behind = at + letter.len_utf8();
            text[behind..].find('\'').map_or(1, |end| behind + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// The function that a bracket calls: `cell`, or `parameters.get` of a method whose name alone says little.
fn called(before: &str) -> (&str, String) {
    let last =
        |text: &str| -> usize { text.trim_end_matches(|one: char| one.is_ascii_alphanumeric() || one == '_').len() };
    let name = &before[last(before)..];
    let receiver = before[..last(before)].trim_end().strip_suffix('.').unwrap_or("").trim_end();
    (name, format!("{}.{name}", &receiver[last(receiver)..]))
}

/// The schema as far as a file reads it: that of its experiment, or of all.
struct Names(Vec<&'static Experiment>);

impl Names {
    fn of_file(path: &str) -> Names {
        let name = path.strip_prefix("body/").and_then(|path| path.split(['/', '.']).next());
        let own = EXPERIMENTS.into_iter().filter(|one| Some(one.name.trim_end_matches("-*")) == name);
        let own: Vec<_> = own.collect();
        Names(if own.is_empty() { EXPERIMENTS.to_vec() } else { own })
    }

    fn any(&self, has: impl Fn(&Experiment) -> bool) -> bool {
        self.0.iter().any(|experiment| has(experiment))
    }

    fn metric(&self, name: &str) -> bool {
        self.any(|one| {
            one.all_metrics().any(|spec| spec.name == name) || one.all_families().any(|all| all.named(name).is_some())
        })
    }

    fn parameter(&self, name: &str) -> bool {
        self.any(|one| one.all_parameters().any(|parameter| parameter.name == name))
    }

    fn rows(&self, name: &str) -> bool {
        let is_part = || quoted(calibrate::parameters::PART.meaning, name);
        self.any(|one| match one.name {
            "profile" => profile::TABLES.contains(&name),
            "calibrate" => is_part(),
            _ => false,
        })
    }

    fn stem(&self, word: &str) -> bool {
        let is_stem = |stems: Stems| matches!(stems, Stems::OneOf(stems) if stems.contains(&word));
        self.any(|one| one.all_families().any(|family| is_stem(family.stems)))
    }

    fn of_kind(&self, kind: Kind, name: &str) -> bool {
        match kind {
            Kind::Metric => self.metric(name),
            Kind::Parameter => self.parameter(name),
            Kind::Either => self.metric(name) || self.parameter(name),
            Kind::Rows => self.rows(name),
            Kind::Stem => self.stem(name),
        }
    }

    /// What has a name, and the values that the schema gives for parameters.
    fn word(&self, word: &str) -> bool {
        let is_named = self.of_kind(Kind::Either, word) || self.rows(word) || self.stem(word);
        is_named
            || self.any(|one| {
                one.all_parameters().any(|parameter| quoted(parameter.meaning, word))
                    || one.all_metrics().any(|spec| quoted(spec.meaning, word))
            })
    }

    /// Whether there are findings of this id, which may end in `*`.
    fn finding(&self, id: &str) -> bool {
        let is_meant = |known: &str| id.strip_suffix('*').map_or(known == id, |beginning| known.starts_with(beginning));
        let has = |row: &FindingSpec| match row.stems {
            [] => is_meant(row.id),
            stems => stems.iter().any(|stem| is_meant(&row.id.replace('*', stem))),
        };
        self.any(|one| one.findings.iter().chain([&every::findings::ALL]).any(|group| group.rows.iter().any(has)))
    }

    fn chart(&self, name: &str) -> bool {
        CHARTS.contains(&name) || self.any(|one| name.starts_with(&format!("{}-", one.name)))
    }
}

/// Whether a meaning has this word in back-ticks.
fn quoted(meaning: &str, word: &str) -> bool {
    meaning.split('`').skip(1).step_by(2).any(|quoted| quoted == word)
}

fn is_name(text: &str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    text.starts_with(|letter: char| letter.is_ascii_lowercase()) && text.chars().all(is_of_name)
}

/// An id of a finding, or another word with hyphens.
fn is_hyphened(text: &str) -> bool {
    let is_of_id = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let beginning = text.strip_suffix('*').unwrap_or(text);
    beginning.contains('-') && !beginning.starts_with('-') && beginning.chars().all(is_of_id)
}

/// Whether a text stands in a list whose texts are passed on, one by one, as a `name`.
fn is_in_list_of_names(literal: &Literal) -> bool {
    let behind: String = literal.after.split_once(']').map_or("", |(_, behind)| behind).split_whitespace().collect();
    let behind = behind.trim_start_matches(".iter()").trim_start_matches(".into_iter()");
    let calls = [".map(", ".all(", ".any(", ".find(", ".find_map(", ".filter_map("];
    literal.open.0 == '[' && calls.iter().any(|call| behind.starts_with(&format!("{call}|name|")))
}

/// Whether a text stands in the list of the findings that a chart concerns: the id of one can be a single word.
fn is_concern(literal: &Literal) -> bool {
    literal.open.0 == '[' && literal.open.1.ends_with(".concerning(&")
}

/// The calls of [`LOOKUPS`] in which a name stands, each with the place of its entry there.
fn lookups(path: &str, literal: &Literal) -> Vec<(usize, &'static str)> {
    let (bracket, before) = literal.open;
    if bracket != '(' || !is_name(literal.text) {
        return Vec::new();
    }
    let (name, method) = called(before);
    let mut found = Vec::new();
    for (at, (_, _, calls)) in LOOKUPS.iter().enumerate().filter(|(_, (folder, ..))| path.starts_with(folder)) {
        found.extend(calls.iter().filter(|call| **call == name || **call == method).map(|call| (at, *call)));
    }
    found
}

/// Whether the schema has what a text looks up, by the calls in which it stands.
fn is_known(names: &Names, literal: &Literal, calls: &[(usize, &str)]) -> bool {
    let text = literal.text;
    match literal.open.0 {
        _ if !calls.is_empty() => calls.iter().any(|(at, _)| names.of_kind(LOOKUPS[*at].1, text)),
        _ if is_concern(literal) => names.finding(text),
        _ if is_name(text) && (text.contains('_') || is_in_list_of_names(literal)) => {
            names.word(text) || OTHER_WORDS.contains(&text)
        }
        '[' if is_hyphened(text) => names.finding(text) || names.word(text) || names.chart(text),
        _ => true,
    }
}

/// What was found in sources.
#[derive(Default)]
struct Found {
    /// The names that the schema of their experiment lacks, each with its place.
    unknown: Vec<String>,
    /// The calls of [`LOOKUPS`] that look up a name that stands as text, each with the place of its entry there.
    met: BTreeSet<(usize, &'static str)>,
}

impl Found {
    /// Adds what is in a source. Tests have names of their own.
    fn read(&mut self, path: &str, source: &str) {
        let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or("");
        let names = Names::of_file(path);
        for literal in literals(source) {
            let calls = lookups(path, &literal);
            if !is_known(&names, &literal, &calls) {
                self.unknown.push(format!("{path}:{}: the schema has no `{}`", literal.line, literal.text));
            }
            self.met.extend(calls);
        }
    }

    /// What is in all sources that look something up.
    fn of_all() -> Found {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Found::default();
        for file in sources(&root) {
            let path = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            if !DRAWING.iter().any(|folder| path.starts_with(folder)) {
                found.read(&path, &fs::read_to_string(&file).unwrap());
            }
        }
        found.unknown.sort();
        found
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    paths.filter(|path| path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs")).collect()
}

#[test]
fn no_name_that_stands_as_text_in_a_lookup_of_a_page_is_missing_from_the_schema() {
    let unknown = Found::of_all().unknown;
    assert!(unknown.is_empty(), "renamed, or misspelt:\n{}", unknown.join("\n"));
}

#[test]
fn a_helper_that_is_renamed_does_not_fall_out_of_the_check_in_silence() {
    let met = Found::of_all().met;
    let all = LOOKUPS.iter().enumerate().flat_map(|(at, (_, _, calls))| calls.iter().map(move |call| (at, *call)));
    let unmet: Vec<String> = all
        .filter(|entry| !met.contains(entry))
        .map(|(at, call)| format!("no source in src/{} looks up a name as text by `{call}`", LOOKUPS[at].0))
        .collect();
    assert!(unmet.is_empty(), "renamed, or in need of no entry:\n{}", unmet.join("\n"));
}

#[test]
fn every_way_to_look_something_up_refuses_a_name_that_the_schema_lacks() {
    let refused = |path: &str, source: &str| {
        let place = |text: String| text.replace(&format!("{path}:"), "").replace(": the schema has no ", " ");
        let mut found = Found::default();
        found.read(path, source);
        found.unknown.into_iter().map(place).collect::<Vec<_>>()
    };
    let refuses = |path: &str, source: &str, name: &str| {
        assert_eq!(refused(path, &format!("// \"{name}\"\n{source}")), [format!("2 `{name}`")], "{source}");
    };
    refuses("body/lio.rs", "case.metric(\"getz\"); case.metric(\"gets\")", "getz");
    refuses("body/lio/chart.rs", "cell(case, \"colums\"); cell(case, \"columns\")", "colums");
    refuses("body/lio.rs", "cell(case, \"gets\")", "gets");
    refuses("body/lio.rs", "case.parameters.get(\"rung\"); subject.get(\"rung\")", "rung");
    refuses("body/ladder.rs", "const SHOWN: [&str; 2] = [\"row_lenght\", \"row_length\"];", "row_lenght");
    refuses("body/join.rs", "[\"rand\", \"metod\"].map(|name| cell(case, name))", "metod");
    refuses("body/profile/time.rs", "rows(run, \"clas\").chain(rows(run, \"class\"))", "clas");
    refuses("body/profile/time.rs", "row.text(\"total\"); row.value(\"total\")", "total");
    refuses("body/calibrate.rs", "part(run, \"remedies\"); part(run, \"remedy\")", "remedies");
    refuses("body/calibrate/statements.rs", "bytes(\"valu\"); bytes(\"value\")", "valu");
    refuses("body/profile/chart.rs", "line(0, \"cals\", calls); line(1, \"total\", time)", "cals");
    refuses("body/profile/read_tiers.rs", "part(row, \"devise\"); part(row, \"device\")", "devise");
    refuses("body/counters/chart.rs", "chart.concerning(&[\"valgrnd\", \"valgrind\"])", "valgrnd");
    refuses("body/scan/chart.rs", "chart.concerning(&[\"valgrnd*\", \"valgrind*\"])", "valgrnd*");
    refuses("body/disk/chart.rs", "chart.concerning(&[\"not-cold\", \"answer-*\"])", "not-cold");
    refuses("body/disk/chart.rs", "chart.concerning(&[\"answered-*\"])", "answered-*");
    refuses("compare_calibrations.rs", "part(run, \"sets\"); part(run, \"set\")", "sets");
    refuses("compare.rs", "case.parameters.get(\"dept\"); case.parameters.get(\"depth\")", "dept");
    let kept = "cell(case, \"columns\"); '\"'; cell(case, \"colums\")\n#[cfg(test)]\nmod tests { metric(\"no_such\") }";
    assert_eq!(refused("body/lio.rs", kept), ["1 `colums`"], "a quotation mark as a character is no text");
}
