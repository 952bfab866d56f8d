//! How long a thread may keep a processor before the others have their turn.

use std::io;
use std::mem::{size_of, zeroed};

use libc::sched_attr;

/// The shortest slice that the kernel gives, in nanoseconds.
const SHORTEST: u64 = 100_000;

/// Bytes of the kernel's description of how a thread is scheduled.
const SIZE: u32 = size_of::<sched_attr>() as u32;

/// The calling thread with a short slice, until this is dropped.
///
/// On a machine whose processors are all busy, a thread that wakes waits for one. With a slice of the usual length it
/// mostly gets it when another thread goes to sleep, so that whatever it looks at is seen at that moment. With a short
/// one it takes the place of a thread that runs. Its share of the processors stays the same, and it needs no right.
/// Kernels before Linux 6.12 know no such slices and change nothing.
pub struct ShortSlice {
    before: sched_attr,
}

impl ShortSlice {
    /// Gives the calling thread a short slice; `None` where the kernel refuses, or schedules the thread otherwise than
    /// most.
    pub fn begin() -> Option<ShortSlice> {
        let before = of_this_thread().ok().filter(|is| is.sched_policy == libc::SCHED_OTHER as u32)?;
        set(before, SHORTEST).ok()?;
        Some(ShortSlice { before })
    }
}

impl Drop for ShortSlice {
    fn drop(&mut self) {
        // Where no length is given, the usual one holds. If the kernel refused, the thread would only run more often.
        let _ = set(self.before, 0);
    }
}

fn of_this_thread() -> io::Result<sched_attr> {
    // SAFETY: it is made of numbers alone, which may all be 0.
    let mut found: sched_attr = unsafe { zeroed() };
    // SAFETY: the kernel writes at most `SIZE` bytes of numbers into `found`, which is that large and takes any.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, SIZE, 0_u32) };
    if done == 0 { Ok(found) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread a slice of this many nanoseconds, and else what it had.
fn set(before: sched_attr, slice: u64) -> io::Result<()> {
    // What this thread starts has a usual slice. To take that back needs a right, and to leave it does no harm.
    let flags = before.sched_flags | libc::SCHED_FLAG_RESET_ON_FORK as u64;
    let wanted = sched_attr { size: SIZE, sched_flags: flags, sched_runtime: slice, ..before };
    // SAFETY: the kernel reads `wanted`, whose size is in it, and changes nothing but how the calling thread is
    // scheduled.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0_u32) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_short_as_long_as_it_is_wanted_and_not_inherited() {
        let before = of_this_thread().unwrap();
        let Some(slice) = ShortSlice::begin() else { panic!("refused") };
        let during = of_this_thread().unwrap();
        let of_child = std::thread::spawn(|| of_this_thread().unwrap().sched_runtime).join().unwrap();
        drop(slice);
        let after = of_this_thread().unwrap();
        assert_eq!(
            (during.sched_policy, during.sched_nice, after.sched_policy),
            (before.sched_policy, before.sched_nice, before.sched_policy)
        );
        // Kernels without such slices give no length.
        if before.sched_runtime > 0 {
            assert_eq!(
                (during.sched_runtime, of_child, after.sched_runtime),
                (SHORTEST, before.sched_runtime, before.sched_runtime)
            );
        }
    }
}
