//! The tracepoints of all processors, and their records in the order of time.

use std::fs;

use super::absence::NoTracing;
use super::folder::Folder;
use super::format::Format;
use super::opening;
use super::programmed::Programmed;
use super::record::{Known, Loss, TraceRecord, VALUES_MAX};
use super::ring::{Opened, Ring};
use crate::host::processor_list::listed;
use crate::time::monotonic_nanos;

/// How long before now a record may have its time and not yet stand in its ring.
const WRITING_NANOS: u64 = 1_000_000;

/// How often it is counted what the kernel passed over, in ns: a file is read for it.
const COUNTED_NANOS: u64 = 100_000_000;

/// A tracepoint that is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its group and its name: `block/block_rq_issue`.
    pub name: &'static str,
    /// What a record has to pass, in the kernel's language for it; empty for all.
    pub filter: String,
    /// The fields that are read, at most [`VALUES_MAX`].
    pub fields: &'static [&'static str],
    /// Whether it may be missing: older kernels have fewer.
    pub is_optional: bool,
    /// Where it is to be recorded of idle processors too, as a processor is in most interrupts: what stands for the
    /// filter then, which a program in the kernel cannot take. A kernel that takes no program of ours (it asks for root
    /// or CAP_BPF) records it as the others.
    pub in_idle: Option<FirstByte>,
}

/// Records whose field begins with a byte.
#[derive(Clone, Copy, Debug)]
pub struct FirstByte {
    /// The field, which may be a text.
    pub field: &'static str,
    /// The byte.
    pub byte: u8,
}

/// What was read at once.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Records in the order of time.
    pub records: Vec<TraceRecord>,
    /// What was lost meanwhile.
    pub lost: Vec<Loss>,
}

/// Open tracepoints on all processors.
pub struct Tracer {
    rings: Vec<Ring>,
    programmed: Vec<Programmed>,
    known: Vec<Known>,
    counts_last_losses: bool,
    /// Records that are younger than the last batch.
    later: Vec<TraceRecord>,
    /// Until when it was counted what the kernel passed over.
    counted: u64,
}

impl Tracer {
    /// Opens tracepoints on all processors, and starts them.
    ///
    /// # Errors
    /// The reason why these tracepoints cannot be read, as one sentence.
    pub fn open(wanted: &[Wanted]) -> Result<Tracer, NoTracing> {
        Tracer::with_rings_of(None, wanted)
    }

    /// The same with this size of each ring, in bytes.
    ///
    /// # Errors
    /// The same.
    pub fn with_rings_of(bytes: Option<usize>, wanted: &[Wanted]) -> Result<Tracer, NoTracing> {
        let folder = Folder::find()?;
        let (mut known, mut opened, mut programmed) = (Vec::new(), Vec::new(), Vec::new());
        let processors = processors();
        for (kind, one) in (0..).zip(wanted) {
            match described(&folder, one, kind) {
                Ok((described, format)) => {
                    match in_idle(one, &described, &format, &processors) {
                        Some(program) => programmed.push(program),
                        None => opened.push(Opened { name: one.name, number: described.number, filter: &one.filter }),
                    }
                    known.push(described);
                }
                Err(NoTracing::Missing(_)) if one.is_optional => {}
                Err(reason) => return Err(reason),
            }
        }
        let rings: Result<Vec<Ring>, NoTracing> =
            processors.into_iter().map(|processor| Ring::open(&opened, processor, bytes)).collect();
        let mut rings = rings?;
        let counts_last_losses = rings.iter_mut().all(|ring| ring.counted_lost().is_some());
        let mut tracer = Tracer { rings, programmed, known, counts_last_losses, later: Vec::new(), counted: 0 };
        tracer.set_running(true)?;
        Ok(tracer)
    }

    /// Whether the tracepoint in this place of the list that was wanted is open.
    pub fn has(&self, kind: usize) -> bool {
        self.known.iter().any(|known| usize::from(known.kind) == kind)
    }

    /// Whether all losses are counted. Kernels before 6.0 tell of one with the next record alone that finds room in the
    /// same ring, and so never of the last ones.
    pub fn counts_last_losses(&self) -> bool {
        self.counts_last_losses
    }

    /// Whether the tracepoint in this place of the list is recorded of idle processors for certain.
    pub fn sees_idle(&self, kind: usize) -> bool {
        self.programmed.iter().any(|program| program.is_of(kind))
    }

    /// Starts all tracepoints, or stops them.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn set_running(&mut self, is_running: bool) -> Result<(), NoTracing> {
        let done = self.rings.iter_mut().try_for_each(|ring| ring.set_running(is_running));
        done.map_err(|error| opening::refusal("of all processors", &error))
    }

    /// Takes what was recorded until now, but for the last millisecond, which other processors may still be writing.
    pub fn drain(&mut self, batch: &mut Batch) {
        self.drain_until(monotonic_nanos().saturating_sub(WRITING_NANOS), batch);
    }

    /// Takes all that is there, after the tracepoints were stopped.
    pub fn drain_rest(&mut self, batch: &mut Batch) {
        self.drain_until(u64::MAX, batch);
        self.rings.iter_mut().for_each(|ring| ring.count_lost(&mut batch.lost));
    }

    fn drain_until(&mut self, until: u64, batch: &mut Batch) {
        batch.records.clear();
        batch.lost.clear();
        std::mem::swap(&mut batch.records, &mut self.later);
        for ring in &mut self.rings {
            ring.drain(until, &self.known, &mut batch.records, &mut batch.lost);
        }
        let is_due = until.saturating_sub(self.counted) >= COUNTED_NANOS;
        self.counted = if is_due { until } else { self.counted };
        for program in &mut self.programmed {
            program.drain(&mut batch.records, &mut batch.lost);
            if is_due {
                program.count_passed_over(&mut batch.lost);
            }
        }
        // Each ring is nearly in order, which a stable sort makes use of.
        batch.records.sort_by_key(|record| record.time);
        let end = batch.records.partition_point(|record| record.time <= until);
        self.later.extend(batch.records.drain(end..));
    }
}

fn described(folder: &Folder, wanted: &Wanted, kind: u16) -> Result<(Known, Format), NoTracing> {
    let format = folder.format(wanted.name)?;
    let mut fields = [None; VALUES_MAX];
    for (place, name) in fields.iter_mut().zip(wanted.fields) {
        let found = format.field(name).map_err(|why| NoTracing::Format { name: wanted.name.into(), why });
        *place = Some(found?);
    }
    Ok((Known { number: format.number, kind, fields }, format))
}

/// A program that records a tracepoint, where one is wanted and the kernel takes it.
fn in_idle(wanted: &Wanted, known: &Known, format: &Format, processors: &[usize]) -> Option<Programmed> {
    let FirstByte { field, byte } = wanted.in_idle?;
    let first = format.first_byte(field).ok()?;
    Programmed::open(wanted.name, known, (first, byte), *processors.first()?).ok()
}

/// The processors that are at work. A container may have no /sys that lists them.
fn processors() -> Vec<usize> {
    match fs::read_to_string("/sys/devices/system/cpu/online") {
        Ok(text) => listed(text.trim()),
        Err(_) => with_lines(&fs::read_to_string("/proc/stat").unwrap_or_else(|_| "cpu0 ".into())),
    }
}

/// The processors that `/proc/stat` has lines of, such as `cpu12 2650 7919`: those that are at work.
fn with_lines(stat: &str) -> Vec<usize> {
    let number = |line: &str| -> Option<usize> { line.strip_prefix("cpu")?.split_once(' ')?.0.parse().ok() };
    stat.lines().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: Wanted = Wanted {
        name: "sched/sched_switch",
        filter: String::new(),
        fields: &["prev_pid", "prev_state"],
        is_optional: false,
        in_idle: None,
    };

    /// Passes a tracepoint of this thread so often.
    fn naps(count: u32) {
        (0..count).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(50)));
    }

    fn own() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
    }

    #[test]
    fn every_sleep_of_a_thread_is_recorded_in_order_and_others_are_filtered_out() {
        let own = own();
        let wanted = Wanted { filter: format!("prev_pid == {own} && prev_state & 255"), ..SWITCH };
        let outer = sleeps();
        let mut tracer = match Tracer::open(std::slice::from_ref(&wanted)) {
            Ok(tracer) => tracer,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let inner = sleeps();
        let (mut batch, mut all) = (Batch::default(), Vec::new());
        for _ in 0..5 {
            naps(40);
            tracer.drain(&mut batch);
            all.append(&mut batch.records);
        }
        // A nap may be over before the thread has gone to sleep: the scheduler tells how often it did.
        let inner = sleeps() - inner;
        tracer.set_running(false).unwrap();
        let outer = sleeps() - outer;
        naps(40);
        tracer.drain_rest(&mut batch);
        all.append(&mut batch.records);
        assert!(batch.lost.is_empty(), "{:?}", batch.lost);
        assert!((inner..=outer).contains(&(all.len() as u64)), "{} of {inner} to {outer} sleeps", all.len());
        assert!(all.is_sorted_by_key(|record| record.time));
        assert!(all.iter().all(|record| record.thread == own && record.values[0] == u64::from(own)));
        let now = monotonic_nanos();
        assert!(all.iter().all(|record| now - record.time < 60_000_000_000), "times are those of the monotonic clock");
    }

    /// Times that this thread went to sleep, by the scheduler's own count.
    fn sleeps() -> u64 {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.unwrap().trim().parse().unwrap()
    }

    /// Pins this thread to the processor in this place of the list, where there is one.
    fn pin(place: usize) -> bool {
        processors().get(place).is_some_and(|processor| crate::process::affinity::pin(*processor))
    }

    /// Records every sleep of this thread in rings of 4 KiB while `work` runs, and holds what was recorded and what was
    /// lost against the scheduler's count.
    fn sleeps_recorded_or_lost(work: impl FnOnce(&mut Tracer, &mut Batch)) {
        let outer = sleeps();
        let wanted = Wanted { filter: format!("prev_pid == {} && prev_state & 255", own()), ..SWITCH };
        let mut tracer = match Tracer::with_rings_of(Some(4096), &[wanted]) {
            Ok(tracer) if tracer.counts_last_losses() => tracer,
            Ok(_) => return println!("skipped: this kernel does not count what it loses"),
            Err(reason) => return println!("skipped: {reason}"),
        };
        let inner = sleeps();
        let mut batch = Batch::default();
        work(&mut tracer, &mut batch);
        let (mut recorded, mut lost) = (batch.records.len() as u64, batch.lost.clone());
        let inner = sleeps() - inner;
        tracer.set_running(false).unwrap();
        let outer = sleeps() - outer;
        tracer.drain_rest(&mut batch);
        recorded += batch.records.len() as u64;
        lost.append(&mut batch.lost);
        let all = recorded + lost.iter().map(|loss| loss.records).sum::<u64>();
        assert!((inner..=outer).contains(&all), "{recorded} records, {lost:?}, {inner} to {outer} sleeps");
        assert!(lost.iter().all(|loss| loss.from < loss.until && loss.records > 0), "{lost:?}");
    }

    #[test]
    fn records_that_find_no_room_are_counted_once() {
        assert!(pin(0));
        sleeps_recorded_or_lost(|tracer, batch| {
            naps(1000);
            tracer.drain(batch);
            assert!(batch.records.len() < 100, "{} records in a ring of 4 KiB", batch.records.len());
            // They bring the record that tells how many were lost before them.
            naps(20);
        });
    }

    #[test]
    fn records_that_a_ring_lost_last_are_counted() {
        sleeps_recorded_or_lost(|_, _| {
            naps(500);
        });
    }

    #[test]
    fn losses_of_a_processor_that_a_thread_has_left_are_told_while_the_tracing_goes_on() {
        if !(pin(1) && pin(0)) {
            return println!("skipped: there is one processor alone");
        }
        sleeps_recorded_or_lost(|tracer, batch| {
            naps(500);
            pin(1);
            std::thread::sleep(std::time::Duration::from_millis(5));
            tracer.drain(batch);
            let lost: u64 = batch.lost.iter().map(|loss| loss.records).sum();
            assert!(lost > 300, "{lost} of 500 records lost");
            naps(20);
        });
    }

    #[test]
    fn what_an_idle_processor_does_in_an_interrupt_is_recorded_too() {
        // A timer wakes a sleeping thread, mostly on a processor that has nothing else to do.
        let waking = Wanted {
            name: "sched/sched_waking",
            filter: "comm == \"~naps\"".into(),
            fields: &[],
            is_optional: false,
            in_idle: Some(FirstByte { field: "comm", byte: b'~' }),
        };
        let mut tracer = match Tracer::open(&[SWITCH, waking]) {
            Ok(tracer) if tracer.sees_idle(1) => tracer,
            Ok(_) => return println!("skipped: the kernel takes no program from this user"),
            Err(reason) => return println!("skipped: {reason}"),
        };
        let begun = monotonic_nanos();
        std::thread::Builder::new().name("~naps".into()).spawn(|| naps(300)).unwrap().join().unwrap();
        let mut batch = Batch::default();
        tracer.set_running(false).unwrap();
        tracer.drain_rest(&mut batch);
        let woken: Vec<&TraceRecord> = batch.records.iter().filter(|record| record.kind == 1).collect();
        // The kernel passes the program over where an interrupt comes while it runs, and counts that. A few of 300 may
        // be missing without being counted; those of idle processors would be nearly all.
        let lost: u64 = batch.lost.iter().map(|loss| loss.records).sum();
        let all = woken.len() as u64 + lost;
        assert!(
            woken.len() > 200 && (250..400 + lost).contains(&all),
            "{} times woken of 300, {lost} lost",
            woken.len()
        );
        assert!(woken.iter().all(|record| (begun..=monotonic_nanos()).contains(&record.time)));
    }

    #[test]
    fn a_user_without_rights_reads_in_one_sentence_what_is_lacking() {
        let opened = std::thread::spawn(|| {
            crate::tracepoint::folder::as_no_one();
            Tracer::open(&[SWITCH]).err()
        });
        match opened.join().unwrap() {
            Some(NoTracing::NotMounted | NoTracing::FolderForbidden(_) | NoTracing::Forbidden { .. }) => {}
            Some(reason) => panic!("{reason}"),
            None => println!("skipped: this kernel lets every user trace all others"),
        }
    }

    #[test]
    fn a_tracepoint_that_is_missing_is_refused_unless_it_may_be() {
        let missing = |is_optional| Wanted { name: "sched/no_such", fields: &[], is_optional, ..SWITCH };
        match Tracer::open(&[SWITCH, missing(true)]) {
            Ok(tracer) => {
                assert!(tracer.has(0) && !tracer.has(1));
                let refused = Tracer::open(&[SWITCH, missing(false)]).err();
                assert_eq!(refused, Some(NoTracing::Missing("sched/no_such".into())));
                let unknown = Tracer::open(&[Wanted { fields: &["no_such"], ..SWITCH }]).err().unwrap();
                assert!(unknown.to_string().contains("no field no_such"), "{unknown}");
            }
            Err(reason) => println!("skipped: {reason}"),
        }
    }

    #[test]
    fn without_a_list_the_processors_are_those_that_have_a_line() {
        let stat = "cpu  9 9 9\ncpu0 1 1 1\ncpu12 1 1 1\nintr 1 2 3\n";
        assert_eq!(with_lines(stat), [0, 12]);
    }
}
