//! Trace files as a source: each file's unit of time is found, and its records pass the accounting.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::event::{Accounted, TimeScale, Unread};
use crate::input::{Given, Problem, foreign};
use crate::observe::Listeners;
use crate::source::contract::{Finished, Input, Reading, Source, SourceFile, SourceRow, SourceSettings};
use crate::source::oracle::account::Accounting;
use crate::source::oracle::line::kind::OUT_OF_RANGE;
use crate::source::oracle::probe::{order_segments, probe};
use crate::source::oracle::read::read_while;
use crate::source::oracle::record::Batch;
use crate::source::oracle::time_scale::TimeScaleProbe;

/// The row of the table of sources.
pub const ROW: SourceRow = SourceRow {
    noun: "a trace",
    name: None,
    // A trace can begin with anything: its calls and waits are what makes it one.
    recognises: |_, _| false,
    open: |settings| Box::new(TraceFiles { settings, accounting: Accounting::new() }),
};

/// Reads trace files, one after the other.
struct TraceFiles {
    settings: SourceSettings,
    accounting: Accounting,
}

impl Source for TraceFiles {
    /// The segments of one trace are read in the order of their times, whatever their names.
    fn in_order(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        // A pipe keeps its place: what has been read of it is not there again.
        let path = |input: &Input| match (&input.given, &input.bytes) {
            (Given::File(path), None) => Some(path.clone()),
            _ => None,
        };
        let mut paths: Vec<PathBuf> = inputs.iter().filter_map(path).collect();
        order_segments(&mut paths);
        let mut paths = paths.into_iter();
        let ordered = |input: Input| match path(&input).and_then(|_| paths.next()) {
            Some(path) => Input { given: Given::File(path), ..input },
            None => input,
        };
        inputs.into_iter().map(ordered).collect()
    }

    fn read(&mut self, input: Input, reading: &mut Reading<'_, '_>) -> Result<SourceFile, Problem> {
        let given = input.given.clone();
        let mut file = SourceFile { name: given.name(), head_hash: input.head_hash, ..SourceFile::default() };
        let scale = self.scale(&given)?;
        let (mut is_begun, mut head) = (false, Vec::new());
        let outcome = read_while(input.open()?, self.settings.reading, &mut |batch: &Batch| {
            if !is_begun {
                head.extend_from_slice(&batch.bytes[..batch.bytes.len().min(foreign::HEAD_BYTES)]);
                file.scale = scale.unwrap_or_else(|| found([batch]));
                self.accounting.begin_file(file.scale);
                reading.begin_file(&file.name);
                is_begun = true;
            }
            self.batch(&mut file, batch, reading)
        });
        if is_begun {
            file.version = self.accounting.version().map(str::to_owned);
            self.accounting.end_file(&mut reading.listeners);
        }
        match outcome {
            Err(error) if file.timed_records == 0 => Err(Problem::unreadable(&given, error)),
            Ok(()) if file.timed_records == 0 => {
                let is_out_of_range = file.unread.iter().any(|unread| unread.kind == OUT_OF_RANGE);
                let what = if is_out_of_range {
                    "it has lines of calls and waits, and each has a number beyond 64 bits: the file is damaged"
                } else {
                    foreign::describe(&head)
                };
                Err(Problem::NotATrace { name: given.name(), what })
            }
            outcome => {
                file.cut_short = outcome.err().map(|error| error.to_string());
                Ok(file)
            }
        }
    }

    fn finish(self: Box<Self>, listeners: &mut Listeners<'_>) -> Finished {
        let accounted: Accounted = self.accounting.finish(listeners);
        Finished { accounted, findings: Vec::new() }
    }
}

impl TraceFiles {
    /// The unit of time, where it is given or where both ends of the file can be looked at. Anything but a plain file
    /// can be read once only: there the first batch has to do.
    fn scale(&self, given: &Given) -> Result<Option<TimeScale>, Problem> {
        match (self.settings.unit, given) {
            (Some(unit), _) => Ok(Some(TimeScale::given(unit))),
            (None, Given::File(path)) if path.is_file() => {
                let ends = probe(path)?;
                Ok(Some(found([&ends.head].into_iter().chain(&ends.tail))))
            }
            (None, _) => Ok(None),
        }
    }

    fn batch(&mut self, file: &mut SourceFile, batch: &Batch, reading: &mut Reading<'_, '_>) -> ControlFlow<()> {
        file.bytes = batch.offset + batch.bytes.len() as u64;
        batch.unread.iter().for_each(|unread| Unread::add(&mut file.unread, unread));
        self.accounting.batch(batch, &mut reading.listeners);
        file.timed_records = self.accounting.timed_records();
        reading.meter.read(&file.name, file.bytes)
    }
}

/// The unit that parts of a file speak for.
fn found<'b>(parts: impl IntoIterator<Item = &'b Batch>) -> TimeScale {
    let mut probe = TimeScaleProbe::default();
    parts.into_iter().for_each(|part| probe.batch(part));
    probe.decide()
}
