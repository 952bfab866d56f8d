//! What shows that an option had an effect.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, SystemTime};

use crate::user::{User, complaint};
use serde_json::Value;

/// What shows that an option had an effect. The head of the table says what each means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Witness {
    Refused(String),
    Case(String, String),
    Varies(String),
    Samples(String, String),
    Count(String),
    Subject(String, String),
    Finding(String),
    Lacks(String),
    Prints(String),
    Omits(String, String),
    Scripted,
    Differs(String),
    Makes(String),
    Leaves(String),
    Ends(i32),
    Takes(Duration),
    Silent,
}

/// A file or folder: its bytes and when it was written; `None` where there is none.
pub(super) type Found = Option<(Vec<u8>, SystemTime)>;

/// What a command came to.
pub(super) struct Outcome {
    pub(super) output: Output,
    pub(super) took: Duration,
    /// Whose home it left files in.
    pub(super) user: User,
    /// What was there before of the files of the witnesses.
    pub(super) before: Vec<Found>,
}

impl Witness {
    /// Reads `case depth 4`, `refused REASON`.
    pub(super) fn of(text: &str) -> Witness {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        let pair = || rest.split_once(' ').map(|(name, value)| (name.to_string(), value.to_string())).unwrap();
        match kind {
            "refused" => Witness::Refused(rest.into()),
            "case" => Witness::Case(pair().0, pair().1),
            "varies" => Witness::Varies(rest.into()),
            "samples" => Witness::Samples(pair().0, pair().1),
            "count" => Witness::Count(rest.into()),
            "subject" => Witness::Subject(pair().0, pair().1),
            "finding" => Witness::Finding(rest.into()),
            "lacks" => Witness::Lacks(rest.into()),
            "prints" => Witness::Prints(rest.into()),
            "omits" => Witness::Omits(pair().0, pair().1),
            "scripted" => Witness::Scripted,
            "differs" => Witness::Differs(rest.into()),
            "makes" => Witness::Makes(rest.into()),
            "leaves" => Witness::Leaves(rest.into()),
            "ends" => Witness::Ends(rest.parse().unwrap()),
            "takes" => Witness::Takes(Duration::from_millis(rest.parse().unwrap())),
            "silent" => Witness::Silent,
            _ => panic!("no witness: {text}"),
        }
    }

    /// Whether it needs no other command line to be held against.
    pub(super) fn stands_alone(&self) -> bool {
        matches!(self, Witness::Refused(_) | Witness::Silent)
    }

    /// Whether it looks at a file or folder, which `found` reads before the command and after it.
    pub(super) fn looks_at_files(&self) -> bool {
        matches!(self, Witness::Differs(_) | Witness::Makes(_) | Witness::Leaves(_))
    }

    /// What is in the home under the name that it looks at.
    pub(super) fn found(&self, home: &Path) -> Found {
        let (Witness::Differs(path) | Witness::Makes(path) | Witness::Leaves(path)) = self else { return None };
        let path = home.join(path);
        let written = fs::metadata(&path).ok()?.modified().unwrap();
        Some((fs::read(&path).unwrap_or_default(), written))
    }

    /// What is wrong with the witness number `at`; `None` where the option is refused or shows its effect as it should.
    pub(super) fn judge(&self, at: usize, plain: Option<&Outcome>, tried: &Outcome) -> Option<String> {
        let said = complaint(&tried.output);
        let ended = format!("it ended with {:?}: {said:.2000}", tried.output.status.code());
        let expected = if matches!(self, Witness::Refused(_)) { 2 } else { 0 };
        match self {
            _ if tried.output.status.code() != Some(expected) => Some(ended),
            Witness::Refused(reason) => (!said.contains(reason.as_str())).then_some(ended),
            Witness::Silent => (!said.is_empty()).then_some(ended),
            Witness::Scripted | Witness::Count(_) | Witness::Varies(_) | Witness::Differs(_) => {
                let [with, without] = [Some(tried), plain].map(|outcome| outcome.map(|one| self.seen(one)));
                (with == without).then(|| {
                    format!(
                        "no effect: {:.300?} with it and without",
                        String::from_utf8_lossy(&with.unwrap_or_default())
                    )
                })
            }
            _ if !self.shows(at, tried) => Some(format!("no effect: not {self:?}")),
            _ => plain.filter(|plain| self.shows(at, plain)).map(|_| format!("no effect: {self:?} without it too")),
        }
    }

    /// What must differ.
    fn seen(&self, outcome: &Outcome) -> Vec<u8> {
        match self {
            Witness::Varies(name) => {
                let values = cases(outcome).into_iter().map(|case| case["parameters"][name].to_string());
                values.collect::<BTreeSet<_>>().into_iter().collect::<String>().into_bytes()
            }
            Witness::Count(name) => of_metrics(outcome, name, "median").concat().into_bytes(),
            Witness::Differs(_) => self.found(outcome.user.home.path()).map(|(bytes, _)| bytes).unwrap_or_default(),
            _ => outcome.output.stdout.clone(),
        }
    }

    /// Whether it is there.
    fn shows(&self, at: usize, outcome: &Outcome) -> bool {
        let (before, after) = (outcome.before.get(at).cloned().flatten(), self.found(outcome.user.home.path()));
        match self {
            Witness::Case(name, value) => {
                let values = cases(outcome).into_iter().map(|case| plain_text(&case["parameters"][name]));
                values.into_iter().any(|found| found == *value)
            }
            Witness::Samples(name, count) => of_metrics(outcome, name, "n").contains(count),
            Witness::Subject(name, value) => plain_text(&document(outcome)["subject"][name]) == *value,
            Witness::Finding(id) => has_finding(outcome, id),
            Witness::Lacks(id) => !has_finding(outcome, id),
            Witness::Prints(text) => String::from_utf8_lossy(&outcome.output.stdout).contains(text.as_str()),
            Witness::Omits(path, text) => !said_in(outcome, path).contains(text.as_str()),
            Witness::Makes(_) => after.is_some() && before != after,
            Witness::Leaves(_) => after.is_none(),
            Witness::Ends(code) => outcome.output.status.code() == Some(*code),
            Witness::Takes(time) => outcome.took >= *time,
            _ => false,
        }
    }
}

/// What was printed, `-`, or written to this file of the home.
fn said_in(outcome: &Outcome, path: &str) -> String {
    match path {
        "-" => String::from_utf8_lossy(&outcome.output.stdout).into_owned(),
        _ => fs::read_to_string(outcome.user.home.path().join(path)).unwrap_or_default(),
    }
}

fn document(outcome: &Outcome) -> Value {
    let text = &outcome.output.stdout;
    serde_json::from_slice(text).unwrap_or_else(|_| panic!("no document: {}", String::from_utf8_lossy(text)))
}

fn cases(outcome: &Outcome) -> Vec<Value> {
    document(outcome)["cases"].as_array().unwrap().clone()
}

fn has_finding(outcome: &Outcome, id: &str) -> bool {
    document(outcome)["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == id)
}

/// A field of a metric, of all cases that have it.
fn of_metrics(outcome: &Outcome, name: &str, field: &str) -> Vec<String> {
    let of_case = |case: Value| -> Vec<String> {
        let metrics = case["metrics"].as_array().unwrap().iter().filter(|metric| metric["name"] == name);
        metrics.map(|metric| metric[field].to_string()).collect()
    };
    cases(outcome).into_iter().flat_map(of_case).collect()
}

/// A value without quotation marks.
fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}
