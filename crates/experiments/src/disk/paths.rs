//! What the paths name: a file or a block device that has two names is read once. They are measured one by one.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use device::Device;
use measure::Finding;
use measure::schema::disk::findings as row;
use serde_json::json;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;

/// What makes two paths one: the device of a block device, device and inode of a file, else the word itself.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    BlockDevice(u64),
    File(u64, u64),
    Word(&'a Path),
}

impl Identity<'_> {
    fn of(path: &Path) -> Identity<'_> {
        match fs::metadata(path) {
            _ if device::has_prefix(path) => Identity::Word(path),
            Ok(data) if data.file_type().is_block_device() => Identity::BlockDevice(data.rdev()),
            Ok(data) => Identity::File(data.dev(), data.ino()),
            Err(_) => Identity::Word(path),
        }
    }
}

/// Measures one path after the other until ^C, and says which of several are left. `device` gives the device of a path,
/// and `measure` tells whether a case of it is kept: then it is no longer unmeasured.
pub(crate) fn in_turn<T>(
    (all, names): (&[T], &[String]),
    device: impl Fn(&T) -> &dyn Device,
    machine: &Machine,
    journal: &mut dyn Journal,
    mut measure: impl FnMut(&T, &mut dyn Journal) -> Result<bool, ExperimentError>,
) -> Result<(), ExperimentError> {
    // One alone describes itself, and is measured or not.
    let several = all.len() > 1;
    let left = |from: usize| if several { &names[from..] } else { &[] };
    for (index, one) in all.iter().enumerate() {
        journal.leave_unmeasured(left(index));
        if machine.stop.requested() {
            break;
        }
        if several {
            journal.describe_subject("kind", json!("device"));
            journal.describe_subject("path", json!(format!("{} paths", all.len())));
        } else {
            journal.describe_all(device(one).describe().subject);
        }
        let is_kept = measure(one, journal)?;
        journal.leave_unmeasured(left(index + usize::from(is_kept)));
    }
    Ok(())
}

/// The paths without those that name what an earlier one names, and a finding for each of these.
pub(super) fn each_once(paths: &[PathBuf]) -> (Vec<&Path>, Vec<Finding>) {
    let (once, repeated) = repeated(paths);
    let finding = |[path, first]: [&Path; 2]| {
        let message = match path.as_os_str() == first.as_os_str() {
            true => format!("{} is given {}: it is read once.", path.display(), times_given(path, paths)),
            false => format!("{} is {}, which was named before: it is read once.", path.display(), first.display()),
        };
        row::NAMED_BEFORE.of(message)
    };
    (once, repeated.into_iter().map(finding).collect())
}

/// How often a path is among others, in words.
fn times_given(path: &Path, paths: &[PathBuf]) -> String {
    match paths.iter().filter(|other| other.as_os_str() == path.as_os_str()).count() {
        2 => "twice".into(),
        count => format!("{count} times"),
    }
}

/// The paths without those that name what an earlier one names, and each of these with that earlier one.
pub(crate) fn repeated(paths: &[PathBuf]) -> (Vec<&Path>, Vec<[&Path; 2]>) {
    let (mut once, mut repeated) = (Vec::new(), Vec::new());
    let mut known: HashMap<Identity<'_>, &Path> = HashMap::new();
    for path in paths {
        match known.get(&Identity::of(path)) {
            Some(first) => repeated.push([path.as_path(), *first]),
            None => {
                known.insert(Identity::of(path), path);
                once.push(path.as_path());
            }
        }
    }
    (once, repeated)
}
