//! Every layout against a page that a person has looked at. `UPDATE_GOLDEN=1 cargo test -p report` writes them anew.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use measure::compare::Spread;
use measure::schema::conditions;
use measure::store::{Listing, Summary, Unreadable};
use measure::{Finding, Run, Unit, schema};
use report::{Compared, Shown, Style};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::documents;

pub(crate) const WIDE: Style = Style { width: 80, color: false, unicode: true };
const PLAIN: Style = Style { width: 80, color: false, unicode: false };

/// Compares with the golden page, or writes it where the environment asks for that.
pub(crate) fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{} differs from what is rendered now:\n{text}", path.display());
}

fn check_page(name: &str, render: impl Fn(&Style) -> String) {
    for (suffix, style) in [("txt", WIDE), ("ascii.txt", PLAIN)] {
        let page = render(&style);
        for line in page.lines() {
            assert!(line.width() <= style.width, "{} columns: {line}", line.width());
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert!(style.unicode || line.is_ascii(), "{line}");
        }
        check(&format!("{name}.{suffix}"), &page);
    }
}

/// What is shown, as the renderer of this name prints it.
pub(crate) fn in_format<'a>(name: &str, shown: impl Into<Shown<'a>>) -> String {
    let mut text = Vec::new();
    (report::renderer(name).unwrap().write)(shown.into(), &WIDE, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

pub(crate) fn check_run(name: &str, run: &Run) {
    check_page(name, |style| report::render(run, style));
}

#[test]
fn what_the_pages_are_made_of_is_in_the_schema() {
    for run in documents::all() {
        let complaints = schema::check(&run);
        assert!(complaints.is_empty(), "{}: {complaints:#?}", run.experiment);
    }
}

#[test]
fn the_ladder_reads_as_the_page_on_looks_says() {
    check_run("ladder", &documents::ladder());
    check_run("ladder-touched", &documents::ladder_touched());
}

#[test]
fn a_disk_is_shown_by_depth_by_zone_and_by_place() {
    check_run("disk-plain", &documents::disk_plain());
    check_run("disk-zones", &documents::disk_zones());
    check_run("disk-sweep", &documents::disk_sweep());
}

#[test]
fn zones_without_an_outer_one_beside_them_have_no_empty_column_for_it() {
    let page = |zones: &[&str]| {
        let mut run = documents::disk_zones();
        run.cases.retain(|case| zones.iter().any(|zone| case.is("zone", zone)));
        report::render(&run, &WIDE)
    };
    assert!(page(&["outer", "inner"]).contains("× outer"));
    for zones in [&["inner"][..], &["outer"], &["inner", "both"]] {
        assert!(!page(zones).contains("× outer"), "{zones:?}");
    }
}

#[test]
fn a_kept_run_ends_with_the_identifier_that_other_commands_take() {
    let run = documents::disk_plain();
    check_page("disk-plain-kept", |style| report::render(Shown::Kept(&run), style));
    for format in ["json", "csv", "html"] {
        assert!(in_format(format, Shown::Kept(&run)) == in_format(format, &run), "{format} has it anyway");
    }
}

#[test]
fn a_round_trip_stands_beside_the_published_figures() {
    check_run("roundtrip", &documents::roundtrip());
}

#[test]
fn logical_reads_stand_beside_the_published_ones() {
    check_run("lio", &documents::lio());
    check_run("lio-axes", &documents::lio_axes());
    check_run("lio-on-server", &documents::lio_on_server());
}

#[test]
fn access_paths_stand_beside_the_published_ones() {
    check_run("scan", &documents::scan());
    check_run("scan-counted", &documents::scan_counted());
    check_run("scan-counted-in-turns", &documents::scan_counted_in_turns());
}

#[test]
fn what_to_change_stands_first_with_the_sets_it_was_chosen_from() {
    check_run("calibrate", &documents::calibrate());
}

#[test]
fn contenders_stand_by_question_and_bars_with_what_was_wanted() {
    check_run("contest", &documents::contest());
}

#[test]
fn counters_stand_under_their_source_with_the_share_of_the_time() {
    check_run("counters", &documents::counters());
    check_run("counters-valgrind", &documents::counters_under_valgrind());
}

#[test]
fn a_narrow_page_of_access_paths_keeps_every_name_and_number() {
    let page = report::render(&documents::scan_counted(), &Style { width: 40, ..WIDE });
    assert!(page.lines().all(|line| line.width() <= 40), "{page}");
    for text in ["index, bad clustering", "column count", "818", "0.0648", "12\u{202f}499", "88.2", "for a get:"] {
        assert!(page.contains(text), "{text} is lost:\n{page}");
    }
}

#[test]
fn a_scan_that_compared_no_row_is_not_set_against_the_published_one_that_did() {
    let page = report::render(&documents::scan_counted_in_turns(), &WIDE);
    let of_it = |line: &&str| line.starts_with("column scan, zone maps") && line.contains("0.522");
    let row = page.lines().find(of_it).unwrap_or_else(|| panic!("it is lost:\n{page}"));
    assert!(!row.contains("102"), "{row}");
    let published = |line: &str| line.starts_with("column scan ") && line.contains("102");
    assert!(page.lines().any(published), "what was published is lost:\n{page}");
}

#[test]
fn each_encoding_of_a_column_is_legible_on_a_terminal_of_eighty_columns() {
    let mut run = documents::scan();
    let encodings = ["1 × bit-packing, 19 bits; no nulls", "26 × frame of reference, 19 bits; no nulls"];
    let column = json!({"name": "cust_id", "compression_ratio": 1.56, "encodings": encodings});
    run.subject.insert("columns".into(), json!([column]));
    let page = report::render(&run, &Style { width: 80, ..WIDE });
    assert!(encodings.iter().all(|encoding| page.contains(encoding)), "{page}");
}

#[test]
fn a_zero_has_no_sign_in_csv() {
    let mut run = documents::roundtrip();
    for metric in run.cases.iter_mut().flat_map(|case| &mut case.metrics) {
        metric.statistics = measure::Statistics::single(-0.0);
    }
    let table = in_format("csv", &run);
    let fields = || table.split([',', '\n']);
    assert!(fields().any(|field| field == "0") && fields().all(|field| field != "-0"), "{table}");
}

#[test]
fn nested_loops_stand_beside_the_published_ones() {
    check_run("join", &documents::join_methods());
    check_run("join-sweep", &documents::join_sweep());
}

#[test]
fn what_a_scan_costs_is_said_of_each_subject_and_under_its_name() {
    let mut run = documents::join_methods();
    let named = |case: &measure::Case, name: &str| {
        let mut case = case.clone();
        case.parameters.insert("subject".into(), name.into());
        case
    };
    let scans = run.cases.iter().filter(|case| case.parameters.contains_key("access"));
    let scans: Vec<_> = scans.map(|case| named(case, "sqlite 3.50.4")).collect();
    run.cases = run.cases.iter().map(|case| named(case, "engine")).chain(scans).collect();
    let page = report::render(&run, &WIDE);
    let costs = page.split("other costs").nth(1).unwrap().lines().filter_map(|line| line.split("  ").next());
    let costs: Vec<&str> = costs.filter(|text| ["engine", "sqlite 3.50.4", "a full scan"].contains(text)).collect();
    assert_eq!(costs, ["engine", "a full scan", "sqlite 3.50.4", "a full scan"], "{page}");
    let waits = page.split("Milliseconds of waiting").nth(1).and_then(|rest| rest.split("Blocks of the table").next());
    assert!(waits.unwrap().lines().any(|line| line == "engine"), "{page}");
}

#[test]
fn a_usual_join_leaves_no_column_out_on_a_screen_of_80() {
    let page = report::render(&documents::join_methods(), &WIDE);
    assert!(page.contains("index reads") && !page.contains("Left out at this width"), "{page}");
}

#[test]
fn a_profile_says_where_the_time_went() {
    check_run("profile", &documents::profile());
    check_run("profile-sessions", &documents::profile_sessions());
}

#[test]
fn a_profile_shows_what_a_person_would_measure_by_hand() {
    check_run("profile-readings", &documents::profile_readings());
    check_run("profile-breakdown", &documents::profile_breakdown());
}

#[test]
fn a_profile_of_samples_shows_their_error_and_who_waits_for_whom() {
    check_run("profile-sampled", &documents::profile_sampled());
}

#[test]
fn a_statement_of_a_profile_has_a_page_of_its_own() {
    check_run("profile-statement", &documents::profile_statement());
    let mut unknown = documents::profile();
    unknown.subject.insert("statement".into(), json!("not there"));
    assert!(report::render(&unknown, &WIDE).contains("not there is not in this profile"));
}

#[test]
fn a_narrow_page_of_a_profile_loses_columns_and_no_digit() {
    let page = report::render(&documents::profile_sessions(), &Style { width: 40, ..WIDE });
    let line = |start: &str| page.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{page}"));
    assert!(line("CPU").ends_with("6.010   57.2"), "{page}");
    assert!(line("interval").ends_with("10.500"), "{page}");
    assert!(line("71.4203").contains("10.500") && line("batch").contains("85.7"), "{page}");
}

#[test]
fn sessions_that_share_a_row_are_counted_one_by_one() {
    let mut run = documents::profile_sessions();
    let many = schema::profile::findings::SEVERAL_SESSIONS.of("1 021 sessions are added up.");
    run.findings.push(many.with("sessions", 1021.0, Unit::Count));
    let page = report::render(&run, &WIDE);
    assert!(page.contains("1\u{202f}021 sessions, ") && !page.contains("2 sessions, "), "{page}");
}

#[test]
fn the_rows_of_a_profile_add_up_to_its_sums_as_they_are_printed() {
    let page = report::render(&documents::profile(), &WIDE);
    let amount = |line: &str| line.split_whitespace().find_map(|word| word.contains('.').then(|| word.parse::<f64>()));
    let table: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("where the time went")).collect();
    let of = |name: &str| table.iter().find(|line| line.starts_with(name)).and_then(|line| amount(line)?.ok()).unwrap();
    let until = table.iter().position(|line| line.starts_with("response time")).unwrap();
    let classes = table[1..until].iter().filter(|line| !line.starts_with(' '));
    let sum: f64 = classes.filter_map(|line| amount(line)?.ok()).sum();
    assert!((sum - of("response time")).abs() < 0.004, "{sum} and {}", of("response time"));
    assert!((of("response time") + of("think time") - of("interval")).abs() < 0.002, "{page}");
}

#[test]
fn a_statement_of_a_trace_without_response_time_is_no_part_of_it() {
    let mut run = documents::profile_statement();
    for case in run.cases.iter_mut().filter(|case| case.is("table", "summary")) {
        case.metrics.retain(|metric| metric.name != "interval");
    }
    let page = report::render(&run, &WIDE);
    assert!(report::render(&documents::profile_statement(), &WIDE).contains("% of the response"));
    assert!(page.contains(" own") && !page.contains("( %") && !page.contains("% of the response"), "{page}");
}

#[test]
fn clocks_that_are_no_time_of_day_stand_as_they_are() {
    let mut run = documents::profile();
    run.subject.insert("first_clock".into(), json!("soon"));
    run.subject.insert("last_clock".into(), json!("later"));
    assert!(report::render(&run, &WIDE).contains("soon to later"));
}

#[test]
fn an_experiment_without_a_layout_is_shown_case_by_case() {
    check_run("unknown", &documents::unknown());
    check_run("empty", &documents::run("disk", json!({})));
}

#[test]
fn an_interrupted_run_says_what_it_kept() {
    let mut run = documents::ladder();
    run.cases.truncate(3);
    run.finished = None;
    run.findings =
        vec![schema::every::findings::INTERRUPTED.of("The run was interrupted: the 3 cases it finished are kept.")];
    check_run("interrupted", &run);
}

#[test]
fn the_end_of_an_interrupted_run_names_it_once() {
    let mut run = documents::ladder();
    let message = format!("The run was interrupted by ^C; the 3 cases it had finished are kept as {}.", run.id);
    run.findings = vec![schema::every::findings::INTERRUPTED.of(message)];
    let named = |run: &Run| report::render(Shown::Kept(run), &WIDE).matches(&run.id).count();
    assert_eq!(named(&run), 1);
    run.findings.clear();
    assert_eq!(named(&run), 1, "the note names one that came to its end");
}

#[test]
fn two_runs_are_compared_metric_by_metric() {
    let with_samples = |scale: f64| {
        let mut run = documents::disk_plain();
        for (index, case) in run.cases.iter_mut().enumerate() {
            let level = 80.0 * if index == 0 { scale } else { 1.0 };
            let samples: Vec<f64> = (0..40).map(|sample| level + f64::from(sample * 7 % 40) / 10.0).collect();
            case.metrics[0] =
                documents::spec("read_latency", Unit::Microseconds).of_samples("clock", &samples).unwrap();
        }
        run
    };
    let (first, mut second) = (with_samples(1.0), with_samples(1.2));
    second.id = "0197c0de-0000-7000-8000-000000000002".into();
    second.cases.pop();
    second.cases[0].metrics.pop();
    let comparison = measure::compare::compare(&first, &second);
    let compared = Compared { comparison: &comparison, runs: [&first, &second] };
    check_page("compare", |style| report::render(Shown::Comparison(compared), style));
    check("compare.csv", &in_format("csv", Shown::Comparison(compared)));
    assert_eq!(
        in_format("json", Shown::Comparison(compared)).parse::<serde_json::Value>().unwrap(),
        serde_json::to_value(&comparison).unwrap(),
        "the comparison without the runs"
    );
}

/// Two runs of the first rung of a ladder, the second with its times scaled, as a page of text.
fn compared_ladders(scale: f64, of_second: impl Fn(Run) -> Run) -> String {
    let with = |scale: f64, id: &str| {
        let mut run = Run { id: id.into(), ..documents::ladder() };
        run.cases.truncate(1);
        let samples: Vec<f64> = (0..40).map(|sample| scale * (1000.0 + f64::from(sample * 7 % 40) / 100.0)).collect();
        run.cases[0].metrics[0] = documents::spec("latency", Unit::Nanoseconds).of_samples("clock", &samples).unwrap();
        run
    };
    let (first, second) = (with(1.0, "a"), of_second(with(scale, "b")));
    let comparison = measure::compare::compare(&first, &second);
    report::render(Shown::Comparison(Compared { comparison: &comparison, runs: [&first, &second] }), &WIDE)
}

#[test]
fn a_ratio_that_differs_from_1_does_not_read_as_1() {
    let row = |scale: f64| {
        let page = compared_ladders(scale, |run| run);
        page.lines().find(|line| line.starts_with("latency")).unwrap_or_else(|| panic!("{page}")).to_string()
    };
    assert!(row(1.002).ends_with("  1.002  1.002  differs"), "{}", row(1.002));
    assert!(row(1.00001).ends_with("  1.00  1.00  within noise"), "{}", row(1.00001));
    assert!(row(1.2).ends_with("  1.20  1.20  differs"), "{}", row(1.2));
}

#[test]
fn a_comparison_of_two_machines_names_both() {
    let other = |run: Run| {
        let cpu = Some("Intel(R) Xeon(R) CPU @ 2.90GHz".into());
        Run { host: measure::Host { cpu, cores: Some(4), ..run.host.clone() }, ..run }
    };
    let page = compared_ladders(1.0, other);
    assert!(page.contains("machine: first AMD EPYC 7R13, 2 cores; second Intel Xeon, 4 cores"), "{page}");
    assert!(!compared_ladders(1.0, |run| run).contains("machine:"));
}

#[test]
fn a_table_of_a_comparison_has_the_parameters_of_the_second_run_where_they_differ() {
    let first = documents::disk_plain();
    let mut second = Run { id: "0197c0de-0000-7000-8000-000000000002".into(), ..documents::disk_plain() };
    for case in &mut second.cases {
        case.parameters.insert("block_size".into(), json!(65_536));
    }
    let comparison = measure::compare::compare(&first, &second);
    let compared = Compared { comparison: &comparison, runs: [&first, &second] };
    let table = in_format("csv", Shown::Comparison(compared));
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|heading| *heading == name).unwrap();
    let (before, after) = (column("block_size"), column("after_block_size"));
    assert!(rows.len() > 10 && !table.contains("after_depth"), "{table}");
    assert!(rows[1..].iter().all(|row| (row[before], row[after]) == ("8192", "65536")), "{table}");
}

#[test]
fn a_table_of_runs_without_a_depth_in_common_is_no_heading_alone() {
    let first = documents::disk_plain();
    let mut second = Run { id: "0197c0de-0000-7000-8000-000000000002".into(), ..documents::disk_plain() };
    for (case, depth) in second.cases.iter_mut().zip([2, 16, 128]) {
        case.parameters.insert("depth".into(), json!(depth));
    }
    let comparison = measure::compare::compare(&first, &second);
    let compared = Compared { comparison: &comparison, runs: [&first, &second] };
    let table = in_format("csv", Shown::Comparison(compared));
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|heading| *heading == name).unwrap();
    let (before, after) = (column("depth"), column("after_depth"));
    assert!(comparison.cases.is_empty() && rows.len() > 1, "{table}");
    assert!(rows[1..].iter().all(|row| (row[before], row[after]) == ("8", "16")), "{table}");
}

#[test]
fn cases_that_differ_by_less_than_is_shown_never_have_the_same_name_on_both_sides() {
    let zones = |block: u64, outer: u64, inner: u64| {
        let mut run = documents::disk_zones();
        for (case, offset) in run.cases.iter_mut().zip([outer, inner, outer]) {
            case.parameters.insert("block_size".into(), json!(block));
            case.parameters.insert("offset".into(), json!(offset));
        }
        run
    };
    let page = |first: &Run, second: &Run| {
        let second = &Run { id: "0197c0de-0000-7000-8000-000000000002".into(), ..second.clone() };
        let comparison = measure::compare::compare(first, second);
        let compared = Compared { comparison: &comparison, runs: [first, second] };
        report::render(Shown::Comparison(compared), &WIDE)
    };
    let (near, far) = ((1 << 30) + 8192, 200 << 30);
    let moved = page(&zones(8192, 0, far), &zones(65_536, 0, far - 57_344));
    assert!(moved.contains("\ninner\n") && !moved.contains("Only in"), "a zone is the same zone: {moved}");
    let elsewhere = page(&zones(8192, near, far), &zones(65_536, near + 8192, far));
    let below = |title: &str| {
        let lines = elsewhere.lines().skip_while(|line| *line != title).skip(1);
        lines.take_while(|line| !line.is_empty()).map(String::from).collect::<Vec<_>>()
    };
    let (first, second) = (below("Only in the first run:"), below("Only in the second run:"));
    assert_eq!((first.len(), second.len()), (2, 2), "{elsewhere}");
    assert!(first.iter().all(|line| line.contains(" B") && !second.contains(line)), "{elsewhere}");
    let settings = page(&zones(near, 0, far), &zones(near + 8192, 0, far));
    assert!(settings.contains("block_size: first 1\u{202f}048\u{202f}584 KiB, second"), "{settings}");
    let spans = [near, near + 8192].map(|span: u64| {
        let mut run = documents::disk_zones();
        run.cases.iter_mut().for_each(|case| drop(case.parameters.insert("span".into(), json!(span))));
        run
    });
    let settings = page(&spans[0], &spans[1]);
    assert!(settings.contains("span: first 1\u{202f}073\u{202f}750\u{202f}016 B, second"), "{settings}");
}

#[test]
fn two_disks_stand_beside_each_other_at_their_best_depths_with_charts_on_a_page_for_a_browser() {
    let with = |path: &str, best: u64, scale: f64| {
        let mut run = documents::ladder();
        run.subject.insert("folder".into(), path.into());
        for case in &mut run.cases {
            if case.parameters.get("rung").is_some_and(|rung| rung == "device-random-best-depth") {
                case.parameters.insert("depth".into(), best.into());
            }
            if case.parameters.get("rung").is_some_and(|rung| rung.as_str().unwrap().starts_with("device-random")) {
                let depth = case.parameters.get("depth").and_then(serde_json::Value::as_f64).unwrap_or(1.0);
                case.parameters.insert("depth".into(), (depth as u64).into());
                let rates: Vec<f64> = (0..40).map(|window| scale * depth * f64::from(900 + window % 7)).collect();
                case.metrics.retain(|metric| metric.name != "iops");
                case.metrics.extend(schema::reads::IOPS.of_samples("windows", &rates));
            }
        }
        run
    };
    let first = with("/mnt/fast", 64, 10.0);
    let mut second = Run { id: "0197c0de-0000-7000-8000-000000000002".into(), ..with("/mnt/slow", 16, 4.0) };
    second.findings.push(conditions::findings::STOLEN_TIME.of("The hypervisor took processor time away."));
    let comparison = measure::compare::compare(&first, &second);
    let compared = Compared { comparison: &comparison, runs: [&first, &second] };
    check_page("compare-disks", |style| report::render(Shown::Comparison(compared), style));
    let page = in_format("html", Shown::Comparison(compared));
    for said in ["the first, /mnt/fast (", "at depth 16", "there is no verdict", "disturbed (2)", "2. The hypervisor"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(page.contains("<svg") && !report::render(Shown::Comparison(compared), &WIDE).contains("<svg"));
}

/// Two calibrations as a page of text.
fn compared_calibrations(first: Run, second: Run) -> String {
    let second = Run { id: "0197c0de-0000-7000-8000-000000000002".into(), ..second };
    let comparison = measure::compare::compare(&first, &second);
    report::render(Shown::Comparison(Compared { comparison: &comparison, runs: [&first, &second] }), &WIDE)
}

#[test]
fn what_changed_between_calibrations_is_not_lost_among_hundreds_of_values_that_did_not() {
    let mut second = documents::calibrate();
    for case in &mut second.cases {
        let is = |name: &str, value: &str| case.parameters.get(name) == Some(&json!(value));
        let is_advised = is("part", "set") && is("state", "as-found") && is("constants", "cached");
        let is_random_page = is("part", "constant") && is("constant", "random_page_cost");
        let is_months = is("query", "months");
        if is_advised {
            case.parameters.insert("advice".into(), json!("keep"));
        }
        if is_months {
            case.parameters.insert("verdict".into(), json!("slower, ended after 500 ms"));
        }
        for metric in &mut case.metrics {
            let value = match metric.name.as_str() {
                "given" if is_random_page => 0.2,
                "ratio" if is_months => 1.3,
                _ => continue,
            };
            metric.statistics = measure::Statistics::single(value);
        }
    }
    let page = compared_calibrations(documents::calibrate(), second);
    let mut rest = page.as_str();
    for said in ["The advice (", "Constants that differ", "Queries with another verdict", "\nOf ", "Too few: "] {
        let at = rest.find(said).unwrap_or_else(|| panic!("{said} is not next: {page}"));
        rest = &rest[at + said.len()..];
    }
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "your queries, as the server is: first run: change to the set cached (seq_page_cost = 0.0790, random_page",
        ", but not for 1 query, times 0.620, worst 1.10; second run: keep the server's own constants (judged by the",
        "readpath's queries, cached by the server: in both runs undecided (the set cached), times 0.620, worst 1.10",
        "random_page_cost cached given 0.160 0.200 ",
        "your queries, as the server is months cached faster 0.387 slower ≥1.30, ended ",
        "with too few samples for a verdict. --format csv lists all.",
    ] {
        assert!(words.contains(said), "no {said}: {page}");
    }
    assert!(!page.contains("passes_spread") && page.lines().count() < 60, "{page}");
}

#[test]
fn calibrations_that_advise_the_same_say_so() {
    let page = compared_calibrations(documents::calibrate(), documents::calibrate());
    assert!(page.contains("in both runs change to the set cached") && !page.contains("first run: change"), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("No constant that both runs have differs on the server or in the sets."), "{page}");
    assert!(words.contains("No query's verdict differs for an advised set that both runs tried."), "{page}");
}

#[test]
fn values_of_calibrations_that_differ_are_listed_by_what_was_asked_and_not_by_what_was_found() {
    let with = |scale: f64| {
        let mut run = documents::calibrate();
        for metric in run.cases.iter_mut().flat_map(|case| case.metrics.iter_mut()) {
            // The times of queries differ too, and by less.
            let scale = match metric.name.as_str() {
                "path_time" => scale,
                "time_now" => scale.sqrt(),
                _ => continue,
            };
            let samples: Vec<f64> = (0..10).map(|sample| scale * (20.0 + f64::from(sample) / 10.0)).collect();
            *metric = documents::spec(&metric.name, Unit::Milliseconds).of_samples("t", &samples).unwrap();
        }
        run
    };
    let page = compared_calibrations(with(1.0), with(2.0));
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(page.lines().filter(|line| line.starts_with("path_time  ")).count(), 20, "{page}");
    assert!(words.contains(" that both runs have and a page shows: 28 beyond the noise of their"), "{page}");
    assert!(words.contains("The 20 of 28 values beyond the noise that differ most: metric first"), "{page}");
    assert!(!page.contains("\ntime_now  "), "it differs less than those that are listed: {page}");
    assert!(words.contains("order scattered, path index, asked rows 30"), "{page}");
    assert!(!words.contains("chosen by") && words.contains("path_time: of a crossover: the statement by"), "{page}");
}

#[test]
fn a_set_that_one_run_did_not_try_gives_no_query_another_verdict() {
    let mut second = documents::calibrate();
    second.cases.retain(|case| case.parameters.get("constants") != Some(&json!("cached")));
    let page = compared_calibrations(documents::calibrate(), second);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!words.contains("months") && words.contains("; second run: not judged"), "{page}");
    assert!(words.contains("your queries, as the server is: cached, in the first run only"), "{page}");
    assert!(!words.contains("No query's verdict differs"), "nothing was compared: {page}");
    assert!(words.contains("In the first run alone: "), "{page}");
}

#[test]
fn values_of_a_disturbed_calibration_do_not_vanish_from_the_page_and_are_not_taken_for_differences() {
    let with = |scale: f64| {
        let mut run = documents::calibrate();
        let metrics = run.cases.iter_mut().flat_map(|case| case.metrics.iter_mut());
        for metric in metrics.filter(|metric| metric.name == "time_then") {
            let samples: Vec<f64> = (0..10).map(|sample| scale * (20.0 + f64::from(sample) / 10.0)).collect();
            *metric = documents::spec("time_then", Unit::Milliseconds).of_samples("t", &samples).unwrap();
        }
        run
    };
    let mut second = with(2.0);
    second.findings.push(conditions::findings::STOLEN_TIME.of("The hypervisor took processor time away."));
    let page = compared_calibrations(with(1.0), second);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("All disturbed values beyond the noise, those that differ most first: metric"), "{page}");
    assert!(page.contains("\ntime_then  ") && words.contains("Disturbed: according to a warning below"), "{page}");
    assert!(!words.contains("All values beyond the noise") && words.contains("1. The hypervisor took"), "{page}");
    let quiet = compared_calibrations(with(1.0), with(2.0));
    assert!(quiet.contains("All values beyond the noise") && !quiet.contains("isturbed"), "{quiet}");
}

#[test]
fn the_advice_of_calibrations_without_a_value_in_common_is_shown_all_the_same() {
    let mut second = documents::calibrate();
    second.cases.iter_mut().for_each(|case| case.metrics.clear());
    let page = compared_calibrations(documents::calibrate(), second);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("second run: change to the set cached "), "{page}");
    assert!(page.contains("The advice (") && words.contains("The runs have no case in common"), "{page}");
}

#[test]
fn a_comparison_says_a_warning_of_both_runs_once_and_shows_no_row_that_tells_nothing() {
    let with = |id: &str, counts: [f64; 2], findings: Vec<Finding>| {
        let mut run = Run { id: id.into(), ..documents::disk_plain() };
        run.cases.truncate(1);
        run.cases[0].metrics = vec![
            schema::reads::READ_LATENCY.single("clock", 80.0),
            schema::reads::SERVICE_TIME.single("clock", counts[0]),
            schema::reads::SUBMISSION_LATENESS.single("clock", counts[1]),
        ];
        Run { findings, ..run }
    };
    let cached = || schema::reads::findings::SERVED_FROM_PAGE_CACHE.of("The page cache served the reads.");
    let rate = |depth: u64| {
        let message = format!("The run reached half of it at {depth}.");
        schema::reads::findings::RATE_NOT_REACHED.of(message)
    };
    let first = with("a", [0.0, 0.0], vec![rate(1), cached()]);
    let second = with("b", [0.0, 12.0], vec![cached(), rate(2)]);
    let comparison = measure::compare::compare(&first, &second);
    let compared = Compared { comparison: &comparison, runs: [&first, &second] };
    let page = report::render(Shown::Comparison(compared), &WIDE);
    let (_, warnings) = page.split_once("Warnings of both runs:").unwrap_or_else(|| panic!("{page}"));
    let expected = "\n  1. The page cache served the reads.\n\nWarnings of the first run:\n  2. The run reached half \
                    of it at 1.\n\nWarnings of the second run:\n  3. The run reached half of it at 2.\n";
    assert_eq!(warnings, expected);
    assert!(!page.contains("service_time"), "both are zero: {page}");
    let row = page.lines().find(|line| line.starts_with("submission_lateness  ")).unwrap_or_else(|| panic!("{page}"));
    assert!(row.contains("no ratio") && page.contains("\nNo ratio: one of the two values is zero"), "{page}");
    let meaning = "  submission_lateness: with rate: from the intended start to submission\n";
    assert!(page.contains(meaning), "what a row is stands below the table: {page}");
}

#[test]
fn what_another_thread_may_have_made_is_disturbed_and_not_a_difference() {
    let with = |scale: f64, additions: f64, findings: Vec<Finding>| {
        let mut run = documents::ladder();
        for (index, case) in run.cases.iter_mut().enumerate().take(2) {
            let samples: Vec<f64> = (0..40).map(|sample| scale * (80.0 + f64::from(sample * 7 % 40) / 10.0)).collect();
            case.metrics[0] = documents::spec("latency", Unit::Nanoseconds).of_samples("clock", &samples).unwrap();
            let additions = [if index == 0 { additions } else { 4.0 }, 4.0];
            case.metrics.extend(conditions::CORE_ADDITIONS.of_samples("chains", &additions));
        }
        run.cases.truncate(2);
        run.findings = findings;
        run
    };
    let message = "Another thread shared the core during 1 of 2 measurements, most during l1.";
    let shared = conditions::findings::CORE_SHARED.of(message).with("best", 4.0, Unit::Count);
    let mut second = with(1.5, 2.0, vec![shared]);
    second.id = "0197c0de-0000-7000-8000-000000000002".into();
    let first = with(1.0, 4.0, Vec::new());
    let comparison = measure::compare::compare(&first, &second);
    let compared = Compared { comparison: &comparison, runs: [&first, &second] };
    check_page("compare-disturbed", |style| report::render(Shown::Comparison(compared), style));
}

#[test]
fn a_warning_that_names_a_case_has_its_number_behind_every_verdict_of_that_case() {
    let with = |scale: f64, findings: Vec<Finding>| {
        let mut run = documents::ladder();
        for case in run.cases.iter_mut().take(2) {
            let samples: Vec<f64> = (0..40).map(|sample| scale * (80.0 + f64::from(sample * 7 % 40) / 10.0)).collect();
            case.metrics[0] = documents::spec("latency", Unit::Nanoseconds).of_samples("clock", &samples).unwrap();
        }
        Run { findings, ..run }
    };
    let warned = [
        schema::every::findings::NOT_A_NUMBER.of("A metric of l2 came out as no number."),
        schema::ladder::findings::ABSENT_RUNG.named("device-sequential", "The file system refuses direct I/O."),
    ];
    let first = with(1.0, Vec::new());
    let second = Run { id: "0197c0de-0000-7000-8000-000000000002".into(), ..with(1.5, warned.into()) };
    let comparison = measure::compare::compare(&first, &second);
    let compared = Compared { comparison: &comparison, runs: [&first, &second] };
    let page = report::render(Shown::Comparison(compared), &WIDE);
    let verdict = |case: &str| {
        let line = page.lines().skip_while(|line| *line != case).nth(1).unwrap_or_else(|| panic!("{case}: {page}"));
        line.split("  ").last().unwrap().trim().to_string()
    };
    assert_eq!(
        ["l1", "l2", "l3", "device-sequential"].map(verdict),
        ["differs", "differs (1)", "too few", "too few (2)"]
    );
    assert!(page.contains("A number after a verdict is the number of the warning below"), "{page}");
}

#[test]
fn two_profiles_say_what_became_slower_and_whether_that_is_more_than_their_spread() {
    let comparison = documents::profile_comparison();
    check_page("compare-profiles", |style| report::render(Shown::Profiles(&comparison), style));
    check("compare-profiles.csv", &in_format("csv", Shown::Profiles(&comparison)));
    let json: serde_json::Value = serde_json::from_str(&in_format("json", Shown::Profiles(&comparison))).unwrap();
    assert_eq!(json["statements"][0]["spread"], "beyond");
    assert!(in_format("html", Shown::Profiles(&comparison)).contains("db file scattered read"));
    let nothing = measure::compare::ProfileComparison::default();
    check_page("compare-profiles-same", |style| report::render(Shown::Profiles(&nothing), style));
}

#[test]
fn samples_of_unequal_lengths_are_compared_for_each_second_and_count_no_executions() {
    let shown = |first: f64, second: f64| {
        let mut comparison = documents::profile_comparison();
        for (side, seconds) in [(&mut comparison.before, first), (&mut comparison.after, second)] {
            (side.executions, side.rows, side.files) = (None, None, None);
            side.sampled_us = Some(seconds * 1e6);
        }
        comparison.divide_by_lengths();
        report::render(Shown::Profiles(&comparison), &WIDE)
    };
    let ratio = |page: &str| page.split(" (").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    let (equal, unequal) = (shown(10.0, 10.1), shown(6.0, 12.0));
    assert!(!equal.contains("unequal") && equal.contains("Response time: "), "{equal}");
    for part in
        ["sampled for 6.00 s", "sampled for 12.0 s", "first /s", "change /s", "Response time, for each second: "]
    {
        assert!(unequal.contains(part), "no {part}: {unequal}");
    }
    assert!(!unequal.contains("client executions,") && !unequal.contains(" rows"), "{unequal}");
    assert!(unequal.contains("Samples count no executions: "), "{unequal}");
    let (equal, unequal) = (ratio(&equal).unwrap(), ratio(&unequal).unwrap());
    assert!((unequal - equal / 2.0).abs() < 0.01, "{equal} and {unequal}");
}

#[test]
fn a_side_of_which_nothing_was_sampled_is_not_shown_as_one_that_was_fast() {
    let mut comparison = of_samples(10.0, 10.0);
    let says = "Nothing was sampled of the first that counts as response time.";
    let page = |comparison: &measure::compare::ProfileComparison| report::render(Shown::Profiles(comparison), &WIDE);
    assert!(!page(&comparison).contains("Nothing was sampled"));
    comparison.response_time.before.total_us = 0.0;
    assert!(page(&comparison).contains(says), "{}", page(&comparison));
}

/// A comparison of samples, sampled for these seconds, with no execution and no row.
fn of_samples(first: f64, second: f64) -> measure::compare::ProfileComparison {
    let mut comparison = documents::profile_comparison();
    for (side, seconds) in [(&mut comparison.before, first), (&mut comparison.after, second)] {
        (side.executions, side.rows, side.files) = (None, None, None);
        side.sampled_us = Some(seconds * 1e6);
    }
    let changes = [&mut comparison.classes, &mut comparison.events, &mut comparison.statements];
    let changes = changes.into_iter().flatten().chain([&mut comparison.response_time]);
    let alone = [&mut comparison.new, &mut comparison.vanished].into_iter().flatten().map(|one| &mut one.amount);
    for change in changes {
        change.spread = Spread::Unknown;
        for amount in [&mut change.before, &mut change.after] {
            (amount.count, amount.execution_us, amount.row_us) = (None, None, None);
        }
    }
    alone.for_each(|amount| (amount.count, amount.execution_us, amount.row_us) = (None, None, None));
    comparison
}

#[test]
fn the_rows_of_two_profiles_of_samples_say_how_long_each_was_sampled() {
    let table = in_format("csv", Shown::Profiles(&of_samples(6.0, 12.0)));
    let (heading, rows) = table.split_once('\n').unwrap();
    assert!(heading.ends_with(",before_sampled_us,after_sampled_us"), "{heading}");
    assert!(rows.lines().all(|row| row.ends_with(",6000000,12000000")), "{table}");
}

#[test]
fn a_legend_explains_no_spread_where_no_column_shows_one() {
    let shown = |spread: Spread| {
        let mut comparison = documents::profile_comparison();
        let changes = [&mut comparison.classes, &mut comparison.events, &mut comparison.statements];
        let changes = changes.into_iter().flatten().chain([&mut comparison.response_time]);
        changes.for_each(|change| change.spread = spread);
        let page = report::render(Shown::Profiles(&comparison), &WIDE);
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let [known, unknown] = [Spread::Within, Spread::Unknown].map(shown);
    assert!(known.contains("Spread: beyond where the time of an execution"), "{known}");
    // As where one side is of samples, which count no executions.
    assert!(!unknown.contains("Spread: ") && unknown.contains("The time of an execution is the total"), "{unknown}");
    assert!(unknown.contains("What else differs between the two"), "{unknown}");
}

#[test]
fn a_comparison_of_samples_has_no_column_of_executions_or_rows_and_no_time_between_calls() {
    let page = report::render(Shown::Profiles(&of_samples(6.0, 12.0)), &WIDE);
    for part in ["an execution", "a row", "spread", "between calls"] {
        assert!(!page.contains(part), "{part}: {page}");
    }
    assert!(page.contains("\nunaccounted for  ") && page.contains("Samples count no executions: "), "{page}");
    let mut fetched = documents::profile_comparison();
    for change in fetched.classes.iter_mut().chain(&mut fetched.events).chain([&mut fetched.response_time]) {
        (change.before.execution_us, change.after.execution_us, change.spread) = (None, None, Spread::Unknown);
    }
    let page = report::render(Shown::Profiles(&fetched), &WIDE);
    let of_rows = |line: &str| line.starts_with("where the time went ") && line.contains("a row first");
    assert!(page.lines().any(of_rows), "{page}");
    assert!(page.contains("an execution     first"), "that of statements is known: {page}");
}

#[test]
fn executions_that_were_not_counted_are_left_empty_and_not_shown_as_none() {
    let mut comparison = documents::profile_comparison();
    comparison.new[0].amount.count = None;
    let line = |comparison: &measure::compare::ProfileComparison, id: &str| {
        let table = in_format("csv", Shown::Profiles(comparison));
        table.lines().find(|line| line.contains(id)).unwrap().to_string()
    };
    assert_eq!(line(&comparison, "7bbbbbbbbbbbb"), "new,,7bbbbbbbbbbbb,,,,,,,40000,,40000,40000,,");
    assert!(report::render(Shown::Profiles(&comparison), &WIDE).contains("8ccccccccccccc  90.0 µs           0"));
    comparison.new.iter_mut().for_each(|one| one.amount.count = None);
    comparison.vanished.clear();
    let page = report::render(Shown::Profiles(&comparison), &WIDE);
    let heading = page.lines().skip_while(|line| *line != "new statements").nth(1).unwrap();
    assert!(!heading.contains("executions"), "{page}");
}

#[test]
fn one_event_that_hardly_differs_keeps_its_name_and_two_share_a_line() {
    let mut comparison = documents::profile_comparison();
    let of_idle = comparison.events.last().unwrap().clone();
    let hardly = |name: &str| {
        let mut event = of_idle.clone();
        event.name = name.into();
        event.after = event.before;
        event
    };
    comparison.events.push(hardly("first that hardly differs"));
    let one = report::render(Shown::Profiles(&comparison), &WIDE);
    assert!(one.contains("  first that hardly differs") && !one.contains(" other"), "{one}");
    comparison.events.push(hardly("second that hardly differs"));
    let two = report::render(Shown::Profiles(&comparison), &WIDE);
    assert!(two.contains("  2 others") && !two.contains("hardly differs"), "{two}");
}

#[test]
fn a_narrow_comparison_of_profiles_keeps_every_name_and_number() {
    for width in [40, 60, 100] {
        let page = report::render(Shown::Profiles(&documents::profile_comparison()), &Style { width, ..WIDE });
        assert!(page.lines().all(|line| line.width() <= width), "{page}");
        for text in ["db file scattered read", "4kz7x0w2mfu1q", "214", "2.01", "902"] {
            assert!(page.contains(text), "{text} is lost:\n{page}");
        }
    }
}

#[test]
fn the_list_of_runs_names_what_it_cannot_read() {
    let summary = |id: &str, experiment: &str, finished| Summary {
        id: id.into(),
        started: "2026-01-31T12:34:56.789Z".into(),
        finished,
        experiment: experiment.into(),
        subject: documents::disk_plain().subject,
        command: vec!["readpath".into(), experiment.into(), "/dev/vdb".into()],
        cases: 3,
        findings: documents::disk_plain().findings,
    };
    let listing = Listing {
        runs: vec![
            summary("0197c0de-0001-7000-8000-000000000002", "disk", None),
            summary("0197c0de-0000-7000-8000-000000000001", "ladder", Some("2026-01-31T12:35:56Z".into())),
        ],
        unreadable: vec![Unreadable {
            path: PathBuf::from("/home/user/.local/share/readpath/runs/notes.json"),
            reason: "it is not a run document (missing field `schema` at line 1 column 12)".into(),
        }],
    };
    check_page("runs", |style| report::render(Shown::Runs(&listing), style));
    check_page("runs-empty", |style| report::render(Shown::Runs(&Listing::default()), style));
    check("runs.csv", &in_format("csv", Shown::Runs(&listing)));
}

#[test]
fn the_list_of_runs_tells_models_and_folders_apart() {
    let run = |(number, subject): (usize, serde_json::Value)| Summary {
        id: format!("0197c0de-0001-7000-8000-00000000000{number}"),
        started: "2026-01-31T12:34:56.789Z".into(),
        finished: None,
        experiment: "disk".into(),
        subject: subject.as_object().cloned().unwrap_or_default(),
        command: Vec::new(),
        cases: 3,
        findings: Vec::new(),
    };
    let subjects = [
        json!({"kind": "model", "name": "ssd"}),
        json!({"kind": "model", "name": "hdd-7200"}),
        json!({"kind": "device", "path": "test file made by this run", "folder": "/mnt/fast", "device": "vda"}),
        json!({"kind": "device", "path": "test file made by this run", "device": "vda"}),
        json!({"kind": "process", "command": "/usr/bin/gzip -k big.log"}),
    ];
    let runs = subjects.into_iter().enumerate().map(run).collect();
    let listing = Listing { runs, unreadable: Vec::new() };
    for listed in [report::render(Shown::Runs(&listing), &WIDE), in_format("csv", Shown::Runs(&listing))] {
        let mut rest = listed.as_str();
        for named in ["model ssd", "model hdd-7200", "/mnt/fast", "vda", "gzip"] {
            let at = rest.find(named).unwrap_or_else(|| panic!("{named}: {listed}"));
            rest = &rest[at + named.len()..];
        }
        assert!(!listed.contains("test fil"), "{listed}");
    }
}

#[test]
fn csv_has_one_row_a_metric_and_quotes_what_needs_it() {
    let mut run = documents::roundtrip();
    run.cases[0].parameters.insert("path".into(), json!("a \"quoted\", path"));
    run.cases[1].parameters.insert("extra".into(), json!(7));
    check("roundtrip.csv", &in_format("csv", &run));
}

#[test]
fn each_column_for_scripts_has_a_name_of_its_own() {
    let run = documents::calibrate();
    let comparison = measure::compare::compare(&run, &run);
    let compared = Compared { comparison: &comparison, runs: [&run, &run] };
    let tables = [in_format("csv", &run), in_format("csv", Shown::Comparison(compared))];
    for (table, parameter) in tables.iter().zip(["case_source", "case_verdict"]) {
        let heading: Vec<&str> = table.lines().next().unwrap().split(',').collect();
        let names: BTreeSet<&str> = heading.iter().copied().collect();
        assert_eq!(names.len(), heading.len(), "{heading:?}");
        assert!(names.contains(parameter), "{heading:?}");
    }
}

#[test]
fn the_table_of_sets_does_not_fall_apart_at_80_columns_where_names_are_long_and_plans_were_ended() {
    let mut run = documents::calibrate();
    for case in &mut run.cases {
        let parameters = &mut case.parameters;
        if parameters.get("constants") == Some(&json!("cached")) {
            parameters.insert("constants".into(), json!("eighth-pages"));
        }
        if parameters.get("part") == Some(&json!("query")) && parameters.get("state") == Some(&json!("as-found")) {
            parameters.insert("ended".into(), json!("both"));
        }
        // One that takes less than a second keeps all in milliseconds.
        let is_quick = parameters.get("state") == Some(&json!("system"));
        let [now, then] = if is_quick { [800.0, 500.0] } else { [12_345.6, 10_345.6] };
        let figures = [("changed", 19.0), ("time_now", now), ("time_then", then), ("worst", 12.3)];
        for metric in case.metrics.iter_mut().filter(|_| parameters.get("part") == Some(&json!("set"))) {
            let figure = figures.iter().find(|(name, _)| *name == metric.name);
            figure.into_iter().for_each(|(_, value)| metric.statistics = measure::Statistics::single(*value));
        }
    }
    let page = report::render(&run, &WIDE);
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("eighth-pages ")).collect();
    assert_eq!(rows.len(), 3, "one row a set: {page}");
    assert!(rows[0].contains("  change *   19 of 31  ~0.620  0.558–0.744  "), "{rows:?}");
    assert!(rows[0].ends_with("  ≥10\u{202f}346  ≥12\u{202f}346"), "{rows:?}");
    assert!(page.lines().all(|line| line.width() <= WIDE.width), "{page}");
}

#[test]
fn json_is_the_document_itself() {
    let run = documents::ladder();
    assert_eq!(serde_json::from_str::<Run>(&in_format("json", &run)).unwrap(), run);
}

#[test]
fn a_statement_that_is_copied_from_a_page_names_the_database_that_is_meant_where_a_letter_cannot_be_shown() {
    let named = |name: &str| {
        let mut run = documents::calibrate();
        run.subject.insert("database".into(), json!(name));
        run
    };
    let is_in = |page: &str, name: &str| page.contains(&format!("\nALTER DATABASE {name} SET seq_page_cost = "));
    let german = named("größe");
    assert!(is_in(&report::render(&german, &WIDE), r#""größe""#));
    assert!(is_in(&report::render(&german, &PLAIN), r#"U&"gr\00F6\00DFe""#));
    let combining = named("o\u{308}");
    assert!(is_in(&report::render(&combining, &WIDE), r#"U&"o\0308""#));
    assert!(report::html::report(&[combining], &[]).contains("ALTER DATABASE U&amp;&quot;o\\0308&quot; SET "));
}

#[test]
fn colour_adds_nothing_but_escapes() {
    let run = documents::ladder();
    let coloured = report::render(&run, &Style { color: true, ..WIDE });
    let plain =
        ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[0m"].iter().fold(coloured.clone(), |text, code| text.replace(code, ""));
    assert!(coloured != plain && plain == report::render(&run, &WIDE));
}

#[test]
fn the_median_of_a_round_trip_stays_on_a_narrow_screen_and_details_go_first() {
    for width in [40, 50, 60, 80] {
        let page = report::render(&documents::roundtrip(), &Style { width, ..WIDE });
        let left_out = page.split("Left out at this width:").nth(1).unwrap_or_default();
        let left_out = left_out.split("csv shows all").next().unwrap_or_default();
        assert!(page.contains("per read") && !left_out.contains("per read"), "{width}: {page}");
        assert!(!left_out.contains("served") || left_out.contains("p90"), "{width}: {page}");
    }
}

#[test]
fn narrow_terminals_get_narrow_pages() {
    for width in [40, 50, 60, 70, 100, 140] {
        let style = Style { width, ..WIDE };
        let pages = [
            report::render(&documents::ladder_touched(), &style),
            report::render(&documents::disk_zones(), &style),
            report::render(&documents::disk_plain(), &style),
            report::render(&documents::roundtrip(), &style),
            report::render(&documents::lio(), &style),
            report::render(&documents::lio_axes(), &style),
            report::render(&documents::scan(), &style),
            report::render(&documents::scan_counted(), &style),
            report::render(&documents::join_methods(), &style),
            report::render(&documents::join_sweep(), &style),
            report::render(&documents::profile(), &style),
            report::render(&documents::profile_sessions(), &style),
            report::render(&documents::profile_readings(), &style),
            report::render(&documents::profile_statement(), &style),
        ];
        for line in pages.iter().flat_map(|page| page.lines()) {
            assert!(line.width() <= width, "{} of {width} columns: {line}", line.width());
        }
    }
}
