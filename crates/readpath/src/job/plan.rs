//! The runs that a job file asks for: jobs with their defaults, what `--set` puts in their place, and one run for each
//! combination of a matrix.

use std::collections::BTreeSet;

use measure::Parameters;
use measure::sorting;
use subjects::places::without_password;

use super::experiment::{Experiment, LISTED, Parameter};
use super::problem::{Place, Problem};
use super::set::Set;
use super::sheet::{self, EXPERIMENT, Entry, Job, Sheet};
use super::spelling::{meant, on_one_line, shortened, shortened_within};
use super::value::Value;
use super::words;

/// Most runs of a file: more are a slip in a matrix.
const RUNS_MAX: usize = 1000;

/// Problems up to which the name is looked for that was meant: more are no slips of a hand, and a search takes time.
const MEANT_MAX: usize = 100;

/// Options of `readpath run` that are no parameters of a job.
const OF_THE_COMMAND: [&str; 5] = ["format", "store", "no-store", "quiet", "dry-run"];

/// A run to be made.
#[derive(Clone, Debug)]
pub(crate) struct PlannedRun {
    /// The job, and after `/` what the matrix gives this run.
    pub(crate) name: String,
    pub(crate) experiment: &'static str,
    pub(super) place: Place,
    /// The parameters in the order of the experiment's help.
    pub(super) settings: Vec<(Parameter, Entry)>,
    /// Names of the parameters that stand on the command line without an option's name.
    pub(super) positional: Vec<String>,
    /// Whether nothing is wrong with its tables and keys: one that was refused may be one that it needs.
    pub(crate) is_whole: bool,
}

/// What a job file asks for, and what is wrong with it.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The names of all jobs.
    pub(crate) jobs: Vec<String>,
    /// The runs in the order of the file, without the keys that are refused: their values can still be checked.
    pub(crate) runs: Vec<PlannedRun>,
    pub(crate) problems: Vec<Problem>,
}

/// The runs of the jobs of a file that `names` names, of all where it names none, and all that is wrong with tables,
/// keys and experiments, other jobs apart.
pub(crate) fn plan(text: &str, sets: &[String], names: &[String], known: &[Experiment]) -> Plan {
    let mut problems = Vec::new();
    let sheet = sheet::parse(text, names, &mut problems);
    let sets = sets.iter().filter_map(|word| Set::of(word).map_err(|problem| problems.push(problem)).ok()).collect();
    let (used, in_use) = (BTreeSet::new(), Vec::new());
    let mut planner = Planner { known, sheet: &sheet, sets, names, used, in_use, knows_all: true, problems };
    let runs = planner.runs();
    planner.refuse_unknown_jobs();
    planner.refuse_unused();
    let jobs = sheet.jobs.iter().map(|job| job.name.clone()).collect();
    Plan { jobs, runs, problems: planner.problems }
}

struct Planner<'a> {
    known: &'a [Experiment],
    sheet: &'a Sheet,
    sets: Vec<Set>,
    /// The jobs that are chosen; all where there are none.
    names: &'a [String],
    /// Defaults and `--set` that some job has: their keys and places.
    used: BTreeSet<String>,
    /// The jobs whose experiment is known, each with it.
    in_use: Vec<(&'a str, &'a Experiment)>,
    /// Whether there are jobs, and the experiment of each is known.
    knows_all: bool,
    problems: Vec<Problem>,
}

impl<'a> Planner<'a> {
    fn runs(&mut self) -> Vec<PlannedRun> {
        let sheet: &'a Sheet = self.sheet;
        let jobs = &sheet.jobs;
        self.knows_all = !jobs.is_empty();
        if jobs.is_empty() && self.problems.is_empty() {
            let known = LISTED.join(", ");
            self.refuse(
                &Place::File,
                format!("this holds no job: write [NAME] and experiment = \"…\", one of {known}"),
            );
        }
        if jobs.len() > RUNS_MAX {
            self.refuse(&Place::File, format!("these are {} jobs: a file has at most {RUNS_MAX}", jobs.len()));
            return Vec::new();
        }
        let mut runs = Vec::new();
        let is_read = self.problems.is_empty();
        for job in jobs {
            let before = self.problems.len();
            let of_job = self.runs_of(job, runs.len(), is_read);
            match sheet::is_chosen(&job.name, self.names) {
                true => runs.extend(of_job),
                // Its keys were looked up nevertheless: a default may be for this job alone.
                false => self.problems.truncate(before),
            }
        }
        runs
    }

    /// The runs of a job, with `before` runs of others before them; none where a file may not have that many.
    fn runs_of(&mut self, job: &'a Job, before: usize, is_read: bool) -> Vec<PlannedRun> {
        let known = self.problems.len();
        let Some(experiment) = self.experiment(job) else {
            self.knows_all = false;
            return Vec::new();
        };
        self.in_use.push((&job.name, experiment));
        let axes = self.axes(job, experiment);
        let fixed = self.fixed(job, experiment, &axes);
        let is_whole = is_read && self.problems.len() == known;
        let of = |number| PlannedRun { is_whole, ..run(job, experiment, &fixed, &axes, number) };
        let count = axes.iter().try_fold(1_usize, |count, (_, values)| count.checked_mul(values.len()));
        match count.filter(|count| *count <= RUNS_MAX - before) {
            Some(count) => (0..count).map(of).collect(),
            None => {
                self.refuse(&job.place, too_many(before, count));
                Vec::new()
            }
        }
    }

    /// The experiment of a job: its own, the one that the job is named after, or that of the defaults.
    fn experiment(&mut self, job: &'a Job) -> Option<&'a Experiment> {
        if let Some(axis) = job.matrix.iter().find(|axis| axis.key == EXPERIMENT) {
            self.refuse(&axis.place, "a matrix varies the parameters of one experiment: write a job for each other");
            // What the job itself names may be missing for that reason.
            return None;
        }
        let is_named = self.known.iter().any(|experiment| experiment.name == job.name);
        let of = |entries: &'a [Entry]| entries.iter().find(|entry| entry.key == EXPERIMENT);
        let given = of(&job.entries).or_else(|| of(&self.sheet.defaults).filter(|_| !is_named));
        let name = given.map_or(job.name.clone(), |entry| entry.value.plain());
        let known = self.known.iter().find(|experiment| experiment.name == name);
        if known.is_none() {
            let (place, sentence) = match given {
                Some(entry) => (&entry.place, format!("there is no experiment '{}'", shortened(&name))),
                None => (&job.place, format!("[{}] names no experiment", shortened(&name))),
            };
            self.refuse(place, format!("{sentence}{}: there are {}", meant(&name, LISTED), LISTED.join(", ")));
        }
        known
    }

    /// What a matrix varies, with what `--set` puts in the place of its lists.
    fn axes(&mut self, job: &'a Job, experiment: &Experiment) -> Vec<(Parameter, Vec<Entry>)> {
        let mut axes = Vec::new();
        for axis in &job.matrix {
            let Some(parameter) = self.known_parameter(experiment, axis) else { continue };
            let set = self.set_for(job, &axis.key);
            let (value, place) =
                set.map_or_else(|| (axis.value.clone(), axis.place.clone()), |set| (set.value, set.place));
            let values = match value {
                Value::List(values) => values,
                one => vec![one],
            };
            if values.is_empty() {
                self.refuse(&place, format!("'{}' varies over an empty list", axis.key));
                // A job without any run would have no values to check.
                continue;
            }
            let (mut known, mut shown) = (BTreeSet::new(), values.iter().map(|value| value.shown().toml()));
            if let Some(again) = shown.find(|value| !known.insert(value.clone())) {
                let again = shortened(&again);
                self.refuse(&place, format!("'{}' has {again} more than once: its runs would have one name", axis.key));
            }
            let entry = |value| Entry { key: axis.key.clone(), place: place.clone(), value };
            axes.push((parameter, values.into_iter().map(entry).collect()));
        }
        axes
    }

    /// What all runs of a job have, besides what its matrix varies.
    fn fixed(
        &mut self,
        job: &Job,
        experiment: &Experiment,
        axes: &[(Parameter, Vec<Entry>)],
    ) -> Vec<(Parameter, Entry)> {
        let is_varied = |key: &str| axes.iter().any(|(parameter, _)| parameter.name == key);
        let mut fixed: Vec<(Parameter, Entry)> = Vec::new();
        for entry in job.entries.iter().filter(|entry| entry.key != EXPERIMENT) {
            fixed.extend(self.known_parameter(experiment, entry).map(|parameter| (parameter, entry.clone())));
        }
        for entry in &self.sheet.defaults {
            let Some(parameter) = experiment.parameter(&entry.key) else { continue };
            self.used.insert(entry.key.clone());
            if !is_varied(&entry.key) && fixed.iter().all(|(_, own)| own.key != entry.key) {
                fixed.push((parameter.clone(), entry.clone()));
            }
        }
        for parameter in &experiment.parameters {
            let Some(set) = self.set_for(job, &parameter.name) else { continue };
            if !is_varied(&parameter.name) {
                fixed.retain(|(_, entry)| entry.key != parameter.name);
                let entry = Entry { key: set.key, place: set.place, value: set.value };
                fixed.push((parameter.clone(), entry));
            }
        }
        fixed
    }

    /// The last `--set` of a parameter of this job.
    fn set_for(&mut self, job: &Job, key: &str) -> Option<Set> {
        let found: Vec<Set> = self.sets.iter().filter(|set| set.key == key && set.is_of(&job.name)).cloned().collect();
        self.used.extend(found.iter().map(|set| format!("{:?}", set.place)));
        // What is said of this job counts more than what is said of all.
        found.iter().rev().find(|set| set.job.is_some()).or(found.last()).cloned()
    }

    fn known_parameter(&mut self, experiment: &Experiment, entry: &Entry) -> Option<Parameter> {
        let found = experiment.parameter(&entry.key).cloned();
        if found.is_none() {
            let (name, key) = (experiment.name, entry.key.as_str());
            let sentence = match OF_THE_COMMAND.contains(&key) {
                true => format!("'{key}' is not a parameter of a job: give --{key} to `readpath run`"),
                false => {
                    let meant =
                        if self.problems.len() < MEANT_MAX { meant(key, experiment.names()) } else { String::new() };
                    format!(
                        "{name} has no parameter '{}'{meant}: `readpath init {name}` lists them all",
                        shortened(key)
                    )
                }
            };
            self.refuse(&entry.place, sentence);
        }
        found
    }

    /// Refuses each `--set` of a job that the file does not have.
    fn refuse_unknown_jobs(&mut self) {
        let sheet: &'a Sheet = self.sheet;
        let jobs: Vec<&str> = sheet.jobs.iter().map(|job| job.name.as_str()).collect();
        if jobs.is_empty() || jobs.len() > RUNS_MAX {
            return;
        }
        let is_unknown = |set: &Set| set.job.as_ref().is_some_and(|job| !jobs.contains(&job.as_str()));
        let (unknown, known) = std::mem::take(&mut self.sets).into_iter().partition(is_unknown);
        self.sets = known;
        for set in unknown {
            let job = set.job.unwrap_or_default();
            let meant = meant(&job, jobs.iter().copied());
            let all = shortened(&jobs.join(", "));
            self.refuse(&set.place, format!("this file has no job '{}'{meant}: it has {all}", shortened(&job)));
        }
    }

    /// Refuses defaults and `--set` that no job has a use for. Where the experiment of a job is not known, that job may
    /// have a use for what some experiment knows.
    fn refuse_unused(&mut self) {
        if self.sheet.jobs.is_empty() {
            return;
        }
        let all = sorting::set(self.known.iter().flat_map(Experiment::names));
        let is_open = |key: &str| !self.knows_all && all.contains(key);
        let unused =
            |entry: &&Entry| entry.key != EXPERIMENT && !self.used.contains(&entry.key) && !is_open(&entry.key);
        let defaults = self.sheet.defaults.iter().filter(unused).map(|entry| (None, &entry.key, &entry.place));
        let is_unset = |set: &&Set| !self.used.contains(&format!("{:?}", set.place)) && !is_open(&set.key);
        let unset = self.sets.iter().filter(is_unset).map(|set| (set.job.as_deref(), &set.key, &set.place));
        let found = defaults.chain(unset).enumerate().map(|(at, (job, key, place))| {
            let is_of = |(name, _): &&(&str, &Experiment)| job.is_none_or(|job| job == *name);
            let names = self.in_use.iter().filter(is_of).flat_map(|(_, experiment)| experiment.names());
            let is_known = all.contains(key.as_str()) || at >= MEANT_MAX;
            let names = if self.knows_all { sorting::set(names) } else { all.clone() };
            let meant = if is_known { String::new() } else { meant(key, names) };
            let whose = job.map_or("no job of this file has a".into(), |job| format!("job '{job}' has no"));
            Problem::new(place, format!("{whose} parameter '{}'{meant}", shortened(key)))
        });
        let found: Vec<Problem> = found.collect();
        self.problems.extend(found);
    }

    fn refuse(&mut self, place: &Place, sentence: impl Into<String>) {
        self.problems.push(Problem::new(place, sentence));
    }
}

/// Why a job cannot be added to the runs `before` it; its own are more than can be counted where `count` is `None`.
fn too_many(before: usize, count: Option<usize>) -> String {
    let count = match count {
        Some(count) if count <= RUNS_MAX => {
            let all = before + count;
            return format!("with this job the file makes {all} runs: a file has at most {RUNS_MAX}");
        }
        Some(count) => count.to_string(),
        None => "too many".into(),
    };
    format!("the matrix makes {count} runs: a file has at most {RUNS_MAX}")
}

/// The run number `number` of a job: the last axis varies first.
fn run(
    job: &Job,
    experiment: &Experiment,
    fixed: &[(Parameter, Entry)],
    axes: &[(Parameter, Vec<Entry>)],
    number: usize,
) -> PlannedRun {
    let mut left = number;
    let mut chosen: Vec<(Parameter, Entry)> = axes
        .iter()
        .rev()
        .map(|(parameter, values)| {
            let entry = values[left % values.len()].clone();
            left /= values.len();
            (parameter.clone(), entry)
        })
        .collect();
    chosen.reverse();
    // A control character of a value ends no line that names the run, and hides none of a terminal.
    let word = |value: &Value| on_one_line(&shortened_within(&value.shown().plain()));
    let varied: Vec<String> = chosen.iter().map(|(_, entry)| format!("{}={}", entry.key, word(&entry.value))).collect();
    let name = if varied.is_empty() { job.name.clone() } else { format!("{}/{}", job.name, varied.join(",")) };
    let mut settings = [fixed, &chosen].concat();
    sorting::by_key(&mut settings, |(parameter, _)| {
        experiment.parameters.iter().position(|known| known.name == parameter.name)
    });
    let positional = experiment.parameters.iter().filter(|parameter| parameter.arg.is_positional());
    PlannedRun {
        name,
        experiment: experiment.name,
        place: job.place.clone(),
        settings,
        positional: positional.map(|parameter| parameter.name.clone()).collect(),
        is_whole: true,
    }
}

impl PlannedRun {
    /// The command line without the program's name and without the options that all commands share.
    pub(crate) fn words(&self) -> Result<Vec<String>, Problem> {
        let (mut options, mut values, mut is_behind) = (vec![self.experiment.to_string()], Vec::new(), false);
        for (parameter, entry) in &self.settings {
            let refused = |sentence: String| Problem::new(&entry.place, sentence);
            if parameter.arg.is_positional() {
                let more = words::values(parameter, &entry.value).map_err(refused)?;
                is_behind |= parameter.arg.is_last_set() || more.iter().any(|word| word.starts_with('-'));
                values.extend(more);
            } else {
                options.extend(words::of_option(parameter, &entry.value).map_err(refused)?);
            }
        }
        // A path is read best behind its command, where no option that takes several values can swallow it.
        if is_behind {
            return Ok(options.into_iter().chain(["--".to_string()]).chain(values).collect());
        }
        options.splice(1..1, values);
        Ok(options)
    }

    /// The run with each of its parameters alone, for a check of its value, and where that stands.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&Place, PlannedRun)> {
        let alone = |setting: &(Parameter, Entry)| PlannedRun { settings: vec![setting.clone()], ..self.clone() };
        self.settings.iter().map(move |setting| (&setting.1.place, alone(setting)))
    }

    /// The run without the parameters that stand at these places.
    pub(crate) fn without(&self, places: &[&Place]) -> PlannedRun {
        let mut run = self.clone();
        run.settings.retain(|(_, entry)| !places.contains(&&entry.place));
        run.is_whole &= places.is_empty();
        run
    }

    /// What it sets, for a run document.
    pub(crate) fn parameters(&self) -> Parameters {
        let of = |(parameter, entry): &(Parameter, Entry)| (parameter.name.clone(), entry.value.shown().json());
        self.settings.iter().map(of).collect()
    }

    /// A sentence about the run, in which a value may stand as it was given: without its password.
    pub(crate) fn without_passwords(&self, sentence: &str) -> String {
        let values = self.settings.iter().flat_map(|(parameter, entry)| words::values(parameter, &entry.value));
        values.flatten().fold(sentence.into(), |sentence, value| match without_password(&value) {
            shown if shown == value => sentence,
            shown => sentence.replace(&value, &shown),
        })
    }

    /// The values of a parameter, with where they stand.
    pub(crate) fn given(&self, name: &str) -> Option<(Vec<String>, &Place)> {
        let (parameter, entry) = self.settings.iter().find(|(parameter, _)| parameter.name == name)?;
        Some((words::values(parameter, &entry.value).ok()?, &entry.place))
    }

    /// Where the first parameter stands whose option a sentence names, or else the job.
    pub(crate) fn place_of(&self, sentence: &str) -> &Place {
        let named = self.settings.iter().filter_map(|(parameter, entry)| {
            let option = format!("--{}", parameter.name);
            let at = sentence.match_indices(&option).map(|(at, _)| at);
            let is_whole = |at: &usize| {
                !sentence[at + option.len()..].starts_with(|next: char| next == '-' || next.is_ascii_alphanumeric())
            };
            Some((at.into_iter().find(is_whole)?, &entry.place))
        });
        named.min_by_key(|(at, _)| *at).map_or(&self.place, |(_, place)| place)
    }
}
