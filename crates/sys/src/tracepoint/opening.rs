//! Opening a tracepoint on a processor by perf_event_open(2).

use std::ffi::{CString, c_int};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag};

use super::absence::NoTracing;

/// `PERF_TYPE_TRACEPOINT`, and requests of include/uapi/linux/perf_event.h.
const TRACEPOINT: u32 = 2;
const SET_OUTPUT: u64 = 0x2405;
const SET_FILTER: u64 = 0x4008_2406;

/// Opens the tracepoint of this number on one processor, for all threads, standing still.
pub(super) fn open(name: &str, number: u16, processor: usize) -> Result<Counter, NoTracing> {
    let mut builder = Builder::new(Software::DUMMY);
    builder.attrs_mut().type_ = TRACEPOINT;
    builder.attrs_mut().config = u64::from(number);
    builder.any_pid().one_cpu(processor).include_kernel().include_hv();
    builder.sample_period(1).sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW);
    builder.sample_id_all(true).clockid(Clock::MONOTONIC).read_format(ReadFormat::LOST);
    // Kernels before 6.0 do not count what they lose, and refuse to be asked for it.
    let opened = builder.build().or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => builder.read_format(ReadFormat::empty()).build(),
        _ => Err(error),
    });
    opened.map_err(|error| refusal(name, &error))
}

/// Leaves out what does not pass a filter of the kernel's language, such as `prev_state == 2`.
pub(super) fn set_filter(name: &str, counter: &Counter, filter: &str) -> Result<(), NoTracing> {
    let text = CString::new(filter)
        .map_err(|_| NoTracing::Refused { name: name.into(), why: "its filter has a zero in it".into() })?;
    // SAFETY: the request reads the text, which ends with a zero and lives across the call.
    let result = unsafe { libc::ioctl(counter.as_raw_fd(), SET_FILTER as libc::Ioctl, text.as_ptr()) };
    done(result).map_err(|error| refusal(name, &error))
}

/// Sends the records of a tracepoint to the ring of another one on the same processor.
pub(super) fn set_output(name: &str, counter: &Counter, ring: RawFd) -> Result<(), NoTracing> {
    // SAFETY: the request takes a descriptor, and touches no memory of ours.
    let result = unsafe { libc::ioctl(counter.as_raw_fd(), SET_OUTPUT as libc::Ioctl, ring) };
    done(result).map_err(|error| refusal(name, &error))
}

fn done(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Why the kernel refused.
pub(super) fn refusal(name: &str, error: &io::Error) -> NoTracing {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let setting = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            let paranoid = if setting.is_empty() { "not there".into() } else { setting.trim().to_string() };
            NoTracing::Forbidden { paranoid }
        }
        Some(libc::EMFILE | libc::ENFILE) => NoTracing::TooManyFiles,
        _ => NoTracing::Refused { name: name.into(), why: error.to_string() },
    }
}
