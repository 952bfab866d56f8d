//! Lines of database calls: quickly where they have the usual keys in the usual order, carefully otherwise.

use crate::source::oracle::fields::{Answer, Fault, Fields};
use crate::source::oracle::record::{CallKind, CallRecord};

/// A line of PARSE, EXEC, FETCH, UNMAP or SORT UNMAP with the usual keys, its line end included. `fields` stands behind
/// the `#`. The figures are read in the order in which they are written here, which is that of the line.
#[inline(always)]
pub(crate) fn quick(mut fields: Fields<'_>, kind: CallKind) -> Option<(CallRecord, usize)> {
    let call = CallRecord {
        kind,
        name: 0,
        cursor: fields.quick()?,
        cpu: fields.quick_signed_after(b":c=")?,
        elapsed: fields.quick_signed_after(b",e=")?,
        physical_reads: fields.quick_after(b",p=")?,
        consistent_gets: fields.quick_after(b",cr=")?,
        current_gets: fields.quick_after(b",cu=")?,
        misses: fields.quick_after(b",mis=")?,
        rows: fields.quick_after(b",r=")?,
        depth: u16::try_from(fields.quick_after(b",dep=")?).ok()?,
        goal: u8::try_from(fields.quick_after(b",og=")?).ok()?,
        plan_hash: if fields.eat(b",plh=").is_some() { fields.quick()? } else { 0 },
        end: Some(fields.quick_signed_after(b",tim=")?),
    };
    fields.line_end()?;
    Some((call, fields.at))
}

/// A CLOSE line with the usual keys, its line end included. `fields` stands behind the `#`.
#[inline(always)]
pub(crate) fn quick_close(mut fields: Fields<'_>) -> Option<(CallRecord, usize)> {
    let cursor = fields.quick()?;
    let cpu = fields.quick_signed_after(b":c=")?;
    let elapsed = fields.quick_signed_after(b",e=")?;
    let depth = u16::try_from(fields.quick_after(b",dep=")?).ok()?;
    fields.quick_after(b",type=")?;
    let end = Some(fields.quick_signed_after(b",tim=")?);
    fields.line_end()?;
    let kind = CallKind::Close;
    Some((CallRecord { kind, depth, cursor, cpu, elapsed, end, ..CallRecord::default() }, fields.at))
}

/// How a call line begins, up to the `#` of its cursor.
pub(crate) const BEGINNINGS: [(&[u8], CallKind); 6] = [
    (b"PARSE #", CallKind::Parse),
    (b"EXEC #", CallKind::Exec),
    (b"FETCH #", CallKind::Fetch),
    (b"CLOSE #", CallKind::Close),
    (b"UNMAP #", CallKind::Unmap),
    (b"SORT UNMAP #", CallKind::SortUnmap),
];

/// Any call line without its line end; `None` when it does not begin like one. The second is the name of an operation
/// on large objects, empty for others.
///
/// Unknown keys are stepped over. A line must have its time, and its figures of time unless it is a CLOSE, so that a
/// line that was cut is not taken for a cheap call.
pub(crate) fn read(line: &[u8]) -> Option<Answer<(CallRecord, &[u8])>> {
    for (beginning, kind) in BEGINNINGS {
        if line.starts_with(beginning) {
            return Some(with_cursor(Fields::new(line, beginning.len()), kind).map(|call| (call, &b""[..])));
        }
    }
    if let Some(rest) = line.strip_prefix(b"RPC EXEC:") {
        return Some(remote(rest).map(|call| (call, &b""[..])));
    }
    large_object(line)
}

fn with_cursor(mut fields: Fields<'_>, kind: CallKind) -> Answer<CallRecord> {
    let mut call = CallRecord { kind, cursor: fields.checked()?, ..CallRecord::default() };
    // A look-alike of another maker has a blank here.
    if !matches!(fields.peek(), Some(b':' | b' ')) {
        return Err(Fault::Malformed);
    }
    fields.at += 1;
    let seen = figures(fields, &mut call)?;
    let wanted = if kind == CallKind::Close { Seen::TIME | Seen::TYPE } else { Seen::CALL | Seen::DEPTH | Seen::TIME };
    if seen & wanted == wanted { Ok(call) } else { Err(Fault::Malformed) }
}

fn remote(rest: &[u8]) -> Answer<CallRecord> {
    let mut call = CallRecord { kind: CallKind::Rpc, ..CallRecord::default() };
    let seen = figures(Fields::new(rest, 0), &mut call)?;
    if seen & Seen::CALL == Seen::CALL { Ok(call) } else { Err(Fault::Malformed) }
}

/// `LOBREAD: type=TEMPORARY LOB,bytes=..,c=..`: any word of capitals that begins with LOB.
fn large_object(line: &[u8]) -> Option<Answer<(CallRecord, &[u8])>> {
    if !line.starts_with(b"LOB") {
        return None;
    }
    let colon = line.iter().take(24).position(|byte| *byte == b':')?;
    let name = &line[..colon];
    if name.len() < 6 || !name.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let mut call = CallRecord { kind: CallKind::Lob, ..CallRecord::default() };
    let rest = &line[colon + 1..];
    // The kind of object is text with blanks and stands before the figures.
    let begin = rest.windows(2).position(|pair| pair == b"c=").unwrap_or(rest.len());
    let figures = figures(Fields::new(rest, begin), &mut call);
    Some(figures.and_then(|seen| {
        let wanted = Seen::CALL | Seen::TIME;
        if seen & wanted == wanted { Ok((call, name)) } else { Err(Fault::Malformed) }
    }))
}

/// Which keys were there.
struct Seen;

impl Seen {
    /// CPU and elapsed time.
    const CALL: u8 = 3;
    const DEPTH: u8 = 4;
    const TIME: u8 = 8;
    const TYPE: u8 = 16;
}

/// `key=number` with commas between, to the end of the line.
fn figures(mut fields: Fields<'_>, call: &mut CallRecord) -> Answer<u8> {
    let mut seen = 0;
    loop {
        let key_length = fields.rest().iter().position(|byte| *byte == b'=').ok_or(Fault::Malformed)?;
        let key = &fields.rest()[..key_length];
        if key.is_empty() || key.len() > 16 || !key.iter().all(|byte| byte.is_ascii_lowercase()) {
            return Err(Fault::Malformed);
        }
        fields.at += key_length + 1;
        seen |= figure(key, &mut fields, call)?;
        match fields.peek() {
            None => return Ok(seen),
            Some(b',') => fields.at += 1,
            Some(_) => return Err(Fault::Malformed),
        }
    }
}

fn figure(key: &[u8], fields: &mut Fields<'_>, call: &mut CallRecord) -> Answer<u8> {
    match key {
        b"c" => call.cpu = fields.checked_signed()?,
        b"e" => call.elapsed = fields.checked_signed()?,
        b"p" => call.physical_reads = fields.checked()?,
        b"cr" => call.consistent_gets = fields.checked()?,
        b"cu" => call.current_gets = fields.checked()?,
        b"mis" => call.misses = fields.checked()?,
        b"r" => call.rows = fields.checked()?,
        b"dep" => call.depth = u16::try_from(fields.checked()?).map_err(|_| Fault::OutOfRange)?,
        b"og" => call.goal = u8::try_from(fields.checked_signed()?).unwrap_or(0),
        b"plh" => call.plan_hash = fields.checked()?,
        b"tim" => call.end = Some(fields.checked_signed()?),
        _ => drop(fields.checked_signed()?),
    }
    Ok(match key {
        b"c" => 1,
        b"e" => 2,
        b"dep" => Seen::DEPTH,
        b"tim" => Seen::TIME,
        b"type" => Seen::TYPE,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "EXEC #140:c=271,e=1282,p=1,cr=2,cu=3,mis=4,r=5,dep=6,og=1,plh=77,tim=641461265";

    #[test]
    fn the_quick_and_the_careful_reader_of_calls_agree() {
        let padded = format!("{LINE}\nWAIT #0: padding");
        let (quick, next) = quick(Fields::new(padded.as_bytes(), 6), CallKind::Exec).unwrap();
        assert_eq!(next, LINE.len() + 1);
        assert_eq!(read(LINE.as_bytes()).unwrap().unwrap().0, quick);
        assert_eq!((quick.rows, quick.plan_hash, quick.end), (5, 77, Some(641_461_265)));
    }

    #[test]
    fn a_line_cut_at_any_place_is_no_call() {
        for length in "EXEC #".len()..LINE.find("tim=").unwrap() + 4 {
            let answer = read(&LINE.as_bytes()[..length]).unwrap();
            assert_eq!(answer.unwrap_err(), Fault::Malformed, "{length}");
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_named_as_such() {
        let line = LINE.replace("e=1282", "e=99999999999999999999");
        assert_eq!(read(line.as_bytes()), Some(Err(Fault::OutOfRange)));
    }

    #[test]
    fn look_alikes_and_unknown_keys_are_read() {
        let (close, _) = read(b"CLOSE #5 type=0,tim=77").unwrap().unwrap();
        assert_eq!((close.kind, close.cursor, close.end), (CallKind::Close, 5, Some(77)));
        let (exec, _) = read(b"EXEC #3 c=1,e=2,p=0,dep=1,new=-5,tim=9").unwrap().unwrap();
        assert_eq!((exec.elapsed, exec.depth), (2, 1));
        let (remote, _) = read(b"RPC EXEC:c=3,e=4").unwrap().unwrap();
        assert_eq!((remote.kind, remote.elapsed, remote.end), (CallKind::Rpc, 4, None));
    }

    #[test]
    fn an_operation_on_a_large_object_keeps_its_name() {
        let line = b"LOBGETLEN: type=TEMPORARY LOB,bytes=3,c=99,e=577,p=8,cr=7,cu=0,tim=648";
        let (call, name) = read(line).unwrap().unwrap();
        assert_eq!((name, call.cpu, call.elapsed, call.physical_reads), (&b"LOBGETLEN"[..], 99, 577, 8));
    }
}
