//! What tests of traced reads share: a watch while a load runs, and what it found.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use live::{Settings, Watch};
use profile::ingest::Ingested;
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::tables::read_tiers::{ReadTiers, Reader, ReaderRow};
use server::Address;
use sys::tracepoint::{Tracer, Wanted};

/// How long a watch goes on behind its load: a look behind the last read shows whose it was.
const SETTLES: Duration = Duration::from_millis(300);

/// Held by the test that traces: the rings have the records of all servers, and so those of other tests.
static ALONE: Mutex<()> = Mutex::new(());

/// Leave to trace the kernel, until it is dropped; prints why there is none.
pub(crate) fn leave() -> Option<MutexGuard<'static, ()>> {
    let any = Wanted {
        name: "sched/sched_process_fork",
        filter: String::new(),
        fields: &[],
        is_optional: false,
        in_idle: None,
    };
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    Tracer::open(&[any]).inspect_err(|reason| println!("skipped: {reason}")).ok().map(|_| alone)
}

/// Opens a watch on a server of this machine.
pub(crate) fn open(address: &Address) -> Watch {
    let wall_clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64;
    let settings =
        Settings { rate: None, reads_memory: true, traces_reads: true, wall_clock, think_time: THINK_TIME, seed: 7 };
    Watch::open(address, settings, Instruments::default(), Arc::default()).unwrap()
}

/// Watches a server while `load` runs, and a moment longer.
pub(crate) fn watched(address: &Address, load: impl FnOnce() + Send) -> Ingested {
    let mut watch = open(address);
    thread::scope(|scope| {
        let loading = scope.spawn(load);
        let mut until = None;
        watch.run(Duration::from_secs(120), &mut |_| {
            if loading.is_finished() && until.is_none() {
                until = Some(Instant::now() + SETTLES);
            }
            match until.is_some_and(|until| Instant::now() > until) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        loading.join().unwrap();
    });
    watch.finish(None).0
}

/// What was traced.
pub(crate) fn tiers(found: &Ingested) -> &ReadTiers {
    found.profile.sampled.as_ref().unwrap().reads.as_ref().expect("reads were traced")
}

/// The row of the statement whose text holds this; none where no sample met it at work, as on a busy machine.
pub(crate) fn found_of_statement<'a>(found: &'a Ingested, part: &str) -> Option<&'a ReaderRow> {
    let context = &found.profile.context;
    let is_it = |row: &&ReaderRow| match row.reader {
        Reader::Statement(index) => context.statement(index).is_some_and(|known| known.text.contains(part)),
        _ => false,
    };
    tiers(found).readers.iter().find(is_it)
}

/// The row of the statement whose text holds this.
pub(crate) fn of_statement<'a>(found: &'a Ingested, part: &str) -> &'a ReaderRow {
    let known = &found.profile.context.statements;
    let texts = known.iter().map(|known| (known.id.as_str(), known.text.as_str())).collect::<Vec<_>>();
    found_of_statement(found, part)
        .unwrap_or_else(|| panic!("no reads of {part}: {texts:?}, {:?}", tiers(found).readers))
}
