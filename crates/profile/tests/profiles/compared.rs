//! Two profiles, one against the other: differences add up, and a trace does not differ from itself.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use measure::compare::{ProfileComparison, Spread};
use profile::choice::Period;
use profile::compare::{CompareSettings, Executions, Side, compare};
use profile::ingest::{Chosen, IngestSettings, ingest};
use profile::observe::collector::THINK_TIME;
use profile::source::{BindValues, ReadOptions, SourceSettings};

fn side(path: &Path) -> Side {
    let reading = ReadOptions { workers: 1, chunk_bytes: 1 << 20 };
    let source = SourceSettings { unit: None, reading, binds: BindValues::Dropped, period: Period::default() };
    let settings = IngestSettings { think_time: THINK_TIME, source };
    let mut executions = Executions::new(THINK_TIME);
    let chosen = Chosen::of(&[path.to_path_buf()]);
    let ingested = ingest(chosen, &settings, &mut executions, &mut |_, _| ControlFlow::Continue(()));
    Side { name: path.display().to_string(), ingested, executions }
}

fn compared(before: &Path, after: &Path) -> ProfileComparison {
    compare(side(before), side(after), CompareSettings { top: 10, hides_texts: false })
}

/// What holds for any two traces.
fn assert_adds_up(comparison: &ProfileComparison) {
    let name = &comparison.after.name;
    let interval = comparison.after.interval_us - comparison.before.interval_us;
    let of_classes: f64 = comparison.classes.iter().map(|class| class.difference_us).sum();
    assert!((of_classes - interval).abs() < 1e-3, "{name}: {of_classes} of {interval}");
    for class in &comparison.classes {
        let of_class = comparison.events.iter().filter(|event| event.class.as_ref() == Some(&class.name));
        let (count, sum) = of_class.fold((0, 0.0), |(count, sum), event| (count + 1, sum + event.difference_us));
        assert!(count == 0 || (sum - class.difference_us).abs() < 1e-3, "{name}, {}", class.name);
    }
    let changes = comparison.classes.iter().chain(&comparison.events).chain(&comparison.statements);
    for change in changes.chain([&comparison.response_time]) {
        let numbers = [change.before.total_us, change.after.total_us, change.difference_us];
        assert!(numbers.iter().all(|number| number.is_finite()), "{change:?}");
        let interval = change.execution_interval_us.zip(change.execution_difference_us);
        assert!(interval.is_none_or(|((low, high), of)| low <= of && of <= high), "{change:?}");
        assert!(change.spread != Spread::None || change.difference_us == 0.0, "{change:?}");
    }
}

#[test]
fn real_traces_differ_from_each_other_by_sums_and_from_themselves_not_at_all() {
    let Some(folder) = crate::support::traces() else {
        println!("skipped: there are no real traces");
        return;
    };
    let listing = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_small = |path: &PathBuf| path.metadata().is_ok_and(|data| data.len() < 1_000_000);
    let is_trace =
        |path: &PathBuf| path.to_string_lossy().ends_with(".trc.gz") || path.extension().is_some_and(|e| e == "trc");
    let mut traces: Vec<PathBuf> = listing.filter(is_trace).filter(is_small).collect();
    traces.sort();
    traces.retain(|path| !side(path).ingested.files.is_empty());
    assert!(traces.len() > 10);
    for path in &traces {
        let same = compared(path, path);
        assert!(same.is_same(), "{}", path.display());
        assert_adds_up(&same);
    }
    for pair in traces.windows(2) {
        assert_adds_up(&compared(&pair[0], &pair[1]));
    }
}
