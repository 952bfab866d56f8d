//! The memory of another process, read in one call and never written.

use std::io;

/// A part of another process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it begins, by that process's addresses.
    pub address: u64,
    /// How many bytes.
    pub length: usize,
}

/// Reads parts of a process's memory, one behind the other, into `bytes`, whose length is their sum.
///
/// Each byte is read on its own: what another processor changes meanwhile may come out half old and half new.
/// The kernel allows it to who may trace the process: the same user, or a privileged one; see ptrace(2).
///
/// # Errors
/// The kernel's, and `UnexpectedEof` where a part is not mapped.
pub fn read_memory(process: u32, parts: &[Part], bytes: &mut [u8]) -> io::Result<()> {
    let wanted: usize = parts.iter().map(|part| part.length).sum();
    if wanted != bytes.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the parts do not fill the bytes"));
    }
    let mut rest = bytes;
    for parts in parts.chunks(PARTS_MAX) {
        let length = parts.iter().map(|part| part.length).sum();
        let (now, later) = rest.split_at_mut(length);
        read_some(process, parts, now)?;
        rest = later;
    }
    Ok(())
}

fn read_some(process: u32, parts: &[Part], bytes: &mut [u8]) -> io::Result<()> {
    let process = libc::pid_t::try_from(process).map_err(|_| io::ErrorKind::InvalidInput)?;
    let remote: Vec<libc::iovec> = parts
        .iter()
        .map(|part| libc::iovec { iov_base: part.address as *mut libc::c_void, iov_len: part.length })
        .collect();
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: `local` is the whole of `bytes`, which is borrowed for writing until the call has returned. The kernel
    // takes the addresses in `remote` for the other process's and checks them; this process never uses them.
    let read = unsafe { libc::process_vm_readv(process, &local, 1, remote.as_ptr(), remote.len() as libc::c_ulong, 0) };
    match usize::try_from(read) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(read) if read == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Parts that the kernel takes in one call: its `UIO_MAXIOV`.
const PARTS_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn part(of: &[u8]) -> Part {
        Part { address: of.as_ptr() as u64, length: of.len() }
    }

    #[test]
    fn parts_come_one_behind_the_other_however_many_there_are() {
        let memory: Vec<u8> = (0..=255).cycle().take(3 * PARTS_MAX * 2).collect();
        let parts: Vec<Part> = memory.chunks(2).rev().map(part).collect();
        let mut bytes = vec![0; memory.len()];
        read_memory(std::process::id(), &parts, &mut bytes).unwrap();
        assert!(bytes.chunks(2).eq(memory.chunks(2).rev()));
    }

    #[test]
    fn memory_that_is_not_there_is_an_error_and_not_zeros() {
        let known = [7_u8; 8];
        let mut bytes = [1; 16];
        let parts = [part(&known), Part { address: 8, length: 8 }];
        let error = read_memory(std::process::id(), &parts, &mut bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(read_memory(std::process::id(), &parts[1..], &mut bytes[..8]).is_err());
        assert!(read_memory(u32::MAX, &parts[..1], &mut bytes[..8]).is_err());
        assert_eq!(read_memory(1, &[], &mut bytes).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
