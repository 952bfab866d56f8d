//! The call bpf(2): maps of which programs are given the numbers, and programs.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Commands of bpf(2).
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const PROG_LOAD: libc::c_int = 5;
const MAP_LOOKUP_AND_DELETE: libc::c_int = 21;

/// Types of maps and programs.
const ARRAY: u32 = 2;
const QUEUE: u32 = 22;
pub(super) const RING: u32 = 27;

/// The helper that reads a process's memory is for programs under the GPL, this one among others.
const LICENSE: &[u8] = b"Dual MIT/GPL\0";

/// Bytes of the kernel's complaint about a program.
const COMPLAINT_BYTES: usize = 16 << 10;

/// First in, first out.
#[derive(Debug)]
pub(crate) struct Queue {
    map: OwnedFd,
    bytes: usize,
}

/// One number.
#[derive(Debug)]
pub(crate) struct Array {
    map: OwnedFd,
}

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
struct MapElement {
    map: u32,
    _fill: u32,
    key: u64,
    value: u64,
    flags: u64,
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

impl Queue {
    /// Of entries of this many bytes.
    pub(crate) fn new(bytes: usize, entries: u32) -> io::Result<Queue> {
        let map =
            create(MapCreate { kind: QUEUE, value_size: bytes as u32, max_entries: entries, ..Default::default() });
        Ok(Queue { map: map?, bytes })
    }

    /// Takes the oldest entry; whether there was one.
    pub(crate) fn pop(&self, entry: &mut [u64]) -> io::Result<bool> {
        if size_of_val(entry) != self.bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the kernel writes an entry, whose size is that of the slice, to where the slice begins.
        match unsafe { element(MAP_LOOKUP_AND_DELETE, &self.map, None, entry) } {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Its number, by which programs name it.
    pub(crate) fn number(&self) -> i32 {
        self.map.as_raw_fd()
    }
}

impl Array {
    /// Holds 0.
    pub(crate) fn of_one() -> io::Result<Array> {
        let map = create(MapCreate { kind: ARRAY, key_size: 4, value_size: 8, max_entries: 1, ..Default::default() });
        Ok(Array { map: map? })
    }

    /// What it holds.
    pub(crate) fn value(&self) -> io::Result<u64> {
        let (key, mut value) = (0_u32, [0_u64]);
        // SAFETY: the kernel reads a key of four bytes, and writes a value of eight, to where the slice begins.
        unsafe { element(MAP_LOOKUP, &self.map, Some(&key), &mut value)? };
        Ok(value[0])
    }

    /// Its number, by which programs name it.
    pub(crate) fn number(&self) -> i32 {
        self.map.as_raw_fd()
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

/// # Safety
/// The kernel reads a key of the map's size and writes a value of the map's size to where `value` begins.
unsafe fn element(command: libc::c_int, map: &OwnedFd, key: Option<&u32>, value: &mut [u64]) -> io::Result<()> {
    let attributes = MapElement {
        map: map.as_raw_fd() as u32,
        key: key.map_or(0, |key| std::ptr::from_ref(key) as u64),
        value: value.as_mut_ptr() as u64,
        ..Default::default()
    };
    let size = size_of::<MapElement>();
    // SAFETY: as the caller says; the attributes live until the call has returned.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const attributes, size) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
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
