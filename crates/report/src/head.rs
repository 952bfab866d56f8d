//! The head line: what was measured, on which machine, on what, and what the tool itself costs.

use measure::Run;
use measure::quantity::counted;
use serde_json::Value;

use crate::number::{bytes, nanos_of, three_digits, time};
use crate::parameters::{constant, described};
use crate::style::Style;
use crate::text::{shorten, width, wrap};

/// Name of the metric of the tool's own cost that a head line gives: one read of a device that does nothing.
const OWN_COST: &str = "null_device_read";

/// Words of a processor's model that say nothing.
const MODEL_NOISE: [&str; 6] = ["(R)", "(TM)", "(tm)", " CPU", " Processor", " processor"];

/// The head of a run's page; its parts stay whole and go to the next line where the width ends.
pub(crate) fn head(run: &Run, style: &Style) -> String {
    let title = format!("readpath {}", run.experiment);
    let parts = [Some(title), machine(run), subject(run), shared_buffers(run), own_cost(run)];
    let mut lines = vec![String::new()];
    for part in parts.into_iter().flatten() {
        let part = shorten(&part, style.width);
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&part),
            Some(line) if width(line) + 3 + width(&part) <= style.width => *line += &format!("   {part}"),
            _ => lines.push(part),
        }
    }
    lines[0] = style.bold(&lines[0]);
    lines.extend(constants(run).map(|constants| wrap(&constants, style.width, 2)));
    lines.join("\n")
}

fn machine(run: &Run) -> Option<String> {
    let model = run.host.cpu.as_deref().map_or("unknown processor".into(), short_model);
    let speed = run.host.core_ghz.map_or(String::new(), |ghz| format!(" at {} GHz", three_digits(ghz)));
    // Earlier versions wrote 0 for a run that measured nothing on this machine.
    let cores = run.host.cores.filter(|cores| *cores > 0)?;
    Some(format!("{model}, {}{speed}", counted(cores, "core", "cores")))
}

/// A processor's model without trade marks and without the nominal frequency, which the measured one replaces.
fn short_model(model: &str) -> String {
    let nominal = model.split(" @ ").next().unwrap_or(model);
    MODEL_NOISE.iter().fold(nominal.to_string(), |text, noise| text.replace(noise, "")).trim().to_string()
}

/// `ext4 on vda`, with the path where the subject has one.
fn subject(run: &Run) -> Option<String> {
    let text = |key: &str| run.subject.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let place = match (text("filesystem"), text("device")) {
        (Some(filesystem), Some(device)) => Some(format!("{filesystem} on {device}")),
        (one, other) => one.or(other).map(String::from),
    };
    let server = text("server").zip(text("version"));
    if let Some((server, version)) = server {
        return Some(format!("postgres {version} at {}", shorten(server, 60)));
    }
    // The ladder makes its own file: its name tells nothing.
    let path = text("path").filter(|_| run.experiment != "ladder");
    match (path, place) {
        (Some(path), Some(place)) => Some(format!("{} ({place})", shorten(path, 50))),
        (path, place) => path.map(|path| shorten(path, 70)).or(place),
    }
}

/// The memory in which a server keeps its blocks.
fn shared_buffers(run: &Run) -> Option<String> {
    Some(format!("shared buffers {}", bytes(run.subject.get("shared_buffers")?.as_f64()?)))
}

/// The parameters that all cases share, where the experiment has more than a table shows.
fn constants(run: &Run) -> Option<String> {
    let shown = constant(&run.cases).filter(|(name, _)| *name != "path" && *name != "rung");
    let parts: Vec<String> = shown.map(|(name, value)| described(name, value)).collect();
    (!parts.is_empty() && run.experiment != "ladder").then(|| parts.join(", "))
}

fn own_cost(run: &Run) -> Option<String> {
    let metric = run.own_cost.iter().find(|metric| metric.name == OWN_COST)?;
    Some(format!("tool's own cost {}", time(metric.median() * nanos_of(metric.unit)?)))
}
