//! What is read and how: the opened file, device or model of one path.

use std::path::Path;

use device::model::hard_disk::HardDiskParameters;
use device::model::{self, Device, Model};
use device::pattern::{Offsets, Pattern, Span};
use serde_json::json;
use sys::block_device::BlockDevice;
use sys::read::{self, MethodRow};
use sys::target::{Caching, Kind, Target};
use sys::witness;

use super::{DiskParameters, View, does_not_fit};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::reading::Place;
use crate::region;

/// Span of a zone that is not given, as in the source: 2 GiB, or a third of what there is.
const ZONE: u64 = 2 << 30;

/// Blocks that are asked for without waiting.
const NOWAIT_SAMPLE: u64 = 16;

/// One path, opened and checked.
pub(super) struct Setting<'a> {
    path: &'a Path,
    subject: Subject,
    parameters: &'a DiskParameters,
    pub(super) cached_before: Option<f64>,
    never_written: f64,
}

enum Subject {
    Device { target: Target, block_device: Option<BlockDevice> },
    Model(Model),
}

impl<'a> Setting<'a> {
    /// Opens the path and refuses what cannot be measured, before anything is.
    pub(super) fn open(path: &'a Path, parameters: &'a DiskParameters) -> Result<Setting<'a>, ExperimentError> {
        let subject = match model::named(&path.to_string_lossy()) {
            Some(Ok(model)) => Subject::Model(model),
            Some(Err(error)) => return Err(ExperimentError::Parameters(error.to_string())),
            None => {
                let target = Target::open(path, parameters.caching)?;
                target.check_block_size(parameters.block_size as u64)?;
                let block_device = BlockDevice::under(&target).ok();
                Subject::Device { target, block_device }
            }
        };
        let mut setting = Setting { path, subject, parameters, cached_before: None, never_written: 0.0 };
        setting.check()?;
        if let (Subject::Device { target, .. }, Caching::Buffered) = (&setting.subject, parameters.caching) {
            let span = setting.span(parameters)?;
            let cached = witness::cached(target, span.offset, span.length).ok();
            setting.cached_before = cached.map(|cached| cached.pages as f64 / cached.of.max(1) as f64);
        }
        Ok(setting)
    }

    fn check(&self) -> Result<(), ExperimentError> {
        let span = self.span(self.parameters)?;
        if let Subject::Model(model) = &self.subject
            && self.parameters.workers > 1
            && self.parameters.rate.is_some()
        {
            let sentence = format!("--rate on the model {} works with one worker: leave --workers at 1", model.name);
            return Err(ExperimentError::Parameters(sentence));
        }
        let alignment = match &self.subject {
            Subject::Device { target, .. } => u64::from(target.alignment().offset),
            Subject::Model(_) => 1,
        };
        if span.offset % alignment.max(1) != 0 {
            return Err(ExperimentError::Parameters(format!(
                "--offset must be a multiple of {alignment} bytes on {}",
                self.name()
            )));
        }
        Ok(())
    }

    /// Bytes of the file, device or model.
    pub(super) fn size(&self) -> u64 {
        match &self.subject {
            Subject::Device { target, .. } => target.size(),
            Subject::Model(model) => model.size(),
        }
    }

    /// The modelled hard disk that is read, if it is one.
    pub(super) fn hard_disk(&self) -> Option<&HardDiskParameters> {
        match &self.subject {
            Subject::Model(Model { device: Device::HardDisk(parameters), .. }) => Some(parameters),
            _ => None,
        }
    }

    /// The path as it was given.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The region, or one zone's worth of it at its start.
    pub(super) fn span(&self, parameters: &DiskParameters) -> Result<Span, ExperimentError> {
        let rest = self.size().saturating_sub(parameters.offset);
        let block = parameters.block_size as u64;
        let whole = match parameters.view {
            View::Zones(_) => ZONE.min(rest / 3),
            _ => rest,
        };
        let length = parameters.span.unwrap_or(whole);
        if parameters.span.is_some_and(|span| span < block) {
            let sentence = format!("a span of {length} bytes holds no block of {block}: give a larger --span");
            return Err(ExperimentError::Parameters(sentence));
        }
        if length > rest || length < block {
            return Err(does_not_fit(&self.name(), self.size(), parameters.offset, length.max(block)));
        }
        Ok(Span { offset: parameters.offset, length: length / block * block })
    }

    /// Where the reads go, for the reading.
    pub(super) fn place(&self, depth: usize) -> Place<'_> {
        match &self.subject {
            Subject::Model(model) => Place::Model(model),
            Subject::Device { block_device, .. } => Place::Device {
                path: self.path,
                block_device: block_device.as_ref(),
                caching: self.parameters.caching,
                method: self.method(depth),
                never_written: self.never_written,
            },
        }
    }

    /// The I/O method's name at this depth.
    pub(super) fn method_name(&self, depth: usize) -> &'static str {
        match self.subject {
            Subject::Model(_) => "model",
            Subject::Device { .. } => self.method(depth).name,
        }
    }

    fn method(&self, depth: usize) -> &'static MethodRow {
        let best = || read::method(read::best_method(depth)).expect("the best method is in the table");
        self.parameters.method.unwrap_or_else(best)
    }

    /// Share of a sample of blocks that the kernel answers without waiting for storage, for buffered reads; taken
    /// after them, because a refused read starts the fetch.
    pub(super) fn answered_at_once(&self) -> Option<f64> {
        let Subject::Device { target, .. } = &self.subject else { return None };
        let span = self.span(self.parameters).ok()?;
        if self.parameters.caching == Caching::Direct {
            return None;
        }
        let block_size = self.parameters.block_size;
        let mut offsets = Offsets::new(Pattern::Random, span, block_size, !self.parameters.seed, None);
        let sample: Vec<u64> = (0..NOWAIT_SAMPLE.min(span.blocks(block_size))).map(|_| offsets.advance()).collect();
        let probe = witness::nowait_hits(target, &sample, block_size).ok()?;
        Some(probe.answered as f64 / sample.len().max(1) as f64)
    }

    /// Tells the run what it is about.
    pub(super) fn describe(&self, journal: &mut dyn Journal) {
        match &self.subject {
            Subject::Model(model) => describe_model(model, journal),
            Subject::Device { target, block_device } => describe_device(target, block_device.as_ref(), journal),
        }
    }

    /// Evicts when that was asked for, and looks whether the region holds data.
    pub(super) fn prepare(
        &mut self,
        parameters: &DiskParameters,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        let Subject::Device { target, .. } = &self.subject else { return Ok(()) };
        let region_span = match parameters.view {
            View::Whole => self.span(parameters)?,
            _ => Span { offset: 0, length: self.size() },
        };
        self.never_written = region::check(target, region_span, parameters.block_size, parameters.seed, journal)?;
        if parameters.evict {
            let refused = |reason| ExperimentError::Parameters(format!("{} cannot be evicted: {reason}", self.name()));
            witness::evict(target, region_span.offset, region_span.length).map_err(refused)?;
        }
        Ok(())
    }
}

/// Tells the run about a model: its parameters, and where they are from; shared with the other experiments on devices.
pub(crate) fn describe_model(model: &Model, journal: &mut dyn Journal) {
    journal.describe_subject("kind", json!("model"));
    journal.describe_subject("name", json!(model.name));
    journal.describe_subject("size", json!(model.size()));
    journal.describe_subject("parameters", json!(model.device));
    if !model.origins.is_empty() {
        let origins: serde_json::Map<_, _> =
            model.origins.iter().map(|(field, origin)| ((*field).to_string(), json!(origin))).collect();
        journal.describe_subject("origins", json!(origins));
    }
}

/// Tells the run about a file or block device; shared with the other experiments on devices.
pub(crate) fn describe_device(target: &Target, block_device: Option<&BlockDevice>, journal: &mut dyn Journal) {
    journal.describe_subject("kind", json!("device"));
    journal.describe_subject("path", json!(target.path().display().to_string()));
    let what = if target.kind() == Kind::BlockDevice { "block device" } else { "file" };
    journal.describe_subject("what", json!(what));
    journal.describe_subject("size", json!(target.size()));
    journal.describe_subject("filesystem", json!(target.filesystem()));
    let alignment = target.alignment();
    journal.describe_subject(
        "direct_alignment",
        json!({ "offset": alignment.offset, "memory": alignment.memory, "source": alignment.source }),
    );
    if let Some(device) = block_device {
        journal.describe_subject("device", json!(device.name));
        journal.describe_subject("rotational", json!(device.rotational));
        journal.describe_subject("scheduler", json!(device.scheduler));
        journal.describe_subject("read_ahead_kib", json!(device.read_ahead_kib));
    }
}
