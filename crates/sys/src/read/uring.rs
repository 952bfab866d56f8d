//! io_uring: many reads in flight from one thread, one system call for handing over and collecting them.
//!
//! The ring is set up for what the read loop does: one thread submits and waits, completions are processed only when
//! it waits (`SINGLE_ISSUER`, `DEFER_TASKRUN`), the descriptor and the buffers are registered, so that the kernel
//! neither looks up the file nor pins pages for each read. Kernels that lack a flag get a ring without it.
//!
//! A ring with `SINGLE_ISSUER` belongs to the thread that enabled it, but a method may be opened on one thread and
//! used on another. So the ring starts disabled, gets its registrations from the thread that opens it, and is
//! enabled by the first `reap`, whose thread owns it from then on; a `reap` elsewhere is an error.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{Builder, EnterFlags, IoUring, opcode, squeue};
use rustix::io::Errno;

use super::method::{Completion, Landing, MethodError, MethodRow, ReadMethod, ReadRequest, Setup, Wait};
use super::slots::Slots;
use crate::memory::Region;

pub(super) const ROW: MethodRow = MethodRow { name: "io_uring", depth_max: Some(ENTRIES_MAX), open };

/// `IORING_MAX_ENTRIES` of `io_uring/io_uring.h`.
const ENTRIES_MAX: usize = 32_768;

/// The kernel takes registered buffers of up to 1 GiB (`io_buffer_validate`).
const REGISTERED_BUFFER_BYTES_MAX: usize = 1 << 30;

/// How long dropping a method waits for reads in flight: nine times the longest single read met so far (1.1 s, of a
/// volume that loads its blocks lazily). After it the buffers are given up instead.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

struct Uring {
    ring: IoUring,
    slots: Slots,
    /// Requests in the submission ring that the kernel has not taken yet.
    queued: usize,
    /// Requests that stayed there when the method finished: they are in flight in name only.
    never_taken: usize,
    is_finished: bool,
    enabled: bool,
    /// How many slots share one registered buffer; `None` when the buffers are not registered.
    slots_per_buffer: Option<usize>,
    /// Lent memory that reads may go to as well.
    lent: Option<Lent>,
    /// Keeps the number of the registered file from meaning another one.
    _descriptor: Arc<OwnedFd>,
}

/// Memory that was lent, and the number of its registered buffer; `None` when it is not registered.
struct Lent {
    memory: Arc<Region>,
    buffer: Option<u16>,
}

fn open(setup: Setup<'_>) -> Result<Box<dyn ReadMethod>, MethodError> {
    if setup.depth > ENTRIES_MAX {
        return Err(MethodError::Depth { method: ROW.name, depth: setup.depth, depth_max: ENTRIES_MAX });
    }
    let unavailable = |reason| MethodError::Unavailable { method: ROW.name, reason, instead: "threads" };
    let slots = Slots::new(&setup)?;
    let ring = ring_of(setup.depth as u32).map_err(unavailable)?;
    let descriptor = setup.target.descriptor();
    ring.submitter().register_files(&[descriptor.as_raw_fd()]).map_err(unavailable)?;
    let (buffers, slots_per_buffer) = buffers_of(&slots);
    let slots_per_buffer = slots_per_buffer.filter(|_| register_buffers(&ring, &buffers));
    let enabled = !ring.params().is_setup_single_issuer();
    Ok(Box::new(Uring {
        ring,
        slots,
        queued: 0,
        never_taken: 0,
        is_finished: false,
        enabled,
        slots_per_buffer,
        lent: None,
        _descriptor: descriptor,
    }))
}

/// Whether this kernel and its administrator offer io_uring; asked once.
pub(super) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| ring_of(1).is_ok())
}

/// A ring with the newest flags that the kernel takes.
fn ring_of(entries: u32) -> io::Result<IoUring> {
    // Linux 6.6; 6.1; 5.19; 5.11. Submitting all after one is refused keeps a bad offset from delaying good ones.
    let flag_sets: [fn(&mut Builder) -> &mut Builder; 4] = [
        |builder| single_issuer(builder).setup_no_sqarray(),
        single_issuer,
        |builder| builder.setup_coop_taskrun().setup_submit_all(),
        |builder| builder,
    ];
    let mut refusal = io::Error::from(Errno::INVAL);
    for flags in flag_sets {
        match flags(&mut IoUring::builder()).build(entries) {
            // Without this feature (Linux 5.11) a wait cannot be given a timeout.
            Ok(ring) if !ring.params().is_feature_ext_arg() => return Err(Errno::NOSYS.into()),
            Ok(ring) => return Ok(ring),
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => refusal = error,
            Err(error) => return Err(error),
        }
    }
    Err(refusal)
}

fn single_issuer(builder: &mut Builder) -> &mut Builder {
    builder.setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun().setup_submit_all().setup_r_disabled()
}

/// The slots as buffers of up to 1 GiB, and how many share one; `None` when a slot is larger.
///
/// One large buffer rather than one for each slot: the kernel merges its pages to huge ones, and finds a slot by
/// arithmetic.
fn buffers_of(slots: &Slots) -> (Vec<libc::iovec>, Option<usize>) {
    let arena = slots.arena();
    let slots_per_buffer = REGISTERED_BUFFER_BYTES_MAX / arena.stride();
    if slots_per_buffer == 0 {
        return (Vec::new(), None);
    }
    let buffer_from = |first: usize| libc::iovec {
        iov_base: arena.pointer(first).as_ptr().cast(),
        iov_len: (arena.slots() - first).min(slots_per_buffer) * arena.stride(),
    };
    ((0..arena.slots()).step_by(slots_per_buffer).map(buffer_from).collect(), Some(slots_per_buffer))
}

/// False when the kernel refuses, usually because RLIMIT_MEMLOCK (8 MiB for ordinary users) forbids to pin that much;
/// reads then name plain addresses.
fn register_buffers(ring: &IoUring, buffers: &[libc::iovec]) -> bool {
    // SAFETY: each range lies within the slots' arena or within memory that was lent. Either is unmapped only after
    // the ring is closed or when none of its reads is in flight; the kernel holds the pages by itself in any case.
    !buffers.is_empty() && unsafe { ring.submitter().register_buffers(buffers) }.is_ok()
}

impl Uring {
    /// A read to `address`, which lies in this registered buffer, or in none.
    fn entry(request: &ReadRequest, address: *mut u8, buffer: Option<u16>) -> squeue::Entry {
        // A slot is smaller than 4 GiB wherever its length comes near to mattering: `read` itself stops at 2 GiB.
        let length = u32::try_from(request.length).unwrap_or(u32::MAX);
        let entry = match buffer {
            Some(buffer) => opcode::ReadFixed::new(Fixed(0), address, length, buffer).offset(request.offset).build(),
            None => opcode::Read::new(Fixed(0), address, length).offset(request.offset).build(),
        };
        entry.user_data(request.slot as u64)
    }

    fn push(&mut self, entry: &squeue::Entry) {
        assert!(!self.is_finished, "nothing is asked of a method that has finished");
        // SAFETY: the slot is in flight from here to its completion, so its buffer is neither shown nor given to
        // another read; it outlives the read, because dropping waits for it or gives the arena up. Lent memory is kept
        // in the same way, and the maker of the `Landing` keeps other code off it.
        let pushed = unsafe { self.ring.submission().push(entry) };
        assert!(pushed.is_ok(), "the ring has an entry for every slot, and no slot is queued twice");
        self.queued += 1;
    }

    /// Makes the calling thread the owner of the ring.
    fn enable(&mut self) -> io::Result<()> {
        if !self.enabled {
            self.ring.submitter().register_enable_rings()?;
            self.enabled = true;
        }
        Ok(())
    }

    /// One system call: hands over what is queued and waits for `missing` reads.
    fn enter(&mut self, missing: usize, timeout: Option<Duration>) -> io::Result<Ended> {
        // Completions are processed only by a call that asks for events, so every call does, even one that just looks.
        let flags = EnterFlags::GETEVENTS;
        let (submit, missing) = (self.queued as u32, missing as u32);
        let submitter = self.ring.submitter();
        let answer = match timeout.map(Timespec::from) {
            // SAFETY: without an argument the kernel reads nothing but the rings, which `self` owns. The entries in
            // the submission ring are those of `queue`, whose buffers stay until their completion.
            None => unsafe { submitter.enter::<libc::sigset_t>(submit, missing, flags.bits(), None) },
            Some(time) => {
                let arguments = SubmitArgs::new().timespec(&time);
                // SAFETY: as above; EXT_ARG says that the argument is a `SubmitArgs`, which outlives the call.
                unsafe { submitter.enter(submit, missing, (flags | EnterFlags::EXT_ARG).bits(), Some(&arguments)) }
            }
        };
        match answer {
            Ok(submitted) => {
                self.queued -= submitted;
                Ok(if self.queued > 0 { Ended::PartlySubmitted } else { Ended::Waited })
            }
            Err(error) => early_end(error),
        }
    }

    /// Moves every completion in the ring to `done`.
    fn collect(&mut self, done: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            let result = match entry.result() {
                bytes if bytes >= 0 => Ok(bytes as usize),
                errno => Err(io::Error::from_raw_os_error(-errno)),
            };
            let completion = Completion { slot: entry.user_data() as usize, result };
            self.slots.end(&completion);
            done.push(completion);
        }
    }

    /// Waits for what the kernel has taken, and hands over nothing more; false when it did not all come back.
    fn drain(&mut self) -> bool {
        let deadline = Instant::now() + DRAIN_TIME_MAX;
        self.never_taken += mem::take(&mut self.queued);
        let mut done = Vec::with_capacity(self.slots.in_flight());
        loop {
            let missing = self.slots.in_flight() - self.never_taken;
            let left = deadline.saturating_duration_since(Instant::now());
            if missing == 0 || left.is_zero() {
                return missing == 0;
            }
            if self.enter(missing, Some(left)).is_err() {
                return false;
            }
            self.collect(&mut done);
        }
    }
}

/// Why a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Everything was handed over, and the wait ended: enough reads, the time, or a signal.
    Waited,
    /// An older kernel stopped handing over at a request that it refused; the rest is still queued.
    PartlySubmitted,
}

fn early_end(error: io::Error) -> io::Result<Ended> {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::TIME | Errno::INTR) => Ok(Ended::Waited),
        Some(Errno::EXIST) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "an io_uring belongs to the thread that first reaped from it, and another one called",
        )),
        _ => Err(error),
    }
}

impl ReadMethod for Uring {
    fn depth(&self) -> usize {
        self.slots.depth()
    }

    fn queue(&mut self, request: ReadRequest) {
        let address = self.slots.begin(&request).as_ptr();
        let buffer = self.slots_per_buffer.map(|slots_per_buffer| (request.slot / slots_per_buffer) as u16);
        let entry = Uring::entry(&request, address, buffer);
        self.push(&entry);
    }

    fn lend(&mut self, memory: &Arc<Region>) -> bool {
        assert!(self.lent.is_none() && self.slots.in_flight() == 0, "memory is lent once, before the first read");
        let (mut buffers, slots_per_buffer) = buffers_of(&self.slots);
        let of_slots = buffers.len();
        let mut buffer = None;
        // The kernel takes no larger buffer, and pinning takes the longer the larger the memory is.
        if self.slots_per_buffer.is_some() && memory.len() <= REGISTERED_BUFFER_BYTES_MAX {
            buffers.push(libc::iovec { iov_base: memory.start().as_ptr().cast(), iov_len: memory.len() });
            let is_free = self.ring.submitter().unregister_buffers().is_ok();
            let both = is_free && register_buffers(&self.ring, &buffers);
            buffer = both.then_some(of_slots as u16);
            let again = both || (is_free && register_buffers(&self.ring, &buffers[..of_slots]));
            self.slots_per_buffer = slots_per_buffer.filter(|_| again);
        }
        self.lent = Some(Lent { memory: Arc::clone(memory), buffer });
        true
    }

    fn queue_into(&mut self, request: ReadRequest, landing: Landing) {
        let memory = &self.lent.as_ref().expect("memory was lent").memory;
        let fits = landing.start.checked_add(landing.length).is_some_and(|end| end <= memory.len());
        assert!(fits && request.length <= landing.length, "{request:?} for {landing:?} of {} bytes", memory.len());
        let address = memory.start().as_ptr().wrapping_add(landing.start);
        // Last, so that no slot is in flight for a request that was refused.
        self.slots.begin(&request);
        let buffer = self.lent.as_ref().and_then(|lent| lent.buffer);
        let entry = Uring::entry(&request, address, buffer);
        self.push(&entry);
    }

    fn finish(&mut self) -> bool {
        self.is_finished = true;
        self.drain()
    }

    /// A signal ends a wait that has a timeout early, so that a loop can look at its stop flag; a wait without one
    /// goes on.
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.enable()?;
        let enough = done.len() + wait.at_least.min(self.slots.in_flight());
        loop {
            let ended = self.enter(enough.saturating_sub(done.len()), wait.timeout)?;
            self.collect(done);
            let gave_up = ended == Ended::Waited && wait.timeout.is_some();
            if ended == Ended::Waited && (gave_up || done.len() >= enough) {
                return Ok(());
            }
        }
    }

    fn data(&self, slot: usize) -> &[u8] {
        self.slots.data(slot)
    }

    fn fallbacks(&self) -> &[&'static str] {
        match self.slots_per_buffer {
            Some(_) => &[],
            None => &["io_uring reads without registered buffers, because RLIMIT_MEMLOCK does not allow to pin them; \
                each read pins its pages anew and costs more CPU; raise the limit (ulimit -l) to compare"],
        }
    }
}

impl Drop for Uring {
    /// Waits for the reads in flight, because the kernel still writes to their buffers.
    ///
    /// Where it cannot wait, because another thread owns the ring or the device does not answer, the buffers are
    /// leaked: a late read may only be written to memory that is never reused. Closing the
    /// ring alone would not do: the kernel cancels what is in flight some time after the close.
    fn drop(&mut self) {
        if self.drain() {
            // The limit on pinned memory is counted for the user: give it back now rather than whenever the kernel
            // tears the ring down. A refusal means that another thread owns the ring, and changes nothing.
            let _ = self.ring.submitter().unregister_buffers();
        } else {
            mem::forget(Arc::clone(self.slots.arena()));
            mem::forget(self.lent.take());
        }
    }
}
