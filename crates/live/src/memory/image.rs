//! A running program: where its exported variables are in its processes' memory.

use std::fs;
use std::io;
use std::os::linux::fs::MetadataExt;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSegment, ObjectSymbol};
use sys::process::{Part, read_memory};

/// The farthest that two places in the shared memory lie apart.
const SHARED_MAX: u64 = 1 << 40;

/// The addresses of variables in each process that a program's first process has forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variables {
    /// `my_wait_event_info`: where the process says for what it waits.
    pub(super) wait_event: u64,
    /// `MyBEEntry`: what the process shows of itself.
    pub(super) entry: u64,
}

impl Variables {
    /// Finds them in the program that this process runs.
    pub(super) fn of(process: u32) -> Result<Variables, String> {
        let link = format!("/proc/{process}/exe");
        let cannot =
            |error: io::Error| format!("the program of process {process} cannot be read: {error}{}", advice(&error));
        let program = fs::read(&link).map_err(cannot)?;
        let inode = fs::metadata(&link).map_err(cannot)?.st_ino();
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).map_err(cannot)?;
        let begin = beginning(&maps, inode).ok_or("the program is not mapped from its beginning")?;
        let file: ElfFile64 =
            ElfFile64::parse(&*program).map_err(|error| format!("the program is not an ELF file: {error}"))?;
        let first = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
        // Pages are mapped whole.
        let bias = begin.wrapping_sub(first & !0xfff);
        let address = |name: &str| {
            let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name) && symbol.address() > 0);
            let symbol = symbol.ok_or_else(|| format!("the program does not export `{name}`"))?;
            Ok::<u64, String>(bias.wrapping_add(symbol.address()))
        };
        Ok(Variables { wait_event: address("my_wait_event_info")?, entry: address("MyBEEntry")? })
    }

    /// What they hold in a process of the program: where it says for what it waits, and its entry. `None` as long as it
    /// has none. Errors where it has ended, and where it may not be read.
    pub(super) fn read(&self, process: u32) -> io::Result<Option<(u64, u64)>> {
        let mut bytes = [0; 16];
        let part = |address| Part { address, length: 8 };
        read_memory(process, &[part(self.wait_event), part(self.entry)], &mut bytes)?;
        let [wait, entry] = [0, 8].map(|at| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
        // Until a process has a place in shared memory, it says what it waits for in memory of its own.
        let is_shared = entry != 0 && wait.abs_diff(entry) < SHARED_MAX && wait.abs_diff(self.wait_event) > SHARED_MAX;
        Ok(is_shared.then_some((wait, entry)))
    }
}

/// What to do where the kernel does not let us read a process's memory; empty where that is not why.
pub(super) fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; root may read it, and so may the server's user with CAP_SYS_PTRACE or where kernel.yama.ptrace_scope \
             is 0"
        }
        _ => "",
    }
}

/// Where a file with this inode is mapped from its first byte on.
fn beginning(maps: &str, inode: u64) -> Option<u64> {
    maps.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (range, offset, of) = (words.next()?, words.nth(1)?, words.nth(1)?);
        let is_it = u64::from_str_radix(offset, 16) == Ok(0) && of.parse() == Ok(inode);
        is_it.then(|| u64::from_str_radix(range.split('-').next()?, 16).ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
        55d0c4a00000-55d0c4aff000 r--p 00000000 fe:00 1234                       /usr/lib/postgresql/15/bin/postgres\n\
        55d0c4aff000-55d0c5000000 r-xp 000ff000 fe:00 1234                       /usr/lib/postgresql/15/bin/postgres\n\
        7f65f0000000-7f6600000000 rw-s 00000000 00:01 99                         /dev/zero (deleted)\n";

    #[test]
    fn a_program_begins_where_its_first_byte_is_mapped() {
        assert_eq!(beginning(MAPS, 1234), Some(0x55d0_c4a0_0000));
        assert_eq!((beginning(MAPS, 5), beginning("", 1234), beginning("x\n1-2 r 0\n", 1)), (None, None, None));
    }

    #[test]
    fn a_program_that_is_no_server_says_what_it_lacks() {
        let lack = Variables::of(std::process::id()).unwrap_err();
        assert_eq!(lack, "the program does not export `my_wait_event_info`");
        let gone = Variables::of(u32::MAX).unwrap_err();
        assert!(gone.contains("cannot be read") && !gone.contains("root"), "{gone}");
    }

    #[test]
    fn memory_that_the_kernel_refuses_comes_with_what_to_do() {
        let of = |number: i32| advice(&io::Error::from_raw_os_error(number));
        // EPERM, EACCES and ESRCH.
        assert!(of(1).contains("CAP_SYS_PTRACE") && of(1).contains("kernel.yama.ptrace_scope"));
        assert_eq!((of(13), of(3)), (of(1), ""));
    }
}
