//! Logs that the tests of several files read, and an observer that keeps what the source emits.

use crate::event::{Call, Context, Observer, PlanLine, Root, Segment, Wait};
use crate::source::postgres_log::findings::LogSummary;
use crate::source::postgres_log::source::state::LogSource;

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) calls: Vec<Call>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) roots: Vec<Root>,
    pub(crate) lines: Vec<PlanLine>,
    pub(crate) segments: Vec<Segment>,
}

impl Observer for Kept {
    fn call(&mut self, _: &Context, call: &Call) {
        self.calls.push(call.clone());
    }
    fn wait(&mut self, _: &Context, wait: &Wait) {
        self.waits.push(*wait);
    }
    fn root(&mut self, _: &Context, root: &Root) {
        self.roots.push(*root);
    }
    fn plan_line(&mut self, _: &Context, line: &PlanLine) {
        self.lines.push(line.clone());
    }
    fn segment(&mut self, _: &Context, segment: &Segment) {
        self.segments.push(segment.clone());
    }
}

/// An archive of these files.
pub(crate) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

pub(crate) fn read(log: &str) -> (Kept, Context, LogSummary) {
    let (mut kept, mut source) = (Kept::default(), LogSource::new());
    assert!(source.read_log(log.as_bytes(), &mut kept).unwrap().is_some());
    let (accounted, summary) = source.end(&mut kept);
    (kept, accounted.context, summary)
}

pub(crate) fn entry(millis: u32, process: u32, duration: &str, query: &str, figures: &str) -> String {
    format!(
        "2026-11-21 10:45:{:02}.{:03} UTC [{process}] me@shop LOG:  duration: {duration} ms  plan:\n\t{{\n\t  \
         \"Query Text\": \"{query}\",\n\t  \"Plan\": {{\n\t    \"Node Type\": \"Seq Scan\", \"Relation Name\": \
         \"orders\", {figures}\n\t  }}\n\t}}\n",
        millis / 1000,
        millis % 1000
    )
}

pub(crate) const FIGURES: &str = "\"Actual Total Time\": 4.000, \"Actual Rows\": 10, \"Actual Loops\": 1, \
                                  \"Shared Hit Blocks\": 90, \"Shared Read Blocks\": 10, \
                                  \"I/O Read Time\": 3.500, \"I/O Write Time\": 0.000";

/// An entry within `f()`.
pub(crate) fn inner(millis: u32, duration: &str, context: &str) -> String {
    entry(millis, 7, duration, "select inner", FIGURES)
        + &format!("2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  {context}\n")
}

pub(crate) const WITHIN_F: &str = "PL/pgSQL function f() line 3 at PERFORM";

/// The same entries as a CSV log.
pub(crate) fn csv(millis: u32, duration: &str, context: &str) -> String {
    format!(
        "2026-11-21 10:45:{:02}.{:03} UTC,\"me\",\"shop\",7,\"[local]\",69.7,3,\"SELECT\",2026-11-21 10:00:00 UTC,\
         3/4,0,LOG,00000,\"duration: {duration} ms  plan:\n{{\n  \"\"Query Text\"\": \"\"select {}\"\",\n  \
         \"\"Plan\"\": {{\"\"Node Type\"\": \"\"Result\"\"}}\n}}\",,,,,\"{context}\",,,,\"psql\",\"client \
         backend\",,-42\n",
        millis / 1000,
        millis % 1000,
        if context.is_empty() { "outer" } else { "inner" },
    )
}

/// The same entry as a line of a JSON log.
pub(crate) fn jsonlog(millis: u32) -> String {
    format!(
        r#"{{"timestamp":"2026-11-21 10:45:{:02}.{:03} UTC","pid":7,"session_id":"69.7","#,
        millis / 1000,
        millis % 1000
    ) + r#""error_severity":"LOG","message":"duration: 1.0 ms  plan:\n{\n  \"Query Text\": \"select outer\","#
        + r#"\n  \"Plan\": {\"Node Type\": \"Result\"}\n}","ps":"SELECT"}"#
        + "\n"
}
