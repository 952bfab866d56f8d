//! Models as devices: by themselves, or with files of this machine placed on them.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use measure::Parameters;
use measure::quantity::size_in_words;
use serde_json::json;
use sys::file::{Alignment, TargetError};
use sys::read::ReadMethod;

use super::clients::{Placement, SharedModel};
use super::kind::{Model, ModelKind};
use super::table::{MODELS, named};
use crate::device::{Description, Device, DeviceError, Opened, Slots, Unwitnessed, Witnesses};
use crate::row::{DeviceRow, Files};

/// The row of the table of devices.
pub(crate) const ROW: DeviceRow = DeviceRow {
    prefix: "model:",
    examples: || MODELS.iter().map(|row| format!("model:{}", row.name)).collect(),
    without_kernel: Some("is a model, which no kernel reads and no page cache holds"),
    open: |word| Ok(Box::new(named(&word.rest.to_string_lossy())?)),
    place: |word, files| place(&named(&word.rest.to_string_lossy())?, files),
};

/// Its offsets are free: nothing but times comes from it.
const ALIGNMENT: Alignment = Alignment { offset: 1, memory: 1, source: "none is needed" };

const WITNESSES: Witnesses<'_> = Witnesses::Absent(Unwitnessed {
    tier: "model",
    name: "the model",
    takes_time: true,
    no_page_cache: "a model has no host, and so no page cache",
});

impl Device for Model {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn size(&self) -> u64 {
        Model::size(self)
    }

    fn alignment(&self) -> Alignment {
        ALIGNMENT
    }

    fn describe(&self) -> Description {
        let mut subject = Parameters::new();
        subject.insert("kind".into(), json!("model"));
        subject.insert("name".into(), json!(self.name));
        subject.insert("size".into(), json!(Model::size(self)));
        subject.insert("parameters".into(), json!(self.kind));
        if !self.origins.is_empty() {
            let origins: Parameters =
                self.origins.iter().map(|(field, origin)| ((*field).to_string(), json!(origin))).collect();
            subject.insert("origins".into(), json!(origins));
        }
        let disk = match &self.kind {
            ModelKind::HardDisk(parameters) => Some(parameters.clone()),
            _ => None,
        };
        Description { subject, is_virtual: true, disk }
    }

    /// All clients are there before the first one waits: the time waits for all.
    fn open(&self, team: &[Slots]) -> Result<Opened, DeviceError> {
        let shared = SharedModel::new(self.timing(), team.len());
        let client = |(index, slots): (usize, &Slots)| shared.client(index, slots.depth, slots.bytes, None);
        let methods = team.iter().enumerate().map(|one| Box::new(client(one)) as Box<dyn ReadMethod>).collect();
        Ok(Opened { methods, clock: Some(shared.clock().clone()), method: self.name.clone() })
    }

    fn witnesses(&self) -> Witnesses<'_> {
        WITNESSES
    }
}

/// Places files on a model at rest, one behind the other. One thread reads them, by as many methods as it likes.
fn place(model: &Model, files: Files<'_>) -> Result<Vec<Box<dyn Device>>, DeviceError> {
    let (size, needed) = (Model::size(model), files.iter().map(|(_, bytes)| bytes).sum::<u64>());
    if needed > size {
        let name = &model.name;
        let [holds, take] = [size, needed].map(size_in_words);
        let sentence = format!("{name} holds {holds} and the files take {take}; ask for fewer --rows");
        return Err(DeviceError::Word(sentence));
    }
    let shared = SharedModel::solo(model.timing());
    let mut start = 0;
    let place = |(path, bytes): &(&Path, u64)| {
        let refused = |reason| TargetError::Open { path: (*path).into(), reason };
        let file = File::open(path).map_err(refused)?;
        let content = move |offset: u64, slot: &mut [u8]| file.read_exact_at(slot, offset);
        let placed = Placement { content: Arc::new(content), start };
        start += bytes;
        let (name, method) = (path.display().to_string(), model.name.clone());
        Ok(Box::new(PlacedFile { name, method, bytes: *bytes, model: shared.clone(), placed }) as Box<dyn Device>)
    };
    files.iter().map(place).collect()
}

/// A file on a model: its own bytes, in the model's time.
struct PlacedFile {
    name: String,
    method: String,
    bytes: u64,
    model: SharedModel,
    placed: Placement,
}

impl fmt::Debug for PlacedFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PlacedFile").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Device for PlacedFile {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn size(&self) -> u64 {
        self.bytes
    }

    fn alignment(&self) -> Alignment {
        ALIGNMENT
    }

    fn describe(&self) -> Description {
        Description { is_virtual: true, ..Description::default() }
    }

    /// A further way to the model, whose time goes on: it is one device for all that is placed on it.
    fn open(&self, team: &[Slots]) -> Result<Opened, DeviceError> {
        let open = |slots: &Slots| {
            let client = self.model.another(slots.depth, slots.bytes, Some(self.placed.clone()));
            Box::new(client) as Box<dyn ReadMethod>
        };
        let clock = Some(self.model.clock().clone());
        Ok(Opened { methods: team.iter().map(open).collect(), clock, method: self.method.clone() })
    }

    fn witnesses(&self) -> Witnesses<'_> {
        WITNESSES
    }
}
