//! Every option of every command, on every kind of device and subject: each shows an effect or is refused with the
//! reason. The options are those of the command line's own definition, so that one without a line in the table fails.

mod ladder;
mod promises;
mod table;
mod witness;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Instant;

use crate::user::{DEBIAN, User, complaint, random_data};
use crate::waiting::TRIES;
use rusqlite::Connection;
use table::{Run, Section, sections};
use tempfile::TempDir;
use trial::Trial;
use witness::{Outcome, Witness};

/// Commands that users can call and completions leave out. Two more are called by `scan` and `run` alone, with words of
/// their own choice.
const HIDDEN: [&str; 2] = ["null", "man"];

/// Options of every command that end it with a text.
const TEXTS: [&str; 2] = ["--help", "--version"];

/// Options by another name, with the one that the table has.
const ALIASES: [(&str, &str); 2] = [("--for", "--duration"), ("--inner-rows", "--rows")];

/// Options that other tests try: no document shows how many threads read a trace (`promises.rs`), and a private server
/// is started and restarted for the end of a page (`calibrate.rs`), and which files of a folder are compared takes
/// several of them (`compare_traces.rs`), which texts a server shows takes one that is at work (`running.rs`), and a
/// recorder runs until it is signalled (`record.rs`).
const ELSEWHERE: [(&str, &str); 8] = [
    ("profile of a trace", "--workers"),
    ("profile of a running server", "--no-text"),
    ("record of a running server", "--no-text"),
    ("record of a running server", "--to"),
    ("calibrate on a private server", "--sql"),
    ("compare of traces", "--name"),
    ("compare of traces", "--since"),
    ("compare of traces", "--until"),
];

/// Runs at the same time.
const WORKERS: usize = 4;

/// The options of each command, from the completions that its definition gives a shell, and from its help where those
/// leave it out.
fn options() -> BTreeMap<String, BTreeSet<String>> {
    let output = User::new().run("completions bash");
    let script = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = script.lines().map(str::trim).collect();
    let command = |pair: &[&str]| {
        let name = pair[0].strip_prefix("readpath__subcmd__")?.strip_suffix(')')?.replace("__subcmd__", " ");
        let words = pair[1].strip_prefix("opts=\"")?.trim_end_matches('"').split(' ');
        let words = words.filter(|word| word.starts_with("--") && !TEXTS.contains(word));
        let is_wanted = !name.split(' ').any(|word| word == "help");
        is_wanted.then(|| (name, words.map(String::from).collect()))
    };
    let hidden = HIDDEN.iter().map(|name| (name.to_string(), options_of_help(name)));
    lines.windows(2).filter_map(command).chain(hidden).collect()
}

/// The options of a command, from the lines of its help that begin with one.
fn options_of_help(name: &str) -> BTreeSet<String> {
    let help = User::new().ok(&format!("{name} -h"));
    let lines = help.lines().map(str::trim).filter(|line| line.starts_with('-'));
    let option = |line: &str| line.split([' ', ',', '[', '=']).find(|word| word.starts_with("--")).map(String::from);
    lines.filter_map(option).filter(|option| !TEXTS.contains(&option.as_str())).collect()
}

/// What the table is tried on.
struct Place {
    folder: TempDir,
    trial: Option<Trial>,
    at_work: Mutex<()>,
    /// Whether the processor counts no instructions here, so that valgrind is asked.
    hides_counters: bool,
}

impl Place {
    /// Files of 4 MiB, a database, a trace, a log, and a server where there is one.
    fn new() -> Place {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            fs::write(folder.path().join(name), bytes).unwrap();
            // What is not on the disk yet cannot leave the page cache.
            fs::File::open(folder.path().join(name)).unwrap().sync_all().unwrap();
        };
        let data = random_data(7, 4 << 20);
        file("data", &data);
        file("alone", &data);
        file("shop.trc", include_bytes!("../traces/shop_ora_4711.trc"));
        file("literals.trc", LITERALS.as_bytes());
        file("server.log", LOG.as_bytes());
        file("shop.sql", QUERIES.as_bytes());
        file("jobs.toml", JOBS.as_bytes());
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)";
        let make = format!("CREATE TABLE t (id INTEGER PRIMARY KEY, name); {rows} INSERT INTO t SELECT i, i FROM n");
        Connection::open(folder.path().join("shop.db")).unwrap().execute_batch(&make).unwrap();
        let counted = User::new().run("--format json counters -- true").stdout;
        let hides_counters = String::from_utf8_lossy(&counted).contains("absent-counters");
        file("run.json", &User::new().run("--format json null --cases 1").stdout);
        let trial = Trial::start(&["shared_buffers=128MB"]);
        trial.iter().for_each(|trial| trial.run(SHOP));
        Place { folder, trial, at_work: Mutex::default(), hides_counters }
    }

    /// Words of the table as words of a command line.
    fn words(&self, words: &str, home: &Path) -> String {
        let server = self.trial.as_ref().map_or(String::new(), Trial::url);
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let marks = [
            ("FILE", path("data")),
            // Of one command at a time: another one would read it into the page cache again.
            ("ALONE", path("alone")),
            ("DATABASE", path("shop.db")),
            ("TRACE", path("shop.trc")),
            ("DOCUMENT", path("run.json")),
            ("LITERALS", path("literals.trc")),
            ("LOG", path("server.log")),
            ("QUERIES", path("shop.sql")),
            ("JOBS", path("jobs.toml")),
            ("SERVER", server),
            ("HOME", home.display().to_string()),
            ("SELF", std::process::id().to_string()),
        ];
        marks.iter().fold(words.into(), |words: String, (mark, meaning)| words.replace(mark, meaning))
    }

    /// Whether this machine has what a run needs.
    fn has(&self, section: &Section, run: &Run) -> bool {
        let needs = |what: &str| run.needs.as_deref() == Some(what);
        let mut words = [&section.plain, &run.words].into_iter();
        let is_there = self.trial.is_some() || !words.any(|words| words.contains("SERVER"));
        let has_valgrind = || Path::new("/usr/bin/valgrind").exists();
        let has_programs = || Path::new(DEBIAN).join("bin/initdb").is_file();
        is_there
            && (!needs("valgrind") || has_valgrind())
            && (!needs("postgres 15") || has_programs())
            && (!needs("hidden counters") || self.hides_counters)
    }
}

/// A trace of two statements that differ in a literal; the first has a bind variable.
const LITERALS: &str = "\
*** SESSION ID:(12.345) 2026-11-21 10:00:00.000
PARSING IN CURSOR #140 len=20 dep=0 uid=83 oct=3 lid=83 tim=1000000 hv=11 ad='7f' sqlid='aaaaaaaaaaaaa'
select 1 from orders
END OF STMT
BINDS #140:
 Bind#0
  oacdty=02 mxl=22(22) mxlc=00 mal=00 scl=00 pre=00
  value=4711
EXEC #140:c=2000,e=5000,p=9,cr=30,cu=1,mis=0,r=0,dep=0,og=1,plh=77,tim=1007000
PARSING IN CURSOR #141 len=20 dep=0 uid=83 oct=3 lid=83 tim=1008000 hv=11 ad='7f' sqlid='bbbbbbbbbbbbb'
select 2 from orders
END OF STMT
EXEC #141:c=2000,e=5000,p=9,cr=30,cu=1,mis=0,r=0,dep=0,og=1,plh=77,tim=1017000
";

/// A log of two such statements.
const LOG: &str = "\
2026-11-21 10:45:01.004 UTC [7] me@shop LOG:  duration: 4.000 ms  plan:
\t{ \"Query Text\": \"select 1 from orders\", \"Query Identifier\": 11, \"Plan\": { \"Node Type\": \"Seq Scan\", \
\"Actual Total Time\": 3.5, \"Actual Rows\": 3, \"Actual Loops\": 1, \"Shared Hit Blocks\": 3, \
\"Shared Read Blocks\": 2, \"I/O Read Time\": 1.250 } }
2026-11-21 10:45:02.004 UTC [7] me@shop LOG:  duration: 2.000 ms  plan:
\t{ \"Query Text\": \"select 2 from orders\", \"Query Identifier\": 12, \"Plan\": { \"Node Type\": \"Seq Scan\", \
\"Actual Total Time\": 1.5, \"Actual Rows\": 3, \"Actual Loops\": 1, \"Shared Hit Blocks\": 90, \
\"Shared Read Blocks\": 0 } }
2026-11-21 10:45:02.005 UTC [7] me@shop LOG:  checkpoint starting: time
";

/// A table on the server, and queries of it: each gets another plan with random_page_cost at 1.1, and hashes 2 kB a
/// row, for which the planner charges next to nothing. That takes several times the limit that one run sets.
const SHOP: &str = "\
CREATE TABLE shop AS SELECT n, hashint4(n) AS place, repeat('x', 50) AS note FROM generate_series(1, 60000) n;
CREATE INDEX shop_place ON shop (place);
ANALYZE shop";
const QUERIES: &str = "\
-- name: a third
SELECT max(md5(repeat(note, 40))) FROM shop WHERE place BETWEEN 0 AND 1500000000;
-- name: a half
SELECT max(md5(repeat(note, 40))) FROM shop WHERE place >= 0;
";

/// Two jobs.
const JOBS: &str = "\
[one]
experiment = 'null'
cases = 1

[two]
experiment = 'null'
cases = 2
";

/// What is run before, and the words.
type CommandLine = (Option<String>, String);

/// Whether a run has the server to itself: one at a time makes its schema in a database.
fn takes_its_turn(words: &str) -> bool {
    words.contains("SERVER") && !words.contains("--dry-run")
}

/// Runs the words in a home of their own, after what has to be there.
fn outcome(place: &Place, (after, words): &CommandLine, witnesses: &[&Witness]) -> Outcome {
    let (after, words, user) = (after.as_deref(), words.as_str(), User::new());
    let run = |words: &str| -> Output {
        let words = place.words(words, user.home.path());
        let format = if table::has_document(&words) { "--format json " } else { "" };
        user.command(&format!("{format}{words}")).output().unwrap()
    };
    if let Some(left) = after.and_then(|after| after.strip_prefix("left ")) {
        let folder = user.temporary.path().join(left);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), [7; 5000]).unwrap();
    } else {
        for words in after.into_iter().flat_map(|after| after.split("; ")) {
            let output = run(words);
            assert!(output.status.success(), "{words}: {}", complaint(&output));
        }
    }
    // A damaged list of tables is refused, but where the tables are to be loaded again.
    if words.contains("--reload") {
        fs::create_dir(user.home.path().join("tables")).unwrap();
        let torn = r#"{ "format": "readpath.data/1", torn"#;
        fs::write(user.home.path().join("tables/manifest.json"), torn).unwrap();
    }
    let _alone = takes_its_turn(words).then(|| place.at_work.lock().unwrap());
    let before = witnesses.iter().map(|witness| witness.found(user.home.path())).collect();
    let start = Instant::now();
    let output = run(words);
    Outcome { output, took: start.elapsed(), user, before }
}

/// What others are held against, each run once.
type Plain = HashMap<CommandLine, OnceLock<Outcome>>;

/// What one of these came to; `None` where no run is held against it.
fn of_plain<'a>((place, plain): (&Place, &'a Plain), line: &CommandLine) -> Option<&'a Outcome> {
    plain.get(line).map(|one| one.get_or_init(|| outcome(place, line, &[])))
}

/// What a run is held against; `None` where all of its witnesses stand alone.
fn held_against(section: &Section, run: &Run) -> Option<CommandLine> {
    let words = run.against.as_ref().unwrap_or(&section.plain);
    let is_held = words != table::NOTHING && !run.options.iter().all(|(_, witness)| witness.stands_alone());
    is_held.then(|| (run.after.clone(), words.clone()))
}

/// What is wrong with the run, one sentence an option. One whose result depends on how much the machine does in a time
/// is made again where something is wrong, and so is what it is held against.
fn complaints((place, plain): (&Place, &Plain), section: &Section, run: &Run) -> Vec<String> {
    let witnesses: Vec<&Witness> = run.options.iter().map(|(_, witness)| witness).collect();
    let line = (run.after.clone(), run.words.clone());
    // A run that others are held against is not repeated, unless its witnesses need its files as they were before it.
    let needs_own = witnesses.iter().any(|witness| witness.looks_at_files());
    let shared = if needs_own { None } else { of_plain((place, plain), &line) };
    let own;
    let tried = match shared {
        Some(shared) => shared,
        None => {
            own = outcome(place, &line, &witnesses);
            &own
        }
    };
    let held = held_against(section, run);
    let mut found = judged(run, held.as_ref().and_then(|line| of_plain((place, plain), line)), tried);
    for _ in 1..TRIES {
        if found.is_empty() || !run.is_timed() {
            break;
        }
        let held = held.as_ref().map(|line| outcome(place, line, &[]));
        found = judged(run, held.as_ref(), &outcome(place, &line, &witnesses));
    }
    found
}

/// What is wrong with what a run came to, one sentence an option.
fn judged(run: &Run, held: Option<&Outcome>, tried: &Outcome) -> Vec<String> {
    let judge = |(at, (option, witness)): (usize, &(String, Witness))| {
        let reason = witness.judge(at, held, tried)?;
        Some(format!("readpath {}: {option}: {reason}", run.words))
    };
    run.options.iter().enumerate().filter_map(judge).collect()
}

#[test]
fn every_option_has_an_effect_or_is_refused_with_the_reason() {
    let (place, sections) = (Place::new(), sections());
    let runs = |section| -> Vec<(&Section, &Run)> {
        let section: &Section = section;
        section.runs.iter().filter(|run| place.has(section, run)).map(|run| (section, run)).collect()
    };
    let tried: Vec<(&Section, &Run)> = sections.iter().flat_map(runs).collect();
    let held = tried.iter().filter_map(|(section, run)| held_against(section, run));
    let plain: Plain = held.map(|line| (line, OnceLock::new())).collect();
    // One worker begins with those that take turns, so that the others need not wait for theirs.
    let (in_turn, others): (Vec<_>, Vec<_>) = tried.iter().partition(|(_, run)| takes_its_turn(&run.words));
    let queues = [in_turn, others].map(|runs| Mutex::new(runs.into_iter()));
    let found = Mutex::new(Vec::new());
    let work = |first: usize| {
        for queue in [&queues[first], &queues[1 - first]] {
            while let Some((section, run)) = { queue.lock().unwrap().next() } {
                let complaints = complaints((&place, &plain), section, run);
                found.lock().unwrap().extend(complaints);
            }
        }
    };
    thread::scope(|scope| (0..WORKERS).for_each(|worker| drop(scope.spawn(move || work(worker.min(1))))));
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{} of {} runs:\n{}", found.len(), tried.len(), found.join("\n"));
}

#[test]
fn every_option_of_the_command_line_is_in_the_table_on_every_kind_of_subject() {
    let (options, sections) = (options(), sections());
    let mut missing = Vec::new();
    for (command, options) in &options {
        if command == "ladder" {
            missing.extend(options.iter().filter(|option| !ladder::TRIED.contains(&option.as_str())).cloned());
            continue;
        }
        let of_command: Vec<&Section> = sections.iter().filter(|section| section.command() == *command).collect();
        // Also those that help and completions leave out: they are still parsed.
        let untried = |option: &&&str| !of_command.iter().any(|section| section.tries(option));
        missing.extend(table::GLOBALS.iter().filter(untried).map(|option| format!("{command}: {option}")));
        for section in &of_command {
            let known = options.iter().filter(|option| !table::GLOBALS.contains(&option.as_str()));
            let is_missing = |option: &&String| {
                let name = ALIASES.iter().find(|(alias, _)| alias == *option).map_or(option.as_str(), |(_, name)| name);
                let is_apart = table::PLACES.contains(&name) || ELSEWHERE.contains(&(section.title.as_str(), name));
                !section.is_refused() && !section.tries(name) && !is_apart
            };
            missing.extend(known.filter(is_missing).map(|option| format!("{}: {option}", section.title)));
        }
        if of_command.is_empty() {
            missing.push(format!("{command}: no section"));
        }
    }
    let unknown = sections.iter().filter(|section| !options.contains_key(&section.command()));
    missing.extend(unknown.map(|section| format!("{}: no such command", section.title)));
    assert!(missing.is_empty(), "not in the table:\n{}", missing.join("\n"));
}

#[test]
fn help_and_a_shell_show_the_common_options_that_a_command_takes_and_no_other() {
    let (options, sections) = (options(), sections());
    let commands: BTreeSet<String> = sections.iter().map(Section::command).collect();
    let mut wrong = Vec::new();
    for command in &commands {
        let help = options_of_help(command);
        let takes = |option: &str| {
            let mut of_command = sections.iter().filter(|section| section.command() == *command);
            of_command.any(|section| section.takes(option))
        };
        let offered = options.get(command).unwrap_or(&help);
        let is_shown = |option: &str| [&help, offered].map(|shown| shown.contains(option));
        let differs = table::GLOBALS.iter().filter(|&&option| is_shown(option) != [takes(option); 2]);
        wrong.extend(differs.map(|&option| format!("{command} {option}: takes it: {}", takes(option))));
    }
    assert!(commands.len() > 15 && wrong.is_empty(), "{} commands: {wrong:#?}", commands.len());
}
