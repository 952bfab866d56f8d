//! What all contests have in common: the pairs of turns, the bars, the run that is shown and kept, and the exit code.

use std::io::Write;
use std::path::Path;

use measure::run::SCHEMA;
use measure::schema::contest::findings as row;
use measure::{Build, Finding, Parameters, Run};
use report::Style;
use serde_json::Value;
use uuid::Uuid;

use crate::bars::{Bar, Outcome, overall};
use crate::interruption::Interruption;
use crate::ledger::Ledger;
use crate::options::Options;
use crate::progress::progress;
use crate::results::keep;
use crate::turn_order::order;

/// Fewest pairs that make a result.
const PAIRS_OF_A_RESULT: u64 = 5;

/// How a page is shown and kept: wide enough for what a bar is called.
const STYLE: Style = Style { width: 120, color: false, unicode: true };

/// A contest under way.
pub(crate) struct Conductor {
    name: &'static str,
    pairs: u64,
    run: Run,
    bars: Vec<Bar>,
    /// What the contenders needed so far.
    pub(crate) ledger: Ledger,
    /// Whether ^C was pressed.
    pub(crate) interruption: Interruption,
}

/// One contender's turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Which pair, counted from 0.
    pub(crate) pair: u64,
    /// Which contender, counted from 0.
    pub(crate) contender: usize,
    /// Whether it is the last turn of the pair.
    pub(crate) is_last: bool,
}

impl Conductor {
    /// A contest of this many pairs, begun now on this machine; `what` says in a sentence what is compared.
    pub(crate) fn begin(name: &'static str, pairs: u64, what: String) -> Result<Conductor, String> {
        let build = Build::new(env!("CARGO_PKG_VERSION"), env!("READPATH_COMMIT"), env!("READPATH_PROFILE"));
        let run = Run {
            schema: SCHEMA.into(),
            id: Uuid::now_v7().to_string(),
            command: command_line(std::env::args()),
            started: jiff::Timestamp::now().to_string(),
            finished: None,
            build: Some(build),
            job: None,
            host: sys::host::describe(),
            own_cost: Vec::new(),
            experiment: format!("contest-{name}"),
            subject: Parameters::from_iter([("kind".to_string(), "contest".into())]),
            cases: Vec::new(),
            findings: vec![row::COMPARED.of(what)],
        };
        let interruption = Interruption::listen()?;
        Ok(Conductor { name, pairs, run, bars: Vec::new(), ledger: Ledger::default(), interruption })
    }

    /// Records what is compared, in words or numbers.
    pub(crate) fn describe(&mut self, key: &str, value: impl Into<Value>) {
        self.run.subject.insert(key.into(), value.into());
    }

    /// The contender where it is there; otherwise records why it is not.
    pub(crate) fn present<'a, T>(&mut self, name: &str, contender: &'a Result<T, String>) -> Option<&'a T> {
        contender.as_ref().map_err(|reason| self.absent(name, reason)).ok()
    }

    /// Records why a contender is absent.
    pub(crate) fn absent(&mut self, contender: &str, reason: &str) {
        self.run.findings.push(row::CONTENDER_ABSENT.of(format!("{contender} was absent: {reason}.")));
    }

    /// Records what is worth knowing beyond the figures.
    pub(crate) fn note(&mut self, id: &str, sentence: String) {
        self.run.findings.push(row::NOTE.named(id, sentence));
    }

    /// Records the answers that all contenders gave.
    pub(crate) fn describe_answers(&mut self) {
        let answers = self.ledger.answers().map(|(question, answer)| (format!("answer_{question}"), answer.into()));
        self.run.subject.extend(answers.collect::<Vec<_>>());
    }

    /// Gives every contender its turn in every pair. The order turns around from pair to pair.
    pub(crate) fn pairs(
        &mut self,
        title: &str,
        contenders: usize,
        mut take: impl FnMut(Turn, &mut Ledger) -> Result<(), String>,
    ) -> Result<(), String> {
        for pair in 0..self.pairs {
            progress(&format!("{title}: pair {} of {}", pair + 1, self.pairs));
            for (place, contender) in order(pair, contenders).into_iter().enumerate() {
                self.interruption.check()?;
                take(Turn { pair, contender, is_last: place + 1 == contenders }, &mut self.ledger)?;
            }
        }
        Ok(())
    }

    /// Adds bars.
    pub(crate) fn judge(&mut self, bars: impl IntoIterator<Item = Bar>) {
        self.bars.extend(bars);
    }

    /// Adds the bars of what stands in the ledger.
    pub(crate) fn judge_by<Bars: IntoIterator<Item = Bar>>(&mut self, bars: impl FnOnce(&Ledger) -> Bars) {
        self.bars.extend(bars(&self.ledger));
    }

    /// Shows the run, keeps it where `--results` says, and gives the exit code: 1 when a bar was missed or could not
    /// be judged and `--fail-on-miss` was given.
    pub(crate) fn conclude(mut self, options: &Options, out: &mut dyn Write) -> Result<u8, String> {
        self.run.findings.extend(trial(self.pairs));
        let (name, all_met) = (self.name, self.bars.iter().all(|bar| bar.outcome() == Outcome::Met));
        let run = self.finish();
        let page = report::render(&run, &STYLE);
        // It may have taken hours: it is kept where its page cannot be written, and shown where it cannot be kept.
        let kept = options.results.as_ref().map(|folder| keep(folder, name, &run, &page));
        write(out, &page)?;
        if let Some(kept) = kept.transpose()? {
            write(out, &format!("kept in {}\n", kept.display()))?;
        }
        Ok(u8::from(options.fail_on_miss && !all_met))
    }

    /// Shows what was measured where there is no bar.
    pub(crate) fn show(self, out: &mut dyn Write) -> Result<u8, String> {
        write(out, &report::render(&self.finish(), &STYLE)).map(|()| 0)
    }

    /// The run with its cases and findings.
    pub(crate) fn finish(mut self) -> Run {
        self.run.cases = self.ledger.cases();
        self.run.cases.extend(self.bars.iter().map(Bar::case));
        self.run.findings.extend(self.bars.iter().filter_map(Bar::finding));
        if !self.bars.is_empty() {
            self.run.findings.push(row::ANSWER_BARS.of(overall(&self.bars)));
        }
        self.run.finished = Some(jiff::Timestamp::now().to_string());
        self.run
    }
}

/// The words of a command. The folder of its program says where it was built, and nothing about the contest.
fn command_line(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.collect();
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(program.as_str()).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    words
}

/// The finding about too few pairs for a result.
pub(crate) fn trial(pairs: u64) -> Option<Finding> {
    let message = format!("Fewer than {PAIRS_OF_A_RESULT} pairs: a trial, not a result.");
    (pairs < PAIRS_OF_A_RESULT).then(|| row::TRIAL.of(message))
}

fn write(out: &mut dyn Write, text: &str) -> Result<(), String> {
    out.write_all(text.as_bytes()).map_err(|error| format!("the page could not be written: {error}"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use clap::{Args, Command, FromArgMatches};

    use super::*;
    use crate::bars::{Judged, Wanted};
    use measure::schema::check;
    use measure::schema::contest::IOPS;
    use measure::{Statistics, Unit};

    fn bar(name: &str, measured: Result<f64, String>) -> Bar {
        let judged = Judged { wanted: Wanted::AtLeast(0.97), word: "slower", unit: Unit::Ratio };
        Bar::new(name, judged, measured.map(Statistics::single))
    }

    #[test]
    fn a_missed_bar_is_a_warning_with_its_number_and_one_without_a_figure_is_not_judged() {
        let mut conductor = Conductor::begin("fio", 3, "reads".into()).unwrap();
        conductor
            .pairs("reads", 2, |turn, ledger| {
                ledger.add("reads", ["readpath", "fio"][turn.contender], &IOPS, turn.pair as f64);
                Ok(())
            })
            .unwrap();
        let absent = Err("there is no fio".into());
        conductor.judge([bar("one", Ok(1.0)), bar("two", Ok(0.5)), bar("three", absent)]);
        let run = conductor.finish();
        let ids: Vec<&str> = run.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids, ["compared", "bar-missed", "bar-not-judged", "answer-bars"]);
        assert!((run.findings[1].values["missed_by"].value - 0.47).abs() < 1e-9);
        assert_eq!(IOPS.median(&run.cases[0]), Some(1.0));
        assert!(run.cases.len() == 5 && run.cases[4].metrics.is_empty());
        assert_eq!(check(&run), [""; 0]);
    }

    #[test]
    fn a_kept_run_does_not_tell_in_which_folder_its_program_was_built() {
        let words = |words: &[&str]| command_line(words.iter().map(|word| word.to_string()));
        assert_eq!(words(&["/home/me/readpath-contest", "fio", "/dev/vda"]), ["readpath-contest", "fio", "/dev/vda"]);
        assert_eq!(words(&[]), [""; 0]);
    }

    #[test]
    fn a_result_is_kept_where_its_page_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let words: [OsString; 3] = ["contest".into(), "--results".into(), folder.path().into()];
        let words = Options::augment_args(Command::new("contest")).get_matches_from(words);
        let options = Options::from_arg_matches(&words).unwrap();
        let mut conductor = Conductor::begin("fio", 5, "reads".into()).unwrap();
        conductor.ledger.add("reads", "readpath", &IOPS, 1.0);
        let mut full: &mut [u8] = &mut [];
        assert!(conductor.conclude(&options, &mut full).unwrap_err().contains("could not be written"));
        let of_the_day = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        assert!(of_the_day.join("fio.json").is_file() && of_the_day.join("fio.txt").is_file());
    }

    #[test]
    fn an_interrupted_contest_takes_no_further_turn() {
        let mut conductor = Conductor::begin("fio", 3, "reads".into()).unwrap();
        conductor.interruption.flag().store(true, std::sync::atomic::Ordering::Relaxed);
        let taken = conductor.pairs("reads", 2, |_, _| Err("a turn".into()));
        assert!(taken.unwrap_err().contains("interrupted"));
    }
}
