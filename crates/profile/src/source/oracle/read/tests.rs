//! The same records however a file is cut and by however many threads it is scanned.

use std::path::PathBuf;

use measure::random::SplitMix64;

use super::*;
use crate::input::{self, Given};
use crate::source::oracle::record::{Body, Unread};

/// What came out of a file, in a form that can be compared: chunks have their own indexes and spans.
#[derive(Debug, Default, PartialEq)]
struct Story {
    records: Vec<(u64, String)>,
    unread: Vec<Unread>,
    read_bytes: u64,
}

impl Story {
    fn add(&mut self, batch: &Batch) {
        for record in &batch.records {
            self.records.push((record.offset, tell(batch, &record.body)));
        }
        for unread in &batch.unread {
            match self.unread.iter_mut().find(|known| known.kind == unread.kind) {
                Some(known) => {
                    known.lines += unread.lines;
                    known.bytes += unread.bytes;
                }
                None => self.unread.push(unread.clone()),
            }
        }
        self.read_bytes += batch.read_bytes;
    }

    fn bytes(&self) -> u64 {
        self.read_bytes + self.unread.iter().map(|unread| unread.bytes).sum::<u64>()
    }
}

fn tell(batch: &Batch, body: &Body) -> String {
    match body {
        Body::Call(call) => {
            let name = &batch.names[usize::from(call.name)];
            format!("{name} {:?}", crate::source::oracle::record::CallRecord { name: 0, ..*call })
        }
        Body::Wait(wait) => {
            let event = &batch.events[usize::from(wait.event)];
            format!("{event:?} {:?}", crate::source::oracle::record::WaitRecord { event: 0, ..*wait })
        }
        Body::Declaration(index) => {
            let declaration = batch.declaration(*index).unwrap();
            let mut rest = declaration.clone();
            (rest.text, rest.sql_id) = (0..0, 0..0);
            format!("{:?} {:?} {rest:?}", batch.text(&declaration.text), batch.text(&declaration.sql_id))
        }
        Body::PlanLine(index) => {
            let line = batch.plan_line(*index).unwrap();
            let mut rest = line.clone();
            rest.operation = 0..0;
            format!("{:?} {rest:?}", batch.text(&line.operation))
        }
        Body::ParseError { text, cursor, code, .. } => format!("{cursor} {code} {:?}", batch.text(text)),
        Body::Mark(mark, clock) => {
            let shown = format!("{mark:?}");
            let span = shown.split(['(', ')']).nth(1).and_then(|span| {
                let (start, end) = span.split_once("..")?;
                Some(batch.text(&(start.parse().ok()?..end.parse().ok()?)).into_owned())
            });
            format!("{} {span:?} {clock:?}", shown.split('(').next().unwrap_or_default())
        }
        other => format!("{other:?}"),
    }
}

fn story(text: &[u8], workers: usize, chunk_bytes: usize) -> Story {
    let source = Bytes::from_reader(io::Cursor::new(text.to_vec()));
    let mut story = Story::default();
    read(source, ReadOptions { workers, chunk_bytes }, &mut |batch| story.add(batch)).unwrap();
    assert_eq!(story.bytes(), text.len() as u64, "bytes that belong to nothing");
    story
}

const EXEC: &str = "EXEC #5:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=77\n";
const WAIT: &str = "WAIT #5: nam='db file sequential read' ela= 4 file#=1 block#=2 blocks=1 obj#=5 tim=77\n";

/// A trace with every construct, texts that imitate records, and lines that belong to nothing.
fn hostile() -> String {
    let inner = format!("select '\n{EXEC}END OF STMT\n{WAIT}'");
    let declare = |length: usize, text: &str| {
        format!(
            "=====\nPARSING IN CURSOR #5 len={length} dep=0 uid=1 oct=3 lid=1 tim=5 hv=7 ad='a' sqlid='x'\n{text}\n"
        )
    };
    [
        "Trace file /a/b_ora_1.trc\nOracle Database 11g Release 11.2.0.3.0\n\n\
         *** SESSION ID:(9.1) 2015-03-10 14:08:53.050\n",
        &declare(inner.len(), &inner),
        "END OF STMT\n",
        EXEC,
        WAIT,
        "BINDS #5:\n\n Bind#0\n  oacdty=01\n  value=\"x\nEXEC #9:c=1\n\n*** 2015-03-10 14:08:53.050\n Bind#1\n",
        WAIT,
        "XCTEND rlbk=0, rd_only=1\nnothing\nWarning: log write elapsed time 610ms, size 12KB\n",
        &declare(500, "short"),
        "END OF STMT\n",
        EXEC,
        &declare(8, "select 1"),
        EXEC,
        "PARSE ERROR #5:len=12 dep=0 uid=1 oct=3 lid=1 tim=5 err=942\nselect\n\nfrom\n",
        "LOBREAD: type=TEMPORARY LOB,bytes=3,c=99,e=577,p=8,cr=8,cu=0,tim=648\r\n",
        "RPC CALL:X;\nRPC BINDS:\n bind 0: dty=2\nRPC EXEC:c=1,e=2\n",
        &declare(9, "select\r\n1"),
        "END OF STMT\n",
        "STAT #5 id=1 cnt=1 pid=0 pos=1 obj=0 op='FAST DUAL  (cr=0 pr=0 pw=0 time=3 us)'\n",
        &declare(3000, "never ends"),
        WAIT,
        "BINDS #5:\n Bind#0\n  value=1\nFETCH #5:c=0,e=1",
    ]
    .concat()
}

#[test]
fn chunks_of_any_size_and_any_number_of_threads_give_the_same_records() {
    let text = hostile();
    let whole = story(text.as_bytes(), 1, usize::MAX / 4);
    assert!(whole.records.len() > 20 && whole.unread.len() > 2, "{whole:?}");
    for workers in 1..=4 {
        for chunk_bytes in (1..300).chain([1000, 4000]) {
            assert_eq!(story(text.as_bytes(), workers, chunk_bytes), whole, "{workers} threads, {chunk_bytes} bytes");
        }
    }
}

#[test]
fn lines_and_texts_too_long_for_memory_give_the_same_records() {
    let long = "y".repeat(700_000);
    let lines = "and z = 1\n".repeat(60_000);
    let declare = |length: usize, text: &str| {
        format!("=====\nPARSING IN CURSOR #5 len={length} dep=0 uid=1 oct=3 lid=1 tim=5 hv=7 ad='a' sqlid='x'\n{text}")
    };
    let text = [
        EXEC,
        &long,
        "\n",
        WAIT,
        &declare(long.len(), &long),
        "\nEND OF STMT\n",
        EXEC,
        &declare(lines.len() - 1, &lines),
        "END OF STMT\n",
        WAIT,
        &declare(lines.len() - 1, &lines),
        EXEC,
        "BINDS #5:\n Bind#0\n  value=",
        &long,
        "\n Bind#1\n",
        WAIT,
        "PARSE ERROR #5:len=600000 dep=0 uid=1 oct=3 lid=1 tim=5 err=942\n",
        &lines,
        EXEC,
        &long,
    ]
    .concat();
    let whole = story(text.as_bytes(), 1, 100 << 20);
    let count = |prefix: &str| whole.records.iter().filter(|(_, told)| told.contains(prefix)).count();
    assert_eq!((count("kind: Exec"), count("db file"), count("Binds")), (4, 3, 1), "{:?}", whole.unread);
    for (workers, chunk_bytes) in [(2, 50_000), (3, 100_000), (2, 262_144), (4, 1_000_000)] {
        assert!(story(text.as_bytes(), workers, chunk_bytes) == whole, "{workers} threads, {chunk_bytes} bytes");
    }
}

#[test]
fn the_given_traces_give_the_same_records_in_segments() {
    let Some(files) = given_traces() else {
        println!("skipped: the given traces are not here");
        return;
    };
    // In turn, because every record becomes a text: chunks of any size are tried on the made trace above.
    let cuts = [(2, 10_000), (3, 300_000), (2, ReadOptions::CHUNK_BYTES)];
    for (path, (workers, chunk_bytes)) in files.into_iter().zip(cuts.into_iter().cycle()) {
        let whole = story_of(&path, ReadOptions { workers: 1, chunk_bytes: 1 << 30 });
        let cut = story_of(&path, ReadOptions { workers, chunk_bytes });
        assert!(cut == whole, "{}: {workers} threads, {chunk_bytes} bytes", path.display());
    }
}

fn story_of(path: &std::path::Path, options: ReadOptions) -> Story {
    let mut story = Story::default();
    read(input::open(&Given::File(path.to_path_buf())).unwrap(), options, &mut |batch| story.add(batch)).unwrap();
    story
}

fn given_traces() -> Option<Vec<PathBuf>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oracle");
    let folder = std::env::var_os("READPATH_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = names.filter(|path| path.to_string_lossy().contains(".trc")).collect();
    paths.sort();
    Some(paths)
}

#[test]
fn a_consumer_that_panics_stops_all_threads() {
    let text = EXEC.repeat(10_000);
    let source = Bytes::from_reader(io::Cursor::new(text.into_bytes()));
    let mut batches = 0;
    let mut consumer = |_: &Batch| {
        batches += 1;
        assert!(batches < 20, "enough");
    };
    let options = ReadOptions { workers: 3, chunk_bytes: 1000 };
    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(source, options, &mut consumer)));
    assert!(answer.is_err());
}

#[test]
fn a_consumer_that_has_enough_stops_a_source_without_an_end() {
    struct Endless;
    impl io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            into[..EXEC.len()].copy_from_slice(EXEC.as_bytes());
            Ok(EXEC.len())
        }
    }
    for (workers, enough) in [(1, 1), (1, 5), (2, 1), (3, 7)] {
        let mut batches = 0;
        let options = ReadOptions { workers, chunk_bytes: EXEC.len() };
        let how = How { options, binds: BindValues::Dropped, aside: None };
        let answer = read_with(Bytes::from_reader(Endless), how, &mut |_| {
            batches += 1;
            if batches < enough { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert!(answer.is_ok());
        assert_eq!(batches, enough, "{workers} threads");
    }
}

#[test]
fn an_error_of_the_source_comes_after_what_was_read() {
    struct Broken(usize);
    impl io::Read for Broken {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 10 {
                return Err(io::Error::other("broken"));
            }
            into[..EXEC.len()].copy_from_slice(EXEC.as_bytes());
            Ok(EXEC.len())
        }
    }
    for workers in 1..4 {
        let mut calls = 0;
        let options = ReadOptions { workers, chunk_bytes: EXEC.len() };
        let answer = read(Bytes::from_reader(Broken(0)), options, &mut |batch| calls += batch.records.len());
        assert_eq!((answer.unwrap_err().to_string().as_str(), calls), ("broken", 10));
    }
}

/// What goes wrong in a round, if anything, and after how many batches or reads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    None,
    SourceFails(u64),
    SourcePanics(u64),
    ConsumerHasEnough(u64),
    ConsumerPanics(u64),
}

/// Gives a text in pieces of any length, with a pause now and then, until its trouble comes.
struct Moody {
    text: &'static [u8],
    reads: u64,
    trouble: Trouble,
    random: SplitMix64,
}

impl io::Read for Moody {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        match self.trouble {
            Trouble::SourceFails(after) if self.reads > after => return Err(io::Error::other("broken")),
            Trouble::SourcePanics(after) => assert!(self.reads <= after, "the source panics"),
            _ => {}
        }
        dawdle(&mut self.random);
        let most = into.len().min(self.text.len());
        let count = if most == 0 { 0 } else { 1 + self.random.below(most as u64) as usize };
        let (piece, rest) = self.text.split_at(count);
        into[..count].copy_from_slice(piece);
        self.text = rest;
        Ok(count)
    }
}

/// Lets the others get ahead now and then.
fn dawdle(random: &mut SplitMix64) {
    match random.below(40) {
        0 => thread::sleep(std::time::Duration::from_micros(200)),
        1..5 => thread::yield_now(),
        _ => {}
    }
}

/// What a round came to: what was consumed, and its end; `None` for a panic.
fn round(text: &'static [u8], options: ReadOptions, trouble: Trouble, seed: u64) -> (Story, Option<io::Result<()>>) {
    let mut random = SplitMix64::new(seed);
    let source = if matches!(trouble, Trouble::SourceFails(_) | Trouble::SourcePanics(_)) || seed.is_multiple_of(2) {
        Bytes::from_reader(Moody { text, reads: 0, trouble, random: SplitMix64::new(!seed) })
    } else {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, text).unwrap();
        Bytes::from_file(file, 0, text.len() as u64)
    };
    let (mut story, mut batches) = (Story::default(), 0);
    let mut consumer = |batch: &mut Batch| {
        dawdle(&mut random);
        batches += 1;
        assert!(trouble != Trouble::ConsumerPanics(batches), "the consumer panics");
        story.add(batch);
        if trouble == Trouble::ConsumerHasEnough(batches) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let how = How { options, binds: BindValues::Dropped, aside: None };
    let read = std::panic::AssertUnwindSafe(|| read_with(source, how, &mut consumer));
    let end = std::panic::catch_unwind(read).ok();
    (story, end)
}

#[test]
fn however_the_threads_take_turns_the_records_come_in_order_and_all_threads_end() {
    let text: &'static [u8] = hostile().repeat(6).leak().as_bytes();
    let whole = story(text, 1, usize::MAX / 4);
    let mut random = SplitMix64::new(7);
    for seed in 0..400 {
        let after = 1 + random.below(30);
        let trouble = match random.below(8) {
            0 => Trouble::SourceFails(after),
            1 => Trouble::SourcePanics(after),
            2 => Trouble::ConsumerHasEnough(after),
            3 => Trouble::ConsumerPanics(after),
            _ => Trouble::None,
        };
        let most = [200, 4000][random.below(2) as usize];
        let options =
            ReadOptions { workers: 1 + random.below(8) as usize, chunk_bytes: 1 + random.below(most) as usize };
        let (story, end) = round(text, options, trouble, seed);
        let said = format!("round {seed}: {options:?}, {trouble:?}");
        assert!(story == whole || trouble != Trouble::None, "{said}");
        assert!(whole.records.starts_with(&story.records), "{said}");
        let is_as_wanted = match end {
            None => matches!(trouble, Trouble::SourcePanics(_) | Trouble::ConsumerPanics(_)),
            Some(Err(error)) => matches!(trouble, Trouble::SourceFails(_)) && error.to_string() == "broken",
            // The file may end before the trouble comes.
            Some(Ok(())) => story == whole || matches!(trouble, Trouble::ConsumerHasEnough(_)),
        };
        assert!(is_as_wanted, "{said}");
    }
}
