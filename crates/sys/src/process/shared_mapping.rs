//! Shared memory of another process, mapped here and never written: what stands in it is read without a call.
//!
//! What several processes share without a name has one file of the kernel's, which `/proc/PID/map_files` shows to root
//! and to CAP_CHECKPOINT_RESTORE. It stays as long as any process maps it: a mapping is to be dropped when the process
//! has ended.

use std::fs::{self, File};
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering, fence};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// How the kernel names the file of shared memory that has no name.
const NAMELESS: &str = "/dev/zero (deleted)";

/// Bytes that are read at once.
const WORD: usize = size_of::<u32>();

/// Nameless shared memory of another process.
#[derive(Debug)]
pub struct SharedMapping {
    /// Where it begins, by the other process's addresses.
    address: u64,
    start: NonNull<AtomicU32>,
    length: usize,
}

// SAFETY: a mapping owns its place in memory alone; nothing in it is tied to a thread.
unsafe impl Send for SharedMapping {}

impl SharedMapping {
    /// Maps the nameless shared memory that stands at this address of a process.
    ///
    /// # Errors
    /// `NotFound` where there is none at the address, and the kernel's, which refuses it to most users.
    pub fn of(process: u32, address: u64) -> io::Result<SharedMapping> {
        // The files that a process maps may have names of any bytes.
        let maps = fs::read(format!("/proc/{process}/maps"))?;
        let maps = String::from_utf8_lossy(&maps);
        let Around { range, begin, end, offset } =
            maps.lines().find_map(|line| around(line, address)).ok_or(io::ErrorKind::NotFound)?;
        let file = File::open(format!("/proc/{process}/map_files/{range}"))?;
        let length = usize::try_from(end - begin).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: a null hint and a new mapping: no existing memory is replaced.
        let start = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, &file, offset) }?;
        let start = NonNull::new(start.cast::<AtomicU32>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SharedMapping { address: begin, start, length })
    }

    /// The word at an address of the other process; `None` where that is not in the mapping, or no word begins there.
    pub fn word(&self, address: u64) -> Option<u32> {
        let word = self.words(address, WORD)?;
        // SAFETY: `words` has found one there.
        let found = unsafe { &*word }.load(Ordering::Relaxed);
        // Memory that may only be read allows no other load than a relaxed one.
        fence(Ordering::Acquire);
        Some(found)
    }

    /// Copies what stands at an address of the other process, word by word; whether all of it is in the mapping. What
    /// another processor changes meanwhile may come out half old and half new, between two words.
    pub fn copy(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Some(first) = self.words(address, bytes.len()) else { return false };
        for (at, four) in bytes.chunks_exact_mut(WORD).enumerate() {
            // SAFETY: `words` has found as many of them there as there are four bytes.
            let word = unsafe { &*first.add(at) };
            four.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        // Words that are read after this were written after those above.
        fence(Ordering::Acquire);
        true
    }

    /// The first of the words at an address, where `length` bytes from there on are whole words of the mapping. Each of
    /// them may be read as long as `self` lasts. This points into the whole mapping: a reference to the first word
    /// would not allow a step to the next.
    fn words(&self, address: u64, length: usize) -> Option<*const AtomicU32> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        let is_inside = offset.checked_add(length)? <= self.length;
        let is_whole = offset.is_multiple_of(WORD) && length.is_multiple_of(WORD) && length > 0;
        // SAFETY: the words lie within the mapping, which begins at a page and lasts as long as `self`. Others write to
        // them at any time, and so they are only ever read as atomics of four bytes, of which every value is one.
        // Memory without a name has no size that could be cut.
        (is_inside && is_whole).then(|| unsafe { self.start.as_ptr().add(offset / WORD) }.cast_const())
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's own, and references into it end with it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A piece of nameless shared memory, as a line of proc(5)'s `maps` has it.
#[derive(Debug, PartialEq, Eq)]
struct Around<'a> {
    range: &'a str,
    begin: u64,
    end: u64,
    /// Where it begins in the memory's file: not at 0 where the kernel keeps a part of the memory apart, because a part
    /// of it has been locked or placed on other nodes.
    offset: u64,
}

/// What a line of `maps` says, where it is of nameless shared memory around an address.
fn around(line: &str, address: u64) -> Option<Around<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let mut fields = rest.split(' ');
    let permissions = fields.next()?;
    let [begin, end, offset] = [begin, end, fields.next()?].map(|number| u64::from_str_radix(number, 16).ok());
    let (begin, end, offset) = (begin?, end?, offset?);
    let is_meant = permissions.ends_with('s') && rest.ends_with(NAMELESS);
    (is_meant && (begin..end).contains(&address)).then_some(Around { range, begin, end, offset })
}

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;

    use super::*;
    use rustix::mm::{MprotectFlags, mmap_anonymous, mprotect};

    /// Shared memory of this process's own, with its address.
    fn shared() -> (&'static [AtomicU32; 1024], u64) {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint and an anonymous mapping: no existing memory is replaced.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), 4096, both, MapFlags::SHARED) }.unwrap();
        // SAFETY: the mapping has 4096 zeroed bytes, is never unmapped, and all use of it is through atomics.
        (unsafe { &*start.cast::<[AtomicU32; 1024]>() }, start as u64)
    }

    #[test]
    fn what_a_process_writes_is_read_without_a_call_and_nothing_beyond_it() {
        let (words, address) = shared();
        let mapping = match SharedMapping::of(std::process::id(), address + 8) {
            Ok(mapping) => mapping,
            Err(error) => return println!("skipped: /proc/PID/map_files is not open to this user: {error}"),
        };
        assert_eq!(mapping.word(address + 8), Some(0));
        words[2].store(7, Ordering::Relaxed);
        words[3].store(0x0a0b_0c0d, Ordering::Relaxed);
        assert_eq!((mapping.word(address + 8), mapping.word(address)), (Some(7), Some(0)));
        let mut bytes = [1; 8];
        assert!(mapping.copy(address + 8, &mut bytes));
        assert_eq!(bytes, [7, 0, 0, 0, 0x0d, 0x0c, 0x0b, 0x0a]);
        let is_there = |address: u64, length: usize| mapping.copy(address, &mut vec![0; length]);
        assert!(is_there(address + 4088, 8) && !is_there(address + 4092, 8), "the end");
        assert!(!is_there(address - 4, 4) && !is_there(u64::MAX - 2, 4) && !is_there(address + 2, 4));
        assert_eq!((mapping.word(address + 4096), mapping.word(0)), (None, None));
    }

    #[test]
    fn shared_memory_that_the_kernel_keeps_in_two_parts_is_not_read_from_its_start_in_both() {
        let page = rustix::param::page_size();
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint and an anonymous mapping: no existing memory is replaced.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), 2 * page, both, MapFlags::SHARED) }.unwrap();
        let behind = start.wrapping_byte_add(page);
        // SAFETY: the mapping has two zeroed pages, is never unmapped, and all use of it is through atomics.
        let (first, second) = unsafe { (&*start.cast::<AtomicU32>(), &*behind.cast::<AtomicU32>()) };
        first.store(1, Ordering::Relaxed);
        second.store(2, Ordering::Relaxed);
        // SAFETY: nothing is written to the second page any more.
        unsafe { mprotect(behind, page, MprotectFlags::READ) }.unwrap();
        let word_at = |address: u64| SharedMapping::of(std::process::id(), address).map(|part| part.word(address));
        match word_at(behind as u64) {
            Ok(word) => assert_eq!((word, word_at(start as u64).unwrap()), (Some(2), Some(1))),
            Err(error) => println!("skipped: /proc/PID/map_files is not open to this user: {error}"),
        }
    }

    /// Makes no call of the kernel, so that Miri can run it.
    #[test]
    fn words_behind_the_first_are_reached_by_a_pointer_into_the_whole_mapping() {
        let words = [1, 2, 3, 4].map(AtomicU32::new);
        // Not dropped: it would be unmapped.
        let start = NonNull::from(&words).cast::<AtomicU32>();
        let mapping = ManuallyDrop::new(SharedMapping { address: 0x1000, start, length: 16 });
        let mut bytes = [9; 12];
        assert!(mapping.copy(0x1004, &mut bytes));
        assert_eq!(bytes, [2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!((mapping.word(0x100c), mapping.word(0x1010)), (Some(4), None));
        assert!(!mapping.copy(0x1008, &mut bytes) && !mapping.copy(0x1002, &mut bytes[..4]));
    }

    #[test]
    fn memory_that_is_not_shared_or_has_a_name_is_none() {
        let own = [0_u8; 8];
        let error = SharedMapping::of(std::process::id(), own.as_ptr() as u64).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let line = "7f65f0000000-7f6600000000 rw-s 00000000 00:01 99                         /dev/zero (deleted)";
        let (begin, end) = (0x7f65_f000_0000, 0x7f66_0000_0000);
        let whole = Around { range: "7f65f0000000-7f6600000000", begin, end, offset: 0 };
        assert_eq!(around(line, begin), Some(whole));
        let behind = around(&line.replace("00000000 00:01", "00fff000 00:01"), begin).map(|part| part.offset);
        assert_eq!(behind, Some(0x00ff_f000));
        assert_eq!(around(line, 0x7f66_0000_0000), None);
        assert_eq!(around(&line.replace("rw-s", "rw-p"), 0x7f65_f000_0000), None);
        assert_eq!(around(&line.replace("/dev/zero", "/SYSV0001"), 0x7f65_f000_0000), None);
        assert_eq!(around("", 0), None);
    }
}
