//! A disk that fills up while the test file is written: a sentence, and nothing of the file left.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use disks::SmallDisk;
use sys::file::{TestFile, TestFileError};

#[test]
fn a_disk_that_fills_up_under_the_test_file_is_named_and_gets_its_space_back() {
    let disk = match SmallDisk::new(Path::new(env!("CARGO_TARGET_TMPDIR")), 1160 << 20) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: a file system of its own needs root: {reason}"),
    };
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
    let created = TestFile::create(&disk.mount, 1024 << 20, 1, &mut fill_once, &AtomicBool::new(false));
    let error = created.expect_err("a file that does not fit was made");
    assert!(matches!(&error, TestFileError::Full(directory) if *directory == disk.mount), "{error}");
    assert!(error.to_string().contains("no space left while the test file was written"), "{error}");
    disk.empty();
    assert!(disk.free() >= free - (1 << 20), "{} bytes of {free} came back", disk.free());
}
