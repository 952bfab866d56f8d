//! Reading that a signal calls off: where an archive gives no byte for long, or a trace no line, their reader has no
//! place to break off, so that what gives them has to look at the flag itself.
//!
//! The flag is the whole process's, so that this is a test of its own binary, and its parts run one after the other.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use profile::input::{self, Given};
use profile::source::oracle::read::{ReadOptions, read as read_trace};
use sys::file::awaited::call_off_by;
use tar::{Builder, Header};

/// How the reading ends that was called off.
const CALLED_OFF: &str = "a signal ended the reading";

/// How long the reading may take to begin on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(60);

/// Bytes of an entry of the zip archive, and how many entries there are: all are holes of the file.
const ENTRY_BYTES: u32 = u32::MAX;
const ENTRIES: u64 = 4;

/// What is read of an archive, and how the reading ends.
fn read(path: &Path) -> (String, String) {
    let mut all = String::new();
    let outcome = input::open(&Given::File(path.into())).unwrap().read_to_string(&mut all);
    (all, outcome.map_or_else(|error| error.to_string(), |_| String::new()))
}

/// A tar archive of empty files and one that is not.
fn write_empty_files(path: &Path) {
    let mut archive = Builder::new(File::create(path).unwrap());
    for number in 0..100 {
        let mut header = Header::new_ustar();
        header.set_size(0);
        archive.append_data(&mut header, format!("{number}.trc"), io::empty()).unwrap();
    }
    let mut header = Header::new_ustar();
    header.set_size(4);
    archive.append_data(&mut header, "last.trc", &b"one\n"[..]).unwrap();
    archive.into_inner().unwrap();
}

/// A zip archive of large maps of traces, which are passed over, and without its list of entries.
fn write_large_maps(path: &Path) {
    let name = b"a.trm";
    // A header of an entry that is stored as it is: its bytes, packed and unpacked, and those of its name.
    let mut header = [0; 30];
    header[..4].copy_from_slice(b"PK\x03\x04");
    header[18..22].copy_from_slice(&ENTRY_BYTES.to_le_bytes());
    header[22..26].copy_from_slice(&ENTRY_BYTES.to_le_bytes());
    header[26] = name.len() as u8;
    let step = (header.len() + name.len()) as u64 + u64::from(ENTRY_BYTES);
    let mut file = File::create(path).unwrap();
    for place in 0..ENTRIES {
        file.seek(SeekFrom::Start(place * step)).unwrap();
        file.write_all(&header).unwrap();
        file.write_all(name).unwrap();
    }
    file.set_len(ENTRIES * step).unwrap();
}

/// A file that is one line, all of it a hole.
fn write_endless_line(path: &Path) {
    File::create(path).unwrap().set_len(ENTRIES * u64::from(ENTRY_BYTES)).unwrap();
}

/// Reads a trace.
fn read_whole_trace(path: &Path) {
    let bytes = input::open(&Given::File(path.into())).unwrap();
    read_trace(bytes, ReadOptions { workers: 1, chunk_bytes: 4096 }, &mut |_| {}).unwrap();
}

/// How many bytes this process has read.
fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.trim().parse().unwrap()
}

/// Calls off in the midst of a reading, and hands out what that gives.
fn called_off_amid<T>(flag: &AtomicBool, reading: impl FnOnce() -> T) -> T {
    flag.store(false, Ordering::Relaxed);
    let before = bytes_read();
    thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            while bytes_read() < before + (4 << 20) && start.elapsed() < LIMIT {
                thread::sleep(Duration::from_millis(1));
            }
            flag.store(true, Ordering::Relaxed);
        });
        reading()
    })
}

#[test]
fn what_gives_no_byte_or_no_line_for_long_hears_that_it_is_called_off() {
    let flag = Arc::new(AtomicBool::new(false));
    call_off_by(Arc::clone(&flag));
    let folder = tempfile::tempdir().unwrap();
    let [empty, maps, line] = ["empty.tar", "maps.zip", "line.trc"].map(|name| folder.path().join(name));

    write_empty_files(&empty);
    assert_eq!(read(&empty), ("one\n".into(), String::new()));
    flag.store(true, Ordering::Relaxed);
    assert_eq!(read(&empty), (String::new(), CALLED_OFF.into()), "between empty files");

    write_large_maps(&maps);
    let before = bytes_read();
    assert_eq!(called_off_amid(&flag, || read(&maps)), (String::new(), CALLED_OFF.into()));
    assert!(bytes_read() - before < u64::from(ENTRY_BYTES), "within a large map, and not behind it");

    write_endless_line(&line);
    let before = bytes_read();
    called_off_amid(&flag, || read_whole_trace(&line));
    assert!(bytes_read() - before < u64::from(ENTRY_BYTES), "within a line");
}
