//! The null device: every read ends at once and moves no data. What a loop over it costs is the tool's own cost.

use std::io;

use measure::Parameters;
use serde_json::json;
use sys::file::Alignment;
use sys::read::{Completion, ReadMethod, ReadRequest, Wait};

use crate::device::{Description, Device, DeviceError, Opened, Slots, Unwitnessed, Witnesses};
use crate::row::DeviceRow;

/// The row of the table of devices.
pub(crate) const ROW: DeviceRow = DeviceRow {
    prefix: "null:",
    examples: || vec!["null:".into()],
    without_kernel: Some("reads nothing, and asks no kernel"),
    open: |word| match word.rest.as_os_str().is_empty() {
        true => Ok(Box::new(NullDevice)),
        false => Err(DeviceError::Word(format!(
            "null:{} names no device: write null: alone, or ./null:{0} for a file of that name",
            word.rest.display()
        ))),
    },
    place: |_, _| Err(DeviceError::Word("null: holds no data: files cannot be placed on it".into())),
};

/// The null device; as many bytes as a large disk, none of which is ever moved.
#[derive(Clone, Copy, Debug)]
pub struct NullDevice;

impl NullDevice {
    /// Its size in bytes.
    pub const SIZE: u64 = 1 << 40;
}

impl Device for NullDevice {
    fn name(&self) -> String {
        "null:".into()
    }

    fn size(&self) -> u64 {
        NullDevice::SIZE
    }

    fn alignment(&self) -> Alignment {
        Alignment { offset: 1, memory: 1, source: "none is needed" }
    }

    fn describe(&self) -> Description {
        let mut subject = Parameters::new();
        subject.insert("kind".into(), json!("null"));
        subject.insert("name".into(), json!(self.name()));
        subject.insert("size".into(), json!(NullDevice::SIZE));
        Description { subject, ..Description::default() }
    }

    fn open(&self, team: &[Slots]) -> Result<Opened, DeviceError> {
        let methods = team.iter().map(|slots| Box::new(Null::new(slots.depth)) as Box<dyn ReadMethod>).collect();
        Ok(Opened { methods, clock: None, method: "null".into() })
    }

    fn witnesses(&self) -> Witnesses<'_> {
        Witnesses::Absent(Unwitnessed {
            tier: "null",
            name: "the null device",
            takes_time: false,
            no_page_cache: "the null device holds no data",
        })
    }
}

/// An I/O method that reads nothing.
#[derive(Debug)]
pub struct Null {
    depth: usize,
    queued: Vec<ReadRequest>,
}

impl Null {
    /// A null device with `depth` slots.
    pub fn new(depth: usize) -> Null {
        Null { depth, queued: Vec::with_capacity(depth) }
    }
}

impl ReadMethod for Null {
    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn queue(&mut self, request: ReadRequest) {
        self.queued.push(request);
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        done.extend(self.queued.drain(..).map(|read| Completion { slot: read.slot, result: Ok(read.length) }));
        Ok(())
    }

    fn data(&self, _slot: usize) -> &[u8] {
        &[]
    }
}
