//! Parameters of the experiment.

use std::path::PathBuf;

use measure::Size;
use sys::read::READ_BYTES_MAX;

use crate::error::{ExperimentError, refuse};
use crate::with_defaults::with_defaults;

/// Blocks a request: one, and the two multi-block reads that the experiment is defined with.
pub(super) const BLOCKS_PER_READ: [u64; 3] = [1, 8, 128];

with_defaults! {
    /// Parameters of the experiment.
    #[derive(PartialEq)]
    pub struct RoundtripParameters {
        /// Devices: files, block devices, and words of `device::DEVICES`.
        pub paths: Vec<PathBuf> = Vec::new(),
        /// Blocks read singly; the multi-block passes read as many in fewer requests, but at least 16 of them, or below
        /// 16 blocks that many.
        pub blocks: u64 = 256,
        /// Bytes a block.
        pub block_size: Size = Size(8192),
        /// Picks the blocks. A seed used before on the same file picks blocks that were touched before.
        pub seed: Option<u64> = None,
        /// Drop the blocks from the page cache first, where there is no direct I/O.
        pub evict: bool = false,
    }
}

impl RoundtripParameters {
    /// Refuses what cannot be, with a sentence that says what to give instead.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let most = BLOCKS_PER_READ[2];
        if self.blocks == 0 || self.block_size.0 == 0 {
            return refuse("nothing to read: give --blocks and --block-size above 0");
        }
        if self.block_size.0 > READ_BYTES_MAX / most {
            return refuse(format!(
                "{most} blocks are read at once, and the kernel reads less than 2 GiB at once: give --block-size 8MiB \
                 or less"
            ));
        }
        Ok(())
    }
}
