//! `readpath report`: a page and charts of kept runs, of documents and of traces, and what it refuses.

use std::fs;

use crate::user::{User, complaint};

/// A run that takes no time: reads of a modelled disk.
const QUICK: &str = "disk model:hdd-7200 --zones outer,inner --count 20 --seed 1 -q";

fn with_runs() -> User {
    let user = User::new();
    for _ in 0..2 {
        assert!(user.run(QUICK).status.success());
    }
    user
}

fn page_of(user: &User, name: &str) -> String {
    fs::read_to_string(user.home.path().join(name)).unwrap()
}

#[test]
fn three_commands_lead_from_nothing_to_a_page() {
    let user = with_runs();
    let page = user.home.path().join("page.html");
    let output = user.run(&format!("report -o {}", page.display()));
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}\n", page.display()));
    let text = page_of(&user, "page.html");
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
    assert!(text.contains("How long a read takes by zone") && text.contains("model hdd-7200"));
    assert!(
        !text.contains("src=")
            && text.matches("http").count()
                == text.matches("http-equiv").count() + text.matches("http://www.w3.org/2000/svg").count()
    );
}

#[test]
fn what_is_there_is_replaced_only_when_asked_and_a_failure_leaves_nothing() {
    let user = with_runs();
    let home = user.home.path().display();
    fs::write(user.home.path().join("page.html"), "years of work").unwrap();
    let complaint = user.refused(&format!("report -o {home}/page.html"), 2);
    assert!(complaint.contains("is there already") && complaint.contains("--force"), "{complaint}");
    assert_eq!(page_of(&user, "page.html"), "years of work");
    assert!(user.run(&format!("report -o {home}/page.html --force")).status.success());
    assert!(page_of(&user, "page.html").contains("</html>"));
    let complaint = user.refused(&format!("report -o {home}/none/page.html"), 1);
    assert!(complaint.contains("could not be written"), "{complaint}");
    user.refused(&format!("report -o {home}"), 2);
    user.refused("report", 2);
    user.refused(&format!("report -o {home}/other.html --format json"), 2);
    assert!(!user.home.path().join("other.html").exists());
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_anything_is_read() {
    let user = User::new();
    let said = user.refused("report last -o none/page.html", 1);
    assert!(said.contains("none/page.html could not be written: No such file"), "no run was looked for: {said}");
    user.refused("report last -o page.html", 2);
    assert_eq!(fs::read_dir(user.home.path()).unwrap().count(), 0);
}

#[test]
fn all_runs_stand_beside_each_other_and_a_damaged_one_is_named() {
    let user = with_runs();
    let home = user.home.path().display();
    assert!(user.run(&format!("report --all -o {home}/all.html")).status.success());
    assert!(page_of(&user, "all.html").contains("disk: 2 runs side by side"));
    let newer = user.home.path().join("newer.json");
    fs::write(&newer, r#"{"schema": "readpath.run/9", "id": "x"}"#).unwrap();
    let broken = user.home.path().join("broken.json");
    fs::write(&broken, "{\"schema\": \"readpath.run/1\", \"id\": \"0").unwrap();
    let output = user.run(&format!("report last {} {} -o {home}/some.html", newer.display(), broken.display()));
    assert_eq!(output.status.code(), Some(1));
    let page = page_of(&user, "some.html");
    assert!(page.contains("How long a read takes by zone"), "the others are shown");
    assert!(page.contains("newer.json") && page.contains("broken.json"), "what is not shown is named");
    let complaint = user.refused(&format!("report nowhere -o {home}/none.html"), 2);
    assert!(complaint.contains("nowhere"), "{complaint}");
    let newcomer = User::new();
    newcomer.refused(&format!("report -o {}/x.html", newcomer.home.path().display()), 2);
    newcomer.refused(&format!("report --all -o {}/x.html", newcomer.home.path().display()), 1);
}

#[test]
fn a_file_that_a_pattern_names_and_no_profile_holds_is_no_success_of_the_page() {
    let user = User::new();
    let log = "2026-11-21 10:45:01.004 UTC [7] LOG:  duration: 4.000 ms  statement: select 1\n";
    user.file("both/plain.log", log.as_bytes());
    user.file("both/a.trc", include_bytes!("../traces/shop_ora_4711.trc"));
    assert_eq!(user.run("profile both/* --no-store").status.code(), Some(1), "as of the profile");
    let output = user.run("report both/* -o page.html");
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let page = page_of(&user, "page.html");
    assert!(page.contains("Where the response time went"), "the others are shown");
    for text in [&said, &page] {
        assert!(text.contains("not everything that both/* names was read"), "{said}");
    }
}

#[test]
fn a_page_of_its_own_in_place_of_a_run_is_not_called_one_of_a_trace() {
    let user = with_runs();
    user.ok("report -o page.html");
    for words in ["report page.html -o again.html", "profile page.html"] {
        let said = user.refused(words, 1);
        assert!(said.contains("a page that readpath made: give the runs or the traces"), "{words}: {said}");
    }
    assert!(!user.home.path().join("again.html").exists());
}

#[test]
fn a_missing_store_and_a_damaged_run_of_it_end_with_the_code_that_the_help_promises() {
    let user = with_runs();
    for words in ["report last", "report last~1 last", "report --all", "report"] {
        let complaint = user.refused(&format!("{words} --store missing -o none.html"), 3);
        assert!(complaint.contains("there is no directory missing"), "{words}: {complaint}");
    }
    let damaged = user.store().join("0197c0de-0000-7000-8000-000000000001.json");
    fs::write(damaged, "{\"schema\": \"readpath.run/1\"").unwrap();
    for words in ["report --all -o all.html", "report last 0197c0de -o two.html"] {
        let output = user.run(words);
        assert_eq!(output.status.code(), Some(3), "{words}: {}", complaint(&output));
        assert!(complaint(&output).contains("0197c0de-0000"), "{words}: {}", complaint(&output));
    }
    assert!(page_of(&user, "all.html").contains("disk: 2 runs side by side"), "the others are shown");
    assert!(page_of(&user, "two.html").contains("How long a read takes by zone"), "the others are shown");
    assert!(!user.home.path().join("none.html").exists());
}

#[test]
fn a_run_of_an_older_and_one_of_a_newer_readpath_are_a_sentence_each_and_the_rest_is_shown() {
    let user = with_runs();
    let home = user.home.path().display();
    for version in ["0", "2"] {
        let text = format!(r#"{{"schema": "readpath.run/{version}", "id": "x"}}"#);
        fs::write(user.home.path().join(format!("of-{version}.json")), text).unwrap();
    }
    let output = user.run(&format!("report {home}/of-0.json last {home}/of-2.json -o {home}/some.html"));
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let page = page_of(&user, "some.html");
    assert!(page.contains("How long a read takes by zone"), "the run that can be read is shown");
    for text in [&said, &page] {
        assert_eq!(text.matches("its schema readpath.run/0 is of an older readpath").count(), 1, "{said}");
        assert_eq!(text.matches("its schema readpath.run/2 is of a newer readpath").count(), 1, "{said}");
    }
    assert_eq!(said.lines().filter(|line| line.contains("schema")).count(), 2, "{said}");
}

#[test]
fn a_page_for_standard_output_goes_there_and_to_no_file_of_that_name() {
    let user = with_runs();
    let page = user.ok("report last -o -");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    let output = user.run("report last -o - --charts charts");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("</html>\n"), "the list of charts is in the page");
    assert!(complaint(&output).starts_with("charts: "), "{}", complaint(&output));
    assert_eq!(user.ok("init disk -o -"), user.ok("init disk"));
    let said = user.refused("lio --flamegraph -", 2);
    assert!(said.contains("./-"), "{said}");
    assert!(!user.home.path().join("-").exists());
}

#[test]
fn no_escape_in_the_name_of_a_folder_reaches_the_terminal_beside_a_page() {
    let user = with_runs();
    let output = user.run(&["report", "last", "-o", "-", "--charts", "ch\u{1b}[2Jarts"]);
    let said = complaint(&output);
    assert!(output.status.success() && said.starts_with("ch?[2Jarts: "), "{said}");
}

#[test]
fn a_page_is_no_picture_and_no_text_whatever_its_name_promises() {
    let user = with_runs();
    for name in ["page.svg", "page.md", "page.PDF", "page.json"] {
        let said = user.refused(&format!("report last -o {name}"), 2);
        assert!(said.contains("would hold HTML") && said.contains("--charts DIR"), "{name}: {said}");
        assert!(!user.home.path().join(name).exists(), "{name}");
    }
    for name in ["page", "page.htm", "page.2026-11-22"] {
        user.ok(&format!("report last -o {name}"));
    }
}

#[test]
fn each_chart_is_a_file_and_runs_do_not_overwrite_each_other() {
    let user = with_runs();
    let home = user.home.path().display();
    let output = user.run(&format!("report last~1 last --charts {home}/charts"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut names: Vec<String> = fs::read_dir(user.home.path().join("charts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 2 && names.iter().filter(|name| name.starts_with("disk-zones-")).count() == 2, "{names:?}");
    let chart = page_of(&user, &format!("charts/{}", names[0]));
    assert!(chart.starts_with("<svg") && chart.contains("<title") && chart.contains("<style>"));
    let said = user.refused(&format!("report last --charts {home}/charts/{}", names[0]), 2);
    assert!(said.contains(".svg is a file, and --charts takes a folder"), "{said}");
}

#[test]
fn a_changed_copy_of_a_run_has_charts_of_its_own_and_a_run_that_is_named_twice_has_them_once() {
    let user = with_runs();
    let home = user.home.path().display();
    let document = user.ok("show last --format json");
    let changed = document.replace("\"--seed\"", "\"--sown\"");
    assert_ne!(document, changed);
    fs::write(user.home.path().join("run.json"), document).unwrap();
    fs::write(user.home.path().join("changed.json"), changed).unwrap();
    let said = user.ok(&format!("report {home}/run.json {home}/changed.json {home}/run.json --charts {home}/charts"));
    let names: Vec<String> = fs::read_dir(user.home.path().join("charts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let of_copy = names.iter().filter(|name| name.ends_with("-2.svg")).count();
    assert!(of_copy > 0 && names.len() == 2 * of_copy, "{names:?}");
    assert!(said.contains(&format!("{} charts", names.len())), "{said}");
}

#[test]
fn a_page_is_not_written_where_its_charts_are_refused() {
    let user = with_runs();
    user.ok("report last --charts charts");
    let said = user.refused("report last -o page.html --charts charts", 2);
    assert!(said.contains("is there already"), "{said}");
    assert!(!user.home.path().join("page.html").exists());
    user.ok("report last -o page.html --charts charts --force");
    assert!(page_of(&user, "page.html").ends_with("</html>\n"));
}

#[test]
fn no_folder_is_left_empty_where_a_run_draws_no_chart() {
    let user = User::new();
    user.ok("null --cases 1");
    let folder = user.home.path().join("charts");
    let said = user.ok(&format!("report last --charts {}", folder.display()));
    assert!(said.contains("no chart is drawn") && !folder.exists(), "{said}");
}

#[test]
fn no_output_takes_the_place_of_what_is_no_plain_file_and_a_link_is_followed() {
    let user = User::new();
    user.ok("null --cases 1");
    let (socket, link) = (user.home.path().join("socket"), user.home.path().join("link"));
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::os::unix::fs::symlink(&socket, &link).unwrap();
    for path in [&socket, &link] {
        for words in ["report last -o", "init disk -o"] {
            let complaint = user.refused(&format!("{words} {} --force", path.display()), 2);
            assert!(complaint.contains("not a regular file"), "{complaint}");
        }
    }
    fs::remove_file(&link).unwrap();
    let target = user.file("target", b"before");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    for (words, beginning) in [("report last -o", "<!"), ("init disk -o", "#")] {
        user.ok(&format!("{words} {} --force", link.display()));
        assert!(fs::read_to_string(&target).unwrap().starts_with(beginning), "{words}");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{words}");
    }
}

#[test]
fn the_texts_of_statements_stay_out_where_that_is_asked() {
    let user = User::new();
    let home = user.home.path().display();
    let trace = "=====================\nPARSING IN CURSOR #1 len=31 dep=0 uid=5 oct=3 lid=5 tim=1000000 hv=1 ad='1' \
                 sqlid='7wd0gdwwgph1r'\nselect secret_name from my_vault\nEND OF STMT\nPARSE \
                 #1:c=0,e=100,p=0,cr=0,cu=0,mis=1,r=0,dep=0,og=1,plh=0,tim=1000100\nEXEC \
                 #1:c=0,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=0,tim=1000200\nFETCH \
                 #1:c=9000,e=9000,p=0,cr=4,cu=0,mis=0,r=1,dep=0,og=1,plh=0,tim=1010000\n";
    fs::write(user.home.path().join("a.trc"), trace).unwrap();
    assert!(user.run(&format!("report {home}/a.trc -o {home}/with.html")).status.success());
    assert!(page_of(&user, "with.html").contains("secret_name"));
    assert!(user.run(&format!("report {home}/a.trc -o {home}/without.html --no-text")).status.success());
    let page = page_of(&user, "without.html");
    assert!(!page.contains("secret_name") && !page.contains("my_vault"));
    assert!(page.contains("7wd0gdwwgph1r") && page.contains("Where the response time went"));
    // Two profiles are held against each other by their statements, whose texts stay out of that too.
    let slower = trace.replace("c=9000,e=9000", "c=19000,e=19000").replace("tim=1010000", "tim=1020000");
    fs::write(user.home.path().join("b.trc"), slower).unwrap();
    assert!(user.run(&format!("report {home}/a.trc {home}/b.trc -o {home}/two.html")).status.success());
    let page = page_of(&user, "two.html");
    assert!(page.contains("Slowed most: statement 7wd0gdwwgph1r") && page.contains("secret_name"), "{page}");
    assert!(user.run(&format!("report {home}/a.trc {home}/b.trc -o {home}/quiet.html --no-text")).status.success());
    let page = page_of(&user, "quiet.html");
    assert!(page.contains("Slowed most: statement 7wd0gdwwgph1r") && !page.contains("secret_name"));
    // A trace that is only shown is not kept.
    assert!(String::from_utf8_lossy(&user.run("runs").stdout).contains("No runs are kept yet"));
}
