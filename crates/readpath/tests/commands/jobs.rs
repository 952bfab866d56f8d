//! Job files: what they make, what is refused with its line, and that every file of `jobs/` does what it says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::children::interrupt;
use crate::user::{DEBIAN, User, complaint, has_debian};
use crate::waiting::{self, TRIES};

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents of all kept runs of a user, the oldest first.
fn kept(user: &User) -> Vec<Value> {
    let entries = fs::read_dir(user.store()).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    paths.iter().map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).collect()
}

/// What is said of a job file that cannot be; nothing is kept then.
fn refusal(user: &User, text: &str) -> String {
    user.file("a.toml", text.as_bytes());
    let said = user.refused("run a.toml", 2);
    assert!(!user.store().exists(), "{text}: something was kept");
    said
}

#[test]
fn every_mistake_in_a_job_file_is_one_sentence_with_its_line_and_nothing_is_measured() {
    let user = User::new();
    user.file("data", &[7; 1 << 16]);
    let sound = "[sound]\nexperiment = 'null'\n";
    for (text, line, words) in [
        ("[a]\nexperiment = 'disk'\npaths = 'null:'\ndept = 4\n", 4, vec!["'dept'", "'depth'", "readpath init disk"]),
        ("[a]\nexperiment = 'dsk'\n", 2, vec!["'dsk'", "'disk'"]),
        ("[a]\ncases = 1\n", 1, vec!["names no experiment", "ladder"]),
        ("\n\n[disk]\n", 3, vec!["also needs", "'paths'"]),
        ("[counters]\n", 1, vec!["'command'"]),
        ("[disk]\npaths = 'null:'\ndepth = 'deep'\n", 3, vec!["'depth'", "'deep'"]),
        ("[disk]\npaths = 'null:'\ndepth = true\n", 3, vec!["'depth' takes a whole number", "true"]),
        ("[disk]\npaths = 'null:'\ndepth = 2.5\n", 3, vec!["'depth'", "2.5"]),
        ("[disk]\npaths = 'null:'\ndepth = -1\n", 3, vec!["'depth'", "-1"]),
        ("[disk]\npaths = 'null:'\ndepth = 1979-05-27\n", 3, vec!["'depth' is a date"]),
        ("[disk]\npaths = 'null:'\ndepth = 99999999999999999999999999999999999999999\n", 3, vec!["'depth'", "large"]),
        ("[disk]\npaths = 'null:'\ndepth = [1, 2]\n", 3, vec!["takes one value", "[NAME.matrix]"]),
        ("[disk]\npaths = 'null:'\ndepth = {a = 1}\n", 3, vec!["no table 'depth'"]),
        ("[disk]\npaths = []\n", 2, vec!["'paths' is an empty list"]),
        ("[disk]\npaths = [['null:']]\n", 2, vec!["'paths' takes a path"]),
        ("[disk]\npaths = 'null:'\npattern = 'randm'\n", 3, vec!["'pattern'", "'randm'", "random, sequential"]),
        ("[disk]\npaths = 'null:'\nblock-size = '8 KiX'\n", 3, vec!["'block-size'", "is not a size"]),
        ("[disk]\npaths = 'null:'\nduration = 5\n", 3, vec!["'duration'", "is not a time"]),
        ("[disk]\npaths = 'null:'\nseek-distances = 'yes'\n", 3, vec!["'seek-distances' takes true or false", "yes"]),
        ("[disk]\npaths = 'data'\ndirect = false\n", 3, vec!["'direct' is the default", "buffered = true"]),
        ("[join]\ndirect = false\n", 2, vec!["'direct' is the default", "buffered = true"]),
        ("[disk]\npaths = 'null:'\ndepth = 0\n", 3, vec!["smallest 'depth' is 1"]),
        ("[disk]\npaths = 'null:'\ncount = 1\nduration = '1s'\n", 3, vec!["'count'", "'duration'", "conflicts with"]),
        ("[disk]\npaths = 'null:'\nio-method = 'sync'\n", 3, vec!["'io-method' has no effect", "null:"]),
        ("[disk]\npaths = 'null:'\ndirect = true\n", 3, vec![": 'direct' has no effect", "null:"]),
        ("[disk]\npaths = 'null:'\ndirect = 'yes'\n", 3, vec!["'direct' takes true, and not"]),
        ("[disk]\npaths = 'null:'\ndepth = '1,2'\n", 3, vec!["write one number; [NAME.matrix]"]),
        ("[disk]\npaths = 'nowhere'\n", 2, vec!["'paths'", "nowhere", "No such file"]),
        ("[disk]\npaths = 'null'\n", 2, vec!["'paths' names what cannot be read", "null does not exist: write null:"]),
        ("[ladder]\non = 'hdd-7200'\n", 2, vec!["'on'", "write model:hdd-7200 if you mean"]),
        ("[ladder]\nsize = '1MiB'\n", 2, vec!["'size' sets the size of the test file", "16 MiB or more"]),
        ("[disk]\npaths = ['data', 'model:sd']\n", 2, vec!["model 'sd'"]),
        ("[disk]\npaths = '.'\n", 2, vec!["'paths'", "directory"]),
        ("[disk]\npaths = 'null:'\nstore = '/tmp'\n", 3, vec!["--store", "readpath run"]),
        ("[lio]\non = 'postgres://a:secret@h/db'\ndry-run = true\n", 3, vec!["--dry-run"]),
        ("[lio]\ntouch = 'column-0'\n", 2, vec!["counted from 1"]),
        ("[profile]\nfiles = '-'\n", 2, vec!["standard input"]),
        ("[profile]\nfiles = 'gone.trc'\n", 2, vec!["gone.trc", "No such file"]),
        ("[calibrate]\non = 'postgres://me@h/db'\nqueries = 'gone.sql'\n", 3, vec!["gone.sql", "No such file"]),
        ("[null]\n[null.matrix]\ncases = []\n", 3, vec!["'cases'", "empty list"]),
        ("[null]\n[null.matrix]\ncases = 3\n", 3, vec!["cases = [3]"]),
        ("[null]\nmatrix = 3\n", 2, vec!["[NAME.matrix]"]),
        ("[null]\ncases = 1\n[null.matrix]\ncases = [1, 2]\n", 4, vec!["'cases'", "second time"]),
        ("[null]\n[null.matrix]\nexperiment = ['disk']\n", 3, vec!["one experiment"]),
        ("[a]\n[a.matrix]\nexperiment = ['disk', 'lio']\n", 3, vec!["one experiment"]),
        ("[null]\n[null.matrix]\ncases = [1, 2, 1]\n", 3, vec!["'cases' has 1 more than once"]),
        ("[lio]\nmatrix.on = ['postgres://a:secret@h/db', 'postgres://a:secret@h/db']\n", 2, vec!["more than once"]),
        ("[null]\n[null.matrx]\ncases = [1]\n", 2, vec!["'matrx'", "'matrix'"]),
        ("[defaults]\nmatrix.cases = [1]\n[null]\n", 2, vec!["[defaults] has no matrix"]),
        ("[defaults]\ncase = 1\n[null]\n", 2, vec!["no job of this file", "'case'", "'cases'"]),
        ("[defaults]\ndepth = 1\n[null]\n", 2, vec!["no job of this file", "'depth'"]),
        ("cases = 1\n[null]\n", 1, vec!["'cases' stands in no job"]),
        ("[[null]]\ncases = 1\n", 1, vec!["[[null]]", "[NAME]"]),
        ("['a b']\nexperiment = 'null'\n", 1, vec!["'a b' names no job"]),
        ("[null]\nblock_size = 1\n", 2, vec!["'block-size'"]),
        ("[null]\ncases = 1\ncases = 2\n", 3, vec!["not TOML", "duplicate"]),
        ("[null\n", 1, vec!["not TOML"]),
        ("[null]\ncases = 1 2\n", 2, vec!["not TOML"]),
    ] {
        let said = refusal(&user, &format!("{text}\n{sound}"));
        assert_eq!(said.trim_end().lines().count(), 1, "{text}: {said}");
        assert!(said.starts_with(&format!("readpath: a.toml:{line}: ")), "{text}: {said}");
        assert!(words.iter().all(|word| said.contains(word)) && !said.contains("secret"), "{text}: {said}");
    }
}

#[test]
fn a_value_of_several_lines_is_quoted_on_one_with_its_control_characters_escaped() {
    let user = User::new();
    for (text, words) in [
        ("[disk]\npaths = 'null:'\npattern = \"a\\nb\\u001b[2K\"\n", r"'pattern' cannot be 'a\nb\u{1b}[2K'"),
        ("[disk]\npaths = 'null:'\nblock-size = \"8\\nKiX\"\n", r"'block-size' cannot be '8\nKiX'"),
        ("[disk]\npaths = \"no\\nwhere\"\n", r"'paths' names what cannot be read: no\nwhere"),
        ("[null]\n\"ca\\nses\" = 1\n", r"no parameter 'ca\nses'"),
    ] {
        let said = refusal(&user, text);
        assert!(said.trim_end().lines().count() == 1 && said.contains(words), "{text}: {said}");
    }
}

#[test]
fn what_is_no_job_file_at_all_is_refused_with_its_name() {
    let user = User::new();
    let deep = format!("[null]\ncases = {}1{}", "[".repeat(50_000), "]".repeat(50_000));
    let matrix = (0..8).map(|at| format!("a{at} = [{}]\n", "1,".repeat(100))).collect::<String>();
    let keys = (0..21).map(|at| format!("a{at} = 1\n")).collect::<String>();
    for (bytes, words) in [
        (Vec::new(), "holds no job"),
        (b"# nothing\n".to_vec(), "holds no job"),
        (b"[null]\ncases = '\xff'\n".to_vec(), "a.toml:2: this line is not UTF-8"),
        (vec![b'#'; (1 << 20) + 1], "larger than 1 MiB"),
        (vec![0; 1000], "not TOML"),
        (deep.into_bytes(), "not TOML"),
        (format!("[null]\n{}", "x.".repeat(50_000)).into_bytes(), "not TOML"),
        ((0..50_000).map(|at| format!("[a{at}]\n")).collect::<String>().into_bytes(), "50000 jobs"),
        ((0..50_000).map(|at| format!("a{at} = 1\n")).collect::<String>().into_bytes(), "more problems"),
        (format!("[null]\n{}", (0..50_000).map(|at| format!("a{at} = 1\n")).collect::<String>()).into_bytes(), "more"),
        (format!("[null]\n[null.matrix]\ncases = [{}]\n", "1,".repeat(2000)).into_bytes(), "2000 runs"),
        (format!("[null]\n[null.matrix]\n{matrix}").into_bytes(), "no parameter 'a0'"),
        (format!("[null]\n{keys}").into_bytes(), "there is 1 more problem."),
        (format!("[null]\n{} = 1\n", "k".repeat(500_000)).into_bytes(), "kkk…'"),
    ] {
        user.file("a.toml", &bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        let took = || {
            let start = Instant::now();
            let said = user.refused("run a.toml", 2);
            assert!(said.contains(words) && said.len() < 10_000, "{shown}: {said:.1000}");
            start.elapsed()
        };
        let is_long = |took: &Duration| *took > Duration::from_secs(20);
        let long: Vec<Duration> = (0..TRIES).map(|_| took()).take_while(is_long).collect();
        assert!(long.len() < TRIES, "{shown} took {long:?}");
    }
    assert!(user.refused("run gone.toml", 2).contains("gone.toml: this job file cannot be read"));
    assert!(user.refused("run .", 2).contains("cannot be read"));
}

#[test]
fn all_problems_of_a_file_are_said_at_once() {
    let lines = |text: &str| -> Vec<String> {
        let said = refusal(&User::new(), text);
        let place = |line: &str| line.split(": ").find(|part| part.contains(".toml")).unwrap().to_string();
        said.lines().map(place).collect()
    };
    let found = lines("[null]\ncase = 1\n\n[disk]\npath = 'a'\n\n[b]\nexperiment = 'null'\ncases = 'x'\n");
    let head = |count| format!("a.toml has {count} problems, and nothing was measured:");
    assert_eq!(found, [&head(3), "a.toml:2", "a.toml:5", "a.toml:9"]);
    // A key, two values and a file.
    let found = lines("[disk]\npaths = 'nosuchfile'\ncount = -4\ndepth = 'many'\nduratoin = '1s'\n");
    assert_eq!(found, [&head(4), "a.toml:2", "a.toml:3", "a.toml:4", "a.toml:5"]);
    // Lines that are no TOML; the other keys of a table in which one stands twice.
    let found = lines("[disk]\ndepth 4\npaths = 'null:'\ncount = = 2\n");
    assert_eq!(found, [&head(2), "a.toml:2", "a.toml:4"]);
    // Behind a list that is not closed, no line is what it seems to be.
    let found = lines("[null]\npause 1\ncases = [1, 2\npause = '1s'\n\n[other]\nexperiment = 'null'\n");
    assert_eq!(found, [&head(2), "a.toml:2", "a.toml:4"]);
    let found = lines("[disk]\npaths = 'null:'\ndepth = 1\ndepth = 2\nduratoin = '1s'\ncount = 'x'\ncount = 1\n");
    assert_eq!(found, [&head(4), "a.toml:4", "a.toml:5", "a.toml:6", "a.toml:7"]);
    // A matrix that makes no run hides no value.
    let found = lines("[null]\npause = 'soon'\n[null.matrix]\ncases = []\n");
    assert_eq!(found, [&head(2), "a.toml:2", "a.toml:4"]);
    // What another experiment knows may be known to the job that names none.
    let found = lines("[defaults]\nduraton = '1s'\ndepth = 2\n\n[a]\nexperiment = 'dsk'\n");
    assert_eq!(found, [&head(2), "a.toml:2", "a.toml:6"]);
}

#[test]
fn runs_that_would_write_one_flame_graph_are_refused_before_the_first_of_them_measures() {
    let user = User::new();
    let said = refusal(&user, "[lio]\nflamegraph = 'walk.svg'\nmatrix.seed = [1, 2, 3]\n");
    assert!(said.contains("a.toml:2: 'flamegraph' names one file for several runs"), "{said}");
    assert!(said.contains("force = true") && said.lines().count() == 1, "{said}");
    let job = |name: &str, file: &str| format!("[{name}]\nexperiment = 'lio'\nflamegraph = '{file}'\n");
    let said = refusal(&user, &(job("a", "walk.svg") + &job("b", "./walk.svg")));
    assert!(said.contains("a.toml:6: 'flamegraph' names one file"), "{said}");
    let runs = |words: &str| user.ok(&format!("run a.toml --dry-run {words}")).lines().count();
    assert_eq!(runs("--name b"), 1);
    assert_eq!(runs("--set b.flamegraph=other.svg"), 2);
    assert_eq!(runs("--set force=true"), 2);
    user.file("a.toml", b"[lio]\nmatrix.flamegraph = ['one.svg', 'two.svg']\n");
    assert_eq!(runs(""), 2);
}

#[test]
fn what_is_wrong_with_a_job_that_is_left_out_is_in_the_way_of_no_other() {
    let user = User::new();
    for other in [
        "experiment = 'disk'\npaths = ['missing.dbf']\n",
        "experiment = 'nul'\n",
        "experiment = 'null'\ncase = 1\n",
        "experiment = 'null'\ncases = 1979-05-27\n",
        "experiment = 'null'\ncases = -1\n",
        "experiment = 'null'\nmatrix.cases = []\n",
        "experiment = 'null'\nmatrix.cases = 7\n",
    ] {
        for good in ["[good]\nexperiment = 'null'\ncases = 1\n", "[good]\nexperiment = 'null'\ncase = 1\n"] {
            user.file("a.toml", format!("{good}[other]\n{other}").as_bytes());
            user.refused("run a.toml --dry-run", 2);
            user.refused("run a.toml --dry-run --name other", 2);
            match good.contains("cases") {
                true => {
                    assert_eq!(user.ok("run a.toml --dry-run --name good"), "readpath null --cases 1  # good\n")
                }
                // What is wrong with the chosen one is said, and nothing else.
                false => {
                    let said = user.refused("run a.toml --dry-run --name good", 2);
                    assert!(said.contains("'case'") && said.lines().count() == 1, "{other}: {said}");
                }
            }
        }
    }
    user.file("a.toml", b"[defaults]\ndepth = 4\n[good]\nexperiment = 'null'\n[disk]\npaths = ['missing.dbf']\n");
    assert_eq!(user.ok("run a.toml --dry-run --name good --set disk.seed=7").lines().count(), 1);
    let said = user.refused("run a.toml --dry-run --name godo", 2);
    assert!(said.contains("has no such job; it has good, disk"), "{said}");
}

#[test]
fn a_slip_in_set_is_answered_with_what_the_jobs_of_the_file_have() {
    let user = User::new();
    user.file("a.toml", b"[fast]\nexperiment = 'null'\n[slow]\nexperiment = 'null'\n");
    let said = |set: &str| user.refused(&format!("run a.toml --dry-run --set {set}"), 2);
    for (set, expected) in [
        ("nosuch.cases=3", "this file has no job 'nosuch': it has fast, slow"),
        ("fst.cases=3", "this file has no job 'fst' (did you mean 'fast'?)"),
        ("fast.case=3", "job 'fast' has no parameter 'case' (did you mean 'cases'?)"),
        ("fast.depth=3", "job 'fast' has no parameter 'depth'"),
        ("case=3", "no job of this file has a parameter 'case' (did you mean 'cases'?)"),
    ] {
        assert!(said(set).contains(expected), "{set}: {}", said(set));
    }
    // 'touch', which is near, is a parameter of another experiment.
    assert!(!said("nosuch=3").contains("did you mean"), "{}", said("nosuch=3"));
}

const THREE: &str = "\
# Three jobs, of which one has a matrix.
[defaults]
cases = 2

[null]

[other]
experiment = 'null'
cases = 1

[varied]
experiment = 'null'
matrix.pause = ['1ms', '2ms']
matrix.cases = [3, 4]
";

#[test]
fn a_dry_run_lists_a_command_line_for_each_run_that_makes_the_same_run() {
    let user = User::new();
    user.file("a.toml", THREE.as_bytes());
    let listed = user.ok("run a.toml --dry-run");
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines[0], "readpath null --cases 2  # null");
    assert_eq!(lines[1], "readpath null --cases 1  # other");
    assert_eq!(lines[2], "readpath null --cases 3 --pause 1ms  # varied/pause=1ms,cases=3");
    assert_eq!(lines[5], "readpath null --cases 4 --pause 2ms  # varied/pause=2ms,cases=4");
    assert_eq!(lines.len(), 6);
    assert!(!user.store().exists());
    let words = |line: &str| line.split("  #").next().unwrap().split(' ').skip(1).map(String::from).collect::<Vec<_>>();
    let words = words(lines[2]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(user.document(&words)["cases"].as_array().unwrap().len(), 3);
}

#[test]
fn every_run_of_a_job_file_is_kept_with_its_job_and_the_hash_of_the_file() {
    let user = User::new();
    let path = user.file("a.toml", THREE.as_bytes());
    let pages = user.ok("run a.toml");
    assert_eq!(pages.matches("readpath null").count(), 6, "{pages}");
    let runs = kept(&user);
    let counts: Vec<usize> = runs.iter().map(|run| run["cases"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [2, 1, 3, 4, 3, 4]);
    let sum = String::from_utf8(Command::new("sha256sum").arg(&path).output().unwrap().stdout).unwrap();
    for run in &runs {
        assert_eq!(run["job"]["sha256"].as_str(), sum.split(' ').next());
        assert_eq!(run["job"]["file"], "a.toml");
    }
    let last = &runs[5];
    assert_eq!(last["job"]["name"], "varied/pause=2ms,cases=4");
    assert_eq!(last["job"]["parameters"], serde_json::json!({"cases": 4, "pause": "2ms"}));
    let words: Vec<&str> =
        last["command"].as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words, ["null", "--cases", "4", "--pause", "2ms"]);
    assert!(user.ok("show last").contains("job varied/pause=2ms,cases=4"));
}

#[test]
fn the_command_line_names_jobs_and_sets_parameters_of_all_or_of_one() {
    let user = User::new();
    user.file("a.toml", THREE.as_bytes());
    let listed = |words: &str| -> Vec<String> {
        let text = user.ok(&format!("run a.toml --dry-run {words}"));
        text.lines().map(|line| line.split("  #").next().unwrap().replace("readpath null --cases ", "")).collect()
    };
    assert_eq!(listed("--name other"), ["1"]);
    assert_eq!(listed("--name other,null"), ["2", "1"]);
    assert_eq!(listed("--set cases=9"), ["9", "9", "9 --pause 1ms", "9 --pause 2ms"]);
    assert_eq!(listed("--set other.cases=9 --name other"), ["9"]);
    assert_eq!(listed("--set other.cases=9 --set cases=8 --name other,null"), ["8", "9"]);
    assert_eq!(listed("--set varied.cases=[5,6] --set pause=3ms --name varied"), ["5 --pause 3ms", "6 --pause 3ms"]);
    for (words, reason) in [
        ("--name third", "has no such job; it has null, other, varied"),
        ("--set case=1", "--set case=1: no job of this file has a parameter 'case' (did you mean 'cases'?)"),
        ("--set third.cases=1", "this file has no job 'third'"),
        ("--set cases", "KEY=VALUE"),
        ("--set cases=x", "--set cases=x: 'cases' cannot be 'x'"),
        ("--set =1", "KEY=VALUE"),
    ] {
        let said = user.refused(&format!("run a.toml {words}"), 2);
        assert!(said.contains(reason), "{words}: {said}");
    }
    assert!(!user.store().exists());
}

#[test]
fn a_file_or_folder_that_a_later_run_would_lack_is_named_before_the_first_one_is_made() {
    let user = User::new();
    user.file("tiny", &[7; 5000]);
    user.file("large", &vec![7_u8; 4 << 20]);
    user.file("empty", b"");
    for (text, line, words) in [
        ("[profile]\nfiles = 'k/*.trx'\n", 2, ["'files' names what cannot be read", "no file matches k/*.trx"]),
        ("[disk]\npaths = 'tiny'\nbuffered = true\n", 1, ["blocks of 8 KiB do not fit into", "tiny, which holds"]),
        (
            "[disk]\npaths = 'tiny'\nbuffered = true\nblock-size = '1KiB'\noffset = '1MiB'\n",
            5,
            ["tiny holds", "are not in it"],
        ),
        ("[roundtrip]\npaths = 'tiny'\n", 1, ["tiny is too small: a round trip reads", "and needs 3 MiB"]),
        ("[roundtrip]\npaths = ['tiny', './tiny']\n", 1, ["./tiny is tiny, which was named before", "name it once"]),
        ("[roundtrip]\npaths = 'large'\nevict = true\n", 3, ["'evict' has no effect here", "past the page cache"]),
        ("[ladder]\non = 'tiny'\n", 1, ["tiny holds", "too small for a ladder"]),
        ("[disk]\npaths = ['large', 'empty']\n", 1, ["empty is empty", "that holds data"]),
        ("[roundtrip]\npaths = '/dev/null'\n", 1, ["/dev/null is a character device", "can be measured"]),
        ("[ladder]\non = 'empty'\n", 1, ["empty is empty", "that holds data"]),
        ("[lio]\non = 'sqlite:gone.db'\n", 2, ["sqlite:gone.db cannot be read", "No such file"]),
        ("[join]\non = 'postgres:/nowhere'\n", 1, ["/nowhere", "no PostgreSQL server"]),
        ("[profile]\non = 'postgres:/nowhere'\ncommand = ['true']\n", 1, ["/nowhere", "no PostgreSQL server"]),
        ("[profile]\non = 'postgres://h/x?service=gone'\n", 1, ["cannot be completed", "the service gone"]),
        ("[scan]\non = 'postgres:18'\nrows = 5000\n", 3, ["rows = 5000 is too few", "at least 10000"]),
        (
            "[calibrate]\non = 'postgres://me@h/db'\nqueries = 'tiny'\n",
            3,
            ["'queries' names none that can be taken: tiny", "is no text"],
        ),
        ("[ladder]\ndir = 'nodir'\n", 2, ["'dir' names no directory", "nodir: No such file"]),
        ("[ladder]\ndir = 'tiny'\n", 2, ["'dir' names no directory", "tiny: not a directory"]),
    ] {
        let said = refusal(&user, &format!("{text}\n[sound]\nexperiment = 'null'\n"));
        assert!(said.starts_with(&format!("readpath: a.toml:{line}: ")), "{text}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{text}: {said}");
    }
    let said = refusal(&user, "[profile]\nfiles = ['gone.trc', 'tiny', 'lost.trc']\n");
    assert!(said.contains("gone.trc: No such file") && said.contains("lost.trc: No such file"), "{said}");
    assert_eq!(said.matches("a.toml:2: 'files' names what cannot be read").count(), 2, "{said}");
    user.file("k.trx", b"abc");
    user.file("a.toml", b"[profile]\nfiles = '*.trx'\n\n[ladder]\ndir = '.'\n");
    assert_eq!(user.ok("run a.toml --dry-run").lines().count(), 2);
}

#[test]
fn a_run_that_fails_leaves_the_others_kept_and_the_exit_code_says_so() {
    let user = User::new();
    user.file("data", b"abc");
    let text = "[before]\nexperiment = 'null'\n\n[fails]\nexperiment = 'profile'\nfiles = 'data'\n\n\
                [killed]\nexperiment = 'counters'\ncommand = ['sh', '-c', 'kill -9 $PPID']\n\n\
                [after]\nexperiment = 'null'\n";
    user.file("a.toml", text.as_bytes());
    let output = user.run("run a.toml");
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("2 of 4 runs failed: fails (exit code"), "{said}");
    assert!(said.contains("; killed (signal 9)"), "{said}");
    let jobs: Vec<Value> = kept(&user).iter().map(|run| run["job"]["name"].clone()).collect();
    assert_eq!(jobs, ["before", "after"]);
}

#[test]
fn runs_whose_pages_cannot_be_printed_are_made_and_kept_all_the_same() {
    let user = User::new();
    user.file("a.toml", b"[null]\n[null.matrix]\ncases = [1, 2, 3]\n");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = user.command("run a.toml").stdout(full).output().unwrap();
    let said = complaint(&output);
    assert_eq!((output.status.code(), kept(&user).len()), (Some(1), 3), "{said}");
    assert!(said.contains("3 of 3 runs failed"), "{said}");
}

#[test]
fn a_program_that_is_replaced_during_a_job_still_makes_the_other_runs() {
    let user = User::new();
    let program = user.home.path().join("replaced");
    // A copy might still be open for writing in another test's child, and could not be run then.
    fs::hard_link(env!("CARGO_BIN_EXE_readpath"), &program).unwrap();
    user.file("a.toml", b"[first]\nexperiment = 'counters'\ncommand = ['rm', '-f', 'replaced']\n\n[null]\n");
    let mut command = Command::new(&program);
    command.args(["run", "a.toml"]).env_clear().env("HOME", user.home.path()).current_dir(user.home.path());
    let output = command.env("TMPDIR", user.temporary.path()).env("PATH", "/usr/bin:/bin").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    assert!(!program.exists());
    let jobs: Vec<Value> = kept(&user).iter().map(|run| run["job"]["name"].clone()).collect();
    assert_eq!(jobs, ["first", "null"]);
}

#[test]
fn a_signal_ends_the_run_under_way_and_no_other_is_made() {
    let user = User::new();
    let text = "[defaults]\nexperiment = 'null'\npause = '50ms'\ncases = 1000\n\n[first]\n\n[second]\n";
    user.file("a.toml", text.as_bytes());
    let child = user.command("run a.toml").spawn().unwrap();
    waiting::until("a case is kept", || !kept(&user).is_empty());
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    let runs = kept(&user);
    assert_eq!(runs.len(), 1);
    let ids: Vec<&str> = crate::user::ids(&runs[0]);
    assert!(ids.contains(&"interrupted"), "{ids:?}");
    assert!(complaint(&output).contains("the signal came after 0 of 2 runs"), "{}", complaint(&output));
}

#[test]
fn a_killed_job_leaves_no_process_that_goes_on_measuring() {
    let user = User::new();
    user.file("a.toml", b"[null]\npause = '50ms'\ncases = 100000\n");
    let mut child = user.command("run a.toml").spawn().unwrap();
    waiting::until("a case is kept", || !kept(&user).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let is_ended = |run: &Value| run["findings"].as_array().unwrap().iter().any(|one| one["id"] == "interrupted");
    waiting::until("the run ends with its job", || is_ended(&kept(&user)[0]));
}

#[test]
fn no_password_of_a_job_file_is_kept_or_shown() {
    let user = User::new();
    let small = "payload = '1MiB'\nrepeat = 1\nrow-length = 250\ncolumns = 1\n";
    let matrix = "[lio.matrix]\non = ['postgres://me:secret@127.0.0.1:1/db', 'engine']\n";
    user.file("a.toml", format!("[lio]\n{small}{matrix}").as_bytes());
    assert!(!user.ok("run a.toml --dry-run").contains("secret"));
    let output = user.run("run a.toml");
    let said = format!("{}{}", complaint(&output), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(1), "there is no such server: {said}");
    assert!(said.contains("1 of 2 runs failed") && !said.contains("secret"), "{said}");
    let runs = kept(&user);
    assert!(!runs.is_empty() && runs.iter().all(|run| !run.to_string().contains("secret")), "{runs:?}");
    for wrong in [
        "[disk]\npaths = 'postgres://me:secret@h/db'\n",
        "[disk]\npaths = 'null:'\nblock-size = 'postgres://me:secret@h/db'\n",
        "[disk]\npaths = 'null:'\npattern = 'postgres://me:secret@h/db'\n",
        "[disk]\npaths = [['postgres://me:secret@h/db']]\n",
        "[lio]\non = 'postgres://me:secret@h:port/db'\n",
        "[lio]\n[lio.matrix]\non = 'postgres://me:secret@h/db'\n",
        "[calibrate]\non = 'postgres://me:secret@h/db'\nqueries = 'gone.sql'\nrun = true\npasses = 0\n",
    ] {
        user.file("b.toml", wrong.as_bytes());
        let said = user.refused("run b.toml", 2);
        assert!(!said.contains("secret"), "{wrong}: {said}");
    }
    let said = user.refused("run a.toml --set on=postgres://me:secret@h/db --set touch=postgres://me:secret@h/db", 2);
    assert!(said.contains("--set touch=postgres://me@h/db") && !said.contains("secret"), "{said}");
}

#[test]
fn documents_of_several_runs_stand_one_after_the_other_and_nothing_else_does() {
    let user = User::new();
    user.file("a.toml", THREE.as_bytes());
    let text = user.ok("run a.toml --format json --no-store");
    let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let names: Vec<Value> = documents.map(|document| document.unwrap()["job"]["name"].clone()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert_eq!((&names[0], &names[1]), (&"null".into(), &"other".into()));
    assert!(!user.store().exists());
    let help = user.ok("run --help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("the documents are printed one after the other, as jq reads them"), "{help}");
}

#[test]
fn rows_of_several_runs_have_one_heading_as_long_as_their_columns_are_the_same() {
    let user = User::new();
    user.file("a.toml", THREE.as_bytes());
    let text = user.ok("run a.toml --format csv --no-store");
    assert!(text.starts_with("run,experiment,repetition,metric,"), "{text}");
    assert_eq!(
        (text.matches("run,experiment,").count(), text.lines().count()),
        (1, 1 + 2 + 1 + 3 + 4 + 3 + 4),
        "{text}"
    );
    let other = "[null]\ncases = 1\n[counters]\ncommand = ['true']\n[again]\nexperiment = 'null'\ncases = 1\n";
    user.file("b.toml", other.as_bytes());
    let text = user.ok("run b.toml --format csv --no-store");
    assert_eq!(text.matches("run,experiment,").count(), 3, "{text}");
    let help = user.ok("run --help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("another heading is printed wherever the columns change"), "{help}");
}

#[test]
fn a_store_that_cannot_be_used_is_found_before_the_first_run() {
    let user = User::new();
    user.file("a.toml", THREE.as_bytes());
    user.file("taken", b"");
    let said = user.refused("run a.toml --store taken", 3);
    assert!(said.contains("taken") && !said.contains("run 1 of"), "{said}");
}

#[test]
fn a_run_gives_the_job_file_that_makes_it_again() {
    let user = User::new();
    user.file("data file", &[7; 1 << 20]);
    let text = "[mine]\nexperiment = 'disk'\npaths = ['data file', 'null:']\ncount = 32\nzones = ['outer', 'inner']\n\
                span = '64KiB'\nworkers = 2\n";
    user.file("a.toml", text.as_bytes());
    let (first, again) = (user.ok("run a.toml --dry-run"), {
        user.ok("run a.toml");
        let again = user.ok("show last --job");
        user.file("b.toml", again.as_bytes());
        assert!(again.contains("\n[mine]\n") && again.contains("\n# seed = "), "{again}");
        user.ok("run b.toml --dry-run")
    });
    assert_eq!(first, again);
    user.ok(&["counters", "--no-store", "--", "true", "a\n[b]"]);
    user.ok(&["counters", "--", "echo", "a\n[b]\n\"c\" 'd' \\ \t#"]);
    user.file("c.toml", user.ok("show last --job").as_bytes());
    let output = user.ok("run c.toml --no-store");
    assert!(output.starts_with("a\n[b]\n\"c\" 'd' \\ \t#"), "{output}");
}

#[test]
fn a_document_from_elsewhere_cannot_put_a_job_of_its_own_into_the_file() {
    let user = User::new();
    let mut document = user.document("null --cases 1");
    document["id"] = "a\n[evil]\nexperiment = 'counters'".into();
    document["job"] =
        serde_json::json!({"name": "a]\n[evil]", "file": "\n[evil]", "sha256": "\r[evil]", "parameters": {}});
    user.file("foreign.json", document.to_string().as_bytes());
    user.file("a.toml", user.ok("show ./foreign.json --job").as_bytes());
    assert_eq!(user.ok("run a.toml --dry-run"), "readpath null --cases 1  # null\n");
    document["command"] = serde_json::json!(["readpath", "rm", "-rf"]);
    user.file("foreign.json", document.to_string().as_bytes());
    let said = user.refused("show ./foreign.json --job", 1);
    assert!(said.contains("no longer takes the command line"), "{said}");
}

/// The experiments, as the help of `readpath init` lists them.
const EXPERIMENTS: [&str; 9] =
    ["ladder", "disk", "roundtrip", "lio", "counters", "scan", "join", "calibrate", "profile"];

/// Options of experiments that are no parameters.
const APART: [&str; 8] =
    ["--format", "--store", "--no-store", "--quiet", "--dry-run", "--help", "--version", "--inner-rows"];

#[test]
fn a_file_to_begin_with_has_every_option_and_every_default_is_taken() {
    let user = User::new();
    for name in ["/data/old.dbf", "orcl_ora_4711.trc"] {
        let path = user.home.path().join(name.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![7; 4 << 20]).unwrap();
    }
    let mut wrong = Vec::new();
    for experiment in EXPERIMENTS {
        let text = user.ok(&format!("init {experiment}")).replace("/data/old.dbf", "data/old.dbf");
        assert!(!text.contains("direct = false"), "what holds anyway is shown as it holds: {text}");
        let meaning = text.lines().zip(text.lines().skip(1)).find(|(_, line)| *line == "# direct = true");
        assert!(meaning.is_none_or(|(meaning, _)| meaning.ends_with("(only true)")), "false is refused: {text}");
        user.file("a.toml", text.as_bytes());
        let plain = user.ok("run a.toml --dry-run");
        assert!(plain.starts_with(&format!("readpath {experiment}")), "{plain}");
        let help = user.ok(&format!("{experiment} --help"));
        let options: BTreeSet<&str> = help
            .split_whitespace()
            .filter(|word| word.starts_with("--") && word.len() > 2)
            .map(|word| word.split(['=', '[', ',', '`', '.', ';', ':', ')']).next().unwrap())
            .collect();
        let keys: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim_start_matches("# ").split_once(" = "))
            .map(|(key, _)| key)
            .collect();
        for key in keys.iter().filter(|key| !["experiment", "paths", "files", "command"].contains(key)) {
            assert!(options.contains(format!("--{key}").as_str()), "{experiment}: {key} is no option");
        }
        // A line of the help begins with its option, and one of prose may begin with another's name.
        let own = help.lines().filter_map(|line| line.trim_start().strip_prefix("--")?.split([' ', '[', '=']).next());
        let is_name = |word: &str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        for option in own.filter(|option| is_name(option) && !APART.contains(&format!("--{option}").as_str())) {
            assert!(keys.contains(&option), "{experiment}: init does not list {option}");
        }
        let parameters = text.split("# A matrix").next().unwrap();
        for line in parameters.lines().filter(|line| line.starts_with("# ") && line.contains(" = ")) {
            let with = text.replacen(&format!("\n{line}\n"), &format!("\n{}\n", &line[2..]), 1);
            user.file("b.toml", with.as_bytes());
            let output = user.run("run b.toml --dry-run");
            let said = complaint(&output);
            // A parameter may need another one, exclude it, or name what is not here; none is written wrongly.
            let signs = ["cannot be", "takes", "TOML", "no parameter", "not a parameter"];
            let is_wrong = signs.iter().any(|word| said.contains(word));
            if is_wrong && !said.contains("names what cannot be read") {
                wrong.push(format!("{experiment}: {line}: {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn a_file_to_begin_with_replaces_nothing_unless_it_is_told_to() {
    let user = User::new();
    user.file("mine.toml", b"mine");
    let said = user.refused("init disk -o mine.toml", 2);
    assert!(said.contains("mine.toml is there already") && said.contains("--force"), "{said}");
    assert_eq!(fs::read(user.home.path().join("mine.toml")).unwrap(), b"mine");
    user.ok("init disk -o mine.toml --force");
    assert!(fs::read_to_string(user.home.path().join("mine.toml")).unwrap().contains("[disk]"));
    for words in ["init disk -o - --force", "report last -o - --force"] {
        let said = user.refused(words, 2);
        assert!(said.contains("--force has no effect here: standard output replaces no file"), "{words}: {said}");
    }
    assert!(user.refused("init dsk", 2).contains("'disk'"));
}

/// What makes the files of `jobs/` small. Where the machine is busy, a read may begin tens of milliseconds late, and
/// a random one of 1 MiB from `model:hdd-7200` takes 35 ms, at most 52.
const SMALL: [(&str, &str); 12] = [
    ("asynchronous-reads.toml", "--set rows=2000 --set outer-rows=200 --set repeat=1"),
    ("batch-size.toml", "--set rows=2000 --set outer-rows=200 --set repeat=1"),
    ("changed-rows.toml", "--set payload=1MiB --set repeat=1"),
    ("clustering.toml", "--set rows=2000 --set outer-rows=200 --set repeat=1"),
    ("columns-or-rows.toml", "--set rows=20000 --set repeat=1 --set no-valgrind=true"),
    ("page-cache.toml", "--set duration=200ms --set blocks=16"),
    ("planner-constants.toml", ""),
    ("queue-depth.toml", "--set duration=200ms"),
    ("request-size.toml", "--set duration=500ms"),
    ("round-trip.toml", "--set blocks=16"),
    ("wide-rows.toml", "--set payload=1MiB --set repeat=1"),
    ("zones.toml", "--set zones.count=64"),
];

#[test]
fn every_question_of_the_folder_jobs_is_answered_by_its_file() {
    let mut files: Vec<String> = fs::read_dir(root().join("jobs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, SMALL.map(|(file, _)| file));
    let chapter = fs::read_to_string(root().join("docs/guide/src/job-files.md")).unwrap();
    for (file, small) in SMALL {
        let path = root().join("jobs").join(file);
        let text = fs::read_to_string(&path).unwrap();
        let question = text.lines().next().unwrap();
        assert!(question.starts_with("# ") && question.ends_with('?'), "{file} begins with {question}");
        let row = format!("| `jobs/{file}` | {} |", &question[2..]);
        assert!(chapter.contains(&row), "the chapter on job files lacks {row}");
        // The guide says batches or prefetches, and relies on.
        assert!(!text.contains("gather") && !text.contains("leans on"), "{file}: {text}");
        if small.is_empty() {
            continue;
        }
        let user = User::new();
        let listed = user.ok(&format!("run {} --dry-run {small}", path.display()));
        let output = user.run(&format!("run {} {small}", path.display()));
        assert!(output.status.success(), "{file}: {}", complaint(&output));
        let runs = kept(&user);
        assert_eq!(runs.len(), listed.lines().count(), "{file}");
        assert!(runs.iter().all(|run| run["finished"].is_string()), "{file}");
    }
}

#[test]
fn the_question_about_the_planner_is_answered_by_its_file() {
    if !has_debian() {
        return;
    }
    let user = User::new();
    let path = root().join("jobs/planner-constants.toml");
    let small =
        "--set payload=1MiB --set passes=1 --set repeat=1 --set rounds=1 --set cold-samples=1 --set cold-rounds=0";
    let output = user.run(&format!("run {} --set on=postgres:{DEBIAN} {small}", path.display()));
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(kept(&user).len(), 1);
    assert_eq!(fs::read_dir(user.temporary.path()).unwrap().count(), 0);
}

#[test]
fn the_file_that_the_page_on_job_files_shows_makes_the_runs_that_it_says() {
    let page = fs::read_to_string(root().join("docs/job-files.md")).unwrap();
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let user = User::new();
    user.file("a.toml", text.as_bytes());
    let listed = user.ok("run a.toml --dry-run");
    let names: Vec<&str> = listed.lines().map(|line| line.split("  # ").nth(1).unwrap()).collect();
    assert!(page.contains("These are five runs") && names.len() == 5, "{listed}");
    assert_eq!(names[..3], ["one-at-a-time", "batches/method=batch,io=async", "batches/method=batch,io=sync"]);
}
