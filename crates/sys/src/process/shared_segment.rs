//! A segment of System V's shared memory, which outlives the process that made it.

use std::{fs, io, ptr};

/// Where the kernel lists the segments.
const LIST: &str = "/proc/sysvipc/shm";

/// What came of removing a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentRemoval {
    /// It is removed.
    Removed,
    /// A process is attached to it, so that it stays.
    InUse,
    /// The user has no segment of this key and number.
    NotThere,
}

/// Removes the segment of this key and number where it belongs to this user and no process is attached to it.
///
/// # Errors
/// The kernel's, where its list cannot be read or this process may not remove the segment.
pub fn remove_segment(key: i32, number: i32, user: u32) -> io::Result<SegmentRemoval> {
    let list = fs::read_to_string(LIST)?;
    let attached = list.lines().skip(1).find_map(|line| attached_to((key, number), user, line));
    match attached {
        None => return Ok(SegmentRemoval::NotThere),
        Some(0) => {}
        Some(_) => return Ok(SegmentRemoval::InUse),
    }
    // SAFETY: with this command the kernel reads and writes nothing at the address, which is null. No memory of this
    // process goes away: no process was attached, and where one is by now, the kernel keeps the segment until it ends.
    match unsafe { libc::shmctl(number, libc::IPC_RMID, ptr::null_mut()) } {
        0 => Ok(SegmentRemoval::Removed),
        _ => Err(io::Error::last_os_error()),
    }
}

/// How many processes are attached to the segment of a line, where it is this one: key, number, permissions, bytes,
/// maker, last user, processes attached, and the owner.
fn attached_to((key, number): (i32, i32), user: u32, line: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    let said: (i32, i32) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let attached: u64 = words.nth(4)?.parse().ok()?;
    let owner: u32 = words.next()?.parse().ok()?;
    (said == (key, number) && owner == user).then_some(attached)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of segments that no other process finds.
    const KEY: i32 = libc::IPC_PRIVATE;

    #[test]
    fn a_segment_in_use_or_of_another_key_or_user_is_not_removed() {
        let user = rustix::process::geteuid().as_raw();
        // SAFETY: the call takes numbers, and no place in memory.
        let number = unsafe { libc::shmget(KEY, 56, libc::IPC_CREAT | 0o600) };
        assert!(number >= 0, "{}", io::Error::last_os_error());
        let of_another = [remove_segment(KEY + 7, number, user), remove_segment(KEY, number, user + 1)];
        // SAFETY: the kernel chooses a free place for it, so that no memory of this process is replaced.
        let place = unsafe { libc::shmat(number, ptr::null(), 0) };
        let in_use = remove_segment(KEY, number, user);
        // SAFETY: the segment was attached at this place just now, and nothing refers to what is in it.
        let detached = unsafe { libc::shmdt(place) };
        let left = [remove_segment(KEY, number, user), remove_segment(KEY, number, user)];
        assert_eq!(of_another.map(Result::unwrap), [SegmentRemoval::NotThere; 2]);
        assert_eq!((in_use.unwrap(), detached), (SegmentRemoval::InUse, 0));
        assert_eq!(left.map(Result::unwrap), [SegmentRemoval::Removed, SegmentRemoval::NotThere]);
    }

    #[test]
    fn a_line_is_read_by_its_columns() {
        let line = "  17895697     3  1600           56  4711  4712      2   115   122   115   122 1 1 1 4096 0";
        assert_eq!(attached_to((17_895_697, 3), 115, line), Some(2));
        assert_eq!(attached_to((17_895_697, 3), 122, line), None);
        assert_eq!(attached_to((17_895_697, 4), 115, line), None);
        assert_eq!(attached_to((0, 0), 0, "key shmid"), None);
    }
}
