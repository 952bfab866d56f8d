//! `packaging/python`: the module runs the program that PATH names, and gives the columns of `docs/rows.md`.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use crate::user::{User, complaint};

const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/python");

/// Runs a Python program in the user's home; `None` where there is no Python.
fn python(user: &User, program: &str) -> Option<Output> {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 is not installed");
        return None;
    }
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_readpath")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("python3");
    let command = command.args(["-c", program]).env("PYTHONPATH", MODULE).env("PATH", path);
    let command = command.env("HOME", user.home.path()).env_remove("XDG_DATA_HOME").env("PYTHONDONTWRITEBYTECODE", "1");
    Some(command.current_dir(user.home.path()).output().unwrap())
}

/// The columns of `docs/rows.md`, and the type of each.
fn documented() -> Vec<(String, String)> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rows.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
        Some((name.to_string(), cells[2].to_string()))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn a_run_gives_every_documented_column_with_its_type() {
    let user = User::new();
    let program = "
import readpath
columns = readpath.run('disk', 'model:hdd-7200', zones=['outer', 'inner'], count=50, quiet=True)
assert readpath.rows('last') == columns, 'a kept run differs from the run'
for name, values in columns.items():
    text = '2026-01-01' if name in readpath.TIMES else '1'
    kind = type(readpath._typed(name, [text])[0]).__name__
    kinds = {type(value).__name__ for value in values if value is not None}
    assert kinds <= {kind}, name
    print(name, kind, len(values), sep='|')
";
    let Some(output) = python(&user, program) else { return };
    assert!(output.status.success(), "{}", complaint(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Vec<&str>> = said.lines().map(|line| line.split('|').collect()).collect();
    let names: Vec<&str> = found.iter().map(|column| column[0]).collect();
    let documented = documented();
    assert_eq!(names, documented.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
    for (column, (name, kind)) in found.iter().zip(&documented) {
        let wanted = match kind.as_str() {
            "STRING" => "str",
            "INT64" => "int",
            "DOUBLE" => "float",
            "BOOLEAN" => "bool",
            "TIMESTAMP" => "datetime",
            other => panic!("{name}: {other}"),
        };
        assert_eq!(column[1], wanted, "{name}");
        assert_eq!(column[2], found[0][2], "{name} has another length");
    }
    // Two zones, and each has its metrics.
    assert!(found[0][2].parse::<usize>().unwrap() > 10, "{said}");
}

#[test]
fn a_failed_run_raises_what_the_program_said_with_its_code() {
    let user = User::new();
    let program = "
import readpath
try:
    readpath.run('disk', '/nonexistent')
except readpath.ReadpathError as error:
    print(error.code, error)
";
    let Some(output) = python(&user, program) else { return };
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("1 ") && said.contains("does not exist"), "{said}");
}

#[test]
fn one_damaged_run_of_the_store_does_not_cost_the_rows_of_all_others() {
    let user = User::new();
    user.ok("null --cases 1");
    std::fs::write(user.store().join("corrupt.json"), "{\"schema\": \"readpath.run/1\"").unwrap();
    let program = "
import readpath
print(*set(readpath.rows()['experiment']))
try:
    readpath.rows('last')
except readpath.ReadpathError as error:
    print(error.code)
";
    let Some(output) = python(&user, program) else { return };
    let said = complaint(&output);
    assert!(output.status.success() && said.contains("corrupt.json is not read"), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "null\n3\n", "the newest run is not known");
}

#[test]
fn an_option_that_is_false_is_not_on_because_it_was_left_out() {
    let user = User::new();
    let program = "
import readpath
print(*readpath._words({'huge_pages': False, 'evict': False, 'fold_literals': False, 'quiet': True}))
print(*readpath._words({'huge_pages': True, 'fold_literals': True}))
print(*sorted(name for name, words in readpath.SWITCHES.items() if 'off' in words))
";
    let Some(output) = python(&user, program) else { return };
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..2],
        ["--huge-pages=off --fold-literals=never --quiet", "--huge-pages=on --fold-literals=always"]
    );
    // The module knows all options that are on or off.
    let mut switches: BTreeSet<String> = BTreeSet::new();
    for experiment in ["ladder", "disk", "roundtrip", "lio", "counters", "scan", "join", "calibrate", "profile"] {
        let help = user.ok(&format!("{experiment} --help"));
        let options = help.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(" <on|off>"));
        switches.extend(options.map(|(option, _)| option.replace('-', "_")));
    }
    assert_eq!(lines[2].split(' ').collect::<Vec<_>>(), switches.iter().collect::<Vec<_>>());
}

#[test]
fn a_command_gets_none_of_the_options_and_may_write_what_is_no_text() {
    let user = User::new();
    let program = r#"
import readpath
script = 'test $# = 0 && printf "\\377\\n"'
columns = readpath.run("counters", "--", "sh", "-c", script, "sh", quiet=True)
print(*set(columns["experiment"]))
"#;
    let Some(output) = python(&user, program) else { return };
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "counters\n");
}

#[test]
fn a_run_whose_command_fails_has_its_rows_and_one_that_fails_itself_has_none() {
    let user = User::new();
    let program = "
import readpath
for code in [0, 1, 3]:
    columns = readpath.run('counters', '--', 'sh', '-c', f'exit {code}', quiet=True)
    assert columns == readpath.rows('last'), 'a kept run differs from the run'
    print(columns.code, *set(columns['experiment']))
try:
    readpath.run('counters', '--', 'no-such-command', quiet=True)
except readpath.ReadpathError as error:
    print(error.code)
";
    let Some(output) = python(&user, program) else { return };
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0 counters\n1 counters\n3 counters\n127\n");
}
