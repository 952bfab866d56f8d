//! Traces as text, read as far as to what is found in them.

use measure::Finding;

use crate::document::{Order, Selection};
use crate::event::{TimeScale, Unit};
use crate::findings::tests::made::FILE;
use crate::ingest::Ingested;
use crate::observe::collector::{Collector, THINK_TIME};
use crate::observe::instruments::Instruments;
use crate::outcome::outcome;
use crate::source::oracle::account::Accounting;
use crate::source::oracle::record::Batch;
use crate::source::oracle::scan::{ChunkEnd, Scanner, State};
use crate::tables::Profile;

/// A profile of this file.
pub(super) fn ingested(profile: Profile) -> Ingested {
    Ingested { begun: vec![FILE.into()], ..Ingested::of(profile) }
}

/// What the run document of a profile finds.
pub(super) fn said(mut ingested: Ingested) -> Vec<Finding> {
    let selection = Selection { order: Order::ResponseTime, top: 0, statement: None, hides_texts: false };
    outcome(&mut ingested, &Instruments::default(), &selection).findings
}

/// What is found in traces that are read one after the other, in true microseconds.
pub(super) fn read(files: &[&str]) -> Vec<Finding> {
    let (mut collector, mut accounting) = (Collector::new(THINK_TIME), Accounting::new());
    for text in files {
        let mut batch = Batch { bytes: text.as_bytes().into(), ..Batch::default() };
        Scanner::default().scan(&mut batch, State::Between, ChunkEnd::File);
        accounting.begin_file(TimeScale::given(Unit::Microsecond));
        accounting.batch(&batch, &mut collector);
        accounting.end_file(&mut collector);
    }
    let accounted = accounting.finish(&mut collector);
    said(ingested(collector.finish(accounted)))
}

/// A declaration of cursor 1.
pub(super) fn declared(text: &str) -> String {
    let length = text.len();
    format!(
        "=====================\n\
         PARSING IN CURSOR #1 len={length} dep=0 uid=5 oct=3 lid=5 tim=1 hv=7 ad='1'\n\
         {text}\nEND OF STMT\n"
    )
}

/// An execution of a cursor without CPU time: its depth, its elapsed time and its end in µs.
pub(super) fn execution(cursor: u64, depth: u16, elapsed: i64, end: i64) -> String {
    format!("EXEC #{cursor}:c=0,e={elapsed},p=0,cr=0,cu=0,mis=0,r=0,dep={depth},og=1,tim={end}\n")
}

/// A wait of cursor 1 for a block of 5 µs.
pub(super) fn read_of_blocks(blocks: i64, end: i64) -> String {
    format!("WAIT #1: nam='db file scattered read' ela= 5 file#=4 block#=9 blocks={blocks} obj#=7 tim={end}\n")
}
