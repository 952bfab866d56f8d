//! What the lines of waits say of blocks: where, how many, in how many requests.

pub use super::block_layout::BlockWaitKind;
pub(crate) use super::block_layout::Layout;
use super::call::Wait;
use super::context::Context;

/// Most blocks that one request is believed to have: a request of 1 MiB has 512 blocks of 2 KiB, and a line that
/// says more than eight times that is damaged. It also bounds what one line can cost.
pub const BLOCKS_PER_REQUEST_MAX: i64 = 4096;

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
    /// The number of the block's class, where a session waits for a buffer.
    pub class: Option<i64>,
    /// Whether a storage cell answers it (Exadata): no page cache of the database's host is ahead of one.
    pub is_of_cell: bool,
}

impl BlockWait {
    /// What `wait` says of blocks; `None` when its event is not about blocks.
    pub fn of(context: &Context, wait: &Wait) -> Option<BlockWait> {
        Some(BlockWait::in_layout(&context.event(wait.event)?.layout?, &wait.parameters))
    }

    /// What the parameters of a wait say in this layout.
    #[inline]
    pub(crate) fn in_layout(layout: &Layout, parameters: &[i64; 3]) -> BlockWait {
        let value = |place: Option<u8>| place.and_then(|place| parameters.get(usize::from(place))).copied();
        let address = value(layout.file).zip(value(layout.block));
        let believable = |count: &i64| (1..=BLOCKS_PER_REQUEST_MAX).contains(count);
        let count = |place| value(place).filter(believable).map(|count| count as u32);
        BlockWait {
            kind: layout.kind,
            address: address
                .filter(|(file, block)| *file >= 0 && *block >= 0)
                .map(|(file, block)| BlockAddress { file, block }),
            blocks: count(layout.blocks),
            requests: count(layout.requests),
            bytes: value(layout.bytes).and_then(|bytes| u64::try_from(bytes).ok()).filter(|bytes| *bytes > 0),
            class: value(layout.class).filter(|class| *class > 0),
            is_of_cell: layout.is_of_cell,
        }
    }
}

/// Classes of blocks by number, from 1; behind them come header and block of each undo segment in turn.
const CLASSES: [&str; 18] = [
    "data block",
    "sort block",
    "save undo block",
    "segment header",
    "save undo header",
    "free list",
    "extent map",
    "first-level bitmap block",
    "second-level bitmap block",
    "third-level bitmap block",
    "bitmap block",
    "bitmap index block",
    "file header block",
    "unused",
    "system undo header",
    "system undo block",
    "undo header",
    "undo block",
];

/// The name of a class of blocks.
pub fn block_class(number: i64) -> &'static str {
    match usize::try_from(number - 1).ok() {
        Some(place) if place < CLASSES.len() => CLASSES[place],
        Some(place) if place % 2 == 0 => "undo header",
        Some(_) => "undo block",
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::{context, wait};

    fn read(event: &str, parameters: [i64; 3], names: &[&str]) -> Option<BlockWait> {
        let context = context(&[(event, names)]);
        BlockWait::of(&context, &wait(0, 10, parameters))
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
        let of_cell = ["cell list of blocks physical read", "cell list of blocks physical read: flash cache"];
        for event in of_cell {
            let listed = read(event, [7, 8, 39], &["cellhash#", "diskhash#", "blocks"]).unwrap();
            assert_eq!((listed.kind, listed.blocks), (BlockWaitKind::ParallelRead, Some(39)), "{event}");
        }
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
        assert_eq!(BlockWait::of(&context, &wait(7, 10, [0; 3])), None);
        assert_eq!(read("log file sync", [1, 2, 3], &["buffer#", "p2", "p3"]), None);
    }
}
