//! The user's queries: from a file, from the files of a folder, or those of pg_stat_statements that take most time.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use measure::quantity::counted;
use measure::sorting;
pub use server::identifier::name_to_paste;
use server::session::identifier;
use sys::file::plain;

use super::Calibration;
use crate::error::SubjectError;

/// The word for the server's own list, which a number can follow.
const LIST: &str = "pg_stat_statements";

/// Queries of the server's list, unless a number follows its name.
const LISTED: usize = 50;

/// Most queries that are taken: each is explained under every set of constants.
const QUERIES_MAX: usize = 1000;

/// The beginning of a statement of the list that has a plan, behind comments of both kinds: a library that names its
/// queries begins each with `-- name: NAME`. Where a run of this program was the first to send a query, the list keeps
/// the PREPARE of that run as its text, under which it counts the executions of all programs.
const HAS_PLAN: &str = "^(PREPARE readpath_([0-9]+|read(_[0-9]+)?) AS )?\
                        ([[:space:](]|--[^\\n\\r]*[\\n\\r]|/[*].*[*]/)*\
                        (select|with|values|table|insert|update|delete|merge)";

/// What is in the texts of this program's own statements, as the list has them: the schema of a run, the rows by which
/// sending is timed, and what samples of sessions ask for active time (`ACTIVE_TIME` of the crate `live`). The server
/// lists that one with a parameter in EXTRACT, and then refuses it: no plan shows that it reads catalogs alone.
const OWN: [&str; 3] = [
    "readpath.",
    "(SELECT generate_series($1, $2)) AS numbers",
    "SELECT datid, coalesce(active_time, $1)::float8, stats_reset",
];

/// What a run of this program puts before a user's query; a number follows, or the word and perhaps a number.
const PREPARED: &str = "PREPARE readpath_";
const PREPARED_TO_LOCK: &str = "read";

/// The beginning of a comment ahead of a statement that tells the extension pg_hint_plan how to plan it.
const HINT: &str = "/*+";

/// What is said where the list is empty. It has the statements that this session has sent already, where it works.
const NOTHING_LISTED: &str = "pg_stat_statements has no text of any statement of this database, not even of this \
                              run's own: either it is off for this session (pg_stat_statements.track, and \
                              compute_query_id from PostgreSQL 14 on), or the server cannot keep the texts, which its \
                              log says";

/// The server's codes for a column that is not there, and for bytes that are no text in the database's encoding.
const NO_COLUMN: &str = "42703";
const NO_TEXT: &str = "22021";

/// Largest file.
const FILE_MAX: u64 = 16 << 20;

/// Where the user's queries come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuerySource {
    /// A file, or a folder of files that end in `.sql`.
    Files(PathBuf),
    /// This many of the server's list.
    Listed(usize),
}

/// A query as the user wrote it, or as the server's list has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnQuery {
    /// What it is called on pages.
    pub name: String,
    /// Its text, without the semicolon.
    pub text: String,
}

/// What the server's list has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// Those with a text, the longest first.
    pub queries: Vec<OwnQuery>,
    /// Statements of other roles in this database, whose texts the server keeps from ours.
    pub hidden: u64,
    /// The part that these have of the time of all in this database, in per cent.
    pub hidden_percent: f64,
    /// Statements whose texts the server has lost: it could not write the file of them, or cannot read it.
    pub lost: u64,
    /// Their part of that time.
    pub lost_percent: f64,
}

impl QuerySource {
    /// Reads the value of `--queries`; a sentence where it cannot be.
    pub fn parse(word: &str) -> Result<QuerySource, String> {
        if word.trim().is_empty() {
            return Err(format!("--queries takes a file of SQL statements, a folder of such files, or {LIST}"));
        }
        let Some(number) = word.strip_prefix(LIST) else { return Ok(QuerySource::Files(word.into())) };
        let wrong = || format!("--queries takes {LIST}:N with a number from 1 to {QUERIES_MAX}");
        let number = match number.strip_prefix(':') {
            None if number.is_empty() => LISTED,
            None => return Ok(QuerySource::Files(word.into())),
            Some(number) => number.parse().map_err(|_| wrong())?,
        };
        if (1..=QUERIES_MAX).contains(&number) { Ok(QuerySource::Listed(number)) } else { Err(wrong()) }
    }
}

/// The queries of a file, or of the files of a folder in the order of their names; a sentence where there are none.
pub fn of_files(path: &Path) -> Result<Vec<OwnQuery>, String> {
    let sentence =
        |path: &Path, error: std::io::Error| format!("the queries in {} cannot be read: {error}", path.display());
    let mut files = vec![path.to_path_buf()];
    let is_folder = path.is_dir();
    if is_folder {
        let entries = fs::read_dir(path).map_err(|error| sentence(path, error))?.flatten().map(|entry| entry.path());
        files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "sql")).collect();
        sorting::ascending(&mut files);
        if files.is_empty() {
            return Err(format!(
                "the folder {} holds no file whose name ends in .sql: --queries takes a file of SQL statements, or a \
                 folder with such files, and does not look into subfolders",
                path.display()
            ));
        }
    }
    let mut all = Vec::new();
    for file in files {
        let bytes = plain::read(&file, FILE_MAX).map_err(|error| sentence(&file, error))?;
        let text = text_of(bytes, &file)?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        all.extend(split(&text, &stem));
        // Before the rest of a large folder is read.
        if all.len() > QUERIES_MAX {
            return Err(format!("{} holds over {QUERIES_MAX} queries: up to that many are taken", path.display()));
        }
    }
    if all.is_empty() {
        let whose = if is_folder { "no file of the folder" } else { "the file" };
        let holds = if is_folder { "whose name ends in .sql holds a query" } else { "holds no query" };
        return Err(format!(
            "{whose} {} {holds}: write SQL statements, and end each with a semicolon, such as SELECT count(*) FROM \
             orders;",
            path.display()
        ));
    }
    tell_apart(&mut all);
    Ok(all)
}

/// Gives each query a name of its own: of several of the same name, the second has ` (2)` behind it.
fn tell_apart(queries: &mut [OwnQuery]) {
    let mut taken = sorting::set(queries.iter().map(|query| query.name.clone()));
    let mut seen = BTreeSet::new();
    for query in queries {
        if seen.insert(query.name.clone()) {
            continue;
        }
        let mut numbered = (2_u32..).map(|number| format!("{} ({number})", query.name));
        if let Some(name) = numbered.find(|name| !taken.contains(name)) {
            taken.insert(name.clone());
            query.name = name;
        }
    }
}

/// The bytes of a file as text; a sentence where they are something else, which no server can be sent.
fn text_of(bytes: Vec<u8>, file: &Path) -> Result<String, String> {
    let name = file.display();
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        format!("{name} is no text in UTF-8 (byte {at} is none of it): give a file of queries in UTF-8")
    })?;
    let is_binary = |letter: char| letter.is_control() && !letter.is_whitespace();
    match text.find(is_binary) {
        Some(at) => Err(format!("{name} is no text (byte {} is a control character): give a file of queries", at + 1)),
        None => Ok(text.trim_start_matches('\u{feff}').into()),
    }
}

/// How much of a query's text names it.
const NAME_LETTERS: usize = 60;

/// The text of a query of the server's list as the user's program sends it, without what a run of this program put
/// before it.
fn without_preparation(text: &str) -> &str {
    let prepared = || {
        let (name, query) = text.strip_prefix(PREPARED)?.split_once(" AS ")?;
        let number = name.strip_prefix(PREPARED_TO_LOCK).map_or(name, |number| number.trim_start_matches('_'));
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(query)
    };
    prepared().unwrap_or(text)
}

/// What a query of the server's list is called: its number there, and the beginning of its text.
fn name_of_listed(number: &str, text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(NAME_LETTERS) {
        Some((end, _)) => format!("{number} {}…", words[..end].trim_end()),
        None => format!("{number} {words}"),
    }
}

impl Calibration {
    /// The queries of this database that take most time by the server's list, without what has no plan and what an
    /// earlier run of this program left there; a sentence where there is no list.
    ///
    /// More than are wanted: which of them read no table is seen when they are prepared. The list has a row of a query
    /// for each role that ran it, and another one where functions did: together they are one query.
    pub fn listed(&mut self) -> Result<Result<Listed, String>, SubjectError> {
        let place = "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE \
                     e.extname = 'pg_stat_statements'";
        let found = self.session().rows(place)?.into_iter().flatten().flatten().next();
        let extension = match found {
            Some(schema) => identifier(&schema),
            None if self.is_rehearsal() => identifier("public"),
            None => {
                let advice = "the database has no extension pg_stat_statements: CREATE EXTENSION pg_stat_statements, \
                              with the library in shared_preload_libraries, or give --queries a file";
                return Ok(Err(advice.into()));
            }
        };
        let not_own: String = OWN.iter().map(|text| format!(" AND position('{text}' IN query) = 0")).collect();
        let list = format!(
            "SELECT queryid, min(query) FROM {extension}.pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database \
             WHERE datname = current_database()) AND query ~* '{HAS_PLAN}'{not_own} GROUP BY queryid ORDER BY \
             sum(total_exec_time) DESC LIMIT {QUERIES_MAX}"
        );
        let rows = match self.session().rows(&list) {
            Err(server::ServerError::Statement { reason, code, .. }) => return Ok(Err(unreadable(&reason, &code))),
            rows => rows?,
        };
        let query = |row: Vec<Option<String>>| {
            let mut columns = row.into_iter().map(Option::unwrap_or_default);
            let (name, text) = (columns.next()?, columns.next()?);
            let text = without_preparation(text.trim());
            Some(OwnQuery { name: name_of_listed(&name, text), text: text.trim_end_matches(';').into() })
        };
        let queries: Vec<OwnQuery> = rows.into_iter().filter_map(query).collect();
        let listed = Listed { queries, ..self.without_texts(&extension)? };
        if listed.queries.is_empty() && !self.is_rehearsal() {
            return Ok(Err(nothing_listed(&listed, &self.facts().user)));
        }
        Ok(Ok(listed))
    }

    /// How many statements of this database have no text for us, and their part of the time in per cent. A text that is
    /// lost is null.
    fn without_texts(&mut self, extension: &str) -> Result<Listed, SubjectError> {
        let of = |which: &str| {
            format!(
                "count(*) FILTER (WHERE {which}), coalesce(100 * sum(total_exec_time) FILTER (WHERE {which}) / \
                 nullif(sum(total_exec_time), 0), 0)"
            )
        };
        let question = format!(
            "SELECT {}, {} FROM {extension}.pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname \
             = current_database())",
            of("query = '<insufficient privilege>'"),
            of("query IS NULL")
        );
        let row = self.session().rows(&question)?.into_iter().next().unwrap_or_default();
        let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let number = |at: usize| text(at).parse::<f64>().unwrap_or(0.0);
        let [hidden, hidden_percent, lost, lost_percent] = [0, 1, 2, 3].map(number);
        Ok(Listed { hidden: hidden as u64, hidden_percent, lost: lost as u64, lost_percent, ..Listed::default() })
    }
}

/// What is said where no statement of the list has a text for this user, with what gives one to those that are there.
fn nothing_listed(Listed { hidden, lost, .. }: &Listed, user: &str) -> String {
    let statements = |count: u64| counted(count, "statement", "statements");
    let empties = format!(
        "The server has lost the texts of {}: SELECT pg_stat_statements_reset() empties the list, and statements that \
         run afterwards have texts",
        statements(*lost)
    );
    let user = name_to_paste(user);
    let shows = format!("GRANT pg_read_all_stats TO {user} shows the texts of {} of other roles", statements(*hidden));
    let mut said = vec![NOTHING_LISTED.to_string()];
    said.extend((*lost > 0).then_some(empties));
    said.extend((*hidden > 0).then_some(shows));
    said.push("Or give --queries a file".into());
    said.join(". ")
}

/// What is said where the server's list cannot be read. A database from an older version keeps the extension's old
/// columns until that is updated. Where the server's file of texts was removed, the server makes another one, in which
/// zeros stand for the texts before.
fn unreadable(reason: &str, code: &str) -> String {
    let advice = match code {
        NO_COLUMN => format!(": ALTER EXTENSION {LIST} UPDATE gives it the columns of this server's version"),
        NO_TEXT => format!(
            ". The server's file of texts is damaged, or it holds a text in another encoding, from a SQL_ASCII \
             database: SELECT {LIST}_reset() empties the list, and statements that run afterwards have texts. Or give \
             --queries a file"
        ),
        _ => String::new(),
    };
    format!("{LIST} cannot be read: {reason}{advice}")
}

/// The statements of a text. A comment `-- name: NAME` before one names it; else it has the file's name and a number.
/// Outside of literals, a backslash ends a statement too: it begins a command of psql's, as in `\timing` and `\g`.
///
/// Only a proposal: the server refuses what is not one statement.
pub fn split(text: &str, file: &str) -> Vec<OwnQuery> {
    let mut all = Vec::new();
    let (mut start, mut at, mut name) = (0, 0, None);
    while at <= text.len() {
        let rest = &text[at..];
        if !rest.is_empty() && !rest.starts_with([';', '\\']) {
            at += token(rest);
            continue;
        }
        let (body, given) = without_comments(&text[start..at]);
        // A command of psql's may stand between the name and the statement.
        name = given.or(name);
        if !body.is_empty() {
            let name = name.take().unwrap_or_else(|| format!("{file} {}", all.len() + 1));
            all.push(OwnQuery { name, text: body.into() });
            // One more than are taken tells that there are too many.
            if all.len() > QUERIES_MAX {
                break;
            }
        }
        at += end(rest);
        start = at;
    }
    all
}

/// Bytes of what ends a statement: a semicolon, or a command of psql's, which takes the rest of its line. At the end of
/// the text 1, which is beyond it.
fn end(text: &str) -> usize {
    match text.as_bytes() {
        [b'\\', b';', ..] => 2,
        [b'\\', ..] => line(text),
        _ => 1,
    }
}

/// Bytes of the line at the beginning of a text, with one of what ends it.
fn line(text: &str) -> usize {
    text.find(['\n', '\r']).map_or(text.len(), |at| at + 1)
}

/// A statement without the comments before it, unless one is a hint, and the name that one of them gives.
fn without_comments(text: &str) -> (&str, Option<String>) {
    let (mut rest, mut hinted, mut name) = (text.trim(), None, None);
    while rest.starts_with("--") || rest.starts_with("/*") {
        if rest.starts_with(HINT) {
            hinted = hinted.or(Some(rest));
        }
        let length = token(rest);
        let comment = rest[..length].trim_start_matches('-').trim();
        name = comment.strip_prefix("name:").map(|name| name.trim().to_string()).or(name);
        rest = rest[length..].trim_start();
    }
    // A hint alone is no statement.
    (hinted.filter(|_| !rest.is_empty()).unwrap_or(rest), name)
}

/// Bytes of the token at the beginning of a text that is not empty: a literal, a name in quotes, a comment, or a
/// letter.
pub(super) fn token(text: &str) -> usize {
    let until = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let first = text.chars().next().map_or(1, char::len_utf8);
    match text.as_bytes() {
        [b'-', b'-', ..] => line(text),
        [b'/', b'*', ..] => comment(text),
        [b'E' | b'e', b'\'', ..] => escaped(text),
        [quote @ (b'\'' | b'"'), ..] => until(1, if *quote == b'"' { "\"" } else { "'" }),
        [b'$', ..] => dollar(text).map_or(first, |tag| until(tag.len(), tag)),
        // The whole of a word: an `e` at its end does not begin a literal.
        [letter, ..] if letter.is_ascii_alphanumeric() || *letter == b'_' || !letter.is_ascii() => {
            let is_of_word =
                |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'$' || !byte.is_ascii();
            text.bytes().take_while(is_of_word).count()
        }
        _ => first,
    }
}

/// The highest number of a parameter, such as `$2`, in the text of a statement: it is executed with as many values.
pub(super) fn parameters_of(text: &str) -> u64 {
    let (mut rest, mut most) = (text, 0_u16);
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('$') {
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            most = most.max(behind[..digits].parse().unwrap_or(0));
        }
        rest = &rest[token(rest)..];
    }
    u64::from(most)
}

/// Comments of this kind nest.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

/// A literal in which a backslash takes the next letter's meaning.
fn escaped(text: &str) -> usize {
    let mut at = 2;
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'\\', letter, ..] => at += if letter.is_ascii() { 2 } else { 1 },
            [b'\'', b'\'', ..] => at += 2,
            [b'\'', ..] => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// `$$` or `$TAG$` at the beginning of a text.
fn dollar(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 2;
    let tag = &text[1..end - 1];
    let is_tag = |letter: char| letter.is_alphanumeric() || letter == '_';
    (tag.chars().all(is_tag) && !tag.starts_with(|letter: char| letter.is_ascii_digit())).then_some(&text[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<String> {
        split(text, "file").into_iter().map(|query| query.text).collect()
    }

    #[test]
    fn a_semicolon_inside_a_literal_a_name_or_a_comment_ends_no_query() {
        let one = [
            "SELECT ';' || \"a;b\" FROM t -- ; no\n WHERE a = 1",
            "SELECT $$;$$, $tag$ ; $$ ; $tag$, $1, a$b FROM t",
            "SELECT E'\\';' /* ; /* ; */ ; */ FROM t",
            "SELECT 'it''s;' , '\\'",
            "SELECT 'ä;' , type'x;'",
            "SELECT E'a''b\\';c\\ä;'",
        ];
        for text in one {
            assert_eq!(texts(&format!("{text};\n")), [text]);
        }
        assert_eq!(texts(&one.join(";\n")), one);
    }

    #[test]
    fn a_parameter_is_counted_by_its_number_and_not_where_it_is_part_of_a_literal_a_name_or_a_comment() {
        assert_eq!(parameters_of("SELECT $1 + $10 - $1, a$12 FROM \"$13\" -- $14\n WHERE b<$2"), 10);
        assert_eq!(parameters_of("SELECT '$1', E'\\'$2', $$ $3 $$, $x$ $4 $x$ /* $5 */"), 0);
        assert_eq!(parameters_of("SELECT é$12, aé$13 FROM t WHERE b = $1"), 1);
        assert_eq!(parameters_of("SELECT $99999999999"), 0, "the server refuses it");
    }

    #[test]
    fn a_command_of_psql_is_no_part_of_a_query_and_what_it_quotes_swallows_none() {
        let commands = "\\timing on\r\n\\echo don't; stop\n-- name: one\n\\set n 3\n";
        let found = split(&format!("{commands}SELECT 1 \\g\nSELECT '\\g' \\; SELECT 3\n\\x"), "shop");
        let of = |name: &str, text: &str| OwnQuery { name: name.into(), text: text.into() };
        assert_eq!(found, [of("one", "SELECT 1"), of("shop 2", "SELECT '\\g'"), of("shop 3", "SELECT 3")]);
    }

    #[test]
    fn a_hint_stays_with_its_query() {
        let hinted = "/*+ SeqScan(t) */ SELECT 1";
        let found = split(&format!("/* first */ -- name: one\n{hinted};"), "shop");
        assert_eq!(found, [OwnQuery { name: "one".into(), text: hinted.into() }]);
        let found = split("/*+ SeqScan(t) */ -- name: two\nSELECT 2; /*+ SELECT 3 */", "shop");
        assert_eq!(found.len(), 1, "a hint alone is no query");
        assert_eq!((found[0].name.as_str(), found[0].text.starts_with(HINT)), ("two", true), "the name is behind it");
    }

    #[test]
    fn a_folder_without_queries_by_its_names_is_not_said_to_lack_semicolons() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("shop.txt"), "SELECT 1;").unwrap();
        let refusal = of_files(folder.path()).unwrap_err();
        assert!(refusal.contains("ends in .sql") && !refusal.contains("semicolon"), "{refusal}");
        fs::write(folder.path().join("shop.sql"), "-- SELECT 1;\n;").unwrap();
        let refusal = of_files(folder.path()).unwrap_err();
        let whose = format!("no file of the folder {} whose name ends in .sql holds a query", folder.path().display());
        assert!(refusal.starts_with(&whose), "{refusal}");
        fs::write(folder.path().join("shop.sql"), "SELECT 1;").unwrap();
        assert_eq!(of_files(folder.path()).unwrap().len(), 1);
    }

    #[test]
    fn a_file_without_a_statement_is_named_with_what_is_expected_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.sql");
        for text in ["", "\n", "-- SELECT 1;\n", ";;", "\\timing\n", "\u{feff}"] {
            fs::write(&path, text).unwrap();
            let refusal = of_files(&path).unwrap_err();
            assert!(refusal.starts_with(&format!("the file {} holds no query", path.display())), "{refusal}");
            assert!(refusal.contains("SELECT count(*) FROM orders;"), "{refusal}");
        }
    }

    #[test]
    fn the_one_file_of_a_folder_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("old.sql")).unwrap();
        let refusal = of_files(folder.path()).unwrap_err();
        assert!(refusal.contains("old.sql cannot be read"), "{refusal}");
    }

    #[test]
    fn a_list_with_the_columns_of_an_older_version_is_to_be_updated() {
        let said = unreadable("column \"total_exec_time\" does not exist", "42703");
        assert!(said.contains("ALTER EXTENSION pg_stat_statements UPDATE"), "{said}");
        let damaged = unreadable("invalid byte sequence for encoding \"UTF8\": 0x00", "22021");
        assert!(damaged.contains("pg_stat_statements_reset()") && !damaged.contains("ALTER"), "{damaged}");
        let other = unreadable("pg_stat_statements must be loaded", "55000");
        assert!(other.ends_with("must be loaded"), "{other}");
    }

    #[test]
    fn a_list_without_a_text_is_refused_with_what_gives_its_statements_one() {
        let said = |hidden, lost| nothing_listed(&Listed { hidden, lost, ..Listed::default() }, "web-shop");
        assert!(said(0, 0).ends_with("which its log says. Or give --queries a file"), "{}", said(0, 0));
        let grant = "GRANT pg_read_all_stats TO \"web-shop\" shows the texts of 2 statements of other roles";
        assert!(said(2, 0).contains(grant) && !said(2, 0).contains("reset"), "{}", said(2, 0));
        assert!(said(0, 1).contains("the texts of 1 statement: SELECT pg_stat_statements_reset()"), "{}", said(0, 1));
        assert!(!said(0, 1).contains("GRANT"), "{}", said(0, 1));
    }

    #[test]
    fn a_file_of_more_queries_than_are_taken_is_not_split_to_its_end() {
        assert_eq!(split(&"a;".repeat(QUERIES_MAX * 3), "file").len(), QUERIES_MAX + 1);
    }

    #[test]
    fn a_comment_ends_with_its_line_whatever_ends_that() {
        for end in ["\n", "\r\n", "\r"] {
            let found = split(&format!("-- name: one{end}SELECT 1 -- ;{end};{end}"), "file");
            assert_eq!(found.iter().map(|query| query.name.as_str()).collect::<Vec<_>>(), ["one"], "{end:?}");
        }
    }

    #[test]
    fn a_file_of_other_bytes_is_a_sentence_and_no_query() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.sql");
        for bytes in [&b"SELECT 1;\0\x01"[..], b"\x7fELF\x02", b"SELECT '\xe9';", b"SELECT '\x1b[2J';"] {
            fs::write(&path, bytes).unwrap();
            let refusal = of_files(&path).unwrap_err();
            assert!(refusal.contains("shop.sql is no text"), "{refusal}");
            assert!(refusal.chars().all(|letter| !letter.is_control()), "{refusal}");
        }
        fs::write(&path, "\u{feff}SELECT\t'ä';\r\n").unwrap();
        assert_eq!(of_files(&path).unwrap()[0].text, "SELECT\t'ä'");
    }

    #[test]
    fn a_listed_query_is_called_by_the_beginning_of_its_text() {
        assert_eq!(name_of_listed("-7", "SELECT *\n  FROM t"), "-7 SELECT * FROM t");
        let name = name_of_listed("7", &"ä ".repeat(100));
        assert_eq!((name.chars().count(), name.ends_with("ä…")), (62, true), "{name}");
    }

    #[test]
    fn a_query_that_a_run_of_this_program_was_the_first_to_send_is_listed_as_the_user_sends_it() {
        for prepared in ["PREPARE readpath_0 AS ", "PREPARE readpath_17 AS ", "PREPARE readpath_read AS "] {
            assert_eq!(without_preparation(&format!("{prepared}select a AS b from t")), "select a AS b from t");
        }
        assert_eq!(without_preparation("PREPARE readpath_read_2 AS SELECT 1"), "SELECT 1");
        for other in
            ["SELECT a AS b FROM t", "PREPARE readpath_sample (timestamptz) AS SELECT 1", "PREPARE q AS SELECT 1"]
        {
            assert_eq!(without_preparation(other), other);
        }
        assert!(
            HAS_PLAN.starts_with(&format!("^({PREPARED}([0-9]+|{PREPARED_TO_LOCK}(_[0-9]+)?) AS )?(")),
            "{HAS_PLAN}"
        );
    }

    #[test]
    fn what_samples_of_sessions_ask_is_not_taken_for_a_query_of_the_user() {
        let listed =
            "SELECT datid, coalesce(active_time, $1)::float8, stats_reset, (SELECT coalesce(sum(extract($2 FROM";
        assert!(OWN.iter().any(|text| listed.contains(text)));
        assert!(!OWN.iter().any(|text| "SELECT datid, active_time FROM pg_stat_database".contains(text)));
        assert!(OWN.iter().all(|text| !text.contains('\'')), "each stands in a literal");
    }

    #[test]
    fn two_queries_of_one_name_are_told_apart_in_a_file_and_across_files() {
        let folder = tempfile::tempdir().unwrap();
        let named = "-- name: top\nSELECT 1;\n-- name: top\nSELECT 2;\n-- name: top (2)\nSELECT 3;\n";
        fs::write(folder.path().join("a.sql"), named).unwrap();
        fs::write(folder.path().join("b.sql"), "-- name: top\nSELECT 4;\nSELECT 5;").unwrap();
        let found = of_files(folder.path()).unwrap();
        let names: Vec<&str> = found.iter().map(|query| query.name.as_str()).collect();
        assert_eq!(names, ["top", "top (3)", "top (2)", "top (4)", "b 2"]);
    }

    #[test]
    fn a_query_is_called_what_its_comment_says_and_else_by_its_place() {
        let found = split("-- about all\n-- name: first one\nSELECT 1;\n/* x */ SELECT 2; ; -- end\n", "shop");
        let names: Vec<&str> = found.iter().map(|query| query.name.as_str()).collect();
        assert_eq!(names, ["first one", "shop 2"]);
        assert_eq!(found[1].text, "SELECT 2");
    }

    #[test]
    fn where_queries_come_from_is_a_file_unless_the_servers_list_is_named() {
        assert_eq!(QuerySource::parse("pg_stat_statements"), Ok(QuerySource::Listed(LISTED)));
        assert_eq!(QuerySource::parse("pg_stat_statements:7"), Ok(QuerySource::Listed(7)));
        assert_eq!(
            QuerySource::parse("pg_stat_statements.sql"),
            Ok(QuerySource::Files("pg_stat_statements.sql".into()))
        );
        for wrong in ["pg_stat_statements:", "pg_stat_statements:0", "pg_stat_statements:x", "pg_stat_statements:-1"] {
            assert!(QuerySource::parse(wrong).is_err_and(|why| why.contains("from 1 to 1000")), "{wrong}");
        }
        for blank in ["", " "] {
            assert!(QuerySource::parse(blank).is_err_and(|why| why.contains("a folder")), "no file has no name");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_nothing_but_blanks_comments_and_semicolons_is_lost(
            text in "\\PC*|[a-z;'\"$\\\\/*\\-\nEe ]*",
        ) {
            let found = split(&text, "file");
            prop_assert!(found.iter().all(|query| !query.text.is_empty()));
            if !["--", "/*", "\\"].iter().any(|mark| text.contains(mark)) {
                let letters = |text: &str| text.chars().filter(|one| *one != ';' && !one.is_whitespace()).count();
                let kept: usize = found.iter().map(|query| letters(&query.text)).sum();
                prop_assert_eq!(kept, letters(&text));
            }
        }
    }
}
