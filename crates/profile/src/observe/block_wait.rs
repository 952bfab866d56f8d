//! Which waits are about blocks, and what their lines say of them: where, how many, in how many requests.
//!
//! The parameters of a wait are named by the trace; old releases and some events of clusters name them p1, p2 and p3
//! only, and then their order is the event's.

use crate::event::{Context, EventIndex, Wait};

/// Most blocks that one request is believed to have: a request of 1 MiB has 512 blocks of 2 KiB, and a line that
/// says more than eight times that is damaged. It also bounds what one line can cost.
pub const BLOCKS_PER_REQUEST_MAX: i64 = 4096;

/// What kind of access a wait is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockWaitKind {
    /// A read of one block into the buffer cache.
    SingleBlock,
    /// A read of several neighbouring blocks into the buffer cache.
    MultiBlock,
    /// Reads of several blocks, anywhere, in flight together; the line says how many and not where.
    ParallelRead,
    /// A read that by-passes the buffer cache.
    DirectRead,
    /// A read of temporary space that by-passes the buffer cache.
    DirectReadTemporary,
    /// A write that by-passes the buffer cache.
    DirectWrite,
    /// A write of temporary space that by-passes the buffer cache.
    DirectWriteTemporary,
    /// A wait for a block that another session or instance has: no read of its own.
    Buffer,
    /// A wait for another instance's leave to read or change a block: no block comes with it.
    Grant,
}

impl BlockWaitKind {
    /// Every kind, in the order of tables.
    pub const ALL: [BlockWaitKind; 9] = [
        BlockWaitKind::SingleBlock,
        BlockWaitKind::MultiBlock,
        BlockWaitKind::ParallelRead,
        BlockWaitKind::DirectRead,
        BlockWaitKind::DirectReadTemporary,
        BlockWaitKind::DirectWrite,
        BlockWaitKind::DirectWriteTemporary,
        BlockWaitKind::Buffer,
        BlockWaitKind::Grant,
    ];

    /// The name in run documents.
    pub const fn name(self) -> &'static str {
        match self {
            BlockWaitKind::SingleBlock => "single-block-read",
            BlockWaitKind::MultiBlock => "multi-block-read",
            BlockWaitKind::ParallelRead => "parallel-read",
            BlockWaitKind::DirectRead => "direct-read",
            BlockWaitKind::DirectReadTemporary => "direct-read-temporary",
            BlockWaitKind::DirectWrite => "direct-write",
            BlockWaitKind::DirectWriteTemporary => "direct-write-temporary",
            BlockWaitKind::Buffer => "buffer-wait",
            BlockWaitKind::Grant => "grant",
        }
    }

    /// The kind of an event; `None` for events that are not about blocks.
    pub fn of_event(event: &str) -> Option<BlockWaitKind> {
        let kind = match event {
            "db file sequential read" => BlockWaitKind::SingleBlock,
            "db file scattered read" => BlockWaitKind::MultiBlock,
            "db file parallel read" | "cell list of blocks physical read" => BlockWaitKind::ParallelRead,
            "direct path read" | "direct path read (lob)" => BlockWaitKind::DirectRead,
            "direct path read temp" => BlockWaitKind::DirectReadTemporary,
            "direct path write" | "direct path write (lob)" => BlockWaitKind::DirectWrite,
            "direct path write temp" => BlockWaitKind::DirectWriteTemporary,
            "read by other session" | "buffer busy waits" | "buffer busy" => BlockWaitKind::Buffer,
            // Later releases say after a colon which cache of the storage cell answered.
            _ if event.starts_with("cell single block physical read") => BlockWaitKind::SingleBlock,
            _ if event.starts_with("cell multiblock physical read") => BlockWaitKind::MultiBlock,
            _ if event.starts_with("gc ") && event.contains(" grant") => BlockWaitKind::Grant,
            _ if ["gc cr ", "gc current ", "gc buffer busy"].iter().any(|start| event.starts_with(start)) => {
                BlockWaitKind::Buffer
            }
            _ => return None,
        };
        Some(kind)
    }
}

/// The address of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockAddress {
    /// Absolute file number.
    pub file: i64,
    /// Block number within the file.
    pub block: i64,
}

/// What the line of a wait says of blocks. What it does not say, or says beyond belief, is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWait {
    /// Which kind of access.
    pub kind: BlockWaitKind,
    /// The (first) block.
    pub address: Option<BlockAddress>,
    /// How many blocks, 1 to [`BLOCKS_PER_REQUEST_MAX`].
    pub blocks: Option<u32>,
    /// In how many requests.
    pub requests: Option<u32>,
    /// Bytes, where the line has them in the place of blocks.
    pub bytes: Option<u64>,
}

/// Where an event's lines have what.
#[derive(Clone, Copy, Debug)]
struct Layout {
    kind: BlockWaitKind,
    file: Option<usize>,
    block: Option<usize>,
    blocks: Option<usize>,
    requests: Option<usize>,
    bytes: Option<usize>,
}

/// Reads block waits; it learns each event once.
#[derive(Clone, Debug, Default)]
pub struct BlockWaits {
    layouts: Vec<Option<Layout>>,
}

impl BlockWaits {
    /// What `wait` says of blocks; `None` when its event is not about blocks.
    pub fn read(&mut self, context: &Context, wait: &Wait) -> Option<BlockWait> {
        self.learn(context, wait.event);
        let layout = (*self.layouts.get(wait.event.0 as usize)?)?;
        let value = |position: Option<usize>| position.and_then(|position| wait.parameters.get(position)).copied();
        let address = value(layout.file).zip(value(layout.block));
        let believable = |count: &i64| (1..=BLOCKS_PER_REQUEST_MAX).contains(count);
        let count = |position| value(position).filter(believable).map(|count| count as u32);
        Some(BlockWait {
            kind: layout.kind,
            address: address
                .filter(|(file, block)| *file >= 0 && *block >= 0)
                .map(|(file, block)| BlockAddress { file, block }),
            blocks: count(layout.blocks),
            requests: count(layout.requests),
            bytes: value(layout.bytes).and_then(|bytes| u64::try_from(bytes).ok()).filter(|bytes| *bytes > 0),
        })
    }

    fn learn(&mut self, context: &Context, event: EventIndex) {
        let known = self.layouts.len();
        if (event.0 as usize) < known {
            return;
        }
        let unknown = context.events.get(known..).unwrap_or_default();
        self.layouts.extend(unknown.iter().map(|event| layout(&event.name, &event.parameters)));
    }
}

fn layout(event: &str, parameters: &[String]) -> Option<Layout> {
    let kind = BlockWaitKind::of_event(event)?;
    let named = |names: &[&str]| parameters.iter().position(|parameter| names.contains(&parameter.as_str()));
    let is_nameless = parameters.first().is_some_and(|name| name == "p1");
    let in_order = |position| (is_nameless && !event.starts_with("cell ")).then_some(position);
    let is_parallel = kind == BlockWaitKind::ParallelRead;
    let has_address = !is_parallel;
    let has_blocks = !matches!(kind, BlockWaitKind::Buffer | BlockWaitKind::Grant);
    let blocks_position = if is_parallel { 1 } else { 2 };
    Some(Layout {
        kind,
        file: named(&["file#", "file number"]).or_else(|| in_order(0)).filter(|_| has_address),
        block: named(&["block#", "first dba"]).or_else(|| in_order(1)).filter(|_| has_address),
        blocks: named(&["blocks", "block cnt"]).or_else(|| in_order(blocks_position)).filter(|_| has_blocks),
        requests: named(&["requests"]).or_else(|| in_order(2)).filter(|_| is_parallel),
        bytes: named(&["bytes"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::synthetic_wait::{context, wait};

    fn read(event: &str, parameters: [i64; 3], names: &[&str]) -> Option<BlockWait> {
        let context = context(&[(event, names)]);
        BlockWaits::default().read(&context, &wait(0, 10, parameters))
    }

    #[test]
    fn addresses_are_found_by_the_names_of_parameters_or_by_their_order() {
        let named = read("db file scattered read", [4, 100, 8], &["file#", "block#", "blocks"]).unwrap();
        assert_eq!(named.address, Some(BlockAddress { file: 4, block: 100 }));
        assert_eq!((named.blocks, named.requests), (Some(8), None));
        let ordered = read("db file scattered read", [4, 100, 8], &["p1", "p2", "p3"]).unwrap();
        assert_eq!(ordered, named);
        let direct = read("direct path read temp", [201, 7, 1], &["file number", "first dba", "block cnt"]).unwrap();
        assert_eq!((direct.address.unwrap().file, direct.blocks), (201, Some(1)));
    }

    #[test]
    fn a_parallel_read_has_blocks_and_requests_and_no_address() {
        let parallel = read("db file parallel read", [2, 39, 39], &["files", "blocks", "requests"]).unwrap();
        assert_eq!((parallel.address, parallel.blocks, parallel.requests), (None, Some(39), Some(39)));
        let ordered = read("db file parallel read", [2, 39, 37], &["p1", "p2", "p3"]).unwrap();
        assert_eq!((ordered.address, ordered.blocks, ordered.requests), (None, Some(39), Some(37)));
    }

    #[test]
    fn the_third_parameter_of_a_buffer_wait_is_no_number_of_blocks() {
        let busy = read("gc cr block 2-way", [7, 29, 1], &["p1", "p2", "p3"]).unwrap();
        assert_eq!((busy.kind, busy.blocks), (BlockWaitKind::Buffer, None));
        for event in ["gc cr grant 2-way", "gc current grant busy", "gc cr grant congested"] {
            let grant = read(event, [7, 29, 1], &["p1", "p2", "p3"]).unwrap();
            assert_eq!((grant.kind, grant.blocks), (BlockWaitKind::Grant, None), "{event} brings no block");
        }
        assert_eq!(busy.address, Some(BlockAddress { file: 7, block: 29 }));
    }

    #[test]
    fn a_number_of_blocks_beyond_belief_is_absent() {
        for blocks in [0, -1, i64::MAX] {
            let read = read("db file scattered read", [4, 100, blocks], &["file#", "block#", "blocks"]).unwrap();
            assert_eq!(read.blocks, None, "{blocks}");
        }
        let negative = read("db file scattered read", [-4, 100, 8], &["file#", "block#", "blocks"]).unwrap();
        assert_eq!(negative.address, None);
    }

    #[test]
    fn an_event_that_the_context_does_not_have_is_no_block_wait() {
        let context = context(&[]);
        assert_eq!(BlockWaits::default().read(&context, &wait(7, 10, [0; 3])), None);
        assert_eq!(read("log file sync", [1, 2, 3], &["buffer#", "p2", "p3"]), None);
    }
}
