//! The columns: one row each, with its meaning and where its value comes from.

use std::borrow::Cow;
use std::str::FromStr;

use jiff::Timestamp;
use measure::case::plain;
use measure::{Metric, Statistics};
use serde_json::Value;

use super::line::Line;
use crate::table::{Column, Nullable, columns, without_nul};

/// A column of the rows of runs.
pub struct RunColumn {
    /// Its name.
    pub name: &'static str,
    /// What it means, in the words of the documentation; a parameter's meaning is in the schema.
    pub meaning: &'static str,
    content: Content,
}

/// Where a value comes from, by its type.
enum Content {
    Text(for<'a> fn(&'a Line<'_>) -> Option<Cow<'a, str>>),
    Integer(fn(&Line<'_>) -> Option<i64>),
    Real(fn(&Line<'_>) -> Option<f64>),
    Moment(for<'a> fn(&'a Line<'_>) -> Option<&'a str>),
    /// The parameter of the column's name.
    Parameter(Kind),
}

/// Types of parameters. One of another type in some run is null here, and in `parameters` as it is.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Integer,
    Real,
    Flag,
}

const fn text(
    name: &'static str,
    meaning: &'static str,
    value: for<'a> fn(&'a Line<'_>) -> Option<Cow<'a, str>>,
) -> RunColumn {
    RunColumn { name, meaning, content: Content::Text(value) }
}

const fn integer(name: &'static str, meaning: &'static str, value: fn(&Line<'_>) -> Option<i64>) -> RunColumn {
    RunColumn { name, meaning, content: Content::Integer(value) }
}

const fn real(name: &'static str, meaning: &'static str, value: fn(&Line<'_>) -> Option<f64>) -> RunColumn {
    RunColumn { name, meaning, content: Content::Real(value) }
}

const fn moment(
    name: &'static str,
    meaning: &'static str,
    value: for<'a> fn(&'a Line<'_>) -> Option<&'a str>,
) -> RunColumn {
    RunColumn { name, meaning, content: Content::Moment(value) }
}

const fn parameter(name: &'static str, kind: Kind) -> RunColumn {
    RunColumn { name, meaning: "", content: Content::Parameter(kind) }
}

/// All columns, in their order.
pub const COLUMNS: &[RunColumn] = &[
    text("run", "identifier of the run", |line| some(&line.run.id)),
    text("name", "the run in words, for a legend: its job or experiment, and its start", |line| some(&line.words.name)),
    text("job", "name of the job in a job file that asked for the run; null where a command line did", |line| {
        some(&line.run.job.as_ref()?.name)
    }),
    text("experiment", "its experiment, as in the run document", |line| some(&line.run.experiment)),
    moment("started", "its start, UTC", |line| Some(&line.run.started)),
    moment("finished", "its end, UTC; null where it was interrupted or goes on", |line| line.run.finished.as_deref()),
    text("command", "the command line, with a blank between words", |line| Some(line.run.command.join(" ").into())),
    text("readpath", "version of the build; null in runs of early builds, as the next two", |line| {
        some(&line.run.build.as_ref()?.version)
    }),
    text("commit", "commit that it was built from, with `-dirty` where files differed; null without a clone", |line| {
        some(line.run.build.as_ref()?.commit.as_ref()?)
    }),
    text("build", "`release` or `debug`", |line| some(&line.run.build.as_ref()?.profile)),
    text("cpu", "model name of the processor", |line| some(line.run.host.cpu.as_ref()?)),
    integer("cores", "processors that the run could use", |line| whole(line.run.host.cores?)),
    real("core_ghz", "measured frequency of the core at the start, in GHz", |line| line.run.host.core_ghz),
    integer("memory", "physical memory, in bytes", |line| whole(line.run.host.memory?)),
    text("kernel", "release of the kernel", |line| some(line.run.host.kernel.as_ref()?)),
    text("hypervisor", "hypervisor, where the processor names one", |line| some(line.run.host.hypervisor.as_ref()?)),
    text("subject", "on what the case was measured: its own subject where the run has several", |line| {
        let own = line.parameter("subject").map(|subject| Cow::Owned(plain(subject)));
        own.or_else(|| some(&line.words.subject))
    }),
    text("kind", "kind of the run's subject, as in the run document", |line| of_subject(line, "kind")),
    text("device", "block device under it, or `model:NAME`, `null:NAME`", device),
    text("filesystem", "file system of the file", |line| of_subject(line, "filesystem")),
    integer(
        "case_number",
        "number of the case in the run, from 0; null for the tool's own cost and what is absent",
        |line| whole(line.case?.number as u64),
    ),
    text("parameters", "all parameters of the case as a JSON object, its names in the order of the alphabet", |line| {
        some(&line.case?.parameters)
    }),
    parameter("depth", Kind::Integer),
    parameter("block_size", Kind::Integer),
    parameter("blocks_per_read", Kind::Integer),
    parameter("pattern", Kind::Text),
    parameter("io_method", Kind::Text),
    parameter("direct", Kind::Flag),
    parameter("workers", Kind::Integer),
    parameter("threads", Kind::Integer),
    parameter("zone", Kind::Text),
    parameter("position", Kind::Real),
    parameter("distance", Kind::Integer),
    parameter("segment", Kind::Text),
    parameter("rung", Kind::Text),
    parameter("pass", Kind::Text),
    parameter("path", Kind::Text),
    parameter("access", Kind::Text),
    parameter("touch", Kind::Text),
    parameter("row_length", Kind::Integer),
    parameter("columns", Kind::Integer),
    parameter("contender", Kind::Text),
    text("metric", "name of the metric, as in the run document; null where it is absent", |line| {
        some(&line.metric()?.name)
    }),
    text("unit", "unit of all its values", |line| Some(line.metric()?.unit.symbol().into())),
    real("value", "what pages show of it: the median, of a rate (`1/s`, `MiB/s`) the mean", |line| {
        Some(line.estimate()?.value)
    }),
    real(
        "low",
        "lower end of the interval of `value`, 95 %, by resampling the case; null with too few samples",
        |line| Some(line.estimate()?.interval?.0),
    ),
    real("high", "upper end", |line| Some(line.estimate()?.interval?.1)),
    integer("n", "number of samples", |line| whole(statistics(line)?.n)),
    real("min", "smallest sample", |line| Some(statistics(line)?.min)),
    real("median", "median", |line| Some(statistics(line)?.median)),
    real("mean", "mean", |line| Some(statistics(line)?.mean)),
    real("stddev", "standard deviation; null for one sample", |line| statistics(line)?.stddev),
    real("p90", "90th percentile; null under 10 samples", |line| statistics(line)?.p90),
    real("p99", "99th percentile; null under 100 samples", |line| statistics(line)?.p99),
    real("p999", "99.9th percentile; null under 1000 samples", |line| statistics(line)?.p999),
    real("max", "largest sample", |line| Some(statistics(line)?.max)),
    text("source", "how the metric was obtained", |line| some(&line.metric()?.source)),
    text(
        "disturbed",
        "ids of findings that say that something else was at work during the case; null where none does",
        |line| Some(line.case?.disturbed.as_str()).filter(|ids| !ids.is_empty()).map(Cow::Borrowed),
    ),
    text("finding", "id of the finding that says why a number is absent", |line| some(&line.absence()?.id)),
    text("absent", "its sentence: why the number is absent", |line| some(&line.absence()?.message)),
];

/// The columns of a Parquet file of them.
pub fn of_file() -> Vec<Column> {
    columns(|row| COLUMNS.iter().for_each(|column| row.nullable(column.name, &column.null())))
}

impl RunColumn {
    /// The null of its type.
    fn null(&self) -> Nullable<'static> {
        match self.content {
            Content::Text(_) | Content::Parameter(Kind::Text) => Nullable::Text(None),
            Content::Integer(_) | Content::Parameter(Kind::Integer) => Nullable::Integer(None),
            Content::Real(_) | Content::Parameter(Kind::Real) => Nullable::Real(None),
            Content::Moment(_) => Nullable::Moment(None),
            Content::Parameter(Kind::Flag) => Nullable::Flag(None),
        }
    }

    /// Its value in a row.
    pub(crate) fn value<'a>(&self, line: &'a Line<'_>) -> Nullable<'a> {
        match self.content {
            Content::Text(text) => Nullable::Text(text(line)),
            Content::Integer(integer) => Nullable::Integer(integer(line)),
            Content::Real(real) => Nullable::Real(real(line)),
            Content::Moment(moment) => Nullable::Moment(moment(line).and_then(microseconds)),
            Content::Parameter(kind) => {
                let value = line.parameter(self.name);
                match kind {
                    Kind::Text => {
                        Nullable::Text(value.filter(|value| !value.is_null()).map(|value| plain(value).into()))
                    }
                    Kind::Integer => Nullable::Integer(value.and_then(exactly)),
                    Kind::Real => Nullable::Real(value.and_then(Value::as_f64)),
                    Kind::Flag => Nullable::Flag(value.and_then(Value::as_bool)),
                }
            }
        }
    }
}

/// A value in a line of CSV; null is empty.
pub(super) fn in_csv(value: &Nullable<'_>) -> String {
    match value {
        Nullable::Integer(value) => value.map_or(String::new(), |value| value.to_string()),
        // What is added leaves a zero without a sign.
        Nullable::Real(value) => value.map_or(String::new(), |value| (value + 0.0).to_string()),
        Nullable::Text(value) => without_nul(value.as_deref().unwrap_or_default()).into(),
        Nullable::Flag(value) => value.map_or(String::new(), |value| value.to_string()),
        Nullable::Moment(value) => {
            let moment = value.and_then(|micros| Timestamp::from_microsecond(micros).ok());
            moment.map_or(String::new(), |moment| format!("{moment:.6}").trim_end_matches('Z').replace('T', " "))
        }
    }
}

fn some(text: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(text))
}

fn whole(count: u64) -> Option<i64> {
    i64::try_from(count).ok()
}

/// A whole number; one with decimals is none.
fn exactly(value: &Value) -> Option<i64> {
    value
        .as_i64()
        .or_else(|| value.as_f64().filter(|value| value.fract() == 0.0 && value.abs() < 9e15).map(|value| value as i64))
}

fn microseconds(moment: &str) -> Option<i64> {
    Timestamp::from_str(moment).ok().map(Timestamp::as_microsecond)
}

fn statistics<'a>(line: &Line<'a>) -> Option<&'a Statistics> {
    line.metric().map(|metric: &Metric| &metric.statistics)
}

fn of_subject<'a>(line: &'a Line<'_>, key: &str) -> Option<Cow<'a, str>> {
    line.run.subject.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(Cow::Borrowed)
}

fn device<'a>(line: &'a Line<'_>) -> Option<Cow<'a, str>> {
    let kind = of_subject(line, "kind").filter(|kind| ["model", "null"].contains(&&**kind));
    let without_storage = kind.zip(of_subject(line, "name")).map(|(kind, name)| format!("{kind}:{name}").into());
    of_subject(line, "device").or(without_storage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_has_no_sign_in_csv() {
        assert_eq!([-0.0, 0.0, -0.5].map(|value| in_csv(&Nullable::Real(Some(value)))), ["0", "0", "-0.5"]);
    }
}
