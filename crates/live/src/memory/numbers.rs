//! The numbers of wait events that are built into PostgreSQL, by its major version.
//!
//! Source: the servers of 14.0 and 14.24, 15.1 and 15.19, 16.0 and 16.15, 17.0 and 17.11, 18.0 and 18.6 themselves.
//! Each number was written where a session of theirs says for what it waits, and `pg_stat_activity` gave its name.
//! Minor versions only add numbers at the end of a list. A name that one of them changed is the newer one: 17.0 to 17.2
//! have `WALWriteLock` for `WALWrite`, 14.0 and 15.1 `CommitTSBuffer` for `CommitTsBuffer`.

/// A type of waits, which is the highest byte of their numbers, and its list: names in the order of the rest of the
/// number, from 0 on. A name with `@15-16` is there in versions 15 to 16 only, one without in all that have the list;
/// `-` is a number without a name.
struct List {
    class: u32,
    names: &'static str,
    /// The first and the last version with this list.
    first: u32,
    last: u32,
}

/// From 17 on a server lists all its events but locks itself.
const LISTS: [List; 8] = [
    List { class: 0x01, names: LWLOCKS, first: 14, last: 18 },
    List { class: 0x03, names: LOCKS, first: 14, last: 18 },
    List { class: 0x04, names: "BufferPin", first: 14, last: 16 },
    List { class: 0x05, names: ACTIVITIES, first: 14, last: 16 },
    List { class: 0x06, names: CLIENTS, first: 14, last: 16 },
    List { class: 0x08, names: IPC, first: 14, last: 16 },
    List { class: 0x09, names: TIMEOUTS, first: 14, last: 16 },
    List { class: 0x0a, names: IO, first: 14, last: 16 },
];

/// Locks of memory: those that stand alone, then the groups of the server itself. Those of extensions follow, numbered
/// as they come.
const LWLOCKS: &str = "\
    - ShmemIndex OidGen XidGen ProcArray SInvalRead SInvalWrite WALBufMapping WALWrite ControlFile - \
    XactSLRU@14-16 -@17-18 SubtransSLRU@14-16 -@17-18 MultiXactGen MultiXactOffsetSLRU@14-16 -@17-18 \
    MultiXactMemberSLRU@14-16 -@17-18 RelCacheInit CheckpointerComm TwoPhaseState TablespaceCreate BtreeVacuum \
    AddinShmemInit Autovacuum AutovacuumSchedule SyncScan RelationMapping NotifySLRU@14-16 -@17-18 NotifyQueue \
    SerializableXactHash SerializableFinishedList SerializablePredicateList SerialSLRU@14-16 -@17-18 SyncRep \
    BackgroundWorker DynamicSharedMemoryControl AutoFile ReplicationSlotAllocation ReplicationSlotControl \
    CommitTsSLRU@14-16 -@17-18 CommitTs ReplicationOrigin MultiXactTruncation OldSnapshotTimeMap@14-16 -@17-18 \
    LogicalRepWorker XactTruncation - WrapLimitsVacuum NotifyQueueTail WaitEventCustom@17-18 WALSummarizer@17-18 \
    DSMRegistry@17-18 InjectionPoint@17-18 SerialControl@17-18 AioWorkerSubmissionQueue@18-18 XactBuffer \
    CommitTsBuffer SubtransBuffer MultiXactOffsetBuffer MultiXactMemberBuffer NotifyBuffer SerialBuffer \
    WALInsert BufferContent ReplicationOriginState ReplicationSlotIO LockFastPath BufferMapping LockManager \
    PredicateLockManager ParallelHashJoin ParallelBtreeScan@18-18 ParallelQueryDSA PerSessionDSA \
    PerSessionRecordType PerSessionRecordTypmod SharedTupleStore SharedTidBitmap ParallelAppend \
    PerXactPredicateList PgStatsDSA@15-18 PgStatsHash@15-18 PgStatsData@15-18 LogicalRepLauncherDSA@16-18 \
    LogicalRepLauncherHash@16-18 DSMRegistryDSA@17-18 DSMRegistryHash@17-18 CommitTsSLRU@17-18 \
    MultiXactMemberSLRU@17-18 MultiXactOffsetSLRU@17-18 NotifySLRU@17-18 SerialSLRU@17-18 SubtransSLRU@17-18 \
    XactSLRU@17-18 ParallelVacuumDSA@17-18 AioUringCompletion@18-18";

/// Types of what is locked.
const LOCKS: &str = "\
    relation extend frozenid page tuple transactionid virtualxid spectoken object userlock advisory \
    applytransaction@16-18";

/// What the processes in the background wait for when they have nothing to do.
const ACTIVITIES: &str = "\
    ArchiverMain AutoVacuumMain BgWriterHibernate BgWriterMain CheckpointerMain LogicalApplyMain \
    LogicalLauncherMain PgStatMain@14-14 LogicalParallelApplyMain@16-16 RecoveryWalStream SysLoggerMain \
    WalReceiverMain WalSenderMain WalWriterMain";

const CLIENTS: &str = "\
    ClientRead ClientWrite GSSOpenServer LibPQWalReceiverConnect LibPQWalReceiverReceive SSLOpenServer \
    WalSenderWaitForWAL WalSenderWriteData";

const IPC: &str = "\
    AppendReady ArchiveCleanupCommand@15-16 ArchiveCommand@15-16 BackendTermination BackupWaitWalArchive \
    BgWorkerShutdown BgWorkerStartup BtreePage BufferIO CheckpointDone CheckpointStart ExecuteGather \
    HashBatchAllocate HashBatchElect HashBatchLoad HashBuildAllocate HashBuildElect HashBuildHashInner \
    HashBuildHashOuter HashGrowBatchesAllocate@14-15 HashGrowBatchesDecide HashGrowBatchesElect \
    HashGrowBatchesFinish HashGrowBatchesReallocate@16-16 HashGrowBatchesRepartition \
    HashGrowBucketsAllocate@14-15 HashGrowBucketsElect HashGrowBucketsReallocate@16-16 HashGrowBucketsReinsert \
    LogicalApplySendData@16-16 LogicalParallelApplyStateChange@16-16 LogicalSyncData LogicalSyncStateChange \
    MessageQueueInternal MessageQueuePutMessage MessageQueueReceive MessageQueueSend ParallelBitmapScan \
    ParallelCreateIndexScan ParallelFinish ProcArrayGroupUpdate ProcSignalBarrier Promote \
    RecoveryConflictSnapshot RecoveryConflictTablespace RecoveryEndCommand@15-16 RecoveryPause \
    ReplicationOriginDrop ReplicationSlotDrop RestoreCommand@15-16 SafeSnapshot SyncRep WalReceiverExit \
    WalReceiverWaitStart XactGroupUpdate WalReceiverUpstreamCatchup";

const TIMEOUTS: &str = "\
    BaseBackupThrottle CheckpointWriteDelay@15-16 PgSleep RecoveryApplyDelay RecoveryRetrieveRetryInterval \
    RegisterSyncRequest@15-16 SpinDelay@16-16 VacuumDelay VacuumTruncate@15-16 CheckpointWriteDelay@14-14 \
    RegisterSyncRequest@14-14";

const IO: &str = "\
    BaseBackupRead BaseBackupSync@15-16 BaseBackupWrite@15-16 BufFileRead BufFileWrite BufFileTruncate \
    ControlFileRead ControlFileSync ControlFileSyncUpdate ControlFileWrite ControlFileWriteUpdate CopyFileRead \
    CopyFileWrite DataFileExtend DataFileFlush DataFileImmediateSync DataFilePrefetch DataFileRead DataFileSync \
    DataFileTruncate DataFileWrite DSMAllocate@16-16 DSMFillZeroWrite LockFileAddToDataDirRead \
    LockFileAddToDataDirSync LockFileAddToDataDirWrite LockFileCreateRead LockFileCreateSync LockFileCreateWrite \
    LockFileReCheckDataDirRead LogicalRewriteCheckpointSync LogicalRewriteMappingSync LogicalRewriteMappingWrite \
    LogicalRewriteSync LogicalRewriteTruncate LogicalRewriteWrite RelationMapRead RelationMapSync@14-15 \
    RelationMapReplace@16-16 RelationMapWrite ReorderBufferRead ReorderBufferWrite ReorderLogicalMappingRead \
    ReplicationSlotRead ReplicationSlotRestoreSync ReplicationSlotSync ReplicationSlotWrite SLRUFlushSync \
    SLRURead SLRUSync SLRUWrite SnapbuildRead SnapbuildSync SnapbuildWrite TimelineHistoryFileSync \
    TimelineHistoryFileWrite TimelineHistoryRead TimelineHistorySync TimelineHistoryWrite TwophaseFileRead \
    TwophaseFileSync TwophaseFileWrite VersionFileWrite@15-16 WALSenderTimelineHistoryRead WALBootstrapSync \
    WALBootstrapWrite WALCopyRead WALCopySync WALCopyWrite WALInitSync WALInitWrite WALRead WALSync \
    WALSyncMethodAssign WALWrite LogicalChangesRead@14-14 LogicalChangesWrite@14-14 LogicalSubxactRead@14-14 \
    LogicalSubxactWrite@14-14 VersionFileSync@15-16";

const NO_NAME: &str = "-";

/// The waits of a version and their names without the type; none of a version that is not known.
pub(super) fn built_in(major: u32) -> impl Iterator<Item = (u32, &'static str)> {
    let lists = LISTS.iter().filter(move |list| (list.first..=list.last).contains(&major));
    lists.flat_map(move |list| {
        let names = list.names.split_whitespace().filter_map(move |word| name_in(word, major));
        (list.class << 24..).zip(names).filter(|(_, name)| *name != NO_NAME)
    })
}

/// The name in a word of a list, where the version has it.
fn name_in(word: &'static str, major: u32) -> Option<&'static str> {
    let Some((name, versions)) = word.split_once('@') else { return Some(word) };
    let (first, last) = versions.split_once('-')?;
    let is_there = first.parse().is_ok_and(|first| major >= first) && last.parse().is_ok_and(|last| major <= last);
    is_there.then_some(name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn of(major: u32) -> HashMap<u32, &'static str> {
        built_in(major).collect()
    }

    #[test]
    fn versions_differ_where_an_event_came_went_or_moved() {
        let [of_14, of_15, of_16, of_17, of_18] = [14, 15, 16, 17, 18].map(of);
        // An event that came with 16 moved those after it.
        assert_eq!((of_15[&0x0a00_0015], of_16[&0x0a00_0015]), ("DSMFillZeroWrite", "DSMAllocate"));
        assert_eq!((of_14[&0x0900_0001], of_15[&0x0900_0001]), ("PgSleep", "CheckpointWriteDelay"));
        assert_eq!((of_14[&0x0900_0005], of_15[&0x0900_0002]), ("CheckpointWriteDelay", "PgSleep"));
        assert_eq!((of_16.get(&0x0100_000b), of_17.get(&0x0100_000b)), (Some(&"XactSLRU"), None));
        let content = [of_16[&0x0100_0038], of_17[&0x0100_003d], of_18[&0x0100_003e]];
        assert_eq!(content, ["BufferContent"; 3]);
        assert_eq!((of_15.get(&0x0300_000b), of_16[&0x0300_000b]), (None, "applytransaction"));
        assert_eq!((of_18[&0x0100_0008], of_18.get(&0x0a00_0000)), ("WALWrite", None), "18 lists its events");
        assert_eq!((of(13).len(), of(19).len()), (0, 0));
    }

    #[test]
    fn no_list_has_a_word_that_is_misspelt_or_a_name_twice() {
        for List { names, first, last, .. } in LISTS {
            for word in names.split_whitespace() {
                let (name, versions) = word.split_once('@').map_or((word, None), |(name, rest)| (name, Some(rest)));
                assert!(name == NO_NAME || name.chars().all(char::is_alphanumeric), "{word}");
                let range = versions.map(|rest| rest.split_once('-').unwrap());
                let range = range.map(|(from, to)| (from.parse::<u32>().unwrap(), to.parse::<u32>().unwrap()));
                assert!(range.is_none_or(|(from, to)| first <= from && from <= to && to <= last), "{word}");
            }
            for major in first..=last {
                let mut of_it: Vec<&str> = names.split_whitespace().filter_map(|word| name_in(word, major)).collect();
                of_it.retain(|name| *name != NO_NAME);
                let all = of_it.len();
                of_it.sort_unstable();
                of_it.dedup();
                assert_eq!(of_it.len(), all, "a name stands twice in a list of {major}");
            }
        }
    }
}
