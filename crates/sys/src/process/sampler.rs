//! Where the processor's time goes: the stacks of running threads, a sample every few milliseconds of CPU time.
//!
//! A timer on the process's CPU time sends a signal, and the handler records the addresses of the interrupted stack. It
//! allocates nothing and takes no lock. The kernel checks such timers once a tick, so the rate never exceeds the tick
//! (250 Hz on most machines).

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Frames kept of a stack, from the innermost: more than the engine's readers have.
const DEPTH_MAX: usize = 32;

/// Most samples of a run: a minute of CPU time at 250 Hz. 4 MiB.
const SAMPLES_MAX: usize = 1 << 14;

/// Words of a sample: the number of its frames, and the frames.
const SAMPLE_WORDS: usize = 1 + DEPTH_MAX;

/// Frames of the handler itself and of the kernel's entry into it.
const HANDLER_FRAMES: usize = 2;

/// The timer's interval; the kernel rounds it up to its tick.
const INTERVAL_MICROS: libc::suseconds_t = 1000;

/// Where the handler writes; null without a sampler.
static WORDS: AtomicPtr<AtomicUsize> = AtomicPtr::new(ptr::null_mut());
static NEXT: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Samples the process's stacks while it is running. There can be one at a time.
#[derive(Debug)]
pub struct Sampler {
    words: &'static [AtomicUsize],
}

impl Sampler {
    /// Takes over SIGPROF; sampling starts with [`resume`](Sampler::resume). Errors if there is a sampler already.
    pub fn new() -> io::Result<Sampler> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(io::Error::other("the process is being sampled already"));
        }
        // Never freed: a late signal may still write to it. A process has one sampler in its life, or few.
        let words: &'static [AtomicUsize] =
            (0..SAMPLES_MAX * SAMPLE_WORDS).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>().leak();
        NEXT.store(0, Ordering::SeqCst);
        WORDS.store(words.as_ptr().cast_mut(), Ordering::SeqCst);
        // SAFETY: all-zero is a valid sigaction; the handler below is safe to run at any moment, as it says.
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
            libc::sigaction(libc::SIGPROF, &action, ptr::null_mut())
        };
        if installed == 0 { Ok(Sampler { words }) } else { Err(io::Error::last_os_error()) }
    }

    /// Starts sampling.
    pub fn resume(&self) {
        set_timer(INTERVAL_MICROS);
    }

    /// Stops sampling until [`resume`](Sampler::resume).
    pub fn pause(&self) {
        set_timer(0);
    }

    /// The samples so far: addresses of each stack, innermost first.
    pub fn stacks(&self) -> Vec<Vec<usize>> {
        let taken = NEXT.load(Ordering::SeqCst).min(SAMPLES_MAX);
        let samples = self.words.chunks_exact(SAMPLE_WORDS).take(taken);
        let stack = |sample: &[AtomicUsize]| -> Vec<usize> {
            let frames = sample[0].load(Ordering::Acquire);
            sample[1..].iter().take(frames).map(|word| word.load(Ordering::Relaxed)).collect()
        };
        samples.map(stack).filter(|stack| !stack.is_empty()).collect()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        set_timer(0);
        // SAFETY: ignoring a signal is always sound; one that is still on its way then does nothing.
        unsafe { libc::signal(libc::SIGPROF, libc::SIG_IGN) };
        WORDS.store(ptr::null_mut(), Ordering::SeqCst);
        TAKEN.store(false, Ordering::SeqCst);
    }
}

fn set_timer(micros: libc::suseconds_t) {
    let interval = libc::timeval { tv_sec: 0, tv_usec: micros };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: the structure is valid for reading, and no old value is asked for. ITIMER_PROF with a time below a
    // second cannot fail.
    unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, ptr::null_mut()) };
}

/// Records the stack it interrupted, on the thread that was running.
///
/// The unwinder reads the program's frame tables, which the loader keeps in memory, and allocates nothing for frames
/// without clean-up. The sampled readers neither load libraries nor unwind by themselves, so the loader's lock, which
/// some C libraries take for this, is free.
extern "C" fn on_signal(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    let words = WORDS.load(Ordering::Acquire);
    let sample = NEXT.fetch_add(1, Ordering::Relaxed);
    if words.is_null() || sample >= SAMPLES_MAX {
        return;
    }
    // SAFETY: the words are leaked and so live for ever, and the sample lies within them.
    let words = unsafe { std::slice::from_raw_parts(words.add(sample * SAMPLE_WORDS), SAMPLE_WORDS) };
    let mut walk = Walk { words, skip: HANDLER_FRAMES, frames: 0 };
    // SAFETY: `on_frame` has the signature that the unwinder calls, and `walk` outlives the call.
    unsafe { _Unwind_Backtrace(on_frame, (&raw mut walk).cast()) };
    words[0].store(walk.frames, Ordering::Release);
}

/// A stack being recorded.
struct Walk<'a> {
    words: &'a [AtomicUsize],
    skip: usize,
    frames: usize,
}

/// Continues (0) or ends (5, `_URC_END_OF_STACK`).
extern "C" fn on_frame(context: *mut UnwindContext, walk: *mut c_void) -> c_int {
    // SAFETY: this is the pointer that `on_signal` passed, which nothing else uses meanwhile.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    if walk.skip > 0 {
        walk.skip -= 1;
        return 0;
    }
    let mut before: c_int = 0;
    // SAFETY: the context is the unwinder's own, valid during this call.
    let address = unsafe { _Unwind_GetIPInfo(context, &mut before) };
    // A return address lies after the call; one byte less is within it.
    let address = if before == 0 { address.saturating_sub(1) } else { address };
    walk.words[1 + walk.frames].store(address, Ordering::Relaxed);
    walk.frames += 1;
    if walk.frames == DEPTH_MAX { 5 } else { 0 }
}

/// The unwinder's own.
#[repr(C)]
struct UnwindContext {
    _opaque: [u8; 0],
}

// Of the unwinder that the standard library links; Itanium C++ ABI, level I.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        on_frame: extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut UnwindContext, before: *mut c_int) -> usize;
}

/// The names of the functions at an address, those inlined into others first.
pub fn names(address: usize) -> Vec<String> {
    let mut names = Vec::new();
    // The crate takes an address for the one behind a call and looks up the byte before.
    backtrace::resolve(address.wrapping_add(1) as *mut c_void, |symbol| {
        names.push(symbol.name().map_or_else(|| "unknown".into(), |name| format!("{name:#}")));
    });
    if names.is_empty() { vec!["unknown".into()] } else { names }
}

/// Whether this program has the names of its functions: one of a package is stripped of them.
pub fn knows_names() -> bool {
    let own: fn(usize) -> Vec<String> = names;
    names(own as usize).iter().any(|name| name.ends_with("names"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::process_cpu;
    use measure::Nanos;
    use std::hint::black_box;

    #[test]
    fn a_program_that_was_not_stripped_knows_its_names() {
        assert!(knows_names());
    }

    #[test]
    fn the_first_instruction_of_a_function_is_not_looked_up_in_the_function_before() {
        let names = names(busy_for_a_while as *const () as usize);
        assert!(names.iter().any(|name| name.contains("busy_for_a_while")), "{names:?}");
    }

    #[inline(never)]
    fn busy_for_a_while() {
        let start = process_cpu();
        while process_cpu().since(start) < Nanos::from_millis(200) {
            black_box((0..10_000_u64).fold(0, |sum, step| sum ^ black_box(step)));
        }
    }

    #[test]
    fn samples_find_the_function_that_runs_and_none_while_paused() {
        let sampler = Sampler::new().unwrap();
        assert!(Sampler::new().is_err());
        busy_for_a_while();
        assert!(sampler.stacks().is_empty());
        sampler.resume();
        busy_for_a_while();
        sampler.pause();
        let stacks = sampler.stacks();
        let here = |stack: &Vec<usize>| {
            stack.iter().any(|address| names(*address).iter().any(|name| name.contains("busy_for_a_while")))
        };
        assert!(stacks.len() > 5, "{} samples", stacks.len());
        let found = stacks.iter().filter(|stack| here(stack)).count();
        // Threads of other tests are sampled too.
        assert!(found > 5, "{found} of {}", stacks.len());
    }
}
