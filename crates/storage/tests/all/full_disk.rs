//! A disk that fills up while a table is loaded: a sentence, no half table, and the other tables as they were.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use dataset::DataSet;
use dataset::uniform::RowShape;
use disks::SmallDisk;
use storage::StorageError;
use storage::catalog::{Manifest, TableInfo, TableSpec};
use storage::heap::loader::load;

use crate::killed_load::assert_good;

fn loaded(
    disk: &SmallDisk,
    name: &str,
    payload: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<TableInfo, StorageError> {
    let spec = TableSpec::new(name, DataSet::uniform(RowShape { row_length: 250, columns: 5 }, payload, 1));
    load(&disk.mount, &spec, progress, &AtomicBool::new(false))
}

/// Bytes of the file system: the table, the reserve of the check beforehand, the small table, and a little.
const DISK_BYTES: u64 = 960 << 20;

#[test]
fn a_disk_that_fills_up_during_a_load_leaves_no_half_table_and_harms_no_other() {
    let disk = match SmallDisk::new(Path::new(env!("CARGO_TARGET_TMPDIR")), DISK_BYTES) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: a file system of its own needs root: {reason}"),
    };
    loaded(&disk, "kept", 4 << 20, &mut |_| ()).unwrap();
    let free = disk.free();
    // The check beforehand passes; then another process takes the space. What is to be written is many times what it
    // has to take, so that it comes first also where it is slow.
    let mut is_filled = false;
    let mut fill_once = |_| {
        if !is_filled {
            disk.fill();
            is_filled = true;
        }
    };
    let error = loaded(&disk, "large", 768 << 20, &mut fill_once).expect_err("a table that does not fit was loaded");
    assert!(is_filled && matches!(error, StorageError::NoSpace { .. }), "{error}");
    assert!(error.to_string().contains(disk.mount.to_str().unwrap()), "{error}");
    disk.empty();
    assert!(disk.free() >= free - (1 << 20), "{} bytes of {free} came back", disk.free());
    let tables = Manifest::read(&disk.mount).unwrap().tables;
    let [kept] = &tables[..] else { panic!("{tables:?}") };
    assert_good(kept, &kept.path(&disk.mount));
    loaded(&disk, "large", 20 << 20, &mut |_| ()).unwrap();
}

#[test]
fn a_disk_without_room_for_the_manifest_keeps_the_old_one() {
    let disk = match SmallDisk::new(Path::new(env!("CARGO_TARGET_TMPDIR")), DISK_BYTES) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: a file system of its own needs root: {reason}"),
    };
    loaded(&disk, "kept", 4 << 20, &mut |_| ()).unwrap();
    let manifest = Manifest::read(&disk.mount).unwrap();
    disk.fill();
    assert!(manifest.write(&disk.mount).is_err(), "a manifest was written to a full disk");
    assert_eq!(Manifest::read(&disk.mount).unwrap(), manifest);
    let entries = std::fs::read_dir(&disk.mount).unwrap();
    let drafts = entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(drafts.count(), 0, "a draft is in the way");
    disk.empty();
    manifest.write(&disk.mount).unwrap();
}
