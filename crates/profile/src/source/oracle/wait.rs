//! Wait lines and the events that they name.
//!
//! The names of an event and of its parameters are free text, so the careful reader has to search for their ends. But
//! a trace repeats a few events for millions of lines: the quick reader guesses the event, the one that followed the
//! last one before, and only compares.

use crate::source::oracle::fields::{Answer, Fault, Fields};
use crate::source::oracle::record::{Batch, EventName, WaitRecord};

/// How a wait line begins.
pub(crate) const BEGINNING: &[u8; 6] = b"WAIT #";

/// What stands between the cursor and the event's name.
const NAME_BEGIN: &[u8; 7] = b": nam='";

/// What ends the event's name: an apostrophe alone may belong to it.
const NAME_END: &[u8; 6] = b"' ela=";

/// Longest wait line: 64 bytes a name, and room for four times as much.
const LINE_MAX: usize = 1024;

/// Most blanks before the time that the quick reader steps over.
const BLANKS_MAX: usize = 16;

/// Most events that are remembered from one batch to the next; beyond, the file is no trace that a database wrote.
const REMEMBERED_MAX: usize = 512;

/// Bytes to step over, compared in words of 16 where there are no more of these than `WORDS`.
#[derive(Debug)]
struct Pattern<const WORDS: usize> {
    bytes: Box<[u8]>,
    words: [u128; WORDS],
    /// Which bits of a word count: none behind the last of the bytes.
    masks: [u128; WORDS],
    /// Whether all bytes are in the words.
    is_short: bool,
}

impl<const WORDS: usize> Pattern<WORDS> {
    fn of(bytes: Box<[u8]>) -> Pattern<WORDS> {
        let (mut words, mut masks) = ([0; WORDS], [0; WORDS]);
        for (place, byte) in bytes.iter().enumerate().take(16 * WORDS) {
            let bits = 8 * (place % 16);
            words[place / 16] |= u128::from(*byte) << bits;
            masks[place / 16] |= 0xFF_u128 << bits;
        }
        let is_short = bytes.len() <= 16 * WORDS;
        Pattern { bytes, words, masks, is_short }
    }

    /// Steps over the bytes if they stand here.
    #[inline(always)]
    fn eat(&self, fields: &mut Fields<'_>) -> Option<()> {
        match fields.bytes.get(fields.at..fields.at + 16 * WORDS) {
            Some(window) if self.is_short => {
                let mut difference = 0;
                for (place, word) in window.as_chunks::<16>().0.iter().enumerate() {
                    difference |= (u128::from_le_bytes(*word) ^ self.words[place]) & self.masks[place];
                }
                fields.at += self.bytes.len();
                (difference == 0).then_some(())
            }
            _ => fields.eat_slice(&self.bytes),
        }
    }
}

/// An event as lines spell it, ready to be compared.
#[derive(Debug)]
struct Spelling {
    /// The event's name with what ends it.
    head: Pattern<3>,
    /// The parameters with the blank before and the `=` after.
    parameters: [Pattern<1>; 3],
    /// How many parameters there are.
    parameter_count: usize,
    /// Its index in the batch of that turn.
    index: u16,
    /// The batch in which it was last seen; 0 for none.
    turn: u64,
    /// The spelling that came next, last time.
    follower: usize,
}

/// The events of a trace, remembered from batch to batch; their indexes are the batch's own, in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct EventDictionary {
    spellings: Vec<Spelling>,
    /// The number of the batch, from 1.
    turn: u64,
    /// The spelling of the last wait.
    last: usize,
}

impl EventDictionary {
    /// Begins a batch: no event has an index yet.
    pub(crate) fn begin_batch(&mut self) {
        self.turn += 1;
        if self.spellings.len() >= REMEMBERED_MAX {
            self.spellings.clear();
        }
    }

    /// A wait line of a known spelling, its line end included. `fields` stands behind the `#`.
    #[inline(always)]
    pub(crate) fn quick(&mut self, mut fields: Fields<'_>, events: &mut Vec<EventName>) -> Option<(WaitRecord, usize)> {
        let cursor = fields.quick()?;
        fields.eat(NAME_BEGIN)?;
        let guess = self.spellings.get(self.last).map_or(0, |spelling| spelling.follower);
        let is_right = self.spellings.get(guess).is_some_and(|spelling| spelling.is_next(&mut fields));
        let number = if is_right { guess } else { self.search(&mut fields)? };
        let spelling = &self.spellings[number];
        let blanks = fields.rest().iter().take(BLANKS_MAX).take_while(|byte| **byte == b' ').count();
        fields.at += blanks;
        let elapsed = fields.quick_signed()?;
        let mut parameters = [0; 3];
        for (value, name) in parameters.iter_mut().zip(&spelling.parameters).take(spelling.parameter_count) {
            name.eat(&mut fields)?;
            *value = fields.quick_signed()?;
        }
        let object = if fields.eat(b" obj#=").is_some() { Some(fields.quick_signed()?) } else { None };
        let end = if fields.eat(b" tim=").is_some() { Some(fields.quick_signed()?) } else { None };
        fields.line_end()?;
        if end.is_none() && !may_lack_time(spelling.parameter_count, object) {
            return None;
        }
        let event = self.index_of(number, events)?;
        if let Some(last) = self.spellings.get_mut(self.last) {
            last.follower = number;
        }
        self.last = number;
        Some((WaitRecord { event, cursor, elapsed, parameters, object, end }, fields.at))
    }

    /// The spelling whose event stands here, past which it steps.
    fn search(&self, fields: &mut Fields<'_>) -> Option<usize> {
        self.spellings.iter().position(|spelling| spelling.is_next(fields))
    }

    /// The index of a spelling in this batch; `None` when the batch has too many events to number.
    #[inline(always)]
    fn index_of(&mut self, number: usize, events: &mut Vec<EventName>) -> Option<u16> {
        let spelling = &mut self.spellings[number];
        if spelling.turn != self.turn {
            spelling.index = u16::try_from(events.len()).ok()?;
            spelling.turn = self.turn;
            events.push(spelling.name());
        }
        Some(spelling.index)
    }

    /// Any wait line without its line end; `None` when it does not begin like one.
    pub(crate) fn read(&mut self, line: &[u8], batch: &mut Batch) -> Option<Answer<WaitRecord>> {
        let parts = parts(line)?;
        Some(parts.and_then(|parts| {
            let number = self.number_of(&parts);
            let event = self.index_of(number, &mut batch.events).ok_or(Fault::OutOfRange)?;
            Ok(WaitRecord { event, ..parts.wait })
        }))
    }

    fn number_of(&mut self, parts: &Parts<'_>) -> usize {
        let known = self.spellings.iter().position(|spelling| spelling.is_of(parts));
        known.unwrap_or_else(|| {
            self.spellings.push(Spelling::of(parts));
            self.spellings.len() - 1
        })
    }
}

impl Spelling {
    fn of(parts: &Parts<'_>) -> Spelling {
        let spell = |index: usize| Pattern::of([b" ", parts.names[index], b"="].concat().into());
        Spelling {
            head: Pattern::of([parts.event, NAME_END].concat().into()),
            parameters: [spell(0), spell(1), spell(2)],
            parameter_count: parts.name_count,
            index: 0,
            turn: 0,
            follower: 0,
        }
    }

    /// Steps over the event's name if it stands here.
    #[inline(always)]
    fn is_next(&self, fields: &mut Fields<'_>) -> bool {
        let begin = fields.at;
        let is_next = self.head.eat(fields).is_some();
        if !is_next {
            fields.at = begin;
        }
        is_next
    }

    fn is_of(&self, parts: &Parts<'_>) -> bool {
        self.head.bytes.strip_suffix(NAME_END) == Some(parts.event)
            && self.parameter_count == parts.name_count
            && self.parameter_names().eq(parts.names.into_iter().take(parts.name_count))
    }

    fn parameter_names(&self) -> impl Iterator<Item = &[u8]> {
        self.parameters.iter().take(self.parameter_count).map(|name| &name.bytes[1..name.bytes.len() - 1])
    }

    fn name(&self) -> EventName {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let event = text(&self.head.bytes[..self.head.bytes.len() - NAME_END.len()]);
        EventName { event, parameters: self.parameter_names().map(text).collect() }
    }
}

/// What a wait line says.
#[derive(Debug, Default, PartialEq)]
struct Parts<'a> {
    /// Without the index of its event.
    wait: WaitRecord,
    event: &'a [u8],
    names: [&'a [u8]; 3],
    name_count: usize,
}

/// Whether the line is a wait from its first byte to its last.
pub(crate) fn is_whole(line: &[u8]) -> bool {
    parts(line).is_some_and(|parts| parts.is_ok())
}

fn parts(line: &[u8]) -> Option<Answer<Parts<'_>>> {
    let is_too_long = line.len() > LINE_MAX;
    line.starts_with(BEGINNING).then(|| match is_too_long {
        true => Err(Fault::Malformed),
        false => parts_after(Fields::new(line, BEGINNING.len())),
    })
}

fn parts_after(mut fields: Fields<'_>) -> Answer<Parts<'_>> {
    let cursor = fields.checked()?;
    fields.expect(NAME_BEGIN)?;
    let length = memchr::memmem::find(fields.rest(), NAME_END).ok_or(Fault::Malformed)?;
    let event = &fields.rest()[..length];
    fields.at += length + NAME_END.len();
    fields.skip_blanks();
    let mut wait = WaitRecord { cursor, elapsed: fields.checked_signed()?, ..WaitRecord::default() };
    let (mut names, mut name_count) = ([&[][..]; 3], 0);
    while !fields.is_at_end() {
        if fields.peek() != Some(b' ') {
            return Err(Fault::Malformed);
        }
        fields.skip_blanks();
        if fields.is_at_end() {
            break;
        }
        let (name, value) = parameter(&mut fields)?;
        match name {
            b"obj#" if wait.object.is_none() => wait.object = Some(value),
            b"tim" if wait.end.is_none() => wait.end = Some(value),
            _ if name_count < 3 && wait.object.is_none() && wait.end.is_none() => {
                names[name_count] = name;
                wait.parameters[name_count] = value;
                name_count += 1;
            }
            _ => return Err(Fault::Malformed),
        }
    }
    if wait.end.is_none() && !may_lack_time(name_count, wait.object) {
        return Err(Fault::Malformed);
    }
    Ok(Parts { wait, event, names, name_count })
}

/// Whether a wait without its time may be whole: releases before 10g write three parameters and no more, and a
/// look-alike of another maker writes none. Any other number is a line that was cut.
fn may_lack_time(parameter_count: usize, object: Option<i64>) -> bool {
    object.is_none() && matches!(parameter_count, 0 | 3)
}

/// The shortest text up to a `=` that a number and then a blank or the line's end follow.
fn parameter<'a>(fields: &mut Fields<'a>) -> Answer<(&'a [u8], i64)> {
    let rest = fields.rest();
    for equals in memchr::memchr_iter(b'=', rest) {
        let mut value = Fields::new(rest, equals + 1);
        match value.checked_signed() {
            Ok(number) if equals > 0 && matches!(value.peek(), None | Some(b' ')) => {
                fields.at += value.at;
                return Ok((&rest[..equals], number));
            }
            Err(fault @ Fault::OutOfRange) => return Err(fault),
            _ => {}
        }
    }
    Err(Fault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Parts<'_> {
        parts(line.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn names_of_events_and_parameters_are_free_text() {
        let wait = read("WAIT #7: nam='it's a: b*c/d&e' ela= -5 usn<<16 | slot=1 a = b=-2 0=3 obj#=-1 tim=99");
        assert_eq!((wait.event, wait.wait.elapsed), (&b"it's a: b*c/d&e"[..], -5));
        assert_eq!(wait.names, [&b"usn<<16 | slot"[..], b"a = b", b"0"]);
        assert_eq!((wait.wait.parameters, wait.wait.object, wait.wait.end), ([1, -2, 3], Some(-1), Some(99)));
    }

    #[test]
    fn a_wait_of_9i_has_neither_object_nor_time() {
        let wait = read("WAIT #1: nam='db file sequential read' ela=4 p1=1 p2=123 p3=1");
        assert_eq!((wait.name_count, wait.wait.object, wait.wait.end), (3, None, None));
        assert_eq!(read("WAIT #1: nam='SQL****' ela= 4").name_count, 0);
    }

    #[test]
    fn a_cut_wait_is_malformed_unless_what_is_left_is_a_wait_of_an_old_release() {
        let line = "WAIT #1: nam='db file sequential read' ela= 4 file#=1 block#=123 blocks=1 obj#=5 tim=7";
        for length in BEGINNING.len()..line.len() {
            let cut = &line[..length];
            let is_old = ["ela= 4", "ela= 4 ", "blocks=1", "blocks=1 "].iter().any(|end| cut.ends_with(end));
            assert_eq!(is_whole(cut.as_bytes()), is_old, "{cut}");
        }
    }

    #[test]
    fn the_quick_and_the_careful_reader_of_waits_agree() {
        let lines = [
            "WAIT #1: nam='a' ela= 4 file#=1 block#=123 blocks=1 obj#=5 tim=77",
            "WAIT #1: nam='b' ela= 5 p1=1 p2=123 p3=1 obj#=5 tim=78",
            "WAIT #1: nam='a' ela= 6 file#=1 block#=123 blocks=1",
        ];
        let (mut dictionary, mut batch) = (EventDictionary::default(), Batch::default());
        dictionary.begin_batch();
        let careful: Vec<WaitRecord> =
            lines.iter().map(|line| dictionary.read(line.as_bytes(), &mut batch).unwrap().unwrap()).collect();
        for (line, careful) in lines.iter().zip(&careful) {
            let padded = format!("{line}\r\n        ");
            let fields = Fields::new(padded.as_bytes(), BEGINNING.len());
            assert_eq!(dictionary.quick(fields, &mut batch.events), Some((*careful, line.len() + 2)));
        }
        assert_eq!(batch.events.len(), 2);
    }

    #[test]
    fn an_event_with_other_parameters_is_another_event() {
        let (mut dictionary, mut batch) = (EventDictionary::default(), Batch::default());
        dictionary.begin_batch();
        let first = dictionary.read(b"WAIT #1: nam='a' ela= 4 x=1 y=2 z=3", &mut batch).unwrap().unwrap();
        let second = dictionary.read(b"WAIT #1: nam='a' ela= 4 x=1 y=2 id=3", &mut batch).unwrap().unwrap();
        assert_ne!(first.event, second.event);
        assert_eq!(batch.events[1].parameters, ["x", "y", "id"]);
    }
}
