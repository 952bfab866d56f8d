//! Reads are charged to what samples show, and each to one row.

use measure::random::SplitMix64;

use super::super::charging::Charging;
use super::super::names::Names;
use super::super::sample::{Backend, CLIENT, Sample, State};
use super::super::traced::{AwaitedRead, Traced, TracedRead};
use super::*;

fn sample(process: u32, kind: &str, statement: i64, event: Option<&str>) -> Sample {
    let backend = Backend { pid: process, start: 1, kind: kind.into(), ..Backend::default() };
    let is_client = kind == CLIENT;
    Sample {
        backend: Arc::new(backend),
        state: State::Active,
        event: event.map(Arc::from),
        query_id: is_client.then_some(statement),
        query_start: is_client.then_some(1_000),
        text: None,
        processor: None,
    }
}

fn read(process: u32, begun: i64, tier: ReadTier, file: &str, block: u64) -> TracedRead {
    TracedRead {
        process,
        begun,
        elapsed: Ticks::from_micros(if tier == ReadTier::Device { 500 } else { 3 }),
        tier,
        file: file.into(),
        block,
        blocks: 1,
        bytes: 8192,
        queue: Ticks::ZERO,
        service: Ticks::ZERO,
    }
}

/// Looks 10 ms apart, at these processes, with these reads before the first.
fn traced(samples: &[Sample], reads: Vec<TracedRead>) -> (Reads, Names) {
    let (mut charging, mut all, mut names) = (Charging::default(), Reads::default(), Names::default());
    all.count(1, 0);
    let mut traced = Traced { reads, ..Traced::default() };
    for look in 1..200 {
        charging.take((10_000 * look, samples), std::mem::take(&mut traced), &mut names, &mut all);
    }
    charging.end(&mut all);
    (all, names)
}

fn tables(reads: &Reads) -> ReadTiers {
    reads.tables(&|file| format!("named {file}")).unwrap()
}

#[test]
fn every_read_is_in_one_row_of_each_table_and_the_tables_add_up() {
    let mut random = SplitMix64::new(3);
    let tiers: Vec<ReadTier> = ReadTier::all().collect();
    let files: Vec<String> = (0..150).map(|file| format!("base/5/{file}")).collect();
    let mut all = Vec::new();
    for _ in 0..20_000 {
        let tier = tiers[random.below(tiers.len() as u64) as usize];
        let file = &files[random.below(150) as usize];
        all.push(read(random.below(9) as u32, 2_000, tier, file, random.below(1 << 20)));
    }
    let bytes = all.iter().map(|read| read.bytes).sum::<u64>();
    let samples: Vec<Sample> =
        (0..8).map(|process| sample(process, CLIENT, i64::from(process) / 2 + 50, None)).collect();
    let (reads, _) = traced(&samples, all);
    let tables = tables(&reads);
    let mut sums = [ByTier::default(); 3];
    tables.readers.iter().for_each(|row| sums[0].merge(&row.tiers));
    tables.relations.iter().for_each(|row| sums[1].merge(&row.tiers));
    sums[2] = tables.whole();
    assert!(sums.iter().all(|one| one.all().reads == 20_000 && one.all().bytes == bytes), "{sums:?}");
    assert!(sums[0] == sums[1] && sums[1] == sums[2]);
    let in_latencies: u64 =
        tables.tiers.iter().flat_map(|row| row.histogram.iter()).map(|(_, bucket)| bucket.count).sum();
    assert_eq!(in_latencies, 20_000);
    assert!(tables.relations.len() == 150 && tables.readers.len() == 5, "{}", tables.readers.len());
    let unmet = tables.readers.iter().find(|row| row.reader == Reader::Unmet).unwrap();
    assert!(unmet.tiers.all().reads > 1_000, "the ninth process was in no sample");
}

#[test]
fn what_the_page_cache_answered_costs_what_the_device_took_for_the_same() {
    let mut all: Vec<TracedRead> =
        (0..1_000).map(|read| self::read(1, 2_000, ReadTier::PageCache, "base/5/7", read % 400)).collect();
    all.extend((0..19).map(|block| read(1, 2_000, ReadTier::Device, "base/5/8", block)));
    let few = traced(&[sample(1, CLIENT, 9, None)], all.clone()).0;
    let leaning = |reads: &Reads| tables(reads).readers[0].leaning.clone().unwrap();
    assert_eq!((leaning(&few).reads, leaning(&few).from_device), (1_000, None), "19 reads do not show it");
    all.push(read(1, 2_000, ReadTier::Device, "base/5/8", 19));
    let enough = leaning(&traced(&[sample(1, CLIENT, 9, None)], all).0);
    assert_eq!(enough.from_device, Some(Ticks::from_micros(500_000)));
    assert_eq!(enough.more(), Some(Ticks::from_micros(497_000)));
    assert_eq!((enough.blocks, enough.blocks_error), (400, 0));
    assert_eq!(enough.relations, ["named base/5/7"]);
}

#[test]
fn a_workers_read_is_charged_by_an_estimate_to_the_session_that_waited() {
    let waiting = sample(1, CLIENT, 77, Some("IO:AioIoCompletion"));
    let samples = [waiting, sample(2, CLIENT, 78, None), sample(3, "io worker", 0, None)];
    let all = (0..50).map(|block| read(3, 15_000, ReadTier::Device, "base/5/7", block)).collect();
    let (reads, names) = traced(&samples, all);
    let rows = tables(&reads).readers;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let Reader::Statement(index) = &row.reader else { panic!("{row:?}") };
    assert_eq!((names.context.statement_id(*index), row.estimated), ("77", 50));
    // With none that waits they are the worker's own.
    let alone = traced(&samples[1..], vec![read(3, 15_000, ReadTier::Device, "base/5/7", 1)]).0;
    assert_eq!(tables(&alone).readers[0].reader, Reader::Process("io worker".into()));
}

#[test]
fn an_answer_that_comes_late_names_the_session_that_waited_when_the_server_was_asked() {
    let (mut charging, mut all, mut names) = (Charging::default(), Reads::default(), Names::default());
    all.count(1, 0);
    let waiting = sample(1, CLIENT, 77, Some("IO:AioIoCompletion"));
    let samples = [waiting, sample(2, CLIENT, 78, None), sample(3, "io worker", 0, None)];
    (1..50).for_each(|look| charging.take((10_000 * look, &samples), Traced::default(), &mut names, &mut all));
    let reads = vec![read(3, 15_000, ReadTier::Device, "base/5/7", 4)];
    let waiting = vec![AwaitedRead { process: 2, at: 15_000, file: "base/5/7".into(), blocks: (0, 15) }];
    charging.take((500_000, &samples), Traced { reads, waiting, ..Traced::default() }, &mut names, &mut all);
    charging.end(&mut all);
    let rows = tables(&all).readers;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let Reader::Statement(index) = &row.reader else { panic!("{row:?}") };
    assert_eq!(names.context.statement_id(*index), "78");
}

#[test]
fn a_read_between_two_samples_goes_to_the_statement_before_it_that_is_known_to_read_the_relation() {
    let (mut charging, mut all, mut names) = (Charging::default(), Reads::default(), Names::default());
    all.count(1, 0);
    let at_work = |number, begun| Sample { query_start: Some(begun), ..sample(1, CLIENT, number, None) };
    let cached = |begun, file| read(1, begun, ReadTier::PageCache, file, 1);
    let reads = vec![
        cached(2_000, "base/5/7"),
        cached(14_000, "base/5/7"),
        cached(14_500, "base/5/8"),
        cached(18_500, "base/5/8"),
    ];
    charging.take((10_000, &[at_work(77, 1_000)]), Traced::default(), &mut names, &mut all);
    charging.take((20_000, &[at_work(78, 18_000)]), Traced { reads, ..Traced::default() }, &mut names, &mut all);
    charging.end(&mut all);
    let rows = tables(&all).readers;
    let found = |is_it: &dyn Fn(&Reader) -> bool| {
        let row = rows.iter().find(|row| is_it(&row.reader)).unwrap();
        (row.tiers.all().reads, row.estimated)
    };
    let of = |id: &str| {
        found(&|reader| matches!(reader, Reader::Statement(index) if names.context.statement_id(*index) == id))
    };
    assert_eq!((of("77"), of("78")), ((2, 1), (1, 0)));
    assert_eq!(found(&|reader| *reader == Reader::Unmet), (1, 0), "nothing shows that it reads that relation");
}

#[test]
fn reads_of_short_statements_that_no_sample_met_are_not_charged_to_the_long_ones_between_them_that_read_nothing() {
    let (mut charging, mut all, mut names) = (Charging::default(), Reads::default(), Names::default());
    all.count(1, 0);
    let read = |begun| read(1, begun, ReadTier::PageCache, "base/5/7", 1);
    let at_work = |number, begun| Sample { query_start: Some(begun), ..sample(1, CLIENT, number, None) };
    let mut look = |at, seen: Sample, reads| {
        charging.take((at, &[seen]), Traced { reads, ..Traced::default() }, &mut names, &mut all);
    };
    // In each round, a statement reads for 0.3 ms, and one that reads nothing begins 60 µs behind its last read. Only
    // in the first round, a sample meets the former.
    look(100_050, at_work(77, 100_000), vec![read(100_040)]);
    for round in 0..50 {
        let begun = 100_000 + round * 11_000;
        let reads = vec![read(begun + 100), read(begun + 300)];
        look(begun + 1_000, at_work(78, begun + 360), reads);
        (2..11).for_each(|later| look(begun + 1_000 * later, at_work(78, begun + 360), Vec::new()));
    }
    charging.end(&mut all);
    let rows = tables(&all).readers;
    let readers: Vec<(Option<&str>, u64, u64)> = rows
        .iter()
        .map(|row| {
            let statement = match &row.reader {
                Reader::Statement(index) => Some(names.context.statement_id(*index)),
                _ => None,
            };
            (statement, row.tiers.all().reads, row.estimated)
        })
        .collect();
    // Two reads of the first round are behind the sample that met their statement at work.
    assert_eq!(readers, [(None, 98, 0), (Some("77"), 3, 2)]);
}

#[test]
fn a_read_waits_for_a_sample_of_its_process_and_not_forever() {
    let mut names = Names::default();
    let one = vec![read(1, 2_000, ReadTier::PageCache, "base/5/7", 1)];
    let mut at_looks = |looks: &[(i64, &[Sample])]| {
        let (mut charging, mut reads) = (Charging::default(), Reads::default());
        reads.count(1, 0);
        let mut traced = Traced { reads: one.clone(), ..Traced::default() };
        for look in looks {
            charging.take(*look, std::mem::take(&mut traced), &mut names, &mut reads);
        }
        tables(&reads).readers.into_iter().map(|row| row.reader).collect::<Vec<_>>()
    };
    let seen = [sample(1, CLIENT, 9, None)];
    assert!(matches!(at_looks(&[(40_000, &[]), (80_000, &seen)])[..], [Reader::Statement(_)]));
    assert!(at_looks(&[(40_000, &[])]).is_empty());
    assert_eq!(at_looks(&[(40_000, &[]), (2_000_000, &[])]), [Reader::Unmet]);
    assert!(Reads::default().tables(&|file| file.into()).is_none());
}

#[test]
fn a_clock_that_is_set_back_by_an_hour_lets_no_read_wait_for_an_hour() {
    let (mut charging, mut all, mut names) = (Charging::default(), Reads::default(), Names::default());
    all.count(1, 0);
    for at in [4_000_000_000, 4_000_030_000, 400_000_000, 400_030_000, 400_060_000] {
        let seen = Sample { query_start: Some(at - 1_000), ..sample(1, CLIENT, 9, None) };
        let reads = vec![read(1, at - 500, ReadTier::Device, "base/5/7", 4)];
        charging.take((at, &[seen]), Traced { reads, ..Traced::default() }, &mut names, &mut all);
    }
    let readers = tables(&all).readers;
    let [row] = readers.as_slice() else { panic!("{readers:?}") };
    assert!(matches!(row.reader, Reader::Statement(_)) && row.tiers.all().reads == 5, "{row:?}");
}

#[test]
fn more_relations_and_readers_than_have_room_share_rows() {
    let mut all = Vec::new();
    for number in 0..2_000_u32 {
        let file = format!("base/5/{}", number % 700);
        all.push(read(number / 40, 2_000, ReadTier::PageCache, &file, 1));
    }
    let samples: Vec<Sample> = (0..50).map(|process| sample(process, CLIENT, i64::from(process) + 50, None)).collect();
    let tables = tables(&traced(&samples, all).0);
    assert_eq!((tables.relations.len(), tables.whole().all().reads), (RELATIONS_MAX, 2_000));
    assert!(tables.relations.iter().any(|row| row.name == format!("named {OTHERS}")));
    assert!(tables.readers.iter().any(|row| row.reader == Reader::Others));
    assert_eq!(tables.readers.iter().map(|row| row.tiers.all().reads).sum::<u64>(), 2_000);
}
