//! Wait classes: to which class an event belongs, whether it is idle, and which practices make it smaller.
//!
//! The classes follow the method of response time (YAPP): they are divided by what a person would do about them, not by
//! the layer of the database that wrote the event. A run document holds a class's key; `profile` assigns time to
//! classes and `report` shows them, so the table is here, below both.

mod advice;
mod names;
mod table;

pub use advice::{advice, block_advice};
use names::{begins, is_same};
pub use table::{CLASSES, Class, ClassRow, SERVING_KEYS};

impl Class {
    /// Its row of the table.
    pub fn row(self) -> &'static ClassRow {
        &CLASSES[self as usize]
    }

    /// Its name on pages and in sentences; where waits were not traced, what is unaccounted for holds them.
    pub fn title(self, waits_are_traced: bool) -> &'static str {
        match self {
            Class::UnaccountedWithin if !waits_are_traced => "not traced, within calls",
            Class::UnaccountedBetween if !waits_are_traced => "not traced, between calls",
            class => class.row().title,
        }
    }

    /// Its name in run documents.
    pub fn key(self) -> &'static str {
        self.row().key
    }

    /// Whether the session served no request.
    pub fn is_idle(self) -> bool {
        self.row().practices.is_empty()
    }

    /// The class of this key; `None` for a key of a later version.
    pub fn with_key(key: &str) -> Option<Class> {
        CLASSES.iter().find(|row| row.key == key).map(|row| row.class)
    }
}

/// The events with which a session waits for its client's next request: all sources and tables go by this list. Short
/// waits are round trips, long ones are think time; the reader chooses the threshold.
const CLIENT_EVENTS: [&str; 2] = ["SQL*Net message from client", "Client:ClientRead"];

/// Whether a wait for this event is the client's time.
pub fn is_client(event: &str) -> bool {
    CLIENT_EVENTS.iter().any(|known| is_same(known, event))
}

/// The class of an event, by Oracle's name (`db file sequential read`) or PostgreSQL's (`IO:DataFileRead`);
/// [`Class::Other`] for an unknown name. Upper and lower case, spaces and underscores do not matter.
///
/// The client's events ([`is_client`]) are in [`Class::Network`]; where the length of a wait is known, long ones belong
/// to [`Class::ThinkTime`].
pub fn class_of(event: &str) -> Class {
    row_of(event).map_or(Class::Other, |row| row.class)
}

/// Whether a class lists the event.
pub fn is_known(event: &str) -> bool {
    row_of(event).is_some()
}

fn row_of(event: &str) -> Option<&'static ClassRow> {
    let exact = patterns().find(|(pattern, _)| !pattern.ends_with('*') && is_same(pattern, event));
    let beginning = || {
        let matching = patterns().filter(|(pattern, _)| pattern.strip_suffix('*').is_some_and(|p| begins(event, p)));
        matching.max_by_key(|(pattern, _)| pattern.len())
    };
    exact.or_else(beginning).map(|(_, row)| row)
}

fn patterns() -> impl Iterator<Item = (&'static str, &'static ClassRow)> {
    CLASSES.iter().flat_map(|row| row.events.iter().map(move |event| (*event, row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_one_class_and_every_class_is_found_by_its_key() {
        for row in CLASSES {
            assert_eq!(Class::with_key(row.key), Some(row.class));
            assert_eq!(row.class.key(), row.key);
        }
        assert_eq!(Class::with_key("a class of a later version"), None);
    }

    #[test]
    fn a_class_that_can_be_made_smaller_says_how_and_the_others_serve_no_request() {
        let idle: Vec<Class> = CLASSES.iter().map(|row| row.class).filter(|class| class.is_idle()).collect();
        assert_eq!(idle, [Class::ThinkTime, Class::Idle, Class::Unrecorded]);
        for row in CLASSES {
            assert!(row.practices.iter().all(|practice| practice.ends_with('.')), "{}", row.key);
        }
    }

    #[test]
    fn advice_goes_by_the_event_where_a_class_holds_several_causes() {
        assert!(!advice("buffer busy waits").unwrap().contains("hot"), "no block is known");
        assert!(!advice("os thread startup").unwrap().contains("hot"), "a process is started");
        assert!(!advice("cursor: pin S wait on X").unwrap().contains("hot"), "a parse is no hot block");
        assert!(advice("latch: shared pool").unwrap().contains("bind"));
        assert!(advice("latch: something new").unwrap().contains("--by"));
        assert_eq!(advice("db file sequential read"), None, "its class says it");
    }

    #[test]
    fn advice_for_cpu_names_the_procedures_of_each_database_and_not_of_one_alone() {
        let practices = Class::Cpu.row().practices.join(" ");
        assert!(practices.contains("PL/SQL") && practices.contains("PL/pgSQL"), "{practices}");
    }

    #[test]
    fn a_fallback_names_no_cause_that_only_some_events_of_a_class_have() {
        let practices = Class::Concurrency.row().practices.join(" ");
        assert!(!practices.contains("block") && !practices.contains("parse"), "{practices}");
        assert!(!Class::SingleBlockReads.row().practices.join(" ").contains("curve"), "it may be empty");
        assert!(!Class::Network.row().practices.join(" ").contains("array"), "counts say whether arrays save");
    }

    #[test]
    fn advice_for_a_block_goes_by_its_class() {
        let of = |class: i64| block_advice("buffer busy waits", Some(class)).unwrap();
        assert!(of(1).contains("Spread what is hot"));
        assert!(of(4).contains("ASSM") && !of(4).contains("fewer rows"));
        assert!(of(17).contains("undo segment header") && of(18).contains("undo blocks"));
        assert!(block_advice("buffer busy waits", None).unwrap().contains("Spread"));
        assert_eq!(block_advice("os thread startup", Some(1)), None);
    }

    #[test]
    fn no_event_stands_in_two_classes() {
        let patterns: Vec<(&str, &ClassRow)> = patterns().collect();
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
    fn a_beginning_of_whole_words_takes_no_event_whose_word_goes_on() {
        // "IPC " of one database is as long as "IPC:" of another.
        assert_eq!(class_of("IPC:ExecuteGather"), Class::Parallel);
        assert_eq!(class_of("IPC busy async request"), Class::Other);
        assert_eq!(class_of("gc cr request"), Class::Cluster);
        assert_eq!(class_of("gc_cr_request"), Class::Cluster);
        for event in ["gcr sleep", "Replication Dequeue", "LGWR-LNS wait on channel"] {
            assert!(!is_known(event), "{event} is {:?}", class_of(event));
        }
        assert_eq!(class_of("latch:shared pool"), class_of("latch: shared pool"), "a sign ends a word too");
    }

    #[test]
    fn an_event_that_another_version_of_the_server_names_otherwise_stays_in_its_class() {
        let same = [
            // 13 has a lock where later versions have a signal of another process.
            ["LWLock:BufferIO", "IPC:BufferIO"],
            // 18 waits for the process that waits for the read.
            ["LWLock:AioUringCompletion", "IO:AioIoUringExecution"],
            // 17.0 to 17.2.
            ["LWLock:WALWriteLock", "LWLock:WALWrite"],
            ["LWLock:WALBufMappingLock", "LWLock:WALBufMapping"],
        ];
        same.iter().for_each(|[one, other]| assert_eq!(class_of(one), class_of(other), "{one}"));
    }

    #[test]
    fn a_wait_for_another_process_at_the_end_of_a_transaction_is_not_laid_to_parallel_workers() {
        for event in ["IPC:ProcArrayGroupUpdate", "IPC:XactGroupUpdate", "IPC:MultixactCreation"] {
            assert_eq!(class_of(event), Class::Concurrency, "{event}");
        }
        for event in ["IPC:HashBuildHashInner", "IPC:LogicalSyncData", "IPC:MessageQueueSend", "IPC:ParallelFinish"] {
            assert_eq!(class_of(event), Class::Parallel, "{event}");
        }
        assert_eq!(class_of("IPC:SafeSnapshot"), Class::Other);
    }

    #[test]
    fn a_wait_to_extend_a_table_is_no_lock_that_the_application_could_hold_for_less_time() {
        assert_eq!(class_of("Lock:extend"), Class::Concurrency);
        assert!(advice("Lock:extend").unwrap().contains("partitions"));
        assert_eq!(class_of("Lock:transactionid"), Class::Application);
    }

    #[test]
    fn a_new_file_of_the_log_that_a_session_fills_is_no_work_of_the_background() {
        for event in ["IO:WALInitWrite", "IO:WALInitSync", "IO:WAL_INIT_SYNC"] {
            assert_eq!(class_of(event), Class::Configuration, "{event}");
        }
        assert_eq!(class_of("IO:WALRead"), Class::SystemIo);
    }

    #[test]
    fn a_delay_before_the_log_is_flushed_is_part_of_the_commit_and_not_an_unknown_timeout() {
        assert_eq!(class_of("Timeout:CommitDelay"), Class::Commit);
    }

    #[test]
    fn spelling_and_spaces_do_not_change_a_class() {
        assert_eq!(class_of("DB FILE  sequential read "), Class::SingleBlockReads);
        assert_eq!(class_of("IO:DataFileRead"), class_of("io: data file read"));
        assert_eq!(class_of("IO:WAL_SYNC"), Class::Commit, "as PostgreSQL 17 and its tables of constants spell it");
        assert_eq!(class_of("IO:WalSync"), Class::Commit);
        assert!(is_client("sql*net message from client") && is_client("Client: ClientRead"));
    }

    #[test]
    fn an_unknown_event_is_other_and_is_said_to_be_unknown() {
        assert_eq!(class_of("an event of a release to come"), Class::Other);
        assert!(!is_known("an event of a release to come") && !is_known(""));
        assert!(is_known("reliable message") && is_known("LWLock:SomethingNew"));
    }
}
