//! Which events are about blocks, and where their lines have what.
//!
//! The parameters of a wait are named by the trace; old releases and some events of clusters name them p1, p2 and p3
//! only, and then their order is the event's.

use measure::words::Word;

/// Names of the parameter with the number of a file, and of the one with a number of blocks.
pub(crate) const FILE: [&str; 2] = ["file#", "file number"];
pub(crate) const BLOCKS: [&str; 2] = ["blocks", "block cnt"];

measure::words! {
    /// What kind of access a wait is, in the order of tables.
    pub enum BlockWaitKind ("kind of access") {
        /// A read of one block into the buffer cache
        SingleBlock = "single-block-read",
        /// A read of several neighbouring blocks into the buffer cache
        MultiBlock = "multi-block-read",
        /// Reads of several blocks, anywhere, in flight together; the line says how many and not where
        ParallelRead = "parallel-read",
        /// A read that by-passes the buffer cache
        DirectRead = "direct-read",
        /// A read of temporary space that by-passes the buffer cache
        DirectReadTemporary = "direct-read-temporary",
        /// A write that by-passes the buffer cache
        DirectWrite = "direct-write",
        /// A write of temporary space that by-passes the buffer cache
        DirectWriteTemporary = "direct-write-temporary",
        /// A wait for a block that another session or instance has: no read of its own
        Buffer = "buffer-wait",
        /// A wait for another instance's leave to read or change a block: no block comes with it
        Grant = "grant",
    }
}

impl BlockWaitKind {
    /// How many kinds there are.
    pub const COUNT: usize = BlockWaitKind::ALL.len();

    /// The kind of an event; `None` for events that are not about blocks.
    pub fn of_event(event: &str) -> Option<BlockWaitKind> {
        let kind = match event {
            "db file sequential read" => BlockWaitKind::SingleBlock,
            "db file scattered read" => BlockWaitKind::MultiBlock,
            "db file parallel read" => BlockWaitKind::ParallelRead,
            "direct path read" | "direct path read (lob)" => BlockWaitKind::DirectRead,
            "direct path read temp" => BlockWaitKind::DirectReadTemporary,
            "direct path write" | "direct path write (lob)" => BlockWaitKind::DirectWrite,
            "direct path write temp" => BlockWaitKind::DirectWriteTemporary,
            "read by other session" | "buffer busy waits" | "buffer busy" => BlockWaitKind::Buffer,
            // Later releases say after a colon which cache of the storage cell answered.
            _ if event.starts_with("cell single block physical read") => BlockWaitKind::SingleBlock,
            _ if event.starts_with("cell multiblock physical read") => BlockWaitKind::MultiBlock,
            _ if event.starts_with("cell list of blocks physical read") => BlockWaitKind::ParallelRead,
            _ if event.starts_with("gc ") && event.contains(" grant") => BlockWaitKind::Grant,
            _ if ["gc cr ", "gc current ", "gc buffer busy"].iter().any(|start| event.starts_with(start)) => {
                BlockWaitKind::Buffer
            }
            _ => return None,
        };
        Some(kind)
    }
}

/// Where the lines of an event about blocks have what: places in its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) kind: BlockWaitKind,
    pub(crate) file: Option<u8>,
    pub(crate) block: Option<u8>,
    pub(crate) blocks: Option<u8>,
    pub(crate) requests: Option<u8>,
    pub(crate) bytes: Option<u8>,
    pub(crate) class: Option<u8>,
    pub(crate) is_of_cell: bool,
}

/// The place of the first parameter that has one of these names.
pub(crate) fn place(parameters: &[String], names: &[&str]) -> Option<u8> {
    parameters.iter().position(|parameter| names.contains(&parameter.as_str())).and_then(|place| place.try_into().ok())
}

/// The layout of an event; `None` for events that are not about blocks.
pub(crate) fn layout(event: &str, parameters: &[String]) -> Option<Layout> {
    let kind = BlockWaitKind::of_event(event)?;
    let is_nameless = parameters.first().is_some_and(|name| name == "p1");
    let is_of_cell = event.starts_with("cell ");
    let in_order = |place| (is_nameless && !is_of_cell).then_some(place);
    let is_parallel = kind == BlockWaitKind::ParallelRead;
    let has_blocks = !matches!(kind, BlockWaitKind::Buffer | BlockWaitKind::Grant);
    let blocks_place = if is_parallel { 1 } else { 2 };
    Some(Layout {
        kind,
        file: place(parameters, &FILE).or_else(|| in_order(0)).filter(|_| !is_parallel),
        block: place(parameters, &["block#", "first dba"]).or_else(|| in_order(1)).filter(|_| !is_parallel),
        blocks: place(parameters, &BLOCKS).or_else(|| in_order(blocks_place)).filter(|_| has_blocks),
        requests: place(parameters, &["requests"]).or_else(|| in_order(2)).filter(|_| is_parallel),
        bytes: place(parameters, &["bytes"]),
        // In 9i and before the parameter is the reason of the wait, and has another name.
        class: place(parameters, &["class#"]),
        is_of_cell,
    })
}
