//! The table of wait classes: adding a class means adding one row here.
//!
//! A row lists the class's events by the names that databases give them. Oracle's, 8i to 19c, mostly follow the classes
//! of `v$event_name`; user I/O is divided further by what one would do about it. PostgreSQL's, 13 to 19, are written
//! `type:event`. A name that ends in `*` stands for all names that begin so; an exact name takes precedence, then the
//! longest beginning.

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct ClassRow {
    /// The class.
    pub class: Class,
    /// Its name in run documents, in kebab case.
    pub key: &'static str,
    /// What it stands for, as a sentence.
    pub meaning: &'static str,
    /// Its name on pages and in sentences.
    pub title: &'static str,
    /// What makes it smaller, the best first; full sentences. None where the session served no request: such time is
    /// left out when classes are ranked.
    pub practices: &'static [&'static str],
    /// Its events: names, and beginnings of names that end in `*`.
    pub events: &'static [&'static str],
}

macro_rules! wait_classes {
    ($(
        $(#[doc = $meaning:literal])+
        $class:ident {
            key: $key:literal,
            title: $title:literal,
            practices: [$($practice:literal),* $(,)?],
            events: [$($event:literal),* $(,)?],
        }
    )*) => {
        /// A class of the response time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Class {
            $($(#[doc = $meaning])+ $class,)*
        }

        /// All classes, in the order of the enumeration.
        pub const CLASSES: &[ClassRow] = &[$(
            ClassRow {
                class: Class::$class,
                key: $key,
                meaning: concat!($($meaning),+),
                title: $title,
                practices: &[$($practice),*],
                events: &[$($event),*],
            },
        )*];

    };
}

/// The keys of the classes that serve requests, before empty texts, and how many these classes are.
const SERVING: &([&str; CLASSES.len()], usize) = &{
    let (mut keys, mut count, mut place) = ([""; CLASSES.len()], 0, 0);
    while place < CLASSES.len() {
        if !CLASSES[place].practices.is_empty() {
            keys[count] = CLASSES[place].key;
            count += 1;
        }
        place += 1;
    }
    (keys, count)
};

/// The keys of the classes that serve requests: the time of the others is no response time, and nothing makes it less.
pub const SERVING_KEYS: &[&str] = SERVING.0.split_at(SERVING.1).0;

wait_classes! {
    /// CPU of all calls but parse calls: mostly logical reads.
    Cpu {
        key: "cpu",
        title: "CPU",
        practices: [
            "Find the statements with most logical reads and let them touch fewer blocks: a suitable index, rows \
             clustered in the order in which they are read, no work row by row.",
            "Stop repeating identical calls, and compute sums once.",
            "Where CPU is high and gets are few, the time is in sorting, hashing, functions or procedures (PL/SQL, \
             PL/pgSQL): look there.",
        ],
        events: [],
    }
    /// CPU of parse calls.
    CpuParse {
        key: "cpu-parse",
        title: "CPU of parsing",
        practices: [
            "Prepare a statement once and execute it many times; keep cursors open or let the session cache them.",
            "Use bind variables where texts differ only in their literals.",
            "For a statement that is hard to optimize: fewer tables, partitions and views in one text.",
        ],
        events: [],
    }
    /// Reads of single blocks, one or several of them in a request.
    SingleBlockReads {
        key: "single-block-reads",
        title: "single-block reads",
        practices: [
            "Read fewer blocks first: a more selective or covering index, rows clustered in the order of the index, a \
             full scan where most blocks are visited anyway.",
            "Only then make a read faster; check what serves it now: a file system's cache, the storage's, or a disk.",
        ],
        events: [
            "db file sequential read", "db file parallel read", "read by other session",
            "cell single block physical read*", "cell list of blocks physical read*",
            "cell list of blocks read request", "cell single block read request", "cell physical read no I/O",
            "db flash cache single block physical read", "cell interconnect retransmit during physical read",
            "IO:DataFileRead", "IO:AioIoCompletion", "IO:AioIoUringSubmit", "IO:AioIoUringExecution", "IPC:BufferIO",
            "LWLock:BufferIO", "LWLock:AioUringCompletion",
        ],
    }
    /// Reads of neighbouring blocks in one request, into the buffer cache or past it.
    MultiBlockReads {
        key: "multi-block-reads",
        title: "multi-block reads",
        practices: [
            "Avoid the scan: an index, partition pruning, a summary, fewer columns.",
            "Read in larger requests, and several at a time.",
            "Keep a small table that is scanned over and over in the cache.",
        ],
        events: [
            "db file scattered read", "direct path read", "cell multiblock physical read*",
            "cell multiblock read request", "cell smart table scan*", "cell smart index scan*",
            "cell external table smart scan", "db flash cache multiblock physical read", "IO:DataFilePrefetch",
            "IO:DataFileRead (sequential scan)",
        ],
    }
    /// Sorts, hash joins and temporary tables that do not fit into memory.
    TemporaryIo {
        key: "temporary-io",
        title: "temporary I/O",
        practices: [
            "Give the statements that sort or hash more memory, by statement rather than for all.",
            "Sort less: fewer and narrower rows, an index that has the order.",
            "Put temporary files on the fastest device there is.",
        ],
        events: [
            "direct path read temp", "direct path write temp", "IO:BufFile*",
        ],
    }
    /// Writes and other I/O of the session itself.
    SessionIo {
        key: "session-io",
        title: "other I/O of the session",
        practices: [
            "See which file and which operation it is; write less of it, or let a background process do it.",
        ],
        events: [
            "direct path write", "direct path sync", "direct path read (lob)", "direct path write (lob)",
            "db file single write", "local write wait", "Disk file operations I/O", "Disk file Mirror Read",
            "Disk file Mirror/Media Repair Write", "BFILE read", "BFILE*", "dbms_file_transfer I/O", "utl_file I/O",
            "Datapump dump file I/O", "DG Broker configuration file I/O", "Log file init write",
            "Shared IO Pool IO Completion", "securefile direct-read completion", "securefile direct-write completion",
            "securefile chain update", "buffer read retry", "ASM Fixed Package I/O", "external table *",
            "Archive Manager file transfer I/O", "Parameter File I/O", "cell statistics gather", "cell smart *",
            "TEXT: File System I/O", "Data file init write", "IO:*", "IO:DataFileImmediateSync",
        ],
    }
    /// Waiting for the log at the end of a transaction.
    Commit {
        key: "commit",
        title: "commit",
        practices: [
            "Commit once per unit of work, not once per row.",
            "Put the log on a device of its own with a fast, safe write cache; check synchronous standbys.",
            "Where losing the last moments is allowed, commit without waiting.",
        ],
        events: [
            "log file sync", "log file sync: SCN ordering", "nologging standby *", "remote log force - commit",
            "enq: BB - 2PC across RAC instances", "IO:WALSync*", "IO:WALWrite", "LWLock:WALWrite*", "IPC:SyncRep",
            "Timeout:CommitDelay",
        ],
    }
    /// Waiting because a buffer, a log or a queue is too small or is not emptied fast enough.
    Configuration {
        key: "configuration",
        title: "configuration",
        practices: [
            "Enlarge what is too small: log files, log buffer, sequence caches, free space in blocks.",
            "Let checkpoints and writers keep up: spread them, and give them faster devices.",
        ],
        events: [
            "write complete waits", "write complete waits: flash cache", "log buffer space", "log file switch*",
            "log file switch completion", "checkpoint completed", "free buffer waits", "undo segment *",
            "sort segment request", "latch: redo copy", "latch: redo writing", "enq: HW - contention",
            "enq: SQ - contention", "enq: SS - contention", "enq: ST - contention", "enq: TX - allocate ITL entry",
            "enq: SV -  contention", "statement suspended, wait error to be cleared",
            "Global transaction acquire instance locks", "Streams AQ: enqueue blocked*", "Streams capture: *",
            "Wait for EMON to process ntfns", "flashback buf free by RVWR", "LWLock:WALInsert", "LWLock:WALBufMapping*",
            "IPC:Checkpoint*", "IO:DataFileWrite", "IO:DataFileExtend", "IO:DataFileFlush", "IO:DataFileSync",
            "IO:WALInit*", "Timeout:RegisterSyncRequest",
        ],
    }
    /// Locks that the application asked for.
    Application {
        key: "application",
        title: "application locks",
        practices: [
            "Make transactions shorter: lock late, commit early, never wait for a person while holding a lock.",
            "Take locks in the same order everywhere; skip rows that are locked where any row will do.",
            "Index foreign keys; change definitions of tables in quiet hours.",
        ],
        events: [
            "enq: TX - row lock contention", "enq: TX - contention", "enq: TM - contention", "enq: UL - contention",
            "enq: RO - *", "enq: RC - *", "enq: KO - *", "enq: PW - flush prewarm buffers", "enqueue",
            "SQL*Net break/reset to client", "SQL*Net break/reset to dblink", "External Procedure initial connection",
            "External Procedure call", "Lock:*",
        ],
    }
    /// Latches, mutexes, pins and hot blocks: structures that sessions share.
    Concurrency {
        key: "concurrency",
        title: "concurrency",
        practices: [
            "Fewer sessions at work at a time: a pool about as large as the cores.",
        ],
        events: [
            "buffer busy waits", "buffer busy", "latch: *", "latch free", "latch activity", "latch: undo global data",
            "latch: enqueue hash chains", "latch: session allocation", "library cache*", "cursor: *", "row cache lock",
            "row cache mutex", "row cache read", "row cache process", "enq: TX - index contention",
            "enq: WG - lock fso", "os thread creation", "os thread startup", "pipe put", "logout restrictor",
            "shared pool *", "resmgr:internal state change", "resmgr:sessions to exit", "SecureFile mutex",
            "In-Memory *", "securefile log file sync", "LWLock:*", "BufferPin:*", "Buffer:*", "Timeout:SpinDelay",
            "IPC:ProcArrayGroupUpdate", "IPC:XactGroupUpdate", "IPC:MultixactCreation", "Lock:extend",
        ],
    }
    /// Blocks and locks that come from another node.
    Cluster {
        key: "cluster",
        title: "cluster",
        practices: [
            "Send work on the same data to the same node: services by application, partitions by node.",
            "Fewer blocks touched are fewer blocks transferred: tune the statements with most gets.",
            "A grant is another node's leave to read a block from disk or to change it: with fewer reads and changes \
             there are fewer, and a block that only one node uses gets them without asking.",
            "Check the interconnect's latency and lost blocks.",
        ],
        events: [
            "gc *", "global cache *", "buffer busy global *", "lock remastering", "retry contact SCN lock master",
            "pi renounce write complete", "ASM PST query : wait for [PM][grp][0] grant",
        ],
    }
    /// Round trips and data on the way to and from the client.
    Network {
        key: "network",
        title: "network",
        practices: [
            "Make fewer round trips: one call for what several do now.",
            "Select fewer columns and rows; keep large objects out of result sets that do not need them.",
            "Move loops of small calls to the server, and the client nearer to it.",
        ],
        events: [
            "SQL*Net message from client", "SQL*Net message to client", "SQL*Net more data *", "SQL*Net message *",
            "SQL*Net vector data *", "SQL*Net *", "TCP Socket (KGAS)", "TEXT: URL_DATASTORE network wait",
            "ARCH wait *", "LNS wait *", "LGWR wait *", "Redo Transport *", "remote db operation",
            "remote db file read", "remote db file write", "dedicated server timer", "dispatcher listen timer",
            "Client:ClientRead", "Client:ClientWrite", "Client:*",
        ],
    }
    /// Waiting for a processor that the database's own scheduler withholds.
    Scheduler {
        key: "scheduler",
        title: "scheduler",
        practices: [
            "See which plan of the resource manager limits these sessions; raise its share or move batch work.",
        ],
        events: [
            "resmgr:cpu quantum", "resmgr:become active", "resmgr:I/O rate limit", "resmgr:small I/O rate limit",
            "resmgr:large I/O queued", "resmgr:plan change", "resmgr:pq queued", "resmgr:*",
            "acknowledge over PGA limit",
        ],
    }
    /// Ready to run, while other processes had the processors.
    RunQueue {
        key: "run-queue",
        title: "waiting for a processor",
        practices: [
            "Cap the sessions at work: a pool about as large as the cores.",
            "Move batch work to quiet hours, or add cores.",
        ],
        events: ["Processor:RunQueue"],
    }
    /// On a processor that the hypervisor had given to another machine, as an even part of the time on a processor.
    Stolen {
        key: "stolen",
        title: "stolen by the hypervisor",
        practices: [
            "Nothing on the server makes it smaller: give the machine cores of its own, or move it to a host with \
             fewer neighbours.",
        ],
        events: ["Processor:Stolen"],
    }
    /// Parallel workers and queues between processes.
    Parallel {
        key: "parallel",
        title: "parallel",
        practices: [
            "Check the degree: small work is done sooner by one process.",
            "Look for skew: one worker with most rows keeps the others waiting.",
        ],
        events: [
            "PX *", "PX Deq Credit: need buffer", "Parallel *", "parallel query *", "enq: PS - contention",
            "IPC:BgWorker*", "IPC:BtreePage", "IPC:ExecuteGather", "IPC:Hash*", "IPC:Logical*", "IPC:MessageQueue*",
            "IPC:Parallel*",
        ],
    }
    /// I/O of background processes.
    SystemIo {
        key: "system-io",
        title: "background I/O",
        practices: [
            "This is background work: smooth checkpoints and keep the log apart; do not charge it to users.",
        ],
        events: [
            "db file parallel write", "db file async I/O submit", "log file parallel write", "log file single write",
            "log file sequential read", "control file *", "flashback log file *", "recovery read", "io done",
            "async disk IO", "Log archive I/O", "ARCH random i/o", "ARCH sequential i/o", "RFS *", "LGWR *",
            "RMAN backup & recovery I/O", "Standby redo I/O", "Network file transfer", "kfk: async disk IO",
            "ksfd: async disk IO", "kst: async disk IO", "Clonedb bitmap file write", "IO:Control*", "IO:WAL*",
        ],
    }
    /// Maintenance that an administrator started, and its throttles.
    Administrative {
        key: "administrative",
        title: "administrative",
        practices: [
            "An administrator started this work: move it to quiet hours, or change its limits.",
        ],
        events: [
            "index (re)build online start", "cell smart incremental backup", "cell smart restore from backup",
            "backup: *", "ASM: *", "switch logfile command", "switch undo - offline", "alter rbs offline",
            "alter system set *", "JS kgl get object wait", "JS coord start wait", "JS kill job wait",
            "multiple dbwriter suspend/resume for file offline", "buffer pool resize", "concurrent I/O completion",
            "enq: DB - contention", "enq: TW - contention", "enq: ZG - contention", "wait for possible quiesce finish",
            "Timeout:Vacuum*", "Timeout:BaseBackupThrottle", "IPC:Backup*",
        ],
    }
    /// Events without a class of their own.
    Other {
        key: "other",
        title: "other",
        practices: [
            "Look the events up one by one: this version has no class for them.",
        ],
        events: [
            "enq: CF - contention", "wait for a undo record", "wait for stopper event to be increased",
            "buffer deadlock", "enq: FB - contention", "rdbms ipc reply", "KSV master wait",
            "SGA: allocation forcing component growth", "DLM cross inst call completion", "reliable message",
            "PGA memory operation", "process startup", "process terminate", "process diagnostic dump", "enq: *",
            "events in waitclass Other", "inactive session", "inactive transaction branch", "instance state change",
            "kksfbc child completion", "kkdlgon", "ksdxexeotherwait", "latch: parallel query alloc buffer",
            "LGWR wait for redo copy", "name-service call wait", "null slave wait", "opishd", "Sync ASM rebalance",
            "simulated log write delay", "undo_retention publish retry", "wait list latch free", "wakeup time manager",
            "cursor rebuild*", "CSS *", "CGS *", "DFS *", "DFS db file lock", "IPC send completion sync", "IPC *",
            "ges *", "gcs *", "OLAP *", "oradebug *", "rolling migration: cluster quiesce", "JS *", "ADR *", "AWR *",
            "Compression analysis", "Failed Logon Delay", "asynch descriptor resize", "ASM file metadata operation",
            "ASM background *", "ASM *", "Wait for *", "wait active processes", "Timeout:*", "Extension:*", "IPC:*",
            "ges1 *", "ges2 *",
        ],
    }
    /// Time in which the client asked for nothing.
    ThinkTime {
        key: "think-time",
        title: "think time",
        practices: [],
        events: ["Client:ClientRead (idle)"],
    }
    /// Sleeping with nothing to do, or because the program asked to sleep.
    Idle {
        key: "idle",
        title: "idle",
        practices: [],
        events: [
            "PX Deq: Execution Msg", "PX Idle Wait", "LGWR worker group idle", "LGWR real time apply sync",
            "PL/SQL lock timer", "pmon timer", "smon timer", "rdbms ipc message", "single-task message", "pipe get",
            "null event", "VKTM Logical Idle Wait", "VKRM Idle", "Space Manager: slave idle wait", "DIAG idle wait",
            "jobq slave wait", "job scheduler coordinator slave wait", "class slave wait",
            "wait for unread message on broadcast channel", "wait for unread message on multiple broadcast channels",
            "virtual circuit *", "shared server idle wait", "dispatcher timer", "Streams AQ: waiting *",
            "Streams AQ: qmn *", "Streams AQ: emn coordinator idle wait", "Streams AQ: load balancer idle",
            "Streams AQ: deallocate messages from Streams Pool", "Streams AQ: delete acknowledged messages",
            "Streams fetch slave: waiting for txns", "EMON slave idle wait", "LogMiner *: idle", "LogMiner: *",
            "LNS ASYNC *", "watchdog main loop", "ges remote message", "gcs remote message", "i/o slave wait",
            "AQPC idle", "AQ: *", "heartbeat *", "lreg timer", "pman timer", "OFS idle", "recovery *",
            "parallel recovery *", "MRP *", "PING", "JOX Jit Process Sleep", "ASM background timer",
            "ASM cluster membership changes", "auto-sqltune: wait graph update", "fbar timer", "iowp msg",
            "iowp file id", "netp network", "SGA: MMAN sleep for component shrink", "HS message to agent", "Emon *",
            "Data Guard: *", "REPL *", "cmon timer", "REPLAY*", "WCR: replay clock", "WCR: replay client notify",
            "WCR: replay paused", "Client:WalSender*", "Timeout:PgSleep", "Timeout:RecoveryApplyDelay", "Activity:*",
        ],
    }
    /// Time within calls that is neither CPU nor a traced wait.
    UnaccountedWithin {
        key: "unaccounted-within",
        title: "unaccounted for within calls",
        practices: [
            "Look at the machine before anything else: processes waiting for a core, paging, time that a hypervisor \
             took.",
        ],
        events: [],
    }
    /// Time between calls that the source has no line for.
    UnaccountedBetween {
        key: "unaccounted-between",
        title: "unaccounted for between calls",
        practices: [
            "Nothing was traced between these calls: look at the machine.",
        ],
        events: [],
    }
    /// Time between one file of a session and the next: there is no trace of it.
    Unrecorded {
        key: "unrecorded",
        title: "not recorded, between files",
        practices: [],
        events: [],
    }
}
