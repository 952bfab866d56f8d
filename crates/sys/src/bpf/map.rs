//! The call bpf(2): maps of which programs are given the numbers, and programs.

use std::fs;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// Commands of bpf(2).
const MAP_CREATE: libc::c_int = 0;
const PROG_LOAD: libc::c_int = 5;

/// Types of maps and programs.
const ARRAY: u32 = 2;
pub(super) const RING: u32 = 27;

/// The helper that reads a process's memory is for programs under the GPL, this one among others.
const LICENSE: &[u8] = b"Dual MIT/GPL\0";

/// Bytes of the kernel's complaint about a program.
const COMPLAINT_BYTES: usize = 16 << 10;

/// Lets a map's values be mapped.
const MAPPABLE: u32 = 1 << 10;

/// One number, which is read without a call: as long as a call on a map goes on, and the thread in it may lose its
/// processor then, no program is run on that processor.
#[derive(Debug)]
pub(crate) struct Array {
    map: OwnedFd,
    value: NonNull<AtomicU64>,
}

// SAFETY: an array owns its place in memory alone; nothing in it is tied to a thread.
unsafe impl Send for Array {}

#[repr(C)]
#[derive(Default)]
pub(super) struct MapCreate {
    pub(super) kind: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) max_entries: u32,
    pub(super) flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    kind: u32,
    instructions: u32,
    first: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

impl Array {
    /// Holds 0.
    pub(crate) fn of_one() -> io::Result<Array> {
        let map = create(MapCreate { kind: ARRAY, key_size: 4, value_size: 8, max_entries: 1, flags: MAPPABLE })?;
        // SAFETY: a null hint and a new mapping: no existing memory is replaced.
        let value = unsafe { mmap(ptr::null_mut(), page_size(), ProtFlags::READ, MapFlags::SHARED, &map, 0) }?;
        let value = NonNull::new(value.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Array { map, value })
    }

    /// What it holds.
    pub(crate) fn value(&self) -> u64 {
        // SAFETY: the word begins a mapped page that lasts as long as `self`; programs change it only as an atomic.
        unsafe { self.value.as_ref() }.load(Ordering::Relaxed)
    }

    /// Its number, by which programs name it.
    pub(crate) fn number(&self) -> i32 {
        self.map.as_raw_fd()
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's own, and references into it end with it.
        let _ = unsafe { munmap(self.value.as_ptr().cast(), page_size()) };
    }
}

/// When a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAt {
    /// Where a tracepoint is passed.
    Tracepoint = 5,
    /// Where an event is counted, such as a watched store.
    PerfEvent = 7,
}

/// How often the kernel has passed a program over, because another one was at work on the processor, or a call on a
/// map; `None` where it does not say.
pub(crate) fn passed_over(program: &OwnedFd) -> Option<u64> {
    let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", program.as_raw_fd())).ok()?;
    told.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

/// Loads a program of these instructions.
pub(crate) fn load(run_at: RunAt, instructions: &[u64]) -> io::Result<OwnedFd> {
    let mut complaint = vec![0_u8; COMPLAINT_BYTES];
    let attributes = ProgLoad {
        kind: run_at as u32,
        instructions: instructions.len() as u32,
        first: instructions.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: 1,
        log_size: complaint.len() as u32,
        log: complaint.as_mut_ptr() as u64,
        ..Default::default()
    };
    // SAFETY: the kernel reads the instructions and the license, which live until the call has returned, and writes its
    // complaint into `complaint`, whose size it has. It checks the program before it takes it.
    unsafe { call(PROG_LOAD, &attributes) }.map_err(|error| {
        let end = complaint.iter().position(|byte| *byte == 0).unwrap_or(0);
        let said = String::from_utf8_lossy(&complaint[..end]);
        let last = said.trim().lines().last().unwrap_or_default();
        // Its last line alone says what it found.
        if last.is_empty() { error } else { io::Error::new(error.kind(), format!("{error} ({last})")) }
    })
}

/// Makes a map.
pub(super) fn create(attributes: MapCreate) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads the attributes alone.
    unsafe { call(MAP_CREATE, &attributes) }
}

/// Makes a map or a program.
///
/// # Safety
/// What the attributes point to is as the command wants it.
unsafe fn call<A>(command: libc::c_int, attributes: &A) -> io::Result<OwnedFd> {
    // SAFETY: as the caller says; the attributes live until the call has returned.
    let made = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<A>()) };
    let made = i32::try_from(made).map_err(io::Error::other)?;
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it, and it is no one else's.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}
