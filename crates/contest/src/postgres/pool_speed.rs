//! The cases of the pool's speed, each measured in turn with the dependent load of as much memory.
//!
//! A disturbance of the machine hits all of them alike; a ratio is the median of the rounds' ratios.

use std::error::Error;
use std::fmt;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use measure::Nanos;
use measure::quantity::{counted, three_digits};
use measure::random::{SplitMix64, mix};
use storage::page::id::PAGE_SIZE;
use storage::pool::{Pool, PoolSettings, Session};
use storage::{PageId, SegmentId};
use sys::file::{Caching, TestFile};
use sys::host::allowed_cpus;
use sys::memory::{Chase, Pages};
use sys::process::affinity::pin;
use sys::process::{peak_memory, thread_cpu};
use sys::time::Clock;

pub(crate) type Failure = Box<dyn Error>;

/// Loads of the pointer chase in one round.
const LOADS: u64 = 1 << 20;
/// How often one thread comes through the order in the cases with threads; two threads take the same time.
const LAPS: usize = 4;
/// How many pages ahead the case with a prefetch looks.
const PAGES_AHEAD: u32 = 8;

/// What the cases work on.
struct Bench<'pool> {
    pool: &'pool Pool,
    clock: Clock,
    segment: SegmentId,
    pages: u32,
    /// Page numbers in random order, each once: read from front to back, which costs next to nothing.
    order: Vec<u32>,
    /// The processors that this process may use.
    cores: Vec<usize>,
}

/// One row of the table: a name and a way to measure it once, in ns a get.
struct Case {
    name: &'static str,
    measure: fn(&Bench<'_>) -> f64,
}

/// The pointer chase over as much memory as the pool has.
pub(crate) const DEPENDENT_LOAD: &str = "dependent load";
pub(crate) const RANDOM: &str = "random, get + release alone";
pub(crate) const RANDOM_TOUCHED: &str = "random, header touched";
pub(crate) const RANDOM_DEPENDENT: &str = "random, next page known from the header";
pub(crate) const IN_ORDER: &str = "page order, get + release alone";
pub(crate) const IN_ORDER_PREFETCHED: &str = "page order, header touched, prefetched";
pub(crate) const ONE_WALL: &str = "distinct pages, one thread, wall";
pub(crate) const TWO_WALL: &str = "distinct pages, two threads, wall";
pub(crate) const ONE_CPU: &str = "distinct pages, one thread, CPU";
pub(crate) const TWO_CPU: &str = "distinct pages, two threads, CPU";

const CASES: [Case; 12] = [
    Case { name: RANDOM, measure: |bench| random(bench, no_touch) },
    Case { name: RANDOM_TOUCHED, measure: |bench| random(bench, touch) },
    Case { name: RANDOM_DEPENDENT, measure: dependent },
    Case { name: IN_ORDER, measure: |bench| in_order(bench, no_touch) },
    Case { name: "page order, header touched", measure: |bench| in_order(bench, touch) },
    Case { name: IN_ORDER_PREFETCHED, measure: in_order_prefetched },
    Case { name: ONE_WALL, measure: |bench| wall(bench, 1, itself) },
    Case { name: TWO_WALL, measure: |bench| wall(bench, 2, itself) },
    Case { name: ONE_CPU, measure: |bench| cpu(bench, 1, itself) },
    Case { name: TWO_CPU, measure: |bench| cpu(bench, 2, itself) },
    Case { name: "one page, one thread, CPU", measure: |bench| cpu(bench, 1, always_the_first) },
    Case { name: "one page, two threads, CPU", measure: |bench| cpu(bench, 2, always_the_first) },
];

/// What the rounds gave, and what the pool stood on.
pub(crate) struct PoolSpeed {
    /// Bytes of the pool on huge pages; `None` where the kernel does not say.
    pub(crate) pool_huge_bytes: Option<u64>,
    /// Bytes of the chase on huge pages.
    pub(crate) chase_huge_bytes: Option<u64>,
    /// What filling the pool took: MB a second, the pool's own counts, memory.
    pub(crate) loading: Loading,
    /// Samples of [`DEPENDENT_LOAD`] and of each case, in ns, one a round.
    pub(crate) samples: Vec<(&'static str, Vec<f64>)>,
}

/// Measures all cases in turn, in a pool of `mib` MiB filled from a nameless file in `directory`.
pub(crate) fn measure(mib: usize, rounds: usize, directory: &Path) -> Result<PoolSpeed, Failure> {
    let pool = Pool::new(PoolSettings::new(mib << 20))?;
    let clock = Clock::calibrate();
    let file = TestFile::create(directory, (mib as u64) << 20, 1, &mut |_| {}, &AtomicBool::new(false))?;
    let target = file.target(Caching::Direct).or_else(|_| file.target(Caching::Buffered))?;
    let pages = pool.frames() as u32;
    let segment = pool.add_segment(target, pages, |_, _| Ok(()))?;
    let loading = load(&pool, &clock, segment, pages)?;
    let bench = Bench { pool: &pool, clock, segment, pages, order: shuffled(pages), cores: allowed_cpus() };
    let mut chase = Chase::new(mib << 20, Pages::Huge, 1)?;
    let (pool_huge_bytes, chase_huge_bytes) = (pool.huge_bytes(), chase.huge_bytes());
    let samples = take_turns(&bench, &mut chase, rounds);
    Ok(PoolSpeed { pool_huge_bytes, chase_huge_bytes, loading, samples })
}

/// How a pool was filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loading {
    /// Megabytes a second.
    pub(crate) rate: f64,
    /// Read requests.
    pub(crate) reads: u64,
    /// MiB of memory at its peak besides the pool; `None` where the system does not tell.
    pub(crate) besides: Option<f64>,
}

impl fmt::Display for Loading {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loading { rate, reads, besides } = *self;
        write!(formatter, "Loaded at {rate:.0} MB/s by {}", counted(reads, "read", "reads"))?;
        match besides {
            Some(besides) => write!(
                formatter,
                "; at its peak the memory had {} MiB besides the pool, with the program and the writing of \
                 the file.",
                three_digits(besides)
            ),
            None => formatter.write_str("."),
        }
    }
}

fn load(pool: &Pool, clock: &Clock, segment: SegmentId, pages: u32) -> Result<Loading, Failure> {
    let session = pool.session();
    let start = clock.now();
    session.prefetch_range(PageId { segment, number: 0 }, pages)?;
    let seconds = clock.now().since(start).0 as f64 / 1e9;
    let rate = f64::from(pages) * PAGE_SIZE as f64 / seconds / 1e6;
    let besides = |peak: u64| (peak as i64 - (pool.frames() * PAGE_SIZE) as i64) as f64 / f64::from(1 << 20);
    Ok(Loading { rate, reads: session.counts().physical_reads, besides: peak_memory().map(besides) })
}

fn shuffled(pages: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..pages).collect();
    let mut random = SplitMix64::new(7);
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}

/// Samples of the dependent load, then of each case, a sample a round. The first round warms up and is not kept.
fn take_turns(bench: &Bench<'_>, chase: &mut Chase, rounds: usize) -> Vec<(&'static str, Vec<f64>)> {
    let mut samples = vec![(DEPENDENT_LOAD, Vec::new())];
    samples.extend(CASES.iter().map(|case| (case.name, Vec::new())));
    for round in 0..=rounds {
        let load = chase.latency_ns(&bench.clock, LOADS);
        let cases = CASES.iter().map(|case| (case.measure)(bench));
        let row: Vec<f64> = std::iter::once(load).chain(cases).collect();
        if round > 0 {
            samples.iter_mut().zip(row).for_each(|((_, of_case), sample)| of_case.push(sample));
        }
    }
    samples
}

fn no_touch(_: &[u8; PAGE_SIZE]) -> u64 {
    0
}

fn touch(bytes: &[u8; PAGE_SIZE]) -> u64 {
    u64::from_le_bytes(bytes.as_chunks::<8>().0[0])
}

/// Gets the pages of these numbers, looks at each, and returns the time of one get.
fn time(
    bench: &Bench<'_>,
    session: &Session<'_>,
    numbers: impl ExactSizeIterator<Item = u32>,
    look: fn(&[u8; PAGE_SIZE]) -> u64,
) -> f64 {
    let (segment, gets) = (bench.segment, numbers.len());
    let mut sum = 0_u64;
    let start = bench.clock.now();
    for number in numbers {
        match session.get(PageId { segment, number }) {
            Ok(page) => sum = sum.wrapping_add(look(black_box(&page))),
            Err(error) => panic!("{error}"),
        }
    }
    let elapsed = bench.clock.now().since(start);
    black_box(sum);
    elapsed.0 as f64 / gets as f64
}

fn random(bench: &Bench<'_>, look: fn(&[u8; PAGE_SIZE]) -> u64) -> f64 {
    time(bench, &bench.pool.session(), bench.order.iter().copied(), look)
}

fn in_order(bench: &Bench<'_>, look: fn(&[u8; PAGE_SIZE]) -> u64) -> f64 {
    time(bench, &bench.pool.session(), 0..bench.pages, look)
}

fn in_order_prefetched(bench: &Bench<'_>) -> f64 {
    let session = bench.pool.session();
    let segment = bench.segment;
    let ahead = |number: &u32| session.prefetch_lines(PageId { segment, number: number + PAGES_AHEAD }, 1);
    let numbers = (0..bench.pages).inspect(ahead);
    time(bench, &session, numbers, touch)
}

/// The next page is known only when the header of this one is: nothing can overlap. The step's number is mixed in,
/// because a walk along the pages' own contents would soon run in a small circle.
fn dependent(bench: &Bench<'_>) -> f64 {
    let session = bench.pool.session();
    let (segment, mut value) = (bench.segment, 0_u64);
    let start = bench.clock.now();
    for step in 0..bench.pages {
        let number = ((u128::from(mix(value ^ u64::from(step))) * u128::from(bench.pages)) >> 64) as u32;
        match session.get(PageId { segment, number }) {
            Ok(page) => value = touch(&page),
            Err(error) => panic!("{error}"),
        }
    }
    let elapsed = bench.clock.now().since(start);
    black_box(value);
    elapsed.0 as f64 / f64::from(bench.pages)
}

/// What a thread did: from when to when, and its own processor time.
struct Part {
    start: Nanos,
    end: Nanos,
    cpu: Nanos,
}

/// Runs `threads` threads that each get pages of their own part of the order, or all the same page.
fn parts(bench: &Bench<'_>, threads: usize, number_of: fn(u32) -> u32) -> Vec<Part> {
    let ready = AtomicUsize::new(0);
    let worker = |which: usize| {
        let session = bench.pool.session();
        let own = &bench.order[which * bench.order.len() / threads..(which + 1) * bench.order.len() / threads];
        // Two threads that take turns on one core would neither help nor disturb each other.
        if let Some(core) = bench.cores.get(which) {
            pin(*core);
        }
        // They wait awake: a thread that is woken up may come when the other one has ended.
        ready.fetch_add(1, Ordering::SeqCst);
        while ready.load(Ordering::SeqCst) < threads {
            std::hint::spin_loop();
        }
        let (start, cpu) = (bench.clock.now(), thread_cpu());
        for _ in 0..LAPS * threads {
            black_box(time(bench, &session, own.iter().map(|number| number_of(*number)), touch));
        }
        Part { start, end: bench.clock.now(), cpu: thread_cpu().since(cpu) }
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|which| scope.spawn(move || worker(which))).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    })
}

/// Time from the first start to the last end, over the gets of all threads.
fn wall(bench: &Bench<'_>, threads: usize, number_of: fn(u32) -> u32) -> f64 {
    let parts = parts(bench, threads, number_of);
    let start = parts.iter().map(|part| part.start).min().unwrap_or_default();
    let end = parts.iter().map(|part| part.end).max().unwrap_or_default();
    end.since(start).0 as f64 / gets(bench, threads)
}

/// Processor time of all threads over their gets: what a get costs its caller. Other work on the machine, which
/// takes the second core away from time to time, is not in it.
fn cpu(bench: &Bench<'_>, threads: usize, number_of: fn(u32) -> u32) -> f64 {
    let parts = parts(bench, threads, number_of);
    parts.iter().map(|part| part.cpu.0 as f64).sum::<f64>() / gets(bench, threads)
}

fn gets(bench: &Bench<'_>, threads: usize) -> f64 {
    (bench.order.len() / threads * threads * threads * LAPS) as f64
}

fn itself(number: u32) -> u32 {
    number
}

fn always_the_first(_: u32) -> u32 {
    0
}
