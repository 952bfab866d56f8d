//! Wait classes: to which class an event belongs, whether it is idle, and which practices make a class smaller.
//!
//! The classes follow the method of response time (YAPP): they are cut by what a person would do about them, not by
//! which layer of the database wrote the event. The tables of events stand beside this file, one a source.

mod oracle;
mod postgres;
mod practice;

pub use practice::ROWS;

/// A class of the response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// CPU of all calls but parse calls: mostly logical reads.
    Cpu,
    /// CPU of parse calls.
    CpuParse,
    /// Reads of single blocks, one or several of them in a request.
    SingleBlockReads,
    /// Reads of neighbouring blocks in one request, into the buffer cache or past it.
    MultiBlockReads,
    /// Sorts, hash joins and temporary tables that do not fit into memory.
    TemporaryIo,
    /// Writes and other I/O of the session itself.
    SessionIo,
    /// Waiting for the log at the end of a transaction.
    Commit,
    /// Waiting because a buffer, a log or a queue is too small or is not emptied fast enough.
    Configuration,
    /// Locks that the application asked for.
    Application,
    /// Latches, mutexes, pins and hot blocks: structures that sessions share.
    Concurrency,
    /// Blocks and locks that come from another node.
    Cluster,
    /// Round trips and data on the way to and from the client.
    Network,
    /// Waiting for a processor that the database's own scheduler withholds.
    Scheduler,
    /// Parallel workers and queues between processes.
    Parallel,
    /// I/O of background processes.
    SystemIo,
    /// Maintenance that somebody ordered, and its throttles.
    Administrative,
    /// Events that no class claims.
    Other,
    /// Time in which the client asked for nothing.
    ThinkTime,
    /// Sleeping with nothing to do, or because the program asked to sleep.
    Idle,
    /// Time within calls that is neither CPU nor a traced wait.
    UnaccountedWithin,
    /// Time between calls that no line tells of.
    UnaccountedBetween,
    /// Time between one file of a session and the next: there is no trace of it.
    Unrecorded,
}

/// What is to be known of a class.
#[derive(Clone, Copy, Debug)]
pub struct ClassRow {
    /// The class.
    pub class: Class,
    /// Its name in run documents, in kebab case.
    pub name: &'static str,
    /// Whether it is left out when classes are ranked: nobody was being served.
    pub is_idle: bool,
    /// What makes it smaller, the best first; full sentences.
    pub practices: &'static [&'static str],
}

impl Class {
    /// The row of the table that tells about this class.
    pub fn row(self) -> &'static ClassRow {
        // The table has every class once and in the order of the enumeration; a test holds it to that.
        &ROWS[self as usize]
    }

    /// Its name in run documents.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether nobody was being served in it.
    pub fn is_idle(self) -> bool {
        self.row().is_idle
    }
}

/// A pattern of an event's name and the class of what matches; a pattern that ends in `*` matches every name that
/// begins so.
type Pattern = (&'static str, Class);

/// The events with which a session waits for its client to ask for something. Short ones are round trips, long ones
/// are think time; where the border lies is the reader's choice.
const CLIENT_EVENTS: [&str; 2] = ["SQL*Net message from client", "Client:ClientRead"];

/// Whether a wait for this event is the client's time.
pub fn is_client(event: &str) -> bool {
    CLIENT_EVENTS.iter().any(|known| is_same(known, event))
}

/// The class of an event, by Oracle's names (`db file sequential read`) or PostgreSQL's (`IO:DataFileRead`);
/// [`Class::Other`] for a name that no pattern matches. Upper and lower case and spaces do not matter.
///
/// The client's events are in [`Class::Network`]: whoever knows a wait's length moves the long ones to
/// [`Class::ThinkTime`].
pub fn class_of(event: &str) -> Class {
    let patterns = || oracle::PATTERNS.iter().chain(postgres::PATTERNS);
    let exact = patterns().find(|(pattern, _)| !pattern.ends_with('*') && is_same(pattern, event));
    let beginning = || {
        let matching = patterns().filter(|(pattern, _)| pattern.strip_suffix('*').is_some_and(|p| begins(event, p)));
        matching.max_by_key(|(pattern, _)| pattern.len())
    };
    exact.or_else(beginning).map_or(Class::Other, |(_, class)| *class)
}

/// Whether any pattern knows the event.
pub fn is_known(event: &str) -> bool {
    let matches = |(pattern, _): &Pattern| match pattern.strip_suffix('*') {
        Some(start) => begins(event, start),
        None => is_same(pattern, event),
    };
    oracle::PATTERNS.iter().chain(postgres::PATTERNS).any(matches)
}

/// The characters of a name that tell events apart.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|letter| !letter.is_whitespace()).map(|letter| letter.to_ascii_lowercase())
}

fn is_same(pattern: &str, event: &str) -> bool {
    letters(pattern).eq(letters(event))
}

fn begins(event: &str, start: &str) -> bool {
    let mut event = letters(event);
    letters(start).all(|letter| event.next() == Some(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_row_where_it_is_looked_for() {
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.class as usize, index, "{}", row.name);
        }
        assert_eq!(ROWS.len(), Class::Unrecorded as usize + 1);
    }

    #[test]
    fn a_class_that_can_be_made_smaller_says_how() {
        for row in ROWS.iter().filter(|row| !row.is_idle) {
            assert!(!row.practices.is_empty(), "{}", row.name);
            assert!(row.practices.iter().all(|practice| practice.ends_with('.')), "{}", row.name);
        }
    }

    #[test]
    fn no_event_stands_in_two_classes() {
        let patterns: Vec<&Pattern> = oracle::PATTERNS.iter().chain(postgres::PATTERNS).collect();
        for (index, (pattern, _)) in patterns.iter().enumerate() {
            let again = patterns[index + 1..].iter().find(|(other, _)| is_same(pattern, other));
            assert!(again.is_none(), "{pattern} stands twice");
        }
    }

    #[test]
    fn an_exact_name_goes_before_a_beginning_and_a_long_beginning_before_a_short_one() {
        assert_eq!(class_of("enq: TX - row lock contention"), Class::Application);
        assert_eq!(class_of("enq: TX - index contention"), Class::Concurrency);
        assert_eq!(class_of("enq: TX - allocate ITL entry"), Class::Configuration);
        assert_eq!(class_of("gc buffer busy acquire"), Class::Cluster);
        assert_eq!(class_of("direct path read"), Class::MultiBlockReads);
        assert_eq!(class_of("direct path read temp"), Class::TemporaryIo);
        assert_eq!(class_of("cell single block physical read: flash cache"), Class::SingleBlockReads);
        assert_eq!(class_of("latch: cache buffers chains"), Class::Concurrency);
    }

    #[test]
    fn spelling_and_spaces_do_not_change_a_class() {
        assert_eq!(class_of("DB FILE  sequential read "), Class::SingleBlockReads);
        assert_eq!(class_of("IO:DataFileRead"), class_of("io: data file read"));
        assert!(is_client("sql*net message from client") && is_client("Client: ClientRead"));
    }

    #[test]
    fn an_unknown_event_is_other_and_is_said_to_be_unknown() {
        assert_eq!(class_of("an event of a release to come"), Class::Other);
        assert!(!is_known("an event of a release to come") && !is_known(""));
        assert!(is_known("reliable message") && is_known("LWLock:SomethingNew"));
    }
}
