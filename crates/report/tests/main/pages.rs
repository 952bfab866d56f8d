//! Pages for browsers: charts against pictures that a person has looked at, and what a hostile run can do to a page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use measure::schema::{calibrate, conditions, scan};
use measure::store::read_run;
use measure::{Case, Run, Unit};
use proptest::prelude::*;
use report::page::{Chart, Section};
use report::{Shown, html, svg};
use serde_json::json;

use crate::documents;
use crate::golden::{WIDE, check, in_format};

/// The elements of a page. Whatever else follows an opening bracket came out of a run.
const ELEMENTS: [&str; 49] = [
    "html",
    "head",
    "meta",
    "link",
    "title",
    "style",
    "body",
    "main",
    "section",
    "nav",
    "footer",
    "script",
    "h1",
    "h2",
    "h3",
    "p",
    "ul",
    "li",
    "a",
    "dl",
    "div",
    "dt",
    "dd",
    "figure",
    "figcaption",
    "details",
    "summary",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "pre",
    "code",
    "strong",
    "svg",
    "desc",
    "g",
    "rect",
    "line",
    "path",
    "circle",
    "text",
    "!DOCTYPE",
    "defs",
    "tspan",
    "button",
];

/// The documents of earlier versions, by the names of their files.
pub(crate) fn kept() -> Vec<(String, Run)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), read_run(path).unwrap())).collect()
}

/// The charts of a run, as data.
pub(crate) fn charts(run: &Run) -> Vec<Chart> {
    let sections = Shown::Run(run).page().sections.into_iter();
    sections.filter_map(|section| if let Section::Chart(chart) = section { Some(*chart) } else { None }).collect()
}

/// What a page says after its own style sheets and its own script are taken away.
fn without_own(page: &str) -> String {
    let mut left = page.to_string();
    for (begin, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        while let Some(from) = left.find(begin) {
            let to = left[from..].find(end).unwrap() + from + end.len();
            left.replace_range(from..to, "");
        }
    }
    left
}

/// What in a page is no markup of ours.
fn foreign(page: &str) -> Vec<String> {
    let name = |rest: &str| {
        rest.trim_start_matches('/')
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '!')
            .collect::<String>()
    };
    let tags = without_own(page).split('<').skip(1).map(name).collect::<BTreeSet<_>>();
    tags.into_iter().filter(|tag| !ELEMENTS.contains(&tag.as_str())).collect()
}

#[test]
fn the_charts_of_real_runs_are_the_ones_that_were_looked_at() {
    let mut count = 0;
    for (name, run) in kept() {
        for (chart, text) in svg::files(&run) {
            check(&format!("charts/{name}-{chart}.svg"), &text);
            count += 1;
        }
    }
    assert!(count >= 15, "{count} charts");
}

#[test]
fn a_page_is_the_one_that_was_looked_at() {
    let (_, run) = kept().into_iter().find(|(name, _)| name == "roundtrip-server").unwrap();
    check("roundtrip-server.html", &html::report(&[run], &[]));
}

#[test]
fn no_mark_and_no_text_leaves_its_picture() {
    for run in documents::all().into_iter().chain(kept().into_iter().map(|(_, run)| run)) {
        for (name, text) in svg::files(&run) {
            assert!(!text.contains("NaN") && !text.contains("inf\""), "{name}: {text}");
            let number = |name: &str, element: &str| {
                let value = element.split_once(&format!(" {name}=\""))?.1.split('"').next()?;
                value.parse::<f64>().ok()
            };
            for element in text.split('<') {
                for (axis, most) in [("x", 720.0), ("x1", 720.0), ("x2", 720.0), ("cx", 720.0)] {
                    let at = number(axis, element).unwrap_or(0.0);
                    assert!((0.0..=most).contains(&at), "{} {name}: {element}", run.experiment);
                }
            }
        }
    }
}

#[test]
fn every_experiment_answers_its_question_with_a_chart() {
    let drawn = |run: &Run| svg::files(run).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let wanted: [(Run, &[&str]); 13] = [
        (documents::ladder(), &["ladder"]),
        (documents::disk_sweep(), &["disk-position", "disk-distance", "disk-position-bandwidth"]),
        (documents::roundtrip(), &["roundtrip"]),
        (documents::lio(), &["lio"]),
        (documents::scan_counted(), &["scan", "scan-instructions", "scan-cycles", "scan-ipc"]),
        (documents::disk_throttled(), &["disk-latency", "disk-rate", "disk-over-time"]),
        (documents::join_sweep(), &["join-wait", "join-saturation", "join-order"]),
        (documents::join_of_servers(), &["join-elapsed"]),
        (documents::calibrate(), &["random-page-cost", "sets", "plans", "crossover-scattered", "crossover-clustered"]),
        (documents::profile_readings(), &["response-time", "miss-curve"]),
        (
            documents::profile_sampled(),
            &["response-time", "active-sessions", "read-tiers", "read-latency", "read-latency-time"],
        ),
        (documents::counters(), &["counters", "counters-shares"]),
        (documents::contest(), &["contest-bars", "contest-iops", "contest-cpu-per-read"]),
    ];
    for (run, charts) in wanted {
        let drawn = drawn(&run);
        assert!(charts.iter().all(|chart| drawn.contains(chart)), "{}: {drawn:?}", run.experiment);
    }
}

#[test]
fn what_samples_leave_open_is_not_said_to_lie_between_calls_in_the_chart_either() {
    let mut run = documents::profile_sampled();
    let of_samples = chart(&run, "response-time");
    assert!(of_samples.contains(">unaccounted for<") && !of_samples.contains("between calls"), "{of_samples}");
    run.cases.retain(|case| !case.is("table", "sampling"));
    assert!(chart(&run, "response-time").contains(">unaccounted for between calls<"));
}

#[test]
fn a_timeline_has_the_time_of_the_table_of_classes_and_names_what_it_shows() {
    let run = documents::profile_sampled();
    check("charts/sampled-active-sessions.svg", &chart(&run, "active-sessions"));
    let of = |case: &Case, name: &str| case.parameters.get(name).and_then(|value| value.as_str()).map(String::from);
    let of_table =
        |table: &'static str| run.cases.iter().filter(move |case| of(case, "table").as_deref() == Some(table));
    let mut classes = 0;
    for case in of_table("timeline").filter(|case| case.parameters.contains_key("class")) {
        let class = of(case, "class").unwrap();
        let total = of_table("class").find(|other| of(other, "class").as_ref() == Some(&class)).unwrap();
        let sum: f64 = case.metrics[0].samples.iter().sum();
        assert!((1e6 * sum - total.metric("total").unwrap().median()).abs() < 100.0, "{class}");
        classes += 1;
    }
    assert_eq!(classes, 4);
    let page = html::report(std::slice::from_ref(&run), &[]);
    let cpu = of_table("timeline").find(|case| of(case, "class").as_deref() == Some("cpu")).unwrap();
    let last = cpu.metrics[0].samples[59];
    let row = page.split("2026-11-22 10:00:59").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(row.contains(&format!("data-v=\"{last}\"")), "the last step of CPU, {last}: {row}");
    assert!(!page.contains("2026-11-22 10:00:20"), "a step of which nothing is known has no row");
    assert!(chart(&run, "active-sessions").contains(">application locks</text>"), "a layer has its name in it");
}

#[test]
fn a_page_says_why_sessions_are_not_shown_over_time() {
    let mut run = documents::profile();
    run.findings.push(measure::schema::profile::findings::NO_TIMELINE.of("The files have clocks of their own."));
    let page = html::report(std::slice::from_ref(&run), &[]);
    assert_eq!(page.matches("The files have clocks of their own.").count(), 1);
    assert!(!report::render(&run, &WIDE).contains("clocks of their own"), "a page of text has no charts");
}

#[test]
fn a_reason_that_several_rungs_are_absent_for_stands_once() {
    let mut run = documents::ladder();
    let names = ["dram", "dram-huge", "dram-sequential"];
    run.cases.retain(|case| case.parameter("rung").is_none_or(|rung| !names.contains(&rung.as_str())));
    let absent = measure::schema::ladder::findings::ABSENT_MEMORY;
    run.findings.extend(names.map(|name| absent.named(name, "64 MiB of memory can be spared. Free 2 GiB.")));
    let page = report::render(&run, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "2 MiB pages; DRAM in sequence (these 3: 64 MiB of memory can be spared. Free 2 GiB); buffer pool";
    assert!(page.contains(said) && page.matches("can be spared").count() == 1, "{page}");
    assert!(page.contains("storage's cache (tmpfs refuses direct I/O)"), "{page}");
}

#[test]
fn a_breakdown_of_samples_has_no_column_of_calls_that_are_0() {
    let mut run = documents::profile_breakdown();
    for case in run.cases.iter_mut().filter(|case| case.is("table", "skew")) {
        case.metrics.retain(|metric| !["calls", "mean", "min", "max"].contains(&metric.name.as_str()));
    }
    let page = report::render(&run, &WIDE);
    let heading = page.lines().find(|line| line.contains("by file")).unwrap();
    assert!(!heading.contains("calls") && !heading.contains("mean"), "{page}");
    let words: Vec<&str> = page.split_whitespace().collect();
    assert!(words.join(" ").contains("Samples do not tell how many calls and waits there were."), "{page}");
}

#[test]
fn a_breakdown_says_what_it_counts_and_which_time_is_in_no_row() {
    let said = |run: &Run| report::render(run, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut run = documents::profile_breakdown();
    let filtered = said(&run);
    assert!(filtered.contains("The column calls counts calls and waits."), "{filtered}");
    assert!(!filtered.contains("in no row") && !filtered.contains("the rows have"), "a filter leaves out: {filtered}");
    run.subject.remove("where");
    let overlapping = said(&run);
    let more = "The interval is 10.500 s, and the rows have 8.820 s more: the times of some calls and waits overlap.";
    assert!(overlapping.contains(more), "{overlapping}");
    run.cases.retain(|case| !(case.is("table", "skew") && case.is("file", "4")));
    let short = said(&run);
    assert!(short.contains("The interval is 10.500 s: 10.410 s of it is unaccounted for, and in no row."), "{short}");
}

#[test]
fn a_breakdown_does_not_claim_that_its_statements_are_folded() {
    use measure::schema::profile::findings as row;
    let words = |run: &Run| report::render(run, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    for mut run in [documents::profile(), documents::profile_breakdown()] {
        run.findings.push(row::FOLDED_BY_ITSELF.of("60 of 60 statements are added up."));
        run.findings.push(row::EXECUTED_ONCE.of("60 of 60 statements were executed once."));
        run.findings.push(row::CLOCK_LEAPT.of("The clock leapt."));
        let (page, is_plain) = (words(&run), !run.subject.contains_key("by"));
        assert_eq!(page.contains("60 of 60 statements are added up."), is_plain, "{page}");
        assert_eq!(page.contains("60 of 60 statements were executed once."), is_plain, "{page}");
        assert!(page.contains("The clock leapt."), "what spoils a figure stands on both: {page}");
    }
}

/// Charts of values that were made of others: shares, ratios and sums, which no metric of the run has.
const MADE: [&str; 9] = [
    "contest-bars",
    "counters",
    "counters-shares",
    "join-order",
    "join-saturation",
    "latency",
    "pareto",
    "read-latency",
    "read-latency-time",
];

/// How values were obtained that are of no metric either: figures of others, and levels between changes of a rate.
const OTHERS: [&str; 2] = ["published", "median of the windows between two changes"];

/// All numbers of a run, times in nanoseconds too, ascending.
fn numbers(run: &Run) -> Vec<f64> {
    let of_metric = |metric: &measure::Metric| {
        let own = &metric.statistics;
        let more = [own.p90, own.p99, own.p999].into_iter().flatten().chain([own.min, own.median, own.mean, own.max]);
        let buckets = metric.histogram.iter().map(|(_, count)| *count as f64);
        let all: Vec<f64> = more.chain(metric.samples.iter().copied()).collect();
        let scaled: Vec<f64> = all.iter().map(|value| value * metric.unit.nanoseconds().unwrap_or(1.0)).collect();
        all.into_iter().chain(scaled).chain(buckets).collect::<Vec<f64>>()
    };
    let mut all: Vec<f64> = run.cases.iter().flat_map(|case| &case.metrics).flat_map(of_metric).collect();
    for timeline in run.cases.iter().filter_map(|case| case.timeline.as_ref()) {
        all.extend(timeline.reads.iter().map(|reads| *reads as f64 * 1e3 / timeline.window_ms));
    }
    all.sort_by(f64::total_cmp);
    all
}

#[test]
fn what_is_drawn_of_a_run_is_what_its_metrics_have() {
    let mut foreign: BTreeSet<String> = BTreeSet::new();
    let mut drawn = 0;
    for run in documents::all().into_iter().chain(kept().into_iter().map(|(_, run)| run)) {
        let known = numbers(&run);
        let is_known = |value: f64| {
            let slack = value.abs() * 1e-9;
            let at = known.partition_point(|one| *one < value - slack);
            known.get(at).is_some_and(|one| *one <= value + slack)
        };
        for chart in charts(&run).iter().filter(|chart| !MADE.contains(&chart.name)) {
            let data = chart.data();
            let column = |heading: &str| data.columns.iter().find(|column| column.heading == heading);
            let Some(values) = column(&chart.value.label) else { continue };
            for (row, cell) in values.cells.iter().enumerate() {
                let source = column("source").map_or("", |column| column.cells[row].text.as_str());
                let value = cell.value.unwrap();
                drawn += 1;
                if value != 0.0 && !is_known(value) && !OTHERS.iter().any(|other| source.starts_with(other)) {
                    foreign.insert(format!("{} {}: {}", run.experiment, chart.name, cell.text));
                }
            }
        }
    }
    assert_eq!(foreign, BTreeSet::new());
    assert!(drawn > 500, "{drawn} values");
}

/// A profile with a breakdown by second, and what ended in each, in microseconds.
fn by_second(ended: &[(String, f64)]) -> Run {
    let mut run = documents::profile();
    run.subject.insert("by".into(), json!("second,event"));
    for (second, micros) in ended {
        let total = documents::single("total", Unit::Microseconds, "trace", *micros);
        let parameters = json!({"table": "skew", "second": second, "event": "CPU"});
        run.cases.push(documents::case(parameters, vec![total]));
    }
    run
}

#[test]
fn a_breakdown_by_second_is_drawn_with_the_seconds_in_which_nothing_ended() {
    let milliseconds = |ended: &[(String, f64)]| -> Vec<f64> {
        let all = charts(&by_second(ended));
        let chart = all.iter().find(|chart| chart.name == "by-second").unwrap();
        let data = chart.data();
        let column = data.columns.iter().find(|column| column.heading == chart.value.label).unwrap();
        column.cells.iter().map(|cell| (cell.value.unwrap() / 1e6).round()).collect()
    };
    for beginning in ["2025-12-31 23:59:5", ""] {
        let ended = [(5, 300e3), (5, 200e3), (6, 400e3), (9, 100e3)];
        let ended = ended.map(|(second, micros)| (format!("{beginning}{second}"), micros));
        assert_eq!(milliseconds(&ended), [500.0, 400.0, 0.0, 0.0, 100.0, 0.0], "{beginning}");
    }
    // Five minutes are drawn in steps of two seconds, and each is the mean of its seconds.
    let minutes: Vec<(String, f64)> = (0..300).map(|second| (second.to_string(), 100e3)).collect();
    let drawn = milliseconds(&minutes);
    assert_eq!(drawn.len(), 151);
    assert!(drawn[..150].iter().all(|value| *value == 100.0), "{drawn:?}");
    let without_time = by_second(&[("–".to_string(), 1.0)]);
    assert!(charts(&without_time).iter().all(|chart| chart.name != "by-second"));
}

#[test]
fn a_line_of_hundreds_of_steps_is_drawn_to_its_end() {
    let micros = |second: u32| 1e3 * f64::from(1 + second % 7);
    let seconds: Vec<(String, f64)> = (0..240).map(|second| (second.to_string(), micros(second))).collect();
    let picture = chart(&by_second(&seconds), "by-second");
    let outlines = picture.split(" d=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let longest = outlines.max_by_key(|outline| outline.len()).unwrap();
    assert!(longest.len() > 4000 && !longest.contains('…'), "{longest}");
}

#[test]
fn a_breakdown_by_second_says_in_which_second_a_long_wait_counts() {
    let ended = "A call and a wait count in the second in which they end.";
    let mut run = by_second(&[("5".to_string(), 300e3)]);
    let calls = documents::single("calls", Unit::Count, "trace", 2.0);
    run.cases.last_mut().unwrap().metrics.push(calls);
    assert!(in_one_line(&run).contains(ended), "{}", in_one_line(&run));
    assert!(!in_one_line(&documents::profile_breakdown()).contains(ended), "of other dimensions");
}

#[test]
fn a_table_for_a_browser_has_its_sum_however_many_rows_are_left_out_above_it() {
    let seconds: Vec<(String, f64)> = (0..500).map(|second| (second.to_string(), 100e3)).collect();
    let mut run = by_second(&seconds);
    run.subject.insert("top".into(), json!(1000));
    let page = html::report(&[run], &[]);
    let (table, rest) = page.split_once("scope=\"row\">sum</th>").unwrap_or_else(|| panic!("no sum: {page}"));
    assert!(table.contains("scope=\"row\">399</th>") && !table.contains("scope=\"row\">400</th>"), "{page}");
    assert!(rest.contains("100 more rows are in --format csv."), "{page}");
}

#[test]
fn a_browser_does_not_lose_who_waits_for_whom_and_the_levels_of_plans() {
    let page = html::report(&[documents::profile_sampled()], &[]);
    assert!(page.contains("<th scope=\"row\">  4712 shop@shop</th>"), "{page}");
    let changed = in_format("html", Shown::Profiles(&documents::profile_comparison()));
    assert!(changed.contains("<li>    - INDEX RANGE SCAN ORDERS_CUSTOMER</li>"), "{changed}");
    // Without it a browser shows no blanks at the beginning of a line.
    assert!(page.contains("tbody th,tbody td,li{white-space:pre-wrap}"), "{page}");
}

#[test]
fn a_page_of_hundreds_of_runs_names_the_command_that_lists_the_rest_of_them() {
    let runs = vec![documents::ladder(); 402];
    let page = html::report(&runs, &[]);
    assert!(page.contains("2 more rows are listed by <code>readpath runs --format csv</code>."));
}

#[test]
fn no_page_sends_a_reader_to_csv_for_the_windows_of_a_timeline() {
    let mut run = documents::disk_throttled();
    run.cases.truncate(1);
    let timeline = run.cases[0].timeline.as_mut().unwrap();
    timeline.reads = (0..600).map(|window| 1260 + window * 7 % 40).collect();
    timeline.median_us = vec![79.1; 600];
    timeline.max_us = vec![1582.0; 600];
    let page = html::report(&[run], &[]);
    // The level of the median is drawn by its two ends.
    let sentence = "202 more rows are made from the run document, which <code>readpath show RUN --format json</code>";
    assert!(page.contains(sentence) && !page.contains("--format csv"), "{page}");
}

#[test]
fn lines_that_a_profile_leaves_out_of_a_table_are_counted_under_it() {
    let mut run = documents::profile_sessions();
    for number in 0..10 {
        let time = documents::single("response_time", Unit::Microseconds, "trace", 1e6);
        let parameters = json!({"table": "scope", "module": format!("module {number}"), "service": "SYS$USERS"});
        run.cases.push(documents::case(parameters, vec![time]));
    }
    let mut sampled = documents::profile_sampled();
    let whole = in_one_line(&sampled);
    for (table, name) in [("read_relation", "object"), ("background", "process")] {
        for number in 0..12 {
            let time = documents::single("total", Unit::Microseconds, "samples", 1e3);
            sampled.cases.push(documents::case(json!({"table": table, (name): format!("name {number}")}), vec![time]));
        }
    }
    // Ten lines of scopes and of relations, twelve of background processes; the documents have two, one and one.
    let (scopes, page) = (in_one_line(&run), in_one_line(&sampled));
    assert!(scopes.contains("2 more lines are in --format csv."), "{scopes}");
    assert!(page.contains("3 more lines are in --format csv.") && page.contains("1 more line is in"), "{page}");
    assert!(!whole.contains("in --format csv."), "{whole}");
}

#[test]
fn a_mean_above_the_99th_percentile_is_explained_by_the_second_with_most() {
    let mut run = documents::profile_sampled();
    let add = |run: &mut Run, name: &str, value: f64| {
        let sampling = run.cases.iter_mut().find(|case| case.is("table", "sampling")).unwrap();
        sampling.metrics.retain(|metric| metric.name != name);
        sampling.metrics.push(documents::single(name, Unit::Ratio, "samples", value));
    };
    add(&mut run, "active_sessions_max", 40.0);
    assert!(in_one_line(&run).contains("3.42 at work on average (p95 8.00, p99 11.0)"), "{}", in_one_line(&run));
    add(&mut run, "active_sessions", 11.5);
    let expected = "11.5 at work on average (p95 8.00, p99 11.0, busiest second 40.0)";
    assert!(in_one_line(&run).contains(expected), "{}", in_one_line(&run));
}

#[test]
fn sessions_that_sleep_are_said_apart_from_the_others_at_work() {
    let mut run = documents::profile_sampled();
    assert!(!in_one_line(&run).contains("in idle waits"), "none sleeps, and pauses of clients are none");
    let idle = |micros: f64| {
        let total = vec![documents::single("total", Unit::Microseconds, "samples", micros)];
        documents::case(json!({"table": "class", "class": "idle"}), total)
    };
    run.cases.push(idle(60_012_000.0));
    let page = in_one_line(&run);
    assert!(page.contains("(p95 8.00, p99 11.0), 1.00 of them in idle waits"), "{page}");
    run.cases.pop();
    run.cases.push(idle(600_000.0));
    assert!(!in_one_line(&run).contains("in idle waits"), "a hundredth of a session");
}

#[test]
fn a_ranking_by_what_no_statement_has_is_no_page_without_a_word() {
    use measure::schema::profile::{CPU, LOGICAL_READS, PHYSICAL_READS};
    let mut run = documents::profile_sampled();
    let ranked = [PHYSICAL_READS, LOGICAL_READS, CPU];
    let statements = |run: &mut Run, change: &dyn Fn(&mut Vec<measure::Metric>)| {
        let cases = run.cases.iter_mut().filter(|case| case.is("table", "statement"));
        cases.for_each(|case| change(&mut case.metrics));
    };
    statements(&mut run, &|metrics| metrics.retain(|metric| ranked.iter().all(|one| *one.name != *metric.name)));
    let asked = [("physical-reads", "physical reads", "many"), ("logical-reads", "logical reads", "many")];
    for (sort, what, how) in asked.into_iter().chain([("cpu", "CPU time", "much")]) {
        let it = if how == "much" { "it" } else { "them" };
        run.subject.insert("sort".into(), json!(sort));
        let end = format!("so none can be ranked by {it}. --sort response-time");
        let page = in_one_line(&run);
        assert!(page.contains(&format!("not known how {how} {what} each statement has here, {end}")), "{page}");
        let mut without = run.clone();
        statements(&mut without, &|metrics| metrics.extend(ranked.iter().map(|one| one.single("trace", 0.0))));
        let page = in_one_line(&without);
        assert!(page.contains(&format!("No statement has any {what} here, {end}")), "{page}");
    }
    run.subject.insert("sort".into(), json!("response-time"));
    let page = in_one_line(&run);
    assert!(page.contains("statements by response time") && !page.contains("can be ranked"), "{page}");
}

#[test]
fn files_beyond_those_that_are_kept_apart_are_not_left_out_of_the_count_in_silence() {
    let mut run = documents::profile();
    run.subject.insert("files".into(), json!(["all.trc", "all.trc from byte 77"]));
    let page = in_one_line(&run);
    assert!(page.contains("2 files, "), "{page}");
    run.subject.insert("files".into(), json!(["all.trc", "all.trc from byte 77 and all behind it"]));
    let page = in_one_line(&run);
    assert!(page.contains("2 files and more (further ones are added to the last), "), "{page}");
}

#[test]
fn samples_without_work_have_the_line_of_the_sampling_and_no_second_word_about_it() {
    let mut run = documents::profile_sampled();
    run.cases.retain(|case| !["call", "event"].iter().any(|table| case.is("table", table)));
    run.findings.clear();
    let page = in_one_line(&run);
    assert!(page.contains("60.012 s sampled") && page.contains("Own cost: "), "{page}");
    assert!(!page.contains("no time to show") && !page.contains("where the time went"), "{page}");
}

#[test]
fn polls_that_stand_for_no_time_have_no_average_and_no_cost() {
    let mut run = documents::profile_sampled();
    run.cases.retain(|case| !["call", "event"].iter().any(|table| case.is("table", table)));
    run.findings.clear();
    let sampling = run.cases.iter_mut().find(|case| case.is("table", "sampling")).unwrap();
    sampling.metrics.retain(|metric| !["sampled", "looks"].contains(&metric.name.as_str()));
    sampling.metrics.push(documents::single("sampled", Unit::Microseconds, "clock", 0.0));
    sampling.metrics.push(documents::single("looks", Unit::Count, "clock", 0.0));
    let page = in_one_line(&run);
    assert!(page.contains("0 polls"), "{page}");
    for without in ["0.000 µs sampled", "at work on average", "per poll"] {
        assert!(!page.contains(without), "{without}: {page}");
    }
}

#[test]
fn time_that_a_hypervisor_took_is_no_warning_where_no_session_worked() {
    let mut run = documents::profile_sampled();
    run.findings = vec![measure::schema::sampled::findings::STOLEN_TIME.of("The hypervisor took 7.00 %.")];
    let said = |run: &Run| {
        let page = html::report(std::slice::from_ref(run), &[]);
        ["The hypervisor took", " has 1 warning,"].map(|words| page.contains(words))
    };
    assert_eq!(said(&run), [true, true]);
    run.cases.retain(|case| !["call", "event"].iter().any(|table| case.is("table", table)));
    assert_eq!(said(&run), [false, false]);
}

#[test]
fn a_table_without_a_row_is_no_heading_alone() {
    let mut empty = documents::run("null", json!({}));
    empty.cases.push(Case::default());
    assert!(!report::render(&empty, &WIDE).contains("metric"));
    assert!(!html::report(&[empty], &[]).contains("<thead>"));
    let mut profile = documents::profile();
    profile.cases.retain(|case| !["class", "class_event"].iter().any(|table| case.is("table", table)));
    assert!(!report::render(&profile, &WIDE).contains("where the time went"));
}

#[test]
fn times_of_an_oracle_database_do_not_stand_beside_blocks_of_a_size_that_it_lacks() {
    let is_beside = |block_size: u64| {
        let mut run = documents::roundtrip();
        for case in &mut run.cases {
            case.parameters.insert("block_size".into(), json!(block_size));
            case.parameters.insert("blocks_per_read".into(), json!(8));
            case.parameters.insert("tier".into(), json!("storage"));
        }
        let page = html::report(&[run], &[]);
        ["several blocks over a troubled NFS", "Published for a read"].map(|words| page.contains(words))
    };
    assert_eq!([2 << 10, 32 << 10].map(is_beside), [[true, true]; 2]);
    assert_eq!([1 << 10, 64 << 10, 1 << 20].map(is_beside), [[false, false]; 3]);
}

#[test]
fn the_page_of_a_statement_of_a_log_calls_it_no_trace() {
    let mut run = documents::profile_statement();
    assert!(in_one_line(&run).contains("Of the whole trace:"));
    run.subject.insert("source".into(), json!("PostgreSQL server log"));
    let page = in_one_line(&run);
    assert!(page.contains("Of the whole log:") && !page.contains("Of the whole trace:"), "{page}");
    run.subject.insert("source".into(), json!("PostgreSQL, sampled"));
    assert!(in_one_line(&run).contains("Of the whole profile:"));
}

#[test]
fn a_small_remainder_below_zero_of_a_log_is_not_put_down_to_its_cpu_time() {
    let mut run = documents::profile();
    run.findings.clear();
    assert!(in_one_line(&run).contains("Below zero: CPU that was burned inside timed waits is in both rows."));
    run.subject.insert("source".into(), json!("PostgreSQL server log"));
    let page = in_one_line(&run);
    assert!(page.contains("Below zero: the times of I/O in some plans are longer than their executions."), "{page}");
    assert!(!page.contains("CPU that was burned"), "{page}");
}

#[test]
fn a_source_that_is_not_known_gets_no_words_of_a_trace_and_none_of_a_log() {
    let mut run = documents::profile_statement();
    assert!(in_one_line(&run).contains("parsed by "));
    // It ends like the name of a log of plans.
    let unknown = "another server's slow log";
    run.subject.insert("source".into(), json!(unknown));
    let page = in_one_line(&run);
    assert!(page.contains("Of the whole profile:") && !page.contains("parsed by "), "{page}");
    let mut run = documents::profile();
    let is_idle = |case: &&mut Case| case.is("table", "class") && case.is("class", "think-time");
    let idle = run.cases.iter_mut().find(is_idle).unwrap();
    idle.parameters.insert("class".into(), json!("unrecorded"));
    let (of_files, of_log) = ("not recorded, between files", "not in the log, between statements");
    assert!(in_one_line(&run).contains(of_files));
    run.subject.insert("source".into(), json!("PostgreSQL server log"));
    assert!(in_one_line(&run).contains(of_log));
    run.subject.insert("source".into(), json!(unknown));
    let page = in_one_line(&run);
    assert!(page.contains("not recorded") && !page.contains(of_files) && !page.contains(of_log), "{page}");
}

#[test]
fn time_that_was_not_recorded_has_the_same_name_in_a_comparison_as_in_a_profile() {
    let mut comparison = documents::profile_comparison();
    for class in comparison.classes.iter_mut().filter(|class| class.name == "think-time") {
        class.name = "unrecorded".into();
    }
    let (of_files, of_log) = ("not recorded, between files", "not in the log, between statements");
    assert!(report::render(Shown::Profiles(&comparison), &WIDE).contains(of_files));
    comparison.source = Some("PostgreSQL server log".into());
    let page = report::render(Shown::Profiles(&comparison), &WIDE);
    assert!(page.contains(of_log) && !page.contains(of_files), "{page}");
}

#[test]
fn two_profiles_of_which_nothing_passes_the_filter_are_not_said_to_be_the_same() {
    let nothing = measure::compare::ProfileComparison::default();
    let comparison = measure::compare::ProfileComparison { passes_nothing: true, ..nothing };
    let page = report::render(Shown::Profiles(&comparison), &WIDE);
    assert!(page.contains("No call and no wait passes the filter."), "{page}");
    assert!(!page.contains("Nothing changed"), "{page}");
}

#[test]
fn statements_whose_texts_were_not_kept_have_no_empty_column_of_texts_and_many_are_counted_in_groups_of_digits() {
    let mut comparison = documents::profile_comparison();
    comparison.statements.iter_mut().for_each(|one| one.text = None);
    comparison.new = vec![comparison.new[0].clone(); 18_000];
    comparison.new.iter_mut().chain(&mut comparison.vanished).for_each(|one| one.text = None);
    let has_texts = |section: &Section| match section {
        Section::Table(table) => table.columns.iter().any(|column| column.heading == "text"),
        _ => false,
    };
    assert!(!Shown::Profiles(&comparison).page().sections.iter().any(has_texts));
    let text = report::render(Shown::Profiles(&comparison), &WIDE);
    assert!(text.contains("17\u{202f}990 more, with less time, are in --format json."), "{text}");
}

#[test]
fn a_comparison_of_logs_calls_them_no_traces_and_gives_a_warning_of_both_once() {
    let mut comparison = documents::profile_comparison();
    (comparison.before.name, comparison.after.name) = ("monday.log".into(), "tuesday.log".into());
    let messages = ["The load was another one.", "The disk was full."];
    let [both, alone] = messages.map(|message| calibrate::findings::NOT_COLD.of(message));
    comparison.warnings = (vec![both.clone()], vec![both, alone]);
    let text = report::render(Shown::Profiles(&comparison), &WIDE);
    assert!(!text.contains("trace"), "{text}");
    let warnings = "Warnings of both:\n  The load was another one.\n\nWarnings of the second:\n  The disk was full.\n";
    assert!(text.ends_with(warnings), "{text}");
}

#[test]
fn statements_of_one_side_and_changed_plans_are_on_the_page_also_where_nothing_passes_the_filter() {
    let comparison = measure::compare::ProfileComparison { passes_nothing: true, ..documents::profile_comparison() };
    let page = report::render(Shown::Profiles(&comparison), &WIDE);
    let parts = ["passes the filter", "new statements", "statements that vanished", "plan of 4kz7x0w2mfu1q"];
    let missing: Vec<&str> = parts.into_iter().filter(|part| !page.contains(part)).collect();
    assert!(missing.is_empty(), "{missing:?}: {page}");
}

#[test]
fn a_level_beyond_all_memory_does_no_harm_to_the_tree_of_who_waits_for_whom() {
    let mut run = documents::profile_sampled();
    for case in run.cases.iter_mut().filter(|case| case.is("table", "blocker")) {
        case.parameters.insert("level".into(), json!(u64::MAX));
    }
    assert!(in_one_line(&run).contains("who waits for whom"));
}

/// The page of a run without the ends of its lines.
fn in_one_line(run: &Run) -> String {
    report::render(run, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the figure of the cheapest logical read is of.
fn cheapest_logical_read(run: Run) -> String {
    let page = html::report(&[run], &[]);
    let (_, rest) = page.split_once("the cheapest logical read: ").unwrap();
    rest.split('<').next().unwrap().to_string()
}

#[test]
fn the_figure_of_a_logical_read_is_not_taken_for_one_of_another_kind_or_subject() {
    let said = cheapest_logical_read(documents::lio_on_server());
    assert_eq!(said, "rows of 2\u{202f}500 bytes, 1 column, full scan, touching rows, on the engine");
}

#[test]
fn the_figures_of_logical_reads_name_one_column_and_the_table_of_a_standby_as_they_are() {
    assert_eq!(cheapest_logical_read(documents::lio()), "rows of 2\u{202f}500 bytes, 1 column");
    let mut standby = documents::lio();
    for case in &mut standby.cases {
        case.parameters.retain(|name, _| !["row_length", "columns"].contains(&name.as_str()));
        case.parameters.insert("table".into(), json!("pg_proc"));
    }
    assert_eq!(cheapest_logical_read(standby), "pg_proc");
}

#[test]
fn rows_of_which_blocks_were_read_are_not_said_to_cost_that_with_everything_in_memory() {
    let mut run = documents::scan();
    for case in &mut run.cases {
        case.parameters.insert("subject".into(), json!("engine"));
    }
    let cached = in_one_line(&run);
    assert!(cached.contains("CPU for a row, everything in memory:"), "{cached}");
    // A sample before the last one can be the one that missed blocks.
    let mut warned = run.clone();
    warned.findings.push(scan::findings::NOT_ALL_CACHED.of("Blocks were missing."));
    run.cases[0].metrics.push(documents::single("physical_reads", Unit::Count, "gate", 12.0));
    for read in [run, warned].iter().map(in_one_line) {
        assert!(read.contains("including reads of blocks that were not cached"), "{read}");
        assert!(!read.contains("everything in memory"), "{read}");
    }
}

#[test]
fn a_rate_that_fell_once_is_drawn_with_its_two_levels_and_the_time_of_the_change() {
    let drawn = chart(&documents::disk_throttled(), "disk-over-time");
    check("charts/throttled-disk-over-time.svg", &drawn);
    assert!(drawn.contains("The rate changed once, and stayed changed") && drawn.contains("changed at 3.00 s"));
    let steady = kept().into_iter().find(|(name, _)| name == "disk-time").unwrap().1;
    assert!(chart(&steady, "disk-over-time").contains("No lasting change"));
}

#[test]
fn segments_that_differ_in_their_latency_alone_are_not_said_to_be_without_a_change() {
    let mut run = documents::disk_throttled();
    // As in an open loop, which keeps its rate whatever a read takes.
    run.cases.iter_mut().filter_map(|case| case.timeline.as_mut()).for_each(|timeline| timeline.reads.fill(20));
    let over_time = charts(&run).into_iter().find(|chart| chart.name == "disk-over-time").unwrap();
    let note = over_time.note.unwrap();
    assert!(note.contains("No lasting change of the rate was found."), "{note}");
    assert!(!note.contains("No lasting change was found"), "{note}");
}

#[test]
fn measurements_that_each_changed_are_not_drawn_as_one_after_the_other() {
    let mut run = documents::disk_throttled();
    let deeper = run.cases.clone().into_iter().map(|mut case| {
        case.parameters.insert("depth".into(), json!(8));
        case
    });
    run.cases.extend(deeper);
    assert!(charts(&run).iter().all(|chart| chart.name != "disk-over-time"));
}

#[test]
fn slow_reads_that_are_few_show_in_the_time_of_reads_and_not_in_their_number() {
    let run = documents::profile_sampled();
    let (calls, time) = (chart(&run, "read-latency"), chart(&run, "read-latency-time"));
    check("charts/sampled-read-latency.svg", &calls);
    check("charts/sampled-read-latency-time.svg", &time);
    // The device answered 1.48 % of the reads, which took 82 % of the time: 61.5 % in its lower bucket.
    assert!(calls.contains("device from 1.11 %") && time.contains("device from 61.5 %"), "{calls}\n{time}");
}

#[test]
fn a_plan_that_an_advised_set_changes_is_drawn_before_and_after() {
    let drawn = chart(&documents::calibrate(), "plans");
    check("charts/made-calibrate-plans.svg", &drawn);
    assert!(drawn.contains("lines of a month: Seq Scan → Index Scan on lineitem"), "{drawn}");
    assert!(drawn.contains("310 ms before") && drawn.contains("120 ms after") && drawn.contains("1 more has no times"));
}

#[test]
fn plans_stand_in_the_order_of_their_ratios_and_not_of_the_quotients_of_their_medians() {
    let mut run = documents::calibrate();
    let months = run.cases.iter_mut().find(|case| case.parameters.get("query") == Some(&json!("months"))).unwrap();
    let ratio = months.metrics.iter_mut().find(|metric| metric.name == "ratio").unwrap();
    ratio.statistics.median = 0.1;
    let places = |run: &Run| {
        let drawn = chart(run, "plans");
        ["lines of a month:", "months:"].map(|name| drawn.find(name).unwrap_or_else(|| panic!("no {name}: {drawn}")))
    };
    assert!(places(&documents::calibrate()).is_sorted() && !places(&run).is_sorted());
}

#[test]
fn a_planner_that_scans_too_early_is_seen_so_in_the_chart_alone() {
    let drawn = chart(&documents::calibrate(), "crossover-scattered");
    check("charts/made-calibrate-crossover-scattered.svg", &drawn);
    for text in [
        "own: full scan from 2\u{202f}130 (too early)",
        "measured: full scan from 101\u{202f}000<",
        "index scan from 40.0 µs at 30 to 250 ms at 60\u{202f}000",
    ] {
        assert!(drawn.contains(text), "no {text}: {drawn}");
    }
}

#[test]
fn a_run_that_timed_no_paths_says_why_in_the_place_of_their_charts() {
    let mut run = documents::calibrate();
    run.cases.retain(|case| !case.parameters.contains_key("order"));
    run.findings.push(calibrate::findings::ABSENT_CROSSOVER.of("A full scan takes a minute."));
    let page = html::report(std::slice::from_ref(&run), &[]);
    assert!(
        page.contains("Which path to scattered rows is the fastest") && page.contains("A full scan takes a minute.")
    );
}

#[test]
fn a_gain_has_the_interval_of_its_ratio() {
    for (name, file) in [("join-batches", "join-saturation"), ("join-order", "join-order")] {
        let run = kept().into_iter().find(|(known, _)| known == name).unwrap().1;
        let drawn = chart(&run, file);
        let (marks, ranges) = (drawn.matches("<circle").count(), drawn.matches("class=\"of-line range ").count());
        assert!(marks >= 8 && ranges == marks, "{marks} marks, {ranges} ranges");
    }
}

/// A run on a device, and the same reads of another one, which takes twice the time.
fn on_two_paths(mut run: Run) -> Run {
    let other = |case: &Case| {
        let mut case = case.clone();
        case.parameters.insert("path".into(), "/dev/vdc".into());
        for metric in case.metrics.iter_mut().filter(|metric| metric.name == "iops") {
            metric.statistics = measure::Statistics::single(metric.statistics.mean / 2.0);
        }
        case
    };
    let others: Vec<Case> = run.cases.iter().map(other).collect();
    run.cases.extend(others);
    run
}

#[test]
fn each_of_several_paths_is_compared_with_its_own_outer_zone_and_has_its_own_line() {
    let zones = report::render(&on_two_paths(documents::disk_zones()), &WIDE);
    assert!(zones.matches("0.91").count() == 2 && !zones.contains("1.82"), "{zones}");
    let sweep = on_two_paths(documents::disk_sweep());
    let page = report::render(&sweep, &WIDE);
    assert_eq!(page.lines().filter(|line| *line == "/dev/vdc").count(), 2, "places and distances: {page}");
    let names = |chart: &Chart| chart.keys.iter().map(|key| key.name.clone()).collect::<Vec<_>>();
    for chart in charts(&sweep).iter().filter(|chart| chart.title.contains(" by ")) {
        assert_eq!(names(chart), ["/dev/vdb", "/dev/vdc"], "{}", chart.title);
    }
}

#[test]
fn a_zone_on_a_path_as_wide_as_the_terminal_is_named_whole() {
    let mut run = on_two_paths(documents::disk_zones());
    let long = format!("/srv/{}", "x".repeat(70));
    for case in run.cases.iter_mut().filter(|case| case.parameters["path"] == "/dev/vdc") {
        case.parameters.insert("path".into(), long.as_str().into());
    }
    let page = report::render(&run, &WIDE);
    assert_eq!(page.lines().filter(|line| *line == long).count(), 1, "{page}");
    assert!(page.matches("one worker in each").count() == 2 && !page.contains('…'), "{page}");
}

#[test]
fn what_is_said_of_each_path_is_not_an_answer_of_one_and_a_note_of_the_next() {
    let mut run = on_two_paths(documents::disk_zones());
    let said = |path: &str| {
        let sentence = format!("On {path}, {}.", ["where a zone lies makes no difference"; 7].join(", "));
        measure::schema::disk::findings::ANSWER_ZONES.of(sentence)
    };
    run.findings = ["/dev/vdb", "/dev/vdc"].map(said).into();
    let page = report::render(&run, &WIDE);
    assert!(page.contains("\nOn /dev/vdb, ") && page.contains("\nOn /dev/vdc, "), "{page}");
}

/// A chart of a run as a file.
fn chart(run: &Run, name: &str) -> String {
    let found = svg::files(run).into_iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no chart {name}")).1
}

#[test]
fn the_numbers_of_a_page_are_those_of_the_run() {
    let page = html::report(&[documents::ladder()], &[]);
    for number in ["79.1 µs", "1.13 ns", "16.9 µs"] {
        // In the picture, in the description of it, in the table of its numbers, and in the table of the run.
        assert!(page.matches(number).count() >= 4, "{number}");
    }
    assert!(page.contains("1297 ×") || page.contains("1\u{202f}297 ×"), "the ratio of 79.1 µs and 61 ns");
    let warnings = page.matches("The test file was just written").count();
    assert_eq!(warnings, 1, "beside its chart and not a second time");
}

/// The text of a page without its markup.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        let (tag, rest) = part.split_once('>').unwrap_or(("", part));
        if !["script", "style"].iter().any(|hidden| tag.starts_with(hidden)) {
            text.extend([" ", rest]);
        }
    }
    text
}

/// Numbers from ten thousand on in a text that have no separators; what names something is none.
fn ungrouped(text: &str, run: &Run) -> Vec<String> {
    let names = run.cases.iter().flat_map(|case| case.parameters.values().filter_map(serde_json::Value::as_str));
    let names: std::collections::HashSet<&str> = names.chain(run.command.iter().map(String::as_str)).collect();
    let words: Vec<&str> = text.split([' ', '\n', '\u{a0}']).filter(|word| !word.is_empty()).collect();
    let words: Vec<&str> = words.iter().map(|word| word.trim_matches(|sign| "(),.:;±~".contains(sign))).collect();
    let is_long = |word: &str| {
        let whole = word.split('.').next().unwrap_or_default();
        whole.len() > 4 && whole.chars().all(|digit| digit.is_ascii_digit())
    };
    let is_name = |at: usize| names.contains(words[at]) || at > 0 && ["seed", "pid", "plan"].contains(&words[at - 1]);
    let found = words.iter().enumerate().filter(|(at, word)| is_long(word) && !is_name(*at));
    found.map(|(_, word)| word.to_string()).collect()
}

#[test]
fn no_number_of_ten_thousand_or_more_is_without_separators() {
    // The sentences of a run that was kept are those of its time.
    let kept = kept().into_iter().map(|(_, run)| Run { findings: Vec::new(), ..run });
    for run in documents::all().into_iter().chain(kept) {
        let text = report::render(&run, &WIDE);
        assert_eq!(ungrouped(&text, &run), [""; 0], "{text}");
        let page = text_of(&html::report(std::slice::from_ref(&run), &[]));
        assert_eq!(ungrouped(&page, &run), [""; 0], "{} in HTML", run.experiment);
    }
    let run = documents::ladder();
    assert_eq!(ungrouped("12345 of seed 12345 and (99999.5), 2005", &run), ["12345", "99999.5"]);
}

fn hostile(text: &str) -> Run {
    let mut run = documents::profile();
    let mut other = documents::unknown();
    run.command = vec![text.into()];
    run.id = text.into();
    run.started = text.into();
    run.subject.insert("path".into(), json!(text));
    run.subject.insert("files".into(), json!([text]));
    run.host.cpu = Some(text.into());
    run.findings.push(calibrate::findings::NOT_COLD.of(text));
    for case in run.cases.iter_mut().chain(&mut other.cases) {
        case.parameters.values_mut().filter(|value| value.is_string()).for_each(|value| {
            if !["summary", "class", "statement"].contains(&value.as_str().unwrap_or_default()) {
                *value = json!(text);
            }
        });
        case.parameters.insert(text.into(), json!(text));
        case.metrics.iter_mut().for_each(|metric| metric.source = text.into());
    }
    run.cases.extend(other.cases);
    run
}

#[test]
fn a_heat_map_of_one_column_with_a_long_name_is_drawn() {
    let (_, mut run) = kept().into_iter().find(|(name, _)| name == "disk-places").unwrap();
    run.cases.truncate(2);
    let paths = ["/srv/databases/production/tablespaces/data/orders_2026_01.dbf", "model:fixed-latency"];
    for (case, path) in run.cases.iter_mut().zip(paths) {
        case.parameters = [("path".to_string(), json!(path))].into_iter().collect();
    }
    run.cases[1].metrics.iter_mut().for_each(|metric| metric.histogram.clear());
    let page = html::report(&[run], &[]);
    assert!(page.contains("How latencies are distributed"), "{page}");
}

#[test]
fn a_chart_says_by_itself_on_what_it_was_measured_and_how_it_was_read() {
    let file = |run: &Run, name: &str| svg::files(run).into_iter().find(|(known, _)| *known == name).unwrap().1;
    let sweep = documents::disk_sweep();
    let (latency, bandwidth) = (file(&sweep, "disk-position"), file(&sweep, "disk-position-bandwidth"));
    assert!(latency.contains("AMD EPYC") && latency.contains("random, 8 KiB blocks"), "{latency}");
    assert!(bandwidth.contains("reads in sequence") && !bandwidth.contains("random"), "{bandwidth}");
    let page = html::report(&[sweep], &[]);
    assert!(page.matches("<p class=\"of\">").count() >= 3, "{page}");
}

#[test]
fn script_tags_control_characters_and_marks_of_direction_come_out_harmless() {
    let text = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"x' \
                \u{202e}\u{2066}\u{1b}[31m\0]]>-->";
    let page = html::report(&[hostile(text), hostile(text)], &[text.into()]);
    assert_eq!(foreign(&page), Vec::<String>::new());
    assert_eq!(page.matches("<script").count(), 1);
    let strange = page.chars().find(|letter| {
        letter.is_control() && *letter != '\n' || ('\u{202a}'..='\u{2069}').contains(letter) && *letter != '\u{202f}'
    });
    assert_eq!(strange, None);
    for (_, svg) in svg::files(&hostile(text)) {
        assert_eq!(foreign(&svg), Vec::<String>::new());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn no_name_becomes_markup(text in "[<>&\"'/a-z!=\\-\u{0}-\u{1f}]{0,60}|\\PC{0,40}") {
        let page = html::report(&[hostile(&text)], &[]);
        prop_assert_eq!(foreign(&page), Vec::<String>::new());
        prop_assert_eq!(page.matches("<script").count(), 1);
    }
}

#[test]
fn ten_megabytes_of_statement_do_not_become_ten_megabytes_of_page() {
    let mut run = documents::profile();
    let text = "select 1 from dual ".repeat(550_000);
    for case in run.cases.iter_mut().filter(|case| case.parameters.contains_key("text")) {
        case.parameters.insert("text".into(), json!(text));
    }
    assert!(html::report(&[run], &[]).len() < 1 << 20);
}

/// Most processor time of a page of 200 runs, in seconds.
const PAGE_SECONDS_MAX: f64 = 2.0;

/// Seconds that this thread has been on a processor, by the kernel's account.
fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}

#[test]
fn a_page_of_two_hundred_runs_stays_small_and_takes_no_time_to_speak_of() {
    let mut runs = Vec::new();
    for index in 0..200_u32 {
        let mut run = match index % 4 {
            0 => documents::ladder(),
            1 => documents::disk_sweep(),
            2 => documents::lio(),
            _ => documents::profile_readings(),
        };
        run.id = format!("0197c0de-0000-7000-8000-{index:012}");
        run.started = format!("2026-01-{:02}T12:{:02}:56Z", index / 24 + 1, index % 60);
        runs.push(run);
    }
    let begun = processor_seconds();
    let page = html::report(&runs, &[]);
    let took = processor_seconds() - begun;
    assert!(took < PAGE_SECONDS_MAX, "{took:.1} s of processor time");
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
    assert!(page.contains("What one read costs at every level in each of 50 runs"));
    // The most runs that are each shown whole.
    let mut whole: Vec<Run> = documents::all();
    whole.extend(kept().into_iter().map(|(_, run)| run));
    let page = html::report(&whole[whole.len() - 24..], &[]);
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
}

#[test]
fn runs_beside_each_other_share_a_chart_and_say_what_differs() {
    let with = |scale: f64, depth: u64, id: &str| {
        let mut run = documents::ladder();
        run.id = id.into();
        run.started = format!("2026-01-31T12:34:{id}Z");
        run.subject.insert("device".into(), json!(format!("disk {id}")));
        for (index, case) in run.cases.iter_mut().enumerate() {
            let median = case.metrics[0].median() * scale;
            let samples: Vec<f64> =
                (0..40).map(|sample| median * (1.0 + f64::from(sample * 7 % 40 + index as i32) / 4000.0)).collect();
            case.metrics[0] = documents::spec("latency", Unit::Nanoseconds).of_samples("clock", &samples).unwrap();
            if case.parameters.contains_key("depth") {
                case.parameters.insert("depth".into(), json!(depth));
            }
        }
        run
    };
    let page = html::report(&[with(1.0, 64, "10"), with(2.0, 256, "20")], &[]);
    assert!(page.contains("ladder: 2 runs side by side"));
    assert!(page.contains("values differ by more than the noise of their samples"), "{page}");
    let beside = page.split("id=\"beside-1\"").nth(1).unwrap().split("id=\"run-1\"").next().unwrap();
    // A run's name stands once in a picture, and its sign at the marks.
    let pictures = beside.matches("<svg").count();
    assert_eq!(beside.matches("ext4 on disk 10</text>").count(), pictures, "{beside}");
    assert_eq!(beside.matches(">A: ext4 on disk 10</text>").count(), pictures);
    assert!(beside.matches(" A</text>").count() >= 10 * pictures);
    // The best depth of both stands in one row, whatever each of them found it to be.
    assert!(beside.contains("device, 64 at a time") && !beside.contains("device, 256 at a time"));
}

#[test]
fn sets_that_have_only_the_rank_in_common_are_neither_compared_nor_drawn_beside_each_other() {
    let of_set = |part: &str, name: &str, metric: &str, unit: Unit, value: f64| {
        let parameters = json!({"part": part, "state": "as-found", "constants": name});
        let samples: Vec<f64> = (0..40).map(|sample| value * (1.0 + f64::from(sample) / 4000.0)).collect();
        documents::case(parameters, vec![documents::spec(metric, unit).of_samples("clock", &samples).unwrap()])
    };
    let run = |names: [&str; 3], value: f64| {
        let sets = names.map(|name| of_set("set", name, "ratio", Unit::Ratio, value));
        let query = of_set("query", "tried-1", "time_then", Unit::Milliseconds, value);
        Run { experiment: "calibrate".into(), cases: sets.into_iter().chain([query]).collect(), ..Run::default() }
    };
    let beside = |first: Run, second: Run| -> String {
        let page = html::report(&[first, second], &[]);
        page.split("id=\"beside-1\"").nth(1).unwrap().split("id=\"run-1\"").next().unwrap().into()
    };
    let usual = ["cached", "system", "tried-1"];
    let both = beside(run(usual, 0.5), run(usual, 0.7));
    assert!(both.contains("2 of 2 values differ by more than the noise"), "{both}");
    assert!(both.contains("What each set") && !both.contains("tried-1"), "{both}");
    let of_one = beside(run(usual, 0.5), run(["tried-1", "tried-2", "tried-3"], 0.7));
    assert!(!of_one.contains("What each set"), "{of_one}");
}

#[test]
fn of_many_runs_the_newest_is_held_against_the_oldest() {
    let with = |index: u32| {
        let mut run = documents::ladder();
        run.id = format!("0197c0de-0000-7000-8000-{index:012}");
        run.started = format!("2026-01-{:02}T12:34:56Z", index + 1);
        for case in &mut run.cases {
            let median = case.metrics[0].median() * f64::from(index + 4) / 4.0;
            let samples: Vec<f64> =
                (0..40).map(|sample| median * (1.0 + f64::from(sample * 7 % 40) / 4000.0)).collect();
            case.metrics[0] = documents::spec("latency", Unit::Nanoseconds).of_samples("clock", &samples).unwrap();
        }
        run
    };
    let page = html::report(&(0..8).map(with).collect::<Vec<_>>(), &[]);
    let beside = page.split("id=\"beside-1\"").nth(1).unwrap().split("id=\"run-1\"").next().unwrap();
    let title = "the newest run (2026-01-08 12:34) against the oldest run (2026-01-01 12:34)";
    assert!(beside.contains(title), "{beside}");
    assert!(beside.contains(">2.75</td>"), "the eighth ladder takes 11 quarters of the first: {beside}");
    assert!(beside.contains("Of the newest run: The test file was just written"), "{beside}");
}

/// What stands in front of the runs of a page, of those of one experiment.
fn side_by_side(page: &str) -> &str {
    page.split("id=\"beside-1\"").nth(1).unwrap().split("id=\"run-1\"").next().unwrap()
}

/// A profile with the latencies of two events, each with its time.
fn of_events(events: [(&str, f64); 2]) -> Run {
    let mut run = documents::profile();
    run.cases.retain(|case| !case.is("table", "histogram"));
    for (event, micros) in events {
        for from in [64, 128, 256] {
            let calls = documents::single("calls", Unit::Count, "trace", 10.0);
            let total = documents::single("total", Unit::Microseconds, "trace", micros);
            let parameters = json!({"table": "histogram", "event": event, "from_us": from});
            run.cases.push(documents::case(parameters, vec![calls, total]));
        }
    }
    run
}

#[test]
fn latencies_of_one_event_are_not_compared_with_those_of_another() {
    let [read, sync, latch] = ["db file sequential read", "log file sync", "latch free"];
    let runs = [
        of_events([(read, 9e3), (sync, 1e3)]),
        of_events([(sync, 5e3), (latch, 1e3)]),
        of_events([(latch, 5e3), ("enq: TX - row lock contention", 1e3)]),
    ];
    let page = html::report(&runs, &[]);
    let beside = side_by_side(&page);
    for event in [sync, latch] {
        let title = format!("How long waits take: {event}, of the waits: the runs side by side");
        assert!(beside.contains(&title), "{event}: {beside}");
    }
    assert!(!beside.contains(&format!("How long waits take: {read}")), "one run alone has it: {beside}");
    // Both charts are the second one of the first run that has them.
    for id in ["beside-1-latency-second", "beside-1-latency-second-2"] {
        assert_eq!(beside.matches(&format!("<figure id=\"{id}\">")).count(), 1, "{id}: {beside}");
    }
}

#[test]
fn logical_reads_of_one_access_are_not_compared_with_those_of_another() {
    let mut other = documents::lio();
    for case in &mut other.cases {
        case.parameters.insert("access".into(), json!("rowid"));
    }
    let page = html::report(&[documents::lio(), other], &[]);
    assert!(!side_by_side(&page).contains("What a logical read costs"), "{page}");
}

#[test]
fn a_line_of_one_method_is_not_compared_with_that_of_another() {
    let (title, mut prefetched) = ("What more rows at once gain", documents::join_sweep());
    for case in prefetched.cases.iter_mut().filter(|case| case.is("method", "batch")) {
        case.parameters.insert("method".into(), json!("prefetch"));
    }
    let mut both = prefetched.clone();
    both.cases.extend(documents::join_sweep().cases);
    let page = html::report(&[documents::join_sweep(), prefetched], &[]);
    assert!(!side_by_side(&page).contains(title), "they have no line in common: {page}");
    let page = html::report(&[both, documents::join_sweep()], &[]);
    let of_line = format!("{title}, batch, 0 % of the rows out of order: the runs side by side");
    assert!(side_by_side(&page).contains(&of_line), "{page}");
}

#[test]
fn each_subject_of_many_runs_has_a_line_of_its_own_that_goes_on_after_an_update() {
    let with = |day: u32, version: &str| {
        let mut run = documents::lio_on_server();
        run.started = format!("2026-01-{day:02}T12:34:56Z");
        let of_server = |case: &&mut Case| !case.is("subject", "engine");
        for case in run.cases.iter_mut().filter(of_server) {
            case.parameters.insert("subject".into(), json!(format!("postgres {version}")));
        }
        run
    };
    let runs: Vec<Run> = (1..=8).map(|day| with(day, if day < 5 { "15.18" } else { "15.19" })).collect();
    let page = html::report(&runs, &[]);
    let beside = side_by_side(&page);
    for subject in ["engine", "postgres"] {
        let name = format!("rows of 250 bytes, 5 columns, {subject}<");
        assert!(beside.contains(&name), "no {name}: {page}");
    }
    assert!(!beside.contains("5 columns, postgres 15.1"), "{beside}");

    let both = |day: u32| {
        let mut run = with(day, "15.18");
        let newer = with(day, "18.6").cases.into_iter().filter(|case| case.is("subject", "postgres 18.6"));
        run.cases.extend(newer);
        run
    };
    let page = html::report(&(1..=8).map(both).collect::<Vec<_>>(), &[]);
    for version in ["15.18", "18.6"] {
        let name = format!("rows of 250 bytes, 5 columns, postgres {version}<");
        assert!(side_by_side(&page).contains(&name), "no {name}: {page}");
    }
}

#[test]
fn ranges_of_many_points_are_neither_drawn_beyond_their_axis_nor_explained() {
    let ladders = |count: u32| {
        let with = |day: u32| Run { started: format!("2026-01-{day:02}T12:34:56Z"), ..documents::ladder() };
        let page = html::report(&(1..=count).map(with).collect::<Vec<_>>(), &[]);
        side_by_side(&page).matches("class=\"of-line range ").count()
    };
    assert!(ladders(7) > 0, "56 points");
    assert_eq!(ladders(12), 0, "96 points");
    let mut sweep = documents::disk_sweep();
    let first = sweep.cases[0].clone();
    let at = |place: u32| {
        let mut case = first.clone();
        case.parameters.insert("position".into(), json!(f64::from(place) / 19.0));
        case
    };
    sweep.cases = (0..20).map(at).collect();
    let sweeps = vec![sweep; 6];
    let page = html::report(&sweeps, &[]);
    let beside = side_by_side(&page);
    assert!(beside.contains("Latency by position, median: the runs side by side"), "{beside}");
    assert!(!beside.contains("of-line range ") && !beside.contains("Thin line"), "{beside}");
    assert!(page.contains("Thin line: smallest to 90th percentile."), "each run has few points: {page}");
}

#[test]
fn no_published_figure_is_explained_where_runs_alone_are_drawn() {
    let page = html::report(&[documents::lio(), documents::lio()], &[]);
    let beside = side_by_side(&page);
    assert!(beside.contains("Bar: median.") && !beside.contains("Outlined bars"), "{beside}");
    assert_eq!(page.matches("Outlined bars are published figures of Oracle").count(), 2, "at those of each run");
}

#[test]
fn no_dashed_line_is_explained_where_runs_are_drawn_without_them() {
    let page = html::report(&[documents::calibrate(), documents::calibrate()], &[]);
    let beside = side_by_side(&page);
    assert!(beside.contains("no other path allowed"), "{beside}");
    for about_places in ["Dashed", "Between the two", "Too early or too late"] {
        assert!(!beside.contains(about_places), "{about_places}: {beside}");
        assert!(page.contains(about_places), "{about_places}: each run has its own");
    }
}

#[test]
fn thin_lines_that_end_elsewhere_than_those_of_the_first_of_several_runs_are_not_explained_by_it() {
    let with = |count: u32| {
        let samples: Vec<f64> = (1..=count).map(f64::from).collect();
        let mut run = documents::roundtrip();
        for case in &mut run.cases {
            let latency = documents::spec("read_latency", Unit::Microseconds);
            case.metrics = vec![latency.of_samples("clock", &samples).unwrap()];
        }
        run
    };
    for counts in [[5, 20], [20, 5]] {
        let page = html::report(&counts.map(with), &[]);
        let beside = side_by_side(&page);
        let both = "Thin line: smallest to 90th percentile, or to the largest of fewer than ten.";
        let [said, right] = ["Thin line", both].map(|part| beside.matches(part).count());
        assert!(right > 0 && said == right, "{beside}");
    }
}

#[test]
fn thin_lines_that_the_first_of_several_runs_lacks_are_explained() {
    let with = |day: u32| {
        let mut run = Run { started: format!("2026-01-{day:02}T12:34:56Z"), ..documents::ladder() };
        for case in &mut run.cases {
            let (median, wide) = (case.metrics[0].median(), if day == 1 { 1.0 } else { 3.0 });
            let samples = [median / wide, median, median * wide];
            case.metrics = vec![documents::spec("latency", Unit::Nanoseconds).of_samples("clock", &samples).unwrap()];
        }
        run
    };
    for count in [2, 7] {
        let page = html::report(&(1..=count).map(with).collect::<Vec<_>>(), &[]);
        assert!(side_by_side(&page).contains("Thin line: smallest to 90th percentile"), "{count}: {page}");
    }
}

#[test]
fn one_session_of_which_no_line_is_left_is_one_other() {
    let mut run = documents::profile();
    for session in 0..10 {
        let interval = documents::single("interval", Unit::Microseconds, "trace", 1e6);
        let parameters = json!({"table": "summary", "session": format!("{session}.1")});
        run.cases.push(documents::case(parameters, vec![interval]));
    }
    let page = report::render(&run, &WIDE);
    assert!(page.lines().any(|line| line.starts_with("1 other ")), "{page}");
}

#[test]
fn one_line_more_than_is_shown_is_counted_as_one() {
    let mut run = documents::profile_statement();
    for case in run.cases.iter_mut().filter(|case| case.is("table", "statement_text")) {
        case.parameters.insert("text".into(), json!("select 1\n".repeat(41)));
    }
    let page = report::render(&run, &WIDE);
    assert!(page.contains("(1 more line)"), "{page}");
    let mut comparison = documents::profile_comparison();
    let line = comparison.plans[0].lines[1].clone();
    comparison.plans[0].lines = vec![line; 31];
    let page = report::render(Shown::Profiles(&comparison), &WIDE);
    assert!(page.contains("(1 more line differs)"), "{page}");
}

#[test]
fn what_each_of_several_runs_found_stands_at_their_common_chart() {
    let mut other = documents::ladder();
    other.subject.insert("device".into(), json!("disk 2"));
    other.findings[1].message = "At depth 64 the device gives 2.00 times as many reads a second.".into();
    let page = html::report(&[documents::ladder(), other], &[]);
    let beside = page.split("id=\"beside-1\"").nth(1).unwrap().split("id=\"run-1\"").next().unwrap();
    assert!(beside.contains("A, B: The test file was just written"), "{beside}");
    assert!(beside.contains(">A: At depth 64 the device gives 4.70 times"), "{beside}");
    assert!(beside.contains(">B: At depth 64 the device gives 2.00 times"), "{beside}");
}

#[test]
fn two_profiles_are_held_against_each_other_by_their_statements() {
    let mut slower = documents::profile();
    slower.started = "2026-02-01T12:34:56Z".into();
    let compare = |_: &Run, _: &Run| documents::profile_comparison();
    let page = html::report_comparing(&[documents::profile(), slower], &[], Some(&compare));
    let beside = page.split("id=\"beside-1\"").nth(1).unwrap().split("id=\"run-1\"").next().unwrap();
    assert!(beside.contains("First A: 2026-01-31 12:34, second B: 2026-02-01 12:34."), "{beside}");
    let of_two = in_format("html", Shown::Profiles(&documents::profile_comparison()));
    assert!(of_two.contains("<h1>readpath: two profiles compared</h1>"), "{of_two}");
    assert!(!of_two.contains("Medians") && !of_two.contains("run documents"), "it has totals of traces: {of_two}");
    assert!(beside.contains("Slowed most: statement") && beside.contains("4kz7x0w2mfu1q"), "{beside}");
    assert!(!beside.contains("no value in common"), "{beside}");
}

#[test]
fn profiles_of_two_sources_are_not_held_against_each_other() {
    let compare = |_: &Run, _: &Run| documents::profile_comparison();
    let page_of = |runs: &[Run]| html::report_comparing(runs, &[], Some(&compare));
    let mut log = documents::profile();
    log.subject.insert("source".into(), json!("PostgreSQL server log"));
    let page = page_of(&[documents::profile(), log.clone()]);
    assert!(!page.contains("id=\"beside-1\"") && !page.contains("Slowed most"), "{page}");
    let page = page_of(&[documents::profile(), log.clone(), documents::profile()]);
    assert!(page.contains("profile: 2 runs side by side") && !page.contains("id=\"beside-2\""), "{page}");
    // Of many runs, one that has nothing beside it is shown in full.
    let many = html::report(&[vec![log], vec![documents::profile(); 24]].concat(), &[]);
    let shown = ["run-1", "run-2", "run-25"].map(|id| many.contains(&format!("<section id=\"{id}\">")));
    assert_eq!(shown, [true, false, true], "{many}");
}

#[test]
fn joins_of_a_server_that_was_started_in_several_ways_are_no_bars_without_a_name() {
    let mut run = documents::join_of_servers();
    let usual = run.cases.clone();
    let started = |(io_method, direct): (&str, bool)| {
        let more = json!({"io_method": io_method, "direct": direct});
        let more = more.as_object().unwrap().clone();
        usual.iter().cloned().map(move |mut case| {
            case.parameters.extend(more.clone());
            case
        })
    };
    run.cases = [("worker", false), ("worker", true), ("io_uring", false)].into_iter().flat_map(started).collect();
    let drawn = chart(&run, "join-elapsed");
    for way in ["worker, through the page cache", "worker, past the page cache", "io_uring, through the page cache"] {
        assert!(drawn.contains(&format!(">postgres 18.1, io_method {way}</text>")), "{drawn}");
    }
    let of_one = chart(&documents::join_of_servers(), "join-elapsed");
    assert!(of_one.contains(">postgres 18.1</text>"), "all have the rest in common: {of_one}");
}

#[test]
fn the_end_of_a_long_name_over_bars_by_which_it_differs_from_another_is_not_cut_on_a_phone() {
    let mut run = documents::join_of_servers();
    let cases = run.cases.clone();
    let started = |rand: u32, direct: bool| {
        cases.iter().cloned().map(move |mut case| {
            case.parameters.extend([("rand".into(), json!(rand)), ("direct".into(), json!(direct))]);
            case
        })
    };
    run.cases = [(0, false), (0, true), (100, false)].into_iter().flat_map(|(rand, way)| started(rand, way)).collect();
    let page = html::report(&[run], &[]);
    let names = page.split("<text class=\"group\"").skip(1).filter_map(|rest| rest.split('<').next());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 9 && names.iter().all(|name| !name.contains('…')), "{names:?}");
}

#[test]
fn the_gain_in_front_of_joins_does_not_count_from_rows_in_another_order() {
    let mut run = documents::join_sweep();
    for case in &mut run.cases {
        let share = match (case.parameter("rand").as_deref(), case.is("method", "batch")) {
            (Some("0"), _) => 0.05,
            (Some("100"), true) => 53.0 / 210.0,
            _ => 1.0,
        };
        case.metrics[0].statistics.median *= share;
    }
    let page = html::report(&[run], &[]);
    let alone = "<dt>wait of one-at-a-time, 100 % of the rows out of order</dt><dd>212 ms</dd>";
    let times = "<dt>wait of one at a time over the shortest one</dt><dd>4.00 ×</dd>";
    assert!(page.contains(alone) && page.contains(times), "{page}");
}

#[test]
fn what_was_asked_of_one_run_does_not_stand_in_the_row_of_another() {
    let with = |rows: u64| {
        let mut run = documents::join_methods();
        for case in run.cases.iter_mut().filter(|case| case.is("method", "batch")) {
            case.parameters.insert("batch_size".into(), json!(rows));
        }
        run
    };
    let page = html::report(&[with(128), with(256)], &[]);
    let beside = page.split("id=\"beside-1\"").nth(1).unwrap().split("id=\"run-1\"").next().unwrap();
    assert!(beside.contains("batch, 128 rows") && beside.contains("batch, 256 rows"), "{beside}");
}

#[test]
fn a_sentence_or_a_number_in_front_of_several_runs_does_not_pass_for_one_of_another() {
    let mut first = documents::ladder();
    first.findings.push(conditions::findings::CORE_SHARED.of("Another thread shared the core."));
    let mut other = first.clone();
    other.started = "2026-02-01T08:00:00Z".into();
    other.subject.insert("device".into(), json!("disk 2"));
    let summary = |runs: &[Run]| {
        let page = html::report(runs, &[]);
        page.split("id=\"summary\"").nth(1).unwrap().split("</section>").next().unwrap().to_string()
    };
    let both = summary(&[first.clone(), other.clone()]);
    let names = ["ladder 2026-01-31 12:34, ext4 on vda (virtio)", "ladder 2026-02-01 08:00, ext4 on disk 2"];
    for (name, id) in names.iter().zip(["run-1", "run-2"]) {
        assert!(both.contains(&format!("<a href=\"#{id}\">{name}</a>: ")), "{both}");
        assert!(both.contains(&format!("<a href=\"#{id}\">{name}</a> has ")), "{both}");
    }
    assert!(both.contains(&format!("<dt>{}: a physical read of one block</dt>", names[0])), "{both}");
    // Of many runs only the newest is whole, and what it says is not said by all.
    let many = summary(&[vec![first.clone(); 24], vec![other]].concat());
    assert!(many.contains(&format!("<a href=\"#run-25\">{}</a>: ", names[1])), "{many}");
    assert!(!summary(&[first]).contains("</a>: "), "there is no other");
}

#[test]
fn what_a_page_of_several_runs_does_not_show_is_not_counted_on_it() {
    let with = |additions: f64| {
        let mut run = documents::ladder();
        for case in &mut run.cases {
            let samples: Vec<f64> = (0..40).map(|sample| 80.0 + f64::from(sample * 7 % 40) / 10.0).collect();
            case.metrics = vec![documents::spec("latency", Unit::Nanoseconds).of_samples("clock", &samples).unwrap()];
            let additions: Vec<f64> = samples.iter().map(|sample| sample / 80.0 * additions).collect();
            case.metrics.extend(conditions::CORE_ADDITIONS.of_samples("chains", &additions));
        }
        run
    };
    let page = html::report(&[with(2.0), with(4.0)], &[]);
    assert!(page.contains("Of 11 values that both runs have with enough samples, none differs"), "{page}");
    let of_one = |additions: f64| {
        let mut run = with(additions);
        run.cases.truncate(1);
        run
    };
    let page = html::report(&[of_one(2.0), of_one(4.0)], &[]);
    assert!(page.contains("Of 1 value that both runs have with enough samples, none differs by more than its noise."));
}

#[test]
fn a_run_that_differs_in_more_than_its_name_holds_says_so() {
    let with = |block_size: u64, workers: u64, depth: u64, direct: bool| {
        let mut run = documents::disk_plain();
        run.cases.truncate(1);
        let own = json!({"block_size": block_size, "workers": workers, "depth": depth, "direct": direct});
        run.cases[0].parameters.extend(own.as_object().unwrap().clone());
        run
    };
    let page = html::report(&[with(8192, 2, 1, true), with(65_536, 4, 8, false)], &[]);
    assert!(page.contains("<li>A: 8 KiB blocks, 2 workers, depth 1, and 1 more</li>"), "{page}");
}

#[test]
fn runs_are_named_by_what_was_asked_and_not_by_the_speed_of_the_core() {
    let with = |depth: u64, ghz: f64| {
        let mut run = documents::disk_plain();
        run.cases.truncate(1);
        run.cases[0].parameters.insert("depth".into(), json!(depth));
        run.cases[0].parameters.insert("seed".into(), json!(depth * 7));
        run.host.core_ghz = Some(ghz);
        run
    };
    let page = html::report(&[with(1, 3.1), with(32, 3.2)], &[]);
    assert!(page.contains("<li>A: depth 1</li>") && page.contains("<li>B: depth 32</li>"), "{page}");
    let page = html::report(&[with(1, 3.1), with(1, 3.2)], &[]);
    assert!(page.contains("<li>A: (1)</li>") && page.contains("<li>B: (2)</li>"), "{page}");
}

#[test]
fn what_a_run_calls_disturbed_has_no_verdict_on_a_page_of_several() {
    let with = |scale: f64, id: &str| {
        let mut run = documents::ladder();
        run.id = id.into();
        for case in &mut run.cases {
            let median = case.metrics[0].median() * scale;
            let samples: Vec<f64> =
                (0..40).map(|sample| median * (1.0 + f64::from(sample * 7 % 40) / 4000.0)).collect();
            case.metrics[0] = documents::spec("latency", Unit::Nanoseconds).of_samples("clock", &samples).unwrap();
        }
        run
    };
    let mut disturbed = with(2.0, "20");
    disturbed.findings = vec![conditions::findings::CORE_SHARED.of("Another thread shared the core.")];
    let page = html::report(&[with(1.0, "10"), disturbed], &[]);
    assert!(page.contains("no verdict, because a run warns that something else was at work"), "{page}");
    assert!(!page.contains("differ by more than the noise"), "{page}");
}

#[test]
fn an_empty_page_says_what_to_do_and_a_run_without_cases_that_it_has_none() {
    assert!(html::report(&[], &[]).contains("try readpath ladder"));
    let empty = documents::run("disk", json!({}));
    assert!(html::report(&[empty], &["old.json is not read".into()]).contains("No case was finished."));
    let mut strange = documents::disk_plain();
    strange.cases.push(Case::default());
    assert!(html::report(&[strange], &[]).contains("</html>"));
}
