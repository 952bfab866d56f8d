//! What a get of the buffer pool costs, beside the dependent load of the same memory it is held against.
//!
//! `cargo run --release -p storage --example pool_speed [POOL_MIB [ROUNDS [DIRECTORY]]]`; 1024 MiB, 9 rounds and the
//! current directory unless told. A nameless file of the pool's size is made in the directory and read into the pool.
//!
//! All cases take turns in every round, so that a disturbance of the machine hits them alike; a ratio is the median of
//! the rounds' ratios.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::thread;

use measure::random::{SplitMix64, mix};
use measure::statistics::median;
use storage::page_id::PAGE_SIZE;
use storage::pool::{Pool, PoolSettings, Session};
use storage::{PageId, SegmentId};
use sys::chase::Chase;
use sys::clock::Clock;
use sys::region::Pages;
use sys::target::Caching;
use sys::test_file::TestFile;

type Failure = Box<dyn Error>;

/// Loads of the pointer chase in one round.
const LOADS: u64 = 1 << 20;
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
}

/// One row of the table: a name and a way to measure it once, in ns a get.
struct Case {
    name: &'static str,
    measure: fn(&Bench<'_>) -> f64,
}

const CASES: [Case; 9] = [
    Case { name: "random, get + release alone", measure: |bench| random(bench, no_touch) },
    Case { name: "random, header touched", measure: |bench| random(bench, touch) },
    Case { name: "random, next page told by the header", measure: dependent },
    Case { name: "page order, get + release alone", measure: |bench| in_order(bench, no_touch) },
    Case { name: "page order, header touched", measure: |bench| in_order(bench, touch) },
    Case { name: "page order, header touched, prefetched", measure: in_order_prefetched },
    Case { name: "random, two threads, distinct pages", measure: |bench| two_threads(bench, distinct_half) },
    Case { name: "one page, one thread", measure: one_page_alone },
    Case { name: "one page, two threads", measure: |bench| two_threads(bench, one_page) },
];

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mib: usize = arguments.first().map_or(Ok(1024), |text| text.parse())?;
    let rounds: usize = arguments.get(1).map_or(Ok(9), |text| text.parse())?;
    let directory = arguments.get(2).map_or(".", String::as_str);
    let settings = PoolSettings::new(mib << 20);
    let pool = Pool::new(settings)?;
    let clock = Clock::calibrate();
    let file = TestFile::create(Path::new(directory), (mib as u64) << 20, 1, &mut |_| {}, &AtomicBool::new(false))?;
    let target = file.target(Caching::Direct).or_else(|_| file.target(Caching::Buffered))?;
    let pages = pool.frames() as u32;
    let segment = pool.add_segment(target, pages, |_, _| Ok(()))?;
    load(&pool, &clock, segment, pages)?;
    let bench = Bench { pool: &pool, clock, segment, pages, order: shuffled(pages) };
    let mut chase = Chase::new(mib << 20, Pages::Huge, 1)?;
    println!("pool {mib} MiB, {:?} bytes of it on huge pages; chase {:?}", pool.huge_bytes(), chase.huge_bytes());
    let samples = take_turns(&bench, &mut chase, rounds);
    print(&samples);
    Ok(())
}

fn load(pool: &Pool, clock: &Clock, segment: SegmentId, pages: u32) -> Result<(), Failure> {
    let session = pool.session();
    let start = clock.now();
    session.prefetch_range(PageId { segment, number: 0 }, pages)?;
    let seconds = clock.now().since(start).0 as f64 / 1e9;
    let rate = f64::from(pages) * PAGE_SIZE as f64 / seconds / 1e6;
    println!("loaded at {rate:.0} MB/s: {:?}", session.counts());
    Ok(())
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
    let mut samples = vec![("dependent load", Vec::new())];
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

fn print(samples: &[(&'static str, Vec<f64>)]) {
    let loads = &samples[0].1;
    println!("{:42} {:>8} {:>8} {:>8}   ratio to the load", "ns", "min", "median", "max");
    for (name, of_case) in samples {
        let ratios: Vec<f64> = of_case.iter().zip(loads).map(|(sample, load)| sample / load).collect();
        let (min, max) = of_case.iter().fold((f64::MAX, 0_f64), |(min, max), at| (min.min(*at), max.max(*at)));
        let (middle, ratio) = (median(of_case).unwrap_or(f64::NAN), median(&ratios).unwrap_or(f64::NAN));
        println!("{name:42} {min:8.1} {middle:8.1} {max:8.1} {ratio:8.2}");
    }
    let find = |name: &str| samples.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, samples)| samples);
    let (one, two) = (find("random, header touched"), find("random, two threads, distinct pages"));
    let speedups: Vec<f64> = one.iter().zip(two).map(|(one, two)| one / two).collect();
    println!("two threads on distinct pages: {:.2} times one thread", median(&speedups).unwrap_or(f64::NAN));
}

fn no_touch(_: &[u8; PAGE_SIZE]) -> u64 {
    0
}

fn touch(bytes: &[u8; PAGE_SIZE]) -> u64 {
    u64::from_le_bytes(bytes.as_chunks::<8>().0[0])
}

/// Gets the pages of these numbers, looks at each, and tells the time of one get.
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
    let numbers = (0..bench.pages).map(|number| {
        session.prefetch_lines(PageId { segment, number: number + PAGES_AHEAD }, 1);
        number
    });
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

/// Time of one get of both threads together: half of what a get takes in each, where they do not disturb each other.
fn two_threads(bench: &Bench<'_>, part: fn(&Bench<'_>, &Session<'_>, usize) -> f64) -> f64 {
    let start = Barrier::new(2);
    let times: Vec<f64> = thread::scope(|scope| {
        let worker = |which| {
            let start = &start;
            scope.spawn(move || {
                let session = bench.pool.session();
                start.wait();
                part(bench, &session, which)
            })
        };
        let threads = [worker(0), worker(1)];
        threads.map(|thread| thread.join().unwrap_or(f64::NAN)).into()
    });
    1.0 / times.iter().map(|time| 1.0 / time).sum::<f64>()
}

fn distinct_half(bench: &Bench<'_>, session: &Session<'_>, which: usize) -> f64 {
    let half = bench.order.len() / 2;
    time(bench, session, bench.order[which * half..][..half].iter().copied(), touch)
}

fn one_page(bench: &Bench<'_>, session: &Session<'_>, _which: usize) -> f64 {
    time(bench, session, bench.order.iter().map(|_| 0), touch)
}

fn one_page_alone(bench: &Bench<'_>) -> f64 {
    one_page(bench, &bench.pool.session(), 0)
}
