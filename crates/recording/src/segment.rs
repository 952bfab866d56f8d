//! What a segment holds.

use std::sync::Arc;

use measure::{Parameters, sorting};

/// Most rows of a segment: a recorder ends one long before.
pub(crate) const ROWS_MAX: i64 = 1 << 21;

/// Greatest sum of the lengths of a column's texts over all rows: a small file can have the same long text in each row.
pub(crate) const TEXTS_MAX: usize = 256 << 20;

/// Longest active time by the server's own account that is read of a segment, in nanoseconds: 52 days of sessions at
/// work.
pub const ACCOUNT_MAX: i64 = 1 << 52;

/// What is said of a segment as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// Its number in the folder: segments are in this order, whatever the clock did.
    pub number: u64,
    /// From when on it was recorded, in microseconds since 1970, UTC.
    pub begin: i64,
    /// Until when.
    pub end: i64,
    /// The server and how it was sampled, as a run document describes its subject.
    pub subject: Parameters,
}

/// What the sessions of a server did for about a minute.
///
/// Rows name processes, statements and events by their places in the lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// What is said of all of it.
    pub head: Head,
    /// The processes of the server.
    pub processes: Vec<Process>,
    /// The statements that they ran; the first is none.
    pub statements: Vec<Statement>,
    /// The events that they waited for; the first is none.
    pub events: Vec<Arc<str>>,
    /// How often all were looked at.
    pub looks: Vec<Looks>,
    /// What they did.
    pub samples: Vec<Sample>,
    /// Who waited for whom.
    pub blocked: Vec<Blocked>,
    /// Times without samples.
    pub lost: Vec<Lost>,
    /// Active time of the sessions by the server's own account, in nanoseconds; `None` where it gave none.
    pub account: Option<i64>,
    /// Most sessions at one time of which the server showed only that they are there, also where its memory shows more:
    /// of statements under way, its account lacks theirs.
    pub hidden: u64,
    /// What the recording itself took meanwhile; `None` where that is not known.
    pub own: Option<Own>,
    /// Who read files.
    pub readers: Vec<Reader>,
    /// The relations whose files were read, by their names, or by the paths of their files.
    pub relations: Vec<Arc<str>>,
    /// Reads of files.
    pub reads: Vec<Read>,
    /// Requests to devices.
    pub requests: Vec<Request>,
    /// Which blocks the page cache gave.
    pub blocks: Vec<Blocks>,
    /// What the tracing of reads came to; `None` where nothing is known of it.
    pub tracing: Option<Tracing>,
}

/// A process of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it was started, in microseconds since 1970.
    pub started: i64,
    /// Its kind, such as `client backend`.
    pub kind: Arc<str>,
    /// The role that it serves.
    pub user: Arc<str>,
    /// The database.
    pub database: Arc<str>,
    /// The client's name for itself.
    pub application: Arc<str>,
}

/// A statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// Its identifier.
    pub id: Arc<str>,
    /// Its text; empty where that is not known, or was left out.
    pub text: Arc<str>,
    /// What the server counted of it meanwhile.
    pub counted: Option<Counted>,
}

/// What the server counted of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Executions that ended.
    pub executions: u64,
    /// Rows that they returned or changed.
    pub rows: u64,
    /// Blocks found in the buffers.
    pub hits: u64,
    /// Blocks read into them.
    pub reads: u64,
}

/// How often all processes were looked at from a second on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// The begin of the second, in microseconds since 1970.
    pub at: i64,
    /// Looks.
    pub looks: u64,
    /// The time that they stand for, in nanoseconds.
    pub time: i64,
}

/// What a process did in a second, or evenly in several one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The begin of the first second, in microseconds since 1970.
    pub at: i64,
    /// How many seconds.
    pub seconds: u32,
    /// Which process.
    pub process: u32,
    /// What it did, as the state's word.
    pub state: u32,
    /// Which statement.
    pub statement: u32,
    /// For what it waited.
    pub event: u32,
    /// Looks that found it so.
    pub looks: u64,
    /// The time that they stand for, in nanoseconds.
    pub time: i64,
    /// The part of it in which it was ready to run while others had the processors, in nanoseconds.
    pub queued: i64,
}

/// A session that waited for a lock when it was asked who holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// The begin of the second, in microseconds since 1970.
    pub at: i64,
    /// The number of the process that waited.
    pub pid: u32,
    /// That of the one that it waited for; 0 for a prepared transaction.
    pub blocker: u32,
}

/// A time without samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// When it ended, in microseconds since 1970.
    pub at: i64,
    /// How long it was, in nanoseconds.
    pub time: i64,
    /// Why.
    pub reason: Arc<str>,
}

/// What the recording itself took while a segment was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// CPU time of the recorder, in nanoseconds.
    pub cpu: i64,
    /// Time in which the server worked for the recorder's session, in nanoseconds; `None` where that is not known.
    pub session: Option<i64>,
}

/// Who read a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reader {
    /// Which statement.
    pub statement: u32,
    /// The kind of a process that serves no client, or a word for those that have no row of their own; empty else.
    pub process: Arc<str>,
}

/// Sums of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadSums {
    /// Calls of the kernel.
    pub calls: u64,
    /// Blocks that they touched.
    pub blocks: u64,
    /// Bytes that they brought.
    pub bytes: u64,
    /// Their time, from call to return, in nanoseconds.
    pub time: i64,
    /// Time in which requests waited for the device's queue.
    pub queue: i64,
    /// Time in which the device served requests.
    pub service: i64,
}

/// Reads of about the same length in bytes and in time, of one reader and one relation, that one tier answered in some
/// seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The begin of the first second, in microseconds since 1970.
    pub at: i64,
    /// How many seconds.
    pub seconds: u32,
    /// Who read.
    pub reader: u32,
    /// Which relation.
    pub relation: u32,
    /// What answered, as the tier's word.
    pub tier: u32,
    /// How much.
    pub sums: ReadSums,
    /// Reads whose reader is an estimate.
    pub estimated: u64,
}

/// Requests for one purpose, in some seconds. They touch no blocks, and have no time besides the queue's and the
/// device's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The begin of the first second, in microseconds since 1970.
    pub at: i64,
    /// How many seconds.
    pub seconds: u32,
    /// During which statement.
    pub statement: u32,
    /// For what, as the purpose's word.
    pub purpose: u32,
    /// How much.
    pub sums: ReadSums,
}

/// Which blocks of a relation the page cache gave a reader in the segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Who read.
    pub reader: u32,
    /// Which relation.
    pub relation: u32,
    /// A sketch of them, as a text.
    pub sketch: Arc<str>,
}

/// What the tracing of reads came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracing {
    /// The kernel's records that were read.
    pub records: u64,
    /// Those that were lost.
    pub lost: u64,
    /// Why reads were not traced; empty where they were.
    pub reason: Arc<str>,
}

impl Segment {
    /// The words for what a process does; a sample names one by its place.
    pub const STATES: [&'static str; 6] = ["active", "idle", "idle in transaction", "hidden", "disabled", "background"];

    /// The words for what answered a read.
    pub const TIERS: [&'static str; 4] = ["page-cache", "device", "in-flight", "not-seen-whole"];

    /// The words for what a request was sent.
    pub const PURPOSES: [&'static str; 3] = ["waited", "read-ahead", "prefetch"];

    /// Leaves out texts of statements, of those first that took least of the sampled time, until all together have no
    /// more than this number of bytes. Gives how many were left out.
    pub fn leave_out_texts(&mut self, most: usize) -> usize {
        let mut bytes: usize = self.statements.iter().map(|one| one.text.len()).sum();
        if bytes <= most {
            return 0;
        }
        let mut time = vec![0_i64; self.statements.len()];
        for sample in &self.samples {
            if let Some(time) = time.get_mut(sample.statement as usize) {
                *time = time.saturating_add(sample.time);
            }
        }
        let mut places: Vec<usize> = (0..time.len()).collect();
        sorting::by_key(&mut places, |place| time[*place]);
        let mut left_out = 0;
        for place in places {
            let text = &mut self.statements[place].text;
            if bytes > most && !text.is_empty() {
                bytes -= text.len();
                left_out += 1;
                *text = "".into();
            }
        }
        left_out
    }

    /// How many rows its file has.
    pub fn rows(&self) -> usize {
        let of_sessions = self.looks.len() + self.samples.len() + self.statements.len();
        let of_reads = self.reads.len() + self.requests.len() + self.blocks.len();
        let of_own = self.own.map_or(0, |own| 1 + usize::from(own.session.is_some()));
        let of_account = usize::from(self.account.is_some()) + usize::from(self.hidden > 0);
        let single = of_account + usize::from(self.tracing.is_some()) + of_own;
        of_sessions + self.blocked.len() + self.lost.len() + of_reads + single
    }
}
