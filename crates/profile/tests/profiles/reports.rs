//! The profiles of real traces against the reports that two other profilers made of them, read when the test runs.
//!
//! They agree but for what is known of the others: one cuts the rest of a hundredth of a second off, and leaves out
//! what it has no declaration for; the other leaves out the CPU time of CLOSE calls and of calls without a traced
//! parent. Neither corrects the unit of old ports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use profile::event::{Context, EventIndex, Evidence, Merge, Observer, Ticks, Unit, Wait};
use profile::observe::collector::bucket_of;
use profile::source::oracle::time_scale::TimeScaleProbe;
use profile::tables::{CallSums, Profile};

/// Pairs of a trace and its report; empty where there are no real traces.
fn pairs(suffixes: &[&str]) -> Vec<(PathBuf, PathBuf)> {
    let Some(folder) = crate::support::traces() else {
        return Vec::new();
    };
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("as the report or the values have it")
        .map(|file| file.expect("as the report or the values have it").path())
        .collect();
    files.sort();
    let name =
        |path: &Path| path.file_name().expect("as the report or the values have it").to_string_lossy().into_owned();
    let pair = |report: &PathBuf| {
        let stem = suffixes.iter().find_map(|suffix| name(report).strip_suffix(suffix).map(str::to_owned))?;
        let trace = [".trc.gz", ".trc"].map(|ending| folder.join(format!("{stem}{ending}")));
        let trace = trace.into_iter().find(|trace| trace.exists()).expect("every report has its trace");
        Some((trace, report.clone()))
    };
    files.iter().filter_map(pair).collect()
}

fn text(path: &Path) -> String {
    // Some of the reports were written under Windows.
    String::from_utf8_lossy(&crate::support::read(path)).replace("\r\n", "\n")
}

/// In the trace's own unit, as the others count.
fn profile(trace: &Path) -> &'static Profile {
    crate::support::real_profile(trace)
}

/// Calls whose name starts with one of these, recursive or not.
fn sums(profile: &Profile, names: &[&str], is_recursive: bool) -> CallSums {
    let mut sums = CallSums::default();
    for ((name, recursive), more) in &profile.whole.calls {
        if *recursive == is_recursive && names.contains(&profile.context.call_names[usize::from(*name)].as_str()) {
            sums.merge(more);
        }
    }
    sums
}

#[test]
fn call_totals_by_recursion_are_those_of_tkprof() {
    let pairs = pairs(&[".tkprof.txt", ".tkprof.txt.gz"]);
    if pairs.is_empty() {
        println!("skipped: no real traces on this machine");
        return;
    }
    assert!(pairs.len() >= 14, "{} pairs", pairs.len());
    let rows: [(&str, &[&str]); 3] =
        [("Parse", &["PARSE"]), ("Execute", &["EXEC", "UNMAP", "SORT UNMAP"]), ("Fetch", &["FETCH"])];
    for (trace, report) in pairs {
        let (profile, report) = (profile(&trace), text(&report));
        for (heading, is_recursive) in [("ALL NON-RECURSIVE", false), ("ALL RECURSIVE", true)] {
            let table = report
                .split(&format!("OVERALL TOTALS FOR {heading} STATEMENTS"))
                .nth(1)
                .expect("as the report or the values have it");
            for (row, names) in rows {
                let line =
                    table.lines().find(|line| line.starts_with(row)).expect("as the report or the values have it");
                let theirs: Vec<f64> = line
                    .split_whitespace()
                    .skip(1)
                    .map(|value| value.parse().expect("as the report or the values have it"))
                    .collect();
                let ours = sums(profile, names, is_recursive);
                let context = format!("{} {heading} {line} {ours:?}", trace.display());
                assert_eq!(ours.calls as f64, theirs[0], "{context}");
                // The rest of a hundredth is cut off, for each statement alone.
                let cut = |ours: f64, theirs: f64| ours - theirs > -0.005 && ours - theirs < 0.02;
                assert!(cut(ours.own.cpu.unwrap_or_default().micros() / 1e6, theirs[1]), "{context}");
                assert!(cut(ours.own.elapsed.micros() / 1e6, theirs[2]), "{context}");
                assert_eq!(ours.own.physical_reads as f64, theirs[3], "{context}");
                assert_eq!(ours.own.consistent_gets as f64, theirs[4], "{context}");
                assert_eq!(ours.own.current_gets as f64, theirs[5], "{context}");
                assert_eq!(ours.rows as f64, theirs[6], "{context}");
            }
        }
    }
}

/// A row of the other report's profile.
#[derive(Debug)]
struct Row {
    name: String,
    seconds: f64,
    count: Option<u64>,
}

fn number(text: &str) -> f64 {
    text.replace(',', "").parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

fn row(name: &str, seconds: &str, count: Option<&str>) -> Row {
    let count = count.filter(|count| *count != "n/a").map(|count| number(count) as u64);
    Row { name: name.trim().to_owned(), seconds: number(seconds), count }
}

/// The resource usage profile of a report in text.
fn rows_of_text(report: &str) -> Vec<Row> {
    let table = report.split("Resource Usage Profile").nth(1).expect("as the report or the values have it");
    let lines = table.lines().skip_while(|line| !line.starts_with("Component")).skip(2);
    lines
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("---"))
        .map(|line| {
            let (name, rest) = line.split_once("  ").expect("as the report or the values have it");
            let fields: Vec<_> = rest.split_whitespace().collect();
            row(name, fields[0], fields.get(2).copied())
        })
        .collect()
}

/// The resource usage profile of a report in HTML.
fn rows_of_html(report: &str) -> Vec<Row> {
    let mut cells: Vec<String> = Vec::new();
    let tail = &report[report.find("Resource Usage Profile").expect("as the report or the values have it")..];
    for part in tail.split('<') {
        let cell = part.split_once('>').map_or(part, |(_, cell)| cell).replace("&nbsp;", " ");
        cells.extend((!cell.trim().is_empty()).then(|| cell.trim().to_owned()));
    }
    let begin =
        cells.iter().position(|cell| cell.starts_with("Duration per")).expect("as the report or the values have it")
            + 2;
    let mut rows = Vec::new();
    for cells in cells[begin..].chunks(5) {
        rows.push(row(&cells[0], &cells[1], Some(&cells[3]).filter(|_| cells[0] != "Total").map(String::as_str)));
        if cells[0] == "Total" {
            break;
        }
    }
    rows
}

#[test]
fn durations_and_waits_are_those_of_tvdxtat_and_its_cpu_lacks_what_is_known() {
    let pairs = pairs(&[".tvdxtat.txt", ".tvdxtat.html"]);
    if pairs.is_empty() {
        println!("skipped: no real traces on this machine");
        return;
    }
    assert!(pairs.len() >= 18, "{} pairs", pairs.len());
    let mut with_less_cpu = Vec::new();
    for (trace, path) in pairs {
        let (profile, report) = (profile(&trace), text(&path));
        let is_html = path.extension().is_some_and(|extension| extension == "html");
        let rows = if is_html { rows_of_html(&report) } else { rows_of_text(&report) };
        let file = trace.display();
        let close = |ours: f64, theirs: f64| (ours - theirs).abs() < 0.000_501;
        let events = &profile.context.events;
        let find = |name: &str| rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{file} {name}"));
        for (event, sums) in &profile.whole.events {
            let theirs = find(&events[event.0 as usize].name);
            assert_eq!(theirs.count, Some(sums.count), "{file} {theirs:?}");
            assert!(close(sums.total.micros() / 1e6, theirs.seconds), "{file} {theirs:?} {sums:?}");
        }
        let known = profile.whole.events.len();
        assert!((known + 2..=known + 3).contains(&rows.len()), "{file}: no row but waits, CPU, the rest and the total");
        assert!(close(profile.whole.interval.micros() / 1e6, find("Total").seconds), "{file}");
        // A recursive CLOSE is part of its parent, and that is not left out.
        let closing = sums(profile, &["CLOSE"], false).own.cpu.unwrap_or_default();
        let cpu = (profile.whole.cpu - closing).micros() / 1e6;
        if !close(cpu, find("CPU").seconds) {
            with_less_cpu.push((file.to_string(), cpu, find("CPU").seconds, profile.whole.orphans));
        }
    }
    for (file, ours, theirs, orphans) in &with_less_cpu {
        assert!(theirs < ours && *orphans > 0, "{file}: {theirs} s of {ours} s, {orphans} calls without a parent");
    }
    assert!(
        with_less_cpu.iter().any(|(file, ours, theirs, _)| file.contains("j000") && *theirs < 0.01 * ours),
        "a job's calls have no traced parent, and the other report has next to no CPU time for them: {with_less_cpu:?}"
    );
}

#[test]
fn the_unit_of_old_ports_is_found_in_the_files_that_have_it_and_in_no_other() {
    let Some(folder) = crate::support::traces() else {
        println!("skipped: no real traces on this machine");
        return;
    };
    let mut by_version = BTreeMap::new();
    for file in std::fs::read_dir(folder.join("expected")).expect("as the report or the values have it") {
        let expected = file
            .expect("as the report or the values have it")
            .path()
            .file_name()
            .expect("as the report or the values have it")
            .to_string_lossy()
            .into_owned();
        let name = expected.strip_suffix(".expected.json").expect("as the report or the values have it");
        let mut probe = TimeScaleProbe::default();
        probe.batch(&crate::support::scan(&crate::support::read(&folder.join(name))));
        let scale = probe.decide();
        let is_old_port = name.starts_with("10203") || name.starts_with("10205");
        let unit = if is_old_port { Unit::Shifted } else { Unit::Microsecond };
        assert_eq!((scale.calls, scale.waits), (unit, unit), "{name}: {scale:?}");
        assert!(!is_old_port || matches!(scale.evidence, Evidence::Epoch), "{name}: {scale:?}");
        *by_version.entry((name[..5].to_owned(), format!("{:?}", scale.evidence)[..5].to_owned())).or_insert(0) += 1;
    }
    let scaled: i32 = by_version.iter().filter(|((version, _), _)| version.starts_with("102")).map(|(_, n)| n).sum();
    assert!(scaled >= 10, "{by_version:?}");
}

/// The microseconds of every wait, by event.
#[derive(Default)]
struct Waits(BTreeMap<u32, Vec<i64>>);

impl Observer for Waits {
    fn wait(&mut self, _context: &Context, wait: &Wait) {
        self.0.entry(wait.event.0).or_default().push(wait.elapsed.0 / Ticks::PER_MICROSECOND);
    }
}

/// The first histogram of an event in a report, if it has one: lower edge, upper edge, number of waits.
fn histogram(report: &str, event: &str) -> Vec<(i64, i64, usize)> {
    let heading = format!("\n{event}\n{}\n", "*".repeat(event.len()));
    let Some(table) = report.split(&heading).nth(1) else {
        return Vec::new();
    };
    let lines = table.lines().skip_while(|line| !line.contains("duration <"));
    lines
        .take_while(|line| line.contains("duration <"))
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let below = fields.iter().position(|field| *field == "<").expect("an upper edge") + 1;
            let edge = |place: usize| number(fields[place]) as i64;
            (edge(0), edge(below), number(fields[below + 3]) as usize)
        })
        .collect()
}

#[test]
fn histograms_differ_from_those_of_tvdxtat_by_the_waits_on_an_edge_alone() {
    let pairs = pairs(&[".tvdxtat.txt"]);
    if pairs.is_empty() {
        println!("skipped: no real traces on this machine");
        return;
    }
    let (mut buckets, mut moved) = (0, 0);
    for (trace, report) in pairs {
        let (bytes, report) = (crate::support::read(&trace), text(&report));
        let mut waits = Waits::default();
        let context = crate::support::observe(&bytes, &mut waits);
        let ours = profile(&trace);
        for (event, micros) in &waits.0 {
            let name = &context.events[*event as usize].name;
            for (low, high, theirs) in histogram(&report, name) {
                let closed_above = micros.iter().filter(|wait| **wait > low && **wait <= high).count();
                assert_eq!(theirs, closed_above, "{} {name}: {low} to {high}", trace.display());
                // Ours has the lower edge, as the heading of theirs says too.
                let closed_below = micros.iter().filter(|wait| **wait >= low && **wait < high).count();
                let sums = &ours.whole.events[&EventIndex(*event)];
                let place = bucket_of(Ticks::from_micros(low));
                let bucket = sums.histogram.iter().find(|(filled, _)| *filled == place);
                let count = bucket.map_or(0, |(_, bucket)| bucket.count);
                if low > 0 {
                    assert_eq!(count as usize, closed_below, "{} {name}: {low}", trace.display());
                    buckets += 1;
                    moved += usize::from(closed_below != closed_above);
                }
            }
        }
    }
    assert!(buckets >= 40 && moved >= 15, "{buckets} buckets, {moved} of them other than theirs");
}
