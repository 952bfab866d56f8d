//! Lines of executed plans.

use std::ops::Range;

use crate::source::oracle::fields::{Answer, Fault, Fields};
use crate::source::oracle::record::{PlanFigures, PlanLineRecord};

/// How a plan line begins.
pub(crate) const BEGINNING: &[u8; 6] = b"STAT #";

/// Most bytes of an operation with its figures that the quick reader looks through.
const QUICK_MAX: usize = 1024;

/// A plan line of the usual form, its line end included. `fields` stands behind the `#`; the span of the operation is
/// of all bytes.
pub(crate) fn quick(mut fields: Fields<'_>) -> Option<(PlanLineRecord, usize)> {
    let cursor = fields.quick()?;
    let id = u32::try_from(fields.quick_after(b" id=")?).ok()?;
    let rows = fields.quick_after(b" cnt=")?;
    let parent = u32::try_from(fields.quick_after(b" pid=")?).ok()?;
    fields.quick_after(b" pos=")?;
    let object = fields.quick_signed_after(b" obj=")?;
    fields.eat(b" op='")?;
    let begin = fields.at;
    let rest = fields.rest();
    let length = memchr::memchr(b'\n', &rest[..rest.len().min(QUICK_MAX)])?;
    let figures_begin = memchr::memrchr(b'(', &rest[..length])?;
    fields.at += figures_begin;
    let figures = Some(quick_figures(&mut fields)?);
    if fields.at != begin + length {
        return None;
    }
    let operation = begin..begin + trimmed(&rest[..figures_begin]);
    Some((PlanLineRecord { cursor, id, parent, rows, object, operation, figures }, fields.at + 1))
}

/// Figures with the usual keys, in parentheses, and the apostrophe behind.
fn quick_figures(fields: &mut Fields<'_>) -> Option<PlanFigures> {
    let consistent_gets = fields.quick_after(b"(cr=")?;
    let physical_reads = fields.quick_after(b" pr=")?;
    let physical_writes = fields.quick_after(b" pw=")?;
    let starts = if fields.eat(b" str=").is_some() { Some(fields.quick()?) } else { None };
    let time = fields.quick_signed_after(b" time=")?;
    fields.eat(b" us")?;
    let mut estimated_rows = None;
    if fields.eat(b" cost=").is_some() {
        fields.quick()?;
        fields.quick_after(b" size=")?;
        estimated_rows = Some(fields.quick_after(b" card=")?);
    }
    fields.eat(b")'")?;
    Some(PlanFigures { consistent_gets, physical_reads, physical_writes, starts, time, estimated_rows })
}

/// Reads a plan line without its line end; `None` when it does not begin like one. The span of the operation is within
/// the line.
pub(crate) fn read(line: &[u8]) -> Option<Answer<PlanLineRecord>> {
    line.starts_with(BEGINNING).then(|| read_after(line))
}

fn read_after(line: &[u8]) -> Answer<PlanLineRecord> {
    let mut fields = Fields::new(line, BEGINNING.len());
    let cursor = fields.checked()?;
    let id = fields.checked_after(b" id=")?;
    let rows = fields.checked_after(b" cnt=")?;
    let parent = fields.checked_after(b" pid=")?;
    fields.checked_after(b" pos=")?;
    fields.expect(b" obj=")?;
    let object = fields.checked_signed()?;
    fields.expect(b" op='")?;
    let begin = fields.at;
    let quoted = fields.rest().strip_suffix(b"'").ok_or(Fault::Malformed)?;
    let (operation, figures) = operation(quoted)?;
    Ok(PlanLineRecord {
        cursor,
        id: small(id)?,
        parent: small(parent)?,
        rows,
        object,
        operation: begin + operation.start..begin + operation.end,
        figures,
    })
}

fn small(value: u64) -> Answer<u32> {
    u32::try_from(value).map_err(|_| Fault::OutOfRange)
}

/// The name of the operation, and its figures where it has any. Old releases write the name alone, and a name may have
/// parentheses of its own.
fn operation(quoted: &[u8]) -> Answer<(Range<usize>, Option<PlanFigures>)> {
    let figures_begin = memchr::memrchr(b'(', quoted).filter(|begin| quoted[*begin..].starts_with(b"(cr="));
    let Some(begin) = figures_begin else { return Ok((0..trimmed(quoted), None)) };
    let inner = quoted[begin + 1..].strip_suffix(b")").ok_or(Fault::Malformed)?;
    Ok((0..trimmed(&quoted[..begin]), Some(figures(inner)?)))
}

fn trimmed(name: &[u8]) -> usize {
    name.trim_ascii_end().len()
}

fn figures(inner: &[u8]) -> Answer<PlanFigures> {
    let mut figures = PlanFigures::default();
    let mut fields = Fields::new(inner, 0);
    loop {
        fields.skip_blanks();
        if fields.is_at_end() {
            break;
        }
        let rest = fields.rest();
        let length = rest.iter().position(|byte| matches!(byte, b'=' | b' ')).unwrap_or(rest.len());
        fields.at += length;
        // The unit behind the time stands alone.
        if fields.eat(b"=").is_some() {
            figure(&rest[..length], &mut fields, &mut figures)?;
        }
    }
    Ok(figures)
}

fn figure(name: &[u8], value: &mut Fields<'_>, figures: &mut PlanFigures) -> Answer<()> {
    match name {
        b"cr" => figures.consistent_gets = value.checked()?,
        b"pr" | b"r" => figures.physical_reads = value.checked()?,
        b"pw" | b"w" => figures.physical_writes = value.checked()?,
        b"str" => figures.starts = Some(value.checked()?),
        b"time" => figures.time = value.checked_signed()?,
        // The optimizer's cost and rows may have more digits than a number has room for.
        b"card" => figures.estimated_rows = value.checked().ok(),
        b"cost" => drop(value.checked()),
        _ => drop(value.checked_signed()?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> PlanLineRecord {
        super::read(line.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn plan_lines_of_every_release_are_read() {
        let begin = "STAT #140 id=2 cnt=5 pid=1 pos=3 obj=-1 op='";
        let new = format!("{begin}INDEX (FULL) X (cr=3 pr=1 pw=2 str=4 time=60 us cost=7 size=8 card=9)'");
        let line = read(&new);
        assert_eq!(&new.as_bytes()[line.operation.clone()], b"INDEX (FULL) X");
        let figures = line.figures.unwrap();
        assert_eq!((line.cursor, line.id, line.rows, line.parent, line.object), (140, 2, 5, 1, -1));
        assert_eq!((figures.consistent_gets, figures.physical_reads, figures.physical_writes), (3, 1, 2));
        assert_eq!((figures.starts, figures.time, figures.estimated_rows), (Some(4), 60, Some(9)));
        let tenth = read(&format!("{begin}FAST DUAL  (cr=0 pr=0 pw=0 time=3 us)'"));
        assert_eq!(tenth.figures.unwrap().starts, None);
        assert_eq!(read(&format!("{begin}TABLE ACCESS FULL IT'S '")).figures, None);
    }

    #[test]
    fn the_quick_and_the_careful_reader_of_plan_lines_agree() {
        let begin = "STAT #140 id=2 cnt=5 pid=1 pos=3 obj=-1 op='";
        for (figures, is_quick) in [
            ("X (FULL) Y (cr=3 pr=1 pw=2 str=4 time=60 us cost=7 size=8 card=9)'", true),
            ("X (cr=3 pr=1 pw=2 time=60 us cost=7 size=8 card=9)'", true),
            ("FAST DUAL  (cr=0 pr=0 pw=0 time=-3 us)'", true),
            ("(cr=0 pr=0 pw=0 time=3 us)'", true),
            ("X (cr=0 pr=0 pw=0 time=3 us)' ", false),
            ("X (cr=0 pr=0 pw=0 time=3 us cost=7)'", false),
            ("X (cr=3 r=1 w=2 time=60 us)'", false),
            ("X (cr=3 pr=1 pw=2 time=60 us) (Y)'", false),
            ("TABLE ACCESS FULL IT'S '", false),
        ] {
            let line = format!("{begin}{figures}");
            let padded = format!("{line}\nWAIT #0: padding");
            let quick = quick(Fields::new(padded.as_bytes(), BEGINNING.len()));
            assert_eq!(quick.is_some(), is_quick, "{line}");
            if let Some((plan, next)) = quick {
                assert_eq!(next, line.len() + 1);
                assert_eq!(plan, read(&line));
            }
        }
    }

    #[test]
    fn a_cut_plan_line_is_malformed() {
        let whole = "STAT #2 id=1 cnt=1 pid=0 pos=1 obj=0 op='FAST DUAL  (cr=0 pr=0 pw=0 time=3 us)'";
        for length in BEGINNING.len()..whole.len() {
            assert!(super::read(&whole.as_bytes()[..length]).unwrap().is_err(), "{}", &whole[..length]);
            let cut = format!("{}\nWAIT #0: padding", &whole[..length]);
            assert_eq!(quick(Fields::new(cut.as_bytes(), BEGINNING.len())), None, "{cut}");
        }
        let long = whole.replace("id=1", "id=99999999999999999999999");
        assert_eq!(super::read(long.as_bytes()), Some(Err(Fault::OutOfRange)));
    }
}
