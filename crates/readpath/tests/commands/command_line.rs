//! The binary as a user meets it: exit codes, what goes to which stream, what is kept after which mishap.

// What stands beside the tests of this file is called by them alone.
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::children::{first_child, interrupt};
use crate::terminal;
use crate::user::{User, complaint, hangups_are_ignored};
use crate::waiting::{self, TRIES};

/// The identifiers of the runs that are kept.
fn kept(user: &User) -> Vec<String> {
    let runs: Value = serde_json::from_slice(&user.run("runs --format json").stdout).unwrap();
    runs["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_string()).collect()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_wrong_command_line_ends_with_2_and_says_what_is_wrong() {
    let user = User::new();
    for words in ["", "no-such-command", "show", "runs --format yaml", "runs --store a --no-store", "compare last"] {
        assert!(!user.refused(words, 2).is_empty(), "{words}");
    }
    assert!(user.refused("runs --no-store", 2).starts_with("readpath: "));
}

#[test]
fn a_file_that_is_missing_is_called_that_and_no_run() {
    let user = User::new();
    user.ok("null --cases 1");
    for words in ["compare no.trc no.log", "compare last no.trc", "report no.trc -o a.html", "show no.json.gz"] {
        let said = user.refused(words, 2);
        assert!(said.contains("there is no file no."), "{words}: {said}");
    }
    assert!(user.refused("compare 0197c0de last", 2).contains("no run '0197c0de'"));
    for words in ["compare last nosuch", "compare nosuch last", "show nosuch"] {
        let said = user.refused(words, 2).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("no run 'nosuch'") && said.contains("There is no file nosuch either."), "{said}");
    }
    let said = user.refused("show nosuch --no-store", 2);
    assert_eq!(said, "readpath: this command reads kept runs: leave out --no-store.\n");
}

#[test]
fn where_one_of_several_options_is_needed_all_are_named() {
    let user = User::new();
    let said = user.refused("report", 2);
    assert!(said.contains("-o FILE") && said.contains("--charts DIR"), "{said}");
    for words in ["export", "export --output events"] {
        let said = user.refused(words, 2);
        assert!(["--events", "--runs", "--sql"].iter().all(|option| said.contains(option)), "{said}");
    }
    let said = user.refused("compare last", 2);
    assert!(["last~1 last", "--at", "--first"].iter().all(|part| said.contains(part)), "{said}");
}

#[test]
fn help_shows_the_exit_codes_and_every_command_has_examples() {
    let user = User::new();
    let help = user.ok("--help");
    assert!(help.starts_with("Measures what a database read costs"), "{help}");
    assert!(help.contains("Exit codes:") && help.contains("130") && help.contains("Examples:"), "{help}");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in ["counters -- COMMAND", "profile --on postgres:18 -- COMMAND"] {
        assert!(words.contains(&format!("`readpath {command}` ends with the command's own code")), "{help}");
    }
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Lines that begin a command; the others go on with what was said of it.
    let commands: Vec<&str> = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   ")).collect();
    assert!(commands.len() > 12, "{help}");
    for line in commands {
        let (command, said) = line.trim().split_once("  ").unwrap();
        let does = said.trim().split(' ').next().unwrap();
        assert!(does.ends_with('s') || command == "help", "{command} is said to do: {said}");
    }
    for command in ["runs", "show", "compare", "lio", "join"] {
        assert!(user.ok(&format!("{command} --help")).contains("Examples:"), "{command}");
    }
    let version = user.ok("--version");
    assert!(version.starts_with("readpath "));
    let run: measure::Run = serde_json::from_str(&user.ok("null --format json --no-store")).unwrap();
    let build = run.build.expect("a run names its build");
    assert_eq!(version.trim_end(), format!("readpath {build}"), "the build of a run is that of the program");
}

#[test]
fn help_that_could_not_be_printed_is_a_failure() {
    for words in ["--help", "--version", "help show", "show --help"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = User::new().command(words).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(complaint(&output).contains("No space left"), "{words}: {}", complaint(&output));
    }
}

#[test]
fn a_file_of_the_working_directory_is_shown_by_its_name_and_hides_no_kept_run() {
    let user = User::new();
    let document = user.ok("null --format json");
    let show = |name: &str| {
        let folder = user.home.path().join("folder");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), document.replace("\"experiment\": \"null\"", "\"experiment\": \"ladder\""))
            .unwrap();
        let output = user.command(&format!("show {name}")).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{name}: {}", complaint(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(show("run-of-another-machine").starts_with("readpath ladder"));
    assert!(show("last").starts_with("readpath null"));
}

#[test]
fn runs_of_different_experiments_are_told_apart_and_not_compared() {
    let user = User::new();
    let document = user.ok("null --format json");
    let other = user.home.path().join("other.json");
    fs::write(&other, document.replace("\"experiment\": \"null\"", "\"experiment\": \"ladder\"")).unwrap();
    let output = user.run(&format!("compare last {}", other.display()));
    assert_eq!(output.status.code(), Some(2), "nothing was compared");
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("measure different things") && page.contains("null") && page.contains("ladder"), "{page}");
    assert!(!page.contains("Only in"), "{page}");
    for format in ["csv", "json"] {
        let output = user.run(&format!("compare last {} --format {format}", other.display()));
        assert_eq!(output.status.code(), Some(2), "{format}");
        assert!(complaint(&output).contains("measure different things"), "{format}: {}", complaint(&output));
        assert_eq!(output.stdout.is_empty(), format == "csv", "a heading without a row is no table");
    }
}

#[test]
fn runs_without_a_case_in_common_say_by_which_parameter_they_differ() {
    let user = User::new();
    let document = user.ok("null --cases 2 --format json");
    let renumbered = document.replace("\"repetition\": 1", "\"repetition\": 7");
    let other = user.file("other.json", renumbered.replace("\"repetition\": 2", "\"repetition\": 8").as_bytes());
    let reason = "The runs have no case in common: their cases differ in repetition (first 1, 2; second 7, 8). Name \
                  two runs that have values of repetition in common. A parameter may differ only where each run has \
                  one value of it throughout.";
    let output = user.run(&format!("compare last {other}"));
    let page = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.code() == Some(2) && page.contains(reason), "{page}");
    let output = user.run(&format!("compare last {other} --format csv"));
    assert_eq!(output.status.code(), Some(2), "nothing was compared");
    assert!(complaint(&output).contains(reason), "{}", complaint(&output));
    assert!(output.stdout.is_empty(), "a heading without a row is no table");
}

#[test]
fn what_is_refused_ends_with_a_full_stop() {
    let user = User::new();
    user.file("a.toml", b"[null]\ncase = 1\ncases = 'x'\n");
    for words in
        ["disk model:nothing", "disk null:x", "disk null: --depth 0", "disk null", "show gone", "show gone.json"]
    {
        let said = user.refused(words, if words == "show gone.json" { 1 } else { 2 });
        assert!(said.ends_with(".\n"), "{words}: {said}");
    }
    let said = user.refused("run a.toml", 2);
    assert!(said.lines().skip(1).all(|line| line.ends_with('.')), "{said}");
}

#[test]
fn completions_and_manual_are_printed() {
    let user = User::new();
    assert!(user.ok("completions bash").contains("complete"));
    assert!(user.ok("man").contains(".TH readpath"));
}

#[test]
fn a_shell_offers_the_names_of_the_shells_whose_completions_are_printed() {
    let user = User::new();
    let of_fish = user.ok("completions fish");
    let offers = |line: &str| line.contains("_using_subcommand completions\"") && line.contains("elvish fish");
    assert!(of_fish.lines().any(offers), "{of_fish}");
    assert!(user.ok("completions zsh").contains("(bash elvish fish powershell zsh)"));
    let script = user.file("readpath.bash", user.ok("completions bash").as_bytes());
    let offered = |word: &str| {
        let call = format!("COMP_WORDS=(readpath completions {word}); COMP_CWORD=2; _readpath readpath {word}");
        let script = format!("source '{script}'; {call} completions; echo ${{COMPREPLY[*]}}");
        Command::new("bash").args(["-c", &script]).output()
    };
    for (word, shell) in [("f", "fish\n"), ("z", "zsh\n"), ("x", "\n")] {
        match offered(word) {
            Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), shell, "{output:?}"),
            Err(error) => return println!("skipped: bash cannot be run: {error}"),
        }
    }
}

#[test]
fn a_shell_and_the_manual_name_no_command_that_the_help_leaves_out() {
    let user = User::new();
    let texts = ["completions bash", "completions zsh", "completions fish", "man"].map(|words| user.ok(words));
    for name in ["job-run", "counted-scan"] {
        let help = user.ok("--help");
        assert!(!help.contains(&format!("\n  {name} ")), "{name} is in the help");
        for text in &texts {
            let is_name = |part: &str| part.trim_matches(['\'', '"', '(', ')']) == name;
            assert!(!text.split_whitespace().any(is_name), "{name} in {text}");
        }
    }
    assert!(texts.iter().all(|text| text.contains("roundtrip")), "the others are named");
}

#[test]
fn no_shell_offers_an_option_that_has_no_effect_on_a_command() {
    let user = User::new();
    let of_fish = user.ok("completions fish");
    let offers = |command: &str, option: &str| {
        let (command, option) = (format!("_using_subcommand {command}\""), format!(" -l {option} "));
        of_fish.lines().any(|line| line.contains(&command) && line.contains(&option))
    };
    assert!(offers("ladder", "no-store") && offers("ladder", "format") && offers("clean", "quiet"), "{of_fish}");
    assert!(!offers("clean", "no-store") && !offers("clean", "format") && !offers("report", "format"), "{of_fish}");
    assert!(offers("report", "store") && !offers("runs; and __fish_seen_subcommand_from rm", "format"), "{of_fish}");
    let of_zsh = user.ok("completions zsh");
    let offered = of_zsh.lines().filter(|line| line.contains("--no-store[")).count();
    let commands = of_zsh.lines().filter(|line| line.contains("--quiet[")).count();
    assert!(offered > 8 && offered + 8 < commands, "{offered} of {commands}");
}

#[test]
fn the_manual_refers_to_no_page_that_is_not_there() {
    let page = User::new().ok("man").replace("\\-", "-");
    assert!(page.contains("\nreadpath calibrate\n") && !page.contains("readpath-"), "{page}");
    assert!(page.contains("readpath COMMAND --help"), "{page}");
}

#[test]
fn an_empty_store_says_what_to_do_first() {
    let user = User::new();
    assert!(user.ok("runs").contains("readpath ladder"));
    assert_eq!(kept(&user), Vec::<String>::new());
    let said = user.refused("show last", 2);
    assert!(said.contains("no run 'last', because none is kept") && said.contains("`readpath ladder`"), "{said}");
    assert!(!user.store().exists(), "looking makes no directory");
}

#[test]
fn a_run_is_kept_listed_shown_and_compared() {
    let user = User::new();
    let page = user.ok("null --cases 2");
    user.ok("null --cases 2");
    let kept = kept(&user);
    assert_eq!(kept.len(), 2);
    assert_eq!(user.ok(&format!("show {}", kept[1])), page);
    assert_eq!(user.ok("show last~1"), page);
    let comparison: Value = serde_json::from_str(&user.ok("compare last~1 last --format json")).unwrap();
    assert_eq!(comparison["before"], kept[1].as_str());
    assert_eq!(comparison["cases"].as_array().unwrap().len(), 2);
    assert!(user.ok("compare last~1 last").contains("clock_read"));
    let document = user.store().join(format!("{}.json", kept[1]));
    assert_eq!(user.ok(&format!("show {}", document.display())), page);
    // How other commands name it stands on the page, as far as that is so.
    assert!(page.ends_with(&format!("\n\nKept as run {}.\n", kept[1])), "{page}");
    let elsewhere = user.home.path().join("elsewhere.json");
    fs::write(&elsewhere, fs::read(&document).unwrap()).unwrap();
    let of_file = |words: &str| user.ok(&format!("show {} {words}", elsewhere.display()));
    assert_eq!(of_file(""), page, "the store has it");
    fs::remove_file(&document).unwrap();
    assert!(!of_file("").contains("Kept as run") && !user.ok("null --no-store").contains("Kept as run"));
}

#[test]
fn a_run_held_against_itself_is_a_sentence_and_no_table_of_equal_numbers() {
    let user = User::new();
    user.ok("null --cases 2");
    let page = user.ok("compare last last");
    assert!(page.contains("Both are the same run") && !page.contains("clock_read"), "{page}");
    assert_eq!(user.document("compare last last")["cases"].as_array().unwrap().len(), 2);
    // A changed copy has the same identifier.
    let run = fs::read_to_string(user.store().join(format!("{}.json", kept(&user)[0]))).unwrap();
    let copy = user.file("copy.json", run.replace("\"max\": ", "\"max\": 1").as_bytes());
    let median = user.file("copy2.json", run.replace("\"median\": ", "\"median\": 1").as_bytes());
    assert!(user.ok(&format!("compare last {copy}")).contains("Both are the same run"));
    assert!(user.ok(&format!("compare last {median}")).contains("clock_read"));
}

#[test]
fn json_is_the_run_document_and_nothing_else() {
    let user = User::new();
    let run: Value = serde_json::from_str(&user.ok("null --cases 2 --format json")).unwrap();
    assert_eq!(run["schema"], "readpath.run/1");
    assert_eq!(run["cases"].as_array().unwrap().len(), 2);
    assert!(run["finished"].is_string());
    let kept = fs::read_to_string(user.store().join(format!("{}.json", run["id"].as_str().unwrap()))).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), run);
    assert_eq!(user.ok("show last --format json"), kept);
}

#[test]
fn csv_has_a_heading_and_one_row_a_metric() {
    let user = User::new();
    let text = user.ok("null --cases 3 --format csv");
    assert_eq!(text.lines().count(), 4);
    assert!(text.starts_with("run,experiment,repetition,metric,unit,source,n,min,median"), "{text}");
    assert_eq!(user.ok("runs --format csv").lines().count(), 2);
}

#[test]
fn unknown_ambiguous_and_hostile_references_end_with_2() {
    let user = User::new();
    user.ok("null --cases 1 --quiet");
    user.ok("null --cases 1 --quiet");
    assert!(user.refused("show ffff", 2).contains("readpath runs"));
    assert!(user.refused("show 0", 2).contains("is the beginning of 2 runs"));
    assert!(user.refused("show last~9", 2).contains("no run"));
    assert!(user.refused("show ..", 2).contains("is not a run"));
    assert!(user.refused("show ../../../../etc/passwd", 1).contains("passwd"));
    assert!(user.refused("show /dev/zero", 1).contains("not a regular file"));
}

#[test]
fn a_store_that_cannot_be_written_is_refused_before_measuring() {
    let user = User::new();
    let file = user.home.path().join("file");
    fs::write(&file, "").unwrap();
    let started = Instant::now();
    let words = format!("null --cases 1 --pause 100s --store {}", file.join("runs").display());
    let complaint = user.refused(&words, 3);
    assert!(started.elapsed() < Duration::from_secs(100), "it measured first");
    assert!(complaint.contains("--store DIR") && complaint.contains("--no-store"), "{complaint}");
    assert!(user.refused(&format!("runs --store {}", file.display()), 3).starts_with("readpath: "));
}

#[test]
fn without_a_home_a_run_is_shown_and_says_that_it_is_not_kept() {
    let user = User::new();
    let homeless = |words: &str| user.command(words).env_remove("HOME").output().unwrap();
    let output = homeless("null");
    let page = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(3), "{page}");
    assert!(complaint(&output).starts_with("readpath: This run is shown here and not kept"), "{}", complaint(&output));
    assert!(page.contains("warning: This run is shown here and not kept") && page.contains("--store DIR"), "{page}");
    let quiet = homeless("null --no-store");
    assert_eq!(quiet.status.code(), Some(0));
    assert!(!String::from_utf8_lossy(&quiet.stdout).contains("not kept"));
    assert_eq!(kept(&user), Vec::<String>::new());
}

#[test]
fn one_file_of_both_outputs_says_once_that_a_run_is_not_kept() {
    let user = User::new();
    let path = user.home.path().join("said");
    let file = fs::File::create(&path).unwrap();
    let mut command = user.command("null --cases 1");
    command.env_remove("HOME").stdout(file.try_clone().unwrap()).stderr(file);
    assert_eq!(command.status().unwrap().code(), Some(3));
    let said = fs::read_to_string(&path).unwrap();
    assert_eq!(said.matches("neither XDG_DATA_HOME nor HOME is set").count(), 1, "{said}");
}

#[test]
fn a_command_that_reads_runs_is_not_told_to_measure_without_keeping_them() {
    let user = User::new();
    for words in ["runs", "runs rm last", "show last", "compare last~1 last", "export --runs --output rows.csv"] {
        let output = user.command(words).env_remove("HOME").output().unwrap();
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(3), "{words}: {said}");
        assert!(!said.contains("--no-store"), "{words}: {said}");
        assert!(said.contains("Set one of them, or name the directory with --store DIR."), "{words}: {said}");
    }
}

#[test]
fn without_a_home_no_directory_is_asked_for_where_the_engine_is_not_measured() {
    let user = User::new();
    let homeless = |words: &str| user.command(words).env_remove("HOME").output().unwrap();
    for command in ["lio --payload 1MiB", "join --rows 14000 --outer-rows 200"] {
        let output = homeless(&format!("{command} --on postgres://me@nowhere.example/db --dry-run"));
        assert_eq!(output.status.code(), Some(0), "{command}: {}", complaint(&output));
        let alone = complaint(&homeless(&format!("{command} --on postgres://me@127.0.0.1:1/db --alone --no-store")));
        assert!(alone.contains("does not respond") && !alone.contains("--dir"), "{command}: {alone}");
        let engine = complaint(&homeless(&format!("{command} --no-store")));
        assert!(engine.contains("name one with --dir DIR"), "{command}: {engine}");
    }
}

#[test]
fn a_cache_whose_place_is_not_known_is_not_taken_for_an_empty_one() {
    let user = User::new();
    let output = user.command("clean --dry-run").env_remove("HOME").env_remove("XDG_CACHE_HOME").output().unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("neither XDG_CACHE_HOME nor HOME is set"), "{said}");
}

#[test]
fn a_home_that_cannot_be_written_costs_no_report() {
    let user = User::new();
    // A file where the folder would be: not even root can make one there.
    fs::write(user.home.path().join(".local"), "").unwrap();
    let output = user.command("null --cases 1").env_remove("XDG_DATA_HOME").output().unwrap();
    let page = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(3), "{page}");
    assert!(page.contains("clock_read") && page.contains("warning: This run is shown here and not kept"), "{page}");
}

#[test]
fn a_corrupt_file_in_the_store_is_named_and_hides_nothing() {
    let user = User::new();
    user.ok("null --cases 1");
    fs::write(user.store().join("corrupt.json"), "{\"schema\": \"readpath.run/1\"").unwrap();
    // As `report --all` and `export --runs` do, each command says by its code that there is a run it could not use.
    let past_it = |words: &str| {
        let output = user.run(words);
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(3), "{words}: {said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    let (list, _) = past_it("runs");
    assert!(list.contains("null") && list.contains("warning:"), "{list}");
    let (_, of_rows) = past_it("runs --format csv");
    assert!(of_rows.contains("corrupt.json is not read: it is not whole JSON"), "{of_rows}");
    assert_eq!(kept(&user).len(), 1);
    assert!(past_it("show last").0.contains("clock_read"));
    let passed_over = "corrupt.json is not read, and `last` does not count it: it is not whole JSON";
    for words in
        ["show last", "show last --job", "compare last last", "report last -o -", "export --runs last -o a.csv"]
    {
        let (_, said) = past_it(words);
        assert_eq!(said.matches(passed_over).count(), 1, "{words}: {said}");
    }
    let by_name = user.run(&format!("show {}", kept(&user)[0]));
    assert!(by_name.status.success() && !complaint(&by_name).contains("corrupt.json"), "{}", complaint(&by_name));
    assert!(user.refused("show corrupt", 3).contains("corrupt.json"));
    // The good one is gone.
    let (_, said) = past_it("runs rm last");
    assert!(said.contains(passed_over), "{said}");
    let list = past_it("runs").0.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(list.contains("No run can be read.") && list.contains("corrupt.json is not read"), "{list}");
    assert!(!list.contains("No runs are kept"), "{list}");
}

#[test]
fn no_escape_goes_to_a_file_or_a_pipe() {
    let user = User::new();
    for no_color in ["", "1"] {
        let output = user.command("null --cases 1").env("NO_COLOR", no_color).env("TERM", "xterm").output().unwrap();
        assert!(!output.stdout.contains(&0x1b) && output.stderr.is_empty());
    }
}

#[test]
fn colour_on_a_terminal_ends_with_no_color() {
    let user = User::new();
    user.ok("null --cases 1");
    let on_terminal = |no_color: &str| {
        let line = format!("{} show last", env!("CARGO_BIN_EXE_readpath"));
        let home = user.home.path();
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env_clear().env("HOME", home).env("TERM", "xterm");
        script.env("PATH", "/usr/bin:/bin").env("NO_COLOR", no_color).stdin(Stdio::null()).output()
    };
    match (on_terminal(""), on_terminal("1")) {
        (Ok(coloured), Ok(plain)) if coloured.status.success() => {
            assert!(coloured.stdout.contains(&0x1b), "{coloured:?}");
            assert!(!plain.stdout.contains(&0x1b), "{plain:?}");
        }
        (outcome, _) => println!("skipped: script(1) gives no terminal here: {outcome:?}"),
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let user = User::new();
    let mut command = user.command("null --cases 2000 --format csv --no-store");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    // Reading one line and dropping the pipe is what `| head -1` does.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(first.starts_with("run,experiment"));
    assert_eq!((output.status.code(), complaint(&output).as_str()), (Some(0), ""));
}

#[test]
fn a_full_device_behind_standard_output_is_reported() {
    let user = User::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = user.command("null --cases 1").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("standard output"));
}

#[test]
fn a_result_that_could_not_be_printed_is_said_to_be_kept_or_not() {
    let user = User::new();
    let said = |has_home: bool| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = user.command("null --cases 1");
        if !has_home {
            command.env_remove("HOME");
        }
        let output = command.stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
        complaint(&output)
    };
    let with = said(true);
    assert!(with.contains("standard output") && !with.contains("not kept"), "{with}");
    assert!(with.ends_with(&format!(" It is kept as run {}.\n", kept(&user)[0])), "{with}");
    let without = said(false);
    assert!(without.contains("not kept") && without.contains("standard output"), "{without}");
    assert!(!without.contains("It is kept"), "{without}");
}

#[test]
fn a_closed_standard_output_loses_no_result_in_silence() {
    let user = User::new();
    let closed = |words: &str, redirection: &str| {
        let mut shell = Command::new("/bin/sh");
        let program = env!("CARGO_BIN_EXE_readpath");
        shell.args(["-c", &format!("exec {program} {words} {redirection}")]);
        shell.env_clear().env("HOME", user.home.path()).output().unwrap()
    };
    for words in ["null --cases 1", "null --cases 1 --format json", "runs", "show last", "--help", "--version"] {
        let output = closed(words, ">&-");
        assert_eq!(output.status.code(), Some(1), "{words}: {}", complaint(&output));
        assert!(complaint(&output).contains("standard output: it is closed"), "{words}: {}", complaint(&output));
        assert_eq!(closed(words, ">/dev/null").status.code(), Some(0), "{words}: the null device was asked for");
        assert_eq!(closed(words, "1<>/dev/null").status.code(), Some(0), "{words}: so it was, as by a daemon");
    }
    assert!(!kept(&user).is_empty(), "the run is kept all the same");
}

/// Starts a long run and waits until it has kept a case.
fn start_and_wait_for_a_case(user: &User, stdout: impl Into<Stdio>) -> Child {
    // Progress would stand before what is said at the end of a run that takes long.
    let mut command = user.command("null --cases 1000 --pause 50ms --quiet");
    let child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_a_case(user);
    child
}

fn wait_for_a_case(user: &User) {
    let has_case = |dir: &Path| {
        fs::read_dir(dir).is_ok_and(|entries| {
            entries.flatten().any(|entry| entry.path().extension().is_some_and(|extension| extension == "json"))
        })
    };
    waiting::until("a case is kept", || has_case(&user.store()));
}

#[test]
fn an_interrupted_run_keeps_its_cases_and_says_so() {
    for (request, code) in [
        (Signal::INT, 130),
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::QUIT, 131),
        (Signal::ALARM, 142),
        (Signal::USR1, 138),
        (Signal::USR2, 140),
    ] {
        if request == Signal::HUP && hangups_are_ignored() {
            continue;
        }
        let user = User::new();
        let child = start_and_wait_for_a_case(&user, Stdio::piped());
        signal(&child, request);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(String::from_utf8_lossy(&output.stdout).contains("interrupted"));
        assert!(complaint(&output).starts_with("readpath: The run was interrupted"), "{}", complaint(&output));
        let run: Value = serde_json::from_str(&user.ok("show last --format json")).unwrap();
        assert!(!run["cases"].as_array().unwrap().is_empty() && run["finished"].is_null());
        assert!(user.ok("runs").contains("unfinished"));
    }
}

#[test]
fn a_signal_ends_a_run_with_its_code_also_where_the_result_cannot_be_printed() {
    for (request, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let user = User::new();
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let child = start_and_wait_for_a_case(&user, full);
        signal(&child, request);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", complaint(&output));
        let said = complaint(&output);
        assert!(said.contains("The run was interrupted") && said.contains("standard output"), "{said}");
    }
}

#[test]
fn a_terminal_shows_once_that_a_run_was_interrupted() {
    let user = User::new();
    let Some(script) = terminal::begin(&user, "null --cases 1000 --pause 50ms --quiet") else { return };
    wait_for_a_case(&user);
    interrupt(first_child(script.id()).expect("a shell that becomes readpath"));
    let output = script.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(shown.matches("interrupted by ^C").count(), 1, "{shown}");
    assert_eq!(shown.matches(&kept(&user)[0]).count(), 1, "{shown}");
}

#[test]
fn a_long_message_is_broken_between_words_on_a_terminal_and_whole_elsewhere() {
    let user = User::new();
    let whole = user.refused("show nowhere.txt", 2);
    assert!(whole.lines().count() == 1 && whole.chars().count() > 120, "{whole}");
    let Some(script) = terminal::begin(&user, "show nowhere.txt") else { return };
    let output = script.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.lines().count() > 1 && shown.lines().skip(1).all(|line| line.starts_with("  ")), "{shown}");
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(words(&shown), words(&whole));
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let run = format!("trap '' HUP; exec {} null --cases 40 --pause 50ms --no-store", env!("CARGO_BIN_EXE_readpath"));
    let mut shell = Command::new("/bin/sh");
    let mut child = shell.args(["-c", &run]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    waiting::until_signals_are_handled(child.id());
    signal(&child, Signal::HUP);
    assert_eq!(waiting::end_of(&mut child, &run).code(), Some(0));
}

/// Interrupts a command that prints, twice at once and then again: whether it went on after the two, and what it said
/// at the end.
fn interrupted_twice_and_again() -> (bool, String) {
    let user = User::new();
    // The pipe has no reader, so that printing the page blocks where no flag is looked at.
    let mut child = user.command("null --cases 2000 --format csv --no-store").spawn().unwrap();
    let pipe = child.stdout.take().unwrap();
    waiting::until("it prints", || rustix::io::ioctl_fionread(&pipe).unwrap() > 0);
    signal(&child, Signal::INT);
    thread::sleep(Duration::from_millis(100));
    signal(&child, Signal::INT);
    thread::sleep(Duration::from_millis(1200));
    let went_on = child.try_wait().unwrap().is_none();
    if went_on {
        signal(&child, Signal::INT);
    }
    let end = waiting::end_of(&mut child, "a command that was interrupted again");
    assert_eq!(end.code(), Some(130));
    drop(pipe);
    (went_on, complaint(&child.wait_with_output().unwrap()))
}

#[test]
fn a_second_interrupt_does_not_wait() {
    // A busy machine may deliver the second one a second after the first, or the third when the wait for the reader is
    // over.
    let found: Vec<(bool, String)> = (0..TRIES)
        .map(|_| interrupted_twice_and_again())
        .take_while(|(went_on, said)| !went_on || !said.contains("stopped at once"))
        .collect();
    assert!(found.len() < TRIES, "two interrupts at once are one, and the next one ends it at once: {found:?}");
}

#[test]
fn a_killed_run_leaves_its_cases_and_the_list_says_that_it_did_not_end() {
    let user = User::new();
    let mut child = start_and_wait_for_a_case(&user, Stdio::piped());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(user.ok("runs").contains("unfinished"));
    assert!(user.ok("show last").contains("did not end"));
}

#[test]
fn a_run_that_cannot_be_kept_any_more_is_printed_and_ends_with_3() {
    let user = User::new();
    let mut child = start_and_wait_for_a_case(&user, Stdio::piped());
    // At once: a folder in which a case is being kept cannot be removed.
    fs::rename(user.store(), user.home.path().join("elsewhere")).unwrap();
    let mut page = String::new();
    child.stdout.take().unwrap().read_to_string(&mut page).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
    assert!(page.contains("clock_read") && complaint(&output).contains("could not be kept"), "{page}");
}

#[test]
fn a_locale_without_utf_8_gets_plain_characters() {
    let user = User::new();
    let output = user.command("null --cases 1").env("LANG", "C").output().unwrap();
    assert!(output.stdout.is_ascii());
}

#[test]
fn no_complaint_about_an_address_shows_its_password() {
    let user = User::new();
    let addresses = [
        "postgres://me:s3cret@localhost:99999/shop",
        "postgres://me:s3cret@localhost/shop?sslmode=foo",
        "postgres//me:s3cret@localhost",
        "postgres:/me:s3cret@localhost",
        "sqlite,postgres://me:s3cret@localhost:99999/shop",
        "postgres://me:s3,cret@localhost:99999/shop",
    ];
    for address in addresses {
        for command in ["lio", "scan", "join", "calibrate", "roundtrip", "clean", "profile", "ladder"] {
            for line in [
                format!("{command} --on {address}"),
                format!("{command} --on={address}"),
                format!("{command} {address}"),
            ] {
                let output = user.run(&line);
                let said = complaint(&output) + &String::from_utf8_lossy(&output.stdout);
                assert!(!said.contains("s3") && !said.contains("cret"), "{line}: {said}");
            }
        }
        let job = user.file("jobs.toml", format!("[one]\nexperiment = 'lio'\non = '{address}'\n").as_bytes());
        let said = complaint(&user.run(&["run", &job]));
        assert!(!said.is_empty() && !said.contains("s3") && !said.contains("cret"), "{address}: {said}");
    }
}

#[test]
fn a_negative_value_is_a_wrong_value_and_no_unknown_option() {
    let user = User::new();
    let trace = user.file("t.trc", include_bytes!("../traces/shop_ora_4711.trc"));
    for (words, sentence) in [
        (format!("profile {trace} --think-time -1s"), "'-1s' is not a time"),
        (format!("profile {trace} --top -1"), "'-1' is not a number of rows"),
        (format!("profile {trace} --top x"), "'x' is not a number of rows"),
        (format!("compare {trace} {trace} --top 0"), "'0' is not a number of rows"),
        ("runs rm --older-than -1d".into(), "'-1d' is not a period of time"),
        ("lio --on postgres:15 --statement-timeout -1s".into(), "'-1s'"),
        ("null --pause -1s".into(), "'-1s' is not a time"),
        ("disk model:ssd --duration -1s".into(), "write a number with its unit and without a sign"),
        ("disk model:ssd --warm-up -.5ms".into(), "'-.5ms' is not a time"),
        (
            "disk model:ssd --span -8KiB".into(),
            "'-8KiB' is not a size: write bytes or a binary unit and without a sign",
        ),
        ("disk model:ssd --count -1".into(), "write a whole number without a sign"),
        ("disk model:ssd --sweep -3k".into(), "write a whole number without a sign"),
        ("disk model:ssd --sweep -3".into(), "write a whole number from 0 to"),
        ("disk model:ssd --rate -1k".into(), "write a number, such as 2000"),
        ("disk model:ssd --huge-pages -1".into(), "write on or off"),
        ("lio --columns 5,-1x".into(), "write a whole number without a sign"),
        ("counters --pid -99999999999999999999".into(), "write a whole number without a sign"),
        (
            format!("run {}", user.file("j.toml", b"[a]\nexperiment = 'disk'\npaths = 'null:'\ncount = -1\n")),
            "without a sign",
        ),
    ] {
        let refusal = user.refused(&words, 2);
        assert!(refusal.contains(sentence) && !refusal.contains("tip:"), "{words}: {refusal}");
    }
}

#[test]
fn a_limit_of_0_is_refused_as_no_limit_and_not_as_a_number_without_a_unit() {
    let user = User::new();
    for time in ["0", "0s", "00", "0.0", "+0"] {
        let said = user.refused(&format!("lio --on postgres:15 --statement-timeout {time}"), 2);
        assert!(said.contains("0 would be no limit") && said.contains("from 1ms to about 24d"), "{time}: {said}");
    }
    let short = user.refused("lio --on postgres:15 --statement-timeout 900us", 2);
    assert!(short.contains("from 1ms to about 24d") && !short.contains("no limit"), "{short}");
}

#[test]
fn several_numbers_and_a_server_that_a_command_does_not_take_are_sent_to_where_they_are_taken() {
    let user = User::new();
    let said = user.refused("disk model:ssd --depth 1,2,4", 2);
    assert!(said.contains("write one number") && said.contains("job file"), "{said}");
    let said = user.refused("top --on postgres://localhost/x --rate 1,2", 2);
    assert!(said.contains("write one number (samples a second, from 1 to 2000)"), "no job file runs it: {said}");
    assert!(!said.contains("job file"), "no job file runs it: {said}");
    let said = user.refused("disk --on postgres:15", 2);
    assert!(said.contains("tip: --on is an option of ") && said.contains("roundtrip"), "{said}");
    assert!(!said.contains("--no-store"), "{said}");
    assert!(user.refused("disk model:ssd --dept 4", 2).contains("'--depth'"), "the parser's own tip");
}

#[test]
fn an_option_of_another_command_is_not_taken_for_a_misspelt_one_or_a_value() {
    let user = User::new();
    for (words, tip, guess) in [
        ("export --top 3", "--top is an option of profile and compare", "--output"),
        ("record --duration 5s", "--duration is an option of disk, ", "--rate"),
        ("top --duration=5s", "--duration is an option of disk, ", "--rate"),
        ("profile t.trc --memory 1GiB", "--memory is an option of ", "as a value"),
        ("ladder --by event", "--by is an option of profile\n", "as a value"),
    ] {
        let said = user.refused(words, 2);
        assert!(said.contains(&format!("  tip: {tip}")) && said.matches("tip:").count() == 1, "{words}: {said}");
        assert!(!said.contains(guess) && said.contains("--help"), "{words}: {said}");
    }
}

#[test]
fn a_command_names_no_subject_that_it_refuses() {
    let user = User::new();
    let help = user.ok("roundtrip --help");
    assert!(!help.contains("sqlite") && !help.contains("engine"), "{help}");
    let [lio, scan] = ["lio --help", "scan --help"].map(|words| user.ok(words));
    assert!(lio.contains("sqlite:FILE reads") && lio.matches("sqlite:FILE").count() == 2, "{lio}");
    assert!(!scan.contains("sqlite:FILE") && scan.contains("sqlite makes a database"), "{scan}");
    for words in ["roundtrip --on", "calibrate --on", "record --to folder --on", "top --on"] {
        for server in ["foo", "sqlite?"] {
            let said = user.refused(&format!("{words} {server}"), 2);
            assert!(said.contains(&format!("'{server}' names no server: write postgres://")), "{words}: {said}");
            assert!(!said.contains("engine") && !said.contains("sqlite for"), "{words}: {said}");
        }
    }
    for words in ["record --to folder --on foo", "top --on foo"] {
        let said = user.refused(words, 2);
        assert!(!said.contains("postgres:18"), "none is started: {said}");
    }
    let said = user.refused("roundtrip --on engine", 2);
    assert!(said.contains("cannot measure round trips") && said.contains("--on postgres:18"), "{said}");
}
