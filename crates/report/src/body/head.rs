//! The head line: what was measured, on which machine, on what, and what the tool itself costs.

use measure::quantity::{counted, grouped};
use measure::{Parameters, Run};
use serde_json::Value;

use measure::schema::{counters, disk, join, ladder, lio, own_cost, roundtrip};

use crate::page::Section;
use crate::page::number::{bytes, three_digits, time};
use crate::page::parameters::{constant, described};

/// Words of a processor's model that say nothing.
const MODEL_NOISE: [&str; 6] = ["(R)", "(TM)", "(tm)", " CPU", " Processor", " processor"];

/// The path of a file that a run made for itself.
const OWN_FILE: &str = "test file made by this run";

/// Parameters that differ from run to run by themselves, or that stand in the name of the place.
pub(crate) const UNSAID: [&str; 6] = [
    disk::parameters::SEED.name,
    PATH,
    ON,
    SUBJECT,
    disk::parameters::REAP_BATCH.name,
    roundtrip::parameters::TIER.name,
];

/// Parameters that no chart needs to be understood.
const LENGTHS: [&str; 3] =
    [disk::parameters::OFFSET.name, disk::parameters::COUNT.name, disk::parameters::DURATION.name];

// Parameters that the head or the place says.
const COMMAND: &str = counters::parameters::COMMAND.name;
const IO: &str = join::parameters::IO.name;
const IO_METHOD: &str = disk::parameters::IO_METHOD.name;
const ON: &str = join::parameters::ON.name;
const PATH: &str = disk::parameters::PATH.name;
const RUNG: &str = ladder::parameters::RUNG.name;
const SUBJECT: &str = lio::parameters::SUBJECT.name;

/// Parameters that a chart names.
const ASKED_MAX: usize = 8;

/// The head of a run's page.
pub(super) fn head(run: &Run) -> Section {
    let facts = [machine(run), subject(&run.subject), shared_buffers(run), own_cost(run), build(run), job(run)];
    Section::Head {
        title: format!("readpath {}", run.experiment),
        facts: facts.into_iter().flatten().collect(),
        settings: constants(run).into_iter().collect(),
    }
}

/// On what a run was made.
pub fn place(run: &Run) -> String {
    let files = run.subject.get("files").and_then(Value::as_array).filter(|files| !files.is_empty());
    let files = files.map(|files| {
        let first = files[0].get("name").unwrap_or(&files[0]).as_str().unwrap_or_default();
        let first = first.rsplit('/').next().unwrap_or(first);
        match files.len() as u64 - 1 {
            0 => first.to_string(),
            more => format!("{first} and {} more", grouped(more)),
        }
    });
    let command = || run.subject.get("command").and_then(Value::as_str).map(String::from);
    files
        .or_else(|| subject(&run.subject))
        .or_else(command)
        .or_else(|| machine(run))
        .unwrap_or_else(|| "this machine".into())
}

/// What a chart is of: the machine, what was measured on, and the parameters that all cases share, or in their place
/// what the chart says of its own reads.
pub(super) fn asked(run: &Run, own: &str) -> String {
    let place = place(run);
    let is_said = |name: &str, value: &Value| match name {
        COMMAND => value.as_str().is_none_or(|command| place != command),
        ON => !value.as_str().is_some_and(|on| place.contains(&on.replacen(':', " ", 1))),
        IO_METHOD | IO if place.starts_with("model ") => false,
        _ => !UNSAID.contains(&name) && !LENGTHS.contains(&name) && name != RUNG,
    };
    let shared = constant(&run.cases).filter(|(name, value)| is_said(name, value)).take(ASKED_MAX);
    let shared: Vec<String> = shared.map(|(name, value)| described(name, value)).collect();
    let mut parts: Vec<String> = machine(run).into_iter().collect();
    let is_command = run.subject.get("command").and_then(Value::as_str) == Some(&place);
    parts.extend(Some(place).filter(|place| !parts.contains(place) && place != ".").map(|place| {
        match place.strip_prefix("model ") {
            Some(model) => format!("modelled disk {model}"),
            None if is_command => format!("command: {place}"),
            None => place,
        }
    }));
    let shared = if own.is_empty() { shared.join(", ") } else { own.into() };
    parts.extend(Some(shared).filter(|shared| !shared.is_empty()));
    parts.join(" · ")
}

pub(crate) fn machine(run: &Run) -> Option<String> {
    let speed = run.host.core_ghz.map_or(String::new(), |ghz| format!(" at {} GHz", three_digits(ghz)));
    Some(format!("{}{speed}", processor(run)?))
}

/// The machine without the speed that was measured, which differs a little in every run.
pub(crate) fn processor(run: &Run) -> Option<String> {
    let model = run.host.cpu.as_deref().map_or("unknown processor".into(), short_model);
    // Earlier versions wrote 0 for a run that measured nothing on this machine.
    let cores = run.host.cores.filter(|cores| *cores > 0)?;
    Some(format!("{model}, {}", counted(cores, "core", "cores")))
}

/// A processor's model without trade marks and without the nominal frequency, which the measured one replaces.
fn short_model(model: &str) -> String {
    let nominal = model.split(" @ ").next().unwrap_or(model);
    MODEL_NOISE.iter().fold(nominal.to_string(), |text, noise| text.replace(noise, "")).trim().to_string()
}

/// `ext4 on vda`, with the path where the subject has one; the model or the database.
pub(crate) fn subject(subject: &Parameters) -> Option<String> {
    let text = |key: &str| said(subject, key);
    if let Some(name) = without_storage(subject) {
        return Some(name);
    }
    let beneath = subject
        .get("beneath")
        .and_then(Value::as_array)
        .map(|names| format!(" over {}", names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")));
    let device = text("device").map(|device| format!("{device}{}", beneath.unwrap_or_default()));
    let place = match (text("filesystem"), device) {
        (Some(filesystem), Some(device)) => Some(format!("{filesystem} on {device}")),
        (filesystem, device) => device.or(filesystem.map(String::from)),
    };
    if let Some((kind, version)) = database(subject) {
        let place = text("server").or(text("path")).map_or(String::new(), |place| format!(" at {place}"));
        return Some(format!("{kind} {version}{place}"));
    }
    match (path(subject), place) {
        (Some(path), Some(place)) => Some(format!("{path} ({place})")),
        (path, place) => {
            // The engine, where its tables lie in no file.
            let engine = || text("kind").filter(|kind| *kind == "engine").map(String::from);
            path.map(String::from).or(place).or_else(engine)
        }
    }
}

/// What a subject says of itself under a key.
fn said<'a>(subject: &'a Parameters, key: &str) -> Option<&'a str> {
    subject.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The name of a device of no storage: a model or the null device.
pub(crate) fn without_storage(subject: &Parameters) -> Option<String> {
    match (said(subject, "kind")?, said(subject, "name").or(said(subject, "model"))?) {
        ("model", name) => Some(format!("model {name}")),
        ("null", name) => Some(name.into()),
        _ => None,
    }
}

/// The path that was measured. The ladder makes its own file, whose name says nothing: the folder does.
pub(crate) fn path(subject: &Parameters) -> Option<&str> {
    said(subject, "folder").or(said(subject, "path").filter(|path| *path != OWN_FILE))
}

/// The kind and the version of a database; `None` for what has no version of its own, as the engine.
pub(crate) fn database(subject: &Parameters) -> Option<(&str, &str)> {
    let text = |key: &str| subject.get(key).and_then(Value::as_str);
    text("kind").zip(text("version"))
}

/// The memory in which a server keeps its blocks.
fn shared_buffers(run: &Run) -> Option<String> {
    Some(format!("shared buffers {}", bytes(run.subject.get("shared_buffers")?.as_f64()?)))
}

/// The parameters that all cases share, where the experiment has more than a table shows.
fn constants(run: &Run) -> Option<String> {
    // A server that all cases name stands in the line above.
    let is_named = |name: &str| name == SUBJECT && run.experiment == "calibrate" && subject(&run.subject).is_some();
    let shown = constant(&run.cases).filter(|(name, _)| *name != PATH && *name != RUNG && !is_named(name));
    let parts: Vec<String> = shown.map(|(name, value)| described(name, value)).collect();
    (!parts.is_empty() && run.experiment != "ladder").then(|| parts.join(", "))
}

/// What was compared with its peers, which the next build may be ahead of.
fn build(run: &Run) -> Option<String> {
    let build = run.build.as_ref().filter(|_| run.experiment.starts_with("contest-"))?;
    Some(format!("readpath {build}"))
}

/// The job that asked for the run.
fn job(run: &Run) -> Option<String> {
    run.job.as_ref().map(|job| format!("job {}", job.name))
}

/// The tool's own cost: one read of a device that does nothing.
fn own_cost(run: &Run) -> Option<String> {
    let metric = run.own_cost.iter().find(|metric| metric.name == own_cost::NULL_DEVICE_READ.name)?;
    Some(format!("tool's own cost {}", time(metric.nanos()?)))
}
