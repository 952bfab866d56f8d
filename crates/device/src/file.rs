//! Files and block devices, read through the kernel.

use std::path::Path;

use measure::Parameters;
use serde_json::json;
use sys::file::{Alignment, BlockDevice, Caching, Kind, Target, TargetError};
use sys::read::Setup;

use crate::device::{Description, Device, DeviceError, Opened, Slots, Witnesses};
use crate::row::{DeviceRow, PageCache};

/// The row of the table of devices.
pub(crate) const ROW: DeviceRow = DeviceRow {
    prefix: "",
    examples: Vec::new,
    without_kernel: None,
    open: |word| Ok(Box::new(opened(word.rest, word.page_cache)?)),
    place: |word, files| {
        let open = |(path, _): &(&Path, u64)| Ok(Box::new(opened(path, word.page_cache)?) as Box<dyn Device>);
        files.iter().map(open).collect()
    },
};

fn opened(path: &Path, page_cache: PageCache) -> Result<Target, TargetError> {
    match page_cache {
        PageCache::As(caching) => Target::open(path, caching),
        PageCache::AvoidedWherePossible => direct_or_buffered(path),
    }
}

/// Opens a file past the page cache, or through it where its file system refuses direct I/O.
pub fn direct_or_buffered(path: &Path) -> Result<Target, TargetError> {
    match Target::open(path, Caching::Direct) {
        Err(TargetError::DirectRefused { .. }) => Target::open(path, Caching::Buffered),
        opened => opened,
    }
}

impl Device for Target {
    fn name(&self) -> String {
        self.path().display().to_string()
    }

    fn size(&self) -> u64 {
        Target::size(self)
    }

    fn alignment(&self) -> Alignment {
        Target::alignment(self)
    }

    fn describe(&self) -> Description {
        let alignment = Target::alignment(self);
        let what = if self.kind() == Kind::BlockDevice { "block device" } else { "file" };
        let mut subject = Parameters::new();
        let mut say = |key: &str, value| subject.insert(key.into(), value);
        say("kind", json!("device"));
        say("path", json!(Device::name(self)));
        say("what", json!(what));
        say("size", json!(Target::size(self)));
        say("filesystem", json!(self.filesystem()));
        say(
            "direct_alignment",
            json!({ "offset": alignment.offset, "memory": alignment.memory, "source": alignment.source }),
        );
        if let Ok(device) = BlockDevice::under(self) {
            say("device", json!(device.name));
            if let Some(beneath) = device.bottom().ok().filter(|bottom| !bottom.contains(&device)) {
                say("beneath", json!(beneath.iter().map(|device| &*device.name).collect::<Vec<_>>()));
            }
            say("rotational", json!(device.rotational));
            say("scheduler", json!(device.scheduler));
            say("read_ahead_kib", json!(device.read_ahead_kib));
        }
        Description { subject, ..Description::default() }
    }

    /// The first member of a team reads through this descriptor, each other one through its own: the kernel keeps the
    /// state of its read-ahead by descriptor.
    fn open(&self, team: &[Slots]) -> Result<Opened, DeviceError> {
        let open = |(index, slots): (usize, &Slots)| {
            let own = (index > 0).then(|| self.reopen(self.caching())).transpose()?;
            let target = own.as_ref().unwrap_or(self);
            let Slots { depth, bytes: slot_bytes, pages, .. } = *slots;
            Ok((slots.row().open)(Setup { target, depth, slot_bytes, pages })?)
        };
        let methods = team.iter().enumerate().map(open).collect::<Result<Vec<_>, DeviceError>>()?;
        let method = team.first().map_or("", |slots| slots.row().name);
        Ok(Opened { methods, clock: None, method: method.into() })
    }

    fn witnesses(&self) -> Witnesses<'_> {
        let top = BlockDevice::all_under(self);
        let storage = top.clone().and_then(|top| BlockDevice::bottom_of(&top));
        // One that may answer by itself, before one that only hands on.
        let layer = top
            .ok()
            .filter(|top| storage.as_ref() != Ok(top))
            .and_then(|top| top.into_iter().min_by_key(|device| !device.is_mapped()));
        Witnesses::Kernel { target: self, storage, layer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_on_a_file_system_without_direct_io_is_read_through_the_page_cache() {
        let memory = Path::new("/dev/shm");
        let Ok(file) = tempfile::NamedTempFile::new_in(memory) else {
            return println!("skipped: there is no /dev/shm to write to");
        };
        std::fs::write(file.path(), vec![1; 8192]).unwrap();
        assert_eq!(opened(file.path(), PageCache::AvoidedWherePossible).unwrap().caching(), Caching::Buffered);
        let direct = opened(file.path(), PageCache::As(Caching::Direct));
        assert!(matches!(direct, Err(TargetError::DirectRefused { .. })));
        assert!(crate::table::open_direct_or_buffered(file.path()).is_ok());
    }

    #[test]
    fn what_is_no_target_is_refused_and_not_read_another_way() {
        assert!(matches!(direct_or_buffered(Path::new("/absent")), Err(TargetError::NotFound { .. })));
    }
}
