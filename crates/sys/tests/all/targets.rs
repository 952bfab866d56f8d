//! Opening targets: never for writing, never blocking, and every refusal with a sentence that helps.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use disks::LoopDevice;
use rustix::fs::{FileType, Mode, OFlags};
use sys::file::{Caching, Kind, Target};

/// Names the file that [`child_opens_the_target_it_is_told`] is to open, when it runs under a tracer.
const CHILD_TARGET: &str = "READPATH_TEST_CHILD_TARGET";

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn file_of(bytes: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = directory();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![1; bytes]).unwrap();
    (directory, path)
}

fn refusal(path: &Path) -> String {
    Target::open(path, Caching::Buffered).unwrap_err().to_string()
}

fn assert_read_only(target: &Target) {
    let flags = rustix::fs::fcntl_getfl(target).unwrap();
    assert_eq!(flags & OFlags::ACCMODE, OFlags::RDONLY, "{flags:?}");
}

#[test]
fn a_target_is_never_open_for_writing() {
    let (_directory, path) = file_of(8192);
    for caching in [Caching::Direct, Caching::Buffered] {
        let Ok(target) = Target::open(&path, caching) else {
            println!("skipped {caching}: refused here");
            continue;
        };
        assert_read_only(&target);
        assert_read_only(&target.reopen(Caching::Buffered).unwrap());
        let direct = rustix::fs::fcntl_getfl(&target).unwrap().contains(OFlags::DIRECT);
        assert_eq!(direct, caching == Caching::Direct);
    }
}

/// Not a test by itself: what the tracer runs.
#[test]
fn child_opens_the_target_it_is_told() {
    let Some(path) = std::env::var_os(CHILD_TARGET) else { return };
    for caching in [Caching::Direct, Caching::Buffered] {
        if let Ok(target) = Target::open(Path::new(&path), caching) {
            target.reopen(Caching::Buffered).unwrap();
        }
    }
}

/// The opens of a target that a tracer saw: the system calls as it writes them.
fn traced_opens(target: &Path, log: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("strace")
        .args(["-f", "-s", "4096", "-e", "trace=?open,openat,?openat2,?creat", "-o"])
        .arg(log)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "targets::child_opens_the_target_it_is_told"])
        .env(CHILD_TARGET, target)
        .output()
        .map_err(|error| format!("strace does not run: {error}"))?;
    if !output.status.success() {
        return Err(format!("strace failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let name = target.to_str().unwrap();
    let concerns = |line: &&str| line.contains(name) || line.contains("/proc/self/fd/");
    Ok(std::fs::read_to_string(log).unwrap().lines().filter(concerns).map(String::from).collect())
}

fn assert_none_writes(opens: &[String]) {
    assert!(opens.len() >= 3, "the trace shows too few opens to prove anything: {opens:?}");
    for line in opens {
        assert!(line.contains("O_RDONLY"), "{line}");
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"];
        assert!(!writes.iter().any(|flag| line.contains(flag)), "{line}");
    }
}

#[test]
fn no_open_of_a_file_carries_a_flag_that_writes() {
    let (directory, path) = file_of(8192);
    match traced_opens(&path, &directory.path().join("log")) {
        Ok(opens) => assert_none_writes(&opens),
        Err(reason) => println!("skipped: {reason}"),
    }
}

#[test]
fn no_open_of_a_block_device_carries_a_flag_that_writes() {
    let (directory, path) = file_of(1 << 20);
    let device = match LoopDevice::new(&path) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: a loop device needs root: {reason}"),
    };
    match traced_opens(device.path(), &directory.path().join("log")) {
        Ok(opens) => assert_none_writes(&opens),
        Err(reason) => println!("skipped: {reason}"),
    }
}

#[test]
fn what_is_no_target_is_refused_with_a_sentence_and_at_once() {
    let directory = directory();
    let pipe = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let socket = directory.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let empty = directory.path().join("empty");
    File::create(&empty).unwrap();
    let start = Instant::now();
    assert!(refusal(&directory.path().join("absent")).contains("does not exist"));
    assert!(refusal(directory.path()).contains("is a directory"));
    assert!(refusal(&pipe).contains("is a pipe"));
    assert!(refusal(&socket).contains("is a socket"));
    assert!(refusal(Path::new("/dev/null")).contains("is a character device"));
    assert!(refusal(&empty).contains("is empty"));
    assert!(start.elapsed() < Duration::from_secs(60), "a pipe without a writer must not block");
}

#[test]
fn a_file_that_may_not_be_read_says_so() {
    let (_directory, path) = file_of(8192);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    if File::open(&path).is_ok() {
        return println!("skipped: this user may read everything");
    }
    assert!(refusal(&path).contains("no permission to read"));
}

#[test]
fn a_file_without_a_name_can_still_be_opened_and_reopened() {
    let (_directory, path) = file_of(12_345);
    let file = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let through = format!("/proc/self/fd/{}", file.as_raw_fd());
    let target = Target::open(Path::new(&through), Caching::Buffered).unwrap();
    assert_eq!((target.size(), target.kind(), target.path()), (12_345, Kind::File, Path::new(&through)));
    drop(file);
    let again = target.reopen(Caching::Buffered).unwrap();
    assert_eq!((again.inode(), again.device()), (target.inode(), target.device()));
}

#[test]
fn a_direct_read_succeeds_at_the_multiple_that_the_target_names() {
    let (_directory, path) = file_of(65_536);
    let target = match Target::open(&path, Caching::Direct) {
        Ok(target) => target,
        Err(error) => return println!("skipped: {error}"),
    };
    let multiple = u64::from(target.alignment().offset);
    let mut arena = sys::memory::Arena::new(1, multiple as usize).unwrap();
    assert_eq!(rustix::io::pread(target.as_fd(), arena.slot_mut(0), multiple), Ok(multiple as usize));
}

#[test]
fn a_block_device_is_opened_for_reading_and_knows_its_size() {
    let (_directory, path) = file_of(1 << 20);
    let device = match LoopDevice::new(&path) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: a loop device needs root: {reason}"),
    };
    for caching in [Caching::Direct, Caching::Buffered] {
        let target = Target::open(device.path(), caching).unwrap();
        assert_read_only(&target);
        let number = target.represents().expect("a block device stands for itself");
        assert_eq!((target.kind(), target.filesystem(), target.size()), (Kind::BlockDevice, None, 1 << 20));
        let sectors = std::fs::read_to_string(format!("/sys/dev/block/{number}/size")).unwrap();
        assert_eq!(target.size(), sectors.trim().parse::<u64>().unwrap() * 512);
        let under = sys::file::BlockDevice::under(&target).unwrap();
        assert_eq!((Path::new("/dev").join(&under.name).as_path(), under.number), (device.path(), number));
    }
}
