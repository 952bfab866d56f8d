//! The scanner on whole texts of traces.

use super::*;

/// Scans a whole file as one chunk, and holds what came out against the file's size.
fn scan(text: &str) -> Batch {
    let mut batch = Batch { bytes: text.as_bytes().to_vec(), ..Batch::default() };
    let outcome = Scanner::default().scan(&mut batch, State::Between, ChunkEnd::File);
    assert_eq!(outcome.consumed, text.len());
    let unread: u64 = batch.unread.iter().map(|unread| unread.bytes).sum();
    assert_eq!(batch.read_bytes + unread, text.len() as u64, "bytes that belong to nothing");
    batch
}

/// The records in short: their kinds, with what distinguishes them.
fn kinds(batch: &Batch) -> Vec<String> {
    let name = |record: &Record| match &record.body {
        Body::Call(call) => format!("{:?} {}", call.kind, call.cursor),
        Body::Wait(wait) => format!("Wait {}", batch.events[usize::from(wait.event)].event),
        Body::Declaration(index) => {
            format!("Declaration {:?}", batch.text(&batch.declaration(*index).unwrap().text))
        }
        Body::PlanLine(index) => format!("PlanLine {}", batch.text(&batch.plan_line(*index).unwrap().operation)),
        Body::Mark(mark, _) => match mark {
            Mark::Attribute(attribute, range) => format!("{attribute:?} {}", batch.text(range)),
            other => format!("{other:?}"),
        },
        Body::TransactionEnd { .. } => "TransactionEnd".into(),
        Body::Error { code, .. } => format!("Error {code}"),
        Body::ParseError { text, .. } => format!("ParseError {:?}", batch.text(text)),
        Body::Binds { count, .. } => format!("Binds {count}"),
    };
    batch.records.iter().map(name).collect()
}

fn unread(batch: &Batch) -> Vec<(&'static str, u64)> {
    batch.unread.iter().map(|unread| (unread.kind, unread.lines)).collect()
}

const EXEC: &str = "EXEC #5:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=77\n";
const WAIT: &str = "WAIT #5: nam='db file sequential read' ela= 4 file#=1 block#=2 blocks=1 obj#=5 tim=77\n";

fn declaration(length: usize, text: &str) -> String {
    format!(
        "=====================\nPARSING IN CURSOR #5 len={length} dep=0 uid=1 oct=3 lid=1 tim=5 hv=7 ad='a'\n{text}\n"
    )
}

#[test]
fn a_usual_trace_is_read_to_its_last_byte() {
    let text = format!(
        "Trace file /a/b_ora_1.trc\nOracle Database 11g Release 11.2.0.3.0 - 64bit\n\n\
         *** SESSION ID:(9.1) 2015-03-10 14:08:53.050\n{}END OF STMT\n{EXEC}{WAIT}\
         STAT #5 id=1 cnt=1 pid=0 pos=1 obj=0 op='FAST DUAL  (cr=0 pr=0 pw=0 time=3 us)'\n\
         XCTEND rlbk=0, rd_only=1\nERROR #5:err=942 tim=9\nCLOSE #5:c=0,e=3,dep=0,type=1,tim=9\n",
        declaration(8, "select 1")
    );
    let batch = scan(&text);
    let expected = [
        "Version 11.2.0.3.0",
        "Session 9.1",
        "Declaration \"select 1\"",
        "Exec 5",
        "Wait db file sequential read",
        "PlanLine FAST DUAL",
        "TransactionEnd",
        "Error 942",
        "Close 5",
    ];
    assert_eq!(kinds(&batch), expected);
    assert_eq!(unread(&batch), []);
    assert_eq!(batch.records[3].offset as usize, text.find("EXEC").unwrap());
}

#[test]
fn text_of_a_statement_that_imitates_records_is_text() {
    let inner = format!("select '\n{EXEC}{WAIT}END OF STMT\n{EXEC}*** SESSION ID:(6.6) 2015-03-10 14:08:53.050\n'");
    let batch = scan(&format!("{}END OF STMT\n{EXEC}", declaration(inner.len(), &inner)));
    assert_eq!(kinds(&batch).len(), 2);
    assert_eq!(kinds(&batch)[1], "Exec 5");
}

#[test]
fn values_of_binds_that_imitate_records_are_values_unless_they_are_whole() {
    let values =
        " Bind#0\n  oacdty=01 mxl=32(02)\n  value=\"first\nEXEC #9:c=1,e=5\nHello WAIT\n Bind#1\n  value=  Bind#2\n";
    let batch = scan(&format!("BINDS #5:\n\n{values}{EXEC}"));
    assert_eq!(kinds(&batch), ["Binds 3", "Exec 5"]);
    assert_eq!(unread(&batch), [(kind::MALFORMED, 1)]);
    assert_eq!(batch.records[0].offset, 0);
}

#[test]
fn a_stamp_within_binds_does_not_end_them() {
    let text = format!(
        "BINDS #5:\n Bind#0\n  oacdty=02\n\n*** 2015-03-10 14:08:53.050\n  value=5\n Bind#1\n  value=7\nfree\n{EXEC}"
    );
    let batch = scan(&text);
    assert_eq!(kinds(&batch), ["Clock", "Binds 2", "Exec 5"]);
    assert_eq!(unread(&batch), [(kind::OTHER, 1)]);
}

#[test]
fn binds_of_old_releases_and_of_remote_calls_are_counted() {
    let text = format!(
        "BINDS #5:\n bind 0: dty=2 mxl=22(22)\n   bfp=1 bln=2\n   value=3\n bind 1: (No oacdef for this bind)\n{EXEC}\
         RPC CALL:PROCEDURE X.Y(A);\nRPC BINDS:\n bind 0: dty=2\n   value=3\nRPC EXEC:c=1,e=2\n"
    );
    assert_eq!(kinds(&scan(&text)), ["Binds 2", "Exec 5", "Binds 1", "Rpc 0"]);
}

#[test]
fn a_parse_error_takes_its_length_and_no_more() {
    let text = "select\n\nfrom\n\nwhere";
    let header = format!("PARSE ERROR #5:len={} dep=0 uid=1 oct=3 lid=1 tim=5 err=942\n", text.len());
    let batch = scan(&format!("{header}{text}\n{EXEC}"));
    assert_eq!(kinds(&batch), [format!("ParseError {text:?}"), "Exec 5".into()]);
    let short = scan(&format!("{header}select\n{EXEC}"));
    assert_eq!(kinds(&short), ["ParseError \"select\"", "Exec 5"]);
}

#[test]
fn a_text_whose_end_is_lost_is_said_to_be_cut() {
    let batch = scan(&format!("{}{EXEC}", declaration(8, "select 1")));
    assert_eq!(kinds(&batch), ["Declaration \"select 1\"", "Exec 5"]);
    assert!(batch.declarations[0].is_cut);
    let ends = scan(&declaration(800, "select 1"));
    assert_eq!(kinds(&ends), ["Declaration \"select 1\""]);
}

#[test]
fn a_carriage_return_at_the_end_of_a_line_changes_nothing() {
    let text = format!(
        "*** MODULE NAME:(x) 2015-03-10 14:08:53.050\n{}END OF STMT\nBINDS #5:\n Bind#0\n  value=1\n{EXEC}{WAIT}{WAIT}",
        declaration(10, "select\n1 x")
    );
    let (plain, returned) = (scan(&text), scan(&text.replace('\n', "\r\n")));
    let expected: Vec<String> = kinds(&plain).iter().map(|kind| kind.replace("\\n", "\\r\\n")).collect();
    assert_eq!(kinds(&returned), expected);
    assert_eq!(unread(&returned), []);
}

#[test]
fn a_last_line_without_its_end_is_not_trusted() {
    let batch = scan(&format!("{EXEC}{}", WAIT.trim_end()));
    assert_eq!(kinds(&batch), ["Exec 5"]);
    assert_eq!(unread(&batch), [(kind::UNFINISHED, 1)]);
    assert_eq!(unread(&scan(&format!("{EXEC}\n*** 2015-03-10 14:08:53.050"))), []);
    assert_eq!(kinds(&scan(&format!("{}END OF STMT", declaration(8, "select 1")))).len(), 1);
}

#[test]
fn a_number_beyond_64_bits_is_counted_and_not_read() {
    let batch = scan(&format!("{}{EXEC}", WAIT.replace("ela= 4", "ela= 99999999999999999999")));
    assert_eq!(kinds(&batch), ["Exec 5"]);
    assert_eq!(unread(&batch), [(kind::OUT_OF_RANGE, 1)]);
}

#[test]
fn an_old_application_line_gives_two_marks() {
    let batch = scan("APPNAME mod='it' mh=1 act='do' ah=2\n");
    assert_eq!(kinds(&batch).len(), 2);
    assert_eq!(kinds(&batch)[0], "Module it");
}

#[test]
fn an_operation_on_a_large_object_is_named_by_the_batch() {
    let batch = scan("LOBREAD: type=TEMPORARY LOB,bytes=3,c=99,e=577,p=8,cr=8,cu=0,tim=648\n");
    let Body::Call(call) = &batch.records[0].body else { panic!("no call") };
    assert_eq!(batch.names[usize::from(call.name)], "LOBREAD");
}

#[test]
fn a_long_text_is_shortened_and_its_end_is_found() {
    let text = "x".repeat(TEXT_MAX + 5000) + "\nmore";
    let batch = scan(&format!("{}END OF STMT\n{EXEC}", declaration(text.len(), &text)));
    let declaration = &batch.declarations[0];
    assert_eq!((declaration.text.len(), declaration.text_bytes), (TEXT_MAX, text.len() as u64));
    assert_eq!(kinds(&batch)[1], "Exec 5");
}

#[test]
fn a_long_text_whose_kept_part_ends_with_a_line_is_not_read_on_as_records() {
    let text = format!("{}\n{EXEC}more", "x".repeat(TEXT_MAX - 1));
    let batch = scan(&format!("{}END OF STMT\n{EXEC}", declaration(text.len(), &text)));
    assert_eq!(batch.declarations[0].text_bytes, text.len() as u64);
    assert_eq!((batch.records.len(), &*kinds(&batch)[1]), (2, "Exec 5"));
    assert_eq!(unread(&batch), []);
}
