//! Witnesses of the page cache: which pages of a target it holds, as the kernel reports and not guessed from times.
//!
//! [`cached`] changes nothing; [`nowait_hits`] does, as described there. For a block device both mean the device's own
//! page cache, not that of the files on it.

use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use rustix::fs::{Access, Advice, AtFlags};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use thiserror::Error;

use super::caching::Caching;
use super::target::{Target, TargetError};
use crate::process::thread_fetched;

/// Number of cachestat(2) on every architecture (Linux 6.5).
const SYS_CACHESTAT: libc::c_long = 451;

/// Most pages of one call of mincore(2), which answers with a byte for each: all those of a disk of 4 TiB would take a
/// GiB.
const MINCORE_PAGES: u64 = 1 << 18;

/// How much of a range the page cache held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cached {
    /// Pages of the range in the page cache at the time of the call.
    pub pages: u64,
    /// Pages of the range.
    pub of: u64,
    /// The system call that counted them.
    pub source: &'static str,
}

/// Results of reads that the page cache alone may serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NowaitProbe {
    /// Reads that returned data from the page cache, which held all or the first part of the block.
    pub answered: u64,
    /// Reads that would have had to wait for the device.
    pub refused: u64,
    /// Reads that returned data, but not what the page cache had held: the kernel started to fetch it, and the device
    /// was done before the kernel looked again.
    pub fetched: u64,
}

/// Why a witness is not available.
#[derive(Debug, Error)]
pub enum WitnessError {
    /// The kernel reports it only to users who own the file or may write to it.
    #[error(
        "the state of the page cache is unknown: the kernel reports it only to the owner of the file and to users who \
        may write to it"
    )]
    NotPermitted,
    /// This system has neither system call.
    #[error("the state of the page cache is unknown: this kernel or file system cannot report it")]
    NotSupported,
    /// The file could not be opened again for buffered reads.
    #[error(transparent)]
    Reopen(#[from] TargetError),
    /// Any other error of the kernel.
    #[error("the state of the page cache is unknown: {0}")]
    Failed(io::Error),
}

impl From<Errno> for WitnessError {
    fn from(errno: Errno) -> WitnessError {
        match errno {
            Errno::PERM | Errno::ACCESS => WitnessError::NotPermitted,
            Errno::NOSYS | Errno::OPNOTSUPP => WitnessError::NotSupported,
            other => WitnessError::Failed(other.into()),
        }
    }
}

/// How many pages of the `length` bytes from `offset` the page cache holds. The range is cut to the target's size.
///
/// Uses `cachestat(2)`, which counts in the kernel; on older kernels, and where a sandbox refuses it, `mincore(2)` over
/// a mapping that only the kernel looks at. The result may be stale on return.
pub fn cached(target: &Target, offset: u64, length: u64) -> Result<Cached, WitnessError> {
    let range = PageRange::of(target, offset, length);
    if range.pages == 0 {
        return Ok(Cached { pages: 0, of: 0, source: "an empty range" });
    }
    match cachestat(target, range) {
        // The filter of a container refuses a call that it does not know, as the kernel refuses it to users who may not
        // write. mincore is older, and its answer is asked for under the same right.
        Err(Errno::NOSYS | Errno::PERM) => by_mincore(target, range),
        counted => Ok(Cached { pages: counted?, of: range.pages, source: "cachestat(2)" }),
    }
}

/// Whole pages that cover a range of bytes.
#[derive(Clone, Copy, Debug)]
struct PageRange {
    offset: u64,
    length: u64,
    pages: u64,
}

impl PageRange {
    fn of(target: &Target, offset: u64, length: u64) -> PageRange {
        let page = rustix::param::page_size() as u64;
        let end = offset.saturating_add(length).min(target.size());
        let offset = offset.min(end) / page * page;
        let length = (end - offset).next_multiple_of(page);
        PageRange { offset, length, pages: length / page }
    }

    /// The range in parts of at most this many pages.
    fn parts(self, pages_max: u64) -> impl Iterator<Item = PageRange> {
        let page = self.length / self.pages.max(1);
        (0..self.pages.div_ceil(pages_max)).map(move |part| {
            let first = part * pages_max;
            let pages = pages_max.min(self.pages - first);
            PageRange { offset: self.offset + first * page, length: pages * page, pages }
        })
    }
}

/// `struct cachestat_range` of `linux/mman.h`.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// `struct cachestat`.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

fn cachestat(target: &Target, range: PageRange) -> Result<u64, Errno> {
    let asked = CachestatRange { offset: range.offset, length: range.length };
    let mut found = Cachestat::default();
    let descriptor = target.as_fd().as_raw_fd();
    // SAFETY: both structures have the kernel's layout and outlive the call; the descriptor is open; flags are 0.
    let answer = unsafe { libc::syscall(SYS_CACHESTAT, descriptor, &raw const asked, &raw mut found, 0) };
    if answer < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    Ok(found.cached)
}

fn by_mincore(target: &Target, range: PageRange) -> Result<Cached, WitnessError> {
    // To other users mincore reports all pages as present (Linux 5.2), which would look like a warm cache.
    if !may_write(target) {
        return Err(WitnessError::NotPermitted);
    }
    let mut present = vec![0_u8; MINCORE_PAGES.min(range.pages) as usize];
    let mut pages = 0;
    for part in range.parts(MINCORE_PAGES) {
        pages += mincore(target, part, &mut present[..part.pages as usize])?;
    }
    Ok(Cached { pages, of: range.pages, source: "mincore(2)" })
}

/// Whether the user owns the target or may write to it; opens nothing.
fn may_write(target: &Target) -> bool {
    let owned = rustix::fs::fstat(target).is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw());
    let through = format!("/proc/self/fd/{}", target.as_fd().as_raw_fd());
    owned || rustix::fs::accessat(rustix::fs::CWD, through, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Counts the pages of a mapping that are in memory, with a byte of `present` for each. Mapping loads none, and nothing
/// reads through it.
fn mincore(target: &Target, range: PageRange, present: &mut [u8]) -> Result<u64, Errno> {
    assert_eq!(present.len() as u64, range.pages, "the kernel writes a byte for each page");
    let length = range.length as usize;
    // SAFETY: a null hint replaces no existing memory. The mapping is never read, so the file may shrink or change
    // meanwhile.
    let mapping = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, target, range.offset) }?;
    // SAFETY: the range is the mapping just made, and `present` has a byte for each of its pages.
    let answer = unsafe { libc::mincore(mapping, length, present.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping is owned here and nothing refers to it.
    unsafe { munmap(mapping, length) }?;
    if answer < 0 {
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    Ok(present.iter().filter(|page| *page & 1 == 1).count() as u64)
}

/// Reads `length` bytes at each of `offsets`, if that is possible without waiting (`RWF_NOWAIT`).
///
/// Opens the target once more for buffered reads, because the flag has another meaning on a direct descriptor.
///
/// A refused read perturbs: the kernel starts to fetch the pages, and the same offset is served a moment later. The
/// descriptor is therefore declared random (`POSIX_FADV_RANDOM`), which limits the fetch to the requested pages
/// instead of a whole read-ahead window. Probe a sample, after the measurement; [`cached`] perturbs nothing.
///
/// Returned data alone proves no hit: on a virtual disk, in one run of fifty, all such reads of a cold file returned
/// data, because the fetch had ended by the time the kernel looked. The bytes that the thread fetched from storage
/// meanwhile (`/proc/thread-self/io`) distinguish the two; kernels without those counts report all as answered.
pub fn nowait_hits(target: &Target, offsets: &[u64], length: usize) -> Result<NowaitProbe, WitnessError> {
    let buffered = target.reopen(Caching::Buffered)?;
    rustix::fs::fadvise(&buffered, 0, None, Advice::Random)?;
    let mut buffer = vec![0; length];
    let mut probe = NowaitProbe::default();
    for offset in offsets {
        let before = thread_fetched();
        let mut vector = [IoSliceMut::new(&mut buffer)];
        let answer = rustix::io::preadv2(&buffered, &mut vector, *offset, ReadWriteFlags::NOWAIT);
        match answer {
            Ok(_) if fetched_since(before) => probe.fetched += 1,
            Ok(_) => probe.answered += 1,
            Err(Errno::AGAIN) => probe.refused += 1,
            Err(other) => return Err(other.into()),
        }
    }
    Ok(probe)
}

/// Whether the thread has fetched anything from storage since; false if the kernel does not count it.
fn fetched_since(before: Option<u64>) -> bool {
    before.zip(thread_fetched()).is_some_and(|(before, after)| after > before)
}

/// Asks the kernel to drop the clean pages of a range from the page cache (`POSIX_FADV_DONTNEED`).
///
/// Pages that are dirty, mapped or still being read stay: check the result with [`cached`].
pub fn evict(target: &Target, offset: u64, length: u64) -> io::Result<()> {
    // To the kernel a length of 0 means the rest of the file; to the caller it means no bytes.
    let Some(length) = NonZeroU64::new(length) else { return Ok(()) };
    Ok(rustix::fs::fadvise(target, offset, Some(length), Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_of_many_pages_is_looked_at_in_parts_that_cover_it_once() {
        let pages = (4_u64 << 40) / 4096 + 5;
        let range = PageRange { offset: 8192, length: pages * 4096, pages };
        let mut reached = range.offset;
        for part in range.parts(MINCORE_PAGES) {
            assert!((1..=MINCORE_PAGES).contains(&part.pages), "{part:?}");
            assert_eq!((part.offset, part.length), (reached, part.pages * 4096));
            reached += part.length;
        }
        assert_eq!(reached, range.offset + range.length);
    }

    /// Refuses a system call to the calling thread, as the filter of a container does; false where that is refused too.
    fn forbid(call: libc::c_long) -> bool {
        let step = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
        let mut program = [
            // The number of the call stands first.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 1),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
        ];
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        let [one, none]: [libc::c_ulong; 2] = [1, 0];
        let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
        // SAFETY: the first call takes numbers, and the second reads the program, which lives across it. Both change
        // the calling thread alone.
        unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter) == 0
        }
    }

    #[test]
    fn where_a_sandbox_refuses_the_newer_call_the_older_one_answers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 1 << 20]).unwrap();
        let target = Target::open(file.path(), Caching::Buffered).unwrap();
        let asked = std::thread::spawn(move || forbid(SYS_CACHESTAT).then(|| cached(&target, 0, 1 << 20)));
        let Some(counted) = asked.join().unwrap() else { return println!("skipped: this user may set no filter") };
        let counted = counted.unwrap();
        assert_eq!(counted.source, "mincore(2)");
        assert!(counted.pages > 0, "{counted:?}");
    }

    #[test]
    fn mincore_finds_as_much_in_parts_as_at_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes = (MINCORE_PAGES + 3) * rustix::param::page_size() as u64;
        file.as_file().set_len(bytes).unwrap();
        // What was just written is in the page cache, in the last part.
        rustix::io::pwrite(file.as_file(), b"data", bytes - 4).unwrap();
        let target = Target::open(file.path(), Caching::Buffered).unwrap();
        let range = PageRange::of(&target, 0, target.size());
        let at_once = mincore(&target, range, &mut vec![0_u8; range.pages as usize]).unwrap();
        let found = by_mincore(&target, range).unwrap();
        assert!(at_once > 0);
        assert_eq!((found.pages, found.of), (at_once, MINCORE_PAGES + 3));
    }
}
