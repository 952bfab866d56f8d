//! What a contest found, as a run document: `readpath show` and `readpath compare` read it like any other.
//!
//! A contender's samples are a case, with one sample a pair; a bar is a case too, and a finding where it was missed or
//! could not be judged.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use measure::run::SCHEMA;
use measure::schema::Spec;
use measure::{Case, Finding, Metric, Parameters, Run, Unit};
use serde_json::Value;
use uuid::Uuid;

use crate::bars::{Bar, Verdict};

/// How samples were obtained: the pages of the contests say it of each contender.
const SOURCE: &str = "one sample a pair, contenders in turn";

/// Reports of one day and machine that are told apart by a number.
const REPORTS_MAX: u32 = 1000;

/// A run document as it grows.
pub(crate) struct Document {
    run: Run,
}

impl Document {
    /// The document of this contest, begun now on this machine.
    pub(crate) fn begin(contest: &str) -> Document {
        let run = Run {
            schema: SCHEMA.into(),
            id: Uuid::now_v7().to_string(),
            command: std::env::args().collect(),
            started: jiff::Timestamp::now().to_string(),
            finished: None,
            host: sys::host::describe(),
            own_cost: Vec::new(),
            experiment: format!("contest-{contest}"),
            subject: Parameters::from_iter([("kind".to_string(), "contest".into())]),
            cases: Vec::new(),
            findings: Vec::new(),
        };
        Document { run }
    }

    /// Says what was compared.
    pub(crate) fn describe(&mut self, key: &str, value: impl Into<Value>) {
        self.run.subject.insert(key.into(), value.into());
    }

    /// Says why a contender was absent.
    pub(crate) fn absent(&mut self, contender: &str, reason: &str) {
        self.run.findings.push(Finding::info("contender-absent", format!("{contender} was absent: {reason}.")));
    }

    /// A case with what was measured under its parameters; what has no samples is left out.
    pub(crate) fn case<const N: usize>(&mut self, parameters: [(&str, Value); N], metrics: Vec<Option<Metric>>) {
        let parameters = parameters.map(|(name, value)| (name.to_string(), value));
        let mut case = Case::new(Parameters::from_iter(parameters));
        case.metrics = metrics.into_iter().flatten().collect();
        self.run.cases.push(case);
    }

    /// The document with its bars, at the contest's end.
    pub(crate) fn judged(mut self, bars: &[Bar]) -> Run {
        for bar in bars {
            let bound = Spec::new("bar", bar.unit, "What came out, in what the bar is counted in.");
            let metric = bar.measured.as_ref().ok().map(|statistics| bound.of_statistics(SOURCE, *statistics));
            self.case([("bar", bar.name.as_str().into()), ("wanted", bar.wanted.to_string().into())], vec![metric]);
            let finding = match bar.verdict() {
                Verdict::Met => continue,
                Verdict::Missed(by) => {
                    let missed = Finding::warning("bar-missed", format!("{}.", bar.sentence()));
                    missed.with("missed_by", by, bar.unit)
                }
                Verdict::Unanswered => Finding::info("bar-not-judged", format!("{}.", bar.sentence())),
            };
            self.run.findings.push(finding);
        }
        self.run.finished = Some(jiff::Timestamp::now().to_string());
        self.run
    }
}

/// The metric of one contender: a sample a pair.
pub(crate) fn samples(name: &'static str, unit: Unit, samples: impl IntoIterator<Item = f64>) -> Option<Metric> {
    Spec::new(name, unit, "").of_samples(SOURCE, &samples.into_iter().collect::<Vec<f64>>())
}

/// Writes the page and the document to `DIR/<date>-<cpu>/<name>` and says where. A report that is there stays: the next
/// one of the day has a number behind its name.
pub(crate) fn keep(folder: &Path, name: &str, run: &Run, page: &str) -> Result<PathBuf, String> {
    let folder = folder.join(folder_name(run));
    let sentence = |error: std::io::Error| format!("the report could not be kept in {}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(sentence)?;
    let document = serde_json::to_string_pretty(run).map_err(|error| error.to_string())?;
    for number in 1..=REPORTS_MAX {
        let stem = if number == 1 { name.to_string() } else { format!("{name}-{number}") };
        let path = folder.join(format!("{stem}.json"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(sentence(error)),
            Ok(mut file) => {
                file.write_all(format!("{document}\n").as_bytes()).map_err(sentence)?;
                fs::write(folder.join(format!("{stem}.txt")), page).map_err(sentence)?;
                return Ok(path);
            }
        }
    }
    Err(format!("{} holds {REPORTS_MAX} reports of {name}", folder.display()))
}

fn folder_name(run: &Run) -> String {
    let date = run.started.get(..10).unwrap_or("undated");
    let lower = run.host.cpu.as_deref().unwrap_or("unknown processor").to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    format!("{date}-{}", words.collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Wanted;
    use measure::Statistics;
    use measure::store::read_run;

    fn bar(measured: Result<f64, String>) -> Bar {
        let measured = measured.map(Statistics::single);
        Bar { name: "IOPS in fio's".into(), wanted: Wanted::AtLeast(0.97), word: "slower", unit: Unit::Ratio, measured }
    }

    fn run(bars: &[Bar]) -> Run {
        let mut document = Document::begin("fio");
        document.case([("contender", "readpath".into())], vec![samples("iops", Unit::PerSecond, [1.0, 2.0, 3.0])]);
        document.judged(bars)
    }

    #[test]
    fn a_folder_is_named_by_date_and_processor() {
        let mut run = run(&[]);
        run.started = "2026-11-20T10:00:00Z".into();
        run.host.cpu = Some("AMD EPYC(tm) 9R14".into());
        assert_eq!(folder_name(&run), "2026-11-20-amd-epyc-tm-9r14");
        run.host.cpu = None;
        assert_eq!(folder_name(&run), "2026-11-20-unknown-processor");
    }

    #[test]
    fn a_report_of_the_same_day_does_not_overwrite_the_first_and_both_are_run_documents() {
        let folder = tempfile::tempdir().unwrap();
        let run = run(&[bar(Ok(0.5)), bar(Err("there is no fio".into()))]);
        let first = keep(folder.path(), "fio", &run, "first\n").unwrap();
        let second = keep(folder.path(), "fio", &run, "second\n").unwrap();
        assert_ne!(first, second);
        assert_eq!(fs::read_to_string(first.with_extension("txt")).unwrap(), "first\n");
        for path in [first, second] {
            assert_eq!(read_run(&path).unwrap(), run);
        }
    }

    #[test]
    fn a_missed_bar_is_a_warning_with_its_number_and_one_without_a_figure_is_told_apart() {
        let run = run(&[bar(Ok(1.0)), bar(Ok(0.5)), bar(Err("there is no fio".into()))]);
        let ids: Vec<&str> = run.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids, ["bar-missed", "bar-not-judged"]);
        assert!((run.findings[0].values["missed_by"].value - 0.47).abs() < 1e-9);
        assert_eq!(run.cases.len(), 4);
        assert_eq!(run.cases[0].metric("iops").map(Metric::median), Some(2.0));
        assert!(run.cases[3].metrics.is_empty());
    }
}
